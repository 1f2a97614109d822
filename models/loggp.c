/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The LogGP model: L, o, g, G.
 *
 * A message of k bytes takes o + L + kG + o from start to end, where o + L + o is the
 * scenario's alpha (so that one message alone costs what it costs on alpha-beta) and G = 1 / rate.
 * It holds the sending port for max(o + kG, g) and the receiving port for max(kG + o, g)
 * from the moment its first byte gets there; the latency L holds no port, so that messages in
 * a row overlap it. (Written with kG instead of (k-1)G, as simulators do.)
 *
 * In a SHARED group o is paid once per port: a message pays it, at both ends, unless both its ports
 * have served one of the group before. A port that has is held for `message_gap_s` more: the
 * sending port at the start, before o; the receiving port as soon as it is free, before the first
 * byte, whose way there may take as long. So m messages of a group that wait for nothing else hold
 * a port for o + kG + (m - 1) message_gap_s, kG being that of all of them, and the last one ends
 * L + o later. (g counts as everywhere, from start to start.)
 *
 * A barrier waits for the ends of messages; the rest of a gap keeps a port closed behind it, but
 * keeps nobody else waiting.
 *
 * Left out: everything between the ports, as for alpha-beta; the capacity limit ceil(L/g).
 *
 * Source: A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, "LogGP: incorporating long
 * messages into the LogP model", SPAA 1995.
 */
#include "models/lib/rate.h"
#include "models/lib/serve.h"

typedef struct loggp_options {
    double overhead_s;
    double gap_s;
    double message_gap_s;
} loggp_options;

static const cs_field loggp_table[] = {
    CS_OPTION(loggp_options, overhead_s, 0, 0, 1e3, "o: time each end is busy per message"),
    CS_OPTION(loggp_options, gap_s, 0, 0, 1e3, "g: least time between messages of a port"),
    CS_OPTION(loggp_options, message_gap_s, 0, 0, 1e3,
              "cost of each message of a fan-out or fan-in group but the first, to a port"),
    CS_FIELD_END,
};

static cs_status loggp_check(const cs_scenario *scenario, const void *options, cs_error *err)
{
    const loggp_options *o = options;

    for (uint32_t f = 0; f < cs_n_fabrics(&scenario->cluster); f++) {
        if (scenario->cluster.fabrics[f].alpha_s < 2 * o->overhead_s) {
            return CS_FAIL(err, CS_EINVAL, "model.options.overhead_s",
                           "alpha = L + 2o: alpha %g s is less than twice the overhead %g s",
                           scenario->cluster.fabrics[f].alpha_s, o->overhead_s);
        }
    }
    return cs_refuse_topology(scenario, "loggp", err);
}

/* One direction: from a start at both ends to the end of the message. `known`: which of the ports
 * have served its group before. */
static inline double send_one(cs_ports *ports, const loggp_options *o, const cs_transfer *t,
                              uint32_t fabric, uint32_t tx, uint32_t rx, double start,
                              uint32_t known)
{
    double latency  = ports->alpha_s[fabric] - 2 * o->overhead_s;
    double overhead = known == CS_KNOWN_BOTH ? 0 : o->overhead_s;
    double leave = start + overhead, open = ports->rx_free_s[rx];

    if (known != 0) {
        leave += (known & CS_KNOWN_TX) != 0 ? o->message_gap_s : 0;
        open += (known & CS_KNOWN_RX) != 0 ? o->message_gap_s : 0;
    }
    double begin = cs_later(leave + latency, open);
    double sent  = cs_flow_end_s(ports, t, fabric, leave);
    double end   = cs_flow_end_s(ports, t, fabric, begin) + overhead;

    ports->tx_free_s[tx] = cs_later(sent, start + o->gap_s);
    ports->rx_free_s[rx] = cs_later(end, begin + o->gap_s);
    return end;
}

static void serve_message(cs_ports *ports, const loggp_options *o, const cs_transfer *t,
                          size_t parts, cs_interval *intervals)
{
    cs_way      way = cs_way_of(ports, t);
    double      start;
    cs_transfer whole = cs_whole_message(ports, t, parts, &start);

    start = cs_later(start, ports->tx_free_s[way.tx]);
    if (way.is_exchange) {
        start = cs_later(start, ports->tx_free_s[way.back_tx]);
    }
    uint32_t known = cs_join_group(ports, t, &way);
    double   end   = send_one(ports, o, &whole, way.fabric, way.tx, way.rx, start, known);
    if (way.is_exchange) {
        double back =
            send_one(ports, o, &whole, way.fabric, way.back_tx, way.back_rx, start, known);
        end = cs_later(end, back);
    }
    for (size_t k = 0; k < parts; k++) {
        cs_data_set_ready(ports, &t[k], end);
    }
    ports->last_end_s = cs_later(ports->last_end_s, end);
    if (intervals != NULL) {
        cs_slice_message(t, parts, (cs_interval){start, end}, 0, intervals);
    }
}

static void loggp_serve(cs_ports *ports, const void *options, const cs_transfer *transfers,
                        size_t count, cs_interval *intervals)
{
    for (size_t i = 0, parts; i < count; i += parts) {
        parts = cs_message_parts(&transfers[i], count - i);
        if (ports->links_at_once > 0) {
            cs_wait_for_links(ports, &transfers[i]);
        }
        serve_message(ports, options, &transfers[i], parts,
                      intervals == NULL ? NULL : intervals + i);
    }
}

static double loggp_latency_s(const cs_scenario *scenario, const void *options, uint32_t fabric)
{
    (void)options;
    return scenario->cluster.fabrics[fabric].alpha_s;
}

static cs_message_cost loggp_message_cost(const cs_scenario *scenario, const void *options,
                                          uint32_t fabric)
{
    const loggp_options *o = options;

    return (cs_message_cost){.port_s   = o->overhead_s,
                             .gap_s    = o->gap_s,
                             .beyond_s = scenario->cluster.fabrics[fabric].alpha_s - o->overhead_s};
}

const cs_model cs_model_loggp = {
    .name             = "loggp",
    .summary          = "LogGP: latency L holds no port, overhead o and gap g do; leaves out links "
                        "inside the network, congestion and the capacity limit L/g",
    .source           = "A. Alexandrov et al., LogGP, SPAA 1995",
    .options          = loggp_table,
    .options_bytes    = sizeof(loggp_options),
    .check            = loggp_check,
    .serve            = loggp_serve,
    .latency_s        = loggp_latency_s,
    .message_cost     = loggp_message_cost,
    .alpha_holds_port = false,
    .takes_switches   = true,
};
