/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim whatif: what a job of many iterations loses to failing NICs, policy by policy; with
 * --trace, what each algorithm would have saved on measured arrivals. */
#include "cli/cli.h"
#include "cli/whatif_trace.h"
#include "whatif/whatif_text.h"

#include <string.h>

enum { FORMAT = 1, OUTPUT, PRESET, SET, MAX_SETS = 64, PATH_BYTES = 160 };
enum { TABLE, JSON };

/* clang-format off */
static const cs_arg whatif_args[] = {
    {FORMAT, 0, "format", "table|json|csv", "how to print (table)"},
    {OUTPUT, 'o', "output", "FILE", "write it there instead of to standard output"},
    {PRESET, 0, "preset", "default|nccl", "timers that the configuration does not set itself"},
    {SET, 0, "set", "PATH=JSON", "any key of the configuration (repeatable)"},
    CS_ARG_LAST_ROW,
};
/* clang-format on */

static const cs_arg *const whatif_tables[] = {whatif_args, cs_whatif_trace_args, cs_arrival_args,
                                              NULL};

typedef struct whatif_job {
    const char *config_path, *output, *preset, *sets[MAX_SETS];
    size_t      n_sets;
    int         format;
    bool        wants_help;

    cs_whatif_trace_choice trace;
} whatif_job;

static cs_status take_arg(whatif_job *j, int id, const cs_args *args, cs_error *err)
{
    if (cs_whatif_trace_arg_is(id)) {
        return cs_whatif_trace_add(&j->trace, id, args, err);
    }
    switch (id) {
    case CS_ARG_ERROR: return err->status;
    case CS_ARG_HELP: j->wants_help = true; return CS_OK;
    case OUTPUT: j->output = args->value; return CS_OK;
    case PRESET: j->preset = args->value; return CS_OK;
    case FORMAT: return cs_cli_choice(args->value, "table|json|csv", "--format", &j->format, err);
    case SET:
        if (j->n_sets == MAX_SETS) {
            return CS_FAIL(err, CS_EINVAL, "--set", "more than %d of them", MAX_SETS);
        }
        j->sets[j->n_sets++] = args->value;
        return CS_OK;
    default: break;
    }
    if (j->config_path != NULL) {
        return CS_FAIL(err, CS_EINVAL, args->value, "only one configuration is accepted");
    }
    j->config_path = args->value;
    return CS_OK;
}

static cs_status read_args(whatif_job *j, int count, char *const *words, cs_error *err)
{
    cs_args   args   = {.tables = {whatif_args, cs_whatif_trace_args, cs_arrival_args},
                        .count  = count,
                        .words  = words};
    cs_status status = CS_OK;
    int       id;

    while (status == CS_OK && !j->wants_help && (id = cs_args_next(&args, err)) != CS_ARG_END) {
        status = take_arg(j, id, &args, err);
    }
    if (status != CS_OK || j->wants_help) {
        return status;
    }
    if (!cs_whatif_trace_is_wanted(&j->trace)) {
        if (cs_whatif_trace_option(&j->trace) != NULL) {
            return CS_FAIL(err, CS_EINVAL, cs_whatif_trace_option(&j->trace),
                           "belongs to a trace of arrivals: --trace FILE");
        }
        if (j->config_path == NULL) {
            return CS_FAIL(err, CS_EINVAL, "whatif",
                           "needs a configuration or a trace: whatif CONFIG.json, whatif --trace "
                           "FILE");
        }
    } else if (j->preset != NULL) {
        return CS_FAIL(err, CS_EINVAL, "--preset", "belongs to failing NICs, not to --trace");
    }
    return CS_OK;
}

/* PATH=JSON */
static cs_status apply_set(cs_config *config, const char *text, cs_error *err)
{
    char        path[PATH_BYTES];
    const char *equals = strchr(text, '=');

    if (equals == NULL || (size_t)(equals - text) >= sizeof path) {
        return CS_FAIL(err, CS_EINVAL, "--set", "'%.60s' is not of the form PATH=JSON", text);
    }
    memcpy(path, text, (size_t)(equals - text));
    path[equals - text] = '\0';
    return cs_config_set(config, path, equals + 1, "--set", err);
}

/* The scenario of a trace: a configuration or the defaults, with every option. */
static cs_status answer_trace(const whatif_job *j, cs_text *text, cs_error *err)
{
    cs_config *config = NULL;
    cs_status  status = j->config_path != NULL ? cs_config_load(j->config_path, &config, err)
                                               : cs_config_new(&config, err);

    for (size_t i = 0; i < j->n_sets && status == CS_OK; i++) {
        status = apply_set(config, j->sets[i], err);
    }
    if (status == CS_OK) {
        status = cs_whatif_trace_answer(&j->trace, config, j->format, text, err);
    }
    cs_config_free(config);
    return status == CS_OK ? cs_cli_write(j->output, text, err) : status;
}

static cs_status load(const whatif_job *j, cs_whatif_job *job, cs_error *err)
{
    cs_config *config = NULL;
    cs_status  status = cs_config_load(j->config_path, &config, err);

    if (status == CS_OK && j->preset != NULL) {
        status = cs_config_set(config, "timers.preset", j->preset, "--preset", err);
    }
    for (size_t i = 0; i < j->n_sets && status == CS_OK; i++) {
        status = apply_set(config, j->sets[i], err);
    }
    if (status == CS_OK) {
        status = cs_whatif_read(config, job, err);
    }
    cs_config_free(config);
    return status;
}

static cs_status answer(const whatif_job *j, cs_text *text, cs_error *err)
{
    cs_whatif_job    job    = {0};
    cs_whatif_report report = {0};
    cs_status        status = load(j, &job, err);

    if (status == CS_OK) {
        status = cs_whatif_run(&job, &report, err);
    }
    if (status == CS_OK && j->format == TABLE) {
        cs_whatif_table(&job, &report, text);
    } else if (status == CS_OK && j->format == JSON) {
        cs_whatif_json(&job, &report, text);
    } else if (status == CS_OK) {
        cs_whatif_csv(&report, text);
    }
    cs_whatif_free(&report);
    cs_whatif_job_free(&job);
    return status == CS_OK ? cs_cli_write(j->output, text, err) : status;
}

static int whatif_run(int count, char *const *words)
{
    whatif_job j      = {0};
    cs_error   err    = {0};
    cs_text    text   = {0};
    cs_status  status = read_args(&j, count, words, &err);

    if (status == CS_OK && j.wants_help) {
        return cs_cli_help(&cs_command_whatif, whatif_tables);
    }
    if (status == CS_OK) {
        status = cs_whatif_trace_is_wanted(&j.trace) ? answer_trace(&j, &text, &err)
                                                     : answer(&j, &text, &err);
    }
    cs_text_free(&text);
    return status == CS_OK ? CS_EXIT_DONE : cs_cli_fail(&err);
}

const cs_command cs_command_whatif = {
    .name    = "whatif",
    .usage   = "whatif CONFIG.json [options] | whatif --trace FILE [CONFIG.json] [options]",
    .summary = "what a job loses to failing NICs, or to ranks that come late in a trace",
    .run     = whatif_run,
};
