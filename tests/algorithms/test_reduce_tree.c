/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One tree from a root, and the shape of NCCL's trees: against NCCL's own formulas. */
#include "algorithms/double_binary_tree/trees.h"
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

static ct_scene scene;

/* NCCL's parent in a tree of n: the lowest bit b that is set goes, the one above it comes, unless
 * that is beyond the last rank. */
static uint32_t nccl_parent(uint32_t r, uint32_t n)
{
    if (r == 0) {
        return n;
    }
    uint32_t bit = 1;
    while ((r & bit) == 0) {
        bit *= 2;
    }
    uint32_t up = (r ^ bit) | bit * 2;
    return up >= n ? r ^ bit : up;
}

/* And in the second tree: mirrored for an even n, shifted by one for an odd one. */
static uint32_t nccl_second_parent(uint32_t r, uint32_t n)
{
    uint32_t up = nccl_parent(n % 2 == 0 ? n - 1 - r : (r + n - 1) % n, n);

    return up == n ? n : n % 2 == 0 ? n - 1 - up : (up + 1) % n;
}

Test(nccl_trees, have_the_parents_of_nccl)
{
    cs_error err = {0};

    for (uint32_t n = 2; n <= 200; n++) {
        cs_arena            arena         = {0};
        cs_tree_pair        pair          = {0};
        const cs_cluster    cluster       = {.n_ranks = n, .gpus_per_server = 1};
        const cs_tree_shape shape         = {.n_trees = 2, .root = 0};
        uint32_t            inner[200][2] = {{0}};
        cr_assert_eq(cs_tree_build(&cluster, &shape, &arena, &pair, &err), CS_OK);
        cr_assert_eq(pair.n_edges, 2 * (n - 1));
        cr_assert_eq(pair.height[0], cs_tree_height(&cluster, &shape));
        for (size_t i = 0; i < pair.n_edges; i++) {
            const cs_tree_edge *e = &pair.edges[i];
            cr_assert_eq(e->parent,
                         e->tree == 0 ? nccl_parent(e->child, n) : nccl_second_parent(e->child, n));
            inner[e->parent][e->tree]++;
        }
        for (uint32_t r = 0; r < n; r++) {
            cr_assert(inner[r][0] <= 2 && inner[r][1] <= 2);
            cr_assert(inner[r][0] < 2 || inner[r][1] < 2, "rank %u of %u", r, n);
        }
        cs_arena_free(&arena);
    }
}

static void set(cs_collective collective, uint32_t servers, uint32_t locals, uint64_t bytes,
                const char *chunks)
{
    ct_scene_set(&scene, "reduce_tree", collective, servers * locals, bytes);
    scene.scenario.cluster.gpus_per_server = locals;
    ct_scene_option(&scene, "chunks", chunks);
}

/* For every root; the tree enters every server at the root's local rank. */
Test(reduce_tree, complete)
{
    static const char *const chunks[] = {"1", "7", "auto"};

    for (uint32_t i = 0; i < 12 * 4 * 3 * 2; i++) {
        uint32_t n = 1 + i / 24, l = 1 + i / 6 % 4;
        for (uint32_t root = 0; root < n * l && n * l > 1; root++) {
            set(i % 2 == 0 ? CS_REDUCE : CS_BROADCAST, n, l, 1 << 20, chunks[i / 2 % 3]);
            scene.scenario.root = root;
            ct_scene_ready(&scene);
            ct_stream stream = ct_scene_judged(&scene);
            cr_assert_eq(stream.count, (size_t)(n * l - 1) * scene.plan.n_chunks);
            for (size_t t = 0; t < stream.count; t++) {
                cr_assert(cs_transfer_fabric(&stream.transfers[t]) != CS_NIC ||
                          (stream.transfers[t].src % l == root % l &&
                           stream.transfers[t].dst % l == root % l));
            }
            ct_stream_free(&stream);
        }
    }
}

/* Powers of two from four on: the first chunk takes one message to the root's child, two for each
 * level below; behind it, a chunk every two messages. */
Test(reduce_tree, closed_form)
{
    for (uint32_t i = 0; i < 2 * 60 * 3; i++) {
        uint32_t n = 2 + i / 2 % 60, chunks = 1 + 5 * (i / 120);
        char     text[12];
        snprintf(text, sizeof text, "%u", chunks);
        set(i % 2 == 0 ? CS_REDUCE : CS_BROADCAST, n, 1, 4096 * (uint64_t)chunks, text);
        scene.scenario.root = n / 3;
        ct_scene_ready(&scene);
        double form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        double got_s  = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(ct_is_close(got_s, form_s, 1e-12), "%s: %.17g, closed form %.17g",
                  ct_scene_text(&scene), got_s, form_s);
        double   t_s    = ct_scene_message_s(&scene, CS_NIC, 4096);
        uint32_t levels = 31u - (uint32_t)__builtin_clz(n);
        if (n <= 3) {
            cr_assert(ct_is_close(got_s, (chunks + n - 2) * t_s, 1e-12));
        } else if ((n & (n - 1)) == 0) {
            cr_assert(ct_is_close(got_s, (2 * (chunks + levels) - 3) * t_s, 1e-12));
        }
    }
}

/* AllReduce over one tree: what the two halves of the buffer would do in two trees, one rank's port
 * does alone. */
Test(reduce_tree, a_single_tree_is_slower_than_two)
{
    double time_s[2];

    for (int trees = 1; trees <= 2; trees++) {
        ct_scene_set(&scene, "double_binary_tree", CS_ALLREDUCE, 16, 1 << 28);
        ct_scene_option(&scene, "trees", trees == 1 ? "1" : "2");
        ct_scene_option(&scene, "shape", "nccl");
        ct_scene_ready(&scene);
        ct_stream stream = ct_scene_judged(&scene);
        ct_stream_free(&stream);
        time_s[trees - 1] = ct_scene_replay(&scene, NULL).elapsed_s;
    }
    double x = (double)(1 << 28) / 450e9;
    cr_assert(time_s[1] > 2 * x && time_s[1] < 2.8 * x, "%g x", time_s[1] / x);
    cr_assert(time_s[0] > 3 * x && time_s[0] < 4.2 * x, "%g x", time_s[0] / x);
}
