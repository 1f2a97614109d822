/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/scenario_args.h -- the options that describe a scenario, the same for every command that
 * takes one. Each sets a key of a configuration; lists become axes of a sweep. */
#ifndef CS_CLI_SCENARIO_ARGS_H
#define CS_CLI_SCENARIO_ARGS_H

#include "cli/config_args.h"
#include "schedules/schedule_json.h"

/* The options, of a cs_scenario_choice. */
extern const cs_arg cs_scenario_args[];
#define CS_SCENARIO_TABLE(job_, choice_)                                         \
    {                                                                            \
        .args = cs_scenario_args, .object = offsetof(job_, choice_),             \
        .config = offsetof(job_, choice_) + offsetof(cs_scenario_choice, given), \
        .last   = CS_NOWHERE                                                     \
    }

/* What was chosen; `{0}` is empty. */
typedef struct cs_scenario_choice {
    cs_config_choice given;
    cs_config       *config;               /* owned; NULL before the end */
    uint64_t         min_bytes, max_bytes; /* 0: not given */
    double           factor;               /* 0: not given */
} cs_scenario_choice;

/* Load the configuration and set everything. */
cs_status cs_scenario_choice_finish(cs_scenario_choice *choice, cs_error *err);

/* For a command that answers scenario by scenario: finish, hand every scenario to `visit`, free the
 * choice. With `only_one` (for --format json) there has to be exactly one. */
typedef cs_status cs_scenario_visit(void *user, cs_case *c, cs_error *err);
cs_status         cs_scenario_choice_run(cs_scenario_choice *choice, bool only_one,
                                         cs_scenario_visit *visit, void *user, cs_error *err);

/* For a command about AdapCC's trees, which have one scenario and algorithm: finish, and build it;
 * `command` is its name. Where GPUs share NICs, and no model is asked for, it is on the one that
 * shares them between flows, as the cost models do: port models would give each GPU its part. The
 * caller frees the case in any case. */
CS_MUST_CHECK cs_status cs_scenario_choice_adapcc(cs_scenario_choice *choice, const char *command,
                                                  cs_case *c, cs_error *err);

void cs_scenario_choice_free(cs_scenario_choice *choice);

/* The option --schedule FILE, a stored schedule in place of an algorithm: load the file and set
 * what it brings: ranks, GPUs per server, sockets, collective and, unless given, the size. `choice`
 * is finished; the caller owns the schedule, on failure too. */
CS_MUST_CHECK cs_status cs_schedule_arg_load(cs_scenario_choice *choice, const char *path,
                                             cs_stored **schedule_p, cs_error *err);

#endif
