/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR with the paper's n - 1 chunks, for every number of ranks: rounds, messages, the
 * telephone model for even numbers, one send and one receive per rank and round for odd ones, and
 * its times under any arrivals (barrier semantics: one barrier among the early ranks before the
 * pre-phase, one among all before the main phase). Other numbers of chunks:
 * test_stragglar_chunks.c. */
#include "stragglar_setup.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct late_options {
    uint32_t straggler;
    double   entry_barrier_s, phase_barrier_s;
} late_options;

static void set_options(const late_options *options)
{
    memcpy(&scene.options, options, sizeof *options);
}

static double step_s(void)
{
    const cs_fabric *nic = &scene.scenario.cluster.fabrics[CS_NIC];
    uint32_t         n   = scene.scenario.cluster.n_ranks;

    return nic->alpha_s + (double)scene.scenario.bytes / (n - 1) / nic->bandwidth_Bps;
}

/* T1 = E + d1, T2 = T1 + T_RS, T3 = max(T2, A[h]) + d2, end = T3 + (n - 2 + log2 n) tau. */
static double formula_s(const late_options *o)
{
    uint32_t n       = scene.scenario.cluster.n_ranks;
    double   early_s = 0;

    for (uint32_t r = 0; r < n; r++) {
        early_s = r != o->straggler ? fmax(early_s, scene.arrival_s[r]) : early_s;
    }
    double ready_s = early_s + (n > 2 ? o->entry_barrier_s : 0) + (n - 2) * step_s();
    double main_s  = fmax(ready_s, scene.arrival_s[o->straggler]) + o->phase_barrier_s;
    return main_s + (n - 2 + log2_of(n)) * step_s();
}

static void check_time(const late_options *o)
{
    set_options(o);
    ct_scene_ready(&scene);
    double want_s = formula_s(o), got_s = ct_scene_replay(&scene, NULL).elapsed_s;
    cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s straggler=%u: %.17g, not %.17g",
              ct_scene_text(&scene), o->straggler, got_s, want_s);
    got_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
    cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: closed form %.17g, not %.17g",
              ct_scene_text(&scene), got_s, want_s);
}

/* 180 random arrivals: any presumed rank; in half of them it is the last by far. */
Test(stragglar, time_with_random_arrivals)
{
    ct_rng rng = ct_rng_for(6);

    for (int i = 0; i < 360; i++) {
        uint32_t     n = i % 2 == 0 ? 4u << i / 2 % 6 : 2 + ct_below(&rng, 130);
        late_options o = {ct_below(&rng, n), 0, 0};
        ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, n, (uint64_t)(n - 1) << (10 + i % 18));
        scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps = i % 2 == 0 ? 450e9 : 300e9;
        ct_scene_arrive(&scene, &rng, 3e-3);
        if (i % 8 < 4) {
            scene.arrival_s[o.straggler]           = 3e-3 + ct_uniform(&rng, 0, 6e-3);
            scene.arrival_s[(o.straggler + 1) % n] = 0;
        }
        check_time(&o);
    }
}

/* A mesh of which a GPU drives one link at once is one port, and the closed form that of the NIC:
 * for four A100 and 1 GiB 4 (alpha + s / 3 / rate) = 14.3 ms, the ring 1.125 times that. With all
 * links at once the straggler reaches everybody at once, and the ring takes 1.5 times as long. */
Test(stragglar, on_a_mesh_one_link_at_once_is_a_port)
{
    for (uint32_t n = 3; n <= 64; n += 1 + n / 8) {
        late_options o = {n - 1, 0, 0};
        ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, n, (uint64_t)(n - 1) << 20);
        scene.arrival_s[n - 1]                    = 9.45e-3;
        scene.scenario.arrival_s                  = scene.arrival_s;
        scene.scenario.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 3e-6, 100e9};
        scene.scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_DIRECT, 3e-6, 100e9};
        scene.scenario.cluster.gpus_per_server    = n;
        scene.scenario.cluster.nvlink_concurrent  = 1;
        set_options(&o);
        ct_scene_ready(&scene);
        double got_s = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(ct_is_close(got_s, formula_s(&o), 1e-12), "%s: %.17g, not %.17g",
                  ct_scene_text(&scene), got_s, formula_s(&o));
    }
    for (uint32_t links = 1; links <= 3; links++) {
        const char *names[] = {"ring", "stragglar"};
        double      exposed_s[2];
        for (int i = 0; i < 2; i++) {
            ct_scene_set(&scene, names[i], CS_ALLREDUCE, 4, 12 << 20);
            scene.arrival_s[3]                        = 1;
            scene.scenario.arrival_s                  = scene.arrival_s;
            scene.scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_DIRECT, 0, 100e9};
            scene.scenario.cluster.gpus_per_server    = 4;
            scene.scenario.cluster.nvlink_concurrent  = links;
            ct_scene_ready(&scene);
            exposed_s[i] = ct_scene_replay(&scene, NULL).exposed_s;
        }
        cr_assert(ct_is_close(exposed_s[0] / exposed_s[1], links == 1 ? 1.125 : 1.5, 1e-12),
                  "%u links: %.15g", links, exposed_s[0] / exposed_s[1]);
    }
}

Test(stragglar, barriers_cost_what_they_cost)
{
    ct_rng rng = ct_rng_for(7);

    for (uint32_t n = 2; n <= 32; n += 1 + n / 4) {
        for (int i = 0; i < 8; i++) {
            late_options o = {ct_below(&rng, n), i % 2 * 3e-5, i % 4 / 2 * 5e-5};
            ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, n, 4096u * (n - 1));
            ct_scene_arrive(&scene, &rng, i < 4 ? 1e-3 : 1e-5);
            check_time(&o);
        }
    }
}

/* What hides behind the delay of the presumed rank: exposed = max(T_RS - d, 0) + c tau; the
 * worst case, T_RS + c tau, when it is not the last, however many others are late. */
Test(stragglar, exposed_time_over_the_delay)
{
    for (uint32_t n = 3; n <= 64; n += 1 + n / 8) {
        for (int tenths = -5; tenths <= 15; tenths++) {
            late_options o = {1, 0, 0};
            ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, n, 4096u * (n - 1));
            double pre_s = (n - 2) * step_s(), delay_s = 0.1 * tenths * pre_s;
            for (uint32_t r = 0; r < n; r++) {
                scene.arrival_s[r] = r == 1 ? fmax(delay_s, 0) : r > 1 ? fmax(-delay_s, 0) : 0;
            }
            scene.scenario.arrival_s = scene.arrival_s;
            check_time(&o);
            double hidden_s = fmin(fmax(delay_s, 0), pre_s);
            double want_s   = pre_s - hidden_s + (n - 2 + log2_of(n)) * step_s();
            cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).exposed_s, want_s, 1e-11));
        }
    }
}

/* auto: the last to arrive; of several, and when nobody is late, the highest. */
Test(stragglar, auto_presumes_the_last_to_arrive)
{
    uint32_t straggler;

    ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, 8, 4096);
    ct_scene_ready(&scene);
    memcpy(&straggler, &scene.options, sizeof straggler);
    cr_assert_eq(straggler, 7);
    for (uint32_t r = 0; r < 7; r++) {
        ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, 8, 4096);
        scene.arrival_s[r] = scene.arrival_s[r / 2] = 1e-3;
        scene.arrival_s[7]                          = 5e-4;
        scene.scenario.arrival_s                    = scene.arrival_s;
        scene.arrival_s[(r + 1) % 7]                = 0;
        ct_scene_ready(&scene);
        memcpy(&straggler, &scene.options, sizeof straggler);
        cr_assert_eq(straggler, r);
    }
}

/* Nobody sends twice or receives twice in a round of the main phase. Telephone model: every rank
 * hears from whom it talks to, or the other direction is empty. */
static void check_round(uint32_t n, const cs_transfer *t, size_t count, bool is_telephone)
{
    uint32_t *to = malloc(n * sizeof *to), *from = malloc(n * sizeof *from);

    cr_assert(to != NULL && from != NULL);
    memset(to, 0xff, n * sizeof *to);
    memset(from, 0xff, n * sizeof *from);
    for (size_t i = 0; i < count; i++) {
        cr_assert(to[t[i].src] == UINT32_MAX && from[t[i].dst] == UINT32_MAX);
        to[t[i].src]   = t[i].dst;
        from[t[i].dst] = t[i].src;
        if (cs_transfer_op(&t[i]) == CS_OP_EXCHANGE) {
            cr_assert(to[t[i].dst] == UINT32_MAX && from[t[i].src] == UINT32_MAX);
            to[t[i].dst]   = t[i].src;
            from[t[i].src] = t[i].dst;
        }
    }
    for (uint32_t r = 0; r < n; r++) {
        cr_assert(!is_telephone || to[r] == UINT32_MAX || from[r] == UINT32_MAX || to[r] == from[r],
                  "rank %u sends to %u and receives from %u", r, to[r], from[r]);
    }
    free(to);
    free(from);
}

static void check_main_phase(uint32_t n, const ct_stream *s, bool is_telephone, uint32_t want)
{
    uint32_t rounds = 0, straggler = UINT32_MAX;
    uint64_t messages = 0;

    for (size_t i = 0; i < s->count;) {
        size_t end = i;
        while (end < s->count && s->transfers[end].round == s->transfers[i].round) {
            end++;
        }
        if (s->transfers[i].round >= n - 2) {
            check_round(n, s->transfers + i, end - i, is_telephone);
            messages += end - i + (cs_transfer_op(&s->transfers[i]) == CS_OP_EXCHANGE);
            rounds++;
        }
        i = end;
    }
    for (size_t i = 0; i < s->count; i++) {
        if (cs_transfer_op(&s->transfers[i]) == CS_OP_EXCHANGE) {
            cr_assert(straggler == UINT32_MAX || straggler == s->transfers[i].dst);
            straggler = s->transfers[i].dst;
        }
    }
    cr_assert_eq(messages, (uint64_t)n * (n - 1));
    cr_assert_eq(rounds, want, "n=%u: %u rounds", n, rounds);
}

static void check_rounds(uint32_t n)
{
    late_options o = {n / 3, 0, 0};

    ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, n, 4096);
    set_options(&o);
    ct_scene_ready(&scene);
    ct_stream s = ct_stream_record(&scene, 512);
    cr_assert_eq(s.transfers[0].round, 0);
    check_main_phase(n, &s, n % 2 == 0 || n == 3, n - 2 + log2_of(n));
    cr_assert_eq(scene.plan.n_rounds, 2 * (n - 2) + log2_of(n));
    ct_stream_free(&s);
}

Test(stragglar, n_minus_2_plus_log_n_rounds_of_the_telephone_model)
{
    for (uint32_t n = 2; n <= 512; n += n < 130 ? 2 : 38) {
        check_rounds(n);
    }
    for (uint32_t n = 256; n <= 1024; n *= 2) {
        check_rounds(n);
    }
}

Test(stragglar, as_many_rounds_for_odd_numbers_in_duplex)
{
    for (uint32_t n = 3; n <= 513; n += n < 130 ? 2 : 64) {
        check_rounds(n);
    }
}

/* (n-2) s in the ring, n s in the main phase; slots: log n + 3 from four ranks on. */
Test(stragglar, traffic_is_exact_for_any_straggler)
{
    static const uint64_t sizes[] = {1, 7, 1000, 12345677};

    for (uint32_t n = 2; n <= 67; n += 1 + n / 9) {
        for (uint32_t late = 0; late < n; late += 1 + n / 8) {
            ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, n, sizes[late % 4]);
            late_options o = {late, 0, 0};
            set_options(&o);
            ct_scene_ready(&scene);
            cs_outcome out = ct_scene_replay(&scene, NULL);
            cr_assert(out.verified);
            cr_assert_eq(out.wire_bytes, 2 * (uint64_t)(n - 1) * sizes[late % 4]);
            cr_assert_eq(out.n_transfers, (uint64_t)(n - 1) * (n - 2) + (uint64_t)n * (n - 1));
            cr_assert_eq(scene.plan.n_slots, n < 4 ? 3 : log2_of(n) + 3);
        }
    }
}

/* Every n up to 200, and some up to 1024, as a whole: verified, and in time. With those that the
 * conditions and the tail of test_rotation.c cover, that is every n up to 2048. */
Test(stragglar, every_number_of_ranks)
{
    for (uint32_t n = 2; n <= 1024; n += n < 200 ? 1 : 103) {
        late_options o = {n - 1, 0, 0};
        ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, n, 64u * (n - 1));
        check_time(&o);
        cr_assert(ct_scene_replay(&scene, NULL).verified);
    }
}

Test(stragglar, ranks_that_do_not_exist_are_refused)
{
    late_options o   = {8, 0, 0};
    cs_error     err = {0};

    ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, 8, 4096);
    set_options(&o);
    cr_assert_eq(ct_scene_check(&scene, &err), CS_EINVAL);
    cr_assert_str_eq(err.where, "algorithm.options.straggler");
}
