/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cases of a configuration: from many threads, without memory, quickly, and those of the examples.
 */
#include "base/alloc.h"
#include "support/config.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { THREADS = 4, ROUNDS = 200 };

static void *build_all(void *user)
{
    const cs_config *config = user;
    size_t           n = cs_config_count(config), wrong = 0;

    for (size_t i = 0; i < ROUNDS; i++) {
        cs_case c = {0};
        wrong += cs_config_case(config, i % n, &c, NULL) != CS_OK ||
                 c.job.scenario.bytes != i % n / 2 + 1 ||
                 c.job.scenario.cluster.n_ranks != (i % 2 == 0 ? 4u : 8u);
        cs_case_free(&c);
    }
    return wrong == 0 ? user : NULL;
}

Test(config_cases, builds_cases_from_many_threads)
{
    cs_config *config = ct_config_of("{\"arrivals\": {\"late\": [{\"rank\": 1, \"delay\": 1}]},"
                                     " \"faults\": [{\"rank\": 0, \"slowdown\": 2}], \"sweep\":"
                                     " {\"bytes\": [1, 2, 3, 4, 5], \"cluster.ranks\": [4, 8]}}");
    pthread_t  threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, build_all, config), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        cr_assert_eq(result, config, "a thread got a wrong case");
    }
    cs_config_free(config);
}

/* Fail the 1st, 2nd, 3rd .. allocation until it works: every path without memory is clean. */
Test(config_cases, survives_every_failed_allocation)
{
    cs_config *config =
        ct_config_of("{\"arrivals\": {\"late\": [{\"rank\": 1, \"delay\": 1}]},"
                     " \"faults\": [{\"rank\": 0, \"slowdown\": 2}], \"model\":"
                     " {\"name\": \"loggp\", \"options\": {\"gap_s\": \"1us\"}}, \"sweep\":"
                     " {\"bytes\": [\"1M\"], \"algorithm\": [\"ring\", \"rhd\"]}}");
    cs_status status = CS_ENOMEM;
    cs_case   c      = {0};
    long      passes = 0;

    for (; status != CS_OK; passes++) {
        cs_error err = {0};
        cr_assert_lt(passes, 10000);
        cs_alloc_fail_after(passes);
        status = cs_config_case(config, 1, &c, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s: %s", err.where, err.message);
    }
    cr_assert_gt(passes, 20);
    cr_assert_str_eq(c.job.algorithm->name, "rhd");
    cs_case_free(&c);
    cs_config_free(config);
}

Test(config_cases, loads_and_changes_without_memory)
{
    static const char path[] = COLLSIM_SOURCE_DIR "/configs/late-rank.json";
    cs_status         status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_config *config = NULL;
        cr_assert_lt(passes, 10000);
        cs_alloc_fail_after(passes);
        status = cs_config_load(path, &config, NULL);
        if (status == CS_OK) {
            status =
                cs_config_set(config, "faults[]", "{\"rank\": 0, \"slowdown\": 2}", "-x", NULL);
        }
        if (status == CS_OK) {
            status = cs_config_sweep_set(config, "seed", "[1, 2]", "-y", NULL);
        }
        cs_config_free(config);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%ld: %s", passes,
                  cs_status_text(status));
    }
}

/* Every example of this folder that needs the engine only: all cases are accepted. */
Test(config_cases, examples_are_accepted)
{
    static const struct {
        const char *name;
        size_t      count;
    } examples[] = {{"fat-tree", 9}, {"half-nic", 2},      {"late-rank", 15}, {"platform", 3},
                    {"mesh", 15},    {"rail-network", 3},  {"rails", 18},     {"server", 3},
                    {"sizes", 9},    {"small-sweep", 225}, {"two-sockets", 9}};

    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        char       path[512];
        cs_config *config = NULL;
        cs_error   err    = {0};
        snprintf(path, sizeof path, "%s/configs/%s.json", COLLSIM_SOURCE_DIR, examples[i].name);
        cr_assert_eq(cs_config_load(path, &config, &err), CS_OK, "%s", err.message);
        cr_assert_eq(cs_config_count(config), examples[i].count, "%s", path);
        for (size_t k = 0; k < examples[i].count; k++) {
            cs_case c   = ct_case(config, k);
            c.job.model = NULL; /* no times */
            cr_assert_eq(cs_job_resolve(&c.job, &err), CS_OK, "%s: %s", examples[i].name,
                         err.message);
            cs_job_release(&c.job);
            cs_case_free(&c);
        }
        cs_config_free(config);
    }
}

/* About 5 us; sanitizers cost twenty times as much. */
#ifdef __SANITIZE_ADDRESS__
#define CASE_LIMIT_S 2e-3
#else
#define CASE_LIMIT_S 100e-6
#endif

Test(config_cases, builds_a_case_quickly)
{
    cs_config      *config = NULL;
    cs_error        err    = {0};
    struct timespec from, to;

    cr_assert_eq(cs_config_load(COLLSIM_SOURCE_DIR "/configs/small-sweep.json", &config, &err),
                 CS_OK);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (size_t i = 0; i < 2000; i++) {
        cs_case c = ct_case(config, i % 225);
        cs_case_free(&c);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    cr_assert_lt(seconds / 2000, CASE_LIMIT_S);
    cs_config_free(config);
}
