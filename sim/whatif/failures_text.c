/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report on random failures, for people and for programs: see whatif/failures.h. */
#include "whatif/failures.h"

#include "base/column.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define S_PER_DAY  86400.0
#define S_PER_YEAR (365.25 * S_PER_DAY)
#define LONGEST_S  (1e12 * S_PER_YEAR)

enum { DURATION_BYTES = 32 };

/* "2.1 d": in the unit that gives a number from 1 on; what a record has never seen happens "never".
 */
static const char *duration(double time_s, char *text)
{
    static const struct {
        const char *name;
        double      s;
    } units[] = {{"y", S_PER_YEAR}, {"d", S_PER_DAY}, {"h", 3600}, {"min", 60}, {"s", 1}};
    size_t i  = 0;

    if (time_s > LONGEST_S) {
        return "never";
    }
    while (i + 1 < sizeof units / sizeof units[0] && time_s < units[i].s) {
        i++;
    }
    (void)snprintf(text, DURATION_BYTES, "%.4g %s", time_s / units[i].s, units[i].name);
    return text;
}

/* Half the width of an interval; NAN: there is none. */
static double half(cs_estimate e)
{
    return (e.high - e.low) / 2;
}

static void add_half(cs_text *text, cs_estimate e)
{
    if (isnan(half(e))) {
        cs_text_add(text, " %8s", "-");
    } else {
        cs_text_add(text, " %8.3g", half(e));
    }
}

/* ---- the head ---- */

static void add_timers(const cs_whatif_job *job, cs_text *text)
{
    const cs_whatif_timers *t = &job->timers;

    cs_text_add(text,
                "timers (%s): detect %.4g s, reschedule %.4g s, restart %.4g s, shrink %.4g s, "
                "spare %.4g s",
                t->preset, t->detect_s, t->reschedule_s, t->restart_s, t->shrink_s, t->spare_s);
    if (!isinf(t->rejoin_s)) {
        cs_text_add(text, ", rejoin %.4g s", t->rejoin_s);
    }
    if (t->checkpoint > 0) {
        cs_text_add(text, "; a checkpoint every %llu iterations takes %.4g s",
                    (unsigned long long)t->checkpoint, job->failures.checkpoint_s);
    }
    cs_text_add(text, "\n");
}

static void add_head(const cs_whatif_job *job, const cs_failure_report *report, cs_text *text)
{
    static const char *const recoveries[] = {"it is left out", "its repair", "a spare takes over"};
    const cs_failures       *f            = &job->failures;
    const cs_cluster        *c            = &job->call.scenario.cluster;
    char                     lasts[DURATION_BYTES];

    cs_text_add(text,
                "%s%s%s on %u GPUs, %u servers with %u NICs each: %.6g s of compute an iteration, "
                "%u x AllReduce of %llu bytes\n",
                job->name != NULL ? job->name : "", job->name != NULL ? ": " : "",
                duration(f->duration_s, lasts), c->n_ranks, cs_n_servers(c), f->nics,
                job->compute_s, job->calls, (unsigned long long)job->call.scenario.bytes);
    cs_text_add(text,
                "healthy: %.6g s an iteration (%s, %s); reference: %.6g s (%s), the best of these "
                "schedules without a failure\n",
                report->healthy_iteration_s, job->schedule.algorithm->name, job->call.model->name,
                report->best_iteration_s, report->best.name);
    add_timers(job, text);
    cs_text_add(text,
                "a server that is down: %s, where the policy does not say; %u spare%s, paid for by "
                "policies that use them\n",
                recoveries[f->recovery], job->spares, job->spares == 1 ? "" : "s");
    if (f->failover != CS_FAILOVER_POOL) {
        cs_text_add(text, "a dead NIC: %s\n",
                    f->failover == CS_FAILOVER_NONE ? "its server is down"
                                                    : "its GPUs use the next one");
    }
    if (f->preset != NULL) {
        cs_text_add(text, "failures (%s): %s\n", f->preset, f->source);
    }
    if (f->recorded.path != NULL) {
        cs_text_add(text, "failures: %s, %zu faults of %u servers in %s\n", f->recorded.path,
                    job->history.n, f->recorded.n_nodes, duration(f->recorded.length_s, lasts));
    }
    cs_text_add(text,
                "seed %llu, the same failures for all policies; %llu states of servers\n"
                "+-: half the %g %% interval of the mean (Student's t over trials)%s\n",
                (unsigned long long)job->call.scenario.seed, (unsigned long long)report->states,
                100 * f->confidence,
                f->recorded.path != NULL && f->recorded.pick == CS_PICK_RESAMPLE
                    ? ": over samples of this fleet, not over fleets"
                    : "");
}

/* ---- tables ---- */

static void add_causes(const cs_failure_setting *s, cs_text *text)
{
    char up[DURATION_BYTES], down[DURATION_BYTES];

    cs_text_add(text, "%-24s %-7s %8s %11s %11s %10s %8s %10s %9s %9s\n", "cause", "takes",
                "of them", "MTBF", "MTTR", "failures", "+-", "expected", "down (%)", "expected");
    for (size_t i = 0; i < s->n_causes; i++) {
        const cs_cause_line *c = &s->causes[i];
        cs_text_add(text, "%-24s %-7s %8.0f %11s %11s %10.4g", c->cause.name,
                    cs_failure_takes_name((cs_failure_takes)c->cause.takes), c->components,
                    duration(c->cause.mtbf_s, up), duration(c->cause.mttr_s, down),
                    c->failures.value);
        add_half(text, c->failures);
        if (isnan(c->expected_failures)) {
            cs_text_add(text, " %10s %9.4g %9s\n", "-", 100 * c->down.value, "-");
        } else {
            cs_text_add(text, " %10.4g %9.4g %9.4g\n", c->expected_failures, 100 * c->down.value,
                        100 * c->expected_down);
        }
    }
}

static int width_of(const cs_failure_setting *s)
{
    size_t width = 8;

    for (size_t i = 0; i < s->n_lines; i++) {
        size_t length = strlen(s->lines[i].policy->name);
        width         = length > width ? length : width;
    }
    return (int)width;
}

static void add_policies(const cs_whatif_job *job, const cs_failure_report *report,
                         const cs_failure_setting *s, cs_text *text)
{
    int width = width_of(s);

    cs_text_add(text, "place  %-*s %11s %8s %7s %11s | %9s %9s %9s %9s %9s | %9s %11s %8s\n", width,
                "policy", "GPU-h lost", "+-", "(%)", "95 % below", "slower", "stalled", "stopped",
                "redone", "spares", "stops", "saved", "+-");
    for (size_t i = 0; i < s->n_lines; i++) {
        const cs_failure_line *l = &s->lines[i];
        if (l->place > 0) {
            cs_text_add(text, "%5u  ", l->place);
        } else {
            cs_text_add(text, "    -  ");
        }
        cs_text_add(text, "%-*s %11.5g", width, l->policy->name, l->lost.value);
        add_half(text, l->lost);
        cs_text_add(text, " %7.3g %11.5g | %9.4g %9.4g %9.4g %9.4g %9.4g | %9.4g",
                    100 * l->lost.value / l->paid, l->lost_p95, l->slower, l->stalled, l->stopped,
                    l->redone, l->spares, l->restarts);
        if (l->place == 0) {
            cs_text_add(text, " %11s %8s\n", "-", "-");
        } else {
            cs_text_add(text, " %11.5g", l->saved.value);
            add_half(text, l->saved);
            cs_text_add(text, "\n");
        }
        if (l->note != NULL) {
            cs_text_add(text, "       %-*s note: cannot run everywhere (%s): there %s runs\n",
                        width, "", l->note, job->schedule.algorithm->name);
        }
    }
    cs_text_add(text, "# lost: of what is paid for, against the reference; saved: against %s\n",
                report->baseline != NULL ? report->baseline : "-");
}

static void add_setting(const cs_whatif_job *job, const cs_failure_report *report,
                        const cs_failure_setting *s, cs_text *text)
{
    char optimum[DURATION_BYTES];

    cs_text_add(text, "\n");
    if (s->what != NULL) {
        cs_text_add(text, "%s: ", s->what);
    } else if (report->n_settings > 1) {
        cs_text_add(text, "MTBF x %g, MTTR x %g: ", s->mtbf_factor, s->mttr_factor);
    }
    cs_text_add(text, "%llu trials of %s, %.4g job-years\n", (unsigned long long)s->trials,
                duration(s->duration_s, optimum), (double)s->trials * s->duration_s / S_PER_YEAR);
    add_causes(s, text);
    if (!isnan(s->optimum_s)) {
        cs_text_add(text,
                    "# Young's interval between checkpoints, if every failure ends the job: %s of "
                    "work\n",
                    duration(s->optimum_s, optimum));
    }
    cs_text_add(text, "\n");
    add_policies(job, report, s, text);
}

/* The second half, as predicted and as it was. */
static void add_predictions(const cs_whatif_job *job, const cs_failure_report *report,
                            cs_text *text)
{
    cs_text_add(text,
                "\nthe second half, predicted from the first alone: per job, on average over %llu "
                "jobs\n%-30s %11s %11s %11s %11s  %g %% of predictions\n",
                (unsigned long long)report->jobs, "", "predicted", "from", "to", "happened",
                100 * job->failures.confidence);
    for (size_t i = 0; i < report->n_predictions; i++) {
        const cs_failure_prediction *p = &report->predictions[i];
        bool is_in = p->predicted.low <= p->happened && p->happened <= p->predicted.high;
        cs_text_add(text, "%-10s %-19s %11.5g %11.5g %11.5g %11.5g  %s\n",
                    p->is_cause ? "failures" : "GPU-h lost", p->name, p->predicted.value,
                    p->predicted.low, p->predicted.high, p->happened, is_in ? "inside" : "OUTSIDE");
    }
}

void cs_failures_table(const cs_whatif_job *job, const cs_failure_report *report, cs_text *text)
{
    add_head(job, report, text);
    for (size_t i = 0; i < report->n_settings; i++) {
        add_setting(job, report, &report->settings[i], text);
    }
    if (report->n_predictions > 0) {
        add_predictions(job, report, text);
    }
}

/* ---- rows for programs ---- */

typedef struct job_row {
    const char *name, *model, *algorithm;
    uint32_t    ranks, gpus_per_server, nics_per_server, spares;
    double      confidence;
    uint64_t    seed;
    const char *failover, *recovery, *preset, *source, *history;
    double      checkpoint_cost_s;
} job_row;

static const cs_column job_columns[] = {
    CS_COLUMN(job_row, name),
    CS_COLUMN(job_row, model),
    CS_COLUMN(job_row, algorithm),
    CS_COLUMN(job_row, ranks),
    CS_COLUMN(job_row, gpus_per_server),
    CS_COLUMN(job_row, nics_per_server),
    CS_COLUMN(job_row, spares),
    CS_COLUMN(job_row, seed),
    CS_COLUMN(job_row, confidence),
    CS_COLUMN(job_row, failover),
    CS_COLUMN(job_row, recovery),
    CS_COLUMN(job_row, checkpoint_cost_s),
    CS_COLUMN(job_row, preset),
    CS_COLUMN(job_row, source),
    CS_COLUMN(job_row, history),
    CS_COLUMN_END,
};
static const cs_column report_columns[] = {
    CS_COLUMN(cs_failure_report, healthy_iteration_s),
    CS_COLUMN_AS("reference_algorithm", cs_failure_report, best.name),
    CS_COLUMN_AS("reference_iteration_s", cs_failure_report, best_iteration_s),
    CS_COLUMN(cs_failure_report, baseline),
    CS_COLUMN(cs_failure_report, states),
    CS_COLUMN_END,
};
static const cs_column prediction_columns[] = {
    CS_COLUMN(cs_failure_prediction, name),
    CS_COLUMN_AS("is_cause", cs_failure_prediction, is_cause),
    CS_COLUMN_AS("predicted", cs_failure_prediction, predicted.value),
    CS_COLUMN_AS("predicted_low", cs_failure_prediction, predicted.low),
    CS_COLUMN_AS("predicted_high", cs_failure_prediction, predicted.high),
    CS_COLUMN(cs_failure_prediction, happened),
    CS_COLUMN_END,
};
static const cs_column setting_columns[] = {
    CS_COLUMN_AS("setting", cs_failure_setting, what),
    CS_COLUMN(cs_failure_setting, trials),
    CS_COLUMN(cs_failure_setting, duration_s),
    CS_COLUMN(cs_failure_setting, mtbf_factor),
    CS_COLUMN(cs_failure_setting, mttr_factor),
    CS_COLUMN_AS("young_interval_s", cs_failure_setting, optimum_s),
    CS_COLUMN_END,
};
/* In a CSV, behind the setting: of the first cause. */
static const cs_column first_columns[] = {
    CS_COLUMN_AS("first_mtbf_s", cs_cause_line, cause.mtbf_s),
    CS_COLUMN_AS("first_mttr_s", cs_cause_line, cause.mttr_s),
    CS_COLUMN_END,
};

typedef struct cause_row {
    const char *name, *takes;
    double      components, mtbf_s, shape, mttr_s, repair_shape;
    cs_estimate failures, down;
    double      expected_failures, expected_down;
} cause_row;

#define ESTIMATE(type, key, field)                                                   \
    CS_COLUMN_AS(key, type, field.value), CS_COLUMN_AS(key "_low", type, field.low), \
        CS_COLUMN_AS(key "_high", type, field.high)
/* clang-format off */
static const cs_column cause_columns[] = {
    CS_COLUMN(cause_row, name),
    CS_COLUMN(cause_row, takes),
    CS_COLUMN(cause_row, components),
    CS_COLUMN(cause_row, mtbf_s),
    CS_COLUMN(cause_row, shape),
    CS_COLUMN(cause_row, mttr_s),
    CS_COLUMN(cause_row, repair_shape),
    ESTIMATE(cause_row, "failures", failures),
    CS_COLUMN(cause_row, expected_failures),
    ESTIMATE(cause_row, "down_ratio", down),
    CS_COLUMN_AS("expected_down_ratio", cause_row, expected_down),
    CS_COLUMN_END,
};

typedef struct line_row {
    const char     *policy;
    double          place; /* NAN: none */
    cs_failure_line line;
} line_row;

static const cs_column line_columns[] = {
    CS_COLUMN(line_row, policy),
    CS_COLUMN(line_row, place),
    ESTIMATE(line_row, "lost_gpu_hours", line.lost),
    CS_COLUMN_AS("lost_gpu_hours_p95", line_row, line.lost_p95),
    CS_COLUMN_AS("paid_gpu_hours", line_row, line.paid),
    CS_COLUMN_AS("slower_gpu_hours", line_row, line.slower),
    CS_COLUMN_AS("stalled_gpu_hours", line_row, line.stalled),
    CS_COLUMN_AS("stopped_gpu_hours", line_row, line.stopped),
    CS_COLUMN_AS("redone_gpu_hours", line_row, line.redone),
    CS_COLUMN_AS("spares_gpu_hours", line_row, line.spares),
    CS_COLUMN_AS("stops", line_row, line.restarts),
    ESTIMATE(line_row, "saved_gpu_hours", line.saved),
    CS_COLUMN_AS("note", line_row, line.note),
    CS_COLUMN_END,
};
/* clang-format on */

static line_row line_row_of(const cs_failure_line *line)
{
    return (line_row){.policy = line->policy->name,
                      .place  = line->place > 0 ? line->place : (double)NAN,
                      .line   = *line};
}

static cause_row cause_row_of(const cs_cause_line *line)
{
    const cs_failure_cause *c = &line->cause;

    return (cause_row){.name              = c->name,
                       .takes             = cs_failure_takes_name((cs_failure_takes)c->takes),
                       .components        = line->components,
                       .mtbf_s            = c->mtbf_s,
                       .shape             = c->shape,
                       .mttr_s            = c->mttr_s,
                       .repair_shape      = c->repair_shape,
                       .failures          = line->failures,
                       .down              = line->down,
                       .expected_failures = line->expected_failures,
                       .expected_down     = line->expected_down};
}

static job_row job_row_of(const cs_whatif_job *job)
{
    static const char *const recoveries[] = {"exclude", "wait", "spare"};
    const cs_failures       *f            = &job->failures;

    return (job_row){.name              = job->name,
                     .model             = job->call.model->name,
                     .algorithm         = job->schedule.algorithm->name,
                     .ranks             = job->call.scenario.cluster.n_ranks,
                     .gpus_per_server   = job->call.scenario.cluster.gpus_per_server,
                     .nics_per_server   = f->nics,
                     .spares            = job->spares,
                     .confidence        = f->confidence,
                     .seed              = job->call.scenario.seed,
                     .failover          = cs_failover_name((cs_failover)f->failover),
                     .recovery          = recoveries[f->recovery],
                     .preset            = f->preset,
                     .source            = f->source,
                     .history           = f->recorded.path,
                     .checkpoint_cost_s = f->checkpoint_s};
}

static void add_setting_json(const cs_failure_setting *s, cs_text *text)
{
    cs_json_next(text, "\n  ", "\n  ");
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){setting_columns, s, false});
    cs_json_key(text, "causes");
    cs_text_add(text, "[");
    for (size_t i = 0; i < s->n_causes; i++) {
        const cause_row row = cause_row_of(&s->causes[i]);
        cs_json_next(text, "\n    ", "\n    ");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){cause_columns, &row, false});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]");
    cs_json_key(text, "policies");
    cs_text_add(text, "[");
    for (size_t i = 0; i < s->n_lines; i++) {
        const line_row row = line_row_of(&s->lines[i]);
        cs_json_next(text, "\n    ", "\n    ");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){line_columns, &row, false});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]}");
}

void cs_failures_json(const cs_whatif_job *job, const cs_failure_report *report, cs_text *text)
{
    const job_row row = job_row_of(job);

    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){job_columns, &row, false});
    cs_json_row(text, &(cs_row){report_columns, report, false});
    cs_text_add(text, ",\n \"settings\": [");
    for (size_t i = 0; i < report->n_settings; i++) {
        add_setting_json(&report->settings[i], text);
    }
    cs_text_add(text, "]");
    if (report->n_predictions > 0) {
        cs_json_key(text, "predictions");
        cs_text_add(text, "[");
        for (size_t i = 0; i < report->n_predictions; i++) {
            cs_json_next(text, "\n  ", "\n  ");
            cs_text_add(text, "{");
            cs_json_row(text, &(cs_row){prediction_columns, &report->predictions[i], false});
            cs_text_add(text, "}");
        }
        cs_text_add(text, "]");
    }
    cs_text_add(text, "}\n");
}

void cs_failures_csv(const cs_whatif_job *job, const cs_failure_report *report, cs_text *text)
{
    (void)job;
    cs_csv_keys(text, setting_columns);
    cs_csv_keys(text, first_columns);
    cs_csv_keys(text, line_columns);
    cs_csv_end(text);
    for (size_t i = 0; i < report->n_settings; i++) {
        const cs_failure_setting *s = &report->settings[i];
        for (size_t k = 0; k < s->n_lines; k++) {
            const line_row row = line_row_of(&s->lines[k]);
            cs_csv_row(text, &(cs_row){setting_columns, s, false});
            cs_csv_row(text, &(cs_row){first_columns, &s->causes[0], false});
            cs_csv_row(text, &(cs_row){line_columns, &row, false});
            cs_csv_end(text);
        }
    }
}
