/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenes for R2CCL, its options and its time. */
#ifndef CS_TESTS_R2CCL_SETUP_H
#define CS_TESTS_R2CCL_SETUP_H

#include "support/scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef struct r2ccl_options {
    uint32_t pieces;
    int      chosen;
} r2ccl_options;

enum { AUTO, R2CCL, RING };

static const double RATE_BPS = 1e9;
static ct_scene     scene, other;

/* n ranks of which `slow` is slow by `ratio`, at 1 GB/s. */
static inline void set_scene(ct_scene *s, const char *algorithm, uint32_t n, uint32_t slow,
                             double ratio, uint64_t bytes, double alpha_s)
{
    ct_scene_set(s, algorithm, CS_ALLREDUCE, n, bytes);
    s->scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, alpha_s, RATE_BPS};
    s->capacity[0]                      = (cs_capacity){slow, ratio, 0, (double)INFINITY};
    s->scenario.capacity                = s->capacity;
    s->scenario.n_capacity              = 1;
}

static inline void set_pieces(uint32_t pieces, int chosen)
{
    r2ccl_options o = {pieces, chosen};
    memcpy(&scene.options, &o, sizeof o);
}

static inline r2ccl_options resolved(void)
{
    r2ccl_options o;
    memcpy(&o, &scene.options, sizeof o);
    return o;
}

static inline double elapsed_s(void)
{
    ct_scene_ready(&scene);
    cs_outcome out = ct_scene_replay(&scene, NULL);
    cr_assert(out.verified, "%s: %s", ct_scene_text(&scene), out.verdict.text);
    return out.elapsed_s;
}

#endif
