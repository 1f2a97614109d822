/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/sweep.c -- every scenario of a config, over threads or ranks, into a file of results.
 *
 * An item of the farm is a scenario: whoever works on it skips it if its key is in the file, and
 * simulates it otherwise. The calling thread of rank 0 writes the rows that are there as one
 * transaction, so that a kill loses no more than the rows under way. Rows are ordered by key in the
 * file, so it does not matter who was first.
 *
 * A scenario's own error (it cannot be run, or not by this algorithm) is a row. Errors of memory
 * and files are not properties of the scenario: they end the sweep, and are tried again next time.
 */
#include "sweep/sweep.h"

#include "base/alloc.h"
#include "results/json.h"
#include "results/store.h"
#include "sweep/row.h"
#include "sweep/wire.h"

#include <stdio.h>

typedef struct sweep {
    const cs_config        *config;
    const cs_sweep_options *options;
    size_t                  total;
    cs_store_key           *keys; /* ascending; owned */
    size_t                  n_keys;
    cs_store               *store;   /* of rank 0 */
    cs_sweep_summary       *summary; /* of the calling thread of rank 0 */
} sweep;

static bool is_fatal(cs_status status)
{
    return status == CS_ENOMEM || status == CS_EIO;
}

/* The error without the place in the config: the row is the same wherever the config lies. */
static void take_reason(const cs_error *err, char *reason, size_t reason_bytes)
{
    snprintf(reason, reason_bytes, "%s%s%s", err->where, err->where[0] != '\0' ? ": " : "",
             err->message[0] != '\0' ? err->message : cs_status_text(err->status));
}

static cs_status run_case(const cs_case *c, cs_text *to, cs_error *err)
{
    cs_run       run    = {.scenario      = &c->scenario,
                           .algorithm     = c->algorithm,
                           .options       = &c->options,
                           .model         = c->model,
                           .model_options = &c->model_options,
                           .verify        = c->verify};
    cs_sweep_row row    = {.scenario = c->json};
    cs_error     wrong  = {0};
    cs_status    status = cs_run_scenario(&run, &row.result, &wrong);
    char         reason[sizeof wrong.message + sizeof wrong.where + 4];

    if (is_fatal(status)) {
        if (err != NULL) {
            *err = wrong;
        }
        return status;
    }
    row.has_result = status == CS_OK;
    row.failed     = !row.has_result || cs_result_is_wrong(&row.result);
    if (!row.has_result) {
        take_reason(&wrong, reason, sizeof reason);
        row.reason = reason;
    }
    cs_sweep_row_pack(to, &row);
    return CS_OK;
}

static cs_status do_scenario(void *user, size_t index, cs_text *to, cs_error *err)
{
    const sweep *s      = user;
    cs_case      c      = {0};
    cs_status    status = cs_config_case(s->config, index, &c, err);

    if (status == CS_OK) {
        cs_store_key        key   = cs_store_key_of(c.json);
        const cs_store_key *found = cs_store_key_find(s->keys, s->n_keys, key.key);
        if (found == NULL) {
            status = run_case(&c, to, err);
        } else if (found->check != key.check) {
            status = CS_FAIL(err, CS_EINVAL, NULL,
                             "two scenarios have the same key in %s; give another name",
                             s->options->path);
        } else {
            cs_sweep_row_pack(to, &(cs_sweep_row){.was_there = true, .failed = found->failed});
        }
    }
    cs_case_free(&c);
    return status;
}

static void report(const sweep *s)
{
    if (s->options->progress != NULL) {
        size_t done = s->summary->done_before + s->summary->run;
        s->options->progress(s->options->user, done, s->total);
    }
}

/* What a call of write_rows() adds to the summary. */
typedef struct addition {
    size_t n_before, n_run, n_failed;
} addition;

/* One row; the first one to be written opens the transaction. */
static cs_status write_row(sweep *s, const cs_sweep_row *row, addition *sum, cs_error *err)
{
    cs_status status = CS_OK;

    sum->n_failed += row->failed;
    if (row->was_there) {
        sum->n_before++;
        return CS_OK;
    }
    if (sum->n_run++ == 0) {
        status = cs_store_begin(s->store, err);
    }
    return status != CS_OK ? status
                           : cs_store_add(s->store, row->scenario,
                                          row->has_result ? &row->result : NULL, row->reason, err);
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
            status = write_row(s, &row, &sum, err);
        }
    }
    if (status == CS_OK && sum.n_run > 0) {
        status = cs_store_commit(s->store, err);
    }
    if (status == CS_OK) {
        s->summary->done_before += sum.n_before;
        s->summary->run += sum.n_run;
        s->summary->failed += sum.n_failed;
    }
    if (status == CS_OK && sum.n_run > 0) {
        report(s);
    }
    return status;
}

/* The keys of the file for those who do not see it: 17 bytes each. */
static void pack_keys(cs_text *to, const cs_store_key *keys, size_t n_keys)
{
    for (size_t i = 0; i < n_keys; i++) {
        cs_wire_put_u64(to, keys[i].key);
        cs_wire_put_u64(to, keys[i].check);
        cs_wire_put_u8(to, keys[i].failed ? 1 : 0);
    }
}

static cs_status learn_keys(void *user, const char *data, size_t bytes, cs_error *err)
{
    sweep  *s    = user;
    cs_wire from = cs_wire_over(data, bytes);
    size_t  n    = bytes / 17;

    s->keys = CS_NEW(cs_store_key, n);
    if (s->keys == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        cs_store_key *k = &s->keys[i];
        k->key          = cs_wire_u64(&from);
        k->check        = cs_wire_u64(&from);
        k->failed       = cs_wire_bool(&from);
    }
    s->n_keys = n;
    return cs_wire_end(&from, "the list of keys", err);
}

static cs_status run_farm(sweep *s, cs_farm_row lesson, cs_error *err)
{
    const cs_farm farm = {.n_items = s->total,
                          .user    = s,
                          .work    = do_scenario,
                          .collect = write_rows,
                          .lesson  = lesson,
                          .learn   = learn_keys,
                          .jobs    = s->options->jobs,
                          .ranks   = s->options->ranks,
                          .stop    = s->options->stop};

    return cs_farm_run(&farm, err);
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

static cs_status sweep_into_file(sweep *s, cs_error *err)
{
    cs_status status = cs_store_open(s->options->path, &s->store, err);

    if (status != CS_OK) {
        return status;
    }
    status = run_rest(s, err);
    if (status == CS_OK) {
        s->summary->stopped = s->summary->done_before + s->summary->run < s->total;
        status              = cs_store_finish(s->store, err);
    }
    cs_store_close(s->store);
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
    cs_status status = cs_ranks_leads(options->ranks) ? sweep_into_file(&s, err)
                                                      : run_farm(&s, (cs_farm_row){0}, err);
    cs_free(s.keys);
    return status;
}
