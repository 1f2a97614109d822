/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes over two ports with piecewise constant rates: walk from change to change. */
#include "models/lib/rate.h"

#include <math.h>

/* The last step that begins at or before `time_s`. */
static size_t step_at(const cs_rate_profile *profile, double time_s)
{
    size_t low = 0, high = profile->n_steps;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (profile->step_from_s[middle] <= time_s) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static double next_change_s(const cs_rate_profile *profile, size_t step)
{
    return step + 1 < profile->n_steps ? profile->step_from_s[step + 1] : (double)INFINITY;
}

double cs_rate_end_s(const cs_rate_profile *a, const cs_rate_profile *b, double from_s,
                     double bytes)
{
    size_t i = step_at(a, from_s), j = step_at(b, from_s);

    for (;;) {
        double rate_a = a->step_s_per_byte[i], rate_b = b->step_s_per_byte[j];
        double pace     = rate_a > rate_b ? rate_a : rate_b;
        double change_a = next_change_s(a, i), change_b = next_change_s(b, j);
        double change = change_a < change_b ? change_a : change_b;
        double end    = from_s + bytes * pace;

        if (end <= change) {
            return end;
        }
        bytes -= (change - from_s) / pace;
        bytes  = bytes > 0 ? bytes : 0;
        from_s = change;
        i += change_a <= change;
        j += change_b <= change;
    }
}
