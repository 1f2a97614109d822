/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/adapcc/behaviour.h"

#include <string.h>

void cs_behaviours_of(const cs_strategy *strategy, uint32_t m, const bool *active, bool reduces,
                      cs_behaviour *behaviours)
{
    const cs_strategy_tree *tree = &strategy->trees[m];

    memset(behaviours, 0, strategy->n_ranks * sizeof *behaviours);
    for (uint32_t i = strategy->n_members; i-- > 0;) {
        uint32_t      g       = tree->order[i];
        cs_behaviour *b       = &behaviours[g];
        bool          may_add = reduces && (tree->aggregates[g] || i == 0);

        b->is_active  = active[g];
        b->has_recv   = b->n_received > 0;
        b->has_kernel = may_add && b->has_recv && (b->is_active || b->n_received > 1);
        b->has_send   = i > 0 && (b->is_active || b->has_recv);
        b->can_join   = may_add && b->has_recv && !b->is_active;
        if (b->has_send) {
            behaviours[tree->parent[g]].n_received +=
                b->has_kernel ? 1 : b->n_received + b->is_active;
        }
    }
}

uint64_t cs_join_chunk(const cs_behaviour *behaviour, uint64_t n_started, uint64_t n_chunks)
{
    return behaviour->can_join && n_started < n_chunks ? n_started : n_chunks;
}

cs_behaviour cs_behaviour_joined(cs_behaviour behaviour)
{
    behaviour.is_active  = true;
    behaviour.has_kernel = true;
    behaviour.can_join   = false;
    return behaviour;
}

uint64_t cs_chunks_bytes(const cs_strategy_tree *tree, uint64_t c0)
{
    return c0 >= cs_tree_n_chunks(tree) ? tree->size_bytes : c0 * tree->chunk_bytes;
}
