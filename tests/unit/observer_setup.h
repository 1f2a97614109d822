/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays with observers, and two messages that overlap. */
#ifndef CS_TESTS_OBSERVER_SETUP_H
#define CS_TESTS_OBSERVER_SETUP_H

#include "cs/result.h"

#include <criterion/criterion.h>

static inline cs_scenario scenario_of(uint32_t n_ranks, uint32_t gpus_per_server,
                                      cs_fabric_kind kind)
{
    cs_fabric nic    = {.kind = CS_SWITCHED, .alpha_s = 3e-6, .bandwidth_Bps = 50e9};
    cs_fabric nvlink = {.kind = kind, .alpha_s = 1e-6, .bandwidth_Bps = 450e9};

    return (cs_scenario){.collective = CS_ALLREDUCE,
                         .bytes      = 840 * 4096,
                         .cluster    = {.n_ranks         = n_ranks,
                                        .gpus_per_server = gpus_per_server,
                                        .fabrics         = {nic, nvlink}}};
}

static inline cs_job job_of(const cs_scenario *scenario, const cs_algorithm *algorithm,
                            const cs_model *model)
{
    cs_job job = {.scenario = *scenario};

    cs_job_set_algorithm(&job, algorithm, NULL);
    cs_job_set_model(&job, model, NULL);
    return job;
}

/* Run with observers; false where the algorithm or the model refuses. */
static inline bool run_with(const cs_scenario *scenario, const cs_algorithm *algorithm,
                            const cs_model *model, const cs_observer *observers, size_t n,
                            cs_result *result)
{
    const cs_job job = job_of(scenario, algorithm, model);

    return cs_job_run(&job, observers, n, result, NULL) == CS_OK;
}

static inline const cs_algorithm *ring(void)
{
    const cs_algorithm *algorithm = NULL;
    cr_assert_eq(cs_algorithm_find("ring", &algorithm, NULL), CS_OK);
    return algorithm;
}

/* Two messages of one port overlap by 6 us, as latency that holds no port allows; then both
 * chunks go on as one message, which waits for the second. */
static inline void feed_overlap(const cs_observer *observer)
{
    static const cs_interval intervals[] = {{0, 10e-6}, {4e-6, 14e-6}, {14e-6, 20e-6}};
    cs_transfer              transfers[] = {
                     {.src = 0, .dst = 1, .chunk = 0, .bytes = 8, .span = 1, .flags = CS_OWN_SRC},
                     {.src      = 0,
                      .dst      = 1,
                      .chunk    = 1,
                      .src_slot = 1,
                      .dst_slot = 1,
                      .bytes    = 8,
                      .span     = 1,
                      .flags    = CS_OWN_SRC},
                     {.src = 1, .dst = 2, .chunk = 0, .bytes = 16, .round = 1, .span = 2},
    };
    cs_block block = {.transfers = transfers, .capacity = 64, .count = 3};

    cr_assert_eq(observer->block(observer->user, &block, intervals, NULL), CS_OK);
}

#endif
