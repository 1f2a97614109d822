/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All scenarios of a config, into a file and into a report: a campaign whose threads are inside a
 * scenario. Those with the same baseline follow each other, the baseline first, so that its samples
 * are drawn once, or once by each rank that works on some of them. */
#include "base/alloc.h"
#include "base/random.h"
#include "montecarlo/state.h"

#include <stdio.h>
#include <stdlib.h>

/* One scenario in the order of work. */
typedef struct item {
    size_t baseline, index;
} item;

typedef struct run {
    const cs_config      *config;
    cs_montecarlo_options options;
    cs_montecarlo        *m;
    size_t               *scenarios; /* [n], in the order of work; owned */
    size_t                n;         /* without those that repeat others */
    cs_montecarlo_report *report; /* of rank 0: its rows stand at the numbers of their scenarios */
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

/* The scenarios that repeat no other, each with its baseline. */
static cs_status find_items(const run *r, item *items, size_t *n_p, cs_error *err)
{
    size_t    total   = cs_config_count(r->config);
    bool     *repeats = CS_NEW(bool, total);
    cs_status status =
        repeats != NULL ? cs_config_repeats(r->config, repeats, err)
                        : CS_FAIL(err, CS_ENOMEM, NULL, "out of memory for %zu scenarios", total);

    for (size_t i = 0; i < total && status == CS_OK; i++) {
        if (!repeats[i]) {
            item *next  = &items[(*n_p)++];
            next->index = i;
            status = cs_config_baseline(r->config, i, r->options.baseline, &next->baseline, err);
        }
    }
    cs_free(repeats);
    return status;
}

static cs_status list_scenarios(run *r, cs_error *err)
{
    size_t    total  = cs_config_count(r->config);
    item     *items  = CS_NEW(item, total);
    cs_status status = CS_OK;

    r->scenarios = CS_NEW(size_t, total);
    status       = items != NULL && r->scenarios != NULL
                       ? find_items(r, items, &r->n, err)
                       : CS_FAIL(err, CS_ENOMEM, NULL, "out of memory for %zu scenarios", total);
    if (status == CS_OK) {
        qsort(items, r->n, sizeof *items, compare);
    }
    for (size_t i = 0; i < r->n && status == CS_OK; i++) {
        r->scenarios[i] = items[i].index;
    }
    cs_free(items);
    return status;
}

/* Of the campaign: what every rank needs. */
static cs_status begin(void *user, const size_t **scenarios_p, size_t *n_p, cs_error *err)
{
    run      *r      = user;
    cs_status status = cs_montecarlo_open(r->config, &r->options, &r->m, err);

    if (status == CS_OK) {
        status = list_scenarios(r, err);
    }
    if (status == CS_OK && cs_ranks_leads(r->options.ranks)) {
        r->report->rows = CS_NEW(cs_montecarlo_row, cs_config_count(r->config));
        status          = r->report->rows != NULL
                              ? CS_OK
                              : CS_FAIL(err, CS_ENOMEM, NULL, "out of memory for %zu scenarios", r->n);
    }
    if (status == CS_OK) {
        r->m->total  = (uint64_t)r->n * r->options.iterations;
        *scenarios_p = r->scenarios;
        *n_p         = r->n;
    }
    return status;
}

static void report_progress(void *user, size_t done, size_t total)
{
    const run *r = user;

    (void)total;
    r->m->done = (uint64_t)done * r->options.iterations;
    r->options.progress(r->options.user, r->m->done, r->m->total);
}

/* The work of the campaign. */
static cs_status do_scenario(void *user, size_t index, cs_work *work, cs_error *err)
{
    const run        *r         = user;
    cs_montecarlo_row row       = {0};
    cs_text           key       = {0};
    bool              is_stored = false, is_stopped = false;
    cs_status         status = CS_OK;

    if (r->options.path != NULL) {
        status = cs_montecarlo_key(r->m, index, &key, err);
    }
    if (status == CS_OK && r->options.path != NULL) {
        status = cs_work_identify(work, key.data, &is_stored, err);
    }
    if (status == CS_OK && !is_stored) {
        status = cs_montecarlo_case(r->m, index, &row, &is_stopped, err);
    }
    if (status == CS_OK && !is_stored && !is_stopped) {
        const cs_montecarlo_texts texts = {row.scenario, key.data != NULL ? key.data : "",
                                           row.error[0] != '\0' ? row.error : NULL};
        cs_work_put(work, &(cs_campaign_row){.columns = &row, .texts = &texts});
    }
    cs_montecarlo_row_free(&row);
    cs_text_free(&key);
    return status;
}

/* What the table says beside its columns. */
static cs_status add_settings(const run *r, size_t index, cs_montecarlo_row *row, cs_error *err)
{
    static const char *const shown[] = {"algorithm.name",        "cluster.ranks",       "bytes",
                                        "montecarlo.prediction", "montecarlo.fallback", NULL};
    cs_text                  text    = {0};
    cs_status                status =
        cs_config_settings(r->config, index, row->algorithm, row->model, shown, &text, err);

    if (status == CS_OK) {
        row->settings = text.data;
    } else {
        cs_text_free(&text);
    }
    return status;
}

/* Of the campaign: one row into the report, which then owns it. */
static cs_status take_row(void *user, const cs_campaign_row *from, cs_error *err)
{
    run                       *r      = user;
    cs_montecarlo_report      *report = r->report;
    const cs_montecarlo_texts *texts  = from->texts;
    cs_montecarlo_row          row    = *(const cs_montecarlo_row *)from->columns;

    row.settings = NULL;
    row.scenario = cs_strdup(texts->scenario);
    snprintf(row.error, sizeof row.error, "%s", texts->error != NULL ? texts->error : "");
    cs_status status = row.scenario != NULL ? add_settings(r, from->scenario, &row, err)
                                            : CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    if (status != CS_OK) {
        cs_montecarlo_row_free(&row);
        return status;
    }
    report->rows[from->scenario] = row;
    report->failed += row.error[0] != '\0';
    report->n_fixed += row.iterations == 1 && r->options.iterations > 1;
    return CS_OK;
}

/* Close the gaps that a stop has left, repeated scenarios, and what is missing. */
static void pack_rows(cs_montecarlo_report *report, size_t total)
{
    for (size_t i = 0; report->rows != NULL && i < total; i++) {
        if (report->rows[i].scenario != NULL) {
            report->rows[report->n_rows++] = report->rows[i];
        }
    }
}

static cs_status run_campaign(run *r, cs_error *err)
{
    const cs_montecarlo_options *o = &r->options;
    const cs_campaign            c = {.n_scenarios    = cs_config_count(r->config),
                                      .table          = &cs_montecarlo_table,
                                      .user           = r,
                                      .begin          = begin,
                                      .work           = do_scenario,
                                      .take           = take_row,
                                      .reads_stored   = true,
                                      .path           = o->path,
                                      .accepts_builds = o->accepts_builds,
                                      .jobs           = 1,
                                      .ranks          = o->ranks,
                                      .progress = o->progress != NULL ? report_progress : NULL,
                                      .stop     = o->stop};

    return cs_campaign_run(&c, &r->report->count, err);
}

cs_status cs_montecarlo_run(const cs_config *config, const cs_montecarlo_options *options,
                            cs_montecarlo_report *report_p, cs_error *err)
{
    size_t               total  = cs_config_count(config);
    cs_montecarlo_report report = {0};
    run                  r      = {.config = config, .options = *options, .report = &report};

    if (!cs_ranks_leads(options->ranks)) {
        r.options.progress = NULL;
    }
    cs_status status = run_campaign(&r, err);
    cs_montecarlo_close(r.m);
    cs_free(r.scenarios);
    pack_rows(&report, total);
    if (status != CS_OK) {
        cs_montecarlo_report_free(&report);
        return status;
    }
    report.n_repeats = total - report.count.total;
    *report_p        = report;
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
