/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/adapcc.h -- the options of the algorithm `adapcc`, and the trees that they ask
 * for. */
#ifndef CS_ALGORITHMS_ADAPCC_ADAPCC_H
#define CS_ALGORITHMS_ADAPCC_ADAPCC_H

#include "algorithms/adapcc/synthesize.h"
#include "cs/algorithm.h"

/* The options of `adapcc`. */
typedef struct cs_adapcc_options {
    char     strategy[CS_OPTION_TEXT_BYTES]; /* the name of a file of trees; "": they are made */
    char     fingerprint[17];                /* of what it holds */
    uint32_t trees;                          /* M */
    uint32_t chunk;                          /* bytes or CS_AUTO */
    int      synthesizer;                    /* cs_synthesizer */
    uint32_t moves;
    double   solver_s; /* that a solver may take */
    uint32_t solver_nodes;
    int      cost;                      /* which is lowered */
    int      forward;                   /* 1: ranks may forward */
    int      relay, volumes, join, rpc; /* of cs_late_control, as all that follows */
    double   rpc_s, cycle_s;
    bool     one_starts, exclude;

    /* What the file holds: who reads `strategy` sets it, and keeps it while the options are
     * checked. */
    const cs_strategy_file *file;
} cs_adapcc_options;

extern const cs_algorithm cs_algorithm_adapcc;

/* What trees are made for to lower. */
cs_cost_model cs_adapcc_cost_model(const cs_adapcc_options *options);

/* Make trees as the options say, for the scenario's collective, size and (where it has one) root.
 * Every "auto" in the options becomes what was chosen; the same trees come of those once more. The
 * caller frees the strategy, also after a failure. */
CS_MUST_CHECK cs_status cs_adapcc_synthesize(const cs_scenario *scenario, const cs_logical *logical,
                                             cs_adapcc_options *options, cs_strategy *strategy,
                                             cs_synthesis_result *result, cs_error *err);

#endif
