/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/trace_text.h -- what a trace would have saved, as a table, as JSON and as CSV. */
#ifndef CS_CAMPAIGN_TRACE_TEXT_H
#define CS_CAMPAIGN_TRACE_TEXT_H

#include "base/text.h"
#include "campaign/trace_whatif.h"
#include "traces/arrival_rows.h"

/* The lines by place, what refuses and why, and which one to take. */
void cs_trace_table(const cs_trace_report *report, const cs_arrival_trace *trace, cs_text *text);

/* One object with the notes of the trace; numbers read back exactly, what is not known or never is
 * null. */
void cs_trace_json(const cs_trace_report *report, const cs_arrival_trace *trace,
                   const cs_arrival_notes *notes, cs_text *text);

/* One line per line of the report. */
void cs_trace_csv(const cs_trace_report *report, cs_text *text);

#endif
