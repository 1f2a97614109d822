/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/thread_pool.h -- the threads of one process that work on numbered items.
 *
 * One thread gives ranges of numbers and takes rows; the threads of the pool take one number at a
 * time, in the order in which they were given, and put the row of each into a bounded queue: nobody
 * is far ahead of whoever takes them.
 */
#ifndef CS_CAMPAIGN_THREAD_POOL_H
#define CS_CAMPAIGN_THREAD_POOL_H

#include "base/text.h"

#include <signal.h>

/* What the threads do; borrowed until the pool has ended. */
typedef struct cs_pool_work {
    void *user;

    /* Add the row of one item to the empty `*row`; several threads call it at once. Where the
     * machine or the program fails (cs_status_is_failure) the item is skipped, and the thread goes
     * on; any other error ends it, and with it the pool. */
    cs_status (*work)(void *user, size_t index, cs_text *row, cs_error *err);

    /* When it becomes true, no item is begun any more. NULL: never. */
    const volatile sig_atomic_t *stop;
} cs_pool_work;

/* What became of one item: a row; or none, and why. */
typedef struct cs_pool_row {
    size_t   index;
    cs_text  text;
    cs_error skip_reason; /* status CS_OK: there is a row */
} cs_pool_row;

typedef struct cs_thread_pool cs_thread_pool;

/* Start `n_threads` >= 1; fewer when the machine has no more. CS_EIO: not a single one. The caller
 * ends the pool (cs_thread_pool_end). */
CS_MUST_CHECK cs_status cs_thread_pool_start(const cs_pool_work *work, size_t n_threads,
                                             cs_thread_pool **pool_p, cs_error *err);

/* Items first, first + 1, .. end - 1 are to be done. */
CS_MUST_CHECK cs_status cs_thread_pool_give(cs_thread_pool *pool, size_t first, size_t end,
                                            cs_error *err);

/* Nothing more is given: threads that find nothing end. */
void cs_thread_pool_close(cs_thread_pool *pool);

/* Nothing more is begun, whatever was given. */
void cs_thread_pool_halt(cs_thread_pool *pool);

/* Take what has been done, at most `max` rows, waiting `wait_s` for the first (INFINITY: as long as
 * it takes): 0 where nothing came, or the pool is over. The caller owns them (cs_pool_row_free). */
size_t cs_thread_pool_take(cs_thread_pool *pool, cs_pool_row **rows, size_t max, double wait_s);

/* Have all threads ended, and all rows been taken? */
bool cs_thread_pool_is_over(cs_thread_pool *pool);

/* Wait for the threads, which are turned away with what they still have, and free everything. Close
 * or halt the pool before. Of several errors that ended a thread, that of the first item is
 * returned, with its number. */
CS_MUST_CHECK cs_status cs_thread_pool_end(cs_thread_pool *pool, size_t *index_p, cs_error *err);

/* NULL is allowed. */
void cs_pool_row_free(cs_pool_row *row);

/* Processors that this process may use: at least 1. */
unsigned cs_processors(void);

enum { CS_MAX_JOBS = 1024 };

#endif
