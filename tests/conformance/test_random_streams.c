/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams of random transfers with everything that the rules of cs/schedule.h allow (exchanges,
 * groups, spans, messages of several parts, contributions of one's own, barriers that somebody
 * skips), which no algorithm needs together: the dispatcher and the single pass give the same
 * bits, and so do, but for rounding, the single pass and a second opinion, on LogGP too. They are
 * no collectives, which is what the verdict says on either. */
#include "support/port_network.h"
#include "support/reference.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <string.h>

enum { STREAMS = 600, SLOTS = 5, CHUNKS = 5 };

static cs_transfer random_transfer(const ct_scene *scene, ct_rng *rng, uint32_t round)
{
    uint32_t    n   = scene->scenario.cluster.n_ranks;
    uint32_t    src = ct_below(rng, n), dst = (src + 1 + ct_below(rng, n - 1)) % n;
    uint32_t    span = 1 + ct_below(rng, 3);
    cs_op       op   = (cs_op)ct_below(rng, 3);
    cs_transfer t    = {.src      = src,
                        .dst      = dst,
                        .chunk    = ct_below(rng, CHUNKS - span + 1),
                        .src_slot = (uint16_t)ct_below(rng, SLOTS - span + 1),
                        .dst_slot = (uint16_t)ct_below(rng, SLOTS - span + 1),
                        .bytes    = ct_below(rng, 4) * (1 + ct_below(rng, 1000)),
                        .round    = round,
                        .span     = (uint16_t)span};

    t.flags = (uint8_t)(ct_below(rng, 3) == 0 ? CS_OWN_SRC : 0);
    t.flags |= (uint8_t)(op != CS_OP_COPY && ct_below(rng, 3) == 0 ? CS_OWN_DST : 0);
    t.flags |= (uint8_t)(op != CS_OP_EXCHANGE && ct_below(rng, 5) == 0 ? CS_SHARED : 0);
    t.op_fabric = cs_op_fabric(op, cs_fabric_of(&scene->scenario.cluster, src, dst));
    return t;
}

static ct_stream random_stream(const ct_scene *scene, ct_rng *rng)
{
    ct_stream stream = {0};
    uint32_t  round = 0, n = scene->scenario.cluster.n_ranks;

    for (uint32_t count = 1 + ct_below(rng, 200); count > 0; count--) {
        round += ct_below(rng, 4) == 0;
        cs_transfer t     = random_transfer(scene, rng, round);
        ct_fence    fence = {ct_below(rng, 2) == 0 ? CS_FENCE_ALL : ct_below(rng, n),
                          ct_below(rng, 2) * 1e-3};
        t.flags |= (uint8_t)(ct_below(rng, 25) == 0 ? CS_FENCE : 0);
        ct_stream_add(&stream, t, (t.flags & CS_FENCE) != 0 ? &fence : NULL);
        for (uint32_t parts = ct_below(rng, 8) == 0 ? 1 + ct_below(rng, 2) : 0; parts > 0;
             parts--) {
            cs_transfer part = random_transfer(scene, rng, round);
            part.src         = t.src;
            part.dst         = t.dst;
            part.op_fabric   = t.op_fabric;
            part.flags = (uint8_t)(CS_JOIN | (t.flags & CS_SHARED) | (part.flags & CS_OWN_SRC));
            ct_stream_add(&stream, part, NULL);
        }
    }
    return stream;
}

static void random_cluster(ct_scene *scene, ct_rng *rng)
{
    uint32_t g = 1 + ct_below(rng, 6), n = g * (1 + ct_below(rng, 4));

    n = n < 2 ? 2 : n;
    ct_scene_set(scene, "ring", CS_ALLREDUCE, n, 1000);
    scene->scenario.cluster.gpus_per_server = n % g == 0 ? g : 1;
    scene->scenario.cluster.fabrics[CS_NIC] =
        (cs_fabric){CS_SWITCHED, 1e-4 * ct_below(rng, 3), 1e6};
    scene->scenario.cluster.fabrics[CS_NVLINK] =
        (cs_fabric){ct_below(rng, 2) == 0 ? CS_SWITCHED : CS_DIRECT, 1e-5, 3e6};
    ct_scene_drive(scene, rng);
    if (ct_below(rng, 2) == 0) {
        ct_scene_arrive(scene, rng, 0.05);
    }
    if (ct_below(rng, 2) == 0) {
        ct_scene_break_nics(scene, rng);
    }
}

static const cs_plan plan = {.n_chunks = CHUNKS,
                             .n_slots  = SLOTS,
                             .n_rounds = 1000,
                             .uses     = CS_USES_EXCHANGE | CS_USES_SHARED | CS_USES_SPAN |
                                     CS_USES_JOIN | CS_USES_NVLINK};

Test(random_streams, the_dispatcher_gives_the_bits_of_the_single_pass)
{
    static ct_scene scene;
    ct_rng          rng = ct_rng_for(77);

    for (int i = 0; i < STREAMS; i++) {
        random_cluster(&scene, &rng);
        ct_stream stream = random_stream(&scene, &rng);
        ct_scene_play(&scene, &stream, &plan);
        ct_rules              rules = ct_rules_random(&scene.scenario.cluster, &rng, false);
        ct_model              model = ct_model_of(&rules);
        const ct_port_options ports = {.message_gap_s = rules.message_gap_s};
        ct_run                want  = ct_scene_observe_on(&scene, model.model, &model.options);
        ct_run                got   = ct_scene_observe_on(&scene, &ct_port_network, &ports);
        cr_assert_eq(got.count, want.count);
        for (size_t k = 0; k < want.count; k++) {
            cr_assert(memcmp(&got.intervals[k], &want.intervals[k], sizeof *want.intervals) == 0,
                      "seed %llu, stream %d of %zu: transfer %zu holds [%.17g, %.17g], not [%.17g, "
                      "%.17g]",
                      (unsigned long long)ct_seed(), i, want.count, k, got.intervals[k].start_s,
                      got.intervals[k].end_s, want.intervals[k].start_s, want.intervals[k].end_s);
        }
        cr_assert_eq(got.outcome.elapsed_s, want.outcome.elapsed_s);
        cr_assert_eq(got.outcome.n_transfers, want.outcome.n_transfers);
        cr_assert_eq(got.outcome.verified, want.outcome.verified);
        ct_run_free(&want);
        ct_run_free(&got);
        ct_stream_free(&stream);
    }
}

static void compare_with_reference(const ct_scene *scene, const ct_stream *stream, ct_rules rules,
                                   int number)
{
    ct_model model = ct_model_of(&rules);
    ct_times want  = ct_reference(&scene->scenario, &plan, stream, rules);
    ct_run   got   = ct_scene_observe_on(scene, model.model, &model.options);

    cr_assert_eq(got.count, stream->count);
    for (size_t k = 0; k < got.count; k++) {
        cr_assert(
            ct_same_interval(got.intervals[k], want.intervals[k], want.end_s),
            "seed %llu, stream %d on %s: transfer %zu holds [%.17g, %.17g], not [%.17g, %.17g]",
            (unsigned long long)ct_seed(), number, model.model->name, k, got.intervals[k].start_s,
            got.intervals[k].end_s, want.intervals[k].start_s, want.intervals[k].end_s);
    }
    cr_assert(ct_is_close(got.outcome.elapsed_s, want.end_s, 1e-11), "seed %llu, stream %d on %s",
              (unsigned long long)ct_seed(), number, model.model->name);
    ct_times_free(&want);
    ct_run_free(&got);
}

Test(random_streams, every_start_and_end_is_right)
{
    static ct_scene scene;
    ct_rng          rng = ct_rng_for(78);

    for (int i = 0; i < STREAMS; i++) {
        random_cluster(&scene, &rng);
        ct_stream stream = random_stream(&scene, &rng);
        ct_scene_play(&scene, &stream, &plan);
        for (int loggp = 0; loggp < 2; loggp++) {
            ct_rules rules = ct_rules_random(&scene.scenario.cluster, &rng, loggp == 1);
            compare_with_reference(&scene, &stream, rules, i);
        }
        ct_stream_free(&stream);
    }
}

/* Every interval of `got` at the place of that of `want` or later, but for rounding. */
static void expect_no_earlier(const ct_run *want, const ct_run *got, const char *what, int number)
{
    double rounding_s = 1e-12 * got->outcome.elapsed_s;

    for (size_t k = 0; k < got->count; k++) {
        cr_assert(got->intervals[k].start_s >= want->intervals[k].start_s - rounding_s &&
                      got->intervals[k].end_s >= want->intervals[k].end_s - rounding_s,
                  "seed %llu, stream %d: transfer %zu holds [%.17g, %.17g] with %s, [%.17g, %.17g] "
                  "without",
                  (unsigned long long)ct_seed(), number, k, got->intervals[k].start_s,
                  got->intervals[k].end_s, what, want->intervals[k].start_s,
                  want->intervals[k].end_s);
    }
    cr_assert(got->outcome.elapsed_s >= want->outcome.elapsed_s - rounding_s);
}

Test(random_streams, fewer_links_at_once_make_nothing_earlier)
{
    static ct_scene scene;
    ct_rng          rng      = ct_rng_for(80);
    int             n_slower = 0;

    for (int i = 0; i < 2 * STREAMS; i++) {
        random_cluster(&scene, &rng);
        cs_cluster *c      = &scene.scenario.cluster;
        ct_stream   stream = random_stream(&scene, &rng);
        ct_rules    rules  = ct_rules_random(c, &rng, i % 2 == 1);
        ct_model    model  = ct_model_of(&rules);
        ct_run      last   = {0};
        ct_scene_play(&scene, &stream, &plan);
        c->fabrics[CS_NVLINK].kind = CS_DIRECT;
        for (uint32_t links = c->gpus_per_server; links > 0; links--) {
            c->nvlink_concurrent = links % c->gpus_per_server; /* 0: all */
            ct_run run           = ct_scene_observe_on(&scene, model.model, &model.options);
            if (last.count > 0) {
                expect_no_earlier(&last, &run, "fewer links", i);
                n_slower += run.outcome.elapsed_s > last.outcome.elapsed_s;
            }
            ct_run_free(&last);
            last = run;
        }
        ct_run_free(&last);
        ct_stream_free(&stream);
    }
    cr_assert_gt(n_slower, STREAMS / 4, "links were waited for in %d streams only", n_slower);
}

/* One link at once is one port: as through a switch, but for groups, of which every link pays alpha
 * by itself. As many as there are, or more, is all. */
Test(random_streams, one_link_at_once_is_a_switch_and_all_are_all)
{
    static ct_scene scene;
    ct_rng          rng = ct_rng_for(81);

    for (uint32_t i = 0; i < STREAMS; i++) {
        random_cluster(&scene, &rng);
        cs_cluster *c      = &scene.scenario.cluster;
        ct_stream   stream = random_stream(&scene, &rng);
        ct_rules    rules  = ct_rules_random(c, &rng, i % 2 == 1);
        ct_model    model  = ct_model_of(&rules);
        ct_scene_play(&scene, &stream, &plan);
        for (size_t k = 0; k < stream.count; k++) {
            stream.transfers[k].flags &= (uint8_t)~CS_SHARED;
        }
        for (int all = 0; all < 2; all++) {
            c->fabrics[CS_NVLINK].kind = all == 1 ? CS_DIRECT : CS_SWITCHED;
            c->nvlink_concurrent       = 0;
            ct_run want                = ct_scene_observe_on(&scene, model.model, &model.options);
            c->fabrics[CS_NVLINK].kind = CS_DIRECT;
            c->nvlink_concurrent       = all == 1 ? cs_links_of(c, CS_NVLINK) + i % 2 : 1;
            ct_run got                 = ct_scene_observe_on(&scene, model.model, &model.options);
            for (size_t k = 0; k < got.count; k++) {
                cr_assert(memcmp(&got.intervals[k], &want.intervals[k], sizeof *got.intervals) == 0,
                          "seed %llu, stream %u: transfer %zu with %u links at once",
                          (unsigned long long)ct_seed(), i, k, c->nvlink_concurrent);
            }
            ct_run_free(&want);
            ct_run_free(&got);
        }
        ct_stream_free(&stream);
    }
}

Test(random_streams, a_message_gap_makes_nothing_earlier)
{
    static ct_scene scene;
    ct_rng          rng      = ct_rng_for(79);
    int             n_slower = 0;

    for (int i = 0; i < 2 * STREAMS; i++) {
        random_cluster(&scene, &rng);
        ct_stream stream    = random_stream(&scene, &rng);
        ct_rules  rules     = ct_rules_random(&scene.scenario.cluster, &rng, i % 2 == 1);
        ct_model  with      = ct_model_of(&rules);
        rules.message_gap_s = 0;
        ct_model without    = ct_model_of(&rules);
        ct_scene_play(&scene, &stream, &plan);
        ct_run want = ct_scene_observe_on(&scene, without.model, &without.options);
        ct_run got  = ct_scene_observe_on(&scene, with.model, &with.options);
        expect_no_earlier(&want, &got, "a gap", i);
        n_slower += got.outcome.elapsed_s > want.outcome.elapsed_s;
        ct_run_free(&want);
        ct_run_free(&got);
        ct_stream_free(&stream);
    }
    cr_assert_gt(n_slower, STREAMS / 4, "a gap was paid in %d streams only", n_slower);
}
