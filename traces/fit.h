/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/fit.h -- measured times over sizes as a few regimes, each a line t(S) = A + B S (line.h).
 *
 * Outliers (outliers.h) are left out first. A regime is a run of consecutive sizes, at least three
 * of them. Number and places of the breaks are those with the smallest information criterion of all
 * segmentations, found exactly by dynamic programming. Sizes between two regimes lie on the join of
 * their ends. See sim/doc/calibration.md for what that means and what not.
 */
#ifndef CS_TRACES_FIT_H
#define CS_TRACES_FIT_H

#include "traces/line.h"
#include "traces/outliers.h"

enum {
    CS_MAX_REGIMES    = 6,
    CS_REGIME_SIZES   = 3, /* at least so many different sizes in a regime */
    CS_MAX_FIT_POINTS = 1024,
    CS_MAX_FOLDS      = 64,
};

/* Relative errors |fitted - measured| / measured. */
typedef struct cs_fit_error {
    double mean_ratio, median_ratio, max_ratio;
    size_t n; /* points behind the numbers */
} cs_fit_error;

/* Of n errors, which are sorted. */
cs_fit_error cs_fit_error_of(double *ratios, size_t n);

typedef struct cs_regime_fit {
    size_t       first, n_points;      /* of the points that are fitted */
    uint64_t     min_bytes, max_bytes; /* the sizes at its ends */
    cs_line      line;
    cs_fit_error in_sample, held_out;
} cs_regime_fit;

typedef struct cs_fit {
    size_t        n_regimes;
    cs_regime_fit regimes[CS_MAX_REGIMES];
    double        criterion;
    cs_fit_error  in_sample, held_out; /* over all points */
    size_t        n_folds;             /* refits behind held_out */
    cs_fit_error  every;               /* with every k-th size left out; n = 0: not asked for */
    size_t        n_outliers;
    cs_outlier    outliers[CS_MAX_OUTLIERS];
} cs_fit;

/* `{0}` is the usual fit. */
typedef struct cs_fit_options {
    size_t   max_regimes;    /* 0: CS_MAX_REGIMES */
    size_t   hold_out_every; /* 2 or more: cs_fit.every; 0: not */
    bool     keep_outliers;
    uint64_t seed; /* of the bootstrap */
} cs_fit_options;

/* Fit 3 .. CS_MAX_FIT_POINTS points, sorted by size and time. Where sizes have two points or more,
 * the lines are robust.
 * Held-out errors: the sizes are left out one after the other (with more than CS_MAX_FOLDS sizes,
 * every CS_MAX_FOLDS-th of them together), everything is fitted again without them, outliers and
 * breaks included, and they are predicted; the first and the last size by extending the outer
 * regime.
 * The interval of a line is the wider one, at each end, of Student's t for the breaks as found, and
 * of a bootstrap that finds them again (signs of the residuals at random: C. F. J. Wu, Annals of
 * Statistics 14, 1986), the same for the same seed.
 * CS_EINVAL when there is no segmentation with growing times. O((folds + replicates) * n^2 *
 * regimes). */
cs_status cs_fit_regimes(const cs_point *points, size_t n, const cs_fit_options *options,
                         cs_fit *fit_p, cs_error *err);

/* The time at a size; outside of all regimes, that of the outer one's line. */
double cs_fit_at(const cs_fit *fit, uint64_t bytes);

#endif
