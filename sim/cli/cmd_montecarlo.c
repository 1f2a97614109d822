/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim montecarlo: every scenario of a configuration over many iterations with random arrivals.
 * Under mpirun all ranks read the configuration, rank 0 alone prints and writes.
 */
#include "cli/cli.h"
#include "cs/units.h"
#include "montecarlo/montecarlo.h"
#include "sweep/farm.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ITERATIONS = 1, JOBS, OUTPUT, FORMAT, BASELINE, SAMPLING, CONFIDENCE, REPLAY, VERIFY_ALL };
enum { SET = 20, QUIET, MAX_SETS = 64, BAR_WIDTH = 40, PATH_BYTES = 160 };
enum { TABLE, JSON };

#define DEFAULT_ITERATIONS 10000
#define DEFAULT_CONFIDENCE 0.95

/* clang-format off */
static const cs_arg montecarlo_args[] = {
    {ITERATIONS, 'i', "iterations", "N", "iterations of every scenario (10000)"},
    {JOBS, 'j', "jobs", "JOBS", "threads (one per processor; under mpirun one per rank)"},
    {OUTPUT, 'o', "output", "FILE.db", "an SQLite database; rows that are there are kept"},
    {FORMAT, 0, "format", "table|json|csv", "how to print (table)"},
    {BASELINE, 0, "baseline", "ALGORITHM", "what the others are compared with (the first one)"},
    {SAMPLING, 0, "sampling", "S", "random, or quasi-random: sobol|niederreiter|halton (random)"},
    {CONFIDENCE, 0, "confidence", "LEVEL", "of all intervals (0.95)"},
    {REPLAY, 0, "replay", NULL, "replay every iteration, use no closed form"},
    {VERIFY_ALL, 0, "verify-all", NULL, "replay and verify every iteration, not only the first"},
    {SET, 0, "set", "PATH=JSON", "any key of the configuration (repeatable)"},
    {QUIET, 'q', "quiet", NULL, "print nothing but errors"},
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
/* clang-format on */

static const cs_arg *const montecarlo_tables[] = {montecarlo_args, NULL};

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    stop_asked = 1;
}

typedef struct montecarlo_job {
    const char           *config_path, *sets[MAX_SETS];
    size_t                n_sets;
    cs_montecarlo_options options;
    int                   format, last_percent;
    bool                  is_quiet, wants_help;
} montecarlo_job;

static void draw_bar(void *user, uint64_t done, uint64_t total)
{
    montecarlo_job *j = user;
    char            bar[BAR_WIDTH + 1];
    int             percent = (int)(done * 100 / total);
    size_t          full    = (size_t)(done * BAR_WIDTH / total);

    if (percent == j->last_percent) {
        return;
    }
    j->last_percent = percent;
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', full);
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %3d %%%s", bar, percent, done == total ? "\n" : "");
}

static cs_status take_count(const cs_args *args, uint64_t max, const char *where, uint64_t *count_p,
                            cs_error *err)
{
    return cs_parse_integer(args->value, 1, max, count_p, where, err);
}

static cs_status take_sampling(montecarlo_job *j, const char *value, cs_error *err)
{
    int       index = 0;
    cs_status status =
        cs_cli_choice(value, "random|sobol|niederreiter|halton", "--sampling", &index, err);
    j->options.sampling = (cs_sampling)index;
    return status;
}

static cs_status take_operand(montecarlo_job *j, const char *value, cs_error *err)
{
    if (j->config_path != NULL) {
        return CS_FAIL(err, CS_EINVAL, value, "only one configuration is accepted");
    }
    j->config_path = value;
    return CS_OK;
}

static cs_status take_arg(montecarlo_job *j, int id, const cs_args *args, cs_error *err)
{
    uint64_t  number = 0;
    cs_status status = CS_OK;

    switch (id) {
    case CS_ARG_ERROR: return err->status;
    case CS_ARG_HELP: j->wants_help = true; return CS_OK;
    case OUTPUT: j->options.path = args->value; return CS_OK;
    case BASELINE: j->options.baseline = args->value; return CS_OK;
    case REPLAY: j->options.is_replayed = true; return CS_OK;
    case VERIFY_ALL: j->options.is_verified = true; return CS_OK;
    case QUIET: j->is_quiet = true; return CS_OK;
    case SAMPLING: return take_sampling(j, args->value, err);
    case FORMAT: return cs_cli_choice(args->value, "table|json|csv", "--format", &j->format, err);
    case CONFIDENCE:
        return cs_parse_number(args->value, &j->options.confidence, "--confidence", err);
    case ITERATIONS:
        status                = take_count(args, CS_MAX_ITERATIONS, "--iterations", &number, err);
        j->options.iterations = (size_t)number;
        return status;
    case JOBS:
        status          = take_count(args, CS_FARM_MAX_JOBS, "--jobs", &number, err);
        j->options.jobs = (unsigned)number;
        return status;
    case SET:
        if (j->n_sets == MAX_SETS) {
            return CS_FAIL(err, CS_EINVAL, "--set", "more than %d of them", MAX_SETS);
        }
        j->sets[j->n_sets++] = args->value;
        return CS_OK;
    default: return take_operand(j, args->value, err);
    }
}

static cs_status check_output(const char *path, cs_error *err)
{
    if (path != NULL && (path[0] == '\0' || path[0] == ':' || strncmp(path, "file:", 5) == 0)) {
        return CS_FAIL(err, CS_EINVAL, "--output", "'%s' is not the name of a file", path);
    }
    return CS_OK;
}

static cs_status read_args(montecarlo_job *j, int count, char *const *words, cs_error *err)
{
    cs_args   args   = {.tables = {montecarlo_args, NULL}, .count = count, .words = words};
    cs_status status = CS_OK;
    int       id;

    while (status == CS_OK && !j->wants_help && (id = cs_args_next(&args, err)) != CS_ARG_END) {
        status = take_arg(j, id, &args, err);
    }
    if (status != CS_OK || j->wants_help) {
        return status;
    }
    if (j->config_path == NULL) {
        return CS_FAIL(err, CS_EINVAL, "montecarlo",
                       "needs a configuration: montecarlo CONFIG -i ITERATIONS");
    }
    return check_output(j->options.path, err);
}

/* PATH=JSON */
static cs_status apply_set(cs_config *config, const char *text, cs_error *err)
{
    char        path[PATH_BYTES];
    const char *equals = strchr(text, '=');

    if (equals == NULL || (size_t)(equals - text) >= sizeof path) {
        return CS_FAIL(err, CS_EINVAL, "--set", "'%.60s' is not of the form PATH=JSON", text);
    }
    memcpy(path, text, (size_t)(equals - text));
    path[equals - text] = '\0';
    return cs_config_set(config, path, equals + 1, "--set", err);
}

static void settle_options(montecarlo_job *j)
{
    if (j->options.jobs == 0) {
        j->options.jobs = j->options.ranks == NULL ? cs_farm_processors() : 1;
    }
    if (!j->is_quiet && isatty(STDERR_FILENO)) {
        j->options.progress = draw_bar;
        j->options.user     = j;
    }
    j->options.stop = &stop_asked;
    signal(SIGINT, ask_to_stop);
    signal(SIGTERM, ask_to_stop);
}

/* *config_p stays NULL where help is wanted; else the caller owns it, also after an error. */
static cs_status read_config(montecarlo_job *j, int count, char *const *words, cs_config **config_p,
                             cs_error *err)
{
    cs_status status = read_args(j, count, words, err);

    if (status == CS_OK && !j->wants_help) {
        status = cs_config_load(j->config_path, config_p, err);
    }
    for (size_t i = 0; i < j->n_sets && status == CS_OK && !j->wants_help; i++) {
        status = apply_set(*config_p, j->sets[i], err);
    }
    return status;
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

static int print_report(const montecarlo_job *j, const cs_montecarlo_report *report)
{
    cs_text text = {0};

    if (report->is_stopped && j->options.ranks != NULL) {
        fprintf(stderr, "collsim: montecarlo: stopped with %zu of %zu scenarios%s%s; %s\n",
                report->n_rows, report->total, j->options.path != NULL ? " in " : "",
                j->options.path != NULL ? j->options.path : "",
                j->options.path != NULL ? "the same command goes on from there"
                                        : "only --output FILE.db keeps them for another time");
    }
    if (j->is_quiet) {
        return CS_EXIT_DONE;
    }
    if (j->format == TABLE) {
        cs_montecarlo_table(&text, report->rows, report->n_rows);
        cs_text_add(&text, "# %zu scenarios: %zu were there, %zu run now, %zu with an error%s\n",
                    report->total, report->done_before, report->run, report->failed,
                    report->is_stopped ? "; stopped" : "");
    } else if (j->format == JSON) {
        cs_montecarlo_json(&text, report->rows, report->n_rows);
    } else {
        cs_montecarlo_csv(&text, report->rows, report->n_rows);
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
        status = cs_montecarlo_run(config, &j->options, &report, &err);
    }
    cs_config_free(config);
    int code = cs_cli_exit_code(status);
    if (prints && status != CS_OK) {
        code = cs_cli_fail(&err);
    } else if (prints && j->wants_help) {
        code = cs_cli_help(&cs_command_montecarlo, montecarlo_tables);
    } else if (prints) {
        code = print_report(j, &report);
        code = report.is_stopped ? CS_EXIT_FAILED : code;
    }
    cs_montecarlo_report_free(&report);
    return code;
}

/* A rank that is not 0 has told rank 0 what is wrong: mpirun's exit code is rank 0's. */
static int montecarlo_run(int count, char *const *words)
{
    montecarlo_job j = {
        .options      = {.iterations = DEFAULT_ITERATIONS, .confidence = DEFAULT_CONFIDENCE},
        .last_percent = -1};
    int  code   = run_all(&j, count, words);
    bool is_one = j.options.ranks != NULL && !cs_ranks_leads(j.options.ranks);

    cs_ranks_leave(j.options.ranks, code);
    return is_one ? CS_EXIT_DONE : code;
}

const cs_command cs_command_montecarlo = {
    .name    = "montecarlo",
    .usage   = "montecarlo CONFIG.json [-i ITERATIONS] [-j JOBS] [-o FILE.db] [options]",
    .summary = "random arrivals: means, tails and differences over many iterations",
    .run     = montecarlo_run,
};
