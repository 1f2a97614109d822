/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/packet_events.h -- what happens in the oracle of packets, in its order: a binary
 * heap. Within one picosecond the kinds have the order in which they are listed, each by number;
 * what is left has the order in which it was made, on which nothing may depend that matters.
 */
#ifndef CT_SUPPORT_PACKET_EVENTS_H
#define CT_SUPPORT_PACKET_EVENTS_H

#include "models/packet/net.h"

typedef struct ct_packet {
    uint32_t message, index;  /* of the schedule, in the message */
    uint32_t hop, in;         /* of its way; the link that it came over, CS_NO_LINK at first */
    int64_t  bytes;           /* on the wire */
    bool     is_marked, asks; /* asks: for an ACK */
} ct_packet;

typedef enum ct_packet_kind {
    CT_SENT,    /* number: the link */
    CT_RATE,    /* number: the link, value: bit/s */
    CT_PAUSE,   /* number: the link, value: 0 to resume */
    CT_RANK,    /* number: the sending port whose rank comes */
    CT_ARRIVAL, /* number: the link */
    CT_CONTROL, /* the hosts' own */
    CT_TIMER,   /* the hosts' own */
    CT_START    /* number: the link */
} ct_packet_kind;

typedef struct ct_packet_event {
    cs_ps          t;
    ct_packet_kind kind;
    uint32_t       number;
    uint64_t       serial;
    int64_t        value;
    ct_packet      packet;
} ct_packet_event;

/* `{0}` is empty, at time 0. */
typedef struct ct_packet_events {
    ct_packet_event *heap; /* owned */
    size_t           n, capacity;
    size_t           n_moving; /* that are no timers */
    uint64_t         serial;
    cs_ps            now; /* of the last one that was taken */
} ct_packet_events;

void ct_packet_put(ct_packet_events *q, cs_ps t, ct_packet_kind kind, uint32_t number,
                   int64_t value, const ct_packet *packet);

/* Let a port start what it can. */
void ct_packet_kick(ct_packet_events *q, cs_ps t, uint32_t link);

/* The first one; false: there is none. */
bool ct_packet_take(ct_packet_events *q, ct_packet_event *event);

void ct_packet_events_free(ct_packet_events *q);

#endif
