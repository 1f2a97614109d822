/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One iteration of training: see campaign/iteration.h. */
#include "campaign/iteration.h"

#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

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
typedef struct walk {
    cs_iterations *all;
    const double  *delay_s;
    double        *space;
    double         computed_s, end_s; /* of the last rank; of the last call */
    uint32_t       previous;
    bool           proves;
    cs_iteration   iteration;
} walk;

static cs_status open_sizes(cs_iterations *all, const cs_case *c, bool is_replayed,
                            bool is_verified, cs_error *err)
{
    const cs_training *t = all->training;

    for (uint32_t i = 0; i < t->n_sizes; i++) {
        sized_calls *calls          = &all->sizes[i];
        calls->c                    = *c;
        calls->c.job.scenario.bytes = t->size_bytes[i];
        calls->c.job.is_checked     = false;
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
        return CS_NO_MEMORY(err, "iterations");
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

static void count(walk *w, const cs_trial *trial, bool is_new)
{
    w->iteration.n_fallbacks += trial->fell_back;
    w->iteration.n_replays += is_new && trial->was_replayed;
}

/* A call that all ranks enter together. */
static cs_status share_call(walk *w, const sized_calls *calls, cs_trial *trial_p, cs_error *err)
{
    cs_iterations *all    = w->all;
    shared_call   *shared = &calls->together[all->n_presumed > 1 ? w->previous : 0];
    cs_status      status = CS_OK;
    bool           is_new = false;

    if (!atomic_load_explicit(&shared->is_known, memory_order_acquire)) {
        pthread_mutex_lock(&all->mutex);
        is_new = !atomic_load_explicit(&shared->is_known, memory_order_relaxed);
        if (is_new) {
            status = cs_trial_prove(&calls->trials, all->zeros, w->previous, err);
        }
        if (is_new && status == CS_OK) {
            status = cs_trial_run(&calls->trials, all->zeros, w->previous, &shared->trial, err);
        }
        atomic_store_explicit(&shared->is_known, status == CS_OK, memory_order_release);
        pthread_mutex_unlock(&all->mutex);
    }
    if (status == CS_OK) {
        *trial_p = shared->trial;
        count(w, trial_p, is_new);
    }
    return status;
}

/* When the ranks enter a call: into `space`, after the first of them, at *first_s_p. False: all
 * together. */
static bool find_arrivals(const walk *w, double ready_ratio, double *first_s_p)
{
    double compute_s = w->all->training->compute_s, first_s = (double)INFINITY, last_s = 0;

    *first_s_p = w->end_s;
    if (ready_ratio * w->computed_s <= w->end_s) {
        return false;
    }
    for (uint32_t g = 0; g < w->all->n_ranks; g++) {
        w->space[g] = fmax(ready_ratio * (compute_s + w->delay_s[g]), w->end_s);
        first_s     = fmin(first_s, w->space[g]);
        last_s      = fmax(last_s, w->space[g]);
    }
    for (uint32_t g = 0; g < w->all->n_ranks; g++) {
        w->space[g] -= first_s;
    }
    *first_s_p = first_s;
    return first_s < last_s;
}

static cs_status run_call(walk *w, uint32_t bucket, cs_error *err)
{
    const cs_training *t         = w->all->training;
    const sized_calls *calls     = &w->all->sizes[t->size_of[bucket]];
    uint32_t           n_behind  = t->n_buckets - 1 - bucket;
    double             unready   = t->overlap_ratio * n_behind / t->n_buckets, first_s;
    bool               is_skewed = find_arrivals(w, 1 - unready, &first_s);
    cs_trial           trial     = {0};
    cs_status          status    = CS_OK;

    if (!is_skewed) {
        status = share_call(w, calls, &trial, err);
    } else { /* sizes are numbered by their first buckets */
        bool is_first = bucket == 0 || t->size_of[bucket] > t->size_of[bucket - 1];
        if (w->proves && is_first) {
            status = cs_trial_prove(&calls->trials, w->space, w->previous, err);
        }
        if (status == CS_OK) {
            status = cs_trial_run(&calls->trials, w->space, w->previous, &trial, err);
        }
        count(w, &trial, true);
    }
    w->end_s = first_s + trial.elapsed_s;
    if (bucket == 0) {
        w->iteration.is_hit = trial.is_hit;
    }
    return status;
}

cs_status cs_iteration_run(cs_iterations *iterations, const double *delay_s, uint32_t previous,
                           bool proves, double *space, cs_iteration *iteration_p, cs_error *err)
{
    const cs_training *t      = iterations->training;
    walk               w      = {.all      = iterations,
                                 .delay_s  = delay_s,
                                 .space    = space,
                                 .previous = previous,
                                 .proves   = proves};
    cs_status          status = CS_OK;

    for (uint32_t g = 0; g < iterations->n_ranks; g++) {
        w.computed_s = fmax(w.computed_s, t->compute_s + delay_s[g]);
    }
    for (uint32_t k = 0; k < t->n_buckets && status == CS_OK; k++) {
        status = run_call(&w, k, err);
    }
    w.iteration.exposed_s = w.end_s - w.computed_s;
    w.iteration.elapsed_s = w.end_s + t->tail_s;
    if (status == CS_OK) {
        *iteration_p = w.iteration;
    }
    return status;
}
