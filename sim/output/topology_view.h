/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/topology_view.h -- a topology for people and programs: text, JSON, a graph, a picture.
 *
 * Everything is said for one cluster: its ports, the parts of its servers where they are known,
 * and the inner links with who shares them.
 */
#ifndef CS_OUTPUT_TOPOLOGY_VIEW_H
#define CS_OUTPUT_TOPOLOGY_VIEW_H

#include "base/text.h"
#include "cs/machine.h"

/* Borrowed. */
typedef struct cs_topology_view {
    const char       *name, *format;
    const cs_site    *site;    /* NULL: servers are not described */
    const cs_cluster *cluster; /* with its topology for network models, or NULL: a crossbar */
} cs_topology_view;

cs_status cs_topology_text(const cs_topology_view *view, cs_text *out, cs_error *err);
cs_status cs_topology_json(const cs_topology_view *view, cs_text *out, cs_error *err);

/* A graph in Graphviz's language: described servers with their devices, else the switches or links
 * between the ranks, of which more than 1024 are refused. */
cs_status cs_topology_dot(const cs_topology_view *view, cs_text *out, cs_error *err);

/* The same as a picture, an SVG that Graphviz's program dot lays out: other versions and fonts give
 * other bytes. CS_EMISSING where dot is not installed. */
cs_status cs_topology_svg(const cs_topology_view *view, cs_text *out, cs_error *err);

#endif
