/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/pattern/links.h -- the links that a message takes, for simulators of links behind a model.
 *
 * Links are numbered: the sending ports, the receiving ports, the inner links of the topology. */
#ifndef CS_MODELS_PATTERN_LINKS_H
#define CS_MODELS_PATTERN_LINKS_H

#include "cs/model.h"
#include "cs/topology.h"

enum { CS_MAX_LINKS_OF_WAY = CS_MAX_ROUTE + 2 };

/* How many there are. */
uint32_t cs_links_count(const cs_ports *ports);

/* What each has at the first arrival. O(links). */
void cs_links_bandwidth(const cs_ports *ports, double *bandwidth_Bps);

/* From then on: the changes of all NICs, server by server. `change` may be NULL. Returns how
 * many: one for every link that changes. */
typedef struct cs_link_change {
    double   time_s, bandwidth_Bps;
    uint32_t link;
} cs_link_change;
size_t cs_links_changes(const cs_ports *ports, cs_link_change *changes);

/* The links from `src` to `dst`, in their order, and the latency of the inner ones; returns how
 * many. `links` has room for CS_MAX_LINKS_OF_WAY. */
uint32_t cs_links_of_way(const cs_ports *ports, uint32_t src, uint32_t dst, uint32_t tx,
                         uint32_t rx, uint32_t fabric, uint32_t *links, double *latency_s_p);

#endif
