/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of `collsim run`: see cli/run_rows.h. Consecutive results that differ in size only share a
 * table, which is printed when the first row comes that does not belong to it. */
#include "cli/run_rows.h"

#include "base/alloc.h"
#include "output/result_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The columns of the sweep, and room for their values. */
static cs_status open_columns(cs_run_rows *rows, cs_error *err)
{
    size_t n_columns = 0;

    CS_TRY(cs_sweep_columns_open(rows->config, cs_result_columns, &rows->columns, err));
    (void)cs_sweep_columns_names(rows->columns, &n_columns);
    rows->values = cs_calloc(rows->total, n_columns * sizeof *rows->values);
    return rows->values != NULL ? CS_OK : CS_NO_MEMORY(err, "%zu results", rows->total);
}

/* The values of the next scenario, which could be built. */
static void fill_columns(cs_run_rows *rows)
{
    size_t n_columns = 0;

    if (rows->columns != NULL) {
        (void)cs_sweep_columns_names(rows->columns, &n_columns);
        cs_sweep_columns_row(rows->columns, rows->next, rows->values + rows->n * n_columns);
    }
}

cs_status cs_run_rows_open(cs_run_rows *rows, const cs_config *config, cs_result_format format,
                           cs_error *err)
{
    size_t n = cs_config_count(config);

    rows->config    = config;
    rows->format    = format;
    rows->total     = n;
    rows->results   = CS_NEW(cs_result, n);
    rows->scenarios = CS_NEW(const char *, n);
    rows->refusals  = CS_NEW(const char *, n);
    rows->blocks    = CS_NEW(const char *, n);
    rows->compared  = CS_NEW(cs_compared, n);
    rows->places    = CS_NEW(size_t, n);
    if (format != CS_AS_TABLE) {
        CS_TRY(open_columns(rows, err));
    }
    return rows->results != NULL && rows->scenarios != NULL && rows->refusals != NULL &&
                   rows->blocks != NULL && rows->compared != NULL && rows->places != NULL
               ? CS_OK
               : CS_NO_MEMORY(err, "%zu results", rows->total);
}

void cs_run_rows_free(cs_run_rows *rows)
{
    cs_free(rows->results);
    cs_free(rows->scenarios);
    cs_free(rows->refusals);
    cs_free(rows->blocks);
    cs_free(rows->compared);
    cs_free(rows->places);
    cs_left_out_free(&rows->left_out);
    cs_sweep_columns_close(rows->columns);
    cs_free(rows->values);
    cs_case_free(&rows->last);
    cs_arena_free(&rows->arena);
    cs_text_free(&rows->text);
    *rows = (cs_run_rows){0};
}

/* ---- tables ---- */

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

/* Do two consecutive jobs belong in one table: do they differ in size only (and in what a
 * calibration makes of the size)? */
static bool same_table(const cs_run_rows *rows, const cs_job *a, const cs_job *b)
{
    const cs_cluster *x = &a->scenario.cluster, *y = &b->scenario.cluster;
    bool              is_calibrated = cs_config_text(rows->config, "calibration") != NULL;

    return a->algorithm == b->algorithm && a->model == b->model &&
           a->scenario.collective == b->scenario.collective && x->n_ranks == y->n_ranks &&
           x->gpus_per_server == y->gpus_per_server && x->sockets == y->sockets &&
           x->nvlink_concurrent == y->nvlink_concurrent && (is_calibrated || same_fabrics(x, y)) &&
           memcmp(a->options.bytes, b->options.bytes, sizeof a->options.bytes) == 0 &&
           memcmp(a->model_options.bytes, b->model_options.bytes, sizeof a->model_options.bytes) ==
               0 &&
           a->scenario.root == b->scenario.root && cs_same_conditions(&a->scenario, &b->scenario);
}

/* Where nobody says what to show: so many blocks that the answer would drown in them? */
static void choose_detail(cs_run_rows *rows)
{
    if (rows->detail == CS_RUN_AUTO && rows->n_tables > CS_RUN_MOST_BLOCKS) {
        rows->detail = CS_RUN_SUMMARY;
        cs_text_free(&rows->text);
    }
}

/* Print the table that is being filled, if there is one. */
static void end_table(cs_run_rows *rows)
{
    if (rows->format == CS_AS_TABLE && rows->first < rows->n) {
        rows->n_tables++;
        choose_detail(rows);
        if (rows->detail != CS_RUN_SUMMARY) {
            cs_results_nccl_table(&rows->text, rows->results + rows->first, rows->n - rows->first,
                                  &rows->last.job.scenario);
        }
    }
    cs_case_free(&rows->last);
    rows->first = rows->n;
}

/* ---- rows ---- */

static cs_status keep(cs_run_rows *rows, const char *text, const char **kept_p, cs_error *err)
{
    *kept_p = cs_arena_strdup(&rows->arena, text);
    return *kept_p != NULL ? CS_OK : CS_NO_MEMORY(err, "%zu results", rows->total);
}

/* The scenario of the next row, for those who print it: as it was asked for, where there is no
 * case.
 */
static cs_status keep_scenario(cs_run_rows *rows, const cs_case *c, cs_error *err)
{
    cs_text   point  = {0};
    cs_error  wrong  = {0};
    cs_status status = CS_OK;

    if (rows->format == CS_AS_TABLE) {
        return CS_OK;
    }
    if (c->json != NULL) {
        return keep(rows, c->json, &rows->scenarios[rows->n], err);
    }
    if (cs_config_point(rows->config, rows->next, &point, &wrong) == CS_OK) {
        status = keep(rows, point.data, &rows->scenarios[rows->n], err);
    } else if (wrong.status == CS_ENOMEM) {
        status = CS_NO_MEMORY(err, "%zu results", rows->total);
    }
    cs_text_free(&point);
    return status;
}

static void end_row(cs_run_rows *rows)
{
    rows->places[rows->n++] = rows->next++;
}

cs_status cs_run_rows_add(cs_run_rows *rows, cs_case *c, const cs_result *result,
                          const char *blocks, cs_error *err)
{
    cs_compared *compared = &rows->compared[rows->n - rows->n_refused];
    cs_status    status   = keep_scenario(rows, c, err);

    if (rows->first < rows->n && !same_table(rows, &rows->last.job, &c->job)) {
        end_table(rows);
    }
    if (status == CS_OK && blocks != NULL) {
        status = keep(rows, blocks, &rows->blocks[rows->n], err);
    }
    rows->results[rows->n] = *result;
    fill_columns(rows);
    compared->result  = &rows->results[rows->n];
    compared->key     = cs_setting_key(&c->job.scenario, result);
    compared->paced_s = (double)NAN;
    cs_setting_text(&c->job.scenario, compared->setting, sizeof compared->setting);
    cs_case_free(&rows->last);
    rows->last = *c;
    *c         = (cs_case){0};
    end_row(rows);
    return status;
}

/* "# refused: cluster.ranks=7 bytes=1M: why" */
static cs_status add_line(cs_run_rows *rows, size_t index, const char *why, cs_error *err)
{
    static const char *const none[] = {NULL};

    cs_text_add(&rows->text, "# refused: ");
    cs_status status = cs_config_label(rows->config, index, NULL, NULL, none, &rows->text, err);
    cs_text_add(&rows->text, ": %s\n#\n", why);
    return status;
}

cs_status cs_run_rows_refuse(cs_run_rows *rows, const cs_case *c, const cs_error *why,
                             cs_error *err)
{
    char      reason[sizeof why->where + sizeof why->message + 2];
    cs_status status = keep_scenario(rows, c, err);

    end_table(rows);
    cs_error_reason(why, reason, sizeof reason);
    if (rows->n_refused == 0) {
        rows->first_refusal = *why;
    }
    rows->results[rows->n] = cs_refused_result(&c->job.scenario, c->job.algorithm, c->job.model);
    if (c->job.algorithm != NULL) {
        fill_columns(rows);
    }
    if (status == CS_OK) {
        status = keep(rows, reason, &rows->refusals[rows->n], err);
    }
    if (status == CS_OK && rows->format == CS_AS_TABLE && rows->detail != CS_RUN_SUMMARY) {
        status = add_line(rows, rows->next, reason, err);
    }
    end_row(rows);
    rows->n_refused++;
    rows->first = rows->n;
    return status;
}

bool cs_run_rows_leave_out(cs_run_rows *rows, const cs_error *why)
{
    bool may = cs_config_leave_out(rows->config, rows->next, why, &rows->left_out);

    rows->next += may;
    return may;
}

/* ---- all of them ---- */

/* The options of a model with a gap between messages that share an alpha. False: it has none, or
 * one that was chosen. */
static bool pace(const cs_model *model, cs_options *options)
{
    static const char key[] = "message_gap_s";
    const cs_field   *row   = cs_field_find(model->options, key);
    char              text[40];

    if (row == NULL) {
        return false;
    }
    (void)cs_field_text(row, options, text, sizeof text);
    if (strcmp(text, "0") != 0) {
        return false;
    }
    (void)snprintf(text, sizeof text, "%.17g", CS_PACED_GAP_S);
    return cs_field_set(model->options, options, key, text, "", NULL) == CS_OK;
}

/* Replay scenario `index` with that gap. */
static cs_status add_paced(cs_run_rows *rows, size_t index, cs_compared *compared, cs_error *err)
{
    cs_case   c      = {0};
    cs_result result = {0};
    cs_status status = cs_config_try_case(rows->config, index, &c, err);

    if (status == CS_OK && pace(c.job.model, &c.job.model_options)) {
        c.job.verify      = false;
        status            = cs_job_run(&c.job, NULL, 0, &result, err);
        compared->paced_s = status == CS_OK ? result.exposed_s : (double)NAN;
    }
    cs_case_free(&c);
    return status;
}

/* Messages that leave on one alpha cost the model nothing but their bytes. Where a schedule is the
 * best thanks to that, find what it takes if they do. */
static cs_status find_paced(cs_run_rows *rows, cs_error *err)
{
    size_t    n = rows->n - rows->n_refused, place = 0;
    bool     *is_best = CS_NEW(bool, n);
    cs_status status  = is_best != NULL ? cs_compared_best(rows->compared, n, is_best, err)
                                        : CS_NO_MEMORY(err, "%zu results", rows->total);

    for (size_t i = 0; i < rows->n && status == CS_OK; i++) {
        if (rows->refusals[i] != NULL) {
            continue;
        }
        if ((rows->results[i].uses & CS_USES_SHARED) != 0 && is_best[place]) {
            status = add_paced(rows, rows->places[i], &rows->compared[place], err);
        }
        place++;
    }
    cs_free(is_best);
    return status;
}

/* Is there more than one algorithm? */
static bool has_choice(const cs_run_rows *rows)
{
    const cs_compared *compared = rows->compared;
    size_t             n = rows->n - rows->n_refused, i = 1;

    while (i < n && strcmp(compared[i].result->algorithm, compared[0].result->algorithm) == 0) {
        i++;
    }
    return i < n;
}

/* In front of a summary: what is not in it. */
static cs_status add_refusals(cs_run_rows *rows, cs_error *err)
{
    enum { MOST_LINES = 8 };
    const char *calibration = cs_config_text(rows->config, "calibration");
    size_t      n           = 0;

    if (calibration != NULL) {
        cs_text_add(&rows->text, "# calibrated by %s\n", calibration);
    }
    for (size_t i = 0; i < rows->n && n < MOST_LINES; i++) {
        if (rows->refusals[i] != NULL) {
            CS_TRY(add_line(rows, rows->places[i], rows->refusals[i], err));
            n++;
        }
    }
    if (n < rows->n_refused) {
        cs_text_add(&rows->text, "# refused: %zu more (--full shows them)\n#\n",
                    rows->n_refused - n);
    }
    return CS_OK;
}

static cs_status add_comparison(cs_run_rows *rows, cs_error *err)
{
    if (rows->detail == CS_RUN_SUMMARY) {
        CS_TRY(add_refusals(rows, err));
    }
    if (has_choice(rows)) {
        CS_TRY(find_paced(rows, err));
    }
    const cs_comparison_look look = {rows->detail == CS_RUN_SUMMARY, rows->has_colour};
    CS_TRY(cs_comparison(&rows->text, rows->compared, rows->n - rows->n_refused, &look, err));
    if (rows->detail == CS_RUN_SUMMARY && rows->n_tables > 1) {
        cs_text_add(&rows->text, "# --full prints the tables of nccl-tests, %zu of them\n",
                    rows->n_tables);
    }
    return CS_OK;
}

static cs_status refusal(const cs_run_rows *rows, cs_error *err)
{
    const cs_error *why = &rows->first_refusal;

    if (err != NULL && err->status == CS_OK) {
        *err = *why;
        if (rows->n_refused < rows->n) {
            snprintf(err->message, sizeof err->message, "%.240s (%zu of %zu scenarios refused)",
                     why->message, rows->n_refused, rows->n);
        }
    }
    return why->status;
}

/* As they are printed by machines for machines. */
static cs_result_rows all_of(const cs_run_rows *rows)
{
    cs_extra_columns extra = {.values = rows->values};

    extra.names = cs_sweep_columns_names(rows->columns, &extra.n_columns);
    return (cs_result_rows){.results   = rows->results,
                            .scenarios = rows->scenarios,
                            .refusals  = rows->refusals,
                            .extra     = extra,
                            .n         = rows->n,
                            .blocks    = rows->blocks};
}

cs_status cs_run_rows_finish(cs_run_rows *rows, cs_error *err)
{
    cs_result_rows all;
    cs_status      status = CS_OK;

    if (rows->n == 0) {
        return cs_left_out_refusal(&rows->left_out, err);
    }
    if (rows->n_refused == rows->n) {
        return refusal(rows, err);
    }
    switch (rows->format) {
    case CS_AS_JSON:
        all = all_of(rows);
        cs_results_json(&rows->text, &all);
        break;
    case CS_AS_CSV:
        all = all_of(rows);
        cs_results_csv(&rows->text, &all);
        break;
    case CS_AS_TABLE:
        end_table(rows);
        status = add_comparison(rows, err);
        break;
    }
    return status == CS_OK ? cs_text_status(&rows->text, err) : status;
}

cs_status cs_run_rows_verdict(const cs_run_rows *rows, cs_error *err)
{
    for (size_t i = 0; i < rows->n; i++) {
        const cs_result *result = &rows->results[i];
        if (rows->refusals[i] == NULL && cs_result_is_wrong(result)) {
            return CS_FAIL(err, CS_EWRONG, result->algorithm, "%s", result->verdict.text);
        }
    }
    return rows->n_refused > 0 ? refusal(rows, err) : CS_OK;
}
