/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All scenarios of a config, into a file and into a report.
 *
 * An item of the farm is a scenario. Those with the same baseline follow each other, the baseline
 * first, so that its samples are drawn once, or once by each rank that works on some of them.
 * Whoever works on a scenario skips it when its key is in the file; rank 0 collects, reads and
 * writes. A farm has one job here: the threads are inside a scenario.
 */
#include "base/alloc.h"
#include "base/random.h"
#include "montecarlo/outcome.h"
#include "montecarlo/state.h"
#include "results/store_montecarlo.h"
#include "sweep/wire.h"

#include <stdlib.h>

enum { KEY_BYTES = 8 };

/* One scenario in the order of work. */
typedef struct item {
    size_t baseline, index;
} item;

typedef struct run {
    const cs_config      *config;
    cs_montecarlo_options options;
    cs_montecarlo        *m;
    item                 *items;          /* [n_items]; owned */
    size_t                total, n_items; /* scenarios; without those that repeat others */
    cs_store_key         *keys;           /* of the file, ascending; owned */
    size_t                n_keys;
    cs_store             *store;   /* of rank 0; NULL: none */
    bool                 *is_done; /* [total]: the report has the row; of rank 0; owned */
    cs_montecarlo_report *report;  /* of rank 0 */
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

static cs_status list_items(run *r, cs_error *err)
{
    bool     *repeats = CS_NEW(bool, r->total);
    cs_status status  = CS_OK;

    r->items = CS_NEW(item, r->total);
    if (repeats == NULL || r->items == NULL) {
        status = CS_FAIL(err, CS_ENOMEM, NULL, "out of memory for %zu scenarios", r->total);
    } else {
        status = cs_config_repeats(r->config, repeats, err);
    }
    r->n_items = 0;
    for (size_t i = 0; i < r->total && status == CS_OK; i++) {
        if (!repeats[i]) {
            item *next  = &r->items[r->n_items++];
            next->index = i;
            status = cs_config_baseline(r->config, i, r->options.baseline, &next->baseline, err);
        }
    }
    cs_free(repeats);
    return status;
}

/* What every rank needs. */
static cs_status begin(run *r, cs_error *err)
{
    cs_status status = cs_montecarlo_open(r->config, &r->options, &r->m, err);

    if (status == CS_OK) {
        status = list_items(r, err);
    }
    if (status == CS_OK) {
        qsort(r->items, r->n_items, sizeof *r->items, compare);
        r->m->total = (uint64_t)r->n_items * r->options.iterations;
    }
    return status;
}

static void report_progress(const run *r)
{
    const cs_montecarlo_options *o = r->m->options;

    if (o->progress != NULL) {
        o->progress(o->user, r->m->done, r->m->total);
    }
}

/* The work of the farm. */
static cs_status do_item(void *user, size_t position, cs_text *to, cs_error *err)
{
    const run            *r      = user;
    cs_montecarlo_outcome o      = {.fate = CS_FATE_RUN, .index = r->items[position].index};
    cs_text               key    = {0};
    cs_status             status = CS_OK;

    if (r->options.path != NULL) {
        status = cs_montecarlo_key(r->m, (size_t)o.index, &key, err);
    }
    if (status == CS_OK && r->n_keys > 0) {
        uint64_t hash   = cs_store_key_of(key.data).key;
        bool     is_one = cs_store_key_find(r->keys, r->n_keys, hash) != NULL;
        o.fate          = is_one ? CS_FATE_THERE : CS_FATE_RUN;
    }
    if (status == CS_OK && o.fate == CS_FATE_RUN) {
        bool is_stopped = false;
        status          = cs_montecarlo_case(r->m, (size_t)o.index, &o.row, &is_stopped, err);
        o.fate          = is_stopped ? CS_FATE_STOPPED : CS_FATE_RUN;
    }
    if (status == CS_OK) {
        o.key = key.data;
        cs_montecarlo_outcome_pack(to, &o);
    }
    cs_montecarlo_row_free(&o.row);
    cs_text_free(&key);
    return status;
}

/* A row that was run goes to the file, one that is there comes from it. */
static cs_status visit_file(const run *r, cs_montecarlo_outcome *o, bool *writes_p, cs_error *err)
{
    bool      is_there = false;
    cs_status status   = CS_OK;

    if (o->fate == CS_FATE_THERE) {
        status = cs_montecarlo_store_find(r->store, o->key, &o->row, &is_there, err);
        return status != CS_OK || is_there
                   ? status
                   : CS_FAIL(err, CS_EIO, NULL, "%s has lost a row", r->options.path);
    }
    if (!*writes_p) {
        status    = cs_store_begin(r->store, err);
        *writes_p = status == CS_OK;
    }
    return status == CS_OK ? cs_montecarlo_store_add(r->store, o->key, &o->row, err) : status;
}

/* What the table says beside its columns. */
static cs_status add_settings(const run *r, cs_montecarlo_outcome *o, cs_error *err)
{
    static const char *const shown[] = {"algorithm.name",        "cluster.ranks",       "bytes",
                                        "montecarlo.prediction", "montecarlo.fallback", NULL};
    cs_text                  text    = {0};
    cs_status status = cs_config_settings(r->config, (size_t)o->index, o->row.algorithm,
                                          o->row.model, shown, &text, err);

    if (status == CS_OK) {
        o->row.settings = text.data;
    } else {
        cs_text_free(&text);
    }
    return status;
}

/* One row into file and report, which then owns it. */
static cs_status keep(run *r, cs_montecarlo_outcome *o, bool *writes_p, cs_error *err)
{
    bool      has_key = o->key != NULL, is_there = o->fate == CS_FATE_THERE;
    cs_status status = CS_OK;

    if (o->index >= r->total || r->is_done[o->index] || has_key != (r->store != NULL) ||
        (is_there && !has_key)) {
        return CS_FAIL(err, CS_EIO, NULL, "a row arrived that nobody asked for");
    }
    if (r->store != NULL) {
        status = visit_file(r, o, writes_p, err);
    }
    if (status == CS_OK) {
        status = add_settings(r, o, err);
    }
    if (status != CS_OK) {
        return status;
    }
    r->report->rows[o->index] = o->row;
    r->report->done_before += is_there;
    r->report->run += !is_there;
    r->report->failed += o->row.error[0] != '\0';
    r->report->n_fixed += o->row.iterations == 1 && r->options.iterations > 1;
    r->is_done[o->index] = true;
    r->m->done += r->options.iterations;
    o->row = (cs_montecarlo_row){0};
    return CS_OK;
}

/* Of the farm; what is there is one transaction. */
static cs_status collect(void *user, const cs_farm_row *rows, size_t n, cs_error *err)
{
    run      *r      = user;
    bool      writes = false, is_more = false;
    cs_status status = CS_OK;

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        cs_montecarlo_outcome o = {0};
        status                  = cs_montecarlo_outcome_unpack(rows[i], &o, err);
        if (status == CS_OK && o.fate != CS_FATE_STOPPED) {
            is_more = true;
            status  = keep(r, &o, &writes, err);
        }
        cs_montecarlo_row_free(&o.row);
    }
    if (status == CS_OK && writes) {
        status = cs_store_commit(r->store, err);
    }
    if (status == CS_OK && is_more) {
        report_progress(r);
    }
    return status;
}

/* Of the farm, on the other ranks: the keys of the file. What fails here rank 0 is told. */
static cs_status learn(void *user, const char *data, size_t bytes, cs_error *err)
{
    run      *r      = user;
    cs_wire   from   = cs_wire_over(data, bytes);
    size_t    n      = bytes / KEY_BYTES;
    cs_status status = begin(r, err);

    if (status == CS_OK && (r->keys = CS_NEW(cs_store_key, n)) == NULL) {
        status = CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    for (size_t i = 0; i < n && status == CS_OK; i++) {
        r->keys[i].key = cs_wire_u64(&from);
        from.failed    = from.failed || (i > 0 && r->keys[i].key <= r->keys[i - 1].key);
    }
    r->n_keys = status == CS_OK ? n : 0;
    return status == CS_OK ? cs_wire_end(&from, "the list of keys", err) : status;
}

static cs_status run_farm(run *r, cs_error *err)
{
    cs_farm_misses misses = {0};
    cs_text        keys   = {0};
    cs_status      status = CS_OK;

    for (size_t i = 0; i < r->n_keys && r->options.ranks != NULL; i++) {
        cs_wire_put_u64(&keys, r->keys[i].key);
    }
    status = cs_text_status(&keys, err);
    if (status == CS_OK) {
        const cs_farm farm = {.n_items = r->n_items,
                              .user    = r,
                              .work    = do_item,
                              .collect = collect,
                              .lesson  = {keys.data, keys.length},
                              .learn   = learn,
                              .jobs    = 1,
                              .ranks   = r->options.ranks,
                              .stop    = r->options.stop};
        status             = cs_farm_run(&farm, &misses, err);
    }
    cs_text_free(&keys);
    r->report->missing = misses.n;
    r->report->failure = misses.reason;
    return status;
}

/* Close the gaps that a stop has left, or what is missing. */
static void pack_rows(run *r)
{
    cs_montecarlo_report *report = r->report;

    for (size_t i = 0; i < r->total; i++) {
        if (r->is_done[i]) {
            report->rows[report->n_rows++] = report->rows[i];
        }
    }
}

static cs_status open_file(run *r, cs_error *err)
{
    cs_status status =
        cs_montecarlo_store_open(r->options.path, r->options.accepts_builds, &r->store, err);

    return status == CS_OK ? cs_store_keys(r->store, &r->keys, &r->n_keys, err) : status;
}

/* Rank 0, or the only process. */
static cs_status lead(run *r, cs_error *err)
{
    cs_montecarlo_report *report = r->report;
    cs_status             status = begin(r, err);

    if (status == CS_OK && r->options.path != NULL) {
        status = open_file(r, err);
    }
    if (status == CS_OK) {
        r->is_done   = CS_NEW(bool, r->total);
        report->rows = CS_NEW(cs_montecarlo_row, r->total);
        if (r->is_done == NULL || report->rows == NULL) {
            status = CS_FAIL(err, CS_ENOMEM, NULL, "out of memory for %zu scenarios", r->total);
        }
    }
    if (status == CS_OK) {
        status = run_farm(r, err);
    }
    if (status != CS_OK) {
        report->n_rows = report->rows != NULL ? r->total : 0; /* to be freed */
        return status;
    }
    report->total      = r->n_items;
    report->n_repeats  = r->total - r->n_items;
    report->is_stopped = report->done_before + report->run + report->missing < r->n_items;
    pack_rows(r);
    return r->store != NULL ? cs_store_finish(r->store, err) : CS_OK;
}

cs_status cs_montecarlo_run(const cs_config *config, const cs_montecarlo_options *options,
                            cs_montecarlo_report *report_p, cs_error *err)
{
    size_t               total  = cs_config_count(config);
    cs_montecarlo_report report = {.total = total};
    run                  r      = {
                              .config = config, .options = *options, .total = total, .n_items = total, .report = &report};
    cs_status status;

    if (cs_ranks_leads(options->ranks)) {
        status = lead(&r, err);
    } else {
        r.options.progress = NULL;
        status             = run_farm(&r, err);
    }
    cs_store_close(r.store);
    cs_montecarlo_close(r.m);
    cs_free(r.items);
    cs_free(r.keys);
    cs_free(r.is_done);
    if (status != CS_OK) {
        cs_montecarlo_report_free(&report);
        return status;
    }
    *report_p = report;
    return CS_OK;
}

cs_status cs_montecarlo_fingerprint(const cs_config *config, const cs_montecarlo_options *options,
                                    uint64_t *fingerprint_p, cs_error *err)
{
    cs_montecarlo *m      = NULL;
    cs_text        key    = {0};
    cs_status      status = cs_montecarlo_open(config, options, &m, err);

    if (status == CS_OK) {
        status = cs_montecarlo_key(m, 0, &key, err);
    }
    if (status == CS_OK) {
        uint64_t hash  = cs_mix64(cs_config_fingerprint(config)) ^ cs_hash_text(key.data);
        *fingerprint_p = cs_mix64(hash + (options->path != NULL));
    }
    cs_text_free(&key);
    cs_montecarlo_close(m);
    return status;
}

void cs_montecarlo_report_free(cs_montecarlo_report *report)
{
    for (size_t i = 0; i < report->n_rows; i++) {
        cs_montecarlo_row_free(&report->rows[i]);
    }
    cs_free(report->rows);
    *report = (cs_montecarlo_report){0};
}
