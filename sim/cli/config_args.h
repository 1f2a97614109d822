/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/config_args.h -- a configuration as an operand, and what --set changes in it. */
#ifndef CS_CLI_CONFIG_ARGS_H
#define CS_CLI_CONFIG_ARGS_H

#include "config/config.h"

enum { CS_CONFIG_MAX_SETS = 64, CS_CONFIG_MAX_NOTES = 8 };

/* What was chosen; `{0}` is nothing. Texts are borrowed from the command line. */
typedef struct cs_config_choice {
    const char *path; /* NULL: the defaults */
    const char *sets[CS_CONFIG_MAX_SETS];
    size_t      n_sets;
} cs_config_choice;

/* The row of --set. */
#define CS_CONFIG_SET_ROW(id)                                                  \
    {                                                                          \
        id, 0, "set", "PATH=JSON", "any key of the configuration (repeatable)" \
    }

/* Take the configuration's path, or the value of --set. */
cs_status cs_config_choice_path(cs_config_choice *choice, const char *path, cs_error *err);
cs_status cs_config_choice_set(cs_config_choice *choice, const char *text, cs_error *err);

/* Load the configuration, set nothing yet; the caller owns it (cs_config_free). */
cs_status cs_config_choice_load(const cs_config_choice *choice, cs_config **config_p,
                                cs_error *err);

/* Say on standard error what the configuration's bare numbers were taken for, where that is hardly
 * meant (cs_config_notes). For whoever has set everything, before it is used. */
void cs_config_say_notes(const cs_config *config);

/* Set what --set said. */
cs_status cs_config_choice_apply(const cs_config_choice *choice, cs_config *config, cs_error *err);

#endif
