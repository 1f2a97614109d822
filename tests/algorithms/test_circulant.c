/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Circulant ReduceScatter, AllGather and AllReduce: time, traffic and pattern for every number of
 * ranks, and the steps on their own over a few of the ranks. */
#include "algorithms/lib/circulant.h"
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static ct_scene scene;

static const cs_collective collectives[] = {CS_ALLREDUCE, CS_REDUCESCATTER, CS_ALLGATHER};
enum { EVERY_UP_TO = 130 };

/* Beyond: a sample. 0 ends. */
static const uint32_t sample[] = {255, 256, 257, 511, 777, 1000, 1024, 1025, 2047, 2048, 0};

static uint32_t next_ranks(uint32_t n)
{
    size_t i = 0;

    if (n < EVERY_UP_TO) {
        return n + 1;
    }
    while (sample[i] != 0 && sample[i] <= n) {
        i++;
    }
    return sample[i];
}

static uint32_t ceil_log2(uint32_t n)
{
    uint32_t k = 0;
    while ((1u << k) < n) {
        k++;
    }
    return k;
}

static uint32_t halves_of(cs_collective collective)
{
    return collective == CS_ALLREDUCE ? 2 : 1;
}

/* ceil(log2 n) alpha + (n-1)/n l x for either half. */
static double formula_s(uint32_t n, cs_collective collective, double slow)
{
    const cs_fabric *f   = &scene.scenario.cluster.fabrics[CS_NIC];
    double           x_s = (double)scene.scenario.bytes / f->bandwidth_Bps * slow;

    return halves_of(collective) * (ceil_log2(n) * f->alpha_s + (n - 1.0) / n * x_s);
}

Test(circulant, time_of_every_number_of_ranks)
{
    for (uint32_t n = 2; n != 0; n = next_ranks(n)) {
        for (int c = 0; c < 3; c++) {
            ct_scene_set(&scene, "circulant", collectives[c], n, (uint64_t)4096 * n);
            ct_scene_ready(&scene);
            cs_outcome out    = ct_scene_replay(&scene, NULL);
            double     want_s = formula_s(n, collectives[c], 1);
            cr_assert(out.verified && ct_is_close(out.elapsed_s, want_s, 1e-12), "%s",
                      ct_scene_text(&scene));
            double closed_s = scene.algorithm->closed_form_s(&scene.scenario, NULL);
            cr_assert(ct_is_close(closed_s, want_s, 1e-12), "%s", ct_scene_text(&scene));
            cr_assert_eq(scene.plan.n_rounds, halves_of(collectives[c]) * ceil_log2(n));
            cr_assert(scene.plan.is_round_synchronous);
        }
    }
}

/* ceil(log2 n) messages per rank and half; every chunk travels n - 1 times in each; also where
 * chunks differ, and where they are empty. */
Test(circulant, traffic_of_every_size)
{
    for (uint32_t n = 2; n != 0; n = next_ranks(n)) {
        const uint64_t sizes[] = {1, n - 1, n + 1, 12345677};
        for (int i = 0; i < 12; i++) {
            cs_collective c = collectives[i % 3];
            ct_scene_set(&scene, "circulant", c, n, sizes[i / 3]);
            scene.scenario.cluster.gpus_per_server = n % 3 == 0 ? 3 : 1;
            ct_scene_ready(&scene);
            cs_outcome out = ct_scene_replay(&scene, NULL);
            cr_assert(out.verified, "%s", ct_scene_text(&scene));
            cr_assert_eq(out.n_transfers, (uint64_t)halves_of(c) * ceil_log2(n) * n);
            cr_assert_eq(out.wire_bytes, (uint64_t)halves_of(c) * (n - 1) * sizes[i / 3], "%s",
                         ct_scene_text(&scene));
        }
    }
}

Test(circulant, contributions_are_counted_once)
{
    for (uint32_t n = 2; n <= EVERY_UP_TO; n += n < 40 ? 1 : 9) {
        for (int c = 0; c < 3; c++) {
            ct_scene_set(&scene, "circulant", collectives[c], n, 1000);
            ct_scene_ready(&scene);
            ct_stream stream = ct_scene_judged(&scene);
            ct_stream_free(&stream);
        }
    }
}

/* Every rank takes part in every round, so that the last arrival delays all of them. */
Test(circulant, time_from_the_last_arrival_on)
{
    ct_rng rng = ct_rng_for(41);

    for (uint32_t n = 2; n <= EVERY_UP_TO; n++) {
        cs_collective c = collectives[n % 3];
        ct_scene_set(&scene, "circulant", c, n, (uint64_t)n << ct_below(&rng, 20));
        ct_scene_arrive(&scene, &rng, 1e-3);
        ct_scene_ready(&scene);
        double     last_s = cs_last_arrival(&scene.scenario);
        cs_outcome out    = ct_scene_replay(&scene, NULL);
        double     want_s = last_s + formula_s(n, c, 1);
        cr_assert(out.verified && ct_is_close(out.elapsed_s, want_s, 1e-12), "%s",
                  ct_scene_text(&scene));
        cr_assert(
            ct_is_close(scene.algorithm->closed_form_s(&scene.scenario, NULL), want_s, 1e-12));
    }
}

/* The slowest of the slow NICs sets the pace of every round. */
Test(circulant, slow_nics_slow_every_round)
{
    ct_rng rng = ct_rng_for(42);

    for (uint32_t n = 3; n <= EVERY_UP_TO; n++) {
        cs_collective c = collectives[n % 3];
        ct_scene_set(&scene, "circulant", c, n, (uint64_t)n * 100000);
        scene.capacity[0] = (cs_capacity){ct_below(&rng, n - 1), 1.5, 0, (double)INFINITY, false};
        scene.capacity[1] = (cs_capacity){n - 1, 4, 0, (double)INFINITY, false};
        scene.scenario.capacity   = scene.capacity;
        scene.scenario.n_capacity = 2;
        ct_scene_ready(&scene);
        double     want_s = formula_s(n, c, 4);
        cs_outcome out    = ct_scene_replay(&scene, NULL);
        cr_assert(out.verified && ct_is_close(out.elapsed_s, want_s, 1e-12), "%s",
                  ct_scene_text(&scene));
        cr_assert(
            ct_is_close(scene.algorithm->closed_form_s(&scene.scenario, NULL), want_s, 1e-12));
    }
}

/* Late, slow for a while, several GPUs a server: correct, and no sooner than the last rank can. */
Test(circulant, late_and_slow)
{
    ct_rng rng = ct_rng_for(43);

    for (uint32_t n = 4; n <= EVERY_UP_TO; n += 2) {
        ct_scene_set(&scene, "circulant", collectives[ct_below(&rng, 3)], n,
                     1 + ct_below(&rng, 9999));
        scene.scenario.cluster.gpus_per_server = 2;
        ct_scene_arrive(&scene, &rng, 1e-5);
        scene.capacity[0]         = (cs_capacity){ct_below(&rng, n), 3, 1e-6, 2e-5, false};
        scene.scenario.capacity   = scene.capacity;
        scene.scenario.n_capacity = 1;
        ct_scene_ready(&scene);
        cs_outcome out = ct_scene_replay(&scene, NULL);
        cr_assert(out.verified, "%s", ct_scene_text(&scene));
        cr_assert_geq(out.exposed_s, ceil_log2(n) * 1e-6);
        cr_assert(isnan(scene.algorithm->closed_form_s(&scene.scenario, NULL)));
    }
}

Test(circulant, no_formula_where_none_holds)
{
    ct_rng rng = ct_rng_for(44);

    ct_scene_set(&scene, "circulant", CS_ALLREDUCE, 5, 4096);
    cr_assert(isnan(scene.algorithm->closed_form_s(&scene.scenario, NULL)), "unequal chunks");
    ct_scene_set(&scene, "circulant", CS_ALLREDUCE, 5, 5000);
    ct_scene_arrive(&scene, &rng, 1e-3);
    scene.capacity[0]         = (cs_capacity){0, 2, 0, (double)INFINITY, false};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 1;
    cr_assert(isnan(scene.algorithm->closed_form_s(&scene.scenario, NULL)), "late and slow");
}

Test(circulant, too_many_ranks_are_refused)
{
    cs_error err = {0};

    ct_scene_set(&scene, "circulant", CS_ALLREDUCE, 8, 4096);
    scene.scenario.cluster.n_ranks = 40000;
    cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
    cr_assert_str_eq(err.where, "cluster.ranks");
}

/* Step k sends to s_k = ceil(n / 2^k) ahead, and every rank sends the same number of blocks. */
Test(circulant, pattern)
{
    for (uint32_t n = 2; n <= 70; n++) {
        ct_scene_set(&scene, "circulant", CS_REDUCESCATTER, n, n);
        ct_scene_ready(&scene);
        ct_stream s = ct_stream_record(&scene, 64);
        for (size_t i = 0; i < s.count; i++) {
            const cs_transfer *t      = &s.transfers[i];
            uint32_t           skip   = (n + (2u << t->round) - 1) >> (t->round + 1);
            uint32_t           before = (n + (1u << t->round) - 1) >> t->round;
            bool               joins  = i + 1 < s.count && (t[1].flags & CS_JOIN) != 0;
            cr_assert_eq(t->dst, (t->src + skip) % n);
            if ((t->flags & CS_JOIN) == 0) {
                cr_assert_eq(t->chunk, t->dst);
                cr_assert_eq(t->span + (joins ? t[1].span : 0), before - skip);
            }
        }
        ct_stream_free(&s);
    }
}

/* The steps on their own. */

static void fill(ct_stream *stream, cs_circulant *pass)
{
    cs_transfer transfers[64];
    cs_block    block = {.transfers = transfers, .capacity = 64};

    while (cs_circulant_next(pass, &block)) {
        for (size_t i = 0; i < block.count; i++) {
            ct_stream_add(stream, transfers[i], NULL);
        }
        block.count = 0;
    }
}

static void shuffle(uint32_t *ranks, uint32_t n, ct_rng *rng)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = ct_below(rng, i + 1);
        ranks[i]   = ranks[j];
        ranks[j]   = i;
    }
}

static uint32_t rounds_of(const ct_stream *stream)
{
    return stream->count == 0 ? 0 : stream->transfers[stream->count - 1].round + 1;
}

/* A ReduceScatter and an AllGather are an AllReduce: over ranks in any order, with any number of
 * chunks, in slots that hold nothing at first. */
Test(circulant, any_ranks_chunks_and_slots)
{
    static uint32_t ranks[EVERY_UP_TO];
    ct_rng          rng = ct_rng_for(45);

    for (uint32_t m = 2; m <= 64; m++) {
        uint32_t chunks[] = {m, 1, 1 + ct_below(&rng, m), m + ct_below(&rng, 3 * m)};
        for (int i = 0; i < 4; i++) {
            ct_scene_set(&scene, "circulant", CS_ALLREDUCE, m, 1000);
            shuffle(ranks, m, &rng);
            cs_circulant pass   = {.cluster    = &scene.scenario.cluster,
                                   .m          = m,
                                   .n_groups   = 1,
                                   .ranks      = ranks,
                                   .bytes      = 1000,
                                   .n_chunks   = chunks[i],
                                   .first_slot = 3,
                                   .is_final   = true};
            ct_stream    stream = {0};
            fill(&stream, &pass);
            cs_circulant_turn(&pass);
            fill(&stream, &pass);
            cs_plan      plan      = {.n_chunks = chunks[i],
                                      .n_slots  = chunks[i] + 3,
                                      .n_rounds = rounds_of(&stream),
                                      .uses     = CS_USES_SPAN | CS_USES_JOIN};
            ct_judgement judgement = ct_judge(&scene.scenario, &plan, &stream);
            cr_assert(judgement.is_correct, "m=%u chunks=%u: %s", m, chunks[i], judgement.text);
            ct_scene_play(&scene, &stream, &plan);
            cs_outcome out = ct_scene_replay(&scene, NULL);
            cr_assert(out.verified && out.wire_bytes == (uint64_t)2000 * (m - 1));
            cr_assert_eq(plan.n_rounds, 2 * ceil_log2(m));
            ct_stream_free(&stream);
        }
    }
}

/* Without one rank, and in two groups: the same steps under other names. */
Test(circulant, skips_a_rank_and_works_in_groups)
{
    ct_rng rng = ct_rng_for(46);

    for (uint32_t m = 2; m <= 40; m++) {
        ct_scene_set(&scene, "circulant", CS_REDUCESCATTER, 2 * m, 777);
        cs_circulant one = {.cluster  = &scene.scenario.cluster,
                            .m        = m,
                            .n_groups = 1,
                            .skip     = CS_CIRCULANT_ALL,
                            .bytes    = 777,
                            .n_chunks = m,
                            .has_own  = true};
        cs_circulant but = one, two = one;
        ct_stream    plain = {0}, skipped = {0}, groups = {0};

        but.skip     = ct_below(&rng, m + 1);
        two.n_groups = 2;
        fill(&plain, &one);
        fill(&skipped, &but);
        fill(&groups, &two);
        cr_assert_eq(groups.count, 2 * plain.count);
        size_t in_group[2] = {0, 0};
        for (size_t i = 0; i < plain.count; i++) {
            plain.transfers[i].src += plain.transfers[i].src >= but.skip;
            plain.transfers[i].dst += plain.transfers[i].dst >= but.skip;
        }
        cr_assert(ct_stream_equal(&plain, &skipped));
        for (size_t i = 0; i < groups.count; i++) {
            const cs_transfer *t   = &groups.transfers[i];
            uint32_t           g   = t->src / m;
            const cs_transfer *p   = &skipped.transfers[in_group[g]++];
            uint32_t           src = t->src - g * m, dst = t->dst - g * m;
            cr_assert(src + (src >= but.skip) == p->src && dst + (dst >= but.skip) == p->dst);
            cr_assert(t->chunk == p->chunk && t->span == p->span && t->round == p->round);
        }
        ct_stream_free(&plain);
        ct_stream_free(&skipped);
        ct_stream_free(&groups);
    }
}
