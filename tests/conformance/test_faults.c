/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fault never makes anything faster: every algorithm, with whatever it chooses by itself, on
 * random clusters, sizes and arrivals, without a fault and with random ones. Where packets queue it
 * may; what holds there is below. */
#include "cs/result.h"
#include "support/port_network.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

enum { SCENES_EACH = CT_CASES(60) };

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
    cr_assert_gt(seen, CT_CASES(400), "only %zu scenarios had faults and ran", seen);
}

/* ---- packets ---- */

/* How long a schedule takes without faults if no packet waits for another message's behind the
 * sending port. Every start is a maximum of ends then: what comes later makes nothing else come
 * sooner, so no fault can beat this time. It is the port network's, for packets without headers,
 * but for the time that a packet takes to be stored before it is forwarded. */
static double without_queues_s(ct_scene *scene)
{
    const cs_cluster      cluster = scene->scenario.cluster;
    const ct_port_options options = {.queues_senders   = true,
                                     .latency_s        = cluster.fabrics[CS_NIC].alpha_s,
                                     .shares_receivers = true,
                                     .parts_exchanges  = true};

    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        scene->scenario.cluster.fabrics[f].alpha_s = 0;
    }
    ct_run run              = ct_scene_observe_on(scene, &ct_port_network, &options);
    double time_s           = run.outcome.elapsed_s;
    scene->scenario.cluster = cluster;
    ct_run_free(&run);
    return time_s;
}

static double on_packets_s(const ct_scene *scene)
{
    static const struct {
        const char *key, *value;
    } set[]                 = {{"header_bytes", "0"},
                               {"nvlink_header_bytes", "0"},
                               {"mtu_bytes", "128"},
                               {"nvlink_mtu_bytes", "128"}};
    const cs_model *packet  = NULL;
    cs_options      options = {0};

    cr_assert_eq(cs_model_find("packet", &packet, NULL), CS_OK);
    cs_fields_default(packet->options, &options);
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++) {
        const char *key = set[i].key;
        cr_assert_eq(cs_field_set(packet->options, &options, key, set[i].value, key, NULL), CS_OK);
    }
    ct_run run    = ct_scene_observe_on(scene, packet, &options);
    double time_s = run.outcome.elapsed_s;
    ct_run_free(&run);
    return time_s;
}

/* One NIC is slow, by a thousandth or a hundred times, for ever or for a while. */
static void slow_one_nic(ct_scene *scene, ct_rng *rng)
{
    double unit_s   = ct_scene_late_s(scene, rng);
    double from_s   = ct_below(rng, 2) * ct_uniform(rng, 0, unit_s);
    double slowdown = 1 + pow(10, ct_uniform(rng, -3, 2));
    double until_s  = from_s + ct_uniform(rng, 0.01, 1) * unit_s;

    scene->capacity[0] =
        (cs_capacity){ct_below(rng, scene->scenario.cluster.n_ranks), slowdown, from_s,
                      ct_below(rng, 2) == 0 ? (double)INFINITY : until_s, false};
    scene->scenario.capacity   = scene->capacity;
    scene->scenario.n_capacity = ct_scene_check(scene, NULL) == CS_OK ? 1 : 0;
}

/* One latency everywhere, and bytes that take whole picoseconds. Servers are alike: a port that is
 * faster than the one at the other end is free sooner where packets queue. */
static void set_packet_scene(ct_scene *scene, const cs_algorithm *algorithm, ct_rng *rng)
{
    do {
        ct_scene_random(scene, algorithm, rng);
    } while (scene->scenario.bytes > 1 << 22 || scene->scenario.cluster.servers != NULL ||
             scene->scenario.cluster.uneven != NULL);
    double alpha_s = (1 + ct_below(rng, 8)) * 1e-6;
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        scene->scenario.cluster.fabrics[f].alpha_s       = alpha_s;
        scene->scenario.cluster.fabrics[f].bandwidth_Bps = 1e12 / (1 << ct_below(rng, 8));
    }
    if (ct_below(rng, 2) == 0) {
        ct_scene_break_nics(scene, rng);
    } else {
        slow_one_nic(scene, rng);
    }
    ct_scene_ready(scene);
}

/* The same schedule with and without its faults. */
Test(conformance_faults, never_beat_the_time_without_queues, .timeout = 250)
{
    static ct_scene scene;
    ct_rng          rng    = ct_rng_for(2711);
    double          most   = 0;
    size_t          helped = 0;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        for (int i = 0; i < SCENES_EACH; i++) {
            set_packet_scene(&scene, cs_algorithms[a], &rng);
            const cs_plan plan   = scene.plan;
            ct_stream     stream = ct_stream_record(&scene, 64);
            ct_scene_play(&scene, &stream, &plan);
            double with_s             = on_packets_s(&scene);
            scene.scenario.n_capacity = 0;
            double without_s          = on_packets_s(&scene);
            double least_s            = without_queues_s(&scene);
            double rounding_s         = 1e-9 * least_s + 1e-12; /* arrivals, to the picosecond */
            cr_expect(fmin(with_s, without_s) >= least_s - rounding_s,
                      "%s, %s: %.12g s, with faults %.12g s, without queues %.12g s",
                      cs_algorithms[a]->name, ct_scene_text(&scene), without_s, with_s, least_s);
            helped += with_s < without_s;
            most = fmax(most, 1 - with_s / without_s);
            ct_stream_free(&stream);
        }
    }
    (void)fprintf(stderr, "faults helped in %zu scenes, by %.3g %% at most\n", helped, 100 * most);
}
