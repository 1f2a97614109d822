/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim bound: every lower bound of a scenario. */
#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "output/bound_rows.h"

typedef struct bound_job {
    cs_scenario_choice choice;
    cs_result_format   format;
    const char        *output;
    cs_text           *text;
    cs_sweep_columns  *columns; /* of CSV; owned */
    cs_value          *values;  /* of one row; owned */
} bound_job;

/* clang-format off */
static const cs_arg bound_args[] = {
    CS_ARG_GROUP("output"),
    CS_ARG_FORMAT(bound_job, format, "how to print (table); csv: a row for each bound and scenario"),
    CS_ARG_TEXT(bound_job, output, 'o', "output", "FILE", "write there instead of standard output; FILE.json, .csv: so"),
    CS_ARG_OPERAND(bound_job, choice.given.path, "configuration"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table bound_tables[] = {
    CS_SCENARIO_TABLE(bound_job, choice), {bound_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static cs_status open_csv(bound_job *j, cs_extra_columns *extra, cs_error *err)
{
    CS_TRY(cs_sweep_columns_open(j->choice.config, cs_bound_columns, &j->columns, err));
    extra->names = cs_sweep_columns_names(j->columns, &extra->n_columns);
    j->values    = CS_NEW(cs_value, extra->n_columns + 1);
    if (j->values == NULL) {
        return CS_NO_MEMORY(err, "columns of a sweep");
    }
    cs_bound_csv_keys(j->text, extra);
    return CS_OK;
}

static cs_status add_case(void *job, cs_case *c, cs_error *err)
{
    bound_job       *j     = job;
    cs_extra_columns extra = {0};

    if (j->format == CS_AS_CSV && j->columns == NULL) {
        CS_TRY(open_csv(j, &extra, err));
    }
    if (j->format == CS_AS_CSV) {
        extra.names  = cs_sweep_columns_names(j->columns, &extra.n_columns);
        extra.values = j->values;
        cs_sweep_columns_row(j->columns, j->choice.index, j->values);
    }
    return cs_bound_rows(j->text, &c->job, (cs_bound_format)j->format, &extra, 0, err);
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    bound_job *j = job;

    j->text = text;
    cs_status status =
        cs_scenario_choice_run(&j->choice, j->format == CS_AS_JSON, add_case, j, err);
    cs_sweep_columns_close(j->columns);
    cs_free(j->values);
    return status == CS_OK ? cs_cli_write_output(j->output, text, err) : status;
}

static int bound_run(int count, char *const *words)
{
    bound_job j = {0};
    return cs_cli_answer(&cs_command_bound, count, words, answer, &j);
}

const cs_command cs_command_bound = {
    .name     = "bound",
    .usage    = "bound [CONFIG.json] [options]",
    .summary  = "every lower bound of a scenario",
    .tables   = bound_tables,
    .examples = {"collsim bound -n 64 -s 1G --slow 0=2",
                 "collsim bound -n 8:64:x2 -s 1M,1G --late 7=1ms -o bounds.csv"},
    .run      = bound_run,
};
