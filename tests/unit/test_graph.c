/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs as topologies: routes against an independent search, fat trees and rails by their
 * definitions, what is refused, memory that runs out.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "cs/graph.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define MOST 24u

static cs_cluster cluster_of(uint32_t n, uint32_t g)
{
    return (cs_cluster){.n_ranks         = n,
                        .gpus_per_server = g,
                        .fabrics         = {{CS_SWITCHED, 0, 12e9}, {CS_SWITCHED, 0, 100e9}}};
}

/* A random graph, and the cost of the cheapest way between any two vertices by Floyd's method. */
typedef struct sample {
    cs_graph    graph;
    cs_topology topology;
    uint32_t    cost[MOST][MOST];
    uint32_t    at[MOST];
} sample;

static void add_random_links(sample *s, ct_rng *rng, uint32_t n)
{
    for (uint32_t k = 0; k < 5 * n; k++) {
        uint32_t a = ct_below(rng, n), b = ct_below(rng, n), cost = 1 + ct_below(rng, 3);
        if (a != b) {
            cr_assert_eq(cs_graph_link(&s->graph, a, b, cost, (cs_link){1e9, 1e-6, false}), CS_OK);
            s->cost[a][b] = cost < s->cost[a][b] ? cost : s->cost[a][b];
        }
    }
}

static void close_costs(sample *s, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < n && !s->graph.vertices[k].is_end; i++) {
            for (uint32_t j = 0; j < n; j++) {
                uint32_t over = s->cost[i][k] + s->cost[k][j];
                s->cost[i][j] = over < s->cost[i][j] ? over : s->cost[i][j];
            }
        }
    }
}

static void make_sample(sample *s, ct_rng *rng, cs_arena *arena)
{
    uint32_t n = 3 + ct_below(rng, MOST - 3);

    *s = (sample){.graph = {.arena = arena, .name = "sample", .n_ranks = n}};
    for (uint32_t i = 0; i < n; i++) {
        cr_assert_eq(cs_graph_vertex(&s->graph, ct_below(rng, 6) == 0, "v%u", i), i);
        s->at[i] = i;
        for (uint32_t j = 0; j < n; j++) {
            s->cost[i][j] = i == j ? 0 : 1000;
        }
    }
    add_random_links(s, rng, n);
    close_costs(s, n);
    s->graph.attach[CS_NIC] = s->at;
    cr_assert_eq(cs_graph_finish(&s->graph, &s->topology, NULL), CS_OK);
}

/* A way of links that follow each other from `src` to `dst`, none through an end. */
static uint32_t cost_of_way(const sample *s, const uint32_t *way, uint32_t n, uint32_t src,
                            uint32_t dst)
{
    uint32_t at = src, cost = 0;

    for (uint32_t i = 0; i < n; i++) {
        const cs_link_ends *e = &s->graph.ends[way[i]];
        cr_assert_eq(e->from, at);
        cr_assert(i == 0 || !s->graph.vertices[at].is_end);
        at = e->to;
        cost += e->cost;
    }
    cr_assert_eq(at, dst);
    return cost;
}

Test(graph, routes_are_cheapest_ways)
{
    ct_rng   rng   = ct_rng_for(0x67726170);
    uint32_t found = 0, refused = 0, way[CS_MAX_ROUTE];

    for (int round = 0; round < 300; round++) {
        cs_arena arena = {0};
        sample   s;
        make_sample(&s, &rng, &arena);
        cs_cluster c   = cluster_of(s.graph.n_ranks, 1);
        bool       all = true;
        for (uint32_t src = 0; src < c.n_ranks; src++) {
            for (uint32_t dst = 0; dst < c.n_ranks; dst++) {
                all = all && s.cost[src][dst] <= CS_MAX_ROUTE;
            }
        }
        cr_assert_eq(s.topology.kind->check(&s.topology, &c, NULL) == CS_OK, all);
        refused += !all;
        for (uint32_t p = 0; all && p < c.n_ranks * c.n_ranks; p++) {
            uint32_t src = p / c.n_ranks, dst = p % c.n_ranks;
            uint32_t n = s.topology.kind->route(&s.topology, &c, src, dst, CS_NIC, way);
            cr_assert_leq(n, s.topology.max_route);
            cr_assert_eq(cost_of_way(&s, way, n, src, dst), s.cost[src][dst]);
            found += n > 1;
        }
        cs_arena_free(&arena);
    }
    cr_assert(found > 1000 && refused > 10, "%u ways, %u refused", found, refused);
}

/* How many cheapest ways are there, each of its own links? Counted up to `most`. */
static uint32_t count_ways(const sample *s, uint32_t at, uint32_t src, uint32_t dst, uint32_t most)
{
    uint32_t n = 0;

    if (at == dst) {
        return 1;
    }
    for (uint32_t l = 0; l < s->graph.n_links && n < most; l++) {
        const cs_link_ends *e      = &s->graph.ends[l];
        bool                passes = e->from == at && (at == src || !s->graph.vertices[at].is_end);
        if (passes && e->cost + s->cost[e->to][dst] == s->cost[at][dst] &&
            (e->to == dst || !s->graph.vertices[e->to].is_end)) {
            n += count_ways(s, e->to, src, dst, most - n);
        }
    }
    return n;
}

/* The paths of a pair: how many there are of different links. */
static uint32_t check_paths(const sample *s, const cs_cluster *c, uint32_t src, uint32_t dst)
{
    uint32_t ways[CS_MAX_PATHS][CS_MAX_ROUTE] = {0}, again[CS_MAX_ROUTE] = {0}, different = 0;
    uint32_t count = cs_topology_n_paths(&s->topology, c, src, dst, CS_NIC);

    cr_assert(count >= 1 && count <= CS_MAX_PATHS);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t n = cs_topology_path(&s->topology, c, src, dst, CS_NIC, i, ways[i]), k = 0;
        cr_assert_leq(n, s->topology.max_route);
        cr_assert_eq(cost_of_way(s, ways[i], n, src, dst), s->cost[src][dst]);
        while (k < i && memcmp(ways[k], ways[i], sizeof ways[k]) != 0) {
            k++;
        }
        different += k == i;
    }
    s->topology.kind->route(&s->topology, c, src, dst, CS_NIC, again);
    cr_assert(memcmp(again, ways[0], sizeof again) == 0, "path 0 is not the route");
    if (count < CS_MAX_PATHS) {
        memset(again, 0, sizeof again);
        cs_topology_path(&s->topology, c, src, dst, CS_NIC, count, again);
        cr_assert(memcmp(again, ways[0], sizeof again) == 0, "the paths do not repeat");
        cr_assert_eq(different, count_ways(s, src, src, dst, CS_MAX_PATHS), "%u paths", count);
    }
    return different;
}

Test(graph, paths_are_all_cheapest_ways)
{
    ct_rng   rng  = ct_rng_for(0x70617468);
    uint32_t many = 0;

    for (int round = 0; round < 300; round++) {
        cs_arena arena = {0};
        sample   s;
        make_sample(&s, &rng, &arena);
        cs_cluster c = cluster_of(s.graph.n_ranks, 1);
        for (uint32_t p = 0; p < c.n_ranks * c.n_ranks; p++) {
            uint32_t src = p / c.n_ranks, dst = p % c.n_ranks;
            if (s.cost[src][dst] <= CS_MAX_ROUTE) {
                many += check_paths(&s, &c, src, dst) > 4;
            }
        }
        cs_arena_free(&arena);
    }
    cr_assert_gt(many, 1000);
}

/* The paths of every pair load the links of a tier equally: a fat tree has uplinks x core uplinks
 * of them, and rails one for each spine. */
static void expect_even_paths(const cs_topology *t, const cs_cluster *c, uint32_t most)
{
    for (uint32_t src = 0; src < c->n_ranks; src++) {
        for (uint32_t dst = 0; dst < c->n_ranks; dst++) {
            uint32_t way[CS_MAX_ROUTE], used[256] = {0}, n = 0;
            uint32_t count = cs_topology_n_paths(t, c, src, dst, CS_NIC);
            for (uint32_t i = 0; i < count; i++) {
                n = cs_topology_path(t, c, src, dst, CS_NIC, i, way);
                for (uint32_t k = 0; k < n; k++) {
                    used[way[k]]++;
                }
            }
            uint32_t least = n == 2 ? 1 : count / most;
            for (uint32_t l = 0; l < t->n_links; l++) {
                cr_assert(used[l] == 0 || used[l] == least || (n == 4 && used[l] == count / 2),
                          "%u -> %u: link %u is on %u of %u paths", src, dst, l, used[l], count);
            }
            cr_assert(n == 0 ? count == 1 : n == 4 ? count == most : count > 1);
        }
    }
}

Test(graph, paths_of_trees_and_rails_spread)
{
    const cs_fat_tree tree  = {2, 2, 2, 3, 2, 1.5, 1e-6};
    const cs_rails    rails = {.group_servers = 4, .spines = 3, .oversubscription = 4};
    cs_cluster        c     = cluster_of(32, 2);
    cs_arena          arena = {0};
    cs_graph          g = {.arena = &arena}, r = {.arena = &arena};
    cs_topology       t;

    cr_assert_eq(cs_fat_tree_make(&tree, &c, &g, &t, NULL), CS_OK);
    expect_even_paths(&t, &c, 6);
    cr_assert_eq(cs_rails_make(&rails, &c, &r, &t, NULL), CS_OK);
    expect_even_paths(&t, &c, 3);
    cs_arena_free(&arena);
}

/* 16 servers of two GPUs, two to a leaf, two leaves to a pod: every tier has the rate that its
 * oversubscription leaves, and equal ways are used evenly. */
Test(graph, fat_tree_has_its_rates_and_spreads)
{
    const cs_fat_tree shape = {.leaf_servers          = 2,
                               .uplinks               = 2,
                               .pod_leaves            = 2,
                               .core_uplinks          = 2,
                               .oversubscription      = 2,
                               .core_oversubscription = 1.5,
                               .hop_latency_s         = 1e-6};
    cs_cluster        c     = cluster_of(32, 2);
    cs_arena          arena = {0};
    cs_graph          g     = {.arena = &arena};
    cs_topology       t;
    uint32_t          way[CS_MAX_ROUTE], used[256] = {0};

    cr_assert_eq(cs_fat_tree_make(&shape, &c, &g, &t, NULL), CS_OK);
    cr_assert_eq(t.kind->check(&t, &c, NULL), CS_OK);
    cr_assert_eq(t.n_links, 2 * (8 * 2 + 4 * 2 * 2));
    cr_assert_float_eq(g.links[0].bandwidth_Bps, 4 * 12e9 / 2 / 2, 1);
    cr_assert_float_eq(g.links[t.n_links - 1].bandwidth_Bps, 12e9 * 2 / 1.5 / 2, 1);
    for (uint32_t src = 0; src < 32; src++) {
        for (uint32_t dst = 0; dst < 32; dst++) {
            uint32_t n    = t.kind->route(&t, &c, src, dst, CS_NIC, way);
            uint32_t want = src / 4 == dst / 4 ? 0 : src / 8 == dst / 8 ? 2 : 4;
            cr_assert_eq(n, want, "%u -> %u: %u links", src, dst, n);
            for (uint32_t i = 0; i < n; i++) {
                used[way[i]]++;
            }
        }
    }
    for (uint32_t i = 0; i < t.n_links; i++) {
        cr_assert(used[i] > 0, "no route has link %u", i);
    }
    cr_assert_eq(used[0], used[2], "uplinks of leaf 0 are used unevenly: %u, %u", used[0], used[2]);
    cs_arena_free(&arena);
}

Test(graph, rails_join_equal_local_ranks)
{
    const cs_rails shape = {.group_servers = 4, .spines = 3, .oversubscription = 4};
    cs_cluster     c     = cluster_of(32, 4);
    cs_arena       arena = {0};
    cs_graph       g     = {.arena = &arena};
    cs_topology    t;
    uint32_t       way[CS_MAX_ROUTE];

    cr_assert_eq(cs_rails_make(&shape, &c, &g, &t, NULL), CS_OK);
    cr_assert_eq(t.n_links, 2 * 2 * 4 * 3);
    cr_assert_float_eq(g.links[0].bandwidth_Bps, 4 * 12e9 / 4 / 3, 1);
    for (uint32_t src = 0; src < 32; src++) {
        for (uint32_t dst = 0; dst < 32; dst++) {
            bool near = src % 4 == dst % 4 && src / 16 == dst / 16;
            cr_assert_eq(t.kind->route(&t, &c, src, dst, CS_NIC, way), near ? 0 : 2);
            cr_assert_eq(t.kind->route(&t, &c, src, dst, CS_NVLINK, way), 0);
        }
    }
    cs_arena_free(&arena);
}

Test(graph, the_largest_clusters_have_routes)
{
    const cs_fat_tree shape = {.leaf_servers          = 4,
                               .uplinks               = 8,
                               .pod_leaves            = 32,
                               .core_uplinks          = 8,
                               .oversubscription      = 1,
                               .core_oversubscription = 1};
    cs_cluster        c     = cluster_of(CS_MAX_RANKS, 8);
    cs_arena          arena = {0};
    cs_graph          g     = {.arena = &arena};
    cs_topology       t;

    cr_assert_eq(cs_fat_tree_make(&shape, &c, &g, &t, NULL), CS_OK);
    cr_assert_eq(t.kind->check(&t, &c, NULL), CS_OK);
    cs_arena_free(&arena);
}

Test(graph, runs_out_of_memory_cleanly)
{
    const cs_rails shape  = {.spines = 2, .oversubscription = 1};
    cs_cluster     c      = cluster_of(64, 8);
    cs_status      status = CS_ENOMEM;
    long           passes = 0;

    for (; status != CS_OK; passes++) {
        cs_arena    arena = {0};
        cs_graph    g     = {.arena = &arena};
        cs_topology t;
        cs_alloc_fail_after(passes);
        status = cs_rails_make(&shape, &c, &g, &t, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM);
        cs_arena_free(&arena);
    }
    cr_assert_gt(passes, 1);
}
