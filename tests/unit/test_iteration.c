/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterations of training: by hand with and without overlap, against single calls, against a walk
 * written here, and closed forms against replays. */
#include "campaign/trial.h"
#include "training_setup.h"

TestSuite(iteration, .init = set_up, .fini = tear_down);

/* One iteration without random parts. */
static cs_iteration iteration_of(const cs_config *config)
{
    cs_case      c      = ct_case(config, 0);
    cs_samples   s      = samples_of(&c, 1, false);
    cs_iteration result = {.elapsed_s = s.elapsed_s[0], .exposed_s = s.exposed_s[0]};

    cs_samples_free(&s);
    cs_case_free(&c);
    return result;
}

Test(iteration, without_overlap_and_skew_it_is_a_sum)
{
    cs_config *config = job_config("ring");
    double     calls  = 2 * ring(56e6) + ring(112e6);

    cs_iteration i = iteration_of(config);
    cr_expect_float_eq(i.elapsed_s, 1e-3 + calls, 1e-15);
    cr_expect_float_eq(i.exposed_s, calls, 1e-15);
    ct_set(config, "training.tail", "\"5ms\"");
    i = iteration_of(config);
    cr_expect_float_eq(i.elapsed_s, 6e-3 + calls, 1e-15);
    cr_expect_float_eq(i.exposed_s, calls, 1e-15);
    cs_config_free(config);
}

Test(iteration, full_overlap_hides_all_but_the_last_call)
{
    cs_config *config = job_config("ring");

    /* a third of the compute is longer than any call: the last one begins with its end */
    ct_set(config, "training.overlap", "1");
    ct_set(config, "training.compute", "\"9ms\"");
    cs_iteration i = iteration_of(config);
    cr_expect_float_eq(i.elapsed_s, 9e-3 + ring(56e6), 1e-15);
    cr_expect_float_eq(i.exposed_s, ring(56e6), 1e-15);
    /* shorter than any call: they run back to back after the first bucket */
    ct_set(config, "training.compute", "\"300us\"");
    i = iteration_of(config);
    cr_expect_float_eq(i.elapsed_s, 100e-6 + 2 * ring(56e6) + ring(112e6), 1e-15);
    /* half of it: the first bucket at 1/2 + 1/6 */
    ct_set(config, "training.overlap", "0.5");
    i = iteration_of(config);
    cr_expect_float_eq(i.elapsed_s, 200e-6 + 2 * ring(56e6) + ring(112e6), 1e-15);
    cr_expect_float_eq(i.exposed_s, 2 * ring(56e6) + ring(112e6) - 100e-6, 1e-15);
    cs_config_free(config);
}

/* The first call waits for the late rank, and hides StragglAR's pre-phase; all enter the others
 * together. */
Test(iteration, skew_is_the_first_calls)
{
    cs_config *config = job_config("stragglar");
    double     x      = 56e6 / RATE;

    ct_set(config, "arrivals", "{\"late\": [{\"rank\": 3, \"delay\": \"2ms\"}]}");
    cs_iteration i     = iteration_of(config);
    double       calls = cs_formula_stragglar_best(RANKS, 9, ALPHA, x) +
                   cs_formula_stragglar_worst(RANKS, 9, ALPHA, 2 * x) +
                   cs_formula_stragglar_worst(RANKS, 9, ALPHA, x);
    cr_expect_float_eq(i.exposed_s, calls, 1e-15);
    cr_expect_float_eq(i.elapsed_s, 3e-3 + calls, 1e-15);
    /* the ring instead, where nobody is late */
    ct_set(config, "montecarlo", "{\"fallback\": \"ring\"}");
    i = iteration_of(config);
    cr_expect_float_eq(i.exposed_s,
                       cs_formula_stragglar_best(RANKS, 9, ALPHA, x) + ring(56e6) + ring(112e6),
                       1e-15);
    cs_config_free(config);
}

/* One bucket: the exposed time of a call with these arrivals, behind the compute. */
Test(iteration, one_bucket_is_a_single_call)
{
    static const char *const policies[] = {
        "{\"prediction\": \"oracle\"}", "{\"prediction\": \"static\", \"fallback\": \"ring\"}",
        "{\"prediction\": \"previous\"}", "{\"prediction\": \"dynamic\", \"agreement\": \"9us\"}"};
    enum { ITERATIONS = 700 };

    for (size_t p = 0; p < 4; p++) {
        cs_config *single = NULL, *job = random_job();
        cr_assert_eq(cs_config_new(&single, NULL), CS_OK);
        ct_set(single, "cluster",
               "{\"ranks\": 8, \"nic\": {\"bandwidth\": \"300GB/s\", \"alpha\": \"3us\"}}");
        ct_set(single, "arrivals", JOB_ARRIVALS);
        ct_set(single, "algorithm.name", "stragglar");
        ct_set(single, "bytes", "56000000");
        ct_set(single, "montecarlo", policies[p]);
        ct_set(job, "sweep", "{}");
        ct_set(job, "algorithm.name", "stragglar");
        ct_set(job, "montecarlo", policies[p]);
        ct_set(job, "training", "{\"compute\": \"7ms\", \"overlap\": 1, \"buckets\": [56000000]}");
        cs_case    a = ct_case(single, 0), b = ct_case(job, 0);
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
    double step_s = ALPHA + bytes / (RANKS - 1) / RATE, others_s = 0;

    for (int g = 1; g < RANKS; g++) {
        others_s = fmax(others_s, enter_s[g]);
    }
    if (enter_s[0] <= others_s) {
        return others_s + agreement_s + ring(bytes);
    }
    return fmax(others_s + agreement_s + (RANKS - 2) * step_s, enter_s[0]) + 9 * step_s;
}

Test(iteration, random_iterations_are_walked_again)
{
    static const double sizes[]     = {56e6, 112e6, 56e6};
    cs_config          *config      = random_job();
    cs_arrival_sampler *sampler     = NULL;
    cs_arrival_stream  *stream      = NULL;
    size_t              n_fallbacks = 0;
    enum { ITERATIONS = 500, STRAGGLAR = 4 };

    ct_set(config, "montecarlo.fallback", "ring");
    cs_case    c = ct_case(config, STRAGGLAR);
    cs_samples s = samples_of(&c, ITERATIONS, false);
    cr_assert_eq(cs_arrival_sampler_open(&c.arrivals, RANKS, c.job.scenario.seed, ITERATIONS,
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

Test(iteration, closed_forms_and_replays_agree)
{
    static const char *const predictions[] = {"\"oracle\"", "\"static\"", "\"previous\"",
                                              "\"dynamic\""};
    cs_config               *config        = random_job();
    enum { ITERATIONS = 300 };

    for (size_t p = 0; p < 4; p++) {
        ct_set(config, "montecarlo.prediction", predictions[p]);
        for (size_t index = 0; index < cs_config_count(config); index++) {
            cs_case    c       = ct_case(config, index);
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
Test(iteration, calls_without_skew_are_timed_once)
{
    cs_config *config = job_config("stragglar");

    cs_case    c = ct_case(config, 0);
    cs_samples s = samples_of(&c, 2000, true);
    cr_expect_eq(s.n_replays, 2);
    cs_samples_free(&s);
    cs_case_free(&c);
    ct_set(config, "arrivals", JOB_ARRIVALS); /* and the first one of every iteration */
    ct_set(config, "montecarlo", "{\"prediction\": \"static\"}");
    c = ct_case(config, 0);
    s = samples_of(&c, 2000, true);
    cr_expect_eq(s.n_replays, 2002);
    cs_samples_free(&s);
    cs_case_free(&c);
    /* by who is presumed late: everybody was last once in 2000 */
    ct_set(config, "montecarlo", "{\"prediction\": \"previous\"}");
    c = ct_case(config, 0);
    s = samples_of(&c, 2000, true);
    cr_expect_eq(s.n_replays, 2000 + 2 * RANKS);
    cs_samples_free(&s);
    cs_case_free(&c);
    cs_config_free(config);
}
