/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/topology_view.h -- a topology for people and programs: text, JSON, and a picture.
 *
 * Everything is said for one cluster: its ports, the parts of its servers where they are known,
 * and the inner links with who shares them.
 */
#ifndef CS_RESULTS_TOPOLOGY_VIEW_H
#define CS_RESULTS_TOPOLOGY_VIEW_H

#include "base/text.h"
#include "cs/machine.h"

/* Borrowed. */
typedef struct cs_topology_view {
    const char       *name, *format;
    const cs_site    *site;    /* NULL: servers are not described */
    const cs_cluster *cluster; /* with its topology for network models, or NULL: a crossbar */
} cs_topology_view;

/* How one inner link is used when every rank sends to every other one. */
typedef struct cs_link_use {
    uint32_t link, fabric;
    uint32_t senders;   /* ranks that send over it */
    uint32_t receivers; /* ranks that receive over it */
    uint64_t pairs;     /* ordered pairs of ranks whose route has it */
    double   ratio;     /* ports of the fewer of both, together, to the link's rate */
} cs_link_use;

/* The used links, the most oversubscribed first, then by number; *uses_p is the caller's
 * (cs_free). More than 2048 ranks are not looked through: none are listed. O(ranks^2 * route). */
cs_status cs_topology_uses(const cs_cluster *cluster, cs_link_use **uses_p, size_t *n_uses_p,
                           cs_error *err);

cs_status cs_topology_text(const cs_topology_view *view, cs_text *out, cs_error *err);
cs_status cs_topology_json(const cs_topology_view *view, cs_text *out, cs_error *err);
/* Servers as boxes, else links between their ends; refuses more than 1024 ranks or links. */
cs_status cs_topology_svg(const cs_topology_view *view, cs_text *out, cs_error *err);

#endif
