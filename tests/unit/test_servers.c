/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Servers whose NICs and NVLinks differ in rate: what is read, times that can be worked out by
 * hand, and NICs of their own rates against slow ones. That bounds and models agree on such
 * clusters is tested in tests/conformance. */
#include "base/alloc.h"
#include "cs/bound.h"
#include "cs/capacity.h"
#include "cs/topology.h"
#include "output/comparison.h"
#include "output/result_rows.h"
#include "output/usage.h"
#include "support/config.h"
#include "support/foreign.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Four servers of one kind and two of another, four GPUs each. */
#define TESTBED                                                                                    \
    "{\"bytes\": 786432, \"algorithm\": \"hierarchical\", \"cluster\": {\"nic\": {\"alpha\": "     \
    "\"20us\"}, \"nvlink\": {\"kind\": \"direct\", \"alpha\": \"5us\"}, \"servers\": [{\"count\":" \
    " 4, \"gpus\": 4, \"nic\": {\"bandwidth\": \"12.5GB/s\"}, \"nvlink\": {\"bandwidth\": "        \
    "\"100GB/s\"}}, {\"count\": 2, \"gpus\": 4, \"nic\": {\"bandwidth\": \"6.25GB/s\"}, "          \
    "\"nvlink\": {\"bandwidth\": \"50GB/s\"}}]}}"

static cs_config *testbed(const char *model)
{
    cs_config *config = ct_config_of(TESTBED);

    ct_set(config, "model", model);
    return config;
}

static void expect_servers(const cs_cluster *c, uint32_t fabric, const double *want_Bps)
{
    for (uint32_t s = 0; s < cs_n_servers(c); s++) {
        cr_expect(ct_is_close(cs_server_Bps(c, s, fabric), want_Bps[s], 1e-15),
                  "%s of server %u: %g B/s, not %g", cs_fabric_name(fabric), s,
                  cs_server_Bps(c, s, fabric), want_Bps[s]);
    }
}

Test(servers, are_read)
{
    static const double nic_Bps[]    = {12.5e9, 12.5e9, 12.5e9, 12.5e9, 6.25e9, 6.25e9};
    static const double nvlink_Bps[] = {1e11, 1e11, 1e11, 1e11, 5e10, 5e10};
    cs_config          *config       = testbed("alpha-beta");
    cs_case             c            = ct_case(config, 0);
    const cs_cluster   *cluster      = &c.job.scenario.cluster;

    cr_expect_eq(cluster->n_ranks, 24);
    cr_expect_eq(cluster->gpus_per_server, 4);
    cr_expect_eq(cluster->fabrics[CS_NIC].bandwidth_Bps, 12.5e9);
    cr_expect_eq(cluster->fabrics[CS_NVLINK].bandwidth_Bps, 1e11);
    cr_expect_eq(cs_least_Bps(cluster, CS_NIC), 6.25e9);
    cr_expect_eq(cs_server_ratio(cluster, 5, CS_NIC), 2);
    expect_servers(cluster, CS_NIC, nic_Bps);
    expect_servers(cluster, CS_NVLINK, nvlink_Bps);
    cs_case_free(&c);
    cs_config_free(config);
}

/* What an entry leaves out is the cluster's, and without a difference there is no list. */
Test(servers, take_what_is_left_out_from_the_cluster)
{
    static const double nic_Bps[] = {5e10, 5e10, 2.5e10};
    cs_config          *config    = ct_config_of("{}");

    ct_set(config, "cluster.nic.bandwidth", "5e10");
    ct_set(config, "cluster.servers", "[{\"count\": 2}, {\"nic\": {\"bandwidth\": 2.5e10}}]");
    cs_case c = ct_case(config, 0);
    cr_expect_eq(c.job.scenario.cluster.n_ranks, 3);
    expect_servers(&c.job.scenario.cluster, CS_NIC, nic_Bps);
    cs_case_free(&c);

    ct_set(config, "cluster.servers",
           "[{\"count\": 2, \"nic\": {\"bandwidth\": 7e9}}, {\"nic\": "
           "{\"bandwidth\": 7e9}}]");
    c = ct_case(config, 0);
    cr_expect_null(c.job.scenario.cluster.servers);
    cr_expect_eq(c.job.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps, 7e9);
    cs_case_free(&c);
    cs_config_free(config);
}

/* 786432 bytes, three stages, one after the other. In the servers a quarter over every NVLink, the
 * slowest of 50 GB/s; between them ten steps of a 24th, of which one is always over a NIC of 6.25
 * GB/s. 2 (5 us + 196608 / 50e9) + 10 (20 us + 32768 / 6.25e9). */
Test(servers, hierarchical_by_hand)
{
    static const char *const models[] = {"alpha-beta", "loggp", "flow", "simgrid", "packet", "ns3"};
    const double             want_s   = 2 * (5e-6 + 196608 / 50e9) + 10 * (20e-6 + 32768 / 6.25e9);

    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        const cs_model *model = NULL;
        if (cs_model_find(models[m], &model, NULL) != CS_OK ||
            (model->missing != NULL && model->missing() != NULL)) {
            continue;
        }
        cs_config *config   = testbed(models[m]);
        cs_case    c        = ct_case(config, 0);
        cs_result  result   = ct_result(&c);
        bool       is_exact = m != 1 && m < 4;
        /* Packets have headers and are stored before they go on; LogGP's latency holds no port. */
        cr_expect(ct_is_close(result.elapsed_s, want_s, is_exact ? 1e-9 : 0.06),
                  "%s: %.12g s, not %.12g", models[m], result.elapsed_s, want_s);
        cr_expect(isnan(result.closed_form_s));
        cr_expect_leq(result.bound_s, result.elapsed_s);
        cs_case_free(&c);
        cs_config_free(config);
    }
}

/* Every step of the ring crosses the slowest NIC: eight times 1000 bytes. */
Test(servers, ring_of_single_gpus_has_its_formula)
{
    static ct_scene scene;
    cs_server       servers[5];

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 5, 5000);
    for (int s = 0; s < 5; s++) {
        servers[s] = (cs_server){{s == 3 ? 1e8 : 4e9, 1e9, 1e9}};
    }
    cs_cluster_set_servers(&scene.scenario.cluster, servers);
    ct_scene_ready(&scene);
    double want_s = 8 * (3e-6 + 1000 / 1e8);
    double form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
    cr_expect(ct_is_close(form_s, want_s, 1e-13), "%.15g, not %.15g", form_s, want_s);
    cr_expect(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, want_s, 1e-13));
    cr_expect_not(cs_nics_are_even(&scene.scenario));
    cr_expect_eq(cs_slowdown_always(&scene.scenario, 3), 40);
    cr_expect_eq(cs_slowdown_most(&scene.scenario), 40);
}

/* A fault divides what the server has itself. */
Test(servers, slow_nics_are_slow_by_their_own_rate)
{
    static ct_scene scene;
    cs_server       servers[4];

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 4000);
    for (int s = 0; s < 4; s++) {
        servers[s] = (cs_server){{s == 2 ? 1e9 : 4e9, 1e9, 1e9}};
    }
    cs_cluster_set_servers(&scene.scenario.cluster, servers);
    scene.capacity[0]         = (cs_capacity){2, 2, 0, (double)INFINITY, false};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 1;
    ct_scene_ready(&scene);
    cr_expect_eq(cs_slowdown_always(&scene.scenario, 2), 8);
    cr_expect_eq(cs_slowdown_most(&scene.scenario), 8);
    double want_s = 6 * (3e-6 + 1000 / 0.5e9);
    cr_expect(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, want_s, 1e-13));
    scene.capacity[0].until_s = 4 * (3e-6 + 1000 / 0.5e9); /* four steps, then two at 1e9 */
    ct_scene_ready(&scene);
    want_s = scene.capacity[0].until_s + 2 * (3e-6 + 1000 / 1e9);
    cr_expect(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, want_s, 1e-13));
}

/* A NIC that is four times slower than others by itself or by a fault that lasts: the same stream
 * takes the same time, and every bound is the same, to the last bit. */
Test(servers, nics_of_their_own_rate_are_as_slow_ones)
{
    static ct_scene scene;
    size_t          seen = 0;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        ct_rng rng = ct_rng_for(4100 + a);
        for (int i = 0; i < 40; i++) {
            ct_scene_random(&scene, cs_algorithms[a], &rng);
            cs_cluster *c = &scene.scenario.cluster;
            if (c->servers != NULL || c->uneven != NULL || cs_n_servers(c) < 4) {
                continue;
            }
            uint32_t who = 1 + ct_below(&rng, cs_n_servers(c) - 1);
            scene.capacity[0] =
                (cs_capacity){who * c->gpus_per_server, 4, 0, (double)INFINITY, false};
            cs_scenario *s       = &scene.scenario;
            s->capacity          = scene.capacity;
            s->n_capacity        = 1;
            const cs_field *rows = scene.algorithm->options;
            if (rows != NULL) {
                cs_fields_default(rows, &scene.options);
            }
            if (ct_scene_check(&scene, NULL) != CS_OK) {
                continue;
            }
            cs_job     slow = ct_scene_job(&scene, NULL), own = slow;
            cs_outcome want = ct_scene_replay(&scene, NULL), got;
            for (uint32_t server = 0; server < cs_n_servers(c); server++) {
                for (uint32_t f = 0; f < CS_FABRICS; f++) {
                    scene.servers[server].bandwidth_Bps[f] =
                        c->fabrics[f].bandwidth_Bps / (server == who && f == CS_NIC ? 4 : 1);
                }
            }
            own.scenario.n_capacity = 0;
            cs_cluster_set_servers(&own.scenario.cluster, scene.servers);
            cr_assert_eq(cs_job_replay(&own, NULL, 0, &got, NULL), CS_OK);
            cr_expect_eq(got.elapsed_s, want.elapsed_s, "%s: %.17g s, not %.17g",
                         ct_scene_text(&scene), got.elapsed_s, want.elapsed_s);
            const cs_bound_context x = cs_job_bounds(&slow), y = cs_job_bounds(&own);
            for (size_t b = 0; cs_bounds[b] != NULL; b++) {
                double v = cs_bounds[b]->seconds(&x), w = cs_bounds[b]->seconds(&y);
                cr_expect(v == w || (isnan(v) && isnan(w)), "%s: %.17g, not %.17g",
                          cs_bounds[b]->name, w, v);
            }
            seen++;
        }
    }
    cr_assert_gt(seen, 100);
}

/* ---- graphs ---- */

/* Four GPUs, two a server, at nodes of a graph: so many share a NIC. */
static void expect_sharers(const char *nodes, const char *gpus, uint32_t sharers)
{
    char json[600];

    (void)snprintf(json, sizeof json,
                   "{\"model\": \"flow\", \"cluster\": {\"ranks\": 4, \"gpus_per_server\": %s, "
                   "\"topology\": {\"kind\": \"graph\", \"nodes\": [\"a\", \"b\", \"c\", \"d\"], "
                   "\"links\": [{\"from\": \"a\", \"to\": \"b\", \"bandwidth\": \"1GB/s\"}, "
                   "{\"from\": \"b\", \"to\": \"c\", \"bandwidth\": \"1GB/s\"}, "
                   "{\"from\": \"c\", \"to\": \"d\", \"bandwidth\": \"1GB/s\"}], \"ranks\": %s}}}",
                   gpus, nodes);
    cs_config *config = ct_config_of(json);
    cs_case    c      = ct_case(config, 0);
    cr_expect_eq(c.job.scenario.cluster.nic_sharers, sharers, "%s: %u", nodes,
                 c.job.scenario.cluster.nic_sharers);
    cs_case_free(&c);
    cs_config_free(config);
}

Test(servers, a_graph_says_who_shares_a_nic)
{
    expect_sharers("[\"a\", \"a\", \"c\", \"c\"]", "2", 2);
    expect_sharers("[\"a\", \"a\", \"c\", \"c\"]", "4", 2);
    expect_sharers("[\"a\", \"a\", \"c\", \"c\"]", "1", 0); /* of two servers: a switch */
    expect_sharers("[\"a\", \"b\", \"c\", \"d\"]", "2", 0);
    expect_sharers("[\"a\", \"a\", \"a\", \"a\"]", "2", 0); /* a switch */
    expect_sharers("[\"a\", \"a\", \"b\", \"c\"]", "2", 0); /* not everywhere */
    expect_sharers("[\"a\", \"b\", \"a\", \"b\"]", "2", 0); /* rails */
}

/* ---- presets ---- */

/* The rates that ranks, GPUs and other keys make of a preset, on a port model. */
static void expect_preset(const char *topology, const char *ranks, const char *gpus,
                          const double *nic_Bps, const double *nvlink_Bps)
{
    cs_config *config = ct_config_of("{}");

    ct_set(config, "cluster.topology", topology);
    if (ranks != NULL) {
        ct_set(config, "cluster.ranks", ranks);
    }
    if (gpus != NULL) {
        ct_set(config, "cluster.gpus_per_server", gpus);
    }
    cs_case           c       = ct_case(config, 0);
    const cs_cluster *cluster = &c.job.scenario.cluster;
    expect_servers(cluster, CS_NIC, nic_Bps);
    cr_expect_eq(cluster->fabrics[CS_NIC].alpha_s, 20e-6);
    if (nvlink_Bps != NULL) {
        expect_servers(cluster, CS_NVLINK, nvlink_Bps);
        cr_expect_eq(cluster->fabrics[CS_NVLINK].alpha_s, 5e-6);
        cr_expect_eq(cluster->fabrics[CS_NVLINK].kind, CS_DIRECT);
    }
    cr_expect_eq(cluster->sockets, 1);
    cs_case_free(&c);
    cs_config_free(config);
}

Test(servers, presets)
{
    static const double a[]    = {3.125e9, 3.125e9, 3.125e9, 3.125e9, 1.5625e9, 1.5625e9, 1.5625e9};
    static const double b[]    = {6.25e9, 6.25e9, 6.25e9, 6.25e9, 3.125e9, 3.125e9};
    static const double one[]  = {12.5e9, 12.5e9, 12.5e9, 12.5e9, 6.25e9};
    static const double v[]    = {1.5625e9, 1.5625e9};
    static const double mesh[] = {1e11, 1e11, 1e11, 1e11, 5e10, 5e10, 5e10};

    expect_preset("adapcc", NULL, NULL, a, mesh);
    expect_preset("adapcc", "24", NULL, a, mesh);
    expect_preset("adapcc", "28", NULL, a, mesh);
    expect_preset("adapcc", "16", NULL, a, mesh);
    expect_preset("adapcc", "20", NULL, a, mesh);
    expect_preset("adapcc", NULL, "2", b, mesh);
    expect_preset("adapcc", "5", "1", one, NULL);
    expect_preset("adapcc-a100", NULL, NULL, a, mesh);
    expect_preset("adapcc-v100", NULL, NULL, v, mesh + 4);
    expect_preset("{\"preset\": \"adapcc\", \"servers\": 4, \"first\": 2}", NULL, NULL, a + 2,
                  mesh + 2);
    expect_preset("{\"preset\": \"adapcc\", \"first\": 1}", "12", NULL, a + 3, mesh + 3);
    expect_preset("{\"preset\": \"adapcc\", \"servers\": 2, \"first\": 2}", NULL, NULL, a, mesh);
}

/* A rate that is given is that of all servers, the other stays each server's own. */
Test(servers, keys_override_presets)
{
    cs_config *config = ct_config_of("{}");

    ct_set(config, "cluster.topology", "adapcc");
    ct_set(config, "cluster.nic.bandwidth", "3e9");
    cs_case c = ct_case(config, 0);
    for (uint32_t s = 0; s < 6; s++) {
        cr_expect_eq(cs_server_Bps(&c.job.scenario.cluster, s, CS_NIC), 3e9);
        cr_expect_eq(cs_server_Bps(&c.job.scenario.cluster, s, CS_NVLINK), s < 4 ? 1e11 : 5e10);
    }
    cs_case_free(&c);
    ct_set(config, "cluster.nvlink.bandwidth", "4e10");
    c = ct_case(config, 0);
    cr_expect_null(c.job.scenario.cluster.servers);
    cs_case_free(&c);
    cs_config_free(config);
}

/* Six servers, 10/6 of the buffer in and out of each on average, over 62.5 GB/s of NICs; and the
 * buffer over the 6.25 GB/s of one: both are 42.95 ms. */
Test(servers, bounds_of_the_testbed)
{
    cs_config *config = ct_config_of("{}");

    ct_set(config, "cluster.topology", "adapcc");
    ct_set(config, "bytes", "268435456");
    cs_case   c      = ct_case(config, 0);
    cs_result result = ct_result(&c);
    cr_expect(ct_is_close(result.bound_s, 268435456 / 6.25e9, 1e-3), "%g", result.bound_s);
    cs_case_free(&c);
    cs_config_free(config);
}

/* ---- what the library refuses ---- */

static void expect_refused(const cs_scenario *scenario, const char *words)
{
    cs_error err = {0};

    cr_assert_eq(cs_scenario_check(scenario, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "cluster.servers");
    cr_expect_not_null(strstr(err.message, words), "%s", err.message);
}

Test(servers, rates_are_checked)
{
    static ct_scene scene;
    cs_server       servers[4];

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 4000);
    cs_cluster *c = &scene.scenario.cluster;
    for (int s = 0; s < 4; s++) {
        servers[s] = (cs_server){{c->fabrics[0].bandwidth_Bps, 1, 1}};
    }
    c->servers = servers;
    cr_expect_eq(cs_scenario_check(&scene.scenario, NULL), CS_OK);
    servers[1].bandwidth_Bps[CS_NIC] = 0;
    expect_refused(&scene.scenario, "server 1 has 0 B/s");
    servers[1].bandwidth_Bps[CS_NIC] = (double)NAN;
    expect_refused(&scene.scenario, "server 1 has nan B/s");
    servers[1].bandwidth_Bps[CS_NIC] = 1;
    expect_refused(&scene.scenario, "factor of 1000000000");
    servers[1].bandwidth_Bps[CS_NIC] = 2 * c->fabrics[CS_NIC].bandwidth_Bps;
    expect_refused(&scene.scenario, "accepted is the same");
    for (int s = 0; s < 4; s++) {
        servers[s].bandwidth_Bps[CS_NIC] = 1e9;
    }
    expect_refused(&scene.scenario, "accepted is the same");
}

/* ---- what is said ---- */

Test(servers, settings_and_tables_name_them)
{
    cs_config   *config = testbed("alpha-beta");
    cs_case      c      = ct_case(config, 0);
    cs_scenario *s      = &c.job.scenario;
    cs_scenario  alike  = *s;
    cs_result    result = ct_result(&c);
    cs_text      table  = {0};
    char         text[CS_SETTING_BYTES];

    cs_setting_text(s, text, sizeof text);
    cr_expect_str_eq(text, "nic 20 us, 6.25 to 12.5 GB/s, nvlink 5 us, 50 to 100 GB/s");
    alike.cluster.servers = NULL;
    cr_expect_neq(cs_setting_key(s, &result), cs_setting_key(&alike, &result));
    cr_expect_not(cs_same_conditions(s, &alike));
    cr_expect(cs_same_conditions(s, s));
    cs_results_nccl_table(&table, &result, 1, s);
    cr_expect_not_null(strstr(table.data, "#  servers 0-3: nic 12.5 GB/s, nvlink 100 GB/s\n"
                                          "#  servers 4-5: nic 6.25 GB/s, nvlink 50 GB/s\n"),
                       "%s", table.data);
    cs_text_free(&table);
    cs_case_free(&c);
    cs_config_free(config);
}

/* A row has what the ports of its ranks have. */
Test(servers, use_is_measured_by_their_own_rates)
{
    cs_config *config = testbed("alpha-beta");
    cs_case    c      = ct_case(config, 0);
    cs_usage   usage;

    cr_assert_eq(cs_usage_init(&usage, &c.job.scenario, NULL), CS_OK);
    const cs_usage_panel *nic = &usage.panels[0];
    cr_assert_eq(nic->per_row, 1);
    cr_expect_eq(cs_usage_capacity_Bps(&usage, nic, 15), 12.5e9);
    cr_expect_eq(cs_usage_capacity_Bps(&usage, nic, 16), 6.25e9);
    cs_text     picture  = {0};
    cs_observer observer = cs_usage_observer(&usage);
    cs_result   result;
    cr_assert_eq(cs_job_run(&c.job, &observer, 1, &result, NULL), CS_OK);
    cr_assert_eq(cs_heatmap_svg(&usage, &result, &picture, NULL), CS_OK);
    cr_expect_not_null(strstr(picture.data, "NIC, sending: 24 ports of 6.25 GB/s to 12.5 GB/s"));
    cs_text_free(&picture);
    cs_usage_free(&usage);
    cs_case_free(&c);
    cs_config_free(config);
}

Test(servers, out_of_memory_is_an_error)
{
    cs_config *configs[] = {testbed("alpha-beta"), ct_config_of("{}")};

    ct_set(configs[1], "cluster.topology", "adapcc");
    for (size_t i = 0; i < 2; i++) {
        cs_status status = CS_ENOMEM;
        for (long passes = 0; status == CS_ENOMEM && passes < 10000; passes++) {
            cs_case  c   = {0};
            cs_error err = {0};
            cs_alloc_fail_after(passes);
            status = cs_config_case(configs[i], 0, &c, &err);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
            if (status == CS_OK) {
                cs_case_free(&c);
            }
        }
        cr_expect_eq(status, CS_OK);
        cs_config_free(configs[i]);
    }
}
