/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds of the rank that arrives last (B1, B1', and both per server).
 *
 * last_rank. Every byte of rank i's data must leave rank i after it arrived. The message
 * that carries some of them for the first time and ends last ends at a_i + alpha + l_i x or later;
 * then they are known to two ranks, and the number of ranks that know them at most doubles
 * per alpha: ceil(log2 n) - 1 more.
 * last_rank_slow. A rank y other than the last one receives all bytes after the last arrival, for
 * they must contain the last rank's data.
 * server_late. The same for the NICs of a server, several copies of which may leave it at once: the
 * servers that know some byte grow (g + 1)-fold per alpha (proof in analytic/nodes.h).
 * rank_capacity. The same for all ports of a rank together, NICs and NVLink: the last rank
 * sends, every other one receives the whole buffer after the last arrival.
 *
 * Left out: what the ranks did before the last one arrived (see bound_volume.c).
 * Source: the proofs above.
 */
#include "analytic/nodes.h"

#include <math.h>

static double any_rank_s(const cs_nodes *nodes)
{
    double bytes = (double)nodes->scenario->bytes, bound_s = (double)NAN;

    for (uint32_t rank = 0; rank < nodes->n_nodes; rank++) {
        double spread_s = cs_node_spread_flow_s(nodes, rank, bytes);
        bound_s         = fmax(bound_s, cs_arrival(nodes->scenario, rank) + spread_s);
    }
    return bound_s;
}

/* All bytes pass the slowest ports after the last arrival. */
static double slowest_after_last_s(const cs_nodes *nodes)
{
    return nodes->last_s + nodes->alpha_s + cs_nodes_slowest(nodes) * nodes->x_s;
}

static double spread_after_last_s(const cs_nodes *nodes)
{
    double bytes = (double)nodes->scenario->bytes;
    return fmax(nodes->last_s + cs_node_spread_flow_s(nodes, nodes->last, bytes),
                slowest_after_last_s(nodes));
}

static double last_rank_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ranks, context, 1u << CS_ALLREDUCE, any_rank_s);
}

static double last_rank_slow_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ranks, context, 1u << CS_ALLREDUCE, slowest_after_last_s);
}

static double server_late_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_servers, context, 1u << CS_ALLREDUCE, spread_after_last_s);
}

static double rank_capacity_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ports, context, 1u << CS_ALLREDUCE, slowest_after_last_s);
}

const cs_bound cs_bound_last_rank = {
    .name        = "last_rank",
    .summary     = "max over ranks of a_i + ceil(log2 n) alpha + l_i x",
    .assumption  = "AllReduce; one GPU a server, or one server; where alpha holds no port or a "
                   "rank has several ports: one alpha",
    .source      = "B1: what the last rank has must leave it, then double",
    .is_general  = true,
    .counts_data = true,
    .seconds     = last_rank_seconds,
};

const cs_bound cs_bound_last_rank_slow = {
    .name        = "last_rank_slow",
    .summary     = "a_n + alpha + max l x",
    .assumption  = "AllReduce; one GPU a server, or one server",
    .source      = "B1': the slowest rank receives or sends everything after the last arrival",
    .is_general  = true,
    .counts_data = true,
    .seconds     = last_rank_slow_seconds,
};

const cs_bound cs_bound_server_late = {
    .name        = "server_late",
    .summary     = "a_n + max(alpha + max l x/g, alpha ceil(log_{g+1} q) + l_n x/g)",
    .assumption  = "AllReduce; q servers of g > 1 GPUs with a NIC each; where alpha holds no port: "
                   "one alpha",
    .source      = "B1 per server: the last rank's data leave by g NICs",
    .is_general  = true,
    .in_servers  = true,
    .counts_data = true,
    .seconds     = server_late_seconds,
};

const cs_bound cs_bound_rank_capacity = {
    .name       = "rank_capacity",
    .summary    = "a_n + alpha + bytes / (NIC / max l + ports of a rank inside the server)",
    .assumption = "AllReduce; q servers of g > 1 GPUs; alpha of the quicker fabric",
    .source = "every rank sends or receives everything after the last arrival, by all its ports",
    .is_general  = true,
    .in_servers  = true,
    .in_network  = true,
    .counts_data = true,
    .seconds     = rank_capacity_seconds,
};
