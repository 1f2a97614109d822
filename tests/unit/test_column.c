/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns: what a row is as JSON and as CSV, by its table alone. */
#include "base/column.h"

#include "base/alloc.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef struct inner {
    double low_s, high_s;
} inner;

typedef struct sample {
    const char *name, *json;
    char        word[8];
    uint64_t    bytes;
    uint32_t    ranks;
    inner       time;
    bool        is_set;
} sample;

static const cs_column columns[] = {
    CS_COLUMN(sample, name),
    CS_COLUMN_ROW("json", CS_COLUMN_JSON, sample, json),
    CS_COLUMN(sample, word),
    CS_COLUMN_REQUIRED(sample, bytes),
    CS_COLUMN(sample, ranks),
    CS_COLUMN_AS("low_s", sample, time.low_s),
    CS_COLUMN_AS("high_s", sample, time.high_s),
    CS_COLUMN(sample, is_set),
    CS_COLUMN_END,
};

static const sample full = {"a \"b\"", "{\"x\":1}", "word",        UINT64_MAX,
                            7,         {0.1, 0.25}, .is_set = true};
static const sample none = {.time = {(double)NAN, (double)INFINITY}};

static void expect_json(const cs_row *row, const char *want)
{
    cs_text text = {0};

    cs_text_add(&text, "{");
    cs_json_row(&text, row);
    cs_text_add(&text, "}");
    cr_expect_str_eq(text.data, want);
    cs_text_free(&text);
}

static void expect_csv(const cs_row *row, const char *want)
{
    cs_text text = {0};

    cs_csv_row(&text, row);
    cs_csv_end(&text);
    cr_expect_str_eq(text.data, want);
    cs_text_free(&text);
}

Test(column, a_table_says_what_is_there)
{
    cr_expect_eq(cs_columns_count(columns), 8);
    cr_expect_eq(columns[2].type, CS_COLUMN_CHARS);
    cr_expect_eq(columns[2].bytes, 8);
    cr_expect(columns[3].is_required && !columns[2].is_required);
    cr_expect_eq(columns[6].offset, offsetof(sample, time) + sizeof(double));
}

Test(column, a_row_is_json)
{
    expect_json(&(cs_row){columns, &full, false},
                "{\"name\": \"a \\\"b\\\"\", \"json\": {\"x\":1}, \"word\": \"word\", \"bytes\": "
                "18446744073709551615, \"ranks\": 7, \"low_s\": 0.1, \"high_s\": 0.25, \"is_set\": "
                "true}");
    expect_json(&(cs_row){columns, &none, false},
                "{\"name\": null, \"json\": null, \"word\": null, \"bytes\": 0, \"ranks\": 0, "
                "\"low_s\": null, \"high_s\": null, \"is_set\": false}");
}

Test(column, of_a_partial_row_counts_of_0_and_flags_are_not_known)
{
    expect_json(
        &(cs_row){columns, &none, true},
        "{\"name\": null, \"json\": null, \"word\": null, \"bytes\": null, \"ranks\": null, "
        "\"low_s\": null, \"high_s\": null, \"is_set\": null}");
    expect_csv(&(cs_row){columns, &full, true},
               "\"a \"\"b\"\"\",\"{\"\"x\"\":1}\",word,18446744073709551615,7,0.1,0.25,\n");
}

/* A count that need not exist is 0 or nothing, also where a row is partial. */
Test(column, a_count_may_be_missing)
{
    typedef struct counted {
        uint64_t known, zero, missing;
    } counted;
    static const cs_column table[] = {
        CS_COLUMN_MAYBE_AS("known", counted, known), CS_COLUMN_MAYBE_AS("zero", counted, zero),
        CS_COLUMN_MAYBE_AS("missing", counted, missing), CS_COLUMN_END};
    const counted some = {CS_NO_COUNT - 1, 0, CS_NO_COUNT};

    expect_json(&(cs_row){table, &some, false},
                "{\"known\": 18446744073709551614, \"zero\": 0, \"missing\": null}");
    expect_csv(&(cs_row){table, &some, false}, "18446744073709551614,0,\n");
    expect_csv(&(cs_row){table, &some, true}, "18446744073709551614,,\n");
}

Test(column, a_row_is_a_line_of_a_csv)
{
    cs_text text = {0};

    expect_csv(&(cs_row){columns, &full, false},
               "\"a \"\"b\"\"\",\"{\"\"x\"\":1}\",word,18446744073709551615,7,0.1,0.25,true\n");
    expect_csv(&(cs_row){columns, &none, false}, ",,,0,0,,,false\n");
    cs_csv_keys(&text, columns);
    cs_csv_end(&text);
    cr_expect_str_eq(text.data, "name,json,word,bytes,ranks,low_s,high_s,is_set\n");
    cs_text_free(&text);
}

Test(column, commas_come_by_themselves)
{
    cs_text text = {0};

    cs_text_add(&text, "{");
    cs_json_key(&text, "list");
    cs_text_add(&text, "[");
    for (int i = 0; i < 3; i++) {
        cs_json_next(&text, "", "\n ");
        cs_json_value(&text, (cs_value){.type = CS_VALUE_WHOLE, .whole = -i});
    }
    cs_text_add(&text, "],\n ");
    cs_json_key(&text, "on a line");
    cs_json_value(&text, (cs_value){.type = CS_VALUE_NONE});
    cs_json_key(&text, "next");
    cs_text_add(&text, "{");
    cs_json_key(&text, "first");
    cs_text_add(&text, "1}}");
    cr_expect_str_eq(text.data, "{\"list\": [0,\n -1,\n -2],\n \"on a line\": null, \"next\": "
                                "{\"first\": 1}}");
    cs_text_free(&text);
}

Test(column, out_of_memory_is_remembered)
{
    for (long passes = 0;; passes++) {
        cs_text text = {0};
        cr_assert_lt(passes, 20);
        cs_alloc_fail_after(passes);
        for (int i = 0; i < 20; i++) {
            cs_json_row(&text, &(cs_row){columns, &full, false});
            cs_csv_row(&text, &(cs_row){columns, &full, false});
            cs_csv_end(&text);
        }
        cs_alloc_fail_after(-1);
        cs_status status = cs_text_status(&text, NULL);
        cs_text_free(&text);
        if (status == CS_OK) {
            cr_assert_gt(passes, 1);
            break;
        }
        cr_assert_eq(status, CS_ENOMEM);
    }
}
