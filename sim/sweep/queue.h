/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/queue.h -- a bounded queue: several threads put, one takes.
 *
 * Items are pointers and belong to whoever holds them; the queue itself owns none.
 */
#ifndef CS_SWEEP_QUEUE_H
#define CS_SWEEP_QUEUE_H

#include "cs/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct cs_queue {
    pthread_mutex_t lock;
    pthread_cond_t  has_item, has_room;
    void          **items; /* ring of `capacity`; owned */
    size_t          capacity, first, count;
    size_t          n_producers; /* that may still put */
    bool            closed;      /* the taker has gone */
} cs_queue;

/* An empty queue without producers; cs_queue_free() it. */
cs_status cs_queue_init(cs_queue *queue, size_t capacity, cs_error *err);

/* One more producer, announced before its thread starts; one less, when it has put its last. */
void cs_queue_join(cs_queue *queue);
void cs_queue_leave(cs_queue *queue);

/* Put one item, waiting for room. False when the queue was closed: the item stays with the
 * caller. */
bool cs_queue_put(cs_queue *queue, void *item);

/* Take what there is, at most `max` items, waiting for the first. 0 when the queue is empty and
 * no producer is left. */
size_t cs_queue_take(cs_queue *queue, void **items, size_t max);

/* The same, but wait for the first no longer than `wait_s`: 0 also when nothing came. */
size_t cs_queue_take_within(cs_queue *queue, void **items, size_t max, double wait_s);

/* Is it empty, and no producer left? */
bool cs_queue_is_over(cs_queue *queue);

/* The taker goes: everybody who puts from now on is turned away. What is in the queue can still
 * be taken. */
void cs_queue_close(cs_queue *queue);

/* Free an initialised queue; no thread uses it any more. */
void cs_queue_free(cs_queue *queue);

#endif
