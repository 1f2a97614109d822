/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/farm_lead.c -- rank 0: hands out items, collects rows.
 *
 * All rows that have arrived are collected in one go, which a sweep makes one transaction. When a
 * rank fails nothing more is handed out, but what was is waited for: an item before it may fail,
 * too, and the error of the first one is the one to report, as in one process. After a stop
 * nobody is waited for longer than mpirun leaves us.
 *
 * An item that a rank misses is offered to the ranks that have not missed any in the same words.
 * Who takes it and misses it, too, has from then on missed in both words: so every retry that fails
 * takes a rank and some words together for good, and their number is bounded.
 */
#include "base/alloc.h"
#include "base/random.h"
#include "sweep/farm_ranks.h"
#include "sweep/wire.h"

#include <stdio.h>
#include <string.h>

#define MOST_MESSAGES 64u
#define LESSON_BYTES  ((size_t)16 << 20)
#define LOOK_S        0.05 /* how often to look whether it is to stop */
#define FINISH_S      30.0 /* to part: nobody has work any more */
#define STOP_S        0.3  /* to part after a stop: mpirun kills within a second */

/* An item that a rank could not do. `words` is a hash of why. */
typedef struct miss {
    size_t    item;
    uint64_t  words;
    cs_error *reason; /* owned; NULL: another rank has taken it */
} miss;

/* What rank 0 knows of another one. Everything is owned. */
typedef struct peer {
    size_t    n_held;  /* items handed out and not come back */
    miss     *retries; /* those of them that others have missed; without reasons */
    size_t    n_retries, retries_room;
    uint64_t *words; /* in which it has missed items */
    size_t    n_words, words_room;
    size_t    n_seen; /* of all misses: these are taken, or not for it */
} peer;

typedef struct lead {
    const cs_farm *farm;
    cs_ranks      *ranks;
    int            size;
    size_t         next;   /* the first item that was not handed out */
    peer          *peers;  /* [size]; owned */
    int           *holder; /* [n_items]: who has it in hand; 0: nobody; owned */
    size_t         n_held; /* by all of them */
    miss          *misses; /* of all ranks, in the order in which they came; owned */
    size_t         n_misses, misses_room;
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

static cs_status send_items(lead *l, int to, size_t first, size_t end, cs_error *err)
{
    cs_text items = {0};

    cs_wire_put_u64(&items, first);
    cs_wire_put_u64(&items, end);
    cs_status status = cs_text_status(&items, err);
    if (status == CS_OK) {
        status = cs_ranks_send(l->ranks, to, CS_MESSAGE_ITEMS, items.data, items.length, err);
    }
    cs_text_free(&items);
    for (size_t i = first; i < end && status == CS_OK; i++) {
        l->holder[i] = to;
        l->peers[to].n_held++;
        l->n_held++;
    }
    return status;
}

static bool has_missed_so(const peer *p, uint64_t words)
{
    size_t i = 0;

    while (i < p->n_words && p->words[i] != words) {
        i++;
    }
    return i < p->n_words;
}

static cs_status add_words(peer *p, uint64_t words, cs_error *err)
{
    if (has_missed_so(p, words)) {
        return CS_OK;
    }
    if (!cs_grow(&p->words, &p->words_room, p->n_words + 1, 4, sizeof *p->words)) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    p->words[p->n_words++] = words;
    return CS_OK;
}

/* The next miss of another that it may do, or NULL. What it passes now it never takes. */
static miss *next_miss(lead *l, peer *p)
{
    for (; p->n_seen < l->n_misses; p->n_seen++) {
        miss *m = &l->misses[p->n_seen];
        if (m->reason != NULL && m->reason->status != CS_EINTERNAL && !has_missed_so(p, m->words)) {
            return m;
        }
    }
    return NULL;
}

static cs_status hand_out_miss(lead *l, int to, miss *m, cs_error *err)
{
    peer *p = &l->peers[to];

    if (!cs_grow(&p->retries, &p->retries_room, p->n_retries + 1, 4, sizeof *p->retries)) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    p->retries[p->n_retries++] = (miss){m->item, m->words, NULL};
    cs_free(m->reason);
    m->reason = NULL;
    return send_items(l, to, m->item, m->item + 1, err);
}

/* Not until half of what it had is done: so what one rank gets are neighbours, which may have
 * something in common that it keeps. What others have missed comes first. */
static cs_status hand_out(lead *l, int to, cs_error *err)
{
    peer     *p      = &l->peers[to];
    size_t    want   = wanted(l);
    size_t    room   = !l->no_more && p->n_held <= want / 2 ? want - p->n_held : 0;
    miss     *m      = NULL;
    cs_status status = CS_OK;

    for (; room > 0 && status == CS_OK && (m = next_miss(l, p)) != NULL; room--) {
        status = hand_out_miss(l, to, m, err);
    }
    size_t left = l->farm->n_items - l->next, n = room < left ? room : left;
    if (status == CS_OK && n > 0) {
        status = send_items(l, to, l->next, l->next + n, err);
        l->next += n;
    }
    return status;
}

static cs_status hand_out_to_all(lead *l, cs_error *err)
{
    cs_status status = CS_OK;

    for (int to = 1; to < l->size && status == CS_OK; to++) {
        status = hand_out(l, to, err);
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

/* What failed is a machine's: say whose. What is wrong with an item is the same for all. */
static void name_rank(cs_error *failure, int rank)
{
    size_t length = strlen(failure->message);

    if (cs_status_is_failure(failure->status)) {
        (void)snprintf(failure->message + length, sizeof failure->message - length, " (rank %d)",
                       rank);
    }
}

static cs_status read_error(const cs_message *message, size_t *item_p, cs_error *wrong_p,
                            cs_error *err)
{
    cs_wire from = cs_wire_over(message->data, message->bytes);

    *item_p = (size_t)cs_wire_u64(&from);
    cs_wire_error(&from, wrong_p);
    bool is_miss = message->kind == CS_MESSAGE_MISSED;
    from.failed  = from.failed || wrong_p->status == CS_OK ||
                  (is_miss && !cs_status_is_failure(wrong_p->status));
    return cs_wire_end(&from, "an error", err);
}

static cs_status take_failure(lead *l, const cs_message *message, cs_error *err)
{
    peer     *p = &l->peers[message->from];
    size_t    item;
    cs_error  failure;
    cs_status status = read_error(message, &item, &failure, err);

    if (status != CS_OK) {
        return status;
    }
    if (l->status == CS_OK || item < l->failed_item) {
        l->failed_item = item;
        l->failure     = failure;
        name_rank(&l->failure, message->from);
        l->status = failure.status;
    }
    l->no_more = true;
    l->n_held -= p->n_held;
    p->n_held = 0;
    return CS_OK;
}

/* An item has come back from a rank. False: it was not there. *words_p: in which others had missed
 * it, 0 where nobody had. */
static bool take_back(lead *l, int rank, size_t item, uint64_t *words_p)
{
    peer *p = &l->peers[rank];

    *words_p = 0;
    if (p->n_held == 0 || item >= l->farm->n_items || l->holder[item] != rank) {
        return false;
    }
    l->holder[item] = 0;
    p->n_held--;
    l->n_held--;
    for (size_t i = 0; i < p->n_retries; i++) {
        if (p->retries[i].item == item) {
            *words_p      = p->retries[i].words;
            p->retries[i] = p->retries[--p->n_retries];
            break;
        }
    }
    return true;
}

/* Never 0. */
static uint64_t hash_words(const cs_error *reason)
{
    return cs_mix64(cs_hash_text(reason->message) ^ cs_hash_text(reason->where) << 1) | 1;
}

static cs_status add_miss(lead *l, size_t item, int rank, const cs_error *reason, cs_error *err)
{
    miss m = {item, hash_words(reason), CS_NEW(cs_error, 1)};

    if (m.reason == NULL ||
        !cs_grow(&l->misses, &l->misses_room, l->n_misses + 1, 16, sizeof *l->misses)) {
        cs_free(m.reason);
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    *m.reason = *reason;
    name_rank(m.reason, rank);
    l->misses[l->n_misses++] = m;
    return add_words(&l->peers[rank], m.words, err);
}

static cs_status take_miss(lead *l, const cs_message *message, cs_error *err)
{
    peer     *p = &l->peers[message->from];
    size_t    item;
    uint64_t  words;
    cs_error  reason;
    cs_status status = read_error(message, &item, &reason, err);

    if (status == CS_OK && !take_back(l, message->from, item, &words)) {
        status = CS_FAIL(err, CS_EIO, NULL, "an item came back that nobody had");
    }
    if (status == CS_OK) {
        status = add_miss(l, item, message->from, &reason, err);
    }
    if (status == CS_OK && words != 0) {
        status = add_words(p, words, err);
    }
    return status == CS_OK ? hand_out_to_all(l, err) : status;
}

/* Note the rows of a message in the harvest; they stay in it. */
static cs_status take_rows(lead *l, harvest *h, const cs_message *message, cs_error *err)
{
    cs_wire  from = cs_wire_over(message->data, message->bytes);
    uint32_t n    = cs_wire_u32(&from);
    uint64_t words;

    if (n > CS_FARM_MAX_ROWS) {
        from.failed = true;
        n           = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        cs_farm_row *row  = &h->rows[h->n_rows + i];
        size_t       item = (size_t)cs_wire_u64(&from);
        row->index        = item;
        row->data         = cs_wire_bytes(&from, &row->bytes);
        from.failed       = from.failed || !take_back(l, message->from, item, &words);
    }
    cs_status status = cs_wire_end(&from, "a row", err);
    if (status == CS_OK) {
        h->n_rows += n;
        status = hand_out(l, message->from, err);
    }
    return status;
}

static cs_status take_message(lead *l, harvest *h, const cs_message *message, cs_error *err)
{
    l->stopped = l->stopped || message->kind == CS_MESSAGE_STOP;
    switch (message->kind) {
    case CS_MESSAGE_ROWS: return take_rows(l, h, message, err);
    case CS_MESSAGE_MISSED: return take_miss(l, message, err);
    case CS_MESSAGE_FAILED: return take_failure(l, message, err);
    case CS_MESSAGE_STOP: return CS_OK;
    case CS_MESSAGE_BYE:
        return l->ranks->is_over
                   ? CS_OK
                   : CS_FAIL(err, CS_EIO, NULL, "rank %d left before it was over", message->from);
    case CS_MESSAGE_NONE:
    case CS_MESSAGE_HELLO:
    case CS_MESSAGE_LESSON:
    case CS_MESSAGE_ITEMS:
    case CS_MESSAGE_END: break;
    }
    return CS_FAIL(err, CS_EIO, NULL, "rank %d sent a message that is not for rank 0",
                   message->from);
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

    if (status == CS_OK) {
        status = hand_out_to_all(l, err);
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

static cs_status lead_all(lead *l, harvest *h, cs_farm_misses *misses, cs_error *err)
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
    for (size_t i = 0; i < l->n_misses; i++) {
        if (l->misses[i].reason != NULL) {
            cs_farm_miss(misses, l->misses[i].item, l->misses[i].reason);
        }
    }
    return status;
}

static void release(lead *l)
{
    for (size_t i = 0; i < l->n_misses; i++) {
        cs_free(l->misses[i].reason);
    }
    for (int i = 0; l->peers != NULL && i < l->size; i++) {
        cs_free(l->peers[i].retries);
        cs_free(l->peers[i].words);
    }
    cs_free(l->misses);
    cs_free(l->holder);
    cs_free(l->peers);
}

cs_status cs_farm_lead(const cs_farm *farm, cs_farm_misses *misses, cs_error *err)
{
    int       size   = farm->ranks->transport.size;
    lead      l      = {.farm   = farm,
                        .ranks  = farm->ranks,
                        .size   = size,
                        .peers  = CS_NEW(peer, (size_t)size),
                        .holder = CS_NEW(int, farm->n_items)};
    harvest   h      = {.rows = CS_NEW(cs_farm_row, (size_t)MOST_MESSAGES * CS_FARM_MAX_ROWS)};
    cs_status status = l.peers == NULL || l.holder == NULL || h.rows == NULL
                           ? CS_FAIL(err, CS_ENOMEM, NULL, "out of memory")
                           : lead_all(&l, &h, misses, err);

    release(&l);
    cs_free(h.rows);
    return status;
}
