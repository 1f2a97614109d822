/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/cost.h -- how long a strategy takes by AdapCC's cost models, and what no
 * strategy can be faster than.
 *
 * t(m,e) is the time of a chunk C_m on an edge that other flows share, K_m the number of chunks of
 * tree m, h the time at which the first chunk of a tree is everywhere, Tb the time between chunks.
 *
 *   LITERAL       the paper's equations (2) to (6): h + K Tb; the flows of one pair of NICs (or of
 *                 one NVLink) share it, those of one NIC and several others do not; Tb is the
 *                 largest difference of ready times at the ends of an edge, waiting included
 *   LITERAL_K1    the same with (K - 1) Tb, since h holds the first chunk
 *   PORT_SERVICE  h + (K - 1) Tb; flows share the ports, too, and Tb is the largest t(m,e)
 *   VOLUME        max(W, ser) + max(0, fill - the longest chunk), where
 *                   W    = the longest time that a port or link is busy with all its bytes, and
 *                          one alpha for every chunk of the tree with most of them
 *                   ser  = the longest time that an edge takes for the chunks of a tree, one after
 *                          the other and alone
 *                   fill = the longest way of a first chunk to the root and back, alone
 *                 Where a transfer holds the ports of both its ends (cs_logical.holds_both), each
 *                 is busy with it for as long as the slower one, and with alpha for each chunk.
 *                 The way of a first chunk is counted as if no other chunk were under way: by that
 *                 it is too short where many trees of many edges share ports.
 *   TURNS         in a turn every edge carries a chunk, and a chunk passes one edge a turn: the sum
 *                 over all turns of the longest time that a port or link is busy with what it has
 *                 in the turn, and of one alpha. On models whose ports are shared a replay is this,
 *                 but that ports with less to do may be a turn ahead. Chunks of a tree count as
 *                 equal. Where a transfer holds both ports, cs_turns_cost_s() (turns.h) counts what
 *                 such a replay takes.
 *
 * Source: X. Zhao et al., "AdapCC", ICDCS 2024, section IV-C, equations (1) to (6); PORT_SERVICE,
 * VOLUME and TURNS are the project's (sim/doc/adapcc.md).
 */
#ifndef CS_ALGORITHMS_ADAPCC_COST_H
#define CS_ALGORITHMS_ADAPCC_COST_H

#include "algorithms/adapcc/strategy.h"

/* Keys of results, in the order in which they are printed. */
#define CS_COST_MODELS(X)         \
    X(LITERAL, literal)           \
    X(LITERAL_K1, literal_k1)     \
    X(PORT_SERVICE, port_service) \
    X(VOLUME, volume)             \
    X(TURNS, turns)

typedef enum cs_cost_model {
#define X(id, name) CS_COST_##id,
    CS_COST_MODELS(X)
#undef X
        CS_COST_MODEL_COUNT
} cs_cost_model;

/* "port_service". Static storage. */
const char *cs_cost_name(cs_cost_model model);

/* What trees can be evaluated for: their edges go up, down, or both. */
static inline bool cs_cost_takes(cs_collective collective)
{
    return collective == CS_ALLREDUCE || collective == CS_REDUCE || collective == CS_BROADCAST;
}

/* An evaluator for one topology, which is borrowed: memory that is used again by every evaluation.
 * For one thread at a time. */
typedef struct cs_cost cs_cost;

/* For strategies of at most so many trees. The caller owns it. O(ranks x trees) memory. */
CS_MUST_CHECK cs_status cs_cost_open(const cs_logical *logical, uint32_t n_trees, cs_cost **cost_p,
                                     cs_error *err);
void                    cs_cost_close(cs_cost *cost);

/* Seconds. `strategy` is checked and fits the topology, the collective is one that
 * cs_cost_takes(). O(trees x ranks); TURNS, where trees differ in their numbers of chunks or have
 * fewer than turns until the last edge begins, O(edges of trees x those turns). */
double cs_cost_s(cs_cost *cost, const cs_strategy *strategy, cs_collective collective,
                 cs_cost_model model);

/* What a tree asks of a port or a link: how long this is busy with its bytes. */
typedef struct cs_cost_load {
    uint64_t resource; /* the same number for the same port or link of a topology */
    double   busy_s;
} cs_cost_load;

/* What VOLUME counts of tree m alone, with its size and chunk. `loads` is the evaluator's, until it
 * is used again. */
typedef struct cs_cost_tree {
    double              fill_s, chunk_s; /* the way of a first chunk; the longest one's edge */
    double              alpha_s;         /* that every chunk pays */
    size_t              n_loads;
    const cs_cost_load *loads;
} cs_cost_tree;

/* O(ranks + ports). */
cs_cost_tree cs_cost_of_tree(cs_cost *cost, const cs_strategy *strategy, uint32_t m,
                             cs_collective collective);

#define CS_ANY_ROOT UINT32_MAX

/* A time that no strategy of trees is faster than, whatever its sizes, chunks and flags, by bytes
 * alone; with a root, none whose trees all have that one (allreduce needs none). It is the larger
 * one of two, whose nodes are servers with their NICs, or GPUs with all their links. A tree over N
 * nodes has N - 1 edges between them at least, and one at every node. With B_i for what node i
 * sends and receives in a second and S for the bytes of a buffer, allreduce  T >= S max(1 / min B,
 * 2 (N - 1) / sum B) reduce     T >= S max((N - 1) / sum B, 1 / (2 min B), (k - 1) / (B_1 + .. +
 * B_k) for the k slowest): node i is the root for a part rho_i of the bytes, sends the rest at
 * least and receives that part, and all parts are 1. Without a choice of the root: T >= S max((N -
 * 1) / sum B, 1 / min B) broadcast  the same with both directions exchanged. Fails with CS_ENOMEM
 * alone. O(ranks x GPUs of a server). */
CS_MUST_CHECK cs_status cs_strategy_bound(const cs_logical *logical, cs_collective collective,
                                          uint64_t bytes, uint32_t root, double *bound_s_p,
                                          cs_error *err);

#endif
