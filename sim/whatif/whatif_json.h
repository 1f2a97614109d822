/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/whatif_json.h -- a job of many iterations on NICs that fail, from a configuration.
 *
 * The keys: name, description, job, algorithm, cluster, model, faults, bandwidth_trace,
 * interference, profile, death, failures, policies, timers, seed (sim/doc/whatif.md and failures.md
 * say what each means).
 * Errors are located as those of a scenario are.
 */
#ifndef CS_WHATIF_WHATIF_JSON_H
#define CS_WHATIF_WHATIF_JSON_H

#include "base/listener.h"
#include "scenario/fault.h"
#include "study/config.h"
#include "whatif/interference.h"
#include "whatif/outages.h"

/* What a policy does about a fault: enum, and in a few words. */
#define CS_POLICY_MAP(X)                                                         \
    X(HEALTHY, "the job's schedule on NICs that never fail")                     \
    X(KEEP, "the job's schedule goes on over the degraded NICs")                 \
    X(SWITCH, "another schedule once a fault is known, the job's before")        \
    X(RUN, "another schedule all the time, made for what its last profile saw")  \
    X(EXCLUDE, "stop, restart without the failed server, the job's on the rest") \
    X(SHRINK, "go on without the failed server, the job's on the rest")          \
    X(RESTART, "a dead NIC ends the job, which restarts on what is left")        \
    X(SPARE, "stop, go on with a spare server in the failed one's place")        \
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

/* Does a policy profile the links again? AUTO: if its schedule depends on the rates of NICs. */
typedef enum cs_profiles { CS_PROFILES_AUTO, CS_PROFILES_YES, CS_PROFILES_NO } cs_profiles;

/* What a policy does when a worker dies. AUTO: `adapcc` excludes it, all others restart. */
typedef enum cs_recovery {
    CS_RECOVERY_AUTO,
    CS_RECOVERY_EXCLUDE, /* wait until AdapCC's deadline, go on without it */
    CS_RECOVERY_RESTART, /* from the last checkpoint, without it */
} cs_recovery;

/* `healthy`, `iccl` (keep), `exclude`, `shrink`, `restart`, `spare`, `wait`, or the name of an
 * algorithm to run or switch to. */
typedef struct cs_whatif_policy {
    const char        *name; /* its label; static storage or the arena's */
    cs_policy_kind     kind;
    cs_whatif_schedule schedule;  /* of CS_POLICY_SWITCH and _RUN; without an algorithm where this
                                     build has none of that name */
    cs_whatif_schedule excluding; /* the same, but that it leaves out who does not come; without an
                                     algorithm where it cannot */
    int profiles;                 /* cs_profiles */
    int recovery;                 /* cs_recovery, never AUTO once it is read */
} cs_whatif_policy;

/* How policies of kind CS_POLICY_RUN come to know the rates of NICs. */
typedef struct cs_profiling {
    bool     is_on;
    uint64_t period;     /* iterations from one profile to the next; 0: one at the begin alone */
    double   duration_s; /* of a profile; NAN: that of AdapCC's probes, see cs_call_probes() */
    double   barrier_s;  /* ... of which each round of probes takes so much more */
    double   rebuild_s;  /* to set up another schedule */
} cs_profiling;

/* Who leaves when a worker dies: its server with all its GPUs, or it alone. */
typedef enum cs_death_takes { CS_DEATH_SERVER, CS_DEATH_WORKER } cs_death_takes;

/* A worker that dies. */
typedef struct cs_death {
    bool     is_there;
    uint32_t rank;
    int      takes; /* cs_death_takes */
    double   at_s;
    double   hang_s;     /* until a library that hangs is noticed */
    double   relaunch_s; /* stop, start and load the checkpoint */
    uint64_t checkpoint; /* iterations from one to the next */
} cs_death;

/* How fast things are noticed and done. */
typedef struct cs_whatif_timers {
    const char *preset;
    double      detect_s;     /* a change is noticed if it lasts that long */
    double      reschedule_s; /* ... and answered by another schedule after so much more */
    double      restart_s;    /* stop and restart, with or without a server */
    uint64_t    checkpoint;   /* iterations from one to the next, of which what follows is lost
                                 by a restart; 0: restart_s counts it */
    double shrink_s;          /* go on without a server, and nothing is lost */
    double spare_s;           /* go on with a spare server, from the last checkpoint */
    double rejoin_s;          /* take a repaired server in again; INFINITY: never */
    double tolerance_ratio;   /* slowdowns within 1 + this of another count as the same */
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
    const cs_fault    *faults;   /* in job time, sorted by server, then time */
    size_t             n_faults;
    cs_interference    interference;
    cs_profiling       profiling;
    cs_death           death;
    cs_failures        failures;
    cs_fault_history   history; /* of failures.recorded */
    uint64_t           batch;   /* samples of an iteration of all ranks; 0: not known */
    uint32_t           spares;  /* servers that stand by for CS_POLICY_SPARE, and are paid for */
    cs_whatif_timers   timers;
    cs_whatif_policy  *policies; /* in the arena; the first is `healthy` */
    size_t             n_policies;
    cs_listener listener; /* is told how much of the random part is done; set behind the reading */
} cs_whatif_job;

/* Read a job. A configuration with a sweep is refused. The caller owns the job
 * (cs_whatif_job_free) on CS_OK; on failure it is left alone. */
CS_MUST_CHECK cs_status cs_whatif_read(const cs_config *config, cs_whatif_job *job_p,
                                       cs_error *err);

/* `{0}` is allowed. */
void cs_whatif_job_free(cs_whatif_job *job);

/* ---- the key "failures" (whatif/failures_json.c) ---- */
extern const cs_field cs_failures_fields[];
cs_field_read         cs_read_failures; /* of a cs_whatif_job */

/* Refuse keys that do not go with "failures". */
void cs_check_failures(cs_reading *r, const cs_place *root, const cs_whatif_job *job);

#endif
