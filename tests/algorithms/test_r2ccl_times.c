/* SPDX-License-Identifier: GPL-3.0-or-later */
/* R2CCL's time against the formula, the ring on the slow NIC and its own predictions, and the
 * number of pieces that it picks. */
#include "algorithms/r2ccl/time.h"
#include "r2ccl_setup.h"

/* The plain ring on the same cluster: ICCL. */
static double ring_s(uint32_t n, double ratio, uint64_t bytes, double alpha_s)
{
    set_scene(&other, "ring", n, 0, ratio, bytes, alpha_s);
    ct_scene_ready(&other);
    return ct_scene_replay(&other, NULL).elapsed_s;
}

/* T0 + (l-1) n (1 + 1/k) + (p-2) (1 - 1/l) n / k at alpha = 0. */
static double ideal_s(uint32_t p, double l, double n_s, double k)
{
    double t0 = 2.0 * (p - 1) / p * n_s;
    return t0 + (l - 1) * n_s * (1 + 1 / k) + (p - 2) * (1 - 1 / l) * n_s / k;
}

/* Even groups: the chain costs the ring nothing. 2^42 bytes: rounding stays below 1e-9. */
Test(r2ccl_times, time_is_the_formula_without_alpha)
{
    static const double ratios[] = {1.05, 1.3, 2, 3, 4, 20};
    const uint64_t      bytes    = 1ull << 42;
    double              n_s      = (double)bytes / RATE_BPS;

    for (uint32_t p = 3; p <= 40; p++) {
        for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
            const uint32_t pieces[] = {p, p + 1, 2 * (p + 1), 7 * (p + 1)};
            for (size_t j = 0; j < sizeof pieces / sizeof pieces[0]; j++) {
                set_scene(&scene, "r2ccl", p, p / 2, ratios[i], bytes, 0);
                set_pieces(pieces[j], R2CCL);
                double want_s = ideal_s(p, ratios[i], n_s, pieces[j]), got_s = elapsed_s();
                cr_assert(ct_is_close(got_s, want_s, 1e-8), "%s, l=%g, %u pieces: %.12g, not %.12g",
                          ct_scene_text(&scene), ratios[i], pieces[j], got_s, want_s);
            }
        }
    }
}

/* Any larger number of pieces is within 3 % of the formula, and never below it. */
Test(r2ccl_times, uneven_groups_cost_little)
{
    ct_rng         rng   = ct_rng_for(72);
    const uint64_t bytes = 1ull << 36;

    for (uint32_t p = 8; p <= 40; p++) {
        for (int i = 0; i < 8; i++) {
            double   l      = ct_uniform(&rng, 1.05, 4);
            uint32_t pieces = 2 * p + ct_below(&rng, 20 * p);
            set_scene(&scene, "r2ccl", p, 1, l, bytes, 0);
            set_pieces(pieces, R2CCL);
            double ratio = elapsed_s() / ideal_s(p, l, (double)bytes / RATE_BPS, pieces);
            cr_assert(ratio > 1 - 1e-6 && ratio < 1.03, "%s, l=%g, %u pieces: %g of the formula",
                      ct_scene_text(&scene), l, pieces, ratio);
        }
    }
}

Test(r2ccl_times, beats_the_ring_on_the_slow_nic)
{
    static const double alphas[] = {0, 1e-6};
    static const double ratios[] = {1.3, 2, 3.1, 4};

    for (uint32_t p = 8; p <= 64; p += 1 + p / 8) {
        for (size_t i = 0; i < 8; i++) {
            double l = ratios[i / 2], alpha_s = alphas[i % 2];
            set_scene(&scene, "r2ccl", p, 0, l, 1u << 28, alpha_s);
            double got_s = elapsed_s(), iccl_s = ring_s(p, l, 1u << 28, alpha_s);
            cr_assert_eq(resolved().chosen, R2CCL);
            cr_assert_lt(got_s, iccl_s, "%s, l=%g", ct_scene_text(&scene), l);
        }
    }
}

/* No number of pieces on a ladder, and not the ring either, is more than 2 % faster than `auto`. */
Test(r2ccl_times, auto_is_the_best_choice)
{
    ct_rng         rng   = ct_rng_for(73);
    const uint64_t bytes = 100000000;

    for (int i = 0; i < 60; i++) {
        uint32_t p = 3 + ct_below(&rng, 38);
        double   l = ct_uniform(&rng, 1.05, 4), alpha_s = pow(10, ct_uniform(&rng, -7, -2));
        double   best_s = ring_s(p, l, bytes, alpha_s);
        for (uint32_t k = 1; k <= 16 * p; k += 1 + k / 3) {
            set_scene(&scene, "r2ccl", p, 0, l, bytes, alpha_s);
            set_pieces(k, R2CCL);
            best_s = fmin(best_s, elapsed_s());
        }
        set_scene(&scene, "r2ccl", p, 0, l, bytes, alpha_s);
        double got_s = elapsed_s();
        cr_assert_leq(got_s, best_s * 1.02, "%s, l=%g, alpha=%g, %u pieces: %g times the best",
                      ct_scene_text(&scene), l, alpha_s, resolved().pieces, got_s / best_s);
    }
}

static double predicted_s(double l, double second, double chain_ratio)
{
    const cs_fabric *nic     = &scene.scenario.cluster.fabrics[CS_NIC];
    cs_r2ccl_setting setting = {
        scene.scenario.cluster.n_ranks, scene.scenario.bytes, l, second, chain_ratio, nic->alpha_s,
        1 / nic->bandwidth_Bps};

    return cs_r2ccl_predict_s(&setting, resolved().pieces);
}

Test(r2ccl_times, prediction_is_close_to_the_replay)
{
    ct_rng rng = ct_rng_for(75);

    for (int i = 0; i < 400; i++) {
        uint32_t p = 3 + ct_below(&rng, 38);
        double   l = ct_uniform(&rng, 1.05, 4), alpha_s = i % 4 * pow(10, ct_uniform(&rng, -5, 1));
        set_scene(&scene, "r2ccl", p, ct_below(&rng, p), l, 1ull << 36, alpha_s);
        set_pieces(i % 2 == 0 ? p + 1 : 1 + ct_below(&rng, 10 * p), R2CCL);
        double got_s = elapsed_s(), want_s = predicted_s(l, 1, p - 2);
        cr_assert(ct_is_close(got_s, want_s, i % 4 == 0 ? 1e-6 : 0.02),
                  "%s, l=%g, alpha=%g, %u pieces: %.12g, predicted %.12g", ct_scene_text(&scene), l,
                  alpha_s, resolved().pieces, got_s, want_s);
    }
}

Test(r2ccl_times, prediction_with_a_second_slow_nic)
{
    ct_rng rng = ct_rng_for(76);

    for (int i = 0; i < 200; i++) {
        uint32_t p = 5 + ct_below(&rng, 36);
        double   l = ct_uniform(&rng, 1.2, 4), second = ct_uniform(&rng, 1, l);
        set_scene(&scene, "r2ccl", p, 0, l, 1ull << 36, 0);
        scene.capacity[1] = (cs_capacity){2 + ct_below(&rng, p - 3), second, 0, (double)INFINITY};
        scene.scenario.n_capacity = 2;
        set_pieces(p + 1, R2CCL);
        double got_s = elapsed_s(), want_s = predicted_s(l, second, p - 4 + 2 * second);
        cr_assert(want_s > 0.88 * got_s && want_s < 1.03 * got_s,
                  "%s, l=%g and %g: %.12g, predicted %.12g", ct_scene_text(&scene), l, second,
                  got_s, want_s);
    }
}

Test(r2ccl_times, published_form_is_the_papers)
{
    set_scene(&scene, "r2ccl", 4, 3, 2, 4000000000, 1e-3);
    ct_scene_ready(&scene);
    cr_assert_null(scene.algorithm->closed_form_s);
    /* T0 = 6 s; 6 (1 + 4 / 6) = 10 s */
    cr_assert(
        ct_is_close(scene.algorithm->published_form_s(&scene.scenario, &scene.options), 10, 1e-14));
    scene.scenario.n_capacity = 0;
    cr_assert(
        ct_is_close(scene.algorithm->published_form_s(&scene.scenario, &scene.options), 6, 1e-14));
}

Test(r2ccl_times, published_form_is_for_one_constant_slow_nic)
{
    set_scene(&scene, "r2ccl", 4, 1, 2, 4000, 0);
    scene.capacity[1]         = (cs_capacity){3, 1.5, 0, (double)INFINITY};
    scene.scenario.n_capacity = 2;
    ct_scene_ready(&scene);
    cr_assert(isnan(scene.algorithm->published_form_s(&scene.scenario, &scene.options)));
    scene.scenario.n_capacity = 1;
    scene.capacity[0].until_s = 1;
    cr_assert(isnan(scene.algorithm->published_form_s(&scene.scenario, &scene.options)));
    scene.capacity[0].until_s = (double)INFINITY;
    scene.arrival_s[2]        = 1;
    scene.scenario.arrival_s  = scene.arrival_s;
    cr_assert(isnan(scene.algorithm->published_form_s(&scene.scenario, &scene.options)));
}
