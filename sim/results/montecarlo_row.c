/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of many iterations as JSON, CSV and a table; the first two from CS_MONTECARLO_MAP alone. */
#include "results/montecarlo_row.h"

#include "base/alloc.h"
#include "results/columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void cs_montecarlo_row_free(cs_montecarlo_row *row)
{
    cs_free(row->scenario);
    cs_free(row->settings);
    *row = (cs_montecarlo_row){0};
}

static void add_json(cs_text *text, const cs_montecarlo_row *row)
{
    cs_text_add(text, "{");
#define X(type, key)                                     \
    cs_text_add(text, "\"" #key "\": ");                 \
    cs_json_##type(text, CS_ROW_VALUE_##type(row->key)); \
    cs_text_add(text, ", ");
    CS_MONTECARLO_MAP(X)
#undef X
    cs_text_add(text, "\"scenario\": %s", row->scenario);
    if (row->error[0] != '\0') {
        cs_text_add(text, ", \"error\": ");
        cs_text_add_json_string(text, row->error);
    }
    cs_text_add(text, "}");
}

void cs_montecarlo_json(cs_text *text, const cs_montecarlo_row *rows, size_t n)
{
    cs_text_add(text, "[");
    for (size_t i = 0; i < n; i++) {
        cs_text_add(text, i == 0 ? "\n" : ",\n");
        add_json(text, &rows[i]);
    }
    cs_text_add(text, "\n]\n");
}

void cs_montecarlo_csv(cs_text *text, const cs_montecarlo_row *rows, size_t n)
{
#define X(type, key) #key ","
    cs_text_add(text, "%s", CS_MONTECARLO_MAP(X) "scenario,error\n");
#undef X
    for (size_t i = 0; i < n; i++) {
        const cs_montecarlo_row *row = &rows[i];
#define X(type, key)               \
    cs_csv_##type(text, row->key); \
    cs_text_add(text, ",");
        CS_MONTECARLO_MAP(X)
#undef X
        cs_text_add_csv_field(text, row->scenario);
        cs_text_add(text, ",");
        cs_text_add_csv_field(text, row->error);
        cs_text_add(text, "\n");
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
    add_column(text, 10, 3, row->elapsed_mean_s * 1e3);
    add_column(text, 8, 3, (row->elapsed_mean_high_s - row->elapsed_mean_low_s) / 2 * 1e3);
    add_column(text, 10, 3, row->elapsed_p50_s * 1e3);
    add_column(text, 10, 3, row->elapsed_p95_s * 1e3);
    add_column(text, 10, 3, row->elapsed_p99_s * 1e3);
    add_column(text, 10, 3, row->exposed_mean_s * 1e3);
    add_column(text, 6, 2, row->exposed_ratio * 100);
    add_column(text, 7, 4, row->iteration_speedup);
    add_column(text, 6, 2, row->saved_ratio * 100);
    add_column(text, 5, 2, (row->saved_ratio_high - row->saved_ratio_low) / 2 * 100);
    add_column(text, 9, 2, row->gpu_hours_per_day);
    add_column(text, 6, 1, row->hit_ratio * 100);
    cs_text_add(text, "\n");
}

static void add_line(cs_text *text, const cs_montecarlo_row *row, int width)
{
    if (!add_scenario(text, row, width)) {
        return;
    }
    add_column(text, 11, 2, row->exposed_mean_s * 1e6);
    add_column(text, 9, 2, (row->exposed_mean_high_s - row->exposed_mean_low_s) / 2 * 1e6);
    add_column(text, 11, 2, row->exposed_p50_s * 1e6);
    add_column(text, 11, 2, row->exposed_p95_s * 1e6);
    add_column(text, 11, 2, row->exposed_p99_s * 1e6);
    add_column(text, 11, 2, row->saved_mean_s * 1e6);
    add_column(text, 9, 2, (row->saved_mean_high_s - row->saved_mean_low_s) / 2 * 1e6);
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

void cs_montecarlo_table(cs_text *text, const cs_montecarlo_row *rows, size_t n)
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
