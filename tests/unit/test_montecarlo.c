/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of many iterations: the same for any number of jobs, after a kill and out of the file; what
 * cannot be run, baselines, options out of range, foreign files, and memory that runs out.
 * Fingerprints: what changes the rows changes them. Intervals: memory widens them, pairs with
 * common random numbers are sharp; their seeds are fixed. */
#include "cs/build.h"
#include "montecarlo_setup.h"
#include "support/query.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(montecarlo, .init = set_up, .fini = tear_down);

Test(montecarlo, any_number_of_jobs_gives_the_same_bits)
{
    static const unsigned jobs[] = {0, 2, 3, 7};

    for (cs_sampling sampling = 0; sampling < CS_SAMPLING_COUNT; sampling++) {
        cs_config            *config  = random_config();
        cs_montecarlo_options options = options_of(1500, 1);
        ct_set(config, "sweep.montecarlo.prediction", "[\"static\", \"previous\", \"dynamic\"]");
        options.sampling = sampling;
        cs_text want     = json_of_run(config, &options);
        for (int i = 0; i < 4; i++) {
            options.jobs = jobs[i];
            cs_text got  = json_of_run(config, &options);
            cr_assert_str_eq(got.data, want.data, "%u jobs", jobs[i]);
            cs_text_free(&got);
        }
        cs_text_free(&want);
        cs_config_free(config);
    }
}

/* Two sizes, and with six ranks a presumed rank that does not exist. */
static cs_config *many_rows(void)
{
    cs_config *config = random_config();

    ct_set(config, "algorithm.options.straggler", "7");

    ct_set(config, "sweep.bytes", "[1000, 2000]");
    ct_set(config, "sweep.cluster.ranks", "[6, 8]");
    return config;
}

/* Dies without a word at the given progress. */
static void die_at(void *user, uint64_t done, uint64_t total)
{
    (void)total;
    if (done >= *(uint64_t *)user) {
        kill(getpid(), SIGKILL);
    }
}

Test(montecarlo, killed_and_run_again_it_goes_on)
{
    cs_config            *config  = many_rows();
    cs_montecarlo_options options = options_of(1000, 2);
    cs_text               want    = json_of_run(config, &options);
    uint64_t              at      = 8500;
    int                   how     = 0;

    options.path     = path;
    options.jobs     = 1; /* every block tells how far it is */
    options.progress = die_at;
    options.user     = &at;
    pid_t child      = fork();
    if (child == 0) {
        cs_montecarlo_report report;
        _exit((int)cs_montecarlo_run(config, &options, &report, NULL));
    }
    cr_assert_eq(waitpid(child, &how, 0), child);
    cr_assert(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    options.jobs                = 2;
    options.progress            = NULL;
    cs_montecarlo_report report = run(config, &options);
    cr_expect_eq(report.count.total, 20);
    cr_expect_eq(report.count.done_before, 8);
    cr_expect_eq(report.count.run, 12);
    cr_expect_eq(report.failed, 4);
    cs_text got = json_of(&report);
    cr_expect_str_eq(got.data, want.data);
    cs_text_free(&got);
    cs_montecarlo_report_free(&report);
    report = run(config, &options); /* all out of the file: the same bits again */
    cr_expect_eq(report.count.done_before, 20);
    got = json_of(&report);
    cr_expect_str_eq(got.data, want.data);
    cs_text_free(&got);
    cs_montecarlo_report_free(&report);
    options.iterations = 1001; /* another run */
    report             = run(config, &options);
    cr_expect_eq(report.count.done_before, 0);
    cs_montecarlo_report_free(&report);
    cs_text_free(&want);
    cs_config_free(config);
}

Test(montecarlo, stopped_it_keeps_what_is_done)
{
    cs_config            *config  = many_rows();
    cs_montecarlo_options options = options_of(1000, 1);
    uint64_t              at      = 5200;

    options.path                = path;
    options.progress            = stop_at;
    options.user                = &at;
    options.stop                = &stop;
    cs_montecarlo_report report = run(config, &options);
    cr_expect(report.count.is_stopped);
    cr_expect_eq(report.count.run, 5);
    cr_expect_eq(report.n_rows, 5);
    cs_montecarlo_report_free(&report);
    stop             = 0;
    options.progress = NULL;
    report           = run(config, &options);
    cr_expect_eq(report.count.done_before, 5);
    cr_expect_eq(report.count.run, 15);
    cr_expect_not(report.count.is_stopped);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

Test(montecarlo, what_cannot_be_run_is_a_row_with_the_reason)
{
    cs_config            *config  = many_rows();
    cs_montecarlo_options options = options_of(500, 1);
    cs_montecarlo_report  report  = run(config, &options);
    size_t                errors  = 0;

    for (size_t i = 0; i < report.n_rows; i++) {
        const cs_montecarlo_row *row = &report.rows[i];
        if (row->error[0] != '\0') {
            cr_expect_eq(row->ranks, 6);
            cr_expect(strcmp(row->algorithm, "broadcast") != 0 ||
                          strcmp(row->error, "algorithm.options.straggler: rank 7 does not exist; "
                                             "accepted are 0 .. 5 and auto") == 0,
                      "%s", row->error);
            cr_expect(isnan(row->exposed_s.mean.value) && isnan(row->saved_s.mean.value));
            errors++;
        } else {
            cr_expect(isfinite(row->exposed_s.p95.value));
        }
    }
    cr_expect_eq(errors, 4);
    cs_montecarlo_report_free(&report);
    options.baseline = "stragglar"; /* a baseline that cannot be run: no differences */
    report           = run(config, &options);
    for (size_t i = 0; i < report.n_rows; i++) {
        const cs_montecarlo_row *row = &report.rows[i];
        bool is_compared             = row->ranks == 8 && strcmp(row->algorithm, "stragglar") != 0;
        cr_expect_eq(isfinite(row->saved_s.mean.value), is_compared, "%s, %llu", row->algorithm,
                     (unsigned long long)row->ranks);
    }
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

Test(montecarlo, a_baseline_agrees_on_all_but_the_algorithm)
{
    cs_config *config = many_rows();
    size_t     base   = 0;
    cs_error   err    = {0};

    for (size_t i = 0; i < cs_config_count(config); i++) {
        cs_case a = ct_case(config, i), b;
        cr_assert_eq(cs_config_baseline(config, i, "rhd", &base, &err), CS_OK);
        b = ct_case(config, base);
        cr_expect_str_eq(b.job.algorithm->name, "rhd");
        cr_expect_eq(a.job.scenario.bytes, b.job.scenario.bytes);
        cr_expect_eq(a.job.scenario.cluster.n_ranks, b.job.scenario.cluster.n_ranks);
        cs_case_free(&a);
        cs_case_free(&b);
    }
    cr_expect_eq(cs_config_baseline(config, 0, "optcc", &base, &err), CS_EINVAL);
    cr_expect_str_eq(err.message, "no scenario runs 'optcc': accepted are the algorithms of the "
                                  "configuration");
    cs_config_free(config);
    config = base_config("rhd");
    cr_expect_eq(cs_config_baseline(config, 0, "rhd", &base, NULL), CS_OK);
    cr_expect_eq(cs_config_baseline(config, 0, "ring", &base, NULL), CS_EINVAL);
    cs_config_free(config);
}

Test(montecarlo, options_out_of_range_are_refused)
{
    cs_config            *config  = random_config();
    cs_montecarlo_report  report  = {0};
    cs_montecarlo_options options = options_of(0, 1);
    cs_error              err     = {0};

    cr_expect_eq(cs_montecarlo_run(config, &options, &report, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "--iterations");
    err     = (cs_error){0};
    options = options_of(20000001, 1);
    cr_expect_eq(cs_montecarlo_run(config, &options, &report, &err), CS_EINVAL);
    cr_expect_str_eq(err.message, "20000001 is outside [1, 20000000]");
    err                = (cs_error){0};
    options            = options_of(10, 1);
    options.confidence = 1;
    cr_expect_eq(cs_montecarlo_run(config, &options, &report, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "--confidence");
    err              = (cs_error){0};
    options          = options_of(31, 1);
    options.sampling = CS_SAMPLING_SOBOL;
    cr_expect_eq(cs_montecarlo_run(config, &options, &report, &err), CS_EINVAL);
    cr_expect_str_eq(err.message,
                     "31 are too few for 16 shifted sequences: accepted are 32 and more");
    cs_config_free(config);
}

Test(montecarlo, a_foreign_file_is_refused)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(10, 1);
    cs_montecarlo_report  report  = {0};
    cs_error              err     = {0};
    FILE                 *file    = fopen(path, "w");

    fputs("not a database, but long enough to be looked at", file);
    fclose(file);
    options.path = path;
    cr_expect_eq(cs_montecarlo_run(config, &options, &report, &err), CS_EINVAL);
    cr_expect_str_eq(err.input, path);
    cs_config_free(config);
}

/* Half of the scenarios need SimGrid's program, which is looked for where it is not. */
Test(montecarlo, what_the_machine_lacks_is_no_row_and_is_tried_again)
{
    cs_config            *config  = eight_gpus("ring");
    cs_montecarlo_options options = options_of(4, 2);

    ct_set(config, "arrivals", RANDOM_ARRIVALS);
    ct_set(config, "sweep.model.name", "[\"alpha-beta\", \"simgrid\"]");
    options.path = path;
    setenv("COLLSIM_MODULES", folder, 1);
    for (int i = 0; i < 2; i++) {
        cs_montecarlo_report report = run(config, &options);
        cr_expect_eq(report.count.run, i == 0 ? 1 : 0);
        cr_expect_eq(report.count.done_before, i == 0 ? 0 : 1);
        cr_expect_eq(report.count.missing, 1);
        cr_expect_eq(report.failed, 0);
        cr_expect_eq(report.count.failure.status, CS_EMISSING);
        cr_expect_not(report.count.is_stopped);
        cr_assert_eq(report.n_rows, 1);
        cr_expect_str_eq(report.rows[0].model, "alpha-beta");
        cr_expect_str_eq(report.rows[0].build, cs_build());
        cs_montecarlo_report_free(&report);
    }
    cs_config_free(config);
}

Test(montecarlo, every_failed_allocation_is_clean)
{
    cs_config *config = random_config();

    fail_each_allocation(config, 40, true);
    cs_config_free(config);
}

/* Beside the JSON of the scenario, in SI units; objects and lists as JSON. */
Test(montecarlo, every_swept_key_is_a_column)
{
    cs_config            *config  = base_config("ring");
    cs_montecarlo_options options = options_of(20, 1);
    cs_montecarlo_report  report;
    cs_text               text = {0};

    options.path = path;
    ct_set(config, "arrivals.distribution", "{\"name\": \"exponential\", \"mean\": \"1ms\"}");
    ct_set(config, "sweep",
           "{\"cluster.nic.alpha\": [\"1us\", \"2us\"], \"arrivals.late\": [[], [{\"rank\": 1, "
           "\"delay\": \"1ms\"}]]}");
    for (int pass = 0; pass < 2; pass++) { /* run, and out of the file */
        report = run(config, &options);
        cr_assert_eq(report.n_rows, 4);
        cr_expect_eq(report.count.done_before, pass == 0 ? 0 : 4);
        cs_montecarlo_json(&text, report.rows, report.n_rows, &report.swept);
        cr_expect_not_null(strstr(text.data, ", \"cluster.nic.alpha_s\": 1e-06, \"arrivals.late\": "
                                             "[], \"scenario\": {"));
        cr_expect_not_null(strstr(text.data, ", \"cluster.nic.alpha_s\": 2e-06, \"arrivals.late\": "
                                             "[{\"delay\":\"1ms\",\"rank\":1}], \"scenario\": {"));
        cs_text_free(&text);
        cs_montecarlo_csv(&text, report.rows, report.n_rows, &report.swept);
        cr_expect_not_null(strstr(text.data, ",build,cluster.nic.alpha_s,arrivals.late,scenario,"));
        cr_expect_not_null(strstr(text.data, ",1e-06,[],"));
        cs_text_free(&text);
        cs_montecarlo_report_free(&report);
    }
    text = ct_query(path, "SELECT \"cluster.nic.alpha_s\", \"arrivals.late\" FROM montecarlo "
                          "ORDER BY 1, 2");
    cr_expect_str_eq(text.data,
                     "1.0e-06|[]\n1.0e-06|[{\"delay\":\"1ms\",\"rank\":1}]\n2.0e-06|[]\n2.0e-06|"
                     "[{\"delay\":\"1ms\",\"rank\":1}]\n");
    cs_text_free(&text);
    cs_config_free(config);
}

/* ---- fingerprints ---- */

static uint64_t print_of(const cs_config *config, const cs_montecarlo_options *options)
{
    uint64_t fingerprint = 0;
    cs_error err         = {0};

    cr_assert_eq(cs_montecarlo_fingerprint(config, options, &fingerprint, &err), CS_OK, "%s",
                 err.message);
    return fingerprint;
}

Test(montecarlo_fingerprint, a_fingerprint_tells_runs_apart)
{
    cs_config            *config = random_config();
    cs_montecarlo_options base   = options_of(600, 1), other[8];
    uint64_t              want   = 0;
    cs_error              err    = {0};

    ct_set(config, "sweep.bytes", "[1000, 2000, 3000, 1000003]");
    base.path = "a.db";
    want      = print_of(config, &base);
    for (int i = 0; i < 8; i++) {
        other[i] = base;
    }
    other[0].iterations  = 601;
    other[1].sampling    = CS_SAMPLING_SOBOL;
    other[2].confidence  = 0.96;
    other[3].baseline    = "rhd";
    other[4].is_replayed = true;
    other[5].is_verified = true;
    other[6].path        = NULL;
    for (int i = 0; i < 7; i++) {
        cr_expect_neq(print_of(config, &other[i]), want, "%d", i);
    }
    other[7].jobs     = 9; /* what may differ */
    other[7].path     = "b.db";
    other[7].baseline = "ring";
    cr_expect_eq(print_of(config, &other[7]), want);
    ct_set(config, "sweep.bytes", "[1000, 2000, 3000, 1000004]");
    cr_expect_neq(print_of(config, &base), want);
    base.iterations = 0;
    cr_expect_eq(cs_montecarlo_fingerprint(config, &base, &want, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "--iterations");
    cs_config_free(config);
}

/* ---- intervals ---- */

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
