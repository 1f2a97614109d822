/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A binomial tree for a Broadcast and a Reduce: completeness, whom it reaches, and its time. */
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

static ct_scene scene;

static void set(cs_collective collective, uint32_t servers, uint32_t locals, uint32_t root,
                uint32_t radix)
{
    char text[12];

    snprintf(text, sizeof text, "%u", radix);
    ct_scene_set(&scene, "binomial", collective, servers * locals, 1 << 20);
    scene.scenario.cluster.gpus_per_server = locals;
    scene.scenario.root                    = root;
    ct_scene_option(&scene, "radix", text);
    ct_scene_ready(&scene);
}

Test(binomial, complete)
{
    for (uint32_t i = 0; i < 70 * 4 * 2; i++) {
        uint32_t n = 2 + i / 8, radix = 2 + i / 2 % 4;
        set(i % 2 == 0 ? CS_BROADCAST : CS_REDUCE, n, 1, i % n, radix);
        ct_stream stream = ct_scene_judged(&scene);
        cr_assert_eq(stream.count, n - 1);
        cr_assert_eq(stream.transfers[stream.count - 1].round + 1, scene.plan.n_rounds);
        ct_stream_free(&stream);
    }
}

/* ceil(log2 n) messages one behind the other, from the root to all and back. */
Test(binomial, takes_log2_messages)
{
    for (uint32_t i = 0; i < 140 * 2; i++) {
        uint32_t n = 2 + i / 2, log = 32u - (uint32_t)__builtin_clz(n - 1);
        set(i % 2 == 0 ? CS_BROADCAST : CS_REDUCE, n, 1, n / 2, 2);
        double want_s = log * ct_scene_message_s(&scene, CS_NIC, 1 << 20);
        cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, want_s, 1e-12), "%u", n);
        cr_assert(ct_is_close(scene.algorithm->closed_form_s(&scene.scenario, &scene.options),
                              want_s, 1e-12));
    }
}

Test(binomial, closed_form_of_any_radix_and_servers)
{
    uint32_t n_forms = 0;

    for (uint32_t i = 0; i < 20 * 5 * 5 * 2 * 2; i++) {
        uint32_t n = 1 + i / 100, l = 1 + i / 20 % 5, radix = 2 + i / 4 % 5;
        if (n * l < 2) {
            continue;
        }
        set(i % 2 == 0 ? CS_BROADCAST : CS_REDUCE, n, l, n / 2 * l, radix);
        scene.scenario.cluster.fabrics[CS_NVLINK].kind = i / 2 % 2 == 0 ? CS_SWITCHED : CS_DIRECT;
        double form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        double got_s  = ct_scene_replay(&scene, NULL).elapsed_s;
        n_forms += isnan(form_s) ? 0 : 1;
        cr_assert(isnan(form_s) || ct_is_close(form_s, got_s, 1e-12),
                  "%s radix %u: %.17g, not %.17g", ct_scene_text(&scene), radix, form_s, got_s);
    }
    cr_assert_gt(n_forms, 800);
}
