/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maximum-weight matching by LEMON: see matching.h. */
extern "C" {
#include "algorithms/stragglar/matching.h"
}

#include <exception>
#include <lemon/matching.h>
#include <lemon/smart_graph.h>

namespace {

void match(uint32_t n_nodes, const cs_matching_edge *edges, size_t n_edges, uint32_t *mate)
{
    using Graph   = lemon::SmartGraph;
    using Weights = Graph::EdgeMap<int64_t>;
    Graph graph;

    graph.reserveNode(static_cast<int>(n_nodes));
    graph.reserveEdge(static_cast<int>(n_edges));
    for (uint32_t i = 0; i < n_nodes; i++) {
        graph.addNode();
    }
    Weights weights(graph);
    for (const cs_matching_edge *e = edges; e < edges + n_edges; e++) {
        Graph::Edge edge = graph.addEdge(Graph::nodeFromId(static_cast<int>(e->u)),
                                         Graph::nodeFromId(static_cast<int>(e->v)));
        weights[edge]    = e->weight;
    }
    lemon::MaxWeightedMatching<Graph, Weights> matching(graph, weights);
    matching.run();
    for (uint32_t i = 0; i < n_nodes; i++) {
        Graph::Node other = matching.mate(Graph::nodeFromId(static_cast<int>(i)));
        mate[i] = other == lemon::INVALID ? CS_UNMATCHED : static_cast<uint32_t>(Graph::id(other));
    }
}

} // namespace

bool cs_matching_is_here(void)
{
    return true;
}

/* The only thing that the library throws here is that memory has run out. */
cs_status cs_matching_heaviest(uint32_t n_nodes, const cs_matching_edge *edges, size_t n_edges,
                               uint32_t *mate, cs_error *err)
{
    try {
        match(n_nodes, edges, n_edges, mate);
    } catch (const std::exception &) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a matching of %u nodes", n_nodes);
    }
    return CS_OK;
}
