/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ring: its time, its traffic and its pattern, from the formulas alone. */
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>

static ct_scene scene;

static double alpha_s(void)
{
    return scene.scenario.cluster.fabrics[CS_NIC].alpha_s;
}

static double beta_s(double bytes)
{
    return bytes / scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps;
}

static double steps_of(cs_collective collective, uint32_t n)
{
    return collective == CS_ALLREDUCE ? 2.0 * (n - 1) : n - 1.0;
}

static const cs_collective collectives[] = {CS_ALLREDUCE, CS_REDUCESCATTER, CS_ALLGATHER};

/* 2 (n-1) (alpha + s beta / n) after the last arrival, half of that for either half. */
Test(ring, time_from_the_last_arrival_on)
{
    ct_rng rng = ct_rng_for(1);

    for (uint32_t n = 2; n <= 40; n++) {
        for (int c = 0; c < 3; c++) {
            ct_scene_set(&scene, "ring", collectives[c], n, 4096u * n);
            ct_scene_arrive(&scene, &rng, 1e-3);
            ct_scene_ready(&scene);
            double want_s = steps_of(collectives[c], n) * (alpha_s() + beta_s(4096));
            cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).exposed_s, want_s, 1e-12), "%s",
                      ct_scene_text(&scene));
        }
    }
}

/* Chunks of unequal size: the largest one takes every step. */
Test(ring, the_largest_chunk_sets_the_time)
{
    for (uint32_t n = 3; n <= 20; n++) {
        ct_scene_set(&scene, "ring", CS_ALLREDUCE, n, 100u * n + 1);
        scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps = 1e6;
        ct_scene_ready(&scene);
        double want_s = 2 * (n - 1) * (alpha_s() + beta_s(101));
        cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, want_s, 1e-12));
        cr_assert(
            ct_is_close(scene.algorithm->closed_form_s(&scene.scenario, NULL), want_s, 1e-12));
    }
}

/* ICCL: one slow NIC slows every step, several as much as the slowest of them. */
Test(ring, slow_nics_slow_every_step)
{
    for (uint32_t n = 2; n <= 20; n++) {
        ct_scene_set(&scene, "ring", CS_ALLREDUCE, n, 1000u * n);
        scene.capacity[0]         = (cs_capacity){0, 1.5, 0, (double)INFINITY, false};
        scene.capacity[1]         = (cs_capacity){n - 1, 4, 0, (double)INFINITY, false};
        scene.scenario.capacity   = scene.capacity;
        scene.scenario.n_capacity = 2;
        ct_scene_ready(&scene);
        double want_s = 2 * (n - 1) * (alpha_s() + 4 * beta_s(1000));
        cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, want_s, 1e-12));
        cr_assert(
            ct_is_close(scene.algorithm->closed_form_s(&scene.scenario, NULL), want_s, 1e-12));
    }
}

/* Inside one server everything flows over NVLink; over several servers the NICs set the pace. */
Test(ring, the_slower_fabric_sets_the_time)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 8, 8 * 4096);
    scene.scenario.cluster.gpus_per_server = 8;
    ct_scene_ready(&scene);
    double nvlink_s = 14 * (1e-6 + 4096 / 900e9), nic_s = 14 * (3e-6 + 4096 / 450e9);
    cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, nvlink_s, 1e-12));
    cr_assert(ct_is_close(scene.algorithm->closed_form_s(&scene.scenario, NULL), nvlink_s, 1e-12));
    scene.scenario.cluster.gpus_per_server = 4;
    ct_scene_ready(&scene);
    double mixed_s = ct_scene_replay(&scene, NULL).elapsed_s;
    cr_assert(mixed_s > nvlink_s && mixed_s <= nic_s * (1 + 1e-12));
    cr_assert(isnan(scene.algorithm->closed_form_s(&scene.scenario, NULL)));
}

/* n messages a step, every chunk n-1 times over some wire in each half. */
Test(ring, traffic_is_exact)
{
    static const uint64_t sizes[] = {1, 7, 1000, 12345677};

    for (uint32_t n = 2; n <= 33; n++) {
        for (int i = 0; i < 4; i++) {
            for (int c = 0; c < 3; c++) {
                ct_scene_set(&scene, "ring", collectives[c], n, sizes[i]);
                ct_scene_ready(&scene);
                uint64_t   steps = (uint64_t)steps_of(collectives[c], n);
                cs_outcome out   = ct_scene_replay(&scene, NULL);
                cr_assert_eq(out.n_transfers, steps * n);
                cr_assert_eq(out.wire_bytes, steps * sizes[i]);
                cr_assert_eq(scene.plan.n_rounds, steps);
                cr_assert_eq(scene.plan.n_chunks, n);
            }
        }
    }
}

/* In step t rank i sends chunk i - 1 - t to rank i + 1: chunk c ends complete at rank c. */
Test(ring, pattern)
{
    for (uint32_t n = 2; n <= 17; n++) {
        ct_scene_set(&scene, "ring", CS_ALLREDUCE, n, 1000);
        ct_scene_ready(&scene);
        ct_stream s = ct_stream_record(&scene, 64);
        for (uint32_t i = 0; i < s.count; i++) {
            uint32_t step = i / n, rank = i % n;
            cr_assert(s.transfers[i].round == step && s.transfers[i].src == rank);
            cr_assert_eq(s.transfers[i].dst, (rank + 1) % n);
            cr_assert_eq(s.transfers[i].chunk, (rank + 2 * n - 1 - step) % n);
            cr_assert_eq(cs_transfer_op(&s.transfers[i]), step < n - 1 ? CS_OP_REDUCE : CS_OP_COPY);
        }
        ct_stream_free(&s);
    }
}

/* Where nothing exact is known there is no closed form. */
Test(ring, no_formula_where_none_holds)
{
    ct_rng rng = ct_rng_for(2);

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 4098);
    ct_scene_arrive(&scene, &rng, 1e-3);
    cr_assert(isnan(scene.algorithm->closed_form_s(&scene.scenario, NULL)));
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 4096);
    scene.capacity[0]         = (cs_capacity){0, 2, 0, 1e-6, false};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 1;
    cr_assert(isnan(scene.algorithm->closed_form_s(&scene.scenario, NULL)));
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 4096);
    scene.scenario.cluster.gpus_per_server         = 4;
    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    cr_assert(isnan(scene.algorithm->closed_form_s(&scene.scenario, NULL)));
}
