/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What losses are counted against: the best schedule without a fault, on servers with several GPUs,
 * whatever the job runs and its policies switch to. */
#include "whatif_setup.h"

#define SERVERS(n)                                                                           \
    "\"cluster\": {\"ranks\": " #n ", \"gpus_per_server\": 8, \"nic\": {\"bandwidth\": "     \
    "\"400Gb/s\", \"alpha\": \"3us\"}, \"nvlink\": {\"bandwidth\": \"450GB/s\", \"alpha\": " \
    "\"1us\"}}"
#define LONG_JOB "\"job\": {\"iterations\": 300, \"compute\": \"300ms\", \"bytes\": \"1GiB\"}"

static outcome try_well(const char *json)
{
    outcome  o   = {0};
    cs_error err = {0};

    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s: %s: %s", json, err.where, err.message);
    return o;
}

static void nobody_gains(const outcome *o, const char *what)
{
    for (size_t i = 0; i < o->report.n_lines; i++) {
        const cs_whatif_line *line = &o->report.lines[i];
        cr_expect(!line->is_available || line->lost_gpu_hours >= 0, "%s, %s: %g GPU-hours lost",
                  what, line->policy->name, line->lost_gpu_hours);
        cr_expect(!line->is_available || strstr(line->reason, "faster") == NULL, "%s: %s",
                  line->policy->name, line->reason);
    }
}

/* One NIC of 8, 7 .. 4 is lost: the healthy job runs NCCL's rings, and nobody gains by the loss. */
Test(whatif_reference, a_lost_nic_is_nobodys_gain)
{
    for (int left = 4; left <= 7; left++) {
        char json[1000];
        snprintf(json, sizeof json,
                 "{" LONG_JOB ", " SERVERS(64) ", \"faults\": [{\"rank\": 0, \"slowdown\": %.17g, "
                                               "\"from\": \"5s\", \"until\": \"60s\"}]}",
                 8.0 / left);
        outcome o = try_well(json);
        cr_expect_str_eq(o.job.schedule.algorithm->name, "nccl_rings");
        cr_expect_lt(o.report.healthy_call_s, 1.2 * o.report.best.elapsed_s);
        cr_expect_lt(o.report.healthy_call_s, 6e-3, "one ring over one NIC takes 43 ms");
        cr_expect_str_eq(o.report.best.name, "parallel_rings (run by r2ccl)");
        nobody_gains(&o, json);
        release(&o);
    }
}

/* The reference is the best of all schedules of the job, also where the job's own is not. */
Test(whatif_reference, a_bad_choice_of_the_job_is_a_loss_of_its_own)
{
    outcome               o       = try_well("{" LONG_JOB ", \"algorithm\": \"ring\", " SERVERS(
                            32) ", \"policies\": [\"iccl\", \"nccl_rings\"], \"faults\": [{\"rank\": 0, "
                                                    "\"slowdown\": 2, \"from\": \"5s\"}]}");
    const cs_whatif_line *healthy = line_of(&o, "healthy");

    cr_expect_str_eq(o.report.best.name, "nccl_rings");
    cr_expect_gt(o.report.healthy_call_s, 5 * o.report.best.elapsed_s);
    EXPECT_NEAR(healthy->lost_gpu_hours,
                300 * (o.report.healthy_iteration_s - o.report.best_iteration_s) * 32 / 3600);
    cr_expect_not_null(strstr(healthy->reason, "with ring on healthy NICs"));
    cr_expect_lt(line_of(&o, "nccl_rings")->lost_gpu_hours, line_of(&o, "iccl")->lost_gpu_hours);
    nobody_gains(&o, "ring");
    release(&o);
}

Test(whatif_reference, policies_are_a_list_of_words_and_algorithms)
{
    outcome o =
        try_well("{" LONG_JOB ", \"algorithm\": {\"name\": \"nccl_rings\", \"options\": "
                 "{\"channels\": 4}}, " SERVERS(
                     32) ", \"policies\": [\"parallel_rings\", \"wait\", \"healthy\", {\"name\": "
                         "\"optcc\", \"options\": {\"segments\": 64}}], \"faults\": [{\"rank\": 0, "
                         "\"slowdown\": 2, \"from\": \"1s\", \"until\": \"9s\"}]}");

    cr_assert_eq(o.job.n_policies, 4);
    cr_expect_str_eq(o.job.policies[0].name, "healthy");
    cr_expect_str_eq(o.job.policies[1].name, "parallel_rings");
    cr_expect_eq(o.job.policies[1].kind, CS_POLICY_SWITCH);
    cr_expect_str_eq(o.job.policies[3].name, "optcc");
    cr_expect_eq(o.report.n_lines, 4);
    nobody_gains(&o, "options");
    release(&o);
}

Test(whatif_reference, one_gpu_per_server_runs_the_ring)
{
    outcome o = run("", "");

    cr_expect_str_eq(o.job.schedule.algorithm->name, "ring");
    cr_expect_str_eq(o.report.best.name, "ring");
    release(&o);
}

/* Jobs of all sizes, the smallest of which are ruled by start-ups. */
Test(whatif_reference, nobody_gains_on_random_timelines)
{
    static const char *const clusters[] = {
        SERVERS(24), SERVERS(40),
        "\"cluster\": {\"ranks\": 11, \"nic\": {\"bandwidth\": 2e10, \"alpha\": \"9us\"}}",
        ("\"cluster\": {\"ranks\": 12, \"gpus_per_server\": 2, \"nic\": {\"bandwidth\": 2e10, "
         "\"alpha\": \"9us\"}, \"nvlink\": {\"bandwidth\": 3e10, \"alpha\": \"1us\"}}")};

    for (unsigned i = 0; i < 24; i++) {
        char faults[1800], json[3000];
        random_faults(i, i % 4 < 2 ? 8 : 5, faults, sizeof faults);
        snprintf(json, sizeof json,
                 "{\"job\": {\"iterations\": 300, \"compute\": \"1ms\", \"bytes\": %u, \"calls\": "
                 "8}, %s, \"policies\": [\"iccl\", \"r2ccl\", \"optcc\", \"parallel_rings\", "
                 "\"hierarchical\", \"rhd\", \"wait\"], \"faults\": [%s], \"timers\": {\"detect\": "
                 "\"1ms\"}}",
                 100u << i, clusters[i % 4], faults);
        outcome o = try_well(json);
        nobody_gains(&o, json);
        release(&o);
    }
}

Test(whatif_reference, bad_policies_are_located)
{
    static const struct {
        const char *json, *error;
    } cases[] = {
        {"{" JOB ",\n\"policies\": [\"optcc\", {\"options\": {}}]}",
         ":2:23: policies[1]: the key 'name' is missing"},
        {"{" JOB ",\n\"policies\": [\"optcc\", \"optcc\"]}",
         ":2:23: policies[1]: 'optcc' is there"},
        {"{" JOB ",\n\"policies\": [3]}", ":2:14: policies[0]: is a number"},
        {"{" JOB ",\n\"policies\": [{\"name\": \"optcc\", \"options\": {\"segment\": 3}}]}",
         "policies[0].options.segment: unknown option"},
        {"{" JOB ",\n\"algorithm\": \"rings\"}",
         ":2:14: algorithm: 'rings' is a part of several names"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_refused(cases[i].json, cases[i].error);
    }
}
