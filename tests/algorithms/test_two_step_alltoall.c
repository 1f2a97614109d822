/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AlltoAll in one step (allpairs) and in two: completeness, messages, and their time. */
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>

static ct_scene scene;

static const char *const gathers[] = {"all", "server"};

static void set(const char *algorithm, uint32_t servers, uint32_t locals, uint64_t bytes)
{
    ct_scene_set(&scene, algorithm, CS_ALLTOALL, servers * locals, bytes);
    scene.scenario.cluster.gpus_per_server = locals;
}

/* Also of more blocks than a message has parts. */
Test(two_step_alltoall, complete)
{
    for (uint32_t i = 0; i < 7 * 7 + 2; i++) {
        uint32_t n = i < 49    ? 1 + i / 7
                     : i == 49 ? 70
                               : 1,
                 l = i < 49    ? 1 + i % 7
                     : i == 49 ? 2
                               : 70;
        if (n * l < 2) {
            continue;
        }
        ct_stream stream;
        for (int way = 0; way < 2; way++) {
            set("two_step_alltoall", n, l, 12345);
            ct_scene_option(&scene, "gather", gathers[way]);
            ct_scene_ready(&scene);
            stream = ct_scene_judged(&scene);
            cr_assert_eq(stream.transfers[stream.count - 1].round + 1, scene.plan.n_rounds);
            ct_stream_free(&stream);
        }
        set("allpairs", n, l, 12345);
        ct_scene_ready(&scene);
        stream = ct_scene_judged(&scene);
        cr_assert_eq(stream.count, (size_t)n * l * (n * l - 1));
        ct_stream_free(&stream);
    }
}

/* A rank sends L - 1 messages in its server and N - 1 to others, all on its rail. */
Test(two_step_alltoall, messages_keep_to_the_rail)
{
    enum { N = 5, L = 3 };
    uint32_t inside = 0, outside = 0;
    uint64_t nic_bytes = 0;

    set("two_step_alltoall", N, L, N * L * 100);
    ct_scene_ready(&scene);
    ct_stream stream = ct_scene_judged(&scene);
    for (size_t i = 0; i < stream.count; i++) {
        const cs_transfer *t       = &stream.transfers[i];
        bool               is_nic  = cs_transfer_fabric(t) == CS_NIC;
        bool               is_head = (t->flags & CS_JOIN) == 0;
        inside += is_head && !is_nic;
        outside += is_head && is_nic;
        nic_bytes += is_nic ? t->bytes : 0;
        cr_assert(!is_nic || t->src % L == t->dst % L);
    }
    cr_assert_eq(inside, N * L * (L - 1));
    cr_assert_eq(outside, N * L * (N - 1));
    cr_assert_eq(nic_bytes, N * L * (N - 1) * L * 100);
    ct_stream_free(&stream);
}

/* L - 1 messages of N blocks (at once in a mesh), then N - 1 of L blocks. */
Test(two_step_alltoall, closed_form)
{
    for (uint32_t i = 0; i < 6 * 5 * 2; i++) {
        uint32_t n = 1 + i / 10, l = 1 + i / 2 % 5, serial = i % 2 == 0 ? l - 1 : l > 1;
        double   block = 4096;
        if (n * l < 2) {
            continue;
        }
        set("two_step_alltoall", n, l, (uint64_t)block * n * l);
        scene.scenario.cluster.fabrics[CS_NVLINK].kind = i % 2 == 0 ? CS_SWITCHED : CS_DIRECT;
        ct_scene_ready(&scene);
        double want_s = serial * ct_scene_message_s(&scene, CS_NVLINK, n * block) +
                        (n - 1) * ct_scene_message_s(&scene, CS_NIC, l * block);
        double form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        double got_s  = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(ct_is_close(form_s, want_s, 1e-12));
        cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: %.17g, not %.17g", ct_scene_text(&scene),
                  got_s, want_s);
    }
}

/* As NCCL's PXN: the blocks for a server are gathered while those for another are on the rails. */
Test(two_step_alltoall, closed_form_by_server)
{
    for (uint32_t i = 0; i < 6 * 5 * 2 * 3; i++) {
        uint32_t n = 1 + i / 10 % 6, l = 1 + i / 2 % 5;
        uint32_t serial = i % 2 == 0 ? l - 1 : l > 1, slow = i / 60;
        double   block = 4096;
        if (n * l < 2) {
            continue;
        }
        set("two_step_alltoall", n, l, (uint64_t)block * n * l);
        ct_scene_option(&scene, "gather", "server");
        scene.scenario.cluster.fabrics[CS_NVLINK].kind = i % 2 == 0 ? CS_SWITCHED : CS_DIRECT;
        scene.scenario.cluster.fabrics[CS_NVLINK].bandwidth_Bps /= slow == 0 ? 1 : 30 * slow;
        ct_scene_ready(&scene);
        double inside_s = serial * ct_scene_message_s(&scene, CS_NVLINK, block);
        double rails_s  = ct_scene_message_s(&scene, CS_NIC, l * block);
        double want_s   = n * inside_s; /* the port inside never rests */
        if (n > 1) {
            want_s = fmax(want_s, inside_s + (n - 1) * rails_s);
            want_s = fmax(want_s, (n - 1) * inside_s + rails_s);
        }
        double form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        double got_s  = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(ct_is_close(form_s, want_s, 1e-12));
        cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: %.17g, not %.17g", ct_scene_text(&scene),
                  got_s, want_s);
    }
}

/* One group: alpha once, n - 1 blocks. */
Test(two_step_alltoall, grouped_sends_pay_alpha_once)
{
    for (uint32_t n = 2; n <= 40; n++) {
        set("allpairs", n, 1, 4096u * n);
        ct_scene_ready(&scene);
        double want_s = ct_scene_message_s(&scene, CS_NIC, 4096.0 * (n - 1));
        cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, want_s, 1e-12));
        cr_assert(
            ct_is_close(scene.algorithm->closed_form_s(&scene.scenario, NULL), want_s, 1e-12));
    }
}

Test(two_step_alltoall, refuses_too_many_blocks)
{
    static const char *const names[] = {"two_step_alltoall", "allpairs"};

    for (int i = 0; i < 2; i++) {
        cs_error   err  = {0};
        cs_options none = {0};
        cs_plan    plan = {0};
        set(names[i], 2, 1, 4096);
        scene.scenario.cluster.n_ranks = 8193;
        cr_assert_eq(cs_algorithm_check(scene.algorithm, &scene.scenario, &none, &plan, &err),
                     CS_ENOTSUP);
        cr_assert_str_eq(err.where, "cluster.ranks");
    }
}
