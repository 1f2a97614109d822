/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR with the paper's own generators and with nobody late: every schedule judged
 * contribution by contribution, times against formulas, and what is refused. */
#include "algorithms/lemon/matching.h"
#include "base/alloc.h"
#include "stragglar_late_setup.h"

#include <math.h>

Test(variants, paper_takes_what_the_rotation_takes)
{
    ct_rng rng = ct_rng_for(80);

    for (uint32_t n = 2; n <= 128; n *= 2) {
        begin(n, 4096u * (n - 1));
        ct_scene_arrive(&scene, &rng, 1e-4);
        set("variant", "paper");
        double got_s = run().elapsed_s;
        cr_assert_eq(scene.plan.n_rounds, n - 2 + n - 2 + log2_of(n));
        cr_assert(ct_is_close(got_s, closed_form_s(), 1e-12), "n=%u", n);
        cs_fields_default(scene.algorithm->options, &scene.options);
        cr_assert(ct_is_close(run().elapsed_s, got_s, 1e-12), "n=%u", n);
    }
}

Test(variants, paper_for_a_thousand_ranks)
{
    begin(1024, 1023u * 512);
    set("variant", "paper");
    ct_scene_ready(&scene);
    cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, closed_form_s(), 1e-12));
}

Test(variants, matching_of_every_even_number)
{
    ct_rng rng = ct_rng_for(81);

    if (!cs_matching_is_here()) {
        cr_skip_test("built without LEMON");
    }
    for (uint32_t n = 2; n <= 48; n += 2) {
        begin(n, 4096u * (n - 1));
        ct_scene_arrive(&scene, &rng, 1e-4);
        set("variant", "matching");
        set("ties", n % 4 == 0 ? "published" : "newest");
        double got_s = run().elapsed_s;
        cr_assert_geq(scene.plan.n_rounds, n - 2 + n - 2 + log2_of(n));
        cr_assert(ct_is_close(got_s, closed_form_s(), 1e-12), "n=%u: %g, not %g", n, got_s,
                  closed_form_s());
    }
}

/* The published round counts, in the result. */
Test(variants, matching_shows_the_published_rounds)
{
    static const uint32_t published[][2] = {{6, 7}, {12, 15}, {24, 27}, {48, 57}, {96, 108}};

    if (!cs_matching_is_here()) {
        cr_skip_test("built without LEMON");
    }
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        uint32_t n = published[i][0];
        begin(n, 1u << 20);
        set("variant", "matching");
        ct_scene_ready(&scene);
        cr_assert_eq(scene.plan.n_rounds - (n - 2), published[i][1]);
    }
}

/* Nobody is late: the baseline itself runs. */
Test(variants, none_is_the_baseline)
{
    static const char *const baselines[] = {"circulant", "latency_optimal", "merged_rhd", "ring"};

    for (size_t i = 0; i < 4; i++) {
        for (uint32_t n = 4; n <= 12; n += 4) {
            ct_scene_set(&scene, baselines[i], CS_ALLREDUCE, n, 1u << 20);
            double want_s = run().elapsed_s, form_s = closed_form_s();
            begin(n, 1u << 20);
            set("late_ranks", "0");
            set("baseline", baselines[i]);
            cr_assert_eq(run().elapsed_s, want_s);
            cr_assert(form_s == closed_form_s() || (isnan(form_s) && isnan(closed_form_s())));
        }
    }
}

/* What check() has resolved resolves to itself. */
Test(variants, resolved_options_stay)
{
    ct_rng rng = ct_rng_for(84);

    for (uint32_t i = 0; i < 40; i++) {
        begin(3 + ct_below(&rng, 12), 1u << 24);
        ct_scene_arrive(&scene, &rng, ct_uniform(&rng, 1e-5, 1e-3));
        set("late_ranks", "auto");
        ct_scene_ready(&scene);
        cs_options first  = scene.options;
        uint32_t   rounds = scene.plan.n_rounds;
        ct_scene_ready(&scene);
        cr_assert_eq(memcmp(&first, &scene.options, scene.algorithm->options_bytes), 0);
        cr_assert_eq(rounds, scene.plan.n_rounds);
    }
}

static void refused(uint32_t n, const char *key, const char *value, const char *key2,
                    const char *value2, const char *text)
{
    cs_error err = {0};

    begin(n, 4096);
    set(key, value);
    if (key2 != NULL) {
        set(key2, value2);
    }
    cs_status status = ct_scene_check(&scene, &err);
    cr_assert(status == CS_ENOTSUP || status == CS_EINVAL, "%s=%s", key, value);
    cr_assert_not_null(strstr(err.message, text), "%s", err.message);
}

Test(variants, what_is_refused_says_why)
{
    refused(12, "variant", "paper", NULL, NULL, "power of two, got 12");
    refused(8, "variant", "paper", "chunks", "20", "n - 1 = 7 chunks, not 20");
    refused(7, "variant", "matching", NULL, NULL, "even number of at most 512 ranks, got 7");
    refused(514, "variant", "matching", NULL, NULL, "got 514");
    refused(8, "late_ranks", "8", NULL, NULL, "8 late ranks of 8; accepted are 0 .. 7 and auto");
    refused(8, "late_ranks", "2", "chunks", "20", "multiples of 6");
    refused(8, "late_ranks", "2", "chunks", "65538", "at most 65535 are accepted");
    refused(8, "late_ranks", "2", "straggler", "3", "a straggler");
    refused(8, "late_ranks", "2", "variant", "paper", "a variant");
    refused(8, "late_ranks", "auto", "model", "telephone", "telephone");
    refused(8, "late_ranks", "3", "entry_barrier_s", "1e-6", "barriers");
    refused(1500, "late_ranks", "2", NULL, NULL, "at most 1024 ranks, got 1500");
    refused(7, "late_ranks", "0", "baseline", "merged_rhd", "even number");
    if (!cs_matching_is_here()) {
        refused(8, "variant", "matching", NULL, NULL, "liblemon-dev");
    }
}

/* Whichever allocation fails, in check() or open(). */
Test(variants, every_allocation_may_fail)
{
    static const char *const cases[][2] = {{"variant", "paper"},
                                           {"variant", "matching"},
                                           {"late_ranks", "3"},
                                           {"late_ranks", "auto"},
                                           {"late_ranks", "0"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_status status = CS_ENOMEM;
        long      failed = 0;
        if (i == 1 && !cs_matching_is_here()) {
            continue;
        }
        for (; status != CS_OK; failed++) {
            void    *state = NULL;
            cs_error err   = {0};
            begin(8, 1u << 26);
            arrive(3, 1.5 * x_s());
            set(cases[i][0], cases[i][1]);
            cs_alloc_fail_after(failed);
            status = ct_scene_check(&scene, &err);
            if (status == CS_OK) {
                status = scene.algorithm->open(&scene.scenario, &scene.options, &state, &err);
            }
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || (status == CS_ENOMEM && err.status == CS_ENOMEM),
                      "%s=%s, allocation %ld: %s", cases[i][0], cases[i][1], failed, err.message);
            scene.algorithm->close(state);
        }
        cr_assert_geq(failed, 2);
    }
}
