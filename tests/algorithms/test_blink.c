/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blink: completeness, trees without a link in common, barriers, and the time of its stages. */
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>

static ct_scene scene;

static const cs_collective collectives[] = {CS_ALLREDUCE, CS_REDUCE, CS_BROADCAST};

static void set(cs_collective collective, uint32_t servers, uint32_t locals, uint64_t bytes,
                const char *inter, const char *chunk)
{
    ct_scene_set(&scene, "blink", collective, servers * locals, bytes);
    scene.scenario.cluster.gpus_per_server         = locals;
    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    ct_scene_option(&scene, "inter", inter);
    ct_scene_option(&scene, "chunk", chunk);
}

Test(blink, complete)
{
    for (uint32_t i = 0; i < 7 * 6 * 3 * 2 * 2; i++) {
        uint32_t n = 1 + i / 72, l = 1 + i / 12 % 6;
        if (n * l < 2) {
            continue;
        }
        set(collectives[i / 4 % 3], n, l, 123457, i % 2 == 0 ? "ring" : "tree",
            i / 2 % 2 == 0 ? "8388608" : "9000");
        scene.scenario.root = n * l - 1 - (n * l) / 3;
        ct_scene_ready(&scene);
        ct_stream stream = ct_scene_judged(&scene);
        ct_stream_free(&stream);
        cr_assert(ct_scene_replay(&scene, NULL).verified);
    }
}

/* Every link of the mesh carries a (k - 1)-th of the buffer at most, and nothing comes from the
 * leader in stage 1; the leader gets all of it. */
Test(blink, trees_have_no_link_in_common)
{
    for (uint32_t k = 2; k <= 8; k++) {
        uint64_t bytes       = 840 * 1000;
        uint64_t link[8][8]  = {{0}};
        uint32_t root        = k / 2;
        uint64_t at_the_root = 0;
        set(CS_REDUCE, 1, k, bytes, "ring", "5000");
        scene.scenario.root = root;
        ct_scene_ready(&scene);
        ct_stream stream = ct_scene_judged(&scene);
        for (size_t i = 0; i < stream.count; i++) {
            const cs_transfer *t = &stream.transfers[i];
            link[t->src][t->dst] += t->bytes;
            at_the_root += t->dst == root ? t->bytes : 0;
            cr_assert(t->src != root && t->bytes <= 5000);
        }
        for (uint32_t i = 0; i < k * k; i++) {
            uint32_t from = i / k, to = i % k;
            bool     is_link = from != to && from != root;
            uint64_t want    = is_link ? bytes / (k - 1) : 0; /* and a byte a chunk */
            cr_assert(link[from][to] >= want - want / 1000 && link[from][to] <= want + want / 1000,
                      "%u GPUs: %llu from %u to %u", k, (unsigned long long)link[from][to], from,
                      to);
        }
        cr_assert_eq(at_the_root, bytes);
        ct_stream_free(&stream);
    }
}

/* K chunks over two hops of k - 1 trees (one hop of one tree for k = 2), the leaders' ring, back.
 */
Test(blink, closed_form)
{
    for (uint32_t i = 0; i < 6 * 5 * 3; i++) {
        uint32_t n = 1 + i / 15, k = 2 + i / 3 % 5, chunks = 4;
        double   chunk = 60 * 4096, bytes = chunk * chunks * (k - 1);
        double   barrier_s = 1e-3;
        set(collectives[i % 3], n, k, (uint64_t)bytes, "ring", "245760");
        ct_scene_option(&scene, "barrier_s", "0.001");
        if (k == 2 && i % 2 == 0) {
            scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_SWITCHED;
        }
        ct_scene_ready(&scene);
        bool   both    = i % 3 == 0;
        double stage_s = (chunks + (k > 2 ? 1 : 0)) * ct_scene_message_s(&scene, CS_NVLINK, chunk);
        double want_s  = both ? 2 * stage_s + barrier_s : stage_s;
        if (n > 1 && both) {
            want_s += 2 * (n - 1) * ct_scene_message_s(&scene, CS_NIC, bytes / n) + barrier_s;
        }
        double got_s = ct_scene_replay(&scene, NULL).elapsed_s;
        if (n == 1 || both) {
            cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: %.17g, not %.17g",
                      ct_scene_text(&scene), got_s, want_s);
        }
        double form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        cr_assert(isnan(form_s) || ct_is_close(form_s, got_s, 1e-12));
        cr_assert(!isnan(form_s) || (uint64_t)bytes % scene.plan.n_chunks != 0 || !both);
    }
}

/* Nothing of a stage starts before everything of the stage in front has ended. */
Test(blink, stages_do_not_overlap)
{
    for (uint32_t i = 0; i < 6; i++) {
        set(collectives[i % 3], 4, 4, 3 << 22, i < 3 ? "ring" : "tree", "100000");
        scene.scenario.root = 5;
        ct_scene_ready(&scene);
        ct_stream stream = ct_stream_record(&scene, 512);
        ct_run    run    = ct_scene_observe(&scene);
        double    end_s = 0, ended_s = 0;
        uint32_t  fences = 0;
        for (size_t t = 0; t < stream.count; t++) {
            bool is_nic = cs_transfer_fabric(&stream.transfers[t]) == CS_NIC;
            if ((stream.transfers[t].flags & CS_FENCE) != 0) {
                ended_s = end_s;
                cr_assert_neq(is_nic, cs_transfer_fabric(&stream.transfers[t - 1]) == CS_NIC);
                fences++;
            }
            cr_assert_geq(run.intervals[t].start_s, ended_s);
            end_s = fmax(end_s, run.intervals[t].end_s);
        }
        cr_assert_eq(fences, i % 3 == 0 ? 2 : 1);
        ct_run_free(&run);
        ct_stream_free(&stream);
    }
}

/* Through a switch the trees carry the buffer once over every port: near x, not (k - 1) x. */
Test(blink, a_switch_is_used_well)
{
    set(CS_REDUCE, 1, 8, 7 << 24, "ring", "65536");
    scene.scenario.cluster.fabrics[CS_NVLINK].kind    = CS_SWITCHED;
    scene.scenario.cluster.fabrics[CS_NVLINK].alpha_s = 0;
    ct_scene_ready(&scene);
    double x_s = (double)(7 << 24) / 900e9, got_s = ct_scene_replay(&scene, NULL).elapsed_s;
    cr_assert(got_s >= x_s && got_s < 1.1 * x_s, "%g x", got_s / x_s);
}

Test(blink, refuses_more_chunks_than_slots)
{
    cs_error err = {0};

    set(CS_ALLREDUCE, 4, 4, (uint64_t)1 << 40, "ring", "1048576");
    cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
}
