/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/graph_json.h -- {"kind": "graph", "nodes": [..], "links": [..], "ranks": ..}. */
#ifndef CS_CONFIG_GRAPH_JSON_H
#define CS_CONFIG_GRAPH_JSON_H

#include "config/topology_source.h"

/* Read a graph into cluster->topology. */
void cs_read_graph(cs_reading *r, const cs_field *field, const cs_topology_source *source,
                   cs_cluster *cluster);

#endif
