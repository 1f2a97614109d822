/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One iteration of one scenario: see montecarlo/trial.h. The options are resolved anew for every
 * iteration, because `auto` may depend on who is late. */
#include "montecarlo/trial.h"

#include "cs/replay.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 1e-9 /* between closed form and replay, relative */
#define LEAST_PART                                                                 \
    1e-6 /* of the elapsed time: a difference that is less has less than 10 digits \
          */

/* One run of a scenario, resolved. */
typedef struct attempt {
    cs_scenario         scenario;
    const cs_algorithm *algorithm;
    const cs_case      *c;
    cs_options          options;
    cs_plan             plan;
} attempt;

/* The elapsed time in closed form; NAN where none is exact. */
static double formula_s(const attempt *a)
{
    if (a->algorithm->closed_form_s == NULL ||
        !cs_closed_forms_hold(a->c->model, &a->scenario, &a->c->model_options, a->plan.uses)) {
        return (double)NAN;
    }
    return a->algorithm->closed_form_s(&a->scenario, &a->options);
}

/* Both times in closed form; false where none is exact, or the delay leaves too few digits for the
 * difference. */
static bool compute(const attempt *a, cs_trial *trial)
{
    double elapsed_s = formula_s(a), exposed_s = elapsed_s - cs_last_arrival(&a->scenario);

    if (!(exposed_s >= LEAST_PART * elapsed_s)) {
        return false;
    }
    trial->elapsed_s = elapsed_s;
    trial->exposed_s = exposed_s;
    return true;
}

static cs_status replay(const attempt *a, bool verify, cs_outcome *outcome_p, cs_error *err)
{
    cs_outcome              outcome;
    const cs_replay_request request = {.scenario      = &a->scenario,
                                       .algorithm     = a->algorithm,
                                       .options       = &a->options,
                                       .plan          = &a->plan,
                                       .model         = a->c->model,
                                       .model_options = &a->c->model_options,
                                       .verify        = verify};
    cs_status               status  = cs_replay(&request, &outcome, err);

    if (status == CS_OK && verify && !outcome.verified) {
        status = CS_FAIL(err, CS_EWRONG, "", "%s", outcome.verdict.text);
    }
    if (status == CS_OK) {
        *outcome_p = outcome;
    }
    return status;
}

static cs_status resolve(attempt *a, cs_error *err)
{
    return cs_resolve(&a->scenario, a->algorithm, &a->options, a->c->model, &a->c->model_options,
                      &a->plan, err);
}

static void begin_attempt(attempt *a, const cs_case *c, const double *arrival_s)
{
    a->c                  = c;
    a->scenario           = c->scenario;
    a->scenario.arrival_s = arrival_s;
    a->algorithm          = c->algorithm;
    memset(&a->options, 0, sizeof a->options);
    memcpy(&a->options, &c->options, c->algorithm->options_bytes);
}

/* Everything that the scenario can be refused for, with the options as they were given. */
static cs_status check_once(const cs_case *c, cs_error *err)
{
    attempt   a;
    cs_status status = cs_scenario_check(&c->scenario, err);

    if (status == CS_OK) {
        begin_attempt(&a, c, c->scenario.arrival_s);
        status = resolve(&a, err);
    }
    return status;
}

/* The time of the fallback when all ranks are there. */
static cs_status time_fallback(cs_trials *trials, cs_error *err)
{
    const cs_case *c       = trials->c;
    attempt        a       = {.scenario = c->scenario, .algorithm = c->policy.fallback, .c = c};
    cs_outcome     outcome = {0};

    a.scenario.arrival_s = NULL;
    cs_fields_default(a.algorithm->options, &a.options);
    cs_status status = resolve(&a, err);
    if (status == CS_OK) {
        status = replay(&a, c->verify, &outcome, err);
    }
    if (status == CS_OK) {
        trials->fallback_s = outcome.exposed_s + trials->presumption.agreement_s;
    }
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
    cs_status status = check_once(c, err);

    if (status != CS_OK) {
        return status;
    }
    trials.presumption = cs_presumption_of(c->algorithm, c->policy.prediction);
    if (trials.presumption.straggler != NULL && agrees) {
        trials.presumption.agreement_s = c->policy.agreement_s;
    }
    if (trials.presumption.agreement_s > 0 && trials.presumption.entry == NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "montecarlo.agreement",
                       "%s has no barrier at which the ranks could agree", c->algorithm->name);
    }
    if (trials.presumption.straggler != NULL && c->policy.fallback != NULL) {
        status = time_fallback(&trials, err);
    }
    if (status == CS_OK) {
        *trials_p = trials;
    }
    return status;
}

bool cs_trials_look_back(const cs_trials *trials)
{
    const cs_presumption *p = &trials->presumption;
    return p->straggler != NULL && p->prediction == CS_PREDICTION_PREVIOUS;
}

/* Prepare one iteration; true: the fallback runs, and *trial_p is complete. */
static bool prepare(const cs_trials *trials, const double *arrival_s, uint32_t previous, attempt *a,
                    cs_trial *trial_p)
{
    const cs_case *c = trials->c;

    begin_attempt(a, c, arrival_s);
    *trial_p = (cs_trial){0};
    if (trials->presumption.straggler == NULL) {
        return false;
    }
    bool     looks    = cs_trials_look_back(trials);
    uint32_t n        = a->scenario.cluster.n_ranks;
    uint32_t rank     = cs_presume(&trials->presumption, arrival_s, n,
                               looks ? previous : c->policy.presumed, &a->options);
    double   behind_s = cs_behind_others_s(arrival_s, n, rank);
    trial_p->is_hit   = behind_s >= 0;
    if (isnan(trials->fallback_s) || behind_s > 0) {
        return false;
    }
    trial_p->fell_back = true;
    trial_p->exposed_s = trials->fallback_s;
    trial_p->elapsed_s = trials->fallback_s + cs_last_arrival(&a->scenario);
    return true;
}

cs_status cs_trial_run(const cs_trials *trials, const double *arrival_s, uint32_t previous,
                       cs_trial *trial_p, cs_error *err)
{
    attempt  a;
    cs_trial trial;

    if (prepare(trials, arrival_s, previous, &a, &trial)) {
        *trial_p = trial;
        return CS_OK;
    }
    cs_status status = resolve(&a, err);
    if (status == CS_OK && (trials->is_replayed || !compute(&a, &trial))) {
        cs_outcome outcome = {0};
        status             = replay(&a, trials->is_verified, &outcome, err);
        trial.elapsed_s    = outcome.elapsed_s;
        trial.exposed_s    = outcome.exposed_s;
        trial.was_replayed = true;
    }
    if (status == CS_OK) {
        *trial_p = trial;
    }
    return status;
}

cs_status cs_trial_prove(const cs_trials *trials, const double *arrival_s, uint32_t previous,
                         cs_error *err)
{
    attempt    a;
    cs_trial   trial;
    cs_outcome outcome = {0};
    double     formula = (double)NAN;
    cs_status  status  = CS_OK;

    (void)prepare(trials, arrival_s, previous, &a, &trial);
    status = resolve(&a, err);
    if (status == CS_OK) {
        formula = formula_s(&a);
        status  = replay(&a, trials->c->verify, &outcome, err);
    }
    if (status == CS_OK && fabs(formula - outcome.elapsed_s) > TOLERANCE * outcome.elapsed_s) {
        status = CS_FAIL(err, CS_EINTERNAL, "",
                         "the closed form of %s gives %.17g s, the replay %.17g s",
                         a.algorithm->name, formula, outcome.elapsed_s);
    }
    return status;
}
