/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training under change: rates of all servers over time, profiles, GPUs that are slowed, a worker
 * that dies. Times are worked out by hand, or added up iteration by iteration. */
#include "campaign/montecarlo.h"
#include "study/profile.h"
#include "support/folder.h"
#include "whatif/interference.h"
#include "whatif/knowledge.h"
#include "whatif_setup.h"

#define SLOW_FROM_12_5 "\"faults\": [{\"rank\": 0, \"slowdown\": 2, \"from\": 12.5}]"
#define RINGS          "\"algorithm\": \"ring\", \"policies\": [\"ring\"]"

/* The standard job with more keys. */
static outcome run_with(const char *keys)
{
    char     json[5000];
    outcome  o   = {0};
    cs_error err = {0};

    snprintf(json, sizeof json, "{" JOB ", " CLUSTER ", %s}", keys);
    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s: %s: %s", json, err.where, err.message);
    return o;
}

/* ---- constant rates ---- */

/* What `collsim montecarlo` says of an iteration of the same job. */
static double training_s(void)
{
    cs_config            *config = ct_config_of("{\"training\": {\"compute\": \"1s\", \"buckets\": "
                                                           "[240000000]}, \"algorithm\": \"ring\", " CLUSTER "}");
    cs_montecarlo_options options = {.iterations = 1, .confidence = 0.95};
    cs_montecarlo_report  report  = {0};
    cs_error              err     = {0};

    cr_assert_eq(cs_montecarlo_run(config, &options, &report, &err), CS_OK, "%s", err.message);
    double elapsed_s = report.rows[0].elapsed_s.mean.value;
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
    return elapsed_s;
}

Test(whatif_change, at_constant_rates_it_is_training)
{
    outcome o = run_with(RINGS ", \"profile\": {}");

    EXPECT_NEAR(total(&o, "ring"), N * training_s());
    EXPECT_NEAR(total(&o, "ring"), 125);
    cr_expect_eq(line_of(&o, "ring")->n_profiles, 0);
    check_intervals(line_of(&o, "ring"), 125, N);
    release(&o);
}

Test(whatif_change, the_default_policies_are_compared_with_the_first)
{
    outcome o = run_with("\"profile\": {\"period\": 40, \"duration\": 2}, " SLOW_FROM_12_5);

    cr_assert_eq(o.report.n_lines, 5);
    cr_assert_str_eq(o.report.baseline, "nccl_rings");
    cr_expect_eq(line_of(&o, "nccl_rings")->speedup, 1);
    cr_expect(isnan(line_of(&o, "healthy")->speedup));
    EXPECT_NEAR(line_of(&o, "optcc")->speedup, total(&o, "nccl_rings") / total(&o, "optcc"));
    cr_expect_gt(line_of(&o, "optcc")->speedup, 1);
    cr_expect_eq(line_of(&o, "nccl_rings")->n_profiles, 0);
    cr_expect_eq(line_of(&o, "stragglar")->n_profiles, 0);
    cr_expect_eq(line_of(&o, "optcc")->n_profiles, 2);
    cr_expect_eq(line_of(&o, "adapcc")->n_profiles, 2);
    for (size_t i = 0; i < o.report.n_lines; i++) {
        check_intervals(&o.report.lines[i], o.report.lines[i].total_s, N);
    }
    release(&o);
}

/* ---- profiles ---- */

Test(whatif_change, a_policy_knows_the_rates_of_its_last_profile)
{
    /* 10 iterations of 1.25 s, 20 with the old schedule on the slow NIC, which takes as long as the
     * ring; then the profile and another schedule; two profiles later nothing is new */
    outcome o =
        run_with(SLOW_FROM_12_5 ", \"algorithm\": \"ring\", \"policies\": [\"optcc\"], "
                                "\"profile\": {\"period\": 30, \"duration\": 2, \"rebuild\": 3}");
    const cs_whatif_line *line = line_of(&o, "optcc");
    double                s = call_s("optcc", 2), at_s[] = {12.5, 42.5, 44.5, 47.5};
    cs_job_interval_kind  kinds[] = {CS_INTERVAL_ADAPTED, CS_INTERVAL_ADAPTED, CS_INTERVAL_PROFILE,
                                     CS_INTERVAL_REBUILD};

    cr_assert_lt(s, 0.45);
    for (size_t i = 0; i < 4; i++) {
        EXPECT_NEAR(line->intervals[i].until_s, at_s[i]);
        cr_expect_eq(line->intervals[i].kind, kinds[i]);
    }
    EXPECT_NEAR(line->total_s, 47.5 + 70 * (1 + s) + 2 * 2);
    cr_expect_eq(line->n_profiles, 3);
    cr_expect_eq(line->n_rebuilds, 1);
    check_intervals(line, line->total_s, N);
    release(&o);
}

Test(whatif_change, a_period_longer_than_the_run_never_adapts)
{
    static const char *const periods[] = {"0", "100", "1e6"};

    for (size_t i = 0; i < 3; i++) {
        char keys[400];
        snprintf(keys, sizeof keys,
                 SLOW_FROM_12_5 ", \"algorithm\": \"ring\", \"policies\": [\"optcc\"], "
                                "\"profile\": {\"period\": %s}",
                 periods[i]);
        outcome o = run_with(keys);
        EXPECT_NEAR(total(&o, "optcc"), 12.5 + 90 * 1.5);
        cr_expect_eq(line_of(&o, "optcc")->n_profiles, 0);
        release(&o);
    }
}

Test(whatif_change, who_profiles_can_be_said)
{
    outcome o = run_with(
        SLOW_FROM_12_5 ", \"algorithm\": \"ring\", \"profile\": {\"period\": 30, \"duration\": 2}, "
                       "\"policies\": [\"ring\", {\"algorithm\": \"ring\", \"label\": \"asks\", "
                       "\"profile\": \"yes\"}, {\"algorithm\": {\"name\": \"optcc\"}, "
                       "\"profile\": \"no\"}]");

    EXPECT_NEAR(total(&o, "ring"), 147.5);
    EXPECT_NEAR(total(&o, "asks"), 147.5 + 3 * 2); /* and its schedule stays */
    cr_expect_eq(line_of(&o, "asks")->n_rebuilds, 0);
    EXPECT_NEAR(total(&o, "optcc"), 147.5);
    cr_expect_eq(line_of(&o, "optcc")->n_profiles, 0);
    release(&o);
}

/* OptCC refuses where fewer than two servers have all their rate: relative to the second fastest
 * one there are two. */
Test(whatif_change, rates_may_be_taken_relative_to_the_second_fastest)
{
    char   keys[3000];
    size_t length = (size_t)snprintf(keys, sizeof keys,
                                     "\"algorithm\": \"ring\", \"profile\": {\"duration\": 0}, "
                                     "\"policies\": [\"optcc\"], \"faults\": [");
    for (int rank = 0; rank < 16; rank++) {
        length += (size_t)snprintf(keys + length, sizeof keys - length,
                                   "%s{\"rank\": %d, \"slowdown\": %d}", rank > 0 ? "," : "", rank,
                                   rank == 3 ? 4 : 2);
    }
    snprintf(keys + length, sizeof keys - length, "]");
    outcome o = run_with(keys);
    EXPECT_NEAR(total(&o, "optcc"), N * (1 + 2 * call_s("optcc", 2))); /* all at half the rates */
    cr_expect_null(line_of(&o, "optcc")->note);
    release(&o);
}

Test(whatif_change, where_an_algorithm_refuses_the_jobs_schedule_runs)
{
    static const char json[] =
        "{" JOB ", \"cluster\": {\"ranks\": 16, \"gpus_per_server\": 4, \"nic\": {\"bandwidth\": "
        "1.8e9, \"alpha\": 0}}, \"faults\": [{\"rank\": 0, \"slowdown\": 2, \"from\": 20}], "
        "\"profile\": {\"period\": 30, \"duration\": 2, \"rebuild\": 3}, \"policies\": "
        "[\"nccl_rings\", {\"algorithm\": {\"name\": \"r2ccl\", \"options\": {\"around\": 2}}, "
        "\"profile\": \"yes\"}]}";
    outcome  o   = {0};
    cs_error err = {0};

    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s", err.message);
    const cs_whatif_line *line = line_of(&o, "r2ccl");
    cr_assert_not_null(line->note);
    cr_expect_not_null(strstr(line->note, "r2ccl could not run everywhere"));
    cr_expect_not_null(strstr(line->note, "there nccl_rings ran"));
    cr_expect_gt(line->n_profiles, 0);
    cr_expect_eq(line->intervals[line->n_intervals - 1].kind, CS_INTERVAL_DEGRADED);
    check_intervals(line, line->total_s, N);
    release(&o);
}

/* The standard job with a hundredth of its bytes. */
#define SMALL_JOB "\"job\": {\"iterations\": 100, \"compute\": \"1s\", \"bytes\": 2400000}"

/* How long a policy first stands still for a profile after a time. */
static double profile_s(const outcome *o, const char *policy, double after_s)
{
    const cs_whatif_line *line = line_of(o, policy);
    size_t                i    = 0;

    while (i < line->n_intervals && (line->intervals[i].kind != CS_INTERVAL_PROFILE ||
                                     line->intervals[i].from_s < after_s)) {
        i++;
    }
    cr_assert_lt(i, line->n_intervals, "%s: no profile after %g s", policy, after_s);
    return line->intervals[i].until_s - line->intervals[i].from_s;
}

static outcome run_probes(const char *cluster, const char *keys)
{
    char     json[1500];
    outcome  o   = {0};
    cs_error err = {0};

    (void)snprintf(json, sizeof json,
                   "{" SMALL_JOB
                   ", \"algorithm\": \"ring\", \"policies\": [{\"algorithm\": \"ring\", "
                   "\"profile\": \"yes\"}], \"cluster\": %s, \"profile\": {\"period\": 10, "
                   "\"barrier\": \"1ms\", \"rebuild\": 0}, %s}",
                   cluster, keys);
    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s: %s", err.where, err.message);
    return o;
}

/* By hand: 3 sizes x (3 + 5 + 9) messages, 2 x (2 + 4 + 8) x 5.256 MB. Four servers, one of them at
 * half its rate; then, without a server whose worker has died, three. */
Test(whatif_change, probes_take_what_their_messages_take)
{
    double  nvlink_s = 51 * 5e-6 + 147.168e6 / 100e9, net_s = 51 * 20e-6 + 147.168e6 / 6.25e9;
    outcome o = run_probes("{\"ranks\": 8, \"gpus_per_server\": 2, \"nvlink\": {\"bandwidth\": "
                           "100e9, \"alpha\": 5e-6}, \"nic\": {\"bandwidth\": 12.5e9, \"alpha\": "
                           "2e-5}}",
                           "\"faults\": [{\"rank\": 0, \"slowdown\": 2}], \"death\": {\"rank\": 7, "
                           "\"at\": 50}");

    EXPECT_NEAR(profile_s(&o, "ring", 0), 2 * nvlink_s + 3 * (net_s + 1e-3));
    EXPECT_NEAR(profile_s(&o, "ring", 130), 2 * nvlink_s + 2 * (net_s + 1e-3));
    release(&o);
}

/* One mechanism: a profile of a job takes what `collsim profile` says, on every model. */
Test(whatif_change, probes_take_what_a_profile_takes)
{
    static const char *const models[]   = {"alpha-beta", "loggp", "flow", "packet"};
    static const char *const clusters[] = {
        "{\"ranks\": 6, \"nic\": {\"bandwidth\": 12.5e9, \"alpha\": 2e-5}}",
        "{\"nvlink\": {\"bandwidth\": 100e9, \"alpha\": 5e-6, \"kind\": \"direct\"}, \"nic\": "
        "{\"bandwidth\": 12.5e9, \"alpha\": 2e-5}, \"servers\": [{\"gpus\": 4}, {\"gpus\": 2, "
        "\"nic\": {\"bandwidth\": 6.25e9}, \"nvlink\": {\"bandwidth\": 50e9}}, {\"gpus\": 1}]}",
        "{\"topology\": {\"preset\": \"adapcc-a100\", \"servers\": 3}}",
        "{\"topology\": {\"preset\": \"adapcc\", \"servers\": 6}}",
    };
    for (size_t i = 0; i < 4 * sizeof clusters / sizeof clusters[0]; i++) {
        const char        *cluster = clusters[i / 4];
        char               json[1000], keys[200];
        double             found_s = 0;
        cs_error           err     = {0};
        cs_profile_options options = cs_profile_defaults();
        (void)snprintf(json, sizeof json,
                       "{\"bytes\": 1024, \"algorithm\": \"ring\", \"model\": \"%s\", "
                       "\"cluster\": %s, \"faults\": [{\"rank\": 0, \"slowdown\": 2}]}",
                       models[i % 4], cluster);
        cs_config *config = ct_config_of(json);
        cs_case    c      = ct_case(config, 0);
        options.barrier_s = 1e-3;
        cr_assert_eq(cs_profile_time(&c.job, &options, &found_s, &err), CS_OK, "%s", err.message);
        (void)snprintf(keys, sizeof keys,
                       "\"model\": \"%s\", \"faults\": [{\"rank\": 0, \"slowdown\": 2}]",
                       models[i % 4]);
        outcome o = run_probes(cluster, keys);
        EXPECT_NEAR(profile_s(&o, "ring", 0), found_s);
        release(&o);
        cs_case_free(&c);
        cs_config_free(config);
    }
}

Test(whatif_change, probes_that_are_too_many_are_said)
{
    static const char json[] =
        "{" JOB ", \"algorithm\": \"rhd\", \"policies\": [{\"algorithm\": \"rhd\", \"profile\": "
        "\"yes\"}], \"cluster\": {\"ranks\": 2100}, \"profile\": {\"period\": 10}}";

    expect_refused(json, "profile.duration: is not known: 2100 servers");
}

/* ---- servers with different numbers of GPUs ---- */

/* The standard job's times with a hundredth of bytes and rate, on 16 ranks; without the first
 * server, 12: 22 steps of 2e5 bytes. */
#define MIXED                                                                                   \
    "\"cluster\": {\"nic\": {\"bandwidth\": 1.8e7, \"alpha\": 0}, \"nvlink\": {\"alpha\": 0}, " \
    "\"servers\": [{\"count\": 2, \"gpus\": 4}, {\"count\": 2, \"gpus\": 2}, {\"count\": 4, "   \
    "\"gpus\": 1}]}"
#define WITHOUT_FOUR_S (22 * 2e5 / 1.8e7)

static outcome run_mixed(const char *keys)
{
    char     json[3000];
    outcome  o   = {0};
    cs_error err = {0};

    (void)snprintf(json, sizeof json, "{" SMALL_JOB ", " MIXED ", %s}", keys);
    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s: %s: %s", json, err.where, err.message);
    return o;
}

Test(whatif_change, a_larger_server_takes_more_work_with_it)
{
    outcome o = run_mixed("\"algorithm\": \"ring\", \"policies\": [\"exclude\"], \"faults\": "
                          "[{\"rank\": 5, \"down\": true, \"slowdown\": 2, \"from\": 12.5}]");

    EXPECT_NEAR(total(&o, "healthy"), 125);
    EXPECT_NEAR(total(&o, "exclude"), 12.6 + 600 + 90 / .75 * (1 + WITHOUT_FOUR_S));
    check_intervals(line_of(&o, "exclude"), total(&o, "exclude"), N);
    release(&o);
}

Test(whatif_change, those_who_are_left_do_the_work_of_a_server)
{
    outcome o =
        run_mixed("\"algorithm\": \"ring\", \"policies\": [\"iccl\"], \"death\": {\"rank\": "
                  "2, \"at\": 50.6, \"checkpoint\": 25}");

    /* as in sim/doc/change.md, but that 12 of 16 are left */
    EXPECT_NEAR(total(&o, "iccl"), 126 + 75 * (16 / 12.0 + WITHOUT_FOUR_S));
    release(&o);
    o = run_mixed("\"algorithm\": \"ring\", \"policies\": [{\"algorithm\": \"ring\", \"recovery\": "
                  "\"exclude\"}], \"profile\": {\"rebuild\": 3}, \"death\": {\"rank\": 2, \"at\": "
                  "50.6}");
    /* the iteration is done by 12 of 16, and a deadline is six times as long as its call */
    const cs_whatif_line *line = line_of(&o, "ring");
    EXPECT_NEAR(line->death.redone, 4 / 16.0);
    EXPECT_NEAR(line->death.hung_s, 5 * WITHOUT_FOUR_S);
    EXPECT_NEAR(line->total_s,
                51 + 6 * WITHOUT_FOUR_S + 3 + ceil(59.25) * (16 / 12.0 + WITHOUT_FOUR_S));
    release(&o);
}

/* Behind a death AdapCC's trees are those of the ranks that are left: an iteration takes what a run
 * on their cluster does, with rates as the profile saw them. */
Test(whatif_change, trees_are_made_anew_for_those_who_are_left)
{
    static const char *const left[] = {
        "[{\"count\": 1, \"gpus\": 4}, {\"count\": 2, \"gpus\": 2}, {\"count\": 4, \"gpus\": 1}]",
        "[{\"count\": 2, \"gpus\": 4}, {\"count\": 1, \"gpus\": 2}, {\"count\": 4, \"gpus\": 1}]",
        "[{\"count\": 2, \"gpus\": 4}, {\"count\": 2, \"gpus\": 2}, {\"count\": 3, \"gpus\": 1}]",
        "[{\"gpus\": 3}, {\"gpus\": 4}, {\"count\": 2, \"gpus\": 2}, {\"count\": 4, \"gpus\": 1}]",
    };
    static const uint32_t dead[] = {1, 9, 14, 1}, slow[] = {0, 4, 4, 3};
    static const double   n_left[] = {12, 14, 15, 15};

    for (size_t i = 0; i < 4; i++) {
        char json[1200], keys[800];
        (void)snprintf(
            keys, sizeof keys,
            "\"policies\": [\"adapcc\"], \"profile\": {\"period\": 1000, \"rebuild\": 3}, "
            "\"faults\": [{\"rank\": 4, \"slowdown\": 2}], \"death\": {\"rank\": %u, \"at\": "
            "50, \"takes\": \"%s\"}",
            dead[i], i < 3 ? "server" : "worker");
        outcome                o    = run_mixed(keys);
        const cs_whatif_line  *line = line_of(&o, "adapcc");
        const cs_job_interval *last = &line->intervals[line->n_intervals - 1];
        (void)snprintf(
            json, sizeof json,
            "{\"bytes\": 2400000, \"algorithm\": \"adapcc\", \"cluster\": {\"nic\": "
            "{\"bandwidth\": 1.8e7, \"alpha\": 0}, \"nvlink\": {\"alpha\": 0}, \"servers\": "
            "%s}, \"faults\": [{\"rank\": %u, \"slowdown\": 2}]}",
            left[i], slow[i]);
        cs_config *config = ct_config_of(json);
        cs_case    c      = ct_case(config, 0);
        cs_result  result;
        cr_assert_eq(cs_job_run(&c.job, NULL, 0, &result, NULL), CS_OK);
        cr_expect_eq(line->n_rebuilds, 1);
        cr_expect_eq(last->kind, CS_INTERVAL_ADAPTED);
        EXPECT_NEAR((last->until_s - last->from_s) /
                        (last->iterations > 0 ? ceil(last->iterations) : 1),
                    16 / n_left[i] + result.elapsed_s);
        cs_case_free(&c);
        cs_config_free(config);
        release(&o);
    }
}

/* The same 16 ranks; a worker leaves alone, and 15 go on: 28 steps of 1.6e5 bytes. */
Test(whatif_change, a_worker_leaves_alone)
{
    const double without_one_s = 28 * 1.6e5 / 1.8e7, one_of_15_s = 16 / 15.0 + without_one_s;
    outcome      o =
        run_mixed("\"algorithm\": \"ring\", \"policies\": [\"iccl\"], \"death\": {\"rank\": "
                  "2, \"at\": 50.6, \"checkpoint\": 25, \"takes\": \"worker\"}");

    EXPECT_NEAR(total(&o, "iccl"), 126 + 75 * one_of_15_s);
    cr_expect_not_null(strstr(line_of(&o, "iccl")->reason, "without rank 2"));
    release(&o);
    o = run_mixed("\"algorithm\": \"ring\", \"policies\": [{\"algorithm\": \"ring\", \"recovery\": "
                  "\"exclude\"}], \"profile\": {\"rebuild\": 3}, \"death\": {\"rank\": 2, \"at\": "
                  "50.6, \"takes\": \"worker\"}");
    const cs_whatif_line *line = line_of(&o, "ring");
    EXPECT_NEAR(line->death.redone, 1 / 16.0);
    EXPECT_NEAR(line->total_s, 51 + 6 * without_one_s + 3 + ceil(59.0625) * one_of_15_s);
    check_intervals(line, line->total_s, N);
    release(&o);
    /* alone in its server, that leaves with it */
    static const char *const takes[] = {"server", "worker"};
    double                   total_s[2];
    for (size_t i = 0; i < 2; i++) {
        char keys[300];
        (void)snprintf(
            keys, sizeof keys,
            "\"policies\": [\"adapcc\"], \"profile\": {}, \"death\": {\"rank\": 12, \"at\": "
            "50, \"takes\": \"%s\"}",
            takes[i]);
        o          = run_mixed(keys);
        total_s[i] = total(&o, "adapcc");
        release(&o);
    }
    cr_expect_eq(total_s[0], total_s[1]);
}

/* Its server has a slow NIC, is excluded for that, dies in the meantime, and comes back without
 * it. */
Test(whatif_change, a_server_comes_back_without_its_worker)
{
    outcome o = run_mixed(
        "\"algorithm\": \"ring\", \"policies\": [\"exclude\"], \"timers\": {\"rejoin\": \"10s\"}, "
        "\"faults\": [{\"rank\": 5, \"down\": true, \"slowdown\": 2, \"from\": 12.5, \"until\": "
        "720}], "
        "\"death\": {\"rank\": 5, \"at\": 700, \"takes\": \"worker\"}");
    const cs_whatif_line *line = line_of(&o, "exclude");

    /* 12 ranks of 16 from 612.6 s on; then 12 of 15 share the work of all; from the iteration on
     * that begins once the repair is known, 15 of 15 */
    double at_s = 612.6, left = 90;
    while (at_s < 720.1) {
        bool is_dead = at_s + 1 > 700;
        at_s += (is_dead ? 16 / 15.0 : 1) + WITHOUT_FOUR_S;
        left -= is_dead ? 12 / 15.0 : 12 / 16.0;
    }
    cr_assert_gt(left, 1);
    EXPECT_NEAR(line->total_s, at_s + 10 + ceil(left) * (16 / 15.0 + 28 * 1.6e5 / 1.8e7));
    check_intervals(line, line->total_s, N);
    release(&o);
}

Test(whatif_change, who_can_leave_is_said)
{
    expect_refused("{" SMALL_JOB
                   ", \"cluster\": {\"ranks\": 8, \"gpus_per_server\": 4, \"sockets\": 2}, "
                   "\"death\": {\"rank\": 1, \"at\": 5, \"takes\": \"worker\"}}",
                   "death.takes: worker: leaves a server with fewer GPUs");
    expect_refused("{" SMALL_JOB ", \"model\": \"flow\", \"cluster\": {\"topology\": \"adapcc\"}, "
                   "\"death\": {\"rank\": 1, \"at\": 5}, \"policies\": [\"nccl_rings\"]}",
                   "cluster.topology: is made for all servers, and one has left");
    expect_refused(
        "{" SMALL_JOB ", \"model\": \"flow\", \"cluster\": {\"topology\": \"adapcc\"}, "
        "\"death\": {\"rank\": 1, \"at\": 5}, \"profile\": {\"period\": 5}, \"policies\": "
        "[\"adapcc\"]}",
        "cluster.topology: is made for all servers, and one has left");
    expect_refused("{" SMALL_JOB
                   ", \"cluster\": {\"ranks\": 8, \"gpus_per_server\": 8}, \"death\": "
                   "{\"rank\": 1, \"at\": 5}}",
                   "the only server dies");
}

Test(whatif_change, a_reason_leaves_out_what_is_no_slower)
{
    outcome o =
        run_with("\"algorithm\": \"ring\", \"profile\": {}, \"policies\": [\"ring\", "
                 "\"iccl\"], \"faults\": [{\"rank\": 0, \"slowdown\": null, \"from\": 12.5, "
                 "\"down\": true}]");

    cr_expect_str_eq(line_of(&o, "ring")->reason, "never ends: stuck from 12.5 s on");
    cr_expect_str_eq(line_of(&o, "iccl")->reason, "never ends: stuck from 12.5 s on");
    release(&o);
    o = run_with(RINGS ", \"profile\": {}");
    cr_expect_str_eq(line_of(&o, "ring")->reason, "loses nothing");
    release(&o);
}

Test(whatif_change, interference_counts_the_gpus_of_each_server)
{
    const cs_interference f      = {.every_s = 300, .gpus = 3, .level_ratio = 1};
    const uint32_t        gpus[] = {4, 1, 2};
    uint32_t              first[4], server_of[7], most[3] = {0}, least[3] = {9, 9, 9};
    cs_uneven             uneven  = {.first = first, .server_of = server_of};
    cs_cluster            cluster = {0};
    bool                  is_slowed[8];

    cs_cluster_set_gpus(&cluster, gpus, 3, &uneven);
    for (uint64_t turn = 0; turn < 200; turn++) {
        is_slowed[7] = true;
        cr_assert_eq(cs_interference_draw(&f, &cluster, 7, turn, is_slowed, NULL), CS_OK);
        cr_assert(is_slowed[7], "wrote behind the ranks");
        for (uint32_t s = 0; s < 3; s++) {
            uint32_t n = 0;
            for (uint32_t i = first[s]; i < first[s + 1]; i++) {
                n += is_slowed[i];
            }
            most[s]  = n > most[s] ? n : most[s];
            least[s] = n < least[s] ? n : least[s];
        }
    }
    for (uint32_t s = 0; s < 3; s++) {
        cr_expect_eq(most[s], gpus[s] < 3 ? gpus[s] : 3);
        cr_expect_eq(least[s], 0);
    }
}

/* All policies on a port model and a network; every call is checked while it is replayed, and none
 * is faster than the best without a fault. */
Test(whatif_change, mixed_servers_meet_everything)
{
    static const char *const models[] = {"alpha-beta", "flow"};

    for (size_t i = 0; i < 2; i++) {
        char keys[2000];
        (void)snprintf(
            keys, sizeof keys,
            "\"model\": \"%s\", \"policies\": [\"nccl_rings\", \"adapcc\", {\"algorithm\": "
            "{\"name\": "
            "\"adapcc\", \"options\": {\"relay\": \"literal\"}}, \"label\": \"relay\"}, \"optcc\", "
            "\"stragglar\", \"exclude\", \"wait\"], \"profile\": {\"period\": 10}, "
            "\"interference\": "
            "{\"level\": 1, \"every\": 20, \"gpus\": 3}, \"faults\": [{\"rank\": 5, \"slowdown\": "
            "3, "
            "\"from\": 20, \"until\": 40}, {\"rank\": 12, \"slowdown\": 2, \"from\": 30, "
            "\"until\": "
            "60, \"down\": true}], \"death\": {\"rank\": 9, \"at\": 50, \"checkpoint\": 10}",
            models[i]);
        outcome o = run_mixed(keys);
        for (size_t k = 0; k < o.report.n_lines; k++) {
            const cs_whatif_line *line = &o.report.lines[k];
            cr_assert(line->is_available && line->is_finished, "%s: %s", models[i],
                      line->policy->name);
            check_intervals(line, line->total_s, N);
            cr_expect_geq(line->total_s, N * o.report.best_iteration_s * (1 - 1e-9));
        }
        cr_expect_eq(line_of(&o, "adapcc")->death.redone, 2 / 16.0);
        cr_expect_not_null(line_of(&o, "optcc")->note);
        cr_expect_null(line_of(&o, "adapcc")->note);
        release(&o);
    }
}

/* ---- rates of all servers ---- */

static cs_status read_trace(const char *path, const char *lines, const char *keys, outcome *o,
                            cs_error *err)
{
    char json[1200];

    ct_file_write(path, lines);
    snprintf(json, sizeof json,
             "{" JOB ", " CLUSTER ", " RINGS ", \"profile\": {}, \"bandwidth_trace\": "
             "{\"file\": \"%s\"%s}}",
             path, keys);
    return try_job(json, o, err);
}

static void expect_faults(const outcome *o, const cs_capacity *steps, size_t n)
{
    cr_assert_eq(o->job.n_faults, n);
    for (size_t i = 0; i < n; i++) {
        const cs_capacity *c = &o->job.faults[i].capacity;
        cr_expect_eq(c->rank, steps[i].rank);
        EXPECT_NEAR(c->slowdown, steps[i].slowdown);
        cr_expect_eq(c->from_s, steps[i].from_s);
        cr_expect_eq(c->until_s, steps[i].until_s);
    }
}

Test(whatif_change, a_trace_has_rates_of_all_servers)
{
    static const char lines[] = "0 0 1.8e9\n0 5 1.2e9\n12.5 0 0.9e9 # half\n20 5 2e9\n"
                                "27.5 0 1.5e9\n";
    double            never   = (double)INFINITY;
    const cs_capacity plain[] = {
        {0, 2, 12.5, 27.5, false}, {0, 1.2, 27.5, never, false}, {5, 1.5, 0, 20, false}};
    /* 0.9 has dropped: 0.45; 1.5 has risen: 2.25, more than the NIC can */
    const cs_capacity half[] = {{0, 4, 12.5, 27.5, false}, {5, 1.5, 0, 20, false}};
    char              folder[CT_FOLDER_BYTES], path[128];
    outcome           o   = {0};
    cs_error          err = {0};

    ct_folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/trace", folder);
    cr_assert_eq(read_trace(path, lines, "", &o, &err), CS_OK, "%s", err.message);
    expect_faults(&o, plain, 3);
    double plain_s = total(&o, "ring");
    release(&o);
    cr_assert_eq(read_trace(path, lines, ", \"amplify\": 0", &o, &err), CS_OK);
    expect_faults(&o, plain, 3);
    cr_expect_eq(total(&o, "ring"), plain_s);
    release(&o);
    cr_assert_eq(read_trace(path, lines, ", \"amplify\": 0.5", &o, &err), CS_OK);
    expect_faults(&o, half, 2);
    release(&o);
    cr_assert_eq(read_trace(path, "0 1.8e9\n12.5 0.9e9\n20 0.9e9\n",
                            ", \"rank\": 3, \"amplify\": 0.2", &o, &err),
                 CS_OK);
    const cs_capacity same[] = {{3, 2.5, 12.5, 20, false},
                                {3, 2.5, 20, never, false}}; /* it has not changed */
    expect_faults(&o, same, 2);
    release(&o);
    cr_assert_eq(read_trace(path, "0 16 1e9\n", "", &o, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "has rates of server 16: accepted are 0 to 15"));
    err = (cs_error){0};
    cr_assert_neq(read_trace(path, "0 0 1e9\n0 0 1e9\n", "", &o, &err), CS_OK);
    cr_expect_eq(err.input_line, 2);
    ct_folder_remove(folder);
}

/* ---- interference ---- */

Test(whatif_change, draws_are_sets_of_every_size)
{
    const cs_interference f        = {.every_s = 300, .gpus = 2, .level_ratio = 1};
    const cs_cluster      cluster  = {.n_ranks = 400, .gpus_per_server = 4};
    unsigned              sizes[5] = {0}, of_gpu[4] = {0};
    bool                  is_slowed[400], again[400];

    for (uint64_t turn = 0; turn < 50; turn++) {
        cr_assert_eq(cs_interference_draw(&f, &cluster, 7, turn, is_slowed, NULL), CS_OK);
        cr_assert_eq(cs_interference_draw(&f, &cluster, 7, turn, again, NULL), CS_OK);
        cr_assert_eq(memcmp(is_slowed, again, sizeof again), 0);
        for (uint32_t rank = 0; rank < 400; rank += 4) {
            unsigned n = 0;
            for (uint32_t i = 0; i < 4; i++) {
                n += is_slowed[rank + i];
                of_gpu[i] += is_slowed[rank + i];
            }
            sizes[n]++;
        }
        cr_assert_eq(cs_interference_draw(&f, &cluster, 8, turn, again, NULL), CS_OK);
        cr_assert_neq(memcmp(is_slowed, again, sizeof again), 0);
    }
    cr_expect_eq(sizes[3] + sizes[4], 0);
    for (size_t i = 0; i < 4; i++) { /* 5000 draws; a standard deviation is 33, and 31 */
        cr_expect(i == 3 || fabs(sizes[i] - 5000 / 3.0) < 150, "%zu GPUs: %u", i, sizes[i]);
        cr_expect(fabs(of_gpu[i] - 1250.0) < 150, "GPU %zu: %u", i, of_gpu[i]);
    }
}

Test(whatif_change, turns_cover_the_time)
{
    const cs_interference f = {.every_s = 0.1, .gpus = 1};

    for (uint64_t turn = 0; turn < 100000; turn++) {
        double end_s = cs_interference_end(&f, turn);
        cr_assert_eq(cs_interference_turn(&f, end_s), turn + 1);
        cr_assert_eq(cs_interference_turn(&f, nextafter(end_s, 0)), turn);
    }
}

/* One AllReduce whose ranks are late by `late_s`, if they are slowed. */
static double late_call_s(const bool *is_slowed, double late_s)
{
    const cs_fabric     nic       = {CS_SWITCHED, 0, 1.8e9};
    const cs_algorithm *algorithm = NULL;
    double              arrival_s[16], first_s = late_s;
    cs_result           result;
    cs_job              job = {
                     .scenario = {.bytes = 240000000,
                                  .cluster = {.n_ranks = 16, .gpus_per_server = 1, .fabrics = {nic, nic}},
                                  .arrival_s = arrival_s}};

    for (int i = 0; i < 16; i++) {
        arrival_s[i] = is_slowed[i] ? late_s : 0;
        first_s      = fmin(first_s, arrival_s[i]);
    }
    for (int i = 0; i < 16; i++) {
        arrival_s[i] -= first_s;
    }
    cr_assert_eq(cs_algorithm_find("ring", &algorithm, NULL), CS_OK);
    cs_job_set_algorithm(&job, algorithm, NULL);
    cs_job_set_model(&job, cs_models[0], NULL);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, NULL), CS_OK);
    return first_s + result.elapsed_s;
}

Test(whatif_change, slowed_ranks_are_late)
{
    outcome o     = run_with(RINGS ", \"profile\": {}, \"seed\": 5, "
                                       "\"interference\": {\"every\": 20, \"gpus\": 1, \"level\": 0.5}");
    double  now_s = 0, sum_s = 0;
    bool    is_slowed[16];

    for (int i = 0; i < 100; i++) {
        uint64_t turn = cs_interference_turn(&o.job.interference, now_s);
        cr_assert_eq(cs_interference_draw(&o.job.interference, &o.job.call.scenario.cluster, 5,
                                          turn, is_slowed, NULL),
                     CS_OK);
        double s = 1 + late_call_s(is_slowed, 0.5);
        now_s += s;
        sum_s += s;
    }
    EXPECT_NEAR(total(&o, "ring"), sum_s);
    cr_expect_gt(sum_s, 150);
    cr_expect_lt(o.report.replays, 20); /* one a turn, not one an iteration */
    release(&o);
    o = run_with(RINGS ", \"profile\": {}, \"interference\": {\"level\": 0}");
    EXPECT_NEAR(total(&o, "ring"), 125);
    release(&o);
}

/* With overlap the first call begins behind half of the compute, and all enter the second one. */
Test(whatif_change, slowed_ranks_are_late_for_the_first_call)
{
    static const char json[] =
        "{\"job\": {\"iterations\": 30, \"compute\": 1, \"bytes\": 240000000, \"overlap\": 0.5, "
        "\"calls\": 2}, " CLUSTER ", " RINGS ", \"profile\": {}, \"seed\": 2, "
        "\"interference\": {\"every\": 10, \"gpus\": 1, \"level\": 3}}";
    outcome  o     = {0};
    cs_error err   = {0};
    double   now_s = 0;
    bool     is_slowed[16];

    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s", err.message);
    for (int i = 0; i < 30; i++) {
        uint64_t turn = cs_interference_turn(&o.job.interference, now_s);
        cr_assert_eq(cs_interference_draw(&o.job.interference, &o.job.call.scenario.cluster, 2,
                                          turn, is_slowed, NULL),
                     CS_OK);
        now_s += fmax(4, 0.5 + late_call_s(is_slowed, 1.5) + 0.25);
    }
    EXPECT_NEAR(total(&o, "ring"), now_s);
    release(&o);
}

/* ---- a worker dies ---- */

#define DIES(at, more)                                                                \
    RINGS ", \"profile\": {\"period\": 0}, \"death\": {\"rank\": 7, \"at\": " at ", " \
          "\"checkpoint\": 25, \"hang\": 15, \"relaunch\": 60" more "}"
#define ALONE_S (16 / 15.0 + SMALLER_S) /* an iteration of the 15 that are left */

Test(whatif_change, a_restart_loses_what_was_done_since_the_checkpoint)
{
    outcome               o    = run_with(DIES("50.6", ""));
    const cs_whatif_line *line = line_of(&o, "ring");

    /* 40 iterations end at 50; rank 7 should have come at 51 */
    EXPECT_NEAR(line->total_s, 51 + 15 + 60 + 75 * ALONE_S);
    EXPECT_NEAR(line->death.hung_s, 15);
    EXPECT_NEAR(line->death.stopped_s, 60);
    EXPECT_NEAR(line->death.redone, 15 + 1 / 1.25);
    EXPECT_NEAR(line->death.lost_s, 1 + 15 + 60 + 15 * 1.25);
    EXPECT_NEAR(line->iterations, N);
    release(&o);
    o = run_with(DIES("51.1", "")); /* in the call, in which it has done its part */
    EXPECT_NEAR(total(&o, "ring"), 52.25 + 15 + 60 + (59 + 16) * ALONE_S);
    release(&o);
    o = run_with(DIES("1e6", "")); /* after the end */
    EXPECT_NEAR(total(&o, "ring"), 125);
    cr_expect(isnan(line_of(&o, "ring")->death.lost_s));
    release(&o);
}

Test(whatif_change, an_exclusion_waits_five_times_as_long_as_phase_1)
{
    outcome o =
        run_with("\"algorithm\": \"ring\", \"policies\": [{\"algorithm\": \"ring\", "
                 "\"recovery\": \"exclude\"}], \"profile\": {\"period\": 0, \"rebuild\": 3}, "
                 "\"death\": {\"rank\": 7, \"at\": 50.6}");
    const cs_whatif_line *line = line_of(&o, "ring");

    /* iteration 40 has 15 of 16 shares; 59 + 1/16 are left, of which the last takes its full time
     */
    EXPECT_NEAR(line->total_s, 51 + 6 * SMALLER_S + 3 + 60 * ALONE_S);
    EXPECT_NEAR(line->death.hung_s, 5 * SMALLER_S);
    EXPECT_NEAR(line->death.stopped_s, 3);
    EXPECT_NEAR(line->death.redone, 1 / 16.0);
    EXPECT_NEAR(line->death.lost_s, 5 * SMALLER_S + 3 + 1.25 / 16);
    check_intervals(line, line->total_s, N);
    release(&o);
}

/* One call of AdapCC's in which rank 7 never comes ends at the coordinator's deadline. */
static double adapcc_deadline_s(void)
{
    cs_config *config = ct_config_of(
        "{\"bytes\": 240000000, " CLUSTER ", \"algorithm\": {\"name\": \"adapcc\", \"options\": "
        "{\"relay\": \"literal\", \"exclude\": true}}, "
        "\"arrivals\": {\"late\": [{\"rank\": 7, \"delay\": \"1000s\"}]}}");
    cs_case   c      = ct_case(config, 0);
    cs_result result = ct_result(&c);

    cs_case_free(&c);
    cs_config_free(config);
    return result.elapsed_s;
}

Test(whatif_change, adapcc_waits_until_its_coordinators_deadline)
{
    outcome o = run_with("\"algorithm\": \"ring\", \"policies\": [\"adapcc\"], \"profile\": "
                         "{\"period\": 0, \"rebuild\": 3}, \"death\": {\"rank\": 7, \"at\": 0}");
    const cs_whatif_line *line = line_of(&o, "adapcc");
    double                s    = adapcc_deadline_s();
    double most = 1e-7 * s; /* trees for profiled rates have other shares, by bytes */

    cr_expect_gt(s, 6 * SMALLER_S); /* the coordinator waits before phase 1, too */
    cr_expect_float_eq(line->intervals[0].until_s, 1 + s / 6, most);
    cr_expect_eq(line->intervals[1].kind, CS_INTERVAL_HUNG);
    cr_expect_float_eq(line->intervals[1].until_s, 1 + s, most);
    cr_expect_float_eq(line->intervals[2].until_s, 1 + s + 3, most);
    cr_expect_float_eq(line->death.hung_s, s * 5 / 6, most);
    check_intervals(line, line->total_s, N);
    release(&o);
}

Test(whatif_change, the_batch_is_shared_anew)
{
    static const char job[] =
        "{\"job\": {\"iterations\": 100, \"compute\": 1, \"bytes\": 240000000, "
        "\"batch\": %d}, " CLUSTER ", %s}";
    bool     has_more[16] = {false};
    char     json[1200];
    outcome  o   = {0};
    cs_error err = {0};

    snprintf(json, sizeof json, job, 240, DIES("50.6", ""));
    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s", err.message);
    EXPECT_NEAR(total(&o, "ring"), 51 + 15 + 60 + 75 * ALONE_S); /* 16 samples each */
    release(&o);
    /* 32 samples: 3 for two ranks, 2 for thirteen; who has three computes 1.5 s */
    has_more[0] = has_more[1] = true;
    snprintf(json, sizeof json, job, 32, DIES("50.6", ""));
    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s", err.message);
    double s = (total(&o, "ring") - 126) / 75;
    cr_expect_gt(s, 1.5);
    cr_expect_leq(s, 1.5 + SMALLER_S + 1e-9);
    cr_expect_gt(s, 1 + late_call_s(has_more, 0.5) - 0.1);
    release(&o);
    snprintf(json, sizeof json, job, 100, DIES("50.6", ""));
    expect_refused(json, "job.batch: 100 samples are not shared evenly by 16 ranks");
}

Test(whatif_change, adapcc_loses_less_than_a_restart)
{
    outcome               o      = run_with("\"profile\": {\"period\": 40}, " SLOW_FROM_12_5 ", "
                                                               "\"death\": {\"rank\": 7, \"at\": 50.6}");
    const cs_whatif_line *adapcc = line_of(&o, "adapcc"), *rings = line_of(&o, "nccl_rings");

    cr_expect_lt(adapcc->death.lost_s, 0.2 * rings->death.lost_s);
    cr_expect_lt(adapcc->death.stopped_s, 0.26 * rings->death.stopped_s);
    cr_expect_gt(adapcc->total_s, 125);
    release(&o);
}

/* ---- all together ---- */

static const char everything[] =
    "\"seed\": %d, \"profile\": {\"period\": 20}, \"faults\": [%s], \"policies\": [\"nccl_rings\", "
    "\"adapcc\", {\"algorithm\": \"adapcc\", \"label\": \"once\", \"profile\": \"no\"}, "
    "\"stragglar\", "
    "\"optcc\", \"iccl\", \"exclude\", \"wait\"]%s";

#define INTERFERENCE ", \"interference\": {\"every\": 10, \"gpus\": 1, \"level\": 0.3}"
#define DEATH        ", \"death\": {\"rank\": 11, \"at\": 40, \"relaunch\": 5, \"hang\": 1}"

Test(whatif_change, nothing_that_happens_makes_a_job_faster)
{
    for (int seed = 1; seed < 3; seed += CT_EVERY) {
        static const char *const more[] = {"", INTERFERENCE, DEATH, INTERFERENCE DEATH};
        char                     keys[4000], faults[3000];
        double                   plain_s[20] = {0};
        random_faults((uint64_t)seed, 5, faults, sizeof faults);
        for (size_t k = 0; k < 4; k++) {
            snprintf(keys, sizeof keys, everything, seed, faults, more[k]);
            outcome o = run_with(keys);
            for (size_t i = 0; i < o.job.n_policies; i++) {
                const cs_whatif_line *line = line_of(&o, o.job.policies[i].name);
                check_intervals(line, line->total_s, N);
                cr_expect_geq(line->total_s * (1 + 1e-9), plain_s[i], "%s: %g, %g",
                              line->policy->name, line->total_s, plain_s[i]);
                cr_expect_geq(line->lost_gpu_hours, 0);
                plain_s[i] = k == 0 ? line->total_s : plain_s[i];
            }
            release(&o);
        }
    }
}

Test(whatif_change, reports_are_the_same_every_time)
{
    char    keys[4000], faults[3000];
    cs_text left = {0}, right = {0};

    random_faults(9, 5, faults, sizeof faults);
    snprintf(keys, sizeof keys, everything, 9, faults, INTERFERENCE DEATH);
    outcome a = run_with(keys), b = run_with(keys);
    cs_whatif_json(&a.job, &a.report, &left);
    cs_whatif_csv(&a.job, &a.report, &left);
    cs_whatif_table(&a.job, &a.report, &left);
    cs_whatif_json(&b.job, &b.report, &right);
    cs_whatif_csv(&b.job, &b.report, &right);
    cs_whatif_table(&b.job, &b.report, &right);
    cr_assert_str_eq(left.data, right.data);
    cr_expect_not_null(strstr(left.data, "less than nccl_rings"));
    cr_expect_not_null(strstr(left.data, "\"death_lost_s\": "));
    cr_expect_not_null(strstr(left.data, "once for the rates of its last profile"));
    cs_text_free(&left);
    cs_text_free(&right);
    release(&a);
    release(&b);
}

static void expect_out_of_memory(outcome o)
{
    run_without_memory(&o.job);
    release(&o);
}

Test(whatif_change, memory_that_runs_out_is_an_error)
{
    expect_out_of_memory(run_with("\"profile\": {\"period\": 20}, " SLOW_FROM_12_5
                                  ", \"policies\": [\"ring\", \"optcc\"]" INTERFERENCE DEATH));
    expect_out_of_memory(
        run_mixed("\"profile\": {\"period\": 40}, \"algorithm\": \"ring\", "
                  "\"policies\": [{\"algorithm\": \"ring\", \"profile\": \"yes\"}], "
                  "\"death\": {\"rank\": 5, \"at\": 30, \"takes\": \"worker\"}"));
}

Test(whatif_change, bad_input_is_located)
{
    static const struct {
        const char *keys, *error;
    } cases[] = {
        {"\"interference\": {}", ":2:17: interference: the key 'level' is missing"},
        {"\"interference\": {\"level\": -1}", ":2:27: interference.level: "},
        {"\"interference\": {\"level\": 1, \"every\": \"0s\"}", ":2:39: interference.every: "},
        {"\"interference\": {\"level\": 1, \"gpu\": 1}", ":2:30: interference.gpu: unknown key"},
        {"\"profile\": 5", ":2:12: profile: "},
        {"\"profile\": {\"period\": -1}", ":2:23: profile.period: "},
        {"\"profile\": {\"rebuild\": \"1m\"}", ":2:24: profile.rebuild: "},
        {"\"death\": {\"at\": 1}", ":2:10: death: the key 'rank' is missing"},
        {"\"death\": {\"at\": 1, \"rank\": 16}", ":2:28: death.rank: "},
        {"\"death\": {\"rank\": 1}", ":2:10: death: the key 'at' is missing"},
        {"\"death\": {\"rank\": 1, \"at\": 1, \"checkpoint\": 0}", ":2:45: death.checkpoint: "},
        {"\"policies\": [{\"algorithm\": \"ring\", \"profile\": \"yes\"}]",
         ":2:47: policies[0].profile: belongs to the key 'profile' of the configuration"},
        {"\"policies\": [{\"algorithm\": \"ring\", \"recovery\": \"exclude\"}]",
         ":2:48: policies[0].recovery: belongs to the key 'death' of the configuration"},
        {"\"profile\": {}, \"policies\": [{\"algorithm\": \"ring\", \"profile\": \"maybe\"}]",
         ": policies[0].profile: unknown word 'maybe'"},
        {"\"profile\": {}, \"policies\": [\"ring\", {\"algorithm\": \"ring\"}]",
         ": policies[1]: 'ring' is there already: accepted is another 'label'"},
        {"\"profile\": {}, \"policies\": [{\"algorithm\": \"pray\"}]",
         ": policies[0].algorithm: no algorithm 'pray'"},
        {"\"profile\": {}, \"policies\": [{\"algorithm\": \"ring\", \"lable\": \"x\"}]",
         ": policies[0].lable: unknown key"},
        {"\"bandwidth_trace\": {\"file\": \"/nonexistent\", \"amplify\": 2}",
         ":2:56: bandwidth_trace.amplify: "},
        {"\"seed\": -1", ":2:9: seed: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char json[800];
        snprintf(json, sizeof json, "{" JOB ", " CLUSTER ",\n%s}", cases[i].keys);
        expect_refused(json, cases[i].error);
    }
    expect_refused("{" JOB ", \"cluster\": {\"ranks\": 4, \"gpus_per_server\": 4}, "
                   "\"death\": {\"rank\": 1, \"at\": 1}}",
                   ": death: the only server dies");
}
