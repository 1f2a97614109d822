/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/ring_pass.h -- chunks that travel around a ring of ranks.
 *
 * m positions in a ring; one chunk per position. In step t position i sends chunk
 * (i - 1 - t) mod m to position i + 1. The first m - 1 steps add on the way (ReduceScatter:
 * chunk c ends complete at position c), the next m - 1 copy (AllGather). Every position works
 * on one chunk a step, so two slots do: step t reads slot t & 1 and writes the other one.
 * An iterator: O(1) state, O(1) per transfer, no allocation.
 */
#ifndef CS_ALGORITHMS_LIB_RING_PASS_H
#define CS_ALGORITHMS_LIB_RING_PASS_H

#include "cs/schedule.h"

typedef struct cs_ring_pass {
    const cs_cluster *cluster;
    uint32_t          m;    /* positions; >= 2 */
    uint32_t          skip; /* rank left out of the ring, or CS_RING_ALL: position i is
                               rank i + (i >= skip) */
    uint32_t n_senders;     /* only the first so many positions send; 0: all */
    uint64_t bytes;         /* of the buffer, split in m chunks */
    uint32_t step;          /* current step */
    uint32_t end_step;      /* one past the last: m - 1 or 2 (m - 1) */
    uint32_t position;      /* next position of the step */
    uint32_t first_round;   /* round of step 0 */
    uint32_t first_step;    /* the step whose senders send their own: 0, or m - 1 when the
                               pass is an AllGather only */
    uint32_t last_slot;     /* slot for what the last step delivers, or CS_RING_SLOT */
    uint32_t keep_slot;     /* complete chunk c is kept in keep_slot + c, or CS_RING_SLOT */
    bool     is_final;      /* what is complete here is the collective's final value */
    uint64_t chunk_bytes;   /* kept by cs_ring_pass_next(): bytes / m ... */
    uint32_t n_larger;      /* ... and how many chunks have one byte more */
} cs_ring_pass;

#define CS_RING_ALL  UINT32_MAX
#define CS_RING_SLOT UINT32_MAX

/* Fill the block with the next transfers, behind `block->count`. Returns false when the
 * pass had ended before. */
bool cs_ring_pass_next(cs_ring_pass *pass, cs_block *block);

#endif
