/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The critical path on alpha-beta has no hole: every transfer on it begins when the one before it
 * ends, or when a rank arrives; the last one ends with the run. With random clusters, also where
 * GPUs drive some of their links only and a transfer waits for one beside its own. */
#include "engine/explain.h"

#include "base/alloc.h"
#include "support/scene.h"

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

static double record(cs_recording *recording)
{
    cs_observer observer = cs_recording_observer(recording);
    cs_job      job      = ct_scene_job(&scene, NULL);
    cs_outcome  outcome;

    job.verify = false;
    cr_assert_eq(cs_job_replay(&job, &observer, 1, &outcome, NULL), CS_OK);
    return outcome.elapsed_s;
}

/* Of every transfer, not of those on the path alone: its cause ended when it began, or a rank came
 * then; a cause stands before its transfer. */
static void expect_causes(const cs_recording *recording, double rounding_s)
{
    cs_arena  arena = {0};
    cs_causes found = {0};

    cr_assert_eq(cs_causes_find(recording, &scene.scenario, &arena, &found, NULL), CS_OK);
    for (size_t i = 0; i < recording->n_transfers; i++) {
        uint32_t before   = found.causes[i].before;
        double   start_s  = recording->intervals[i].start_s;
        double   before_s = before != CS_NO_CAUSE ? recording->intervals[before].end_s : 0;
        bool     is_sound = fabs(start_s - before_s) <= rounding_s || is_arrival(start_s) ||
                        recording->transfers[i].bytes == 0;
        is_sound = is_sound && (before == CS_NO_CAUSE || before < i);
        is_sound = is_sound && (before == CS_NO_CAUSE) == (found.causes[i].wait == CS_WAIT_ARRIVAL);
        if (!is_sound) { /* an assertion takes longer than all of this */
            cr_assert_fail("%s: transfer %zu begins at %.17g s and waited for %s, which ended at "
                           "%.17g s",
                           ct_scene_text(&scene), i, start_s, cs_wait_text(found.causes[i].wait),
                           before_s);
        }
    }
    cs_arena_free(&arena);
}

static void expect_no_hole(void)
{
    const cs_path_step *steps     = NULL;
    cs_recording        recording = {0};
    cs_arena            arena     = {0};
    size_t              count     = 0;

    double elapsed_s = record(&recording), rounding_s = 1e-12 * elapsed_s;
    cr_assert_eq(cs_critical_path(&recording, &scene.scenario, &arena, &steps, &count, NULL),
                 CS_OK);
    cr_assert_gt(count, 0);
    expect_causes(&recording, rounding_s);
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
    cs_arena_free(&arena);
    cs_recording_free(&recording);
}

/* Two messages through one port, the second of which is in the stream behind a barrier of all but
 * its receiver: it waited for the port, and a third one of another rank for the barrier. */
Test(explain, ports_and_barriers_are_told_apart)
{
    static const cs_interval intervals[] = {{0, 1}, {1, 2}, {1.5, 4}};
    cs_transfer              transfers[] = {
                     {.src = 0, .dst = 1, .bytes = 8, .span = 1, .flags = CS_OWN_SRC},
                     {.src = 0, .dst = 2, .chunk = 1, .bytes = 8, .span = 1, .flags = CS_OWN_SRC | CS_FENCE},
                     {.src = 3, .dst = 4, .chunk = 2, .bytes = 8, .span = 1, .flags = CS_OWN_SRC}};
    cs_block            block     = {.transfers = transfers, .count = 3, .fence_except = 2};
    cs_scenario         five      = {.cluster = {.n_ranks = 5, .gpus_per_server = 1}};
    cs_recording        recording = {0};
    cs_arena            arena     = {0};
    const cs_path_step *steps     = NULL;
    size_t              count     = 0;

    cs_observer observer = cs_recording_observer(&recording);
    cr_assert_eq(observer.block(observer.user, &block, intervals, NULL), CS_OK);
    cr_assert_eq(cs_critical_path(&recording, &five, &arena, &steps, &count, NULL), CS_OK);
    cr_assert_eq(count, 1, "nothing stands before the barrier of the first block");
    cr_assert_eq(steps[0].wait, CS_WAIT_ARRIVAL);
    cs_recording_free(&recording);

    observer = cs_recording_observer(&recording);
    for (size_t i = 0; i < 3; i++) {
        cs_block one = {.transfers = &transfers[i], .count = 1, .fence_except = 2};
        cr_assert_eq(observer.block(observer.user, &one, &intervals[i], NULL), CS_OK);
    }
    cr_assert_eq(cs_critical_path(&recording, &five, &arena, &steps, &count, NULL), CS_OK);
    cr_assert_eq(count, 2);
    cr_assert_eq(steps[0].dst, 1);
    cr_assert(steps[1].src == 3 && steps[1].wait == CS_WAIT_FENCE);
    recording.n_transfers = 2;
    cr_assert_eq(cs_critical_path(&recording, &five, &arena, &steps, &count, NULL), CS_OK);
    cr_assert_eq(count, 2);
    cr_assert(steps[1].dst == 2 && steps[1].wait == CS_WAIT_TX);
    cs_recording_free(&recording);
    cs_arena_free(&arena);
}

/* A message that is kept in two slots, what is passed on from the second of them, and a message of
 * two chunks: the path has what travels. */
Test(explain, what_is_kept_twice_travels_once)
{
    static const cs_interval intervals[] = {{0, 1}, {1, 1}, {1, 2}, {2, 3}};
    cs_transfer              transfers[] = {
                     {.src = 0, .dst = 1, .bytes = 8, .span = 1, .flags = CS_OWN_SRC},
                     {.src = 0, .dst = 1, .dst_slot = 1, .span = 1, .flags = CS_OWN_SRC | CS_JOIN},
                     {.src = 1, .dst = 2, .src_slot = 1, .bytes = 8, .span = 1},
                     {.src = 1, .dst = 2, .chunk = 1, .bytes = 8, .span = 1, .flags = CS_OWN_SRC | CS_JOIN}};
    cs_block            block     = {.transfers = transfers, .count = 4};
    cs_scenario         three     = {.cluster = {.n_ranks = 3, .gpus_per_server = 1}};
    cs_recording        recording = {0};
    cs_arena            arena     = {0};
    const cs_path_step *steps     = NULL;
    size_t              count     = 0;
    cs_observer         observer  = cs_recording_observer(&recording);

    cr_assert_eq(observer.block(observer.user, &block, intervals, NULL), CS_OK);
    cr_assert_eq(cs_critical_path(&recording, &three, &arena, &steps, &count, NULL), CS_OK);
    cr_assert_eq(count, 3, "%zu", count);
    cr_assert(steps[1].src == 1 && steps[1].chunk == 0 && steps[1].wait == CS_WAIT_DATA);
    cr_assert(steps[2].chunk == 1 && steps[2].wait == CS_WAIT_TX);
    cs_causes found = {0};
    cr_assert_eq(cs_causes_find(&recording, &three, &arena, &found, NULL), CS_OK);
    static const uint32_t path[]   = {0, 2, 3};
    static const cs_cause causes[] = {
        {CS_NO_CAUSE, CS_WAIT_ARRIVAL}, {0, CS_WAIT_TX}, {0, CS_WAIT_DATA}, {2, CS_WAIT_TX}};
    cr_assert_eq(found.n_path, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(found.path[i], path[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        cr_expect(found.causes[i].before == causes[i].before &&
                      found.causes[i].wait == causes[i].wait,
                  "transfer %zu", i);
    }
    cs_recording_free(&recording);
    cs_arena_free(&arena);
}

Test(explain, every_failed_allocation_is_reported)
{
    const cs_path_step *steps     = NULL;
    cs_recording        recording = {0};
    cs_status           status    = CS_ENOMEM;
    ct_rng              rng       = ct_rng_for(5099);
    size_t              count     = 0;

    ct_scene_random(&scene, cs_algorithms[0], &rng);
    (void)record(&recording);
    for (long passes = 0; status != CS_OK; passes++) {
        cs_arena arena = {0};
        cs_error err   = {0};
        cs_alloc_fail_after(passes);
        status = cs_critical_path(&recording, &scene.scenario, &arena, &steps, &count, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || (status == CS_ENOMEM && err.message[0] != '\0'));
        cr_assert_lt(passes, 100);
        cs_arena_free(&arena);
    }
    cs_recording_free(&recording);
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
                c->servers                 = NULL;
                c->uneven                  = NULL;
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
