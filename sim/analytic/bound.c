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

double cs_best_bound(const cs_bound_context *context, const char **name_p)
{
    double best_s = 0;

    *name_p = "none";
    for (const cs_bound *const *bound = cs_bounds; *bound != NULL; bound++) {
        double bound_s = (*bound)->is_general ? (*bound)->seconds(context) : (double)NAN;
        if (bound_s > best_s) {
            best_s  = bound_s;
            *name_p = (*bound)->name;
        }
    }
    return best_s;
}
