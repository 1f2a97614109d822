/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/late.h -- what the straggler-aware algorithms share: which rank they
 * presume late, what the two barriers cost, and the labels of the other ranks.
 *
 * Label g < n - 1 is the g-th of the other ranks in increasing order, label n - 1 the presumed
 * straggler (specification of the timing: barrier 1 among the others before the pre-phase,
 * barrier 2 among all before the main phase).
 */
#ifndef CS_ALGORITHMS_LIB_LATE_H
#define CS_ALGORITHMS_LIB_LATE_H

#include "cs/algorithm.h"

#define CS_LATE_OPTIONS                                               \
    uint32_t straggler;       /* rank, resolved by cs_late_check() */ \
    double   entry_barrier_s; /* what barrier 1 costs */              \
    double   phase_barrier_s  /* what barrier 2 costs */

#define CS_LATE_ROWS(type)                                                                       \
    CS_OPTION_AUTO(type, straggler, 0, CS_MAX_RANKS - 1,                                         \
                   "presumed late rank; auto: the last to arrive, the highest of several"),      \
        CS_OPTION(type, entry_barrier_s, 0, 0, 1e3, "cost of the barrier before the pre-phase"), \
        CS_OPTION(type, phase_barrier_s, 0, 0, 1e3, "cost of the barrier before the main phase")

/* The options of an algorithm begin with these. */
typedef struct cs_late_options {
    CS_LATE_OPTIONS;
} cs_late_options;

/* Replace `auto`, refuse a rank that does not exist. */
cs_status cs_late_check(const cs_scenario *scenario, cs_late_options *options, cs_error *err);

/* The rank that carries a label, given the straggler. */
static inline uint32_t cs_rank_of_label(uint32_t label, uint32_t straggler, uint32_t n)
{
    return label == n - 1 ? straggler : label + (label >= straggler);
}

/* Put a barrier of all ranks but `except` (CS_FENCE_ALL: of all) before the block's first transfer,
 * which must be there. */
static inline void cs_late_fence(cs_block *block, uint32_t except, double cost_s)
{
    block->transfers[0].flags |= CS_FENCE;
    block->fence_except = except;
    block->fence_s      = cost_s;
}

/* When the main phase begins, if the pre-phase takes `pre_s` after barrier 1. (Two ranks have no
 * pre-phase, so no barrier before it.) */
double cs_late_main_start_s(const cs_scenario *scenario, const cs_late_options *options,
                            double pre_s);

#endif
