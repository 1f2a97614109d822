/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NVLS, its halves, NVLSTree and CollNet over servers: collectives for every number of GPUs; what
 * ports carry; late ranks; the bounds that switches allow; every kind of mistake with a switch is
 * found; where they cannot run. */
#include "cs/job.h"
#include "cs/result.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ENOUGH_PIECES = 256 };

static const double B = 1e9; /* of a port */
static ct_scene     scene;

/* The error of a check. */
static cs_error refusal(cs_status status)
{
    cs_error err = {0};

    cr_expect_eq(ct_scene_check(&scene, &err), status);
    return err;
}

static void set_scene(uint32_t n, uint64_t bytes, double alpha_s)
{
    ct_scene_set(&scene, "nvls", CS_ALLREDUCE, n, bytes);
    scene.scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_SWITCHED, alpha_s, B};
}

static void set_number(const char *key, uint32_t value)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%u", value);
    ct_scene_option(&scene, key, text);
}

static cs_result run(void)
{
    cs_result    result;
    cs_error     err = {0};
    const cs_job job = ct_scene_given(&scene, NULL);

    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s: %s", ct_scene_text(&scene),
                 err.message);
    cr_assert(result.verified, "%s: %s", ct_scene_text(&scene), result.verdict.text);
    cr_assert_geq(result.elapsed_s, result.bound_s, "%s", ct_scene_text(&scene));
    if (strcmp(scene.algorithm->name, "nvls") == 0) {
        cr_assert_str_eq(result.bound, "in_network", "%s", ct_scene_text(&scene));
    }
    return result;
}

/* Both checkers accept it, and every time follows from the rules of ports. */
static void check_stream(void)
{
    ct_scene_ready(&scene);
    ct_stream    stream    = ct_stream_record(&scene, 64);
    ct_judgement judgement = ct_judge(&scene.scenario, &scene.plan, &stream);
    ct_run       seen      = ct_scene_observe(&scene);
    ct_times     times     = ct_reference(&scene.scenario, &scene.plan, &stream, (ct_rules){0});
    uint32_t     round     = 0;

    cr_assert(judgement.is_correct, "%s: %s", ct_scene_text(&scene), judgement.text);
    cr_assert(seen.outcome.verified, "%s: %s", ct_scene_text(&scene), seen.outcome.verdict.text);
    for (size_t i = 0; i < stream.count; i++) {
        cr_assert_geq(stream.transfers[i].round, round);
        round = stream.transfers[i].round;
        cr_assert(ct_is_close(seen.intervals[i].end_s, times.intervals[i].end_s, 1e-11));
    }
    cr_assert_lt(round, scene.plan.n_rounds);
    ct_times_free(&times);
    ct_run_free(&seen);
    ct_stream_free(&stream);
}

Test(nvls, is_an_allreduce_for_every_number_of_gpus)
{
    ct_rng rng = ct_rng_for(1401);

    for (uint32_t n = 2; n <= 72; n += (n < 40 ? 1U : 4U) * (n < 12 ? 1U : CT_EVERY)) {
        for (uint32_t i = 0; i < 12; i++) {
            set_scene(n, 1000 + ct_below(&rng, 100000), i % 3 * 1e-6);
            if (i % 2 == 1) {
                set_number("heads", 1 + ct_below(&rng, n - 1));
                set_number("pieces", 1 + ct_below(&rng, 20));
            }
            ct_scene_option(&scene, "local_add", i / 2 % 2 == 0 ? "true" : "false");
            ct_scene_option(&scene, "aware", i / 4 % 3 == 2 ? "true" : "false");
            if (i % 3 > 0) {
                ct_scene_arrive(&scene, &rng, 1e-3);
            }
            check_stream();
        }
    }
}

/* The buffer, and for heads that the switch gives their sums back to, their part once more. */
Test(nvls_times, ports_carry_the_buffer_once_and_a_head_its_part_again)
{
    for (uint32_t n = 2; n <= 72; n += n < 17 ? 1 : 11) {
        for (uint32_t heads = n; heads > 0; heads /= 4) {
            uint64_t bytes  = (uint64_t)n * heads * ENOUGH_PIECES * 1024;
            double   once_s = (double)bytes / B;
            set_scene(n, bytes, 0);
            set_number("heads", heads);
            set_number("pieces", ENOUGH_PIECES * (heads < 4 ? 4 : 1));
            double got_s = run().elapsed_s, want_s = (1 + 1.0 / heads) * once_s;
            cr_expect_str_eq(run().bound, "in_network");
            cr_expect(got_s > want_s && got_s < 1.02 * want_s, "%u heads of %u GPUs: %g of it",
                      heads, n, got_s / want_s);
            ct_scene_option(&scene, "local_add", "true");
            got_s = run().elapsed_s;
            cr_expect(got_s > once_s && got_s < 1.02 * once_s, "%u heads of %u GPUs: %g of it",
                      heads, n, got_s / once_s);
        }
    }
}

/* Blocks go over the ports of one direction once; but for a rank's own, unless the switch adds it.
 */
Test(nvls_times, halves)
{
    for (uint32_t n = 2; n <= 72; n += n < 17 ? 1 : 11) {
        for (int half = 0; half < 2; half++) {
            uint64_t bytes  = (uint64_t)n * n * ENOUGH_PIECES * 1024;
            double   once_s = (double)bytes / B;
            for (int local = 0; local < 2; local++) {
                set_scene(n, bytes, 0);
                scene.scenario.collective = half == 0 ? CS_ALLGATHER : CS_REDUCESCATTER;
                set_number("pieces", ENOUGH_PIECES);
                ct_scene_option(&scene, "local_add", local ? "true" : "false");
                cs_result result = run();
                double    want_s = once_s * (local || half == 0 ? (n - 1.0) / n : 1);
                cr_expect_str_eq(result.bound, "in_network");
                cr_expect(result.elapsed_s >= want_s * (1 - 1e-12) &&
                              result.elapsed_s < 1.01 * want_s,
                          "%s: %g of it", ct_scene_text(&scene), result.elapsed_s / want_s);
            }
        }
    }
}

static void set_servers_of(const char *algorithm, uint32_t servers, uint32_t gpus, uint64_t bytes,
                           double alpha_s)
{
    ct_scene_set(&scene, algorithm, CS_ALLREDUCE, servers * gpus, bytes);
    scene.scenario.cluster.gpus_per_server    = gpus;
    scene.scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_SWITCHED, alpha_s, B};
    scene.scenario.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 2 * alpha_s, B / 9};
}

static void set_servers(uint32_t servers, uint32_t gpus, uint64_t bytes, double alpha_s)
{
    set_servers_of("nvls_tree", servers, gpus, bytes, alpha_s);
}

Test(nvls, its_halves_for_every_number_of_gpus)
{
    ct_rng rng = ct_rng_for(1403);

    for (uint32_t n = 2; n <= 72; n += n < 20 ? 1 : 8) {
        for (uint32_t i = 0; i < 8; i++) {
            set_scene(n, i == 7 ? 1 + ct_below(&rng, n) : 1000 + ct_below(&rng, 100000), 1e-6);
            scene.scenario.collective = i % 2 == 0 ? CS_ALLGATHER : CS_REDUCESCATTER;
            if (i < 4) {
                set_number("pieces", 1 + ct_below(&rng, 1000 / n));
            }
            ct_scene_option(&scene, "local_add", i / 2 % 2 == 0 ? "true" : "false");
            if (i % 3 > 0) {
                ct_scene_arrive(&scene, &rng, 1e-3);
            }
            check_stream();
        }
    }
}

Test(nvls_tree, is_an_allreduce_over_all_numbers_of_servers)
{
    ct_rng rng = ct_rng_for(1404);

    for (uint32_t servers = 2; servers <= 17; servers++) {
        for (uint32_t i = 0; i < 16; i += servers < 5 ? 1 : CT_EVERY | 1) {
            uint32_t gpus = 2 + ct_below(&rng, 7);
            set_servers_of(i < 8 ? "nvls_tree" : "collnet", servers, gpus,
                           i % 8 == 7 ? 1 + i % 8 : 1000 + ct_below(&rng, 100000), i % 3 * 1e-6);
            if (i % 2 == 1 && i % 8 < 7) {
                set_number("heads", 1 + ct_below(&rng, gpus));
                set_number("pieces", 1 + ct_below(&rng, 20));
            }
            if (i % 3 > 0) {
                ct_scene_arrive(&scene, &rng, 1e-3);
            }
            check_stream();
        }
    }
}

/* The NICs of the heads, or NVLinks, whichever carry more for their rate. */
Test(nvls_tree, what_ports_carry)
{
    for (uint32_t servers = 2; servers <= 20; servers += servers < 8 ? 1 : 4) {
        for (int i = 0; i < 4; i++) {
            const bool     is_star = i >= 2;
            const uint32_t gpus    = 8;
            const uint64_t bytes   = (uint64_t)gpus * 1000 * 1024;
            double         nic_s   = i % 2 == 1 ? (is_star ? 12 : 4) / B : 1 / B;
            double         k       = is_star || servers == 2 ? 1 : servers == 3 ? 1.5 : 2;
            double         x       = (double)bytes;
            double         want_s  = fmax((1 + 1.0 / gpus) * x / B, k * x / gpus * nic_s);
            set_servers_of(is_star ? "collnet" : "nvls_tree", servers, gpus, bytes, 0);
            scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps = 1 / nic_s;
            set_number("pieces", 500);
            cs_result result = run();
            cr_expect(result.elapsed_s >= want_s * (1 - 1e-9) && result.elapsed_s < 1.04 * want_s,
                      "%s: %g of it", ct_scene_text(&scene), result.elapsed_s / want_s);
            cr_expect_float_eq(result.published_form_s, want_s, 1e-12 * want_s);
            /* What the NICs carry is all that the bound of SHARP knows of. */
            cr_expect(!is_star || i < 3 || result.elapsed_s < 1.04 * result.bound_s);
        }
    }
}

/* Whoever comes last has to send the buffer: that is all that is exposed, of a schedule that knows
 * of it, where it comes late enough for the others to be done, and of one with local_add. */
Test(nvls_times, late_ranks)
{
    const uint32_t n     = 8;
    const uint64_t bytes = (uint64_t)n * (n - 1) * ENOUGH_PIECES * 1024;

    for (int aware = 0; aware < 2; aware++) {
        for (int late = 0; late < 6; late++) {
            double once_s = (double)bytes / B, delay_s = late / 4.0 * once_s;
            set_scene(n, bytes, 0);
            set_number("pieces", ENOUGH_PIECES);
            ct_scene_option(&scene, aware ? "aware" : "local_add", "true");
            scene.arrival_s[3]       = delay_s;
            scene.scenario.arrival_s = scene.arrival_s;
            double exposed_s         = run().exposed_s;
            double least_s = aware ? fmax(once_s, once_s * (2 - 1.0 / 7) - delay_s) : once_s;
            cr_expect(exposed_s > least_s * (1 - 1e-9) && exposed_s < 1.015 * least_s,
                      "aware %d, late by %g: %g exposed", aware, delay_s / once_s,
                      exposed_s / once_s);
        }
    }
}

/* Pieces are chosen for what start-ups cost: no other number is better by more than that. */
Test(nvls_choice, pieces)
{
    ct_rng rng = ct_rng_for(1402);

    for (int i = 0; i < 60; i++) {
        uint32_t n       = 2 + ct_below(&rng, 15);
        uint64_t bytes   = (uint64_t)1 << (12 + ct_below(&rng, 18));
        double   alpha_s = pow(10, ct_uniform(&rng, -8, -5)), best_s = (double)INFINITY;
        set_scene(n, bytes, alpha_s);
        ct_scene_option(&scene, "local_add", i % 2 == 0 ? "true" : "false");
        double got_s = run().elapsed_s;
        for (uint32_t pieces = 1; pieces <= 256 && pieces * n <= bytes; pieces += 1 + pieces / 4) {
            set_number("pieces", pieces);
            best_s = fmin(best_s, run().elapsed_s);
        }
        cr_expect_lt(got_s, 1.05 * best_s, "%s, alpha %g: %g of the best", ct_scene_text(&scene),
                     alpha_s, got_s / best_s);
    }
}

/* A contribution that is missing or comes twice, a multicast that is, one that goes elsewhere, one
 * that is done with at the switch: each is found. */
Test(nvls, every_mistake_is_found)
{
    for (int kind_of = 0; kind_of < 6; kind_of++) {
        set_scene(5, 5000, 1e-6);
        if (kind_of >= 4) {
            set_servers_of(kind_of == 4 ? "nvls_tree" : "collnet", 3, 2, 5000, 1e-6);
        } else if (kind_of >= 2) {
            scene.scenario.collective = kind_of == 2 ? CS_ALLGATHER : CS_REDUCESCATTER;
        } else {
            ct_scene_option(&scene, "local_add", kind_of == 1 ? "true" : "false");
        }
        set_number("pieces", 3);
        ct_scene_ready(&scene);
        ct_stream whole = ct_stream_record(&scene, 512);
        cs_plan   plan  = scene.plan;
        for (size_t i = 0; i < whole.count; i++) {
            for (int kind = 0; kind < 3; kind++) {
                ct_scene  other  = scene;
                ct_stream stream = ct_stream_record(&scene, 512);
                if (kind == 0) {
                    ct_stream_remove(&stream, i);
                } else if (kind == 1) {
                    stream.transfers[i].flags ^= CS_DONE_DST;
                } else {
                    stream.transfers[i].op_fabric ^= 1u; /* COPY for REDUCE */
                }
                ct_scene_play(&other, &stream, &plan);
                ct_judgement judgement = ct_judge(&other.scenario, &plan, &stream);
                cs_outcome   outcome   = ct_scene_replay(&other, NULL);
                cr_assert_eq(outcome.verified, judgement.is_correct,
                             "%s: change %d of transfer %zu: %s", ct_scene_text(&scene), kind, i,
                             judgement.text);
                /* A copy into the switch that nothing came before may as well be an addition. */
                cr_assert(!outcome.verified || kind == 2);
                cr_assert(outcome.verified || outcome.verdict.is_located);
                ct_stream_free(&stream);
            }
        }
        ct_stream_free(&whole);
    }
}

Test(nvls, where_it_cannot_run)
{
    set_scene(8, 1000, 0);
    scene.scenario.cluster.gpus_per_server = 4;
    cr_expect_str_eq(refusal(CS_ENOTSUP).where, "cluster.gpus_per_server");
    set_scene(8, 1000, 0);
    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    cr_expect_str_eq(refusal(CS_ENOTSUP).where, "cluster.nvlink.kind");
    set_scene(8, 1000, 0);
    set_number("heads", 9);
    cr_expect_str_eq(refusal(CS_EINVAL).where, "algorithm.options.heads");
    set_scene(8, 1000, 0);
    set_number("pieces", 1000);
    cr_expect_str_eq(refusal(CS_EINVAL).where, "algorithm.options.pieces");
    set_scene(8, 1000, 0);
    scene.scenario.collective = CS_ALLGATHER;
    set_number("heads", 4);
    cr_expect_str_eq(refusal(CS_ENOTSUP).where, "algorithm.options.heads");
    set_scene(8, 1000, 0);
    scene.scenario.collective = CS_REDUCESCATTER;
    ct_scene_option(&scene, "aware", "true");
    cr_expect_str_eq(refusal(CS_ENOTSUP).where, "algorithm.options.aware");
    set_servers(1, 8, 1000, 0);
    cr_expect_str_eq(refusal(CS_ENOTSUP).where, "cluster.gpus_per_server");
    set_servers(8, 1, 1000, 0);
    cr_expect_str_eq(refusal(CS_ENOTSUP).where, "cluster.gpus_per_server");
    set_servers(4, 4, 1000, 0);
    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    cr_expect_str_eq(refusal(CS_ENOTSUP).where, "cluster.nvlink.kind");
    set_servers(4, 4, 1000, 0);
    set_number("heads", 5);
    cr_expect_str_eq(refusal(CS_EINVAL).where, "algorithm.options.heads");
    set_servers(4, 4, 1000, 0);
    set_number("pieces", 1000);
    cr_expect_str_eq(refusal(CS_EINVAL).where, "algorithm.options.pieces");
    for (const char *const *m = (const char *const[]){"packet", "simgrid", NULL}; *m != NULL; m++) {
        const cs_model *model = NULL;
        set_scene(8, 1000, 0);
        if (cs_model_find(*m, &model, NULL) == CS_OK) {
            cs_job   job = ct_scene_given(&scene, *m);
            cs_error err = {0};
            cr_expect_eq(cs_job_resolve(&job, &err), CS_ENOTSUP);
            cr_expect_not_null(strstr(err.message, "no switches that add up"), "%s", err.message);
        }
    }
}
