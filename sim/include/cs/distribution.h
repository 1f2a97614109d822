/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/distribution.h -- distributions of delays, each by its quantile function.
 *
 * Everything is sampled by inverting the distribution function at a uniform number. Pseudo-random
 * and quasi-random numbers are then interchangeable, and the same number gives a later arrival
 * to whoever has the larger delays. All delays are seconds and not negative.
 *
 * Whoever uses the library switches GSL's error handler off (gsl_set_error_handler_off()): what GSL
 * cannot invert is found by bisection then, instead of ending the program.
 */
#ifndef CS_DISTRIBUTION_H
#define CS_DISTRIBUTION_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>

CS_BEGIN_C

/* X(id, name, what shape, scale and shift_s mean). */
#define CS_DISTRIBUTION_MAP(X)                                                             \
    X(CONSTANT, "constant", "always shift_s")                                              \
    X(UNIFORM, "uniform", "between shift_s and shift_s + scale_s")                         \
    X(EXPONENTIAL, "exponential", "mean scale_s")                                          \
    X(NORMAL, "normal", "mean shift_s, standard deviation scale_s, given that it is >= 0") \
    X(LOGNORMAL, "lognormal", "median scale_s, standard deviation of the logarithm shape") \
    X(GAMMA, "gamma", "shape, scale_s: mean shape * scale_s")                              \
    X(WEIBULL, "weibull", "shape, scale_s: P(more than t) = exp(-(t/scale_s)^shape)")      \
    X(PARETO, "pareto", "shape, least value scale_s: P(more than t) = (scale_s/t)^shape")  \
    X(EMPIRICAL, "empirical", "one of n_values values, each as likely")

typedef enum cs_distribution_kind {
#define X(id, name, meaning) CS_DISTRIBUTION_##id,
    CS_DISTRIBUTION_MAP(X)
#undef X
        CS_DISTRIBUTION_COUNT
} cs_distribution_kind;

/* `{0}` is valid: no delay. */
typedef struct cs_distribution {
    cs_distribution_kind kind;
    double               shape, scale_s, shift_s; /* see the map; > 0 where they are used */
    const double        *value_s;                 /* ascending; borrowed; NULL unless EMPIRICAL */
    size_t               n_values;
} cs_distribution;

CS_API const char *cs_distribution_name(cs_distribution_kind kind);

/* Is there anything random about it? */
CS_API bool cs_distribution_is_random(const cs_distribution *d);

/* The delay that is not exceeded with probability `u`, 0 < u < 1. Finite. */
CS_API double cs_distribution_quantile(const cs_distribution *d, double u);

/* Mean and standard deviation; the latter is INFINITY for a Pareto distribution of shape <= 2. */
CS_API double cs_distribution_mean(const cs_distribution *d);
CS_API double cs_distribution_stddev(const cs_distribution *d);

CS_END_C

#endif
