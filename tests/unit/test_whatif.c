/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What-if jobs as a whole: what is counted, in which order, and that it is always the same. */
#include "whatif_setup.h"

Test(whatif, without_faults_nobody_loses)
{
    outcome o = run("", "");

    EXPECT_NEAR(o.report.healthy_call_s, 0.25);
    EXPECT_NEAR(o.report.healthy_iteration_s, 1.25);
    cr_assert_eq(o.report.n_lines, 6);
    for (size_t i = 0; i < o.report.n_lines; i++) {
        const cs_whatif_line *line = &o.report.lines[i];
        if (line->is_available) {
            EXPECT_NEAR(line->total_s, 125);
            cr_expect_eq(line->lost_gpu_hours, 0);
            cr_expect_eq(line->place, i == 0 ? 0 : 1);
            cr_expect(line->is_finished);
            check_intervals(line, 125, N);
        }
    }
    cr_assert_str_eq(o.report.lines[0].policy->name, "healthy");
    release(&o);
}

Test(whatif, iccl_runs_at_the_pace_of_the_slow_nic)
{
    outcome o = run("{\"rank\": 3, \"slowdown\": 2}", "");

    EXPECT_NEAR(total(&o, "iccl"), 150);
    EXPECT_NEAR(line_of(&o, "iccl")->lost_gpu_hours, 25 * GPU_HOURS);
    release(&o);
}

Test(whatif, overlap_and_calls)
{
    static const struct {
        const char *job;
        double      healthy_s, slow_s;
    } cases[] = {
        {"\"overlap\": 0.5", 1, 1.5}, /* the call of 1 s begins after 0.5 s */
        {"\"overlap\": 1", 1, 1},
        {"\"overlap\": 0.1", 1.15, 1.9},
        {"\"calls\": 3", 1.75, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char     json[1000];
        outcome  o   = {0};
        cs_error err = {0};
        snprintf(
            json, sizeof json,
            "{\"job\": {\"iterations\": 100, \"compute\": 1, \"bytes\": 240000000, %s}, " CLUSTER
            ", \"faults\": [{\"rank\": 0, \"slowdown\": 4}]}",
            cases[i].job);
        cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s", err.message);
        EXPECT_NEAR(total(&o, "healthy"), N * cases[i].healthy_s);
        EXPECT_NEAR(total(&o, "iccl"), N * cases[i].slow_s);
        release(&o);
    }
}

Test(whatif, places_go_by_what_is_lost)
{
    outcome o =
        run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 60}", "\"detect\": 1");

    cr_assert_str_eq(o.report.lines[0].policy->name, "healthy");
    cr_assert_str_eq(o.report.lines[1].policy->name, "optcc");
    for (size_t i = 2; i < o.report.n_lines && o.report.lines[i].is_available; i++) {
        cr_expect_geq(o.report.lines[i].lost_gpu_hours, o.report.lines[i - 1].lost_gpu_hours);
        cr_expect_geq(o.report.lines[i].place, o.report.lines[i - 1].place);
    }
    cr_assert_eq(line_of(&o, "exclude")->place, o.report.lines[5].is_available ? 5 : 4);
    cr_expect_not_null(strstr(line_of(&o, "exclude")->reason, "600 s stopped to restart"));
    cr_expect_not_null(strstr(line_of(&o, "wait")->reason, "until the repair"));
    release(&o);
}

Test(whatif, reports_are_the_same_every_time)
{
    char faults[1800];
    random_faults(7, 5, faults, sizeof faults);
    outcome a = run(faults, ""), b = run(faults, "");
    cs_text left = {0}, right = {0};

    cs_whatif_json(&a.job, &a.report, &left);
    cs_whatif_json(&b.job, &b.report, &right);
    cr_assert_str_eq(left.data, right.data);
    cs_text_free(&left);
    cs_text_free(&right);
    cs_whatif_csv(&a.job, &a.report, &left);
    cs_whatif_table(&b.job, &b.report, &right);
    cr_assert_not_null(strstr(left.data, "optcc,"));
    cr_assert_not_null(strstr(right.data, "place  policy"));
    cs_text_free(&left);
    cs_text_free(&right);
    release(&a);
    release(&b);
}

Test(whatif, ten_million_iterations_cost_no_more_than_ten)
{
    outcome  o   = {0};
    cs_error err = {0};
    cr_assert_eq(
        try_job(
            "{\"job\": {\"iterations\": 10000000, \"compute\": 1, \"bytes\": 240000000}, " CLUSTER
            ", \"faults\": [{\"rank\": 0, \"slowdown\": 2, \"from\": 1250}]}",
            &o, &err),
        CS_OK, "%s", err.message);
    EXPECT_NEAR(total(&o, "iccl"), 1250 + (1e7 - 1000) * 1.5);
    cr_assert_lt(o.report.replays, 20);
    release(&o);
}
