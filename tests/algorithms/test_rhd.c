/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recursive halving and doubling: its time, its traffic and where its chunks end. */
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>

static ct_scene scene;

static uint32_t floor_log2(uint32_t n)
{
    uint32_t f = 0;
    while ((2u << f) <= n) {
        f++;
    }
    return f;
}

static bool is_power(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

static uint32_t ceil_log2(uint32_t n)
{
    return floor_log2(n) + !is_power(n);
}

/* 2 log2 n alpha + 2 (n-1)/n x; otherwise 2 ceil(log2 n) alpha + 2x (1.5 - 2^-floor(log2 n)). */
static double formula_s(uint32_t n, double x)
{
    double alpha_s = scene.scenario.cluster.fabrics[CS_NIC].alpha_s;

    if (is_power(n)) {
        return 2 * ceil_log2(n) * alpha_s + 2.0 * (n - 1) / n * x;
    }
    return 2 * ceil_log2(n) * alpha_s + 2 * x * (1.5 - pow(2, -(double)floor_log2(n)));
}

Test(rhd, time_of_every_number_of_ranks)
{
    for (uint32_t n = 2; n <= 130; n++) {
        ct_scene_set(&scene, "rhd", CS_ALLREDUCE, n, 1u << 20);
        ct_scene_ready(&scene);
        double want_s = formula_s(n, (1u << 20) / 450e9);
        double got_s  = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(ct_is_close(got_s, want_s, 1e-12), "n=%u: %.17g, not %.17g", n, got_s, want_s);
        cr_assert_eq(scene.plan.n_rounds, 2 * ceil_log2(n));
        got_s = scene.algorithm->closed_form_s(&scene.scenario, NULL);
        cr_assert(ct_is_close(got_s, want_s, 1e-12));
    }
}

Test(rhd, powers_of_two_start_at_the_last_arrival)
{
    ct_rng rng = ct_rng_for(3);

    for (uint32_t n = 2; n <= 128; n *= 2) {
        for (int c = 0; c < 3; c++) {
            static const cs_collective which[] = {CS_ALLREDUCE, CS_REDUCESCATTER, CS_ALLGATHER};
            ct_scene_set(&scene, "rhd", which[c], n, 1u << 20);
            ct_scene_arrive(&scene, &rng, 1e-4);
            ct_scene_ready(&scene);
            double all_s = formula_s(n, (1u << 20) / 450e9), last_s = 0;
            for (uint32_t r = 0; r < n; r++) {
                last_s = fmax(last_s, scene.arrival_s[r]);
            }
            double want_s = last_s + (c == 0 ? all_s : all_s / 2);
            double got_s  = ct_scene_replay(&scene, NULL).elapsed_s;
            cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s", ct_scene_text(&scene));
        }
    }
}

/* Chunk c of a reduce-scatter ends at rank c, in one piece. */
Test(rhd, chunk_c_ends_at_rank_c)
{
    for (uint32_t n = 2; n <= 64; n *= 2) {
        ct_scene_set(&scene, "rhd", CS_REDUCESCATTER, n, 1000);
        ct_scene_ready(&scene);
        ct_stream s        = ct_stream_record(&scene, 64);
        uint32_t  finished = 0;
        for (size_t i = 0; i < s.count; i++) {
            if ((s.transfers[i].flags & CS_DONE_DST) != 0) {
                cr_assert(s.transfers[i].chunk == s.transfers[i].dst && s.transfers[i].span == 1);
                finished++;
            }
        }
        cr_assert_eq(finished, n);
        ct_stream_free(&s);
    }
}

/* Powers of two move the least possible, every chunk n-1 times in each half. Otherwise the pairs
 * without, with one and with two extra ranks move 2, 4 and 6 halves each way, and the m core
 * ranks the rest. */
static uint64_t wire_bytes(uint32_t n, uint64_t bytes)
{
    uint64_t m = (uint64_t)1 << floor_log2(n), halves = 0;

    if (is_power(n)) {
        return 2 * (uint64_t)(n - 1) * bytes;
    }
    for (uint64_t pair = 0; pair < m / 2; pair++) {
        uint64_t extras = (n - m) / (m / 2) + (pair < (n - m) % (m / 2));
        halves += 2 + 2 * extras;
    }
    return halves * bytes + 2 * (m / 2 - 1) * bytes;
}

Test(rhd, traffic_is_exact)
{
    for (uint32_t n = 2; n <= 70; n++) {
        ct_scene_set(&scene, "rhd", CS_ALLREDUCE, n, 1u << 20);
        ct_scene_ready(&scene);
        uint64_t got = ct_scene_replay(&scene, NULL).wire_bytes;
        cr_assert_eq(got, wire_bytes(n, 1u << 20), "n=%u: %llu bytes", n, (unsigned long long)got);
        if (is_power(n)) {
            scene.scenario.bytes = 12345677;
            cr_assert_eq(ct_scene_replay(&scene, NULL).wire_bytes, wire_bytes(n, 12345677));
        }
    }
}

Test(rhd, halves_need_a_power_of_two)
{
    cs_error err = {0};

    ct_scene_set(&scene, "rhd", CS_ALLGATHER, 6, 4096);
    cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
    cr_assert_str_eq(err.where, "collective");
    ct_scene_set(&scene, "rhd", CS_ALLREDUCE, 6, 4096);
    cr_assert_eq(ct_scene_check(&scene, NULL), CS_OK);
    cr_assert_not(scene.plan.is_round_synchronous);
    ct_scene_set(&scene, "rhd", CS_ALLREDUCE, 8, 4096);
    cr_assert_eq(ct_scene_check(&scene, NULL), CS_OK);
    cr_assert(scene.plan.is_round_synchronous);
    cr_assert(isnan(scene.algorithm->closed_form_s(
        &(cs_scenario){.bytes = 4097, .cluster = scene.scenario.cluster}, NULL)));
}
