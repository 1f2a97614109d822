/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many iterations: closed forms against replays, the timing cases of late ranks, the published
 * gains and break-even persistences, the intervals' coverage, and rows that are the same for any
 * number of jobs, after a kill and out of the file. Seeds are fixed: nothing fails by chance. */
#include "base/alloc.h"
#include "base/random.h"
#include "montecarlo/montecarlo.h"
#include "montecarlo/samples.h"
#include "montecarlo/statistics.h"
#include "montecarlo/trial.h"
#include "results/store_montecarlo.h"

#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[128];

static void set_up(void)
{
    gsl_set_error_handler_off();
    snprintf(folder, sizeof folder, "/tmp/cs_montecarlo_XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.db", folder);
}

static void tear_down(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(montecarlo, .init = set_up, .fini = tear_down);

static void set(cs_config *config, const char *key, const char *json)
{
    cs_error err = {0};
    cr_assert_eq(cs_config_set(config, key, json, "--set", &err), CS_OK, "%s", err.message);
}

/* 8 GPUs, 56 chunks' worth of bytes: every closed form holds. */
static cs_config *base_config(const char *algorithm)
{
    cs_config *config = NULL;

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    set(config, "cluster",
        "{\"ranks\": 8, \"nic\": {\"bandwidth\": \"300GB/s\", \"alpha\": \"3us\"}}");
    set(config, "bytes", "1073741816");
    set(config, "algorithm.name", algorithm);
    return config;
}

#define RANDOM_ARRIVALS                                                                      \
    "{\"distribution\": {\"name\": \"lognormal\", \"mean\": \"1ms\", \"stddev\": \"1ms\"}, " \
    "\"straggler\": {\"rank\": 0, \"persistence\": 0.8, "                                    \
    "\"delay\": {\"name\": \"exponential\", \"mean\": \"4ms\"}}}"

static cs_config *random_config(void)
{
    cs_config *config = base_config("ring");

    set(config, "arrivals", RANDOM_ARRIVALS);
    set(config, "montecarlo", "{\"prediction\": \"static\"}");
    set(config, "sweep.algorithm.name",
        "[\"ring\", \"rhd\", \"allpairs\", \"broadcast\", \"stragglar\"]");
    return config;
}

static cs_case case_of(const cs_config *config, size_t index)
{
    cs_case  c   = {0};
    cs_error err = {0};
    cr_assert_eq(cs_config_case(config, index, &c, &err), CS_OK, "%s", err.message);
    return c;
}

static cs_montecarlo_options options_of(size_t iterations, unsigned jobs)
{
    return (cs_montecarlo_options){.iterations = iterations, .jobs = jobs, .confidence = 0.95};
}

static cs_montecarlo_report run(const cs_config *config, const cs_montecarlo_options *options)
{
    cs_montecarlo_report report = {0};
    cs_error             err    = {0};

    cr_assert_eq(cs_montecarlo_run(config, options, &report, &err), CS_OK, "%s: %s", err.where,
                 err.message);
    return report;
}

static cs_text json_of(const cs_montecarlo_report *report)
{
    cs_text text = {0};
    cs_montecarlo_json(&text, report->rows, report->n_rows);
    cr_assert_not(text.failed);
    return text;
}

static cs_text json_of_run(const cs_config *config, const cs_montecarlo_options *options)
{
    cs_montecarlo_report report = run(config, options);
    cs_text              text   = json_of(&report);
    cs_montecarlo_report_free(&report);
    return text;
}

static cs_samples samples_of(const cs_case *c, size_t n, bool is_replayed)
{
    cs_samples          samples = {0};
    cs_error            err     = {0};
    cs_sampling_request request = {.iterations = n, .jobs = 2, .is_replayed = is_replayed};

    cr_assert_eq(cs_samples_draw(c, &request, &samples, &err), CS_OK, "%s", err.message);
    return samples;
}

static void expect_agreement(const cs_case *c)
{
    enum { ITERATIONS = 600 };
    cs_samples formula = samples_of(c, ITERATIONS, false), replay = samples_of(c, ITERATIONS, true);

    cr_expect_eq(replay.n_replays, ITERATIONS);
    for (size_t k = 0; k < ITERATIONS; k++) {
        double want = replay.elapsed_s[k];
        cr_assert_float_eq(formula.elapsed_s[k], want, 1e-12 * want, "%s: %zu: %.17g, not %.17g",
                           c->algorithm->name, k, formula.elapsed_s[k], want);
        cr_assert_float_eq(formula.exposed_s[k], replay.exposed_s[k], 1e-12 * want);
    }
    cs_samples_free(&formula);
    cs_samples_free(&replay);
}

/* Every AllReduce of the registry that runs on 8 ranks. */
Test(montecarlo, closed_forms_and_replays_agree)
{
    static const char *const predictions[] = {"\"oracle\"", "\"static\"", "\"previous\"",
                                              "\"dynamic\""};
    cs_config               *config        = random_config();
    size_t                   count         = 0;

    set(config, "montecarlo.agreement", "\"20us\"");
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        set(config, "algorithm.name", cs_algorithms[i]->name);
        for (size_t p = 0; p < 4; p++) {
            set(config, "montecarlo.prediction", predictions[p]);
            cs_case c = case_of(config, 0);
            cs_plan plan;
            if (c.algorithm->check(&c.scenario, &c.options, &plan, NULL) == CS_OK) {
                cs_options_default(c.algorithm->options, &c.options);
                expect_agreement(&c);
                count++;
            }
            cs_case_free(&c);
        }
    }
    cr_expect_geq(count, 20);
    cs_config_free(config);
}

/* These have one for equal chunks. */
Test(montecarlo, closed_forms_are_used)
{
    cs_config *config = random_config();

    for (size_t i = 0; i < cs_config_count(config); i++) {
        cs_case    c       = case_of(config, i);
        cs_samples samples = samples_of(&c, 300, false);
        cr_expect_eq(samples.n_replays, 0, "%s", c.algorithm->name);
        cs_samples_free(&samples);
        cs_case_free(&c);
    }
    cs_config_free(config);
}

/* Where the bytes do not split, there is no closed form, and the replay takes over. */
Test(montecarlo, without_a_closed_form_it_replays)
{
    cs_config *config = random_config();

    set(config, "bytes", "1000003");
    cs_montecarlo_options options = options_of(300, 1);
    cs_montecarlo_report  report  = run(config, &options);
    cr_expect_str_eq(report.rows[4].algorithm, "stragglar");
    cr_expect_eq(report.rows[4].replays, 300);
    cr_expect(report.rows[4].verified);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

/* ---- one iteration ---- */

static cs_trial trial_of(const cs_config *config, const double *arrival_s, uint32_t previous)
{
    cs_case   c      = case_of(config, 0);
    cs_trials trials = {0};
    cs_trial  trial  = {0};
    cs_error  err    = {0};

    cr_assert_eq(cs_trials_open(&c, false, false, &trials, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_trial_run(&trials, arrival_s, previous, &trial, &err), CS_OK, "%s",
                 err.message);
    cr_assert_eq(cs_trial_prove(&trials, arrival_s, previous, &err), CS_OK, "%s", err.message);
    cs_case_free(&c);
    return trial;
}

#define BYTES 1073741816.0
#define ALPHA 3e-6
static const double tau   = ALPHA + BYTES / 7 / 300e9;
static const double t_rs  = 6 * (ALPHA + BYTES / 7 / 300e9);
static const double ring8 = 14 * (ALPHA + BYTES / 8 / 300e9);

/* d >= T_RS: c tau; 0 <= d < T_RS: T_RS - d + c tau; d <= 0: T_RS + c tau. */
Test(montecarlo, exposed_time_follows_the_delay)
{
    static const double others[8] = {0, 1e-4, 3e-4, 0, 2e-4, 0, 1e-4, 0};
    static const double delays[]  = {-2e-4, 0, 1e-6, 1e-3, 2e-3, 3.0855e-3, 3.1e-3, 1e-2};
    cs_config          *config    = base_config("stragglar");

    set(config, "algorithm.options.straggler", "5");
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        double arrival_s[8], d = delays[i];
        memcpy(arrival_s, others, sizeof others);
        arrival_s[5]   = 3e-4 + d;
        double   want  = 9 * tau + (d <= 0 ? t_rs : fmax(0, t_rs - d));
        cs_trial trial = trial_of(config, arrival_s, 0);
        cr_expect_float_eq(trial.exposed_s, want, 1e-12, "d = %g: %.15g", d, trial.exposed_s);
        cr_expect_float_eq(trial.elapsed_s, want + fmax(3e-4, arrival_s[5]), 1e-12);
        cr_expect_eq(trial.is_hit, d >= 0);
        cr_expect_not(trial.fell_back);
    }
    cs_config_free(config);
}

Test(montecarlo, barriers_and_agreement_are_paid)
{
    static const double arrival_s[8] = {0, 0, 0, 4e-3, 0, 1e-3, 0, 0};
    cs_config          *config       = base_config("stragglar");

    set(config, "algorithm.options", "{\"entry_barrier_s\": 2e-3, \"phase_barrier_s\": 5e-5}");
    set(config, "montecarlo", "{\"prediction\": \"dynamic\", \"agreement\": \"20us\"}");
    cs_trial trial = trial_of(config, arrival_s, 0);
    double   begin = 1e-3 + 2e-3 + 2e-5 + t_rs; /* later than rank 3 */
    cr_expect_float_eq(trial.elapsed_s, begin + 5e-5 + 9 * tau, 1e-12);
    cr_expect(trial.is_hit);
    set(config, "montecarlo", "{\"prediction\": \"oracle\", \"agreement\": \"20us\"}");
    trial = trial_of(config, arrival_s, 0);
    cr_expect_float_eq(trial.elapsed_s, begin - 2e-5 + 5e-5 + 9 * tau, 1e-12);
    cs_config_free(config);
}

Test(montecarlo, the_fallback_runs_where_the_presumed_rank_is_there)
{
    static const double hit[8] = {0, 0, 0, 0, 0, 0, 0, 4e-3}, miss[8] = {0, 0, 4e-3, 0, 0, 0, 0, 0};
    cs_config          *config = base_config("stragglar");

    set(config, "montecarlo",
        "{\"prediction\": \"static\", \"presumed\": 7, "
        "\"agreement\": \"20us\", \"fallback\": \"ring\"}");
    cs_trial trial = trial_of(config, hit, 0);
    cr_expect_not(trial.fell_back);
    cr_expect_float_eq(trial.exposed_s, fmax(t_rs + 2e-5, 4e-3) - 4e-3 + 9 * tau, 1e-12);
    trial = trial_of(config, miss, 0);
    cr_expect(trial.fell_back);
    cr_expect_not(trial.is_hit);
    cr_expect_float_eq(trial.exposed_s, ring8 + 2e-5, 1e-12);
    cr_expect_float_eq(trial.elapsed_s, 4e-3 + ring8 + 2e-5, 1e-12);
    set(config, "montecarlo.prediction", "\"dynamic\"");
    cs_config_free(config);
}

/* Two ranks have no pre-phase, so nothing to agree about. */
Test(montecarlo, two_ranks_agree_at_no_cost)
{
    static const double arrival_s[2] = {1e-3, 0};
    cs_config          *config       = base_config("stragglar");

    set(config, "cluster.ranks", "2");
    set(config, "montecarlo", "{\"prediction\": \"dynamic\", \"agreement\": \"20us\"}");
    cs_trial trial = trial_of(config, arrival_s, 0);
    cr_expect_float_eq(trial.exposed_s, ALPHA + BYTES / 300e9, 1e-12);
    cs_config_free(config);
}

Test(montecarlo, previous_presumes_who_was_last_before)
{
    static const double arrival_s[8] = {0, 0, 0, 0, 1e-2, 0, 0, 0};
    cs_config          *config       = base_config("stragglar");

    set(config, "montecarlo.prediction", "\"previous\"");
    cr_expect_float_eq(trial_of(config, arrival_s, 4).exposed_s, 9 * tau, 1e-12);
    cr_expect_float_eq(trial_of(config, arrival_s, 3).exposed_s, 9 * tau + t_rs, 1e-12);
    cr_expect_not(trial_of(config, arrival_s, 3).is_hit);
    cs_config_free(config);
}

/* ---- the numbers that are published ---- */

/* Gain over the ring per call on 8 GPUs of 300 GB/s, a delay of 9.46 ms, when the presumed rank is
 * the straggler with probability p: p min(D, T_RS) - critical delay. Tables in ms. */
Test(montecarlo, published_gains_come_out)
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

    set(config, "sweep.algorithm.name", "[\"ring\", \"stragglar\"]");
    for (int i = 0; i < 4; i++) {
        set(config, "bytes", rows[i].bytes);
        for (int j = 0; j < 4; j++) {
            char arrivals[160];
            snprintf(arrivals, sizeof arrivals,
                     "{\"straggler\": {\"rank\": 2, \"persistence\": %g, \"delay\": \"9.46ms\"}}",
                     persistences[j]);
            set(config, "arrivals", arrivals);
            set(config, "montecarlo.prediction", "\"static\"");
            cs_montecarlo_report     report = run(config, &options);
            const cs_montecarlo_row *row    = &report.rows[1];
            double                   half = row->saved_mean_high_s * 1e3 - row->saved_mean_s * 1e3;
            cr_expect_float_eq(report.rows[0].exposed_mean_s * 1e3, rows[i].ring_ms, 0.05);
            cr_expect_float_eq(row->saved_mean_s * 1e3, rows[i].gain_ms[j], 2 * half + 0.005,
                               "%s, p = %g: %g +- %g ms", rows[i].bytes, persistences[j],
                               row->saved_mean_s * 1e3, half);
            cr_expect_float_eq(row->hit_ratio, persistences[j], 0.02);
            cs_montecarlo_report_free(&report);
        }
    }
    cs_config_free(config);
}

/* At the persistence p* = crit / min(D, T_RS) StragglAR saves nothing. Near it the gain is linear:
 * two runs with common random numbers find its zero. */
Test(montecarlo, published_break_even_persistences_come_out)
{
    static const struct {
        const char *bytes;
        double      break_even;
    } rows[] = {{"\"1GiB\"", 0.457}, {"\"2GiB\"", 0.457}, {"\"4GiB\"", 0.595}, {"\"6GiB\"", 0.892}};
    cs_config            *config  = base_config("ring");
    cs_montecarlo_options options = options_of(4000, 2);

    set(config, "sweep.algorithm.name", "[\"ring\", \"stragglar\"]");
    set(config, "montecarlo.prediction", "\"static\"");
    for (int i = 0; i < 4; i++) {
        double saved[2], hits[2];
        set(config, "bytes", rows[i].bytes);
        for (int j = 0; j < 2; j++) {
            char arrivals[160];
            snprintf(arrivals, sizeof arrivals,
                     "{\"straggler\": {\"rank\": 2, \"persistence\": %g, \"delay\": \"9.46ms\"}}",
                     rows[i].break_even + (j == 0 ? -0.05 : 0.05));
            set(config, "arrivals", arrivals);
            cs_montecarlo_report report = run(config, &options);
            saved[j]                    = report.rows[1].saved_mean_s;
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
Test(montecarlo, random_delays_give_the_expected_gain)
{
    cs_config            *config  = base_config("ring");
    cs_montecarlo_options options = options_of(50000, 2);
    double                p = 0.77, m = 4e-3, crit = t_rs + 9 * tau - ring8;

    set(config, "arrivals",
        "{\"straggler\": {\"rank\": 0, \"persistence\": 0.77, \"delay\": "
        "{\"name\": \"exponential\", \"mean\": \"4ms\"}}}");
    set(config, "montecarlo.prediction", "\"static\"");
    set(config, "sweep.algorithm.name", "[\"ring\", \"stragglar\"]");
    for (cs_sampling sampling = 0; sampling < CS_SAMPLING_COUNT; sampling++) {
        options.sampling                = sampling;
        cs_montecarlo_report     report = run(config, &options);
        const cs_montecarlo_row *row    = &report.rows[1];
        double                   want   = p * m * (1 - exp(-t_rs / m)) - crit;
        double                   half   = row->saved_mean_high_s - row->saved_mean_s;
        cr_expect_float_eq(row->saved_mean_s, want, 2 * half, "%s: %g, not %g",
                           cs_sampling_name(sampling), row->saved_mean_s, want);
        cr_expect_lt(half, 0.02 * p * m);
        cr_expect_float_eq(row->speedup, ring8 / row->exposed_mean_s, 1e-12);
        cs_montecarlo_report_free(&report);
    }
    cs_config_free(config);
}

/* ---- statistics ---- */

/* Of 400 intervals at 90 %, about 360 hold the true value: between 336 and 384 (4 deviations), and
 * those of quantiles at least so many. */
Test(montecarlo, intervals_hold_the_truth_as_often_as_they_say)
{
    enum { RUNS = 400, SIZE = 200 };
    gsl_rng *random = cs_random_stream(3, "coverage");
    double   x[SIZE], scratch[SIZE];
    int      means = 0, p50s = 0, p95s = 0, batches = 0;

    for (int r = 0; r < RUNS; r++) {
        for (int i = 0; i < SIZE; i++) {
            x[i] = gsl_cdf_ugaussian_Pinv(cs_random_uniform(random));
        }
        cs_spread s, b;
        cs_spread_of(x, SIZE, 0, 0.9, scratch, &s);
        cs_spread_of(x, SIZE, 16, 0.9, scratch, &b);
        means += s.mean.low <= 0 && 0 <= s.mean.high;
        batches += b.mean.low <= 0 && 0 <= b.mean.high;
        p50s += s.p50.low <= 0 && 0 <= s.p50.high;
        p95s += s.p95.low <= 1.6448536 && 1.6448536 <= s.p95.high;
        cr_assert_eq(s.mean.value, b.mean.value);
        cr_assert_eq(s.p99.value, b.p99.value);
    }
    gsl_rng_free(random);
    cr_expect(means >= 336 && means <= 384, "%d", means);
    cr_expect(batches >= 336 && batches <= 384, "%d", batches);
    cr_expect(p50s >= 348, "%d", p50s);
    cr_expect(p95s >= 348, "%d", p95s);
}

/* The ranks of the order statistics, from tables: n = 100, 95 %: X(40) and X(61) for the median. */
Test(montecarlo, quantiles_have_the_ranks_of_the_tables)
{
    double x[1000];

    for (int i = 0; i < 1000; i++) {
        x[i] = i + 1;
    }
    cs_estimate e = cs_estimate_quantile(x, 100, 0.5, 0.95);
    cr_expect_eq(e.low, 40);
    cr_expect_eq(e.high, 61);
    cr_expect_float_eq(e.value, 50.5, 1e-12);
    e = cs_estimate_quantile(x, 6, 0.5, 0.95); /* P(all on one side) = 2^-6 < 2.5 % */
    cr_expect_eq(e.low, 1);
    cr_expect_eq(e.high, 6);
    e = cs_estimate_quantile(x, 5, 0.5, 0.95);
    cr_expect(isnan(e.low) && isnan(e.high));
    e = cs_estimate_quantile(x, 100, 0.99, 0.95);
    cr_expect(isfinite(e.low) && isnan(e.high));
    e = cs_estimate_mean(x, 1, 0, 0.95);
    cr_expect(e.value == 1 && isnan(e.low) && isnan(e.high));
    e = cs_estimate_mean(x, 3, 0, 0.95); /* 2 -+ 4.302653 / sqrt(3) */
    cr_expect_float_eq(e.high, 2 + 4.30265272975 / sqrt(3), 1e-9);
}

/* A straggler that stays for long makes neighbours alike: the interval says so. */
Test(montecarlo, memory_widens_the_interval)
{
    static const char *const correlations[] = {"0", "0.98"};
    cs_montecarlo_options    options        = options_of(20000, 2);
    double                   half[2];

    for (int i = 0; i < 2; i++) {
        cs_config *config = base_config("stragglar");
        set(config, "arrivals",
            "{\"straggler\": {\"rank\": 0, \"persistence\": 0.7, \"delay\": \"4ms\"}}");
        set(config, "arrivals.straggler.correlation", correlations[i]);
        set(config, "montecarlo.prediction", "\"static\"");
        cs_montecarlo_report report = run(config, &options);
        half[i] = report.rows[0].exposed_mean_high_s - report.rows[0].exposed_mean_s;
        cs_montecarlo_report_free(&report);
        cs_config_free(config);
    }
    /* The variance of the mean grows by (1 + c) / (1 - c) = 99. */
    cr_expect(half[1] > 6 * half[0] && half[1] < 16 * half[0], "%g", half[1] / half[0]);
}

Test(montecarlo, pairs_are_sharper_than_what_they_are_made_of)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(5000, 2);

    set(config, "sweep.algorithm.name", "[\"broadcast\", \"stragglar\"]");
    cs_montecarlo_report     report = run(config, &options);
    const cs_montecarlo_row *a = &report.rows[0], *b = &report.rows[1];
    double                   apart = hypot(a->exposed_stddev_s, b->exposed_stddev_s);

    cr_expect_float_eq(b->saved_mean_s, a->exposed_mean_s - b->exposed_mean_s, 1e-12);
    cr_expect_lt(b->saved_stddev_s, apart / 2);
    cr_expect_str_eq(b->baseline, "broadcast");
    cr_expect_str_empty(a->baseline);
    cr_expect(isnan(a->saved_mean_s));
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

/* ---- rows ---- */

Test(montecarlo, any_number_of_jobs_gives_the_same_bits)
{
    static const unsigned jobs[] = {0, 2, 3, 7};

    for (cs_sampling sampling = 0; sampling < CS_SAMPLING_COUNT; sampling++) {
        cs_config            *config  = random_config();
        cs_montecarlo_options options = options_of(1500, 1);
        set(config, "sweep.montecarlo.prediction", "[\"static\", \"previous\", \"dynamic\"]");
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

    set(config, "algorithm.options.straggler", "7");

    set(config, "sweep.bytes", "[1000, 2000]");
    set(config, "sweep.cluster.ranks", "[6, 8]");
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
    cr_expect_eq(report.total, 20);
    cr_expect_eq(report.done_before, 8);
    cr_expect_eq(report.run, 12);
    cr_expect_eq(report.failed, 4);
    cs_text got = json_of(&report);
    cr_expect_str_eq(got.data, want.data);
    cs_text_free(&got);
    cs_montecarlo_report_free(&report);
    report = run(config, &options); /* all out of the file: the same bits again */
    cr_expect_eq(report.done_before, 20);
    got = json_of(&report);
    cr_expect_str_eq(got.data, want.data);
    cs_text_free(&got);
    cs_montecarlo_report_free(&report);
    options.iterations = 1001; /* another run */
    report             = run(config, &options);
    cr_expect_eq(report.done_before, 0);
    cs_montecarlo_report_free(&report);
    cs_text_free(&want);
    cs_config_free(config);
}

static volatile sig_atomic_t stop;

static void stop_at(void *user, uint64_t done, uint64_t total)
{
    (void)total;
    stop = done >= *(uint64_t *)user;
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
    cr_expect(report.is_stopped);
    cr_expect_eq(report.run, 5);
    cr_expect_eq(report.n_rows, 5);
    cs_montecarlo_report_free(&report);
    stop             = 0;
    options.progress = NULL;
    report           = run(config, &options);
    cr_expect_eq(report.done_before, 5);
    cr_expect_eq(report.run, 15);
    cr_expect_not(report.is_stopped);
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
            cr_expect(isnan(row->exposed_mean_s) && isnan(row->saved_mean_s));
            errors++;
        } else {
            cr_expect(isfinite(row->exposed_p95_s));
        }
    }
    cr_expect_eq(errors, 4);
    cs_montecarlo_report_free(&report);
    options.baseline = "stragglar"; /* a baseline that cannot be run: no differences */
    report           = run(config, &options);
    for (size_t i = 0; i < report.n_rows; i++) {
        const cs_montecarlo_row *row = &report.rows[i];
        bool is_compared             = row->ranks == 8 && strcmp(row->algorithm, "stragglar") != 0;
        cr_expect_eq(isfinite(row->saved_mean_s), is_compared, "%s, %llu", row->algorithm,
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
        cs_case a = case_of(config, i), b;
        cr_assert_eq(cs_config_baseline(config, i, "rhd", &base, &err), CS_OK);
        b = case_of(config, base);
        cr_expect_str_eq(b.algorithm->name, "rhd");
        cr_expect_eq(a.scenario.bytes, b.scenario.bytes);
        cr_expect_eq(a.scenario.cluster.n_ranks, b.scenario.cluster.n_ranks);
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

/* Verification reaches every iteration: none fails here, and each is replayed. */
Test(montecarlo, every_iteration_can_be_verified)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(300, 2);

    options.is_verified         = true;
    cs_montecarlo_report report = run(config, &options);
    for (size_t i = 0; i < report.n_rows; i++) {
        cr_expect_eq(report.rows[i].replays, 300);
        cr_expect(report.rows[i].verified);
    }
    cs_montecarlo_report_free(&report);
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

Test(montecarlo, every_failed_allocation_is_clean)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(40, 1);
    cs_status             status  = CS_ENOMEM;
    long                  passes  = 0;

    for (; status == CS_ENOMEM && passes < 5000; passes++) {
        cs_montecarlo_report report = {0};
        cs_error             err    = {0};
        options.path                = passes % 2 == 0 ? path : NULL;
        unlink(path);
        cs_alloc_fail_after(passes);
        status = cs_montecarlo_run(config, &options, &report, &err);
        cs_alloc_fail_after(-1);
        cs_montecarlo_report_free(&report);
    }
    cr_expect_eq(status, CS_OK);
    cr_expect_gt(passes, 50);
    cs_config_free(config);
}

static cs_config *example(const char *name)
{
    cs_config *config = NULL;
    cs_error   err    = {0};
    char       file[512];

    snprintf(file, sizeof file, "%s/configs/%s.json", COLLSIM_SOURCE_DIR, name);
    cr_assert_eq(cs_config_load(file, &config, &err), CS_OK, "%s", err.message);
    return config;
}

Test(montecarlo, the_examples_are_run)
{
    cs_config            *config  = example("montecarlo-arrivals");
    cs_montecarlo_options options = options_of(20000, 2);
    cs_montecarlo_report  report  = run(config, &options);

    cr_expect_eq(report.n_rows, 5);
    cr_expect_eq(report.failed, 0);
    cr_expect_float_eq(report.rows[4].hit_ratio, 0.9, 0.01);
    cr_expect_gt(report.rows[4].saved_mean_low_s, 0);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
    config  = example("montecarlo-trace");
    options = options_of(1000, 2);
    report  = run(config, &options);
    cr_expect_eq(report.n_rows, 8);
    cr_expect_eq(report.failed, 0);
    cr_expect_str_eq(report.rows[5].fallback, "ring");
    cr_expect_float_eq(report.rows[5].fallback_ratio, 1 - report.rows[5].hit_ratio, 1e-12);
    cr_expect_lt(report.rows[5].exposed_mean_s, report.rows[4].exposed_mean_s);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

/* As many iterations as calls, in order: the means of what happened, computed here. */
Test(montecarlo, a_trace_in_order_is_what_happened)
{
    cs_config *config = example("montecarlo-trace");

    set(config, "arrivals.trace.pick", "in-order");
    set(config, "bytes", "58720256");
    set(config, "sweep", "{}");
    set(config, "algorithm.name", "stragglar");
    set(config, "montecarlo", "{\"prediction\": \"static\", \"presumed\": 5}");
    cs_case               c     = case_of(config, 0);
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
    cr_expect_float_eq(report.rows[0].exposed_mean_s, sum / (double)calls, 1e-15);
    cr_expect_eq(report.rows[0].hit_ratio, (double)hits / (double)calls);
    cs_montecarlo_report_free(&report);
    cs_case_free(&c);
    cs_config_free(config);
}
