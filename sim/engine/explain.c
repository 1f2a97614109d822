/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The critical path. A cause is the latest end that a start had to wait for and that is not behind
 * it. Exact on alpha-beta, where a start is one of these times bit for bit; on models with a
 * latency that holds no port the cause is the same and the gap between its end and the start is
 * that latency. */
#include "engine/explain.h"

#include "engine/ports.h"
#include "models/lib/serve.h"

#define NOBODY        CS_NO_CAUSE
#define MAX_TRANSFERS 20000000u
#define ROUNDING      1e-15
#define RELAYED       1e-9 /* who comes so much behind a start was not waited for */

typedef struct search {
    const cs_scenario  *scenario;
    const cs_recording *recording;
    cs_ports            ports; /* only the numbering of the ports */
    cs_arena            arena; /* of what is not handed out */
    uint32_t            n_slots;
    cs_cause           *causes;       /* [transfers] */
    uint32_t           *tx, *rx;      /* [n_ports] the transfer that ended last there, or NOBODY */
    uint32_t           *slot;         /* [n_ends][n_slots] the one that wrote it last */
    uint32_t            fence, last;  /* the last transfer before the last fence, and of all */
    uint32_t            fence_except; /* who did not wait at the fence */
} search;

static double end_of(const search *s, uint32_t index)
{
    return index != NOBODY ? s->recording->intervals[index].end_s : 0;
}

static uint32_t *new_marks(cs_arena *arena, size_t count)
{
    uint32_t *marks = CS_ARENA_NEW(arena, uint32_t, count);

    for (size_t i = 0; marks != NULL && i < count; i++) {
        marks[i] = NOBODY;
    }
    return marks;
}

static cs_status open_search(search *s, cs_arena *causes, cs_error *err)
{
    size_t ends = cs_n_ends(&s->scenario->cluster);

    cs_ports_place(&s->ports, &s->scenario->cluster, CS_USES_SWITCH);
    s->n_slots = cs_recording_slots(s->recording);
    s->causes  = CS_ARENA_NEW(causes, cs_cause, s->recording->n_transfers);
    s->tx      = new_marks(&s->arena, s->ports.n_ports);
    s->rx      = new_marks(&s->arena, s->ports.n_ports);
    s->slot    = new_marks(&s->arena, ends * s->n_slots);
    s->fence   = NOBODY;
    s->last    = NOBODY;
    return s->causes != NULL && s->tx != NULL && s->rx != NULL && s->slot != NULL
               ? CS_OK
               : CS_NO_MEMORY(err, "the critical path");
}

/* The best cause of a start so far. */
typedef struct candidate {
    cs_cause cause;
    double   start_s; /* of the transfer whose cause is looked for */
    double   end_s;   /* of the cause */
} candidate;

/* Take a cause when it is later than the best one. What ended after the start was not waited for:
 * under LogGP a message may leave while its receiving port is busy. A barrier's end may be rounded
 * otherwise than the start behind it. */
static void consider(const search *s, candidate *best, uint32_t index, cs_wait wait)
{
    double latest_s = wait == CS_WAIT_FENCE ? best->start_s * (1 + ROUNDING) : best->start_s;
    double end_s    = end_of(s, index);

    if (index != NOBODY && end_s > best->end_s && end_s <= latest_s) {
        best->cause = (cs_cause){index & NOBODY, wait};
        best->end_s = end_s;
    }
}

static void consider_slots(const search *s, candidate *best, const cs_transfer *t)
{
    const uint32_t *source = &s->slot[(size_t)t->src * s->n_slots + t->src_slot];
    const uint32_t *sink   = &s->slot[(size_t)t->dst * s->n_slots + t->dst_slot];
    bool            back   = cs_transfer_op(t) == CS_OP_EXCHANGE;

    for (uint32_t k = 0; k < t->span; k++) {
        if ((t->flags & CS_OWN_SRC) == 0) {
            consider(s, best, source[k], CS_WAIT_DATA);
        }
        if (back && (t->flags & CS_OWN_DST) == 0) {
            consider(s, best, sink[k], CS_WAIT_DATA);
        }
    }
}

/* The port itself and, where a GPU drives some of its links only, those beside it. */
static void consider_port(const search *s, candidate *best, const cs_transfer *t,
                          const uint32_t *marks, uint32_t port, cs_wait wait)
{
    uint32_t g = s->scenario->cluster.gpus_per_server, fabric = cs_transfer_fabric(t);

    consider(s, best, marks[port], wait);
    if (s->ports.links_at_once > 0 && fabric == CS_NVLINK) {
        uint32_t first = port - (port - s->ports.port_base[fabric]) % g;
        for (uint32_t p = first; p < first + g; p++) {
            consider(s, best, marks[p], wait);
        }
    }
}

/* Switches are there from the begin. */
static double arrival_of(const search *s, uint32_t end)
{
    return cs_is_switch(&s->scenario->cluster, end) ? 0 : cs_arrival(s->scenario, end);
}

/* The cause with the latest end; the data before ports, because ties are common in lockstep and
 * the data tell more. The first part of a message waits for the data of all `parts`. */
static cs_cause cause_of(const search *s, const cs_transfer *t, size_t parts, double start_s,
                         uint32_t tx, uint32_t rx)
{
    double    src = arrival_of(s, t->src), dst = arrival_of(s, t->dst);
    double    both_s = src > dst ? src : dst; /* behind the start of a rank that relays */
    candidate best   = {.cause = {NOBODY, CS_WAIT_ARRIVAL}, .start_s = start_s};

    best.end_s = both_s <= start_s * (1 + RELAYED) ? both_s : 0;
    for (size_t k = 0; k < parts; k++) {
        consider_slots(s, &best, &t[k]);
    }
    if (t->src != s->fence_except && t->dst != s->fence_except) {
        consider(s, &best, s->fence, CS_WAIT_FENCE);
    }
    consider_port(s, &best, t, s->tx, tx, CS_WAIT_TX);
    consider_port(s, &best, t, s->rx, rx, CS_WAIT_RX);
    if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
        consider_port(s, &best, t, s->tx, rx, CS_WAIT_TX);
        consider_port(s, &best, t, s->rx, tx, CS_WAIT_RX);
    }
    return best.cause;
}

/* A sum is there when the last of what it adds up is, which over several links need not be the last
 * in the stream. */
static void mark_transfer(search *s, const cs_transfer *t, uint32_t tx, uint32_t rx, uint32_t now)
{
    uint32_t *source = &s->slot[(size_t)t->src * s->n_slots + t->src_slot];
    uint32_t *sink   = &s->slot[(size_t)t->dst * s->n_slots + t->dst_slot];
    bool      back   = cs_transfer_op(t) == CS_OP_EXCHANGE;
    bool      adds   = cs_transfer_op(t) == CS_OP_REDUCE && (t->flags & CS_OWN_DST) == 0;
    double    end_s  = end_of(s, now);

    s->tx[tx] = s->rx[rx] = now;
    if (back) {
        s->tx[rx] = s->rx[tx] = now;
    }
    for (uint32_t k = 0; k < t->span; k++) {
        sink[k]   = adds && end_of(s, sink[k]) > end_s ? sink[k] : now;
        source[k] = back ? now : source[k];
    }
    s->last = s->last == NOBODY || end_s > end_of(s, s->last) ? now : s->last;
}

/* A message of `parts` transfers. What it brings is there when its last part has ended, which is
 * also when its ports are free; a part behind the first waits for the one before it. Parts that
 * bring the same once more take no time and are not on the path. */
static void add_message(search *s, uint32_t first, size_t parts)
{
    const cs_transfer *t      = &s->recording->transfers[first];
    uint32_t           fabric = cs_transfer_fabric(t), last = first;
    uint32_t           tx = cs_port_of(&s->ports, fabric, t->src, t->dst);
    uint32_t           rx = cs_port_of(&s->ports, fabric, t->dst, t->src);

    s->causes[first] = cause_of(s, t, parts, s->recording->intervals[first].start_s, tx, rx);
    for (uint32_t k = 1; k < parts; k++) {
        s->causes[first + k] = (cs_cause){last & NOBODY, CS_WAIT_TX};
        last                 = cs_is_repeat(&t[k]) ? last : first + k;
    }
    for (size_t k = 0; k < parts; k++) {
        mark_transfer(s, &t[k], tx, rx, last);
    }
}

static void find_causes(search *s)
{
    const cs_recording *r          = s->recording;
    size_t              next_fence = 0;

    for (size_t i = 0, parts; i < r->n_transfers; i += parts) {
        const cs_fence *fence = cs_recording_fence(r, i, &next_fence);
        if (fence != NULL) {
            s->fence        = s->last;
            s->fence_except = fence->except;
        }
        parts = cs_message_parts(&r->transfers[i], r->n_transfers - i);
        add_message(s, (uint32_t)i, parts);
    }
}

/* Indices from the first transfer of the path to the one that ended last. */
static cs_status walk_back(const search *s, cs_arena *arena, cs_causes *causes_p, cs_error *err)
{
    size_t count = 0;

    for (uint32_t i = s->last; i != NOBODY; i = s->causes[i].before) {
        count++;
    }
    uint32_t *path = CS_ARENA_NEW(arena, uint32_t, count + 1);
    if (path == NULL) {
        return CS_NO_MEMORY(err, "the critical path");
    }
    size_t at = count;
    for (uint32_t i = s->last; i != NOBODY; i = s->causes[i].before) {
        path[--at] = i;
    }
    *causes_p = (cs_causes){s->causes, path, count};
    return CS_OK;
}

cs_status cs_critical_path_limit(const cs_recording *recording, cs_error *err)
{
    return recording->n_transfers <= MAX_TRANSFERS
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "--explain",
                         "the critical path is kept for at most %u transfers", MAX_TRANSFERS);
}

cs_status cs_causes_find(const cs_recording *recording, const cs_scenario *scenario,
                         cs_arena *arena, cs_causes *causes_p, cs_error *err)
{
    search    s      = {.scenario = scenario, .recording = recording};
    cs_status status = cs_critical_path_limit(recording, err);

    if (status == CS_OK) {
        status = open_search(&s, arena, err);
    }
    if (status == CS_OK) {
        find_causes(&s);
        status = walk_back(&s, arena, causes_p, err);
    }
    cs_arena_free(&s.arena);
    return status;
}

cs_status cs_critical_path(const cs_recording *recording, const cs_scenario *scenario,
                           cs_arena *arena, const cs_path_step **steps_p, size_t *count_p,
                           cs_error *err)
{
    cs_arena      scratch = {0};
    cs_causes     found   = {0};
    cs_path_step *steps   = NULL;
    cs_status     status  = cs_causes_find(recording, scenario, &scratch, &found, err);

    if (status == CS_OK) {
        steps  = CS_ARENA_NEW(arena, cs_path_step, found.n_path + 1);
        status = steps != NULL ? CS_OK : CS_NO_MEMORY(err, "the critical path");
    }
    for (size_t k = 0; k < found.n_path && steps != NULL; k++) {
        uint32_t           i    = found.path[k];
        const cs_transfer *t    = &recording->transfers[i];
        const cs_interval *when = &recording->intervals[i];
        steps[k] = (cs_path_step){when->start_s, when->end_s,         t->src, t->dst, t->chunk,
                                  t->round,      found.causes[i].wait};
    }
    if (status == CS_OK) {
        *steps_p = steps;
        *count_p = found.n_path;
    }
    cs_arena_free(&scratch);
    return status;
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
