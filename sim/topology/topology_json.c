/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "cluster.topology". Every kind has a table of its keys, and a function that makes the
 * links of what was read.
 *
 *   {"kind": "graph", "nodes": ["left", "right"],
 *    "links": [{"from": "left", "to": "right", "bandwidth": "100Gb/s", "latency": "1us"}],
 *    "ranks": ["left", "left", "right", "right"]}
 *
 * A link is full duplex unless "duplex" is false. "ranks" as an array is for the NICs; as an
 * object it has an array for each of "nic", "nvlink" and "cross" that has inner links.
 */
#include "topology/topology_json.h"

#include "cs/graph.h"
#include "topology/machine_build.h"

#include <math.h>
#include <string.h>

#define MIN_BPS              1.0 /* as for ports and links */
#define MAX_BPS              1e15
#define MAX_LATENCY_S        1e6
#define MAX_OVERSUBSCRIPTION 1e6

/* ---- what the kinds hold ---- */

typedef struct server_keys {
    uint32_t servers, gpus, nics, sockets, pcie_switches;
    int      nvlink;                                                /* a place in `meshes` */
    double   nvlink_Bps, nic_Bps, pcie_Bps, uplink_Bps, socket_Bps; /* 0: not given */
} server_keys;

typedef struct graph_node {
    const char *name;
    bool        is_end;
} graph_node;

typedef struct graph_link {
    const char *from, *to;
    cs_link     link;
    bool        is_duplex;
    uint32_t    cost;
} graph_link;

typedef struct rank_list {
    const char **nodes;
    size_t       n;
} rank_list;

typedef struct graph_keys {
    graph_node *nodes;
    size_t      n_nodes;
    graph_link *links;
    size_t      n_links;
    rank_list   ranks[CS_FABRICS];
} graph_keys;

/* Of presets and files, which were looked at before. */
typedef struct source_keys {
    const char *name;
    uint32_t    servers, first;
} source_keys;

enum { CROSSBAR, LEAF_SPINE, FAT_TREE, RAILS, GRAPH, FILE_KIND, SERVER, KINDS };

typedef struct topology_keys {
    int kind;
    union {
        cs_leaf_spine leaf_spine;
        cs_fat_tree   fat_tree;
        cs_rails      rails;
        graph_keys    graph;
        server_keys   server;
        source_keys   source;
    };
} topology_keys;

static const cs_machine_mesh meshes[] = {CS_MESH_SWITCHED, CS_MESH_FULL, CS_MESH_SOCKETS,
                                         CS_MESH_NONE};

/* clang-format off */
#define KIND_ROW                                                                                   \
    {.name = "kind", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE, .is_required = true,              \
     .help = "what it is"}
#define COUNT(type, field, key, least, ...)                                                        \
    CS_KEY(type, field, key, .min = (least), .max = CS_MAX_RANKS, __VA_ARGS__)
#define RATE(type, field, key, ...)                                                                \
    CS_KEY(type, field, key, .unit = CS_UNIT_RATE, .min = MIN_BPS, .max = MAX_BPS, __VA_ARGS__)
#define HOP(type)                                                                                  \
    CS_KEY(type, hop_latency_s, "hop_latency", .unit = CS_UNIT_TIME, .max = MAX_LATENCY_S,         \
           .plain = &cs_plain_latency, .help = "what every link adds to a message")
#define OVERSUBSCRIPTION(type, field, key, ...)                                                    \
    CS_KEY(type, field, key, .fallback = 1, .min = 1, .max = MAX_OVERSUBSCRIPTION, __VA_ARGS__)
#define SERVERS(type)                                                                              \
    COUNT(type, servers, "servers", 1, .help = "how many there are, unless 'ranks' says it")

static const cs_field crossbar_fields[] = {KIND_ROW, CS_FIELD_END};
static const cs_field leaf_spine_fields[] = {
    KIND_ROW,
    COUNT(cs_leaf_spine, n_leaves, "leaves", 1, .is_required = true,
          .help = "leaf switches, which servers fill in order"),
    COUNT(cs_leaf_spine, n_spines, "spines", 1, .is_required = true,
          .help = "spine switches; a leaf has one uplink to each"),
    RATE(cs_leaf_spine, uplink_bandwidth_Bps, "uplink_bandwidth", .is_required = true,
         .help = "of one uplink in each direction"),
    HOP(cs_leaf_spine),
    CS_FIELD_END,
};
static const cs_field fat_tree_fields[] = {
    KIND_ROW,
    COUNT(cs_fat_tree, leaf_servers, "leaf_servers", 1, .is_required = true,
          .help = "servers of a leaf switch"),
    COUNT(cs_fat_tree, uplinks, "uplinks", 1, .is_required = true,
          .help = "of a leaf: the spines of its pod"),
    COUNT(cs_fat_tree, pod_leaves, "pod_leaves", 1, .help = "leaves of a pod (all, and no cores)"),
    COUNT(cs_fat_tree, core_uplinks, "core_uplinks", 1, .help = "of a spine (as many as it has leaves)"),
    OVERSUBSCRIPTION(cs_fat_tree, oversubscription, "oversubscription",
                     .help = "rate of the NICs below a leaf over that of its uplinks"),
    OVERSUBSCRIPTION(cs_fat_tree, core_oversubscription, "core_oversubscription",
                     .help = "the same of the spines"),
    HOP(cs_fat_tree),
    CS_FIELD_END,
};
static const cs_field rails_fields[] = {
    KIND_ROW,
    COUNT(cs_rails, group_servers, "group_servers", 1, .help = "servers that share rail switches (all)"),
    COUNT(cs_rails, spines, "spines", 0, .is_required = true, .help = "spines that join the rails; 0: none"),
    OVERSUBSCRIPTION(cs_rails, oversubscription, "oversubscription",
                     .help = "rate of the NICs at a rail switch over that of its uplinks"),
    HOP(cs_rails),
    CS_FIELD_END,
};

static const cs_field node_fields[] = {
    CS_KEY(graph_node, name, "name", .is_required = true, .help = "of the node"),
    CS_KEY(graph_node, is_end, "end", .max = 1, .help = "nothing passes through it"),
    CS_FIELD_END,
};
static const cs_field node_forms[] = {
    CS_KEY(graph_node, name, "name", .help = "of the node"),
    {.name = "object", .type = CS_FIELD_OBJECT, .fields = node_fields},
    CS_FIELD_END,
};
static const cs_field a_node[] = {
    {.name = "node", .type = CS_FIELD_EITHER, .fields = node_forms, .help = "a name, each once"},
    CS_FIELD_END,
};
static const cs_field link_fields[] = {
    CS_KEY(graph_link, from, "from", .is_required = true, .help = "a node"),
    CS_KEY(graph_link, to, "to", .is_required = true, .help = "another one"),
    RATE(graph_link, link.bandwidth_Bps, "bandwidth", .is_required = true, .help = "in each direction"),
    CS_KEY(graph_link, link.latency_s, "latency", .unit = CS_UNIT_TIME, .max = MAX_LATENCY_S,
           .plain = &cs_plain_latency, .help = "what it adds to a message"),
    CS_KEY(graph_link, is_duplex, "duplex", .fallback = 1, .max = 1, .help = "there is a link back"),
    CS_KEY(graph_link, cost, "cost", .fallback = 1, .min = 1, .max = CS_MAX_ROUTE,
           .help = "routes are the cheapest ways"),
    CS_FIELD_END,
};
static const cs_field a_link[] = {
    {.name = "link", .type = CS_FIELD_OBJECT, .fields = link_fields},
    CS_FIELD_END,
};
static const cs_field a_name[] = {{.name = "node", .type = CS_FIELD_TEXT}, CS_FIELD_END};
#define NODES(fabric, key, ...)                                                                    \
    CS_KEY_LIST(graph_keys, ranks[fabric].nodes, ranks[fabric].n, key, a_name, __VA_ARGS__)
static const cs_field ranks_fields[] = {
    NODES(CS_NIC, "nic", .help = "of the NICs"), NODES(CS_NVLINK, "nvlink", .help = "of the NVLinks"),
    NODES(CS_CROSS, "cross", .help = "of the paths between sockets"), CS_FIELD_END,
};
static const cs_field ranks_forms[] = {
    NODES(CS_NIC, "nic", .help = "of the NICs"),
    {.name = "object", .type = CS_FIELD_OBJECT, .fields = ranks_fields},
    CS_FIELD_END,
};
static const cs_field graph_fields[] = {
    KIND_ROW,
    CS_KEY_LIST(graph_keys, nodes, n_nodes, "nodes", a_node, .is_required = true, .help = "switches and ends"),
    CS_KEY_LIST(graph_keys, links, n_links, "links", a_link, .help = "links between them"),
    {.name = "ranks", .type = CS_FIELD_EITHER, .fields = ranks_forms, .is_required = true,
     .help = "the node of every rank; an object for several fabrics"},
    CS_FIELD_END,
};

static const cs_field server_fields[] = {
    KIND_ROW,
    SERVERS(server_keys),
    CS_KEY(server_keys, gpus, "gpus", .min = 1, .max = CS_MACHINE_MAX_GPUS, .is_required = true,
           .help = "of a server"),
    CS_KEY(server_keys, nics, "nics", .min = 1, .max = CS_MACHINE_MAX_NICS,
           .help = "of a server (as many as GPUs)"),
    COUNT(server_keys, sockets, "sockets", 1, .fallback = 1, .help = "of a server"),
    COUNT(server_keys, pcie_switches, "pcie_switches", 0, .help = "of a server"),
    CS_KEY(server_keys, nvlink, "nvlink", .choices = "switched|direct|sockets|none",
           .help = "what joins the GPUs: NVSwitches, a link per pair, one per pair of a socket, PCIe"),
    RATE(server_keys, nvlink_Bps, "nvlink_bandwidth", .help = "of a GPU's port, or of a pair"),
    RATE(server_keys, nic_Bps, "nic_bandwidth", .help = "of one NIC (200 Gb/s)"),
    RATE(server_keys, pcie_Bps, "pcie_bandwidth", .help = "of a GPU and of a NIC (31.5 GB/s or more)"),
    RATE(server_keys, uplink_Bps, "switch_uplink_bandwidth",
         .help = "from a PCIe switch to its socket (pcie_bandwidth)"),
    RATE(server_keys, socket_Bps, "socket_bandwidth", .help = "between two sockets (60 GB/s)"),
    CS_FIELD_END,
};

static const cs_field file_fields[] = {
    KIND_ROW,
    {.name = "path", .type = CS_FIELD_FILE, .offset = CS_NOWHERE, .is_required = true,
     .help = "a file that describes a topology, relative to the configuration"},
    SERVERS(source_keys),
    {.name = "fingerprint", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE, .help = "of what the file holds"},
    CS_FIELD_END,
};
static const cs_field preset_fields[] = {
    CS_KEY(source_keys, name, "preset", .names = &cs_preset_names, .is_required = true,
           .help = "'collsim list topologies'"),
    SERVERS(source_keys),
    COUNT(source_keys, first, "first", 1,
          .help = "how many are of the first kind, where the preset has two"),
    CS_FIELD_END,
};
static const cs_field named_fields[] = {
    CS_KEY_OF(CS_FIELD_FILE, source_keys, name, "name", .names = &cs_preset_names, .choices = "crossbar",
              .is_required = true, .help = "of a preset or a file"),
    SERVERS(source_keys),
    CS_FIELD_END,
};

static const cs_field kinds[] = {
    [CROSSBAR]   = {.name = "crossbar", .type = CS_FIELD_OBJECT, .fields = crossbar_fields,
                    .help = "nothing between the ports"},
    [LEAF_SPINE] = {.name = "leaf-spine", .type = CS_FIELD_OBJECT, .fields = leaf_spine_fields,
                    .offset = offsetof(topology_keys, leaf_spine), .help = "two tiers"},
    [FAT_TREE]   = {.name = "fat-tree", .type = CS_FIELD_OBJECT, .fields = fat_tree_fields,
                    .offset = offsetof(topology_keys, fat_tree), .help = "two or three tiers"},
    [RAILS]      = {.name = "rails", .type = CS_FIELD_OBJECT, .fields = rails_fields,
                    .offset = offsetof(topology_keys, rails), .help = "rail-optimised"},
    [GRAPH]      = {.name = "graph", .type = CS_FIELD_OBJECT, .fields = graph_fields,
                    .offset = offsetof(topology_keys, graph), .help = "nodes and links"},
    [FILE_KIND]  = {.name = "file", .type = CS_FIELD_OBJECT, .fields = file_fields,
                    .offset = offsetof(topology_keys, source), .help = "what a file describes"},
    [SERVER]     = {.name = "server", .type = CS_FIELD_OBJECT, .fields = server_fields,
                    .offset = offsetof(topology_keys, server), .help = "servers written out"},
    [KINDS]      = CS_FIELD_END,
};
static const cs_field kind_row = {.name = "kind", .type = CS_FIELD_KIND, .selector = "kind",
                                  .offset = offsetof(topology_keys, kind), .fields = kinds};

const cs_field cs_topology_forms[] = {
    {.name = "name", .type = CS_FIELD_FILE, .offset = CS_NOWHERE, .names = &cs_preset_names,
     .choices = "crossbar"},
    {.name = "preset", .type = CS_FIELD_OBJECT, .offset = CS_NOWHERE, .fields = preset_fields},
    {.name = "name", .type = CS_FIELD_OBJECT, .offset = CS_NOWHERE, .fields = named_fields},
    {.name = "kind", .type = CS_FIELD_KIND, .selector = "kind", .offset = CS_NOWHERE, .fields = kinds},
    CS_FIELD_END,
};
/* clang-format on */

/* ---- making the links ---- */

/* Give the topology to the cluster, or refuse with its maker's message. */
static void take_topology(cs_reading *r, const cs_place *place, cs_status status,
                          const cs_error *wrong, const cs_topology *topology, cs_cluster *cluster)
{
    if (status != CS_OK) {
        CS_REFUSE(r, place, status, "%s", wrong->message);
    } else {
        cluster->topology = topology;
    }
}

static void make_leaf_spine(cs_reading *r, const cs_place *place, const cs_leaf_spine *keys,
                            cs_cluster *cluster)
{
    uint64_t       n        = 2 * (uint64_t)keys->n_leaves * keys->n_spines;
    cs_leaf_spine *shape    = CS_ARENA_NEW(r->arena, cs_leaf_spine, 1);
    cs_topology   *topology = CS_ARENA_NEW(r->arena, cs_topology, 1);

    if (n > CS_MAX_LINKS) {
        CS_REFUSE(
            r, place, CS_EINVAL,
            "%u leaves with %u uplinks each: accepted are at most 2^24 links of one direction",
            keys->n_leaves, keys->n_spines);
        return;
    }
    cs_link *links = CS_ARENA_NEW(r->arena, cs_link, n);
    if (shape == NULL || topology == NULL || links == NULL) {
        CS_REFUSE_MEMORY(r, place, "%llu links", (unsigned long long)n);
        return;
    }
    *shape = *keys;
    cs_leaf_spine_make(shape, links, topology);
    cluster->topology = topology;
}

/* A graph with nothing in it yet, and what will borrow it; NULL where something was refused. */
static cs_graph *new_graph(cs_reading *r, const cs_place *place, const cs_cluster *cluster,
                           cs_topology **topology_p)
{
    cs_graph *graph = CS_ARENA_NEW(r->arena, cs_graph, 1);

    *topology_p = CS_ARENA_NEW(r->arena, cs_topology, 1);
    if (graph == NULL || *topology_p == NULL) {
        CS_REFUSE_MEMORY(r, place, "a topology");
        return NULL;
    }
    *graph = (cs_graph){.arena = r->arena, .name = "graph", .n_ranks = cluster->n_ranks};
    return graph;
}

/* Fat trees and rails, which are made of whole servers. */
static void make_tiers(cs_reading *r, const cs_place *place, const topology_keys *keys,
                       cs_cluster *cluster)
{
    cs_topology *topology = NULL;
    cs_error     wrong    = {0};

    if (cluster->uneven == NULL && cluster->n_ranks % cluster->gpus_per_server != 0) {
        CS_REFUSE(r, place, CS_EINVAL, "needs whole servers: %u ranks are no multiple of %u",
                  cluster->n_ranks, cluster->gpus_per_server);
        return;
    }
    if (cluster->uneven != NULL ||
        cs_least_Bps(cluster, CS_NIC) < cluster->fabrics[CS_NIC].bandwidth_Bps) {
        CS_REFUSE(r, place, CS_ENOTSUP,
                  "has uplinks for servers that are all alike: with cluster.servers of other NICs "
                  "or other numbers of GPUs accepted are crossbar, leaf-spine and graph");
        return;
    }
    cs_graph *graph = new_graph(r, place, cluster, &topology);
    if (graph != NULL) {
        cs_status status = keys->kind == FAT_TREE
                               ? cs_fat_tree_make(&keys->fat_tree, cluster, graph, topology, &wrong)
                               : cs_rails_make(&keys->rails, cluster, graph, topology, &wrong);
        take_topology(r, place, status, &wrong, topology, cluster);
    }
}

/* ---- graphs ---- */

typedef struct graph_builder {
    cs_reading *r;
    cs_graph   *graph;
    json_t     *numbers; /* name -> vertex; owned */
} graph_builder;

static void add_node(graph_builder *g, const cs_place *item, const graph_node *n)
{
    if (json_object_get(g->numbers, n->name) != NULL) {
        CS_REFUSE(g->r, item, CS_EINVAL, "is a second %.40s: accepted are names, each once",
                  n->name);
        return;
    }
    uint32_t v = cs_graph_vertex(g->graph, n->is_end, "%s", n->name);
    if (v == CS_NO_VERTEX || json_object_set_new(g->numbers, n->name, json_integer(v)) != 0) {
        CS_REFUSE_MEMORY(g->r, item, "a graph");
    }
}

/* The vertex of that name. */
static uint32_t vertex_of(graph_builder *g, const cs_place *place, const char *of)
{
    json_t *number = json_object_get(g->numbers, of);

    if (number == NULL && !cs_reading_failed(g->r)) {
        CS_REFUSE(g->r, place, CS_EINVAL, "%.60s is no node of the graph", of);
    }
    return (uint32_t)json_integer_value(number);
}

static void add_link(graph_builder *g, const cs_place *item, const graph_link *l)
{
    cs_place from = cs_place_get(item, "from"), to = cs_place_get(item, "to");
    uint32_t a = vertex_of(g, &from, l->from), b = vertex_of(g, &to, l->to);

    if (cs_reading_failed(g->r)) {
        return;
    }
    if (a == b) {
        CS_REFUSE(g->r, item, CS_EINVAL, "leads from a node to itself");
    } else if ((l->is_duplex ? cs_graph_duplex(g->graph, a, b, l->cost, l->link)
                             : cs_graph_link(g->graph, a, b, l->cost, l->link)) != CS_OK) {
        CS_REFUSE_MEMORY(g->r, item, "a graph");
    }
}

static void attach(graph_builder *g, const cs_place *ranks, const rank_list *list, uint32_t fabric)
{
    cs_place inner =
        json_is_array(ranks->node) ? *ranks : cs_place_get(ranks, cs_fabric_name(fabric));
    uint32_t  n  = g->graph->n_ranks;
    uint32_t *at = CS_ARENA_NEW(g->r->arena, uint32_t, n);

    if (list->n != n || at == NULL) {
        CS_REFUSE(g->r, &inner, at == NULL ? CS_ENOMEM : CS_EINVAL,
                  "has %zu nodes for %u ranks: accepted is one for each", list->n, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        cs_place item = cs_place_item(&inner, i);
        at[i]         = vertex_of(g, &item, list->nodes[i]);
    }
    g->graph->attach[fabric] = at;
}

static void fill_graph(graph_builder *g, const cs_place *place, const graph_keys *keys)
{
    cs_place nodes = cs_place_get(place, "nodes"), links = cs_place_get(place, "links");
    cs_place ranks = cs_place_get(place, "ranks");

    for (size_t i = 0; i < keys->n_nodes && !cs_reading_failed(g->r); i++) {
        cs_place item = cs_place_item(&nodes, i);
        add_node(g, &item, &keys->nodes[i]);
    }
    for (size_t i = 0; i < keys->n_links && !cs_reading_failed(g->r); i++) {
        cs_place item = cs_place_item(&links, i);
        add_link(g, &item, &keys->links[i]);
    }
    for (uint32_t f = 0; f < CS_FABRICS && !cs_reading_failed(g->r); f++) {
        bool is_given =
            json_is_array(ranks.node) ? f == CS_NIC : cs_place_has(&ranks, cs_fabric_name(f));
        if (is_given) {
            attach(g, &ranks, &keys->ranks[f], f);
        }
    }
}

/* How many GPUs of a server, a run of them, are at a node that nobody else is at: they share what
 * leads there. 0 where each has a node of its own, or nodes are switches of several servers. */
static uint32_t sharers(cs_reading *r, const cs_place *place, const cs_graph *graph,
                        const cs_cluster *cluster)
{
    const uint32_t *at = graph->attach[CS_NIC];
    uint32_t        n = graph->n_ranks, run = 1;
    bool           *is_taken = CS_ARENA_NEW(r->arena, bool, graph->n_vertices);

    if (at == NULL || is_taken == NULL) {
        if (is_taken == NULL) {
            CS_REFUSE_MEMORY(r, place, "a graph");
        }
        return 0;
    }
    while (run < n && at[run] == at[0]) {
        run++;
    }
    for (uint32_t i = 0; i < n; i++) {
        bool begins = i % run == 0;
        if (begins == is_taken[at[i]] || (!begins && at[i] != at[i - 1])) {
            return 0;
        }
        is_taken[at[i]] = true;
    }
    return run > 1 && cluster->gpus_per_server % run == 0 ? run : 0;
}

static void make_graph(cs_reading *r, const cs_place *place, const graph_keys *keys,
                       cs_cluster *cluster)
{
    cs_topology  *topology = NULL;
    cs_error      wrong    = {0};
    graph_builder g        = {r, new_graph(r, place, cluster, &topology), json_object()};

    if (g.numbers == NULL && !cs_reading_failed(r)) {
        CS_REFUSE_MEMORY(r, place, "a graph");
    }
    if (!cs_reading_failed(r)) {
        fill_graph(&g, place, keys);
    }
    if (!cs_reading_failed(r)) {
        cs_status status = cs_graph_finish(g.graph, topology, &wrong);
        take_topology(r, place, status, &wrong, topology, cluster);
        cluster->nic_sharers = sharers(r, place, g.graph, cluster);
    }
    json_decref(g.numbers);
}

/* ---- servers written out ---- */

bool cs_is_server(const json_t *object)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));

    return kind != NULL && strcmp(kind, "server") == 0;
}

/* A part of which a server has at most as many as GPUs. */
static void check_part(cs_reading *r, const cs_place *place, const char *key, uint32_t least,
                       uint32_t count, uint32_t n_gpus)
{
    cs_place part = cs_place_get(place, key);

    if (count > n_gpus && !cs_reading_failed(r)) {
        CS_REFUSE(r, &part, CS_EINVAL, "%u is outside [%u, %u]", count, least, n_gpus);
    }
}

static double given_or(double given, double otherwise)
{
    return given > 0 ? given : otherwise;
}

/* A PCIe link is not the limit unless it is given: it takes what the NICs of a GPU bring. */
static cs_server_shape shape_of(const server_keys *keys)
{
    const bool      is_switched = meshes[keys->nvlink] == CS_MESH_SWITCHED;
    cs_server_shape shape       = {.n_gpus         = keys->gpus,
                                   .n_nics         = keys->nics > 0 ? keys->nics : keys->gpus,
                                   .n_sockets      = keys->sockets,
                                   .n_switches     = keys->pcie_switches,
                                   .mesh           = meshes[keys->nvlink],
                                   .nic_alpha_s    = CS_ASSUMED_NIC_ALPHA_S,
                                   .nvlink_alpha_s = CS_ASSUMED_NVLINK_ALPHA_S,
                                   .cross_alpha_s  = CS_ASSUMED_CROSS_ALPHA_S};

    shape.nic_Bps = given_or(keys->nic_Bps, CS_ASSUMED_NIC_BPS);
    shape.nvlink_Bps =
        given_or(keys->nvlink_Bps, is_switched ? CS_ASSUMED_NVSWITCH_BPS : CS_ASSUMED_NVLINK_BPS);
    shape.socket_Bps   = given_or(keys->socket_Bps, CS_ASSUMED_SOCKET_BPS);
    uint32_t nics      = (shape.n_nics + shape.n_gpus - 1) / shape.n_gpus; /* of a GPU */
    shape.pcie_Bps     = given_or(keys->pcie_Bps, fmax(CS_ASSUMED_PCIE_BPS, nics * shape.nic_Bps));
    shape.nic_pcie_Bps = shape.pcie_Bps;
    shape.uplink_Bps   = given_or(keys->uplink_Bps, shape.pcie_Bps);
    return shape;
}

void cs_read_server(cs_reading *r, const cs_place *place, cs_site *site)
{
    server_keys keys = {0};

    cs_fields_default(server_fields, &keys);
    if (!cs_read_fields(r, place, server_fields, &keys)) {
        return;
    }
    check_part(r, place, "sockets", 1, keys.sockets, keys.gpus);
    check_part(r, place, "pcie_switches", 0, keys.pcie_switches, keys.gpus);
    if (cs_reading_failed(r)) {
        return;
    }
    const cs_server_shape shape = shape_of(&keys);
    *site                       = (cs_site){.machine   = cs_server_make(&shape, "server", r->arena),
                                            .n_servers = keys.servers > 0 ? keys.servers : 1};
    if (site->machine == NULL) {
        CS_REFUSE_MEMORY(r, place, "a server of %u GPUs", shape.n_gpus);
    }
}

void cs_read_first_servers(cs_reading *r, const cs_place *topology, cs_site *site)
{
    cs_place    field = cs_place_get(topology, "first");
    source_keys keys  = {.first = site->first_tail};

    if (field.node != NULL && site->tail == NULL) {
        CS_REFUSE(r, &field, CS_EINVAL, "is for presets whose servers are of two kinds");
    }
    cs_read_key(r, topology, preset_fields, "first", &keys);
    site->first_tail = keys.first;
}

void cs_read_n_servers(cs_reading *r, const cs_place *topology, uint32_t *n_servers_p)
{
    source_keys keys = {.servers = *n_servers_p};

    cs_read_key(r, topology, preset_fields, "servers", &keys);
    *n_servers_p = keys.servers;
}

/* ---- the key ---- */

/* What an object or a name means into `keys`. */
static void read_keys(cs_reading *r, const cs_place *place, topology_keys *keys)
{
    const char *name_given = json_string_value(place->node);

    *keys = (topology_keys){.kind = FILE_KIND}; /* a preset, too */
    if (name_given != NULL) {
        keys->kind = strcmp(name_given, kinds[CROSSBAR].name) == 0 ? CROSSBAR : FILE_KIND;
    } else if (cs_place_has(place, "preset")) {
        (void)cs_read_fields(r, place, preset_fields, &keys->source);
    } else {
        cs_read_row(r, place, &kind_row, keys);
    }
}

static void make(cs_reading *r, const cs_place *place, const cs_topology_source *source,
                 const topology_keys *keys, cs_cluster *cluster)
{
    switch (keys->kind) {
    case LEAF_SPINE: make_leaf_spine(r, place, &keys->leaf_spine, cluster); break;
    case FAT_TREE:
    case RAILS: make_tiers(r, place, keys, cluster); break;
    case GRAPH: make_graph(r, place, &keys->graph, cluster); break;
    case FILE_KIND:
    case SERVER: cs_read_topology_links(r, place, source, cluster); break;
    default: cluster->topology = NULL; break;
    }
}

void cs_read_topology(cs_reading *r, const cs_place *cluster_place, const cs_model *model,
                      const cs_topology_source *source, cs_cluster *cluster)
{
    cs_place      place = cs_place_get(cluster_place, "topology");
    topology_keys keys;

    if (place.node == NULL || cs_reading_failed(r)) {
        return;
    }
    read_keys(r, &place, &keys);
    if (cs_reading_failed(r)) {
        return;
    }
    bool is_servers = source->has_site; /* they say what the ports are, too */
    if (keys.kind != CROSSBAR && model->network == NULL && !is_servers) {
        CS_REFUSE(r, &place, CS_ENOTSUP,
                  "model %s has no topology: accepted is {\"kind\": \"crossbar\"}", model->name);
        return;
    }
    if (model->network != NULL || !is_servers) {
        make(r, &place, source, &keys, cluster);
    }
}

void cs_read_topology_tree(cs_reading *r, const cs_place *place, cs_cluster *cluster)
{
    cs_topology_source none = {0};
    topology_keys      keys;

    read_keys(r, place, &keys);
    if (!cs_reading_failed(r) && keys.kind == FILE_KIND) {
        CS_REFUSE(r, place, CS_EINVAL,
                  "names another topology: accepted in a file are the kinds "
                  "crossbar, leaf-spine, fat-tree, rails, graph and server");
    } else if (!cs_reading_failed(r)) {
        make(r, place, &none, &keys, cluster);
    }
}
