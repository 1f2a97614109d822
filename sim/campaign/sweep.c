/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep as a campaign: the row of a scenario is the result of one replay. */
#include "campaign/sweep.h"

#include "base/alloc.h"
#include "engine/delays.h"
#include "output/result_rows.h"

#include <stdint.h>

typedef struct sweep {
    const cs_config        *config;
    const cs_sweep_options *options;
    size_t                  first_refused, first_wrong; /* scenarios */
    cs_sweep_summary       *summary;
    size_t                 *scenarios; /* those that are not left out; NULL: all; owned */
} sweep;

/* ---- before any work: what algorithms refuse that only "all" stands for ---- */

static cs_status look_at(const sweep *s, size_t index, cs_error *why)
{
    cs_case   c      = {0};
    cs_status status = cs_config_try_case(s->config, index, &c, why);

    if (status == CS_OK) {
        status = cs_job_resolve(&c.job, why);
        cs_job_release(&c.job);
    }
    cs_case_free(&c);
    return status;
}

static cs_status leave_out(void *user, const size_t **scenarios_p, size_t *n_p, cs_error *err)
{
    sweep *s     = user;
    size_t total = cs_config_count(s->config), n = 0;

    if (!cs_config_has_all(s->config)) {
        return CS_OK;
    }
    s->scenarios = CS_NEW(size_t, total);
    if (s->scenarios == NULL) {
        return CS_NO_MEMORY(err, "%zu scenarios", total);
    }
    for (size_t i = 0; i < total; i++) {
        cs_error why = {0};
        if (!cs_config_is_of_all(s->config, i) || look_at(s, i, &why) == CS_OK ||
            !cs_config_leave_out(s->config, i, &why, &s->summary->left_out)) {
            s->scenarios[n++] = i;
        }
    }
    *scenarios_p = s->scenarios;
    *n_p         = n;
    return n > 0 ? CS_OK : cs_left_out_refusal(&s->summary->left_out, err);
}

/* ---- one scenario: any thread of any rank ---- */

/* The text that identifies a scenario, and its case unless the config refuses that (`why`). */
static cs_status identify(const sweep *s, size_t index, cs_case *c, cs_text *point, cs_error *why,
                          cs_error *err)
{
    cs_status status = cs_config_try_case(s->config, index, c, why);

    if (status == CS_OK) {
        return CS_OK;
    }
    if (cs_status_is_refusal(status)) {
        return cs_config_point(s->config, index, point, err);
    }
    status = cs_config_case(s->config, index, c, err); /* once more, for the place in the file */
    return status == CS_OK ? CS_FAIL(err, why->status, why->where, "%s", why->message) : status;
}

/* Run the case, or `c` is NULL: then `why` says why there is none. Hand in what came of it. */
static cs_status run_case(const cs_case *c, const char *scenario, cs_work *work, cs_error *why)
{
    cs_result       result  = c != NULL
                                  ? cs_refused_result(&c->job.scenario, c->job.algorithm, c->job.model)
                                  : cs_refused_result(NULL, NULL, NULL);
    cs_status       status  = why->status;
    cs_text         options = {0};
    cs_result_texts texts;
    char            reason[sizeof why->message + sizeof why->where + 4];

    if (c != NULL) {
        status = cs_job_run(&c->job, NULL, 0, &result, why);
        status = status == CS_OK ? cs_result_add_delays(&c->job, &result, why) : status;
    }
    bool is_refused = cs_status_is_refusal(status);
    if (is_refused) {
        /* Without its place in the file: the row is the same wherever the config lies. */
        cs_error_reason(why, reason, sizeof reason);
    }
    if (is_refused || status == CS_OK) {
        status = cs_result_texts_of(&result, scenario, is_refused ? reason : NULL, &options, &texts,
                                    why);
    }
    if (status == CS_OK) {
        cs_work_put(work, &(cs_campaign_row){.is_refused = is_refused,
                                             .is_wrong   = cs_result_is_wrong(&result),
                                             .columns    = &result,
                                             .texts      = &texts});
    }
    cs_text_free(&options);
    return status;
}

static cs_status do_scenario(void *user, size_t index, cs_work *work, cs_error *err)
{
    const sweep *s         = user;
    cs_case      c         = {0};
    cs_text      point     = {0};
    cs_error     why       = {0};
    bool         is_stored = false;
    cs_status    status    = identify(s, index, &c, &point, &why, err);
    const char  *scenario  = c.json != NULL ? c.json : point.data;

    if (status == CS_OK) {
        status = cs_work_identify(work, scenario, &is_stored, err);
    }
    if (status == CS_OK && !is_stored) {
        status = run_case(c.json != NULL ? &c : NULL, scenario, work, &why);
        if (status != CS_OK && err != NULL) {
            *err = why;
        }
    }
    cs_text_free(&point);
    cs_case_free(&c);
    return status;
}

/* ---- rank 0 ---- */

static cs_status take_row(void *user, const cs_campaign_row *row, cs_error *err)
{
    sweep *s = user;

    (void)err;
    s->summary->refused += row->is_refused;
    s->summary->wrong += row->is_wrong;
    if (row->is_refused && row->scenario < s->first_refused) {
        s->first_refused = row->scenario;
    }
    if (row->is_wrong && row->scenario < s->first_wrong) {
        s->first_wrong = row->scenario;
    }
    return CS_OK;
}

/* Read the error of a scenario's row into `recalled`, with that status; where the config refuses
 * the scenario, with the place in the file. */
static cs_status read_error(const sweep *s, cs_store *store, size_t index, cs_status status_of_row,
                            cs_error *recalled, cs_error *err)
{
    cs_case         c      = {0};
    cs_text         point  = {0};
    cs_error        why    = {0};
    cs_result_texts texts  = {0};
    bool            has    = false;
    cs_status       status = identify(s, index, &c, &point, &why, err);

    if (status == CS_OK && c.json == NULL) {
        cs_case_free(&c);
        (void)!cs_config_case(s->config, index, &c, recalled);
    } else if (status == CS_OK) {
        uint64_t key = cs_store_key_of(c.json).key;
        status       = cs_store_find(store, key, c.json, NULL, &texts, &has, err);
    }
    if (status == CS_OK && recalled->status == CS_OK) {
        (void)CS_FAIL(recalled, status_of_row, NULL, "%s", texts.error != NULL ? texts.error : "");
    }
    cs_text_free(&point);
    cs_case_free(&c);
    return status;
}

static cs_status read_first_errors(void *user, cs_store *store, cs_error *err)
{
    const sweep      *s   = user;
    cs_sweep_summary *sum = s->summary;

    if (sum->refused > 0) {
        CS_TRY(read_error(s, store, s->first_refused, CS_EINVAL, &sum->refusal, err));
    }
    if (sum->wrong > 0) {
        CS_TRY(read_error(s, store, s->first_wrong, CS_EWRONG, &sum->mistake, err));
    }
    return CS_OK;
}

static void report(void *user, size_t done, size_t total)
{
    const sweep *s = user;
    s->options->progress(s->options->user, done, total);
}

/* Is there anything to run? What is wrong with every scenario is wrong with the config: no file is
 * made of that. */
static cs_status find_any(const cs_config *config, cs_error *err)
{
    size_t total = cs_config_count(config);

    for (size_t i = 0; i < total; i++) {
        cs_case   c      = {0};
        cs_error  why    = {0};
        cs_status status = cs_config_try_case(config, i, &c, &why);
        cs_case_free(&c);
        if (status == CS_OK || cs_status_is_failure(status)) {
            return CS_OK;
        }
        if (!cs_status_is_refusal(status) || i + 1 == total) {
            size_t wrong = cs_status_is_refusal(status) ? 0 : i;
            status       = cs_config_case(config, wrong, &c, err);
            cs_case_free(&c);
            return status;
        }
    }
    return CS_OK;
}

cs_status cs_sweep(const cs_config *config, const cs_sweep_options *options,
                   cs_sweep_summary *summary_p, cs_error *err)
{
    sweep             s = {.config        = config,
                           .options       = options,
                           .first_refused = SIZE_MAX,
                           .first_wrong   = SIZE_MAX,
                           .summary       = summary_p};
    const cs_campaign c = {.n_scenarios    = cs_config_count(config),
                           .table          = &cs_results_table,
                           .user           = &s,
                           .begin          = leave_out,
                           .work           = do_scenario,
                           .take           = take_row,
                           .finish         = read_first_errors,
                           .path           = options->path,
                           .accepts_builds = options->accepts_builds,
                           .config         = config,
                           .jobs           = options->jobs,
                           .ranks          = options->ranks,
                           .progress       = options->progress != NULL ? report : NULL,
                           .stop           = options->stop};

    *summary_p = (cs_sweep_summary){.count = {.total = cs_config_count(config)}};
    if (cs_ranks_leads(options->ranks)) {
        CS_TRY(find_any(config, err));
    }
    cs_status status = cs_campaign_run(&c, &summary_p->count, err);
    cs_free(s.scenarios);
    return status;
}
