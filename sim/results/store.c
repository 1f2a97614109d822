/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/store.c -- results on disk: the table `results`. The columns and their writers come from
 * CS_RESULT_MAP; all else is results/store_table.c.
 */
#include "results/store.h"

#include "results/refused.h"
#include "results/store_table.h"

#include <math.h>

/* clang-format off */
static const cs_store_table results_table = {
    .name       = "results",
    .owner      = "scenario",
    .layout     = 2,
    .create_sql = "CREATE TABLE results (key TEXT PRIMARY KEY NOT NULL" CS_RESULT_MAP(CS_SQL_TYPED)
                  ", options TEXT, scenario TEXT NOT NULL, error TEXT) WITHOUT ROWID",
    .add_names  = "key, scenario, error, options" CS_RESULT_MAP(CS_SQL_NAMED),
    .find_names = "scenario, error",
    .is_wrong   = "error IS NOT NULL AND elapsed_s IS NOT NULL",
};
/* clang-format on */

enum { ADD_KEY = 1, ADD_SCENARIO, ADD_ERROR, ADD_OPTIONS, ADD_FIRST_COLUMN };
enum { FIND_ERROR = 1 };

cs_status cs_store_open(const char *path, const cs_store_request *request, cs_store **store_p,
                        cs_error *err)
{
    return cs_store_open_table(path, &results_table, request, store_p, err);
}

/* The columns of the result; the next one is returned, 0 where it fails. */
static int bind_result(sqlite3_stmt *add, const cs_result *result, bool is_refused)
{
    int  column   = ADD_FIRST_COLUMN;
    bool is_bound = true;

#define X(type, key)                                                                  \
    if (!is_refused || CS_IS_KNOWN_##type(result->key)) {                             \
        is_bound = is_bound && cs_bind_##type(add, column, result->key) == SQLITE_OK; \
    }                                                                                 \
    column++;
    CS_RESULT_MAP(X)
#undef X
    return is_bound ? column : 0;
}

static bool bind_row(const cs_store *store, const char *key, const cs_store_row *row,
                     const char *error, const char *options)
{
    sqlite3_stmt *add = store->add;

    sqlite3_clear_bindings(add);
    bool is_bound = cs_bind_TEXT(add, ADD_KEY, key) == SQLITE_OK &&
                    cs_bind_TEXT(add, ADD_SCENARIO, row->scenario) == SQLITE_OK &&
                    cs_bind_TEXT(add, ADD_ERROR, error) == SQLITE_OK &&
                    cs_bind_TEXT(add, ADD_OPTIONS, options) == SQLITE_OK;
    int next = is_bound ? bind_result(add, row->result, row->error != NULL) : 0;
    return next > 0 && cs_bind_values(add, next, row->values, store->n_columns);
}

cs_status cs_store_add(cs_store *store, const cs_store_row *row, cs_error *err)
{
    char             key[CS_STORE_KEY_BYTES];
    cs_text          options = {0};
    const cs_result *result  = row->result;
    const char      *error   = row->error;
    cs_status        status  = CS_OK;

    if (error == NULL) {
        cs_options_json(&options, result->option_table, &result->options);
        status = cs_text_status(&options, err);
        error  = cs_result_is_wrong(result) ? result->verdict.text : NULL;
    }
    if (status == CS_OK) {
        cs_store_key_text(cs_store_key_of(row->scenario).key, key);
        bool is_bound = bind_row(store, key, row, error, options.data);
        status        = cs_store_put(store, row->scenario, is_bound, err);
    }
    cs_text_free(&options);
    return status;
}

cs_status cs_store_error(cs_store *store, const char *scenario, cs_text *text, cs_error *err)
{
    bool      has    = false;
    cs_status status = cs_store_seek(store, scenario, &has, err);

    if (status == CS_OK && has) {
        const char *error = (const char *)sqlite3_column_text(store->find, FIND_ERROR);
        cs_text_add(text, "%s", error != NULL ? error : "");
        status = cs_text_status(text, err);
    }
    sqlite3_reset(store->find);
    return status;
}
