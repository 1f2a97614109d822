/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers wait in a work queue, rows in a row queue; each is one lock and its conditions. */
#include "campaign/thread_pool.h"

#include "base/alloc.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define ROWS_PER_THREAD 8u

/* ---- the work queue: one thread gives, several take ---- */

typedef struct range {
    size_t first, end; /* first <= item < end */
} range;

typedef struct work_queue {
    pthread_mutex_t lock;
    pthread_cond_t  has_item;
    range          *ranges; /* owned; those from `next` on are left */
    size_t          next, count, capacity;
    bool            closed; /* nothing more is given */
    bool            halted; /* nothing more is taken */
} work_queue;

/* Room for one more range: those that are used up make it first. */
static bool has_room(work_queue *queue)
{
    if (queue->next == queue->count) {
        queue->next = queue->count = 0;
    }
    return cs_grow(&queue->ranges, &queue->capacity, queue->count + 1, 4, sizeof *queue->ranges);
}

/* Set one of the flags, and wake who waits. */
static void set_flag(work_queue *queue, bool *flag)
{
    pthread_mutex_lock(&queue->lock);
    *flag = true;
    pthread_cond_broadcast(&queue->has_item);
    pthread_mutex_unlock(&queue->lock);
}

/* Take one number, waiting for it. False: there is none, and none will come. */
static bool take_item(work_queue *queue, size_t *item_p)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->next == queue->count && !queue->closed && !queue->halted) {
        pthread_cond_wait(&queue->has_item, &queue->lock);
    }
    bool has_item = queue->next < queue->count && !queue->halted;
    if (has_item) {
        range *r = &queue->ranges[queue->next];
        *item_p  = r->first++;
        queue->next += r->first == r->end;
    }
    pthread_mutex_unlock(&queue->lock);
    return has_item;
}

/* ---- the row queue: several threads put, one takes ---- */

typedef struct row_queue {
    pthread_mutex_t lock;
    pthread_cond_t  has_row, has_room;
    cs_pool_row   **rows; /* ring of `capacity`, each owned by whoever takes it; owned */
    size_t          capacity, first, count;
    size_t          n_producers; /* threads that may still put */
    bool            closed;      /* nobody takes any more */
} row_queue;

static void init_row_queue(row_queue *queue)
{
    pthread_condattr_t forward; /* a clock that nobody sets back */

    pthread_condattr_init(&forward);
    pthread_condattr_setclock(&forward, CLOCK_MONOTONIC);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->has_row, &forward);
    pthread_condattr_destroy(&forward);
    pthread_cond_init(&queue->has_room, NULL);
}

/* One more producer, announced before its thread starts; one less, when it has put its last. */
static void join_queue(row_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->n_producers++;
    pthread_mutex_unlock(&queue->lock);
}

static void leave_queue(row_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->n_producers--;
    pthread_cond_signal(&queue->has_row);
    pthread_mutex_unlock(&queue->lock);
}

/* Put one row, waiting for room. False when the queue was closed: the row stays with the caller. */
static bool put_row(row_queue *queue, cs_pool_row *row)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == queue->capacity && !queue->closed) {
        pthread_cond_wait(&queue->has_room, &queue->lock);
    }
    bool is_open = !queue->closed;
    if (is_open) {
        queue->rows[(queue->first + queue->count++) % queue->capacity] = row;
        pthread_cond_signal(&queue->has_row);
    }
    pthread_mutex_unlock(&queue->lock);
    return is_open;
}

/* Wait for a row, or until no producer is left; the lock is held. */
static void await_row(row_queue *queue, double wait_s)
{
    struct timespec until;
    int             code = 0;

    if (isinf(wait_s)) {
        while (queue->count == 0 && queue->n_producers > 0) {
            pthread_cond_wait(&queue->has_row, &queue->lock);
        }
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    long nanoseconds = until.tv_nsec + (long)(wait_s * 1e9);
    until.tv_sec += nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    while (queue->count == 0 && queue->n_producers > 0 && code == 0) {
        code = pthread_cond_timedwait(&queue->has_row, &queue->lock, &until);
    }
}

static size_t take_rows(row_queue *queue, cs_pool_row **rows, size_t max, double wait_s)
{
    size_t n = 0;

    pthread_mutex_lock(&queue->lock);
    await_row(queue, wait_s);
    for (; n < max && queue->count > 0; n++, queue->count--) {
        rows[n]      = queue->rows[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
    }
    pthread_cond_broadcast(&queue->has_room);
    pthread_mutex_unlock(&queue->lock);
    return n;
}

/* Whoever puts from now on is turned away. What is in the queue can still be taken. */
static void close_row_queue(row_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->has_room);
    pthread_mutex_unlock(&queue->lock);
}

/* ---- the threads ---- */

typedef struct pool_thread {
    cs_thread_pool *pool;
    pthread_t       thread;
    size_t          index; /* of the item at which it failed */
    cs_status       status;
    cs_error        err;
} pool_thread;

struct cs_thread_pool {
    cs_pool_work work;
    work_queue   items;
    row_queue    rows;
    pool_thread *threads; /* [n_threads]; owned */
    size_t       n_threads;
};

void cs_pool_row_free(cs_pool_row *row)
{
    if (row != NULL) {
        cs_text_free(&row->text);
        cs_free(row);
    }
}

/* One item, and what became of it into the queue. An error ends the thread. */
static cs_status do_item(cs_thread_pool *pool, size_t index, cs_error *err)
{
    cs_pool_row *row   = CS_NEW(cs_pool_row, 1);
    cs_error     wrong = {0};

    if (row == NULL) {
        return CS_NO_MEMORY(err, "the row of an item");
    }
    row->index       = index;
    cs_status status = pool->work.work(pool->work.user, index, &row->text, &wrong);
    if (status == CS_OK) {
        status = cs_text_status(&row->text, &wrong);
    }
    if (cs_status_is_failure(status)) {
        row->skip_reason        = wrong;
        row->skip_reason.status = status;
        status                  = CS_OK;
    } else if (status != CS_OK && err != NULL) {
        *err = wrong;
    }
    if (status != CS_OK || !put_row(&pool->rows, row)) {
        cs_pool_row_free(row);
    }
    return status;
}

static void *run_thread(void *argument)
{
    pool_thread                 *t    = argument;
    cs_thread_pool              *pool = t->pool;
    const volatile sig_atomic_t *stop = pool->work.stop;

    while (t->status == CS_OK && (stop == NULL || *stop == 0) &&
           take_item(&pool->items, &t->index)) {
        t->status = do_item(pool, t->index, &t->err);
    }
    if (t->status != CS_OK) {
        cs_thread_pool_halt(pool);
    }
    leave_queue(&pool->rows);
    return NULL;
}

static void start_threads(cs_thread_pool *pool, size_t n_threads)
{
    for (; pool->n_threads < n_threads; pool->n_threads++) {
        pool_thread *t = &pool->threads[pool->n_threads];
        t->pool        = pool;
        join_queue(&pool->rows);
        if (pthread_create(&t->thread, NULL, run_thread, t) != 0) {
            leave_queue(&pool->rows);
            break;
        }
    }
}

static void release(cs_thread_pool *pool)
{
    cs_pool_row *row;

    while (pool->rows.rows != NULL && take_rows(&pool->rows, &row, 1, 0) > 0) {
        cs_pool_row_free(row);
    }
    pthread_mutex_destroy(&pool->items.lock);
    pthread_cond_destroy(&pool->items.has_item);
    pthread_mutex_destroy(&pool->rows.lock);
    pthread_cond_destroy(&pool->rows.has_row);
    pthread_cond_destroy(&pool->rows.has_room);
    cs_free(pool->items.ranges);
    cs_free(pool->rows.rows);
    cs_free(pool->threads);
    cs_free(pool);
}

cs_status cs_thread_pool_start(const cs_pool_work *work, size_t n_threads, cs_thread_pool **pool_p,
                               cs_error *err)
{
    cs_thread_pool *pool = CS_NEW(cs_thread_pool, 1);

    if (pool == NULL) {
        return CS_NO_MEMORY(err, "%zu threads", n_threads);
    }
    pool->work          = *work;
    pool->rows.capacity = n_threads * ROWS_PER_THREAD;
    pool->rows.rows     = CS_NEW(cs_pool_row *, pool->rows.capacity);
    pool->threads       = CS_NEW(pool_thread, n_threads);
    pthread_mutex_init(&pool->items.lock, NULL);
    pthread_cond_init(&pool->items.has_item, NULL);
    init_row_queue(&pool->rows);
    if (pool->rows.rows == NULL || pool->threads == NULL) {
        release(pool);
        return CS_NO_MEMORY(err, "%zu threads", n_threads);
    }
    start_threads(pool, n_threads);
    if (pool->n_threads == 0) {
        release(pool);
        return CS_FAIL(err, CS_EIO, NULL, "cannot start a thread");
    }
    *pool_p = pool;
    return CS_OK;
}

cs_status cs_thread_pool_give(cs_thread_pool *pool, size_t first, size_t end, cs_error *err)
{
    work_queue *queue = &pool->items;

    if (first >= end) {
        return CS_OK;
    }
    pthread_mutex_lock(&queue->lock);
    bool is_given = has_room(queue);
    if (is_given) {
        queue->ranges[queue->count++] = (range){first, end};
        pthread_cond_broadcast(&queue->has_item);
    }
    pthread_mutex_unlock(&queue->lock);
    return is_given ? CS_OK : CS_NO_MEMORY(err, "the queue of work");
}

void cs_thread_pool_close(cs_thread_pool *pool)
{
    set_flag(&pool->items, &pool->items.closed);
}

void cs_thread_pool_halt(cs_thread_pool *pool)
{
    set_flag(&pool->items, &pool->items.halted);
}

size_t cs_thread_pool_take(cs_thread_pool *pool, cs_pool_row **rows, size_t max, double wait_s)
{
    return take_rows(&pool->rows, rows, max, wait_s);
}

bool cs_thread_pool_is_over(cs_thread_pool *pool)
{
    row_queue *queue = &pool->rows;

    pthread_mutex_lock(&queue->lock);
    bool is_over = queue->count == 0 && queue->n_producers == 0;
    pthread_mutex_unlock(&queue->lock);
    return is_over;
}

cs_status cs_thread_pool_end(cs_thread_pool *pool, size_t *index_p, cs_error *err)
{
    const pool_thread *worst  = NULL;
    cs_status          status = CS_OK;

    close_row_queue(&pool->rows);
    for (size_t i = 0; i < pool->n_threads; i++) {
        const pool_thread *t = &pool->threads[i];
        pthread_join(t->thread, NULL);
        if (t->status != CS_OK && (worst == NULL || t->index < worst->index)) {
            worst = t;
        }
    }
    if (worst != NULL) {
        status   = worst->status;
        *index_p = worst->index;
        if (err != NULL) {
            *err = worst->err;
        }
    }
    release(pool);
    return status;
}

unsigned cs_processors(void)
{
    cpu_set_t set;
    long      n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                              : sysconf(_SC_NPROCESSORS_ONLN);

    return n > CS_MAX_JOBS ? CS_MAX_JOBS : n > 0 ? (unsigned)n : 1;
}
