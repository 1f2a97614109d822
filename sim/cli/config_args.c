/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A configuration and --set: see config_args.h. */
#include "cli/config_args.h"

#include "cli/cli.h"
#include "cli/config_keys.h"

#include <stdio.h>

cs_status cs_config_choice_path(cs_config_choice *choice, const char *path, cs_error *err)
{
    return cs_cli_only(&choice->path, path, "configuration", err);
}

cs_status cs_config_choice_set(cs_config_choice *choice, const char *text, cs_error *err)
{
    if (choice->n_sets == CS_CONFIG_MAX_SETS) {
        return CS_FAIL(err, CS_EINVAL, "--set", "more than %d of them", CS_CONFIG_MAX_SETS);
    }
    choice->sets[choice->n_sets++] = text;
    return CS_OK;
}

cs_status cs_config_choice_load(const cs_config_choice *choice, cs_config **config_p, cs_error *err)
{
    return choice->path != NULL ? cs_config_load(choice->path, config_p, err)
                                : cs_config_new(config_p, err);
}

cs_status cs_config_choice_apply(const cs_config_choice *choice, cs_config *config, cs_error *err)
{
    const cs_config_key *key    = cs_config_key_of("--set");
    cs_status            status = CS_OK;

    for (size_t i = 0; i < choice->n_sets && status == CS_OK; i++) {
        status = cs_config_key_set(config, key, choice->sets[i], err);
    }
    return status;
}

void cs_config_say_notes(const cs_config *config)
{
    cs_error notes[CS_CONFIG_MAX_NOTES];
    size_t   n = cs_config_notes(config, notes, CS_CONFIG_MAX_NOTES);
    char     text[800];

    for (size_t i = 0; i < n && i < CS_CONFIG_MAX_NOTES; i++) {
        cs_error_text(&notes[i], text, sizeof text);
        fprintf(stderr, "collsim: note: %s\n", text);
    }
    if (n > CS_CONFIG_MAX_NOTES) {
        fprintf(stderr, "collsim: note: %zu more numbers without a unit like these\n",
                n - CS_CONFIG_MAX_NOTES);
    }
}
