/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim whatif: what a job of many iterations loses to failing NICs, policy by policy; with
 * --trace, what each algorithm would have saved on measured arrivals. */
#include "campaign/thread_pool.h"
#include "campaign/trace_whatif.h"
#include "cli/arrival_args.h"
#include "cli/cli.h"
#include "cli/config_args.h"
#include "cs/scenario.h"
#include "traces/skew_text.h"
#include "whatif/whatif.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 64, LIST_BYTES = 1024 };

/* What was chosen beside the configuration. Texts are borrowed from the command line. */
typedef struct trace_choice {
    cs_arrival_choice arrivals;
    const char       *algorithms, *baseline;
    uint64_t          bytes;       /* 0: as in the trace */
    double            period_s;    /* 0: as in the trace */
    double            agreement_s; /* 0 */
} trace_choice;

typedef struct whatif_job {
    cs_config_choice config;
    trace_choice     trace;
    const char      *trace_option; /* the last one given that belongs to a trace */
    const char      *output;
    cs_result_format format;
} whatif_job;

#define PRESET     "timers.preset"
#define MAX_TIME_S 1e9

/* clang-format off */
#define KEY(letter, name, value, path, help) CS_ARG_KEY(letter, name, value, path, CS_SET_VALUE, NULL, help)
#define TIME(field, name, help, ...)                                                              \
    CS_ARG_NUMBER(trace_choice, field, 0, name, "T", help, .unit = CS_UNIT_TIME,        \
                  .max = MAX_TIME_S, __VA_ARGS__)
static const cs_arg trace_args[] = {
    {.name = "trace", .value = "FILE[,FILE..]", .help = "arrivals: CSV, log of StragglAR, NCCL traces (repeatable)",
     .field = CS_ARG_LIST_FIELD(trace_choice, arrivals.paths, arrivals.n_paths, "trace")},
    CS_ARG_TEXT(trace_choice, algorithms, 'a', "algorithm", "A[,B..]", "algorithms to replay (all that know the collective)"),
    CS_ARG_NUMBER(trace_choice, bytes, 's', "bytes", "S", "size of every call (as in the trace)",
                  .unit = CS_UNIT_SIZE, .min = 1, .max = (double)CS_MAX_BYTES),
    CS_ARG_TEXT(trace_choice, baseline, 0, "baseline", "A", "what the savings are against (as of run)"),
    TIME(period_s, "period", "time from call to call, for GPU-hours (as in the trace)", .is_above = true),
    TIME(agreement_s, "agreement", "what it costs to agree on who is late (0)", .min = 0),
    KEY('g', "gpus-per-server", "G", "cluster.gpus_per_server", "GPUs that share a server and its NVLink (1)"),
    KEY('m', "model", "M", "model.name", "network model (alpha-beta)"),
    KEY(0, "alpha", "T", "cluster.nic.alpha", "start-up time of a transfer over the NICs (3us)"),
    KEY(0, "bandwidth", "R", "cluster.nic.bandwidth", "rate of a NIC port (450GB/s)"),
    KEY(0, "nvlink-alpha", "T", "cluster.nvlink.alpha", "the same for NVLink (1us)"),
    KEY(0, "nvlink-bandwidth", "R", "cluster.nvlink.bandwidth", "the same for NVLink (450GB/s)"),
    KEY(0, "calibration", "FILE", "calibration", "alpha and bandwidth from 'collsim calibrate'"),
    CS_ARG_KEY(0, "opt", "KEY=VALUE", "algorithm.options", CS_SET_BELOW, NULL, "option of the algorithms that have it (repeatable)"),
    CS_ARG_LAST_ROW,
};
static const cs_arg whatif_args[] = {
    CS_ARG_FORMAT(whatif_job, format, "how to print (table)"),
    CS_ARG_TEXT(whatif_job, output, 'o', "output", "FILE", "write it there instead of to standard output"),
    CS_ARG_KEY(0, "preset", "default|nccl", PRESET, CS_SET_VALUE, NULL, "timers that the configuration does not set itself"),
    CS_CONFIG_SET_ROW,
    CS_ARG_OPERAND(whatif_job, config.path, "configuration"),
    CS_ARG_LAST_ROW,
};
#define PART(args_, field_) \
    {(args_), offsetof(whatif_job, field_), offsetof(whatif_job, config), offsetof(whatif_job, trace_option)}
static const cs_arg_table whatif_tables[] = {
    {whatif_args, 0, offsetof(whatif_job, config), CS_NOWHERE},
    PART(trace_args, trace), PART(cs_arrival_args, trace.arrivals), {.args = NULL}};
/* clang-format on */

static bool wants_trace(const whatif_job *j)
{
    return j->trace.arrivals.n_paths > 0;
}

static cs_status check_args(const whatif_job *j, cs_error *err)
{
    if (!wants_trace(j)) {
        if (j->trace_option != NULL) {
            return CS_FAIL(err, CS_EINVAL, j->trace_option,
                           "belongs to a trace of arrivals: --trace FILE");
        }
        if (j->config.path == NULL) {
            return CS_FAIL(err, CS_EINVAL, "whatif",
                           "needs a configuration or a trace: whatif CONFIG.json, whatif --trace "
                           "FILE");
        }
    } else if (cs_config_choice_has(&j->config, PRESET)) {
        return CS_FAIL(err, CS_EINVAL, "--preset", "belongs to failing NICs, not to --trace");
    }
    return CS_OK;
}

/* Names with commas between them, cut in place. */
static cs_status split(char *list, const char *text, const char **names, size_t *n_p, cs_error *err)
{
    size_t length = strlen(text);

    if (length >= LIST_BYTES) {
        return CS_FAIL(err, CS_EINVAL, "--algorithm", "the list is too long");
    }
    memcpy(list, text, length + 1);
    for (char *at = list; at != NULL;) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (*at == '\0' || *n_p == MAX_NAMES) {
            return CS_FAIL(err, CS_EINVAL, "--algorithm", "'%.80s' is not a list of up to %d names",
                           text, MAX_NAMES);
        }
        names[(*n_p)++] = at;
        at              = comma != NULL ? comma + 1 : NULL;
    }
    return CS_OK;
}

/* A trace and what came out of it; owned. */
typedef struct replayed {
    cs_arrival_trace trace;
    cs_arrival_notes notes;
    cs_trace_report  report;
} replayed;

static cs_status replay(const trace_choice *choice, cs_config *config, replayed *r, cs_error *err)
{
    char           list[LIST_BYTES];
    const char    *names[MAX_NAMES];
    size_t         n_names    = 0;
    const cs_value collective = {.type = CS_VALUE_TEXT,
                                 .text = choice->arrivals.options.collective};

    if (collective.text != NULL) {
        CS_TRY(cs_config_put(config, "collective", &collective, "--collective", err));
    }
    cs_config_say_notes(config);
    CS_TRY(cs_config_refuse_training(config, err));
    if (choice->algorithms != NULL) {
        CS_TRY(split(list, choice->algorithms, names, &n_names, err));
    }
    CS_TRY(cs_arrival_files_load(choice->arrivals.paths, choice->arrivals.n_paths,
                                 &choice->arrivals.options, &r->trace, &r->notes, err));
    const cs_trace_options options = {.algorithms   = n_names > 0 ? names : NULL,
                                      .n_algorithms = n_names,
                                      .baseline     = choice->baseline,
                                      .bytes        = choice->bytes,
                                      .period_s     = choice->period_s > 0 ? choice->period_s
                                                                           : r->notes.period_s,
                                      .agreement_s  = choice->agreement_s};
    return cs_trace_whatif(config, &r->trace, &options, &r->report, err);
}

static void print(const replayed *r, cs_result_format format, cs_text *text)
{
    switch (format) {
    case CS_AS_TABLE:
        cs_arrival_head(&r->trace, &r->notes, text);
        cs_text_add(text, "\n");
        cs_trace_table(&r->report, &r->trace, text);
        break;
    case CS_AS_JSON: cs_trace_json(&r->report, &r->trace, &r->notes, text); break;
    case CS_AS_CSV: cs_trace_csv(&r->report, text); break;
    }
}

/* The configuration or the defaults, with every option; the caller owns it, on failure too. */
static cs_status load(const whatif_job *j, cs_config **config_p, cs_error *err)
{
    CS_TRY(cs_config_choice_load(&j->config, config_p, err));
    return cs_config_choice_apply(&j->config, *config_p, err);
}

static cs_status answer_trace(const whatif_job *j, cs_config *config, cs_text *text, cs_error *err)
{
    replayed  r      = {0};
    cs_status status = replay(&j->trace, config, &r, err);

    if (status == CS_OK) {
        print(&r, j->format, text);
    }
    cs_trace_report_free(&r.report);
    cs_arrival_notes_free(&r.notes);
    cs_arrival_trace_free(&r.trace);
    return status;
}

static cs_status simulate(const cs_config *config, cs_whatif_job *job, cs_whatif_report *report,
                          cs_error *err)
{
    cs_config_say_notes(config);
    CS_TRY(cs_whatif_read(config, job, err));
    return cs_whatif_run(job, report, err);
}

static cs_status answer_faults(const whatif_job *j, const cs_config *config, cs_text *text,
                               cs_error *err)
{
    cs_whatif_job    job    = {0};
    cs_whatif_report report = {0};
    cs_status        status = simulate(config, &job, &report, err);

    if (status == CS_OK) {
        switch (j->format) {
        case CS_AS_TABLE: cs_whatif_table(&job, &report, text); break;
        case CS_AS_JSON: cs_whatif_json(&job, &report, text); break;
        case CS_AS_CSV: cs_whatif_csv(&job, &report, text); break;
        }
    }
    cs_whatif_free(&report);
    cs_whatif_job_free(&job);
    return status;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    const whatif_job *j      = job;
    cs_config        *config = NULL;

    CS_TRY(check_args(j, err));
    cs_status status = load(j, &config, err);
    if (status == CS_OK) {
        status = wants_trace(j) ? answer_trace(j, config, text, err)
                                : answer_faults(j, config, text, err);
    }
    cs_config_free(config);
    return status == CS_OK ? cs_cli_write_output(j->output, text, err) : status;
}

static int whatif_run(int count, char *const *words)
{
    whatif_job j = {0};
    return cs_cli_answer(&cs_command_whatif, count, words, answer, &j);
}

const cs_command cs_command_whatif = {
    .name    = "whatif",
    .usage   = "whatif CONFIG.json [options] | whatif --trace FILE [CONFIG.json] [options]",
    .summary = "what a job loses to failing NICs, or to ranks that come late in a trace",
    .tables  = whatif_tables,
    .run     = whatif_run,
};
