/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/route_table.h -- a topology that states the route of every pair of hosts. */
#ifndef CS_ROUTE_TABLE_H
#define CS_ROUTE_TABLE_H

#include "cs/topology.h"

CS_BEGIN_C

enum { CS_ROUTE_TABLE_MAX_HOSTS = 4096 };

/* Rank r is host r. The route from host s to host d is route_links[first[p]] .. of pair
 * p = s * n_hosts + d, up to first[p] + count[p]; a count of CS_NO_ROUTE: none is known. */
typedef struct cs_route_table {
    uint32_t           n_hosts, n_links, max_route;
    const char *const *host_names;
    const char *const *link_names;
    const cs_link     *links;
    const uint32_t    *first; /* [n_hosts * n_hosts] */
    const uint8_t     *count;
    const uint32_t    *route_links;
} cs_route_table;

#define CS_NO_ROUTE UINT8_MAX

/* Fill `topology`, which borrows the table: its first ranks' routes over the NICs. */
void cs_route_table_make(const cs_route_table *table, cs_topology *topology);

CS_END_C

#endif
