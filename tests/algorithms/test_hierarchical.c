/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical AllReduce: completeness, its closed form, what segments hide. */
#include "support/oracle.h"

#include <criterion/criterion.h>

static ct_scene scene;

static void set(uint32_t servers, uint32_t locals, uint64_t bytes, const char *segments)
{
    ct_scene_set(&scene, "hierarchical", CS_ALLREDUCE, servers * locals, bytes);
    scene.scenario.cluster.gpus_per_server = locals;
    ct_scene_option(&scene, "segments", segments);
    ct_scene_ready(&scene);
}

Test(hierarchical, complete)
{
    static const char *const segments[] = {"1", "2", "5"};

    for (uint32_t i = 0; i < 8 * 6 * 3; i++) {
        uint32_t n = 1 + i / 18, l = 1 + i / 3 % 6;
        if (n * l < 2) {
            continue;
        }
        set(n, l, 12345, segments[i % 3]);
        ct_stream stream = ct_scene_judged(&scene);
        ct_stream_free(&stream);
        cr_assert(ct_scene_replay(&scene, NULL).verified);
    }
}

Test(hierarchical, closed_form)
{
    for (uint32_t i = 0; i < 7 * 5 * 2; i++) {
        uint32_t n = 1 + i / 10, l = 1 + i / 2 % 5;
        if (n * l < 2) {
            continue;
        }
        double bytes = 4096.0 * 60 * n * l;
        set(n, l, (uint64_t)bytes, "1");
        scene.scenario.cluster.fabrics[CS_NVLINK].kind = i % 2 == 0 ? CS_DIRECT : CS_SWITCHED;
        double want                                    = 0;
        want += l == 1 ? 0
                       : 2 * (i % 2 == 0 ? 1 : l - 1) *
                             ct_scene_message_s(&scene, CS_NVLINK, bytes / l);
        want += 2 * (n - 1) * ct_scene_message_s(&scene, CS_NIC, bytes / (n * l));
        double form = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        cr_assert(ct_is_close(form, want, 1e-12));
        cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, want, 1e-12), "%s",
                  ct_scene_text(&scene));
    }
}

/* Without alpha, what is inside the servers is hidden behind the rails but for a segment. */
Test(hierarchical, segments_overlap_the_stages)
{
    double whole[2];

    for (int i = 0; i < 2; i++) {
        set(8, 4, 1 << 26, i == 0 ? "1" : "16");
        scene.scenario.cluster.fabrics[CS_NIC].alpha_s    = 0;
        scene.scenario.cluster.fabrics[CS_NVLINK].alpha_s = 0;
        whole[i]                                          = ct_scene_replay(&scene, NULL).elapsed_s;
    }
    double rails_s = 2.0 * 7 / 32 * (1 << 26) / 450e9, inside_s = 2.0 * 3 / 4 * (1 << 26) / 900e9;
    cr_assert(ct_is_close(whole[0], rails_s + inside_s, 1e-9));
    cr_assert_lt(whole[1], (inside_s > rails_s ? inside_s : rails_s) * 1.15);
}
