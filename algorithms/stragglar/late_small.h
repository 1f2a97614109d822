/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/late_small.h -- main phases with one late rank that are no rotation. */
#ifndef CS_ALGORITHMS_STRAGGLAR_LATE_SMALL_H
#define CS_ALGORITHMS_STRAGGLAR_LATE_SMALL_H

#include "algorithms/stragglar/label_rounds.h"

/* One chunk, which label 0 owns: it and the late rank exchange it, then a binomial tree grows from
 * both. ceil(log2 n) rounds, for every n >= 2. */
cs_status cs_one_chunk_build(uint32_t n, cs_label_rounds *rounds_p, cs_error *err);

/* Three ranks, C >= 2 chunks, C + 1 rounds. C = 2 keeps to the telephone model; beyond, values go
 * round a directed ring late -> 0 -> 1 -> late, which no schedule of the telephone model can match
 * (of three ranks one is always idle there). */
cs_status cs_three_ranks_build(uint32_t chunks, cs_label_rounds *rounds_p, cs_error *err);

#endif
