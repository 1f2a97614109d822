/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/phase2.h -- phase 2, the main phase: one late rank exchanges every chunk
 * with its owner, and the final values spread.
 *
 *   rotation       n != 3, C > ceil(log2 n): C rounds of the rotational pattern (rotation.h), made
 *                  one by one, then its tail (tail.h)
 *   one chunk      exchanged with its owner; then a binomial tree
 *   three ranks    C >= 2: for C = 2 two exchanges and a swap; for more a directed ring
 *   telephone      odd n in the telephone model, C = n - 1 (telephone.h)
 *
 * All take C - 1 + ceil(log2 n) rounds but the last, which is a greedy. The rotation takes O(N)
 * memory and O(1) per transfer; the rounds of the others are stored. A further source of rounds is
 * a row of `source` in phase2.c and a case of build_stored().
 *
 * Source: the phases are the paper's, these rounds this project's (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_PHASE2_H
#define CS_ALGORITHMS_STRAGGLAR_PHASE2_H

#include "algorithms/stragglar/label_rounds.h"
#include "algorithms/stragglar/layout.h"

/* Slots that recycle: a few for the rotation; one for every chunk where rounds are stored, since
 * nothing is known of how long a chunk is in work. */
uint32_t cs_phase2_depth(uint32_t n, uint32_t chunks, bool is_telephone);

/* Rounds of the schedule, and the steps after which all is done if all ranks move in lockstep. The
 * greedy's have to be made for that: they are put into `greedy` unless they are there already;
 * those of the others leave it as it is. The caller frees it, also after a failure. */
cs_status cs_phase2_count(uint32_t n, uint32_t chunks, bool is_telephone, uint32_t *rounds_p,
                          uint32_t *steps_p, cs_label_rounds *greedy, cs_error *err);

typedef struct cs_phase2 cs_phase2;

/* Begin in round `first_round`, behind a barrier of all ranks. Borrows the layout and what
 * cs_phase2_count() has made, lies with its tables in the arena; cs_phase2_close() frees the rest,
 * also after a failure. */
cs_status cs_phase2_open(const cs_late_layout *layout, bool is_telephone, uint32_t first_round,
                         double barrier_s, const cs_label_rounds *greedy, cs_arena *arena,
                         cs_phase2 **phase_p, cs_error *err);
void      cs_phase2_close(cs_phase2 *phase);

/* Fill the empty block; false at the end. */
bool cs_phase2_next(cs_phase2 *phase, cs_block *block);

#endif
