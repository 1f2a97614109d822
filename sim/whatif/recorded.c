/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recorded outages: see whatif/recorded.h. */
#include "whatif/recorded.h"

#include "base/random.h"
#include "cs/distribution.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NEVER_S     1e300
#define LEAST_SHAPE 0.2
#define MOST_SHAPE  100.0

/* Of repairs that all took as long. */
#define LEAST_VARIATION 1e-4

enum { NAME_BYTES = 48, BISECTIONS = 60, LEAST_REPAIRS = 3 };

/* ---- by nodes ---- */

static void shuffle(uint32_t *list, uint32_t n, gsl_rng *stream)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k  = (uint32_t)(cs_random_uniform(stream) * i);
        uint32_t at = list[i - 1];
        list[i - 1] = list[k];
        list[k]     = at;
    }
}

cs_status cs_record_index(const cs_recorded *recorded, const cs_fault_history *h,
                          uint32_t n_servers, uint64_t seed, cs_arena *arena, cs_record *record_p,
                          cs_error *err)
{
    size_t    n       = recorded->n_nodes;
    uint32_t *first   = CS_ARENA_NEW(arena, uint32_t, n + 2);
    uint32_t *faults  = CS_ARENA_NEW(arena, uint32_t, h->n + 1);
    uint32_t *in_turn = CS_ARENA_NEW(arena, uint32_t, n + 1);
    gsl_rng  *stream  = cs_random_stream(seed, "blocks of nodes");

    if (first == NULL || faults == NULL || in_turn == NULL || stream == NULL) {
        gsl_rng_free(stream);
        return CS_NO_MEMORY(err, "a history of faults");
    }
    for (size_t i = 0; i < h->n; i++) { /* counted, summed, filled: each node's stay in order */
        first[h->faults[i].node + 2]++;
    }
    for (size_t i = 0; i < n; i++) {
        first[i + 2] += first[i + 1];
        in_turn[i] = (uint32_t)i;
    }
    for (uint32_t i = 0; i < h->n; i++) {
        faults[first[h->faults[i].node + 1]++] = i;
    }
    shuffle(in_turn, recorded->n_nodes, stream);
    gsl_rng_free(stream);
    *record_p = (cs_record){recorded, h, first, faults, in_turn, seed, n_servers};
    return CS_OK;
}

uint64_t cs_record_blocks(const cs_record *record, const cs_window *window)
{
    uint32_t jobs    = record->recorded->n_nodes / record->n_servers;
    double   windows = floor((window->until_s - window->from_s) / window->duration_s * (1 + 1e-12));

    return (uint64_t)fmin(jobs * windows, 0x1p53);
}

/* ---- trials ---- */

static cs_status take_node(const cs_record *record, const cs_window *window, double from_s,
                           uint32_t node, uint32_t server, cs_outages *outages, cs_error *err)
{
    double until_s = from_s + window->duration_s;

    for (uint32_t i = record->first[node]; i < record->first[node + 1]; i++) {
        const cs_fault_record *f     = &record->history->faults[record->faults[i]];
        uint8_t                takes = record->recorded->takes[f->type];
        bool                   is_in = f->from_s < until_s &&
                     (f->from_s >= from_s || (f->until_s > from_s && !window->is_fresh));
        if (!is_in || takes == CS_TAKES_KINDS) {
            continue;
        }
        const cs_outage outage = {.from_s  = f->from_s - from_s,
                                  .until_s = f->until_s - from_s,
                                  .server  = server,
                                  .cause =
                                      takes == CS_TAKES_NIC ? CS_RECORDED_NIC : CS_RECORDED_SERVER,
                                  .takes_server = takes != CS_TAKES_NIC};
        CS_TRY(cs_outages_add(outages, &outage, err));
    }
    return CS_OK;
}

static cs_status take_block(const cs_record *record, const cs_window *window, uint64_t trial,
                            cs_outages *outages, cs_error *err)
{
    uint32_t n_blocks = record->recorded->n_nodes / record->n_servers;
    uint64_t turn     = trial / n_blocks;
    double   from_s   = window->from_s + (double)turn * window->duration_s;
    uint32_t first    = (uint32_t)(trial % n_blocks) * record->n_servers;

    for (uint32_t i = 0; i < record->n_servers; i++) {
        CS_TRY(take_node(record, window, from_s, record->shuffle[first + i], i, outages, err));
    }
    return CS_OK;
}

static cs_status take_sample(const cs_record *record, const cs_window *window, uint64_t trial,
                             cs_outages *outages, cs_error *err)
{
    char name[NAME_BYTES];

    (void)snprintf(name, sizeof name, "recorded %llu", (unsigned long long)trial);
    gsl_rng *stream = cs_random_stream(record->seed, name);
    if (stream == NULL) {
        return CS_NO_MEMORY(err, "outages");
    }
    double    room_s = window->until_s - window->from_s - window->duration_s;
    double    from_s = window->from_s + fmax(room_s, 0) * cs_random_uniform(stream);
    cs_status status = CS_OK;
    for (uint32_t i = 0; i < record->n_servers && status == CS_OK; i++) {
        uint32_t node = (uint32_t)(cs_random_uniform(stream) * record->recorded->n_nodes);
        status        = take_node(record, window, from_s, node, i, outages, err);
    }
    gsl_rng_free(stream);
    return status;
}

cs_status cs_record_take(const cs_record *record, const cs_window *window, uint64_t trial,
                         cs_outages *outages, cs_error *err)
{
    cs_outages_clear(outages);
    CS_TRY(window->pick == CS_PICK_BLOCKS ? take_block(record, window, trial, outages, err)
                                          : take_sample(record, window, trial, outages, err));
    return cs_outages_sort(outages, err);
}

/* ---- means ---- */

/* The shape of a Weibull distribution with a squared coefficient of variation. */
static double shape_of(double variation)
{
    double low = LEAST_SHAPE, high = MOST_SHAPE;

    for (int i = 0; i < BISECTIONS; i++) {
        double shape = sqrt(low * high), mean = gsl_sf_gamma(1 + 1 / shape);
        if (gsl_sf_gamma(1 + 2 / shape) / (mean * mean) - 1 > variation) {
            low = shape;
        } else {
            high = shape;
        }
    }
    return sqrt(low * high);
}

cs_record_fit cs_record_fit_of(const cs_record *record, int cause, uint32_t nics, double from_s,
                               double until_s)
{
    const cs_recorded      *r   = record->recorded;
    const cs_fault_history *h   = record->history;
    cs_record_fit           fit = {.repair_shape = 1, .repair_variation = 1};
    double                  n = 0, sum_s = 0, squares = 0;
    uint8_t                 takes = cause == CS_RECORDED_NIC ? CS_TAKES_NIC : CS_TAKES_SERVER;

    for (size_t i = 0; i < h->n; i++) {
        const cs_fault_record *f = &h->faults[i];
        if (r->takes[f->type] != takes || f->from_s >= until_s || f->until_s <= from_s) {
            continue;
        }
        fit.down_s += fmin(f->until_s, until_s) - fmax(f->from_s, from_s);
        fit.failures += f->from_s >= from_s;
        fit.repairs += f->until_s <= until_s;
        if (f->from_s >= from_s && f->until_s <= until_s) {
            double lasts_s = f->until_s - f->from_s;
            n++;
            sum_s += lasts_s;
            squares += lasts_s * lasts_s;
        }
    }
    double components = (double)r->n_nodes * (cause == CS_RECORDED_NIC ? nics : 1);
    fit.up_s          = fmax(components * (until_s - from_s) - fit.down_s, 0);
    if (n >= LEAST_REPAIRS && sum_s > 0) {
        double variation     = squares / n / (sum_s / n * (sum_s / n)) - 1;
        fit.repair_shape     = shape_of(variation);
        fit.repair_variation = fmax(variation, LEAST_VARIATION);
    }
    return fit;
}

static cs_failure_cause cause_of(const cs_record_fit *fit, int cause, double failures,
                                 double repairs)
{
    bool is_nic = cause == CS_RECORDED_NIC;

    return (cs_failure_cause){.name  = is_nic ? "recorded of NICs" : "recorded of servers",
                              .takes = is_nic ? CS_TAKES_NIC : CS_TAKES_SERVER,
                              .mtbf_s =
                                  failures > 0 && fit->up_s > 0 ? fit->up_s / failures : NEVER_S,
                              .shape        = 1,
                              .mttr_s       = repairs > 0 ? fit->down_s / repairs : fit->down_s,
                              .repair_shape = fit->repair_shape};
}

cs_failure_cause cs_record_cause(const cs_record_fit *fit, int cause)
{
    return cause_of(fit, cause, fit->failures, fit->repairs);
}

static double gamma_quantile(double shape, double u)
{
    const cs_distribution gamma = {.kind = CS_DISTRIBUTION_GAMMA, .shape = shape, .scale_s = 1};
    return cs_distribution_quantile(&gamma, u);
}

cs_failure_cause cs_record_draw(const cs_record_fit *fit, int cause, double u, double v)
{
    double variation = fit->repair_variation;

    return cause_of(fit, cause, gamma_quantile(fit->failures + 0.5, u),
                    gamma_quantile(fit->repairs / variation + 0.5, v) * variation);
}
