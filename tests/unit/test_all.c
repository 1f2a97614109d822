/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "all" as an algorithm: what it stands for, and that a refusal is left out where only it names the
 * algorithm. How the program says so is in tests/validation/test_run_notes.c. */
#include "base/alloc.h"
#include "campaign/sweep.h"
#include "study/all.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/query.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(all, .init = ct_folder_enter, .fini = ct_folder_leave);

static size_t count_of(cs_collective collective)
{
    size_t n = 0;

    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        n += cs_algorithms[i]->collectives >> collective & 1u;
    }
    return n;
}

static void expect_all(const cs_config *config, cs_collective collective)
{
    size_t n = cs_config_count(config);

    cr_assert_eq(n, count_of(collective));
    for (size_t i = 0; i < n; i++) {
        cs_case c = ct_case(config, i);
        cr_expect_eq(c.job.scenario.collective, collective);
        cr_expect(c.job.algorithm->collectives >> collective & 1u, "%s", c.job.algorithm->name);
        cr_expect(cs_config_is_of_all(config, i));
        cs_case_free(&c);
    }
}

/* Wherever it stands, and whatever is set first. */
Test(all, is_every_algorithm_that_does_the_collective)
{
    static const char *const files[] = {
        "{\"algorithm\": \"all\", \"collective\": \"alltoall\"}",
        "{\"algorithm\": {\"name\": \"all\"}, \"collective\": \"alltoall\"}",
        "{\"collective\": \"alltoall\", \"sweep\": {\"algorithm\": [\"all\"]}}",
        "{\"collective\": \"alltoall\", \"sweep\": {\"algorithm.name\": [\"all\", \"all\"]}}",
    };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        cs_config *config = ct_config_of(files[i]);
        expect_all(config, CS_ALLTOALL);
        ct_set(config, "collective", "broadcast");
        expect_all(config, CS_BROADCAST);
        ct_set(config, "algorithm", "ring");
        cr_expect_eq(cs_config_count(config), 1);
        cr_expect_not(cs_config_has_all(config));
        ct_set(config, "algorithm.name", "all");
        ct_set(config, "collective", "reduce");
        expect_all(config, CS_REDUCE);
        cs_config_free(config);
    }
}

/* Its options stay, and are those of the algorithms that have them. */
Test(all, leaves_options_alone)
{
    cs_config *config = ct_config_of("{\"collective\": \"reduce\", \"algorithm\": {\"name\": "
                                     "\"all\", \"options\": {\"chunks\": 5}}}");
    size_t     n_with = 0;

    for (size_t i = 0; i < cs_config_count(config); i++) {
        cs_case c = ct_case(config, i);
        n_with += strstr(c.json, "\"chunks\":5") != NULL;
        cs_case_free(&c);
    }
    cr_expect_gt(n_with, 1);
    cr_expect_lt(n_with, cs_config_count(config));
    cs_config_free(config);
}

Test(all, stands_behind_those_that_are_named)
{
    cs_config  *config = ct_config_of("{\"sweep\": {\"algorithm.name\": [\"all\", \"tree\"]}}");
    cs_case     first  = ct_case(config, 0);
    cs_error    why    = {CS_EINVAL, .message = "no"};
    cs_left_out out    = {0};
    size_t      n      = cs_config_count(config);

    cr_expect_eq(n, count_of(CS_ALLREDUCE), "nobody comes twice");
    cr_expect_str_eq(first.job.algorithm->name, "double_binary_tree");
    cr_expect_not(cs_config_is_of_all(config, 0));
    cr_expect_not(cs_config_leave_out(config, 0, &why, &out), "it was asked for by its name");
    cr_expect(cs_config_leave_out(config, 1, &why, &out));
    cr_expect(cs_config_leave_out(config, 1, &why, &out));
    why.status = CS_ENOMEM;
    cr_expect_not(cs_config_leave_out(config, 2, &why, &out), "the machine failed");
    cr_expect_eq(out.n, 2);
    cr_expect_str_eq(out.text.data, "adapcc (no)", "said once");
    why = (cs_error){CS_ENOTSUP, .where = "bytes", .message = "allpairs is slow"};
    cr_expect(cs_config_leave_out(config, 2, &why, &out));
    why = (cs_error){CS_ENOTSUP, .where = "bytes", .message = "is slow"};
    cr_expect(cs_config_leave_out(config, 3, &why, &out));
    cr_expect(cs_config_leave_out(config, 4, &why, &out));
    cr_expect_str_eq(out.text.data, "adapcc (no); allpairs, blink, broadcast (bytes: is slow)");
    cs_left_out_free(&out);
    cs_case_free(&first);
    cs_config_free(config);
}

/* Six ranks are no power of two: iallgather_rd and rhd refuse them; nvls both, as servers have a
 * GPU each. */
enum { REFUSED = 4 };
static const char POWERS[] =
    "{\"algorithm\": \"all\", \"collective\": \"allgather\", \"bytes\": 6144,"
    " \"sweep\": {\"cluster.ranks\": [6, 8]}}";

Test(all, has_no_object_for_what_is_refused)
{
    cs_config *config = ct_config_of(POWERS);
    char      *text   = NULL;
    cs_error   err    = {0};

    cr_assert_eq(cs_config_run(config, 2, &text, &err), CS_OK, "%s", err.message);
    json_t *rows = json_loads(text, 0, NULL);
    cr_assert_eq(json_array_size(rows), 2 * count_of(CS_ALLGATHER) - REFUSED);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        cr_expect(json_is_true(json_object_get(json_array_get(rows, i), "verified")));
    }
    json_decref(rows);
    cs_string_free(text);
    cs_config_free(config);
}

Test(all, has_no_row_for_what_is_refused)
{
    cs_config             *config  = ct_config_of(POWERS);
    const cs_sweep_options options = {.path = "r.db", .jobs = 2};
    cs_sweep_summary       summary = {0};
    cs_error               err     = {0};
    size_t                 n       = 2 * count_of(CS_ALLGATHER) - REFUSED;

    for (int again = 0; again < 2; again++) {
        cr_assert_eq(cs_sweep(config, &options, &summary, &err), CS_OK, "%s", err.message);
        cr_expect_eq(summary.count.total, n);
        cr_expect_eq(summary.count.done_before, again ? n : 0);
        cr_expect_eq(summary.refused, 0);
        cr_expect_eq(summary.left_out.n, REFUSED);
        cr_expect_not_null(strstr(summary.left_out.text.data, "; rhd ("));
        cr_expect_not_null(strstr(summary.left_out.text.data, "iallgather_rd (cluster.ranks: "));
        cs_left_out_free(&summary.left_out);
    }
    cs_text rows = ct_query("r.db", "SELECT count(*) FROM results WHERE verified");
    cr_expect_eq((size_t)atol(rows.data), n);
    cs_text_free(&rows);
    cs_config_free(config);
}

/* With servers that differ nobody is left whom the option suits. */
Test(all, is_an_error_where_nobody_is_left)
{
    cs_config             *config  = ct_config_of(POWERS);
    const cs_sweep_options options = {.path = "r.db"};
    cs_sweep_summary       summary = {0};
    cs_error               err     = {0};
    char                  *text    = NULL;

    ct_set(config, "cluster.ranks", "65536");
    ct_set(config, "collective", "alltoall");
    ct_set(config, "cluster.gpus_per_server", "3");
    cr_expect_eq(cs_config_run(config, 1, &text, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "65536"), "%s", err.message);
    err = (cs_error){0};
    cr_expect_eq(cs_sweep(config, &options, &summary, &err), CS_EINVAL);
    cr_expect_neq(err.message[0], '\0');
    cs_left_out_free(&summary.left_out);
    cs_config_free(config);
}

/* Training says by its parallelism what its calls are. */
Test(all, follows_the_calls_of_training)
{
    cs_config *config = ct_config_of("{\"algorithm\": \"all\", \"training\": {\"compute\": 0, "
                                     "\"model\": \"deepseek-v3\"}}");

    cr_expect_eq(cs_config_count(config), count_of(CS_ALLREDUCE));
    ct_set(config, "training.parallelism", "fsdp");
    cr_expect_eq(cs_config_count(config), count_of(CS_REDUCESCATTER));
    ct_set(config, "training.parallelism", "experts");
    ct_set(config, "training.tokens", "64");
    cr_expect_eq(cs_config_count(config), count_of(CS_ALLTOALL));
    for (size_t i = 0; i < cs_config_count(config); i++) {
        cs_case c = ct_case(config, i);
        cr_expect(c.job.algorithm->collectives >> CS_ALLTOALL & 1u);
        cs_case_free(&c);
    }
    cs_config_free(config);
}

Test(all, out_of_memory)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status == CS_ENOMEM && passes < 2000; passes++) {
        cs_config *config = NULL;
        cs_alloc_fail_after(passes);
        status = cs_config_parse(POWERS, sizeof POWERS - 1, "c.json", &config, NULL);
        if (status == CS_OK) {
            status = cs_config_set(config, "collective", "reduce", "--set", NULL);
        }
        cs_alloc_fail_after(-1);
        cs_config_free(config);
    }
    cr_expect_eq(status, CS_OK);
}
