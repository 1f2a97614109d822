/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of a trace for people and for programs: see whatif/trace_text.h. */
#include "whatif/trace_text.h"

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
    cs_text_add(text, "%5s  %-18s %-10s", place, line->algorithm,
                cs_trace_policy_name(line->policy));
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
static void add_verdict(const cs_trace_report *report, const time_unit *unit, cs_text *text)
{
    const cs_trace_line *first = &report->lines[0], *second = &report->lines[report->second];
    const char          *policy = cs_trace_policy_name(first->policy);
    bool                 is_way = first->policy != CS_TRACE_PLAIN;

    cs_text_add(text, "\nbest: %s%s%s%s", first->algorithm, is_way ? " (" : "",
                is_way ? policy : "", is_way ? ")" : "");
    if (first->is_baseline) {
        cs_text_add(text, ", the baseline");
    }
    if (isnan(report->lead_s.value)) {
        cs_text_add(text, "\n");
        return;
    }
    is_way = second->policy != CS_TRACE_PLAIN;
    cs_text_add(text, ", %.4g %s a call ahead of %s%s%s%s", report->lead_s.value * unit->factor,
                unit->name, second->algorithm, is_way ? " (" : "",
                is_way ? cs_trace_policy_name(second->policy) : "", is_way ? ")" : "");
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
    add_verdict(report, &unit, text);
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

static void add_number(const char *key, double value, cs_text *text)
{
    cs_text_add(text, ", \"%s\": ", key);
    cs_text_add_number(text, value);
}

/* key, key_low, key_high with the unit behind each */
static void add_interval(const char *key, const char *unit, const cs_estimate *interval,
                         cs_text *text)
{
    char name[48];

    (void)snprintf(name, sizeof name, "%s_%s", key, unit);
    add_number(name, interval->value, text);
    (void)snprintf(name, sizeof name, "%s_low_%s", key, unit);
    add_number(name, interval->low, text);
    (void)snprintf(name, sizeof name, "%s_high_%s", key, unit);
    add_number(name, interval->high, text);
}

static void add_line_json(const cs_trace_line *line, bool is_first, cs_text *text)
{
    bool is_late = line->policy != CS_TRACE_PLAIN;

    cs_text_add(text, "%s\n  {\"algorithm\": ", is_first ? "" : ",");
    cs_text_add_json_string(text, line->algorithm);
    cs_text_add(text, ", \"policy\": ");
    cs_text_add_json_string(text, is_late ? cs_trace_policy_name(line->policy) : NULL);
    cs_text_add(text, ", \"available\": %s, \"baseline\": %s, \"place\": ",
                line->is_available ? "true" : "false", line->is_baseline ? "true" : "false");
    cs_text_add_number(text, line->place > 0 ? line->place : (double)NAN);
    cs_text_add(text, ", \"reason\": ");
    cs_text_add_json_string(text, line->reason);
    if (line->is_available) {
        add_number("exposed_s", line->exposed_s, text);
        add_interval("saved", "s", &line->saved_s, text);
        add_number("saved_total_s", line->total_s, text);
        add_number("won_ratio", line->won_ratio, text);
        add_number("break_even_s", line->break_even_s, text);
        cs_text_add(text, ", \"breaks_even\": %s", isfinite(line->break_even_s) ? "true" : "false");
        add_interval("saved_per_day", "gpu_hours", &line->day_gpu_hours, text);
    }
    cs_text_add(text, "}");
}

void cs_trace_json(const cs_trace_report *report, const cs_arrival_trace *trace,
                   const cs_arrival_notes *notes, cs_text *text)
{
    cs_text_add(text, "{\"ranks\": %u, \"calls\": %zu, \"straggler\": %u", trace->n_ranks,
                trace->n_calls, report->straggler);
    add_number("period_s", report->period_s, text);
    add_number("zero_wait_s", report->zero_wait_s, text);
    cs_arrival_notes_json(notes, text);
    cs_text_add(text, ", \"break_even_bytes\": %llu, \"best\": ",
                (unsigned long long)report->break_even_bytes);
    cs_text_add_json_string(text, report->lines[0].algorithm);
    add_interval("lead", "s", &report->lead_s, text);
    cs_text_add(text, ",\n \"lines\": [");
    for (size_t i = 0; i < report->n_lines; i++) {
        add_line_json(&report->lines[i], i == 0, text);
    }
    cs_text_add(text, "]}\n");
}

/* A number, or nothing where there is none. */
static void add_field(double value, cs_text *text)
{
    cs_text_add(text, ",");
    if (isfinite(value)) {
        cs_text_add_number(text, value);
    }
}

void cs_trace_csv(const cs_trace_report *report, cs_text *text)
{
    cs_text_add(text, "algorithm,policy,place,exposed_s,saved_s,saved_low_s,saved_high_s,"
                      "saved_total_s,won_ratio,break_even_s,saved_per_day_gpu_hours,"
                      "saved_per_day_low_gpu_hours,saved_per_day_high_gpu_hours,reason\n");
    for (size_t i = 0; i < report->n_lines; i++) {
        const cs_trace_line *line     = &report->lines[i];
        const double         values[] = {line->exposed_s,         line->saved_s.value,
                                         line->saved_s.low,       line->saved_s.high,
                                         line->total_s,           line->won_ratio,
                                         line->break_even_s,      line->day_gpu_hours.value,
                                         line->day_gpu_hours.low, line->day_gpu_hours.high};
        cs_text_add_csv_field(text, line->algorithm);
        cs_text_add(text, ",");
        cs_text_add_csv_field(
            text, line->policy != CS_TRACE_PLAIN ? cs_trace_policy_name(line->policy) : "");
        add_field(line->place > 0 ? line->place : (double)NAN, text);
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            add_field(line->is_available ? values[v] : (double)NAN, text);
        }
        cs_text_add(text, ",");
        cs_text_add_csv_field(text, line->reason != NULL ? line->reason : "");
        cs_text_add(text, "\n");
    }
}
