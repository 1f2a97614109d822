/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterations over threads.
 *
 * Blocks are handed out in order and a block that was begun is finished, also when another
 * failed: of several errors the one of the first iteration is found for any number of threads.
 */
#include "campaign/samples.h"

#include "base/alloc.h"
#include "campaign/trial.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BLOCK_CALLS = 256, MAX_JOBS = 1024, BATCHES = 32 };

/* What the threads share. */
typedef struct drawing {
    const cs_sampling_request *request;
    cs_trials                 *trials;  /* [n_cases] of the calls; owned. Or a copy of those of the
                                           first ones, which the iterations own */
    size_t                    n_trials; /* that are open */
    cs_iterations            *iterations; /* of training; NULL: every iteration is one call */
    const cs_arrival_sampler *sampler;
    uint32_t                  n_ranks;
    size_t                    block; /* iterations that are taken at once */
    atomic_size_t             next_block, done;
    atomic_bool               is_halted;
    cs_samples               *samples;
} drawing;

typedef struct worker {
    drawing           *d;
    pthread_t          thread;
    cs_arrival_stream *stream;
    double            *arrival_s; /* [n_ranks]; of training: delays of compute */
    double            *space;     /* [2 n_ranks] */
    size_t             n_drawn;   /* the last draw was of iteration n_drawn - 1; 0: none */
    uint64_t           n_hits, n_fallbacks, n_replays;
    bool               reports;
    size_t             iteration; /* at which it failed */
    cs_status          status;
    cs_error           err;
} worker;

static void draw_arrivals(worker *w, size_t iteration)
{
    if (w->d->iterations != NULL) {
        cs_arrival_draw_delays(w->stream, iteration, w->arrival_s);
    } else {
        cs_arrival_draw(w->stream, iteration, w->arrival_s);
    }
    w->n_drawn = iteration + 1;
}

/* Who was last in the iteration before; that iteration's arrivals are in w->arrival_s unless
 * another worker had it. */
static uint32_t previous_of(worker *w, size_t iteration)
{
    const drawing *d = w->d;

    if (iteration == 0) {
        return d->trials[0].c->policy.presumed;
    }
    if (w->n_drawn != iteration) {
        draw_arrivals(w, iteration - 1);
    }
    return cs_last_of_arrivals(w->arrival_s, d->n_ranks);
}

/* A single call as an iteration. */
static cs_status run_call(worker *w, size_t index, uint32_t previous, cs_iteration *iteration_p)
{
    const size_t    *case_of = w->d->request->case_of;
    const cs_trials *trials  = &w->d->trials[case_of != NULL ? case_of[index] : 0];
    cs_trial         trial   = {0};
    cs_status        status  = CS_OK;

    if (index == 0) {
        status = cs_trial_prove(trials, w->arrival_s, previous, &w->err);
    }
    if (status == CS_OK) {
        status = cs_trial_run(trials, w->arrival_s, previous, &trial, &w->err);
    }
    *iteration_p = (cs_iteration){.elapsed_s   = trial.elapsed_s,
                                  .exposed_s   = trial.exposed_s,
                                  .is_hit      = trial.is_hit,
                                  .n_fallbacks = trial.fell_back,
                                  .n_replays   = trial.was_replayed};
    return status;
}

static cs_status run_iteration(worker *w, size_t index)
{
    drawing     *d         = w->d;
    bool         looks     = cs_trials_look_back(&d->trials[0]);
    uint32_t     previous  = looks ? previous_of(w, index) : 0;
    cs_iteration iteration = {0};

    draw_arrivals(w, index);
    CS_TRY(d->iterations != NULL ? cs_iteration_run(d->iterations, w->arrival_s, previous,
                                                    index == 0, w->space, &iteration, &w->err)
                                 : run_call(w, index, previous, &iteration));
    d->samples->elapsed_s[index] = iteration.elapsed_s;
    d->samples->exposed_s[index] = iteration.exposed_s;
    w->n_hits += iteration.is_hit;
    w->n_fallbacks += iteration.n_fallbacks;
    w->n_replays += iteration.n_replays;
    return CS_OK;
}

static void *work(void *argument)
{
    worker                    *w       = argument;
    drawing                   *d       = w->d;
    const cs_sampling_request *request = d->request;
    size_t                     n       = request->iterations, begin;

    while (!atomic_load(&d->is_halted) &&
           (begin = d->block * atomic_fetch_add(&d->next_block, 1)) < n) {
        size_t end = n - begin < d->block ? n : begin + d->block;
        if (request->stop != NULL && *request->stop != 0) {
            break;
        }
        for (size_t i = begin; i < end && w->status == CS_OK; i++) {
            w->iteration = i;
            w->status    = run_iteration(w, i);
        }
        if (w->status != CS_OK) {
            atomic_store(&d->is_halted, true);
            break;
        }
        atomic_fetch_add(&d->done, end - begin);
        if (w->reports && request->progress != NULL) {
            request->progress(request->user, atomic_load(&d->done));
        }
    }
    return NULL;
}

static cs_status open_workers(drawing *d, worker *workers, size_t count, cs_error *err)
{
    for (size_t i = 0; i < count; i++) {
        worker *w    = &workers[i];
        w->d         = d;
        w->reports   = i == 0;
        w->arrival_s = CS_NEW(double, d->n_ranks);
        w->space     = CS_NEW(double, 2 * (size_t)d->n_ranks);
        CS_TRY(w->arrival_s == NULL || w->space == NULL
                   ? CS_NO_MEMORY(err, "the arrivals of %u ranks", d->n_ranks)
                   : cs_arrival_stream_open(d->sampler, &w->stream, err));
    }
    return CS_OK;
}

/* The calling thread is worker 0; a thread that cannot be started is one less. */
static void run_workers(worker *workers, size_t count)
{
    size_t n_started = 1;

    for (; n_started < count; n_started++) {
        worker *w = &workers[n_started];
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            break;
        }
    }
    (void)work(&workers[0]);
    for (size_t i = 1; i < n_started; i++) {
        pthread_join(workers[i].thread, NULL);
    }
}

/* Add up what the workers counted; of several errors, the one of the first iteration. */
static cs_status collect(drawing *d, const worker *workers, size_t count, cs_error *err)
{
    const worker *worst = NULL;

    for (size_t i = 0; i < count; i++) {
        const worker *w = &workers[i];
        d->samples->n_hits += w->n_hits;
        d->samples->n_fallbacks += w->n_fallbacks;
        d->samples->n_replays += w->n_replays;
        if (w->status != CS_OK && (worst == NULL || w->iteration < worst->iteration)) {
            worst = w;
        }
    }
    d->samples->is_stopped = worst == NULL && atomic_load(&d->done) < d->request->iterations;
    if (worst == NULL) {
        return CS_OK;
    }
    if (err != NULL && err->status == CS_OK) {
        *err = worst->err;
    }
    return worst->status;
}

static cs_status draw_all(drawing *d, cs_error *err)
{
    size_t    n_blocks = (d->request->iterations - 1) / d->block + 1;
    size_t    most     = n_blocks < MAX_JOBS ? n_blocks : MAX_JOBS;
    size_t    jobs     = d->request->jobs < most ? d->request->jobs : most;
    size_t    count    = jobs > 1 ? jobs : 1;
    worker   *workers  = CS_NEW(worker, count);
    cs_status status   = workers == NULL ? CS_NO_MEMORY(err, "%zu threads", count)
                                         : open_workers(d, workers, count, err);

    if (status == CS_OK) {
        run_workers(workers, count);
        status = collect(d, workers, count, err);
    }
    for (size_t i = 0; workers != NULL && i < count; i++) {
        cs_arrival_stream_close(workers[i].stream);
        cs_free(workers[i].arrival_s);
        cs_free(workers[i].space);
    }
    cs_free(workers);
    return status;
}

static size_t groups_of(const drawing *d, const cs_case *c)
{
    if (d->request->sampling != CS_SAMPLING_RANDOM) {
        return CS_REPLICATES;
    }
    bool has_memory = cs_arrivals_have_memory(&c->arrivals) || cs_trials_look_back(&d->trials[0]);
    return has_memory ? BATCHES : 0;
}

static cs_status open_trials(drawing *d, const cs_case *cases, cs_error *err)
{
    const cs_sampling_request *r       = d->request;
    size_t                     n_cases = r->case_of != NULL ? r->n_cases : 1;
    cs_status                  status  = CS_OK;

    d->trials = CS_NEW(cs_trials, n_cases);
    if (d->trials == NULL) {
        return CS_NO_MEMORY(err, "%zu sizes of calls", n_cases);
    }
    if (cases->training.n_buckets == 0) {
        d->samples->calls = 1;
        for (size_t i = 0; i < n_cases && status == CS_OK; i++) {
            status = cs_trials_open(&cases[i], r->is_replayed, r->is_verified, &d->trials[i], err);
            d->n_trials += status == CS_OK;
        }
        return status;
    }
    status = cs_iterations_open(cases, r->is_replayed, r->is_verified, &d->iterations, err);
    if (status == CS_OK) {
        d->samples->calls = cases->training.n_buckets;
        d->trials[0]      = *cs_iterations_trials(d->iterations);
    }
    return status;
}

cs_status cs_samples_draw(const cs_case *cases, const cs_sampling_request *request,
                          cs_samples *samples_p, cs_error *err)
{
    cs_samples          samples = {.n = request->iterations};
    const cs_scenario  *s       = &cases->job.scenario;
    cs_arrival_sampler *sampler = NULL;
    drawing   d      = {.request = request, .n_ranks = s->cluster.n_ranks, .samples = &samples};
    cs_status status = open_trials(&d, cases, err);

    if (status == CS_OK) {
        status = cs_arrival_sampler_open(&cases->arrivals, d.n_ranks, s->seed, request->iterations,
                                         request->sampling, &sampler, err);
    }
    if (status == CS_OK) {
        d.sampler         = sampler;
        d.block           = samples.calls < BLOCK_CALLS ? BLOCK_CALLS / samples.calls : 1;
        samples.presumes  = d.trials[0].late.straggler != NULL;
        samples.n_groups  = groups_of(&d, cases);
        samples.elapsed_s = CS_NEW(double, samples.n);
        samples.exposed_s = CS_NEW(double, samples.n);
        bool has_room     = samples.elapsed_s != NULL && samples.exposed_s != NULL;
        status = has_room ? draw_all(&d, err) : CS_NO_MEMORY(err, "%zu iterations", samples.n);
    }
    cs_arrival_sampler_close(sampler);
    for (size_t i = 0; d.iterations == NULL && i < d.n_trials; i++) {
        cs_trials_close(&d.trials[i]);
    }
    cs_iterations_close(d.iterations);
    cs_free(d.trials);
    if (status != CS_OK) {
        cs_samples_free(&samples);
        return status;
    }
    *samples_p = samples;
    return CS_OK;
}

void cs_samples_free(cs_samples *samples)
{
    cs_free(samples->elapsed_s);
    cs_free(samples->exposed_s);
    *samples = (cs_samples){0};
}
