/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one rank tells another of a scenario: it comes back as it was, and whatever is cut, too long
 * or not what it says is refused, never read beyond. */
#include "base/alloc.h"
#include "campaign/campaign.h"
#include "campaign/montecarlo.h"
#include "campaign/wire.h"
#include "output/result_rows.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cs_store_table *const tables[] = {&cs_results_table, &cs_montecarlo_table};

/* A value of its own in every column, whatever columns there are: reals that no decimals hold, one
 * that does not exist, texts of every length that fits. */
static void fill(const cs_column *columns, void *data)
{
    static const char *const words[] = {"", "ring", "a \"name\", quoted", "{\"bytes\":1}"};
    size_t                   k       = 0;

    for (const cs_column *c = columns; c->key != NULL; c++, k++) {
        char *member = cs_column_place(c, data);
        switch (c->type) {
        case CS_COLUMN_TEXT:
        case CS_COLUMN_JSON: *(const char **)(void *)member = words[k % 4]; break;
        case CS_COLUMN_CHARS: memset(member, 'a' + (int)(k % 26), k % c->bytes); break;
        case CS_COLUMN_COUNT: *(uint64_t *)(void *)member = UINT64_MAX - k; break;
        case CS_COLUMN_MAYBE: *(uint64_t *)(void *)member = k % 2 == 0 ? CS_NO_COUNT : k; break;
        case CS_COLUMN_U32: *(uint32_t *)(void *)member = UINT32_MAX - (uint32_t)k; break;
        case CS_COLUMN_REAL:
            *(double *)(void *)member = k % 5 == 4 ? (double)NAN : 1.0 / (double)(k + 3);
            break;
        case CS_COLUMN_BOOL: *(bool *)(void *)member = true; break;
        }
    }
}

/* Two structs of a table. */
typedef struct pair {
    void *columns, *texts;
} pair;

static pair new_pair(const cs_store_table *table)
{
    pair p = {calloc(1, table->columns_bytes), calloc(1, table->texts_bytes)};

    cr_assert(p.columns != NULL && p.texts != NULL);
    return p;
}

static pair full_pair(const cs_store_table *table)
{
    pair p = new_pair(table);

    fill(table->columns, p.columns);
    fill(table->texts, p.texts);
    return p;
}

static void free_pair(pair *p)
{
    free(p->columns);
    free(p->texts);
}

static cs_text packed(const cs_store_table *table, const pair *p)
{
    cs_text             to  = {0};
    const cs_packed_row row = {
        .state = CS_ROW_NEW,
        .row   = {.scenario = 70000, .is_wrong = true, .columns = p->columns, .texts = p->texts}};

    cs_campaign_pack(&to, table, &row);
    cr_assert_not(to.failed);
    return to;
}

static cs_status unpack(const cs_store_table *table, const char *data, size_t bytes, pair *p,
                        cs_packed_row *row)
{
    return cs_campaign_unpack((cs_work_item){.data = data, .bytes = bytes}, table, p->columns,
                              p->texts, row, NULL);
}

static void expect_same(const cs_column *columns, const void *a, const void *b)
{
    for (const cs_column *c = columns; c->key != NULL; c++) {
        const char *left = (const char *)a + c->offset, *right = (const char *)b + c->offset;
        if (c->type == CS_COLUMN_TEXT) {
            cr_expect_str_eq(*(const char *const *)(const void *)left,
                             *(const char *const *)(const void *)right, "%s", c->key);
        } else {
            cr_expect_eq(memcmp(left, right, c->bytes), 0, "%s", c->key);
        }
    }
}

Test(campaign_rows, come_back_with_every_column_and_text)
{
    for (size_t t = 0; t < 2; t++) {
        pair          p = full_pair(tables[t]), back = new_pair(tables[t]);
        cs_text       to = packed(tables[t], &p);
        cs_packed_row row;
        cr_assert_eq(unpack(tables[t], to.data, to.length, &back, &row), CS_OK);
        cr_expect_eq(row.state, CS_ROW_NEW);
        cr_expect_eq(row.row.scenario, 70000);
        cr_expect(row.row.is_wrong && !row.row.is_refused && !row.row.is_stored);
        expect_same(tables[t]->columns, p.columns, back.columns);
        expect_same(tables[t]->texts, p.texts, back.texts);
        cs_text again = packed(tables[t], &back);
        cr_assert_eq(again.length, to.length);
        cr_expect_eq(memcmp(again.data, to.data, to.length), 0);
        cs_text_free(&again);
        cs_text_free(&to);
        free_pair(&p);
        free_pair(&back);
    }
}

Test(campaign_rows, of_what_is_not_known_nothing_comes_back)
{
    cs_result       known = {.algorithm = "ring", .ranks = 8, .build = "b", .gap = (double)NAN};
    cs_result_texts texts = {.scenario = "{}", .error = "not so"};
    cs_packed_row   row   = {
            .state = CS_ROW_NEW,
            .row   = {.scenario = 3, .is_refused = true, .columns = &known, .texts = &texts}};
    pair    back = new_pair(&cs_results_table);
    cs_text to   = {0};

    cs_campaign_pack(&to, &cs_results_table, &row);
    cr_assert_eq(unpack(&cs_results_table, to.data, to.length, &back, &row), CS_OK);
    const cs_result       *r = row.row.columns;
    const cs_result_texts *x = row.row.texts;
    cr_expect(row.row.is_refused && !row.row.is_wrong);
    cr_expect_str_eq(r->algorithm, "ring");
    cr_expect_null(r->collective);
    cr_expect_eq(r->ranks, 8);
    cr_expect(isnan(r->gap));
    cr_expect_str_eq(x->error, "not so");
    cr_expect_null(x->options);
    cs_text_free(&to);
    free_pair(&back);
}

Test(campaign_rows, without_a_row_only_its_state_comes_back)
{
    for (cs_row_state state = CS_ROW_STORED; state < CS_ROW_STATES; state++) {
        cs_packed_row row = {.state         = state,
                             .is_incomplete = true,
                             .key           = state == CS_ROW_STORED ? 9 : 0,
                             .row           = {.scenario = 5, .is_wrong = true}};
        cs_packed_row got;
        pair          back = new_pair(&cs_results_table);
        cs_text       to   = {0};
        cs_campaign_pack(&to, &cs_results_table, &row);
        cr_assert_eq(unpack(&cs_results_table, to.data, to.length, &back, &got), CS_OK);
        cr_expect_eq(got.state, state);
        cr_expect_eq(got.row.is_stored, state == CS_ROW_STORED);
        cr_expect_eq(got.row.scenario, 5);
        cr_expect_eq(got.key, row.key);
        cr_expect(got.is_incomplete && got.row.is_wrong && !got.row.is_refused);
        cr_expect_null(got.row.columns);
        cs_text_free(&to);
        free_pair(&back);
    }
}

/* The first text of such a row is `algorithm`: one byte too many for it. */
Test(campaign_rows, texts_that_do_not_fit_are_refused)
{
    const cs_store_table *table = &cs_montecarlo_table;
    pair                  p = full_pair(table), back = new_pair(table);
    cs_montecarlo_row    *row = p.columns;
    cs_packed_row         got;
    char                  name[sizeof row->algorithm + 1];

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    row->algorithm[0]     = '\0';
    cs_text      to       = packed(table, &p);
    const size_t before   = 10; /* its number, its state and its flags */
    for (size_t length = sizeof name - 2; length < sizeof name; length++) {
        cs_text text = {0};
        cs_text_add_bytes(&text, to.data, before);
        cs_wire_put_text(&text, name + sizeof name - 1 - length);
        cs_text_add_bytes(&text, to.data + before + 5, to.length - before - 5);
        cr_expect_eq(unpack(table, text.data, text.length, &back, &got),
                     length < sizeof row->algorithm ? CS_OK : CS_EIO, "%zu", length);
        cs_text_free(&text);
    }
    cs_text_free(&to);
    free_pair(&p);
    free_pair(&back);
}

Test(campaign_rows, rows_without_the_text_that_identifies_them_are_refused)
{
    pair             p = full_pair(&cs_results_table), back = new_pair(&cs_results_table);
    cs_result_texts *texts = p.texts;
    cs_packed_row    got;

    texts->scenario = NULL;
    cs_text to      = packed(&cs_results_table, &p);
    cr_expect_eq(unpack(&cs_results_table, to.data, to.length, &back, &got), CS_EIO);
    cs_text_free(&to);
    free_pair(&p);
    free_pair(&back);
}

Test(campaign_rows, unknown_states_and_what_follows_the_end_are_refused)
{
    cs_packed_row row  = {.state = CS_ROW_GIVEN_UP};
    pair          back = new_pair(&cs_results_table);
    cs_text       to   = {0};
    cs_error      err  = {0};

    cs_campaign_pack(&to, &cs_results_table, &row);
    to.data[8] = CS_ROW_STATES;
    cr_expect_eq(unpack(&cs_results_table, to.data, to.length, &back, &row), CS_EIO);
    to.data[8] = CS_ROW_GIVEN_UP;
    to.data[9] = 8;
    cr_expect_eq(unpack(&cs_results_table, to.data, to.length, &back, &row), CS_EIO);
    to.data[9] = 0;
    cr_expect_eq(unpack(&cs_results_table, to.data, to.length, &back, &row), CS_OK);
    cs_text_add_bytes(&to, "", 1);
    cr_expect_eq(cs_campaign_unpack((cs_work_item){.data = to.data, .bytes = to.length},
                                    &cs_results_table, back.columns, back.texts, &row, &err),
                 CS_EIO);
    cr_expect_str_eq(err.message, "a row arrived damaged");
    cr_expect_eq(unpack(&cs_results_table, NULL, 0, &back, &row), CS_EIO);
    cs_text_free(&to);
    free_pair(&back);
}

/* Each copy has just the bytes that it has: the sanitizer sees every read beyond them. */
Test(campaign_rows, damaged_rows_are_refused_or_read_within_their_bytes)
{
    for (size_t t = 0; t < 2; t++) {
        pair          p = full_pair(tables[t]), back = new_pair(tables[t]);
        cs_text       to  = packed(tables[t], &p);
        ct_rng        rng = ct_rng_for(77);
        cs_packed_row row;
        for (size_t n = 0; n < to.length; n++) {
            char *part = malloc(n > 0 ? n : 1);
            memcpy(part, to.data, n);
            cr_expect_eq(unpack(tables[t], part, n, &back, &row), CS_EIO, "%zu", n);
            free(part);
        }
        for (int i = 0; i < 20000; i++) {
            char *copy = malloc(to.length);
            memcpy(copy, to.data, to.length);
            for (uint32_t k = ct_below(&rng, 4); k < 4; k++) {
                copy[ct_below(&rng, (uint32_t)to.length)] = (char)ct_below(&rng, 256);
            }
            (void)!unpack(tables[t], copy, to.length, &back, &row);
            free(copy);
        }
        cs_text_free(&to);
        free_pair(&p);
        free_pair(&back);
    }
}
