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

/* A link's end that is at no rank. */
#define CS_NO_RANK UINT32_MAX

enum { CS_MAX_PACKET_BYTES = 1 << 20, CS_PAUSE_FRAME_BYTES = 64 };

/* No window of time is longer, whatever the delays. */
#define CS_LONGEST_WINDOW ((cs_ps)1 << 31)

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
    uint32_t                from, to;  /* ranks, or CS_NO_RANK: a switch */
    int64_t                 xoff, xon; /* bytes, of lossless queues */
} cs_packet_link;

/* How packets that are lost are sent again. */
typedef enum cs_packet_recovery {
    CS_RECOVER_NONE,      /* not at all, and nobody acknowledges: a loss is an error at the end */
    CS_RECOVER_GBN,       /* go-back-N: the receiver takes packets in order only */
    CS_RECOVER_SELECTIVE, /* the receiver keeps what comes out of order */
} cs_packet_recovery;

/* How a sender's rate follows what switches mark (DCQCN); its rules are in dcqcn.h. */
typedef struct cs_packet_dcqcn {
    double  g;            /* gain of alpha */
    double  first_alpha;  /* at the first CNP */
    double  first_cnp;    /* what the first CNP leaves of the rate */
    double  least;        /* what one decrease leaves of the rate at least */
    cs_ps   cnp_interval; /* between two CNPs of a message */
    cs_ps   alpha_period;
    cs_ps   decrease_period;                   /* 0: every CNP decreases the rate at once */
    cs_ps   increase_period;                   /* of the timer */
    int64_t byte_counter;                      /* bytes; 0: the timer alone increases the rate */
    int64_t ai_bps, hai_bps;                   /* additive and hyper increase */
    int64_t min_bps;                           /* the rate is never below */
    int64_t fast_recovery;                     /* increases before the first additive one */
    bool    clamp_target, hai_grows, is_there; /* is_there: the rate is controlled at all */
} cs_packet_dcqcn;

/* What hosts do beside sending packets once; the rules are in transport.c. `{0}`: nothing. */
typedef struct cs_packet_transport {
    cs_packet_recovery recovery;
    int64_t            window;     /* packets of a message under way; 0: no limit */
    int64_t            ack_every;  /* packets; at most the window */
    cs_ps              rto;        /* retransmission timeout */
    double             error_rate; /* of a packet on a link */
    int64_t            kmin, kmax; /* bytes that wait, where marks begin and are certain; kmax 0:
                                      there are none */
    double  pmax;                  /* probability of a mark at kmax */
    int64_t ecn_bps;       /* kmin and kmax are those of a link of so much, others' grow with
                              their largest rate; 0: of every link */
    cs_packet_dcqcn dcqcn; /* with a recovery only */
} cs_packet_transport;

typedef struct cs_packet_counters cs_packet_counters; /* models/packet/counters.h */

typedef struct cs_packet_net {
    const cs_ports     *ports; /* they name the links; NULL: these have numbers only */
    uint32_t            n_links;
    uint32_t            n_senders;         /* links 0 to n_senders - 1 are sending ports */
    cs_packet_link     *links;             /* owned */
    uint32_t            max_way;           /* links of the longest way */
    uint32_t            max_paths;         /* ways that a message can have: 1, but for spraying */
    int64_t             cut_through_bytes; /* 0: packets are stored and forwarded */
    bool                is_lossless;
    int64_t             headroom_bytes; /* beyond a link's xoff, of lossless queues */
    int64_t             queue_bytes;    /* beyond which a queue drops packets; 0: never */
    cs_packet_transport transport;
    uint64_t            seed;
    bool                trains; /* packets in a row are served as one */
    cs_ps window; /* what starts to leave a port at t, a pause frame too, is nowhere before
                     t + window */
    cs_packet_counters *counters; /* that engines tell what happens on links; NULL: nobody asks */
    cs_packet_change   *changes;  /* owned: of all links */
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
    const uint32_t *back; /* a way of what is said in return, borrowed, too; NULL: none is known */
} cs_packet_message;

/* How long `bytes` <= CS_MAX_PACKET_BYTES take at a rate, to the nearest picosecond. */
static inline cs_ps cs_packet_ps(int64_t bps, int64_t bytes)
{
    return (bytes * 8000000000000 + bps / 2) / bps;
}

/* The packets of a message, at least one; and the bytes of the last one on the wire, at least one,
 * too: a packet that takes no time would be at two ports at once. */
static inline int64_t cs_packet_count(int64_t bytes, int64_t mtu)
{
    return bytes <= 0 ? 1 : (bytes + mtu - 1) / mtu;
}

static inline int64_t cs_packet_last_bytes(int64_t bytes, int64_t mtu, int64_t header)
{
    int64_t last = header + bytes - (cs_packet_count(bytes, mtu) - 1) * mtu;
    return last < 1 ? 1 : last;
}

/* A hash of numbers that seeded choices are made of. */
static inline uint64_t cs_packet_hash(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* What a draw decides. */
typedef enum cs_packet_fate { CS_FATE_MARK, CS_FATE_ERROR, CS_FATE_TIMEOUT } cs_packet_fate;

/* A number in [0, 1) for the packet with that number at a link: what is drawn does not depend on
 * what is drawn elsewhere. */
static inline double cs_packet_draw(uint64_t seed, cs_packet_fate fate, uint32_t link,
                                    uint64_t number)
{
    uint64_t stream = cs_packet_hash(cs_packet_hash(seed ^ (uint64_t)fate) ^ link);
    return (double)(cs_packet_hash(stream ^ number) >> 11) * 0x1p-53;
}

/* low_bps and high_bps of every link, and the window, for packets of at least `least_bytes` on the
 * wire; call it when all else is filled in. O(links + changes). */
void cs_packet_net_finish(cs_packet_net *net, int64_t least_bytes);

/* A link for people: "link 7", or what the ports call it. */
void cs_packet_link_text(const cs_packet_net *net, uint32_t link, char *text, size_t room);

/* What is wrong when so many bytes that came over a link wait, more than its headroom has room for.
 */
void cs_packet_headroom_text(const cs_packet_net *net, uint32_t link, int64_t ingress, char *text,
                             size_t room);

/* Free what the net owns. */
void cs_packet_net_free(cs_packet_net *net);

#endif
