/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim sweep: every scenario of a configuration into a database, and on from there when it
 * was interrupted. */
#include "cli/cli.h"
#include "cs/units.h"
#include "sweep/sweep.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OUTPUT = 1, JOBS, SET, QUIET, MAX_SETS = 64, MAX_JOBS = 1024, BAR_WIDTH = 40 };

/* clang-format off */
static const cs_arg sweep_args[] = {
    {OUTPUT, 'o', "output", "FILE.db", "the SQLite database; rows that are there are kept"},
    {JOBS, 'j', "jobs", "JOBS", "threads (one per processor)"},
    {SET, 0, "set", "PATH=JSON", "any key of the configuration (repeatable)"},
    {QUIET, 'q', "quiet", NULL, "print nothing but errors"},
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
/* clang-format on */

static const cs_arg *const sweep_tables[] = {sweep_args, NULL};

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    stop_asked = 1;
}

static void draw_bar(void *user, size_t done, size_t total)
{
    char   bar[BAR_WIDTH + 1];
    size_t full = total > 0 ? done * BAR_WIDTH / total : BAR_WIDTH;

    (void)user;
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', full);
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %zu of %zu%s", bar, done, total, done == total ? "\n" : "");
}

typedef struct job {
    const char      *config_path, *sets[MAX_SETS];
    size_t           n_sets;
    cs_sweep_options options;
    bool             is_quiet, wants_help;
} job;

static cs_status take_arg(job *j, int id, const cs_args *args, cs_error *err)
{
    uint64_t  number;
    cs_status status = CS_OK;

    switch (id) {
    case CS_ARG_ERROR: return err->status;
    case CS_ARG_HELP: j->wants_help = true; break;
    case OUTPUT: j->options.path = args->value; break;
    case QUIET: j->is_quiet = true; break;
    case JOBS:
        status          = cs_parse_integer(args->value, 1, MAX_JOBS, &number, "--jobs", err);
        j->options.jobs = status == CS_OK ? (unsigned)number : 0;
        break;
    case SET:
        if (j->n_sets == MAX_SETS) {
            return CS_FAIL(err, CS_EINVAL, "--set", "more than %d of them", MAX_SETS);
        }
        j->sets[j->n_sets++] = args->value;
        break;
    default:
        if (j->config_path != NULL) {
            return CS_FAIL(err, CS_EINVAL, args->value, "only one configuration is accepted");
        }
        j->config_path = args->value;
    }
    return status;
}

static cs_status read_args(job *j, int count, char *const *words, cs_error *err)
{
    cs_args   args   = {.tables = {sweep_args, NULL}, .count = count, .words = words};
    cs_status status = CS_OK;
    int       id;

    while (status == CS_OK && !j->wants_help && (id = cs_args_next(&args, err)) != CS_ARG_END) {
        status = take_arg(j, id, &args, err);
    }
    if (status != CS_OK || j->wants_help) {
        return status;
    }
    if (j->config_path == NULL) {
        return CS_FAIL(err, CS_EINVAL, "sweep", "needs a configuration: sweep CONFIG -o FILE.db");
    }
    if (j->options.path == NULL) {
        return CS_FAIL(err, CS_EINVAL, "--output", "is missing: sweep CONFIG -o FILE.db");
    }
    if (j->options.path[0] == '\0' || j->options.path[0] == ':' ||
        strncmp(j->options.path, "file:", 5) == 0) {
        return CS_FAIL(err, CS_EINVAL, "--output", "'%s' is not the name of a file",
                       j->options.path);
    }
    return CS_OK;
}

static cs_status apply_sets(const job *j, cs_config *config, cs_error *err)
{
    char path[160];

    for (size_t i = 0; i < j->n_sets; i++) {
        const char *equals = strchr(j->sets[i], '=');
        if (equals == NULL || (size_t)(equals - j->sets[i]) >= sizeof path) {
            return CS_FAIL(err, CS_EINVAL, "--set", "'%s' is not of the form PATH=JSON",
                           j->sets[i]);
        }
        memcpy(path, j->sets[i], (size_t)(equals - j->sets[i]));
        path[equals - j->sets[i]] = '\0';
        cs_status status          = cs_config_set(config, path, equals + 1, "--set", err);
        if (status != CS_OK) {
            return status;
        }
    }
    return CS_OK;
}

static cs_status sweep_config(job *j, cs_sweep_summary *summary, cs_error *err)
{
    cs_config *config = NULL;
    cs_status  status = cs_config_load(j->config_path, &config, err);

    if (status == CS_OK) {
        status = apply_sets(j, config, err);
    }
    if (status == CS_OK) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        if (j->options.jobs == 0) {
            j->options.jobs = processors > 0 ? (unsigned)processors : 1;
        }
        if (!j->is_quiet && isatty(STDERR_FILENO)) {
            j->options.progress = draw_bar;
        }
        j->options.stop = &stop_asked;
        signal(SIGINT, ask_to_stop);
        signal(SIGTERM, ask_to_stop);
        status = cs_sweep(config, &j->options, summary, err);
    }
    cs_config_free(config);
    return status;
}

static int sweep_run(int count, char *const *words)
{
    job              j       = {0};
    cs_error         err     = {0};
    cs_sweep_summary summary = {0};
    cs_status        status  = read_args(&j, count, words, &err);

    if (status == CS_OK && j.wants_help) {
        return cs_cli_help(&cs_command_sweep, sweep_tables);
    }
    if (status == CS_OK) {
        status = sweep_config(&j, &summary, &err);
    }
    if (status != CS_OK) {
        return cs_cli_fail(&err);
    }
    if (!j.is_quiet) {
        printf("%zu scenarios: %zu were there, %zu run now, %zu with an error%s\n", summary.total,
               summary.done_before, summary.run, summary.failed,
               summary.stopped ? "; stopped, the same command goes on from here" : "");
    }
    return summary.stopped ? CS_EXIT_FAILED : CS_EXIT_DONE;
}

const cs_command cs_command_sweep = {
    .name    = "sweep",
    .usage   = "sweep CONFIG.json -o FILE.db [-j JOBS]",
    .summary = "every scenario of a configuration into a database, with resume",
    .run     = sweep_run,
};
