/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "cluster.topology": {"kind": .., ..}, or the name of a preset or file alone. Every kind
 * has one row in a table: its name, its keys and who reads them. */
#include "config/topology_json.h"

#include "config/graph_json.h"
#include "config/server_json.h"
#include "config/topology_source.h"
#include "cs/graph.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

typedef struct topology_kind {
    const char        *name;
    const char *const *keys;
    size_t             n_keys;
    void (*read)(cs_reading *r, const cs_field *field, const cs_topology_source *source,
                 cs_cluster *cluster);
} topology_kind;

static void read_crossbar(cs_reading *r, const cs_field *field, const cs_topology_source *source,
                          cs_cluster *cluster)
{
    (void)r;
    (void)field;
    (void)source;
    cluster->topology = NULL;
}

static void read_leaf_spine(cs_reading *r, const cs_field *field, const cs_topology_source *source,
                            cs_cluster *cluster)
{
    cs_leaf_spine *shape    = CS_ARENA_NEW(r->arena, cs_leaf_spine, 1);
    cs_topology   *topology = CS_ARENA_NEW(r->arena, cs_topology, 1);
    cs_leaf_spine  read     = {.hop_latency_s = 0};
    (void)source;

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

/* A graph with nothing in it yet, and what will borrow it; NULL where something was refused. */
static cs_graph *new_graph(cs_reading *r, const cs_field *field, const cs_cluster *cluster,
                           cs_topology **topology_p)
{
    if (!cs_reading_failed(r) && cluster->n_ranks % cluster->gpus_per_server != 0) {
        CS_REFUSE(r, field, CS_EINVAL, "needs whole servers: %u ranks are no multiple of %u",
                  cluster->n_ranks, cluster->gpus_per_server);
    }
    if (cs_reading_failed(r)) {
        return NULL;
    }
    cs_graph *graph = CS_ARENA_NEW(r->arena, cs_graph, 1);
    *topology_p     = CS_ARENA_NEW(r->arena, cs_topology, 1);
    if (graph == NULL || *topology_p == NULL) {
        CS_REFUSE(r, field, CS_ENOMEM, "out of memory for a topology");
        return NULL;
    }
    graph->arena = r->arena;
    return graph;
}

/* A builder's message, at the field. */
static void take(cs_reading *r, const cs_field *field, cs_status status, const cs_error *wrong,
                 const cs_topology *topology, cs_cluster *cluster)
{
    if (status != CS_OK) {
        CS_REFUSE(r, field, status, "%s", wrong->message);
    } else {
        cluster->topology = topology;
    }
}

static void read_fat_tree(cs_reading *r, const cs_field *field, const cs_topology_source *source,
                          cs_cluster *cluster)
{
    cs_fat_tree  shape    = {.oversubscription = 1, .core_oversubscription = 1};
    cs_topology *topology = NULL;
    cs_error     wrong    = {0};
    (void)source;

    cs_read_required(r, field, "leaf_servers");
    cs_read_required(r, field, "uplinks");
    cs_read_u32(r, field, "leaf_servers", 1, CS_MAX_RANKS, &shape.leaf_servers);
    cs_read_u32(r, field, "uplinks", 1, CS_MAX_RANKS, &shape.uplinks);
    cs_read_u32(r, field, "pod_leaves", 1, CS_MAX_RANKS, &shape.pod_leaves);
    cs_read_u32(r, field, "core_uplinks", 1, CS_MAX_RANKS, &shape.core_uplinks);
    cs_read_number(r, field, "oversubscription", 1, 1e6, &shape.oversubscription);
    cs_read_number(r, field, "core_oversubscription", 1, 1e6, &shape.core_oversubscription);
    cs_read_time(r, field, "hop_latency", &shape.hop_latency_s);
    cs_graph *graph = new_graph(r, field, cluster, &topology);
    if (graph != NULL) {
        cs_status status = cs_fat_tree_make(&shape, cluster, graph, topology, &wrong);
        take(r, field, status, &wrong, topology, cluster);
    }
}

static void read_rails(cs_reading *r, const cs_field *field, const cs_topology_source *source,
                       cs_cluster *cluster)
{
    cs_rails     shape    = {.oversubscription = 1};
    cs_topology *topology = NULL;
    cs_error     wrong    = {0};
    (void)source;

    cs_read_required(r, field, "spines");
    cs_read_u32(r, field, "group_servers", 1, CS_MAX_RANKS, &shape.group_servers);
    cs_read_u32(r, field, "spines", 0, CS_MAX_RANKS, &shape.spines);
    cs_read_number(r, field, "oversubscription", 1, 1e6, &shape.oversubscription);
    cs_read_time(r, field, "hop_latency", &shape.hop_latency_s);
    cs_graph *graph = new_graph(r, field, cluster, &topology);
    if (graph != NULL) {
        cs_status status = cs_rails_make(&shape, cluster, graph, topology, &wrong);
        take(r, field, status, &wrong, topology, cluster);
    }
}

static const char *const crossbar_keys[]   = {"kind"};
static const char *const leaf_spine_keys[] = {
    "kind", "leaves", "spines", "uplink_bandwidth", "hop_latency",
};
static const char *const fat_tree_keys[] = {
    "kind",
    "leaf_servers",
    "uplinks",
    "pod_leaves",
    "core_uplinks",
    "oversubscription",
    "core_oversubscription",
    "hop_latency",
};
static const char *const rails_keys[] = {
    "kind", "group_servers", "spines", "oversubscription", "hop_latency",
};
static const char *const graph_keys[]  = {"kind", "nodes", "links", "ranks"};
static const char *const file_keys[]   = {"kind", "path", "servers", "fingerprint"};
static const char *const preset_keys[] = {"preset", "servers"};
static const char *const server_keys[] = {CS_SERVER_KEYS};
/* All of the above, for the first look. */
static const char *const topology_keys[] = {
    "leaves",
    "spines",
    "uplink_bandwidth",
    "hop_latency",
    "leaf_servers",
    "uplinks",
    "pod_leaves",
    "core_uplinks",
    "oversubscription",
    "core_oversubscription",
    "group_servers",
    "nodes",
    "links",
    "ranks",
    "path",
    "preset",
    CS_SERVER_KEYS,
    "fingerprint",
};

static const topology_kind kinds[] = {
    {"crossbar", crossbar_keys, COUNT(crossbar_keys), read_crossbar},
    {"leaf-spine", leaf_spine_keys, COUNT(leaf_spine_keys), read_leaf_spine},
    {"fat-tree", fat_tree_keys, COUNT(fat_tree_keys), read_fat_tree},
    {"rails", rails_keys, COUNT(rails_keys), read_rails},
    {"graph", graph_keys, COUNT(graph_keys), cs_read_graph},
    {"file", file_keys, COUNT(file_keys), cs_read_topology_links},
    {"server", server_keys, COUNT(server_keys), cs_read_topology_links},
};
static const char *const   kind_names[] = {"crossbar", "leaf-spine", "fat-tree", "rails",
                                           "graph",    "file",       "server"};
static const topology_kind preset       = {"preset", preset_keys, COUNT(preset_keys),
                                           cs_read_topology_links};

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
                      const cs_topology_source *source, cs_cluster *cluster)
{
    cs_field             field = cs_field_get(cluster_field, "topology");
    const topology_kind *kind;

    if (field.node == NULL || cs_reading_failed(r) || (kind = find_kind(r, &field)) == NULL) {
        return;
    }
    if (!json_is_string(field.node) && !cs_read_object(r, &field, kind->keys, kind->n_keys)) {
        return;
    }
    bool is_servers = source->has_site; /* they say what the ports are, too */
    if (kind != &kinds[0] && model->network == NULL && !is_servers) {
        CS_REFUSE(r, &field, CS_ENOTSUP,
                  "model %s has no topology: accepted is {\"kind\": \"crossbar\"}", model->name);
        return;
    }
    if (model->network != NULL || !is_servers) {
        kind->read(r, &field, source, cluster);
    }
}

void cs_read_topology_tree(cs_reading *r, const cs_field *field, cs_cluster *cluster)
{
    cs_topology_source   none = {0};
    const topology_kind *kind = find_kind(r, field);

    if (kind != NULL && (kind == &preset || strcmp(kind->name, "file") == 0)) {
        CS_REFUSE(r, field, CS_EINVAL,
                  "names another topology: accepted in a file are the kinds "
                  "crossbar, leaf-spine, fat-tree, rails, graph and server");
    } else if (kind != NULL && cs_read_object(r, field, kind->keys, kind->n_keys)) {
        kind->read(r, field, &none, cluster);
    }
}
