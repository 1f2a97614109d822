/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim whatif --trace: see whatif_trace.h. */
#include "cli/whatif_trace.h"

#include "cli/cli.h"
#include "cli/config_args.h"
#include "cs/units.h"
#include "montecarlo/trace_text.h"
#include "sweep/thread_pool.h"
#include "traces/skew_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    TRACE = CS_WHATIF_TRACE_FIRST,
    ALGORITHM,
    BYTES,
    BASELINE,
    PERIOD,
    AGREEMENT,
    GPUS,
    MODEL,
    ALPHA,
    BANDWIDTH,
    NVLINK_ALPHA,
    NVLINK_BANDWIDTH,
    CALIBRATION,
    OPT,
};
enum { TABLE, JSON, MAX_NAMES = 64, LIST_BYTES = 1024 };

/* clang-format off */
const cs_arg cs_whatif_trace_args[] = {
    {TRACE, 0, "trace", "FILE[,FILE..]", "arrivals: CSV, log of StragglAR, NCCL traces (repeatable)"},
    {ALGORITHM, 'a', "algorithm", "A[,B..]", "algorithms to replay (all that know the collective)"},
    {BYTES, 's', "bytes", "S", "size of every call (as in the trace)"},
    {BASELINE, 0, "baseline", "A", "what the savings are against (as of run)"},
    {PERIOD, 0, "period", "T", "time from call to call, for GPU-hours (as in the trace)"},
    {AGREEMENT, 0, "agreement", "T", "what it costs to agree on who is late (0)"},
    {GPUS, 'g', "gpus-per-server", "G", "GPUs that share a server and its NVLink (1)"},
    {MODEL, 'm', "model", "M", "network model (alpha-beta)"},
    {ALPHA, 0, "alpha", "T", "start-up time of a transfer over the NICs (3us)"},
    {BANDWIDTH, 0, "bandwidth", "R", "rate of a NIC port (450GB/s)"},
    {NVLINK_ALPHA, 0, "nvlink-alpha", "T", "the same for NVLink (1us)"},
    {NVLINK_BANDWIDTH, 0, "nvlink-bandwidth", "R", "the same for NVLink (450GB/s)"},
    {CALIBRATION, 0, "calibration", "FILE", "alpha and bandwidth from 'collsim calibrate'"},
    {OPT, 0, "opt", "KEY=VALUE", "option of the algorithms that have it (repeatable)"},
    CS_ARG_LAST_ROW,
};
/* clang-format on */

bool cs_whatif_trace_arg_is(int id)
{
    return (id >= CS_WHATIF_TRACE_FIRST && id <= CS_WHATIF_TRACE_LAST) || cs_arrival_arg_is(id);
}

bool cs_whatif_trace_is_wanted(const cs_whatif_trace_choice *choice)
{
    return choice->arrivals.n_paths > 0;
}

const char *cs_whatif_trace_option(const cs_whatif_trace_choice *choice)
{
    return choice->last_option;
}

cs_status cs_whatif_trace_add(cs_whatif_trace_choice *choice, int id, const cs_args *args,
                              cs_error *err)
{
    choice->last_option = args->option;
    if (cs_arrival_arg_is(id)) {
        return cs_arrival_choice_add(&choice->arrivals, id, args, err);
    }
    switch (id) {
    case TRACE: return cs_arrival_choice_path(&choice->arrivals, args->value, err);
    case ALGORITHM: choice->algorithms = args->value; return CS_OK;
    case BYTES: choice->bytes = args->value; return CS_OK;
    case BASELINE: choice->baseline = args->value; return CS_OK;
    case PERIOD: choice->period = args->value; return CS_OK;
    case AGREEMENT: choice->agreement = args->value; return CS_OK;
    default: break;
    }
    if (choice->n_set == sizeof choice->set / sizeof choice->set[0]) {
        return CS_FAIL(err, CS_EINVAL, args->name, "more than %zu options", choice->n_set);
    }
    choice->set[choice->n_set].key     = cs_config_key_of(args->name);
    choice->set[choice->n_set++].value = args->value;
    return CS_OK;
}

static cs_status set_all(const cs_whatif_trace_choice *choice, cs_config *config, cs_error *err)
{
    const char *collective = choice->arrivals.options.collective;
    cs_status   status     = CS_OK;

    if (collective != NULL) {
        status = cs_config_set(config, "collective", collective, "--collective", err);
    }
    for (size_t i = 0; i < choice->n_set && status == CS_OK; i++) {
        status = cs_config_key_set(config, choice->set[i].key, choice->set[i].value, err);
    }
    return status;
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

/* A time of the command line in [0, 1e9] s; nothing where it was not given. */
static cs_status read_time(const char *text, const char *name, bool has_zero, double *time_s_p,
                           cs_error *err)
{
    double    time_s = *time_s_p;
    cs_status status = text != NULL ? cs_parse_time(text, &time_s, name, err) : CS_OK;

    if (status == CS_OK && text != NULL && !(time_s <= 1e9 && (time_s > 0 || has_zero))) {
        return CS_FAIL(err, CS_EINVAL, name, "%.9g s is outside %s0, 1e9 s]", time_s,
                       has_zero ? "[" : "(");
    }
    *time_s_p = time_s;
    return status;
}

static cs_status read_options(const cs_whatif_trace_choice *choice, double period_s,
                              cs_trace_options *options, cs_error *err)
{
    cs_status status = CS_OK;

    *options = (cs_trace_options){
        .baseline = choice->baseline, .period_s = period_s, .jobs = cs_processors()};
    if (choice->bytes != NULL) {
        status = cs_parse_bytes(choice->bytes, &options->bytes, "--bytes", err);
        if (status == CS_OK && options->bytes == 0) {
            return CS_FAIL(err, CS_EINVAL, "--bytes", "0 is not the size of a call");
        }
    }
    if (status == CS_OK) {
        status = read_time(choice->period, "--period", false, &options->period_s, err);
    }
    return status == CS_OK
               ? read_time(choice->agreement, "--agreement", true, &options->agreement_s, err)
               : status;
}

static void print(const cs_trace_report *report, const cs_arrival_trace *trace,
                  const cs_arrival_notes *notes, int format, cs_text *text)
{
    if (format == TABLE) {
        cs_arrival_head(trace, notes, text);
        cs_text_add(text, "\n");
        cs_trace_table(report, trace, text);
    } else if (format == JSON) {
        cs_trace_json(report, trace, notes, text);
    } else {
        cs_trace_csv(report, text);
    }
}

cs_status cs_whatif_trace_answer(const cs_whatif_trace_choice *choice, cs_config *config,
                                 int format, cs_text *text, cs_error *err)
{
    char             list[LIST_BYTES];
    const char      *names[MAX_NAMES];
    size_t           n_names = 0;
    cs_arrival_trace trace   = {0};
    cs_arrival_notes notes   = {0};
    cs_trace_options options;
    cs_trace_report  report = {0};
    cs_status        status = set_all(choice, config, err);

    if (status == CS_OK) {
        cs_config_say_notes(config);
        status = cs_config_refuse_training(config, err);
    }
    if (status == CS_OK && choice->algorithms != NULL) {
        status = split(list, choice->algorithms, names, &n_names, err);
    }
    if (status == CS_OK) {
        status = cs_arrival_files_load(choice->arrivals.paths, choice->arrivals.n_paths,
                                       &choice->arrivals.options, &trace, &notes, err);
    }
    if (status == CS_OK) {
        status = read_options(choice, notes.period_s, &options, err);
    }
    if (status == CS_OK) {
        options.algorithms   = n_names > 0 ? names : NULL;
        options.n_algorithms = n_names;
        status               = cs_trace_whatif(config, &trace, &options, &report, err);
    }
    if (status == CS_OK) {
        print(&report, &trace, &notes, format, text);
    }
    cs_trace_report_free(&report);
    cs_arrival_notes_free(&notes);
    cs_arrival_trace_free(&trace);
    return status;
}
