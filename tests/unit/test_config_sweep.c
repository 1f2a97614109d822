/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sweeps of configurations: the order of cases, how many there may be, and the options of plug-ins
 * that not all of them have. */
#include "base/alloc.h"
#include "config_setup.h"

#include <stdio.h>
#include <string.h>

Test(config_sweep, sweeps_the_last_axis_fastest)
{
    cs_config *config =
        ct_config_of("{\"algorithm\": {\"name\": \"ring\"}, \"sweep\": {\"cluster.ranks\": "
                     "[4, 8, 16], \"algorithm.name\": [\"ring\", \"rhd\"]}}");

    cr_assert_eq(cs_config_count(config), 6);
    for (size_t i = 0; i < 6; i++) {
        char    want[100];
        cs_case c = ct_case(config, i);
        cr_assert_eq(c.job.scenario.cluster.n_ranks, 4u << i / 2);
        cr_assert_str_eq(c.job.algorithm->name, i % 2 == 0 ? "ring" : "rhd");
        snprintf(want, sizeof want, "{\"algorithm\":{\"name\":\"%s\"},\"cluster\":{\"ranks\":%u}}",
                 i % 2 == 0 ? "ring" : "rhd", 4u << i / 2);
        cr_assert_str_eq(c.json, want);
        cs_case_free(&c);
    }
    cr_assert_eq(cs_config_set(config, "sweep.cluster.ranks", "[2, 32]", "--ranks", NULL), CS_OK);
    cr_assert_eq(cs_config_count(config), 4, "an axis is replaced in its place");
    cs_case c = ct_case(config, 2);
    cr_assert_eq(c.job.scenario.cluster.n_ranks, 32);
    cs_case_free(&c);
    ct_set(config, "sweep.bytes", "[1, 2, 3]");
    cr_assert_eq(cs_config_count(config), 12);
    ct_set_from(config, "cluster.ranks", "64", "--ranks");
    cr_assert_eq(cs_config_count(config), 6, "a value that is set is not swept");
    ct_set(config, "algorithm", "rhd");
    cr_assert_eq(cs_config_count(config), 3, "the algorithm is the algorithm's name");
    ct_set(config, "sweep", "{}");
    cr_assert_eq(cs_config_count(config), 1);
    cs_config_free(config);
}

Test(config_sweep, refuses_more_than_ten_million_cases)
{
    cs_config *config = NULL;
    cs_error   err    = {0};
    char       list[20002];
    size_t     length = 0;

    for (size_t i = 0; i < 10000; i++) {
        list[length++] = i == 0 ? '[' : ',';
        list[length++] = '1';
    }
    memcpy(list + length, "]", 2);
    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    cr_assert_eq(cs_config_set(config, "sweep.bytes", list, "-s", NULL), CS_OK);
    cr_assert_eq(cs_config_set(config, "sweep.seed", "[1,2,3,4]", "-x", NULL), CS_OK);
    cr_assert_eq(cs_config_set(config, "sweep.root", list, "-y", &err), CS_EINVAL);
    cr_assert_eq(cs_config_count(config), 40000);
    cr_assert_eq(cs_config_set(config, "sweep.seed", "[1]", "-x", NULL), CS_OK);
    list[2 * 1000]     = ']';
    list[2 * 1000 + 1] = '\0';
    cr_assert_eq(cs_config_set(config, "sweep.root", list, "-y", NULL), CS_OK);
    cr_assert_eq(cs_config_count(config), 10000000);
    cs_config_free(config);
}

Test(config_sweep, leaves_out_options_of_another_swept_plug_in)
{
    cs_config *config =
        ct_config_of("{\"model\": {\"name\": \"loggp\", \"options\": {\"gap_s\": 1e-6}},"
                     "\"sweep\": {\"model.name\": [\"loggp\", \"alpha-beta\"]}}");
    cs_case c = ct_case(config, 0);

    cr_assert_str_eq(c.job.model->name, "loggp");
    cs_case_free(&c);
    c = ct_case(config, 1);
    cr_assert_str_eq(c.job.model->name, "alpha-beta");
    cr_assert_null(strstr(c.json, "gap_s"), "what is left out is not in the case's JSON");
    cs_case_free(&c);
    ct_set(config, "model.options.nonsense", "1");
    cr_assert_not_null(strstr(refusal(config, 1), "unknown option 'nonsense'"));
    cs_config_free(config);

    config = ct_config_of("{\"model\": {\"name\": \"loggp\", \"options\": {\"gap_s\": 1e-6}}}");
    ct_set_from(config, "model.name", "alpha-beta", "--model");
    c = ct_case(config, 0);
    cs_case_free(&c);
    ct_set_from(config, "model.options.gap_s", "1us", "--model-opt");
    cr_assert_not_null(strstr(refusal(config, 0), "--model-opt: unknown option 'gap_s'"));
    cs_config_free(config);
}

Test(config_sweep, refuses_options_that_none_of_the_algorithms_has)
{
    cs_config *config = ct_config_of("{\"sweep\": {\"algorithm.name\": [\"ring\", \"rhd\"]}}");

    ct_set_from(config, "algorithm.options.late_ranks", "2", "--opt");
    cr_assert_str_eq(refusal(config, 0), "--opt: unknown option 'late_ranks': accepted are none");
    ct_set_from(config, "algorithm.options.late_rank", "2", "--opt");
    cs_config_free(config);

    config = ct_config_of("{\"sweep\": {\"algorithm.name\": [\"ring\", \"stragglar\"]}}");
    ct_set_from(config, "algorithm.options.late_ranks", "2", "--opt");
    cs_case c = ct_case(config, 0);
    cs_case_free(&c);
    ct_set_from(config, "algorithm.options.late_rank", "2", "--opt");
    cr_assert_str_eq(
        refusal(config, 0),
        "--opt: unknown option 'late_rank', did you mean 'late_ranks'?: "
        "accepted are none; 'collsim list' has the options of all algorithms and models");
    cs_config_free(config);

    config =
        ct_config_of("{\"algorithm\": {\"name\": \"stragglar\", \"options\": {\"chunks\": 3}}}");
    cr_assert_eq(cs_config_set(config, "sweep.algorithm.name", "[\"ring\", \"rhd\"]", "-a", NULL),
                 CS_OK);
    c = ct_case(config, 1); /* those of the file's own algorithm go with it */
    cs_case_free(&c);
    cs_config_free(config);
}

/* A point stands by itself: it has no sweep, can be changed, and its errors have the place that
 * they have in the file. */
Test(config_sweep, a_point_as_a_configuration)
{
    cs_config *point  = NULL;
    cs_error   err    = {0};
    cs_config *config = ct_config_of(
        "{\"sweep\": {\"cluster.ranks\": [4, 8], \"bytes\": [16, 32]},\n \"algorithm\": "
        "{\"name\": \"rng\"}}");

    cr_expect(cs_config_has_axis(config, "bytes"));
    cr_expect_not(cs_config_has_axis(config, "seed"));
    cr_assert_eq(cs_config_at(config, 2, &point, &err), CS_OK, "%s", err.message);
    cr_expect_eq(cs_config_count(point), 1);
    cs_case c = {0};
    cr_assert_neq(cs_config_case(point, 0, &c, &err), CS_OK);
    cr_expect_eq(err.input_line, 2);
    cr_expect_str_eq(err.where, "algorithm.name");
    ct_set(point, "algorithm.name", "ring");
    ct_set(point, "bytes", "64");
    c = ct_case(point, 0);
    cr_expect_eq(c.job.scenario.cluster.n_ranks, 8);
    cr_expect_eq(c.job.scenario.bytes, 64);
    cs_case_free(&c);
    cs_config_free(point);
    cr_assert_eq(cs_config_at(config, 0, &point, NULL), CS_OK, "it is as it was");
    cs_config_free(point);
    cs_config_free(config);
}

/* What one says is kept, at any depth; what it does not say comes from the other, axes too. */
Test(config_sweep, a_configuration_completed_by_another)
{
    cs_config *ours = ct_config_of("{\"cluster\": {\"nic\": {\"alpha\": \"1us\"}}, \"seed\": 7, "
                                   "\"sweep\": {\"cluster.ranks\": [4, 8]}}");
    cs_config *other =
        ct_config_of("{\"cluster\": {\"nic\": {\"alpha\": \"2us\", \"bandwidth\": "
                     "\"1GB/s\"}, \"gpus_per_server\": 2}, \"bytes\": 64, \"sweep\": "
                     "{\"cluster.ranks\": [16], \"seed\": [1, 2], \"root\": [0, 1, 2]}}");
    cs_error err = {0};

    cr_assert_eq(cs_config_complete(ours, other, &err), CS_OK, "%s", err.message);
    cr_expect_eq(cs_config_count(ours), 6);
    cr_expect_not(cs_config_has_axis(ours, "seed"));
    cs_case c = ct_case(ours, 5);
    cr_expect_eq(c.job.scenario.cluster.n_ranks, 8);
    cr_expect_eq(c.job.scenario.cluster.gpus_per_server, 2);
    cr_expect_eq(c.job.scenario.bytes, 64);
    cr_expect_eq(c.job.scenario.seed, 7);
    cr_expect_eq(c.job.scenario.root, 2);
    cr_expect_float_eq(c.job.scenario.cluster.fabrics[CS_NIC].alpha_s, 1e-6, 1e-18);
    cr_expect_float_eq(c.job.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps, 1e9, 1);
    cs_case_free(&c);
    cs_config_free(ours);
    cs_config_free(other);
}

/* The key of figures is theirs: a case neither minds nor shows it. */
Test(config_sweep, the_key_of_a_figure_is_left_out)
{
    cs_config *config = ct_config_of("{\"bytes\": 64, \"figure\": {\"title\": \"t\"}}");
    cs_case    c      = ct_case(config, 0);

    cr_expect_str_eq(c.json, "{\"bytes\":64}");
    cs_case_free(&c);
    cs_config_free(config);
}

Test(config_sweep, out_of_memory_for_points_and_completions)
{
    cs_config *config =
        ct_config_of("{\"cluster\": {\"ranks\": 4}, \"sweep\": {\"bytes\": [1, 2]}}");
    cs_config *other = ct_config_of("{\"cluster\": {\"gpus_per_server\": 2}, \"sweep\": {\"seed\": "
                                    "[1, 2]}}");
    cs_status  status = CS_ENOMEM;

    ct_set(config, "root", "0");
    for (long passes = 0; status == CS_ENOMEM && passes < 1000; passes++) {
        cs_config *point = NULL;
        cs_alloc_fail_after(passes);
        status = cs_config_at(config, 1, &point, NULL);
        cs_alloc_fail_after(-1);
        cs_config_free(point);
    }
    cr_assert_eq(status, CS_OK);
    status = CS_ENOMEM;
    for (long passes = 0; status == CS_ENOMEM && passes < 1000; passes++) {
        cs_alloc_fail_after(passes);
        status = cs_config_complete(config, other, NULL);
        cs_alloc_fail_after(-1);
    }
    cr_assert_eq(status, CS_OK);
    cr_expect_eq(cs_config_count(config), 4);
    cs_config_free(config);
    cs_config_free(other);
}
