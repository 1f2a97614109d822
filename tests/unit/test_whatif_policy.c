/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the policies do about a fault and when: other schedules, exclusion, waiting. */
#include "whatif_setup.h"

Test(whatif_policy, optcc_begins_after_detection_and_rescheduling)
{
    outcome               o    = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5}",
                                     "\"detect\": 1.25, \"reschedule\": 0.25");
    const cs_whatif_line *line = line_of(&o, "optcc");
    double                s    = call_s("optcc", 2);

    cr_assert_lt(s, 0.45); /* not the ring */
    cr_assert_eq(line->n_intervals, 3);
    cr_expect_eq(line->intervals[1].kind, CS_INTERVAL_DEGRADED);
    EXPECT_NEAR(line->intervals[1].iterations, 1);
    EXPECT_NEAR(line->intervals[1].until_s, 14.0);
    cr_expect_eq(line->intervals[2].kind, CS_INTERVAL_ADAPTED);
    EXPECT_NEAR(line->total_s, 14 + 89 * (1 + s));
    EXPECT_NEAR(line->lost_gpu_hours, (14 + 89 * (1 + s) - 125) * GPU_HOURS);
    check_intervals(line, line->total_s, N);
    release(&o);
}

Test(whatif_policy, a_schedule_made_too_late_waits_for_the_next_call)
{
    /* known at 15.1, just after the call of iteration 12 began at 15.0 */
    outcome o = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5}",
                    "\"detect\": 2.5, \"reschedule\": 0.1");

    EXPECT_NEAR(total(&o, "optcc"), 15.5 + 88 * (1 + call_s("optcc", 2)));
    release(&o);
}

Test(whatif_policy, r2ccl_is_run_if_it_is_there)
{
    outcome o = run("{\"rank\": 0, \"slowdown\": 2}", "\"detect\": 0, \"reschedule\": 0");
    const cs_whatif_line *line = line_of(&o, "r2ccl");
    const cs_algorithm   *algorithm;
    bool                  is_there = cs_algorithm_find("r2ccl", &algorithm, NULL) == CS_OK;

    cr_assert_eq(line->is_available, is_there);
    if (is_there) {
        EXPECT_NEAR(line->total_s, N * (1 + call_s("r2ccl", 2)));
    } else {
        cr_assert_not_null(line->note);
    }
    release(&o);
}

Test(whatif_policy, what_is_over_before_it_is_noticed_is_never_answered)
{
    outcome o =
        run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 27.5}", "\"detect\": 15.1");

    EXPECT_NEAR(total(&o, "iccl"), 127.5);
    EXPECT_NEAR(total(&o, "optcc"), 127.5);
    EXPECT_NEAR(total(&o, "exclude"), 127.5);
    EXPECT_NEAR(total(&o, "wait"), 127.5);
    cr_assert_not_null(line_of(&o, "optcc")->note);
    release(&o);
}

Test(whatif_policy, optcc_goes_back_to_the_ring_when_the_repair_is_known)
{
    outcome                o = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 50}",
                                   "\"detect\": 1.5, \"reschedule\": 0");
    const cs_whatif_line  *line = line_of(&o, "optcc");
    const cs_job_interval *last = &line->intervals[line->n_intervals - 1];

    cr_expect_eq(last->kind, CS_INTERVAL_HEALTHY);
    cr_expect_geq(last->from_s, 50.5);
    cr_expect_leq(last->from_s, 52.5);
    EXPECT_NEAR(last->until_s - last->from_s, last->iterations * 1.25);
    check_intervals(line, line->total_s, N);
    release(&o);
}

Test(whatif_policy, exclusion_drops_an_iteration_restarts_and_loses_a_share)
{
    outcome o =
        run("{\"rank\": 7, \"slowdown\": 2, \"from\": 12.5}", "\"detect\": 1, \"restart\": 100");
    const cs_whatif_line *line = line_of(&o, "exclude");

    /* 90 iterations' worth of samples by 15 of 16 servers: 96 iterations */
    EXPECT_NEAR(line->total_s, 113.5 + 96 * (1 + SMALLER_S));
    cr_assert_eq(line->n_intervals, 4);
    cr_expect_eq(line->intervals[1].kind, CS_INTERVAL_ABORTED);
    EXPECT_NEAR(line->intervals[1].until_s, 13.5);
    cr_expect_eq(line->intervals[2].kind, CS_INTERVAL_RESTART);
    EXPECT_NEAR(line->intervals[2].until_s, 113.5);
    cr_expect_eq(line->intervals[3].kind, CS_INTERVAL_SMALLER);
    cr_expect_eq(line->intervals[3].excluded, 1);
    EXPECT_NEAR(line->intervals[3].iterations, 90);
    EXPECT_NEAR(line->lost_gpu_hours, (line->total_s - 125) * GPU_HOURS);
    check_intervals(line, line->total_s, N);
    release(&o);
}

Test(whatif_policy, faults_of_the_servers_that_are_left_go_on)
{
    /* rank 15 is slow during the first call after the restart, not long enough to be noticed */
    outcome o = run("{\"rank\": 3, \"slowdown\": 2, \"from\": 12.5},"
                    "{\"rank\": 15, \"slowdown\": 2, \"from\": 114, \"until\": 114.9999}",
                    "\"detect\": 1, \"restart\": 100");

    EXPECT_NEAR(total(&o, "exclude"), 113.5 + (1 + 2 * SMALLER_S) + 95 * (1 + SMALLER_S));
    release(&o);
}

Test(whatif_policy, a_repaired_server_rejoins_if_it_is_asked_for)
{
    /* out at 13.5, back in business at 20; 8 iterations or so later the repair is known */
    outcome               o = run("{\"rank\": 7, \"slowdown\": 2, \"from\": 12.5, \"until\": 30}",
                                  "\"detect\": 1, \"restart\": 6.5, \"rejoin\": 2");
    const cs_whatif_line *line = line_of(&o, "exclude");
    /* known at 31: iterations that began before */
    double begun = ceil((31 - 20) / (1 + SMALLER_S)), left = 90 - begun * 15 / 16;
    double whole = ceil(left);

    EXPECT_NEAR(line->total_s, 20 + begun * (1 + SMALLER_S) + 2 + whole * 1.25);
    cr_expect_eq(line->intervals[line->n_intervals - 1].kind, CS_INTERVAL_HEALTHY);
    check_intervals(line, line->total_s, N);
    release(&o);
}

Test(whatif_policy, the_next_restart_takes_repaired_servers_in)
{
    outcome o = run("{\"rank\": 3, \"slowdown\": 2, \"from\": 12.5, \"until\": 20},"
                    "{\"rank\": 5, \"slowdown\": 2, \"from\": 60}",
                    "\"detect\": 1, \"restart\": 1");

    /* 10 iterations, from 14.5 to 61 another 37 of 15/16 each, 59 more make the rest */
    EXPECT_NEAR(total(&o, "exclude"), 62 + 59 * (1 + SMALLER_S));
    release(&o);
}

Test(whatif_policy, an_empty_job_restarts_with_the_first_repaired_server)
{
    outcome o = run_on("\"cluster\": {\"ranks\": 2}",
                       "{\"rank\": 0, \"slowdown\": 2, \"until\": 10}, {\"rank\": 1, \"slowdown\": "
                       "2, \"until\": 20}",
                       "\"detect\": 1, \"restart\": 5");
    /* known at 11, running from 16 on: half of the samples an iteration, no calls */
    EXPECT_NEAR(total(&o, "exclude"), 16 + 200);
    release(&o);
}

Test(whatif_policy, waiting_holds_calls_until_the_repair)
{
    outcome o =
        run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 30}", "\"detect\": 1");
    const cs_whatif_line *line = line_of(&o, "wait");

    EXPECT_NEAR(line->total_s, 30.25 + 89 * 1.25);
    EXPECT_NEAR(line->intervals[1].held_s, 16.5);
    check_intervals(line, line->total_s, N);
    release(&o);
}

Test(whatif_policy, servers_of_several_gpus_fall_out_together)
{
    outcome o =
        run_on("\"algorithm\": \"ring\", \"cluster\": {\"ranks\": 16, \"gpus_per_server\": 8, "
               "\"nic\": {\"bandwidth\": "
               "1.8e9, \"alpha\": 0}, \"nvlink\": {\"bandwidth\": 1.8e9, \"alpha\": 0}}",
               "{\"rank\": 9, \"slowdown\": 2, \"from\": 12.5}", "\"detect\": 1, \"restart\": 100");
    /* 8 ranks: 14 steps of 3e7 bytes; 90 iterations' worth by half of the servers */
    EXPECT_NEAR(total(&o, "exclude"), 113.5 + 180 * (1 + 14 * 3e7 / 1.8e9));
    release(&o);
}

Test(whatif_policy, the_last_rank_alone_needs_no_calls)
{
    outcome o =
        run_on("\"cluster\": {\"ranks\": 2, \"nic\": {\"bandwidth\": 9.6e8, \"alpha\": 0}}",
               "{\"rank\": 1, \"slowdown\": 2, \"from\": 12.5}", "\"detect\": 1, \"restart\": 100");
    EXPECT_NEAR(total(&o, "exclude"), 113.5 + 180);
    release(&o);
}

/* Fifteen servers of 1.8e9 B/s, and one of half that, whose own NIC holds every call up as a slow
 * one would. Without it the others go at their full rate; without another one the slower
 * one still holds them up. 107 smaller iterations are as much work as 100. */
Test(whatif_policy, servers_that_differ_take_their_rates_with_them)
{
    static const char cluster[] =
        "\"cluster\": {\"nic\": {\"bandwidth\": 1.8e9, \"alpha\": 0}, \"servers\": [{\"count\": "
        "5}, {\"nic\": {\"bandwidth\": 0.9e9}}, {\"count\": 10}]}";
    outcome o = run_on(cluster, "{\"rank\": 5, \"slowdown\": 2}", "\"detect\": 0, \"restart\": 0");
    outcome p = run_on(cluster, "{\"rank\": 4, \"slowdown\": 2}", "\"detect\": 0, \"restart\": 0");

    EXPECT_NEAR(total(&o, "iccl"), N * (1 + 4 * 0.25));
    EXPECT_NEAR(total(&o, "exclude"), 107 * (1 + SMALLER_S));
    EXPECT_NEAR(total(&p, "iccl"), N * (1 + 2 * 0.25));
    EXPECT_NEAR(total(&p, "exclude"), 107 * (1 + 2 * SMALLER_S));
    release(&o);
    release(&p);
}

Test(whatif_policy, all_servers_excluded_is_the_end)
{
    outcome o =
        run_on("\"cluster\": {\"ranks\": 2}",
               "{\"rank\": 0, \"slowdown\": 2}, {\"rank\": 1, \"slowdown\": 2}", "\"detect\": 0");
    cr_expect(isinf(total(&o, "exclude")));
    cr_expect_eq(line_of(&o, "exclude")->iterations, 0);
    release(&o);
}
