/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical AllReduce: completeness, its closed form, what segments hide. */
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <stdio.h>

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

/* `chunk` bytes over a rail at most, stages apart: as many segments as that needs, everything one
 * after the other. */
Test(hierarchical, stages_apart)
{
    static const char *const chunks[] = {"0", "1000", "4096", "100000"};

    for (uint32_t i = 0; i < 6 * 5 * 4 * 2; i++) {
        uint32_t n = 1 + i / 40, l = 1 + i / 8 % 5, kind = i % 2;
        double   chunk = i / 2 % 4 == 1 ? 960 : 3840, bytes = chunk * 4 * n * l;
        if (n * l < 2) {
            continue;
        }
        set(n, l, (uint64_t)bytes, "1");
        scene.scenario.cluster.fabrics[CS_NVLINK].kind = kind == 0 ? CS_DIRECT : CS_SWITCHED;
        ct_scene_option(&scene, "stages", "apart");
        ct_scene_option(&scene, "barrier_s", "0.001");
        ct_scene_option(&scene, "chunk", chunks[i / 2 % 4]);
        ct_scene_ready(&scene);
        ct_stream stream   = ct_scene_judged(&scene);
        double    segments = i / 2 % 4 == 0 || i / 2 % 4 == 3 ? 1 : 4;
        double    part     = bytes / segments;
        cr_assert_eq(scene.plan.n_chunks, (uint32_t)segments * n * l);
        double want = (l > 1 && n > 1 ? 2 : l > 1 ? 1 : 0) * 0.001;
        want += l == 1 ? 0
                       : segments * 2 * (kind == 0 ? 1 : l - 1) *
                             ct_scene_message_s(&scene, CS_NVLINK, part / l);
        want += segments * 2 * (n - 1) * ct_scene_message_s(&scene, CS_NIC, part / (n * l));
        double form = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        cr_assert(ct_is_close(form, want, 1e-12), "%g, not %g", form, want);
        cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, want, 1e-12), "%s",
                  ct_scene_text(&scene));
        for (size_t t = 0; t < stream.count; t++) {
            cr_assert(cs_transfer_fabric(&stream.transfers[t]) != CS_NIC || segments < 2 ||
                      stream.transfers[t].bytes <= (i / 2 % 4 == 1 ? 1000 : 4096));
        }
        ct_stream_free(&stream);
    }
}

Test(hierarchical, refuses_too_small_chunks)
{
    cs_error err = {0};

    set(2, 2, (uint64_t)1 << 30, "1");
    ct_scene_option(&scene, "chunk", "1000");
    cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
    cr_assert_str_eq(err.where, "algorithm.options.chunk");
}

/* ---- Broadcast and Reduce ---- */

static void set_rooted(cs_collective collective, uint32_t servers, uint32_t locals, uint32_t root,
                       uint64_t bytes, const char *segments, const char *stages)
{
    ct_scene_set(&scene, "hierarchical", collective, servers * locals, bytes);
    scene.scenario.cluster.gpus_per_server = locals;
    scene.scenario.root                    = root;
    ct_scene_option(&scene, "segments", segments);
    ct_scene_option(&scene, "stages", stages);
    ct_scene_ready(&scene);
}

/* Everybody but the root receives, or sends, everything once. */
Test(hierarchical, complete_with_a_root)
{
    static const char *const segments[] = {"1", "2", "5", "auto"};

    for (uint32_t i = 0; i < 7 * 6 * 4 * 2 * 2; i++) {
        uint32_t      n = 1 + i / 96, l = 1 + i / 16 % 6;
        cs_collective collective = i % 2 == 0 ? CS_BROADCAST : CS_REDUCE;
        if (n * l < 2) {
            continue;
        }
        set_rooted(collective, n, l, i / 3 % (n * l), 123457, segments[i / 4 % 4],
                   i / 2 % 2 == 0 ? "overlap" : "apart");
        ct_stream stream = ct_scene_judged(&scene);
        uint64_t  bytes  = 0;
        for (size_t k = 0; k < stream.count; k++) {
            bytes += stream.transfers[k].bytes;
        }
        cr_assert_eq(stream.transfers[stream.count - 1].round + 1, scene.plan.n_rounds);
        ct_stream_free(&stream);
        if (collective == CS_BROADCAST) {
            cr_assert_eq(bytes, 123457ull * (n * l - 1), "%s", ct_scene_text(&scene));
        }
        cr_assert(ct_scene_replay(&scene, NULL).verified);
    }
}

/* L - 1 messages inside (one in a mesh), a chain of K segments, L - 1 inside. */
Test(hierarchical, closed_form_with_a_root)
{
    for (uint32_t i = 0; i < 6 * 5 * 2 * 2 * 2; i++) {
        uint32_t n = 1 + i / 40, l = 1 + i / 8 % 5, k = i / 4 % 2 == 0 ? 1 : 4;
        double   bytes = 4096.0 * 60 * n * l;
        if (n * l < 2) {
            continue;
        }
        set_rooted(i % 2 == 0 ? CS_BROADCAST : CS_REDUCE, n, l, (n * l) / 2, (uint64_t)bytes,
                   k == 1 ? "1" : "4", k == 1 ? "overlap" : "apart");
        scene.scenario.cluster.fabrics[CS_NVLINK].kind = i / 2 % 2 == 0 ? CS_DIRECT : CS_SWITCHED;
        uint32_t serial                                = l == 1 ? 0 : i / 2 % 2 == 0 ? 1 : l - 1;
        double   want_s = 2 * k * serial * ct_scene_message_s(&scene, CS_NVLINK, bytes / l / k);
        want_s += n == 1 ? 0 : (n + k - 2) * ct_scene_message_s(&scene, CS_NIC, bytes / l / k);
        double form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        double got_s  = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(ct_is_close(form_s, want_s, 1e-12), "%s", ct_scene_text(&scene));
        cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: %.17g, not %.17g", ct_scene_text(&scene),
                  got_s, want_s);
    }
}

/* All NICs share the buffer: for large ones 16 servers of 8 GPUs take little more than an eighth of
 * what one NIC takes, of which NVLink's start-up times are the larger part; auto is near the best
 * number of segments. */
Test(hierarchical, all_nics_share_a_broadcast)
{
    double best_s = 1e9, bytes = 1 << 30;

    for (uint32_t k = 1; k <= 1024; k *= 2) {
        char text[12];
        snprintf(text, sizeof text, "%u", k);
        set_rooted(CS_BROADCAST, 16, 8, 11, (uint64_t)bytes, text, "overlap");
        scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps = 50e9;
        double end_s = ct_scene_replay(&scene, NULL).elapsed_s;
        best_s       = end_s < best_s ? end_s : best_s;
    }
    set_rooted(CS_BROADCAST, 16, 8, 11, (uint64_t)bytes, "auto", "overlap");
    scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps = 50e9;
    ct_scene_option(&scene, "segments", "auto");
    ct_scene_ready(&scene);
    cr_assert_lt(ct_scene_replay(&scene, NULL).elapsed_s, 1.15 * best_s);
    cr_assert_lt(best_s, 1.4 * bytes / 8 / 50e9);
}

/* ---- AllGather and ReduceScatter ---- */

static void set_half(cs_collective collective, uint32_t servers, uint32_t locals, uint64_t bytes,
                     const char *segments, const char *stages)
{
    ct_scene_set(&scene, "hierarchical", collective, servers * locals, bytes);
    scene.scenario.cluster.gpus_per_server = locals;
    ct_scene_option(&scene, "segments", segments);
    ct_scene_option(&scene, "stages", stages);
    ct_scene_ready(&scene);
}

/* Also of more servers than a message has parts. */
Test(hierarchical, halves_are_complete)
{
    static const char *const segments[] = {"1", "2", "5"};

    for (uint32_t i = 0; i < 7 * 6 * 3 * 2 * 2 + 2; i++) {
        bool          is_large = i >= 504;
        uint32_t      n = is_large ? 70 : 1 + i / 72, l = is_large ? 2 : 1 + i / 12 % 6;
        cs_collective collective = i % 2 == 0 ? CS_ALLGATHER : CS_REDUCESCATTER;
        if (n * l < 2) {
            continue;
        }
        set_half(collective, n, l, 123457, segments[i / 4 % 3],
                 i / 2 % 2 == 0 ? "overlap" : "apart");
        ct_stream stream = ct_scene_judged(&scene);
        cr_assert_eq(stream.transfers[stream.count - 1].round + 1, scene.plan.n_rounds, "%s",
                     ct_scene_text(&scene));
        ct_stream_free(&stream);
        cr_assert(ct_scene_replay(&scene, NULL).verified);
    }
}

/* A ring over the rails, and L - 1 messages of N blocks inside, one in a mesh; K times one after
 * the other where stages are apart. */
Test(hierarchical, halves_have_a_closed_form)
{
    for (uint32_t i = 0; i < 6 * 5 * 2 * 2 * 2 + 4; i++) {
        bool     is_large = i >= 240;
        uint32_t n = is_large ? 70 : 1 + i / 40, l = is_large ? 2 : 1 + i / 8 % 5;
        uint32_t k = i / 4 % 2 == 0 ? 1 : 4, serial = l == 1 ? 0 : i / 2 % 2 == 0 ? 1 : l - 1;
        double   block = 4096;
        if (n * l < 2) {
            continue;
        }
        set_half(i % 2 == 0 ? CS_ALLGATHER : CS_REDUCESCATTER, n, l, (uint64_t)(block * n * l * k),
                 k == 1 ? "1" : "4", k == 1 ? "overlap" : "apart");
        scene.scenario.cluster.fabrics[CS_NVLINK].kind = i / 2 % 2 == 0 ? CS_DIRECT : CS_SWITCHED;
        double inside_s =
            serial * (ct_scene_message_s(&scene, CS_NVLINK, block * n) + (is_large ? 1e-6 : 0));
        double want_s = k * (inside_s + (n - 1) * ct_scene_message_s(&scene, CS_NIC, block));
        double form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        double got_s  = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(ct_is_close(form_s, want_s, 1e-12), "%s", ct_scene_text(&scene));
        cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: %.17g, not %.17g", ct_scene_text(&scene),
                  got_s, want_s);
    }
}
