/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results as JSON and CSV: the keys and their order, exact numbers, what does not exist. */
#include "base/alloc.h"
#include "cs/result.h"
#include "output/result_rows.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct sample_options {
    uint32_t segments;
    bool     fenced;
    int      order;
    double   cost_s;
} sample_options;

static const cs_field sample_table[] = {
    CS_OPTION_AUTO(sample_options, segments, 1, 4096, "how many"),
    CS_OPTION(sample_options, fenced, 0, 0, 1, "whether"),
    CS_OPTION_CHOICE(sample_options, order, "up|down", "which way"),
    CS_OPTION(sample_options, cost_s, 0.1, 0, 1, "how long"),
    CS_FIELD_END,
};

/* The keys of the contract, written out: the list in cs/result.h must not drift from it. */
static const char *const contract[] = {
    "algorithm",
    "collective",
    "model",
    "ranks",
    "bytes",
    "gpus_per_server",
    "elapsed_s",
    "exposed_s",
    "closed_form_s",
    "bound_s",
    "bound",
    "gap",
    "algbw_GBps",
    "busbw_GBps",
    "rounds",
    "transfers",
    "wire_bytes",
    "verified",
    "published_form_s",
    "critical_delay_s",
    "ideal_delay_s",
    "delay_reference",
    "packets",
    "pauses",
    "drops",
    "marks",
    "resent",
    "build",
    "options",
};
enum { N_CONTRACT = sizeof contract / sizeof contract[0] };

static cs_result sample(void)
{
    cs_result r = {.algorithm        = "ring",
                   .collective       = "allreduce",
                   .model            = "alpha-beta",
                   .ranks            = 8,
                   .bytes            = 9007199254740993u,
                   .gpus_per_server  = 4,
                   .elapsed_s        = 0.1 + 0.2,
                   .exposed_s        = 1.0 / 3.0,
                   .closed_form_s    = (double)NAN,
                   .published_form_s = 0.25,
                   .critical_delay_s = 1e-3,
                   .ideal_delay_s    = (double)INFINITY,
                   .delay_reference  = "ring",
                   .counts           = {77, 0, CS_NO_COUNT, CS_NO_COUNT, CS_NO_COUNT},
                   .bound_s          = 5e-324,
                   .bound            = "a \"name\", quoted",
                   .gap              = 1.7976931348623157e308,
                   .algbw_GBps       = 12.5,
                   .busbw_GBps       = 21.875,
                   .rounds           = 14,
                   .transfers        = 112,
                   .wire_bytes       = 123456789012345678u,
                   .verified         = true,
                   .build            = "abc-dirty.1",
                   .option_table     = sample_table};

    cs_fields_default(sample_table, &r.options);
    cr_assert_eq(cs_field_set(sample_table, &r.options, "segments", "64", "opt", NULL), CS_OK);
    cr_assert_eq(cs_field_set(sample_table, &r.options, "order", "down", "opt", NULL), CS_OK);
    return r;
}

static json_t *parse(const cs_text *text)
{
    json_error_t error;
    json_t      *json = json_loads(text->data, JSON_REJECT_DUPLICATES, &error);

    cr_assert_not_null(json, "line %d: %s in %s", error.line, error.text, text->data);
    return json;
}

/* One result as JSON, with that scenario; the caller owns it. */
static json_t *parse_one(const cs_result *r, const char *scenario)
{
    const char          *no_refusal = NULL;
    const cs_result_rows rows       = {r, &scenario, &no_refusal, {0}, 1, NULL};
    cs_text              text       = {0};

    cs_results_json(&text, &rows);
    json_t *list = parse(&text), *one = json_incref(json_array_get(list, 0));
    json_decref(list);
    cs_text_free(&text);
    return one;
}

static double real(const json_t *object, const char *key)
{
    return json_real_value(json_object_get(object, key));
}

Test(result_json, keys_are_those_of_the_contract_in_their_order)
{
    cs_result   r = sample();
    int         i = 0;
    const char *key;
    json_t     *value;

    json_t *json = parse_one(&r, NULL);
    json_object_foreach(json, key, value)
    {
        if (i < N_CONTRACT) {
            cr_expect_str_eq(key, contract[i]);
        }
        i++;
    }
    cr_expect_eq(i, N_CONTRACT + 1);
    cr_expect(json_is_object(json_object_get(json, "model_options")));
    json_decref(json);
}

Test(result_json, numbers_read_back_exactly)
{
    cs_result r    = sample();
    json_t   *json = parse_one(&r, NULL);

    cr_expect(real(json, "elapsed_s") == 0.1 + 0.2);
    cr_expect(real(json, "exposed_s") == 1.0 / 3.0);
    cr_expect(real(json, "bound_s") == 5e-324);
    cr_expect(real(json, "gap") == 1.7976931348623157e308);
    cr_expect_eq(json_integer_value(json_object_get(json, "bytes")), 9007199254740993);
    cr_expect_eq(json_integer_value(json_object_get(json, "wire_bytes")), 123456789012345678);
    cr_expect(json_is_null(json_object_get(json, "closed_form_s")));
    cr_expect_eq(json_integer_value(json_object_get(json, "packets")), 77);
    cr_expect(json_is_integer(json_object_get(json, "pauses")));
    cr_expect(json_is_null(json_object_get(json, "drops")));
    cr_expect(json_is_true(json_object_get(json, "verified")));
    cr_expect_str_eq(json_string_value(json_object_get(json, "bound")), "a \"name\", quoted");
    cr_expect_null(json_object_get(json, "wrong"));
    json_decref(json);
}

Test(result_json, options_have_their_types)
{
    cs_text   text = {0};
    cs_result r    = sample();

    cs_options_json(&text, r.option_table, &r.options);
    json_t *json = parse(&text);
    cr_expect_eq(json_object_size(json), 4);
    cr_expect_eq(json_integer_value(json_object_get(json, "segments")), 64);
    cr_expect(json_is_false(json_object_get(json, "fenced")));
    cr_expect_str_eq(json_string_value(json_object_get(json, "order")), "down");
    cr_expect(real(json, "cost_s") == 0.1);
    json_decref(json);
    cs_text_free(&text);
    cs_options_json(&text, NULL, NULL);
    cr_expect_str_eq(text.data, "{}");
    cs_text_free(&text);
}

Test(result_json, a_wrong_schedule_says_where)
{
    cs_result r = sample();

    r.verified = false;
    cr_expect_not(cs_result_is_wrong(&r), "not checked is not wrong");
    r.verdict = (cs_verdict){
        .is_located = true, .rank = 3, .chunk = 5, .round = 7, .text = "rank 3 misses rank 1"};
    cr_expect(cs_result_is_wrong(&r));
    json_t       *json  = parse_one(&r, NULL);
    const json_t *wrong = json_object_get(json, "wrong");
    cr_expect_eq(json_integer_value(json_object_get(wrong, "rank")), 3);
    cr_expect_eq(json_integer_value(json_object_get(wrong, "chunk")), 5);
    cr_expect_eq(json_integer_value(json_object_get(wrong, "round")), 7);
    cr_expect_str_eq(json_string_value(json_object_get(wrong, "text")), "rank 3 misses rank 1");
    json_decref(json);
    r.verdict.is_located = false;
    json                 = parse_one(&r, NULL);
    cr_expect(json_is_null(json_object_get(json_object_get(json, "wrong"), "rank")));
    json_decref(json);
}

Test(result_json, an_array_holds_one_object_per_result)
{
    cs_text   text = {0};
    cs_result r[3] = {sample(), sample(), sample()};

    r[1].ranks                     = 16;
    const char *const scenarios[3] = {NULL, "{\"bytes\":1}", NULL}, *const refusals[3] = {NULL};
    cs_results_json(&text, &(cs_result_rows){r, scenarios, refusals, {0}, 3, NULL});
    json_t *json = parse(&text);
    cr_expect_eq(json_array_size(json), 3);
    cr_expect_eq(json_integer_value(json_object_get(json_array_get(json, 1), "ranks")), 16);
    const json_t *scenario = json_object_get(json_array_get(json, 1), "scenario");
    cr_expect_eq(json_integer_value(json_object_get(scenario, "bytes")), 1);
    cr_expect_null(json_object_get(json_array_get(json, 0), "scenario"));
    json_decref(json);
    cs_text_free(&text);
    cs_results_json(&text, &(cs_result_rows){0});
    json = parse(&text);
    cr_expect_eq(json_array_size(json), 0);
    json_decref(json);
    cs_text_free(&text);
}

static const char *const      extra_names[]  = {"seed", "a,\"b\"_s", "topology", "none", "verify"};
static const cs_value         extra_values[] = {{.type = CS_VALUE_WHOLE, .whole = -7},
                                                {.type = CS_VALUE_REAL, .real = 0.001},
                                                {.type = CS_VALUE_JSON, .text = "{\"kind\":\"server\"}"},
                                                {.type = CS_VALUE_NONE},
                                                {.type = CS_VALUE_BOOL, .whole = 1}};
static const cs_extra_columns extra          = {5, extra_names, extra_values};

/* What a sweep has varied stands between the options and the scenario. */
Test(result_json, columns_of_a_sweep_are_keys)
{
    cs_text     text     = {0};
    cs_result   r        = sample();
    const char *scenario = "{\"bytes\":1}", *refusal = NULL;

    for (int refused = 0; refused < 2; refused++) {
        refusal = refused == 1 ? "not so" : NULL;
        cs_results_json(&text, &(cs_result_rows){&r, &scenario, &refusal, extra, 1, NULL});
        cr_expect_not_null(strstr(text.data, ", \"seed\": -7, \"a,\\\"b\\\"_s\": 0.001, "
                                             "\"topology\": {\"kind\":\"server\"}, \"none\": "
                                             "null, \"verify\": true, \"scenario\": {"));
        json_t       *list = parse(&text);
        const json_t *one  = json_array_get(list, 0);
        cr_expect_eq(json_integer_value(json_object_get(one, "seed")), -7);
        cr_expect(real(one, "a,\"b\"_s") == 0.001);
        cr_expect(json_is_object(json_object_get(one, "topology")));
        cr_expect(json_is_null(json_object_get(one, "none")));
        cr_expect(json_is_true(json_object_get(one, "verify")));
        json_decref(list);
        cs_text_free(&text);
    }
}

/* What links counted stands behind the options, and what was decided; of those without there is no
 * key. */
Test(result_json, blocks_are_keys)
{
    cs_result         r[]         = {sample(), sample()};
    const char       *scenarios[] = {NULL, NULL}, *refusals[] = {NULL, NULL};
    const char *const blocks[] = {", \"counters\": {\"links\": []}, \"decisions\": [1]", NULL};
    cs_text           text     = {0};

    cs_results_json(&text, &(cs_result_rows){r, scenarios, refusals, {0}, 2, blocks});
    json_t *json = parse(&text);
    cr_expect(json_is_array(
        json_object_get(json_object_get(json_array_get(json, 0), "counters"), "links")));
    cr_expect_eq(json_array_size(json_object_get(json_array_get(json, 0), "decisions")), 1u);
    cr_expect_null(json_object_get(json_array_get(json, 1), "counters"));
    cr_expect_null(json_object_get(json_array_get(json, 1), "decisions"));
    json_decref(json);
    cs_text_free(&text);
}

Test(result_csv, header_and_rows)
{
    cs_text     text         = {0};
    cs_result   r            = sample();
    char        header[1024] = "";
    const char *scenario = "{\"bytes\":1}", *refusal = NULL;

    for (int i = 0; i < N_CONTRACT; i++) {
        strcat(strcat(header, i == 0 ? "" : ","), contract[i]);
    }
    strcat(header, ",scenario,error\n");
    strcat(header, "ring,allreduce,alpha-beta,8,9007199254740993,4,0.30000000000000004,"
                   "0.3333333333333333,,4.94065645841247e-324,\"a \"\"name\"\", quoted\","
                   "1.7976931348623157e+308,12.5,21.875,14,112,123456789012345678,true,0.25,0.001,,"
                   "ring,77,0,,,,"
                   "abc-dirty.1,"
                   "\"{\"\"segments\"\": 64, \"\"fenced\"\": false, \"\"order\"\": \"\"down\"\", "
                   "\"\"cost_s\"\": 0.1}\",\"{\"\"bytes\"\":1}\",\n");
    cs_results_csv(&text, &(cs_result_rows){&r, &scenario, &refusal, {0}, 1, NULL});
    cr_expect_str_eq(text.data, header);
    cs_text_free(&text);
}

Test(result_csv, columns_of_a_sweep_stand_before_the_scenario)
{
    cs_text     text     = {0};
    cs_result   r        = sample();
    const char *scenario = "{}", *refusal = NULL;

    cs_results_csv(&text, &(cs_result_rows){&r, &scenario, &refusal, extra, 1, NULL});
    cr_expect_not_null(
        strstr(text.data, ",options,seed,\"a,\"\"b\"\"_s\",topology,none,verify,scenario,"));
    cr_expect_not_null(
        strstr(text.data, "}\",-7,0.001,\"{\"\"kind\"\":\"\"server\"\"}\",,true,{},\n"));
    cs_text_free(&text);
    refusal = "no";
    cs_results_csv(&text, &(cs_result_rows){&r, &scenario, &refusal, extra, 1, NULL});
    cr_expect_not_null(
        strstr(text.data, ",-7,0.001,\"{\"\"kind\"\":\"\"server\"\"}\",,true,{},no\n"));
    cs_text_free(&text);
}

Test(result_json, out_of_memory_is_remembered)
{
    cs_result            r        = sample();
    const char          *scenario = NULL, *refusal = NULL;
    const cs_result_rows rows = {&r, &scenario, &refusal, extra, 1, NULL};

    for (long passes = 0; passes < 100; passes++) {
        cs_text text = {0};
        cs_alloc_fail_after(passes);
        cs_results_json(&text, &rows);
        cs_results_csv(&text, &rows);
        cs_alloc_fail_after(-1);
        cs_status status = cs_text_status(&text, NULL);
        cs_text_free(&text);
        if (status == CS_OK) {
            cr_assert_gt(passes, 1);
            return;
        }
        cr_assert_eq(status, CS_ENOMEM);
    }
    cr_assert(false, "it never succeeded");
}
