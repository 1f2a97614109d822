/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario/late_prediction.h -- which rank an algorithm presumes late in a call, how it knows, and
 * what its ranks pay to agree on it.
 *
 * An algorithm presumes a rank late where it has the option `straggler`; the others wait for
 * everybody. At the barrier `entry_barrier_s`, where it has that, the early ranks can agree on who
 * is missing.
 */
#ifndef CS_SCENARIO_LATE_PREDICTION_H
#define CS_SCENARIO_LATE_PREDICTION_H

#include "cs/algorithm.h"
#include "cs/named.h"

/* How it is known. X(id, name, summary). The first CS_PREDICTION_KEYS are words of a configuration:
 * montecarlo.prediction. */
#define CS_PREDICTION_MAP(X)                                                                     \
    X(ORACLE, "oracle", "the rank that will be last is known beforehand, at no cost")            \
    X(STATIC, "static", "always the same presumed rank")                                         \
    X(PREVIOUS, "previous", "the rank that was last in the iteration before")                    \
    X(DYNAMIC, "dynamic", "the first n-1 to arrive begin, once they have agreed on who that is") \
    X(ADAPTIVE, "adaptive", "static, but where that rank is not the last, the fallback runs")    \
    X(HINDSIGHT, "hindsight", "in each call the algorithm that turned out to be the fastest")    \
    X(NONE, "-", "nobody is presumed late")

typedef enum cs_prediction {
#define X(id, name, summary) CS_PREDICTION_##id,
    CS_PREDICTION_MAP(X)
#undef X
        CS_PREDICTION_COUNT
} cs_prediction;

enum { CS_PREDICTION_KEYS = CS_PREDICTION_HINDSIGHT };

const char *cs_prediction_name(cs_prediction prediction);

/* The words of a configuration. */
extern const cs_named cs_prediction_names;

typedef struct cs_prediction_policy {
    cs_prediction       prediction;
    uint32_t            presumed;       /* of STATIC and ADAPTIVE, and of PREVIOUS in iteration 0 */
    double              agreement_s;    /* what agreeing costs: DYNAMIC, or with a fallback */
    const cs_algorithm *fallback;       /* run where the presumed rank is there when the others are;
                                           NULL: go on as presumed */
    const cs_options *fallback_options; /* as given; borrowed; NULL: the defaults */
} cs_prediction_policy;

/* How one algorithm predicts; rows of its options. `{0}`: it presumes nobody. */
typedef struct cs_late_prediction {
    const cs_field *straggler; /* NULL: it presumes nobody */
    const cs_field *entry;     /* NULL: there is no such barrier */
    cs_prediction   prediction;
    double          agreement_s; /* what the barrier costs more */
} cs_late_prediction;

/* That of an algorithm that agrees at no cost. */
cs_late_prediction cs_late_prediction_of(const cs_algorithm *algorithm, cs_prediction prediction);

/* The rank that the options name, or CS_AUTO: none, or the algorithm presumes nobody. */
uint32_t cs_late_option(const cs_algorithm *algorithm, const cs_options *options);

/* How many ranks the options count as late, the last to arrive unless they name one: the option
 * `late_ranks`, CS_AUTO while it is open, or 1 where there is no such option. 0: nobody, a plain
 * schedule runs; or the algorithm presumes nobody. */
uint32_t cs_late_count(const cs_algorithm *algorithm, const cs_options *options);

/* Write into the options what the call is to be run with, and return who is presumed late: `known`
 * where the prediction is static, adaptive or previous, else the last of the arrivals (ties: the
 * highest). Only where the algorithm presumes somebody. O(n_ranks). */
uint32_t cs_predict_late(const cs_late_prediction *prediction, const double *arrival_s,
                         uint32_t n_ranks, uint32_t known, cs_options *options);

#endif
