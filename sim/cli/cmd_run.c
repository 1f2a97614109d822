/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim run: one result per algorithm, number of ranks and size; with a timeline, a heat map and
 * an explanation of one scenario where they are asked for. */
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/run_rows.h"
#include "cli/scenario_args.h"
#include "cs/bound.h"
#include "cs/recording.h"
#include "cs/result.h"
#include "engine/delays.h"
#include "engine/explain.h"
#include "output/chrome_trace.h"
#include "output/link_counters.h"
#include "output/port_stats.h"
#include "output/progress.h"
#include "output/relay_report.h"
#include "output/usage.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_PORTS = 16, SHOWN_STEPS = 24, SHOWN_LINKS = 12 };

#define MANY_TRANSFERS 50000000u
#define MEASURE_S      2.0

/* What was asked for; NULL and false: not that. */
typedef struct watch_choice {
    const char *trace_path, *heatmap_path; /* files to write */
    const char *counters;                  /* one more, or "summary" */
    double      sample_s;
    bool        explains;
} watch_choice;

typedef struct task {
    cs_scenario_choice choice;
    cs_result_format   format;
    watch_choice       watch;
    const char        *schedule_path, *output_path;
    bool               wants_summary, wants_full;
    cs_stored         *schedule;
    cs_run_rows        rows;
    cs_text            notes;
} task;

/* clang-format off */
static const cs_arg run_args[] = {
    CS_ARG_GROUP("what to look at"),
    CS_ARG_TEXT(task, schedule_path, 0, "schedule", "FILE", "replay a schedule file (JSON, MSCCL XML, MSCCL++ plan) instead of an algorithm"),
    CS_ARG_TEXT(task, watch.trace_path, 0, "trace", "FILE.json", "timeline in Chrome trace-event format (opens in Perfetto)"),
    CS_ARG_TEXT(task, watch.heatmap_path, 0, "heatmap", "FILE.svg", "picture of the ports' and links' use over time"),
    CS_ARG_TEXT(task, watch.counters, 0, "counters", "summary|FILE.csv", "what links counted: the worst of them, or a file of intervals, too"),
    CS_ARG_NUMBER(task, watch.sample_s, 0, "sample", "T", "length of these intervals (at most 1024 of them)",
                  .unit = CS_UNIT_TIME, .min = 1e-9, .max = 1e3),
    CS_ARG_FLAG(task, watch.explains, 0, "explain", "what the ports did, and the critical path"),
    CS_ARG_GROUP("output"),
    CS_ARG_FLAG(task, wants_summary, 0, "summary", "the table \"Which schedule?\" alone (beyond 4 tables of nccl-tests)"),
    CS_ARG_FLAG(task, wants_full, 0, "full", "all tables of nccl-tests, however many"),
    CS_ARG_FORMAT(task, format, "how to print the results (table)"),
    CS_ARG_TEXT(task, output_path, 'o', "output", "FILE", "write the results there instead of printing them; FILE.json, .csv: so"),
    CS_ARG_OPERAND(task, choice.given.path, "configuration"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table run_tables[] = {
    CS_SCENARIO_TABLE(task, choice), {run_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

/* ---- who watches the replay ---- */

enum { WATCH_OBSERVERS = 6 }; /* one of them for who opens it */

/* `{0}` is none. */
typedef struct watch {
    const watch_choice *choice;   /* borrowed */
    const cs_scenario  *scenario; /* borrowed */
    cs_observer         observers[WATCH_OBSERVERS];
    size_t              n_observers;
    cs_recording        recording; /* for the timeline and the critical path */
    cs_usage            usage;
    cs_port_stats       stats;
    cs_link_counters    counters;
    cs_late_report      decisions;
} watch;

/* Intervals of time are for the file and the timeline. */
static double sample_of(const watch_choice *choice)
{
    bool has_samples = choice->trace_path != NULL || strcmp(choice->counters, "summary") != 0;

    return !has_samples ? 0 : choice->sample_s > 0 ? choice->sample_s : CS_SAMPLE_AUTO;
}

/* Refuse what cannot count on its links. */
static cs_status check_counts(const cs_model *model, cs_error *err)
{
    char   names[160] = "";
    size_t used       = 0;

    if (model->network != NULL && model->network->watch != NULL) {
        return CS_OK;
    }
    for (size_t i = 0; cs_models[i] != NULL; i++) {
        const cs_network *network = cs_models[i]->network;
        if (network != NULL && network->watch != NULL && used < sizeof names) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used > 0 ? ", " : "", cs_models[i]->name);
        }
    }
    return CS_FAIL(err, CS_ENOTSUP, "--counters",
                   "model %s counts nothing on its links: accepted is %s", model->name, names);
}

/* Prepare for one replay, whose observers are still to be set; close_watch() it, also after an
 * error. */
static cs_status open_watch(watch *w, const watch_choice *choice, const cs_job *job, cs_error *err)
{
    const cs_scenario *scenario = &job->scenario;
    size_t             n_limits = 0;
    cs_status          status   = CS_OK;

    w->choice   = choice;
    w->scenario = scenario;
    if (choice->counters != NULL) {
        CS_TRY(check_counts(job->model, err));
        w->observers[w->n_observers++] =
            cs_link_counters_observer(&w->counters, &scenario->cluster, sample_of(choice));
    }
    if (choice->trace_path != NULL) {
        w->recording.limits[n_limits++] = cs_chrome_trace_limit;
    }
    if (choice->explains) {
        w->recording.limits[n_limits++] = cs_critical_path_limit;
        status                          = cs_port_stats_init(&w->stats, &scenario->cluster, err);
        w->observers[w->n_observers++]  = cs_port_stats_observer(&w->stats);
    }
    w->n_observers +=
        cs_late_report_observe(&w->decisions, job->algorithm, &w->observers[w->n_observers]);
    if (n_limits > 0) {
        w->observers[w->n_observers++] = cs_recording_observer(&w->recording);
    }
    if (status == CS_OK && choice->heatmap_path != NULL) {
        status                         = cs_usage_init(&w->usage, scenario, err);
        w->observers[w->n_observers++] = cs_usage_observer(&w->usage);
    }
    return status;
}

static cs_status write_trace(const watch *w, const cs_result *result, cs_error *err)
{
    cs_text   text = {0};
    cs_status status =
        cs_chrome_trace(&w->recording, w->scenario, &w->counters, result, &text, err);

    if (status == CS_OK) {
        status = cs_cli_write(w->choice->trace_path, &text, err);
    }
    cs_text_free(&text);
    return status;
}

static cs_status write_heatmap(watch *w, const cs_result *result, cs_error *err)
{
    cs_text   text   = {0};
    cs_status status = cs_heatmap_svg(&w->usage, result, &text, err);

    if (status == CS_OK) {
        status = cs_cli_write(w->choice->heatmap_path, &text, err);
    }
    cs_text_free(&text);
    return status;
}

static void add_step(cs_text *text, const cs_path_step *s)
{
    cs_text_add(text, "#   %12.3f %12.3f  round %-6u %5u -> %-5u chunk %-6u waited for %s\n",
                s->start_s * 1e6, s->end_s * 1e6, s->round, s->src, s->dst, s->chunk,
                cs_wait_text(s->wait));
}

static void add_path(cs_text *text, const cs_path_step *steps, size_t count)
{
    double moving   = 0;
    size_t waits[5] = {0};

    for (size_t i = 0; i < count; i++) {
        moving += steps[i].end_s - steps[i].start_s;
        waits[steps[i].wait]++;
    }
    cs_text_add(text,
                "# critical path: %zu transfers, %.3f us under way; waited %zu times for data, "
                "%zu for a sending\n#   and %zu for a receiving port, %zu for a barrier\n",
                count, moving * 1e6, waits[CS_WAIT_DATA], waits[CS_WAIT_TX], waits[CS_WAIT_RX],
                waits[CS_WAIT_FENCE]);
    cs_text_add(text, "#   %12s %12s\n", "start (us)", "end (us)");
    for (size_t i = 0; i < count; i++) {
        if (i == SHOWN_STEPS / 2 && count > SHOWN_STEPS) {
            size_t left_out = count - SHOWN_STEPS;
            cs_text_add(text, "#   ... %zu more ...\n", left_out);
            i += left_out;
        }
        add_step(text, &steps[i]);
    }
}

/* What proves how good the time is: the bound, what it counts, and what it assumes. */
static void add_bound(cs_text *text, const cs_result *result)
{
    for (size_t i = 0; cs_bounds[i] != NULL; i++) {
        const cs_bound *b = cs_bounds[i];
        if (strcmp(b->name, result->bound) != 0) {
            continue;
        }
        cs_text_add(text, "# bound %s, %.3f us: %s\n#   (%s; %s)\n", b->name, result->bound_s * 1e6,
                    b->summary, b->assumption, b->source);
    }
    if (result->gap <= 1 + 1e-9) {
        cs_text_add(text, "# optimal: no schedule can be faster in this scenario\n");
    } else if (!isnan(result->gap)) {
        cs_text_add(text, "# no schedule can save more than %.3f %% of this time\n",
                    100 * (1 - 1 / result->gap));
    }
}

static cs_status explain(const watch *w, const cs_result *result, cs_text *text, cs_error *err)
{
    const cs_path_step *steps;
    size_t              count;
    cs_arena            arena = {0};
    cs_status status = cs_critical_path(&w->recording, w->scenario, &arena, &steps, &count, err);

    if (status == CS_OK) {
        cs_text_add(text, "#\n# %s, %llu ranks, %llu bytes: %.3f us", result->algorithm,
                    (unsigned long long)result->ranks, (unsigned long long)result->bytes,
                    result->elapsed_s * 1e6);
        if (!isnan(result->gap)) {
            cs_text_add(text, ", %.4f x the bound %s", result->gap, result->bound);
        }
        cs_text_add(text, "\n");
        add_bound(text, result);
        if (w->decisions.text.length > 0) {
            cs_text_add(text, "#\n");
            cs_text_add_bytes(text, w->decisions.text.data, w->decisions.text.length);
            cs_text_add(text, "#\n");
        }
        add_path(text, steps, count);
        cs_port_stats_text(text, &w->stats, result->elapsed_s, SHOWN_PORTS);
    }
    cs_arena_free(&arena);
    return status;
}

static cs_status write_counters(const watch *w, cs_error *err)
{
    cs_text   text   = {0};
    cs_status status = CS_OK;

    if (strcmp(w->choice->counters, "summary") != 0) {
        cs_link_counters_csv(&text, &w->counters);
        status = cs_text_status(&text, err);
        status = status == CS_OK ? cs_cli_write(w->choice->counters, &text, err) : status;
    }
    cs_text_free(&text);
    return status;
}

static cs_status add_counters(const watch *w, const cs_result *result, cs_text *notes,
                              cs_error *err)
{
    cs_text_add(notes, "#\n# %s, %llu ranks, %llu bytes: %llu packets\n", result->algorithm,
                (unsigned long long)result->ranks, (unsigned long long)result->bytes,
                (unsigned long long)result->counts.packets);
    return cs_link_counters_table(notes, &w->counters, result->elapsed_s, SHOWN_LINKS, err);
}

/* After the replay: write the files, add the explanation to `notes`, and for JSON what links
 * counted and what was decided to `blocks` (output/result_rows.h). */
static cs_status report(watch *w, const cs_result *result, bool is_json, cs_text *notes,
                        cs_text *blocks, cs_error *err)
{
    if (w->choice->counters != NULL) {
        CS_TRY(write_counters(w, err));
        if (is_json) {
            cs_json_key(blocks, "counters");
            cs_link_counters_json(blocks, &w->counters, result->elapsed_s);
        } else {
            CS_TRY(add_counters(w, result, notes, err));
        }
    }
    if (w->choice->trace_path != NULL) {
        CS_TRY(write_trace(w, result, err));
    }
    if (w->choice->heatmap_path != NULL) {
        CS_TRY(write_heatmap(w, result, err));
    }
    if (w->choice->explains) {
        CS_TRY(explain(w, result, notes, err));
    }
    if (is_json && w->decisions.json.length > 0) {
        cs_text_add(blocks, "%s", w->decisions.json.data);
    }
    blocks->failed = blocks->failed || w->decisions.json.failed;
    return cs_text_status(blocks, err);
}

static void close_watch(watch *w)
{
    cs_late_report_free(&w->decisions);
    cs_recording_free(&w->recording);
    cs_port_stats_free(&w->stats);
    cs_usage_free(&w->usage);
    cs_link_counters_free(&w->counters);
}

/* ---- the command ---- */

/* What takes long is said before it begins. */
static void announce(void *user, uint64_t n_transfers)
{
    const cs_job  *job = user;
    char           duration[CS_DURATION_BYTES];
    cs_replay_pace pace;

    if (n_transfers <= MANY_TRANSFERS || cs_job_pace(job, MEASURE_S, &pace, NULL) != CS_OK) {
        return;
    }
    double ratio = (double)n_transfers / (double)pace.n_transfers;
    cs_duration_text(ratio * pace.time_s, duration);
    cs_cli_progress_hide();
    fprintf(stderr,
            "collsim: note: %s over %u ranks on %s: %.0f million transfers, about %s (the first "
            "%" PRIu64 " took %.2g s)\n",
            job->algorithm->name, job->scenario.cluster.n_ranks, job->model->name,
            (double)n_transfers / 1e6, duration, pace.n_transfers, pace.time_s);
}

/* Run one job with the observers that were asked for. */
static cs_status run_watched(task *j, cs_job *job, cs_result *result, cs_text *blocks,
                             cs_error *err)
{
    watch     w      = {0};
    cs_status status = cs_job_resolve(job, err);

    if (status == CS_OK) {
        status = open_watch(&w, &j->watch, job, err);
    }
    if (status == CS_OK) {
        w.observers[w.n_observers++] = (cs_observer){.counted = announce, .user = job};
        status                       = cs_job_run(job, w.observers, w.n_observers, result, err);
    }
    if (status == CS_OK) {
        status = report(&w, result, j->format == CS_AS_JSON, &j->notes, blocks, err);
    }
    close_watch(&w);
    cs_job_release(job);
    return status;
}

/* Can the other scenarios be run all the same? Names that nobody knows, files, memory and our own
 * bugs end the command. */
static bool is_refusal(cs_status status)
{
    return cs_status_is_refusal(status) || status == CS_EMISSING;
}

/* The place in the file is found for the first refusal alone: it is the one that is printed. */
static cs_status case_of(const task *j, size_t index, cs_case *c, cs_error *err)
{
    const cs_config *config = j->choice.config;
    cs_error         wrong  = {0};
    cs_status        status = cs_config_try_case(config, index, c, &wrong);

    if (status != CS_OK && !(is_refusal(status) && j->rows.n_refused > 0)) {
        return cs_config_case(config, index, c, err);
    }
    *err = wrong;
    return status;
}

static cs_status run_index(task *j, size_t index, cs_case *c, cs_result *result, cs_text *blocks,
                           cs_error *err)
{
    CS_TRY(case_of(j, index, c, err));
    cs_job job = c->job;
    if (j->schedule != NULL) {
        const cs_stored_options options = {j->schedule};
        cs_job_set_algorithm(&job, &cs_algorithm_stored, &options);
    }
    const cs_job asked = job;
    CS_TRY(run_watched(j, &job, result, blocks, err));
    return cs_result_add_delays(&asked, result, err);
}

/* One scenario of several may be impossible; the others are run. */
static cs_status run_all(task *j, cs_error *err)
{
    cs_status status = CS_OK;

    cs_cli_progress_begin("run", j->choice.is_quiet || j->rows.total == 1);
    for (size_t i = 0; i < j->rows.total && status == CS_OK; i++) {
        cs_case   c      = {0};
        cs_result result = {0};
        cs_error  wrong  = {0};
        cs_text   blocks = {0};
        status           = run_index(j, i, &c, &result, &blocks, &wrong);
        if (status == CS_OK) {
            status = cs_run_rows_add(&j->rows, &c, &result, blocks.data, err);
        } else if (cs_run_rows_leave_out(&j->rows, &wrong)) {
            status = CS_OK;
        } else if (is_refusal(status) && j->rows.total > 1) {
            status = cs_run_rows_refuse(&j->rows, &c, &wrong, err);
        } else {
            *err = wrong;
        }
        cs_case_free(&c);
        cs_text_free(&blocks);
        cs_cli_progress(i + 1, j->rows.total);
    }
    cs_cli_progress_end();
    return status;
}

/* One file is for one scenario. */
static cs_status check_files(const watch_choice *choice, size_t count, cs_error *err)
{
    bool        writes = choice->counters != NULL && strcmp(choice->counters, "summary") != 0;
    size_t      length = writes ? strlen(choice->counters) : 0;
    const char *name   = choice->trace_path != NULL     ? "--trace"
                         : choice->heatmap_path != NULL ? "--heatmap"
                         : writes                       ? "--counters"
                                                        : NULL;

    if (writes && (length < 5 || strcmp(choice->counters + length - 4, ".csv") != 0)) {
        return CS_FAIL(err, CS_EINVAL, "--counters",
                       "'%.80s': accepted are summary and the name of a file that ends in .csv",
                       choice->counters);
    }
    if (choice->sample_s > 0 &&
        (choice->counters == NULL || (!writes && choice->trace_path == NULL))) {
        return CS_FAIL(err, CS_EINVAL, "--sample",
                       "there are intervals only with --counters FILE.csv, or with --counters and "
                       "--trace");
    }
    return name == NULL || count == 1
               ? CS_OK
               : CS_FAIL(err, CS_EINVAL, name, "needs exactly one scenario, not %zu", count);
}

static cs_status run_task(task *j, cs_error *err)
{
    CS_TRY(cs_scenario_choice_finish(&j->choice, err));
    if (j->schedule_path != NULL) {
        CS_TRY(cs_schedule_arg_load(&j->choice, j->schedule_path, &j->schedule, err));
    }
    CS_TRY(check_files(&j->watch, cs_config_count(j->choice.config), err));
    if (j->wants_summary && j->wants_full) {
        return CS_FAIL(err, CS_EINVAL, "--summary", "is given, and so is --full: accepted is one");
    }
    j->rows.detail = j->wants_summary ? CS_RUN_SUMMARY : j->wants_full ? CS_RUN_FULL : CS_RUN_AUTO;
    j->rows.has_colour = j->output_path == NULL && cs_cli_has_colour();
    CS_TRY(cs_run_rows_open(&j->rows, j->choice.config, j->format, err));
    const char *calibration = cs_config_text(j->choice.config, "calibration");
    if (j->format == CS_AS_TABLE && calibration != NULL) {
        cs_text_add(
            &j->rows.text,
            "# calibrated by %s: alpha and bandwidth go with the size, a table's head shows "
            "those of its last row\n",
            calibration);
    }
    CS_TRY(run_all(j, err));
    CS_TRY(cs_run_rows_finish(&j->rows, err));
    cs_say_left_out(&j->rows.left_out);
    CS_TRY(cs_cli_write(j->output_path, &j->rows.text, err));
    if (j->notes.data != NULL && j->format == CS_AS_TABLE) {
        CS_TRY(cs_cli_write(NULL, &j->notes, err));
    } else if (j->notes.data != NULL) {
        fputs(j->notes.data, stderr);
    }
    return cs_run_rows_verdict(&j->rows, err);
}

static int run_run(int count, char *const *words)
{
    task      j          = {0};
    cs_error  err        = {0};
    bool      wants_help = false;
    cs_status status     = cs_cli_read(&cs_command_run, count, words, &j, &wants_help, &err);

    if (status == CS_OK && wants_help) {
        return cs_cli_help(&cs_command_run);
    }
    if (status == CS_OK) {
        status = run_task(&j, &err);
    }
    cs_run_rows_free(&j.rows);
    cs_scenario_choice_free(&j.choice);
    cs_stored_free(j.schedule);
    cs_text_free(&j.notes);
    return status == CS_OK ? CS_EXIT_DONE : cs_cli_fail(&err);
}

const cs_command cs_command_run = {
    .name     = "run",
    .usage    = "run [CONFIG.json] [options]",
    .summary  = "replay a collective: its time, whether it is correct, and a lower bound",
    .tables   = run_tables,
    .examples = {"collsim run -a ring,rhd,stragglar --topology dgx-h100 -s 256M,1G --late 7=4.48ms",
                 "collsim run -a all -n 64 --topology dgx-h100 -s 1G --kill-nic 3.5 --summary"},
    .run      = run_run,
};
