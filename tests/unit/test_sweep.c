/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sweeps: the rows are those of the formula, for any number of jobs; what is there is not run
 * again; scenarios that cannot be run do not end one. */
#include "base/alloc.h"
#include "sweep_setup.h"

#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

TestSuite(sweep, .init = set_up, .fini = tear_down);

Test(sweep, rows_are_those_of_the_formula)
{
    cs_config       *config  = rings(5);
    cs_sweep_summary summary = sweep_to(config, path, 2);
    sqlite3         *db      = NULL;
    sqlite3_stmt    *rows    = NULL;
    int              n_rows  = 0;

    cr_expect_eq(summary.total, 20);
    cr_expect_eq(summary.run, 20);
    cr_expect_eq(summary.done_before + summary.failed, 0);
    cr_expect_not(summary.stopped);
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

    cr_expect_eq(summary.run, 400);
    for (int i = 0; i < 4; i++) {
        summary = sweep_to(config, other, jobs[i]);
        cr_expect_eq(summary.run, 400);
        expect_same_rows(path, other);
        unlink(other);
    }
    cs_config_free(config);
}

Test(sweep, what_is_there_is_not_run_again)
{
    cs_config *few = rings(3), *many = rings(10);

    cr_expect_eq(sweep_to(few, path, 2).run, 12);
    cs_sweep_summary summary = sweep_to(many, path, 2);
    cr_expect_eq(summary.total, 40);
    cr_expect_eq(summary.done_before, 12);
    cr_expect_eq(summary.run, 28);
    summary = sweep_to(many, path, 1);
    cr_expect_eq(summary.done_before, 40);
    cr_expect_eq(summary.run, 0);
    cr_expect_eq(count(path, "1"), 40);
    cr_expect_eq(sweep_to(many, other, 1).run, 40);
    expect_same_rows(path, other);
    cs_config_free(few);
    cs_config_free(many);
}

Test(sweep, equal_scenarios_are_one_row)
{
    cs_config *config = rings(1);

    axis(config, "bytes", "[4096, 4096, 8192, 4096]");
    cs_sweep_summary summary = sweep_to(config, path, 3);
    cr_expect_eq(summary.total, 16);
    cr_expect_eq(summary.run, 16);
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
    cr_expect_eq(summary.run, 16);
    cr_expect_eq(summary.failed, 4);
    cr_expect_eq(
        count(path, "error LIKE 'collective: stragglar does not do allgather; it does allreduce'"),
        4);
    cr_expect_eq(count(path, "error IS NULL AND elapsed_s > 0"), 12);
    cr_expect_eq(count(path, "error IS NOT NULL AND elapsed_s IS NULL"), 4);
    summary = sweep_to(config, path, 2);
    cr_expect_eq(summary.done_before, 16);
    cr_expect_eq(summary.failed, 4);
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
    cr_expect_eq(summary.total, 4);
    cs_config_free(config);
}

Test(sweep, a_scenario_that_is_malformed_ends_it)
{
    static const unsigned jobs[] = {1, 4};
    cs_config            *config = rings(1);

    axis(config, "bytes", "[\"4K\", \"12parsec\"]");
    for (int i = 0; i < 2; i++) {
        cs_sweep_options options = {.path = path, .jobs = jobs[i]};
        cs_sweep_summary summary;
        cs_error         err    = {0};
        cs_status        status = cs_sweep(config, &options, &summary, &err);
        cr_expect(status == CS_EINVAL || status == CS_EPARSE);
        cr_expect_not_null(strstr(err.message, "12parsec"), "%s", err.message);
    }
    cs_config_free(config);
}

Test(sweep, every_failed_allocation_is_reported)
{
    cs_config       *config  = rings(1);
    cs_sweep_options options = {.path = path};
    cs_status        status  = CS_ENOMEM;
    long             passes  = 0;

    for (; status != CS_OK; passes++) {
        cs_sweep_summary summary;
        cr_assert_lt(passes, 5000);
        unlink(path);
        cs_alloc_fail_after(passes);
        status = cs_sweep(config, &options, &summary, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", cs_status_text(status));
    }
    cr_expect_gt(passes, 20);
    cr_expect_eq(count(path, "error IS NULL"), 4);
    cs_config_free(config);
}
