/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ring needs two places for the part that passes by and one for what stays; the circulant graph
 * works on all chunks at once, each in a slot of its own. */
#include "algorithms/stragglar/layout.h"

#include "algorithms/lib/accept.h"

cs_late_layout cs_late_layout_of(const cs_scenario *scenario, uint32_t late, uint32_t chunks,
                                 uint32_t depth, cs_prephase prephase)
{
    cs_late_layout l    = {.scenario = scenario,
                           .late     = late,
                           .early    = scenario->cluster.n_ranks - 1,
                           .chunks   = chunks,
                           .depth    = depth,
                           .prephase = chunks < scenario->cluster.n_ranks - 1 ? CS_PREPHASE_CIRCULANT
                                                                              : prephase};
    uint32_t       most = cs_late_most_chunks(&l);

    if (l.prephase == CS_PREPHASE_CIRCULANT) {
        l.home    = depth;
        l.n_slots = depth + chunks;
    } else {
        l.home    = depth > 2 * most ? depth : 2 * most;
        l.n_slots = l.home + most;
    }
    return l;
}

cs_status cs_late_layout_check(const cs_late_layout *layout, cs_error *err)
{
    uint32_t n    = layout->early + 1;
    uint64_t most = cs_most_slots(n);

    if (layout->n_slots <= most) {
        return CS_OK;
    }
    return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                   "%u chunks keep %u of them in work at each of %u ranks; at most %llu are "
                   "accepted: take fewer chunks, or prephase=ring",
                   layout->chunks, layout->n_slots, n, (unsigned long long)most);
}

cs_status cs_late_layout_build(cs_late_layout *layout, cs_arena *arena, cs_error *err)
{
    uint32_t early = layout->early, each = layout->chunks / early, larger = 0, others = 0;

    layout->rank_at  = CS_ARENA_NEW(arena, uint32_t, early);
    layout->first_of = CS_ARENA_NEW(arena, uint32_t, early);
    if (layout->rank_at == NULL || layout->first_of == NULL) {
        return CS_NO_MEMORY(err, "the owners of %u chunks", layout->chunks);
    }
    for (uint32_t p = 0; p < early; p++) {
        uint32_t first          = cs_late_first_at(layout, p);
        bool     has_more       = cs_late_first_at(layout, p + 1) - first > each;
        uint32_t label          = has_more ? larger++ : layout->chunks % early + others++;
        layout->rank_at[p]      = cs_late_rank(layout, label);
        layout->first_of[label] = first;
    }
    return CS_OK;
}
