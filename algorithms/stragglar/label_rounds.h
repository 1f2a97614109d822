/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/label_rounds.h -- rounds of transfers between labels: what the generators
 * of StragglAR's main phase make, and an independent check of it.
 *
 * Labels stand for ranks: 0 .. early - 1 are the early ranks, which have reduced among
 * themselves, so that label c mod early holds the sum of all early contributions to chunk c;
 * early .. n - 1 are the late ones, with their own data only. At the end every label has the
 * complete sum of every chunk.
 *
 * A round is valid when every label sends at most once and receives at most once in it, when
 * whatever is sent was there before the round, and when nothing is added twice. The check knows
 * nothing of how the rounds were made: it moves weights. A value weighs as many contributions
 * as it holds; an unfinished value that is sent on is gone at its source (what is left of
 * it there counts for nothing), so that unfinished values never overlap and one that weighs n
 * is complete.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_LABEL_ROUNDS_H
#define CS_ALGORITHMS_STRAGGLAR_LABEL_ROUNDS_H

#include "cs/schedule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cs_label_kind {
    CS_LABEL_COPY,     /* dst gets the complete value */
    CS_LABEL_EXCHANGE, /* both send, both add, both have the complete value */
    CS_LABEL_RAW,      /* dst adds; the sum is not complete yet */
    CS_LABEL_LAST,     /* dst adds, which completes the sum */
} cs_label_kind;

static inline cs_op cs_label_op(cs_label_kind kind)
{
    return kind == CS_LABEL_COPY       ? CS_OP_COPY
           : kind == CS_LABEL_EXCHANGE ? CS_OP_EXCHANGE
                                       : CS_OP_REDUCE;
}

typedef struct cs_label_transfer {
    uint32_t      src, dst, chunk;
    cs_label_kind kind;
} cs_label_transfer;

/* A list that grows: `cs_label_rounds rounds = {0};` is empty. */
typedef struct cs_label_rounds {
    cs_label_transfer *transfers; /* owned, as round_end */
    size_t             n_transfers, transfer_room;
    size_t            *round_end; /* [n_rounds] index one past the round's last transfer */
    size_t             round_room;
    uint32_t           n_rounds;
} cs_label_rounds;

/* Add to the round that is being made; cs_label_rounds_end() ends it (also an empty one). Both are
 * CS_OK or CS_ENOMEM. */
cs_status cs_label_rounds_add(cs_label_rounds *rounds, cs_label_transfer transfer, cs_error *err);
cs_status cs_label_rounds_end(cs_label_rounds *rounds, cs_error *err);

/* Append the rounds of a single chunk, which label 0 owns: it and the late label n - 1 exchange it,
 * then a binomial tree grows from both. ceil(log2 n) rounds, for every n >= 2. */
cs_status cs_label_rounds_one_chunk(uint32_t n, cs_label_rounds *rounds, cs_error *err);

/* The transfers of one round. */
static inline const cs_label_transfer *cs_label_round(const cs_label_rounds *rounds, uint32_t round,
                                                      size_t *count_p)
{
    size_t first = round == 0 ? 0 : rounds->round_end[round - 1];
    *count_p     = rounds->round_end[round] - first;
    return rounds->transfers + first;
}

void cs_label_rounds_free(cs_label_rounds *rounds);

/* Hand over what a builder has made if all went well (*rounds_p owns it then), else free it.
 * Returns `status`. */
cs_status cs_label_rounds_give(cs_status status, cs_label_rounds *rounds,
                               cs_label_rounds *rounds_p);

/* What the rounds are to achieve. */
typedef struct cs_label_shape {
    uint32_t n;            /* labels */
    uint32_t early;        /* of them early; 1 <= early < n */
    uint32_t chunks;       /* >= 1 */
    bool     is_telephone; /* a label receives from whom it sends to, or only one of the two */
} cs_label_shape;

#define CS_NO_LABEL UINT32_MAX

/* Is every round valid, has everybody everything in the end, and with no message more than the
 * chunks x (n + late - 1) that are needed (an exchange is two)? CS_EINTERNAL names the first
 * transfer that is not valid. O(transfers + n x rounds) time, n x chunks bits and (late + 1) x
 * chunks words. */
cs_status cs_label_rounds_check(const cs_label_rounds *rounds, const cs_label_shape *shape,
                                cs_error *err);

/* How many steps pass when every transfer takes one and starts as soon as its data and ports allow,
 * ports serving their transfers in the order of the list, and nobody waits for the end of a round:
 * at most as many as there are rounds. One late label; memory n x chunks words. */
cs_status cs_label_rounds_steps(const cs_label_rounds *rounds, const cs_label_shape *shape,
                                uint32_t *steps_p, cs_error *err);

#endif
