/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/lib/links.h -- the links that messages take, for models whose messages share them.
 *
 * Links are numbered: the sending ports, the receiving ports, the inner links of the topology. */
#ifndef CS_MODELS_LIB_LINKS_H
#define CS_MODELS_LIB_LINKS_H

#include "cs/model.h"
#include "cs/topology.h"

enum { CS_MAX_LINKS_OF_WAY = CS_MAX_ROUTE + 2 };

/* How many there are, and how many of them one message can take. */
uint32_t cs_links_count(const cs_ports *ports);
uint32_t cs_links_most_of_way(const cs_ports *ports);

/* The number of a receiving port, and of an inner link; a sending port has its own. */
static inline uint32_t cs_link_of_receiver(const cs_ports *ports, uint32_t port)
{
    return ports->n_ports + port;
}
static inline uint32_t cs_link_of_inner(const cs_ports *ports, uint32_t inner)
{
    return 2 * ports->n_ports + inner;
}

/* A name of a link for people: "NIC out of rank 3", "NVLink into rank 2 from rank 0" where a pair
 * has a link of its own, or the topology's. Needs the numbering of the ports alone. */
void cs_link_name(const cs_ports *ports, uint32_t link, char *text, size_t text_bytes);

/* Seconds per byte of a port, in either direction, at a time from the first arrival on. */
double cs_port_s_per_byte(const cs_ports *ports, uint32_t port, double now_s);

/* The links that are the NIC of a rank: its two ports, and the inner links that no rank before it
 * has. Returns how many. */
enum { CS_MOST_NIC_LINKS = 4 };
uint32_t cs_links_of_nic(const cs_ports *ports, uint32_t rank, uint32_t *links);

/* Seconds per byte of a link of the rank's NIC, at a time from the first arrival on: of a port, or
 * of an inner one, which is as much slower than it was as the port is. */
double cs_nic_link_s_per_byte(const cs_ports *ports, uint32_t rank, uint32_t link, double now_s);

/* What each has at the first arrival. O(links). */
void cs_links_bandwidth(const cs_ports *ports, double *bandwidth_Bps);

/* From then on: the changes of all links of NICs, rank by rank. `change` may be NULL. Returns how
 * many: one for every link that changes. */
typedef struct cs_link_change {
    double   time_s, bandwidth_Bps;
    uint32_t link;
} cs_link_change;
size_t cs_links_changes(const cs_ports *ports, cs_link_change *changes);

/* The links of a message, or on its way back: sending port, receiving port, the inner ones in
 * their order; and the latency of the inner ones. Returns how many. `links` has room for
 * CS_MAX_LINKS_OF_WAY; of the flight only the ends are read: ranks, ports, fabric. */
uint32_t cs_links_of_way(const cs_ports *ports, const cs_flight *flight, bool is_back,
                         uint32_t *links, double *latency_s_p);

/* The same for path `i` of the topology (cs_topology_kind), of which there are so many: path 0 is
 * the way above, and without a topology the only one. */
uint32_t cs_links_n_paths(const cs_ports *ports, const cs_flight *flight, bool is_back);
uint32_t cs_links_of_path(const cs_ports *ports, const cs_flight *flight, bool is_back, uint32_t i,
                          uint32_t *links, double *latency_s_p);

#endif
