/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR over servers of several GPUs: judged contribution by contribution, times against the
 * published ones of an independent replay and against the closed forms, and `auto` against the
 * baselines. */
#include "algorithms/stragglar/servers_time.h"
#include "base/alloc.h"
#include "cs/result.h"
#include "stragglar_setup.h"

#include <math.h>

/* 50 GB/s and 3 us between servers, 450 GB/s and 1 us inside; the last rank comes late. */
static void begin_servers(uint32_t servers, uint32_t gpus, uint64_t bytes, double delay_s)
{
    begin_late(servers * gpus, bytes, delay_s);
    scene.scenario.cluster.gpus_per_server    = gpus;
    scene.scenario.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 3e-6, 50e9};
    scene.scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_SWITCHED, 1e-6, 450e9};
}

static void be_late(uint32_t rank, double delay_s)
{
    for (uint32_t r = 0; r < scene.scenario.cluster.n_ranks; r++) {
        scene.arrival_s[r] = r == rank ? delay_s : 0;
    }
}

/* The stream is a schedule for an oracle that knows only what a schedule is, and every rank gets
 * what it has to get once. */
static void check_stream(void)
{
    ct_scene_ready(&scene);
    ct_stream    stream    = ct_stream_record(&scene, 64 + scene.scenario.cluster.n_ranks % 7);
    ct_judgement judgement = ct_judge(&scene.scenario, &scene.plan, &stream);
    cr_assert(judgement.is_correct, "%s C=%u: %s", ct_scene_text(&scene), option("chunks"),
              judgement.text);
    cr_assert_eq(stream.transfers[stream.count - 1].round + 1, scene.plan.n_rounds);
    ct_stream_free(&stream);
}

Test(stragglar_servers, every_shape_is_correct)
{
    static const uint32_t servers[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 33};
    static const uint32_t gpus[]    = {2, 3, 4, 5, 7, 8};

    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
        for (size_t k = 0; k < sizeof gpus / sizeof gpus[0]; k++) {
            uint32_t       n = servers[i], l = gpus[k], q = log2_of(n);
            const uint32_t chunks[] = {1, q + 1, q + 2, n - 1, 2 * n + 1, 20};
            for (size_t c = 0; n * l <= 72 && c < sizeof chunks / sizeof chunks[0]; c++) {
                if (n > 3 && chunks[c] != 1 && chunks[c] <= q) {
                    continue;
                }
                begin_servers(n, l, 1 + 1000 * l * chunks[c], 1e-3);
                be_late((uint32_t)(i * 7 + k * 3 + c) % (n * l), 1e-3);
                set("inside", "chain");
                set("halves", n == 3 && i + k + c > 4 ? "on" : "off");
                set_number("chunks", chunks[c]);
                check_stream();
                begin_servers(n, l, 1 + 1000 * l * chunks[c], 1e-3);
                be_late((uint32_t)(i * 3 + k * 7 + c) % (n * l), 1e-3);
                set("inside", "tree");
                check_stream();
            }
        }
    }
}

/* Numbers of the specification's replay: rank (N - 1, 0) is 5 ms late, chunks of 16 KiB. */
Test(stragglar_servers, times_of_an_independent_replay)
{
    static const struct {
        uint32_t n, l, chunks;
        double   exposed_us;
    } known[] = {{4, 8, 12, 118.151}, {16, 8, 24, 229.265}, {2, 8, 6, 68.403}, {7, 2, 12, 48.660}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t n = known[i].n, l = known[i].l;
        begin_servers(n, l, (uint64_t)l * known[i].chunks << 14, 5e-3);
        be_late((n - 1) * l, 5e-3);
        set("inside", "chain");
        set_number("chunks", known[i].chunks);
        ct_scene_ready(&scene);
        cr_assert_float_eq(ct_scene_replay(&scene, NULL).exposed_s * 1e6, known[i].exposed_us,
                           0.000501, "%u x %u", n, l);
    }
}

/* The best number of chunks for 1 GiB, whoever is late. */
Test(stragglar_servers, best_chunks_of_a_gibibyte)
{
    static const struct {
        uint32_t n, l, chunks;
        double   exposed_us;
    } known[] = {{2, 2, 28, 10909}, {8, 2, 89, 11281}, {4, 4, 55, 5705},
                 {16, 4, 81, 5870}, {32, 4, 91, 5935}, {2, 8, 42, 2956},
                 {3, 8, 48, 2988},  {8, 8, 56, 3043},  {16, 8, 59, 3092}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        begin_servers(known[i].n, known[i].l, 1 << 30, 50e-3);
        be_late((uint32_t)i, 50e-3);
        set("chunks", "auto");
        ct_scene_ready(&scene);
        cr_assert_eq(option("chunks"), known[i].chunks, "%u x %u: %u", known[i].n, known[i].l,
                     option("chunks"));
        cr_assert_float_eq(ct_scene_replay(&scene, NULL).exposed_s * 1e6, known[i].exposed_us, 0.51,
                           "%u x %u", known[i].n, known[i].l);
    }
}

static void draw(ct_rng *rng)
{
    uint32_t n = 2 + ct_below(rng, 17), l = 2 + ct_below(rng, 7), q = log2_of(n);
    uint32_t chunks = ct_below(rng, 6) == 0 ? 1 : q + 1 + ct_below(rng, 40);
    double   delay  = ct_below(rng, 4) == 0 ? 0 : pow(10, ct_uniform(rng, -6, -2));

    begin_servers(n, l, (uint64_t)l * chunks * (1 + ct_below(rng, 1u << ct_below(rng, 21))), delay);
    be_late(ct_below(rng, n * l), delay);
    scene.scenario.cluster.fabrics[CS_NIC] =
        (cs_fabric){CS_SWITCHED, ct_uniform(rng, 0, 1e-5), pow(10, ct_uniform(rng, 9.5, 11))};
    scene.scenario.cluster.fabrics[CS_NVLINK] =
        (cs_fabric){CS_SWITCHED, ct_uniform(rng, 0, 3e-6), pow(10, ct_uniform(rng, 10, 12))};
    if (ct_below(rng, 4) == 0) {
        set("inside", "tree");
        return;
    }
    set("inside", "chain");
    set("halves", n == 3 && ct_below(rng, 2) == 0 ? "on" : "off");
    set_number("chunks", chunks);
}

/* Any rates and delay: verified, never above the closed forms, and on the exact one where there is
 * one. */
Test(stragglar_servers, never_above_the_closed_forms)
{
    ct_rng   rng   = ct_rng_for(31);
    uint32_t exact = 0;

    for (int i = 0; i < 1500; i++) {
        draw(&rng);
        ct_scene_ready(&scene);
        cs_servers_pace  pace   = cs_servers_pace_of(&scene.scenario);
        cs_outcome       out    = ct_scene_replay(&scene, NULL);
        double           late_s = cs_last_arrival(&scene.scenario);
        cs_servers_shape shape  = {.chunks  = option("chunks"),
                                   .is_tree = option("inside") == 3,
                                   .halves  = option("halves") == 1};
        double           most_s = cs_servers_end_s(&pace, &shape, 0, late_s);
        double           form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        cr_assert(out.verified);
        cr_assert(out.elapsed_s <= most_s * (1 + 1e-12), "%s C=%u: %.17g, at most %.17g",
                  ct_scene_text(&scene), option("chunks"), out.elapsed_s, most_s);
        cr_assert(isnan(form_s) || ct_is_close(form_s, out.elapsed_s, 1e-12),
                  "%s C=%u: %.17g, not %.17g", ct_scene_text(&scene), option("chunks"), form_s,
                  out.elapsed_s);
        exact += isnan(form_s) ? 0 : 1;
    }
    cr_assert_gt(exact, 100, "%u", exact);
}

/* The result of an algorithm's defaults on the scene. */
static cs_result run_default(const char *algorithm)
{
    cs_result result = {0};
    cs_error  err    = {0};

    cr_assert_eq(cs_algorithm_find(algorithm, &scene.algorithm, &err), CS_OK);
    cs_fields_default(scene.algorithm->options, &scene.options);
    cs_job job = ct_scene_given(&scene, NULL);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s", err.message);
    cr_assert(result.verified);
    return result;
}

/* With its defaults, whatever the delay: never slower than any algorithm that it may run instead,
 * and it says so when it does. */
Test(stragglar_servers, never_slower_than_the_baselines)
{
    static const char *const baselines[] = {
        "circulant", "latency_optimal", "merged_rhd",     "rhd",
        "ring",      "nccl_rings",      "parallel_rings", "hierarchical"};
    ct_rng   rng     = ct_rng_for(32);
    uint32_t instead = 0, own = 0;

    for (int i = 0; i < 150; i++) {
        draw(&rng);
        cs_result mine = run_default("stragglar");
        cr_assert_geq(mine.elapsed_s, mine.bound_s * (1 - 1e-12));
        for (size_t b = 0; b < sizeof baselines / sizeof baselines[0]; b++) {
            if (strcmp(baselines[b], "merged_rhd") == 0 &&
                scene.scenario.cluster.n_ranks % 2 != 0) {
                continue;
            }
            cs_result other = run_default(baselines[b]);
            cr_assert_leq(mine.elapsed_s, other.elapsed_s * (1 + 1e-12), "%s: %.17g",
                          ct_scene_text(&scene), mine.elapsed_s);
        }
        instead += mine.note != NULL;
        own += mine.note == NULL;
    }
    cr_assert(instead > 15 && own > 15, "%u, %u", instead, own);
}

/* What goes with ranks that know no servers only is refused by name, and `auto` then means them. */
Test(stragglar_servers, what_only_flat_ranks_have)
{
    static const char *const only_flat[][2] = {
        {"model", "telephone"}, {"prephase", "circulant"}, {"phase_barrier_s", "1e-6"}};

    for (size_t i = 0; i < sizeof only_flat / sizeof only_flat[0]; i++) {
        cs_error err = {0};
        begin_servers(4, 2, 1 << 20, 1e-3);
        set(only_flat[i][0], only_flat[i][1]);
        ct_scene_ready(&scene);
        cr_assert_eq(option("inside"), 1);
        begin_servers(4, 2, 1 << 20, 1e-3);
        set(only_flat[i][0], only_flat[i][1]);
        set("inside", "chain");
        cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
        cr_assert_str_eq(err.where, "algorithm.options.inside");
    }
    for (uint32_t chunks = 2; chunks <= 3; chunks++) {
        cs_error err = {0};
        begin_servers(8, 2, 1 << 20, 1e-3);
        set("inside", "chain");
        set_number("chunks", chunks);
        cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
        cr_assert_str_eq(err.where, "algorithm.options.chunks");
    }
}

/* Let the first, second, third .. allocation fail until all goes well; how many there are. */
static long starve(void)
{
    cs_status status = CS_ENOMEM;
    long      passes = 0;

    for (; status != CS_OK; passes++) {
        cs_job    job    = ct_scene_given(&scene, NULL);
        cs_result result = {.ranks = 77};
        cs_error  err    = {0};
        cs_alloc_fail_after(passes);
        status = cs_job_run(&job, NULL, 0, &result, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK ? result.verified : status == CS_ENOMEM && result.ranks == 77,
                  "%s", err.message);
    }
    return passes;
}

Test(stragglar_servers, any_allocation_may_fail)
{
    static const char *const ways[] = {"auto", "chain", "tree"};

    for (uint32_t servers = 2; servers <= 7; servers++) {
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
            begin_servers(servers, 4, 1 << 20, w == 0 ? 0 : 1e-3);
            set("inside", ways[w]);
            cr_assert_gt(starve(), 5);
        }
    }
}
