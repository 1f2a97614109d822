/* SPDX-License-Identifier: GPL-3.0-or-later */
/* analytic/cuts.h -- groups of ranks that a topology parts from all others by a few links.
 *
 * A *cut* is a group of ranks and links such that every route into the group (or, outward, out of
 * it) takes at least one of them: together they carry all that enters (leaves). Found are the
 * groups of ranks that some link leads to: a leaf by the links down to it, GPUs by the NIC that
 * they share; and every server by whichever links on the way to its GPUs carry least.
 */
#ifndef CS_ANALYTIC_CUTS_H
#define CS_ANALYTIC_CUTS_H

#include "base/arena.h"
#include "cs/cluster.h"

/* More ranks are not looked at: all routes are. */
enum { CS_CUTS_MAX_RANKS = 512 };

typedef struct cs_cut {
    const uint64_t *group;        /* bit r % 64 of word r / 64: is rank r in it? */
    uint32_t        size;         /* ranks in it, 1 .. n - 1 */
    bool            is_inward;    /* the links lead into the group; else out of it */
    double          capacity_Bps; /* of all links together */
    double          latency_s;    /* the least of all routes that it cuts: fabric and links */
} cs_cut;

static inline bool cs_in_group(const uint64_t *group, uint32_t rank)
{
    return (group[rank / 64] >> rank % 64 & 1u) != 0;
}

/* The cuts of one direction of a cluster with a topology, where messages over a fabric have a
 * latency of their own ([CS_FABRICS]); `cuts_p` is the arena's. No cuts where there are too many
 * ranks. False: out of memory. O(n_ranks^2 * route + links * n_ranks). */
bool cs_find_cuts(const cs_cluster *cluster, const double *latency_s, bool is_inward,
                  cs_arena *arena, cs_cut **cuts_p, size_t *n_cuts_p);

#endif
