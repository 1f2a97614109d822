/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The AllReduce in ceil(log2 n) rounds of the whole buffer: its time, its traffic, and that every
 * contribution is in every result once. */
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>

static ct_scene scene;

enum { EVERY_UP_TO = 300 };
static const uint32_t sample[] = {511, 512, 513, 1000, 1023, 1025, 1536, 2047, 2048};

static uint32_t ceil_log2(uint32_t n)
{
    uint32_t k = 0;
    while ((1u << k) < n) {
        k++;
    }
    return k;
}

static double formula_s(uint32_t n, double slow)
{
    const cs_fabric *f = &scene.scenario.cluster.fabrics[CS_NIC];
    return ceil_log2(n) * (f->alpha_s + slow * (double)scene.scenario.bytes / f->bandwidth_Bps);
}

static void check_time(uint32_t n, uint64_t bytes)
{
    ct_scene_set(&scene, "latency_optimal", CS_ALLREDUCE, n, bytes);
    ct_scene_ready(&scene);
    cs_outcome out = ct_scene_replay(&scene, NULL);
    cr_assert(out.verified && ct_is_close(out.elapsed_s, formula_s(n, 1), 1e-12), "%s",
              ct_scene_text(&scene));
    cr_assert(
        ct_is_close(scene.algorithm->closed_form_s(&scene.scenario, NULL), formula_s(n, 1), 1e-12));
    cr_assert_eq(out.n_transfers, (uint64_t)n * ceil_log2(n), "one message per rank and round");
    cr_assert_eq(out.wire_bytes, (uint64_t)n * ceil_log2(n) * bytes, "nothing travels twice");
    cr_assert_eq(scene.plan.n_rounds, ceil_log2(n));
    cr_assert(scene.plan.is_round_synchronous);
}

Test(latency_optimal, time_and_traffic_of_every_number_of_ranks)
{
    for (uint32_t n = 2; n <= EVERY_UP_TO; n++) {
        check_time(n, 1);
        check_time(n, 12345677);
    }
    for (size_t i = 0; i < sizeof sample / sizeof sample[0]; i++) {
        check_time(sample[i], 4096);
    }
}

Test(latency_optimal, contributions_are_counted_once)
{
    for (uint32_t n = 2; n <= EVERY_UP_TO; n++) {
        ct_scene_set(&scene, "latency_optimal", CS_ALLREDUCE, n, 7);
        ct_scene_ready(&scene);
        ct_stream stream = ct_scene_judged(&scene);
        ct_stream_free(&stream);
    }
}

/* The windows double, or double less one, along the ceilings of n / 2^k. */
Test(latency_optimal, windows)
{
    for (uint32_t n = 2; n <= EVERY_UP_TO; n++) {
        uint32_t window = 1, rounds = ceil_log2(n);
        for (uint32_t k = 0; k < rounds; k++) {
            uint32_t next = (n + (1u << (rounds - k - 1)) - 1) >> (rounds - k - 1);
            cr_assert(next == 2 * window || next == 2 * window - 1);
            window = next;
        }
        cr_assert_eq(window, n);
        ct_scene_set(&scene, "latency_optimal", CS_ALLREDUCE, n, 7);
        ct_scene_ready(&scene);
        ct_stream s = ct_stream_record(&scene, 64);
        for (size_t i = 0; i < s.count; i++) {
            const cs_transfer *t = &s.transfers[i];
            uint32_t next = (n + (1u << (rounds - t->round - 1)) - 1) >> (rounds - t->round - 1);
            cr_assert_eq(t->dst, (t->src + next / 2) % n);
            cr_assert_eq(t->bytes, (t->flags & CS_JOIN) != 0 ? 0u : 7u);
        }
        ct_stream_free(&s);
    }
}

Test(latency_optimal, time_from_the_last_arrival_on)
{
    ct_rng rng = ct_rng_for(51);

    for (uint32_t n = 2; n <= 130; n++) {
        ct_scene_set(&scene, "latency_optimal", CS_ALLREDUCE, n, 1 + ct_below(&rng, 1u << 24));
        ct_scene_arrive(&scene, &rng, 1e-3);
        ct_scene_ready(&scene);
        cs_outcome out    = ct_scene_replay(&scene, NULL);
        double     want_s = cs_last_arrival(&scene.scenario) + formula_s(n, 1);
        cr_assert(out.verified && ct_is_close(out.elapsed_s, want_s, 1e-12), "%s",
                  ct_scene_text(&scene));
        cr_assert(
            ct_is_close(scene.algorithm->closed_form_s(&scene.scenario, NULL), want_s, 1e-12));
    }
}

Test(latency_optimal, slow_nics_slow_every_round)
{
    for (uint32_t n = 2; n <= 130; n++) {
        ct_scene_set(&scene, "latency_optimal", CS_ALLREDUCE, n, 1u << 20);
        scene.capacity[0]         = (cs_capacity){n / 2, 3, 0, (double)INFINITY, false};
        scene.scenario.capacity   = scene.capacity;
        scene.scenario.n_capacity = 1;
        ct_scene_ready(&scene);
        cs_outcome out = ct_scene_replay(&scene, NULL);
        cr_assert(out.verified && ct_is_close(out.elapsed_s, formula_s(n, 3), 1e-12), "%s",
                  ct_scene_text(&scene));
        cr_assert(ct_is_close(scene.algorithm->closed_form_s(&scene.scenario, NULL),
                              formula_s(n, 3), 1e-12));
    }
}

/* Several GPUs a server: correct, between the times over the quicker and over the slower fabric. */
Test(latency_optimal, the_slower_fabric_sets_the_time)
{
    for (uint32_t n = 4; n <= 64; n += 4) {
        ct_scene_set(&scene, "latency_optimal", CS_ALLREDUCE, n, 1u << 20);
        double nic_s = formula_s(n, 1), nvlink_s = ceil_log2(n) * (1e-6 + (1u << 20) / 900e9);
        scene.scenario.cluster.gpus_per_server = 4;
        ct_scene_ready(&scene);
        cs_outcome out = ct_scene_replay(&scene, NULL);
        cr_assert(out.verified);
        cr_assert(out.elapsed_s >= nvlink_s * (1 - 1e-12) && out.elapsed_s <= nic_s * (1 + 1e-12));
        double closed_s = scene.algorithm->closed_form_s(&scene.scenario, NULL);
        cr_assert(n == 4 ? ct_is_close(closed_s, nvlink_s, 1e-12) != 0 : isnan(closed_s) != 0);
    }
}
