/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The presets of Parallel Rings' clusters are those of its figures; and with all links inside their
 * servers (PCIe, the link between the sockets) Parallel Rings, the flat ring and NCCL's rings take
 * what the closed forms without them say: what figures.md claims. */
#include "analytic/formula.h"
#include "support/config.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

/* The clusters of configs/figures/parallel-rings-7.json, without the number of ranks. */
static const cs_cluster clusters[2] = {
    {.gpus_per_server = 4,
     .fabrics         = {[CS_NIC]    = {CS_SWITCHED, 11.3e-6, 12e9},
                         [CS_NVLINK] = {CS_DIRECT, 4e-6, 100e9},
                         [CS_CROSS]  = {CS_SWITCHED, 8e-6, 13.6e9}},
     .sockets         = 2},
    {.gpus_per_server = 4,
     .fabrics = {[CS_NIC] = {CS_SWITCHED, 11.3e-6, 24e9}, [CS_NVLINK] = {CS_DIRECT, 4e-6, 150e9}},
     .sockets = 1}};

/* Start-up and bytes of one message over a fabric; NAN: there is none. */
static double message_s(const cs_cluster *c, uint32_t fabric, double bytes)
{
    const cs_fabric *f = &c->fabrics[fabric];
    return fabric < cs_n_fabrics(c) ? f->alpha_s + bytes / f->bandwidth_Bps : (double)NAN;
}

/* A ring whose messages go over all fabrics at once takes the steps of the slowest. */
static double ring_s(const cs_cluster *c, uint32_t n_ranks, double bytes)
{
    double step = fmax(message_s(c, CS_NIC, bytes), message_s(c, CS_NVLINK, bytes));
    return (n_ranks - 1) * fmax(step, message_s(c, CS_CROSS, bytes));
}

static double elapsed_s(const char *preset, const char *ranks, const char *algorithm,
                        const char *key, const char *value, uint64_t bytes, cs_cluster *cluster_p)
{
    cs_config *config = NULL;
    cs_error   err    = {0};
    char       text[32];

    cr_assert_eq(cs_config_new(&config, &err), CS_OK);
    ct_set(config, "cluster.topology", preset);
    ct_set(config, "cluster.ranks", ranks);
    ct_set(config, "collective", "allgather");
    ct_set(config, "model.name", "flow");
    ct_set(config, "algorithm.name", algorithm);
    if (key != NULL) {
        ct_set(config, key, value);
    }
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)bytes);
    ct_set(config, "bytes", text);
    cs_case   c      = ct_case(config, 0);
    cs_result result = ct_result(&c);
    *cluster_p       = c.job.scenario.cluster;
    cs_case_free(&c);
    cs_config_free(config);
    return result.elapsed_s;
}

static void expect_cluster(const cs_cluster *got, const cs_cluster *want)
{
    cr_assert_eq(got->gpus_per_server, want->gpus_per_server);
    cr_assert_eq(got->sockets > 1, want->sockets > 1);
    for (uint32_t f = 0; f < cs_n_fabrics(want); f++) {
        cr_expect_eq(got->fabrics[f].kind, want->fabrics[f].kind, "%s", cs_fabric_name(f));
        cr_expect_eq(got->fabrics[f].alpha_s, want->fabrics[f].alpha_s, "%s", cs_fabric_name(f));
        cr_expect_eq(got->fabrics[f].bandwidth_Bps, want->fabrics[f].bandwidth_Bps, "%s",
                     cs_fabric_name(f));
    }
}

static void expect_times(const char *preset, const char *ranks, uint32_t servers,
                         const cs_cluster *want, const char *order, const char *exchange)
{
    cs_cluster got;

    for (uint64_t block = UINT64_C(2) << 20; block <= UINT64_C(256) << 20; block *= 128) {
        uint64_t bytes = block * servers * want->gpus_per_server;
        double   flat_s, nccl_s, parallel_s, tolerance = 1e-9;
        flat_s = elapsed_s(preset, ranks, "flat_ring", NULL, NULL, bytes, &got);
        nccl_s =
            elapsed_s(preset, ranks, "nccl_rings", "algorithm.options.order", order, bytes, &got);
        parallel_s = elapsed_s(preset, ranks, "parallel_rings", "algorithm.options.exchange",
                               exchange, bytes, &got);
        expect_cluster(&got, want);
        uint32_t n = servers * want->gpus_per_server;
        double   b = (double)block;
        cr_expect_float_eq(flat_s, ring_s(want, n, b), tolerance * flat_s);
        cr_expect_float_eq(nccl_s, ring_s(want, n, b / want->gpus_per_server), tolerance * nccl_s);
        cr_expect_float_eq(parallel_s,
                           cs_formula_parallel_rings(servers, message_s(want, CS_NIC, b),
                                                     message_s(want, CS_NVLINK, b),
                                                     message_s(want, CS_CROSS, b)),
                           tolerance * parallel_s);
    }
}

Test(parallel_rings_links, cluster_a)
{
    cs_cluster got;

    (void)elapsed_s("parallel-rings-a", "16", "flat_ring", NULL, NULL, 4096, &got);
    cr_assert_not_null(got.topology, "the links are there");
    expect_times("parallel-rings-a", "16", 4, &clusters[0], "sockets", "sockets");
}

Test(parallel_rings_links, cluster_b)
{
    expect_times("parallel-rings-b", "32", 8, &clusters[1], "rotated", "mesh");
}
