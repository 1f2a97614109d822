/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim arrivals: who comes late in a trace, how late and how reliably. */
#include "cli/arrival_args.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "report/late_plot.h"
#include "traces/arrival_formats.h"
#include "traces/ras.h"
#include "traces/skew_text.h"

#include <string.h>

/* In the order of the words of --format. */
typedef enum arrivals_format { AS_TABLE, AS_JSON, AS_CSV, AS_PROM } arrivals_format;

typedef struct arrivals_job {
    cs_arrival_choice choice;
    const char       *output;
    arrivals_format   format;
    bool              is_quiet;
} arrivals_job;

/* clang-format off */
static const cs_arg arrivals_args[] = {
    CS_ARG_GROUP("output"),
    CS_ARG_TEXT(arrivals_job, output, 'o', "output", "FILE", "FILE.svg, .png, .pdf: a picture of who is late; else the arrivals: iteration,rank,arrival_s,.."),
    CS_ARG_CHOICE(arrivals_job, format, 0, "format", "table|json|csv|prom", "how to print (table); prom: metrics for Prometheus"),
    CS_QUIET_ROW(arrivals_job, is_quiet),
    CS_ARG_OPERANDS(arrivals_job, choice.paths, choice.n_paths, "trace"),
    CS_ARG_LAST_ROW,
};
static const cs_arg_table arrivals_tables[] = {
    {arrivals_args, 0, CS_NOWHERE, CS_NOWHERE},
    {cs_arrival_args, offsetof(arrivals_job, choice), CS_NOWHERE, CS_NOWHERE},
    {.args = NULL},
};
/* clang-format on */

static cs_status write_trace(const char *path, const cs_arrival_trace *trace, cs_error *err)
{
    cs_text text = {0};

    cs_arrival_table_write(trace, &text);
    cs_status status = cs_cli_write(path, &text, err);
    cs_text_free(&text);
    return status;
}

static cs_status write_picture(const char *path, cs_picture kind, const cs_arrival_trace *trace,
                               const cs_skew *skew, const cs_arrival_notes *notes, cs_error *err)
{
    cs_plot   plot    = {.width = 0};
    cs_text   picture = {0};
    cs_status status  = cs_late_plot_make(trace, skew, notes, &plot, err);

    if (status == CS_OK) {
        status = cs_gnuplot_draw(&plot.script, kind, plot.width, plot.height, &picture, err);
    }
    status = status == CS_OK ? cs_cli_write(path, &picture, err) : status;
    cs_text_free(&picture);
    cs_text_free(&plot.script);
    return status;
}

/* Snapshots of NCCL's RAS have no times: who does not answer, and who is behind. */
static cs_status answer_ras(const arrivals_job *j, cs_text *text, cs_error *err)
{
    cs_ras_report report = {0};

    if (j->format != AS_TABLE && j->format != AS_JSON) {
        return CS_FAIL(err, CS_EINVAL, "--format", "of NCCL RAS: accepted are table and json");
    }
    if (j->output != NULL) {
        return CS_FAIL(err, CS_EINVAL, "--output", "snapshots of NCCL RAS have no arrivals");
    }
    CS_TRY(cs_ras_load(j->choice.paths, j->choice.n_paths, &report, err));
    (j->format == AS_JSON ? cs_ras_json : cs_ras_table)(&report, text);
    cs_ras_free(&report);
    return CS_OK;
}

static bool are_ras(const cs_arrival_choice *choice)
{
    size_t n = 0;

    while (n < choice->n_paths && cs_ras_is_file(choice->paths[n])) {
        n++;
    }
    return n > 0 && n == choice->n_paths;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    const arrivals_job *j     = job;
    cs_arrival_trace    trace = {0};
    cs_arrival_notes    notes = {0};
    cs_skew             skew  = {0};
    cs_status           status;

    if (j->choice.n_paths == 0) {
        return CS_FAIL(err, CS_EINVAL, "arrivals", "needs a trace: arrivals FILE|FOLDER..");
    }
    if (are_ras(&j->choice)) {
        return answer_ras(j, text, err);
    }
    cs_arrival_options options = j->choice.options;
    options.listener           = &cs_cli_listener;
    cs_cli_progress_begin("logs", j->is_quiet);
    status =
        cs_arrival_files_load(j->choice.paths, j->choice.n_paths, &options, &trace, &notes, err);
    cs_cli_progress_end();
    if (status == CS_OK) {
        status = cs_skew_compute(&trace, &skew, err);
    }
    if (status == CS_OK) {
        switch (j->format) {
        case AS_TABLE: cs_skew_table(&trace, &skew, &notes, text); break;
        case AS_JSON: cs_skew_json(&trace, &skew, &notes, text); break;
        case AS_CSV: cs_skew_csv(&trace, &skew, text); break;
        case AS_PROM: cs_skew_prom(&trace, &skew, &notes, text); break;
        }
    }
    if (status == CS_OK && j->output != NULL) {
        cs_picture kind = CS_PICTURE_SVG;
        status          = cs_picture_of(j->output, &kind)
                              ? write_picture(j->output, kind, &trace, &skew, &notes, err)
                              : write_trace(j->output, &trace, err);
    }
    cs_skew_free(&skew);
    cs_arrival_notes_free(&notes);
    cs_arrival_trace_free(&trace);
    return status;
}

static int arrivals_run(int count, char *const *words)
{
    arrivals_job j = {0};
    return cs_cli_answer(&cs_command_arrivals, count, words, answer, &j);
}

const cs_command cs_command_arrivals = {
    .name     = "arrivals",
    .usage    = "arrivals FILE|FOLDER.. [options]",
    .summary  = "who comes late in a trace or in logs, how late, how reliably and why",
    .tables   = arrivals_tables,
    .examples = {"collsim arrivals traces/generated-arrivals8.csv",
                 "collsim arrivals traces/generated-inspector8 --format json"},
    .run      = arrivals_run,
};
