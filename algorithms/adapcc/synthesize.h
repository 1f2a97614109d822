/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/synthesize.h -- trees for a topology, a collective and a size.
 *
 *   heuristic  builds a dozen families of trees over the servers (chains, two chains from the root,
 *              heaps, a star; with slow servers as leaves or as a root of a single child), each
 * with stars and with chains inside servers, every tree rotated against the one before, and each
 * with the chunk that suits it; then improves the best of them by moves of servers that lower the
 * cost. To some thousand ranks. code       what the released program does: servers in descending
 * order of rate times latency to the next one, a binary heap over them per tree, rotated by one,
 * chains inside servers, at most as many trees as servers, chunks of 4 MiB.
 *
 * Source: X. Zhao et al., "AdapCC", ICDCS 2024, section IV-C, and its released program (par-trees);
 * the heuristic is the project's (sim/doc/adapcc.md).
 */
#ifndef CS_ALGORITHMS_ADAPCC_SYNTHESIZE_H
#define CS_ALGORITHMS_ADAPCC_SYNTHESIZE_H

#include "algorithms/adapcc/cost.h"

/* In the order of the options' choices. */
#define CS_SYNTHESIZERS(X)  \
    X(HEURISTIC, heuristic) \
    X(CODE, code)

typedef enum cs_synthesizer {
#define X(id, name) CS_SYNTHESIZE_##id,
    CS_SYNTHESIZERS(X)
#undef X
} cs_synthesizer;

typedef struct cs_synthesis {
    const cs_logical *logical;
    cs_collective     collective; /* cs_cost_takes() */
    uint32_t          root;       /* of every tree, or CS_ANY_ROOT: each has its own */
    uint64_t          bytes;
    uint32_t          n_trees;     /* at most; 1 .. CS_STRATEGY_MAX_TREES */
    uint64_t          chunk_bytes; /* 0: the best (heuristic), 4 MiB (code) */
    uint32_t          n_moves;     /* that the heuristic tries after the families */
    uint64_t          seed;        /* of the moves */
    cs_synthesizer    by;
    cs_cost_model     model; /* whose time the heuristic lowers */
} cs_synthesis;

/* Make a strategy, checked, with its sizes; the caller frees it, also after a failure. *cost_s_p is
 * its time by the model. The same for the same request. The heuristic takes some 300 evaluations,
 * and one a move (cs_cost_s). */
CS_MUST_CHECK cs_status cs_synthesize(const cs_synthesis *request, cs_strategy *strategy,
                                      double *cost_s_p, cs_error *err);

#endif
