/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim schedule: print or export the schedule of an algorithm. */
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "results/export.h"

#define FORMATS "text|json|msccl|goal|svg"

enum { FORMAT = CS_SCENARIO_ARG_LAST + 1, OUTPUT };

/* clang-format off */
static const cs_arg schedule_args[] = {
    {FORMAT, 0, "format", FORMATS, "how to write it (text)"},
    {OUTPUT, 'o', "output", "FILE", "write it there instead of printing it"},
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
/* clang-format on */

static const cs_arg *const schedule_tables[] = {cs_scenario_args, schedule_args, NULL};

typedef struct job {
    cs_scenario_choice choice;
    int                format;
    const char        *output_path, *algorithm;
    bool               wants_help;
} job;

static cs_status take_arg(job *j, int id, const cs_args *args, cs_error *err)
{
    switch (id) {
    case CS_ARG_ERROR: return err->status;
    case CS_ARG_HELP: j->wants_help = true; return CS_OK;
    case OUTPUT: j->output_path = args->value; return CS_OK;
    case FORMAT: return cs_cli_choice(args->value, FORMATS, "--format", &j->format, err);
    case CS_ARG_OPERAND:
        if (j->algorithm != NULL) {
            return CS_FAIL(err, CS_EINVAL, args->value, "only one algorithm is accepted");
        }
        j->algorithm         = args->value;
        j->choice.algorithms = args->value;
        return CS_OK;
    default: return cs_scenario_choice_add(&j->choice, id, args, err);
    }
}

static cs_status draw_case(const cs_case *c, cs_text *text, cs_error *err)
{
    const cs_run run = {.scenario      = &c->scenario,
                        .algorithm     = c->algorithm,
                        .options       = &c->options,
                        .model         = c->model,
                        .model_options = &c->model_options};
    return cs_export_svg(&run, text, err);
}

static cs_status write_case(cs_case *c, cs_export_format format, cs_text *text, cs_error *err)
{
    cs_plan   plan   = {0};
    cs_status status = c->algorithm->check(&c->scenario, &c->options, &plan, err);

    return status == CS_OK ? cs_export_schedule(&c->scenario, c->algorithm, &c->options, &plan,
                                                format, text, err)
                           : status;
}

static cs_status export_case(job *j, cs_text *text, cs_error *err)
{
    static const cs_export_format formats[] = {CS_EXPORT_TEXT, CS_EXPORT_JSON, CS_EXPORT_MSCCL,
                                               CS_EXPORT_GOAL};
    enum { SVG = sizeof formats / sizeof formats[0] };
    cs_case   c      = {0};
    cs_status status = CS_OK;

    if (cs_config_count(j->choice.config) != 1) {
        return CS_FAIL(err, CS_EINVAL, "schedule", "needs exactly one scenario, not %zu",
                       cs_config_count(j->choice.config));
    }
    status = cs_config_case(j->choice.config, 0, &c, err);
    if (status == CS_OK) {
        status = j->format == SVG ? draw_case(&c, text, err)
                                  : write_case(&c, formats[j->format], text, err);
    }
    cs_case_free(&c);
    return status;
}

static int schedule_run(int count, char *const *words)
{
    cs_args args = {
        .tables = {cs_scenario_args, schedule_args, NULL}, .count = count, .words = words};
    job       j      = {0};
    cs_error  err    = {0};
    cs_text   text   = {0};
    cs_status status = CS_OK;
    int       id;

    while (status == CS_OK && !j.wants_help && (id = cs_args_next(&args, &err)) != CS_ARG_END) {
        status = take_arg(&j, id, &args, &err);
    }
    if (status == CS_OK && j.wants_help) {
        return cs_cli_help(&cs_command_schedule, schedule_tables);
    }
    if (status == CS_OK && j.choice.algorithms == NULL) {
        status = CS_FAIL(&err, CS_EINVAL, "schedule", "needs an algorithm: schedule ring -n 8");
    }
    if (status == CS_OK) {
        status = cs_scenario_choice_finish(&j.choice, &err);
    }
    if (status == CS_OK) {
        status = export_case(&j, &text, &err);
    }
    if (status == CS_OK) {
        status = cs_cli_write(j.output_path, &text, &err);
    }
    cs_scenario_choice_free(&j.choice);
    cs_text_free(&text);
    return status == CS_OK ? CS_EXIT_DONE : cs_cli_fail(&err);
}

const cs_command cs_command_schedule = {
    .name    = "schedule",
    .usage   = "schedule ALGORITHM [options]",
    .summary = "print, export or draw a schedule: text, json, MSCCL XML, GOAL, SVG",
    .run     = schedule_run,
};
