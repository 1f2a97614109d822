/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clocks that are made up: what Cristian's comparison finds, and how far it may be off. */
#include "traces/capture/clock.h"

#include <criterion/criterion.h>
#include <math.h>

/* The other clock of these tests. */
static double other_of(double reference_s, double offset_s, double drift)
{
    return reference_s + offset_s + drift * reference_s;
}

/* A round trip that takes there_s and back_s. */
static cap_round_trip trip_at(double asked_s, double there_s, double back_s, double offset_s,
                              double drift)
{
    return (cap_round_trip){.asked_s    = asked_s,
                            .answered_s = other_of(asked_s + there_s, offset_s, drift),
                            .heard_s    = asked_s + there_s + back_s};
}

/* Pseudo-random in [0, 1), the same on every machine. */
static double drawn(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / (double)(1u << 24);
}

Test(clock, symmetric_round_trip_gives_the_offset_exactly)
{
    const cap_round_trip trip  = trip_at(100, 2e-5, 2e-5, -7.25, 0);
    const cap_offset     found = cap_offset_of(&trip, 1);

    cr_assert_float_eq(found.offset_s, -7.25, 1e-12);
    cr_assert_float_eq(found.error_s, 2e-5, 1e-12);
    cr_assert_float_eq(found.at_s, 100 + 2e-5, 1e-12);
}

Test(clock, shortest_round_trip_counts_wherever_it_stands)
{
    for (size_t best = 0; best < 5; best++) {
        cap_round_trip trips[5];
        for (size_t i = 0; i < 5; i++) {
            /* The long ones are lopsided: each of them alone would be 450 us off. */
            trips[i] = i == best ? trip_at((double)i, 1e-5, 1e-5, 3, 0)
                                 : trip_at((double)i, 1e-3, 1e-4, 3, 0);
        }
        const cap_offset found = cap_offset_of(trips, 5);
        cr_assert_float_eq(found.offset_s, 3, 1e-10, "shortest at %zu", best);
        cr_assert_float_eq(found.at_s, (double)best + 1e-5, 1e-10);
    }
}

Test(clock, offset_is_never_further_off_than_it_says)
{
    unsigned state = 1;
    double   worst = 0;

    for (int i = 0; i < 2000; i++) {
        const double         offset = 1000 * (drawn(&state) - 0.5);
        const cap_round_trip trip =
            trip_at(50, 1e-4 * drawn(&state), 1e-4 * drawn(&state), offset, 0);
        const cap_offset found = cap_offset_of(&trip, 1);
        cr_assert_leq(fabs(found.offset_s - offset), found.error_s + 1e-10);
        worst = fmax(worst, fabs(found.offset_s - offset) / found.error_s);
    }
    cr_assert_gt(worst, 0.9, "the bound is reached: no smaller one would do");
}

Test(clock, drift_is_found_and_both_ways_are_inverse)
{
    for (int k = -2; k <= 2; k++) {
        const double         drift  = 50e-6 * k; /* quartz: tens of parts in a million */
        const cap_round_trip before = trip_at(10, 1e-5, 1e-5, 4, drift);
        const cap_round_trip after  = trip_at(70, 1e-5, 1e-5, 4, drift);
        const cap_clock      clock =
            cap_clock_between(cap_offset_of(&before, 1), cap_offset_of(&after, 1));
        cr_assert_float_eq(clock.drift, drift, 1e-12);
        for (double t = 10; t <= 70; t += 7.5) {
            const double there = other_of(t, 4, drift);
            cr_assert_float_eq(cap_clock_to_reference(&clock, there), t, 1e-9);
            cr_assert_float_eq(cap_clock_from_reference(&clock, t), there, 1e-9);
        }
    }
}

Test(clock, without_the_drift_a_minute_would_be_milliseconds_off)
{
    const cap_round_trip before = trip_at(10, 1e-5, 1e-5, 4, 50e-6);
    const cap_offset     first  = cap_offset_of(&before, 1);
    const cap_clock      clock  = cap_clock_between(first, first);

    cr_assert_eq(clock.drift, 0, "one comparison says nothing of the drift");
    cr_assert_gt(fabs(cap_clock_to_reference(&clock, other_of(70, 4, 50e-6)) - 70), 2.9e-3);
}

Test(clock, error_of_a_clock_is_the_larger_of_its_comparisons)
{
    const cap_round_trip before = trip_at(10, 1e-5, 3e-5, 4, 0),
                         after  = trip_at(20, 4e-5, 6e-5, 4, 0);
    const cap_clock clock = cap_clock_between(cap_offset_of(&before, 1), cap_offset_of(&after, 1));

    cr_assert_float_eq(clock.error_s, 5e-5, 1e-12);
    for (double t = 10; t <= 20; t += 1) {
        cr_assert_leq(fabs(cap_clock_to_reference(&clock, other_of(t, 4, 0)) - t),
                      clock.error_s + 1e-10);
    }
}
