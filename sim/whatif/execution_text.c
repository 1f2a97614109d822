/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of a what-if on an execution trace as a table, as JSON and as CSV. */
#include "base/column.h"
#include "output/look.h"
#include "whatif/execution.h"

#include <math.h>
#include <stdio.h>

#define LEAST_RATIO 1e-9 /* of an iteration: less is rounding */

/* What times are printed in: milliseconds, unless an iteration takes none. */
typedef struct time_unit {
    const char *name;
    double      factor;
} time_unit;

static time_unit unit_of(const cs_execution_report *report)
{
    return report->baseline.end_s < 1e-3 ? (time_unit){"us", 1e6} : (time_unit){"ms", 1e3};
}

/* "48 x allreduce of 1.2 to 25 MiB, ..", by collective. */
static void add_calls(const cs_execution_trace *t, cs_text *text)
{
    bool is_first = true;

    for (unsigned c = 0; c < CS_COLLECTIVE_COUNT; c++) {
        uint64_t n = 0, least = UINT64_MAX, most = 0;
        for (uint32_t i = 0; i < t->n_calls; i++) {
            if (t->calls[i].collective == c) {
                least = t->calls[i].bytes < least ? t->calls[i].bytes : least;
                most  = t->calls[i].bytes > most ? t->calls[i].bytes : most;
                n++;
            }
        }
        if (n > 0) {
            cs_text_add(text, "%s%llu %s of %llu", is_first ? "" : ", ", (unsigned long long)n,
                        cs_collective_name((cs_collective)c), (unsigned long long)least);
            cs_text_add(text, least < most ? " to %llu bytes" : " bytes", (unsigned long long)most);
            is_first = false;
        }
    }
    if (t->n_messages > 0) {
        cs_text_add(text, "%s%u messages", is_first ? "" : ", ", t->n_messages);
        is_first = false;
    }
    cs_text_add(text, "%s\n", is_first ? "no calls" : "");
}

static void add_head(const cs_execution_report *r, const time_unit *unit, cs_text *text)
{
    const cs_execution_trace *t = &r->trace;

    cs_text_add(text,
                "an iteration of %u ranks%s: %llu nodes, %u process groups; calls: ", t->n_ranks,
                t->is_one_file ? ", which all do the same" : "", (unsigned long long)t->n_nodes,
                t->n_groups);
    add_calls(t, text);
    cs_text_add(text, "%s", t->notes.length > 0 ? t->notes.data : "");
    if (r->defaults != NULL) {
        cs_text_add(text, "default: %s, as each group's servers suggest\n", r->defaults);
    }
    if (r->late_rank != UINT32_MAX) {
        cs_text_add(text, "rank %u begins last, %.6g %s after the first\n", r->late_rank,
                    r->late_s * unit->factor, unit->name);
    }
    cs_text_add(
        text,
        "%.6g %s if calls took no time; no schedules that use ports as these do end it before "
        "%.6g %s, in whatever order kernels run; those of a rank take up to %.6g %s\n",
        r->without_calls_s * unit->factor, unit->name, r->bound_s * unit->factor, unit->name,
        r->compute_s * unit->factor, unit->name);
    if (r->baseline.straggler != UINT32_MAX) {
        cs_text_add(text, "rank %u is waited for most often: last in %u of %u calls with a wait\n",
                    r->baseline.straggler, r->baseline.n_late, r->baseline.n_waited);
    }
    if (r->baseline.shared_s > LEAST_RATIO * r->baseline.end_s) {
        cs_text_add(text,
                    "a rank is in several calls or messages at once for up to %.6g %s: they do not "
                    "slow down each other here, so times may be too short\n",
                    r->baseline.shared_s * unit->factor, unit->name);
    }
    if (r->has_shared_links && r->baseline.at_once_s > LEAST_RATIO * r->baseline.end_s) {
        cs_text_add(text,
                    "several calls or messages are under way for %.6g %s: where groups meet on a "
                    "link or a NIC, they do not slow down each other here either\n",
                    r->baseline.at_once_s * unit->factor, unit->name);
    }
}

static void add_line(const cs_execution_line *line, const time_unit *unit, cs_text *text)
{
    char place[16] = "-", gap[32] = "-", own[16] = "-";

    if (line->place > 0) {
        (void)snprintf(place, sizeof place, "%u", line->place);
    }
    if (!isnan(line->gap)) {
        (void)snprintf(gap, sizeof gap, "%.4f", line->gap);
    }
    if (line->policy != CS_PREDICTION_HINDSIGHT) {
        (void)snprintf(own, sizeof own, "%u", line->n_own);
    }
    cs_text_add(text, "%5s  %-18s %-10s %13.4f %12.4f %12.4f %8s %9s%s\n", place, line->algorithm,
                cs_prediction_name(line->policy), line->iteration_s * unit->factor,
                line->exposed_s * unit->factor, line->saved_s * unit->factor, gap, own,
                line->is_baseline ? "  baseline" : "");
}

static void add_best(const cs_execution_report *report, const time_unit *unit, cs_text *text)
{
    const cs_execution_line *best   = &report->lines[0];
    bool                     is_way = best->policy != CS_PREDICTION_NONE;

    cs_text_add(text, "\nbest: %s%s%s%s", best->algorithm, is_way ? " (" : "",
                is_way ? cs_prediction_name(best->policy) : "", is_way ? ")" : "");
    if (best->is_baseline || !(best->saved_s > 0)) {
        cs_text_add(text, best->is_baseline ? ", the baseline\n" : ", as fast as the baseline\n");
    } else {
        cs_text_add(text, ", %.4g %s (%.3g %%) less an iteration than the baseline\n",
                    best->saved_s * unit->factor, unit->name,
                    100 * best->saved_s / report->baseline.end_s);
    }
    if (cs_look_is_flattered(best->algorithm, report->model)) {
        cs_text_add(text,
                    "messages that meet at one GPU cost nothing in %s: %s looks too good; "
                    "--model flow or packet counts them\n",
                    report->model, best->algorithm);
    }
}

void cs_execution_table(const cs_execution_report *report, cs_text *text)
{
    const time_unit unit = unit_of(report);
    size_t          i    = 0;

    add_head(report, &unit, text);
    cs_text_add(text, "\n%5s  %-18s %-10s %10s %s %9s %s %9s %s %8s %9s\n", "place", "algorithm",
                "known", "iteration", unit.name, "exposed", unit.name, "saved", unit.name,
                "x bound", "own calls");
    for (; i < report->n_lines && report->lines[i].is_available; i++) {
        add_line(&report->lines[i], &unit, text);
    }
    add_best(report, &unit, text);
    for (bool is_first = true; i < report->n_lines; i++, is_first = false) {
        cs_text_add(text, "%s  %-18s %-10s %s\n", is_first ? "\nnot here:\n" : "",
                    report->lines[i].algorithm, cs_prediction_name(report->lines[i].policy),
                    report->lines[i].reason != NULL ? report->lines[i].reason : "");
    }
}

/* What a line is in JSON and CSV. */
typedef struct line_row {
    uint64_t    place;
    const char *algorithm, *prediction;
    bool        is_baseline;
    double      iteration_s, exposed_s, saved_s, gap;
    uint32_t    own_calls;
    const char *reason;
} line_row;

/* clang-format off */
static const cs_column line_columns[] = {
    CS_COLUMN_MAYBE_AS("place", line_row, place),
    CS_COLUMN(line_row, algorithm),
    CS_COLUMN(line_row, prediction),
    CS_COLUMN_AS("baseline", line_row, is_baseline),
    CS_COLUMN(line_row, iteration_s),
    CS_COLUMN(line_row, exposed_s),
    CS_COLUMN(line_row, saved_s),
    CS_COLUMN(line_row, gap),
    CS_COLUMN(line_row, own_calls),
    CS_COLUMN(line_row, reason),
    CS_COLUMN_END,
};
/* clang-format on */

static line_row row_of(const cs_execution_line *line)
{
    return (line_row){
        .place       = line->place > 0 ? line->place : CS_NO_COUNT,
        .algorithm   = line->algorithm,
        .prediction  = line->policy == CS_PREDICTION_NONE ? NULL : cs_prediction_name(line->policy),
        .is_baseline = line->is_baseline,
        .iteration_s = line->iteration_s,
        .exposed_s   = line->exposed_s,
        .saved_s     = line->saved_s,
        .gap         = line->gap,
        .own_calls   = line->n_own,
        .reason      = line->reason};
}

typedef struct head_row {
    uint32_t    ranks, groups, calls, messages;
    uint64_t    nodes;
    double      compute_s, without_calls_s, bound_s;
    uint64_t    late_rank, straggler;
    double      late_s, shared_s, at_once_s;
    const char *model, *defaults;
    uint64_t    replays;
} head_row;

/* clang-format off */
static const cs_column head_columns[] = {
    CS_COLUMN(head_row, ranks),
    CS_COLUMN(head_row, groups),
    CS_COLUMN(head_row, nodes),
    CS_COLUMN(head_row, calls),
    CS_COLUMN(head_row, messages),
    CS_COLUMN(head_row, compute_s),
    CS_COLUMN(head_row, without_calls_s),
    CS_COLUMN(head_row, bound_s),
    CS_COLUMN_MAYBE_AS("late_rank", head_row, late_rank),
    CS_COLUMN(head_row, late_s),
    CS_COLUMN_MAYBE_AS("straggler", head_row, straggler),
    CS_COLUMN(head_row, shared_s),
    CS_COLUMN(head_row, at_once_s),
    CS_COLUMN(head_row, model),
    CS_COLUMN(head_row, defaults),
    CS_COLUMN(head_row, replays),
    CS_COLUMN_END,
};
/* clang-format on */

void cs_execution_json(const cs_execution_report *r, cs_text *text)
{
    const cs_execution_trace *t    = &r->trace;
    const head_row            head = {
                   .ranks           = t->n_ranks,
                   .groups          = t->n_groups,
                   .calls           = t->n_calls,
                   .messages        = t->n_messages,
                   .nodes           = t->n_nodes,
                   .compute_s       = r->compute_s,
                   .without_calls_s = r->without_calls_s,
                   .bound_s         = r->bound_s,
                   .late_rank       = r->late_rank != UINT32_MAX ? r->late_rank : CS_NO_COUNT,
                   .straggler = r->baseline.straggler != UINT32_MAX ? r->baseline.straggler : CS_NO_COUNT,
                   .late_s    = r->late_s,
                   .at_once_s = r->baseline.at_once_s,
                   .model     = r->model,
                   .defaults  = r->defaults,
                   .shared_s  = r->baseline.shared_s,
                   .replays   = r->n_replays,
    };

    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){head_columns, &head, false});
    cs_json_key(text, "notes");
    cs_text_add_json_string(text, t->notes.length > 0 ? t->notes.data : NULL);
    cs_json_key(text, "lines");
    cs_text_add(text, "[\n");
    for (size_t i = 0; i < r->n_lines; i++) {
        const line_row row = row_of(&r->lines[i]);
        cs_text_add(text, "  {");
        cs_json_row(text, &(cs_row){line_columns, &row, false});
        cs_text_add(text, i + 1 < r->n_lines ? "},\n" : "}\n");
    }
    cs_text_add(text, "]}\n");
}

void cs_execution_csv(const cs_execution_report *report, cs_text *text)
{
    for (size_t i = 0; i < report->n_lines; i++) {
        const line_row row = row_of(&report->lines[i]);
        if (i == 0) {
            cs_csv_keys(text, line_columns);
            cs_csv_end(text);
        }
        cs_csv_row(text, &(cs_row){line_columns, &row, false});
        cs_csv_end(text);
    }
}
