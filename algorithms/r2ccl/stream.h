/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/r2ccl/stream.h -- R2CCL's transfers.
 *
 * z_1 .. z_m are the servers that are gone around, h_1 .. h_H the others, and the ring is z_1 ..
 * z_m h_1 .. h_H. GPU c of every server does the same with part c of the buffer over its own NIC.
 *
 * A. n / l of the buffer goes around the ring of all servers. The slowest NIC moves 1 / l of the
 * bytes at 1 / l of the rate, which takes as long as the whole buffer without a fault.
 *
 * B1. Beside it, in the time that the other ports have left, the rest is added up along the line
 * h_1, h_2, .. to its owner o, one of the last K of the line. Hop i sends group t - i at A's step
 * t: what a hop needs came one step before, and both fit in the time of a slow step. The line runs
 * this way because A keeps the receiving port of h_1 and the sending port of h_H busy from
 * beginning to end: they talk to z_1 and z_m. So h_H cannot pass on anything: what it has for other
 * owners comes in B2.
 *
 * B2. Piece by piece, the owners in turn: every z, and h_H unless it is the owner, sends its
 * contribution to o, which then has the total. That goes along the chain o, o - 1, .. h_1, h_{H-1}
 * .. and last to h_H, and from the last one before h_H to every z. A port carries every piece once
 * at full rate, a slow one once at its own; the contributions of the slow are shared out among the
 * owners, the finals among those that send them.
 *
 * Inside a server of g GPUs all contributions to something are added up at the GPU that sends it
 * (collect), before it receives over its NIC, and what arrives as final goes out to all others
 * (distribute): both in g - 1 turns, in which every GPU sends once and receives once.
 *
 * O(1) per transfer; no memory but the state.
 */
#ifndef CS_ALGORITHMS_R2CCL_STREAM_H
#define CS_ALGORITHMS_R2CCL_STREAM_H

#include "algorithms/r2ccl/time.h"

/* What a server, or one for another, does in all parts of the buffer. */
typedef struct cs_r2ccl_action {
    enum { CS_R2CCL_SEND, CS_R2CCL_COLLECT, CS_R2CCL_DISTRIBUTE } kind;
    uint32_t src, dst; /* numbers in the order of the ring; dst of SEND only */
    uint32_t first, count;
    bool     is_piece; /* else a chunk of the ring */
    uint32_t src_slot, dst_slot;
    uint32_t flags; /* of SEND */
    cs_op    op;    /* of SEND */
} cs_r2ccl_action;

typedef struct cs_r2ccl_stream {
    const cs_cluster *cluster;
    cs_r2ccl_shape    shape;
    const uint32_t   *servers;          /* [p] in the order of the ring; borrowed */
    uint32_t          passing, grouped; /* slots; kept by cs_r2ccl_begin() */
    int64_t           step;  /* of A, then of B2; -1 where contributions are only collected */
    uint32_t          entry; /* of the step */
    uint32_t          item;  /* of the action */
    bool              acts;  /* the action has not ended */
    cs_r2ccl_action   action;
} cs_r2ccl_stream;

cs_plan cs_r2ccl_plan(const cs_r2ccl_shape *shape);

/* Set the first three fields, then call this. */
void cs_r2ccl_begin(cs_r2ccl_stream *stream);

/* Fill the block behind `block->count`; adds nothing at the end. */
void cs_r2ccl_next(cs_r2ccl_stream *stream, cs_block *block);

#endif
