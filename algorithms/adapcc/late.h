/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/late.h -- a strategy as an algorithm, also under relay control: who is ready
 * starts, the others relay and send behind.
 *
 * Phase 1 is the trees with the behaviours of the ranks that the coordinator starts with. A relay
 * that is ready when a chunk sets out to it adds its own data to that chunk. Phase 2 broadcasts of
 * every other rank what phase 1 lacks, over the trees re-rooted at it: of those together that are
 * ready nearly together, else of one rank behind the other.
 *
 * Source: AdapCC, section IV-C.
 */
#ifndef CS_ALGORITHMS_ADAPCC_LATE_H
#define CS_ALGORITHMS_ADAPCC_LATE_H

#include "algorithms/adapcc/relay_times.h"
#include "cs/algorithm.h"

/* How relays are controlled. */
typedef struct cs_late_control {
    int relay;      /* 0: not at all, all are waited for; else 1 + cs_relay_rule */
    int volumes;    /* 0: those of the rule; else 1 + cs_relay_volumes */
    int join;       /* in phase 1. 0: where a relay receives; 1: nowhere; 2: everywhere, where it
                       does not receive the coordinator announces it */
    int rpc;        /* what a message to or from the coordinator takes. 0: rpc_s; 1: as it was
                       measured, drawn for each worker and direction */
    double rpc_s;   /* >= 0 */
    double cycle_s; /* > 0 */
    bool   one_starts;
    bool   excludes; /* who is not ready at the deadline; else all are waited for */
} cs_late_control;

typedef struct cs_strategy_options {
    const cs_strategy *strategy; /* checked, with sizes that add up to the buffer; borrowed, by
                                    the check alone. NULL: none, for an alltoall */
    uint64_t chunk_bytes;        /* of an alltoall, >= 1 */
    bool     for_full_rates;     /* turns are planned as if no NIC was slow: the schedule is the one
                                    without the faults */
    cs_late_control control;
} cs_strategy_options;

/* What a run has decided: the coordinator's view, on the network that ran. The ready times of the
 * case are those at which the coordinator knows. */
typedef struct cs_late_decisions {
    cs_relay_case  given;
    cs_relay_times times; /* wait_all_s is NAN; without behaviours */
} cs_late_decisions;

/* A strategy as an algorithm. Not in the list of algorithms: it needs a strategy. Without control
 * its streams are those of replay.h. Under control: AllReduce and Reduce alone; decided() returns
 * cs_late_decisions; O(trees x ranks) memory, and that for each late rank; a slot for every chunk.
 */
extern const cs_algorithm cs_algorithm_strategy;

/* Its streams, which are also those of an algorithm that makes a strategy in its check(). */
#define CS_STRATEGY_STREAMS                                                                      \
    .collectives = 1u << CS_ALLREDUCE | 1u << CS_BROADCAST | 1u << CS_REDUCE |                   \
                   1u << CS_ALLGATHER | 1u << CS_ALLTOALL,                                       \
    .open_prepared = cs_late_open, .release = cs_late_release, .next_block = cs_late_next_block, \
    .told = cs_late_told, .decided = cs_late_decided, .close = cs_late_close, .takes_uneven = true

CS_MUST_CHECK cs_status cs_late_open(const cs_scenario *scenario, const void *options,
                                     const void *prepared, void **state_p, cs_error *err);
void                    cs_late_release(void *prepared);
void                    cs_late_next_block(void *state, cs_block *block);
void        cs_late_told(void *state, const cs_block *block, const cs_interval *intervals);
const void *cs_late_decided(const void *state, bool *is_out, double *known_s_p);
void        cs_late_close(void *state);

#endif
