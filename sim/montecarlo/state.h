/* SPDX-License-Identifier: GPL-3.0-or-later */
/* montecarlo/state.h -- what a run remembers between scenarios; for montecarlo.c, limits.c and
 * run.c. */
#ifndef CS_MONTECARLO_STATE_H
#define CS_MONTECARLO_STATE_H

#include "montecarlo/montecarlo.h"
#include "montecarlo/samples.h"

struct cs_montecarlo {
    const cs_config             *config;
    const cs_montecarlo_options *options;
    size_t                       base; /* whose samples follow; SIZE_MAX: nobody's */
    bool                         base_failed;
    cs_samples                   base_samples;
    uint64_t                     done, total; /* iterations, for the progress */
};

/* Errors of cs_montecarlo_open(): options out of range, too many scenarios, no such baseline. */
cs_status cs_montecarlo_check(const cs_config *config, const cs_montecarlo_options *options,
                              cs_error *err);

/* Is nothing random in the scenario, so that every iteration is the first? */
bool cs_montecarlo_is_fixed(const cs_case *c);

/* How many iterations a scenario takes: those of the options; one where nothing is random; one for
 * each call of a trace that is taken in order, where these are fewer and the options take them,
 * else CS_EINVAL. */
cs_status cs_montecarlo_iterations(const cs_montecarlo_options *options, const cs_case *c,
                                   size_t *iterations_p, cs_error *err);

#endif
