/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/job.h -- what can be run: a scenario, an algorithm and a model with their options.
 *
 *   cs_job job = {.scenario = scenario, .verify = true};
 *   cs_job_set_algorithm(&job, algorithm, NULL);
 *   cs_job_set_model(&job, model, NULL);
 *   cs_status status = cs_job_run(&job, NULL, 0, &result, err);
 *
 * A job is a plain value: copy it and change what differs. Once cs_job_resolve() has decided what
 * runs the job owns what the algorithm has built for that, until cs_job_release(); a copy borrows
 * it. Runs of one resolved job may go on in several threads at once.
 */
#ifndef CS_JOB_H
#define CS_JOB_H

#include "cs/algorithm.h"
#include "cs/bound.h"
#include "cs/model.h"

CS_BEGIN_C

typedef struct cs_result cs_result; /* cs/result.h */

typedef struct cs_job {
    /* What is to be run: set by whoever wants it. */
    cs_scenario         scenario;      /* its lists are borrowed */
    bool                is_checked;    /* ... and it has passed cs_scenario_check() as it is */
    const cs_algorithm *algorithm;     /* NULL: no schedule; such a job has bounds alone */
    cs_options          options;       /* of the algorithm; resolved, without "auto" */
    const cs_model     *model;         /* NULL: no times; such a job has a schedule alone */
    cs_options          model_options; /* of the model */
    bool                verify;        /* check the schedule while it runs */

    /* What cs_job_resolve() decides; begin with zeros. */
    bool    is_resolved;
    cs_plan plan; /* with what the algorithm keeps for its streams: plan.prepared is the job's */
} cs_job;

/* Set the algorithm of a job that is not resolved, and its options: a copy of these, or (NULL) the
 * defaults. */
CS_API void cs_job_set_algorithm(cs_job *job, const cs_algorithm *algorithm, const void *options);

/* Set the model and its options in the same way. A resolved job keeps its schedule, which the model
 * has not been asked about (cs_model.check). */
CS_API void cs_job_set_model(cs_job *job, const cs_model *model, const void *options);

/* Can it be run? Checks the scenario (unless is_checked), has the algorithm replace every "auto" in
 * `options` by what is used and fill the plan, and asks the model. An algorithm that chooses among
 * schedules has them replayed on the model, where no closed form is exact. The first refusal is
 * returned, in that order, and the job is not resolved then. A resolved job is left as it is. */
CS_API CS_MUST_CHECK cs_status cs_job_resolve(cs_job *job, cs_error *err);

/* What cs_job_resolve() has algorithms ask: replays on the job's model, or on the cheaper one that
 * this names, whose options are put into `theirs`. It borrows the job and `theirs`. */
CS_API cs_forecast cs_job_forecast(const cs_job *job, cs_options *theirs);

/* Free what cs_job_resolve() has built; the job is as if it had been given the options that were
 * chosen. `{0}`, and a job that is not resolved, are allowed. */
CS_API void cs_job_release(cs_job *job);

/* Somebody who watches a replay (timeline, port statistics, critical path). */
typedef struct cs_observer {
    /* Optional. Every transfer with its times, once per block, in stream order; both arrays are
     * borrowed during the call. */
    cs_status (*block)(void *user, const cs_block *block, const cs_interval *intervals,
                       cs_error *err);
    void *user;
    /* Optional. Over a network model, once the transfers have been counted and before the first of
     * them is under way: so many there will be. */
    void (*counted)(void *user, uint64_t n_transfers);
    /* Optional, for one observer of a replay. Over a network model that counts on links (it has
     * watch()): what it counted, once, when all has ended; over intervals of sample_s seconds (0:
     * none, or CS_SAMPLE_AUTO). The report is borrowed during the call. */
    cs_status (*links)(void *user, const cs_link_report *report, cs_error *err);
    double sample_s;
    /* Optional. What a reactive stream has decided (what cs_algorithm.decided returns), once, when
     * all has ended; borrowed during the call. */
    void (*decided)(void *user, const void *decisions);
} cs_observer;

/* Run a job: replay and verify it, and put the closed form and the lower bound beside the time. A
 * job that is not resolved is resolved for this run. CS_OK also when the schedule is wrong: look at
 * result_p->verdict. Texts in the result have static storage. */
CS_API CS_MUST_CHECK cs_status cs_job_run(const cs_job *job, const cs_observer *observers,
                                          size_t n_observers, cs_result *result_p, cs_error *err);

/* All that follows takes resolved jobs. */

/* What is wrong with a schedule; `is_correct` when nothing is. */
typedef struct cs_verdict {
    bool     is_correct;
    bool     is_located; /* rank, chunk and round are known */
    uint32_t rank, chunk, round;
    char     text[200]; /* one sentence */
} cs_verdict;

typedef struct cs_outcome {
    double     elapsed_s;   /* last completion - first arrival */
    double     exposed_s;   /* last completion - last arrival */
    uint64_t   n_transfers; /* messages on the wire: an exchange counts as two */
    uint64_t   wire_bytes;
    cs_counts  counts;   /* of the model, where it counts */
    uint32_t   n_out;    /* ranks that were left out; arrivals are those of the others then */
    bool       verified; /* checked, and correct */
    cs_verdict verdict;  /* when it was checked */
} cs_outcome;

/* The replay alone. O(transfers) time, O(n_ranks * n_slots) memory. CS_OK also when the schedule is
 * wrong: look at outcome_p->verdict. */
CS_API CS_MUST_CHECK cs_status cs_job_replay(const cs_job *job, const cs_observer *observers,
                                             size_t n_observers, cs_outcome *outcome_p,
                                             cs_error *err);

/* Check the schedule without any network model. */
CS_API CS_MUST_CHECK cs_status cs_job_verify(const cs_job *job, cs_verdict *verdict_p,
                                             cs_error *err);

/* The elapsed time in closed form; NAN where none is exact. */
CS_API double cs_job_closed_form_s(const cs_job *job);

/* What lower bounds may assume of the job. Without an algorithm: of schedules whose transfers hold
 * their ports, one at a time. The context borrows the job's scenario. */
CS_API cs_bound_context cs_job_bounds(const cs_job *job);

/* How fast this machine replays the job, without verification and observers: measured on its first
 * transfers, of which ever more are taken until that would last longer than `most_s`. Good to a
 * factor of two where the schedule goes on as it begins. */
typedef struct cs_replay_pace {
    uint64_t n_transfers; /* that were replayed */
    double   time_s;      /* which took so long */
} cs_replay_pace;
CS_API CS_MUST_CHECK cs_status cs_job_pace(const cs_job *job, double most_s, cs_replay_pace *pace_p,
                                           cs_error *err);

/* Start a stream of the job's schedule, which its algorithm's next_block() and close() take. */
static inline CS_MUST_CHECK cs_status cs_job_open(const cs_job *job, void **state_p, cs_error *err)
{
    return cs_algorithm_open(job->algorithm, &job->scenario, &job->options, &job->plan, state_p,
                             err);
}

CS_END_C

#endif
