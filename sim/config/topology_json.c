/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "cluster.topology": {"kind": .., ..} or the name of a kind or preset alone. Every kind
 * has one row in a table: its name, its keys and who reads them. */
#include "config/topology_json.h"

#include "cs/topology.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

typedef struct topology_kind {
    const char        *name;
    const char *const *keys;
    size_t             n_keys;
    /* NULL: known, but not part of this version. */
    void (*read)(cs_reading *r, const cs_field *field, cs_cluster *cluster);
} topology_kind;

static void read_crossbar(cs_reading *r, const cs_field *field, cs_cluster *cluster)
{
    (void)r;
    (void)field;
    cluster->topology = NULL;
}

static void read_leaf_spine(cs_reading *r, const cs_field *field, cs_cluster *cluster)
{
    cs_leaf_spine *shape    = CS_ARENA_NEW(r->arena, cs_leaf_spine, 1);
    cs_topology   *topology = CS_ARENA_NEW(r->arena, cs_topology, 1);
    cs_leaf_spine  read     = {.hop_latency_s = 0};

    cs_read_required(r, field, "leaves");
    cs_read_required(r, field, "spines");
    cs_read_required(r, field, "uplink_bandwidth");
    cs_read_u32(r, field, "leaves", 1, CS_MAX_RANKS, &read.n_leaves);
    cs_read_u32(r, field, "spines", 1, CS_MAX_RANKS, &read.n_spines);
    cs_read_rate(r, field, "uplink_bandwidth", &read.uplink_bandwidth_Bps);
    cs_read_time(r, field, "hop_latency", &read.hop_latency_s);
    if (cs_reading_failed(r)) {
        return;
    }
    uint64_t n = 2 * (uint64_t)read.n_leaves * read.n_spines;
    if (n > CS_MAX_LINKS) {
        CS_REFUSE(
            r, field, CS_EINVAL,
            "%u leaves with %u uplinks each: accepted are at most 2^24 links of one direction",
            read.n_leaves, read.n_spines);
        return;
    }
    cs_link *links = CS_ARENA_NEW(r->arena, cs_link, n);
    if (shape == NULL || topology == NULL || links == NULL) {
        CS_REFUSE(r, field, CS_ENOMEM, "out of memory for %llu links", (unsigned long long)n);
        return;
    }
    *shape = read;
    cs_leaf_spine_make(shape, links, topology);
    cluster->topology = topology;
}

static const char *const crossbar_keys[]   = {"kind"};
static const char *const leaf_spine_keys[] = {
    "kind", "leaves", "spines", "uplink_bandwidth", "hop_latency",
};
static const char *const file_keys[]   = {"kind", "path"};
static const char *const preset_keys[] = {"preset", "servers"};
/* All of the above, for the first look. */
static const char *const topology_keys[] = {
    "kind", "leaves", "spines", "uplink_bandwidth", "hop_latency", "path", "preset", "servers",
};

static const topology_kind kinds[] = {
    {"crossbar", crossbar_keys, COUNT(crossbar_keys), read_crossbar},
    {"leaf-spine", leaf_spine_keys, COUNT(leaf_spine_keys), read_leaf_spine},
    {"file", file_keys, COUNT(file_keys), NULL},
};
static const char *const   kind_names[] = {"crossbar", "leaf-spine", "file"};
static const topology_kind preset       = {"preset", preset_keys, COUNT(preset_keys), NULL};

/* The kind that an object or a name means. */
static const topology_kind *find_kind(cs_reading *r, const cs_field *field)
{
    size_t index = 0;

    if (json_is_string(field->node)) {
        bool is_crossbar = strcmp(json_string_value(field->node), kinds[0].name) == 0;
        return is_crossbar ? &kinds[0] : &preset;
    }
    if (!cs_read_object(r, field, topology_keys, COUNT(topology_keys))) {
        return NULL;
    }
    if (json_object_get(field->node, "preset") != NULL) {
        return &preset;
    }
    cs_read_required(r, field, "kind");
    cs_read_word(r, field, "kind", kind_names, COUNT(kind_names), &index);
    return cs_reading_failed(r) ? NULL : &kinds[index];
}

void cs_read_topology(cs_reading *r, const cs_field *cluster_field, const cs_model *model,
                      cs_cluster *cluster)
{
    cs_field             field = cs_field_get(cluster_field, "topology");
    const topology_kind *kind;

    if (field.node == NULL || cs_reading_failed(r) || (kind = find_kind(r, &field)) == NULL) {
        return;
    }
    if (kind != &kinds[0] && model->network == NULL) {
        CS_REFUSE(r, &field, CS_ENOTSUP,
                  "model %s has no topology: accepted is {\"kind\": \"crossbar\"}", model->name);
        return;
    }
    if (kind->read == NULL) {
        CS_REFUSE(r, &field, CS_ENOTSUP,
                  "topologies from a %s are not part of this version: accepted are the kinds "
                  "crossbar and leaf-spine",
                  kind->name);
        return;
    }
    if (json_is_string(field.node) || cs_read_object(r, &field, kind->keys, kind->n_keys)) {
        kind->read(r, &field, cluster);
    }
}
