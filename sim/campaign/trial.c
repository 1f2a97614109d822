/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trials and iterations of training. The options are resolved anew for every trial, because `auto`
 * may depend on who is late, unless the plan says that it does not. */
#include "campaign/trial.h"

#include "base/alloc.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

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

/* Everything that the scenario can be refused for, with the options as they were given. What comes
 * of it is kept where it serves all trials. */
static cs_status check_once(cs_trials *trials, cs_error *err)
{
    cs_job    job    = trials->c->job;
    cs_status status = cs_job_resolve(&job, err);

    if (status == CS_OK && job.plan.ignores_arrivals && trials->late.straggler == NULL) {
        trials->planned = job;
    } else {
        cs_job_release(&job);
    }
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

    if (c->policy.prediction != CS_PREDICTION_NONE) {
        trials.late = cs_late_prediction_of(c->job.algorithm, c->policy.prediction);
    }
    CS_TRY(check_once(&trials, err));
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

void cs_trials_close(cs_trials *trials)
{
    if (trials->planned.is_resolved) {
        cs_job_release(&trials->planned);
    }
}

bool cs_trials_look_back(const cs_trials *trials)
{
    const cs_late_prediction *p = &trials->late;
    return p->straggler != NULL && p->prediction == CS_PREDICTION_PREVIOUS;
}

/* The end of a job that prepare() has made: a plan for all trials stays. */
static void put_away(const cs_trials *trials, cs_job *job)
{
    if (!trials->planned.is_resolved) {
        cs_job_release(job);
    }
}

/* The job of one iteration; true: the fallback runs, and *trial_p is complete. */
static bool prepare(const cs_trials *trials, const double *arrival_s, uint32_t previous,
                    cs_job *job, cs_trial *trial_p)
{
    const cs_case *c = trials->c;

    *job                    = trials->planned.is_resolved ? trials->planned : c->job;
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
    put_away(trials, &job);
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
    put_away(trials, &job);
    return status;
}

/* ---- iterations of training ---- */

/* A call that all ranks enter together, once it has been timed. */
typedef struct shared_call {
    atomic_bool is_known;
    cs_trial    trial;
} shared_call;

/* What the calls of one size share. */
typedef struct sized_calls {
    cs_case      c; /* a copy with that size; owns nothing */
    cs_trials    trials;
    shared_call *together; /* [n_presumed] */
} sized_calls;

struct cs_iterations {
    const cs_training *training;
    uint32_t           n_ranks, n_presumed; /* how many ranks may be presumed late by turns */
    sized_calls       *sizes;               /* [training->n_sizes] */
    shared_call       *shared;              /* of all sizes */
    double            *zeros;               /* [n_ranks] */
    pthread_mutex_t    mutex;               /* held to time a shared call */
};

/* An iteration under way. */
typedef struct iteration {
    cs_iterations *all;
    const double  *delay_s;
    double        *space;
    double        *waited_s;        /* [n_ranks]: how long their compute has stood still; NULL:
                                       nobody waits */
    double       computed_s, end_s; /* of the last rank; of the last call */
    uint32_t     previous;
    uint32_t     n_seen; /* sizes of calls */
    bool         proves;
    cs_iteration result;
} iteration;

static cs_status open_sizes(cs_iterations *all, const cs_case *c, bool is_replayed,
                            bool is_verified, cs_error *err)
{
    const cs_training *t = all->training;

    for (uint32_t i = 0; i < t->n_sizes; i++) {
        sized_calls *calls          = &all->sizes[i];
        calls->c                    = *c;
        calls->c.job.scenario.bytes = t->size_bytes[i];
        if (t->size_collective != NULL) {
            calls->c.job.scenario.collective = t->size_collective[i];
        }
        calls->c.job.is_checked = false;
        CS_TRY(cs_trials_open(&calls->c, is_replayed, is_verified, &calls->trials, err));
    }
    all->n_presumed = cs_trials_look_back(&all->sizes[0].trials) ? all->n_ranks : 1;
    all->shared     = CS_NEW(shared_call, (size_t)t->n_sizes * all->n_presumed);
    all->zeros      = CS_NEW(double, all->n_ranks);
    if (all->shared == NULL || all->zeros == NULL) {
        return CS_NO_MEMORY(err, "%u sizes of buckets", t->n_sizes);
    }
    for (uint32_t i = 0; i < t->n_sizes; i++) {
        all->sizes[i].together = all->shared + (size_t)i * all->n_presumed;
    }
    return CS_OK;
}

cs_status cs_iterations_open(const cs_case *c, bool is_replayed, bool is_verified,
                             cs_iterations **iterations_p, cs_error *err)
{
    cs_iterations *all = CS_NEW(cs_iterations, 1);

    if (all == NULL || pthread_mutex_init(&all->mutex, NULL) != 0) {
        cs_free(all);
        return CS_NO_MEMORY(err, "the iterations of training");
    }
    all->training    = &c->training;
    all->n_ranks     = c->job.scenario.cluster.n_ranks;
    all->sizes       = CS_NEW(sized_calls, c->training.n_sizes);
    cs_status status = all->sizes == NULL
                           ? CS_NO_MEMORY(err, "%u sizes of buckets", c->training.n_sizes)
                           : open_sizes(all, c, is_replayed, is_verified, err);
    if (status != CS_OK) {
        cs_iterations_close(all);
        return status;
    }
    *iterations_p = all;
    return CS_OK;
}

void cs_iterations_close(cs_iterations *iterations)
{
    if (iterations != NULL) {
        pthread_mutex_destroy(&iterations->mutex);
        for (uint32_t i = 0; iterations->sizes != NULL && i < iterations->training->n_sizes; i++) {
            cs_trials_close(&iterations->sizes[i].trials);
        }
        cs_free(iterations->sizes);
        cs_free(iterations->shared);
        cs_free(iterations->zeros);
        cs_free(iterations);
    }
}

const cs_trials *cs_iterations_trials(const cs_iterations *iterations)
{
    return &iterations->sizes[0].trials;
}

static void count(iteration *it, const cs_trial *trial, bool is_new)
{
    it->result.n_fallbacks += trial->fell_back;
    it->result.n_replays += is_new && trial->was_replayed;
}

/* Take the time of a call that all ranks enter together; the first to need it finds it. */
static cs_status share_call(iteration *it, const sized_calls *calls, cs_trial *trial_p,
                            cs_error *err)
{
    cs_iterations *all    = it->all;
    shared_call   *shared = &calls->together[all->n_presumed > 1 ? it->previous : 0];
    cs_status      status = CS_OK;
    bool           is_new = false;

    if (!atomic_load_explicit(&shared->is_known, memory_order_acquire)) {
        pthread_mutex_lock(&all->mutex);
        is_new = !atomic_load_explicit(&shared->is_known, memory_order_relaxed);
        if (is_new) {
            status = cs_trial_prove(&calls->trials, all->zeros, it->previous, err);
        }
        if (is_new && status == CS_OK) {
            status = cs_trial_run(&calls->trials, all->zeros, it->previous, &shared->trial, err);
        }
        atomic_store_explicit(&shared->is_known, status == CS_OK, memory_order_release);
        pthread_mutex_unlock(&all->mutex);
    }
    if (status == CS_OK) {
        *trial_p = shared->trial;
        count(it, trial_p, is_new);
    }
    return status;
}

/* When a rank has done so much of its compute. */
static double done_s(const iteration *it, uint32_t rank, double ratio)
{
    double waited_s = it->waited_s != NULL ? it->waited_s[rank] : 0;
    return ratio * (it->all->training->compute_s + it->delay_s[rank]) + waited_s;
}

/* When the ranks enter a call: into `space`, after the first of them, at *first_s_p. False: all
 * together. */
static bool find_arrivals(const iteration *it, double ready_ratio, double *first_s_p)
{
    double first_s = (double)INFINITY, last_s = 0;

    *first_s_p = it->end_s;
    if (it->waited_s == NULL && ready_ratio * it->computed_s <= it->end_s) {
        return false;
    }
    for (uint32_t g = 0; g < it->all->n_ranks; g++) {
        it->space[g] = fmax(done_s(it, g, ready_ratio), it->end_s);
        first_s      = fmin(first_s, it->space[g]);
        last_s       = fmax(last_s, it->space[g]);
    }
    for (uint32_t g = 0; g < it->all->n_ranks; g++) {
        it->space[g] -= first_s;
    }
    *first_s_p = first_s;
    return first_s < last_s;
}

/* The call has ended: from that part of the compute on nobody can have gone on before. */
static void await_call(iteration *it, double needed_ratio)
{
    for (uint32_t g = 0; needed_ratio <= 1 && g < it->all->n_ranks; g++) {
        it->waited_s[g] += fmax(0, it->end_s - done_s(it, g, needed_ratio));
    }
}

/* The part of the compute after which a bucket is there. */
static double ready_ratio_of(const cs_training *t, uint32_t bucket)
{
    uint32_t n_behind = t->n_buckets - 1 - bucket;

    return t->ready_ratio != NULL ? t->ready_ratio[bucket]
                                  : 1 - t->overlap_ratio * n_behind / t->n_buckets;
}

static cs_status run_call(iteration *it, uint32_t bucket, cs_error *err)
{
    const cs_training *t     = it->all->training;
    const sized_calls *calls = &it->all->sizes[t->size_of[bucket]];
    double             first_s;
    bool               is_skewed = find_arrivals(it, ready_ratio_of(t, bucket), &first_s);
    bool               is_first  = t->size_of[bucket] == it->n_seen;
    cs_trial           trial     = {0};

    it->n_seen += is_first; /* sizes are numbered by their first buckets */

    if (!is_skewed) {
        CS_TRY(share_call(it, calls, &trial, err));
    } else {
        if (it->proves && is_first) {
            CS_TRY(cs_trial_prove(&calls->trials, it->space, it->previous, err));
        }
        CS_TRY(cs_trial_run(&calls->trials, it->space, it->previous, &trial, err));
        count(it, &trial, true);
    }
    it->end_s = first_s + trial.elapsed_s;
    if (it->waited_s != NULL && t->needed_ratio != NULL) {
        await_call(it, t->needed_ratio[bucket]);
    }
    if (bucket == 0) {
        it->result.is_hit = trial.is_hit;
    }
    return CS_OK;
}

cs_status cs_iteration_run(cs_iterations *iterations, const double *delay_s, uint32_t previous,
                           bool proves, double *space, cs_iteration *iteration_p, cs_error *err)
{
    const cs_training *t  = iterations->training;
    iteration          it = {.all      = iterations,
                             .delay_s  = delay_s,
                             .space    = space,
                             .previous = previous,
                             .proves   = proves};

    if (t->needed_ratio != NULL) {
        it.waited_s = space + iterations->n_ranks;
        memset(it.waited_s, 0, iterations->n_ranks * sizeof *it.waited_s);
    }
    for (uint32_t g = 0; g < iterations->n_ranks; g++) {
        it.computed_s = fmax(it.computed_s, t->compute_s + delay_s[g]);
    }
    for (uint32_t k = 0; k < t->n_buckets; k++) {
        CS_TRY(run_call(&it, k, err));
    }
    for (uint32_t g = 0; it.waited_s != NULL && g < iterations->n_ranks; g++) {
        it.end_s = fmax(it.end_s, done_s(&it, g, 1));
    }
    it.result.exposed_s = it.end_s - it.computed_s;
    it.result.elapsed_s = it.end_s + t->tail_s;
    *iteration_p        = it.result;
    return CS_OK;
}
