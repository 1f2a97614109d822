/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim figure: data, picture and checks of one figure or of all. */
#include "cli/cli.h"
#include "figures/figures.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct figure_job {
    const char *folder, *trace, *names[64];
    size_t      n_names;
} figure_job;

/* clang-format off */
static const cs_arg figure_args[] = {
    CS_ARG_TEXT(figure_job, folder, 'o', "output", "DIR", "folder for NAME.csv, NAME.svg and NAME.png (out)"),
    CS_ARG_TEXT(figure_job, trace, 0, "trace", "FILE", "arrivals that stragglar-2a shows instead of the sample"),
    CS_ARG_OPERANDS(figure_job, names, n_names, "name"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table figure_tables[] = {{figure_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static cs_status make_folder(const char *folder, cs_error *err)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return CS_FAIL(err, CS_EIO, folder, "cannot make the folder: %s", strerror(errno));
    }
    return CS_OK;
}

/* Write one figure and print its line; *ok_p stays true while all checks pass. */
static cs_status write_one(const cs_figure *figure, const char *trace, const char *folder,
                           bool *ok_p, cs_error *err)
{
    cs_text   line = {0};
    bool      ok = false, drawn = false;
    cs_status status = cs_figure_write(figure, trace, folder, &line, &ok, &drawn, err);

    if (status == CS_OK && !drawn) {
        cs_text_add(&line, "%s: no picture, gnuplot is missing: apt-get install gnuplot-nox\n",
                    figure->name);
    }
    if (status == CS_OK) {
        status = cs_cli_write(NULL, &line, err);
    }
    *ok_p = *ok_p && ok;
    cs_text_free(&line);
    return status;
}

/* With 'all' a trace is for those that show one. */
static cs_status write_named(const char *name, const char *trace, const char *folder, bool *ok_p,
                             cs_error *err)
{
    const cs_figure *figure;
    cs_status        status = make_folder(folder, err);

    if (status == CS_OK && strcmp(name, "all") != 0) {
        status = cs_figure_find(name, &figure, err);
        return status == CS_OK ? write_one(figure, trace, folder, ok_p, err) : status;
    }
    for (size_t i = 0; status == CS_OK && cs_figures[i] != NULL; i++) {
        figure = cs_figures[i];
        status = write_one(figure, figure->compute_trace != NULL ? trace : NULL, folder, ok_p, err);
    }
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
    for (size_t i = 0; i < j.n_names && status == CS_OK; i++) {
        status = write_named(j.names[i], j.trace, j.folder, &ok, &err);
    }
    if (status == CS_OK && j.n_names == 0) {
        status = CS_FAIL(&err, CS_EINVAL, "figure",
                         "needs a name or 'all'; 'collsim list figures' has the names");
    }
    if (status != CS_OK) {
        return cs_cli_fail(&err);
    }
    return ok ? CS_EXIT_DONE : CS_EXIT_NO;
}

const cs_command cs_command_figure = {
    .name    = "figure",
    .usage   = "figure NAME..|all [-o DIR] [--trace FILE]",
    .summary = "draw the papers' figures again: data, picture and checks",
    .tables  = figure_tables,
    .run     = figure_run,
};
