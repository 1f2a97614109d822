/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/scenario_args.h -- the options that describe a scenario, the same for every command that
 * takes one. Each sets a key of a configuration; lists become axes of a sweep. */
#ifndef CS_CLI_SCENARIO_ARGS_H
#define CS_CLI_SCENARIO_ARGS_H

#include "cli/args.h"
#include "cli/config_keys.h"

/* The table to put beside a command's own. Ids are from 1 to CS_SCENARIO_ARG_LAST. */
extern const cs_arg cs_scenario_args[];
enum { CS_SCENARIO_ARG_LAST = 99 };

/* The options in the order given are collected, then set: algorithm before ranks before sizes,
 * so that this is the order of the rows. `{0}` is empty. */
typedef struct cs_scenario_choice {
    cs_config  *config;                     /* owned; NULL before the end */
    const char *config_path;                /* operand, or NULL */
    const char *algorithms, *ranks, *sizes; /* lists as given, or NULL */
    const char *min_bytes, *max_bytes, *factor;
    struct {
        const cs_config_key *key;
        const char          *value;
    } set[128];
    size_t n_set;
} cs_scenario_choice;

/* Take one option that cs_args_next() returned with such an id (or the operand, the
 * configuration's path). The value is borrowed. */
cs_status cs_scenario_choice_add(cs_scenario_choice *choice, int id, const cs_args *args,
                                 cs_error *err);

/* Load the configuration and set everything. */
cs_status cs_scenario_choice_finish(cs_scenario_choice *choice, cs_error *err);

/* For a command that answers scenario by scenario: finish, hand every scenario to `visit`, free the
 * choice. With `only_one` (for --format json) there has to be exactly one. */
typedef cs_status cs_scenario_visit(void *user, cs_case *c, cs_error *err);
cs_status         cs_scenario_choice_run(cs_scenario_choice *choice, bool only_one,
                                         cs_scenario_visit *visit, void *user, cs_error *err);

void cs_scenario_choice_free(cs_scenario_choice *choice);

#endif
