/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of many iterations as JSON, CSV and a table for people. */
#include "campaign/montecarlo.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COLUMN(member) CS_COLUMN(cs_montecarlo_row, member)

/* An estimate and its interval: the key ends in `end`, a unit or nothing. */
#define ESTIMATE(key, end, member)                                   \
    CS_COLUMN_AS(key end, cs_montecarlo_row, member.value),          \
        CS_COLUMN_AS(key "_low" end, cs_montecarlo_row, member.low), \
        CS_COLUMN_AS(key "_high" end, cs_montecarlo_row, member.high)
#define SPREAD(key, member)                                                             \
    ESTIMATE(key "_mean", "_s", member.mean),                                           \
        CS_COLUMN_AS(key "_stddev_s", cs_montecarlo_row, member.stddev),                \
        CS_COLUMN_AS(key "_min_s", cs_montecarlo_row, member.min),                      \
        CS_COLUMN_AS(key "_max_s", cs_montecarlo_row, member.max),                      \
        ESTIMATE(key "_p50", "_s", member.p50), ESTIMATE(key "_p95", "_s", member.p95), \
        ESTIMATE(key "_p99", "_s", member.p99)

const cs_column cs_montecarlo_columns[] = {
    COLUMN(algorithm),
    COLUMN(collective),
    COLUMN(model),
    COLUMN(ranks),
    COLUMN(bytes),
    COLUMN(gpus_per_server),
    COLUMN(workload),
    COLUMN(calls),
    COLUMN(compute_s),
    COLUMN(overlap_ratio),
    COLUMN(tail_s),
    COLUMN(prediction),
    COLUMN(fallback),
    COLUMN(iterations),
    COLUMN(sampling),
    COLUMN(confidence),
    COLUMN(last_arrival_mean_s),
    SPREAD("elapsed", elapsed_s),
    SPREAD("exposed", exposed_s),
    COLUMN(hit_ratio),
    COLUMN(fallback_ratio),
    COLUMN(baseline),
    ESTIMATE("saved_mean", "_s", saved_s.mean),
    CS_COLUMN_AS("saved_stddev_s", cs_montecarlo_row, saved_s.stddev),
    COLUMN(win_ratio),
    COLUMN(speedup),
    COLUMN(exposed_ratio),
    COLUMN(iteration_speedup),
    ESTIMATE("saved_ratio", "", saved_ratio),
    ESTIMATE("gpu_hours_per_day", "", gpu_hours_per_day),
    COLUMN(replays),
    COLUMN(verified),
    COLUMN(build),
    CS_COLUMN_END,
};

static const cs_column text_columns[] = {
    CS_COLUMN(cs_montecarlo_texts, exposed_quantiles_s),
    CS_COLUMN_REQUIRED(cs_montecarlo_texts, scenario),
    CS_COLUMN_REQUIRED(cs_montecarlo_texts, run),
    CS_COLUMN(cs_montecarlo_texts, error),
    CS_COLUMN_END,
};

const cs_store_table cs_montecarlo_table = {
    .name          = "montecarlo",
    .layout        = 104,
    .columns       = cs_montecarlo_columns,
    .texts         = text_columns,
    .columns_bytes = sizeof(cs_montecarlo_row),
    .texts_bytes   = sizeof(cs_montecarlo_texts),
    .owner         = "run",
    .is_wrong      = "0",
};

/* What stands behind the columns, in JSON alone; and in JSON and CSV. */
static const cs_column quantile_columns[] = {
    CS_COLUMN_ROW("exposed_quantiles_s", CS_COLUMN_JSON, cs_montecarlo_row, quantiles_s),
    CS_COLUMN_END};
static const cs_column scenario_columns[] = {
    CS_COLUMN_ROW("scenario", CS_COLUMN_JSON, cs_montecarlo_row, scenario), CS_COLUMN_END};
static const cs_column error_columns[] = {COLUMN(error), CS_COLUMN_END};

cs_montecarlo_row cs_montecarlo_row_unknown(void)
{
    cs_montecarlo_row row = {0};

    for (const cs_column *c = cs_montecarlo_columns; c->key != NULL; c++) {
        if (c->type == CS_COLUMN_REAL) {
            *(double *)cs_column_place(c, &row) = (double)NAN;
        }
    }
    return row;
}

void cs_montecarlo_row_free(cs_montecarlo_row *row)
{
    cs_free(row->scenario);
    cs_free(row->quantiles_s);
    cs_free(row->settings);
    *row = (cs_montecarlo_row){0};
}

void cs_montecarlo_json(cs_text *text, const cs_montecarlo_row *rows, size_t n,
                        const cs_extra_columns *swept)
{
    cs_text_add(text, "[");
    for (size_t i = 0; i < n; i++) {
        cs_json_next(text, "\n", "\n");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){cs_montecarlo_columns, &rows[i], false});
        cs_json_row(text, &(cs_row){quantile_columns, &rows[i], false});
        cs_json_extra(text, swept, i);
        cs_json_row(text, &(cs_row){scenario_columns, &rows[i], false});
        if (rows[i].error[0] != '\0') {
            cs_json_row(text, &(cs_row){error_columns, &rows[i], false});
        }
        cs_text_add(text, "}");
    }
    cs_text_add(text, "\n]\n");
}

void cs_montecarlo_csv(cs_text *text, const cs_montecarlo_row *rows, size_t n,
                       const cs_extra_columns *swept)
{
    cs_csv_keys(text, cs_montecarlo_columns);
    cs_csv_extra_keys(text, swept);
    cs_csv_keys(text, scenario_columns);
    cs_csv_keys(text, error_columns);
    cs_csv_end(text);
    for (size_t i = 0; i < n; i++) {
        cs_csv_row(text, &(cs_row){cs_montecarlo_columns, &rows[i], false});
        cs_csv_extra(text, swept, i);
        cs_csv_row(text, &(cs_row){scenario_columns, &rows[i], false});
        cs_csv_row(text, &(cs_row){error_columns, &rows[i], false});
        cs_csv_end(text);
    }
}

/* A number in a column, or "-". */
static void add_column(cs_text *text, int width, int digits, double value)
{
    if (isfinite(value)) {
        cs_text_add(text, " %*.*f", width, digits, value);
    } else {
        cs_text_add(text, " %*s", width, "-");
    }
}

static bool is_training(const cs_montecarlo_row *row)
{
    return isfinite(row->compute_s);
}

/* What was run; false where it could not be run, and the line is complete. */
static bool add_scenario(cs_text *text, const cs_montecarlo_row *row, int width)
{
    char presumes[sizeof row->prediction + sizeof row->fallback];

    snprintf(presumes, sizeof presumes, "%s%s%s", row->prediction,
             row->fallback[0] != '\0' ? "/" : "", row->fallback);
    cs_text_add(text, "%-16s %-14s %6" PRIu64 " %12" PRIu64, row->algorithm, presumes, row->ranks,
                row->bytes);
    if (is_training(row)) {
        cs_text_add(text, " %6" PRIu64, row->calls);
    }
    if (width > 0) {
        cs_text_add(text, " %-*s", width, row->settings != NULL ? row->settings : "-");
    }
    if (row->error[0] != '\0') {
        cs_text_add(text, "  %s\n", row->error);
        return false;
    }
    return true;
}

static void add_training_line(cs_text *text, const cs_montecarlo_row *row, int width)
{
    if (!add_scenario(text, row, width)) {
        return;
    }
    add_column(text, 10, 3, row->elapsed_s.mean.value * 1e3);
    add_column(text, 8, 3, (row->elapsed_s.mean.high - row->elapsed_s.mean.low) / 2 * 1e3);
    add_column(text, 10, 3, row->elapsed_s.p50.value * 1e3);
    add_column(text, 10, 3, row->elapsed_s.p95.value * 1e3);
    add_column(text, 10, 3, row->elapsed_s.p99.value * 1e3);
    add_column(text, 10, 3, row->exposed_s.mean.value * 1e3);
    add_column(text, 6, 2, row->exposed_ratio * 100);
    add_column(text, 7, 4, row->iteration_speedup);
    add_column(text, 6, 2, row->saved_ratio.value * 100);
    add_column(text, 5, 2, (row->saved_ratio.high - row->saved_ratio.low) / 2 * 100);
    add_column(text, 9, 2, row->gpu_hours_per_day.value);
    add_column(text, 6, 1, row->hit_ratio * 100);
    cs_text_add(text, "\n");
}

static void add_line(cs_text *text, const cs_montecarlo_row *row, int width)
{
    if (!add_scenario(text, row, width)) {
        return;
    }
    add_column(text, 11, 2, row->exposed_s.mean.value * 1e6);
    add_column(text, 9, 2, (row->exposed_s.mean.high - row->exposed_s.mean.low) / 2 * 1e6);
    add_column(text, 11, 2, row->exposed_s.p50.value * 1e6);
    add_column(text, 11, 2, row->exposed_s.p95.value * 1e6);
    add_column(text, 11, 2, row->exposed_s.p99.value * 1e6);
    add_column(text, 11, 2, row->saved_s.mean.value * 1e6);
    add_column(text, 9, 2, (row->saved_s.mean.high - row->saved_s.mean.low) / 2 * 1e6);
    add_column(text, 8, 3, row->speedup);
    add_column(text, 6, 1, row->win_ratio * 100);
    add_column(text, 6, 1, row->hit_ratio * 100);
    cs_text_add(text, "\n");
}

static void add_settings_head(cs_text *text, int width)
{
    if (width > 0) {
        cs_text_add(text, " %-*s", width, "settings");
    }
}

/* What holds for all rows. */
static void add_head(cs_text *text, const cs_montecarlo_row *row, int width)
{
    cs_text_add(text, "# %" PRIu64 " iteration%s (%s), exposed time in us; +-: %.4g %% intervals\n",
                row->iterations, row->iterations == 1 ? "" : "s", row->sampling,
                row->confidence * 100);
    cs_text_add(text, "# saved: exposed time of the baseline less the own one, in the same "
                      "iteration; hits: the presumed rank was last\n");
    cs_text_add(text, "%-16s %-14s %6s %12s", "# algorithm", "presumes", "ranks", "bytes");
    add_settings_head(text, width);
    cs_text_add(text, " %11s %9s %11s %11s %11s %11s %9s %8s %6s %6s\n", "mean", "+-", "p50", "p95",
                "p99", "saved", "+-", "speedup", "wins%", "hits%");
}

static void add_training_head(cs_text *text, const cs_montecarlo_row *row, int width)
{
    cs_text_add(text,
                "# %" PRIu64 " iteration%s (%s) of training, times in ms; +-: %.4g %% "
                "intervals\n",
                row->iterations, row->iterations == 1 ? "" : "s", row->sampling,
                row->confidence * 100);
    cs_text_add(text,
                "# exposed: from when the last rank has computed to the end of the last call; "
                "saved: part of the baseline's time, GPU-h/day: that of ranks x 24 h\n");
    cs_text_add(text, "%-16s %-14s %6s %12s %6s", "# algorithm", "presumes", "ranks", "bytes",
                "calls");
    add_settings_head(text, width);
    cs_text_add(text, " %10s %8s %10s %10s %10s %10s %6s %7s %6s %5s %9s %6s\n", "mean", "+-",
                "p50", "p95", "p99", "exposed", "part%", "speedup", "saved%", "+-", "GPU-h/day",
                "hits%");
}

/* Of the column of settings; 0: no row has any. */
static int settings_width(const cs_montecarlo_row *rows, size_t n)
{
    size_t width = 0;

    for (size_t i = 0; i < n; i++) {
        size_t own = rows[i].settings != NULL ? strlen(rows[i].settings) : 0;
        width      = own > width ? own : width;
    }
    return width > 0 && width < strlen("settings") ? (int)strlen("settings") : (int)width;
}

void cs_montecarlo_print(cs_text *text, const cs_montecarlo_row *rows, size_t n)
{
    int width = settings_width(rows, n);

    for (size_t i = 0; i < n; i++) {
        bool is_job = is_training(&rows[i]);
        if (i == 0 || is_job != is_training(&rows[i - 1]) ||
            rows[i].iterations != rows[i - 1].iterations) {
            (is_job ? add_training_head : add_head)(text, &rows[i], width);
        }
        (is_job ? add_training_line : add_line)(text, &rows[i], width);
    }
}
