/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits with known answers. */
#include "base/random.h"
#include "calibration_setup.h"
#include "traces/fit.h"

#include <math.h>

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

    cr_assert_eq(cs_fit_regimes(points, n, 0, &fit, &err), CS_OK, "%s", err.message);
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
            cr_assert_geq(fit.regimes[r].max_bytes, regimes[r].limit_bytes);
            cr_assert_lt(fit.regimes[r].max_bytes, 2 * regimes[r].limit_bytes);
            cr_assert_eq(fit.regimes[r + 1].min_bytes, fit.regimes[r].max_bytes + 1);
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
    cr_assert_lt(width, 0.3 * value, "[%g, %g]", low, high);
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
    cr_assert_eq(cs_fit_regimes(points, 9, 0, &fit, NULL), CS_OK);
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
    cr_assert_eq(cs_fit_regimes(points, 16, 0, &fit, NULL), CS_OK);
    cr_assert_eq(fit.n_regimes, 1);
    cr_assert_eq(fit.n_folds, 8, "sizes are left out, not points");
}

Test(fit, refusals)
{
    static const cs_point few[]  = {{1, 1}, {2, 2}, {2, 3}};
    static const cs_point down[] = {{1, 9}, {2, 5}, {4, 2}, {8, 1}};
    cs_fit                fit    = {0};

    cr_assert_eq(cs_fit_regimes(few, 3, 0, &fit, NULL), CS_EINVAL);
    cr_assert_eq(cs_fit_regimes(NULL, 0, 0, &fit, NULL), CS_EINVAL);
    cr_assert_eq(cs_fit_regimes(down, 4, 0, &fit, NULL), CS_EINVAL);
}
