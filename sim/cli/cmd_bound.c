/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim bound: every lower bound of a scenario. */
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "output/bound_rows.h"

typedef struct bound_job {
    cs_scenario_choice choice;
    int                format;
    cs_text           *text;
} bound_job;

/* clang-format off */
static const cs_arg bound_args[] = {
    CS_ARG_CHOICE(bound_job, format, 0, "format", "table|json", "how to print (table)"),
    CS_ARG_OPERAND(bound_job, choice.given.path, "configuration"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table bound_tables[] = {
    CS_SCENARIO_TABLE(bound_job, choice), {bound_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static cs_status add_case(void *job, cs_case *c, cs_error *err)
{
    const bound_job *j = job;
    return cs_bound_rows(j->text, &c->job, (cs_bound_format)j->format, err);
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    bound_job *j = job;

    j->text = text;
    return cs_scenario_choice_run(&j->choice, j->format == CS_BOUND_JSON, add_case, j, err);
}

static int bound_run(int count, char *const *words)
{
    bound_job j = {0};
    return cs_cli_answer(&cs_command_bound, count, words, answer, &j);
}

const cs_command cs_command_bound = {
    .name    = "bound",
    .usage   = "bound [CONFIG.json] [options]",
    .summary = "every lower bound of a scenario",
    .tables  = bound_tables,
    .run     = bound_run,
};
