/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "arrivals" of a configuration: parameters in users' terms become the right
 * distributions, and traces are found, checked and remembered. What is refused is in
 * tests/errors. */
#include "base/text.h"
#include "support/config.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[CT_FOLDER_BYTES];

static void set_up(void)
{
    ct_folder_make(folder);
}

static void tear_down(void)
{
    ct_folder_remove(folder);
}

TestSuite(arrivals_json, .init = set_up, .fini = tear_down);

static void write_file(const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    ct_file_write(path, text);
}

static cs_config *load(const char *text)
{
    char       path[128];
    cs_config *config = NULL;
    cs_error   err    = {0};

    write_file("c.json", text);
    snprintf(path, sizeof path, "%s/c.json", folder);
    cr_assert_eq(cs_config_load(path, &config, &err), CS_OK, "%s", err.message);
    return config;
}

static void expect_distribution(const char *json, double mean_s, double stddev_s)
{
    char       text[300];
    cs_config *config;

    snprintf(text, sizeof text, "{\"arrivals\": {\"distribution\": %s}}", json);
    config                   = load(text);
    cs_case                c = ct_case(config, 0);
    const cs_distribution *d = &c.arrivals.distribution;
    cr_expect(c.arrivals.has_distribution);
    cr_expect_float_eq(cs_distribution_mean(d), mean_s, 1e-9 * mean_s, "%s: mean %.12g", json,
                       cs_distribution_mean(d));
    if (isfinite(stddev_s)) {
        cr_expect_float_eq(cs_distribution_stddev(d), stddev_s, 1e-9 * (stddev_s + 1e-6),
                           "%s: stddev %.12g", json, cs_distribution_stddev(d));
    }
    cs_case_free(&c);
    cs_config_free(config);
}

Test(arrivals_json, parameters_mean_what_they_say)
{
    double none = (double)NAN;

    expect_distribution("\"3ms\"", 3e-3, 0);
    expect_distribution("0.002", 2e-3, 0);
    expect_distribution("{\"name\": \"constant\", \"value\": \"5us\"}", 5e-6, 0);
    expect_distribution("{\"name\": \"uniform\", \"min\": \"1ms\", \"max\": \"3ms\"}", 2e-3,
                        2e-3 / sqrt(12));
    expect_distribution("{\"name\": \"exponential\", \"mean\": \"4ms\"}", 4e-3, 4e-3);
    expect_distribution("{\"name\": \"lognormal\", \"mean\": \"3ms\", \"stddev\": \"1ms\"}", 3e-3,
                        1e-3);
    expect_distribution("{\"name\": \"lognormal\", \"median\": \"3ms\", \"sigma\": 0.5}",
                        3e-3 * exp(0.125), none);
    expect_distribution("{\"name\": \"gamma\", \"mean\": \"3ms\", \"stddev\": \"2ms\"}", 3e-3,
                        2e-3);
    expect_distribution("{\"name\": \"gamma\", \"scale\": \"3ms\", \"shape\": 4}", 12e-3, 6e-3);
    expect_distribution("{\"name\": \"weibull\", \"mean\": \"3ms\", \"shape\": 1}", 3e-3, 3e-3);
    expect_distribution("{\"name\": \"weibull\", \"scale\": \"2ms\", \"shape\": 2}",
                        2e-3 * sqrt(acos(-1)) / 2, none);
    expect_distribution("{\"name\": \"pareto\", \"mean\": \"3ms\", \"shape\": 3}", 3e-3,
                        2e-3 * sqrt(0.75));
    expect_distribution("{\"name\": \"pareto\", \"scale\": \"2ms\", \"shape\": 3}", 3e-3, none);
    expect_distribution("{\"name\": \"empirical\", \"values\": [\"4ms\", 0, 0.002]}", 2e-3,
                        sqrt(8e-6 / 3));
    /* A normal distribution far above 0 is not cut. */
    expect_distribution("{\"name\": \"normal\", \"mean\": \"9ms\", \"stddev\": \"1ms\"}", 9e-3,
                        1e-3);
    expect_distribution("{\"name\": \"normal\", \"mean\": 0, \"stddev\": \"1ms\"}",
                        1e-3 * sqrt(2 / acos(-1)), 1e-3 * sqrt(1 - 2 / acos(-1)));
}

/* One vector for `run` and the others; another seed, another vector; fixed delays add. */
Test(arrivals_json, a_scenario_has_the_arrivals_of_iteration_0)
{
    cs_config *config =
        load("{\"cluster\": {\"ranks\": 4}, \"arrivals\": {\"late\": [{\"rank\": 2, "
             "\"delay\": \"1s\"}], \"distribution\": {\"name\": \"exponential\", "
             "\"mean\": \"1ms\"}}}");
    cs_case  a = ct_case(config, 0), b = ct_case(config, 0);
    cs_error err = {0};

    cr_assert_not_null(a.job.scenario.arrival_s);
    cr_expect_eq(memcmp(a.job.scenario.arrival_s, b.job.scenario.arrival_s, 4 * sizeof(double)), 0);
    cr_expect_eq(cs_last_rank(&a.job.scenario), 2);
    cr_expect_float_eq(cs_last_arrival(&a.job.scenario), 1, 0.02);
    cs_case_free(&b);
    cr_assert_eq(cs_config_set(config, "seed", "7", "--set", &err), CS_OK);
    b = ct_case(config, 0);
    cr_expect_neq(memcmp(a.job.scenario.arrival_s, b.job.scenario.arrival_s, 4 * sizeof(double)),
                  0);
    cs_case_free(&a);
    cs_case_free(&b);
    cs_config_free(config);
}

static const char trace[] = "iteration,rank,arrival_s\n"
                            "0,0,0\n0,1,0.001\n0,2,0.002\n"
                            "1,0,0.003\n1,1,0\n1,2,0.001\n";

#define TRACE_CONFIG(arrivals) "{\"cluster\": {\"ranks\": 3}, \"arrivals\": " arrivals "}"

Test(arrivals_json, a_trace_is_found_beside_its_configuration)
{
    write_file("t.csv", trace);
    cs_config *config = load(TRACE_CONFIG("{\"trace\": {\"path\": \"t.csv\"}}"));
    cs_case    c      = ct_case(config, 0);
    cs_error   err    = {0};
    char       path[128];

    cr_expect_eq(c.arrivals.trace.n_calls, 2);
    cr_expect_not(c.arrivals.resamples);
    cr_expect_eq(c.job.scenario.arrival_s[2], 0.002);
    cr_expect_eq(cs_trace_arrival(&c.arrivals.trace, 1, 0), 0.003);
    cs_case_free(&c);
    cr_assert_eq(cs_config_set(config, "arrivals.trace.path", "t.csv", "--set", &err), CS_OK);
    cr_expect_eq(cs_config_case(config, 0, &c, &err), CS_EIO); /* beside the working folder */
    err = (cs_error){0};
    snprintf(path, sizeof path, "%s/t.csv", folder);
    cr_assert_eq(cs_config_set(config, "arrivals.trace.path", path, "--set", &err), CS_OK);
    cr_assert_eq(cs_config_set(config, "arrivals.trace.pick", "resample", "--set", &err), CS_OK);
    c = ct_case(config, 0);
    cr_expect(c.arrivals.resamples);
    cs_config_free(config);
    cr_expect_eq(cs_trace_arrival(&c.arrivals.trace, 0, 1), 0.001); /* outlives it */
    cs_case_free(&c);
}

/* The scenario says which arrivals it had, so that a changed file is another scenario. */
Test(arrivals_json, a_scenario_remembers_the_traces_fingerprint)
{
    write_file("t.csv", trace);
    cs_config  *config = load(TRACE_CONFIG("{\"trace\": {\"path\": \"t.csv\"}}"));
    cs_case     a      = ct_case(config, 0), b;
    cs_error    err    = {0};
    const char *place  = strstr(a.json, "\"fingerprint\":\"");
    char        fingerprint[17];

    cr_assert_not_null(place);
    memcpy(fingerprint, place + strlen("\"fingerprint\":\""), 16);
    fingerprint[16] = '\0';
    cs_config_free(config);
    write_file("t.csv", "iteration,rank,arrival_s\n0,0,0\n0,1,0.001\n0,2,0.0021\n");
    config = load(TRACE_CONFIG("{\"trace\": {\"path\": \"t.csv\"}}"));
    b      = ct_case(config, 0);
    cr_expect_str_neq(a.json, b.json);
    cs_case_free(&b);
    cr_assert_eq(cs_config_set(config, "arrivals.trace.fingerprint", fingerprint, "--set", &err),
                 CS_OK);
    cr_expect_eq(cs_config_case(config, 0, &b, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "but the file holds other arrivals"));
    cs_config_free(config);
    write_file("t.csv", trace);
    config = load(a.json); /* what was stored is a configuration itself */
    b      = ct_case(config, 0);
    cr_expect_str_eq(a.json, b.json);
    cs_case_free(&a);
    cs_case_free(&b);
    cs_config_free(config);
}

Test(arrivals_json, delays_can_be_those_of_a_trace)
{
    write_file("t.csv", trace);
    cs_config *config = load(TRACE_CONFIG(
        "{\"distribution\": {\"name\": \"empirical\", \"trace\": \"t.csv\"}, \"straggler\": "
        "{\"persistence\": 1, \"delay\": {\"name\": \"empirical\", \"trace\": \"t.csv\"}}}"));
    cs_case    c      = ct_case(config, 0);

    cr_expect_eq(c.arrivals.distribution.n_values, 6);
    cr_expect_float_eq(cs_distribution_mean(&c.arrivals.distribution), 7e-3 / 6, 1e-15);
    cr_expect_eq(c.arrivals.straggler.delay.value_s[5], 3e-3);
    cs_case_free(&c);
    cs_config_free(config);
}
