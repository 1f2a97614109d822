/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/row.c -- what one scenario of a sweep became, as bytes and back. */
#include "sweep/row.h"

#include "cs/algorithm.h"
#include "cs/model.h"
#include "sweep/wire.h"

#include <string.h>

#define PUT_TEXT(to, value)  cs_wire_put_text(to, value)
#define PUT_COUNT(to, value) cs_wire_put_u64(to, value)
#define PUT_REAL(to, value)  cs_wire_put_f64(to, value)
#define PUT_BOOL(to, value)  cs_wire_put_u8(to, (value) ? 1 : 0)

#define TAKE_TEXT(from)  cs_wire_text(from)
#define TAKE_COUNT(from) cs_wire_u64(from)
#define TAKE_REAL(from)  cs_wire_f64(from)
#define TAKE_BOOL(from)  cs_wire_bool(from)

static void put_option(cs_text *to, const cs_field *o, const cs_options *options)
{
    cs_wire_put_f64(to, cs_field_load(o, options));
}

static void take_option(cs_wire *from, const cs_field *o, cs_options *options)
{
    double value = cs_wire_f64(from);

    from->failed = from->failed || !cs_field_holds(o, value);
    cs_field_store(o, options, from->failed ? 0 : value);
}

static void put_options(cs_text *to, const cs_field *table, const cs_options *options)
{
    for (const cs_field *o = table; o != NULL && o->name != NULL; o++) {
        put_option(to, o, options);
    }
}

static void take_options(cs_wire *from, const cs_field *table, cs_options *options)
{
    memset(options, 0, sizeof *options);
    for (const cs_field *o = table; o != NULL && o->name != NULL; o++) {
        take_option(from, o, options);
    }
}

static void put_verdict(cs_text *to, const cs_verdict *verdict)
{
    cs_wire_put_u8(to, verdict->is_correct ? 1 : 0);
    cs_wire_put_u8(to, verdict->is_located ? 1 : 0);
    cs_wire_put_u32(to, verdict->rank);
    cs_wire_put_u32(to, verdict->chunk);
    cs_wire_put_u32(to, verdict->round);
    cs_wire_put_text(to, verdict->text);
}

static void take_verdict(cs_wire *from, cs_verdict *verdict)
{
    *verdict            = (cs_verdict){.is_correct = cs_wire_bool(from)};
    verdict->is_located = cs_wire_bool(from);
    verdict->rank       = cs_wire_u32(from);
    verdict->chunk      = cs_wire_u32(from);
    verdict->round      = cs_wire_u32(from);
    cs_wire_chars(from, verdict->text, sizeof verdict->text);
}

static void put_result(cs_text *to, const cs_result *result, bool is_refused)
{
#define X(type, key) PUT_##type(to, result->key);
    CS_RESULT_MAP(X)
#undef X
    if (!is_refused) {
        put_options(to, result->option_table, &result->options);
        put_options(to, result->model_option_table, &result->model_options);
        put_verdict(to, &result->verdict);
    }
}

/* Options are read by the tables of the algorithm and the model that are named. */
static void take_result(cs_wire *from, cs_result *result, bool is_refused)
{
    const cs_algorithm *algorithm = NULL;
    const cs_model     *model     = NULL;

#define X(type, key) result->key = TAKE_##type(from);
    CS_RESULT_MAP(X)
#undef X
    if (from->failed || is_refused) {
        return;
    }
    if (result->algorithm == NULL || result->model == NULL ||
        cs_algorithm_find(result->algorithm, &algorithm, NULL) != CS_OK ||
        cs_model_find(result->model, &model, NULL) != CS_OK) {
        from->failed = true;
        return;
    }
    result->option_table       = algorithm->options;
    result->model_option_table = model->options;
    take_options(from, result->option_table, &result->options);
    take_options(from, result->model_option_table, &result->model_options);
    take_verdict(from, &result->verdict);
}

void cs_sweep_row_pack(cs_text *to, const cs_sweep_row *row)
{
    cs_wire_put_u64(to, row->index);
    cs_wire_put_u8(to, row->is_refused ? 1 : 0);
    cs_wire_put_u8(to, row->is_wrong ? 1 : 0);
    cs_wire_put_u8(to, row->was_there ? 1 : 0);
    cs_wire_put_u8(to, row->lacks ? 1 : 0);
    cs_wire_put_u64(to, row->key);
    if (!row->was_there) {
        cs_wire_put_text(to, row->scenario);
        put_result(to, &row->result, row->is_refused);
        cs_wire_put_text(to, row->reason);
    }
}

cs_status cs_sweep_row_unpack(cs_farm_row from, cs_sweep_row *row_p, cs_error *err)
{
    cs_wire wire = cs_wire_over(from.data != NULL ? from.data : "", from.bytes);

    *row_p            = (cs_sweep_row){.index = (size_t)cs_wire_u64(&wire)};
    row_p->is_refused = cs_wire_bool(&wire);
    row_p->is_wrong   = cs_wire_bool(&wire);
    row_p->was_there  = cs_wire_bool(&wire);
    row_p->lacks      = cs_wire_bool(&wire);
    row_p->key        = cs_wire_u64(&wire);
    if (!row_p->was_there) {
        row_p->scenario = cs_wire_text(&wire);
        take_result(&wire, &row_p->result, row_p->is_refused);
        row_p->reason = cs_wire_text(&wire);
        wire.failed =
            wire.failed || row_p->scenario == NULL || row_p->is_refused != (row_p->reason != NULL);
    }
    return cs_wire_end(&wire, "a row", err);
}
