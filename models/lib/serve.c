/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/lib/serve.h"

cs_status cs_refuse_topology(const cs_scenario *scenario, const char *model, cs_error *err)
{
    if (scenario->cluster.topology == NULL) {
        return CS_OK;
    }
    return CS_FAIL(err, CS_ENOTSUP, "cluster.topology",
                   "model %s has no topology: accepted is {\"kind\": \"crossbar\"}", model);
}

/* The link is not free before few enough of its GPU's links are: the links_at_once-th latest of the
 * times at which they are free. The link itself may count, for it is waited for anyway, and where
 * it is not among the last ones it changes nothing. `free_s` is tx_free_s or rx_free_s. */
static void wait_for_link(const cs_ports *ports, double *free_s, uint32_t port)
{
    uint32_t g = ports->cluster->gpus_per_server, most = ports->links_at_once, n = 0;
    uint32_t first = port - (port - ports->port_base[CS_NVLINK]) % g;
    double  *top   = ports->latest_s;

    for (uint32_t p = first; p < first + g; p++) {
        if (n == most && free_s[p] <= top[most - 1]) {
            continue;
        }
        uint32_t at = n < most ? n++ : most - 1;
        for (; at > 0 && top[at - 1] < free_s[p]; at--) {
            top[at] = top[at - 1];
        }
        top[at] = free_s[p];
    }
    free_s[port] = cs_later(free_s[port], top[most - 1]); /* there are more links than that */
}

void cs_wait_for_links(cs_ports *ports, const cs_transfer *t)
{
    cs_way way = cs_way_of(ports, t);

    if (way.fabric != CS_NVLINK) {
        return;
    }
    wait_for_link(ports, ports->tx_free_s, way.tx);
    wait_for_link(ports, ports->rx_free_s, way.rx);
    if (way.is_exchange) {
        wait_for_link(ports, ports->tx_free_s, way.back_tx);
        wait_for_link(ports, ports->rx_free_s, way.back_rx);
    }
}
