/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AllGather of one broadcast per rank over a 4-nomial tree.
 *
 * Source: table I of Parallel Rings; Open MPI, coll/libnbc, k-nomial broadcast.
 */
#include "algorithms/lib/broadcasts.h"
#include "base/alloc.h"

static cs_status gather_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                              cs_error *err)
{
    (void)options;
    return cs_broadcasts_check(scenario, "ibcast_knomial", CS_BROADCASTS_KNOMIAL, plan, err);
}

static cs_status gather_open(const cs_scenario *scenario, const void *options, void **state_p,
                             cs_error *err)
{
    (void)options;
    return cs_broadcasts_open(scenario, CS_BROADCASTS_KNOMIAL, state_p, err);
}

const cs_algorithm cs_algorithm_ibcast_knomial = {
    .name        = "ibcast_knomial",
    .summary     = "AllGather: a broadcast from every rank over a 4-nomial tree",
    .source      = "Open MPI, coll/libnbc, k-nomial broadcast; table I of Parallel Rings",
    .collectives = 1u << CS_ALLGATHER,
    .check       = gather_check,
    .open        = gather_open,
    .next_block  = cs_broadcasts_next,
    .close       = cs_free,
};
