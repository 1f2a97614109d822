/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/relay_report.h -- what AdapCC's coordinator decided and why, for people and programs. */
#ifndef CS_OUTPUT_RELAY_REPORT_H
#define CS_OUTPUT_RELAY_REPORT_H

#include "algorithms/adapcc/late.h"
#include "base/text.h"

/* What there is to tell; borrowed. Without `times` only who is active and what ranks then do. */
typedef struct cs_relay_report {
    const cs_relay_case  *given; /* NULL: nothing was decided */
    const cs_relay_times *times;
    const cs_strategy    *strategy;   /* NULL: there is none, and no behaviours */
    const cs_behaviour   *behaviours; /* [n_trees][n_ranks] */
    const bool           *active;     /* [n_ranks] */
    uint32_t              n_ranks;
    uint64_t              batch; /* samples of a step, to be shared by who is left; 0: not asked */
} cs_relay_report;

/* Tick by tick until the decision, then what happened when; then the tuples, tree by tree. */
void cs_relay_table(const cs_relay_report *report, cs_text *text);

/* What was decided in a run, as comments: tick by tick, then what happened when. */
void cs_late_text(const cs_late_decisions *decisions, cs_text *text);

/* One object; what there is not is null. `tuples` has one row per rank and tree, tree by tree. */
void cs_relay_json(const cs_relay_report *report, cs_text *text);

#endif
