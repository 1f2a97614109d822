/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The threads of a process: nothing is lost between them and whoever takes the rows, nobody runs
 * far ahead, and whoever has work left when the pool ends is turned away. */
#include "campaign/thread_pool.h"

#include "base/alloc.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { N_ITEMS = 60000, THREADS = 3, MOST_WAITING = 8 * THREADS };

typedef struct count {
    atomic_uchar  n_done[N_ITEMS];
    atomic_size_t n_all;
    size_t        fails_at, misses_at; /* items */
} count;

static cs_status work(void *user, size_t index, cs_text *row, cs_error *err)
{
    count *c = user;

    atomic_fetch_add(&c->n_done[index], 1);
    atomic_fetch_add(&c->n_all, 1);
    if (index == c->fails_at) {
        return CS_FAIL(err, CS_EINVAL, "here", "item %zu is wrong", index);
    }
    if (index == c->misses_at) {
        return CS_FAIL(err, CS_EMISSING, "here", "it is missing");
    }
    cs_text_add(row, "%zu", index);
    return CS_OK;
}

static count *new_count(void)
{
    count *c = calloc(1, sizeof *c);

    cr_assert_not_null(c);
    c->fails_at = c->misses_at = SIZE_MAX;
    return c;
}

static cs_thread_pool *start(count *c)
{
    const cs_pool_work w    = {.user = c, .work = work};
    cs_thread_pool    *pool = NULL;

    cr_assert_eq(cs_thread_pool_start(&w, THREADS, &pool, NULL), CS_OK);
    return pool;
}

static void give(cs_thread_pool *pool, size_t first, size_t end)
{
    cr_assert_eq(cs_thread_pool_give(pool, first, end, NULL), CS_OK);
}

Test(thread_pool, takes_everything_that_was_put_and_then_ends, .timeout = 60)
{
    count          *c    = new_count();
    cs_thread_pool *pool = start(c);
    cs_pool_row    *rows[7];
    size_t          n, n_taken = 0, index = 0;

    give(pool, 0, 10000);
    give(pool, 5, 5);
    give(pool, 10000, N_ITEMS);
    cs_thread_pool_close(pool);
    while ((n = cs_thread_pool_take(pool, rows, 7, (double)INFINITY)) > 0) {
        cr_assert_leq(n, 7);
        for (size_t i = 0; i < n; i++) {
            cr_assert_eq((size_t)strtoul(rows[i]->text.data, NULL, 10), rows[i]->index);
            cs_pool_row_free(rows[i]);
        }
        n_taken += n;
    }
    cr_expect_eq(n_taken, N_ITEMS);
    cr_expect(cs_thread_pool_is_over(pool));
    for (size_t i = 0; i < N_ITEMS; i++) {
        cr_assert_eq(c->n_done[i], 1);
    }
    cr_expect_eq(cs_thread_pool_end(pool, &index, NULL), CS_OK);
    free(c);
}

Test(thread_pool, nobody_runs_far_ahead_and_the_end_turns_all_away, .timeout = 60)
{
    count          *c     = new_count();
    cs_thread_pool *pool  = start(c);
    cs_pool_row    *row   = NULL;
    size_t          index = 0;

    give(pool, 0, N_ITEMS);
    cr_assert_eq(cs_thread_pool_take(pool, &row, 1, (double)INFINITY), 1);
    cs_pool_row_free(row);
    cr_expect_not(cs_thread_pool_is_over(pool));
    cs_thread_pool_halt(pool);
    cr_expect_eq(cs_thread_pool_end(pool, &index, NULL), CS_OK);
    cr_expect_leq(c->n_all, 1 + MOST_WAITING + THREADS, "%zu", (size_t)c->n_all);
    free(c);
}

Test(thread_pool, waits_no_longer_than_it_is_told, .timeout = 60)
{
    count          *c     = new_count();
    cs_thread_pool *pool  = start(c);
    cs_pool_row    *row   = NULL;
    size_t          index = 0;

    cr_expect_eq(cs_thread_pool_take(pool, &row, 1, 0), 0);
    cr_expect_eq(cs_thread_pool_take(pool, &row, 1, 0.01), 0);
    cr_expect_not(cs_thread_pool_is_over(pool), "its threads wait");
    cs_thread_pool_close(pool);
    cr_expect_eq(cs_thread_pool_take(pool, &row, 1, (double)INFINITY), 0);
    cr_expect(cs_thread_pool_is_over(pool));
    cr_expect_eq(cs_thread_pool_end(pool, &index, NULL), CS_OK);
    free(c);
}

/* What the machine lacks is skipped; what is wrong ends the pool. */
Test(thread_pool, an_error_ends_it_and_a_miss_does_not, .timeout = 60)
{
    count          *c     = new_count();
    cs_thread_pool *pool  = start(c);
    cs_pool_row    *row   = NULL;
    cs_error        err   = {0};
    size_t          index = 0, n_skipped = 0;

    c->misses_at = 10;
    c->fails_at  = 200;
    give(pool, 0, 1000);
    while (cs_thread_pool_take(pool, &row, 1, (double)INFINITY) > 0) {
        n_skipped += row->skip_reason.status != CS_OK;
        cr_expect(row->skip_reason.status == CS_OK || row->index == 10);
        cs_pool_row_free(row);
    }
    cr_expect_eq(n_skipped, 1);
    cr_expect_eq(cs_thread_pool_end(pool, &index, &err), CS_EINVAL);
    cr_expect_eq(index, 200);
    cr_expect_str_eq(err.message, "item 200 is wrong");
    cr_expect_lt(c->n_all, 1000);
    free(c);
}

Test(thread_pool, every_failed_allocation_is_reported, .timeout = 60)
{
    const cs_pool_work w = {.work = work};

    for (long passes = 0;; passes++) {
        cs_thread_pool *pool  = NULL;
        size_t          index = 0;
        count          *c     = new_count();
        cs_pool_work    of    = w;
        of.user               = c;
        cs_alloc_fail_after(passes);
        cs_status status = cs_thread_pool_start(&of, THREADS, &pool, NULL);
        if (status == CS_OK) {
            status = cs_thread_pool_give(pool, 0, 4, NULL);
        }
        cs_alloc_fail_after(-1);
        if (pool != NULL) {
            cs_thread_pool_close(pool);
            (void)!cs_thread_pool_end(pool, &index, NULL);
        }
        free(c);
        if (status == CS_OK) {
            cr_expect_gt(passes, 2);
            break;
        }
        cr_assert_eq(status, CS_ENOMEM);
    }
}
