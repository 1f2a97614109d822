/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/failures.h -- a job of days on servers that fail again and again: what every policy loses
 * on average.
 *
 * Many histories of failures (*trials*) are drawn from mean times between failures and to repair,
 * or taken from what was recorded of a fleet; the same ones for every policy. A policy goes through
 * each of them state by state (whatif/course.h): how long an iteration takes in a state is replayed
 * once (whatif/pace.h). What that leaves out: sim/doc/failures.md.
 */
#ifndef CS_WHATIF_FAILURES_H
#define CS_WHATIF_FAILURES_H

#include "base/statistics.h"
#include "whatif/call.h"

/* ---- what came out ---- */

/* A cause over all trials of a setting. */
typedef struct cs_cause_line {
    cs_failure_cause cause;      /* its times multiplied */
    double           components; /* of the job that can fail */
    cs_estimate      failures;   /* of a trial */
    cs_estimate      down;       /* part of its time that a component is down */
    double           expected_failures, expected_down; /* closed forms; NAN: not exponential */
} cs_cause_line;

/* A policy over all trials of a setting. GPU-hours are per trial. */
typedef struct cs_failure_line {
    const cs_whatif_policy *policy;
    uint32_t                place; /* 1 loses least; 0: `healthy` */
    cs_estimate             lost;  /* paid for, less what was done at the reference's pace */
    double                  lost_p95;
    cs_estimate             saved; /* the baseline's loss less this one, trial by trial */
    double      paid, slower, stalled, stopped, redone, spares; /* paid = done + these */
    double      restarts;                                       /* per trial */
    const char *note;                                           /* or NULL */
} cs_failure_line;

/* Where a history's second half was predicted from its first: failures of a cause, or GPU-hours
 * lost by a policy, of a job, on average over as many jobs as the fleet has room for. */
typedef struct cs_failure_prediction {
    const char *name;
    bool        is_cause;
    cs_estimate predicted; /* the mean, and between which values the average lies */
    double      happened;
} cs_failure_prediction;

typedef struct cs_failure_setting {
    const char      *what; /* in words; NULL: drawn from the causes */
    uint64_t         trials;
    double           duration_s;
    double           mtbf_factor, mttr_factor;
    cs_cause_line   *causes;
    size_t           n_causes;
    double           optimum_s; /* Young's interval between checkpoints; NAN: they cost nothing */
    cs_failure_line *lines;     /* `healthy`, then by place */
    size_t           n_lines;
} cs_failure_setting;

/* More trials of all policies, settings and factors than this are refused. */
#define CS_MAX_COURSES 1e7

typedef struct cs_failure_report {
    cs_arena               arena;
    double                 healthy_iteration_s; /* with the job's schedule */
    double                 best_iteration_s;    /* with the best of all schedules on whole NICs */
    cs_best_call           best;
    const char            *baseline; /* the first policy */
    uint64_t               states;   /* of servers that were replayed */
    cs_failure_setting    *settings;
    size_t                 n_settings;
    cs_failure_prediction *predictions; /* n_predictions 0: none was asked for */
    size_t                 n_predictions;
    uint64_t               jobs; /* that the fleet has room for */
} cs_failure_report;

/* Run a job with failures under every policy, on so many threads (>= 1), which do not change a bit
 * of the report. The caller owns it (cs_failure_report_free) on CS_OK; it borrows the job. */
CS_MUST_CHECK cs_status cs_failures_run(const cs_whatif_job *job, size_t n_threads,
                                        cs_failure_report *report_p, cs_error *err);

/* `{0}` is allowed. */
void cs_failure_report_free(cs_failure_report *report);

/* ---- as text (whatif/failures_text.c) ---- */
void cs_failures_table(const cs_whatif_job *job, const cs_failure_report *report, cs_text *text);
void cs_failures_json(const cs_whatif_job *job, const cs_failure_report *report, cs_text *text);
/* One line per policy of every setting. */
void cs_failures_csv(const cs_whatif_job *job, const cs_failure_report *report, cs_text *text);

#endif
