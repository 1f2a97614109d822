/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configurations: what the keys mean, options on top of a file, sweeps, threads, and memory
 * that runs out. The words of refusals are in tests/errors. */
#include "base/alloc.h"
#include "base/file.h"
#include "config/calibration_json.h"
#include "config/config.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static cs_config *load_text(const char *json)
{
    char       path[] = "/tmp/collsim-test-config-XXXXXX";
    int        file   = mkstemp(path);
    cs_config *config = NULL;
    cs_error   err    = {0};

    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, json, strlen(json)), (ssize_t)strlen(json));
    close(file);
    cs_status status = cs_config_load(path, &config, &err);
    unlink(path);
    cr_assert_eq(status, CS_OK, "%s: %s", err.where, err.message);
    return config;
}

static void set(cs_config *config, const char *path, const char *json, const char *origin)
{
    cs_error err = {0};
    cr_assert_eq(cs_config_set(config, path, json, origin, &err), CS_OK, "%s: %s", err.where,
                 err.message);
}

static cs_case build(const cs_config *config, size_t index)
{
    cs_case  c   = {0};
    cs_error err = {0};
    cr_assert_eq(cs_config_case(config, index, &c, &err), CS_OK, "%s: %s", err.where, err.message);
    return c;
}

/* The whole line of the error that building case `index` gives. */
static const char *refusal(const cs_config *config, size_t index)
{
    static char text[900];
    cs_case     c   = {0};
    cs_error    err = {0};

    cr_assert_neq(cs_config_case(config, index, &c, &err), CS_OK);
    cr_assert_null(c.json);
    cs_error_text(&err, text, sizeof text);
    return text;
}

Test(config, has_the_documented_defaults)
{
    cs_config *config = NULL;

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    cr_assert_eq(cs_config_count(config), 1);
    cs_case            c = build(config, 0);
    const cs_scenario *s = &c.scenario;
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
    cr_assert_eq(s->n_faults, 0);
    cr_assert(c.verify);
    cr_assert_str_eq(c.algorithm->name, "ring");
    cr_assert_str_eq(c.model->name, "alpha-beta");
    cr_assert_str_eq(c.json, "{}");
    cs_case_free(&c);
    cs_config_free(config);
}

Test(config, reads_every_key)
{
    cs_config *config = load_text(
        "{\"name\": \"n\", \"description\": \"d\", \"collective\": \"broadcast\", \"root\": 3,"
        " \"algorithm\": \"broadcast\", \"bytes\": \"3KiB\", \"seed\": 9, \"verify\": false,"
        " \"model\": {\"name\": \"loggp\", \"options\": {\"overhead_s\": \"100ns\", \"gap_s\": "
        "1e-6}},"
        " \"cluster\": {\"ranks\": 4, \"gpus_per_server\": 2, \"topology\": {\"kind\": "
        "\"crossbar\"},"
        "  \"nic\": {\"bandwidth\": \"200Gb/s\", \"alpha\": \"5us\"},"
        "  \"nvlink\": {\"bandwidth\": 1e11, \"alpha\": 2e-6, \"kind\": \"direct\"}},"
        " \"arrivals\": {\"late\": [{\"rank\": 2, \"delay\": \"1ms\"}]},"
        " \"faults\": [{\"rank\": 3, \"slowdown\": 2, \"from\": \"1ms\", \"until\": null},"
        "              {\"rank\": 1, \"slowdown\": 4, \"until\": \"2s\"}]}");
    cs_case            c = build(config, 0);
    const cs_scenario *s = &c.scenario;
    cs_options         want;

    cr_assert_str_eq(cs_config_text(config, "description"), "d");
    cr_assert_eq(s->collective, CS_BROADCAST);
    cr_assert_eq(s->root, 3);
    cr_assert_eq(s->bytes, 3072);
    cr_assert_eq(s->seed, 9);
    cr_assert_not(c.verify);
    cr_assert_eq(s->cluster.fabrics[CS_NIC].bandwidth_Bps, 25e9);
    cr_assert_eq(s->cluster.fabrics[CS_NIC].alpha_s, 5e-6);
    cr_assert_eq(s->cluster.fabrics[CS_NVLINK].bandwidth_Bps, 100e9);
    cr_assert_eq(s->cluster.fabrics[CS_NVLINK].alpha_s, 2e-6);
    cr_assert_eq(s->cluster.fabrics[CS_NVLINK].kind, CS_DIRECT);
    for (uint32_t r = 0; r < 4; r++) {
        cr_assert_eq(s->arrival_s[r], r == 2 ? 1e-3 : 0);
    }
    cr_assert_eq(s->n_faults, 2);
    cr_assert_eq(s->faults[0].rank, 1);
    cr_assert_eq(s->faults[0].slow_ratio, 4);
    cr_assert_eq(s->faults[0].from_s, 0);
    cr_assert_eq(s->faults[0].until_s, 2);
    cr_assert_eq(s->faults[1].rank, 3);
    cr_assert_eq(s->faults[1].from_s, 1e-3);
    cr_assert(isinf(s->faults[1].until_s));
    cs_options_default(c.model->options, &want);
    cr_assert_eq(cs_options_set(c.model->options, &want, "overhead_s", "1e-7", "", NULL), CS_OK);
    cr_assert_eq(cs_options_set(c.model->options, &want, "gap_s", "1e-6", "", NULL), CS_OK);
    cr_assert_eq(memcmp(&want, &c.model_options, c.model->options_bytes), 0);
    cs_case_free(&c);
    cs_config_free(config);
}

Test(config, counts_time_from_the_first_arrival)
{
    cs_config *config = load_text(
        "{\"cluster\": {\"ranks\": 3}, \"arrivals\": {\"late\": [{\"rank\": 1, \"delay\": \"5ms\"},"
        "{\"rank\": 0, \"delay\": \"2ms\"}, {\"rank\": 2, \"delay\": \"2ms\"}]}}");
    cs_case c = build(config, 0);

    cr_assert_eq(c.scenario.arrival_s[0], 0);
    cr_assert_eq(c.scenario.arrival_s[1], 5e-3 - 2e-3);
    cr_assert_eq(c.scenario.arrival_s[2], 0);
    cs_case_free(&c);
    set(config, "arrivals.late[1].delay", "5ms", "--set");
    set(config, "arrivals.late[2].delay", "0.005", "--set");
    c = build(config, 0);
    cr_assert_null(c.scenario.arrival_s, "all arrive together");
    cs_case_free(&c);
    cs_config_free(config);
}

Test(config, takes_options_on_top_of_the_file)
{
    cs_config *config = load_text("{\"cluster\": {\"ranks\": 4}, \"algorithm\": \"ring\"}");

    set(config, "cluster.nic.bandwidth", "100GB/s", "--bandwidth");
    set(config, "cluster.ranks", "16", "--ranks");
    set(config, "algorithm.name", "rhd", "--algorithm");
    set(config, "arrivals.late[]", "{\"rank\": 15, \"delay\": \"1ms\"}", "--late");
    set(config, "faults[]", "{\"rank\": 0, \"slowdown\": 2}", "--slow");
    set(config, "faults[]", "{\"rank\": 1, \"slowdown\": 3}", "--slow");
    cs_case c = build(config, 0);
    cr_assert_eq(c.scenario.cluster.n_ranks, 16);
    cr_assert_eq(c.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps, 100e9);
    cr_assert_str_eq(c.algorithm->name, "rhd");
    cr_assert_eq(c.scenario.arrival_s[15], 1e-3);
    cr_assert_eq(c.scenario.n_faults, 2);
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
    cs_config *config = load_text("{\"bytes\": \"1M\"}");
    cs_error   err    = {0};

    set(config, "cluster.nic.bandwidth", "0", "--bandwidth");
    cr_assert_str_eq(refusal(config, 0), "--bandwidth: 0 is outside [1, 1e+15]");
    set(config, "cluster.nic.bandwidth", "1GB/s", "--bandwidth");
    set(config, "cluster.rank", "3", "--set");
    cr_assert_str_eq(refusal(config, 0),
                     "--set cluster.rank: unknown key 'rank', did you mean 'ranks'?: accepted are "
                     "ranks, gpus_per_server, nic, nvlink, sockets, cross, topology");
    cs_config_free(config);

    config = load_text("{\"faults\": [{\"rank\": 0, \"slowdown\": 2}]}");
    set(config, "faults[]", "{\"rank\": 99, \"slowdown\": 2}", "--slow");
    cr_assert_str_eq(refusal(config, 0), "--slow: 99 is outside [0, 7]");
    cr_assert_eq(cs_config_set(config, "faults[5].rank", "1", "--set", &err), CS_EINVAL);
    cr_assert_str_eq(err.where, "--set faults[5].rank");
    err = (cs_error){0};
    cr_assert_eq(cs_config_set(config, "bytes", "{\"a\"", "--set", &err), CS_EPARSE);
    err = (cs_error){0};
    cr_assert_eq(cs_config_set(config, "bytes..x", "1", "--set", &err), CS_EINVAL);
    err = (cs_error){0};
    cr_assert_eq(cs_config_sweep_set(config, "cluster.ranks", "[]", "--ranks", &err), CS_EINVAL);
    cr_assert_str_eq(err.where, "--ranks");
    cr_assert_eq(cs_config_sweep_set(config, "cluster.ranks", "[8, 1]", "--ranks", NULL), CS_OK);
    set(config, "faults", "[]", "--set");
    cr_assert_str_eq(refusal(config, 1), "--ranks: 1 is outside [2, 65536]");
    cs_config_free(config);
}

Test(config, sweeps_the_last_axis_fastest)
{
    cs_config *config =
        load_text("{\"algorithm\": {\"name\": \"ring\"}, \"sweep\": {\"cluster.ranks\": "
                  "[4, 8, 16], \"algorithm.name\": [\"ring\", \"rhd\"]}}");

    cr_assert_eq(cs_config_count(config), 6);
    for (size_t i = 0; i < 6; i++) {
        char    want[100];
        cs_case c = build(config, i);
        cr_assert_eq(c.scenario.cluster.n_ranks, 4u << i / 2);
        cr_assert_str_eq(c.algorithm->name, i % 2 == 0 ? "ring" : "rhd");
        snprintf(want, sizeof want, "{\"algorithm\":{\"name\":\"%s\"},\"cluster\":{\"ranks\":%u}}",
                 i % 2 == 0 ? "ring" : "rhd", 4u << i / 2);
        cr_assert_str_eq(c.json, want);
        cs_case_free(&c);
    }
    cr_assert_eq(cs_config_sweep_set(config, "cluster.ranks", "[2, 32]", "--ranks", NULL), CS_OK);
    cr_assert_eq(cs_config_count(config), 4, "an axis is replaced in its place");
    cs_case c = build(config, 2);
    cr_assert_eq(c.scenario.cluster.n_ranks, 32);
    cs_case_free(&c);
    set(config, "sweep.bytes", "[1, 2, 3]", "--set");
    cr_assert_eq(cs_config_count(config), 12);
    set(config, "cluster.ranks", "64", "--ranks");
    cr_assert_eq(cs_config_count(config), 6, "a value that is set is not swept");
    set(config, "algorithm", "rhd", "--set");
    cr_assert_eq(cs_config_count(config), 3, "the algorithm is the algorithm's name");
    set(config, "sweep", "{}", "--set");
    cr_assert_eq(cs_config_count(config), 1);
    cs_config_free(config);
}

Test(config, refuses_more_than_ten_million_cases)
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
    cr_assert_eq(cs_config_sweep_set(config, "bytes", list, "-s", NULL), CS_OK);
    cr_assert_eq(cs_config_sweep_set(config, "seed", "[1,2,3,4]", "-x", NULL), CS_OK);
    cr_assert_eq(cs_config_sweep_set(config, "root", list, "-y", &err), CS_EINVAL);
    cr_assert_eq(cs_config_count(config), 40000);
    cr_assert_eq(cs_config_sweep_set(config, "seed", "[1]", "-x", NULL), CS_OK);
    list[2 * 1000]     = ']';
    list[2 * 1000 + 1] = '\0';
    cr_assert_eq(cs_config_sweep_set(config, "root", list, "-y", NULL), CS_OK);
    cr_assert_eq(cs_config_count(config), 10000000);
    cs_config_free(config);
}

Test(config, leaves_out_options_of_another_swept_plug_in)
{
    cs_config *config =
        load_text("{\"model\": {\"name\": \"loggp\", \"options\": {\"gap_s\": 1e-6}},"
                  "\"sweep\": {\"model.name\": [\"loggp\", \"alpha-beta\"]}}");
    cs_case c = build(config, 0);

    cr_assert_str_eq(c.model->name, "loggp");
    cs_case_free(&c);
    c = build(config, 1);
    cr_assert_str_eq(c.model->name, "alpha-beta");
    cr_assert_null(strstr(c.json, "gap_s"), "what is left out is not in the case's JSON");
    cs_case_free(&c);
    set(config, "model.options.nonsense", "1", "--set");
    cr_assert_not_null(strstr(refusal(config, 1), "unknown option 'nonsense'"));
    cs_config_free(config);

    config = load_text("{\"model\": {\"name\": \"loggp\", \"options\": {\"gap_s\": 1e-6}}}");
    set(config, "model.name", "alpha-beta", "--model");
    c = build(config, 0);
    cs_case_free(&c);
    set(config, "model.options.gap_s", "1us", "--model-opt");
    cr_assert_not_null(strstr(refusal(config, 0), "--model-opt: unknown option 'gap_s'"));
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
Test(config, refuses_options_that_none_of_the_algorithms_has)
{
    cs_config *config = load_text("{\"sweep\": {\"algorithm.name\": [\"ring\", \"rhd\"]}}");

    set(config, "algorithm.options.late_ranks", "2", "--opt");
    cr_assert_str_eq(refusal(config, 0), "--opt: unknown option 'late_ranks': known are none");
    set(config, "algorithm.options.late_rank", "2", "--opt");
    cs_config_free(config);

    config = load_text("{\"sweep\": {\"algorithm.name\": [\"ring\", \"stragglar\"]}}");
    set(config, "algorithm.options.late_ranks", "2", "--opt");
    cs_case c = build(config, 0);
    cs_case_free(&c);
    set(config, "algorithm.options.late_rank", "2", "--opt");
    cr_assert_str_eq(refusal(config, 0),
                     "--opt: unknown option 'late_rank' (did you mean 'late_ranks'?): "
                     "'collsim list' has the options of all algorithms and models");
    cs_config_free(config);

    config = load_text("{\"algorithm\": {\"name\": \"stragglar\", \"options\": {\"chunks\": 3}}}");
    cr_assert_eq(cs_config_sweep_set(config, "algorithm.name", "[\"ring\", \"rhd\"]", "-a", NULL),
                 CS_OK);
    c = build(config, 1); /* those of the file's own algorithm go with it */
    cs_case_free(&c);
    cs_config_free(config);
}

Test(config, takes_the_nic_from_a_calibration)
{
    cs_calibration measured = {
        .collective = CS_ALLREDUCE,
        .n_ranks    = 4,
        .n_points   = 12,
        .n_regimes  = 2,
        .regimes    = {regime(1024, 65536, 2e-6, 1e9), regime(65537, 1 << 20, 5e-6, 4e9)}};
    cs_text           text     = {0};
    char              folder[] = "/tmp/collsim-test-config-XXXXXX", file[64], config_file[64];
    static const char json[] = "{\"calibration\": \"c.json\", \"cluster\": {\"ranks\": 4, \"nic\":"
                               " {\"alpha\": 1}}, \"sweep\": {\"bytes\": [4096, 100000, 5]}}";
    cs_config        *config = NULL;
    cs_error          err    = {0};

    cr_assert_not_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/c.json", folder);
    snprintf(config_file, sizeof config_file, "%s/config.json", folder);
    cs_calibration_json(&measured, &text);
    cr_assert_eq(cs_file_write(file, text.data, text.length, NULL), CS_OK);
    cr_assert_eq(cs_file_write(config_file, json, sizeof json - 1, NULL), CS_OK);
    cr_assert_eq(cs_config_load(config_file, &config, &err), CS_OK, "%s: %s", err.where,
                 err.message);
    cs_case c = build(config, 0);
    cr_assert_eq(c.scenario.cluster.fabrics[CS_NIC].alpha_s, 2e-6);
    cr_assert_eq(c.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps, 1e9);
    cr_assert_not_null(strstr(c.json, "\"bandwidth\":1000000000.0"));
    cs_case_free(&c);
    c = build(config, 1);
    cr_assert_eq(c.scenario.cluster.fabrics[CS_NIC].alpha_s, 5e-6);
    cr_assert_eq(c.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps, 4e9);
    cs_case_free(&c);
    cr_assert_not_null(strstr(refusal(config, 2), "config.json:1:17: calibration: "));
    unlink(file);
    unlink(config_file);
    rmdir(folder);
    cs_config_free(config);
    cs_text_free(&text);
}

enum { THREADS = 4, ROUNDS = 200 };

static void *build_all(void *user)
{
    const cs_config *config = user;
    size_t           n = cs_config_count(config), wrong = 0;

    for (size_t i = 0; i < ROUNDS; i++) {
        cs_case c = {0};
        wrong += cs_config_case(config, i % n, &c, NULL) != CS_OK ||
                 c.scenario.bytes != i % n / 2 + 1 ||
                 c.scenario.cluster.n_ranks != (i % 2 == 0 ? 4u : 8u);
        cs_case_free(&c);
    }
    return wrong == 0 ? user : NULL;
}

Test(config, builds_cases_from_many_threads)
{
    cs_config *config = load_text("{\"arrivals\": {\"late\": [{\"rank\": 1, \"delay\": 1}]},"
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
Test(config, survives_every_failed_allocation)
{
    cs_config *config =
        load_text("{\"arrivals\": {\"late\": [{\"rank\": 1, \"delay\": 1}]},"
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
    cr_assert_str_eq(c.algorithm->name, "rhd");
    cs_case_free(&c);
    cs_config_free(config);
}

Test(config, loads_and_changes_without_memory)
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
            status = cs_config_sweep_set(config, "seed", "[1, 2]", "-y", NULL);
        }
        cs_config_free(config);
        cs_alloc_fail_after(-1);
    }
}

/* Every example of this folder that needs the engine only: all cases are accepted. */
Test(config, examples_are_accepted)
{
    static const struct {
        const char *name;
        size_t      count;
    } examples[] = {{"fat-tree", 9},      {"half-nic", 2},   {"late-rank", 15}, {"platform", 3},
                    {"rail-network", 3},  {"rails", 18},     {"server", 3},     {"sizes", 9},
                    {"small-sweep", 225}, {"two-sockets", 9}};

    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        char       path[512];
        cs_config *config = NULL;
        cs_error   err    = {0};
        snprintf(path, sizeof path, "%s/configs/%s.json", COLLSIM_SOURCE_DIR, examples[i].name);
        cr_assert_eq(cs_config_load(path, &config, &err), CS_OK, "%s", err.message);
        cr_assert_eq(cs_config_count(config), examples[i].count, "%s", path);
        for (size_t k = 0; k < examples[i].count; k++) {
            cs_case c = build(config, k);
            cs_plan plan;
            cr_assert_eq(c.algorithm->check(&c.scenario, &c.options, &plan, &err), CS_OK, "%s: %s",
                         examples[i].name, err.message);
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

Test(config, builds_a_case_quickly)
{
    cs_config      *config = NULL;
    cs_error        err    = {0};
    struct timespec from, to;

    cr_assert_eq(cs_config_load(COLLSIM_SOURCE_DIR "/configs/small-sweep.json", &config, &err),
                 CS_OK);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (size_t i = 0; i < 2000; i++) {
        cs_case c = build(config, i % 225);
        cs_case_free(&c);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    cr_assert_lt(seconds / 2000, CASE_LIMIT_S);
    cs_config_free(config);
}
