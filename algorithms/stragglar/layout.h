/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/layout.h -- which early rank owns which chunks, and where everybody
 * keeps them, in schedules with one late rank.
 *
 * Label g < N = n - 1 is the g-th early rank, label N the late one. Of C chunks, chunk c belongs to
 * label c mod N: after the pre-phase it holds the sum of all early contributions to it. In
 * the buffer the chunks of a label are neighbours, so that they travel as one message; so a
 * chunk's number in the buffer (its *id*, what a transfer calls it) is not c where C > N.
 *
 * Early ranks stand on a circle for the pre-phase. Those that own one chunk more than others
 * (C mod N of them) are spread evenly over it, and ids follow the positions.
 *
 * Slots: chunk c in work is in slot c mod `depth`; its owner keeps it in a slot behind those, where
 * the pre-phase left it.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_LAYOUT_H
#define CS_ALGORITHMS_STRAGGLAR_LAYOUT_H

#include "algorithms/lib/late.h"
#include "base/arena.h"

typedef enum cs_prephase { CS_PREPHASE_RING, CS_PREPHASE_CIRCULANT } cs_prephase;

typedef struct cs_late_layout {
    const cs_scenario *scenario;
    uint32_t           late;   /* rank */
    uint32_t           early;  /* N */
    uint32_t           chunks; /* C */
    uint32_t           depth;
    cs_prephase        prephase; /* circulant where C < N */
    uint32_t           home;     /* the owners' first slot */
    uint32_t           n_slots;
    uint32_t          *rank_at;  /* [N] rank at a position of the circle */
    uint32_t          *first_of; /* [N] id of a label's first chunk (C, when it owns none) */
} cs_late_layout;

/* All but the tables: borrows the scenario. */
cs_late_layout cs_late_layout_of(const cs_scenario *scenario, uint32_t late, uint32_t chunks,
                                 uint32_t depth, cs_prephase prephase);

/* Refuse more slots than a rank can have, or than all ranks together should (2^30), naming the
 * numbers of chunks that are accepted. */
cs_status cs_late_layout_check(const cs_late_layout *layout, cs_error *err);

/* The tables, in the arena. O(N). */
cs_status cs_late_layout_build(cs_late_layout *layout, cs_arena *arena, cs_error *err);

/* Id of the first chunk at a position; position N: C. */
static inline uint32_t cs_late_first_at(const cs_late_layout *l, uint32_t position)
{
    return (uint32_t)(((uint64_t)position * l->chunks + l->early - 1) / l->early);
}

static inline uint32_t cs_late_id(const cs_late_layout *l, uint32_t chunk)
{
    return chunk < l->early ? l->first_of[chunk] : l->first_of[chunk % l->early] + chunk / l->early;
}

/* The slot in which the owner keeps its chunk. */
static inline uint32_t cs_late_home(const cs_late_layout *l, uint32_t chunk)
{
    bool by_id = l->prephase == CS_PREPHASE_CIRCULANT;
    return l->home + (by_id ? cs_late_id(l, chunk) : chunk / l->early);
}

/* The slot in which a label keeps a chunk. */
static inline uint32_t cs_late_slot(const cs_late_layout *l, uint32_t label, uint32_t chunk)
{
    return label == chunk % l->early ? cs_late_home(l, chunk) : chunk % l->depth;
}

static inline uint32_t cs_late_rank(const cs_late_layout *l, uint32_t label)
{
    return cs_rank_of_label(label, l->late, l->early + 1);
}

/* Chunks of the label with most of them. */
static inline uint32_t cs_late_most_chunks(const cs_late_layout *l)
{
    return (l->chunks - 1) / l->early + 1;
}

#endif
