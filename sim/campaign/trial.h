/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/trial.h -- one iteration of one scenario: given the arrivals, how long it takes.
 *
 * Where the algorithm has a closed form that is exact for the arrivals, that is the time;
 * otherwise, and where delays are so long that the difference between the closed form and the last
 * arrival has lost digits, the schedule is replayed. What the algorithm presumes about the late
 * rank follows the case's prediction policy: barrier 1 (option entry_barrier_s) costs the agreement
 * more where there is one (with two ranks there is no pre-phase, so nothing to agree about); the
 * fallback, where it runs, begins when the last rank has come and the ranks have agreed.
 */
#ifndef CS_CAMPAIGN_TRIAL_H
#define CS_CAMPAIGN_TRIAL_H

#include "scenario/case.h"
#include "scenario/late_prediction.h"

/* What the iterations share; nothing changes it after cs_trials_open(). */
typedef struct cs_trials {
    const cs_case     *c;
    bool               is_replayed; /* always */
    bool               is_verified; /* every replayed iteration */
    cs_late_prediction late;
    double             fallback_s; /* exposed time of the fallback; NAN: there is none */
} cs_trials;

typedef struct cs_trial {
    double elapsed_s, exposed_s;
    bool   is_hit; /* the presumed rank was last (with others perhaps) */
    bool   fell_back;
    bool   was_replayed; /* not computed in closed form */
} cs_trial;

/* Check the case once for all, and find the fallback's time. `c` is borrowed. */
CS_MUST_CHECK cs_status cs_trials_open(const cs_case *c, bool is_replayed, bool is_verified,
                                       cs_trials *trials_p, cs_error *err);

/* Does it need to know who was last in the iteration before? */
bool cs_trials_look_back(const cs_trials *trials);

/* One iteration. `previous`: the rank that was last in the one before (cs_trials_look_back()).
 * CS_EWRONG where a verified schedule is not the collective. May be called from any number of
 * threads. */
CS_MUST_CHECK cs_status cs_trial_run(const cs_trials *trials, const double *arrival_s,
                                     uint32_t previous, cs_trial *trial_p, cs_error *err);

/* The same by replay, verified if the case is to be; and where there is a closed form, is it the
 * same time? CS_EINTERNAL if not. */
CS_MUST_CHECK cs_status cs_trial_prove(const cs_trials *trials, const double *arrival_s,
                                       uint32_t previous, cs_error *err);

#endif
