/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/adapcc/relay_times.h"

#include "base/alloc.h"
#include "base/event_queue.h"

#include <math.h>
#include <stdlib.h>

/* Times are the same that differ by less than that part of a cycle, or of a chunk. */
static const double SAME = 1e-6;

/* A message on its way to the coordinator. */
typedef struct arrival {
    double   time_s;
    uint32_t rank;
} arrival;

/* The coordinator, and what happens next around it. */
typedef struct paper {
    const cs_relay_case *given;
    cs_relay_times      *times;
    cs_relay             relay;
    arrival             *arrivals; /* [N], by time; owned */
    bool                *active;   /* [N] in phase 1; owned */
    /* Broadcasts share B evenly: each of those under way has been served as many bytes as all
     * others since it began. The queue has the bytes at which each ends; owned. */
    cs_event_queue sending;
    double         served_bytes;
    bool           no_memory;
    uint32_t       next_arrival;
    double         now_s, tick_s, phase1_end_s, deadline_s; /* INFINITY: not expected */
} paper;

static int by_time(const void *left, const void *right)
{
    const arrival *a = left, *b = right;

    if (a->time_s != b->time_s) {
        return a->time_s < b->time_s ? -1 : 1;
    }
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static cs_status check(const cs_relay_case *c, cs_error *err)
{
    uint32_t n_coming = 0;

    CS_TRY(cs_relay_check(&c->setting, err));
    for (uint32_t i = 0; i < c->setting.n_ranks; i++) {
        if (!(c->ready_s[i] >= 0)) {
            return CS_FAIL(err, CS_EINVAL, "ready", "worker %u: a time is 0 or later", i);
        }
        n_coming += !isinf(c->ready_s[i]);
    }
    if (n_coming == 0) {
        return CS_FAIL(err, CS_EINVAL, "ready", "nobody is ever ready: accepted is one at least");
    }
    if (!(c->rpc_s >= 0) || isinf(c->rpc_s) || !(c->chunk_bytes >= 0)) {
        return CS_FAIL(err, CS_EINVAL, "relay",
                       "the delay of messages and the chunk must not be negative");
    }
    if (c->strategy != NULL && (c->strategy->n_ranks != c->setting.n_ranks ||
                                c->strategy->n_members != c->setting.n_ranks)) {
        return CS_FAIL(err, CS_EINVAL, "ready", "%u workers, but the trees are over %u of %u ranks",
                       c->setting.n_ranks, c->strategy->n_members, c->strategy->n_ranks);
    }
    return CS_OK;
}

static cs_status begin(paper *p, cs_error *err)
{
    const cs_relay_case *c       = p->given;
    uint32_t             N       = c->setting.n_ranks;
    size_t               n_trees = c->strategy != NULL ? c->strategy->n_trees : 0;
    double               last_s  = 0;

    CS_TRY(cs_relay_init(&p->relay, &c->setting, err));
    p->arrivals          = CS_NEW(arrival, N);
    p->active            = CS_NEW(bool, N);
    p->times->workers    = CS_NEW(cs_relay_worker_times, N);
    p->times->behaviours = CS_NEW(cs_behaviour, (size_t)N * n_trees);
    if (p->arrivals == NULL || p->active == NULL || p->times->workers == NULL ||
        p->times->behaviours == NULL) {
        return CS_NO_MEMORY(err, "the times of %u workers", N);
    }
    for (uint32_t i = 0; i < N; i++) {
        p->arrivals[i]       = (arrival){c->ready_s[i] + c->rpc_s, i};
        p->times->workers[i] = (cs_relay_worker_times){
            .joined_s = (double)NAN, .from_s = (double)NAN, .to_s = (double)NAN};
        last_s = fmax(last_s, c->ready_s[i]);
    }
    qsort(p->arrivals, N, sizeof *p->arrivals, by_time);
    p->times->first_s    = p->arrivals[0].time_s;
    p->times->deadline_s = (double)NAN;
    p->times->wait_all_s = last_s + cs_relay_phase1_s(&c->setting, N);
    p->tick_s = p->phase1_end_s = p->deadline_s = (double)INFINITY;
    return CS_OK;
}

/* Which part of phase 1 has passed at a time? */
static double passed_at(const paper *p, double time_s)
{
    double length_s = p->times->phase1_end_s - p->times->phase1_from_s;

    return length_s > 0 ? fmax(0, time_s - p->times->phase1_from_s) / length_s : 1;
}

/* A relay joins phase 1 now, or when it is announced: what it lacks are the chunks that have
 * started. */
static double missing_bytes(const paper *p, uint32_t rank)
{
    const cs_relay_case *c        = p->given;
    const cs_strategy   *strategy = c->strategy;
    double               s = c->setting.bytes, chunk = c->chunk_bytes, missing = 0;
    bool                 announces = c->announces && cs_collective_reduces(c->setting.collective);

    if (strategy == NULL) {
        return chunk > 0 ? fmin(s, chunk * ceil(passed_at(p, p->now_s) * s / chunk - SAME)) : s;
    }
    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        const cs_strategy_tree *tree   = &strategy->trees[m];
        cs_behaviour            b      = p->times->behaviours[(size_t)m * strategy->n_ranks + rank];
        double                  from_s = p->now_s + (b.can_join ? 0 : c->rpc_s);
        double                  n_chunks = (double)tree->size_bytes / (double)tree->chunk_bytes;
        double                  started  = fmax(0, ceil(passed_at(p, from_s) * n_chunks - SAME));

        b.can_join  = b.can_join || announces;
        uint64_t c0 = cs_join_chunk(&b, (uint64_t)started, cs_tree_n_chunks(tree));
        missing += (double)cs_chunks_bytes(tree, c0);
    }
    return missing;
}

static void start(paper *p, double now_s)
{
    const cs_relay_setting *s        = &p->given->setting;
    const cs_strategy      *strategy = p->given->strategy;
    cs_relay_times         *t        = p->times;

    t->ticks         = p->relay.wake_tick;
    t->decided_s     = now_s;
    t->n_active      = p->relay.n_active;
    t->phase1_from_s = now_s + p->given->rpc_s;
    t->phase1_end_s  = t->phase1_from_s + cs_relay_phase1_s(s, t->n_active);
    p->phase1_end_s  = t->phase1_end_s;
    for (uint32_t i = 0; i < s->n_ranks; i++) {
        p->active[i]                = p->relay.workers[i] == CS_WORKER_ACTIVE;
        t->workers[i].missing_bytes = p->active[i] ? 0 : s->bytes;
    }
    for (uint32_t m = 0; strategy != NULL && m < strategy->n_trees; m++) {
        cs_behaviours_of(strategy, m, p->active, cs_collective_reduces(s->collective),
                         t->behaviours + (size_t)m * s->n_ranks);
    }
}

static void obey(paper *p, const cs_relay_order *order)
{
    cs_relay_times        *t = p->times;
    cs_relay_worker_times *w = &t->workers[order->rank];

    switch (order->verb) {
    case CS_RELAY_WAKE: p->tick_s = order->time_s; break;
    case CS_RELAY_START: start(p, order->time_s); break;
    case CS_RELAY_JOIN:
        w->joined_s      = order->time_s;
        w->missing_bytes = missing_bytes(p, order->rank);
        break;
    case CS_RELAY_BROADCAST:
        w->from_s = order->time_s;
        p->no_memory |=
            cs_events_put(&p->sending, p->served_bytes + w->missing_bytes, order->rank) != CS_OK;
        break;
    case CS_RELAY_WATCH: t->deadline_s = p->deadline_s = order->time_s; break;
    case CS_RELAY_EXCLUDE: t->n_faulty++; break;
    case CS_RELAY_FINISH: t->end_s = order->time_s; break;
    }
}

static void tell(paper *p, cs_relay_event event, uint32_t rank)
{
    cs_relay_tell(&p->relay, event, rank, p->now_s);
    for (size_t i = 0; i < p->relay.n_orders; i++) {
        obey(p, &p->relay.orders[i]);
    }
}

/* When the first broadcast ends. */
static double next_end_s(const paper *p)
{
    double left_bytes = cs_events_next_s(&p->sending) - p->served_bytes;

    return p->now_s + left_bytes * (double)p->sending.count / p->given->setting.rate_Bps;
}

/* Broadcasts go on until `to_s`. */
static void advance(paper *p, double to_s)
{
    double n = (double)p->sending.count, passed_s = fmax(0, to_s - p->now_s);

    if (n > 0) {
        double served   = p->served_bytes + passed_s * p->given->setting.rate_Bps / n;
        p->served_bytes = fmin(served, cs_events_next_s(&p->sending));
    }
    p->now_s = fmax(p->now_s, to_s);
}

static void end_broadcasts(paper *p)
{
    p->served_bytes = cs_events_next_s(&p->sending);
    size_t n        = cs_events_take(&p->sending);

    for (size_t i = 0; i < n; i++) {
        uint32_t rank                = (uint32_t)p->sending.batch[i].key;
        p->times->workers[rank].to_s = p->now_s;
        tell(p, CS_RELAY_BROADCAST_ENDS, rank);
    }
}

/* The next event; false: there is none. */
static bool step(paper *p)
{
    double  sent_s  = p->sending.count > 0 ? next_end_s(p) : (double)INFINITY;
    double  other_s = fmin(fmin(sent_s, p->phase1_end_s), fmin(p->tick_s, p->deadline_s));
    double  same_s  = SAME * p->given->setting.cycle_s;
    bool    is_last = p->next_arrival == p->given->setting.n_ranks;
    arrival next    = is_last ? (arrival){(double)INFINITY, 0} : p->arrivals[p->next_arrival];

    if (!isinf(next.time_s) && next.time_s <= other_s + same_s) {
        advance(p, fmin(next.time_s, other_s));
        p->next_arrival++;
        tell(p, CS_RELAY_IS_READY, next.rank);
        return true;
    }
    if (isinf(other_s)) {
        return false;
    }
    advance(p, other_s);
    if (sent_s <= other_s) {
        end_broadcasts(p);
    } else if (p->phase1_end_s <= other_s) {
        p->phase1_end_s = (double)INFINITY;
        tell(p, CS_RELAY_PHASE1_ENDS, 0);
    } else if (p->tick_s <= other_s) {
        p->tick_s = (double)INFINITY;
        tell(p, CS_RELAY_TICK, 0);
    } else {
        p->deadline_s = (double)INFINITY;
        tell(p, CS_RELAY_DEADLINE, 0);
    }
    return true;
}

static cs_status play(paper *p, cs_error *err)
{
    while (p->relay.state != CS_RELAY_DONE) {
        if (!step(p)) {
            return CS_FAIL(err, CS_EINVAL, "ready",
                           "only worker %u is ever ready, and one alone does not start: accepted "
                           "are two at least",
                           p->arrivals[0].rank);
        }
        if (p->no_memory) {
            return CS_NO_MEMORY(err, "the broadcasts of %u workers", p->given->setting.n_ranks);
        }
    }
    for (uint32_t i = 0; i < p->given->setting.n_ranks; i++) {
        p->times->workers[i].role = p->relay.workers[i];
    }
    return CS_OK;
}

cs_status cs_relay_times_of(const cs_relay_case *c, cs_relay_times *times, cs_error *err)
{
    paper p = {.given = c, .times = times};

    *times = (cs_relay_times){.n_active = 0};
    CS_TRY(check(c, err));
    cs_status status = begin(&p, err);
    if (status == CS_OK) {
        status = play(&p, err);
    }
    if (status != CS_OK) {
        cs_relay_times_free(times);
    }
    cs_relay_free(&p.relay);
    cs_free(p.arrivals);
    cs_events_free(&p.sending);
    cs_free(p.active);
    return status;
}

void cs_relay_times_free(cs_relay_times *times)
{
    cs_free(times->workers);
    cs_free(times->behaviours);
    times->workers    = NULL;
    times->behaviours = NULL;
}

uint32_t cs_relay_ready_at(const cs_relay_case *c, const cs_relay_times *times, double tick)
{
    double   tick_s = times->first_s + (tick + SAME) * c->setting.cycle_s;
    uint32_t k      = 0;

    for (uint32_t i = 0; i < c->setting.n_ranks; i++) {
        k += c->ready_s[i] + c->rpc_s <= tick_s;
    }
    return k;
}
