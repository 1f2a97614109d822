/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/whatif.h -- a job of many iterations on NICs that fail: what each policy makes of it.
 *
 * An iteration computes, then calls AllReduce; `overlap` is the part of the compute time beside
 * which calls may already run. A policy decides which schedule each call runs, when the job stands
 * still and which servers take part. Its result is a list of intervals that cover the time from 0
 * to the end of the job without a gap; the iterations of all intervals, less those that are lost,
 * add up to those that were done. Beside NICs, GPUs may be slowed (whatif/interference.h) and a
 * worker may die; whoever profiles knows the rates of the last profile (whatif/knowledge.h).
 * What is exact and what is left out: sim/doc/whatif.md.
 */
#ifndef CS_WHATIF_WHATIF_H
#define CS_WHATIF_WHATIF_H

#include "base/text.h"
#include "whatif/call.h"

/* What happens in an interval: enum, and in a few words. */
#define CS_INTERVAL_MAP(X)                              \
    X(HEALTHY, "the job's schedule on healthy NICs")    \
    X(DEGRADED, "the job's schedule, slowed")           \
    X(ADAPTED, "the policy's own schedule")             \
    X(SMALLER, "without the excluded servers")          \
    X(ABORTED, "work of an iteration that was dropped") \
    X(PROFILE, "stopped to profile the links")          \
    X(REBUILD, "stopped to set up another schedule")    \
    X(HUNG, "waiting for a worker that has died")       \
    X(RESTART, "stopped to restart")                    \
    X(STUCK, "stuck for ever")

typedef enum cs_job_interval_kind {
#define X(id, text) CS_INTERVAL_##id,
    CS_INTERVAL_MAP(X)
#undef X
        CS_INTERVAL_COUNT
} cs_job_interval_kind;

/* Iterations of equal duration, one iteration across a change, or a stop. */
typedef struct cs_job_interval {
    double from_s, until_s;
    double iterations;             /* whole jobs' worth: an iteration without k of p GPUs counts
                                      (p - k) / p */
    double               held_s;   /* of its time, calls were held back until a repair */
    double               lost;     /* iterations that have to be done again, from here on */
    uint32_t             excluded; /* servers that do not take part */
    cs_job_interval_kind kind;
} cs_job_interval;

/* What the death of a worker cost a policy; NAN: it was not met. */
typedef struct cs_death_cost {
    double hung_s;    /* waited for it */
    double stopped_s; /* profiled, set up another schedule, or restarted */
    double redone;    /* iterations since the checkpoint that are lost, and what was dropped */
    double lost_s;    /* all together; an iteration counts as the one before the death took */
} cs_death_cost;

typedef struct cs_whatif_line {
    const cs_whatif_policy *policy;       /* the job's */
    bool                    is_available; /* false: `note` says why, and the rest is empty */
    bool                    is_finished;  /* all iterations were done */
    uint32_t                place;        /* 1 is best; 0 for `healthy` and what is not available */
    double                  total_s;      /* until the end or the horizon; INFINITY: never */
    double                  iterations;   /* done by then */
    double lost_gpu_hours;   /* spent, less what the work done costs with the best schedule on
                                NICs that never fail */
    const char      *reason; /* one line */
    const char      *note;   /* or NULL */
    uint64_t         n_profiles, n_rebuilds; /* for which the job was stopped */
    cs_death_cost    death;
    double           speedup; /* the baseline's time an iteration over the own one; NAN: none */
    cs_job_interval *intervals;
    size_t           n_intervals;
} cs_whatif_line;

typedef struct cs_whatif_report {
    cs_arena        arena;
    double          healthy_call_s, healthy_iteration_s; /* with the job's schedule */
    double          best_iteration_s; /* with the best of all schedules, without a fault */
    cs_best_call    best;             /* ... and its call */
    const char     *baseline; /* the first policy behind `healthy`, which speedups are against */
    uint64_t        replays;
    cs_whatif_line *lines; /* `healthy`, then by place, then not available; in the arena */
    size_t          n_lines;
} cs_whatif_report;

/* Run a job under every policy that it wants. The caller owns the report (cs_whatif_free) on
 * CS_OK; it borrows the job. Time grows with the number of changes, not of iterations. */
CS_MUST_CHECK cs_status cs_whatif_run(const cs_whatif_job *job, cs_whatif_report *report_p,
                                      cs_error *err);

/* `{0}` is allowed. */
void cs_whatif_free(cs_whatif_report *report);

/* How a kind is called. */
const char *cs_job_interval_text(cs_job_interval_kind kind);

/* ---- a report as text (whatif/whatif_text.c) ---- */

/* The ranking with its reasons, then the throughput over time (at most 12 intervals a policy). */
void cs_whatif_table(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text);

/* One object; numbers read back exactly, what never ends is null. */
void cs_whatif_json(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text);

/* One line per interval of every policy. */
void cs_whatif_csv(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text);

/* ---- one policy through the whole job, iteration by iteration (whatif/simulate_policy.c) ---- */

typedef struct cs_policy_request {
    const cs_whatif_job    *job;
    const cs_timeline      *timeline;
    cs_caller              *caller;
    const cs_whatif_policy *policy;
    double                  healthy_iteration_s;
    cs_arena               *arena; /* of the intervals and texts */
} cs_policy_request;

/* A part of cs_whatif_run(): fill the intervals, is_finished, total_s, iterations and note of a
 * line. */
CS_MUST_CHECK cs_status cs_simulate_policy(const cs_policy_request *request, cs_whatif_line *line,
                                           cs_error *err);

#endif
