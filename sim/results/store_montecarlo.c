/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of many iterations on disk: see results/store_montecarlo.h. Columns, writers and readers
 * come from CS_MONTECARLO_MAP. */
#include "results/store_montecarlo.h"

#include "base/alloc.h"
#include "results/store_table.h"

#include <math.h>
#include <stdio.h>

/* clang-format off */
static const cs_store_table montecarlo_table = {
    .name       = "montecarlo",
    .owner      = "run",
    .layout     = 103,
    .create_sql = "CREATE TABLE montecarlo (key TEXT PRIMARY KEY NOT NULL"
                  CS_MONTECARLO_MAP(CS_SQL_TYPED)
                  ", scenario TEXT NOT NULL, run TEXT NOT NULL, error TEXT) WITHOUT ROWID",
    .add_names  = "key, run, scenario, error" CS_MONTECARLO_MAP(CS_SQL_NAMED),
    .find_names = "run, scenario, error" CS_MONTECARLO_MAP(CS_SQL_NAMED),
    .is_wrong   = "0",
};
/* clang-format on */

enum { ADD_KEY = 1, ADD_RUN, ADD_SCENARIO, ADD_ERROR, ADD_FIRST_COLUMN };
enum { FIND_SCENARIO = 1, FIND_ERROR, FIND_FIRST_COLUMN };

cs_status cs_montecarlo_store_open(const char *path, bool accepts_builds, cs_store **store_p,
                                   cs_error *err)
{
    const cs_store_request request = {.accepts_builds = accepts_builds};

    return cs_store_open_table(path, &montecarlo_table, &request, store_p, err);
}

static bool bind_row(sqlite3_stmt *add, const char *key, const char *run,
                     const cs_montecarlo_row *row)
{
    int column = ADD_FIRST_COLUMN;

    sqlite3_clear_bindings(add);
    bool is_bound = cs_bind_TEXT(add, ADD_KEY, key) == SQLITE_OK &&
                    cs_bind_TEXT(add, ADD_RUN, run) == SQLITE_OK &&
                    cs_bind_TEXT(add, ADD_SCENARIO, row->scenario) == SQLITE_OK &&
                    cs_bind_TEXT(add, ADD_ERROR, cs_text_or_null(row->error)) == SQLITE_OK;
#define X(type, key) \
    is_bound =       \
        is_bound && cs_bind_##type(add, column++, CS_ROW_VALUE_##type(row->key)) == SQLITE_OK;
    CS_MONTECARLO_MAP(X)
#undef X
    return is_bound;
}

static void read_TEXT(sqlite3_stmt *statement, int column, char value[CS_ROW_TEXT_BYTES])
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    snprintf(value, CS_ROW_TEXT_BYTES, "%s", text != NULL ? (const char *)text : "");
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

static cs_status read_row(const cs_store *store, cs_montecarlo_row *row_p, cs_error *err)
{
    sqlite3_stmt     *find   = store->find;
    const char       *text   = (const char *)sqlite3_column_text(find, FIND_SCENARIO);
    const char       *error  = (const char *)sqlite3_column_text(find, FIND_ERROR);
    cs_montecarlo_row row    = {0};
    int               column = FIND_FIRST_COLUMN;

    if (text == NULL) {
        return cs_database_fail(&store->file, err);
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

cs_status cs_montecarlo_store_find(cs_store *store, const char *run, cs_montecarlo_row *row_p,
                                   bool *has_p, cs_error *err)
{
    bool      has    = false;
    cs_status status = cs_store_seek(store, run, &has, err);

    if (status == CS_OK && has) {
        status = read_row(store, row_p, err);
    }
    *has_p = status == CS_OK && has;
    sqlite3_reset(store->find);
    return status;
}

cs_status cs_montecarlo_store_add(cs_store *store, const char *run, const cs_montecarlo_row *row,
                                  cs_error *err)
{
    char key[CS_STORE_KEY_BYTES];

    cs_store_key_text(cs_store_key_of(run).key, key);
    return cs_store_put(store, run, bind_row(store->add, key, run, row), err);
}
