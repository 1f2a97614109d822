/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regimes. best[k][j] is the smallest sum of squared relative residuals of the first j points in k
 * regimes. For a fixed j the last regime grows downwards from j, so its error costs O(1) per
 * step and nothing is stored per pair: O(n^2 regimes) time, O(n regimes) memory.
 *
 * Regimes are compared by BIC = n ln(error / n + floor^2) + p ln n, p = 3 k (two parameters
 * each, k - 1 breaks, one variance). The floor, 0.1 %, is what a printed time resolves at best: a
 * smaller improvement is no evidence for another regime.
 */
#include "traces/fit.h"

#include "base/alloc.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double floor_ratio = 1e-3;

typedef struct search {
    const cs_point *points;
    size_t          n, max_regimes;
    bool            is_robust; /* the lines that are collected */
    double         *best;      /* (max_regimes + 1) x (n + 1) */
    size_t         *from;      /* where the last regime of best[k][j] begins */
} search;

static bool is_break(const search *s, size_t at)
{
    return at == 0 || at == s->n || s->points[at - 1].bytes < s->points[at].bytes;
}

static void try_segment(search *s, size_t first, size_t end, double error)
{
    size_t width = s->n + 1;

    for (size_t k = 1; k <= s->max_regimes; k++) {
        double total = s->best[(k - 1) * width + first] + error;
        if (total < s->best[k * width + end]) {
            s->best[k * width + end] = total;
            s->from[k * width + end] = first;
        }
    }
}

static void fill(search *s)
{
    size_t width = s->n + 1;

    for (size_t i = 0; i < (s->max_regimes + 1) * width; i++) {
        s->best[i] = HUGE_VAL;
    }
    s->best[0] = 0;
    for (size_t end = 1; end <= s->n; end++) {
        cs_line_sums sums = {0};

        for (size_t first = end; is_break(s, end) && first-- > 0;) {
            double error = 0;
            cs_line_add(&sums, s->points[first]);
            if (sums.n_sizes >= CS_REGIME_SIZES && is_break(s, first) &&
                cs_line_error(&sums, &error)) {
                try_segment(s, first, end, error);
            }
        }
    }
}

static double criterion_of(double error, size_t n, size_t regimes)
{
    double points = (double)n;

    return points * log(error / points + floor_ratio * floor_ratio) +
           3 * (double)regimes * log(points);
}

/* The number of regimes with the smallest criterion; 0 when nothing fits. */
static size_t choose(const search *s, double *criterion_p)
{
    size_t chosen = 0;

    *criterion_p = HUGE_VAL;
    for (size_t k = 1; k <= s->max_regimes; k++) {
        double criterion = criterion_of(s->best[k * (s->n + 1) + s->n], s->n, k);
        if (criterion < *criterion_p) {
            *criterion_p = criterion;
            chosen       = k;
        }
    }
    return chosen;
}

/* Walk back through the breaks and fit each regime. */
static bool collect(const search *s, size_t n_regimes, cs_fit *fit)
{
    size_t end = s->n;

    fit->n_regimes = n_regimes;
    for (size_t k = n_regimes; k > 0; k--) {
        cs_regime_fit *regime = &fit->regimes[k - 1];
        size_t         first  = s->from[k * (s->n + 1) + end];

        *regime           = (cs_regime_fit){.first = first, .n_points = end - first};
        regime->min_bytes = s->points[first].bytes;
        regime->max_bytes = s->points[end - 1].bytes;
        if (!(s->is_robust ? cs_line_fit_robust : cs_line_fit)(s->points + first, regime->n_points,
                                                               &regime->line)) {
            return false;
        }
        end = first;
    }
    return true;
}

/* Find and fit the best segmentation of n points with memory that is there already. */
static bool segment(search *s, const cs_point *points, size_t n, cs_fit *fit)
{
    size_t n_regimes;

    s->points = points;
    s->n      = n;
    fill(s);
    n_regimes = choose(s, &fit->criterion);
    return n_regimes > 0 && collect(s, n_regimes, fit);
}

double cs_fit_at(const cs_fit *fit, uint64_t bytes)
{
    double intercept = 0, slope = 0;
    size_t r = 0;

    while (r + 1 < fit->n_regimes && bytes > fit->regimes[r].max_bytes) {
        r++;
    }
    const cs_regime_fit *regime = &fit->regimes[r];
    if (r == 0 || bytes >= regime->min_bytes) {
        return cs_line_at(&regime->line, bytes);
    }
    cs_line_join(&regime[-1].line, regime[-1].max_bytes, &regime->line, regime->min_bytes, bytes,
                 &intercept, &slope);
    return intercept + slope * (double)bytes;
}

/* ---- errors ---- */

/* Errors of points, each with its regime, until they are summed up. */
typedef struct error_list {
    double *ratios, *sorted;
    size_t *regimes;
    size_t  n;
} error_list;

/* The regime that a size is nearest to belong to. */
static size_t regime_of(const cs_fit *fit, uint64_t bytes)
{
    size_t r = 0;

    while (r + 1 < fit->n_regimes && bytes >= fit->regimes[r + 1].min_bytes) {
        r++;
    }
    return r;
}

/* `fit` predicts a point, whose regime is that of `owner`. */
static void add_error(error_list *list, const cs_fit *owner, const cs_fit *fit, cs_point point)
{
    list->regimes[list->n]  = regime_of(owner, point.bytes);
    list->ratios[list->n++] = fabs(cs_fit_at(fit, point.bytes) - point.time_s) / point.time_s;
}

static int ascending(const void *a, const void *b)
{
    const double *p = a, *q = b;

    return (*p > *q) - (*p < *q);
}

cs_fit_error cs_fit_error_of(double *ratios, size_t n)
{
    cs_fit_error error = {.n = n};

    if (n == 0) {
        return error;
    }
    qsort(ratios, n, sizeof *ratios, ascending);
    for (size_t i = 0; i < n; i++) {
        error.mean_ratio += ratios[i] / (double)n;
    }
    error.median_ratio = (ratios[(n - 1) / 2] + ratios[n / 2]) / 2;
    error.max_ratio    = ratios[n - 1];
    return error;
}

/* The errors of a regime, or of all (CS_MAX_REGIMES). */
static cs_fit_error summarise(const error_list *list, size_t regime)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        if (regime == CS_MAX_REGIMES || list->regimes[i] == regime) {
            list->sorted[n++] = list->ratios[i];
        }
    }
    return cs_fit_error_of(list->sorted, n);
}

/* ---- a fit, its errors and intervals ---- */

/* Memory for one fit: everything is as large as there are points. */
typedef struct bench {
    search     search;
    error_list errors;
    cs_point  *kept, *out; /* of one fold */
    double    *room;       /* 4 numbers a point */
    double    *samples;    /* of the bootstrap */
    gsl_rng   *random;
    bool       keep_outliers;
} bench;

static size_t count_sizes(const cs_point *points, size_t n)
{
    size_t n_sizes = n > 0;

    for (size_t i = 1; i < n; i++) {
        n_sizes += points[i].bytes != points[i - 1].bytes;
    }
    return n_sizes;
}

/* Fit n points, which are overwritten by those that are no outliers. */
static bool fit_points(bench *b, cs_point *points, size_t *n_p, cs_fit *fit)
{
    if (!b->keep_outliers) {
        fit->n_outliers = cs_outliers_take(points, n_p, b->room, fit->outliers);
    }
    b->search.is_robust = *n_p >= 2 * count_sizes(points, *n_p);
    return count_sizes(points, *n_p) >= CS_REGIME_SIZES && segment(&b->search, points, *n_p, fit);
}

/* Copies the points whose size's index is `fold` modulo `folds` to `out`, the others to
 * `kept`. Returns how many are kept. */
static size_t split_fold(const cs_point *points, size_t n, size_t folds, size_t fold,
                         cs_point *kept, cs_point *out)
{
    size_t n_kept = 0, n_out = 0, size = 0;

    for (size_t i = 0; i < n; i++) {
        size += i > 0 && points[i].bytes != points[i - 1].bytes;
        if (size % folds == fold) {
            out[n_out++] = points[i];
        } else {
            kept[n_kept++] = points[i];
        }
    }
    return n_kept;
}

static bool is_outlier(const cs_fit *fit, cs_point point)
{
    for (size_t o = 0; o < fit->n_outliers; o++) {
        if (fit->outliers[o].point.bytes == point.bytes &&
            fit->outliers[o].point.time_s == point.time_s) {
            return true;
        }
    }
    return false;
}

/* Leave out every `folds`-th size, `folds` times. Outliers are not predicted. Returns how many
 * times there was a fit without. */
static size_t hold_out(bench *b, const cs_point *points, size_t n, size_t folds, const cs_fit *fit)
{
    size_t n_done = 0;

    b->errors.n = 0;
    for (size_t fold = 0; fold < folds; fold++) {
        cs_fit without = {0};
        size_t n_kept  = split_fold(points, n, folds, fold, b->kept, b->out);
        size_t n_out   = n - n_kept;

        if (!fit_points(b, b->kept, &n_kept, &without)) {
            continue;
        }
        n_done++;
        for (size_t i = 0; i < n_out; i++) {
            if (!is_outlier(fit, b->out[i])) {
                add_error(&b->errors, fit, &without, b->out[i]);
            }
        }
    }
    return n_done;
}

enum { MOST_REPLICATES = 399, LEAST_REPLICATES = 99, REPLICATE_COST = 4000000 };

/* Widen [*low_p, *high_p] to the middle 95 % of n samples, as far as both ends are there. */
static void widen(double *samples, size_t n, double *low_p, double *high_p)
{
    if (n > 0) {
        qsort(samples, n, sizeof *samples, ascending);
        *low_p  = fmin(*low_p, samples[(size_t)(0.025 * (double)(n - 1))]);
        *high_p = fmax(*high_p, samples[(size_t)ceil(0.975 * (double)(n - 1))]);
    }
}

/* Fit the points again and again with the signs of their residuals at random, and widen the
 * intervals of each regime by the lines that hold at its middle then. */
static void bootstrap(bench *b, const cs_point *points, size_t n, cs_fit *fit)
{
    const size_t budget = REPLICATE_COST / (n * n);
    const size_t wanted = budget > MOST_REPLICATES    ? MOST_REPLICATES
                          : budget < LEAST_REPLICATES ? LEAST_REPLICATES
                                                      : budget;
    double      *a = b->samples, *slopes = a + (size_t)CS_MAX_REGIMES * MOST_REPLICATES;
    size_t       n_done = 0;

    b->search.is_robust = false;
    for (size_t replicate = 0; replicate < wanted; replicate++) {
        cs_fit again = {0};
        for (size_t i = 0; i < n; i++) {
            const cs_regime_fit *regime = &fit->regimes[regime_of(fit, points[i].bytes)];
            double               line   = cs_line_at(&regime->line, points[i].bytes);
            double               count  = (double)regime->n_points;
            double               ratio  = (points[i].time_s / line - 1) * sqrt(count / (count - 2));
            ratio                       = cs_random_uniform(b->random) < 0.5 ? -ratio : ratio;
            b->kept[i]                  = (cs_point){points[i].bytes, line * fmax(1 + ratio, 0.1)};
        }
        if (!segment(&b->search, b->kept, n, &again)) {
            continue;
        }
        for (size_t r = 0; r < fit->n_regimes; r++) {
            const cs_regime_fit *regime = &fit->regimes[r];
            double middle       = sqrt((double)regime->min_bytes) * sqrt((double)regime->max_bytes);
            const cs_line *line = &again.regimes[regime_of(&again, (uint64_t)middle)].line;
            a[r * MOST_REPLICATES + n_done]      = line->intercept_s;
            slopes[r * MOST_REPLICATES + n_done] = line->slope_s_per_byte;
        }
        n_done++;
    }
    for (size_t r = 0; r < fit->n_regimes; r++) {
        cs_line *line = &fit->regimes[r].line;
        widen(a + r * MOST_REPLICATES, n_done, &line->intercept_low_s, &line->intercept_high_s);
        widen(slopes + r * MOST_REPLICATES, n_done, &line->slope_low_s_per_byte,
              &line->slope_high_s_per_byte);
    }
}

static void bench_close(bench *b)
{
    cs_free(b->search.best);
    cs_free(b->search.from);
    cs_free(b->errors.ratios);
    cs_free(b->errors.sorted);
    cs_free(b->errors.regimes);
    cs_free(b->kept);
    cs_free(b->out);
    cs_free(b->room);
    cs_free(b->samples);
    gsl_rng_free(b->random);
}

static cs_status bench_open(bench *b, const cs_fit_options *options, size_t n, cs_error *err)
{
    const size_t most = options->max_regimes;

    *b = (bench){.search.max_regimes = most == 0 || most > CS_MAX_REGIMES ? CS_MAX_REGIMES : most,
                 .keep_outliers      = options->keep_outliers};
    b->search.best    = CS_NEW(double, (b->search.max_regimes + 1) * (n + 1));
    b->search.from    = CS_NEW(size_t, (b->search.max_regimes + 1) * (n + 1));
    b->errors.ratios  = CS_NEW(double, n);
    b->errors.sorted  = CS_NEW(double, n);
    b->errors.regimes = CS_NEW(size_t, n);
    b->kept           = CS_NEW(cs_point, n);
    b->out            = CS_NEW(cs_point, n);
    b->room           = CS_NEW(double, 4 * n);
    b->samples        = CS_NEW(double, (size_t)2 * CS_MAX_REGIMES * MOST_REPLICATES);
    b->random         = cs_random_stream(options->seed, "calibration");
    if (b->search.best == NULL || b->search.from == NULL || b->errors.ratios == NULL ||
        b->errors.sorted == NULL || b->errors.regimes == NULL || b->kept == NULL ||
        b->out == NULL || b->room == NULL || b->samples == NULL || b->random == NULL) {
        return CS_NO_MEMORY(err, "a fit of %zu points", n);
    }
    return CS_OK;
}

static cs_status check_points(const cs_point *points, size_t n, cs_error *err)
{
    size_t n_sizes = n > 0;

    for (size_t i = 1; i < n; i++) {
        n_sizes += points[i].bytes > points[i - 1].bytes;
    }
    if (n_sizes < CS_REGIME_SIZES || n > CS_MAX_FIT_POINTS) {
        return CS_FAIL(err, CS_EINVAL, "",
                       "%zu points of %zu sizes, accepted: %d sizes or more, "
                       "and up to %d points",
                       n, n_sizes, CS_REGIME_SIZES, CS_MAX_FIT_POINTS);
    }
    return CS_OK;
}

/* The errors of the points that were fitted, and of those that were left out. */
static void find_errors(bench *b, const cs_point *all, size_t n_all, const cs_point *points,
                        size_t n, const cs_fit_options *options, cs_fit *fit)
{
    size_t n_sizes = count_sizes(all, n_all);

    for (size_t i = 0; i < n; i++) {
        add_error(&b->errors, fit, fit, points[i]);
    }
    fit->in_sample = summarise(&b->errors, CS_MAX_REGIMES);
    for (size_t r = 0; r < fit->n_regimes; r++) {
        fit->regimes[r].in_sample = summarise(&b->errors, r);
    }
    fit->n_folds  = hold_out(b, all, n_all, n_sizes < CS_MAX_FOLDS ? n_sizes : CS_MAX_FOLDS, fit);
    fit->held_out = summarise(&b->errors, CS_MAX_REGIMES);
    for (size_t r = 0; r < fit->n_regimes; r++) {
        fit->regimes[r].held_out = summarise(&b->errors, r);
    }
    if (options->hold_out_every > 0) {
        (void)hold_out(b, all, n_all, options->hold_out_every, fit);
        fit->every = summarise(&b->errors, CS_MAX_REGIMES);
    }
}

static cs_status fit_all(bench *b, const cs_point *all, size_t n_all, cs_point *points,
                         const cs_fit_options *options, cs_fit *fit_p, cs_error *err)
{
    cs_fit fit = {0};
    size_t n   = n_all;

    memcpy(points, all, n * sizeof *points);
    if (!fit_points(b, points, &n, &fit)) {
        return CS_FAIL(err, CS_EINVAL, "",
                       "the times do not grow with the size: no line A + B S with B > 0 fits");
    }
    find_errors(b, all, n_all, points, n, options, &fit);
    bootstrap(b, points, n, &fit);
    *fit_p = fit;
    return CS_OK;
}

cs_status cs_fit_regimes(const cs_point *points, size_t n, const cs_fit_options *options,
                         cs_fit *fit_p, cs_error *err)
{
    bench     b    = {0};
    cs_point *copy = NULL;

    CS_TRY(check_points(points, n, err));
    if (options->hold_out_every == 1) {
        return CS_FAIL(err, CS_EINVAL, "hold-out", "every size is left out, accepted: 2 or more");
    }
    cs_status status = bench_open(&b, options, n, err);
    copy             = CS_NEW(cs_point, n);
    if (status == CS_OK && copy == NULL) {
        status = CS_NO_MEMORY(err, "a fit of %zu points", n);
    }
    if (status == CS_OK) {
        status = fit_all(&b, points, n, copy, options, fit_p, err);
    }
    cs_free(copy);
    bench_close(&b);
    return status;
}
