/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim compare: one schedule on every model, how far they are apart and where they part. */
#include "base/column.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/scenario_args.h"
#include "output/comparison.h"
#include "output/model_compare.h"

#include <math.h>

enum { MOST_MODELS = 16 };

#define DEFAULT_TOLERANCE 1e-9

typedef struct compare_job {
    cs_scenario_choice choice;
    double             tolerance;
    cs_result_format   format;
    cs_text           *text;
} compare_job;

/* clang-format off */
static const cs_arg compare_args[] = {
    CS_ARG_GROUP("output"),
    CS_ARG_NUMBER(compare_job, tolerance, 0, "tolerance", "X",
                  "times that differ by less, relatively, are the same (1e-9)", .max = 1),
    CS_ARG_CHOICE(compare_job, format, 0, "format", "table|json", "how to print (table)"),
    CS_ARG_OPERAND(compare_job, choice.given.path, "configuration"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table compare_tables[] = {
    CS_SCENARIO_TABLE(compare_job, choice), {compare_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static const cs_model_row *first_that_ran(const cs_model_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i].refusal.status == CS_OK) {
            return &rows[i];
        }
    }
    return NULL;
}

static void add_parting(cs_text *text, const cs_model_row *row, const cs_model_row *first)
{
    const cs_transfer *t = &row->transfer;

    cs_text_add(text,
                "# %s parts from %s at transfer %llu: rank %u -> %u, chunk %u, round %u holds its "
                "ports from %.6f to %.6f us, not from %.6f to %.6f us\n",
                row->model->name, first->model->name, (unsigned long long)row->index, t->src,
                t->dst, t->chunk, t->round, row->mine.start_s * 1e6, row->mine.end_s * 1e6,
                row->theirs.start_s * 1e6, row->theirs.end_s * 1e6);
    for (size_t i = 0; i < row->n_shared; i++) {
        cs_text_add(text, "#   %s: with %llu other%s meanwhile\n", row->shared[i].name,
                    (unsigned long long)row->shared[i].n_others,
                    row->shared[i].n_others == 1 ? "" : "s");
    }
    if (!isnan(row->mine_alone_s) && !isnan(row->theirs_alone_s)) {
        cs_text_add(text, "#   alone it takes %.6f us on %s and %.6f us on %s%s\n",
                    row->mine_alone_s * 1e6, row->model->name, row->theirs_alone_s * 1e6,
                    first->model->name, row->n_shared == 0 ? "; nobody shares its links" : "");
    }
}

static void add_table(cs_text *text, const cs_model_row *rows, size_t n)
{
    const cs_model_row *first = first_that_ran(rows, n);

    cs_text_add(text, "# %-12s %14s %14s\n", "model", "elapsed (us)", "difference");
    for (size_t i = 0; i < n; i++) {
        const cs_model_row *row = &rows[i];
        if (row->refusal.status != CS_OK) {
            cs_text_add(text, "%-14s %14s %14s  %s: %s\n", row->model->name, "-", "-",
                        row->refusal.where, row->refusal.message);
            continue;
        }
        double ratio = row->outcome.elapsed_s / first->outcome.elapsed_s;
        cs_text_add(text, "%-14s %14.3f %13.4g%%%s\n", row->model->name,
                    row->outcome.elapsed_s * 1e6, (ratio - 1) * 100,
                    row->no_topology ? "  on a crossbar: it has no topology" : "");
    }
    for (size_t i = 0; i < n; i++) {
        if (rows[i].parts) {
            add_parting(text, &rows[i], first);
        }
    }
}

static const cs_column model_columns[]   = {CS_COLUMN_AS("model", cs_model, name), CS_COLUMN_END};
static const cs_column refused_columns[] = {CS_COLUMN_AS("refused", cs_model_row, refusal.message),
                                            CS_COLUMN_END};
static const cs_column ran_columns[]     = {
        CS_COLUMN_AS("elapsed_s", cs_model_row, outcome.elapsed_s),
        CS_COLUMN_AS("verified", cs_model_row, outcome.verified),
        CS_COLUMN_AS("on_crossbar", cs_model_row, no_topology),
        CS_COLUMN_END,
};
static const cs_column parting_columns[] = {
    CS_COLUMN_AS("transfer", cs_model_row, index),
    CS_COLUMN_AS("src", cs_model_row, transfer.src),
    CS_COLUMN_AS("dst", cs_model_row, transfer.dst),
    CS_COLUMN_AS("chunk", cs_model_row, transfer.chunk),
    CS_COLUMN_AS("round", cs_model_row, transfer.round),
    CS_COLUMN_AS("start_s", cs_model_row, mine.start_s),
    CS_COLUMN_AS("end_s", cs_model_row, mine.end_s),
    CS_COLUMN_AS("first_start_s", cs_model_row, theirs.start_s),
    CS_COLUMN_AS("first_end_s", cs_model_row, theirs.end_s),
    CS_COLUMN_AS("alone_s", cs_model_row, mine_alone_s),
    CS_COLUMN_AS("first_alone_s", cs_model_row, theirs_alone_s),
    CS_COLUMN_END,
};
static const cs_column shared_columns[] = {
    CS_COLUMN_AS("link", cs_shared_link, name),
    CS_COLUMN_AS("others", cs_shared_link, n_others),
    CS_COLUMN_END,
};

static void add_json_parting(cs_text *text, const cs_model_row *row)
{
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){parting_columns, row, false});
    cs_json_key(text, "shared");
    cs_text_add(text, "[");
    for (size_t i = 0; i < row->n_shared; i++) {
        cs_json_next(text, "", " ");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){shared_columns, &row->shared[i], false});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]}");
}

static void add_json(cs_text *text, const cs_model_row *rows, size_t n)
{
    cs_text_add(text, "[");
    for (size_t i = 0; i < n; i++) {
        const cs_model_row *row = &rows[i];
        bool                ran = row->refusal.status == CS_OK;
        cs_json_next(text, "", "\n ");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){model_columns, row->model, false});
        cs_json_row(text, &(cs_row){ran ? ran_columns : refused_columns, row, false});
        if (ran) {
            cs_json_key(text, "parts");
        }
        if (ran && row->parts) {
            add_json_parting(text, row);
        } else {
            cs_text_add(text, "%s", ran ? "null" : "");
        }
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]\n");
}

static cs_status compare_case(void *job, cs_case *c, cs_error *err)
{
    compare_job *j = job;
    cs_model_row rows[MOST_MODELS];
    size_t       n      = 0;
    cs_status    status = cs_job_resolve(&c->job, err);

    if (status == CS_OK) {
        bool is_only = cs_config_count(j->choice.config) == 1; /* else scenarios are counted */
        if (is_only) {
            cs_cli_progress_begin("models", j->choice.is_quiet);
        }
        status = cs_compare_models(&c->job, j->tolerance, is_only ? &cs_cli_listener : NULL, rows,
                                   &n, err);
        if (is_only) {
            cs_cli_progress_end();
        }
    }
    if (status == CS_OK && j->format == CS_AS_JSON) {
        add_json(j->text, rows, n);
    } else if (status == CS_OK) {
        char setting[CS_SETTING_BYTES];
        cs_setting_text(&c->job.scenario, setting, sizeof setting);
        cs_text_add(j->text, "# %s by %s, %u ranks, %llu bytes; %s\n",
                    cs_collective_name(c->job.scenario.collective), c->job.algorithm->name,
                    c->job.scenario.cluster.n_ranks, (unsigned long long)c->job.scenario.bytes,
                    setting);
        add_table(j->text, rows, n);
    }
    cs_job_release(&c->job);
    return status;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    compare_job *j = job;

    j->text = text;
    return cs_scenario_choice_run(&j->choice, j->format == CS_AS_JSON, compare_case, j, err);
}

static int compare_run(int count, char *const *words)
{
    compare_job j = {.tolerance = DEFAULT_TOLERANCE};
    return cs_cli_answer(&cs_command_compare, count, words, answer, &j);
}

const cs_command cs_command_compare = {
    .name     = "compare",
    .usage    = "compare [CONFIG.json] [options]",
    .summary  = "run one schedule on every model: how far they are apart, and where they part",
    .tables   = compare_tables,
    .examples = {"collsim compare -a ring -n 16 -s 1M", "collsim compare -a rhd -n 16 -g 8 -s 16M"},
    .run      = compare_run,
};
