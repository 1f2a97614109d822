/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim schedule: print or export the schedule of an algorithm. */
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "schedules/export.h"

typedef struct schedule_job {
    cs_scenario_choice choice;
    cs_export_format   format;
    const char        *output_path, *algorithm;
} schedule_job;

/* clang-format off */
static const cs_arg schedule_args[] = {
    CS_ARG_GROUP("output"),
    CS_ARG_CHOICE(schedule_job, format, 0, "format", CS_EXPORT_CHOICES, "how to write it (text); verify and run --schedule read json, msccl and mscclpp"),
    CS_ARG_TEXT(schedule_job, output_path, 'o', "output", "FILE", "write it there instead of printing it"),
    {.name = "algorithm", .is_operand = true,
     .field = {.name = "algorithm", .type = CS_FIELD_TEXT, .offset = offsetof(schedule_job, algorithm)},
     .sets = {.path = "algorithm.name", .form = CS_SET_LIST}},
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table schedule_tables[] = {
    CS_SCENARIO_TABLE(schedule_job, choice),
    {schedule_args, 0, offsetof(schedule_job, choice.given), CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static cs_status export_case(schedule_job *j, cs_text *text, cs_error *err)
{
    cs_case c = {0};

    if (cs_config_count(j->choice.config) != 1) {
        return CS_FAIL(err, CS_EINVAL, "schedule", "needs exactly one scenario, not %zu",
                       cs_config_count(j->choice.config));
    }
    cs_status status = cs_config_case(j->choice.config, 0, &c, err);
    if (status == CS_OK) {
        status = cs_job_resolve(&c.job, err);
    }
    if (status == CS_OK) {
        status = cs_export_schedule(&c.job, j->format, text, err);
    }
    cs_job_release(&c.job);
    cs_case_free(&c);
    return status;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    schedule_job *j      = job;
    cs_status     status = CS_OK;

    if (!cs_config_choice_has(&j->choice.given, "algorithm.name")) {
        return CS_FAIL(err, CS_EINVAL, "schedule", "needs an algorithm: schedule ring -n 8");
    }
    status = cs_scenario_choice_finish(&j->choice, err);
    if (status == CS_OK) {
        status = export_case(j, text, err);
    }
    cs_scenario_choice_free(&j->choice);
    return status == CS_OK ? cs_cli_write_output(j->output_path, text, err) : status;
}

static int schedule_run(int count, char *const *words)
{
    schedule_job j = {0};
    return cs_cli_answer(&cs_command_schedule, count, words, answer, &j);
}

const cs_command cs_command_schedule = {
    .name     = "schedule",
    .usage    = "schedule ALGORITHM [options]",
    .summary  = "print, export or draw a schedule: text, json, MSCCL XML, MSCCL++ plan, GOAL, SVG",
    .tables   = schedule_tables,
    .examples = {"collsim schedule ring -n 4",
                 "collsim schedule rhd -n 8 --format msccl -o rhd.xml"},
    .run      = schedule_run,
};
