/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/circulant.h -- ReduceScatter and AllGather over circulant graphs, for every
 * number of ranks.
 *
 * m positions, and a block of consecutive chunks for each: block p belongs to position p. With s_k
 * = ceil(m / 2^k) and q = ceil(log2 m), in step k = 1 .. q of the ReduceScatter position p sends
 * the s_(k-1) - s_k blocks from p + s_k on to position p + s_k, which adds them. What a position
 * sends is never what it receives in that step, so nothing is kept twice, and after step k it
 * works on the s_k blocks from its own on. The AllGather runs the same steps backwards, with
 * the arrows turned round. Either takes q messages and (m - 1)/m of the buffer per port, which no
 * algorithm can beat (sim/analytic/bound_gather.c).
 *
 * Chunk c is kept in slot first_slot + c at every rank. Blocks are counted modulo m, so a message
 * has one span, two where it wraps (joined by CS_JOIN), and one more in step 2 where contributions
 * are taken from outside the slots. An iterator: O(1) state, O(1) per message, no allocation.
 *
 * Sources: J. Bruck et al., IEEE TPDS 8 (1997); J. L. Traeff, "Optimal, non-pipelined
 * reduce-scatter and allreduce algorithms", arXiv 2410.14234 (2024).
 */
#ifndef CS_ALGORITHMS_LIB_CIRCULANT_H
#define CS_ALGORITHMS_LIB_CIRCULANT_H

#include "algorithms/lib/accept.h"

typedef struct cs_circulant {
    const cs_cluster *cluster;
    uint32_t          m;        /* positions of a group; >= 1 (no step for one) */
    uint32_t          n_groups; /* groups that do the same side by side, each among itself */
    const uint32_t   *ranks;    /* [n_groups * m] rank of position p of group h at h * m + p, or
                                   NULL: rank i + (i >= skip) at i. Borrowed. */
    uint32_t skip;              /* rank left out, or CS_CIRCULANT_ALL; without `ranks` only */
    uint64_t bytes;             /* of the buffer */
    uint32_t n_chunks;    /* its cs_split() parts. Block p is part p of them when they are split
                             in m again: one each for n_chunks = m. Any number >= 1;
                             where blocks are empty, so are messages, which are left out. */
    bool is_spread;       /* the blocks with one chunk more than others are spread evenly over
                             the circle, not the first ones: best where n_chunks < m */
    uint32_t first_slot;  /* of chunk 0 */
    bool     gathers;     /* AllGather: the slots of block p hold it at position p */
    bool     has_own;     /* ReduceScatter: the slots hold the ranks' own contributions. Otherwise
                             CS_OWN_* flags are set and no slot is read before it is written */
    bool     is_final;    /* what is complete here is the collective's final value */
    uint32_t first_round; /* round of the first step */
    uint32_t step, group, position; /* what comes next; begin with 0 */
} cs_circulant;

#define CS_CIRCULANT_ALL UINT32_MAX

/* Steps of either collective: ceil(log2 m). */
uint32_t cs_circulant_steps(uint32_t m);

/* s_k, 0 <= k <= cs_circulant_steps(m): how far ahead step k of the ReduceScatter sends, and how
 * many blocks a position works on after it. Step k sends s_(k-1) - s_k blocks. O(1). */
uint32_t cs_circulant_skip(uint32_t m, uint32_t k);

/* What either takes when every chunk has bytes / m bytes (m divides `bytes`) and every message goes
 * at that pace. */
double cs_circulant_s(uint32_t m, uint64_t bytes, const cs_pace *pace);

/* Fill the block with the next messages, behind `block->count`, as long as a whole one fits.
 * Returns false when the last one had been given before. */
bool cs_circulant_next(cs_circulant *circulant, cs_block *block);

/* After a ReduceScatter: go on with the AllGather, in the round after its last one. */
void cs_circulant_turn(cs_circulant *circulant);

#endif
