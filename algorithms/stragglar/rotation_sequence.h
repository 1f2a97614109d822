/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/rotation_sequence.h -- a rotational pattern in time order, and how one grows
 * into another.
 *
 * All early ranks go through the same N steps, each at its own time: in step i (i = 0 .. N-1) a
 * rank receives the chunk of age[i] from the rank that is in step partner[i]. Step 0 is the
 * exchange with the straggler. Step i is role -i mod N of rotation.h.
 *
 * A rank holds two of the last D = q + 1 chunks. In the base state these are the oldest two,
 * of ages q and D. A *block* W_a leads from the base state back to it: receive age a, then age q
 * while the own chunk ages from a + 1 to q - 1. A *patch* is a piece of ten steps that begins in
 * the base state:
 *
 *     ages   q-3 q  q  | q-2 q  | q-2 q  | q-1 | q-1 | q-1      (W_q-3, two W_q-2, three W_q-1)
 *     names  C0  C  C' | A1  B1 | A2  B2 | E1  | E2  | E3       pairs C-A2, C'-E3, B1-E1, B2-E2
 *
 * in which one or two steps can be saved. All functions are O(length), in place. Nothing is
 * checked here: cs_rotation_build() checks what comes out.
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_ROTATION_SEQUENCE_H
#define CS_ALGORITHMS_STRAGGLAR_ROTATION_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

enum { CS_PATCH_STEPS = 10 }; /* steps of a patch */

typedef struct cs_rotation_sequence {
    uint32_t  length; /* N */
    uint32_t  q;      /* ceil(log2 (N + 1)) */
    uint32_t *age;
    uint32_t *partner; /* partner[0] is unused */
} cs_rotation_sequence;

/* The sequence for n ranks from the table of those that no rule makes; false where there is none.
 * Even n <= 36, and odd n <= 17 for which it is not an involution. From n = 20 on the last ten
 * steps are a patch. */
bool cs_rotation_sequence_from_table(uint32_t n, cs_rotation_sequence *seq);

/* The sequence for 2^q ranks by doubling from n = 2. */
void cs_rotation_sequence_of_power(uint32_t q, cs_rotation_sequence *seq);

/* The same with a patch at its end; q >= 4. The order of blocks is free: W_0, then those with
 * a = 1, 2, .. that the patch leaves over, then the patch. `first_of` is scratch: q + 1 words. */
void cs_rotation_sequence_of_power_with_patch(uint32_t q, cs_rotation_sequence *seq,
                                              uint32_t *first_of);

/* n -> 2n ranks; the base state must be that of step 0. Room for 2 length + 1 steps. A patch
 * at the end stays there, and stands at cs_rotation_sequence_copied_patch() too. */
void cs_rotation_sequence_double(cs_rotation_sequence *seq);

/* After cs_rotation_sequence_double(): where the patch of the first copy begins. */
uint32_t cs_rotation_sequence_copied_patch(const cs_rotation_sequence *seq);

/* n -> n - 2 ranks, n even, with the patch that begins in step `patch`. It is used up. */
void cs_rotation_sequence_remove_two(cs_rotation_sequence *seq, uint32_t patch);

/* n -> n - 1 ranks, n even, with the patch at the end. Partners are no pairs any more: partner[i]
 * is whom step i receives from. */
void cs_rotation_sequence_remove_one(cs_rotation_sequence *seq);

#endif
