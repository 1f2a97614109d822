/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One iteration of one scenario: see campaign/trial.h. The options are resolved anew for every
 * iteration, because `auto` may depend on who is late. */
#include "campaign/trial.h"

#include <math.h>

#define TOLERANCE 1e-9 /* between closed form and replay, relative */

/* Of the elapsed time: a difference that is less has less than 10 digits. */
#define LEAST_PART 1e-6

/* Both times in closed form; false where none is exact, or the delay leaves too few digits for the
 * difference. */
static bool compute(const cs_job *job, cs_trial *trial)
{
    double elapsed_s = cs_job_closed_form_s(job);
    double exposed_s = elapsed_s - cs_last_arrival(&job->scenario);

    if (!(exposed_s >= LEAST_PART * elapsed_s)) {
        return false;
    }
    trial->elapsed_s = elapsed_s;
    trial->exposed_s = exposed_s;
    return true;
}

static cs_status replay(cs_job *job, bool verify, cs_outcome *outcome_p, cs_error *err)
{
    cs_outcome outcome;

    job->verify = verify;
    CS_TRY(cs_job_replay(job, NULL, 0, &outcome, err));
    if (verify && !outcome.verified) {
        return CS_FAIL(err, CS_EWRONG, "", "%s", outcome.verdict.text);
    }
    *outcome_p = outcome;
    return CS_OK;
}

/* Everything that the scenario can be refused for, with the options as they were given. */
static cs_status check_once(const cs_case *c, cs_error *err)
{
    cs_job    job    = c->job;
    cs_status status = cs_job_resolve(&job, err);

    cs_job_release(&job);
    return status;
}

/* The time of the fallback when all ranks are there. */
static cs_status time_fallback(cs_trials *trials, cs_error *err)
{
    cs_job     job     = trials->c->job;
    cs_outcome outcome = {0};

    job.scenario.arrival_s = NULL;
    cs_job_set_algorithm(&job, trials->c->policy.fallback, trials->c->policy.fallback_options);
    cs_status status = cs_job_resolve(&job, err);
    if (status == CS_OK) {
        status = replay(&job, job.verify, &outcome, err);
    }
    if (status == CS_OK) {
        trials->fallback_s = outcome.exposed_s + trials->late.agreement_s;
    }
    cs_job_release(&job);
    return status;
}

cs_status cs_trials_open(const cs_case *c, bool is_replayed, bool is_verified, cs_trials *trials_p,
                         cs_error *err)
{
    cs_trials trials = {.c           = c,
                        .is_replayed = is_replayed || is_verified,
                        .is_verified = is_verified,
                        .fallback_s  = (double)NAN};
    bool      agrees = c->policy.prediction == CS_PREDICTION_DYNAMIC || c->policy.fallback != NULL;

    CS_TRY(check_once(c, err));
    if (c->policy.prediction != CS_PREDICTION_NONE) {
        trials.late = cs_late_prediction_of(c->job.algorithm, c->policy.prediction);
    }
    if (trials.late.straggler != NULL && agrees) {
        trials.late.agreement_s = c->policy.agreement_s;
    }
    if (trials.late.agreement_s > 0 && trials.late.entry == NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "montecarlo.agreement",
                       "%s has no barrier at which the ranks could agree", c->job.algorithm->name);
    }
    if (trials.late.straggler != NULL && c->policy.fallback != NULL) {
        CS_TRY(time_fallback(&trials, err));
    }
    *trials_p = trials;
    return CS_OK;
}

bool cs_trials_look_back(const cs_trials *trials)
{
    const cs_late_prediction *p = &trials->late;
    return p->straggler != NULL && p->prediction == CS_PREDICTION_PREVIOUS;
}

/* The job of one iteration; true: the fallback runs, and *trial_p is complete. */
static bool prepare(const cs_trials *trials, const double *arrival_s, uint32_t previous,
                    cs_job *job, cs_trial *trial_p)
{
    const cs_case *c = trials->c;

    *job                    = c->job;
    job->scenario.arrival_s = arrival_s;
    job->is_checked         = true; /* by cs_trials_open(); arrivals are drawn to fit */
    *trial_p                = (cs_trial){0};
    if (trials->late.straggler == NULL) {
        return false;
    }
    bool     looks    = cs_trials_look_back(trials);
    uint32_t n        = job->scenario.cluster.n_ranks;
    uint32_t rank     = cs_predict_late(&trials->late, arrival_s, n,
                                    looks ? previous : c->policy.presumed, &job->options);
    double   behind_s = cs_behind_others_s(arrival_s, n, rank);
    trial_p->is_hit   = behind_s >= 0;
    if (isnan(trials->fallback_s) || behind_s > 0) {
        return false;
    }
    trial_p->fell_back = true;
    trial_p->exposed_s = trials->fallback_s;
    trial_p->elapsed_s = trials->fallback_s + cs_last_arrival(&job->scenario);
    return true;
}

cs_status cs_trial_run(const cs_trials *trials, const double *arrival_s, uint32_t previous,
                       cs_trial *trial_p, cs_error *err)
{
    cs_job   job;
    cs_trial trial;

    if (prepare(trials, arrival_s, previous, &job, &trial)) {
        *trial_p = trial;
        return CS_OK;
    }
    cs_status status = cs_job_resolve(&job, err);
    if (status == CS_OK && (trials->is_replayed || !compute(&job, &trial))) {
        cs_outcome outcome = {0};
        status             = replay(&job, trials->is_verified, &outcome, err);
        trial.elapsed_s    = outcome.elapsed_s;
        trial.exposed_s    = outcome.exposed_s;
        trial.was_replayed = true;
    }
    if (status == CS_OK) {
        *trial_p = trial;
    }
    cs_job_release(&job);
    return status;
}

cs_status cs_trial_prove(const cs_trials *trials, const double *arrival_s, uint32_t previous,
                         cs_error *err)
{
    cs_job     job;
    cs_trial   trial;
    cs_outcome outcome = {0};
    double     formula = (double)NAN;

    (void)prepare(trials, arrival_s, previous, &job, &trial);
    cs_status status = cs_job_resolve(&job, err);
    if (status == CS_OK) {
        formula = cs_job_closed_form_s(&job);
        status  = replay(&job, job.verify, &outcome, err);
    }
    if (status == CS_OK && fabs(formula - outcome.elapsed_s) > TOLERANCE * outcome.elapsed_s) {
        status = CS_FAIL(err, CS_EINTERNAL, "",
                         "the closed form of %s gives %.17g s, the replay %.17g s",
                         job.algorithm->name, formula, outcome.elapsed_s);
    }
    cs_job_release(&job);
    return status;
}
