/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/farm_lead.c -- rank 0: hands out items, collects rows.
 *
 * All rows that have arrived are collected in one go, which a sweep makes one transaction. When an
 * item fails nothing more is handed out, but what was is waited for: an item before it may fail,
 * too, and the error of the first one is the one to report, as in one process. After a stop
 * nobody is waited for longer than mpirun leaves us.
 */
#include "base/alloc.h"
#include "sweep/farm_ranks.h"
#include "sweep/wire.h"

#include <stdio.h>
#include <string.h>

#define MOST_MESSAGES 64u
#define LESSON_BYTES  ((size_t)16 << 20)
#define LOOK_S        0.05 /* how often to look whether it is to stop */
#define FINISH_S      30.0 /* to part: nobody has work any more */
#define STOP_S        0.3  /* to part after a stop: mpirun kills within a second */

typedef struct lead {
    const cs_farm *farm;
    cs_ranks      *ranks;
    int            size;
    size_t         next;      /* the first item that was not handed out */
    size_t        *held;      /* by rank: items handed out and not come back; owned */
    size_t         n_held;    /* sum of these */
    bool           no_more;   /* nothing is handed out any more */
    bool           stopped;   /* by another rank */
    cs_status      collected; /* the first error of collect() */
    cs_status      status;    /* of the failed item with the smallest number */
    size_t         failed_item;
    cs_error       failure;
} lead;

/* A number of messages, and the rows in them. */
typedef struct harvest {
    cs_message   messages[MOST_MESSAGES]; /* owned */
    size_t       n_messages;
    cs_farm_row *rows; /* into the messages; owned, room for all of them */
    size_t       n_rows;
} harvest;

/* How many items a rank should have in hand. */
static size_t wanted(const lead *l)
{
    size_t jobs    = l->farm->jobs > 1 ? l->farm->jobs : 1;
    size_t workers = (size_t)(l->size - 1) * jobs;
    size_t ahead   = (l->farm->n_items - l->next) / (2 * workers);

    ahead = ahead < 1 ? 1 : ahead > CS_FARM_MAX_AHEAD ? CS_FARM_MAX_AHEAD : ahead;
    return ahead * jobs;
}

/* Not until half of what it had is done: so what one rank gets are neighbours, which may have
 * something in common that it keeps. */
static cs_status hand_out(lead *l, int to, cs_error *err)
{
    size_t    want  = wanted(l);
    size_t    room  = l->held[to] <= want / 2 ? want - l->held[to] : 0;
    size_t    left  = l->farm->n_items - l->next;
    size_t    n     = l->no_more ? 0 : room < left ? room : left;
    cs_text   items = {0};
    cs_status status;

    if (n == 0) {
        return CS_OK;
    }
    cs_wire_put_u64(&items, l->next);
    cs_wire_put_u64(&items, l->next + n);
    status = cs_text_status(&items, err);
    if (status == CS_OK) {
        status = cs_ranks_send(l->ranks, to, CS_MESSAGE_ITEMS, items.data, items.length, err);
    }
    cs_text_free(&items);
    if (status == CS_OK) {
        l->next += n;
        l->held[to] += n;
        l->n_held += n;
    }
    return status;
}

/* The lesson to everybody, in pieces; the empty one is the last. */
static cs_status teach(lead *l, cs_error *err)
{
    const cs_farm_row *lesson = &l->farm->lesson;
    cs_status          status = CS_OK;

    for (int to = 1; to < l->size; to++) {
        for (size_t at = 0; at < lesson->bytes && status == CS_OK; at += LESSON_BYTES) {
            size_t n = lesson->bytes - at < LESSON_BYTES ? lesson->bytes - at : LESSON_BYTES;
            status   = cs_ranks_send(l->ranks, to, CS_MESSAGE_LESSON, lesson->data + at, n, err);
        }
        if (status == CS_OK) {
            status = cs_ranks_send(l->ranks, to, CS_MESSAGE_LESSON, "", 0, err);
        }
    }
    return status;
}

/* Memory and files are a machine's: say whose. What is wrong with an item is the same for all. */
static void name_rank(cs_error *failure, int rank)
{
    size_t length = strlen(failure->message);

    if (failure->status == CS_ENOMEM || failure->status == CS_EIO) {
        (void)snprintf(failure->message + length, sizeof failure->message - length, " (rank %d)",
                       rank);
    }
}

static cs_status take_failure(lead *l, const cs_message *message, cs_error *err)
{
    cs_wire   from = cs_wire_over(message->data, message->bytes);
    size_t    item = (size_t)cs_wire_u64(&from);
    cs_error  failure;
    cs_status status;

    cs_wire_error(&from, &failure);
    status = cs_wire_end(&from, "an error", err);
    if (status != CS_OK) {
        return status;
    }
    if (l->status == CS_OK || item < l->failed_item) {
        l->failed_item = item;
        l->failure     = failure;
        name_rank(&l->failure, message->from);
        l->status = failure.status != CS_OK ? failure.status : CS_EINTERNAL;
    }
    l->no_more = true;
    l->n_held -= l->held[message->from];
    l->held[message->from] = 0;
    return CS_OK;
}

/* Note the rows of a message in the harvest; they stay in it. */
static cs_status take_rows(lead *l, harvest *h, const cs_message *message, cs_error *err)
{
    cs_wire  from = cs_wire_over(message->data, message->bytes);
    uint32_t n    = cs_wire_u32(&from);

    if (n > CS_FARM_MAX_ROWS || n > l->held[message->from]) {
        from.failed = true;
        n           = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        cs_farm_row *row = &h->rows[h->n_rows + i];
        row->data        = cs_wire_bytes(&from, &row->bytes);
    }
    cs_status status = cs_wire_end(&from, "a row", err);
    if (status == CS_OK) {
        h->n_rows += n;
        l->held[message->from] -= n;
        l->n_held -= n;
        status = hand_out(l, message->from, err);
    }
    return status;
}

static cs_status take_message(lead *l, harvest *h, const cs_message *message, cs_error *err)
{
    if (message->kind == CS_MESSAGE_ROWS) {
        return take_rows(l, h, message, err);
    }
    l->stopped = l->stopped || message->kind == CS_MESSAGE_STOP;
    return message->kind == CS_MESSAGE_FAILED ? take_failure(l, message, err) : CS_OK;
}

static void clear(harvest *h)
{
    for (size_t i = 0; i < h->n_messages; i++) {
        cs_message_free(&h->messages[i]);
    }
    h->n_messages = h->n_rows = 0;
}

/* Wait for a message, take all that are there, and collect their rows. */
static cs_status reap(lead *l, harvest *h, double wait_s, cs_error *err)
{
    cs_status status = CS_OK;

    do {
        cs_message *message = &h->messages[h->n_messages];
        status              = cs_ranks_receive(l->ranks, wait_s, message, err);
        if (status != CS_OK || message->kind == CS_MESSAGE_NONE) {
            break;
        }
        h->n_messages++;
        wait_s = 0;
        status = take_message(l, h, message, err);
    } while (status == CS_OK && h->n_messages < MOST_MESSAGES);
    if (h->n_rows > 0 && l->collected == CS_OK) {
        l->collected = l->farm->collect(l->farm->user, h->rows, h->n_rows, err);
    }
    clear(h);
    return status != CS_OK ? status : l->collected;
}

static bool is_stopped(const lead *l)
{
    return l->stopped || (l->farm->stop != NULL && *l->farm->stop != 0);
}

static cs_status work_off(lead *l, harvest *h, cs_error *err)
{
    cs_status status = teach(l, err);

    for (int to = 1; to < l->size && status == CS_OK; to++) {
        status = hand_out(l, to, err);
    }
    while (status == CS_OK && l->n_held > 0 && !is_stopped(l)) {
        status = reap(l, h, LOOK_S, err);
    }
    return status;
}

/* Tell everybody that it is over, and keep what still comes until all have left. */
static cs_status part(lead *l, harvest *h, double wait_s, cs_error *err)
{
    double    until  = cs_ranks_now_s() + wait_s;
    cs_status status = CS_OK;

    l->no_more = true;
    cs_ranks_end(l->ranks);
    while (status == CS_OK && l->ranks->n_left < l->size - 1 && cs_ranks_now_s() < until) {
        status = reap(l, h, LOOK_S, err);
    }
    return status;
}

static cs_status lead_all(lead *l, harvest *h, cs_error *err)
{
    cs_status status = work_off(l, h, err);

    if (status == CS_OK) {
        bool in_a_hurry = is_stopped(l);
        status          = part(l, h, in_a_hurry ? STOP_S : FINISH_S, err);
    }
    if (status == CS_OK && l->status != CS_OK && !is_stopped(l)) {
        if (err != NULL) {
            *err = l->failure;
        }
        status = l->status;
    }
    return status;
}

cs_status cs_farm_lead(const cs_farm *farm, cs_error *err)
{
    int  size = farm->ranks->transport.size;
    lead l    = {
           .farm = farm, .ranks = farm->ranks, .size = size, .held = CS_NEW(size_t, (size_t)size)};
    harvest   h      = {.rows = CS_NEW(cs_farm_row, (size_t)MOST_MESSAGES * CS_FARM_MAX_ROWS)};
    cs_status status = l.held == NULL || h.rows == NULL
                           ? CS_FAIL(err, CS_ENOMEM, NULL, "out of memory")
                           : lead_all(&l, &h, err);

    cs_free(l.held);
    cs_free(h.rows);
    return status;
}
