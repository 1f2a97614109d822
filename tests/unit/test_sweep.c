/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sweeps: the rows are those of the formula, for any number of jobs; what is there is not run
 * again; scenarios that cannot be run do not end one. */
#include "base/alloc.h"
#include "base/text.h"
#include "campaign/sweep.h"
#include "output/result_rows.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/query.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[CT_FOLDER_BYTES], path[128], other[128];

static void set_up(void)
{
    ct_folder_make(folder);
    snprintf(path, sizeof path, "%s/r.db", folder);
    snprintf(other, sizeof other, "%s/other.db", folder);
}

static void tear_down(void)
{
    ct_folder_remove(folder);
}

static void axis(cs_config *config, const char *key, const char *json)
{
    char sweep[128];
    snprintf(sweep, sizeof sweep, "sweep.%s", key);
    ct_set(config, sweep, json);
}

/* `n_sizes` sizes on rings of four sizes. */
static cs_config *rings(int n_sizes)
{
    cs_config *config = NULL;
    cs_text    sizes  = {0};

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    ct_set(config, "algorithm.name", "ring");
    ct_set(config, "cluster.nic", "{\"bandwidth\": \"400Gb/s\", \"alpha\": \"2us\"}");
    axis(config, "cluster.ranks", "[2, 4, 8, 16]");
    for (int i = 1; i <= n_sizes; i++) {
        cs_text_add(&sizes, "%s%d", i == 1 ? "[" : ", ", 65536 * i);
    }
    cs_text_add(&sizes, "]");
    axis(config, "bytes", sizes.data);
    cs_text_free(&sizes);
    return config;
}

static cs_sweep_summary sweep_with(const cs_config *config, const cs_sweep_options *options)
{
    cs_sweep_summary summary = {0};
    cs_error         err     = {0};

    cr_assert_eq(cs_sweep(config, options, &summary, &err), CS_OK, "%s", err.message);
    return summary;
}

static cs_sweep_summary sweep_to(const cs_config *config, const char *file, unsigned jobs)
{
    cs_sweep_options options = {.path = file, .jobs = jobs};
    return sweep_with(config, &options);
}

static long count(const char *file, const char *condition)
{
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM results WHERE %s", condition);
    cs_text text = ct_query(file, sql);
    long    n    = atol(text.data);
    cs_text_free(&text);
    return n;
}

/* All columns of all rows, in the order in which they are stored. */
static void expect_same_rows(const char *left, const char *right)
{
    cs_text a = ct_query(left, "SELECT * FROM results"),
            b = ct_query(right, "SELECT * FROM results");
    cr_expect_gt(a.length, 0);
    cr_expect_str_eq(a.data, b.data);
    cs_text_free(&a);
    cs_text_free(&b);
}

TestSuite(sweep, .init = set_up, .fini = tear_down);

Test(sweep, rows_are_those_of_the_formula)
{
    cs_config       *config  = rings(5);
    cs_sweep_summary summary = sweep_to(config, path, 2);
    sqlite3         *db      = NULL;
    sqlite3_stmt    *rows    = NULL;
    int              n_rows  = 0;

    cr_expect_eq(summary.count.total, 20);
    cr_expect_eq(summary.count.run, 20);
    cr_expect_eq(
        summary.count.done_before + summary.refused + summary.wrong + summary.count.missing, 0);
    cr_expect_not(summary.count.is_stopped);
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_prepare_v2(db, "SELECT ranks, bytes, elapsed_s, verified FROM results", -1, &rows,
                       NULL);
    while (sqlite3_step(rows) == SQLITE_ROW) {
        double n = sqlite3_column_double(rows, 0), bytes = sqlite3_column_double(rows, 1);
        double want = 2 * (n - 1) * (2e-6 + bytes / n / 50e9);
        cr_expect_float_eq(sqlite3_column_double(rows, 2), want, 1e-12 * want);
        cr_expect_eq(sqlite3_column_int(rows, 3), 1);
        n_rows++;
    }
    sqlite3_finalize(rows);
    sqlite3_close(db);
    cr_expect_eq(n_rows, 20);
    cs_config_free(config);
}

Test(sweep, any_number_of_jobs_gives_the_same_rows)
{
    static const unsigned jobs[]  = {0, 2, 4, 33};
    cs_config            *config  = rings(100);
    cs_sweep_summary      summary = sweep_to(config, path, 1);

    cr_expect_eq(summary.count.run, 400);
    for (int i = 0; i < 4; i++) {
        summary = sweep_to(config, other, jobs[i]);
        cr_expect_eq(summary.count.run, 400);
        expect_same_rows(path, other);
        unlink(other);
    }
    cs_config_free(config);
}

Test(sweep, what_is_there_is_not_run_again)
{
    cs_config *few = rings(3), *many = rings(10);

    cr_expect_eq(sweep_to(few, path, 2).count.run, 12);
    cs_sweep_summary summary = sweep_to(many, path, 2);
    cr_expect_eq(summary.count.total, 40);
    cr_expect_eq(summary.count.done_before, 12);
    cr_expect_eq(summary.count.run, 28);
    summary = sweep_to(many, path, 1);
    cr_expect_eq(summary.count.done_before, 40);
    cr_expect_eq(summary.count.run, 0);
    cr_expect_eq(count(path, "1"), 40);
    cr_expect_eq(sweep_to(many, other, 1).count.run, 40);
    expect_same_rows(path, other);
    cs_config_free(few);
    cs_config_free(many);
}

Test(sweep, equal_scenarios_are_one_row)
{
    cs_config *config = rings(1);

    axis(config, "bytes", "[4096, 4096, 8192, 4096]");
    cs_sweep_summary summary = sweep_to(config, path, 3);
    cr_expect_eq(summary.count.total, 16);
    cr_expect_eq(summary.count.run, 16);
    cr_expect_eq(count(path, "1"), 8);
    cs_config_free(config);
}

Test(sweep, scenarios_that_cannot_be_run_are_rows_with_the_reason)
{
    cs_config *config = rings(2);

    axis(config, "cluster.ranks", "[4, 6]");
    axis(config, "collective", "[\"allreduce\", \"allgather\"]");
    axis(config, "algorithm.name", "[\"ring\", \"stragglar\"]");
    cs_sweep_summary summary = sweep_to(config, path, 2);
    cr_expect_eq(summary.count.run, 16);
    cr_expect_eq(summary.refused, 4);
    cr_expect_str_eq(summary.refusal.message,
                     "collective: stragglar does not do allgather; it does allreduce");
    cr_expect_eq(
        count(path, "error LIKE 'collective: stragglar does not do allgather; it does allreduce'"),
        4);
    cr_expect_eq(count(path, "error IS NULL AND elapsed_s > 0"), 12);
    cr_expect_eq(count(path, "error IS NOT NULL AND elapsed_s IS NULL"), 4);
    summary = sweep_to(config, path, 2);
    cr_expect_eq(summary.count.done_before, 16);
    cr_expect_eq(summary.refused, 4);
    cr_expect_str_eq(summary.refusal.message,
                     "collective: stragglar does not do allgather; it does allreduce");
    cs_config_free(config);
}

Test(sweep, a_fingerprint_tells_configurations_apart)
{
    static const char *const changes[][2] = {{"bytes", "4096"},
                                             {"cluster.nic.alpha", "\"3us\""},
                                             {"sweep.seed", "[1, 2]"},
                                             {"sweep.cluster.ranks", "[2, 4, 16, 8]"}};
    cs_config               *config = rings(3), *same = rings(3), *more = rings(4);

    uint64_t fingerprint = cs_config_fingerprint(config);
    cr_expect_neq(fingerprint, 0);
    cr_expect_eq(cs_config_fingerprint(same), fingerprint);
    cr_expect_neq(cs_config_fingerprint(more), fingerprint);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        uint64_t before = cs_config_fingerprint(same);
        ct_set(same, changes[i][0], changes[i][1]);
        cr_expect_neq(cs_config_fingerprint(same), before, "%s", changes[i][0]);
    }
    cs_config_free(config);
    cs_config_free(same);
    cs_config_free(more);
}

Test(sweep, a_file_that_cannot_be_made_is_an_error_with_its_name)
{
    cs_config       *config = rings(1);
    cs_error         err    = {0};
    cs_sweep_summary summary;
    char             file[160];
    cs_sweep_options options = {.path = file, .jobs = 2};

    snprintf(file, sizeof file, "%s/missing/r.db", folder);
    cr_expect_eq(cs_sweep(config, &options, &summary, &err), CS_EIO);
    cr_expect_str_eq(err.input, file);
    cr_expect_eq(summary.count.total, 4);
    cs_config_free(config);
}

/* A scenario that the configuration refuses is like one that the algorithm refuses. */
Test(sweep, impossible_points_are_rows_for_any_number_of_jobs)
{
    static const unsigned jobs[] = {2, 4};
    cs_config            *config = rings(1);
    cs_text               text;

    axis(config, "cluster.ranks", "[4, -1, 8, \"many\", 16]");
    axis(config, "bytes", "[\"4K\", \"12parsec\", \"8K\"]");
    cs_sweep_summary summary = sweep_to(config, path, 1);
    cr_expect_eq(summary.count.run, 15);
    cr_expect_eq(summary.refused, 9);
    cr_expect_not(summary.count.is_stopped);
    cr_expect_eq(summary.refusal.status, CS_EINVAL);
    cr_expect_not_null(strstr(summary.refusal.message, "12parsec"), "%s", summary.refusal.message);
    text =
        ct_query(path, "SELECT ranks, bytes, error IS NULL, algorithm, build IS NULL FROM results "
                       "WHERE error IS NULL OR error LIKE '%-1 is outside%' ORDER BY 1, 2");
    cr_expect_str_eq(text.data, "NULL|NULL|0|NULL|0\nNULL|NULL|0|NULL|0\n4|4096|1|ring|0\n"
                                "4|8192|1|ring|0\n8|4096|1|ring|0\n8|8192|1|ring|0\n"
                                "16|4096|1|ring|0\n16|8192|1|ring|0\n");
    cs_text_free(&text);
    for (int i = 0; i < 2; i++) {
        summary = sweep_to(config, other, jobs[i]);
        cr_expect_eq(summary.refused, 9);
        cr_expect_not_null(strstr(summary.refusal.message, "12parsec"));
        expect_same_rows(path, other);
        unlink(other);
    }
    summary = sweep_to(config, path, 2);
    cr_expect_eq(summary.count.done_before, 15);
    cr_expect_eq(summary.refused, 9);
    cr_expect_not_null(strstr(summary.refusal.message, "12parsec"));
    cs_config_free(config);
}

Test(sweep, what_is_wrong_with_every_scenario_is_an_error_and_makes_no_file)
{
    cs_config       *config  = rings(3);
    cs_sweep_options options = {.path = path, .jobs = 2};
    cs_sweep_summary summary;
    cs_error         err = {0};

    ct_set(config, "arrivals.late", "[{\"rank\": 99, \"delay\": \"1ms\"}]");
    cr_expect_eq(cs_sweep(config, &options, &summary, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "99"), "%s", err.message);
    cr_expect_neq(access(path, F_OK), 0);
    cs_config_free(config);
}

Test(sweep, a_name_that_nobody_knows_ends_it)
{
    static const unsigned jobs[] = {1, 4};
    cs_config            *config = rings(1);

    axis(config, "algorithm.name", "[\"ring\", \"rign\"]");
    for (int i = 0; i < 2; i++) {
        cs_sweep_options options = {.path = path, .jobs = jobs[i]};
        cs_sweep_summary summary;
        cs_error         err = {0};
        cr_expect_eq(cs_sweep(config, &options, &summary, &err), CS_ENOENT);
        cr_expect_not_null(strstr(err.message, "rign"), "%s", err.message);
    }
    cs_config_free(config);
}

/* Four scenarios need SimGrid's program, whether this build knows it or not. */
static cs_config *with_simgrid(void)
{
    cs_config *config = rings(1);

    axis(config, "model.name", "[\"alpha-beta\", \"simgrid\"]");
    return config;
}

Test(sweep, what_the_machine_lacks_is_no_row_and_is_tried_again)
{
    static const unsigned jobs[]  = {1, 2, 4};
    const char           *modules = getenv("COLLSIM_MODULES"); /* NOLINT(concurrency-mt-unsafe) */
    char                  program[256];
    cs_config            *config = with_simgrid();

    snprintf(program, sizeof program, "%s/collsim-simgrid", modules != NULL ? modules : ".");
    setenv("COLLSIM_MODULES", folder, 1); /* where there is none */
    for (int i = 0; i < 3; i++) {
        unlink(path);
        cs_sweep_summary summary = sweep_to(config, path, jobs[i]);
        cr_expect_eq(summary.count.run, 4);
        cr_expect_eq(summary.count.missing, 4);
        cr_expect_eq(summary.refused, 0);
        cr_expect_not(summary.count.is_stopped);
        cr_expect_eq(summary.count.failure.status, CS_EMISSING);
        cr_expect_eq(count(path, "1"), 4);
        cr_expect_eq(count(path, "error IS NOT NULL"), 0);
    }
    if (modules != NULL && access(program, X_OK) == 0) {
        setenv("COLLSIM_MODULES", modules, 1);
        cs_sweep_summary summary = sweep_to(config, path, 2);
        cr_expect_eq(summary.count.done_before, 4);
        cr_expect_eq(summary.count.run, 4);
        cr_expect_eq(summary.count.missing, 0);
        cr_expect_eq(count(path, "model = 'simgrid' AND elapsed_s > 0"), 4);
    }
    cs_config_free(config);
}

Test(sweep, every_axis_is_a_column_in_si_units)
{
    cs_config *config = rings(1);

    axis(config, "cluster.ranks", "[4]");
    axis(config, "cluster.nic.bandwidth", "[\"100Gb/s\"]");
    axis(config, "arrivals.late", "[[{\"rank\": 1, \"delay\": 0}]]");
    axis(config, "arrivals.late[0].delay", "[\"1ms\", 0.0005]");
    axis(config, "faults", "[[], [{\"rank\": 0, \"slowdown\": 2}]]");
    axis(config, "seed", "[3]");
    axis(config, "verify", "[true]");
    axis(config, "name", "[\"a name\"]");
    axis(config, "algorithm.name", "[\"ring\", \"stragglar\"]");
    axis(config, "algorithm.options.chunks", "[3]");
    cr_expect_eq(sweep_to(config, path, 2).count.run, 8);
    cs_text text =
        ct_query(path, "SELECT group_concat(name, ' ') FROM pragma_table_info('results') "
                       "WHERE cid > (SELECT cid FROM pragma_table_info('results') "
                       "WHERE name = 'error')");
    cr_expect_str_eq(text.data,
                     "cluster.nic.bandwidth_Bps arrivals.late arrivals.late[0].delay_s faults seed "
                     "verify name algorithm.options.chunks\n");
    cs_text_free(&text);
    cr_expect_eq(count(path, "\"algorithm.options.chunks\" = 3"), 8);
    cs_config_free(config);
}

Test(sweep, values_are_those_of_the_scenario)
{
    cs_config *config = rings(1);

    axis(config, "cluster.ranks", "[4]");
    axis(config, "cluster.nic.bandwidth", "[\"100Gb/s\"]");
    axis(config, "arrivals.late", "[[{\"rank\": 1, \"delay\": 0}]]");
    axis(config, "arrivals.late[0].delay", "[\"1ms\", 0.0005]");
    axis(config, "seed", "[3]");
    axis(config, "verify", "[true]");
    axis(config, "name", "[\"a name\"]");
    cr_expect_eq(sweep_to(config, path, 2).count.run, 2);
    cs_text text = ct_query(path, "SELECT \"cluster.nic.bandwidth_Bps\", \"arrivals.late\", "
                                  "\"arrivals.late[0].delay_s\", seed, verify, name FROM results "
                                  "ORDER BY elapsed_s");
    cr_expect_str_eq(text.data, "12500000000.0|[{\"delay\":0,\"rank\":1}]|0.0005|3|1|a name\n"
                                "12500000000.0|[{\"delay\":0,\"rank\":1}]|0.001|3|1|a name\n");
    cs_text_free(&text);
    cs_config_free(config);
}

/* Rows that are older than a column have its value afterwards. */
Test(sweep, rows_that_were_there_get_the_columns_of_a_later_sweep)
{
    cs_config *plain = rings(1), *swept = rings(1);

    ct_set(plain, "seed", "5");
    axis(swept, "seed", "[5, 6]");
    cr_expect_eq(sweep_to(plain, path, 1).count.run, 4);
    cs_sweep_summary summary = sweep_to(swept, path, 2);
    cr_expect_eq(summary.count.done_before, 4);
    cr_expect_eq(summary.count.run, 4);
    cr_expect_eq(count(path, "seed = 5"), 4);
    cr_expect_eq(count(path, "seed = 6"), 4);
    cr_expect_eq(count(path, "seed IS NULL"), 0);
    cs_config_free(plain);
    cs_config_free(swept);
}

/* Names that a column of results has, in whatever case, and two of one name. */
Test(sweep, no_column_takes_the_name_of_another)
{
    cs_config *config = rings(1);

    axis(config, "algorithm", "[\"ring\", {\"name\": \"ring\", \"options\": {}}]");
    axis(config, "name", "[\"a\"]");
    cr_expect_eq(sweep_to(config, path, 2).refused, 0);
    cr_expect_eq(count(path, "\"sweep.algorithm\" = 'ring'"), 4);
    cr_expect_eq(count(path, "\"sweep.algorithm\" = '{\"name\":\"ring\",\"options\":{}}'"), 4);
    cs_config_free(config);
    config = rings(1);
    axis(config, "Error", "[1]");
    axis(config, "NAME", "[1]");
    axis(config, "name", "[1]");
    cs_sweep_columns *columns = NULL;
    size_t            n       = 0;
    cr_assert_eq(cs_sweep_columns_open(config, cs_result_columns, &columns, NULL), CS_OK);
    const char *const *names = cs_sweep_columns_names(columns, &n);
    cr_assert_eq(n, 3);
    cr_expect_str_eq(names[0], "sweep.Error");
    cr_expect_str_eq(names[1], "NAME");
    cr_expect_str_eq(names[2], "sweep.name");
    cs_sweep_columns_close(columns);
    cs_config_free(config);
}

Test(sweep, rows_of_another_build_are_accepted_only_if_asked_for)
{
    cs_config       *few = rings(1), *many = rings(2);
    cs_sweep_options options = {.path = path, .jobs = 2};
    cs_sweep_summary summary;
    cs_error         err = {0};

    cr_expect_eq(sweep_to(few, path, 1).count.run, 4);
    cs_text text = ct_query(path, "UPDATE results SET build = 'another'");
    cs_text_free(&text);
    cr_expect_eq(cs_sweep(many, &options, &summary, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "build another, this is build"), "%s", err.message);
    options.accepts_builds = true;
    summary                = sweep_with(many, &options);
    cr_expect_eq(summary.count.done_before, 4);
    cr_expect_eq(summary.count.run, 4);
    cr_expect_eq(count(path, "build = 'another'"), 4);
    cs_config_free(few);
    cs_config_free(many);
}

Test(sweep, every_failed_allocation_is_reported)
{
    cs_config       *config  = rings(1);
    cs_sweep_options options = {.path = path};
    cs_sweep_summary summary = {0};
    cs_status        status  = CS_ENOMEM;
    long             passes = 0, n_missing = 0;

    axis(config, "seed", "[1]");
    for (; status != CS_OK || summary.count.missing > 0; passes++) {
        cr_assert_lt(passes, 5000);
        unlink(path);
        cs_alloc_fail_after(passes);
        status = cs_sweep(config, &options, &summary, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", cs_status_text(status));
        cr_assert(summary.count.missing == 0 || summary.count.failure.status == CS_ENOMEM);
        n_missing += summary.count.missing > 0;
    }
    cr_expect_gt(passes, 20);
    cr_expect_gt(n_missing, 0);
    cr_expect_eq(count(path, "error IS NULL"), 4);
    cs_config_free(config);
}

/* ---- interrupted ---- */

TestSuite(sweep_interrupted, .init = set_up, .fini = tear_down);

/* Dies without a word when `*user` rows are done. */
static void die_at(void *user, size_t done, size_t total)
{
    (void)total;
    if (done >= *(size_t *)user) {
        kill(getpid(), SIGKILL);
    }
}

Test(sweep_interrupted, killed_and_run_again_it_goes_on)
{
    static const unsigned jobs[] = {1, 3};
    cs_config            *config = rings(60);

    sweep_to(config, other, 1);
    for (int i = 0; i < 2; i++) {
        size_t           at      = 50;
        cs_sweep_options options = {.path = path, .jobs = jobs[i], .progress = die_at, .user = &at};
        cs_sweep_summary summary;
        int              how   = 0;
        pid_t            child = fork();

        if (child == 0) {
            _exit((int)cs_sweep(config, &options, &summary, NULL));
        }
        cr_assert_eq(waitpid(child, &how, 0), child);
        cr_assert(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
        long n = count(path, "1");
        cr_expect(n >= 50 && n < 240, "%ld rows", n);
        summary = sweep_to(config, path, jobs[i]);
        cr_expect_eq(summary.count.done_before, (size_t)n);
        cr_expect_eq(summary.count.run, 240 - (size_t)n);
        expect_same_rows(path, other);
        unlink(path);
    }
    cs_config_free(config);
}

static volatile sig_atomic_t stop;

static void stop_at(void *user, size_t done, size_t total)
{
    (void)total;
    stop = done >= *(size_t *)user;
}

Test(sweep_interrupted, stopped_it_keeps_what_is_done_and_leaves_one_file)
{
    cs_config       *config = rings(60);
    size_t           at     = 30;
    struct stat      info;
    char             wal[160];
    cs_sweep_options options = {
        .path = path, .jobs = 2, .progress = stop_at, .user = &at, .stop = &stop};

    cs_sweep_summary summary = sweep_with(config, &options);
    cr_expect(summary.count.is_stopped);
    cr_expect(summary.count.run >= 30 && summary.count.run < 240);
    cr_expect_eq(count(path, "1"), (long)summary.count.run);
    snprintf(wal, sizeof wal, "%s-wal", path);
    cr_expect_neq(stat(wal, &info), 0);
    options.stop     = NULL;
    options.progress = NULL;
    size_t before    = summary.count.run;
    summary          = sweep_with(config, &options);
    cr_expect_eq(summary.count.done_before, before);
    cr_expect_eq(summary.count.done_before + summary.count.run, 240);
    cr_expect_not(summary.count.is_stopped);
    cs_config_free(config);
}

/* The child may write no more than 200 kB into a file. */
Test(sweep_interrupted, a_full_disk_ends_it_and_keeps_what_is_written)
{
    cs_config       *config  = rings(500);
    cs_sweep_options options = {.path = path, .jobs = 2};
    cs_sweep_summary summary;
    int              how   = 0;
    pid_t            child = fork();

    if (child == 0) {
        struct rlimit limit = {200000, 200000};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit((int)cs_sweep(config, &options, &summary, NULL));
    }
    cr_assert_eq(waitpid(child, &how, 0), child);
    cr_expect(WIFEXITED(how));
    cr_expect_eq(WEXITSTATUS(how), CS_EIO);
    long n = count(path, "1");
    cr_expect(n > 0 && n < 2000, "%ld rows", n);
    summary = sweep_with(config, &options);
    cr_expect_eq(summary.count.done_before, (size_t)n);
    cr_expect_eq(count(path, "1"), 2000);
    cs_config_free(config);
}
