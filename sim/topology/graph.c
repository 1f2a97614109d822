/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs as topologies: distances from every vertex to those that have ranks, routes along them.
 *
 * Costs are small whole numbers and no route costs more than CS_MAX_ROUTE, so that distances are
 * found level by level, from the target backwards.
 */
#include "cs/graph.h"

#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NO_WAY UINT8_MAX

/* Room for one more element of a list that lives in an arena: the old one is left behind. */
static void *grown(cs_arena *arena, void *old, uint32_t count, uint32_t *room, size_t size)
{
    uint32_t more  = *room == 0 ? 64 : 2 * *room;
    void    *fresh = old;

    if (count == *room && (fresh = cs_arena_alloc(arena, more, size)) != NULL) {
        if (count > 0) {
            memcpy(fresh, old, count * size);
        }
        *room = more;
    }
    return fresh;
}

uint32_t cs_graph_vertex(cs_graph *graph, bool is_end, const char *format, ...)
{
    cs_vertex *v =
        grown(graph->arena, graph->vertices, graph->n_vertices, &graph->vertex_room, sizeof *v);
    va_list words;

    if (v == NULL) {
        return CS_NO_VERTEX;
    }
    graph->vertices             = v;
    v[graph->n_vertices].is_end = is_end;
    va_start(words, format);
    (void)vsnprintf(v[graph->n_vertices].name, CS_GRAPH_NAME_BYTES, format, words);
    va_end(words);
    return graph->n_vertices++;
}

cs_status cs_graph_link(cs_graph *graph, uint32_t from, uint32_t to, uint32_t cost, cs_link link)
{
    uint32_t      room  = graph->link_room;
    cs_link      *links = grown(graph->arena, graph->links, graph->n_links, &room, sizeof *links);
    cs_link_ends *ends =
        grown(graph->arena, graph->ends, graph->n_links, &graph->link_room, sizeof *ends);

    if (links == NULL || ends == NULL || from == CS_NO_VERTEX || to == CS_NO_VERTEX) {
        return CS_ENOMEM;
    }
    graph->links           = links;
    graph->ends            = ends;
    links[graph->n_links]  = link;
    ends[graph->n_links++] = (cs_link_ends){from, to, cost};
    return CS_OK;
}

cs_status cs_graph_duplex(cs_graph *graph, uint32_t a, uint32_t b, uint32_t cost, cs_link link)
{
    CS_TRY(cs_graph_link(graph, a, b, cost, link));
    return cs_graph_link(graph, b, a, cost, link);
}

/* Links grouped by one of their ends, in the order in which they were added. */
static cs_status group_links(const cs_graph *g, bool by_from, uint32_t **first_p, uint32_t **list_p)
{
    uint32_t *first = CS_ARENA_NEW(g->arena, uint32_t, (size_t)g->n_vertices + 2);
    uint32_t *list  = CS_ARENA_NEW(g->arena, uint32_t, (size_t)g->n_links + 1);

    if (first == NULL || list == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < g->n_links; i++) {
        first[(by_from ? g->ends[i].from : g->ends[i].to) + 2]++;
    }
    for (uint32_t v = 0; v < g->n_vertices; v++) {
        first[v + 2] += first[v + 1];
    }
    for (uint32_t i = 0; i < g->n_links; i++) {
        list[first[(by_from ? g->ends[i].from : g->ends[i].to) + 1]++] = i;
    }
    *first_p = first;
    *list_p  = list;
    return CS_OK;
}

/* Number the vertices that have ranks. */
static cs_status list_targets(cs_graph *g)
{
    g->target_of = CS_ARENA_NEW(g->arena, uint32_t, (size_t)g->n_vertices + 1);
    if (g->target_of == NULL) {
        return CS_ENOMEM;
    }
    memset(g->target_of, 0xff, g->n_vertices * sizeof *g->target_of);
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        for (uint32_t r = 0; g->attach[f] != NULL && r < g->n_ranks; r++) {
            uint32_t v = g->attach[f][r];
            if (g->target_of[v] == CS_NO_VERTEX) {
                g->target_of[v] = g->n_targets++;
            }
        }
    }
    return CS_OK;
}

/* The costs to one target, cheapest first: what costs `level` sets those one link before it. */
static void measure(const cs_graph *g, uint32_t target, uint8_t *distance)
{
    uint32_t most = 0;

    memset(distance, NO_WAY, g->n_vertices);
    distance[target] = 0;
    for (uint32_t level = 0; level <= most; level++) {
        for (uint32_t v = 0; v < g->n_vertices; v++) {
            bool leads_on = distance[v] == level && (!g->vertices[v].is_end || v == target);
            for (uint32_t i = g->first_in[v]; leads_on && i < g->first_in[v + 1]; i++) {
                const cs_link_ends *e    = &g->ends[g->in[i]];
                uint32_t            cost = level + e->cost;
                if (cost <= CS_MAX_ROUTE && cost < distance[e->from]) {
                    distance[e->from] = (uint8_t)cost;
                    most              = cost > most ? cost : most;
                }
            }
        }
    }
}

/* A link out of `v` towards `to`, the turn-th of those on a cheapest way there; *n_p: of how many.
 */
static uint32_t choose_link(const cs_graph *g, uint32_t v, uint32_t to, uint64_t turn,
                            uint32_t *n_p)
{
    const uint8_t *cost = &g->distance[(size_t)g->target_of[to] * g->n_vertices];
    uint32_t       ways = 0, total = 1, chosen = 0;

    for (int pass = 0; pass < 2; pass++) {
        total         = ways > 0 ? ways : 1;
        uint32_t skip = pass == 0 ? UINT32_MAX : (uint32_t)(turn % total);
        ways          = 0;
        for (uint32_t i = g->first_out[v]; i < g->first_out[v + 1] && ways <= skip; i++) {
            const cs_link_ends *e = &g->ends[g->out[i]];
            if (cost[e->to] != NO_WAY && cost[e->to] + e->cost == cost[v] &&
                (!g->vertices[e->to].is_end || e->to == to)) {
                chosen = g->out[i];
                ways++;
            }
        }
    }
    *n_p = total;
    return chosen;
}

static uint32_t graph_path(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                           uint32_t dst, uint32_t fabric, uint32_t i, uint32_t *links)
{
    const cs_graph *g = topology->data;
    uint32_t        n = 0;

    (void)cluster;
    if (g->attach[fabric] == NULL) {
        return 0;
    }
    uint32_t v = g->attach[fabric][src], to = g->attach[fabric][dst], ways;
    for (uint64_t turn = (uint64_t)src + dst + i; v != to; turn /= ways) {
        links[n] = choose_link(g, v, to, turn, &ways);
        v        = g->ends[links[n++]].to;
    }
    return n;
}

static uint32_t graph_route(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                            uint32_t dst, uint32_t fabric, uint32_t *links)
{
    return graph_path(topology, cluster, src, dst, fabric, 0, links);
}

/* The turns repeat themselves after the product of the choices on any way that they lead to, so
 * after the least common multiple of these. It is known when as many turns have been followed. */
static uint32_t graph_n_paths(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                              uint32_t dst, uint32_t fabric)
{
    const cs_graph *g      = topology->data;
    uint64_t        period = 1;

    (void)cluster;
    if (g->attach[fabric] == NULL) {
        return 1;
    }
    for (uint32_t i = 0; i < period && period < CS_MAX_PATHS; i++) {
        uint32_t v = g->attach[fabric][src], to = g->attach[fabric][dst], ways;
        uint64_t product = 1;
        for (uint64_t turn = i; v != to && product < CS_MAX_PATHS; turn /= ways) {
            v = g->ends[choose_link(g, v, to, turn, &ways)].to;
            product *= ways;
        }
        uint64_t multiple = period;
        while (multiple % product != 0) {
            multiple += period;
        }
        period = multiple;
    }
    return period < CS_MAX_PATHS ? (uint32_t)period : CS_MAX_PATHS;
}

static cs_status refuse_pair(const cs_graph *g, uint32_t src, uint32_t dst, uint32_t fabric,
                             cs_error *err)
{
    return CS_FAIL(err, CS_EINVAL, "cluster.topology",
                   "is disconnected: no route over %s from rank %u at %s to rank %u at %s costs %u "
                   "or less",
                   cs_fabric_name(fabric), src, g->vertices[g->attach[fabric][src]].name, dst,
                   g->vertices[g->attach[fabric][dst]].name, CS_MAX_ROUTE);
}

/* Is there a way to rank `dst` from every rank that uses the fabric to it? */
static cs_status check_ways_to(const cs_graph *g, const cs_cluster *cluster, uint32_t fabric,
                               uint32_t dst, cs_error *err)
{
    uint32_t       server = cs_server_of(cluster, dst), to = g->attach[fabric][dst];
    uint32_t       first = fabric == CS_NIC ? 0 : cs_server_first(cluster, server);
    uint32_t       end = fabric == CS_NIC ? cluster->n_ranks : cs_server_first(cluster, server + 1);
    const uint8_t *cost = &g->distance[(size_t)g->target_of[to] * g->n_vertices];

    for (uint32_t src = first; src < end; src++) {
        if (cost[g->attach[fabric][src]] == NO_WAY && cs_fabric_of(cluster, src, dst) == fabric) {
            return refuse_pair(g, src, dst, fabric, err);
        }
    }
    return CS_OK;
}

static cs_status graph_check(const cs_topology *topology, const cs_cluster *cluster, cs_error *err)
{
    const cs_graph *g = topology->data;

    if (g->n_ranks != cluster->n_ranks) {
        return CS_FAIL(err, CS_EINVAL, "cluster.topology", "is for %u ranks, the cluster has %u",
                       g->n_ranks, cluster->n_ranks);
    }
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        uint32_t before = CS_NO_VERTEX;
        for (uint32_t r = 0; g->attach[f] != NULL && r < g->n_ranks; r++) {
            /* Neighbours at one vertex have the same ways over the NICs. */
            if (f != CS_NIC || g->attach[f][r] != before) {
                CS_TRY(check_ways_to(g, cluster, f, r, err));
            }
            before = g->attach[f][r];
        }
    }
    return CS_OK;
}

static void graph_link_name(const cs_topology *topology, uint32_t link, char *text,
                            size_t text_bytes)
{
    const cs_graph *g = topology->data;

    (void)snprintf(text, text_bytes, "link %s -> %s", g->vertices[g->ends[link].from].name,
                   g->vertices[g->ends[link].to].name);
}

const cs_graph *cs_graph_of(const cs_topology *topology)
{
    return topology != NULL && topology->kind->route == graph_route ? topology->data : NULL;
}

/* The most links on any way: a link costs at least 1, so the dearest way bounds it. */
static uint32_t longest(const cs_graph *g)
{
    uint32_t most = 0;

    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        for (uint32_t r = 0; g->attach[f] != NULL && r < g->n_ranks; r++) {
            uint32_t v = g->attach[f][r];
            for (uint32_t t = 0; t < g->n_targets; t++) {
                uint8_t cost = g->distance[(size_t)t * g->n_vertices + v];
                most         = cost != NO_WAY && cost > most ? cost : most;
            }
        }
    }
    return most;
}

static cs_status prepare(cs_graph *g)
{
    CS_TRY(group_links(g, true, &g->first_out, &g->out));
    CS_TRY(group_links(g, false, &g->first_in, &g->in));
    return list_targets(g);
}

cs_status cs_graph_finish(cs_graph *graph, cs_topology *topology, cs_error *err)
{
    uint64_t pairs;

    if (prepare(graph) != CS_OK) {
        return CS_NO_MEMORY(err, "%u links", graph->n_links);
    }
    pairs = (uint64_t)graph->n_targets * graph->n_vertices;
    if (pairs > CS_GRAPH_MAX_PAIRS) {
        return CS_FAIL(err, CS_EINVAL, "cluster.topology",
                       "%u vertices, of which %u have ranks, are too many for static routes: "
                       "accepted are 2^27 pairs of them",
                       graph->n_vertices, graph->n_targets);
    }
    graph->distance = CS_ARENA_NEW(graph->arena, uint8_t, pairs + 1);
    if (graph->distance == NULL) {
        return CS_NO_MEMORY(err, "%u links", graph->n_links);
    }
    for (uint32_t v = 0; v < graph->n_vertices; v++) {
        uint32_t t = graph->target_of[v];
        if (t != CS_NO_VERTEX) {
            measure(graph, v, &graph->distance[(size_t)t * graph->n_vertices]);
        }
    }
    graph->kind = (cs_topology_kind){.name      = graph->name,
                                     .check     = graph_check,
                                     .route     = graph_route,
                                     .link_name = graph_link_name,
                                     .n_paths   = graph_n_paths,
                                     .path      = graph_path};
    *topology   = (cs_topology){&graph->kind, graph->n_links, graph->links, longest(graph), graph};
    return CS_OK;
}
