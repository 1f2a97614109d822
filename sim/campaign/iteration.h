/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/iteration.h -- one iteration of training: compute, and an AllReduce of every bucket.
 *
 * Rank g computes for c_g = compute + its delay; bucket k of K is ready there after the part
 * 1 - overlap (K - 1 - k) / K of c_g. The calls run in order: a rank enters call k when its bucket
 * is ready and call k-1 has ended, which is at the same time for all. A call takes what a trial
 * (campaign/trial.h) with these arrivals takes. The last bucket is ready with the compute, so the
 * iteration ends with the last call, and the tail after it.
 *
 * Where all ranks enter a call together it takes as long as any other of its size: such a
 * call is timed once, for all iterations and threads.
 */
#ifndef CS_CAMPAIGN_ITERATION_H
#define CS_CAMPAIGN_ITERATION_H

#include "campaign/trial.h"

typedef struct cs_iterations cs_iterations; /* what all of them share */

typedef struct cs_iteration {
    double   elapsed_s; /* from the begin of compute to the begin of the next iteration */
    double   exposed_s; /* from when the last rank has computed to the end of the last call */
    bool     is_hit; /* the presumed rank was last (with others perhaps) to enter the first call */
    uint32_t n_fallbacks, n_replays; /* calls */
} cs_iteration;

/* Check the case, which has training, for every size of its buckets. `c` is borrowed. O(sizes). */
CS_MUST_CHECK cs_status cs_iterations_open(const cs_case *c, bool is_replayed, bool is_verified,
                                           cs_iterations **iterations_p, cs_error *err);
/* NULL is allowed. */
void cs_iterations_close(cs_iterations *iterations);

/* The trials of the first bucket's size. */
const cs_trials *cs_iterations_trials(const cs_iterations *iterations);

/* One iteration. `delay_s`: n_ranks times beside the compute; `previous`: the rank that
 * computed longest in the iteration before (cs_trials_look_back()); `space`: room for n_ranks
 * numbers. `proves`: cs_trial_prove() the first call of every size. May be called from any number
 * of threads. O(buckets) and the calls' times. */
CS_MUST_CHECK cs_status cs_iteration_run(cs_iterations *iterations, const double *delay_s,
                                         uint32_t previous, bool proves, double *space,
                                         cs_iteration *iteration_p, cs_error *err);

#endif
