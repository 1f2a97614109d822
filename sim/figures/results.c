/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runs of figures. Many figures show the same scenario: a result is kept under the scenario's
 * text. The scenarios of most ranks are begun first, so that no thread is left with one at the end.
 */
#include "figures/results.h"

#include "base/alloc.h"
#include "base/random.h"
#include "sweep/workers.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is known: a table with open addresses ---- */

typedef struct entry {
    char     *key; /* NULL: free */
    cs_result result;
    cs_error  error; /* a refusal, instead of a result */
} entry;

struct cs_figure_results {
    entry *entries; /* [capacity], a power of two */
    size_t capacity, n;
};

enum { FIRST_CAPACITY = 256 };

cs_figure_results *cs_figure_results_new(void)
{
    cs_figure_results *results = CS_NEW(cs_figure_results, 1);

    if (results != NULL) {
        results->entries  = CS_NEW(entry, FIRST_CAPACITY);
        results->capacity = FIRST_CAPACITY;
    }
    if (results != NULL && results->entries == NULL) {
        cs_free(results);
        results = NULL;
    }
    return results;
}

void cs_figure_results_free(cs_figure_results *results)
{
    for (size_t i = 0; results != NULL && i < results->capacity; i++) {
        cs_free(results->entries[i].key);
    }
    cs_free(results != NULL ? results->entries : NULL);
    cs_free(results);
}

/* The entry of a key, or the free one where it belongs. */
static entry *place_of(const cs_figure_results *results, const char *key)
{
    size_t at = (size_t)cs_hash_text(key) & (results->capacity - 1);

    while (results->entries[at].key != NULL && strcmp(results->entries[at].key, key) != 0) {
        at = (at + 1) & (results->capacity - 1);
    }
    return &results->entries[at];
}

static bool grow(cs_figure_results *results)
{
    cs_figure_results larger = {.capacity = 2 * results->capacity, .n = results->n};

    larger.entries = CS_NEW(entry, larger.capacity);
    if (larger.entries == NULL) {
        return false;
    }
    for (size_t i = 0; i < results->capacity; i++) {
        if (results->entries[i].key != NULL) {
            *place_of(&larger, results->entries[i].key) = results->entries[i];
        }
    }
    cs_free(results->entries);
    *results = larger;
    return true;
}

static cs_status keep(cs_figure_results *results, const cs_figure_item *item, cs_error *err)
{
    char *key = cs_strdup(item->key);

    if (key == NULL || (2 * results->n >= results->capacity && !grow(results))) {
        cs_free(key);
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for results");
    }
    *place_of(results, key) = (entry){key, item->result, item->error};
    results->n++;
    return CS_OK;
}

/* ---- runs ---- */

static void run_item(cs_figure_item *item)
{
    const cs_stored_options stored    = {item->schedule};
    bool                    is_stored = item->schedule != NULL;
    cs_job                  job       = item->c.job;

    if (is_stored) {
        cs_job_set_algorithm(&job, &cs_algorithm_stored, &stored);
    }
    (void)!cs_job_run(&job, NULL, 0, &item->result, &item->error);
    item->result.option_table = is_stored ? NULL : item->result.option_table;
}

static cs_status work(void *user, size_t index, cs_text *row, cs_error *err)
{
    cs_figure_item **items = user;

    (void)row;
    (void)err;
    run_item(items[index]);
    return CS_OK;
}

static cs_status collect(void *user, const cs_work_item *rows, size_t n, cs_error *err)
{
    (void)user;
    (void)rows;
    (void)n;
    (void)err;
    return CS_OK;
}

static int compare_work(const void *a, const void *b)
{
    const cs_figure_item *x = *(cs_figure_item *const *)a, *y = *(cs_figure_item *const *)b;
    uint32_t n = x->c.job.scenario.cluster.n_ranks, m = y->c.job.scenario.cluster.n_ranks;

    return n != m ? (n > m ? -1 : 1) : strcmp(x->key, y->key);
}

static cs_status run_missing(cs_figure_item **items, size_t n, unsigned jobs, cs_error *err)
{
    cs_work_misses   misses;
    const cs_workers workers = {
        .n_items = n, .user = items, .work = work, .collect = collect, .jobs = jobs};

    if (n == 0) {
        return CS_OK;
    }
    qsort(items, n, sizeof items[0], compare_work);
    cs_status status = cs_workers_run(&workers, &misses, err);
    return status == CS_OK && misses.n > 0 ? CS_FAIL(err, misses.reason.status, misses.reason.where,
                                                     "%s", misses.reason.message)
                                           : status;
}

cs_status cs_figure_run_items(cs_figure_results *results, cs_figure_item *items, size_t n_items,
                              unsigned jobs, cs_error *err)
{
    cs_figure_item **missing   = CS_NEW(cs_figure_item *, n_items);
    size_t           n_missing = 0;

    if (missing == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a figure");
    }
    for (size_t i = 0; i < n_items; i++) {
        const entry *known = place_of(results, items[i].key);
        if (known->key != NULL) {
            items[i].result = known->result;
            items[i].error  = known->error;
        } else {
            missing[n_missing++] = &items[i];
        }
    }
    cs_status status = run_missing(missing, n_missing, jobs, err);
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
