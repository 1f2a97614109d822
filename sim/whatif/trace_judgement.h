/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/trace_judgement.h -- what an algorithm with a policy saves over the calls of a trace, and
 * which is best. */
#ifndef CS_WHATIF_TRACE_JUDGEMENT_H
#define CS_WHATIF_TRACE_JUDGEMENT_H

#include "whatif/trace_whatif.h"

/* From the calls' times of every line (the first one is the baseline) to savings with intervals,
 * places and the lead of the best; a line of the fastest of each call is added, for which
 * report->lines has room. O(lines * calls). */
CS_MUST_CHECK cs_status cs_trace_judge(const cs_arrival_trace *trace, cs_trace_report *report,
                                       cs_error *err);

#endif
