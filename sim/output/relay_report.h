/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/relay_report.h -- what AdapCC's coordinator decided and why, for people and programs. */
#ifndef CS_OUTPUT_RELAY_REPORT_H
#define CS_OUTPUT_RELAY_REPORT_H

#include "algorithms/adapcc/late.h"
#include "base/text.h"
#include "cs/job.h"

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

/* What was decided in a run: for people as comments, tick by tick, then what happened when; for
 * programs the key `decisions` of a result (output/result_rows.h), with one object for each
 * collective. Both are empty where nothing was decided. `{0}` is empty; owned. */
typedef struct cs_late_report {
    cs_text text, json;
} cs_late_report;

/* Fill them from a run of the algorithm, in as many of the observers as are returned: 0 or 1. The
 * report must outlive the run. */
size_t cs_late_report_observe(cs_late_report *report, const cs_algorithm *algorithm,
                              cs_observer *observers);
void   cs_late_report_free(cs_late_report *report);

/* One object; what there is not is null. `tuples` has one row per rank and tree, tree by tree. */
void cs_relay_json(const cs_relay_report *report, cs_text *text);

#endif
