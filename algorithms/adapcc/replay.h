/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/replay.h -- the streams of a strategy for which all ranks are waited: one
 * message for each tree, edge, direction and chunk. Hooks as cs_algorithm has them.
 *
 * In a reduce and a broadcast all trees have the scenario's root. An allgather broadcasts each
 * rank's block along all trees; an alltoall goes straight from rank to rank, without trees. The
 * turns are those of turns.h, for the model that the scenario forecasts with.
 */
#ifndef CS_ALGORITHMS_ADAPCC_REPLAY_H
#define CS_ALGORITHMS_ADAPCC_REPLAY_H

#include "algorithms/adapcc/strategy.h"
#include "cs/algorithm.h"

/* Can the engine replay these trees for the scenario? */
CS_MUST_CHECK cs_status cs_trees_fit(const cs_scenario *scenario, const cs_strategy *strategy,
                                     const cs_logical *logical, cs_error *err);

/* The strategy was checked and has sizes that add up to the buffer; NULL: none, for an alltoall,
 * which chunk_bytes >= 1 are of. With for_full_rates turns are planned as if no NIC was slow. What
 * is prepared points to none of them: O(ways) memory. */
CS_MUST_CHECK cs_status cs_trees_check(const cs_scenario *scenario, const cs_strategy *strategy,
                                       uint64_t chunk_bytes, bool for_full_rates, cs_plan *plan,
                                       cs_error *err);
CS_MUST_CHECK cs_status cs_trees_open(const void *prepared, void **state_p, cs_error *err);
void                    cs_trees_next_block(void *state, cs_block *block);
void                    cs_trees_close(void *state);
void                    cs_trees_release(void *prepared);

#endif
