/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/montecarlo_json.h -- what the algorithms know beforehand about who is late.
 *
 * The key "montecarlo" of a configuration. It concerns algorithms with an option `straggler`
 * (the rank that they presume late); the others wait for everybody and presume nothing.
 */
#ifndef CS_CONFIG_MONTECARLO_JSON_H
#define CS_CONFIG_MONTECARLO_JSON_H

#include "cs/algorithm.h"

/* X(id, name, summary). */
#define CS_PREDICTION_MAP(X)                                                          \
    X(ORACLE, "oracle", "the rank that will be last is known beforehand, at no cost") \
    X(STATIC, "static", "always the same presumed rank")                              \
    X(PREVIOUS, "previous", "the rank that was last in the iteration before")         \
    X(DYNAMIC, "dynamic", "the first n-1 to arrive begin, once they have agreed on who that is")

typedef enum cs_prediction {
#define X(id, name, summary) CS_PREDICTION_##id,
    CS_PREDICTION_MAP(X)
#undef X
        CS_PREDICTION_COUNT
} cs_prediction;

typedef struct cs_prediction_policy {
    cs_prediction       prediction;
    uint32_t            presumed;    /* of STATIC, and of PREVIOUS in iteration 0 */
    double              agreement_s; /* what agreeing costs: DYNAMIC, or with a fallback */
    const cs_algorithm *fallback;    /* run where the presumed rank is there when the others are;
                                        NULL: go on as presumed */
} cs_prediction_policy;

CS_API const char *cs_prediction_name(cs_prediction prediction);

#endif
