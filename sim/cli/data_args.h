/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/data_args.h -- what commands draw: results in a file, or a configuration that is run first.
 */
#ifndef CS_CLI_DATA_ARGS_H
#define CS_CLI_DATA_ARGS_H

#include "cli/scenario_args.h"
#include "report/data.h"

enum { CS_MOST_CONDITIONS = 16 };

/* `{0}` is empty. */
typedef struct cs_data_choice {
    cs_scenario_choice scenario;
    const char        *conditions[CS_MOST_CONDITIONS];
    size_t             n_conditions;
    uint32_t           jobs;        /* 0: one per processor */
    bool               with_before; /* run what is broken also without that (cs_report_before) */
} cs_data_choice;

/* The options, of a cs_data_choice; the operand is scenario.given.path. */
extern const cs_arg cs_data_args[];
#define CS_DATA_TABLES(job_, choice_)                                                  \
    {.args   = cs_scenario_args,                                                       \
     .object = offsetof(job_, choice_) + offsetof(cs_data_choice, scenario),           \
     .config = offsetof(job_, choice_) + offsetof(cs_data_choice, scenario.given),     \
     .last   = CS_NOWHERE},                                                              \
    {                                                                                  \
        .args = cs_data_args, .object = offsetof(job_, choice_), .config = CS_NOWHERE, \
        .last = CS_NOWHERE                                                             \
    }

/* Read the file, or run what the options and the configuration say, and keep the rows that were
 * asked for. cs_data_free() the data; cs_scenario_choice_free() the choice, which has the
 * configuration where something was run. */
CS_MUST_CHECK cs_status cs_data_choice_load(cs_data_choice *choice, cs_data *data, cs_error *err);

#endif
