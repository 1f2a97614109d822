/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenes for StragglAR in which several ranks may be late, judged contribution by contribution. */
#ifndef CS_TESTS_STRAGGLAR_LATE_SETUP_H
#define CS_TESTS_STRAGGLAR_LATE_SETUP_H

#include "stragglar_setup.h"

static inline void begin(uint32_t n, uint64_t bytes)
{
    ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, n, bytes);
}

/* Ranks n - late .. n - 1 arrive at late_s, the others at 0. */
static inline void arrive(uint32_t late, double late_s)
{
    uint32_t n = scene.scenario.cluster.n_ranks;

    for (uint32_t r = 0; r < n; r++) {
        scene.arrival_s[r] = r + late >= n ? late_s : 0;
    }
    scene.scenario.arrival_s = scene.arrival_s;
}

static inline double x_s(void)
{
    return (double)scene.scenario.bytes / scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps;
}

/* Checked, judged by the oracle, replayed and verified. */
static inline cs_outcome run(void)
{
    ct_scene_ready(&scene);
    ct_stream    stream    = ct_stream_record(&scene, 512);
    ct_judgement judgement = ct_judge(&scene.scenario, &scene.plan, &stream);
    cr_assert(judgement.is_correct, "%s: %s", ct_scene_text(&scene), judgement.text);
    cr_assert_eq(stream.transfers[stream.count - 1].round + 1, scene.plan.n_rounds);
    ct_stream_free(&stream);
    return ct_scene_replay(&scene, NULL);
}

static inline double closed_form_s(void)
{
    return scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
}

#endif
