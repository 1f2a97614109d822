/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/double_binary_tree/trees.h"

#include "base/log2.h"

/* Counted from 1, place x with lowest set bit b has the parent (x - b) | 2b in the perfect tree.
 * Where that is beyond n, its nearest ancestor that is not. */
uint32_t cs_tree_parent(uint32_t place, uint32_t n)
{
    uint64_t x = (uint64_t)place + 1;

    for (uint64_t low = x & (~x + 1); low <= n; low *= 2) {
        x = (x ^ low) | low << 1;
        if (x <= n) {
            return (uint32_t)x - 1;
        }
    }
    return n;
}

/* How far the servers are turned in the second tree of an odd number of them: by one, for a root
 * at place 0 forwards, else backwards. */
static uint32_t turn_of(const cs_tree_shape *shape, uint32_t n)
{
    return shape->root == CS_TREE_IN_ORDER ? n - 1 : 1;
}

/* The place of a server in tree `which`, and the server at a place. Below a root of both trees the
 * others have places among themselves. */
static uint32_t place_of(const cs_tree_shape *shape, uint32_t server, uint32_t which, uint32_t n)
{
    if (which == 0) {
        return server;
    }
    if (shape->is_rooted) {
        const cs_tree_shape below = {.root = CS_TREE_IN_ORDER};
        return server == 0 ? 0 : 1 + place_of(&below, server - 1, which, n - 1);
    }
    return n % 2 == 0 ? n - 1 - server : (server + n - turn_of(shape, n)) % n;
}

static uint32_t server_at(const cs_tree_shape *shape, uint32_t place, uint32_t which, uint32_t n)
{
    if (which == 0) {
        return place;
    }
    if (shape->is_rooted) {
        const cs_tree_shape below = {.root = CS_TREE_IN_ORDER};
        return place == 0 ? 0 : 1 + server_at(&below, place - 1, which, n - 1);
    }
    return n % 2 == 0 ? n - 1 - place : (place + turn_of(shape, n)) % n;
}

/* The same with place 0 above the root of the others. */
static uint32_t parent_below_root(uint32_t place, uint32_t n)
{
    if (place == 0) {
        return n;
    }
    uint32_t up = cs_tree_parent(place - 1, n - 1);
    return up == n - 1 ? 0 : up + 1;
}

uint32_t cs_tree_height(const cs_cluster *cluster, const cs_tree_shape *shape)
{
    uint32_t n = cs_n_servers(cluster), chain = cluster->gpus_per_server - 1;

    if (shape->root == CS_TREE_IN_ORDER || n == 1) {
        return cs_log2_floor(n) + chain;
    }
    return 1 + cs_log2_floor(n - 1) + chain;
}

/* The rank of a server that is in the tree over servers: in order the first or the last one, with a
 * root the one of its place; where the server has fewer GPUs, counted round. */
static uint32_t head_of(const cs_cluster *c, const cs_tree_shape *shape, uint32_t which,
                        uint32_t server)
{
    uint32_t first = cs_server_first(c, server), l = cs_server_gpus(c, server);

    if (shape->root == CS_TREE_IN_ORDER) {
        return which == 0 ? first : first + l - 1;
    }
    return first + cs_local_rank(c, shape->root) % l;
}

/* The parent of a rank; n_ranks for the root. */
static uint32_t parent_of(const cs_cluster *c, const cs_tree_shape *shape, uint32_t which,
                          uint32_t rank)
{
    uint32_t server = cs_server_of(c, rank), first = cs_server_first(c, server);
    uint32_t l = cs_server_gpus(c, server), n = cs_n_servers(c), local = rank - first;
    bool     in_order = shape->root == CS_TREE_IN_ORDER;
    uint32_t turned   = in_order ? 0 : cs_server_of(c, shape->root);
    bool     from_end = in_order && which == 1; /* its chain is the other one backwards */

    if (rank != head_of(c, shape, which, server)) {
        return first + (local + (from_end ? 1 : l - 1)) % l;
    }
    uint32_t place = place_of(shape, (server + n - turned) % n, which, n);
    uint32_t up    = in_order ? cs_tree_parent(place, n) : parent_below_root(place, n);
    return up == n ? c->n_ranks
                   : head_of(c, shape, which, (server_at(shape, up, which, n) + turned) % n);
}

static uint32_t depth_of(const cs_cluster *c, const cs_tree_shape *shape, uint32_t which,
                         uint32_t rank)
{
    uint32_t depth = 0;

    for (uint32_t up = parent_of(c, shape, which, rank); up < c->n_ranks; depth++) {
        up = parent_of(c, shape, which, up);
    }
    return depth;
}

/* What is known of a rank while the edges are listed. */
typedef struct node {
    uint32_t n_children[2], n_listed[2]; /* by tree */
    uint32_t up[CS_FABRICS][2];          /* [fabric][tree]: number of its edge to the parent, + 1 */
    uint32_t down[CS_FABRICS][2];        /* [fabric]: its edges to children, + 1 */
} node;

typedef struct builder {
    const cs_cluster    *cluster;
    const cs_tree_shape *shape;
    node                *nodes;
    cs_tree_edge        *edges; /* uncoloured */
    uint8_t             *colour;
    size_t               n_edges;
} builder;

enum { NO_COLOUR = 2 };

static uint32_t fabric_of(const builder *b, const cs_tree_edge *e)
{
    return cs_fabric_of(b->cluster, e->child, e->parent);
}

static void list_edges(builder *b, cs_tree_pair *pair)
{
    uint32_t n = b->cluster->n_ranks, trees = b->shape->n_trees;

    for (uint32_t i = 0; i < trees * n; i++) {
        uint32_t rank = i / trees, which = i % trees;
        uint32_t up = parent_of(b->cluster, b->shape, which, rank);
        if (up == n) {
            pair->root[which] = rank;
            continue;
        }
        cs_tree_edge e = {.child  = rank,
                          .parent = up,
                          .depth  = depth_of(b->cluster, b->shape, which, rank),
                          .tree   = (uint8_t)which};
        uint32_t     f = fabric_of(b, &e), *down = b->nodes[up].down[f];
        b->nodes[up].n_children[which]++;
        down[down[0] == 0 ? 0 : 1]  = (uint32_t)b->n_edges + 1;
        b->nodes[rank].up[f][which] = (uint32_t)b->n_edges + 1;
        b->colour[b->n_edges]       = NO_COLOUR;
        b->edges[b->n_edges++]      = e;
        pair->height[which]         = e.depth > pair->height[which] ? e.depth : pair->height[which];
    }
}

/* The other edge on the same fabric at one end of an edge, + 1; 0 without one. */
static uint32_t other(const builder *b, uint32_t number, bool at_parent)
{
    const cs_tree_edge *e     = &b->edges[number];
    uint32_t            f     = fabric_of(b, e);
    const node         *end   = &b->nodes[at_parent ? e->parent : e->child];
    const uint32_t     *there = at_parent ? end->down[f] : end->up[f];

    return there[0] == number + 1 ? there[1] : there[0];
}

/* A rank has at most two edges to parents and two to children on a fabric, so that edges that
 * exclude each other form paths and even cycles: colours take turns along them. */
static void colour_from(builder *b, uint32_t start, bool at_parent)
{
    uint32_t number = start;

    for (;;) {
        uint32_t next = other(b, number, at_parent);
        if (next == 0 || b->colour[next - 1] != NO_COLOUR) {
            return;
        }
        b->colour[next - 1] = (uint8_t)(1 - b->colour[number]);
        number              = next - 1;
        at_parent           = !at_parent;
    }
}

static void colour_edges(builder *b)
{
    for (uint32_t i = 0; i < b->n_edges; i++) {
        if (b->colour[i] == NO_COLOUR) {
            b->colour[i] = 0;
            colour_from(b, i, true);
            colour_from(b, i, false);
        }
    }
}

static void sort_edges(builder *b, cs_tree_pair *pair)
{
    for (int colour = 0; colour < NO_COLOUR; colour++) {
        for (size_t i = 0; i < b->n_edges; i++) {
            if (b->colour[i] != colour) {
                continue;
            }
            cs_tree_edge e               = b->edges[i];
            node        *p               = &b->nodes[e.parent];
            e.is_first                   = p->n_listed[e.tree]++ == 0;
            e.is_last                    = p->n_listed[e.tree] == p->n_children[e.tree];
            e.is_leaf                    = b->nodes[e.child].n_children[e.tree] == 0;
            pair->edges[pair->n_edges++] = e;
        }
    }
}

cs_status cs_tree_build(const cs_cluster *cluster, const cs_tree_shape *shape, cs_arena *arena,
                        cs_tree_pair *pair_p, cs_error *err)
{
    size_t       n    = cluster->n_ranks;
    builder      b    = {.cluster = cluster,
                         .shape   = shape,
                         .nodes   = CS_ARENA_NEW(arena, node, n),
                         .edges   = CS_ARENA_NEW(arena, cs_tree_edge, 2 * n),
                         .colour  = CS_ARENA_NEW(arena, uint8_t, 2 * n)};
    cs_tree_pair pair = {.edges = CS_ARENA_NEW(arena, cs_tree_edge, 2 * n)};

    if (b.nodes == NULL || b.edges == NULL || b.colour == NULL || pair.edges == NULL) {
        return CS_NO_MEMORY(err, "trees of %zu ranks", n);
    }
    list_edges(&b, &pair);
    colour_edges(&b);
    sort_edges(&b, &pair);
    *pair_p = pair;
    return CS_OK;
}
