/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stated routes as a kind of topology. */
#include "cs/route_table.h"

#include <stdio.h>

static size_t pair_of(const cs_route_table *t, uint32_t src, uint32_t dst)
{
    return (size_t)src * t->n_hosts + dst;
}

static uint32_t table_route(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                            uint32_t dst, uint32_t fabric, uint32_t *links)
{
    const cs_route_table *t    = topology->data;
    size_t                pair = pair_of(t, src, dst);

    (void)cluster;
    if (fabric != CS_NIC) {
        return 0;
    }
    for (uint32_t i = 0; i < t->count[pair]; i++) {
        links[i] = t->route_links[t->first[pair] + i];
    }
    return t->count[pair];
}

static cs_status table_check(const cs_topology *topology, const cs_cluster *cluster, cs_error *err)
{
    const cs_route_table *t = topology->data;

    if (cluster->n_ranks > t->n_hosts) {
        return CS_FAIL(err, CS_EINVAL, "cluster.topology", "has %u hosts for %u ranks", t->n_hosts,
                       cluster->n_ranks);
    }
    for (uint32_t src = 0; src < cluster->n_ranks; src++) {
        for (uint32_t dst = 0; dst < cluster->n_ranks; dst++) {
            if (src != dst && cs_fabric_of(cluster, src, dst) == CS_NIC &&
                t->count[pair_of(t, src, dst)] == CS_NO_ROUTE) {
                return CS_FAIL(err, CS_EINVAL, "cluster.topology",
                               "is disconnected: no route from host %.60s to host %.60s",
                               t->host_names[src], t->host_names[dst]);
            }
        }
    }
    return CS_OK;
}

static void table_link_name(const cs_topology *topology, uint32_t link, char *text,
                            size_t text_bytes)
{
    const cs_route_table *t = topology->data;
    (void)snprintf(text, text_bytes, "link %s", t->link_names[link]);
}

static const cs_topology_kind table_kind = {
    .name      = "routes",
    .check     = table_check,
    .route     = table_route,
    .link_name = table_link_name,
};

void cs_route_table_make(const cs_route_table *table, cs_topology *topology)
{
    *topology = (cs_topology){&table_kind, table->n_links, table->links, table->max_route, table};
}
