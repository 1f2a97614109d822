/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits with known answers. */
#include "base/random.h"
#include "calibration_setup.h"
#include "traces/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POINTS = 64 };

/* Sizes 1 KiB, 2 KiB, ... up to `last`, with relative noise of a fixed seed. */
static size_t make_points(const truth *regimes, uint64_t last, double noise, cs_point *points)
{
    gsl_rng *random = cs_random_stream(7, "points");
    size_t   n      = 0;

    for (uint64_t bytes = 1024; bytes <= last; bytes *= 2) {
        double factor = 1 + noise * (2 * gsl_rng_uniform(random) - 1);
        points[n++]   = (cs_point){bytes, true_time(regimes, bytes) * factor};
    }
    gsl_rng_free(random);
    return n;
}

static const truth three[] = {
    {1 << 16, 14e-6, 17e9}, {1 << 24, 31e-6, 74e9}, {1ull << 33, 90e-6, 134e9}};

static cs_fit fit_of(const truth *regimes, double noise)
{
    cs_point points[MAX_POINTS];
    size_t   n   = make_points(regimes, 1ull << 33, noise, points);
    cs_fit   fit = {0};
    cs_error err = {0};

    cr_assert_eq(cs_fit_regimes(points, n, &(cs_fit_options){0}, &fit, &err), CS_OK, "%s",
                 err.message);
    return fit;
}

static void check_exact(const truth *regimes, size_t n_regimes)
{
    cs_fit fit = fit_of(regimes, 0);

    cr_assert_eq(fit.n_regimes, n_regimes, "%zu regimes", fit.n_regimes);
    for (size_t r = 0; r < n_regimes; r++) {
        const cs_line *line = &fit.regimes[r].line;
        cr_assert_float_eq(line->intercept_s / regimes[r].intercept_s, 1, 1e-6);
        cr_assert_float_eq(line->slope_s_per_byte * regimes[r].rate_Bps, 1, 1e-6);
        if (r + 1 < n_regimes) {
            cr_assert_eq(fit.regimes[r].max_bytes, regimes[r].limit_bytes);
            cr_assert_eq(fit.regimes[r + 1].min_bytes, 2 * fit.regimes[r].max_bytes);
        }
    }
    cr_assert_lt(fit.in_sample.max_ratio, 1e-9);
}

Test(fit, noiseless_regimes_come_back_exactly)
{
    static const truth one[] = {{1ull << 33, 50e-6, 100e9}};

    check_exact(one, 1);
    check_exact(two, 2);
    check_exact(three, 3);
}

/* A 95 % interval around the estimate, narrow enough to say something; the truth lies inside
 * it or at most half its width outside. */
static void check_interval(double value, double low, double high, double expected)
{
    double width = high - low;

    cr_assert(low < value && value < high);
    cr_assert_lt(width, 0.6 * value, "[%g, %g]", low, high);
    cr_assert(expected > low - width / 2 && expected < high + width / 2, "[%g, %g] for %g", low,
              high, expected);
}

Test(fit, regimes_come_back_through_noise)
{
    cs_fit fit = fit_of(three, 0.01);

    cr_assert_eq(fit.n_regimes, 3);
    for (size_t r = 0; r < 3; r++) {
        check_interval(fit.regimes[r].line.intercept_s, fit.regimes[r].line.intercept_low_s,
                       fit.regimes[r].line.intercept_high_s, three[r].intercept_s);
        check_interval(fit.regimes[r].line.slope_s_per_byte,
                       fit.regimes[r].line.slope_low_s_per_byte,
                       fit.regimes[r].line.slope_high_s_per_byte, 1 / three[r].rate_Bps);
    }
    cr_assert_lt(fit.in_sample.max_ratio, 0.02);
    cr_assert_eq(fit.n_folds, 24, "%zu", fit.n_folds);
    cr_assert_eq(fit.held_out.n, 24);
    cr_assert_gt(fit.held_out.mean_ratio, fit.in_sample.mean_ratio);
}

/* Weighted least squares by hand: three points, weights 1/t^2, and t_{0.975}(1) = 12.7062. */
Test(fit, line_and_interval_by_hand)
{
    static const cs_point points[] = {{1, 2.0}, {2, 4.0}, {4, 5.0}};
    double                w0 = 0, w1 = 0, w2 = 0, y0 = 0, y1 = 0, chi2 = 0, a, b, determinant;
    cs_line               line = {0};

    for (size_t i = 0; i < 3; i++) {
        double x = (double)points[i].bytes, y = points[i].time_s, w = 1 / (y * y);
        w0 += w;
        w1 += w * x;
        w2 += w * x * x;
        y0 += w * y;
        y1 += w * x * y;
    }
    determinant = w0 * w2 - w1 * w1;
    a           = (w2 * y0 - w1 * y1) / determinant;
    b           = (w0 * y1 - w1 * y0) / determinant;
    for (size_t i = 0; i < 3; i++) {
        double ratio = (points[i].time_s - a - b * (double)points[i].bytes) / points[i].time_s;
        chi2 += ratio * ratio;
    }
    cr_assert(cs_line_fit(points, 3, &line));
    cr_assert_float_eq(line.intercept_s, a, 1e-12);
    cr_assert_float_eq(line.slope_s_per_byte, b, 1e-12);
    cr_assert_float_eq(line.slope_high_s_per_byte - b, 12.7062 * sqrt(w0 / determinant * chi2),
                       1e-4);
    cr_assert_float_eq(line.intercept_high_s - a, 12.7062 * sqrt(w2 / determinant * chi2), 1e-4);
}

Test(fit, sums_agree_with_gsl)
{
    static const cs_point points[] = {{8, 2.1e-5}, {64, 2.0e-5}, {512, 3.1e-5}, {4096, 9.9e-5}};
    cs_line_sums          sums     = {0};
    cs_line               line     = {0};
    double                error = 0, expected = 0;

    for (size_t i = 0; i < 4; i++) {
        cs_line_add(&sums, points[i]);
    }
    cr_assert(cs_line_error(&sums, &error));
    cr_assert(cs_line_fit(points, 4, &line));
    for (size_t i = 0; i < 4; i++) {
        expected += pow(cs_line_at(&line, points[i].bytes) / points[i].time_s - 1, 2);
    }
    cr_assert_float_eq(error / expected, 1, 1e-9);
}

Test(fit, intercept_is_never_negative)
{
    static const cs_point points[] = {{1000, 1e-6}, {2000, 2.3e-6}, {4000, 4.9e-6}};
    cs_line               line     = {0};

    cr_assert(cs_line_fit(points, 3, &line));
    cr_assert_eq(line.intercept_s, 0.0);
    cr_assert_gt(line.slope_s_per_byte, 1e-9);
}

/* Every segmentation of nine points, tried one by one, against the dynamic program. */
Test(fit, dynamic_program_finds_the_best_of_all)
{
    static const double times[] = {11, 12, 17, 40, 41, 43, 90, 181, 370};
    cs_point            points[9];
    double              best = HUGE_VAL;
    cs_fit              fit  = {0};

    for (size_t i = 0; i < 9; i++) {
        points[i] = (cs_point){1024ull << i, times[i] * 1e-6};
    }
    for (unsigned breaks = 0; breaks < 256; breaks++) {
        double error = 0, regimes = 0;
        size_t first    = 0;
        bool   is_valid = true;

        for (size_t i = 0; i < 9; i++) {
            cs_line line = {0};
            if (i < 8 && (breaks >> i & 1) == 0) {
                continue;
            }
            is_valid =
                is_valid && i + 1 - first >= 3 && cs_line_fit(points + first, i + 1 - first, &line);
            for (size_t k = first; is_valid && k <= i; k++) {
                error += pow(cs_line_at(&line, points[k].bytes) / points[k].time_s - 1, 2);
            }
            first = i + 1;
            regimes++;
        }
        if (is_valid) {
            best = fmin(best, 9 * log(error / 9 + 1e-6) + 3 * regimes * log(9));
        }
    }
    cr_assert_eq(cs_fit_regimes(points, 9, &(cs_fit_options){0}, &fit, NULL), CS_OK);
    cr_assert_float_eq(fit.criterion, best, 1e-6);
}

Test(fit, points_of_one_size_stay_together)
{
    cs_point points[16];
    cs_fit   fit = {0};

    for (size_t i = 0; i < 16; i++) {
        uint64_t bytes = 1024ull << i / 2;
        points[i] = (cs_point){bytes, (1 + 0.02 * (double)(i % 2)) * (1e-5 + (double)bytes / 1e9)};
    }
    cr_assert_eq(cs_fit_regimes(points, 16, &(cs_fit_options){0}, &fit, NULL), CS_OK);
    cr_assert_eq(fit.n_regimes, 1);
    cr_assert_eq(fit.n_folds, 8, "sizes are left out, not points");
}

Test(fit, refusals)
{
    static const cs_point few[]  = {{1, 1}, {2, 2}, {2, 3}};
    static const cs_point down[] = {{1, 9}, {2, 5}, {4, 2}, {8, 1}};
    cs_fit                fit    = {0};

    cr_assert_eq(cs_fit_regimes(few, 3, &(cs_fit_options){0}, &fit, NULL), CS_EINVAL);
    cr_assert_eq(cs_fit_regimes(NULL, 0, &(cs_fit_options){0}, &fit, NULL), CS_EINVAL);
    cr_assert_eq(cs_fit_regimes(down, 4, &(cs_fit_options){0}, &fit, NULL), CS_EINVAL);
}

/* ---- robustness ---- */

static cs_fit fit_points(const cs_point *points, size_t n, cs_fit_options options)
{
    cs_fit   fit = {0};
    cs_error err = {0};

    cr_assert_eq(cs_fit_regimes(points, n, &options, &fit, &err), CS_OK, "%s", err.message);
    return fit;
}

/* One size that alone takes half as long again is named, left out, and changes nothing; wherever it
 * is but at the end, where a slower range might begin. */
Test(fit, a_size_that_alone_is_slow_is_an_outlier)
{
    for (size_t at = 0; at + 1 < 24; at += at < 2 || at > 20 ? 1 : 3) {
        cs_point points[MAX_POINTS];
        size_t   n = make_points(two, 1ull << 33, 0.005, points);
        cr_assert_eq(n, 24);
        cr_assert_eq(fit_points(points, n, (cs_fit_options){0}).n_outliers, 0);
        points[at].time_s *= at + 2 == n ? 4 : 1.6;
        cs_fit fit  = fit_points(points, n, (cs_fit_options){0});
        cs_fit kept = fit_points(points, n, (cs_fit_options){.keep_outliers = true});
        cr_assert_eq(fit.n_outliers, 1, "%zu outliers at size %zu", fit.n_outliers, at);
        cr_expect_eq(fit.outliers[0].point.bytes, points[at].bytes);
        cr_expect_float_eq(fit.outliers[0].expected_s / true_time(two, points[at].bytes), 1, 0.4,
                           "at %zu: %g", at, fit.outliers[0].expected_s);
        cr_expect_eq(fit.n_regimes, 2, "%zu regimes at size %zu", fit.n_regimes, at);
        cr_expect_eq(fit.in_sample.n, 23);
        cr_expect_lt(fit.in_sample.max_ratio, 0.01);
        cr_expect_eq(kept.n_outliers, 0);
        cr_expect_gt(kept.in_sample.max_ratio, 0.03, "at %zu", at);
    }
}

/* From some size on everything is slower, or one size is fast, or the last one slow: no outliers.
 */
Test(fit, steps_and_fast_sizes_are_no_outliers)
{
    for (size_t at = 0; at < 24; at += 3) {
        cs_point step[MAX_POINTS], fast[MAX_POINTS];
        size_t   n = make_points(two, 1ull << 33, 0.005, step);
        (void)make_points(two, 1ull << 33, 0.005, fast);
        for (size_t i = at; i < n; i++) {
            step[i].time_s *= 5;
        }
        fast[at].time_s *= 0.7;
        cr_expect_eq(fit_points(step, n, (cs_fit_options){0}).n_outliers, 0, "step at %zu", at);
        cr_expect_eq(fit_points(fast, n, (cs_fit_options){0}).n_outliers, 0, "fast at %zu", at);
    }
}

static int by_size(const void *a, const void *b)
{
    const cs_point *p = a, *q = b;

    if (p->bytes != q->bytes) {
        return p->bytes < q->bytes ? -1 : 1;
    }
    return (p->time_s > q->time_s) - (p->time_s < q->time_s);
}

/* Two and four runs of each size; some runs of the same sizes were disturbed. */
Test(fit, disturbed_runs_are_outliers)
{
    static const size_t disturbed[] = {3, 4, 10, 22};

    for (size_t n_runs = 2; n_runs <= 4; n_runs += 2) {
        cs_point points[4 * MAX_POINTS], some[MAX_POINTS];
        size_t   n = 0;
        for (size_t run = 0; run < n_runs; run++) {
            size_t n_some = make_points(two, 1ull << 33, 0, some);
            for (size_t i = 0; i < n_some; i++) {
                some[i].time_s *= 1 + 0.004 * (double)((i * 7 + run * 5) % 8) / 8;
                points[n++] = some[i];
            }
        }
        for (size_t d = 0; d < 4; d++) {
            points[disturbed[d]].time_s *= 1.3;
        }
        qsort(points, n, sizeof *points, by_size);
        cs_fit fit = fit_points(points, n, (cs_fit_options){0});
        cr_assert_eq(fit.n_outliers, 4, "%zu of %zu runs", fit.n_outliers, n_runs);
        for (size_t d = 0; d < 4; d++) {
            cr_expect_eq(fit.outliers[d].point.bytes, 1024ull << disturbed[d]);
        }
        cr_expect_eq(fit.n_regimes, 2);
        cr_expect_float_eq(fit.regimes[1].line.slope_s_per_byte * 120e9, 1, 0.005);
    }
}

/* Scatter all over is no set of outliers. */
Test(fit, scatter_is_kept)
{
    cs_point points[MAX_POINTS];
    size_t   n = make_points(two, 1ull << 33, 0.4, points);

    cr_expect_eq(fit_points(points, n, (cs_fit_options){0}).n_outliers, 0);
}

/* Moderate disturbances, below what is left out, move a robust line less than the other. */
Test(fit, robust_line)
{
    cs_point points[60];
    cs_line  plain = {0}, robust = {0};

    for (size_t i = 0; i < 60; i++) {
        uint64_t bytes = 1024ull << i / 6;
        double   wave  = 0.002 * ((double)(i * 13 % 7) - 3);
        points[i]      = (cs_point){bytes, (1e-5 + (double)bytes / 1e10) * (1 + wave)};
        if (i % 6 == 5 && i > 30) {
            points[i].time_s *= 1.2;
        }
    }
    qsort(points, 60, sizeof *points, by_size);
    cr_assert(cs_line_fit(points, 60, &plain));
    cr_assert(cs_line_fit_robust(points, 60, &robust));
    cr_expect_float_eq(robust.slope_s_per_byte * 1e10, 1, 0.004, "%g", robust.slope_s_per_byte);
    cr_expect_float_eq(robust.intercept_s / 1e-5, 1, 0.004);
    cr_expect_gt(fabs(plain.slope_s_per_byte * 1e10 - 1), 0.01);
    cr_expect(robust.slope_low_s_per_byte < 1e-10 && robust.slope_high_s_per_byte > 1e-10);

    /* Exactly on a line: nothing to weigh. */
    for (size_t i = 0; i < 10; i++) {
        points[i] = (cs_point){1024ull << i / 2, 1e-5 + (double)(1024ull << i / 2) / 1e10};
    }
    cr_assert(cs_line_fit_robust(points, 10, &robust));
    cr_expect_float_eq(robust.slope_s_per_byte * 1e10, 1, 1e-6);
}

/* ---- between regimes, hold-outs, intervals ---- */

Test(fit, sizes_between_two_regimes_lie_on_their_join)
{
    cs_fit   fit = fit_of(two, 0);
    uint64_t low = fit.regimes[0].max_bytes, high = fit.regimes[1].min_bytes;
    double   from = true_time(two, low), to = true_time(two, high);

    cr_assert_eq(low, 1 << 20);
    cr_expect_float_eq(cs_fit_at(&fit, low) / from, 1, 1e-6);
    cr_expect_float_eq(cs_fit_at(&fit, high) / to, 1, 1e-6);
    cr_expect_float_eq(cs_fit_at(&fit, (low + high) / 2) / ((from + to) / 2), 1, 1e-6);
    for (uint64_t bytes = low; bytes <= high; bytes += (high - low) / 8) {
        double a = -1, b = -1;
        cs_line_join(&fit.regimes[0].line, low, &fit.regimes[1].line, high, bytes, &a, &b);
        cr_expect(a > 0 && b > 0);
        cr_expect_float_eq((a + b * (double)bytes) / cs_fit_at(&fit, bytes), 1, 1e-12);
    }
}

/* Every third size left out, three times, by hand. */
Test(fit, every_third_size_is_held_out)
{
    cs_point points[MAX_POINTS];
    size_t   n = make_points(three, 1ull << 33, 0.01, points), n_ratios = 0;
    cs_fit   fit = fit_points(points, n, (cs_fit_options){.hold_out_every = 3});
    double   ratios[MAX_POINTS];
    cs_error err = {0};

    for (size_t fold = 0; fold < 3; fold++) {
        cs_point kept[MAX_POINTS];
        size_t   n_kept = 0;
        for (size_t i = 0; i < n; i++) {
            if (i % 3 != fold) {
                kept[n_kept++] = points[i];
            }
        }
        cs_fit without = fit_points(kept, n_kept, (cs_fit_options){0});
        for (size_t i = fold; i < n; i += 3) {
            ratios[n_ratios++] = fabs(cs_fit_at(&without, points[i].bytes) / points[i].time_s - 1);
        }
    }
    cs_fit_error expected = cs_fit_error_of(ratios, n_ratios);
    cr_assert_eq(fit.every.n, 24);
    cr_expect_float_eq(fit.every.mean_ratio / expected.mean_ratio, 1, 1e-9);
    cr_expect_float_eq(fit.every.median_ratio / expected.median_ratio, 1, 1e-9);
    cr_expect_float_eq(fit.every.max_ratio / expected.max_ratio, 1, 1e-9);
    cr_expect_eq(fit_points(points, n, (cs_fit_options){0}).every.n, 0);
    cr_expect_eq(cs_fit_regimes(points, n, &(cs_fit_options){.hold_out_every = 1}, &fit, &err),
                 CS_EINVAL);
    cr_expect_str_eq(err.where, "hold-out");
}

Test(fit, errors_of_a_list)
{
    double       ratios[] = {0.3, 0.1, 0.2, 0.6};
    cs_fit_error error    = cs_fit_error_of(ratios, 4);

    cr_expect_float_eq(error.mean_ratio, 0.3, 1e-12);
    cr_expect_float_eq(error.median_ratio, 0.25, 1e-12);
    cr_expect_eq(error.max_ratio, 0.6);
    cr_expect_eq(cs_fit_error_of(ratios, 3).median_ratio, 0.2);
    cr_expect_eq(cs_fit_error_of(ratios, 0).n, 0);
}

/* The same seed gives the same intervals, another one others. They are never narrower than those of
 * Student's t for the breaks as found, and wider where these are in doubt: here a curve bends. */
Test(fit, intervals_of_the_bootstrap)
{
    cs_point points[MAX_POINTS];
    size_t   n         = make_points(two, 1ull << 33, 0.01, points);
    bool     has_wider = false, has_other = false;

    for (size_t i = 0; i < n; i++) {
        points[i].time_s *= 1 + 0.15 * sin(0.7 * (double)i);
    }
    cs_fit a     = fit_points(points, n, (cs_fit_options){.seed = 3});
    cs_fit again = fit_points(points, n, (cs_fit_options){.seed = 3});
    cs_fit other = fit_points(points, n, (cs_fit_options){.seed = 4});
    for (size_t r = 0; r < a.n_regimes; r++) {
        const cs_line *line = &a.regimes[r].line;
        cs_line        t    = {0};
        cr_assert(cs_line_fit(points + a.regimes[r].first, a.regimes[r].n_points, &t));
        cr_expect_eq(memcmp(line, &again.regimes[r].line, sizeof *line), 0);
        cr_expect_eq(line->slope_s_per_byte, t.slope_s_per_byte);
        cr_expect_leq(line->slope_low_s_per_byte, t.slope_low_s_per_byte);
        cr_expect_geq(line->slope_high_s_per_byte, t.slope_high_s_per_byte);
        cr_expect_leq(line->intercept_low_s, t.intercept_low_s);
        cr_expect_geq(line->intercept_high_s, t.intercept_high_s);
        has_wider = has_wider || line->slope_high_s_per_byte > t.slope_high_s_per_byte ||
                    line->intercept_high_s > t.intercept_high_s;
        has_other = has_other || memcmp(line, &other.regimes[r].line, sizeof *line) != 0;
    }
    cr_expect(has_wider, "the breaks move, too");
    cr_expect(has_other);
}
