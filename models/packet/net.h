/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/net.h -- what packet simulators are given: links in whole picoseconds and bits per
 * second, and messages with their ways.
 *
 * A *link* is one direction: an output port with a first-in, first-out queue at its sending end, a
 * rate and a delay. Links have the numbers of models/lib/links.h: sending ports, receiving ports,
 * inner links of the topology. A *way* is the links of a packet in their order: the sending port,
 * the inner links, the receiving port (a fabric with a link for every pair has the sending port
 * alone). The rules of simulation are in sim/doc/packet.md.
 */
#ifndef CS_MODELS_PACKET_NET_H
#define CS_MODELS_PACKET_NET_H

#include "base/event_queue.h"
#include "models/lib/links.h"

/* Picoseconds after the first arrival. */
typedef int64_t cs_ps;

#define CS_PS_NEVER INT64_MAX

/* Ends a way. */
#define CS_NO_LINK UINT32_MAX

enum { CS_MAX_PACKET_BYTES = 1 << 20, CS_PAUSE_FRAME_BYTES = 64 };

/* From `time` on packets that start have this rate. */
typedef struct cs_packet_change {
    cs_ps   time;
    int64_t bps;
} cs_packet_change;

typedef struct cs_packet_link {
    int64_t                 bps;               /* at first */
    int64_t                 low_bps, high_bps; /* the least and the most that it ever has */
    cs_ps                   delay;             /* between the two ends */
    const cs_packet_change *changes;           /* [n_changes], by time */
    uint32_t                n_changes;
    bool                    is_last;   /* of every way that it is on: what leaves it is delivered */
    int64_t                 xoff, xon; /* bytes, of lossless queues */
} cs_packet_link;

typedef struct cs_packet_net {
    uint32_t        n_links;
    uint32_t        n_senders;         /* links 0 to n_senders - 1 are sending ports */
    cs_packet_link *links;             /* owned */
    uint32_t        max_way;           /* links of the longest way */
    uint32_t        max_paths;         /* ways that a message can have: 1, but for spraying */
    int64_t         cut_through_bytes; /* 0: packets are stored and forwarded */
    bool            is_lossless;
    int64_t         headroom_bytes; /* beyond a link's xoff, of lossless queues */
    int64_t         queue_bytes;    /* beyond which a queue drops packets; 0: never */
    uint64_t        seed;
    bool            trains; /* packets in a row are served as one */
    cs_ps window; /* what starts to leave a port at t, a pause frame too, is nowhere before
                     t + window */
    cs_packet_change *changes; /* owned: of all links */
} cs_packet_net;

/* A message that is handed over to its sending port. */
typedef struct cs_packet_message {
    uint64_t key;    /* orders the ends of one picosecond */
    uint32_t number; /* small, nobody else's until the message's end has been taken */
    int64_t  bytes;
    int64_t mtu, header; /* bytes: of a full packet's payload, of what every packet has beside it */
    cs_ps   ready;       /* not before that; never before the ready of one that the same port was
                            handed before */
    uint32_t n_paths;    /* packet i takes way (first_path + i) mod n_paths */
    uint32_t first_path;
    const uint32_t
        *ways; /* [n_paths][max_way + 1], each ended by CS_NO_LINK; borrowed for the call */
} cs_packet_message;

/* How long `bytes` <= CS_MAX_PACKET_BYTES take at a rate, to the nearest picosecond. */
static inline cs_ps cs_packet_ps(int64_t bps, int64_t bytes)
{
    return (bytes * 8000000000000 + bps / 2) / bps;
}

/* The packets of a message, at least one; and the bytes of the last one on the wire. */
static inline int64_t cs_packet_count(int64_t bytes, int64_t mtu)
{
    return bytes <= 0 ? 1 : (bytes + mtu - 1) / mtu;
}

static inline int64_t cs_packet_last_bytes(int64_t bytes, int64_t mtu, int64_t header)
{
    return header + bytes - (cs_packet_count(bytes, mtu) - 1) * mtu;
}

/* A hash of numbers that seeded choices are made of. */
static inline uint64_t cs_packet_hash(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* low_bps and high_bps of every link, and the window, for packets of at least `least_bytes` on the
 * wire; call it when all else is filled in. O(links + changes). */
void cs_packet_net_finish(cs_packet_net *net, int64_t least_bytes);

/* Free what the net owns. */
void cs_packet_net_free(cs_packet_net *net);

#endif
