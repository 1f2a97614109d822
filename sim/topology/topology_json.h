/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology/topology_json.h -- the key "cluster.topology": {"kind": .., ..}, or a name. */
#ifndef CS_TOPOLOGY_TOPOLOGY_JSON_H
#define CS_TOPOLOGY_TOPOLOGY_JSON_H

#include "topology/topology_source.h"

extern const cs_field cs_cluster_fields[]; /* of a cs_cluster */
extern const cs_field cs_topology_forms[]; /* what "cluster.topology" may be */

/* Reader of a row (cs_field_read): of a cs_cluster, for the model and the ranks that the rows
 * before it have read. */
void cs_read_cluster(cs_reading *r, const cs_place *place, const cs_field *row, void *object);

/* Read the key into cluster->topology (NULL where it is absent or a crossbar); the topology lives
 * in the reading's arena. `source` is what a preset or file brought. A model without a network
 * refuses everything but the crossbar and servers, of which it takes the ports only. */
void cs_read_topology(cs_reading *r, const cs_place *cluster_place, const cs_model *model,
                      const cs_topology_source *source, cs_cluster *cluster);

/* The same for the object that a JSON file holds. */
void cs_read_topology_tree(cs_reading *r, const cs_place *place, cs_cluster *cluster);

/* Is the object a regular server written out, {"kind": "server", "gpus": 4, "nics": 2}? Read it;
 * the site's machine is the arena's. */
bool cs_is_server(const json_t *object);
void cs_read_server(cs_reading *r, const cs_place *place, cs_site *site);

/* Read the key "servers" of a topology, if it is there. */
void cs_read_n_servers(cs_reading *r, const cs_place *topology, uint32_t *n_servers_p);

#endif
