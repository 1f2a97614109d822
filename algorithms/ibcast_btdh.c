/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AllGather of one broadcast per rank over a binomial tree, distances halving (BTDH).
 *
 * Source: table I of Parallel Rings; binomial broadcast with halving distances.
 */
#include "algorithms/lib/broadcasts.h"
#include "base/alloc.h"

static cs_status gather_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                              cs_error *err)
{
    (void)options;
    return cs_broadcasts_check(scenario, "ibcast_btdh", CS_BROADCASTS_HALVING, plan, err);
}

static cs_status gather_open(const cs_scenario *scenario, const void *options, void **state_p,
                             cs_error *err)
{
    (void)options;
    return cs_broadcasts_open(scenario, CS_BROADCASTS_HALVING, state_p, err);
}

const cs_algorithm cs_algorithm_ibcast_btdh = {
    .name        = "ibcast_btdh",
    .summary     = "AllGather: a broadcast from every rank, binomial tree, distances .. 4, 2, 1",
    .source      = "binomial broadcast with halving distances; table I of Parallel Rings",
    .collectives = 1u << CS_ALLGATHER,
    .check       = gather_check,
    .open        = gather_open,
    .next_block  = cs_broadcasts_next,
    .close       = cs_free,
};
