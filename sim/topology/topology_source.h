/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology/topology_source.h -- what a preset or a file says about a cluster, before its other keys
 * are read: they override it.
 */
#ifndef CS_TOPOLOGY_TOPOLOGY_SOURCE_H
#define CS_TOPOLOGY_TOPOLOGY_SOURCE_H

#include "cs/model.h"
#include "input/reader.h"
#include "topology/topology_file.h"

typedef struct cs_topology_source {
    bool             has_site; /* servers: a preset, NCCL's XML, nvidia-smi's matrix */
    cs_topology_file file;     /* the site, or hosts with routes, or a JSON tree; borrowed from the
                                  reading's files (a preset: its arena) */
    const char *path;          /* of the file, in the arena; NULL: a preset */
    const char *fingerprint;   /* of the file; NULL: a preset */
} cs_topology_source;

/* Look at the key "topology" and load what it names; nothing for the other kinds. */
void cs_read_topology_source(cs_reading *r, const cs_place *cluster, cs_topology_source *source);

/* What follows for ranks, servers and ports, as far as no key says otherwise. */
void cs_topology_source_defaults(cs_reading *r, const cs_place *cluster_field,
                                 const cs_model *model, const cs_topology_source *source,
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

#endif
