/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim plot: a picture of results, or of a configuration that is run first. */
#include "cli/cli.h"
#include "cli/data_args.h"
#include "report/plot.h"

#include <stdio.h>

typedef struct plot_job {
    cs_data_choice  choice;
    cs_plot_request request;
    const char     *output;
} plot_job;

/* clang-format off */
#define TEXT(field, name, value, help) CS_ARG_TEXT(plot_job, field, 0, name, value, help)
static const cs_arg plot_args[] = {
    CS_ARG_GROUP("what is drawn"),
    TEXT(request.x, "x", "COLUMN", "what curves run over (the input with the most numbers)"),
    TEXT(request.y, "y", "COLUMN", "what they show (exposed_s); of a heat map the other axis"),
    TEXT(request.series, "series", "COLUMN", "a curve for each of its values (algorithm)"),
    TEXT(request.panel, "panel", "COLUMN", "a panel for each of its values (what else varies)"),
    CS_ARG_FLAG(plot_job, request.is_heat, 0, "heat", "which schedule is the best, over x and y"),
    TEXT(request.ratio_to, "ratio-to", "ALGORITHM", "values over those of this algorithm"),
    CS_ARG_CHOICE(plot_job, request.logscale, 0, "log", "auto|none|x|y|xy", "logarithmic axes (auto: values that differ 20-fold)"),
    CS_ARG_FLAG(plot_job, request.no_bound, 0, "no-bound", "leave the lower bound out"),
    TEXT(request.title, "title", "WORDS", "above the picture (what is shown)"),
    CS_ARG_GROUP("output"),
    CS_ARG_TEXT(plot_job, output, 'o', "output", "FILE", "the picture: FILE.svg, .png or .pdf (plot.svg)"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table plot_tables[] = {
    CS_DATA_TABLES(plot_job, choice), {plot_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static cs_status draw(plot_job *j, cs_data *data, cs_text *answer, cs_error *err)
{
    const char *path    = j->output != NULL ? j->output : "plot.svg";
    cs_picture  kind    = CS_PICTURE_SVG;
    cs_plot     plot    = {.width = 0};
    cs_text     picture = {0};

    if (!cs_picture_of(path, &kind)) {
        return CS_FAIL(err, CS_EINVAL, "--output",
                       "'%s': accepted are names that end in .svg, .png or .pdf", path);
    }
    CS_TRY(cs_data_choice_load(&j->choice, data, err));
    cs_status status = cs_plot_make(data, &j->request, &plot, err);
    if (status == CS_OK) {
        status = cs_gnuplot_draw(&plot.script, kind, plot.width, plot.height, &picture, err);
    }
    status = status == CS_OK ? cs_cli_write(path, &picture, err) : status;
    if (status == CS_OK) {
        cs_text_add(answer, "%s: %zu rows drawn\n", path, data->n_rows);
    }
    cs_text_free(&picture);
    cs_text_free(&plot.script);
    return status;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    plot_job *j      = job;
    cs_data   data   = {0};
    cs_status status = draw(j, &data, text, err);

    cs_data_free(&data);
    cs_scenario_choice_free(&j->choice.scenario);
    return status;
}

static int plot_run(int count, char *const *words)
{
    plot_job j = {.output = NULL};
    return cs_cli_answer(&cs_command_plot, count, words, answer, &j);
}

const cs_command cs_command_plot = {
    .name    = "plot",
    .usage   = "plot [RESULTS|CONFIG.json] [options]",
    .summary = "a picture of results: curves, or which schedule is the best",
    .tables  = plot_tables,
    .examples =
        {"collsim plot -a ring,rhd -n 8:1024:x2 -s 1M --alpha 3us --bandwidth 50GB/s -o time.png",
         "collsim plot -a ring,rhd,stragglar -n 16 -s 1M:4G:x2 --late 7=10us:20ms:x2 --heat -o "
         "late.png"},
    .run = plot_run,
};
