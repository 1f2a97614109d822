/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/late_prefix.h -- how many ranks should count as late.
 *
 * For every k the ranks that arrive last are late and the n - k others begin without them: with
 * several late ranks (several_late.h) when the last of the others has come; k = 0 stands for
 * an AllReduce of all ranks that begins with the last arrival. The shortest predicted end wins.
 * Predictions are those of alpha-beta for rounds one after the other.
 *
 * Schedules for k >= 2 have to be made to know their rounds. They are made in the order of a
 * bound from below on their end, until the bound says that nothing better can come: first for those
 * k where the late ranks come later than the others, then for the rest, CS_PREFIX_MOST_TRIES / 2
 * of each at most, and no more than CS_KLATE_MOST_WORK (klate_work.h) together.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_LATE_PREFIX_H
#define CS_ALGORITHMS_STRAGGLAR_LATE_PREFIX_H

#include "algorithms/stragglar/several_late.h"
#include "cs/algorithm.h"

enum { CS_PREFIX_MOST_TRIES = 48, CS_PREFIX_MOST_PARTS = 8 };

/* The AllReduce without late ranks. */
typedef enum cs_late_baseline {
    CS_BASELINE_AUTO,
    CS_BASELINE_CIRCULANT,
    CS_BASELINE_LATENCY_OPTIMAL,
    CS_BASELINE_MERGED_RHD,
    CS_BASELINE_RING,
    CS_BASELINE_NCCL_RINGS,
    CS_BASELINE_PARALLEL_RINGS,
    CS_BASELINE_COUNT
} cs_late_baseline;
#define CS_BASELINE_CHOICES \
    "auto|circulant|latency_optimal|merged_rhd|ring|nccl_rings|parallel_rings"

/* The algorithm behind a baseline (not CS_BASELINE_AUTO). */
const cs_algorithm *cs_baseline_algorithm(cs_late_baseline baseline);

/* The one that is predicted to be the fastest where all ranks have one kind of port; elsewhere it
 * takes a forecast to know. O(1). */
cs_late_baseline cs_baseline_predicted(const cs_scenario *scenario);

/* Replace CS_BASELINE_AUTO by the fastest one, and say when it ends: predicted where all ranks have
 * one kind of port, otherwise as the scenario's forecast says, of which there must be one. */
cs_status cs_baseline_choose(const cs_scenario *scenario, cs_late_baseline *baseline_p,
                             double *end_s_p, cs_error *err);

/* The best shape with k in [least_late, most_late] that ends before `limit_s`. On entry `shape`
 * says what is fixed: parts and roots, CS_AUTO where they are free. On CS_OK shape_p->late is 0
 * when there is none. O(tries x the making of a schedule). */
cs_status cs_prefix_choose(const cs_scenario *scenario, uint32_t least_late, uint32_t most_late,
                           double limit_s, cs_several_shape *shape_p, cs_error *err);

#endif
