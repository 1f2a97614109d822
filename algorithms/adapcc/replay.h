/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/replay.h -- a strategy as an algorithm: one message for each tree, edge,
 * direction and chunk.
 */
#ifndef CS_ALGORITHMS_ADAPCC_REPLAY_H
#define CS_ALGORITHMS_ADAPCC_REPLAY_H

#include "algorithms/adapcc/strategy.h"
#include "cs/algorithm.h"

typedef struct cs_strategy_options {
    const cs_strategy *strategy; /* checked, with sizes that add up to the buffer; borrowed, by
                                    the check alone. NULL: none, for an alltoall */
    uint64_t chunk_bytes;        /* of an alltoall, >= 1 */
    bool     for_full_rates;     /* turns are planned as if no NIC was slow: the schedule is the one
                                    without the faults */
} cs_strategy_options;

/* Not in the list of algorithms: it needs a strategy. In a reduce and a broadcast all trees have
 * the scenario's root. An allgather broadcasts each rank's block along all trees; an alltoall goes
 * straight from rank to rank, without trees. The turns are those of turns.h, for the model that the
 * scenario forecasts with. The plan keeps a schedule of its own: O(ways) memory. */
extern const cs_algorithm cs_algorithm_strategy;

#endif
