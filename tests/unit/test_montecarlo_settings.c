/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of a sweep in `montecarlo`: none repeats another, and the table says what sets them apart.
 */
#include "base/alloc.h"
#include "montecarlo_setup.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ring presumes nobody and has no chunks; stragglar does and has. */
static cs_config *two_algorithms(void)
{
    cs_config *config = NULL;

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    ct_set(config, "bytes", "56000000");
    ct_set(config, "arrivals.straggler",
           "{\"rank\": 3, \"persistence\": 0.8, \"delay\": {\"name\": \"exponential\", \"mean\": "
           "\"1ms\"}}");
    ct_set(config, "sweep.algorithm.name", "[\"ring\", \"stragglar\"]");
    return config;
}

static const cs_montecarlo_options fifty = {.iterations = 50, .confidence = 0.95};

static size_t count_of(const cs_montecarlo_report *report, const char *algorithm)
{
    size_t n = 0;

    for (size_t i = 0; i < report->n_rows; i++) {
        n += strcmp(report->rows[i].algorithm, algorithm) == 0;
    }
    return n;
}

Test(montecarlo_settings, what_an_algorithm_does_not_know_gives_it_no_rows)
{
    cs_config *config = two_algorithms();

    ct_set(config, "sweep.montecarlo.prediction", "[\"oracle\", \"static\", \"previous\"]");
    ct_set(config, "sweep.montecarlo.fallback", "[\"none\", \"ring\"]");
    ct_set(config, "sweep.algorithm.options.chunks", "[7, 14]");
    cs_montecarlo_report report = run(config, &fifty);
    cr_expect_eq(count_of(&report, "ring"), 1);
    cr_expect_eq(count_of(&report, "stragglar"), 12);
    cr_expect_eq(report.count.total, 13);
    cr_expect_eq(report.n_repeats, 11);
    cr_expect_eq(report.count.run, 13);
    cs_montecarlo_report_free(&report);
    /* a baseline that presumes is one of its rows; sizes do not repeat each other */
    cs_montecarlo_options options = fifty;
    options.baseline              = "stragglar";
    ct_set(config, "sweep.bytes", "[56000000, 112000000]");
    report = run(config, &options);
    cr_expect_eq(report.count.total, 26);
    cr_expect_eq(report.n_repeats, 22);
    for (size_t i = 0; i < report.n_rows; i++) {
        cr_expect_eq(report.rows[i].error[0], '\0', "%s", report.rows[i].error);
        cr_expect(report.rows[i].baseline[0] == '\0' ||
                  strcmp(report.rows[i].baseline, "stragglar") == 0);
    }
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

/* What is left out is what was the same: the rows of ring with each policy alone. */
Test(montecarlo_settings, what_is_left_out_would_have_been_the_same)
{
    static const char *const policies[] = {"{\"prediction\": \"static\", \"fallback\": \"ring\"}",
                                           "{\"prediction\": \"dynamic\", \"agreement\": \"1us\"}"};
    double                   mean_s[2];

    for (size_t i = 0; i < 2; i++) {
        cs_config *config = two_algorithms();
        ct_set(config, "montecarlo", policies[i]);
        cs_montecarlo_report report = run(config, &fifty);
        mean_s[i]                   = report.rows[0].exposed_s.mean.value;
        cr_expect_eq(report.n_repeats, 0);
        cs_montecarlo_report_free(&report);
        cs_config_free(config);
    }
    cr_expect_eq(mean_s[0], mean_s[1]);
}

static void expect_settings(const cs_montecarlo_row *row, const char *want)
{
    const char *got = row->settings != NULL ? row->settings : "";
    cr_expect_str_eq(got, want, "%s: '%s'", row->algorithm, got);
}

Test(montecarlo_settings, the_table_says_what_sets_rows_apart)
{
    cs_config *config = two_algorithms();
    cs_text    table  = {0};

    ct_set(config, "montecarlo", "{\"prediction\": \"static\"}");
    ct_set(config, "sweep.arrivals.straggler.persistence", "[0.1, 0.95]");
    ct_set(config, "sweep.montecarlo.agreement", "[\"0s\", \"20us\"]");
    ct_set(config, "sweep.algorithm.options.chunks", "[7, 14]");
    ct_set(config, "sweep.seed", "[1]"); /* no choice */
    cs_montecarlo_report report = run(config, &fifty);
    cr_assert_eq(report.n_rows, 2 + 8);
    expect_settings(&report.rows[0], "arrivals.straggler.persistence=0.1");
    expect_settings(&report.rows[1], "arrivals.straggler.persistence=0.95");
    expect_settings(&report.rows[2], "arrivals.straggler.persistence=0.1 "
                                     "montecarlo.agreement=0s algorithm.options.chunks=7");
    expect_settings(&report.rows[9], "arrivals.straggler.persistence=0.95 "
                                     "montecarlo.agreement=20us algorithm.options.chunks=14");
    cs_montecarlo_print(&table, report.rows, report.n_rows);
    cr_expect_not_null(strstr(table.data, " settings "));
    cr_expect_not_null(strstr(table.data, " arrivals.straggler.persistence=0.95 "));
    cs_text_free(&table);
    cs_montecarlo_report_free(&report);
    /* what has columns of its own needs no other */
    ct_set(config, "sweep", "{\"algorithm.name\": [\"ring\", \"rhd\"], \"bytes\": [1, 2]}");
    report = run(config, &fifty);
    cr_assert_eq(report.n_rows, 4);
    expect_settings(&report.rows[3], "");
    cs_montecarlo_print(&table, report.rows, report.n_rows);
    cr_expect_null(strstr(table.data, "settings"));
    cs_text_free(&table);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

/* Rows out of a file have their settings, too. */
Test(montecarlo_settings, a_file_gives_them_back, .init = set_up, .fini = tear_down)
{
    cs_config            *config  = two_algorithms();
    cs_montecarlo_options options = fifty;

    options.path = path;
    ct_set(config, "sweep.model",
           "[\"alpha-beta\", {\"name\": \"alpha-beta\", \"options\": {\"propagation_s\": 1e-06}}]");
    for (int pass = 0; pass < 2; pass++) {
        cs_montecarlo_report report = run(config, &options);
        cr_expect_eq(report.count.done_before, pass == 0 ? 0 : 4);
        expect_settings(&report.rows[0], "model=alpha-beta");
        expect_settings(&report.rows[3],
                        "model={\"name\":\"alpha-beta\",\"options\":{\"propagation_s\":1e-6}}");
        cs_montecarlo_report_free(&report);
    }
    cr_assert_eq(unlink(path), 0);
    cs_config_free(config);
}

Test(montecarlo_settings, every_failed_allocation_is_clean)
{
    cs_config *config = two_algorithms();
    cs_status  status = CS_ENOMEM;
    long       passes = 0;

    ct_set(config, "sweep.montecarlo.prediction", "[\"oracle\", \"static\"]");
    ct_set(config, "sweep.arrivals.straggler.persistence", "[0.1, 0.95]");
    for (; status == CS_ENOMEM && passes < 5000; passes++) {
        cs_montecarlo_report report = {0};
        cs_error             err    = {0};
        cs_alloc_fail_after(passes);
        status = cs_montecarlo_run(config, &fifty, &report, &err);
        cs_alloc_fail_after(-1);
        cs_montecarlo_report_free(&report);
    }
    cr_expect_eq(status, CS_OK);
    cr_expect_gt(passes, 50);
    cs_config_free(config);
}
