/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/store.c -- results on disk.
 *
 * The file is kept in WAL mode while it is written: a transaction is one append, and a program
 * that is killed loses none that was committed (a machine that loses power may lose the last
 * ones, never the file). `results` has no rowid: its rows are ordered by key. The columns and
 * their writers come from CS_RESULT_MAP.
 *
 * Left out: migration from older layouts; they are refused.
 * Source: sqlite.org/withoutrowid.html.
 */
#include "results/store.h"

#include "base/alloc.h"
#include "base/random.h"
#include "results/database.h"
#include "results/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LAYOUT 1

struct cs_store {
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
    "CREATE TABLE results (key TEXT PRIMARY KEY NOT NULL" CS_RESULT_MAP(TYPED)
    ", options TEXT, scenario TEXT NOT NULL, error TEXT) WITHOUT ROWID";

static const char add_sql[] =
    "INSERT INTO results (key, scenario, error, options" CS_RESULT_MAP(NAMED)
    ") VALUES (?, ?, ?, ?" CS_RESULT_MAP(PLACE) ") ON CONFLICT (key) DO NOTHING";
/* clang-format on */

enum { ADD_KEY = 1, ADD_SCENARIO, ADD_ERROR, ADD_OPTIONS, ADD_FIRST_COLUMN };

cs_store_key cs_store_key_of(const char *scenario)
{
    static const char version[] = COLLSIM_VERSION;
    uint64_t          salt      = cs_mix64(cs_hash_text(version));
    uint64_t          check     = salt;

    for (const char *c = scenario; *c != '\0'; c++) {
        check = (check ^ (unsigned char)*c) * 0xff51afd7ed558ccdu;
        check ^= check >> 32;
    }
    return (cs_store_key){.key = cs_mix64(cs_hash_text(scenario) ^ salt), .check = check};
}

cs_status cs_store_open(const char *path, cs_store **store_p, cs_error *err)
{
    static const char find_sql[] = "SELECT scenario FROM results WHERE key = ?";
    cs_store         *store      = CS_NEW(cs_store, 1);

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
        cs_store_close(store);
        return status;
    }
    *store_p = store;
    return CS_OK;
}

static cs_status read_keys(cs_store *store, sqlite3_stmt *statement, cs_store_key *keys,
                           size_t capacity, size_t *n_p, cs_error *err)
{
    size_t n = 0;
    int    code;

    while ((code = sqlite3_step(statement)) == SQLITE_ROW && n < capacity) {
        const char *scenario = (const char *)sqlite3_column_text(statement, 0);
        if (scenario == NULL) {
            return cs_database_fail(&store->file, err);
        }
        keys[n]        = cs_store_key_of(scenario);
        keys[n].failed = sqlite3_column_int(statement, 1) != 0;
        n++;
    }
    *n_p = n;
    return code == SQLITE_DONE || code == SQLITE_ROW ? CS_OK : cs_database_fail(&store->file, err);
}

cs_status cs_store_keys(cs_store *store, cs_store_key **keys_p, size_t *n_p, cs_error *err)
{
    static const char sql[]     = "SELECT scenario, error IS NOT NULL FROM results ORDER BY key";
    sqlite3_stmt     *statement = NULL;
    cs_store_key     *keys      = NULL;
    int64_t           capacity  = 0;
    cs_status         status    = cs_database_execute(&store->file, "BEGIN", err);

    if (status != CS_OK) {
        return status;
    }
    status = cs_database_number(&store->file, "SELECT count(*) FROM results", &capacity, err);
    if (status == CS_OK) {
        status = cs_database_prepare(&store->file, sql, &statement, err);
    }
    if (status == CS_OK && (keys = CS_NEW(cs_store_key, (size_t)capacity)) == NULL) {
        status = CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    if (status == CS_OK) {
        status = read_keys(store, statement, keys, (size_t)capacity, n_p, err);
    }
    sqlite3_finalize(statement);
    sqlite3_exec(store->file.db, "COMMIT", NULL, NULL, NULL);
    if (status != CS_OK) {
        cs_free(keys);
        return status;
    }
    *keys_p = keys;
    return CS_OK;
}

static void key_text(const char *scenario, char text[17])
{
    snprintf(text, 17, "%016" PRIx64, cs_store_key_of(scenario).key);
}

cs_status cs_store_has(cs_store *store, const char *scenario, bool *has_p, cs_error *err)
{
    char      key[17];
    cs_status status = CS_OK;

    key_text(scenario, key);
    sqlite3_bind_text(store->find, 1, key, -1, SQLITE_STATIC);
    int         code  = sqlite3_step(store->find);
    const char *found = (const char *)sqlite3_column_text(store->find, 0);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        status = cs_database_fail(&store->file, err);
    } else if (code == SQLITE_ROW && (found == NULL || strcmp(found, scenario) != 0)) {
        status = cs_database_refuse(&store->file, err,
                                    "key %s belongs to another scenario; give another name", key);
    } else {
        *has_p = code == SQLITE_ROW;
    }
    sqlite3_reset(store->find);
    return status;
}

cs_status cs_store_begin(cs_store *store, cs_error *err)
{
    return cs_database_execute(&store->file, "BEGIN IMMEDIATE", err);
}

cs_status cs_store_commit(cs_store *store, cs_error *err)
{
    return cs_database_execute(&store->file, "COMMIT", err);
}

static int bind_TEXT(sqlite3_stmt *statement, int column, const char *value)
{
    return sqlite3_bind_text(statement, column, value, -1, SQLITE_STATIC);
}

static int bind_COUNT(sqlite3_stmt *statement, int column, uint64_t value)
{
    return value <= INT64_MAX ? sqlite3_bind_int64(statement, column, (int64_t)value)
                              : sqlite3_bind_double(statement, column, (double)value);
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

static int bind_result(sqlite3_stmt *add, const cs_result *result)
{
    int column = ADD_FIRST_COLUMN;
    int code   = SQLITE_OK;

#define X(type, key)                                    \
    if (code == SQLITE_OK) {                            \
        code = bind_##type(add, column++, result->key); \
    }
    CS_RESULT_MAP(X)
#undef X
    return code;
}

static int bind_row(sqlite3_stmt *add, const char *key, const char *scenario,
                    const cs_result *result, const char *error, const char *options)
{
    sqlite3_clear_bindings(add);
    int code = bind_TEXT(add, ADD_KEY, key);
    if (code == SQLITE_OK) {
        code = bind_TEXT(add, ADD_SCENARIO, scenario);
    }
    if (code == SQLITE_OK) {
        code = bind_TEXT(add, ADD_ERROR, error);
    }
    if (code == SQLITE_OK) {
        code = bind_TEXT(add, ADD_OPTIONS, options);
    }
    return code == SQLITE_OK && result != NULL ? bind_result(add, result) : code;
}

cs_status cs_store_add(cs_store *store, const char *scenario, const cs_result *result,
                       const char *error, cs_error *err)
{
    char      key[17];
    cs_text   options = {0};
    cs_status status  = CS_OK;

    if (result != NULL) {
        cs_options_json(&options, result->option_table, &result->options);
        status = cs_text_status(&options, err);
        error  = cs_result_is_wrong(result) ? result->verdict.text : NULL;
    }
    if (status == CS_OK) {
        key_text(scenario, key);
        bool is_bound =
            bind_row(store->add, key, scenario, result, error, options.data) == SQLITE_OK;
        if (!is_bound || sqlite3_step(store->add) != SQLITE_DONE) {
            status = cs_database_fail(&store->file, err);
        }
        sqlite3_reset(store->add);
    }
    cs_text_free(&options);
    if (status == CS_OK && sqlite3_changes(store->file.db) == 0) {
        bool has = false;
        status   = cs_store_has(store, scenario, &has, err);
    }
    return status;
}

cs_status cs_store_finish(cs_store *store, cs_error *err)
{
    if (sqlite3_exec(store->file.db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) ==
            SQLITE_OK ||
        (sqlite3_errcode(store->file.db) & 0xff) == SQLITE_BUSY) {
        return CS_OK;
    }
    return cs_database_fail(&store->file, err);
}

void cs_store_close(cs_store *store)
{
    if (store != NULL) {
        sqlite3_finalize(store->add);
        sqlite3_finalize(store->find);
        cs_database_close(&store->file);
        cs_free(store);
    }
}
