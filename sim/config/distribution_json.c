/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One distribution of delays: a time (always that), or {"name": .., its parameters}.
 *
 * Most distributions take one of two pairs of parameters: mean and standard deviation of the
 * delay, or what their formula has.
 */
#include "base/alloc.h"
#include "config/scenario_json.h"
#include "cs/units.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list)     (sizeof(list) / sizeof(list)[0])
#define MAX_DELAY_S     1e6
#define MAX_SIGMA       10.0
#define MIN_GAMMA_SHAPE 0.01
#define MAX_SHAPE       1e6

static const char *const kind_names[] = {
#define X(id, name, meaning) [CS_DISTRIBUTION_##id] = name,
    CS_DISTRIBUTION_MAP(X)
#undef X
};

/* The keys beside "name": a first pair, and a second pair instead of it; NULL: no more. */
static const char *const parameters[CS_DISTRIBUTION_COUNT][4] = {
    [CS_DISTRIBUTION_CONSTANT]    = {"value"},
    [CS_DISTRIBUTION_UNIFORM]     = {"min", "max"},
    [CS_DISTRIBUTION_EXPONENTIAL] = {"mean"},
    [CS_DISTRIBUTION_NORMAL]      = {"mean", "stddev"},
    [CS_DISTRIBUTION_LOGNORMAL]   = {"mean", "stddev", "median", "sigma"},
    [CS_DISTRIBUTION_GAMMA]       = {"mean", "stddev", "scale", "shape"},
    [CS_DISTRIBUTION_WEIBULL]     = {"mean", "shape", "scale", "shape"},
    [CS_DISTRIBUTION_PARETO]      = {"mean", "shape", "scale", "shape"},
    [CS_DISTRIBUTION_EMPIRICAL]   = {"values", "trace", "fingerprint"},
};

static bool is_there(const cs_field *field, const char *key)
{
    return key != NULL && cs_field_get(field, key).node != NULL;
}

/* A time in [0, MAX_DELAY_S], or above 0. */
static double read_delay(cs_reading *r, const cs_field *field, const char *key, bool may_be_zero)
{
    cs_field child   = cs_field_get(field, key);
    double   delay_s = 0;

    cs_read_required(r, field, key);
    cs_read_time(r, field, key, &delay_s);
    bool is_in = delay_s <= MAX_DELAY_S && (delay_s > 0 || (may_be_zero && delay_s >= 0));
    if (!cs_reading_failed(r) && !is_in) {
        CS_REFUSE(r, &child, CS_EINVAL, "%.15g s is not in %s0 s, %.15g s]", delay_s,
                  may_be_zero ? "[" : "(", MAX_DELAY_S);
    }
    return delay_s;
}

static double read_shape(cs_reading *r, const cs_field *field, const char *key, double min,
                         double max)
{
    double shape = 1;

    cs_read_required(r, field, key);
    cs_read_number(r, field, key, min, max, &shape);
    return shape;
}

/* The first pair of parameters is given, not the second; anything else is refused. */
static bool has_first_pair(cs_reading *r, const cs_field *field, cs_distribution_kind kind)
{
    const char *const *keys  = parameters[kind];
    bool               first = is_there(field, keys[0]), second = is_there(field, keys[2]);

    if (!cs_reading_failed(r) && first == second) {
        CS_REFUSE(r, field, CS_EINVAL, "accepted are '%s' and '%s', or '%s' and '%s'", keys[0],
                  keys[1], keys[2], keys[3]);
    }
    for (int other = 1; other <= 3; other += 2) {
        const char *mine = keys[first ? 1 : 3];
        cs_field    odd  = cs_field_get(field, keys[other]);
        bool        fits = strcmp(keys[other], mine) == 0;
        if (!cs_reading_failed(r) && odd.node != NULL && !fits) {
            r->blames_key = true;
            CS_REFUSE(r, &odd, CS_EINVAL, "does not go with '%s': accepted are '%s' and '%s'",
                      keys[first ? 0 : 2], keys[first ? 0 : 2], mine);
        }
    }
    return first;
}

static void read_lognormal(cs_reading *r, const cs_field *field, cs_distribution *d)
{
    if (has_first_pair(r, field, d->kind)) {
        double mean_s       = read_delay(r, field, "mean", false);
        double stddev_s     = read_delay(r, field, "stddev", false);
        double log_variance = log1p(stddev_s / mean_s * (stddev_s / mean_s));
        d->scale_s          = mean_s * exp(-log_variance / 2);
        d->shape            = sqrt(log_variance);
    } else {
        d->scale_s = read_delay(r, field, "median", false);
        d->shape   = read_shape(r, field, "sigma", 1e-9, MAX_SIGMA);
    }
}

static void read_gamma(cs_reading *r, const cs_field *field, cs_distribution *d)
{
    if (!has_first_pair(r, field, d->kind)) {
        d->scale_s = read_delay(r, field, "scale", false);
        d->shape   = read_shape(r, field, "shape", MIN_GAMMA_SHAPE, MAX_SHAPE);
        return;
    }
    cs_field stddev   = cs_field_get(field, "stddev");
    double   mean_s   = read_delay(r, field, "mean", false);
    double   stddev_s = read_delay(r, field, "stddev", false);
    d->shape          = mean_s / stddev_s * (mean_s / stddev_s);
    d->scale_s        = stddev_s / mean_s * stddev_s;
    if (!cs_reading_failed(r) && !(d->shape >= MIN_GAMMA_SHAPE && d->shape <= MAX_SHAPE)) {
        CS_REFUSE(r, &stddev, CS_EINVAL,
                  "%.15g s makes the shape (mean/stddev)^2 %.15g: accepted is [%.15g, %.15g]",
                  stddev_s, d->shape, MIN_GAMMA_SHAPE, MAX_SHAPE);
    }
}

static void read_weibull(cs_reading *r, const cs_field *field, cs_distribution *d)
{
    bool is_mean = has_first_pair(r, field, d->kind);

    d->shape   = read_shape(r, field, "shape", 0.1, 1000);
    d->scale_s = read_delay(r, field, is_mean ? "mean" : "scale", false);
    if (is_mean) {
        d->scale_s /= gsl_sf_gamma(1 + 1 / d->shape);
    }
}

/* A shape of 1 or less would have no mean. */
static void read_pareto(cs_reading *r, const cs_field *field, cs_distribution *d)
{
    bool is_mean = has_first_pair(r, field, d->kind);

    d->shape   = read_shape(r, field, "shape", 1.001, 1000);
    d->scale_s = read_delay(r, field, is_mean ? "mean" : "scale", false);
    if (is_mean) {
        d->scale_s *= (d->shape - 1) / d->shape;
    }
}

static void read_uniform(cs_reading *r, const cs_field *field, cs_distribution *d)
{
    cs_field max = cs_field_get(field, "max");

    d->shift_s   = read_delay(r, field, "min", true);
    double max_s = read_delay(r, field, "max", true);
    d->scale_s   = max_s - d->shift_s;
    if (!cs_reading_failed(r) && d->scale_s < 0) {
        CS_REFUSE(r, &max, CS_EINVAL, "%.15g s is below the least of %.15g s", max_s, d->shift_s);
    }
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* A number of seconds, or a text with a unit. */
static double read_value(cs_reading *r, const cs_field *item)
{
    char        path[CS_PATH_BYTES];
    const char *text    = cs_read_scalar(r, item);
    double      delay_s = 0;

    cs_field_path(item, path);
    if (text != NULL && cs_parse_time(text, &delay_s, path, &r->error) == CS_OK &&
        !(delay_s >= 0 && delay_s <= MAX_DELAY_S)) {
        CS_REFUSE(r, item, CS_EINVAL, "%.15g s is not in [0 s, %.15g s]", delay_s, MAX_DELAY_S);
    }
    return delay_s;
}

/* Where the delays go; NULL (refused) without memory. */
static double *new_values(cs_reading *r, const cs_field *field, size_t count, cs_distribution *d)
{
    double *value_s = CS_ARENA_NEW(r->arena, double, count);

    if (value_s == NULL) {
        CS_REFUSE(r, field, CS_ENOMEM, "out of memory for delays");
    }
    d->value_s  = value_s;
    d->n_values = count;
    return value_s;
}

static void read_values(cs_reading *r, const cs_field *field, cs_distribution *d)
{
    cs_field list  = cs_field_get(field, "values");
    size_t   count = cs_read_array(r, &list);

    if (!cs_reading_failed(r) && count == 0) {
        CS_REFUSE(r, &list, CS_EINVAL, "is empty: accepted is one delay or more");
    }
    double *value_s = cs_reading_failed(r) ? NULL : new_values(r, &list, count, d);
    for (size_t i = 0; value_s != NULL && i < count && !cs_reading_failed(r); i++) {
        cs_field item = cs_field_item(&list, i);
        value_s[i]    = read_value(r, &item);
    }
    if (value_s != NULL) {
        qsort(value_s, count, sizeof *value_s, compare);
    }
}

/* The arrivals of all ranks in all calls. */
static void read_skews(cs_reading *r, const cs_field *field, cs_distribution *d)
{
    const cs_arrival_trace *trace   = cs_read_trace(r, field, "trace");
    size_t                  count   = trace != NULL ? trace->n_calls * trace->n_ranks : 0;
    double                 *value_s = trace != NULL ? new_values(r, field, count, d) : NULL;

    if (value_s != NULL) {
        memcpy(value_s, trace->arrival_s, count * sizeof *value_s);
        qsort(value_s, count, sizeof *value_s, compare);
    }
}

static void read_empirical(cs_reading *r, const cs_field *field, cs_distribution *d)
{
    bool has_values = is_there(field, "values"), has_trace = is_there(field, "trace");

    if (has_values == has_trace) {
        CS_REFUSE(r, field, CS_EINVAL, "accepted are 'values', or a 'trace' to take them from");
    } else if (has_values && is_there(field, "fingerprint")) {
        CS_REFUSE(r, field, CS_EINVAL, "the key 'fingerprint' belongs to a 'trace'");
    } else if (has_values) {
        read_values(r, field, d);
    } else {
        read_skews(r, field, d);
    }
}

static void read_kind(cs_reading *r, const cs_field *field, cs_distribution *d)
{
    switch (d->kind) {
    case CS_DISTRIBUTION_CONSTANT: d->shift_s = read_delay(r, field, "value", true); break;
    case CS_DISTRIBUTION_UNIFORM: read_uniform(r, field, d); break;
    case CS_DISTRIBUTION_EXPONENTIAL: d->scale_s = read_delay(r, field, "mean", false); break;
    case CS_DISTRIBUTION_NORMAL:
        d->shift_s = read_delay(r, field, "mean", true);
        d->scale_s = read_delay(r, field, "stddev", false);
        break;
    case CS_DISTRIBUTION_LOGNORMAL: read_lognormal(r, field, d); break;
    case CS_DISTRIBUTION_GAMMA: read_gamma(r, field, d); break;
    case CS_DISTRIBUTION_WEIBULL: read_weibull(r, field, d); break;
    case CS_DISTRIBUTION_PARETO: read_pareto(r, field, d); break;
    case CS_DISTRIBUTION_EMPIRICAL: read_empirical(r, field, d); break;
    case CS_DISTRIBUTION_COUNT: break;
    }
}

/* Only the keys of its own kind; "name" is one of all kinds. */
static bool read_name(cs_reading *r, const cs_field *field, cs_distribution_kind *kind_p)
{
    const char *keys[5] = {"name"};
    size_t      n_keys = 1, kind = 0;

    if (!cs_reading_failed(r) && !json_is_object(field->node)) {
        CS_REFUSE(r, field, CS_EINVAL,
                  "is %s: accepted is a time or an object with the name of a distribution",
                  cs_tree_kind(field->node));
    }
    cs_read_required(r, field, "name");
    cs_read_word(r, field, "name", kind_names, COUNT(kind_names), &kind);
    for (size_t i = 0; i < 4 && parameters[kind][i] != NULL; i++) {
        keys[n_keys++] = parameters[kind][i];
    }
    *kind_p = (cs_distribution_kind)kind;
    return !cs_reading_failed(r) && cs_read_object(r, field, keys, n_keys);
}

void cs_read_distribution(cs_reading *r, const cs_field *field, cs_distribution *d)
{
    cs_distribution read = {0};

    if (cs_reading_failed(r)) {
        return;
    }
    if (json_is_string(field->node) || json_is_number(field->node)) {
        read.shift_s = read_value(r, field);
    } else if (read_name(r, field, &read.kind)) {
        read_kind(r, field, &read);
    }
    if (!cs_reading_failed(r)) {
        *d = read;
    }
}
