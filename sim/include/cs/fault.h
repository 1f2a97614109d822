/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/fault.h -- what a list of faults means for a server's NICs.
 */
#ifndef CS_FAULT_H
#define CS_FAULT_H

#include "cs/scenario.h"

CS_BEGIN_C

/* Sort by server, from_s, until_s, rank and slow_ratio: a total order, so that the result
 * does not depend on the order of the input. CS_OK, or CS_ENOMEM with the list as it was.
 * O(n log n). */
CS_API CS_MUST_CHECK cs_status cs_faults_sort(cs_fault *faults, size_t n,
                                              const cs_cluster *cluster);

/* Does every fault start at 0 and never end? True without faults. */
CS_API bool cs_faults_constant(const cs_scenario *scenario);

/* The largest slowdown that the NICs of `server` never fall below during [0, infinity): 1
 * unless its faults follow one another without a gap from 0 on for ever. Never above the
 * truth. Needs sorted faults; O(log(faults) + faults of the server). */
CS_API double cs_slow_ratio_always(const cs_scenario *scenario, uint32_t server);

CS_END_C

#endif
