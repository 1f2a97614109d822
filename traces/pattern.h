/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/pattern.h -- how the lateness of a rank goes from call to call: always alike, every so
 * many calls, growing, or from some call on.
 *
 * Periodic: the autocorrelation has a peak of at least 0.5 at that lag, and a dip of 0.4 below it
 * at a shorter one. Growing: a line leaves less of the squares than any single step does, and at
 * most half of them. Changing: binary segmentation; each step must be 25 % of the larger side, and
 * be more than 4 ln n + 10 times the noise's variance. The noise is that of neighbours: the median
 * of their differences, which steps do not move.
 */
#ifndef CS_TRACES_PATTERN_H
#define CS_TRACES_PATTERN_H

#include "cs/error.h"

#include <stddef.h>

typedef enum cs_pattern_kind {
    CS_PATTERN_STEADY,
    CS_PATTERN_PERIODIC,
    CS_PATTERN_DRIFTING,
    CS_PATTERN_CHANGING,
    CS_PATTERN_KINDS
} cs_pattern_kind;

enum { CS_PATTERN_MOST_CHANGES = 16 };

typedef struct cs_pattern {
    cs_pattern_kind kind;
    size_t          period_calls;     /* 0: not periodic */
    double          slope_s_per_call; /* NAN: not drifting */
    size_t          n_changes;
    size_t          change[CS_PATTERN_MOST_CHANGES]; /* the first call behind each step, in order */
    double          mean_s[CS_PATTERN_MOST_CHANGES + 1]; /* between them */
} cs_pattern;

/* "steady", "periodic", "drifting", "changing". */
const char *cs_pattern_name(cs_pattern_kind kind);

/* Find the pattern of n >= 1 values; fewer than 20 are steady. O(n log n). */
CS_MUST_CHECK cs_status cs_pattern_find(const double *late_s, size_t n, cs_pattern *pattern_p,
                                        cs_error *err);

#endif
