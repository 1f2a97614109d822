/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrations from files: refused in one line with a place, or one that is written and read
 * back the same, and that predicts positive times wherever it answers.
 */
#include "base/text.h"
#include "fuzz.h"
#include "traces/calibration_json.h"

#include <math.h>
#include <string.h>

static void claim_answer(const cs_calibration *calibration, uint64_t bytes)
{
    double   alpha_s = -1, bandwidth_Bps = -1;
    cs_error err = {0};

    if (cs_calibration_apply(calibration, calibration->collective, calibration->n_ranks, bytes,
                             &alpha_s, &bandwidth_Bps, &err) != CS_OK) {
        fuzz_claim_error(err.status, &err);
        return;
    }
    FUZZ_CLAIM(isfinite(alpha_s) && alpha_s >= 0);
    FUZZ_CLAIM(isfinite(bandwidth_Bps) && bandwidth_Bps > 0);
}

/* Every message in reach has a regime, ports and a time. */
static void claim_level(const cs_level *level)
{
    const cs_regime *regimes = level->regimes;
    cs_regime        regime;

    for (size_t i = 0; i < level->n_regimes; i++) {
        const uint64_t sizes[] = {regimes[i].min_bytes, regimes[i].max_bytes,
                                  regimes[i].max_bytes + 1};
        for (size_t s = 0; s < 3; s++) {
            if (cs_level_regime(level, sizes[s], false, &regime)) {
                double time_s = cs_line_at(&regime.line, sizes[s]);
                FUZZ_CLAIM(isfinite(time_s) && time_s >= 0 && regime.alpha_s >= 0);
                FUZZ_CLAIM(isfinite(regime.bandwidth_Bps) && regime.bandwidth_Bps > 0);
            }
        }
    }
}

static void use_calibration(const cs_calibration *calibration)
{
    cs_text table = {0};

    if (calibration->levels != NULL) {
        claim_level(&calibration->levels->of[CS_NIC]);
        claim_level(&calibration->levels->of[CS_NVLINK]);
        claim_answer(calibration, 1024);
        cs_calibration_table(calibration, &table);
        cs_text_free(&table);
        return;
    }
    FUZZ_CLAIM(calibration->n_regimes >= 1 && calibration->n_regimes <= CS_MAX_REGIMES);
    for (size_t i = 0; i < calibration->n_regimes; i++) {
        const cs_regime *regime  = &calibration->regimes[i];
        double           least_s = cs_line_at(&regime->line, regime->min_bytes);
        double           most_s  = cs_line_at(&regime->line, regime->max_bytes);
        claim_answer(calibration, regime->min_bytes);
        claim_answer(calibration, regime->max_bytes);
        FUZZ_CLAIM(isfinite(least_s) && least_s >= 0 && isfinite(most_s) && most_s >= 0);
    }
    claim_answer(calibration, 0);
    claim_answer(calibration, UINT64_MAX);
    cs_calibration_table(calibration, &table);
    FUZZ_CLAIM(!table.failed && table.length > 0);
    cs_text_free(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    cs_calibration *calibration = NULL, *again = NULL;
    cs_error        err   = {0};
    cs_text         first = {0}, second = {0};
    cs_status       status =
        cs_calibration_parse((const char *)data, length, "input", &calibration, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        FUZZ_CLAIM(strcmp(err.input, "input") == 0 || status == CS_ENOMEM);
        return 0;
    }
    use_calibration(calibration);
    cs_calibration_json(calibration, &first);
    FUZZ_CLAIM(cs_calibration_parse(first.data, first.length, "own", &again, &err) == CS_OK);
    cs_calibration_json(again, &second);
    FUZZ_CLAIM(strcmp(first.data, second.data) == 0);
    cs_calibration_free(again);
    cs_calibration_free(calibration);
    cs_text_free(&first);
    cs_text_free(&second);
    return 0;
}
