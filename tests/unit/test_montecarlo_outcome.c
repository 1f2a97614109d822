/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one rank tells another of a scenario: it comes back as it was, and whatever is cut, too long
 * or not what it says is refused, never read beyond. */
#include "montecarlo/outcome.h"

#include "base/alloc.h"
#include "support/rng.h"
#include "sweep/wire.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A value of its own in every column, whatever columns there are: reals that no decimals hold, one
 * that does not exist, texts of every length that fits. */
static cs_montecarlo_outcome full_outcome(void)
{
    cs_montecarlo_outcome o = {.fate = CS_FATE_RUN, .index = 77, .key = "{\"iterations\":5}"};
    size_t                k = 0;

#define SET_TEXT(key)  memset(o.row.key, 'a' + (int)(k % 26), k % sizeof o.row.key)
#define SET_COUNT(key) o.row.key = UINT64_MAX - k
#define SET_REAL(key)  o.row.key = k % 5 == 4 ? (double)NAN : 1.0 / (double)(k + 3)
#define SET_BOOL(key)  o.row.key = true
#define X(type, key) \
    SET_##type(key); \
    k++;
    CS_MONTECARLO_MAP(X)
#undef X
    o.row.scenario = cs_strdup("{\"bytes\":1}");
    snprintf(o.row.error, sizeof o.row.error, "%*s", (int)sizeof o.row.error - 1, "why");
    return o;
}

static cs_text packed(const cs_montecarlo_outcome *o)
{
    cs_text to = {0};
    cs_montecarlo_outcome_pack(&to, o);
    cr_assert_not(to.failed);
    return to;
}

static cs_status unpack(const cs_text *text, cs_montecarlo_outcome *o)
{
    *o = (cs_montecarlo_outcome){0};
    return cs_montecarlo_outcome_unpack((cs_farm_row){text->data, text->length}, o, NULL);
}

Test(outcome, rows_come_back_with_every_column)
{
    cs_montecarlo_outcome o  = full_outcome(), back;
    cs_text               to = packed(&o);

    cr_assert_eq(unpack(&to, &back), CS_OK);
    cr_expect_eq(back.fate, CS_FATE_RUN);
    cr_expect_eq(back.index, 77);
    cr_expect_str_eq(back.key, o.key);
    cr_expect_str_eq(back.row.scenario, o.row.scenario);
    cr_expect_neq(back.row.scenario, o.row.scenario);
    cr_expect_str_eq(back.row.error, o.row.error);
#define X(type, key) \
    cr_expect_eq(memcmp(&back.row.key, &o.row.key, sizeof o.row.key), 0, "%s", #key);
    CS_MONTECARLO_MAP(X)
#undef X
    cs_text again = packed(&back);
    cr_assert_eq(again.length, to.length);
    cr_expect_eq(memcmp(again.data, to.data, to.length), 0);
    cs_montecarlo_row_free(&o.row);
    cs_montecarlo_row_free(&back.row);
    cs_text_free(&again);
    cs_text_free(&to);
}

Test(outcome, without_a_row_only_the_fate_comes_back)
{
    for (cs_montecarlo_fate fate = CS_FATE_THERE; fate < CS_FATE_COUNT; fate++) {
        cs_montecarlo_outcome o  = {.fate = fate, .index = 3}, back;
        cs_text               to = packed(&o);
        cr_assert_eq(unpack(&to, &back), CS_OK);
        cr_expect_eq(back.fate, fate);
        cr_expect_eq(back.index, 3);
        cr_expect_null(back.key);
        cr_expect_null(back.row.scenario);
        cs_text_free(&to);
    }
}

/* The first text of the row is `algorithm`: one byte too many for it, and a row without scenario.
 */
Test(outcome, texts_that_do_not_fit_and_rows_without_scenario_are_refused)
{
    cs_montecarlo_outcome o    = full_outcome(), back;
    cs_text               head = {0};
    char                  name[sizeof o.row.algorithm + 1];

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    o.row.algorithm[0]    = '\0';
    cs_text to            = packed(&o);
    for (size_t length = sizeof name - 2; length < sizeof name; length++) {
        cs_wire_put_u8(&head, CS_FATE_RUN);
        cs_wire_put_u64(&head, o.index);
        cs_wire_put_text(&head, o.key);
        size_t rest = head.length;
        cs_wire_put_text(&head, name + sizeof name - 1 - length);
        cs_text_add_bytes(&head, to.data + rest + 5, to.length - rest - 5);
        cr_expect_eq(unpack(&head, &back), length < sizeof o.row.algorithm ? CS_OK : CS_EIO, "%zu",
                     length);
        cs_montecarlo_row_free(&back.row);
        cs_text_free(&head);
    }
    cs_text_free(&to);
    cs_montecarlo_row_free(&o.row);
    o.row.algorithm[0] = '\0';
    to                 = packed(&o);
    cr_expect_eq(unpack(&to, &back), CS_EIO);
    cs_text_free(&to);
}

Test(outcome, an_unknown_fate_and_what_follows_the_end_are_refused)
{
    cs_montecarlo_outcome o   = {.fate = CS_FATE_STOPPED, .key = ""}, back;
    cs_text               to  = packed(&o);
    cs_error              err = {0};

    to.data[0] = CS_FATE_COUNT;
    cr_expect_eq(unpack(&to, &back), CS_EIO);
    to.data[0] = CS_FATE_STOPPED;
    cr_expect_eq(unpack(&to, &back), CS_OK);
    cs_text_add_bytes(&to, "", 1);
    cr_expect_eq(cs_montecarlo_outcome_unpack((cs_farm_row){to.data, to.length}, &back, &err),
                 CS_EIO);
    cr_expect_str_eq(err.message, "a row arrived damaged");
    cr_expect_eq(cs_montecarlo_outcome_unpack((cs_farm_row){NULL, 0}, &back, NULL), CS_EIO);
    cs_text_free(&to);
}

/* Each copy has just the bytes that it has: the sanitizer sees every read beyond them. */
Test(outcome, damaged_rows_are_refused_or_read_within_their_bytes)
{
    cs_montecarlo_outcome o   = full_outcome(), back;
    cs_text               to  = packed(&o);
    ct_rng                rng = ct_rng_for(78);

    for (size_t n = 0; n < to.length; n++) {
        char *part = malloc(n > 0 ? n : 1);
        memcpy(part, to.data, n);
        back = (cs_montecarlo_outcome){0};
        cr_expect_eq(cs_montecarlo_outcome_unpack((cs_farm_row){part, n}, &back, NULL), CS_EIO,
                     "%zu", n);
        cr_expect_null(back.row.scenario);
        free(part);
    }
    for (int i = 0; i < 20000; i++) {
        char *copy = malloc(to.length);
        memcpy(copy, to.data, to.length);
        for (uint32_t k = ct_below(&rng, 4); k < 4; k++) {
            copy[ct_below(&rng, (uint32_t)to.length)] = (char)ct_below(&rng, 256);
        }
        back = (cs_montecarlo_outcome){0};
        (void)!cs_montecarlo_outcome_unpack((cs_farm_row){copy, to.length}, &back, NULL);
        cs_montecarlo_row_free(&back.row);
        free(copy);
    }
    cs_text_free(&to);
    cs_montecarlo_row_free(&o.row);
}

Test(outcome, memory_that_runs_out_is_said)
{
    cs_montecarlo_outcome o  = full_outcome(), back;
    cs_text               to = packed(&o);

    cs_alloc_fail_after(0);
    cr_expect_eq(unpack(&to, &back), CS_ENOMEM);
    cs_alloc_fail_after(-1);
    cs_text_free(&to);
    cs_montecarlo_row_free(&o.row);
}
