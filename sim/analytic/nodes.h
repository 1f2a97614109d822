/* SPDX-License-Identifier: GPL-3.0-or-later */
/* analytic/nodes.h -- what a bound counts: nodes with ports between them.
 *
 * A node is a rank (all transfers pass its ports of one fabric), or a whole server whose NICs
 * are counted together while all that happens inside it is free. Both are relaxations or
 * exact views of the scenario, so that a bound proven for nodes holds for the scenario:
 *
 *   ranks    one GPU a server (fabric NIC), or one server (fabric NVLink; a direct mesh
 *            gives a rank g - 1 ports a direction, or as many as it drives at once: of the messages
 *            that are under way out of a rank the last one in the stream has started beside fewer
 *            links than that; with several sockets one more, the path between them)
 *   servers  several GPUs a server and at least two servers: `width` = g NICs a direction;
 *            the ports open when the first rank of the server arrives
 *   ports    several GPUs a server and at least two servers: a rank with all its ports, its NIC and
 *            those of its server's fabric, as if each led to every other rank
 *
 * Slow NICs count with what they are slow all the time (cs_slowdown_always, of one rank
 * cs_port_slowdown_always), which may be too little, never too much; a port that is cut off carries
 * nothing. A server some of whose ports are slower than others is as slow as what they carry
 * together, no port of it by itself. Where servers differ, the ports of a node are those of the
 * fastest and largest server, and every node has a slowdown against them: that of its NVLinks is in
 * it, and a server with half as many NICs as the largest is twice as slow. So `slow` says what
 * flows through the ports of a node together (all_Bps / slow), and `width` is the most ports that a
 * node can have; that one of its ports is as slow holds only where servers have as many GPUs.
 */
#ifndef CS_ANALYTIC_NODES_H
#define CS_ANALYTIC_NODES_H

#include "cs/bound.h"
#include "cs/schedule.h"

typedef struct cs_nodes {
    const cs_bound_context *context;
    const cs_scenario      *scenario;
    uint32_t                n_nodes;   /* >= 2 */
    bool                    is_server; /* a node is a server; else a rank */
    uint32_t                width;     /* ports of a node that work at once, each direction: of
                                          none more */
    double   port_Bps;                 /* of the fastest of them */
    double   all_Bps;                  /* of all of them together */
    double   fabric_Bps[CS_FABRICS];   /* of those of each fabric */
    double   alpha_s;                  /* what every message pays at least */
    double   x_s;                      /* the whole buffer over all ports of a healthy node */
    double   last_s;                   /* when the last rank arrives */
    uint32_t last;                     /* its node */
} cs_nodes;

/* Fill `nodes` for a collective of the mask (bits 1u << CS_ALLREDUCE ..). False, and nothing is
 * filled, where the view does not apply, or where no byte has to move. O(n_ranks). */
bool cs_nodes_of_ranks(cs_nodes *nodes, const cs_bound_context *context, uint32_t collectives);
bool cs_nodes_of_servers(cs_nodes *nodes, const cs_bound_context *context, uint32_t collectives);
bool cs_nodes_of_ports(cs_nodes *nodes, const cs_bound_context *context, uint32_t collectives);

/* A bound that is proven for nodes: its value over a view (one of the three above), NAN where the
 * view does not apply. */
typedef bool cs_nodes_view(cs_nodes *nodes, const cs_bound_context *context, uint32_t collectives);
typedef double cs_nodes_bound(const cs_nodes *nodes);
double cs_bound_of_nodes(cs_nodes_view *view, const cs_bound_context *context, uint32_t collectives,
                         cs_nodes_bound *bound);

/* The ranks of a node: the first one and how many, and the node of a rank. */
static inline uint32_t cs_node_first(const cs_nodes *nodes, uint32_t node)
{
    return nodes->is_server ? cs_server_first(&nodes->scenario->cluster, node) : node;
}
static inline uint32_t cs_node_ranks(const cs_nodes *nodes, uint32_t node)
{
    return nodes->is_server ? cs_server_gpus(&nodes->scenario->cluster, node) : 1;
}
static inline uint32_t cs_node_of(const cs_nodes *nodes, uint32_t rank)
{
    return nodes->is_server ? cs_server_of(&nodes->scenario->cluster, rank) : rank;
}

/* First and last arrival among the ranks of a node. O(their number). */
double cs_node_first_s(const cs_nodes *nodes, uint32_t node);
double cs_node_last_s(const cs_nodes *nodes, uint32_t node);

/* Slowdown of a node's ports together, >= 1; the largest; how many are above 1 (and one of them).
 */
double   cs_node_slow(const cs_nodes *nodes, uint32_t node);
double   cs_nodes_slowest(const cs_nodes *nodes);
uint32_t cs_nodes_slow_count(const cs_nodes *nodes, uint32_t *node_p);

/* Time of `bytes` over all ports of a node side by side. */
double cs_node_flow_s(const cs_nodes *nodes, uint32_t node, double bytes);

/* Does every message hold both its ports for alpha? Otherwise a bound may count one alpha. */
bool cs_nodes_alpha_adds_up(const cs_nodes *nodes);

/* When a node can have received `bytes` that are sent after `sent_s`, by ports that open at
 * `open_s`. Where alpha holds no port, it may have passed before they open. */
double cs_node_receive_s(const cs_nodes *nodes, uint32_t node, double sent_s, double open_s,
                         double bytes);

/* Least time in which something known to one node can be known to all: every alpha the
 * nodes that know multiply by 1 + width at most. Only one alpha where it holds no port. */
double cs_nodes_spread_s(const cs_nodes *nodes);

/* Least time in which `bytes` known to nobody but one node get out of it and to all nodes (or the
 * reverse: from all nodes into one): flow + spread. Proof, where alpha holds ports. Each of the
 * node's ports sends alpha and its share of the bytes, so some byte is known to no other node
 * before t = alpha + flow. Call it known to K_j nodes before t + j alpha; K_0 = 1. What arrives
 * between t + j alpha and t + (j + 1) alpha was sent, at least alpha before, by one of these K_j,
 * and through each of its ports at most one message ends in that time: K_{j+1} <= (1 + width) K_j.
 * All know it after ceil(log_{1 + width} n) - 1 such times. */
double cs_node_spread_flow_s(const cs_nodes *nodes, uint32_t node, double bytes);

#endif
