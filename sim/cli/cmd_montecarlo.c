/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim montecarlo: every scenario of a configuration over many iterations with random arrivals.
 * Under mpirun all ranks read the configuration, rank 0 alone prints and writes.
 */
#include "campaign/montecarlo.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/workers_args.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_ITERATIONS 10000
#define DEFAULT_CONFIDENCE 0.95

typedef struct montecarlo_job {
    cs_workers_choice     choice;
    cs_montecarlo_options options;
    uint64_t              iterations; /* 0: not said */
    cs_result_format      format;
    bool                  wants_help;
} montecarlo_job;

/* clang-format off */
#define FLAG(field, name, help) CS_ARG_FLAG(montecarlo_job, field, 0, name, help)
static const cs_arg montecarlo_args[] = {
    CS_ARG_GROUP("iterations"),
    CS_ARG_NUMBER(montecarlo_job, iterations, 'i', "iterations", "N",
                  "iterations of every scenario (10000, or the calls of a trace in order)", .min = 1,
                  .max = CS_MAX_ITERATIONS),
    CS_ARG_GROUP("work"),
    CS_WORKERS_JOBS_ROW(montecarlo_job),
    CS_ARG_GROUP("output"),
    CS_WORKERS_OUTPUT_ROW(montecarlo_job, "an SQLite database; rows that are there are kept"),
    CS_ARG_FORMAT(montecarlo_job, format, "how to print (table)"),
    CS_ARG_GROUP("statistics"),
    CS_ARG_TEXT(montecarlo_job, options.baseline, 0, "baseline", "ALGORITHM", "what the others are compared with (the first one)"),
    {.name = "sampling", .value = "S", .help = "random, or quasi-random: sobol|niederreiter|halton (random)",
     .field = {.name = "sampling", .type = CS_FIELD_CHOICE, .choices = "random|sobol|niederreiter|halton",
               .offset = offsetof(montecarlo_job, options.sampling)}},
    CS_ARG_NUMBER(montecarlo_job, options.confidence, 0, "confidence", "LEVEL", "of all intervals (0.95)",
                  .min = -(double)INFINITY, .max = (double)INFINITY),
    FLAG(options.is_replayed, "replay", "replay every iteration, use no closed form"),
    FLAG(options.is_verified, "verify-all", "replay and verify every iteration, not only the first"),
    CS_ARG_GROUP("any key of the configuration"),
    CS_CONFIG_SET_ROW,
    CS_WORKERS_ACCEPT_BUILD_ROW(montecarlo_job),
    CS_WORKERS_QUIET_ROW(montecarlo_job),
    CS_WORKERS_CONFIG_ROW(montecarlo_job),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table montecarlo_tables[] = {
    CS_WORKERS_TABLE(montecarlo_job, montecarlo_args), {.args = NULL}};
/* clang-format on */

static void tell(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    cs_cli_progress(done, total);
}

/* *config_p stays NULL where help is wanted; else the caller owns it, also after an error. */
static cs_status read_config(montecarlo_job *j, int count, char *const *words, cs_config **config_p,
                             cs_error *err)
{
    cs_status status = cs_cli_read(&cs_command_montecarlo, count, words, j, &j->wants_help, err);

    if (status != CS_OK || j->wants_help) {
        return status;
    }
    if (j->iterations > 0) {
        j->options.iterations  = (size_t)j->iterations;
        j->options.takes_fewer = false;
    }
    if (j->choice.config.path == NULL) {
        return CS_FAIL(err, CS_EINVAL, "montecarlo",
                       "needs a configuration: montecarlo CONFIG -i ITERATIONS");
    }
    status                    = cs_workers_check_output(&j->choice, err);
    j->options.path           = j->choice.output;
    j->options.accepts_builds = j->choice.accepts_builds;
    return status == CS_OK ? cs_workers_config(&j->choice, config_p, err) : status;
}

static void settle_options(montecarlo_job *j)
{
    j->options.jobs     = cs_workers_jobs(&j->choice, j->options.ranks);
    j->options.progress = tell;
    j->options.stop     = cs_signals_stop_flag();
}

/* Nothing begins before all ranks are known to have the same in hand. */
static cs_status agree(const montecarlo_job *j, const cs_config *config, cs_status status,
                       cs_error *err)
{
    uint64_t fingerprint = 0;

    if (status == CS_OK && config != NULL && j->options.ranks != NULL) {
        status = cs_montecarlo_fingerprint(config, &j->options, &fingerprint, err);
    }
    return cs_ranks_agree(j->options.ranks, status, fingerprint, err);
}

/* What was left out of traces of arrivals, and assumed. */
static void say_arrival_notes(const cs_config *config)
{
    cs_text text = {0};

    cs_config_arrival_notes(config, &text);
    for (char *at = text.data; at != NULL && *at != '\0';) {
        char *end = strchr(at, '\n');
        fprintf(stderr, "collsim: note: arrivals.trace: %.*s\n",
                (int)(end != NULL ? (size_t)(end - at) : strlen(at)), at);
        at = end != NULL ? end + 1 : NULL;
    }
    cs_text_free(&text);
}

/* The rows, and how many scenarios there were. */
static void print_table(const montecarlo_job *j, const cs_montecarlo_report *report, cs_text *text)
{
    cs_montecarlo_print(text, report->rows, report->n_rows);
    cs_text_add(text, "# %zu scenarios", report->count.total);
    if (report->n_repeats > 0) {
        cs_text_add(text, " (%zu more would repeat them)", report->n_repeats);
    }
    if (j->options.path != NULL) {
        cs_text_add(text, ": %zu were there, %zu run now", report->count.done_before,
                    report->count.run);
    }
    cs_text_add(text, ", %zu with an error", report->failed);
    if (report->count.missing > 0) {
        cs_text_add(text, ", %zu missing", report->count.missing);
    }
    cs_text_add(text, "%s\n", report->count.is_stopped ? "; stopped" : "");
}

static int print_report(const montecarlo_job *j, const cs_montecarlo_report *report)
{
    cs_text text = {0};

    if (report->count.is_stopped && j->options.ranks != NULL) {
        fprintf(stderr, "collsim: montecarlo: stopped with %zu of %zu scenarios%s%s; %s\n",
                report->n_rows, report->count.total, j->options.path != NULL ? " in " : "",
                j->options.path != NULL ? j->options.path : "",
                j->options.path != NULL ? "the same command goes on from there"
                                        : "only --output FILE.db keeps them for another time");
    }
    if (j->choice.is_quiet) {
        return CS_EXIT_DONE;
    }
    if (report->n_fixed > 0) {
        fprintf(
            stderr,
            "collsim: note: montecarlo: nothing is random in %zu of %zu scenarios: one iteration "
            "is enough there, and one was run\n",
            report->n_fixed, report->count.total);
    }
    switch (j->format) {
    case CS_AS_TABLE: print_table(j, report, &text); break;
    case CS_AS_JSON: cs_montecarlo_json(&text, report->rows, report->n_rows, &report->swept); break;
    case CS_AS_CSV: cs_montecarlo_csv(&text, report->rows, report->n_rows, &report->swept); break;
    }
    return cs_cli_print(&text);
}

static int run_all(montecarlo_job *j, int count, char *const *words)
{
    cs_error             err    = {0};
    cs_config           *config = NULL;
    cs_montecarlo_report report = {0};
    cs_status            status = cs_ranks_join(&j->options.ranks, &err);
    bool                 prints = cs_ranks_prints(j->options.ranks);

    if (status == CS_OK) {
        status = read_config(j, count, words, &config, &err);
        status = agree(j, config, status, &err);
    }
    if (status == CS_OK && !j->wants_help) {
        settle_options(j);
        if (prints && !j->choice.is_quiet) {
            say_arrival_notes(config);
        }
        cs_cli_progress_begin("montecarlo", j->choice.is_quiet);
        status = cs_montecarlo_run(config, &j->options, &report, &err);
        cs_cli_progress_end();
    }
    int code = cs_cli_exit_code(status);
    if (prints && status != CS_OK) {
        code = cs_cli_fail(&err);
    } else if (prints && j->wants_help) {
        code = cs_cli_help(&cs_command_montecarlo);
    } else if (prints) {
        code = print_report(j, &report);
        code = report.count.is_stopped ? CS_EXIT_FAILED : code;
        code = report.count.missing > 0
                   ? cs_workers_say_missing("montecarlo", report.count.missing, report.count.total,
                                            &report.count.failure, j->options.path != NULL)
                   : code;
    }
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
    return code;
}

static int montecarlo_run(int count, char *const *words)
{
    montecarlo_job j    = {.options = {.iterations  = DEFAULT_ITERATIONS,
                                       .takes_fewer = true,
                                       .confidence  = DEFAULT_CONFIDENCE}};
    int            code = run_all(&j, count, words);

    return cs_workers_leave(j.options.ranks, code);
}

const cs_command cs_command_montecarlo = {
    .name     = "montecarlo",
    .usage    = "montecarlo CONFIG.json [-i ITERATIONS] [-j JOBS] [-o FILE.db] [options]",
    .summary  = "random arrivals: means, tails and differences over many iterations",
    .tables   = montecarlo_tables,
    .examples = {"collsim montecarlo configs/montecarlo-arrivals.json -i 1000",
                 "collsim montecarlo configs/training-llama.json -i 20 --format csv"},
    .run      = montecarlo_run,
};
