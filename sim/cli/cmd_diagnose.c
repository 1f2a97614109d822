/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim diagnose: is a measured curve what NCCL shows on such servers? */
#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/nccl_args.h"
#include "output/diagnosis_text.h"
#include "output/gnuplot.h"
#include "traces/nccl_tests.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CS_VERSION_BYTES = 96 };

typedef struct diagnose_job {
    const char      *log, *baseline, *output;
    cs_nccl_asked    asked;
    cs_result_format format;
    char             version[CS_VERSION_BYTES]; /* that the log says, where `asked` borrows it */
} diagnose_job;

/* clang-format off */
#define TEXT(field, letter, name, value, help) CS_ARG_TEXT(diagnose_job, field, letter, name, value, help)
static const cs_arg diagnose_args[] = {
    CS_ARG_OPERAND(diagnose_job, log, "log"),
    CS_ARG_GROUP("output"),
    TEXT(baseline, 0, "baseline", "LOG", "a log of the same servers when all was well: what the measured times are held against"),
    CS_ARG_FORMAT(diagnose_job, format, "how to print (table)"),
    TEXT(output, 'o', "output", "FILE", "write there instead of standard output; FILE.json, .csv: so; .svg, .png, .pdf: a picture"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table diagnose_tables[] = {
    {cs_nccl_args, offsetof(diagnose_job, asked), CS_NOWHERE, CS_NOWHERE},
    {diagnose_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

/* The version of NCCL, or RCCL, as the option would have it; false: the log does not say it. */
static bool find_version(const char *versions, char text[CS_VERSION_BYTES])
{
    static const char said[] = "CCL version ", coded[] = "nccl-library=";
    const char       *at = strstr(versions, said);
    unsigned long     code;

    if (at != NULL) {
        (void)snprintf(text, CS_VERSION_BYTES, "%s", at + strlen(said));
        return true;
    }
    at = strstr(versions, coded);
    return at != NULL && sscanf(at + strlen(coded), "%7lu", &code) == 1 &&
           cs_nccl_version_of_code(code, text);
}

/* The one log of a file, of a collective whose ranks are known. */
static cs_status read_log(const char *path, uint32_t n_ranks, cs_nccl_logs *logs, cs_error *err)
{
    CS_TRY(cs_nccl_read(path, n_ranks, logs, err));
    const cs_nccl_log *log = logs->logs[0];
    if (logs->n != 1) {
        return CS_FAIL(err, CS_EINVAL, path, "holds %zu tables: accepted is one", logs->n);
    }
    if (log->measured != CS_NCCL_COLLECTIVE || log->collective_from == CS_NCCL_UNKNOWN) {
        return CS_FAIL(err, CS_ENOTSUP, path,
                       "is of no collective that is known: accepted are logs of all_reduce_perf, "
                       "all_gather_perf, reduce_scatter_perf and alltoall_perf");
    }
    if (log->n_ranks == 0) {
        return CS_FAIL(err, CS_EINVAL, path,
                       "does not say how many ranks there were: --ranks does");
    }
    return CS_OK;
}

/* What the log says of the machine, where the options do not; `version` may be borrowed by it. */
static cs_status take_from_log(const cs_nccl_log *log, char version[CS_VERSION_BYTES],
                               cs_nccl_asked *asked, cs_error *err)
{
    const cs_nccl_named_gpu *gpu = cs_nccl_gpu_find(log->device);

    asked->ranks = log->n_ranks;
    if (asked->gpus == 0 && !(gpu != NULL && gpu->is_of_rack) && log->n_hosts > 0 &&
        log->n_ranks % log->n_hosts == 0) {
        asked->gpus = log->n_ranks / log->n_hosts;
    }
    if (asked->topology == NULL && gpu == NULL) {
        return CS_FAIL(err, CS_EINVAL, "--topology",
                       "needs a preset or a file, as %s%s%s: 'collsim list topologies' has the "
                       "presets",
                       log->device[0] != '\0' ? "no preset has GPUs like '"
                                              : "the log names no GPU",
                       log->device, log->device[0] != '\0' ? "'" : "");
    }
    if (asked->topology == NULL) {
        asked->topology = gpu->preset;
        (void)fprintf(stderr, "collsim: note: --topology: %s is taken, by '%s' in the log\n",
                      gpu->preset, log->device);
    }
    if (asked->gpus_per_process == 0 && log->reading.run.n_gpus <= CS_MACHINE_MAX_GPUS) {
        asked->gpus_per_process = (uint32_t)log->reading.run.n_gpus;
    }
    if (asked->version == NULL && find_version(log->versions, version)) {
        asked->version = version;
    } else if (asked->version == NULL) {
        (void)fprintf(stderr,
                      "collsim: note: --nccl-version: the log does not say it, 2.%d is taken\n",
                      CS_NCCL_NEWEST);
    }
    return CS_OK;
}

static cs_status read_machine(cs_nccl_asked *asked, const char *log, cs_nccl_cluster *cluster,
                              cs_nccl_setting *setting, cs_error *err)
{
    cs_error  wrong = {0};
    cs_status status;

    CS_TRY(cs_nccl_asked_setting(asked, setting, err));
    status = cs_nccl_asked_cluster(asked, cluster, &wrong);
    return status == CS_OK ? CS_OK
                           : CS_FAIL(err, status, wrong.where, "%s (%u ranks in %s)", wrong.message,
                                     asked->ranks, log);
}

/* The column that NCCL users read: out of place, else in place. */
static double measured_s(const cs_nccl_row *row)
{
    for (int side = 0; side < CS_NCCL_SIDES; side++) {
        if (row->timings[side].is_measured) {
            return row->timings[side].time_s;
        }
    }
    return (double)NAN;
}

/* Both columns do the same: what differs by more than that is no noise. */
static void say_sides(const cs_nccl_log *log, const char *path)
{
    size_t n = 0, first = 0;

    for (size_t i = 0; i < log->n_rows; i++) {
        const cs_nccl_timing *t = log->rows[i].timings;
        double                a = t[CS_NCCL_OUT_OF_PLACE].time_s, b = t[CS_NCCL_IN_PLACE].time_s;
        bool both = t[CS_NCCL_OUT_OF_PLACE].is_measured && t[CS_NCCL_IN_PLACE].is_measured;
        if (both && fmax(a, b) > 1.3 * fmin(a, b)) {
            first = n++ == 0 ? i : first;
        }
    }
    if (n > 0) {
        const cs_nccl_row *row = &log->rows[first];
        (void)fprintf(stderr,
                      "collsim: note: %s:%" PRIu32 ": %.4g us out of place and %.4g us in place: "
                      "noise, or something else ran (%zu of %zu rows)\n",
                      path, row->line, row->timings[CS_NCCL_OUT_OF_PLACE].time_s * 1e6,
                      row->timings[CS_NCCL_IN_PLACE].time_s * 1e6, n, log->n_rows);
    }
}

static void say_doubts(const cs_nccl_log *log, const char *path)
{
    for (cs_nccl_remark_kind k = 0; k < CS_NCCL_REMARKS; k++) {
        const cs_nccl_remark *r = &log->reading.remarks[k];
        if (r->n > 0 && cs_nccl_remark_is_doubt(k)) {
            (void)fprintf(stderr, "collsim: note: %s: %s (%" PRIu64 "): %s\n", path,
                          cs_nccl_remark_name(k), r->n, r->first);
        }
    }
}

/* The baseline's time of the same size. */
static double baseline_s(const cs_nccl_log *baseline, uint64_t bytes)
{
    for (size_t i = 0; baseline != NULL && i < baseline->n_rows; i++) {
        if (baseline->rows[i].size_bytes == bytes) {
            return measured_s(&baseline->rows[i]);
        }
    }
    return (double)NAN;
}

static cs_status check_baseline(const cs_nccl_log *log, const cs_nccl_log *baseline,
                                const char *path, cs_error *err)
{
    size_t same = 0;

    if (baseline->collective != log->collective || baseline->n_ranks != log->n_ranks) {
        return CS_FAIL(err, CS_EINVAL, "--baseline",
                       "%s is of %s on %u ranks, and the log of %s on %u: accepted are the same",
                       path, cs_collective_name(baseline->collective), baseline->n_ranks,
                       cs_collective_name(log->collective), log->n_ranks);
    }
    for (size_t i = 0; i < log->n_rows; i++) {
        same += isnan(baseline_s(baseline, log->rows[i].size_bytes)) ? 0 : 1;
    }
    return same > 0 ? CS_OK
                    : CS_FAIL(err, CS_EINVAL, "--baseline", "%s has none of the log's sizes", path);
}

/* The rows that have a time; owned by the caller. */
static cs_status make_rows(const cs_nccl_log *log, const cs_nccl_log *baseline, cs_diagnosis *d,
                           cs_error *err)
{
    d->rows = CS_NEW(cs_diagnosis_row, log->n_rows);
    if (d->rows == NULL) {
        return CS_NO_MEMORY(err, "%zu rows", log->n_rows);
    }
    for (size_t i = 0; i < log->n_rows; i++) {
        const cs_nccl_row *row = &log->rows[i];
        double             s   = measured_s(row);
        if (!isnan(s)) {
            d->rows[d->n_rows++] =
                (cs_diagnosis_row){.bytes      = row->size_bytes,
                                   .measured_s = s,
                                   .baseline_s = baseline_s(baseline, row->size_bytes)};
        }
    }
    return d->n_rows > 0 ? CS_OK : CS_FAIL(err, CS_EINVAL, "log", "no row has a time");
}

/* A picture where the output is to be one, and then also the answer for standard output. */
static cs_status write_picture(const diagnose_job *j, const cs_diagnosis *d, cs_picture kind,
                               cs_error *err)
{
    cs_text   picture = {0};
    cs_status status  = cs_diagnosis_draw(&picture, d, kind, err);

    status = status == CS_OK ? cs_cli_write(j->output, &picture, err) : status;
    cs_text_free(&picture);
    return status;
}

static cs_status diagnose(diagnose_job *j, const cs_nccl_log *log, const cs_nccl_log *baseline,
                          cs_text *text, bool *is_normal_p, cs_error *err)
{
    cs_picture      kind = CS_PICTURE_SVG;
    cs_nccl_cluster cluster;
    cs_nccl_setting setting;
    cs_diagnosis    d = {
           .cluster = &cluster, .collective = log->collective, .has_baseline = baseline != NULL};

    CS_TRY(take_from_log(log, j->version, &j->asked, err));
    CS_TRY(read_machine(&j->asked, j->log, &cluster, &setting, err));
    if (baseline != NULL) {
        CS_TRY(check_baseline(log, baseline, j->baseline, err));
    }
    cs_status status = make_rows(log, baseline, &d, err);
    status           = status == CS_OK ? cs_nccl_diagnose(&d, &setting, err) : status;
    if (status == CS_OK) {
        *is_normal_p = d.verdicts[0].kind == CS_VERDICT_NORMAL;
        switch (j->format) {
        case CS_AS_JSON: cs_diagnosis_json(text, &d); break;
        case CS_AS_CSV: cs_diagnosis_csv(text, &d); break;
        case CS_AS_TABLE:
            cs_nccl_heading_add(&cluster, &setting, text);
            cs_diagnosis_table(text, &d);
            break;
        }
        status = cs_text_status(text, err);
    }
    if (status == CS_OK && cs_picture_of(j->output, &kind)) {
        status = write_picture(j, &d, kind, err);
    }
    cs_free(d.rows);
    return status;
}

static cs_status answer(diagnose_job *j, cs_text *text, bool *is_normal_p, cs_error *err)
{
    cs_nccl_logs logs = {0}, others = {0};
    cs_status    status;

    if (j->log == NULL) {
        return CS_FAIL(err, CS_EINVAL, "diagnose", "needs a log of nccl-tests or the like");
    }
    status = read_log(j->log, j->asked.ranks, &logs, err);
    if (status == CS_OK && j->baseline != NULL) {
        status = read_log(j->baseline, j->asked.ranks, &others, err);
    }
    if (status == CS_OK) {
        say_sides(logs.logs[0], j->log);
        say_doubts(logs.logs[0], j->log);
        status =
            diagnose(j, logs.logs[0], others.n > 0 ? others.logs[0] : NULL, text, is_normal_p, err);
    }
    if (status == CS_OK && !cs_picture_of(j->output, NULL)) {
        status = cs_cli_write_output(j->output, text, err);
    }
    cs_nccl_logs_free(&logs);
    cs_nccl_logs_free(&others);
    return status;
}

static int diagnose_run(int count, char *const *words)
{
    cs_error     err        = {0};
    diagnose_job j          = {.log = NULL};
    cs_text      text       = {0};
    bool         wants_help = false, is_normal = true;
    cs_status    status = cs_cli_read(&cs_command_diagnose, count, words, &j, &wants_help, &err);

    if (status == CS_OK && wants_help) {
        return cs_cli_help(&cs_command_diagnose);
    }
    if (status == CS_OK) {
        status = answer(&j, &text, &is_normal, &err);
    }
    if (status != CS_OK) {
        cs_text_free(&text);
        return cs_cli_fail(&err);
    }
    int code = cs_cli_print(&text);
    return code == CS_EXIT_DONE && !is_normal ? CS_EXIT_NO : code;
}

const cs_command cs_command_diagnose = {
    .name     = "diagnose",
    .usage    = "diagnose LOG [--topology NAME|FILE] [--baseline LOG] [options]",
    .summary  = "is a log of nccl-tests normal? expected time and bound per row, and verdicts",
    .tables   = diagnose_tables,
    .examples = {"collsim diagnose traces/generated-ring8.log --topology dgx-h100",
                 "collsim diagnose traces/generated-ring8.log --topology dgx-h100 --baseline "
                 "traces/generated-ring8.log"},
    .run      = diagnose_run,
};
