/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two views of a scenario that bounds are proven on: see analytic/nodes.h. */
#include "analytic/nodes.h"

#include "base/fault.h"

#include <assert.h>
#include <math.h>

static void fill(cs_nodes *nodes, const cs_bound_context *context, uint32_t fabric,
                 uint32_t n_inside, uint32_t width)
{
    const cs_scenario *s    = context->scenario;
    uint32_t           last = cs_last_rank(s);

    *nodes = (cs_nodes){
        .context  = context,
        .scenario = s,
        .n_nodes  = s->cluster.n_ranks / n_inside,
        .n_inside = n_inside,
        .fabric   = fabric,
        .width    = width,
        .alpha_s  = context->latency_s[fabric],
        .port_Bps = s->cluster.fabrics[fabric].bandwidth_Bps,
        .x_s      = (double)s->bytes / s->cluster.fabrics[fabric].bandwidth_Bps / width,
        .last_s   = cs_arrival(s, last),
        .last     = last / n_inside,
    };
    assert(nodes->n_nodes >= 2);
}

/* One server with several sockets: all ports of a rank as if each were the fastest. */
static void fill_sockets(cs_nodes *nodes, const cs_bound_context *context)
{
    const cs_cluster *c      = &context->scenario->cluster;
    const cs_fabric  *nvlink = &c->fabrics[CS_NVLINK], *cross = &c->fabrics[CS_CROSS];
    uint32_t          links  = cs_links_at_once(c, CS_NVLINK);
    bool              faster = links == 0 || cross->bandwidth_Bps > nvlink->bandwidth_Bps;

    fill(nodes, context, faster ? CS_CROSS : CS_NVLINK, 1, links + 1);
    nodes->alpha_s = fmin(context->latency_s[CS_NVLINK], context->latency_s[CS_CROSS]);
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
        fill(nodes, context, CS_NIC, 1, 1);
        return true;
    }
    if (cs_n_servers(cluster) > 1) {
        return false;
    }
    if (cluster->sockets > 1) {
        fill_sockets(nodes, context);
    } else {
        fill(nodes, context, CS_NVLINK, 1, cs_links_at_once(cluster, CS_NVLINK));
    }
    return true;
}

bool cs_nodes_of_servers(cs_nodes *nodes, const cs_bound_context *context, uint32_t collectives)
{
    const cs_cluster *cluster = &context->scenario->cluster;
    uint32_t          g       = cluster->gpus_per_server;

    if (!is_wanted(context, collectives) || g == 1 || cs_n_servers(cluster) < 2) {
        return false;
    }
    fill(nodes, context, CS_NIC, g, g);
    return true;
}

double cs_node_first_s(const cs_nodes *nodes, uint32_t node)
{
    double first_s = (double)INFINITY;

    for (uint32_t i = 0; i < nodes->n_inside; i++) {
        first_s = fmin(first_s, cs_arrival(nodes->scenario, node * nodes->n_inside + i));
    }
    return first_s;
}

double cs_node_last_s(const cs_nodes *nodes, uint32_t node)
{
    double last_s = 0;

    for (uint32_t i = 0; i < nodes->n_inside; i++) {
        last_s = fmax(last_s, cs_arrival(nodes->scenario, node * nodes->n_inside + i));
    }
    return last_s;
}

double cs_node_slow(const cs_nodes *nodes, uint32_t node)
{
    return nodes->fabric == CS_NIC ? cs_slow_ratio_always(nodes->scenario, node) : 1;
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
    return bytes * cs_node_slow(nodes, node) / nodes->port_Bps / nodes->width;
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
    double flow_s = cs_node_flow_s(nodes, node, bytes), spread_s = cs_nodes_spread_s(nodes);

    if (nodes->width == 1) {
        return spread_s + flow_s;
    }
    return fmax(spread_s, nodes->alpha_s + flow_s);
}
