/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults that come and go, dead NICs and rates over time in what-if jobs. */
#include "whatif_setup.h"

Test(whatif_faults, a_repaired_nic_costs_only_while_it_was_broken)
{
    outcome o = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 27.5}", "");
    const cs_whatif_line *line = line_of(&o, "iccl");

    EXPECT_NEAR(line->total_s, 127.5);
    cr_assert_eq(line->n_intervals, 3);
    cr_expect_eq(line->intervals[0].kind, CS_INTERVAL_HEALTHY);
    EXPECT_NEAR(line->intervals[0].iterations, 10);
    cr_expect_eq(line->intervals[1].kind, CS_INTERVAL_DEGRADED);
    EXPECT_NEAR(line->intervals[1].iterations, 10);
    EXPECT_NEAR(line->intervals[1].until_s, 27.5);
    EXPECT_NEAR(line->intervals[2].iterations, 80);
    check_intervals(line, 127.5, N);
    release(&o);
}

Test(whatif_faults, a_fault_inside_a_call_slows_the_rest_of_it)
{
    /* at a third of a step: the tx port of rank 0 is never idle, so the rest takes twice as long */
    double into_s = (10 + 1 / 3.0) / 30 * 0.25;
    char   fault[200];
    snprintf(fault, sizeof fault, "{\"rank\": 0, \"slowdown\": 2, \"from\": %.17g}", 13.5 + into_s);
    outcome o = run(fault, "");

    EXPECT_NEAR(total(&o, "iccl"), 13.5 + into_s + 2 * (0.25 - into_s) + 89 * 1.5);
    release(&o);
}

Test(whatif_faults, flapping_between_calls_costs_nothing_and_inside_them_what_it_takes)
{
    /* 12.5 to 13.5 the job computes; the call of the next iteration begins at 14.75 */
    outcome o = run("{\"rank\": 0, \"slowdown\": 9, \"from\": 12.6, \"until\": 12.7},"
                    "{\"rank\": 0, \"slowdown\": 9, \"from\": 13.1, \"until\": 13.4},"
                    "{\"rank\": 0, \"slowdown\": 2, \"from\": 14.75, \"until\": 14.85},"
                    "{\"rank\": 0, \"slowdown\": 2, \"from\": 14.85, \"until\": 15.25}",
                    "\"detect\": 10");

    EXPECT_NEAR(total(&o, "iccl"), 125.25);
    EXPECT_NEAR(total(&o, "wait"), 125.25);
    release(&o);
}

Test(whatif_faults, every_long_fault_of_a_flapping_port_counts)
{
    outcome o = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 15.5},"
                    "{\"rank\": 0, \"slowdown\": 3, \"from\": 28, \"until\": 31.5},"
                    "{\"rank\": 1, \"slowdown\": 2, \"from\": 28, \"until\": 31.5}",
                    "");

    /* two iterations of 1.5 s, then two of 1.75 s */
    EXPECT_NEAR(total(&o, "iccl"), 125 + 2 * 0.25 + 2 * 0.5);
    release(&o);
}

Test(whatif_faults, a_fault_after_the_end_changes_nothing)
{
    outcome o = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 125}", "\"detect\": 0");

    for (size_t i = 0; i < o.report.n_lines; i++) {
        if (o.report.lines[i].is_available) {
            EXPECT_NEAR(o.report.lines[i].total_s, 125);
            cr_expect_eq(o.report.lines[i].lost_gpu_hours, 0);
        }
    }
    release(&o);
}

Test(whatif_faults, a_dead_nic_stalls_until_it_is_back)
{
    outcome o = run("{\"rank\": 0, \"slowdown\": null, \"from\": 12.5, \"until\": 30}", "");

    cr_expect(fabs(total(&o, "iccl") - (30.25 + 89 * 1.25)) < 1e-6);
    cr_expect(fabs(total(&o, "optcc") - (30.25 + 89 * 1.25)) < 1e-6);
    release(&o);
}

Test(whatif_faults, other_nics_take_over_once_the_dead_one_is_detected)
{
    outcome o =
        run("{\"rank\": 0, \"down\": true, \"slowdown\": 2, \"from\": 12.5}", "\"detect\": 10");

    /* dead until 22.5, then half the rate */
    cr_expect(fabs(total(&o, "iccl") - (22.5 + 0.5 + 89 * 1.5)) < 1e-6);
    release(&o);
}

Test(whatif_faults, a_nic_that_is_dead_for_ever_ends_the_job)
{
    outcome               o = run("{\"rank\": 0, \"down\": true, \"from\": 12.5}", "\"detect\": 1");
    const cs_whatif_line *line = line_of(&o, "iccl");

    cr_expect(isinf(line->total_s));
    cr_expect(isinf(line->lost_gpu_hours));
    cr_expect_not(line->is_finished);
    EXPECT_NEAR(line->iterations, 10);
    cr_expect_eq(line->intervals[line->n_intervals - 1].kind, CS_INTERVAL_STUCK);
    cr_expect(isinf(total(&o, "wait")));
    cr_expect(isinf(total(&o, "optcc")));
    EXPECT_NEAR(total(&o, "exclude"), 613.5 + 96 * (1 + SMALLER_S));
    cr_expect_eq(line_of(&o, "exclude")->place, 1);
    cr_expect_gt(line->place, 1);
    release(&o);
}

/* The largest slowdown stands for no bandwidth: it does not hide one. */
Test(whatif_faults, a_dead_nic_beside_the_slowest_one_ends_the_job)
{
    outcome o = run("{\"rank\": 0, \"slowdown\": 1e9}, {\"rank\": 1, \"down\": true}", "");

    cr_expect(isinf(total(&o, "iccl")));
    cr_expect(isinf(total(&o, "optcc")));
    cr_expect(isinf(total(&o, "wait")));
    release(&o);
}

Test(whatif_faults, a_horizon_ends_the_watching)
{
    outcome  o   = {0};
    cs_error err = {0};
    cr_assert_eq(try_job("{\"job\": {\"iterations\": 100, \"compute\": 1, \"bytes\": 240000000,"
                         "\"horizon\": 50}, " CLUSTER ", \"faults\": [{\"rank\": 0, \"slowdown\": "
                         "2}, {\"rank\": 1, \"down\": true, \"from\": 15}], \"timers\": "
                         "{\"detect\": 1000}}",
                         &o, &err),
                 CS_OK, "%s", err.message);
    const cs_whatif_line *healthy = line_of(&o, "healthy");
    const cs_whatif_line *iccl    = line_of(&o, "iccl");

    EXPECT_NEAR(healthy->iterations, 40);
    EXPECT_NEAR(healthy->total_s, 50);
    cr_expect_not(healthy->is_finished);
    EXPECT_NEAR(iccl->iterations, 10);
    EXPECT_NEAR(iccl->total_s, 50);
    EXPECT_NEAR(iccl->lost_gpu_hours, (50 - 12.5) * GPU_HOURS);
    check_intervals(iccl, 50, 10);
    release(&o);
}

Test(whatif_faults, nothing_is_lost_on_random_timelines)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        char faults[1800], timers[100];
        random_faults(seed, 5, faults, sizeof faults);
        snprintf(timers, sizeof timers, "\"detect\": %g, \"restart\": %g, \"rejoin\": %s",
                 (double)(seed % 5) / 2, (double)(seed % 7), seed % 2 == 0 ? "null" : "3");
        outcome o = run(faults, timers);
        for (size_t i = 0; i < o.report.n_lines; i++) {
            const cs_whatif_line *line = &o.report.lines[i];
            if (line->is_available) {
                cr_assert(line->is_finished);
                check_intervals(line, line->total_s, N);
                cr_assert_geq(line->lost_gpu_hours, 0);
            }
        }
        release(&o);
    }
}

Test(whatif_faults, tolerance_takes_a_noisy_rate_for_one_state)
{
    const char *noisy  = "{\"rank\": 0, \"slowdown\": 2, \"from\": 0, \"until\": 5},"
                         "{\"rank\": 0, \"slowdown\": 2.1, \"from\": 5, \"until\": 10},"
                         "{\"rank\": 0, \"slowdown\": 2, \"from\": 10}";
    outcome     strict = run(noisy, "\"detect\": 8"),
            lax        = run(noisy, "\"detect\": 8, \"tolerance\": 0.1");

    /* known from 18 on, or from 8 on */
    double known_s = call_s("optcc", 2), strict_s = 0, lax_s = 0;
    cr_assert_lt(known_s, 0.4);
    for (size_t i = 0; i < line_of(&strict, "optcc")->n_intervals; i++) {
        const cs_job_interval *interval = &line_of(&strict, "optcc")->intervals[i];
        strict_s =
            interval->kind == CS_INTERVAL_ADAPTED && strict_s == 0 ? interval->from_s : strict_s;
    }
    for (size_t i = 0; i < line_of(&lax, "optcc")->n_intervals; i++) {
        const cs_job_interval *interval = &line_of(&lax, "optcc")->intervals[i];
        lax_s = interval->kind == CS_INTERVAL_ADAPTED && lax_s == 0 ? interval->from_s : lax_s;
    }
    cr_expect(strict_s > 17 && strict_s < 19.5, "%g", strict_s);
    cr_expect(lax_s > 7 && lax_s < 9.5, "%g", lax_s);
    release(&strict);
    release(&lax);
}
