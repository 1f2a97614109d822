/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stored.h -- a schedule that is kept in memory, streamed like an algorithm.
 *
 * Transfers are added in stream order; cs_stored_finish() then works out what the stream needs.
 * In the usual, in-place form the slot of a chunk is the chunk itself, every rank begins with
 * its own contributions in place, and a rank is done with a chunk that it is owed after the last
 * transfer that writes it there. A schedule that keeps chunks elsewhere on their way gives the
 * slots and CS_OWN_*, CS_DONE_* flags itself (`has_slots`).
 * Memory: 32 bytes per transfer, one bit per rank and chunk while finishing.
 */
#ifndef CS_ALGORITHMS_STORED_H
#define CS_ALGORITHMS_STORED_H

#include "cs/recording.h"

/* Set the first group of fields, add the transfers, finish. */
typedef struct cs_stored {
    cs_collective collective;
    uint32_t      root, n_ranks, n_chunks, gpus_per_server;
    cs_uneven     uneven;      /* of cs_stored_set_gpus(); owned. Without servers: all are alike */
    uint32_t      sockets;     /* of a server; 0 or 1: one */
    bool          any_servers; /* not said: a transfer takes whatever joins its ranks */
    uint64_t      bytes;       /* 0: not said */
    bool          has_slots;   /* slots and flags were given with the transfers */
    bool          starts_own;  /* ... and slot c of every rank begins with its chunk c */
    uint32_t      n_slots;     /* ... and there are so many */
    char          name[64];    /* of the algorithm that made it; may be empty */

    cs_recording recording;   /* owned */
    uint32_t     n_parts;     /* of the last message */
    bool         is_scalable; /* every message is its chunks' share of `bytes` */
    cs_plan      plan;        /* filled by cs_stored_finish() */
} cs_stored;

/* The options of cs_algorithm_stored. */
typedef struct cs_stored_options {
    const cs_stored *schedule; /* borrowed */
} cs_stored_options;

/* Not in the list of algorithms: it needs a schedule. It runs with any number of bytes if the
 * schedule is scalable, else with its own; ranks, collective and root must be its own. */
extern const cs_algorithm cs_algorithm_stored;

/* A schedule without transfers; NULL when out of memory. */
cs_stored *cs_stored_new(void);
void       cs_stored_free(cs_stored *stored);

/* Give it servers with so many GPUs each (>= 1), in place of gpus_per_server. Refuses numbers that
 * are not n_ranks together, CS_EINVAL; CS_ENOMEM. O(ranks). */
cs_status cs_stored_set_gpus(cs_stored *stored, const uint32_t *gpus, uint32_t n_servers,
                             cs_error *err);

/* The servers that it was made for, without rates. Borrows from it. */
cs_cluster cs_stored_cluster(const cs_stored *stored);

/* Refuse numbers of ranks and chunks that do not fit the collective or the limits. Call it
 * before the first transfer. */
cs_status cs_stored_check(const cs_stored *stored, cs_error *err);

/* Add a transfer whose ranks, chunks, op, fabric, bytes and round are set (and slots and flags,
 * with has_slots). Refused: what is out of range, src = dst, a round below the one before,
 * NVLink between servers. CS_FENCE and CS_SHARED may be set; `fence` goes with CS_FENCE. */
cs_status cs_stored_add(cs_stored *stored, const cs_transfer *transfer, const cs_fence *fence,
                        cs_error *err);

/* Compute flags and plan. Refused: a message some of whose chunks are final and some are not.
 * `bad_p` is the index of the transfer to blame then. O(transfers x span). */
cs_status cs_stored_finish(cs_stored *stored, size_t *bad_p, cs_error *err);

/* The bytes of a transfer for a size of `bytes` (cs_chunk_bytes); none of a repeat. */
uint64_t cs_stored_share(const cs_stored *stored, uint64_t bytes, const cs_transfer *transfer);

#endif
