/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The alpha-beta (Hockney) model.
 *
 * A transfer holds the sending port of its source and the receiving port of its destination
 * for alpha + bytes / rate, where rate is the smaller of the two ports' current rates, and
 * starts as soon as both ports are free and its data are there. Ports are full duplex. In a
 * SHARED group alpha is paid once per port.
 *
 * Left out: everything between the ports (switches, links, congestion), the overhead of the
 * CPU or the SMs, the cost of the reduction.
 *
 * Simple transfers (cs_is_simple) over NICs of constant rate are served without a branch and with
 * unconditional stores, everything else by the general function. Both give the same bits
 * (tests/models/test_alpha_beta.c).
 *
 * Source: R. W. Hockney, "The communication challenge for MPP", Parallel Computing 20 (1994).
 */
#include "models/pattern/rate.h"
#include "models/pattern/serve.h"

__attribute__((noinline)) static cs_interval serve_general(cs_ports *ports, const cs_transfer *t)
{
    cs_way way   = cs_way_of(ports, t);
    double start = cs_data_ready_s(ports, t);

    start = cs_later(start, cs_later(ports->tx_free_s[way.tx], ports->rx_free_s[way.rx]));
    if (way.is_exchange) {
        double back = cs_later(ports->tx_free_s[way.back_tx], ports->rx_free_s[way.back_rx]);
        start       = cs_later(start, back);
    }
    double flow = start + cs_startup_s(ports, t, &way, ports->alpha_s[way.fabric]);
    double end  = cs_flow_end_s(ports, t, way.fabric, flow);

    ports->tx_free_s[way.tx] = end;
    ports->rx_free_s[way.rx] = end;
    if (way.is_exchange) {
        ports->tx_free_s[way.back_tx] = end;
        ports->rx_free_s[way.back_rx] = end;
    }
    cs_data_set_ready(ports, t, end);
    return (cs_interval){start, end};
}

/* What the loop over simple transfers needs, in registers. */
typedef struct lane {
    double *tx_free_s, *rx_free_s, *ready_s;
    size_t  n_slots;
    double  alpha_s;
} lane;

static inline lane lane_of(const cs_ports *ports)
{
    return (lane){ports->tx_free_s, ports->rx_free_s, ports->ready_s, ports->n_slots,
                  ports->alpha_s[CS_NIC]};
}

/* A simple transfer over the NICs, given the pace. On a single fabric the receiving port was
 * never free before the slot was ready, so that the later of the two is the end. */
static inline void serve_simple(lane l, const cs_transfer *t, double pace_s_per_byte)
{
    double  ready = l.ready_s[t->src * l.n_slots + t->src_slot];
    double *sink  = &l.ready_s[t->dst * l.n_slots + t->dst_slot];
    double  start = cs_later(l.tx_free_s[t->src], l.rx_free_s[t->dst]);
    double  data  = (t->flags & CS_OWN_SRC) != 0 ? 0.0 : ready;
    double  end   = cs_later(start, data) + l.alpha_s + (double)(int64_t)t->bytes * pace_s_per_byte;

    l.tx_free_s[t->src] = end;
    l.rx_free_s[t->dst] = end;
    *sink               = end;
}

/* Constant rates, one fabric: the general case stands behind a branch that is nearly never
 * taken. */
static void serve_uniform(cs_ports *ports, const cs_transfer *transfers, size_t count)
{
    const lane l    = lane_of(ports);
    double     pace = ports->s_per_byte[CS_NIC];

    for (size_t i = 0; i < count; i++) {
        if (cs_is_simple(&transfers[i])) {
            serve_simple(l, &transfers[i], pace);
        } else {
            serve_general(ports, &transfers[i]);
        }
    }
}

static void serve_per_rank(cs_ports *ports, const cs_transfer *transfers, size_t count)
{
    const lane    l    = lane_of(ports);
    const double *pace = ports->nic_s_per_byte;

    for (size_t i = 0; i < count; i++) {
        const cs_transfer *t = &transfers[i];
        if (cs_is_simple(t)) {
            serve_simple(l, t, cs_later(pace[t->src], pace[t->dst]));
        } else {
            serve_general(ports, t);
        }
    }
}

static void alpha_beta_serve(cs_ports *ports, const void *options, const cs_transfer *transfers,
                             size_t count, cs_interval *intervals)
{
    (void)options;
    if (intervals == NULL && (ports->uses & CS_USES_NVLINK) == 0 && ports->profiles == NULL) {
        if (ports->nic_s_per_byte == NULL) {
            serve_uniform(ports, transfers, count);
        } else {
            serve_per_rank(ports, transfers, count);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        cs_interval interval = serve_general(ports, &transfers[i]);
        if (intervals != NULL) {
            intervals[i] = interval;
        }
    }
}

static double alpha_beta_latency_s(const cs_scenario *scenario, const void *options,
                                   uint32_t fabric)
{
    (void)options;
    return scenario->cluster.fabrics[fabric].alpha_s;
}

const cs_model cs_model_alpha_beta = {
    .name    = "alpha-beta",
    .summary = "Hockney: a transfer holds both its ports for alpha + bytes/rate; leaves out links "
               "inside the network, congestion, CPU and SM overhead",
    .source  = "R. W. Hockney, The communication challenge for MPP, Parallel Computing 20 (1994)",
    .serve   = alpha_beta_serve,
    .latency_s        = alpha_beta_latency_s,
    .alpha_holds_port = true,
};
