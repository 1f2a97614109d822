/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimates with confidence intervals. Moments, quantiles and distribution functions are GSL's. */
#include "base/statistics.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

enum { N_QUANTILES = 3, MAX_GROUPS = 64 };

#define ROUNDING 1e-12

static const double quantiles[N_QUANTILES] = {0.5, 0.95, 0.99};

cs_estimate cs_estimate_none(void)
{
    const double none = (double)NAN;
    return (cs_estimate){none, none, none};
}

cs_spread cs_spread_none(void)
{
    const double      none    = (double)NAN;
    const cs_estimate nothing = cs_estimate_none();
    return (cs_spread){nothing, nothing, nothing, nothing, none, none, none};
}

double cs_student_t(double freedom, double confidence)
{
    return gsl_cdf_tdist_Pinv((1 + confidence) / 2, freedom);
}

/* value -+ t s / sqrt(n) from n independent values with standard deviation s. */
static cs_estimate student(double value, double stddev, double n, double confidence)
{
    cs_estimate estimate = {value, (double)NAN, (double)NAN};

    if (n >= 2 && confidence > 0) {
        double half = cs_student_t(n - 1, confidence) * stddev / sqrt(n);
        estimate    = (cs_estimate){value, value - half, value + half};
    }
    return estimate;
}

static size_t group_begin(size_t n, size_t n_groups, size_t group)
{
    return group * n / n_groups;
}

/* No more than can have two samples each. */
static size_t usable_groups(size_t n, size_t n_groups)
{
    size_t most = n / 2 < MAX_GROUPS ? n / 2 : MAX_GROUPS;
    size_t used = n_groups < most ? n_groups : most;
    return used > 0 ? used : 1;
}

cs_estimate cs_estimate_mean(const double *x, size_t n, size_t n_groups, double confidence)
{
    double means[MAX_GROUPS], mean = gsl_stats_mean(x, 1, n);

    if (n_groups == 0) {
        return student(mean, n > 1 ? gsl_stats_sd_m(x, 1, n, mean) : 0, (double)n, confidence);
    }
    size_t groups = usable_groups(n, n_groups);
    for (size_t g = 0; g < groups; g++) {
        size_t begin = group_begin(n, groups, g), end = group_begin(n, groups, g + 1);
        means[g] = gsl_stats_mean(x + begin, 1, end - begin);
    }
    return student(mean, groups > 1 ? gsl_stats_sd(means, 1, groups) : 0, (double)groups,
                   confidence);
}

cs_estimate cs_estimate_series(const double *x, size_t n, double scale, double confidence)
{
    double mean      = gsl_stats_mean(x, 1, n);
    double deviation = n > 1 ? gsl_stats_sd_m(x, 1, n, mean) : (double)NAN;

    if (n < 2) {
        return student(mean, 0, (double)n, confidence);
    }
    if (!(deviation > ROUNDING * scale)) {
        return (cs_estimate){mean, mean, mean};
    }
    double r = fmax(0, gsl_stats_lag1_autocorrelation_m(x, 1, n, mean));
    return student(mean, deviation, fmax(2, (double)n * (1 - r) / (1 + r)), confidence);
}

/* The least k in [0, n] with P(at most k of n) >= p; P(at most n) is 1. */
static size_t binomial_quantile(size_t n, double q, double p)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (gsl_cdf_binomial_P((unsigned)middle, q, (unsigned)n) >= p) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* With B of n samples below the quantile, it lies above the l-th least when B >= l and below the
 * u-th when B < u. P(B < l) <= tail makes l at most the tail's quantile of B; P(B < u) >= 1 - tail
 * makes u at least the other tail's plus one. */
cs_estimate cs_estimate_quantile(const double *sorted, size_t n, double q, double confidence)
{
    cs_estimate quantile = {gsl_stats_quantile_from_sorted_data(sorted, 1, n, q), (double)NAN,
                            (double)NAN};

    if (n < 2 || !(confidence > 0)) {
        return quantile;
    }
    double tail  = (1 - confidence) / 2;
    size_t lower = binomial_quantile(n, q, tail), upper = binomial_quantile(n, q, 1 - tail) + 1;

    quantile.low  = lower >= 1 ? sorted[lower - 1] : (double)NAN;
    quantile.high = upper <= n ? sorted[upper - 1] : (double)NAN;
    return quantile;
}

/* From the quantiles of the groups. */
static void group_quantiles(const double *x, size_t n, size_t n_groups, double confidence,
                            double *scratch, cs_estimate *const *estimates)
{
    double values[N_QUANTILES][MAX_GROUPS];
    size_t groups = usable_groups(n, n_groups);

    memcpy(scratch, x, n * sizeof *x);
    for (size_t g = 0; g < groups; g++) {
        size_t begin = group_begin(n, groups, g), count = group_begin(n, groups, g + 1) - begin;
        gsl_sort(scratch + begin, 1, count);
        for (size_t i = 0; i < N_QUANTILES; i++) {
            values[i][g] =
                gsl_stats_quantile_from_sorted_data(scratch + begin, 1, count, quantiles[i]);
        }
    }
    for (size_t i = 0; i < N_QUANTILES; i++) {
        double stddev = groups > 1 ? gsl_stats_sd(values[i], 1, groups) : 0;
        *estimates[i] = student(estimates[i]->value, stddev, (double)groups, confidence);
    }
}

void cs_spread_of(const double *x, size_t n, size_t n_groups, double confidence, double *scratch,
                  cs_spread *spread_p)
{
    cs_spread   *s           = spread_p;
    cs_estimate *estimates[] = {&s->p50, &s->p95, &s->p99};

    memcpy(scratch, x, n * sizeof *x);
    cs_sort_samples(scratch, n);
    s->mean   = cs_estimate_mean(x, n, n_groups, confidence);
    s->stddev = n > 1 ? gsl_stats_sd_m(x, 1, n, s->mean.value) : (double)NAN;
    s->min    = scratch[0];
    s->max    = scratch[n - 1];
    for (size_t i = 0; i < N_QUANTILES; i++) {
        *estimates[i] = cs_estimate_quantile(scratch, n, quantiles[i], confidence);
    }
    if (n_groups > 0) {
        group_quantiles(x, n, n_groups, confidence, scratch, estimates);
    }
}

void cs_quantiles_of(const double *sorted, size_t n, double *quantiles_p, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        double q       = (double)k / (double)(count - 1);
        quantiles_p[k] = gsl_stats_quantile_from_sorted_data(sorted, 1, n, q);
    }
}

/* A heap is slow where there is little to sort. */
enum { FEW_SAMPLES = 32 };

void cs_sort_samples(double *x, size_t n)
{
    if (n > FEW_SAMPLES) {
        gsl_sort(x, 1, n);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        double value = x[i];
        size_t at    = i;
        for (; at > 0 && x[at - 1] > value; at--) {
            x[at] = x[at - 1];
        }
        x[at] = value;
    }
}
