/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/axis.h -- the time axis of a picture: its unit, and where it has marks. */
#ifndef CS_RESULTS_AXIS_H
#define CS_RESULTS_AXIS_H

/* The unit (s, ms, us with a Greek letter, ns) for an axis that ends at `until_s`, and what one of
 * it is in seconds. Static storage. */
const char *cs_axis_unit(double until_s, double *unit_s_p);

/* 1, 2 or 5 times a power of ten, at least `least` (> 0); the decimals that it needs. */
double cs_axis_step(double least, int *decimals_p);

#endif
