/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dispatcher against the single pass: with the times of alpha-beta behind it, every start and
 * every end of every algorithm is the same to the last bit, with random clusters, arrivals and
 * slow NICs. So it is on the flow model on a crossbar where every message has its ports for itself,
 * and nearly so on a network with links for everybody. */
#include "cs/topology.h"
#include "support/port_network.h"
#include "support/reference.h"
#include "support/scene.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SCENES_EACH = CT_CASES(60) };

static const cs_model *flow(void)
{
    const cs_model *model = NULL;
    cr_assert_eq(cs_model_find("flow", &model, NULL), CS_OK);
    return model;
}

static bool same_interval(cs_interval a, cs_interval b, double tolerance)
{
    if (tolerance > 0) {
        return ct_is_close(a.start_s, b.start_s, tolerance) &&
               ct_is_close(a.end_s, b.end_s, tolerance);
    }
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Everything about two runs; a tolerance of 0 asks for the same bits. */
static void expect_same(const ct_scene *scene, const ct_run *want, const ct_run *got,
                        double tolerance)
{
    cr_assert_eq(got->count, want->count, "%s", ct_scene_text(scene));
    for (size_t i = 0; i < want->count; i++) {
        cr_assert(same_interval(got->intervals[i], want->intervals[i], tolerance),
                  "%s: transfer %zu holds its ports in [%.17g, %.17g] s, not [%.17g, %.17g] s",
                  ct_scene_text(scene), i, got->intervals[i].start_s, got->intervals[i].end_s,
                  want->intervals[i].start_s, want->intervals[i].end_s);
    }
    cr_assert(same_interval((cs_interval){got->outcome.exposed_s, got->outcome.elapsed_s},
                            (cs_interval){want->outcome.exposed_s, want->outcome.elapsed_s},
                            tolerance),
              "%s: %.17g s, not %.17g s", ct_scene_text(scene), got->outcome.elapsed_s,
              want->outcome.elapsed_s);
    cr_assert_eq(got->outcome.n_transfers, want->outcome.n_transfers);
    cr_assert_eq(got->outcome.wire_bytes, want->outcome.wire_bytes);
    cr_assert_eq(got->outcome.verified, want->outcome.verified);
}

static void compare(ct_scene *scene, ct_rng *rng)
{
    ct_rules              rules = ct_rules_random(&scene->scenario.cluster, rng, false);
    ct_model              model = ct_model_of(&rules);
    const ct_port_options ports = {.message_gap_s = rules.message_gap_s};
    ct_run                want  = ct_scene_observe_on(scene, model.model, &model.options);
    ct_run                got   = ct_scene_observe_on(scene, &ct_port_network, &ports);

    expect_same(scene, &want, &got, 0);
    ct_run_free(&want);
    ct_run_free(&got);
}

static void compare_flow(ct_scene *scene, ct_rng *rng)
{
    ct_run want = ct_scene_observe(scene), got = ct_scene_observe_on(scene, flow(), NULL);

    (void)rng;
    if ((scene->plan.uses & CS_USES_SHARED) == 0) {
        expect_same(scene, &want, &got, 0);
    }
    cr_assert(got.outcome.verified);
    ct_run_free(&want);
    ct_run_free(&got);
}

/* Uplinks that could carry everything. */
static void compare_wide(ct_scene *scene, ct_rng *rng)
{
    static cs_link links[2 * 64 * 3];
    cs_cluster    *cluster = &scene->scenario.cluster;
    double         wide    = 100 * cluster->fabrics[CS_NIC].bandwidth_Bps;
    cs_leaf_spine shape = {1 + ct_below(rng, cs_n_servers(cluster)), 1 + ct_below(rng, 3), wide, 0};
    cs_topology   topology;

    /* No route leads to a switch that adds up: a job is refused that has both. */
    if ((scene->plan.uses & (CS_USES_SHARED | CS_USES_NETWORK_SWITCH)) != 0) {
        return;
    }
    ct_run want = ct_scene_observe(scene);
    cs_leaf_spine_make(&shape, links, &topology);
    cluster->topology = &topology;
    ct_scene_ready(scene);
    ct_run got = ct_scene_observe_on(scene, flow(), NULL);
    expect_same(scene, &want, &got, 1e-12);
    cluster->topology = NULL;
    ct_run_free(&want);
    ct_run_free(&got);
}

static void for_scenes(uint64_t salt, void (*check)(ct_scene *, ct_rng *))
{
    static ct_scene scene;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        ct_rng rng = ct_rng_for(salt + a);
        for (int i = 0; i < SCENES_EACH; i++) {
            ct_scene_random(&scene, cs_algorithms[a], &rng);
            if (i % 2 == 0) {
                ct_scene_break_nics(&scene, &rng);
                ct_scene_ready(&scene);
            }
            check(&scene, &rng);
        }
    }
}

Test(dispatch, equals_the_single_pass_for_every_algorithm)
{
    for_scenes(700, compare);
}

Test(dispatch, flow_equals_alpha_beta_where_nothing_contends)
{
    for_scenes(800, compare_flow);
}

Test(dispatch, flow_over_wide_links_equals_alpha_beta)
{
    for_scenes(900, compare_wide);
}

/* Few slots and many: spans that read and add to what several messages wrote, or to a part of it.
 */
Test(dispatch, equals_the_single_pass_for_random_streams)
{
    static const struct {
        uint32_t slots, most_span;
    } sizes[]             = {{4, 3}, {24, 20}, {100, 60}};
    static ct_scene scene = {0};
    ct_rng          rng   = ct_rng_for(1200);

    for (uint32_t i = 0; i < 192; i++) {
        uint32_t  n = 4 + 2 * ct_below(&rng, 4), slots = sizes[i % 3].slots;
        cs_plan   plan   = {.n_chunks = 200, .n_slots = slots, .n_rounds = 301, .uses = i / 3 % 16};
        ct_stream stream = {0};
        ct_scene_set(&scene, "ring", CS_ALLREDUCE, n, 1000);
        scene.scenario.cluster =
            (cs_cluster){.n_ranks         = n,
                         .gpus_per_server = (plan.uses & CS_USES_NVLINK) != 0 ? n / 2 : 1,
                         .fabrics         = {{CS_SWITCHED, 1, 1}, {CS_DIRECT, 1, 2}}};
        ct_scene_drive(&scene, &rng);
        if (i % 5 < 3) {
            ct_scene_arrive(&scene, &rng, 1000);
        }
        ct_stream_add_random(&stream, &rng, &scene.scenario.cluster, plan.uses, slots,
                             sizes[i % 3].most_span);
        ct_scene_play(&scene, &stream, &plan);
        compare(&scene, &rng);
        ct_stream_free(&stream);
    }
}

/* Behind a fence the second message writes two of the ten slots that the first one wrote, and takes
 * its version's name again. A sum over all ten waits for those two only: the ninth is read as soon
 * as the sum is there, the third when both are. */
Test(dispatch, a_sum_waits_only_where_something_is_under_way)
{
    static ct_scene   scene  = {0};
    const cs_cluster *c      = &scene.scenario.cluster;
    ct_stream         stream = {0};
    ct_rng            rng    = ct_rng_for(1400);
    cs_plan           plan   = {
                    .n_chunks = 10, .n_slots = 10, .n_rounds = 1, .uses = CS_USES_SPAN | CS_USES_NVLINK};

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 1000);
    scene.scenario.cluster = (cs_cluster){
        .n_ranks = 4, .gpus_per_server = 4, .fabrics = {{CS_SWITCHED, 1, 1}, {CS_DIRECT, 1, 1}}};
    ct_stream_send(&stream, c, 0, 1, 2, CS_OP_COPY, CS_OWN_SRC)->span = 10;
    cs_transfer *two = ct_stream_send(&stream, c, 2, 1, 500, CS_OP_COPY, CS_OWN_SRC | CS_FENCE);
    two->span        = 2;
    two->dst_slot    = 2;
    stream.fences[1] = (ct_fence){CS_FENCE_ALL, 0};
    ct_stream_send(&stream, c, 3, 1, 4, CS_OP_REDUCE, CS_OWN_SRC)->span = 10;
    ct_stream_send(&stream, c, 1, 0, 7, CS_OP_COPY, 0)->src_slot        = 8;
    ct_stream_send(&stream, c, 1, 3, 7, CS_OP_COPY, 0)->src_slot        = 2;
    ct_scene_play(&scene, &stream, &plan);
    ct_run run = ct_scene_observe_on(&scene, &ct_port_network, NULL);
    cr_assert_eq(run.count, 5);
    cr_expect_eq(run.intervals[2].end_s, 3 + 5);
    cr_expect_eq(run.intervals[3].start_s, 8);
    cr_expect_eq(run.intervals[4].start_s, 3 + 501);
    ct_run_free(&run);
    compare(&scene, &rng);
    ct_stream_free(&stream);
}

/* A rank that nobody talks to and that comes when all is over: the end is its arrival. */
Test(dispatch, the_end_is_not_before_the_last_arrival)
{
    static ct_scene scene  = {0};
    ct_stream       stream = {0};
    cs_plan         plan   = {.n_chunks = 1, .n_slots = 1, .n_rounds = 1};
    ct_rng          rng    = ct_rng_for(1300);

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 3, 1000);
    scene.arrival_s[2]       = 7;
    scene.scenario.arrival_s = scene.arrival_s;
    ct_stream_send(&stream, &scene.scenario.cluster, 0, 1, 1000, CS_OP_COPY, CS_OWN_SRC);
    ct_scene_play(&scene, &stream, &plan);
    ct_run run = ct_scene_observe_on(&scene, &ct_port_network, NULL);
    cr_expect_eq(run.outcome.elapsed_s, 7);
    cr_expect_eq(run.outcome.exposed_s, 0);
    ct_run_free(&run);
    compare(&scene, &rng);
    ct_stream_free(&stream);
}

/* The formulas of the algorithms hold on the flow model, also those of SHARED groups; twice the
 * same bits. */
Test(dispatch, closed_forms_hold_on_flow)
{
    static ct_scene scene;
    cs_options      options   = {0};
    int             n_checked = 0;

    cs_fields_default(flow()->options, &options);
    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        const cs_algorithm *algorithm = cs_algorithms[a];
        ct_rng              rng       = ct_rng_for(1000 + a);
        for (int i = 0; i < 2 * SCENES_EACH && algorithm->closed_form_s != NULL; i++) {
            ct_scene_random(&scene, algorithm, &rng);
            bool   holds = cs_closed_forms_hold(flow(), &scene.scenario, &options, scene.plan.uses);
            double want_s = holds ? algorithm->closed_form_s(&scene.scenario, &scene.options) : 0;
            ct_run got    = ct_scene_observe_on(&scene, flow(), NULL);
            ct_run again  = ct_scene_observe_on(&scene, flow(), NULL);
            expect_same(&scene, &got, &again, 0);
            if (want_s > 0) {
                cr_assert(ct_is_close(got.outcome.elapsed_s, want_s, 1e-11), "%s: %.15g, not %.15g",
                          ct_scene_text(&scene), got.outcome.elapsed_s, want_s);
                n_checked++;
            }
            ct_run_free(&got);
            ct_run_free(&again);
        }
    }
    cr_assert_gt(n_checked, CT_CASES(100));
}
