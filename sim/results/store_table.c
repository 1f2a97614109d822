/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/store_table.c -- the table under a store: see results/store_table.h.
 *
 * The file is kept in WAL mode while it is written: a transaction is one append, and a program
 * that is killed loses none that was committed (a machine that loses power may lose the last
 * ones, never the file). The tables have no rowid: their rows are ordered by key.
 *
 * Left out: migration from older layouts; they are refused.
 * Source: sqlite.org/withoutrowid.html.
 */
#include "results/store_table.h"

#include "base/alloc.h"
#include "base/random.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cs_store_key cs_store_key_of(const char *text)
{
    static const char version[] = COLLSIM_VERSION;
    uint64_t          salt      = cs_mix64(cs_hash_text(version));
    uint64_t          check     = salt;

    for (const char *c = text; *c != '\0'; c++) {
        check = (check ^ (unsigned char)*c) * 0xff51afd7ed558ccdu;
        check ^= check >> 32;
    }
    return (cs_store_key){.key = cs_mix64(cs_hash_text(text) ^ salt), .check = check};
}

static int compare_keys(const void *left, const void *right)
{
    const cs_store_key *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

const cs_store_key *cs_store_key_find(const cs_store_key *keys, size_t n, uint64_t key)
{
    cs_store_key wanted = {.key = key};
    return n > 0 ? bsearch(&wanted, keys, n, sizeof *keys, compare_keys) : NULL;
}

void cs_store_key_text(const char *text, char key[CS_STORE_KEY_BYTES])
{
    snprintf(key, CS_STORE_KEY_BYTES, "%016" PRIx64, cs_store_key_of(text).key);
}

cs_status cs_store_open_table(const char *path, const cs_store_table *table, cs_store **store_p,
                              cs_error *err)
{
    cs_store *store = CS_NEW(cs_store, 1);

    if (store == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    store->table     = table;
    cs_status status = cs_database_open(&store->file, path, table->create_sql, table->layout, err);
    if (status == CS_OK) {
        status = cs_database_prepare(&store->file, table->add_sql, &store->add, err);
    }
    if (status == CS_OK) {
        status = cs_database_prepare(&store->file, table->find_sql, &store->find, err);
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
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        if (text == NULL) {
            return cs_database_fail(&store->file, err);
        }
        keys[n]        = cs_store_key_of(text);
        keys[n].failed = sqlite3_column_int(statement, 1) != 0;
        n++;
    }
    *n_p = n;
    return code == SQLITE_DONE || code == SQLITE_ROW ? CS_OK : cs_database_fail(&store->file, err);
}

cs_status cs_store_keys(cs_store *store, cs_store_key **keys_p, size_t *n_p, cs_error *err)
{
    sqlite3_stmt *statement = NULL;
    cs_store_key *keys      = NULL;
    int64_t       capacity  = 0;
    cs_status     status    = cs_database_execute(&store->file, "BEGIN", err);

    if (status != CS_OK) {
        return status;
    }
    status = cs_database_number(&store->file, store->table->count_sql, &capacity, err);
    if (status == CS_OK) {
        status = cs_database_prepare(&store->file, store->table->keys_sql, &statement, err);
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

cs_status cs_store_seek(cs_store *store, const char *text, bool *has_p, cs_error *err)
{
    cs_store_key_text(text, store->key);
    sqlite3_bind_text(store->find, 1, store->key, -1, SQLITE_STATIC);
    int         code  = sqlite3_step(store->find);
    const char *found = (const char *)sqlite3_column_text(store->find, 0);
    *has_p            = false;
    if ((code != SQLITE_ROW && code != SQLITE_DONE) || (code == SQLITE_ROW && found == NULL)) {
        return cs_database_fail(&store->file, err);
    }
    if (code == SQLITE_ROW && strcmp(found, text) != 0) {
        return cs_database_refuse(&store->file, err,
                                  "key %s belongs to another %s; give another name", store->key,
                                  store->table->owner);
    }
    *has_p = code == SQLITE_ROW;
    return CS_OK;
}

cs_status cs_store_has(cs_store *store, const char *text, bool *has_p, cs_error *err)
{
    bool      has    = false;
    cs_status status = cs_store_seek(store, text, &has, err);

    sqlite3_reset(store->find);
    *has_p = status == CS_OK ? has : *has_p;
    return status;
}

cs_status cs_store_put(cs_store *store, const char *text, bool is_bound, cs_error *err)
{
    cs_status status = CS_OK;
    bool      has    = false;

    if (!is_bound || sqlite3_step(store->add) != SQLITE_DONE) {
        status = cs_database_fail(&store->file, err);
    }
    sqlite3_reset(store->add);
    return status == CS_OK && sqlite3_changes(store->file.db) == 0
               ? cs_store_has(store, text, &has, err)
               : status;
}

cs_status cs_store_begin(cs_store *store, cs_error *err)
{
    return cs_database_execute(&store->file, "BEGIN IMMEDIATE", err);
}

cs_status cs_store_commit(cs_store *store, cs_error *err)
{
    return cs_database_execute(&store->file, "COMMIT", err);
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

int cs_bind_TEXT(sqlite3_stmt *statement, int column, const char *value)
{
    return sqlite3_bind_text(statement, column, value, -1, SQLITE_STATIC);
}

int cs_bind_COUNT(sqlite3_stmt *statement, int column, uint64_t value)
{
    return value <= INT64_MAX ? sqlite3_bind_int64(statement, column, (int64_t)value)
                              : sqlite3_bind_double(statement, column, (double)value);
}

int cs_bind_REAL(sqlite3_stmt *statement, int column, double value)
{
    return isfinite(value) ? sqlite3_bind_double(statement, column, value)
                           : sqlite3_bind_null(statement, column);
}

int cs_bind_BOOL(sqlite3_stmt *statement, int column, bool value)
{
    return sqlite3_bind_int(statement, column, value ? 1 : 0);
}
