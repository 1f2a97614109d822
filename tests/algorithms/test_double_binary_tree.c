/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Double binary tree: the trees, completeness, the bound on its time. */
#include "algorithms/double_binary_tree/trees.h"
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

static ct_scene scene;

static uint32_t log2_floor(uint32_t n)
{
    return 31u - (uint32_t)__builtin_clz(n);
}

/* Over places: one root, at most two children, in order, as high as a tree of n nodes must be. */
Test(binary_tree, is_a_binary_tree_in_order)
{
    for (uint32_t n = 1; n <= 300; n++) {
        uint32_t left[300] = {0}, right[300] = {0}, roots = 0;
        for (uint32_t x = 0; x < n; x++) {
            uint32_t up = cs_tree_parent(x, n), depth = 0;
            roots += up == n;
            if (up < n) {
                (x < up ? left : right)[up]++;
            }
            for (; up < n; depth++) {
                up = cs_tree_parent(up, n);
            }
            cr_assert_leq(depth, log2_floor(n));
        }
        cr_assert_eq(roots, 1);
        for (uint32_t x = 0; x < n; x++) {
            cr_assert(left[x] <= 1 && right[x] <= 1);
        }
    }
}

/* Every server is a leaf of a tree, and the edges of a colour do not exclude each other. */
Test(binary_tree, leaves_and_colours)
{
    static const uint32_t locals[] = {1, 2, 5};
    const cs_tree_shape   two      = {.n_trees = 2, .root = CS_TREE_IN_ORDER};
    cs_error              err      = {0};

    for (uint32_t i = 0; i < 3 * 70; i++) {
        cs_arena     arena   = {0};
        cs_tree_pair pair    = {0};
        uint32_t     servers = 1 + i / 3, l = locals[i % 3], n = servers * l;
        cs_cluster   cluster    = {.n_ranks = n, .gpus_per_server = l};
        uint32_t     up[2][350] = {{0}}, down[2][350] = {{0}}, inner[350] = {0};
        bool         is_second = false;
        if (n < 2) {
            continue;
        }
        cr_assert_eq(cs_tree_build(&cluster, &two, &arena, &pair, &err), CS_OK);
        cr_assert_eq(pair.n_edges, 2 * (n - 1));
        for (size_t k = 0; k < pair.n_edges; k++) {
            const cs_tree_edge *e       = &pair.edges[k];
            uint32_t            f       = cs_fabric_of(&cluster, e->child, e->parent);
            bool                clashes = up[f][e->child] != 0 || down[f][e->parent] != 0;
            if (clashes && !is_second) {
                memset(up, 0, sizeof up);
                memset(down, 0, sizeof down);
                is_second = true;
                clashes   = false;
            }
            cr_assert(!clashes, "n = %u", n);
            up[f][e->child] = down[f][e->parent] = 1;
            inner[e->parent] |= l == 1 ? 1u << e->tree : 0;
        }
        for (uint32_t r = 0; r < n && n > 2; r++) {
            cr_assert_neq(inner[r], 3, "rank %u of %u", r, n);
        }
        cs_arena_free(&arena);
    }
}

static void set(uint32_t servers, uint32_t locals, uint64_t bytes, const char *chunks)
{
    ct_scene_set(&scene, "double_binary_tree", CS_ALLREDUCE, servers * locals, bytes);
    scene.scenario.cluster.gpus_per_server = locals;
    ct_scene_option(&scene, "chunks", chunks);
    ct_scene_ready(&scene);
}

Test(double_binary_tree, complete)
{
    static const char *const chunks[] = {"1", "7", "auto"};

    for (uint32_t i = 0; i < 40 * 3 * 3; i++) {
        uint32_t n = 1 + i / 9, l = 1 + i / 3 % 3;
        if (n * l < 2) {
            continue;
        }
        set(n, l, 1 << 20, chunks[i % 3]);
        ct_stream stream = ct_scene_judged(&scene);
        cr_assert_eq(stream.count, 2 * (size_t)(n * l - 1) * scene.plan.n_chunks);
        ct_stream_free(&stream);
    }
}

/* c chunks in each half take at most (c + 2h - 1) turns of four messages, and at least 2 s. */
Test(double_binary_tree, time_is_bounded)
{
    for (uint32_t n = 3; n <= 80; n++) {
        set(n, 1, 64000 * 1024, "64");
        const cs_fabric *f    = &scene.scenario.cluster.fabrics[CS_NIC];
        double           step = f->alpha_s + 64000.0 * 1024 / 128 / f->bandwidth_Bps;
        double           time = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert_leq(time, (64 + 2 * (log2_floor(n) + 1) - 1) * 4 * step, "n = %u", n);
        cr_assert_geq(time, (n == 3 ? 3 : 4) * 64 * step * 0.99, "n = %u: %g", n, time);
    }
}

/* Twice the buffer over every port, in the limit, whatever the number of ranks. */
Test(double_binary_tree, full_bandwidth)
{
    for (uint32_t n = 4; n <= 64; n += 5) {
        set(n, 1, 1u << 30, "2048");
        scene.scenario.cluster.fabrics[CS_NIC].alpha_s = 0;
        double x = (double)(1u << 30) / scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps;
        cr_assert_lt(ct_scene_replay(&scene, NULL).elapsed_s, 2.02 * x, "n = %u", n);
    }
}

/* auto is at most a little slower than the best power of two, from small buffers to large. */
Test(double_binary_tree, auto_chunks_are_near_the_best)
{
    for (uint32_t i = 0; i < 12; i++) {
        uint32_t n     = 5 + 9 * (i % 4);
        uint64_t bytes = (uint64_t)1 << (14 + 8 * (i / 4));
        double   best  = HUGE_VAL;
        for (uint32_t chunks = 1; chunks <= 1024; chunks *= 2) {
            char text[12];
            snprintf(text, sizeof text, "%u", chunks);
            set(n, 1, bytes, text);
            best = fmin(best, ct_scene_replay(&scene, NULL).elapsed_s);
        }
        set(n, 1, bytes, "auto");
        double got = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert_leq(got, 1.15 * best, "n = %u, %llu bytes: %g s, best %g s", n,
                      (unsigned long long)bytes, got, best);
    }
}

/* ---- Broadcast and Reduce: both trees hang from the root ---- */

static void set_rooted(cs_collective collective, uint32_t servers, uint32_t locals, uint32_t root,
                       uint64_t bytes, const char *chunks)
{
    ct_scene_set(&scene, "double_binary_tree", collective, servers * locals, bytes);
    scene.scenario.cluster.gpus_per_server = locals;
    scene.scenario.root                    = root;
    ct_scene_option(&scene, "chunks", chunks);
    ct_scene_ready(&scene);
}

/* The root has a child in either tree; of the others with one GPU a server none is an inner node of
 * both. No two edges of a colour exclude each other. */
Test(binary_tree, two_hang_from_a_root)
{
    for (uint32_t n = 2; n <= 90; n++) {
        const cs_tree_shape shape           = {.n_trees = 2, .root = n / 3, .is_rooted = true};
        const cs_cluster    c               = {.n_ranks = n, .gpus_per_server = 1};
        cs_arena            arena           = {0};
        cs_tree_pair        pair            = {0};
        uint32_t            children[2][90] = {{0}};
        cr_assert_eq(cs_tree_build(&c, &shape, &arena, &pair, NULL), CS_OK);
        cr_assert_eq(pair.n_edges, 2 * (n - 1));
        for (int tree = 0; tree < 2; tree++) {
            cr_assert_eq(pair.root[tree], shape.root);
            cr_assert_leq(pair.height[tree], cs_tree_height(&c, &shape));
        }
        for (size_t k = 0; k < pair.n_edges; k++) {
            children[pair.edges[k].tree][pair.edges[k].parent]++;
        }
        for (uint32_t r = 0; r < n; r++) {
            bool is_root = r == shape.root;
            cr_assert(children[0][r] <= (is_root ? 1 : 2) && children[1][r] <= (is_root ? 1 : 2));
            cr_assert(is_root || n <= 3 || children[0][r] == 0 || children[1][r] == 0, "%u of %u",
                      r, n);
        }
        cs_arena_free(&arena);
    }
}

Test(double_binary_tree, complete_from_any_root)
{
    static const char *const chunks[] = {"1", "7", "auto"};

    for (uint32_t i = 0; i < 20 * 3 * 3 * 2; i++) {
        uint32_t n = 1 + i / 18, l = 1 + i / 6 % 3;
        if (n * l < 2) {
            continue;
        }
        set_rooted(i % 2 == 0 ? CS_BROADCAST : CS_REDUCE, n, l, i % (n * l), 1 << 20,
                   chunks[i / 2 % 3]);
        ct_stream stream = ct_scene_judged(&scene);
        cr_assert_eq(stream.count, (size_t)(n * l - 1) * scene.plan.n_chunks);
        ct_stream_free(&stream);
    }
}

/* Two messages a turn at most, (c + h - 1) turns; the buffer once over every port in the limit. */
Test(double_binary_tree, rooted_time_is_bounded)
{
    for (uint32_t n = 2; n <= 80; n++) {
        for (int way = 0; way < 2; way++) {
            cs_collective collective = way == 0 ? CS_BROADCAST : CS_REDUCE;
            set_rooted(collective, n, 1, n - 1, 64000 * 1024, "64");
            uint32_t         height = n == 2 ? 1 : 1 + log2_floor(n - 1);
            const cs_fabric *f      = &scene.scenario.cluster.fabrics[CS_NIC];
            double           step   = f->alpha_s + 64000.0 * 1024 / 128 / f->bandwidth_Bps;
            double           time   = ct_scene_replay(&scene, NULL).elapsed_s;
            cr_assert_leq(time, (64 + height - 1) * 2 * step * (1 + 1e-12), "n = %u", n);
            set_rooted(collective, n, 1, 0, 1u << 30, "4096");
            scene.scenario.cluster.fabrics[CS_NIC].alpha_s = 0;
            double x = (double)(1u << 30) / scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps;
            cr_assert_lt(ct_scene_replay(&scene, NULL).elapsed_s, 1.002 * x, "n = %u", n);
        }
    }
}
