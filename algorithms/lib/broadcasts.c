/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Broadcasts from every rank at once: see broadcasts.h. */
#include "algorithms/lib/broadcasts.h"

#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <assert.h>

enum { K = 4 };

typedef struct broadcasts {
    const cs_scenario *scenario;
    cs_broadcasts_kind kind;
    uint32_t           n, steps, step, distance;
    uint32_t           round;      /* steps so far in which somebody sent */
    uint32_t           root, from; /* the next root, and v of the next sender */
    bool               has_sent;   /* somebody, in this step */
} broadcasts;

/* Levels of a tree with k branches at every level. */
static uint32_t levels(uint32_t n, uint32_t k)
{
    uint32_t count = 0;

    for (uint64_t reach = 1; reach < n; reach *= k) {
        count++;
    }
    return count;
}

static uint32_t steps_of(cs_broadcasts_kind kind, uint32_t n)
{
    switch (kind) {
    case CS_BROADCASTS_LINEAR: return n - 1;
    case CS_BROADCASTS_KNOMIAL: return (K - 1) * levels(n, K);
    case CS_BROADCASTS_DOUBLING:
    case CS_BROADCASTS_HALVING:
    case CS_BROADCASTS_PAIRWISE: break;
    }
    return levels(n, 2);
}

static uint32_t power(uint32_t k, uint32_t exponent)
{
    uint32_t result = 1;

    while (exponent-- > 0) {
        result *= k;
    }
    return result;
}

/* How far a block goes in a step. */
static uint32_t distance_of(const broadcasts *b)
{
    switch (b->kind) {
    case CS_BROADCASTS_LINEAR: return b->step + 1;
    case CS_BROADCASTS_KNOMIAL: return power(K, levels(b->n, K) - 1 - b->step / (K - 1));
    case CS_BROADCASTS_HALVING: return power(2, b->steps - 1 - b->step);
    case CS_BROADCASTS_DOUBLING:
    case CS_BROADCASTS_PAIRWISE: break;
    }
    return power(2, b->step);
}

/* Steps in which somebody sends: those of a k-nomial tree may reach beyond n. */
static uint32_t rounds_of(cs_broadcasts_kind kind, uint32_t n)
{
    uint32_t count = steps_of(kind, n);

    for (uint32_t level = 0; kind == CS_BROADCASTS_KNOMIAL && level < levels(n, K); level++) {
        for (uint32_t j = 1; j < K; j++) {
            count -= (uint64_t)j * power(K, level) >= n;
        }
    }
    return count;
}

cs_status cs_broadcasts_check(const cs_scenario *scenario, const char *algorithm,
                              cs_broadcasts_kind kind, cs_plan *plan, cs_error *err)
{
    uint32_t  n        = scenario->cluster.n_ranks;
    bool      is_pairs = kind == CS_BROADCASTS_PAIRWISE;
    cs_status status   = cs_accept_collective(scenario, algorithm, 1u << CS_ALLGATHER, err);

    if (status == CS_OK && is_pairs && (n & (n - 1)) != 0) {
        status = CS_FAIL(err, CS_ENOTSUP, "cluster.ranks", "%s needs a power of two, got %u ranks",
                         algorithm, n);
    }
    if (status == CS_OK) {
        status = cs_accept_slots(scenario, algorithm, n, err);
    }
    if (status == CS_OK) {
        *plan = (cs_plan){.n_chunks = n,
                          .n_slots  = n,
                          .n_rounds = rounds_of(kind, n),
                          .uses     = cs_uses_nvlink(&scenario->cluster) |
                                  (is_pairs ? (uint32_t)CS_USES_SPAN : 0),
                          .starts_own           = true,
                          .is_round_synchronous = is_pairs};
    }
    return status;
}

cs_status cs_broadcasts_open(const cs_scenario *scenario, cs_broadcasts_kind kind, void **state_p,
                             cs_error *err)
{
    broadcasts *b = CS_NEW(broadcasts, 1);

    if (b == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for an AllGather");
    }
    b->scenario = scenario;
    b->kind     = kind;
    b->n        = scenario->cluster.n_ranks;
    b->steps    = steps_of(kind, b->n);
    b->distance = distance_of(b);
    *state_p    = b;
    return CS_OK;
}

/* The rank that its root calls v. */
static uint32_t rank_of(const broadcasts *b, uint32_t v)
{
    if (b->kind == CS_BROADCASTS_DOUBLING) {
        return v == 0 ? b->root : v == b->root ? 0 : v;
    }
    return (v + b->root) % b->n;
}

/* The next sender of this step and root, from `b->from` on, and whom it sends to. */
static bool find_pair(const broadcasts *b, uint32_t *src_p, uint32_t *dst_p)
{
    uint32_t d = b->distance, v = b->from, to = v + d;
    bool     sends = true;

    switch (b->kind) {
    case CS_BROADCASTS_LINEAR:
        *src_p = b->root;
        *dst_p = b->step + (b->step >= b->root);
        return true;
    case CS_BROADCASTS_PAIRWISE:
        *src_p = b->root;
        *dst_p = b->root ^ d;
        return true;
    case CS_BROADCASTS_KNOMIAL:
        to    = v + (b->step % (K - 1) + 1) * d;
        sends = v % (K * d) == 0;
        break;
    case CS_BROADCASTS_DOUBLING: sends = v < d; break;
    case CS_BROADCASTS_HALVING: sends = v % (2 * d) == 0; break;
    }
    if (!sends || to >= b->n) {
        return false;
    }
    *src_p = rank_of(b, v);
    *dst_p = rank_of(b, to);
    return true;
}

/* How many values of v are worth a look in this step, and how far they lie apart. */
static uint32_t end_of_senders(const broadcasts *b)
{
    bool is_one = b->kind == CS_BROADCASTS_LINEAR || b->kind == CS_BROADCASTS_PAIRWISE;
    return is_one ? 1 : b->kind == CS_BROADCASTS_DOUBLING ? b->distance : b->n;
}

static uint32_t stride(const broadcasts *b)
{
    return b->kind == CS_BROADCASTS_KNOMIAL   ? K * b->distance
           : b->kind == CS_BROADCASTS_HALVING ? 2 * b->distance
                                              : 1;
}

static cs_transfer transfer(const broadcasts *b, uint32_t src, uint32_t dst)
{
    const cs_scenario *s     = b->scenario;
    bool               many  = b->kind == CS_BROADCASTS_PAIRWISE;
    uint32_t           first = many ? src / b->distance * b->distance : b->root;
    uint32_t           count = many ? b->distance : 1;

    return (cs_transfer){.src      = src,
                         .dst      = dst,
                         .chunk    = first,
                         .src_slot = (uint16_t)first,
                         .dst_slot = (uint16_t)first,
                         .bytes    = cs_split_range(s->bytes, b->n, first, count),
                         .round    = b->round,
                         .span     = (uint16_t)count,
                         .flags    = CS_DONE_DST,
                         .op_fabric =
                             cs_op_fabric(CS_OP_COPY, cs_fabric_of(&s->cluster, src, dst))};
}

/* All roots for one sender before the next one: no root's tree holds up the others. */
static void next_place(broadcasts *b)
{
    if (++b->root < b->n) {
        return;
    }
    b->root = 0;
    b->from += stride(b);
    if (b->from < end_of_senders(b)) {
        return;
    }
    b->from = 0;
    b->round += b->has_sent;
    b->has_sent = false;
    b->step++;
    b->distance = b->step < b->steps ? distance_of(b) : 0;
}

void cs_broadcasts_next(void *state, cs_block *block)
{
    broadcasts *b = state;
    uint32_t    src, dst;

    assert(b->n >= 2);
    block->count = 0;
    while (b->step < b->steps && block->count < block->capacity) {
        if (find_pair(b, &src, &dst)) {
            block->transfers[block->count++] = transfer(b, src, dst);
            b->has_sent                      = true;
        }
        next_place(b);
    }
}
