/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim whatif: what a job of many iterations loses to failing NICs, policy by policy; with
 * --trace, what each algorithm would have saved on measured arrivals. */
#include "cli/cli.h"
#include "cli/config_args.h"
#include "cli/whatif_trace.h"
#include "whatif/whatif_text.h"

enum { FORMAT = 1, OUTPUT, PRESET, SET };
enum { TABLE, JSON };

/* clang-format off */
static const cs_arg whatif_args[] = {
    {FORMAT, 0, "format", "table|json|csv", "how to print (table)"},
    {OUTPUT, 'o', "output", "FILE", "write it there instead of to standard output"},
    {PRESET, 0, "preset", "default|nccl", "timers that the configuration does not set itself"},
    CS_CONFIG_SET_ROW(SET),
    CS_ARG_LAST_ROW,
};
/* clang-format on */

static const cs_arg *const whatif_tables[] = {whatif_args, cs_whatif_trace_args, cs_arrival_args,
                                              NULL};

typedef struct whatif_job {
    cs_config_choice       config;
    cs_whatif_trace_choice trace;
    const char            *output, *preset;
    int                    format;
} whatif_job;

static cs_status take_arg(void *job, int id, const cs_args *args, cs_error *err)
{
    whatif_job *j = job;

    if (cs_whatif_trace_arg_is(id)) {
        return cs_whatif_trace_add(&j->trace, id, args, err);
    }
    switch (id) {
    case OUTPUT: j->output = args->value; return CS_OK;
    case PRESET: j->preset = args->value; return CS_OK;
    case FORMAT: return cs_cli_choice(args->value, "table|json|csv", "--format", &j->format, err);
    case SET: return cs_config_choice_set(&j->config, args->value, err);
    default: return cs_config_choice_path(&j->config, args->value, err);
    }
}

static cs_status check_args(const whatif_job *j, cs_error *err)
{
    if (!cs_whatif_trace_is_wanted(&j->trace)) {
        if (cs_whatif_trace_option(&j->trace) != NULL) {
            return CS_FAIL(err, CS_EINVAL, cs_whatif_trace_option(&j->trace),
                           "belongs to a trace of arrivals: --trace FILE");
        }
        if (j->config.path == NULL) {
            return CS_FAIL(err, CS_EINVAL, "whatif",
                           "needs a configuration or a trace: whatif CONFIG.json, whatif --trace "
                           "FILE");
        }
    } else if (j->preset != NULL) {
        return CS_FAIL(err, CS_EINVAL, "--preset", "belongs to failing NICs, not to --trace");
    }
    return CS_OK;
}

/* The scenario of a trace: a configuration or the defaults, with every option. */
static cs_status answer_trace(const whatif_job *j, cs_text *text, cs_error *err)
{
    cs_config *config = NULL;
    cs_status  status = cs_config_choice_load(&j->config, &config, err);

    if (status == CS_OK) {
        status = cs_config_choice_apply(&j->config, config, err);
    }
    if (status == CS_OK) {
        status = cs_whatif_trace_answer(&j->trace, config, j->format, text, err);
    }
    cs_config_free(config);
    return status;
}

static cs_status load(const whatif_job *j, cs_whatif_job *job, cs_error *err)
{
    cs_config *config = NULL;
    cs_status  status = cs_config_choice_load(&j->config, &config, err);

    if (status == CS_OK && j->preset != NULL) {
        status = cs_config_set(config, "timers.preset", j->preset, "--preset", err);
    }
    if (status == CS_OK) {
        status = cs_config_choice_apply(&j->config, config, err);
    }
    if (status == CS_OK) {
        cs_config_say_notes(config);
        status = cs_whatif_read(config, job, err);
    }
    cs_config_free(config);
    return status;
}

static cs_status answer_faults(const whatif_job *j, cs_text *text, cs_error *err)
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
    return status;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    const whatif_job *j      = job;
    cs_status         status = check_args(j, err);

    if (status == CS_OK) {
        status = cs_whatif_trace_is_wanted(&j->trace) ? answer_trace(j, text, err)
                                                      : answer_faults(j, text, err);
    }
    return status == CS_OK ? cs_cli_write_output(j->output, text, err) : status;
}

static int whatif_run(int count, char *const *words)
{
    whatif_job j = {0};
    return cs_cli_answer(&cs_command_whatif, count, words, take_arg, answer, &j);
}

const cs_command cs_command_whatif = {
    .name    = "whatif",
    .usage   = "whatif CONFIG.json [options] | whatif --trace FILE [CONFIG.json] [options]",
    .summary = "what a job loses to failing NICs, or to ranks that come late in a trace",
    .tables  = whatif_tables,
    .run     = whatif_run,
};
