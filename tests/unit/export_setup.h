/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cases for the tests of exports, and their replays, which must succeed. */
#ifndef CS_TESTS_EXPORT_SETUP_H
#define CS_TESTS_EXPORT_SETUP_H

#include "cs/replay.h"
#include "results/export.h"
#include "support/config.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* A checked case and its plan. */
typedef struct job {
    cs_config *config;
    cs_case    c;
    cs_plan    plan;
} job;

static inline job open_job(const char *algorithm, const char *collective, unsigned ranks,
                           const char *bytes)
{
    job      j   = {0};
    cs_error err = {0};
    char     number[16];

    (void)snprintf(number, sizeof number, "%u", ranks);
    cr_assert_eq(cs_config_new(&j.config, &err), CS_OK);
    ct_set(j.config, "algorithm", algorithm);
    ct_set(j.config, "collective", collective);
    ct_set(j.config, "cluster.ranks", number);
    ct_set(j.config, "bytes", bytes);
    ct_set(j.config, "arrivals.late[]", "{\"rank\": 1, \"delay\": \"3us\"}");
    j.c = ct_case(j.config, 0);
    cr_assert_eq(j.c.algorithm->check(&j.c.scenario, &j.c.options, &j.plan, &err), CS_OK, "%s",
                 err.message);
    return j;
}

static inline void close_job(job *j)
{
    cs_case_free(&j->c);
    cs_config_free(j->config);
}

static inline cs_text export_job(const job *j, cs_export_format format)
{
    cs_text  text = {0};
    cs_error err  = {0};

    cr_assert_eq(cs_export_schedule(&j->c.scenario, j->c.algorithm, &j->c.options, &j->plan, format,
                                    &text, &err),
                 CS_OK, "%s", err.message);
    return text;
}

static inline cs_outcome replay(const job *j, const cs_algorithm *algorithm, const void *options,
                                const cs_plan *plan)
{
    cs_outcome        outcome = {0};
    cs_error          err     = {0};
    cs_replay_request request = {.scenario      = &j->c.scenario,
                                 .algorithm     = algorithm,
                                 .options       = options,
                                 .plan          = plan,
                                 .model         = j->c.model,
                                 .model_options = &j->c.model_options,
                                 .verify        = true};

    cr_assert_eq(cs_replay(&request, &outcome, &err), CS_OK, "%s", err.message);
    return outcome;
}

#endif
