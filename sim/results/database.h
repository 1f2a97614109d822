/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/database.h -- the SQLite file under a store: opening, checking, errors.
 *
 * Only the stores (results/store_table.h) and results/database.c include this.
 */
#ifndef CS_RESULTS_DATABASE_H
#define CS_RESULTS_DATABASE_H

#include "cs/error.h"

#include <sqlite3.h>
#include <stdint.h>

typedef struct cs_database {
    sqlite3 *db;
    char    *path; /* for messages; owned */
} cs_database;

/* Open or create, and make sure that it is ours and undamaged: `create_sql` makes the tables, and
 * `layout` is their number. O(file). Then switch to the write-ahead log. cs_database_close() in
 * every case. */
cs_status cs_database_open(cs_database *database, const char *path, const char *create_sql,
                           int64_t layout, cs_error *err);

/* Fill the record from SQLite's last error, or with a sentence about the file. */
cs_status cs_database_fail(const cs_database *database, cs_error *err);
cs_status cs_database_refuse(const cs_database *database, cs_error *err, const char *format, ...)
    CS_PRINTF(3, 4);

cs_status cs_database_execute(const cs_database *database, const char *sql, cs_error *err);
cs_status cs_database_prepare(const cs_database *database, const char *sql,
                              sqlite3_stmt **statement_p, cs_error *err);

/* The first column of the first row; 0 without a row. */
cs_status cs_database_number(const cs_database *database, const char *sql, int64_t *value_p,
                             cs_error *err);

void cs_database_close(cs_database *database);

#endif
