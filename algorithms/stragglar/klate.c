/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rounds for several late ranks: see klate.h. Here the raws and the course of a round; which
 * complete chunk goes where over the free ports is in klate_spread.c. */
#include "algorithms/stragglar/klate.h"

#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/klate_spread.h"

#include <string.h>

typedef struct builder {
    cs_klate_task   task;
    uint32_t        n, early, late, chunks, round;
    cs_arena        arena;
    cs_klate_spread spread;
    uint32_t       *root;    /* [chunks] label */
    uint32_t       *merged;  /* [chunks] raws at the root */
    uint8_t        *sent;    /* [late][chunks] */
    uint32_t       *n_sent;  /* [late] */
    uint32_t       *order;   /* [late] who sends first */
    uint32_t       *touched; /* [late] chunk whose raw was sent in this round */
    uint32_t        n_touched;
    cs_label_rounds rounds;
    cs_error       *err;
    cs_status       status;
} builder;

uint32_t cs_klate_fewest(uint32_t n, uint32_t early, uint32_t chunks)
{
    uint64_t messages = (uint64_t)chunks * (2 * (uint64_t)n - early - 1);
    uint64_t spread   = (uint64_t)chunks - 1 + cs_log2_ceil(n);
    uint64_t ports    = (messages + n - 1) / n;

    return (uint32_t)(spread > ports ? spread : ports);
}

/* Spread the late roots evenly over the chunks, one late label after the other. */
static void choose_roots(builder *b)
{
    uint64_t num = b->task.root_num, den = b->task.root_den, next = 0;

    num = num < den ? num : den;
    for (uint64_t c = 0; c < b->chunks; c++) {
        bool is_late = (c + 1) * num / den > c * num / den;
        b->root[c]   = is_late ? b->early + (uint32_t)(next++ % b->late) : (uint32_t)c % b->early;
    }
}

static cs_status prepare(builder *b, cs_error *err)
{
    size_t chunks = b->chunks, late = b->late;

    b->root    = CS_ARENA_NEW(&b->arena, uint32_t, chunks);
    b->merged  = CS_ARENA_NEW(&b->arena, uint32_t, chunks);
    b->sent    = CS_ARENA_NEW(&b->arena, uint8_t, late * chunks);
    b->n_sent  = CS_ARENA_NEW(&b->arena, uint32_t, late);
    b->order   = CS_ARENA_NEW(&b->arena, uint32_t, late);
    b->touched = CS_ARENA_NEW(&b->arena, uint32_t, late);
    if (b->root == NULL || b->merged == NULL || b->sent == NULL || b->n_sent == NULL ||
        b->order == NULL || b->touched == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for %u late ranks", b->late);
    }
    choose_roots(b);
    return cs_klate_spread_start(&b->spread, b->n, b->chunks, &b->arena, err);
}

static bool has_come(const builder *b, uint32_t label)
{
    return label < b->early || b->task.arrival == NULL ||
           b->task.arrival[label - b->early] <= b->round;
}

static void add(builder *b, uint32_t src, uint32_t dst, uint32_t chunk, cs_label_kind kind)
{
    if (b->status == CS_OK) {
        b->status =
            cs_label_rounds_add(&b->rounds, (cs_label_transfer){src, dst, chunk, kind}, b->err);
    }
}

/* Where the raw of late label i to this chunk may go now, or CS_NO_LABEL. */
static uint32_t raw_target(const builder *b, uint32_t i, uint32_t chunk)
{
    uint32_t root = b->root[chunk], owner = chunk % b->early;
    bool     is_root = root == b->early + i;
    uint32_t target  = is_root ? owner : root;

    if (b->sent[(size_t)i * b->chunks + chunk] != 0 || b->spread.gets[target] ||
        (is_root && b->merged[chunk] + 1 < b->late) || !has_come(b, target)) {
        return CS_NO_LABEL;
    }
    return target;
}

/* The chunk whose raw label i sends: most raws merged, a late root counting as one, its own root
 * first of all; then the lowest. */
static uint32_t choose_raw(const builder *b, uint32_t i, uint32_t *target_p)
{
    uint32_t best = CS_NO_LABEL, most = 0;

    for (uint32_t c = 0; c < b->chunks; c++) {
        uint32_t target = raw_target(b, i, c);
        if (target == CS_NO_LABEL) {
            continue;
        }
        bool     is_root = b->root[c] == b->early + i;
        uint32_t value   = is_root ? b->late : b->merged[c] + (b->root[c] >= b->early);
        if (best == CS_NO_LABEL || value > most) {
            best      = c;
            most      = value;
            *target_p = target;
        }
    }
    return best;
}

static void send_raw(builder *b, uint32_t i)
{
    cs_klate_spread *s      = &b->spread;
    uint32_t         target = 0, label = b->early + i, chunk = choose_raw(b, i, &target);

    if (chunk == CS_NO_LABEL) {
        return;
    }
    bool completes = target == chunk % b->early && b->merged[chunk] + 1 == b->late;
    bool exchanges = completes && !s->sends[target] && !s->gets[label];

    s->sends[label] = s->gets[target]      = true;
    b->sent[(size_t)i * b->chunks + chunk] = 1;
    b->n_sent[i]++;
    b->touched[b->n_touched++] = chunk;
    add(b, label, target, chunk,
        exchanges   ? CS_LABEL_EXCHANGE
        : completes ? CS_LABEL_LAST
                    : CS_LABEL_RAW);
    if (completes) {
        cs_klate_spread_note(s, target, chunk);
    }
    if (exchanges) {
        s->sends[target] = s->gets[label] = true;
        cs_klate_spread_note(s, label, chunk);
    }
}

/* Late labels that have come and still have raws, most raws left first. */
static uint32_t order_late(builder *b)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < b->late; i++) {
        uint32_t at = count;
        if (!has_come(b, b->early + i) || b->n_sent[i] == b->chunks) {
            continue;
        }
        while (at > 0 && b->n_sent[b->order[at - 1]] > b->n_sent[i]) {
            b->order[at] = b->order[at - 1];
            at--;
        }
        b->order[at] = i;
        count++;
    }
    return count;
}

/* The first arrival after this round, or the round itself when all are there. */
static uint32_t next_arrival(const builder *b)
{
    uint32_t next = b->round;

    for (uint32_t i = 0; i < b->late; i++) {
        if (!has_come(b, b->early + i) && (next == b->round || b->task.arrival[i] < next)) {
            next = b->task.arrival[i];
        }
    }
    return next;
}

static cs_status add_round(builder *b, cs_error *err)
{
    size_t           before = b->rounds.n_transfers;
    cs_klate_spread *s      = &b->spread;

    memset(s->sends, 0, b->n * sizeof *s->sends);
    memset(s->gets, 0, b->n * sizeof *s->gets);
    for (uint32_t label = b->early; label < b->n; label++) {
        s->is_away[label] = !has_come(b, label);
    }
    b->n_touched   = 0;
    uint32_t count = order_late(b);
    for (uint32_t i = 0; i < count; i++) {
        send_raw(b, b->order[i]);
    }
    uint32_t pairs = cs_klate_spread_round(s);
    for (uint32_t i = 0; i < pairs; i++) {
        add(b, s->pairs[i].src, s->pairs[i].dst, s->pairs[i].chunk, CS_LABEL_COPY);
    }
    for (uint32_t i = 0; i < b->n_touched; i++) {
        b->merged[b->touched[i]]++;
    }
    cs_klate_spread_end(s);
    if (b->status != CS_OK) {
        return b->status;
    }
    if (b->rounds.n_transfers > before) {
        b->round++;
        return cs_label_rounds_end(&b->rounds, err);
    }
    uint32_t next = next_arrival(b);
    if (next == b->round) {
        return CS_FAIL(err, CS_EINTERNAL, "algorithm.options.late_ranks",
                       "round %u of %u late ranks brings nothing", b->round, b->late);
    }
    b->round = next;
    return CS_OK;
}

cs_status cs_klate_build(const cs_klate_task *task, cs_klate *klate_p, cs_error *err)
{
    builder              b     = {.task   = *task,
                                  .n      = task->n,
                                  .early  = task->early,
                                  .late   = task->n - task->early,
                                  .chunks = task->early * task->parts,
                                  .err    = err};
    const cs_label_shape shape = {.n = b.n, .early = b.early, .chunks = b.chunks};

    cs_status status = prepare(&b, err);
    while (status == CS_OK && b.spread.n_missing > 0) {
        status = add_round(&b, err);
    }
    if (status == CS_OK) {
        status = cs_label_rounds_check(&b.rounds, &shape, err);
    }
    if (status == CS_OK) {
        klate_p->ticks = b.round;
    }
    cs_arena_free(&b.arena);
    return cs_label_rounds_give(status, &b.rounds, &klate_p->rounds);
}
