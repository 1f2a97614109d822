/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workers: every item becomes one row, whoever works; of several errors the first item's is
 * reported; nobody is left waiting. The ranks here are threads with letter boxes instead of MPI. */
#include "campaign/workers.h"

#include "base/alloc.h"
#include "campaign/wire.h"
#include "support/post.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = CT_MOST_POST_RANKS, MOST_ITEMS = 5000 };

/* What a test does to the work, and what came of it. */
typedef struct field {
    size_t                n_items, fail_from, fail_every;
    size_t                miss_every; /* every so many items are skipped .. */
    unsigned              miss_ranks; /* .. by these ranks (bits), in words of their own or not */
    cs_status             miss_status;
    bool                  own_words;
    size_t                miss_rank_all;    /* this rank skips all; 0: none does */
    size_t                collect_fails_at; /* rows */
    bool                  hear_fails;
    unsigned              jobs;
    int                   stop_rank; /* stops when it has collected or done `stop_at` items */
    size_t                stop_at;
    long                  lead_passes, worker_passes; /* allocations of the main threads; -1: all */
    volatile sig_atomic_t stop[MOST_RANKS];
    atomic_uchar          n_done[MOST_ITEMS];
    unsigned char         n_rows[MOST_ITEMS];
    size_t                n_collected;
    atomic_size_t         n_worked[MOST_RANKS];
    cs_skipped_items      skipped;
    cs_status             status;
    cs_error              err;
} field;

typedef struct hand {
    field *f;
    int    rank;
    int    size;
    bool   has_heard;
} hand;

static const char words[] = "seven times six";

static cs_status hear(void *user, const char *data, size_t bytes, cs_error *err)
{
    hand *h = user;

    if (h->f->hear_fails) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "cannot hear");
    }
    h->has_heard = bytes == sizeof words && strcmp(data, words) == 0;
    return CS_OK;
}

static cs_status work(void *user, size_t index, cs_text *row, cs_error *err)
{
    hand  *h = user;
    field *f = h->f;

    if (h->rank != 0 && !h->has_heard) {
        return CS_FAIL(err, CS_EINTERNAL, NULL, "has not heard");
    }
    atomic_fetch_add(&f->n_done[index], 1);
    size_t n = atomic_fetch_add(&f->n_worked[h->rank], 1) + 1;
    bool   skipped =
        f->miss_every > 0 && index % f->miss_every == 0 && (f->miss_ranks >> h->rank & 1u) != 0;
    if (skipped || (f->miss_rank_all > 0 && (int)f->miss_rank_all == h->rank)) {
        return f->own_words ? CS_FAIL(err, f->miss_status, "here", "rank %d lacks it", h->rank)
                            : CS_FAIL(err, f->miss_status, "here", "it is missing");
    }
    if (f->fail_every > 0 && index >= f->fail_from && (index - f->fail_from) % f->fail_every == 0) {
        return CS_FAIL(err, CS_EINVAL, "here", "item %zu is wrong", index);
    }
    if (h->rank != 0 && h->rank == f->stop_rank && n == f->stop_at) {
        f->stop[h->rank] = 1;
    }
    cs_wire_put_u64(row, index);
    cs_wire_put_f64(row, sqrt((double)index));
    return CS_OK;
}

static cs_status collect(void *user, const cs_work_item *rows, size_t n, cs_error *err)
{
    field *f = ((hand *)user)->f;

    for (size_t i = 0; i < n; i++) {
        cs_wire from  = cs_wire_over(rows[i].data, rows[i].bytes);
        size_t  index = (size_t)cs_wire_u64(&from);
        double  root  = cs_wire_f64(&from);
        if (cs_wire_end(&from, "a row", err) != CS_OK || index >= f->n_items ||
            root != sqrt((double)index)) {
            return CS_FAIL(err, CS_EINTERNAL, NULL, "a row is damaged");
        }
        f->n_rows[index]++;
        f->n_collected++;
        if (f->collect_fails_at > 0 && f->n_collected >= f->collect_fails_at) {
            return CS_FAIL(err, CS_EIO, NULL, "the disk is full");
        }
    }
    if (f->stop_rank == 0 && f->stop_at > 0 && f->n_collected >= f->stop_at) {
        f->stop[0] = 1;
    }
    return CS_OK;
}

static ct_post net;

/* One rank from beginning to end. */
static void *run_rank(void *user)
{
    hand            *h         = user;
    field           *f         = h->f;
    cs_transport     transport = ct_post_transport(&net, h->rank);
    cs_ranks        *ranks     = h->size > 1 ? cs_ranks_over(&transport) : NULL;
    cs_error         err       = {0};
    cs_skipped_items skipped   = {0};
    cs_workers       workers   = {.n_items         = f->n_items,
                                  .user            = h,
                                  .work            = work,
                                  .collect         = collect,
                                  .broadcast       = words,
                                  .broadcast_bytes = sizeof words,
                                  .on_broadcast    = hear,
                                  .jobs            = f->jobs,
                                  .ranks           = ranks,
                                  .stop            = &f->stop[h->rank]};

    cs_status status = cs_ranks_agree(ranks, CS_OK, 7, &err);
    if (status == CS_OK) {
        cs_alloc_fail_after(h->rank == 0 ? f->lead_passes : f->worker_passes);
        status = cs_workers_run(&workers, &skipped, &err);
        cs_alloc_fail_after(-1);
    }
    if (h->rank == 0) {
        f->status  = status;
        f->skipped = skipped;
        f->err     = err;
    }
    cs_ranks_leave(ranks, 3);
    return NULL;
}

static void run_field(field *f, int size)
{
    static hand hands[MOST_RANKS];
    pthread_t   threads[MOST_RANKS];

    ct_post_open(&net, size);
    for (int i = 0; i < size; i++) {
        hands[i] = (hand){.f = f, .rank = i, .size = size};
        cr_assert_eq(pthread_create(&threads[i], NULL, run_rank, &hands[i]), 0);
    }
    for (int i = 0; i < size; i++) {
        pthread_join(threads[i], NULL);
    }
    ct_post_close(&net);
}

static field *new_field(size_t n_items, unsigned jobs)
{
    field *f = calloc(1, sizeof *f);

    f->n_items       = n_items;
    f->jobs          = jobs;
    f->lead_passes   = -1;
    f->worker_passes = -1;
    f->stop_rank     = -1;
    f->miss_status   = CS_EMISSING;
    return f;
}

/* No item was done by two, or collected twice, and what was collected was done. */
static void expect_sound(const field *f)
{
    bool may_retry = f->miss_every > 0 || f->miss_rank_all > 0;

    for (size_t i = 0; i < f->n_items; i++) {
        cr_expect(may_retry || f->n_done[i] <= 1);
        cr_expect_leq(f->n_rows[i], f->n_done[i]);
    }
}

Test(workers, every_item_becomes_one_row_whoever_works, .timeout = 120)
{
    static const struct {
        size_t   n_items;
        unsigned jobs;
        int      size;
    } cases[] = {{0, 1, 1},    {1, 4, 1},    {3000, 1, 1}, {3000, 3, 1}, {0, 1, 3},
                 {1, 1, 4},    {3, 1, 8},    {5, 2, 4},    {100, 1, 2},  {3000, 1, 4},
                 {3000, 3, 3}, {5000, 2, 8}, {5000, 0, 2}};

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        field *f = new_field(cases[c].n_items, cases[c].jobs);
        run_field(f, cases[c].size);
        cr_expect_eq(f->status, CS_OK, "case %zu: %s", c, f->err.message);
        cr_expect_eq(f->n_collected, f->n_items, "case %zu", c);
        expect_sound(f);
        if (cases[c].size > 1) {
            cr_expect_eq(f->n_worked[0], 0);
            cr_expect_eq(net.n_left, cases[c].size);
            cr_expect_eq(net.n_aborted, 0);
            size_t jobs = cases[c].jobs > 1 ? cases[c].jobs : 1;
            cr_expect_leq(net.most_waiting_rows,
                          (size_t)(cases[c].size - 1) * jobs * CS_WORKERS_AHEAD);
        }
        free(f);
    }
}

Test(workers, the_error_is_that_of_the_first_item, .timeout = 120)
{
    static const struct {
        unsigned jobs;
        int      size;
    } cases[] = {{1, 1}, {4, 1}, {1, 2}, {1, 4}, {3, 3}, {2, 8}};

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (size_t at = 0; at < 400; at += 133) {
            field *f      = new_field(500, cases[c].jobs);
            f->fail_from  = at;
            f->fail_every = 7;
            run_field(f, cases[c].size);
            char want[40];
            snprintf(want, sizeof want, "item %zu is wrong", at);
            cr_expect_eq(f->status, CS_EINVAL);
            cr_expect_str_eq(f->err.message, want, "case %zu", c);
            cr_expect_str_eq(f->err.where, "here");
            expect_sound(f);
            for (size_t i = 0; i < at; i++) {
                cr_expect_eq(f->n_done[i], 1);
                cr_expect(cases[c].size == 1 || f->n_rows[i] == 1, "case %zu, item %zu", c, i);
            }
            cr_expect_eq(net.n_aborted, 0);
            free(f);
        }
    }
}

/* A failure of the machine leaves an item out; the others are done. */
Test(workers, what_nobody_can_do_is_left_out, .timeout = 120)
{
    static const struct {
        unsigned jobs;
        int      size;
    } cases[] = {{1, 1}, {4, 1}, {1, 2}, {1, 4}, {3, 3}, {2, 8}};

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int own = 0; own < 2; own++) {
            /* Once, and again by each worker that has not skipped in the words of another one: they
             * are the same for all, or each has its own. */
            int    workers = cases[c].size - 1;
            int    most    = own == 1 ? 1 + workers * workers : workers > 1 ? workers : 1;
            field *f       = new_field(1000, cases[c].jobs);
            f->miss_every  = 10;
            f->miss_ranks  = 0xffu;
            f->own_words   = own == 1;
            run_field(f, cases[c].size);
            cr_expect_eq(f->status, CS_OK, "%s", f->err.message);
            cr_expect_eq(f->skipped.n, 100, "case %zu: %zu", c, f->skipped.n);
            cr_expect_eq(f->skipped.first, 0);
            cr_expect_eq(f->skipped.reason.status, CS_EMISSING);
            cr_expect_eq(f->n_collected, 900);
            expect_sound(f);
            for (size_t i = 0; i < f->n_items; i++) {
                cr_expect_eq(f->n_rows[i], i % 10 != 0);
                cr_expect_leq(f->n_done[i], most, "item %zu was tried %d times", i, f->n_done[i]);
            }
            cr_expect_eq(net.n_aborted, 0);
            free(f);
        }
    }
}

/* Our own mistakes are the same everywhere. */
Test(workers, what_is_a_bug_is_not_tried_elsewhere, .timeout = 120)
{
    field *f       = new_field(600, 1);
    f->miss_every  = 3;
    f->miss_ranks  = 1u << 2;
    f->miss_status = CS_EINTERNAL;
    run_field(f, 4);
    cr_expect_eq(f->status, CS_OK, "%s", f->err.message);
    cr_expect_gt(f->skipped.n, 0);
    cr_expect_eq(f->skipped.reason.status, CS_EINTERNAL);
    cr_expect_not_null(strstr(f->skipped.reason.message, "(rank 2)"));
    cr_expect_eq(f->n_collected + f->skipped.n, 600);
    for (size_t i = 0; i < f->n_items; i++) {
        cr_expect_eq(f->n_done[i], 1);
    }
    free(f);
}

Test(workers, what_one_rank_cannot_do_another_does, .timeout = 120)
{
    static const struct {
        unsigned jobs, miss_ranks;
        size_t   all;
        int      size;
    } cases[] = {
        {1, 1u << 1, 0, 3}, {1, 1u << 2, 0, 3}, {3, 6u, 0, 4},      {2, 0x7eu, 0, 8},
        {1, 0, 1, 3},       {1, 0, 2, 3},       {2, 1u << 1, 2, 8}, {1, 1u << 1 | 1u << 2, 4, 8}};

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int own = 0; own < 2; own++) {
            field *f         = new_field(3000, cases[c].jobs);
            f->miss_every    = 3;
            f->miss_ranks    = cases[c].miss_ranks;
            f->miss_rank_all = cases[c].all;
            f->own_words     = own == 1;
            run_field(f, cases[c].size);
            cr_expect_eq(f->status, CS_OK, "%s", f->err.message);
            cr_expect_eq(f->skipped.n, 0, "case %zu: %zu are missing", c, f->skipped.n);
            cr_expect_eq(f->n_collected, 3000);
            expect_sound(f);
            free(f);
        }
    }
}

Test(workers, stops_and_keeps_what_is_done, .timeout = 120)
{
    for (int rank = 0; rank < 3; rank++) {
        for (int size = rank == 0 ? 1 : 3; size < 5; size += 2) {
            field *f     = new_field(MOST_ITEMS, 1);
            f->stop_rank = rank;
            f->stop_at   = 300;
            run_field(f, size);
            cr_expect_eq(f->status, CS_OK, "%s", f->err.message);
            cr_expect(f->n_collected >= 300 && f->n_collected < MOST_ITEMS, "%zu", f->n_collected);
            expect_sound(f);
            for (size_t i = 0; i < f->n_items; i++) {
                cr_expect_eq(f->n_rows[i], f->n_done[i], "what was done is kept");
            }
            cr_expect_eq(net.n_aborted, 0);
            free(f);
        }
    }
}

Test(workers, ends_when_rows_cannot_be_collected, .timeout = 120)
{
    for (int size = 1; size < 5; size++) {
        field *f            = new_field(MOST_ITEMS, 2);
        f->collect_fails_at = 200;
        run_field(f, size);
        cr_expect_eq(f->status, CS_EIO);
        cr_expect_str_eq(f->err.message, "the disk is full");
        cr_expect_eq(f->n_collected, 200);
        cr_expect_eq(net.n_aborted, 0);
        free(f);
    }
}

Test(workers, ends_when_a_rank_cannot_hear, .timeout = 120)
{
    field *f      = new_field(100, 1);
    f->hear_fails = true;
    run_field(f, 3);
    cr_expect_eq(f->status, CS_ENOMEM);
    cr_expect(strncmp(f->err.message, "cannot hear (rank ", 18) == 0, "%s", f->err.message);
    cr_expect_eq(f->n_collected, 0);
    free(f);
}

/* On rank 0, or in the threads of the others that talk to it. */
Test(workers, every_failed_allocation_ends_it_and_nobody_waits, .timeout = 280)
{
    for (int who = 0; who < 2; who++) {
        cs_status status = CS_ENOMEM;
        long      passes = 0;
        for (; status != CS_OK && passes < 400; passes += passes < 20 ? 1 : 9) {
            field *f                                          = new_field(40, 1);
            *(who == 0 ? &f->lead_passes : &f->worker_passes) = passes;
            run_field(f, 3);
            status = f->status;
            cr_assert(status == CS_OK || status == CS_ENOMEM || net.n_aborted > 0, "%s",
                      f->err.message);
            cr_expect(status != CS_OK || f->n_collected == 40);
            expect_sound(f);
            free(f);
        }
        cr_expect_eq(status, CS_OK);
        cr_expect_gt(passes, 5);
    }
}

static void agree_with(uint64_t fingerprint, cs_status status, cs_error *err_p)
{
    ct_post   box;
    cs_error  theirs = {0};
    cs_ranks *ranks[2];

    ct_post_open(&box, 2);
    for (int i = 0; i < 2; i++) {
        cs_transport transport = ct_post_transport(&box, i);
        ranks[i]               = cs_ranks_over(&transport);
    }
    if (status != CS_OK) {
        (void)CS_FAIL(&theirs, status, "bytes", "is wrong");
        cs_error_locate(&theirs, "c.json", 3, 4);
    }
    cr_expect_eq(cs_ranks_agree(ranks[1], status, fingerprint, &theirs), status);
    cs_status got = cs_ranks_agree(ranks[0], CS_OK, 7, err_p);
    cr_expect_eq(got, err_p->status);
    for (int i = 0; i < 2; i++) {
        cs_free(ranks[i]);
    }
    ct_post_close(&box);
}

Test(ranks, agree_or_say_who_does_not)
{
    cs_error err = {0};
    char     text[400];

    agree_with(7, CS_OK, &err);
    cr_expect_eq(err.status, CS_OK);
    agree_with(8, CS_OK, &err);
    cr_expect_eq(err.status, CS_EINVAL);
    cr_expect(strncmp(err.message, "rank 1 has another configuration", 32) == 0);
    err = (cs_error){0};
    agree_with(7, CS_EPARSE, &err);
    cr_expect_eq(err.status, CS_EPARSE);
    cs_error_text(&err, text, sizeof text);
    cr_expect_str_eq(text, "c.json:3:4: bytes: is wrong (rank 1)");
    cr_expect_eq(cs_ranks_agree(NULL, CS_EIO, 7, &err), CS_EIO);
}
