/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds for AllReduce that count messages.
 *
 * messages. Let k nodes arrive last, together, at a_n. For every byte, n + k - 1 transfers (2n - 2
 * if k = n) begin after a_n, whatever the others did before: each of the k + 1 groups that know
 * nothing of each other but the first to complete sends its part to that one, and n - 1 nodes
 * have a completing reception later. So there are that many messages, each holds a sending
 * port for alpha, and all their bytes flow through n (nodes) times width ports.
 * async_allreduce. The same for plain AllReduce, beside ceil(log2 n) alpha + x.
 *
 * A sum of both alphas and bytes, ceil(log2 n) alpha + 2(n-1)/n x, is not proven for schedules
 * without rounds; see bound_round_synchronous.c.
 * Source: the proofs above.
 */
#include "analytic/nodes.h"

#include <math.h>

/* Nodes all of whose ranks arrive at the latest such time. */
static uint32_t count_latest(const cs_nodes *nodes, double *latest_s_p)
{
    uint32_t count = 0;

    *latest_s_p = 0;
    for (uint32_t node = 0; node < nodes->n_nodes; node++) {
        double first_s = cs_node_first_s(nodes, node);
        count          = first_s > *latest_s_p ? 0 : count;
        *latest_s_p    = fmax(*latest_s_p, first_s);
        count += first_s == *latest_s_p;
    }
    return count;
}

/* `transfers` per byte over all sending ports side by side. Where they are not equally fast, it is
 * what holds for bytes alone, or for ports that all are as fast as the fastest. */
static double messages_s(const cs_nodes *nodes, double transfers)
{
    double alpha_s = cs_nodes_alpha_adds_up(nodes) ? nodes->alpha_s / nodes->width : 0;
    double fast_s  = (double)nodes->scenario->bytes / (nodes->port_Bps * nodes->width);

    return transfers / nodes->n_nodes * fmax(nodes->x_s, alpha_s + fast_s);
}

static double after_latest_s(const cs_nodes *nodes)
{
    double latest_s;
    double k = count_latest(nodes, &latest_s), n = nodes->n_nodes;

    return latest_s + messages_s(nodes, fmin(n + k - 1, 2 * n - 2));
}

static double messages_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ranks, context, 1u << CS_ALLREDUCE, after_latest_s);
}

static double of_allreduce_s(const cs_nodes *nodes)
{
    double spread_s = cs_nodes_spread_s(nodes);
    double flow_s   = nodes->width == 1 ? spread_s + nodes->x_s : nodes->alpha_s + nodes->x_s;

    return fmax(fmax(flow_s, spread_s), messages_s(nodes, 2 * (nodes->n_nodes - 1.0)));
}

static double async_allreduce_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ranks, context, 1u << CS_ALLREDUCE, of_allreduce_s);
}

static double spread_and_after_latest_s(const cs_nodes *nodes)
{
    return fmax(cs_nodes_spread_s(nodes), after_latest_s(nodes));
}

static double server_gossip_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_servers, context, 1u << CS_ALLREDUCE,
                             spread_and_after_latest_s);
}

static double port_messages_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ports, context, 1u << CS_ALLREDUCE, after_latest_s);
}

const cs_bound cs_bound_messages = {
    .name       = "messages",
    .summary    = "a_n + min(n+k-1, 2n-2)/n (alpha + x), k ranks arrive last",
    .assumption = "AllReduce; one GPU a server, or one server; without alpha where it holds no "
                  "port",
    .source     = "n+k-1 messages after the last arrival, over n ports",
    .is_general = true,
    .seconds    = messages_seconds,
};

const cs_bound cs_bound_async_allreduce = {
    .name       = "async_allreduce",
    .summary    = "max(ceil(log2 n) alpha + x, 2(n-1)/n (alpha + x))",
    .assumption = "AllReduce; one GPU a server, or one server; where alpha holds no port: "
                  "max(alpha + x, 2(n-1)/n x)",
    .source     = "doubling of what is known; 2n-2 messages over n ports",
    .is_general = true,
    .seconds    = async_allreduce_seconds,
};

const cs_bound cs_bound_server_gossip = {
    .name       = "server_gossip",
    .summary    = "max(alpha ceil(log_{g+1} q), a + min(q+k-1, 2q-2)/(qg) (alpha + x)), k servers "
                  "arrive last",
    .assumption = "AllReduce; q servers of g > 1 GPUs with a NIC each; where alpha holds no port: "
                  "one alpha, and only x",
    .source     = "messages between servers over q g NICs",
    .is_general = true,
    .in_servers = true,
    .seconds    = server_gossip_seconds,
};

const cs_bound cs_bound_port_messages = {
    .name    = "port_messages",
    .summary = "a_n + min(n+k-1, 2n-2)/n max(x, alpha/w + bytes/(w fastest)), k ranks arrive last",
    .assumption = "AllReduce; q servers of g > 1 GPUs; x by all w ports of a rank, NIC and inside "
                  "the server; alpha of the quicker fabric, none where it holds no port",
    .source     = "n+k-1 messages after the last arrival, over all ports of n ranks",
    .is_general = true,
    .seconds    = port_messages_seconds,
};
