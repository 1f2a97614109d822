/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The alpha-beta (Hockney) model.
 *
 * A transfer holds the sending port of its source and the receiving port of its destination
 * for alpha + bytes / rate, where rate is the smaller of the two ports' current rates, and
 * starts as soon as both ports are free and its data are there. Ports are full duplex.
 * `propagation_s` is a latency that holds no port: the data are there so much later.
 *
 * In a SHARED group alpha is paid once per port: a message pays it unless both its ports have
 * served one of the group before. If one of them has, or both, the message holds its ports for
 * `message_gap_s` more. So each message of a group but the first one costs a port that gap, and m
 * messages that wait for nothing else cost it alpha + (m - 1) message_gap_s + bytes / rate.
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
#include "models/lib/rate.h"
#include "models/lib/serve.h"

typedef struct alpha_beta_options {
    double propagation_s;
    double message_gap_s;
} alpha_beta_options;

static const cs_field alpha_beta_table[] = {
    CS_OPTION(alpha_beta_options, propagation_s, 0, 0, 1e3,
              "time that data travel after their ports are free again"),
    CS_OPTION(alpha_beta_options, message_gap_s, 0, 0, 1e3,
              "cost of each message of a fan-out or fan-in group but the first, to a port"),
    CS_FIELD_END,
};

static cs_status alpha_beta_check(const cs_scenario *scenario, const void *options, cs_error *err)
{
    (void)options;
    return cs_refuse_topology(scenario, "alpha-beta", err);
}

/* One message of `parts` transfers; `intervals` may be NULL. */
__attribute__((noinline)) static void serve_general(cs_ports *ports, const cs_transfer *t,
                                                    size_t parts, alpha_beta_options o,
                                                    cs_interval *intervals)
{
    cs_way      way     = cs_way_of(ports, t);
    uint32_t    known   = cs_join_group(ports, t, &way);
    double      startup = cs_startup_s(known, ports->alpha_s[way.fabric], o.message_gap_s), start;
    cs_transfer whole   = cs_whole_message(ports, t, parts, &start);

    start = cs_later(start, cs_later(ports->tx_free_s[way.tx], ports->rx_free_s[way.rx]));
    if (way.is_exchange) {
        double back = cs_later(ports->tx_free_s[way.back_tx], ports->rx_free_s[way.back_rx]);
        start       = cs_later(start, back);
    }
    double end = cs_flow_end_s(ports, &whole, way.fabric, start + startup);

    ports->tx_free_s[way.tx] = end;
    ports->rx_free_s[way.rx] = end;
    if (way.is_exchange) {
        ports->tx_free_s[way.back_tx] = end;
        ports->rx_free_s[way.back_rx] = end;
    }
    for (size_t k = 0; k < parts; k++) {
        cs_data_set_ready(ports, &t[k], end + o.propagation_s);
    }
    if (o.propagation_s > 0) {
        ports->last_end_s = cs_later(ports->last_end_s, end + o.propagation_s);
    }
    if (intervals != NULL) {
        cs_slice_message(t, parts, (cs_interval){start, end}, startup, intervals);
    }
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
    double  data  = (t->flags & CS_OWN_SRC) != 0 ? start : ready;
    double  end   = cs_later(start, data) + l.alpha_s + (double)(int64_t)t->bytes * pace_s_per_byte;

    l.tx_free_s[t->src] = end;
    l.rx_free_s[t->dst] = end;
    *sink               = end;
}

/* Constant rates, one fabric: the general case stands behind a branch that is nearly never
 * taken. */
static void serve_uniform(cs_ports *ports, double message_gap_s, const cs_transfer *transfers,
                          size_t count)
{
    const lane l    = lane_of(ports);
    double     pace = ports->s_per_byte[CS_NIC];

    for (size_t i = 0; i < count; i++) {
        if (cs_is_simple(&transfers[i])) {
            serve_simple(l, &transfers[i], pace);
        } else {
            serve_general(ports, &transfers[i], 1, (alpha_beta_options){0, message_gap_s}, NULL);
        }
    }
}

static void serve_per_rank(cs_ports *ports, double message_gap_s, const cs_transfer *transfers,
                           size_t count)
{
    const lane    l    = lane_of(ports);
    const double *pace = ports->nic_s_per_byte;

    for (size_t i = 0; i < count; i++) {
        const cs_transfer *t = &transfers[i];
        if (cs_is_simple(t)) {
            serve_simple(l, t, cs_later(pace[t->src], pace[t->dst]));
        } else {
            serve_general(ports, t, 1, (alpha_beta_options){0, message_gap_s}, NULL);
        }
    }
}

/* The port among those of a fabric; with `switches` one end may be a switch. */
static inline uint32_t switched_port(const cs_ports *ports, uint32_t here, uint32_t there,
                                     bool switches)
{
    return switches && here >= ports->n_ranks ? ports->n_ranks + there : here;
}

/* Switched ports of constant and equal rates, of several fabrics: single chunks, and exchanges by
 * the general function. */
__attribute__((always_inline)) static inline void serve_switched(cs_ports          *ports,
                                                                 const cs_transfer *transfers,
                                                                 size_t count, bool switches)
{
    const lane l = lane_of(ports);

    for (size_t i = 0; i < count; i++) {
        const cs_transfer *t      = &transfers[i];
        uint32_t           fabric = cs_transfer_fabric(t);
        if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
            serve_general(ports, t, 1, (alpha_beta_options){0, 0}, NULL);
            continue;
        }
        uint32_t base  = ports->port_base[fabric];
        double  *tx    = &l.tx_free_s[base + switched_port(ports, t->src, t->dst, switches)];
        double  *rx    = &l.rx_free_s[base + switched_port(ports, t->dst, t->src, switches)];
        double   ready = l.ready_s[t->src * l.n_slots + t->src_slot];
        double  *sink  = &l.ready_s[t->dst * l.n_slots + t->dst_slot];
        double   start = cs_later(*tx, *rx);
        double   data  = (t->flags & CS_OWN_SRC) != 0 ? start : ready;
        double   end   = cs_later(start, data) + ports->alpha_s[fabric] +
                     (double)(int64_t)t->bytes * ports->s_per_byte[fabric];
        bool adds = cs_transfer_op(t) == CS_OP_REDUCE && (t->flags & CS_OWN_DST) == 0;

        *tx = *rx = end;
        *sink     = adds ? cs_later(*sink, end) : end;
    }
}

/* Are there several fabrics, all as serve_switched() wants them? */
static bool is_switched(const cs_ports *ports)
{
    const cs_cluster *c = ports->cluster;

    return (ports->uses & (CS_USES_SHARED | CS_USES_SPAN | CS_USES_JOIN)) == 0 &&
           c->fabrics[CS_NVLINK].kind == CS_SWITCHED && c->servers == NULL &&
           ports->nic_s_per_byte == NULL && !ports->ranks_relay;
}

/* Simple transfers of which some join into messages: ends, then all slots. */
static size_t serve_parts(lane l, const cs_transfer *t, size_t left, double pace)
{
    double   start = cs_later(l.tx_free_s[t->src], l.rx_free_s[t->dst]);
    uint64_t bytes = 0;
    size_t   parts = 0;

    do {
        double ready = l.ready_s[t->src * l.n_slots + t[parts].src_slot];
        ready        = (t[parts].flags & CS_OWN_SRC) != 0 ? start : ready;
        start        = cs_later(start, ready);
        bytes += t[parts++].bytes;
    } while (parts < left && (t[parts].flags & CS_JOIN) != 0);

    double end = start + l.alpha_s + (double)(int64_t)bytes * pace;
    for (size_t k = 0; k < parts; k++) {
        l.ready_s[t->dst * l.n_slots + t[k].dst_slot] = end;
    }
    l.tx_free_s[t->src] = end;
    l.rx_free_s[t->dst] = end;
    return parts;
}

/* Messages of several simple parts over NICs of constant rate. */
static void serve_joined(cs_ports *ports, const cs_transfer *transfers, size_t count)
{
    const lane    l    = lane_of(ports);
    const double *pace = ports->nic_s_per_byte;

    for (size_t i = 0; i < count;) {
        const cs_transfer *t = &transfers[i];
        double             slow =
            pace == NULL ? ports->s_per_byte[CS_NIC] : cs_later(pace[t->src], pace[t->dst]);
        i += serve_parts(l, t, count - i, slow);
    }
}

static void alpha_beta_serve(cs_ports *ports, const void *options, const cs_transfer *transfers,
                             size_t count, cs_interval *intervals)
{
    const alpha_beta_options *o = options;
    bool is_plain = intervals == NULL && o->propagation_s == 0 && ports->profiles == NULL;
    bool is_fast  = is_plain && (ports->uses & CS_USES_NVLINK) == 0;

    if (is_fast && ports->uses == CS_USES_JOIN) {
        serve_joined(ports, transfers, count);
    } else if (is_fast && (ports->uses & CS_USES_JOIN) == 0 && ports->nic_s_per_byte == NULL) {
        serve_uniform(ports, o->message_gap_s, transfers, count);
    } else if (is_fast && (ports->uses & CS_USES_JOIN) == 0) {
        serve_per_rank(ports, o->message_gap_s, transfers, count);
    } else if (is_plain && is_switched(ports) && (ports->uses & CS_USES_SWITCH) != 0) {
        serve_switched(ports, transfers, count, true);
    } else if (is_plain && is_switched(ports)) {
        serve_switched(ports, transfers, count, false);
    } else {
        for (size_t i = 0, parts; i < count; i += parts) {
            parts = cs_message_parts(&transfers[i], count - i);
            if (ports->links_at_once > 0) {
                cs_wait_for_links(ports, &transfers[i]);
            }
            serve_general(ports, &transfers[i], parts, *o,
                          intervals == NULL ? NULL : intervals + i);
        }
    }
}

static double alpha_beta_latency_s(const cs_scenario *scenario, const void *options,
                                   uint32_t fabric)
{
    (void)options;
    return scenario->cluster.fabrics[fabric].alpha_s;
}

static cs_message_cost alpha_beta_message_cost(const cs_scenario *scenario, const void *options,
                                               uint32_t fabric)
{
    const alpha_beta_options *o = options;

    return (cs_message_cost){.port_s   = scenario->cluster.fabrics[fabric].alpha_s,
                             .beyond_s = o->propagation_s};
}

static bool alpha_beta_closed_forms_hold(const void *options, uint32_t uses)
{
    const alpha_beta_options *o        = options;
    bool                      has_gaps = (uses & CS_USES_SHARED) != 0 && o->message_gap_s > 0;

    return o->propagation_s == 0 && !has_gaps;
}

const cs_model cs_model_alpha_beta = {
    .aliases = "hockney",
    .name    = "alpha-beta",
    .summary = "Hockney: a transfer holds both its ports for alpha + bytes/rate; leaves out links "
               "inside the network, congestion, CPU and SM overhead",
    .source  = "R. W. Hockney, The communication challenge for MPP, Parallel Computing 20 (1994)",
    .options = alpha_beta_table,
    .options_bytes     = sizeof(alpha_beta_options),
    .check             = alpha_beta_check,
    .serve             = alpha_beta_serve,
    .latency_s         = alpha_beta_latency_s,
    .message_cost      = alpha_beta_message_cost,
    .closed_forms_hold = alpha_beta_closed_forms_hold,
    .alpha_holds_port  = true,
    .takes_switches    = true,
};
