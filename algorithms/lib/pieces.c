/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/lib/pieces.h"

#include <math.h>

static uint32_t within(double pieces, double most)
{
    return (uint32_t)fmax(1, fmin(round(pieces), most));
}

cs_status cs_choose_pieces(const cs_algorithm *algorithm, const cs_scenario *scenario,
                           void *options, uint32_t *pieces, double predicted, double most,
                           bool is_quick, cs_error *err)
{
    static const double about[]  = {1, 0.5, 0.7, 1.4, 2, 3};
    const cs_forecast  *forecast = scenario->forecast;
    uint32_t            best     = within(predicted, most);
    double              best_s   = (double)INFINITY;

    for (size_t i = 0; forecast != NULL && is_quick && i < sizeof about / sizeof about[0]; i++) {
        double  time_s = 0;
        cs_plan plan   = {0};
        *pieces        = within(predicted * about[i], most);
        CS_TRY(algorithm->check(scenario, options, &plan, err));
        cs_status status =
            forecast->elapsed_s(forecast, scenario, algorithm, options, &plan, &time_s, err);
        cs_plan_release(algorithm, &plan);
        CS_TRY(status);
        best   = time_s < best_s ? *pieces : best;
        best_s = fmin(best_s, time_s);
    }
    *pieces = best;
    return CS_OK;
}
