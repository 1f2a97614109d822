/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One schedule on one model after the other; the first that runs is what the others are held
 * against. */
#include "output/model_compare.h"

#include "engine/ports.h"
#include "models/lib/links.h"
#include "models/lib/serve.h"

#include <math.h>
#include <stdio.h>

#define MAX_TRANSFERS 20000000u

static cs_status limit(const cs_recording *recording, cs_error *err)
{
    return recording->n_transfers <= MAX_TRANSFERS
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "", "models are compared over at most %u transfers",
                         MAX_TRANSFERS);
}

/* Run on one model. What the model refuses goes into the row; anything else is an error. */
static cs_status run_one(const cs_job *job, cs_model_row *row, cs_recording *seen, cs_error *err)
{
    cs_job      other    = *job;
    cs_cluster *cluster  = &other.scenario.cluster;
    cs_observer observer = cs_recording_observer(seen);

    cs_job_set_model(&other, row->model, row->model == job->model ? &job->model_options : NULL);
    row->no_topology  = row->model->network == NULL && cluster->topology != NULL;
    cluster->topology = row->no_topology ? NULL : cluster->topology;
    if (row->model->check != NULL &&
        row->model->check(&other.scenario, &other.model_options, &row->refusal) != CS_OK) {
        return CS_OK;
    }
    return cs_job_replay(&other, &observer, 1, &row->outcome, err);
}

/* Numbers of the links on a transfer's way (models/lib/links.h). */
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
static uint64_t count_others(const cs_ports *ports, const cs_recording *seen, size_t index,
                             uint32_t link)
{
    uint32_t    links[CS_MAX_LINKS_OF_WAY];
    uint64_t    n_others = 0;
    cs_interval mine     = seen->intervals[index];

    for (size_t i = 0; i < seen->n_transfers; i++) {
        const cs_transfer *o     = &seen->transfers[i];
        cs_interval        other = seen->intervals[i];
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

static void name_shared(const cs_scenario *s, const cs_recording *seen, cs_model_row *row)
{
    uint32_t links[CS_MAX_LINKS_OF_WAY];
    cs_ports ports = {0};

    cs_ports_place(&ports, &s->cluster);
    uint32_t n = way_of(&ports, &row->transfer, false, links);

    for (uint32_t k = 0; k < n && row->n_shared < CS_MOST_SHARED; k++) {
        uint64_t n_others = count_others(&ports, seen, row->index, links[k]);
        if (n_others > 0) {
            cs_shared_link *shared = &row->shared[row->n_shared++];
            shared->n_others       = n_others;
            name_link(&ports, &row->transfer, k, links[k], shared->name);
        }
    }
}

static void find_first_difference(const cs_scenario *s, const cs_recording *first,
                                  const cs_recording *seen, double tolerance, cs_model_row *row)
{
    double earliest_s = (double)INFINITY;

    for (size_t i = 0; i < seen->n_transfers && i < first->n_transfers; i++) {
        double a = first->intervals[i].end_s, b = seen->intervals[i].end_s;
        if (fabs(a - b) > tolerance * fmax(a, b) && fmin(a, b) < earliest_s) {
            earliest_s    = fmin(a, b);
            row->parts    = true;
            row->index    = i;
            row->transfer = seen->transfers[i];
            row->theirs   = first->intervals[i];
            row->mine     = seen->intervals[i];
        }
    }
    if (row->parts && row->model->network != NULL) {
        name_shared(s, seen, row);
    }
}

cs_status cs_compare_models(const cs_job *job, double tolerance, cs_model_row *rows,
                            size_t *n_rows_p, cs_error *err)
{
    cs_recording first  = {0};
    bool         is_set = false;
    size_t       n      = 0;
    cs_status    status = CS_OK;

    for (; cs_models[n] != NULL && status == CS_OK; n++) {
        cs_recording seen = {.limits = {limit}};
        rows[n]           = (cs_model_row){.model = cs_models[n]};
        status            = run_one(job, &rows[n], &seen, err);
        if (status == CS_OK && rows[n].refusal.status == CS_OK && !is_set) {
            first  = seen;
            seen   = (cs_recording){0};
            is_set = true;
        } else if (status == CS_OK && rows[n].refusal.status == CS_OK) {
            find_first_difference(&job->scenario, &first, &seen, tolerance, &rows[n]);
        }
        cs_recording_free(&seen);
    }
    cs_recording_free(&first);
    *n_rows_p = n;
    return status;
}
