/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/csv.c -- results as comma-separated values (RFC 4180, but lines end in LF).
 *
 * As in results/json.c the columns come from CS_RESULT_MAP alone.
 */
#include "results/csv.h"

#include "results/columns.h"
#include "results/json.h"
#include "results/refused.h"

void cs_csv_header(cs_text *text)
{
#define X(type, key) #key ","
    cs_text_add(text, "%s", CS_RESULT_MAP(X) "options,scenario,error\n");
#undef X
}

void cs_csv_row(cs_text *text, const cs_result *result, const char *scenario)
{
    cs_text options = {0};

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
    cs_csv_TEXT(text, scenario);
    cs_text_add(text, ",\n");
    cs_text_free(&options);
}

void cs_results_csv(cs_text *text, const cs_result *results, const char *const *scenarios,
                    const char *const *refusals, size_t n)
{
    cs_csv_header(text);
    for (size_t i = 0; i < n; i++) {
        if (refusals[i] != NULL) {
            cs_refused_csv(text, &(cs_refused){&results[i], scenarios[i], refusals[i]});
        } else {
            cs_csv_row(text, &results[i], scenarios[i]);
        }
    }
}
