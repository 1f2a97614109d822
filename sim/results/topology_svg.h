/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/topology_svg.h -- the three kinds of pictures of a topology (topology_view.h), and the
 * measures that they share. */
#ifndef CS_RESULTS_TOPOLOGY_SVG_H
#define CS_RESULTS_TOPOLOGY_SVG_H

#include "cs/graph.h"
#include "results/topology_view.h"

/* Pixels: a box for a device or a rank, and the space between boxes and around all. */
#define CS_TOPOLOGY_BOX    74.0
#define CS_TOPOLOGY_HIGH   34.0
#define CS_TOPOLOGY_GAP    10.0
#define CS_TOPOLOGY_MARGIN 20.0

/* The head of the file and its title. */
void cs_topology_svg_begin(cs_text *out, double width, double height, const char *title);

/* Servers that are described: view->site is there. */
cs_status cs_topology_svg_servers(const cs_topology_view *view, cs_text *out, cs_error *err);

/* A graph: ranks in a row, switches above them, a line for every link. */
cs_status cs_topology_svg_graph(const cs_topology_view *view, const cs_graph *graph, cs_text *out,
                                cs_error *err);

/* Everything else: links above the ranks by how far they are from them. */
cs_status cs_topology_svg_layers(const cs_topology_view *view, cs_text *out, cs_error *err);

#endif
