/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology/topology_json.h -- the key "cluster.topology": {"kind": .., ..}, or a name. */
#ifndef CS_TOPOLOGY_TOPOLOGY_JSON_H
#define CS_TOPOLOGY_TOPOLOGY_JSON_H

#include "cs/model.h"
#include "input/reader.h"
#include "topology/topology_file.h"

/* What a preset or a file says about a cluster, before its other keys are read: they override it.
 */
typedef struct cs_topology_source {
    bool has_site;           /* servers: a preset, NCCL's XML, nvidia-smi's matrix,
                              InfraGraph */
    cs_topology_file file;   /* the site, or hosts with routes, or a JSON tree; borrowed from the
                                reading's files (a preset: its arena) */
    const char *path;        /* of the file, in the arena; NULL: a preset */
    const char *fingerprint; /* of the file; NULL: a preset */
} cs_topology_source;

/* Look at the key "topology" and load what it names; nothing for the other kinds. */
void cs_read_topology_source(cs_reading *r, const cs_place *cluster, cs_topology_source *source);

/* What follows for ranks, servers and ports, as far as no key says otherwise. */
void cs_topology_source_defaults(cs_reading *r, const cs_place *cluster_field,
                                 const cs_model *model, const cs_topology_source *source,
                                 cs_cluster *cluster);

/* The servers of a site of two kinds, for a model whose ports are all that it has of them; a rate
 * that a key gives is that of all. */
void cs_set_site_servers(cs_reading *r, const cs_place *cluster_field, const cs_site *site,
                         cs_cluster *cluster);

/* The NICs of a site's servers, and which GPUs use them. */
void cs_set_site_nics(cs_reading *r, const cs_place *cluster_field, const cs_site *site,
                      cs_cluster *cluster);

/* The links for the cluster as it is; the kind `file` and presets. */
void cs_read_topology_links(cs_reading *r, const cs_place *field, const cs_topology_source *source,
                            cs_cluster *cluster);

/* Say in `cluster->assumed` which of its rates a file leaves open and no key gives. */
void cs_say_what_is_assumed(cs_reading *r, const cs_place *cluster_field,
                            const cs_topology_source *source, cs_cluster *cluster);

/* Put the fingerprint of a file into the key "topology", which becomes an object where it was the
 * name of the file alone. */
void cs_keep_topology_source(cs_reading *r, const cs_place *cluster_field,
                             const cs_topology_source *source);

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

/* Read the key "first" of a preset, if it is there: how many servers are of the first kind. Presets
 * of one kind have none. */
void cs_read_first_servers(cs_reading *r, const cs_place *topology, cs_site *site);

/* Read the key "servers" of a topology, if it is there. */
void cs_read_n_servers(cs_reading *r, const cs_place *topology, uint32_t *n_servers_p);

#endif
