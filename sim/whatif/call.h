/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/call.h -- how long one AllReduce call of a job takes that begins at a given time.
 *
 * Every call is a replay. Where nothing changes while the call runs, the replay is of constant
 * NICs and is kept, so that it is done once per state of the network; otherwise the call is
 * replayed with the capacity of the NICs over time. A dead NIC runs at 1e-9 of its rate.
 *
 * No call of all servers is faster than the best one on NICs that never fail: a schedule that is
 * made for a fault and turns out to be faster than that is replayed without the fault, too, and is
 * the best one then; where even that takes longer, CS_EINTERNAL is returned.
 */
#ifndef CS_WHATIF_CALL_H
#define CS_WHATIF_CALL_H

#include "cs/job.h"
#include "whatif/timeline.h"

typedef struct cs_caller cs_caller;

/* Who takes part in calls. */
typedef struct cs_members {
    const bool     *is_excluded; /* [n_histories] these servers are not there */
    const uint32_t *missing; /* a rank that is not there, nor its GPU; NULL: nobody is missing */
    const bool     *is_replaced; /* [n_histories] another server is in their place, whose NICs are
                                    whole. NULL: none */
} cs_members;

/* One call. */
typedef struct cs_call {
    const cs_whatif_schedule *schedule;
    double                    start_s; /* in job time, of the first rank */
    const double *known; /* [n_histories] the slowdowns that the schedule is made for; NULL:
                            healthy NICs */
    cs_members    members;
    const double *arrival_s; /* of the ranks that are there, after start_s; the schedule is made
                                  for them, too. NULL: all enter together */
    uint64_t arrival_id;     /* > 0, its own for all arrivals that differ; 0: all enter together */
} cs_call;

/* What is borrowed outlives the caller. The caller of this function owns *caller_p. */
CS_MUST_CHECK cs_status cs_caller_new(const cs_whatif_job *job, const cs_timeline *timeline,
                                      cs_caller **caller_p, cs_error *err);
void                    cs_caller_free(cs_caller *caller);

/* The duration in seconds: INFINITY where it never ends, because a NIC that it needs is dead for
 * ever. CS_EINVAL and CS_ENOTSUP: the algorithm cannot run on the network as it is known. */
CS_MUST_CHECK cs_status cs_call_time(cs_caller *caller, const cs_call *call, double *elapsed_s_p,
                                     cs_error *err);

/* What the call's schedule is when all ranks enter together: a hash of its transfers, the same for
 * the same. Errors are those of cs_call_time(). O(transfers). */
CS_MUST_CHECK cs_status cs_call_schedule(cs_caller *caller, const cs_call *call, uint64_t *hash_p,
                                         cs_error *err);

/* How long AdapCC's probes take of the servers that are there (cs_profile_time()), at slowdowns
 * [n_histories] that last for ever. A dead NIC (INFINITY) answers no probe, and nobody waits for
 * it; with one rank left there is nothing to probe. Refuses what the profile refuses. */
CS_MUST_CHECK cs_status cs_call_probes(cs_caller *caller, const double *slowdowns,
                                       const cs_members *members, double barrier_s,
                                       double *elapsed_s_p, cs_error *err);

/* How many replays have been done so far. */
uint64_t cs_caller_replays(const cs_caller *caller);

/* A call of all servers on NICs that never fail. */
typedef struct cs_best_call {
    double elapsed_s;
    char   name[64]; /* of the algorithm that ran, and of the one that fell back to it */
} cs_best_call;

/* The best of these calls. Set it to what is known already; INFINITY: nothing is. */
cs_best_call *cs_caller_best(cs_caller *caller);

#endif
