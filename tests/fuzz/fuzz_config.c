/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configurations: whatever is in the file, each case is refused in one line or is a scenario that
 * passes its check, whose own JSON gives the same case again, and that runs (the small ones are
 * run) with a time that no bound exceeds.
 */
#include "base/alloc.h"
#include "base/text.h"
#include "cs/bound.h"
#include "cs/result.h"
#include "fuzz.h"
#include "output/result_rows.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { MAX_CASES = 4, MAX_RUN_RANKS = 24, MAX_TRANSFERS = 20000 };

/* A case's JSON is a configuration of one case: the same. */
static void claim_same_again(const cs_case *c)
{
    cs_config *config = NULL;
    cs_case    again  = {0};
    cs_error   err    = {0};

    if (strstr(c->json, "\"calibration\"") != NULL) {
        return;
    }
    FUZZ_CLAIM(fuzz_load_config(c->json, strlen(c->json), &config, &err) == CS_OK);
    FUZZ_CLAIM(cs_config_count(config) == 1);
    FUZZ_CLAIM(cs_config_case(config, 0, &again, &err) == CS_OK);
    FUZZ_CLAIM(strcmp(c->json, again.json) == 0);
    FUZZ_CLAIM(c->job.scenario.bytes == again.job.scenario.bytes);
    FUZZ_CLAIM(c->job.scenario.n_capacity == again.job.scenario.n_capacity);
    FUZZ_CLAIM(c->job.algorithm == again.job.algorithm && c->job.model == again.job.model);
    cs_case_free(&again);
    cs_config_free(config);
}

static void run_case(const cs_case *c)
{
    fuzz_limit  limit    = {.transfers_left = MAX_TRANSFERS};
    cs_observer observer = fuzz_limit_observer(&limit);
    cs_result   result   = {0};
    cs_error    err      = {0};
    cs_job      job      = c->job;

    job.verify       = true;
    cs_status status = cs_job_run(&job, &observer, 1, &result, &err);
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        return;
    }
    FUZZ_CLAIM(result.verified);
    FUZZ_CLAIM(isfinite(result.elapsed_s) && result.elapsed_s >= 0);
    FUZZ_CLAIM(result.exposed_s <= result.elapsed_s);
    FUZZ_CLAIM(result.bound_s <= result.elapsed_s * (1 + 1e-9));
}

/* It is refused in the same words without its place, and is text all the same. */
static void refuse_again(const cs_config *config, size_t index, const cs_error *refusal)
{
    cs_case  c    = {0};
    cs_error err  = {0};
    cs_text  text = {0};

    FUZZ_CLAIM(cs_config_try_case(config, index, &c, &err) == refusal->status);
    FUZZ_CLAIM(strcmp(err.message, refusal->message) == 0);
    FUZZ_CLAIM(strcmp(err.where, refusal->where) == 0);
    (void)!cs_config_point(config, index, &text, NULL);
    cs_text_free(&text);
}

/* Columns have names of their own, and every scenario has values. */
static void use_columns(const cs_config *config)
{
    cs_error          notes[2] = {{0}};
    cs_sweep_columns *columns  = NULL;
    cs_value          values[64];
    size_t            n = 0, n_notes = cs_config_notes(config, notes, 2);

    for (size_t i = 0; i < n_notes && i < 2; i++) {
        fuzz_claim_error(notes[i].status, &notes[i]);
    }
    FUZZ_CLAIM(cs_sweep_columns_open(config, cs_result_columns, &columns, NULL) == CS_OK);
    const char *const *names = cs_sweep_columns_names(columns, &n);
    for (size_t i = 0; i < n; i++) {
        FUZZ_CLAIM(names[i][0] != '\0');
        for (size_t k = 0; k < i; k++) {
            FUZZ_CLAIM(strcasecmp(names[i], names[k]) != 0);
        }
    }
    if (n <= sizeof values / sizeof values[0]) {
        cs_sweep_columns_row(columns, cs_config_count(config) - 1, values);
        for (size_t i = 0; i < n; i++) {
            bool is_text = values[i].type == CS_VALUE_TEXT || values[i].type == CS_VALUE_JSON;
            FUZZ_CLAIM(values[i].type <= CS_VALUE_JSON && (!is_text || values[i].text != NULL));
        }
    }
    cs_sweep_columns_close(columns);
}

static void use_case(const cs_config *config, size_t index)
{
    cs_case   c      = {0};
    cs_error  err    = {0};
    cs_status status = cs_config_case(config, index, &c, &err);

    if (status != CS_OK) {
        refuse_again(config, index, &err);
        fuzz_claim_error(status, &err);
        return;
    }
    FUZZ_CLAIM(cs_scenario_check(&c.job.scenario, &err) == CS_OK);
    FUZZ_CLAIM(c.job.algorithm != NULL && c.job.model != NULL);
    claim_same_again(&c);
    if (c.job.scenario.cluster.n_ranks <= MAX_RUN_RANKS) {
        run_case(&c);
    }
    cs_case_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    cs_config *config = NULL;
    cs_error   err    = {0};

    cs_status status = fuzz_load_config(data, length, &config, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        return 0;
    }
    size_t count = cs_config_count(config);
    FUZZ_CLAIM(count >= 1 && count <= CS_CONFIG_MAX_CASES);
    for (size_t i = 0; i < count && i < MAX_CASES; i++) {
        use_case(config, i);
    }
    use_case(config, count - 1);
    use_columns(config);
    cs_config_free(config);
    return 0;
}
