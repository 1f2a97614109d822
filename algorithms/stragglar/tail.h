/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/tail.h -- the last q - 1 rounds of StragglAR's rotational schedule.
 *
 * When the steady state ends, every early rank lacks the same number of chunks, all among the
 * last D, and the straggler has all of them. If all lack equally many, two ranks with different
 * missing sets are useful to each other, so a round that pairs all ranks without pairing equal sets
 * leaves everybody one chunk richer. The greedy pairs the rank with the most valuable
 * (rarest) holdings with the least valuable one, which keeps the classes of equal sets small.
 * For odd n the straggler does not pair: it gives to v and v gives to w, along a path that is no
 * pair (full-duplex model).
 * It is checked, not proven, for general n: a round that cannot be completed is reported.
 * O(n q) a round.
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_TAIL_H
#define CS_ALGORITHMS_STRAGGLAR_TAIL_H

#include "algorithms/stragglar/label_rounds.h"
#include "algorithms/stragglar/rotation.h"

/* Build the tail of a steady state of N rounds over N chunks: after it role p is label p. After C
 * rounds over C >= D chunks it is the same with every early label moved on by C mod N and every
 * chunk by C - N. Free with cs_label_rounds_free(); output only on CS_OK. CS_EINTERNAL when no mode
 * of the greedy succeeds. */
cs_status cs_tail_build(const cs_rotation *rotation, cs_label_rounds *tail_p, cs_error *err);

#endif
