/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario/workload.h -- neural networks that are trained: what collectives see of them.
 *
 * Data parallelism sees how many parameters are trained; tied weights count once, as there is one
 * gradient. Sharded parameters are gathered layer by layer. Experts get activations, which are as
 * wide as the network, of every token so many times as there are experts for it.
 * tests/unit/test_workload.c derives every number from the architecture.
 */
#ifndef CS_SCENARIO_WORKLOAD_H
#define CS_SCENARIO_WORKLOAD_H

#include "cs/named.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cs_workload {
    const char *name;
    uint64_t    n_parameters;
    uint32_t    n_layers, width;
    uint32_t    n_experts, n_chosen, n_expert_layers; /* 0: none; those of a token, shared ones not
                                                         counted; layers that have them */
    const char *summary;                              /* the architecture */
    const char *source;
} cs_workload;

/* All of them, ended by a row without a name. */
extern const cs_workload cs_workloads[];
extern const cs_named    cs_workload_names;

/* Find one by its name; CS_ENOENT names the nearest. */
CS_MUST_CHECK cs_status cs_workload_find(const char *name, const cs_workload **workload_p,
                                         cs_error *err);

#endif
