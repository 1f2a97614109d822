/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "whatif/execution_pass.h"

#include "base/alloc.h"
#include "base/event_queue.h"
#include "base/heap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What an event's key says: its kind, and the node of a rank, a call, a message or a rank. */
enum { NODE_ENDS, CALL_ENDS, MESSAGE_ENDS, RANK_BEGINS };
#define KIND_SHIFT 60
#define RANK_SHIFT 32

/* What runs one node at a time, and those that wait, the smallest first. */
typedef struct server {
    uint32_t *heap; /* owned */
    size_t    n, capacity;
    bool      is_busy;
} server;

enum { CPU, GPU, SERVERS };

/* What is under way, added up in the order of its begins: how long there were two or more. */
typedef struct overlap {
    double from_s, until_s; /* of what ends last */
    double counted_s;       /* up to here there were two, as far as it is known */
    double total_s;
} overlap;

typedef struct rank_state {
    uint32_t *needs; /* [n_nodes] what each still waits for */
    server    servers[SERVERS];
    uint32_t  n_done;
    overlap   busy; /* with calls and messages */
    uint32_t  n_late;
    double    tx_free_s[CS_FABRICS], rx_free_s[CS_FABRICS];
} rank_state;

/* A call that its ranks enter. */
typedef struct call_state {
    size_t   first; /* of its ranks in `arrival_s` and `node` */
    uint32_t n_entered;
} call_state;

typedef struct group_state {
    uint32_t n_ended; /* calls */
    double   free_s;
    bool     is_in_call;
} group_state;

typedef struct message_state {
    uint32_t sender, receiver; /* nodes */
    bool     is_sent, is_there, is_awaited;
} message_state;

typedef struct pass {
    const cs_execution_trace *trace;
    const cs_cluster         *cluster;
    const cs_call_clock      *clock;
    cs_arena                  arena;
    cs_event_queue            events;
    rank_state               *ranks;
    call_state               *calls;
    group_state              *groups;
    message_state            *messages;
    double                   *arrival_s; /* of every rank in every call */
    uint32_t                 *node;
    uint32_t                 *ready; /* owned: nodes of the rank at hand that take no time */
    size_t                    n_ready, ready_capacity;
    double                    now_s;
    uint32_t                  n_waited;
    overlap                   busy; /* the network */
} pass;

static cs_status no_memory(cs_error *err)
{
    return CS_NO_MEMORY(err, "an iteration");
}

static cs_status put(pass *p, double time_s, unsigned kind, uint32_t rank, uint32_t number,
                     cs_error *err)
{
    uint64_t key = (uint64_t)kind << KIND_SHIFT | (uint64_t)rank << RANK_SHIFT | number;

    return cs_events_put(&p->events, time_s, key) == CS_OK ? CS_OK : no_memory(err);
}

/* ---- what runs one at a time ---- */

static cs_status serve(pass *p, uint32_t rank, unsigned which, cs_error *err)
{
    server *s = &p->ranks[rank].servers[which];

    if (s->is_busy || s->n == 0) {
        return CS_OK;
    }
    uint32_t node = cs_heap_pop(s->heap, &s->n);
    s->is_busy    = true;
    return put(p, p->now_s + p->trace->ranks[rank].nodes[node].duration_s, NODE_ENDS, rank, node,
               err);
}

static cs_status queue_up(pass *p, uint32_t rank, uint32_t node, unsigned which, cs_error *err)
{
    if (p->clock->has_no_queues) {
        return put(p, p->now_s + p->trace->ranks[rank].nodes[node].duration_s, NODE_ENDS, rank,
                   node, err);
    }
    server *s = &p->ranks[rank].servers[which];
    if (!cs_grow(&s->heap, &s->capacity, s->n + 1, 16, sizeof *s->heap)) {
        return no_memory(err);
    }
    cs_heap_push(s->heap, &s->n, node); /* who begins is chosen when all that ends now has ended */
    return CS_OK;
}

/* ---- calls ---- */

static int by_rank(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t member_of(const cs_work_group *g, uint32_t rank)
{
    if (g->ranks[g->n_ranks - 1] == g->n_ranks - 1) {
        return rank; /* all of the first ranks */
    }
    const uint32_t *at = bsearch(&rank, g->ranks, g->n_ranks, sizeof rank, by_rank);
    return (uint32_t)(at - g->ranks);
}

static void add_interval(overlap *o, double from_s, double until_s)
{
    double both_s = fmin(until_s, o->until_s);

    /* A message may be known before it begins, so before what begins sooner. */
    o->total_s += fmax(0, both_s - fmax(fmax(from_s, o->from_s), o->counted_s));
    o->counted_s = fmax(o->counted_s, fmax(from_s, o->from_s) < both_s ? both_s : 0);
    if (until_s > o->until_s) {
        o->from_s  = from_s > o->until_s ? from_s : fmin(from_s, o->from_s);
        o->until_s = until_s;
    }
}

/* Who alone came last, if anybody had to wait; and what is under way beside it? */
static void note_call(pass *p, const cs_work_group *g, const double *arrival_s, double last_s,
                      double end_s)
{
    uint32_t last = 0, n_last = 0;
    bool     wait = false;

    for (uint32_t i = 0; i < g->n_ranks; i++) {
        wait   = wait || arrival_s[i] != arrival_s[0];
        n_last = arrival_s[i] > arrival_s[last] ? 1 : n_last + (arrival_s[i] == arrival_s[last]);
        last   = arrival_s[i] > arrival_s[last] ? i : last;
        add_interval(&p->ranks[g->ranks[i]].busy, last_s, end_s);
    }
    if (g->n_ranks > 1) {
        add_interval(&p->busy, last_s, end_s);
    }
    p->n_waited += wait;
    p->ranks[g->ranks[last]].n_late += wait && n_last == 1;
}

/* Begin a call of a group that all its ranks have entered. */
static cs_status begin_call(pass *p, uint32_t call, cs_error *err)
{
    const cs_work_call  *c         = &p->trace->calls[call];
    const cs_work_group *g         = &p->trace->groups[c->group];
    group_state         *state     = &p->groups[c->group];
    double              *arrival_s = &p->arrival_s[p->calls[call].first];
    double               first_s = (double)INFINITY, last_s = 0, elapsed_s = 0;

    for (uint32_t i = 0; i < g->n_ranks; i++) {
        arrival_s[i] = p->clock->has_no_queues ? arrival_s[i] : fmax(arrival_s[i], state->free_s);
        first_s      = fmin(first_s, arrival_s[i]);
        last_s       = fmax(last_s, arrival_s[i]);
    }
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        arrival_s[i] -= first_s;
    }
    if (g->n_ranks > 1) {
        CS_TRY(p->clock->call(p->clock->user, call, first_s, arrival_s, &elapsed_s, err));
    }
    double end_s      = fmax(first_s + elapsed_s, p->now_s);
    state->is_in_call = true;
    note_call(p, g, arrival_s, last_s, end_s);
    return put(p, end_s, CALL_ENDS, 0, call, err);
}

/* The next call of a group, if all are there. */
static cs_status try_call(pass *p, uint32_t group, cs_error *err)
{
    const cs_work_group *g     = &p->trace->groups[group];
    group_state         *state = &p->groups[group];
    uint32_t             call  = g->first_call + state->n_ended;

    if (state->is_in_call || state->n_ended == g->n_calls ||
        p->calls[call].n_entered < g->n_ranks) {
        return CS_OK;
    }
    return begin_call(p, call, err);
}

static cs_status enter_call(pass *p, uint32_t rank, uint32_t node, cs_error *err)
{
    const cs_execution  *x      = &p->trace->ranks[rank];
    uint32_t             group  = x->groups[x->nodes[node].group];
    const cs_work_group *g      = &p->trace->groups[group];
    uint32_t             call   = g->first_call + x->nodes[node].sequence;
    size_t               member = p->calls[call].first + member_of(g, rank);

    p->arrival_s[member] = p->now_s;
    p->node[member]      = node;
    p->calls[call].n_entered++;
    if (!p->clock->has_no_queues) {
        return try_call(p, group, err);
    }
    return p->calls[call].n_entered == g->n_ranks ? begin_call(p, call, err) : CS_OK;
}

/* ---- messages ---- */

/* The sender is there: the message is on its way as soon as both ports are free. */
static cs_status send(pass *p, uint32_t rank, uint32_t node, cs_error *err)
{
    uint32_t               number = p->trace->ranks[rank].nodes[node].sequence;
    const cs_work_message *m      = &p->trace->messages[number];
    double                 took_s = 0, start_s = p->now_s;
    uint8_t                fabric = m->src != m->dst ? cs_fabric_of(p->cluster, m->src, m->dst) : 0;
    double                *tx_s   = &p->ranks[m->src].tx_free_s[fabric];
    double                *rx_s   = &p->ranks[m->dst].rx_free_s[fabric];

    p->messages[number].sender  = node;
    p->messages[number].is_sent = true;
    if (!p->clock->has_no_queues) {
        start_s = fmax(start_s, fmax(*tx_s, *rx_s));
    }
    if (m->src != m->dst) {
        CS_TRY(p->clock->message(p->clock->user, number, start_s, &took_s, err));
    }
    *tx_s = *rx_s = start_s + took_s;
    add_interval(&p->ranks[m->src].busy, start_s, start_s + took_s);
    add_interval(&p->ranks[m->dst].busy, start_s, start_s + took_s);
    add_interval(&p->busy, start_s, start_s + took_s);
    return put(p, start_s + took_s, MESSAGE_ENDS, 0, number, err);
}

/* The receiver is there, before the message or after it. */
static cs_status receive(pass *p, uint32_t rank, uint32_t node, cs_error *err)
{
    message_state *m = &p->messages[p->trace->ranks[rank].nodes[node].sequence];

    m->receiver   = node;
    m->is_awaited = true;
    return m->is_there ? put(p, p->now_s, NODE_ENDS, rank, node, err) : CS_OK;
}

/* ---- nodes ---- */

/* All that a node needs has ended. */
static cs_status begin_node(pass *p, uint32_t rank, uint32_t node, cs_error *err)
{
    const cs_work *work = &p->trace->ranks[rank].nodes[node];

    switch ((cs_work_kind)work->kind) {
    case CS_WORK_HOST: return queue_up(p, rank, node, CPU, err);
    case CS_WORK_COMPUTE: return queue_up(p, rank, node, GPU, err);
    case CS_WORK_OTHER: return put(p, p->now_s + work->duration_s, NODE_ENDS, rank, node, err);
    case CS_WORK_CALL: return enter_call(p, rank, node, err);
    case CS_WORK_SEND: return send(p, rank, node, err);
    case CS_WORK_RECEIVE: return receive(p, rank, node, err);
    case CS_WORK_NOTHING:
    case CS_WORK_KINDS: break;
    }
    if (!cs_grow(&p->ready, &p->ready_capacity, p->n_ready + 1, 64, sizeof *p->ready)) {
        return no_memory(err);
    }
    p->ready[p->n_ready++] = node;
    return CS_OK;
}

/* A node has ended, and at once those behind it that take no time. */
static cs_status end_node(pass *p, uint32_t rank, uint32_t node, cs_error *err)
{
    const cs_execution *x = &p->trace->ranks[rank];
    rank_state         *r = &p->ranks[rank];

    p->n_ready = 0;
    for (bool has_more = true; has_more;) {
        r->n_done++;
        for (uint32_t u = x->nodes[node].first_user; u < x->nodes[node + 1].first_user; u++) {
            if (--r->needs[x->users[u]] == 0) {
                CS_TRY(begin_node(p, rank, x->users[u], err));
            }
        }
        has_more = p->n_ready > 0;
        node     = has_more ? p->ready[--p->n_ready] : 0;
    }
    return CS_OK;
}

static cs_status begin_rank(pass *p, uint32_t rank, cs_error *err)
{
    const cs_execution *x = &p->trace->ranks[rank];

    for (uint32_t i = 0; i < x->n_nodes; i++) {
        if (x->nodes[i].needs == 0) {
            p->n_ready = 0;
            CS_TRY(begin_node(p, rank, i, err));
            if (p->n_ready > 0) {
                CS_TRY(end_node(p, rank, i, err));
            }
        }
    }
    return CS_OK;
}

static cs_status end_call(pass *p, uint32_t call, cs_error *err)
{
    uint32_t             group = p->trace->calls[call].group;
    const cs_work_group *g     = &p->trace->groups[group];
    group_state         *state = &p->groups[group];
    size_t               first = p->calls[call].first;

    state->free_s     = p->now_s;
    state->is_in_call = false;
    state->n_ended++;
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        CS_TRY(end_node(p, g->ranks[i], p->node[first + i], err));
    }
    return p->clock->has_no_queues ? CS_OK : try_call(p, group, err);
}

static cs_status end_message(pass *p, uint32_t number, cs_error *err)
{
    const cs_work_message *m     = &p->trace->messages[number];
    message_state         *state = &p->messages[number];

    state->is_there = true;
    CS_TRY(end_node(p, m->src, state->sender, err));
    return state->is_awaited ? end_node(p, m->dst, state->receiver, err) : CS_OK;
}

static cs_status happen(pass *p, uint64_t key, cs_error *err)
{
    uint32_t rank   = (uint32_t)(key >> RANK_SHIFT & 0xffffff);
    uint32_t number = (uint32_t)key;

    switch (key >> KIND_SHIFT) {
    case RANK_BEGINS: return begin_rank(p, rank, err);
    case CALL_ENDS: return end_call(p, number, err);
    case MESSAGE_ENDS: return end_message(p, number, err);
    default: break;
    }
    unsigned kind = p->trace->ranks[rank].nodes[number].kind;
    if (kind == CS_WORK_HOST || kind == CS_WORK_COMPUTE) {
        p->ranks[rank].servers[kind == CS_WORK_HOST ? CPU : GPU].is_busy = false;
    }
    return end_node(p, rank, number, err);
}

/* ---- all ---- */

static cs_status new_rank(pass *p, uint32_t rank, cs_error *err)
{
    const cs_execution *x = &p->trace->ranks[rank];
    rank_state         *r = &p->ranks[rank];

    r->needs = CS_ARENA_NEW(&p->arena, uint32_t, x->n_nodes);
    if (r->needs == NULL) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < x->n_nodes; i++) {
        r->needs[i] = x->nodes[i].needs;
    }
    return CS_OK;
}

static cs_status new_calls(pass *p, cs_error *err)
{
    const cs_execution_trace *t     = p->trace;
    size_t                    total = 0;

    p->calls    = CS_ARENA_NEW(&p->arena, call_state, (size_t)t->n_calls + 1);
    p->groups   = CS_ARENA_NEW(&p->arena, group_state, (size_t)t->n_groups + 1);
    p->messages = CS_ARENA_NEW(&p->arena, message_state, (size_t)t->n_messages + 1);
    if (p->calls == NULL || p->groups == NULL || p->messages == NULL) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < t->n_calls; i++) {
        p->calls[i].first = total;
        total += t->groups[t->calls[i].group].n_ranks;
    }
    p->arrival_s = CS_ARENA_NEW(&p->arena, double, total + 1);
    p->node      = CS_ARENA_NEW(&p->arena, uint32_t, total + 1);
    return p->arrival_s != NULL && p->node != NULL ? CS_OK : no_memory(err);
}

static cs_status new_pass(pass *p, const double *start_s, cs_error *err)
{
    p->ranks = CS_ARENA_NEW(&p->arena, rank_state, p->trace->n_ranks);
    if (p->ranks == NULL) {
        return no_memory(err);
    }
    CS_TRY(new_calls(p, err));
    for (uint32_t r = 0; r < p->trace->n_ranks; r++) {
        CS_TRY(new_rank(p, r, err));
        CS_TRY(put(p, start_s != NULL ? start_s[r] : 0, RANK_BEGINS, r, 0, err));
    }
    return CS_OK;
}

/* Which ranks begin something new now: those of the events. */
static cs_status serve_all(pass *p, uint64_t key, cs_error *err)
{
    uint32_t number = (uint32_t)key;
    uint32_t rank   = (uint32_t)(key >> RANK_SHIFT & 0xffffff);

    if (key >> KIND_SHIFT == CALL_ENDS) {
        const cs_work_group *g = &p->trace->groups[p->trace->calls[number].group];
        for (uint32_t i = 0; i < g->n_ranks; i++) {
            CS_TRY(serve(p, g->ranks[i], CPU, err));
            CS_TRY(serve(p, g->ranks[i], GPU, err));
        }
        return CS_OK;
    }
    if (key >> KIND_SHIFT == MESSAGE_ENDS) {
        rank = p->trace->messages[number].dst;
        CS_TRY(serve(p, p->trace->messages[number].src, CPU, err));
        CS_TRY(serve(p, p->trace->messages[number].src, GPU, err));
    }
    CS_TRY(serve(p, rank, CPU, err));
    return serve(p, rank, GPU, err);
}

static cs_status run(pass *p, double *end_s_p, cs_error *err)
{
    while (p->events.count > 0) {
        p->now_s = *end_s_p = cs_events_next_s(&p->events);
        size_t n            = cs_events_take(&p->events);
        for (size_t i = 0; i < n; i++) {
            CS_TRY(happen(p, p->events.batch[i].key, err));
        }
        for (size_t i = 0; i < n; i++) {
            CS_TRY(serve_all(p, p->events.batch[i].key, err));
        }
    }
    return CS_OK;
}

/* A rank that never ended waits for a call that others never enter, or for a message. */
static cs_status name_deadlock(const pass *p, uint32_t rank, cs_error *err)
{
    const cs_execution_trace *t = p->trace;

    for (uint32_t c = 0; c < t->n_calls; c++) {
        const cs_work_group *g = &t->groups[t->calls[c].group];
        if (p->calls[c].n_entered > 0 && p->calls[c].n_entered < g->n_ranks) {
            return CS_FAIL(err, CS_EINVAL, "--trace",
                           "ranks wait for each other without end: %u of %u ranks of a process "
                           "group enter its call %u, the others never do",
                           p->calls[c].n_entered, g->n_ranks, c - g->first_call);
        }
    }
    for (uint32_t m = 0; m < t->n_messages; m++) {
        if (p->messages[m].is_awaited && !p->messages[m].is_sent) {
            return CS_FAIL(err, CS_EINVAL, "--trace",
                           "ranks wait for each other without end: rank %u waits for a message of "
                           "rank %u, which never sends it",
                           t->messages[m].dst, t->messages[m].src);
        }
    }
    return CS_FAIL(err, CS_EINVAL, "--trace",
                   "ranks wait for each other without end: rank %u has done %u of %u nodes", rank,
                   p->ranks[rank].n_done, t->ranks[rank].n_nodes);
}

static cs_status conclude(const pass *p, double end_s, cs_pass_result *result, cs_error *err)
{
    *result = (cs_pass_result){.end_s     = end_s,
                               .at_once_s = p->busy.total_s,
                               .straggler = UINT32_MAX,
                               .n_waited  = p->n_waited};
    for (uint32_t r = 0; r < p->trace->n_ranks; r++) {
        const rank_state *rank = &p->ranks[r];
        if (rank->n_done < p->trace->ranks[r].n_nodes) {
            return name_deadlock(p, r, err);
        }
        result->shared_s = fmax(result->shared_s, rank->busy.total_s);
        if (rank->n_late > result->n_late) {
            result->n_late    = rank->n_late;
            result->straggler = r;
        }
    }
    return CS_OK;
}

cs_status cs_execution_pass(const cs_execution_trace *trace, const cs_cluster *cluster,
                            const double *start_s, const cs_call_clock *clock,
                            cs_pass_result *result_p, cs_error *err)
{
    pass      p      = {.trace = trace, .cluster = cluster, .clock = clock};
    cs_status status = new_pass(&p, start_s, err);
    double    end_s  = 0;

    if (status == CS_OK) {
        status = run(&p, &end_s, err);
    }
    if (status == CS_OK) {
        status = conclude(&p, end_s, result_p, err);
    }
    for (uint32_t r = 0; p.ranks != NULL && r < trace->n_ranks; r++) {
        for (unsigned s = 0; s < SERVERS; s++) {
            cs_free(p.ranks[r].servers[s].heap);
        }
    }
    cs_events_free(&p.events);
    cs_free(p.ready);
    cs_arena_free(&p.arena);
    return status;
}
