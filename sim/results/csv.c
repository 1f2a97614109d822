/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/csv.c -- results as comma-separated values (RFC 4180, but lines end in LF).
 *
 * As in results/json.c the columns come from CS_RESULT_MAP alone.
 */
#include "results/csv.h"

#include "results/json.h"

#include <inttypes.h>
#include <math.h>

static void add_TEXT(cs_text *text, const char *value)
{
    cs_text_add_csv_field(text, value != NULL ? value : "");
}

static void add_COUNT(cs_text *text, uint64_t value)
{
    cs_text_add(text, "%" PRIu64, value);
}

static void add_REAL(cs_text *text, double value)
{
    if (isfinite(value)) {
        cs_text_add_number(text, value);
    }
}

static void add_BOOL(cs_text *text, bool value)
{
    cs_text_add(text, "%s", value ? "true" : "false");
}

void cs_csv_header(cs_text *text)
{
#define X(type, key) #key ","
    cs_text_add(text, "%s", CS_RESULT_MAP(X) "options,scenario\n");
#undef X
}

void cs_csv_row(cs_text *text, const cs_result *result, const char *scenario)
{
    cs_text options = {0};

#define X(type, key)               \
    add_##type(text, result->key); \
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
    add_TEXT(text, scenario);
    cs_text_add(text, "\n");
    cs_text_free(&options);
}
