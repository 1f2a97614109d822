/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/hops.h -- a stage of a strategy under relay control as hops: which edge carries
 * chunk after chunk from which slot to which.
 *
 * In turn v a hop with the lag l carries chunk v - l of its tree: what it needs has moved in a turn
 * before, so that the hops of a turn may stand in any order. They stand by colours; phase 1 has the
 * lags and the order of turns.h where these are planned.
 *
 * Where a rank keeps a chunk: its result is in slot c of chunk c, which begins with its own
 * contribution. What is not its result, because it relays, it keeps in slots of the tree, which
 * chunks take in turn: some for the way up and down, two for each of the broadcasts of a stage.
 */
#ifndef CS_ALGORITHMS_ADAPCC_HOPS_H
#define CS_ALGORITHMS_ADAPCC_HOPS_H

#include "algorithms/adapcc/behaviour.h"
#include "algorithms/adapcc/turns.h"
#include "cs/schedule.h"

typedef enum cs_hop_place { CS_AT_RESULT, CS_GOING_UP, CS_GOING_DOWN, CS_GOING_ON } cs_hop_place;

enum { CS_HOP_PARTS = 2, CS_MOST_TOGETHER = 16 };

#define CS_NEVER UINT32_MAX /* in place of a chunk */

/* The ports of a hop, or CS_NO_PORT both. */
typedef struct cs_hop_ports {
    uint32_t egress, ingress;
} cs_hop_ports;

/* When an edge carries its chunks in phase 1, as planned. */
typedef struct cs_hop_turn {
    double   place;
    uint32_t lag;
    bool     is_shared;
} cs_hop_turn;

typedef struct cs_hop {
    uint32_t     src, dst, tree;
    uint32_t     lag;          /* turns until its first chunk */
    uint32_t     first, limit; /* it carries chunks first .. limit - 1 */
    uint32_t     sender;       /* whose broadcast it is, counted within the stage */
    double       place;        /* in the turn: its colour, or as planned */
    uint32_t     number;       /* of one place as they were added */
    bool         is_own;       /* the source sends its own contribution */
    bool         is_shared;    /* under way beside others of its turn at one of its ports */
    cs_hop_ports ports;
    cs_hop_place from;
    uint32_t     n_parts;
    struct {
        cs_hop_place to;
        cs_op        op;
    } parts[CS_HOP_PARTS]; /* of one message */
} cs_hop;

/* A tree's chunks and slots. */
typedef struct cs_lane {
    uint64_t size_bytes, chunk_bytes;
    uint32_t n_chunks, first_chunk, first_slot;
    uint32_t window; /* slots for each of the ways up and down: turns that a chunk needs them */
} cs_lane;

/* What all stages of a strategy share; `{0}` is an empty one. Owned, but for the strategy. */
typedef struct cs_staging {
    const cs_strategy *strategy;
    cs_collective      collective; /* CS_ALLREDUCE or CS_REDUCE */
    cs_lane           *lanes;      /* [n_trees] */
    uint32_t          *heights;    /* [n_trees] */
    bool              *is_active;  /* [n_ranks] */
    cs_behaviour      *behaviours; /* [n_trees][n_ranks] in phase 1 */
    /* [n_trees][n_ranks] The chunk from which on a rank sends up in phase 1: 0, what was announced,
     * or CS_NEVER; and from which on its own data are announced to be in that. */
    uint32_t *sends_from, *own_from;
    /* [n_trees][n_ranks] of the edge from a rank to its parent, and from its parent to it */
    cs_hop_ports *up_ports, *down_ports;
    cs_hop_turn  *turns; /* [2][n_trees][n_ranks] of these edges; NULL: nothing is planned */
    uint32_t      n_ports;
    uint32_t      most_together;     /* ranks that broadcast in one stage, at most */
    uint64_t      n_chunks, n_slots; /* of a rank */
    bool          are_shared;        /* messages of a port and turn are under way at once; the
                                        caller's */
} cs_staging;

/* Prepare for a strategy that was checked, with these active ranks. The caller frees it, also after
 * a failure (CS_ENOMEM). O(trees x ranks). */
CS_MUST_CHECK cs_status cs_staging_open(cs_staging *staging, const cs_strategy *strategy,
                                        const cs_logical *logical, cs_collective collective,
                                        const bool *is_active, uint32_t most_together,
                                        cs_error *err);
void                    cs_staging_free(cs_staging *staging);

/* Plan the turns of phase 1 for these rates, before anything else is asked of the staging and
 * without announcements to come: they are for edges that carry a chunk a turn later than all that
 * they need. Costs what cs_turns_plan() does; CS_ENOMEM. */
CS_MUST_CHECK cs_status cs_staging_plan(cs_staging *staging, const cs_logical *logical,
                                        cs_error *err);

/* Turns of phase 1 that have begun at a time: from a rank, and to it. */
typedef struct cs_begun {
    uint32_t out, in;
} cs_begun;

/* The coordinator announces that a relay which sends nothing up in tree m joins it: from the first
 * chunk on which ranks above it have not begun to pass on, in turns that have not begun at any of
 * them (begun[n_ranks]). Those without messages so far pass it on. False: it sends already, or it
 * is too late. Announce in the order of time. O(depth of the tree). */
bool cs_staging_announce(cs_staging *staging, uint32_t m, uint32_t rank, const cs_begun *begun);

/* The hops of a stage, and room to find them; `{0}` is empty. */
typedef struct cs_hops {
    cs_hop     *hops; /* [n] */
    size_t      n;
    uint32_t    n_turns;
    cs_palette *palettes; /* [2 * n_ports] */
    uint32_t   *n_at;     /* [2 * n_ports] hops */
    uint32_t   *queue;    /* [n_ranks] */
    uint32_t   *depth;    /* [n_ranks] */
    uint32_t   *before;   /* [n_ranks] */
} cs_hops;

/* Room for any stage; CS_ENOMEM. The caller frees it, also after a failure. */
CS_MUST_CHECK cs_status cs_hops_open(cs_hops *hops, const cs_staging *staging, cs_error *err);
void                    cs_hops_free(cs_hops *hops);

/* Phase 1: the reduction among the active and those that were announced, and where all want the
 * result the way back.
 * O(hops log hops). */
void cs_hops_phase1(cs_hops *hops, const cs_staging *staging);

/* The broadcasts of ranks together, each of its first missing[i][m] chunks of each tree, or where
 * the root alone wants the result their way there. O(hops log hops). */
void cs_hops_broadcast(cs_hops *hops, const cs_staging *staging, uint32_t n, const uint32_t *ranks,
                       const uint32_t *const *missing);

/* Where a rank keeps chunk `number` of a lane, of a broadcast that of a sender. */
static inline uint16_t cs_slot_at(const cs_lane *lane, cs_hop_place place, uint32_t number,
                                  uint32_t sender)
{
    switch (place) {
    case CS_AT_RESULT: return (uint16_t)(lane->first_chunk + number);
    case CS_GOING_UP: return (uint16_t)(lane->first_slot + number % lane->window);
    case CS_GOING_DOWN: return (uint16_t)(lane->first_slot + lane->window + number % lane->window);
    case CS_GOING_ON: break;
    }
    return (uint16_t)(lane->first_slot + 2 * (lane->window + sender) + number % 2);
}

/* Whose broadcast is in a slot that a chunk goes on from? */
static inline uint32_t cs_sender_at(const cs_lane *lane, uint16_t slot)
{
    return (slot - lane->first_slot) / 2 - lane->window;
}

#endif
