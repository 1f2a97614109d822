/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/lib/links.h"

#include <stdio.h>

uint32_t cs_links_count(const cs_ports *ports)
{
    const cs_topology *t = ports->cluster->topology;
    return cs_link_of_inner(ports, t != NULL ? t->n_links : 0);
}

uint32_t cs_links_most_of_way(const cs_ports *ports)
{
    const cs_topology *t = ports->cluster->topology;
    return 2 + (t != NULL ? t->max_route : 0);
}

void cs_link_name(const cs_ports *ports, uint32_t link, char *text, size_t text_bytes)
{
    static const char *const fabrics[CS_FABRICS] = {
        [CS_NIC] = "NIC", [CS_NVLINK] = "NVLink", [CS_CROSS] = "cross"};
    const cs_cluster *c      = ports->cluster;
    uint32_t          fabric = cs_n_fabrics(c) - 1, g = c->gpus_per_server;
    bool              sends = link < ports->n_ports;
    uint32_t          port  = sends ? link : link - ports->n_ports;

    if (link >= 2 * ports->n_ports) {
        c->topology->kind->link_name(c->topology, link - 2 * ports->n_ports, text, text_bytes);
        return;
    }
    while (fabric > CS_NIC && port < ports->port_base[fabric]) {
        fabric--;
    }
    port -= ports->port_base[fabric];
    if (c->fabrics[fabric].kind == CS_DIRECT) {
        uint32_t rank = port / g;
        (void)snprintf(text, text_bytes, "%s %s rank %u %s rank %u", fabrics[fabric],
                       sends ? "out of" : "into", rank, sends ? "to" : "from",
                       cs_server_first(c, cs_server_of(c, rank)) + port % g);
    } else {
        bool is_switch = port >= ports->n_ranks;
        (void)snprintf(text, text_bytes, "%s %s rank %u", fabrics[fabric],
                       is_switch ? (sends ? "out of the switch to" : "into the switch from")
                       : sends   ? "out of"
                                 : "into",
                       port % ports->n_ranks);
    }
}

static double nic_s_per_byte(const cs_ports *ports, uint32_t rank, double now_s)
{
    if (ports->nic_s_per_byte != NULL) {
        return ports->nic_s_per_byte[rank];
    }
    if (ports->profiles == NULL) {
        return ports->s_per_byte[CS_NIC];
    }
    const cs_rate_profile *p = &ports->profiles[rank];
    size_t                 i = 0;
    while (i + 1 < p->n_steps && p->step_from_s[i + 1] <= now_s) {
        i++;
    }
    return p->step_s_per_byte[i];
}

/* The ports of a fabric follow those of the fabric before it; those of the NICs come first. */
double cs_port_s_per_byte(const cs_ports *ports, uint32_t port, double now_s)
{
    for (uint32_t f = cs_n_fabrics(ports->cluster); --f > CS_NIC;) {
        if (port >= ports->port_base[f]) {
            bool     is_direct = ports->cluster->fabrics[f].kind == CS_DIRECT;
            uint32_t each      = is_direct ? ports->cluster->gpus_per_server : 1;
            uint32_t rank      = (port - ports->port_base[f]) / each;
            return cs_own_s_per_byte(ports, f, rank % ports->n_ranks); /* or of the switch to it */
        }
    }
    return port < ports->n_ranks ? nic_s_per_byte(ports, port, now_s)
                                 : cs_own_s_per_byte(ports, CS_NIC, port - ports->n_ranks);
}

uint32_t cs_links_of_nic(const cs_ports *ports, uint32_t rank, uint32_t *links)
{
    const cs_topology *t = ports->cluster->topology;
    uint32_t           n = 0;

    links[0] = rank;
    links[1] = cs_link_of_receiver(ports, rank);
    if (t != NULL && t->kind->nic_links != NULL) {
        n = t->kind->nic_links(t, ports->cluster, rank, links + 2);
    }
    for (uint32_t k = 2; k < n + 2; k++) {
        links[k] = cs_link_of_inner(ports, links[k]);
    }
    return n + 2;
}

double cs_nic_link_s_per_byte(const cs_ports *ports, uint32_t rank, uint32_t link, double now_s)
{
    uint32_t first_inner = cs_link_of_inner(ports, 0);
    double   pace        = nic_s_per_byte(ports, rank, now_s);

    if (link < first_inner) {
        return pace;
    }
    const cs_link *inner = &ports->cluster->topology->links[link - first_inner];
    return pace / cs_own_s_per_byte(ports, CS_NIC, rank) / inner->bandwidth_Bps;
}

/* Have all NICs the rates of healthy ones, at all times? */
static bool are_healthy(const cs_ports *ports)
{
    return ports->profiles == NULL && ports->nic_s_per_byte == NULL;
}

void cs_links_bandwidth(const cs_ports *ports, double *bandwidth_Bps)
{
    const cs_topology *t      = ports->cluster->topology;
    uint32_t           n_slow = t == NULL || are_healthy(ports) ? 0 : ports->n_ranks;
    uint32_t           links[CS_MOST_NIC_LINKS];

    for (uint32_t p = 0; p < ports->n_ports; p++) {
        double port_Bps  = 1.0 / cs_port_s_per_byte(ports, p, ports->first_s);
        bandwidth_Bps[p] = bandwidth_Bps[cs_link_of_receiver(ports, p)] = port_Bps;
    }
    for (uint32_t i = 0; t != NULL && i < t->n_links; i++) {
        bandwidth_Bps[cs_link_of_inner(ports, i)] = t->links[i].bandwidth_Bps;
    }
    for (uint32_t rank = 0; rank < n_slow; rank++) {
        uint32_t n = cs_links_of_nic(ports, rank, links);
        for (uint32_t k = 2; k < n; k++) {
            bandwidth_Bps[links[k]] =
                1.0 / cs_nic_link_s_per_byte(ports, rank, links[k], ports->first_s);
        }
    }
}

size_t cs_links_changes(const cs_ports *ports, cs_link_change *changes)
{
    uint32_t n_ranks = ports->profiles != NULL ? ports->n_ranks : 0;
    uint32_t links[CS_MOST_NIC_LINKS];
    size_t   n = 0;

    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const cs_rate_profile *p       = &ports->profiles[rank];
        uint32_t               n_links = p->n_steps > 1 ? cs_links_of_nic(ports, rank, links) : 0;
        for (size_t i = 1; i < p->n_steps; i++) {
            double time_s = p->step_from_s[i];
            if (time_s <= ports->first_s) {
                continue;
            }
            for (uint32_t k = 0; k < n_links; k++, n++) {
                if (changes != NULL) {
                    double pace = cs_nic_link_s_per_byte(ports, rank, links[k], time_s);
                    changes[n]  = (cs_link_change){time_s, 1.0 / pace, links[k]};
                }
            }
        }
    }
    return n;
}

uint32_t cs_links_n_paths(const cs_ports *ports, const cs_flight *flight, bool is_back)
{
    const cs_topology *t   = ports->cluster->topology;
    uint32_t           src = is_back ? flight->dst : flight->src;
    uint32_t           dst = is_back ? flight->src : flight->dst;

    return t != NULL ? cs_topology_n_paths(t, ports->cluster, src, dst, flight->fabric) : 1;
}

uint32_t cs_links_of_path(const cs_ports *ports, const cs_flight *flight, bool is_back, uint32_t i,
                          uint32_t *links, double *latency_s_p)
{
    const cs_topology *t   = ports->cluster->topology;
    uint32_t           src = is_back ? flight->dst : flight->src;
    uint32_t           dst = is_back ? flight->src : flight->dst;
    uint32_t           n   = 0;

    if (t != NULL) {
        n = cs_topology_path(t, ports->cluster, src, dst, flight->fabric, i, links + 2);
    }
    *latency_s_p = 0;
    for (uint32_t k = 2; k < n + 2; k++) {
        *latency_s_p += t->links[links[k]].latency_s;
        links[k] = cs_link_of_inner(ports, links[k]);
    }
    links[0] = is_back ? flight->rx : flight->tx;
    links[1] = cs_link_of_receiver(ports, is_back ? flight->tx : flight->rx);
    return n + 2;
}

uint32_t cs_links_of_way(const cs_ports *ports, const cs_flight *flight, bool is_back,
                         uint32_t *links, double *latency_s_p)
{
    return cs_links_of_path(ports, flight, is_back, 0, links, latency_s_p);
}
