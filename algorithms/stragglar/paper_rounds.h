/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/paper_rounds.h -- Algorithm 1 of the StragglAR paper, for powers of two.
 *
 * Every early label has at most one *active* chunk: the one that it passes on. In a round
 * r < N = n - 1 label r meets the straggler (label N) and gets chunk r; the holders of the oldest
 * active chunk (P) exchange with the holders of the others (Q), whereupon the oldest is
 * everywhere and every other one has twice as many holders. The labels that meet the straggler
 * in the next k - 1 rounds (k = log2 n; the critical window) choose first, in their order: the
 * oldest chunk they lack, from a holder outside the window. Before round k chunks spread to labels
 * without one; from round N on the straggler passes on the last chunk. n - 2 + k rounds.
 *
 * What the printed listing leaves open or gets wrong is decided as sim/doc/stragglar.md says: the
 * window ends at min(r + k, N) - 1, "lacks c', no holder in the window" means that some free holder
 * is outside of it, and lines 10-16 apply from round k on only.
 *
 * An iterator: O(n) memory, O(n) a round.
 * Source: "Efficient AllReduce with Stragglers" (StragglAR), section 3, Algorithm 1, appendix D.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_PAPER_ROUNDS_H
#define CS_ALGORITHMS_STRAGGLAR_PAPER_ROUNDS_H

#include "algorithms/stragglar/label_rounds.h"

typedef struct cs_paper_rounds {
    uint32_t           n, k, early; /* early = n - 1, also the number of chunks */
    uint32_t           round, n_rounds;
    uint32_t          *active;    /* [n] chunk, or CS_NO_LABEL */
    uint32_t          *next;      /* [n] the same after the round */
    uint32_t          *by_age;    /* [n] free labels, oldest chunk first, increasing in each age */
    uint32_t           start[33]; /* [k + 1] where an age begins in by_age */
    uint32_t           cursor[32];
    bool              *is_busy; /* [n] */
    cs_label_transfer *out;     /* [2 n] the round made last */
    size_t             count;   /* ... and how many it has */
    bool               failed;  /* the construction did not hold what it promises */
} cs_paper_rounds;

/* Is there a schedule? (Powers of two from 2 on.) */
static inline bool cs_paper_rounds_exist(uint32_t n)
{
    return n >= 2 && (n & (n - 1)) == 0;
}

/* n - 2 + log2 n. */
uint32_t cs_paper_rounds_count(uint32_t n);

/* Begin before round 0; the memory is the arena's. */
cs_status cs_paper_rounds_start(cs_paper_rounds *paper, uint32_t n, cs_arena *arena, cs_error *err);

/* Back to before round 0. */
void cs_paper_rounds_rewind(cs_paper_rounds *paper);

/* Make the next round in `out`. False behind the last one, or when it `failed`. */
bool cs_paper_rounds_next(cs_paper_rounds *paper);

/* Make all rounds once and check them; CS_EINTERNAL when they are wrong. O(n x rounds), n x n bits.
 */
cs_status cs_paper_rounds_check(uint32_t n, cs_error *err);

#endif
