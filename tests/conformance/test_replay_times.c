/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every algorithm on alpha-beta and LogGP against a second opinion on every start and end, with
 * random arrivals, slow NICs and clusters; ports one transfer at a time; closed forms; the same
 * bits twice. Seeds are printed with a failure. */
#include "support/foreign.h"
#include "support/oracle.h"
#include "support/reference.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { SCENES_EACH = CT_CASES(250) };

static void for_random_scenes(uint64_t salt, void (*check)(ct_scene *scene, ct_rng *rng))
{
    static ct_scene scene;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        ct_rng    rng = ct_rng_for(salt + a);
        const int n   = ct_makes_trees(cs_algorithms[a]) ? SCENES_EACH / CT_EVERY : SCENES_EACH;
        for (int i = 0; i < n; i++) {
            ct_scene_random(&scene, cs_algorithms[a], &rng);
            check(&scene, &rng);
        }
    }
}

static void compare_times(const ct_scene *scene, const ct_run *run, const ct_stream *stream,
                          ct_rules rules)
{
    ct_times times = ct_reference(&scene->scenario, &scene->plan, stream, rules);

    cr_assert_eq(run->count, stream->count);
    for (size_t i = 0; i < stream->count; i++) {
        cr_assert(ct_same_interval(run->intervals[i], times.intervals[i], times.end_s),
                  "%s: transfer %zu holds its ports in [%.17g, %.17g] s, not [%.17g, %.17g] s",
                  ct_scene_text(scene), i, run->intervals[i].start_s, run->intervals[i].end_s,
                  times.intervals[i].start_s, times.intervals[i].end_s);
    }
    cr_assert(ct_is_close(run->outcome.elapsed_s, times.end_s, 1e-11));
    ct_times_free(&times);
}

/* Some on default options, some with gaps. */
static void every_time_is_right(ct_scene *scene, ct_rng *rng)
{
    ct_scene_break_nics(scene, rng);
    ct_scene_ready(scene);
    ct_rules  rules  = ct_rules_random(&scene->scenario.cluster, rng, false);
    ct_model  model  = ct_model_of(&rules);
    ct_stream stream = ct_stream_record(scene, 512);
    ct_run    run    = ct_scene_observe_on(scene, model.model, &model.options);

    compare_times(scene, &run, &stream, rules);
    cr_assert(ct_is_close(run.outcome.elapsed_s,
                          cs_last_arrival(&scene->scenario) + run.outcome.exposed_s, 1e-15));
    ct_run_free(&run);
    ct_stream_free(&stream);
}

Test(conformance_times, every_start_and_end_is_right)
{
    for_random_scenes(100, every_time_is_right);
}

static void every_loggp_time_is_right(ct_scene *scene, ct_rng *rng)
{
    ct_scene_break_nics(scene, rng);
    ct_scene_ready(scene);
    ct_rules  rules  = ct_rules_random(&scene->scenario.cluster, rng, true);
    ct_model  loggp  = ct_model_of(&rules);
    ct_stream stream = ct_stream_record(scene, 512);
    ct_run    run    = ct_scene_observe_on(scene, loggp.model, &loggp.options);

    compare_times(scene, &run, &stream, rules);
    ct_run_free(&run);
    ct_stream_free(&stream);
}

/* With barriers: StragglAR's and broadcast's wait for the ends of messages, not for gaps. */
Test(conformance_times, every_start_and_end_is_right_on_loggp)
{
    for_random_scenes(150, every_loggp_time_is_right);
}

/* Ports by (fabric, direction, rank, peer); in a SHARED group they are shared in sequence. */
static void claim(const ct_scene *scene, double *free_s, const cs_transfer *t, bool is_rx,
                  cs_interval held)
{
    const cs_cluster *c      = &scene->scenario.cluster;
    uint32_t          fabric = cs_transfer_fabric(t);
    uint32_t          here = is_rx ? t->dst : t->src, there = is_rx ? t->src : t->dst;
    uint32_t          peer = c->fabrics[fabric].kind == CS_DIRECT ? there : 0;

    if (cs_is_switch(c, here)) { /* its port is the GPU's at the other end */
        return;
    }
    size_t index = ((fabric * 2u + is_rx) * c->n_ranks + here) * c->n_ranks + peer;

    cr_assert(held.start_s >= free_s[index], "%s: a port of rank %u serves two at %.9g s",
              ct_scene_text(scene), here, held.start_s);
    cr_assert(held.start_s >=
              cs_arrival(&scene->scenario, here) - 1e-15 * cs_last_arrival(&scene->scenario));
    cr_assert(held.end_s >= held.start_s);
    free_s[index] = held.end_s;
}

static void ports_serve_one_by_one(ct_scene *scene, ct_rng *rng)
{
    size_t  n      = scene->scenario.cluster.n_ranks;
    double *free_s = calloc(CS_FABRICS * 2 * n * n, sizeof *free_s);

    (void)rng;
    cr_assert_not_null(free_s);
    ct_stream stream = ct_stream_record(scene, 512);
    ct_run    run    = ct_scene_observe(scene);
    for (size_t i = 0; i < stream.count; i++) {
        cs_transfer t = stream.transfers[i];
        claim(scene, free_s, &t, false, run.intervals[i]);
        claim(scene, free_s, &t, true, run.intervals[i]);
        if (cs_transfer_op(&t) == CS_OP_EXCHANGE) {
            t.src = stream.transfers[i].dst;
            t.dst = stream.transfers[i].src;
            claim(scene, free_s, &t, false, run.intervals[i]);
            claim(scene, free_s, &t, true, run.intervals[i]);
        }
    }
    free(free_s);
    ct_run_free(&run);
    ct_stream_free(&stream);
}

Test(conformance_times, a_port_serves_one_transfer_at_a_time)
{
    for_random_scenes(200, ports_serve_one_by_one);
}

static void same_bits_twice(ct_scene *scene, ct_rng *rng)
{
    static uint32_t n_scenes;

    ct_scene_break_nics(scene, rng);
    n_scenes++;
    for (size_t m = 0; cs_models[m] != NULL; m++) {
        const cs_network *network = cs_models[m]->network;
        if (network != NULL && n_scenes % (network->is_foreign ? 64 : 8) != 0) {
            continue; /* starting processes takes its time, and packets do */
        }
        if (ct_foreign_takes_long(cs_models[m], &scene->scenario)) {
            continue;
        }
        ct_scene_ready(scene);
        cs_outcome one = ct_scene_replay(scene, cs_models[m]->name);
        cs_outcome two = ct_scene_replay(scene, cs_models[m]->name);
        cr_assert(one.verified && two.verified);
        cr_assert(!(one.elapsed_s < two.elapsed_s) && !(one.elapsed_s > two.elapsed_s));
        cr_assert(!(one.exposed_s < two.exposed_s) && !(one.exposed_s > two.exposed_s));
        cr_assert(one.n_transfers == two.n_transfers && one.wire_bytes == two.wire_bytes);
    }
}

Test(conformance_times, two_replays_give_the_same_bits)
{
    for_random_scenes(300, same_bits_twice);
}

static int n_closed;

static void closed_form_is_the_replay(ct_scene *scene, ct_rng *rng)
{
    if (ct_below(rng, 2) == 0) {
        scene->scenario.bytes += 3u * scene->plan.n_chunks;
        scene->scenario.bytes -= scene->scenario.bytes % scene->plan.n_chunks;
    }
    if (ct_below(rng, 3) == 0) {
        ct_scene_break_nics(scene, rng);
    } else if (ct_below(rng, 4) == 0) {
        scene->capacity[0]         = (cs_capacity){0, 3, 0, (double)INFINITY, false};
        scene->scenario.n_capacity = 1;
        scene->scenario.capacity   = scene->capacity;
    }
    if (ct_below(rng, 3) == 0) {
        scene->scenario.cluster.gpus_per_server = scene->scenario.cluster.n_ranks;
    } else if (ct_below(rng, 3) > 0) {
        scene->scenario.cluster.gpus_per_server = 1;
    }
    if (cs_scenario_check(&scene->scenario, NULL) != CS_OK ||
        ct_scene_check(scene, NULL) != CS_OK || scene->algorithm->closed_form_s == NULL) {
        return;
    }
    const ct_rules rules = {0};
    ct_model       model = ct_model_of(&rules);
    bool           holds =
        cs_closed_forms_hold(model.model, &scene->scenario, &model.options, scene->plan.uses);
    double want_s = scene->algorithm->closed_form_s(&scene->scenario, &scene->options);
    double got_s  = ct_scene_replay(scene, NULL).elapsed_s;
    if (holds && !isnan(want_s)) {
        n_closed++;
        cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: replayed %.17g s, closed form %.17g s",
                  ct_scene_text(scene), got_s, want_s);
    }
}

Test(conformance_times, closed_form_is_the_replay)
{
    for_random_scenes(400, closed_form_is_the_replay);
    cr_assert_gt(n_closed, CT_CASES(300), "only %d closed forms", n_closed);
}

/* What is exposed keeps its digits, however late the last rank is. */
Test(conformance_times, a_late_rank_costs_no_digits)
{
    static ct_scene scene;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        double exposed_s[2];
        for (int i = 0; i < 2; i++) {
            cs_collective c = CS_ALLREDUCE; /* or the first that it does */
            while ((cs_algorithms[a]->collectives >> c & 1u) == 0) {
                c++;
            }
            ct_scene_set(&scene, cs_algorithms[a]->name, c, 16, 12345678);
            scene.arrival_s[15]      = i == 0 ? 1.0 : 9e5 + 0.3;
            scene.scenario.arrival_s = scene.arrival_s;
            ct_scene_ready(&scene);
            exposed_s[i] = ct_scene_replay(&scene, NULL).exposed_s;
        }
        cr_assert_eq(exposed_s[0], exposed_s[1], "%s: %.17g s, %.17g s", cs_algorithms[a]->name,
                     exposed_s[0], exposed_s[1]);
    }
}
