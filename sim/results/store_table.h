/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/store_table.h -- what all stores share: one table in an SQLite file, whose rows are
 * found by the hash of a text (results/store.h: cs_store_key_of) and are never overwritten.
 *
 * Only the stores include this.
 */
#ifndef CS_RESULTS_STORE_TABLE_H
#define CS_RESULTS_STORE_TABLE_H

#include "results/database.h"
#include "results/store.h"

/* What is special about a table. It has the columns `key`, `algorithm`, `error` and `build`, and
 * that of the text. */
typedef struct cs_store_table {
    const char *name;
    const char *owner; /* what the text is of, for messages */
    int64_t     layout;
    const char *create_sql;
    const char *add_names;  /* the columns of a new row, in the order in which they are bound */
    const char *find_names; /* the columns of a row that was found; the first is the text */
    const char *is_wrong; /* when is the schedule of a row with an error wrong, and not refused? */
} cs_store_table;

/* A key in hexadecimal, as it is stored. */
enum { CS_STORE_KEY_BYTES = 17 };
void cs_store_key_text(uint64_t key, char text[CS_STORE_KEY_BYTES]);

struct cs_store {
    const cs_store_table *table;
    size_t                n_columns; /* of the sweep */
    const char *const    *columns;   /* borrowed */
    cs_database           file;
    sqlite3_stmt         *add, *find, *fill;       /* prepared; NULL until then */
    char                  key[CS_STORE_KEY_BYTES]; /* that `find` looks for */
};

/* `table` has static storage; otherwise as cs_store_open(). */
cs_status cs_store_open_table(const char *path, const cs_store_table *table,
                              const cs_store_request *request, cs_store **store_p, cs_error *err);

/* Step `find` to the row of the text; sqlite3_reset() it in every case. CS_EINVAL when the key
 * belongs to another text. */
cs_status cs_store_seek(cs_store *store, const char *text, bool *has_p, cs_error *err);

/* Run `add`, whose values are bound if `is_bound`, and reset it; the key is that of the text. A row
 * that is there already is left alone. CS_EINVAL when the key belongs to another text, or something
 * in the file drops the row. */
cs_status cs_store_put(cs_store *store, const char *text, bool is_bound, cs_error *err);

/* For maps of columns X(type, key): their definitions and names in SQL ... */
#define CS_SQL_TEXT             "TEXT"
#define CS_SQL_COUNT            "INTEGER"
#define CS_SQL_REAL             "REAL"
#define CS_SQL_BOOL             "INTEGER"
#define CS_SQL_TYPED(type, key) ", " #key " " CS_SQL_##type
#define CS_SQL_NAMED(type, key) ", " #key

/* ... and their writers: SQLITE_OK, or SQLite's code. */
int cs_bind_TEXT(sqlite3_stmt *statement, int column, const char *value); /* NULL: null */
int cs_bind_COUNT(sqlite3_stmt *statement, int column, uint64_t value);
int cs_bind_REAL(sqlite3_stmt *statement, int column, double value);
int cs_bind_BOOL(sqlite3_stmt *statement, int column, bool value);

/* Bind `n` values (NULL: nothing) from a column on; false where that fails. */
bool cs_bind_values(sqlite3_stmt *statement, int column, const cs_value *values, size_t n);

#endif
