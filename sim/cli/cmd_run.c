/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim run: one result per algorithm, number of ranks and size. */
#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/schedule_arg.h"
#include "cli/watch.h"
#include "results/comparison.h"
#include "results/csv.h"
#include "results/json.h"
#include "results/table.h"

#include <stdio.h>
#include <string.h>

enum { FORMAT = CS_SCENARIO_ARG_LAST + 1, TRACE, HEATMAP, EXPLAIN, SCHEDULE, OUTPUT };

/* clang-format off */
static const cs_arg run_args[] = {
    {SCHEDULE, 0, "schedule", "FILE", "replay a schedule file instead of an algorithm"},
    {TRACE, 0, "trace", "FILE.json", "timeline in Chrome trace-event format (opens in Perfetto)"},
    {HEATMAP, 0, "heatmap", "FILE.svg", "picture of the ports' and links' use over time"},
    {EXPLAIN, 0, "explain", NULL, "what the ports did, and the critical path"},
    {FORMAT, 0, "format", "table|json|csv", "how to print the results (table)"},
    {OUTPUT, 'o', "output", "FILE", "write the results there instead of printing them"},
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
/* clang-format on */

static const cs_arg *const run_tables[] = {cs_scenario_args, run_args, NULL};

typedef enum format { TABLE, JSON, CSV } format;

typedef struct job {
    cs_scenario_choice choice;
    format             format;
    cs_watch_choice    watch;
    const char        *schedule_path, *output_path;
    cs_stored         *schedule;
    cs_result         *results;
    char (*settings)[CS_SETTING_BYTES]; /* of each result */
    uint64_t    *keys;                  /* likewise */
    const char **scenarios;             /* likewise, as JSON */
    cs_arena     arena;                 /* owns the scenarios */
    size_t       count;
    cs_text      text; /* what is printed */
    cs_text      notes;
} job;

static cs_status take_arg(void *user, int id, const cs_args *args, cs_error *err)
{
    job      *j      = user;
    int       chosen = 0;
    cs_status status = CS_OK;

    switch (id) {
    case TRACE: j->watch.trace_path = args->value; return CS_OK;
    case HEATMAP: j->watch.heatmap_path = args->value; return CS_OK;
    case EXPLAIN: j->watch.explains = true; return CS_OK;
    case SCHEDULE: j->schedule_path = args->value; return CS_OK;
    case OUTPUT: j->output_path = args->value; return CS_OK;
    case FORMAT:
        status    = cs_cli_choice(args->value, "table|json|csv", "--format", &chosen, err);
        j->format = (format)chosen;
        return status;
    default: return cs_scenario_choice_add(&j->choice, id, args, err);
    }
}

/* Run one case with the observers that were asked for. */
static cs_status run_case(job *j, const cs_case *c, const cs_algorithm *algorithm,
                          const void *options, cs_result *result, cs_error *err)
{
    cs_watch  w      = {0};
    cs_status status = cs_watch_open(&w, &j->watch, &c->scenario, algorithm, options, err);

    if (status == CS_OK) {
        const cs_run run = {.scenario      = &c->scenario,
                            .algorithm     = algorithm,
                            .options       = options,
                            .model         = c->model,
                            .model_options = &c->model_options,
                            .verify        = c->verify,
                            .observers     = w.observers,
                            .n_observers   = w.n_observers};
        status           = cs_run_scenario(&run, result, err);
    }
    if (status == CS_OK) {
        status = cs_watch_report(&w, result, &j->notes, err);
    }
    cs_watch_close(&w);
    return status;
}

static cs_status run_index(job *j, size_t index, cs_case *c, cs_error *err)
{
    cs_status status = cs_config_case(j->choice.config, index, c, err);

    if (status != CS_OK) {
        return status;
    }
    if (j->schedule != NULL) {
        cs_stored_options options = {j->schedule};
        return run_case(j, c, &cs_algorithm_stored, &options, &j->results[index], err);
    }
    return run_case(j, c, c->algorithm, &c->options, &j->results[index], err);
}

static bool same_fabrics(const cs_cluster *x, const cs_cluster *y)
{
    bool is_same = true;

    for (int f = 0; f < CS_FABRICS; f++) {
        const cs_fabric *a = &x->fabrics[f], *b = &y->fabrics[f];
        is_same = is_same && a->kind == b->kind && a->alpha_s == b->alpha_s &&
                  a->bandwidth_Bps == b->bandwidth_Bps;
    }
    return is_same;
}

/* Do two consecutive cases belong in one table: do they differ in size only (and in what a
 * calibration makes of the size)? */
static bool same_table(const job *j, const cs_case *a, const cs_case *b)
{
    const cs_cluster *x = &a->scenario.cluster, *y = &b->scenario.cluster;
    bool              is_calibrated = cs_config_text(j->choice.config, "calibration") != NULL;

    return a->algorithm == b->algorithm && a->model == b->model &&
           a->scenario.collective == b->scenario.collective && x->n_ranks == y->n_ranks &&
           x->gpus_per_server == y->gpus_per_server && x->sockets == y->sockets &&
           (is_calibrated || same_fabrics(x, y)) &&
           memcmp(a->options.bytes, b->options.bytes, sizeof a->options.bytes) == 0 &&
           memcmp(a->model_options.bytes, b->model_options.bytes, sizeof a->model_options.bytes) ==
               0 &&
           a->scenario.root == b->scenario.root && cs_same_trouble(&a->scenario, &b->scenario);
}

/* Print the table of the results [first, last] if the next case begins another one. */
static cs_status finish_table(job *j, size_t *first, size_t last, const cs_case *c, cs_error *err)
{
    cs_case   next    = {0};
    cs_status status  = CS_OK;
    bool      is_last = last + 1 == j->count;

    if (!is_last) {
        status  = cs_config_case(j->choice.config, last + 1, &next, err);
        is_last = status == CS_OK && !same_table(j, c, &next);
        cs_case_free(&next);
    }
    if (status == CS_OK && is_last) {
        cs_table_group(&j->text, j->results + *first, last + 1 - *first, &c->scenario);
        *first = last + 1;
    }
    return status;
}

static cs_status keep_scenario(job *j, size_t index, const char *json, cs_error *err)
{
    j->scenarios[index] = cs_arena_strdup(&j->arena, json);
    if (j->scenarios[index] == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for %zu results", j->count);
    }
    return CS_OK;
}

static cs_status run_all(job *j, cs_error *err)
{
    size_t    first  = 0;
    cs_status status = CS_OK;

    for (size_t i = 0; i < j->count && status == CS_OK; i++) {
        cs_case c = {0};
        status    = run_index(j, i, &c, err);
        if (status == CS_OK) {
            cs_setting_text(&c.scenario, j->settings[i], sizeof j->settings[i]);
            j->keys[i] = cs_setting_key(&c.scenario, &j->results[i]);
            status     = keep_scenario(j, i, c.json, err);
        }
        if (status == CS_OK && j->format == TABLE) {
            status = finish_table(j, &first, i, &c, err);
        }
        cs_case_free(&c);
    }
    return status;
}

static void format_rest(job *j)
{
    if (j->format == TABLE) {
        cs_comparison(&j->text, j->results, (const char(*)[CS_SETTING_BYTES])j->settings, j->keys,
                      j->count);
    }
    if (j->format == JSON) {
        cs_results_json(&j->text, j->results, j->scenarios, j->count);
    } else if (j->format == CSV) {
        cs_csv_header(&j->text);
        for (size_t i = 0; i < j->count; i++) {
            cs_csv_row(&j->text, &j->results[i], j->scenarios[i]);
        }
    }
}

static cs_status run_job(job *j, cs_error *err)
{
    cs_status status = cs_scenario_choice_finish(&j->choice, err);

    if (status == CS_OK && j->schedule_path != NULL) {
        status = cs_schedule_arg_load(&j->choice, j->schedule_path, &j->schedule, err);
    }
    if (status != CS_OK) {
        return status;
    }
    j->count = cs_config_count(j->choice.config);
    if ((j->watch.trace_path != NULL || j->watch.heatmap_path != NULL) && j->count != 1) {
        return CS_FAIL(err, CS_EINVAL, j->watch.trace_path != NULL ? "--trace" : "--heatmap",
                       "needs exactly one scenario, not %zu", j->count);
    }
    j->results   = CS_NEW(cs_result, j->count);
    j->settings  = cs_calloc(j->count, sizeof *j->settings);
    j->keys      = CS_NEW(uint64_t, j->count);
    j->scenarios = CS_NEW(const char *, j->count);
    if (j->results == NULL || j->settings == NULL || j->keys == NULL || j->scenarios == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for %zu results", j->count);
    }
    const char *calibration = cs_config_text(j->choice.config, "calibration");
    if (j->format == TABLE && calibration != NULL) {
        cs_text_add(
            &j->text,
            "# calibrated by %s: alpha and bandwidth go with the size, a table's head shows "
            "those of its last row\n",
            calibration);
    }
    status = run_all(j, err);
    if (status == CS_OK) {
        format_rest(j);
        status = cs_cli_write(j->output_path, &j->text, err);
    }
    return status;
}

/* The first schedule that was found wrong is an error of its own, behind the printed rows. */
static cs_status report_wrong(const job *j, cs_error *err)
{
    for (size_t i = 0; i < j->count; i++) {
        if (cs_result_is_wrong(&j->results[i])) {
            return CS_FAIL(err, CS_EWRONG, j->results[i].algorithm, "%s",
                           j->results[i].verdict.text);
        }
    }
    return CS_OK;
}

static int run_run(int count, char *const *words)
{
    job       j          = {0};
    cs_error  err        = {0};
    bool      wants_help = false;
    cs_status status = cs_cli_read(&cs_command_run, count, words, take_arg, &j, &wants_help, &err);

    if (status == CS_OK && wants_help) {
        return cs_cli_help(&cs_command_run);
    }
    if (status == CS_OK) {
        status = run_job(&j, &err);
    }
    if (status == CS_OK && j.watch.explains) {
        FILE *to = j.format == TABLE ? stdout : stderr;
        fputs(j.notes.data != NULL ? j.notes.data : "", to);
    }
    if (status == CS_OK) {
        status = report_wrong(&j, &err);
    }
    cs_scenario_choice_free(&j.choice);
    cs_stored_free(j.schedule);
    cs_free(j.results);
    cs_free(j.settings);
    cs_free(j.keys);
    cs_free(j.scenarios);
    cs_arena_free(&j.arena);
    cs_text_free(&j.text);
    cs_text_free(&j.notes);
    return status == CS_OK ? CS_EXIT_DONE : cs_cli_fail(&err);
}

const cs_command cs_command_run = {
    .name    = "run",
    .usage   = "run [CONFIG.json] [options]",
    .summary = "replay a collective: time, proof and lower bound of every scenario",
    .tables  = run_tables,
    .run     = run_run,
};
