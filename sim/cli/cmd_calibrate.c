/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim calibrate: alpha and beta per regime from logs of nccl-tests. */
#include "cli/cli.h"
#include "cs/cluster.h"
#include "output/residuals.h"
#include "traces/calibration.h"
#include "traces/calibration_json.h"

#include <string.h>

enum { MAX_LOGS = 256 };

typedef struct calibrate_job {
    cs_calibrate_options options;
    bool                 is_in_place;
    const char          *logs[MAX_LOGS];
    size_t               n_logs;
    const char          *output_path;
    cs_result_format     format;
} calibrate_job;

/* clang-format off */
#define TEXT(field, name, help) CS_ARG_TEXT(calibrate_job, options.field, 0, name, "TEXT", help)
static const cs_arg calibrate_args[] = {
    CS_ARG_TEXT(calibrate_job, output_path, 'o', "output", "FILE", "write the calibration there, for run --calibration; FILE.svg: a picture of its residuals"),
    {.letter = 'c', .name = "collective", .value = "C", .help = "what was measured, where the log does not say it or holds several",
     .field = {.name = "collective", .type = CS_FIELD_CHOICE, .names = &cs_collective_names,
               .offset = offsetof(calibrate_job, options.collective)},
     .marks = true, .mark = offsetof(calibrate_job, options.has_collective)},
    CS_ARG_NUMBER(calibrate_job, options.n_ranks, 'n', "ranks", "N", "number of ranks, where the log does not say it or holds several",
                  .min = 2, .max = CS_MAX_RANKS),
    CS_ARG_FLAG(calibrate_job, is_in_place, 0, "in-place", "take the in-place columns (out-of-place)"),
    CS_ARG_FLAG(calibrate_job, options.extrapolate, 0, "extrapolate", "allow the calibration for other numbers of ranks"),
    CS_ARG_NUMBER(calibrate_job, options.fit.hold_out_every, 0, "hold-out", "K", "leave out every K-th size, too, and predict it",
                  .min = 2, .max = CS_MAX_FIT_POINTS),
    CS_ARG_FLAG(calibrate_job, options.fit.keep_outliers, 0, "keep-outliers", "fit outliers, too"),
    CS_ARG_NUMBER(calibrate_job, options.fit.seed, 0, "seed", "N", "of the bootstrap of the intervals (0)", .max = 9007199254740992.0),
    TEXT(machine, "machine", "to be kept in the calibration"),
    TEXT(versions, "versions", "to be kept in the calibration"),
    TEXT(source, "source", "to be kept in the calibration (the names of the logs)"),
    TEXT(date, "date", "to be kept in the calibration"),
    TEXT(note, "note", "to be kept in the calibration"),
    CS_ARG_CHOICE(calibrate_job, format, 0, "format", "table|json", "how to print (table)"),
    CS_ARG_OPERANDS(calibrate_job, logs, n_logs, "log"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table calibrate_tables[] = {
    {calibrate_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

/* The calibration into a file, or the picture of what it leaves over. */
static cs_status write_output(const cs_calibration *calibration, const char *path, cs_error *err)
{
    const char *suffix = strrchr(path, '.');
    cs_text     text   = {0};
    cs_status   status = CS_OK;

    if (suffix != NULL && strcmp(suffix, ".svg") == 0) {
        status = cs_residuals_svg(calibration, &text, err);
    } else {
        cs_calibration_json(calibration, &text);
    }
    status = status == CS_OK ? cs_cli_write(path, &text, err) : status;
    cs_text_free(&text);
    return status;
}

static cs_status calibrate(void *job, cs_text *text, cs_error *err)
{
    calibrate_job  *j           = job;
    cs_calibration *calibration = NULL;
    cs_status       status;

    if (j->n_logs == 0) {
        return CS_FAIL(err, CS_EINVAL, "calibrate", "needs a log: calibrate LOG.. [-o FILE]");
    }
    j->options.column = j->is_in_place ? CS_NCCL_IN_PLACE : CS_NCCL_OUT_OF_PLACE;
    status            = cs_calibrate(j->logs, j->n_logs, &j->options, &calibration, err);
    if (status == CS_OK) {
        if (j->format == CS_AS_JSON) {
            cs_calibration_json(calibration, text);
        } else {
            cs_calibration_table(calibration, text);
        }
        if (j->output_path != NULL) {
            status = write_output(calibration, j->output_path, err);
        }
    }
    cs_calibration_free(calibration);
    return status;
}

static int calibrate_run(int count, char *const *words)
{
    calibrate_job j = {0};
    return cs_cli_answer(&cs_command_calibrate, count, words, calibrate, &j);
}

const cs_command cs_command_calibrate = {
    .name    = "calibrate",
    .usage   = "calibrate LOG.. [-o FILE.json|FILE.svg]",
    .summary = "alpha and beta per regime from measurements (nccl-tests, captured runs)",
    .tables  = calibrate_tables,
    .run     = calibrate_run,
};
