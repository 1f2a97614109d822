/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The event queue against a list that is searched: the same events in the same order, with ties,
 * with times that grow slowly, fast or not at all. */
#include "base/event_queue.h"

#include "base/alloc.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>

enum { MOST = 3000 };

typedef struct list {
    cs_event events[MOST];
    size_t   n;
} list;

/* Take the first event in the order (time, key). */
static cs_event take_first(list *l)
{
    size_t first = 0;

    for (size_t i = 1; i < l->n; i++) {
        const cs_event *a = &l->events[i], *b = &l->events[first];
        first = a->time_s < b->time_s || (a->time_s <= b->time_s && a->key < b->key) ? i : first;
    }
    cs_event event   = l->events[first];
    l->events[first] = l->events[--l->n];
    return event;
}

/* How much later the next event is: nothing, little or much. */
static double gap(ct_rng *rng)
{
    static const double scales[] = {0, 1e-12, 1e-6, 1, 1e9};
    return scales[ct_below(rng, 5)] * (double)ct_below(rng, 4);
}

static void check_take(cs_event_queue *queue, list *expected, double *now_p)
{
    double next_s = cs_events_next_s(queue);
    size_t n      = cs_events_take(queue);

    cr_assert_gt(n, 0);
    cr_assert_geq(next_s, *now_p);
    for (size_t i = 0; i < n; i++) {
        cs_event want = take_first(expected);
        cr_assert_eq(queue->batch[i].time_s, next_s);
        cr_assert(queue->batch[i].time_s == want.time_s && queue->batch[i].key == want.key,
                  "seed %llu: (%.17g, %llu), not (%.17g, %llu)", (unsigned long long)ct_seed(),
                  queue->batch[i].time_s, (unsigned long long)queue->batch[i].key, want.time_s,
                  (unsigned long long)want.key);
    }
    *now_p = next_s;
}

Test(event_queue, gives_events_in_the_order_of_time_and_key)
{
    static list expected;
    ct_rng      rng = ct_rng_for(31);

    for (int round = 0; round < 300; round++) {
        cs_event_queue queue = {0};
        double         now_s = 0;
        expected.n           = 0;
        for (uint64_t step = 0; step < 400; step++) {
            if (ct_below(&rng, 3) > 0) {
                cs_event e = {now_s + gap(&rng), ct_below(&rng, 1000) * 1000 + step};
                cr_assert_eq(cs_events_put(&queue, e.time_s, e.key), CS_OK);
                expected.events[expected.n++] = e;
            } else if (expected.n > 0) {
                check_take(&queue, &expected, &now_s);
            }
            cr_assert_eq(queue.count, expected.n);
        }
        while (expected.n > 0) {
            check_take(&queue, &expected, &now_s);
        }
        cr_assert_eq(cs_events_take(&queue), 0);
        cr_assert(isinf(cs_events_next_s(&queue)));
        cs_events_free(&queue);
    }
}

Test(event_queue, keeps_what_it_has_when_memory_runs_out)
{
    cs_event_queue queue = {0};
    size_t         n     = 0;

    cs_alloc_fail_after(4);
    while (cs_events_put(&queue, (double)(n % 7), n) == CS_OK) {
        n++;
    }
    cs_alloc_fail_after(-1);
    cr_assert_gt(n, 64);
    cr_assert_eq(queue.count, n);
    for (double time_s = 0; time_s < 7; time_s++) {
        cr_assert_eq(cs_events_next_s(&queue), time_s);
        n -= cs_events_take(&queue);
    }
    cr_assert_eq(n, 0);
    cs_events_free(&queue);
    cs_events_free(&queue);
}

Test(event_queue, takes_a_negative_zero_for_zero)
{
    cs_event_queue queue = {0};

    cr_assert_eq(cs_events_put(&queue, -0.0, 2), CS_OK);
    cr_assert_eq(cs_events_put(&queue, 0.0, 1), CS_OK);
    cr_assert_eq(cs_events_take(&queue), 2);
    cr_assert_eq(queue.batch[0].key, 1);
    cs_events_free(&queue);
}
