/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim sweep: every scenario of a configuration into a database, and on from there when it
 * was interrupted. Under mpirun all ranks read the configuration, rank 0 alone prints and writes.
 */
#include "cli/cli.h"
#include "cs/units.h"
#include "sweep/farm.h"
#include "sweep/sweep.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OUTPUT = 1, JOBS, SET, QUIET, MAX_SETS = 64, BAR_WIDTH = 40 };

/* clang-format off */
static const cs_arg sweep_args[] = {
    {OUTPUT, 'o', "output", "FILE.db", "the SQLite database; rows that are there are kept"},
    {JOBS, 'j', "jobs", "JOBS", "threads (one per processor; under mpirun one per rank)"},
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
        status = cs_parse_integer(args->value, 1, CS_FARM_MAX_JOBS, &number, "--jobs", err);
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

static cs_status read_config(job *j, int count, char *const *words, cs_config **config_p,
                             cs_error *err)
{
    cs_status status = read_args(j, count, words, err);

    if (status == CS_OK && !j->wants_help) {
        status = cs_config_load(j->config_path, config_p, err);
    }
    if (status == CS_OK && *config_p != NULL) {
        status = apply_sets(j, *config_p, err);
    }
    if (status == CS_OK && *config_p != NULL) {
        status = cs_config_refuse_training(*config_p, err);
    }
    return status;
}

static cs_status sweep_config(job *j, const cs_config *config, cs_sweep_summary *summary,
                              cs_error *err)
{
    if (j->options.jobs == 0) {
        j->options.jobs = j->options.ranks == NULL ? cs_farm_processors() : 1;
    }
    if (!j->is_quiet && isatty(STDERR_FILENO)) {
        j->options.progress = draw_bar;
    }
    j->options.stop = &stop_asked;
    signal(SIGINT, ask_to_stop);
    signal(SIGTERM, ask_to_stop);
    return cs_sweep(config, &j->options, summary, err);
}

static int print_summary(const job *j, const cs_sweep_summary *summary)
{
    if (!j->is_quiet) {
        printf("%zu scenarios: %zu were there, %zu run now, %zu with an error%s\n", summary->total,
               summary->done_before, summary->run, summary->failed,
               summary->stopped ? "; stopped, the same command goes on from here" : "");
        fflush(stdout);
    }
    if (summary->stopped && j->options.ranks != NULL) {
        fprintf(stderr,
                "collsim: sweep: stopped with %zu of %zu scenarios in %s; the same command goes on "
                "from there\n",
                summary->done_before + summary->run, summary->total, j->options.path);
    }
    return summary->stopped ? CS_EXIT_FAILED : CS_EXIT_DONE;
}

static int sweep_all(job *j, int count, char *const *words)
{
    cs_error         err     = {0};
    cs_config       *config  = NULL;
    cs_sweep_summary summary = {0};
    cs_status        status  = cs_ranks_join(&j->options.ranks, &err);
    bool             prints  = cs_ranks_prints(j->options.ranks);

    if (status == CS_OK) {
        status               = read_config(j, count, words, &config, &err);
        uint64_t fingerprint = config != NULL ? cs_config_fingerprint(config) : 0;
        status               = cs_ranks_agree(j->options.ranks, status, fingerprint, &err);
    }
    if (status == CS_OK && !j->wants_help) {
        status = sweep_config(j, config, &summary, &err);
    }
    cs_config_free(config);
    if (!prints) {
        return cs_cli_exit_code(status);
    }
    if (status != CS_OK) {
        return cs_cli_fail(&err);
    }
    return j->wants_help ? cs_cli_help(&cs_command_sweep, sweep_tables)
                         : print_summary(j, &summary);
}

/* A rank that is not 0 has told rank 0 what is wrong: mpirun's exit code is rank 0's. */
static int sweep_run(int count, char *const *words)
{
    job  j      = {0};
    int  code   = sweep_all(&j, count, words);
    bool is_one = j.options.ranks != NULL && !cs_ranks_leads(j.options.ranks);

    cs_ranks_leave(j.options.ranks, code);
    return is_one ? CS_EXIT_DONE : code;
}

const cs_command cs_command_sweep = {
    .name    = "sweep",
    .usage   = "sweep CONFIG.json -o FILE.db [-j JOBS]",
    .summary = "every scenario of a configuration into a database, with resume",
    .run     = sweep_run,
};
