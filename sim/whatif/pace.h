/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/pace.h -- how long an iteration of a job takes in a state of its servers.
 *
 * A state is how many of the servers that take part have 1, 2, .. dead NICs, and how many servers
 * are left out. Servers are alike, so that a state is replayed once: with its dead NICs on the
 * first servers, and without the last ones. Times are kept in a table that threads share; a *view*
 * of one thread has those that it met, without a lock. A time does not depend on who asks first.
 */
#ifndef CS_WHATIF_PACE_H
#define CS_WHATIF_PACE_H

#include "whatif/call.h"

typedef struct cs_pace_state {
    uint16_t dead[CS_MAX_SERVER_NICS]; /* [k - 1]: servers with k dead NICs */
    uint16_t out;                      /* servers that are left out */
} cs_pace_state;

typedef struct cs_pace      cs_pace;
typedef struct cs_pace_view cs_pace_view;

/* With k dead NICs a server is slowed by slowdowns[k], for k up to `nics`. What is borrowed
 * outlives the pace. The caller owns it (cs_pace_free). */
CS_MUST_CHECK cs_status cs_pace_new(const cs_whatif_job *job, const double *slowdowns,
                                    uint32_t nics, cs_pace **pace_p, cs_error *err);
/* With so many dead NICs a server is down. */
uint32_t cs_pace_nics(const cs_pace_view *view);
void     cs_pace_free(cs_pace *pace);

/* For one thread. The caller owns it (cs_pace_view_free). */
CS_MUST_CHECK cs_status cs_pace_view_new(cs_pace *pace, cs_pace_view **view_p, cs_error *err);
void                    cs_pace_view_free(cs_pace_view *view);

/* The duration of an iteration with a schedule made for the state; where it cannot run, with the
 * job's. `schedule` NULL: the job's, made for whole NICs. O(1) once it is known. */
CS_MUST_CHECK cs_status cs_pace_time(cs_pace_view *view, const cs_whatif_schedule *schedule,
                                     const cs_pace_state *state, double *iteration_s_p,
                                     cs_error *err);

/* What is known once all threads have ended: the best call of all servers on whole NICs, how many
 * states there were, and why a schedule could not run in some state (NULL: it could in all), in the
 * words of the first such state in the order of states. */
const cs_best_call *cs_pace_best(const cs_pace *pace);
uint64_t            cs_pace_states(const cs_pace *pace);
const char         *cs_pace_refusal(const cs_pace *pace, const cs_whatif_schedule *schedule);

/* An iteration whose calls take so long each. */
double cs_pace_iteration(const cs_whatif_job *job, double call_s);

#endif
