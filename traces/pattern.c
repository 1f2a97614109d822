/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/pattern.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <gsl/gsl_fft_halfcomplex.h>
#include <gsl/gsl_fft_real.h>
#include <gsl/gsl_fit.h>
#include <math.h>
#include <stdbool.h>

enum { LEAST_CALLS = 20, LEAST_SEGMENT = 5 };

#define PEAK        0.5  /* of the autocorrelation */
#define DIP         0.4  /* ... below the peak, at a shorter lag */
#define LEAST_STEP  0.25 /* of the larger side */
#define LINE_LEAVES 0.5  /* of the squares */

const char *cs_pattern_name(cs_pattern_kind kind)
{
    static const char *const names[CS_PATTERN_KINDS] = {"steady", "periodic", "drifting",
                                                        "changing"};

    return names[kind];
}

/* The work of one call of cs_pattern_find(). */
typedef struct finding {
    const double *x;
    size_t        n;
    double       *sum;     /* [n + 1] of the values before each */
    double       *scratch; /* [room] a power of 2, at least 2 n */
    size_t        room;
    double        noise_s; /* standard deviation */
} finding;

/* The mean of values [from, to). */
static double mean_of(const finding *f, size_t from, size_t to)
{
    return (f->sum[to] - f->sum[from]) / (double)(to - from);
}

static void find_noise(finding *f)
{
    for (size_t i = 1; i < f->n; i++) {
        f->scratch[i - 1] = fabs(f->x[i] - f->x[i - 1]);
    }
    cs_sort_samples(f->scratch, f->n - 1);
    f->noise_s = 1.4826 * cs_estimate_quantile(f->scratch, f->n - 1, 0.5, 0).value / sqrt(2);
}

/* By Wiener and Khinchin: the transform of the squared transform, with zeros behind the values so
 * that the end does not meet the beginning. */
static void correlate(finding *f)
{
    const double mean_s = mean_of(f, 0, f->n);

    for (size_t i = 0; i < f->room; i++) {
        f->scratch[i] = i < f->n ? f->x[i] - mean_s : 0;
    }
    (void)gsl_fft_real_radix2_transform(f->scratch, 1, f->room);
    for (size_t i = 1; 2 * i < f->room; i++) {
        double re = f->scratch[i], im = f->scratch[f->room - i];
        f->scratch[i]           = re * re + im * im;
        f->scratch[f->room - i] = 0;
    }
    f->scratch[0] *= f->scratch[0];
    f->scratch[f->room / 2] *= f->scratch[f->room / 2];
    (void)gsl_fft_halfcomplex_radix2_inverse(f->scratch, 1, f->room);
}

/* The autocorrelation at a lag, of as many pairs as there are. */
static double correlation(const finding *f, size_t lag)
{
    return f->scratch[lag] / f->scratch[0] * (double)f->n / (double)(f->n - lag);
}

/* The shortest lag whose peak is as high as any, nearly; 0: none. */
static size_t find_period(finding *f)
{
    double lowest = 1, best = 0;
    size_t period = 0;

    correlate(f);
    if (!(f->scratch[0] > 0)) {
        return 0;
    }
    for (size_t lag = 1; lag + 1 < f->n / 3 + 1; lag++) {
        double here = correlation(f, lag);
        bool   is_peak =
            lag > 1 && here >= correlation(f, lag - 1) && here >= correlation(f, lag + 1);
        if (is_peak && here >= PEAK && lowest <= here - DIP && here > best + 0.05) {
            best   = here;
            period = lag;
        }
        lowest = fmin(lowest, here);
    }
    return period;
}

/* What the best step between two places takes off the sum of squares; *at_p is where it is. */
static double best_step(const finding *f, size_t from, size_t to, size_t *at_p)
{
    double most = 0;
    double all = f->sum[to] - f->sum[from], n = (double)(to - from);

    for (size_t k = from + LEAST_SEGMENT; k + LEAST_SEGMENT <= to; k++) {
        double left = (double)(k - from);
        double off  = f->sum[k] - f->sum[from] - all * left / n;
        double gain = off * off * n / (left * (n - left));
        if (gain > most) {
            most  = gain;
            *at_p = k;
        }
    }
    return most;
}

static bool is_step(const finding *f, size_t from, size_t at, size_t to, double gain)
{
    double before = mean_of(f, from, at), after = mean_of(f, at, to);
    double larger = fmax(fabs(before), fabs(after));
    double least  = (4 * log((double)f->n) + 10) * f->noise_s * f->noise_s;

    return gain > least && gain > 0 && fabs(after - before) > LEAST_STEP * larger;
}

/* Cut where the step is the largest, then both sides, as long as steps are more than noise. */
static void find_changes(const finding *f, size_t from, size_t to, cs_pattern *p)
{
    size_t at   = 0;
    double gain = best_step(f, from, to, &at);

    if (p->n_changes == CS_PATTERN_MOST_CHANGES || gain <= 0 || !is_step(f, from, at, to, gain)) {
        return;
    }
    size_t place = p->n_changes++;
    for (; place > 0 && p->change[place - 1] > at; place--) {
        p->change[place] = p->change[place - 1];
    }
    p->change[place] = at;
    find_changes(f, from, at, p);
    find_changes(f, at, to, p);
}

/* Does a line say more than a step? */
static bool is_drift(const finding *f, double *slope_p)
{
    double c0, c1, cov00, cov01, cov11, left;
    double squares = 0, mean_s = mean_of(f, 0, f->n);
    size_t at = 0;

    for (size_t i = 0; i < f->n; i++) {
        f->scratch[i] = (double)i;
        squares += (f->x[i] - mean_s) * (f->x[i] - mean_s);
    }
    (void)gsl_fit_linear(f->scratch, 1, f->x, 1, f->n, &c0, &c1, &cov00, &cov01, &cov11, &left);
    *slope_p = c1;
    return squares > 0 && left < LINE_LEAVES * squares &&
           left < squares - best_step(f, 0, f->n, &at);
}

static void find(finding *f, cs_pattern *p)
{
    double slope = 0;

    find_noise(f);
    p->period_calls = find_period(f);
    if (p->period_calls > 0) {
        p->kind = CS_PATTERN_PERIODIC;
    } else if (is_drift(f, &slope)) {
        p->kind             = CS_PATTERN_DRIFTING;
        p->slope_s_per_call = slope;
    } else {
        find_changes(f, 0, f->n, p);
        p->kind = p->n_changes > 0 ? CS_PATTERN_CHANGING : CS_PATTERN_STEADY;
    }
    for (size_t i = 0; i <= p->n_changes; i++) {
        size_t from  = i == 0 ? 0 : p->change[i - 1];
        size_t to    = i == p->n_changes ? f->n : p->change[i];
        p->mean_s[i] = mean_of(f, from, to);
    }
}

cs_status cs_pattern_find(const double *late_s, size_t n, cs_pattern *pattern_p, cs_error *err)
{
    cs_pattern pattern = {.slope_s_per_call = (double)NAN};
    finding    f       = {.x = late_s, .n = n, .room = 64};

    while (f.room < 2 * n) {
        f.room *= 2;
    }
    f.sum     = CS_NEW(double, n + 1);
    f.scratch = CS_NEW(double, f.room);
    if (f.sum == NULL || f.scratch == NULL) {
        cs_free(f.sum);
        cs_free(f.scratch);
        return CS_NO_MEMORY(err, "the pattern of %zu calls", n);
    }
    for (size_t i = 0; i < n; i++) {
        f.sum[i + 1] = f.sum[i] + late_s[i];
    }
    if (n >= LEAST_CALLS) {
        find(&f, &pattern);
    } else {
        pattern.mean_s[0] = mean_of(&f, 0, n);
    }
    cs_free(f.sum);
    cs_free(f.scratch);
    *pattern_p = pattern;
    return CS_OK;
}
