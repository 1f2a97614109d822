/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dispatcher's loop: see replay/dispatch.h. Messages are taken from the stream, queue at their
 * ports (dispatch_queue.c) and wait for their data (dispatch_slots.c); when they wait for nothing
 * they start, and time goes on to the model's next event or the next arrival. */
#include "base/alloc.h"
#include "models/lib/serve.h"
#include "replay/dispatch_state.h"
#include "replay/ports.h"

#include <math.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 256, OFFSET_BITS = 9 };

_Static_assert(CS_DISPATCH_BLOCK == 1 << OFFSET_BITS,
               "an id is a block's number and a place in it");

static cs_status no_memory(cs_error *err)
{
    return CS_FAIL(err, CS_ENOMEM, "", "out of memory for the transfers that are under way");
}

/* A model that failed has no record to write the reason to. */
static cs_status model_failed(const cs_dispatch *d, cs_status status, cs_error *err)
{
    const char *why = d->network->why != NULL ? d->network->why(d->model)
                                              : "the network simulator behind it failed";

    return status == CS_ENOMEM ? no_memory(err) : CS_FAIL(err, status, "model", "%s", why);
}

cs_status cs_pool_grow(cs_pool *pool, size_t item_bytes, size_t count)
{
    size_t need     = (size_t)pool->n_used + count + 1;
    size_t capacity = pool->capacity == 0 ? FIRST_CAPACITY : 2 * (size_t)pool->capacity;

    capacity = capacity < need ? need : capacity;
    if (capacity > UINT32_MAX >> 3) {
        return CS_ENOMEM;
    }
    char *items = cs_realloc(pool->items, capacity, item_bytes);
    if (items == NULL) {
        return CS_ENOMEM;
    }
    pool->n_used   = pool->n_used == 0 ? 1 : pool->n_used;
    pool->items    = items;
    pool->capacity = (uint32_t)capacity;
    return CS_OK;
}

typedef struct arrival {
    double   time_s;
    uint32_t rank;
} arrival;

static int by_time(const void *a, const void *b)
{
    const arrival *x = a, *y = b;
    int            order = (x->time_s > y->time_s) - (x->time_s < y->time_s);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* The late ranks in the order in which they come. */
static cs_status sort_arrivals(cs_dispatch *d)
{
    uint32_t n    = d->ports.n_ranks;
    arrival *late = CS_NEW(arrival, n);

    d->rank_free_s = CS_ARENA_NEW(&d->arena, double, n);
    d->by_arrival  = CS_ARENA_NEW(&d->arena, uint32_t, n);
    if (late == NULL || d->rank_free_s == NULL || d->by_arrival == NULL) {
        cs_free(late);
        return CS_ENOMEM;
    }
    for (uint32_t r = 0; r < n; r++) {
        d->rank_free_s[r] = d->ports.arrival_s[r];
        if (d->rank_free_s[r] > d->ports.first_s) {
            late[d->n_late++] = (arrival){d->rank_free_s[r], r};
        }
    }
    qsort(late, d->n_late, sizeof *late, by_time);
    for (uint32_t i = 0; i < d->n_late; i++) {
        d->by_arrival[i] = late[i].rank;
    }
    cs_free(late);
    return CS_OK;
}

static cs_status open_parts(cs_dispatch *d, cs_error *err)
{
    const cs_replay_request *q = d->request;
    cs_status status           = cs_ports_describe(&d->ports, &d->arena, q->scenario, q->plan, err);

    if (status != CS_OK) {
        return status;
    }
    d->now_s          = d->ports.first_s;
    d->record.first_s = d->ports.first_s;
    d->last_end_s     = d->ports.first_s;
    d->newest = CS_ARENA_NEW(&d->arena, uint32_t, (size_t)d->ports.n_ranks * q->plan->n_slots);
    if (d->newest == NULL || sort_arrivals(d) != CS_OK || cs_queues_open(d) != CS_OK ||
        cs_queues_close_late(d) != CS_OK) {
        return no_memory(err);
    }
    return d->network->open(&d->ports, q->model_options, &d->model, err);
}

cs_status cs_dispatch_open(const cs_replay_request *request, cs_dispatch **dispatch_p,
                           cs_error *err)
{
    cs_dispatch *d = CS_NEW(cs_dispatch, 1);

    if (d == NULL) {
        return no_memory(err);
    }
    d->request          = request;
    d->network          = request->model->network;
    d->shares_receivers = d->network->shares_receivers != NULL &&
                          d->network->shares_receivers(request->model_options);
    d->message_gap_s =
        d->network->message_gap_s != NULL ? d->network->message_gap_s(request->model_options) : 0;
    d->record.observers   = request->observers;
    d->record.n_observers = request->n_observers;
    cs_status status      = open_parts(d, err);
    if (status != CS_OK) {
        cs_dispatch_close(d);
        return status;
    }
    *dispatch_p = d;
    return CS_OK;
}

void cs_dispatch_count(cs_dispatch *dispatch, const cs_block *block)
{
    for (size_t i = 0; i < block->count; i++) {
        const cs_transfer *t = &block->transfers[i];
        if ((t->flags & CS_JOIN) != 0) {
            continue;
        }
        cs_way way = cs_way_of(&dispatch->ports, t);
        cs_queues_count(dispatch, way.tx);
        if (way.is_exchange) {
            cs_queues_count(dispatch, way.back_tx);
        }
    }
}

/* A message that waits for nothing. */
static cs_status start(cs_dispatch *d, uint32_t index)
{
    if (cs_pool_reserve(&d->flying, sizeof(cs_flying), 1) != CS_OK) {
        return CS_ENOMEM;
    }
    const cs_message *m         = cs_message_at(d, index);
    uint32_t          handle    = cs_pool_take(&d->flying, sizeof(cs_flying));
    double            startup_s = cs_queues_start(d, m);
    const cs_flight   flight    = {.id          = m->id,
                                   .handle      = handle,
                                   .src         = m->src,
                                   .dst         = m->dst,
                                   .tx          = m->tx,
                                   .rx          = m->rx,
                                   .fabric      = m->fabric,
                                   .is_exchange = m->n_ports > 2,
                                   .is_alone    = !m->is_shared && !d->shares_receivers,
                                   .bytes       = m->bytes,
                                   .start_s     = d->now_s,
                                   .startup_s   = startup_s};

    *cs_flying_at(d, handle) = (cs_flying){0, index, d->now_s, startup_s};
    return d->network->inject(d->model, &flight);
}

static cs_status start_ready(cs_dispatch *d)
{
    cs_status status = CS_OK;

    while (d->ready_first != 0 && status == CS_OK) {
        uint32_t index = d->ready_first;
        d->ready_first = cs_message_at(d, index)->next_ready;
        d->ready_last  = d->ready_first == 0 ? 0 : d->ready_last;
        status         = start(d, index);
    }
    return status;
}

static void end(cs_dispatch *d, uint32_t handle)
{
    cs_flying         flying = *cs_flying_at(d, handle);
    const cs_message *m      = cs_message_at(d, flying.message);

    if (d->record.n_observers > 0) {
        cs_record_end(&d->record, m->id >> OFFSET_BITS, m->id & (CS_DISPATCH_BLOCK - 1), m->parts,
                      (cs_interval){flying.start_s, d->now_s}, flying.startup_s);
    }
    cs_queues_leave(d, m);
    cs_slots_end(d, m);
    cs_pool_give(&d->messages, sizeof(cs_message), flying.message);
    cs_pool_give(&d->flying, sizeof(cs_flying), handle);
    d->last_end_s = d->now_s;
    d->n_live--;
}

static double next_arrival_s(const cs_dispatch *d)
{
    return d->n_arrived < d->n_late ? d->ports.arrival_s[d->by_arrival[d->n_arrived]]
                                    : (double)INFINITY;
}

static void let_arrive(cs_dispatch *d)
{
    while (next_arrival_s(d) <= d->now_s) {
        cs_queues_arrive(d, d->by_arrival[d->n_arrived++]);
    }
}

/* The model lets the time pass; what ended frees its ports and its readers. */
static cs_status advance(cs_dispatch *d)
{
    const uint32_t *ended  = NULL;
    size_t          n      = 0;
    cs_status       status = d->network->advance(d->model, d->now_s, &ended, &n);

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        end(d, ended[i]);
    }
    return status;
}

/* On to the next event; everything that ends at its time ends, and what waited for it starts. */
static cs_status step(cs_dispatch *d, cs_error *err)
{
    double    event_s = (double)INFINITY, arrival_s = next_arrival_s(d);
    cs_status status = d->network->next(d->model, &event_s);

    d->now_s = fmin(event_s, arrival_s);
    if (status == CS_OK && !isfinite(d->now_s)) {
        return CS_FAIL(err, CS_EINTERNAL, "", "%u transfers wait for something that never comes",
                       d->n_live);
    }
    if (status == CS_OK && event_s <= d->now_s) {
        status = advance(d);
    }
    if (status == CS_OK) {
        let_arrive(d);
        status = start_ready(d);
    }
    if (status != CS_OK) {
        return model_failed(d, status, err);
    }
    return d->record.n_observers > 0 ? cs_record_show(&d->record, err) : CS_OK;
}

static cs_status drain(cs_dispatch *d, cs_error *err)
{
    cs_status status = CS_OK;

    while (d->n_live > 0 && status == CS_OK) {
        status = step(d, err);
    }
    return status;
}

/* A barrier: everything before it has ended and everybody but one has come. That one has no part
 * in it, but whatever comes later has another end, which has. */
static cs_status fence(cs_dispatch *d, const cs_block *block, cs_error *err)
{
    cs_status status = drain(d, err);
    double    latest = d->last_end_s;

    for (uint32_t r = 0; r < d->ports.n_ranks; r++) {
        latest = r == block->fence_except ? latest : fmax(latest, d->rank_free_s[r]);
    }
    latest += block->fence_s;
    for (uint32_t r = 0; r < d->ports.n_ranks; r++) {
        d->rank_free_s[r] = r == block->fence_except ? d->rank_free_s[r] : latest;
    }
    d->now_s = fmax(d->now_s, latest);
    let_arrive(d);
    return status;
}

/* Room for everything that the message needs, so that nothing behind can fail. */
static cs_status reserve(cs_dispatch *d, const cs_transfer *t, size_t parts)
{
    size_t slots = 0;

    for (size_t k = 0; k < parts; k++) {
        slots += 2 * (size_t)t[k].span;
    }
    bool failed = cs_pool_reserve(&d->messages, sizeof(cs_message), 1) != CS_OK ||
                  cs_pool_reserve(&d->versions, sizeof(cs_version), slots) != CS_OK ||
                  cs_pool_reserve(&d->edges, sizeof(cs_edge), 2 * slots + 8) != CS_OK ||
                  cs_pool_reserve(&d->groups, sizeof(cs_group), 4) != CS_OK;
    return failed ? CS_ENOMEM : CS_OK;
}

/* One message, of `parts` transfers, enters the window. */
static cs_status take(cs_dispatch *d, uint64_t id, const cs_transfer *t, size_t parts)
{
    if (reserve(d, t, parts) != CS_OK) {
        return CS_ENOMEM;
    }
    uint32_t    index = cs_pool_take(&d->messages, sizeof(cs_message));
    cs_message *m     = cs_message_at(d, index);
    cs_way      way   = cs_way_of(&d->ports, t);
    bool        group = (t->flags & CS_SHARED) != 0;

    *m = (cs_message){.id        = id,
                      .src       = t->src,
                      .dst       = t->dst,
                      .tx        = way.tx,
                      .rx        = way.rx,
                      .round     = t->round,
                      .waits     = 1, /* itself: it starts below at the earliest */
                      .parts     = (uint16_t)parts,
                      .fabric    = (uint8_t)way.fabric,
                      .n_ports   = way.is_exchange ? 4 : 2,
                      .is_shared = group && d->network->shares_groups,
                      .pays_once = group};
    for (size_t k = 0; k < parts; k++) {
        m->bytes += t[k].bytes;
        cs_slots_read(d, index, &t[k]);
    }
    for (size_t k = 0; k < parts; k++) {
        cs_slots_write(d, index, &t[k]);
    }
    cs_queues_enter(d, index);
    d->n_live++;
    cs_message_notify(d, index);
    return start_ready(d);
}

cs_status cs_dispatch_block(cs_dispatch *dispatch, const cs_block *block, cs_error *err)
{
    cs_dispatch *d      = dispatch;
    uint64_t     id     = d->n_blocks++ << OFFSET_BITS;
    cs_status    status = CS_OK;

    if ((block->transfers[0].flags & CS_FENCE) != 0) {
        status = fence(d, block, err);
    }
    if (status == CS_OK && d->record.n_observers > 0 && cs_record_add(&d->record, block) != CS_OK) {
        return no_memory(err);
    }
    for (size_t i = 0, parts; i < block->count && status == CS_OK; i += parts) {
        while ((d->n_hungry == 0 || d->n_live >= CS_MAX_FLIGHTS - 1) && status == CS_OK) {
            status = step(d, err);
        }
        parts = cs_message_parts(&block->transfers[i], block->count - i);
        if (status == CS_OK && take(d, id + i, &block->transfers[i], parts) != CS_OK) {
            status = no_memory(err);
        }
    }
    return status;
}

cs_status cs_dispatch_finish(cs_dispatch *dispatch, double *end_s_p, cs_error *err)
{
    cs_status status = drain(dispatch, err);
    double    end_s  = dispatch->last_end_s;

    for (uint32_t r = 0; r < dispatch->ports.n_ranks; r++) {
        end_s = fmax(end_s, dispatch->rank_free_s[r]);
    }
    *end_s_p = end_s;
    return status;
}

void cs_dispatch_close(cs_dispatch *dispatch)
{
    if (dispatch == NULL) {
        return;
    }
    if (dispatch->model != NULL) {
        dispatch->network->close(dispatch->model);
    }
    cs_record_free(&dispatch->record);
    cs_free(dispatch->flying.items);
    cs_free(dispatch->messages.items);
    cs_free(dispatch->versions.items);
    cs_free(dispatch->edges.items);
    cs_free(dispatch->groups.items);
    cs_arena_free(&dispatch->arena);
    cs_free(dispatch);
}
