/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distributions of delays: each against GSL's distribution functions, its own moments and
 * Kolmogorov's test. All tests use fixed seeds, so they cannot fail by chance. */
#include "arrivals_setup.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

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
