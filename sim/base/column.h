/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/column.h -- tables of columns: the key, the type and the place of every value of a row.
 *
 * A kind of row is a struct and one table, which ends with CS_COLUMN_END. From the table alone come
 * the members of a JSON object and the fields of a CSV (here), the columns of a database
 * (output/store.h), and the bytes that cross between processes (campaign/wire.h). Keys of
 * quantities end in their unit. Numbers read back exactly; what does not exist is null in JSON and
 * an empty field in a CSV.
 */
#ifndef CS_BASE_COLUMN_H
#define CS_BASE_COLUMN_H

#include "base/text.h"
#include "base/value.h"
#include "cs/counters.h"

#include <stdbool.h>
#include <stdint.h>

/* The C type of the member, and what does not exist. */
typedef enum cs_column_type {
    CS_COLUMN_TEXT,  /* const char *; NULL */
    CS_COLUMN_CHARS, /* char[]; "" */
    CS_COLUMN_COUNT, /* uint64_t */
    CS_COLUMN_MAYBE, /* uint64_t; CS_NO_COUNT (cs/counters.h) */
    CS_COLUMN_U32,   /* uint32_t */
    CS_COLUMN_REAL,  /* double; NAN and infinities */
    CS_COLUMN_BOOL,  /* bool */
    CS_COLUMN_JSON,  /* const char *: JSON, which stands as it is; NULL */
} cs_column_type;

typedef struct cs_column {
    const char    *key; /* NULL: the end of the table */
    cs_column_type type;
    size_t         offset; /* in the struct */
    size_t         bytes;  /* of the member */
    bool           is_required;
} cs_column;

/* The C type of the member picks the type of the column: they cannot disagree. */
/* clang-format off */
#define CS_COLUMN_TYPE(struct_type, member)   \
    _Generic(((struct_type *)0)->member,      \
        const char *: CS_COLUMN_TEXT,         \
        char *: CS_COLUMN_CHARS,              \
        uint64_t: CS_COLUMN_COUNT,            \
        uint32_t: CS_COLUMN_U32,              \
        double: CS_COLUMN_REAL,               \
        bool: CS_COLUMN_BOOL)
/* clang-format on */
#define CS_COLUMN_ROW(key_, type_, struct_type, member)                              \
    {                                                                                \
        .key = (key_), .type = (type_), .bytes = sizeof(((struct_type *)0)->member), \
        .offset = offsetof(struct_type, member)                                      \
    }
#define CS_COLUMN(struct_type, member) \
    CS_COLUMN_ROW(#member, CS_COLUMN_TYPE(struct_type, member), struct_type, member)
#define CS_COLUMN_AS(key_, struct_type, member) \
    CS_COLUMN_ROW(key_, CS_COLUMN_TYPE(struct_type, member), struct_type, member)
/* A database refuses a row without it. */
#define CS_COLUMN_REQUIRED(struct_type, member)                                              \
    {                                                                                        \
        .key = #member, .type = CS_COLUMN_TYPE(struct_type, member), .is_required = true,    \
        .bytes = sizeof(((struct_type *)0)->member), .offset = offsetof(struct_type, member) \
    }
/* A count that need not exist. */
#define CS_COLUMN_MAYBE_AS(key_, struct_type, member) \
    CS_COLUMN_ROW(key_, CS_COLUMN_MAYBE, struct_type, member)
#define CS_COLUMN_END \
    {                 \
        .key = NULL   \
    }

/* A struct with its table; borrowed. */
typedef struct cs_row {
    const cs_column *columns;
    const void      *data;
    bool is_partial; /* little is known: a count of 0 is none, and no flag says anything */
} cs_row;

size_t cs_columns_count(const cs_column *columns);

/* The value of a column of the row. Texts point into the row. */
cs_value cs_row_value(const cs_row *row, const cs_column *column);

/* The member of a row that is to be written. */
static inline void *cs_column_place(const cs_column *column, void *data)
{
    return (char *)data + column->offset;
}

/* ---- JSON: commas come by themselves ---- */

/* `"KEY": `, behind a comma unless it is the first of its object, or stands behind a blank. */
void cs_json_key(cs_text *text, const char *key);

/* The next element of an array begins: `first` behind its bracket, else a comma and `next`. */
void cs_json_next(cs_text *text, const char *first, const char *next);

void cs_json_value(cs_text *text, cs_value value);

/* `"KEY": VALUE` for every column, without braces. */
void cs_json_row(cs_text *text, const cs_row *row);

/* The same for the columns that stand beside those of row `index`. */
void cs_json_extra(cs_text *text, const cs_extra_columns *extra, size_t index);

/* ---- CSV: every field ends in a comma, which cs_csv_end() makes the end of the line ---- */

void cs_csv_value(cs_text *text, cs_value value);
void cs_csv_keys(cs_text *text, const cs_column *columns);
void cs_csv_row(cs_text *text, const cs_row *row);
void cs_csv_extra_keys(cs_text *text, const cs_extra_columns *extra);
void cs_csv_extra(cs_text *text, const cs_extra_columns *extra, size_t index);
void cs_csv_end(cs_text *text);

#endif
