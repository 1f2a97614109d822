/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/trial.h -- how long one iteration of a scenario takes, given the arrivals: a trial,
 * which is one call, or an iteration of training, which is compute and calls, as an AllReduce of
 * every bucket.
 *
 * Trials. Where the algorithm has a closed form that is exact for the arrivals, that is the time;
 * otherwise, and where delays are so long that the difference between the closed form and the last
 * arrival has lost digits, the schedule is replayed. What the algorithm presumes about the late
 * rank follows the case's prediction policy: barrier 1 (option entry_barrier_s) costs the agreement
 * more where there is one (with two ranks there is no pre-phase, so nothing to agree about); the
 * fallback, where it runs, begins when the last rank has come and the ranks have agreed.
 *
 * Iterations. Rank g computes for c_g = compute + its delay; bucket k of K is ready there after the
 * part 1 - overlap (K - 1 - k) / K of c_g. The calls run in order: a rank enters call k when its
 * bucket is ready and call k-1 has ended, which is at the same time for all. A call takes what a
 * trial with these arrivals takes. Where calls bring what the compute needs
 * (cs_training.needed_ratio), a rank's compute stands still from that part on until the call has
 * ended, and all that follows is later by as much. The iteration ends with the last call and the
 * compute, and the tail after them. Where all ranks enter a call together it takes as long as any
 * other of its size: such a call is timed once, for all iterations and threads.
 */
#ifndef CS_CAMPAIGN_TRIAL_H
#define CS_CAMPAIGN_TRIAL_H

#include "scenario/case.h"
#include "scenario/late_prediction.h"

/* What the trials share; nothing changes it between cs_trials_open() and cs_trials_close(). */
typedef struct cs_trials {
    const cs_case     *c;
    bool               is_replayed; /* always */
    bool               is_verified; /* every replayed iteration */
    cs_late_prediction late;
    double             fallback_s; /* exposed time of the fallback; NAN: there is none */
    cs_job planned; /* resolved, for the arrivals of any trial; else all resolve their own */
} cs_trials;

typedef struct cs_trial {
    double elapsed_s, exposed_s;
    bool   is_hit; /* the presumed rank was last (with others perhaps) */
    bool   fell_back;
    bool   was_replayed; /* not computed in closed form */
} cs_trial;

/* Check the case once for all, and find the fallback's time. `c` is borrowed. The caller closes
 * them. */
CS_MUST_CHECK cs_status cs_trials_open(const cs_case *c, bool is_replayed, bool is_verified,
                                       cs_trials *trials_p, cs_error *err);

/* Trials that are all zero, too. */
void cs_trials_close(cs_trials *trials);

/* Does it need to know who was last in the iteration before? */
bool cs_trials_look_back(const cs_trials *trials);

/* One trial. `previous`: the rank that was last in the one before (cs_trials_look_back()).
 * CS_EWRONG where a verified schedule is not the collective. May be called from any number of
 * threads. */
CS_MUST_CHECK cs_status cs_trial_run(const cs_trials *trials, const double *arrival_s,
                                     uint32_t previous, cs_trial *trial_p, cs_error *err);

/* The same by replay, verified if the case is to be; and where there is a closed form, is it the
 * same time? CS_EINTERNAL if not. */
CS_MUST_CHECK cs_status cs_trial_prove(const cs_trials *trials, const double *arrival_s,
                                       uint32_t previous, cs_error *err);

/* ---- iterations of training ---- */

typedef struct cs_iterations cs_iterations; /* what all iterations share */

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
 * computed longest in the iteration before (cs_trials_look_back()); `space`: room for 2 n_ranks
 * numbers. `proves`: cs_trial_prove() the first call of every size. May be called from any number
 * of threads. O(buckets) and the calls' times. */
CS_MUST_CHECK cs_status cs_iteration_run(cs_iterations *iterations, const double *delay_s,
                                         uint32_t previous, bool proves, double *space,
                                         cs_iteration *iteration_p, cs_error *err);

#endif
