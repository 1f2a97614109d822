/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A radix heap. An event lies in the bucket of the highest bit in which
 * its time differs from the last time taken; bucket 0 holds the events of that time itself. The
 * lowest bucket that is not empty holds the earliest event, because everything in it shares more
 * leading bits with the last time than anything in a higher one. */
#include "base/event_queue.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

#define SIGN ((uint64_t)1 << 63)

/* Bits in the order of the times, negative ones too. */
static uint64_t bits_of(double time_s)
{
    uint64_t bits;
    double   positive = time_s + 0.0; /* no negative zero */

    memcpy(&bits, &positive, sizeof bits);
    return (bits & SIGN) != 0 ? ~bits : bits | SIGN;
}

/* Number of the highest bit set, counted from 1; 0 of 0. */
static unsigned highest_bit(uint64_t word)
{
    return word == 0 ? 0 : 64 - (unsigned)__builtin_clzll(word);
}

static cs_status grow(cs_event_queue *q)
{
    uint32_t       capacity = q->capacity == 0 ? FIRST_CAPACITY : 2 * q->capacity;
    cs_event_node *nodes    = cs_realloc(q->nodes, capacity, sizeof *nodes);

    if (nodes == NULL) {
        return CS_ENOMEM;
    }
    q->nodes        = nodes;
    cs_event *batch = cs_realloc(q->batch, capacity, sizeof *batch);
    if (batch == NULL) {
        return CS_ENOMEM;
    }
    q->batch    = batch;
    q->n_used   = q->n_used == 0 ? 1 : q->n_used;
    q->capacity = capacity;
    return CS_OK;
}

/* Put a node where it belongs now. */
static inline void place(cs_event_queue *q, uint32_t index, uint64_t bits)
{
    unsigned b      = highest_bit(bits ^ q->last_bits);
    double   time_s = q->nodes[index].event.time_s;

    q->least_s[b]        = q->heads[b] == 0 || time_s < q->least_s[b] ? time_s : q->least_s[b];
    q->nodes[index].next = q->heads[b];
    q->heads[b]          = index;
    q->occupied |= b == 0 ? 0 : (uint64_t)1 << (b - 1);
}

cs_status cs_events_put(cs_event_queue *queue, double time_s, uint64_t key)
{
    uint32_t index = queue->free_list;

    if (index != 0) {
        queue->free_list = queue->nodes[index].next;
    } else {
        if (queue->n_used >= queue->capacity && grow(queue) != CS_OK) {
            return CS_ENOMEM;
        }
        index = queue->n_used++;
    }
    queue->nodes[index].event = (cs_event){time_s, key};
    place(queue, index, bits_of(time_s));
    queue->count++;
    return CS_OK;
}

double cs_events_next_s(const cs_event_queue *queue)
{
    if (queue->count == 0) {
        return (double)INFINITY;
    }
    return queue->least_s[queue->heads[0] != 0 ? 0 : __builtin_ctzll(queue->occupied) + 1];
}

/* Move the lowest bucket that is not empty to where its events belong beside the earliest of
 * them, which gets into bucket 0. */
static void refill(cs_event_queue *q)
{
    unsigned b    = (unsigned)__builtin_ctzll(q->occupied) + 1;
    uint32_t node = q->heads[b];

    q->last_bits = bits_of(q->least_s[b]);
    q->heads[b]  = 0;
    q->occupied &= q->occupied - 1;
    while (node != 0) {
        uint32_t next = q->nodes[node].next;
        place(q, node, bits_of(q->nodes[node].event.time_s));
        node = next;
    }
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = ((const cs_event *)a)->key, y = ((const cs_event *)b)->key;
    return (x > y) - (x < y);
}

static void reverse(cs_event *events, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        cs_event swapped  = events[i];
        events[i]         = events[n - 1 - i];
        events[n - 1 - i] = swapped;
    }
}

/* Lists come out forwards or backwards, as often as the events moved, and with a few that are out
 * of order: insertion, unless it turns out to be long. */
static void sort(cs_event *events, size_t n, size_t n_rises)
{
    size_t moves = 0;

    if (2 * n_rises < n) {
        reverse(events, n);
    }
    for (size_t i = 1; i < n && moves <= 4 * n; i++) {
        cs_event moved = events[i];
        size_t   at    = i;
        for (; at > 0 && events[at - 1].key > moved.key; at--) {
            events[at] = events[at - 1];
        }
        events[at] = moved;
        moves += i - at;
    }
    if (moves > 4 * n) {
        qsort(events, n, sizeof *events, by_key);
    }
}

size_t cs_events_take(cs_event_queue *queue)
{
    size_t n = 0, n_rises = 0;

    if (queue->count == 0) {
        return 0;
    }
    if (queue->heads[0] == 0) {
        refill(queue);
    }
    for (uint32_t node = queue->heads[0], next; node != 0; node = next) {
        next                    = queue->nodes[node].next;
        queue->batch[n]         = queue->nodes[node].event;
        queue->nodes[node].next = queue->free_list;
        queue->free_list        = node;
        n_rises += n > 0 && queue->batch[n - 1].key <= queue->batch[n].key;
        n++;
    }
    queue->heads[0] = 0;
    queue->count -= n;
    if (n_rises + 1 < n) {
        sort(queue->batch, n, n_rises);
    }
    return n;
}

void cs_events_free(cs_event_queue *queue)
{
    cs_free(queue->nodes);
    cs_free(queue->batch);
    *queue = (cs_event_queue){0};
}
