/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AllGather by recursive doubling: ranks r and r xor 2^i exchange all that they have; n a power of
 * two.
 *
 * Source: table I of Parallel Rings; R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005).
 */
#include "algorithms/lib/broadcasts.h"
#include "base/alloc.h"

static cs_status gather_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                              cs_error *err)
{
    (void)options;
    return cs_broadcasts_check(scenario, "iallgather_rd", CS_BROADCASTS_PAIRWISE, plan, err);
}

static cs_status gather_open(const cs_scenario *scenario, const void *options, void **state_p,
                             cs_error *err)
{
    (void)options;
    return cs_broadcasts_open(scenario, CS_BROADCASTS_PAIRWISE, state_p, err);
}

const cs_algorithm cs_algorithm_iallgather_rd = {
    .name    = "iallgather_rd",
    .summary = "AllGather by recursive doubling, distances 1, 2, 4 ..; n a power of two",
    .source  = "R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005); table I of Parallel Rings",
    .collectives = 1u << CS_ALLGATHER,
    .check       = gather_check,
    .open        = gather_open,
    .next_block  = cs_broadcasts_next,
    .close       = cs_free,
};
