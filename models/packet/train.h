/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/train.h -- what engines that go window by window have in common: runs of packets,
 * the ways that messages take, and the calendar of windows.
 */
#ifndef CS_MODELS_PACKET_TRAIN_H
#define CS_MODELS_PACKET_TRAIN_H

#include "base/alloc.h"
#include "models/packet/net.h"

/* ---- the ways of messages ----
 *
 * A *step* is a place among the ways that are kept: it stands for a message, one of its ways and a
 * link on it. The step behind it is that of the next link, if there is one. */

typedef struct cs_ways {
    uint32_t *links; /* owned [n_messages << shift]: by step */
    size_t    n_messages;
    uint32_t  shift;
    uint32_t  width; /* from a way of a message to the next one */
} cs_ways;

/* No messages yet, of this net. */
cs_ways cs_ways_of(const cs_packet_net *net);

/* Keep the ways of a message, in place of those of an earlier one with its number. CS_ENOMEM: there
 * is no memory, or there are more messages than steps have numbers. */
CS_MUST_CHECK cs_status cs_ways_keep(cs_ways *ways, const cs_packet_message *message);

/* The number of a step's message, and the first step of a message. */
static inline uint32_t cs_step_message(const cs_ways *ways, uint32_t step)
{
    return step >> ways->shift;
}
static inline uint32_t cs_step_first(const cs_ways *ways, uint32_t number)
{
    return number << ways->shift;
}

/* ---- runs ---- */

/* `count` packets of one message, way and size at t, t + gap, .. The fields are written where the
 * run is to lie: what is copied as a whole soon after it was written in parts stalls a processor.
 */
typedef struct cs_run {
    cs_ps    t, gap;
    uint32_t step; /* the link that they are on */
    uint32_t count;
    uint32_t bytes; /* of each, on the wire */
    uint32_t in;    /* at a port: the link that they came over; else the engine's */
} cs_run;

static inline void cs_run_set(cs_run *r, cs_ps t, cs_ps gap, uint32_t count, uint32_t step,
                              uint32_t bytes, uint32_t in)
{
    r->t     = t;
    r->gap   = gap;
    r->step  = step;
    r->count = count;
    r->bytes = bytes;
    r->in    = in;
}

static inline cs_ps cs_run_last(const cs_run *r)
{
    return r->t + (cs_ps)(r->count - 1) * r->gap;
}

/* How many of `count` packets at t, t + gap, .., at least the first, come before a time behind it?
 */
static inline uint32_t cs_packets_before(cs_ps t, cs_ps gap, uint32_t count, cs_ps time)
{
    cs_ps room = time - 1 - t;

    if (count == 1 || (cs_ps)(count - 1) * gap <= room) {
        return count;
    }
    return room < gap ? 1 : (uint32_t)(room / gap) + 1; /* a division takes long */
}

/* A ring of runs; `{0}` is empty. One that is empty begins at runs[0]. */
typedef struct cs_runs {
    cs_run  *runs; /* owned [capacity], a power of two */
    uint32_t head, n, capacity;
} cs_runs;

static inline cs_run *cs_runs_first(const cs_runs *q)
{
    return &q->runs[q->head];
}

static inline cs_run *cs_runs_nth(const cs_runs *q, uint32_t n)
{
    return &q->runs[(q->head + n) & (q->capacity - 1)];
}

static inline void cs_runs_drop_first(cs_runs *q)
{
    q->n--;
    q->head = q->n == 0 ? 0 : (q->head + 1) & (q->capacity - 1);
}

/* Make room in a ring that is full. */
CS_MUST_CHECK cs_status cs_runs_grow(cs_runs *q);

static inline CS_MUST_CHECK cs_status cs_runs_append(cs_runs *q, cs_ps t, cs_ps gap, uint32_t count,
                                                     uint32_t step, uint32_t bytes, uint32_t in)
{
    if (q->n == q->capacity && cs_runs_grow(q) != CS_OK) {
        return CS_ENOMEM;
    }
    cs_run_set(cs_runs_nth(q, q->n++), t, gap, count, step, bytes, in);
    return CS_OK;
}

/* ---- what is under way on a link ----
 *
 * A ring of runs in the order in which their first packets are at the far end. Messages may take
 * turns there: those of the last CS_MOST_TURNS runs still are runs. */

enum { CS_MOST_TURNS = 16 };

/* Let a run go on with packets that continue it: the same ones on one line in time. False: they do
 * not. */
static inline bool cs_run_join(cs_run *last, cs_ps t, cs_ps gap, uint32_t count, uint32_t step,
                               uint32_t bytes)
{
    if (last->step != step || last->bytes != bytes) {
        return false;
    }
    cs_ps distance = last->count > 1 ? last->gap : count > 1 ? gap : t - last->t;
    if (t != last->t + (cs_ps)last->count * distance || (count > 1 && gap != distance)) {
        return false;
    }
    last->gap = distance;
    last->count += count;
    return true;
}

/* With how many of the last runs may packets go on that have passed the port `lag` after their
 * start? Those that take no time may be at the far end at once: they stay in their order. */
static inline uint32_t cs_flight_turns(bool trains, cs_ps lag)
{
    return trains && lag > 0 ? CS_MOST_TURNS : 0;
}

/* Packets are sent behind all others: they go on with one of the last `turns` runs where they can.
 */
static inline CS_MUST_CHECK cs_status cs_flight_add(cs_runs *flight, uint32_t turns, cs_ps t,
                                                    cs_ps gap, uint32_t count, uint32_t step,
                                                    uint32_t bytes, uint32_t in)
{
    for (uint32_t i = flight->n; i > 0 && i + turns > flight->n; i--) {
        cs_run *run = cs_runs_nth(flight, i - 1);
        if (run->step == step) {
            if (cs_run_join(run, t, gap, count, step, bytes)) {
                return CS_OK;
            }
            break;
        }
    }
    return cs_runs_append(flight, t, gap, count, step, bytes, in);
}

/* The first `count` packets of the first run are there: what is left of it goes to where it then is
 * in order. */
static inline void cs_flight_drop(cs_runs *flight, uint32_t count)
{
    cs_run *r = cs_runs_first(flight);

    if (count == r->count) {
        cs_runs_drop_first(flight);
        return;
    }
    r->t += (cs_ps)count * r->gap;
    r->count -= count;
    for (uint32_t i = 1; i < flight->n && cs_runs_nth(flight, i)->t < r->t; i++) {
        cs_run  was  = *r;
        cs_run *next = cs_runs_nth(flight, i);
        *r           = *next;
        *next        = was;
        r            = next;
    }
}

/* ---- runs in time ---- */

/* What is left of runs that are gone through in time. */
typedef struct cs_walk {
    const cs_run *r, *end;
    uint32_t      done; /* packets of *r */
} cs_walk;

/* From the n-th run on, of a list that has never dropped one. */
static inline cs_walk cs_walk_of(const cs_runs *list, uint32_t from, uint32_t to)
{
    return (cs_walk){list->runs + from, list->runs + to, 0};
}

/* The time of the next packet; CS_PS_NEVER: there is none. */
static inline cs_ps cs_walk_time(const cs_walk *w)
{
    return w->r < w->end ? w->r->t + (cs_ps)w->done * w->r->gap : CS_PS_NEVER;
}

/* How many packets are left of the run of the next one. */
static inline uint32_t cs_walk_left(const cs_walk *w)
{
    return w->r->count - w->done;
}

/* How many of them, at least the next one, come before a time that is behind it. */
static inline uint32_t cs_walk_before(const cs_walk *w, cs_ps time)
{
    return cs_packets_before(cs_walk_time(w), w->r->gap, cs_walk_left(w), time);
}

static inline void cs_walk_on(cs_walk *w, uint32_t count)
{
    w->done += count;
    if (w->done == w->r->count) {
        w->done = 0;
        w->r++;
    }
}

/* ---- the order at a port ---- */

/* Whose turn it is. */
typedef struct cs_keys {
    uint64_t *keys, *sorted; /* owned */
    uint32_t *slots;         /* owned */
    size_t    capacity, sorted_capacity, slot_capacity;
    uint64_t  low, high; /* the least and the greatest key */
    uint32_t  n;
} cs_keys;

/* What putting runs in order needs; `{0}` is nothing yet. */
typedef struct cs_run_order {
    cs_runs sorted; /* the last list that was not in order, in order */
    cs_keys of_runs, of_packets;
} cs_run_order;

CS_MUST_CHECK cs_status cs_runs_sort(cs_run_order *order, const cs_runs *list, cs_ps begin,
                                     const cs_runs **sorted_p);

/* Runs of one window, which begins at `begin`, in the order in which a port serves their packets:
 * by time, then by the number of the link that they came over. The list has the runs of one link
 * after those of another with a lower number, and has never dropped one; nor has the sorted one,
 * which is the list itself or the order's until it is asked again. Where two links meet, runs are
 * cut; where more do, those that meet are taken apart. O(n) where they do not meet, or two links
 * do; O(packets) where times are spread evenly, O(packets log packets) anyway. */
static inline CS_MUST_CHECK cs_status cs_runs_in_order(cs_run_order *order, const cs_runs *list,
                                                       cs_ps begin, const cs_runs **sorted_p)
{
    *sorted_p = list;
    return list->n < 2 ? CS_OK : cs_runs_sort(order, list, begin, sorted_p);
}

void cs_run_order_free(cs_run_order *order);

/* ---- links in the order of their numbers ---- */

/* A set of links; one of no links has `first` above `last`. */
typedef struct cs_link_set {
    uint64_t *bits;        /* owned */
    uint32_t  first, last; /* words of `bits` outside which there is none */
} cs_link_set;

CS_MUST_CHECK cs_status cs_link_set_open(cs_link_set *set, uint32_t n_links);

static inline void cs_link_set_add(cs_link_set *set, uint32_t link)
{
    uint32_t word = link / 64;

    set->bits[word] |= UINT64_C(1) << link % 64;
    set->first = word < set->first ? word : set->first;
    set->last  = word > set->last ? word : set->last;
}

/* Take the lowest one out of the set. CS_NO_LINK: there is none. */
static inline uint32_t cs_link_set_take(cs_link_set *set)
{
    for (; set->first <= set->last; set->first++) {
        uint64_t *bits = &set->bits[set->first];
        if (*bits != 0) {
            uint32_t link = 64 * set->first + (uint32_t)__builtin_ctzll(*bits);
            *bits &= *bits - 1;
            return link;
        }
    }
    set->first = UINT32_MAX;
    set->last  = 0;
    return CS_NO_LINK;
}

/* ---- the calendar: in which window has a token something to do? ---- */

enum { CS_CALENDAR_BUCKETS = 4096, CS_CALENDAR_WORDS = CS_CALENDAR_BUCKETS / 64 };

/* Tokens 0 to n_tokens - 1, each in it at most once. A bucket holds those of every 4096th window,
 * in the order in which they came. */
typedef struct cs_calendar {
    cs_ps     width;  /* of a window */
    int64_t   window; /* the first that is left; it begins at window * width */
    uint32_t  n_inside;
    uint32_t *next; /* owned [n_tokens] */
    int64_t  *when; /* owned [n_tokens]: its window; -1: it is not in the calendar */
    uint32_t  first[CS_CALENDAR_BUCKETS], last[CS_CALENDAR_BUCKETS];
    uint64_t  occupied[CS_CALENDAR_WORDS];
} cs_calendar;

CS_MUST_CHECK cs_status cs_calendar_open(cs_calendar *c, cs_ps width, uint32_t n_tokens);
void                    cs_calendar_close(cs_calendar *c);

/* Put a token that is not inside, for a time in the first window that is left or later. */
void cs_calendar_put(cs_calendar *c, uint32_t token, cs_ps time);

/* Go on to the first window that has a token: true, and `window` is that one. False: there is none
 * below `limit`, to which `window` has moved (INT64_MAX: there is none at all). Amortised O(1);
 * O(tokens) where the next one is more than 4096 windows away. */
bool cs_calendar_find(cs_calendar *c, int64_t limit);

/* The same for who drives an engine: the first window with a token that ends at or before the first
 * of `ends` and `horizon`. */
bool cs_calendar_go_on(cs_calendar *c, const cs_event_queue *ends, cs_ps horizon);

/* Take the tokens of the window that was found out of the calendar: a list through `next`, ended by
 * CS_NO_LINK, in the order in which they were put. Whoever walks it reads `next` of a token before
 * putting it again. The window is then processed, and whoever does so moves `window` on by 1. */
uint32_t cs_calendar_take(cs_calendar *c);

#endif
