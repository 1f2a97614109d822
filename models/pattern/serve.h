/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/pattern/serve.h -- the parts of a single-pass replay that port models share: when a
 * transfer may start, and what becomes ready when it ends (the data rule of cs/schedule.h). */
#ifndef CS_MODELS_PATTERN_SERVE_H
#define CS_MODELS_PATTERN_SERVE_H

#include "cs/model.h"

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

/* When few enough of the links beside this one are held, where GPUs do not drive all of theirs
 * (links_at_once > 0, see cs_links_at_once()); over other fabrics nothing is waited for. `free_s`
 * is tx_free_s or rx_free_s. The link itself may count, for it is waited for anyway, and where it
 * is not among the last ones it changes nothing. O(gpus_per_server * links_at_once). */
static inline double cs_beside_free_s(const cs_ports *ports, const double *free_s, uint32_t fabric,
                                      uint32_t port)
{
    uint32_t g = ports->cluster->gpus_per_server, most = ports->links_at_once, n = 0;
    uint32_t first = port - (port - ports->port_base[fabric]) % g;
    double  *top   = ports->latest_s;

    if (fabric != CS_NVLINK) {
        return ports->first_s;
    }
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
    return top[most - 1]; /* there are more links than that */
}

/* When the data that leave are there. */
static inline double cs_data_ready_s(const cs_ports *ports, const cs_transfer *t)
{
    double ready = ports->arrival_s[t->src];

    if ((t->flags & CS_OWN_SRC) == 0) {
        const double *row = ports->ready_s + (size_t)t->src * ports->n_slots + t->src_slot;
        for (uint32_t k = 0; k < t->span; k++, row++) {
            ready = cs_later(ready, *row);
        }
    }
    if (cs_transfer_op(t) == CS_OP_EXCHANGE && (t->flags & CS_OWN_DST) == 0) {
        const double *row = ports->ready_s + (size_t)t->dst * ports->n_slots + t->dst_slot;
        for (uint32_t k = 0; k < t->span; k++, row++) {
            ready = cs_later(ready, *row);
        }
    }
    return ready;
}

/* Both ends' slots after the transfer. */
static inline void cs_data_set_ready(cs_ports *ports, const cs_transfer *t, double end_s)
{
    double *row  = ports->ready_s + (size_t)t->dst * ports->n_slots + t->dst_slot;
    bool    adds = cs_transfer_op(t) != CS_OP_COPY && (t->flags & CS_OWN_DST) == 0;

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

/* Has either port of a message served one of its SHARED group before? */
typedef struct cs_known {
    bool tx, rx;
} cs_known;

/* The message joins its group on both its ports; nobody is known outside a group. */
static inline cs_known cs_join_group(cs_ports *ports, const cs_transfer *t, const cs_way *way)
{
    if ((t->flags & CS_SHARED) == 0) {
        return (cs_known){false, false};
    }
    uint32_t group = t->round + 1;
    cs_known known = {ports->tx_group[way->tx] == group, ports->rx_group[way->rx] == group};

    ports->tx_group[way->tx] = group;
    ports->rx_group[way->rx] = group;
    return known;
}

/* The start-up time of a message that holds both its ports for it: alpha, unless both have served
 * its group; the gap, if one of them has. */
static inline double cs_startup_s(cs_known known, double alpha_s, double message_gap_s)
{
    double startup_s = known.tx && known.rx ? 0 : alpha_s;

    return known.tx || known.rx ? startup_s + message_gap_s : startup_s;
}

#endif
