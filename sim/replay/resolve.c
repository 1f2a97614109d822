/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options and plan of a scenario, and the times that algorithms choose by: see cs/replay.h. */
#include "cs/replay.h"

#include <math.h>

/* A forecast, and what its model says of the scenarios that it is asked about. */
static cs_status elapsed_s(const cs_forecast *forecast, const cs_scenario *scenario,
                           const cs_algorithm *algorithm, const void *options, const cs_plan *plan,
                           double *elapsed_s_p, cs_error *err)
{
    const cs_model *model = forecast->model;
    cs_outcome      outcome;

    *elapsed_s_p = (double)INFINITY;
    if (model->check != NULL && model->check(scenario, forecast->model_options, NULL) != CS_OK) {
        return CS_OK;
    }
    if (algorithm->closed_form_s != NULL &&
        cs_closed_forms_hold(model, scenario, forecast->model_options, plan->uses)) {
        double exact_s = algorithm->closed_form_s(scenario, options);
        if (!isnan(exact_s)) {
            *elapsed_s_p = exact_s;
            return CS_OK;
        }
    }
    const cs_replay_request request = {.scenario      = scenario,
                                       .algorithm     = algorithm,
                                       .options       = options,
                                       .plan          = plan,
                                       .model         = model,
                                       .model_options = forecast->model_options};
    cs_status               status  = cs_replay(&request, &outcome, err);
    if (status == CS_OK) {
        *elapsed_s_p = outcome.elapsed_s;
    }
    return status;
}

cs_status cs_resolve(const cs_scenario *scenario, const cs_algorithm *algorithm, void *options,
                     const cs_model *model, const void *model_options, cs_plan *plan, cs_error *err)
{
    const cs_forecast forecast = {elapsed_s, model, model_options};
    cs_scenario       asked    = *scenario;

    asked.forecast   = &forecast;
    cs_status status = algorithm->check(&asked, options, plan, err);
    if (status == CS_OK && model->check != NULL) {
        status = model->check(scenario, model_options, err);
    }
    return status;
}
