/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim synthesize: AdapCC's trees for a cluster, a collective and a size, or those of a file;
 * how long they take by each cost model and in a replay, and what no trees can be faster than. */
#include "algorithms/adapcc/adapcc.h"
#include "algorithms/adapcc/late.h"
#include "algorithms/adapcc/turns.h"
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "cs/model.h"
#include "cs/result.h"
#include "schedules/logical_xml.h"
#include "schedules/strategy_xml.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

typedef struct synthesize_job {
    cs_scenario_choice choice;
    const char        *strategy_path, *graph_path, *output_path;
    int                synthesizer; /* 0: the algorithm's option; else one behind it */
    int                format;
} synthesize_job;

/* What is printed. */
typedef struct answer_row {
    const cs_scenario  *scenario;
    cs_logical          logical;
    cs_strategy_file    file; /* its strategy alone where it was synthesised */
    double              cost_s[CS_COST_MODEL_COUNT];
    double              bound_s, replay_s; /* replay_s NAN: there was none */
    char                why_no_replay[200];
    double              seconds; /* of the synthesiser; NAN: the trees are a file's */
    const char         *synthesizer, *model;
    cs_synthesis_result made;
} answer_row;

#define SYNTHESIZER_WORD(id, name) "|" #name

/* clang-format off */
static const cs_arg synthesize_args[] = {
    CS_ARG_GROUP("trees"),
    CS_ARG_TEXT(synthesize_job, strategy_path, 0, "strategy", "FILE.xml", "evaluate these trees instead of making some"),
    CS_ARG_TEXT(synthesize_job, graph_path, 0, "graph", "FILE.xml", "a logical topology in place of the cluster's; nothing is replayed"),
    CS_ARG_CHOICE(synthesize_job, synthesizer, 0, "synthesizer", "auto" CS_SYNTHESIZERS(SYNTHESIZER_WORD), "who makes the trees (the algorithm's option: heuristic)"),
    CS_ARG_GROUP("output"),
    CS_ARG_TEXT(synthesize_job, output_path, 'o', "output", "FILE.xml", "write the trees there, too"),
    CS_ARG_CHOICE(synthesize_job, format, 0, "format", "table|json", "how to print (table)"),
    CS_ARG_OPERAND(synthesize_job, choice.given.path, "configuration"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table synthesize_tables[] = {
    CS_SCENARIO_TABLE(synthesize_job, choice), {synthesize_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cs_status take_topology(const synthesize_job *j, const cs_job *job, answer_row *row,
                               cs_error *err)
{
    const cs_cluster         *c        = &row->scenario->cluster;
    const cs_logical_defaults defaults = {c->fabrics[CS_NIC].bandwidth_Bps,
                                          c->fabrics[CS_NIC].alpha_s, c->fabrics[CS_NVLINK]};

    if (j->graph_path != NULL) {
        return cs_logical_load(j->graph_path, &defaults, &row->logical, err);
    }
    CS_TRY(cs_logical_of_scenario(&row->logical, row->scenario, err));
    row->logical.holds_both = !cs_ports_are_shared(job->model, &job->model_options);
    return CS_OK;
}

static cs_status take_file(const synthesize_job *j, const cs_adapcc_options *o, answer_row *row,
                           cs_error *err)
{
    uint64_t chunk_bytes = o->chunk == CS_AUTO ? 0 : o->chunk;

    CS_TRY(cs_strategy_load(j->strategy_path, &row->file, err));
    cs_status status = cs_strategy_fits(&row->file.strategy, &row->logical, err);
    if (status == CS_OK) {
        status = cs_strategy_file_finish(&row->file, row->scenario->bytes, chunk_bytes, err);
    }
    if (status != CS_OK) {
        cs_error_locate(err, j->strategy_path, 0, 0);
    }
    row->synthesizer = "file";
    return status;
}

static cs_status take_trees(const synthesize_job *j, const cs_job *job, answer_row *row,
                            cs_error *err)
{
    cs_adapcc_options o      = *(const cs_adapcc_options *)&job->options;
    double            from_s = now_s();

    if (j->strategy_path != NULL) {
        return take_file(j, &o, row, err);
    }
    o.synthesizer = j->synthesizer > 0 ? j->synthesizer - 1 : o.synthesizer;
    CS_TRY(cs_adapcc_synthesize(row->scenario, &row->logical, &o, &row->file.strategy, &row->made,
                                err));
    row->seconds     = now_s() - from_s;
    row->synthesizer = cs_synthesizer_name((cs_synthesizer)o.synthesizer);
    return CS_OK;
}

static cs_status evaluate(answer_row *row, cs_error *err)
{
    const cs_strategy *s    = &row->file.strategy;
    cs_cost           *cost = NULL;
    uint32_t           root = cs_tree_root(&s->trees[0]);

    CS_TRY(cs_cost_open(&row->logical, s->n_trees, &cost, err));
    cs_status status = CS_OK;
    for (int i = 0; i < CS_COST_MODEL_COUNT && status == CS_OK; i++) {
        status = cs_turns_cost_s(cost, &row->logical, s, row->scenario->collective,
                                 (cs_cost_model)i, &row->cost_s[i], err);
    }
    cs_cost_close(cost);
    CS_TRY(status);
    for (uint32_t m = 1; m < s->n_trees; m++) {
        root = cs_tree_root(&s->trees[m]) == root ? root : CS_ANY_ROOT;
    }
    return cs_strategy_bound(&row->logical, row->scenario->collective, row->scenario->bytes, root,
                             &row->bound_s, err);
}

/* The trees on the scenario's own network, where it can be done. */
static cs_status replay(const synthesize_job *j, const cs_job *of, answer_row *row, cs_error *err)
{
    const cs_strategy_options options = {.strategy = &row->file.strategy, .chunk_bytes = 1};
    cs_job     job     = {.scenario = of->scenario, .is_checked = of->is_checked, .verify = true};
    cs_outcome outcome = {0};
    cs_error   own     = {0};

    if (j->graph_path != NULL) {
        strcpy(row->why_no_replay, "a logical topology has no network to replay on");
        return CS_OK;
    }
    cs_job_set_algorithm(&job, &cs_algorithm_strategy, &options);
    cs_job_set_model(&job, of->model, &of->model_options);
    cs_status status = cs_job_resolve(&job, &own);
    if (cs_status_is_refusal(status)) {
        cs_error_reason(&own, row->why_no_replay, sizeof row->why_no_replay);
        return CS_OK;
    }
    if (status == CS_OK) {
        status = cs_job_replay(&job, NULL, 0, &outcome, &own);
    }
    cs_job_release(&job);
    if (status != CS_OK) {
        return CS_FAIL(err, status, own.where, "%s", own.message);
    }
    if (!outcome.verified) {
        return CS_FAIL(err, CS_EINTERNAL, "strategy", "%s", outcome.verdict.text);
    }
    row->replay_s = outcome.elapsed_s;
    return CS_OK;
}

static void add_number(cs_text *text, const char *key, double value)
{
    cs_text_add(text, ", \"%s\": ", key);
    cs_text_add_number(text, value);
}

/* By how much of it the program's best solution may be too large. */
static double solver_gap(const cs_synthesis_result *r)
{
    return r->bound_s < r->objective_s ? 1 - r->bound_s / r->objective_s : 0;
}

/* Ranks that pass on what they receive. */
static uint32_t count_forwards(const cs_strategy *s, uint32_t m)
{
    uint32_t count = 0;

    for (uint32_t g = 0; g < s->n_ranks; g++) {
        count += !s->trees[m].aggregates[g];
    }
    return count;
}

static void add_json(cs_text *text, const answer_row *row)
{
    const cs_strategy *s = &row->file.strategy;

    cs_text_add(text, "{\"trees\": [");
    for (uint32_t m = 0; m < s->n_trees; m++) {
        const cs_strategy_tree *t = &s->trees[m];

        cs_text_add(text,
                    "%s{\"root\": %u, \"size_bytes\": %" PRIu64 ", \"chunk_bytes\": %" PRIu64
                    ", \"parents\": [",
                    m > 0 ? ",\n " : "", cs_tree_root(t), t->size_bytes, t->chunk_bytes);
        for (uint32_t g = 0; g < s->n_ranks; g++) {
            if (t->parent[g] == CS_TREE_ROOT) {
                cs_text_add(text, "%snull", g > 0 ? ", " : "");
            } else {
                cs_text_add(text, "%s%u", g > 0 ? ", " : "", t->parent[g]);
            }
        }
        cs_text_add(text, "], \"forwards\": [");
        for (uint32_t g = 0, n = 0; g < s->n_ranks; g++) {
            if (!t->aggregates[g]) {
                cs_text_add(text, "%s%u", n++ > 0 ? ", " : "", g);
            }
        }
        cs_text_add(text, "]}");
    }
    cs_text_add(text, "],\n \"chunk_bytes\": %" PRIu64 ", \"cost_s\": {",
                cs_strategy_chunk_bytes(s));
    for (int i = 0; i < CS_COST_MODEL_COUNT; i++) {
        cs_text_add(text, "%s\"%s\": ", i > 0 ? ", " : "", cs_cost_name((cs_cost_model)i));
        cs_text_add_number(text, row->cost_s[i]);
    }
    cs_text_add(text, "}");
    add_number(text, "bound_s", row->bound_s);
    add_number(text, "replay_s", row->replay_s);
    cs_text_add(text, ", \"model\": \"%s\", \"synthesizer\": \"%s\"", row->model, row->synthesizer);
    add_number(text, "seconds", row->seconds);
    add_number(text, "gap", row->cost_s[CS_COST_VOLUME] / row->bound_s);
    if (row->made.has_solver) {
        const cs_synthesis_result *r = &row->made;

        cs_text_add(text, ",\n \"solver\": {\"end\": \"%s\", \"rows\": %u, \"columns\": %u",
                    cs_lp_end_name(r->end), r->n_rows, r->n_columns);
        add_number(text, "objective_s", r->objective_s);
        add_number(text, "bound_s", r->bound_s);
        add_number(text, "gap", solver_gap(r));
        cs_text_add(text, "}");
    }
    cs_text_add(text, "}\n");
}

static void add_line(cs_text *text, const char *name, double value_s, double bound_s)
{
    cs_text_add(text, "%-14s %14.3f %8.3f\n", name, value_s * 1e6, value_s / bound_s);
}

static void add_table(cs_text *text, const answer_row *row)
{
    const cs_strategy *s = &row->file.strategy;

    cs_text_add(text,
                "# %u trees over %u ranks (%s), chunks of %" PRIu64 " bytes, %s of %" PRIu64
                " bytes, model %s\n",
                s->n_trees, s->n_members, row->synthesizer, cs_strategy_chunk_bytes(s),
                cs_collective_name(row->scenario->collective), row->scenario->bytes, row->model);
    cs_text_add(text, "# %-12s %14s %8s\n", "time", "us", "/ bound");
    for (int i = 0; i < CS_COST_MODEL_COUNT; i++) {
        add_line(text, cs_cost_name((cs_cost_model)i), row->cost_s[i], row->bound_s);
    }
    if (isnan(row->replay_s)) {
        cs_text_add(text, "%-14s %14s          %s\n", "replay", "-", row->why_no_replay);
    } else {
        add_line(text, "replay", row->replay_s, row->bound_s);
    }
    add_line(text, "bound", row->bound_s, row->bound_s);
    if (row->made.has_solver) {
        const cs_synthesis_result *r = &row->made;

        cs_text_add(text, "# solver: %.3f us, at most %.2f %% above the least; ended by: %s\n",
                    r->objective_s * 1e6, 100 * solver_gap(r), cs_lp_end_name(r->end));
    }
    for (uint32_t m = 0; m < s->n_trees; m++) {
        uint32_t depth = 0;

        for (uint32_t g                               = s->trees[m].order[s->n_members - 1];
             s->trees[m].parent[g] != CS_TREE_ROOT; g = s->trees[m].parent[g]) {
            depth++;
        }
        cs_text_add(text, "# tree %u: root %u, %u edges deep, %" PRIu64 " bytes", m,
                    cs_tree_root(&s->trees[m]), depth, s->trees[m].size_bytes);
        if (count_forwards(s, m) > 0) {
            cs_text_add(text, ", %u ranks forward", count_forwards(s, m));
        }
        cs_text_add(text, "\n");
    }
}

static cs_status write_trees(const synthesize_job *j, const answer_row *row, cs_error *err)
{
    cs_text   text   = {0};
    cs_status status = cs_strategy_write(&text, &row->file.strategy, &row->logical, err);

    if (status == CS_OK) {
        status = cs_cli_write(j->output_path, &text, err);
    }
    cs_text_free(&text);
    return status;
}

static cs_status answer_case(synthesize_job *j, const cs_job *job, cs_text *text, cs_error *err)
{
    answer_row row    = {.scenario = &job->scenario,
                         .model    = job->model->name,
                         .replay_s = (double)NAN,
                         .seconds  = (double)NAN};
    cs_status  status = CS_OK;

    if (!cs_cost_takes(job->scenario.collective)) {
        return CS_FAIL(err, CS_ENOTSUP, "collective",
                       "trees are made for allreduce, broadcast and reduce, not for %s",
                       cs_collective_name(job->scenario.collective));
    }
    status = take_topology(j, job, &row, err);
    if (status == CS_OK && cs_collective_has_root(job->scenario.collective) &&
        job->scenario.root >= row.logical.n_ranks) {
        status = CS_FAIL(err, CS_EINVAL, "root", "%u is no rank of the %u in the graph",
                         job->scenario.root, row.logical.n_ranks);
    }
    status = status == CS_OK ? take_trees(j, job, &row, err) : status;
    status = status == CS_OK ? evaluate(&row, err) : status;
    status = status == CS_OK ? replay(j, job, &row, err) : status;
    if (status == CS_OK && j->output_path != NULL) {
        status = write_trees(j, &row, err);
    }
    if (status == CS_OK) {
        (j->format == 1 ? add_json : add_table)(text, &row);
    }
    cs_strategy_free(&row.file.strategy);
    cs_logical_free(&row.logical);
    return status;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    synthesize_job *j      = job;
    cs_case         c      = {0};
    cs_status       status = cs_scenario_choice_adapcc(&j->choice, "synthesize", &c, err);

    if (status == CS_OK) {
        status = answer_case(j, &c.job, text, err);
    }
    cs_case_free(&c);
    cs_scenario_choice_free(&j->choice);
    return status;
}

static int synthesize_run(int count, char *const *words)
{
    synthesize_job j = {0};
    return cs_cli_answer(&cs_command_synthesize, count, words, answer, &j);
}

const cs_command cs_command_synthesize = {
    .name     = "synthesize",
    .usage    = "synthesize [CONFIG.json] [options]",
    .summary  = "AdapCC's trees for a cluster: made, evaluated, replayed",
    .tables   = synthesize_tables,
    .examples = {"collsim synthesize --topology adapcc -n 24 -s 256M",
                 "collsim synthesize --topology adapcc -n 24 -s 256M -o trees.xml"},
    .run      = synthesize_run,
};
