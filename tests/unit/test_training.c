/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterations of training: the presets' sizes out of their architectures, iterations by hand with
 * and without overlap, against single calls and against a walk written here; what they save, and
 * rows that are the same for any number of jobs and out of the file. */
#include "analytic/formula.h"
#include "base/alloc.h"
#include "montecarlo/iteration.h"
#include "montecarlo/montecarlo.h"
#include "montecarlo/samples.h"
#include "montecarlo/training.h"

#include <criterion/criterion.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALPHA 3e-6
#define RATE  300e9
enum { RANKS = 8 };

static char folder[64], path[128];

static void set_up(void)
{
    gsl_set_error_handler_off();
    snprintf(folder, sizeof folder, "/tmp/cs_training_XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t.db", folder);
}

static void tear_down(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(training, .init = set_up, .fini = tear_down);

static void set(cs_config *config, const char *key, const char *json)
{
    cs_error err = {0};
    cr_assert_eq(cs_config_set(config, key, json, "--set", &err), CS_OK, "%s", err.message);
}

/* Three buckets of two sizes, all of which split into 56 chunks: closed forms hold. */
#define JOB "{\"compute\": \"1ms\", \"buckets\": [56000000, 112000000, 56000000]}"

static cs_config *base_config(const char *algorithm)
{
    cs_config *config = NULL;

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    set(config, "cluster",
        "{\"ranks\": 8, \"nic\": {\"bandwidth\": \"300GB/s\", \"alpha\": \"3us\"}}");
    set(config, "training", JOB);
    set(config, "algorithm.name", algorithm);
    return config;
}

#define RANDOM_ARRIVALS                                                                        \
    "{\"distribution\": {\"name\": \"lognormal\", \"mean\": \"200us\", \"stddev\": \"99us\"}," \
    " \"straggler\": {\"rank\": 0, \"persistence\": 0.8, "                                     \
    "\"delay\": {\"name\": \"exponential\", \"mean\": \"1ms\"}}}"

static cs_config *random_config(void)
{
    cs_config *config = base_config("ring");

    set(config, "arrivals", RANDOM_ARRIVALS);
    set(config, "training.overlap", "0.6");
    set(config, "training.tail", "\"100us\"");
    set(config, "montecarlo", "{\"prediction\": \"static\", \"agreement\": \"20us\"}");
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

static cs_text json_of_run(const cs_config *config, const cs_montecarlo_options *options)
{
    cs_text              text   = {0};
    cs_montecarlo_report report = run(config, options);

    cs_montecarlo_json(&text, report.rows, report.n_rows);
    cr_assert_not(text.failed);
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

/* One iteration without random parts. */
static cs_iteration iteration_of(const cs_config *config)
{
    cs_case      c      = case_of(config, 0);
    cs_samples   s      = samples_of(&c, 1, false);
    cs_iteration result = {.elapsed_s = s.elapsed_s[0], .exposed_s = s.exposed_s[0]};

    cs_samples_free(&s);
    cs_case_free(&c);
    return result;
}

static double ring(double bytes)
{
    return cs_formula_ring(RANKS, ALPHA, bytes / RATE);
}

/* ---- presets ---- */

static uint64_t parameters_of(const char *name)
{
    const cs_workload *workload = NULL;
    cr_assert_eq(cs_workload_find(name, &workload, NULL), CS_OK);
    return workload->n_parameters;
}

/* Rows and columns of a matrix, and its bias. */
static uint64_t full(uint64_t in, uint64_t out)
{
    return in * out + out;
}

/* Decoder layers with grouped attention and gated layers behind it (three matrices), each
 * with two norms, and a last norm. `bias`: of queries, keys and values. */
static uint64_t decoder(uint64_t layers, uint64_t width, uint64_t key_width, uint64_t inner,
                        bool bias)
{
    uint64_t attention = 2 * width * width + 2 * width * key_width;
    attention += bias ? width + 2 * key_width : 0;
    return layers * (attention + 3 * width * inner + 2 * width) + width;
}

/* BERT's and GPT-2's layers: all matrices with biases, norms with a scale and a shift. */
static uint64_t encoder(uint64_t layers, uint64_t width)
{
    return layers * (4 * full(width, width) + full(width, 4 * width) + full(4 * width, width) +
                     2 * 2 * width);
}

Test(training, presets_follow_from_the_architectures)
{
    static const uint64_t channels[] = {3,   64,  64,  128, 128, 256, 256,
                                        256, 512, 512, 512, 512, 512, 512};
    uint64_t              vgg        = 0;

    /* 24 heads of 128, 8 of keys; the embedding is the head, too */
    cr_expect_eq(parameters_of("llama-3.2-3b"),
                 UINT64_C(128256) * 3072 + decoder(28, 3072, 8 * 128, 8192, false));
    cr_expect_eq(parameters_of("phi-3-mini-3.8b"),
                 2 * UINT64_C(32064) * 3072 + decoder(32, 3072, 3072, 8192, false));
    cr_expect_eq(parameters_of("qwen-2.5-3b"),
                 UINT64_C(151936) * 2048 + decoder(36, 2048, 2 * 128, 11008, true));
    /* tokens, places, segments, a norm; a pooler */
    cr_expect_eq(parameters_of("bert-large"), (30522 + 512 + 2) * UINT64_C(1024) + 2 * 1024 +
                                                  encoder(24, 1024) + full(1024, 1024));
    cr_expect_eq(parameters_of("gpt2"),
                 (50257 + 1024) * UINT64_C(768) + encoder(12, 768) + 2 * 768);
    for (size_t i = 1; i < sizeof channels / sizeof channels[0]; i++) {
        vgg += full(9 * channels[i - 1], channels[i]);
    }
    vgg += full(7 * 7 * 512, 4096) + full(4096, 4096) + full(4096, 1000);
    cr_expect_eq(parameters_of("vgg16"), vgg);
    /* the buffer of StragglAR's training log, in KiB */
    cr_expect_eq(parameters_of("llama-3.2-3b") * 4, UINT64_C(12549804) * 1024);
}

Test(training, models_are_cut_into_full_buckets_and_a_rest)
{
    cs_config *config = base_config("ring");

    set(config, "training", "{\"compute\": 0, \"model\": \"gpt2\", \"bucket\": \"25MiB\"}");
    cs_case            c = case_of(config, 0);
    const cs_training *t = &c.training;
    cr_expect_eq(t->bytes, UINT64_C(124439808) * 4);
    cr_expect_eq(t->n_buckets, 19); /* 18 full ones */
    cr_expect_eq(t->n_sizes, 2);
    cr_expect_eq(t->size_bytes[0], 25 << 20);
    cr_expect_eq(t->size_bytes[1], t->bytes - 18 * (UINT64_C(25) << 20));
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        cr_expect_eq(t->size_of[i], i == 18);
    }
    cr_expect_eq(c.scenario.bytes, 25 << 20);
    cs_case_free(&c);
    set(config, "training.bytes_per_parameter", "2");
    set(config, "training.bucket", "null");
    c = case_of(config, 0);
    cr_expect_eq(c.training.n_buckets, 1);
    cr_expect_eq(c.training.n_sizes, 1);
    cr_expect_eq(c.scenario.bytes, 248879616);
    cs_case_free(&c);
    set(config, "training.bucket", "124439808"); /* divides */
    c = case_of(config, 0);
    cr_expect_eq(c.training.n_buckets, 2);
    cr_expect_eq(c.training.n_sizes, 1);
    cs_case_free(&c);
    cs_config_free(config);
}

/* Of two regimes: tests/errors/training-two-regimes. */
Test(training, a_calibration_gives_the_nic)
{
    cs_config *config = NULL;
    cs_error   err    = {0};

    cr_assert_eq(cs_config_load(COLLSIM_SOURCE_DIR "/configs/h100x8-late.json", &config, &err),
                 CS_OK, "%s", err.message);
    set(config, "sweep", "{}");
    set(config, "bytes", "\"1GiB\"");
    cs_case single = case_of(config, 0);
    cs_config_free(config);
    cr_assert_eq(cs_config_load(COLLSIM_SOURCE_DIR "/configs/h100x8-late.json", &config, &err),
                 CS_OK);
    set(config, "sweep", "{}");
    set(config, "training", "{\"compute\": 0, \"buckets\": [\"1GiB\", \"1GiB\"]}");
    cs_case job = case_of(config, 0);
    cr_expect_eq(job.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps,
                 single.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps);
    cr_expect_eq(job.scenario.cluster.fabrics[CS_NIC].alpha_s,
                 single.scenario.cluster.fabrics[CS_NIC].alpha_s);
    cs_case_free(&single);
    cs_case_free(&job);
    cs_config_free(config);
}

/* Commands that time single calls refuse it, also where only a sweep has it. */
Test(training, single_calls_have_none)
{
    cs_config *config = base_config("ring");
    cs_error   err    = {0};

    cr_expect_eq(cs_config_refuse_training(config, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "--set training");
    cs_config_free(config);
    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    cr_expect_eq(cs_config_refuse_training(config, NULL), CS_OK);
    set(config, "sweep.training.overlap", "[0, 1]");
    err = (cs_error){0};
    cr_expect_eq(cs_config_refuse_training(config, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "--set training.overlap");
    cs_config_free(config);
}

/* ---- by hand ---- */

Test(training, without_overlap_and_skew_it_is_a_sum)
{
    cs_config *config = base_config("ring");
    double     calls  = 2 * ring(56e6) + ring(112e6);

    cs_iteration i = iteration_of(config);
    cr_expect_float_eq(i.elapsed_s, 1e-3 + calls, 1e-15);
    cr_expect_float_eq(i.exposed_s, calls, 1e-15);
    set(config, "training.tail", "\"5ms\"");
    i = iteration_of(config);
    cr_expect_float_eq(i.elapsed_s, 6e-3 + calls, 1e-15);
    cr_expect_float_eq(i.exposed_s, calls, 1e-15);
    cs_config_free(config);
}

Test(training, full_overlap_hides_all_but_the_last_call)
{
    cs_config *config = base_config("ring");

    /* a third of the compute is longer than any call: the last one begins with its end */
    set(config, "training.overlap", "1");
    set(config, "training.compute", "\"9ms\"");
    cs_iteration i = iteration_of(config);
    cr_expect_float_eq(i.elapsed_s, 9e-3 + ring(56e6), 1e-15);
    cr_expect_float_eq(i.exposed_s, ring(56e6), 1e-15);
    /* shorter than any call: they run back to back after the first bucket */
    set(config, "training.compute", "\"300us\"");
    i = iteration_of(config);
    cr_expect_float_eq(i.elapsed_s, 100e-6 + 2 * ring(56e6) + ring(112e6), 1e-15);
    /* half of it: the first bucket at 1/2 + 1/6 */
    set(config, "training.overlap", "0.5");
    i = iteration_of(config);
    cr_expect_float_eq(i.elapsed_s, 200e-6 + 2 * ring(56e6) + ring(112e6), 1e-15);
    cr_expect_float_eq(i.exposed_s, 2 * ring(56e6) + ring(112e6) - 100e-6, 1e-15);
    cs_config_free(config);
}

/* The first call waits for the late rank, and hides StragglAR's pre-phase; all enter the others
 * together. */
Test(training, skew_is_the_first_calls)
{
    cs_config *config = base_config("stragglar");
    double     x      = 56e6 / RATE;

    set(config, "arrivals", "{\"late\": [{\"rank\": 3, \"delay\": \"2ms\"}]}");
    cs_iteration i     = iteration_of(config);
    double       calls = cs_formula_stragglar_best(RANKS, 9, ALPHA, x) +
                   cs_formula_stragglar_worst(RANKS, 9, ALPHA, 2 * x) +
                   cs_formula_stragglar_worst(RANKS, 9, ALPHA, x);
    cr_expect_float_eq(i.exposed_s, calls, 1e-15);
    cr_expect_float_eq(i.elapsed_s, 3e-3 + calls, 1e-15);
    /* the ring instead, where nobody is late */
    set(config, "montecarlo", "{\"fallback\": \"ring\"}");
    i = iteration_of(config);
    cr_expect_float_eq(i.exposed_s,
                       cs_formula_stragglar_best(RANKS, 9, ALPHA, x) + ring(56e6) + ring(112e6),
                       1e-15);
    cs_config_free(config);
}

/* ---- against single calls ---- */

/* One bucket: the exposed time of a call with these arrivals, behind the compute. */
Test(training, one_bucket_is_a_single_call)
{
    static const char *const policies[] = {
        "{\"prediction\": \"oracle\"}", "{\"prediction\": \"static\", \"fallback\": \"ring\"}",
        "{\"prediction\": \"previous\"}", "{\"prediction\": \"dynamic\", \"agreement\": \"9us\"}"};
    enum { ITERATIONS = 700 };

    for (size_t p = 0; p < 4; p++) {
        cs_config *single = NULL, *job = random_config();
        cr_assert_eq(cs_config_new(&single, NULL), CS_OK);
        set(single, "cluster",
            "{\"ranks\": 8, \"nic\": {\"bandwidth\": \"300GB/s\", \"alpha\": \"3us\"}}");
        set(single, "arrivals", RANDOM_ARRIVALS);
        set(single, "algorithm.name", "stragglar");
        set(single, "bytes", "56000000");
        set(single, "montecarlo", policies[p]);
        set(job, "sweep", "{}");
        set(job, "algorithm.name", "stragglar");
        set(job, "montecarlo", policies[p]);
        set(job, "training", "{\"compute\": \"7ms\", \"overlap\": 1, \"buckets\": [56000000]}");
        cs_case    a = case_of(single, 0), b = case_of(job, 0);
        cs_samples want = samples_of(&a, ITERATIONS, false),
                   got  = samples_of(&b, ITERATIONS, false);
        double least    = (double)INFINITY;
        for (size_t i = 0; i < ITERATIONS; i++) {
            cr_assert_float_eq(got.exposed_s[i], want.exposed_s[i], 1e-14, "%s: %zu", policies[p],
                               i);
            least = fmin(least, got.elapsed_s[i] - want.elapsed_s[i]);
        }
        cr_expect_gt(least, 7e-3); /* with the delay of the first rank */
        cr_expect_eq(got.n_hits, want.n_hits);
        cr_expect_eq(got.n_fallbacks, want.n_fallbacks);
        cs_samples_free(&want);
        cs_samples_free(&got);
        cs_case_free(&a);
        cs_case_free(&b);
        cs_config_free(single);
        cs_config_free(job);
    }
}

/* ---- against a walk of its own ---- */

/* StragglAR with rank 0 presumed late, or the ring where it is not, after `agreement_s`. */
static double own_call_s(const double *enter_s, double bytes, double agreement_s)
{
    double tau = ALPHA + bytes / (RANKS - 1) / RATE, others_s = 0;

    for (int g = 1; g < RANKS; g++) {
        others_s = fmax(others_s, enter_s[g]);
    }
    if (enter_s[0] <= others_s) {
        return others_s + agreement_s + ring(bytes);
    }
    return fmax(others_s + agreement_s + (RANKS - 2) * tau, enter_s[0]) + 9 * tau;
}

Test(training, random_iterations_are_walked_again)
{
    static const double sizes[]     = {56e6, 112e6, 56e6};
    cs_config          *config      = random_config();
    cs_arrival_sampler *sampler     = NULL;
    cs_arrival_stream  *stream      = NULL;
    size_t              n_fallbacks = 0;
    enum { ITERATIONS = 500, STRAGGLAR = 4 };

    set(config, "montecarlo.fallback", "ring");
    cs_case    c = case_of(config, STRAGGLAR);
    cs_samples s = samples_of(&c, ITERATIONS, false);
    cr_assert_eq(cs_arrival_sampler_open(&c.arrivals, RANKS, c.scenario.seed, ITERATIONS,
                                         CS_SAMPLING_RANDOM, &sampler, NULL),
                 CS_OK);
    cr_assert_eq(cs_arrival_stream_open(sampler, &stream, NULL), CS_OK);
    for (size_t i = 0; i < ITERATIONS; i++) {
        double delay_s[RANKS], enter_s[RANKS], end_s = 0, computed_s = 0;
        cs_arrival_draw_delays(stream, i, delay_s);
        for (int k = 0; k < 3; k++) {
            for (int g = 0; g < RANKS; g++) {
                double ready_s = (0.4 + 0.6 * (k + 1) / 3) * (1e-3 + delay_s[g]);
                enter_s[g]     = fmax(ready_s, end_s);
                computed_s     = fmax(computed_s, 1e-3 + delay_s[g]);
            }
            double before_s = end_s;
            end_s           = own_call_s(enter_s, sizes[k], 20e-6);
            cr_assert_gt(end_s, before_s);
            double others_s = 0;
            for (int g = 1; g < RANKS; g++) {
                others_s = fmax(others_s, enter_s[g]);
            }
            n_fallbacks += enter_s[0] <= others_s;
        }
        cr_assert_float_eq(s.exposed_s[i], end_s - computed_s, 1e-14, "%zu", i);
        cr_assert_float_eq(s.elapsed_s[i], end_s + 100e-6, 1e-14, "%zu", i);
    }
    cr_expect_eq(s.n_fallbacks, n_fallbacks);
    cr_expect_gt(n_fallbacks, ITERATIONS / 2);
    cs_arrival_stream_close(stream);
    cs_arrival_sampler_close(sampler);
    cs_samples_free(&s);
    cs_case_free(&c);
    cs_config_free(config);
}

Test(training, closed_forms_and_replays_agree)
{
    static const char *const predictions[] = {"\"oracle\"", "\"static\"", "\"previous\"",
                                              "\"dynamic\""};
    cs_config               *config        = random_config();
    enum { ITERATIONS = 300 };

    for (size_t p = 0; p < 4; p++) {
        set(config, "montecarlo.prediction", predictions[p]);
        for (size_t index = 0; index < cs_config_count(config); index++) {
            cs_case    c       = case_of(config, index);
            cs_samples formula = samples_of(&c, ITERATIONS, false);
            cs_samples replay  = samples_of(&c, ITERATIONS, true);
            cr_expect_eq(formula.n_replays, 0);
            cr_expect_gt(replay.n_replays, ITERATIONS);
            for (size_t i = 0; i < ITERATIONS; i++) {
                cr_assert_float_eq(formula.elapsed_s[i], replay.elapsed_s[i], 1e-14);
            }
            cs_samples_free(&formula);
            cs_samples_free(&replay);
            cs_case_free(&c);
        }
    }
    cs_config_free(config);
}

/* All enter together: a call of each size is replayed once, whatever the iterations. */
Test(training, calls_without_skew_are_timed_once)
{
    cs_config *config = base_config("stragglar");

    cs_case    c = case_of(config, 0);
    cs_samples s = samples_of(&c, 2000, true);
    cr_expect_eq(s.n_replays, 2);
    cs_samples_free(&s);
    cs_case_free(&c);
    set(config, "arrivals", RANDOM_ARRIVALS); /* and the first one of every iteration */
    set(config, "montecarlo", "{\"prediction\": \"static\"}");
    c = case_of(config, 0);
    s = samples_of(&c, 2000, true);
    cr_expect_eq(s.n_replays, 2002);
    cs_samples_free(&s);
    cs_case_free(&c);
    /* by who is presumed late: everybody was last once in 2000 */
    set(config, "montecarlo", "{\"prediction\": \"previous\"}");
    c = case_of(config, 0);
    s = samples_of(&c, 2000, true);
    cr_expect_eq(s.n_replays, 2000 + 2 * RANKS);
    cs_samples_free(&s);
    cs_case_free(&c);
    cs_config_free(config);
}

/* ---- what is saved ---- */

/* Table 2 of StragglAR: 4.75 % of the time of 8 GPUs are 9.12 GPU-hours a day. */
Test(training, gpu_hours_are_those_of_table_2)
{
    double            base_s[] = {1, 2, 3, 4}, own_s[4], scratch[4];
    cs_samples        base = {.n = 4, .elapsed_s = base_s}, own = {.n = 4, .elapsed_s = own_s};
    cs_montecarlo_row row = {.ranks = 8};

    for (int i = 0; i < 4; i++) {
        own_s[i] = base_s[i] * (1 - 0.0475);
    }
    cs_training_compare(&own, &base, 0.95, scratch, &row);
    cr_expect_float_eq(row.saved_ratio, 0.0475, 1e-15);
    cr_expect_float_eq(row.gpu_hours_per_day, 9.12, 1e-12);
    cr_expect_float_eq(row.iteration_speedup, 1 / 0.9525, 1e-15);
    /* every pair has this ratio: nothing is uncertain, though the times differ */
    cr_expect_float_eq(row.gpu_hours_per_day_low, 9.12, 1e-12);
    cr_expect_float_eq(row.gpu_hours_per_day_high, 9.12, 1e-12);
    own_s[0] += 0.1;
    own_s[3] -= 0.1; /* the same mean; residuals of +-0.1 / 2.5, t(3) = 3.1824 */
    cs_training_compare(&own, &base, 0.95, scratch, &row);
    double half = 3.182446305 * sqrt(2 * 0.04 * 0.04 / 3) / 2;
    cr_expect_float_eq(row.saved_ratio, 0.0475, 1e-15);
    cr_expect_float_eq(row.saved_ratio_low, 0.0475 - half, 1e-9);
    cr_expect_float_eq(row.saved_ratio_high, 0.0475 + half, 1e-9);
    cr_expect_float_eq(row.gpu_hours_per_day_high, 192 * (0.0475 + half), 1e-7);
}

Test(training, rows_add_up)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(4000, 2);
    cs_montecarlo_report  report  = run(config, &options);

    cr_assert_eq(report.n_rows, 5);
    for (size_t i = 0; i < 5; i++) {
        const cs_montecarlo_row *row = &report.rows[i], *base = &report.rows[0];
        cr_expect_eq(row->calls, 3);
        cr_expect_eq(row->bytes, 224000000);
        cr_expect_str_eq(row->workload, "");
        cr_expect_float_eq(row->tail_s, 1e-4, 1e-18);
        cr_expect_float_eq(row->exposed_ratio, row->exposed_mean_s / row->elapsed_mean_s, 1e-15);
        cr_expect_float_eq(row->last_arrival_mean_s, base->last_arrival_mean_s, 1e-12);
        cr_expect_float_eq(row->last_arrival_mean_s,
                           row->elapsed_mean_s - row->exposed_mean_s - 1e-4, 1e-12);
        if (i > 0) {
            double ratio = 1 - row->elapsed_mean_s / base->elapsed_mean_s;
            cr_expect_float_eq(row->saved_ratio, ratio, 1e-14);
            cr_expect_float_eq(row->saved_mean_s, ratio * base->elapsed_mean_s, 1e-14);
            cr_expect_float_eq(row->gpu_hours_per_day, 8 * 24 * ratio, 1e-12);
            cr_expect_float_eq(row->iteration_speedup, base->elapsed_mean_s / row->elapsed_mean_s,
                               1e-14);
            cr_expect_lt(row->saved_ratio_low, ratio);
            cr_expect_gt(row->saved_ratio_high, ratio);
            /* common random numbers: far sharper than the times themselves */
            double time_width = (row->elapsed_mean_high_s - row->elapsed_mean_low_s) / 2e-3;
            cr_expect(strcmp(row->algorithm, "rhd") != 0 ||
                      row->saved_ratio_high - row->saved_ratio_low < time_width / 10);
        } else {
            cr_expect(isnan(row->saved_ratio) && isnan(row->gpu_hours_per_day));
        }
    }
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

/* ---- jobs, files, memory ---- */

Test(training, any_number_of_jobs_gives_the_same_bits)
{
    static const unsigned jobs[]  = {2, 3, 7};
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(1500, 1);

    set(config, "sweep.montecarlo.prediction", "[\"static\", \"previous\", \"dynamic\"]");
    for (int replayed = 0; replayed < 2; replayed++) {
        options.jobs        = 1;
        options.is_replayed = replayed;
        cs_text want        = json_of_run(config, &options);
        for (int i = 0; i < 3; i++) {
            options.jobs = jobs[i];
            cs_text got  = json_of_run(config, &options);
            cr_assert_str_eq(got.data, want.data, "%u jobs", jobs[i]);
            cs_text_free(&got);
        }
        cs_text_free(&want);
    }
    cs_config_free(config);
}

static volatile sig_atomic_t stop;

static void stop_at(void *user, uint64_t done, uint64_t total)
{
    (void)total;
    stop = done >= *(uint64_t *)user;
}

Test(training, stopped_and_run_again_it_goes_on)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(1000, 1);
    cs_text               want    = json_of_run(config, &options);
    uint64_t              at      = 2200;

    options.path                = path;
    options.progress            = stop_at;
    options.user                = &at;
    options.stop                = &stop;
    cs_montecarlo_report report = run(config, &options);
    cr_expect(report.is_stopped);
    cr_expect_eq(report.n_rows, 2);
    cs_montecarlo_report_free(&report);
    stop             = 0;
    options.progress = NULL;
    options.jobs     = 2;
    for (size_t pass = 0; pass < 2; pass++) { /* the second time all out of the file */
        cs_text got = json_of_run(config, &options);
        cr_expect_str_eq(got.data, want.data);
        cs_text_free(&got);
    }
    report = run(config, &options);
    cr_expect_eq(report.done_before, 5);
    cs_montecarlo_report_free(&report);
    set(config, "training.overlap", "0.7"); /* another run */
    report = run(config, &options);
    cr_expect_eq(report.done_before, 0);
    cs_montecarlo_report_free(&report);
    cs_text_free(&want);
    cs_config_free(config);
}

Test(training, every_failed_allocation_is_clean)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(20, 1);
    cs_status             status  = CS_ENOMEM;
    long                  passes  = 0;

    for (; status == CS_ENOMEM && passes < 5000; passes++) {
        cs_montecarlo_report report = {0};
        cs_error             err    = {0};
        cs_alloc_fail_after(passes);
        status = cs_montecarlo_run(config, &options, &report, &err);
        cs_alloc_fail_after(-1);
        cs_montecarlo_report_free(&report);
    }
    cr_expect_eq(status, CS_OK);
    cr_expect_gt(passes, 50);
    cs_config_free(config);
}

/* A bucket that an algorithm refuses is a row with the reason. */
Test(training, what_cannot_be_run_is_a_row_with_the_reason)
{
    cs_config            *config  = base_config("ring");
    cs_montecarlo_options options = options_of(10, 1);

    set(config, "sweep.algorithm.name", "[\"ring\", \"stragglar\"]");
    set(config, "training.buckets", "[56000000, 3]");
    cs_montecarlo_report report = run(config, &options);
    cr_assert_eq(report.n_rows, 2);
    cr_expect_str_eq(report.rows[0].error, "");
    set(config, "algorithm.options.straggler", "9");
    cs_montecarlo_report_free(&report);
    report = run(config, &options);
    cr_expect_eq(report.failed, 1);
    cr_expect_neq(report.rows[1].error[0], '\0');
    cr_expect_eq(report.rows[1].calls, 2);
    cs_text text = {0};
    cs_montecarlo_table(&text, report.rows, 2);
    cr_expect_not_null(strstr(text.data, report.rows[1].error));
    cs_text_free(&text);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

/* The example, of which all but the straggler is known in closed form. */
Test(training, the_example_is_run)
{
    cs_config            *config  = NULL;
    cs_error              err     = {0};
    cs_montecarlo_options options = options_of(4000, 2);
    double                bytes   = 3212749824.0 * 4;

    cr_assert_eq(cs_config_load(COLLSIM_SOURCE_DIR "/configs/training-llama.json", &config, &err),
                 CS_OK, "%s", err.message);
    cs_montecarlo_report     report = run(config, &options);
    const cs_montecarlo_row *whole = report.rows, *cut = report.rows + 5;
    cr_assert_eq(report.n_rows, 10);
    cr_expect_eq(report.failed, 0);
    cr_expect_str_eq(whole->workload, "llama-3.2-3b");
    cr_expect_eq(whole->calls, 1);
    cr_expect_float_eq(whole->exposed_mean_s, ring(bytes), 1e-12); /* whoever is late */
    cr_expect_float_eq(whole->exposed_p99_s, ring(bytes), 1e-12);
    cr_expect_eq(cut->calls, 491);
    cr_expect_eq(cut->bytes, whole->bytes);
    /* what 25 MiB take is hidden, but for the last bucket, which is smaller */
    double rest = bytes - 490.0 * (25 << 20);
    cr_expect_float_eq(cut->exposed_mean_s, ring(rest), 0.01 * ring(bytes));
    cr_expect_geq(cut->exposed_min_s, ring(rest) - 1e-12);
    for (int i = 0; i < 2; i++) { /* StragglAR saves on one large call, and loses on small ones */
        const cs_montecarlo_row *row = i == 0 ? whole + 4 : cut + 4;
        cr_expect_str_eq(row->algorithm, "stragglar");
        cr_expect_float_eq(row->hit_ratio, 0.9, 0.02);
        cr_expect(i == 0 ? row->gpu_hours_per_day_low > 0 : row->gpu_hours_per_day_high < 0);
    }
    /* persistence x (delay against the last of the others - what StragglAR takes longer) */
    double critical_s = cs_formula_critical_delay_exact(RANKS, 9, ALPHA, bytes / RATE);
    cr_expect_float_eq(whole[4].saved_mean_s, 0.9 * (29.5e-3 - critical_s), 0.5e-3);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}
