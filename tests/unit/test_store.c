/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of results: what a row holds, unique keys, resuming, files that are refused. */
#include "base/alloc.h"
#include "base/file.h"
#include "cs/build.h"
#include "output/result_rows.h"
#include "output/store.h"
#include "support/folder.h"
#include "support/query.h"
#include "support/rng.h"

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

static cs_store *open_with(const cs_store_request *request)
{
    cs_store *store = NULL;
    cs_error  err   = {0};

    cr_assert_eq(cs_store_open(path, &cs_results_table, request, &store, &err), CS_OK, "%s",
                 err.message);
    return store;
}

static cs_store *open_store(void)
{
    return open_with(&(cs_store_request){0});
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
                       .verified        = true,
                       .build           = cs_build()};
}

/* A result as a sweep writes it; `reason`: why the scenario could not be run. */
static cs_status add_row(cs_store *store, const char *scenario, const cs_result *r,
                         const char *reason, const cs_value *values, cs_error *err)
{
    cs_text         options = {0};
    cs_result_texts texts;
    cs_status       status = cs_result_texts_of(r, scenario, reason, &options, &texts, err);

    if (status == CS_OK) {
        status = cs_store_add(store, &(cs_store_row){r, &texts, reason != NULL, values}, err);
    }
    cs_text_free(&options);
    return status;
}

static void add(cs_store *store, const char *scenario, double elapsed_s)
{
    cs_result r   = sample(elapsed_s);
    cs_error  err = {0};

    cr_assert_eq(add_row(store, scenario, &r, NULL, NULL, &err), CS_OK, "%s", err.message);
}

static cs_status has_row(cs_store *store, const char *scenario, bool *has_p, cs_error *err)
{
    return cs_store_find(store, cs_store_key_of(scenario).key, scenario, NULL, NULL, has_p, err);
}

/* A scenario that the configuration refuses. */
static void add_refused(cs_store *store, const char *scenario, const char *error)
{
    cs_result known = cs_refused_result(NULL, NULL, NULL);

    cr_assert_eq(add_row(store, scenario, &known, error, NULL, NULL), CS_OK);
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
                 "wire_bytes verified published_form_s critical_delay_s ideal_delay_s "
                 "delay_reference packets pauses drops marks resent build options "
                 "scenario error\n");
    expect_query("SELECT name, value FROM meta", "schema|4\n");
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

    add_refused(store, "{\"a\":2}", "rhd: not so");
    cs_store_close(store);
    expect_query("SELECT algorithm, ranks, elapsed_s, verified, options, scenario, error "
                 "FROM results",
                 "NULL|NULL|NULL|NULL|NULL|{\"a\":2}|rhd: not so\n");
}

Test(store, what_is_known_of_a_refused_scenario_is_there)
{
    cs_store    *store     = open_store();
    cs_algorithm algorithm = {.name = "rhd"};
    cs_model     model     = {.name = "loggp"};
    cs_scenario  s         = {.collective = CS_ALLGATHER, .bytes = 77, .cluster = {.n_ranks = 6}};
    cs_result    known     = cs_refused_result(&s, &algorithm, &model);

    cr_assert_eq(add_row(store, "{}", &known, "no", NULL, NULL), CS_OK);
    cs_store_close(store);
    expect_query(
        "SELECT algorithm, collective, model, ranks, bytes, elapsed_s, verified, transfers, "
        "options, error FROM results",
        "rhd|allgather|loggp|6|77|NULL|NULL|NULL|NULL|no\n");
}

Test(store, a_wrong_schedule_keeps_its_numbers_and_says_so)
{
    cs_store *store = open_store();
    cs_result r     = sample(1);

    r.verified = false;
    snprintf(r.verdict.text, sizeof r.verdict.text, "rank 3 misses rank 1");
    cr_assert_eq(add_row(store, "{}", &r, NULL, NULL, NULL), CS_OK);
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
    cs_result     r     = sample(3);
    cs_store_key  good = cs_store_key_of("{\"a\":1}"), bad = cs_store_key_of("{\"a\":2}");
    cs_store_key  wrong = cs_store_key_of("{\"a\":3}");

    cr_expect_neq(good.key, bad.key);
    cr_expect_neq(good.check, bad.check);
    add(store, "{\"a\":1}", 1);
    add_refused(store, "{\"a\":2}", "no");
    r.verified = false;
    snprintf(r.verdict.text, sizeof r.verdict.text, "wrong");
    cr_assert_eq(add_row(store, "{\"a\":3}", &r, NULL, NULL, NULL), CS_OK);
    cs_store_close(store);
    store = open_store();
    cr_assert_eq(cs_store_keys(store, &keys, &n, NULL), CS_OK);
    cr_assert_eq(n, 3);
    for (size_t i = 0; i < n; i++) {
        const cs_store_key *k = &keys[i];
        cr_expect_eq(k->is_refused, k->key == bad.key);
        cr_expect_eq(k->is_wrong, k->key == wrong.key);
        cr_expect_eq(k->check, k->is_refused ? bad.check : k->is_wrong ? wrong.check : good.check);
        cr_expect_not(k->is_incomplete);
    }
    cs_free(keys);
    cs_store_close(store);
}

Test(store, the_same_scenario_is_one_row_and_the_first_stays)
{
    cs_store *store = open_store();
    bool      has   = true;

    cr_assert_eq(has_row(store, "{}", &has, NULL), CS_OK);
    cr_expect_not(has);
    add(store, "{}", 1);
    add(store, "{}", 2);
    cr_assert_eq(has_row(store, "{}", &has, NULL), CS_OK);
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
    cr_expect_eq(has_row(store, "{\"a\":1}", &has, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "another scenario"));
    cr_expect_str_eq(err.input, path);
    err = (cs_error){0};
    cr_expect_eq(add_row(store, "{\"a\":1}", &r, NULL, NULL, &err), CS_EINVAL);
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

    cs_status status = cs_store_open(path, &cs_results_table, &(cs_store_request){0}, &store, &err);
    cr_expect_eq(status, want, "%s", err.message);
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

Test(store, another_layout_is_refused)
{
    cs_store_close(open_store());
    cs_text text = ct_query(path, "PRAGMA user_version = 7");
    cs_text_free(&text);
    expect_refused(CS_EINVAL, "layout 7");
}

static char  *good;
static size_t good_bytes;

/* A file of results with some rows, which is also in `good`. */
static void make_good(void)
{
    cs_store *store = open_store();
    char      scenario[300];

    for (int i = 0; i < 60; i++) {
        snprintf(scenario, sizeof scenario, "{\"i\":%d,\"name\":\"%0200d\"}", i, i);
        add(store, scenario, i);
    }
    cr_assert_eq(cs_store_finish(store, NULL), CS_OK);
    cs_store_close(store);
    cr_assert_eq(cs_file_read(path, 1 << 24, &good, &good_bytes, NULL), CS_OK);
}

static void write_bytes(const char *data, size_t length)
{
    cr_assert_eq(cs_file_write(path, data, length, NULL), CS_OK);
}

/* Refused, in one line, and as it was. */
static void expect_damaged(const char *data, size_t length, const char *what)
{
    cs_store *store = NULL;
    cs_error  err   = {0};
    char     *after;
    size_t    after_bytes;

    write_bytes(data, length);
    cr_expect_eq(cs_store_open(path, &cs_results_table, &(cs_store_request){0}, &store, &err),
                 CS_EINVAL, "%s", what);
    cr_expect_null(store);
    cr_expect(strstr(err.message, "is damaged (") != NULL ||
                  strstr(err.message, "not a file of results") != NULL,
              "%s: %s", what, err.message);
    cr_expect_null(strchr(err.message, '\n'), "%s", err.message);
    cr_assert_eq(cs_file_read(path, 1 << 24, &after, &after_bytes, NULL), CS_OK);
    cr_expect(after_bytes == length && memcmp(after, data, length) == 0, "%s: was changed", what);
    cs_free(after);
}

Test(store, damaged_files_are_refused_and_left_alone)
{
    static const size_t page_bytes = 4096;

    make_good();
    const size_t cuts[] = {
        2, 50, 600, page_bytes, good_bytes / 2 / page_bytes * page_bytes, good_bytes - page_bytes};
    char  *bad = cs_calloc(good_bytes, 1);
    ct_rng rng = ct_rng_for(4711);
    char   what[64];
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        snprintf(what, sizeof what, "cut behind %zu of %zu", cuts[i], good_bytes);
        expect_damaged(good, cuts[i], what);
    }
    cr_assert_gt(good_bytes, 6 * page_bytes);
    for (size_t page = 0; page < good_bytes / page_bytes; page++) {
        for (int zero = 0; zero < 2; zero++) {
            memcpy(bad, good, good_bytes);
            for (size_t i = 0; i < page_bytes; i++) {
                bad[page * page_bytes + i] = zero ? '\0' : (char)ct_below(&rng, 256);
            }
            snprintf(what, sizeof what, "page %zu %s", page, zero ? "zero" : "random");
            expect_damaged(bad, good_bytes, what);
        }
    }
    write_bytes(good, good_bytes);
    cs_store_close(open_store());
    cs_free(bad);
    cs_free(good);
}

/* They say that they are ours, and are not. */
Test(store, other_tables_than_ours_are_refused)
{
    static const char *const changes[] = {
        "DROP TABLE results",
        "ALTER TABLE results DROP COLUMN error",
        "ALTER TABLE results DROP COLUMN busbw_GBps",
        "ALTER TABLE results RENAME TO other; CREATE VIEW results AS SELECT * FROM other",
    };

    make_good();
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        write_bytes(good, good_bytes);
        cs_text text = ct_query(path, changes[i]);
        cs_text_free(&text);
        expect_refused(CS_EINVAL, "has other tables than a file of results (");
    }
    cs_free(good);
}

static cs_status add_to(const char *change, cs_error *err)
{
    cs_text   text   = ct_query(path, change);
    cs_store *store  = open_store();
    cs_result r      = sample(1);
    cs_status status = add_row(store, "{\"a\":1}", &r, NULL, NULL, err);

    cs_store_close(store);
    cs_text_free(&text);
    return status;
}

Test(store, a_trigger_that_drops_rows_is_noticed)
{
    static const char *const drops[] = {
        "CREATE TRIGGER t BEFORE INSERT ON results BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM results; END",
        ("CREATE TRIGGER t AFTER INSERT ON results BEGIN "
         "DELETE FROM results; INSERT INTO meta VALUES (1, 1); DELETE FROM meta; END"),
    };

    for (size_t i = 0; i < sizeof drops / sizeof drops[0]; i++) {
        cs_error err = {0};
        cs_store_close(open_store());
        cr_expect_eq(add_to(drops[i], &err), CS_EINVAL, "%s", drops[i]);
        cr_expect_not_null(strstr(err.message, "a trigger in the file drops it"), "%s",
                           err.message);
        cr_expect_str_eq(err.input, path);
        cr_assert_eq(unlink(path), 0);
    }
}

Test(store, a_trigger_that_refuses_rows_is_named)
{
    cs_error err = {0};

    cs_store_close(open_store());
    cr_expect_eq(add_to("CREATE TRIGGER t BEFORE INSERT ON results BEGIN "
                        "SELECT RAISE(ABORT, 'not now'); END",
                        &err),
                 CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "a trigger that refuses a row (not now)"), "%s",
                       err.message);
}

Test(store, a_trigger_that_drops_nothing_is_no_harm)
{
    cs_error err = {0};

    cs_store_close(open_store());
    cr_expect_eq(add_to("CREATE TABLE log (key); CREATE TRIGGER t AFTER INSERT ON results BEGIN "
                        "INSERT INTO log VALUES (new.key); END",
                        &err),
                 CS_OK, "%s", err.message);
    expect_query("SELECT (SELECT count(*) FROM results), (SELECT count(*) FROM log)", "1|1\n");
}

Test(store, a_trigger_that_drops_what_is_filled_is_noticed)
{
    static const char *const columns[] = {"seed"};
    static const cs_value    seven[]   = {{.type = CS_VALUE_WHOLE, .whole = 7}};
    cs_store                *store     = open_store();
    cs_error                 err       = {0};

    add(store, "{}", 1);
    cs_store_close(store);
    store        = open_with(&(cs_store_request){.n_columns = 1, .columns = columns});
    cs_text text = ct_query(path, "CREATE TRIGGER t BEFORE UPDATE ON results BEGIN "
                                  "SELECT RAISE(IGNORE); END");
    cr_expect_eq(cs_store_fill(store, cs_store_key_of("{}").key, seven, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "a trigger in the file drops it"), "%s", err.message);
    cs_store_close(store);
    cs_text_free(&text);
}

/* Rows are found by their keys: one that is not its scenario's is damage, too. */
Test(store, a_key_that_is_not_its_scenario_s_is_refused)
{
    cs_store     *store = open_store();
    cs_store_key *keys  = NULL;
    size_t        n     = 0;
    cs_error      err   = {0};

    add(store, "{\"a\":1}", 1);
    cs_text text = ct_query(path, "UPDATE results SET key = 'ffffffffffffffff'");
    cr_expect_eq(cs_store_keys(store, &keys, &n, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "another scenario: the file was damaged or edited"),
                       "%s", err.message);
    cr_expect_null(keys);
    cs_store_close(store);
    cs_text_free(&text);
}

/* As programs wrote them that knew their version alone. */
Test(store, a_store_that_recorded_no_build_is_refused)
{
    cs_store_close(open_store());
    cs_text text = ct_query(path, "PRAGMA user_version = 1; ALTER TABLE results DROP COLUMN build; "
                                  "INSERT INTO meta VALUES ('version', '0.1.0')");
    cs_text_free(&text);
    expect_refused(CS_EINVAL, "did not record its build");
    expect_refused(CS_EINVAL, cs_build());
}

Test(store, rows_of_another_build_are_refused_unless_they_are_accepted)
{
    const cs_store_request accepts = {.accepts_builds = true};
    cs_store              *store   = open_store();
    cs_store_key          *keys    = NULL;
    size_t                 n       = 0;

    add(store, "{\"a\":1}", 1);
    add(store, "{\"a\":2}", 2);
    add_refused(store, "{\"a\":3}", "no");
    cs_store_close(store);
    cs_text text =
        ct_query(path, "UPDATE results SET build = 'older' WHERE scenario = '{\"a\":1}'; "
                       "UPDATE results SET build = 'oldest' WHERE error IS NOT NULL");
    cs_text_free(&text);
    expect_refused(CS_EINVAL, "holds results of build older, oldest");
    expect_refused(CS_EINVAL, cs_build());
    expect_refused(CS_EINVAL, "--accept-build");

    store = open_with(&accepts);
    cr_assert_eq(cs_store_keys(store, &keys, &n, NULL), CS_OK);
    cr_expect_eq(n, 3, "rows of another build count as done");
    cs_free(keys);
    add(store, "{\"a\":1}", 9);
    add(store, "{\"a\":4}", 4);
    cs_store_close(store);
    cs_text_add(&text, "1.0|older\n2.0|%s\n4.0|%s\n", cs_build(), cs_build());
    expect_query("SELECT elapsed_s, build FROM results WHERE error IS NULL ORDER BY 1", text.data);
    cs_text_free(&text);
    text = ct_query(path, "DELETE FROM results WHERE build LIKE 'old%'");
    cs_text_free(&text);
    cs_store_close(open_store());
}

/* A key is the scenario's: what another build has done is not done again. */
Test(store, a_key_does_not_depend_on_the_build)
{
    cr_expect_eq(cs_store_key_of("{}").key, 0x968aff560c30f3e2u);
}

Test(store, columns_of_a_sweep_are_added_and_filled)
{
    static const char *const first[]  = {"arrivals.late[0].delay_s", "a \"b\""};
    static const char *const second[] = {"seed", "arrivals.late[0].delay_s"};
    static const cs_value    one[]    = {{.type = CS_VALUE_REAL, .real = 0.5},
                                         {.type = CS_VALUE_TEXT, .text = "x"}};
    static const cs_value    two[]    = {{.type = CS_VALUE_WHOLE, .whole = 7},
                                         {.type = CS_VALUE_REAL, .real = 0.25}};
    cs_result                r        = sample(1);
    cs_store_key            *keys     = NULL;
    size_t                   n        = 0;

    cs_store *store = open_with(&(cs_store_request){.n_columns = 2, .columns = first});
    cr_assert_eq(add_row(store, "{\"a\":1}", &r, NULL, one, NULL), CS_OK);
    add_refused(store, "{\"a\":0}", "no");
    cs_store_close(store);
    store = open_with(&(cs_store_request){.n_columns = 2, .columns = second});
    cr_assert_eq(add_row(store, "{\"a\":2}", &r, NULL, two, NULL), CS_OK);
    expect_query("SELECT \"arrivals.late[0].delay_s\", \"a \"\"b\"\"\", seed FROM results "
                 "WHERE error IS NULL ORDER BY scenario",
                 "0.5|x|NULL\n0.25|NULL|7\n");
    cr_assert_eq(cs_store_keys(store, &keys, &n, NULL), CS_OK);
    cr_assert_eq(n, 3);
    for (size_t i = 0; i < n; i++) {
        bool is_first = keys[i].key == cs_store_key_of("{\"a\":1}").key;
        cr_expect_eq(keys[i].is_incomplete, is_first, "the row is older than the column");
    }
    cs_free(keys);
    cr_assert_eq(cs_store_fill(store, cs_store_key_of("{\"a\":1}").key, two, NULL), CS_OK);
    cs_store_close(store);
    expect_query("SELECT seed, \"arrivals.late[0].delay_s\" FROM results WHERE scenario = "
                 "'{\"a\":1}'",
                 "7|0.25\n");
}

Test(store, a_row_comes_back_with_its_columns_and_texts)
{
    cs_store       *store = open_store();
    cs_result       r     = sample(0.1 + 0.2), back;
    cs_result_texts texts;
    bool            has = false;
    cs_store_key    key = cs_store_key_of("{\"a\":1}");

    r.transfers = 123456789012345678u;
    cr_assert_eq(add_row(store, "{\"a\":1}", &r, NULL, NULL, NULL), CS_OK);
    add_refused(store, "{\"a\":2}", "not so");
    cr_assert_eq(cs_store_find(store, key.key, NULL, &back, &texts, &has, NULL), CS_OK);
    cr_assert(has);
    for (const cs_column *c = cs_result_columns; c->key != NULL; c++) {
        cs_value want = cs_row_value(&(cs_row){cs_result_columns, &r, false}, c);
        cs_value got  = cs_row_value(&(cs_row){cs_result_columns, &back, false}, c);
        cr_expect_eq(got.type, want.type, "%s", c->key);
        if (want.type == CS_VALUE_TEXT) {
            cr_expect_str_eq(got.text, want.text, "%s", c->key);
        } else if (want.type != CS_VALUE_NONE) {
            cr_expect_eq(got.count, want.count, "%s", c->key);
        }
    }
    cr_expect_str_eq(texts.options, "{}");
    cr_expect_str_eq(texts.scenario, "{\"a\":1}");
    cr_expect_null(texts.error);
    cr_assert_eq(has_row(store, "{\"a\":7}", &has, NULL), CS_OK);
    cr_expect_not(has);
    key = cs_store_key_of("{\"a\":2}");
    cr_assert_eq(cs_store_find(store, key.key, "{\"a\":2}", &back, &texts, &has, NULL), CS_OK);
    cr_expect(has && back.algorithm == NULL && isnan(back.elapsed_s) && back.ranks == 0);
    cr_expect_str_eq(texts.error, "not so");
    cr_expect_null(texts.options);
    cs_store_close(store);
}

/* Whoever made such a table: a row is identified by its text. */
Test(store, a_row_without_its_text_is_damage)
{
    cs_store       *store = open_store();
    cs_result       r     = sample(1);
    cs_result_texts texts = {.error = "none"};
    cs_error        err   = {0};
    bool            has   = false;

    cr_assert_eq(add_row(store, "{}", &r, NULL, NULL, NULL), CS_OK);
    cs_store_close(store);
    cs_text text =
        ct_query(path, "ALTER TABLE results RENAME TO old; CREATE TABLE results AS SELECT "
                       "* FROM old; UPDATE results SET scenario = NULL; DROP TABLE old; "
                       "CREATE UNIQUE INDEX i ON results (key)");
    cs_text_free(&text);
    store        = open_store();
    uint64_t key = cs_store_key_of("{}").key;
    cr_expect_neq(cs_store_find(store, key, NULL, NULL, &texts, &has, &err), CS_OK);
    cr_expect_not(has);
    cr_expect_str_eq(err.input, path);
    cs_store_close(store);
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
    static const char *const names[]  = {"seed"};
    static const cs_value    values[] = {{.type = CS_VALUE_WHOLE, .whole = 7}};
    const cs_store_request   request  = {.n_columns = 1, .columns = names};
    cs_result                r        = sample(1), back;
    cs_result_texts          texts;

    for (long passes = 0; passes < 100; passes++) {
        cs_store     *store = NULL;
        cs_store_key *keys  = NULL;
        size_t        n     = 0;
        bool          has   = false;

        cs_alloc_fail_after(passes);
        cs_status status = cs_store_open(path, &cs_results_table, &request, &store, NULL);
        if (status == CS_OK) {
            status = add_row(store, "{}", &r, NULL, values, NULL);
        }
        if (status == CS_OK) {
            status = cs_store_keys(store, &keys, &n, NULL);
        }
        if (status == CS_OK) {
            uint64_t key = cs_store_key_of("{}").key;
            status       = cs_store_find(store, key, "{}", &back, &texts, &has, NULL);
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
