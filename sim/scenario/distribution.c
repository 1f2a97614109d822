/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distributions of delays: quantiles from GSL's inverse distribution functions.
 *
 * GSL's inverse of the gamma distribution can fail to converge far out in a tail: bisection
 * then takes over. A normal distribution is cut off at 0 by inverting within what is above.
 *
 * Sources: GSL reference manual, "Random Number Distributions"; N. L. Johnson, S. Kotz,
 * N. Balakrishnan, "Continuous Univariate Distributions", vol. 1 (moments).
 */
#include "cs/distribution.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>

enum { BISECTIONS = 200 };

/* What GSL cannot compute it says by its value; by default it would end the process as well. */
__attribute__((constructor)) static void survive_gsl(void)
{
    gsl_set_error_handler_off();
}

static const char *const names[] = {
#define X(id, name, meaning) [CS_DISTRIBUTION_##id] = name,
    CS_DISTRIBUTION_MAP(X)
#undef X
};

const char *cs_distribution_name(cs_distribution_kind kind)
{
    return names[kind];
}

bool cs_distribution_is_random(const cs_distribution *d)
{
    if (d->kind == CS_DISTRIBUTION_EMPIRICAL) {
        return d->value_s[0] < d->value_s[d->n_values - 1];
    }
    return d->kind != CS_DISTRIBUTION_CONSTANT &&
           !(d->kind == CS_DISTRIBUTION_UNIFORM && d->scale_s == 0);
}

/* For unit scale. */
static double gamma_quantile(double shape, double u)
{
    double x = gsl_cdf_gamma_Pinv(u, shape, 1), low = 0, high = shape + 1;

    if (isfinite(x) && x >= 0) {
        return x;
    }
    while (gsl_cdf_gamma_P(high, shape, 1) < u) {
        high *= 2;
    }
    for (int i = 0; i < BISECTIONS && low < high; i++) {
        double middle = low + (high - low) / 2;
        if (gsl_cdf_gamma_P(middle, shape, 1) < u) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

static double normal_quantile(const cs_distribution *d, double u)
{
    double above = gsl_cdf_gaussian_Q(-d->shift_s, d->scale_s);
    return fmax(0, d->shift_s + gsl_cdf_gaussian_Qinv((1 - u) * above, d->scale_s));
}

double cs_distribution_quantile(const cs_distribution *d, double u)
{
    switch (d->kind) {
    case CS_DISTRIBUTION_UNIFORM: return d->shift_s + d->scale_s * u;
    case CS_DISTRIBUTION_EXPONENTIAL: return gsl_cdf_exponential_Pinv(u, d->scale_s);
    case CS_DISTRIBUTION_NORMAL: return normal_quantile(d, u);
    case CS_DISTRIBUTION_LOGNORMAL: return d->scale_s * exp(gsl_cdf_gaussian_Pinv(u, d->shape));
    case CS_DISTRIBUTION_GAMMA: return d->scale_s * gamma_quantile(d->shape, u);
    case CS_DISTRIBUTION_WEIBULL: return gsl_cdf_weibull_Pinv(u, d->scale_s, d->shape);
    case CS_DISTRIBUTION_PARETO: return gsl_cdf_pareto_Pinv(u, d->shape, d->scale_s);
    case CS_DISTRIBUTION_EMPIRICAL: return d->value_s[(size_t)(u * (double)d->n_values)];
    case CS_DISTRIBUTION_CONSTANT:
    case CS_DISTRIBUTION_COUNT: break;
    }
    return d->shift_s;
}

static double empirical_mean(const cs_distribution *d)
{
    double mean = 0;

    for (size_t i = 0; i < d->n_values; i++) {
        mean += (d->value_s[i] - mean) / (double)(i + 1);
    }
    return mean;
}

static double empirical_variance(const cs_distribution *d)
{
    double mean = empirical_mean(d), sum = 0;

    for (size_t i = 0; i < d->n_values; i++) {
        sum += (d->value_s[i] - mean) * (d->value_s[i] - mean);
    }
    return sum / (double)d->n_values;
}

/* Where the normal distribution is cut, and the inverse Mills ratio there; in units of the
 * standard deviation. */
static double cut_of(const cs_distribution *d, double *mills_p)
{
    double cut = -d->shift_s / d->scale_s;

    *mills_p = gsl_ran_ugaussian_pdf(cut) / gsl_cdf_ugaussian_Q(cut);
    return cut;
}

double cs_distribution_mean(const cs_distribution *d)
{
    double mills;

    switch (d->kind) {
    case CS_DISTRIBUTION_UNIFORM: return d->shift_s + d->scale_s / 2;
    case CS_DISTRIBUTION_EXPONENTIAL: return d->scale_s;
    case CS_DISTRIBUTION_NORMAL: (void)cut_of(d, &mills); return d->shift_s + d->scale_s * mills;
    case CS_DISTRIBUTION_LOGNORMAL: return d->scale_s * exp(d->shape * d->shape / 2);
    case CS_DISTRIBUTION_GAMMA: return d->shape * d->scale_s;
    case CS_DISTRIBUTION_WEIBULL: return d->scale_s * gsl_sf_gamma(1 + 1 / d->shape);
    case CS_DISTRIBUTION_PARETO: return d->scale_s * d->shape / (d->shape - 1);
    case CS_DISTRIBUTION_EMPIRICAL: return empirical_mean(d);
    case CS_DISTRIBUTION_CONSTANT:
    case CS_DISTRIBUTION_COUNT: break;
    }
    return d->shift_s;
}

/* In units of scale_s. */
static double scaled_variance(const cs_distribution *d)
{
    double k = d->shape, mills, cut;

    switch (d->kind) {
    case CS_DISTRIBUTION_UNIFORM: return 1.0 / 12;
    case CS_DISTRIBUTION_EXPONENTIAL: return 1;
    case CS_DISTRIBUTION_NORMAL: cut = cut_of(d, &mills); return 1 + (cut - mills) * mills;
    case CS_DISTRIBUTION_LOGNORMAL: return expm1(k * k) * exp(k * k);
    case CS_DISTRIBUTION_GAMMA: return k;
    case CS_DISTRIBUTION_WEIBULL: return gsl_sf_gamma(1 + 2 / k) - pow(gsl_sf_gamma(1 + 1 / k), 2);
    case CS_DISTRIBUTION_PARETO:
        return k > 2 ? k / ((k - 1) * (k - 1) * (k - 2)) : (double)INFINITY;
    case CS_DISTRIBUTION_EMPIRICAL:
    case CS_DISTRIBUTION_CONSTANT:
    case CS_DISTRIBUTION_COUNT: break;
    }
    return 0;
}

double cs_distribution_stddev(const cs_distribution *d)
{
    if (d->kind == CS_DISTRIBUTION_EMPIRICAL) {
        return sqrt(empirical_variance(d));
    }
    return d->scale_s * sqrt(scaled_variance(d));
}
