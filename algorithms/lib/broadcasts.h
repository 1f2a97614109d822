/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/broadcasts.h -- an AllGather made of one broadcast from every rank, all at
 * once: what MPI libraries do inside a server.
 *
 * Step by step for all roots; v is a rank's number as its root sees it.
 *   linear    to all others in the order of their ranks
 *   knomial   v = (rank - root) mod n; in distances k^i, largest first, k = 4: from v (a multiple
 *             of k d) to v + d, v + 2d, .. v + (k-1) d
 *   doubling  (BTDD) root and rank 0 change places; distances 1, 2, 4, ..: from v < d to v + d
 *   halving   (BTDH) v = (rank - root) mod n; distances .., 4, 2, 1: from v (a multiple of 2d) to
 *             v + d
 *   pairwise  no broadcasts: recursive doubling, n a power of two; in step i the ranks r and
 *             r xor 2^i exchange all that they have
 * A rank keeps block c in slot c. An iterator: O(1) state, no allocation.
 *
 * Source: table I of Parallel Rings; Open MPI's coll/libnbc.
 */
#ifndef CS_ALGORITHMS_LIB_BROADCASTS_H
#define CS_ALGORITHMS_LIB_BROADCASTS_H

#include "cs/algorithm.h"

typedef enum cs_broadcasts_kind {
    CS_BROADCASTS_LINEAR,
    CS_BROADCASTS_KNOMIAL,
    CS_BROADCASTS_DOUBLING,
    CS_BROADCASTS_HALVING,
    CS_BROADCASTS_PAIRWISE,
} cs_broadcasts_kind;

/* check(), open() and next_block() of an algorithm of one kind; close with cs_free(). */
cs_status cs_broadcasts_check(const cs_scenario *scenario, const char *algorithm,
                              cs_broadcasts_kind kind, cs_plan *plan, cs_error *err);
cs_status cs_broadcasts_open(const cs_scenario *scenario, cs_broadcasts_kind kind, void **state_p,
                             cs_error *err);
void      cs_broadcasts_next(void *state, cs_block *block);

#endif
