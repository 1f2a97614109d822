/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/double_binary_tree/trees.h -- one or two binary trees over the servers; of two, a
 * server is a leaf of at least one. Inside a server a chain hangs from the rank that is in the
 * tree.
 *
 * The first tree numbers the servers in order (left subtree, node, right subtree), with leaves at
 * every other place; the second is its mirror image when the number of servers is even, and
 * shifted by one when it is odd, so that inner nodes and leaves change places. The first
 * tree enters a server at its first rank, the second at its last one: at another NIC.
 *
 * With a root that is given, as NCCL has it, the first tree is that server with one child, the root
 * of a tree in order over the servers behind it. Both trees enter every server at the local rank of
 * the root, counted round in a server with fewer GPUs. The second tree is the mirror image or
 * shifted, with another server at its root (`is_rooted` is false), or it, too, hangs from the root,
 * and only the servers behind change places: what the root of a Broadcast or Reduce needs.
 *
 * Sources: P. Sanders, J. Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth broadcast,
 * reduction and scan", Parallel Computing 35 (2009); NCCL's trees.cc for the shape with a root.
 */
#ifndef CS_ALGORITHMS_DOUBLE_BINARY_TREE_TREES_H
#define CS_ALGORITHMS_DOUBLE_BINARY_TREE_TREES_H

#include "base/arena.h"
#include "cs/cluster.h"
#include "cs/error.h"

/* From a rank to its parent in one of the trees. */
typedef struct cs_tree_edge {
    uint32_t child, parent; /* ranks */
    uint32_t depth;         /* of the child, >= 1 */
    uint8_t  tree;          /* 0 or 1 */
    bool     is_first;      /* the parent has no child in front of it in the list, in this tree */
    bool     is_last;       /* ... or behind it */
    bool     is_leaf;       /* the child has no children in this tree */
} cs_tree_edge;

/* What trees are wanted. */
#define CS_TREE_IN_ORDER UINT32_MAX
typedef struct cs_tree_shape {
    uint32_t n_trees;   /* 1 or 2 */
    uint32_t root;      /* rank at the root of the first tree, or CS_TREE_IN_ORDER: in the middle */
    bool     is_rooted; /* the root is that of both trees */
} cs_tree_shape;

/* The height of such trees, chains included; an upper bound where servers differ in GPUs. */
uint32_t cs_tree_height(const cs_cluster *cluster, const cs_tree_shape *shape);

/* The edges of all trees. They have two colours, and those of colour 0 stand first: on one
 * fabric, no two edges of a colour have the same child, nor the same parent, so that the edges
 * of a colour can all carry a message at once, up or down. */
typedef struct cs_tree_pair {
    uint32_t      root[2], height[2];
    size_t        n_edges; /* n_trees (n_ranks - 1) */
    cs_tree_edge *edges;   /* the arena's */
} cs_tree_pair;

/* Build the trees. O(n log n) time, O(n) memory. Output only on CS_OK. */
cs_status cs_tree_build(const cs_cluster *cluster, const cs_tree_shape *shape, cs_arena *arena,
                        cs_tree_pair *pair_p, cs_error *err);

/* The parent of a place in the in-order tree over n places, or n for its root. */
uint32_t cs_tree_parent(uint32_t place, uint32_t n);

#endif
