/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim critical: how late a rank must be for an algorithm that presumes it late. */
#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "output/delay_rows.h"
#include "scenario/late_prediction.h"

#include <stdio.h>
#include <string.h>

enum { MOST_ALGORITHMS = 64 };

typedef struct critical_job {
    cs_scenario_choice choice;
    const char        *against, *output_path;
    cs_result_format   format;
    cs_delays_choice   delays;
    cs_sweep_columns  *columns; /* owned */
    cs_delay_row      *rows;    /* owned, as are ... */
    cs_value          *values;  /* ... [n_rows] times the columns of the sweep */
    size_t             n_rows, row_capacity, value_capacity;
} critical_job;

/* clang-format off */
static const cs_arg critical_args[] = {
    CS_ARG_GROUP("against what"),
    CS_ARG_TEXT(critical_job, against, 0, "against", "ALGORITHM|best", "what it has to be faster than; best: the fastest of the plain ones (ring; best over servers of several GPUs)"),
    CS_ARG_GROUP("output"),
    CS_ARG_FORMAT(critical_job, format, "how to print (table)"),
    CS_ARG_TEXT(critical_job, output_path, 'o', "output", "FILE", "write the rows there instead of printing them; FILE.json, .csv: so"),
    CS_ARG_OPERAND(critical_job, choice.given.path, "configuration"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table critical_tables[] = {
    CS_SCENARIO_TABLE(critical_job, choice), {critical_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static bool presumes(const cs_algorithm *algorithm)
{
    return cs_late_prediction_of(algorithm, CS_PREDICTION_ORACLE).straggler != NULL;
}

/* Is there an algorithm that presumes a rank late in this collective? */
static bool is_presumed_in(cs_collective collective)
{
    bool is_done = false;

    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        uint32_t does = cs_algorithms[i]->collectives & 1u << collective;
        is_done       = is_done || (does != 0 && presumes(cs_algorithms[i]));
    }
    return is_done;
}

static cs_status refuse_collective(cs_collective collective, cs_error *err)
{
    char names[128] = "";

    for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
        size_t used = strlen(names);
        if (is_presumed_in((cs_collective)c)) {
            (void)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                           cs_collective_name((cs_collective)c));
        }
    }
    return CS_FAIL(err, CS_ENOTSUP, "collective",
                   "no algorithm presumes a rank late in %s: accepted is %s",
                   cs_collective_name(collective), names);
}

static cs_status refuse(const cs_job *job, cs_error *err)
{
    char names[256] = "";

    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        size_t used = strlen(names);
        if (presumes(cs_algorithms[i])) {
            (void)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                           cs_algorithms[i]->name);
        }
    }
    return presumes(job->algorithm)
               ? CS_FAIL(err, CS_ENOTSUP, "algorithm.options.late_ranks",
                         "0: nobody is presumed late, so that no delay is critical")
               : CS_FAIL(err, CS_ENOTSUP, "algorithm.name",
                         "%s presumes no rank late, so that no delay is critical: accepted are %s",
                         job->algorithm->name, names);
}

/* Where the row says what the sweep has made of its scenario. */
static cs_status add_row(critical_job *j, const cs_delay_row *row, cs_error *err)
{
    size_t n_columns = 0;

    if (j->columns == NULL) {
        CS_TRY(cs_sweep_columns_open(j->choice.config, cs_delay_columns, &j->columns, err));
    }
    (void)cs_sweep_columns_names(j->columns, &n_columns);
    if (!cs_grow(&j->rows, &j->row_capacity, j->n_rows + 1, 64, sizeof *j->rows) ||
        !cs_grow(&j->values, &j->value_capacity, (j->n_rows + 1) * n_columns + 1, 64,
                 sizeof *j->values)) {
        return CS_NO_MEMORY(err, "%zu rows", j->n_rows + 1);
    }
    j->rows[j->n_rows] = *row;
    cs_sweep_columns_row(j->columns, j->choice.index, j->values + j->n_rows * n_columns);
    j->n_rows++;
    return CS_OK;
}

static cs_status add_case(void *user, cs_case *c, cs_error *err)
{
    critical_job *j     = user;
    cs_job        asked = c->job;
    cs_delays     found;

    if (!is_presumed_in(asked.scenario.collective)) {
        return refuse_collective(asked.scenario.collective, err);
    }
    if (cs_late_count(asked.algorithm, &asked.options) == 0) {
        return refuse(&asked, err);
    }
    if (j->delays.against == asked.algorithm) {
        return CS_FAIL(err, CS_EINVAL, "--against",
                       "%s is never faster than itself: accepted are other algorithms and best",
                       asked.algorithm->name);
    }
    CS_TRY(cs_job_delays(&asked, &j->delays, &found, err));
    const cs_delay_row row = cs_delay_row_of(&asked, &found);
    return add_row(j, &row, err);
}

/* Where no algorithm is named: all that presume somebody late, but for the reference. */
static cs_status name_algorithms(cs_config *config, const cs_algorithm *against, cs_error *err)
{
    cs_value names[MOST_ALGORITHMS];
    size_t   n = 0;

    for (size_t i = 0; cs_algorithms[i] != NULL && n < MOST_ALGORITHMS; i++) {
        if (presumes(cs_algorithms[i]) && cs_algorithms[i] != against) {
            names[n++] = (cs_value){.type = CS_VALUE_TEXT, .text = cs_algorithms[i]->name};
        }
    }
    return cs_config_sweep_put(config, "algorithm.name", names, n, "critical", err);
}

static cs_status read_reference(critical_job *j, cs_error *err)
{
    cs_error wrong = {0};

    if (j->against == NULL) {
        return CS_OK;
    }
    j->delays.is_against_best = strcmp(j->against, "best") == 0;
    if (j->delays.is_against_best) {
        return CS_OK;
    }
    return cs_algorithm_find(j->against, &j->delays.against, &wrong) == CS_OK
               ? CS_OK
               : CS_FAIL(err, wrong.status, "--against", "%s", wrong.message);
}

static void print(const critical_job *j, cs_text *text)
{
    cs_extra_columns extra = {.values = j->values};

    if (j->columns != NULL) {
        extra.names = cs_sweep_columns_names(j->columns, &extra.n_columns);
    }
    switch (j->format) {
    case CS_AS_JSON: cs_delay_rows_json(text, j->rows, j->n_rows, &extra); break;
    case CS_AS_CSV: cs_delay_rows_csv(text, j->rows, j->n_rows, &extra); break;
    case CS_AS_TABLE: cs_delay_rows_table(text, j->rows, j->n_rows); break;
    }
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    critical_job *j      = job;
    cs_status     status = read_reference(j, err);

    if (status == CS_OK) {
        status = cs_scenario_choice_finish(&j->choice, err);
    }
    if (status == CS_OK && !cs_config_names_algorithm(j->choice.config)) {
        status = name_algorithms(j->choice.config, j->delays.against, err);
    }
    if (status == CS_OK) {
        status = cs_scenario_choice_visit(&j->choice, add_case, j, err);
    }
    if (status == CS_OK) {
        print(j, text);
        status = cs_cli_write_output(j->output_path, text, err);
    }
    cs_sweep_columns_close(j->columns);
    cs_free(j->rows);
    cs_free(j->values);
    cs_scenario_choice_free(&j->choice);
    return status;
}

static int critical_run(int count, char *const *words)
{
    critical_job j = {.against = NULL};
    return cs_cli_answer(&cs_command_critical, count, words, answer, &j);
}

const cs_command cs_command_critical = {
    .name     = "critical",
    .usage    = "critical [CONFIG.json] [options]",
    .summary  = "from which delay of a rank on it pays to presume it late",
    .tables   = critical_tables,
    .examples = {"collsim critical -n 8,64 -s 64M,1G",
                 "collsim critical -a stragglar -n 8:64:x2 -s 1G --against best"},
    .run      = critical_run,
};
