/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/rotation_stream.h -- the steady state of the rotational schedule as
 * transfers.
 *
 * C rounds; in round r the late rank and the owner of chunk r exchange it, and every other role
 * receives what rotation.h says. An iterator: O(N) memory, O(1) per transfer.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_ROTATION_STREAM_H
#define CS_ALGORITHMS_STRAGGLAR_ROTATION_STREAM_H

#include "algorithms/stragglar/late_layout.h"
#include "algorithms/stragglar/rotation.h"

enum { CS_ROTATION_MOST_DEPTH = 20 }; /* D + 1 <= 18 for 65536 ranks */

/* One role, packed for the inner loop. */
typedef struct cs_rotation_role {
    uint32_t from; /* role that it receives from */
    uint32_t back; /* twice the age of what it receives, less one where the sender is the owner */
} cs_rotation_role;

/* A chunk in work, as it stands in a transfer between two ranks that do not own it, or from its
 * owner. */
typedef struct cs_rotation_chunk {
    uint32_t id, slots;
    uint64_t bytes;
} cs_rotation_chunk;

typedef struct cs_rotation_stream {
    const cs_late_layout *layout; /* borrowed, with its tables; depth is D + 1 */
    double                barrier_s;
    uint32_t              first_round;        /* of the stream, for round 0 of the steady state */
    uint32_t              round, owner, turn; /* r, r mod N, r mod depth */
    uint32_t              next_role;
    cs_rotation_role     *roles; /* [N] */
    /* Chunk c, twice (from others, from its owner), at c mod depth and depth further on, so that
     * the chunk of age a is found without a division at 2 (r mod depth + depth - a). */
    cs_rotation_chunk chunks[4 * CS_ROTATION_MOST_DEPTH];
} cs_rotation_stream;

/* Slots that recycle: a chunk is spread within D = q + 1 rounds. */
uint32_t cs_rotation_depth(uint32_t n);

/* The barrier of all ranks stands before the first transfer. The roles are the arena's. */
cs_status cs_rotation_stream_start(cs_rotation_stream *stream, const cs_late_layout *layout,
                                   const cs_rotation *rotation, uint32_t first_round,
                                   double barrier_s, cs_arena *arena, cs_error *err);

/* Fill the empty block; false when all C rounds are done. */
bool cs_rotation_stream_next(cs_rotation_stream *stream, cs_block *block);

/* Give transfers whose fabric is not known the fabric of their ends. */
void cs_late_add_fabrics(const cs_cluster *cluster, cs_transfer *transfers, size_t count);

#endif
