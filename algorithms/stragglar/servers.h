/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/servers.h -- StragglAR on N servers of L > 1 GPUs, one of which is late.
 *
 * Server s has the late rank r. Its label is N - 1, the others are 0 .. M - 1, M = N - 1. Local
 * label p of a GPU is its number in the server less that of r, mod L, on all servers, so that p is
 * a rail: rail p carries the part p of the buffer, in C chunks. Server c mod M owns chunk c.
 *
 * Pre-phase, without r, and without a NIC of server s: the other servers add up every chunk inside
 * and pass it around a ring of servers, until its owner has the sum of them all; of three servers
 * two exchange it, and both have it. The mates of r add up the parts of rails 1 .. L - 1 among
 * themselves, that of rail 0 along a chain 1 -> 2 -> .. -> L - 1.
 *
 * Main phase: all rails play the same rounds (rail.h) over the NICs. Beside round u, server s uses
 * its NVLink for L slots, in each of which every GPU sends once and receives once at most: slot 0
 * is the shift 0 -> 1 -> .. -> L - 1 -> 0, on which rail 0's final values go from mate to mate, one
 * a phase, and r gets its mates' sum for round u + 1; in slot k, the shift by k, r hands out its
 * own contribution for round u + 1, and the mates hand out the final values of round u - 1. So r
 * sends and receives the buffer once. The other servers hand out what they have completed in round
 * u.
 *
 * For small buffers there is the tree: one chunk a rail, r's contributions go down a binomial tree
 * over its mates, all rails play their rounds, and every server gathers over a circulant graph;
 * what two GPUs have for each other at a time is one message. The pre-phase is the same.
 *
 * There are no barriers: everything starts as soon as its data and ports allow. With step and slot
 * for what a chunk takes over a NIC and over NVLink, and q = ceil(log2 N), the replay takes after
 * the arrival of r at most what servers_time.h says.
 *
 * Why it is right: on a rail the servers play StragglAR, which is checked; the late server's
 * contribution is what r's mates have added up, plus r's own, which reaches the rail's GPU before
 * the round that needs it; all else is copying. Every GPU gets every final value once.
 *
 * Memory O(N log N + L) beside the slots, of which every rank has 2 C + 1: chunk c of its own rail
 * in slot c, of rail 0 (on server s) in slot C + c, final values that nobody passes on in 2 C. The
 * tree has a slot for each of its L chunks. O(1) per transfer.
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_SERVERS_H
#define CS_ALGORITHMS_STRAGGLAR_SERVERS_H

#include "cs/algorithm.h"

typedef struct cs_servers_shape {
    uint32_t late;    /* r */
    uint32_t chunks;  /* C of a rail: 1, or at least cs_rail_least_chunks() */
    bool     is_tree; /* C = 1 */
    bool halves; /* of three servers: the pre-phase takes half as long, the main phase two rounds
                    more (rail.h) */
} cs_servers_shape;

/* Several servers of several GPUs each? What the schedule is for. */
static inline bool cs_has_servers(const cs_cluster *cluster)
{
    return cluster->gpus_per_server > 1 && cluster->gpus_per_server < cluster->n_ranks;
}

/* Messages of the schedule, an exchange being two: n (n L C) and those that make sums. */
double cs_servers_messages(const cs_cluster *cluster, uint32_t chunks);

/* The most chunks that a rank has slots for. */
uint32_t cs_servers_most_chunks(const cs_cluster *cluster);

cs_plan cs_servers_plan(const cs_scenario *scenario, const cs_servers_shape *shape);

/* A stream; borrows the scenario. cs_servers_close() it (NULL is allowed), also after a failure. */
typedef struct cs_servers cs_servers;

cs_status cs_servers_open(const cs_scenario *scenario, const cs_servers_shape *shape,
                          cs_servers **stream_p, cs_error *err);
void      cs_servers_next(cs_servers *stream, cs_block *block);
void      cs_servers_close(cs_servers *stream);

#endif
