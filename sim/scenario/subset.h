/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario/subset.h -- some ranks of a cluster as a cluster of their own, for a collective of a
 * process group: they keep their ports, rates, faults and the links between them, and are numbered
 * anew in their order. The others are silent.
 */
#ifndef CS_SCENARIO_SUBSET_H
#define CS_SCENARIO_SUBSET_H

#include "base/arena.h"
#include "cs/scenario.h"

/* `ranks` [n], n >= 2, in ascending order. The part has no arrivals, and root 0; its other lists
 * are in the arena or borrowed from `all`, which stays where it is. CS_ENOTSUP where the ranks lie
 * on the sockets of a server in different numbers. O(n x steps). */
CS_MUST_CHECK cs_status cs_scenario_subset(const cs_scenario *all, const uint32_t *ranks,
                                           uint32_t n, cs_arena *arena, cs_scenario *part_p,
                                           cs_error *err);

#endif
