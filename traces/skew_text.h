/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/skew_text.h -- a skew as a table, as JSON and as CSV: what `collsim arrivals` prints. */
#ifndef CS_TRACES_SKEW_TEXT_H
#define CS_TRACES_SKEW_TEXT_H

#include "traces/arrival_rows.h"
#include "traces/skew.h"

/* Two or three lines about a trace: format, ranks, calls, sizes, what was left out, and the
 * notes. */
void cs_arrival_head(const cs_arrival_trace *trace, const cs_arrival_notes *notes, cs_text *text);

/* "ranks": 8, "calls": 200 */
void cs_arrival_trace_json(const cs_arrival_trace *trace, cs_text *text);

/* "warmup": 1, "incomplete": 0, "notes": ["a sentence", ..] */
void cs_arrival_notes_json(const cs_arrival_notes *notes, cs_text *text);

/* For people: the head, the ranks (at most 64: then the ones that are last most often), the
 * straggler and the delays. */
void cs_skew_table(const cs_arrival_trace *trace, const cs_skew *skew,
                   const cs_arrival_notes *notes, cs_text *text);

/* One object; numbers read back exactly, what is not known is null. `delay_cdf` has the delays that
 * 0 %, 1 % .. 100 % of the calls do not exceed. */
void cs_skew_json(const cs_arrival_trace *trace, const cs_skew *skew, const cs_arrival_notes *notes,
                  cs_text *text);

/* Gauges in the text format of Prometheus, one row of each metric per rank: the names that NCCL's
 * Inspector exports (nccl_collective_exec_time_microseconds, nccl_bus_bandwidth_gbs) where they are
 * known, and how late the ranks are (collsim_..). */
void cs_skew_prom(const cs_arrival_trace *trace, const cs_skew *skew, const cs_arrival_notes *notes,
                  cs_text *text);

/* One line per rank. */
void cs_skew_csv(const cs_arrival_trace *trace, const cs_skew *skew, cs_text *text);

#endif
