/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/queue.c -- a bounded queue: a ring, one lock, two conditions. */
#include "sweep/queue.h"

#include "base/alloc.h"

#include <time.h>

cs_status cs_queue_init(cs_queue *queue, size_t capacity, cs_error *err)
{
    *queue = (cs_queue){.items = CS_NEW(void *, capacity), .capacity = capacity};
    if (queue->items == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    pthread_condattr_t forward; /* a clock that nobody sets back */
    pthread_condattr_init(&forward);
    pthread_condattr_setclock(&forward, CLOCK_MONOTONIC);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->has_item, &forward);
    pthread_condattr_destroy(&forward);
    pthread_cond_init(&queue->has_room, NULL);
    return CS_OK;
}

void cs_queue_join(cs_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->n_producers++;
    pthread_mutex_unlock(&queue->lock);
}

void cs_queue_leave(cs_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->n_producers--;
    pthread_cond_signal(&queue->has_item);
    pthread_mutex_unlock(&queue->lock);
}

bool cs_queue_put(cs_queue *queue, void *item)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == queue->capacity && !queue->closed) {
        pthread_cond_wait(&queue->has_room, &queue->lock);
    }
    bool is_open = !queue->closed;
    if (is_open) {
        queue->items[(queue->first + queue->count++) % queue->capacity] = item;
        pthread_cond_signal(&queue->has_item);
    }
    pthread_mutex_unlock(&queue->lock);
    return is_open;
}

/* Take what is there; the lock is held. */
static size_t take_some(cs_queue *queue, void **items, size_t max)
{
    size_t n = 0;

    for (; n < max && queue->count > 0; n++, queue->count--) {
        items[n]     = queue->items[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
    }
    pthread_cond_broadcast(&queue->has_room);
    return n;
}

size_t cs_queue_take(cs_queue *queue, void **items, size_t max)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && queue->n_producers > 0) {
        pthread_cond_wait(&queue->has_item, &queue->lock);
    }
    size_t n = take_some(queue, items, max);
    pthread_mutex_unlock(&queue->lock);
    return n;
}

size_t cs_queue_take_within(cs_queue *queue, void **items, size_t max, double wait_s)
{
    struct timespec until;
    int             code = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    long nanoseconds = until.tv_nsec + (long)(wait_s * 1e9);
    until.tv_sec += nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && queue->n_producers > 0 && code == 0) {
        code = pthread_cond_timedwait(&queue->has_item, &queue->lock, &until);
    }
    size_t n = take_some(queue, items, max);
    pthread_mutex_unlock(&queue->lock);
    return n;
}

bool cs_queue_is_over(cs_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool is_over = queue->count == 0 && queue->n_producers == 0;
    pthread_mutex_unlock(&queue->lock);
    return is_over;
}

void cs_queue_close(cs_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->has_room);
    pthread_mutex_unlock(&queue->lock);
}

void cs_queue_free(cs_queue *queue)
{
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->has_item);
    pthread_cond_destroy(&queue->has_room);
    cs_free(queue->items);
}
