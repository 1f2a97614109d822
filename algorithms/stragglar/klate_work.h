/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/klate_work.h -- how long klate.h takes to make its rounds.
 *
 * Measured on n of 8 to 1024, k up to n/2 and up to 5000 chunks per early rank, the time in
 * nanoseconds is between a tenth of the estimate and twice it (four times, seldom): n^2 (n - k) R /
 * 80 for the searches for augmenting paths, 2 k C R for the choice of raws, and C R for the order
 * of the chunks, R being the fewest rounds of C chunks.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_KLATE_WORK_H
#define CS_ALGORITHMS_STRAGGLAR_KLATE_WORK_H

#include <stdint.h>

/* The estimate, in steps of about a nanosecond. `early` < n. */
double cs_klate_work(uint32_t n, uint32_t early, uint32_t chunks);

/* More is not begun: the rounds are made once to plan a schedule and once to replay it, and as much
 * again may go into the choice of a shape, so that a run takes about a minute at most. */
#define CS_KLATE_MOST_WORK 2e10

/* The most parts (chunks per early rank), at least 1, that are within it. O(32). */
uint32_t cs_klate_most_parts(uint32_t n, uint32_t early);

#endif
