/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MSCCL's allpairs: two rounds of everybody to everybody. */
#include "cs/result.h"
#include "support/reference.h"

#include <criterion/criterion.h>
#include <math.h>

static ct_scene scene;

/* 2 alpha + 2 (n-1)/n x after the last arrival. */
Test(allpairs, time_from_the_last_arrival_on)
{
    ct_rng rng = ct_rng_for(4);

    for (uint32_t n = 2; n <= 40; n++) {
        ct_scene_set(&scene, "allpairs", CS_ALLREDUCE, n, 4096u * n);
        ct_scene_arrive(&scene, &rng, 1e-3);
        ct_scene_ready(&scene);
        double last_s = 0;
        for (uint32_t r = 0; r < n; r++) {
            last_s = fmax(last_s, scene.arrival_s[r]);
        }
        double want_s = last_s + 2 * 3e-6 + 2 * (n - 1) * 4096 / 450e9;
        double got_s  = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(ct_is_close(got_s, want_s, 1e-12), "n=%u: %.17g, not %.17g", n, got_s, want_s);
        got_s = scene.algorithm->closed_form_s(&scene.scenario, NULL);
        cr_assert(ct_is_close(got_s, want_s, 1e-12));
        cr_assert_eq(scene.plan.n_rounds, 2);
    }
}

static cs_result result_on(const cs_model *model, const void *options)
{
    cs_result result;
    cs_error  err = {0};
    cs_job    job = ct_scene_given(&scene, NULL);

    cs_job_set_model(&job, model, options);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s", err.message);
    return result;
}

/* A port has n - 1 messages a round: n - 2 gaps, whatever the model. The formula knows nothing of
 * them, so that there is none. The ring has no groups and pays nothing. */
Test(allpairs, pays_the_message_gap_of_every_port)
{
    static const uint32_t ns[]     = {2, 3, 5, 16, 64, 1024};
    const double          gaps_s[] = {0, 0.2e-6, 7e-6};

    for (int i = 0; i < 6 * 3 * 2; i++) {
        uint32_t n      = ns[i % 6];
        ct_rules rules  = {.is_loggp = i < 18, .message_gap_s = gaps_s[i / 6 % 3]};
        ct_model model  = ct_model_of(&rules);
        double   want_s = 2 * (3e-6 + (n - 2) * rules.message_gap_s) + 2 * (n - 1) * 4096 / 450e9;
        ct_scene_set(&scene, "allpairs", CS_ALLREDUCE, n, 4096u * n);
        cs_result r = result_on(model.model, &model.options);
        cr_assert(ct_is_close(r.elapsed_s, want_s, 1e-12), "%s, n=%u: %.17g, not %.17g", r.model, n,
                  r.elapsed_s, want_s);
        cr_assert(r.verified);
        cr_assert_eq(isnan(r.closed_form_s), rules.is_loggp || rules.message_gap_s > 0);
        ct_scene_set(&scene, "ring", CS_ALLREDUCE, n, 4096u * n);
        r = result_on(model.model, &model.options);
        cr_assert(ct_is_close(r.elapsed_s, 2 * (n - 1) * (3e-6 + 4096 / 450e9), 1e-12));
        cr_assert_eq(isnan(r.closed_form_s), rules.is_loggp);
    }
}

/* Every chunk goes n-1 times over a wire in each round; every ordered pair talks once a round. */
Test(allpairs, traffic_is_exact)
{
    static const uint64_t sizes[] = {1, 7, 1000, 12345677};

    for (uint32_t n = 2; n <= 33; n++) {
        for (int i = 0; i < 4; i++) {
            ct_scene_set(&scene, "allpairs", CS_ALLREDUCE, n, sizes[i]);
            ct_scene_ready(&scene);
            cs_outcome out = ct_scene_replay(&scene, NULL);
            cr_assert_eq(out.wire_bytes, 2 * (uint64_t)(n - 1) * sizes[i]);
            cr_assert_eq(out.n_transfers, 2 * (uint64_t)n * (n - 1));
        }
    }
}

Test(allpairs, every_pair_talks_once_a_round)
{
    enum { N = 9 };
    uint32_t met[2][N][N] = {{{0}}};

    ct_scene_set(&scene, "allpairs", CS_ALLREDUCE, N, 1000);
    ct_scene_ready(&scene);
    ct_stream s = ct_stream_record(&scene, 64);
    for (size_t i = 0; i < s.count; i++) {
        const cs_transfer *t = &s.transfers[i];
        cr_assert_eq(met[t->round][t->src][t->dst]++, 0);
        cr_assert_eq(t->chunk, t->round == 0 ? t->dst : t->src);
        cr_assert((t->flags & CS_SHARED) != 0);
    }
    cr_assert_eq(s.count, 2 * N * (N - 1));
    ct_stream_free(&s);
}

Test(allpairs, is_not_called_round_synchronous)
{
    ct_scene_set(&scene, "allpairs", CS_ALLREDUCE, 4, 4096);
    ct_scene_ready(&scene);
    cr_assert_not(scene.plan.is_round_synchronous);
    scene.scenario.bytes = 4097;
    cr_assert(isnan(scene.algorithm->closed_form_s(&scene.scenario, NULL)));
}
