/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The three views of a scenario that bounds are proven on. */
#include "analytic/nodes.h"

#include "cs/capacity.h"

#include <assert.h>
#include <math.h>

/* Ranks or servers before they have ports. */
static void fill(cs_nodes *nodes, const cs_bound_context *context, bool is_server)
{
    const cs_scenario *s    = context->scenario;
    uint32_t           last = cs_last_rank(s);

    *nodes = (cs_nodes){
        .context   = context,
        .scenario  = s,
        .n_nodes   = is_server ? cs_n_servers(&s->cluster) : s->cluster.n_ranks,
        .is_server = is_server,
        .alpha_s   = (double)INFINITY,
        .last_s    = cs_arrival(s, last),
    };
    nodes->last = cs_node_of(nodes, last);
    assert(nodes->n_nodes >= 2);
}

static void add_ports(cs_nodes *nodes, uint32_t fabric, uint32_t width)
{
    double rate_Bps = nodes->scenario->cluster.fabrics[fabric].bandwidth_Bps;

    if (width > 0) {
        nodes->width += width;
        nodes->port_Bps = fmax(nodes->port_Bps, rate_Bps);
        nodes->all_Bps += width * rate_Bps;
        nodes->fabric_Bps[fabric] += width * rate_Bps;
        nodes->alpha_s = fmin(nodes->alpha_s, nodes->context->latency_s[fabric]);
        nodes->x_s     = (double)nodes->scenario->bytes / nodes->all_Bps;
    }
}

/* The ports of a rank to the others of its server. */
static void add_inside(cs_nodes *nodes)
{
    const cs_cluster *c = &nodes->scenario->cluster;

    add_ports(nodes, CS_NVLINK, cs_links_at_once(c, CS_NVLINK));
    add_ports(nodes, CS_CROSS, c->sockets > 1 ? 1 : 0);
}

static bool is_wanted(const cs_bound_context *context, uint32_t collectives)
{
    const cs_scenario *s = context->scenario;
    return s->bytes > 0 && s->cluster.n_ranks >= 2 && (collectives >> s->collective & 1u) != 0;
}

bool cs_nodes_of_ranks(cs_nodes *nodes, const cs_bound_context *context, uint32_t collectives)
{
    const cs_cluster *cluster = &context->scenario->cluster;

    if (!is_wanted(context, collectives)) {
        return false;
    }
    if (cluster->gpus_per_server == 1) {
        fill(nodes, context, false);
        add_ports(nodes, CS_NIC, 1);
        return true;
    }
    if (cs_n_servers(cluster) > 1) {
        return false;
    }
    fill(nodes, context, false);
    add_inside(nodes);
    return true;
}

static bool has_servers(const cs_cluster *cluster)
{
    return cluster->gpus_per_server > 1 && cs_n_servers(cluster) > 1;
}

bool cs_nodes_of_servers(cs_nodes *nodes, const cs_bound_context *context, uint32_t collectives)
{
    const cs_cluster *cluster = &context->scenario->cluster;

    if (!is_wanted(context, collectives) || !has_servers(cluster)) {
        return false;
    }
    fill(nodes, context, true);
    add_ports(nodes, CS_NIC, cluster->gpus_per_server);
    return true;
}

bool cs_nodes_of_ports(cs_nodes *nodes, const cs_bound_context *context, uint32_t collectives)
{
    if (!is_wanted(context, collectives) || !has_servers(&context->scenario->cluster)) {
        return false;
    }
    fill(nodes, context, false);
    add_ports(nodes, CS_NIC, 1);
    add_inside(nodes);
    return true;
}

double cs_bound_of_nodes(cs_nodes_view *view, const cs_bound_context *context, uint32_t collectives,
                         cs_nodes_bound *bound)
{
    cs_nodes nodes;

    return view(&nodes, context, collectives) ? bound(&nodes) : (double)NAN;
}

double cs_node_first_s(const cs_nodes *nodes, uint32_t node)
{
    uint32_t first = cs_node_first(nodes, node), n = cs_node_ranks(nodes, node);
    double   first_s = (double)INFINITY;

    for (uint32_t i = 0; i < n; i++) {
        first_s = fmin(first_s, cs_arrival(nodes->scenario, first + i));
    }
    return first_s;
}

double cs_node_last_s(const cs_nodes *nodes, uint32_t node)
{
    uint32_t first = cs_node_first(nodes, node), n = cs_node_ranks(nodes, node);
    double   last_s = 0;

    for (uint32_t i = 0; i < n; i++) {
        last_s = fmax(last_s, cs_arrival(nodes->scenario, first + i));
    }
    return last_s;
}

/* What of the links of a GPU inside the largest server one of this server has: 1, or less. */
static double links_share(const cs_cluster *c, uint32_t server, uint32_t fabric)
{
    uint32_t gpus = cs_server_gpus(c, server);

    return gpus == c->gpus_per_server
               ? 1
               : (double)cs_links_at_once_among(c, fabric, gpus) / cs_links_at_once(c, fabric);
}

double cs_node_slow(const cs_nodes *nodes, uint32_t node)
{
    const cs_scenario *s      = nodes->scenario;
    const cs_cluster  *c      = &s->cluster;
    uint32_t           server = cs_server_of(c, cs_node_first(nodes, node));
    double             slow = 1, most_Bps = 0, inside_Bps = 0;

    for (uint32_t f = CS_NIC + 1; f < CS_FABRICS; f++) {
        if (nodes->fabric_Bps[f] > 0) {
            most_Bps += nodes->fabric_Bps[f];
            inside_Bps +=
                nodes->fabric_Bps[f] / cs_server_ratio(c, server, f) * links_share(c, server, f);
        }
    }
    if (most_Bps < nodes->all_Bps) {
        slow = nodes->is_server ? cs_slowdown_always(s, server) : cs_port_slowdown_always(s, node);
    }
    if (nodes->is_server && c->uneven != NULL) {
        slow *= (double)nodes->width / cs_server_gpus(c, server);
    }
    if (most_Bps > 0 && (slow > 1 || inside_Bps < most_Bps)) {
        double nic_Bps = nodes->all_Bps - most_Bps;
        slow           = nodes->all_Bps / (nic_Bps / slow + inside_Bps);
    }
    return slow;
}

double cs_nodes_slowest(const cs_nodes *nodes)
{
    double slowest = 1;

    for (uint32_t node = 0; node < nodes->n_nodes; node++) {
        slowest = fmax(slowest, cs_node_slow(nodes, node));
    }
    return slowest;
}

uint32_t cs_nodes_slow_count(const cs_nodes *nodes, uint32_t *node_p)
{
    uint32_t count = 0;

    for (uint32_t node = 0; node < nodes->n_nodes; node++) {
        if (cs_node_slow(nodes, node) > 1) {
            *node_p = node;
            count++;
        }
    }
    return count;
}

double cs_node_flow_s(const cs_nodes *nodes, uint32_t node, double bytes)
{
    return bytes * cs_node_slow(nodes, node) / nodes->all_Bps;
}

bool cs_nodes_alpha_adds_up(const cs_nodes *nodes)
{
    return nodes->context->alpha_holds_port && nodes->context->alpha_per_message;
}

double cs_node_receive_s(const cs_nodes *nodes, uint32_t node, double sent_s, double open_s,
                         double bytes)
{
    double flow_s = cs_node_flow_s(nodes, node, bytes);

    if (cs_nodes_alpha_adds_up(nodes)) {
        return fmax(sent_s, open_s) + nodes->alpha_s + flow_s;
    }
    return fmax(sent_s + nodes->alpha_s, open_s) + flow_s;
}

double cs_nodes_spread_s(const cs_nodes *nodes)
{
    uint32_t steps = 0;

    if (!cs_nodes_alpha_adds_up(nodes)) {
        return nodes->alpha_s;
    }
    for (uint64_t known = 1; known < nodes->n_nodes; known *= 1 + (uint64_t)nodes->width) {
        steps++;
    }
    return steps * nodes->alpha_s;
}

double cs_node_spread_flow_s(const cs_nodes *nodes, uint32_t node, double bytes)
{
    return cs_nodes_spread_s(nodes) + cs_node_flow_s(nodes, node, bytes);
}
