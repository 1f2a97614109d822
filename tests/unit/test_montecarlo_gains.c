/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is saved: the published gains and break-even persistences, formulas for random delays, the
 * examples, and a trace that is walked again here. Seeds are fixed: nothing fails by chance. */
#include "montecarlo_setup.h"

TestSuite(montecarlo_gains, .init = set_up, .fini = tear_down);

/* Gain over the ring per call on 8 GPUs of 300 GB/s, a delay of 9.46 ms, when the presumed rank is
 * the straggler with probability p: p min(D, T_RS) - critical delay. Tables in ms. */
Test(montecarlo_gains, published_gains_come_out)
{
    static const double persistences[] = {0.77, 0.90, 0.95, 1};
    static const struct {
        const char *bytes;
        double      gain_ms[4], ring_ms;
    } rows[]                      = {{"\"1GiB\"", {0.97, 1.37, 1.52, 1.68}, 6.3},
                                     {"\"2GiB\"", {1.92, 2.72, 3.03, 3.34}, 12.6},
                                     {"\"4GiB\"", {1.66, 2.89, 3.36, 3.83}, 25.1},
                                     {"\"6GiB\"", {-1.16, 0.07, 0.55, 1.02}, 37.6}};
    cs_config            *config  = base_config("ring");
    cs_montecarlo_options options = options_of(8000, 2);

    ct_set(config, "sweep.algorithm.name", "[\"ring\", \"stragglar\"]");
    for (int i = 0; i < 4; i++) {
        ct_set(config, "bytes", rows[i].bytes);
        for (int j = 0; j < 4; j++) {
            char arrivals[160];
            snprintf(arrivals, sizeof arrivals,
                     "{\"straggler\": {\"rank\": 2, \"persistence\": %g, \"delay\": \"9.46ms\"}}",
                     persistences[j]);
            ct_set(config, "arrivals", arrivals);
            ct_set(config, "montecarlo.prediction", "\"static\"");
            cs_montecarlo_report     report = run(config, &options);
            const cs_montecarlo_row *row    = &report.rows[1];
            bool   is_sure = persistences[j] == 1; /* nothing is random: one iteration says all */
            double half =
                is_sure ? 0 : row->saved_s.mean.high * 1e3 - row->saved_s.mean.value * 1e3;
            cr_expect_eq(row->iterations, is_sure ? 1 : 8000);
            cr_expect_float_eq(report.rows[0].exposed_s.mean.value * 1e3, rows[i].ring_ms, 0.05);
            cr_expect_float_eq(row->saved_s.mean.value * 1e3, rows[i].gain_ms[j], 2 * half + 0.005,
                               "%s, p = %g: %g +- %g ms", rows[i].bytes, persistences[j],
                               row->saved_s.mean.value * 1e3, half);
            cr_expect_float_eq(row->hit_ratio, persistences[j], 0.02);
            cs_montecarlo_report_free(&report);
        }
    }
    cs_config_free(config);
}

/* At the persistence p* = crit / min(D, T_RS) StragglAR saves nothing. Near it the gain is linear:
 * two runs with common random numbers find its zero. */
Test(montecarlo_gains, published_break_even_persistences_come_out)
{
    static const struct {
        const char *bytes;
        double      break_even;
    } rows[] = {{"\"1GiB\"", 0.457}, {"\"2GiB\"", 0.457}, {"\"4GiB\"", 0.595}, {"\"6GiB\"", 0.892}};
    cs_config            *config  = base_config("ring");
    cs_montecarlo_options options = options_of(4000, 2);

    ct_set(config, "sweep.algorithm.name", "[\"ring\", \"stragglar\"]");
    ct_set(config, "montecarlo.prediction", "\"static\"");
    for (int i = 0; i < 4; i++) {
        double saved[2], hits[2];
        ct_set(config, "bytes", rows[i].bytes);
        for (int j = 0; j < 2; j++) {
            char arrivals[160];
            snprintf(arrivals, sizeof arrivals,
                     "{\"straggler\": {\"rank\": 2, \"persistence\": %g, \"delay\": \"9.46ms\"}}",
                     rows[i].break_even + (j == 0 ? -0.05 : 0.05));
            ct_set(config, "arrivals", arrivals);
            cs_montecarlo_report report = run(config, &options);
            saved[j]                    = report.rows[1].saved_s.mean.value;
            hits[j]                     = report.rows[1].hit_ratio;
            cs_montecarlo_report_free(&report);
        }
        cr_expect(saved[0] < 0 && saved[1] > 0);
        double zero = hits[0] - saved[0] * (hits[1] - hits[0]) / (saved[1] - saved[0]);
        cr_expect_float_eq(zero, rows[i].break_even, 0.002, "%s: %g", rows[i].bytes, zero);
    }
    cs_config_free(config);
}

/* E[saved] = p E[min(D, T_RS)] - crit, with D exponential: E[min(D, t)] = m (1 - exp(-t / m)). */
Test(montecarlo_gains, random_delays_give_the_expected_gain)
{
    cs_config            *config  = base_config("ring");
    cs_montecarlo_options options = options_of(50000, 2);
    double                p = 0.77, m = 4e-3, crit = t_rs + 9 * tau - ring8;

    ct_set(config, "arrivals",
           "{\"straggler\": {\"rank\": 0, \"persistence\": 0.77, \"delay\": "
           "{\"name\": \"exponential\", \"mean\": \"4ms\"}}}");
    ct_set(config, "montecarlo.prediction", "\"static\"");
    ct_set(config, "sweep.algorithm.name", "[\"ring\", \"stragglar\"]");
    for (cs_sampling sampling = 0; sampling < CS_SAMPLING_COUNT; sampling++) {
        options.sampling                = sampling;
        cs_montecarlo_report     report = run(config, &options);
        const cs_montecarlo_row *row    = &report.rows[1];
        double                   want   = p * m * (1 - exp(-t_rs / m)) - crit;
        double                   half   = row->saved_s.mean.high - row->saved_s.mean.value;
        cr_expect_float_eq(row->saved_s.mean.value, want, 2 * half, "%s: %g, not %g",
                           cs_sampling_name(sampling), row->saved_s.mean.value, want);
        cr_expect_lt(half, 0.02 * p * m);
        cr_expect_float_eq(row->speedup, ring8 / row->exposed_s.mean.value, 1e-12);
        cs_montecarlo_report_free(&report);
    }
    cs_config_free(config);
}

Test(montecarlo_gains, the_examples_are_run)
{
    cs_config            *config  = ct_config_example("montecarlo-arrivals");
    cs_montecarlo_options options = options_of(20000, 2);
    cs_montecarlo_report  report  = run(config, &options);

    cr_expect_eq(report.n_rows, 5);
    cr_expect_eq(report.failed, 0);
    cr_expect_float_eq(report.rows[4].hit_ratio, 0.9, 0.01);
    cr_expect_gt(report.rows[4].saved_s.mean.low, 0);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
    config  = ct_config_example("montecarlo-trace");
    options = options_of(1000, 2);
    report  = run(config, &options);
    cr_expect_eq(report.n_rows, 5);
    cr_expect_eq(report.failed, 0);
    cr_expect_str_eq(report.rows[2].fallback, "ring");
    cr_expect_float_eq(report.rows[2].fallback_ratio, 1 - report.rows[2].hit_ratio, 1e-12);
    cr_expect_lt(report.rows[2].exposed_s.mean.value, report.rows[1].exposed_s.mean.value);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

/* As many iterations as calls, in order: the means of what happened, computed here. */
Test(montecarlo_gains, a_trace_in_order_is_what_happened)
{
    cs_config *config = ct_config_example("montecarlo-trace");

    ct_set(config, "arrivals.trace.pick", "in-order");
    ct_set(config, "bytes", "58720256");
    ct_set(config, "sweep", "{}");
    ct_set(config, "algorithm.name", "stragglar");
    ct_set(config, "montecarlo", "{\"prediction\": \"static\", \"presumed\": 5}");
    cs_case               c     = ct_case(config, 0);
    size_t                calls = c.arrivals.trace.n_calls, hits = 0;
    double                step = ALPHA + 58720256.0 / 7 / 300e9, sum = 0;
    cs_montecarlo_options options = options_of(calls, 2);
    for (size_t i = 0; i < calls; i++) {
        double others = 0, late = cs_trace_arrival(&c.arrivals.trace, i, 5);
        for (uint32_t r = 0; r < 8; r++) {
            others = r == 5 ? others : fmax(others, cs_trace_arrival(&c.arrivals.trace, i, r));
        }
        sum += fmax(others + 6 * step, late) + 9 * step - fmax(others, late);
        hits += late >= others;
    }
    cs_montecarlo_report report = run(config, &options);
    cr_expect_float_eq(report.rows[0].exposed_s.mean.value, sum / (double)calls, 1e-15);
    cr_expect_eq(report.rows[0].hit_ratio, (double)hits / (double)calls);
    cs_montecarlo_report_free(&report);
    cs_case_free(&c);
    cs_config_free(config);
}
