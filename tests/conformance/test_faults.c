/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fault never makes anything faster: every algorithm, with whatever it chooses by itself, on
 * random clusters, sizes and arrivals, without a fault and with random ones. */
#include "cs/result.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

enum { SCENES_EACH = 60 };

/* Have everything chosen that can be. */
static void choose_all(ct_scene *scene, ct_rng *rng)
{
    const cs_field *table = scene->algorithm->options;

    for (const cs_field *o = table; o != NULL && o->name != NULL; o++) {
        if (o->has_auto && ct_below(rng, 2) == 0) {
            ct_scene_option(scene, o->name, "auto");
        }
    }
}

/* A model with random options that the scenario allows. */
static void choose_model(const ct_scene *scene, ct_rng *rng, const cs_model **model_p,
                         cs_options *options)
{
    double least = HUGE_VAL;
    char   text[40];
    bool   is_loggp = ct_below(rng, 3) == 0;

    for (uint32_t f = 0; f < cs_n_fabrics(&scene->scenario.cluster); f++) {
        least = fmin(least, scene->scenario.cluster.fabrics[f].alpha_s);
    }
    cr_assert_eq(cs_model_find(is_loggp ? "loggp" : "alpha-beta", model_p, NULL), CS_OK);
    cs_fields_default((*model_p)->options, options);
    snprintf(text, sizeof text, "%.17g", ct_uniform(rng, 0, is_loggp ? least / 2 : 1e-5));
    if (ct_below(rng, 2) == 0) {
        cr_assert_eq(cs_field_set((*model_p)->options, options,
                                  is_loggp ? "overhead_s" : "propagation_s", text, "", NULL),
                     CS_OK);
    }
}

/* The time of a scenario; NAN where it is refused. */
static double elapsed_s(const ct_scene *scene, const cs_scenario *scenario, const cs_model *model,
                        const cs_options *model_options)
{
    cs_job    job    = ct_scene_given(scene, NULL);
    cs_result result = {0};
    cs_error  err    = {0};

    job.scenario = *scenario;
    cs_job_set_model(&job, model, model_options);
    cs_status status = cs_job_run(&job, NULL, 0, &result, &err);
    cr_assert(status == CS_OK || status == CS_ENOTSUP || status == CS_EINVAL, "%s", err.message);
    cr_assert(status != CS_OK || result.verified, "%s", ct_scene_text(scene));
    return status == CS_OK ? result.elapsed_s : (double)NAN;
}

Test(conformance_faults, never_make_anything_faster, .timeout = 250)
{
    static ct_scene scene;
    ct_rng          rng  = ct_rng_for(2611);
    size_t          seen = 0;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        for (int i = 0; i < SCENES_EACH; i++) {
            const cs_model *model;
            cs_options      chosen, model_options = {0};

            ct_scene_random(&scene, cs_algorithms[a], &rng);
            if (cs_algorithms[a]->options != NULL) { /* not as the check left them */
                cs_fields_default(cs_algorithms[a]->options, &scene.options);
            }
            choose_all(&scene, &rng);
            chosen = scene.options;
            choose_model(&scene, &rng, &model, &model_options);
            cs_scenario healthy = scene.scenario;
            ct_scene_break_nics(&scene, &rng);
            scene.options    = chosen;
            double without_s = elapsed_s(&scene, &healthy, model, &model_options);
            double with_s    = elapsed_s(&scene, &scene.scenario, model, &model_options);
            seen += scene.scenario.n_capacity > 0 && !isnan(with_s);
            cr_expect(!(with_s < without_s * (1 - 1e-9)),
                      "%s, %s: %.12g s, with %zu faults %.12g s", ct_scene_text(&scene),
                      model->name, without_s, scene.scenario.n_capacity, with_s);
        }
    }
    cr_assert_gt(seen, 400, "only %zu scenarios had faults and ran", seen);
}
