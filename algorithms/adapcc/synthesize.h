/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/synthesize.h -- trees for a topology, a collective and a size.
 *
 *   heuristic  builds families of trees over the servers (plans.h), each with stars and with chains
 *              inside servers and with the chunk that suits it; then improves the best of them by
 *              moves of servers, and of bytes from one tree to another. To some thousand ranks.
 *   packing    takes many trees of all families, and those of the heuristic, and shares the buffer
 *              out among at most M of them by a linear program with binary variables (GLPK).
 *   milp       the trees over servers themselves by such a program, with equal shares (GLPK). To
 *              some ten servers.
 *   code       what the released program does: servers in descending order of rate times latency to
 *              the next one, a binary heap over them per tree, rotated by one, chains inside
 *              servers, at most as many trees as servers, chunks of 4 MiB.
 *
 * packing and milp start from what the heuristic finds, and are never worse by `model`.
 *
 * Source: X. Zhao et al., "AdapCC", ICDCS 2024, section IV-C, and its released program (par-trees);
 * heuristic, packing and the form of milp are the project's (sim/doc/adapcc.md).
 */
#ifndef CS_ALGORITHMS_ADAPCC_SYNTHESIZE_H
#define CS_ALGORITHMS_ADAPCC_SYNTHESIZE_H

#include "algorithms/adapcc/lp.h"
#include "algorithms/adapcc/plans.h"

/* In the order of the options' choices: X(id, name). */
#define CS_SYNTHESIZERS(X)  \
    X(HEURISTIC, heuristic) \
    X(PACKING, packing)     \
    X(MILP, milp)           \
    X(CODE, code)

typedef enum cs_synthesizer {
#define X(id, name) CS_SYNTHESIZE_##id,
    CS_SYNTHESIZERS(X)
#undef X
} cs_synthesizer;

/* "packing". Static storage. */
const char *cs_synthesizer_name(cs_synthesizer synthesizer);

typedef struct cs_synthesis {
    const cs_logical *logical;
    cs_collective     collective; /* cs_cost_takes() */
    uint32_t          root;       /* of every tree, or CS_ANY_ROOT: each has its own */
    uint64_t          bytes;
    uint32_t          n_trees;     /* at most; 1 .. CS_STRATEGY_MAX_TREES */
    uint64_t          chunk_bytes; /* 0: the best, 4 MiB (code) */
    uint32_t          n_moves;     /* that the heuristic tries after the families */
    uint64_t          seed;        /* of the moves */
    cs_synthesizer    by;
    cs_cost_model     model;       /* whose time the heuristic lowers */
    bool              may_forward; /* ranks may pass on what they receive instead of adding it up
                                      (a_mg = 0) where this lowers it further: heuristic */
    double   solver_s;             /* that GLPK may take, > 0 */
    uint32_t solver_nodes;         /* of branch and bound, >= 1 */
} cs_synthesis;

/* What came of it. */
typedef struct cs_synthesis_result {
    double    cost_s;     /* the strategy's time by the model */
    bool      has_solver; /* the rest is of GLPK's program */
    cs_lp_end end;
    double    objective_s, bound_s; /* of the best solution; what none of the program's is below */
    uint32_t  n_rows, n_columns;
} cs_synthesis_result;

/* Make a strategy, checked, with its sizes; the caller frees it, also after a failure. The same for
 * the same request, unless a solver is ended by its time. The heuristic takes some 300 evaluations,
 * and one a move (cs_cost_s). Refuses packing and milp where GLPK is missing (CS_ENOTSUP), and
 * milp for more servers than it is made for. */
CS_MUST_CHECK cs_status cs_synthesize(const cs_synthesis *request, cs_strategy *strategy,
                                      cs_synthesis_result *result, cs_error *err);

/* For synthesisers. The best chunk for a strategy with sizes, which is left set: the one that is
 * asked for, else powers of two from 256 KiB to 16 MiB, then some between them. Its cost. */
double cs_synthesize_chunk(const cs_synthesis *request, cs_cost *cost, cs_strategy *strategy);

/* GLPK's programs. They begin with the heuristic's trees, which are `known`, checked; where there
 * is nothing to choose, has_solver stays false. */
typedef cs_status  cs_synthesize_from(const cs_synthesis *request, const cs_strategy *known,
                                      cs_strategy *strategy, cs_synthesis_result *result,
                                      cs_error *err);
cs_synthesize_from cs_synthesize_packing, cs_synthesize_milp;

/* What is too large for milp (CS_ENOTSUP). */
CS_MUST_CHECK cs_status cs_synthesize_refuse_milp(const cs_synthesis *request, cs_error *err);

#endif
