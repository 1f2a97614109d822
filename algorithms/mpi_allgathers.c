/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AllGathers as MPI libraries do them inside a server: a broadcast from every rank, all at once
 * (ibcast_linear, ibcast_knomial, ibcast_btdd, ibcast_btdh), and recursive doubling
 * (iallgather_rd).
 *
 * Step by step for all roots; v is a rank's number as its root sees it.
 *   linear    to all others in the order of their ranks
 *   knomial   v = (rank - root) mod n; in distances k^i, largest first, k = 4: from v (a multiple
 *             of k d) to v + d, v + 2d, .. v + (k-1) d
 *   doubling  (BTDD) root and rank 0 change places; distances 1, 2, 4, ..: from v < d to v + d
 *   halving   (BTDH) v = (rank - root) mod n; distances .., 4, 2, 1: from v (a multiple of 2d) to
 *             v + d
 *   pairwise  no broadcasts: recursive doubling, n a power of two; in step i the ranks r and
 *             r xor 2^i exchange all that they have
 * A rank keeps block c in slot c. An iterator: O(1) state, no allocation.
 *
 * Source: table I of Parallel Rings; Open MPI's coll/libnbc; R. Thakur, R. Rabenseifner, W. Gropp,
 * IJHPCA 19 (2005).
 */
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <assert.h>

enum { K = 4 };

typedef enum kind { LINEAR, KNOMIAL, DOUBLING, HALVING, PAIRWISE } kind;

typedef struct gather {
    const cs_scenario *scenario;
    kind               kind;
    uint32_t           n, steps, step, distance;
    uint32_t           round;      /* steps so far in which somebody sent */
    uint32_t           root, from; /* the next root, and v of the next sender */
    bool               has_sent;   /* somebody, in this step */
} gather;

/* Levels of a tree with k branches at every level. */
static uint32_t levels(uint32_t n, uint32_t k)
{
    uint32_t count = 0;

    for (uint64_t reach = 1; reach < n; reach *= k) {
        count++;
    }
    return count;
}

static uint32_t steps_of(kind what, uint32_t n)
{
    switch (what) {
    case LINEAR: return n - 1;
    case KNOMIAL: return (K - 1) * levels(n, K);
    case DOUBLING:
    case HALVING:
    case PAIRWISE: break;
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
static uint32_t distance_of(const gather *b)
{
    switch (b->kind) {
    case LINEAR: return b->step + 1;
    case KNOMIAL: return power(K, levels(b->n, K) - 1 - b->step / (K - 1));
    case HALVING: return power(2, b->steps - 1 - b->step);
    case DOUBLING:
    case PAIRWISE: break;
    }
    return power(2, b->step);
}

/* Steps in which somebody sends: those of a k-nomial tree may reach beyond n. */
static uint32_t rounds_of(kind what, uint32_t n)
{
    uint32_t count = steps_of(what, n);

    for (uint32_t level = 0; what == KNOMIAL && level < levels(n, K); level++) {
        for (uint32_t j = 1; j < K; j++) {
            count -= (uint64_t)j * power(K, level) >= n;
        }
    }
    return count;
}

static cs_status gather_check(const cs_scenario *scenario, const char *algorithm, kind what,
                              cs_plan *plan, cs_error *err)
{
    uint32_t n        = scenario->cluster.n_ranks;
    bool     is_pairs = what == PAIRWISE;

    if (is_pairs && (n & (n - 1)) != 0) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.ranks", "%s needs a power of two, got %u ranks",
                       algorithm, n);
    }
    CS_TRY(cs_accept_slots(scenario, algorithm, n, err));
    *plan = (cs_plan){.n_chunks = n,
                      .n_slots  = n,
                      .n_rounds = rounds_of(what, n),
                      .uses     = cs_uses_nvlink(&scenario->cluster) |
                              (is_pairs ? (uint32_t)CS_USES_SPAN : 0),
                      .starts_own           = true,
                      .is_round_synchronous = is_pairs};
    return CS_OK;
}

static cs_status gather_open(const cs_scenario *scenario, kind what, void **state_p, cs_error *err)
{
    gather *b = CS_NEW(gather, 1);

    if (b == NULL) {
        return CS_NO_MEMORY(err, "an AllGather");
    }
    b->scenario = scenario;
    b->kind     = what;
    b->n        = scenario->cluster.n_ranks;
    b->steps    = steps_of(what, b->n);
    b->distance = distance_of(b);
    *state_p    = b;
    return CS_OK;
}

/* The rank that its root calls v. */
static uint32_t rank_of(const gather *b, uint32_t v)
{
    if (b->kind == DOUBLING) {
        return v == 0 ? b->root : v == b->root ? 0 : v;
    }
    return (v + b->root) % b->n;
}

/* The next sender of this step and root, from `b->from` on, and whom it sends to. */
static bool find_pair(const gather *b, uint32_t *src_p, uint32_t *dst_p)
{
    uint32_t d = b->distance, v = b->from, to = v + d;
    bool     sends = true;

    switch (b->kind) {
    case LINEAR:
        *src_p = b->root;
        *dst_p = b->step + (b->step >= b->root);
        return true;
    case PAIRWISE:
        *src_p = b->root;
        *dst_p = b->root ^ d;
        return true;
    case KNOMIAL:
        to    = v + (b->step % (K - 1) + 1) * d;
        sends = v % (K * d) == 0;
        break;
    case DOUBLING: sends = v < d; break;
    case HALVING: sends = v % (2 * d) == 0; break;
    }
    if (!sends || to >= b->n) {
        return false;
    }
    *src_p = rank_of(b, v);
    *dst_p = rank_of(b, to);
    return true;
}

/* How many values of v are worth a look in this step, and how far they lie apart. */
static uint32_t end_of_senders(const gather *b)
{
    bool is_one = b->kind == LINEAR || b->kind == PAIRWISE;
    return is_one ? 1 : b->kind == DOUBLING ? b->distance : b->n;
}

static uint32_t stride(const gather *b)
{
    return b->kind == KNOMIAL ? K * b->distance : b->kind == HALVING ? 2 * b->distance : 1;
}

static cs_transfer transfer(const gather *b, uint32_t src, uint32_t dst)
{
    const cs_scenario *s     = b->scenario;
    bool               many  = b->kind == PAIRWISE;
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
static void next_place(gather *b)
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

static void gather_next_block(void *state, cs_block *block)
{
    gather  *b = state;
    uint32_t src, dst;

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

/* check() and open() of one kind. */
#define HOOKS(id, kind)                                                                          \
    static cs_status id##_check(const cs_scenario *scenario, void *options, cs_plan *plan,       \
                                cs_error *err)                                                   \
    {                                                                                            \
        (void)options;                                                                           \
        return gather_check(scenario, #id, kind, plan, err);                                     \
    }                                                                                            \
    static cs_status id##_open(const cs_scenario *scenario, const void *options, void **state_p, \
                               cs_error *err)                                                    \
    {                                                                                            \
        (void)options;                                                                           \
        return gather_open(scenario, kind, state_p, err);                                        \
    }

HOOKS(iallgather_rd, PAIRWISE)
HOOKS(ibcast_btdd, DOUBLING)
HOOKS(ibcast_btdh, HALVING)
HOOKS(ibcast_knomial, KNOMIAL)
HOOKS(ibcast_linear, LINEAR)

/* An algorithm with these hooks. */
#define ALLGATHER(id, what, where)                                                               \
    {                                                                                            \
        .name = #id, .summary = "AllGather" what, .source = where "; table I of Parallel Rings", \
        .collectives = 1u << CS_ALLGATHER, .check = id##_check, .open = id##_open,               \
        .next_block = gather_next_block, .close = cs_free, .takes_uneven = true,                 \
    }

const cs_algorithm cs_algorithm_iallgather_rd =
    ALLGATHER(iallgather_rd, " by recursive doubling, distances 1, 2, 4 ..; n a power of two",
              "R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005)");
const cs_algorithm cs_algorithm_ibcast_btdd =
    ALLGATHER(ibcast_btdd, ": a broadcast from every rank, binomial tree, distances 1, 2, 4 ..",
              "Open MPI, coll/libnbc, binomial broadcast");
const cs_algorithm cs_algorithm_ibcast_btdh =
    ALLGATHER(ibcast_btdh, ": a broadcast from every rank, binomial tree, distances .. 4, 2, 1",
              "binomial broadcast with halving distances");
const cs_algorithm cs_algorithm_ibcast_knomial =
    ALLGATHER(ibcast_knomial, ": a broadcast from every rank over a 4-nomial tree",
              "Open MPI, coll/libnbc, k-nomial broadcast");
const cs_algorithm cs_algorithm_ibcast_linear =
    ALLGATHER(ibcast_linear, ": a broadcast from every rank, straight to all others",
              "Open MPI, coll/libnbc, linear broadcast");
