/* SPDX-License-Identifier: GPL-3.0-or-later */
/* R2CCL: an AllReduce for every number of ranks, slow servers and GPUs of a server, slowdown and
 * size; where the plain ring runs instead; what it refuses. Its time against the formulas, the ring
 * on the slow NIC and its own predictions, and what it picks. */
#include "algorithms/r2ccl/r2ccl.h"
#include "algorithms/r2ccl/time.h"
#include "cs/result.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef struct r2ccl_options {
    uint32_t pieces, around, owners;
    int      chosen;
} r2ccl_options;

enum { AUTO, R2CCL, RING };

static const double RATE_BPS = 1e9;
static ct_scene     scene, other;

/* n ranks of which `slow` is slow by `ratio`, at 1 GB/s. */
static void set_scene(ct_scene *s, const char *algorithm, uint32_t n, uint32_t slow, double ratio,
                      uint64_t bytes, double alpha_s)
{
    ct_scene_set(s, algorithm, CS_ALLREDUCE, n, bytes);
    s->scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, alpha_s, RATE_BPS};
    s->capacity[0]                      = (cs_capacity){slow, ratio, 0, (double)INFINITY, false};
    s->scenario.capacity                = s->capacity;
    s->scenario.n_capacity              = 1;
}

static void set_all(uint32_t pieces, uint32_t around, uint32_t owners)
{
    r2ccl_options o = {pieces, around, owners, AUTO};
    memcpy(&scene.options, &o, sizeof o);
}

static void set_pieces(uint32_t pieces, int chosen)
{
    r2ccl_options o = {pieces, CS_AUTO, CS_AUTO, chosen};
    memcpy(&scene.options, &o, sizeof o);
}

/* g GPUs a server, `m` of p servers slow, the first one slowest, in random places. */
static void set_servers(ct_scene *s, const char *algorithm, uint32_t p, uint32_t g,
                        const double *slow, uint32_t m, uint64_t bytes, ct_rng *rng)
{
    uint32_t place = ct_below(rng, p), stride = p > 1 ? 1 + ct_below(rng, 2) : 1;

    ct_scene_set(s, algorithm, CS_ALLREDUCE, p * g, bytes);
    s->scenario.cluster.gpus_per_server    = g;
    s->scenario.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 0, RATE_BPS};
    s->scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_SWITCHED, 0, 9 * RATE_BPS};
    for (uint32_t i = 0; i < m; i++) {
        uint32_t server = (place + i * (2 * m <= p ? stride : 1)) % p;
        s->capacity[i] =
            (cs_capacity){server * g + ct_below(rng, g), slow[i], 0, (double)INFINITY, false};
    }
    s->scenario.capacity   = s->capacity;
    s->scenario.n_capacity = m;
    cr_assert_eq(cs_capacity_sort(s->capacity, m, &s->scenario.cluster), CS_OK);
}

static r2ccl_options resolved(void)
{
    r2ccl_options o;
    memcpy(&o, &scene.options, sizeof o);
    return o;
}

static double elapsed_s(void)
{
    ct_scene_ready(&scene);
    cs_outcome out = ct_scene_replay(&scene, NULL);
    cr_assert(out.verified, "%s: %s", ct_scene_text(&scene), out.verdict.text);
    return out.elapsed_s;
}

/* ---- schedules ---- */

/* Both checkers accept, rounds are counted right, every time follows from the rules. */
static void check_stream(void)
{
    ct_stream    stream    = ct_stream_record(&scene, 64);
    ct_judgement judgement = ct_judge(&scene.scenario, &scene.plan, &stream);
    ct_run       run       = ct_scene_observe(&scene);
    ct_times     times     = ct_reference(&scene.scenario, &scene.plan, &stream, (ct_rules){0});
    uint32_t     round     = 0;

    cr_assert(judgement.is_correct, "%s: %s", ct_scene_text(&scene), judgement.text);
    cr_assert(run.outcome.verified, "%s: %s", ct_scene_text(&scene), run.outcome.verdict.text);
    for (size_t i = 0; i < stream.count; i++) {
        cr_assert_geq(stream.transfers[i].round, round);
        round = stream.transfers[i].round;
        cr_assert(ct_is_close(run.intervals[i].end_s, times.intervals[i].end_s, 1e-11));
    }
    cr_assert_eq(scene.plan.n_rounds, round + 1);
    ct_times_free(&times);
    ct_run_free(&run);
    ct_stream_free(&stream);
}

Test(r2ccl, is_an_allreduce_for_every_number_of_ranks)
{
    ct_rng rng = ct_rng_for(71);

    for (uint32_t p = 3; p <= 40; p++) {
        for (uint32_t i = 0; i < 8; i++) {
            double   l     = ct_uniform(&rng, 1.05, 4);
            uint64_t bytes = p + (i < 3 ? i : ct_below(&rng, 100000));
            uint64_t rest  = bytes - (uint64_t)((double)bytes / l);
            uint32_t most  = rest < 5 * p ? (uint32_t)rest : 5 * p;
            set_scene(&scene, "r2ccl", p, ct_below(&rng, p), l, bytes, i % 2 * 1e-5);
            set_pieces(i % 4 == 3 ? CS_AUTO : 1 + ct_below(&rng, most), R2CCL);
            ct_scene_ready(&scene);
            cr_assert_eq(resolved().chosen, R2CCL);
            check_stream();
        }
    }
}

/* The ring moves 2 (p-1) times n / l, the chain adds the rest p - 2 times, then it goes up, along
 * and down; the slow NIC sends its part of the ring and the rest once. */
Test(r2ccl, traffic_is_exact)
{
    for (uint32_t p = 3; p <= 20; p++) {
        uint64_t bytes = 3000 * p, part = 1000 * p, rest = 2000 * p, sent = 0, got = 0;
        set_scene(&scene, "r2ccl", p, p - 1, 3, bytes, 0);
        set_pieces(2 * p + 1, R2CCL);
        ct_scene_ready(&scene);
        cs_outcome out = ct_scene_replay(&scene, NULL);
        cr_assert_eq(out.wire_bytes, 2 * (p - 1) * part + (p - 2) * rest + p * rest);
        ct_stream stream = ct_stream_record(&scene, 100);
        for (size_t i = 0; i < stream.count; i++) {
            sent += stream.transfers[i].src == p - 1 ? stream.transfers[i].bytes : 0;
            got += stream.transfers[i].dst == p - 1 ? stream.transfers[i].bytes : 0;
        }
        cr_assert_eq(sent, 2 * (p - 1) * part / p + rest);
        cr_assert_eq(got, sent);
        ct_stream_free(&stream);
    }
}

Test(r2ccl, resolved_options_resolve_to_themselves)
{
    set_scene(&scene, "r2ccl", 16, 5, 2, 1000000, 1e-6);
    ct_scene_ready(&scene);
    r2ccl_options first = resolved();
    cs_plan       plan  = scene.plan;
    ct_scene_ready(&scene);
    cr_assert_eq(resolved().pieces, first.pieces);
    cr_assert_eq(resolved().chosen, first.chosen);
    cr_assert_eq(scene.plan.n_chunks, plan.n_chunks);
}

/* The stream is the ring's, and the option says so, and the note why unless the user did. */
static void check_is_ring(void)
{
    bool is_asked_for = ((const r2ccl_options *)&scene.options)->chosen == RING;

    ct_scene_ready(&scene);
    cr_assert_eq(resolved().chosen, RING, "%s", ct_scene_text(&scene));
    cr_assert_neq(resolved().pieces, CS_AUTO);
    ct_scene_set(&other, "ring", CS_ALLREDUCE, scene.scenario.cluster.n_ranks,
                 scene.scenario.bytes);
    ct_scene_ready(&other);
    ct_stream got = ct_stream_record(&scene, 64), want = ct_stream_record(&other, 512);
    cr_assert(ct_stream_equal(&got, &want), "%s", ct_scene_text(&scene));
    cr_assert_eq(scene.plan.note == NULL, is_asked_for, "%s", ct_scene_text(&scene));
    cr_assert(is_asked_for || strstr(scene.plan.note, "r2ccl: ring runs instead: ") != NULL);
    scene.plan.note = NULL;
    cr_assert_eq(memcmp(&scene.plan, &other.plan, sizeof scene.plan), 0);
    ct_stream_free(&got);
    ct_stream_free(&want);
}

Test(r2ccl, the_ring_runs_where_there_is_no_detour)
{
    ct_scene_set(&scene, "r2ccl", CS_ALLREDUCE, 8, 1000);
    check_is_ring();
    set_scene(&scene, "r2ccl", 8, 3, 1, 1000, 0);
    check_is_ring();
    set_scene(&scene, "r2ccl", 2, 1, 2, 1000, 0);
    check_is_ring();
    set_scene(&scene, "r2ccl", 8, 3, 2, 7, 0);
    set_pieces(3, R2CCL);
    check_is_ring();
    set_scene(&scene, "r2ccl", 8, 3, 2, 1000, 0);
    scene.capacity[0].from_s = 1e-9;
    check_is_ring();
}

Test(r2ccl, the_ring_runs_where_it_is_faster)
{
    set_scene(&scene, "r2ccl", 8, 3, 2, 1000, 1);
    check_is_ring();
    set_scene(&scene, "r2ccl", 8, 3, 2, 1000000, 0);
    set_pieces(CS_AUTO, RING);
    check_is_ring();
    set_scene(&scene, "r2ccl", 8, 3, 2, 1000, 1);
    set_pieces(4, AUTO);
    ct_scene_ready(&scene);
    cr_assert_eq(resolved().chosen, R2CCL, "pieces that were asked for are used");
    cr_assert_eq(resolved().pieces, 4);
}

/* The slowest is served at the end: the only one whose raw pieces are final where they arrive. */
Test(r2ccl, several_slow_nics)
{
    ct_rng rng = ct_rng_for(74);

    for (uint32_t p = 3; p <= 20; p++) {
        uint32_t worst = 0, first = ct_below(&rng, p - 2), served = 0;
        set_scene(&scene, "r2ccl", p, 0, 1, 10007, 1e-6);
        for (uint32_t i = 0; i < 3; i++) {
            scene.capacity[i] =
                (cs_capacity){first + i, ct_uniform(&rng, 1.1, 4), 0, (double)INFINITY, false};
            worst = scene.capacity[i].slowdown > scene.capacity[worst].slowdown ? i : worst;
        }
        scene.scenario.n_capacity = 3;
        set_all(5, 1, CS_AUTO);
        ct_scene_ready(&scene);
        check_stream();
        ct_stream stream = ct_stream_record(&scene, 64);
        for (size_t i = 0; i < stream.count; i++) {
            const cs_transfer *t = &stream.transfers[i];
            if ((t->flags & (CS_OWN_SRC | CS_DONE_DST)) == (CS_OWN_SRC | CS_DONE_DST)) {
                cr_assert_eq(t->src, first + worst);
                served++;
            }
        }
        cr_assert_eq(served, 5);
        ct_stream_free(&stream);
    }
}

/* Two NICs that are equally slow: around one of them the ring is as fast, around both it is not. */
Test(r2ccl, two_equally_slow_nics)
{
    set_scene(&scene, "r2ccl", 16, 0, 2, 100000000, 0);
    scene.capacity[1]         = (cs_capacity){8, 2, 0, (double)INFINITY, false};
    scene.scenario.n_capacity = 2;
    double both_s             = elapsed_s();
    cr_assert_eq(resolved().around, 2);
    cr_assert_gt(resolved().owners, 2);
    set_all(CS_AUTO, 1, CS_AUTO);
    double one_s = elapsed_s();
    set_scene(&other, "ring", 16, 0, 2, 100000000, 0);
    ct_scene_ready(&other);
    double ring_s = ct_scene_replay(&other, NULL).elapsed_s;
    cr_assert_lt(both_s, 0.9 * ring_s);
    cr_assert_gt(one_s, ring_s);
}

/* ---- servers of several GPUs, several of them slow ---- */

Test(r2ccl_servers, is_an_allreduce)
{
    ct_rng rng = ct_rng_for(77);

    for (uint32_t i = 0; i < 300; i++) {
        uint32_t p = 3 + ct_below(&rng, 12), g = 1 + ct_below(&rng, 4),
                 most = p - 2 < 6 ? p - 2 : 6;
        uint32_t m = 1 + ct_below(&rng, most), H = p - m;
        uint32_t K = m == 1 || H == 2 ? 1 : 1 + ct_below(&rng, H - 1);
        uint32_t k = K + ct_below(&rng, 4 * p);
        double   slow[6];
        for (uint32_t j = 0; j < m; j++) {
            slow[j] = j > 0 && ct_below(&rng, 3) == 0 ? slow[0] : ct_uniform(&rng, 1.2, 4);
        }
        set_servers(&scene, "r2ccl", p, g, slow, m, 20 * (k + p) * g + ct_below(&rng, 1000), &rng);
        scene.scenario.cluster.fabrics[CS_NIC].alpha_s = i % 2 * 1e-6;
        set_all(k, m, K);
        ct_scene_ready(&scene);
        cr_assert_eq(resolved().around, m);
        cr_assert_eq(resolved().owners, K);
        check_stream();
    }
}

/* Every slow server that is gone around sends its part of the ring and the rest once, and gets as
 * much; NVLink moves every contribution and every final once. */
Test(r2ccl_servers, traffic_is_exact)
{
    ct_rng       rng    = ct_rng_for(78);
    const double slow[] = {2, 1.5};

    for (uint32_t g = 1; g <= 4; g++) {
        for (uint32_t m = 1; m <= 2; m++) {
            uint32_t p = 6, k = 12, parts = g * p * k, ring = 10 * parts, rest = 10 * parts;
            uint64_t inside = 0, nic = 0;
            set_servers(&scene, "r2ccl", p, g, slow, m, ring + rest, &rng);
            set_all(k, m, m == 1 ? 1 : 3);
            ct_scene_ready(&scene);
            ct_stream stream = ct_stream_record(&scene, 64);
            for (uint32_t i = 0; i < m; i++) {
                uint32_t server = scene.capacity[i].rank / g;
                uint64_t sent = 0, got = 0;
                for (size_t t = 0; t < stream.count; t++) {
                    const cs_transfer *x   = &stream.transfers[t];
                    bool               far = cs_transfer_fabric(x) == CS_NIC;
                    sent += far && x->src / g == server ? x->bytes : 0;
                    got += far && x->dst / g == server ? x->bytes : 0;
                }
                cr_assert_eq(sent, 2 * (p - 1) * ring / p + rest);
                cr_assert_eq(got, sent);
            }
            for (size_t t = 0; t < stream.count; t++) {
                const cs_transfer *x = &stream.transfers[t];
                inside += cs_transfer_fabric(x) == CS_NVLINK ? x->bytes : 0;
                nic += cs_transfer_fabric(x) == CS_NIC ? x->bytes : 0;
            }
            cr_assert_eq(inside, 2 * p * (g - 1) * (uint64_t)(ring + rest));
            cr_assert_eq(nic, 2 * (p - 1) * (uint64_t)(ring + rest));
            ct_stream_free(&stream);
        }
    }
}

static bool is_rejected(const ct_stream *stream)
{
    static ct_scene mutant;
    cs_verdict      verdict = {0};
    cs_plan         plan    = scene.plan;

    ct_scene_set(&mutant, "r2ccl", CS_ALLREDUCE, scene.scenario.cluster.n_ranks,
                 scene.scenario.bytes);
    mutant.scenario.cluster = scene.scenario.cluster;
    ct_scene_play(&mutant, stream, &plan);
    const cs_job job = ct_scene_job(&mutant, NULL);
    cr_assert_eq(cs_job_verify(&job, &verdict, NULL), CS_OK);
    return !verdict.is_correct && !ct_judge(&mutant.scenario, &plan, stream).is_correct;
}

/* Every transfer is needed, every sum, and every one's own contribution. */
Test(r2ccl_servers, broken_schedules_are_refused)
{
    ct_rng       rng    = ct_rng_for(79);
    const double slow[] = {2, 2, 1.5};

    for (uint32_t m = 1; m <= 3; m++) {
        set_servers(&scene, "r2ccl", 3 + m, 2, slow, m, 1000, &rng);
        set_all(4, m, m == 1 ? 1 : 2);
        ct_scene_ready(&scene);
        ct_stream stream = ct_stream_record(&scene, 64);
        cr_assert(!is_rejected(&stream));
        for (size_t i = 0; i < stream.count; i++) {
            const cs_transfer *t      = &stream.transfers[i];
            ct_stream          mutant = ct_stream_copy(&stream);
            ct_stream_remove(&mutant, i);
            cr_assert(is_rejected(&mutant), "m=%u without transfer %zu", m, i);
            ct_stream_free(&mutant);
            if (cs_transfer_op(t) == CS_OP_REDUCE) {
                mutant                        = ct_stream_copy(&stream);
                mutant.transfers[i].op_fabric = cs_op_fabric(CS_OP_COPY, cs_transfer_fabric(t));
                mutant.transfers[i].flags &= (uint8_t)~CS_OWN_DST;
                cr_assert(is_rejected(&mutant), "m=%u with transfer %zu copied", m, i);
                ct_stream_free(&mutant);
            }
        }
        ct_stream_free(&stream);
    }
}

Test(r2ccl, any_block_gives_the_same_stream)
{
    static const size_t capacities[] = {65, 100, 512, 4096};

    for (uint32_t p = 3; p <= 33; p += 5) {
        set_scene(&scene, "r2ccl", p, 2, 1.7, 54321, 0);
        set_pieces(p + 9, R2CCL);
        ct_scene_ready(&scene);
        ct_stream want = ct_stream_record(&scene, 64);
        for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
            ct_stream got = ct_stream_record(&scene, capacities[i]);
            cr_assert(ct_stream_equal(&want, &got));
            ct_stream_free(&got);
        }
        ct_stream_free(&want);
    }
}

static bool both_refuse(const ct_stream *stream)
{
    static ct_scene mutant;
    cs_verdict      verdict = {0};
    cs_plan         plan    = scene.plan;

    set_scene(&mutant, "r2ccl", scene.scenario.cluster.n_ranks, 2, 2, scene.scenario.bytes, 0);
    ct_scene_play(&mutant, stream, &plan);
    const cs_job job = ct_scene_job(&mutant, NULL);
    cr_assert_eq(cs_job_verify(&job, &verdict, NULL), CS_OK);
    return !verdict.is_correct && !ct_judge(&mutant.scenario, &plan, stream).is_correct;
}

/* Every transfer is needed, and every sum: with one lost or overwritten it is wrong. */
Test(r2ccl, broken_schedules_are_refused)
{
    for (uint32_t p = 3; p <= 6; p++) {
        set_scene(&scene, "r2ccl", p, 2, 2, 1000, 0);
        set_pieces(p + 4, R2CCL);
        ct_scene_ready(&scene);
        ct_stream stream = ct_stream_record(&scene, 64);
        cr_assert(!both_refuse(&stream));
        for (size_t i = 0; i < stream.count; i++) {
            ct_stream mutant = ct_stream_copy(&stream);
            ct_stream_remove(&mutant, i);
            cr_assert(both_refuse(&mutant), "p=%u without transfer %zu", p, i);
            ct_stream_free(&mutant);
            if (cs_transfer_op(&stream.transfers[i]) == CS_OP_REDUCE) {
                mutant                        = ct_stream_copy(&stream);
                mutant.transfers[i].op_fabric = cs_op_fabric(CS_OP_COPY, CS_NIC);
                cr_assert(both_refuse(&mutant), "p=%u with transfer %zu copied, not added", p, i);
                ct_stream_free(&mutant);
            }
        }
        ct_stream_free(&stream);
    }
}

static void check_refused(cs_status want, const char *where)
{
    cs_error err = {0};

    cr_assert_eq(ct_scene_check(&scene, &err), want, "%s", err.message);
    cr_assert_str_eq(err.where, where);
}

Test(r2ccl, more_pieces_than_bytes_are_refused)
{
    set_scene(&scene, "r2ccl", 5, 1, 2, 1000, 0);
    set_pieces(501, AUTO);
    check_refused(CS_EINVAL, "algorithm.options.pieces");
    set_pieces(500, AUTO);
    cr_assert_gt(elapsed_s(), 0);
}

Test(r2ccl, pieces_outside_the_range_are_refused)
{
    static const char *const bad[] = {"0", "-1", "65524", "1.5", "many", ""};
    cs_error                 err   = {0};

    set_scene(&scene, "r2ccl", 5, 1, 2, 1000, 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(
            cs_field_set(scene.algorithm->options, &scene.options, "pieces", bad[i], "here", &err),
            CS_EINVAL, "'%s' was accepted", bad[i]);
    }
    cr_assert_eq(
        cs_field_set(scene.algorithm->options, &scene.options, "pieces", "65523", "", &err), CS_OK);
}

Test(r2ccl, what_it_cannot_do_is_refused)
{
    set_scene(&scene, "r2ccl", 8, 1, 2, 1000, 0);
    set_all(CS_AUTO, 2, CS_AUTO);
    check_refused(CS_EINVAL, "algorithm.options.around");
    set_all(CS_AUTO, CS_AUTO, 2);
    check_refused(CS_EINVAL, "algorithm.options.owners");
    set_all(CS_AUTO, 1, 2);
    check_refused(CS_EINVAL, "algorithm.options.owners");
    scene.capacity[1]         = (cs_capacity){4, 2, 0, (double)INFINITY, false};
    scene.scenario.n_capacity = 2;
    set_all(3, 2, 6);
    check_refused(CS_EINVAL, "algorithm.options.owners");
    set_all(3, 2, 5);
    check_refused(CS_EINVAL, "algorithm.options.pieces");
    set_all(5, 2, 5);
    cr_assert_gt(elapsed_s(), 0);
    ct_scene_set(&scene, "r2ccl", CS_ALLGATHER, 8, 1000);
    check_refused(CS_ENOTSUP, "collective");
}

/* ---- times ---- */

/* The plain ring on the same cluster: ICCL. */
static double ring_s(uint32_t n, double ratio, uint64_t bytes, double alpha_s)
{
    set_scene(&other, "ring", n, 0, ratio, bytes, alpha_s);
    ct_scene_ready(&other);
    return ct_scene_replay(&other, NULL).elapsed_s;
}

/* T0 + (l-1) n (1 + 1/k) + (p-2) (1 - 1/l) n / k at alpha = 0. */
static double ideal_s(uint32_t p, double l, double n_s, double k)
{
    double t0 = 2.0 * (p - 1) / p * n_s;
    return t0 + (l - 1) * n_s * (1 + 1 / k) + (p - 2) * (1 - 1 / l) * n_s / k;
}

/* Even groups: the chain costs the ring nothing. 2^42 bytes: rounding stays below 1e-9. */
Test(r2ccl_times, time_is_the_formula_without_alpha)
{
    static const double ratios[] = {1.05, 1.3, 2, 3, 4, 20};
    const uint64_t      bytes    = 1ull << 42;
    double              n_s      = (double)bytes / RATE_BPS;

    for (uint32_t p = 3; p <= 40; p++) {
        for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
            const uint32_t pieces[] = {p, p + 1, 2 * (p + 1), 7 * (p + 1)};
            for (size_t j = 0; j < sizeof pieces / sizeof pieces[0]; j++) {
                set_scene(&scene, "r2ccl", p, p / 2, ratios[i], bytes, 0);
                set_pieces(pieces[j], R2CCL);
                double want_s = ideal_s(p, ratios[i], n_s, pieces[j]), got_s = elapsed_s();
                cr_assert(ct_is_close(got_s, want_s, 1e-8), "%s, l=%g, %u pieces: %.12g, not %.12g",
                          ct_scene_text(&scene), ratios[i], pieces[j], got_s, want_s);
            }
        }
    }
}

/* Any larger number of pieces is within 3 % of the formula, and never below it. */
Test(r2ccl_times, uneven_groups_cost_little)
{
    ct_rng         rng   = ct_rng_for(72);
    const uint64_t bytes = 1ull << 36;

    for (uint32_t p = 8; p <= 40; p++) {
        for (int i = 0; i < 8; i++) {
            double   l      = ct_uniform(&rng, 1.05, 4);
            uint32_t pieces = 2 * p + ct_below(&rng, 20 * p);
            set_scene(&scene, "r2ccl", p, 1, l, bytes, 0);
            set_pieces(pieces, R2CCL);
            double ratio = elapsed_s() / ideal_s(p, l, (double)bytes / RATE_BPS, pieces);
            cr_assert(ratio > 1 - 1e-6 && ratio < 1.03, "%s, l=%g, %u pieces: %g of the formula",
                      ct_scene_text(&scene), l, pieces, ratio);
        }
    }
}

Test(r2ccl_times, beats_the_ring_on_the_slow_nic)
{
    static const double alphas[] = {0, 1e-6};
    static const double ratios[] = {1.3, 2, 3.1, 4};

    for (uint32_t p = 8; p <= 64; p += 1 + p / 8) {
        for (size_t i = 0; i < 8; i++) {
            double l = ratios[i / 2], alpha_s = alphas[i % 2];
            set_scene(&scene, "r2ccl", p, 0, l, 1u << 28, alpha_s);
            double got_s = elapsed_s(), iccl_s = ring_s(p, l, 1u << 28, alpha_s);
            cr_assert_eq(resolved().chosen, R2CCL);
            cr_assert_lt(got_s, iccl_s, "%s, l=%g", ct_scene_text(&scene), l);
        }
    }
}

/* No number of pieces on a ladder, and not the ring either, is more than 2 % faster than `auto`. */
Test(r2ccl_times, auto_is_the_best_choice)
{
    ct_rng         rng   = ct_rng_for(73);
    const uint64_t bytes = 100000000;

    for (int i = 0; i < 60; i++) {
        uint32_t p = 3 + ct_below(&rng, 38);
        double   l = ct_uniform(&rng, 1.05, 4), alpha_s = pow(10, ct_uniform(&rng, -7, -2));
        double   best_s = ring_s(p, l, bytes, alpha_s);
        for (uint32_t k = 1; k <= 16 * p; k += 1 + k / 3) {
            set_scene(&scene, "r2ccl", p, 0, l, bytes, alpha_s);
            set_pieces(k, R2CCL);
            best_s = fmin(best_s, elapsed_s());
        }
        set_scene(&scene, "r2ccl", p, 0, l, bytes, alpha_s);
        double got_s = elapsed_s();
        cr_assert_leq(got_s, best_s * 1.02, "%s, l=%g, alpha=%g, %u pieces: %g times the best",
                      ct_scene_text(&scene), l, alpha_s, resolved().pieces, got_s / best_s);
    }
}

static double predicted_s(double l, double second, double chain_ratio)
{
    const cs_fabric *nic     = &scene.scenario.cluster.fabrics[CS_NIC];
    cs_r2ccl_setting setting = {.p               = scene.scenario.cluster.n_ranks,
                                .m               = 1,
                                .gpus            = 1,
                                .bytes           = scene.scenario.bytes,
                                .slowdown        = l,
                                .sum_slowdown    = l,
                                .other_slowdown  = second,
                                .chain_slowdowns = chain_ratio,
                                .alpha_s         = nic->alpha_s,
                                .s_per_byte      = 1 / nic->bandwidth_Bps};
    cs_r2ccl_shape   shape   = cs_r2ccl_shape_of(&setting, resolved().pieces, 1);

    return cs_r2ccl_predict_s(&setting, &shape, NULL);
}

Test(r2ccl_times, prediction_is_close_to_the_replay)
{
    ct_rng rng = ct_rng_for(75);

    for (int i = 0; i < 400; i++) {
        uint32_t p = 3 + ct_below(&rng, 38);
        double   l = ct_uniform(&rng, 1.05, 4), alpha_s = i % 4 * pow(10, ct_uniform(&rng, -5, 1));
        set_scene(&scene, "r2ccl", p, ct_below(&rng, p), l, 1ull << 36, alpha_s);
        set_pieces(i % 2 == 0 ? p + 1 : 1 + ct_below(&rng, 10 * p), R2CCL);
        double got_s = elapsed_s(), want_s = predicted_s(l, 1, p - 2);
        cr_assert(ct_is_close(got_s, want_s, i % 4 == 0 ? 1e-6 : 0.02),
                  "%s, l=%g, alpha=%g, %u pieces: %.12g, predicted %.12g", ct_scene_text(&scene), l,
                  alpha_s, resolved().pieces, got_s, want_s);
    }
}

Test(r2ccl_times, prediction_with_a_second_slow_nic)
{
    ct_rng rng = ct_rng_for(76);

    for (int i = 0; i < 200; i++) {
        uint32_t p = 5 + ct_below(&rng, 36);
        double   l = ct_uniform(&rng, 1.2, 4), second = ct_uniform(&rng, 1, l);
        set_scene(&scene, "r2ccl", p, 0, l, 1ull << 36, 0);
        scene.capacity[1] =
            (cs_capacity){2 + ct_below(&rng, p - 3), second, 0, (double)INFINITY, false};
        scene.scenario.n_capacity = 2;
        set_all(p + 1, 1, CS_AUTO);
        double got_s = elapsed_s(), want_s = predicted_s(l, second, p - 4 + 2 * second);
        cr_assert(want_s > 0.88 * got_s && want_s < 1.03 * got_s,
                  "%s, l=%g and %g: %.12g, predicted %.12g", ct_scene_text(&scene), l, second,
                  got_s, want_s);
    }
}

Test(r2ccl_times, published_form_is_the_papers)
{
    set_scene(&scene, "r2ccl", 4, 3, 2, 4000000000, 1e-3);
    ct_scene_ready(&scene);
    /* T0 = 6 s; 6 (1 + 4 / 6) = 10 s */
    cr_assert(
        ct_is_close(scene.algorithm->published_form_s(&scene.scenario, &scene.options), 10, 1e-14));
    scene.scenario.n_capacity = 0;
    cr_assert(
        ct_is_close(scene.algorithm->published_form_s(&scene.scenario, &scene.options), 6, 1e-14));
}

Test(r2ccl_times, published_form_is_for_one_constant_slow_nic)
{
    set_scene(&scene, "r2ccl", 4, 1, 2, 4000, 0);
    scene.capacity[1]         = (cs_capacity){3, 1.5, 0, (double)INFINITY, false};
    scene.scenario.n_capacity = 2;
    ct_scene_ready(&scene);
    cr_assert(isnan(scene.algorithm->published_form_s(&scene.scenario, &scene.options)));
    scene.scenario.n_capacity = 1;
    scene.capacity[0].until_s = 1;
    cr_assert(isnan(scene.algorithm->published_form_s(&scene.scenario, &scene.options)));
    scene.capacity[0].until_s = (double)INFINITY;
    scene.arrival_s[2]        = 1;
    scene.scenario.arrival_s  = scene.arrival_s;
    cr_assert(isnan(scene.algorithm->published_form_s(&scene.scenario, &scene.options)));
}

/* ---- times over servers ---- */

/* x: the buffer's time on a server's NICs. Even groups, NVLink quick enough: T0 + (l-1) x (1 + 1/k)
 * + (N-2) (1 - 1/l) x / k, and the turns for the first chunk and the last piece. */
Test(r2ccl_times, around_one_server_of_several_gpus)
{
    static const double ratios[] = {8.0 / 7, 1.5, 2, 4};
    ct_rng              rng      = ct_rng_for(80);

    for (uint32_t p = 3; p <= 12; p += 3) {
        for (uint32_t i = 0; i < 16; i++) {
            uint32_t g = 2 + i / 4, k = p + (i & 1);
            double   l     = ratios[i % 4];
            uint64_t bytes = (uint64_t)1 << 42;
            double   x = (double)bytes / g / RATE_BPS, y = (double)bytes / g / (90 * RATE_BPS);
            set_servers(&scene, "r2ccl", p, g, &l, 1, bytes, &rng);
            scene.scenario.cluster.fabrics[CS_NVLINK].bandwidth_Bps = 90 * RATE_BPS;
            set_pieces(k, R2CCL);
            double want_s = ideal_s(p, l, x, k) + (g - 1) * (y / l / p + y * (1 - 1 / l) / k);
            double got_s  = elapsed_s();
            cr_assert(ct_is_close(got_s, want_s, 1e-8), "%s, l=%g, %u pieces: %.12g, not %.12g",
                      ct_scene_text(&scene), l, k, got_s, want_s);
        }
    }
}

/* The limit of many pieces around m servers, T0 + (1 - 1/l) max(l, 1 + sum l_i / K) x, is
 * approached from above. */
Test(r2ccl_times, around_several_servers)
{
    ct_rng rng = ct_rng_for(81);

    for (uint32_t i = 0; i < 60; i++) {
        uint32_t p = 8 + ct_below(&rng, 26), m = 2 + ct_below(&rng, 2), H = p - m;
        uint32_t K = H - 1 - ct_below(&rng, H / 2);
        double   slow[3], sum = 0, l = 1;
        for (uint32_t j = 0; j < m; j++) {
            slow[j] = ct_uniform(&rng, 1.2, 4);
            sum += slow[j];
            l = fmax(l, slow[j]);
        }
        uint64_t bytes = (uint64_t)1 << 40;
        double   x = (double)bytes / RATE_BPS, t0 = 2.0 * (p - 1) / p * x;
        set_servers(&scene, "r2ccl", p, 1, slow, m, bytes, &rng);
        set_all(64 * K, m, K);
        double limit_s = t0 + (1 - 1 / l) * fmax(l, 1 + sum / K) * x, got_s = elapsed_s();
        cr_assert(got_s > limit_s && got_s < 1.35 * limit_s, "%s, %u around, %u owners: %g of it",
                  ct_scene_text(&scene), m, K, got_s / limit_s);
    }
}

/* What others go by who weigh R2CCL is within the factor that they allow for. */
Test(r2ccl_times, estimate_is_as_good_as_it_says)
{
    ct_rng rng = ct_rng_for(83);

    for (uint32_t i = 0; i < 300; i++) {
        uint32_t p = 3 + ct_below(&rng, 22), g = 1u << ct_below(&rng, 4);
        uint32_t m = 1 + ct_below(&rng, p > 8 ? 4 : 1);
        double   slow[4];
        for (uint32_t j = 0; j < m; j++) {
            slow[j] = j == 0 ? ct_uniform(&rng, 1.2, 4) : ct_uniform(&rng, 1, slow[0]);
        }
        set_servers(&scene, "r2ccl", p, g, slow, m, (uint64_t)1 << (20 + ct_below(&rng, 16)), &rng);
        scene.scenario.cluster.fabrics[CS_NIC].alpha_s    = pow(10, ct_uniform(&rng, -7, -4));
        scene.scenario.cluster.fabrics[CS_NVLINK].alpha_s = pow(10, ct_uniform(&rng, -7, -5));
        double want_s                                     = cs_r2ccl_estimate_s(&scene.scenario);
        set_pieces(CS_AUTO, R2CCL);
        double got_s = elapsed_s();
        cr_assert(want_s < CS_R2CCL_WITHIN * got_s && got_s < CS_R2CCL_WITHIN * want_s,
                  "%s: %g s, estimated %g", ct_scene_text(&scene), got_s, want_s);
    }
}

/* Where there is a closed form it is the replay's time. */
Test(r2ccl_times, closed_form_is_exact)
{
    ct_rng   rng   = ct_rng_for(82);
    uint32_t known = 0;

    for (uint32_t i = 0; i < 400; i++) {
        uint32_t p = 3 + ct_below(&rng, 10), g = 1 + ct_below(&rng, 4);
        uint32_t k = (p + 1) * (1 + ct_below(&rng, 4)) + i % 4 / 3, parts = g * p * k;
        double   slow[2] = {1 + 1.0 / (1 + ct_below(&rng, 4)), 1.25};
        double   whole   = (double)parts * 64;
        set_servers(&scene, "r2ccl", p, g, slow, i % 8 == 0 && p > 3 ? 2 : 1,
                    (uint64_t)(whole * 12 * slow[0]), &rng);
        scene.scenario.cluster.fabrics[CS_NIC].alpha_s    = i % 3 * 1e-6;
        scene.scenario.cluster.fabrics[CS_NVLINK].alpha_s = i % 2 * 1e-7;
        set_pieces(k, R2CCL);
        double got_s  = elapsed_s();
        double want_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        known += isnan(want_s) ? 0 : 1;
        cr_assert(isnan(want_s) || ct_is_close(got_s, want_s, 1e-12),
                  "%s, l=%g, k=%u: %.15g, %.15g", ct_scene_text(&scene), slow[0], k, got_s, want_s);
    }
    cr_assert_gt(known, 60, "%u", known);
}

/* ---- what `auto` takes ---- */

static double run_s(ct_scene *s, double *bound_s_p)
{
    cs_job    job = ct_scene_given(s, NULL);
    cs_result result;
    cs_error  err = {0};

    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s: %s", ct_scene_text(s),
                 err.message);
    cr_assert(result.verified, "%s", ct_scene_text(s));
    cr_assert_leq(result.bound_s, result.elapsed_s * (1 + 1e-12));
    if (bound_s_p != NULL) {
        *bound_s_p = result.bound_s;
    }
    return result.elapsed_s;
}

/* Never slower than any ring on the same NICs, never faster than without the faults, whoever is
 * late. */
Test(r2ccl_auto, is_between_the_rings_and_no_fault)
{
    static const char *const rings[] = {"ring", "nccl_rings", "parallel_rings"};
    ct_rng                   rng     = ct_rng_for(83);

    for (uint32_t i = 0; i < 150; i++) {
        uint32_t p = 2 + ct_below(&rng, 12), g = 1u << ct_below(&rng, 3);
        uint32_t m     = 1 + ct_below(&rng, p < 4 ? p : 4);
        uint64_t bytes = (uint64_t)1 << ct_below(&rng, 32);
        double   slow[4];
        for (uint32_t j = 0; j < m; j++) {
            slow[j] = ct_uniform(&rng, 1, ct_below(&rng, 2) ? 1.2 : 4);
        }
        set_servers(&scene, "r2ccl", p, g, slow, m, bytes + 8, &rng);
        scene.scenario.cluster.fabrics[CS_NIC].alpha_s    = i % 3 * 1e-6;
        scene.scenario.cluster.fabrics[CS_NVLINK].alpha_s = i % 2 * 1e-6;
        if (i % 5 == 0) {
            ct_scene_arrive(&scene, &rng, ct_scene_late_s(&scene, &rng));
        }
        ct_scene_set(&other, "ring", CS_ALLREDUCE, p * g, scene.scenario.bytes);
        double got_s = run_s(&scene, NULL);
        for (size_t r = 0; r < 3; r++) {
            other.scenario = scene.scenario;
            cr_assert_eq(cs_algorithm_find(rings[r], &other.algorithm, NULL), CS_OK);
            cs_fields_default(other.algorithm->options, &other.options);
            cr_assert_leq(got_s, run_s(&other, NULL) * (1 + 1e-12), "%s: slower than %s",
                          ct_scene_text(&scene), rings[r]);
        }
        scene.scenario.n_capacity = 0;
        set_pieces(CS_AUTO, AUTO);
        cr_assert_geq(got_s, run_s(&scene, NULL) * (1 - 1e-12), "%s: faster than without faults",
                      ct_scene_text(&scene));
    }
}

/* Two GPUs, each alone in its socket: no link of the mesh joins them. */
Test(r2ccl_servers, a_gpu_may_be_alone_in_its_socket)
{
    ct_rng rng = ct_rng_for(84);

    set_servers(&scene, "r2ccl", 6, 2, (double[]){2}, 1, 100000, &rng);
    scene.scenario.cluster.sockets                 = 2;
    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    scene.scenario.cluster.fabrics[CS_CROSS]       = (cs_fabric){CS_SWITCHED, 1e-6, 1e9};
    set_pieces(CS_AUTO, R2CCL);
    ct_scene_ready(&scene);
    check_stream();
}

/* One port of a server slow, or cut off, and the others as they were: it is as slow as that port
 * for what all do alike; what cannot do without a port that is cut off does not run. */
Test(r2ccl_servers, one_port_of_a_server)
{
    ct_rng rng = ct_rng_for(85);

    set_servers(&scene, "r2ccl", 6, 4, (double[]){2}, 1, 1 << 24, &rng);
    scene.capacity[0].is_single = true;
    set_pieces(20, R2CCL);
    double one_s                = elapsed_s();
    scene.capacity[0].is_single = false;
    set_pieces(20, R2CCL);
    double all_s = elapsed_s();
    cr_assert_leq(one_s, all_s * (1 + 1e-12));
    cr_assert_gt(one_s, 0.9 * all_s);
    scene.capacity[0].is_single = true;
    scene.capacity[0].slowdown  = (double)INFINITY;
    set_pieces(CS_AUTO, R2CCL);
    ct_scene_ready(&scene);
    cr_assert_geq(resolved().chosen, RING);
    cr_assert_not_null(strstr(scene.plan.note, "cut off"));
}
