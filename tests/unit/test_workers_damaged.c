/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workers on ranks that send what they should not: rank 0 ends with one line instead of counting
 * a row twice or waiting for ever, and another rank tells rank 0. Greetings, too. */
#include "base/alloc.h"
#include "campaign/wire.h"
#include "campaign/workers.h"
#include "cs/build.h"
#include "support/post.h"

#include <criterion/criterion.h>
#include <string.h>

enum { N_ITEMS = 4 };

static ct_post net;

static cs_status work(void *user, size_t index, cs_text *row, cs_error *err)
{
    (void)user;
    (void)err;
    cs_wire_put_u64(row, index);
    return CS_OK;
}

static cs_status hear(void *user, const char *data, size_t bytes, cs_error *err)
{
    (void)data;
    (void)bytes;
    (void)err;
    ++*(int *)user;
    return CS_OK;
}

static cs_status collect(void *user, const cs_work_item *rows, size_t n, cs_error *err)
{
    (void)rows;
    (void)err;
    *(int *)user += (int)n;
    return CS_OK;
}

/* One letter from a rank to the other. */
static void post(int from, int kind, const cs_text *letter)
{
    cs_transport t = ct_post_transport(&net, from);

    cr_assert_eq(
        t.send(t.self, 1 - from, kind, letter->data != NULL ? letter->data : "", letter->length),
        0);
}

static void post_empty(int from, int kind)
{
    const cs_text nothing = {0};

    post(from, kind, &nothing);
}

static void post_rows(size_t first, size_t second)
{
    cs_text rows = {0};

    cs_wire_put_u32(&rows, 2);
    cs_wire_put_u64(&rows, first);
    cs_wire_put_bytes(&rows, "", 0);
    cs_wire_put_u64(&rows, second);
    cs_wire_put_bytes(&rows, "", 0);
    post(1, CS_MESSAGE_ROWS, &rows);
    cs_text_free(&rows);
}

static void post_error(int kind, cs_status status)
{
    cs_text  text  = {0};
    cs_error wrong = {0};

    if (status != CS_OK) {
        (void)CS_FAIL(&wrong, status, "here", "it is wrong");
    }
    cs_wire_put_u64(&text, 0);
    cs_wire_put_error(&text, &wrong);
    post(1, kind, &text);
    cs_text_free(&text);
}

static void post_items(size_t first, size_t end)
{
    cs_text items = {0};

    cs_wire_put_u64(&items, first);
    cs_wire_put_u64(&items, end);
    post(0, CS_MESSAGE_ITEMS, &items);
    cs_text_free(&items);
}

/* One rank's part, with the letters that wait for it. */
static cs_status run_rank(int rank, int *n, cs_error *err)
{
    cs_transport     transport = ct_post_transport(&net, rank);
    cs_ranks        *ranks     = cs_ranks_over(&transport);
    cs_skipped_items skipped   = {0};
    const cs_workers workers   = {.n_items      = N_ITEMS,
                                  .user         = n,
                                  .work         = work,
                                  .collect      = collect,
                                  .on_broadcast = hear,
                                  .ranks        = ranks};
    cs_status        status    = cs_workers_run(&workers, &skipped, err);

    cr_expect_eq(skipped.n, 0);
    cs_free(ranks); /* nobody is there to part from */
    return status;
}

static void set_up(void)
{
    ct_post_open(&net, 2);
}

static void tear_down(void)
{
    ct_post_close(&net);
}

TestSuite(workers_damaged, .init = set_up, .fini = tear_down, .timeout = 60);

static void expect_refusal(const char *want)
{
    cs_error err = {0};
    int      n   = 0;

    cr_expect_eq(run_rank(0, &n, &err), CS_EIO);
    cr_expect_not_null(strstr(err.message, want), "'%s' instead of '%s'", err.message, want);
    cr_expect_eq(n, 0);
}

Test(workers_damaged, an_item_comes_back_once)
{
    post_rows(0, 0);
    expect_refusal("a row arrived damaged");
}

Test(workers_damaged, an_item_comes_back_from_whom_it_was_given_to)
{
    post_rows(0, N_ITEMS);
    expect_refusal("a row arrived damaged");
}

Test(workers_damaged, an_error_says_what_is_wrong)
{
    post_error(CS_MESSAGE_FAILED, CS_OK);
    expect_refusal("an error arrived damaged");
}

Test(workers_damaged, only_failures_of_the_machine_are_tried_elsewhere)
{
    post_error(CS_MESSAGE_SKIPPED, CS_EINVAL);
    expect_refusal("an error arrived damaged");
}

Test(workers_damaged, kinds_of_messages_are_known)
{
    post_empty(1, 200);
    expect_refusal("rank 1 sent a message of no kind that there is");
}

Test(workers_damaged, a_message_of_no_kind_is_not_kept)
{
    post_empty(1, CS_MESSAGE_NONE);
    expect_refusal("rank 1 sent a message of no kind that there is");
}

Test(workers_damaged, rank_0_takes_no_orders)
{
    post_empty(1, CS_MESSAGE_END);
    expect_refusal("rank 1 sent a message that is not for rank 0");
}

Test(workers_damaged, nobody_leaves_before_it_is_over)
{
    post_empty(1, CS_MESSAGE_BYE);
    expect_refusal("rank 1 left before it was over");
}

/* ---- another rank: it tells rank 0, and ends when that says so ---- */

static void expect_told(const char *want)
{
    cs_transport rank_0 = ct_post_transport(&net, 0);
    cs_error     err = {0}, told = {0};
    char         data[2000];
    size_t       bytes = 0;
    int          n = 0, from = 0, kind = 0;

    post_empty(0, CS_MESSAGE_END);
    cr_expect_eq(run_rank(1, &n, &err), CS_OK, "%s", err.message);
    cr_expect_leq(n, 1, "%d broadcasts", n);
    while (kind != CS_MESSAGE_FAILED && rank_0.probe(rank_0.self, &from, &kind, &bytes) > 0) {
        cr_assert_leq(bytes, sizeof data);
        cr_assert_eq(rank_0.receive(rank_0.self, from, kind, data, bytes), 0);
    }
    cr_assert_eq(kind, CS_MESSAGE_FAILED, "rank 0 was not told");
    cs_wire wire = cs_wire_over(data, bytes);
    (void)cs_wire_u64(&wire);
    cs_wire_error(&wire, &told);
    cr_expect_eq(cs_wire_end(&wire, "it", NULL), CS_OK);
    cr_expect_str_eq(told.message, want);
}

Test(workers_damaged, there_is_one_broadcast)
{
    post_empty(0, CS_MESSAGE_BROADCAST);
    post_empty(0, CS_MESSAGE_BROADCAST);
    expect_told("a broadcast arrived after the last piece of it");
}

Test(workers_damaged, items_come_after_the_broadcast)
{
    post_items(0, 1);
    expect_told("items arrived before the broadcast");
}

Test(workers_damaged, no_range_of_items_is_empty)
{
    post_empty(0, CS_MESSAGE_BROADCAST);
    post_items(3, 3);
    expect_told("an item arrived that there is not");
}

/* ---- greetings ---- */

static cs_status greet(const cs_error *wrong, uint8_t status, cs_error *err)
{
    cs_transport transport = ct_post_transport(&net, 0);
    cs_ranks    *ranks     = cs_ranks_over(&transport);
    cs_text      hello     = {0};

    cs_wire_put_text(&hello, cs_build());
    cs_wire_put_u64(&hello, 7);
    size_t at = hello.length;
    cs_wire_put_error(&hello, wrong);
    hello.data[at] = (char)status;
    post(1, CS_MESSAGE_HELLO, &hello);
    cs_status agreed = cs_ranks_agree(ranks, CS_OK, 7, err);
    cs_text_free(&hello);
    cs_free(ranks);
    return agreed;
}

Test(workers_damaged, a_greeting_has_a_status_that_there_is)
{
    cs_error wrong = {0}, err = {0};

    cr_expect_eq(greet(&wrong, 200, &err), CS_EIO);
    cr_expect_str_eq(err.message, "the greeting of a rank arrived damaged");
}

Test(workers_damaged, what_a_rank_says_is_one_line)
{
    cs_error wrong = {.message = "two\nlines", .where = "\x1b[31m", .input = "a\rb"}, err = {0};

    cr_expect_eq(greet(&wrong, CS_EINVAL, &err), CS_EINVAL);
    cr_expect_str_eq(err.message, "two?lines (rank 1)");
    cr_expect_str_eq(err.where, "?[31m");
    cr_expect_str_eq(err.input, "a?b");
}

Test(workers_damaged, places_beyond_an_int_are_refused)
{
    cs_error wrong = {.message = "it is wrong", .input = "f", .input_line = -1}, err = {0};

    cr_expect_eq(greet(&wrong, CS_EINVAL, &err), CS_EIO);
    cr_expect_str_eq(err.message, "the greeting of a rank arrived damaged");
}
