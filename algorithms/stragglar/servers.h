/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/servers.h -- StragglAR on N servers of L > 1 GPUs, of which some are late.
 *
 * K servers have late ranks, mostly one has one. roles.h says how servers and their GPUs are
 * labelled, and what a rail is: rail p carries the part p of the buffer, in C chunks. Early server
 * c mod E, E = N - K, owns chunk c.
 *
 * Pre-phase, without the late ranks, and without a NIC of their servers: the early servers add up
 * every chunk inside and pass it around a ring of servers, until its owner has the sum of them all;
 * of three servers with one late the two others exchange it, and both have it. In a late server the
 * early GPUs add up what they have.
 *
 * Main phase: all rails play the same rounds (rail.h) over the NICs: those of StragglAR for one
 * late rank, or, where several servers are late, for several (multi_late_rounds.h), with servers
 * for ranks. Beside round u a late server hands out inside what its late ranks contribute to the
 * chunk of round u + 1, and the final value that it got in round u - 1. The other servers hand out
 * what they have completed in round u. A late server does it in slots, in each of which every GPU
 * sends once and receives once, or little more:
 *
 *   chain   G = L, k late ranks. The early sum of a late rank's rail is made along a chain of the
 *           early mates, and its final values come back along it, a mate a phase: slot 0. In slot d
 *           = 1 .. L - 1, the shift by d, late ranks send their own, and all others the final
 *           values of their rails. L slots for k = 1, so that r sends and receives the buffer once
 *           only; L - 1 + k otherwise, in which ports may have to wait for each other.
 *   direct  any k, also the whole server, and any G. The early mates share the sums of late
 *           gateways' rails, chunk by chunk; in slot d everybody sends what is raw, then final
 *           values. 2 (L - 1) slots; with one late rank that uses no NIC, G or L - 1 if that is
 *           more.
 *   tree    one late rank, G = L, for small buffers: one chunk a rail, r's contributions go down a
 *           binomial tree over its mates, all rails play their rounds, and every server gathers
 *           over a circulant graph; what two GPUs have for each other at a time is one message. The
 *           pre-phase is that of chain.
 *
 * There are no barriers: everything starts as soon as its data and ports allow. What it takes is in
 * servers_time.h.
 *
 * Why it is right: on a rail the servers play rounds that are checked; a late server's contribution
 * is what its early GPUs have added up, plus its late ranks' own, all at the rail's gateway before
 * the round that needs it; all else is copying. Every GPU gets every final value once.
 *
 * Memory O(N log N + K (C + L)) beside the slots and, where several servers are late, their rounds.
 * A rank has (1 + k) C + 1 slots (k of the server with most late ranks, unless all of it is late):
 * chunk c of its own rail in slot c, of the j-th late gateway's rail in (1 + j) C + c, final values
 * that nobody passes on in the last one. The tree has a slot for each of its L chunks. O(1) per
 * transfer.
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_SERVERS_H
#define CS_ALGORITHMS_STRAGGLAR_SERVERS_H

#include "algorithms/stragglar/multi_late.h"

typedef enum cs_servers_form {
    CS_SERVERS_CHAIN,
    CS_SERVERS_DIRECT,
    CS_SERVERS_TREE,
    CS_SERVERS_FORMS /* how many there are */
} cs_servers_form;

/* Whom the schedule presumes late. */
typedef struct cs_servers_late {
    uint32_t rank; /* of one; of several unused: those that come last */
    uint32_t count;
    uint32_t servers;    /* K of them have a late rank */
    uint32_t most;       /* late ranks of a server */
    uint32_t most_mixed; /* of a server of which some GPU is early; 0: there is none */
    double   early_s;    /* the last of the others comes */
    double   last_s;     /* the last of them comes */
} cs_servers_late;

typedef struct cs_servers_shape {
    cs_servers_form form;
    cs_servers_late late;
    uint32_t        gateways; /* G: divides L; L unless the form is CS_SERVERS_DIRECT */
    uint32_t        chunks;   /* C of a rail: 1, or at least cs_rail_least_chunks(); where several
                                 servers are late, a multiple of the others */
    bool halves;              /* of three servers, one late: the pre-phase takes half as long, the
                                 main phase two rounds more (rail.h) */
} cs_servers_shape;

/* Several servers of several GPUs each? What the schedule is for. */
static inline bool cs_has_servers(const cs_cluster *cluster)
{
    return cluster->gpus_per_server > 1 && cluster->gpus_per_server < cluster->n_ranks;
}

/* Count late ranks: `rank` alone, or the `count` > 1 that come last (of those that come together
 * the highest). CS_ENOMEM. O(n log n). */
cs_status cs_servers_count_late(const cs_scenario *scenario, uint32_t rank, uint32_t count,
                                cs_servers_late *late_p, cs_error *err);

/* Messages of the schedule, an exchange being two: n (n G C) and those that make sums. */
double cs_servers_messages(const cs_cluster *cluster, const cs_servers_shape *shape);

/* The most chunks of a rail that a rank has slots for. */
uint32_t cs_servers_most_chunks(const cs_cluster *cluster, const cs_servers_late *late);

/* `rounds` is what servers play where several are late, NULL where one is. O(C), or the number of
 * transfers of `rounds`. */
cs_status cs_servers_plan(const cs_scenario *scenario, const cs_servers_shape *shape,
                          const cs_multi_late_schedule *rounds, cs_plan *plan, cs_error *err);

/* A stream; borrows the scenario and the rounds. cs_servers_close() it (NULL is allowed), also
 * after a failure. */
typedef struct cs_servers cs_servers;

cs_status cs_servers_open(const cs_scenario *scenario, const cs_servers_shape *shape,
                          const cs_multi_late_schedule *rounds, cs_servers **stream_p,
                          cs_error *err);
void      cs_servers_next(cs_servers *stream, cs_block *block);
void      cs_servers_close(cs_servers *stream);

#endif
