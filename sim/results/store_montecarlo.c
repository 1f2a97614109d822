/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of many iterations on disk: see results/store_montecarlo.h. Columns, writers and readers
 * come from CS_MONTECARLO_MAP. */
#include "results/store_montecarlo.h"

#include "base/alloc.h"
#include "results/database.h"
#include "results/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYOUT 102 /* of files with the table `montecarlo` */

struct cs_montecarlo_store {
    cs_database   file;
    sqlite3_stmt *add, *find; /* prepared; NULL until then */
};

/* clang-format off */
#define SQL_TEXT  "TEXT"
#define SQL_COUNT "INTEGER"
#define SQL_REAL  "REAL"
#define SQL_BOOL  "INTEGER"
#define TYPED(type, key) ", " #key " " SQL_##type
#define NAMED(type, key) ", " #key
#define PLACE(type, key) ", ?"

static const char create_sql[] =
    "CREATE TABLE montecarlo (key TEXT PRIMARY KEY NOT NULL" CS_MONTECARLO_MAP(TYPED)
    ", scenario TEXT NOT NULL, run TEXT NOT NULL, error TEXT) WITHOUT ROWID";

static const char add_sql[] =
    "INSERT INTO montecarlo (key, run, scenario, error" CS_MONTECARLO_MAP(NAMED)
    ") VALUES (?, ?, ?, ?" CS_MONTECARLO_MAP(PLACE) ") ON CONFLICT (key) DO NOTHING";

static const char find_sql[] =
    "SELECT run, scenario, error" CS_MONTECARLO_MAP(NAMED) " FROM montecarlo WHERE key = ?";
/* clang-format on */

enum { ADD_KEY = 1, ADD_RUN, ADD_SCENARIO, ADD_ERROR, ADD_FIRST_COLUMN };
enum { FIND_RUN, FIND_SCENARIO, FIND_ERROR, FIND_FIRST_COLUMN };

cs_status cs_montecarlo_store_open(const char *path, cs_montecarlo_store **store_p, cs_error *err)
{
    cs_montecarlo_store *store = CS_NEW(cs_montecarlo_store, 1);

    if (store == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    cs_status status = cs_database_open(&store->file, path, create_sql, LAYOUT, err);
    if (status == CS_OK) {
        status = cs_database_prepare(&store->file, add_sql, &store->add, err);
    }
    if (status == CS_OK) {
        status = cs_database_prepare(&store->file, find_sql, &store->find, err);
    }
    if (status != CS_OK) {
        cs_montecarlo_store_close(store);
        return status;
    }
    *store_p = store;
    return CS_OK;
}

static void key_text(const char *run, char text[17])
{
    snprintf(text, 17, "%016" PRIx64, cs_store_key_of(run).key);
}

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static cs_status read_keys(cs_montecarlo_store *store, sqlite3_stmt *rows, uint64_t *keys,
                           size_t capacity, size_t *n_p, cs_error *err)
{
    size_t n = 0;
    int    code;

    while ((code = sqlite3_step(rows)) == SQLITE_ROW && n < capacity) {
        const char *run = (const char *)sqlite3_column_text(rows, 0);
        if (run == NULL) {
            return cs_database_fail(&store->file, err);
        }
        keys[n++] = cs_store_key_of(run).key;
    }
    qsort(keys, n, sizeof *keys, compare);
    *n_p = n;
    return code == SQLITE_DONE || code == SQLITE_ROW ? CS_OK : cs_database_fail(&store->file, err);
}

cs_status cs_montecarlo_store_keys(cs_montecarlo_store *store, uint64_t **keys_p, size_t *n_p,
                                   cs_error *err)
{
    sqlite3_stmt *rows     = NULL;
    uint64_t     *keys     = NULL;
    int64_t       capacity = 0;
    cs_status     status   = cs_database_execute(&store->file, "BEGIN", err);

    if (status != CS_OK) {
        return status;
    }
    status = cs_database_number(&store->file, "SELECT count(*) FROM montecarlo", &capacity, err);
    if (status == CS_OK) {
        status = cs_database_prepare(&store->file, "SELECT run FROM montecarlo", &rows, err);
    }
    if (status == CS_OK && (keys = CS_NEW(uint64_t, (size_t)capacity)) == NULL) {
        status = CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    if (status == CS_OK) {
        status = read_keys(store, rows, keys, (size_t)capacity, n_p, err);
    }
    sqlite3_finalize(rows);
    sqlite3_exec(store->file.db, "COMMIT", NULL, NULL, NULL);
    if (status != CS_OK) {
        cs_free(keys);
        return status;
    }
    *keys_p = keys;
    return CS_OK;
}

cs_status cs_montecarlo_store_begin(cs_montecarlo_store *store, cs_error *err)
{
    return cs_database_execute(&store->file, "BEGIN IMMEDIATE", err);
}

cs_status cs_montecarlo_store_commit(cs_montecarlo_store *store, cs_error *err)
{
    return cs_database_execute(&store->file, "COMMIT", err);
}

static int bind_TEXT(sqlite3_stmt *statement, int column, const char *value)
{
    return value[0] == '\0' ? sqlite3_bind_null(statement, column)
                            : sqlite3_bind_text(statement, column, value, -1, SQLITE_STATIC);
}

static int bind_COUNT(sqlite3_stmt *statement, int column, uint64_t value)
{
    return sqlite3_bind_int64(statement, column, (int64_t)value);
}

static int bind_REAL(sqlite3_stmt *statement, int column, double value)
{
    return isfinite(value) ? sqlite3_bind_double(statement, column, value)
                           : sqlite3_bind_null(statement, column);
}

static int bind_BOOL(sqlite3_stmt *statement, int column, bool value)
{
    return sqlite3_bind_int(statement, column, value ? 1 : 0);
}

static bool bind_row(sqlite3_stmt *add, const char *key, const char *run,
                     const cs_montecarlo_row *row)
{
    int column = ADD_FIRST_COLUMN;

    sqlite3_clear_bindings(add);
    bool is_bound = bind_TEXT(add, ADD_KEY, key) == SQLITE_OK &&
                    bind_TEXT(add, ADD_RUN, run) == SQLITE_OK &&
                    bind_TEXT(add, ADD_SCENARIO, row->scenario) == SQLITE_OK &&
                    bind_TEXT(add, ADD_ERROR, row->error) == SQLITE_OK;
#define X(type, key) is_bound = is_bound && bind_##type(add, column++, row->key) == SQLITE_OK;
    CS_MONTECARLO_MAP(X)
#undef X
    return is_bound;
}

static void read_TEXT(sqlite3_stmt *statement, int column, char value[32])
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    snprintf(value, 32, "%s", text != NULL ? (const char *)text : "");
}

static void read_COUNT(sqlite3_stmt *statement, int column, uint64_t *value_p)
{
    *value_p = (uint64_t)sqlite3_column_int64(statement, column);
}

static void read_REAL(sqlite3_stmt *statement, int column, double *value_p)
{
    bool is_null = sqlite3_column_type(statement, column) == SQLITE_NULL;
    *value_p     = is_null ? (double)NAN : sqlite3_column_double(statement, column);
}

static void read_BOOL(sqlite3_stmt *statement, int column, bool *value_p)
{
    *value_p = sqlite3_column_int(statement, column) != 0;
}

/* Where a reader writes: a text is its own address. */
#define ADDRESS_TEXT(member)  member
#define ADDRESS_COUNT(member) &(member)
#define ADDRESS_REAL(member)  &(member)
#define ADDRESS_BOOL(member)  &(member)

static cs_status read_row(const cs_montecarlo_store *store, const char *run, const char *key,
                          cs_montecarlo_row *row_p, cs_error *err)
{
    sqlite3_stmt     *find   = store->find;
    const char       *found  = (const char *)sqlite3_column_text(find, FIND_RUN);
    const char       *text   = (const char *)sqlite3_column_text(find, FIND_SCENARIO);
    const char       *error  = (const char *)sqlite3_column_text(find, FIND_ERROR);
    cs_montecarlo_row row    = {0};
    int               column = FIND_FIRST_COLUMN;

    if (found == NULL || text == NULL) {
        return cs_database_fail(&store->file, err);
    }
    if (strcmp(found, run) != 0) {
        return cs_database_refuse(&store->file, err,
                                  "key %s belongs to another run; give another name", key);
    }
    row.scenario = cs_strdup(text);
    if (row.scenario == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    snprintf(row.error, sizeof row.error, "%s", error != NULL ? error : "");
#define X(type, key) read_##type(find, column++, ADDRESS_##type(row.key));
    CS_MONTECARLO_MAP(X)
#undef X
    *row_p = row;
    return CS_OK;
}

cs_status cs_montecarlo_store_find(cs_montecarlo_store *store, const char *run,
                                   cs_montecarlo_row *row_p, bool *has_p, cs_error *err)
{
    char      key[17];
    cs_status status = CS_OK;

    key_text(run, key);
    sqlite3_bind_text(store->find, 1, key, -1, SQLITE_STATIC);
    int code = sqlite3_step(store->find);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        status = cs_database_fail(&store->file, err);
    } else if (code == SQLITE_ROW) {
        status = read_row(store, run, key, row_p, err);
    }
    *has_p = status == CS_OK && code == SQLITE_ROW;
    sqlite3_reset(store->find);
    return status;
}

/* A row was not added: is the one that is there of the same run? */
static cs_status check_run(cs_montecarlo_store *store, const char *run, cs_error *err)
{
    cs_montecarlo_row row    = {0};
    bool              is_one = false;
    cs_status         status = cs_montecarlo_store_find(store, run, &row, &is_one, err);

    cs_montecarlo_row_free(&row);
    return status;
}

cs_status cs_montecarlo_store_add(cs_montecarlo_store *store, const char *run,
                                  const cs_montecarlo_row *row, cs_error *err)
{
    char      key[17];
    cs_status status = CS_OK;

    key_text(run, key);
    if (!bind_row(store->add, key, run, row) || sqlite3_step(store->add) != SQLITE_DONE) {
        status = cs_database_fail(&store->file, err);
    }
    sqlite3_reset(store->add);
    return status == CS_OK && sqlite3_changes(store->file.db) == 0 ? check_run(store, run, err)
                                                                   : status;
}

cs_status cs_montecarlo_store_finish(cs_montecarlo_store *store, cs_error *err)
{
    if (sqlite3_exec(store->file.db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) ==
            SQLITE_OK ||
        (sqlite3_errcode(store->file.db) & 0xff) == SQLITE_BUSY) {
        return CS_OK;
    }
    return cs_database_fail(&store->file, err);
}

void cs_montecarlo_store_close(cs_montecarlo_store *store)
{
    if (store != NULL) {
        sqlite3_finalize(store->add);
        sqlite3_finalize(store->find);
        cs_database_close(&store->file);
        cs_free(store);
    }
}
