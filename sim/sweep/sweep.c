/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/sweep.c -- every scenario of a config, over threads or ranks, into a file of results.
 *
 * An item of the farm is a scenario: whoever works on it skips it if its key is in the file, and
 * simulates it otherwise. The calling thread of rank 0 writes the rows that are there as one
 * transaction, so that a kill loses no more than the rows under way. Rows are ordered by key in the
 * file, so it does not matter who was first.
 *
 * A scenario's own error (the config refuses it, or the algorithm does) is a row. Errors of the
 * machine and of the program are not properties of the scenario: the farm leaves it out, and it is
 * tried again next time.
 */
#include "sweep/sweep.h"

#include "base/alloc.h"
#include "results/refused.h"
#include "results/store.h"
#include "sweep/row.h"
#include "sweep/wire.h"

#include <stdio.h>

enum { KEY_BYTES = 17, REFUSED = 1, WRONG = 2, LACKS = 4 };

typedef struct sweep {
    const cs_config        *config;
    const cs_sweep_options *options;
    size_t                  total;
    cs_store_key           *keys; /* ascending; owned */
    size_t                  n_keys;

    /* Of rank 0. */
    cs_store         *store;
    cs_sweep_columns *columns;
    cs_value         *values;  /* of a row; owned */
    bool             *is_done; /* [total]: its row has come; owned */
    size_t            first_refused, first_wrong;
    cs_sweep_summary *summary;
} sweep;

/* ---- one scenario: any thread of any rank ---- */

/* The error without the place in the config: the row is the same wherever the config lies. */
static void take_reason(const cs_error *err, char *reason, size_t reason_bytes)
{
    snprintf(reason, reason_bytes, "%s%s%s", err->where, err->where[0] != '\0' ? ": " : "",
             err->message[0] != '\0' ? err->message : cs_status_text(err->status));
}

/* Run the case, or `c` is NULL: then `why` says why there is none. `why` becomes the reason for
 * which a scenario is refused. */
static cs_status run_case(const cs_case *c, cs_sweep_row *row, cs_error *why)
{
    cs_status status = why->status;

    row->result = c != NULL ? cs_refused_result(&c->job.scenario, c->job.algorithm, c->job.model)
                            : cs_refused_result(NULL, NULL, NULL);
    if (c != NULL) {
        status = cs_job_run(&c->job, NULL, 0, &row->result, why);
    }
    row->is_wrong   = status == CS_OK && cs_result_is_wrong(&row->result);
    row->is_refused = cs_status_is_refusal(status);
    return row->is_refused ? CS_OK : status;
}

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

static cs_status do_scenario(void *user, size_t index, cs_text *to, cs_error *err)
{
    const sweep *s     = user;
    cs_case      c     = {0};
    cs_text      point = {0};
    cs_error     why   = {0};
    cs_sweep_row row   = {.index = index};
    char         reason[sizeof why.message + sizeof why.where + 4];
    cs_status    status = identify(s, index, &c, &point, &why, err);

    if (status == CS_OK) {
        row.scenario              = c.json != NULL ? c.json : point.data;
        cs_store_key        key   = cs_store_key_of(row.scenario);
        const cs_store_key *found = cs_store_key_find(s->keys, s->n_keys, key.key);
        row.key                   = key.key;
        if (found == NULL) {
            status = run_case(c.json != NULL ? &c : NULL, &row, &why);
            take_reason(&why, reason, sizeof reason);
            row.reason = row.is_refused ? reason : NULL;
            if (status != CS_OK && err != NULL) {
                *err = why;
            }
        } else if (found->check != key.check) {
            status = CS_FAIL(err, CS_EINVAL, NULL,
                             "two scenarios have the same key in %s; give another name",
                             s->options->path);
        } else {
            row.was_there  = true;
            row.is_refused = found->is_refused;
            row.is_wrong   = found->is_wrong;
            row.lacks      = found->lacks;
        }
    }
    if (status == CS_OK) {
        cs_sweep_row_pack(to, &row);
    }
    cs_text_free(&point);
    cs_case_free(&c);
    return status;
}

/* ---- the rows: rank 0 ---- */

static void report(const sweep *s)
{
    if (s->options->progress != NULL) {
        size_t done = s->summary->done_before + s->summary->run;
        s->options->progress(s->options->user, done, s->total);
    }
}

/* What a call of write_rows() adds to the summary. */
typedef struct addition {
    size_t n_before, n_run, n_refused, n_wrong;
    bool   writes; /* a transaction is open */
} addition;

static cs_status write_row(sweep *s, const cs_sweep_row *row, addition *sum, cs_error *err)
{
    cs_status status = CS_OK;

    if (!row->was_there || row->lacks) {
        status      = sum->writes ? CS_OK : cs_store_begin(s->store, err);
        sum->writes = status == CS_OK;
        cs_sweep_columns_row(s->columns, row->index, s->values);
    }
    if (status == CS_OK && !row->was_there) {
        bool               is_built = row->result.algorithm != NULL;
        const cs_store_row add      = {row->scenario, &row->result, row->reason,
                                  is_built ? s->values : NULL};
        status                      = cs_store_add(s->store, &add, err);
    } else if (status == CS_OK && row->lacks) {
        status = cs_store_fill(s->store, row->key, s->values, err);
    }
    return status;
}

static cs_status take_row(sweep *s, const cs_sweep_row *row, addition *sum, cs_error *err)
{
    if (row->index >= s->total || s->is_done[row->index]) {
        return CS_FAIL(err, CS_EIO, NULL, "a row arrived that nobody asked for");
    }
    s->is_done[row->index] = true;
    *(row->was_there ? &sum->n_before : &sum->n_run) += 1;
    sum->n_refused += row->is_refused;
    sum->n_wrong += row->is_wrong;
    if (row->is_refused && row->index < s->first_refused) {
        s->first_refused = row->index;
    }
    if (row->is_wrong && row->index < s->first_wrong) {
        s->first_wrong = row->index;
    }
    return write_row(s, row, sum, err);
}

static cs_status write_rows(void *user, const cs_farm_row *rows, size_t n, cs_error *err)
{
    sweep    *s      = user;
    addition  sum    = {0};
    cs_status status = CS_OK;

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        cs_sweep_row row;
        status = cs_sweep_row_unpack(rows[i], &row, err);
        if (status == CS_OK) {
            status = take_row(s, &row, &sum, err);
        }
    }
    if (status == CS_OK && sum.writes) {
        status = cs_store_commit(s->store, err);
    }
    if (status == CS_OK) {
        s->summary->done_before += sum.n_before;
        s->summary->run += sum.n_run;
        s->summary->refused += sum.n_refused;
        s->summary->wrong += sum.n_wrong;
    }
    if (status == CS_OK && sum.n_run > 0) {
        report(s);
    }
    return status;
}

/* ---- the keys of the file, for those who do not see it: KEY_BYTES each ---- */

static void pack_keys(cs_text *to, const cs_store_key *keys, size_t n_keys)
{
    for (size_t i = 0; i < n_keys; i++) {
        const cs_store_key *k = &keys[i];
        cs_wire_put_u64(to, k->key);
        cs_wire_put_u64(to, k->check);
        cs_wire_put_u8(to, (uint8_t)((k->is_refused ? REFUSED : 0) | (k->is_wrong ? WRONG : 0) |
                                     (k->lacks ? LACKS : 0)));
    }
}

static cs_status learn_keys(void *user, const char *data, size_t bytes, cs_error *err)
{
    sweep  *s    = user;
    cs_wire from = cs_wire_over(data, bytes);
    size_t  n    = bytes / KEY_BYTES;

    s->keys = CS_NEW(cs_store_key, n);
    if (s->keys == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        cs_store_key *k = &s->keys[i];
        k->key          = cs_wire_u64(&from);
        k->check        = cs_wire_u64(&from);
        uint8_t what    = cs_wire_u8(&from);
        k->is_refused   = (what & REFUSED) != 0;
        k->is_wrong     = (what & WRONG) != 0;
        k->lacks        = (what & LACKS) != 0;
        from.failed     = from.failed || what > (REFUSED | WRONG | LACKS) ||
                      (i > 0 && k->key <= s->keys[i - 1].key);
    }
    s->n_keys = n;
    return cs_wire_end(&from, "the list of keys", err);
}

/* ---- all of them ---- */

static cs_status run_farm(sweep *s, cs_farm_row lesson, cs_error *err)
{
    cs_farm_misses misses;
    const cs_farm  farm   = {.n_items = s->total,
                             .user    = s,
                             .work    = do_scenario,
                             .collect = write_rows,
                             .lesson  = lesson,
                             .learn   = learn_keys,
                             .jobs    = s->options->jobs,
                             .ranks   = s->options->ranks,
                             .stop    = s->options->stop};
    cs_status      status = cs_farm_run(&farm, &misses, err);

    s->summary->missing = misses.n;
    s->summary->failure = misses.reason;
    return status;
}

static cs_status run_rest(sweep *s, cs_error *err)
{
    cs_text   keys   = {0};
    cs_status status = cs_store_keys(s->store, &s->keys, &s->n_keys, err);

    if (status == CS_OK && s->options->ranks != NULL) {
        pack_keys(&keys, s->keys, s->n_keys);
        status = cs_text_status(&keys, err);
    }
    if (status == CS_OK) {
        report(s);
        status = run_farm(s, (cs_farm_row){keys.data, keys.length}, err);
        report(s);
    }
    cs_text_free(&keys);
    return status;
}

/* What the row of a scenario says, into an error of that status; with the place in the file where
 * it is the config that refuses it. */
static cs_status recall(const sweep *s, size_t index, cs_status status_of_row, cs_error *recalled,
                        cs_error *err)
{
    cs_case   c     = {0};
    cs_text   point = {0}, text = {0};
    cs_error  why    = {0};
    cs_status status = identify(s, index, &c, &point, &why, err);

    if (status == CS_OK && c.json == NULL) {
        cs_case_free(&c);
        (void)!cs_config_case(s->config, index, &c, recalled);
    } else if (status == CS_OK) {
        status = cs_store_error(s->store, c.json, &text, err);
    }
    if (status == CS_OK && recalled->status == CS_OK) {
        (void)CS_FAIL(recalled, status_of_row, NULL, "%s", text.data != NULL ? text.data : "");
    }
    cs_text_free(&text);
    cs_text_free(&point);
    cs_case_free(&c);
    return status;
}

static cs_status summarize(sweep *s, cs_error *err)
{
    cs_sweep_summary *sum    = s->summary;
    cs_status         status = CS_OK;

    sum->stopped = sum->done_before + sum->run + sum->missing < s->total;
    if (sum->refused > 0) {
        status = recall(s, s->first_refused, CS_EINVAL, &sum->refusal, err);
    }
    if (status == CS_OK && sum->wrong > 0) {
        status = recall(s, s->first_wrong, CS_EWRONG, &sum->mistake, err);
    }
    return status;
}

static cs_status sweep_into_file(sweep *s, cs_error *err)
{
    cs_store_request request = {.accepts_builds = s->options->accepts_builds};
    cs_status        status  = cs_sweep_columns_open(s->config, &s->columns, err);

    if (status != CS_OK) {
        return status;
    }
    request.columns = cs_sweep_columns_names(s->columns, &request.n_columns);
    s->values       = CS_NEW(cs_value, request.n_columns);
    s->is_done      = CS_NEW(bool, s->total);
    status          = s->values == NULL || s->is_done == NULL
                          ? CS_FAIL(err, CS_ENOMEM, NULL, "out of memory")
                          : cs_store_open(s->options->path, &request, &s->store, err);
    if (status == CS_OK) {
        status = run_rest(s, err);
    }
    if (status == CS_OK) {
        status = summarize(s, err);
    }
    if (status == CS_OK) {
        status = cs_store_finish(s->store, err);
    }
    cs_store_close(s->store);
    cs_sweep_columns_close(s->columns);
    cs_free(s->values);
    cs_free(s->is_done);
    return status;
}

/* Is there anything to run? What is wrong with every scenario is wrong with the config: no file is
 * made of that. */
static cs_status find_any(const sweep *s, cs_error *err)
{
    for (size_t i = 0; i < s->total; i++) {
        cs_case   c      = {0};
        cs_error  why    = {0};
        cs_status status = cs_config_try_case(s->config, i, &c, &why);
        cs_case_free(&c);
        if (status == CS_OK || cs_status_is_failure(status)) {
            return CS_OK;
        }
        if (!cs_status_is_refusal(status) || i + 1 == s->total) {
            size_t wrong = cs_status_is_refusal(status) ? 0 : i;
            status       = cs_config_case(s->config, wrong, &c, err);
            cs_case_free(&c);
            return status;
        }
    }
    return CS_OK;
}

cs_status cs_sweep(const cs_config *config, const cs_sweep_options *options,
                   cs_sweep_summary *summary_p, cs_error *err)
{
    sweep s = {.config        = config,
               .options       = options,
               .total         = cs_config_count(config),
               .first_refused = SIZE_MAX,
               .first_wrong   = SIZE_MAX,
               .summary       = summary_p};

    *summary_p       = (cs_sweep_summary){.total = s.total};
    cs_status status = CS_OK;
    if (!cs_ranks_leads(options->ranks)) {
        status = run_farm(&s, (cs_farm_row){0}, err);
    } else {
        status = find_any(&s, err);
        status = status == CS_OK ? sweep_into_file(&s, err) : status;
    }
    cs_free(s.keys);
    return status;
}
