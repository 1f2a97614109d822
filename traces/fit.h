/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/fit.h -- measured times over sizes as a few regimes, each a line t(S) = A + B S.
 *
 * A line is that of relative least squares: it minimises the sum of ((t - A - B S) / t)^2 under
 * A >= 0; a line with B <= 0 does not exist.
 * A regime is a run of consecutive sizes, at least three of them. Number and places of the
 * breaks are those with the smallest information criterion (BIC) of all segmentations, found
 * exactly by dynamic programming. See sim/doc/calibration.md for what that means and what not.
 */
#ifndef CS_TRACES_FIT_H
#define CS_TRACES_FIT_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cs_point {
    uint64_t bytes;  /* > 0 */
    double   time_s; /* > 0 */
} cs_point;

/* A line and its 95 % confidence intervals. */
typedef struct cs_line {
    double intercept_s, intercept_low_s, intercept_high_s;                /* A */
    double slope_s_per_byte, slope_low_s_per_byte, slope_high_s_per_byte; /* B */
} cs_line;

/* Sums over points, from which the best line's error follows: points are added one by one,
 * and each question costs O(1). {0} is empty. */
typedef struct cs_line_sums {
    size_t   n;
    size_t   n_sizes; /* different sizes; points must come in order of size, up or down */
    uint64_t last_bytes;
    double   u, v, uu, uv, vv; /* of u = 1 / t and v = S / t */
} cs_line_sums;

void cs_line_add(cs_line_sums *sums, cs_point point);

/* Sum of the squared relative residuals of the best line; false when there is none (B <= 0,
 * or fewer than two sizes). */
bool cs_line_error(const cs_line_sums *sums, double *error_p);

/* The line through n points, in order of size, with confidence intervals from Student's t
 * distribution (n - 2 degrees of freedom; n - 1 where A is held at 0; with none left the
 * intervals are unbounded). False when there is none. */
bool cs_line_fit(const cs_point *points, size_t n, cs_line *line_p);

/* A + B bytes. */
double cs_line_at(const cs_line *line, uint64_t bytes);

enum {
    CS_MAX_REGIMES    = 6,
    CS_REGIME_SIZES   = 3, /* at least so many different sizes in a regime */
    CS_MAX_FIT_POINTS = 1024,
    CS_MAX_FOLDS      = 64,
};

/* Relative errors |fitted - measured| / measured. */
typedef struct cs_fit_error {
    double mean_ratio, max_ratio;
    size_t n; /* points behind the two numbers */
} cs_fit_error;

typedef struct cs_regime_fit {
    size_t   first, n_points;      /* of the points */
    uint64_t min_bytes, max_bytes; /* where it holds: a break lies at the geometric mean of
                                      the sizes on its two sides */
    cs_line      line;
    cs_fit_error in_sample, held_out;
} cs_regime_fit;

typedef struct cs_fit {
    size_t        n_regimes;
    cs_regime_fit regimes[CS_MAX_REGIMES];
    double        criterion;           /* BIC */
    cs_fit_error  in_sample, held_out; /* over all points */
    size_t        n_folds;             /* refits behind held_out */
} cs_fit;

/* Fit 3 .. CS_MAX_FIT_POINTS points, sorted by size, with at most `max_regimes` regimes (0:
 * CS_MAX_REGIMES). Held-out errors: the sizes are left out one after the other (with more than
 * CS_MAX_FOLDS sizes, every CS_MAX_FOLDS-th of them together), everything is fitted again
 * without them, breaks included, and predicted; the first and the last size are predicted by
 * extending the outer regime. CS_EINVAL when there is no segmentation with growing times.
 * O(folds * n^2 * regimes). */
cs_status cs_fit_regimes(const cs_point *points, size_t n, size_t max_regimes, cs_fit *fit_p,
                         cs_error *err);

#endif
