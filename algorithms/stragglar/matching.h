/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/matching.h -- maximum-weight matching in a general graph, by LEMON.
 *
 * LEMON (liblemon-dev) is optional: without it cs_matching_is_here() is false and
 * cs_matching_heaviest() refuses. The one C++ file behind this header lets no exception out; it
 * includes this header as C.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_MATCHING_H
#define CS_ALGORITHMS_STRAGGLAR_MATCHING_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mate of a node that has none. */
#define CS_UNMATCHED UINT32_MAX

typedef struct cs_matching_edge {
    uint32_t u, v;   /* nodes, u != v; a pair of nodes at most once */
    int64_t  weight; /* >= 1; the weights of a matching sum to less than 2^60 */
} cs_matching_edge;

/* Was the library there when this was built? */
bool cs_matching_is_here(void);

/* mate[node] for the `n_nodes` nodes of a matching with the largest sum of weights. Of several such
 * matchings one is taken that depends on the arguments (and on LEMON) alone. CS_ENOMEM, or
 * CS_ENOTSUP without LEMON. O(n_nodes n_edges log n_nodes). */
cs_status cs_matching_heaviest(uint32_t n_nodes, const cs_matching_edge *edges, size_t n_edges,
                               uint32_t *mate, cs_error *err);

#endif
