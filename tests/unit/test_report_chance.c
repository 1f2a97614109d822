/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random arrivals for the report page: the rows are those of `montecarlo` for the first setting,
 * and one sentence says what is random. */
#include "input/tree.h"
#include "montecarlo_setup.h"
#include "report/chance.h"
#include "support/column.h"

#include <stdlib.h>

static json_t *chance_of(const cs_config *config, unsigned jobs)
{
    cs_text  text = {0};
    cs_error err  = {0};
    json_t  *tree = NULL;

    cr_assert_eq(cs_chance_json(&text, config, jobs, &err), CS_OK, "%s: %s", err.where,
                 err.message);
    cr_assert_eq(cs_tree_parse(text.data, text.length, "chance", &tree, &err), CS_OK, "%s",
                 err.message);
    cs_text_free(&text);
    return tree;
}

static double number(const json_t *object, const char *key)
{
    cr_assert(json_is_number(json_object_get(object, key)), "%s", key);
    return json_number_value(json_object_get(object, key));
}

static void expect_row(const json_t *row, const cs_montecarlo_row *want)
{
    const json_t *wins = json_object_get(row, "win_ratio");
    size_t        n;
    double       *q = ct_column(json_object_get(row, "quantiles"), &n);

    cr_expect_str_eq(json_string_value(json_object_get(row, "algorithm")), want->algorithm);
    cr_expect_eq(number(row, "mean_s"), want->exposed_s.mean.value);
    cr_expect_eq(number(row, "p50_s"), want->exposed_s.p50.value);
    cr_expect_eq(number(row, "p95_s"), want->exposed_s.p95.value);
    cr_expect_eq(number(row, "p99_s"), want->exposed_s.p99.value);
    cr_expect(isnan(want->win_ratio) ? json_is_null(wins)
                                     : json_number_value(wins) == want->win_ratio);
    cr_assert_eq(n, 1001);
    cr_expect_eq(q[0], want->exposed_s.min);
    cr_expect_eq(q[500], want->exposed_s.p50.value);
    cr_expect_eq(q[990], want->exposed_s.p99.value);
    cr_expect_eq(q[1000], want->exposed_s.max);
    for (size_t k = 1; k < n; k++) {
        cr_expect_geq(q[k], q[k - 1] * (1 - 1e-15));
    }
    free(q);
}

/* Of two sizes the first; `montecarlo` says the same. */
Test(report_chance, rows_are_those_of_the_campaign)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(1000, 2);
    cs_montecarlo_report  want    = run(config, &options);

    ct_set(config, "sweep.bytes", "[1073741816, 2000]");
    json_t       *chance = chance_of(config, 2);
    const json_t *rows   = json_object_get(chance, "rows");
    cr_expect_eq(number(chance, "iterations"), 1000);
    cr_expect_eq(number(chance, "ranks"), 8);
    cr_expect_eq(number(chance, "bytes"), BYTES);
    cr_assert_eq(json_array_size(rows), 5);
    for (size_t i = 0; i < 5; i++) {
        expect_row(json_array_get(rows, i), &want.rows[i]);
    }
    json_decref(chance);
    cs_montecarlo_report_free(&want);
    cs_config_free(config);
}

/* Predictions of one algorithm, and one that cannot be run. */
Test(report_chance, one_row_for_each_algorithm)
{
    cs_config *config = random_config();

    ct_set(config, "sweep.montecarlo.prediction", "[\"static\", \"oracle\"]");
    ct_set(config, "sweep.algorithm.name", "[\"ring\", \"stragglar\", \"binomial\"]");
    json_t       *chance = chance_of(config, 1);
    const json_t *rows   = json_object_get(chance, "rows");
    cr_assert_eq(json_array_size(rows), 2);
    cr_expect_str_eq(json_string_value(json_object_get(json_array_get(rows, 1), "algorithm")),
                     "stragglar");
    json_decref(chance);
    cs_config_free(config);
}

static void expect_text(const char *arrivals, const char *want)
{
    cs_config *config = base_config("ring");

    ct_set(config, "arrivals", arrivals);
    json_t     *chance = chance_of(config, 1);
    const char *text   = json_string_value(json_object_get(chance, "text"));
    cr_expect_str_eq(text, want, "%s", text);
    json_decref(chance);
    cs_config_free(config);
}

Test(report_chance, the_sentence_says_what_is_random)
{
    expect_text(
        RANDOM_ARRIVALS,
        "In every iteration every GPU is late by a random time (lognormal, 1 ms on average, "
        "standard deviation 1 ms), and GPU 0 is late by a random time (exponential, 4 ms on "
        "average, standard deviation 4 ms) in 80\xc2\xa0% of them, another GPU in the others.");
    expect_text(
        "{\"straggler\": {\"persistence\": 0.75, \"delay\": \"4ms\"}, "
        "\"late\": [{\"rank\": 7, \"delay\": \"1ms\"}]}",
        "In every iteration one of the GPUs is late by 4 ms, in 75\xc2\xa0% of them the one of "
        "the iteration before; fixed delays are added.");
    expect_text(
        "{\"straggler\": {\"rank\": 3, \"persistence\": 0.5, \"correlation\": 0.25, "
        "\"delay\": {\"name\": \"empirical\", \"values\": [\"1ms\", \"3ms\"]}}}",
        "In every iteration GPU 3 is late by one of 2 measured times (2 ms on average, "
        "standard deviation 1 ms) in 50\xc2\xa0% of them, another GPU in the others (correlation "
        "0.25).");
    expect_text("{\"distribution\": {\"name\": \"pareto\", \"mean\": \"1ms\", \"shape\": 1.5}}",
                "In every iteration every GPU is late by a random time (pareto, 1 ms on average).");
}

Test(report_chance, traces_are_said)
{
    cs_config *config = ct_config_example("montecarlo-trace");
    json_t    *chance = chance_of(config, 1);

    cr_expect_not_null(
        strstr(json_string_value(json_object_get(chance, "text")), "the GPUs come as in one of "));
    json_decref(chance);
    ct_set(config, "arrivals.trace.pick", "in-order");
    chance = chance_of(config, 1);
    cr_expect_str_eq(json_string_value(json_object_get(chance, "text")),
                     "In every iteration the GPUs come as in one measured call after the other.");
    json_decref(chance);
    cs_config_free(config);
}

Test(report_chance, nothing_random_is_refused)
{
    cs_config *config   = base_config("ring");
    cs_text    text     = {0};
    cs_error   err      = {0};
    bool       is_there = true;

    cr_assert_eq(cs_chance_is_there(config, &is_there, &err), CS_OK);
    cr_expect_not(is_there);
    cr_expect_eq(cs_chance_json(&text, config, 1, &err), CS_ENOTSUP);
    cr_expect_not_null(strstr(err.message, "nothing is random"));
    ct_set(config, "arrivals", RANDOM_ARRIVALS);
    cr_assert_eq(cs_chance_is_there(config, &is_there, &err), CS_OK);
    cr_expect(is_there);
    ct_set(config, "algorithm.name", "binomial");
    err = (cs_error){0};
    cr_expect_eq(cs_chance_json(&text, config, 1, &err), CS_ENOTSUP);
    cr_expect_not_null(strstr(err.message, "no algorithm could be run: "), "%s", err.message);
    cs_text_free(&text);
    cs_config_free(config);
}

Test(report_chance, the_same_bytes_for_any_number_of_threads)
{
    cs_config *config = random_config();
    cs_text    a = {0}, b = {0};

    cr_assert_eq(cs_chance_json(&a, config, 1, NULL), CS_OK);
    cr_assert_eq(cs_chance_json(&b, config, 5, NULL), CS_OK);
    cr_expect_str_eq(a.data, b.data);
    cs_text_free(&a);
    cs_text_free(&b);
    cs_config_free(config);
}

Test(report_chance, every_failed_allocation_is_reported)
{
    cs_config *config = base_config("ring");
    cs_status  status = CS_ENOMEM;
    long       passes = 0;

    ct_set(config, "arrivals", RANDOM_ARRIVALS);
    for (; status != CS_OK && passes < 3000; passes++) {
        cs_text  text = {0};
        cs_error err  = {0};
        cs_alloc_fail_after(passes);
        status = cs_chance_json(&text, config, 1, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || (status == CS_ENOMEM && err.message[0] != '\0'),
                  "allocation %ld: %d %s", passes, (int)status, err.message);
        cs_text_free(&text);
    }
    cr_expect_eq(status, CS_OK);
    cr_expect_gt(passes, 50);
    cs_config_free(config);
}
