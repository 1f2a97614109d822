/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of rows, as JSON and as CSV. The JSON is built by hand, not by Jansson, because every
 * number must read back exactly and the keys must keep their order. */
#include "base/column.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

size_t cs_columns_count(const cs_column *columns)
{
    size_t n = 0;

    while (columns[n].key != NULL) {
        n++;
    }
    return n;
}

static cs_value text_value(cs_value_type type, const char *text)
{
    return text != NULL ? (cs_value){.type = type, .text = text}
                        : (cs_value){.type = CS_VALUE_NONE};
}

static cs_value count_value(const cs_row *row, uint64_t count)
{
    return count == 0 && row->is_partial ? (cs_value){.type = CS_VALUE_NONE}
                                         : (cs_value){.type = CS_VALUE_COUNT, .count = count};
}

cs_value cs_row_value(const cs_row *row, const cs_column *column)
{
    const char *member = (const char *)row->data + column->offset;
    const char *text;
    uint64_t    count;
    uint32_t    small;
    double      real;
    bool        flag;

    switch (column->type) {
    case CS_COLUMN_TEXT: memcpy(&text, member, sizeof text); return text_value(CS_VALUE_TEXT, text);
    case CS_COLUMN_JSON: memcpy(&text, member, sizeof text); return text_value(CS_VALUE_JSON, text);
    case CS_COLUMN_CHARS: return text_value(CS_VALUE_TEXT, member[0] != '\0' ? member : NULL);
    case CS_COLUMN_COUNT: memcpy(&count, member, sizeof count); return count_value(row, count);
    case CS_COLUMN_MAYBE:
        memcpy(&count, member, sizeof count);
        return count != CS_NO_COUNT ? count_value(row, count) : (cs_value){.type = CS_VALUE_NONE};
    case CS_COLUMN_U32: memcpy(&small, member, sizeof small); return count_value(row, small);
    case CS_COLUMN_REAL:
        memcpy(&real, member, sizeof real);
        return isfinite(real) ? (cs_value){.type = CS_VALUE_REAL, .real = real}
                              : (cs_value){.type = CS_VALUE_NONE};
    case CS_COLUMN_BOOL:
        memcpy(&flag, member, sizeof flag);
        return row->is_partial ? (cs_value){.type = CS_VALUE_NONE}
                               : (cs_value){.type = CS_VALUE_BOOL, .whole = flag};
    }
    return (cs_value){.type = CS_VALUE_NONE};
}

static char last_of(const cs_text *text)
{
    if (text->length == 0) {
        return '\0';
    }
    return text->data[text->length - 1];
}

void cs_json_key(cs_text *text, const char *key)
{
    char last = last_of(text);

    if (last != '{' && last != ' ') {
        cs_text_add(text, ", ");
    }
    cs_text_add_json_string(text, key);
    cs_text_add(text, ": ");
}

void cs_json_next(cs_text *text, const char *first, const char *next)
{
    bool is_first = last_of(text) == '[';

    cs_text_add(text, "%s%s", is_first ? "" : ",", is_first ? first : next);
}

void cs_json_value(cs_text *text, cs_value value)
{
    switch (value.type) {
    case CS_VALUE_NONE: cs_text_add(text, "null"); break;
    case CS_VALUE_BOOL: cs_text_add(text, "%s", value.whole != 0 ? "true" : "false"); break;
    case CS_VALUE_WHOLE: cs_text_add(text, "%" PRId64, value.whole); break;
    case CS_VALUE_COUNT: cs_text_add(text, "%" PRIu64, value.count); break;
    case CS_VALUE_REAL: cs_text_add_number(text, value.real); break;
    case CS_VALUE_TEXT: cs_text_add_json_string(text, value.text); break;
    case CS_VALUE_JSON: cs_text_add(text, "%s", value.text); break;
    }
}

void cs_json_row(cs_text *text, const cs_row *row)
{
    for (const cs_column *c = row->columns; c->key != NULL; c++) {
        cs_json_key(text, c->key);
        cs_json_value(text, cs_row_value(row, c));
    }
}

void cs_json_extra(cs_text *text, const cs_extra_columns *extra, size_t index)
{
    for (size_t i = 0; i < extra->n_columns; i++) {
        cs_json_key(text, extra->names[i]);
        cs_json_value(text, extra->values[index * extra->n_columns + i]);
    }
}

void cs_csv_value(cs_text *text, cs_value value)
{
    if (value.type == CS_VALUE_TEXT || value.type == CS_VALUE_JSON) {
        cs_text_add_csv_field(text, value.text);
    } else if (value.type != CS_VALUE_NONE) {
        cs_json_value(text, value);
    }
    cs_text_add(text, ",");
}

void cs_csv_keys(cs_text *text, const cs_column *columns)
{
    for (const cs_column *c = columns; c->key != NULL; c++) {
        cs_csv_value(text, text_value(CS_VALUE_TEXT, c->key));
    }
}

void cs_csv_row(cs_text *text, const cs_row *row)
{
    for (const cs_column *c = row->columns; c->key != NULL; c++) {
        cs_csv_value(text, cs_row_value(row, c));
    }
}

void cs_csv_extra_keys(cs_text *text, const cs_extra_columns *extra)
{
    for (size_t i = 0; i < extra->n_columns; i++) {
        cs_csv_value(text, text_value(CS_VALUE_TEXT, extra->names[i]));
    }
}

void cs_csv_extra(cs_text *text, const cs_extra_columns *extra, size_t index)
{
    for (size_t i = 0; i < extra->n_columns; i++) {
        cs_csv_value(text, extra->values[index * extra->n_columns + i]);
    }
}

void cs_csv_end(cs_text *text)
{
    if (last_of(text) == ',') {
        text->data[text->length - 1] = '\n';
    }
}
