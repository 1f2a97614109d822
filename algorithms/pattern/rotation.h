/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/pattern/rotation.h -- the rotational pattern behind StragglAR.
 *
 * n ranks, N = n - 1 of them early, q = ceil(log2 n), D = q + 1. In round r the early rank
 * g has the role p = (g - r) mod N: p rounds to go until it meets the straggler. In every round
 * role p receives the chunk of age k[p] (chunk r - k[p]; k[0] = 0 is the fresh one, from the
 * straggler) from role f[p]. All ranks live the same N-periodic life, shifted, so the two
 * tables are the whole steady state. Conditions (cs_rotation_holds):
 *   C1  k[0] = 0, 1 <= k[p] <= D otherwise
 *   C2  p -> p + k[p] mod N is a permutation: every rank gets every chunk exactly once
 *   C3  f is a permutation of 1 .. N-1 and role f[p] holds age k[p] before the round;
 *       telephone model: an involution
 *   C4  every role holds exactly two of the ages 1 .. D
 * Powers of two come from n = 2 by doubling. Memory and time O(n).
 */
#ifndef CS_ALGORITHMS_PATTERN_ROTATION_H
#define CS_ALGORITHMS_PATTERN_ROTATION_H

#include "base/arena.h"
#include "cs/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cs_rotation {
    uint32_t  n;     /* ranks, the straggler included; >= 2 */
    uint32_t  early; /* N = n - 1 */
    uint32_t  q;     /* ceil(log2 n) */
    uint32_t *age;   /* k[N] */
    uint32_t *from;  /* f[N]; from[0] is unused */
} cs_rotation;

/* Is there a pattern for n ranks? (Powers of two.) */
bool cs_rotation_exists(uint32_t n);

/* Build the pattern; the tables are the arena's. Output only on CS_OK. */
cs_status cs_rotation_build(uint32_t n, cs_arena *arena, cs_rotation *rotation_p, cs_error *err);

/* Does role p hold the chunk of this age before its round? O(age). */
bool cs_rotation_has(const cs_rotation *rotation, uint32_t role, uint32_t age);

/* Conditions C1 .. C4 with f an involution. O(n q). */
bool cs_rotation_holds(const cs_rotation *rotation);

#endif
