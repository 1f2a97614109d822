/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Networks between the NICs of a cluster as graphs: fat trees and rails. The NIC's own link to its
 * switch is its port, which the cluster has. */
#include "base/arena.h"
#include "cs/graph.h"

static uint32_t parts_of(uint32_t total, uint32_t each)
{
    return total / each + (total % each > 0);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A full-duplex link between two switches. */
static cs_status connect(cs_graph *g, uint32_t low, uint32_t high, double bandwidth_Bps,
                         double latency_s)
{
    return cs_graph_duplex(g, low, high, 1, (cs_link){bandwidth_Bps, latency_s, false});
}

/* What a fat tree is built of, once the cluster is known. */
typedef struct tree {
    const cs_fat_tree *shape;
    uint32_t           leaves, pod_leaves, pods, core_uplinks;
    double             up_Bps, core_Bps;
} tree;

static tree tree_of(const cs_fat_tree *shape, const cs_cluster *cluster)
{
    tree   t         = {.shape = shape};
    double below_Bps = (double)shape->leaf_servers * cluster->gpus_per_server *
                       cluster->fabrics[CS_NIC].bandwidth_Bps;

    t.leaves       = parts_of(cs_n_servers(cluster), shape->leaf_servers);
    t.pod_leaves   = shape->pod_leaves == 0 ? t.leaves : least(shape->pod_leaves, t.leaves);
    t.pods         = parts_of(t.leaves, t.pod_leaves);
    t.core_uplinks = shape->core_uplinks == 0 ? t.pod_leaves : shape->core_uplinks;
    t.up_Bps       = below_Bps / shape->oversubscription / shape->uplinks;
    t.core_Bps     = t.up_Bps * t.pod_leaves / shape->core_oversubscription / t.core_uplinks;
    return t;
}

static cs_status add_switches(const tree *t, cs_graph *g)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < t->leaves && last != CS_NO_VERTEX; i++) {
        last = cs_graph_vertex(g, false, "leaf %u", i);
    }
    for (uint32_t i = 0; i < t->pods * t->shape->uplinks && last != CS_NO_VERTEX; i++) {
        last =
            cs_graph_vertex(g, false, "spine %u.%u", i / t->shape->uplinks, i % t->shape->uplinks);
    }
    for (uint32_t i = 0; t->pods > 1 && i < t->shape->uplinks * t->core_uplinks; i++) {
        last = last == CS_NO_VERTEX ? last
                                    : cs_graph_vertex(g, false, "core %u.%u", i / t->core_uplinks,
                                                      i % t->core_uplinks);
    }
    return last == CS_NO_VERTEX ? CS_ENOMEM : CS_OK;
}

static cs_status add_tree_links(const tree *t, cs_graph *g)
{
    uint32_t spines = t->shape->uplinks;

    for (uint32_t leaf = 0; leaf < t->leaves; leaf++) {
        for (uint32_t s = 0; s < spines; s++) {
            uint32_t spine = t->leaves + leaf / t->pod_leaves * spines + s;
            CS_TRY(connect(g, leaf, spine, t->up_Bps, t->shape->hop_latency_s));
        }
    }
    for (uint32_t i = 0; t->pods > 1 && i < t->pods * spines; i++) {
        for (uint32_t c = 0; c < t->core_uplinks; c++) {
            uint32_t core = t->leaves + t->pods * spines + i % spines * t->core_uplinks + c;
            CS_TRY(connect(g, t->leaves + i, core, t->core_Bps, t->shape->hop_latency_s));
        }
    }
    return CS_OK;
}

/* Rank r is attached to the switch of its NIC. */
static cs_status attach(cs_graph *g, const cs_cluster *cluster, uint32_t each_servers,
                        uint32_t switches_each)
{
    uint32_t *at = CS_ARENA_NEW(g->arena, uint32_t, cluster->n_ranks);

    for (uint32_t r = 0; at != NULL && r < cluster->n_ranks; r++) {
        uint32_t group = cs_server_of(cluster, r) / each_servers;
        at[r]          = group * switches_each + cs_local_rank(cluster, r) % switches_each;
    }
    g->n_ranks        = cluster->n_ranks;
    g->attach[CS_NIC] = at;
    return at == NULL ? CS_ENOMEM : CS_OK;
}

static cs_status check_size(uint64_t n_links, cs_error *err)
{
    if (n_links > CS_MAX_LINKS) {
        return CS_FAIL(err, CS_EINVAL, "cluster.topology",
                       "%llu links: accepted are at most 2^24 links of one direction",
                       (unsigned long long)n_links);
    }
    return CS_OK;
}

cs_status cs_fat_tree_make(const cs_fat_tree *shape, const cs_cluster *cluster, cs_graph *graph,
                           cs_topology *topology, cs_error *err)
{
    tree   t       = tree_of(shape, cluster);
    double n_links = 2.0 * shape->uplinks * (t.leaves + (double)t.pods * t.core_uplinks);

    CS_TRY(check_size((uint64_t)(n_links < 1e18 ? n_links : 1e18), err));
    graph->name = "fat-tree";
    if (add_switches(&t, graph) != CS_OK || add_tree_links(&t, graph) != CS_OK ||
        attach(graph, cluster, shape->leaf_servers, 1) != CS_OK) {
        return CS_NO_MEMORY(err, "a fat tree");
    }
    return cs_graph_finish(graph, topology, err);
}

static cs_status add_rails(const cs_rails *shape, uint32_t groups, uint32_t rails, double up_Bps,
                           cs_graph *g)
{
    for (uint32_t i = 0; i < groups * rails; i++) {
        if (cs_graph_vertex(g, false, "rail %u.%u", i / rails, i % rails) == CS_NO_VERTEX) {
            return CS_ENOMEM;
        }
    }
    for (uint32_t i = 0; i < shape->spines; i++) {
        if (cs_graph_vertex(g, false, "spine %u", i) == CS_NO_VERTEX) {
            return CS_ENOMEM;
        }
    }
    for (uint32_t i = 0; i < groups * rails; i++) {
        for (uint32_t s = 0; s < shape->spines; s++) {
            CS_TRY(connect(g, i, groups * rails + s, up_Bps, shape->hop_latency_s));
        }
    }
    return CS_OK;
}

cs_status cs_rails_make(const cs_rails *shape, const cs_cluster *cluster, cs_graph *graph,
                        cs_topology *topology, cs_error *err)
{
    uint32_t servers = cs_n_servers(cluster), rails = cluster->gpus_per_server;
    uint32_t each   = shape->group_servers == 0 ? servers : least(shape->group_servers, servers);
    uint32_t groups = parts_of(servers, each);
    double   up_Bps = each * cluster->fabrics[CS_NIC].bandwidth_Bps / shape->oversubscription;

    CS_TRY(check_size(2 * (uint64_t)groups * rails * shape->spines, err));
    graph->name = "rails";
    if (add_rails(shape, groups, rails, shape->spines > 0 ? up_Bps / shape->spines : 0, graph) !=
            CS_OK ||
        attach(graph, cluster, each, rails) != CS_OK) {
        return CS_NO_MEMORY(err, "rails");
    }
    return cs_graph_finish(graph, topology, err);
}
