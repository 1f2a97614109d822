/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/packet_world.h -- networks of links and schedules of messages for simulators of
 * packets: out of a setting that a test fills in, or out of a seed.
 *
 * Every rank has a port to switches; where `server` is above 1, so many ranks after each other
 * have ports of a second fabric, of other packets, for what they send to each other. Links:
 * sending ports of the switched fabric by rank, those of the second one, receiving ports in the
 * same order, links between switches.
 */
#ifndef CT_SUPPORT_PACKET_WORLD_H
#define CT_SUPPORT_PACKET_WORLD_H

#include "support/packet_oracle.h"

typedef enum ct_packet_shape {
    CT_CROSSBAR,
    CT_LEAF_SPINE,  /* n_switches leaves, n_spines */
    CT_SWITCH_RING, /* a switch a rank; routes go to the next one, clockwise */
    CT_SWITCH_GRAPH /* n_switches at random; paths at random, of up to 8 links */
} ct_packet_shape;

/* Rounds of: */
typedef enum ct_packet_pattern {
    CT_FAN_IN,    /* all others to rank 0, once */
    CT_RING,      /* what came from the rank before goes to the next one */
    CT_RHD,       /* to the partner of halving, or doubling, by powers of two */
    CT_ALL_PAIRS, /* to all others, oneself + 1 first; then again when all has come */
    CT_INCAST,    /* the same to all others, rank 0 first */
    CT_SHIFT,     /* to rank + round + 1 */
    CT_RANDOM     /* one message between random ranks, which waits for up to three earlier ones */
} ct_packet_pattern;

typedef enum ct_packet_routes { CT_STATIC, CT_HASHED, CT_SPRAYED } ct_packet_routes;

/* Of the ports of a fabric. */
typedef struct ct_packet_ports {
    int64_t bps, mtu, header;
    cs_ps   delay, startup;
} ct_packet_ports;

typedef struct ct_packet_setting {
    uint64_t            seed; /* of all that is drawn */
    ct_packet_shape     shape;
    uint32_t            n_ranks, n_switches, n_spines;
    uint32_t            server;    /* ranks that have the second fabric; 0: none */
    bool                is_direct; /* the second has a link for every pair; or else a crossbar */
    ct_packet_pattern   pattern;
    uint32_t            n_rounds;
    int64_t             bytes;    /* of a message; the most of CT_RHD and CT_RANDOM */
    ct_packet_ports     ports[2]; /* to switches, of the second fabric */
    int64_t             inner_bps;
    cs_ps               inner_delay;
    bool                is_uneven; /* links are slower at random, and a bit longer */
    ct_packet_routes    routes;
    uint32_t            n_paths;                /* of CT_SWITCH_GRAPH, between two ranks */
    cs_ps               late, late_step;        /* the most; all are multiples of the step */
    uint32_t            n_changes;              /* of rates of ports */
    cs_ps               change_by, change_step; /* the last; all are multiples of the step */
    int64_t             cut_through_bytes, queue_bytes, xoff, xon;
    cs_packet_transport transport;
} ct_packet_setting;

typedef struct ct_packet_world {
    ct_packet_setting  setting;
    cs_packet_net      net;
    ct_packet_schedule schedule;
} ct_packet_world;

/* A crossbar of n ranks: 400 Gb/s, 4096 bytes and 82 of headers, 500 ns of delay. */
ct_packet_setting ct_packet_plain(uint32_t n_ranks, ct_packet_pattern pattern, int64_t bytes);

/* Three switches in a ring, routes clockwise, 100 Gb/s: lossless queues whose ports wait for each
 * other, links 6, 7 and 8. */
ct_packet_setting ct_packet_deadlock(void);

/* Some thousand packets at most. */
typedef enum ct_packet_queues {
    CT_UNLIMITED,
    CT_LOSSLESS,
    CT_LOSSY,
    CT_TRANSPORTED, /* over any of them */
    CT_CONGESTED /* the same: many to one, for as long as DCQCN takes to slow down and speed up */
} ct_packet_queues;
ct_packet_setting ct_packet_random(uint64_t seed, ct_packet_queues queues);

/* Seeds of a test that tries n of them: COLLSIM_PACKET_CASES=N is another n for all tests,
 * COLLSIM_PACKET_SEED=S the first seed, so that with N = 1 one is tried again. */
typedef struct ct_packet_seeds {
    uint64_t first, n;
} ct_packet_seeds;
ct_packet_seeds ct_packet_seeds_of(uint64_t n);

/* Free it with ct_packet_world_free(). */
ct_packet_world ct_packet_world_of(const ct_packet_setting *setting);
void            ct_packet_world_free(ct_packet_world *world);

/* One line about a setting; in a buffer of its own until the next call. */
const char *ct_packet_text(const ct_packet_setting *setting);

#endif
