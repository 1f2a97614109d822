/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario/case.h -- one job of a configuration, and what else that says of it. */
#ifndef CS_SCENARIO_CASE_H
#define CS_SCENARIO_CASE_H

#include "base/arena.h"
#include "cs/arrival_process.h"
#include "cs/config.h"
#include "scenario/late_prediction.h"
#include "scenario/workload.h"

enum {
    CS_MAX_BUCKETS        = 100000, /* that a model is cut into */
    CS_MAX_LISTED_BUCKETS = 4096    /* given one by one */
};

/* Iterations of training (the key "training", for `collsim montecarlo`): compute, and calls one
 * behind the other, in data parallelism an AllReduce of every bucket of gradients;
 * sim/doc/training.md. Plain data, everything borrowed. `{0}`: no training, single calls. */
typedef struct cs_training {
    const cs_workload   *workload;      /* NULL: the sizes were given */
    double               compute_s;     /* forward and backward, without what arrivals add */
    double               overlap_ratio; /* part of the compute that calls may run beside, [0, 1] */
    double               tail_s;        /* after the last call */
    uint64_t             bytes;         /* of all buckets together */
    uint32_t             n_buckets;     /* calls per iteration; 0: no training */
    const uint32_t      *size_of;       /* [n_buckets]: index of the bucket's size */
    uint32_t             n_sizes;       /* different ones */
    const uint64_t      *size_bytes;    /* [n_sizes], in the order of their first buckets */
    const cs_collective *size_collective; /* [n_sizes], or NULL: AllReduce */

    /* [n_buckets], or both NULL: buckets are filled evenly over the overlap at the end of the
     * compute, and nobody waits for them before the end of the iteration. The part of its compute
     * after which a rank enters the call, and the part from which on it needs what the call brings;
     * INFINITY: never. */
    const double *ready_ratio, *needed_ratio;
} cs_training;

/* What cs_config_case() fills. The scenario's lists and `json` live in the arena and stay valid
 * when the struct is moved. */
struct cs_case {
    cs_arena             arena;
    struct cs_held_file *files;       /* traces and topologies that the rest points into; held */
    cs_job               job;         /* as given: not resolved, but with a checked scenario; its
                                         arrivals are those of iteration 0 */
    cs_arrival_process arrivals;      /* of every iteration; in the arena */
    const char        *arrival_notes; /* what was left out and assumed of a trace of arrivals, a
                                         sentence a line; held; NULL: nothing */
    cs_prediction_policy   policy;
    const struct cs_fault *faults; /* as they were given; the scenario has the capacity that they
                                      leave together */
    size_t      n_faults;
    cs_training training; /* its lists are in the arena; then job.scenario.bytes is the
                             largest bucket */
    const char *json;     /* this scenario alone, as given: compact, keys sorted */
};

/* Free what the case owns; `{0}` is allowed. */
void cs_case_free(cs_case *c);

#endif
