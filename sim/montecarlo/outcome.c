/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What became of one scenario of a run, as bytes and back: see montecarlo/outcome.h. */
#include "montecarlo/outcome.h"

#include "base/alloc.h"
#include "sweep/wire.h"

#define PUT_TEXT(to, member)  cs_wire_put_text(to, member)
#define PUT_COUNT(to, member) cs_wire_put_u64(to, member)
#define PUT_REAL(to, member)  cs_wire_put_f64(to, member)
#define PUT_BOOL(to, member)  cs_wire_put_u8(to, (member) ? 1 : 0)

#define TAKE_TEXT(from, member)  cs_wire_chars(from, member, sizeof(member))
#define TAKE_COUNT(from, member) (member) = cs_wire_u64(from)
#define TAKE_REAL(from, member)  (member) = cs_wire_f64(from)
#define TAKE_BOOL(from, member)  (member) = cs_wire_bool(from)

static void put_row(cs_text *to, const cs_montecarlo_row *row)
{
#define X(type, key) PUT_##type(to, row->key);
    CS_MONTECARLO_MAP(X)
#undef X
    cs_wire_put_text(to, row->scenario);
    cs_wire_put_text(to, row->error);
}

/* The scenario stays in the bytes. */
static const char *take_row(cs_wire *from, cs_montecarlo_row *row)
{
#define X(type, key) TAKE_##type(from, row->key);
    CS_MONTECARLO_MAP(X)
#undef X
    const char *scenario = cs_wire_text(from);
    cs_wire_chars(from, row->error, sizeof row->error);
    from->failed = from->failed || scenario == NULL;
    return scenario;
}

void cs_montecarlo_outcome_pack(cs_text *to, const cs_montecarlo_outcome *outcome)
{
    cs_wire_put_u8(to, (uint8_t)outcome->fate);
    cs_wire_put_u64(to, outcome->index);
    cs_wire_put_text(to, outcome->key);
    if (outcome->fate == CS_FATE_RUN) {
        put_row(to, &outcome->row);
    }
}

cs_status cs_montecarlo_outcome_unpack(cs_farm_row from, cs_montecarlo_outcome *outcome_p,
                                       cs_error *err)
{
    cs_wire               wire     = cs_wire_over(from.data != NULL ? from.data : "", from.bytes);
    uint8_t               fate     = cs_wire_u8(&wire);
    cs_montecarlo_outcome outcome  = {.fate = CS_FATE_STOPPED};
    const char           *scenario = "";

    wire.failed   = wire.failed || fate >= CS_FATE_COUNT;
    outcome.index = cs_wire_u64(&wire);
    outcome.key   = cs_wire_text(&wire);
    if (!wire.failed) {
        outcome.fate = (cs_montecarlo_fate)fate;
    }
    if (outcome.fate == CS_FATE_RUN) {
        scenario = take_row(&wire, &outcome.row);
    }
    cs_status status = cs_wire_end(&wire, "a row", err);
    if (status == CS_OK && outcome.fate == CS_FATE_RUN &&
        (outcome.row.scenario = cs_strdup(scenario)) == NULL) {
        status = CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    if (status == CS_OK) {
        *outcome_p = outcome;
    }
    return status;
}
