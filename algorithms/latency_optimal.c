/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AllReduce in ceil(log2 n) rounds of the whole buffer, every n, commutative operations.
 *
 * With L = ceil(log2 n) and w_k = ceil(n / 2^(L - k)): after round k - 1 rank i has the sum A
 * over the window of w_k ranks that ends at i, and B, which is A without its own contribution. w_(k
 * + 1) is 2 w_k, and then rank i needs A of rank i - w_k, or it is 2 w_k - 1, and then it needs B
 * of rank i - w_k + 1, whose window ends where the one of i begins. Either way every rank sends
 * once and receives once a round, floor(w_(k+1) / 2) ranks ahead, and adds the same to A and to B.
 *
 * All ranks send while they add, so that what is sent in round k + 1 and later must not be what is
 * being sent in round k: slot k - 1 collects what is sent in round k (A or B), slot L - 1 the
 * result, and a message of round k is added to all slots from k on. That is one message of several
 * parts of which the first one has the bytes.
 *
 * L (alpha + x), the least for synchronous rounds of n = 2^L ranks where alpha counts and x does
 * not.
 *
 * Source: A. Bar-Noy, S. Kipnis, B. Schieber, "An optimal algorithm for computing census functions
 * in message-passing systems", Parallel Processing Letters 3 (1993).
 */
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <math.h>

typedef struct latency_optimal {
    const cs_cluster *cluster;
    uint64_t          bytes;
    uint32_t          n, rounds;
    uint32_t          round, rank; /* next */
} latency_optimal;

static cs_status latency_optimal_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                       cs_error *err)
{
    uint32_t rounds = cs_log2_ceil(scenario->cluster.n_ranks);

    (void)options;
    (void)err;
    *plan = (cs_plan){.n_chunks             = 1,
                      .n_slots              = rounds,
                      .n_rounds             = rounds,
                      .uses                 = CS_USES_JOIN | cs_uses_nvlink(&scenario->cluster),
                      .is_round_synchronous = true};
    return CS_OK;
}

static cs_status latency_optimal_open(const cs_scenario *scenario, const void *options,
                                      void **state_p, cs_error *err)
{
    latency_optimal *l = CS_NEW(latency_optimal, 1);

    (void)options;
    if (l == NULL) {
        return CS_NO_MEMORY(err, "latency_optimal");
    }
    l->cluster = &scenario->cluster;
    l->bytes   = scenario->bytes;
    l->n       = scenario->cluster.n_ranks;
    l->rounds  = cs_log2_ceil(l->n);
    *state_p   = l;
    return CS_OK;
}

/* w_k: the window before round k. */
static uint32_t window(const latency_optimal *l, uint32_t k)
{
    uint32_t shift = l->rounds - k;
    return (uint32_t)(((uint64_t)l->n + ((uint64_t)1 << shift) - 1) >> shift);
}

/* Does round k send B? */
static bool leaves_own_out(const latency_optimal *l, uint32_t k)
{
    return k < l->rounds && window(l, k + 1) % 2 == 1;
}

/* The part of a message of the current round that is for the slot that round `use` sends, or, for
 * the last one, that holds the result. */
static void add_part(const latency_optimal *l, uint32_t use, uint32_t ahead, cs_block *block)
{
    bool     is_first = l->round == 0, is_b = leaves_own_out(l, use);
    uint32_t flags = use > l->round + 1 ? CS_JOIN : 0;
    uint32_t dst   = l->rank + ahead < l->n ? l->rank + ahead : l->rank + ahead - l->n;

    if (is_first) {
        flags |= CS_OWN_SRC | (is_b ? 0 : CS_OWN_DST);
    }
    if (use == l->rounds && use == l->round + 1) {
        flags |= CS_DONE_DST;
    }
    block->transfers[block->count++] =
        (cs_transfer){.src       = l->rank,
                      .dst       = dst,
                      .src_slot  = (uint16_t)(is_first ? 0 : l->round - 1),
                      .dst_slot  = (uint16_t)(use - 1),
                      .bytes     = use == l->round + 1 ? l->bytes : 0,
                      .round     = l->round,
                      .span      = 1,
                      .flags     = (uint8_t)flags,
                      .op_fabric = cs_op_fabric(is_first && is_b ? CS_OP_COPY : CS_OP_REDUCE,
                                                cs_fabric_of(l->cluster, l->rank, dst))};
}

static void latency_optimal_next_block(void *state, cs_block *block)
{
    latency_optimal *l = state;

    block->count = 0;
    while (l->round < l->rounds && block->count + (l->rounds - l->round) <= block->capacity) {
        uint32_t ahead = window(l, l->round + 1) / 2;
        for (uint32_t use = l->round + 1; use <= l->rounds; use++) {
            add_part(l, use, ahead, block);
        }
        if (++l->rank == l->n) {
            l->rank = 0;
            l->round++;
        }
    }
}

static double latency_optimal_closed_form_s(const cs_scenario *scenario, const void *options)
{
    double  bytes = (double)scenario->bytes;
    cs_pace pace;

    (void)options;
    if (!cs_pace_of_rounds(scenario, 1, &pace)) {
        return (double)NAN;
    }
    return pace.start_s +
           cs_log2_ceil(scenario->cluster.n_ranks) * (pace.alpha_s + bytes * pace.s_per_byte);
}

const cs_algorithm cs_algorithm_latency_optimal = {
    .name           = "latency_optimal",
    .summary        = "ceil(log2 n) rounds of the whole buffer, for every n",
    .source         = "A. Bar-Noy, S. Kipnis, B. Schieber, Parallel Processing Letters 3 (1993)",
    .collectives    = 1u << CS_ALLREDUCE,
    .equal_messages = 1u << CS_ALLREDUCE,
    .check          = latency_optimal_check,
    .open           = latency_optimal_open,
    .next_block     = latency_optimal_next_block,
    .close          = cs_free,
    .closed_form_s  = latency_optimal_closed_form_s,
    .takes_uneven   = true,
};
