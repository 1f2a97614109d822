/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/rail_rings.h -- one ring per local rank over the servers, and what the servers
 * exchange inside while the rings turn.
 *
 * N servers of L ranks; rank k L + p is local rank p of server k. Ring p joins the local ranks p of
 * all servers. Collecting (AllGather): in step i the rank (k, p) sends the block of (k - i, p) to
 * (k + 1, p); what has come over the network is handed to the other local ranks while the
 * rings turn on. Handing out (ReduceScatter) is the same in reversed time: before ring p
 * passes on the partial sum of block (b, p), the local ranks add theirs.
 *
 * Inside a server, from the rank (k, p) that has a block to all others:
 *   mesh     one transfer to every other local rank.
 *   sockets  L even, the first half of the local ranks on one socket: to the others of the socket
 *            (mates), and once across to next(p), which hands it to its own mates, so that every
 *            block crosses between the sockets once. next() is a bijection that alternates
 *            between the sockets: 0 -> q -> 1 -> q + 1 -> .. -> 0 with q = L / 2.
 *
 * A *stage* is one kind of transfer for all ranks and all segments. The stages stand in an order in
 * which every port serves them without waiting for a later ring step. A block is cut in `segments`
 * chunks. An iterator: O(1) state, O(1) per transfer, no allocation.
 *
 * Source: Parallel Rings (multi-HCA AllGather); its listing for two sockets leaves out the last
 * exchange, which is done here; ReduceScatter and AllReduce are this project's.
 */
#ifndef CS_ALGORITHMS_LIB_RAIL_RINGS_H
#define CS_ALGORITHMS_LIB_RAIL_RINGS_H

#include "cs/schedule.h"

typedef enum cs_rail_exchange { CS_RAIL_MESH, CS_RAIL_SOCKETS } cs_rail_exchange;

/* Set the first group, the rest to zero. */
typedef struct cs_rail_rings {
    const cs_cluster *cluster;
    cs_rail_exchange  exchange;
    uint32_t          segments; /* chunks per block, >= 1 */
    uint64_t          bytes;    /* of all blocks together, split in blocks, then in chunks */
    bool              hands_out, collects; /* ReduceScatter, AllGather; both: AllReduce */

    bool     in_second_half; /* collecting after handing out */
    bool     is_over;
    uint32_t round;                  /* passes so far in which somebody sent */
    uint32_t pass, stage;            /* body and place in it */
    uint32_t segment, server, local; /* the next sender (collecting) or receiver (handing out) */
    uint32_t turn;                   /* its next partner */
} cs_rail_rings;

/* Slots and rounds that the stream needs. O(1) and O(N). */
uint32_t cs_rail_slots(const cs_rail_rings *rings);
uint32_t cs_rail_rounds(const cs_rail_rings *rings);

/* Fill the block; count = 0 at the end. */
void cs_rail_next(cs_rail_rings *rings, cs_block *block);

/* The rank across the sockets that gets what local rank p has, and the one it gets from. */
uint32_t cs_rail_across(uint32_t p, uint32_t n_locals);
uint32_t cs_rail_across_from(uint32_t p, uint32_t n_locals);

#endif
