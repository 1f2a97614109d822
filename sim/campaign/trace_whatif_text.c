/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of a what-if on a trace as a table, as JSON and as CSV. */
#include "campaign/trace_whatif.h"

#include "base/column.h"
#include "traces/skew_text.h"

#include <math.h>
#include <stdio.h>

#define SAME_MACHINE 1.5 /* times that differ by less may be of one machine */
#define MS           1e3 /* in lines that name it */

/* What the table's times are printed in: milliseconds, unless no call of the baseline takes one. */
typedef struct time_unit {
    const char *name;
    double      factor;
} time_unit;

static time_unit unit_of(const cs_trace_report *report)
{
    for (size_t i = 0; i < report->n_lines; i++) {
        if (report->lines[i].is_baseline && report->lines[i].exposed_s < 1e-3) {
            return (time_unit){"us", 1e6};
        }
    }
    return (time_unit){"ms", 1e3};
}

/* Half the width of an interval, or nothing. */
static void add_half(const cs_estimate *interval, double factor, int width, cs_text *text)
{
    if (isnan(interval->low)) {
        cs_text_add(text, " %*s", width, "-");
    } else {
        cs_text_add(text, " %*.4g", width, (interval->high - interval->low) / 2 * factor);
    }
}

static void add_line(const cs_trace_line *line, const time_unit *unit, cs_text *text)
{
    char place[16] = "-";

    if (line->place > 0) {
        (void)snprintf(place, sizeof place, "%u", line->place);
    }
    cs_text_add(text, "%5s  %-18s %-10s", place, line->algorithm, cs_prediction_name(line->policy));
    cs_text_add(text, " %12.4f %12.4f", line->exposed_s * unit->factor,
                line->saved_s.value * unit->factor);
    add_half(&line->saved_s, unit->factor, 9, text);
    cs_text_add(text, " %8.1f", 100 * line->won_ratio);
    if (isnan(line->break_even_s)) {
        cs_text_add(text, " %12s", "-");
    } else if (isinf(line->break_even_s)) {
        cs_text_add(text, " %12s", "never");
    } else {
        cs_text_add(text, " %12.4f", line->break_even_s * unit->factor);
    }
    if (isnan(line->day_gpu_hours.value)) {
        cs_text_add(text, " %12s %9s", "-", "-");
    } else {
        cs_text_add(text, " %12.4f", line->day_gpu_hours.value);
        add_half(&line->day_gpu_hours, 1, 9, text);
    }
    cs_text_add(text, "%s\n", line->is_baseline ? "  baseline" : "");
}

/* One or two sentences: what to run. */
static void add_best(const cs_trace_report *report, const time_unit *unit, cs_text *text)
{
    const cs_trace_line *first = &report->lines[0], *second = &report->lines[report->second];
    const char          *policy = cs_prediction_name(first->policy);
    bool                 is_way = first->policy != CS_PREDICTION_NONE;

    cs_text_add(text, "\nbest: %s%s%s%s", first->algorithm, is_way ? " (" : "",
                is_way ? policy : "", is_way ? ")" : "");
    if (first->is_baseline) {
        cs_text_add(text, ", the baseline");
    }
    if (isnan(report->lead_s.value)) {
        cs_text_add(text, "\n");
        return;
    }
    is_way = second->policy != CS_PREDICTION_NONE;
    cs_text_add(text, ", %.4g %s a call ahead of %s%s%s%s", report->lead_s.value * unit->factor,
                unit->name, second->algorithm, is_way ? " (" : "",
                is_way ? cs_prediction_name(second->policy) : "", is_way ? ")" : "");
    if (isnan(report->lead_s.low)) {
        cs_text_add(text, "; one call says nothing about others\n");
    } else if (report->lead_s.low > 0) {
        cs_text_add(text, " (95 %%: %.4g .. %.4g)\n", report->lead_s.low * unit->factor,
                    report->lead_s.high * unit->factor);
    } else {
        cs_text_add(text, " (95 %%: %.4g .. %.4g, so the two cannot be told apart)\n",
                    report->lead_s.low * unit->factor, report->lead_s.high * unit->factor);
    }
}

/* Is the cluster of the replay the one of the trace? */
static void add_measured(const cs_trace_report *report, const time_unit *unit, cs_text *text)
{
    const cs_trace_line *line = report->lines;

    if (isnan(report->zero_wait_s)) {
        return;
    }
    while (!line->is_baseline) {
        line++;
    }
    double ratio = report->zero_wait_s / line->exposed_s;
    cs_text_add(text,
                "once all ranks were there, a call of the trace took %.6g %s, of the baseline "
                "%.6g %s",
                report->zero_wait_s * unit->factor, unit->name, line->exposed_s * unit->factor,
                unit->name);
    if (ratio > SAME_MACHINE || ratio < 1 / SAME_MACHINE) {
        cs_text_add(text, ": the cluster is not that of the trace (--calibration FILE, or --alpha "
                          "and --bandwidth), and nor are the times that are saved");
    }
    cs_text_add(text, "\n");
}

void cs_trace_table(const cs_trace_report *report, const cs_arrival_trace *trace, cs_text *text)
{
    const time_unit unit = unit_of(report);
    char            per_call[16], delay[16];

    (void)snprintf(per_call, sizeof per_call, "(%s/call)", unit.name);
    (void)snprintf(delay, sizeof delay, "delay (%s)", unit.name);
    cs_text_add(text, "%5s  %-18s %-10s %12s %12s %9s %8s %12s %12s %9s\n", "", "", "straggler",
                "exposed", "saved", "95 %", "calls", "break-even", "saved", "95 %");
    cs_text_add(text, "%5s  %-18s %-10s %12s %12s %9s %8s %12s %12s %9s\n", "place", "algorithm",
                "is", per_call, per_call, "+-", "won (%)", delay, "(GPU-h/day)", "+-");
    for (size_t i = 0; i < report->n_lines; i++) {
        if (report->lines[i].is_available) {
            add_line(&report->lines[i], &unit, text);
        }
    }
    for (size_t i = 0; i < report->n_lines; i++) {
        const cs_trace_line *line = &report->lines[i];
        if (!line->is_available) {
            cs_text_add(text, "    -  %-18s not available: %s\n", line->algorithm, line->reason);
        }
    }
    add_best(report, &unit, text);
    add_measured(report, &unit, text);
    cs_text_add(text, "static: rank %u is presumed late; break-even delays at %llu bytes",
                report->straggler, (unsigned long long)report->break_even_bytes);
    if (isnan(report->period_s)) {
        cs_text_add(text, "\nGPU-hours need the time from call to call: --period");
    } else {
        cs_text_add(text, "; GPU-hours of %u GPUs with a call every %.6g ms", trace->n_ranks,
                    report->period_s * MS);
    }
    cs_text_add(text, "\n");
}

/* ---- rows for programs ---- */

/* A line beside its numbers. */
typedef struct line_row {
    const char *algorithm, *policy;
    bool        available, baseline;
    double      place; /* NAN: none */
    const char *reason;
    bool        breaks_even;
} line_row;

/* An estimate of the report or of a line: `key` and `unit` are the ends of its name. */
#define ESTIMATE(type, key, unit, member)                 \
    CS_COLUMN_AS(key "_" unit, type, member.value),       \
        CS_COLUMN_AS(key "_low_" unit, type, member.low), \
        CS_COLUMN_AS(key "_high_" unit, type, member.high)

static const cs_column name_columns[] = {
    CS_COLUMN(line_row, algorithm),
    CS_COLUMN(line_row, policy),
    CS_COLUMN_END,
};
static const cs_column state_columns[] = {
    CS_COLUMN(line_row, available),
    CS_COLUMN(line_row, baseline),
    CS_COLUMN_END,
};
static const cs_column place_columns[]       = {CS_COLUMN(line_row, place), CS_COLUMN_END};
static const cs_column reason_columns[]      = {CS_COLUMN(line_row, reason), CS_COLUMN_END};
static const cs_column breaks_even_columns[] = {CS_COLUMN(line_row, breaks_even), CS_COLUMN_END};
static const cs_column time_columns[]        = {
           CS_COLUMN(cs_trace_line, exposed_s),
           ESTIMATE(cs_trace_line, "saved", "s", saved_s),
           CS_COLUMN_AS("saved_total_s", cs_trace_line, total_s),
           CS_COLUMN(cs_trace_line, won_ratio),
           CS_COLUMN(cs_trace_line, break_even_s),
           CS_COLUMN_END,
};
static const cs_column hour_columns[] = {
    ESTIMATE(cs_trace_line, "saved_per_day", "gpu_hours", day_gpu_hours),
    CS_COLUMN_END,
};
static const cs_column head_columns[] = {
    CS_COLUMN(cs_trace_report, straggler),
    CS_COLUMN(cs_trace_report, period_s),
    CS_COLUMN(cs_trace_report, zero_wait_s),
    CS_COLUMN_END,
};
static const cs_column break_even_columns[] = {CS_COLUMN(cs_trace_report, break_even_bytes),
                                               CS_COLUMN_END};
static const cs_column lead_columns[]       = {
          ESTIMATE(cs_trace_report, "lead", "s", lead_s),
          CS_COLUMN_END,
};

static line_row row_of(const cs_trace_line *line)
{
    bool is_late = line->policy != CS_PREDICTION_NONE;

    return (line_row){.algorithm   = line->algorithm,
                      .policy      = is_late ? cs_prediction_name(line->policy) : NULL,
                      .available   = line->is_available,
                      .baseline    = line->is_baseline,
                      .place       = line->place > 0 ? line->place : (double)NAN,
                      .reason      = line->reason,
                      .breaks_even = isfinite(line->break_even_s)};
}

static void add_line_json(const cs_trace_line *line, cs_text *text)
{
    const line_row row = row_of(line);

    cs_json_next(text, "\n  ", "\n  ");
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){name_columns, &row, false});
    cs_json_row(text, &(cs_row){state_columns, &row, false});
    cs_json_row(text, &(cs_row){place_columns, &row, false});
    cs_json_row(text, &(cs_row){reason_columns, &row, false});
    if (line->is_available) {
        cs_json_row(text, &(cs_row){time_columns, line, false});
        cs_json_row(text, &(cs_row){breaks_even_columns, &row, false});
        cs_json_row(text, &(cs_row){hour_columns, line, false});
    }
    cs_text_add(text, "}");
}

void cs_trace_json(const cs_trace_report *report, const cs_arrival_trace *trace,
                   const cs_arrival_notes *notes, cs_text *text)
{
    cs_text_add(text, "{");
    cs_arrival_trace_json(trace, text);
    cs_json_row(text, &(cs_row){head_columns, report, false});
    cs_arrival_notes_json(notes, text);
    cs_json_row(text, &(cs_row){break_even_columns, report, false});
    cs_json_key(text, "best");
    cs_text_add_json_string(text, report->lines[0].algorithm);
    cs_json_row(text, &(cs_row){lead_columns, report, false});
    cs_text_add(text, ",\n \"lines\": [");
    for (size_t i = 0; i < report->n_lines; i++) {
        add_line_json(&report->lines[i], text);
    }
    cs_text_add(text, "]}\n");
}

void cs_trace_csv(const cs_trace_report *report, cs_text *text)
{
    cs_csv_keys(text, name_columns);
    cs_csv_keys(text, place_columns);
    cs_csv_keys(text, time_columns);
    cs_csv_keys(text, hour_columns);
    cs_csv_keys(text, reason_columns);
    cs_csv_end(text);
    for (size_t i = 0; i < report->n_lines; i++) {
        const cs_trace_line *line = &report->lines[i];
        const line_row       row  = row_of(line);
        cs_csv_row(text, &(cs_row){name_columns, &row, false});
        cs_csv_row(text, &(cs_row){place_columns, &row, false});
        cs_csv_row(text, &(cs_row){time_columns, line, false});
        cs_csv_row(text, &(cs_row){hour_columns, line, false});
        cs_csv_row(text, &(cs_row){reason_columns, &row, false});
        cs_csv_end(text);
    }
}
