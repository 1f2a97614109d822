/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cases for the tests of exports, and their replays, which must succeed. */
#ifndef CS_TESTS_EXPORT_SETUP_H
#define CS_TESTS_EXPORT_SETUP_H

#include "algorithms/stored.h"
#include "cs/job.h"
#include "schedules/export.h"
#include "support/config.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* A case whose job is resolved. */
typedef struct sample {
    cs_config *config;
    cs_case    c;
} sample;

static inline sample open_sample(const char *algorithm, const char *collective, unsigned ranks,
                                 const char *bytes)
{
    sample   j   = {0};
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
    cr_assert_eq(cs_job_resolve(&j.c.job, &err), CS_OK, "%s", err.message);
    return j;
}

static inline void close_sample(sample *j)
{
    cs_job_release(&j->c.job);
    cs_case_free(&j->c);
    cs_config_free(j->config);
}

static inline cs_text export_sample(const sample *j, cs_export_format format)
{
    cs_text  text = {0};
    cs_error err  = {0};

    cr_assert_eq(cs_export_schedule(&j->c.job, format, &text, &err), CS_OK, "%s", err.message);
    return text;
}

/* A job that runs this schedule, resolved. */
static inline cs_job stored_job(const cs_job *instead_of, const cs_stored *stored)
{
    const cs_stored_options options = {stored};
    cs_job                  job     = *instead_of;
    cs_error                err     = {0};

    job.is_resolved = false;
    cs_job_set_algorithm(&job, &cs_algorithm_stored, &options);
    cr_assert_eq(cs_job_resolve(&job, &err), CS_OK, "%s", err.message);
    return job;
}

static inline cs_outcome replay(const cs_job *given)
{
    cs_outcome outcome = {0};
    cs_error   err     = {0};
    cs_job     job     = *given;

    job.verify = true;
    cr_assert_eq(cs_job_replay(&job, NULL, 0, &outcome, &err), CS_OK, "%s", err.message);
    return outcome;
}

#endif
