/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many iterations for the tests of their parts: configurations, runs and draws that must succeed,
 * and a folder for what they store. */
#ifndef CS_TESTS_MONTECARLO_SETUP_H
#define CS_TESTS_MONTECARLO_SETUP_H

#include "base/alloc.h"
#include "campaign/montecarlo.h"
#include "campaign/samples.h"
#include "support/config.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The file of the results is in the folder; neither is made by tests that only name it. */
static char folder[CT_FOLDER_BYTES], path[128];

static inline void set_up(void)
{
    ct_folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/m.db", folder);
}

static inline void tear_down(void)
{
    ct_folder_remove(folder);
}

/* 8 GPUs at 300 GB/s with 3 us. */
static inline cs_config *eight_gpus(const char *algorithm)
{
    cs_config *config = NULL;

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    ct_set(config, "cluster",
           "{\"ranks\": 8, \"nic\": {\"bandwidth\": \"300GB/s\", \"alpha\": \"3us\"}}");
    ct_set(config, "algorithm.name", algorithm);
    return config;
}

/* With 56 chunks' worth of bytes: every closed form holds. */
#define BYTES 1073741816.0
#define ALPHA 3e-6

static inline cs_config *base_config(const char *algorithm)
{
    cs_config *config = eight_gpus(algorithm);

    ct_set(config, "bytes", "1073741816");
    return config;
}

#define RANDOM_ARRIVALS                                                                      \
    "{\"distribution\": {\"name\": \"lognormal\", \"mean\": \"1ms\", \"stddev\": \"1ms\"}, " \
    "\"straggler\": {\"rank\": 0, \"persistence\": 0.8, "                                    \
    "\"delay\": {\"name\": \"exponential\", \"mean\": \"4ms\"}}}"

static inline cs_config *random_config(void)
{
    cs_config *config = base_config("ring");

    ct_set(config, "arrivals", RANDOM_ARRIVALS);
    ct_set(config, "montecarlo", "{\"prediction\": \"static\"}");
    ct_set(config, "sweep.algorithm.name",
           "[\"ring\", \"rhd\", \"allpairs\", \"broadcast\", \"stragglar\"]");
    return config;
}

static inline cs_montecarlo_options options_of(size_t iterations, unsigned jobs)
{
    return (cs_montecarlo_options){.iterations = iterations, .jobs = jobs, .confidence = 0.95};
}

static inline cs_montecarlo_report run(const cs_config             *config,
                                       const cs_montecarlo_options *options)
{
    cs_montecarlo_report report = {0};
    cs_error             err    = {0};

    cr_assert_eq(cs_montecarlo_run(config, options, &report, &err), CS_OK, "%s: %s", err.where,
                 err.message);
    return report;
}

static inline cs_text json_of(const cs_montecarlo_report *report)
{
    cs_text text = {0};
    cs_montecarlo_json(&text, report->rows, report->n_rows, &report->swept);
    cr_assert_not(text.failed);
    return text;
}

static inline cs_text json_of_run(const cs_config *config, const cs_montecarlo_options *options)
{
    cs_montecarlo_report report = run(config, options);
    cs_text              text   = json_of(&report);
    cs_montecarlo_report_free(&report);
    return text;
}

static inline cs_samples samples_of(const cs_case *c, size_t n, bool is_replayed)
{
    cs_samples          samples = {0};
    cs_error            err     = {0};
    cs_sampling_request request = {.iterations = n, .jobs = 2, .is_replayed = is_replayed};

    cr_assert_eq(cs_samples_draw(c, &request, &samples, &err), CS_OK, "%s", err.message);
    return samples;
}

/* Steps of StragglAR, of its pre-phase and of a ring with these bytes. */
static const double tau   = ALPHA + BYTES / 7 / 300e9;
static const double t_rs  = 6 * (ALPHA + BYTES / 7 / 300e9);
static const double ring8 = 14 * (ALPHA + BYTES / 8 / 300e9);

/* For `progress`: ask for a stop at the given one. */
static volatile sig_atomic_t stop;

static inline void stop_at(void *user, uint64_t done, uint64_t total)
{
    (void)total;
    stop = done >= *(uint64_t *)user;
}

/* Whatever allocation fails, the run says so and nothing leaks; with a file every other time, or
 * never. */
static inline void fail_each_allocation(const cs_config *config, size_t iterations, bool has_file)
{
    cs_montecarlo_options options = options_of(iterations, 1);
    cs_status             status  = CS_ENOMEM;
    long                  passes = 0, n_missing = 1;

    for (; (status == CS_ENOMEM || n_missing > 0) && passes < 5000; passes++) {
        cs_montecarlo_report report = {0};
        cs_error             err    = {0};
        options.path                = has_file && passes % 2 == 0 ? path : NULL;
        unlink(path);
        cs_alloc_fail_after(passes);
        status = cs_montecarlo_run(config, &options, &report, &err);
        cs_alloc_fail_after(-1);
        n_missing = (long)report.count.missing;
        cr_assert(n_missing == 0 || report.count.failure.status == CS_ENOMEM);
        cs_montecarlo_report_free(&report);
    }
    cr_expect_eq(status, CS_OK);
    cr_expect_gt(passes, 50);
}

#endif
