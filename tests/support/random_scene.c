/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random scenes: see support/random_scene.h. */
#include "support/random_scene.h"

#include <math.h>

enum { MOST_RANKS = 40 };

double ct_scene_late_s(const ct_scene *scene, ct_rng *rng)
{
    double whole_s = (double)scene->scenario.bytes / 450e9 + 3e-6;
    return whole_s * pow(10, ct_uniform(rng, -2, 1));
}

void ct_scene_break_nics(ct_scene *scene, ct_rng *rng)
{
    cs_scenario     *s       = &scene->scenario;
    uint32_t         g       = s->cluster.gpus_per_server;
    double           unit_s  = ct_scene_late_s(scene, rng);
    const cs_options options = scene->options;

    for (uint32_t server = ct_below(rng, 3); server < cs_n_servers(&s->cluster);
         server += 1 + ct_below(rng, 4)) {
        double from_s = ct_below(rng, 2) * ct_uniform(rng, 0, unit_s);
        for (uint32_t i = ct_below(rng, 4); i > 0 && s->n_capacity < CT_MOST_FAULTS; i--) {
            bool   lasts = i == 1 && ct_below(rng, 2) == 0;
            double until = lasts ? (double)INFINITY : from_s + ct_uniform(rng, 0.01, 1) * unit_s;
            scene->capacity[s->n_capacity++] = (cs_capacity){
                server * g + ct_below(rng, g), pow(10, ct_uniform(rng, 0, 2)), from_s, until};
            from_s = until + ct_below(rng, 2) * ct_uniform(rng, 0, unit_s);
        }
    }
    s->capacity = scene->capacity;
    if (ct_scene_check(scene, NULL) != CS_OK) { /* all servers are slow, and it needs two that are
                                                   not */
        s->n_capacity  = 0;
        scene->options = options;
    }
}

void ct_scene_drive(ct_scene *scene, ct_rng *rng)
{
    cs_cluster *c = &scene->scenario.cluster;

    c->nvlink_concurrent = c->fabrics[CS_NVLINK].kind == CS_DIRECT && ct_below(rng, 2) == 0
                               ? 1 + ct_below(rng, c->gpus_per_server)
                               : 0;
}

void ct_scene_random(ct_scene *scene, const cs_algorithm *algorithm, ct_rng *rng)
{
    for (;;) {
        static const uint32_t widths[] = {1, 1, 2, 3, 4, 8};
        uint32_t n = ct_below(rng, 2) == 0 ? 2u << ct_below(rng, 5) : 2 + ct_below(rng, MOST_RANKS);
        uint32_t g = widths[ct_below(rng, 6)];
        uint64_t bytes           = 1 + ct_word(rng) % (1u << (4 + ct_below(rng, 26)));
        cs_collective collective = (cs_collective)ct_below(rng, CS_COLLECTIVE_COUNT);

        if (n % g != 0) {
            continue;
        }
        ct_scene_set(scene, algorithm->name, collective, n, bytes);
        scene->scenario.cluster.gpus_per_server = g;
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            scene->scenario.cluster.fabrics[f].alpha_s =
                ct_below(rng, 4) * ct_uniform(rng, 0, 1e-5);
            scene->scenario.cluster.fabrics[f].bandwidth_Bps = pow(10, ct_uniform(rng, 8, 12));
        }
        scene->scenario.cluster.fabrics[CS_CROSS].kind = CS_SWITCHED;
        scene->scenario.cluster.sockets = g % 2 == 0 && ct_below(rng, 3) == 0 ? 2 : 1;
        scene->scenario.cluster.fabrics[CS_NVLINK].kind =
            ct_below(rng, 2) == 0 ? CS_SWITCHED : CS_DIRECT;
        ct_scene_drive(scene, rng);
        if (ct_below(rng, 3) > 0) {
            ct_scene_arrive(scene, rng, ct_scene_late_s(scene, rng));
        }
        if (ct_scene_check(scene, NULL) == CS_OK) {
            return;
        }
    }
}
