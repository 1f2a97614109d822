/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schedules from files, of JSON, MSCCL's XML or plans of MSCCL++: refused in one line with a place,
 * or a scenario that passes its check, with a verdict; and if it is correct, it replays in a time
 * that is a number.
 */
#include "cs/result.h"
#include "fuzz.h"
#include "schedules/schedule_json.h"
#include "study/config.h"

#include <math.h>
#include <string.h>

enum { MAX_RANKS = 512, MAX_CELLS = 1 << 18 };

static void use_schedule(const cs_stored *stored, cs_scenario *scenario)
{
    const cs_stored_options options = {stored};
    cs_job                  job     = {.verify = true};
    cs_verdict              verdict = {0};
    cs_result               result  = {0};
    cs_error                err     = {0};

    cs_schedule_scenario(stored, scenario);
    scenario->arrival_s  = NULL;
    scenario->capacity   = NULL;
    scenario->n_capacity = 0;
    if (cs_scenario_check(scenario, &err) != CS_OK) {
        fuzz_claim_error(err.status, &err);
        return;
    }
    job.scenario = *scenario;
    cs_job_set_algorithm(&job, &cs_algorithm_stored, &options);
    cs_job_set_model(&job, cs_models[0], NULL);
    FUZZ_CLAIM(cs_job_resolve(&job, &err) == CS_OK);
    FUZZ_CLAIM(cs_job_verify(&job, &verdict, &err) == CS_OK);
    FUZZ_CLAIM(memchr(verdict.text, '\0', sizeof verdict.text) != NULL);
    FUZZ_CLAIM(verdict.is_correct || verdict.text[0] != '\0');
    FUZZ_CLAIM(cs_job_run(&job, NULL, 0, &result, &err) == CS_OK);
    cs_job_release(&job);
    FUZZ_CLAIM(result.verified == verdict.is_correct);
    FUZZ_CLAIM(isfinite(result.elapsed_s) && result.elapsed_s >= 0);
    FUZZ_CLAIM(!result.verified || result.bound_s <= result.elapsed_s * (1 + 1e-9));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    cs_stored *stored = NULL;
    cs_config *config = NULL;
    cs_case    base   = {0};
    cs_error   err    = {0};
    cs_status  status = cs_schedule_parse((const char *)data, length, "input", &stored, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        FUZZ_CLAIM(strcmp(err.input, "input") == 0 || status == CS_ENOMEM);
        return 0;
    }
    bool is_small = stored->n_ranks <= MAX_RANKS &&
                    (uint64_t)stored->n_ranks * stored->plan.n_slots <= MAX_CELLS;
    if (is_small && cs_config_new(&config, &err) == CS_OK &&
        cs_config_case(config, 0, &base, &err) == CS_OK) {
        use_schedule(stored, &base.job.scenario);
    }
    cs_case_free(&base);
    cs_config_free(config);
    cs_stored_free(stored);
    return 0;
}
