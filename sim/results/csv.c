/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/csv.c -- results as comma-separated values (RFC 4180, but lines end in LF).
 *
 * As in results/json.c the columns come from CS_RESULT_MAP alone.
 */
#include "results/csv.h"

#include "results/columns.h"
#include "results/refused.h"

static void add_header(cs_text *text, const cs_extra_columns *extra)
{
#define X(type, key) #key ","
    cs_text_add(text, "%s", CS_RESULT_MAP(X) "options,");
#undef X
    cs_csv_extra_names(text, extra);
    cs_text_add(text, "scenario,error\n");
}

static void add_row(cs_text *text, const cs_result_rows *rows, size_t row)
{
    const cs_result *result  = &rows->results[row];
    cs_text          options = {0};

#define X(type, key)                  \
    cs_csv_##type(text, result->key); \
    cs_text_add(text, ",");
    CS_RESULT_MAP(X)
#undef X
    cs_options_json(&options, result->option_table, &result->options);
    if (options.failed) {
        text->failed = true;
    } else {
        cs_text_add_csv_field(text, options.data);
    }
    cs_text_add(text, ",");
    cs_csv_extra(text, &rows->extra, row);
    cs_csv_TEXT(text, rows->scenarios[row]);
    cs_text_add(text, ",\n");
    cs_text_free(&options);
}

void cs_results_csv(cs_text *text, const cs_result_rows *rows)
{
    add_header(text, &rows->extra);
    for (size_t i = 0; i < rows->n; i++) {
        if (rows->refusals[i] != NULL) {
            cs_refused_csv(text, rows, i);
        } else {
            add_row(text, rows, i);
        }
    }
}
