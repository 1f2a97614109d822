/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/telephone_seats.h -- who talks to whom in a round of telephone_odd.h.
 *
 * A seat is a rank that is free in the round, with its *key*: what it holds of the live chunks in
 * order of rarity, the rarest one in the highest bit of the first word. The first half in order of
 * value is paired with the second half, backwards; then partners are exchanged where that lets
 * more chunks pass.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_TELEPHONE_SEATS_H
#define CS_ALGORITHMS_STRAGGLAR_TELEPHONE_SEATS_H

#include "algorithms/stragglar/telephone_odd.h"

enum { CS_CHUNK_WORDS = (CS_TELEPHONE_MOST_RANKS + 62) / 64 };

typedef struct cs_chunk_set {
    uint64_t word[CS_CHUNK_WORDS];
} cs_chunk_set;

typedef struct cs_seat {
    cs_chunk_set key;
    uint32_t     wait;  /* rounds until it meets the late rank */
    uint32_t     noise; /* order among equals */
    uint32_t     held;  /* chunks that it has, live ones and others */
    uint32_t     rank;
} cs_seat;

typedef struct cs_seat_pair {
    cs_seat a, b;
} cs_seat_pair;

/* Number of chunks. */
uint32_t cs_chunk_set_size(const cs_chunk_set *set);

/* Pair the seats, whose keys have `n_words` words; one of an odd number stays alone. Sorts them;
 * returns the number of pairs. The order of seats that are equal in all but their rank is that of
 * the ranks. O(seats^2) at worst. */
uint32_t cs_seats_pair(cs_seat *seats, uint32_t count, uint32_t n_words, cs_seat_pair *pairs);

#endif
