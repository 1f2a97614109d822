/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/late_chunks.h -- how many chunks a schedule with one late rank should have.
 *
 * With q = ceil(log2 n) and x = s / rate the rotational schedule takes C - 1 + q rounds of alpha +
 * x / C for any C >= q + 1 (any C >= 2 of three ranks, any C of two), one chunk q rounds of alpha +
 * x. Before that stands the pre-phase (late_pre.h), as far as the delay of the late rank does not
 * hide it.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_LATE_CHUNKS_H
#define CS_ALGORITHMS_STRAGGLAR_LATE_CHUNKS_H

#include "algorithms/stragglar/late_layout.h"

enum { CS_LATE_MOST_AUTO_CHUNKS = 16384 };

/* Least C > 1 for which there is a rotational schedule. */
uint32_t cs_late_least_chunks(uint32_t n);

/* Rounds of the main phase. */
uint32_t cs_late_main_rounds(uint32_t n, uint32_t chunks);

/* The end of the schedule, predicted from arrivals, alpha, rate and lasting faults: what the replay
 * gives, or a little more where the circulant pre-phase is not hidden and N does not divide C. */
double cs_late_end_s(const cs_scenario *scenario, const cs_late_options *options, uint32_t chunks,
                     uint32_t rounds, cs_prephase prephase);

/* The C, up to CS_LATE_MOST_AUTO_CHUNKS and one byte per chunk, whose end is the earliest; the
 * least of several. O(C log n). */
uint32_t cs_late_best_chunks(const cs_scenario *scenario, const cs_late_options *options,
                             cs_prephase prephase);

#endif
