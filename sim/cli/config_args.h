/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/config_args.h -- a configuration as an operand, and what options set in it. */
#ifndef CS_CLI_CONFIG_ARGS_H
#define CS_CLI_CONFIG_ARGS_H

#include "cli/args.h"

enum { CS_CONFIG_MAX_SETS = 128, CS_CONFIG_MAX_NOTES = 8 };

/* What was chosen; `{0}` is nothing. Texts are borrowed from the command line. */
typedef struct cs_config_choice {
    const char *path; /* NULL: the defaults */
    struct {
        const cs_arg *arg;
        const char   *value;
    } set[CS_CONFIG_MAX_SETS]; /* in the order given */
    size_t n_set;
} cs_config_choice;

/* The row of --set. */
#define CS_CONFIG_SET_ROW                                     \
    CS_ARG_KEY(0, "set", "PATH=JSON", "", CS_SET_BELOW, NULL, \
               "any key of the configuration (repeatable)")

/* An option was given that sets a key; its row and its value are borrowed. */
CS_MUST_CHECK cs_status cs_config_choice_add(cs_config_choice *choice, const cs_arg *arg,
                                             const char *value, cs_error *err);

/* Was an option given that sets the key at that path? */
bool cs_config_choice_has(const cs_config_choice *choice, const char *path);

/* Load the configuration, set nothing yet; the caller owns it (cs_config_free). */
CS_MUST_CHECK cs_status cs_config_choice_load(const cs_config_choice *choice, cs_config **config_p,
                                              cs_error *err);

/* Set what the options said: the lists in the order of a table, because that is the order of the
 * loops; the rest in the order given. */
CS_MUST_CHECK cs_status cs_config_choice_apply_lists(const cs_config_choice *choice,
                                                     const cs_arg *table, cs_config *config,
                                                     cs_error *err);
CS_MUST_CHECK cs_status cs_config_choice_apply(const cs_config_choice *choice, cs_config *config,
                                               cs_error *err);

/* Say on standard error what the configuration's bare numbers were taken for, where that is hardly
 * meant (cs_config_notes). For whoever has set everything, before it is used. */
void cs_config_say_notes(const cs_config *config);

#endif
