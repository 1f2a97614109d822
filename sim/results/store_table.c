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
#include "cs/build.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CHECK 0x9e3779b97f4a7c15u

/* Neither hash knows the build: a row is the scenario's, whoever made it. */
cs_store_key cs_store_key_of(const char *text)
{
    uint64_t check = FIRST_CHECK;

    for (const char *c = text; *c != '\0'; c++) {
        check = (check ^ (unsigned char)*c) * 0xff51afd7ed558ccdu;
        check ^= check >> 32;
    }
    return (cs_store_key){.key = cs_mix64(cs_hash_text(text)), .check = check};
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

void cs_store_key_text(uint64_t key, char text[CS_STORE_KEY_BYTES])
{
    snprintf(text, CS_STORE_KEY_BYTES, "%016" PRIx64, key);
}

/* ---- SQL that depends on the table and on the columns of the sweep ---- */

/* A name in double quotes. */
static void add_name(cs_text *sql, const char *name)
{
    cs_text_add(sql, "\"");
    for (; *name != '\0'; name++) {
        cs_text_add(sql, "%s%c", *name == '"' ? "\"" : "", *name);
    }
    cs_text_add(sql, "\"");
}

/* One place for each of the columns of a map, and of the sweep. */
static void add_places(cs_text *sql, const char *names, size_t n_columns)
{
    for (const char *c = names; c != NULL; c = strchr(c + 1, ',')) {
        cs_text_add(sql, "%s?", c == names ? "" : ", ");
    }
    for (size_t i = 0; i < n_columns; i++) {
        cs_text_add(sql, ", ?");
    }
}

static void write_add(cs_text *sql, const cs_store *store)
{
    const cs_store_table *t = store->table;

    cs_text_add(sql, "INSERT INTO %s (%s", t->name, t->add_names);
    for (size_t i = 0; i < store->n_columns; i++) {
        cs_text_add(sql, ", ");
        add_name(sql, store->columns[i]);
    }
    cs_text_add(sql, ") VALUES (");
    add_places(sql, t->add_names, store->n_columns);
    cs_text_add(sql, ") ON CONFLICT (key) DO NOTHING");
}

static void write_find(cs_text *sql, const cs_store *store)
{
    cs_text_add(sql, "SELECT %s FROM %s WHERE key = ?", store->table->find_names,
                store->table->name);
}

static void write_fill(cs_text *sql, const cs_store *store)
{
    cs_text_add(sql, "UPDATE %s SET ", store->table->name);
    for (size_t i = 0; i < store->n_columns; i++) {
        cs_text_add(sql, "%s", i > 0 ? ", " : "");
        add_name(sql, store->columns[i]);
        cs_text_add(sql, " = ?");
    }
    cs_text_add(sql, "%s WHERE key = ?", store->n_columns == 0 ? "key = key" : "");
}

/* Text, key, is it wrong, is it refused, does it lack something: of all rows, by key. Of a scenario
 * that could not be built nothing is known, so that it lacks nothing. */
static void write_keys(cs_text *sql, const cs_store *store)
{
    const cs_store_table *t = store->table;

    cs_text_add(sql,
                "SELECT %s, key, %s, error IS NOT NULL AND NOT (%s), algorithm IS NOT NULL AND (0",
                t->owner, t->is_wrong, t->is_wrong);
    for (size_t i = 0; i < store->n_columns; i++) {
        cs_text_add(sql, " OR ");
        add_name(sql, store->columns[i]);
        cs_text_add(sql, " IS NULL");
    }
    cs_text_add(sql, ") FROM %s ORDER BY key", t->name);
}

static cs_status prepare(cs_store      *store, void (*write)(cs_text *sql, const cs_store *store),
                         sqlite3_stmt **statement_p, cs_error *err)
{
    cs_text sql = {0};

    write(&sql, store);
    cs_status status = cs_text_status(&sql, err);
    if (status == CS_OK) {
        status = cs_database_prepare(&store->file, sql.data, statement_p, err);
    }
    cs_text_free(&sql);
    return status;
}

/* ---- opening ---- */

/* Rows of other builds are numbers of other programs. */
static cs_status check_builds(const cs_store *store, cs_error *err)
{
    sqlite3_stmt *statement = NULL;
    cs_text       others    = {0};
    char          sql[120];
    int           code = SQLITE_DONE;

    snprintf(sql, sizeof sql, "SELECT DISTINCT build FROM %s WHERE build IS NOT ? ORDER BY build",
             store->table->name);
    cs_status status = cs_database_prepare(&store->file, sql, &statement, err);
    if (status == CS_OK && cs_bind_TEXT(statement, 1, cs_build()) == SQLITE_OK) {
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
            const char *build = (const char *)sqlite3_column_text(statement, 0);
            cs_text_add(&others, "%s%s", others.length > 0 ? ", " : "",
                        build != NULL ? build : "(unknown)");
        }
    }
    if (status == CS_OK && code != SQLITE_DONE) {
        status = cs_database_fail(&store->file, err);
    }
    sqlite3_finalize(statement);
    if (status == CS_OK && others.length > 0) {
        status = cs_database_refuse(&store->file, err,
                                    "holds results of build %s, this is build %s: give another "
                                    "name, or add to them with --accept-build (every row bears its "
                                    "build)",
                                    others.data, cs_build());
    }
    status = status == CS_OK ? cs_text_status(&others, err) : status;
    cs_text_free(&others);
    return status;
}

static cs_status has_column(const cs_store *store, const char *name, bool *has_p, cs_error *err)
{
    static const char sql[] =
        "SELECT count(*) FROM pragma_table_info(?) WHERE name = ? COLLATE NOCASE";
    sqlite3_stmt *statement = NULL;
    cs_status     status    = cs_database_prepare(&store->file, sql, &statement, err);

    if (status == CS_OK &&
        (cs_bind_TEXT(statement, 1, store->table->name) != SQLITE_OK ||
         cs_bind_TEXT(statement, 2, name) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW)) {
        status = cs_database_fail(&store->file, err);
    }
    *has_p = status == CS_OK && sqlite3_column_int(statement, 0) > 0;
    sqlite3_finalize(statement);
    return status;
}

static cs_status add_column(const cs_store *store, const char *name, cs_error *err)
{
    cs_text   sql    = {0};
    bool      has    = false;
    cs_status status = has_column(store, name, &has, err);

    if (status == CS_OK && !has) {
        cs_text_add(&sql, "ALTER TABLE %s ADD COLUMN ", store->table->name);
        add_name(&sql, name);
        status = cs_text_status(&sql, err);
    }
    if (status == CS_OK && !has) {
        status = cs_database_execute(&store->file, sql.data, err);
    }
    cs_text_free(&sql);
    return status;
}

/* In one transaction: somebody else may add the same. */
static cs_status add_columns(const cs_store *store, cs_error *err)
{
    cs_status status =
        store->n_columns > 0 ? cs_database_execute(&store->file, "BEGIN IMMEDIATE", err) : CS_OK;

    for (size_t i = 0; i < store->n_columns && status == CS_OK; i++) {
        status = add_column(store, store->columns[i], err);
    }
    if (status == CS_OK && store->n_columns > 0) {
        status = cs_database_execute(&store->file, "COMMIT", err);
    }
    return status;
}

cs_status cs_store_open_table(const char *path, const cs_store_table *table,
                              const cs_store_request *request, cs_store **store_p, cs_error *err)
{
    cs_store *store = CS_NEW(cs_store, 1);

    if (store == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    store->table     = table;
    store->n_columns = request->n_columns;
    store->columns   = request->columns;
    cs_status status = cs_database_open(&store->file, path, table->create_sql, table->layout, err);
    if (status == CS_OK && !request->accepts_builds) {
        status = check_builds(store, err);
    }
    if (status == CS_OK) {
        status = add_columns(store, err);
    }
    if (status == CS_OK) {
        status = prepare(store, write_add, &store->add, err);
    }
    if (status == CS_OK) {
        status = prepare(store, write_find, &store->find, err);
    }
    if (status == CS_OK) {
        status = prepare(store, write_fill, &store->fill, err);
    }
    if (status != CS_OK) {
        cs_store_close(store);
        return status;
    }
    *store_p = store;
    return CS_OK;
}

/* ---- keys ---- */

static cs_status refuse_key(const cs_store *store, const char *key, cs_error *err)
{
    return cs_database_refuse(&store->file, err,
                              "key %s belongs to another %s: the file was damaged or edited; put "
                              "back a copy, or give another name",
                              key, store->table->owner);
}

static cs_status read_keys(cs_store *store, sqlite3_stmt *statement, cs_store_key *keys,
                           size_t capacity, size_t *n_p, cs_error *err)
{
    size_t n = 0;
    int    code;

    while ((code = sqlite3_step(statement)) == SQLITE_ROW && n < capacity) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        const char *key  = (const char *)sqlite3_column_text(statement, 1);
        char        wanted[CS_STORE_KEY_BYTES];
        if (text == NULL || key == NULL) {
            return cs_database_fail(&store->file, err);
        }
        keys[n]            = cs_store_key_of(text);
        keys[n].is_wrong   = sqlite3_column_int(statement, 2) != 0;
        keys[n].is_refused = sqlite3_column_int(statement, 3) != 0;
        keys[n].lacks      = sqlite3_column_int(statement, 4) != 0;
        cs_store_key_text(keys[n].key, wanted);
        if (strcmp(key, wanted) != 0) {
            return refuse_key(store, wanted, err);
        }
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
    char          sql[64];
    cs_status     status = cs_database_execute(&store->file, "BEGIN", err);

    if (status != CS_OK) {
        return status;
    }
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", store->table->name);
    status = cs_database_number(&store->file, sql, &capacity, err);
    if (status == CS_OK) {
        status = prepare(store, write_keys, &statement, err);
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
    cs_store_key_text(cs_store_key_of(text).key, store->key);
    sqlite3_bind_text(store->find, 1, store->key, -1, SQLITE_STATIC);
    int         code  = sqlite3_step(store->find);
    const char *found = (const char *)sqlite3_column_text(store->find, 0);
    *has_p            = false;
    if ((code != SQLITE_ROW && code != SQLITE_DONE) || (code == SQLITE_ROW && found == NULL)) {
        return cs_database_fail(&store->file, err);
    }
    if (code == SQLITE_ROW && strcmp(found, text) != 0) {
        return refuse_key(store, store->key, err);
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

static cs_status refuse_loss(const cs_store *store, cs_error *err)
{
    return cs_database_refuse(
        &store->file, err,
        "a row that was written is not there: a trigger in the file drops it; "
        "give another name");
}

/* Where one row was changed, it is the new one. Else it was there before, or triggers did
 * something, too. */
cs_status cs_store_put(cs_store *store, const char *text, bool is_bound, cs_error *err)
{
    unsigned  before = (unsigned)sqlite3_total_changes(store->file.db);
    cs_status status = CS_OK;
    bool      has    = false;

    if (!is_bound || sqlite3_step(store->add) != SQLITE_DONE) {
        status = cs_database_fail(&store->file, err);
    }
    sqlite3_reset(store->add);
    if (status != CS_OK || (unsigned)sqlite3_total_changes(store->file.db) == before + 1) {
        return status;
    }
    status = cs_store_has(store, text, &has, err);
    return status == CS_OK && !has ? refuse_loss(store, err) : status;
}

cs_status cs_store_fill(cs_store *store, uint64_t key, const cs_value *values, cs_error *err)
{
    char      text[CS_STORE_KEY_BYTES];
    cs_status status = CS_OK;

    cs_store_key_text(key, text);
    if (!cs_bind_values(store->fill, 1, values, store->n_columns) ||
        cs_bind_TEXT(store->fill, (int)store->n_columns + 1, text) != SQLITE_OK ||
        sqlite3_step(store->fill) != SQLITE_DONE) {
        status = cs_database_fail(&store->file, err);
    } else if (sqlite3_changes(store->file.db) == 0) {
        status = refuse_loss(store, err);
    }
    sqlite3_reset(store->fill);
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
        sqlite3_finalize(store->fill);
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

static int bind_value(sqlite3_stmt *statement, int column, const cs_value *value)
{
    switch (value->type) {
    case CS_VALUE_NONE: return sqlite3_bind_null(statement, column);
    case CS_VALUE_BOOL:
    case CS_VALUE_WHOLE: return sqlite3_bind_int64(statement, column, value->whole);
    case CS_VALUE_REAL: return cs_bind_REAL(statement, column, value->real);
    case CS_VALUE_TEXT:
    case CS_VALUE_JSON: return cs_bind_TEXT(statement, column, value->text);
    }
    return SQLITE_MISUSE;
}

bool cs_bind_values(sqlite3_stmt *statement, int column, const cs_value *values, size_t n)
{
    bool is_bound = true;

    for (size_t i = 0; i < n && is_bound && values != NULL; i++) {
        is_bound = bind_value(statement, column + (int)i, &values[i]) == SQLITE_OK;
    }
    return is_bound;
}
