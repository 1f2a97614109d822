/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/graph.h -- a topology that is a graph: vertices, links of one direction, static routes.
 *
 * The ranks are attached to vertices, in every fabric to one of its own or to none; a fabric in
 * which none is attached has no inner links. The route between two ranks is a shortest path by the
 * sum of the links' costs. Where w links out of a vertex are on such a path, the (src + dst)-th of
 * them is taken, counted around in the order in which they were added, and what is left of src +
 * dst divided by w decides further on: routes never depend on the traffic, and those of many pairs
 * spread over equal ways. Path i of a pair is what src + dst + i decides, for as many i as it takes
 * until the ways repeat, or CS_MAX_PATHS. Nothing passes through an end (a GPU).
 *
 * Links are added, then cs_graph_finish() computes the distances; after that nothing changes.
 * All memory is the arena's.
 */
#ifndef CS_GRAPH_H
#define CS_GRAPH_H

#include "cs/topology.h"

CS_BEGIN_C

enum { CS_GRAPH_NAME_BYTES = 48 };

typedef struct cs_vertex {
    char name[CS_GRAPH_NAME_BYTES];
    bool is_end; /* routes begin and end here, and never pass */
} cs_vertex;

typedef struct cs_link_ends {
    uint32_t from, to; /* vertices */
    uint32_t cost;     /* >= 1 */
} cs_link_ends;

struct cs_arena;

/* `{.arena = a, .name = "fat-tree"}` is an empty graph. Read the fields, change them by the
 * functions below; `attach` is set by the caller before cs_graph_finish(). */
typedef struct cs_graph {
    struct cs_arena *arena;
    const char      *name; /* of the kind of topology; static storage or the arena's */
    uint32_t         n_vertices, n_links;
    uint32_t         vertex_room, link_room;
    cs_vertex       *vertices;
    cs_link         *links;
    cs_link_ends    *ends;
    uint32_t         n_ranks;
    const uint32_t  *attach[CS_FABRICS]; /* [n_ranks] vertices; NULL: no inner links */
    cs_topology_kind kind;               /* made by cs_graph_finish() */

    uint32_t *first_out, *out; /* links by where they begin */
    uint32_t *first_in, *in;   /* ... and where they end */
    uint32_t  n_targets;
    uint32_t *target_of; /* [n_vertices]: its row of `distance`, or CS_NO_VERTEX */
    uint8_t  *distance;  /* [n_targets][n_vertices]: cost to the target; UINT8_MAX: no way */
} cs_graph;

#define CS_NO_VERTEX UINT32_MAX

/* More pairs of a vertex and one that ranks are attached to are refused. */
#define CS_GRAPH_MAX_PAIRS ((uint64_t)1 << 27)

/* A new vertex; CS_NO_VERTEX when out of memory. Long names are cut. */
uint32_t cs_graph_vertex(cs_graph *graph, bool is_end, const char *format, ...) CS_PRINTF(3, 4);

/* A link of one direction, or two of them, one each way (the way back is the next link). Ends that
 * are CS_NO_VERTEX count as out of memory. */
CS_MUST_CHECK cs_status cs_graph_link(cs_graph *graph, uint32_t from, uint32_t to, uint32_t cost,
                                      cs_link link);
CS_MUST_CHECK cs_status cs_graph_duplex(cs_graph *graph, uint32_t a, uint32_t b, uint32_t cost,
                                        cs_link link);

/* Compute the distances and fill `topology`, which borrows the graph. Refuses more than 2^27
 * pairs of vertices. O((30 vertices + links) * vertices with ranks). */
CS_MUST_CHECK cs_status cs_graph_finish(cs_graph *graph, cs_topology *topology, cs_error *err);

/* The graph of a topology that is one, else NULL. */
CS_API const cs_graph *cs_graph_of(const cs_topology *topology);

/* Servers fill the leaves in order. Every leaf has `uplinks` uplinks, one to each spine of its pod;
 * every spine has `core_uplinks`, to cores of its own number. Rates are such that all NICs below
 * a switch have `oversubscription` (for spines: times `core_oversubscription`) times the rate of
 * its uplinks together. */
typedef struct cs_fat_tree {
    uint32_t leaf_servers;          /* servers of a leaf switch, >= 1 */
    uint32_t uplinks;               /* of a leaf = spines of a pod, >= 1 */
    uint32_t pod_leaves;            /* leaves of a pod; 0: all, and no cores */
    uint32_t core_uplinks;          /* of a spine; 0: as many as it has leaves */
    double   oversubscription;      /* of the leaves, >= 1 */
    double   core_oversubscription; /* of the spines, >= 1 */
    double   hop_latency_s;         /* of every link */
} cs_fat_tree;

/* Local rank i of every server of a group is attached to the group's rail switch i; every rail
 * switch has one uplink to each spine. */
typedef struct cs_rails {
    uint32_t group_servers;    /* servers that share rail switches; 0: all */
    uint32_t spines;           /* 0: rails only; pairs on different rails are then refused */
    double   oversubscription; /* of the rail switches, >= 1 */
    double   hop_latency_s;    /* of every link */
} cs_rails;

/* Build the links between the NICs of a cluster in an empty graph and finish it. */
CS_MUST_CHECK cs_status cs_fat_tree_make(const cs_fat_tree *shape, const cs_cluster *cluster,
                                         cs_graph *graph, cs_topology *topology, cs_error *err);
CS_MUST_CHECK cs_status cs_rails_make(const cs_rails *shape, const cs_cluster *cluster,
                                      cs_graph *graph, cs_topology *topology, cs_error *err);

CS_END_C

#endif
