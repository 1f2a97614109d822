/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/schedule_arg.h -- the option --schedule FILE: a stored schedule in place of an algorithm. */
#ifndef CS_CLI_SCHEDULE_ARG_H
#define CS_CLI_SCHEDULE_ARG_H

#include "cli/scenario_args.h"
#include "schedules/schedule_json.h"

/* Load the file and set what it brings: ranks, GPUs per server, sockets, collective and, unless
 * given, the size. `choice` is finished; the caller owns the schedule, on failure too. */
CS_MUST_CHECK cs_status cs_schedule_arg_load(cs_scenario_choice *choice, const char *path,
                                             cs_stored **schedule_p, cs_error *err);

#endif
