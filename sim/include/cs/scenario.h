/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/scenario.h -- what is to be done, on which cluster, who is late and which NICs are slow. */
#ifndef CS_SCENARIO_H
#define CS_SCENARIO_H

#include "cs/capacity.h"
#include "cs/cluster.h"
#include "cs/collective.h"
#include "cs/error.h"

CS_BEGIN_C

typedef struct cs_forecast cs_forecast; /* cs/algorithm.h */

/* No rank may arrive later than this. */
#define CS_MAX_ARRIVAL_S 1e6

/* No scenario has more bytes: every product of a replay stays exact, or at least finite. */
#define CS_MAX_BYTES ((uint64_t)1 << 50)

/* Times are seconds after the first arrival; the earliest arrival is 0. All pointers are
 * borrowed from whoever made the scenario. */
typedef struct cs_scenario {
    cs_collective collective;
    uint32_t      root;  /* of broadcast and reduce */
    uint64_t      bytes; /* nccl-tests' size column: per rank for allreduce, broadcast and
                            reduce; all blocks together for the others */
    cs_cluster         cluster;
    const double      *arrival_s; /* n_ranks entries, or NULL: all arrive at 0 */
    const cs_capacity *capacity;  /* of the NICs over time: sorted steps, see cs/capacity.h */
    size_t             n_capacity;
    uint64_t           seed;
    /* What algorithms that choose among schedules ask how long one takes; cs_job_resolve() sets it
     * for their check() where it is NULL. Without one they go by the closed forms of alpha-beta. */
    const cs_forecast *forecast;
} cs_scenario;

/* What the chunks of a schedule for it are asked about. */
static inline cs_chunks cs_chunks_of(const cs_scenario *scenario, uint32_t n_chunks)
{
    const cs_chunks chunks = {scenario->collective, scenario->cluster.n_ranks, scenario->root,
                              n_chunks};
    return chunks;
}

/* Arrival of one rank; the last arrival; the rank that arrives last (ties: the highest). */
CS_API double   cs_arrival(const cs_scenario *scenario, uint32_t rank);
CS_API double   cs_last_arrival(const cs_scenario *scenario);
CS_API uint32_t cs_last_rank(const cs_scenario *scenario);

/* Refuse what no model can mean: ranks out of range, negative times, slowdown < 1,
 * overlapping steps, zero bandwidth, a first arrival that is not 0. O(n + steps). */
CS_API CS_MUST_CHECK cs_status cs_scenario_check(const cs_scenario *scenario, cs_error *err);

CS_END_C

#endif
