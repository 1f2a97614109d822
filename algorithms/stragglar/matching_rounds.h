/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/matching_rounds.h -- the heuristic of appendix E of the StragglAR paper, for
 * even n: one maximum-weight matching a round.
 *
 * In a round r < N = n - 1 label r meets the straggler (label N). All other labels are matched
 * in pairs, with as many pairs as possible and among such matchings one of the largest weight: a
 * pair weighs 2 when both have a chunk that the other one lacks, 1 when one has. A label that
 * meets the straggler d rounds later, d < q = ceil(log2 n), meets nobody whose newest chunk is
 * newer than r + d - q (the critical window). Each direction of a pair carries the oldest chunk
 * that is useful, from round N on the newest one. In rounds 1 .. q - 1 label r - 1 sends its chunk
 * to label r - 1 + q and the other holders send to labels beyond 2(q - 1) without a chunk.
 *
 * The number of rounds hangs on which of the many heaviest matchings is taken. Two rules,
 * each made unique by pseudo-random weights too small to change it:
 *   published  the pairs that a plain pass makes (the highest label with the lowest one that it
 *              can exchange chunks with), as the published script's library tends to; the
 *              pseudo-random weights are those for which the published round counts come out
 *   newest     the pairs that pass on the newest chunk, which is nearly always better
 * One matching a round: seconds for a few hundred labels.
 *
 * Source: "Efficient AllReduce with Stragglers" (StragglAR), appendix E; J. Edmonds,
 * "Maximum matching and a polyhedron with 0,1-vertices" (1965), by LEMON.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_MATCHING_ROUNDS_H
#define CS_ALGORITHMS_STRAGGLAR_MATCHING_ROUNDS_H

#include "algorithms/stragglar/label_rounds.h"

typedef enum cs_matching_ties {
    CS_TIES_PUBLISHED,
    CS_TIES_NEWEST,
} cs_matching_ties;

/* More labels than this are refused: a minute and more. */
#define CS_MATCHING_MOST 512u

/* Make the rounds for n labels (even, 2 .. CS_MATCHING_MOST). CS_ENOTSUP without LEMON,
 * CS_EINTERNAL when a round brings nothing new. Output only on CS_OK;
 * cs_label_rounds_free() it. */
cs_status cs_matching_rounds_build(uint32_t n, cs_matching_ties ties, cs_label_rounds *rounds_p,
                                   cs_error *err);

#endif
