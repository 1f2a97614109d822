/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The critical path: see replay/explain.h. A cause is the latest end that a start had to wait
 * for and that is not behind it. Exact on alpha-beta, where a start is one of these times bit for
 * bit; on models with a latency that holds no port the cause is the same and the gap between its
 * end and the start is that latency. */
#include "replay/explain.h"

#include "base/alloc.h"
#include "models/pattern/serve.h"
#include "replay/ports.h"

enum { NOBODY = -1 };

#define MAX_TRANSFERS 20000000u

#define ROUNDING 1e-15

typedef struct node {
    double   start_s, end_s;
    int64_t  before; /* index of the transfer waited for, or NOBODY */
    uint32_t src, dst, chunk, round;
    cs_wait  wait;
} node;

/* Who ended last on a port or wrote a slot. */
typedef struct mark {
    int64_t index; /* NOBODY: nobody yet */
    double  end_s;
} mark;

struct cs_explain {
    const cs_scenario *scenario;
    cs_ports           ports; /* only the numbering of the ports */
    cs_arena           arena;
    uint32_t           n_slots;
    mark              *tx, *rx;      /* [n_ports] */
    mark              *slot;         /* [n_ranks][n_slots] */
    uint32_t           fence_except; /* who did not wait at it */
    mark               fence; /* the last transfer before the last fence, at the fence's time */
    mark               last;
    node              *nodes;
    size_t             count, room;
    cs_path_step      *path;
};

static mark *new_marks(cs_arena *arena, size_t count)
{
    mark *marks = CS_ARENA_NEW(arena, mark, count);

    for (size_t i = 0; marks != NULL && i < count; i++) {
        marks[i].index = NOBODY;
    }
    return marks;
}

cs_status cs_explain_open(const cs_scenario *scenario, const cs_plan *plan, cs_explain **explain_p,
                          cs_error *err)
{
    cs_explain *e = CS_NEW(cs_explain, 1);

    if (e == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "--explain", "out of memory");
    }
    e->scenario = scenario;
    e->n_slots  = plan->n_slots;
    cs_ports_place(&e->ports, &scenario->cluster);
    e->tx    = new_marks(&e->arena, e->ports.n_ports);
    e->rx    = new_marks(&e->arena, e->ports.n_ports);
    e->slot  = new_marks(&e->arena, (size_t)scenario->cluster.n_ranks * plan->n_slots);
    e->fence = e->last = (mark){.index = NOBODY};
    if (e->tx == NULL || e->rx == NULL || e->slot == NULL) {
        cs_explain_close(e);
        return CS_FAIL(err, CS_ENOMEM, "--explain", "out of memory");
    }
    *explain_p = e;
    return CS_OK;
}

/* Take a candidate when it is later than what is there. What ended after the start was not
 * waited for: under LogGP a message may leave while its receiving port is busy. A barrier's end
 * may be rounded otherwise than the start behind it. */
static void consider(node *n, double start_s, mark candidate, cs_wait wait)
{
    double latest_s = wait == CS_WAIT_FENCE ? start_s * (1 + ROUNDING) : start_s;

    if (candidate.index != NOBODY && candidate.end_s > n->end_s && candidate.end_s <= latest_s) {
        n->end_s  = candidate.end_s;
        n->before = candidate.index;
        n->wait   = wait;
    }
}

static void consider_slots(const cs_explain *e, node *n, double start_s, const cs_transfer *t)
{
    const mark *source = &e->slot[(size_t)t->src * e->n_slots + t->src_slot];
    const mark *sink   = &e->slot[(size_t)t->dst * e->n_slots + t->dst_slot];
    bool        back   = cs_transfer_op(t) == CS_OP_EXCHANGE;

    for (uint32_t k = 0; k < t->span; k++) {
        if ((t->flags & CS_OWN_SRC) == 0) {
            consider(n, start_s, source[k], CS_WAIT_DATA);
        }
        if (back && (t->flags & CS_OWN_DST) == 0) {
            consider(n, start_s, sink[k], CS_WAIT_DATA);
        }
    }
}

/* The port itself and, where a GPU drives some of its links only, those beside it. */
static void consider_port(const cs_explain *e, node *n, double start_s, const cs_transfer *t,
                          const mark *marks, uint32_t port, cs_wait wait)
{
    uint32_t g = e->scenario->cluster.gpus_per_server, fabric = cs_transfer_fabric(t);

    consider(n, start_s, marks[port], wait);
    if (e->ports.links_at_once > 0 && fabric == CS_NVLINK) {
        uint32_t first = port - (port - e->ports.port_base[fabric]) % g;
        for (uint32_t p = first; p < first + g; p++) {
            consider(n, start_s, marks[p], wait);
        }
    }
}

/* The cause with the latest end; the data before ports, because ties are common in lockstep and
 * the data tell more. The first part of a message waits for the data of all `parts`. `end_s` serves
 * as the time of the best cause until the caller sets it. */
static node cause_of(const cs_explain *e, const cs_transfer *t, size_t parts, double start_s,
                     uint32_t tx, uint32_t rx)
{
    double src = cs_arrival(e->scenario, t->src), dst = cs_arrival(e->scenario, t->dst);
    node   n = {.before = NOBODY, .src = t->src, .dst = t->dst, .chunk = t->chunk};

    n.round = t->round;
    n.end_s = src > dst ? src : dst;
    for (size_t k = 0; k < parts; k++) {
        consider_slots(e, &n, start_s, &t[k]);
    }
    if (t->src != e->fence_except && t->dst != e->fence_except) {
        consider(&n, start_s, e->fence, CS_WAIT_FENCE);
    }
    consider_port(e, &n, start_s, t, e->tx, tx, CS_WAIT_TX);
    consider_port(e, &n, start_s, t, e->rx, rx, CS_WAIT_RX);
    if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
        consider_port(e, &n, start_s, t, e->tx, rx, CS_WAIT_TX);
        consider_port(e, &n, start_s, t, e->rx, tx, CS_WAIT_RX);
    }
    return n;
}

/* A sum is there when the last of what it adds up is, which over several links need not be the last
 * in the stream. */
static void leave_marks(cs_explain *e, const cs_transfer *t, uint32_t tx, uint32_t rx, mark now)
{
    mark *source = &e->slot[(size_t)t->src * e->n_slots + t->src_slot];
    mark *sink   = &e->slot[(size_t)t->dst * e->n_slots + t->dst_slot];
    bool  back   = cs_transfer_op(t) == CS_OP_EXCHANGE;
    bool  adds   = cs_transfer_op(t) == CS_OP_REDUCE && (t->flags & CS_OWN_DST) == 0;

    e->tx[tx] = e->rx[rx] = now;
    if (back) {
        e->tx[rx] = e->rx[tx] = now;
    }
    for (uint32_t k = 0; k < t->span; k++) {
        sink[k]   = adds && sink[k].end_s > now.end_s ? sink[k] : now;
        source[k] = back ? now : source[k];
    }
    e->last = now.end_s > e->last.end_s || e->last.index == NOBODY ? now : e->last;
}

/* A message of `parts` transfers. What it brings is there when its last part has ended, which is
 * also when its ports are free; a part behind the first waits for the one before it. */
static void add_message(cs_explain *e, const cs_transfer *t, size_t parts,
                        const cs_interval *intervals)
{
    uint32_t fabric = cs_transfer_fabric(t);
    uint32_t tx     = cs_port_of(&e->ports, fabric, t->src, t->dst);
    uint32_t rx     = cs_port_of(&e->ports, fabric, t->dst, t->src);
    node     n      = cause_of(e, t, parts, intervals[0].start_s, tx, rx);

    for (size_t k = 0; k < parts; k++) {
        n.chunk              = t[k].chunk;
        n.start_s            = intervals[k].start_s;
        n.end_s              = intervals[k].end_s;
        e->nodes[e->count++] = n;
        n.before             = (int64_t)e->count - 1;
        n.wait               = CS_WAIT_TX;
    }
    for (size_t k = 0; k < parts; k++) {
        leave_marks(e, &t[k], tx, rx, (mark){(int64_t)e->count - 1, n.end_s});
    }
}

static cs_status make_room(cs_explain *e, size_t more, cs_error *err)
{
    if (e->count + more > MAX_TRANSFERS) {
        return CS_FAIL(err, CS_ENOTSUP, "--explain",
                       "the critical path is kept for at most %u transfers", MAX_TRANSFERS);
    }
    return cs_grow(&e->nodes, &e->room, e->count + more, 2 * more, sizeof *e->nodes)
               ? CS_OK
               : CS_FAIL(err, CS_ENOMEM, "--explain", "out of memory for the critical path");
}

static cs_status explain_block(void *user, const cs_block *block, const cs_interval *intervals,
                               cs_error *err)
{
    cs_explain *e      = user;
    cs_status   status = make_room(e, block->count, err);

    if (status != CS_OK) {
        return status;
    }
    if ((block->transfers[0].flags & CS_FENCE) != 0 && e->last.index != NOBODY) {
        e->fence        = e->last;
        e->fence_except = block->fence_except;
    }
    for (size_t i = 0, parts; i < block->count; i += parts) {
        parts = cs_message_parts(&block->transfers[i], block->count - i);
        add_message(e, &block->transfers[i], parts, &intervals[i]);
    }
    return CS_OK;
}

cs_observer cs_explain_observer(cs_explain *explain)
{
    return (cs_observer){.block = explain_block, .user = explain};
}

cs_status cs_explain_path(cs_explain *explain, const cs_path_step **steps_p, size_t *count_p,
                          cs_error *err)
{
    size_t count = 0;

    for (int64_t i = explain->last.index; i != NOBODY; i = explain->nodes[i].before) {
        count++;
    }
    explain->path = CS_ARENA_NEW(&explain->arena, cs_path_step, count + 1);
    if (explain->path == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "--explain", "out of memory for the critical path");
    }
    size_t at = count;
    for (int64_t i = explain->last.index; i != NOBODY; i = explain->nodes[i].before) {
        const node *n = &explain->nodes[i];
        explain->path[--at] =
            (cs_path_step){n->start_s, n->end_s, n->src, n->dst, n->chunk, n->round, n->wait};
    }
    *steps_p = explain->path;
    *count_p = count;
    return CS_OK;
}

const char *cs_wait_text(cs_wait wait)
{
    switch (wait) {
    case CS_WAIT_ARRIVAL: return "its ranks' arrival";
    case CS_WAIT_DATA: return "its data";
    case CS_WAIT_TX: return "the sending port";
    case CS_WAIT_RX: return "the receiving port";
    case CS_WAIT_FENCE: return "a barrier";
    }
    return "";
}

void cs_explain_close(cs_explain *explain)
{
    if (explain != NULL) {
        cs_arena_free(&explain->arena);
        cs_free(explain->nodes);
        cs_free(explain);
    }
}
