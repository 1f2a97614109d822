/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/clock.h -- the clock of another rank, by round trips (Cristian 1989).
 *
 * The reference (rank 0) notes its time, asks the other rank for its time, and notes when the
 * answer is there. The answer was given at some moment in between, so the difference of the clocks
 * is known to half the round trip. Of many round trips the shortest one counts: whatever delayed
 * the others (a scheduler, a queue) only makes them less certain. Comparisons before and after a
 * run give the drift as well; in between the difference is taken to change evenly.
 *
 * All times are seconds on a clock that never jumps (CLOCK_MONOTONIC); nothing here reads one.
 */
#ifndef CAPTURE_CLOCK_H
#define CAPTURE_CLOCK_H

#include <stddef.h>

/* One question and its answer. */
typedef struct cap_round_trip {
    double asked_s;    /* on the reference's clock */
    double answered_s; /* on the other rank's clock */
    double heard_s;    /* on the reference's clock, >= asked_s */
} cap_round_trip;

/* What a series of round trips says: other clock = reference + offset_s, to error_s. */
typedef struct cap_offset {
    double at_s; /* reference time for which it holds: the middle of the shortest round trip */
    double offset_s;
    double error_s; /* half the shortest round trip: the offset is not further off than that */
} cap_offset;

/* other clock = reference + offset_s + drift * (reference - at_s) */
typedef struct cap_clock {
    double at_s, offset_s;
    double drift;   /* seconds per second; 0 where it is not known */
    double error_s; /* of offsets between the two comparisons */
} cap_clock;

/* n >= 1 round trips in any order. O(n). */
cap_offset cap_offset_of(const cap_round_trip *trips, size_t n);

/* From one comparison before and one after; where they are of the same moment, no drift. */
cap_clock cap_clock_between(cap_offset before, cap_offset after);

/* A time of the other rank's clock on the reference's, and the other way round. */
double cap_clock_to_reference(const cap_clock *clock, double other_s);
double cap_clock_from_reference(const cap_clock *clock, double reference_s);

#endif
