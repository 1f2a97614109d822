/* SPDX-License-Identifier: GPL-3.0-or-later */
/* nccl: the schedule of what the tuner picks, with the choice in its options; filters; versions;
 * what NCCL does not do. */
#include "algorithms/lib/nccl_tuning.h"
#include "cs/job.h"
#include "cs/result.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static ct_scene scene;

/* Servers of 8 GPUs with these rates of NVLinks and NICs. */
static void set_scene(const char *algorithm, cs_collective collective, uint32_t n, uint64_t bytes,
                      double nvlink_Bps, double nic_Bps)
{
    ct_scene_set(&scene, algorithm, collective, n, bytes);
    scene.scenario.cluster.gpus_per_server    = n < 8 ? n : 8;
    scene.scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_SWITCHED, 1e-6, nvlink_Bps};
    scene.scenario.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 3e-6, nic_Bps};
}

static cs_result run(void)
{
    cs_result    result = {0};
    cs_error     err    = {0};
    const cs_job job    = ct_scene_given(&scene, NULL);

    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s: %s", ct_scene_text(&scene),
                 err.message);
    cr_assert(result.verified, "%s: %s", ct_scene_text(&scene), result.verdict.text);
    return result;
}

static void option_is(const char *key, const char *want)
{
    char text[64];

    cs_field_text(cs_field_find(scene.algorithm->options, key), &scene.options, text, sizeof text);
    cr_expect_str_eq(text, want, "%s: %s is %s, not %s", ct_scene_text(&scene), key, text, want);
}

/* What runs takes exactly as long as the schedule of that name. */
Test(nccl, runs_what_its_tuner_picks)
{
    static const struct {
        cs_collective collective;
        uint32_t      n;
        uint64_t      bytes;
        double        nvlink_Bps, nic_Bps;
        const char   *version, *algorithm, *protocol; /* of NCCL; what it picks */
        const char   *schedule, *option, *value;      /* is this here */
    } cases[] = {
        {CS_ALLREDUCE, 8, 1 << 10, 450e9, 50e9, "2.28", "ring", "ll", "nccl_rings", "channels",
         "1"},
        {CS_ALLREDUCE, 8, 1 << 30, 450e9, 50e9, "2.28", "nvls", "simple", "nvls", NULL, NULL},
        {CS_ALLREDUCE, 8, 1 << 30, 300e9, 25e9, "2.28", "ring", "simple", "nccl_rings", NULL, NULL},
        {CS_ALLREDUCE, 8, 1 << 30, 450e9, 50e9, "2.12", "ring", "simple", "nccl_rings", NULL, NULL},
        {CS_ALLREDUCE, 64, 1 << 12, 450e9, 50e9, "2.28", "tree", "ll", "double_binary_tree",
         "shape", "nccl"},
        {CS_ALLREDUCE, 64, 1 << 30, 450e9, 50e9, "2.28", "nvlstree", "simple", "nvls_tree", NULL,
         NULL},
        {CS_ALLGATHER, 16, 1 << 30, 450e9, 50e9, "2.28", "ring", "simple", "nccl_rings", NULL,
         NULL},
        {CS_REDUCESCATTER, 8, 1 << 24, 300e9, 25e9, "2.20", "ring", "simple", "nccl_rings", NULL,
         NULL},
        {CS_BROADCAST, 16, 1 << 24, 450e9, 50e9, "2.28", "ring", "simple", "reduce_ring", NULL,
         NULL},
        {CS_REDUCE, 16, 1 << 24, 450e9, 50e9, "2.28", "ring", "simple", "reduce_ring", NULL, NULL},
        {CS_ALLTOALL, 8, 1 << 24, 450e9, 50e9, "2.28", "p2p", "simple", "allpairs", NULL, NULL},
        {CS_ALLTOALL, 16, 1 << 24, 450e9, 50e9, "2.28", "p2p", "simple", "two_step_alltoall",
         "gather", "server"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t n = cases[i].n;
        set_scene("nccl", cases[i].collective, n, cases[i].bytes, cases[i].nvlink_Bps,
                  cases[i].nic_Bps);
        ct_scene_option(&scene, "version", cases[i].version);
        const double got_s = run().elapsed_s;
        ct_scene_ready(&scene);
        cs_plan_release(scene.algorithm, &scene.plan);
        option_is("algorithm", cases[i].algorithm);
        option_is("protocol", cases[i].protocol);
        option_is("version", cases[i].version);
        set_scene(cases[i].schedule, cases[i].collective, n, cases[i].bytes, cases[i].nvlink_Bps,
                  cases[i].nic_Bps);
        if (cases[i].option != NULL) {
            ct_scene_option(&scene, cases[i].option, cases[i].value);
        }
        const double want_s = run().elapsed_s;
        cr_expect(!(got_s < want_s) && !(got_s > want_s), "case %zu: %g s, %s takes %g s", i, got_s,
                  cases[i].schedule, want_s);
    }
}

/* The choice of every size, and how many channels it gets, are the tuner's. */
Test(nccl, picks_as_the_tuner_does)
{
    static const cs_collective collectives[] = {CS_ALLREDUCE, CS_ALLGATHER, CS_REDUCESCATTER};

    for (uint32_t n = 2; n <= 64; n *= 2) {
        for (int i = 0; i < 3 * 25; i++) {
            cs_nccl_cluster cluster;
            cs_nccl_tuning  tuning;
            cs_nccl_choice  choice;
            cs_nccl_setting setting = {.minor      = CS_NCCL_NEWEST,
                                       .algorithms = UINT32_MAX,
                                       .protocols  = UINT32_MAX,
                                       .has_nvls   = true};
            char            channels[16];
            set_scene("nccl", collectives[i % 3], n, (uint64_t)64 << i / 3, 900e9, 50e9);
            cs_nccl_cluster_of_scenario(&scene.scenario.cluster, &cluster);
            cr_assert_eq(cluster.gpu, CS_NCCL_BLACKWELL);
            cs_nccl_tune(&cluster, &setting, collectives[i % 3], &tuning);
            cr_assert(cs_nccl_choose(&tuning, (double)scene.scenario.bytes, &choice));
            (void)snprintf(channels, sizeof channels, "%u",
                           cs_nccl_channels(&tuning, &choice, (double)scene.scenario.bytes));
            ct_scene_ready(&scene);
            option_is("algorithm", cs_nccl_algorithm_names[choice.algorithm]);
            option_is("protocol", cs_nccl_protocol_names[choice.protocol]);
            option_is("channels", channels);
            cs_plan_release(scene.algorithm, &scene.plan);
        }
    }
}

Test(nccl, filters)
{
    set_scene("nccl", CS_ALLREDUCE, 8, 1 << 30, 450e9, 50e9);
    ct_scene_option(&scene, "nvls", "false");
    ct_scene_ready(&scene);
    cs_plan_release(scene.algorithm, &scene.plan);
    option_is("algorithm", "ring");
    set_scene("nccl", CS_ALLREDUCE, 16, 1 << 30, 450e9, 50e9);
    ct_scene_option(&scene, "algorithm", "tree");
    ct_scene_option(&scene, "protocol", "ll128");
    ct_scene_ready(&scene);
    option_is("algorithm", "tree");
    option_is("protocol", "ll128");
    cs_plan_release(scene.algorithm, &scene.plan);
    set_scene("nccl", CS_ALLREDUCE, 16, 1 << 30, 450e9, 50e9);
    ct_scene_option(&scene, "gpu", "ampere");
    ct_scene_ready(&scene);
    option_is("algorithm", "ring"); /* which has no NVLSTree */
    cs_plan_release(scene.algorithm, &scene.plan);
}

static void expect_refused(const char *where)
{
    cs_error err = {0};

    cr_expect_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
    cr_expect_str_eq(err.where, where, "%s", err.message);
}

Test(nccl, what_it_does_not_do)
{
    set_scene("nccl", CS_ALLREDUCE, 16, 1 << 20, 450e9, 50e9);
    ct_scene_option(&scene, "algorithm", "nvls"); /* over servers that needs SHARP */
    expect_refused("algorithm.options.algorithm");
    set_scene("nccl", CS_ALLREDUCE, 16, 1 << 20, 450e9, 50e9);
    ct_scene_option(&scene, "algorithm", "p2p");
    expect_refused("algorithm.options.algorithm");
    set_scene("nccl", CS_ALLTOALL, 16, 1 << 20, 450e9, 50e9);
    ct_scene_option(&scene, "algorithm", "ring");
    expect_refused("algorithm.options.algorithm");
    set_scene("nccl", CS_ALLTOALL, 16, 1 << 20, 450e9, 50e9);
    ct_scene_option(&scene, "protocol", "ll");
    expect_refused("algorithm.options.algorithm");
}

/* On a mesh no two rings share a link: each of them has its part of the buffer to itself. */
Test(nccl, rings_of_a_mesh)
{
    for (uint32_t g = 3; g <= 10; g++) {
        for (uint32_t servers = 1; servers <= 3; servers++) {
            const uint32_t n     = g * servers;
            const uint32_t rings = g % 2 == 1 ? g - 1 : servers > 1 ? g : g - 2;
            const uint64_t bytes = (uint64_t)n * rings * 1024;
            ct_scene_set(&scene, "nccl_rings", CS_ALLREDUCE, n, bytes);
            scene.scenario.cluster.gpus_per_server    = g;
            scene.scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_DIRECT, 0, 1e9};
            scene.scenario.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 0, 1e12};
            ct_scene_option(&scene, "order", "mesh");
            const double want_s = 2.0 * (n - 1) / n * (double)bytes / rings / 1e9;
            const double got_s  = run().elapsed_s;
            cr_expect(got_s >= want_s * (1 - 1e-9) && got_s < want_s * 1.01,
                      "%u servers of %u: %g of it", servers, g, got_s / want_s);
        }
    }
    ct_scene_set(&scene, "nccl_rings", CS_ALLREDUCE, 8, 1 << 20);
    scene.scenario.cluster.gpus_per_server = 8;
    ct_scene_option(&scene, "order", "mesh");
    ct_scene_option(&scene, "channels", "7");
    expect_refused("algorithm.options.channels");
}
