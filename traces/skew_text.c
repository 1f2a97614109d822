/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/skew_text.h"

#include "base/column.h"
#include "traces/nccl_names.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 64, CDF_STEPS = 100 };

/* What is finer is no clock's, but what is left of a double. */
#define LEAST_RESOLUTION_S 1e-12

/* What times are printed in. */
typedef struct time_unit {
    const char *name, *in_brackets;
    double      factor;
} time_unit;

/* Milliseconds, unless nobody waits that long for anybody. */
static time_unit unit_of(const cs_skew *skew)
{
    return skew->spread_s.max < 1e-3 ? (time_unit){"us", "(us)", 1e6}
                                     : (time_unit){"ms", "(ms)", 1e3};
}

/* "3 calls of 8 ranks, 4096 .. 8192 bytes each" */
static void add_counts(const cs_arrival_trace *trace, cs_text *text)
{
    uint64_t least = 0, most = 0;

    cs_text_add(text, "%zu call%s of %u ranks", trace->n_calls, trace->n_calls == 1 ? "" : "s",
                trace->n_ranks);
    for (size_t c = 0; trace->bytes != NULL && c < trace->n_calls; c++) {
        least = c == 0 || trace->bytes[c] < least ? trace->bytes[c] : least;
        most  = trace->bytes[c] > most ? trace->bytes[c] : most;
    }
    if (trace->bytes != NULL && least == most) {
        cs_text_add(text, ", %llu bytes each", (unsigned long long)most);
    } else if (trace->bytes != NULL) {
        cs_text_add(text, ", %llu .. %llu bytes", (unsigned long long)least,
                    (unsigned long long)most);
    }
}

void cs_arrival_head(const cs_arrival_trace *trace, const cs_arrival_notes *notes, cs_text *text)
{
    cs_text_add(text, "%s: ", notes->format);
    add_counts(trace, text);
    if (!isnan(notes->period_s)) {
        cs_text_add(text, ", one every %.6g ms", notes->period_s * 1e3);
    }
    cs_text_add(text, "\n");
    cs_arrival_notes_text(notes, text);
}

static void add_rank_row(const cs_arrival_trace *trace, const cs_skew *skew, uint32_t r,
                         const time_unit *unit, cs_text *text)
{
    const cs_skew_rank *rank  = &skew->ranks[r];
    const char         *cause = cs_late_cause_name(rank->cause);

    cs_text_add(text, "%6u %10.4f %10.4f %10.4f %10.4f %10.4f %10.4f %8zu %7.1f",
                cs_trace_number(trace, r), rank->arrival_s.mean.value * unit->factor,
                rank->arrival_s.p50.value * unit->factor, rank->arrival_s.p95.value * unit->factor,
                rank->arrival_s.p99.value * unit->factor, rank->arrival_s.max * unit->factor,
                rank->wait_mean_s * unit->factor, rank->n_last,
                100.0 * (double)rank->n_last / (double)skew->n_calls);
    if (cause != NULL) {
        cs_text_add(text, "  %s", cause);
    }
    cs_text_add(text, "%s\n", r == skew->straggler ? "  <- straggler" : "");
}

/* Is rank a last more often than rank b, or as often and the lower one? */
static bool comes_before(const cs_skew *skew, uint32_t a, uint32_t b)
{
    size_t last_a = skew->ranks[a].n_last, last_b = skew->ranks[b].n_last;
    return last_a != last_b ? last_a > last_b : a < b;
}

/* The MAX_ROWS-th of those that are last most often, or the last of all in that order. */
static uint32_t least_shown(const cs_skew *skew)
{
    uint32_t least = 0;

    for (uint32_t r = 1; r < skew->n_ranks; r++) { /* not the straggler, which may leave late */
        least = comes_before(skew, r, least) ? r : least;
    }
    for (uint32_t row = 1; row < MAX_ROWS && row < skew->n_ranks; row++) {
        uint32_t next = UINT32_MAX;
        for (uint32_t r = 0; r < skew->n_ranks; r++) {
            if (comes_before(skew, least, r) &&
                (next == UINT32_MAX || comes_before(skew, r, next))) {
                next = r;
            }
        }
        least = next;
    }
    return least;
}

static void add_spread_row(const char *name, const cs_spread *spread, const time_unit *unit,
                           cs_text *text)
{
    if (!isnan(spread->mean.value)) {
        cs_text_add(text, "%-34s %10.4f %10.4f %10.4f %10.4f %10.4f\n", name,
                    spread->mean.value * unit->factor, spread->p50.value * unit->factor,
                    spread->p95.value * unit->factor, spread->p99.value * unit->factor,
                    spread->max * unit->factor);
    }
}

/* The largest difference between the ends of a call; 0 where it is no more than the trace's
 * resolution, NAN where the ends are not measured. */
static double measured_end_spread_s(const cs_skew *skew, const cs_arrival_notes *notes)
{
    if (isnan(notes->end_resolution_s)) {
        return (double)NAN;
    }
    return skew->end_spread_s <= notes->end_resolution_s ? 0 : skew->end_spread_s;
}

static void add_ends(const cs_skew *skew, const cs_arrival_notes *notes, const time_unit *unit,
                     cs_text *text)
{
    double spread_s = measured_end_spread_s(skew, notes);

    if (spread_s > 0) {
        cs_text_add(text, "ranks leave a call within %.4g %s of each other\n",
                    spread_s * unit->factor, unit->name);
    } else if (spread_s == 0 && notes->end_resolution_s >= LEAST_RESOLUTION_S) {
        cs_text_add(text,
                    "ranks leave a call together, as finely as its times are given (%.2g %s)\n",
                    notes->end_resolution_s * unit->factor, unit->name);
    } else if (spread_s == 0) {
        cs_text_add(text, "ranks leave a call together\n");
    }
}

/* Why the straggler is late, and how that stands to the clocks' error. */
static void add_why(const cs_arrival_trace *trace, const cs_skew *skew, const time_unit *unit,
                    cs_text *text)
{
    const cs_skew_rank *rank   = &skew->ranks[skew->straggler];
    const double        late_s = rank->cause == CS_LATE_NETWORK ? rank->left_s : rank->came_s;
    size_t              n_late = skew->n_calls - rank->n_late[CS_LATE_NOT];

    cs_text_add(text, "it %s %.4g %s %s the first quarter of the others on average",
                rank->cause == CS_LATE_NETWORK ? "leaves" : "comes", fabs(late_s) * unit->factor,
                unit->name, late_s < 0 ? "before" : "behind");
    if (trace->clock_error_s > 0) {
        double times = fabs(late_s) / trace->clock_error_s;
        cs_text_add(text,
                    times < 100 ? ", %.3g times the clocks' error (%.3g %s)"
                                : ", %.0f times the clocks' error (%.3g %s)",
                    times, trace->clock_error_s * unit->factor, unit->name);
    }
    cs_text_add(text, "\n");
    if (rank->cause != CS_LATE_NOT) {
        cs_text_add(text, "why: %s (in %zu of the %zu calls in which it is late)\n",
                    cs_late_cause_words(rank->cause), rank->n_late[rank->cause], n_late);
    } else {
        cs_text_add(text, "it is not late so often that it is more than chance\n");
    }
}

/* How its lateness goes from call to call; nothing to say where it is always alike. */
static void add_pattern(const cs_skew *skew, const time_unit *unit, cs_text *text)
{
    const cs_pattern *p = &skew->pattern;

    switch (p->kind) {
    case CS_PATTERN_PERIODIC:
        cs_text_add(text, "when: its lateness repeats every %zu calls\n", p->period_calls);
        break;
    case CS_PATTERN_DRIFTING:
        cs_text_add(text, "when: it comes %.4g %s %s from call to call\n",
                    fabs(p->slope_s_per_call) * unit->factor, unit->name,
                    p->slope_s_per_call > 0 ? "later" : "earlier");
        break;
    case CS_PATTERN_CHANGING:
        cs_text_add(text, "when: %.4g %s behind", p->mean_s[0] * unit->factor, unit->name);
        for (size_t i = 0; i < p->n_changes; i++) {
            cs_text_add(text, "%s %.4g %s from call %zu on", i == 0 ? " at first," : ",",
                        p->mean_s[i + 1] * unit->factor, unit->name, p->change[i]);
        }
        cs_text_add(text, "\n");
        break;
    case CS_PATTERN_STEADY:
    case CS_PATTERN_KINDS: break;
    }
}

/* A line for each server or rail of which most ranks are late by one cause. */
static void add_late_parts(const cs_skew_part *parts, uint32_t n, const char *what,
                           char *const *names, const time_unit *unit, cs_text *text)
{
    for (uint32_t p = 0; p < n; p++) {
        const char *cause = cs_late_cause_name(parts[p].cause);
        char        name[80];
        if (parts[p].cause == CS_LATE_NOT || parts[p].n_ranks < 2) {
            continue;
        }
        cs_plain_text(name, sizeof name, names != NULL ? names[p] : "");
        cs_text_add(text, "%s ", what);
        if (names != NULL) {
            cs_text_add(text, "%s", name);
        } else {
            cs_text_add(text, "%u", p);
        }
        cs_text_add(text, ": most of its %u ranks are late, %.4g %s behind the others%s%s\n",
                    parts[p].n_ranks,
                    (parts[p].cause == CS_LATE_NETWORK ? parts[p].left_s : parts[p].came_s) *
                        unit->factor,
                    unit->name, cause != NULL ? ": " : "", cause != NULL ? cause : "");
    }
}

static void add_parts(const cs_arrival_trace *trace, const cs_skew *skew, const time_unit *unit,
                      cs_text *text)
{
    add_late_parts(skew->servers, skew->n_servers, "server", trace->server_names, unit, text);
    add_late_parts(skew->rails, skew->n_rails, "rail", NULL, unit, text);
}

void cs_skew_table(const cs_arrival_trace *trace, const cs_skew *skew,
                   const cs_arrival_notes *notes, cs_text *text)
{
    uint32_t        least = least_shown(skew);
    const time_unit unit  = unit_of(skew);
    const char     *in    = unit.in_brackets;

    cs_arrival_head(trace, notes, text);
    cs_text_add(text, "\n%6s %10s %10s %10s %10s %10s %10s %8s %7s\n", "", "arrival", "p50", "p95",
                "p99", "max", "waits", "last in", "calls");
    cs_text_add(text, "%6s %10s %10s %10s %10s %10s %10s %8s %7s\n", "rank", in, in, in, in, in, in,
                "", "(%)");
    for (uint32_t r = 0; r < skew->n_ranks; r++) {
        if (r == least || comes_before(skew, r, least)) {
            add_rank_row(trace, skew, r, &unit, text);
        }
    }
    if (skew->n_ranks > MAX_ROWS) {
        cs_text_add(text, "   ... and %u more: --format csv has all\n", skew->n_ranks - MAX_ROWS);
    }
    cs_text_add(text, "\nrank %u %s in %.1f %% of the calls",
                cs_trace_number(trace, skew->straggler),
                skew->ranks[skew->straggler].cause == CS_LATE_NETWORK ? "comes with the others and "
                                                                        "leaves late"
                                                                      : "is last",
                100 * skew->last_ratio);
    if (!isnan(skew->repeat_ratio)) {
        cs_text_add(text, "; the last rank is that of the call before in %.1f %%",
                    100 * skew->repeat_ratio);
    }
    cs_text_add(text, "\n");
    add_why(trace, skew, &unit, text);
    add_pattern(skew, &unit, text);
    add_parts(trace, skew, &unit, text);
    cs_text_add(text, "\n%-34s %10s %10s %10s %10s %10s\n", in, "mean", "p50", "p95", "p99", "max");
    add_spread_row("last rank behind the last but one", &skew->delay_s, &unit, text);
    add_spread_row("straggler behind all others", &skew->straggler_delay_s, &unit, text);
    add_spread_row("last rank behind the first", &skew->spread_s, &unit, text);
    add_spread_row("the call without waiting", &skew->zero_wait_s, &unit, text);
    add_ends(skew, notes, &unit, text);
}

/* ---- rows for programs ---- */

static const cs_column spread_columns[] = {
    CS_COLUMN_AS("mean_s", cs_spread, mean.value),
    CS_COLUMN_AS("min_s", cs_spread, min),
    CS_COLUMN_AS("p50_s", cs_spread, p50.value),
    CS_COLUMN_AS("p95_s", cs_spread, p95.value),
    CS_COLUMN_AS("p99_s", cs_spread, p99.value),
    CS_COLUMN_AS("max_s", cs_spread, max),
    CS_COLUMN_END,
};

/* A rank beside the spread of its arrivals. */
typedef struct rank_row {
    uint64_t rank;
    double   wait_mean_s;
    uint64_t last_in;
    double   last_ratio;
    bool     is_straggler;

    const char *cause;
    double      late_ratio, called_s, came_s, left_s;
} rank_row;

static const cs_column rank_columns[] = {CS_COLUMN(rank_row, rank), CS_COLUMN_END};
static const cs_column wait_columns[] = {
    CS_COLUMN(rank_row, wait_mean_s),
    CS_COLUMN(rank_row, last_in),
    CS_COLUMN(rank_row, last_ratio),
    CS_COLUMN_END,
};
static const cs_column straggler_columns[] = {CS_COLUMN(rank_row, is_straggler), CS_COLUMN_END};
static const cs_column cause_columns[]     = {
        CS_COLUMN(rank_row, cause),  CS_COLUMN(rank_row, late_ratio), CS_COLUMN(rank_row, called_s),
        CS_COLUMN(rank_row, came_s), CS_COLUMN(rank_row, left_s),     CS_COLUMN_END,
};

static double late_ratio(const cs_skew *skew, const cs_skew_rank *rank)
{
    return (double)(skew->n_calls - rank->n_late[CS_LATE_NOT]) / (double)skew->n_calls;
}

static rank_row row_of(const cs_arrival_trace *trace, const cs_skew *skew, uint32_t r)
{
    const cs_skew_rank *rank = &skew->ranks[r];

    return (rank_row){.rank         = cs_trace_number(trace, r),
                      .wait_mean_s  = rank->wait_mean_s,
                      .last_in      = rank->n_last,
                      .last_ratio   = (double)rank->n_last / (double)skew->n_calls,
                      .is_straggler = r == skew->straggler,
                      .cause        = cs_late_cause_name(rank->cause),
                      .late_ratio   = late_ratio(skew, rank),
                      .called_s     = rank->called_s,
                      .came_s       = rank->came_s,
                      .left_s       = rank->left_s};
}

/* The trace and what was left out of it. */
static const cs_column trace_columns[] = {
    CS_COLUMN_AS("ranks", cs_arrival_trace, n_ranks),
    CS_COLUMN_AS("calls", cs_arrival_trace, n_calls),
    CS_COLUMN_END,
};
static const cs_column note_columns[] = {
    CS_COLUMN_AS("warmup", cs_arrival_notes, n_warmup),
    CS_COLUMN_AS("incomplete", cs_arrival_notes, n_incomplete),
    CS_COLUMN_END,
};

/* The straggler, and why it is late. */
typedef struct straggler_row {
    uint32_t    straggler;
    double      last_ratio, repeat_ratio;
    const char *cause;
    double      cause_ratio; /* of the calls in which it is late */
    double      late_ratio;
    double      clock_error_s;
    const char *pattern;
    uint64_t    period_calls; /* CS_NO_COUNT: not periodic */
    double      slope_s_per_call;
} straggler_row;

static const cs_column skew_columns[] = {
    CS_COLUMN(straggler_row, straggler),
    CS_COLUMN(straggler_row, last_ratio),
    CS_COLUMN(straggler_row, repeat_ratio),
    CS_COLUMN(straggler_row, cause),
    CS_COLUMN(straggler_row, cause_ratio),
    CS_COLUMN(straggler_row, late_ratio),
    CS_COLUMN(straggler_row, clock_error_s),
    CS_COLUMN(straggler_row, pattern),
    CS_COLUMN_MAYBE_AS("period_calls", straggler_row, period_calls),
    CS_COLUMN(straggler_row, slope_s_per_call),
    CS_COLUMN_END,
};

/* A server or rail. */
typedef struct part_row {
    const char *server; /* NULL: a rail */
    uint64_t    rail;   /* CS_NO_COUNT: a server */
    uint32_t    ranks;
    double      late_ratio; /* of calls x ranks */
    double      came_s, left_s;
    const char *cause;
} part_row;

static const cs_column server_columns[] = {CS_COLUMN(part_row, server), CS_COLUMN_END};
static const cs_column rail_columns[]   = {CS_COLUMN(part_row, rail), CS_COLUMN_END};
static const cs_column part_columns[]   = {
      CS_COLUMN(part_row, ranks),  CS_COLUMN(part_row, late_ratio), CS_COLUMN(part_row, came_s),
      CS_COLUMN(part_row, left_s), CS_COLUMN(part_row, cause),      CS_COLUMN_END,
};

static void add_number(const char *key, double value, cs_text *text)
{
    cs_json_key(text, key);
    cs_text_add_number(text, value);
}

static straggler_row straggler_of(const cs_arrival_trace *trace, const cs_skew *skew)
{
    const cs_skew_rank *rank   = &skew->ranks[skew->straggler];
    size_t              n_late = skew->n_calls - rank->n_late[CS_LATE_NOT];

    return (straggler_row){
        .straggler     = cs_trace_number(trace, skew->straggler),
        .last_ratio    = skew->last_ratio,
        .repeat_ratio  = skew->repeat_ratio,
        .cause         = cs_late_cause_name(rank->cause),
        .cause_ratio   = cs_late_cause_name(rank->cause) != NULL
                             ? (double)rank->n_late[rank->cause] / (double)n_late
                             : (double)NAN,
        .late_ratio    = late_ratio(skew, rank),
        .clock_error_s = trace->clock_error_s > 0 ? trace->clock_error_s : (double)NAN,
        .pattern       = cs_pattern_name(skew->pattern.kind),
        .period_calls  = skew->pattern.period_calls > 0 ? skew->pattern.period_calls : CS_NO_COUNT,
        .slope_s_per_call = skew->pattern.slope_s_per_call};
}

/* `"changes": [{"call": 120, "before_s": .., "after_s": ..}, ..]` */
static void add_changes_json(const cs_pattern *p, cs_text *text)
{
    cs_json_key(text, "changes");
    cs_text_add(text, "[");
    for (size_t i = 0; i < p->n_changes; i++) {
        cs_json_next(text, "", " ");
        cs_text_add(text, "{");
        cs_json_key(text, "call");
        cs_text_add(text, "%zu", p->change[i]);
        add_number("before_s", p->mean_s[i], text);
        add_number("after_s", p->mean_s[i + 1], text);
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]");
}

/* `"by_server": [..]`; the names are NULL for rails. */
static void add_parts_json(const char *key, const cs_skew *skew, const cs_skew_part *parts,
                           uint32_t n, char *const *names, cs_text *text)
{
    cs_text_add(text, ",\n ");
    cs_json_key(text, key);
    cs_text_add(text, "[");
    for (uint32_t p = 0; p < n; p++) {
        const part_row row = {.server     = names != NULL ? names[p] : NULL,
                              .rail       = p,
                              .ranks      = parts[p].n_ranks,
                              .late_ratio = (double)parts[p].n_late / (double)skew->n_calls /
                                            (double)parts[p].n_ranks,
                              .came_s = parts[p].came_s,
                              .left_s = parts[p].left_s,
                              .cause  = cs_late_cause_name(parts[p].cause)};
        cs_json_next(text, "\n  ", "\n  ");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){names != NULL ? server_columns : rail_columns, &row, false});
        cs_json_row(text, &(cs_row){part_columns, &row, false});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]");
}

static void add_spread_json(const char *key, const cs_spread *spread, cs_text *text)
{
    cs_json_key(text, key);
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){spread_columns, spread, false});
    cs_text_add(text, "}");
}

void cs_arrival_trace_json(const cs_arrival_trace *trace, cs_text *text)
{
    cs_json_row(text, &(cs_row){trace_columns, trace, false});
}

void cs_arrival_notes_json(const cs_arrival_notes *notes, cs_text *text)
{
    const char *at = notes->text.data != NULL ? notes->text.data : "";

    cs_json_row(text, &(cs_row){note_columns, notes, false});
    cs_json_key(text, "notes");
    cs_text_add(text, "[");
    while (*at != '\0') {
        cs_text line   = {0};
        size_t  length = strcspn(at, "\n");
        cs_text_add_bytes(&line, at, length);
        cs_json_next(text, "", " ");
        cs_text_add_json_string(text, line.data != NULL ? line.data : "");
        text->failed = text->failed || line.failed;
        cs_text_free(&line);
        at += length + (at[length] == '\n');
    }
    cs_text_add(text, "]");
}

static void add_rank_json(const cs_arrival_trace *trace, const cs_skew *skew, uint32_t r,
                          cs_text *text)
{
    const rank_row row = row_of(trace, skew, r);

    cs_json_next(text, "\n  ", "\n  ");
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){rank_columns, &row, false});
    add_spread_json("arrival", &skew->ranks[r].arrival_s, text);
    cs_json_row(text, &(cs_row){wait_columns, &row, false});
    cs_json_row(text, &(cs_row){cause_columns, &row, false});
    cs_text_add(text, "}");
}

/* The delays that 0 %, 1 % .. 100 % of the calls do not exceed. */
static void add_delay_cdf(const cs_skew *skew, cs_text *text)
{
    for (int i = 0; i <= CDF_STEPS; i++) {
        double at = (double)i / CDF_STEPS;
        cs_json_next(text, "", " ");
        cs_text_add(text, "{");
        add_number("ratio", at, text);
        add_number("delay_s", cs_estimate_quantile(skew->delays_s, skew->n_calls, at, 0).value,
                   text);
        cs_text_add(text, "}");
    }
}

void cs_skew_json(const cs_arrival_trace *trace, const cs_skew *skew, const cs_arrival_notes *notes,
                  cs_text *text)
{
    const double        end_spread_s = measured_end_spread_s(skew, notes);
    const straggler_row straggler    = straggler_of(trace, skew);

    cs_text_add(text, "{");
    cs_json_key(text, "format");
    cs_text_add_json_string(text, notes->format);
    cs_arrival_trace_json(trace, text);
    add_number("period_s", notes->period_s, text);
    cs_arrival_notes_json(notes, text);
    cs_text_add(text, ",\n ");
    cs_json_row(text, &(cs_row){skew_columns, &straggler, false});
    add_changes_json(&skew->pattern, text);
    add_number("end_spread_s", end_spread_s, text);
    add_number("end_resolution_s", isnan(end_spread_s) ? end_spread_s : notes->end_resolution_s,
               text);
    cs_text_add(text, "\n , ");
    add_spread_json("delay", &skew->delay_s, text);
    add_spread_json("straggler_delay", &skew->straggler_delay_s, text);
    add_spread_json("spread", &skew->spread_s, text);
    add_spread_json("zero_wait", &skew->zero_wait_s, text);
    cs_text_add(text, ",\n \"by_rank\": [");
    for (uint32_t r = 0; r < skew->n_ranks; r++) {
        add_rank_json(trace, skew, r, text);
    }
    cs_text_add(text, "]");
    add_parts_json("by_server", skew, skew->servers, skew->n_servers, trace->server_names, text);
    add_parts_json("by_rail", skew, skew->rails, skew->n_rails, NULL, text);
    cs_text_add(text, ",\n \"delay_cdf\": [");
    add_delay_cdf(skew, text);
    cs_text_add(text, "]}\n");
}

void cs_skew_csv(const cs_arrival_trace *trace, const cs_skew *skew, cs_text *text)
{
    cs_csv_keys(text, rank_columns);
    cs_csv_keys(text, spread_columns);
    cs_csv_keys(text, wait_columns);
    cs_csv_keys(text, straggler_columns);
    cs_csv_keys(text, cause_columns);
    cs_csv_end(text);
    for (uint32_t r = 0; r < skew->n_ranks; r++) {
        const rank_row row = row_of(trace, skew, r);
        cs_csv_row(text, &(cs_row){rank_columns, &row, false});
        cs_csv_row(text, &(cs_row){spread_columns, &skew->ranks[r].arrival_s, false});
        cs_csv_row(text, &(cs_row){wait_columns, &row, false});
        cs_csv_row(text, &(cs_row){straggler_columns, &row, false});
        cs_csv_row(text, &(cs_row){cause_columns, &row, false});
        cs_csv_end(text);
    }
}

/* ---- for Prometheus ---- */

/* A label's value: quotes, backslashes and ends of lines are escaped. */
static void add_label(const char *name, const char *value, cs_text *text)
{
    cs_text_add(text, "%s=\"", name);
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\') {
            cs_text_add(text, "\\%c", *value);
        } else if (*value == '\n') {
            cs_text_add(text, "\\n");
        } else {
            cs_text_add(text, "%c", *value);
        }
    }
    cs_text_add(text, "\"");
}

/* "1.00GB", as Inspector has sizes; in `text` of 32 bytes. */
static void size_label(double bytes, char *text)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    size_t                   u       = 0;

    for (; u + 1 < sizeof units / sizeof units[0] && bytes >= 1024; u++) {
        bytes /= 1024;
    }
    (void)snprintf(text, 32, "%.2f%s", bytes, units[u]);
}

/* The size of all calls; 0: they differ, or it is not known. */
static uint64_t one_size(const cs_arrival_trace *trace)
{
    for (size_t c = 0; c < trace->n_calls && trace->bytes != NULL; c++) {
        if (trace->bytes[c] != trace->bytes[0]) {
            return 0;
        }
    }
    return trace->bytes != NULL ? trace->bytes[0] : 0;
}

/* What all rows of a trace have in common, without braces. */
static void add_common_labels(const cs_arrival_trace *trace, const cs_arrival_notes *notes,
                              cs_text *text)
{
    char     size[32];
    uint64_t bytes = one_size(trace);

    cs_text_add(text, "nranks=\"%u\"",
                trace->group_ranks > 0 ? trace->group_ranks : trace->n_ranks);
    if (trace->n_servers > 0) {
        cs_text_add(text, ",n_nodes=\"%u\"", trace->n_servers);
    }
    if (notes->collective != NULL) {
        cs_text_add(text, ",");
        add_label("collective", notes->collective, text);
    }
    if (notes->group[0] != '\0') {
        cs_text_add(text, ",");
        add_label("comm_name", notes->group, text);
    }
    if (bytes > 0) {
        size_label((double)bytes, size);
        cs_text_add(text, ",");
        add_label("message_size", size, text);
    }
}

/* A gauge of every rank: `value_of` says it; NAN: there is none. */
static void add_gauge(const char *name, const char *help, const cs_arrival_trace *trace,
                      const cs_skew *skew, const char *common,
                      double (*value_of)(const cs_arrival_trace *, const cs_skew *, uint32_t),
                      cs_text *text)
{
    if (isnan(value_of(trace, skew, 0))) {
        return;
    }
    cs_text_add(text, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
    for (uint32_t r = 0; r < skew->n_ranks; r++) {
        cs_text_add(text, "%s{rank=\"%u\",", name, cs_trace_number(trace, r));
        if (trace->server != NULL) {
            add_label("node", trace->server_names[trace->server[r]], text);
            cs_text_add(text, ",");
        }
        cs_text_add(text, "%s} ", common);
        cs_text_add_number(text, value_of(trace, skew, r));
        cs_text_add(text, "\n");
    }
}

static double inside_us(const cs_arrival_trace *trace, const cs_skew *skew, uint32_t r)
{
    double sum_s = trace->inside_s != NULL ? 0 : (double)NAN;

    (void)skew;
    for (size_t c = 0; c < trace->n_calls && trace->inside_s != NULL; c++) {
        sum_s += trace->inside_s[c * trace->n_ranks + r];
    }
    return sum_s / (double)trace->n_calls * 1e6;
}

static double mean_late_s(const cs_arrival_trace *trace, const cs_skew *skew, uint32_t r)
{
    (void)trace;
    return skew->ranks[r].arrival_s.mean.value;
}

static double p95_late_s(const cs_arrival_trace *trace, const cs_skew *skew, uint32_t r)
{
    (void)trace;
    return skew->ranks[r].arrival_s.p95.value;
}

static double share_last(const cs_arrival_trace *trace, const cs_skew *skew, uint32_t r)
{
    (void)trace;
    return (double)skew->ranks[r].n_last / (double)skew->n_calls;
}

static double share_late(const cs_arrival_trace *trace, const cs_skew *skew, uint32_t r)
{
    (void)trace;
    return late_ratio(skew, &skew->ranks[r]);
}

static void add_straggler_gauges(const cs_arrival_trace *trace, const cs_skew *skew,
                                 const cs_arrival_notes *notes, const char *common, cs_text *text)
{
    const char *cause = cs_late_cause_name(skew->ranks[skew->straggler].cause);
    uint64_t    bytes = one_size(trace);

    cs_text_add(text, "# HELP collsim_straggler the rank that comes last most often, and why\n"
                      "# TYPE collsim_straggler gauge\ncollsim_straggler{");
    cs_text_add(text, "rank=\"%u\",cause=\"%s\",pattern=\"%s\",%s} 1\n",
                cs_trace_number(trace, skew->straggler), cause != NULL ? cause : "",
                cs_pattern_name(skew->pattern.kind), common);
    if (trace->clock_error_s > 0) {
        cs_text_add(text,
                    "# HELP collsim_clock_error_seconds how far clocks are apart after they "
                    "are set\n# TYPE collsim_clock_error_seconds gauge\n"
                    "collsim_clock_error_seconds{%s} ",
                    common);
        cs_text_add_number(text, trace->clock_error_s);
        cs_text_add(text, "\n");
    }
    cs_collective collective = CS_ALLREDUCE;
    if (bytes > 0 && notes->collective != NULL && !isnan(skew->zero_wait_s.mean.value) &&
        cs_nccl_collective_named(notes->collective, &collective)) {
        cs_text_add(text,
                    "# HELP nccl_bus_bandwidth_gbs bus bandwidth once all ranks are there\n"
                    "# TYPE nccl_bus_bandwidth_gbs gauge\nnccl_bus_bandwidth_gbs{%s} ",
                    common);
        cs_text_add_number(text, (double)bytes * cs_busbw_factor(collective, trace->n_ranks) /
                                     skew->zero_wait_s.mean.value / 1e9);
        cs_text_add(text, "\n");
    }
}

void cs_skew_prom(const cs_arrival_trace *trace, const cs_skew *skew, const cs_arrival_notes *notes,
                  cs_text *text)
{
    cs_text common = {0};

    add_common_labels(trace, notes, &common);
    if (common.failed || common.data == NULL) {
        text->failed = true;
        cs_text_free(&common);
        return;
    }
    add_gauge("nccl_collective_exec_time_microseconds", "mean time inside a call", trace, skew,
              common.data, inside_us, text);
    add_gauge("collsim_late_seconds", "mean time behind the first rank of a call", trace, skew,
              common.data, mean_late_s, text);
    add_gauge("collsim_late_p95_seconds", "the same in the worst twentieth of the calls", trace,
              skew, common.data, p95_late_s, text);
    add_gauge("collsim_last_ratio", "share of the calls in which the rank is last", trace, skew,
              common.data, share_last, text);
    add_gauge("collsim_late_ratio", "share of the calls in which the rank is late", trace, skew,
              common.data, share_late, text);
    add_straggler_gauges(trace, skew, notes, common.data, text);
    cs_text_free(&common);
}
