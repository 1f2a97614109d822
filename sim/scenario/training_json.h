/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario/training_json.h -- iterations of data-parallel training: compute, and an AllReduce of
 * every bucket of gradients.
 *
 * The key "training" of a configuration, for `collsim montecarlo`; sim/doc/training.md says what an
 * iteration is.
 */
#ifndef CS_SCENARIO_TRAINING_JSON_H
#define CS_SCENARIO_TRAINING_JSON_H

#include "scenario/workload.h"

enum {
    CS_MAX_BUCKETS        = 100000, /* that a model is cut into */
    CS_MAX_LISTED_BUCKETS = 4096    /* given one by one */
};

/* Plain data, everything borrowed. `{0}`: no training, single calls. */
typedef struct cs_training {
    const cs_workload *workload;      /* NULL: the sizes were given */
    double             compute_s;     /* forward and backward, without what arrivals add */
    double             overlap_ratio; /* part of the compute that calls may run beside, [0, 1] */
    double             tail_s;        /* after the last call */
    uint64_t           bytes;         /* of all buckets together */
    uint32_t           n_buckets;     /* calls per iteration; 0: no training */
    const uint32_t    *size_of;       /* [n_buckets]: index of the bucket's size */
    uint32_t           n_sizes;       /* different ones */
    const uint64_t    *size_bytes;    /* [n_sizes], in the order of their first buckets */
} cs_training;

#endif
