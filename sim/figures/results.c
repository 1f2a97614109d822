/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runs of figures. Many figures show the same scenario: a result is kept under the scenario's
 * text. The scenarios of most ranks are run first, so that no thread is left with one at the end.
 */
#include "figures/figure.h"

#include "algorithms/adapcc/late.h"
#include "base/alloc.h"
#include "base/random.h"
#include "campaign/workers.h"
#include "engine/delays.h"

#include <stdlib.h>
#include <string.h>

/* ---- results that are known ---- */

typedef struct entry {
    char           *key;
    uint64_t        hash; /* of the key */
    cs_result       result;
    cs_figure_start start;
    cs_error        error; /* a refusal, instead of a result */
} entry;

struct cs_figure_results {
    cs_listener listener;
    entry      *entries;
    size_t      n, capacity;
};

cs_figure_results *cs_figure_results_new(void)
{
    return CS_NEW(cs_figure_results, 1);
}

void cs_figure_results_tell(cs_figure_results *results, const cs_listener *listener)
{
    results->listener = *listener;
}

void cs_figure_results_free(cs_figure_results *results)
{
    for (size_t i = 0; results != NULL && i < results->n; i++) {
        cs_free(results->entries[i].key);
        cs_free(results->entries[i].start.workers);
    }
    cs_free(results != NULL ? results->entries : NULL);
    cs_free(results);
}

/* Some thousand scenarios at most: a look at each of their hashes takes less than a replay. */
static const entry *find(const cs_figure_results *results, const cs_figure_item *item)
{
    for (size_t i = 0; i < results->n; i++) {
        const entry *e = &results->entries[i];
        if (e->hash == item->hash && strcmp(e->key, item->key) == 0) {
            return e;
        }
    }
    return NULL;
}

static cs_status copy_start(const cs_figure_start *from, cs_figure_start *to, cs_error *err)
{
    *to = *from;
    if (from->workers == NULL) {
        return CS_OK;
    }
    to->workers = CS_NEW(cs_figure_worker, from->n_ranks);
    if (to->workers == NULL) {
        return CS_NO_MEMORY(err, "the decisions on %u ranks", from->n_ranks);
    }
    memcpy(to->workers, from->workers, from->n_ranks * sizeof *to->workers);
    return CS_OK;
}

static cs_status keep(cs_figure_results *results, const cs_figure_item *item, cs_error *err)
{
    entry kept = {.hash = item->hash, .result = item->result, .error = item->error};

    CS_TRY(copy_start(&item->start, &kept.start, err));
    kept.key = cs_strdup(item->key);
    if (kept.key == NULL || !cs_grow(&results->entries, &results->capacity, results->n + 1, 256,
                                     sizeof *results->entries)) {
        cs_free(kept.key);
        cs_free(kept.start.workers);
        return CS_NO_MEMORY(err, "the results of %zu scenarios", results->n + 1);
    }
    results->entries[results->n++] = kept;
    return CS_OK;
}

/* ---- runs ---- */

static void keep_start(void *user, const void *decisions)
{
    cs_figure_item          *item = user;
    const cs_late_decisions *d    = decisions;

    if (d == NULL) {
        return;
    }
    uint32_t n  = d->given.setting.n_ranks;
    item->start = (cs_figure_start){d->times.phase1_from_s, n, CS_NEW(cs_figure_worker, n)};
    for (uint32_t r = 0; r < n && item->start.workers != NULL; r++) {
        item->start.workers[r] =
            (cs_figure_worker){d->given.ready_s[r], d->times.workers[r].role != CS_WORKER_ACTIVE};
    }
}

/* However long it takes. */
static cs_status find_delays(cs_figure_item *item)
{
    const cs_delays_choice any = {.most_transfers = 0};
    cs_delays              d;

    CS_TRY(cs_job_delays(&item->c.job, &any, &d, &item->error));
    cs_result_set_delays(&item->result, &d);
    return CS_OK;
}

static void run_item(cs_figure_item *item)
{
    const cs_observer       observer  = {.decided = keep_start, .user = item};
    const cs_stored_options stored    = {item->schedule};
    bool                    is_stored = item->schedule != NULL;
    cs_job                  job       = item->c.job;

    if (is_stored) {
        cs_job_set_algorithm(&job, &cs_algorithm_stored, &stored);
    }
    size_t    n_observers = job.algorithm != NULL && job.algorithm->decided == cs_late_decided;
    cs_status status      = cs_job_run(&job, &observer, n_observers, &item->result, &item->error);
    if (status == CS_OK && item->has_delays) {
        status = find_delays(item);
    }
    if (status == CS_OK && item->start.n_ranks > 0 && item->start.workers == NULL) {
        (void)CS_NO_MEMORY(&item->error, "the decisions on %u ranks", item->start.n_ranks);
    }
    item->result.option_table = is_stored ? NULL : item->result.option_table;
}

/* The scenarios that nobody has run. */
typedef struct missing_items {
    cs_figure_item   **items; /* [n] */
    size_t             n, n_done;
    const cs_listener *listener;
} missing_items;

static cs_status work(void *user, size_t index, cs_text *row, cs_error *err)
{
    const missing_items *m = user;

    (void)row;
    (void)err;
    run_item(m->items[index]);
    return CS_OK;
}

static cs_status collect(void *user, const cs_work_item *rows, size_t n, cs_error *err)
{
    missing_items *m = user;

    (void)rows;
    (void)err;
    m->n_done += n;
    cs_tell(m->listener, m->n_done, m->n);
    return CS_OK;
}

static int by_ranks(const void *a, const void *b)
{
    const cs_figure_item *x = *(cs_figure_item *const *)a, *y = *(cs_figure_item *const *)b;
    uint32_t n = x->c.job.scenario.cluster.n_ranks, m = y->c.job.scenario.cluster.n_ranks;

    return n != m ? (n > m ? -1 : 1) : strcmp(x->key, y->key);
}

static cs_status run_missing(cs_figure_item **items, size_t n, const cs_listener *listener,
                             unsigned jobs, cs_error *err)
{
    missing_items    missing = {.items = items, .n = n, .listener = listener};
    cs_skipped_items skipped;
    const cs_workers workers = {
        .n_items = n, .user = &missing, .work = work, .collect = collect, .jobs = jobs};

    if (n == 0) {
        return CS_OK;
    }
    qsort(items, n, sizeof(cs_figure_item *), by_ranks);
    cs_status status = cs_workers_run(&workers, &skipped, err);
    return status == CS_OK && skipped.n > 0
               ? CS_FAIL(err, skipped.reason.status, skipped.reason.where, "%s",
                         skipped.reason.message)
               : status;
}

cs_status cs_figure_run_items(cs_figure_results *results, cs_figure_item *items, size_t n_items,
                              unsigned jobs, cs_error *err)
{
    cs_figure_item **missing   = CS_NEW(cs_figure_item *, n_items);
    size_t           n_missing = 0;
    cs_status        status    = CS_OK;

    if (missing == NULL) {
        return CS_NO_MEMORY(err, "%zu scenarios", n_items);
    }
    for (size_t i = 0; i < n_items; i++) {
        const entry *known = find(results, &items[i]);
        if (known != NULL) {
            items[i].result = known->result;
            items[i].error  = known->error;
            status = status == CS_OK ? copy_start(&known->start, &items[i].start, err) : status;
        } else {
            missing[n_missing++] = &items[i];
        }
    }
    status =
        status == CS_OK ? run_missing(missing, n_missing, &results->listener, jobs, err) : status;
    for (size_t i = 0; i < n_missing && status == CS_OK; i++) {
        const cs_error *why = &missing[i]->error;
        if (why->status != CS_OK && cs_status_is_failure(why->status) &&
            why->status != CS_EMISSING) {
            status = CS_FAIL(err, why->status, why->where, "%s", why->message);
        } else {
            status = keep(results, missing[i], err);
        }
    }
    cs_free(missing);
    return status;
}
