/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/samples.h -- every iteration of one scenario, over threads.
 *
 * Iterations are taken in blocks, one at a time by whichever thread is free; sample i depends on i
 * alone, so the samples are the same bits for any number of threads.
 */
#ifndef CS_CAMPAIGN_SAMPLES_H
#define CS_CAMPAIGN_SAMPLES_H

#include "scenario/case.h"

#include <signal.h>

typedef struct cs_sampling_request {
    size_t iterations;
    /* Where iterations are of several sizes: that of iteration i is cases[case_of[i]], which
     * differs from the others in its size only. NULL: all are of one case. */
    const size_t *case_of;
    size_t        n_cases;
    unsigned      jobs; /* threads; 0 and 1: the calling thread alone */
    cs_sampling   sampling;
    bool          is_replayed, is_verified; /* see cs_trials */

    /* Called by the calling thread after each of its blocks; NULL: never. */
    void (*progress)(void *user, size_t iterations_done);
    void *user;
    /* When it becomes true, no block is begun any more. NULL: never. */
    const volatile sig_atomic_t *stop;
} cs_sampling_request;

/* `{0}` is empty. */
typedef struct cs_samples {
    size_t   n;
    double  *elapsed_s, *exposed_s;  /* [n]; owned */
    bool     presumes;               /* the algorithm presumes a late rank */
    uint32_t calls;                  /* per iteration */
    uint64_t n_hits;                 /* iterations: of their first call */
    uint64_t n_fallbacks, n_replays; /* calls; one that many iterations share is replayed once */
    size_t   n_groups;               /* for confidence intervals, see base/statistics.h */
    bool     is_stopped;             /* by *stop: nothing of this is of use */
} cs_samples;

/* Prove the first iteration (cs_trial_prove), then sample all: calls, or iterations of training.
 * `cases` is the case; of several (none with training) the first has the arrivals. The caller owns
 * the samples (cs_samples_free) on CS_OK. 16 bytes an iteration, and 4 where there are stragglers.
 */
CS_MUST_CHECK cs_status cs_samples_draw(const cs_case *cases, const cs_sampling_request *request,
                                        cs_samples *samples_p, cs_error *err);

/* `{0}` is allowed. */
void cs_samples_free(cs_samples *samples);

#endif
