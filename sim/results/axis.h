/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/axis.h -- the time axis of a picture: its unit, and where it has marks. */
#ifndef CS_RESULTS_AXIS_H
#define CS_RESULTS_AXIS_H

/* A time axis: marks at i * step * unit_s seconds, i < n_marks, called i * step with that many
 * decimals. */
typedef struct cs_axis {
    const char *unit; /* static storage */
    double      unit_s, step;
    int         decimals, n_marks;
} cs_axis;

/* An axis from 0 to `until_s` > 0 whose marks are `least_s` apart or a little more. */
cs_axis cs_axis_until(double until_s, double least_s);

/* The unit (s, ms, us with a Greek letter, ns) for an axis that ends at `until_s`, and what one of
 * it is in seconds. Static storage. */
const char *cs_axis_unit(double until_s, double *unit_s_p);

#endif
