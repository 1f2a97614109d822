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

/* A packet in another process takes microseconds: too many for who did not ask for that model? */
static bool takes_long(const cs_job *job, const cs_model *model, uint64_t wire_bytes)
{
    const cs_network *n = model->network;

    return model != job->model && n != NULL && n->is_foreign && n->queues_senders != NULL &&
           wire_bytes > (uint64_t)1 << 32;
}

/* Run on one model; others have sent so many bytes. What the model refuses goes into the row;
 * anything else is an error. */
static cs_status run_one(const cs_job *job, uint64_t wire_bytes, cs_model_row *row,
                         cs_recording *seen, cs_error *err)
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
    if (takes_long(job, row->model, wire_bytes)) {
        (void)CS_FAIL(&row->refusal, CS_ENOTSUP, "model",
                      "%llu bytes in packets would take minutes; '-m %s' runs it all the same",
                      (unsigned long long)wire_bytes, row->model->name);
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

static void name_shared(const cs_scenario *s, const cs_recording *seen, cs_model_row *row)
{
    uint32_t links[CS_MAX_LINKS_OF_WAY];
    cs_ports ports = {0};

    cs_ports_place(&ports, &s->cluster, CS_USES_SWITCH);
    uint32_t n = way_of(&ports, &row->transfer, false, links);

    for (uint32_t k = 0; k < n && row->n_shared < CS_MOST_SHARED; k++) {
        uint64_t n_others = count_others(&ports, seen, row->index, links[k]);
        if (n_others > 0) {
            cs_shared_link *shared = &row->shared[row->n_shared++];
            shared->n_others       = n_others;
            cs_link_name(&ports, links[k], shared->name, CS_LINK_NAME_BYTES);
        }
    }
}

/* ---- a message alone ---- */

/* When it ends that starts at `start_s` on a port model, .. */
static double serve_alone_s(const cs_job *job, cs_ports *ports, const cs_transfer *t,
                            double start_s)
{
    cs_way      way      = cs_way_of(ports, t);
    cs_interval interval = {0};

    ports->tx_free_s[way.tx] = ports->rx_free_s[way.rx] = start_s;
    ports->tx_free_s[way.back_tx] = ports->rx_free_s[way.back_rx] = start_s;
    job->model->serve(ports, &job->model_options, t, 1, &interval);
    return interval.end_s;
}

/* .. and on a network model. */
static double send_alone_s(const cs_job *job, const cs_ports *ports, const cs_transfer *t,
                           double start_s)
{
    const cs_network *network = job->model->network;
    cs_way            way     = cs_way_of(ports, t);
    void             *state   = NULL;
    double            now_s   = (double)NAN;
    size_t            n_ended = 0;
    const cs_flight   flight  = {.src         = t->src,
                                 .dst         = t->dst,
                                 .tx          = way.tx,
                                 .rx          = way.rx,
                                 .fabric      = way.fabric,
                                 .is_exchange = way.is_exchange,
                                 .is_alone    = network->queues_senders == NULL,
                                 .bytes       = t->bytes,
                                 .start_s     = start_s,
                                 .startup_s   = ports->alpha_s[way.fabric]};

    bool failed = network->open(ports, &job->model_options, &state, NULL) != CS_OK ||
                  network->inject(state, &flight) != CS_OK;
    while (!failed && n_ended == 0) {
        const uint32_t *ended;
        failed = network->next(state, &now_s) != CS_OK || !isfinite(now_s) ||
                 network->advance(state, now_s, &ended, &n_ended) != CS_OK;
    }
    network->close(state);
    return failed ? (double)NAN : now_s;
}

/* How long the message that begins with transfer `index` takes if nobody else is there; NAN where
 * that cannot be said. */
static double alone_s(const cs_job *job, const cs_model *model, const cs_recording *seen,
                      size_t index)
{
    const cs_transfer *t     = &seen->transfers[index];
    cs_transfer        whole = *t;
    const cs_plan      plan  = {.n_chunks = 1, .n_slots = 1, .n_rounds = 1, .uses = job->plan.uses};
    cs_job             other = *job;
    cs_arena           arena = {0};
    cs_ports           ports = {0};
    double             when_s = seen->intervals[index].start_s, end_s = (double)NAN;

    size_t parts = cs_message_parts(t, seen->n_transfers - index);
    for (size_t k = 1; k < parts; k++) {
        whole.bytes += t[k].bytes;
    }
    whole.flags    = CS_OWN_SRC | CS_OWN_DST;
    whole.src_slot = whole.dst_slot = 0;
    whole.span                      = 1;
    other.scenario.arrival_s        = NULL;
    cs_job_set_model(&other, model, model == job->model ? &job->model_options : NULL);
    if (model->network == NULL) {
        other.scenario.cluster.topology = NULL;
    }
    if ((t->flags & CS_JOIN) == 0 &&
        cs_ports_open(&ports, &arena, &other.scenario, &plan, NULL) == CS_OK) {
        end_s = model->network != NULL ? send_alone_s(&other, &ports, &whole, when_s)
                                       : serve_alone_s(&other, &ports, &whole, when_s);
    }
    cs_arena_free(&arena);
    return end_s - when_s;
}

static void find_first_difference(const cs_job *job, const cs_model *first_model,
                                  const cs_recording *first, const cs_recording *seen,
                                  double tolerance, cs_model_row *row)
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
    if (!row->parts) {
        return;
    }
    row->mine_alone_s   = alone_s(job, row->model, seen, row->index);
    row->theirs_alone_s = alone_s(job, first_model, first, row->index);
    if (row->model->network != NULL) {
        name_shared(&job->scenario, seen, row);
    }
}

cs_status cs_compare_models(const cs_job *job, double tolerance, const cs_listener *listener,
                            cs_model_row *rows, size_t *n_rows_p, cs_error *err)
{
    cs_recording    first        = {0};
    const cs_model *held_against = NULL;
    size_t          n = 0, n_models = 0;
    uint64_t        wire_bytes = 0;
    cs_status       status     = CS_OK;

    while (cs_models[n_models] != NULL) {
        n_models++;
    }
    for (; n < n_models && status == CS_OK; n++) {
        cs_recording seen = {.limits = {limit}};
        rows[n]           = (cs_model_row){.model = cs_models[n]};
        status            = run_one(job, wire_bytes, &rows[n], &seen, err);
        wire_bytes = status == CS_OK && wire_bytes == 0 ? rows[n].outcome.wire_bytes : wire_bytes;
        if (status == CS_OK && rows[n].refusal.status == CS_OK && held_against == NULL) {
            first        = seen;
            seen         = (cs_recording){0};
            held_against = cs_models[n];
        } else if (status == CS_OK && rows[n].refusal.status == CS_OK) {
            find_first_difference(job, held_against, &first, &seen, tolerance, &rows[n]);
        }
        cs_recording_free(&seen);
        cs_tell(listener, n + 1, n_models);
    }
    cs_recording_free(&first);
    *n_rows_p = n;
    return status;
}
