/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Means, quantiles and their intervals: coverage, ranks out of tables, memory, and pairs of runs
 * with common random numbers. Seeds are fixed: nothing fails by chance. */
#include "base/random.h"
#include "base/statistics.h"
#include "montecarlo_setup.h"

#include <gsl/gsl_cdf.h>

TestSuite(montecarlo_statistics, .init = set_up, .fini = tear_down);

/* Of 400 intervals at 90 %, about 360 hold the true value: between 336 and 384 (4 deviations), and
 * those of quantiles at least so many. */
Test(montecarlo_statistics, intervals_hold_the_truth_as_often_as_they_say)
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
Test(montecarlo_statistics, quantiles_have_the_ranks_of_the_tables)
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

/* A straggler that stays for long makes neighbours alike: the interval says so. */
Test(montecarlo_statistics, memory_widens_the_interval)
{
    static const char *const correlations[] = {"0", "0.98"};
    cs_montecarlo_options    options        = options_of(20000, 2);
    double                   half[2];

    for (int i = 0; i < 2; i++) {
        cs_config *config = base_config("stragglar");
        ct_set(config, "arrivals",
               "{\"straggler\": {\"rank\": 0, \"persistence\": 0.7, \"delay\": \"4ms\"}}");
        ct_set(config, "arrivals.straggler.correlation", correlations[i]);
        ct_set(config, "montecarlo.prediction", "\"static\"");
        cs_montecarlo_report report = run(config, &options);
        half[i] = report.rows[0].exposed_s.mean.high - report.rows[0].exposed_s.mean.value;
        cs_montecarlo_report_free(&report);
        cs_config_free(config);
    }
    /* The variance of the mean grows by (1 + c) / (1 - c) = 99. */
    cr_expect(half[1] > 6 * half[0] && half[1] < 16 * half[0], "%g", half[1] / half[0]);
}

Test(montecarlo_statistics, pairs_are_sharper_than_what_they_are_made_of)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(5000, 2);

    ct_set(config, "sweep.algorithm.name", "[\"broadcast\", \"stragglar\"]");
    cs_montecarlo_report     report = run(config, &options);
    const cs_montecarlo_row *a = &report.rows[0], *b = &report.rows[1];
    double                   apart = hypot(a->exposed_s.stddev, b->exposed_s.stddev);

    cr_expect_float_eq(b->saved_s.mean.value, a->exposed_s.mean.value - b->exposed_s.mean.value,
                       1e-12);
    cr_expect_lt(b->saved_s.stddev, apart / 2);
    cr_expect_str_eq(b->baseline, "broadcast");
    cr_expect_str_empty(a->baseline);
    cr_expect(isnan(a->saved_s.mean.value));
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}
