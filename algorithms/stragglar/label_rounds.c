/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/label_rounds.h"

#include "base/alloc.h"
#include "base/arena.h"

#include <string.h>

cs_status cs_label_rounds_add(cs_label_rounds *rounds, cs_label_transfer transfer, cs_error *err)
{
    if (!cs_grow(&rounds->transfers, &rounds->transfer_room, rounds->n_transfers + 1, 64,
                 sizeof *rounds->transfers)) {
        return CS_NO_MEMORY(err, "%zu transfers", rounds->n_transfers + 1);
    }
    rounds->transfers[rounds->n_transfers++] = transfer;
    return CS_OK;
}

cs_status cs_label_rounds_end(cs_label_rounds *rounds, cs_error *err)
{
    if (!cs_grow(&rounds->round_end, &rounds->round_room, rounds->n_rounds + 1u, 64,
                 sizeof *rounds->round_end)) {
        return CS_NO_MEMORY(err, "%u rounds", rounds->n_rounds + 1);
    }
    rounds->round_end[rounds->n_rounds++] = rounds->n_transfers;
    return CS_OK;
}

/* The i-th to know: label 0, the late rank, label 1, 2, .. */
static uint32_t knower(uint32_t n, uint32_t i)
{
    return i == 1 ? n - 1 : i - (i > 1);
}

cs_status cs_label_rounds_one_chunk(uint32_t n, cs_label_rounds *rounds, cs_error *err)
{
    const cs_label_transfer first = {0, n - 1, 0, CS_LABEL_EXCHANGE};

    CS_TRY(cs_label_rounds_add(rounds, first, err));
    CS_TRY(cs_label_rounds_end(rounds, err));
    for (uint32_t known = 2; known < n; known *= 2) {
        for (uint32_t i = 0; i < known && known + i < n; i++) {
            const cs_label_transfer t = {knower(n, i), knower(n, known + i), 0, CS_LABEL_COPY};
            CS_TRY(cs_label_rounds_add(rounds, t, err));
        }
        CS_TRY(cs_label_rounds_end(rounds, err));
    }
    return CS_OK;
}

void cs_label_rounds_free(cs_label_rounds *rounds)
{
    cs_free(rounds->transfers);
    cs_free(rounds->round_end);
    *rounds = (cs_label_rounds){0};
}

cs_status cs_label_rounds_give(cs_status status, cs_label_rounds *rounds, cs_label_rounds *rounds_p)
{
    if (status == CS_OK) {
        *rounds_p = *rounds;
    } else {
        cs_label_rounds_free(rounds);
    }
    return status;
}

/* The state of a check. */
typedef struct checker {
    cs_label_shape shape;
    cs_arena       arena;
    uint64_t      *full;          /* bit label * chunks + chunk */
    uint32_t      *weight;        /* [late + 1][chunks] of unfinished values; row 0: the owner's */
    uint32_t      *sends, *gets;  /* [n] peer in the current round, or CS_NO_LABEL */
    uint32_t      *sent, *got;    /* [n] chunk in the current round */
    uint64_t       n_full, moved; /* complete (label, chunk) pairs, messages */
    uint32_t       round;
} checker;

/* The weight of the unfinished value that a label can have of a chunk; NULL: never one. */
static uint32_t *weight_of(checker *check, uint32_t label, uint32_t chunk)
{
    const cs_label_shape *s = &check->shape;

    if (label >= s->early) {
        return &check->weight[(size_t)(label - s->early + 1) * s->chunks + chunk];
    }
    return label == chunk % s->early ? &check->weight[chunk] : NULL;
}

static bool is_full(const checker *check, uint32_t label, uint32_t chunk)
{
    size_t bit = (size_t)label * check->shape.chunks + chunk;
    return (check->full[bit / 64] >> bit % 64 & 1u) != 0;
}

static void set_full(checker *check, uint32_t label, uint32_t chunk)
{
    size_t bit = (size_t)label * check->shape.chunks + chunk;
    check->full[bit / 64] |= (uint64_t)1 << bit % 64;
    check->n_full++;
}

static cs_status check_start(checker *check, const cs_label_shape *shape, cs_error *err)
{
    size_t chunks = shape->chunks, late = shape->n - shape->early;

    *check        = (checker){.shape = *shape};
    check->full   = CS_ARENA_NEW(&check->arena, uint64_t, (size_t)shape->n * chunks / 64 + 1);
    check->weight = CS_ARENA_NEW(&check->arena, uint32_t, (late + 1) * chunks);
    check->sends  = CS_ARENA_NEW(&check->arena, uint32_t, shape->n);
    check->gets   = CS_ARENA_NEW(&check->arena, uint32_t, shape->n);
    check->sent   = CS_ARENA_NEW(&check->arena, uint32_t, shape->n);
    check->got    = CS_ARENA_NEW(&check->arena, uint32_t, shape->n);
    if (check->full == NULL || check->weight == NULL || check->sends == NULL ||
        check->gets == NULL || check->sent == NULL || check->got == NULL) {
        return CS_NO_MEMORY(err, "checking %u labels", shape->n);
    }
    for (size_t i = 0; i < (late + 1) * chunks; i++) {
        check->weight[i] = i < chunks ? shape->early : 1;
    }
    return CS_OK;
}

/* Take the ports of one message; false when one is taken or out of range. */
static bool take_ports(checker *check, uint32_t src, uint32_t dst, uint32_t chunk)
{
    const cs_label_shape *s = &check->shape;

    if (src >= s->n || dst >= s->n || src == dst || chunk >= s->chunks ||
        check->sends[src] != CS_NO_LABEL || check->gets[dst] != CS_NO_LABEL) {
        return false;
    }
    check->sends[src] = dst;
    check->gets[dst]  = src;
    check->sent[src]  = chunk;
    check->got[dst]   = chunk;
    check->moved++;
    return true;
}

/* Do both ends have what the kind says? With the state before the round. */
static bool values_fit(checker *check, const cs_label_transfer *t)
{
    uint32_t *from = weight_of(check, t->src, t->chunk);
    uint32_t *to   = weight_of(check, t->dst, t->chunk);
    bool      have = is_full(check, t->src, t->chunk), had = is_full(check, t->dst, t->chunk);

    if (t->kind == CS_LABEL_COPY) {
        return have && !had;
    }
    if (have || had || from == NULL || to == NULL || *from == 0 || *to == 0) {
        return false;
    }
    return (*from + *to == check->shape.n) == (t->kind != CS_LABEL_RAW);
}

/* What is added in a round must not meet something else that is added to the same chunk there:
 * its result would hang on the order. */
static bool ports_fit(const checker *check, const cs_label_transfer *t)
{
    bool both    = t->kind == CS_LABEL_EXCHANGE;
    bool adds    = t->kind != CS_LABEL_COPY;
    bool meets   = check->gets[t->src] != CS_NO_LABEL && check->got[t->src] == t->chunk;
    bool onwards = check->sends[t->dst] != CS_NO_LABEL && check->sent[t->dst] == t->chunk;

    if (adds && !both && (meets || onwards)) {
        return false;
    }
    return !check->shape.is_telephone ||
           ((check->gets[t->src] == CS_NO_LABEL || check->gets[t->src] == t->dst) &&
            (check->sends[t->dst] == CS_NO_LABEL || check->sends[t->dst] == t->src));
}

static void apply(checker *check, const cs_label_transfer *t)
{
    uint32_t *from = weight_of(check, t->src, t->chunk);
    uint32_t *to   = weight_of(check, t->dst, t->chunk);

    if (t->kind != CS_LABEL_RAW) {
        set_full(check, t->dst, t->chunk);
    } else if (from != NULL && to != NULL) {
        *to += *from;
    }
    if (t->kind == CS_LABEL_EXCHANGE) {
        set_full(check, t->src, t->chunk);
    } else if (t->kind != CS_LABEL_COPY && from != NULL) {
        *from = 0;
    }
}

static bool ports_are_free(checker *check, const cs_label_transfer *t)
{
    return take_ports(check, t->src, t->dst, t->chunk) &&
           (t->kind != CS_LABEL_EXCHANGE || take_ports(check, t->dst, t->src, t->chunk));
}

static cs_status check_round(checker *check, const cs_label_transfer *transfers, size_t count,
                             cs_error *err)
{
    const cs_label_transfer *t   = transfers;
    const cs_label_transfer *end = transfers + count;

    memset(check->sends, 0xff, check->shape.n * sizeof *check->sends);
    memset(check->gets, 0xff, check->shape.n * sizeof *check->gets);
    while (t < end && ports_are_free(check, t) && values_fit(check, t)) {
        t++;
    }
    for (; t == end && count > 0; count--) {
        t = ports_fit(check, &transfers[count - 1]) ? end : &transfers[count - 1];
    }
    if (t != end) {
        return CS_FAIL(err, CS_EINTERNAL, "algorithm.options",
                       "round %u: chunk %u must not go from label %u to label %u (a bug of the "
                       "schedule generator)",
                       check->round, t->chunk, t->src, t->dst);
    }
    for (t = transfers; t < end; t++) {
        apply(check, t);
    }
    check->round++;
    return CS_OK;
}

static cs_status check_end(const checker *check, cs_error *err)
{
    const cs_label_shape *s    = &check->shape;
    uint64_t              late = s->n - s->early, all = (uint64_t)s->n * s->chunks;
    uint64_t              need = (s->n + late - 1) * s->chunks;

    if (check->n_full != all || check->moved != need) {
        return CS_FAIL(err, CS_EINTERNAL, "algorithm.options",
                       "after %u rounds %llu of %llu values are complete, with %llu messages "
                       "instead of %llu (a bug of the schedule generator)",
                       check->round, (unsigned long long)check->n_full, (unsigned long long)all,
                       (unsigned long long)check->moved, (unsigned long long)need);
    }
    return CS_OK;
}

static cs_status check_rounds(const cs_label_rounds *rounds, checker *check, cs_error *err)
{
    for (uint32_t r = 0; r < rounds->n_rounds; r++) {
        size_t                   count;
        const cs_label_transfer *transfers = cs_label_round(rounds, r, &count);
        CS_TRY(check_round(check, transfers, count, err));
    }
    return check_end(check, err);
}

cs_status cs_label_rounds_check(const cs_label_rounds *rounds, const cs_label_shape *shape,
                                cs_error *err)
{
    checker   check;
    cs_status status = check_start(&check, shape, err);

    if (status == CS_OK) {
        status = check_rounds(rounds, &check, err);
    }
    cs_arena_free(&check.arena);
    return status;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

cs_status cs_label_rounds_steps(const cs_label_rounds *rounds, const cs_label_shape *shape,
                                uint32_t *steps_p, cs_error *err)
{
    cs_arena  arena = {0};
    size_t    n = shape->n, chunks = shape->chunks;
    uint32_t *ready = CS_ARENA_NEW(&arena, uint32_t, n * chunks), steps = 0;
    uint32_t *sends = CS_ARENA_NEW(&arena, uint32_t, n), *gets = CS_ARENA_NEW(&arena, uint32_t, n);

    if (ready == NULL || sends == NULL || gets == NULL) {
        cs_arena_free(&arena);
        return CS_NO_MEMORY(err, "the steps of %u labels", shape->n);
    }
    for (size_t i = 0; i < rounds->n_transfers; i++) {
        const cs_label_transfer *t    = &rounds->transfers[i];
        uint32_t                *from = &ready[t->src * chunks + t->chunk];
        uint32_t                *to   = &ready[t->dst * chunks + t->chunk];
        uint32_t                 end  = larger(larger(sends[t->src], gets[t->dst]), *from);
        if (t->kind == CS_LABEL_EXCHANGE) {
            end           = larger(end, larger(larger(sends[t->dst], gets[t->src]), *to));
            sends[t->dst] = gets[t->src] = *from = end + 1;
        }
        end++;
        sends[t->src] = gets[t->dst] = end;
        *to                          = t->kind == CS_LABEL_COPY ? end : larger(*to, end);
        steps                        = larger(steps, end);
    }
    *steps_p = steps;
    cs_arena_free(&arena);
    return CS_OK;
}
