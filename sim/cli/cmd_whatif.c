/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim whatif: what a job of many iterations loses to failing NICs, policy by policy; with
 * --trace, what each algorithm would have saved on measured arrivals, or how long an iteration of
 * an execution trace takes; with --kill-nic and
 * --slow-nic, how long a collective takes that was measured on whole NICs. */
#include "campaign/thread_pool.h"
#include "campaign/trace_whatif.h"
#include "cli/arrival_args.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/scenario_args.h"
#include "cs/scenario.h"
#include "cs/units.h"
#include "traces/calibration_json.h"
#include "traces/skew_text.h"
#include "whatif/execution.h"
#include "whatif/failures.h"
#include "whatif/nic.h"
#include "whatif/whatif.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 64, LIST_BYTES = 1024 };

/* What was chosen beside the configuration. Texts are borrowed from the command line. */
typedef struct replay_choice {
    const char *algorithms, *baseline;
    const char *sizes; /* NULL: as in the trace; near 1 GiB */
    const char *calibration;
} replay_choice;

typedef struct trace_choice {
    cs_arrival_choice arrivals;
    double            period_s;     /* 0: as in the trace */
    double            agreement_s;  /* 0 */
    bool              is_execution; /* the paths have execution traces */
} trace_choice;

typedef struct execution_choice {
    const char *groups;
} execution_choice;

typedef struct nic_choice {
    const char *topology;
    uint32_t    n_ranks; /* 0: as in the calibration */
} nic_choice;

typedef struct whatif_job {
    cs_config_choice config;
    replay_choice    replay;
    trace_choice     trace;
    execution_choice execution;
    nic_choice       nic;
    /* The last ones given that belong to arrivals, to an execution trace, to NICs, and to any. */
    const char      *trace_option, *execution_option, *nic_option, *replay_option;
    const char      *output;
    cs_result_format format;
    bool             is_quiet;
} whatif_job;

#define PRESET     "timers.preset"
#define MAX_TIME_S 1e9

/* clang-format off */
#define KEY(letter, name, value, path, help) CS_ARG_KEY(letter, name, value, path, CS_SET_VALUE, NULL, help)
#define TIME(field, name, help, ...)                                                              \
    CS_ARG_NUMBER(trace_choice, field, 0, name, "T", help, .unit = CS_UNIT_TIME,        \
                  .max = MAX_TIME_S, __VA_ARGS__)
static const cs_arg replay_args[] = {
    CS_ARG_GROUP("cluster and schedules"),
    CS_ARG_TEXT(replay_choice, algorithms, 'a', "algorithm", "A[,B..]", "algorithms to replay (all that know the collective)"),
    CS_ARG_TEXT(replay_choice, sizes, 's', "bytes", "S[,S..]", "size of every call (as in the trace); of a collective on NICs, one or several (1G)"),
    CS_ARG_TEXT(replay_choice, baseline, 0, "baseline", "A", "what the savings are against (as of run); on NICs, what ran in the log"),
    CS_ARG_TEXT(replay_choice, calibration, 0, "calibration", "FILE", "alpha and bandwidth from 'collsim calibrate', or a log of nccl-tests"),
    KEY('g', "gpus-per-server", "G", "cluster.gpus_per_server", "GPUs that share a server and its NVLink (1; those of the topology)"),
    KEY('m', "model", "M", "model.name", "network model (alpha-beta)"),
    KEY(0, "nvlink-alpha", "T", "cluster.nvlink.alpha", "start-up time of a transfer over NVLink (1us)"),
    KEY(0, "nvlink-bandwidth", "R", "cluster.nvlink.bandwidth", "rate of an NVLink port (450GB/s)"),
    CS_ARG_KEY(0, "opt", "KEY=VALUE", "algorithm.options", CS_SET_BELOW, NULL, "option of the algorithms that have it (repeatable)"),
    CS_ARG_LAST_ROW,
};
static const cs_arg trace_args[] = {
    CS_ARG_GROUP("ranks that come late in a trace (and below: how it is read)"),
    {.name = "trace", .value = "FILE|FOLDER[,..]", .help = "arrivals (CSV, StragglAR, NCCL traces), or execution traces of Chakra; also .gz (repeatable)",
     .field = CS_ARG_LIST_FIELD(trace_choice, arrivals.paths, arrivals.n_paths, "trace")},
    TIME(period_s, "period", "time from call to call, for GPU-hours (as in the trace)", .is_above = true),
    TIME(agreement_s, "agreement", "what it costs to agree on who is late (0)", .min = 0),
    KEY(0, "alpha", "T", "cluster.nic.alpha", "start-up time of a transfer over the NICs (3us)"),
    KEY(0, "bandwidth", "R", "cluster.nic.bandwidth", "rate of a NIC port (450GB/s)"),
    CS_ARG_LAST_ROW,
};
static const cs_arg execution_args[] = {
    CS_ARG_GROUP("an iteration of an execution trace (--trace NAME.0.et,.. or a folder)"),
    CS_ARG_TEXT(execution_choice, groups, 0, "groups", "FILE", "ranks of its process groups: {\"1\": [0, 2], ..} (as the trace says)"),
    CS_ARG_KEY(0, "late", "RANK=TIME", "arrivals.late[]", CS_SET_PARTS, "rank=delay", "rank begins TIME after the first (repeatable)"),
#define CS_FAULT(kind, key, least, most, slowdown, help, option, letter, option_help)       \
    CS_ARG_KEY(0, option, "RANK=" letter "[@FROM[:UNTIL]]", "faults[]", CS_SET_PARTS, \
               "rank=" key "@from:until", option_help),
#include "scenario/faults.def"
#undef CS_FAULT
    CS_ARG_LAST_ROW,
};
static const cs_arg nic_args[] = {
    CS_ARG_GROUP("a NIC that fails"),
    CS_KILL_NIC_ROW,
#define CS_FAULT(kind, key, least, most, slowdown, help, option, letter, option_help) CS_SLOW_NIC_ROW(option, key, letter),
#include "scenario/faults.def"
#undef CS_FAULT
    CS_ARG_TEXT(nic_choice, topology, 0, "topology", "NAME|FILE", "the servers: a preset, NCCL's XML or nvidia-smi's matrix"),
    CS_ARG_NUMBER(nic_choice, n_ranks, 'n', "ranks", "N", "number of GPUs (those of the log)", .min = 2, .max = CS_MAX_RANKS),
    CS_ARG_LAST_ROW,
};
static const cs_arg whatif_args[] = {
    CS_ARG_GROUP("output"),
    CS_ARG_FORMAT(whatif_job, format, "how to print (table)"),
    CS_ARG_TEXT(whatif_job, output, 'o', "output", "FILE", "write it there instead of to standard output; FILE.json, .csv: so"),
    CS_ARG_GROUP("job"),
    CS_ARG_KEY(0, "preset", "default|nccl", PRESET, CS_SET_VALUE, NULL, "timers that the configuration does not set itself"),
    CS_CONFIG_SET_ROW,
    CS_QUIET_ROW(whatif_job, is_quiet),
    CS_ARG_OPERAND(whatif_job, config.path, "configuration"),
    CS_ARG_LAST_ROW,
};
#define PART(args_, field_, option_) \
    {(args_), offsetof(whatif_job, field_), offsetof(whatif_job, config), offsetof(whatif_job, option_)}
static const cs_arg_table whatif_tables[] = {
    {whatif_args, 0, offsetof(whatif_job, config), CS_NOWHERE},
    PART(nic_args, nic, nic_option), PART(replay_args, replay, replay_option),
    PART(trace_args, trace, trace_option), PART(execution_args, execution, execution_option), PART(cs_arrival_args, trace.arrivals, trace_option),
    {.args = NULL}};
/* clang-format on */

static bool wants_trace(const whatif_job *j)
{
    return j->trace.arrivals.n_paths > 0;
}

static bool wants_nics(const whatif_job *j)
{
    return cs_config_choice_has(&j->config, "faults[]");
}

/* Options that an iteration of an execution trace does not take. */
static cs_status check_execution_args(const whatif_job *j, cs_error *err)
{
    const cs_arrival_options *o    = &j->trace.arrivals.options;
    const char               *what = o->sets_warmup            ? "--warmup"
                                     : o->skip_incomplete      ? "--skip-incomplete"
                                     : o->category != NULL     ? "--category"
                                     : o->group != NULL        ? "--group"
                                     : o->collective != NULL   ? "--collective"
                                     : j->trace.period_s > 0   ? "--period"
                                     : j->replay.sizes != NULL ? "--bytes"
                                                               : NULL;

    if (what != NULL) {
        return CS_FAIL(err, CS_EINVAL, what, "belongs to arrivals, and %s is an execution trace",
                       j->trace.arrivals.paths[0]);
    }
    return CS_OK;
}

/* Options that belong to another question than the one that is asked. */
static cs_status check_args(const whatif_job *j, cs_error *err)
{
    if (j->trace.is_execution) {
        return check_execution_args(j, err);
    }
    if (j->execution_option != NULL) {
        return CS_FAIL(err, CS_EINVAL, j->execution_option,
                       "belongs to an iteration: --trace with a Chakra execution trace");
    }
    if (j->trace_option != NULL && !wants_trace(j)) {
        return CS_FAIL(err, CS_EINVAL, j->trace_option,
                       "belongs to a trace of arrivals: --trace FILE");
    }
    if (j->nic_option != NULL && !wants_nics(j)) {
        return CS_FAIL(err, CS_EINVAL, j->nic_option,
                       "belongs to NICs that fail: --kill-nic or --slow-nic");
    }
    if (wants_nics(j) && wants_trace(j)) {
        return CS_FAIL(err, CS_EINVAL, "--trace", "arrivals and NICs that fail are two questions");
    }
    if (j->replay_option != NULL && !wants_nics(j) && !wants_trace(j)) {
        return CS_FAIL(err, CS_EINVAL, j->replay_option,
                       "belongs to a trace of arrivals, --trace FILE, or to NICs that fail, "
                       "--kill-nic and --slow-nic");
    }
    if ((wants_nics(j) || wants_trace(j)) && cs_config_choice_has(&j->config, PRESET)) {
        return CS_FAIL(err, CS_EINVAL, "--preset", "belongs to a job, not to %s",
                       wants_nics(j) ? "NICs that fail before a call" : "--trace");
    }
    if (wants_nics(j) && j->config.path != NULL) {
        return CS_FAIL(err, CS_EINVAL, j->config.path,
                       "NICs that fail take no configuration: --topology and --calibration say "
                       "what the machine is");
    }
    if (!wants_nics(j) && !wants_trace(j) && j->config.path == NULL) {
        return CS_FAIL(
            err, CS_EINVAL, "whatif",
            "needs a configuration, a trace or a NIC: whatif CONFIG.json, whatif "
            "--trace FILE, whatif --kill-nic SERVER.NIC --topology NAME --calibration FILE");
    }
    return CS_OK;
}

/* Names with commas between them, cut in place. */
static cs_status split(char *list, const char *text, const char *option, const char **names,
                       size_t *n_p, cs_error *err)
{
    size_t length = strlen(text);

    if (length >= LIST_BYTES) {
        return CS_FAIL(err, CS_EINVAL, option, "the list is too long");
    }
    memcpy(list, text, length + 1);
    for (char *at = list; at != NULL;) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (*at == '\0' || *n_p == MAX_NAMES) {
            return CS_FAIL(err, CS_EINVAL, option, "'%.80s' is not a list of up to %d %s", text,
                           MAX_NAMES, strcmp(option, "--bytes") == 0 ? "sizes" : "names");
        }
        names[(*n_p)++] = at;
        at              = comma != NULL ? comma + 1 : NULL;
    }
    return CS_OK;
}

/* The names of --algorithm; none where it is not given, or "all". */
static cs_status read_names(const replay_choice *choice, char *list, const char **names,
                            size_t *n_p, cs_error *err)
{
    return choice->algorithms != NULL && strcmp(choice->algorithms, "all") != 0
               ? split(list, choice->algorithms, "--algorithm", names, n_p, err)
               : CS_OK;
}

/* The sizes of --bytes; none where it is not given. */
static cs_status read_sizes(const replay_choice *choice, uint64_t sizes[MAX_NAMES], size_t *n_p,
                            cs_error *err)
{
    char        list[LIST_BYTES];
    const char *words[MAX_NAMES];

    *n_p = 0;
    if (choice->sizes == NULL) {
        return CS_OK;
    }
    CS_TRY(split(list, choice->sizes, "--bytes", words, n_p, err));
    for (size_t i = 0; i < *n_p; i++) {
        CS_TRY(cs_parse_bytes(words[i], &sizes[i], "--bytes", err));
        if (sizes[i] < 1 || sizes[i] > CS_MAX_BYTES) {
            return CS_FAIL(err, CS_EINVAL, "--bytes", "%s: accepted are 1 to %llu", words[i],
                           (unsigned long long)CS_MAX_BYTES);
        }
    }
    return CS_OK;
}

/* A trace and what came out of it; owned. */
typedef struct replayed {
    cs_arrival_trace trace;
    cs_arrival_notes notes;
    cs_trace_report  report;
} replayed;

static cs_status replay(const whatif_job *j, cs_config *config, replayed *r, cs_error *err)
{
    const trace_choice *choice = &j->trace;
    char                list[LIST_BYTES];
    const char         *names[MAX_NAMES];
    uint64_t            sizes[MAX_NAMES];
    size_t              n_names = 0, n_sizes = 0;
    const cs_value      collective = {.type = CS_VALUE_TEXT,
                                      .text = choice->arrivals.options.collective};

    if (collective.text != NULL) {
        CS_TRY(cs_config_put(config, "collective", &collective, "--collective", err));
    }
    if (j->replay.calibration != NULL) {
        const cs_value file = {.type = CS_VALUE_TEXT, .text = j->replay.calibration};
        CS_TRY(cs_config_put(config, "calibration", &file, "--calibration", err));
    }
    cs_config_say_notes(config);
    CS_TRY(cs_config_refuse_training(config, err));
    CS_TRY(read_names(&j->replay, list, names, &n_names, err));
    CS_TRY(read_sizes(&j->replay, sizes, &n_sizes, err));
    if (n_sizes > 1) {
        return CS_FAIL(err, CS_EINVAL, "--bytes", "a trace takes one size for all calls");
    }
    CS_TRY(cs_arrival_files_load(choice->arrivals.paths, choice->arrivals.n_paths,
                                 &choice->arrivals.options, &r->trace, &r->notes, err));
    const cs_trace_options options = {.algorithms   = n_names > 0 ? names : NULL,
                                      .n_algorithms = n_names,
                                      .baseline     = j->replay.baseline,
                                      .bytes        = n_sizes > 0 ? sizes[0] : 0,
                                      .period_s     = choice->period_s > 0 ? choice->period_s
                                                                           : r->notes.period_s,
                                      .agreement_s  = choice->agreement_s,
                                      .listener     = cs_cli_listener};
    cs_cli_progress_begin("whatif", j->is_quiet);
    cs_status status = cs_trace_whatif(config, &r->trace, &options, &r->report, err);
    cs_cli_progress_end();
    return status;
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
    cs_status status = replay(j, config, &r, err);

    if (status == CS_OK) {
        print(&r, j->format, text);
    }
    cs_trace_report_free(&r.report);
    cs_arrival_notes_free(&r.notes);
    cs_arrival_trace_free(&r.trace);
    return status;
}

/* ---- an iteration of an execution trace ---- */

/* Options that are no keys where NICs fail, and are here. */
static cs_status set_cluster(const whatif_job *j, cs_config *config, cs_error *err)
{
    const cs_setting topology = {.path = "cluster.topology", .form = CS_SET_NAME};
    const cs_value   ranks    = {.type = CS_VALUE_WHOLE, .whole = j->nic.n_ranks};
    const cs_value   file     = {.type = CS_VALUE_TEXT, .text = j->replay.calibration};

    if (j->nic.topology != NULL) {
        CS_TRY(cs_config_apply(config, &topology, j->nic.topology, "--topology", err));
    }
    if (j->nic.n_ranks > 0) {
        CS_TRY(cs_config_put(config, "cluster.ranks", &ranks, "--ranks", err));
    }
    return file.text != NULL ? cs_config_put(config, "calibration", &file, "--calibration", err)
                             : CS_OK;
}

static cs_status answer_execution(const whatif_job *j, cs_config *config, cs_text *text,
                                  cs_error *err)
{
    char                 list[LIST_BYTES];
    const char          *names[MAX_NAMES];
    cs_execution_report  report  = {0};
    cs_execution_options options = {.paths       = j->trace.arrivals.paths,
                                    .n_paths     = j->trace.arrivals.n_paths,
                                    .groups_path = j->execution.groups,
                                    .baseline    = j->replay.baseline,
                                    .agreement_s = j->trace.agreement_s,
                                    .listener    = cs_cli_listener};

    CS_TRY(read_names(&j->replay, list, names, &options.n_algorithms, err));
    options.algorithms = options.n_algorithms > 0 ? names : NULL;
    CS_TRY(set_cluster(j, config, err));
    cs_config_say_notes(config);
    CS_TRY(cs_config_refuse_training(config, err));
    cs_cli_progress_begin("whatif", j->is_quiet);
    cs_status status = cs_execution_whatif(config, &options, &report, err);
    cs_cli_progress_end();
    CS_TRY(status);
    switch (j->format) {
    case CS_AS_TABLE: cs_execution_table(&report, text); break;
    case CS_AS_JSON: cs_execution_json(&report, text); break;
    case CS_AS_CSV: cs_execution_csv(&report, text); break;
    }
    cs_execution_report_free(&report);
    return CS_OK;
}

/* ---- faults in time ---- */

/* The faults that the configuration names, at their times. */
static cs_status answer_named(const cs_whatif_job *job, cs_result_format format, cs_text *text,
                              cs_error *err)
{
    cs_whatif_report report = {0};

    CS_TRY(cs_whatif_run(job, &report, err));
    switch (format) {
    case CS_AS_TABLE: cs_whatif_table(job, &report, text); break;
    case CS_AS_JSON: cs_whatif_json(job, &report, text); break;
    case CS_AS_CSV: cs_whatif_csv(job, &report, text); break;
    }
    cs_whatif_free(&report);
    return CS_OK;
}

/* Failures at random, or as they were recorded. */
static cs_status answer_failures(const cs_whatif_job *job, cs_result_format format, cs_text *text,
                                 cs_error *err)
{
    cs_failure_report report = {0};

    CS_TRY(cs_failures_run(job, cs_processors(), &report, err));
    switch (format) {
    case CS_AS_TABLE: cs_failures_table(job, &report, text); break;
    case CS_AS_JSON: cs_failures_json(job, &report, text); break;
    case CS_AS_CSV: cs_failures_csv(job, &report, text); break;
    }
    cs_failure_report_free(&report);
    return CS_OK;
}

static cs_status answer_faults(const whatif_job *j, const cs_config *config, cs_text *text,
                               cs_error *err)
{
    cs_whatif_job job = {0};

    cs_config_say_notes(config);
    CS_TRY(cs_whatif_read(config, &job, err));
    job.listener = cs_cli_listener;
    cs_cli_progress_begin("whatif", j->is_quiet);
    cs_status status = job.failures.is_there ? answer_failures(&job, j->format, text, err)
                                             : answer_named(&job, j->format, text, err);
    cs_cli_progress_end();
    cs_whatif_job_free(&job);
    return status;
}

/* ---- NICs that fail ---- */

static cs_status check_nics(const whatif_job *j, cs_error *err)
{
    if (j->nic.topology == NULL || j->replay.calibration == NULL) {
        return CS_FAIL(err, CS_EINVAL, j->nic.topology == NULL ? "--topology" : "--calibration",
                       "is missing: a NIC that fails needs --topology NAME|FILE, the servers, and "
                       "--calibration FILE, a log of nccl-tests from before");
    }
    return CS_OK;
}

/* 1 GiB, or the nearest size that was measured. */
static uint64_t usual_size(const cs_calibration *c)
{
    const uint64_t usual = (uint64_t)1 << 30;

    if (c->levels != NULL) {
        return usual;
    }
    const uint64_t least = c->regimes[0].min_bytes, most = c->regimes[c->n_regimes - 1].max_bytes;
    return usual < least ? least : usual > most ? most : usual;
}

/* Answer for every size; what is not calibrated for one of several is said of that. */
static cs_status ask_nics(cs_nic_question *q, const uint64_t *sizes, size_t n_sizes,
                          cs_nic_report *reports, size_t *n_p, cs_error *err)
{
    cs_error first = {0};

    for (size_t i = 0; i < n_sizes; i++) {
        cs_error wrong   = {0};
        q->bytes         = sizes[i];
        cs_status status = cs_nic_answer(q, &reports[*n_p], &wrong);
        char      reason[512];
        if (status == CS_OK) {
            (*n_p)++;
        } else if (status != CS_ENOTSUP) {
            *err = wrong;
            return status;
        } else if (n_sizes > 1) {
            cs_error_reason(&wrong, reason, sizeof reason);
            fprintf(stderr, "collsim: note: size %llu: %s\n", (unsigned long long)sizes[i], reason);
        }
        if (first.status == CS_OK) {
            first = wrong;
        }
    }
    if (*n_p == 0) {
        *err = first;
        return first.status;
    }
    return CS_OK;
}

static void print_nics(const cs_nic_report *reports, size_t n, cs_result_format format,
                       cs_text *text)
{
    switch (format) {
    case CS_AS_TABLE: cs_nic_table(reports, n, text); break;
    case CS_AS_JSON: cs_nic_json(reports, n, text); break;
    case CS_AS_CSV: cs_nic_csv(reports, n, text); break;
    }
}

static cs_status answer_question(const whatif_job *j, cs_nic_question *q, cs_text *text,
                                 cs_error *err)
{
    cs_nic_report reports[MAX_NAMES] = {0};
    uint64_t      sizes[MAX_NAMES];
    size_t        n = 0, n_sizes = 0;

    CS_TRY(read_sizes(&j->replay, sizes, &n_sizes, err));
    if (n_sizes == 0) {
        sizes[n_sizes++] = usual_size(q->calibration);
    }
    cs_status status = ask_nics(q, sizes, n_sizes, reports, &n, err);
    if (status == CS_OK) {
        print_nics(reports, n, j->format, text);
    }
    for (size_t i = 0; i < n; i++) {
        cs_nic_report_free(&reports[i]);
    }
    return status;
}

static cs_status answer_nics(const whatif_job *j, const cs_config *config, cs_text *text,
                             cs_error *err)
{
    char            list[LIST_BYTES];
    const char     *names[MAX_NAMES];
    cs_calibration *calibration = NULL;
    cs_nic_question q           = {.config   = config,
                                   .topology = j->nic.topology,
                                   .n_ranks  = j->nic.n_ranks,
                                   .baseline = j->replay.baseline};

    CS_TRY(check_nics(j, err));
    CS_TRY(read_names(&j->replay, list, names, &q.n_algorithms, err));
    q.algorithms = q.n_algorithms > 0 ? names : NULL;
    cs_config_say_notes(config);
    CS_TRY(cs_calibration_load(j->replay.calibration, &calibration, err));
    q.calibration    = calibration;
    cs_status status = answer_question(j, &q, text, err);
    cs_calibration_free(calibration);
    return status;
}

/* Is there an execution trace at the path, or should be: NAME.et? */
static bool is_execution(const char *path)
{
    size_t length = strcspn(path, ",");
    bool   is_et  = length > 3 && strncmp(path + length - 3, ".et", 3) == 0;

    return is_et || (length > 6 && strncmp(path + length - 6, ".et.gz", 6) == 0) ||
           cs_execution_trace_is(path);
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    whatif_job *j      = job;
    cs_config  *config = NULL;

    j->trace.is_execution = wants_trace(j) && is_execution(j->trace.arrivals.paths[0]);
    CS_TRY(check_args(j, err));
    cs_status status = load(j, &config, err);
    if (status == CS_OK) {
        status = j->trace.is_execution ? answer_execution(j, config, text, err)
                 : wants_nics(j)       ? answer_nics(j, config, text, err)
                 : wants_trace(j)      ? answer_trace(j, config, text, err)
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
    .name  = "whatif",
    .usage = "whatif CONFIG.json [options] | whatif --trace FILE [CONFIG.json] [options] | whatif "
             "--kill-nic SERVER.NIC --topology NAME|FILE --calibration FILE [options]",
    .summary  = "what a job loses to failing NICs or late ranks; how long a traced iteration takes",
    .tables   = whatif_tables,
    .examples = {"collsim whatif --trace traces/generated-stragglar4.log",
                 "collsim whatif configs/whatif-half-nic.json"},
    .run      = whatif_run,
};
