/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/sweep.c -- every scenario of a config, over threads, into a file of results.
 *
 * Workers take the scenarios in order, skip those whose key is in the file, simulate the
 * others and put the rows in a bounded queue; the calling thread writes what it finds there as one
 * transaction, so that a kill loses no more than the rows under way. With one job the
 * calling thread does everything itself, a transaction a row. Rows are ordered by key in the
 * file, so it does not matter which thread was first.
 *
 * A scenario's own error (it cannot be run, or not by this algorithm) is a row. Errors of memory
 * and files are not properties of the scenario: they end the sweep, and are tried again next time.
 */
#include "sweep/sweep.h"

#include "base/alloc.h"
#include "cs/result.h"
#include "results/json.h"
#include "results/store.h"
#include "sweep/queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_JOBS     1024u
#define ROWS_PER_JOB 8u
#define MAX_BATCH    64u

/* One scenario that was run. */
typedef struct row {
    char     *scenario; /* canonical JSON; owned */
    bool      has_result;
    cs_result result;
    char      reason[sizeof((cs_error *)NULL)->message + sizeof((cs_error *)NULL)->where + 4];
} row;

/* What the threads share. */
typedef struct sweep {
    const cs_config        *config;
    const cs_sweep_options *options;
    size_t                  total;
    const cs_store_key     *keys; /* ascending */
    size_t                  n_keys;
    atomic_size_t           next, done_before, failed_before;
    atomic_bool             halted; /* an error ends the sweep */
    cs_queue                queue;
    cs_store               *store;   /* of the calling thread */
    cs_sweep_summary       *summary; /* of the calling thread */
} sweep;

typedef struct worker {
    sweep    *sweep;
    pthread_t thread;
    size_t    index; /* of the scenario at which it failed */
    cs_status status;
    cs_error  err;
} worker;

static bool is_fatal(cs_status status)
{
    return status == CS_ENOMEM || status == CS_EIO;
}

static void free_row(row *r)
{
    if (r != NULL) {
        cs_free(r->scenario);
        cs_free(r);
    }
}

/* The error without the place in the config: the row is the same wherever the config lies. */
static void take_reason(row *r, const cs_error *err)
{
    snprintf(r->reason, sizeof r->reason, "%s%s%s", err->where, err->where[0] != '\0' ? ": " : "",
             err->message[0] != '\0' ? err->message : cs_status_text(err->status));
}

static cs_status run_case(const cs_case *c, row **row_p, cs_error *err)
{
    cs_run run = {.scenario      = &c->scenario,
                  .algorithm     = c->algorithm,
                  .options       = &c->options,
                  .model         = c->model,
                  .model_options = &c->model_options,
                  .verify        = c->verify};
    row   *r   = CS_NEW(row, 1);

    if (r == NULL || (r->scenario = cs_strdup(c->json)) == NULL) {
        free_row(r);
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    cs_error  reason = {0};
    cs_status status = cs_run_scenario(&run, &r->result, &reason);
    if (is_fatal(status)) {
        free_row(r);
        if (err != NULL) {
            *err = reason;
        }
        return status;
    }
    r->has_result = status == CS_OK;
    if (!r->has_result) {
        take_reason(r, &reason);
    }
    *row_p = r;
    return CS_OK;
}

static int compare_keys(const void *left, const void *right)
{
    const cs_store_key *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

/* Run scenario `index`, or count it as done before and leave *row_p NULL. */
static cs_status do_scenario(sweep *s, size_t index, row **row_p, cs_error *err)
{
    cs_case   c      = {0};
    cs_status status = cs_config_case(s->config, index, &c, err);

    *row_p = NULL;
    if (status == CS_OK) {
        cs_store_key        key = cs_store_key_of(c.json);
        const cs_store_key *found =
            s->n_keys == 0 ? NULL
                           : bsearch(&key, s->keys, s->n_keys, sizeof *s->keys, compare_keys);
        if (found == NULL) {
            status = run_case(&c, row_p, err);
        } else if (found->check != key.check) {
            status = CS_FAIL(err, CS_EINVAL, NULL,
                             "two scenarios have the same key in %s; give another name",
                             s->options->path);
        } else {
            atomic_fetch_add(&s->done_before, 1);
            atomic_fetch_add(&s->failed_before, found->failed ? 1 : 0);
        }
    }
    cs_case_free(&c);
    return status;
}

static bool may_go_on(sweep *s)
{
    bool is_stopped = s->options->stop != NULL && *s->options->stop != 0;
    return !is_stopped && !atomic_load(&s->halted);
}

static void *work(void *argument)
{
    worker *w = argument;
    sweep  *s = w->sweep;

    while (may_go_on(s) && (w->index = atomic_fetch_add(&s->next, 1)) < s->total) {
        row *r    = NULL;
        w->status = do_scenario(s, w->index, &r, &w->err);
        if (w->status != CS_OK) {
            atomic_store(&s->halted, true);
            break;
        }
        if (r != NULL && !cs_queue_put(&s->queue, r)) {
            free_row(r);
            break;
        }
    }
    cs_queue_leave(&s->queue);
    return NULL;
}

static void report(const sweep *s)
{
    if (s->options->progress != NULL) {
        size_t done = atomic_load(&s->done_before) + s->summary->run;
        s->options->progress(s->options->user, done, s->total);
    }
}

static cs_status write_rows(sweep *s, row *const *rows, size_t n, cs_error *err)
{
    size_t    n_failed = 0;
    cs_status status   = cs_store_begin(s->store, err);

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        const row *r      = rows[i];
        bool       failed = !r->has_result || cs_result_is_wrong(&r->result);
        n_failed += failed;
        status =
            cs_store_add(s->store, r->scenario, r->has_result ? &r->result : NULL, r->reason, err);
    }
    if (status == CS_OK) {
        status = cs_store_commit(s->store, err);
    }
    if (status == CS_OK) {
        s->summary->run += n;
        s->summary->failed += n_failed;
        report(s);
    }
    return status;
}

static cs_status write_all(sweep *s, cs_error *err)
{
    cs_status status = CS_OK;
    void     *items[MAX_BATCH];
    row      *rows[MAX_BATCH];
    size_t    n;

    while ((n = cs_queue_take(&s->queue, items, MAX_BATCH)) > 0) {
        for (size_t i = 0; i < n; i++) {
            rows[i] = items[i];
        }
        if (status == CS_OK && (status = write_rows(s, rows, n, err)) != CS_OK) {
            atomic_store(&s->halted, true);
            cs_queue_close(&s->queue);
        }
        for (size_t i = 0; i < n; i++) {
            free_row(rows[i]);
        }
    }
    return status;
}

static size_t start_workers(sweep *s, worker *workers, size_t n_workers)
{
    size_t n_started = 0;

    for (; n_started < n_workers; n_started++) {
        worker *w = &workers[n_started];
        w->sweep  = s;
        cs_queue_join(&s->queue);
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            cs_queue_leave(&s->queue);
            break;
        }
    }
    return n_started;
}

/* Of several errors, the one of the first scenario. */
static cs_status worst_of(const worker *workers, size_t n_workers, cs_error *err)
{
    const worker *worst = NULL;

    for (size_t i = 0; i < n_workers; i++) {
        const worker *w = &workers[i];
        if (w->status != CS_OK && (worst == NULL || w->index < worst->index)) {
            worst = w;
        }
    }
    if (worst == NULL) {
        return CS_OK;
    }
    if (err != NULL) {
        *err = worst->err;
    }
    return worst->status;
}

static cs_status run_threads(sweep *s, size_t jobs, cs_error *err)
{
    worker   *workers = CS_NEW(worker, jobs);
    cs_status status  = workers == NULL ? CS_FAIL(err, CS_ENOMEM, NULL, "out of memory")
                                        : cs_queue_init(&s->queue, jobs * ROWS_PER_JOB, err);

    if (status != CS_OK) {
        cs_free(workers);
        return status;
    }
    size_t n_started = start_workers(s, workers, jobs);
    status =
        n_started == 0 ? CS_FAIL(err, CS_EIO, NULL, "cannot start a thread") : write_all(s, err);
    for (size_t i = 0; i < n_started; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    if (status == CS_OK) {
        status = worst_of(workers, n_started, err);
    }
    cs_queue_free(&s->queue);
    cs_free(workers);
    return status;
}

static cs_status run_alone(sweep *s, cs_error *err)
{
    cs_status status = CS_OK;

    for (size_t index = 0; index < s->total && status == CS_OK && may_go_on(s); index++) {
        row *r = NULL;
        status = do_scenario(s, index, &r, err);
        if (r != NULL) {
            status = write_rows(s, &r, 1, err);
            free_row(r);
        }
    }
    return status;
}

static cs_status run_rest(sweep *s, cs_error *err)
{
    cs_store_key *keys   = NULL;
    size_t        most   = s->total < MAX_JOBS ? s->total : MAX_JOBS;
    size_t        jobs   = s->options->jobs < most ? s->options->jobs : most;
    cs_status     status = cs_store_keys(s->store, &keys, &s->n_keys, err);

    if (status == CS_OK) {
        s->keys = keys;
        report(s);
        status                  = jobs > 1 ? run_threads(s, jobs, err) : run_alone(s, err);
        s->summary->done_before = atomic_load(&s->done_before);
        s->summary->failed += atomic_load(&s->failed_before);
        report(s);
    }
    cs_free(keys);
    return status;
}

cs_status cs_sweep(const cs_config *config, const cs_sweep_options *options,
                   cs_sweep_summary *summary_p, cs_error *err)
{
    sweep s = {.config  = config,
               .options = options,
               .total   = cs_config_count(config),
               .summary = summary_p};

    *summary_p       = (cs_sweep_summary){.total = s.total};
    cs_status status = cs_store_open(options->path, &s.store, err);
    if (status != CS_OK) {
        return status;
    }
    status = run_rest(&s, err);
    if (status == CS_OK) {
        summary_p->stopped = summary_p->done_before + summary_p->run < s.total;
        status             = cs_store_finish(s.store, err);
    }
    cs_store_close(s.store);
    return status;
}
