/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/farm_serve.c -- every rank but 0: works on what it is handed.
 *
 * Threads do the work; the calling thread alone talks to rank 0. It sends rows as they come, and
 * looks for messages in between, so that it hears at once when it is over.
 */
#include "base/alloc.h"
#include "sweep/crew.h"
#include "sweep/farm_ranks.h"
#include "sweep/wire.h"

#define LOOK_S 0.05
#define ROW_S  0.0005

typedef struct server {
    const cs_farm *farm;
    cs_ranks      *ranks;
    cs_text        lesson;
    cs_crew        crew;
    bool           has_begun, has_crew;
    cs_status      status; /* what ended the work here, and at which item */
    size_t         index;
    cs_error       failure;
    cs_error       trouble;               /* what keeps it from going on at all */
    bool           has_told, has_stopped; /* rank 0 knows it */
} server;

/* An item and an error. */
static cs_status send_error(server *s, cs_message_kind kind, size_t item, const cs_error *wrong,
                            cs_error *err)
{
    cs_text text = {0};

    cs_wire_put_u64(&text, item);
    cs_wire_put_error(&text, wrong);
    cs_status status = cs_text_status(&text, err);
    if (status == CS_OK) {
        status = cs_ranks_send(s->ranks, 0, kind, text.data, text.length, err);
    }
    cs_text_free(&text);
    return status;
}

/* Those of the items that became rows. */
static cs_status send_rows(server *s, void *const *items, size_t n, cs_error *err)
{
    cs_text   rows   = {0};
    uint32_t  n_rows = 0;
    cs_status status = CS_OK;

    for (size_t i = 0; i < n; i++) {
        n_rows += ((const cs_crew_row *)items[i])->missed.status == CS_OK;
    }
    if (n_rows == 0) {
        return CS_OK;
    }
    cs_wire_put_u32(&rows, n_rows);
    for (size_t i = 0; i < n; i++) {
        const cs_crew_row *row = items[i];
        if (row->missed.status == CS_OK) {
            cs_wire_put_u64(&rows, row->index);
            cs_wire_put_bytes(&rows, row->text.data != NULL ? row->text.data : "",
                              row->text.length);
        }
    }
    status = cs_text_status(&rows, err);
    if (status == CS_OK) {
        status = cs_ranks_send(s->ranks, 0, CS_MESSAGE_ROWS, rows.data, rows.length, err);
    }
    cs_text_free(&rows);
    return status;
}

static cs_status send_misses(server *s, void *const *items, size_t n, cs_error *err)
{
    cs_status status = CS_OK;

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        const cs_crew_row *row = items[i];
        if (row->missed.status != CS_OK) {
            status = send_error(s, CS_MESSAGE_MISSED, row->index, &row->missed, err);
        }
    }
    return status;
}

/* Send what the threads have put there within `wait_s`. *n_p = 0: nothing. */
static cs_status pass_rows(server *s, double wait_s, size_t *n_p, cs_error *err)
{
    void     *items[CS_FARM_MAX_ROWS];
    size_t    n      = cs_queue_take_within(&s->crew.rows, items, CS_FARM_MAX_ROWS, wait_s);
    cs_status status = send_rows(s, items, n, err);

    if (status == CS_OK) {
        status = send_misses(s, items, n, err);
    }
    for (size_t i = 0; i < n; i++) {
        cs_crew_free_row(items[i]);
    }
    *n_p = n;
    return status;
}

/* The threads end, and what they leave is sent. */
static cs_status end_crew(server *s, cs_error *err)
{
    cs_status status = CS_OK;
    size_t    n      = 1;

    if (!s->has_crew) {
        return CS_OK;
    }
    cs_supply_halt(&s->crew.supply);
    while (status == CS_OK && !(n == 0 && cs_queue_is_over(&s->crew.rows))) {
        status = pass_rows(s, LOOK_S, &n, err);
    }
    s->status   = cs_crew_end(&s->crew, &s->index, &s->failure);
    s->has_crew = false;
    return status;
}

static cs_status tell_failure(server *s, cs_error *err)
{
    s->has_told = true;
    return send_error(s, CS_MESSAGE_FAILED, s->index, &s->failure, err);
}

/* This rank cannot go on: rank 0 must know, or it would wait. */
static cs_status tell_trouble(server *s, cs_status status, cs_error *err)
{
    s->failure = s->trouble;
    if (s->ranks->is_lost || tell_failure(s, NULL) != CS_OK) {
        s->ranks->is_lost = true;
        if (err != NULL) {
            *err = s->trouble;
        }
        return status;
    }
    return CS_OK;
}

/* The last piece of the lesson has come: learn it and begin. What goes wrong is told to rank 0.
 */
static void begin(server *s)
{
    const cs_farm *farm = s->farm;
    size_t         jobs = farm->jobs < CS_FARM_MAX_JOBS ? farm->jobs : CS_FARM_MAX_JOBS;

    s->has_begun = true;
    s->status    = cs_text_status(&s->lesson, &s->failure);
    if (s->status == CS_OK && farm->learn != NULL) {
        const char *data = s->lesson.data != NULL ? s->lesson.data : "";
        s->status        = farm->learn(farm->user, data, s->lesson.length, &s->failure);
    }
    cs_text_free(&s->lesson);
    if (s->status == CS_OK) {
        s->status   = cs_crew_start(&s->crew, farm, jobs > 1 ? jobs : 1, &s->failure);
        s->has_crew = s->status == CS_OK;
    }
}

static void take_items(server *s, const cs_message *message)
{
    cs_wire from  = cs_wire_over(message->data, message->bytes);
    size_t  first = (size_t)cs_wire_u64(&from), end = (size_t)cs_wire_u64(&from);

    s->status = cs_wire_end(&from, "a number", &s->failure);
    if (s->status == CS_OK && (first >= end || end > s->farm->n_items)) {
        s->status = CS_FAIL(&s->failure, CS_EIO, NULL, "an item arrived that there is not");
    }
    if (s->status == CS_OK) {
        s->status = cs_supply_give(&s->crew.supply, first, end, &s->failure);
    }
    s->index = first;
}

/* The lesson comes once and before the items. Once something is wrong here, nothing that still
 * comes matters. */
static void take_message(server *s, const cs_message *message)
{
    bool is_lesson = message->kind == CS_MESSAGE_LESSON,
         is_items  = message->kind == CS_MESSAGE_ITEMS;

    if (s->status != CS_OK || !(is_lesson || is_items)) {
        return;
    }
    if (is_lesson == s->has_begun) {
        s->status = CS_FAIL(&s->failure, CS_EIO, NULL, "%s",
                            is_lesson ? "a lesson arrived after the last piece of it"
                                      : "items arrived before the lesson");
    } else if (is_lesson && message->bytes > 0) {
        cs_text_add_bytes(&s->lesson, message->data, message->bytes);
    } else if (is_lesson) {
        begin(s);
    } else if (s->has_crew) {
        take_items(s, message);
    }
}

/* Rows to rank 0. The threads are over when one of them has failed, or was asked to stop. */
static cs_status serve_rows(server *s, cs_error *err)
{
    cs_status before = s->status;
    size_t    n      = 0;
    cs_status status = pass_rows(s, ROW_S, &n, err);

    if (status == CS_OK && (before != CS_OK || (n == 0 && cs_queue_is_over(&s->crew.rows)))) {
        status    = end_crew(s, err);
        s->status = before != CS_OK ? before : s->status;
    }
    return status;
}

/* One look for messages, one for rows, one for what rank 0 should know. */
static cs_status serve_once(server *s, cs_error *err)
{
    cs_message message;
    cs_status  status = cs_ranks_receive(s->ranks, s->has_crew ? 0 : LOOK_S, &message, err);

    if (status == CS_OK) {
        take_message(s, &message);
        cs_message_free(&message);
    }
    if (status == CS_OK && s->has_crew) {
        status = serve_rows(s, err);
    }
    if (status == CS_OK && s->status != CS_OK && !s->has_told) {
        status = tell_failure(s, err);
    }
    if (status == CS_OK && s->farm->stop != NULL && *s->farm->stop != 0 && !s->has_stopped) {
        s->has_stopped = true;
        status         = cs_ranks_send(s->ranks, 0, CS_MESSAGE_STOP, "", 0, err);
    }
    return status;
}

cs_status cs_farm_serve(const cs_farm *farm, cs_error *err)
{
    server    s      = {.farm = farm, .ranks = farm->ranks};
    cs_status status = CS_OK;

    while (status == CS_OK && !s.ranks->is_over) {
        status = serve_once(&s, &s.trouble);
    }
    if (status != CS_OK) {
        (void)!end_crew(&s, NULL);
        status = tell_trouble(&s, status, err);
    } else {
        status = end_crew(&s, err);
    }
    cs_text_free(&s.lesson);
    return status;
}
