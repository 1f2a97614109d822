/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The results of a configuration's scenarios as JSON text (cs/config.h). Every scenario becomes the
 * text of one JSON object on the thread that runs it; the texts are joined in their order. */
#include "campaign/config_run.h"
#include "base/alloc.h"
#include "campaign/workers.h"
#include "engine/delays.h"
#include "output/bound_rows.h"
#include "output/relay_report.h"
#include "output/result_rows.h"
#include "study/all.h"

#include <stdio.h>

/* The first byte of a worker's row. */
enum { RAN = '+', REFUSED = '-' };

typedef struct json_run {
    const cs_config   *config;
    cs_sweep_columns  *columns;
    cs_text           *objects; /* [scenarios]: those that came before one in front of them */
    bool              *came;    /* [scenarios] */
    size_t             next;    /* the first that has not come */
    size_t             n_ran;
    cs_json_row_visit *visit;
    void              *user;
    const cs_listener *listener; /* NULL: nobody */
    size_t             n_done;   /* scenarios, whatever became of them */
} json_run;

/* Is this the error of one scenario, so that the others can still be run? */
static bool is_refusal(cs_status status)
{
    return cs_status_is_refusal(status) || status == CS_EMISSING;
}

/* Add the object of one scenario; `reason` is NULL where it was run. `blocks` is of cs_result_rows.
 */
static cs_status add_object(const json_run *a, size_t index, const cs_case *c,
                            const cs_result *result, const char *reason, const char *blocks,
                            cs_text *text, cs_error *err)
{
    cs_result_rows row   = {.results = result, .refusals = &reason, .n = 1, .blocks = &blocks};
    cs_text        point = {0};
    cs_error       wrong = {0};

    row.extra.names  = cs_sweep_columns_names(a->columns, &row.extra.n_columns);
    cs_value *values = CS_NEW(cs_value, row.extra.n_columns);
    if (values != NULL && c->job.algorithm != NULL) {
        cs_sweep_columns_row(a->columns, index, values);
    }
    if (c->json == NULL && cs_config_point(a->config, index, &point, &wrong) != CS_OK) {
        cs_text_free(&point);
    }
    const char *scenario = c->json != NULL ? c->json : point.data;
    row.scenarios        = &scenario;
    row.extra.values     = values;
    cs_text_add(text, "%c", reason == NULL ? RAN : REFUSED);
    if (values != NULL) {
        cs_result_json(text, &row, 0);
    }
    cs_text_free(&point);
    cs_free(values);
    return values == NULL || text->failed || wrong.status == CS_ENOMEM
               ? CS_NO_MEMORY(err, "%zu results", cs_config_count(a->config))
               : CS_OK;
}

static cs_status run_scenario(void *user, size_t index, cs_text *text, cs_error *err)
{
    const json_run *a         = user;
    cs_case         c         = {0};
    cs_late_report  decisions = {0};
    cs_observer     observer;
    cs_error        why    = {0};
    cs_result       result = {0};
    char            reason[sizeof why.where + sizeof why.message + 2];
    cs_status       status = cs_config_try_case(a->config, index, &c, &why);

    if (status != CS_OK && !is_refusal(status)) {
        return cs_config_case(a->config, index, &c, err); /* once more, for the place in the file */
    }
    if (status == CS_OK) {
        size_t n = cs_late_report_observe(&decisions, c.job.algorithm, &observer);
        status   = cs_job_run(&c.job, &observer, n, &result, &why);
    }
    status = status == CS_OK ? cs_result_add_delays(&c.job, &result, &why) : status;
    if (status == CS_OK) {
        text->failed = text->failed || decisions.json.failed;
        status       = add_object(a, index, &c, &result, NULL, decisions.json.data, text, err);
    } else if (cs_status_is_refusal(status) && cs_config_is_of_all(a->config, index)) {
        status = CS_OK; /* it is left out: no object */
    } else if (is_refusal(status)) {
        (void)snprintf(reason, sizeof reason, "%s%s%s", why.where, why.where[0] != '\0' ? ": " : "",
                       why.message);
        result = cs_refused_result(&c.job.scenario, c.job.algorithm, c.job.model);
        status = add_object(a, index, &c, &result, reason, NULL, text, err);
    } else if (err != NULL) {
        *err = why;
    }
    cs_late_report_free(&decisions);
    cs_case_free(&c);
    return status;
}

/* Hand on what has come without a gap. */
static cs_status hand_on(json_run *a, cs_error *err)
{
    size_t    n      = cs_config_count(a->config);
    cs_status status = CS_OK;

    for (; a->next < n && a->came[a->next] && status == CS_OK; a->next++) {
        cs_text *object = &a->objects[a->next];
        status = object->length > 0 ? a->visit(a->user, object->data, object->length, err) : CS_OK;
        cs_text_free(object);
    }
    return status;
}

static cs_status collect_objects(void *user, const cs_work_item *items, size_t n, cs_error *err)
{
    json_run *a      = user;
    bool      failed = false;

    for (size_t i = 0; i < n; i++) {
        cs_text *object         = &a->objects[items[i].index];
        a->came[items[i].index] = true;
        if (items[i].bytes == 0) {
            continue;
        }
        cs_text_add_bytes(object, items[i].data + 1, items[i].bytes - 1);
        a->n_ran += items[i].data[0] == RAN;
        failed = failed || object->failed;
    }
    a->n_done += n;
    cs_tell(a->listener, a->n_done, cs_config_count(a->config));
    return failed ? CS_NO_MEMORY(err, "%zu results", cs_config_count(a->config)) : hand_on(a, err);
}

/* Return why the first scenario cannot be run, with its place in the text. */
static cs_status first_refusal(const cs_config *config, cs_error *err)
{
    cs_case   c      = {0};
    cs_result result = {0};
    cs_status status = cs_config_case(config, 0, &c, err);

    if (status == CS_OK) {
        status = cs_job_run(&c.job, NULL, 0, &result, err);
    }
    cs_case_free(&c);
    return status;
}

static cs_status run_all(json_run *a, unsigned jobs, cs_error *err)
{
    size_t           n       = cs_config_count(a->config);
    const cs_workers workers = {
        .n_items = n, .user = a, .work = run_scenario, .collect = collect_objects, .jobs = jobs};
    cs_skipped_items skipped = {0};
    cs_status        status  = cs_workers_run(&workers, &skipped, err);

    if (status == CS_OK && skipped.n > 0) {
        if (err != NULL) {
            *err = skipped.reason;
        }
        return skipped.reason.status;
    }
    return status == CS_OK && a->n_ran == 0 ? first_refusal(a->config, err) : status;
}

/* Give the text to the caller, or free it where something failed. */
static cs_status hand_over(cs_text *text, cs_status status, char **json_p, cs_error *err)
{
    if (status == CS_OK) {
        status = cs_text_status(text, err);
    }
    if (status == CS_OK) {
        *json_p = text->data;
    } else {
        cs_text_free(text);
    }
    return status;
}

static cs_status run_rows(const cs_config *config, unsigned jobs, const cs_listener *listener,
                          cs_json_row_visit *visit, void *user, cs_error *err)
{
    json_run  a      = {.config = config, .visit = visit, .user = user, .listener = listener};
    size_t    n      = cs_config_count(config);
    cs_status status = cs_sweep_columns_open(config, cs_result_columns, &a.columns, err);

    if (status != CS_OK) {
        return status;
    }
    a.objects = CS_NEW(cs_text, n);
    a.came    = CS_NEW(bool, n);
    status    = a.objects != NULL && a.came != NULL ? run_all(&a, jobs, err)
                                                    : CS_NO_MEMORY(err, "%zu results", n);
    for (size_t i = 0; i < n && a.objects != NULL; i++) {
        cs_text_free(&a.objects[i]);
    }
    cs_free(a.objects);
    cs_free(a.came);
    cs_sweep_columns_close(a.columns);
    return status;
}

cs_status cs_config_run_rows(const cs_config *config, unsigned jobs, cs_json_row_visit *visit,
                             void *user, cs_error *err)
{
    return run_rows(config, jobs, NULL, visit, user, err);
}

static cs_status add_to_array(void *user, const char *object, size_t length, cs_error *err)
{
    cs_text *text = user;

    cs_text_add(text, "%s\n", text->length > 1 ? "," : "");
    cs_text_add_bytes(text, object, length);
    return cs_text_status(text, err);
}

cs_status cs_config_run(const cs_config *config, unsigned jobs, char **json_p, cs_error *err)
{
    return cs_config_run_told(config, jobs, NULL, json_p, err);
}

cs_status cs_config_run_told(const cs_config *config, unsigned jobs, const cs_listener *listener,
                             char **json_p, cs_error *err)
{
    cs_text text = {0};

    cs_text_add(&text, "[");
    cs_status status = run_rows(config, jobs, listener, add_to_array, &text, err);
    cs_text_add(&text, "\n]\n");
    return hand_over(&text, status, json_p, err);
}

cs_status cs_config_bounds(const cs_config *config, char **json_p, cs_error *err)
{
    cs_case   c    = {0};
    cs_text   text = {0};
    cs_status status;

    if (cs_config_count(config) != 1) {
        return CS_FAIL(err, CS_EINVAL, "sweep", "bounds need exactly one scenario, not %zu",
                       cs_config_count(config));
    }
    status = cs_config_case(config, 0, &c, err);
    if (status == CS_OK) {
        status = cs_bound_rows(&text, &c.job, CS_BOUND_JSON, NULL, 0, err);
    }
    cs_case_free(&c);
    return hand_over(&text, status, json_p, err);
}

void cs_string_free(char *string)
{
    cs_free(string);
}
