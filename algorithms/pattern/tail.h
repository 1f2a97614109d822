/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/pattern/tail.h -- the last q - 1 rounds of StragglAR.
 *
 * When the steady state ends, every early rank lacks the same number of chunks, all among the
 * last D, and the straggler has all of them. If all lack equally many, two ranks with different
 * missing sets are useful to each other, so a round that pairs all ranks without pairing equal sets
 * leaves everybody one chunk richer. The greedy pairs the rank with the most valuable
 * (rarest) holdings with the least valuable one, which keeps the classes of equal sets small.
 * It is checked, not proven, for general n: a round that cannot be completed is reported.
 * O(n q) a round.
 */
#ifndef CS_ALGORITHMS_PATTERN_TAIL_H
#define CS_ALGORITHMS_PATTERN_TAIL_H

#include "algorithms/pattern/rotation.h"

typedef struct cs_tail_transfer {
    uint32_t src, dst, chunk; /* labels */
} cs_tail_transfer;

typedef struct cs_tail {
    uint32_t          n_rounds;  /* q - 1 */
    size_t           *round_end; /* [n_rounds] index one past the round's last transfer */
    cs_tail_transfer *transfers;
} cs_tail;

/* Build the tail; all memory is the arena's. CS_EINTERNAL when the greedy fails. */
cs_status cs_tail_build(const cs_rotation *rotation, cs_arena *arena, cs_tail *tail_p,
                        cs_error *err);

#endif
