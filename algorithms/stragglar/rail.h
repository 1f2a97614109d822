/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/rail.h -- StragglAR's main phase among servers.
 *
 * The GPUs with one local number stand on one rail. Every rail plays the same rounds, in which the
 * N servers are the labels: label N - 1 is the late server, 0 .. M - 1, M = N - 1, are the others,
 * and label c mod M holds the sum of the others' contributions to chunk c.
 *
 *   rotation      N != 3, C > ceil(log2 N): as for N ranks (rotation.h, tail.h)
 *   one chunk     C = 1: exchanged with its owner, then a binomial tree
 *   three servers both others hold the sum of both; in round c the late server sends its own to
 *                 label 0 while label 1 sends the sum of the others to the late server; label 0
 *                 hands the final value to label 1 in the round after
 *   halves        three servers, with the sums as elsewhere: even chunks go around late -> 0 -> 1
 * -> late, a hop a round, added to the owner's on the first; then odd ones the other way
 *
 * C - 1 + ceil(log2 N) rounds each, halves two more (one more for C = 1). Memory O(N log N), and
 * O(C) for three servers.
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_RAIL_H
#define CS_ALGORITHMS_STRAGGLAR_RAIL_H

#include "algorithms/stragglar/label_rounds.h"
#include "algorithms/stragglar/rotation.h"

typedef struct cs_rail {
    uint32_t        servers, chunks; /* N, C */
    bool            halves;
    uint32_t        n_rounds;
    cs_rotation     rotation; /* of the first `steady` rounds; its tables are the arena's */
    uint32_t        steady;   /* C, or 0 where all rounds are stored */
    cs_label_rounds stored;   /* what follows; owned */
    uint32_t        turn;     /* label g < M of it stands for g + turn mod M ... */
    uint32_t        shift;    /* ... and chunk c for c + shift mod 2^32 */
} cs_rail;

/* Least C > 1 that is accepted for N servers (or ranks). */
uint32_t cs_rail_least_chunks(uint32_t servers);

/* The chunk that the late server gives in a round for the first time, and the one that it
 * completes; CS_NO_LABEL where there is none. The former come one in every round of the first ones,
 * up to cs_rail_last_given() (halves: with one round in between). O(1). */
uint32_t cs_rail_given(const cs_rail *rail, uint32_t round);
uint32_t cs_rail_completed(const cs_rail *rail, uint32_t round);
uint32_t cs_rail_last_given(uint32_t chunks, bool halves);

/* Rounds. */
uint32_t cs_rail_rounds(uint32_t servers, uint32_t chunks, bool halves);

/* servers >= 2, halves only with 3; chunks 1 or at least cs_rail_least_chunks(). cs_rail_free() it,
 * also after a failure; `{0}` may be freed. CS_EINTERNAL when a construction does not hold what it
 * promises. */
cs_status cs_rail_build(uint32_t servers, uint32_t chunks, bool halves, cs_arena *arena,
                        cs_rail *rail, cs_error *err);

/* A rail that goes through given rounds, which it borrows. Not to be freed. */
cs_rail cs_rail_of_rounds(uint32_t servers, uint32_t chunks, const cs_label_rounds *rounds);

void cs_rail_free(cs_rail *rail);

/* Places for transfers in a round, some of which may be empty; what is in one of them: false where
 * nothing is. In one round every label sends once and receives once at most. O(1). */
uint32_t cs_rail_places(const cs_rail *rail, uint32_t round);
bool     cs_rail_at(const cs_rail *rail, uint32_t round, uint32_t place, cs_label_transfer *out);

#endif
