/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/whatif_json.h -- a job of many iterations on NICs that fail, from a configuration.
 *
 * The keys: name, description, job, cluster, model, faults, bandwidth_trace, policies, timers
 * (sim/doc/whatif.md says what each means). Errors are located as those of a scenario are.
 */
#ifndef CS_CONFIG_WHATIF_JSON_H
#define CS_CONFIG_WHATIF_JSON_H

#include "config/config.h"

/* One row per policy: enum, name, what it does. HEALTHY is the reference and always computed. */
#define CS_POLICY_MAP(X)                                                               \
    X(HEALTHY, "healthy", "the ring on NICs that never fail: the reference")           \
    X(ICCL, "iccl", "the ring goes on over the degraded NICs")                         \
    X(R2CCL, "r2ccl", "R2CCL's schedule once a fault is known, the ring before")       \
    X(OPTCC, "optcc", "OptCC's schedule once a fault is known, the ring before")       \
    X(EXCLUDE, "exclude", "stop, restart without the failed server, ring on the rest") \
    X(WAIT, "wait", "stand still from detection until the repair")

typedef enum cs_policy {
#define X(id, name, summary) CS_POLICY_##id,
    CS_POLICY_MAP(X)
#undef X
        CS_POLICY_COUNT
} cs_policy;

/* The NICs of a rank's server are slow, or dead, during [from_s, until_s) of the job. */
typedef struct cs_outage {
    uint32_t rank;
    bool     is_down;    /* no bandwidth at all until the fault is detected ... */
    double   slow_ratio; /* ... this slowdown from then on; INFINITY: no other NIC is left */
    double   from_s, until_s;
} cs_outage;

/* How fast things are noticed and done. */
typedef struct cs_whatif_timers {
    const char *preset;
    double      detect_s;        /* a change is noticed if it lasts that long */
    double      reschedule_s;    /* ... and answered by another schedule after so much more */
    double      restart_s;       /* stop, restart without a server, recompute what was lost */
    double      rejoin_s;        /* take a repaired server in again; INFINITY: never */
    double      tolerance_ratio; /* slowdowns within 1 + this of another count as the same */
} cs_whatif_timers;

typedef struct cs_whatif_job {
    cs_arena             arena;
    struct cs_held_file *files; /* a topology that the rest points into; held */
    const char          *name;  /* or NULL */
    uint64_t             iterations;
    double               compute_s;     /* per iteration */
    double               overlap_ratio; /* part of the compute time that calls may run beside */
    double               horizon_s;     /* the job is watched until then; INFINITY: to its end */
    uint64_t             bytes;         /* per AllReduce call */
    uint32_t             calls;         /* per iteration, one after the other */
    cs_cluster           cluster;
    const cs_model      *model;
    cs_options           model_options;
    const cs_outage     *outages; /* sorted by server, then time; none overlap */
    size_t               n_outages;
    cs_whatif_timers     timers;
    bool                 wants[CS_POLICY_COUNT];
} cs_whatif_job;

/* Name and one line about a policy; static storage. */
CS_API const char *cs_policy_name(cs_policy policy);
CS_API const char *cs_policy_summary(cs_policy policy);

/* Read a job. A configuration with a sweep is refused. The caller owns the job
 * (cs_whatif_job_free) on CS_OK; on failure it is left alone. */
CS_API CS_MUST_CHECK cs_status cs_whatif_read(const cs_config *config, cs_whatif_job *job_p,
                                              cs_error *err);

/* `{0}` is allowed. */
CS_API void cs_whatif_job_free(cs_whatif_job *job);

#endif
