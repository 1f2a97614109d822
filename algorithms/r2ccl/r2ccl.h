/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/r2ccl/r2ccl.h -- R2CCL for who weighs it against other ways around slow NICs. */
#ifndef CS_ALGORITHMS_R2CCL_R2CCL_H
#define CS_ALGORITHMS_R2CCL_R2CCL_H

#include "cs/algorithm.h"

extern const cs_algorithm cs_algorithm_r2ccl;

/* A prediction is at most so many times the replay's time, and the other way round (1.28
 * in the random cases of the tests). */
#define CS_R2CCL_WITHIN 1.3

/* When its best schedule around the slow NICs ends, predicted for alpha-beta with all ranks there
 * (within CS_R2CCL_WITHIN); INFINITY where there is none, or no memory. O(servers x slow servers).
 */
double cs_r2ccl_estimate_s(const cs_scenario *scenario);

#endif
