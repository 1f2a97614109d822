/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "montecarlo": what the algorithms know beforehand about who is late.
 *
 *   "montecarlo": {"prediction": "static", "presumed": 0, "agreement": "20us",
 *                  "fallback": "ring"}
 */
#include "scenario/late_prediction.h"
#include "scenario/scenario_json.h"

#include <math.h>
#include <string.h>

#define MAX_AGREEMENT_S 1e3

_Static_assert(CS_AUTO == CS_ANY_RANK, "no rank is written in one way");

typedef struct policy_keys {
    int         prediction;
    uint32_t    presumed; /* CS_AUTO: nobody */
    double      agreement_s;
    const char *fallback;
} policy_keys;

/* clang-format off */
const cs_field cs_montecarlo_fields[] = {
    CS_KEY(policy_keys, prediction, "prediction", .fallback = (double)NAN, .names = &cs_prediction_names,
           .help = "how the late rank is known; static where the option 'straggler' names one"),
    CS_KEY(policy_keys, presumed, "presumed", .fallback = (double)NAN, .max = CS_MAX_RANKS - 1, .is_rank = true,
           .help = "the rank of static; of previous in iteration 0"),
    CS_KEY(policy_keys, agreement_s, "agreement", .unit = CS_UNIT_TIME, .max = MAX_AGREEMENT_S,
           .plain = &cs_plain_delay, .help = "what agreeing on the late rank costs"),
    CS_KEY(policy_keys, fallback, "fallback", .names = &cs_algorithm_names, .choices = "none",
           .help = "the algorithm where the presumed rank is not late (none)"),
    CS_FIELD_END,
};
/* clang-format on */

static bool takes_rank(cs_prediction prediction)
{
    return prediction == CS_PREDICTION_STATIC || prediction == CS_PREDICTION_ADAPTIVE ||
           prediction == CS_PREDICTION_PREVIOUS;
}

/* The rank that is presumed, in this order: "presumed", the option `straggler` (which the algorithm
 * checks), the arrivals' own straggler. */
static void check_presumed(cs_reading *r, const cs_place *place, uint32_t option,
                           const cs_prediction_policy *policy)
{
    cs_place presumed   = cs_place_get(place, "presumed");
    cs_place prediction = cs_place_get(place, "prediction");
    bool     needs_one =
        policy->prediction == CS_PREDICTION_STATIC || policy->prediction == CS_PREDICTION_ADAPTIVE;

    if (presumed.node != NULL && !takes_rank(policy->prediction)) {
        CS_REFUSE(r, &presumed, CS_EINVAL, "goes with the prediction static, previous or adaptive");
    } else if (presumed.node != NULL && option != CS_AUTO && option != policy->presumed) {
        CS_REFUSE(r, &presumed, CS_EINVAL, "is rank %u, but the option 'straggler' says rank %u",
                  policy->presumed, option);
    } else if (needs_one && policy->presumed == CS_AUTO) {
        CS_REFUSE(r, &prediction, CS_EINVAL,
                  "%s needs a rank: accepted are 'presumed', the option 'straggler' of the "
                  "algorithm, or the 'rank' of arrivals.straggler",
                  cs_prediction_name(policy->prediction));
    } else if (prediction.node != NULL && !needs_one && option != CS_AUTO) {
        CS_REFUSE(r, &prediction, CS_EINVAL,
                  "the option 'straggler' names rank %u: accepted is static, or no rank there",
                  option);
    }
}

void cs_read_montecarlo(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_case              *c      = object;
    cs_prediction_policy *policy = &c->policy;
    uint32_t              option = cs_late_option(c->job.algorithm, &c->job.options);
    policy_keys           keys   = {.presumed = option, .fallback = NULL};

    keys.prediction = option != CS_AUTO ? CS_PREDICTION_STATIC : CS_PREDICTION_ORACLE;
    if (option == CS_AUTO && c->arrivals.has_straggler) {
        keys.presumed = c->arrivals.straggler.rank;
    }
    if (place->node != NULL && !cs_read_fields(r, place, row->fields, &keys)) {
        return;
    }
    policy->prediction  = (cs_prediction)keys.prediction;
    policy->presumed    = keys.presumed;
    policy->agreement_s = keys.agreement_s;
    check_presumed(r, place, option, policy);
    policy->presumed = policy->presumed == CS_AUTO ? 0 : policy->presumed;
    if (keys.fallback != NULL && strcmp(keys.fallback, "none") != 0 && !cs_reading_failed(r)) {
        (void)!cs_algorithm_find(keys.fallback, &policy->fallback, &r->error);
    }
    if (policy->prediction == CS_PREDICTION_ADAPTIVE && policy->fallback == NULL &&
        !cs_reading_failed(r)) {
        const cs_scenario *s = &c->job.scenario;
        (void)!cs_algorithm_find(cs_default_algorithm(&s->cluster, s->collective),
                                 &policy->fallback, &r->error);
    }
}
