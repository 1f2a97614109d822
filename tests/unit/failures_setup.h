/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs whose components fail, drawn or recorded, for the tests of both. */
#ifndef CS_TESTS_FAILURES_SETUP_H
#define CS_TESTS_FAILURES_SETUP_H

#include "whatif/failures.h"
#include "whatif_setup.h"

#define DAY_S 86400.0

typedef struct study {
    cs_whatif_job     job;
    cs_failure_report report;
} study;

static inline cs_status try_study_of(const char *json, size_t n_threads, study *s, cs_error *err)
{
    cs_config *config = NULL;
    cs_status  status = ct_config_load(json, &config, err);

    if (status == CS_OK) {
        status = cs_whatif_read(config, &s->job, err);
    }
    if (status == CS_OK) {
        status = cs_failures_run(&s->job, n_threads, &s->report, err);
    }
    cs_config_free(config);
    return status;
}

static inline void release_study(study *s)
{
    cs_failure_report_free(&s->report);
    cs_whatif_job_free(&s->job);
}

static inline const cs_failure_line *line_in(const cs_failure_setting *setting, const char *policy)
{
    for (size_t i = 0; i < setting->n_lines; i++) {
        if (strcmp(setting->lines[i].policy->name, policy) == 0) {
            return &setting->lines[i];
        }
    }
    cr_assert_fail("no line of %s", policy);
    return NULL;
}

#endif
