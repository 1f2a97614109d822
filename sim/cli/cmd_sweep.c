/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim sweep: every scenario of a configuration into a database, and on from there when it
 * was interrupted. Under mpirun all ranks read the configuration, rank 0 alone prints and writes.
 */
#include "campaign/sweep.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/scenario_args.h"
#include "cli/signals.h"
#include "cli/workers_args.h"

#include <stdio.h>

typedef struct sweep_job {
    cs_workers_choice choice;
    cs_sweep_options  options;
    bool              wants_help;
} sweep_job;

/* clang-format off */
static const cs_arg sweep_args[] = {
    CS_ARG_GROUP("output"),
    CS_WORKERS_OUTPUT_ROW(sweep_job, "the SQLite database; rows that are there are kept"),
    CS_ARG_GROUP("work"),
    CS_WORKERS_JOBS_ROW(sweep_job),
    CS_CONFIG_SET_ROW,
    CS_WORKERS_ACCEPT_BUILD_ROW(sweep_job),
    CS_WORKERS_QUIET_ROW(sweep_job),
    CS_WORKERS_CONFIG_ROW(sweep_job),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table sweep_tables[] = {CS_WORKERS_TABLE(sweep_job, sweep_args), {.args = NULL}};
/* clang-format on */

static void tell(void *user, size_t done, size_t total)
{
    (void)user;
    cs_cli_progress(done, total);
}

static cs_status check_args(const sweep_job *j, cs_error *err)
{
    if (j->choice.config.path == NULL) {
        return CS_FAIL(err, CS_EINVAL, "sweep", "needs a configuration: sweep CONFIG -o FILE.db");
    }
    if (j->choice.output == NULL) {
        return CS_FAIL(err, CS_EINVAL, "--output", "is missing: sweep CONFIG -o FILE.db");
    }
    return cs_workers_check_output(&j->choice, err);
}

/* *config_p stays NULL where help is wanted; else the caller owns it, also after an error. */
static cs_status read_config(sweep_job *j, int count, char *const *words, cs_config **config_p,
                             cs_error *err)
{
    cs_status status = cs_cli_read(&cs_command_sweep, count, words, j, &j->wants_help, err);

    if (status != CS_OK || j->wants_help) {
        return status;
    }
    status = check_args(j, err);
    if (status == CS_OK) {
        status = cs_workers_config(&j->choice, config_p, err);
    }
    return status == CS_OK ? cs_config_refuse_training(*config_p, err) : status;
}

static cs_status sweep_config(sweep_job *j, const cs_config *config, cs_sweep_summary *summary,
                              cs_error *err)
{
    j->options.path           = j->choice.output;
    j->options.accepts_builds = j->choice.accepts_builds;
    j->options.jobs           = cs_workers_jobs(&j->choice, j->options.ranks);
    j->options.progress       = tell;
    j->options.stop           = cs_signals_stop_flag();
    cs_cli_progress_begin("sweep", j->choice.is_quiet);
    cs_status status = cs_sweep(config, &j->options, summary, err);
    cs_cli_progress_end();
    return status;
}

/* Behind the summary: what a script must know. The exit code is that of `run`, unless rows are
 * missing. */
static int conclude(const sweep_job *j, const cs_sweep_summary *summary)
{
    cs_error refusal = summary->refusal;

    if (summary->count.missing > 0) {
        return cs_workers_say_missing("sweep", summary->count.missing, summary->count.total,
                                      &summary->count.failure, true);
    }
    if (summary->count.is_stopped && j->options.ranks != NULL) {
        fprintf(stderr,
                "collsim: sweep: stopped with %zu of %zu scenarios in %s; the same command goes on "
                "from there\n",
                summary->count.done_before + summary->count.run, summary->count.total,
                j->options.path);
    }
    if (summary->count.is_stopped) {
        return CS_EXIT_FAILED;
    }
    if (summary->wrong > 0) {
        return cs_cli_fail(&summary->mistake);
    }
    if (summary->refused > 0) {
        (void)snprintf(refusal.message, sizeof refusal.message,
                       "%.240s (%zu of %zu scenarios refused)", summary->refusal.message,
                       summary->refused, summary->count.total);
        return cs_cli_fail(&refusal);
    }
    return CS_EXIT_DONE;
}

static int print_summary(const sweep_job *j, const cs_sweep_summary *summary)
{
    cs_text text        = {0};
    char    missing[48] = "";
    int     code        = CS_EXIT_DONE;

    if (summary->count.missing > 0) {
        (void)snprintf(missing, sizeof missing, ", %zu missing", summary->count.missing);
    }
    if (!j->choice.is_quiet) {
        cs_text_add(&text, "%zu scenarios: %zu were there, %zu run now, %zu with an error%s%s\n",
                    summary->count.total, summary->count.done_before, summary->count.run,
                    summary->refused + summary->wrong, missing,
                    summary->count.is_stopped ? "; stopped, the same command goes on from here"
                                              : "");
        code = cs_cli_print(&text);
        cs_say_left_out(&summary->left_out);
    }
    return code == CS_EXIT_DONE ? conclude(j, summary) : code;
}

static int sweep_all(sweep_job *j, int count, char *const *words)
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
    int code = !prints           ? cs_cli_exit_code(status)
               : status != CS_OK ? cs_cli_fail(&err)
               : j->wants_help   ? cs_cli_help(&cs_command_sweep)
                                 : print_summary(j, &summary);
    cs_left_out_free(&summary.left_out);
    return code;
}

static int sweep_run(int count, char *const *words)
{
    sweep_job j    = {0};
    int       code = sweep_all(&j, count, words);

    return cs_workers_leave(j.options.ranks, code);
}

const cs_command cs_command_sweep = {
    .name     = "sweep",
    .usage    = "sweep CONFIG.json -o FILE.db [-j JOBS]",
    .summary  = "run every scenario of a configuration into a database, with resume",
    .tables   = sweep_tables,
    .examples = {"collsim sweep configs/small-sweep.json -o results.db",
                 "collsim sweep configs/small-sweep.json --set 'sweep.cluster.ranks=[8,16]' -o "
                 "ranks.db -j 2"},
    .run      = sweep_run,
};
