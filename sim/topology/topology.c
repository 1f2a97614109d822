/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topologies: the check that all kinds share, and leaf-spine. */
#include "cs/topology.h"

#include <stdio.h>

#define MIN_BANDWIDTH_BPS 1.0
#define MAX_BANDWIDTH_BPS 1e15
#define MAX_LATENCY_S     1e6

static cs_status check_link(const cs_topology *t, uint32_t i, cs_error *err)
{
    const cs_link *link = &t->links[i];
    char           name[80];

    if (link->bandwidth_Bps >= MIN_BANDWIDTH_BPS && link->bandwidth_Bps <= MAX_BANDWIDTH_BPS &&
        link->latency_s >= 0 && link->latency_s <= MAX_LATENCY_S) {
        return CS_OK;
    }
    t->kind->link_name(t, i, name, sizeof name);
    return CS_FAIL(err, CS_EINVAL, "cluster.topology",
                   "%s has %.15g B/s and latency %.15g s: accepted are 1 to 1e15 B/s and 0 to "
                   "1e6 s",
                   name, link->bandwidth_Bps, link->latency_s);
}

cs_status cs_topology_check(const cs_topology *topology, const cs_cluster *cluster, cs_error *err)
{
    if (topology->max_route > CS_MAX_ROUTE || topology->n_links > CS_MAX_LINKS) {
        return CS_FAIL(err, CS_EINVAL, "cluster.topology",
                       "%u links and routes over %u of them: accepted are 2^24 links and routes "
                       "over %u",
                       topology->n_links, topology->max_route, CS_MAX_ROUTE);
    }
    for (uint32_t i = 0; i < topology->n_links; i++) {
        CS_TRY(check_link(topology, i, err));
    }
    return topology->kind->check(topology, cluster, err);
}

uint32_t cs_topology_n_paths(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                             uint32_t dst, uint32_t fabric)
{
    const cs_topology_kind *kind = topology->kind;
    return kind->n_paths != NULL ? kind->n_paths(topology, cluster, src, dst, fabric) : 1;
}

uint32_t cs_topology_path(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                          uint32_t dst, uint32_t fabric, uint32_t i, uint32_t *links)
{
    const cs_topology_kind *kind = topology->kind;
    return kind->path != NULL ? kind->path(topology, cluster, src, dst, fabric, i, links)
                              : kind->route(topology, cluster, src, dst, fabric, links);
}

uint32_t cs_leaf_of(const cs_leaf_spine *shape, const cs_cluster *cluster, uint32_t rank)
{
    uint32_t servers = cs_n_servers(cluster);
    uint32_t each    = servers / shape->n_leaves + (servers % shape->n_leaves > 0);

    return cs_server_of(cluster, rank) / each;
}

static cs_status leaf_spine_check(const cs_topology *topology, const cs_cluster *cluster,
                                  cs_error *err)
{
    const cs_leaf_spine *shape = topology->data;

    if (shape->n_leaves == 0 || shape->n_leaves > cs_n_servers(cluster)) {
        return CS_FAIL(err, CS_EINVAL, "cluster.topology.leaves",
                       "%u leaves for %u servers: accepted is 1 to as many as there are servers",
                       shape->n_leaves, cs_n_servers(cluster));
    }
    if (shape->n_spines == 0) {
        return CS_FAIL(err, CS_EINVAL, "cluster.topology.spines",
                       "without a spine the leaves are disconnected: accepted is at least 1");
    }
    return CS_OK;
}

static uint32_t leaf_spine_n_paths(const cs_topology *topology, const cs_cluster *cluster,
                                   uint32_t src, uint32_t dst, uint32_t fabric)
{
    const cs_leaf_spine *shape = topology->data;

    if (fabric != CS_NIC || cs_leaf_of(shape, cluster, src) == cs_leaf_of(shape, cluster, dst)) {
        return 1;
    }
    return shape->n_spines < CS_MAX_PATHS ? shape->n_spines : CS_MAX_PATHS;
}

static uint32_t leaf_spine_path(const cs_topology *topology, const cs_cluster *cluster,
                                uint32_t src, uint32_t dst, uint32_t fabric, uint32_t i,
                                uint32_t *links)
{
    const cs_leaf_spine *shape = topology->data;
    uint32_t             from  = cs_leaf_of(shape, cluster, src);
    uint32_t             to    = cs_leaf_of(shape, cluster, dst);
    uint32_t             spine = (uint32_t)(((uint64_t)src + dst + i) % shape->n_spines);

    if (fabric != CS_NIC || from == to) {
        return 0;
    }
    links[0] = 2 * (from * shape->n_spines + spine);
    links[1] = 2 * (to * shape->n_spines + spine) + 1;
    return 2;
}

static uint32_t leaf_spine_route(const cs_topology *topology, const cs_cluster *cluster,
                                 uint32_t src, uint32_t dst, uint32_t fabric, uint32_t *links)
{
    return leaf_spine_path(topology, cluster, src, dst, fabric, 0, links);
}

static void leaf_spine_link_name(const cs_topology *topology, uint32_t link, char *text,
                                 size_t text_bytes)
{
    const cs_leaf_spine *shape = topology->data;
    uint32_t             leaf = link / 2 / shape->n_spines, spine = link / 2 % shape->n_spines;

    if (link % 2 == 0) {
        (void)snprintf(text, text_bytes, "uplink leaf %u -> spine %u", leaf, spine);
    } else {
        (void)snprintf(text, text_bytes, "downlink spine %u -> leaf %u", spine, leaf);
    }
}

static const cs_topology_kind leaf_spine_kind = {
    .name      = "leaf-spine",
    .check     = leaf_spine_check,
    .route     = leaf_spine_route,
    .link_name = leaf_spine_link_name,
    .n_paths   = leaf_spine_n_paths,
    .path      = leaf_spine_path,
};

const cs_leaf_spine *cs_leaf_spine_of(const cs_topology *topology)
{
    return topology != NULL && topology->kind == &leaf_spine_kind ? topology->data : NULL;
}

void cs_leaf_spine_make(const cs_leaf_spine *shape, cs_link *links, cs_topology *topology)
{
    uint32_t n = 2 * shape->n_leaves * shape->n_spines;

    for (uint32_t i = 0; i < n; i++) {
        links[i] = (cs_link){shape->uplink_bandwidth_Bps, shape->hop_latency_s, false};
    }
    *topology = (cs_topology){&leaf_spine_kind, n, links, 2, shape};
}
