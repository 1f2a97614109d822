/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chains along NCCL's rings: who sends to whom, completeness, and their time. */
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

static ct_scene scene;

static void set(cs_collective collective, uint32_t servers, uint32_t locals, uint64_t bytes,
                const char *channels, const char *chunks)
{
    ct_scene_set(&scene, "reduce_ring", collective, servers * locals, bytes);
    scene.scenario.cluster.gpus_per_server = locals;
    ct_scene_option(&scene, "channels", channels);
    ct_scene_option(&scene, "chunks", chunks);
}

/* For every root, in every order of the ring. */
Test(reduce_ring, complete)
{
    static const char *const chunks[] = {"1", "2", "7", "auto"};

    for (uint32_t i = 0; i < 6 * 4 * 2 * 4; i++) {
        uint32_t n = 1 + i / 32, l = 1 + i / 8 % 4;
        for (uint32_t root = 0; root < n * l && n * l > 1; root++) {
            set(i % 2 == 0 ? CS_REDUCE : CS_BROADCAST, n, l, 100000, "auto", chunks[i / 2 % 4]);
            scene.scenario.root = root;
            if (l % 2 == 0 && root % 2 == 1) {
                ct_scene_option(&scene, "order", "sockets");
            }
            ct_scene_ready(&scene);
            ct_stream stream = ct_scene_judged(&scene);
            cr_assert_eq(stream.count, (size_t)(n * l - 1) * scene.plan.n_chunks);
            ct_stream_free(&stream);
        }
    }
}

/* Three servers of two, root 3. Channel 0 goes 0 1 2 3 4 5, channel 1 goes 1 0 3 2 5 4: the chains
 * begin behind the root and end there; a Broadcast's begin there. */
Test(reduce_ring, chains_of_a_root)
{
    static uint32_t reduce[2][6]    = {{4, 5, 0, 1, 2, 3}, {2, 5, 4, 1, 0, 3}};
    static uint32_t broadcast[2][6] = {{3, 4, 5, 0, 1, 2}, {3, 2, 5, 4, 1, 0}};

    for (int way = 0; way < 2; way++) {
        uint32_t(*want)[6] = way == 0 ? reduce : broadcast;
        set(way == 0 ? CS_REDUCE : CS_BROADCAST, 3, 2, 1000, "2", "1");
        scene.scenario.root = 3;
        ct_scene_ready(&scene);
        ct_stream stream = ct_stream_record(&scene, 64);
        cr_assert_eq(stream.count, 10);
        for (size_t i = 0; i < stream.count; i++) {
            const cs_transfer *t = &stream.transfers[i];
            cr_assert_eq(t->src, want[t->chunk][t->round]);
            cr_assert_eq(t->dst, want[t->chunk][t->round + 1]);
        }
        ct_stream_free(&stream);
    }
}

/* K chunks over n - 1 hops: (n - 2 + K) messages one behind the other, whatever their sizes. */
Test(reduce_ring, closed_form_of_one_chain)
{
    for (uint32_t i = 0; i < 2 * 30 * 5; i++) {
        uint32_t n = 2 + i / 2 % 30, chunks = 1 + 6 * (i / 60);
        uint64_t bytes = i % 3 == 0 ? 4096 * (uint64_t)chunks : 12345677;
        char     text[12];
        snprintf(text, sizeof text, "%u", chunks);
        set(i % 2 == 0 ? CS_REDUCE : CS_BROADCAST, n, 1, bytes, "1", text);
        ct_scene_ready(&scene);
        double largest = (double)((bytes + chunks - 1) / chunks);
        double want_s  = chunks * 3e-6 + (double)bytes / 450e9 +
                        (n - 2) * ct_scene_message_s(&scene, CS_NIC, largest);
        double form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        double got_s  = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: %g, not %g", ct_scene_text(&scene), got_s,
                  want_s);
        cr_assert(ct_is_close(form_s, want_s, 1e-12));
    }
}

/* Servers that differ, a slow NIC for ever, late ranks, NVLink of both kinds: the form still says
 * what a replay does. */
Test(reduce_ring, closed_form_of_unequal_hops)
{
    ct_rng rng = ct_rng_for(1);

    for (uint32_t i = 0; i < 400; i++) {
        uint32_t l = 1 + ct_below(&rng, 5), n = (l == 1 ? 2 : 1) + ct_below(&rng, 6);
        char     chunks[12];
        snprintf(chunks, sizeof chunks, "%u", 1 + ct_below(&rng, 9));
        set(i % 2 == 0 ? CS_REDUCE : CS_BROADCAST, n, l, 2520 * (1 + ct_below(&rng, 100000)), "1",
            chunks);
        scene.scenario.root                            = ct_below(&rng, n * l);
        scene.scenario.cluster.fabrics[CS_NVLINK].kind = i % 3 == 0 ? CS_DIRECT : CS_SWITCHED;
        scene.scenario.cluster.fabrics[CS_NIC].alpha_s = ct_uniform(&rng, 0, 1e-5);
        ct_scene_vary_servers(&scene, &rng);
        if (n > 1 && ct_below(&rng, 2) == 0) {
            scene.capacity[0] =
                (cs_capacity){ct_below(&rng, n * l), 3.5, 0, (double)INFINITY, false};
            scene.scenario.capacity   = scene.capacity;
            scene.scenario.n_capacity = 1;
        }
        if (n * l > 1 && ct_below(&rng, 2) == 0) {
            ct_scene_arrive(&scene, &rng, ct_scene_late_s(&scene, &rng));
        }
        if (n * l < 2) {
            continue;
        }
        ct_scene_ready(&scene);
        double form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        double got_s  = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(ct_is_close(got_s, form_s, 1e-12), "%s: %.17g, closed form %.17g",
                  ct_scene_text(&scene), got_s, form_s);
    }
}

/* auto is at most a little slower than the best power of two. */
Test(reduce_ring, auto_chunks_are_near_the_best)
{
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t n = 2 + 7 * (i / 2 % 4), l = i % 2 == 0 ? 1 : 4;
        uint64_t bytes = (uint64_t)1 << (14 + 7 * (i / 8));
        double   best  = HUGE_VAL;
        for (uint32_t chunks = 1; chunks <= 1024; chunks *= 2) {
            char text[12];
            snprintf(text, sizeof text, "%u", chunks);
            set(CS_REDUCE, n, l, bytes, "1", text);
            ct_scene_ready(&scene);
            best = fmin(best, ct_scene_replay(&scene, NULL).elapsed_s);
        }
        set(CS_REDUCE, n, l, bytes, "1", "auto");
        ct_scene_ready(&scene);
        double got = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert_leq(got, 1.1 * best, "%s: %g s, best %g s", ct_scene_text(&scene), got, best);
    }
}

/* With a channel for each GPU all NICs work. */
Test(reduce_ring, channels_use_all_nics)
{
    double one_s = 0, all_s = 0;

    set(CS_REDUCE, 4, 4, 1 << 28, "1", "512");
    ct_scene_ready(&scene);
    one_s = ct_scene_replay(&scene, NULL).elapsed_s;
    set(CS_REDUCE, 4, 4, 1 << 28, "auto", "128");
    scene.scenario.cluster.fabrics[CS_NVLINK].bandwidth_Bps = 100 * 450e9;
    ct_scene_ready(&scene);
    all_s = ct_scene_replay(&scene, NULL).elapsed_s;
    cr_assert_eq(scene.plan.n_chunks, 512);
    cr_assert_gt(one_s, 3 * all_s);
}

Test(reduce_ring, refuses_more_rings_than_nics)
{
    cs_error err = {0};

    set(CS_REDUCE, 4, 2, 4096, "3", "1");
    cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
    cr_assert_str_eq(err.where, "algorithm.options.channels");
}
