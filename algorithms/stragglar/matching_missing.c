/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A build without LEMON: see matching.h. */
#include "algorithms/stragglar/matching.h"

bool cs_matching_is_here(void)
{
    return false;
}

cs_status cs_matching_heaviest(uint32_t n_nodes, const cs_matching_edge *edges, size_t n_edges,
                               uint32_t *mate, cs_error *err)
{
    (void)edges;
    (void)n_edges;
    (void)mate;
    return CS_FAIL(err, CS_EMISSING, "algorithm.options",
                   "no matching of %u nodes: this build has no LEMON (Debian: liblemon-dev)",
                   n_nodes);
}
