/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/late.h -- a strategy as an algorithm under relay control: who is ready starts,
 * the others relay and send behind.
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

typedef struct cs_late_options {
    const cs_strategy *strategy;       /* as cs_strategy_options has it, .. */
    uint64_t           chunk_bytes;    /* .. and this, too */
    bool               for_full_rates; /* .. and this */
    cs_late_control    control;
} cs_late_options;

/* What a run has decided: the coordinator's view, on the network that ran. The ready times of the
 * case are those at which the coordinator knows. */
typedef struct cs_late_decisions {
    cs_relay_case  given;
    cs_relay_times times; /* wait_all_s is NAN; without behaviours */
} cs_late_decisions;

/* Not in the list of algorithms: it needs a strategy. Without control it is cs_algorithm_strategy,
 * whose refusals are its, too. AllReduce and Reduce alone under control. Its decisions() is a
 * cs_late_decisions, or NULL without control. O(trees x ranks) memory, and that for each late rank;
 * a slot for every chunk. */
extern const cs_algorithm cs_algorithm_late;

#endif
