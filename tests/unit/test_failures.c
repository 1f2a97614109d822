/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs of days on servers that fail at random, held against closed forms, against the simulation of
 * single iterations, and against each other. */
#include "base/file.h"
#include "failures_setup.h"
#include "whatif/course.h"

#define SMALL_CLUSTER "{\"ranks\": 8, \"nic\": {\"bandwidth\": 1.8e9, \"alpha\": 0}}"
#define ALL_POLICIES \
    "[\"iccl\", \"restart\", \"wait\", \"exclude\", \"shrink\", \"spare\", \"optcc\"]"

static cs_status try_study(const char *failures, const char *timers, const char *policies,
                           size_t n_threads, study *s, cs_error *err)
{
    char json[4000];

    snprintf(json, sizeof json,
             "{\"job\": {\"compute\": \"1s\", \"bytes\": 240000000}, \"cluster\": " SMALL_CLUSTER
             ", \"failures\": {%s}, \"timers\": {%s}, \"policies\": %s}",
             failures, timers, policies);
    return try_study_of(json, n_threads, s, err);
}

static study run_study(const char *failures, const char *timers, const char *policies)
{
    study    s   = {0};
    cs_error err = {0};

    cr_assert_eq(try_study(failures, timers, policies, 2, &s, &err), CS_OK, "%s: %s", err.where,
                 err.message);
    return s;
}

static void expect_within(cs_estimate e, double expected, const char *what)
{
    cr_expect(e.low <= expected && expected <= e.high, "%s: %.6g not in %.6g .. %.6g", what,
              expected, e.low, e.high);
}

/* Nobody asked for spares to be paid, so `spare` alone loses something: they stand by. */
Test(failures, without_failures_nothing_is_lost)
{
    study s = run_study("\"duration\": \"10d\", \"trials\": 20, \"nics\": 4, \"causes\": "
                        "[{\"takes\": \"nic\", \"mtbf\": \"30000y\", \"mttr\": \"1d\"}]",
                        "\"detect\": 1", "[\"iccl\", \"restart\", \"wait\", \"spare\"]");

    cr_expect_eq(line_in(s.report.settings, "iccl")->lost.value, 0);
    cr_expect_eq(line_in(s.report.settings, "restart")->lost.value, 0);
    cr_expect_eq(line_in(s.report.settings, "wait")->lost.value, 0);
    EXPECT_NEAR(line_in(s.report.settings, "spare")->lost.value, 240);
    EXPECT_NEAR(line_in(s.report.settings, "spare")->spares, 240);
    release_study(&s);
}

Test(failures, exponential_failures_and_repairs_are_as_often_as_they_should)
{
    study s = run_study(
        "\"duration\": \"60d\", \"trials\": 2000, \"nics\": 4, \"confidence\": 0.999, \"causes\": ["
        "{\"takes\": \"nic\", \"mtbf\": \"40d\", \"mttr\": \"5d\"}, "
        "{\"takes\": \"server\", \"mtbf\": \"300d\", \"mttr\": \"30d\"}, "
        "{\"takes\": \"gpu\", \"mtbf\": \"100d\", \"mttr\": \"1h\"}, "
        "{\"takes\": \"job\", \"mtbf\": \"3d\"}]",
        "\"detect\": 1", "[\"iccl\"]");
    const cs_failure_setting *at = s.report.settings;

    cr_expect_eq(at->causes[0].components, 32);
    cr_expect_eq(at->causes[1].components, 8);
    cr_expect_eq(at->causes[2].components, 8);
    cr_expect_eq(at->causes[3].components, 1);
    for (size_t i = 0; i < 4; i++) {
        expect_within(at->causes[i].failures, at->causes[i].expected_failures,
                      at->causes[i].cause.name);
        expect_within(at->causes[i].down, at->causes[i].expected_down, at->causes[i].cause.name);
    }
    cr_expect_eq(at->causes[3].expected_failures, 20);
    release_study(&s);
}

/* In the long run MTTR / (MTBF + MTTR) of the time is down, whatever the distributions. */
Test(failures, in_the_long_run_availability_is_mtbf_over_the_sum)
{
    study s =
        run_study("\"duration\": \"40y\", \"trials\": 60, \"nics\": 4, \"confidence\": 0.999, "
                  "\"causes\": [{\"takes\": \"nic\", \"mtbf\": \"40d\", \"shape\": 0.7, "
                  "\"mttr\": \"10d\", \"repair_shape\": 2}]",
                  "\"detect\": 1", "[\"iccl\"]");
    const cs_cause_line *c = s.report.settings->causes;

    expect_within(c->down, 0.2, "down");
    cr_expect(isnan(c->expected_down));
    cr_expect_float_eq(c->failures.value / (32 * 40 * 365.25 / 50), 1, 0.01);
    release_study(&s);
}

/* Daly: a segment of work and its checkpoint of L seconds takes M exp(R/M) (exp(L/M) - 1) where
 * failures are exponential, strike restarts too, and R is from the failure to the restart. */
Test(failures, restarts_from_checkpoints_take_dalys_time)
{
    study s =
        run_study("\"duration\": \"1000d\", \"trials\": 60, \"confidence\": 0.999, "
                  "\"checkpoint_cost\": \"60s\", \"causes\": [{\"takes\": \"job\", \"mtbf\": "
                  "\"1d\"}]",
                  "\"detect\": 120, \"restart\": \"15min\", \"checkpoint\": 2880", "[\"restart\"]");
    double L = 2880 * s.report.healthy_iteration_s + 60, M = DAY_S, R = 120 + 900;
    double pace     = 2880 / (M * exp(R / M) * expm1(L / M)); /* iterations a second */
    double done_s   = pace * s.report.best_iteration_s * 1000 * DAY_S;
    double expected = (1000 * DAY_S - done_s) * 8 / 3600;

    EXPECT_NEAR(s.report.best_iteration_s, s.report.healthy_iteration_s);
    expect_within(line_in(s.report.settings, "restart")->lost, expected, "Daly");
    EXPECT_NEAR(s.report.settings->optimum_s, sqrt(2 * 60 * DAY_S));
    release_study(&s);
}

/* Waiting for one NIC of many: the job stands still while any of them is down. */
Test(failures, waiting_costs_the_time_that_any_nic_is_down)
{
    study s =
        run_study("\"duration\": \"4y\", \"trials\": 200, \"nics\": 4, \"confidence\": 0.999, "
                  "\"causes\": [{\"takes\": \"nic\", \"mtbf\": \"2y\", \"mttr\": \"12h\"}]",
                  "\"detect\": 0", "[\"wait\"]");
    const cs_cause_line *c = s.report.settings->causes;
    /* over time the part of it that all are up changes by less than the interval */
    double up       = pow(1 - c->expected_down, 32);
    double expected = (1 - up) * 4 * 365.25 * 24 * 8;

    expect_within(line_in(s.report.settings, "wait")->lost, expected, "wait");
    release_study(&s);
}

static void text_of(const study *s, cs_text *text)
{
    cs_failures_table(&s->job, &s->report, text);
    cs_failures_json(&s->job, &s->report, text);
    cs_failures_csv(&s->job, &s->report, text);
}

#define MIXED                                                                                     \
    "\"duration\": \"90d\", \"trials\": 200, \"nics\": 4, \"recovery\": \"spare\", \"causes\": [" \
    "{\"takes\": \"nic\", \"mtbf\": \"300d\", \"shape\": 0.8, \"mttr\": \"2d\", "                 \
    "\"repair_shape\": 0.5}, {\"takes\": \"server\", \"mtbf\": \"1y\", \"mttr\": \"1d\"}, "       \
    "{\"takes\": \"job\", \"mtbf\": \"10d\"}]"
#define MIXED_TIMERS "\"preset\": \"nccl\", \"checkpoint\": 1000, \"rejoin\": \"1min\""

Test(failures, threads_do_not_change_a_byte)
{
    cs_text texts[2] = {{0}, {0}};

    for (size_t i = 0; i < 2; i++) {
        study    s   = {0};
        cs_error err = {0};
        cr_assert_eq(try_study(MIXED ", \"mttr_factors\": [1, 3]", MIXED_TIMERS, ALL_POLICIES,
                               i == 0 ? 1 : 5, &s, &err),
                     CS_OK, "%s", err.message);
        text_of(&s, &texts[i]);
        release_study(&s);
    }
    cr_assert_eq(texts[0].length, texts[1].length);
    cr_expect_eq(memcmp(texts[0].data, texts[1].data, texts[0].length), 0);
    cs_text_free(&texts[0]);
    cs_text_free(&texts[1]);
}

/* No failure makes anything faster, and a longer repair makes nothing better. */
Test(failures, losses_are_positive_and_grow_with_the_time_to_repair)
{
    study s =
        run_study(MIXED ", \"mttr_factors\": [0.25, 0.5, 1, 2, 4, 8]", MIXED_TIMERS, ALL_POLICIES);

    cr_assert_eq(s.report.n_settings, 6);
    for (size_t i = 0; i < 6; i++) {
        const cs_failure_setting *at = &s.report.settings[i];
        for (size_t k = 0; k < at->n_lines; k++) {
            const cs_failure_line *l = &at->lines[k];
            cr_expect_geq(l->lost.value, 0, "%s", l->policy->name);
            cr_expect_geq(l->slower, 0, "%s: %g", l->policy->name, l->slower);
            EXPECT_NEAR(l->slower + l->stalled + l->stopped + l->redone + l->spares, l->lost.value);
            cr_expect_leq(l->lost.value, l->paid);
            if (i > 0) {
                const cs_failure_line *before = line_in(at - 1, l->policy->name);
                cr_expect_geq(l->lost.value, before->lost.value, "%s", l->policy->name);
            }
        }
    }
    release_study(&s);
}

/* Four GPUs with a NIC each: pooled, 1 to 3 dead NICs leave 3/4, 1/2 and 1/4; with `neighbour` 2, 3
 * and 4 GPUs are left to one NIC; with `none` the server is down. */
Test(failures, failover_says_what_a_dead_nic_leaves)
{
    static const struct {
        const char *failover;
        double      slowdowns[5];
    } cases[] = {{"pool", {1, 4 / 3.0, 2, 4, HUGE_VAL}},
                 {"neighbour", {1, 2, 3, 4, HUGE_VAL}},
                 {"none", {1, HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL}}};

    for (size_t i = 0; i < 3; i++) {
        char       json[1000];
        cs_config *config = NULL;
        study      s      = {0};
        cs_error   err    = {0};
        snprintf(
            json, sizeof json,
            "{\"job\": {\"compute\": \"1s\", \"bytes\": 240000000}, \"cluster\": {\"ranks\": 16, "
            "\"gpus_per_server\": 4}, \"failures\": {\"duration\": \"90d\", \"trials\": 20, "
            "\"failover\": \"%s\", \"causes\": [{\"takes\": \"nic\", \"mtbf\": \"1y\", \"mttr\": "
            "\"3d\"}]}, \"policies\": [\"iccl\"]}",
            cases[i].failover);
        cr_assert_eq(ct_config_load(json, &config, &err), CS_OK);
        cr_assert_eq(cs_whatif_read(config, &s.job, &err), CS_OK, "%s: %s", err.where, err.message);
        for (size_t k = 0; k < 5; k++) {
            cr_expect(s.job.failures.slowdowns[k] == cases[i].slowdowns[k] ||
                          is_near(s.job.failures.slowdowns[k], cases[i].slowdowns[k]),
                      "%s, %zu: %g", cases[i].failover, k, s.job.failures.slowdowns[k]);
        }
        cr_assert_eq(cs_failures_run(&s.job, 1, &s.report, &err), CS_OK, "%s", err.message);
        cr_expect_eq(line_in(s.report.settings, "iccl")->restarts > 0, i == 2);
        release_study(&s);
        cs_config_free(config);
    }
}

/* ---- against the simulation of every iteration ---- */

/* The outages of a history as faults of a what-if; false where two of one server overlap, which
 * that does not take. */
static bool list_faults(const cs_outages *outages, char *faults, size_t bytes)
{
    size_t length     = 0;
    double busy_s[64] = {0};

    for (size_t i = 0; i < outages->n; i++) {
        const cs_outage *o = &outages->list[i];
        if (o->server < 16 && o->from_s < busy_s[o->server]) {
            return false;
        }
        if (o->server < 16) {
            busy_s[o->server] = o->until_s;
            length += (size_t)snprintf(faults + length, bytes - length,
                                       "%s{\"rank\": %u, \"down\": true, \"slowdown\": "
                                       "1.3333333333333333, \"from\": %.17g, \"until\": %.17g}",
                                       length > 0 ? ", " : "", o->server, o->from_s, o->until_s);
        }
    }
    return true;
}

/* The same job, so that its policies are those of the exact simulation. */
static cs_course walk(const outcome *o, const cs_whatif_policy *policy, const cs_outages *outages,
                      double duration_s)
{
    static const double slowdowns[] = {1, 4 / 3.0, 2, 4, HUGE_VAL};
    cs_pace            *pace        = NULL;
    cs_pace_view       *view        = NULL;
    cs_walker          *walker      = NULL;
    cs_course           course      = {0};
    cs_error            err         = {0};

    cr_assert_eq(cs_pace_new(&o->job, slowdowns, 4, &pace, &err), CS_OK);
    cr_assert_eq(cs_pace_view_new(pace, &view, &err), CS_OK);
    cr_assert_eq(cs_walker_new(&o->job, view, &walker, &err), CS_OK);
    cr_assert_eq(cs_walk(walker, policy, outages, duration_s, &course, &err), CS_OK, "%s",
                 err.message);
    cs_walker_free(walker);
    cs_pace_view_free(view);
    cs_pace_free(pace);
    return course;
}

/* With checkpoints, an iteration in progress may be the one that decides whether there was another
 * checkpoint. */
static void compare_histories(uint64_t trial)
{
    unsigned checkpoint = trial % 2 == 0 ? 0 : 100;

    static const cs_failure_cause cause        = {"nic", CS_TAKES_NIC, 100000, 1, 2500, 1};
    const cs_fleet                fleet        = {.causes     = &cause,
                                                  .n_causes   = 1,
                                                  .n_servers  = 17,
                                                  .gpus       = 1,
                                                  .nics       = 4,
                                                  .duration_s = 20000,
                                                  .seed       = 7};
    cs_outages                    outages      = {0};
    cs_error                      err          = {0};
    char                          faults[6000] = "", json[8000];
    outcome                       o            = {0};

    cr_assert_eq(cs_outages_draw(&fleet, trial, &outages, &err), CS_OK);
    if (!list_faults(&outages, faults, sizeof faults)) {
        cs_outages_free(&outages);
        return;
    }
    snprintf(json, sizeof json,
             "{\"job\": {\"iterations\": 1000000, \"compute\": \"1s\", \"bytes\": 240000000, "
             "\"horizon\": 20000, \"spares\": 1}, " CLUSTER ", \"faults\": [%s], \"timers\": "
             "{\"detect\": 20, \"reschedule\": 5, \"restart\": 300, \"shrink\": 40, \"spare\": 90, "
             "\"checkpoint\": %u}, \"policies\": " ALL_POLICIES "}",
             faults, checkpoint);
    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s: %s", err.where, err.message);
    for (size_t i = 0; i < o.job.n_policies; i++) {
        const cs_whatif_policy *policy = &o.job.policies[i];
        /* spares do not fail there, nor is a repaired server broken again */
        if (policy->kind == CS_POLICY_SPARE && outages.n > 1) {
            continue;
        }
        cs_course course = walk(&o, policy, &outages, 20000);
        double    exact  = line_of(&o, policy->name)->iterations;
        cr_expect_leq(fabs(course.iterations - exact), checkpoint + 1 + 3 * (double)outages.n,
                      "trial %llu, %s: %.6g, but %.6g iteration by iteration",
                      (unsigned long long)trial, policy->name, course.iterations, exact);
    }
    release(&o);
    cs_outages_free(&outages);
}

Test(failures, a_history_takes_as_long_as_iteration_by_iteration)
{
    for (uint64_t trial = 0; trial < 12; trial++) {
        compare_histories(trial);
    }
}

/* ---- the details of policies ---- */

/* One outage by hand: 100 iterations of 1.25 s, then it strikes. */
static cs_course walk_one(cs_outage outage, const char *policy, double duration_s)
{
    char       json[2000];
    outcome    o       = {0};
    cs_outages outages = {0};
    cs_error   err     = {0};

    snprintf(json, sizeof json,
             "{" JOB ", " CLUSTER ", \"timers\": {\"detect\": 10, \"restart\": 100, \"spare\": 50, "
             "\"shrink\": 20, \"checkpoint\": 30}, \"policies\": " ALL_POLICIES "}");
    cr_assert_eq(try_job(json, &o, &err), CS_OK);
    cr_assert_eq(cs_outages_add(&outages, &outage, &err), CS_OK);
    cr_assert_eq(cs_outages_sort(&outages, &err), CS_OK);
    cs_course course = walk(&o, line_of(&o, policy)->policy, &outages, duration_s);
    cs_outages_free(&outages);
    release(&o);
    return course;
}

Test(failures, a_server_that_is_down_ends_the_job)
{
    const cs_outage server = {125, 1125, 3, 0, true}, software = {125, 125, CS_NO_SERVER, 0, true};
    cs_course wait = walk_one(server, "wait", 2250), exclude = walk_one(server, "exclude", 2250);
    cs_course shrink = walk_one(server, "shrink", 2250), spare = walk_one(server, "spare", 2250);
    cs_course crash = walk_one(software, "iccl", 2250);

    EXPECT_NEAR(wait.stalled_s, 1000);
    EXPECT_NEAR(wait.stopped_s, 100);
    EXPECT_NEAR(wait.redone, 10);
    EXPECT_NEAR(wait.iterations, 90 + (2250 - 1225) / 1.25);
    EXPECT_NEAR(exclude.iterations, 90 + (2250 - 235) / (1 + SMALLER_S) * 15 / 16);
    EXPECT_NEAR(shrink.iterations, 100 + (2250 - 155) / (1 + SMALLER_S) * 15 / 16);
    cr_expect_eq(shrink.redone, 0);
    EXPECT_NEAR(spare.iterations, 90 + (2250 - 185) / 1.25);
    EXPECT_NEAR(crash.iterations, 90 + (2250 - 235) / 1.25);
    EXPECT_NEAR(crash.stalled_s, 10);
}

/* Nothing ends, for nothing has begun: no going back, no restart but after a wait. */
Test(failures, what_was_down_before_the_job_does_not_end_it)
{
    const cs_outage server = {-100, 1000, 3, 0, true}, nic = {-100, 1000, 3, 0, false};
    const cs_outage just = {-1, 1000, 3, 0, true};
    cs_course wait = walk_one(server, "wait", 2250), exclude = walk_one(server, "exclude", 2250);
    cs_course shrink = walk_one(server, "shrink", 2250), spare = walk_one(server, "spare", 2250);
    cs_course restart = walk_one(nic, "restart", 2250), noticed = walk_one(just, "spare", 2250);

    EXPECT_NEAR(wait.stalled_s, 1000);
    EXPECT_NEAR(wait.iterations, (2250 - 1100) / 1.25);
    EXPECT_NEAR(exclude.iterations, 2250 / (1 + SMALLER_S) * 15 / 16);
    EXPECT_NEAR(shrink.iterations, exclude.iterations);
    EXPECT_NEAR(spare.iterations, 2250 / 1.25);
    EXPECT_NEAR(noticed.iterations, (2250 - 9 - 50) / 1.25);
    cr_expect_eq(exclude.restarts + shrink.restarts + spare.restarts + restart.restarts, 0);
    cr_expect_eq(noticed.restarts, 1);
}

Test(failures, what_is_over_before_it_is_noticed_only_stalls)
{
    const cs_outage nic = {125, 130, 3, 0, false};
    cs_course       c   = walk_one(nic, "exclude", 2250);

    cr_expect_eq(c.restarts, 0);
    EXPECT_NEAR(c.iterations, (2250 - 5) / 1.25);
}

/* ---- the example ---- */

static void load_example(study *s)
{
    cs_config *config = NULL;
    cs_error   err    = {0};

    cr_assert_eq(cs_config_load(COLLSIM_SOURCE_DIR "/configs/whatif-failures.json", &config, &err),
                 CS_OK, "%s", err.message);
    cr_assert_eq(cs_whatif_read(config, &s->job, &err), CS_OK, "%s: %s", err.where, err.message);
    cr_assert_eq(cs_failures_run(&s->job, 2, &s->report, &err), CS_OK, "%s", err.message);
    cs_config_free(config);
}

Test(failures, the_example_runs)
{
    study s = {0};

    load_example(&s);
    cr_assert_eq(s.report.n_settings, 8);
    cr_expect_str_eq(s.job.failures.preset, "llama3");
    cr_expect_gt(line_in(&s.report.settings[0], "shrink")->saved.low, 0);
    cr_expect_lt(line_in(&s.report.settings[7], "shrink")->saved.value,
                 line_in(&s.report.settings[7], "optcc")->saved.value);
    release_study(&s);
}

/* Up to the next comma or line; behind it. */
static const char *next_word(const char *at, char *word, size_t bytes)
{
    size_t length = strcspn(at, ",\n");

    snprintf(word, bytes, "%.*s", (int)length, at);
    return at[length] != '\0' ? at + length + 1 : at + length;
}

/* collsim whatif configs/whatif-failures.json --format csv -o configs/figures/failures.csv */
Test(failures, the_figure_is_drawn_from_what_the_example_prints)
{
    study    s      = {0};
    cs_text  text   = {0};
    cs_error err    = {0};
    char    *kept   = NULL;
    size_t   length = 0;

    load_example(&s);
    cs_failures_csv(&s.job, &s.report, &text);
    cr_assert_eq(cs_file_read(COLLSIM_SOURCE_DIR "/configs/figures/failures.csv", 1 << 20, &kept,
                              &length, &err),
                 CS_OK);
    const char *a = text.data, *b = kept;
    while (*a != '\0' && *b != '\0') {
        char mine[400], theirs[400], *end;
        a        = next_word(a, mine, sizeof mine);
        b        = next_word(b, theirs, sizeof theirs);
        double x = strtod(mine, &end), y = strtod(theirs, NULL);
        if (*end != '\0') {
            cr_assert_str_eq(mine, theirs);
        }
        cr_assert_leq(fabs(x - y), 1e-3 * fabs(x), "%s, and in the file %s", mine, theirs);
    }
    cr_expect_eq(*a, *b);
    cs_free(kept);
    cs_text_free(&text);
    release_study(&s);
}

/* ---- bad input, and no memory ---- */

static void expect_no_study(const char *failures, const char *rest, const char *words)
{
    char          json[2000], text[800];
    cs_config    *config = NULL;
    cs_error      err    = {0};
    cs_whatif_job job    = {0};

    snprintf(json, sizeof json,
             "{\"job\": {\"compute\": \"1s\", \"bytes\": 240000000}%s, \"failures\": {%s}}", rest,
             failures);
    cs_status status = ct_config_load(json, &config, &err);
    status           = status == CS_OK ? cs_whatif_read(config, &job, &err) : status;
    cr_expect_neq(status, CS_OK, "accepted: %s", json);
    cs_error_text(&err, text, sizeof text);
    cr_expect_not_null(strstr(text, words), "%s: %s", json, text);
    cs_whatif_job_free(&job);
    cs_config_free(config);
}

Test(failures, bad_input_is_located)
{
#define CAUSE "\"causes\": [{\"takes\": \"nic\", \"mtbf\": \"1y\", \"mttr\": \"1d\"}]"
    expect_no_study(CAUSE, "", "failures: the key 'duration' is missing");
    expect_no_study("\"duration\": \"1d\"", "", "failures: accepted is one of");
    expect_no_study("\"duration\": \"1d\", \"preset\": \"llama3\", " CAUSE, "",
                    "failures: accepted is one of");
    expect_no_study("\"duration\": \"1d\", \"preset\": \"llama4\"", "", "failures.preset");
    expect_no_study("\"duration\": \"1d\", \"causes\": [{\"takes\": \"fan\", \"mtbf\": 1}]", "",
                    "failures.causes[0].takes");
    expect_no_study("\"duration\": \"1d\", \"causes\": [{\"takes\": \"nic\"}]", "",
                    "failures.causes[0]: the key 'mtbf' is missing");
    expect_no_study("\"duration\": \"1d\", \"causes\": [{\"takes\": \"nic\", \"mtbf\": 0}]", "",
                    "failures.causes[0].mtbf");
    expect_no_study("\"duration\": \"1d\", \"causes\": []", "", "failures.causes");
    expect_no_study("\"duration\": \"1d\", \"nics\": 33, " CAUSE, "", "failures.nics");
    expect_no_study("\"duration\": \"1d\", \"trials\": 0, " CAUSE, "", "failures.trials");
    expect_no_study("\"duration\": \"1000y\", \"causes\": [{\"takes\": \"nic\", \"mtbf\": \"1s\"}]",
                    "", "failures a trial are expected");
    /* 575 by their mean, but such a shape brings most of them early on. */
    expect_no_study("\"duration\": \"10d\", \"nics\": 32, \"causes\": [{\"takes\": \"nic\", "
                    "\"mtbf\": \"100y\", \"shape\": 0.2, \"mttr\": \"1d\"}]",
                    ", \"cluster\": {\"ranks\": 65535, \"gpus_per_server\": 1}",
                    "failures a trial are expected");
    expect_no_study("\"duration\": \"1d\", " CAUSE, ", \"faults\": []",
                    "faults: does not go with 'failures'");
    expect_no_study("\"duration\": \"1d\", " CAUSE,
                    ", \"cluster\": {\"ranks\": 8, \"gpus_per_server\": 8}",
                    "1 servers: accepted are 2");
    expect_no_study("\"duration\": \"1d\", " CAUSE,
                    ", \"cluster\": {\"servers\": [{\"count\": 2, \"gpus\": 8}, {\"gpus\": 4}]}",
                    "servers differ");
}

Test(failures, memory_may_run_out_anywhere)
{
    study     s      = run_study("\"duration\": \"90d\", \"trials\": 3, \"nics\": 4, \"causes\": "
                                          "[{\"takes\": \"nic\", \"mtbf\": \"200d\", \"mttr\": \"2d\"}]",
                                 "\"detect\": 1", "[\"iccl\", \"spare\", \"r2ccl\"]");
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status == CS_ENOMEM; passes += 1 + passes / 16) {
        cs_failure_report report = {0};
        cs_error          err    = {0};
        cs_alloc_fail_after(passes);
        status = cs_failures_run(&s.job, 1, &report, &err);
        cs_alloc_fail_after(-1);
        cs_failure_report_free(&report);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
        cr_assert_lt(passes, 1000000);
    }
    cr_assert_eq(status, CS_OK);
    release_study(&s);
}
