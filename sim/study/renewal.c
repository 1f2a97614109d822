/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Old trees and new ones on one measured topology. */
#include "study/renewal.h"

#include "algorithms/adapcc/turns.h"

#include <math.h>

static cs_status time_trees(const cs_logical *logical, const cs_scenario *scenario,
                            const cs_strategy *strategy, cs_cost_model model, double *took_s_p,
                            cs_error *err)
{
    cs_cost *cost = NULL;

    CS_TRY(cs_cost_open(logical, strategy->n_trees, &cost, err));
    cs_status status =
        cs_turns_cost_s(cost, logical, strategy, scenario->collective, model, took_s_p, err);
    cs_cost_close(cost);
    return status;
}

static cs_status hold_against(const cs_logical *logical, const cs_scenario *scenario,
                              cs_adapcc_options options, const cs_strategy *old, cs_strategy *made,
                              cs_renewal *r, cs_error *err)
{
    cs_cost_model       model = cs_adapcc_cost_model(&options);
    cs_synthesis_result result;

    CS_TRY(cs_strategy_fits(old, logical, err));
    CS_TRY(time_trees(logical, scenario, old, model, &r->old_s, err));
    CS_TRY(cs_adapcc_synthesize(scenario, logical, &options, made, &result, err));
    return time_trees(logical, scenario, made, model, &r->new_s, err);
}

cs_status cs_renew_trees(const cs_profile *profile, const cs_scenario *scenario,
                         const cs_adapcc_options *options, const cs_renewal_terms *terms,
                         const cs_strategy *old, cs_strategy *made, cs_renewal *renewal_p,
                         cs_error *err)
{
    cs_logical logical = {0};
    cs_renewal r       = {0};

    *made = (cs_strategy){0};
    if (!cs_cost_takes(scenario->collective)) {
        return CS_FAIL(err, CS_ENOTSUP, "collective",
                       "trees are made for allreduce, broadcast and reduce, not for %s",
                       cs_collective_name(scenario->collective));
    }
    cs_status status = cs_profile_graph(profile, &logical, err);
    if (status == CS_OK) {
        status = hold_against(&logical, scenario, *options, old, made, &r, err);
    }
    cs_logical_free(&logical);
    if (status == CS_OK) {
        double saved_s = r.old_s - r.new_s;
        r.break_even = saved_s > 0 ? (terms->solve_s + terms->setup_s) / saved_s : (double)INFINITY;
        r.keeps      = !(r.break_even <= terms->period);
        *renewal_p   = r;
    }
    return status;
}
