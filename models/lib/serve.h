/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/lib/serve.h -- the parts of a single-pass replay that port models share: when a
 * transfer may start, and what becomes ready when it ends (the data rule of cs/schedule.h). */
#ifndef CS_MODELS_LIB_SERVE_H
#define CS_MODELS_LIB_SERVE_H

#include "cs/model.h"

/* Refuse a topology, which port models cannot honour: between their ports there is nothing. */
cs_status cs_refuse_topology(const cs_scenario *scenario, const char *model, cs_error *err);

/* The ports of one transfer. An exchange holds both directions of both ends: there
 * `back_tx` is the sending port of dst and `back_rx` the receiving port of src. */
typedef struct cs_way {
    uint32_t tx, rx, back_tx, back_rx;
    uint32_t fabric;
    bool     is_exchange;
} cs_way;

static inline double cs_later(double a, double b)
{
    return a > b ? a : b;
}

static inline cs_way cs_way_of(const cs_ports *ports, const cs_transfer *t)
{
    uint32_t fabric  = cs_transfer_fabric(t);
    uint32_t at_src  = cs_port_of(ports, fabric, t->src, t->dst);
    uint32_t at_dst  = cs_port_of(ports, fabric, t->dst, t->src);
    bool     is_both = cs_transfer_op(t) == CS_OP_EXCHANGE;

    return (cs_way){at_src, at_dst, at_dst, at_src, fabric, is_both};
}

/* Where GPUs drive some of their links only (links_at_once > 0, see cs_links_at_once()), before a
 * message is served: its links are not free before those beside them let it start.
 * O(gpus_per_server * links_at_once). */
void cs_wait_for_links(cs_ports *ports, const cs_transfer *t);

/* When the data of a rank are there: its own contribution, or what it has in slots. */
static inline double cs_end_ready_s(const cs_ports *ports, uint32_t rank, uint32_t slot,
                                    uint32_t span, bool is_own)
{
    const double *row   = ports->ready_s + (size_t)rank * ports->n_slots + slot;
    double        ready = is_own ? ports->arrival_s[rank] : *row;

    for (uint32_t k = 1; k < span && !is_own; k++) {
        ready = cs_later(ready, row[k]);
    }
    return ready;
}

/* When the data that leave are there. Where ranks do not relay, ports are closed before arrivals,
 * which need not be looked at. */
static inline double cs_data_ready_s(const cs_ports *ports, const cs_transfer *t)
{
    bool   is_own = (t->flags & CS_OWN_SRC) != 0;
    double ready  = cs_end_ready_s(ports, t->src, t->src_slot, t->span, is_own);

    if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
        is_own = (t->flags & CS_OWN_DST) != 0;
        ready  = cs_later(ready, cs_end_ready_s(ports, t->dst, t->dst_slot, t->span, is_own));
    }
    return ready;
}

/* Both ends' slots after the transfer. */
static inline void cs_data_set_ready(cs_ports *ports, const cs_transfer *t, double end_s)
{
    double *row  = ports->ready_s + (size_t)t->dst * ports->n_slots + t->dst_slot;
    bool    adds = cs_transfer_op(t) != CS_OP_COPY && (t->flags & CS_OWN_DST) == 0;

    if ((t->flags & CS_OWN_DST) != 0) {
        end_s = cs_later(end_s, ports->arrival_s[t->dst]); /* of a rank that relays */
    }
    for (uint32_t k = 0; k < t->span; k++, row++) {
        *row = adds ? cs_later(*row, end_s) : end_s;
    }
    if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
        row = ports->ready_s + (size_t)t->src * ports->n_slots + t->src_slot;
        for (uint32_t k = 0; k < t->span; k++, row++) {
            *row = end_s;
        }
    }
}

/* How many transfers make up the message that begins with `t`: it and those that join it. */
static inline size_t cs_message_parts(const cs_transfer *t, size_t left)
{
    size_t parts = 1;

    while (parts < left && (t[parts].flags & CS_JOIN) != 0) {
        parts++;
    }
    return parts;
}

/* The first part with the bytes of all, and when the data of all are there. */
static inline cs_transfer cs_whole_message(const cs_ports *ports, const cs_transfer *t,
                                           size_t parts, double *ready_s_p)
{
    cs_transfer whole = *t;
    double      ready = cs_data_ready_s(ports, t);

    for (size_t k = 1; k < parts; k++) {
        whole.bytes += t[k].bytes;
        ready = cs_later(ready, cs_data_ready_s(ports, &t[k]));
    }
    *ready_s_p = ready;
    return whole;
}

/* What observers see of a message of several parts: each has the port for its own bytes, the
 * first one for the start-up too. */
static inline void cs_slice_message(const cs_transfer *t, size_t parts, cs_interval message,
                                    double startup_s, cs_interval *intervals)
{
    double total = 0, sent = 0, start = message.start_s;

    for (size_t k = 0; k < parts; k++) {
        total += (double)t[k].bytes;
    }
    for (size_t k = 0; k < parts; k++) {
        double flow = message.end_s - message.start_s - startup_s;
        sent += (double)t[k].bytes;
        double end   = message.start_s + startup_s + (total > 0 ? flow * (sent / total) : 0);
        end          = k + 1 == parts || !(sent < total) ? message.end_s : end;
        intervals[k] = (cs_interval){start, end};
        start        = end;
    }
}

/* Which of the two ports of a message have served one of its SHARED group before. */
enum { CS_KNOWN_TX = 1u << 0, CS_KNOWN_RX = 1u << 1, CS_KNOWN_BOTH = CS_KNOWN_TX | CS_KNOWN_RX };

static inline uint32_t cs_known_ports(uint32_t group, uint32_t tx_group, uint32_t rx_group)
{
    return (tx_group == group ? CS_KNOWN_TX : 0u) | (rx_group == group ? CS_KNOWN_RX : 0u);
}

/* The message joins its group on both its ports: which of them know it? None outside a group. */
static inline uint32_t cs_join_group(cs_ports *ports, const cs_transfer *t, const cs_way *way)
{
    if ((t->flags & CS_SHARED) == 0) {
        return 0;
    }
    uint32_t *tx = &ports->tx_group[way->tx], *rx = &ports->rx_group[way->rx];
    uint32_t  group = t->round + 1;

    if (*tx == group && *rx == group) {
        return CS_KNOWN_BOTH; /* nearly always: nothing to store */
    }
    uint32_t known = cs_known_ports(group, *tx, *rx);
    *tx = *rx = group;
    return known;
}

/* The start-up time of a message that holds both its ports for it: alpha, unless both know its
 * group; the gap, if one of them does. */
static inline double cs_startup_s(uint32_t known, double alpha_s, double message_gap_s)
{
    if (known == CS_KNOWN_BOTH) {
        return message_gap_s;
    }
    return known == 0 ? alpha_s : alpha_s + message_gap_s;
}

#endif
