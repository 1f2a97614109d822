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

/* So many ranks, drawn from GPUs of `servers` servers, come within a tenth before the delay: at
 * least one of each server. `all`: all of these servers. How many are late. */
static uint32_t be_several(ct_rng *rng, uint32_t servers, uint32_t of_each, double delay_s)
{
    uint32_t l = scene.scenario.cluster.gpus_per_server, n = cs_n_servers(&scene.scenario.cluster);
    uint32_t first = ct_below(rng, n), late = 0;

    be_late(UINT32_MAX, 0);
    for (uint32_t i = 0; i < servers; i++) {
        uint32_t v = (first + i) % n, begin = ct_below(rng, l);
        for (uint32_t j = 0; j < of_each; j++, late++) {
            scene.arrival_s[v * l + (begin + j) % l] = delay_s * ct_uniform(rng, 0.9, 1);
        }
    }
    return late;
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

/* The grid of forms, gateways and late ranks, of one and of several servers. */
Test(stragglar_servers, every_form_is_correct)
{
    static const uint32_t servers[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17};
    static const uint32_t gpus[]    = {2, 3, 4, 6, 8};
    ct_rng                rng       = ct_rng_for(33);
    uint32_t              streams   = 0;

    for (size_t i = 0; i < 3 * 11 * 5; i++) {
        uint32_t n = servers[i % 11], l = gpus[i / 11 % 5], q = log2_of(n);
        uint32_t of_each      = i / 55 == 0 ? 1 : i / 55 == 1 ? 1 + ct_below(&rng, l) : l;
        uint32_t late_servers = n * l < 40 ? 1 + ct_below(&rng, n - 1 < 3 ? n - 1 : 3) : 1;
        uint32_t chunks       = late_servers == 1 ? q + 1 + ct_below(&rng, 2 * n)
                                                  : (n - late_servers) * (1 + ct_below(&rng, 3));
        uint32_t gateways[]   = {l, l % 2 == 0 ? l / 2 : 1, 1};
        if (n * l > 72) {
            continue;
        }
        for (uint32_t g = 0; g < 4; g++) {
            begin_servers(n, l, 1 + ct_below(&rng, 1000 * l * chunks), 0);
            uint32_t late = be_several(&rng, late_servers, of_each, 1e-3);
            set_number("late_ranks", late);
            set("inside", g < 3 ? "direct" : "chain");
            set_number("gateways", g < 3 ? gateways[g] : l);
            set_number("chunks", g == 2 && late_servers == 1 ? 1 : chunks);
            if (of_each == l && g == 3) {
                cr_assert_eq(ct_scene_check(&scene, NULL), CS_ENOTSUP, "no early mate");
                continue;
            }
            check_stream();
            cr_assert_eq(option("late_ranks"), late);
            streams++;
        }
    }
    cr_assert_gt(streams, 300, "%u", streams);
}

/* 1 GiB, k late GPUs of one server, or one late GPU and fewer NICs; microseconds of an independent
 * replay. */
Test(stragglar_servers, several_late_and_fewer_gateways)
{
    static const struct {
        uint32_t    n, l, late, gateways;
        const char *inside;
        double      exposed_us;
        uint32_t    chunks; /* 0: auto */
    } known[] = {{2, 8, 2, 8, "chain", 3458, 0},    {2, 8, 2, 8, "direct", 4488, 0},
                 {2, 8, 3, 8, "chain", 4031, 0},    {2, 8, 3, 8, "direct", 4488, 0},
                 {2, 8, 4, 8, "chain", 4521, 0},    {2, 8, 4, 8, "direct", 4488, 0},
                 {2, 8, 8, 8, "direct", 4488, 0},   {8, 8, 2, 8, "chain", 3580, 0},
                 {8, 8, 2, 8, "direct", 4806, 0},   {8, 8, 3, 8, "chain", 4192, 0},
                 {8, 8, 4, 8, "chain", 4784, 0},    {8, 8, 1, 4, "direct", 5842, 80},
                 {8, 8, 1, 1, "direct", 22357, 160}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t n = known[i].n, l = known[i].l;
        begin_servers(n, l, 1 << 30, 0);
        be_late(UINT32_MAX, 0);
        for (uint32_t r = 0; r < known[i].late; r++) {
            scene.arrival_s[(n - 1) * l + r] = 50e-3;
        }
        set("inside", known[i].inside);
        set_number("chunks", known[i].chunks);
        set_number("late_ranks", known[i].late);
        set_number("gateways", known[i].gateways);
        ct_scene_ready(&scene);
        cr_assert_float_eq(ct_scene_replay(&scene, NULL).exposed_s * 1e6, known[i].exposed_us, 0.51,
                           "%u x %u, %u late, %s", n, l, known[i].late, known[i].inside);
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

/* What the formulas say of the resolved options. */
static cs_servers_shape shape_now(void)
{
    static const cs_servers_form forms[] = {
        [2] = CS_SERVERS_CHAIN, [3] = CS_SERVERS_TREE, [4] = CS_SERVERS_DIRECT};
    cs_servers_shape shape = {.form     = forms[option("inside")],
                              .gateways = option("gateways"),
                              .chunks   = option("chunks"),
                              .halves   = option("halves") == 1};

    cr_assert_eq(cs_servers_count_late(&scene.scenario, option("straggler"), option("late_ranks"),
                                       &shape.late, NULL),
                 CS_OK);
    return shape;
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
        cs_servers_shape shape  = shape_now();
        double           most_s = cs_servers_end_s(&pace, &shape);
        double           form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        cr_assert(out.verified);
        cr_assert(out.elapsed_s <= most_s * (1 + 1e-12), "%s C=%u: %.17g, at most %.17g",
                  ct_scene_text(&scene), option("chunks"), out.elapsed_s, most_s);
        cr_assert_geq(out.elapsed_s, cs_servers_least_s(&pace, &shape) * (1 - 1e-12));
        cr_assert(isnan(form_s) || ct_is_close(form_s, out.elapsed_s, 1e-12),
                  "%s C=%u: %.17g, not %.17g", ct_scene_text(&scene), option("chunks"), form_s,
                  out.elapsed_s);
        exact += isnan(form_s) ? 0 : 1;
        if (i % 5 == 0) { /* the model's general path */
            ct_run run = ct_scene_observe(&scene);
            cr_assert(!(run.outcome.elapsed_s < out.elapsed_s) &&
                      !(run.outcome.elapsed_s > out.elapsed_s));
            ct_run_free(&run);
        }
    }
    cr_assert_gt(exact, 100, "%u", exact);
}

/* The same with late ranks in one server and any gateways: direct is never above its form, chain a
 * fifth at most. Of several late servers an estimate is known only. */
Test(stragglar_servers, forms_of_several_late_ranks)
{
    ct_rng rng   = ct_rng_for(34);
    double worst = 0;

    for (int i = 0; i < 1500; i++) {
        draw(&rng);
        uint32_t l = scene.scenario.cluster.gpus_per_server, k = 1 + ct_below(&rng, l);
        bool     is_chain = k > 1 && 2 * k < l && i % 2 == 0;
        double   delay_s  = i % 3 == 0 ? 0 : pow(10, ct_uniform(&rng, -6, -2));
        be_several(&rng, 1, k, delay_s);
        scene.arrival_s[0] = scene.arrival_s[0] < delay_s * 0.9 ? 0 : scene.arrival_s[0];
        set("inside", is_chain ? "chain" : "direct");
        set_number("late_ranks", k);
        set_number("gateways", is_chain ? l : l % 2 == 0 && i % 5 < 2 ? l / 2 : i % 5 == 2 ? 1 : l);
        cr_assert_eq(scene.scenario.cluster.n_ranks % l, 0);
        ct_scene_ready(&scene);
        cs_servers_pace  pace   = cs_servers_pace_of(&scene.scenario);
        cs_servers_shape shape  = shape_now();
        cs_outcome       out    = ct_scene_replay(&scene, NULL);
        double           most_s = cs_servers_end_s(&pace, &shape);
        double           after = (out.elapsed_s - shape.late.last_s) / (most_s - shape.late.last_s);
        cr_assert(out.verified);
        cr_assert_geq(out.elapsed_s, cs_servers_least_s(&pace, &shape) * (1 - 1e-12));
        double limit = is_chain ? 1.2 : cs_servers_pre_s(&pace, &shape) > delay_s ? 1.2 : 1 + 1e-9;
        cr_assert(after <= limit, "%s %s k=%u G=%u C=%u: %.9f of the form", ct_scene_text(&scene),
                  is_chain ? "chain" : "direct", k, shape.gateways, shape.chunks, after);
        worst = is_chain ? fmax(worst, after) : worst;
    }
    cr_assert_gt(worst, 0.8);
}

/* The result of an algorithm on the scene: with its defaults, but for an option if there is one. */
static cs_result run_as(const char *algorithm, const char *key, const char *value)
{
    cs_result result = {0};
    cs_error  err    = {0};

    cr_assert_eq(cs_algorithm_find(algorithm, &scene.algorithm, &err), CS_OK);
    cs_fields_default(scene.algorithm->options, &scene.options);
    if (key != NULL) {
        set(key, value);
    }
    cs_job job = ct_scene_given(&scene, NULL);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s", err.message);
    cr_assert(result.verified);
    return result;
}

/* With its defaults, whatever the delay: never slower than any algorithm that it may run instead,
 * and it says so when it does. */
Test(stragglar_servers, never_slower_than_the_baselines)
{
    static const struct {
        const char *name, *segments;
    } baselines[]    = {{"circulant", NULL},     {"latency_optimal", NULL},
                        {"merged_rhd", NULL},    {"rhd", NULL},
                        {"ring", NULL},          {"nccl_rings", NULL},
                        {"parallel_rings", "1"}, {"parallel_rings", "3"},
                        {"parallel_rings", "8"}, {"hierarchical", "1"},
                        {"hierarchical", "2"},   {"hierarchical", "6"}};
    ct_rng   rng     = ct_rng_for(32);
    uint32_t instead = 0, own = 0;

    for (int i = 0; i < 150; i++) {
        draw(&rng);
        cs_result mine = run_as("stragglar", NULL, NULL);
        cr_assert_geq(mine.elapsed_s, mine.bound_s * (1 - 1e-12));
        for (size_t b = 0; b < sizeof baselines / sizeof baselines[0]; b++) {
            if (strcmp(baselines[b].name, "merged_rhd") == 0 &&
                scene.scenario.cluster.n_ranks % 2 != 0) {
                continue;
            }
            const char *segments = baselines[b].segments;
            cs_result   other =
                run_as(baselines[b].name, segments != NULL ? "segments" : NULL, segments);
            cr_assert_leq(mine.elapsed_s, other.elapsed_s * (1 + 1e-12), "%s: %.17g",
                          ct_scene_text(&scene), mine.elapsed_s);
        }
        instead += mine.note != NULL;
        own += mine.note == NULL;
    }
    cr_assert(instead > 15 && own > 15, "%u, %u", instead, own);
}

/* One slow NIC does not make the others slow: of the forms, the fastest is taken. */
Test(stragglar_servers, the_fastest_form_beside_a_slow_nic)
{
    begin_servers(5, 8, 1 << 20, 0);
    scene.scenario.cluster.fabrics[CS_NVLINK].bandwidth_Bps = 150e9;
    be_late(32, 5e-3);
    scene.capacity[0]         = (cs_capacity){23, 8, 0, (double)INFINITY, false};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 1;
    double own_s              = run_as("stragglar", NULL, NULL).elapsed_s;
    cr_expect_leq(own_s, run_as("stragglar", "inside", "tree").elapsed_s * (1 + 1e-12));
    cr_expect_leq(own_s, run_as("stragglar", "inside", "chain").elapsed_s * (1 + 1e-12));
}

static double ends_with(const char *late_ranks, const char *inside)
{
    set("inside", inside);
    set("late_ranks", late_ranks);
    return ct_scene_check(&scene, NULL) == CS_OK ? ct_scene_replay(&scene, NULL).elapsed_s
                                                 : (double)INFINITY;
}

/* The same with several late ranks, each as late as it likes, in one server or two, and as many
 * presumed late as is best: never slower than one of them, all of them in either form, or rings. */
Test(stragglar_servers, any_number_of_late_ranks)
{
    ct_rng   rng     = ct_rng_for(35);
    uint32_t seen[3] = {0};

    for (int i = 0; i < 150; i++) {
        char all[16];
        draw(&rng);
        uint32_t l = scene.scenario.cluster.gpus_per_server, k = 1 + ct_below(&rng, l);
        uint32_t n      = cs_n_servers(&scene.scenario.cluster);
        double   late_s = i % 4 == 0 ? 1e-9 : pow(10, ct_uniform(&rng, -5, -2));
        (void)snprintf(all, sizeof all, "%u",
                       be_several(&rng, n > 2 && n < 9 && i % 2 == 0 ? 2 : 1, k, late_s));
        cs_result best = run_as("stragglar", "late_ranks", "auto");
        cr_assert_geq(best.elapsed_s, best.bound_s * (1 - 1e-12));
        double others_s = run_as("parallel_rings", NULL, NULL).elapsed_s;
        for (int form = 0; form < 3; form++) {
            const char *inside = form == 0 ? "direct" : "chain";
            (void)cs_algorithm_find("stragglar", &scene.algorithm, NULL);
            cs_fields_default(scene.algorithm->options, &scene.options);
            others_s = fmin(others_s, ends_with(form == 2 ? "1" : all, inside));
        }
        cr_assert_leq(best.elapsed_s, others_s * (1 + 1e-9), "%s, %s late: %.9g s",
                      ct_scene_text(&scene), all, best.elapsed_s);
        cs_fields_default(scene.algorithm->options, &scene.options);
        set("late_ranks", "auto");
        ct_scene_ready(&scene);
        seen[best.note != NULL ? 0 : option("late_ranks") == 1 ? 1 : 2]++;
    }
    cr_assert(seen[0] > 10 && seen[1] > 10 && seen[2] > 10, "%u %u %u", seen[0], seen[1], seen[2]);
}

/* Where every server has a late rank, ranks know no servers, or a baseline runs; who asks for more
 * is refused. */
Test(stragglar_servers, late_ranks_of_every_server)
{
    static const char *const counts[] = {"2", "3", "4"};
    ct_rng                   rng      = ct_rng_for(36);

    for (uint32_t i = 0; i < 21; i++) {
        const char *late = counts[i % 3];
        cs_error    err  = {0};
        begin_servers(2 + i % 3, 4, 1u << (8 + i), 0);
        for (uint32_t v = 0; v < 2 + i % 3; v++) {
            scene.arrival_s[4 * v + 1 + ct_below(&rng, 3)] = 1e-3 * (1 + v);
        }
        double mine_s = run_as("stragglar", "late_ranks", late).elapsed_s;
        cr_assert_leq(mine_s, run_as("hierarchical", NULL, NULL).elapsed_s * (1 + 1e-12));
        cr_assert_leq(mine_s, run_as("rhd", NULL, NULL).elapsed_s * (1 + 1e-12));
        begin_servers(2 + i % 3, 4, 1u << (8 + i), 0);
        for (uint32_t v = 0; v < 2 + i % 3; v++) {
            scene.arrival_s[4 * v + 1] = 1e-3;
        }
        set("inside", "direct");
        set("late_ranks", late);
        cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
        cr_assert_str_eq(err.where, "algorithm.options.late_ranks");
    }
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
    static const struct {
        const char *inside, *late_ranks;
        uint32_t    late, servers; /* late ranks of so many servers */
    } ways[] = {{"auto", "1", 0, 0},   {"chain", "1", 1, 1},   {"tree", "1", 1, 1},
                {"direct", "3", 3, 1}, {"auto", "auto", 3, 1}, {"chain", "2", 1, 2},
                {"direct", "8", 4, 2}};

    for (uint32_t servers = 2; servers <= 7; servers++) {
        for (size_t w = 0; w < sizeof ways / sizeof ways[0] && ways[w].servers < servers; w++) {
            begin_servers(servers, 4, 1 << 20, 0);
            for (uint32_t r = 0; r < ways[w].late * ways[w].servers; r++) {
                scene.arrival_s[r / ways[w].late * 4 + r % ways[w].late] = 1e-3;
            }
            set("inside", ways[w].inside);
            set("late_ranks", ways[w].late_ranks);
            cr_assert_gt(starve(), 5);
        }
    }
}
