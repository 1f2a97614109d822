/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/life.h -- a rotational pattern in time order, and how one grows into
 * another.
 *
 * Every early rank lives the same life: in step i of it (i = 0 .. N-1) the rank receives the
 * chunk of age[i] from the rank that is in step partner[i] of its own. Step 0 is the meeting with
 * the straggler. Step i is role -i mod N of rotation.h.
 *
 * A rank holds two of the last D = q + 1 chunks. In the base state these are the oldest two,
 * of ages q and D. A *block* W_a leads from the base state back to it: receive age a, then age q
 * while the own chunk ages from a + 1 to q - 1. A *gadget* is a piece of ten steps that begins in
 * the base state:
 *
 *     ages   q-3 q  q  | q-2 q  | q-2 q  | q-1 | q-1 | q-1      (W_q-3, two W_q-2, three W_q-1)
 *     names  C0  C  C' | A1  B1 | A2  B2 | E1  | E2  | E3       pairs C-A2, C'-E3, B1-E1, B2-E2
 *
 * in which one or two steps can be saved. All functions are O(length), in place. Nothing is
 * checked here: cs_rotation_build() checks what comes out.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_LIFE_H
#define CS_ALGORITHMS_STRAGGLAR_LIFE_H

#include <stdbool.h>
#include <stdint.h>

enum { CS_LIFE_GADGET = 10 }; /* steps of a gadget */

typedef struct cs_life {
    uint32_t  length; /* N */
    uint32_t  q;      /* ceil(log2 (N + 1)) */
    uint32_t *age;
    uint32_t *partner; /* partner[0] is unused */
} cs_life;

/* The life for n ranks from the table of those that no rule makes; false where there is none. Even
 * n <= 36, and odd n <= 17 for which it is not an involution. From n = 20 on the last ten steps
 * are a gadget. */
bool cs_life_from_table(uint32_t n, cs_life *life);

/* The life for 2^q ranks by doubling from n = 2. */
void cs_life_of_power(uint32_t q, cs_life *life);

/* The same with a gadget at its end; q >= 4. The order of blocks is free: W_0, then those with
 * a = 1, 2, .. that the gadget leaves over, then the gadget. `first_of` is scratch: q + 1 words. */
void cs_life_of_power_with_gadget(uint32_t q, cs_life *life, uint32_t *first_of);

/* n -> 2n ranks; the base state must be that of step 0. Room for 2 length + 1 steps. A gadget
 * at the end stays there, and stands at cs_life_copied_gadget() too. */
void cs_life_double(cs_life *life);

/* After cs_life_double(): where the gadget of the first copy begins. */
uint32_t cs_life_copied_gadget(const cs_life *life);

/* n -> n - 2 ranks, n even, with the gadget that begins in step `gadget`. It is used up. */
void cs_life_remove_two(cs_life *life, uint32_t gadget);

/* n -> n - 1 ranks, n even, with the gadget at the end. Partners are no pairs any more: partner[i]
 * is whom step i receives from. */
void cs_life_remove_one(cs_life *life);

#endif
