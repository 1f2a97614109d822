/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/config.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cs_status ct_config_load(const char *json, cs_config **config_p, cs_error *err)
{
    char path[] = "/tmp/collsim-test-XXXXXX";
    int  file   = mkstemp(path);

    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, json, strlen(json)), (ssize_t)strlen(json));
    close(file);
    cs_status status = cs_config_load(path, config_p, err);
    unlink(path);
    return status;
}

cs_config *ct_config_of(const char *json)
{
    cs_config *config = NULL;
    cs_error   err    = {0};

    cr_assert_eq(ct_config_load(json, &config, &err), CS_OK, "%s: %s", err.where, err.message);
    return config;
}

cs_config *ct_config_example(const char *name)
{
    cs_config *config = NULL;
    cs_error   err    = {0};
    char       file[512];

    (void)snprintf(file, sizeof file, "%s/configs/%s.json", COLLSIM_SOURCE_DIR, name);
    cr_assert_eq(cs_config_load(file, &config, &err), CS_OK, "%s: %s", file, err.message);
    return config;
}

void ct_set_from(cs_config *config, const char *key, const char *json, const char *origin)
{
    cs_error err = {0};
    cr_assert_eq(cs_config_set(config, key, json, origin, &err), CS_OK, "%s: %s", err.where,
                 err.message);
}

void ct_set(cs_config *config, const char *key, const char *json)
{
    ct_set_from(config, key, json, "--set");
}

cs_case ct_case(const cs_config *config, size_t index)
{
    cs_case  c   = {0};
    cs_error err = {0};
    cr_assert_eq(cs_config_case(config, index, &c, &err), CS_OK, "%s: %s", err.where, err.message);
    return c;
}

cs_result ct_result(const cs_case *c)
{
    cs_job    job    = c->job;
    cs_result result = {0};
    cs_error  err    = {0};

    job.verify = true;
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s: %s", err.where, err.message);
    cr_assert(result.verified);
    return result;
}

const char *ct_refusal(const cs_config *config, size_t index)
{
    static char text[900];
    cs_case     c   = {0};
    cs_error    err = {0};

    cr_assert_neq(cs_config_case(config, index, &c, &err), CS_OK);
    cr_assert_null(c.json);
    cs_error_text(&err, text, sizeof text);
    return text;
}

cs_status ct_cases(const cs_config *config, cs_error *err)
{
    cs_status status = CS_OK;

    for (size_t i = 0; status == CS_OK && i < cs_config_count(config); i++) {
        cs_case c = {0};
        status    = cs_config_case(config, i, &c, err);
        cs_case_free(&c);
    }
    return status;
}
