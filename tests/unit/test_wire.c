/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What crosses between processes: it comes back as it was, and whatever is cut, too long or not
 * what it says is refused, never read beyond. */
#include "sweep/wire.h"

#include "config/config.h"
#include "support/rng.h"
#include "sweep/row.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(wire, values_come_back)
{
    static const double reals[] = {0.0, -0.0, 1.0 / 3, -1e308, 5e-324, (double)INFINITY};
    cs_text             to      = {0};
    size_t              length  = 0;

    cs_wire_put_u8(&to, 200);
    cs_wire_put_u32(&to, 0xfedcba98u);
    cs_wire_put_u64(&to, 0xfedcba9876543210u);
    cs_wire_put_text(&to, "straggler");
    cs_wire_put_text(&to, "");
    cs_wire_put_text(&to, NULL);
    cs_wire_put_bytes(&to, "a\0b", 3);
    for (int i = 0; i < 6; i++) {
        cs_wire_put_f64(&to, reals[i]);
    }
    cs_wire_put_f64(&to, (double)NAN);
    cs_wire from = cs_wire_over(to.data, to.length);
    cr_expect_eq(cs_wire_u8(&from), 200);
    cr_expect_eq(cs_wire_u32(&from), 0xfedcba98u);
    cr_expect_eq(cs_wire_u64(&from), 0xfedcba9876543210u);
    cr_expect_str_eq(cs_wire_text(&from), "straggler");
    cr_expect_str_eq(cs_wire_text(&from), "");
    cr_expect_null(cs_wire_text(&from));
    cr_expect_eq(memcmp(cs_wire_bytes(&from, &length), "a\0b", 3), 0);
    cr_expect_eq(length, 3);
    for (int i = 0; i < 6; i++) {
        double value = cs_wire_f64(&from);
        cr_expect_eq(memcmp(&value, &reals[i], sizeof value), 0);
    }
    cr_expect(isnan(cs_wire_f64(&from)));
    cr_expect_eq(cs_wire_end(&from, "it", NULL), CS_OK);
    cr_expect_eq(cs_wire_u8(&from), 0);
    cr_expect_eq(cs_wire_end(&from, "it", NULL), CS_EIO);
    cs_text_free(&to);
}

Test(wire, bytes_have_the_same_order_on_every_machine)
{
    cs_text to = {0};

    cs_wire_put_u32(&to, 0x01020304u);
    cs_wire_put_f64(&to, 1.0);
    cr_expect_eq(to.length, 12);
    cr_expect_eq(memcmp(to.data, "\4\3\2\1\0\0\0\0\0\0\xf0\x3f", 12), 0);
    cs_text_free(&to);
}

Test(wire, errors_come_back)
{
    cs_text  to  = {0};
    cs_error err = {0}, back;
    char     want[800], got[800];

    CS_FAIL(&err, CS_EPARSE, "cluster.ranks", "is %d", 7);
    cs_error_locate(&err, "a/b.json", 12, 3);
    cs_wire_put_error(&to, &err);
    for (size_t n = 0; n < to.length; n++) {
        cs_wire short_one = cs_wire_over(to.data, n);
        cs_wire_error(&short_one, &back);
        cr_expect_eq(cs_wire_end(&short_one, "it", NULL), CS_EIO);
    }
    cs_wire from = cs_wire_over(to.data, to.length);
    cs_wire_error(&from, &back);
    cr_expect_eq(cs_wire_end(&from, "it", NULL), CS_OK);
    cr_expect_eq(back.status, CS_EPARSE);
    cs_error_text(&err, want, sizeof want);
    cs_error_text(&back, got, sizeof got);
    cr_expect_str_eq(got, want);
    to.data[0] = 99;
    from       = cs_wire_over(to.data, to.length);
    cs_wire_error(&from, &back);
    cr_expect_eq(cs_wire_end(&from, "it", NULL), CS_EIO);
    cs_text_free(&to);
}

/* A row of a scenario that was run, with options of every type. */
static cs_text row_of(const char *algorithm, uint32_t ranks, cs_sweep_row *row_p, cs_case *c)
{
    cs_config *config = NULL;
    cs_text    to     = {0};
    char       number[16];
    cs_error   err = {0};

    snprintf(number, sizeof number, "%u", ranks);
    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    cr_assert_eq(cs_config_set(config, "algorithm.name", algorithm, "--set", NULL), CS_OK);
    cr_assert_eq(cs_config_set(config, "cluster.ranks", number, "--set", NULL), CS_OK);
    cr_assert_eq(cs_config_set(config, "faults", "[{\"rank\": 1, \"slowdown\": 2}]", "--set", NULL),
                 CS_OK);
    cr_assert_eq(cs_config_set(config, "bytes", "1M", "--set", NULL), CS_OK);
    cr_assert_eq(cs_config_case(config, 0, c, &err), CS_OK, "%s", err.message);
    cs_run run = {.scenario      = &c->scenario,
                  .algorithm     = c->algorithm,
                  .options       = &c->options,
                  .model         = c->model,
                  .model_options = &c->model_options,
                  .verify        = true};
    *row_p     = (cs_sweep_row){.index = 70000, .key = 5, .scenario = c->json};
    cr_assert_eq(cs_run_scenario(&run, &row_p->result, &err), CS_OK, "%s", err.message);
    cs_sweep_row_pack(&to, row_p);
    cs_config_free(config);
    return to;
}

static void expect_same_options(const cs_field *table, const cs_options *a, const cs_options *b)
{
    for (const cs_field *o = table; o != NULL && o->name != NULL; o++) {
        char left[64], right[64];
        cs_field_text(o, a, left, sizeof left);
        cs_field_text(o, b, right, sizeof right);
        cr_expect_str_eq(left, right, "%s", o->name);
    }
}

Test(wire, rows_come_back_with_every_column_and_option)
{
    static const char *const algorithms[] = {"ring", "optcc", "rhd", "stragglar", "r2ccl"};

    for (int i = 0; i < 5; i++) {
        cs_sweep_row row, back;
        cs_case      c  = {0};
        cs_text      to = row_of(algorithms[i], 8, &row, &c), again = {0};
        cs_error     err = {0};
        cr_assert_eq(cs_sweep_row_unpack((cs_farm_row){to.data, to.length}, &back, &err), CS_OK,
                     "%s", err.message);
        cr_expect_eq(back.index, 70000);
        cr_expect_eq(back.key, 5);
        cr_expect_str_eq(back.scenario, row.scenario);
        cr_expect_str_eq(back.result.algorithm, algorithms[i]);
        cr_expect_eq(back.result.elapsed_s, row.result.elapsed_s);
        cr_expect_eq(back.result.wire_bytes, row.result.wire_bytes);
        cr_expect_eq(back.result.verified, row.result.verified);
        cr_expect_eq(back.result.option_table, row.result.option_table);
        expect_same_options(row.result.option_table, &row.result.options, &back.result.options);
        expect_same_options(row.result.model_option_table, &row.result.model_options,
                            &back.result.model_options);
        cs_sweep_row_pack(&again, &back);
        cr_assert_eq(again.length, to.length);
        cr_expect_eq(memcmp(again.data, to.data, to.length), 0);
        cs_text_free(&again);
        cs_text_free(&to);
        cs_case_free(&c);
    }
}

Test(wire, refused_rows_and_those_that_were_there_come_back)
{
    static const cs_sweep_row rows[] = {
        {.index      = 3,
         .is_refused = true,
         .key        = 1,
         .scenario   = "{}",
         .reason     = "not so",
         .result     = {.algorithm = "ring", .ranks = 8, .build = "b"}},
        {.index = 4, .is_refused = true, .key = 1, .scenario = "{}", .reason = "no"},
        {.index = 5, .was_there = true, .lacks = true, .is_wrong = true, .key = 9},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const cs_sweep_row *row = &rows[i];
        cs_sweep_row        back;
        cs_text             to = {0};
        cs_sweep_row_pack(&to, row);
        cr_assert_eq(cs_sweep_row_unpack((cs_farm_row){to.data, to.length}, &back, NULL), CS_OK);
        cr_expect_eq(back.index, row->index);
        cr_expect_eq(back.key, row->key);
        cr_expect(back.is_refused == row->is_refused && back.is_wrong == row->is_wrong);
        cr_expect(back.was_there == row->was_there && back.lacks == row->lacks);
        cr_expect_eq(back.result.ranks, row->result.ranks);
        cr_expect_eq(back.result.algorithm == NULL, row->result.algorithm == NULL);
        cr_expect_eq(back.reason == NULL, row->reason == NULL);
        cr_expect(row->reason == NULL || strcmp(back.reason, row->reason) == 0);
        cs_text_free(&to);
    }
}

Test(wire, a_wrong_verdict_comes_back)
{
    cs_sweep_row row, back;
    cs_case      c  = {0};
    cs_text      to = row_of("ring", 4, &row, &c);

    cs_text_free(&to);
    row.result.verdict = (cs_verdict){.is_located = true, .rank = 3, .chunk = 2, .round = 1};
    strcpy(row.result.verdict.text, "rank 3 lacks chunk 2");
    cs_sweep_row_pack(&to, &row);
    cr_assert_eq(cs_sweep_row_unpack((cs_farm_row){to.data, to.length}, &back, NULL), CS_OK);
    cr_expect_not(back.result.verdict.is_correct);
    cr_expect(back.result.verdict.is_located);
    cr_expect_eq(back.result.verdict.rank, 3);
    cr_expect_eq(back.result.verdict.chunk, 2);
    cr_expect_eq(back.result.verdict.round, 1);
    cr_expect_str_eq(back.result.verdict.text, "rank 3 lacks chunk 2");
    cs_text_free(&to);
    cs_case_free(&c);
}

/* Each copy has just the bytes that it has: the sanitizer sees every read beyond them. */
Test(wire, damaged_rows_are_refused_or_read_within_their_bytes)
{
    cs_sweep_row row, back;
    cs_case      c   = {0};
    cs_text      to  = row_of("optcc", 8, &row, &c);
    ct_rng       rng = ct_rng_for(77);

    for (size_t n = 0; n < to.length; n++) {
        char *part = malloc(n + 1);
        memcpy(part, to.data, n);
        char *exact = realloc(part, n > 0 ? n : 1);
        cr_expect_eq(cs_sweep_row_unpack((cs_farm_row){exact, n}, &back, NULL), CS_EIO, "%zu", n);
        free(exact);
    }
    for (int i = 0; i < 20000; i++) {
        char *copy = malloc(to.length);
        memcpy(copy, to.data, to.length);
        for (uint32_t k = ct_below(&rng, 4); k < 4; k++) {
            copy[ct_below(&rng, (uint32_t)to.length)] = (char)ct_below(&rng, 256);
        }
        (void)!cs_sweep_row_unpack((cs_farm_row){copy, to.length}, &back, NULL);
        free(copy);
    }
    cs_text_free(&to);
    cs_case_free(&c);
}
