/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/scenario_args.h -- the options that describe a scenario, the same for every command that
 * takes one. Each sets a key of a configuration; lists become axes of a sweep. */
#ifndef CS_CLI_SCENARIO_ARGS_H
#define CS_CLI_SCENARIO_ARGS_H

#include "cli/config_args.h"
#include "schedules/schedule_json.h"
#include "study/all.h"

/* The options, of a cs_scenario_choice. */
extern const cs_arg cs_scenario_args[];
/* Rows for single NICs, of a kind in faults.def and dead, for every command that takes them. */
#define CS_SLOW_NIC_ROW(option_, key_, letter_)                                        \
    CS_ARG_KEY(0, option_ "-nic", "SERVER.NIC=" letter_ "[@FROM[:UNTIL]]", "faults[]", \
               CS_SET_PARTS, "server.nic=" key_ "@from:until",                         \
               "the same for one NIC of a server (repeatable)")
#define CS_KILL_NIC_ROW                                                              \
    CS_ARG_KEY(0, "kill-nic", "SERVER.NIC[@FROM[:UNTIL]]", "faults[]", CS_SET_PARTS, \
               "slowdown!server.nic@from:until", "one NIC that is dead (repeatable)")
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
    size_t           index;                /* of the scenario that is visited */
    bool             is_quiet;             /* nothing is said about the progress */
} cs_scenario_choice;

/* Load the configuration and set everything. */
cs_status cs_scenario_choice_finish(cs_scenario_choice *choice, cs_error *err);

/* The note on standard error about algorithms that "all" leaves out; nothing where there is none.
 */
void cs_say_left_out(const cs_left_out *out);

/* Does it name an algorithm, or several? */
bool cs_config_names_algorithm(const cs_config *config);

/* Hand every scenario of a finished choice to `visit`. Those of `-a all` that it refuses are left
 * out, and named on standard error. */
typedef cs_status cs_scenario_visit(void *user, cs_case *c, cs_error *err);
cs_status cs_scenario_choice_visit(cs_scenario_choice *choice, cs_scenario_visit *visit, void *user,
                                   cs_error *err);

/* For a command that answers scenario by scenario: finish, hand every scenario to `visit`, free the
 * choice. What `visit` refuses of an algorithm that only "all" stands for is left out, and said; it
 * must not have printed anything of it. With `only_one` (for --format json) there has to be exactly
 * one. */
cs_status cs_scenario_choice_run(cs_scenario_choice *choice, bool only_one,
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
