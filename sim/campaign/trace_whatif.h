/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/trace_whatif.h -- what each algorithm would have saved on the arrivals of a trace: its
 * calls in order, every algorithm under every policy that applies to it.
 *
 * All see the same arrivals in the same call; what counts is the difference to the baseline there.
 * Algorithms that presume a late rank are run with three predictions (scenario/late_prediction.h):
 *   static    the rank that is last most often in the trace, in every call
 *   dynamic   the last rank of the call, as if the others agreed on it when they are all there
 *   adaptive  static, but when that rank has come before the last of the others, the baseline,
 *             which begins with that last arrival
 * Dynamic and adaptive ranks have to agree, which takes `agreement_s` before the first transfer.
 * `hindsight` is the fastest of all lines in each call: no choice can do better.
 */
#ifndef CS_CAMPAIGN_TRACE_WHATIF_H
#define CS_CAMPAIGN_TRACE_WHATIF_H

#include "base/arena.h"
#include "base/listener.h"
#include "base/statistics.h"
#include "base/text.h"
#include "cs/arrivals.h"
#include "study/config.h"
#include "traces/arrival_rows.h"

/* `{.period_s = NAN}` is the default. */
typedef struct cs_trace_options {
    const char *const *algorithms; /* names; NULL: all that know the collective */
    size_t             n_algorithms;
    const char        *baseline;    /* NULL: cs_default_algorithm() of the cluster */
    uint64_t           bytes;       /* of every call; 0: as in the trace, else the configuration */
    double             period_s;    /* from call to call; NAN: not known */
    double             agreement_s; /* see above */
    unsigned           jobs;        /* threads; 0 and 1: the calling thread */
    cs_listener        listener;    /* is told how many lines of the report are done */
} cs_trace_options;

/* One algorithm under one policy. */
typedef struct cs_trace_line {
    const char   *algorithm; /* static storage; "best of all" for hindsight */
    cs_prediction policy;
    bool          is_available; /* false: `reason` says why, and the numbers are NAN */
    bool          is_baseline;
    uint32_t      place;       /* 1 saves most, equal ones share a place; 0: hindsight, or not
                               available */
    const char *reason;        /* or NULL */
    double      exposed_s;     /* mean, from the last arrival on */
    cs_estimate saved_s;       /* per call, against the baseline; negative: lost */
    double      total_s;       /* saved in the whole trace */
    double      won_ratio;     /* share of the calls that are faster than with the baseline */
    double      break_even_s;  /* from this delay of the straggler on (all others at once) it
                                  beats the baseline; INFINITY: never; NAN: baseline, hindsight */
    cs_estimate day_gpu_hours; /* saved; NAN without a period */
    double     *call_s;        /* [n_calls] exposed time of each; digits are those of the replay,
                                  however late the last rank is */
} cs_trace_line;

typedef struct cs_trace_report {
    cs_arena       arena;
    cs_trace_line *lines; /* by place, then hindsight, then not available */
    size_t         n_lines;
    uint32_t       straggler;        /* of static */
    uint64_t       break_even_bytes; /* the size that break-even delays are for */
    double         period_s;
    double         zero_wait_s; /* mean over the calls of the trace: how long they took once all
                                   ranks were there; NAN: not known */
    size_t      second;         /* the first line that saves less than lines[0]; 0: none */
    cs_estimate lead_s;         /* of lines[0] over it; NAN where there is none */
} cs_trace_report;

/* Replay a trace. `config` describes one scenario without arrivals (no sweep); its ranks and sizes
 * are set here. Refused: other numbers of ranks than the trace has, calls without a size, a
 * baseline that cannot run. The caller owns the report (cs_trace_report_free) on CS_OK.
 * O(calls x lines) replays. */
CS_MUST_CHECK cs_status cs_trace_whatif(cs_config *config, const cs_arrival_trace *trace,
                                        const cs_trace_options *options, cs_trace_report *report_p,
                                        cs_error *err);

/* `{0}` is allowed. */
void cs_trace_report_free(cs_trace_report *report);

/* ---- the report as text (trace_whatif_text.c) ---- */

/* Add a table: the lines by place, what refuses and why, and which one to take. */
void cs_trace_table(const cs_trace_report *report, const cs_arrival_trace *trace, cs_text *text);

/* Add one object with the notes of the trace; numbers read back exactly, what is not known or never
 * is null. */
void cs_trace_json(const cs_trace_report *report, const cs_arrival_trace *trace,
                   const cs_arrival_notes *notes, cs_text *text);

/* Add a CSV: one line per line of the report. */
void cs_trace_csv(const cs_trace_report *report, cs_text *text);

#endif
