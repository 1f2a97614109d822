/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What-if jobs whose times can be worked out by hand.
 *
 * 16 ranks, alpha 0, 2.4e8 bytes at 1.8e9 B/s: the ring takes 30 steps of 1.5e7 bytes, 0.25 s; on
 * 15 ranks it takes 28 steps of 1.6e7 bytes. With 1 s of compute, a healthy iteration is 1.25 s,
 * with a NIC at half its rate 1.5 s. */
#include "base/alloc.h"
#include "base/random.h"
#include "config/whatif_json.h"
#include "cs/result.h"
#include "whatif/whatif_text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N         100.0
#define SMALLER_S (28 * 1.6e7 / 1.8e9) /* the ring on 15 ranks */
#define GPU_HOURS (16 / 3600.0)
#define CLUSTER   "\"cluster\": {\"ranks\": 16, \"nic\": {\"bandwidth\": 1.8e9, \"alpha\": 0}}"
#define JOB       "\"job\": {\"iterations\": 100, \"compute\": \"1s\", \"bytes\": 240000000}"

typedef struct outcome {
    cs_whatif_job    job;
    cs_whatif_report report;
} outcome;

static cs_status try_job(const char *json, outcome *o, cs_error *err)
{
    char       path[] = "/tmp/collsim-test-whatif-XXXXXX";
    int        file   = mkstemp(path);
    cs_config *config = NULL;

    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, json, strlen(json)), (ssize_t)strlen(json));
    close(file);
    cs_status status = cs_config_load(path, &config, err);
    if (status == CS_OK) {
        status = cs_whatif_read(config, &o->job, err);
    }
    if (status == CS_OK) {
        status = cs_whatif_run(&o->job, &o->report, err);
    }
    cs_config_free(config);
    unlink(path);
    return status;
}

static void release(outcome *o)
{
    cs_whatif_free(&o->report);
    cs_whatif_job_free(&o->job);
}

/* The standard job with these faults and timers (parts of JSON). */
static outcome run(const char *faults, const char *timers)
{
    char     json[2000];
    outcome  o   = {0};
    cs_error err = {0};

    snprintf(json, sizeof json, "{" JOB ", " CLUSTER ", \"faults\": [%s], \"timers\": {%s}}",
             faults, timers);
    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s: %s", err.where, err.message);
    return o;
}

static const cs_whatif_line *line_of(const outcome *o, cs_policy policy)
{
    for (size_t i = 0; i < o->report.n_lines; i++) {
        if (o->report.lines[i].policy == policy) {
            return &o->report.lines[i];
        }
    }
    cr_assert_fail("no line of %s", cs_policy_name(policy));
    return NULL;
}

static double total(const outcome *o, cs_policy policy)
{
    return line_of(o, policy)->total_s;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

#define EXPECT_NEAR(a, b) cr_expect(is_near((a), (b)), "%.15g, not %.15g", (a), (double)(b))

/* Pieces follow each other from 0 to the end and hold all iterations. */
static void check_pieces(const cs_whatif_line *line, double end_s, double iterations)
{
    double at_s = 0, sum = 0;

    for (size_t i = 0; i < line->n_pieces; i++) {
        cr_assert(is_near(line->pieces[i].from_s, at_s), "%s: a gap", cs_policy_name(line->policy));
        cr_assert_geq(line->pieces[i].until_s, line->pieces[i].from_s);
        at_s = line->pieces[i].until_s;
        sum += line->pieces[i].iterations;
    }
    cr_assert(is_near(at_s, end_s), "%s: %g, not %g", cs_policy_name(line->policy), at_s, end_s);
    cr_assert(is_near(sum, iterations), "%s: %.15g", cs_policy_name(line->policy), sum);
    cr_assert_eq(line->iterations, sum);
}

/* One AllReduce of an algorithm on 16 ranks, one of them always slow. */
static double call_s(const char *name, double slow_ratio)
{
    const cs_fault fault    = {0, slow_ratio, 0, (double)INFINITY};
    cs_scenario    scenario = {.bytes    = 240000000,
                               .cluster  = {16, 1, {{CS_SWITCHED, 0, 1.8e9}, {CS_SWITCHED, 0, 1}}},
                               .faults   = &fault,
                               .n_faults = 1};
    cs_options     options, model_options;
    cs_result      result;
    cs_run         r = {.scenario      = &scenario,
                        .options       = &options,
                        .model         = cs_models[0],
                        .model_options = &model_options};

    cr_assert_eq(cs_algorithm_find(name, &r.algorithm, NULL), CS_OK);
    cs_options_default(r.algorithm->options, &options);
    cs_options_default(r.model->options, &model_options);
    cr_assert_eq(cs_run_scenario(&r, &result, NULL), CS_OK);
    return result.elapsed_s;
}

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
            check_pieces(line, 125, N);
        }
    }
    cr_assert_eq(o.report.lines[0].policy, CS_POLICY_HEALTHY);
    release(&o);
}

Test(whatif, iccl_runs_at_the_pace_of_the_slow_nic)
{
    outcome o = run("{\"rank\": 3, \"slowdown\": 2}", "");

    EXPECT_NEAR(total(&o, CS_POLICY_ICCL), 150);
    EXPECT_NEAR(line_of(&o, CS_POLICY_ICCL)->lost_gpu_hours, 25 * GPU_HOURS);
    release(&o);
}

Test(whatif, a_repaired_nic_costs_only_while_it_was_broken)
{
    outcome o = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 27.5}", "");
    const cs_whatif_line *line = line_of(&o, CS_POLICY_ICCL);

    EXPECT_NEAR(line->total_s, 127.5);
    cr_assert_eq(line->n_pieces, 3);
    cr_expect_eq(line->pieces[0].kind, CS_PIECE_HEALTHY);
    EXPECT_NEAR(line->pieces[0].iterations, 10);
    cr_expect_eq(line->pieces[1].kind, CS_PIECE_DEGRADED);
    EXPECT_NEAR(line->pieces[1].iterations, 10);
    EXPECT_NEAR(line->pieces[1].until_s, 27.5);
    EXPECT_NEAR(line->pieces[2].iterations, 80);
    check_pieces(line, 127.5, N);
    release(&o);
}

Test(whatif, a_fault_inside_a_call_slows_the_rest_of_it)
{
    /* at a third of a step: the tx port of rank 0 is never idle, so the rest takes twice as long */
    double into_s = (10 + 1 / 3.0) / 30 * 0.25;
    char   fault[200];
    snprintf(fault, sizeof fault, "{\"rank\": 0, \"slowdown\": 2, \"from\": %.17g}", 13.5 + into_s);
    outcome o = run(fault, "");

    EXPECT_NEAR(total(&o, CS_POLICY_ICCL), 13.5 + into_s + 2 * (0.25 - into_s) + 89 * 1.5);
    release(&o);
}

Test(whatif, optcc_begins_after_detection_and_rescheduling)
{
    outcome               o    = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5}",
                                     "\"detect\": 1.25, \"reschedule\": 0.25");
    const cs_whatif_line *line = line_of(&o, CS_POLICY_OPTCC);
    double                s    = call_s("optcc", 2);

    cr_assert_lt(s, 0.45); /* not the ring */
    cr_assert_eq(line->n_pieces, 3);
    cr_expect_eq(line->pieces[1].kind, CS_PIECE_DEGRADED);
    EXPECT_NEAR(line->pieces[1].iterations, 1);
    EXPECT_NEAR(line->pieces[1].until_s, 14.0);
    cr_expect_eq(line->pieces[2].kind, CS_PIECE_ADAPTED);
    EXPECT_NEAR(line->total_s, 14 + 89 * (1 + s));
    EXPECT_NEAR(line->lost_gpu_hours, (14 + 89 * (1 + s) - 125) * GPU_HOURS);
    check_pieces(line, line->total_s, N);
    release(&o);
}

Test(whatif, a_schedule_made_too_late_waits_for_the_next_call)
{
    /* known at 15.1, just after the call of iteration 12 began at 15.0 */
    outcome o = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5}",
                    "\"detect\": 2.5, \"reschedule\": 0.1");

    EXPECT_NEAR(total(&o, CS_POLICY_OPTCC), 15.5 + 88 * (1 + call_s("optcc", 2)));
    release(&o);
}

Test(whatif, r2ccl_is_run_if_it_is_there)
{
    outcome o = run("{\"rank\": 0, \"slowdown\": 2}", "\"detect\": 0, \"reschedule\": 0");
    const cs_whatif_line *line = line_of(&o, CS_POLICY_R2CCL);
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

Test(whatif, what_is_over_before_it_is_noticed_is_never_answered)
{
    outcome o =
        run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 27.5}", "\"detect\": 15.1");

    EXPECT_NEAR(total(&o, CS_POLICY_ICCL), 127.5);
    EXPECT_NEAR(total(&o, CS_POLICY_OPTCC), 127.5);
    EXPECT_NEAR(total(&o, CS_POLICY_EXCLUDE), 127.5);
    EXPECT_NEAR(total(&o, CS_POLICY_WAIT), 127.5);
    cr_assert_not_null(line_of(&o, CS_POLICY_OPTCC)->note);
    release(&o);
}

Test(whatif, optcc_goes_back_to_the_ring_when_the_repair_is_known)
{
    outcome               o = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 50}",
                                  "\"detect\": 1.5, \"reschedule\": 0");
    const cs_whatif_line *line = line_of(&o, CS_POLICY_OPTCC);
    const cs_piece       *last = &line->pieces[line->n_pieces - 1];

    cr_expect_eq(last->kind, CS_PIECE_HEALTHY);
    cr_expect_geq(last->from_s, 50.5);
    cr_expect_leq(last->from_s, 52.5);
    EXPECT_NEAR(last->until_s - last->from_s, last->iterations * 1.25);
    check_pieces(line, line->total_s, N);
    release(&o);
}

Test(whatif, exclusion_drops_an_iteration_restarts_and_loses_a_share)
{
    outcome o =
        run("{\"rank\": 7, \"slowdown\": 2, \"from\": 12.5}", "\"detect\": 1, \"restart\": 100");
    const cs_whatif_line *line = line_of(&o, CS_POLICY_EXCLUDE);

    /* 90 iterations' worth of samples by 15 of 16 servers: 96 iterations */
    EXPECT_NEAR(line->total_s, 113.5 + 96 * (1 + SMALLER_S));
    cr_assert_eq(line->n_pieces, 4);
    cr_expect_eq(line->pieces[1].kind, CS_PIECE_ABORTED);
    EXPECT_NEAR(line->pieces[1].until_s, 13.5);
    cr_expect_eq(line->pieces[2].kind, CS_PIECE_RESTART);
    EXPECT_NEAR(line->pieces[2].until_s, 113.5);
    cr_expect_eq(line->pieces[3].kind, CS_PIECE_SMALLER);
    cr_expect_eq(line->pieces[3].excluded, 1);
    EXPECT_NEAR(line->pieces[3].iterations, 90);
    EXPECT_NEAR(line->lost_gpu_hours, (line->total_s - 125) * GPU_HOURS);
    check_pieces(line, line->total_s, N);
    release(&o);
}

Test(whatif, faults_of_the_servers_that_are_left_go_on)
{
    /* rank 15 is slow during the first call after the restart, not long enough to be noticed */
    outcome o = run("{\"rank\": 3, \"slowdown\": 2, \"from\": 12.5},"
                    "{\"rank\": 15, \"slowdown\": 2, \"from\": 114, \"until\": 114.9999}",
                    "\"detect\": 1, \"restart\": 100");

    EXPECT_NEAR(total(&o, CS_POLICY_EXCLUDE), 113.5 + (1 + 2 * SMALLER_S) + 95 * (1 + SMALLER_S));
    release(&o);
}

Test(whatif, a_repaired_server_rejoins_if_it_is_asked_for)
{
    /* out at 13.5, back in business at 20; 8 iterations or so later the repair is known */
    outcome               o = run("{\"rank\": 7, \"slowdown\": 2, \"from\": 12.5, \"until\": 30}",
                                  "\"detect\": 1, \"restart\": 6.5, \"rejoin\": 2");
    const cs_whatif_line *line = line_of(&o, CS_POLICY_EXCLUDE);
    /* known at 31: iterations that began before */
    double begun = ceil((31 - 20) / (1 + SMALLER_S)), left = 90 - begun * 15 / 16;
    double whole = ceil(left);

    EXPECT_NEAR(line->total_s, 20 + begun * (1 + SMALLER_S) + 2 + whole * 1.25);
    cr_expect_eq(line->pieces[line->n_pieces - 1].kind, CS_PIECE_HEALTHY);
    check_pieces(line, line->total_s, N);
    release(&o);
}

Test(whatif, the_next_restart_takes_repaired_servers_in)
{
    outcome o = run("{\"rank\": 3, \"slowdown\": 2, \"from\": 12.5, \"until\": 20},"
                    "{\"rank\": 5, \"slowdown\": 2, \"from\": 60}",
                    "\"detect\": 1, \"restart\": 1");

    /* 10 iterations, from 14.5 to 61 another 37 of 15/16 each, 59 more make the rest */
    EXPECT_NEAR(total(&o, CS_POLICY_EXCLUDE), 62 + 59 * (1 + SMALLER_S));
    release(&o);
}

Test(whatif, an_empty_job_restarts_with_the_first_repaired_server)
{
    outcome  o   = {0};
    cs_error err = {0};
    cr_assert_eq(try_job("{" JOB ", \"cluster\": {\"ranks\": 2}, \"faults\": [{\"rank\": 0, "
                         "\"slowdown\": 2, \"until\": 10}, {\"rank\": 1, \"slowdown\": 2, "
                         "\"until\": 20}], \"timers\": {\"detect\": 1, \"restart\": 5}}",
                         &o, &err),
                 CS_OK, "%s", err.message);
    /* known at 11, running from 16 on: half of the samples an iteration, no calls */
    EXPECT_NEAR(total(&o, CS_POLICY_EXCLUDE), 16 + 200);
    release(&o);
}

Test(whatif, waiting_holds_calls_until_the_repair)
{
    outcome o =
        run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 30}", "\"detect\": 1");
    const cs_whatif_line *line = line_of(&o, CS_POLICY_WAIT);

    EXPECT_NEAR(line->total_s, 30.25 + 89 * 1.25);
    EXPECT_NEAR(line->pieces[1].held_s, 16.5);
    check_pieces(line, line->total_s, N);
    release(&o);
}

Test(whatif, flapping_between_calls_costs_nothing_and_inside_them_what_it_takes)
{
    /* 12.5 to 13.5 the job computes; the call of the next iteration begins at 14.75 */
    outcome o = run("{\"rank\": 0, \"slowdown\": 9, \"from\": 12.6, \"until\": 12.7},"
                    "{\"rank\": 0, \"slowdown\": 9, \"from\": 13.1, \"until\": 13.4},"
                    "{\"rank\": 0, \"slowdown\": 2, \"from\": 14.75, \"until\": 14.85},"
                    "{\"rank\": 0, \"slowdown\": 2, \"from\": 14.85, \"until\": 15.25}",
                    "\"detect\": 10");

    EXPECT_NEAR(total(&o, CS_POLICY_ICCL), 125.25);
    EXPECT_NEAR(total(&o, CS_POLICY_WAIT), 125.25);
    release(&o);
}

Test(whatif, every_long_fault_of_a_flapping_port_counts)
{
    outcome o = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 15.5},"
                    "{\"rank\": 0, \"slowdown\": 3, \"from\": 28, \"until\": 31.5},"
                    "{\"rank\": 1, \"slowdown\": 2, \"from\": 28, \"until\": 31.5}",
                    "");

    /* two iterations of 1.5 s, then two of 1.75 s */
    EXPECT_NEAR(total(&o, CS_POLICY_ICCL), 125 + 2 * 0.25 + 2 * 0.5);
    release(&o);
}

Test(whatif, a_fault_after_the_end_changes_nothing)
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

Test(whatif, a_dead_nic_stalls_until_it_is_back)
{
    outcome o = run("{\"rank\": 0, \"slowdown\": null, \"from\": 12.5, \"until\": 30}", "");

    cr_expect(fabs(total(&o, CS_POLICY_ICCL) - (30.25 + 89 * 1.25)) < 1e-6);
    cr_expect(fabs(total(&o, CS_POLICY_OPTCC) - (30.25 + 89 * 1.25)) < 1e-6);
    release(&o);
}

Test(whatif, other_nics_take_over_once_the_dead_one_is_detected)
{
    outcome o =
        run("{\"rank\": 0, \"down\": true, \"slowdown\": 2, \"from\": 12.5}", "\"detect\": 10");

    /* dead until 22.5, then half the rate */
    cr_expect(fabs(total(&o, CS_POLICY_ICCL) - (22.5 + 0.5 + 89 * 1.5)) < 1e-6);
    release(&o);
}

Test(whatif, a_nic_that_is_dead_for_ever_ends_the_job)
{
    outcome               o = run("{\"rank\": 0, \"down\": true, \"from\": 12.5}", "\"detect\": 1");
    const cs_whatif_line *line = line_of(&o, CS_POLICY_ICCL);

    cr_expect(isinf(line->total_s));
    cr_expect(isinf(line->lost_gpu_hours));
    cr_expect_not(line->is_finished);
    EXPECT_NEAR(line->iterations, 10);
    cr_expect_eq(line->pieces[line->n_pieces - 1].kind, CS_PIECE_STUCK);
    cr_expect(isinf(total(&o, CS_POLICY_WAIT)));
    cr_expect(isinf(total(&o, CS_POLICY_OPTCC)));
    EXPECT_NEAR(total(&o, CS_POLICY_EXCLUDE), 613.5 + 96 * (1 + SMALLER_S));
    cr_expect_eq(line_of(&o, CS_POLICY_EXCLUDE)->place, 1);
    cr_expect_gt(line->place, 1);
    release(&o);
}

Test(whatif, a_horizon_ends_the_watching)
{
    outcome  o   = {0};
    cs_error err = {0};
    cr_assert_eq(try_job("{\"job\": {\"iterations\": 100, \"compute\": 1, \"bytes\": 240000000,"
                         "\"horizon\": 50}, " CLUSTER ", \"faults\": [{\"rank\": 0, \"slowdown\": "
                         "2}, {\"rank\": 1, \"down\": true, \"from\": 15}], \"timers\": "
                         "{\"detect\": 1000}}",
                         &o, &err),
                 CS_OK, "%s", err.message);
    const cs_whatif_line *healthy = line_of(&o, CS_POLICY_HEALTHY);
    const cs_whatif_line *iccl    = line_of(&o, CS_POLICY_ICCL);

    EXPECT_NEAR(healthy->iterations, 40);
    EXPECT_NEAR(healthy->total_s, 50);
    cr_expect_not(healthy->is_finished);
    EXPECT_NEAR(iccl->iterations, 10);
    EXPECT_NEAR(iccl->total_s, 50);
    EXPECT_NEAR(iccl->lost_gpu_hours, (50 - 12.5) * GPU_HOURS);
    check_pieces(iccl, 50, 10);
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
        EXPECT_NEAR(total(&o, CS_POLICY_HEALTHY), N * cases[i].healthy_s);
        EXPECT_NEAR(total(&o, CS_POLICY_ICCL), N * cases[i].slow_s);
        release(&o);
    }
}

Test(whatif, places_go_by_what_is_lost)
{
    outcome o =
        run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5, \"until\": 60}", "\"detect\": 1");

    cr_assert_eq(o.report.lines[0].policy, CS_POLICY_HEALTHY);
    cr_assert_eq(o.report.lines[1].policy, CS_POLICY_OPTCC);
    for (size_t i = 2; i < o.report.n_lines && o.report.lines[i].is_available; i++) {
        cr_expect_geq(o.report.lines[i].lost_gpu_hours, o.report.lines[i - 1].lost_gpu_hours);
        cr_expect_geq(o.report.lines[i].place, o.report.lines[i - 1].place);
    }
    cr_assert_eq(line_of(&o, CS_POLICY_EXCLUDE)->place, o.report.lines[5].is_available ? 5 : 4);
    cr_expect_not_null(strstr(line_of(&o, CS_POLICY_EXCLUDE)->reason, "600 s stopped to restart"));
    cr_expect_not_null(strstr(line_of(&o, CS_POLICY_WAIT)->reason, "until the repair"));
    release(&o);
}

Test(whatif, servers_of_several_gpus_fall_out_together)
{
    outcome  o   = {0};
    cs_error err = {0};
    cr_assert_eq(try_job("{" JOB ", \"cluster\": {\"ranks\": 16, \"gpus_per_server\": 8, \"nic\": "
                         "{\"bandwidth\": 1.8e9, \"alpha\": 0}, \"nvlink\": {\"bandwidth\": 1.8e9, "
                         "\"alpha\": 0}}, \"faults\": [{\"rank\": 9, \"slowdown\": 2, \"from\": "
                         "12.5}], \"timers\": {\"detect\": 1, \"restart\": 100}}",
                         &o, &err),
                 CS_OK, "%s", err.message);
    /* 8 ranks: 14 steps of 3e7 bytes; 90 iterations' worth by half of the servers */
    EXPECT_NEAR(total(&o, CS_POLICY_EXCLUDE), 113.5 + 180 * (1 + 14 * 3e7 / 1.8e9));
    release(&o);
}

Test(whatif, the_last_rank_alone_needs_no_calls)
{
    outcome  o   = {0};
    cs_error err = {0};
    cr_assert_eq(try_job("{" JOB ", \"cluster\": {\"ranks\": 2, \"nic\": {\"bandwidth\": 9.6e8, "
                         "\"alpha\": 0}}, \"faults\": [{\"rank\": 1, \"slowdown\": 2, \"from\": "
                         "12.5}], \"timers\": {\"detect\": 1, \"restart\": 100}}",
                         &o, &err),
                 CS_OK, "%s", err.message);
    EXPECT_NEAR(total(&o, CS_POLICY_EXCLUDE), 113.5 + 180);
    release(&o);
}

Test(whatif, all_servers_excluded_is_the_end)
{
    outcome  o   = {0};
    cs_error err = {0};
    cr_assert_eq(try_job("{" JOB ", \"cluster\": {\"ranks\": 2}, \"faults\": [{\"rank\": 0, "
                         "\"slowdown\": 2}, {\"rank\": 1, \"slowdown\": 2}], \"timers\": "
                         "{\"detect\": 0}}",
                         &o, &err),
                 CS_OK, "%s", err.message);
    cr_expect(isinf(total(&o, CS_POLICY_EXCLUDE)));
    cr_expect_eq(line_of(&o, CS_POLICY_EXCLUDE)->iterations, 0);
    release(&o);
}

/* Faults at random, none of which overlap. */
static void random_faults(uint64_t seed, char *faults, size_t bytes)
{
    size_t length = 0;

    faults[0] = '\0';
    for (unsigned rank = 0; rank < 3; rank++) {
        double at_s = 0;
        for (unsigned i = 0; i < 6; i++) {
            uint64_t word = cs_mix64(seed * 64 + rank * 8 + i);
            double   from = at_s + (double)(word % 997) / 50,
                   until  = from + 0.01 + (double)(word >> 40) / 1e6;
            length += (size_t)snprintf(faults + length, bytes - length,
                                       "%s{\"rank\": %u, \"slowdown\": %g, \"from\": %.17g, "
                                       "\"until\": %.17g%s}",
                                       length > 0 ? "," : "", rank * 5,
                                       1 + (double)(word >> 20 & 63) / 16, from, until,
                                       word >> 30 & 1 ? ", \"down\": true" : "");
            at_s = until;
        }
    }
}

Test(whatif, nothing_is_lost_on_random_timelines)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        char faults[1900], timers[100];
        random_faults(seed, faults, sizeof faults);
        snprintf(timers, sizeof timers, "\"detect\": %g, \"restart\": %g, \"rejoin\": %s",
                 (double)(seed % 5) / 2, (double)(seed % 7), seed % 2 == 0 ? "null" : "3");
        outcome o = run(faults, timers);
        for (size_t i = 0; i < o.report.n_lines; i++) {
            const cs_whatif_line *line = &o.report.lines[i];
            if (line->is_available) {
                cr_assert(line->is_finished);
                check_pieces(line, line->total_s, N);
                cr_assert_geq(line->lost_gpu_hours, 0);
            }
        }
        release(&o);
    }
}

Test(whatif, reports_are_the_same_every_time)
{
    char faults[1900];
    random_faults(7, faults, sizeof faults);
    outcome a = run(faults, ""), b = run(faults, "");
    cs_text left = {0}, right = {0};

    cs_whatif_json(&a.job, &a.report, &left);
    cs_whatif_json(&b.job, &b.report, &right);
    cr_assert_str_eq(left.data, right.data);
    cs_text_free(&left);
    cs_text_free(&right);
    cs_whatif_csv(&a.report, &left);
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
    EXPECT_NEAR(total(&o, CS_POLICY_ICCL), 1250 + (1e7 - 1000) * 1.5);
    cr_assert_lt(o.report.replays, 20);
    release(&o);
}

Test(whatif, nccl_timers)
{
    outcome a = run("", "\"preset\": \"nccl\"");
    outcome b = run("", "\"preset\": \"nccl\", \"ib_timeout\": 14, \"ib_retry_count\": 5");
    outcome c = run("", "\"preset\": \"nccl\", \"detect\": \"2s\"");

    EXPECT_NEAR(a.job.timers.detect_s, 7 * 4.096e-6 * 1048576);
    EXPECT_NEAR(b.job.timers.detect_s, 5 * 4.096e-6 * 16384);
    cr_assert_eq(c.job.timers.detect_s, 2);
    release(&a);
    release(&b);
    release(&c);
}

Test(whatif, tolerance_takes_a_noisy_rate_for_one_state)
{
    const char *noisy  = "{\"rank\": 0, \"slowdown\": 2, \"from\": 0, \"until\": 5},"
                         "{\"rank\": 0, \"slowdown\": 2.1, \"from\": 5, \"until\": 10},"
                         "{\"rank\": 0, \"slowdown\": 2, \"from\": 10}";
    outcome     strict = run(noisy, "\"detect\": 8"),
            lax        = run(noisy, "\"detect\": 8, \"tolerance\": 0.1");

    /* known from 18 on, or from 8 on */
    double known_s = call_s("optcc", 2), strict_s = 0, lax_s = 0;
    cr_assert_lt(known_s, 0.4);
    for (size_t i = 0; i < line_of(&strict, CS_POLICY_OPTCC)->n_pieces; i++) {
        const cs_piece *piece = &line_of(&strict, CS_POLICY_OPTCC)->pieces[i];
        strict_s = piece->kind == CS_PIECE_ADAPTED && strict_s == 0 ? piece->from_s : strict_s;
    }
    for (size_t i = 0; i < line_of(&lax, CS_POLICY_OPTCC)->n_pieces; i++) {
        const cs_piece *piece = &line_of(&lax, CS_POLICY_OPTCC)->pieces[i];
        lax_s = piece->kind == CS_PIECE_ADAPTED && lax_s == 0 ? piece->from_s : lax_s;
    }
    cr_expect(strict_s > 17 && strict_s < 19.5, "%g", strict_s);
    cr_expect(lax_s > 7 && lax_s < 9.5, "%g", lax_s);
    release(&strict);
    release(&lax);
}

Test(whatif, bad_input_is_located)
{
    static const struct {
        const char *json, *error;
    } cases[] = {
        {"{" CLUSTER "}", ":1:1: the key 'job' is missing"},
        {"{\"job\": {\"iterations\": 1, \"bytes\": 1}}", ":1:9: job: the key 'compute' is missing"},
        {"{\"job\": {\"iterations\": 0, \"compute\": 1, \"bytes\": 1}}", ":1:24: job.iterations: "},
        {"{\"job\": {\"iterations\": 1, \"compute\": 1, \"bytes\": 0}}", ":1:50: job.bytes: "},
        {"{" JOB ",\n\"faults\": [{\"rank\": 8, \"slowdown\": 2}]}", ":2:21: faults[0].rank: "},
        {"{" JOB ",\n\"faults\": [{\"rank\": 0}]}", ":2:12: faults[0]: the key 'slowdown'"},
        {"{" JOB ",\n\"faults\": [{\"rank\": 0, \"slowdown\": 0.5}]}",
         ":2:36: faults[0].slowdown: 0.5 is outside"},
        {"{" JOB ",\n\"faults\": [{\"rank\": 0, \"slowdown\": null, \"down\": false}]}",
         ":2:50: faults[0].down: "},
        {"{" JOB ",\n\"faults\": [{\"rank\": 0, \"slowdown\": 2, \"from\": 5},\n"
         "{\"rank\": 0, \"slowdown\": 3, \"from\": 1, \"until\": 6}]}",
         ":2:12: faults[0]: overlaps another fault of server 0"},
        {"{" JOB ",\n\"faults\": [{\"rank\": 0, \"slowdown\": 2, \"from\": 5, \"until\": 5}]}",
         ":2:59: faults[0].until: 5 s is not after"},
        {"{" JOB ",\n\"policies\": [\"iccl\", \"pray\"]}",
         ":2:22: policies[1]: unknown policy 'pray': accepted are healthy, iccl, "},
        {"{" JOB ",\n\"policies\": []}", ":2:13: policies: names no policy"},
        {"{" JOB ",\n\"timers\": {\"preset\": \"ucx\"}}", ":2:22: timers.preset: unknown word"},
        {"{" JOB ",\n\"timers\": {\"ib_timeout\": 20}}", ":2:26: timers.ib_timeout: belongs to"},
        {"{" JOB ",\n\"timers\": {\"detect\": -1}}", ":2:22: timers.detect: "},
        {"{" JOB ",\n\"timer\": {}}", ":2:1: timer: unknown key"},
        {"{" JOB ",\n\"sweep\": {\"job.calls\": [1, 2]}}", ": sweep: a what-if takes one job"},
        {"{" JOB ",\n\"bandwidth_trace\": {\"rank\": 0, \"file\": \"/nonexistent/t\"}}",
         "/nonexistent/t: cannot be opened"},
        {"{" JOB ",\n\"model\": \"guess\"}", ":2:10: model: "},
        {"{" JOB ",\n\"model\": {\"name\": \"guess\"}}", ":2:19: model.name: "},
        {"{" JOB ",\n\"model\": {\"options\": {\"no_such\": 1}}}",
         ":2:34: model.options.no_such: "},
        {"{" JOB ",\n\"cluster\": {\"ranks\": 6, \"gpus_per_server\": 4}}",
         ":2:44: cluster.gpus_per_server: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome  o   = {0};
        cs_error err = {0};
        char     text[800];
        cr_assert_neq(try_job(cases[i].json, &o, &err), CS_OK, "case %zu", i);
        cs_error_text(&err, text, sizeof text);
        cr_expect_not_null(strstr(text, cases[i].error), "case %zu: %s", i, text);
    }
}

Test(whatif, a_trace_is_read_beside_its_configuration)
{
    char     folder[] = "/tmp/collsim-test-whatif-XXXXXX", path[100], json[1000];
    outcome  o        = {0};
    cs_error err      = {0};
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs("0 3\n12.5 0.9\n27.5 1.8\n", file);
    fclose(file);
    snprintf(json, sizeof json,
             "{" JOB ", " CLUSTER ", \"bandwidth_trace\": {\"rank\": 0, \"file\": \"%s\", "
             "\"scale\": 1e9}}",
             path);
    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s", err.message);
    EXPECT_NEAR(total(&o, CS_POLICY_ICCL), 127.5); /* as with a fault from 12.5 to 27.5 */
    release(&o);
    file = fopen(path, "w");
    fputs("0 3\n12.5 zero\n", file);
    fclose(file);
    cr_assert_eq(try_job(json, &o, &err), CS_EINVAL);
    cr_assert_eq(err.input_line, 2);
    cr_assert_eq(err.input_column, 6);
    cr_assert_not_null(strstr(err.input, "/trace"));
    unlink(path);
    rmdir(folder);
}

Test(whatif, memory_that_runs_out_is_an_error)
{
    outcome   o      = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.6, \"until\": 40}", "");
    cs_status status = CS_ENOMEM;
    cs_whatif_free(&o.report);
    for (long passes = 0; status == CS_ENOMEM; passes += 1 + passes / 16) {
        cs_whatif_report report = {0};
        cs_error         err    = {0};
        cs_alloc_fail_after(passes);
        status = cs_whatif_run(&o.job, &report, &err);
        cs_alloc_fail_after(-1);
        cs_whatif_free(&report);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
        cr_assert_lt(passes, 100000);
    }
    cr_assert_eq(status, CS_OK);
    release(&o);
}
