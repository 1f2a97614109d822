/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/whatif_json.h -- a job of many iterations on NICs that fail, from a configuration.
 *
 * The keys: name, description, job, algorithm, cluster, model, faults, bandwidth_trace, policies,
 * timers (sim/doc/whatif.md says what each means). Errors are located as those of a scenario are.
 */
#ifndef CS_WHATIF_WHATIF_JSON_H
#define CS_WHATIF_WHATIF_JSON_H

#include "scenario/fault.h"
#include "study/config.h"

/* What a policy does about a fault: enum, and in a few words. */
#define CS_POLICY_MAP(X)                                                         \
    X(HEALTHY, "the job's schedule on NICs that never fail")                     \
    X(KEEP, "the job's schedule goes on over the degraded NICs")                 \
    X(SWITCH, "another schedule once a fault is known, the job's before")        \
    X(EXCLUDE, "stop, restart without the failed server, the job's on the rest") \
    X(WAIT, "stand still from detection until the repair")

typedef enum cs_policy_kind {
#define X(id, text) CS_POLICY_##id,
    CS_POLICY_MAP(X)
#undef X
        CS_POLICY_KINDS
} cs_policy_kind;

/* A schedule that calls may run. */
typedef struct cs_whatif_schedule {
    const cs_algorithm *algorithm;
    cs_options          options; /* as given */
} cs_whatif_schedule;

/* `healthy`, `iccl` (keep), `exclude`, `wait`, or the name of an algorithm to switch to. */
typedef struct cs_whatif_policy {
    const char        *name; /* static storage */
    cs_policy_kind     kind;
    cs_whatif_schedule schedule; /* of CS_POLICY_SWITCH; without an algorithm where this build has
                                    none of that name */
} cs_whatif_policy;

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
    cs_job               call;   /* one AllReduce of all ranks on healthy NICs: its scenario and
                                    model; no algorithm */
    uint32_t           calls;    /* per iteration, one after the other */
    cs_whatif_schedule schedule; /* what runs without a fault */
    const cs_fault    *faults;   /* in job time, sorted by server, then time; none overlap */
    size_t             n_faults;
    cs_whatif_timers   timers;
    cs_whatif_policy  *policies; /* in the arena; the first is `healthy` */
    size_t             n_policies;
} cs_whatif_job;

/* Read a job. A configuration with a sweep is refused. The caller owns the job
 * (cs_whatif_job_free) on CS_OK; on failure it is left alone. */
CS_MUST_CHECK cs_status cs_whatif_read(const cs_config *config, cs_whatif_job *job_p,
                                       cs_error *err);

/* `{0}` is allowed. */
void cs_whatif_job_free(cs_whatif_job *job);

#endif
