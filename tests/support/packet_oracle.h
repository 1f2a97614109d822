/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/packet_oracle.h -- packets over links, as plain as can be: one event for everything
 * that happens to a packet at a port, in a binary heap. Written from the rules of
 * sim/doc/packet.md, apart from the engines of models/packet/; only models/packet/net.h is shared.
 *
 * Within one picosecond: transmissions end, rates change, pause frames act, ranks arrive, packets
 * arrive by the number of the link that they came over, ports start. Nothing else depends on
 * the order in which events were made.
 */
#ifndef CT_SUPPORT_PACKET_ORACLE_H
#define CT_SUPPORT_PACKET_ORACLE_H

#include "cs/counters.h"
#include "models/packet/engine.h"

enum { CT_MOST_PACKET_PATHS = 8 };

/* A message of a schedule. A port sends its messages in the order of their numbers; it is handed
 * one when it was handed the one before, its rank is there and all that the message waits for have
 * ended. */
typedef struct ct_packet_send {
    int64_t  bytes, mtu, header;
    cs_ps    startup; /* from the hand-over until it is ready; one for all of a port */
    uint32_t n_paths, first_path;
    size_t   ways;  /* where its ways begin in the pool: [n_paths][max_way + 1] */
    size_t   after; /* where the numbers of those that it waits for begin in the pool: */
    uint32_t n_after;
} ct_packet_send;

typedef struct ct_packet_schedule {
    ct_packet_send *sends; /* all owned */
    size_t          n_sends;
    uint32_t       *ways;  /* the pool */
    uint32_t       *after; /* the pool; only numbers of earlier messages */
    cs_ps          *late;  /* [n_senders]: when the rank of a sending port is there */
} ct_packet_schedule;

/* The sending port of a message. */
static inline uint32_t ct_packet_port(const ct_packet_schedule *s, size_t send)
{
    return s->ways[s->sends[send].ways];
}

/* The first message of a sending port from a number on; n_sends: there is none. */
static inline uint32_t ct_packet_next(const ct_packet_schedule *s, uint32_t port, uint32_t from)
{
    while (from < s->n_sends && ct_packet_port(s, from) != port) {
        from++;
    }
    return from;
}

/* Of ends of messages, where CS_PS_NEVER is none. Has all that a message waits for ended? */
static inline bool ct_packet_waits_no_more(const ct_packet_schedule *s, size_t send,
                                           const cs_ps *end)
{
    uint32_t k = 0;

    while (k < s->sends[send].n_after && end[s->after[s->sends[send].after + k]] != CS_PS_NEVER) {
        k++;
    }
    return k == s->sends[send].n_after;
}

/* The last one; 0: there is none. */
static inline cs_ps ct_packet_last_end(const ct_packet_schedule *s, const cs_ps *end)
{
    cs_ps last = 0;

    for (size_t i = 0; i < s->n_sends; i++) {
        last = end[i] != CS_PS_NEVER && end[i] > last ? end[i] : last;
    }
    return last;
}

typedef struct ct_packet_answer {
    cs_ps           *start, *end; /* owned [n_sends]; CS_PS_NEVER: it has not */
    size_t           n_missing;   /* messages without an end */
    cs_packet_totals totals;
    cs_link_counts  *links;      /* owned [n_links]; times in picoseconds */
    uint32_t         overflowed; /* the link whose headroom was exceeded, which stops everything */
    bool *waits; /* owned [n_links][n_links], where messages are missing in lossless queues: the
                    first, a paused port, waits for the second, another */
} ct_packet_answer;

/* Free it with ct_packet_answer_free(). */
ct_packet_answer ct_packet_oracle(const cs_packet_net *net, const ct_packet_schedule *schedule);
void             ct_packet_answer_free(ct_packet_answer *answer);

#endif
