/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario/workload.h -- neural networks whose gradients are summed in every iteration.
 *
 * All that a collective sees of a network is how many parameters are trained; tied weights count
 * once, as there is one gradient. tests/unit/test_workload.c derives every number from the
 * architecture.
 */
#ifndef CS_SCENARIO_WORKLOAD_H
#define CS_SCENARIO_WORKLOAD_H

#include "cs/named.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cs_workload {
    const char *name;
    uint64_t    n_parameters;
    const char *summary; /* the architecture */
    const char *source;
} cs_workload;

/* All of them, ended by a row without a name. */
extern const cs_workload cs_workloads[];
extern const cs_named    cs_workload_names;

/* Find one by its name; CS_ENOENT names the nearest. */
CS_MUST_CHECK cs_status cs_workload_find(const char *name, const cs_workload **workload_p,
                                         cs_error *err);

#endif
