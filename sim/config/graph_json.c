/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A graph in JSON: nodes by name, links between them, and the node of every rank.
 *
 *   {"kind": "graph", "nodes": ["left", "right"],
 *    "links": [{"from": "left", "to": "right", "bandwidth": "100Gb/s", "latency": "1us"}],
 *    "ranks": ["left", "left", "right", "right"]}
 *
 * A link is full duplex unless "duplex" is false. "ranks" as an array is for the NICs; as an
 * object it has an array for each of "nic", "nvlink" and "cross" that has inner links.
 */
#include "config/graph_json.h"

#include "cs/graph.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

typedef struct graph_reading {
    cs_reading *r;
    cs_graph   *graph;
    json_t     *numbers; /* name -> vertex; owned */
} graph_reading;

static const char *const node_keys[] = {"name", "end"};
static const char *const link_keys[] = {"from", "to", "bandwidth", "latency", "duplex", "cost"};
static const char *const rank_keys[] = {"nic", "nvlink", "cross"};

static void no_memory(cs_reading *r, const cs_field *field)
{
    CS_REFUSE(r, field, CS_ENOMEM, "out of memory for a graph");
}

static void read_node(graph_reading *g, const cs_field *item)
{
    const char *name   = json_string_value(item->node);
    bool        is_end = false;

    if (name == NULL && cs_read_object(g->r, item, node_keys, COUNT(node_keys))) {
        cs_read_required(g->r, item, "name");
        cs_read_text(g->r, item, "name", &name);
        cs_read_bool(g->r, item, "end", &is_end);
    }
    if (cs_reading_failed(g->r)) {
        return;
    }
    if (name == NULL || json_object_get(g->numbers, name) != NULL) {
        CS_REFUSE(g->r, item, CS_EINVAL, "is %s%.40s: accepted are names, each once",
                  name == NULL ? cs_tree_kind(item->node) : "a second ", name == NULL ? "" : name);
        return;
    }
    uint32_t v = cs_graph_vertex(g->graph, is_end, "%s", name);
    if (v == CS_NO_VERTEX || json_object_set_new(g->numbers, name, json_integer(v)) != 0) {
        no_memory(g->r, item);
    }
}

/* The vertex that a text names. */
static uint32_t find(graph_reading *g, const cs_field *field)
{
    const char *name   = json_string_value(field->node);
    json_t     *number = name != NULL ? json_object_get(g->numbers, name) : NULL;

    if (cs_reading_failed(g->r)) {
        return 0;
    }
    if (number == NULL) {
        CS_REFUSE(g->r, field, CS_EINVAL, "%.60s is no node of the graph",
                  name != NULL ? name : cs_tree_kind(field->node));
        return 0;
    }
    return (uint32_t)json_integer_value(number);
}

static void read_link(graph_reading *g, const cs_field *item)
{
    cs_reading *r      = g->r;
    cs_link     link   = {0};
    uint32_t    cost   = 1;
    bool        duplex = true;

    if (!cs_read_object(r, item, link_keys, COUNT(link_keys))) {
        if (!cs_reading_failed(r)) {
            CS_REFUSE(r, item, CS_EINVAL, "is not an object");
        }
        return;
    }
    cs_read_required(r, item, "from");
    cs_read_required(r, item, "to");
    cs_read_required(r, item, "bandwidth");
    cs_field from = cs_field_get(item, "from"), to = cs_field_get(item, "to");
    cs_read_rate(r, item, "bandwidth", &link.bandwidth_Bps);
    cs_read_time(r, item, "latency", &link.latency_s);
    cs_read_bool(r, item, "duplex", &duplex);
    cs_read_u32(r, item, "cost", 1, CS_MAX_ROUTE, &cost);
    uint32_t a = find(g, &from), b = find(g, &to);
    if (cs_reading_failed(r)) {
        return;
    }
    if (a == b) {
        CS_REFUSE(r, item, CS_EINVAL, "leads from a node to itself");
    } else if ((duplex ? cs_graph_duplex(g->graph, a, b, cost, link)
                       : cs_graph_link(g->graph, a, b, cost, link)) != CS_OK) {
        no_memory(r, item);
    }
}

static void read_ranks(graph_reading *g, const cs_field *ranks, uint32_t fabric, uint32_t n_ranks)
{
    size_t    count = cs_read_array(g->r, ranks);
    uint32_t *at    = CS_ARENA_NEW(g->r->arena, uint32_t, n_ranks);

    if (cs_reading_failed(g->r)) {
        return;
    }
    if (count != n_ranks || at == NULL) {
        CS_REFUSE(g->r, ranks, at == NULL ? CS_ENOMEM : CS_EINVAL,
                  "has %zu nodes for %u ranks: accepted is one for each", count, n_ranks);
        return;
    }
    for (uint32_t i = 0; i < n_ranks; i++) {
        cs_field item = cs_field_item(ranks, i);
        at[i]         = find(g, &item);
    }
    g->graph->attach[fabric] = at;
}

static void read_parts(graph_reading *g, const cs_field *field, uint32_t n_ranks)
{
    cs_field nodes = cs_field_get(field, "nodes"), links = cs_field_get(field, "links");
    cs_field ranks = cs_field_get(field, "ranks");
    size_t   n_nodes, n_links;

    n_nodes = cs_read_array(g->r, &nodes);
    for (size_t i = 0; i < n_nodes && !cs_reading_failed(g->r); i++) {
        cs_field item = cs_field_item(&nodes, i);
        read_node(g, &item);
    }
    n_links = cs_read_array(g->r, &links);
    for (size_t i = 0; i < n_links && !cs_reading_failed(g->r); i++) {
        cs_field item = cs_field_item(&links, i);
        read_link(g, &item);
    }
    if (json_is_array(ranks.node)) {
        read_ranks(g, &ranks, CS_NIC, n_ranks);
    } else if (cs_read_object(g->r, &ranks, rank_keys, COUNT(rank_keys))) {
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            cs_field list = cs_field_get(&ranks, rank_keys[f]);
            if (list.node != NULL && !cs_reading_failed(g->r)) {
                read_ranks(g, &list, f, n_ranks);
            }
        }
    }
}

void cs_read_graph(cs_reading *r, const cs_field *field, const cs_topology_source *source,
                   cs_cluster *cluster)
{
    cs_graph     *graph    = CS_ARENA_NEW(r->arena, cs_graph, 1);
    cs_topology  *topology = CS_ARENA_NEW(r->arena, cs_topology, 1);
    graph_reading g        = {r, graph, json_object()};
    cs_error      wrong    = {0};

    (void)source;
    cs_read_required(r, field, "nodes");
    cs_read_required(r, field, "ranks");
    if (graph == NULL || topology == NULL || g.numbers == NULL) {
        no_memory(r, field);
    } else if (!cs_reading_failed(r)) {
        *graph = (cs_graph){.arena = r->arena, .name = "graph", .n_ranks = cluster->n_ranks};
        read_parts(&g, field, cluster->n_ranks);
    }
    if (!cs_reading_failed(r)) {
        cs_status status = cs_graph_finish(graph, topology, &wrong);
        if (status != CS_OK) {
            CS_REFUSE(r, field, status, "%s", wrong.message);
        }
        cluster->topology = topology;
    }
    json_decref(g.numbers);
}
