/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/outliers.h -- runs that something else disturbed.
 *
 * Two kinds are told from the curve, whatever its shape. Where a size was measured several times: a
 * run that is far from the others of its size. And a size that alone is too slow: much slower than
 * the sizes on its two sides say, which agree with each other and with their own neighbours when it
 * is left out. A step, after which all sizes are slower, is none; nor is a size that is fast, since
 * nothing makes a run faster than it is.
 */
#ifndef CS_TRACES_OUTLIERS_H
#define CS_TRACES_OUTLIERS_H

#include "traces/line.h"

enum { CS_MAX_OUTLIERS = 16 };

typedef struct cs_outlier {
    cs_point point;
    double   expected_s; /* by the others of its size, or by the sizes beside it */
} cs_outlier;

/* Find the outliers among points that are sorted by size and time, take them out of `points` and
 * set *n_p to what is left. Returns how many there were. Where they would be more than
 * CS_MAX_OUTLIERS, or a fifth of the points, none is: that is scatter. `room` has room for
 * 4 * *n_p numbers. O(n log n + sizes * outliers). */
size_t cs_outliers_take(cs_point *points, size_t *n_p, double *room,
                        cs_outlier outliers[CS_MAX_OUTLIERS]);

#endif
