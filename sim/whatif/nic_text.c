/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports of NICs that fail as a table, as JSON and as CSV: see whatif/nic.h. */
#include "whatif/nic.h"

#include "base/column.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define US   1e6
#define GBPS 1e-9
#define MUCH 0.1 /* of a time, which should be said */

/* ---- for people ---- */

/* "3 of 4 NICs work", or "1 of 4 is slow", of a server; and what that means. */
static void add_server(const cs_nic_report *report, const cs_nic_server *server, cs_text *text)
{
    const double *l = server->slowdown;

    cs_text_add(text, "# server %u: %u NICs, %u dead, %u slow: together slower by %.4g",
                server->server, report->n_nics, server->n_dead, server->n_slow,
                l[CS_NIC_POOLED_SHARES]);
    if (l[CS_NIC_EQUAL_SHARES] != l[CS_NIC_POOLED_SHARES]) {
        cs_text_add(text, "; with equal shares by %.4g", l[CS_NIC_EQUAL_SHARES]);
    }
    if (server->n_slow > 0 && isfinite(l[CS_NIC_WITHOUT_SHARES])) {
        cs_text_add(text, "; without the slow ones by %.4g", l[CS_NIC_WITHOUT_SHARES]);
    }
    cs_text_add(text, "\n");
}

/* " (LOW .. HIGH)" with so many decimals, where there is an interval. */
static void add_interval(const cs_estimate *e, double factor, int decimals, cs_text *text)
{
    if (!isnan(e->low)) {
        cs_text_add(text, " (%.*f .. %.*f)", decimals, e->low * factor, decimals, e->high * factor);
    }
}

/* What the log is taken for. */
static void add_log(const cs_nic_report *r, cs_text *text)
{
    const cs_regime *g = &r->regime;

    cs_text_add(text,
                "# log: %zu sizes, %" PRIu64 " .. %" PRIu64 " B; held-out error %.2g %% (mean), "
                "%.2g %% (max)\n",
                g->n_points, g->min_bytes, g->max_bytes, 100 * g->held_out.mean_ratio,
                100 * g->held_out.max_ratio);
    cs_text_add(text, "# as if %s ran: the NICs of a server carried %.2f", r->baseline,
                r->in_use_Bps.value * GBPS);
    add_interval(&r->in_use_Bps, GBPS, 2, text);
    cs_text_add(text, " GB/s");
    if (!isnan(r->nominal_Bps)) {
        cs_text_add(text, " of %.2f", r->nominal_Bps * GBPS);
    }
    cs_text_add(text, ", start-up %.2f", r->alpha_s.value * US);
    add_interval(&r->alpha_s, US, 2, text);
    cs_text_add(text, " us\n");
    if (r->start_up_ratio > MUCH) {
        cs_text_add(text,
                    "# %.0f %% of the log's time is start-up: how much of it another schedule pays "
                    "the log does not say\n",
                    100 * r->start_up_ratio);
    }
    if (r->is_other) {
        cs_text_add(text, "# (the default would have moved %.2f GB/s: more than they carry)\n",
                    r->default_Bps * GBPS);
    }
}

/* A time, or its interval, in the width of a column. */
static void add_us(double time_s, int width, cs_text *text)
{
    if (isnan(time_s)) {
        cs_text_add(text, " %*s", width, "-");
    } else {
        cs_text_add(text, " %*.*f", width, time_s < 1e-2 ? 1 : 0, time_s * US);
    }
}

static void add_line(const cs_nic_line *l, cs_text *text)
{
    cs_text_add(text, "%6u  %-18s %-7s", l->place, l->algorithm, cs_nic_sharing_name(l->sharing));
    add_us(l->before_s.value, 9, text);
    cs_text_add(text, " %7.2f", l->before_busbw_GBps);
    add_us(l->before_bound_s, 9, text);
    add_us(l->during_s.value, 9, text);
    add_us((l->during_s.high - l->during_s.low) / 2, 7, text);
    cs_text_add(text, " %7.2f", l->during_busbw_GBps);
    add_us(l->bound_s, 9, text);
    cs_text_add(text, " %5.2f", l->gap);
    add_us(l->saved_s.value, 9, text);
    add_us(l->after_s.value, 9, text);
    cs_text_add(text, " %7.2f", l->after_busbw_GBps);
    if (l->ran != NULL) {
        cs_text_add(text, "  as %s", l->ran);
    }
    cs_text_add(text, "%s\n", l->is_baseline ? "  baseline" : "");
}

/* One or two sentences: what to run, and how sure that is. */
static void add_best(const cs_nic_report *r, cs_text *text)
{
    const cs_nic_line *best = &r->lines[0], *baseline = best;

    while (!baseline->is_baseline) {
        baseline++;
    }
    cs_text_add(text, "# best: %s (%s)", best->algorithm, cs_nic_sharing_name(best->sharing));
    if (best->place == baseline->place) {
        cs_text_add(text, ": nothing here is faster than the baseline\n");
    } else {
        cs_text_add(text, ", saves %.1f", best->saved_s.value * US);
        add_interval(&best->saved_s, US, 1, text);
        cs_text_add(text, " us of %.1f with %s (%s)%s\n", baseline->during_s.value * US,
                    baseline->algorithm, cs_nic_sharing_name(baseline->sharing),
                    best->saved_s.low <= 0 ? ": the two cannot be told apart" : "");
    }
    cs_text_add(text,
                "# reference: no time during the fault is below %.1f us, of %s on whole NICs\n",
                r->reference_s * US, r->reference);
}

static void add_head(const cs_nic_report *r, cs_text *text)
{
    cs_text_add(text, "# %s, %u ranks: %u servers of %u GPUs with %u NICs",
                cs_collective_name(r->collective), r->n_ranks, r->n_servers, r->gpus_per_server,
                r->n_nics);
    cs_text_add(text, ", %s\n", r->model);
    for (size_t i = 0; i < r->n_failed; i++) {
        add_server(r, &r->servers[i], text);
    }
}

static void add_size(const cs_nic_report *r, cs_text *text)
{
    cs_text_add(text, "#\n# size %" PRIu64 " B\n", r->bytes);
    add_log(r, text);
    cs_text_add(text, "#%33s |%26s |%53s |%16s\n", "", "before", "during the fault", "repaired");
    cs_text_add(text, "#%5s  %-18s %-7s %9s %7s %9s %9s %7s %7s %9s %5s %9s %9s %7s\n", "place",
                "schedule", "NICs", "time", "busbw", "bound", "time",
                r->has_limits ? "limits" : "95 %", "busbw", "bound", "gap", "saved", "time",
                "busbw");
    cs_text_add(text, "#%5s  %-18s %-7s %9s %7s %9s %9s %7s %7s %9s %5s %9s %9s %7s\n", "", "", "",
                "(us)", "(GB/s)", "(us)", "(us)", "+- (us)", "(GB/s)", "(us)", "", "(us)", "(us)",
                "(GB/s)");
    for (size_t i = 0; i < r->n_lines; i++) {
        if (r->lines[i].is_available) {
            add_line(&r->lines[i], text);
        }
    }
    for (size_t i = 0; i < r->n_lines; i++) {
        if (!r->lines[i].is_available) {
            cs_text_add(text, "#    -  %-18s not available: %s\n", r->lines[i].algorithm,
                        r->lines[i].reason);
        }
    }
    add_best(r, text);
}

void cs_nic_table(const cs_nic_report *reports, size_t n, cs_text *text)
{
    for (size_t i = 0; i < n; i++) {
        if (i == 0) {
            add_head(&reports[i], text);
        }
        add_size(&reports[i], text);
    }
}

/* ---- rows for programs ---- */

/* What of a line is no member of it. */
typedef struct line_row {
    const char *algorithm, *ran, *nics;
    bool        available, baseline;
    double      place; /* NAN: none */
    const char *reason;
} line_row;

static line_row row_of(const cs_nic_line *line)
{
    return (line_row){.algorithm = line->algorithm,
                      .ran       = line->ran,
                      .nics      = cs_nic_sharing_name(line->sharing),
                      .available = line->is_available,
                      .baseline  = line->is_baseline,
                      .place     = line->place > 0 ? line->place : (double)NAN,
                      .reason    = line->reason};
}

#define ESTIMATE(type, key, unit, member)                 \
    CS_COLUMN_AS(key "_" unit, type, member.value),       \
        CS_COLUMN_AS(key "_low_" unit, type, member.low), \
        CS_COLUMN_AS(key "_high_" unit, type, member.high)

static const cs_column size_columns[] = {CS_COLUMN(cs_nic_report, bytes), CS_COLUMN_END};
static const cs_column name_columns[] = {
    CS_COLUMN(line_row, algorithm),
    CS_COLUMN(line_row, ran),
    CS_COLUMN(line_row, nics),
    CS_COLUMN(line_row, available),
    CS_COLUMN(line_row, baseline),
    CS_COLUMN(line_row, place),
    CS_COLUMN_END,
};
static const cs_column time_columns[] = {
    ESTIMATE(cs_nic_line, "before", "s", before_s),
    CS_COLUMN(cs_nic_line, before_busbw_GBps),
    CS_COLUMN(cs_nic_line, before_bound_s),
    ESTIMATE(cs_nic_line, "during", "s", during_s),
    CS_COLUMN(cs_nic_line, during_busbw_GBps),
    CS_COLUMN(cs_nic_line, bound_s),
    CS_COLUMN(cs_nic_line, bound),
    CS_COLUMN(cs_nic_line, gap),
    ESTIMATE(cs_nic_line, "after", "s", after_s),
    CS_COLUMN(cs_nic_line, after_busbw_GBps),
    ESTIMATE(cs_nic_line, "saved", "s", saved_s),
    CS_COLUMN_END,
};
static const cs_column reason_columns[] = {CS_COLUMN(line_row, reason), CS_COLUMN_END};
static const cs_column head_columns[]   = {
      CS_COLUMN_AS("ranks", cs_nic_report, n_ranks),
      CS_COLUMN_AS("servers", cs_nic_report, n_servers),
      CS_COLUMN(cs_nic_report, gpus_per_server),
      CS_COLUMN_AS("nics_per_server", cs_nic_report, n_nics),
      CS_COLUMN(cs_nic_report, model),
      CS_COLUMN(cs_nic_report, bytes),
      CS_COLUMN_AS("regime_min_bytes", cs_nic_report, regime.min_bytes),
      CS_COLUMN_AS("regime_max_bytes", cs_nic_report, regime.max_bytes),
      CS_COLUMN_AS("held_out_mean_ratio", cs_nic_report, regime.held_out.mean_ratio),
      CS_COLUMN_AS("held_out_max_ratio", cs_nic_report, regime.held_out.max_ratio),
      CS_COLUMN(cs_nic_report, start_up_ratio),
      CS_COLUMN(cs_nic_report, baseline),
      CS_COLUMN_AS("server_nominal_Bps", cs_nic_report, nominal_Bps),
      ESTIMATE(cs_nic_report, "server_in_use", "Bps", in_use_Bps),
      ESTIMATE(cs_nic_report, "alpha", "s", alpha_s),
      CS_COLUMN(cs_nic_report, reference),
      CS_COLUMN(cs_nic_report, reference_s),
      CS_COLUMN_END,
};
static const cs_column server_columns[] = {
    CS_COLUMN(cs_nic_server, server),
    CS_COLUMN_AS("dead", cs_nic_server, n_dead),
    CS_COLUMN_AS("slow", cs_nic_server, n_slow),
    CS_COLUMN_AS("slowdown_pooled", cs_nic_server, slowdown[CS_NIC_POOLED_SHARES]),
    CS_COLUMN_AS("slowdown_equal", cs_nic_server, slowdown[CS_NIC_EQUAL_SHARES]),
    CS_COLUMN_AS("slowdown_without", cs_nic_server, slowdown[CS_NIC_WITHOUT_SHARES]),
    CS_COLUMN_END,
};

static void add_report_json(const cs_nic_report *r, cs_text *text)
{
    cs_json_next(text, "\n", "\n");
    cs_text_add(text, "{\"collective\": ");
    cs_text_add_json_string(text, cs_collective_name(r->collective));
    cs_json_row(text, &(cs_row){head_columns, r, false});
    cs_text_add(text, ",\n \"failed\": [");
    for (size_t i = 0; i < r->n_failed; i++) {
        cs_json_next(text, "\n  ", "\n  ");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){server_columns, &r->servers[i], false});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "],\n \"lines\": [");
    for (size_t i = 0; i < r->n_lines; i++) {
        const line_row row = row_of(&r->lines[i]);
        cs_json_next(text, "\n  ", "\n  ");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){name_columns, &row, false});
        cs_json_row(text, &(cs_row){reason_columns, &row, false});
        if (row.available) {
            cs_json_row(text, &(cs_row){time_columns, &r->lines[i], false});
        }
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]}");
}

void cs_nic_json(const cs_nic_report *reports, size_t n, cs_text *text)
{
    cs_text_add(text, "[");
    for (size_t i = 0; i < n; i++) {
        add_report_json(&reports[i], text);
    }
    cs_text_add(text, "\n]\n");
}

void cs_nic_csv(const cs_nic_report *reports, size_t n, cs_text *text)
{
    cs_csv_keys(text, size_columns);
    cs_csv_keys(text, name_columns);
    cs_csv_keys(text, time_columns);
    cs_csv_keys(text, reason_columns);
    cs_csv_end(text);
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < reports[k].n_lines; i++) {
            const line_row row = row_of(&reports[k].lines[i]);
            cs_csv_row(text, &(cs_row){size_columns, &reports[k], false});
            cs_csv_row(text, &(cs_row){name_columns, &row, false});
            cs_csv_row(text, &(cs_row){time_columns, &reports[k].lines[i], false});
            cs_csv_row(text, &(cs_row){reason_columns, &row, false});
            cs_csv_end(text);
        }
    }
}
