/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/course.h -- one policy through one history of outages.
 *
 * Between two changes (an outage begins, is known, is answered, ends, or a stop is over) the job
 * goes at the pace of the state that it is in (whatif/pace.h). Unlike cs_simulate_policy() it has
 * no iterations that a change could fall into: each change is right to within one of them.
 *
 * A server whose NICs are all dead is down. A job whose server goes down, or that fails by itself,
 * ends when that is detected, even if the server is back by then. Who is down is known as soon as
 * it is repaired.
 */
#ifndef CS_WHATIF_COURSE_H
#define CS_WHATIF_COURSE_H

#include "whatif/pace.h"

/* What a history came to. What is in none of these parts was done at the pace of some state. */
typedef struct cs_course {
    double   iterations; /* done, and not lost */
    double   redone;     /* lost, and done again */
    double   stalled_s;  /* no bandwidth, or nobody to go on with, or held until a repair */
    double   stopped_s;  /* to restart in whatever way, and to write checkpoints */
    uint64_t restarts;   /* stops */
} cs_course;

/* Whoever takes histories, one after the other: its memory. For one thread. */
typedef struct cs_walker cs_walker;

/* The job's servers are the first of the fleet's, spares follow. What is
 * borrowed outlives the walker. The caller owns it (cs_walker_free). */
CS_MUST_CHECK cs_status cs_walker_new(const cs_whatif_job *job, cs_pace_view *view,
                                      cs_walker **walker_p, cs_error *err);
void                    cs_walker_free(cs_walker *walker);

/* Has the policy spares to pay for? */
bool cs_policy_has_spares(const cs_whatif_job *job, const cs_whatif_policy *policy);

/* Take a policy through [0, duration_s) of a history. O(outages log outages + servers). */
CS_MUST_CHECK cs_status cs_walk(cs_walker *walker, const cs_whatif_policy *policy,
                                const cs_outages *outages, double duration_s, cs_course *course_p,
                                cs_error *err);

#endif
