/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All trials of all settings, and what they say: see whatif/failures.h. Trials are worked on in
 * pieces by threads, and each leaves its courses in a place of its own. */
#include "whatif/failures.h"

#include "base/random.h"
#include "campaign/thread_pool.h"
#include "whatif/course.h"
#include "whatif/recorded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 32, PREDICTIONS = 400 };

/* What is drawn for predictions, of all policies. */
#define MAX_PREDICTED 4e6

#define S_PER_HOUR 3600.0
#define ROUNDING   1e-9 /* relative to what was paid */

/* What a trial says of a cause: how often it struck the job's servers, for how long altogether. */
typedef struct strike {
    double failures, down_s;
} strike;

/* A setting while it is worked on. */
typedef struct setting {
    const char       *what;
    double            mtbf_factor, mttr_factor;
    uint64_t          trials;
    double            duration_s;
    uint64_t          group;       /* so many trials have the same causes */
    cs_failure_cause *causes;      /* [group][n_causes] their times as they are */
    cs_failure_cause *shown;       /* [n_causes] those without their uncertainty */
    bool              is_recorded; /* .. are what the record comes to; outages are its own */
    cs_window         window;
    cs_course        *courses; /* [trial][policy] */
    strike           *strikes; /* [trial][cause] */
    size_t            first_piece;
} setting;

typedef struct study {
    const cs_whatif_job *job;
    cs_pace             *pace;
    cs_record            record; /* where there is one */
    setting             *settings;
    size_t               n_settings, n_causes, n_pieces;
} study;

static bool has_record(const study *s)
{
    return s->job->failures.recorded.path != NULL;
}

/* ---- one piece of the trials ---- */

static cs_fleet fleet_of(const study *s, const setting *at, size_t trial)
{
    const cs_cluster *c = &s->job->call.scenario.cluster;

    return (cs_fleet){.causes     = at->causes + trial / at->group * s->n_causes,
                      .n_causes   = s->n_causes,
                      .n_servers  = cs_n_servers(c) + s->job->spares,
                      .gpus       = c->gpus_per_server,
                      .nics       = s->job->failures.nics,
                      .duration_s = at->duration_s,
                      .seed       = s->job->call.scenario.seed};
}

static void count_strikes(const cs_whatif_job *job, const cs_outages *outages, double duration_s,
                          strike *strikes)
{
    uint32_t n_servers = cs_n_servers(&job->call.scenario.cluster);

    for (size_t i = 0; i < outages->n; i++) {
        const cs_outage *o = &outages->list[i];
        if (o->server == CS_NO_SERVER || o->server < n_servers) {
            strikes[o->cause].failures += o->from_s >= 0;
            strikes[o->cause].down_s += fmin(o->until_s, duration_s) - fmax(o->from_s, 0);
        }
    }
}

static cs_status run_trial(const study *s, setting *at, size_t trial, cs_walker *walker,
                           cs_outages *outages, cs_error *err)
{
    const cs_whatif_job *job   = s->job;
    const cs_fleet       fleet = fleet_of(s, at, trial);

    if (at->is_recorded) {
        CS_TRY(cs_record_take(&s->record, &at->window, trial, outages, err));
    } else {
        CS_TRY(cs_outages_draw(&fleet, trial, outages, err));
    }
    count_strikes(job, outages, at->duration_s, at->strikes + trial * s->n_causes);
    for (size_t p = 0; p < job->n_policies; p++) {
        CS_TRY(cs_walk(walker, &job->policies[p], outages, at->duration_s,
                       &at->courses[trial * job->n_policies + p], err));
    }
    return CS_OK;
}

static cs_status run_piece(void *user, size_t index, cs_text *row, cs_error *err)
{
    const study  *s       = user;
    setting      *at      = &s->settings[s->n_settings - 1];
    cs_pace_view *view    = NULL;
    cs_walker    *walker  = NULL;
    cs_outages    outages = {0};
    cs_status     status  = cs_pace_view_new(s->pace, &view, err);

    (void)row;
    while (at->first_piece > index) {
        at--;
    }
    size_t first = (index - at->first_piece) * PIECE;
    if (status == CS_OK) {
        status = cs_walker_new(s->job, view, &walker, err);
    }
    for (size_t t = first; status == CS_OK && t < at->trials && t < first + PIECE; t++) {
        status = run_trial(s, at, t, walker, &outages, err);
    }
    cs_outages_free(&outages);
    cs_walker_free(walker);
    cs_pace_view_free(view);
    return status;
}

/* Wait for the pool; what a piece failed at is the first one's. */
static cs_status take_rows(const study *s, cs_thread_pool *pool, cs_error *err)
{
    cs_error first       = {0};
    size_t   first_index = SIZE_MAX, n_done = 0;

    while (!cs_thread_pool_is_over(pool)) {
        cs_pool_row *rows[PIECE];
        size_t       n = cs_thread_pool_take(pool, rows, PIECE, (double)INFINITY);
        for (size_t i = 0; i < n; i++) {
            if (rows[i]->skip_reason.status != CS_OK && rows[i]->index < first_index) {
                first       = rows[i]->skip_reason;
                first_index = rows[i]->index;
            }
            cs_pool_row_free(rows[i]);
        }
        n_done += n;
        cs_tell(&s->job->listener, n_done, s->n_pieces);
    }
    return first.status == CS_OK ? CS_OK
                                 : CS_FAIL(err, first.status, first.where, "%s", first.message);
}

static cs_status run_threads(study *s, size_t n_threads, cs_error *err)
{
    const cs_pool_work work = {.user = s, .work = run_piece};
    cs_thread_pool    *pool = NULL;
    size_t             index;
    cs_error           wrong = {0};

    CS_TRY(cs_thread_pool_start(&work, n_threads, &pool, err));
    cs_status status = cs_thread_pool_give(pool, 0, s->n_pieces, err);
    cs_thread_pool_close(pool);
    if (status == CS_OK) {
        status = take_rows(s, pool, err);
    }
    cs_status ended = cs_thread_pool_end(pool, &index, &wrong);
    if (status == CS_OK && ended != CS_OK) {
        return CS_FAIL(err, ended, wrong.where, "%s", wrong.message);
    }
    return status;
}

static cs_status run_all(study *s, size_t n_threads, cs_error *err)
{
    size_t n = s->n_pieces;

    if (n_threads > 1 && n > 1) {
        return run_threads(s, n_threads < n ? n_threads : n, err);
    }
    for (size_t i = 0; i < n; i++) {
        CS_TRY(run_piece(s, i, NULL, err));
        cs_tell(&s->job->listener, i + 1, n);
    }
    return CS_OK;
}

/* ---- settings ---- */

/* Memory of a setting, whose trials are known. */
static cs_status make_setting(study *s, cs_arena *arena, setting *at, cs_error *err)
{
    double each    = fmax((double)s->job->n_policies, (double)s->n_causes + 1);
    double courses = (double)at->trials * each;

    if (courses < 1 || courses > CS_MAX_COURSES) {
        return CS_FAIL(
            err, CS_EINVAL, "failures.duration",
            "%.6g s give %.3g trials of %.0f policies or causes: accepted are up to %.3g",
            at->duration_s, (double)at->trials, each, CS_MAX_COURSES);
    }
    size_t groups = (size_t)((at->trials + at->group - 1) / at->group);
    at->causes    = CS_ARENA_NEW(arena, cs_failure_cause, groups * s->n_causes + 1);
    at->shown     = at->causes;
    at->courses   = CS_ARENA_NEW(arena, cs_course, at->trials * s->job->n_policies);
    at->strikes   = CS_ARENA_NEW(arena, strike, at->trials * (s->n_causes + 1));
    if (at->causes == NULL || at->courses == NULL || at->strikes == NULL) {
        return CS_NO_MEMORY(err, "trials");
    }
    at->first_piece = s->n_pieces;
    s->n_pieces += (size_t)((at->trials + PIECE - 1) / PIECE);
    s->n_settings++;
    return CS_OK;
}

/* Causes as they are given, their times multiplied. */
static cs_status add_drawn(study *s, double mtbf_factor, double mttr_factor, cs_arena *arena,
                           cs_error *err)
{
    const cs_failures *f  = &s->job->failures;
    setting           *at = &s->settings[s->n_settings];

    *at = (setting){.mtbf_factor = mtbf_factor,
                    .mttr_factor = mttr_factor,
                    .trials      = f->trials,
                    .group       = f->trials,
                    .duration_s  = f->duration_s};
    CS_TRY(make_setting(s, arena, at, err));
    for (size_t i = 0; i < f->n_causes; i++) {
        at->causes[i] = f->causes[i];
        at->causes[i].mtbf_s *= mtbf_factor;
        at->causes[i].mttr_s *= mttr_factor;
    }
    return CS_OK;
}

/* Outages of a part of the record. */
static cs_status add_recorded(study *s, const char *what, cs_window window, cs_arena *arena,
                              cs_error *err)
{
    const cs_failures *f  = &s->job->failures;
    setting           *at = &s->settings[s->n_settings];
    uint64_t           trials =
        window.pick == CS_PICK_BLOCKS ? cs_record_blocks(&s->record, &window) : f->trials;

    *at = (setting){.what        = what,
                    .mtbf_factor = 1,
                    .mttr_factor = 1,
                    .trials      = trials,
                    .group       = trials,
                    .duration_s  = window.duration_s,
                    .is_recorded = true,
                    .window      = window};
    CS_TRY(make_setting(s, arena, at, err));
    for (int i = 0; i < CS_RECORDED_CAUSES; i++) {
        cs_record_fit fit = cs_record_fit_of(&s->record, i, f->nics, window.from_s, window.until_s);
        at->causes[i]     = cs_record_cause(&fit, i);
    }
    return CS_OK;
}

/* As many jobs as the fleet has room for, again and again, each time with other causes that the
 * first half leaves possible. */
static cs_status add_predicted(study *s, double half_s, uint64_t jobs, cs_arena *arena,
                               cs_error *err)
{
    const cs_failures *f    = &s->job->failures;
    setting           *at   = &s->settings[s->n_settings];
    double             most = MAX_PREDICTED / ((double)jobs * (double)s->job->n_policies);
    uint64_t           n    = most < PREDICTIONS ? (uint64_t)fmax(most, 20) : PREDICTIONS;
    gsl_rng           *stream;

    *at = (setting){.what        = "the second half as the first one predicts it",
                    .mtbf_factor = 1,
                    .mttr_factor = 1,
                    .trials      = n * jobs,
                    .group       = jobs,
                    .duration_s  = half_s};
    CS_TRY(make_setting(s, arena, at, err));
    at->shown = CS_ARENA_NEW(arena, cs_failure_cause, s->n_causes);
    if (at->shown == NULL) {
        return CS_NO_MEMORY(err, "trials");
    }
    if ((stream = cs_random_stream(s->job->call.scenario.seed, "predictions")) == NULL) {
        return CS_NO_MEMORY(err, "trials");
    }
    for (int i = 0; i < CS_RECORDED_CAUSES; i++) {
        cs_record_fit fit = cs_record_fit_of(&s->record, i, f->nics, 0, half_s);
        at->shown[i]      = cs_record_cause(&fit, i);
        for (uint64_t k = 0; k < n; k++) {
            double u = cs_random_uniform(stream), v = cs_random_uniform(stream);
            at->causes[k * s->n_causes + (size_t)i] = cs_record_draw(&fit, i, u, v);
        }
    }
    gsl_rng_free(stream);
    return CS_OK;
}

static cs_status make_recorded(study *s, cs_arena *arena, cs_error *err)
{
    const cs_failures *f      = &s->job->failures;
    const cs_recorded *r      = &f->recorded;
    double             half_s = r->length_s / 2;
    const cs_window    all    = {0, r->length_s, f->duration_s, r->pick, false};
    const cs_window    second = {half_s, r->length_s, half_s, CS_PICK_BLOCKS, true};

    CS_TRY(cs_record_index(r, &s->job->history,
                           cs_n_servers(&s->job->call.scenario.cluster) + s->job->spares,
                           s->job->call.scenario.seed, arena, &s->record, err));
    CS_TRY(add_recorded(s,
                        r->pick == CS_PICK_BLOCKS ? "recorded, every server of the fleet once"
                                                  : "recorded, servers drawn from the fleet",
                        all, arena, err));
    if (!r->predicts) {
        return CS_OK;
    }
    CS_TRY(add_predicted(s, half_s, cs_record_blocks(&s->record, &second), arena, err));
    return add_recorded(s, "the second half as it was", second, arena, err);
}

static cs_status make_settings(study *s, cs_arena *arena, cs_error *err)
{
    const cs_failures *f      = &s->job->failures;
    size_t             n_mtbf = f->n_mtbf_factors > 0 ? f->n_mtbf_factors : 1;
    size_t             n_mttr = f->n_mttr_factors > 0 ? f->n_mttr_factors : 1;
    size_t             n      = has_record(s) ? 3 : n_mtbf * n_mttr;

    s->n_causes = has_record(s) ? CS_RECORDED_CAUSES : f->n_causes;
    s->settings = CS_ARENA_NEW(arena, setting, n);
    if (s->settings == NULL) {
        return CS_NO_MEMORY(err, "trials");
    }
    if (has_record(s)) {
        return make_recorded(s, arena, err);
    }
    for (size_t i = 0; i < n; i++) {
        double mtbf = f->n_mtbf_factors > 0 ? f->mtbf_factors[i / n_mttr] : 1;
        double mttr = f->n_mttr_factors > 0 ? f->mttr_factors[i % n_mttr] : 1;
        CS_TRY(add_drawn(s, mtbf, mttr, arena, err));
    }
    return CS_OK;
}

/* All schedules on whole NICs: the best of them is the reference. */
static cs_status time_healthy(const study *s, cs_failure_report *report, cs_error *err)
{
    static const cs_pace_state whole;
    cs_pace_view              *view = NULL;
    double                     time_s;

    CS_TRY(cs_pace_view_new(s->pace, &view, err));
    cs_status status = cs_pace_time(view, NULL, &whole, &report->healthy_iteration_s, err);
    for (size_t i = 0; status == CS_OK && i < s->job->n_policies; i++) {
        if (s->job->policies[i].schedule.algorithm != NULL) {
            status = cs_pace_time(view, &s->job->policies[i].schedule, &whole, &time_s, err);
        }
    }
    cs_pace_view_free(view);
    return status;
}

/* ---- what they say ---- */

/* Everything that a line is made of. */
typedef struct judging {
    const study       *study;
    const setting     *setting;
    cs_failure_report *report;
    double            *lost, *baseline, *scratch; /* [trials] */
} judging;

static double gpu_hours(const cs_whatif_job *job, double time_s)
{
    return time_s * job->call.scenario.cluster.n_ranks / S_PER_HOUR;
}

static double spare_gpu_hours(const judging *j, const cs_whatif_policy *policy)
{
    const cs_whatif_job *job = j->study->job;
    bool                 has = cs_policy_has_spares(job, policy);

    return has ? j->setting->duration_s * job->spares * job->call.scenario.cluster.gpus_per_server /
                     S_PER_HOUR
               : 0;
}

/* The losses of a policy, trial by trial. */
static void list_losses(const judging *j, size_t policy, double *lost)
{
    const cs_whatif_job *job = j->study->job;
    double               paid =
        gpu_hours(job, j->setting->duration_s) + spare_gpu_hours(j, &job->policies[policy]);

    for (size_t t = 0; t < j->setting->trials; t++) {
        const cs_course *c = &j->setting->courses[t * job->n_policies + policy];
        lost[t]            = paid - gpu_hours(job, c->iterations * j->report->best_iteration_s);
        lost[t]            = fabs(lost[t]) <= ROUNDING * paid ? 0 : lost[t];
    }
}

/* The parts of a loss, on average over the trials. */
static void split_loss(const judging *j, size_t policy, cs_failure_line *line)
{
    const cs_whatif_job *job = j->study->job;
    double               n   = (double)j->setting->trials;

    for (size_t t = 0; t < j->setting->trials; t++) {
        const cs_course *c = &j->setting->courses[t * job->n_policies + policy];
        line->stalled += gpu_hours(job, c->stalled_s) / n;
        line->stopped += gpu_hours(job, c->stopped_s) / n;
        line->redone += gpu_hours(job, c->redone * j->report->best_iteration_s) / n;
        line->restarts += (double)c->restarts / n;
    }
    line->spares = spare_gpu_hours(j, line->policy);
    line->paid   = gpu_hours(job, j->setting->duration_s) + line->spares;
    line->slower = line->lost.value - line->stalled - line->stopped - line->redone - line->spares;
    line->slower = fabs(line->slower) <= ROUNDING * line->paid ? 0 : line->slower;
}

static cs_status judge_policy(const judging *j, size_t policy, cs_failure_line *line, cs_error *err)
{
    double      confidence = j->study->job->failures.confidence;
    uint64_t    n          = j->setting->trials;
    const char *why        = NULL;
    cs_spread   spread;

    line->policy = &j->study->job->policies[policy];
    list_losses(j, policy, j->lost);
    line->lost = cs_estimate_mean(j->lost, n, 0, confidence);
    split_loss(j, policy, line);
    for (size_t t = 0; t < n; t++) {
        j->scratch[t] = j->baseline[t] - j->lost[t];
    }
    line->saved = cs_estimate_mean(j->scratch, n, 0, confidence);
    cs_spread_of(j->lost, n, 0, confidence, j->scratch, &spread);
    line->lost_p95 = spread.p95.value;
    if (line->policy->schedule.algorithm != NULL) {
        why = cs_pace_refusal(j->study->pace, &line->policy->schedule);
    }
    if (why != NULL && (line->note = cs_arena_strdup(&j->report->arena, why)) == NULL) {
        return CS_NO_MEMORY(err, "a report");
    }
    return CS_OK;
}

/* `healthy`, then what loses less, then what came first. */
static int compare(const void *left, const void *right)
{
    const cs_failure_line *a = left, *b = right;
    bool                   a_is_first = a->policy->kind == CS_POLICY_HEALTHY;

    if (a_is_first || b->policy->kind == CS_POLICY_HEALTHY) {
        return a_is_first ? -1 : 1;
    }
    if (a->lost.value != b->lost.value) {
        return a->lost.value < b->lost.value ? -1 : 1;
    }
    return a->policy < b->policy ? -1 : 1;
}

static cs_status judge_policies(const judging *j, cs_failure_setting *out, cs_error *err)
{
    size_t n = j->study->job->n_policies;

    out->lines = CS_ARENA_NEW(&j->report->arena, cs_failure_line, n);
    if (out->lines == NULL) {
        return CS_NO_MEMORY(err, "a report");
    }
    list_losses(j, n > 1 ? 1 : 0, j->baseline);
    for (; out->n_lines < n; out->n_lines++) {
        CS_TRY(judge_policy(j, out->n_lines, &out->lines[out->n_lines], err));
    }
    qsort(out->lines, n, sizeof out->lines[0], compare);
    for (uint32_t i = 1; i < n; i++) {
        bool is_tied        = i > 1 && out->lines[i].lost.value == out->lines[i - 1].lost.value;
        out->lines[i].place = is_tied ? out->lines[i - 1].place : i;
    }
    return CS_OK;
}

/* What the trials say of a cause; its numbers in j->lost, too. */
static void judge_cause(const judging *j, size_t cause, cs_cause_line *line)
{
    const study   *s          = j->study;
    const setting *at         = j->setting;
    double         confidence = s->job->failures.confidence;
    cs_fleet       fleet      = fleet_of(s, at, 0);
    bool           is_one     = at->group >= at->trials; /* the causes of all trials */

    line->cause      = at->shown[cause];
    line->components = cs_cause_components(&line->cause, &fleet);
    if (line->cause.takes != CS_TAKES_JOB) {
        line->components *= cs_n_servers(&s->job->call.scenario.cluster);
    }
    for (size_t t = 0; t < at->trials; t++) {
        const strike *k = &at->strikes[t * s->n_causes + cause];
        j->lost[t]      = k->failures;
        j->scratch[t]   = k->down_s / (line->components * at->duration_s);
    }
    line->failures          = cs_estimate_mean(j->lost, at->trials, 0, confidence);
    line->down              = cs_estimate_mean(j->scratch, at->trials, 0, confidence);
    line->expected_failures = line->expected_down = (double)NAN;
    if (is_one) {
        line->expected_failures =
            line->components * cs_cause_expected_failures(&line->cause, at->duration_s);
        line->expected_down = cs_cause_expected_down(&line->cause, at->duration_s);
    }
}

static cs_status judge_causes(const judging *j, cs_failure_setting *out, cs_error *err)
{
    double cost_s = j->study->job->failures.checkpoint_s, rate_Hz = 0;

    out->n_causes = j->study->n_causes;
    out->causes   = CS_ARENA_NEW(&j->report->arena, cs_cause_line, out->n_causes + 1);
    if (out->causes == NULL) {
        return CS_NO_MEMORY(err, "a report");
    }
    for (size_t i = 0; i < out->n_causes; i++) {
        judge_cause(j, i, &out->causes[i]);
        rate_Hz += out->causes[i].components / out->causes[i].cause.mtbf_s;
    }
    out->optimum_s = cost_s > 0 && rate_Hz > 0 ? sqrt(2 * cost_s / rate_Hz) : (double)NAN;
    return CS_OK;
}

static cs_status judge_setting(const judging *j, cs_failure_setting *out, cs_error *err)
{
    out->what        = j->setting->what;
    out->trials      = j->setting->trials;
    out->duration_s  = j->setting->duration_s;
    out->mtbf_factor = j->setting->mtbf_factor;
    out->mttr_factor = j->setting->mttr_factor;
    CS_TRY(judge_policies(j, out, err));
    return judge_causes(j, out, err);
}

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Of numbers of all trials in j->lost: the averages of the groups, and between which most lie. */
static cs_estimate predict(const judging *j)
{
    const setting *at   = j->setting;
    size_t         n    = (size_t)(at->trials / at->group);
    double         tail = (1 - j->study->job->failures.confidence) / 2;
    cs_estimate    e    = {0, 0, 0};

    for (size_t g = 0; g < n; g++) {
        j->scratch[g] = 0;
        for (size_t t = g * at->group; t < (g + 1) * at->group; t++) {
            j->scratch[g] += j->lost[t] / (double)at->group;
        }
        e.value += j->scratch[g] / (double)n;
    }
    qsort(j->scratch, n, sizeof *j->scratch, compare_numbers);
    e.low  = cs_estimate_quantile(j->scratch, n, tail, 0).value;
    e.high = cs_estimate_quantile(j->scratch, n, 1 - tail, 0).value;
    return e;
}

static double happened_to(const cs_failure_setting *second, const cs_whatif_policy *policy)
{
    for (size_t i = 0; i < second->n_lines; i++) {
        if (second->lines[i].policy == policy) {
            return second->lines[i].lost.value;
        }
    }
    return (double)NAN;
}

/* The second half predicted from the first, beside what happened. */
static cs_status judge_prediction(judging *j, cs_failure_report *report, cs_error *err)
{
    const study              *s      = j->study;
    const cs_failure_setting *second = &report->settings[s->n_settings - 1];

    j->setting   = &s->settings[s->n_settings - 2];
    report->jobs = j->setting->group;
    report->predictions =
        CS_ARENA_NEW(&report->arena, cs_failure_prediction, s->n_causes + s->job->n_policies);
    if (report->predictions == NULL) {
        return CS_NO_MEMORY(err, "a report");
    }
    for (size_t i = 0; i < s->n_causes; i++) {
        cs_cause_line line;
        judge_cause(j, i, &line);
        report->predictions[report->n_predictions++] = (cs_failure_prediction){
            line.cause.name, true, predict(j), second->causes[i].failures.value};
    }
    for (size_t i = 1; i < s->job->n_policies; i++) {
        list_losses(j, i, j->lost);
        report->predictions[report->n_predictions++] = (cs_failure_prediction){
            s->job->policies[i].name, false, predict(j), happened_to(second, &s->job->policies[i])};
    }
    return CS_OK;
}

static uint64_t most_trials(const study *s)
{
    uint64_t most = 1;

    for (size_t i = 0; i < s->n_settings; i++) {
        most = s->settings[i].trials > most ? s->settings[i].trials : most;
    }
    return most;
}

static cs_status judge(const study *s, cs_arena *arena, cs_failure_report *report, cs_error *err)
{
    size_t  most = (size_t)most_trials(s);
    judging j    = {.study    = s,
                    .report   = report,
                    .lost     = CS_ARENA_NEW(arena, double, most),
                    .baseline = CS_ARENA_NEW(arena, double, most),
                    .scratch  = CS_ARENA_NEW(arena, double, most)};

    report->best             = *cs_pace_best(s->pace);
    report->states           = cs_pace_states(s->pace);
    report->best_iteration_s = cs_pace_iteration(s->job, report->best.elapsed_s);
    report->baseline         = s->job->n_policies > 1 ? s->job->policies[1].name : NULL;
    report->settings         = CS_ARENA_NEW(&report->arena, cs_failure_setting, s->n_settings);
    if (j.lost == NULL || j.baseline == NULL || j.scratch == NULL || report->settings == NULL) {
        return CS_NO_MEMORY(err, "a report");
    }
    for (; report->n_settings < s->n_settings; report->n_settings++) {
        j.setting = &s->settings[report->n_settings];
        CS_TRY(judge_setting(&j, &report->settings[report->n_settings], err));
    }
    return s->job->failures.recorded.predicts ? judge_prediction(&j, report, err) : CS_OK;
}

/* Policies whose algorithm this build lacks cannot run. */
static cs_status check_policies(const cs_whatif_job *job, cs_error *err)
{
    for (size_t i = 0; i < job->n_policies; i++) {
        if (job->policies[i].kind == CS_POLICY_SWITCH &&
            job->policies[i].schedule.algorithm == NULL) {
            return CS_FAIL(err, CS_ENOTSUP, "policies", "this build has no algorithm '%s'",
                           job->policies[i].name);
        }
    }
    return CS_OK;
}

cs_status cs_failures_run(const cs_whatif_job *job, size_t n_threads, cs_failure_report *report_p,
                          cs_error *err)
{
    study             s      = {.job = job};
    cs_arena          arena  = {0};
    cs_failure_report report = {0};

    CS_TRY(check_policies(job, err));
    cs_status status = make_settings(&s, &arena, err);
    if (status == CS_OK) {
        status = cs_pace_new(job, job->failures.slowdowns, job->failures.nics, &s.pace, err);
    }
    if (status == CS_OK) {
        status = time_healthy(&s, &report, err);
    }
    if (status == CS_OK) {
        status = run_all(&s, n_threads, err);
    }
    if (status == CS_OK) {
        status = judge(&s, &arena, &report, err);
    }
    cs_pace_free(s.pace);
    cs_arena_free(&arena);
    if (status != CS_OK) {
        cs_failure_report_free(&report);
        return status;
    }
    *report_p = report;
    return CS_OK;
}

void cs_failure_report_free(cs_failure_report *report)
{
    cs_arena_free(&report->arena);
    *report = (cs_failure_report){0};
}
