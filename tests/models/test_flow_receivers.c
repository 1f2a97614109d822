/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flow model with shared receivers: a port takes all messages that come, by hand with incast
 * and late ranks; and for every algorithm the schedule stays correct, no bound is beaten, and two
 * runs are the same. */
#include "cs/result.h"
#include "support/scene.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static ct_scene  scene;
static ct_stream stream; /* that the scene plays */

static cs_options options_of(const cs_model **model_p, const char *incast)
{
    cs_options options = {0};

    cr_assert_eq(cs_model_find("flow", model_p, NULL), CS_OK);
    cs_fields_default((*model_p)->options, &options);
    cr_assert_eq(cs_field_set((*model_p)->options, &options, "receivers", "share", "test", NULL),
                 CS_OK);
    cr_assert_eq(cs_field_set((*model_p)->options, &options, "incast_ratio", incast, "test", NULL),
                 CS_OK);
    return options;
}

/* A Reduce to rank 0: 1000 bytes from each of three others, 1000 B/s, a start-up of 0.25 s. */
static void gather(void)
{
    const cs_plan plan = {.n_chunks = 1, .n_slots = 1, .n_rounds = 1};

    ct_scene_set(&scene, "ring", CS_REDUCE, 4, 1000);
    scene.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 0.25, 1000};
    scene.scenario.arrival_s               = scene.arrival_s;
    stream                                 = (ct_stream){0};
    for (uint32_t r = 1; r < 4; r++) {
        const unsigned flags = CS_OWN_SRC | (r == 1 ? CS_OWN_DST : 0) | (r == 3 ? CS_DONE_DST : 0);
        ct_stream_add(&stream,
                      (cs_transfer){.src       = r,
                                    .dst       = 0,
                                    .bytes     = 1000,
                                    .span      = 1,
                                    .flags     = (uint8_t)flags,
                                    .op_fabric = cs_op_fabric(CS_OP_REDUCE, CS_NIC)},
                      NULL);
    }
    ct_scene_play(&scene, &stream, &plan);
}

static void expect_ends(const char *incast, double first_s, double second_s, double third_s)
{
    const cs_model *model   = NULL;
    cs_options      options = options_of(&model, incast);
    ct_run          run     = ct_scene_observe_on(&scene, model, &options);
    const double    want[]  = {first_s, second_s, third_s};

    cr_assert_eq(run.count, 3);
    cr_assert(run.outcome.verified);
    for (size_t i = 0; i < 3; i++) {
        cr_expect_float_eq(run.intervals[i].end_s, want[i], 1e-9, "message %zu ends at %.12g s", i,
                           run.intervals[i].end_s);
    }
    ct_run_free(&run);
}

Test(flow_receivers, take_all_that_come)
{
    gather();
    expect_ends("1", 3.25, 3.25, 3.25);
    expect_ends("1.25", 4, 4, 4);
    scene.arrival_s[3] = 1; /* then the others have half of theirs left */
    expect_ends("1", 2.75, 2.75, 3.25);
    ct_stream_free(&stream);
}

Test(flow_receivers, nobody_sends_to_a_rank_that_is_not_there)
{
    gather();
    scene.arrival_s[0] = 7;
    scene.arrival_s[2] = 7.5;
    expect_ends("1", 10, 10.25, 10);
    ct_stream_free(&stream);
}

/* With queues each waits for the one before. */
Test(flow_receivers, queue_unless_told)
{
    gather();
    cr_expect_float_eq(ct_scene_replay(&scene, "flow").elapsed_s, 3.75, 1e-12);
    ct_stream_free(&stream);
}

static double elapsed_s(const cs_model *model, const cs_options *options)
{
    cs_result result = {0};
    cs_error  err    = {0};
    cs_job    job    = ct_scene_given(&scene, NULL);

    cs_job_set_model(&job, model, options);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s: %s", ct_scene_text(&scene),
                 err.message);
    cr_assert(result.verified, "%s: %s", ct_scene_text(&scene), result.verdict.text);
    cr_assert(result.bound_s <= result.elapsed_s * (1 + 1e-9), "%s: bound %s %g > %g",
              ct_scene_text(&scene), result.bound, result.bound_s, result.elapsed_s);
    cr_assert(isnan(result.closed_form_s));
    return result.elapsed_s;
}

Test(flow_receivers, every_algorithm_is_correct_and_above_the_bounds)
{
    const cs_model *model = NULL;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        ct_rng rng = ct_rng_for(4300 + a);
        for (int i = 0; i < 40; i++) {
            cs_options options = options_of(&model, i % 4 == 0 ? "1.25" : "1");
            ct_scene_random(&scene, cs_algorithms[a], &rng);
            if (i % 2 == 0) {
                ct_scene_break_nics(&scene, &rng);
                ct_scene_ready(&scene);
            }
            double once_s = elapsed_s(model, &options), again_s = elapsed_s(model, &options);
            cr_assert_eq(memcmp(&once_s, &again_s, sizeof once_s), 0);
        }
    }
}
