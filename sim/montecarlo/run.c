/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All scenarios of a config, into a file and into a report.
 *
 * Scenarios with the same baseline are run one after the other, the baseline first, so that
 * its samples are drawn once. A row is a transaction: a kill loses the scenario under way.
 */
#include "base/alloc.h"
#include "montecarlo/state.h"
#include "results/store_montecarlo.h"

#include <stdlib.h>

/* One scenario in the order of work. */
typedef struct item {
    size_t baseline, index;
} item;

typedef struct run {
    cs_montecarlo        *m;
    cs_montecarlo_store  *store; /* NULL: none */
    item                 *items;
    bool                 *is_done; /* [total]: the report has the row */
    cs_montecarlo_report *report;
} run;

static int compare(const void *left, const void *right)
{
    const item *a = left, *b = right;
    bool        a_first = a->index == a->baseline, b_first = b->index == b->baseline;

    if (a->baseline != b->baseline) {
        return a->baseline < b->baseline ? -1 : 1;
    }
    if (a_first != b_first) {
        return a_first ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

static cs_status order_work(run *r, cs_error *err)
{
    size_t    total  = r->report->total;
    cs_status status = CS_OK;

    r->items        = CS_NEW(item, total);
    r->is_done      = CS_NEW(bool, total);
    r->report->rows = CS_NEW(cs_montecarlo_row, total);
    if (r->items == NULL || r->is_done == NULL || r->report->rows == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory for %zu scenarios", total);
    }
    for (size_t i = 0; i < total && status == CS_OK; i++) {
        r->items[i].index = i;
        status = cs_config_baseline(r->m->config, i, r->m->options->baseline, &r->items[i].baseline,
                                    err);
    }
    qsort(r->items, total, sizeof *r->items, compare);
    return status;
}

static void report_progress(const run *r)
{
    const cs_montecarlo_options *o = r->m->options;

    if (o->progress != NULL) {
        o->progress(o->user, r->m->done, r->m->total);
    }
}

/* Take the row from the file, or run the scenario and write it there. */
static cs_status do_item(run *r, size_t index, bool *stopped_p, cs_error *err)
{
    cs_montecarlo_row *row      = &r->report->rows[index];
    cs_text            key      = {0};
    bool               is_there = false;
    cs_status          status   = CS_OK;

    if (r->store != NULL) {
        status = cs_montecarlo_key(r->m, index, &key, err);
    }
    if (r->store != NULL && status == CS_OK) {
        status = cs_montecarlo_store_find(r->store, key.data, row, &is_there, err);
    }
    if (status == CS_OK && !is_there) {
        status = cs_montecarlo_case(r->m, index, row, stopped_p, err);
    }
    if (status == CS_OK && !is_there && !*stopped_p && r->store != NULL) {
        status = cs_montecarlo_store_add(r->store, key.data, row, err);
    }
    cs_text_free(&key);
    if (status == CS_OK && !*stopped_p) {
        r->is_done[index] = true;
        r->report->done_before += is_there;
        r->report->run += !is_there;
        r->report->failed += row->error[0] != '\0';
        r->m->done += r->m->options->iterations;
        report_progress(r);
    }
    return status;
}

/* Close the gaps that a stop has left. */
static void pack_rows(run *r)
{
    cs_montecarlo_report *report = r->report;

    for (size_t i = 0; i < report->total; i++) {
        if (r->is_done[i]) {
            report->rows[report->n_rows++] = report->rows[i];
        }
    }
}

static cs_status run_all(run *r, cs_error *err)
{
    cs_montecarlo *m          = r->m;
    cs_status      status     = order_work(r, err);
    bool           is_stopped = false;

    m->total = (uint64_t)r->report->total * m->options->iterations;
    for (size_t i = 0; i < r->report->total && status == CS_OK && !is_stopped; i++) {
        is_stopped = m->options->stop != NULL && *m->options->stop != 0;
        if (!is_stopped) {
            status = do_item(r, r->items[i].index, &is_stopped, err);
        }
    }
    r->report->is_stopped = is_stopped;
    if (status == CS_OK) {
        pack_rows(r);
    } else {
        r->report->n_rows = r->report->rows != NULL ? r->report->total : 0; /* to be freed */
    }
    return status;
}

cs_status cs_montecarlo_run(const cs_config *config, const cs_montecarlo_options *options,
                            cs_montecarlo_report *report_p, cs_error *err)
{
    cs_montecarlo_report report = {.total = cs_config_count(config)};
    run                  r      = {.report = &report};
    cs_status            status = cs_montecarlo_open(config, options, &r.m, err);

    if (status == CS_OK && options->path != NULL) {
        status = cs_montecarlo_store_open(options->path, &r.store, err);
    }
    if (status == CS_OK) {
        status = run_all(&r, err);
    }
    if (status == CS_OK && r.store != NULL) {
        status = cs_montecarlo_store_finish(r.store, err);
    }
    cs_montecarlo_store_close(r.store);
    cs_montecarlo_close(r.m);
    cs_free(r.items);
    cs_free(r.is_done);
    if (status != CS_OK) {
        cs_montecarlo_report_free(&report);
        return status;
    }
    *report_p = report;
    return CS_OK;
}

void cs_montecarlo_report_free(cs_montecarlo_report *report)
{
    for (size_t i = 0; i < report->n_rows; i++) {
        cs_montecarlo_row_free(&report->rows[i]);
    }
    cs_free(report->rows);
    *report = (cs_montecarlo_report){0};
}
