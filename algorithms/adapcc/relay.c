/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/adapcc/relay.h"

#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Cycles: what is nearer than that to a tick is at it. */
static const double SAME_TICK = 1e-6;

/* ---- what it costs ---- */

cs_relay_setting cs_relay_setting_of(cs_relay_rule rule, uint32_t n_ranks, double bytes,
                                     double rate_Bps)
{
    return (cs_relay_setting){.collective = CS_ALLREDUCE,
                              .n_ranks    = n_ranks,
                              .bytes      = bytes,
                              .rate_Bps   = rate_Bps,
                              .rule       = rule,
                              .volumes = rule == CS_RELAY_LITERAL ? CS_RELAY_PAPER : CS_RELAY_CODE,
                              .cycle_s = CS_RELAY_CYCLE_S,
                              .cap_s   = CS_RELAY_CAP_S,
                              .fault_factor = CS_RELAY_FAULT_FACTOR};
}

cs_status cs_relay_check(const cs_relay_setting *s, cs_error *err)
{
    const struct {
        const char *name;
        double      value;
    } positive[] = {{"bytes", s->bytes}, {"rate", s->rate_Bps}, {"cycle", s->cycle_s}};

    if (s->n_ranks < 2) {
        return CS_FAIL(err, CS_EINVAL, "ranks", "%u is too few: accepted are 2 workers or more",
                       s->n_ranks);
    }
    for (size_t i = 0; i < sizeof positive / sizeof positive[0]; i++) {
        if (!(positive[i].value > 0) || isinf(positive[i].value)) {
            return CS_FAIL(err, CS_EINVAL, positive[i].name, "%g is not accepted, only above 0",
                           positive[i].value);
        }
    }
    if (!(s->cap_s >= 0) || !(s->fault_factor >= 0)) {
        return CS_FAIL(err, CS_EINVAL, "relay",
                       "the cap and the fault factor must not be negative");
    }
    return CS_OK;
}

/* A directed link between two ranks, or between two NICs. */
typedef struct used_link {
    bool     is_net;
    uint32_t from, to;
    double   rate_Bps;
} used_link;

static int by_ends(const void *left, const void *right)
{
    const used_link *a = left, *b = right;

    if (a->is_net != b->is_net) {
        return a->is_net ? 1 : -1;
    }
    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return a->to < b->to ? -1 : a->to > b->to;
}

static used_link link_of(const cs_logical *logical, uint32_t src, uint32_t dst)
{
    cs_logical_edge edge = cs_logical_edge_of(logical, src, dst);

    return (used_link){.is_net   = edge.is_net,
                       .from     = edge.is_net ? logical->nic_of[src] : src,
                       .to       = edge.is_net ? logical->nic_of[dst] : dst,
                       .rate_Bps = edge.bandwidth_Bps};
}

cs_status cs_relay_rate(const cs_strategy *strategy, const cs_logical *logical,
                        cs_collective collective, double *rate_Bps_p, cs_error *err)
{
    bool       both = collective == CS_ALLREDUCE || collective == CS_ALLTOALL;
    bool       up = both || cs_collective_reduces(collective), down = both || !up;
    size_t     n = 0, most = (size_t)strategy->n_trees * strategy->n_members * 2;
    used_link *links = CS_NEW(used_link, most);

    if (links == NULL) {
        return CS_NO_MEMORY(err, "%zu links", most);
    }
    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        const cs_strategy_tree *tree = &strategy->trees[m];
        for (uint32_t i = 1; i < strategy->n_members; i++) {
            uint32_t g = tree->order[i], parent = tree->parent[g];
            if (up) {
                links[n++] = link_of(logical, g, parent);
            }
            if (down) {
                links[n++] = link_of(logical, parent, g);
            }
        }
    }
    qsort(links, n, sizeof *links, by_ends);
    *rate_Bps_p = 0;
    for (size_t i = 0; i < n; i++) {
        *rate_Bps_p += i == 0 || by_ends(&links[i - 1], &links[i]) != 0 ? links[i].rate_Bps : 0;
    }
    cs_free(links);
    return CS_OK;
}

double cs_relay_volume_bytes(const cs_relay_setting *s, uint32_t k)
{
    switch (s->collective) {
    case CS_ALLREDUCE: return 2 * (k - 1.0) * s->bytes;
    case CS_ALLTOALL: return k * s->bytes;
    case CS_BROADCAST: return s->bytes;
    case CS_ALLGATHER:
    case CS_REDUCESCATTER:
    case CS_REDUCE:
    case CS_COLLECTIVE_COUNT: break;
    }
    return (k - 1.0) * s->bytes;
}

double cs_relay_phase1_s(const cs_relay_setting *s, uint32_t k)
{
    return cs_relay_volume_bytes(s, k) / s->rate_Bps;
}

double cs_relay_buy_s(const cs_relay_setting *s, uint32_t k)
{
    double N = s->n_ranks, tensor_s = s->bytes / s->rate_Bps;

    if (s->volumes == CS_RELAY_CODE) {
        return cs_relay_phase1_s(s, s->n_ranks) * ((k - 1.0) / k) * (N / (N - 1)) + N * tensor_s;
    }
    return cs_relay_phase1_s(s, k) + (N - k) * tensor_s;
}

double cs_relay_patience_s(const cs_relay_setting *s, uint32_t k)
{
    double buy_s = cs_relay_buy_s(s, k);

    return s->rule == CS_RELAY_LITERAL ? buy_s : fmax(0, buy_s - cs_relay_phase1_s(s, s->n_ranks));
}

double cs_relay_first_tick(const cs_relay_setting *s, uint32_t k)
{
    if (k >= s->n_ranks) {
        return 0;
    }
    if (k == 0 || (k == 1 && !s->one_starts)) {
        return (double)INFINITY;
    }
    double first = ceil(cs_relay_patience_s(s, k) / s->cycle_s - SAME_TICK);
    if (s->rule == CS_RELAY_PREMIUM) {
        first = fmin(first, floor(s->cap_s / s->cycle_s + SAME_TICK) + 1);
    }
    return fmax(0, first);
}

uint64_t cs_relay_batch_of(uint64_t batch, uint32_t n_workers, uint32_t index)
{
    return batch / n_workers + (index < batch % n_workers);
}

/* ---- the coordinator ---- */

cs_status cs_relay_init(cs_relay *relay, const cs_relay_setting *setting, cs_error *err)
{
    *relay         = (cs_relay){.setting = *setting, .deadline_s = (double)INFINITY};
    relay->workers = CS_NEW(cs_relay_worker, setting->n_ranks);
    relay->orders  = CS_NEW(cs_relay_order, (size_t)setting->n_ranks + 1);
    if (relay->workers == NULL || relay->orders == NULL) {
        cs_relay_free(relay);
        return CS_NO_MEMORY(err, "the coordinator of %u workers", setting->n_ranks);
    }
    return CS_OK;
}

void cs_relay_free(cs_relay *relay)
{
    cs_free(relay->workers);
    cs_free(relay->orders);
    *relay = (cs_relay){.state = CS_RELAY_IDLE};
}

static void order(cs_relay *r, cs_relay_verb verb, uint32_t rank, double time_s)
{
    assert(r->n_orders <= r->setting.n_ranks);
    r->orders[r->n_orders++] = (cs_relay_order){verb, rank, time_s};
}

/* Ask for the first tick from now on at which these workers start. */
static void ask_for_tick(cs_relay *r, double now_s)
{
    double now  = ceil((now_s - r->first_s) / r->setting.cycle_s - SAME_TICK);
    double tick = fmax(now, cs_relay_first_tick(&r->setting, r->n_ready));

    r->wake_tick = tick;
    r->wake_s    = r->first_s + tick * r->setting.cycle_s;
    if (!isinf(tick)) {
        order(r, CS_RELAY_WAKE, 0, r->wake_s);
    }
}

/* A relay's tensor is everywhere, or will never be. */
static void close_relay(cs_relay *r, double now_s)
{
    r->n_open--;
    if (r->n_open == 0) {
        r->state = CS_RELAY_DONE;
        order(r, CS_RELAY_FINISH, 0, now_s);
    }
}

static void worker_is_ready(cs_relay *r, uint32_t rank, double now_s)
{
    cs_relay_worker *worker = &r->workers[rank];

    if (r->state == CS_RELAY_IDLE) {
        r->state   = CS_RELAY_WAIT;
        r->first_s = now_s;
    }
    if (r->state == CS_RELAY_WAIT && *worker == CS_WORKER_NOT_READY) {
        *worker = CS_WORKER_READY;
        r->n_ready++;
        ask_for_tick(r, now_s);
    } else if (*worker == CS_WORKER_RELAY && r->state == CS_RELAY_PHASE1) {
        *worker = CS_WORKER_JOINED;
        order(r, CS_RELAY_JOIN, rank, now_s);
    } else if (*worker == CS_WORKER_RELAY && r->state == CS_RELAY_PHASE2) {
        *worker = CS_WORKER_SENDS;
        order(r, CS_RELAY_BROADCAST, rank, now_s);
    }
}

static void decide(cs_relay *r, double now_s)
{
    if (r->state != CS_RELAY_WAIT || now_s < r->wake_s) {
        return;
    }
    for (uint32_t i = 0; i < r->setting.n_ranks; i++) {
        bool is_ready = r->workers[i] == CS_WORKER_READY;
        r->workers[i] = is_ready ? CS_WORKER_ACTIVE : CS_WORKER_RELAY;
    }
    r->state    = CS_RELAY_PHASE1;
    r->n_active = r->n_ready;
    r->n_open   = r->setting.n_ranks - r->n_ready;
    order(r, CS_RELAY_START, 0, now_s);
}

/* The deadline is fault_factor times what has passed since t0 later, and a cycle at least: a phase
 * 1 of one worker takes no time. */
static void end_phase1(cs_relay *r, double now_s)
{
    uint32_t n_missing = 0;

    if (r->state != CS_RELAY_PHASE1) {
        return;
    }
    r->state = CS_RELAY_PHASE2;
    for (uint32_t i = 0; i < r->setting.n_ranks; i++) {
        n_missing += r->workers[i] == CS_WORKER_RELAY;
        if (r->workers[i] == CS_WORKER_JOINED) {
            r->workers[i] = CS_WORKER_SENDS;
            order(r, CS_RELAY_BROADCAST, i, now_s);
        }
    }
    if (n_missing > 0) {
        double fault_s = r->setting.fault_factor * (now_s - r->first_s);
        r->deadline_s  = now_s + fmax(fault_s, r->setting.cycle_s);
        order(r, CS_RELAY_WATCH, 0, r->deadline_s);
    }
    if (r->n_open == 0) {
        r->state = CS_RELAY_DONE;
        order(r, CS_RELAY_FINISH, 0, now_s);
    }
}

static void exclude_missing(cs_relay *r, double now_s)
{
    if (r->state != CS_RELAY_PHASE2 || now_s < r->deadline_s) {
        return;
    }
    for (uint32_t i = 0; i < r->setting.n_ranks; i++) {
        if (r->workers[i] == CS_WORKER_RELAY) {
            r->workers[i] = CS_WORKER_FAULTY;
            order(r, CS_RELAY_EXCLUDE, i, now_s);
            close_relay(r, now_s);
        }
    }
}

void cs_relay_tell(cs_relay *relay, cs_relay_event event, uint32_t rank, double now_s)
{
    assert(rank < relay->setting.n_ranks);
    relay->n_orders = 0;
    switch (event) {
    case CS_RELAY_IS_READY: worker_is_ready(relay, rank, now_s); break;
    case CS_RELAY_TICK: decide(relay, now_s); break;
    case CS_RELAY_PHASE1_ENDS: end_phase1(relay, now_s); break;
    case CS_RELAY_BROADCAST_ENDS:
        if (relay->workers[rank] == CS_WORKER_SENDS) {
            relay->workers[rank] = CS_WORKER_DONE;
            close_relay(relay, now_s);
        }
        break;
    case CS_RELAY_DEADLINE: exclude_missing(relay, now_s); break;
    }
}
