/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All policies of a job, their losses and their order: see whatif/whatif.h. */
#include "whatif/whatif.h"

#include <math.h>
#include <stdlib.h>

#define S_PER_HOUR 3600.0
#define LEAST_LOSS 1e-9 /* relative to what was spent: rounding */
#define SAME_PACE  1e-9 /* rounding */
#define MANY_TIMES 10.0 /* from here on a percentage says less than a factor */

static const char *const interval_texts[] = {
#define X(id, text) [CS_INTERVAL_##id] = text,
    CS_INTERVAL_MAP(X)
#undef X
};

const char *cs_job_interval_text(cs_job_interval_kind kind)
{
    return interval_texts[kind];
}

/* ---- the reason of a line: its intervals of each kind, put together and put into words. Numbers
 * have three digits here; the exact ones are in the intervals. ---- */

/* All intervals of one kind. */
typedef struct kind_sum {
    double   duration_s, iterations, held_s, lost;
    uint32_t most_excluded;
} kind_sum;

static void sum_up(const cs_whatif_line *line, kind_sum *sums)
{
    for (size_t i = 0; i < CS_INTERVAL_COUNT; i++) {
        sums[i] = (kind_sum){0};
    }
    for (size_t i = 0; i < line->n_intervals; i++) {
        const cs_job_interval *interval = &line->intervals[i];
        kind_sum              *sum      = &sums[interval->kind];
        sum->duration_s += interval->until_s - interval->from_s;
        sum->iterations += interval->iterations;
        sum->held_s += interval->held_s;
        sum->lost += interval->lost;
        sum->most_excluded =
            interval->excluded > sum->most_excluded ? interval->excluded : sum->most_excluded;
    }
}

static void add_separator(cs_text *text, int *count)
{
    cs_text_add(text, "%s", (*count)++ == 0 ? ": " : ", ");
}

/* Are there iterations, and do they take longer, or less, than with the best schedule without a
 * fault? Or is there time in which none was done? */
static bool has_pace(const kind_sum *sum, double best_s)
{
    double busy_s = sum->duration_s - sum->held_s, expected_s = sum->iterations * best_s;

    return busy_s > 0 && fabs(busy_s - expected_s) > SAME_PACE * busy_s;
}

/* "2.1 % slower during 60 s", than the best schedule without a fault */
static void add_pace(cs_text *text, const kind_sum *sum, double best_s, int *count)
{
    double busy_s  = sum->duration_s - sum->held_s;
    double ratio   = busy_s / (sum->iterations * best_s);
    double percent = (ratio - 1) * 100;

    add_separator(text, count);
    if (sum->iterations > 0 && ratio >= MANY_TIMES) {
        cs_text_add(text, "%.3g times as long during %.4g s", ratio, busy_s);
    } else if (sum->iterations > 0) {
        cs_text_add(text, "%.3g %% %s during %.4g s", fabs(percent),
                    percent < 0 ? "faster" : "slower", busy_s);
    } else {
        cs_text_add(text, "no iteration done during %.4g s", busy_s);
    }
}

static void add_stops(cs_text *text, const cs_whatif_line *line, const kind_sum *sums, int *count)
{
    double held_s = sums[CS_INTERVAL_DEGRADED].held_s;

    if (held_s > 0) {
        add_separator(text, count);
        cs_text_add(text, "calls held for %.4g s until the repair", held_s);
    }
    if (line->n_profiles > 0) {
        add_separator(text, count);
        cs_text_add(text, "%.4g s stopped for %llu profiles", sums[CS_INTERVAL_PROFILE].duration_s,
                    (unsigned long long)line->n_profiles);
    }
    if (line->n_rebuilds > 0) {
        add_separator(text, count);
        cs_text_add(text, "%.4g s to set up another schedule, %llu times",
                    sums[CS_INTERVAL_REBUILD].duration_s, (unsigned long long)line->n_rebuilds);
    }
    if (sums[CS_INTERVAL_HUNG].duration_s > 0) {
        add_separator(text, count);
        cs_text_add(text, "%.4g s waiting for a worker that has died",
                    sums[CS_INTERVAL_HUNG].duration_s);
    }
    if (sums[CS_INTERVAL_RESTART].duration_s > 0) {
        add_separator(text, count);
        cs_text_add(text, "%.4g s stopped %s", sums[CS_INTERVAL_RESTART].duration_s,
                    line->policy->kind == CS_POLICY_SPARE    ? "until a spare server took over"
                    : line->policy->kind == CS_POLICY_SHRINK ? "to go on without a server"
                                                             : "to restart");
    }
    if (sums[CS_INTERVAL_RESTART].lost > 0) {
        add_separator(text, count);
        cs_text_add(text, "%.4g iterations done again", sums[CS_INTERVAL_RESTART].lost);
    }
    if (sums[CS_INTERVAL_ABORTED].duration_s > 0) {
        add_separator(text, count);
        cs_text_add(text, "%.3g s of work dropped", sums[CS_INTERVAL_ABORTED].duration_s);
    }
    if (sums[CS_INTERVAL_STUCK].duration_s > 0) {
        add_separator(text, count);
        cs_text_add(text, "stuck from %.6g s on", line->intervals[line->n_intervals - 1].from_s);
    }
}

/* The job's schedule on healthy NICs is worth a word where there is a better one. */
static void add_healthy(cs_text *text, const cs_whatif_job *job, const cs_whatif_report *report,
                        const kind_sum *sum, int *count)
{
    if (sum->duration_s > 0 &&
        report->healthy_iteration_s > report->best_iteration_s * (1 + SAME_PACE)) {
        add_pace(text, sum, report->best_iteration_s, count);
        cs_text_add(text, " with %s on healthy NICs", job->schedule.algorithm->name);
    }
}

static void add_paces(cs_text *text, const cs_whatif_job *job, const cs_whatif_report *report,
                      const cs_whatif_line *line, const kind_sum *sums, int *count)
{
    bool   switches = line->policy->kind == CS_POLICY_SWITCH;
    double best_s   = report->best_iteration_s;

    if (has_pace(&sums[CS_INTERVAL_ADAPTED], best_s)) {
        add_pace(text, &sums[CS_INTERVAL_ADAPTED], best_s, count);
        cs_text_add(text, " with %s", line->policy->name);
    }
    if (has_pace(&sums[CS_INTERVAL_SMALLER], best_s)) {
        add_pace(text, &sums[CS_INTERVAL_SMALLER], best_s, count);
        if (sums[CS_INTERVAL_SMALLER].most_excluded > 0) {
            cs_text_add(text, " without %u of %u servers", sums[CS_INTERVAL_SMALLER].most_excluded,
                        cs_n_servers(&job->call.scenario.cluster));
        } else {
            cs_text_add(text, " without rank %u", job->death.rank);
        }
    }
    if (has_pace(&sums[CS_INTERVAL_DEGRADED], best_s)) {
        add_pace(text, &sums[CS_INTERVAL_DEGRADED], best_s, count);
        cs_text_add(text, " with %s on degraded NICs%s%s", job->schedule.algorithm->name,
                    job->interference.gpus > 0 ? " or slowed GPUs" : "",
                    switches ? ", before the switch" : "");
    }
    add_healthy(text, job, report, &sums[CS_INTERVAL_HEALTHY], count);
}

/* Spare servers wait for their turn, and are paid for. */
static double idle_gpu_hours(const cs_whatif_job *job, const cs_whatif_line *line)
{
    bool has_spares = line->policy->kind == CS_POLICY_SPARE && job->spares > 0;

    return has_spares ? line->total_s * job->spares * job->call.scenario.cluster.gpus_per_server /
                            S_PER_HOUR
                      : 0;
}

static void add_reason_text(const cs_whatif_job *job, const cs_whatif_report *report,
                            const cs_whatif_line *line, cs_text *text)
{
    kind_sum sums[CS_INTERVAL_COUNT];
    int      count = 0;

    if (line->policy->kind == CS_POLICY_HEALTHY && line->lost_gpu_hours == 0) {
        cs_text_add(text, "the reference");
        return;
    }
    sum_up(line, sums);
    if (isinf(line->lost_gpu_hours)) {
        cs_text_add(text, "never ends");
    } else if (line->lost_gpu_hours != 0) {
        cs_text_add(text, "%s %.3g GPU-hours", line->lost_gpu_hours < 0 ? "gains" : "loses",
                    fabs(line->lost_gpu_hours));
    } else {
        cs_text_add(text, "loses nothing");
    }
    add_paces(text, job, report, line, sums, &count);
    add_stops(text, line, sums, &count);
    if (idle_gpu_hours(job, line) > 0) {
        add_separator(text, &count);
        cs_text_add(text, "%.3g GPU-hours of %u spare server%s", idle_gpu_hours(job, line),
                    job->spares, job->spares > 1 ? "s" : "");
    }
}

/* ---- lines ---- */

/* Of a line, against the best schedule on NICs that never fail. */
static void count_loss(const cs_whatif_job *job, const cs_whatif_report *report,
                       cs_whatif_line *line)
{
    double lost_s  = line->total_s - line->iterations * report->best_iteration_s;
    bool   is_none = isfinite(lost_s) && fabs(lost_s) <= LEAST_LOSS * line->total_s;

    line->lost_gpu_hours = is_none ? 0 : lost_s * job->call.scenario.cluster.n_ranks / S_PER_HOUR;
    line->lost_gpu_hours += idle_gpu_hours(job, line);
}

/* Of all lines, against that of the policy behind `healthy`; they are in the job's order still. */
static void compare_lines(cs_whatif_report *report)
{
    bool has_baseline = report->n_lines > 1 && report->lines[1].is_available;

    report->baseline = has_baseline ? report->lines[1].policy->name : NULL;
    for (size_t i = 1; i < report->n_lines; i++) {
        const cs_whatif_line *baseline = &report->lines[1];
        cs_whatif_line       *line     = &report->lines[i];
        if (has_baseline && line->is_available) {
            double ratio =
                baseline->total_s * line->iterations / (line->total_s * baseline->iterations);
            line->speedup = isfinite(ratio) ? ratio : (double)NAN;
        }
    }
}

static cs_status add_reason(const cs_whatif_job *job, cs_whatif_report *report,
                            cs_whatif_line *line, cs_error *err)
{
    cs_text text = {0};

    add_reason_text(job, report, line, &text);
    cs_status status = cs_text_status(&text, err);
    if (status == CS_OK) {
        line->reason = cs_arena_strdup(&report->arena, text.data);
        status       = line->reason != NULL ? CS_OK : CS_NO_MEMORY(err, "the reasons of a report");
    }
    cs_text_free(&text);
    return status;
}

/* Does the policy ever run its own schedule? If not, say so where nothing else was said. */
static void note_unused(const cs_policy_request *q, cs_whatif_line *line)
{
    for (size_t i = 0; i < line->n_intervals; i++) {
        if (line->intervals[i].kind == CS_INTERVAL_ADAPTED) {
            return;
        }
    }
    if (q->policy->kind == CS_POLICY_SWITCH && line->note == NULL && q->job->n_faults > 0) {
        line->note = "never switched: no fault was known before the job's end";
    }
}

/* One policy on one timeline. */
static cs_status run_policy(const cs_whatif_job *job, const cs_timeline *timeline,
                            cs_caller *caller, const cs_whatif_policy *policy,
                            cs_whatif_report *report, cs_error *err)
{
    cs_whatif_line   *line = &report->lines[report->n_lines++];
    cs_policy_request q    = {.job                 = job,
                              .timeline            = timeline,
                              .caller              = caller,
                              .policy              = policy,
                              .healthy_iteration_s = report->healthy_iteration_s,
                              .arena               = &report->arena};
    double            none = (double)NAN;

    *line = (cs_whatif_line){.policy = policy, .death = {none, none, none, none}, .speedup = none};
    if ((policy->kind == CS_POLICY_SWITCH || policy->kind == CS_POLICY_RUN) &&
        policy->schedule.algorithm == NULL) {
        line->note   = "this build has no algorithm of that name";
        line->reason = "not available";
        return CS_OK;
    }
    CS_TRY(cs_simulate_policy(&q, line, err));
    line->is_available = true;
    note_unused(&q, line);
    return CS_OK;
}

static double iteration_s(const cs_whatif_job *job, double call_s)
{
    double calls_s = 0, head_s = (1 - job->overlap_ratio) * job->compute_s;

    for (uint32_t i = 0; i < job->calls; i++) {
        calls_s += call_s;
    }
    return fmax(job->compute_s, head_s + calls_s);
}

/* The job's schedule and those of the policies on NICs that never fail; the caller keeps the best
 * of them. A schedule that the cluster is refused by is none; the job's own must run. */
static cs_status time_schedules(const cs_whatif_job *job, cs_caller *caller,
                                cs_whatif_report *report, cs_error *err)
{
    const bool nobody[1] = {false};
    cs_call    call      = {.schedule = &job->schedule, .members = {.is_excluded = nobody}};

    CS_TRY(cs_call_time(caller, &call, &report->healthy_call_s, err));
    for (size_t i = 0; i < job->n_policies; i++) {
        cs_error wrong = {0};
        double   call_s;
        call.schedule = &job->policies[i].schedule;
        if (call.schedule->algorithm == NULL) {
            continue;
        }
        cs_status status = cs_call_time(caller, &call, &call_s, &wrong);
        if (status != CS_OK && !cs_status_is_refusal(status)) {
            return CS_FAIL(err, status, wrong.where, "%s", wrong.message);
        }
    }
    return CS_OK;
}

/* A part of a report; all its calls are those of one caller. */
typedef cs_status report_part(const cs_whatif_job *job, const cs_timeline *timeline,
                              cs_caller *caller, cs_whatif_report *report, cs_error *err);

/* Without faults: one call of every schedule, one iteration, the whole job. */
static cs_status report_healthy(const cs_whatif_job *job, const cs_timeline *timeline,
                                cs_caller *caller, cs_whatif_report *report, cs_error *err)
{
    CS_TRY(time_schedules(job, caller, report, err));
    report->best                = *cs_caller_best(caller);
    report->healthy_iteration_s = iteration_s(job, report->healthy_call_s);
    return run_policy(job, timeline, caller, &job->policies[0], report, err);
}

static cs_status report_faulty(const cs_whatif_job *job, const cs_timeline *timeline,
                               cs_caller *caller, cs_whatif_report *report, cs_error *err)
{
    *cs_caller_best(caller) = report->best;
    for (size_t i = 1; i < job->n_policies; i++) {
        CS_TRY(run_policy(job, timeline, caller, &job->policies[i], report, err));
    }
    report->best = *cs_caller_best(caller);
    return CS_OK;
}

static cs_status run_part(const cs_whatif_job *job, report_part *part, cs_whatif_report *report,
                          cs_error *err)
{
    cs_timeline timeline = {0};
    cs_caller  *caller   = NULL;

    CS_TRY(cs_timeline_build(job, &timeline, err));
    cs_status status = cs_caller_new(job, &timeline, &caller, err);
    if (status == CS_OK) {
        status = part(job, &timeline, caller, report, err);
        report->replays += cs_caller_replays(caller);
    }
    cs_caller_free(caller);
    cs_timeline_free(&timeline);
    return status;
}

/* Losses and reasons, which need the best schedule of all. */
static cs_status judge(const cs_whatif_job *job, cs_whatif_report *report, cs_error *err)
{
    report->best_iteration_s = iteration_s(job, report->best.elapsed_s);
    compare_lines(report);
    for (size_t i = 0; i < report->n_lines; i++) {
        if (report->lines[i].is_available) {
            count_loss(job, report, &report->lines[i]);
            CS_TRY(add_reason(job, report, &report->lines[i], err));
        }
    }
    return CS_OK;
}

/* `healthy`, then what loses less, then what came first in the list of policies. */
static int compare(const void *left, const void *right)
{
    const cs_whatif_line *a = left, *b = right;
    bool                  a_is_first = a->policy->kind == CS_POLICY_HEALTHY;

    if (a_is_first || b->policy->kind == CS_POLICY_HEALTHY) {
        return a_is_first ? -1 : 1;
    }
    if (a->is_available != b->is_available) {
        return a->is_available ? -1 : 1;
    }
    if (a->lost_gpu_hours != b->lost_gpu_hours) {
        return a->lost_gpu_hours < b->lost_gpu_hours ? -1 : 1;
    }
    return a->policy < b->policy ? -1 : 1;
}

/* Policies that lose equally much share a place. */
static void rank_lines(cs_whatif_report *report)
{
    qsort(report->lines, report->n_lines, sizeof report->lines[0], compare);
    for (uint32_t i = 1; i < report->n_lines && report->lines[i].is_available; i++) {
        cs_whatif_line *line = &report->lines[i];
        bool is_tied         = i > 1 && line->lost_gpu_hours == report->lines[i - 1].lost_gpu_hours;
        line->place          = is_tied ? report->lines[i - 1].place : i;
    }
}

cs_status cs_whatif_run(const cs_whatif_job *job, cs_whatif_report *report_p, cs_error *err)
{
    cs_whatif_job    faultless = *job;
    cs_whatif_report report    = {0};

    report.lines = CS_ARENA_NEW(&report.arena, cs_whatif_line, job->n_policies);
    if (report.lines == NULL) {
        return CS_NO_MEMORY(err, "a report");
    }
    faultless.n_faults          = 0;
    faultless.interference.gpus = 0;
    faultless.profiling.is_on   = false;
    faultless.death.is_there    = false;
    cs_status status            = run_part(&faultless, report_healthy, &report, err);
    if (status == CS_OK) {
        status = run_part(job, report_faulty, &report, err);
    }
    if (status == CS_OK) {
        status = judge(job, &report, err);
    }
    if (status != CS_OK) {
        cs_whatif_free(&report);
        return status;
    }
    rank_lines(&report);
    *report_p = report;
    return CS_OK;
}

void cs_whatif_free(cs_whatif_report *report)
{
    cs_arena_free(&report->arena);
    *report = (cs_whatif_report){0};
}
