/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Items by one thread, by threads, or by ranks.
 *
 * In one process threads take the items in order; the calling thread collects what it finds. With
 * one job the calling thread does everything itself, a row at a time.
 *
 * Rank 0 hands every other rank a few items more than it has threads, and fills up when half of
 * them have come back as rows: what is under way, and waits to be collected, stays bounded, and
 * nobody waits for an answer. Towards the end it hands out fewer, so that all are done at about the
 * same time. Rank 0 itself only collects.
 *
 * What one rank cannot do (its machine lacks a module, or memory) goes to another that has not
 * failed in the same words. So a rank that can do nothing costs the others nothing, and what nobody
 * can do is not tried for ever: at most once by each rank.
 *
 * Messages (all numbers as in campaign/wire.h):
 *   ITEMS   u64 first, u64 end
 *   ROWS    u32 n, then n times: u64 item, u64 length, bytes
 *   SKIPPED u64 item, error; the rank goes on
 *   FAILED  u64 item, error; no row comes behind it
 *   STOP    nothing
 *
 * When mpirun ends a run (because a rank died, or on Ctrl-C) it sends SIGTERM to every rank, and
 * SIGKILL a second later; but SIGKILL at once when it sees the first of them go. So nobody goes
 * before rank 0 has said END, and rank 0 has its second to collect and to close the file.
 *
 * When a rank fails nothing more is handed out, but what was is waited for: an item before it may
 * fail, too, and the error of the first one is the one to report, as in one process. After a stop
 * nobody is waited for longer than mpirun leaves us.
 *
 * An item that a rank skips is offered to the ranks that have skipped none for the same reason. Who
 * takes it and skips it, too, has from then on skipped for both reasons: so every retry that fails
 * takes a rank and a reason together for good, and their number is bounded.
 */
#include "campaign/workers.h"

#include "base/alloc.h"
#include "base/random.h"
#include "campaign/thread_pool.h"
#include "campaign/wire.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_MESSAGES   64u
#define BROADCAST_BYTES ((size_t)16 << 20)
#define LOOK_S          0.05   /* how often to look whether it is to stop */
#define ROW_S           0.0005 /* ... for messages, while there is work */
#define FINISH_S        30.0   /* to part: nobody has work any more */
#define STOP_S          0.3    /* to part after a stop: mpirun kills within a second */

enum { MOST_ROWS = 64 }; /* that are collected or sent at once */

static void add_skipped(cs_skipped_items *skipped, size_t index, const cs_error *reason)
{
    if (skipped->n++ == 0 || index < skipped->first) {
        skipped->first  = index;
        skipped->reason = *reason;
    }
}

static bool is_stopped(const cs_workers *w)
{
    return w->stop != NULL && *w->stop != 0;
}

static size_t jobs_of(const cs_workers *w)
{
    size_t most = w->jobs < CS_MAX_JOBS ? w->jobs : CS_MAX_JOBS;
    return most > 1 ? most : 1;
}

static cs_status start_pool(const cs_workers *w, size_t n_threads, cs_thread_pool **pool_p,
                            cs_error *err)
{
    const cs_pool_work work = {.user = w->user, .work = w->work, .stop = w->stop};
    return cs_thread_pool_start(&work, n_threads, pool_p, err);
}

/* ---- one process ---- */

/* Collect the rows among what the threads have done, and note what they have not. */
static cs_status collect_some(const cs_workers *w, cs_pool_row *const *rows, size_t n,
                              cs_skipped_items *skipped, cs_error *err)
{
    cs_work_item items[MOST_ROWS];
    size_t       n_items = 0;

    for (size_t i = 0; i < n; i++) {
        const cs_pool_row *row = rows[i];
        if (row->skip_reason.status != CS_OK) {
            add_skipped(skipped, row->index, &row->skip_reason);
        } else {
            items[n_items++] = (cs_work_item){row->index, row->text.data, row->text.length};
        }
    }
    return n_items > 0 ? w->collect(w->user, items, n_items, err) : CS_OK;
}

/* Collect until no thread is left; after an error the threads end, and rows are only taken out. */
static cs_status collect_all(const cs_workers *w, cs_thread_pool *pool, cs_skipped_items *skipped,
                             cs_error *err)
{
    cs_status    status = CS_OK;
    cs_pool_row *rows[MOST_ROWS];
    size_t       n;

    while ((n = cs_thread_pool_take(pool, rows, MOST_ROWS, (double)INFINITY)) > 0) {
        if (status == CS_OK && (status = collect_some(w, rows, n, skipped, err)) != CS_OK) {
            cs_thread_pool_halt(pool);
        }
        for (size_t i = 0; i < n; i++) {
            cs_pool_row_free(rows[i]);
        }
    }
    return status;
}

static cs_status run_threads(const cs_workers *w, size_t n_threads, cs_skipped_items *skipped,
                             cs_error *err)
{
    cs_thread_pool *pool = NULL;
    size_t          index;
    cs_error        work_err = {0};
    cs_status       status   = start_pool(w, n_threads, &pool, err);

    if (status != CS_OK) {
        return status;
    }
    status = cs_thread_pool_give(pool, 0, w->n_items, err);
    cs_thread_pool_close(pool);
    cs_status collected   = collect_all(w, pool, skipped, err);
    cs_status work_status = cs_thread_pool_end(pool, &index, &work_err);
    if (status != CS_OK || collected != CS_OK) {
        return status != CS_OK ? status : collected;
    }
    if (work_status != CS_OK && err != NULL) {
        *err = work_err;
    }
    return work_status;
}

/* One item by the calling thread. */
static cs_status do_item(const cs_workers *w, size_t index, cs_skipped_items *skipped,
                         cs_error *err)
{
    cs_text   row    = {0};
    cs_error  wrong  = {0};
    cs_status status = w->work(w->user, index, &row, &wrong);

    if (status == CS_OK) {
        status = cs_text_status(&row, &wrong);
    }
    if (status == CS_OK) {
        cs_work_item view = {index, row.data, row.length};
        status            = w->collect(w->user, &view, 1, err);
    } else if (cs_status_is_failure(status)) {
        wrong.status = status;
        add_skipped(skipped, index, &wrong);
        status = CS_OK;
    } else if (err != NULL) {
        *err = wrong;
    }
    cs_text_free(&row);
    return status;
}

static cs_status run_here(const cs_workers *w, cs_skipped_items *skipped, cs_error *err)
{
    cs_status status = CS_OK;

    for (size_t i = 0; i < w->n_items && status == CS_OK && !is_stopped(w); i++) {
        status = do_item(w, i, skipped, err);
    }
    return status;
}

/* ---- rank 0: hands out items, collects rows ---- */

/* An item that a rank could not do. */
typedef struct skipped_item {
    size_t    item;
    uint64_t  words;  /* a hash of the words of the reason */
    cs_error *reason; /* owned; NULL: another rank has taken it */
} skipped_item;

/* What rank 0 knows of another one. Everything is owned. */
typedef struct peer {
    size_t        n_held;  /* items handed out and not come back */
    skipped_item *retries; /* those of them that others have skipped; without reasons */
    size_t        n_retries, retries_room;
    uint64_t     *words; /* of the reasons for which it has skipped items */
    size_t        n_words, words_room;
    size_t        n_seen; /* of all that were skipped: these are taken, or not for it */
} peer;

typedef struct coordinator {
    const cs_workers *workers;
    cs_ranks         *ranks;
    int               size;
    size_t            next;    /* the first item that was not handed out */
    peer             *peers;   /* [size]; owned */
    int              *holder;  /* [n_items]: who has it in hand; 0: nobody; owned */
    size_t            n_held;  /* by all of them */
    skipped_item     *skipped; /* of all ranks, in the order in which they came; owned */
    size_t            n_skipped, skipped_room;
    bool              no_more;   /* nothing is handed out any more */
    bool              stopped;   /* by another rank */
    cs_status         collected; /* the first error of collect() */
    cs_status         status;    /* of the failed item with the smallest number */
    size_t            failed_item;
    cs_error          failure;
} coordinator;

/* The messages that were received together, and the rows in them. */
typedef struct batch {
    cs_message    messages[MOST_MESSAGES]; /* owned */
    size_t        n_messages;
    cs_work_item *rows; /* into the messages; owned, room for all of them */
    size_t        n_rows;
} batch;

/* How many items a rank should have in hand. */
static size_t wanted(const coordinator *l)
{
    size_t jobs    = jobs_of(l->workers);
    size_t workers = (size_t)(l->size - 1) * jobs;
    size_t ahead   = (l->workers->n_items - l->next) / (2 * workers);

    ahead = ahead < 1 ? 1 : ahead > CS_WORKERS_AHEAD ? CS_WORKERS_AHEAD : ahead;
    return ahead * jobs;
}

static cs_status send_items(coordinator *l, int to, size_t first, size_t end, cs_error *err)
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

static bool has_skipped_so(const peer *p, uint64_t words)
{
    size_t i = 0;

    while (i < p->n_words && p->words[i] != words) {
        i++;
    }
    return i < p->n_words;
}

static cs_status add_words(peer *p, uint64_t words, cs_error *err)
{
    if (has_skipped_so(p, words)) {
        return CS_OK;
    }
    if (!cs_grow(&p->words, &p->words_room, p->n_words + 1, 4, sizeof *p->words)) {
        return CS_NO_MEMORY(err, "the reasons for which a rank skipped items");
    }
    p->words[p->n_words++] = words;
    return CS_OK;
}

/* The next item that another rank has skipped and that this one may do, or NULL. What it passes now
 * it never takes. */
static skipped_item *next_skipped(coordinator *l, peer *p)
{
    for (; p->n_seen < l->n_skipped; p->n_seen++) {
        skipped_item *m = &l->skipped[p->n_seen];
        if (m->reason != NULL && m->reason->status != CS_EINTERNAL &&
            !has_skipped_so(p, m->words)) {
            return m;
        }
    }
    return NULL;
}

static cs_status hand_out_skipped(coordinator *l, int to, skipped_item *m, cs_error *err)
{
    peer *p = &l->peers[to];

    if (!cs_grow(&p->retries, &p->retries_room, p->n_retries + 1, 4, sizeof *p->retries)) {
        return CS_NO_MEMORY(err, "the items that a rank tries again");
    }
    p->retries[p->n_retries++] = (skipped_item){m->item, m->words, NULL};
    cs_free(m->reason);
    m->reason = NULL;
    return send_items(l, to, m->item, m->item + 1, err);
}

/* Not until half of what it had is done: so what one rank gets are neighbours, which may have
 * something in common that it keeps. What others have skipped comes first. */
static cs_status hand_out(coordinator *l, int to, cs_error *err)
{
    peer         *p      = &l->peers[to];
    size_t        want   = wanted(l);
    size_t        room   = !l->no_more && p->n_held <= want / 2 ? want - p->n_held : 0;
    skipped_item *m      = NULL;
    cs_status     status = CS_OK;

    for (; room > 0 && status == CS_OK && (m = next_skipped(l, p)) != NULL; room--) {
        status = hand_out_skipped(l, to, m, err);
    }
    size_t left = l->workers->n_items - l->next, n = room < left ? room : left;
    if (status == CS_OK && n > 0) {
        status = send_items(l, to, l->next, l->next + n, err);
        l->next += n;
    }
    return status;
}

static cs_status hand_out_to_all(coordinator *l, cs_error *err)
{
    for (int to = 1; to < l->size; to++) {
        CS_TRY(hand_out(l, to, err));
    }
    return CS_OK;
}

/* The broadcast to everybody, in pieces; the empty one is the last. */
static cs_status broadcast(coordinator *l, cs_error *err)
{
    const cs_workers *w = l->workers;

    for (int to = 1; to < l->size; to++) {
        for (size_t at = 0; at < w->broadcast_bytes; at += BROADCAST_BYTES) {
            size_t left = w->broadcast_bytes - at;
            size_t n    = left < BROADCAST_BYTES ? left : BROADCAST_BYTES;
            CS_TRY(cs_ranks_send(l->ranks, to, CS_MESSAGE_BROADCAST, w->broadcast + at, n, err));
        }
        CS_TRY(cs_ranks_send(l->ranks, to, CS_MESSAGE_BROADCAST, "", 0, err));
    }
    return CS_OK;
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
    bool is_skipped = message->kind == CS_MESSAGE_SKIPPED;
    from.failed     = from.failed || wrong_p->status == CS_OK ||
                  (is_skipped && !cs_status_is_failure(wrong_p->status));
    return cs_wire_end(&from, "an error", err);
}

static cs_status take_failure(coordinator *l, const cs_message *message, cs_error *err)
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

/* An item has come back from a rank. False: it was not there. *words_p: for which others had
 * skipped it, 0 where nobody had. */
static bool take_back(coordinator *l, int rank, size_t item, uint64_t *words_p)
{
    peer *p = &l->peers[rank];

    *words_p = 0;
    if (p->n_held == 0 || item >= l->workers->n_items || l->holder[item] != rank) {
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

static cs_status keep_skipped(coordinator *l, size_t item, int rank, const cs_error *reason,
                              cs_error *err)
{
    skipped_item m = {item, hash_words(reason), CS_NEW(cs_error, 1)};

    if (m.reason == NULL ||
        !cs_grow(&l->skipped, &l->skipped_room, l->n_skipped + 1, 16, sizeof *l->skipped)) {
        cs_free(m.reason);
        return CS_NO_MEMORY(err, "the items that ranks have skipped");
    }
    *m.reason = *reason;
    name_rank(m.reason, rank);
    l->skipped[l->n_skipped++] = m;
    return add_words(&l->peers[rank], m.words, err);
}

static cs_status take_skipped(coordinator *l, const cs_message *message, cs_error *err)
{
    peer    *p = &l->peers[message->from];
    size_t   item;
    uint64_t words;
    cs_error reason;

    CS_TRY(read_error(message, &item, &reason, err));
    if (!take_back(l, message->from, item, &words)) {
        return CS_FAIL(err, CS_EIO, NULL, "an item came back that nobody had");
    }
    CS_TRY(keep_skipped(l, item, message->from, &reason, err));
    if (words != 0) {
        CS_TRY(add_words(p, words, err));
    }
    return hand_out_to_all(l, err);
}

/* Add the rows of a message to the batch; they point into the message. */
static cs_status take_rows(coordinator *l, batch *b, const cs_message *message, cs_error *err)
{
    cs_wire  from = cs_wire_over(message->data, message->bytes);
    uint32_t n    = cs_wire_u32(&from);
    uint64_t words;

    if (n > MOST_ROWS) {
        from.failed = true;
        n           = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        cs_work_item *row  = &b->rows[b->n_rows + i];
        size_t        item = (size_t)cs_wire_u64(&from);
        row->index         = item;
        row->data          = cs_wire_bytes(&from, &row->bytes);
        from.failed        = from.failed || !take_back(l, message->from, item, &words);
    }
    CS_TRY(cs_wire_end(&from, "a row", err));
    b->n_rows += n;
    return hand_out(l, message->from, err);
}

static cs_status take_message(coordinator *l, batch *b, const cs_message *message, cs_error *err)
{
    l->stopped = l->stopped || message->kind == CS_MESSAGE_STOP;
    switch (message->kind) {
    case CS_MESSAGE_ROWS: return take_rows(l, b, message, err);
    case CS_MESSAGE_SKIPPED: return take_skipped(l, message, err);
    case CS_MESSAGE_FAILED: return take_failure(l, message, err);
    case CS_MESSAGE_STOP: return CS_OK;
    case CS_MESSAGE_BYE:
        return l->ranks->is_over
                   ? CS_OK
                   : CS_FAIL(err, CS_EIO, NULL, "rank %d left before it was over", message->from);
    case CS_MESSAGE_NONE:
    case CS_MESSAGE_HELLO:
    case CS_MESSAGE_BROADCAST:
    case CS_MESSAGE_ITEMS:
    case CS_MESSAGE_END: break;
    }
    return CS_FAIL(err, CS_EIO, NULL, "rank %d sent a message that is not for rank 0",
                   message->from);
}

static void clear_batch(batch *b)
{
    for (size_t i = 0; i < b->n_messages; i++) {
        cs_message_free(&b->messages[i]);
    }
    b->n_messages = b->n_rows = 0;
}

/* Wait for a message, take all that are there, and collect their rows. */
static cs_status receive(coordinator *l, batch *b, double wait_s, cs_error *err)
{
    cs_status status = CS_OK;

    do {
        cs_message *message = &b->messages[b->n_messages];
        status              = cs_ranks_receive(l->ranks, wait_s, message, err);
        if (status != CS_OK || message->kind == CS_MESSAGE_NONE) {
            break;
        }
        b->n_messages++;
        wait_s = 0;
        status = take_message(l, b, message, err);
    } while (status == CS_OK && b->n_messages < MOST_MESSAGES);
    if (b->n_rows > 0 && l->collected == CS_OK) {
        l->collected = l->workers->collect(l->workers->user, b->rows, b->n_rows, err);
    }
    clear_batch(b);
    return status != CS_OK ? status : l->collected;
}

static bool is_over(const coordinator *l)
{
    return l->stopped || is_stopped(l->workers);
}

static cs_status hand_out_all(coordinator *l, batch *b, cs_error *err)
{
    CS_TRY(broadcast(l, err));
    CS_TRY(hand_out_to_all(l, err));
    while (l->n_held > 0 && !is_over(l)) {
        CS_TRY(receive(l, b, LOOK_S, err));
    }
    return CS_OK;
}

/* Tell everybody that it is over, and keep what still comes until all have left. */
static cs_status end_ranks(coordinator *l, batch *b, double wait_s, cs_error *err)
{
    double until = cs_ranks_now_s() + wait_s;

    l->no_more = true;
    cs_ranks_end(l->ranks);
    while (l->ranks->n_left < l->size - 1 && cs_ranks_now_s() < until) {
        CS_TRY(receive(l, b, LOOK_S, err));
    }
    return CS_OK;
}

static cs_status coordinate(coordinator *l, batch *b, cs_skipped_items *skipped, cs_error *err)
{
    cs_status status = hand_out_all(l, b, err);

    if (status == CS_OK) {
        bool is_early = is_over(l);
        status        = end_ranks(l, b, is_early ? STOP_S : FINISH_S, err);
    }
    if (status == CS_OK && l->status != CS_OK && !is_over(l)) {
        if (err != NULL) {
            *err = l->failure;
        }
        status = l->status;
    }
    for (size_t i = 0; i < l->n_skipped; i++) {
        if (l->skipped[i].reason != NULL) {
            add_skipped(skipped, l->skipped[i].item, l->skipped[i].reason);
        }
    }
    return status;
}

static void free_coordinator(coordinator *l)
{
    for (size_t i = 0; i < l->n_skipped; i++) {
        cs_free(l->skipped[i].reason);
    }
    for (int i = 0; l->peers != NULL && i < l->size; i++) {
        cs_free(l->peers[i].retries);
        cs_free(l->peers[i].words);
    }
    cs_free(l->skipped);
    cs_free(l->holder);
    cs_free(l->peers);
}

static cs_status run_coordinator(const cs_workers *w, cs_skipped_items *skipped, cs_error *err)
{
    int         size   = w->ranks->transport.size;
    coordinator l      = {.workers = w,
                          .ranks   = w->ranks,
                          .size    = size,
                          .peers   = CS_NEW(peer, (size_t)size),
                          .holder  = CS_NEW(int, w->n_items)};
    batch       b      = {.rows = CS_NEW(cs_work_item, (size_t)MOST_MESSAGES * MOST_ROWS)};
    cs_status   status = l.peers == NULL || l.holder == NULL || b.rows == NULL
                             ? CS_NO_MEMORY(err, "%d ranks and %zu items", size, w->n_items)
                             : coordinate(&l, &b, skipped, err);

    free_coordinator(&l);
    cs_free(b.rows);
    return status;
}

/* ---- every other rank: works on what it is handed ----
 *
 * Threads do the work; the calling thread alone talks to rank 0. It sends rows as they come, and
 * looks for messages in between, so that it hears at once when it is over. */

typedef struct server {
    const cs_workers *workers;
    cs_ranks         *ranks;
    cs_text           broadcast; /* the pieces that have come */
    cs_thread_pool   *pool;      /* NULL: not yet, or not any more */
    bool              has_begun;
    cs_status         status; /* what ended the work here, and at which item */
    size_t            index;
    cs_error          failure;
    cs_error          trouble;               /* what keeps it from going on at all */
    bool              has_told, has_stopped; /* rank 0 knows it */
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
static cs_status send_rows(server *s, cs_pool_row *const *rows, size_t n, cs_error *err)
{
    cs_text   bytes  = {0};
    uint32_t  n_rows = 0;
    cs_status status = CS_OK;

    for (size_t i = 0; i < n; i++) {
        n_rows += rows[i]->skip_reason.status == CS_OK;
    }
    if (n_rows == 0) {
        return CS_OK;
    }
    cs_wire_put_u32(&bytes, n_rows);
    for (size_t i = 0; i < n; i++) {
        const cs_pool_row *row = rows[i];
        if (row->skip_reason.status == CS_OK) {
            cs_wire_put_u64(&bytes, row->index);
            cs_wire_put_bytes(&bytes, row->text.data != NULL ? row->text.data : "",
                              row->text.length);
        }
    }
    status = cs_text_status(&bytes, err);
    if (status == CS_OK) {
        status = cs_ranks_send(s->ranks, 0, CS_MESSAGE_ROWS, bytes.data, bytes.length, err);
    }
    cs_text_free(&bytes);
    return status;
}

static cs_status send_skipped(server *s, cs_pool_row *const *rows, size_t n, cs_error *err)
{
    cs_status status = CS_OK;

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        const cs_pool_row *row = rows[i];
        if (row->skip_reason.status != CS_OK) {
            status = send_error(s, CS_MESSAGE_SKIPPED, row->index, &row->skip_reason, err);
        }
    }
    return status;
}

/* Send what the threads have put there within `wait_s`. *n_p = 0: nothing. */
static cs_status pass_rows(server *s, double wait_s, size_t *n_p, cs_error *err)
{
    cs_pool_row *rows[MOST_ROWS];
    size_t       n      = cs_thread_pool_take(s->pool, rows, MOST_ROWS, wait_s);
    cs_status    status = send_rows(s, rows, n, err);

    if (status == CS_OK) {
        status = send_skipped(s, rows, n, err);
    }
    for (size_t i = 0; i < n; i++) {
        cs_pool_row_free(rows[i]);
    }
    *n_p = n;
    return status;
}

/* The threads end, and what they leave is sent. */
static cs_status end_pool(server *s, cs_error *err)
{
    cs_status status = CS_OK;
    size_t    n      = 1;

    if (s->pool == NULL) {
        return CS_OK;
    }
    cs_thread_pool_halt(s->pool);
    while (status == CS_OK && !(n == 0 && cs_thread_pool_is_over(s->pool))) {
        status = pass_rows(s, LOOK_S, &n, err);
    }
    s->status = cs_thread_pool_end(s->pool, &s->index, &s->failure);
    s->pool   = NULL;
    return status;
}

static cs_status report_failure(server *s, cs_error *err)
{
    s->has_told = true;
    return send_error(s, CS_MESSAGE_FAILED, s->index, &s->failure, err);
}

/* This rank cannot go on: rank 0 must know, or it would wait. */
static cs_status report_trouble(server *s, cs_status status, cs_error *err)
{
    s->failure = s->trouble;
    if (s->ranks->is_lost || report_failure(s, NULL) != CS_OK) {
        s->ranks->is_lost = true;
        if (err != NULL) {
            *err = s->trouble;
        }
        return status;
    }
    return CS_OK;
}

/* The last piece of the broadcast has come: hear it and begin. What goes wrong is told to rank 0.
 */
static void begin(server *s)
{
    const cs_workers *w = s->workers;

    s->has_begun = true;
    s->status    = cs_text_status(&s->broadcast, &s->failure);
    if (s->status == CS_OK && w->on_broadcast != NULL) {
        const char *data = s->broadcast.data != NULL ? s->broadcast.data : "";
        s->status        = w->on_broadcast(w->user, data, s->broadcast.length, &s->failure);
    }
    cs_text_free(&s->broadcast);
    if (s->status == CS_OK) {
        s->status = start_pool(w, jobs_of(w), &s->pool, &s->failure);
    }
}

static void take_items(server *s, const cs_message *message)
{
    cs_wire from  = cs_wire_over(message->data, message->bytes);
    size_t  first = (size_t)cs_wire_u64(&from), end = (size_t)cs_wire_u64(&from);

    s->status = cs_wire_end(&from, "a number", &s->failure);
    if (s->status == CS_OK && (first >= end || end > s->workers->n_items)) {
        s->status = CS_FAIL(&s->failure, CS_EIO, NULL, "an item arrived that there is not");
    }
    if (s->status == CS_OK) {
        s->status = cs_thread_pool_give(s->pool, first, end, &s->failure);
    }
    s->index = first;
}

/* The broadcast comes once and before the items. Once something is wrong here, nothing that still
 * comes matters. */
static void handle_message(server *s, const cs_message *message)
{
    bool is_broadcast = message->kind == CS_MESSAGE_BROADCAST,
         is_items     = message->kind == CS_MESSAGE_ITEMS;

    if (s->status != CS_OK || !(is_broadcast || is_items)) {
        return;
    }
    if (is_broadcast == s->has_begun) {
        s->status = CS_FAIL(&s->failure, CS_EIO, NULL, "%s",
                            is_broadcast ? "a broadcast arrived after the last piece of it"
                                         : "items arrived before the broadcast");
    } else if (is_broadcast && message->bytes > 0) {
        cs_text_add_bytes(&s->broadcast, message->data, message->bytes);
    } else if (is_broadcast) {
        begin(s);
    } else if (s->pool != NULL) {
        take_items(s, message);
    }
}

/* Rows to rank 0. The threads are over when one of them has failed, or was asked to stop. */
static cs_status serve_rows(server *s, cs_error *err)
{
    cs_status before = s->status;
    size_t    n      = 0;
    cs_status status = pass_rows(s, ROW_S, &n, err);

    if (status == CS_OK && (before != CS_OK || (n == 0 && cs_thread_pool_is_over(s->pool)))) {
        status    = end_pool(s, err);
        s->status = before != CS_OK ? before : s->status;
    }
    return status;
}

/* Look once for messages and once for rows, and tell rank 0 what it should know. */
static cs_status serve_once(server *s, cs_error *err)
{
    cs_message message;

    CS_TRY(cs_ranks_receive(s->ranks, s->pool != NULL ? 0 : LOOK_S, &message, err));
    handle_message(s, &message);
    cs_message_free(&message);
    if (s->pool != NULL) {
        CS_TRY(serve_rows(s, err));
    }
    if (s->status != CS_OK && !s->has_told) {
        CS_TRY(report_failure(s, err));
    }
    if (is_stopped(s->workers) && !s->has_stopped) {
        s->has_stopped = true;
        CS_TRY(cs_ranks_send(s->ranks, 0, CS_MESSAGE_STOP, "", 0, err));
    }
    return CS_OK;
}

static cs_status run_server(const cs_workers *w, cs_error *err)
{
    server    s      = {.workers = w, .ranks = w->ranks};
    cs_status status = CS_OK;

    while (status == CS_OK && !s.ranks->is_over) {
        status = serve_once(&s, &s.trouble);
    }
    if (status != CS_OK) {
        (void)!end_pool(&s, NULL);
        status = report_trouble(&s, status, err);
    } else {
        status = end_pool(&s, err);
    }
    cs_text_free(&s.broadcast);
    return status;
}

/* ---- every rank ---- */

cs_status cs_workers_run(const cs_workers *workers, cs_skipped_items *skipped_p, cs_error *err)
{
    size_t jobs = jobs_of(workers);

    *skipped_p = (cs_skipped_items){0};
    if (!cs_ranks_leads(workers->ranks)) {
        return run_server(workers, err);
    }
    if (workers->ranks != NULL) {
        return run_coordinator(workers, skipped_p, err);
    }
    jobs = jobs < workers->n_items ? jobs : workers->n_items;
    return jobs > 1 ? run_threads(workers, jobs, skipped_p, err)
                    : run_here(workers, skipped_p, err);
}
