/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "montecarlo": what the algorithms know beforehand about who is late.
 *
 *   "montecarlo": {"prediction": "static", "presumed": 0, "agreement": "20us",
 *                  "fallback": "ring"}
 */
#include "config/late_prediction.h"
#include "config/scenario_json.h"

#include <string.h>

#define COUNT(list)     (sizeof(list) / sizeof(list)[0])
#define MAX_AGREEMENT_S 1e3

_Static_assert(CS_AUTO == CS_ANY_RANK, "no rank is written in one way");

static const char *const policy_keys[] = {"prediction", "presumed", "agreement", "fallback"};

static bool takes_rank(cs_prediction prediction)
{
    return prediction == CS_PREDICTION_STATIC || prediction == CS_PREDICTION_ADAPTIVE ||
           prediction == CS_PREDICTION_PREVIOUS;
}

/* In this order: "presumed", the option `straggler` (which the algorithm checks), the arrivals' own
 * straggler. */
static void read_presumed(cs_reading *r, const cs_field *field, const cs_case *c,
                          cs_prediction_policy *policy)
{
    cs_field presumed = cs_field_get(field, "presumed"), prediction;
    uint32_t option   = cs_late_option(c->job.algorithm, &c->job.options);
    bool     needs_one =
        policy->prediction == CS_PREDICTION_STATIC || policy->prediction == CS_PREDICTION_ADAPTIVE;

    prediction       = cs_field_get(field, "prediction");
    policy->presumed = option;
    if (option == CS_AUTO && c->arrivals.has_straggler) {
        policy->presumed = c->arrivals.straggler.rank;
    }
    cs_read_u32(r, field, "presumed", 0, c->job.scenario.cluster.n_ranks - 1, &policy->presumed);
    if (cs_reading_failed(r)) {
        return;
    }
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
    policy->presumed = policy->presumed == CS_AUTO ? 0 : policy->presumed;
}

static void read_fallback(cs_reading *r, const cs_field *field, cs_prediction_policy *policy)
{
    const char *name     = "none";
    cs_field    fallback = cs_field_get(field, "fallback");
    cs_error    wrong    = {0};

    cs_read_text(r, field, "fallback", &name);
    if (cs_reading_failed(r) || strcmp(name, "none") == 0) {
        return;
    }
    if (cs_algorithm_find(name, &policy->fallback, &wrong) != CS_OK) {
        CS_REFUSE(r, &fallback, wrong.status, "%s", wrong.message);
    }
}

void cs_read_montecarlo(cs_reading *r, const cs_field *root, cs_case *c)
{
    const char           *names[CS_PREDICTION_KEYS];
    cs_field              field      = cs_field_get(root, "montecarlo");
    cs_field              agreement  = cs_field_get(&field, "agreement");
    cs_prediction_policy *policy     = &c->policy;
    size_t                prediction = CS_PREDICTION_ORACLE;

    for (int p = 0; p < CS_PREDICTION_KEYS; p++) {
        names[p] = cs_prediction_name((cs_prediction)p);
    }
    if (cs_reading_failed(r)) {
        return;
    }
    if (cs_late_option(c->job.algorithm, &c->job.options) != CS_AUTO) {
        prediction = CS_PREDICTION_STATIC;
    }
    if (field.node != NULL && !cs_read_object(r, &field, policy_keys, COUNT(policy_keys))) {
        return;
    }
    cs_read_word(r, &field, "prediction", names, COUNT(names), &prediction);
    policy->prediction = (cs_prediction)prediction;
    read_presumed(r, &field, c, policy);
    cs_read_time(r, &field, "agreement", &policy->agreement_s);
    if (!cs_reading_failed(r) &&
        !(policy->agreement_s >= 0 && policy->agreement_s <= MAX_AGREEMENT_S)) {
        CS_REFUSE(r, &agreement, CS_EINVAL, "%.15g s is outside [0 s, %.15g s]",
                  policy->agreement_s, MAX_AGREEMENT_S);
    }
    read_fallback(r, &field, policy);
    if (policy->prediction == CS_PREDICTION_ADAPTIVE && policy->fallback == NULL &&
        !cs_reading_failed(r)) {
        (void)!cs_algorithm_find(cs_default_algorithm(&c->job.scenario.cluster), &policy->fallback,
                                 &r->error);
    }
}
