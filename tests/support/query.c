/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/query.h"

#include <criterion/criterion.h>
#include <sqlite3.h>

static int append(void *user, int n, char **values, char **names)
{
    (void)names;
    for (int i = 0; i < n; i++) {
        cs_text_add(user, "%s%s", i == 0 ? "" : "|", values[i] != NULL ? values[i] : "NULL");
    }
    cs_text_add(user, "\n");
    return 0;
}

cs_text ct_query(const char *path, const char *sql)
{
    cs_text  text = {0};
    sqlite3 *db   = NULL;

    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, append, &text, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    cs_text_add(&text, "%s", "");
    return text;
}
