/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The broadcast baseline: an AllReduce among the early ranks, then ceil(log2 n) whole buffers. */
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef struct late_options {
    uint32_t straggler;
    double   entry_barrier_s, phase_barrier_s;
} late_options;

static ct_scene scene;

static double ceil_log2(uint32_t n)
{
    double steps = 0;
    for (uint32_t reach = 1; reach < n; reach *= 2) {
        steps++;
    }
    return steps;
}

static void set_options(const late_options *options)
{
    memcpy(&scene.options, options, sizeof *options);
}

/* Barrier 1 at E + d1, 2 (n-2) steps of one chunk, barrier 2 at max(.., A[h]) + d2, then
 * L (alpha + x). */
static double formula_s(const late_options *o)
{
    uint32_t n       = scene.scenario.cluster.n_ranks;
    double   step_s  = 3e-6 + (double)scene.scenario.bytes / (n - 1) / 450e9;
    double   early_s = 0;

    for (uint32_t r = 0; r < n; r++) {
        early_s = r != o->straggler ? fmax(early_s, scene.arrival_s[r]) : early_s;
    }
    double ready_s = early_s + (n > 2 ? o->entry_barrier_s : 0) + 2 * (n - 2) * step_s;
    double main_s  = fmax(ready_s, scene.arrival_s[o->straggler]) + o->phase_barrier_s;
    return main_s + ceil_log2(n) * (3e-6 + (double)scene.scenario.bytes / 450e9);
}

Test(broadcast, time_with_any_rank_presumed_late)
{
    ct_rng rng = ct_rng_for(5);

    for (uint32_t n = 2; n <= 40; n++) {
        for (int i = 0; i < 6; i++) {
            late_options o = {ct_below(&rng, n), i % 2 * 1e-5, i % 3 * 2e-5};
            ct_scene_set(&scene, "broadcast", CS_ALLREDUCE, n, 4096u * (n - 1));
            ct_scene_arrive(&scene, &rng, i < 4 ? 1e-3 : 1e-5);
            set_options(&o);
            ct_scene_ready(&scene);
            double want_s = formula_s(&o), got_s = ct_scene_replay(&scene, NULL).elapsed_s;
            cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: %.17g, not %.17g",
                      ct_scene_text(&scene), got_s, want_s);
            got_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
            cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: closed form %.17g, not %.17g",
                      ct_scene_text(&scene), got_s, want_s);
        }
    }
}

/* 2 (n-2) s for the ring, 2s for the exchange, (n-2) s for the tree. */
Test(broadcast, traffic_is_exact)
{
    static const uint64_t sizes[] = {1, 7, 1000, 12345677};

    for (uint32_t n = 2; n <= 33; n++) {
        for (int i = 0; i < 4; i++) {
            ct_scene_set(&scene, "broadcast", CS_ALLREDUCE, n, sizes[i]);
            ct_scene_ready(&scene);
            cs_outcome out = ct_scene_replay(&scene, NULL);
            cr_assert_eq(out.wire_bytes, (3 * (uint64_t)n - 4) * sizes[i]);
            cr_assert_eq(scene.plan.n_rounds, 2 * (n - 2) + (uint32_t)ceil_log2(n));
        }
    }
}

/* After the exchange the number of ranks that have the result doubles every round, up to n. */
Test(broadcast, the_result_doubles)
{
    for (uint32_t n = 2; n <= 40; n++) {
        ct_scene_set(&scene, "broadcast", CS_ALLREDUCE, n, 1000);
        ct_scene_ready(&scene);
        ct_stream s    = ct_stream_record(&scene, 64);
        uint32_t  have = 0, round = 2 * (n - 2);
        for (size_t i = 0; i < s.count; i++) {
            if (s.transfers[i].round < round || s.transfers[i].span < n - 1) {
                continue;
            }
            have += cs_transfer_op(&s.transfers[i]) == CS_OP_EXCHANGE ? 2 : 1;
            uint32_t most = 2u << (s.transfers[i].round - round);
            cr_assert_leq(have, most < n ? most : n);
        }
        cr_assert_eq(have, n);
        ct_stream_free(&s);
    }
}

Test(broadcast, a_rank_that_does_not_exist_is_refused)
{
    cs_error     err = {0};
    late_options o   = {4, 0, 0};

    ct_scene_set(&scene, "broadcast", CS_ALLREDUCE, 4, 4096);
    set_options(&o);
    cr_assert_eq(ct_scene_check(&scene, &err), CS_EINVAL);
    cr_assert_str_eq(err.where, "algorithm.options.straggler");
}
