/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packet model: messages are cut into packets, which wait in the queues of ports.
 *
 * The rules, and the order of what happens in one picosecond, are in sim/doc/packet.md. Nothing is
 * averaged: every end is a whole number of picoseconds that follows from the rules, whichever
 * engine (models/packet/engine.h) computes it.
 *
 * Left out: what hosts spend on packets, buffers that ports share, adaptive routing.
 */
#include "models/packet/drive.h"
#include "models/packet/transport_options.h"

typedef struct packet_options {
    cs_packet_options           net;
    cs_packet_transport_options hosts;
} packet_options;

_Static_assert(offsetof(packet_options, net) == 0, "the rows of the net count from there");

static const cs_field packet_table[] = {
    CS_PACKET_ROWS(cs_packet_options),
    CS_OPTION(cs_packet_options, cut_through_bytes, 0, 0, CS_MAX_PACKET_BYTES,
              "a switch sends a packet on when so much of it has come; 0: when all has"),
    CS_OPTION(cs_packet_options, lossless, 0, 0, 1,
              "switches pause who sends to them before their queues overflow (PFC)"),
    CS_OPTION_AUTO(cs_packet_options, xoff_bytes, 1, 4e9,
                   "lossless: what came over a link and is still in the switch, above which the "
                   "link is paused; given, it means lossless"),
    CS_OPTION_AUTO(cs_packet_options, xon_bytes, 0, 4e9, "lossless: .. up to which it resumes"),
    CS_OPTION_AUTO(cs_packet_options, headroom_bytes, 0, 4e9,
                   "lossless: room above xoff_bytes for what is still on its way"),
    CS_OPTION(cs_packet_options, trains, 1, 0, 1,
              "packets in a row are served as one, with the same result"),
    CS_TRANSPORT_ROWS(packet_options, hosts),
    CS_FIELD_END,
};

static cs_status choose(cs_packet_ports *ports, const void *options,
                        const cs_packet_engine **engine_p, cs_error *err)
{
    const packet_options      *o   = options;
    cs_packet_net             *net = &ports->net;
    const cs_packet_transport *t   = &net->transport;
    int64_t line = (int64_t)(8 * ports->ports->cluster->fabrics[CS_NIC].bandwidth_Bps);

    CS_TRY(cs_packet_transport_resolve(&o->hosts, line, &net->transport, err));
    if (net->queue_bytes > 0 || t->recovery != CS_RECOVER_NONE || t->kmax > 0) {
        *engine_p = &cs_packet_transported;
    } else {
        *engine_p = net->is_lossless ? &cs_packet_lossless : &cs_packet_unlimited;
    }
    return CS_OK;
}

static cs_status packet_open(const cs_ports *ports, const void *options, void **state_p,
                             cs_error *err)
{
    return cs_packet_open(ports, options, choose, state_p, err);
}

static const cs_network packet_network = {
    .shares_receivers = cs_packet_queues,
    .queues_senders   = cs_packet_queues,
    .open             = packet_open,
    .inject           = cs_packet_inject,
    .next             = cs_packet_next,
    .advance          = cs_packet_advance,
    .count            = cs_packet_counts,
    .watch            = cs_packet_watch,
    .report           = cs_packet_report,
    .why              = cs_packet_why,
    .close            = cs_packet_close,
};

static cs_status packet_check(const cs_scenario *scenario, const void *options, cs_error *err)
{
    const packet_options *o = options;
    cs_packet_transport   settings;

    CS_TRY(cs_packet_check(scenario, &o->net, err));
    return cs_packet_transport_resolve(&o->hosts, 1, &settings, err);
}

const cs_model cs_model_packet = {
    .name    = "packet",
    .summary = "packets through the queues of ports and switches, to the picosecond: headers, "
               "store-and-forward, incast, pauses; leaves out buffers that ports share, adaptive "
               "routing, what hosts spend on a packet",
    .source  = "rules: sim/doc/packet.md; PFC: IEEE 802.1Qbb",
    .options = packet_table,
    .options_bytes = sizeof(packet_options),
    .check         = packet_check,
    .network       = &packet_network,
    .latency_s     = cs_packet_latency_s,
    .message_cost  = cs_packet_message_cost,
};
