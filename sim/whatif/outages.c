/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Histories of outages: see whatif/outages.h. */
#include "whatif/outages.h"

#include "base/alloc.h"
#include "base/random.h"
#include "cs/distribution.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 64 };

static const char *const takes_names[] = {
#define X(id, name, text) [CS_TAKES_##id] = name,
    CS_TAKES_MAP(X)
#undef X
};

const char *cs_failure_takes_name(cs_failure_takes takes)
{
    return takes_names[takes];
}

uint32_t cs_cause_components(const cs_failure_cause *cause, const cs_fleet *fleet)
{
    switch ((cs_failure_takes)cause->takes) {
    case CS_TAKES_NIC: return fleet->nics;
    case CS_TAKES_GPU: return fleet->gpus;
    case CS_TAKES_SERVER:
    case CS_TAKES_JOB:
    case CS_TAKES_KINDS: break;
    }
    return 1;
}

/* ---- lists ---- */

void cs_outages_clear(cs_outages *outages)
{
    outages->n = 0;
}

void cs_outages_free(cs_outages *outages)
{
    cs_free(outages->list);
    cs_free(outages->by_end);
    *outages = (cs_outages){0};
}

cs_status cs_outages_add(cs_outages *outages, const cs_outage *outage, cs_error *err)
{
    if (!cs_grow(&outages->list, &outages->room, outages->n + 1, 64, sizeof *outage)) {
        return CS_NO_MEMORY(err, "outages");
    }
    outages->list[outages->n++] = *outage;
    return CS_OK;
}

static int compare(const void *left, const void *right)
{
    const cs_outage *a = left, *b = right;

    if (a->from_s != b->from_s) {
        return a->from_s < b->from_s ? -1 : 1;
    }
    if (a->server != b->server) {
        return a->server < b->server ? -1 : 1;
    }
    if (a->cause != b->cause) {
        return a->cause < b->cause ? -1 : 1;
    }
    return (a->until_s > b->until_s) - (a->until_s < b->until_s);
}

static int compare_ends(const void *left, const void *right, void *list)
{
    uint32_t         i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    const cs_outage *outages = list;

    if (outages[i].until_s != outages[k].until_s) {
        return outages[i].until_s < outages[k].until_s ? -1 : 1;
    }
    return (i > k) - (i < k);
}

cs_status cs_outages_sort(cs_outages *outages, cs_error *err)
{
    if (!cs_grow(&outages->by_end, &outages->room_by_end, outages->n, 64,
                 sizeof *outages->by_end)) {
        return CS_NO_MEMORY(err, "outages");
    }
    if (outages->n == 0) {
        return CS_OK;
    }
    qsort(outages->list, outages->n, sizeof *outages->list, compare);
    for (uint32_t i = 0; i < outages->n; i++) {
        outages->by_end[i] = i;
    }
    qsort_r(outages->by_end, outages->n, sizeof *outages->by_end, compare_ends, outages->list);
    return CS_OK;
}

/* ---- drawing ---- */

/* A Weibull distribution by its mean. */
static cs_distribution lasting(double mean_s, double shape)
{
    if (shape == 1) {
        return (cs_distribution){.kind = CS_DISTRIBUTION_EXPONENTIAL, .scale_s = mean_s};
    }
    return (cs_distribution){.kind    = CS_DISTRIBUTION_WEIBULL,
                             .shape   = shape,
                             .scale_s = mean_s / gsl_sf_gamma(1 + 1 / shape)};
}

static double draw(const cs_distribution *d, gsl_rng *stream)
{
    return cs_distribution_quantile(d, cs_random_uniform(stream));
}

/* The uniform number beyond which a component outlives the duration, or a little less. */
static double surely_outlives(const cs_distribution *d, double duration_s)
{
    double x = duration_s / d->scale_s;

    return -expm1(-(d->kind == CS_DISTRIBUTION_WEIBULL ? pow(x, d->shape) : x)) * (1 + 1e-9);
}

typedef struct drawing {
    const cs_fleet         *fleet;
    const cs_failure_cause *cause;
    uint32_t                index; /* of the cause */
    cs_distribution         up, down;
    uint64_t                trial;
    gsl_rng                *firsts, *own;
} drawing;

/* All outages of a component whose first one begins at `from_s`. */
static cs_status draw_component(const drawing *d, uint32_t server, uint32_t component,
                                double from_s, cs_outages *outages, cs_error *err)
{
    char name[NAME_BYTES];

    (void)snprintf(name, sizeof name, "failures %u %llu %u", d->index, (unsigned long long)d->trial,
                   component);
    cs_random_restart(d->own, d->fleet->seed, name);
    while (from_s < d->fleet->duration_s) {
        double          lasts_s = d->cause->mttr_s > 0 ? draw(&d->down, d->own) : 0;
        const cs_outage outage  = {.from_s       = from_s,
                                   .until_s      = from_s + lasts_s,
                                   .server       = server,
                                   .cause        = d->index,
                                   .takes_server = d->cause->takes != CS_TAKES_NIC};
        CS_TRY(cs_outages_add(outages, &outage, err));
        from_s = outage.until_s + draw(&d->up, d->own);
    }
    return CS_OK;
}

static cs_status draw_cause(drawing *d, cs_outages *outages, cs_error *err)
{
    bool     is_job = d->cause->takes == CS_TAKES_JOB;
    uint32_t each = cs_cause_components(d->cause, d->fleet), component = 0;
    uint32_t servers  = is_job ? 1 : d->fleet->n_servers;
    double   outlives = surely_outlives(&d->up, d->fleet->duration_s);
    char     name[NAME_BYTES];

    (void)snprintf(name, sizeof name, "first failures %u %llu", d->index,
                   (unsigned long long)d->trial);
    cs_random_restart(d->firsts, d->fleet->seed, name);
    for (uint32_t server = 0; server < servers; server++) {
        for (uint32_t i = 0; i < each; i++, component++) {
            double u = cs_random_uniform(d->firsts);
            if (u < outlives) {
                CS_TRY(draw_component(d, is_job ? CS_NO_SERVER : server, component,
                                      cs_distribution_quantile(&d->up, u), outages, err));
            }
        }
    }
    return CS_OK;
}

static cs_status draw_causes(const cs_fleet *fleet, drawing *d, cs_outages *outages, cs_error *err)
{
    for (uint32_t i = 0; i < fleet->n_causes; i++) {
        d->cause = &fleet->causes[i];
        d->index = i;
        d->up    = lasting(d->cause->mtbf_s, d->cause->shape);
        d->down  = lasting(d->cause->mttr_s, d->cause->repair_shape);
        CS_TRY(draw_cause(d, outages, err));
    }
    return CS_OK;
}

cs_status cs_outages_draw(const cs_fleet *fleet, uint64_t trial, cs_outages *outages, cs_error *err)
{
    drawing   d      = {.fleet  = fleet,
                        .trial  = trial,
                        .firsts = cs_random_stream(fleet->seed, "failures"),
                        .own    = cs_random_stream(fleet->seed, "failures")};
    cs_status status = CS_OK;

    cs_outages_clear(outages);
    if (d.firsts == NULL || d.own == NULL) {
        status = CS_NO_MEMORY(err, "outages");
    }
    if (status == CS_OK) {
        status = draw_causes(fleet, &d, outages, err);
    }
    if (status == CS_OK) {
        status = cs_outages_sort(outages, err);
    }
    gsl_rng_free(d.firsts);
    gsl_rng_free(d.own);
    return status;
}

/* ---- closed forms ---- */

double cs_cause_expected_failures(const cs_failure_cause *cause, double duration_s)
{
    double fails = 1 / cause->mtbf_s, mends = 1 / cause->mttr_s, both = fails + mends;

    if (cause->shape != 1 || (cause->mttr_s > 0 && cause->repair_shape != 1)) {
        return (double)NAN;
    }
    if (!(cause->mttr_s > 0)) {
        return duration_s * fails;
    }
    double part = fails / both;
    return part * mends * duration_s - part * part * expm1(-both * duration_s);
}

double cs_cause_expected_down(const cs_failure_cause *cause, double duration_s)
{
    double fails = 1 / cause->mtbf_s, mends = 1 / cause->mttr_s, both = fails + mends;

    if (!(cause->mttr_s > 0)) {
        return 0;
    }
    if (cause->shape != 1 || cause->repair_shape != 1) {
        return (double)NAN;
    }
    return fails / both * (1 + expm1(-both * duration_s) / (both * duration_s));
}
