/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/clock.c -- see clock.h. */
#include "clock.h"

cap_offset cap_offset_of(const cap_round_trip *trips, size_t n)
{
    const cap_round_trip *best = &trips[0];

    for (size_t i = 1; i < n; i++) {
        if (trips[i].heard_s - trips[i].asked_s < best->heard_s - best->asked_s) {
            best = &trips[i];
        }
    }
    const double half = (best->heard_s - best->asked_s) / 2;
    const double at   = best->asked_s + half;
    return (cap_offset){.at_s = at, .offset_s = best->answered_s - at, .error_s = half};
}

cap_clock cap_clock_between(cap_offset before, cap_offset after)
{
    const double between = after.at_s - before.at_s;

    return (cap_clock){.at_s     = before.at_s,
                       .offset_s = before.offset_s,
                       .drift    = between > 0 ? (after.offset_s - before.offset_s) / between : 0,
                       .error_s  = before.error_s > after.error_s ? before.error_s : after.error_s};
}

double cap_clock_to_reference(const cap_clock *clock, double other_s)
{
    /* other - at = offset + (1 + drift) (reference - at) */
    return clock->at_s + (other_s - clock->at_s - clock->offset_s) / (1 + clock->drift);
}

double cap_clock_from_reference(const cap_clock *clock, double reference_s)
{
    return reference_s + clock->offset_s + clock->drift * (reference_s - clock->at_s);
}
