/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology/infragraph_keys.h -- an InfraGraph file as its keys say it, before anything is counted
 * or expanded. All memory is the reading's arena's.
 */
#ifndef CS_TOPOLOGY_INFRAGRAPH_KEYS_H
#define CS_TOPOLOGY_INFRAGRAPH_KEYS_H

#include "topology/infragraph.h"

/* A count of a component or an instance is at most this. */
enum { CS_IG_MOST_EACH = 65536 };

typedef struct cs_ig_component {
    const char *name, *choice, *type;
    uint32_t    count; /* 0: not said */
} cs_ig_component;

typedef struct cs_ig_end {
    const char *holder; /* an instance, or a nested device */
    const char *component;
} cs_ig_end;

typedef struct cs_ig_edge_keys {
    cs_ig_end   ep1, ep2;
    const char *scheme, *link;
} cs_ig_edge_keys;

typedef struct cs_ig_device_keys {
    const char      *name;
    cs_ig_component *components;
    cs_ig_link      *links;
    cs_ig_edge_keys *edges;
    const char     **connections;
    size_t           n_components, n_links, n_edges, n_connections;
} cs_ig_device_keys;

typedef struct cs_ig_instance {
    const char *name, *device;
    uint32_t    count; /* 0: not said */
} cs_ig_instance;

typedef struct cs_ig_keys {
    cs_ig_device_keys *devices;
    cs_ig_instance    *instances;
    cs_ig_link        *links;
    cs_ig_edge_keys   *edges;
    const char       **connections;
    size_t             n_devices, n_instances, n_links, n_edges, n_connections;
} cs_ig_keys;

/* Read the tables of a file: an infrastructure, what may stand around one, or a device alone.
 * Returns the place of the infrastructure, whose parents are in `wraps`; *n_p: annotations beside
 * it. Refusals are the reading's. */
cs_place cs_ig_read_keys(cs_reading *r, const cs_place *root, cs_place wraps[2], cs_ig_keys *keys,
                         uint32_t *n_p);

#endif
