/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/pieces.h -- in how many pieces a buffer is sent through a pipeline: more of them
 * fill it sooner, and each costs a start-up.
 */
#ifndef CS_ALGORITHMS_LIB_PIECES_H
#define CS_ALGORITHMS_LIB_PIECES_H

#include "cs/algorithm.h"

/* Set the algorithm's option at `pieces`, which points into `options`, to the number that ends
 * first, of some from half of what is predicted to three times that, 1 .. `most`: by replays, or
 * where there is no forecast, or `is_quick` is false, to what is predicted. All other options must
 * be set. At most six replays. */
CS_MUST_CHECK cs_status cs_choose_pieces(const cs_algorithm *algorithm, const cs_scenario *scenario,
                                         void *options, uint32_t *pieces, double predicted,
                                         double most, bool is_quick, cs_error *err);

#endif
