/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/replay.h -- a strategy as an algorithm: one message for each tree, edge,
 * direction and chunk.
 */
#ifndef CS_ALGORITHMS_ADAPCC_REPLAY_H
#define CS_ALGORITHMS_ADAPCC_REPLAY_H

#include "algorithms/adapcc/strategy.h"
#include "cs/algorithm.h"

typedef struct cs_strategy_options {
    const cs_strategy *strategy; /* checked, with sizes that add up to the buffer; borrowed, by the
                                    check alone */
} cs_strategy_options;

/* Not in the list of algorithms: it needs a strategy. In a reduce and a broadcast all trees have
 * the scenario's root; ranks that forward what they should add up (a_mg = 0) are refused. The plan
 * keeps a schedule of its own: O(trees x ranks) memory. */
extern const cs_algorithm cs_algorithm_strategy;

#endif
