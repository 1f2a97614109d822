/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The campaign on every rank: the work on a scenario, and on rank 0 the rows and the file. */
#include "campaign/campaign.h"

#include "base/alloc.h"
#include "campaign/wire.h"

enum { KEY_BYTES = 17 };

/* What a byte says of a row. */
enum { REFUSED = 1, WRONG = 2, INCOMPLETE = 4, ALL_FLAGS = REFUSED | WRONG | INCOMPLETE };

typedef struct run {
    const cs_campaign *c;
    const size_t      *scenarios; /* [n], in the order of work; NULL: all; the user's */
    size_t             n;
    cs_store_key      *keys; /* of the file, ascending; owned */
    size_t             n_keys;

    /* Of rank 0. */
    cs_store            *store; /* NULL: no file */
    cs_sweep_columns    *columns;
    cs_value            *values;      /* of a row in the columns of the sweep; owned */
    void                *row, *texts; /* structs of the table; owned */
    bool                *is_done;     /* [n]: its row has come; owned */
    cs_campaign_summary *summary;
} run;

struct cs_work {
    const run    *r;
    cs_text      *to;
    size_t        index;
    cs_packed_row packed;
    bool          is_put;
};

/* ---- rows as bytes ---- */

static void put_flags(cs_text *to, bool is_refused, bool is_wrong, bool is_incomplete)
{
    cs_wire_put_u8(to, (uint8_t)((is_refused ? REFUSED : 0) | (is_wrong ? WRONG : 0) |
                                 (is_incomplete ? INCOMPLETE : 0)));
}

static uint8_t take_flags(cs_wire *from)
{
    uint8_t flags = cs_wire_u8(from);

    from->failed = from->failed || flags > ALL_FLAGS;
    return flags;
}

void cs_campaign_pack(cs_text *to, const cs_store_table *table, const cs_packed_row *row)
{
    const cs_campaign_row *r = &row->row;

    cs_wire_put_u64(to, r->scenario);
    cs_wire_put_u8(to, (uint8_t)row->state);
    put_flags(to, r->is_refused, r->is_wrong, row->is_incomplete);
    if (row->state == CS_ROW_STORED) {
        cs_wire_put_u64(to, row->key);
    } else if (row->state == CS_ROW_NEW) {
        cs_wire_put_row(to, &(cs_row){table->columns, r->columns, r->is_refused});
        cs_wire_put_row(to, &(cs_row){table->texts, r->texts, false});
    }
}

cs_status cs_campaign_unpack(cs_work_item from, const cs_store_table *table, void *columns,
                             void *texts, cs_packed_row *row_p, cs_error *err)
{
    cs_wire       wire  = cs_wire_over(from.data != NULL ? from.data : "", from.bytes);
    cs_packed_row row   = {.row.scenario = (size_t)cs_wire_u64(&wire)};
    uint8_t       state = cs_wire_u8(&wire), flags = take_flags(&wire);

    wire.failed        = wire.failed || state >= CS_ROW_STATES;
    row.state          = wire.failed ? CS_ROW_GIVEN_UP : (cs_row_state)state;
    row.row.is_refused = (flags & REFUSED) != 0;
    row.row.is_wrong   = (flags & WRONG) != 0;
    row.is_incomplete  = (flags & INCOMPLETE) != 0;
    row.row.is_stored  = row.state == CS_ROW_STORED;
    if (row.state == CS_ROW_STORED) {
        row.key = cs_wire_u64(&wire);
    } else if (row.state == CS_ROW_NEW) {
        cs_wire_take_row(&wire, table->columns, columns);
        cs_wire_take_row(&wire, table->texts, texts);
        row.row.columns = columns;
        row.row.texts   = texts;
    }
    *row_p = row;
    return cs_wire_end(&wire, "a row", err);
}

/* ---- the work: any thread of any rank ---- */

static size_t scenario_of(const run *r, size_t index)
{
    return r->scenarios != NULL ? r->scenarios[index] : index;
}

cs_status cs_work_identify(cs_work *work, const char *text, bool *is_stored_p, cs_error *err)
{
    const run          *r     = work->r;
    cs_store_key        key   = cs_store_key_of(text);
    const cs_store_key *found = cs_store_key_find(r->keys, r->n_keys, key.key);

    *is_stored_p = found != NULL;
    if (found == NULL) {
        return CS_OK;
    }
    if (found->check != key.check) {
        return CS_FAIL(err, CS_EINVAL, NULL,
                       "two scenarios have the same key in %s; give another name", r->c->path);
    }
    work->packed.state          = CS_ROW_STORED;
    work->packed.key            = key.key;
    work->packed.is_incomplete  = found->is_incomplete;
    work->packed.row.is_refused = found->is_refused;
    work->packed.row.is_wrong   = found->is_wrong;
    return CS_OK;
}

/* The row is packed at once: what it points to goes with the work. */
void cs_work_put(cs_work *work, const cs_campaign_row *row)
{
    work->packed              = (cs_packed_row){.state = CS_ROW_NEW, .row = *row};
    work->packed.row.scenario = scenario_of(work->r, work->index);
    work->is_put              = true;
    cs_campaign_pack(work->to, work->r->c->table, &work->packed);
}

static cs_status do_item(void *user, size_t index, cs_text *to, cs_error *err)
{
    const run *r = user;
    cs_work    w = {.r = r, .to = to, .index = index, .packed = {.state = CS_ROW_GIVEN_UP}};

    if (index >= r->n) {
        return CS_FAIL(err, CS_EIO, NULL, "an item arrived that there is not");
    }
    w.packed.row.scenario = scenario_of(r, index);
    CS_TRY(r->c->work(r->c->user, w.packed.row.scenario, &w, err));
    if (!w.is_put) {
        cs_campaign_pack(to, r->c->table, &w.packed);
    }
    return CS_OK;
}

/* ---- the keys of the file, which rank 0 sends to the others: KEY_BYTES each ---- */

static void pack_keys(cs_text *to, const cs_store_key *keys, size_t n_keys)
{
    for (size_t i = 0; i < n_keys; i++) {
        const cs_store_key *k = &keys[i];
        cs_wire_put_u64(to, k->key);
        cs_wire_put_u64(to, k->check);
        put_flags(to, k->is_refused, k->is_wrong, k->is_incomplete);
    }
}

static cs_status unpack_keys(run *r, const char *data, size_t bytes, cs_error *err)
{
    cs_wire from = cs_wire_over(data, bytes);
    size_t  n    = bytes / KEY_BYTES;

    r->keys = CS_NEW(cs_store_key, n);
    if (r->keys == NULL) {
        return CS_NO_MEMORY(err, "%zu keys", n);
    }
    for (size_t i = 0; i < n; i++) {
        cs_store_key *k  = &r->keys[i];
        k->key           = cs_wire_u64(&from);
        k->check         = cs_wire_u64(&from);
        uint8_t flags    = take_flags(&from);
        k->is_refused    = (flags & REFUSED) != 0;
        k->is_wrong      = (flags & WRONG) != 0;
        k->is_incomplete = (flags & INCOMPLETE) != 0;
        from.failed      = from.failed || (i > 0 && k->key <= r->keys[i - 1].key);
    }
    r->n_keys = n;
    return cs_wire_end(&from, "the list of keys", err);
}

static cs_status begin(run *r, cs_error *err)
{
    return r->c->begin != NULL ? r->c->begin(r->c->user, &r->scenarios, &r->n, err) : CS_OK;
}

/* On the other ranks: prepare, and take the keys that rank 0 has read. */
static cs_status receive_keys(void *user, const char *data, size_t bytes, cs_error *err)
{
    run *r = user;

    CS_TRY(begin(r, err));
    return unpack_keys(r, data, bytes, err);
}

/* ---- the rows: rank 0 ---- */

static void report(const run *r)
{
    if (r->c->progress != NULL) {
        r->c->progress(r->c->user, r->summary->done_before + r->summary->run, r->n);
    }
}

/* The values in the columns of the sweep; NULL of a scenario that could not be built. */
static const cs_value *values_of(const run *r, const cs_campaign_row *row)
{
    const cs_row columns = {r->c->table->columns, row->columns, row->is_refused};
    bool         is_built =
        row->is_stored || cs_row_value(&columns, r->c->table->columns).type != CS_VALUE_NONE;

    if (r->columns == NULL || !is_built) {
        return NULL;
    }
    cs_sweep_columns_row(r->columns, row->scenario, r->values);
    return r->values;
}

/* *writes_p: a transaction is open. */
static cs_status write_row(run *r, const cs_packed_row *packed, bool *writes_p, cs_error *err)
{
    const cs_campaign_row *row    = &packed->row;
    cs_status              status = CS_OK;

    if (r->store == NULL || (row->is_stored && !packed->is_incomplete)) {
        return CS_OK;
    }
    if (!*writes_p) {
        status    = cs_store_begin(r->store, err);
        *writes_p = status == CS_OK;
    }
    if (status == CS_OK && row->is_stored) {
        return cs_store_fill(r->store, packed->key, values_of(r, row), err);
    }
    const cs_store_row add = {row->columns, row->texts, row->is_refused, values_of(r, row)};
    return status == CS_OK ? cs_store_add(r->store, &add, err) : status;
}

static cs_status read_stored(run *r, cs_packed_row *packed, cs_error *err)
{
    bool      has    = false;
    cs_status status = cs_store_find(r->store, packed->key, NULL, r->row, r->texts, &has, err);

    packed->row.columns = r->row;
    packed->row.texts   = r->texts;
    return status != CS_OK || has ? status
                                  : CS_FAIL(err, CS_EIO, NULL, "%s has lost a row", r->c->path);
}

static cs_status take_row(run *r, size_t index, cs_packed_row *packed, bool *writes_p,
                          cs_error *err)
{
    bool      is_stored = packed->row.is_stored;
    cs_status status    = CS_OK;

    if (index >= r->n || packed->row.scenario != scenario_of(r, index) || r->is_done[index] ||
        (is_stored && r->store == NULL)) {
        return CS_FAIL(err, CS_EIO, NULL, "a row arrived that nobody asked for");
    }
    r->is_done[index] = true;
    *(is_stored ? &r->summary->done_before : &r->summary->run) += 1;
    status = write_row(r, packed, writes_p, err);
    if (status == CS_OK && is_stored && r->c->reads_stored) {
        status = read_stored(r, packed, err);
    }
    return status == CS_OK && r->c->take != NULL ? r->c->take(r->c->user, &packed->row, err)
                                                 : status;
}

/* Of the workers: what is there at a time is one transaction. */
static cs_status collect(void *user, const cs_work_item *rows, size_t n, cs_error *err)
{
    run *r      = user;
    bool writes = false, is_more = false;

    for (size_t i = 0; i < n; i++) {
        cs_packed_row packed;
        CS_TRY(cs_campaign_unpack(rows[i], r->c->table, r->row, r->texts, &packed, err));
        if (packed.state != CS_ROW_GIVEN_UP) {
            is_more = true;
            CS_TRY(take_row(r, rows[i].index, &packed, &writes, err));
        }
    }
    if (writes) {
        CS_TRY(cs_store_commit(r->store, err));
    }
    if (is_more) {
        report(r);
    }
    return CS_OK;
}

/* ---- the campaign ---- */

static cs_status run_workers(run *r, cs_error *err)
{
    cs_skipped_items skipped = {0};
    cs_text          keys    = {0};

    if (r->c->ranks != NULL) {
        pack_keys(&keys, r->keys, r->n_keys);
    }
    cs_status status = cs_text_status(&keys, err);
    if (status == CS_OK) {
        const cs_workers workers = {.n_items         = r->n,
                                    .user            = r,
                                    .work            = do_item,
                                    .collect         = collect,
                                    .broadcast       = keys.data,
                                    .broadcast_bytes = keys.length,
                                    .on_broadcast    = receive_keys,
                                    .jobs            = r->c->jobs,
                                    .ranks           = r->c->ranks,
                                    .stop            = r->c->stop};
        status                   = cs_workers_run(&workers, &skipped, err);
    }
    cs_text_free(&keys);
    r->summary->missing = skipped.n;
    r->summary->failure = skipped.reason;
    return status;
}

static cs_status open_file(run *r, cs_error *err)
{
    cs_store_request request = {.accepts_builds = r->c->accepts_builds};

    if (r->c->config != NULL) {
        CS_TRY(cs_sweep_columns_open(r->c->config, r->c->table->columns, &r->columns, err));
        request.columns = cs_sweep_columns_names(r->columns, &request.n_columns);
    }
    r->values = CS_NEW(cs_value, request.n_columns);
    if (r->values == NULL) {
        return CS_NO_MEMORY(err, "%zu columns of the sweep", request.n_columns);
    }
    CS_TRY(cs_store_open(r->c->path, r->c->table, &request, &r->store, err));
    return cs_store_keys(r->store, &r->keys, &r->n_keys, err);
}

static cs_status allocate(run *r, cs_error *err)
{
    r->is_done = CS_NEW(bool, r->n);
    r->row     = cs_calloc(1, r->c->table->columns_bytes);
    r->texts   = cs_calloc(1, r->c->table->texts_bytes);
    return r->is_done != NULL && r->row != NULL && r->texts != NULL
               ? CS_OK
               : CS_NO_MEMORY(err, "%zu scenarios", r->n);
}

/* On rank 0, or the only process; cs_campaign_run() gives back what it leaves behind. */
static cs_status run_rank_0(run *r, cs_error *err)
{
    cs_campaign_summary *sum    = r->summary;
    cs_status            status = begin(r, err);

    sum->total = r->n;
    CS_TRY(status);
    CS_TRY(allocate(r, err));
    if (r->c->path != NULL) {
        CS_TRY(open_file(r, err));
    }
    report(r);
    status = run_workers(r, err);
    report(r);
    CS_TRY(status);
    sum->is_stopped = sum->done_before + sum->run + sum->missing < sum->total;
    if (r->c->finish != NULL) {
        CS_TRY(r->c->finish(r->c->user, r->store, err));
    }
    return r->store != NULL ? cs_store_finish(r->store, err) : CS_OK;
}

cs_status cs_campaign_run(const cs_campaign *campaign, cs_campaign_summary *summary_p,
                          cs_error *err)
{
    run r = {.c = campaign, .n = campaign->n_scenarios, .summary = summary_p};

    *summary_p       = (cs_campaign_summary){0};
    cs_status status = cs_ranks_leads(campaign->ranks) ? run_rank_0(&r, err) : run_workers(&r, err);
    cs_store_close(r.store);
    cs_sweep_columns_close(r.columns);
    cs_free(r.values);
    cs_free(r.keys);
    cs_free(r.is_done);
    cs_free(r.row);
    cs_free(r.texts);
    return status;
}
