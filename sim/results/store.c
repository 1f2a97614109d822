/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/store.c -- results on disk: the table `results`. The columns and their writers come from
 * CS_RESULT_MAP; all else is results/store_table.c.
 */
#include "results/store.h"

#include "results/json.h"
#include "results/store_table.h"

/* clang-format off */
static const cs_store_table results_table = {
    .layout     = 1,
    .create_sql = "CREATE TABLE results (key TEXT PRIMARY KEY NOT NULL" CS_RESULT_MAP(CS_SQL_TYPED)
                  ", options TEXT, scenario TEXT NOT NULL, error TEXT) WITHOUT ROWID",
    .add_sql    = "INSERT INTO results (key, scenario, error, options" CS_RESULT_MAP(CS_SQL_NAMED)
                  ") VALUES (?, ?, ?, ?" CS_RESULT_MAP(CS_SQL_PLACE) ") ON CONFLICT (key) DO NOTHING",
    .find_sql   = "SELECT scenario FROM results WHERE key = ?",
    .count_sql  = "SELECT count(*) FROM results",
    .keys_sql   = "SELECT scenario, error IS NOT NULL FROM results ORDER BY key",
    .owner      = "scenario",
};
/* clang-format on */

enum { ADD_KEY = 1, ADD_SCENARIO, ADD_ERROR, ADD_OPTIONS, ADD_FIRST_COLUMN };

cs_status cs_store_open(const char *path, cs_store **store_p, cs_error *err)
{
    return cs_store_open_table(path, &results_table, store_p, err);
}

static bool bind_result(sqlite3_stmt *add, const cs_result *result)
{
    int  column   = ADD_FIRST_COLUMN;
    bool is_bound = true;

#define X(type, key) is_bound = is_bound && cs_bind_##type(add, column++, result->key) == SQLITE_OK;
    CS_RESULT_MAP(X)
#undef X
    return is_bound;
}

static bool bind_row(sqlite3_stmt *add, const char *key, const char *scenario,
                     const cs_result *result, const char *error, const char *options)
{
    sqlite3_clear_bindings(add);
    bool is_bound = cs_bind_TEXT(add, ADD_KEY, key) == SQLITE_OK &&
                    cs_bind_TEXT(add, ADD_SCENARIO, scenario) == SQLITE_OK &&
                    cs_bind_TEXT(add, ADD_ERROR, error) == SQLITE_OK &&
                    cs_bind_TEXT(add, ADD_OPTIONS, options) == SQLITE_OK;
    return is_bound && (result == NULL || bind_result(add, result));
}

cs_status cs_store_add(cs_store *store, const char *scenario, const cs_result *result,
                       const char *error, cs_error *err)
{
    char      key[CS_STORE_KEY_BYTES];
    cs_text   options = {0};
    cs_status status  = CS_OK;

    if (result != NULL) {
        cs_options_json(&options, result->option_table, &result->options);
        status = cs_text_status(&options, err);
        error  = cs_result_is_wrong(result) ? result->verdict.text : NULL;
    }
    if (status == CS_OK) {
        cs_store_key_text(scenario, key);
        bool is_bound = bind_row(store->add, key, scenario, result, error, options.data);
        status        = cs_store_put(store, scenario, is_bound, err);
    }
    cs_text_free(&options);
    return status;
}
