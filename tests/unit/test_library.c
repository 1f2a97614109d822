/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configurations as a library uses them (cs/config.h): texts in, the program's JSON out. */
#include "base/alloc.h"
#include "cs/config.h"
#include "cs/result.h"
#include "support/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cs_config *parse(const char *json)
{
    cs_config *config = NULL;
    cs_error   err    = {0};

    cr_assert_eq(cs_config_parse(json, strlen(json), "here", &config, &err), CS_OK, "%s: %s",
                 err.where, err.message);
    return config;
}

static char *run(const cs_config *config, unsigned jobs)
{
    char    *json = NULL;
    cs_error err  = {0};

    cr_assert_eq(cs_config_run(config, jobs, &json, &err), CS_OK, "%s: %s", err.where, err.message);
    return json;
}

static void expect_program_says(const char *arguments, const char *want)
{
    cs_text text = {0};

    (void)ct_program(arguments, "2>/dev/null", &text);
    cr_assert_str_eq(text.data, want, "%s", arguments);
    cs_text_free(&text);
}

Test(library, says_what_the_program_says)
{
    cs_config *config =
        parse("{\"algorithm\": {\"name\": \"stragglar\"}, \"bytes\": \"1G\", \"cluster\": "
              "{\"ranks\": 8}, \"arrivals\": {\"late\": [{\"rank\": 7, \"delay\": "
              "\"4.48ms\"}]}}");
    char *json = run(config, 1), *bounds = NULL;

    cr_assert_eq(cs_config_count(config), 1);
    expect_program_says("run -a stragglar -s 1G -n 8 --late 7=4.48ms --format json", json);
    cr_assert_eq(cs_config_bounds(config, &bounds, NULL), CS_OK);
    expect_program_says("bound -a stragglar -s 1G -n 8 --late 7=4.48ms --format json", bounds);
    cs_string_free(json);
    cs_string_free(bounds);
    cs_config_free(config);
}

Test(library, sweeps_are_the_same_for_any_number_of_threads)
{
    cs_config *config = parse("{\"seed\": 1}");
    cs_error   err    = {0};
    cs_text    text   = {0};

    cr_assert_eq(cs_config_set(config, "cluster.nic.alpha", "2us", "", &err), CS_OK);
    cr_assert_eq(cs_config_sweep_set(config, "algorithm.name",
                                     "[\"ring\", \"rhd\", \"merged_rhd\"]", "", &err),
                 CS_OK);
    cr_assert_eq(cs_config_sweep_set(config, "cluster.ranks", "[4, 6, 7, 8, 16]", "", &err), CS_OK);
    cr_assert_eq(cs_config_count(config), 15);
    char *one = run(config, 1);
    for (unsigned jobs = 0; jobs <= 4; jobs += 2) {
        char *many = run(config, jobs);
        cr_assert_str_eq(many, one, "%u threads", jobs);
        cs_string_free(many);
    }
    /* merged_rhd needs an even number of ranks. */
    cr_assert_eq(
        ct_program("run -a ring,rhd,merged_rhd -n 4,6,7,8,16 --alpha 2us --seed 1 --format "
                   "json",
                   "2>/dev/null", &text),
        2);
    cr_assert_str_eq(one, text.data);
    cr_assert_not_null(strstr(one, "\"error\": \""));
    cs_text_free(&text);
    cs_string_free(one);
    cs_config_free(config);
}

Test(library, errors_name_text_line_and_key)
{
    static const char wrong[] = "{\n  \"cluster\": {\"ranks\": 1}\n}", cut[] = "{\n \"bytes\": ";
    cs_config        *config = NULL;
    char             *json   = NULL;
    cs_error          err    = {0};

    cr_assert_eq(cs_config_parse(cut, strlen(cut), "here.json", &config, &err), CS_EPARSE);
    cr_assert_str_eq(err.input, "here.json");
    cr_assert_eq(err.input_line, 2);
    cr_assert_null(config);
    err    = (cs_error){0};
    config = parse(wrong);
    cr_assert_neq(cs_config_run(config, 2, &json, &err), CS_OK);
    cr_assert_str_eq(err.input, "here");
    cr_assert_str_eq(err.where, "cluster.ranks");
    cr_assert_eq(err.input_line, 2);
    cr_assert_null(json);
    err = (cs_error){0};
    cr_assert_eq(cs_config_set(config, "cluster.ranks", "2", "ranks", &err), CS_OK);
    cr_assert_eq(cs_config_set(config, "cluster.nic.alpha", "5parsec", "alpha", &err), CS_OK);
    cr_assert_neq(cs_config_bounds(config, &json, &err), CS_OK);
    cr_assert_not_null(strstr(err.where, "alpha"));
    cr_assert_null(json);
    cs_config_free(config);
}

Test(library, bounds_are_those_of_one_scenario)
{
    cs_config *config = parse("{\"sweep\": {\"cluster.ranks\": [4, 8]}}");
    char      *json   = NULL;
    cs_error   err    = {0};

    cr_assert_eq(cs_config_bounds(config, &json, &err), CS_EINVAL);
    cr_assert_str_eq(err.where, "sweep");
    cs_config_free(config);
}

Test(library, all_refused_is_an_error)
{
    cs_config *config = parse("{\"algorithm\": \"merged_rhd\", \"sweep\": {\"cluster.ranks\": [5, "
                              "7]}}");
    char      *json   = NULL;
    cs_error   err    = {0};

    cs_status status = cs_config_run(config, 2, &json, &err);
    cr_assert(cs_status_is_refusal(status), "%d", status);
    cr_assert_eq(err.status, status);
    cr_assert_neq(err.message[0], '\0');
    cr_assert_null(json);
    cs_config_free(config);
}

/* A case outlives its configuration. */
Test(library, a_case_is_a_job)
{
    cs_config *config = parse("{\"bytes\": 4096, \"cluster\": {\"ranks\": 4, \"topology\": "
                              "{\"kind\": \"leaf-spine\", \"leaves\": 2, \"spines\": 1, "
                              "\"uplink_bandwidth\": \"100Gb/s\"}}, \"model\": \"flow\"}");
    cs_case   *c      = NULL;
    cs_result  result = {0};
    cs_error   err    = {0};

    cr_assert_eq(cs_case_open(config, 1, &c, &err), CS_EINVAL);
    cr_assert_null(c);
    cr_assert_eq(cs_case_open(config, 0, &c, NULL), CS_OK);
    cs_config_free(config);
    cr_assert_eq(cs_job_run(cs_case_job(c), NULL, 0, &result, NULL), CS_OK);
    cr_assert(result.verified);
    cr_assert_str_eq(result.model, "flow");
    cr_assert_eq(result.ranks, 4);
    cr_assert_not_null(strstr(cs_case_json(c), "leaf-spine"));
    cs_case_close(c);
    cs_case_close(NULL);
}

static cs_status do_all(char **run_p, char **bounds_p)
{
    static const char text[] = "{\"bytes\": 4096, \"sweep\": {\"cluster.ranks\": [4, 6, 8]}}";
    cs_config        *config = NULL;
    cs_case          *c      = NULL;
    cs_status         status = cs_config_parse(text, strlen(text), "here", &config, NULL);

    if (status == CS_OK) {
        status = cs_config_run(config, 1, run_p, NULL);
    }
    if (status == CS_OK) {
        status = cs_config_set(config, "cluster.ranks", "5", "", NULL);
    }
    if (status == CS_OK) {
        status = cs_config_bounds(config, bounds_p, NULL);
    }
    if (status == CS_OK) {
        status = cs_case_open(config, 0, &c, NULL);
    }
    cs_case_close(c);
    cs_config_free(config);
    return status;
}

Test(library, every_failed_allocation_is_reported)
{
    cs_status status = CS_ENOMEM;
    long      passes = 0;

    for (; status != CS_OK; passes++) {
        char *json = NULL, *bounds = NULL;
        cs_alloc_fail_after(passes);
        status = do_all(&json, &bounds);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "passes %ld: %s", passes,
                  cs_status_text(status));
        cs_string_free(json);
        cs_string_free(bounds);
    }
    cr_assert_gt(passes, 100);
}
