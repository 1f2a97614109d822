/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hunt/script.h -- the command lines of a round, and the logs that they leave.
 *
 * A command has places in braces: {hosts} (a,b), {slots} (a:8,b:8), {nodes}, {gpus} of a node,
 * {ranks}, {from}, {to} and {step} (bytes, for -b, -e and -i), {rail}, {label}. It writes to
 * standard output. The first line of a log says which run it is, # collsim-hunt ID LABEL so that it
 * may be called anything; a log without that line is called LABEL, whatever follows.
 */
#ifndef CS_HUNT_SCRIPT_H
#define CS_HUNT_SCRIPT_H

#include "hunt/hunt.h"

/* The usual command of a launcher, for runs of all_reduce_perf; static storage. */
typedef enum cs_launcher { CS_LAUNCH_MPIRUN, CS_LAUNCH_SRUN } cs_launcher;
const char *cs_script_command(cs_launcher launcher, bool has_rails);

/* Are all places of a command known, does it name its hosts, and its rail where there are some? */
CS_MUST_CHECK cs_status cs_script_check(const cs_hunt *hunt, const char *command, cs_error *err);

/* Add the script of a round (from 0 on): its groups in the background, the runs of a group one
 * after the other; only runs that have no result. */
void cs_script_add(const cs_hunt *hunt, uint32_t round, cs_text *text);

/* Add the command of one run. */
void cs_script_add_command(const cs_hunt *hunt, uint32_t round, uint32_t group, uint32_t test,
                           cs_text *text);

/* Read a log, or all logs in a folder (files that are none of this hunt are passed over there), and
 * put what they say where it belongs. What cannot be used is named in `notes`, one line each, with
 * the reason. A run's bandwidth is the geometric mean over its rows from half of the largest size
 * on. *n_p counts the logs that were used. */
CS_MUST_CHECK cs_status cs_script_read(cs_hunt *hunt, const char *path, size_t *n_p, cs_text *notes,
                                       cs_error *err);

#endif
