/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report for people and for programs: see whatif/whatif.h. */
#include "whatif/whatif.h"

#include "base/column.h"

#include <math.h>
#include <string.h>

enum { MAX_ROWS = 12 };

static double rate_of(const cs_job_interval *interval)
{
    double duration_s = interval->until_s - interval->from_s;
    return duration_s > 0 ? interval->iterations / duration_s : 0;
}

/* Does anything change beside NICs, or is it known in another way than by detection? */
static bool is_changing(const cs_whatif_job *job)
{
    return job->profiling.is_on || job->interference.gpus > 0 || job->death.is_there;
}

/* What changes beside the NICs, and who knows what. */
static void add_changes(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text)
{
    const cs_profiling *p = &job->profiling;
    const cs_death     *d = &job->death;

    if (!is_changing(job)) {
        return;
    }
    if (p->is_on && p->period > 0) {
        cs_text_add(text, "profiles: every %llu iterations, %.4g s to set up another schedule\n",
                    (unsigned long long)p->period, p->rebuild_s);
    } else if (p->is_on) {
        cs_text_add(text, "profiles: one, before the job begins\n");
    }
    if (job->interference.gpus > 0) {
        cs_text_add(
            text, "interference: every %.6g s, 0 to %u GPUs of a server compute %.4g %% longer\n",
            job->interference.every_s, job->interference.gpus, 100 * job->interference.level_ratio);
    }
    if (d->is_there) {
        cs_text_add(text,
                    "death: rank %u at %.6g s, %s its server; a checkpoint every %llu iterations, "
                    "%.4g s to notice, %.4g s to relaunch\n",
                    d->rank, d->at_s, d->takes == CS_DEATH_SERVER ? "with" : "without",
                    (unsigned long long)d->checkpoint, d->hang_s, d->relaunch_s);
    }
    if (report->baseline != NULL) {
        cs_text_add(text, "speed-up: %s's time an iteration over that of each policy\n",
                    report->baseline);
    }
    cs_text_add(text, "replays: %llu\n\n", (unsigned long long)report->replays);
}

static bool has_policy(const cs_whatif_job *job, cs_policy_kind kind)
{
    for (size_t i = 0; i < job->n_policies; i++) {
        if (job->policies[i].kind == kind) {
            return true;
        }
    }
    return false;
}

/* The timers that not every job has a use for. */
static void add_stop_timers(const cs_whatif_job *job, cs_text *text)
{
    const cs_whatif_timers *t = &job->timers;

    if (t->checkpoint > 0) {
        cs_text_add(text, "a checkpoint every %llu iterations, ",
                    (unsigned long long)t->checkpoint);
    }
    if (has_policy(job, CS_POLICY_SHRINK)) {
        cs_text_add(text, "shrink %.4g s, ", t->shrink_s);
    }
    if (has_policy(job, CS_POLICY_SPARE)) {
        cs_text_add(text, "%u spare%s in %.4g s, ", job->spares, job->spares == 1 ? "" : "s",
                    t->spare_s);
    }
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
    add_stop_timers(job, text);
    if (isinf(t->rejoin_s)) {
        cs_text_add(text, "no rejoin\n%s", is_changing(job) ? "" : "\n");
    } else {
        cs_text_add(text, "rejoin %.4g s\n%s", t->rejoin_s, is_changing(job) ? "" : "\n");
    }
    add_changes(job, report, text);
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

/* The column of speed-ups, where there is one. */
static void add_speedup(const cs_whatif_job *job, double speedup, cs_text *text)
{
    if (is_changing(job) && isnan(speedup)) {
        cs_text_add(text, " %8s", "-");
    } else if (is_changing(job)) {
        cs_text_add(text, " %8.3f", speedup);
    }
}

static void add_line(const cs_whatif_job *job, const cs_whatif_line *line, int width, int decimals,
                     cs_text *text)
{
    if (!line->is_available) {
        cs_text_add(text, "    -  %-*s %12s %12s", width, line->policy->name, "-", "-");
        add_speedup(job, line->speedup, text);
        cs_text_add(text, " %12s  not available: %s\n", "-", line->note);
        return;
    }
    if (line->place > 0) {
        cs_text_add(text, "%5u  ", line->place);
    } else {
        cs_text_add(text, "    -  ");
    }
    cs_text_add(text, "%-*s ", width, line->policy->name);
    if (isinf(line->total_s)) {
        cs_text_add(text, "%12s %12.6g", "never", line->iterations);
        add_speedup(job, line->speedup, text);
        cs_text_add(text, " %12s", "-");
    } else {
        cs_text_add(text, "%12.*f %12.6g", decimals, line->total_s, line->iterations);
        add_speedup(job, line->speedup, text);
        cs_text_add(text, " %12.4g", line->lost_gpu_hours);
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
        bool is_slowed = interval->kind == CS_INTERVAL_DEGRADED;
        cs_text_add(text, "%s on %s NICs%s", name, is_slowed ? "degraded" : "healthy",
                    is_slowed && job->interference.gpus > 0 ? " or slowed GPUs" : "");
    } else if (interval->kind == CS_INTERVAL_ADAPTED) {
        cs_text_add(text, "%s for the %s", line->policy->name,
                    line->policy->kind == CS_POLICY_RUN ? "rates of its last profile"
                                                        : "faults that are known");
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
        if (interval->lost > 0) {
            cs_text_add(text, ", %.6g iterations are lost", interval->lost);
        }
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

/* The first policy that restarts: the others' losses by the death are held against it. */
static const cs_whatif_line *find_restart(const cs_whatif_job *job, const cs_whatif_report *report)
{
    for (size_t i = 0; i < job->n_policies; i++) {
        for (size_t k = 0; k < report->n_lines; k++) {
            const cs_whatif_line *line = &report->lines[k];
            if (line->policy == &job->policies[i] && !isnan(line->death.lost_s) &&
                line->policy->recovery == CS_RECOVERY_RESTART) {
                return line;
            }
        }
    }
    return NULL;
}

/* What the death of a worker cost each policy. */
static void add_death(const cs_whatif_job *job, const cs_whatif_report *report, int width,
                      cs_text *text)
{
    const cs_whatif_line *reference = find_restart(job, report);

    if (!job->death.is_there) {
        return;
    }
    cs_text_add(text, "\n%-*s %-9s %10s %11s %10s %10s", width, "the death", "recovery", "hung (s)",
                "stopped (s)", "redone", "lost (s)");
    if (reference != NULL) {
        cs_text_add(text, "  less than %s", reference->policy->name);
    }
    cs_text_add(text, "\n");
    for (size_t i = 0; i < report->n_lines; i++) {
        const cs_whatif_line *line = &report->lines[i];
        if (isnan(line->death.lost_s)) {
            continue;
        }
        cs_text_add(text, "%-*s %-9s %10.4g %11.4g %10.4g %10.4g", width, line->policy->name,
                    line->policy->recovery == CS_RECOVERY_EXCLUDE ? "exclude" : "restart",
                    line->death.hung_s, line->death.stopped_s, line->death.redone,
                    line->death.lost_s);
        if (reference != NULL) {
            cs_text_add(text, "  stopped %.1f %%, lost %.1f %%",
                        100 * (1 - line->death.stopped_s / reference->death.stopped_s),
                        100 * (1 - line->death.lost_s / reference->death.lost_s));
        }
        cs_text_add(text, "\n");
    }
}

void cs_whatif_table(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text)
{
    int decimals = decimals_of(report), width = width_of(report);

    add_head(job, report, text);
    cs_text_add(text, "place  %-*s %12s %12s%s %12s  %s\n", width, "policy", "time (s)",
                "iterations", is_changing(job) ? " speed-up" : "", "GPU-h lost", "why");
    for (size_t i = 0; i < report->n_lines; i++) {
        add_line(job, &report->lines[i], width, decimals, text);
    }
    add_death(job, report, width, text);
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
    CS_COLUMN(cs_whatif_report, baseline),
    CS_COLUMN(cs_whatif_report, replays),
    CS_COLUMN_END,
};
static const cs_column horizon_columns[] = {CS_COLUMN(cs_whatif_job, horizon_s), CS_COLUMN_END};
static const cs_column timer_columns[]   = {
      CS_COLUMN(cs_whatif_timers, preset),
      CS_COLUMN(cs_whatif_timers, detect_s),
      CS_COLUMN(cs_whatif_timers, reschedule_s),
      CS_COLUMN(cs_whatif_timers, restart_s),
      CS_COLUMN(cs_whatif_timers, shrink_s),
      CS_COLUMN(cs_whatif_timers, spare_s),
      CS_COLUMN_AS("checkpoint_iterations", cs_whatif_timers, checkpoint),
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
    double      iterations_per_hour, speedup, profiles, rebuilds;
    double      death_hung_s, death_stopped_s, death_redone, death_lost_s;
    const char *reason, *note;
} line_row;

static const cs_column line_columns[] = {
    CS_COLUMN(line_row, policy),
    CS_COLUMN(line_row, place),
    CS_COLUMN(line_row, available),
    CS_COLUMN(line_row, finished),
    CS_COLUMN(line_row, total_s),
    CS_COLUMN(line_row, iterations),
    CS_COLUMN(line_row, lost_gpu_hours),
    CS_COLUMN(line_row, iterations_per_hour),
    CS_COLUMN(line_row, speedup),
    CS_COLUMN(line_row, profiles),
    CS_COLUMN(line_row, rebuilds),
    CS_COLUMN(line_row, death_hung_s),
    CS_COLUMN(line_row, death_stopped_s),
    CS_COLUMN(line_row, death_redone),
    CS_COLUMN(line_row, death_lost_s),
    CS_COLUMN(line_row, reason),
    CS_COLUMN(line_row, note),
    CS_COLUMN_END,
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
    double      from_s, until_s, iterations, iterations_per_s, samples_per_s, held_s;
    double      lost_iterations;
    uint32_t    excluded_servers;
} interval_row;

static const cs_column what_columns[]     = {CS_COLUMN(interval_row, what), CS_COLUMN_END};
static const cs_column interval_columns[] = {
    CS_COLUMN(interval_row, from_s),
    CS_COLUMN(interval_row, until_s),
    CS_COLUMN(interval_row, iterations),
    CS_COLUMN(interval_row, iterations_per_s),
    CS_COLUMN(interval_row, samples_per_s),
    CS_COLUMN(interval_row, lost_iterations),
    CS_COLUMN(interval_row, held_s),
    CS_COLUMN(interval_row, excluded_servers),
    CS_COLUMN_END,
};

static line_row line_row_of(const cs_whatif_line *line)
{
    double none = (double)NAN;

    double is      = line->is_available ? 1 : none;
    double pace_Hz = line->iterations / line->total_s;

    return (line_row){.policy              = line->policy->name,
                      .place               = line->place > 0 ? line->place : none,
                      .available           = line->is_available,
                      .finished            = line->is_finished,
                      .total_s             = line->is_available ? line->total_s : none,
                      .iterations          = line->is_available ? line->iterations : none,
                      .lost_gpu_hours      = line->is_available ? line->lost_gpu_hours : none,
                      .iterations_per_hour = is * 3600 * pace_Hz,
                      .speedup             = line->speedup,
                      .profiles            = is * (double)line->n_profiles,
                      .rebuilds            = is * (double)line->n_rebuilds,
                      .death_hung_s        = line->death.hung_s,
                      .death_stopped_s     = line->death.stopped_s,
                      .death_redone        = line->death.redone,
                      .death_lost_s        = line->death.lost_s,
                      .reason              = line->reason,
                      .note                = line->note};
}

static interval_row interval_row_of(const cs_whatif_job *job, const cs_job_interval *interval)
{
    double batch = job->batch > 0 ? (double)job->batch : (double)NAN;

    return (interval_row){.what             = cs_job_interval_text(interval->kind),
                          .from_s           = interval->from_s,
                          .until_s          = interval->until_s,
                          .iterations       = interval->iterations,
                          .iterations_per_s = rate_of(interval),
                          .samples_per_s    = batch * rate_of(interval),
                          .lost_iterations  = interval->lost,
                          .held_s           = interval->held_s,
                          .excluded_servers = interval->excluded};
}

static void add_line_json(const cs_whatif_job *job, const cs_whatif_line *line, cs_text *text)
{
    const line_row row = line_row_of(line);

    cs_json_next(text, "\n  ", "\n  ");
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){line_columns, &row, false});
    cs_json_key(text, "throughput");
    cs_text_add(text, "[");
    for (size_t i = 0; i < line->n_intervals; i++) {
        const interval_row interval = interval_row_of(job, &line->intervals[i]);
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
        add_line_json(job, &report->lines[i], text);
    }
    cs_text_add(text, "]}\n");
}

void cs_whatif_csv(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text)
{
    cs_csv_keys(text, csv_line_columns);
    cs_csv_keys(text, interval_columns);
    cs_csv_keys(text, what_columns);
    cs_csv_end(text);
    for (size_t i = 0; i < report->n_lines; i++) {
        const line_row line = line_row_of(&report->lines[i]);
        for (size_t j = 0; j < report->lines[i].n_intervals; j++) {
            const interval_row interval = interval_row_of(job, &report->lines[i].intervals[j]);
            cs_csv_row(text, &(cs_row){csv_line_columns, &line, false});
            cs_csv_row(text, &(cs_row){interval_columns, &interval, false});
            cs_csv_row(text, &(cs_row){what_columns, &interval, false});
            cs_csv_end(text);
        }
    }
}
