/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim figure: data, picture and checks of one figure or of all, also for a cluster of one's
 * own. */
#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/workers_args.h"
#include "figures/figures.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct figure_job {
    const char       *folder, *trace, *names[64];
    size_t            n_names;
    cs_workers_choice choice; /* --set and --jobs */
} figure_job;

/* clang-format off */
static const cs_arg figure_args[] = {
    CS_ARG_GROUP("output"),
    CS_ARG_TEXT(figure_job, folder, 'o', "output", "DIR", "folder for NAME.csv, NAME.gp, NAME.svg and NAME.png (out)"),
    CS_ARG_GROUP("what is drawn"),
    CS_CONFIG_SET_ROW,
    CS_ARG_TEXT(figure_job, trace, 0, "trace", "FILE", "arrivals that stragglar-2a shows instead of the sample"),
    CS_ARG_GROUP("work"),
    CS_WORKERS_JOBS_ROW(figure_job),
    CS_QUIET_ROW(figure_job, choice.is_quiet),
    CS_ARG_OPERANDS(figure_job, names, n_names, "name"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table figure_tables[] = {
    CS_WORKERS_TABLE(figure_job, figure_args), {.args = NULL}};
/* clang-format on */

static cs_status make_folder(const char *folder, cs_error *err)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return CS_FAIL(err, CS_EIO, folder, "cannot make the folder: %s", strerror(errno));
    }
    return CS_OK;
}

/* Write one figure and print its line; *ok_p stays true while all checks pass. */
static cs_status write_one(const cs_figure_request *request, const char *folder, bool is_quiet,
                           bool *ok_p, cs_error *err)
{
    cs_text line = {0};
    bool    ok = false, drawn = false;
    cs_cli_progress_begin(request->name, is_quiet);
    cs_status status = cs_figure_write(request, folder, &line, &ok, &drawn, err);
    cs_cli_progress_end();

    if (status == CS_OK) {
        status = cs_cli_write(NULL, &line, err);
    }
    *ok_p = *ok_p && ok;
    cs_text_free(&line);
    return status;
}

/* A trace is for those that show one. */
static cs_status write_all(cs_figure_request request, const char *folder, bool is_quiet, bool *ok_p,
                           cs_error *err)
{
    const char      *trace  = request.trace;
    cs_figure_entry *list   = NULL;
    size_t           n      = 0;
    cs_status        status = cs_figure_list(&list, &n, err);

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        request.name  = list[i].name;
        request.trace = list[i].has_trace ? trace : NULL;
        status        = write_one(&request, folder, is_quiet, ok_p, err);
    }
    cs_figure_list_free(list, n);
    return status;
}

/* "PATH=JSON" of every --set taken apart. The caller frees *text_p, into which the sets point. */
static cs_status split_sets(const figure_job *j, cs_figure_set sets[CS_CONFIG_MAX_SETS],
                            char **text_p, cs_error *err)
{
    const cs_config_choice *config = &j->choice.config;
    size_t                  bytes = 1, at = 0;

    for (size_t i = 0; i < config->n_set; i++) {
        bytes += strlen(config->set[i].value) + 1;
    }
    char *text = *text_p = CS_NEW(char, bytes);
    if (text == NULL) {
        return CS_NO_MEMORY(err, "--set");
    }
    for (size_t i = 0; i < config->n_set; i++) {
        size_t n = strlen(config->set[i].value);
        memcpy(text + at, config->set[i].value, n + 1);
        char *equals = strchr(text + at, '=');
        if (equals == NULL || equals == text + at) {
            return CS_FAIL(err, CS_EINVAL, "--set", "'%.80s' is not PATH=JSON",
                           config->set[i].value);
        }
        *equals = '\0';
        sets[i] = (cs_figure_set){text + at, equals + 1};
        at += n + 1;
    }
    return CS_OK;
}

static cs_status draw(const figure_job *j, bool *ok_p, cs_error *err)
{
    cs_figure_set      sets[CS_CONFIG_MAX_SETS];
    char              *text    = NULL;
    cs_figure_results *results = cs_figure_results_new();
    cs_figure_request  request = {.sets    = sets,
                                  .n_sets  = j->choice.config.n_set,
                                  .trace   = j->trace,
                                  .jobs    = cs_workers_jobs(&j->choice, NULL),
                                  .results = results};
    cs_status          status  = results != NULL ? CS_OK : CS_NO_MEMORY(err, "results");

    if (status == CS_OK && j->n_names == 0) {
        status = CS_FAIL(err, CS_EINVAL, "figure",
                         "needs a name or 'all'; 'collsim list figures' has the names");
    }
    if (results != NULL) {
        cs_figure_results_tell(results, &cs_cli_listener);
    }
    if (status == CS_OK) {
        status = split_sets(j, sets, &text, err);
    }
    if (status == CS_OK) {
        status = make_folder(j->folder, err);
    }
    for (size_t i = 0; i < j->n_names && status == CS_OK; i++) {
        request.name = j->names[i];
        status       = strcmp(request.name, "all") == 0
                           ? write_all(request, j->folder, j->choice.is_quiet, ok_p, err)
                           : write_one(&request, j->folder, j->choice.is_quiet, ok_p, err);
    }
    cs_figure_results_free(results);
    cs_free(text);
    return status;
}

static int figure_run(int count, char *const *words)
{
    figure_job j   = {.folder = "out"};
    cs_error   err = {0};
    bool       ok = true, wants_help = false;
    cs_status  status = cs_cli_read(&cs_command_figure, count, words, &j, &wants_help, &err);

    if (status == CS_OK && wants_help) {
        return cs_cli_help(&cs_command_figure);
    }
    if (status == CS_OK) {
        status = draw(&j, &ok, &err);
    }
    if (status != CS_OK) {
        return cs_cli_fail(&err);
    }
    return ok ? CS_EXIT_DONE : CS_EXIT_NO;
}

const cs_command cs_command_figure = {
    .name     = "figure",
    .usage    = "figure NAME|FILE.json..|all [-o DIR] [--set PATH=JSON]..",
    .summary  = "draw the papers' figures again: data, picture and checks",
    .tables   = figure_tables,
    .examples = {"collsim figure late-gpu -o out",
                 "collsim figure late-gpu --set cluster.topology=dgx-a100 -o dgx-a100"},
    .run      = figure_run,
};
