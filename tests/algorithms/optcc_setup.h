/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scenario for OptCC, its options and its result. The first m servers are slow. */
#ifndef CS_TESTS_OPTCC_SETUP_H
#define CS_TESTS_OPTCC_SETUP_H

#include "cs/result.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SLOW = 64 };

static const double RATE_BPS = 1e6;

typedef struct setup {
    cs_scenario         scenario;
    cs_capacity         capacity[MOST_SLOW];
    const cs_algorithm *optcc;
    cs_options          options, model_options;
    const cs_model     *model; /* NULL: alpha-beta */
    bool                is_unverified;
    cs_result           result;
    cs_error            err;
} setup;

static inline void make(setup *s, unsigned p, unsigned g, const double *slow, unsigned m,
                        uint64_t bytes)
{
    cs_fabric nic    = {CS_SWITCHED, 0, RATE_BPS};
    cs_fabric nvlink = {CS_SWITCHED, 0, RATE_BPS * (g > 1 ? g - 1 : 1)};

    *s                                     = (setup){.scenario = {.bytes = bytes, .n_capacity = m}};
    s->scenario.capacity                   = s->capacity;
    s->scenario.cluster                    = (cs_cluster){.n_ranks = p * g, .gpus_per_server = g};
    s->scenario.cluster.fabrics[CS_NIC]    = nic;
    s->scenario.cluster.fabrics[CS_NVLINK] = nvlink;
    for (unsigned i = 0; i < m; i++) {
        s->capacity[i] = (cs_capacity){i * g, slow[i], 0, (double)INFINITY};
    }
    cr_assert_eq(cs_algorithm_find("optcc", &s->optcc, NULL), CS_OK);
    cs_fields_default(s->optcc->options, &s->options);
    cs_fields_default(cs_models[0]->options, &s->model_options);
}

static inline void set(setup *s, const char *key, const char *value)
{
    cr_assert_eq(cs_field_set(s->optcc->options, &s->options, key, value, key, &s->err), CS_OK,
                 "%s", s->err.message);
}

static inline void set_number(setup *s, const char *key, unsigned value)
{
    char text[16];

    snprintf(text, sizeof text, "%u", value);
    set(s, key, text);
}

static inline cs_status run(setup *s)
{
    cs_job job = {.scenario = s->scenario, .verify = !s->is_unverified};

    cs_job_set_algorithm(&job, s->optcc, &s->options);
    cs_job_set_model(&job, s->model != NULL ? s->model : cs_models[0], &s->model_options);
    return cs_job_run(&job, NULL, 0, &s->result, &s->err);
}

/* T over the time of the buffer on a healthy NIC of a server. */
static inline double relative_time(const setup *s)
{
    double share = (double)s->scenario.bytes / s->scenario.cluster.gpus_per_server;
    return s->result.elapsed_s / (share / RATE_BPS);
}

#endif
