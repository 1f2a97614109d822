/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file is kept in WAL mode while it is written: a transaction is one append, and a program
 * that is killed loses none that was committed (a machine that loses power may lose the last
 * ones, never the file). The tables have no rowid: their rows are ordered by key.
 * `application_id` tells our files from others, `user_version` is the number of the layout. Which
 * program made what is written in the rows themselves.
 *
 * Left out: migration from older layouts; they are refused.
 * Sources: sqlite.org/wal.html, sqlite.org/pragma.html, sqlite.org/withoutrowid.html.
 */
#include "output/store.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/random.h"
#include "cs/build.h"

#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APPLICATION_ID 0x4353494d /* "CSIM" */
#define BUSY_MS        20000
#define FIRST_CHECK    0x9e3779b97f4a7c15u

enum { KEY_BYTES = 17 }; /* in hexadecimal, as it is stored */
enum { READ_COLUMNS = 256 };

struct cs_store {
    const cs_store_table *table;
    const cs_column      *owner;     /* of the table's texts */
    size_t                n_columns; /* of the sweep */
    const char *const    *columns;   /* borrowed */
    sqlite3              *db;
    char                 *path;              /* for messages; owned */
    sqlite3_stmt         *add, *find, *fill; /* prepared; NULL until then */
    cs_arena              found;             /* texts of the row that was found */
};

/* ---- keys of rows ---- */

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

static void key_text(uint64_t key, char text[KEY_BYTES])
{
    snprintf(text, KEY_BYTES, "%016" PRIx64, key);
}

/* ---- errors ---- */

static cs_status refuse(const cs_store *store, cs_error *err, const char *format, ...)
    CS_PRINTF(3, 4);

static cs_status refuse(const cs_store *store, cs_error *err, const char *format, ...)
{
    char    message[320];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    cs_status status = CS_FAIL(err, CS_EINVAL, NULL, "%s", message);
    cs_error_locate(err, store->path, 0, 0);
    return status;
}

static cs_status refuse_damaged(const cs_store *store, const char *what, cs_error *err)
{
    return refuse(store, err, "is damaged (%s); put back a copy, or give another name", what);
}

/* Our SQL is always the same: where it makes no sense to SQLite, or a row breaks a rule, the file
 * has other tables, rules and triggers than we gave it. */
static cs_status fail(const cs_store *store, cs_error *err)
{
    const char *what   = sqlite3_errmsg(store->db);
    cs_status   status = CS_EIO;

    switch (sqlite3_extended_errcode(store->db) & 0xff) {
    case SQLITE_NOTADB: return refuse(store, err, "not a file of results; give another name");
    case SQLITE_CORRUPT: return refuse_damaged(store, what, err);
    case SQLITE_ERROR:
        return refuse(store, err, "has other tables than a file of results (%s); give another name",
                      what);
    case SQLITE_CONSTRAINT:
        return refuse(store, err,
                      "has a rule or a trigger that refuses a row (%s); give another name", what);
    case SQLITE_NOMEM: status = CS_NO_MEMORY(err, "a database"); break;
    default: status = CS_FAIL(err, CS_EIO, NULL, "%s", what); break;
    }
    cs_error_locate(err, store->path, 0, 0);
    return status;
}

/* ---- statements ---- */

static cs_status execute(const cs_store *store, const char *sql, cs_error *err)
{
    int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? CS_OK : fail(store, err);
}

static cs_status prepare(const cs_store *store, const char *sql, sqlite3_stmt **statement_p,
                         cs_error *err)
{
    int code = sqlite3_prepare_v2(store->db, sql, -1, statement_p, NULL);
    return code == SQLITE_OK ? CS_OK : fail(store, err);
}

/* The first column of the first row; 0 without a row. */
static cs_status number_of(const cs_store *store, const char *sql, int64_t *value_p, cs_error *err)
{
    sqlite3_stmt *statement = NULL;
    cs_status     status    = prepare(store, sql, &statement, err);

    if (status == CS_OK) {
        int code = sqlite3_step(statement);
        *value_p = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
        if (code != SQLITE_ROW && code != SQLITE_DONE) {
            status = fail(store, err);
        }
    }
    sqlite3_finalize(statement);
    return status;
}

/* A name in double quotes. */
static void add_name(cs_text *sql, const char *name)
{
    cs_text_add(sql, "\"");
    for (; *name != '\0'; name++) {
        cs_text_add(sql, "%s%c", *name == '"' ? "\"" : "", *name);
    }
    cs_text_add(sql, "\"");
}

/* ---- SQL that depends on the table and on the columns of the sweep ---- */

static const char *sql_type(const cs_column *column)
{
    switch (column->type) {
    case CS_COLUMN_COUNT:
    case CS_COLUMN_MAYBE:
    case CS_COLUMN_U32:
    case CS_COLUMN_BOOL: return "INTEGER";
    case CS_COLUMN_REAL: return "REAL";
    case CS_COLUMN_TEXT:
    case CS_COLUMN_CHARS:
    case CS_COLUMN_JSON: break;
    }
    return "TEXT";
}

static void add_definitions(cs_text *sql, const cs_column *columns)
{
    for (const cs_column *c = columns; c->key != NULL; c++) {
        cs_text_add(sql, ", %s %s%s", c->key, sql_type(c), c->is_required ? " NOT NULL" : "");
    }
}

static void add_names(cs_text *sql, const cs_column *columns)
{
    for (const cs_column *c = columns; c->key != NULL; c++) {
        cs_text_add(sql, ", %s", c->key);
    }
}

static void write_create(cs_text *sql, const cs_store *store)
{
    cs_text_add(sql, "CREATE TABLE %s (key TEXT PRIMARY KEY NOT NULL", store->table->name);
    add_definitions(sql, store->table->columns);
    add_definitions(sql, store->table->texts);
    cs_text_add(sql, ") WITHOUT ROWID");
}

static void write_add(cs_text *sql, const cs_store *store)
{
    const cs_store_table *t = store->table;
    size_t n = cs_columns_count(t->columns) + cs_columns_count(t->texts) + store->n_columns;

    cs_text_add(sql, "INSERT INTO %s (key", t->name);
    add_names(sql, t->columns);
    add_names(sql, t->texts);
    for (size_t i = 0; i < store->n_columns; i++) {
        cs_text_add(sql, ", ");
        add_name(sql, store->columns[i]);
    }
    cs_text_add(sql, ") VALUES (?");
    for (size_t i = 0; i < n; i++) {
        cs_text_add(sql, ", ?");
    }
    cs_text_add(sql, ") ON CONFLICT (key) DO NOTHING");
}

static void write_find(cs_text *sql, const cs_store *store)
{
    cs_text_add(sql, "SELECT %s", store->table->owner);
    add_names(sql, store->table->columns);
    add_names(sql, store->table->texts);
    cs_text_add(sql, " FROM %s WHERE key = ?", store->table->name);
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

static cs_status prepare_written(cs_store *store,
                                 void (*write)(cs_text *sql, const cs_store *store),
                                 sqlite3_stmt **statement_p, cs_error *err)
{
    cs_text sql = {0};

    write(&sql, store);
    cs_status status = cs_text_status(&sql, err);
    if (status == CS_OK) {
        status = prepare(store, sql.data, statement_p, err);
    }
    cs_text_free(&sql);
    return status;
}

/* ---- values in and out: SQLITE_OK, or SQLite's code ---- */

static int bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    return sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC);
}

static int bind_value(sqlite3_stmt *statement, int place, cs_value value)
{
    switch (value.type) {
    case CS_VALUE_NONE: return sqlite3_bind_null(statement, place);
    case CS_VALUE_BOOL:
    case CS_VALUE_WHOLE: return sqlite3_bind_int64(statement, place, value.whole);
    case CS_VALUE_COUNT:
        return value.count <= INT64_MAX
                   ? sqlite3_bind_int64(statement, place, (int64_t)value.count)
                   : sqlite3_bind_double(statement, place, (double)value.count);
    case CS_VALUE_REAL: return sqlite3_bind_double(statement, place, value.real);
    case CS_VALUE_TEXT:
    case CS_VALUE_JSON: return bind_text(statement, place, value.text);
    }
    return SQLITE_MISUSE;
}

/* The next place behind those of the row is returned; 0 where it fails. */
static int bind_row(sqlite3_stmt *statement, int place, const cs_row *row)
{
    for (const cs_column *c = row->columns; place > 0 && c->key != NULL; c++) {
        place = bind_value(statement, place, cs_row_value(row, c)) == SQLITE_OK ? place + 1 : 0;
    }
    return place;
}

static bool bind_values(sqlite3_stmt *statement, int place, const cs_value *values, size_t n)
{
    bool is_bound = true;

    for (size_t i = 0; i < n && is_bound && values != NULL; i++) {
        is_bound = bind_value(statement, place + (int)i, values[i]) == SQLITE_OK;
    }
    return is_bound;
}

/* A text that outlives the statement. */
static cs_status read_text(cs_store *store, int place, const char **member)
{
    const char *text = (const char *)sqlite3_column_text(store->find, place);

    *member = text != NULL ? cs_arena_strdup(&store->found, text) : NULL;
    return *member != NULL || sqlite3_column_type(store->find, place) == SQLITE_NULL ? CS_OK
                                                                                     : CS_ENOMEM;
}

static cs_status read_value(cs_store *store, int place, const cs_column *c, void *data)
{
    sqlite3_stmt *find    = store->find;
    void         *member  = cs_column_place(c, data);
    bool          is_null = sqlite3_column_type(find, place) == SQLITE_NULL;
    const char   *text;

    switch (c->type) {
    case CS_COLUMN_TEXT:
    case CS_COLUMN_JSON: return read_text(store, place, member);
    case CS_COLUMN_CHARS:
        text = (const char *)sqlite3_column_text(find, place);
        snprintf(member, c->bytes, "%s", text != NULL ? text : "");
        return text != NULL || is_null ? CS_OK : CS_ENOMEM;
    case CS_COLUMN_COUNT: *(uint64_t *)member = (uint64_t)sqlite3_column_int64(find, place); break;
    case CS_COLUMN_MAYBE:
        *(uint64_t *)member = is_null ? CS_NO_COUNT : (uint64_t)sqlite3_column_int64(find, place);
        break;
    case CS_COLUMN_U32: *(uint32_t *)member = (uint32_t)sqlite3_column_int64(find, place); break;
    case CS_COLUMN_REAL:
        *(double *)member = is_null ? (double)NAN : sqlite3_column_double(find, place);
        break;
    case CS_COLUMN_BOOL: *(bool *)member = sqlite3_column_int(find, place) != 0; break;
    }
    return CS_OK;
}

/* Read the columns of the row that was found into a struct; `place` is that of the first. */
static cs_status read_row(cs_store *store, int place, const cs_column *columns, void *data,
                          cs_error *err)
{
    for (const cs_column *c = columns; c->key != NULL; c++, place++) {
        if (c->is_required && sqlite3_column_type(store->find, place) == SQLITE_NULL) {
            return refuse(store, err,
                          "is damaged (a row has no %s); put back a copy, or give "
                          "another name",
                          c->key);
        }
        if (read_value(store, place, c, data) != CS_OK) {
            return CS_NO_MEMORY(err, "a row of the database");
        }
    }
    return CS_OK;
}

/* ---- opening ---- */

/* Why a file of another layout is not ours to go on with. Those of programs that did not record
 * their build have the row `version` in the table `meta`. */
static cs_status refuse_layout(const cs_store *store, int64_t layout, cs_error *err)
{
    static const char sql[] = "SELECT count(*) FROM meta WHERE name = 'version'";
    int64_t           n = 0, wanted = store->table->layout;

    CS_TRY(number_of(store, sql, &n, err));
    if (n > 0) {
        return refuse(store, err,
                      "holds results of an older collsim, which did not record its "
                      "build (layout %" PRId64 "); this is build %s, which writes "
                      "layout %" PRId64 ": give another name",
                      layout, cs_build(), wanted);
    }
    return refuse(store, err,
                  "results in layout %" PRId64 ", this program "
                  "writes layout %" PRId64 ": give another name",
                  layout, wanted);
}

static cs_status check_ours(const cs_store *store, cs_error *err)
{
    int64_t id = 0, layout = 0;

    CS_TRY(number_of(store, "PRAGMA application_id", &id, err));
    CS_TRY(number_of(store, "PRAGMA user_version", &layout, err));
    if (id != APPLICATION_ID) {
        return refuse(store, err, "a SQLite file, but not of results; give another name");
    }
    if (layout != store->table->layout) {
        return refuse_layout(store, layout, err);
    }
    return CS_OK;
}

/* All pages, also those that nobody would read today. SQLite's first line only names the database.
 */
static cs_status check_whole(const cs_store *store, cs_error *err)
{
    sqlite3_stmt *statement = NULL;
    cs_status     status    = prepare(store, "PRAGMA quick_check(1)", &statement, err);

    if (status == CS_OK && sqlite3_step(statement) != SQLITE_ROW) {
        status = fail(store, err);
    }
    const char *found = status == CS_OK ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    if (found != NULL && strcmp(found, "ok") != 0) {
        const char *second = strncmp(found, "***", 3) == 0 ? strchr(found, '\n') : NULL;
        status             = refuse_damaged(store, second != NULL ? second + 1 : found, err);
    }
    sqlite3_finalize(statement);
    return status;
}

static cs_status create_tables(const cs_store *store, cs_error *err)
{
    int64_t   layout = store->table->layout;
    cs_text   sql    = {0};
    cs_status status;

    write_create(&sql, store);
    cs_text_add(&sql,
                "; CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID; "
                "INSERT INTO meta VALUES ('schema', %" PRId64 "); PRAGMA application_id = %d; "
                "PRAGMA user_version = %" PRId64,
                layout, APPLICATION_ID, layout);
    status = cs_text_status(&sql, err);
    if (status == CS_OK) {
        status = execute(store, sql.data, err);
    }
    cs_text_free(&sql);
    return status;
}

/* Whoever comes first creates the tables, in one transaction; everybody checks them. */
static cs_status prepare_tables(const cs_store *store, cs_error *err)
{
    static const char count_sql[] = "SELECT count(*) FROM sqlite_master";
    int64_t           n_tables    = 0;

    CS_TRY(number_of(store, count_sql, &n_tables, err));
    if (n_tables == 0) {
        CS_TRY(execute(store, "BEGIN IMMEDIATE", err));
        CS_TRY(number_of(store, count_sql, &n_tables, err));
        if (n_tables == 0) {
            CS_TRY(create_tables(store, err));
        }
        CS_TRY(execute(store, "COMMIT", err));
    }
    CS_TRY(check_ours(store, err));
    return check_whole(store, err);
}

/* List the builds but this one that have written rows: "a, b". */
static cs_status list_other_builds(const cs_store *store, cs_text *others, cs_error *err)
{
    sqlite3_stmt *statement = NULL;
    char          sql[120];
    int           code = SQLITE_DONE;

    snprintf(sql, sizeof sql, "SELECT DISTINCT build FROM %s WHERE build IS NOT ? ORDER BY build",
             store->table->name);
    cs_status status = prepare(store, sql, &statement, err);
    if (status == CS_OK && bind_text(statement, 1, cs_build()) == SQLITE_OK) {
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
            const char *build = (const char *)sqlite3_column_text(statement, 0);
            cs_text_add(others, "%s%s", others->length > 0 ? ", " : "",
                        build != NULL ? build : "(unknown)");
        }
    }
    if (status == CS_OK && code != SQLITE_DONE) {
        status = fail(store, err);
    }
    sqlite3_finalize(statement);
    return status == CS_OK ? cs_text_status(others, err) : status;
}

/* Rows of other builds are numbers of other programs. */
static cs_status check_builds(const cs_store *store, cs_error *err)
{
    cs_text   others = {0};
    cs_status status = list_other_builds(store, &others, err);

    if (status == CS_OK && others.length > 0) {
        status = refuse(store, err,
                        "holds results of build %s, this is build %s: give another "
                        "name, or add to them with --accept-build (every row bears its "
                        "build)",
                        others.data, cs_build());
    }
    cs_text_free(&others);
    return status;
}

static cs_status has_column(const cs_store *store, const char *name, bool *has_p, cs_error *err)
{
    static const char sql[] =
        "SELECT count(*) FROM pragma_table_info(?) WHERE name = ? COLLATE NOCASE";
    sqlite3_stmt *statement = NULL;
    cs_status     status    = prepare(store, sql, &statement, err);

    if (status == CS_OK &&
        (bind_text(statement, 1, store->table->name) != SQLITE_OK ||
         bind_text(statement, 2, name) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW)) {
        status = fail(store, err);
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
        status = execute(store, sql.data, err);
    }
    cs_text_free(&sql);
    return status;
}

/* In one transaction: somebody else may add the same. */
static cs_status add_columns(const cs_store *store, cs_error *err)
{
    if (store->n_columns > 0) {
        CS_TRY(execute(store, "BEGIN IMMEDIATE", err));
    }
    for (size_t i = 0; i < store->n_columns; i++) {
        CS_TRY(add_column(store, store->columns[i], err));
    }
    if (store->n_columns > 0) {
        CS_TRY(execute(store, "COMMIT", err));
    }
    return CS_OK;
}

static cs_status open_file(cs_store *store, cs_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

    if (sqlite3_open_v2(store->path, &store->db, flags, NULL) != SQLITE_OK) {
        return fail(store, err);
    }
    /* The file may come from anywhere: its schema is not trusted. */
    if (sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) != SQLITE_OK) {
        return fail(store, err);
    }
    sqlite3_busy_timeout(store->db, BUSY_MS);
    CS_TRY(prepare_tables(store, err));
    return execute(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", err);
}

static cs_status open_to_read(cs_store *store, cs_error *err)
{
    int64_t n = 0;
    char    sql[120];

    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM sqlite_master WHERE name = '%s'",
                   store->table->name);
    if (sqlite3_open_v2(store->path, &store->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) != SQLITE_OK) {
        return fail(store, err);
    }
    sqlite3_busy_timeout(store->db, BUSY_MS);
    CS_TRY(number_of(store, sql, &n, err));
    if (n == 0) {
        return refuse(store, err, "a SQLite file without the table '%s'", store->table->name);
    }
    return check_ours(store, err);
}

static cs_value value_at(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        return (cs_value){.type = CS_VALUE_WHOLE, .whole = sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
        return (cs_value){.type = CS_VALUE_REAL, .real = sqlite3_column_double(statement, column)};
    case SQLITE_TEXT:
        return (cs_value){.type = CS_VALUE_TEXT,
                          .text = (const char *)sqlite3_column_text(statement, column)};
    default: return (cs_value){.type = CS_VALUE_NONE};
    }
}

/* Which column of the statement each of those that are handed out is. */
typedef struct reading {
    size_t      n;
    const char *names[READ_COLUMNS];
    int         places[READ_COLUMNS];
    cs_value    values[READ_COLUMNS];
} reading;

static cs_status name_columns(const cs_store *store, sqlite3_stmt *statement, reading *r,
                              cs_error *err)
{
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        const char *name = sqlite3_column_name(statement, i);
        if (name == NULL) {
            return CS_NO_MEMORY(err, "a database");
        }
        if (strcmp(name, "key") == 0) {
            continue;
        }
        if (r->n == READ_COLUMNS) {
            return refuse(store, err, "more than %d columns", READ_COLUMNS);
        }
        r->places[r->n]  = i;
        r->names[r->n++] = name;
    }
    return CS_OK;
}

static cs_status read_rows(const cs_store *store, cs_store_visit *visit, void *user, cs_error *err)
{
    sqlite3_stmt *statement = NULL;
    reading       r         = {.n = 0};
    char          sql[80];
    int           code = SQLITE_DONE;

    (void)snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY key", store->table->name);
    cs_status status = prepare(store, sql, &statement, err);
    if (status == CS_OK) {
        status = name_columns(store, statement, &r, err);
    }
    while (status == CS_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (size_t i = 0; i < r.n; i++) {
            r.values[i] = value_at(statement, r.places[i]);
        }
        status = visit(user, r.names, r.values, r.n, err);
    }
    if (status == CS_OK && code != SQLITE_DONE) {
        status = fail(store, err);
    }
    sqlite3_finalize(statement);
    return status;
}

cs_status cs_store_read(const char *path, const cs_store_table *table, cs_store_visit *visit,
                        void *user, cs_error *err)
{
    cs_store  store  = {.table = table, .path = cs_strdup(path)};
    cs_status status = store.path == NULL ? CS_NO_MEMORY(err, "a database") : CS_OK;

    if (status == CS_OK) {
        status = open_to_read(&store, err);
    }
    if (status == CS_OK) {
        status = read_rows(&store, visit, user, err);
    }
    sqlite3_close(store.db);
    cs_free(store.path);
    return status;
}

static cs_status prepare_statements(cs_store *store, cs_error *err)
{
    CS_TRY(prepare_written(store, write_add, &store->add, err));
    CS_TRY(prepare_written(store, write_find, &store->find, err));
    return prepare_written(store, write_fill, &store->fill, err);
}

static cs_status open_store(cs_store *store, bool accepts_builds, cs_error *err)
{
    CS_TRY(open_file(store, err));
    if (!accepts_builds) {
        CS_TRY(check_builds(store, err));
    }
    CS_TRY(add_columns(store, err));
    return prepare_statements(store, err);
}

cs_status cs_store_open(const char *path, const cs_store_table *table,
                        const cs_store_request *request, cs_store **store_p, cs_error *err)
{
    cs_store *store = CS_NEW(cs_store, 1);

    if (store == NULL || (store->path = cs_strdup(path)) == NULL) {
        cs_free(store);
        return CS_NO_MEMORY(err, "a database");
    }
    store->table     = table;
    store->n_columns = request->n_columns;
    store->columns   = request->columns;
    for (store->owner = table->texts; strcmp(store->owner->key, table->owner) != 0;) {
        store->owner++;
    }
    cs_status status = open_store(store, request->accepts_builds, err);
    if (status != CS_OK) {
        cs_store_close(store);
        return status;
    }
    *store_p = store;
    return CS_OK;
}

void cs_store_close(cs_store *store)
{
    if (store != NULL) {
        sqlite3_finalize(store->add);
        sqlite3_finalize(store->find);
        sqlite3_finalize(store->fill);
        sqlite3_close(store->db);
        cs_arena_free(&store->found);
        cs_free(store->path);
        cs_free(store);
    }
}

/* ---- all keys ---- */

static cs_status refuse_key(const cs_store *store, const char *key, cs_error *err)
{
    return refuse(store, err,
                  "key %s belongs to another %s: the file was damaged or edited; put "
                  "back a copy, or give another name",
                  key, store->table->owner);
}

static cs_status step_keys(cs_store *store, sqlite3_stmt *statement, cs_store_key *keys,
                           size_t capacity, size_t *n_p, cs_error *err)
{
    size_t n = 0;
    int    code;

    while ((code = sqlite3_step(statement)) == SQLITE_ROW && n < capacity) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        const char *key  = (const char *)sqlite3_column_text(statement, 1);
        char        wanted[KEY_BYTES];
        if (text == NULL || key == NULL) {
            return fail(store, err);
        }
        keys[n]               = cs_store_key_of(text);
        keys[n].is_wrong      = sqlite3_column_int(statement, 2) != 0;
        keys[n].is_refused    = sqlite3_column_int(statement, 3) != 0;
        keys[n].is_incomplete = sqlite3_column_int(statement, 4) != 0;
        key_text(keys[n].key, wanted);
        if (strcmp(key, wanted) != 0) {
            return refuse_key(store, wanted, err);
        }
        n++;
    }
    *n_p = n;
    return code == SQLITE_DONE || code == SQLITE_ROW ? CS_OK : fail(store, err);
}

/* In a transaction, so that nobody adds rows between the count and the keys. *statement_p and
 * *keys_p are set, also where it fails. */
static cs_status read_keys(cs_store *store, sqlite3_stmt **statement_p, cs_store_key **keys_p,
                           size_t *n_p, cs_error *err)
{
    int64_t capacity = 0;
    char    sql[64];

    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", store->table->name);
    CS_TRY(number_of(store, sql, &capacity, err));
    CS_TRY(prepare_written(store, write_keys, statement_p, err));
    *keys_p = CS_NEW(cs_store_key, (size_t)capacity);
    return *keys_p == NULL ? CS_NO_MEMORY(err, "%zu keys", (size_t)capacity)
                           : step_keys(store, *statement_p, *keys_p, (size_t)capacity, n_p, err);
}

cs_status cs_store_keys(cs_store *store, cs_store_key **keys_p, size_t *n_p, cs_error *err)
{
    sqlite3_stmt *statement = NULL;
    cs_store_key *keys      = NULL;

    CS_TRY(execute(store, "BEGIN", err));
    cs_status status = read_keys(store, &statement, &keys, n_p, err);
    sqlite3_finalize(statement);
    sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
    if (status != CS_OK) {
        cs_free(keys);
        return status;
    }
    *keys_p = keys;
    return CS_OK;
}

/* ---- rows ---- */

/* Step `find` to the row; sqlite3_reset() it in every case. */
static cs_status seek(cs_store *store, uint64_t key, const char *text, bool *has_p, cs_error *err)
{
    char hexadecimal[KEY_BYTES];

    key_text(key, hexadecimal);
    *has_p = false;
    if (sqlite3_bind_text(store->find, 1, hexadecimal, -1, SQLITE_TRANSIENT) != SQLITE_OK) {
        return fail(store, err);
    }
    int         code  = sqlite3_step(store->find);
    const char *found = (const char *)sqlite3_column_text(store->find, 0);
    if ((code != SQLITE_ROW && code != SQLITE_DONE) || (code == SQLITE_ROW && found == NULL)) {
        return fail(store, err);
    }
    if (code == SQLITE_ROW && text != NULL && strcmp(found, text) != 0) {
        return refuse_key(store, hexadecimal, err);
    }
    *has_p = code == SQLITE_ROW;
    return CS_OK;
}

cs_status cs_store_find(cs_store *store, uint64_t key, const char *text, void *columns, void *texts,
                        bool *has_p, cs_error *err)
{
    const cs_store_table *t      = store->table;
    bool                  has    = false;
    cs_status             status = seek(store, key, text, &has, err);

    cs_arena_free(&store->found);
    if (status == CS_OK && has && columns != NULL) {
        status = read_row(store, 1, t->columns, columns, err);
    }
    if (status == CS_OK && has && texts != NULL) {
        int n_columns = (int)cs_columns_count(t->columns);
        status        = read_row(store, 1 + n_columns, t->texts, texts, err);
    }
    sqlite3_reset(store->find);
    *has_p = status == CS_OK ? has : *has_p;
    return status;
}

static cs_status refuse_loss(const cs_store *store, cs_error *err)
{
    return refuse(store, err,
                  "a row that was written is not there: a trigger in the file drops it; "
                  "give another name");
}

static bool bind_new(const cs_store *store, const char *key, const cs_store_row *row)
{
    const cs_store_table *t     = store->table;
    sqlite3_stmt         *add   = store->add;
    int                   place = bind_text(add, 1, key) == SQLITE_OK ? 2 : 0;

    place = bind_row(add, place, &(cs_row){t->columns, row->columns, row->is_partial});
    place = bind_row(add, place, &(cs_row){t->texts, row->texts, false});
    return place > 0 && bind_values(add, place, row->values, store->n_columns);
}

/* Where one row was changed, it is the new one. Else it was there before, or triggers did
 * something, too. */
cs_status cs_store_add(cs_store *store, const cs_store_row *row, cs_error *err)
{
    const cs_row texts  = {store->table->texts, row->texts, false};
    const char  *text   = cs_row_value(&texts, store->owner).text;
    uint64_t     key    = cs_store_key_of(text).key;
    unsigned     before = (unsigned)sqlite3_total_changes(store->db);
    cs_status    status = CS_OK;
    bool         has    = false;
    char         hexadecimal[KEY_BYTES];

    key_text(key, hexadecimal);
    sqlite3_clear_bindings(store->add);
    if (!bind_new(store, hexadecimal, row) || sqlite3_step(store->add) != SQLITE_DONE) {
        status = fail(store, err);
    }
    sqlite3_reset(store->add);
    if (status != CS_OK || (unsigned)sqlite3_total_changes(store->db) == before + 1) {
        return status;
    }
    status = cs_store_find(store, key, text, NULL, NULL, &has, err);
    return status == CS_OK && !has ? refuse_loss(store, err) : status;
}

cs_status cs_store_fill(cs_store *store, uint64_t key, const cs_value *values, cs_error *err)
{
    char      text[KEY_BYTES];
    cs_status status = CS_OK;

    key_text(key, text);
    if (!bind_values(store->fill, 1, values, store->n_columns) ||
        bind_text(store->fill, (int)store->n_columns + 1, text) != SQLITE_OK ||
        sqlite3_step(store->fill) != SQLITE_DONE) {
        status = fail(store, err);
    } else if (sqlite3_changes(store->db) == 0) {
        status = refuse_loss(store, err);
    }
    sqlite3_reset(store->fill);
    return status;
}

cs_status cs_store_begin(cs_store *store, cs_error *err)
{
    return execute(store, "BEGIN IMMEDIATE", err);
}

cs_status cs_store_commit(cs_store *store, cs_error *err)
{
    return execute(store, "COMMIT", err);
}

cs_status cs_store_finish(cs_store *store, cs_error *err)
{
    if (sqlite3_exec(store->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) == SQLITE_OK ||
        (sqlite3_errcode(store->db) & 0xff) == SQLITE_BUSY) {
        return CS_OK;
    }
    return fail(store, err);
}
