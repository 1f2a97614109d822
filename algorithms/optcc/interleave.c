/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/optcc/interleave.h"

#include "base/alloc.h"
#include "base/event_queue.h"
#include "cs/field.h"

#include <math.h>

/* ---- the transfers ----
 *
 * Those of a section, in order: S1's H - 1 hops, the contribution of the slow rank and (if it is
 * another one) that of the late one, the final to the slow rank, S4's H - 1 hops, and (...) the
 * final to the late one. */

typedef enum stage { SUM, SLOW_RAW, LATE_RAW, SLOW_FINAL, PASS, LATE_FINAL } stage;

typedef struct transfer {
    uint32_t section, hop;
    stage    stage;
    uint32_t src, dst;
} transfer;

static bool is_same(const cs_interleave_shape *s)
{
    return s->slow == s->late;
}

uint32_t cs_interleave_ring(const cs_interleave_shape *shape)
{
    return shape->p - (is_same(shape) ? 1 : 2);
}

static uint32_t per_section(const cs_interleave_shape *s)
{
    return 2 * (cs_interleave_ring(s) - 1) + (is_same(s) ? 2 : 4);
}

uint64_t cs_interleave_transfers(const cs_interleave_shape *shape)
{
    return (uint64_t)shape->sections * per_section(shape);
}

/* The rank of h_i. */
static uint32_t rank_of(const cs_interleave_shape *s, uint32_t i)
{
    uint32_t low  = s->slow < s->late ? s->slow : s->late;
    uint32_t high = s->slow < s->late ? s->late : s->slow;

    i += i >= low;
    return i + (low != high && i >= high);
}

static uint32_t node(const cs_interleave_shape *s, uint32_t place)
{
    return rank_of(s, place % cs_interleave_ring(s));
}

static uint32_t owner_of(const cs_interleave_shape *s, uint32_t section)
{
    return node(s, section);
}

static transfer transfer_at(const cs_interleave_shape *s, uint32_t id)
{
    uint32_t each = per_section(s), H = cs_interleave_ring(s), k = id % each;
    transfer t = {.section = id / each, .hop = k};
    uint32_t j = t.section % H, two = is_same(s) ? 0 : 1; /* who send contributions, less one */

    if (k < H - 1) {
        t.stage = SUM;
        t.src   = node(s, j + 1 + k);
        t.dst   = node(s, j + 2 + k);
    } else if (k == H - 1) {
        t.stage = SLOW_RAW;
        t.src   = s->slow;
        t.dst   = owner_of(s, j);
    } else if (two != 0 && k == H) {
        t.stage = LATE_RAW;
        t.src   = s->late;
        t.dst   = owner_of(s, j);
    } else if (k == H + two) {
        t.stage = SLOW_FINAL;
        t.src   = owner_of(s, j);
        t.dst   = s->slow;
    } else if (k < H + two + H) {
        t.stage = PASS;
        t.hop   = k - (H + two + 1);
        t.src   = node(s, j + t.hop);
        t.dst   = node(s, j + t.hop + 1);
    } else {
        t.stage = LATE_FINAL;
        t.src   = node(s, j + H - 1);
        t.dst   = s->late;
    }
    return t;
}

/* Contributions that come to the owner one by one: the sum of the ring, and one or two others. */
static uint8_t contributions(const cs_interleave_shape *s)
{
    return is_same(s) ? 2 : 3;
}

/* How many transfers another one waits for. */
static uint8_t waits_for(const cs_interleave_shape *s, const transfer *t)
{
    switch (t->stage) {
    case SUM: return t->hop > 0;
    case SLOW_RAW:
    case LATE_RAW: return 0;
    case SLOW_FINAL: return contributions(s);
    case PASS: return t->hop > 0 ? 1 : contributions(s);
    case LATE_FINAL: return 1;
    }
    return 0;
}

/* Which wait for it: at most two, written to `out`. */
static uint32_t followers(const cs_interleave_shape *s, uint32_t id, const transfer *t,
                          uint32_t out[2])
{
    uint32_t H = cs_interleave_ring(s), each = per_section(s), begin = id - id % each;
    uint32_t final = begin + H + (is_same(s) ? 0 : 1);

    if ((t->stage == SUM && t->hop + 2 < H) || (t->stage == PASS && t->hop + 2 < H)) {
        out[0] = id + 1;
        return 1;
    }
    if (t->stage == SUM || t->stage == SLOW_RAW || t->stage == LATE_RAW) {
        out[0] = final;
        out[1] = final + 1;
        return 2;
    }
    if (t->stage == PASS && !is_same(s)) {
        out[0] = begin + each - 1;
        return 1;
    }
    return 0;
}

static double key_of(const cs_interleave_shape *s, const transfer *t)
{
    double H = cs_interleave_ring(s), j = t->section, hop = t->hop;
    double first = j - 2.0 * s->sections - s->lead; /* before all of the ring */

    switch (t->stage) {
    case SUM: return j + hop / H - s->lead;
    case PASS: return j + hop / H + 0.5;
    case SLOW_RAW: return is_same(s) ? first : first - 0.6;
    case LATE_RAW:
    case SLOW_FINAL: return first;
    case LATE_FINAL: return first + 0.3;
    }
    return first;
}

/* ---- queues, one for each pair of ports ---- */

typedef struct entry {
    double   key;
    uint32_t id;
} entry;

/* A binary heap of what is ready, with room for all that the pair ever has. */
typedef struct pair {
    uint32_t src, dst, count;
    entry   *heap;
} pair;

static bool is_before(const entry *a, const entry *b)
{
    return a->key < b->key || (a->key == b->key && a->id < b->id);
}

static void push(pair *q, entry e)
{
    uint32_t i = q->count++;

    while (i > 0 && is_before(&e, &q->heap[(i - 1) / 2])) {
        q->heap[i] = q->heap[(i - 1) / 2];
        i          = (i - 1) / 2;
    }
    q->heap[i] = e;
}

static entry pop(pair *q)
{
    entry    first = q->heap[0], last = q->heap[--q->count];
    uint32_t i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= q->count) {
            break;
        }
        child += child + 1 < q->count && is_before(&q->heap[child + 1], &q->heap[child]);
        if (!is_before(&q->heap[child], &last)) {
            break;
        }
        q->heap[i] = q->heap[child];
        i          = child;
    }
    q->heap[i] = last;
    return first;
}

/* ---- list scheduling ---- */

typedef struct scheduler {
    const cs_interleave_shape *shape;
    const cs_interleave_pace  *pace;
    uint32_t                   H, n_pairs;
    pair                      *pairs;            /* [n_pairs] */
    entry                     *room;             /* of all heaps */
    uint8_t                   *waits;            /* [transfers] for how many ends, still */
    bool                      *sends, *receives; /* [p] is the port in use? */
    cs_event_queue             events;           /* ends, and arrivals of what was ready before */
    cs_interleave             *made;
} scheduler;

/* The number of the pair that a transfer belongs to: the stages between two kinds of ranks, by the
 * place in the ring. SUM and PASS share the ring's pairs. */
static uint32_t pair_of(const scheduler *s, const transfer *t)
{
    uint32_t j = t->section % s->H;

    switch (t->stage) {
    case SUM: return (j + 1 + t->hop) % s->H;
    case PASS: return (j + t->hop) % s->H;
    case SLOW_RAW: return s->H + j;
    case SLOW_FINAL: return 2 * s->H + j;
    case LATE_RAW: return 3 * s->H + j;
    case LATE_FINAL: return 4 * s->H + (j + s->H - 1) % s->H;
    }
    return 0;
}

static cs_status allocate(scheduler *s, cs_error *err)
{
    uint32_t N = s->shape->sections, turns = N / s->H + 1;
    size_t   n = (size_t)cs_interleave_transfers(s->shape), room = 0;

    s->n_pairs     = (is_same(s->shape) ? 3 : 5) * s->H;
    s->pairs       = CS_NEW(pair, s->n_pairs);
    s->waits       = CS_NEW(uint8_t, n);
    s->sends       = CS_NEW(bool, s->shape->p);
    s->receives    = CS_NEW(bool, s->shape->p);
    s->room        = CS_NEW(entry, (size_t)s->H * 2 * N + (size_t)(s->n_pairs - s->H) * turns);
    s->made->order = CS_NEW(uint32_t, n);
    s->made->added = CS_NEW(uint8_t, N);
    if (s->pairs == NULL || s->waits == NULL || s->sends == NULL || s->receives == NULL ||
        s->room == NULL || s->made->order == NULL || s->made->added == NULL) {
        return CS_NO_MEMORY(err, "a schedule of %zu transfers", n);
    }
    for (uint32_t i = 0; i < s->n_pairs; i++) {
        s->pairs[i].heap = s->room + room;
        room += i < s->H ? (size_t)2 * N : turns;
    }
    return CS_OK;
}

static cs_status make_ready(scheduler *s, uint32_t id, double now_s, cs_error *err)
{
    transfer      t         = transfer_at(s->shape, id);
    const double *arrival_s = s->pace->arrival_s;
    double        ready_s   = arrival_s == NULL ? 0 : fmax(arrival_s[t.src], arrival_s[t.dst]);

    if (ready_s > now_s) {
        return cs_events_put(&s->events, ready_s, (uint64_t)1 << 32 | id) == CS_OK
                   ? CS_OK
                   : CS_NO_MEMORY(err, "the events of a schedule");
    }
    pair *q = &s->pairs[pair_of(s, &t)];
    q->src  = t.src;
    q->dst  = t.dst;
    push(q, (entry){key_of(s->shape, &t), id});
    return CS_OK;
}

/* Start what may start now, the smallest key first. */
static cs_status start(scheduler *s, double now_s, cs_error *err)
{
    double section_s = s->pace->buffer_s / s->shape->sections;

    for (;;) {
        pair *best = NULL;
        for (uint32_t i = 0; i < s->n_pairs; i++) {
            pair *q = &s->pairs[i];
            if (q->count > 0 && !s->sends[q->src] && !s->receives[q->dst] &&
                (best == NULL || is_before(&q->heap[0], &best->heap[0]))) {
                best = q;
            }
        }
        if (best == NULL) {
            return CS_OK;
        }
        bool   is_slow      = best->src == s->shape->slow || best->dst == s->shape->slow;
        double takes_s      = s->pace->port_s + section_s * (is_slow ? s->pace->slowdown : 1);
        entry  e            = pop(best);
        s->sends[best->src] = s->receives[best->dst] = true;
        s->made->order[s->made->n++]                 = e.id;
        s->made->end_s                               = fmax(s->made->end_s, now_s + takes_s);
        if (cs_events_put(&s->events, now_s + takes_s, e.id) != CS_OK) {
            return CS_NO_MEMORY(err, "the events of a schedule");
        }
    }
}

static cs_status end(scheduler *s, uint32_t id, double now_s, cs_error *err)
{
    transfer t = transfer_at(s->shape, id);
    uint32_t next[2], n = followers(s->shape, id, &t, next);

    s->sends[t.src] = s->receives[t.dst] = false;
    for (uint32_t i = 0; i < n; i++) {
        if (--s->waits[next[i]] == 0) {
            CS_TRY(make_ready(s, next[i], now_s, err));
        }
    }
    return CS_OK;
}

static cs_status schedule(scheduler *s, cs_error *err)
{
    uint32_t n      = (uint32_t)cs_interleave_transfers(s->shape);
    double   grid_s = 1e-9 * (s->pace->port_s + s->pace->buffer_s / s->shape->sections);

    for (uint32_t id = 0; id < n; id++) {
        transfer t   = transfer_at(s->shape, id);
        s->waits[id] = waits_for(s->shape, &t);
        if (s->waits[id] == 0) {
            CS_TRY(make_ready(s, id, 0, err));
        }
    }
    CS_TRY(start(s, 0, err));
    for (double now_s = cs_events_next_s(&s->events); !isinf(now_s);) {
        size_t count = cs_events_take(&s->events);
        for (size_t i = 0; i < count; i++) {
            uint64_t key = s->events.batch[i].key;
            CS_TRY(key >> 32 != 0 ? make_ready(s, (uint32_t)key, now_s, err)
                                  : end(s, (uint32_t)key, now_s, err));
        }
        double next_s = cs_events_next_s(&s->events); /* what ends at once but for rounding */
        if (next_s > now_s + grid_s) {
            CS_TRY(start(s, now_s, err));
            next_s = cs_events_next_s(&s->events);
        }
        now_s = next_s;
    }
    return CS_OK;
}

void cs_interleave_free(cs_interleave *made)
{
    cs_free(made->order);
    cs_free(made->added);
    *made = (cs_interleave){.order = NULL};
}

cs_status cs_interleave_make(const cs_interleave_shape *shape, const cs_interleave_pace *pace,
                             cs_interleave *made, cs_error *err)
{
    *made = (cs_interleave){.shape = *shape};

    scheduler s = {.shape = shape, .pace = pace, .H = cs_interleave_ring(shape), .made = made};

    cs_status status = allocate(&s, err);
    if (status == CS_OK) {
        status = schedule(&s, err);
    }
    cs_events_free(&s.events);
    cs_free(s.pairs);
    cs_free(s.waits);
    cs_free(s.sends);
    cs_free(s.receives);
    cs_free(s.room);
    return status;
}

/* ---- the choice ---- */

static cs_status try_one(cs_interleave_shape *best, double *best_s, cs_interleave_shape shape,
                         const cs_interleave_pace *pace, cs_error *err)
{
    cs_interleave made;
    cs_status     status = cs_interleave_make(&shape, pace, &made, err);

    if (status == CS_OK && made.end_s < *best_s) {
        *best   = shape;
        *best_s = made.end_s;
    }
    cs_interleave_free(&made);
    return status;
}

/* The leads that are tried for a number of sections: none, a turn, and for as long as only S1 can
 * run, d' = max(d, (2-l) x). */
static cs_status try_leads(cs_interleave_shape *best, double *best_s, cs_interleave_shape shape,
                           const cs_interleave_pace *pace, cs_error *err)
{
    double x = pace->buffer_s, late_s = pace->arrival_s == NULL ? 0 : pace->arrival_s[shape.late];
    double idle = fmin(fmax(late_s / x, 2 - pace->slowdown), 2), N = shape.sections;
    double leads[] = {0, cs_interleave_ring(&shape), 0.5 * N * idle, N * idle, 2 * N};

    if (shape.lead != CS_AUTO) {
        return try_one(best, best_s, shape, pace, err);
    }
    for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
        shape.lead = (uint32_t)fmax(0, leads[i]);
        CS_TRY(try_one(best, best_s, shape, pace, err));
    }
    return CS_OK;
}

cs_status cs_interleave_choose(cs_interleave_shape *shape, const cs_interleave_pace *pace,
                               uint64_t bytes, uint64_t most, double *end_s_p, cs_error *err)
{
    static const uint32_t turns[] = {4, 1, 2, 8, 16, 24};
    cs_interleave_shape   best    = *shape;

    *end_s_p = (double)INFINITY;
    if (shape->sections != CS_AUTO) {
        CS_TRY(try_leads(&best, end_s_p, *shape, pace, err));
    }
    for (size_t i = 0; shape->sections == CS_AUTO && i < sizeof turns / sizeof turns[0]; i++) {
        cs_interleave_shape one = *shape;
        one.sections            = turns[i] * cs_interleave_ring(shape);
        uint64_t transfers      = cs_interleave_transfers(&one);
        if (one.sections > bytes || transfers * one.p > most || transfers > CS_INTERLEAVE_MOST) {
            continue;
        }
        CS_TRY(try_leads(&best, end_s_p, one, pace, err));
    }
    *shape = best;
    return CS_OK;
}

/* ---- the stream ---- */

cs_plan cs_interleave_plan(const cs_interleave_shape *shape)
{
    return (cs_plan){.n_chunks   = shape->sections,
                     .n_slots    = shape->sections,
                     .n_rounds   = (uint32_t)cs_interleave_transfers(shape),
                     .starts_own = true};
}

void cs_interleave_next(cs_interleave *made, cs_block *block)
{
    const cs_interleave_shape *s = &made->shape;

    for (; made->next < made->n && block->count < block->capacity; made->next++) {
        transfer t       = transfer_at(s, made->order[made->next]);
        bool     is_raw  = t.stage == SLOW_RAW || t.stage == LATE_RAW;
        bool     adds    = is_raw || t.stage == SUM;
        bool     is_here = is_raw || (t.stage == SUM && t.hop + 2 == cs_interleave_ring(s));
        bool     is_done = !adds;
        if (is_here) {
            is_done = ++made->added[t.section] == contributions(s);
        }
        block->transfers[block->count++] =
            (cs_transfer){.src       = t.src,
                          .dst       = t.dst,
                          .chunk     = t.section,
                          .src_slot  = (uint16_t)t.section,
                          .dst_slot  = (uint16_t)t.section,
                          .bytes     = cs_split(made->bytes, s->sections, t.section),
                          .round     = made->next,
                          .span      = 1,
                          .flags     = is_done ? CS_DONE_DST : 0,
                          .op_fabric = cs_op_fabric(adds ? CS_OP_REDUCE : CS_OP_COPY, CS_NIC)};
    }
}
