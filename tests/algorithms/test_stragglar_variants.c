/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR with nobody late, options that are resolved already, and what is refused. */
#include "base/alloc.h"
#include "stragglar_late_setup.h"

#include <math.h>

/* Nobody is late: the baseline itself runs. */
Test(variants, none_is_the_baseline)
{
    static const char *const baselines[] = {"circulant", "latency_optimal", "merged_rhd", "ring"};

    for (size_t i = 0; i < 4; i++) {
        for (uint32_t n = 4; n <= 12; n += 4) {
            ct_scene_set(&scene, baselines[i], CS_ALLREDUCE, n, 1u << 20);
            double want_s = run().elapsed_s, form_s = closed_form_s();
            begin(n, 1u << 20);
            set("late_ranks", "0");
            set("baseline", baselines[i]);
            cr_assert_eq(run().elapsed_s, want_s);
            cr_assert(form_s == closed_form_s() || (isnan(form_s) && isnan(closed_form_s())));
        }
    }
}

/* What check() has resolved resolves to itself. */
Test(variants, resolved_options_stay)
{
    ct_rng rng = ct_rng_for(84);

    for (uint32_t i = 0; i < 40; i++) {
        begin(3 + ct_below(&rng, 12), 1u << 24);
        ct_scene_arrive(&scene, &rng, ct_uniform(&rng, 1e-5, 1e-3));
        set("late_ranks", "auto");
        ct_scene_ready(&scene);
        cs_options first  = scene.options;
        uint32_t   rounds = scene.plan.n_rounds;
        ct_scene_ready(&scene);
        cr_assert_eq(memcmp(&first, &scene.options, scene.algorithm->options_bytes), 0);
        cr_assert_eq(rounds, scene.plan.n_rounds);
    }
}

static void refused(uint32_t n, const char *key, const char *value, const char *key2,
                    const char *value2, const char *text)
{
    cs_error err = {0};

    begin(n, 4096);
    set(key, value);
    if (key2 != NULL) {
        set(key2, value2);
    }
    cs_status status = ct_scene_check(&scene, &err);
    cr_assert(status == CS_ENOTSUP || status == CS_EINVAL, "%s=%s", key, value);
    cr_assert_not_null(strstr(err.message, text), "%s", err.message);
}

Test(variants, what_is_refused_says_why)
{
    refused(8, "late_ranks", "8", NULL, NULL, "8 late ranks of 8; accepted are 0 .. 7 and auto");
    refused(8, "late_ranks", "2", "chunks", "20", "multiples of 6");
    refused(8, "late_ranks", "2", "chunks", "65538", "at most 65535 are accepted");
    refused(8, "late_ranks", "2", "straggler", "3", "a straggler");
    refused(8, "late_ranks", "auto", "model", "telephone", "telephone");
    refused(8, "late_ranks", "3", "entry_barrier_s", "1e-6", "barriers");
    refused(1500, "late_ranks", "2", NULL, NULL, "at most 1024 ranks, got 1500");
    refused(7, "late_ranks", "0", "baseline", "merged_rhd", "even number");
}

/* Whichever allocation fails, in check() or open(). */
Test(variants, every_allocation_may_fail)
{
    static const char *const cases[][2] = {
        {"model", "telephone"}, {"late_ranks", "3"}, {"late_ranks", "auto"}, {"late_ranks", "0"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_status status = CS_ENOMEM;
        long      failed = 0;
        for (; status != CS_OK; failed++) {
            void    *state = NULL;
            cs_error err   = {0};
            begin(8, 1u << 26);
            arrive(3, 1.5 * x_s());
            set(cases[i][0], cases[i][1]);
            cs_alloc_fail_after(failed);
            status = ct_scene_check(&scene, &err);
            if (status == CS_OK) {
                const cs_job job = ct_scene_job(&scene, NULL);
                status           = cs_job_open(&job, &state, &err);
            }
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || (status == CS_ENOMEM && err.status == CS_ENOMEM),
                      "%s=%s, allocation %ld: %s", cases[i][0], cases[i][1], failed, err.message);
            scene.algorithm->close(state);
        }
        cr_assert_geq(failed, 2);
    }
}
