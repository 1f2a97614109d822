/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/optcc/shape.h -- the numbers behind an OptCC schedule.
 *
 * p servers, m of them slow (slowdown l_i), H = p - m healthy in a ring of nodes 0 .. H-1. The
 * buffer of a cycle is split in sections j = first .. last, H - 1 of them a round; section j is
 * owned by node j mod H and rides train j mod (H-1) around the ring. The last round may be a part
 * of one. One slow server:
 *   l >= 2  `has_special`: section first - 1 is reduced at the slow server (one slot saved)
 *   l < 2   `n_blocks` more blocks are reduced by the slow server in the time it would idle
 *           (bubbles), and the first and last `ramp` rounds are smaller by l - 1 each
 * Chunks are numbered: the special section, the sections, the blocks.
 *
 * Source: OptCC; this construction is the project's (sim/doc/optcc.md).
 */
#ifndef CS_ALGORITHMS_OPTCC_SHAPE_H
#define CS_ALGORITHMS_OPTCC_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

enum { CS_OPTCC_MAX_RAMP = 8 };

typedef struct cs_optcc_shape {
    uint32_t p, m, H;
    uint32_t rounds; /* R */
    uint32_t ramp;   /* rounds at each end that are smaller */
    bool     has_special;
    bool     has_bubbles;
    int64_t  first, last;  /* J0, J1: the ordinary sections */
    int64_t  special;      /* its number, J0 - 1 */
    int64_t  special_down; /* slot in which the special section comes back */
    int64_t  block_from;   /* first slot of block 0 */
    uint32_t n_blocks;
    uint32_t n_sections;     /* N: ordinary and special */
    uint32_t n_chunks;       /* sections and blocks */
    double   ratio;          /* size of a round over the next one in the ramp, l - 1 */
    double   block_weight;   /* size of a block; a full section has weight 1 */
    double   total_weight;   /* of all chunks */
    int64_t  first_position; /* positions of the schedule */
    int64_t  last_position;
} cs_optcc_shape;

/* What makes a shape. `slowdown` is the largest slowdown. */
typedef struct cs_optcc_request {
    uint32_t p, m;
    double   slowdown;
    uint32_t rounds;   /* >= 1 */
    uint32_t sections; /* exactly so many; 0: as many as fill the rounds */
    uint32_t ramp;
    bool     wants_bubbles; /* taken for m = 1, l < 2 only */
    bool     wants_special; /* taken for m = 1, l >= 2, where it fits, only */
} cs_optcc_request;

/* The smallest number of rounds with at least one section. */
uint32_t cs_optcc_least_rounds(uint32_t p, uint32_t m);

/* Rounds that give the section size of the paper's k segments. */
uint32_t cs_optcc_rounds_of_segments(uint32_t p, uint32_t m, uint32_t segments);

/* O(1). Rounds below the least are raised to it; `sections` (>= 1) decides the rounds. */
cs_optcc_shape cs_optcc_shape_of(const cs_optcc_request *request);

/* Weight of one section. O(1). */
double cs_optcc_weight(const cs_optcc_shape *shape, int64_t section);

/* The first byte of chunk `chunk` of a buffer; chunk n_chunks gives the buffer's size. Sizes are
 * the weights' shares, rounded so that they add up exactly. O(1). */
uint64_t cs_optcc_offset(const cs_optcc_shape *shape, uint64_t bytes, uint32_t chunk);

/* floor division and its remainder, for positions below 0. */
static inline int64_t cs_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}
static inline int64_t cs_floor_mod(int64_t a, int64_t b)
{
    return a % b + (a % b < 0 ? b : 0);
}

#endif
