/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models that queue what senders send. Where such a model serves a port one by one and messages end
 * as their port is free, all ends are those of the port rule, to the bit. With a latency behind the
 * ports every hand-over and end is that of a second opinion, and the port does not wait for it.
 */
#include "base/alloc.h"
#include "support/port_network.h"
#include "support/reference.h"
#include "support/scene.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <string.h>

enum { SCENES_EACH = 40, STREAMS = 400, SLOTS = 24, MOST_SPAN = 20, REPEATS = 20 };

/* The message that ends with transfer k ends as it does in `want`, and is handed over no later than
 * it starts there. */
static void expect_ends(const ct_scene *scene, const ct_stream *stream, const ct_run *want,
                        const ct_run *got)
{
    cr_assert_eq(got->count, want->count, "%s", ct_scene_text(scene));
    for (size_t k = 0; k < got->count; k++) {
        const cs_interval *a = &got->intervals[k], *b = &want->intervals[k];
        bool is_last  = k + 1 == stream->count || (stream->transfers[k + 1].flags & CS_JOIN) == 0;
        bool is_first = (stream->transfers[k].flags & CS_JOIN) == 0;
        cr_assert(!is_last || memcmp(&a->end_s, &b->end_s, sizeof a->end_s) == 0,
                  "%s: transfer %zu ends at %.17g s, not %.17g s", ct_scene_text(scene), k,
                  a->end_s, b->end_s);
        cr_assert(!is_first || a->start_s <= b->start_s,
                  "%s: transfer %zu is handed over at %.17g s, it starts at %.17g s",
                  ct_scene_text(scene), k, a->start_s, b->start_s);
    }
    cr_assert_eq(got->outcome.elapsed_s, want->outcome.elapsed_s);
    cr_assert_eq(got->outcome.exposed_s, want->outcome.exposed_s);
    cr_assert_eq(got->outcome.verified, want->outcome.verified);
}

/* Two models of the scene beside each other, and a second opinion on one with a latency. */
static void check(ct_scene *scene, const ct_stream *stream, ct_rng *rng)
{
    ct_rules        rules = ct_rules_random(&scene->scenario.cluster, rng, false);
    ct_port_options ports = {.message_gap_s = rules.message_gap_s, .queues_senders = true};
    ct_model        model = ct_model_of(&rules);
    ct_run          want  = ct_scene_observe_on(scene, model.model, &model.options);
    ct_run          got   = ct_scene_observe_on(scene, &ct_port_network, &ports);

    expect_ends(scene, stream, &want, &got);
    ct_run_free(&got);
    rules.queues_senders = true;
    /* Who is first at a shared receiver, and pays for a group there, is not the stream's choice. */
    rules.shares_receivers = ports.shares_receivers =
        ct_below(rng, 2) == 0 && (scene->plan.uses & CS_USES_SHARED) == 0;
    rules.latency_s = ports.latency_s = ct_uniform(rng, 0, 0.1) * want.outcome.elapsed_s;
    ct_times times                    = ct_reference(&scene->scenario, &scene->plan, stream, rules);
    got                               = ct_scene_observe_on(scene, &ct_port_network, &ports);
    for (size_t k = 0; k < got.count; k++) {
        cr_assert(ct_same_interval(got.intervals[k], times.intervals[k], times.end_s),
                  "%s: transfer %zu of %zu is under way in [%.17g, %.17g], not [%.17g, %.17g]",
                  ct_scene_text(scene), k, got.count, got.intervals[k].start_s,
                  got.intervals[k].end_s, times.intervals[k].start_s, times.intervals[k].end_s);
    }
    cr_assert(ct_is_close(got.outcome.elapsed_s, times.end_s, 1e-11));
    ct_times_free(&times);
    ct_run_free(&want);
    ct_run_free(&got);
}

Test(queued_senders, every_algorithm_ends_as_by_the_port_rule)
{
    static ct_scene scene;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        ct_rng rng = ct_rng_for(2100 + a);
        for (int i = 0; i < SCENES_EACH; i++) {
            ct_scene_random(&scene, cs_algorithms[a], &rng);
            if (i % 2 == 0) {
                ct_scene_break_nics(&scene, &rng);
                ct_scene_ready(&scene);
            }
            ct_stream stream = ct_stream_record(&scene, 64);
            check(&scene, &stream, &rng);
            ct_stream_free(&stream);
        }
    }
}

/* Exchanges, groups, barriers, late ranks, links at once. */
static void random_stream(ct_scene *scene, ct_stream *stream, ct_rng *rng, uint32_t uses)
{
    uint32_t n    = 4 + 2 * ct_below(rng, 4);
    cs_plan  plan = {.n_chunks = 3, .n_slots = SLOTS, .n_rounds = 301, .uses = uses};

    ct_scene_set(scene, "ring", CS_ALLREDUCE, n, 1000);
    scene->scenario.cluster =
        (cs_cluster){.n_ranks         = n,
                     .gpus_per_server = (uses & CS_USES_NVLINK) != 0 ? n / 2 : 1,
                     .fabrics         = {{CS_SWITCHED, 1, 1}, {CS_DIRECT, 1, 2}}};
    ct_scene_drive(scene, rng);
    if (ct_below(rng, 2) == 0) {
        ct_scene_arrive(scene, rng, 1000);
    }
    ct_stream_add_random(stream, rng, &scene->scenario.cluster, uses, SLOTS, MOST_SPAN);
    ct_scene_play(scene, stream, &plan);
}

Test(queued_senders, random_streams_end_as_by_the_port_rule)
{
    static ct_scene scene;
    ct_rng          rng = ct_rng_for(2200);

    for (uint32_t i = 0; i < STREAMS; i++) {
        ct_stream stream = {0};
        random_stream(&scene, &stream, &rng, i % 16);
        check(&scene, &stream, &rng);
        ct_stream_free(&stream);
    }
}

/* Ranks 0 to 2 with alpha 1 s and 1 B/s: rank 0 sends 3 B to rank 1, 5 B to rank 2 and 2 B to rank
 * 1, and gets an exchange with rank 1 behind them. A latency of 10 s is paid once. */
Test(queued_senders, the_port_passes_on_before_the_message_ends)
{
    static ct_scene   scene;
    ct_stream         stream = {0};
    const cs_cluster *c      = &scene.scenario.cluster;
    cs_plan           plan = {.n_chunks = 1, .n_slots = 1, .n_rounds = 4, .uses = CS_USES_EXCHANGE};
    const ct_port_options    ports  = {.queues_senders = true, .latency_s = 10};
    static const cs_interval want[] = {{0, 14}, {0, 20}, {14, 27}, {27, 41}};

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 3, 1000);
    scene.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 1, 1};
    ct_stream_send(&stream, c, 0, 1, 3, CS_OP_COPY, CS_OWN_SRC);
    ct_stream_send(&stream, c, 0, 2, 5, CS_OP_COPY, CS_OWN_SRC);
    ct_stream_send(&stream, c, 0, 1, 2, CS_OP_COPY, CS_OWN_SRC);
    ct_stream_send(&stream, c, 1, 0, 3, CS_OP_EXCHANGE, CS_OWN_SRC | CS_OWN_DST);
    ct_scene_play(&scene, &stream, &plan);
    ct_run run = ct_scene_observe_on(&scene, &ct_port_network, &ports);
    cr_assert_eq(run.count, 4);
    for (size_t k = 0; k < run.count; k++) {
        cr_expect(ct_same_interval(run.intervals[k], want[k], 1), "transfer %zu: [%g, %g]", k,
                  run.intervals[k].start_s, run.intervals[k].end_s);
    }
    ct_run_free(&run);
    ct_stream_free(&stream);
}

/* Every rank sends to every other one: all is handed over at once, however long it takes. */
Test(queued_senders, a_port_may_have_very_many)
{
    enum { N = 8, MANY = 200000 };
    static ct_scene       scene;
    ct_stream             stream = {0};
    cs_plan               plan   = {.n_chunks = 1, .n_slots = 1, .n_rounds = 1};
    const ct_port_options ports  = {
         .queues_senders = true, .shares_receivers = true, .latency_s = 7};

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, N, 1000);
    scene.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 0, 1};
    for (uint32_t i = 0; i < MANY; i++) {
        ct_stream_send(&stream, &scene.scenario.cluster, i % N, (i + 1 + i / N % (N - 1)) % N, 3,
                       CS_OP_COPY, CS_OWN_SRC);
    }
    ct_scene_play(&scene, &stream, &plan);
    ct_run run = ct_scene_observe_on(&scene, &ct_port_network, &ports);
    cr_assert_eq(run.count, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        cr_assert_eq(run.intervals[i].start_s, 0);
        cr_assert_eq(run.intervals[i].end_s, 3 * (i / N + 1) + 7);
    }
    ct_run_free(&run);
    ct_stream_free(&stream);
}

Test(queued_senders, any_allocation_may_fail)
{
    static ct_scene       scene;
    ct_stream             stream = {0};
    ct_rng                rng    = ct_rng_for(2300);
    const ct_port_options ports  = {.queues_senders = true, .latency_s = 3};
    cs_status             status = CS_ENOMEM;
    long                  passes = 0;

    random_stream(&scene, &stream, &rng, 15);
    cs_job job = ct_scene_job(&scene, NULL);
    cs_job_set_model(&job, &ct_port_network, &ports);
    for (; status != CS_OK; passes++) {
        size_t in_use[2];
        for (int i = 0; i < 2 * REPEATS; i++) { /* what the C library keeps no longer grows */
            cs_outcome outcome;
            cs_error   err = {0};
            cs_alloc_fail_after(passes);
            status = cs_job_replay(&job, NULL, 0, &outcome, &err);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
            cr_assert(status == CS_OK || err.message[0] != '\0');
            in_use[i / REPEATS] = mallinfo2().uordblks;
        }
        cr_assert_eq(in_use[0], in_use[1], "a leak when allocation %ld fails", passes);
    }
    cr_assert_gt(passes, 5);
    ct_stream_free(&stream);
}
