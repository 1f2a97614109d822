/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bound for trees: every byte goes up or down one tree over all ranks, or both, as in adapcc
 * and double_binary_tree. A tree has N - 1 edges between N servers and one at least at each, and so
 * it is with GPUs (cs_strategy_bound). Other schedules are faster where NICs differ: rings and
 * halvings cut the buffer, and need not send it whole to every server.
 *
 * Slow NICs count with what they are slow all the time. Links of a network behind the ports do not
 * count: what passes them is for link_cut. Without memory: NAN.
 *
 * Source: the proof there.
 */
#include "algorithms/adapcc/cost.h"
#include "cs/bound.h"
#include "cs/capacity.h"

#include <math.h>

/* The ports, with the least slowdown that each server ever has. */
static cs_status make_logical(cs_logical *logical, const cs_scenario *scenario)
{
    cs_scenario healthy = *scenario;

    healthy.capacity         = NULL;
    healthy.n_capacity       = 0;
    healthy.cluster.topology = NULL;
    CS_TRY(cs_logical_of_scenario(logical, &healthy, NULL));
    for (uint32_t i = 0; i < logical->n_nics; i++) {
        cs_logical_nic          *nic     = &logical->nics[i];
        const cs_logical_server *server  = &logical->servers[nic->server];
        uint32_t                 sharers = server->n_gpus / server->n_nics;
        uint32_t                 rank    = server->first_rank + (i - server->first_nic) * sharers;
        double                   slowed =
            cs_port_slowdown_always(scenario, rank) / cs_port_slowdown_always(&healthy, rank);

        nic->egress_Bps /= slowed;
        nic->ingress_Bps /= slowed;
    }
    return CS_OK;
}

static double trees_seconds(const cs_bound_context *context)
{
    const cs_scenario *s       = context->scenario;
    uint32_t           root    = cs_collective_has_root(s->collective) ? s->root : CS_ANY_ROOT;
    cs_logical         logical = {0};
    double             bound_s = (double)NAN;

    if (!context->uses_trees || context->ranks_relay || !cs_cost_takes(s->collective) ||
        s->bytes == 0 || s->cluster.n_ranks < 2) {
        return bound_s;
    }
    if (make_logical(&logical, s) != CS_OK ||
        cs_strategy_bound(&logical, s->collective, s->bytes, root, &bound_s, NULL) != CS_OK) {
        bound_s = (double)NAN;
    }
    cs_logical_free(&logical);
    return bound_s;
}

const cs_bound cs_bound_trees = {
    .name    = "trees",
    .summary = "max(1 / min B, c (N-1) / sum B) S; c = 2 for AllReduce, else 1",
    .assumption =
        "trees over all ranks only; AllReduce, Broadcast, Reduce; ports B of N servers or GPUs",
    .source     = "N - 1 edges of a tree over N nodes, one at least at each",
    .is_general = false,
    .seconds    = trees_seconds,
};
