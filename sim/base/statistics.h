/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/statistics.h -- what many samples say, and how sure that is.
 *
 * Every function depends on the order of the samples alone, so the same samples give the same
 * bits. `n_groups` = 0: the samples are independent. Otherwise they are cut into that many runs
 * [g n / n_groups, (g+1) n / n_groups) of nearly equal length, of which only the means (or
 * quantiles) count as independent: replicates of a quasi-random sequence, or batches of a
 * process with memory ("batch means"). `confidence` lies in (0, 1); 0: no intervals.
 */
#ifndef CS_BASE_STATISTICS_H
#define CS_BASE_STATISTICS_H

#include "cs/error.h"

#include <stddef.h>

/* A value and its confidence interval; a limit is NAN where the samples are too few for one. */
typedef struct cs_estimate {
    double value, low, high;
} cs_estimate;

typedef struct cs_spread {
    cs_estimate mean, p50, p95, p99;
    double      stddev, min, max; /* stddev: NAN for one sample */
} cs_spread;

/* The mean with Student's t interval over samples, or over group means. O(n). n >= 1. */
cs_estimate cs_estimate_mean(const double *x, size_t n, size_t n_groups, double confidence);

/* The mean of a series whose neighbours are alike, so that fewer than n values are independent:
 * with a lag-1 correlation r > 0 they are taken as n (1 - r) / (1 + r), which is exact in the limit
 * for a first-order autoregression, and as at least 2. The values are differences of numbers of the
 * size `scale`: what they vary by less than 1e-12 of it is rounding. O(n). n >= 1. */
cs_estimate cs_estimate_series(const double *x, size_t n, double scale, double confidence);

/* Quantile q of sorted samples (interpolated: Hyndman and Fan's type 7) with the interval between
 * two order statistics whose ranks are quantiles of the binomial distribution: at least as sure
 * as `confidence` for any distribution; one sample has none. O(log n). Source: H. A. David, H. N.
 * Nagaraja, "Order Statistics", 2003, section 7.1. */
cs_estimate cs_estimate_quantile(const double *sorted, size_t n, double q, double confidence);

/* Everything about the samples; `scratch` has room for n, and holds them sorted if n_groups is 0.
 * O(n log n). n >= 1. */
void cs_spread_of(const double *x, size_t n, size_t n_groups, double confidence, double *scratch,
                  cs_spread *spread_p);

/* `count` >= 2 such quantiles of sorted samples at equal steps: q = 0 (the least), 1 / (count - 1),
 * .., 1 (the largest). O(count). n >= 1. */
void cs_quantiles_of(const double *sorted, size_t n, double *quantiles_p, size_t count);

/* Sort into ascending order. O(n log n). */
void cs_sort_samples(double *x, size_t n);

/* Student's t: so many standard errors on either side hold the value with that confidence. */
double cs_student_t(double freedom, double confidence);

/* A spread and an estimate of nothing. */
cs_spread   cs_spread_none(void);
cs_estimate cs_estimate_none(void);

#endif
