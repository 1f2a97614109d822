/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links by number: see models/pattern/links.h. */
#include "models/pattern/links.h"

uint32_t cs_links_count(const cs_ports *ports)
{
    const cs_topology *t = ports->cluster->topology;
    return 2 * ports->n_ports + (t != NULL ? t->n_links : 0);
}

static double nic_s_per_byte(const cs_ports *ports, uint32_t rank)
{
    if (ports->profiles != NULL) {
        const cs_rate_profile *p = &ports->profiles[rank / ports->cluster->gpus_per_server];
        size_t                 i = 0;
        while (i + 1 < p->n_steps && p->step_from_s[i + 1] <= ports->first_s) {
            i++;
        }
        return p->step_s_per_byte[i];
    }
    return ports->nic_s_per_byte != NULL ? ports->nic_s_per_byte[rank] : ports->s_per_byte[CS_NIC];
}

/* The ports of a fabric follow those of the fabric before it; unused ones have no rate. */
static double port_s_per_byte(const cs_ports *ports, uint32_t port)
{
    for (uint32_t f = CS_FABRICS; f-- > 0;) {
        if (f != CS_NIC && ports->s_per_byte[f] > 0 && ports->port_base[f] >= ports->n_ranks &&
            port >= ports->port_base[f]) {
            return ports->s_per_byte[f];
        }
    }
    return nic_s_per_byte(ports, port);
}

void cs_links_bandwidth(const cs_ports *ports, double *bandwidth_Bps)
{
    const cs_topology *t = ports->cluster->topology;
    uint32_t           n = ports->n_ports;

    for (uint32_t p = 0; p < n; p++) {
        bandwidth_Bps[p] = bandwidth_Bps[n + p] = 1.0 / port_s_per_byte(ports, p);
    }
    for (uint32_t i = 0; t != NULL && i < t->n_links; i++) {
        bandwidth_Bps[2 * n + i] = t->links[i].bandwidth_Bps;
    }
}

size_t cs_links_changes(const cs_ports *ports, cs_link_change *changes)
{
    uint32_t g       = ports->cluster->gpus_per_server;
    uint32_t servers = ports->profiles != NULL ? cs_n_servers(ports->cluster) : 0;
    size_t   n       = 0;

    for (uint32_t s = 0; s < servers; s++) {
        const cs_rate_profile *p = &ports->profiles[s];
        for (size_t i = 1; i < p->n_steps; i++) {
            double time_s = p->step_from_s[i];
            if (time_s <= ports->first_s) {
                continue;
            }
            for (uint32_t k = 0; k < 2 * g; k++, n++) {
                uint32_t link = s * g + k % g + (k < g ? 0 : ports->n_ports);
                if (changes != NULL) {
                    changes[n] = (cs_link_change){time_s, 1.0 / p->step_s_per_byte[i], link};
                }
            }
        }
    }
    return n;
}

uint32_t cs_links_of_way(const cs_ports *ports, uint32_t src, uint32_t dst, uint32_t tx,
                         uint32_t rx, uint32_t fabric, uint32_t *links, double *latency_s_p)
{
    const cs_topology *t = ports->cluster->topology;
    uint32_t n = t != NULL ? t->kind->route(t, ports->cluster, src, dst, fabric, links + 1) : 0;

    *latency_s_p = 0;
    for (uint32_t k = 1; k <= n; k++) {
        *latency_s_p += t->links[links[k]].latency_s;
        links[k] += 2 * ports->n_ports;
    }
    links[0]     = tx;
    links[n + 1] = ports->n_ports + rx;
    return n + 2;
}
