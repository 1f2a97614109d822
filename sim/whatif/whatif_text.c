/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report for people and for programs: see whatif/whatif_text.h. */
#include "whatif/whatif_text.h"

#include <math.h>
#include <string.h>

enum { MAX_ROWS = 12 };

static double rate_of(const cs_piece *piece)
{
    double duration_s = piece->until_s - piece->from_s;
    return duration_s > 0 ? piece->iterations / duration_s : 0;
}

static void add_head(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text)
{
    const cs_whatif_timers *t = &job->timers;

    cs_text_add(text,
                "%s%s%llu iterations on %u GPUs: %.6g s of compute, %u x AllReduce of %llu "
                "bytes\n",
                job->name != NULL ? job->name : "", job->name != NULL ? ": " : "",
                (unsigned long long)job->iterations, job->cluster.n_ranks, job->compute_s,
                job->calls, (unsigned long long)job->bytes);
    cs_text_add(text, "healthy: %.6g s an iteration, %.6g s an AllReduce (%s, %s)\n",
                report->healthy_iteration_s, report->healthy_call_s, job->schedule.algorithm->name,
                job->model->name);
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

/* What runs in a piece, by name. */
static void add_what(const cs_whatif_job *job, const cs_whatif_line *line, const cs_piece *piece,
                     cs_text *text)
{
    const char *name = job->schedule.algorithm->name;

    if (piece->kind == CS_PIECE_HEALTHY || piece->kind == CS_PIECE_DEGRADED) {
        cs_text_add(text, "%s on %s NICs", name,
                    piece->kind == CS_PIECE_HEALTHY ? "healthy" : "degraded");
    } else if (piece->kind == CS_PIECE_ADAPTED) {
        cs_text_add(text, "%s for the faults that are known", line->policy->name);
    } else {
        cs_text_add(text, "%s", cs_piece_text(piece->kind));
    }
}

static void add_pieces(const cs_whatif_job *job, const cs_whatif_line *line, int width,
                       int decimals, cs_text *text)
{
    size_t      shown = line->n_pieces < MAX_ROWS ? line->n_pieces : MAX_ROWS;
    const char *name  = line->policy->name;

    for (size_t i = 0; i < shown; i++) {
        const cs_piece *piece = &line->pieces[i];
        cs_text_add(text, "%-*s %12.*f ", width, i == 0 ? name : "", decimals, piece->from_s);
        if (isinf(piece->until_s)) {
            cs_text_add(text, "%12s", "-");
        } else {
            cs_text_add(text, "%12.*f", decimals, piece->until_s);
        }
        cs_text_add(text, " %12.6g %12.6g  ", piece->iterations, rate_of(piece));
        add_what(job, line, piece, text);
        if (piece->held_s > 0) {
            cs_text_add(text, ", held for %.4g s", piece->held_s);
        }
        cs_text_add(text, "\n");
    }
    if (shown < line->n_pieces) {
        cs_text_add(text, "%-*s ... and %zu more: --format csv has all\n", width, "",
                    line->n_pieces - shown);
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
        add_pieces(job, &report->lines[i], width, decimals, text);
    }
}

/* ", "key": number" */
static void add_number(cs_text *text, const char *key, double value)
{
    cs_text_add(text, ", \"%s\": ", key);
    cs_text_add_number(text, value);
}

static void add_piece_json(const cs_piece *piece, bool is_first, cs_text *text)
{
    cs_text_add(text, "%s\n    {\"what\": ", is_first ? "" : ",");
    cs_text_add_json_string(text, cs_piece_text(piece->kind));
    add_number(text, "from_s", piece->from_s);
    add_number(text, "until_s", piece->until_s);
    add_number(text, "iterations", piece->iterations);
    add_number(text, "iterations_per_s", rate_of(piece));
    add_number(text, "held_s", piece->held_s);
    cs_text_add(text, ", \"excluded_servers\": %u}", piece->excluded);
}

static void add_line_json(const cs_whatif_line *line, bool is_first, cs_text *text)
{
    double none = (double)NAN;

    cs_text_add(text, "%s\n  {\"policy\": ", is_first ? "" : ",");
    cs_text_add_json_string(text, line->policy->name);
    cs_text_add(text, ", \"place\": ");
    cs_text_add_number(text, line->place > 0 ? line->place : none);
    cs_text_add(text, ", \"available\": %s, \"finished\": %s",
                line->is_available ? "true" : "false", line->is_finished ? "true" : "false");
    add_number(text, "total_s", line->is_available ? line->total_s : none);
    add_number(text, "iterations", line->is_available ? line->iterations : none);
    add_number(text, "lost_gpu_hours", line->is_available ? line->lost_gpu_hours : none);
    cs_text_add(text, ", \"reason\": ");
    cs_text_add_json_string(text, line->reason);
    cs_text_add(text, ", \"note\": ");
    cs_text_add_json_string(text, line->note);
    cs_text_add(text, ", \"throughput\": [");
    for (size_t i = 0; i < line->n_pieces; i++) {
        add_piece_json(&line->pieces[i], i == 0, text);
    }
    cs_text_add(text, "]}");
}

void cs_whatif_json(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text)
{
    const cs_whatif_timers *t = &job->timers;

    cs_text_add(text, "{\"name\": ");
    cs_text_add_json_string(text, job->name);
    cs_text_add(text, ", \"job_iterations\": %llu, \"ranks\": %u, \"gpus_per_server\": %u",
                (unsigned long long)job->iterations, job->cluster.n_ranks,
                job->cluster.gpus_per_server);
    cs_text_add(text, ", \"model\": ");
    cs_text_add_json_string(text, job->model->name);
    cs_text_add(text, ", \"algorithm\": ");
    cs_text_add_json_string(text, job->schedule.algorithm->name);
    add_number(text, "healthy_call_s", report->healthy_call_s);
    add_number(text, "healthy_iteration_s", report->healthy_iteration_s);
    cs_text_add(text, ", \"reference_algorithm\": ");
    cs_text_add_json_string(text, report->best.name);
    add_number(text, "reference_call_s", report->best.elapsed_s);
    add_number(text, "reference_iteration_s", report->best_iteration_s);
    add_number(text, "horizon_s", job->horizon_s);
    cs_text_add(text, ",\n \"timers\": {\"preset\": ");
    cs_text_add_json_string(text, t->preset);
    add_number(text, "detect_s", t->detect_s);
    add_number(text, "reschedule_s", t->reschedule_s);
    add_number(text, "restart_s", t->restart_s);
    add_number(text, "rejoin_s", t->rejoin_s);
    add_number(text, "tolerance_ratio", t->tolerance_ratio);
    cs_text_add(text, "},\n \"policies\": [");
    for (size_t i = 0; i < report->n_lines; i++) {
        add_line_json(&report->lines[i], i == 0, text);
    }
    cs_text_add(text, "]}\n");
}

/* A number, or nothing where it never ends. */
static void add_field(cs_text *text, double value)
{
    cs_text_add(text, ",");
    if (isfinite(value)) {
        cs_text_add_number(text, value);
    }
}

void cs_whatif_csv(const cs_whatif_report *report, cs_text *text)
{
    cs_text_add(text, "policy,place,total_s,lost_gpu_hours,from_s,until_s,iterations,"
                      "iterations_per_s,held_s,excluded_servers,what\n");
    for (size_t i = 0; i < report->n_lines; i++) {
        const cs_whatif_line *line = &report->lines[i];
        for (size_t j = 0; j < line->n_pieces; j++) {
            const cs_piece *piece = &line->pieces[j];
            cs_text_add_csv_field(text, line->policy->name);
            add_field(text, line->place > 0 ? line->place : (double)NAN);
            add_field(text, line->total_s);
            add_field(text, line->lost_gpu_hours);
            add_field(text, piece->from_s);
            add_field(text, piece->until_s);
            add_field(text, piece->iterations);
            add_field(text, rate_of(piece));
            add_field(text, piece->held_s);
            cs_text_add(text, ",%u,", piece->excluded);
            cs_text_add_csv_field(text, cs_piece_text(piece->kind));
            cs_text_add(text, "\n");
        }
    }
}
