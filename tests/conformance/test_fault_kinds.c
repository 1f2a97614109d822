/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every kind of fault in faults.def: what its key means, what is refused, and that it never makes
 * anything faster. */
#include "base/alloc.h"
#include "cs/result.h"
#include "scenario/case.h"
#include "scenario/fault.h"
#include "support/config.h"
#include "whatif/whatif_json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VALUES = 5, MOST_TEXT = 900 };

static const double nic_Bps = 450e9;

static const struct {
    const char *key;
    double      least, most;
} kinds[] = {
#define CS_FAULT(kind, key, least, most, ...) {key, least, most},
#include "scenario/faults.def"
#undef CS_FAULT
};

/* From the least to the most, most of them near the least. */
static double value_of(size_t kind, int i)
{
    double part = pow((double)i / (VALUES - 1), 20);
    return i == VALUES - 1 ? kinds[kind].most
                           : kinds[kind].least + part * (kinds[kind].most - kinds[kind].least);
}

/* A fault of rank 1 as an object; `value` may be "null". */
static const char *fault_json(size_t kind, const char *value, const char *when)
{
    static char text[200];

    snprintf(text, sizeof text, "{\"rank\": 1, \"%s\": %s%s}", kinds[kind].key, value, when);
    return text;
}

static const char *number_text(double value)
{
    static char text[40];

    snprintf(text, sizeof text, "%.17g", value);
    return text;
}

static cs_config *scenario_of(const char *fault)
{
    char json[MOST_TEXT];

    snprintf(json, sizeof json, "{\"cluster\": {\"ranks\": 4}, \"faults\": [%s]}", fault);
    return ct_config_of(json);
}

static cs_config *whatif_of(const char *fault)
{
    char json[MOST_TEXT];

    snprintf(
        json, sizeof json,
        "{\"job\": {\"iterations\": 1, \"compute\": 1, \"bytes\": 1}, \"cluster\": {\"ranks\": "
        "4}, \"faults\": [%s]}",
        fault);
    return ct_config_of(json);
}

static void expect_step(const cs_scenario *s, double slowdown)
{
    cr_assert_eq(s->n_capacity, 1);
    cr_assert_eq(s->capacity[0].rank, 1);
    cr_assert_eq(s->capacity[0].slowdown, slowdown);
    cr_assert_eq(s->capacity[0].from_s, 1e-3);
    cr_assert_eq(s->capacity[0].until_s, 2e-3);
}

/* A value is a slowdown that grows with it; the JSON of the scenario reads back as the same. */
Test(conformance_fault_kinds, are_read_and_read_back)
{
    for (size_t kind = 0; kind < CS_FAULT_KINDS; kind++) {
        double before = 0;
        for (int i = 0; i < VALUES; i++) {
            double     value    = value_of(kind, i);
            double     slowdown = cs_fault_slowdown((cs_fault_kind)kind, value);
            cs_case    c = {0}, again = {0};
            cs_error   err    = {0};
            cs_config *config = scenario_of(
                fault_json(kind, number_text(value), ", \"from\": \"1ms\", \"until\": \"2ms\""));
            cr_assert(slowdown >= 1 && slowdown <= CS_MAX_SLOWDOWN && slowdown > before,
                      "%s %g: %g", kinds[kind].key, value, slowdown);
            before = slowdown;
            cr_assert_eq(cs_config_case(config, 0, &c, &err), CS_OK, "%s", err.message);
            expect_step(&c.job.scenario, slowdown);
            cs_config_free(config);
            config = ct_config_of(c.json);
            cr_assert_eq(cs_config_case(config, 0, &again, &err), CS_OK, "%s", err.message);
            expect_step(&again.job.scenario, slowdown);
            cr_assert_str_eq(again.json, c.json);
            cs_case_free(&c);
            cs_case_free(&again);
            cs_config_free(config);
        }
    }
}

/* A what-if reads the same key; null means that nothing is left, `down` that nothing is at first.
 */
Test(conformance_fault_kinds, are_read_by_what_ifs)
{
    for (size_t kind = 0; kind < CS_FAULT_KINDS; kind++) {
        double        value  = value_of(kind, VALUES - 2);
        cs_config    *config = whatif_of(fault_json(kind, number_text(value), ", \"from\": 3"));
        cs_whatif_job job    = {0};
        cs_error      err    = {0};

        cr_assert_eq(cs_whatif_read(config, &job, &err), CS_OK, "%s", err.message);
        cr_assert_eq(job.n_faults, 1);
        cr_assert_eq(job.faults[0].kind, (cs_fault_kind)kind);
        cr_assert_eq(job.faults[0].capacity.slowdown,
                     cs_fault_slowdown((cs_fault_kind)kind, value));
        cr_assert_eq(job.faults[0].capacity.from_s, 3);
        cr_assert_not(job.faults[0].is_down);
        cs_whatif_job_free(&job);
        cs_config_free(config);

        config = whatif_of(fault_json(kind, number_text(value), ", \"down\": true"));
        cr_assert_eq(cs_whatif_read(config, &job, &err), CS_OK, "%s", err.message);
        cr_assert(job.faults[0].is_down && isfinite(job.faults[0].capacity.slowdown));
        cs_whatif_job_free(&job);
        cs_config_free(config);

        config = whatif_of(fault_json(kind, "null", ""));
        cr_assert_eq(cs_whatif_read(config, &job, &err), CS_OK, "%s", err.message);
        cr_assert(isinf(job.faults[0].capacity.slowdown) && job.faults[0].is_down);
        cs_whatif_job_free(&job);
        cs_config_free(config);
    }
}

static void expect_refused(const char *fault, const char *where)
{
    cs_config *config = scenario_of(fault);
    cs_case    c      = {0};
    cs_error   err    = {0};

    cr_assert_eq(cs_config_case(config, 0, &c, &err), CS_EINVAL, "%s", fault);
    cr_assert_str_eq(err.where, where);
    cr_assert_gt(err.input_line, 0);
    cs_config_free(config);
}

Test(conformance_fault_kinds, values_out_of_range_and_two_kinds_are_refused)
{
    char where[80], two[200];

    expect_refused("{\"rank\": 1}", "faults[0]");
    for (size_t kind = 0; kind < CS_FAULT_KINDS; kind++) {
        double beyond = kinds[kind].most + fmax(1, fabs(kinds[kind].most));
        snprintf(where, sizeof where, "faults[0].%s", kinds[kind].key);
        expect_refused(fault_json(kind, number_text(beyond), ""), where);
        expect_refused(fault_json(kind, number_text(kinds[kind].least - 0.5), ""), where);
        expect_refused(fault_json(kind, "\"much\"", ""), where);
        expect_refused(fault_json(kind, "null", ""), where);
        expect_refused(fault_json(kind, number_text(kinds[kind].least), ", \"until\": 0"),
                       "faults[0].until");
        for (size_t other = kind + 1; other < CS_FAULT_KINDS; other++) {
            snprintf(two, sizeof two, "{\"rank\": 1, \"%s\": %g, \"%s\": %g}", kinds[kind].key,
                     value_of(kind, 1), kinds[other].key, value_of(other, 1));
            snprintf(where, sizeof where, "faults[0].%s", kinds[other].key);
            expect_refused(two, where);
        }
    }
}

Test(conformance_fault_kinds, survive_every_failed_allocation)
{
    for (size_t kind = 0; kind < CS_FAULT_KINDS; kind++) {
        cs_config *config = scenario_of(fault_json(kind, number_text(value_of(kind, 3)), ""));
        cs_status  status = CS_ENOMEM;
        cs_case    c      = {0};

        for (long passes = 0; status != CS_OK; passes++) {
            cs_error err = {0};
            cr_assert_lt(passes, 10000);
            cs_alloc_fail_after(passes);
            status = cs_config_case(config, 0, &c, &err);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM, "%s: %s", err.where, err.message);
        }
        cr_assert_eq(c.job.scenario.n_capacity, 1);
        cs_case_free(&c);
        cs_config_free(config);
    }
}

/* The time with some faults; NAN where it is refused. */
static double elapsed_s(const cs_algorithm *algorithm, const cs_model *model, const char *faults)
{
    char      json[MOST_TEXT];
    cs_case   c      = {0};
    cs_error  err    = {0};
    cs_result result = {0};

    snprintf(
        json, sizeof json,
        "{\"algorithm\": \"%s\", \"model\": \"%s\", \"collective\": \"%s\", \"bytes\": \"1M\", "
        "\"cluster\": {\"ranks\": 8, \"nic\": {\"bandwidth\": %g}}, \"faults\": [%s]}",
        algorithm->name, model->name,
        cs_collective_name((cs_collective)__builtin_ctz(algorithm->collectives)), nic_Bps, faults);
    cs_config *config = ct_config_of(json);
    cr_assert_eq(cs_config_case(config, 0, &c, &err), CS_OK, "%s", err.message);
    cs_status status = cs_job_run(&c.job, NULL, 0, &result, &err);
    cr_assert(status == CS_OK || status == CS_ENOTSUP || status == CS_EINVAL, "%s", err.message);
    cr_assert(status != CS_OK || result.verified, "%s", json);
    cs_case_free(&c);
    cs_config_free(config);
    return status == CS_OK ? result.elapsed_s : (double)NAN;
}

/* How much faster a run may seem with a fault: nothing but rounding, unless packets queue. Who
 * comes later to a queue then lets another one go first, which may be the one that decides: here
 * one packet at most (StragglAR), which has 4178 bytes. How much it can be elsewhere, and what
 * bounds it, is in test_faults.c and sim/doc/packet.md. */
static double slack_s(const cs_model *model, double healthy_s)
{
    bool queues = model->network != NULL && model->network->queues_senders != NULL;

    return queues ? 4178 / nic_Bps : 1e-9 * healthy_s;
}

/* Slight and heavy, for ever and for a while: no algorithm is faster with it on any model. */
Test(conformance_fault_kinds, never_make_anything_faster, .timeout = 120)
{
    static const char *const whens[] = {"", ", \"from\": \"4us\", \"until\": \"9us\""};
    size_t                   seen    = 0;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        for (size_t m = 0; cs_models[m] != NULL; m++) {
            bool   is_foreign = cs_models[m]->network != NULL && cs_models[m]->network->is_foreign;
            double healthy_s =
                is_foreign ? (double)NAN : elapsed_s(cs_algorithms[a], cs_models[m], "");
            for (size_t kind = 0; kind < CS_FAULT_KINDS && !isnan(healthy_s); kind++) {
                for (int i = 0; i < 2 * (VALUES - 1); i++) {
                    const char *value  = number_text(value_of(kind, i / 2));
                    const char *fault  = fault_json(kind, value, whens[i % 2]);
                    double      with_s = elapsed_s(cs_algorithms[a], cs_models[m], fault);
                    seen += isnan(with_s) ? 0 : 1;
                    cr_expect(!(with_s < healthy_s - slack_s(cs_models[m], healthy_s)),
                              "%s, %s: %.12g s, with %s %.12g s", cs_algorithms[a]->name,
                              cs_models[m]->name, healthy_s, fault, with_s);
                }
            }
        }
    }
    cr_assert_gt(seen, (size_t)200 * CS_FAULT_KINDS, "only %zu ran", seen);
}
