/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/r2ccl/time.h -- how R2CCL splits the buffer and what that takes, in O(1).
 *
 * One NIC is slow by l. The bytes n / l go around the ring of all p ranks (2(p-1) steps); the rest,
 * in k pieces, is added along the chain of the other ranks beside the ring, then crosses the slow
 * NIC once each way. The chain carries the pieces in groups, one a step, p + 1 at most: as many as
 * the ring's steps have room for.
 */
#ifndef CS_ALGORITHMS_R2CCL_TIME_H
#define CS_ALGORITHMS_R2CCL_TIME_H

#include "cs/schedule.h"

typedef struct cs_r2ccl_setting {
    uint32_t p;               /* ranks, one per server; >= 3 */
    uint64_t bytes;           /* of the buffer */
    double   slowdown;        /* l of the slowest NIC; >= 1 */
    double   other_slowdown;  /* ... of the second slowest; 1 where all others are healthy */
    double   chain_slowdowns; /* sum over the p - 2 hops of the chain of each hop's slowdown */
    double   alpha_s, s_per_byte;
} cs_r2ccl_setting;

typedef struct cs_r2ccl_shape {
    uint32_t p;
    uint32_t pieces;
    uint32_t groups;     /* of pieces that travel along the chain as one message; <= pieces */
    uint64_t ring_bytes; /* around the ring */
    uint64_t rest_bytes; /* over the slow NIC at the end */
} cs_r2ccl_shape;

/* The largest number of pieces: each has a slot at the end of the chain. */
#define CS_R2CCL_MAX_PIECES (CS_MAX_SLOTS - 2)

cs_r2ccl_shape cs_r2ccl_shape_of(const cs_r2ccl_setting *setting, uint32_t pieces);

/* First piece of a group; group == groups: one past the last. */
uint32_t cs_r2ccl_first_piece(const cs_r2ccl_shape *shape, uint32_t group);

/* Pieces of the largest group. */
uint32_t cs_r2ccl_largest_group(const cs_r2ccl_shape *shape);

/* Predicted time in seconds. With one slow NIC: exact up to the rounding of bytes where the chain
 * fits beside the ring, within 2 % where the ring waits for it. With more: a guide, within 12 %. */
double cs_r2ccl_predict_s(const cs_r2ccl_setting *setting, uint32_t pieces);

/* The plain ring on the same cluster. */
double cs_r2ccl_ring_s(const cs_r2ccl_setting *setting);

/* The number of pieces with the smallest prediction, among numbers 1/16 apart; the least such. */
uint32_t cs_r2ccl_choose(const cs_r2ccl_setting *setting);

#endif
