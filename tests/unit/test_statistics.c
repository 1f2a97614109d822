/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Means, quantiles and their intervals: coverage, ranks out of tables, series. Seeds are fixed:
 * nothing fails by chance. */
#include "base/statistics.h"

#include "base/random.h"

#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_rng.h>
#include <math.h>

static void set_up(void)
{
    gsl_set_error_handler_off();
}

TestSuite(statistics, .init = set_up);

/* Of 400 intervals at 90 %, about 360 hold the true value: between 336 and 384 (4 deviations), and
 * those of quantiles at least so many. */
Test(statistics, intervals_hold_the_truth_as_often_as_they_say)
{
    enum { RUNS = 400, SIZE = 200 };
    gsl_rng *random = cs_random_stream(3, "coverage");
    double   x[SIZE], scratch[SIZE];
    int      means = 0, p50s = 0, p95s = 0, batches = 0;

    for (int r = 0; r < RUNS; r++) {
        for (int i = 0; i < SIZE; i++) {
            x[i] = gsl_cdf_ugaussian_Pinv(cs_random_uniform(random));
        }
        cs_spread s, b;
        cs_spread_of(x, SIZE, 0, 0.9, scratch, &s);
        cs_spread_of(x, SIZE, 16, 0.9, scratch, &b);
        means += s.mean.low <= 0 && 0 <= s.mean.high;
        batches += b.mean.low <= 0 && 0 <= b.mean.high;
        p50s += s.p50.low <= 0 && 0 <= s.p50.high;
        p95s += s.p95.low <= 1.6448536 && 1.6448536 <= s.p95.high;
        cr_assert_eq(s.mean.value, b.mean.value);
        cr_assert_eq(s.p99.value, b.p99.value);
    }
    gsl_rng_free(random);
    cr_expect(means >= 336 && means <= 384, "%d", means);
    cr_expect(batches >= 336 && batches <= 384, "%d", batches);
    cr_expect(p50s >= 348, "%d", p50s);
    cr_expect(p95s >= 348, "%d", p95s);
}

/* The ranks of the order statistics, from tables: n = 100, 95 %: X(40) and X(61) for the median. */
Test(statistics, quantiles_have_the_ranks_of_the_tables)
{
    double x[1000];

    for (int i = 0; i < 1000; i++) {
        x[i] = i + 1;
    }
    cs_estimate e = cs_estimate_quantile(x, 100, 0.5, 0.95);
    cr_expect_eq(e.low, 40);
    cr_expect_eq(e.high, 61);
    cr_expect_float_eq(e.value, 50.5, 1e-12);
    e = cs_estimate_quantile(x, 6, 0.5, 0.95); /* P(all on one side) = 2^-6 < 2.5 % */
    cr_expect_eq(e.low, 1);
    cr_expect_eq(e.high, 6);
    e = cs_estimate_quantile(x, 5, 0.5, 0.95);
    cr_expect(isnan(e.low) && isnan(e.high));
    e = cs_estimate_quantile(x, 100, 0.99, 0.95);
    cr_expect(isfinite(e.low) && isnan(e.high));
    e = cs_estimate_mean(x, 1, 0, 0.95);
    cr_expect(e.value == 1 && isnan(e.low) && isnan(e.high));
    e = cs_estimate_mean(x, 3, 0, 0.95); /* 2 -+ 4.302653 / sqrt(3) */
    cr_expect_float_eq(e.high, 2 + 4.30265272975 / sqrt(3), 1e-9);
}

Test(statistics, neighbours_that_are_alike_count_less)
{
    static const double independent[] = {1, 3, 1, 3, 1, 3, 1, 3};
    static const double drifting[]    = {1, 1, 1, 1, 3, 3, 3, 3};
    static const double equal[]       = {2, 2, 2};

    /* mean 2, deviation sqrt(8/7), t(0.975, 7) = 2.364624 */
    cs_estimate i = cs_estimate_series(independent, 8, 1, 0.95);
    cr_expect_float_eq(i.value, 2, 1e-15);
    cr_expect_float_eq(i.high - i.value, 2.364624251 * sqrt(8.0 / 7) / sqrt(8), 1e-8);
    /* the same values in another order say less */
    cs_estimate d = cs_estimate_series(drifting, 8, 1, 0.95);
    cr_expect_float_eq(d.value, 2, 1e-15);
    cr_expect_gt(d.high - d.value, 2 * (i.high - i.value));
    cs_estimate e = cs_estimate_series(equal, 3, 1, 0.95);
    cr_expect(e.low == 2 && e.high == 2);
    cr_expect(isnan(cs_estimate_series(equal, 1, 1, 0.95).low));
}

/* Without a confidence there are values alone, and the scratch holds the samples sorted. */
Test(statistics, no_confidence_no_intervals)
{
    static const double x[] = {3, 1, 4, 1, 5};
    double              sorted[5];
    cs_spread           s;

    cs_spread_of(x, 5, 0, 0, sorted, &s);
    cr_expect_float_eq(s.mean.value, 2.8, 1e-15);
    cr_expect_eq(s.p50.value, 3);
    cr_expect(s.min == 1 && s.max == 5);
    cr_expect(isnan(s.mean.low) && isnan(s.p50.low) && isnan(s.p99.high));
    cr_expect(sorted[0] == 1 && sorted[1] == 1 && sorted[4] == 5);
    s = cs_spread_none();
    cr_expect(isnan(s.mean.value) && isnan(s.p95.high) && isnan(s.stddev) && isnan(s.max));
    cr_expect_float_eq(cs_student_t(7, 0.95), 2.364624251, 1e-8);
}

/* The same numbers as one by one, from the least to the largest. */
Test(statistics, many_quantiles_are_the_single_ones)
{
    double x[] = {5, 1, 4, 1.5, 9, 2.5, 7}, q[101];

    cs_sort_samples(x, 7);
    for (size_t i = 1; i < 7; i++) {
        cr_expect_geq(x[i], x[i - 1]);
    }
    for (size_t n = 1; n <= 7; n++) {
        cs_quantiles_of(x, n, q, 101);
        for (size_t k = 0; k <= 100; k++) {
            cr_expect_eq(q[k], cs_estimate_quantile(x, n, (double)k / 100, 0).value);
        }
        cr_expect_eq(q[0], x[0]);
        cr_expect_eq(q[100], x[n - 1]);
    }
    cs_quantiles_of(x, 7, q, 2);
    cr_expect(q[0] == 1 && q[1] == 9);
}
