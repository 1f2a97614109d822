/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/train.h -- runs of packets, and the queues and the calendar that they move through.
 */
#ifndef CS_MODELS_PACKET_TRAIN_H
#define CS_MODELS_PACKET_TRAIN_H

#include "base/alloc.h"
#include "models/packet/net.h"

/* `count` packets of one message, way and size at t, t + gap, .. */
typedef struct cs_run {
    cs_ps    t, gap;
    uint32_t message; /* and where on which of its ways, as the engine numbers them */
    uint32_t count;
    uint32_t bytes : 24; /* of each, on the wire */
    uint32_t hop : 8;    /* 0: they are at their sending port and go different ways */
    uint32_t path; /* where `hop` is 0 the number of the first packet of the message that is one
                      of them, else the engine's */
} cs_run;

static inline cs_ps cs_run_last(const cs_run *r)
{
    return r->t + (cs_ps)(r->count - 1) * r->gap;
}

/* A ring of runs; `{0}` is empty. */
typedef struct cs_run_queue {
    cs_run  *runs; /* owned [capacity], a power of two */
    uint32_t head, n, capacity;
} cs_run_queue;

static inline cs_run *cs_runs_first(const cs_run_queue *q)
{
    return &q->runs[q->head];
}

static inline cs_run *cs_runs_last(const cs_run_queue *q)
{
    return &q->runs[(q->head + q->n - 1) & (q->capacity - 1)];
}

static inline void cs_runs_drop_first(cs_run_queue *q)
{
    q->head = (q->head + 1) & (q->capacity - 1);
    q->n--;
}

/* Make room in a queue that is full. */
CS_MUST_CHECK cs_status cs_runs_grow(cs_run_queue *q);

static inline CS_MUST_CHECK cs_status cs_runs_append(cs_run_queue *q, const cs_run *run)
{
    if (q->n == q->capacity && cs_runs_grow(q) != CS_OK) {
        return CS_ENOMEM;
    }
    q->runs[(q->head + q->n++) & (q->capacity - 1)] = *run;
    return CS_OK;
}

/* Of runs that came to a port, each over link `path`: does every one end before the next begins?
 * The queue has never dropped one. */
bool cs_runs_are_in_order(const cs_run_queue *inbox);

/* Let `last` go on with a run that continues it: the same packets on one line in time. False: it
 * does not. */
static inline bool cs_run_join(cs_run *last, const cs_run *next)
{
    if (last->message != next->message || last->bytes != next->bytes || last->hop != next->hop ||
        (last->hop > 0 ? last->path != next->path : last->path + last->count != next->path)) {
        return false;
    }
    cs_ps gap = last->count > 1 ? last->gap : next->count > 1 ? next->gap : next->t - last->t;
    if (next->t != last->t + (cs_ps)last->count * gap || (next->count > 1 && next->gap != gap)) {
        return false;
    }
    last->gap = gap;
    last->count += next->count;
    return true;
}

/* ---- whose turn is it? ---- */

/* A packet at a port, or the first one of a run; ports serve in the order (t, in). */
typedef struct cs_turn {
    cs_ps    t;
    uint32_t in;  /* the link that it came over */
    uint32_t run; /* the user's */
} cs_turn;

static inline bool cs_is_later(const cs_turn *a, const cs_turn *b)
{
    return a->t > b->t || (a->t == b->t && a->in > b->in);
}

/* `{0}` is empty. */
typedef struct cs_turns {
    cs_turn  *all;   /* owned [capacity] */
    cs_turn  *other; /* owned [capacity]: what is sorted moves between the two */
    uint32_t *slots; /* owned [2 * capacity + 2] */
    size_t    n, capacity;
} cs_turns;

/* Make room for so many more. */
CS_MUST_CHECK cs_status cs_turns_reserve(cs_turns *list, size_t more);

/* Take a run apart: add its packets. */
CS_MUST_CHECK cs_status cs_turns_add(cs_turns *list, const cs_run *run, uint32_t in,
                                     uint32_t number);

/* Sort; those of one time and link stay in their order. O(n) where times are spread evenly and
 * those of one time are sorted, O(n log n) anyway. */
void cs_turns_sort(cs_turns *list);

void cs_turns_free(cs_turns *list);

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

/* Take the tokens of the window that was found out of the calendar: a list through `next`, ended by
 * CS_NO_LINK, in the order in which they were put. Whoever walks it reads `next` of a token before
 * putting it again. The window is then processed, and whoever does so moves `window` on by 1. */
uint32_t cs_calendar_take(cs_calendar *c);

#endif
