/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals of many iterations: memory widens them, pairs with common random numbers are sharp.
 * Seeds are fixed: nothing fails by chance. */
#include "montecarlo_setup.h"

TestSuite(montecarlo_statistics, .init = set_up, .fini = tear_down);

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
