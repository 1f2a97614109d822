/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/line.h -- a line t(S) = A + B S through measured times.
 *
 * A line is that of relative least squares: it minimises the sum of ((t - A - B S) / t)^2 under
 * A >= 0; a line with B <= 0 does not exist.
 */
#ifndef CS_TRACES_LINE_H
#define CS_TRACES_LINE_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cs_point {
    uint64_t bytes;  /* > 0 */
    double   time_s; /* > 0 */
} cs_point;

/* A line and its 95 % confidence intervals. */
typedef struct cs_line {
    double intercept_s, intercept_low_s, intercept_high_s;                /* A */
    double slope_s_per_byte, slope_low_s_per_byte, slope_high_s_per_byte; /* B */
} cs_line;

/* Sums over points, from which the best line's error follows: points are added one by one,
 * and each question costs O(1). {0} is empty. */
typedef struct cs_line_sums {
    size_t   n;
    size_t   n_sizes; /* different sizes; points must come in order of size, up or down */
    uint64_t last_bytes;
    double   u, v, uu, uv, vv; /* of u = 1 / t and v = S / t */
} cs_line_sums;

void cs_line_add(cs_line_sums *sums, cs_point point);

/* Sum of the squared relative residuals of the best line; false when there is none (B <= 0,
 * or fewer than two sizes). */
bool cs_line_error(const cs_line_sums *sums, double *error_p);

/* The line through n points, in order of size, with confidence intervals from Student's t
 * distribution (n - 2 degrees of freedom; n - 1 where A is held at 0; with none left the
 * intervals are unbounded). False when there is none. */
bool cs_line_fit(const cs_point *points, size_t n, cs_line *line_p);

/* A + B bytes. */
double cs_line_at(const cs_line *line, uint64_t bytes);

/* The same, where sizes were measured several times, by robust regression (Tukey's bisquare,
 * gsl_multifit_robust): what is far from the line counts less, or not at all. The residuals are
 * relative to the median of their size. Where that does not converge, it is the line above. */
bool cs_line_fit_robust(const cs_point *points, size_t n, cs_line *line_p);

/* Between two lines, of which one holds up to `low` bytes and the other from `high` on: A and B for
 * a size between them, such that A + B S lies on the straight join of their ends. Both stay
 * positive, since A and B S are joined each on its own. */
void cs_line_join(const cs_line *below, uint64_t low, const cs_line *above, uint64_t high,
                  uint64_t bytes, double *intercept_s_p, double *slope_s_per_byte_p);

#endif
