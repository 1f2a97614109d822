/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/behaviour.h -- what every rank does in a tree when only some of them are ready.
 *
 * The trees stay as they are. A rank that is not active contributes nothing and relays for the
 * ranks below it; where nobody below it is active either it takes no part. A reduction follows from
 * four flags of each rank, a broadcast reaches every rank as always.
 *
 * A relay that becomes ready while the tree is at work joins from a chunk on, if that changes
 * nothing for the ranks above it: they expect as many messages of a chunk as before. So it must
 * receive and add up; a leaf, or a rank that forwards what it receives, would have to be announced.
 *
 * Source: AdapCC, section IV-C.3 and Fig. 7.
 */
#ifndef CS_ALGORITHMS_ADAPCC_BEHAVIOUR_H
#define CS_ALGORITHMS_ADAPCC_BEHAVIOUR_H

#include "algorithms/adapcc/strategy.h"

/* The behaviour tuple of a rank in a tree, and what follows from it. */
typedef struct cs_behaviour {
    bool     is_active;  /* its own tensor is in */
    bool     has_recv;   /* a child sends to it */
    bool     has_kernel; /* it adds up: what it receives, and its own where it is active */
    bool     has_send;   /* it sends to its parent */
    bool     can_join;   /* it is a relay that may become active on the way */
    uint32_t n_received; /* messages of a chunk: several of a child that does not add up */
} cs_behaviour;

/* The behaviours of all ranks in tree m, while the ranks with active[g] are ready; `reduces`: the
 * collective adds up. The root adds up whatever the tree says: nobody does it behind it. A rank
 * outside the trees does nothing. `active` and `behaviours` have n_ranks elements; the strategy was
 * checked. O(ranks). */
void cs_behaviours_of(const cs_strategy *strategy, uint32_t m, const bool *active, bool reduces,
                      cs_behaviour *behaviours);

/* c0 of a relay that becomes ready when its first n_started chunks of a tree are on their way
 * through it: chunks c0 .. contain its data, phase 2 broadcasts those before. n_chunks: all of
 * them, since it cannot join. */
uint64_t cs_join_chunk(const cs_behaviour *behaviour, uint64_t n_started, uint64_t n_chunks);

/* The behaviour from c0 on of a relay that can join: it is active and adds up. Nobody else's
 * changes. */
cs_behaviour cs_behaviour_joined(cs_behaviour behaviour);

/* The bytes of the tree's first c0 chunks: what phase 2 broadcasts of a relay. */
uint64_t cs_chunks_bytes(const cs_strategy_tree *tree, uint64_t c0);

#endif
