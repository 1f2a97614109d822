/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run may ask for: see montecarlo/state.h. */
#include "montecarlo/state.h"

enum { LEAST_QUASI = 2 * CS_REPLICATES }; /* two points of each copy */

/* Two points are the least of which a copy has a mean with a spread. */
static cs_status check_copies(const cs_montecarlo_options *options, size_t iterations,
                              cs_error *err)
{
    if (options->sampling != CS_SAMPLING_RANDOM && iterations < LEAST_QUASI) {
        return CS_FAIL(err, CS_EINVAL, "--iterations",
                       "%zu are too few for %d shifted sequences: accepted are %d and more",
                       iterations, CS_REPLICATES, LEAST_QUASI);
    }
    return CS_OK;
}

cs_status cs_montecarlo_check(const cs_config *config, const cs_montecarlo_options *options,
                              cs_error *err)
{
    size_t total = cs_config_count(config), baseline;

    if (options->iterations < 1 || options->iterations > CS_MAX_ITERATIONS) {
        return CS_FAIL(err, CS_EINVAL, "--iterations", "%zu is outside [1, %d]",
                       options->iterations, CS_MAX_ITERATIONS);
    }
    if (!(options->confidence > 0 && options->confidence < 1)) {
        return CS_FAIL(err, CS_EINVAL, "--confidence", "%.15g is outside (0, 1)",
                       options->confidence);
    }
    if (check_copies(options, options->iterations, err) != CS_OK) {
        return CS_EINVAL;
    }
    if (total > CS_MONTECARLO_MAX_CASES) {
        return CS_FAIL(err, CS_EINVAL, "sweep", "has %zu scenarios: accepted are at most %d", total,
                       CS_MONTECARLO_MAX_CASES);
    }
    return cs_config_baseline(config, 0, options->baseline, &baseline, err);
}

/* Who presumes the last rank of the iteration before knows less in the first. */
bool cs_montecarlo_is_fixed(const cs_case *c)
{
    return cs_arrivals_are_fixed(&c->arrivals) && c->policy.prediction != CS_PREDICTION_PREVIOUS;
}

cs_status cs_montecarlo_iterations(const cs_montecarlo_options *options, const cs_case *c,
                                   size_t *iterations_p, cs_error *err)
{
    size_t calls      = c->arrivals.resamples ? 0 : c->arrivals.trace.n_calls;
    bool   is_shorter = calls > 0 && calls < options->iterations;

    if (cs_montecarlo_is_fixed(c)) {
        *iterations_p = 1;
        return CS_OK;
    }
    if (is_shorter && !options->takes_fewer) {
        return CS_FAIL(err, CS_EINVAL, "--iterations",
                       "%zu are more than the %zu calls of the trace, which are taken in order: "
                       "accepted are at most %zu, or any number with arrivals.trace.pick=resample",
                       options->iterations, calls, calls);
    }
    *iterations_p = is_shorter ? calls : options->iterations;
    return check_copies(options, *iterations_p, err);
}
