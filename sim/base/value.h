/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/value.h -- a value whose type is known at run time only: what a sweep put in a column, or
 * what is set in a configuration. */
#ifndef CS_BASE_VALUE_H
#define CS_BASE_VALUE_H

#include <stddef.h>
#include <stdint.h>

typedef enum cs_value_type {
    CS_VALUE_NONE,  /* null */
    CS_VALUE_BOOL,  /* `whole` is 0 or 1 */
    CS_VALUE_WHOLE, /* `whole` */
    CS_VALUE_COUNT, /* `count` */
    CS_VALUE_REAL,  /* `real`, finite */
    CS_VALUE_TEXT,  /* `text` */
    CS_VALUE_JSON,  /* `text` is an object or array as JSON */
} cs_value_type;

/* Texts are borrowed. */
typedef struct cs_value {
    cs_value_type type;
    union {
        int64_t     whole;
        uint64_t    count;
        double      real;
        const char *text;
    };
} cs_value;

/* Columns that stand beside those of a result, and their values: those of row r begin at
 * values[r * n_columns]. `{0}`: none. Borrowed. */
typedef struct cs_extra_columns {
    size_t             n_columns;
    const char *const *names;
    const cs_value    *values;
} cs_extra_columns;

#endif
