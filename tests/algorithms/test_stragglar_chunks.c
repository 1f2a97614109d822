/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR with any number of chunks, both pre-phases and both port models: rounds, traffic,
 * times, and what is refused. A failure prints the seed. Which number it picks:
 * test_stragglar_auto.c. */
#include "algorithms/stragglar/telephone.h"
#include "base/alloc.h"
#include "stragglar_setup.h"

#include <math.h>
#include <stdlib.h>

static uint32_t pre_rounds(uint32_t n, uint32_t chunks, bool is_ring)
{
    return n == 2 ? 0 : is_ring && chunks >= n - 1 ? n - 2 : log2_of(n - 1);
}

/* One send and one receive per rank and round; even n: to and from the same rank. The pre-phase,
 * too, but its messages may have several parts and are no pairs. */
static void check_ports(const ct_stream *s, uint32_t n, uint32_t pre, bool is_telephone)
{
    uint32_t *to = calloc(n, sizeof *to), *from = calloc(n, sizeof *from);
    uint32_t *sent = calloc(n, sizeof *sent), *got = calloc(n, sizeof *got);

    cr_assert(to != NULL && from != NULL && sent != NULL && got != NULL);
    for (size_t i = 0; i < s->count; i++) {
        const cs_transfer *t = &s->transfers[i];
        bool both = cs_transfer_op(t) == CS_OP_EXCHANGE, joins = (t->flags & CS_JOIN) != 0;
        cr_assert(joins || (sent[t->src] <= t->round && got[t->dst] <= t->round), "%s: round %u",
                  ct_scene_text(&scene), t->round);
        cr_assert(!both || (sent[t->dst] <= t->round && got[t->src] <= t->round));
        sent[t->src] = got[t->dst] = t->round + 1;
        to[t->src]                 = t->dst;
        from[t->dst]               = t->src;
        if (both) {
            sent[t->dst] = got[t->src] = t->round + 1;
            to[t->dst]                 = t->src;
            from[t->src]               = t->dst;
        }
        bool ends = i + 1 == s->count || s->transfers[i + 1].round > t->round;
        for (uint32_t r = 0; r < n && ends && is_telephone && t->round >= pre; r++) {
            bool talks = sent[r] == t->round + 1 && got[r] == t->round + 1;
            cr_assert(!talks || to[r] == from[r], "%s: rank %u in round %u", ct_scene_text(&scene),
                      r, t->round);
        }
    }
    free(to);
    free(from);
    free(sent);
    free(got);
}

/* A schedule that was made for the scene: rounds, ports, messages, bytes; judged by the independent
 * checker when it is small, and always by the library's. */
static void check_schedule(uint32_t main_rounds, bool is_ring, bool is_telephone)
{
    uint32_t n = scene.scenario.cluster.n_ranks, chunks = option("chunks");
    uint32_t pre = pre_rounds(n, chunks, is_ring);

    cr_assert_eq(scene.plan.n_rounds, pre + main_rounds, "%s C=%u: %u rounds",
                 ct_scene_text(&scene), chunks, scene.plan.n_rounds);
    cr_assert_eq(scene.plan.n_chunks, chunks);
    ct_stream s = ct_stream_record(&scene, 512), other = ct_stream_record(&scene, 64);
    cr_assert(ct_stream_equal(&s, &other), "%s C=%u: blocks differ", ct_scene_text(&scene), chunks);
    check_ports(&s, n, pre, is_telephone);
    uint64_t copies = 0;
    for (size_t i = 0; i < s.count; i++) {
        copies += s.transfers[i].round >= pre;
        copies += cs_transfer_op(&s.transfers[i]) == CS_OP_EXCHANGE;
    }
    cr_assert_eq(copies, (uint64_t)n * chunks, "one message per rank and chunk");
    if ((uint64_t)n * n * scene.plan.n_slots < 400000) {
        ct_judgement j = ct_judge(&scene.scenario, &scene.plan, &s);
        cr_assert(j.is_correct, "%s C=%u: %s", ct_scene_text(&scene), chunks, j.text);
    }
    cs_outcome out = ct_scene_replay(&scene, NULL);
    cr_assert(out.verified);
    cr_assert_eq(out.wire_bytes, 2 * (uint64_t)(n - 1) * scene.scenario.bytes);
    ct_stream_free(&s);
    ct_stream_free(&other);
}

/* The numbers of chunks that are of interest: the least, and those around multiples of N. */
static void check_counts(uint32_t n, const char *prephase)
{
    uint32_t       N = n - 1, least = log2_of(n) + 1;
    const uint32_t counts[] = {1,     least,     least + 1, 2 * least, N - 1, N,
                               N + 1, 2 * N - 3, 2 * N,     3 * N + 1, 4 * N, 7 * N + 2};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint32_t chunks = counts[i];
        if (chunks == 0 || chunks > 8 * n || (chunks > 1 && chunks < (n == 3 ? 2 : least))) {
            continue;
        }
        begin_late(n, 64ull * chunks, 1e-2);
        set_number("chunks", chunks);
        set_number("straggler", n / 3);
        set("prephase", prephase);
        ct_scene_ready(&scene);
        check_schedule(chunks - 1 + log2_of(n), strcmp(prephase, "ring") == 0,
                       n % 2 == 0 || chunks == 1);
    }
}

Test(stragglar_chunks, any_number_of_chunks)
{
    for (uint32_t n = 2; n <= 36; n++) {
        check_counts(n, "ring");
        check_counts(n, "circulant");
    }
    check_counts(64, "ring");
    check_counts(65, "circulant");
    check_counts(127, "circulant");
    check_counts(192, "ring");
}

/* Random everything: verified, traffic exact, the closed form right where there is one, and never
 * later than predicted. */
static void check_random(ct_rng *rng, uint32_t *formulas)
{
    uint32_t n = 2 + ct_below(rng, 45), least = n == 3 ? 2 : log2_of(n) + 1;
    uint32_t span = 1u << ct_below(rng, 8), chunks = least + ct_below(rng, span);
    chunks         = ct_below(rng, 9) == 0 ? 1 : ct_below(rng, 4) == 0 ? (n - 1) * span : chunks;
    chunks         = chunks > 1 && chunks < least ? least : chunks;
    uint64_t bytes = ct_below(rng, 3) == 0 ? 1 + ct_below(rng, 50) : 1 + ct_below(rng, 40000000);
    uint32_t g     = ct_below(rng, 4) == 0 && n % 2 == 0 ? 2 : 1;

    bytes = ct_below(rng, 2) == 0 ? (bytes / chunks + 1) * chunks : bytes;
    begin_late(n, bytes, 0);
    ct_scene_arrive(&scene, rng, ct_below(rng, 2) == 0 ? 1e-5 : 1e-3);
    scene.scenario.cluster.gpus_per_server         = g;
    scene.scenario.cluster.fabrics[CS_NIC].alpha_s = ct_uniform(rng, 0, 2e-5);
    set_number("chunks", chunks);
    set("inside", "flat");
    set("prephase", ct_below(rng, 2) == 0 ? "ring" : "circulant");
    if (ct_below(rng, 2) == 0) {
        set_number("straggler", ct_below(rng, n));
    }
    ct_scene_ready(&scene);
    cs_outcome out     = ct_scene_replay(&scene, NULL);
    double     formula = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
    cr_assert(out.verified, "%s C=%u", ct_scene_text(&scene), option("chunks"));
    cr_assert_eq(out.wire_bytes, 2 * (uint64_t)(n - 1) * bytes);
    if (!isnan(formula)) {
        cr_assert(ct_is_close(formula, out.elapsed_s, 1e-12), "%s C=%u: %.17g, not %.17g",
                  ct_scene_text(&scene), option("chunks"), formula, out.elapsed_s);
        (*formulas)++;
    }
}

Test(stragglar_chunks, random_scenarios_are_verified)
{
    ct_rng   rng      = ct_rng_for(31);
    uint32_t formulas = 0;

    for (int i = 0; i < 600; i++) {
        check_random(&rng, &formulas);
    }
    cr_assert_gt(formulas, 60, "only %u", formulas);
}

/* Fewer bytes than chunks: most are empty, nothing is lost. */
Test(stragglar_chunks, fewer_bytes_than_chunks)
{
    for (uint32_t n = 2; n <= 20; n++) {
        for (uint64_t bytes = 1; bytes < 5; bytes++) {
            begin_late(n, bytes, 0);
            set_number("chunks", 3 * n + 4);
            ct_scene_ready(&scene);
            check_schedule(3 * n + 3 + log2_of(n), true, n % 2 == 0);
        }
    }
}

/* Odd n in the telephone model: at the counting bound or one round above it. */
Test(stragglar_chunks, odd_numbers_in_the_telephone_model)
{
    uint32_t reached = 0;

    for (uint32_t n = 3; n <= 97; n += n < 40 ? 2 : 14) {
        begin_late(n, 64ull * (n - 1), 1e-2);
        set("model", "telephone");
        ct_scene_ready(&scene);
        uint32_t bound = cs_telephone_bound(n), rounds = scene.plan.n_rounds - (n - 2);
        cr_assert(rounds == bound || rounds == bound + 1, "n=%u: %u rounds, bound %u", n, rounds,
                  bound);
        check_schedule(rounds, true, true);
        reached += rounds == bound;
    }
    cr_assert_gt(reached, 12);
}

/* The bound by its derivation: the least R with (2^q - 1) + (R - q)(N - 1) + (R - N) >= N^2. */
Test(stragglar_chunks, telephone_bound)
{
    for (uint64_t n = 3; n <= 1025; n += 2) {
        uint64_t N = n - 1, q = log2_of((uint32_t)n), rounds = n - 2 + q;
        while ((((uint64_t)1 << q) - 1) + (rounds - q) * (N - 1) + (rounds - N) < N * N) {
            rounds++;
        }
        cr_assert_eq(cs_telephone_bound((uint32_t)n), rounds, "n=%u", (uint32_t)n);
        cr_assert(rounds == n - 2 + q || rounds == n - 1 + q);
    }
}

Test(stragglar_chunks, models)
{
    static const struct {
        uint32_t    n;
        const char *asked, *got;
    } cases[] = {{8, "auto", "1"},      {9, "auto", "2"}, {8, "duplex", "2"},
                 {9, "telephone", "1"}, {3, "auto", "2"}, {3, "telephone", "1"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int model;
        begin_late(cases[i].n, 4096, 0);
        set("model", cases[i].asked);
        ct_scene_ready(&scene);
        memcpy(&model, scene.options.bytes + scene.algorithm->options[3].offset, sizeof model);
        cr_assert_str_eq(scene.algorithm->options[3].name, "model");
        cr_assert_eq(model, cases[i].got[0] - '0');
    }
    begin_late(24, 23 * 64, 0);
    set("model", "duplex"); /* even n: the schedule of the telephone model */
    ct_scene_ready(&scene);
    check_schedule(27, true, true);
}

typedef struct refusal {
    uint32_t    n;
    const char *key, *value, *model, *where;
} refusal;

Test(stragglar_chunks, what_cannot_be_is_refused)
{
    static const refusal cases[] = {
        {8, "chunks", "3", "auto", "algorithm.options.chunks"},
        {9, "chunks", "4", "auto", "algorithm.options.chunks"},
        {64, "chunks", "2", "auto", "algorithm.options.chunks"},
        {9, "chunks", "9", "telephone", "algorithm.options.chunks"},
        {3, "chunks", "3", "telephone", "algorithm.options.chunks"},
        {259, "chunks", "0", "telephone", "algorithm.options.model"},
        {4, "chunks", "1000000", "auto", "algorithm.options.chunks"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_error err = {0};
        begin_late(cases[i].n, 1u << 20, 0);
        set(cases[i].key, cases[i].value);
        set("model", cases[i].model);
        cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP, "case %zu", i);
        cr_assert_str_eq(err.where, cases[i].where);
        cr_assert_not_null(strstr(err.message, "accepted") != NULL ? err.message
                                                                   : strstr(err.message, "at most"),
                           "%s", err.message);
    }
}

/* Whichever allocation fails, opening says so and nothing leaks (the sanitizer looks). */
static void starve(uint32_t n, const char *model, const char *chunks, const char *prephase)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_error err   = {0};
        void    *state = NULL;
        begin_late(n, 1u << 16, 0);
        set("model", model);
        set("chunks", chunks);
        set("prephase", prephase);
        cs_alloc_fail_after(passes);
        status = ct_scene_check(&scene, &err);
        if (status == CS_OK) {
            const cs_job job = ct_scene_job(&scene, NULL);
            status           = cs_job_open(&job, &state, &err);
        }
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
        scene.algorithm->close(state);
        cr_assert_lt(passes, 1000);
    }
}

Test(stragglar_chunks, any_allocation_may_fail)
{
    starve(9, "telephone", "0", "ring");
    starve(9, "auto", "auto", "circulant");
    starve(38, "auto", "5000", "ring");
    starve(3, "auto", "40", "ring");
    starve(20, "auto", "1", "ring");
    starve(2, "auto", "auto", "ring");
}

/* The late rank's own NIC is slow by l: C - 1 + q rounds of alpha + l x / C at most, whatever C,
 * and with the best C within 4 % of alpha + l x, which no schedule can beat. */
Test(stragglar_slow, rounds_of_a_late_rank_with_a_slow_nic)
{
    static const double ratios[] = {1.25, 2, 3.5};

    for (uint32_t n = 4; n <= 33; n += 1 + n / 4) {
        for (size_t i = 0; i < 9; i++) {
            double   l = ratios[i / 3], delay_s = 1;
            uint32_t chunks = i % 3 == 0 ? CS_AUTO : log2_of(n) + 1 + (uint32_t)i * n;
            begin_late(n, 1u << 30, delay_s);
            scene.capacity[0] =
                (cs_capacity){.rank = n - 1, .slowdown = l, .until_s = (double)INFINITY};
            scene.scenario.capacity   = scene.capacity;
            scene.scenario.n_capacity = 1;
            if (chunks == CS_AUTO) {
                set("chunks", "auto");
            } else {
                set_number("chunks", chunks);
            }
            ct_scene_ready(&scene);
            double least_s = ct_scene_message_s(&scene, CS_NIC, l * (double)scene.scenario.bytes);
            double round_s = ct_scene_message_s(
                &scene, CS_NIC, l * ceil((double)scene.scenario.bytes / option("chunks")));
            cs_outcome out = ct_scene_replay(&scene, NULL);
            cr_assert(out.verified);
            cr_assert_leq(out.exposed_s,
                          (option("chunks") - 1 + log2_of(n)) * round_s * (1 + 1e-9));
            cr_assert_geq(out.exposed_s, least_s * (1 - 1e-9));
            cr_assert(chunks != CS_AUTO || out.exposed_s < 1.15 * least_s, "n=%u l=%g: %g", n, l,
                      out.exposed_s / least_s);
        }
    }
}
