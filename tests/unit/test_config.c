/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configurations: what the keys mean, options on top of a file, whom a refusal names. Sweeps: the
 * order of cases, how many there may be, and the options of plug-ins that not all of them have.
 * Cases: from many threads, without memory, quickly, and those of the examples. The words of
 * refusals are in tests/errors. */
#include "base/alloc.h"
#include "base/file.h"
#include "support/config.h"
#include "support/folder.h"
#include "traces/calibration_json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- keys and options ---- */

Test(config, has_the_documented_defaults)
{
    cs_config *config = NULL;

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    cr_assert_eq(cs_config_count(config), 1);
    cs_case            c = ct_case(config, 0);
    const cs_scenario *s = &c.job.scenario;
    cr_assert_eq(s->collective, CS_ALLREDUCE);
    cr_assert_eq(s->bytes, 33554432);
    cr_assert_eq(s->root, 0);
    cr_assert_eq(s->seed, 1);
    cr_assert_eq(s->cluster.n_ranks, 8);
    cr_assert_eq(s->cluster.gpus_per_server, 1);
    cr_assert_eq(s->cluster.fabrics[CS_NIC].bandwidth_Bps, 450e9);
    cr_assert_eq(s->cluster.fabrics[CS_NIC].alpha_s, 3e-6);
    cr_assert_eq(s->cluster.fabrics[CS_NVLINK].bandwidth_Bps, 450e9);
    cr_assert_eq(s->cluster.fabrics[CS_NVLINK].alpha_s, 1e-6);
    cr_assert_eq(s->cluster.fabrics[CS_NVLINK].kind, CS_SWITCHED);
    cr_assert_null(s->arrival_s);
    cr_assert_eq(s->n_capacity, 0);
    cr_assert(c.job.verify);
    cr_assert_str_eq(c.job.algorithm->name, "ring");
    cr_assert_str_eq(c.job.model->name, "alpha-beta");
    cr_assert_str_eq(c.json, "{}");
    cs_case_free(&c);
    cs_config_free(config);
}

Test(config, reads_every_key)
{
    cs_config *config = ct_config_of(
        "{\"name\": \"n\", \"description\": \"d\", \"collective\": \"broadcast\", \"root\": 3,"
        " \"algorithm\": \"broadcast\", \"bytes\": \"3KiB\", \"seed\": 9, \"verify\": false,"
        " \"model\": {\"name\": \"loggp\", \"options\": {\"overhead_s\": \"100ns\", \"gap_s\": "
        "1e-6}},"
        " \"cluster\": {\"ranks\": 4, \"gpus_per_server\": 2, \"topology\": {\"kind\": "
        "\"crossbar\"},"
        "  \"nic\": {\"bandwidth\": \"200Gb/s\", \"alpha\": \"5us\"},"
        "  \"nvlink\": {\"bandwidth\": 1e11, \"alpha\": 2e-6, \"kind\": \"direct\", "
        "\"concurrent\": 2}},"
        " \"arrivals\": {\"late\": [{\"rank\": 2, \"delay\": \"1ms\"}]},"
        " \"faults\": [{\"rank\": 3, \"slowdown\": 2, \"from\": \"1ms\", \"until\": null},"
        "              {\"rank\": 1, \"slowdown\": 4, \"until\": \"2s\"}]}");
    cs_case            c = ct_case(config, 0);
    const cs_scenario *s = &c.job.scenario;
    cs_options         want;

    cr_assert_str_eq(cs_config_text(config, "description"), "d");
    cr_assert_eq(s->collective, CS_BROADCAST);
    cr_assert_eq(s->root, 3);
    cr_assert_eq(s->bytes, 3072);
    cr_assert_eq(s->seed, 9);
    cr_assert_not(c.job.verify);
    cr_assert_eq(s->cluster.fabrics[CS_NIC].bandwidth_Bps, 25e9);
    cr_assert_eq(s->cluster.fabrics[CS_NIC].alpha_s, 5e-6);
    cr_assert_eq(s->cluster.fabrics[CS_NVLINK].bandwidth_Bps, 100e9);
    cr_assert_eq(s->cluster.fabrics[CS_NVLINK].alpha_s, 2e-6);
    cr_assert_eq(s->cluster.fabrics[CS_NVLINK].kind, CS_DIRECT);
    cr_assert_eq(s->cluster.nvlink_concurrent, 2);
    for (uint32_t r = 0; r < 4; r++) {
        cr_assert_eq(s->arrival_s[r], r == 2 ? 1e-3 : 0);
    }
    cr_assert_eq(s->n_capacity, 2);
    cr_assert_eq(s->capacity[0].rank, 1);
    cr_assert_eq(s->capacity[0].slowdown, 4);
    cr_assert_eq(s->capacity[0].from_s, 0);
    cr_assert_eq(s->capacity[0].until_s, 2);
    cr_assert_eq(s->capacity[1].rank, 3);
    cr_assert_eq(s->capacity[1].from_s, 1e-3);
    cr_assert(isinf(s->capacity[1].until_s));
    cs_fields_default(c.job.model->options, &want);
    cr_assert_eq(cs_field_set(c.job.model->options, &want, "overhead_s", "1e-7", "", NULL), CS_OK);
    cr_assert_eq(cs_field_set(c.job.model->options, &want, "gap_s", "1e-6", "", NULL), CS_OK);
    cr_assert_eq(memcmp(&want, &c.job.model_options, c.job.model->options_bytes), 0);
    cs_case_free(&c);
    cs_config_free(config);
}

Test(config, counts_time_from_the_first_arrival)
{
    cs_config *config = ct_config_of(
        "{\"cluster\": {\"ranks\": 3}, \"arrivals\": {\"late\": [{\"rank\": 1, \"delay\": \"5ms\"},"
        "{\"rank\": 0, \"delay\": \"2ms\"}, {\"rank\": 2, \"delay\": \"2ms\"}]}}");
    cs_case c = ct_case(config, 0);

    cr_assert_eq(c.job.scenario.arrival_s[0], 0);
    cr_assert_eq(c.job.scenario.arrival_s[1], 5e-3 - 2e-3);
    cr_assert_eq(c.job.scenario.arrival_s[2], 0);
    cs_case_free(&c);
    ct_set(config, "arrivals.late[1].delay", "5ms");
    ct_set(config, "arrivals.late[2].delay", "0.005");
    c = ct_case(config, 0);
    cr_assert_null(c.job.scenario.arrival_s, "all arrive together");
    cs_case_free(&c);
    cs_config_free(config);
}

Test(config, takes_options_on_top_of_the_file)
{
    cs_config *config = ct_config_of("{\"cluster\": {\"ranks\": 4}, \"algorithm\": \"ring\"}");

    ct_set_from(config, "cluster.nic.bandwidth", "100GB/s", "--bandwidth");
    ct_set_from(config, "cluster.ranks", "16", "--ranks");
    ct_set_from(config, "algorithm.name", "rhd", "--algorithm");
    ct_set_from(config, "arrivals.late[]", "{\"rank\": 15, \"delay\": \"1ms\"}", "--late");
    ct_set_from(config, "faults[]", "{\"rank\": 0, \"slowdown\": 2}", "--slow");
    ct_set_from(config, "faults[]", "{\"rank\": 1, \"slowdown\": 3}", "--slow");
    cs_case c = ct_case(config, 0);
    cr_assert_eq(c.job.scenario.cluster.n_ranks, 16);
    cr_assert_eq(c.job.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps, 100e9);
    cr_assert_str_eq(c.job.algorithm->name, "rhd");
    cr_assert_eq(c.job.scenario.arrival_s[15], 1e-3);
    cr_assert_eq(c.job.scenario.n_capacity, 2);
    cr_assert_str_eq(c.json,
                     "{\"algorithm\":{\"name\":\"rhd\"},\"arrivals\":{\"late\":[{\"delay\":\"1ms\","
                     "\"rank\":15}]},"
                     "\"cluster\":{\"nic\":{\"bandwidth\":\"100GB/s\"},\"ranks\":16},"
                     "\"faults\":[{\"rank\":0,\"slowdown\":2},{\"rank\":1,\"slowdown\":3}]}");
    cs_case_free(&c);
    cs_config_free(config);
}

Test(config, blames_whoever_set_the_value)
{
    cs_config *config = ct_config_of("{\"bytes\": \"1M\"}");
    cs_error   err    = {0};

    ct_set_from(config, "cluster.nic.bandwidth", "0", "--bandwidth");
    cr_assert_str_eq(ct_refusal(config, 0), "--bandwidth: 0 is outside [1, 1e+15]");
    ct_set_from(config, "cluster.nic.bandwidth", "1GB/s", "--bandwidth");
    ct_set(config, "cluster.rank", "3");
    cr_assert_str_eq(ct_refusal(config, 0),
                     "--set cluster.rank: unknown key 'rank', did you mean 'ranks'?: accepted are "
                     "ranks, gpus_per_server, nic, nvlink, sockets, cross, servers, topology");
    cs_config_free(config);

    config = ct_config_of("{\"faults\": [{\"rank\": 0, \"slowdown\": 2}]}");
    ct_set_from(config, "faults[]", "{\"rank\": 99, \"slowdown\": 2}", "--slow");
    cr_assert_str_eq(ct_refusal(config, 0), "--slow: 99 is outside [0, 7]");
    cr_assert_eq(cs_config_set(config, "faults[5].rank", "1", "--set", &err), CS_EINVAL);
    cr_assert_str_eq(err.where, "--set faults[5].rank");
    err = (cs_error){0};
    cr_assert_eq(cs_config_set(config, "bytes", "{\"a\"", "--set", &err), CS_EPARSE);
    err = (cs_error){0};
    cr_assert_eq(cs_config_set(config, "bytes..x", "1", "--set", &err), CS_EINVAL);
    err = (cs_error){0};
    cr_assert_eq(cs_config_set(config, "sweep.cluster.ranks", "[]", "--ranks", &err), CS_EINVAL);
    cr_assert_str_eq(err.where, "--ranks");
    cr_assert_eq(cs_config_set(config, "sweep.cluster.ranks", "[8, 1]", "--ranks", NULL), CS_OK);
    ct_set(config, "faults", "[]");
    cr_assert_str_eq(ct_refusal(config, 1), "--ranks: 1 is outside [2, 65536]");
    cs_config_free(config);
}

/* A ring of four: six steps of a quarter of the buffer. */
static cs_regime regime(uint64_t min_bytes, uint64_t max_bytes, double alpha_s, double rate_Bps)
{
    double a = 6 * alpha_s, b = 1.5 / rate_Bps;

    return (cs_regime){.min_bytes     = min_bytes,
                       .max_bytes     = max_bytes,
                       .n_points      = 6,
                       .line          = {a, a, a, b, b, b},
                       .alpha_s       = alpha_s,
                       .bandwidth_Bps = rate_Bps};
}

/* A calibration stands above the NIC's keys, and the case says which values were used. */
Test(config, takes_the_nic_from_a_calibration)
{
    cs_calibration measured = {
        .collective = CS_ALLREDUCE,
        .n_ranks    = 4,
        .n_points   = 12,
        .n_regimes  = 2,
        .regimes    = {regime(1024, 65536, 2e-6, 1e9), regime(65537, 1 << 20, 5e-6, 4e9)}};
    cs_text           text = {0};
    char              folder[CT_FOLDER_BYTES], file[80], config_file[80];
    static const char json[] = "{\"calibration\": \"c.json\", \"cluster\": {\"ranks\": 4, \"nic\":"
                               " {\"alpha\": 1}}, \"sweep\": {\"bytes\": [4096, 100000, 5]}}";
    cs_config        *config = NULL;
    cs_error          err    = {0};

    ct_folder_make(folder);
    snprintf(file, sizeof file, "%s/c.json", folder);
    snprintf(config_file, sizeof config_file, "%s/config.json", folder);
    cs_calibration_json(&measured, &text);
    cr_assert_eq(cs_file_write(file, text.data, text.length, NULL), CS_OK);
    cr_assert_eq(cs_file_write(config_file, json, sizeof json - 1, NULL), CS_OK);
    cr_assert_eq(cs_config_load(config_file, &config, &err), CS_OK, "%s: %s", err.where,
                 err.message);
    cs_case c = ct_case(config, 0);
    cr_assert_eq(c.job.scenario.cluster.fabrics[CS_NIC].alpha_s, 2e-6);
    cr_assert_eq(c.job.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps, 1e9);
    cr_assert_not_null(strstr(c.json, "\"bandwidth\":1000000000.0"));
    cs_case_free(&c);
    c = ct_case(config, 1);
    cr_assert_eq(c.job.scenario.cluster.fabrics[CS_NIC].alpha_s, 5e-6);
    cr_assert_eq(c.job.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps, 4e9);
    cs_case_free(&c);
    cr_assert_not_null(strstr(ct_refusal(config, 2), "config.json:1:17: calibration: "));
    ct_folder_remove(folder);
    cs_config_free(config);
    cs_text_free(&text);
}

/* ---- sweeps ---- */

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
    cr_assert_not_null(strstr(ct_refusal(config, 1), "unknown option 'nonsense'"));
    cs_config_free(config);

    config = ct_config_of("{\"model\": {\"name\": \"loggp\", \"options\": {\"gap_s\": 1e-6}}}");
    ct_set_from(config, "model.name", "alpha-beta", "--model");
    c = ct_case(config, 0);
    cs_case_free(&c);
    ct_set_from(config, "model.options.gap_s", "1us", "--model-opt");
    cr_assert_not_null(strstr(ct_refusal(config, 0), "--model-opt: unknown option 'gap_s'"));
    cs_config_free(config);
}

Test(config_sweep, refuses_options_that_none_of_the_algorithms_has)
{
    cs_config *config = ct_config_of("{\"sweep\": {\"algorithm.name\": [\"ring\", \"rhd\"]}}");

    ct_set_from(config, "algorithm.options.late_ranks", "2", "--opt");
    cr_assert_str_eq(ct_refusal(config, 0),
                     "--opt: unknown option 'late_ranks': accepted are none");
    ct_set_from(config, "algorithm.options.late_rank", "2", "--opt");
    cs_config_free(config);

    config = ct_config_of("{\"sweep\": {\"algorithm.name\": [\"ring\", \"stragglar\"]}}");
    ct_set_from(config, "algorithm.options.late_ranks", "2", "--opt");
    cs_case c = ct_case(config, 0);
    cs_case_free(&c);
    ct_set_from(config, "algorithm.options.late_rank", "2", "--opt");
    cr_assert_str_eq(
        ct_refusal(config, 0),
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

/* ---- cases ---- */

enum { THREADS = 4, ROUNDS = 200 };

static void *build_all(void *user)
{
    const cs_config *config = user;
    size_t           n = cs_config_count(config), wrong = 0;

    for (size_t i = 0; i < ROUNDS; i++) {
        cs_case c = {0};
        wrong += cs_config_case(config, i % n, &c, NULL) != CS_OK ||
                 c.job.scenario.bytes != i % n / 2 + 1 ||
                 c.job.scenario.cluster.n_ranks != (i % 2 == 0 ? 4u : 8u);
        cs_case_free(&c);
    }
    return wrong == 0 ? user : NULL;
}

Test(config_cases, builds_cases_from_many_threads)
{
    cs_config *config = ct_config_of("{\"arrivals\": {\"late\": [{\"rank\": 1, \"delay\": 1}]},"
                                     " \"faults\": [{\"rank\": 0, \"slowdown\": 2}], \"sweep\":"
                                     " {\"bytes\": [1, 2, 3, 4, 5], \"cluster.ranks\": [4, 8]}}");
    pthread_t  threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, build_all, config), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        cr_assert_eq(result, config, "a thread got a wrong case");
    }
    cs_config_free(config);
}

/* Fail the 1st, 2nd, 3rd .. allocation until it works: every path without memory is clean. */
Test(config_cases, survives_every_failed_allocation)
{
    cs_config *config =
        ct_config_of("{\"arrivals\": {\"late\": [{\"rank\": 1, \"delay\": 1}]},"
                     " \"faults\": [{\"rank\": 0, \"slowdown\": 2}], \"model\":"
                     " {\"name\": \"loggp\", \"options\": {\"gap_s\": \"1us\"}}, \"sweep\":"
                     " {\"bytes\": [\"1M\"], \"algorithm\": [\"ring\", \"rhd\"]}}");
    cs_status status = CS_ENOMEM;
    cs_case   c      = {0};
    long      passes = 0;

    for (; status != CS_OK; passes++) {
        cs_error err = {0};
        cr_assert_lt(passes, 10000);
        cs_alloc_fail_after(passes);
        status = cs_config_case(config, 1, &c, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s: %s", err.where, err.message);
    }
    cr_assert_gt(passes, 20);
    cr_assert_str_eq(c.job.algorithm->name, "rhd");
    cs_case_free(&c);
    cs_config_free(config);
}

Test(config_cases, loads_and_changes_without_memory)
{
    static const char path[] = COLLSIM_SOURCE_DIR "/configs/late-rank.json";
    cs_status         status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_config *config = NULL;
        cr_assert_lt(passes, 10000);
        cs_alloc_fail_after(passes);
        status = cs_config_load(path, &config, NULL);
        if (status == CS_OK) {
            status =
                cs_config_set(config, "faults[]", "{\"rank\": 0, \"slowdown\": 2}", "-x", NULL);
        }
        if (status == CS_OK) {
            status = cs_config_set(config, "sweep.seed", "[1, 2]", "-y", NULL);
        }
        cs_config_free(config);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%ld: %s", passes,
                  cs_status_text(status));
    }
}

/* Every example of this folder that needs the engine only: all cases are accepted. */
Test(config_cases, examples_are_accepted)
{
    static const struct {
        const char *name;
        size_t      count;
    } examples[] = {{"fat-tree", 9}, {"half-nic", 2},      {"late-rank", 15}, {"platform", 3},
                    {"mesh", 15},    {"rail-network", 3},  {"rails", 18},     {"server", 3},
                    {"sizes", 9},    {"small-sweep", 225}, {"two-sockets", 9}};

    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        char       path[512];
        cs_config *config = NULL;
        cs_error   err    = {0};
        snprintf(path, sizeof path, "%s/configs/%s.json", COLLSIM_SOURCE_DIR, examples[i].name);
        cr_assert_eq(cs_config_load(path, &config, &err), CS_OK, "%s", err.message);
        cr_assert_eq(cs_config_count(config), examples[i].count, "%s", path);
        for (size_t k = 0; k < examples[i].count; k++) {
            cs_case c   = ct_case(config, k);
            c.job.model = NULL; /* no times */
            cr_assert_eq(cs_job_resolve(&c.job, &err), CS_OK, "%s: %s", examples[i].name,
                         err.message);
            cs_job_release(&c.job);
            cs_case_free(&c);
        }
        cs_config_free(config);
    }
}

/* About 5 us; sanitizers cost twenty times as much. */
#ifdef __SANITIZE_ADDRESS__
#define CASE_LIMIT_S 2e-3
#else
#define CASE_LIMIT_S 100e-6
#endif

Test(config_cases, builds_a_case_quickly)
{
    cs_config      *config = NULL;
    cs_error        err    = {0};
    struct timespec from, to;

    cr_assert_eq(cs_config_load(COLLSIM_SOURCE_DIR "/configs/small-sweep.json", &config, &err),
                 CS_OK);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (size_t i = 0; i < 2000; i++) {
        cs_case c = ct_case(config, i % 225);
        cs_case_free(&c);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    cr_assert_lt(seconds / 2000, CASE_LIMIT_S);
    cs_config_free(config);
}
