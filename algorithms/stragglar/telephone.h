/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/telephone.h -- StragglAR's main phase for odd n in the telephone model.
 *
 * When nobody may receive from another rank than it sends to, one of an odd number of ranks idles
 * in every round. Counting the final values that the N = n - 1 early ranks must receive (N^2; at
 * most N - 1 in a round in which the late rank is busy, at most N in others, at most 2^t in round
 * t) gives
 *
 *   rounds >= max(n - 2 + q, ceil(N + q + 1 - (q + 2^q - 1) / N)),   q = ceil(log2 n),
 *
 * one more than in the full-duplex model unless n is just above a power of two. There is no closed
 * construction; a greedy decides round by round:
 *   - while there are new chunks, the late rank meets the next owner
 *   - the other ranks are sorted by what they hold, the rarest chunk counting most, those
 *     that meet the late rank sooner first; the first half pairs with the reversed second half
 *   - of an odd number one idles: one that has nothing yet while that holds for most, else the one
 *     that lacks fewest chunks
 *   - pairs in which a direction is of no use exchange partners with other pairs where that helps
 *   - each direction carries the rarest useful chunk
 * It is repeated with other orders among equals until the bound is reached, a few
 * times; the shortest one is kept. It comes with no guarantee, so the number of
 * rounds is reported. O(n^2 log n) a try, more where many pairs must exchange.
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_TELEPHONE_H
#define CS_ALGORITHMS_STRAGGLAR_TELEPHONE_H

#include "algorithms/stragglar/label_rounds.h"

enum { CS_TELEPHONE_MOST_RANKS = 257 };

/* The counting bound for odd n. */
uint32_t cs_telephone_bound(uint32_t n);

/* 3 <= n <= CS_TELEPHONE_MOST_RANKS, odd. The same rounds every time. Free with
 * cs_label_rounds_free(). CS_EINTERNAL when no try ends. */
cs_status cs_telephone_build(uint32_t n, cs_label_rounds *rounds_p, cs_error *err);

#endif
