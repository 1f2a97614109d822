/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/topology_json.h -- the key "cluster.topology". */
#ifndef CS_CONFIG_TOPOLOGY_JSON_H
#define CS_CONFIG_TOPOLOGY_JSON_H

#include "config/scenario_json.h"
#include "config/topology_source.h"

/* Read the key into cluster->topology (NULL where it is absent or a crossbar); the topology lives
 * in the reading's arena. `source` is what a preset or file brought. A model without a network
 * refuses everything but the crossbar and servers, of which it takes the ports only. */
void cs_read_topology(cs_reading *r, const cs_field *cluster_field, const cs_model *model,
                      const cs_topology_source *source, cs_cluster *cluster);

/* The same for the object that a JSON file holds. */
void cs_read_topology_tree(cs_reading *r, const cs_field *field, cs_cluster *cluster);

#endif
