/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simgrid model against the flow model: every algorithm on crossbars with late ranks and NICs
 * that fail and recover, random schedules over leaves and spines. Then children that fail. Where
 * SimGrid was not built in, the tests say so and pass. */
#include "cs/topology.h"
#include "support/foreign.h"
#include "support/scene.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

enum { SCENES_EACH = 8, CASES = 1000, MOST_LINKS = 2 * 64 * 3 };

static ct_scene scene;

static void expect_same(const ct_run *want, const ct_run *got, const char *what)
{
    double unit_s = want->outcome.elapsed_s;

    cr_assert_eq(got->count, want->count);
    for (size_t i = 0; i < want->count; i++) {
        cs_interval a = want->intervals[i], b = got->intervals[i];
        cr_assert(fabs(a.start_s - b.start_s) <= 1e-9 * unit_s &&
                      fabs(a.end_s - b.end_s) <= 1e-9 * unit_s,
                  "%s: %s: transfer %zu in [%.17g, %.17g] s on simgrid, [%.17g, %.17g] s on flow",
                  what, ct_scene_text(&scene), i, b.start_s, b.end_s, a.start_s, a.end_s);
    }
    cr_assert(ct_is_close(want->outcome.elapsed_s, got->outcome.elapsed_s, 1e-9), "%s: %s", what,
              ct_scene_text(&scene));
    cr_assert_eq(got->outcome.verified, want->outcome.verified);
}

/* What the scene takes on both. */
static void compare(const char *what)
{
    cs_options options = {0};

    cs_fields_default(ct_foreign_model("flow")->options, &options);
    ct_run want = ct_scene_observe_on(&scene, ct_foreign_model("flow"), &options);
    ct_run got  = ct_scene_observe_on(&scene, ct_foreign_model("simgrid"), NULL);
    expect_same(&want, &got, what);
    ct_run_free(&want);
    ct_run_free(&got);
}

Test(simgrid, is_flow_for_every_algorithm_on_crossbars)
{
    for (size_t a = 0; cs_algorithms[a] != NULL && ct_foreign_model("simgrid") != NULL; a++) {
        ct_rng rng = ct_rng_for(4200 + a);
        for (int i = 0; i < SCENES_EACH; i++) {
            char what[80];
            ct_scene_random(&scene, cs_algorithms[a], &rng);
            if (i % 3 != 0) {
                ct_scene_break_nics(&scene, &rng);
                ct_scene_ready(&scene);
            }
            (void)snprintf(what, sizeof what, "seed %llu, scene %d", (unsigned long long)ct_seed(),
                           i);
            compare(what);
        }
    }
}

/* Messages between anybody, alone, in groups and in exchanges. */
static void random_stream(ct_stream *stream, uint32_t n, uint32_t chunks, ct_rng *rng)
{
    uint32_t round = 0;

    for (uint32_t i = 1 + ct_below(rng, 8 * n); i > 0; i--) {
        uint32_t src = ct_below(rng, n), dst = (src + 1 + ct_below(rng, n - 1)) % n;
        uint32_t chunk = ct_below(rng, chunks);
        bool     group = ct_below(rng, 2) == 0;
        cs_op    op    = (cs_op)(ct_below(rng, 3) == 0 ? CS_OP_EXCHANGE : CS_OP_REDUCE);
        round += ct_below(rng, 4) == 0;
        cs_transfer t = {.bytes     = ct_below(rng, 20) == 0 ? 0 : 1 + ct_word(rng) % 100000000,
                         .src       = src,
                         .dst       = dst,
                         .chunk     = chunk,
                         .span      = 1,
                         .round     = round,
                         .src_slot  = (uint16_t)chunk,
                         .dst_slot  = (uint16_t)chunk,
                         .op_fabric = cs_op_fabric(group ? CS_OP_REDUCE : op, CS_NIC),
                         .flags     = (uint8_t)(group ? CS_SHARED : 0)};
        ct_stream_add(stream, t, NULL);
    }
}

static void random_case(ct_rng *rng, const char *what)
{
    static cs_link links[MOST_LINKS];
    ct_stream      stream = {0};
    cs_topology    topology;
    uint32_t       n = 2 + ct_below(rng, 15);

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, n, 1 + ct_word(rng) % (1u << 28));
    cs_fabric    *nic   = &scene.scenario.cluster.fabrics[CS_NIC];
    cs_leaf_spine shape = {1 + ct_below(rng, n), 1 + ct_below(rng, 3), 0,
                           ct_below(rng, 2) * ct_uniform(rng, 0, 1e-5)};
    while ((n + shape.n_leaves - 1) / shape.n_leaves * (shape.n_leaves - 1) >= n) {
        shape.n_leaves--; /* no leaf is empty */
    }
    *nic = (cs_fabric){CS_SWITCHED, ct_below(rng, 2) * ct_uniform(rng, 0, 1e-5),
                       pow(10, ct_uniform(rng, 8, 11))};
    shape.uplink_bandwidth_Bps = nic->bandwidth_Bps * pow(2, ct_below(rng, 5)) / 4;
    if (ct_below(rng, 2) == 0) {
        shape.uplink_bandwidth_Bps *= ct_uniform(rng, 0.3, 1);
    }
    cs_leaf_spine_make(&shape, links, &topology);
    scene.scenario.cluster.topology = &topology;
    if (ct_below(rng, 2) == 0) {
        ct_scene_arrive(&scene, rng, ct_scene_late_s(&scene, rng));
    }
    if (ct_below(rng, 2) == 0) {
        ct_scene_break_nics(&scene, rng);
    }
    ct_scene_ready(&scene);
    random_stream(&stream, n, 4, rng);
    const cs_plan plan = {.n_chunks = 4,
                          .n_slots  = 4,
                          .n_rounds = 8 * 16 + 1,
                          .uses     = CS_USES_SHARED | CS_USES_EXCHANGE};
    ct_scene_play(&scene, &stream, &plan);
    compare(what);
    ct_stream_free(&stream);
}

Test(simgrid, is_flow_on_random_schedules_over_leaves_and_spines)
{
    ct_rng rng = ct_rng_for(4300);

    for (int i = 0; i < CASES && ct_foreign_model("simgrid") != NULL; i++) {
        char what[80];
        (void)snprintf(what, sizeof what, "seed %llu, case %d", (unsigned long long)ct_seed(), i);
        random_case(&rng, what);
    }
    if (ct_foreign_model("simgrid") != NULL) {
        (void)fprintf(stderr, "%d cases, seed %llu\n", CASES, (unsigned long long)ct_seed());
    }
}

/* ---- children that fail ---- */

static const ct_foreign simgrid = {"simgrid", "collsim-simgrid", "libsimgrid-dev"};

Test(simgrid, leaves_nothing_behind_when_memory_ends)
{
    ct_foreign_without_memory(&simgrid);
}

Test(simgrid, says_how_its_child_failed)
{
    ct_foreign_fails(&simgrid);
    /* An end at which nobody had begun. */
    ct_foreign_replay_with(
        &simgrid,
        "printf '\\004\\0\\0\\0\\0\\0\\0\\0\\005\\0\\0\\0\\024\\0\\0\\0' >&0; "
        "printf '\\0\\0\\0\\0\\0\\0\\0\\0\\001\\0\\0\\0\\0\\0\\0\\0\\377\\0\\0\\0' >&0; sleep 60",
        "a flow ended that was not there");
}

Test(simgrid, names_what_is_not_there)
{
    ct_foreign_is_not_there(&simgrid);
}

Test(simgrid, survives_the_end_of_its_child_under_way)
{
    ct_foreign_is_killed(&simgrid);
}
