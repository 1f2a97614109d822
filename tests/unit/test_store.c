/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of results: what a row holds, unique keys, resuming, files that are refused. */
#include "base/alloc.h"
#include "results/store.h"
#include "support/folder.h"
#include "support/query.h"

#include <criterion/criterion.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[CT_FOLDER_BYTES], path[128];

static void set_up(void)
{
    ct_folder_make(folder);
    snprintf(path, sizeof path, "%s/r.db", folder);
}

static void tear_down(void)
{
    ct_folder_remove(folder);
}

TestSuite(store, .init = set_up, .fini = tear_down);

static cs_store *open_store(void)
{
    cs_store *store = NULL;
    cs_error  err   = {0};

    cr_assert_eq(cs_store_open(path, &store, &err), CS_OK, "%s", err.message);
    return store;
}

static cs_result sample(double elapsed_s)
{
    return (cs_result){.algorithm       = "ring",
                       .collective      = "allreduce",
                       .model           = "alpha-beta",
                       .ranks           = 8,
                       .bytes           = 1 << 20,
                       .gpus_per_server = 1,
                       .elapsed_s       = elapsed_s,
                       .exposed_s       = elapsed_s,
                       .closed_form_s   = (double)NAN,
                       .bound_s         = elapsed_s / 3,
                       .bound           = "bandwidth",
                       .gap             = 3,
                       .verified        = true};
}

static void add(cs_store *store, const char *scenario, double elapsed_s)
{
    cs_result r   = sample(elapsed_s);
    cs_error  err = {0};

    cr_assert_eq(cs_store_add(store, scenario, &r, NULL, &err), CS_OK, "%s", err.message);
}

static void expect_query(const char *sql, const char *want)
{
    cs_text text = ct_query(path, sql);
    cr_expect_str_eq(text.data, want);
    cs_text_free(&text);
}

Test(store, columns_are_the_keys_of_the_contract)
{
    cs_store_close(open_store());
    expect_query("SELECT group_concat(name, ' ') FROM pragma_table_info('results')",
                 "key algorithm collective model ranks bytes gpus_per_server elapsed_s exposed_s "
                 "closed_form_s bound_s bound gap algbw_GBps busbw_GBps rounds transfers "
                 "wire_bytes verified options scenario error\n");
    expect_query("SELECT value FROM meta ORDER BY name", "1\n" COLLSIM_VERSION "\n");
}

Test(store, a_row_holds_the_result_exactly)
{
    cs_store *store = open_store();

    add(store, "{\"a\":1}", 0.1 + 0.2);
    cr_assert_eq(cs_store_finish(store, NULL), CS_OK);
    cs_store_close(store);
    expect_query(
        "SELECT algorithm, ranks, bytes, elapsed_s - 0.3 = 5.551115123125783e-17, closed_form_s, "
        "bound, verified, options, scenario, error, length(key) FROM results",
        "ring|8|1048576|1|NULL|bandwidth|1|{}|{\"a\":1}|NULL|16\n");
}

Test(store, an_error_leaves_the_columns_null)
{
    cs_store *store = open_store();

    cr_assert_eq(cs_store_add(store, "{\"a\":2}", NULL, "rhd: not so", NULL), CS_OK);
    cs_store_close(store);
    expect_query("SELECT algorithm, ranks, elapsed_s, verified, options, scenario, error "
                 "FROM results",
                 "NULL|NULL|NULL|NULL|NULL|{\"a\":2}|rhd: not so\n");
}

Test(store, a_wrong_schedule_keeps_its_numbers_and_says_so)
{
    cs_store *store = open_store();
    cs_result r     = sample(1);

    r.verified = false;
    snprintf(r.verdict.text, sizeof r.verdict.text, "rank 3 misses rank 1");
    cr_assert_eq(cs_store_add(store, "{}", &r, NULL, NULL), CS_OK);
    cs_store_close(store);
    expect_query("SELECT elapsed_s, verified, error FROM results", "1.0|0|rank 3 misses rank 1\n");
}

Test(store, the_order_of_rows_is_that_of_keys)
{
    cs_store     *store = open_store();
    cs_store_key *keys  = NULL;
    size_t        n     = 0;
    char          scenario[32];

    for (int i = 0; i < 200; i++) {
        snprintf(scenario, sizeof scenario, "{\"i\":%d}", i * 7919 % 200);
        add(store, scenario, i);
    }
    cr_assert_eq(cs_store_keys(store, &keys, &n, NULL), CS_OK);
    cr_assert_eq(n, 200);
    for (size_t i = 1; i < n; i++) {
        cr_assert_lt(keys[i - 1].key, keys[i].key);
    }
    cs_free(keys);
    cs_store_close(store);
    expect_query("SELECT (SELECT group_concat(key) FROM results) = "
                 "(SELECT group_concat(key) FROM (SELECT key FROM results ORDER BY key))",
                 "1\n");
}

Test(store, keys_say_what_is_there_and_what_failed)
{
    cs_store     *store = open_store();
    cs_store_key *keys  = NULL;
    size_t        n     = 0;
    cs_store_key  good = cs_store_key_of("{\"a\":1}"), bad = cs_store_key_of("{\"a\":2}");

    cr_expect_neq(good.key, bad.key);
    cr_expect_neq(good.check, bad.check);
    add(store, "{\"a\":1}", 1);
    cr_assert_eq(cs_store_add(store, "{\"a\":2}", NULL, "no", NULL), CS_OK);
    cs_store_close(store);
    store = open_store();
    cr_assert_eq(cs_store_keys(store, &keys, &n, NULL), CS_OK);
    cr_assert_eq(n, 2);
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(keys[i].failed, keys[i].key == bad.key);
        cr_expect_eq(keys[i].check, keys[i].failed ? bad.check : good.check);
    }
    cs_free(keys);
    cs_store_close(store);
}

Test(store, the_same_scenario_is_one_row_and_the_first_stays)
{
    cs_store *store = open_store();
    bool      has   = true;

    cr_assert_eq(cs_store_has(store, "{}", &has, NULL), CS_OK);
    cr_expect_not(has);
    add(store, "{}", 1);
    add(store, "{}", 2);
    cr_assert_eq(cs_store_has(store, "{}", &has, NULL), CS_OK);
    cr_expect(has);
    cs_store_close(store);
    expect_query("SELECT count(*), min(elapsed_s) FROM results", "1|1.0\n");
}

Test(store, a_key_of_another_scenario_is_refused)
{
    cs_store *store = open_store();
    cs_error  err   = {0};
    cs_result r     = sample(1);
    bool      has   = false;

    add(store, "{\"a\":1}", 1);
    cs_text changed = ct_query(path, "UPDATE results SET scenario = '{\"a\":9}'");
    cs_text_free(&changed);
    cr_expect_eq(cs_store_has(store, "{\"a\":1}", &has, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "another scenario"));
    cr_expect_str_eq(err.input, path);
    err = (cs_error){0};
    cr_expect_eq(cs_store_add(store, "{\"a\":1}", &r, NULL, &err), CS_EINVAL);
    cs_store_close(store);
}

Test(store, what_was_not_committed_is_gone)
{
    cs_store *store = open_store();

    cr_assert_eq(cs_store_begin(store, NULL), CS_OK);
    add(store, "{\"a\":1}", 1);
    cr_assert_eq(cs_store_commit(store, NULL), CS_OK);
    cr_assert_eq(cs_store_begin(store, NULL), CS_OK);
    add(store, "{\"a\":2}", 1);
    cs_store_close(store);
    expect_query("SELECT scenario FROM results", "{\"a\":1}\n");
}

Test(store, a_finished_store_is_one_file)
{
    cs_store   *store = open_store();
    char        name[160];
    struct stat info;

    add(store, "{}", 1);
    snprintf(name, sizeof name, "%s-wal", path);
    cr_expect_eq(stat(name, &info), 0);
    cr_assert_eq(cs_store_finish(store, NULL), CS_OK);
    cr_expect_neq(stat(name, &info), 0);
    snprintf(name, sizeof name, "%s-shm", path);
    cr_expect_neq(stat(name, &info), 0);
    cs_store_close(store);
    expect_query("PRAGMA journal_mode", "delete\n");
    expect_query("SELECT count(*) FROM results", "1\n");
}

static void expect_refused(cs_status want, const char *message)
{
    cs_store *store = NULL;
    cs_error  err   = {0};

    cr_expect_eq(cs_store_open(path, &store, &err), want, "%s", err.message);
    cr_expect_null(store);
    cr_expect_not_null(strstr(err.message, message), "%s", err.message);
    cr_expect_not_null(strstr(path, err.input[0] == '.' ? err.input + 3 : err.input));
    cr_expect_neq(err.input[0], '\0');
}

Test(store, foreign_files_are_refused_and_left_alone)
{
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 100; i++) {
        fprintf(file, "these are no results, but a shopping list\n");
    }
    fclose(file);
    expect_refused(CS_EINVAL, "not a file of results");
    file = fopen(path, "r");
    char line[64];
    cr_assert_not_null(fgets(line, sizeof line, file));
    cr_expect_str_eq(line, "these are no results, but a shopping list\n");
    fclose(file);
}

Test(store, foreign_databases_are_refused)
{
    cs_text text = ct_query(path, "CREATE TABLE shopping (list TEXT)");
    cs_text_free(&text);
    expect_refused(CS_EINVAL, "not of results");
    expect_query("SELECT name FROM sqlite_master", "shopping\n");
}

Test(store, another_layout_and_another_version_are_refused)
{
    cs_store_close(open_store());
    cs_text text = ct_query(path, "PRAGMA user_version = 7");
    cs_text_free(&text);
    expect_refused(CS_EINVAL, "layout 7");
    text = ct_query(
        path, "PRAGMA user_version = 1; UPDATE meta SET value = '0.0.1' WHERE name = 'version'");
    cs_text_free(&text);
    expect_refused(CS_EINVAL, "collsim 0.0.1");
}

Test(store, a_folder_that_cannot_be_written_names_the_file)
{
    char writable[128];

    snprintf(writable, sizeof writable, "%s", path);
    snprintf(path, sizeof path, "%s/missing/r.db", folder);
    expect_refused(CS_EIO, "unable to open");
    snprintf(path, sizeof path, "%s", folder);
    expect_refused(CS_EIO, "unable to open");
    snprintf(path, sizeof path, "%s", writable);
}

Test(store, every_failed_allocation_is_reported)
{
    cs_result r = sample(1);

    for (long passes = 0; passes < 100; passes++) {
        cs_store     *store = NULL;
        cs_store_key *keys  = NULL;
        size_t        n     = 0;

        cs_alloc_fail_after(passes);
        cs_status status = cs_store_open(path, &store, NULL);
        if (status == CS_OK) {
            status = cs_store_add(store, "{}", &r, NULL, NULL);
        }
        if (status == CS_OK) {
            status = cs_store_keys(store, &keys, &n, NULL);
        }
        cs_alloc_fail_after(-1);
        cs_free(keys);
        cs_store_close(store);
        if (status == CS_OK) {
            cr_assert_gt(passes, 1);
            cr_assert_eq(n, 1);
            return;
        }
        cr_assert_eq(status, CS_ENOMEM);
    }
    cr_assert(false, "it never succeeded");
}
