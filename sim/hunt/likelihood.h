/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hunt/likelihood.h -- how much rather each run was slowed by something bad than by noise. */
#ifndef CS_HUNT_LIKELIHOOD_H
#define CS_HUNT_LIKELIHOOD_H

#include "hunt/hunt.h"

enum { CS_HUNT_EFFECTS = 24 };

/* Runs of all rounds one after the other: run `first[round] + group * n_tests + test`. */
typedef struct cs_likelihood {
    uint32_t  n_runs, n_tests;
    uint32_t  first[CS_HUNT_MAX_ROUNDS + 1];
    double   *log_rate; /* of each run; NAN: no result */
    double   *weight;   /* rows over those that were wanted, at most 1 */
    double   *hit;      /* probability that something bad takes part; the caller may change it */
    double   *odd;      /* probability that, if nothing bad does, it was slow without a cause */
    double   *ratio;    /* log of likelihood if hit over likelihood if not; 0: no result */
    uint32_t *size_of;  /* class of each run: those of one size of groups */
    double   *center;   /* of each class: log of what is healthy; NAN: nothing known */
    double   *n_of;     /* of each class: how many healthy runs that comes from */
    uint32_t  n_classes;
    double    noise;      /* scale of a run's log, of all its rows */
    double    least_drop; /* of a logarithm, that is looked for */
    double    freedom;    /* of that estimate */
    double    log_sound;  /* log likelihood if nothing is bad, with that of the noise itself */
    cs_arena *arena;      /* borrowed */
} cs_likelihood;

/* Where a fit begins: most groups are healthy, whatever the noise; or only the fastest may be, and
 * the noise is what it is said to be. */
typedef enum cs_likelihood_start { CS_FROM_MEDIAN, CS_FROM_FASTEST } cs_likelihood_start;

/* Take the runs and fit them without regard to who is where. */
CS_MUST_CHECK cs_status cs_likelihood_begin(const cs_hunt *hunt, cs_likelihood_start start,
                                            cs_arena *arena, cs_likelihood *l_p, cs_error *err);

/* Estimate center and noise from the runs by `hit`, then set every ratio. O(runs). */
void cs_likelihood_fit(const cs_hunt *hunt, cs_likelihood *l);

#endif
