/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What-if jobs whose times can be worked out by hand, for the tests of their parts.
 *
 * 16 ranks, alpha 0, 2.4e8 bytes at 1.8e9 B/s: the ring takes 30 steps of 1.5e7 bytes, 0.25 s; on
 * 15 ranks it takes 28 steps of 1.6e7 bytes. With 1 s of compute, a healthy iteration is 1.25 s,
 * with a NIC at half its rate 1.5 s. */
#ifndef CS_TESTS_WHATIF_SETUP_H
#define CS_TESTS_WHATIF_SETUP_H

#include "base/alloc.h"
#include "base/random.h"
#include "cs/result.h"
#include "support/config.h"
#include "support/rng.h"
#include "whatif/whatif.h"
#include "whatif/whatif_json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N         100.0
#define SMALLER_S (28 * 1.6e7 / 1.8e9) /* the ring on 15 ranks */
#define GPU_HOURS (16 / 3600.0)
#define CLUSTER   "\"cluster\": {\"ranks\": 16, \"nic\": {\"bandwidth\": 1.8e9, \"alpha\": 0}}"
#define JOB       "\"job\": {\"iterations\": 100, \"compute\": \"1s\", \"bytes\": 240000000}"

typedef struct outcome {
    cs_whatif_job    job;
    cs_whatif_report report;
} outcome;

static inline cs_status try_job(const char *json, outcome *o, cs_error *err)
{
    cs_config *config = NULL;
    cs_status  status = ct_config_load(json, &config, err);

    if (status == CS_OK) {
        status = cs_whatif_read(config, &o->job, err);
    }
    if (status == CS_OK) {
        status = cs_whatif_run(&o->job, &o->report, err);
    }
    cs_config_free(config);
    return status;
}

static inline void release(outcome *o)
{
    cs_whatif_free(&o->report);
    cs_whatif_job_free(&o->job);
}

/* Refused, in words that contain `words`. */
static inline void expect_refused(const char *json, const char *words)
{
    outcome  o   = {0};
    cs_error err = {0};
    char     text[800];

    cr_assert_neq(try_job(json, &o, &err), CS_OK, "accepted: %s", json);
    cs_error_text(&err, text, sizeof text);
    cr_expect_not_null(strstr(text, words), "%s: %s", json, text);
    release(&o);
}

/* A job that ran runs again and again: the first, the second and, the later the rarer, other
 * allocations fail until it succeeds. */
static inline void run_without_memory(const cs_whatif_job *job)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status == CS_ENOMEM; passes += 1 + passes * CT_EVERY / 16) {
        cs_whatif_report report = {0};
        cs_error         err    = {0};
        cs_alloc_fail_after(passes);
        status = cs_whatif_run(job, &report, &err);
        cs_alloc_fail_after(-1);
        cs_whatif_free(&report);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
        cr_assert_lt(passes, 1000000);
    }
    cr_assert_eq(status, CS_OK);
}

/* The standard job on a cluster with these faults and timers (parts of JSON). */
static inline outcome run_on(const char *cluster, const char *faults, const char *timers)
{
    char     json[2400];
    outcome  o   = {0};
    cs_error err = {0};

    snprintf(json, sizeof json, "{" JOB ", %s, \"faults\": [%s], \"timers\": {%s}}", cluster,
             faults, timers);
    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s: %s", err.where, err.message);
    return o;
}

static inline outcome run(const char *faults, const char *timers)
{
    return run_on(CLUSTER, faults, timers);
}

static inline const cs_whatif_line *line_of(const outcome *o, const char *policy)
{
    for (size_t i = 0; i < o->report.n_lines; i++) {
        if (strcmp(o->report.lines[i].policy->name, policy) == 0) {
            return &o->report.lines[i];
        }
    }
    cr_assert_fail("no line of %s", policy);
    return NULL;
}

static inline double total(const outcome *o, const char *policy)
{
    return line_of(o, policy)->total_s;
}

static inline bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

#define EXPECT_NEAR(a, b) cr_expect(is_near((a), (b)), "%.15g, not %.15g", (a), (double)(b))

/* Pieces follow each other from 0 to the end and hold all iterations. */
static inline void check_intervals(const cs_whatif_line *line, double end_s, double iterations)
{
    double at_s = 0, sum = 0;

    for (size_t i = 0; i < line->n_intervals; i++) {
        cr_assert(is_near(line->intervals[i].from_s, at_s), "%s: a gap", line->policy->name);
        cr_assert_geq(line->intervals[i].until_s, line->intervals[i].from_s);
        at_s = line->intervals[i].until_s;
        sum += line->intervals[i].iterations - line->intervals[i].lost;
    }
    cr_assert(is_near(at_s, end_s), "%s: %g, not %g", line->policy->name, at_s, end_s);
    cr_assert(is_near(sum, iterations), "%s: %.15g", line->policy->name, sum);
    cr_assert_eq(line->iterations, sum);
}

/* One AllReduce of an algorithm on 16 ranks, one of them always slow. */
static inline double call_s(const char *name, double slowdown)
{
    const cs_capacity   fault     = {0, slowdown, 0, (double)INFINITY, false};
    const cs_fabric     nic       = {CS_SWITCHED, 0, 1.8e9};
    const cs_algorithm *algorithm = NULL;
    cs_result           result;
    cs_job              job = {
                     .scenario = {.bytes = 240000000,
                                  .cluster = {.n_ranks = 16, .gpus_per_server = 1, .fabrics = {nic, nic}},
                                  .capacity   = &fault,
                                  .n_capacity = 1}};

    cr_assert_eq(cs_algorithm_find(name, &algorithm, NULL), CS_OK);
    cs_job_set_algorithm(&job, algorithm, NULL);
    cs_job_set_model(&job, cs_models[0], NULL);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, NULL), CS_OK);
    return result.elapsed_s;
}

/* Faults of three ranks at random, none of which overlap where `stride` ranks are on servers of
 * their own. */
static inline void random_faults(uint64_t seed, unsigned stride, char *faults, size_t bytes)
{
    size_t length = 0;

    faults[0] = '\0';
    for (unsigned rank = 0; rank < 3; rank++) {
        double at_s = 0;
        for (unsigned i = 0; i < 6; i++) {
            uint64_t word = cs_mix64(seed * 64 + rank * 8 + i);
            double   from = at_s + (double)(word % 997) / 50,
                   until  = from + 0.01 + (double)(word >> 40) / 1e6;
            length += (size_t)snprintf(faults + length, bytes - length,
                                       "%s{\"rank\": %u, \"slowdown\": %g, \"from\": %.17g, "
                                       "\"until\": %.17g%s}",
                                       length > 0 ? "," : "", rank * stride,
                                       1 + (double)(word >> 20 & 63) / 16, from, until,
                                       word >> 30 & 1 ? ", \"down\": true" : "");
            at_s = until;
        }
    }
}

#endif
