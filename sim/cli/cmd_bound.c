/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim bound: every lower bound of a scenario. */
#include "base/column.h"
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "cs/job.h"

#include <math.h>

enum { FORMAT = CS_SCENARIO_ARG_LAST + 1 };

/* clang-format off */
static const cs_arg bound_args[] = {
    {FORMAT, 0, "format", "table|json", "how to print (table)"},
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
/* clang-format on */

static const cs_arg *const bound_tables[] = {cs_scenario_args, bound_args, NULL};

typedef struct bound_row {
    const char *name;
    double      bound_s;
    bool        is_general, is_best;
    const char *summary, *assumption, *source;
} bound_row;

static const cs_column bound_columns[] = {
    CS_COLUMN(bound_row, name),       CS_COLUMN(bound_row, bound_s),
    CS_COLUMN(bound_row, is_general), CS_COLUMN(bound_row, is_best),
    CS_COLUMN(bound_row, summary),    CS_COLUMN(bound_row, assumption),
    CS_COLUMN(bound_row, source),     CS_COLUMN_END,
};

static void add_json(cs_text *text, const bound_row *row)
{
    cs_json_next(text, "", "\n ");
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){bound_columns, row, false});
    cs_text_add(text, "}");
}

static void add_line(cs_text *text, const bound_row *row)
{
    cs_text_add(text, "%-18s %14.3f  %c  %s", row->name, row->bound_s * 1e6,
                row->is_best ? '*' : (row->is_general ? ' ' : '-'), row->summary);
    if (!row->is_general) {
        cs_text_add(text, " [%s]", row->assumption);
    }
    cs_text_add(text, "\n");
}

static void add_bounds(cs_text *text, const cs_bound_context *context, bool json)
{
    const char *best;

    cs_best_bound(context, &best);
    if (json) {
        cs_text_add(text, "[");
    } else {
        cs_text_add(text, "# %-16s %14s     (* the largest, - not for every schedule)\n", "bound",
                    "us");
    }
    for (size_t i = 0; cs_bounds[i] != NULL; i++) {
        const cs_bound *b   = cs_bounds[i];
        const bound_row row = {b->name,    b->seconds(context), b->is_general, b->name == best,
                               b->summary, b->assumption,       b->source};
        if (!isnan(row.bound_s)) {
            (json ? add_json : add_line)(text, &row);
        }
    }
    cs_text_add(text, "%s", json ? "]\n" : "");
}

typedef struct bound_job {
    cs_scenario_choice choice;
    int                format;
    cs_text           *text;
} bound_job;

/* What holds for the case's algorithm and model; where the algorithm does not do the collective,
 * for schedules whose transfers hold their ports, one at a time. */
static cs_status add_case(void *job, cs_case *c, cs_error *err)
{
    bound_job         *j       = job;
    const cs_scenario *s       = &c->job.scenario;
    bool               json    = j->format == 1;
    bool               does    = (c->job.algorithm->collectives & 1u << s->collective) != 0;
    cs_job             bounded = c->job;

    bounded.algorithm = does ? c->job.algorithm : NULL;
    cs_status status  = cs_job_resolve(&bounded, err);
    if (status == CS_OK && !json) {
        cs_text_add(j->text, "# %s, %u ranks, %llu bytes, for schedules %s%s on %s\n",
                    cs_collective_name(s->collective), s->cluster.n_ranks,
                    (unsigned long long)s->bytes,
                    does ? "like " : "with one transfer at a time on a port",
                    does ? c->job.algorithm->name : "", c->job.model->name);
    }
    if (status == CS_OK) {
        const cs_bound_context context = cs_job_bounds(&bounded);
        add_bounds(j->text, &context, json);
    }
    cs_job_release(&bounded);
    return status;
}

static cs_status take_arg(void *job, int id, const cs_args *args, cs_error *err)
{
    bound_job *j = job;

    return id == FORMAT ? cs_cli_choice(args->value, "table|json", "--format", &j->format, err)
                        : cs_scenario_choice_add(&j->choice, id, args, err);
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    bound_job *j = job;

    j->text = text;
    return cs_scenario_choice_run(&j->choice, j->format == 1, add_case, j, err);
}

static int bound_run(int count, char *const *words)
{
    bound_job j = {0};
    return cs_cli_answer(&cs_command_bound, count, words, take_arg, answer, &j);
}

const cs_command cs_command_bound = {
    .name    = "bound",
    .usage   = "bound [CONFIG.json] [options]",
    .summary = "every lower bound of a scenario",
    .tables  = bound_tables,
    .run     = bound_run,
};
