/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/topology_json.h -- the key "cluster.topology". */
#ifndef CS_CONFIG_TOPOLOGY_JSON_H
#define CS_CONFIG_TOPOLOGY_JSON_H

#include "config/scenario_json.h"

/* Read the key into cluster->topology (NULL where it is absent or a crossbar); the topology lives
 * in the reading's arena. A model without a network refuses everything but the crossbar. */
void cs_read_topology(cs_reading *r, const cs_field *cluster_field, const cs_model *model,
                      cs_cluster *cluster);

#endif
