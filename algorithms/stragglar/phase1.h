/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/phase1.h -- phase 1, the pre-phase: the early ranks reduce among themselves
 * while one rank is late.
 *
 * A ReduceScatter that leaves every chunk with its owner (layout.h), behind a barrier of the
 * early ranks. With x = s / rate and equal chunks:
 *
 *   ring       C >= N   (N - 1)(alpha + ceil(C / N) x / C): each rank's chunks as one message
 *   circulant  any C    ceil(log2 N) messages, in step k of at most ceil(w_k C / N) chunks,
 *                       w_k = ceil(N / 2^(k-1)) - ceil(N / 2^k): for N | C together
 *                       ceil(log2 N) alpha + (N - 1)/N x, which is optimal
 *
 * For C < N there is no gather behind a ReduceScatter of N parts: the circulant steps reduce
 * directly to C ranks, C = 1 being a binomial tree. Spread over the circle, of any w positions in a
 * row at most ceil(w C / N) own a chunk, hence the sum. A ring would need N - 1 steps of a whole
 * chunk each. An iterator: O(N) tables of the layout, O(1) per transfer.
 *
 * Source: the paper's ring; the circulant steps and their use for C < N are this project's
 * (lib/circulant.h, sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_PHASE1_H
#define CS_ALGORITHMS_STRAGGLAR_PHASE1_H

#include "algorithms/lib/circulant.h"
#include "algorithms/lib/ring_pass.h"
#include "algorithms/stragglar/layout.h"

typedef struct cs_phase1 {
    const cs_late_layout *layout; /* borrowed, with its tables */
    double                entry_barrier_s;
    bool                  has_begun;
    cs_ring_pass          ring; /* C = N */
    cs_circulant          circulant;
    uint32_t              step, position; /* of the ring of parts, C > N */
} cs_phase1;

/* Rounds of the pre-phase; 0 for N = 1. */
uint32_t cs_phase1_rounds(const cs_late_layout *layout);

/* CS_USES_* of its transfers. */
uint32_t cs_phase1_uses(const cs_late_layout *layout);

/* How long it takes, at most, when a message of b bytes takes alpha_s + b * s_per_byte, for chunks
 * of chunk_bytes. `is_exact_p`: it takes exactly that, if all chunks have this size. O(log N). */
double cs_phase1_s(const cs_late_layout *layout, double chunk_bytes, double alpha_s,
                   double s_per_byte, bool *is_exact_p);

/* An iterator; O(1) per transfer, no allocation. N >= 2. */
void cs_phase1_start(cs_phase1 *pre, const cs_late_layout *layout, double entry_barrier_s);

/* Fill the empty block with the next transfers; false when there are none. */
bool cs_phase1_next(cs_phase1 *pre, cs_block *block);

#endif
