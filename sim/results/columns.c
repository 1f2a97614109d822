/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of columns as text: see columns.h. */
#include "results/columns.h"

#include <inttypes.h>
#include <math.h>

void cs_json_TEXT(cs_text *text, const char *value)
{
    cs_text_add_json_string(text, value);
}

void cs_json_COUNT(cs_text *text, uint64_t value)
{
    cs_text_add(text, "%" PRIu64, value);
}

void cs_json_REAL(cs_text *text, double value)
{
    cs_text_add_number(text, value);
}

void cs_json_BOOL(cs_text *text, bool value)
{
    cs_text_add(text, "%s", value ? "true" : "false");
}

void cs_csv_TEXT(cs_text *text, const char *value)
{
    cs_text_add_csv_field(text, value != NULL ? value : "");
}

void cs_csv_COUNT(cs_text *text, uint64_t value)
{
    cs_json_COUNT(text, value);
}

void cs_csv_REAL(cs_text *text, double value)
{
    if (isfinite(value)) {
        cs_text_add_number(text, value);
    }
}

void cs_csv_BOOL(cs_text *text, bool value)
{
    cs_json_BOOL(text, value);
}

static void add_json_value(cs_text *text, const cs_value *value)
{
    switch (value->type) {
    case CS_VALUE_NONE: cs_text_add(text, "null"); break;
    case CS_VALUE_BOOL: cs_json_BOOL(text, value->whole != 0); break;
    case CS_VALUE_WHOLE: cs_text_add(text, "%" PRId64, value->whole); break;
    case CS_VALUE_REAL: cs_json_REAL(text, value->real); break;
    case CS_VALUE_TEXT: cs_json_TEXT(text, value->text); break;
    case CS_VALUE_JSON: cs_text_add(text, "%s", value->text); break;
    }
}

void cs_json_extra(cs_text *text, const cs_extra_columns *extra, size_t row)
{
    for (size_t i = 0; i < extra->n_columns; i++) {
        cs_text_add(text, ", ");
        cs_text_add_json_string(text, extra->names[i]);
        cs_text_add(text, ": ");
        add_json_value(text, &extra->values[row * extra->n_columns + i]);
    }
}

void cs_csv_extra_names(cs_text *text, const cs_extra_columns *extra)
{
    for (size_t i = 0; i < extra->n_columns; i++) {
        cs_text_add_csv_field(text, extra->names[i]);
        cs_text_add(text, ",");
    }
}

void cs_csv_extra(cs_text *text, const cs_extra_columns *extra, size_t row)
{
    for (size_t i = 0; i < extra->n_columns; i++) {
        const cs_value *value = &extra->values[row * extra->n_columns + i];
        if (value->type == CS_VALUE_TEXT || value->type == CS_VALUE_JSON) {
            cs_text_add_csv_field(text, value->text);
        } else if (value->type != CS_VALUE_NONE) {
            add_json_value(text, value);
        }
        cs_text_add(text, ",");
    }
}
