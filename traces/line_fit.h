/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/line_fit.h -- t(S) = A + B S through measured points, by relative least squares.
 *
 * Minimises the sum of ((t - A - B S) / t)^2 under A >= 0; a line with B <= 0 does not exist.
 */
#ifndef CS_TRACES_LINE_FIT_H
#define CS_TRACES_LINE_FIT_H

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

#endif
