/* SPDX-License-Identifier: GPL-2.0-or-later */
/* models/ns3/protocol.h -- what the model `ns3` and its child process, collsim-ns3, put into the
 * frames of models/lib/frames.h:
 *
 *   OPEN    cs_talk_opening, cs_ns3_open, cs_ns3_link[], cs_ns3_change[]
 *   WORK    messages: cs_ns3_message, its ways (uint32_t), the next message, ..
 *   RUN     cs_ns3_run
 *   EVENT   cs_ns3_event, then the messages that ended (uint32_t)
 *
 * A way is the numbers of its links and CS_NS3_END. Times are picoseconds from the first arrival,
 * and never negative.
 */
#ifndef CS_MODELS_NS3_PROTOCOL_H
#define CS_MODELS_NS3_PROTOCOL_H

#include "models/lib/frames.h"

#define CS_NS3_END    UINT32_MAX /* of a way */
#define CS_NS3_SWITCH UINT32_MAX /* at this end of a link */

enum {
    CS_NS3_VERSION          = 1,
    CS_NS3_MAX_MESSAGES     = 1 << 23, /* their numbers are smaller */
    CS_NS3_MAX_LINKS        = 1 << 24, /* there are addresses for */
    CS_NS3_MAX_PACKET_BYTES = 1 << 20,
    CS_NS3_PPP_BYTES        = 2,    /* of a packet's header, at least */
    CS_NS3_UDP_BYTES        = 30,   /* with those of IPv4 and UDP */
    CS_NS3_MAX_STACK_BYTES  = 65000 /* of a packet with such headers */
};

typedef enum cs_ns3_mode { CS_NS3_RAW, CS_NS3_UDP, CS_NS3_TCP } cs_ns3_mode;

typedef struct cs_ns3_open {
    uint32_t version, mode;
    uint32_t n_links, n_changes, n_hosts, zero;
    int64_t  queue_bytes; /* of a link that leaves a switch; 0: no limit */
    int64_t  mark_bytes;  /* TCP: queues that are longer mark what comes to them; 0: none does */
} cs_ns3_open;

/* One direction: an output queue, a rate and a delay. */
typedef struct cs_ns3_link {
    int64_t  bps, delay_ps;
    uint32_t from, to; /* host or CS_NS3_SWITCH */
} cs_ns3_link;

/* From time_ps on, packets that start have this rate. */
typedef struct cs_ns3_change {
    int64_t  time_ps, bps;
    uint32_t link, zero;
} cs_ns3_change;

/* Packets of mtu bytes and a header each are ready at begin_ps; packet i takes way (first_path + i)
 * mod n_paths. n_links: numbers of all ways, with their ends. TCP has one way, and behind it that
 * of the acknowledgements. The number is free again when the message has ended. */
typedef struct cs_ns3_message {
    int64_t  begin_ps, bytes;
    uint32_t mtu, header;
    uint32_t number, n_paths, first_path, n_links;
} cs_ns3_message;

/* Let the time pass until a message ends, or to horizon_ps. */
typedef struct cs_ns3_run {
    int64_t horizon_ps;
} cs_ns3_run;

/* That is now; n_ended messages end. */
typedef struct cs_ns3_event {
    int64_t  now_ps;
    uint64_t packets, drops;
    uint64_t worst_drops; /* at the link that dropped most */
    uint32_t worst_link;
    uint32_t n_lost; /* messages that never end */
    uint32_t n_ended;
    uint32_t is_idle; /* nothing is under way */
} cs_ns3_event;

#endif
