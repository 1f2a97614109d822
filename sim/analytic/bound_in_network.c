/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bounds where switches add up and pass on, in one server behind an NVSwitch, and between
 * servers.
 *
 * The last rank arrives at a_n. After that each of the x bytes of its contribution leaves its port,
 * none of them added to another one of its own, so that the port is busy for x l (l: seconds per
 * byte), behind a latency:
 *   T >= a_n + alpha + x l.
 * Where ranks alone add up and pass on, every byte is moved 2 (n-1) times over n ports, which takes
 * 2 (n-1)/n x l: that factor is what the switch saves.
 *
 * In a ReduceScatter what the last rank has for the others leaves it, (n-1)/n x; in an AllGather
 * what the others have comes in by its port, which is closed before:
 *   T >= a_n + alpha + (n-1)/n x l.
 * Where x does not divide, the largest block is taken for the last rank's own.
 *
 * Between servers, whose network adds up and passes on (SHARP), every byte of an AllReduce leaves
 * the last rank's server after that rank has come, and enters every other server after that. With g
 * NICs of l seconds per byte each, l the largest: T >= a_n + alpha + x l / g.
 *
 * Source: the proofs above. The switch: B. Klenk et al., "An In-Network Architecture for
 * Accelerating Shared-Memory Multiprocessor Collectives", ISCA 2020.
 */
#include "analytic/nodes.h"

#include <math.h>

/* Everything passes the slowest server's NICs after the last arrival. */
static double over_nics_s(const cs_nodes *nodes)
{
    return nodes->last_s + nodes->alpha_s + cs_nodes_slowest(nodes) * nodes->x_s;
}

static double in_network_seconds(const cs_bound_context *context)
{
    const cs_scenario *s = context->scenario;
    const cs_cluster  *c = &s->cluster;

    const bool is_gather = s->collective == CS_ALLGATHER, is_all = s->collective == CS_ALLREDUCE;

    if (cs_n_servers(c) > 1) {
        return cs_bound_of_nodes(cs_nodes_of_servers, context, 1u << CS_ALLREDUCE, over_nics_s);
    }
    if ((!is_all && !is_gather && s->collective != CS_REDUCESCATTER) ||
        (is_gather && context->ranks_relay) || c->gpus_per_server < 2 || c->sockets > 1 ||
        c->fabrics[CS_NVLINK].kind != CS_SWITCHED) {
        return (double)NAN;
    }
    const uint64_t own = is_all ? 0 : cs_split(s->bytes, c->n_ranks, 0); /* the largest */
    return cs_last_arrival(s) + context->latency_s[CS_NVLINK] +
           (double)(s->bytes - own) / c->fabrics[CS_NVLINK].bandwidth_Bps;
}

const cs_bound cs_bound_in_network = {
    .name    = "in_network",
    .summary = "a_n + alpha + x l; a half of it: (n-1)/n of x; over servers: x l/g",
    .assumption =
        "AllReduce, AllGather or ReduceScatter in one server behind an NVSwitch, AllReduce "
        "over servers of g GPUs; switches add up and pass on, which only schedules like "
        "nvls and collnet use",
    .source      = "what the last rank brings, or lacks, over its port, or its server's NICs, once",
    .in_servers  = true,
    .in_network  = true,
    .counts_data = true,
    .seconds     = in_network_seconds,
};
