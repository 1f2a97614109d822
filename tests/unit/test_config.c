/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configurations: what the keys mean, options on top of a file, whom a refusal blames. The words of
 * refusals are in tests/errors. */
#include "base/file.h"
#include "config_setup.h"
#include "support/folder.h"
#include "traces/calibration_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    cr_assert_str_eq(refusal(config, 0), "--bandwidth: 0 is outside [1, 1e+15]");
    ct_set_from(config, "cluster.nic.bandwidth", "1GB/s", "--bandwidth");
    ct_set(config, "cluster.rank", "3");
    cr_assert_str_eq(refusal(config, 0),
                     "--set cluster.rank: unknown key 'rank', did you mean 'ranks'?: accepted are "
                     "ranks, gpus_per_server, nic, nvlink, sockets, cross, topology");
    cs_config_free(config);

    config = ct_config_of("{\"faults\": [{\"rank\": 0, \"slowdown\": 2}]}");
    ct_set_from(config, "faults[]", "{\"rank\": 99, \"slowdown\": 2}", "--slow");
    cr_assert_str_eq(refusal(config, 0), "--slow: 99 is outside [0, 7]");
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
    cr_assert_str_eq(refusal(config, 1), "--ranks: 1 is outside [2, 65536]");
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
    cr_assert_not_null(strstr(refusal(config, 2), "config.json:1:17: calibration: "));
    ct_folder_remove(folder);
    cs_config_free(config);
    cs_text_free(&text);
}
