/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of bounds, made from bounds.def, and the best of those that apply.
 *
 * A bound returns NAN wherever it is not proven for the context: fmax and a comparison skip
 * it. Bounds that are not general are listed but never the best.
 */
#include "cs/bound.h"

#include <math.h>

#define CS_BOUND(x) extern const cs_bound cs_bound_##x;
#include "analytic/bounds.def"
#undef CS_BOUND

const cs_bound *const cs_bounds[] = {
#define CS_BOUND(x) &cs_bound_##x,
#include "analytic/bounds.def"
#undef CS_BOUND
    NULL,
};

/* Where ranks relay before they come, what counts on closed ports holds as if all had come. */
static double seconds(const cs_bound *bound, const cs_bound_context *context)
{
    cs_scenario      all_there = *context->scenario;
    cs_bound_context relayed   = *context;

    if (!context->ranks_relay || bound->counts_data) {
        return bound->seconds(context);
    }
    all_there.arrival_s = NULL;
    relayed.scenario    = &all_there;
    return bound->seconds(&relayed);
}

double cs_best_bound(const cs_bound_context *context, const char **name_p)
{
    double best_s = 0;

    *name_p = "none";
    for (const cs_bound *const *bound = cs_bounds; *bound != NULL; bound++) {
        bool   is_general = context->uses_network_switch ? (*bound)->in_network
                            : context->uses_switches     ? (*bound)->in_servers
                                                         : (*bound)->is_general;
        double bound_s    = is_general ? seconds(*bound, context) : (double)NAN;
        if (bound_s > best_s) {
            best_s  = bound_s;
            *name_p = (*bound)->name;
        }
    }
    return best_s;
}
