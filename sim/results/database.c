/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/database.c -- the SQLite file under a store.
 *
 * `application_id` tells our files from others, `user_version` is the number of the layout. Which
 * program made what is written in the rows themselves (results/store_table.c).
 *
 * Sources: sqlite.org/wal.html, sqlite.org/pragma.html.
 */
#include "results/database.h"

#include "base/alloc.h"
#include "cs/build.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define APPLICATION_ID 0x4353494d /* "CSIM" */
#define BUSY_MS        20000

static cs_status refuse_damaged(const cs_database *database, const char *what, cs_error *err)
{
    return cs_database_refuse(database, err,
                              "is damaged (%s); put back a copy, or give another name", what);
}

/* Our SQL is always the same: where it makes no sense to SQLite, or a row breaks a rule, the file
 * has other tables, rules and triggers than we gave it. */
cs_status cs_database_fail(const cs_database *database, cs_error *err)
{
    const char *what   = sqlite3_errmsg(database->db);
    cs_status   status = CS_EIO;

    switch (sqlite3_extended_errcode(database->db) & 0xff) {
    case SQLITE_NOTADB:
        return cs_database_refuse(database, err, "not a file of results; give another name");
    case SQLITE_CORRUPT: return refuse_damaged(database, what, err);
    case SQLITE_ERROR:
        return cs_database_refuse(
            database, err, "has other tables than a file of results (%s); give another name", what);
    case SQLITE_CONSTRAINT:
        return cs_database_refuse(
            database, err, "has a rule or a trigger that refuses a row (%s); give another name",
            what);
    case SQLITE_NOMEM: status = CS_FAIL(err, CS_ENOMEM, NULL, "out of memory"); break;
    default: status = CS_FAIL(err, CS_EIO, NULL, "%s", what); break;
    }
    cs_error_locate(err, database->path, 0, 0);
    return status;
}

cs_status cs_database_refuse(const cs_database *database, cs_error *err, const char *format, ...)
{
    char    message[320];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    cs_status status = CS_FAIL(err, CS_EINVAL, NULL, "%s", message);
    cs_error_locate(err, database->path, 0, 0);
    return status;
}

cs_status cs_database_execute(const cs_database *database, const char *sql, cs_error *err)
{
    int code = sqlite3_exec(database->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? CS_OK : cs_database_fail(database, err);
}

cs_status cs_database_prepare(const cs_database *database, const char *sql,
                              sqlite3_stmt **statement_p, cs_error *err)
{
    int code = sqlite3_prepare_v2(database->db, sql, -1, statement_p, NULL);
    return code == SQLITE_OK ? CS_OK : cs_database_fail(database, err);
}

cs_status cs_database_number(const cs_database *database, const char *sql, int64_t *value_p,
                             cs_error *err)
{
    sqlite3_stmt *statement = NULL;
    cs_status     status    = cs_database_prepare(database, sql, &statement, err);

    if (status == CS_OK) {
        int code = sqlite3_step(statement);
        *value_p = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
        if (code != SQLITE_ROW && code != SQLITE_DONE) {
            status = cs_database_fail(database, err);
        }
    }
    sqlite3_finalize(statement);
    return status;
}

/* Why a file of another layout is not ours to go on with. Those of programs that did not record
 * their build have the row `version` in the table `meta`. */
static cs_status refuse_layout(const cs_database *database, int64_t layout, int64_t wanted,
                               cs_error *err)
{
    static const char sql[]  = "SELECT count(*) FROM meta WHERE name = 'version'";
    int64_t           n      = 0;
    cs_status         status = cs_database_number(database, sql, &n, err);

    if (status == CS_OK && n > 0) {
        return cs_database_refuse(database, err,
                                  "holds results of an older collsim, which did not record its "
                                  "build (layout %" PRId64 "); this is build %s, which writes "
                                  "layout %" PRId64 ": give another name",
                                  layout, cs_build(), wanted);
    }
    return status == CS_OK ? cs_database_refuse(database, err,
                                                "results in layout %" PRId64 ", this program "
                                                "writes layout %" PRId64 ": give another name",
                                                layout, wanted)
                           : status;
}

static cs_status check_ours(const cs_database *database, int64_t wanted, cs_error *err)
{
    int64_t   id = 0, layout = 0;
    cs_status status = cs_database_number(database, "PRAGMA application_id", &id, err);

    if (status == CS_OK) {
        status = cs_database_number(database, "PRAGMA user_version", &layout, err);
    }
    if (status == CS_OK && id != APPLICATION_ID) {
        return cs_database_refuse(database, err,
                                  "a SQLite file, but not of results; give another name");
    }
    if (status == CS_OK && layout != wanted) {
        return refuse_layout(database, layout, wanted, err);
    }
    return status;
}

/* All pages, also those that nobody would read today. SQLite's first line only names the database.
 */
static cs_status check_whole(const cs_database *database, cs_error *err)
{
    sqlite3_stmt *statement = NULL;
    cs_status     status = cs_database_prepare(database, "PRAGMA quick_check(1)", &statement, err);

    if (status == CS_OK && sqlite3_step(statement) != SQLITE_ROW) {
        status = cs_database_fail(database, err);
    }
    const char *found = status == CS_OK ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    if (found != NULL && strcmp(found, "ok") != 0) {
        const char *second = strncmp(found, "***", 3) == 0 ? strchr(found, '\n') : NULL;
        status             = refuse_damaged(database, second != NULL ? second + 1 : found, err);
    }
    sqlite3_finalize(statement);
    return status;
}

static cs_status create_tables(const cs_database *database, const char *create_sql, int64_t layout,
                               cs_error *err)
{
    char      marks[120];
    cs_status status = cs_database_execute(database, create_sql, err);

    if (status == CS_OK) {
        status = cs_database_execute(database,
                                     "CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value)"
                                     " WITHOUT ROWID",
                                     err);
    }
    if (status == CS_OK) {
        snprintf(marks, sizeof marks,
                 "INSERT INTO meta VALUES ('schema', %" PRId64 "); PRAGMA application_id = %d; "
                 "PRAGMA user_version = %" PRId64,
                 layout, APPLICATION_ID, layout);
        status = cs_database_execute(database, marks, err);
    }
    return status;
}

/* Whoever comes first creates the tables, in one transaction; everybody checks them. */
static cs_status prepare_tables(const cs_database *database, const char *create_sql, int64_t layout,
                                cs_error *err)
{
    static const char count_sql[] = "SELECT count(*) FROM sqlite_master";
    int64_t           n_tables    = 0;
    cs_status         status      = cs_database_number(database, count_sql, &n_tables, err);

    if (status == CS_OK && n_tables == 0) {
        status = cs_database_execute(database, "BEGIN IMMEDIATE", err);
        if (status == CS_OK) {
            status = cs_database_number(database, count_sql, &n_tables, err);
        }
        if (status == CS_OK && n_tables == 0) {
            status = create_tables(database, create_sql, layout, err);
        }
        if (status == CS_OK) {
            status = cs_database_execute(database, "COMMIT", err);
        }
    }
    if (status == CS_OK) {
        status = check_ours(database, layout, err);
    }
    return status == CS_OK ? check_whole(database, err) : status;
}

cs_status cs_database_open(cs_database *database, const char *path, const char *create_sql,
                           int64_t layout, cs_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

    *database = (cs_database){.path = cs_strdup(path)};
    if (database->path == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    if (sqlite3_open_v2(path, &database->db, flags, NULL) != SQLITE_OK) {
        return cs_database_fail(database, err);
    }
    /* The file may come from anywhere: its schema is not trusted. */
    if (sqlite3_db_config(database->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
        sqlite3_db_config(database->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) != SQLITE_OK) {
        return cs_database_fail(database, err);
    }
    sqlite3_busy_timeout(database->db, BUSY_MS);
    cs_status status = prepare_tables(database, create_sql, layout, err);
    if (status == CS_OK) {
        status = cs_database_execute(database,
                                     "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", err);
    }
    return status;
}

void cs_database_close(cs_database *database)
{
    sqlite3_close(database->db);
    cs_free(database->path);
    *database = (cs_database){0};
}
