/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One distribution of delays: a time (always that), or {"name": .., its parameters}.
 *
 * Most distributions take one of two pairs of parameters: mean and standard deviation of the
 * delay, or what their formula has.
 */
#include "scenario/scenario_json.h"
#include "traces/arrival_file.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DELAY_S     1e6
#define MAX_SIGMA       10.0
#define MIN_GAMMA_SHAPE 0.01
#define MAX_SHAPE       1e6

/* What the keys hold. */
typedef struct parameters {
    int         kind; /* cs_distribution_kind */
    double      value_s, min_s, max_s, mean_s, stddev_s, median_s, sigma, scale_s, shape;
    double     *values_s;
    size_t      n_values;
    const char *trace;
} parameters;

/* clang-format off */
#define DELAY(field, key, ...)                                                                     \
    CS_KEY(parameters, field, key, .unit = CS_UNIT_TIME, .max = MAX_DELAY_S, .plain = &cs_plain_delay, \
           __VA_ARGS__)
#define NAME \
    {.name = "name", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE, .is_required = true, .help = "which one"}
#define MEAN     DELAY(mean_s, "mean", .is_above = true, .help = "of the delay")
#define STDDEV   DELAY(stddev_s, "stddev", .is_above = true, .help = "standard deviation")
#define SCALE(...) DELAY(scale_s, "scale", .is_above = true, __VA_ARGS__)
#define SHAPE(least, most) \
    CS_KEY(parameters, shape, "shape", .min = (least), .max = (most), .help = "shape parameter")

static const cs_field fields_CONSTANT[] = {
    NAME, DELAY(value_s, "value", .is_required = true, .help = "the delay"), CS_FIELD_END};
static const cs_field fields_UNIFORM[] = {
    NAME, DELAY(min_s, "min", .is_required = true, .help = "the least delay"),
    DELAY(max_s, "max", .is_required = true, .help = "the largest"), CS_FIELD_END};
static const cs_field fields_EXPONENTIAL[] = {
    NAME, DELAY(mean_s, "mean", .is_above = true, .is_required = true, .help = "of the delay"), CS_FIELD_END};
static const cs_field fields_NORMAL[] = {
    NAME, DELAY(mean_s, "mean", .is_required = true, .help = "of the normal distribution, of which what is negative is left out"),
    DELAY(stddev_s, "stddev", .is_above = true, .is_required = true, .help = "its standard deviation"), CS_FIELD_END};
static const cs_field fields_LOGNORMAL[] = {
    NAME, MEAN, STDDEV, DELAY(median_s, "median", .is_above = true, .help = "of the delay"),
    CS_KEY(parameters, sigma, "sigma", .min = 1e-9, .max = MAX_SIGMA,
           .help = "standard deviation of its logarithm"), CS_FIELD_END};
static const cs_field fields_GAMMA[] = {
    NAME, MEAN, STDDEV, SCALE(.help = "scale parameter"), SHAPE(MIN_GAMMA_SHAPE, MAX_SHAPE), CS_FIELD_END};
static const cs_field fields_WEIBULL[] = {
    NAME, MEAN, SHAPE(0.1, 1000), SCALE(.help = "scale parameter"), CS_FIELD_END};
static const cs_field fields_PARETO[] = { /* a shape of 1 or less would have no mean */
    NAME, MEAN, SHAPE(1.001, 1000), SCALE(.help = "the least delay"), CS_FIELD_END};
static const cs_field a_value[] = {
    {.name = "delay", .type = CS_FIELD_F64, .unit = CS_UNIT_TIME, .max = MAX_DELAY_S,
     .plain = &cs_plain_delay}, CS_FIELD_END};
static const cs_field fields_EMPIRICAL[] = {
    NAME, CS_KEY_LIST(parameters, values_s, n_values, "values", a_value, .min = 1, .max = 1e9,
                      .help = "delays, each as likely"),
    CS_KEY_OF(CS_FIELD_FILE, parameters, trace, "trace", .help = "a file of arrivals, instead"),
    {.name = "fingerprint", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE, .help = "of its arrivals"},
    CS_FIELD_END};

static const cs_field kinds[] = {
#define X(id, word, meaning) \
    [CS_DISTRIBUTION_##id] = {.name = word, .type = CS_FIELD_OBJECT, .fields = fields_##id},
    CS_DISTRIBUTION_MAP(X)
#undef X
    CS_FIELD_END,
};
const cs_field cs_distribution_forms[] = {
    DELAY(value_s, "delay", .help = "always that"),
    CS_KEY_OF(CS_FIELD_KIND, parameters, kind, "distribution", .selector = "name", .fields = kinds,
              .help = "a distribution by its name"),
    CS_FIELD_END,
};
/* clang-format on */

/* The first pair of parameters is given, not the second; anything else is refused. */
static bool has_first_pair(cs_reading *r, const cs_place *place, const char *const *keys)
{
    bool first = cs_place_has(place, keys[0]), second = cs_place_has(place, keys[2]);

    if (first == second) {
        CS_REFUSE(r, place, CS_EINVAL, "accepted are '%s' and '%s', or '%s' and '%s'", keys[0],
                  keys[1], keys[2], keys[3]);
    }
    for (int other = 1; other <= 3; other += 2) {
        const char *mine = keys[first ? 1 : 3];
        cs_place    odd  = cs_place_get(place, keys[other]);
        bool        fits = strcmp(keys[other], mine) == 0;
        if (!cs_reading_failed(r) && odd.node != NULL && !fits) {
            r->key_is_wrong = true;
            CS_REFUSE(r, &odd, CS_EINVAL, "does not go with '%s': accepted are '%s' and '%s'",
                      keys[first ? 0 : 2], keys[first ? 0 : 2], mine);
        }
    }
    cs_read_required(r, place, keys[first ? 1 : 3]);
    return first;
}

static void make_lognormal(cs_reading *r, const cs_place *place, const parameters *p,
                           cs_distribution *d)
{
    static const char *const keys[] = {"mean", "stddev", "median", "sigma"};

    if (has_first_pair(r, place, keys)) {
        double log_variance = log1p(p->stddev_s / p->mean_s * (p->stddev_s / p->mean_s));
        d->scale_s          = p->mean_s * exp(-log_variance / 2);
        d->shape            = sqrt(log_variance);
    } else {
        d->scale_s = p->median_s;
        d->shape   = p->sigma;
    }
}

static void make_gamma(cs_reading *r, const cs_place *place, const parameters *p,
                       cs_distribution *d)
{
    static const char *const keys[] = {"mean", "stddev", "scale", "shape"};
    cs_place                 stddev = cs_place_get(place, "stddev");

    if (!has_first_pair(r, place, keys)) {
        d->scale_s = p->scale_s;
        d->shape   = p->shape;
        return;
    }
    d->shape   = p->mean_s / p->stddev_s * (p->mean_s / p->stddev_s);
    d->scale_s = p->stddev_s / p->mean_s * p->stddev_s;
    if (!cs_reading_failed(r) && !(d->shape >= MIN_GAMMA_SHAPE && d->shape <= MAX_SHAPE)) {
        CS_REFUSE(r, &stddev, CS_EINVAL,
                  "%.15g s makes the shape (mean/stddev)^2 %.15g: accepted is [%.15g, %.15g]",
                  p->stddev_s, d->shape, MIN_GAMMA_SHAPE, MAX_SHAPE);
    }
}

/* Weibull and Pareto: the mean, or the scale, of a shape. */
static void make_of_shape(cs_reading *r, const cs_place *place, const parameters *p,
                          cs_distribution *d)
{
    static const char *const keys[] = {"mean", "shape", "scale", "shape"};

    d->shape = p->shape;
    if (!has_first_pair(r, place, keys)) {
        d->scale_s = p->scale_s;
    } else if (p->kind == CS_DISTRIBUTION_WEIBULL) {
        d->scale_s = p->mean_s / gsl_sf_gamma(1 + 1 / d->shape);
    } else {
        d->scale_s = p->mean_s * ((d->shape - 1) / d->shape);
    }
}

static void make_uniform(cs_reading *r, const cs_place *place, const parameters *p,
                         cs_distribution *d)
{
    cs_place max = cs_place_get(place, "max");

    d->shift_s = p->min_s;
    d->scale_s = p->max_s - p->min_s;
    if (d->scale_s < 0) {
        CS_REFUSE(r, &max, CS_EINVAL, "%.15g s is below the least of %.15g s", p->max_s, p->min_s);
    }
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The arrivals of all ranks in all calls; NULL (refused) without memory. */
static double *copy_trace(cs_reading *r, const cs_place *place, const parameters *p, size_t *n_p)
{
    const cs_arrival_file *file = cs_read_trace(r, place, p->trace);

    if (file == NULL) {
        return NULL;
    }
    const cs_arrival_trace *trace = &file->trace;
    *n_p                          = trace->n_calls * trace->n_ranks;
    double *value_s               = CS_ARENA_NEW(r->arena, double, *n_p);
    if (value_s == NULL) {
        CS_REFUSE_MEMORY(r, place, "delays");
    } else {
        memcpy(value_s, trace->arrival_s, *n_p * sizeof *value_s);
    }
    return value_s;
}

static void make_empirical(cs_reading *r, const cs_place *place, const parameters *p,
                           cs_distribution *d)
{
    bool    has_values = cs_place_has(place, "values"), has_trace = cs_place_has(place, "trace");
    double *value_s = p->values_s;

    d->n_values = p->n_values;
    if (has_values == has_trace) {
        CS_REFUSE(r, place, CS_EINVAL, "accepted are 'values', or a 'trace' to take them from");
    } else if (has_values && cs_place_has(place, "fingerprint")) {
        CS_REFUSE(r, place, CS_EINVAL, "the key 'fingerprint' belongs to a 'trace'");
    } else if (has_trace) {
        value_s = copy_trace(r, place, p, &d->n_values);
    }
    if (!cs_reading_failed(r)) {
        qsort(value_s, d->n_values, sizeof *value_s, compare);
        d->value_s = value_s;
    }
}

static void make(cs_reading *r, const cs_place *place, const parameters *p, cs_distribution *d)
{
    switch (d->kind) {
    case CS_DISTRIBUTION_CONSTANT: d->shift_s = p->value_s; break;
    case CS_DISTRIBUTION_UNIFORM: make_uniform(r, place, p, d); break;
    case CS_DISTRIBUTION_EXPONENTIAL: d->scale_s = p->mean_s; break;
    case CS_DISTRIBUTION_NORMAL:
        d->shift_s = p->mean_s;
        d->scale_s = p->stddev_s;
        break;
    case CS_DISTRIBUTION_LOGNORMAL: make_lognormal(r, place, p, d); break;
    case CS_DISTRIBUTION_GAMMA: make_gamma(r, place, p, d); break;
    case CS_DISTRIBUTION_WEIBULL:
    case CS_DISTRIBUTION_PARETO: make_of_shape(r, place, p, d); break;
    case CS_DISTRIBUTION_EMPIRICAL: make_empirical(r, place, p, d); break;
    case CS_DISTRIBUTION_COUNT: break;
    }
}

void cs_read_distribution(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    parameters      p    = {0};
    cs_distribution made = {0};

    if (place->node == NULL) {
        return;
    }
    cs_read_row(r, place, row, &p);
    made.kind = (cs_distribution_kind)p.kind;
    if (!cs_reading_failed(r)) {
        make(r, place, &p, &made);
    }
    if (!cs_reading_failed(r)) {
        memcpy((char *)object + row->offset, &made, sizeof made);
    }
}
