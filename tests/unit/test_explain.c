/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The critical path on alpha-beta has no hole: every transfer on it begins when the one before it
 * ends, or when a rank arrives; the last one ends with the run. With random clusters, also where
 * GPUs drive some of their links only and a transfer waits for one beside its own. */
#include "replay/explain.h"
#include "support/random_scene.h"

#include <criterion/criterion.h>
#include <math.h>

enum { SCENES_EACH = 60 };

static ct_scene scene;

static bool is_arrival(double time_s)
{
    for (uint32_t r = 0; r < scene.scenario.cluster.n_ranks; r++) {
        if (ct_is_close(cs_arrival(&scene.scenario, r), time_s, 1e-12)) {
            return true;
        }
    }
    return false;
}

static double explain(cs_explain *e)
{
    cs_observer       observer = cs_explain_observer(e);
    cs_options        none     = {0};
    cs_outcome        outcome;
    cs_replay_request request = {.scenario      = &scene.scenario,
                                 .algorithm     = scene.algorithm,
                                 .options       = &scene.options,
                                 .plan          = &scene.plan,
                                 .model         = cs_models[0],
                                 .model_options = &none,
                                 .observers     = &observer,
                                 .n_observers   = 1};

    cs_fields_default(cs_models[0]->options, &none);
    cr_assert_eq(cs_replay(&request, &outcome, NULL), CS_OK);
    return outcome.elapsed_s;
}

static void expect_no_hole(void)
{
    const cs_path_step *steps = NULL;
    cs_explain         *e     = NULL;
    size_t              count = 0;

    cr_assert_eq(cs_explain_open(&scene.scenario, &scene.plan, &e, NULL), CS_OK);
    double elapsed_s = explain(e), rounding_s = 1e-12 * elapsed_s;
    cr_assert_eq(cs_explain_path(e, &steps, &count, NULL), CS_OK);
    cr_assert_gt(count, 0);
    for (size_t i = 0; i < count; i++) {
        double start_s = steps[i].start_s, before_s = i > 0 ? steps[i - 1].end_s : 0;
        cr_assert(
            fabs(start_s - before_s) <= rounding_s || is_arrival(start_s),
            "%s: step %zu of %zu, %u -> %u, begins at %.17g s and waited for %s, which ended at "
            "%.17g s",
            ct_scene_text(&scene), i, count, steps[i].src, steps[i].dst, start_s,
            cs_wait_text(steps[i].wait), before_s);
    }
    cr_assert(fabs(steps[count - 1].end_s - elapsed_s) <= rounding_s || is_arrival(elapsed_s));
    cs_explain_close(e);
}

Test(explain, the_path_has_no_hole)
{
    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        ct_rng rng = ct_rng_for(5100 + a);
        for (int i = 0; i < SCENES_EACH; i++) {
            ct_scene_random(&scene, cs_algorithms[a], &rng);
            if (i % 2 == 0) { /* one server, all in a mesh */
                cs_cluster *c              = &scene.scenario.cluster;
                c->gpus_per_server         = c->n_ranks;
                c->sockets                 = 1;
                c->fabrics[CS_NVLINK].kind = CS_DIRECT;
                c->nvlink_concurrent       = 1 + ct_below(&rng, 4);
                if (ct_scene_check(&scene, NULL) != CS_OK) {
                    continue;
                }
            }
            expect_no_hole();
        }
    }
}
