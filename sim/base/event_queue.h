/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/event_queue.h -- events in the total order (time, key).
 *
 * A radix heap over the bits of the time, mapped so that they compare as the times do.
 * It is monotone: nothing may be put in front of the last time that was taken. An event moves at
 * most 64 times to a lower bucket in its life and events of one time leave together, which is
 * what lockstep schedules are made of (sim/doc/benchmarks.md has the comparison with other heaps).
 */
#ifndef CS_BASE_EVENT_QUEUE_H
#define CS_BASE_EVENT_QUEUE_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CS_EVENT_BUCKETS = 65 };

typedef struct cs_event {
    double   time_s;
    uint64_t key; /* orders the events of one time; the user's otherwise */
} cs_event;

typedef struct cs_event_node {
    cs_event event;
    uint32_t next; /* in its bucket or in the free list */
} cs_event_node;

/* `{0}` is an empty queue. */
typedef struct cs_event_queue {
    cs_event_node *nodes; /* owned; node 0 is not used: 0 ends a list */
    cs_event      *batch; /* owned: what cs_events_take() took */
    uint32_t       capacity, n_used, free_list;
    uint32_t       heads[CS_EVENT_BUCKETS];
    double         least_s[CS_EVENT_BUCKETS]; /* of the bucket; meaningless when it is empty */
    uint64_t       occupied;                  /* bit b - 1: bucket b holds something */
    uint64_t       last_bits;                 /* bits of the last time that was taken */
    size_t         count;
} cs_event_queue;

/* Add an event; `time_s` is not NAN, and not before the last time taken. CS_ENOMEM leaves
 * the queue as it was. Amortised O(64). */
CS_MUST_CHECK cs_status cs_events_put(cs_event_queue *queue, double time_s, uint64_t key);

/* The earliest time, or INFINITY of an empty queue. O(1). */
double cs_events_next_s(const cs_event_queue *queue);

/* Take all events of the earliest time, sorted by key, into `batch`, where they stay until the next
 * call (the array may move when something is put). Returns how many; 0 of an empty queue. */
size_t cs_events_take(cs_event_queue *queue);

/* Free what the queue owns; it is empty and usable again. */
void cs_events_free(cs_event_queue *queue);

#endif
