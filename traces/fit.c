/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line. With u = 1/t and v = S/t the residual of a point is 1 - A u - B v: two unknowns, no
 * constant. The search over segmentations only needs its minimum, from the normal equations;
 * the line that is reported comes from GSL (weights 1/t^2), whose covariance is scaled by the
 * residuals' variance, since only ratios of the weights are known.
 *
 * Regimes. best[k][j] is the smallest sum of squared relative residuals of the first j points in k
 * regimes. For a fixed j the last regime grows downwards from j, so its error costs O(1) per
 * step and nothing is stored per pair: O(n^2 regimes) time, O(n regimes) memory.
 * Regimes are compared by BIC = n ln(error / n + floor^2) + p ln n, p = 3 k (two parameters
 * each, k - 1 breaks, one variance). The floor, 0.1 %, is what a printed time resolves at
 * best: a smaller improvement is no evidence for another regime.
 */
#include "traces/fit.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <gsl/gsl_fit.h>
#include <math.h>

/* Lines. */

void cs_line_add(cs_line_sums *sums, cs_point point)
{
    double u = 1 / point.time_s, v = (double)point.bytes / point.time_s;

    sums->n_sizes += sums->n == 0 || point.bytes != sums->last_bytes;
    sums->n++;
    sums->last_bytes = point.bytes;
    sums->u += u;
    sums->v += v;
    sums->uu += u * u;
    sums->uv += u * v;
    sums->vv += v * v;
}

bool cs_line_error(const cs_line_sums *sums, double *error_p)
{
    double determinant = sums->uu * sums->vv - sums->uv * sums->uv;
    double intercept   = sums->u * sums->vv - sums->v * sums->uv;
    double slope       = sums->v * sums->uu - sums->u * sums->uv;
    double error;

    if (sums->n_sizes < 2 || !(determinant > 0)) {
        return false;
    }
    if (intercept < 0) {
        error = (double)sums->n - sums->v * sums->v / sums->vv;
    } else {
        error = (double)sums->n - (intercept * sums->u + slope * sums->v) / determinant;
    }
    *error_p = fmax(error, 0);
    return intercept < 0 || slope > 1e-9 * sums->v * sums->uu;
}

/* Half the width of the 95 % interval for a parameter of the given variance. */
static double half_width(double variance, size_t freedom)
{
    return freedom == 0 ? HUGE_VAL : cs_student_t((double)freedom, 0.95) * sqrt(fmax(variance, 0));
}

/* Through the origin: A = 0, and its interval is what is left of the free one above 0. */
static void fit_slope(const double *x, const double *w, const double *y, size_t n, cs_line *line)
{
    double slope = 0, variance = 0, error = 0;
    double half;

    (void)gsl_fit_wmul(x, 1, w, 1, y, 1, n, &slope, &variance, &error);
    half                        = half_width(n > 1 ? variance * error / (double)(n - 1) : 0, n - 1);
    line->intercept_s           = 0;
    line->slope_s_per_byte      = slope;
    line->slope_low_s_per_byte  = fmax(slope - half, 0);
    line->slope_high_s_per_byte = slope + half;
}

static void fit_both(const double *x, const double *w, const double *y, size_t n, cs_line *line)
{
    double a = 0, b = 0, aa = 0, ab = 0, bb = 0, error = 0;
    double scale, half_a, half_b;

    (void)gsl_fit_wlinear(x, 1, w, 1, y, 1, n, &a, &b, &aa, &ab, &bb, &error);
    scale                       = n > 2 ? error / (double)(n - 2) : 0;
    half_a                      = half_width(aa * scale, n - 2);
    half_b                      = half_width(bb * scale, n - 2);
    line->intercept_s           = a;
    line->intercept_low_s       = fmax(a - half_a, 0);
    line->intercept_high_s      = fmax(a + half_a, 0);
    line->slope_s_per_byte      = b;
    line->slope_low_s_per_byte  = fmax(b - half_b, 0);
    line->slope_high_s_per_byte = b + half_b;
}

bool cs_line_fit(const cs_point *points, size_t n, cs_line *line_p)
{
    enum { most = 1024 };
    double  x[most], w[most], y[most];
    cs_line line = {0};

    if (n < 2 || n > most || points[0].bytes == points[n - 1].bytes) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)points[i].bytes;
        y[i] = points[i].time_s;
        w[i] = 1 / (y[i] * y[i]);
    }
    fit_both(x, w, y, n, &line);
    if (line.intercept_s < 0) {
        fit_slope(x, w, y, n, &line);
    }
    *line_p = line;
    return line.slope_s_per_byte > 0;
}

double cs_line_at(const cs_line *line, uint64_t bytes)
{
    return line->intercept_s + line->slope_s_per_byte * (double)bytes;
}

/* Regimes. */

static const double floor_ratio = 1e-3;

typedef struct search {
    const cs_point *points;
    size_t          n, max_regimes;
    double         *best; /* (max_regimes + 1) x (n + 1) */
    size_t         *from; /* where the last regime of best[k][j] begins */
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

static uint64_t between(uint64_t low, uint64_t high)
{
    uint64_t middle = (uint64_t)(sqrt((double)low) * sqrt((double)high));

    return middle < low ? low : middle >= high ? high - 1 : middle;
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
        regime->min_bytes = first == 0
                                ? s->points[0].bytes
                                : between(s->points[first - 1].bytes, s->points[first].bytes) + 1;
        regime->max_bytes = end == s->n ? s->points[end - 1].bytes
                                        : between(s->points[end - 1].bytes, s->points[end].bytes);
        if (!cs_line_fit(s->points + first, regime->n_points, &regime->line)) {
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

/* The regime that holds for a size; the outer one outside the range. */
static const cs_regime_fit *regime_of(const cs_fit *fit, uint64_t bytes)
{
    size_t r = 0;

    while (r + 1 < fit->n_regimes && bytes > fit->regimes[r].max_bytes) {
        r++;
    }
    return &fit->regimes[r];
}

static void add_error(cs_fit_error *error, double ratio)
{
    error->mean_ratio += ratio;
    error->max_ratio = fmax(error->max_ratio, ratio);
    error->n++;
}

static void divide(cs_fit_error *error)
{
    if (error->n > 0) {
        error->mean_ratio /= (double)error->n;
    }
}

static double error_at(const cs_fit *fit, cs_point point)
{
    double time_s = cs_line_at(&regime_of(fit, point.bytes)->line, point.bytes);

    return fabs(time_s - point.time_s) / point.time_s;
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

static void hold_out(search *s, const cs_point *points, size_t n, cs_point *room, cs_fit *fit)
{
    size_t n_sizes = 1, folds;

    for (size_t i = 1; i < n; i++) {
        n_sizes += points[i].bytes != points[i - 1].bytes;
    }
    folds = n_sizes < CS_MAX_FOLDS ? n_sizes : CS_MAX_FOLDS;
    for (size_t fold = 0; fold < folds; fold++) {
        cs_fit without = {0};
        size_t kept    = split_fold(points, n, folds, fold, room, room + n);

        if (!segment(s, room, kept, &without)) {
            continue;
        }
        fit->n_folds++;
        for (size_t i = 0; i < n - kept; i++) {
            cs_point       point  = room[n + i];
            cs_regime_fit *regime = &fit->regimes[regime_of(fit, point.bytes) - fit->regimes];
            double         ratio  = error_at(&without, point);

            add_error(&regime->held_out, ratio);
            add_error(&fit->held_out, ratio);
        }
    }
}

static void summarise(const cs_point *points, size_t n, cs_fit *fit)
{
    for (size_t i = 0; i < n; i++) {
        cs_regime_fit *regime = &fit->regimes[regime_of(fit, points[i].bytes) - fit->regimes];
        double         ratio  = error_at(fit, points[i]);

        add_error(&regime->in_sample, ratio);
        add_error(&fit->in_sample, ratio);
    }
    for (size_t r = 0; r < fit->n_regimes; r++) {
        divide(&fit->regimes[r].in_sample);
        divide(&fit->regimes[r].held_out);
    }
    divide(&fit->in_sample);
    divide(&fit->held_out);
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

cs_status cs_fit_regimes(const cs_point *points, size_t n, size_t max_regimes, cs_fit *fit_p,
                         cs_error *err)
{
    search    s      = {.max_regimes = max_regimes};
    cs_fit    fit    = {0};
    cs_point *room   = NULL;
    cs_status status = check_points(points, n, err);

    if (status != CS_OK) {
        return status;
    }
    if (max_regimes == 0 || max_regimes > CS_MAX_REGIMES) {
        s.max_regimes = CS_MAX_REGIMES;
    }
    s.best = CS_NEW(double, (s.max_regimes + 1) * (n + 1));
    s.from = CS_NEW(size_t, (s.max_regimes + 1) * (n + 1));
    room   = CS_NEW(cs_point, 2 * n);
    if (s.best == NULL || s.from == NULL || room == NULL) {
        status = CS_NO_MEMORY(err, "a fit of %zu points", n);
    } else if (!segment(&s, points, n, &fit)) {
        status = CS_FAIL(err, CS_EINVAL, "",
                         "the times do not grow with the size: no line A + B S with B > 0 fits");
    } else {
        hold_out(&s, points, n, room, &fit);
        summarise(points, n, &fit);
        *fit_p = fit;
    }
    cs_free(s.best);
    cs_free(s.from);
    cs_free(room);
    return status;
}
