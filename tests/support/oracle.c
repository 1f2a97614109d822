/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a slot may hold beside a chunk: nothing, or parts of several chunks added together. */
enum { NOTHING = -1, MIXTURE = -2 };

typedef struct value {
    int64_t   chunk;
    uint32_t *times; /* [n] how often each rank's contribution is in it */
} value;

typedef struct bench {
    const cs_scenario *scenario;
    const cs_plan     *plan;
    uint32_t           n, ends; /* ranks; and switches */
    value             *slots;   /* [ends][n_slots] */
    uint32_t          *times;   /* their counts, all in one block */
    value              sent, kept;
    uint8_t           *done; /* [n][n_chunks] */
    ct_judgement       judgement;
} bench;

static value *slot_at(const bench *b, uint32_t rank, uint32_t slot)
{
    cr_assert_lt(rank, b->ends);
    cr_assert_lt(slot, b->plan->n_slots);
    return &b->slots[(size_t)rank * b->plan->n_slots + slot];
}

static void set_own(const bench *b, value *v, uint32_t rank, uint32_t chunk)
{
    memset(v->times, 0, b->n * sizeof *v->times);
    if (rank < b->n) { /* a switch has nothing of its own */
        v->times[rank] = 1;
    }
    v->chunk = chunk;
}

static void set_copy(const bench *b, value *to, const value *from)
{
    memcpy(to->times, from->times, b->n * sizeof *to->times);
    to->chunk = from->chunk;
}

static void add(const bench *b, value *to, const value *from)
{
    if (from->chunk == NOTHING) {
        return;
    }
    if (to->chunk == NOTHING) {
        set_copy(b, to, from);
        return;
    }
    for (uint32_t r = 0; r < b->n; r++) {
        to->times[r] += from->times[r];
    }
    to->chunk = to->chunk == from->chunk ? to->chunk : MIXTURE;
}

static void fail(bench *b, uint32_t rank, uint32_t chunk, const char *why)
{
    if (b->judgement.is_correct) {
        b->judgement = (ct_judgement){.rank = rank, .chunk = chunk};
        snprintf(b->judgement.text, sizeof b->judgement.text, "chunk %u at rank %u: %s", chunk,
                 rank, why);
    }
}

/* Does the collective owe the chunk to the rank? */
static bool is_owed(const bench *b, uint32_t rank, uint32_t chunk)
{
    uint32_t each = b->plan->n_chunks / b->n;

    switch (b->scenario->collective) {
    case CS_ALLREDUCE: return true;
    case CS_REDUCESCATTER: return chunk >= rank * each && chunk < (rank + 1) * each;
    case CS_ALLGATHER: return chunk < rank * each || chunk >= (rank + 1) * each;
    case CS_BROADCAST: return rank != b->scenario->root;
    case CS_REDUCE: return rank == b->scenario->root;
    case CS_ALLTOALL: return chunk % each / (each / b->n) == rank && chunk / each != rank;
    case CS_COLLECTIVE_COUNT: break;
    }
    return false;
}

/* How often must the contribution of `rank` be in the final value of a chunk? */
static uint32_t wanted(const bench *b, uint32_t rank, uint32_t chunk)
{
    uint32_t each = b->plan->n_chunks / b->n;

    switch (b->scenario->collective) {
    case CS_ALLGATHER: return chunk >= rank * each && chunk < (rank + 1) * each;
    case CS_BROADCAST: return rank == b->scenario->root;
    case CS_ALLTOALL: return chunk / each == rank;
    case CS_ALLREDUCE:
    case CS_REDUCESCATTER:
    case CS_REDUCE:
    case CS_COLLECTIVE_COUNT: break;
    }
    return 1;
}

static void finish(bench *b, const value *v, uint32_t rank, uint32_t chunk)
{
    uint8_t *done = &b->done[(size_t)rank * b->plan->n_chunks + chunk];

    if (rank >= b->n) {
        fail(b, rank, chunk, "a switch");
        return;
    }
    if (!is_owed(b, rank, chunk)) {
        fail(b, rank, chunk, "not owed");
    }
    if (v->chunk != chunk) {
        fail(b, rank, chunk, "done with another chunk");
    }
    for (uint32_t r = 0; r < b->n; r++) {
        if (v->times[r] != wanted(b, r, chunk)) {
            fail(b, rank, chunk, "wrong contributions");
        }
    }
    if (*done != 0) {
        fail(b, rank, chunk, "done twice");
    }
    *done = 1;
}

static void follow(bench *b, const cs_transfer *t, uint32_t k)
{
    uint32_t chunk = t->chunk + k;
    value   *src = slot_at(b, t->src, t->src_slot + k), *dst = slot_at(b, t->dst, t->dst_slot + k);
    cs_op    op = cs_transfer_op(t);

    cr_assert_lt(chunk, b->plan->n_chunks);
    set_copy(b, &b->sent, src);
    if ((t->flags & CS_OWN_SRC) != 0) {
        set_own(b, &b->sent, t->src, chunk);
    }
    if (op == CS_OP_COPY) {
        b->kept.chunk = NOTHING;
    } else if ((t->flags & CS_OWN_DST) != 0) {
        set_own(b, &b->kept, t->dst, chunk);
    } else {
        set_copy(b, &b->kept, dst);
    }
    if (b->kept.chunk == NOTHING) {
        memset(b->kept.times, 0, b->n * sizeof *b->kept.times);
    }
    add(b, &b->kept, &b->sent);
    set_copy(b, dst, &b->kept);
    if (op == CS_OP_EXCHANGE) {
        set_copy(b, src, &b->kept);
    }
    if ((t->flags & CS_DONE_DST) != 0) {
        finish(b, dst, t->dst, chunk);
    }
    if ((t->flags & CS_DONE_SRC) != 0) {
        finish(b, src, t->src, chunk);
    }
}

static void open_bench(bench *b)
{
    size_t   cells = (size_t)b->ends * b->plan->n_slots;
    uint32_t n     = b->n;

    b->slots      = calloc(cells, sizeof *b->slots);
    b->times      = calloc((cells + 2) * n, sizeof *b->times);
    b->done       = calloc((size_t)b->ends * b->plan->n_chunks, 1);
    b->judgement  = (ct_judgement){.is_correct = true};
    b->sent.times = b->times + cells * n;
    b->kept.times = b->times + (cells + 1) * n;
    cr_assert(b->slots != NULL && b->times != NULL && b->done != NULL);
    for (size_t i = 0; i < cells; i++) {
        b->slots[i] = (value){NOTHING, b->times + i * n};
    }
    for (uint32_t c = 0; b->plan->starts_own && c < b->plan->n_chunks; c++) {
        for (uint32_t r = 0; r < n; r++) {
            set_own(b, slot_at(b, r, c), r, c);
        }
    }
}

ct_judgement ct_judge(const cs_scenario *scenario, const cs_plan *plan, const ct_stream *stream)
{
    bench b = {.scenario = scenario,
               .plan     = plan,
               .n        = scenario->cluster.n_ranks,
               .ends     = cs_plan_ends(plan, &scenario->cluster)};

    open_bench(&b);
    for (size_t i = 0; i < stream->count && b.judgement.is_correct; i++) {
        for (uint32_t k = 0; k < stream->transfers[i].span; k++) {
            follow(&b, &stream->transfers[i], k);
        }
    }
    for (uint32_t r = 0; r < b.n; r++) {
        for (uint32_t c = 0; c < plan->n_chunks; c++) {
            if (is_owed(&b, r, c) && b.done[(size_t)r * plan->n_chunks + c] == 0) {
                fail(&b, r, c, "never done");
            }
        }
    }
    free(b.slots);
    free(b.times);
    free(b.done);
    return b.judgement;
}

ct_stream ct_scene_judged(const ct_scene *scene)
{
    ct_stream    stream    = ct_stream_record(scene, 64);
    ct_judgement judgement = ct_judge(&scene->scenario, &scene->plan, &stream);

    cr_assert(judgement.is_correct, "%s: %s", ct_scene_text(scene), judgement.text);
    return stream;
}
