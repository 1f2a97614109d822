/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue between workers and the writer: nothing is lost, and closing it turns producers away.
 */
#include "sweep/queue.h"

#include <criterion/criterion.h>
#include <pthread.h>

enum { N_ITEMS = 20000 };

static void *put_all(void *user)
{
    static char items[N_ITEMS];
    cs_queue   *queue = user;

    for (int i = 0; i < N_ITEMS && cs_queue_put(queue, &items[i]); i++) {
    }
    cs_queue_leave(queue);
    return NULL;
}

Test(queue, takes_everything_that_was_put_and_then_ends)
{
    cs_queue  queue;
    pthread_t threads[3];
    void     *items[7];
    size_t    n, n_taken = 0;

    cr_assert_eq(cs_queue_init(&queue, 5, NULL), CS_OK);
    for (int i = 0; i < 3; i++) {
        cs_queue_join(&queue);
        cr_assert_eq(pthread_create(&threads[i], NULL, put_all, &queue), 0);
    }
    while ((n = cs_queue_take(&queue, items, 7)) > 0) {
        cr_assert_leq(n, 5);
        n_taken += n;
    }
    cr_expect_eq(n_taken, 3 * N_ITEMS);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    cs_queue_free(&queue);
}

Test(queue, turns_producers_away_when_closed)
{
    cs_queue  queue;
    pthread_t thread;
    void     *items[5];
    size_t    n, n_taken = 0;

    cr_assert_eq(cs_queue_init(&queue, 5, NULL), CS_OK);
    cs_queue_join(&queue);
    cr_assert_eq(pthread_create(&thread, NULL, put_all, &queue), 0);
    cr_assert_gt(cs_queue_take(&queue, items, 1), 0);
    cs_queue_close(&queue);
    pthread_join(thread, NULL);
    while ((n = cs_queue_take(&queue, items, 5)) > 0) {
        n_taken += n;
    }
    cr_expect_leq(n_taken, 5);
    cs_queue_free(&queue);
}
