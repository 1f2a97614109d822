/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flat ring: one ring through all ranks, server by server, which knows nothing of servers.
 * Every server sends with the NIC of its last local rank and receives with that of its first one,
 * and the other NICs are idle. What Open MPI's ring algorithms do.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
 * operations in MPICH", Int. J. High Perform. Comput. Appl. 19 (2005).
 */
#include "algorithms/lib/accept.h"
#include "algorithms/lib/channel_rings.h"
#include "base/alloc.h"

#define FLAT_DOES (1u << CS_ALLREDUCE | 1u << CS_REDUCESCATTER | 1u << CS_ALLGATHER)

static cs_channel_rings rings_of(const cs_scenario *scenario)
{
    return (cs_channel_rings){.scenario = scenario, .channels = 1};
}

static cs_status flat_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    cs_channel_rings rings  = rings_of(scenario);
    cs_status        status = cs_accept_collective(scenario, "flat_ring", FLAT_DOES, err);

    (void)options;
    if (status == CS_OK) {
        *plan = cs_channel_plan(&rings);
    }
    return status;
}

static cs_status flat_open(const cs_scenario *scenario, const void *options, void **state_p,
                           cs_error *err)
{
    cs_channel_rings *rings = CS_NEW(cs_channel_rings, 1);

    (void)options;
    if (rings == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a flat ring");
    }
    *rings   = rings_of(scenario);
    *state_p = rings;
    return CS_OK;
}

static void flat_next_block(void *state, cs_block *block)
{
    cs_channel_next(state, block);
}

static double flat_closed_form_s(const cs_scenario *scenario, const void *options)
{
    cs_channel_rings rings = rings_of(scenario);

    (void)options;
    return cs_channel_closed_form_s(&rings);
}

const cs_algorithm cs_algorithm_flat_ring = {
    .name        = "flat_ring",
    .summary     = "one ring through all ranks, server by server: one NIC of a server in, one out",
    .source      = "R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005); Open MPI's ring",
    .collectives = FLAT_DOES,
    .check       = flat_check,
    .open        = flat_open,
    .next_block  = flat_next_block,
    .close       = cs_free,
    .closed_form_s = flat_closed_form_s,
};
