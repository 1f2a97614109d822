/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/rotation.h -- the rotational pattern behind StragglAR, for every n but 3.
 *
 * n ranks, N = n - 1 of them early, q = ceil(log2 n), D = q + 1. In round r the early rank
 * g has the role p = (g - r) mod N: p rounds to go until it meets the straggler. In every round
 * role p receives the chunk of age k[p] (chunk r - k[p]; k[0] = 0 is the fresh one, from the
 * straggler) from role f[p]. All ranks go through the same N roles, shifted, so the two
 * tables are the whole steady state, for as many rounds as one likes. Conditions
 * (cs_rotation_check):
 *   C1  k[0] = 0, 1 <= k[p] <= D otherwise
 *   C2  p -> p + k[p] mod N is a permutation: every rank gets every chunk exactly once
 *   C3  f is a permutation of 1 .. N-1 and role f[p] holds age k[p] before the round;
 *       even n: an involution, so that who hears from whom it talks to (telephone model)
 *   C4  every role holds exactly two of the ages 1 .. D
 * (C4 follows from the others by counting, since n > 2^(q-1); it is checked all the same.)
 * Even n come from a table and n = 2 by doubling and by removing two steps of a patch
 * (rotation.c); odd n, which exist in the full-duplex one-port model only, by removing one
 * step of the pattern for n + 1. Memory and time O(n), the check O(n q).
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_ROTATION_H
#define CS_ALGORITHMS_STRAGGLAR_ROTATION_H

#include "base/arena.h"
#include "cs/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cs_rotation {
    uint32_t  n;     /* ranks, the straggler included; >= 2, not 3 */
    uint32_t  early; /* N = n - 1 */
    uint32_t  q;     /* ceil(log2 n) */
    uint32_t *age;   /* k[N] */
    uint32_t *from;  /* f[N]; from[0] is unused */
} cs_rotation;

/* Build the pattern and check it; the tables are the arena's. Output only on CS_OK; CS_EINTERNAL
 * when the construction broke a condition. */
cs_status cs_rotation_build(uint32_t n, cs_arena *arena, cs_rotation *rotation_p, cs_error *err);

/* Bit a: role p holds the chunk of age a, 1 <= a <= D, before its round. O(q). */
uint32_t cs_rotation_held(const cs_rotation *rotation, uint32_t role);

/* Conditions C1 .. C4. CS_EINTERNAL names the first one that is broken, and the role. O(n q). */
CS_MUST_CHECK cs_status cs_rotation_check(const cs_rotation *rotation, cs_error *err);

/* The pattern in time order, as it is built: in step i a rank receives the chunk of age[i] from the
 * rank that is in step partner[i]. Step i is role -i mod N. */
typedef struct cs_rotation_sequence {
    uint32_t  length; /* N */
    uint32_t  q;      /* ceil(log2 (N + 1)) */
    uint32_t *age;
    uint32_t *partner; /* partner[0] is unused */
} cs_rotation_sequence;

/* The sequence for 2^q ranks with a patch (rotation.c) at its end; q >= 4. O(length), in place,
 * which has room for 2^q - 1 steps. `first_of` is scratch: q + 1 words. */
void cs_rotation_sequence_of_power(uint32_t q, cs_rotation_sequence *seq, uint32_t *first_of);

#endif
