/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A configuration and what options set in it: see config_args.h. */
#include "cli/config_args.h"

#include <stdio.h>
#include <string.h>

enum { ORIGIN_BYTES = 32 };

/* What errors call an option: "--slow". */
static void origin_of(const cs_arg *arg, char origin[ORIGIN_BYTES])
{
    (void)snprintf(origin, ORIGIN_BYTES, "--%s", arg->name);
}

cs_status cs_config_choice_add(cs_config_choice *choice, const cs_arg *arg, const char *value,
                               cs_error *err)
{
    char origin[ORIGIN_BYTES];

    if (choice->n_set == CS_CONFIG_MAX_SETS) {
        origin_of(arg, origin);
        return CS_FAIL(err, CS_EINVAL, origin, "more than %d options", CS_CONFIG_MAX_SETS);
    }
    choice->set[choice->n_set].arg   = arg;
    choice->set[choice->n_set].value = value;
    choice->n_set++;
    return CS_OK;
}

bool cs_config_choice_has(const cs_config_choice *choice, const char *path)
{
    for (size_t i = 0; i < choice->n_set; i++) {
        if (strcmp(choice->set[i].arg->sets.path, path) == 0) {
            return true;
        }
    }
    return false;
}

cs_status cs_config_choice_load(const cs_config_choice *choice, cs_config **config_p, cs_error *err)
{
    return choice->path != NULL ? cs_config_load(choice->path, config_p, err)
                                : cs_config_new(config_p, err);
}

static cs_status apply(const cs_config_choice *choice, size_t i, cs_config *config, cs_error *err)
{
    const cs_arg *arg = choice->set[i].arg;
    char          origin[ORIGIN_BYTES];

    origin_of(arg, origin);
    return cs_config_apply(config, &arg->sets, choice->set[i].value, origin, err);
}

/* The last list that was given for a path. */
static cs_status apply_list(const cs_config_choice *choice, const char *path, cs_config *config,
                            cs_error *err)
{
    for (size_t i = choice->n_set; i-- > 0;) {
        const cs_setting *sets = &choice->set[i].arg->sets;
        if (sets->form == CS_SET_LIST && strcmp(sets->path, path) == 0) {
            return apply(choice, i, config, err);
        }
    }
    return CS_OK;
}

cs_status cs_config_choice_apply_lists(const cs_config_choice *choice, const cs_arg *table,
                                       cs_config *config, cs_error *err)
{
    for (const cs_arg *a = table; a->name != NULL; a++) {
        if (a->sets.path != NULL && a->sets.form == CS_SET_LIST) {
            CS_TRY(apply_list(choice, a->sets.path, config, err));
        }
    }
    return CS_OK;
}

/* Several values are an axis, which --set sweep, option `i`, would replace: lists are set before
 * everything else. */
static cs_status keep_axes(const cs_config_choice *choice, size_t i, cs_error *err)
{
    for (size_t j = 0; j < choice->n_set; j++) {
        const cs_arg *arg       = choice->set[j].arg;
        bool          is_before = arg->sets.form == CS_SET_LIST || j < i;
        if (is_before && cs_setting_sweeps(&arg->sets, choice->set[j].value)) {
            return CS_FAIL(err, CS_EINVAL, "--set sweep",
                           "replaces what --%s has added: accepted is either of them", arg->name);
        }
    }
    return CS_OK;
}

/* Would --set replace what options before it have added to a list? Nothing is dropped in silence.
 */
static cs_status keep_added(const cs_config_choice *choice, size_t i, cs_error *err)
{
    const cs_setting *sets = &choice->set[i].arg->sets;
    const char       *path = choice->set[i].value;
    size_t            n    = sets->form == CS_SET_BELOW ? strcspn(path, "=") : 0;

    if (n == strlen("sweep") && sets->path[0] == '\0' && strncmp(path, "sweep", n) == 0) {
        CS_TRY(keep_axes(choice, i, err));
    }
    for (size_t j = 0; j < i && n > 0 && sets->path[0] == '\0'; j++) {
        const char *list = choice->set[j].arg->sets.path, *end = strstr(list, "[]");
        size_t      base = end != NULL ? (size_t)(end - list) : 0;
        if (base >= n && strncmp(list, path, n) == 0 && (list[n] == '.' || base == n)) {
            char origin[2 * ORIGIN_BYTES];
            (void)snprintf(origin, sizeof origin, "--set %.*s", (int)n, path);
            return CS_FAIL(err, CS_EINVAL, origin,
                           "replaces what --%s has added: accepted are either of them, or --set "
                           "before it",
                           choice->set[j].arg->name);
        }
    }
    return CS_OK;
}

cs_status cs_config_choice_apply(const cs_config_choice *choice, cs_config *config, cs_error *err)
{
    for (size_t i = 0; i < choice->n_set; i++) {
        CS_TRY(keep_added(choice, i, err));
        if (choice->set[i].arg->sets.form != CS_SET_LIST) {
            CS_TRY(apply(choice, i, config, err));
        }
    }
    return CS_OK;
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
