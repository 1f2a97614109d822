/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/r2ccl/time.h -- how R2CCL splits the buffer, and what that takes.
 *
 * m of p servers are gone around, the slowest by l. Every one of the g GPUs of a server does the
 * same with 1 / g of the buffer. The bytes n / l go around the ring of all servers (2 (p-1) steps);
 * the rest, in k pieces, is added along the line of the other servers beside the ring and then
 * gets the contributions of the m. The line carries the pieces in groups, one a step, p + 1 at
 * most: as many as the ring's steps have room for. Pieces are shared out among the owners, which
 * are the last servers of the line.
 */
#ifndef CS_ALGORITHMS_R2CCL_TIME_H
#define CS_ALGORITHMS_R2CCL_TIME_H

#include "cs/schedule.h"

typedef struct cs_r2ccl_setting {
    uint32_t p;               /* servers; >= 3 */
    uint32_t m;               /* ... that are gone around; 1 <= m <= p - 2 */
    uint32_t gpus;            /* g of a server */
    uint64_t bytes;           /* of the buffer */
    double   slowdown;        /* l of the slowest NICs; >= 1 */
    double   sum_slowdown;    /* of the m servers */
    double   other_slowdown;  /* the largest one of the others; 1 where all of them are healthy */
    double   chain_slowdowns; /* sum over the hops of the line of each hop's slowdown */
    double   alpha_s, s_per_byte;
    double   nvlink_alpha_s, nvlink_s_per_byte; /* for gpus > 1 */
    uint32_t nvlink_lanes; /* messages that a GPU sends at once: 1, or one to each other GPU */
} cs_r2ccl_setting;

typedef struct cs_r2ccl_shape {
    uint32_t p, m, gpus;
    uint32_t pieces;     /* k, of each GPU's part; >= owners */
    uint32_t owners;     /* K: the last K servers of the line add up a part of the pieces each */
    uint32_t groups;     /* of pieces that travel along the line as one message; K divides it */
    uint64_t ring_bytes; /* around the ring, of all GPUs */
    uint64_t rest_bytes; /* ... and what is not */
} cs_r2ccl_shape;

/* Slots: of the ring's chunks, and of what nobody reads again; then of what passes, which are some
 * more for the servers of the line if there are several owners, and for four groups; then one for
 * every piece, which owners and slow servers use. */
enum { CS_R2CCL_RING_SLOTS = 3, CS_R2CCL_UNREAD = 3, CS_R2CCL_PASSING = 4, CS_R2CCL_WINDOW = 4 };
uint32_t cs_r2ccl_passing_slots(const cs_r2ccl_shape *shape);
uint32_t cs_r2ccl_group_slots(const cs_r2ccl_shape *shape);
uint32_t cs_r2ccl_slots(const cs_r2ccl_shape *shape);

/* The largest number of pieces: each has a slot. */
#define CS_R2CCL_MAX_PIECES (CS_MAX_SLOTS - 12)

/* The most owners around m of p servers: all of the line but its first, whose port receives nothing
 * beside the ring; one where there is one slow server, or a line of two. */
uint32_t cs_r2ccl_most_owners(uint32_t p, uint32_t m);

/* Owners are at most so many, and `pieces`. */
cs_r2ccl_shape cs_r2ccl_shape_of(const cs_r2ccl_setting *setting, uint32_t pieces, uint32_t owners);

/* First piece of a group, or of an owner; of the one behind the last: k. The first owners have one
 * piece more where K does not divide k. */
uint32_t cs_r2ccl_first_piece(const cs_r2ccl_shape *shape, uint32_t group);
uint32_t cs_r2ccl_first_owned(const cs_r2ccl_shape *shape, uint32_t owner);

/* Pieces of the largest group. */
uint32_t cs_r2ccl_largest_group(const cs_r2ccl_shape *shape);

/* Predicted time in seconds on alpha-beta. O(1). Around one server with healthy others: exact up to
 * the rounding of bytes where neither the ring nor the pieces wait for the chain or for NVLink
 * (`*is_exact_p`, which may be NULL: and without any rounding), within 2 % where the ring waits for
 * the chain. Otherwise a guide, within a factor of CS_R2CCL_WITHIN. */
double cs_r2ccl_predict_s(const cs_r2ccl_setting *setting, const cs_r2ccl_shape *shape,
                          bool *is_exact_p);

/* The plain ring on the same cluster. */
double cs_r2ccl_ring_s(const cs_r2ccl_setting *setting);

/* The number of pieces and owners with the smallest prediction, among numbers of pieces 1/16 apart;
 * the least such. Either may be fixed: CS_AUTO where it is not. */
cs_r2ccl_shape cs_r2ccl_choose(const cs_r2ccl_setting *setting, uint32_t pieces, uint32_t owners);

#endif
