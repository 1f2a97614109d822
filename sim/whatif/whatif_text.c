/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report for people and for programs: see whatif/whatif_text.h. */
#include "whatif/whatif_text.h"

#include "base/column.h"

#include <math.h>
#include <string.h>

enum { MAX_ROWS = 12 };

static double rate_of(const cs_job_interval *interval)
{
    double duration_s = interval->until_s - interval->from_s;
    return duration_s > 0 ? interval->iterations / duration_s : 0;
}

static void add_head(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text)
{
    const cs_whatif_timers *t = &job->timers;

    cs_text_add(text,
                "%s%s%llu iterations on %u GPUs: %.6g s of compute, %u x AllReduce of %llu "
                "bytes\n",
                job->name != NULL ? job->name : "", job->name != NULL ? ": " : "",
                (unsigned long long)job->iterations, job->call.scenario.cluster.n_ranks,
                job->compute_s, job->calls, (unsigned long long)job->call.scenario.bytes);
    cs_text_add(text, "healthy: %.6g s an iteration, %.6g s an AllReduce (%s, %s)\n",
                report->healthy_iteration_s, report->healthy_call_s, job->schedule.algorithm->name,
                job->call.model->name);
    if (report->best.elapsed_s < report->healthy_call_s) {
        cs_text_add(text,
                    "reference: %.6g s an iteration, %.6g s an AllReduce (%s): the best of these "
                    "schedules without a fault, which losses are counted against\n",
                    report->best_iteration_s, report->best.elapsed_s, report->best.name);
    }
    cs_text_add(text, "timers (%s): detect %.4g s, reschedule %.4g s, restart %.4g s, ", t->preset,
                t->detect_s, t->reschedule_s, t->restart_s);
    if (isinf(t->rejoin_s)) {
        cs_text_add(text, "no rejoin\n\n");
    } else {
        cs_text_add(text, "rejoin %.4g s\n\n", t->rejoin_s);
    }
}

/* The same decimals for all times of a report: milliseconds of long jobs, microseconds of short. */
static int decimals_of(const cs_whatif_report *report)
{
    return report->n_lines > 0 && report->lines[0].total_s < 10 ? 6 : 3;
}

/* Of the longest name of a policy. */
static int width_of(const cs_whatif_report *report)
{
    size_t width = 8;

    for (size_t i = 0; i < report->n_lines; i++) {
        size_t length = strlen(report->lines[i].policy->name);
        width         = length > width ? length : width;
    }
    return (int)width;
}

static void add_line(const cs_whatif_line *line, int width, int decimals, cs_text *text)
{
    if (!line->is_available) {
        cs_text_add(text, "    -  %-*s %12s %12s %12s  not available: %s\n", width,
                    line->policy->name, "-", "-", "-", line->note);
        return;
    }
    if (line->place > 0) {
        cs_text_add(text, "%5u  ", line->place);
    } else {
        cs_text_add(text, "    -  ");
    }
    cs_text_add(text, "%-*s ", width, line->policy->name);
    if (isinf(line->total_s)) {
        cs_text_add(text, "%12s %12.6g %12s", "never", line->iterations, "-");
    } else {
        cs_text_add(text, "%12.*f %12.6g %12.4g", decimals, line->total_s, line->iterations,
                    line->lost_gpu_hours);
    }
    cs_text_add(text, "  %s\n", line->reason);
    if (line->note != NULL) {
        cs_text_add(text, "       %-*s note: %s\n", width, "", line->note);
    }
}

/* What runs in an interval, by name. */
static void add_what(const cs_whatif_job *job, const cs_whatif_line *line,
                     const cs_job_interval *interval, cs_text *text)
{
    const char *name = job->schedule.algorithm->name;

    if (interval->kind == CS_INTERVAL_HEALTHY || interval->kind == CS_INTERVAL_DEGRADED) {
        cs_text_add(text, "%s on %s NICs", name,
                    interval->kind == CS_INTERVAL_HEALTHY ? "healthy" : "degraded");
    } else if (interval->kind == CS_INTERVAL_ADAPTED) {
        cs_text_add(text, "%s for the faults that are known", line->policy->name);
    } else {
        cs_text_add(text, "%s", cs_job_interval_text(interval->kind));
    }
}

static void add_intervals(const cs_whatif_job *job, const cs_whatif_line *line, int width,
                          int decimals, cs_text *text)
{
    size_t      shown = line->n_intervals < MAX_ROWS ? line->n_intervals : MAX_ROWS;
    const char *name  = line->policy->name;

    for (size_t i = 0; i < shown; i++) {
        const cs_job_interval *interval = &line->intervals[i];
        cs_text_add(text, "%-*s %12.*f ", width, i == 0 ? name : "", decimals, interval->from_s);
        if (isinf(interval->until_s)) {
            cs_text_add(text, "%12s", "-");
        } else {
            cs_text_add(text, "%12.*f", decimals, interval->until_s);
        }
        cs_text_add(text, " %12.6g %12.6g  ", interval->iterations, rate_of(interval));
        add_what(job, line, interval, text);
        if (interval->held_s > 0) {
            cs_text_add(text, ", held for %.4g s", interval->held_s);
        }
        cs_text_add(text, "\n");
    }
    if (shown < line->n_intervals) {
        cs_text_add(text, "%-*s ... and %zu more: --format csv has all\n", width, "",
                    line->n_intervals - shown);
    }
}

void cs_whatif_table(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text)
{
    int decimals = decimals_of(report), width = width_of(report);

    add_head(job, report, text);
    cs_text_add(text, "place  %-*s %12s %12s %12s  %s\n", width, "policy", "time (s)", "iterations",
                "GPU-h lost", "why");
    for (size_t i = 0; i < report->n_lines; i++) {
        add_line(&report->lines[i], width, decimals, text);
    }
    cs_text_add(text, "\n%-*s %12s %12s %12s %12s  %s\n", width, "policy", "from (s)", "until (s)",
                "iterations", "per second", "what runs");
    for (size_t i = 0; i < report->n_lines; i++) {
        add_intervals(job, &report->lines[i], width, decimals, text);
    }
}

/* ---- rows for programs; what never ends is null ---- */

typedef struct job_row {
    const char *model, *algorithm;
} job_row;

static const cs_column name_columns[] = {
    CS_COLUMN(cs_whatif_job, name),
    CS_COLUMN_AS("job_iterations", cs_whatif_job, iterations),
    CS_COLUMN_AS("ranks", cs_whatif_job, call.scenario.cluster.n_ranks),
    CS_COLUMN_AS("gpus_per_server", cs_whatif_job, call.scenario.cluster.gpus_per_server),
    CS_COLUMN_END,
};
static const cs_column job_columns[] = {
    CS_COLUMN(job_row, model),
    CS_COLUMN(job_row, algorithm),
    CS_COLUMN_END,
};
static const cs_column report_columns[] = {
    CS_COLUMN(cs_whatif_report, healthy_call_s),
    CS_COLUMN(cs_whatif_report, healthy_iteration_s),
    CS_COLUMN_AS("reference_algorithm", cs_whatif_report, best.name),
    CS_COLUMN_AS("reference_call_s", cs_whatif_report, best.elapsed_s),
    CS_COLUMN_AS("reference_iteration_s", cs_whatif_report, best_iteration_s),
    CS_COLUMN_END,
};
static const cs_column horizon_columns[] = {CS_COLUMN(cs_whatif_job, horizon_s), CS_COLUMN_END};
static const cs_column timer_columns[]   = {
      CS_COLUMN(cs_whatif_timers, preset),
      CS_COLUMN(cs_whatif_timers, detect_s),
      CS_COLUMN(cs_whatif_timers, reschedule_s),
      CS_COLUMN(cs_whatif_timers, restart_s),
      CS_COLUMN(cs_whatif_timers, rejoin_s),
      CS_COLUMN(cs_whatif_timers, tolerance_ratio),
      CS_COLUMN_END,
};

/* A policy. */
typedef struct line_row {
    const char *policy;
    double      place; /* NAN: none */
    bool        available, finished;
    double      total_s, iterations, lost_gpu_hours;
    const char *reason, *note;
} line_row;

static const cs_column line_columns[] = {
    CS_COLUMN(line_row, policy),         CS_COLUMN(line_row, place),
    CS_COLUMN(line_row, available),      CS_COLUMN(line_row, finished),
    CS_COLUMN(line_row, total_s),        CS_COLUMN(line_row, iterations),
    CS_COLUMN(line_row, lost_gpu_hours), CS_COLUMN(line_row, reason),
    CS_COLUMN(line_row, note),           CS_COLUMN_END,
};
/* Those that stand before every interval of it in a CSV. */
static const cs_column csv_line_columns[] = {
    CS_COLUMN(line_row, policy),
    CS_COLUMN(line_row, place),
    CS_COLUMN(line_row, total_s),
    CS_COLUMN(line_row, lost_gpu_hours),
    CS_COLUMN_END,
};

/* An interval of its time. */
typedef struct interval_row {
    const char *what;
    double      from_s, until_s, iterations, iterations_per_s, held_s;
    uint32_t    excluded_servers;
} interval_row;

static const cs_column what_columns[]     = {CS_COLUMN(interval_row, what), CS_COLUMN_END};
static const cs_column interval_columns[] = {
    CS_COLUMN(interval_row, from_s),
    CS_COLUMN(interval_row, until_s),
    CS_COLUMN(interval_row, iterations),
    CS_COLUMN(interval_row, iterations_per_s),
    CS_COLUMN(interval_row, held_s),
    CS_COLUMN(interval_row, excluded_servers),
    CS_COLUMN_END,
};

static line_row line_row_of(const cs_whatif_line *line)
{
    double none = (double)NAN;

    return (line_row){.policy         = line->policy->name,
                      .place          = line->place > 0 ? line->place : none,
                      .available      = line->is_available,
                      .finished       = line->is_finished,
                      .total_s        = line->is_available ? line->total_s : none,
                      .iterations     = line->is_available ? line->iterations : none,
                      .lost_gpu_hours = line->is_available ? line->lost_gpu_hours : none,
                      .reason         = line->reason,
                      .note           = line->note};
}

static interval_row interval_row_of(const cs_job_interval *interval)
{
    return (interval_row){.what             = cs_job_interval_text(interval->kind),
                          .from_s           = interval->from_s,
                          .until_s          = interval->until_s,
                          .iterations       = interval->iterations,
                          .iterations_per_s = rate_of(interval),
                          .held_s           = interval->held_s,
                          .excluded_servers = interval->excluded};
}

static void add_line_json(const cs_whatif_line *line, cs_text *text)
{
    const line_row row = line_row_of(line);

    cs_json_next(text, "\n  ", "\n  ");
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){line_columns, &row, false});
    cs_json_key(text, "throughput");
    cs_text_add(text, "[");
    for (size_t i = 0; i < line->n_intervals; i++) {
        const interval_row interval = interval_row_of(&line->intervals[i]);
        cs_json_next(text, "\n    ", "\n    ");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){what_columns, &interval, false});
        cs_json_row(text, &(cs_row){interval_columns, &interval, false});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]}");
}

void cs_whatif_json(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text)
{
    const job_row names = {job->call.model->name, job->schedule.algorithm->name};

    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){name_columns, job, false});
    cs_json_row(text, &(cs_row){job_columns, &names, false});
    cs_json_row(text, &(cs_row){report_columns, report, false});
    cs_json_row(text, &(cs_row){horizon_columns, job, false});
    cs_text_add(text, ",\n \"timers\": {");
    cs_json_row(text, &(cs_row){timer_columns, &job->timers, false});
    cs_text_add(text, "},\n \"policies\": [");
    for (size_t i = 0; i < report->n_lines; i++) {
        add_line_json(&report->lines[i], text);
    }
    cs_text_add(text, "]}\n");
}

void cs_whatif_csv(const cs_whatif_report *report, cs_text *text)
{
    cs_csv_keys(text, csv_line_columns);
    cs_csv_keys(text, interval_columns);
    cs_csv_keys(text, what_columns);
    cs_csv_end(text);
    for (size_t i = 0; i < report->n_lines; i++) {
        const line_row line = line_row_of(&report->lines[i]);
        for (size_t j = 0; j < report->lines[i].n_intervals; j++) {
            const interval_row interval = interval_row_of(&report->lines[i].intervals[j]);
            cs_csv_row(text, &(cs_row){csv_line_columns, &line, false});
            cs_csv_row(text, &(cs_row){interval_columns, &interval, false});
            cs_csv_row(text, &(cs_row){what_columns, &interval, false});
            cs_csv_end(text);
        }
    }
}
