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

/* What is special about a table. */
typedef struct cs_store_table {
    int64_t     layout;
    const char *create_sql;
    const char *add_sql;   /* ... ON CONFLICT (key) DO NOTHING */
    const char *find_sql;  /* by the key; the first column is the text */
    const char *count_sql; /* how many rows */
    const char *keys_sql;  /* of all rows, by key: the text, and whether they have an error */
    const char *owner;     /* what the text is of, for messages */
} cs_store_table;

/* A key in hexadecimal, as it is stored. */
enum { CS_STORE_KEY_BYTES = 17 };
void cs_store_key_text(const char *text, char key[CS_STORE_KEY_BYTES]);

struct cs_store {
    const cs_store_table *table;
    cs_database           file;
    sqlite3_stmt         *add, *find;              /* prepared; NULL until then */
    char                  key[CS_STORE_KEY_BYTES]; /* that `find` looks for */
};

/* `table` has static storage; otherwise as cs_store_open(). */
cs_status cs_store_open_table(const char *path, const cs_store_table *table, cs_store **store_p,
                              cs_error *err);

/* Step `find` to the row of the text; sqlite3_reset() it in every case. CS_EINVAL when the key
 * belongs to another text. */
cs_status cs_store_seek(cs_store *store, const char *text, bool *has_p, cs_error *err);

/* Run `add`, whose values are bound if `is_bound`, and reset it; the key is that of the text. A row
 * that is there already is left alone. CS_EINVAL when the key belongs to another text. */
cs_status cs_store_put(cs_store *store, const char *text, bool is_bound, cs_error *err);

/* For maps of columns X(type, key): their definitions, names and places in SQL ... */
#define CS_SQL_TEXT             "TEXT"
#define CS_SQL_COUNT            "INTEGER"
#define CS_SQL_REAL             "REAL"
#define CS_SQL_BOOL             "INTEGER"
#define CS_SQL_TYPED(type, key) ", " #key " " CS_SQL_##type
#define CS_SQL_NAMED(type, key) ", " #key
#define CS_SQL_PLACE(type, key) ", ?"

/* ... and their writers: SQLITE_OK, or SQLite's code. */
int cs_bind_TEXT(sqlite3_stmt *statement, int column, const char *value); /* NULL: null */
int cs_bind_COUNT(sqlite3_stmt *statement, int column, uint64_t value);
int cs_bind_REAL(sqlite3_stmt *statement, int column, double value);
int cs_bind_BOOL(sqlite3_stmt *statement, int column, bool value);

#endif
