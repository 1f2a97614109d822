/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/interval.h -- a mean over calls and how well it is known.
 *
 * The interval is Student's t at 95 %. Calls that follow each other are alike, so the number of
 * independent ones is smaller than that of the calls: with a lag-1 correlation r > 0 it is taken as
 * n (1 - r) / (1 + r), which is exact in the limit for a first-order autoregression, and at
 * least 2.
 */
#ifndef CS_WHATIF_INTERVAL_H
#define CS_WHATIF_INTERVAL_H

#include "cs/error.h"

#include <stddef.h>

typedef struct cs_interval_95 {
    double mean, low, high; /* low and high are NAN with one value */
} cs_interval_95;

/* Of n >= 1 values in the order of the calls. They are differences of numbers of the size `scale`:
 * what they vary by less than 1e-12 of it is rounding. */
CS_API cs_interval_95 cs_interval_of(const double *values, size_t n, double scale);

#endif
