/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the calls of every line are worth: see trace_judgement.h. */
#include "whatif/trace_judgement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_HOURS  24.0
#define SAME_RATIO 1e-12 /* times that differ by less are the same */

typedef struct judging {
    const cs_arrival_trace *trace;
    cs_trace_report        *report;
    double                 *values;  /* [n_calls] */
    double                  scale_s; /* longest call of the baseline */
} judging;

/* The fastest line of each call. */
static bool add_hindsight(const judging *j)
{
    cs_trace_report *report = j->report;
    cs_trace_line   *best   = &report->lines[report->n_lines];
    double          *least  = CS_ARENA_NEW(&report->arena, double, j->trace->n_calls);

    if (least == NULL) {
        return false;
    }
    for (size_t c = 0; c < j->trace->n_calls; c++) {
        least[c] = report->lines[0].call_s[c];
        for (size_t i = 1; i < report->n_lines; i++) {
            const cs_trace_line *line = &report->lines[i];
            least[c] = line->is_available ? fmin(least[c], line->call_s[c]) : least[c];
        }
    }
    *best = (cs_trace_line){.algorithm    = "best of all",
                            .policy       = CS_TRACE_HINDSIGHT,
                            .is_available = true,
                            .break_even_s = (double)NAN,
                            .call_s       = least};
    report->n_lines++;
    return true;
}

static void judge_line(const judging *j, cs_trace_line *line)
{
    const double *base = j->report->lines[0].call_s;
    size_t        n = j->trace->n_calls, n_won = 0;
    double        period = j->report->period_s;

    for (size_t c = 0; c < n; c++) {
        j->values[c] = base[c] - line->call_s[c];
        j->values[c] = fabs(j->values[c]) > SAME_RATIO * base[c] ? j->values[c] : 0;
        line->exposed_s += line->call_s[c] / (double)n;
        line->total_s += j->values[c];
        n_won += j->values[c] > 0;
    }
    line->saved_s       = cs_estimate_series(j->values, n, j->scale_s, 0.95);
    line->won_ratio     = (double)n_won / (double)n;
    double factor       = j->trace->n_ranks * DAY_HOURS / period;
    line->day_gpu_hours = (cs_estimate){line->saved_s.value * factor, line->saved_s.low * factor,
                                        line->saved_s.high * factor};
}

/* What saves more; what was asked for first. */
static int compare(const void *left, const void *right)
{
    const cs_trace_line *a = left, *b = right;

    if (a->is_available != b->is_available) {
        return a->is_available ? -1 : 1;
    }
    if ((a->policy == CS_TRACE_HINDSIGHT) != (b->policy == CS_TRACE_HINDSIGHT)) {
        return a->policy == CS_TRACE_HINDSIGHT ? 1 : -1;
    }
    if (a->is_available && a->saved_s.value != b->saved_s.value) {
        return a->saved_s.value > b->saved_s.value ? -1 : 1;
    }
    if (a->is_baseline != b->is_baseline) {
        return a->is_baseline ? -1 : 1;
    }
    int order = strcmp(a->algorithm, b->algorithm);
    return order != 0 ? order : (a->policy > b->policy) - (a->policy < b->policy);
}

/* How far the first of `n` lines is ahead of the first that is slower. */
static void set_lead(judging *j, size_t n)
{
    cs_trace_report *report = j->report;
    size_t           second = 1;

    while (second < n && report->lines[second].place == 1) {
        second++;
    }
    report->second = second < n ? second : 0;
    report->lead_s = (cs_estimate){(double)NAN, (double)NAN, (double)NAN};
    if (report->second > 0) {
        for (size_t c = 0; c < j->trace->n_calls; c++) {
            j->values[c] = report->lines[second].call_s[c] - report->lines[0].call_s[c];
        }
        report->lead_s = cs_estimate_series(j->values, j->trace->n_calls, j->scale_s, 0.95);
    }
}

/* The lines in their order, with places. */
static void rank_lines(judging *j)
{
    cs_trace_report *report = j->report;
    uint32_t         n      = 0;

    for (size_t c = 0; c < j->trace->n_calls; c++) {
        j->scale_s = fmax(j->scale_s, report->lines[0].call_s[c]);
    }
    for (size_t i = report->n_lines; i-- > 0;) {
        if (report->lines[i].is_available) {
            judge_line(j, &report->lines[i]);
        }
    }
    qsort(report->lines, report->n_lines, sizeof report->lines[0], compare);
    for (size_t i = 0; i < report->n_lines; i++) {
        cs_trace_line *line = &report->lines[i];
        bool           is_tied =
            i > 0 && line[-1].saved_s.value - line->saved_s.value <= SAME_RATIO * j->scale_s;
        if (line->is_available && line->policy != CS_TRACE_HINDSIGHT) {
            n           = (uint32_t)i + 1;
            line->place = is_tied ? line[-1].place : n;
        }
    }
    set_lead(j, n);
}

cs_status cs_trace_judge(const cs_arrival_trace *trace, cs_trace_report *report, cs_error *err)
{
    judging j = {.trace  = trace,
                 .report = report,
                 .values = CS_ARENA_NEW(&report->arena, double, trace->n_calls)};

    if (j.values == NULL || !add_hindsight(&j)) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for %zu calls", trace->n_calls);
    }
    rank_lines(&j);
    return CS_OK;
}
