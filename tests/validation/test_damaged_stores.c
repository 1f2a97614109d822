/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every command that goes on in a file of results: one that is damaged, or that loses rows, is bad
 * input, told in one line. */
#include "base/alloc.h"
#include "base/file.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/query.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const size_t page_bytes = 4096;

/* A command, which goes on with a configuration of its name, and the table that it writes. */
typedef struct continued {
    const char *command, *options, *table;
} continued;

static const continued commands[] = {{"sweep", "", "results"},
                                     {"montecarlo", "-i 3", "montecarlo"}};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static char folder[CT_FOLDER_BYTES], path[CT_FOLDER_BYTES + 16];

static void write_config(const char *name, const char *arrivals)
{
    cs_text text = {0};
    char    file[CT_FOLDER_BYTES + 32];

    cs_text_add(&text,
                "{\"cluster\": {\"ranks\": 4, \"nic\": {\"bandwidth\": \"1GB/s\"}}, "
                "\"algorithm\": {\"name\": \"ring\"}, %s\"sweep\": {\"bytes\": [",
                arrivals);
    for (int i = 1; i <= 60; i++) {
        cs_text_add(&text, "%s%d", i > 1 ? ", " : "", i * 4096);
    }
    cs_text_add(&text, "]}}\n");
    (void)snprintf(file, sizeof file, "%s/%s.json", folder, name);
    cr_assert_eq(cs_file_write(file, text.data, text.length, NULL), CS_OK);
    cs_text_free(&text);
}

static void set_up(void)
{
    ct_folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/r.db", folder);
    write_config("sweep", "");
    write_config("montecarlo", "\"arrivals\": {\"distribution\": {\"name\": \"uniform\", "
                               "\"min\": \"0s\", \"max\": \"1ms\"}}, ");
}

static void tear_down(void)
{
    ct_folder_remove(folder);
}

TestSuite(damaged_stores, .init = set_up, .fini = tear_down);

/* Run it on the file; the exit code, and what it says on standard error. */
static int go_on(const continued *c, cs_text *said)
{
    char arguments[256], streams[CT_FOLDER_BYTES + 40];

    (void)snprintf(arguments, sizeof arguments, "%s %s/%s.json %s -q", c->command, folder,
                   c->command, c->options);
    (void)snprintf(streams, sizeof streams, "-o %s 2>&1 >/dev/null", path);
    return ct_program(arguments, streams, said);
}

static void expect_bad(const continued *c, const char *what, const char *message)
{
    cs_text said = {0};
    char    beginning[CT_FOLDER_BYTES + 40];

    (void)snprintf(beginning, sizeof beginning, "collsim: %s: ", path);
    cr_expect_eq(go_on(c, &said), 2, "%s: %s: %s", c->table, what, said.data);
    cr_expect_eq(strncmp(said.data, beginning, strlen(beginning)), 0, "%s", said.data);
    cr_expect_not_null(strstr(said.data, message), "%s: %s: %s", c->table, what, said.data);
    cr_expect_eq(strchr(said.data, '\n'), said.data + said.length - 1, "%s", said.data);
    cs_text_free(&said);
}

/* What it writes by itself. */
static char *make_good(const continued *c, size_t *length_p)
{
    cs_text said = {0};
    char   *data = NULL;

    (void)unlink(path);
    cr_assert_eq(go_on(c, &said), 0, "%s", said.data);
    cr_assert_eq(cs_file_read(path, 1 << 24, &data, length_p, NULL), CS_OK);
    cr_assert_gt(*length_p, 6 * page_bytes);
    cs_text_free(&said);
    return data;
}

static void replace(const char *data, size_t length)
{
    cr_assert_eq(cs_file_write(path, data, length, NULL), CS_OK);
}

Test(damaged_stores, are_bad_input)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const continued *c = &commands[i];
        size_t           length;
        char            *good = make_good(c, &length);
        char            *bad  = cs_calloc(length, 1);
        memset(bad, 'x', length);
        replace(bad, length);
        expect_bad(c, "no database", "not a file of results");
        replace(good, length / page_bytes / 2 * page_bytes);
        expect_bad(c, "half", "is damaged (");
        replace(good, 77);
        expect_bad(c, "a few bytes", "is damaged (");
        for (size_t page = 1; page < length / page_bytes; page += 2) {
            memcpy(bad, good, length);
            memset(bad + page * page_bytes, 'x', page_bytes);
            replace(bad, length);
            expect_bad(c, "a page", "is damaged (");
        }
        cs_free(bad);
        cs_free(good);
    }
}

Test(damaged_stores, with_other_tables_are_bad_input)
{
    /* @ is the table. */
    static const struct {
        const char *sql, *message;
    } changes[] = {
        {"DROP TABLE @", "has other tables"},
        {"ALTER TABLE @ DROP COLUMN error", "has other tables"},
        {"PRAGMA application_id = 5", "not of results"},
        {"DELETE FROM @; CREATE TRIGGER t BEFORE INSERT ON @ BEGIN SELECT RAISE(IGNORE); END",
         "a trigger in the file drops it"},
        {"DELETE FROM @; CREATE TRIGGER t AFTER INSERT ON @ BEGIN DELETE FROM @; END",
         "a trigger in the file drops it"},
        {"DELETE FROM @; CREATE TRIGGER t BEFORE INSERT ON @ BEGIN "
         "SELECT RAISE(ABORT, 'no'); END",
         "a trigger that refuses a row (no)"},
    };

    for (size_t i = 0; i < N_COMMANDS; i++) {
        size_t length;
        char  *good = make_good(&commands[i], &length);
        for (size_t k = 0; k < sizeof changes / sizeof changes[0]; k++) {
            cs_text sql = {0};
            for (const char *at = changes[k].sql; *at != '\0'; at++) {
                cs_text_add(&sql, *at == '@' ? "%s" : "%.1s", *at == '@' ? commands[i].table : at);
            }
            replace(good, length);
            cs_text answer = ct_query(path, sql.data);
            expect_bad(&commands[i], sql.data, changes[k].message);
            cs_text_free(&answer);
            cs_text_free(&sql);
        }
        cs_free(good);
    }
}
