/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/optcc/interleave.h"

#include "base/alloc.h"
#include "base/event_queue.h"
#include "cs/field.h"

#include <math.h>
#include <string.h>

/* ---- the transfers ----
 *
 * Those of a section, in order: S1's H - 1 hops, the contribution of the slow rank and (if it is
 * another one) that of the late one, the final to the slow rank, S4's H - 1 hops, and (...) the
 * final to the late one. */

typedef enum stage { SUM, SLOW_RAW, LATE_RAW, SLOW_FINAL, PASS, LATE_FINAL } stage;

typedef struct transfer {
    uint32_t section, place, hop; /* its owner's place in the ring */
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

/* A place of the ring, at most one turn on. */
static uint32_t wrap(uint32_t H, uint32_t place)
{
    return place < H ? place : place - H;
}

static uint32_t node(const cs_interleave_shape *s, uint32_t place)
{
    return rank_of(s, wrap(cs_interleave_ring(s), place));
}

static transfer transfer_at(const cs_interleave_shape *s, uint32_t id)
{
    uint32_t each = per_section(s), H = cs_interleave_ring(s), k = id % each;
    transfer t = {.section = id / each, .place = id / each % H, .hop = k};
    uint32_t j = t.place, two = is_same(s) ? 0 : 1; /* who send contributions, less one */

    if (k < H - 1) {
        t.stage = SUM;
        t.src   = node(s, j + 1 + k);
        t.dst   = node(s, j + 2 + k);
    } else if (k == H - 1) {
        t.stage = SLOW_RAW;
        t.src   = s->slow;
        t.dst   = node(s, j);
    } else if (two != 0 && k == H) {
        t.stage = LATE_RAW;
        t.src   = s->late;
        t.dst   = node(s, j);
    } else if (k == H + two) {
        t.stage = SLOW_FINAL;
        t.src   = node(s, j);
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
    uint32_t id, pair;
} entry;

/* A binary heap. */
typedef struct heap {
    uint32_t count;
    entry   *entries;
} heap;

/* What is ready, with room for all that the pair ever has. Of a pair of the ring: how much of it
 * is S1. */
typedef struct pair {
    uint32_t src, dst, n_sums;
    bool     is_open; /* in the list of those that may start something */
    heap     ready;
} pair;

static bool is_before(const entry *a, const entry *b)
{
    return a->key < b->key || (a->key == b->key && a->id < b->id);
}

static void push(heap *h, entry e)
{
    uint32_t i = h->count++;

    while (i > 0 && is_before(&e, &h->entries[(i - 1) / 2])) {
        h->entries[i] = h->entries[(i - 1) / 2];
        i             = (i - 1) / 2;
    }
    h->entries[i] = e;
}

static entry pop(heap *h)
{
    entry    first = h->entries[0], last = h->entries[--h->count];
    uint32_t i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= h->count) {
            break;
        }
        child += child + 1 < h->count && is_before(&h->entries[child + 1], &h->entries[child]);
        if (!is_before(&h->entries[child], &last)) {
            break;
        }
        h->entries[i] = h->entries[child];
        i             = child;
    }
    h->entries[i] = last;
    return first;
}

/* ---- list scheduling ---- */

/* The pairs by kind and place: those of the ring, which S1 and S4 share, those of the slow rank,
 * and those of the late one, if it is another. */
enum { RING, FROM_SLOW, TO_SLOW, FROM_LATE, TO_LATE };

typedef struct scheduler {
    const cs_interleave_shape *shape;
    const cs_interleave_pace  *pace;
    uint32_t                   H, n_pairs, n_open;
    uint32_t                   finals; /* that the slow rank still has to begin to get */
    double                     until_s;
    pair                      *pairs;            /* [n_pairs] */
    uint32_t                  *open;             /* [n_pairs] of which n_open may start something */
    heap                       line;             /* ... in order; room for n_pairs */
    entry                     *room;             /* of all heaps */
    uint8_t                   *waits;            /* [transfers] for how many ends, still */
    bool                      *sends, *receives; /* [p] is the port in use? */
    cs_event_queue             events;           /* ends, and arrivals of what was ready before */
    cs_interleave             *made;
} scheduler;

/* The number of the pair that a transfer belongs to. */
static uint32_t pair_of(const scheduler *s, const transfer *t)
{
    uint32_t j = t->place;

    switch (t->stage) {
    case SUM: return wrap(s->H, j + 1 + t->hop);
    case PASS: return wrap(s->H, j + t->hop);
    case SLOW_RAW: return FROM_SLOW * s->H + j;
    case SLOW_FINAL: return TO_SLOW * s->H + j;
    case LATE_RAW: return FROM_LATE * s->H + j;
    case LATE_FINAL: return TO_LATE * s->H + wrap(s->H, j + s->H - 1);
    }
    return 0;
}

static void name_ports(const scheduler *s, uint32_t number)
{
    pair    *q = &s->pairs[number];
    uint32_t i = number % s->H;

    q->src = q->dst = node(s->shape, i);
    switch (number / s->H) {
    case RING: q->dst = node(s->shape, i + 1); break;
    case FROM_SLOW: q->src = s->shape->slow; break;
    case TO_SLOW: q->dst = s->shape->slow; break;
    case FROM_LATE: q->src = s->shape->late; break;
    default: q->dst = s->shape->late; break;
    }
}

static cs_status allocate(scheduler *s, cs_error *err)
{
    uint32_t N = s->shape->sections, turns = N / s->H + 1;
    size_t   n = (size_t)cs_interleave_transfers(s->shape), room = 0;

    s->n_pairs  = (is_same(s->shape) ? 3 : 5) * s->H;
    s->pairs    = CS_NEW(pair, s->n_pairs);
    s->open     = CS_NEW(uint32_t, s->n_pairs);
    s->waits    = CS_NEW(uint8_t, n);
    s->sends    = CS_NEW(bool, s->shape->p);
    s->receives = CS_NEW(bool, s->shape->p);
    s->room =
        CS_NEW(entry, s->n_pairs + (size_t)s->H * 2 * N + (size_t)(s->n_pairs - s->H) * turns);
    s->made->order = CS_NEW(uint32_t, n);
    if (s->pairs == NULL || s->open == NULL || s->waits == NULL || s->sends == NULL ||
        s->receives == NULL || s->room == NULL || s->made->order == NULL) {
        return CS_NO_MEMORY(err, "a schedule of %zu transfers", n);
    }
    s->line.entries = s->room;
    room            = s->n_pairs;
    for (uint32_t i = 0; i < s->n_pairs; i++) {
        name_ports(s, i);
        s->pairs[i].ready.entries = s->room + room;
        room += i < s->H ? (size_t)2 * N : turns;
    }
    return CS_OK;
}

/* It may start something now: to be called for every pair whose ports or queue have changed. */
static void open_pair(scheduler *s, uint32_t number)
{
    pair *q = &s->pairs[number];

    if (q->ready.count > 0 && !q->is_open && !s->sends[q->src] && !s->receives[q->dst]) {
        q->is_open           = true;
        s->open[s->n_open++] = number;
    }
}

static void open_all(scheduler *s, uint32_t kind)
{
    for (uint32_t i = 0; i < s->H; i++) {
        open_pair(s, kind * s->H + i);
    }
}

/* The pairs by which the rank at a place of the ring sends, or receives. */
static void open_senders(scheduler *s, uint32_t place)
{
    open_pair(s, RING * s->H + place);
    open_pair(s, TO_SLOW * s->H + place);
    if (!is_same(s->shape)) {
        open_pair(s, TO_LATE * s->H + place);
    }
}

static void open_receivers(scheduler *s, uint32_t place)
{
    open_pair(s, RING * s->H + wrap(s->H, place + s->H - 1));
    open_pair(s, FROM_SLOW * s->H + place);
    if (!is_same(s->shape)) {
        open_pair(s, FROM_LATE * s->H + place);
    }
}

static void free_ports(scheduler *s, uint32_t number)
{
    pair    *q    = &s->pairs[number];
    uint32_t kind = number / s->H, i = number % s->H;

    s->sends[q->src] = s->receives[q->dst] = false;
    if (kind == FROM_SLOW || kind == FROM_LATE) {
        open_all(s, kind);
        open_receivers(s, i);
    } else if (kind == RING) {
        open_senders(s, i);
        open_receivers(s, wrap(s->H, i + 1));
    } else {
        open_senders(s, i);
        open_all(s, kind);
    }
}

static cs_status put(scheduler *s, double time_s, uint32_t number, uint32_t id, bool arrives,
                     cs_error *err)
{
    uint64_t key = (uint64_t)arrives << 63 | (uint64_t)number << 32 | id;

    return cs_events_put(&s->events, time_s, key) == CS_OK
               ? CS_OK
               : CS_NO_MEMORY(err, "the events of a schedule");
}

static cs_status make_ready(scheduler *s, uint32_t id, double now_s, cs_error *err)
{
    transfer      t         = transfer_at(s->shape, id);
    const double *arrival_s = s->pace->arrival_s;
    double        ready_s   = arrival_s == NULL ? 0 : fmax(arrival_s[t.src], arrival_s[t.dst]);
    uint32_t      number    = pair_of(s, &t);
    pair         *q         = &s->pairs[number];

    if (ready_s > now_s) {
        return put(s, ready_s, number, id, true, err);
    }
    push(&q->ready, (entry){key_of(s->shape, &t), id, number});
    q->n_sums += t.stage == SUM;
    s->made->lead_counts |= number < s->H && q->n_sums > 0 && q->n_sums < q->ready.count;
    open_pair(s, number);
    return CS_OK;
}

/* Start what may start now, the smallest key first: what starts takes ports from others, and
 * gives none. */
static cs_status start(scheduler *s, double now_s, cs_error *err)
{
    double section_s = s->pace->buffer_s / s->shape->sections;

    for (uint32_t i = 0; i < s->n_open; i++) {
        s->pairs[s->open[i]].is_open = false;
        push(&s->line, s->pairs[s->open[i]].ready.entries[0]);
    }
    s->n_open = 0;
    while (s->line.count > 0) {
        entry e = pop(&s->line);
        pair *q = &s->pairs[e.pair];
        if (s->sends[q->src] || s->receives[q->dst]) {
            continue;
        }
        bool   is_slow      = q->src == s->shape->slow || q->dst == s->shape->slow;
        double takes_s      = s->pace->port_s + section_s * (is_slow ? s->pace->slowdown : 1);
        s->sends[q->src]    = true;
        s->receives[q->dst] = true;
        s->finals -= e.pair / s->H == TO_SLOW;
        q->n_sums -= e.pair < s->H && e.id % per_section(s->shape) < s->H - 1;
        (void)pop(&q->ready);
        s->made->order[s->made->n++] = e.id;
        s->made->end_s               = fmax(s->made->end_s, now_s + takes_s);
        CS_TRY(put(s, now_s + takes_s, e.pair, e.id, false, err));
    }
    return CS_OK;
}

static cs_status end(scheduler *s, uint32_t number, uint32_t id, double now_s, cs_error *err)
{
    transfer t = transfer_at(s->shape, id);
    uint32_t next[2], n = followers(s->shape, id, &t, next);

    free_ports(s, number);
    for (uint32_t i = 0; i < n; i++) {
        if (--s->waits[next[i]] == 0) {
            CS_TRY(make_ready(s, next[i], now_s, err));
        }
    }
    return CS_OK;
}

/* The slow rank gets one final after the other: can it still have all of them in time? */
static bool is_hopeless(const scheduler *s, double now_s)
{
    double section_s = s->pace->buffer_s / s->shape->sections;
    return now_s + s->finals * (s->pace->port_s + section_s * s->pace->slowdown) * (1 - 1e-9) >
           s->until_s;
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
            uint32_t id = (uint32_t)key, number = (uint32_t)(key >> 32 & INT32_MAX);
            CS_TRY(key >> 63 != 0 ? make_ready(s, id, now_s, err) : end(s, number, id, now_s, err));
        }
        double next_s = cs_events_next_s(&s->events); /* what ends at once but for rounding */
        if (next_s > now_s + grid_s) {
            if (is_hopeless(s, now_s)) {
                s->made->end_s = (double)INFINITY;
                return CS_OK;
            }
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
    *made = (cs_interleave){.order = NULL};
}

/* An order that cannot end by `until_s` need not be finished: its end is INFINITY then. */
static cs_status make_until(const cs_interleave_shape *shape, const cs_interleave_pace *pace,
                            double until_s, cs_interleave *made, cs_error *err)
{
    *made = (cs_interleave){.shape = *shape};

    scheduler s = {.shape   = shape,
                   .pace    = pace,
                   .H       = cs_interleave_ring(shape),
                   .finals  = shape->sections,
                   .until_s = until_s,
                   .made    = made};

    cs_status status = allocate(&s, err);
    if (status == CS_OK) {
        status = schedule(&s, err);
    }
    cs_events_free(&s.events);
    cs_free(s.pairs);
    cs_free(s.open);
    cs_free(s.waits);
    cs_free(s.sends);
    cs_free(s.receives);
    cs_free(s.room);
    return status;
}

/* ---- the choice ---- */

/* The order becomes the best one if it ends before it, and not behind `until_s`. */
static cs_status try_one(const cs_interleave_shape *shape, const cs_interleave_pace *pace,
                         double until_s, cs_interleave *best, bool *lead_counts_p, cs_error *err)
{
    cs_interleave made;
    double        before_s = best->order != NULL ? best->end_s : (double)INFINITY;
    cs_status     status   = make_until(shape, pace, fmin(until_s, before_s), &made, err);

    *lead_counts_p = made.lead_counts;
    if (status == CS_OK && made.end_s < before_s) {
        cs_interleave_free(best);
        *best = made;
        return CS_OK;
    }
    cs_interleave_free(&made);
    return status;
}

/* No order of so many sections ends before: the slow rank and the late one send all of theirs one
 * by one, the late one when it has come, and what the last one adds goes around the ring. */
static double least_s(const cs_interleave_shape *shape, const cs_interleave_pace *pace)
{
    double N = shape->sections, section_s = pace->buffer_s / N;
    double late_s = pace->arrival_s == NULL ? 0 : pace->arrival_s[shape->late];
    double slow_s = pace->port_s + section_s * pace->slowdown, one_s = pace->port_s + section_s;
    double around_s = (cs_interleave_ring(shape) - 1.0) * one_s;
    double each_s   = is_same(shape) ? slow_s : one_s;

    return fmax(late_s + N * each_s, N * slow_s) + fmax(slow_s, around_s);
}

/* The leads that are tried for a number of sections: none, a turn, and for as long as only S1 can
 * run, d' = max(d, (2-l) x). From N on S1 is before all of S4. */
static cs_status try_leads(cs_interleave_shape shape, const cs_interleave_pace *pace,
                           double until_s, cs_interleave *best, cs_error *err)
{
    double x = pace->buffer_s, late_s = pace->arrival_s == NULL ? 0 : pace->arrival_s[shape.late];
    double idle = fmin(fmax(late_s / x, 2 - pace->slowdown), 2), N = shape.sections;
    double leads[] = {0, cs_interleave_ring(&shape), 0.5 * N * idle, N * idle, 2 * N};
    bool   counts  = true;

    if (shape.lead != CS_AUTO) {
        return try_one(&shape, pace, until_s, best, &counts, err);
    }
    for (size_t i = 0; i < sizeof leads / sizeof leads[0] && counts; i++) {
        bool is_new = true;
        shape.lead  = (uint32_t)fmax(0, leads[i]);
        for (size_t k = 0; k < i; k++) {
            uint32_t other = (uint32_t)fmax(0, leads[k]);
            is_new         = is_new && other != shape.lead &&
                     (other < shape.sections || shape.lead < shape.sections);
        }
        if (is_new) {
            CS_TRY(try_one(&shape, pace, until_s, best, &counts, err));
        }
    }
    return CS_OK;
}

/* What a section takes on a healthy NIC. */
static double even_s(const cs_interleave_pace *pace, uint32_t sections)
{
    return pace->port_s + pace->buffer_s / sections;
}

/* Of the numbers of sections: the one that is predicted to end first, half a turn after no order
 * can end before. Returns its place. */
static size_t most_promising(const cs_interleave_shape *shape, const cs_interleave_pace *pace,
                             const uint32_t *sections, size_t n)
{
    double first_s = (double)INFINITY;
    size_t first   = 0;

    for (size_t i = 0; i < n; i++) {
        cs_interleave_shape one = *shape;
        one.sections            = sections[i];
        double end_s =
            least_s(&one, pace) + 0.5 * cs_interleave_ring(shape) * even_s(pace, sections[i]);
        first   = end_s < first_s ? i : first;
        first_s = fmin(first_s, end_s);
    }
    return first;
}

/* Can so many sections end before the best order? What that ends after the least for its own number
 * is for another number at least half of it, and shrinks at most as its sections do. */
static bool may_win(const cs_interleave_shape *shape, const cs_interleave_pace *pace,
                    const cs_interleave *best, double until_s)
{
    double bound_s = least_s(shape, pace) * (1 - 1e-9);

    if (best->order == NULL) {
        return bound_s <= until_s;
    }
    double behind_s = best->end_s - least_s(&best->shape, pace);
    double ratio    = even_s(pace, shape->sections) / even_s(pace, best->shape.sections);
    return bound_s + 0.5 * behind_s * fmin(ratio, 1) < best->end_s;
}

cs_status cs_interleave_choose(const cs_interleave_shape *shape, const cs_interleave_pace *pace,
                               uint64_t bytes, uint64_t most, double until_s, cs_interleave *best,
                               cs_error *err)
{
    static const uint32_t turns[] = {4, 1, 2, 8, 16, 24};
    enum { MOST_TURNS = sizeof turns / sizeof turns[0] };
    uint32_t  sections[MOST_TURNS] = {shape->sections};
    size_t    n                    = 0;
    cs_status status               = CS_OK;

    *best = (cs_interleave){.order = NULL};
    for (size_t i = 0; shape->sections == CS_AUTO && i < MOST_TURNS; i++) {
        cs_interleave_shape one = *shape;
        one.sections            = turns[i] * cs_interleave_ring(shape);
        uint64_t transfers      = cs_interleave_transfers(&one);
        if (one.sections <= bytes && transfers * one.p <= most && transfers <= CS_INTERLEAVE_MOST) {
            sections[n++] = one.sections;
        }
    }
    n = shape->sections == CS_AUTO ? n : 1;
    for (; status == CS_OK && n > 0; n--) {
        size_t              next = most_promising(shape, pace, sections, n);
        cs_interleave_shape one  = *shape;
        one.sections             = sections[next];
        memmove(sections + next, sections + next + 1, (n - 1 - next) * sizeof *sections);
        if (may_win(&one, pace, best, until_s)) {
            status = try_leads(one, pace, until_s, best, err);
        }
    }
    if (status != CS_OK) {
        cs_interleave_free(best);
    }
    return status;
}

/* ---- the stream ---- */

cs_plan cs_interleave_plan(const cs_interleave_shape *shape)
{
    return (cs_plan){.n_chunks   = shape->sections,
                     .n_slots    = shape->sections,
                     .n_rounds   = (uint32_t)cs_interleave_transfers(shape),
                     .starts_own = true};
}

cs_status cs_interleave_begin(cs_interleave_stream *stream, const cs_interleave *made,
                              uint64_t bytes, cs_error *err)
{
    *stream = (cs_interleave_stream){
        .made = made, .bytes = bytes, .added = CS_NEW(uint8_t, made->shape.sections)};
    return stream->added != NULL ? CS_OK : CS_NO_MEMORY(err, "%u sections", made->shape.sections);
}

void cs_interleave_next(cs_interleave_stream *stream, cs_block *block)
{
    const cs_interleave_shape *s = &stream->made->shape;

    for (; stream->next < stream->made->n && block->count < block->capacity; stream->next++) {
        transfer t       = transfer_at(s, stream->made->order[stream->next]);
        bool     is_raw  = t.stage == SLOW_RAW || t.stage == LATE_RAW;
        bool     adds    = is_raw || t.stage == SUM;
        bool     is_here = is_raw || (t.stage == SUM && t.hop + 2 == cs_interleave_ring(s));
        bool     is_done = !adds;
        if (is_here) {
            is_done = ++stream->added[t.section] == contributions(s);
        }
        block->transfers[block->count++] =
            (cs_transfer){.src       = t.src,
                          .dst       = t.dst,
                          .chunk     = t.section,
                          .src_slot  = (uint16_t)t.section,
                          .dst_slot  = (uint16_t)t.section,
                          .bytes     = cs_split(stream->bytes, s->sections, t.section),
                          .round     = stream->next,
                          .span      = 1,
                          .flags     = is_done ? CS_DONE_DST : 0,
                          .op_fabric = cs_op_fabric(adds ? CS_OP_REDUCE : CS_OP_COPY, CS_NIC)};
    }
}
