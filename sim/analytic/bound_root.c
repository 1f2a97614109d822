/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds for Broadcast and Reduce.
 *
 * Broadcast. Every byte leaves the root after it arrived; when the last of them has left for
 * the first time it is known to two nodes, which double: a_r + ceil(log2 n) alpha + l_r x. Every
 * other node receives all bytes after the root and itself have arrived (an alpha that holds no
 * port may pass before it arrives).
 * Reduce. The same in reversed time, where nobody is late; every node but the root sends all
 * bytes after its last rank arrived, and the root receives all bytes after the last arrival
 * of all.
 *
 * Source: the proofs above.
 */
#include "analytic/nodes.h"

#include <math.h>

enum {
    ROOTED = 1u << CS_BROADCAST | 1u << CS_REDUCE,
};

static double broadcast_s(const cs_nodes *nodes)
{
    const cs_scenario *s       = nodes->scenario;
    uint32_t           root    = cs_node_of(nodes, s->root);
    double             root_s  = cs_arrival(s, s->root);
    double             bound_s = root_s + cs_node_spread_flow_s(nodes, root, (double)s->bytes);

    for (uint32_t node = 0; node < nodes->n_nodes; node++) {
        if (node != root) {
            double open_s = cs_node_first_s(nodes, node);
            double end_s  = cs_node_receive_s(nodes, node, root_s, open_s, (double)s->bytes);
            bound_s       = fmax(bound_s, end_s);
        }
    }
    return bound_s;
}

static double reduce_s(const cs_nodes *nodes)
{
    const cs_scenario *s       = nodes->scenario;
    uint32_t           root    = cs_node_of(nodes, s->root);
    double             bound_s = cs_node_spread_flow_s(nodes, root, (double)s->bytes);
    double             open_s  = cs_node_first_s(nodes, root);
    double             last_s  = 0;

    for (uint32_t node = 0; node < nodes->n_nodes; node++) {
        if (node != root) {
            double from_s = cs_node_last_s(nodes, node), flow_s = nodes->alpha_s;
            flow_s += cs_node_flow_s(nodes, node, (double)s->bytes);
            bound_s = fmax(bound_s, from_s + flow_s);
            last_s  = fmax(last_s, from_s);
        }
    }
    return fmax(bound_s, cs_node_receive_s(nodes, root, last_s, open_s, (double)s->bytes));
}

static double bound_of_root(const cs_nodes *nodes)
{
    return nodes->scenario->collective == CS_BROADCAST ? broadcast_s(nodes) : reduce_s(nodes);
}

static double root_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ranks, context, ROOTED, bound_of_root);
}

static double server_root_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_servers, context, ROOTED, bound_of_root);
}

static double port_root_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ports, context, ROOTED, bound_of_root);
}

const cs_bound cs_bound_root = {
    .name       = "root",
    .summary    = "a_r + ceil(log2 n) alpha + l_r x; max(a_i, a_r) + alpha + l_i x",
    .assumption = "Broadcast, Reduce; one GPU a server, or one server; a rank neither sends nor "
                  "receives before it arrives; where alpha holds no port: one",
    .source     = "everything leaves, or enters, the root; every other rank receives, or sends it",
    .is_general = true,
    .seconds    = root_seconds,
};

const cs_bound cs_bound_server_root = {
    .name       = "server_root",
    .summary    = "a + alpha + l x/g; a_r + alpha ceil(log_{g+1} q)",
    .assumption = "Broadcast, Reduce; q servers of g > 1 GPUs with a NIC each",
    .source     = "everything passes the NICs of every server",
    .is_general = true,
    .seconds    = server_root_seconds,
};

const cs_bound cs_bound_port_root = {
    .name    = "port_root",
    .summary = "a_r + alpha + l_r x; max(a_i, a_r) + alpha + l_i x; x, l_i of all ports of a rank",
    .assumption = "Broadcast, Reduce; q servers of g > 1 GPUs; alpha of the quicker fabric",
    .source     = "everything passes the NIC and the ports inside the server of every rank",
    .is_general = true,
    .seconds    = port_root_seconds,
};
