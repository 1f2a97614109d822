/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Servers with different numbers of GPUs: what is read, who is whose mate, times and bounds that
 * can be worked out by hand, and what is refused. That every algorithm that takes them is correct
 * on them, that its times are those of the reference and that no bound is above any time is tested
 * with random clusters in tests/conformance. */
#include "base/alloc.h"
#include "cs/bound.h"
#include "cs/capacity.h"
#include "engine/ports.h"
#include "output/comparison.h"
#include "output/usage.h"
#include "schedules/export.h"
#include "schedules/schedule_json.h"
#include "support/config.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static ct_scene scene;

/* Ranks 0-3, 4-7, 8-9, 10. */
static const uint32_t MIXED[] = {4, 4, 2, 1};

static cs_config *mixed(void)
{
    return ct_config_of("{\"bytes\": 88000, \"algorithm\": \"ring\", \"cluster\": {\"servers\": "
                        "[{\"count\": 2, \"gpus\": 4}, {\"gpus\": 2}, {\"gpus\": 1}]}}");
}

static void set_mixed(const char *algorithm, uint64_t bytes)
{
    ct_scene_set(&scene, algorithm, CS_ALLREDUCE, 11, bytes);
    ct_scene_set_gpus(&scene, MIXED, 4);
}

/* ---- what is read ---- */

Test(uneven, is_read_and_dense)
{
    static const uint32_t server[] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3};
    static const uint32_t local[]  = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 0};
    cs_config            *config   = mixed();
    cs_case               k        = ct_case(config, 0);
    const cs_cluster     *c        = &k.job.scenario.cluster;

    cr_assert_eq(c->n_ranks, 11);
    cr_expect_eq(c->gpus_per_server, 4);
    cr_expect_eq(cs_n_servers(c), 4);
    cr_expect_eq(cs_least_gpus(c), 1);
    cr_expect_null(c->servers);
    for (uint32_t a = 0; a < 11; a++) {
        cr_expect_eq(cs_server_of(c, a), server[a]);
        cr_expect_eq(cs_local_rank(c, a), local[a]);
        cr_expect_eq(cs_server_first(c, server[a]), a - local[a]);
        for (uint32_t b = 0; b < 11; b++) {
            cr_expect(a == b ||
                      cs_fabric_of(c, a, b) == (server[a] == server[b] ? CS_NVLINK : CS_NIC));
        }
    }
    for (uint32_t s = 0; s < 4; s++) {
        cr_expect_eq(cs_server_gpus(c, s), MIXED[s]);
    }
    cr_expect_eq(cs_server_first(c, 4), 11);
    cs_case_free(&k);
    cs_config_free(config);
}

static void expect_gpus(const char *gpus_per_server, const char *servers, const uint32_t *want,
                        uint32_t n)
{
    cs_config *config = ct_config_of("{}");

    if (gpus_per_server != NULL) {
        ct_set(config, "cluster.gpus_per_server", gpus_per_server);
    }
    ct_set(config, "cluster.servers", servers);
    cs_case           k = ct_case(config, 0);
    const cs_cluster *c = &k.job.scenario.cluster;
    cr_assert_eq(cs_n_servers(c), n);
    for (uint32_t s = 0; s < n; s++) {
        cr_expect_eq(cs_server_gpus(c, s), want[s], "server %u: %u", s, cs_server_gpus(c, s));
    }
    cs_case_free(&k);
    cs_config_free(config);
}

/* An entry that does not say has as many as gpus_per_server says, or as the first one. */
Test(uneven, gpus_that_are_left_out)
{
    static const uint32_t eight[] = {8, 4, 8}, two[] = {2, 2, 4}, one[] = {1, 3};

    expect_gpus("8", "[{}, {\"gpus\": 4}, {}]", eight, 3);
    expect_gpus(NULL, "[{\"count\": 2, \"gpus\": 2}, {\"gpus\": 4}]", two, 3);
    expect_gpus(NULL, "[{\"gpus\": 2}, {}, {\"gpus\": 4}]", two, 3);
    expect_gpus(NULL, "[{}, {\"gpus\": 3}]", one, 2);
}

/* Ports of rates of their own, too: A100:(4,2) V100:(2). */
Test(uneven, with_other_rates)
{
    cs_config *config = ct_config_of("{}");

    ct_set(config, "cluster.servers",
           "[{\"gpus\": 4, \"nic\": {\"bandwidth\": 12.5e9}}, {\"gpus\": 2, \"nic\": "
           "{\"bandwidth\": 12.5e9}}, {\"gpus\": 2, \"nic\": {\"bandwidth\": 6.25e9}}]");
    cs_case           k    = ct_case(config, 0);
    const cs_cluster *c    = &k.job.scenario.cluster;
    cs_text           text = {0};
    char              setting[CS_SETTING_BYTES];
    cr_expect_eq(cs_server_Bps(c, 1, CS_NIC), 12.5e9);
    cr_expect_eq(cs_server_Bps(c, 2, CS_NIC), 6.25e9);
    cr_expect_eq(cs_server_ratio(c, cs_server_of(c, 7), CS_NIC), 2);
    cs_setting_servers(c, "# ", &text);
    cr_expect_str_eq(text.data, "# server 0: 4 GPUs, nic 12.5 GB/s, nvlink 450 GB/s\n"
                                "# server 1: 2 GPUs, nic 12.5 GB/s, nvlink 450 GB/s\n"
                                "# server 2: 2 GPUs, nic 6.25 GB/s, nvlink 450 GB/s\n");
    cs_setting_text(&k.job.scenario, setting, sizeof setting);
    cr_expect_not_null(strstr(setting, "2 to 4 GPUs per server"), "%s", setting);
    cs_text_free(&text);
    cs_case_free(&k);
    cs_config_free(config);
}

Test(uneven, out_of_memory)
{
    cs_config *config = mixed();
    cs_status  status = CS_ENOMEM;

    for (long passes = 0; status == CS_ENOMEM && passes < 2000; passes++) {
        cs_case k = {0};
        cs_alloc_fail_after(passes);
        status = cs_config_case(config, 0, &k, NULL);
        cs_alloc_fail_after(-1);
        if (status == CS_OK) {
            cr_expect_eq(cs_n_servers(&k.job.scenario.cluster), 4);
            cs_case_free(&k);
        }
    }
    cr_expect_eq(status, CS_OK);
    cs_config_free(config);
}

/* AllReduce, or the first that it does. */
static cs_collective collective_of(const cs_algorithm *algorithm)
{
    int first = 0;

    while ((algorithm->collectives >> first & 1u) == 0) {
        first++;
    }
    return algorithm->collectives & 1u << CS_ALLREDUCE ? CS_ALLREDUCE : (cs_collective)first;
}

/* ---- a list of equal servers is the plain cluster, to the last bit ---- */

static size_t expect_the_same(const cs_algorithm *algorithm, const char *model)
{
    cs_config *config[2] = {
        ct_config_of("{\"bytes\": 1000000, \"cluster\": {\"ranks\": 16, \"gpus_per_server\": 4}}"),
        ct_config_of(
            "{\"bytes\": 1000000, \"cluster\": {\"servers\": [{\"count\": 3, \"gpus\": 4}, "
            "{\"gpus\": 4}]}}")};
    cs_result result[2];
    char      name[64], what[32];
    size_t    seen = 0;

    (void)snprintf(name, sizeof name, "\"%s\"", algorithm->name);
    (void)snprintf(what, sizeof what, "\"%s\"", cs_collective_name(collective_of(algorithm)));
    for (int i = 0; i < 2; i++) {
        cs_error err = {0};
        ct_set(config[i], "algorithm", name);
        ct_set(config[i], "model", model);
        ct_set(config[i], "collective", what);
        if (ct_cases(config[i], &err) == CS_OK) {
            cs_case k = ct_case(config[i], 0);
            cr_expect_null(k.job.scenario.cluster.uneven);
            result[i] = ct_result(&k);
            seen++;
            cs_case_free(&k);
        }
        cs_config_free(config[i]);
    }
    cr_assert_neq(seen, 1, "%s", algorithm->name);
    if (seen == 2) {
        cr_expect_eq(result[0].elapsed_s, result[1].elapsed_s, "%s", algorithm->name);
        cr_expect_eq(result[0].bound_s, result[1].bound_s, "%s", algorithm->name);
        cr_expect_str_eq(result[0].bound, result[1].bound);
    }
    return seen / 2;
}

Test(uneven, equal_servers_in_a_list_change_nothing)
{
    size_t seen = 0;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        if (!ct_adds_in_switches(cs_algorithms[a])) { /* inside one server */
            seen += expect_the_same(cs_algorithms[a], "\"alpha-beta\"");
            seen += expect_the_same(cs_algorithms[a], "\"flow\"");
        }
    }
    cr_expect_gt(seen, 30, "%zu", seen);
}

/* ---- by hand ---- */

/* Two GPUs and one: of the three steps of a chunk two are over NICs, 1000 bytes each; the port of
 * rank 1 is never idle. */
Test(uneven, ring_by_hand)
{
    static const uint32_t gpus[] = {2, 1};
    const double          nic_s  = 3e-6 + 1000 / 450e9;

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 3, 3000);
    ct_scene_set_gpus(&scene, gpus, 2);
    ct_scene_ready(&scene);
    cr_expect(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, 4 * nic_s, 1e-12));
    cr_expect(isnan(scene.algorithm->closed_form_s(&scene.scenario, &scene.options)));
}

static double bound_s(const cs_bound_context *context, const char *name)
{
    size_t i = 0;

    while (strcmp(cs_bounds[i]->name, name) != 0) {
        i++;
    }
    return cs_bounds[i]->seconds(context);
}

/* What leaves or enters the server with one NIC is the whole buffer, whatever the others have. */
Test(uneven, bounds_by_hand)
{
    static const uint32_t gpus[] = {2, 1};
    const double          x_s    = 1e9 / 450e9;

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 3, 1000000000);
    ct_scene_set_gpus(&scene, gpus, 2);
    ct_scene_ready(&scene);
    cs_job           job     = ct_scene_job(&scene, NULL);
    cs_bound_context context = cs_job_bounds(&job);
    cr_expect(ct_is_close(bound_s(&context, "server_late"), 3e-6 + x_s, 1e-12));
    /* 2 (q - 1) = 2 transfers of every byte, over three NICs. */
    cr_expect(ct_is_close(bound_s(&context, "server_volume"), 3e-6 + 2 * x_s / 3, 1e-12));
    cr_expect(ct_is_close(bound_s(&context, "theorem_3"), x_s, 1e-12));
    cr_expect(isnan(bound_s(&context, "theorem_13")), "its ports hold nobody up");
    /* Rank 2 has no NVLink. */
    cr_expect(ct_is_close(bound_s(&context, "rank_capacity"), 1e-6 + x_s, 1e-12));

    scene.scenario.collective = CS_BROADCAST;
    scene.scenario.root       = 2;
    context.scenario          = &scene.scenario;
    cr_expect(ct_is_close(bound_s(&context, "server_root"), 3e-6 + x_s, 1e-12));
    /* Two thirds enter the small server, by one NIC. */
    scene.scenario.collective = CS_ALLGATHER;
    cr_expect(ct_is_close(bound_s(&context, "server_gather"), 3e-6 + 2 * x_s / 3, 1e-8));
}

/* A slow NIC is that of the rank's server, and of no other. */
Test(uneven, faults_by_rank)
{
    set_mixed("ring", 11000);
    scene.capacity[0]         = (cs_capacity){9, 4, 0, (double)INFINITY, false};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 1;
    ct_scene_ready(&scene);
    for (uint32_t s = 0; s < 4; s++) {
        cr_expect_eq(cs_slowdown_always(&scene.scenario, s), s == 2 ? 4 : 1);
    }
    cs_arena arena = {0};
    cs_ports ports;
    cr_assert_eq(cs_ports_describe(&ports, &arena, &scene.scenario, &scene.plan, NULL), CS_OK);
    for (uint32_t r = 0; r < 11; r++) {
        double want = (r == 8 || r == 9 ? 4 : 1) / 450e9;
        cr_expect(ct_is_close(ports.nic_s_per_byte[r], want, 1e-15), "rank %u", r);
    }
    cs_arena_free(&arena);
}

/* A mesh has a link per pair of a server's GPUs: 3, 1 and none. */
Test(uneven, ports_of_a_mesh)
{
    cs_usage usage = {0};
    size_t   ports = 0;

    set_mixed("ring", 11000);
    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    ct_scene_ready(&scene);
    cr_assert_eq(cs_usage_init(&usage, &scene.scenario, NULL), CS_OK);
    for (size_t p = 0; p < usage.n_panels; p++) {
        const cs_usage_panel *panel        = &usage.panels[p];
        double                capacity_Bps = 0;
        for (size_t row = 0; panel->fabric == CS_NVLINK && row < panel->n_rows; row++) {
            ports += cs_usage_ports(&usage, panel, row);
            capacity_Bps += cs_usage_capacity_Bps(&usage, panel, row);
        }
        cr_expect(panel->fabric == CS_NIC || ct_is_close(capacity_Bps, 26 * 900e9, 1e-12));
    }
    cr_expect_eq(ports, 2 * (8 * 3 + 2 * 1));
    cs_usage_free(&usage);
}

/* As many rings as the smallest server has NICs, each through all ranks. */
Test(uneven, nccl_rings_take_the_least_number_of_channels)
{
    static const uint32_t gpus[] = {4, 8, 2};

    ct_scene_set(&scene, "nccl_rings", CS_ALLREDUCE, 14, 14000);
    ct_scene_set_gpus(&scene, gpus, 3);
    ct_scene_ready(&scene);
    cr_expect_eq(scene.plan.n_chunks, 2 * 14);
    cs_outcome outcome = ct_scene_replay(&scene, NULL);
    cr_expect(outcome.verified);
    cr_expect_eq(outcome.n_transfers, 2 * 14 * 26);
}

/* ---- what is refused ---- */

/* Every algorithm takes them, or says what it needs. */
Test(uneven, algorithms_take_them_or_say_why_not)
{
    size_t taken = 0;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        const cs_algorithm *algorithm = cs_algorithms[a];
        cs_error            err       = {0};
        cs_collective       what      = collective_of(algorithm);
        ct_scene_set(&scene, algorithm->name, what, 16, 1 << 20);
        ct_scene_set_gpus(&scene, (const uint32_t[]){8, 4, 3, 1}, 4);
        cs_status status = ct_scene_check(&scene, &err);
        cr_expect_eq(status, algorithm->takes_uneven ? CS_OK : CS_ENOTSUP, "%s: %s",
                     algorithm->name, err.message);
        if (status == CS_OK) {
            cr_expect(ct_scene_replay(&scene, "flow").verified);
            taken++;
            continue;
        }
        cr_expect_str_eq(err.where, "cluster.servers");
        cr_expect_not_null(strstr(err.message, "needs as many GPUs in every server, here are 1 "
                                               "to 8: accepted are "),
                           "%s", err.message);
        cr_expect_not_null(strstr(err.message, what == CS_ALLREDUCE ? "adapcc, " : "allpairs"));
    }
    cr_expect_geq(taken, 16);
}

static void expect_refused(const cs_scenario *scenario, const char *where, const char *words)
{
    cs_error err = {0};

    cr_expect_neq(cs_scenario_check(scenario, &err), CS_OK);
    cr_expect_str_eq(err.where, where);
    cr_expect_not_null(strstr(err.message, words), "%s", err.message);
}

Test(uneven, tables_are_checked)
{
    set_mixed("ring", 11000);
    cr_assert_eq(cs_scenario_check(&scene.scenario, NULL), CS_OK);
    scene.scenario.cluster.sockets = 2;
    expect_refused(&scene.scenario, "cluster.sockets", "with one socket");
    scene.scenario.cluster.sockets         = 1;
    scene.scenario.cluster.gpus_per_server = 8;
    expect_refused(&scene.scenario, "cluster.servers", "at most 8 GPUs");
    scene.scenario.cluster.gpus_per_server = 4;
    scene.server_of[5]                     = 2;
    expect_refused(&scene.scenario, "cluster.servers", "dense");
    scene.server_of[5] = 1;
    scene.first[2]     = 9; /* rank 8 is still in server 2 */
    expect_refused(&scene.scenario, "cluster.servers", "dense");
    scene.first[2] = 8;
    scene.first[4] = 10;
    expect_refused(&scene.scenario, "cluster.servers", "dense");
    scene.first[4] = 12;
    expect_refused(&scene.scenario, "cluster.servers", "dense");
    scene.first[4]         = 11;
    scene.uneven.n_servers = 1;
    expect_refused(&scene.scenario, "cluster.servers", "dense");
}

/* The schedule of the scene through a file and back, on the scene's model. */
static cs_result run_exported(cs_export_format format)
{
    cs_text    text   = {0};
    cs_error   err    = {0};
    cs_result  result = {0};
    cs_stored *stored = NULL;

    ct_scene_ready(&scene);
    cs_job job = ct_scene_job(&scene, NULL);
    cr_assert_eq(cs_export_schedule(&job, format, &text, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_schedule_parse(text.data, text.length, "mixed", &stored, &err), CS_OK, "%s: %s",
                 err.where, err.message);
    const cs_stored_options options = {stored};
    cs_job                  run = {.scenario = scene.scenario, .verify = true, .is_checked = true};
    cs_job_set_algorithm(&run, &cs_algorithm_stored, &options);
    cs_job_set_model(&run, job.model, NULL);
    cr_assert_eq(cs_job_run(&run, NULL, 0, &result, &err), CS_OK, "%s", err.message);
    cr_expect(result.verified);
    cs_stored_free(stored);
    cs_text_free(&text);
    return result;
}

/* A file has the servers, or knows nothing of servers (MSCCL): either takes as long as what it was
 * written from. */
Test(uneven, schedules)
{
    static const cs_export_format formats[] = {CS_EXPORT_JSON, CS_EXPORT_MSCCL};
    static const char *const      names[] = {"ring", "nccl_rings", "double_binary_tree", "allpairs",
                                             "adapcc"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t f = 0; f < 2; f++) {
            set_mixed(names[i], 112640);
            cs_result result = run_exported(formats[f]);
            double    want_s = ct_scene_replay(&scene, NULL).elapsed_s;
            cr_expect(ct_is_close(result.elapsed_s, want_s, 1e-12) || (f == 1 && i > 0),
                      "%s: %g, not %g", names[i], result.elapsed_s, want_s);
            cr_expect_leq(result.bound_s, result.elapsed_s);
        }
    }
}

#define HEAD                                                                             \
    "{\"format\": \"collsim-schedule\", \"version\": 1, \"collective\": \"broadcast\", " \
    "\"ranks\": 3, \"chunks\": 1, \"bytes\": 8, "
#define TRANSFERS                                                                           \
    "\"transfers\": [{\"round\": 0, \"src\": 0, \"dst\": 1, \"chunk\": 0}, {\"round\": 0, " \
    "\"src\": 0, \"dst\": 2, \"chunk\": 0}]}"

static cs_status parse(const char *json, cs_stored **stored_p, cs_error *err)
{
    *err = (cs_error){0};
    return cs_schedule_parse(json, strlen(json), "s.json", stored_p, err);
}

Test(uneven, servers_of_a_file)
{
    static const struct {
        const char *servers, *words;
    } wrong[] = {
        {"[{\"gpus\": 2}, {\"gpus\": 2}]", "have 4 GPUs, but there are 3 ranks"},
        {"[{\"count\": 4, \"gpus\": 1}]", "are 4, but there are 3 ranks"},
        {"[{\"gpus\": 2}, {\"gpus\": 1}], \"gpus_per_server\": 2", "accepted is one"},
        {"[{\"gpus\": 2}, {\"gpus\": 1}], \"sockets\": 2", "with one socket"},
        {"[{\"count\": 2}]", "gpus"},
        {"[]", "servers"},
    };
    cs_stored *stored = NULL;
    cs_error   err;
    char       json[800];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(json, sizeof json, HEAD "\"servers\": %s, " TRANSFERS, wrong[i].servers);
        cr_assert_eq(parse(json, &stored, &err), CS_EINVAL, "%s", json);
        cr_expect(strstr(err.message, wrong[i].words) != NULL ||
                      strstr(err.where, wrong[i].words) != NULL,
                  "%s: %s", err.where, err.message);
    }
    cr_assert_eq(
        parse(HEAD "\"servers\": [{\"count\": 3, \"gpus\": 1}], " TRANSFERS, &stored, &err), CS_OK,
        "%s", err.message);
    cr_expect(cs_is_even(&(cs_cluster){.uneven = cs_stored_cluster(stored).uneven}));
    cs_stored_free(stored);
    cr_assert_eq(
        parse(HEAD "\"servers\": [{\"gpus\": 2}, {\"gpus\": 1}], " TRANSFERS, &stored, &err), CS_OK,
        "%s", err.message);
    cr_expect_eq(cs_transfer_fabric(&stored->recording.transfers[0]), CS_NVLINK);
    cr_expect_eq(cs_transfer_fabric(&stored->recording.transfers[1]), CS_NIC);

    static const uint32_t   other[] = {1, 2};
    const cs_stored_options options = {stored};
    ct_scene_set(&scene, "adapcc", CS_BROADCAST, 3, 8);
    ct_scene_set_gpus(&scene, other, 2);
    ct_scene_ready(&scene);
    cs_job run = {.scenario = scene.scenario};
    cs_job_set_algorithm(&run, &cs_algorithm_stored, &options);
    cs_job_set_model(&run, cs_models[0], NULL);
    cr_expect_eq(cs_job_resolve(&run, &err), CS_ENOTSUP);
    cr_expect_str_eq(err.where, "cluster.servers");
    cr_expect_not_null(strstr(err.message, "another order"), "%s", err.message);
    cs_stored_free(stored);
}

Test(uneven, a_file_out_of_memory)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status == CS_ENOMEM && passes < 2000; passes++) {
        cs_stored *stored = NULL;
        cs_error   err;
        cs_alloc_fail_after(passes);
        status =
            parse(HEAD "\"servers\": [{\"gpus\": 2}, {\"gpus\": 1}], " TRANSFERS, &stored, &err);
        cs_alloc_fail_after(-1);
        if (status == CS_OK) {
            cs_stored_free(stored);
        }
    }
    cr_expect_eq(status, CS_OK);
}
