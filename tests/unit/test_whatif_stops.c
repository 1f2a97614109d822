/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policies that stop the job for a fault: restart from a checkpoint, a spare server, shrink. */
#include "whatif_setup.h"

static outcome run_stops(const char *faults, const char *timers, unsigned spares)
{
    char     json[2000];
    outcome  o   = {0};
    cs_error err = {0};

    snprintf(json, sizeof json,
             "{\"job\": {\"iterations\": 100, \"compute\": \"1s\", \"bytes\": 240000000, "
             "\"spares\": %u}, " CLUSTER ", \"faults\": [%s], \"timers\": {%s}, \"policies\": "
             "[\"iccl\", \"restart\", \"spare\", \"shrink\", \"exclude\"]}",
             spares, faults, timers);
    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s: %s", err.where, err.message);
    return o;
}

#define DEAD "{\"rank\": 0, \"down\": true, \"slowdown\": 2, \"from\": 12.5}"

/* Ten iterations are done at 12.5; the NIC is known to be dead at 13.5. */
Test(whatif_stops, a_dead_nic_restarts_the_job_from_its_checkpoint)
{
    outcome o = run_stops(DEAD, "\"detect\": 1, \"restart\": 100, \"checkpoint\": 4", 1);
    const cs_whatif_line *line = line_of(&o, "restart");

    EXPECT_NEAR(line->total_s, 113.5 + 92 * 1.5);
    check_intervals(line, line->total_s, N);
    cr_expect_not_null(strstr(line->reason, "2 iterations done again"), "%s", line->reason);
    EXPECT_NEAR(total(&o, "exclude"), 113.5 + 99 * (1 + SMALLER_S)); /* 92 by 15 of 16: 98.1 */
    release(&o);
}

Test(whatif_stops, without_a_checkpoint_the_restart_counts_what_is_lost)
{
    outcome o = run_stops(DEAD, "\"detect\": 1, \"restart\": 100", 1);

    EXPECT_NEAR(total(&o, "restart"), 113.5 + 90 * 1.5);
    release(&o);
}

Test(whatif_stops, a_slow_nic_does_not_end_the_job)
{
    outcome o = run_stops("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5}", "\"detect\": 1", 1);

    cr_expect_eq(total(&o, "restart"), total(&o, "iccl"));
    release(&o);
}

Test(whatif_stops, a_server_without_nics_is_waited_for)
{
    outcome o = run_stops("{\"rank\": 0, \"slowdown\": null, \"from\": 12.5, \"until\": 200}",
                          "\"detect\": 1, \"restart\": 10", 1);

    EXPECT_NEAR(total(&o, "restart"), 200 + 0.25 + 89 * 1.25);
    release(&o);
}

Test(whatif_stops, a_spare_takes_over_and_is_paid_for)
{
    outcome o =
        run_stops(DEAD, "\"detect\": 1, \"spare\": 20, \"restart\": 100, \"checkpoint\": 8", 1);
    const cs_whatif_line *line = line_of(&o, "spare");

    EXPECT_NEAR(line->total_s, 33.5 + 92 * 1.25);
    EXPECT_NEAR(line->lost_gpu_hours, ((line->total_s - 125) * 16 + line->total_s) / 3600);
    check_intervals(line, line->total_s, N);
    release(&o);
}

Test(whatif_stops, without_spares_the_job_goes_on)
{
    outcome o = run_stops(DEAD, "\"detect\": 1", 0);

    cr_expect_eq(total(&o, "spare"), total(&o, "iccl"));
    release(&o);
}

/* The second fault finds no spare, the third one finds the server that was repaired. */
Test(whatif_stops, a_repaired_server_is_a_spare_again)
{
    static const char faults[] = "{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 50}, "
                                 "{\"rank\": 1, \"slowdown\": 2, \"from\": 25, \"until\": 40}, "
                                 "{\"rank\": 2, \"slowdown\": 2, \"from\": 75}";
    outcome           one      = run_stops(faults, "\"detect\": 0, \"spare\": 10", 1);
    outcome           two      = run_stops(faults, "\"detect\": 0, \"spare\": 10", 2);

    /* 10 iterations, 10 s; 2 and half a call; slow from 25 to 40; then healthy until 75 */
    cr_expect_gt(total(&one, "spare"), 20 + 125);
    cr_expect_lt(total(&one, "spare"), 20 + 125 + 6);
    EXPECT_NEAR(total(&two, "spare"), 30 + 125);
    release(&one);
    release(&two);
}

Test(whatif_stops, to_shrink_costs_its_own_time_and_loses_nothing)
{
    outcome o =
        run_stops(DEAD, "\"detect\": 1, \"shrink\": 20, \"restart\": 100, \"checkpoint\": 8", 1);

    EXPECT_NEAR(total(&o, "shrink"), 33.5 + 96 * (1 + SMALLER_S));
    EXPECT_NEAR(total(&o, "exclude"), 113.5 + 99 * (1 + SMALLER_S));
    release(&o);
}

Test(whatif_stops, memory_may_run_out_anywhere)
{
    outcome o = run_stops(DEAD, "\"detect\": 1, \"checkpoint\": 4", 1);

    run_without_memory(&o.job);
    release(&o);
}

/* What NCCL does about a dead NIC is its own policy where it runs: the job ends and starts again.
 */
Test(whatif_stops, nccl_ends_the_job)
{
    outcome o = run_on(CLUSTER ", \"algorithm\": \"nccl\", \"policies\": [\"nccl\", \"iccl\"]",
                       "{\"rank\": 3, \"down\": true, \"slowdown\": 2, \"from\": \"20s\"}",
                       "\"preset\": \"nccl\", \"restart\": \"100s\"");
    outcome p = run_on(CLUSTER ", \"algorithm\": \"nccl\", \"policies\": [\"restart\", \"iccl\"]",
                       "{\"rank\": 3, \"down\": true, \"slowdown\": 2, \"from\": \"20s\"}",
                       "\"preset\": \"nccl\", \"restart\": \"100s\"");

    EXPECT_NEAR(total(&o, "nccl"), total(&p, "restart"));
    cr_expect_gt(total(&o, "nccl"), total(&o, "iccl") + 50);
    release(&o);
    release(&p);
}
