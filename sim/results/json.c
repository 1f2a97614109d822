/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/json.c -- results as JSON.
 *
 * The keys come from CS_RESULT_MAP alone, their values from results/columns.h.
 * The text is built by hand, not by Jansson, because every number must read back exactly and
 * the keys must keep their order.
 */
#include "results/json.h"

#include "results/columns.h"
#include "results/refused.h"

#include <inttypes.h>

#define OPTION_TEXT_BYTES 64

void cs_options_json(cs_text *text, const cs_field *table, const void *options)
{
    cs_text_add(text, "{");
    for (const cs_field *row = table; row != NULL && row->name != NULL; row++) {
        char value[OPTION_TEXT_BYTES];
        bool is_plain = cs_field_text(row, options, value, sizeof value);

        cs_text_add(text, "%s\"%s\": ", row == table ? "" : ", ", row->name);
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

static void add_wrong(cs_text *text, const cs_verdict *verdict)
{
    cs_text_add(text, ", \"wrong\": {");
    if (verdict->is_located) {
        cs_text_add(text, "\"rank\": %" PRIu32 ", \"chunk\": %" PRIu32 ", \"round\": %" PRIu32,
                    verdict->rank, verdict->chunk, verdict->round);
    } else {
        cs_text_add(text, "\"rank\": null, \"chunk\": null, \"round\": null");
    }
    cs_text_add(text, ", \"text\": ");
    cs_text_add_json_string(text, verdict->text);
    cs_text_add(text, "}");
}

static void add_result(cs_text *text, const cs_result_rows *rows, size_t row)
{
    const cs_result *result   = &rows->results[row];
    const char      *scenario = rows->scenarios[row];

    cs_text_add(text, "{");
#define X(type, key)                     \
    cs_text_add(text, "\"" #key "\": "); \
    cs_json_##type(text, result->key);   \
    cs_text_add(text, ", ");
    CS_RESULT_MAP(X)
#undef X
    cs_text_add(text, "\"options\": ");
    cs_options_json(text, result->option_table, &result->options);
    cs_text_add(text, ", \"model_options\": ");
    cs_options_json(text, result->model_option_table, &result->model_options);
    if (cs_result_is_wrong(result)) {
        add_wrong(text, &result->verdict);
    }
    cs_json_extra(text, &rows->extra, row);
    if (scenario != NULL) {
        cs_text_add(text, ", \"scenario\": %s", scenario);
    }
    cs_text_add(text, "}");
}

void cs_results_json(cs_text *text, const cs_result_rows *rows)
{
    cs_text_add(text, "[");
    for (size_t i = 0; i < rows->n; i++) {
        cs_text_add(text, i == 0 ? "\n" : ",\n");
        if (rows->refusals[i] != NULL) {
            cs_refused_json(text, rows, i);
        } else {
            add_result(text, rows, i);
        }
    }
    cs_text_add(text, "\n]\n");
}
