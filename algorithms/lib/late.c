/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/lib/late.h"

#include <math.h>

cs_status cs_late_check(const cs_scenario *scenario, cs_late_options *options, cs_error *err)
{
    if (options->straggler == CS_AUTO) {
        options->straggler = cs_last_rank(scenario);
    }
    if (options->straggler >= scenario->cluster.n_ranks) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.straggler",
                       "rank %u does not exist; accepted are 0 .. %u and auto", options->straggler,
                       scenario->cluster.n_ranks - 1);
    }
    return CS_OK;
}

double cs_late_main_start_s(const cs_scenario *scenario, const cs_late_options *options,
                            double pre_s)
{
    uint32_t n       = scenario->cluster.n_ranks;
    double   others  = 0;
    double   entry_s = n > 2 ? options->entry_barrier_s : 0;

    for (uint32_t r = 0; r < n; r++) {
        others = r == options->straggler ? others : fmax(others, cs_arrival(scenario, r));
    }
    double ready = others + entry_s + pre_s;
    return fmax(ready, cs_arrival(scenario, options->straggler)) + options->phase_barrier_s;
}
