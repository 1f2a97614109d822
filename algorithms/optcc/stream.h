/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/optcc/stream.h -- OptCC's transfers, position by position.
 *
 * At position P it is the turn of node x = P mod H, and y is the next node. x sends its H - 1
 * trains to y, each a message of S1 of section j1 and S4 of section j4 = j1 - (H - 1); then every
 * slow server gets the final of section P from x (S2) and sends its contribution to section P + H +
 * 1 to y (S3). Port orders are the order of the stream.
 *
 * With g GPUs a server, GPU c of every server runs the same schedule on part c of the buffer over
 * its own NIC; before a server first uses a section its GPUs send their contributions to the
 * leader over NVLink (collect), and a final that arrives at the leader goes back out the same way
 * (distribute).
 *
 * `copies` Q > 1: the buffer is split in Q parts, each with a schedule of its own, Q times
 * interleaved and shifted against each other: hides a latency that holds no port.
 *
 * O(1) per transfer; state O(m + H + Q).
 *
 * Source: OptCC; this construction is the project's (sim/doc/optcc.md).
 */
#ifndef CS_ALGORITHMS_OPTCC_STREAM_H
#define CS_ALGORITHMS_OPTCC_STREAM_H

#include "algorithms/optcc/shape.h"
#include "cs/schedule.h"

enum { CS_OPTCC_MAX_COPIES = 16 };

/* Where one copy stands. */
typedef struct cs_optcc_cursor {
    int64_t  position;
    uint32_t step; /* of the position: H - 1 trains, the owned section, m slow servers */
    uint32_t item; /* of the step */
} cs_optcc_cursor;

typedef struct cs_optcc_stream {
    const cs_cluster *cluster;
    cs_optcc_shape    shape; /* of one copy and one cycle */
    uint64_t          bytes;
    uint32_t          gpus;    /* g */
    uint32_t          copies;  /* Q */
    const uint32_t   *slow;    /* [m] slow servers, ascending; borrowed */
    const uint32_t   *healthy; /* [H] servers of the nodes; borrowed */
    /* Kept by cs_optcc_begin(): the parts of the buffer and, where all chunks weigh the same, the
     * chunks of a part; the first ones are a byte larger. */
    uint64_t share, chunk_bytes, larger_chunks, chunk_bytes_of_larger, larger_chunks_of_larger;
    uint32_t larger_shares;
    bool     is_even;   /* all chunks weigh the same */
    bool     is_simple; /* ... and there is one part */
    cs_optcc_cursor  at[CS_OPTCC_MAX_COPIES];
    cs_optcc_cursor *now; /* the copy that is being served */
    uint32_t         copy;
    uint32_t         round;
} cs_optcc_stream;

/* Slots per rank and chunks in all of such a stream; rounds: its positions. */
uint32_t cs_optcc_slots(const cs_optcc_shape *shape, uint32_t copies);
uint32_t cs_optcc_chunks(const cs_optcc_shape *shape, uint32_t gpus, uint32_t copies);
uint32_t cs_optcc_positions(const cs_optcc_shape *shape, uint32_t copies);

/* Set all but the cursors, then call this. */
void cs_optcc_begin(cs_optcc_stream *stream);

/* Fill the block behind `block->count`; adds nothing at the end. */
void cs_optcc_next(cs_optcc_stream *stream, cs_block *block);

#endif
