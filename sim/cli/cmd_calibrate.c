/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim calibrate: alpha and beta per regime from logs of nccl-tests. */
#include "cli/cli.h"
#include "config/calibration_json.h"
#include "cs/cluster.h"
#include "cs/units.h"
#include "traces/calibration.h"

#include <string.h>

enum {
    OUTPUT = 1,
    COLLECTIVE,
    RANKS,
    IN_PLACE,
    EXTRAPOLATE,
    MACHINE,
    VERSIONS,
    SOURCE,
    DATE,
    NOTE,
    FORMAT,
    MAX_LOGS = 256
};

/* clang-format off */
static const cs_arg calibrate_args[] = {
    {OUTPUT, 'o', "output", "FILE.json", "write the calibration there, for run --calibration"},
    {COLLECTIVE, 'c', "collective", "C", "what was measured, where the log does not say it"},
    {RANKS, 'n', "ranks", "N", "number of ranks, where the log does not say it"},
    {IN_PLACE, 0, "in-place", NULL, "take the in-place columns (out-of-place)"},
    {EXTRAPOLATE, 0, "extrapolate", NULL, "allow the calibration for other numbers of ranks"},
    {MACHINE, 0, "machine", "TEXT", "to be kept in the calibration"},
    {VERSIONS, 0, "versions", "TEXT", "to be kept in the calibration"},
    {SOURCE, 0, "source", "TEXT", "to be kept in the calibration (the names of the logs)"},
    {DATE, 0, "date", "TEXT", "to be kept in the calibration"},
    {NOTE, 0, "note", "TEXT", "to be kept in the calibration"},
    {FORMAT, 0, "format", "table|json", "how to print (table)"},
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
/* clang-format on */

static const cs_arg *const calibrate_tables[] = {calibrate_args, NULL};

typedef struct calibrate_job {
    cs_calibrate_options options;
    const char          *logs[MAX_LOGS];
    size_t               n_logs;
    const char          *output_path;
    int                  format;
} calibrate_job;

static cs_status take_arg(void *job, int id, const cs_args *args, cs_error *err)
{
    calibrate_job        *j = job;
    cs_calibrate_options *o = &j->options;
    uint64_t              number;
    cs_status             status = CS_OK;

    switch (id) {
    case OUTPUT: j->output_path = args->value; break;
    case IN_PLACE: o->column = CS_NCCL_IN_PLACE; break;
    case EXTRAPOLATE: o->extrapolate = true; break;
    case MACHINE: o->machine = args->value; break;
    case VERSIONS: o->versions = args->value; break;
    case SOURCE: o->source = args->value; break;
    case DATE: o->date = args->value; break;
    case NOTE: o->note = args->value; break;
    case FORMAT: return cs_cli_choice(args->value, "table|json", "--format", &j->format, err);
    case COLLECTIVE:
        o->has_collective = true;
        return cs_collective_find(args->value, &o->collective, err);
    case RANKS:
        status     = cs_parse_integer(args->value, 2, CS_MAX_RANKS, &number, "--ranks", err);
        o->n_ranks = status == CS_OK ? (uint32_t)number : 0;
        break;
    default:
        if (j->n_logs == MAX_LOGS) {
            return CS_FAIL(err, CS_EINVAL, args->value, "more than %d logs", MAX_LOGS);
        }
        j->logs[j->n_logs++] = args->value;
    }
    return status;
}

static cs_status calibrate(void *job, cs_text *text, cs_error *err)
{
    calibrate_job  *j           = job;
    cs_calibration *calibration = NULL;
    cs_text         json        = {0};
    cs_status       status;

    if (j->n_logs == 0) {
        return CS_FAIL(err, CS_EINVAL, "calibrate", "needs a log: calibrate LOG.. [-o FILE]");
    }
    status = cs_calibrate(j->logs, j->n_logs, &j->options, &calibration, err);
    if (status == CS_OK) {
        cs_calibration_json(calibration, &json);
        if (j->format == 1) {
            cs_calibration_json(calibration, text);
        } else {
            cs_calibration_table(calibration, text);
        }
        if (j->output_path != NULL) {
            status = cs_cli_write(j->output_path, &json, err);
        }
    }
    cs_text_free(&json);
    cs_calibration_free(calibration);
    return status;
}

static int calibrate_run(int count, char *const *words)
{
    calibrate_job j = {0};
    return cs_cli_answer(&cs_command_calibrate, count, words, take_arg, calibrate, &j);
}

const cs_command cs_command_calibrate = {
    .name    = "calibrate",
    .usage   = "calibrate LOG.. [-o FILE.json]",
    .summary = "alpha and beta per regime from logs of nccl-tests",
    .tables  = calibrate_tables,
    .run     = calibrate_run,
};
