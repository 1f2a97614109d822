/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A share of the buffer by StragglAR, the rest by rings: judged contribution by contribution, in
 * the limit against the lower bound, `auto` against the schedule alone and the baselines. */
#include "algorithms/stragglar/sharing.h"
#include "base/alloc.h"
#include "cs/result.h"
#include "stragglar_setup.h"

#include <math.h>

/* N servers of L GPUs, NICs of 50 GB/s, NVLink of `ratio` times that; a rank comes late. */
static void begin_shared(uint32_t servers, uint32_t gpus, uint64_t bytes, double ratio,
                         uint32_t late, double delay_s)
{
    begin_late(servers * gpus, bytes, delay_s);
    for (uint32_t r = 0; r < servers * gpus; r++) {
        scene.arrival_s[r] = r == late ? delay_s : 0;
    }
    scene.scenario.cluster.gpus_per_server    = gpus;
    scene.scenario.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 3e-6, 50e9};
    scene.scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_SWITCHED, 1e-6, 50e9 * ratio};
}

static void set_share(double share)
{
    char text[32];
    snprintf(text, sizeof text, "%.17g", share);
    set("share", text);
}

/* The option, as check() has resolved it. */
static double share(void)
{
    const cs_field *row = scene.algorithm->options;
    double          value;

    while (strcmp(row->name, "share") != 0) {
        row++;
    }
    memcpy(&value, scene.options.bytes + row->offset, sizeof value);
    return value;
}

/* Any servers, share, segments and size: the stream is a schedule for an oracle that knows only
 * what a schedule is, however it is cut in blocks, and no byte is lost. */
Test(stragglar_sharing, any_share_is_correct)
{
    ct_rng   rng   = ct_rng_for(71);
    uint32_t kinds = 0;

    for (int i = 0; i < 400; i++) {
        uint32_t n = 2 + ct_below(&rng, 9), l = 1 + ct_below(&rng, 6);
        uint64_t bytes   = 1 + ct_below(&rng, 1u << ct_below(&rng, 24));
        double   parts[] = {0, ct_uniform(&rng, 0, 1), 0.999999999};
        begin_shared(n, l, bytes, 8, ct_below(&rng, n * l), pow(10, ct_uniform(&rng, -6, -2)));
        if (ct_below(&rng, 5) == 0) {
            scene.scenario.cluster.gpus_per_server = n * l; /* one server */
        }
        set_share(parts[ct_below(&rng, 3)]);
        if (ct_below(&rng, 2) == 0) {
            set_number("rest_segments", 1 + ct_below(&rng, 5));
        }
        if (ct_below(&rng, 4) == 0) {
            set("inside", "flat");
            set("prephase", ct_below(&rng, 2) == 0 ? "circulant" : "ring");
        }
        set("chunks", "auto");
        ct_scene_ready(&scene);
        ct_stream    stream    = ct_stream_record(&scene, 64 + ct_below(&rng, 200));
        ct_judgement judgement = ct_judge(&scene.scenario, &scene.plan, &stream);
        cr_assert(judgement.is_correct, "%s share %g: %s", ct_scene_text(&scene), share(),
                  judgement.text);
        cr_assert_eq(stream.transfers[stream.count - 1].round + 1, scene.plan.n_rounds);
        cr_assert(ct_scene_replay(&scene, NULL).verified);
        kinds |= 1u << option("inside");
        ct_stream_free(&stream);
    }
    cr_assert_eq(kinds & 6, 6, "%x", kinds); /* flat and chain */
}

/* All final values of a rank together are the buffer. */
Test(stragglar_sharing, every_rank_gets_the_buffer_once)
{
    for (uint64_t bytes = 1000; bytes < 1040; bytes++) {
        begin_shared(3, 4, bytes, 8, 5, 1e-4);
        set_share(0.37);
        set_number("rest_segments", 2);
        set_number("chunks", 3);
        ct_scene_ready(&scene);
        ct_stream stream  = ct_stream_record(&scene, 100);
        uint64_t  got[12] = {0};
        for (size_t i = 0; i < stream.count; i++) {
            const cs_transfer *t = &stream.transfers[i];
            got[t->dst] += (t->flags & CS_DONE_DST) != 0 ? t->bytes : 0;
            got[t->src] += (t->flags & CS_DONE_SRC) != 0 ? t->bytes : 0;
        }
        for (uint32_t r = 0; r < 12; r++) {
            cr_assert_eq(got[r], bytes, "rank %u: %llu of %llu", r, (unsigned long long)got[r],
                         (unsigned long long)bytes);
        }
        ct_stream_free(&stream);
    }
}

/* The block that a caller offers changes nothing: the same transfers in the same order. */
Test(stragglar_sharing, blocks_do_not_matter)
{
    for (uint32_t gpus = 1; gpus <= 4; gpus += 3) {
        begin_shared(5, gpus, 1 << 20, 8, 3, 1e-4);
        set_share(0.4);
        ct_scene_ready(&scene);
        ct_stream large = ct_stream_record(&scene, 5000), small = ct_stream_record(&scene, 64);
        cr_assert_eq(large.count, small.count);
        cr_assert_arr_eq(large.transfers, small.transfers, large.count * sizeof(cs_transfer));
        ct_stream_free(&large);
        ct_stream_free(&small);
    }
}

/* Without alpha, with many chunks and while NVLink keeps up, the share that the delay hides reaches
 * the bound (N - 1)/N (2 x - d), for every delay: to 2 %, on servers and single ranks. */
Test(stragglar_sharing, reaches_the_bound_in_the_limit)
{
    static const uint32_t servers[] = {3, 4, 5, 8, 16}, gpus[] = {1, 2, 4, 8};

    for (size_t i = 0; i < 5 * 4 * 6; i++) {
        uint32_t n = servers[i % 5], l = gpus[i / 5 % 4];
        double   x = 1e9 / (50e9 * l), hidden = (n - 2.) / (n - 1) * x;
        double   part = (double)(i / 20) / 5, delay = part * hidden;
        begin_shared(n, l, 1000000000, 100, (uint32_t)i % (n * l), delay);
        scene.scenario.cluster.fabrics[CS_NIC].alpha_s    = 0;
        scene.scenario.cluster.fabrics[CS_NVLINK].alpha_s = 0;
        if (n ==
            3) { /* whose pre-phase takes half as long with `halves`, if servers know of them */
            if (l == 1) {
                continue;
            }
            set("halves", "on");
        }
        set_share(part);
        set_number("rest_segments", 40);
        set_number("chunks", 420); /* of which every server owns as many */
        ct_scene_ready(&scene);
        cs_outcome out   = ct_scene_replay(&scene, NULL);
        double     bound = fmax(x, (n - 1.) / n * (2 * x - delay));
        cr_assert(out.verified);
        cr_assert_geq(out.exposed_s, bound * (1 - 1e-9), "%u x %u, %g", n, l, part);
        cr_assert_leq(out.exposed_s, bound * 1.02, "%u x %u, %g: %g, %g of the bound", n, l, part,
                      out.exposed_s, out.exposed_s / bound);
    }
}

/* Any rates, share and segments: no later than what is predicted, StragglAR for its share and then
 * the rest, but for a byte that some chunks have more than others. */
Test(stragglar_sharing, takes_no_longer_than_predicted)
{
    ct_rng rng = ct_rng_for(73);

    for (int i = 0; i < 400; i++) {
        uint32_t n = 2 + ct_below(&rng, 9), l = 2 + ct_below(&rng, 7), late = ct_below(&rng, n * l);
        uint64_t bytes = (uint64_t)1 << (20 + ct_below(&rng, 11));
        begin_shared(n, l, bytes, ct_uniform(&rng, 1, 30), late, pow(10, ct_uniform(&rng, -5, -2)));
        set_share(ct_uniform(&rng, 0.01, 0.99));
        set_number("rest_segments", ct_below(&rng, 9));
        ct_scene_ready(&scene);
        cs_servers_pace  whole = cs_servers_pace_of(&scene.scenario), part = whole;
        cs_servers_shape shape = {.form     = CS_SERVERS_CHAIN,
                                  .gateways = l,
                                  .chunks   = option("chunks"),
                                  .halves   = option("halves") == 1};
        cs_sharing_shape rest  = {.late       = late,
                                  .main_bytes = (uint64_t)llround(share() * (double)bytes),
                                  .segments   = option("rest_segments")};
        part.bytes             = (double)rest.main_bytes;
        cr_assert_eq(cs_servers_count_late(&scene.scenario, late, 1, &shape.late, NULL), CS_OK);
        double predicted = cs_servers_end_s(&part, &shape) + cs_sharing_rest_s(&whole, &rest);
        double ratio     = ct_scene_replay(&scene, NULL).elapsed_s / predicted;
        cr_assert_leq(ratio, 1 + 1e-5, "%s: %.9f", ct_scene_text(&scene), ratio);
    }
}

/* Microseconds after the arrival for 1 GiB, chosen by `auto`: at most what StragglAR for the best
 * share takes and then the best baseline for the rest, as published. */
Test(stragglar_sharing, shorter_than_the_sum_of_the_parts)
{
    static const struct {
        uint32_t n, l;
        double   delay_ms, sum_us, alone_us, baseline_us;
    } known[] = {{8, 8, 0.5, 4841, 4966, 5010},  {8, 8, 1, 4537, 4466, 5010},
                 {2, 8, 0.5, 4095, 4744, 4218},  {2, 8, 1, 3910, 4244, 4218},
                 {8, 4, 0.5, 9427, 10050, 9676}, {8, 4, 1, 9064, 9550, 9676},
                 {8, 4, 3, 7483, 7550, 9676}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t n = known[i].n, l = known[i].l;
        begin_shared(n, l, 1 << 30, 9, n * l - l, known[i].delay_ms * 1e-3);
        cs_job    job    = ct_scene_given(&scene, NULL);
        cs_result result = {0};
        cs_error  err    = {0};
        cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s", err.message);
        double us = result.exposed_s * 1e6;
        cr_assert(result.verified);
        cr_assert(us < known[i].sum_us && us < known[i].alone_us && us < known[i].baseline_us,
                  "%u x %u, %g ms: %g us", n, l, known[i].delay_ms, us);
        cr_assert_geq(result.elapsed_s, result.bound_s);
    }
}

static double run_with(const char *share_text, const char *inside)
{
    cs_result result = {0};
    cs_error  err    = {0};

    cs_fields_default(scene.algorithm->options, &scene.options);
    set("share", share_text);
    set("inside", inside);
    set("chunks", "auto");
    cs_job job = ct_scene_given(&scene, NULL);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s", err.message);
    cr_assert(result.verified);
    cr_assert_geq(result.elapsed_s, result.bound_s * (1 - 1e-12));
    return result.elapsed_s;
}

/* Whatever the delay, rates and size: no slower than the schedule alone in any form. */
Test(stragglar_sharing, auto_is_never_slower_than_the_form_alone)
{
    ct_rng   rng    = ct_rng_for(72);
    uint32_t shared = 0;

    for (int i = 0; i < 150; i++) {
        uint32_t n = 2 + ct_below(&rng, 8), l = 2 + ct_below(&rng, 7);
        begin_shared(n, l, (uint64_t)pow(2, ct_uniform(&rng, 10, 31)), ct_uniform(&rng, 1, 20),
                     ct_below(&rng, n * l), pow(10, ct_uniform(&rng, -5, -2)));
        double free_s = run_with("auto", "auto");
        double one_s  = run_with("1", "auto");
        double form_s = run_with("1", "chain");
        cr_assert(free_s <= one_s * (1 + 1e-12) && free_s <= form_s * (1 + 1e-12), "%s: %g, %g, %g",
                  ct_scene_text(&scene), free_s, one_s, form_s);
        shared += free_s < one_s;
    }
    cr_assert_gt(shared, 10, "%u", shared);
}

/* The options of a result say how to get it again. */
Test(stragglar_sharing, resolved_options_make_the_same_schedule)
{
    begin_shared(8, 4, 1 << 30, 9, 17, 1e-3);
    set_share(0.2);
    ct_scene_ready(&scene);
    double   first = ct_scene_replay(&scene, NULL).elapsed_s, part = share();
    uint32_t chunks = option("chunks"), segments = option("rest_segments");

    cr_assert_float_eq(part, 0.2, 1e-9);
    begin_shared(8, 4, 1 << 30, 9, 17, 1e-3);
    set("inside", "chain");
    set_share(part);
    set_number("rest_segments", segments);
    set_number("chunks", chunks);
    ct_scene_ready(&scene);
    cr_assert_eq(ct_scene_replay(&scene, NULL).elapsed_s, first);
    cr_assert_eq(share(), part);
}

/* The whole buffer is StragglAR alone, and has no segments. */
Test(stragglar_sharing, a_share_of_one_is_the_form_alone)
{
    begin_shared(6, 4, 1 << 26, 9, 2, 1e-4);
    set("inside", "chain");
    ct_scene_ready(&scene);
    double alone = ct_scene_replay(&scene, NULL).elapsed_s;
    cr_assert(share() == 1 && option("rest_segments") == 0); /* nobody has asked for less */
    begin_shared(6, 4, 1 << 26, 9, 2, 1e-4);
    set("inside", "chain");
    set_share(1);
    set_number("rest_segments", 7);
    ct_scene_ready(&scene);
    cr_assert_eq(ct_scene_replay(&scene, NULL).elapsed_s, alone);
    cr_assert_eq(option("rest_segments"), 0);
}

Test(stragglar_sharing, what_a_share_does_not_go_with)
{
    static const char *const refused[][2] = {
        {"late_ranks", "2"}, {"inside", "tree"}, {"inside", "direct"}, {"gateways", "2"}};

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        cs_error err = {0};
        begin_shared(4, 4, 1 << 20, 8, 3, 1e-3);
        set_share(0.5);
        set(refused[i][0], refused[i][1]);
        cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP, "%s", refused[i][0]);
        cr_assert_str_eq(err.where, "algorithm.options.share");
    }
}

Test(stragglar_sharing, any_allocation_may_fail)
{
    for (uint32_t gpus = 1; gpus <= 4; gpus += 3) {
        begin_shared(5, gpus, 1 << 24, 9, 4, 1e-4);
        if (gpus == 1) {
            set_share(0.5);
        }
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
        cr_assert_gt(passes, 10);
    }
}
