/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distributions of delays: each against GSL's distribution functions, its own moments and
 * Kolmogorov's test. Random arrivals: the straggler's chain, what is refused, and that iteration i
 * is iteration i, however it is reached. All tests use fixed seeds, so they cannot fail by chance.
 */
#include "base/alloc.h"
#include "cs/arrival_process.h"

#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

enum { N = 8, DRAWS = 20000 };

static const double values[] = {0.5, 1, 1, 4};

static const cs_distribution samples[] = {
    {.kind = CS_DISTRIBUTION_UNIFORM, .shift_s = 1, .scale_s = 3},
    {.kind = CS_DISTRIBUTION_EXPONENTIAL, .scale_s = 2},
    {.kind = CS_DISTRIBUTION_NORMAL, .shift_s = 5, .scale_s = 1},
    {.kind = CS_DISTRIBUTION_NORMAL, .shift_s = 0.5, .scale_s = 2},
    {.kind = CS_DISTRIBUTION_NORMAL, .shift_s = 0, .scale_s = 1},
    {.kind = CS_DISTRIBUTION_LOGNORMAL, .scale_s = 3, .shape = 0.5},
    {.kind = CS_DISTRIBUTION_GAMMA, .scale_s = 2, .shape = 0.3},
    {.kind = CS_DISTRIBUTION_GAMMA, .scale_s = 0.5, .shape = 7},
    {.kind = CS_DISTRIBUTION_WEIBULL, .scale_s = 2, .shape = 1.5},
    {.kind = CS_DISTRIBUTION_PARETO, .scale_s = 2, .shape = 6},
    {.kind = CS_DISTRIBUTION_EMPIRICAL, .value_s = values, .n_values = 4},
};
enum { N_SAMPLES = sizeof samples / sizeof samples[0] };

/* Draws of one process, iteration by iteration: [n][n_ranks]. */
static double *draw(const cs_arrival_process *p, uint32_t n_ranks, uint64_t seed, size_t n,
                    cs_sampling sampling)
{
    cs_arrival_sampler *sampler = NULL;
    cs_arrival_stream  *stream  = NULL;
    cs_error            err     = {0};
    double             *all     = CS_NEW(double, n *n_ranks);

    cr_assert_eq(cs_arrival_sampler_open(p, n_ranks, seed, n, sampling, &sampler, &err), CS_OK,
                 "%s", err.message);
    cr_assert_eq(cs_arrival_stream_open(sampler, &stream, &err), CS_OK);
    for (size_t i = 0; i < n; i++) {
        cs_arrival_draw(stream, i, all + i * n_ranks);
    }
    cs_arrival_stream_close(stream);
    cs_arrival_sampler_close(sampler);
    return all;
}

/* ---- distributions of delays ---- */

/* P(at most x), from GSL, and the truncation by hand. */
static double reference(const cs_distribution *d, double x)
{
    switch (d->kind) {
    case CS_DISTRIBUTION_UNIFORM: return gsl_cdf_flat_P(x, d->shift_s, d->shift_s + d->scale_s);
    case CS_DISTRIBUTION_EXPONENTIAL: return gsl_cdf_exponential_P(x, d->scale_s);
    case CS_DISTRIBUTION_NORMAL: {
        double below = gsl_cdf_gaussian_P(-d->shift_s, d->scale_s);
        return (gsl_cdf_gaussian_P(x - d->shift_s, d->scale_s) - below) / (1 - below);
    }
    case CS_DISTRIBUTION_LOGNORMAL: return gsl_cdf_lognormal_P(x, log(d->scale_s), d->shape);
    case CS_DISTRIBUTION_GAMMA: return gsl_cdf_gamma_P(x, d->shape, d->scale_s);
    case CS_DISTRIBUTION_WEIBULL: return gsl_cdf_weibull_P(x, d->scale_s, d->shape);
    case CS_DISTRIBUTION_PARETO: return gsl_cdf_pareto_P(x, d->shape, d->scale_s);
    case CS_DISTRIBUTION_CONSTANT:
    case CS_DISTRIBUTION_EMPIRICAL:
    case CS_DISTRIBUTION_COUNT: break;
    }
    return (double)NAN;
}

/* A straggler that is always rank 0 of two, alone: its arrival is its delay. */
static double *draw_delays(const cs_distribution *d, uint64_t seed, size_t n, cs_sampling sampling)
{
    cs_arrival_process p    = {.has_straggler = true,
                               .straggler     = {.delay = *d, .rank = 0, .persistence = 1}};
    double            *both = draw(&p, 2, seed, n, sampling);

    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(both[2 * i + 1], 0);
        both[i] = both[2 * i];
    }
    return both;
}

Test(distribution, quantiles_invert_the_distribution_function)
{
    for (size_t i = 0; i < N_SAMPLES; i++) {
        const cs_distribution *d      = &samples[i];
        double                 before = -1;
        for (int k = 1; k < 1000; k++) {
            double u = k / 1000.0, x = cs_distribution_quantile(d, u);
            cr_assert(isfinite(x) && x >= before, "%s at %g", cs_distribution_name(d->kind), u);
            if (d->kind != CS_DISTRIBUTION_EMPIRICAL) {
                cr_assert_float_eq(reference(d, x), u, 1e-7, "%s at %g: %.12g",
                                   cs_distribution_name(d->kind), u, reference(d, x));
            }
            before = x;
        }
    }
}

Test(distribution, quantiles_are_finite_in_the_tails)
{
    static const double shapes[] = {0.01, 0.02, 0.1, 0.5, 1, 3, 100, 1e4, 1e6};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        cs_distribution d = {.kind = CS_DISTRIBUTION_GAMMA, .shape = shapes[i], .scale_s = 1};
        for (int k = 1; k <= 33; k++) {
            double low  = cs_distribution_quantile(&d, ldexp(1, -k));
            double high = cs_distribution_quantile(&d, 1 - ldexp(1, -k));
            cr_expect(isfinite(low) && low >= 0 && isfinite(high) && high >= low,
                      "shape %g, 2^-%d: %g %g", shapes[i], k, low, high);
            cr_expect_float_eq(gsl_cdf_gamma_P(high, shapes[i], 1), 1 - ldexp(1, -k), 1e-6,
                               "shape %g, 1 - 2^-%d", shapes[i], k);
        }
    }
    cs_distribution normal = {.kind = CS_DISTRIBUTION_NORMAL, .shift_s = 0, .scale_s = 1};
    cr_expect_geq(cs_distribution_quantile(&normal, 0x1p-33), 0);
    cr_expect_lt(cs_distribution_quantile(&normal, 1 - 0x1p-33), 8);
}

/* The sixth moment exists for all of them, so the estimated deviation has one, too. */
Test(distribution, moments_are_those_of_the_formulas)
{
    for (size_t i = 0; i < N_SAMPLES; i++) {
        const cs_distribution *d    = &samples[i];
        double                *x    = draw_delays(d, 11, DRAWS, CS_SAMPLING_RANDOM);
        double                 mean = gsl_stats_mean(x, 1, DRAWS), sd = gsl_stats_sd(x, 1, DRAWS);
        double                 want = cs_distribution_mean(d), want_sd = cs_distribution_stddev(d);

        cr_expect_float_eq(mean, want, 4 * want_sd / sqrt(DRAWS), "%s: %g, not %g",
                           cs_distribution_name(d->kind), mean, want);
        cr_expect_float_eq(sd, want_sd, 0.05 * want_sd, "%s: %g, not %g",
                           cs_distribution_name(d->kind), sd, want_sd);
        cs_free(x);
    }
    cs_distribution heavy = {.kind = CS_DISTRIBUTION_PARETO, .scale_s = 1, .shape = 1.5};
    cr_expect(isinf(cs_distribution_stddev(&heavy)));
    cr_expect_float_eq(cs_distribution_mean(&heavy), 3, 1e-12);
}

/* Largest distance between the samples' distribution function and the reference. */
static double distance(const cs_distribution *d, double *x, size_t n)
{
    double most = 0;

    gsl_sort(x, 1, n);
    for (size_t i = 0; i < n; i++) {
        double p = reference(d, x[i]);
        most     = fmax(most, fmax(p - (double)i / (double)n, (double)(i + 1) / (double)n - p));
    }
    return most;
}

/* 1.63 / sqrt(n) is exceeded in 1 % of all cases. Quasi-random points lie far closer. */
Test(distribution, samples_pass_kolmogorovs_test)
{
    for (size_t i = 0; i < N_SAMPLES; i++) {
        const cs_distribution *d = &samples[i];
        if (d->kind == CS_DISTRIBUTION_EMPIRICAL) {
            continue;
        }
        for (cs_sampling sampling = 0; sampling < CS_SAMPLING_COUNT; sampling++) {
            double *x     = draw_delays(d, 5, DRAWS, sampling);
            double  most  = distance(d, x, DRAWS) * sqrt(DRAWS);
            double  limit = sampling == CS_SAMPLING_RANDOM ? 1.63 : 0.4;
            cr_expect_lt(most, limit, "%s, %s: %g", cs_distribution_name(d->kind),
                         cs_sampling_name(sampling), most);
            cs_free(x);
        }
    }
}

/* The difference of two exponential delays is exponential again, with the same mean. */
Test(distribution, delays_of_different_ranks_are_independent)
{
    cs_distribution    d = {.kind = CS_DISTRIBUTION_EXPONENTIAL, .scale_s = 2};
    cs_arrival_process p = {.has_distribution = true, .distribution = d};
    double            *x = draw(&p, 2, 3, DRAWS, CS_SAMPLING_RANDOM);

    for (size_t i = 0; i < DRAWS; i++) {
        cr_assert_eq(fmin(x[2 * i], x[2 * i + 1]), 0);
        x[i] = fmax(x[2 * i], x[2 * i + 1]);
    }
    cr_expect_lt(distance(&d, x, DRAWS) * sqrt(DRAWS), 1.63);
    cs_free(x);
}

/* GSL ends the process at an overflow unless it is told not to, and tests have no main() of ours.
 */
Test(distribution, what_overflows_in_gsl_is_infinite)
{
    const cs_distribution d = {.kind = CS_DISTRIBUTION_WEIBULL, .shape = 1 / 200.0, .scale_s = 1};

    cr_assert(isinf(cs_distribution_mean(&d)), "%g s", cs_distribution_mean(&d));
}

/* ---- arrivals ---- */

static uint32_t *chain_of(const cs_straggler_process *s, uint32_t n_ranks, uint64_t seed, size_t n)
{
    cs_arrival_process  p       = {.has_straggler = true, .straggler = *s};
    cs_arrival_sampler *sampler = NULL;
    uint32_t           *chain   = CS_NEW(uint32_t, n);

    p.straggler.delay = (cs_distribution){.shift_s = 1};
    cr_assert_eq(cs_arrival_sampler_open(&p, n_ranks, seed, n, CS_SAMPLING_RANDOM, &sampler, NULL),
                 CS_OK);
    for (size_t i = 0; i < n; i++) {
        chain[i] = cs_arrival_straggler(sampler, i);
        cr_assert_lt(chain[i], n_ranks);
    }
    cs_arrival_sampler_close(sampler);
    return chain;
}

static double share_of(const uint32_t *chain, size_t n, uint32_t rank)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        count += chain[i] == rank;
    }
    return (double)count / (double)n;
}

static double stays_of(const uint32_t *chain, size_t n)
{
    size_t count = 0;

    for (size_t i = 1; i < n; i++) {
        count += chain[i] == chain[i - 1];
    }
    return (double)count / (double)(n - 1);
}

/* Correlation c stretches the variance of a share by (1 + c) / (1 - c). */
Test(arrivals, a_presumed_stragglers_share_is_its_persistence)
{
    static const double persistences[] = {0, 0.77, 0.9, 0.95, 1}, correlations[] = {0, 0.5, 0.95};
    enum { LONG = 200000 };

    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 3; j++) {
            double               p = persistences[i], c = correlations[j];
            double               stretch = sqrt((1 + c) / (1 - c) / LONG);
            cs_straggler_process s       = {.rank = 3, .persistence = p, .correlation = c};
            uint32_t            *chain   = chain_of(&s, N, 21, LONG);
            double               other   = (1 - p) / (N - 1);
            double               square  = p * p + (N - 1) * other * other;
            cr_expect_float_eq(share_of(chain, LONG, 3), p, 4 * sqrt(p * (1 - p)) * stretch + 1e-12,
                               "p %g, c %g: %g", p, c, share_of(chain, LONG, 3));
            cr_expect_float_eq(share_of(chain, LONG, 7), other, 4 * sqrt(other) * stretch + 1e-12);
            cr_expect_float_eq(stays_of(chain, LONG), c + (1 - c) * square, 0.01, "p %g, c %g", p,
                               c);
            cs_free(chain);
        }
    }
}

Test(arrivals, without_a_presumed_rank_the_straggler_stays_as_often_as_said)
{
    static const double persistences[] = {0, 0.5, 0.9};
    enum { LONG = 200000 };

    for (int i = 0; i < 3; i++) {
        cs_straggler_process s     = {.rank = CS_ANY_RANK, .persistence = persistences[i]};
        uint32_t            *chain = chain_of(&s, N, 22, LONG);
        cr_expect_float_eq(stays_of(chain, LONG), persistences[i], 0.005);
        for (uint32_t r = 0; r < N; r++) {
            cr_expect_float_eq(share_of(chain, LONG, r), 1.0 / N, 0.015, "rank %u: %g", r,
                               share_of(chain, LONG, r));
        }
        cs_free(chain);
    }
}

static cs_arrival_process everything(const double *late_s)
{
    static double calls[] = {0, 1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4,
                             3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 9};
    return (cs_arrival_process){
        .late_s           = late_s,
        .has_distribution = true,
        .distribution     = samples[5],
        .has_straggler    = true,
        .straggler        = {.delay = samples[7], .rank = CS_ANY_RANK, .persistence = 0.8},
        .trace            = {.n_ranks = N, .n_calls = 3, .arrival_s = calls},
        .resamples        = true};
}

/* In any order, from any number of streams, of more or fewer iterations. */
Test(arrivals, an_iteration_is_the_same_however_it_is_reached)
{
    static const double late_s[N] = {0, 0, 1, 0, 0.25, 0, 0, 0};
    enum { LONG = 1000 };

    for (cs_sampling sampling = 0; sampling < CS_SAMPLING_COUNT; sampling++) {
        cs_arrival_process  p       = everything(late_s);
        double             *want    = draw(&p, N, 9, LONG, sampling), got[N];
        cs_arrival_sampler *sampler = NULL;
        cs_arrival_stream  *streams[2];
        size_t n = sampling == CS_SAMPLING_RANDOM ? LONG + 77 : LONG; /* more of them: the same */

        cr_assert_eq(cs_arrival_sampler_open(&p, N, 9, n, sampling, &sampler, NULL), CS_OK);
        cr_assert_eq(cs_arrival_stream_open(sampler, &streams[0], NULL), CS_OK);
        cr_assert_eq(cs_arrival_stream_open(sampler, &streams[1], NULL), CS_OK);
        for (size_t i = 0; i < 2000; i++) {
            size_t iteration = i * 617 % LONG;
            cs_arrival_draw(streams[i % 3 == 0], iteration, got);
            cr_assert_eq(memcmp(got, want + iteration * N, sizeof got), 0, "%s: iteration %zu",
                         cs_sampling_name(sampling), iteration);
        }
        cs_arrival_stream_close(streams[0]);
        cs_arrival_stream_close(streams[1]);
        cs_arrival_sampler_close(sampler);
        cs_free(want);
    }
}

Test(arrivals, seeds_differ_and_parts_do_not_touch_each_other)
{
    cs_arrival_process p = {.has_distribution = true, .distribution = samples[1]};
    double            *a = draw(&p, N, 1, 600, CS_SAMPLING_RANDOM);
    double            *b = draw(&p, N, 2, 600, CS_SAMPLING_RANDOM);

    cr_expect_neq(memcmp(a, b, 600 * N * sizeof *a), 0);
    cr_expect_neq(memcmp(a, a + 256 * N, 256 * N * sizeof *a), 0); /* blocks differ, too */
    cs_free(b);
    p.has_straggler = true;
    p.straggler     = (cs_straggler_process){.delay = samples[6], .rank = 0, .persistence = 1};
    b               = draw(&p, N, 1, 600, CS_SAMPLING_RANDOM);
    for (size_t i = 0; i < 600; i++) {
        double gap = a[i * N + 2] - a[i * N + 1];
        cr_assert_float_eq(b[i * N + 2] - b[i * N + 1], gap, 1e-12);
    }
    cs_free(a);
    cs_free(b);
}

Test(arrivals, a_trace_is_taken_in_order_or_any_call_as_often)
{
    cs_arrival_process p         = everything(NULL);
    size_t             counts[3] = {0};

    p.has_distribution = p.has_straggler = p.resamples = false;
    double *x                                          = draw(&p, N, 1, 7, CS_SAMPLING_RANDOM);
    for (size_t i = 0; i < 7 * N; i++) {
        cr_assert_eq(x[i], p.trace.arrival_s[i % (3 * N)]);
    }
    cs_free(x);
    cr_expect(cs_arrivals_have_memory(&p));
    p.resamples = true;
    cr_expect_not(cs_arrivals_have_memory(&p));
    x = draw(&p, N, 1, DRAWS, CS_SAMPLING_RANDOM);
    for (size_t i = 0; i < DRAWS; i++) {
        double last = x[i * N + N - 1];
        counts[last == 7 ? 0 : last == 0 ? 1 : 2]++;
    }
    for (int i = 0; i < 3; i++) {
        cr_expect_float_eq((double)counts[i], DRAWS / 3.0, 4 * sqrt(DRAWS * 2 / 9.0));
    }
    cs_free(x);
}

/* Whatever parts there are; and nothing is opened for fixed delays. */
Test(arrivals, the_first_iteration_without_a_sampler)
{
    static const double late_s[N] = {2, 3, 2, 2, 2, 2, 2, 4};

    for (unsigned parts = 0; parts < 16; parts++) {
        cs_arrival_process p = everything((parts & 1) != 0 ? late_s : NULL);
        double             first_s[N];
        p.has_distribution = p.has_distribution && (parts & 2) != 0;
        p.has_straggler    = p.has_straggler && (parts & 4) != 0;
        p.trace.n_calls    = (parts & 8) != 0 ? p.trace.n_calls : 0;
        double *x          = draw(&p, N, 5, 1, CS_SAMPLING_RANDOM);
        cr_assert_eq(cs_arrival_first(&p, N, 5, first_s, NULL), CS_OK);
        cr_expect_eq(memcmp(x, first_s, sizeof first_s), 0, "parts %u", parts);
        cs_free(x);
        cs_alloc_fail_after(0);
        cs_status status = cs_arrival_first(&p, N, 5, first_s, NULL);
        cs_alloc_fail_after(-1);
        cr_expect_eq(status, parts < 2 ? CS_OK : CS_ENOMEM, "parts %u", parts);
    }
}

Test(arrivals, the_earliest_is_0_and_fixed_delays_are_kept)
{
    static const double late_s[N] = {2, 3, 2, 2, 2, 2, 2, 4};
    cs_arrival_process  p         = {.late_s = late_s};
    double             *x         = draw(&p, N, 1, 3, CS_SAMPLING_RANDOM);

    for (uint32_t i = 0; i < 3 * N; i++) {
        cr_expect_eq(x[i], late_s[i % N] - 2);
    }
    cs_free(x);
    cr_expect(cs_arrivals_are_fixed(&p));
    p = everything(late_s);
    cr_expect_not(cs_arrivals_are_fixed(&p));
    cr_expect_eq(cs_arrival_dimensions(&p, N), N + 2);
    x = draw(&p, N, 1, 500, CS_SAMPLING_SOBOL);
    for (size_t i = 0; i < 500; i++) {
        double first = (double)INFINITY;
        for (uint32_t r = 0; r < N; r++) {
            first = fmin(first, x[i * N + r]);
        }
        cr_assert_eq(first, 0);
    }
    cs_free(x);
}

static double mean_of_last(const cs_arrival_process *p, uint64_t seed, cs_sampling sampling)
{
    enum { POINTS = 2048 };
    double *x = draw(p, N, seed, POINTS, sampling), sum = 0;

    for (size_t i = 0; i < POINTS; i++) {
        double last = 0;
        for (uint32_t r = 0; r < N; r++) {
            last = fmax(last, x[i * N + r]);
        }
        sum += last;
    }
    cs_free(x);
    return sum / POINTS;
}

/* Over 30 seeds the mean varies far less, around the same value. */
Test(arrivals, quasi_random_means_vary_less)
{
    enum { SEEDS = 30 };
    cs_arrival_process p = {.has_distribution = true, .distribution = samples[0]};
    double             means[CS_SAMPLING_COUNT][SEEDS], variance[CS_SAMPLING_COUNT];

    for (cs_sampling sampling = 0; sampling < CS_SAMPLING_COUNT; sampling++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            means[sampling][seed] = mean_of_last(&p, seed, sampling);
        }
        variance[sampling] = gsl_stats_variance(means[sampling], 1, SEEDS);
        /* Range of 8 uniform numbers in [0, 3]: 3 (8-1)/(8+1). */
        cr_expect_float_eq(gsl_stats_mean(means[sampling], 1, SEEDS), 21.0 / 9, 0.01, "%s",
                           cs_sampling_name(sampling));
    }
    for (cs_sampling sampling = CS_SAMPLING_SOBOL; sampling < CS_SAMPLING_COUNT; sampling++) {
        cr_expect_lt(variance[sampling], variance[CS_SAMPLING_RANDOM] / 2, "%s: %g, random: %g",
                     cs_sampling_name(sampling), variance[sampling], variance[CS_SAMPLING_RANDOM]);
    }
}

static void expect_refusal(const cs_arrival_process *p, uint32_t n_ranks, size_t n,
                           cs_sampling sampling, const char *want)
{
    cs_arrival_sampler *sampler = NULL;
    cs_error            err     = {0};

    cr_expect_eq(cs_arrival_sampler_open(p, n_ranks, 1, n, sampling, &sampler, &err), CS_EINVAL);
    cr_expect_str_eq(err.message, want);
    cr_expect_null(sampler);
}

Test(arrivals, what_cannot_be_sampled_is_refused)
{
    cs_arrival_process p = {.has_distribution = true, .distribution = samples[0]};

    expect_refusal(&p, 41, 100, CS_SAMPLING_SOBOL,
                   "take 41 random numbers an iteration, sobol has 40 dimensions: accepted is "
                   "halton, and random");
    expect_refusal(&p, 13, 100, CS_SAMPLING_NIEDERREITER,
                   "take 13 random numbers an iteration, niederreiter has 12 dimensions: accepted "
                   "is halton, and random");
    expect_refusal(&p, 1230, 100, CS_SAMPLING_HALTON,
                   "take 1230 random numbers an iteration, halton has 1229 dimensions: accepted is "
                   "random");
    expect_refusal(&p, 4, 0, CS_SAMPLING_RANDOM, "0 is outside [1, 20000000]");
    expect_refusal(&p, 4, 20000001, CS_SAMPLING_RANDOM, "20000001 is outside [1, 20000000]");
    p = everything(NULL);
    expect_refusal(&p, 4, 10, CS_SAMPLING_RANDOM,
                   "is of 8 ranks, the cluster has 4: accepted is the same number");
    cs_free(draw(&(cs_arrival_process){.has_distribution = true, .distribution = samples[0]}, 1229,
                 1, 32, CS_SAMPLING_HALTON));
}

Test(arrivals, every_failed_allocation_is_clean)
{
    cs_arrival_process p = everything(NULL);

    for (cs_sampling sampling = 0; sampling < CS_SAMPLING_HALTON; sampling++) {
        cs_status status = CS_ENOMEM;
        long      passes = 0;
        for (; status == CS_ENOMEM && passes < 50; passes++) {
            cs_arrival_sampler *sampler = NULL;
            cs_arrival_stream  *stream  = NULL;
            cs_alloc_fail_after(passes);
            status = cs_arrival_sampler_open(&p, N, 1, 100, sampling, &sampler, NULL);
            if (status == CS_OK) {
                status = cs_arrival_stream_open(sampler, &stream, NULL);
            }
            cs_alloc_fail_after(-1);
            cs_arrival_stream_close(stream);
            cs_arrival_sampler_close(sampler);
        }
        cr_expect_eq(status, CS_OK);
        cr_expect_gt(passes, 5);
    }
}
