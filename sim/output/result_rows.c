/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results as JSON and as CSV (RFC 4180, but lines end in LF). */
#include "output/result_rows.h"

#include "cs/build.h"

#include <math.h>

const cs_column cs_result_columns[] = {
    CS_COLUMN(cs_result, algorithm),
    CS_COLUMN(cs_result, collective),
    CS_COLUMN(cs_result, model),
    CS_COLUMN(cs_result, ranks),
    CS_COLUMN(cs_result, bytes),
    CS_COLUMN(cs_result, gpus_per_server),
    CS_COLUMN(cs_result, elapsed_s),
    CS_COLUMN(cs_result, exposed_s),
    CS_COLUMN(cs_result, closed_form_s),
    CS_COLUMN(cs_result, bound_s),
    CS_COLUMN(cs_result, bound),
    CS_COLUMN(cs_result, gap),
    CS_COLUMN(cs_result, algbw_GBps),
    CS_COLUMN(cs_result, busbw_GBps),
    CS_COLUMN(cs_result, rounds),
    CS_COLUMN(cs_result, transfers),
    CS_COLUMN(cs_result, wire_bytes),
    CS_COLUMN(cs_result, verified),
    CS_COLUMN(cs_result, published_form_s),
    CS_COLUMN(cs_result, critical_delay_s),
    CS_COLUMN(cs_result, ideal_delay_s),
    CS_COLUMN(cs_result, delay_reference),
    CS_COLUMN_MAYBE_AS("packets", cs_result, counts.packets),
    CS_COLUMN_MAYBE_AS("pauses", cs_result, counts.pauses),
    CS_COLUMN_MAYBE_AS("drops", cs_result, counts.drops),
    CS_COLUMN_MAYBE_AS("marks", cs_result, counts.marks),
    CS_COLUMN_MAYBE_AS("resent", cs_result, counts.resent),
    CS_COLUMN(cs_result, build),
    CS_COLUMN_END,
};

static const cs_column text_columns[] = {
    CS_COLUMN(cs_result_texts, options),
    CS_COLUMN_REQUIRED(cs_result_texts, scenario),
    CS_COLUMN(cs_result_texts, error),
    CS_COLUMN_END,
};
/* The columns of a sweep stand behind the first of them in a CSV. */
static const cs_column option_columns[]   = {CS_COLUMN(cs_result_texts, options), CS_COLUMN_END};
static const cs_column *const end_columns = &text_columns[1];

const cs_store_table cs_results_table = {
    .name          = "results",
    .layout        = 4,
    .columns       = cs_result_columns,
    .texts         = text_columns,
    .columns_bytes = sizeof(cs_result),
    .texts_bytes   = sizeof(cs_result_texts),
    .owner         = "scenario",
    .is_wrong      = "error IS NOT NULL AND elapsed_s IS NOT NULL",
};

/* Where a schedule is wrong. */
static const cs_column place_columns[] = {
    CS_COLUMN(cs_verdict, rank),
    CS_COLUMN(cs_verdict, chunk),
    CS_COLUMN(cs_verdict, round),
    CS_COLUMN_END,
};

void cs_options_json(cs_text *text, const cs_field *table, const void *options)
{
    cs_text_add(text, "{");
    for (const cs_field *row = table; row != NULL && row->name != NULL; row++) {
        char value[CS_OPTION_TEXT_BYTES];
        bool is_plain = cs_field_text(row, options, value, sizeof value);

        cs_json_key(text, row->name);
        if (is_plain) {
            cs_text_add(text, "%s", value);
        } else {
            cs_text_add_json_string(text, value);
        }
    }
    cs_text_add(text, "}");
}

bool cs_result_is_wrong(const cs_result *result)
{
    return !result->verified && !result->verdict.is_correct && result->verdict.text[0] != '\0';
}

cs_status cs_result_texts_of(const cs_result *result, const char *scenario, const char *reason,
                             cs_text *options, cs_result_texts *texts_p, cs_error *err)
{
    cs_result_texts texts  = {.scenario = scenario, .error = reason};
    cs_status       status = CS_OK;

    if (reason == NULL) {
        cs_options_json(options, result->option_table, &result->options);
        status        = cs_text_status(options, err);
        texts.options = options->data;
        texts.error   = cs_result_is_wrong(result) ? result->verdict.text : NULL;
    }
    *texts_p = texts;
    return status;
}

cs_result cs_refused_result(const cs_scenario *scenario, const cs_algorithm *algorithm,
                            const cs_model *model)
{
    const double none  = (double)NAN;
    cs_result    known = {.elapsed_s        = none,
                          .exposed_s        = none,
                          .closed_form_s    = none,
                          .bound_s          = none,
                          .gap              = none,
                          .algbw_GBps       = none,
                          .busbw_GBps       = none,
                          .published_form_s = none,
                          .critical_delay_s = none,
                          .ideal_delay_s    = none,
                          .counts           = CS_NO_COUNTS,
                          .build            = cs_build()};

    if (algorithm != NULL) {
        known.algorithm       = algorithm->name;
        known.collective      = cs_collective_name(scenario->collective);
        known.model           = model->name;
        known.ranks           = scenario->cluster.n_ranks;
        known.bytes           = scenario->bytes;
        known.gpus_per_server = scenario->cluster.gpus_per_server;
    }
    return known;
}

static cs_row row_of(const cs_result_rows *rows, size_t index)
{
    return (cs_row){cs_result_columns, &rows->results[index], rows->refusals[index] != NULL};
}

static void add_wrong(cs_text *text, const cs_verdict *verdict)
{
    const cs_verdict nowhere = {0};
    const cs_row     place   = {place_columns, verdict->is_located ? verdict : &nowhere,
                                !verdict->is_located};

    cs_json_key(text, "wrong");
    cs_text_add(text, "{");
    cs_json_row(text, &place);
    cs_json_key(text, "text");
    cs_text_add_json_string(text, verdict->text);
    cs_text_add(text, "}");
}

static void add_options(cs_text *text, const cs_result *result, bool was_run)
{
    cs_json_key(text, "options");
    if (was_run) {
        cs_options_json(text, result->option_table, &result->options);
    } else {
        cs_text_add(text, "null");
    }
    cs_json_key(text, "model_options");
    if (was_run) {
        cs_options_json(text, result->model_option_table, &result->model_options);
    } else {
        cs_text_add(text, "null");
    }
}

void cs_result_json(cs_text *text, const cs_result_rows *rows, size_t index)
{
    const cs_result *result   = &rows->results[index];
    const char      *scenario = rows->scenarios[index];
    const cs_row     row      = row_of(rows, index);

    cs_text_add(text, "{");
    cs_json_row(text, &row);
    add_options(text, result, !row.is_partial);
    if (!row.is_partial && cs_result_is_wrong(result)) {
        add_wrong(text, &result->verdict);
    }
    if (rows->blocks != NULL && rows->blocks[index] != NULL) {
        cs_text_add(text, "%s", rows->blocks[index]);
    }
    cs_json_extra(text, &rows->extra, index);
    if (scenario != NULL || row.is_partial) {
        cs_json_key(text, "scenario");
        cs_text_add(text, "%s", scenario != NULL ? scenario : "null");
    }
    if (row.is_partial) {
        cs_json_key(text, "error");
        cs_text_add_json_string(text, rows->refusals[index]);
    }
    cs_text_add(text, "}");
}

void cs_results_json(cs_text *text, const cs_result_rows *rows)
{
    cs_text_add(text, "[");
    for (size_t i = 0; i < rows->n; i++) {
        cs_json_next(text, "\n", "\n");
        cs_result_json(text, rows, i);
    }
    cs_text_add(text, "\n]\n");
}

static void add_line(cs_text *text, const cs_result_rows *rows, size_t index)
{
    const cs_result *result  = &rows->results[index];
    const cs_row     row     = row_of(rows, index);
    cs_text          options = {0};

    if (!row.is_partial) {
        cs_options_json(&options, result->option_table, &result->options);
    }
    const cs_result_texts end = {options.data, rows->scenarios[index], rows->refusals[index]};
    text->failed              = text->failed || options.failed;
    cs_csv_row(text, &row);
    cs_csv_row(text, &(cs_row){option_columns, &end, false});
    cs_csv_extra(text, &rows->extra, index);
    cs_csv_row(text, &(cs_row){end_columns, &end, false});
    cs_csv_end(text);
    cs_text_free(&options);
}

void cs_results_csv(cs_text *text, const cs_result_rows *rows)
{
    cs_csv_keys(text, cs_result_columns);
    cs_csv_keys(text, option_columns);
    cs_csv_extra_keys(text, &rows->extra);
    cs_csv_keys(text, end_columns);
    cs_csv_end(text);
    for (size_t i = 0; i < rows->n; i++) {
        add_line(text, rows, i);
    }
}
