/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One iteration of one scenario: see montecarlo/trial.h. The options are resolved anew for every
 * iteration, because `auto` may depend on who is late. */
#include "montecarlo/trial.h"

#include "cs/replay.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 1e-9 /* between closed form and replay, relative */

/* One run of a scenario, resolved. */
typedef struct attempt {
    cs_scenario         scenario;
    const cs_algorithm *algorithm;
    const cs_case      *c;
    cs_options          options;
    cs_plan             plan;
} attempt;

static const cs_option *find_option(const cs_algorithm *algorithm, const char *name,
                                    cs_option_type type)
{
    const cs_option *row = cs_option_find(algorithm->options, name);

    return row != NULL && row->type == type ? row : NULL;
}

/* The elapsed time in closed form; NAN where none is exact. */
static double formula_s(const attempt *a)
{
    const cs_model *model = a->c->model;

    if (a->algorithm->closed_form_s == NULL || a->algorithm->closed_form_is_published ||
        model->closed_forms_hold == NULL || !model->closed_forms_hold(&a->c->model_options)) {
        return (double)NAN;
    }
    return a->algorithm->closed_form_s(&a->scenario, &a->options);
}

static cs_status replay(const attempt *a, bool verify, double *elapsed_s_p, cs_error *err)
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
        *elapsed_s_p = outcome.elapsed_s;
    }
    return status;
}

static cs_status resolve(attempt *a, cs_error *err)
{
    return a->algorithm->check(&a->scenario, &a->options, &a->plan, err);
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

    if (status == CS_OK && c->model->check != NULL) {
        status = c->model->check(&c->scenario, &c->model_options, err);
    }
    if (status == CS_OK) {
        begin_attempt(&a, c, c->scenario.arrival_s);
        status = resolve(&a, err);
    }
    return status;
}

/* The time of the fallback when all ranks are there. */
static cs_status time_fallback(cs_trials *trials, cs_error *err)
{
    const cs_case *c         = trials->c;
    attempt        a         = {.scenario = c->scenario, .algorithm = c->policy.fallback, .c = c};
    double         elapsed_s = 0;

    a.scenario.arrival_s = NULL;
    cs_options_default(a.algorithm->options, &a.options);
    cs_status status = resolve(&a, err);
    if (status == CS_OK) {
        status = replay(&a, c->verify, &elapsed_s, err);
    }
    if (status == CS_OK) {
        trials->fallback_s = elapsed_s + trials->agreement_s;
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
    trials.straggler = find_option(c->algorithm, "straggler", CS_OPT_U32);
    trials.entry     = find_option(c->algorithm, "entry_barrier_s", CS_OPT_F64);
    if (trials.straggler != NULL && agrees) {
        trials.agreement_s = c->policy.agreement_s;
    }
    if (trials.agreement_s > 0 && trials.entry == NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "montecarlo.agreement",
                       "%s has no barrier at which the ranks could agree", c->algorithm->name);
    }
    if (trials.straggler != NULL && c->policy.fallback != NULL) {
        status = time_fallback(&trials, err);
    }
    if (status == CS_OK) {
        *trials_p = trials;
    }
    return status;
}

bool cs_trials_look_back(const cs_trials *trials)
{
    return trials->straggler != NULL && trials->c->policy.prediction == CS_PREDICTION_PREVIOUS;
}

/* The rank that is presumed late. */
static uint32_t presumed_rank(const cs_trials *trials, const cs_scenario *s, uint32_t previous)
{
    const cs_prediction_policy *policy = &trials->c->policy;

    switch (policy->prediction) {
    case CS_PREDICTION_STATIC: return policy->presumed;
    case CS_PREDICTION_PREVIOUS: return previous;
    case CS_PREDICTION_ORACLE:
    case CS_PREDICTION_DYNAMIC:
    case CS_PREDICTION_COUNT: break;
    }
    return cs_last_rank(s);
}

static double last_of_others(const cs_scenario *s, uint32_t except)
{
    double last_s = 0;

    for (uint32_t r = 0; r < s->cluster.n_ranks; r++) {
        last_s = r == except ? last_s : fmax(last_s, s->arrival_s[r]);
    }
    return last_s;
}

static void set_barrier(const cs_trials *trials, attempt *a)
{
    double entry_s;

    if (trials->agreement_s > 0) {
        memcpy(&entry_s, a->options.bytes + trials->entry->offset, sizeof entry_s);
        entry_s += trials->agreement_s;
        memcpy(a->options.bytes + trials->entry->offset, &entry_s, sizeof entry_s);
    }
}

/* Prepare one iteration; true: the fallback runs, and *trial_p is complete. */
static bool prepare(const cs_trials *trials, const double *arrival_s, uint32_t previous, attempt *a,
                    cs_trial *trial_p)
{
    const cs_case *c = trials->c;

    begin_attempt(a, c, arrival_s);
    *trial_p = (cs_trial){0};
    if (trials->straggler == NULL) {
        return false;
    }
    uint32_t rank     = presumed_rank(trials, &a->scenario, previous);
    double   others_s = last_of_others(&a->scenario, rank);
    trial_p->is_hit   = arrival_s[rank] >= others_s;
    if (c->policy.prediction == CS_PREDICTION_STATIC ||
        c->policy.prediction == CS_PREDICTION_PREVIOUS) { /* else the option is auto, and right */
        memcpy(a->options.bytes + trials->straggler->offset, &rank, sizeof rank);
    }
    set_barrier(trials, a);
    if (isnan(trials->fallback_s) || arrival_s[rank] > others_s) {
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
    if (status == CS_OK) {
        trial.elapsed_s    = trials->is_replayed ? (double)NAN : formula_s(&a);
        trial.was_replayed = isnan(trial.elapsed_s);
    }
    if (status == CS_OK && trial.was_replayed) {
        status = replay(&a, trials->is_verified, &trial.elapsed_s, err);
    }
    if (status == CS_OK) {
        trial.exposed_s = trial.elapsed_s - cs_last_arrival(&a.scenario);
        *trial_p        = trial;
    }
    return status;
}

cs_status cs_trial_prove(const cs_trials *trials, const double *arrival_s, uint32_t previous,
                         cs_error *err)
{
    attempt   a;
    cs_trial  trial;
    double    elapsed_s = 0, formula = (double)NAN;
    cs_status status = CS_OK;

    (void)prepare(trials, arrival_s, previous, &a, &trial);
    status = resolve(&a, err);
    if (status == CS_OK) {
        formula = formula_s(&a);
        status  = replay(&a, trials->c->verify, &elapsed_s, err);
    }
    if (status == CS_OK && fabs(formula - elapsed_s) > TOLERANCE * elapsed_s) {
        status = CS_FAIL(err, CS_EINTERNAL, "",
                         "the closed form of %s gives %.17g s, the replay %.17g s",
                         a.algorithm->name, formula, elapsed_s);
    }
    return status;
}
