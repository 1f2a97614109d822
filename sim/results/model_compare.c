/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One schedule on every model: see results/model_compare.h. */
#include "results/model_compare.h"

#include "base/alloc.h"
#include "models/pattern/links.h"
#include "models/pattern/serve.h"
#include "replay/ports.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_TRANSFERS 20000000u

/* Everything that one run showed. */
typedef struct tape {
    cs_transfer *transfers; /* owned */
    cs_interval *intervals; /* owned */
    size_t       count, room;
} tape;

static void free_tape(tape *t)
{
    cs_free(t->transfers);
    cs_free(t->intervals);
    *t = (tape){0};
}

static cs_status make_room(tape *t, size_t more, cs_error *err)
{
    if (t->count + more > MAX_TRANSFERS) {
        return CS_FAIL(err, CS_ENOTSUP, "", "models are compared over at most %u transfers",
                       MAX_TRANSFERS);
    }
    if (t->count + more <= t->room) {
        return CS_OK;
    }
    size_t       room      = 2 * (t->room + more);
    cs_transfer *transfers = cs_realloc(t->transfers, room, sizeof *transfers);
    t->transfers           = transfers != NULL ? transfers : t->transfers;
    cs_interval *intervals = cs_realloc(t->intervals, room, sizeof *intervals);
    t->intervals           = intervals != NULL ? intervals : t->intervals;
    if (transfers == NULL || intervals == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for the times of %zu transfers", room);
    }
    t->room = room;
    return CS_OK;
}

static cs_status keep_block(void *user, const cs_block *block, const cs_interval *intervals,
                            cs_error *err)
{
    tape     *t      = user;
    cs_status status = make_room(t, block->count, err);

    if (status == CS_OK) {
        memcpy(t->transfers + t->count, block->transfers, block->count * sizeof *t->transfers);
        memcpy(t->intervals + t->count, intervals, block->count * sizeof *t->intervals);
        t->count += block->count;
    }
    return status;
}

/* Run on one model. What the model refuses goes into the row; anything else is an error. */
static cs_status run_one(const cs_replay_request *request, cs_model_row *row, tape *t,
                         cs_error *err)
{
    cs_scenario       scenario = *request->scenario;
    cs_replay_request r        = *request;
    cs_options        options  = {0};
    cs_observer       observer = {keep_block, t};

    if (row->model->options != NULL) {
        cs_fields_default(row->model->options, &options);
    }
    row->no_topology          = row->model->network == NULL && scenario.cluster.topology != NULL;
    scenario.cluster.topology = row->no_topology ? NULL : scenario.cluster.topology;
    r.scenario                = &scenario;
    r.model                   = row->model;
    r.model_options = row->model == request->model ? request->model_options : (void *)&options;
    r.observers     = &observer;
    r.n_observers   = 1;
    if (row->model->check != NULL &&
        row->model->check(&scenario, r.model_options, &row->refusal) != CS_OK) {
        return CS_OK;
    }
    return cs_replay(&r, &row->outcome, err);
}

/* Numbers of the links on a transfer's way (models/pattern/links.h). */
static uint32_t way_of(const cs_ports *ports, const cs_transfer *t, bool is_back, uint32_t *links)
{
    cs_way    way    = cs_way_of(ports, t);
    cs_flight flight = {
        .src = t->src, .dst = t->dst, .tx = way.tx, .rx = way.rx, .fabric = way.fabric};
    double latency_s = 0;

    return cs_links_of_way(ports, &flight, is_back, links, &latency_s);
}

static bool is_on(const uint32_t *links, uint32_t n, uint32_t wanted)
{
    for (uint32_t k = 0; k < n; k++) {
        if (links[k] == wanted) {
            return true;
        }
    }
    return false;
}

/* How many other messages used the link while the transfer was under way. */
static uint64_t count_others(const cs_ports *ports, const tape *t, size_t index, uint32_t link)
{
    uint32_t    links[CS_MAX_LINKS_OF_WAY];
    uint64_t    n_others = 0;
    cs_interval mine     = t->intervals[index];

    for (size_t i = 0; i < t->count; i++) {
        const cs_transfer *o     = &t->transfers[i];
        cs_interval        other = t->intervals[i];
        if (i == index || (o->flags & CS_JOIN) != 0 || other.end_s <= mine.start_s ||
            other.start_s >= mine.end_s) {
            continue;
        }
        bool uses = is_on(links, way_of(ports, o, false, links), link);
        if (cs_transfer_op(o) == CS_OP_EXCHANGE) {
            uses = uses || is_on(links, way_of(ports, o, true, links), link);
        }
        n_others += uses;
    }
    return n_others;
}

static void name_link(const cs_ports *ports, const cs_transfer *t, uint32_t k, uint32_t link,
                      char *name)
{
    const char        *fabric   = cs_transfer_fabric(t) == CS_NIC ? "NIC" : "NVLink";
    const cs_topology *topology = ports->cluster->topology;

    if (k < 2) {
        (void)snprintf(name, CS_LINK_NAME_BYTES, "%s %s rank %u", fabric,
                       k == 0 ? "out of" : "into", k == 0 ? t->src : t->dst);
    } else {
        topology->kind->link_name(topology, link - cs_link_of_inner(ports, 0), name,
                                  CS_LINK_NAME_BYTES);
    }
}

static void name_shared(const cs_scenario *s, const tape *t, cs_model_row *row)
{
    uint32_t links[CS_MAX_LINKS_OF_WAY];
    cs_ports ports = {0};

    cs_ports_place(&ports, &s->cluster);
    uint32_t n = way_of(&ports, &row->transfer, false, links);

    for (uint32_t k = 0; k < n && row->n_shared < CS_MOST_SHARED; k++) {
        uint64_t n_others = count_others(&ports, t, row->index, links[k]);
        if (n_others > 0) {
            cs_shared_link *shared = &row->shared[row->n_shared++];
            shared->n_others       = n_others;
            name_link(&ports, &row->transfer, k, links[k], shared->name);
        }
    }
}

static void find_parting(const cs_scenario *s, const tape *first, const tape *t, double tolerance,
                         cs_model_row *row)
{
    double earliest_s = (double)INFINITY;

    for (size_t i = 0; i < t->count && i < first->count; i++) {
        double a = first->intervals[i].end_s, b = t->intervals[i].end_s;
        if (fabs(a - b) > tolerance * fmax(a, b) && fmin(a, b) < earliest_s) {
            earliest_s    = fmin(a, b);
            row->parts    = true;
            row->index    = i;
            row->transfer = t->transfers[i];
            row->theirs   = first->intervals[i];
            row->mine     = t->intervals[i];
        }
    }
    if (row->parts && row->model->network != NULL) {
        name_shared(s, t, row);
    }
}

cs_status cs_compare_models(const cs_replay_request *request, double tolerance, cs_model_row *rows,
                            size_t *n_rows_p, cs_error *err)
{
    tape      first  = {0};
    bool      is_set = false;
    size_t    n      = 0;
    cs_status status = CS_OK;

    for (; cs_models[n] != NULL && status == CS_OK; n++) {
        tape t  = {0};
        rows[n] = (cs_model_row){.model = cs_models[n]};
        status  = run_one(request, &rows[n], &t, err);
        if (status == CS_OK && rows[n].refusal.status == CS_OK && !is_set) {
            first  = t;
            t      = (tape){0};
            is_set = true;
        } else if (status == CS_OK && rows[n].refusal.status == CS_OK) {
            find_parting(request->scenario, &first, &t, tolerance, &rows[n]);
        }
        free_tape(&t);
    }
    free_tape(&first);
    *n_rows_p = n;
    return status;
}
