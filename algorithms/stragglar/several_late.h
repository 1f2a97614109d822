/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/several_late.h -- a schedule for several late ranks as transfers.
 *
 * The k ranks that arrive last (of those that arrive together the highest) are late, k >= 1. The
 * others reduce among themselves by a circulant ReduceScatter; label c mod (n - k) then owns chunk
 * c. The rounds of klate.h follow, made for the arrivals in rounds of alpha + x/C after the moment
 * at which there is something to do. There are no barriers: every rank goes on as soon as its data
 * and ports allow, so the replay is never later than the rounds one after the other, and who is a
 * little later than its round delays only those that it meets.
 *
 * Early ranks have labels in increasing order, late ones in the order of their arrival. The chunks
 * of an owner are neighbours in the buffer; chunk number = slot number, everywhere.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_SEVERAL_LATE_H
#define CS_ALGORITHMS_STRAGGLAR_SEVERAL_LATE_H

#include "algorithms/lib/circulant.h"
#include "algorithms/stragglar/klate.h"

/* What is fixed before the schedule is made. */
typedef struct cs_several_shape {
    uint32_t late;  /* k; 1 <= k < n */
    uint32_t parts; /* chunks per early rank: (n - k) parts in all */
    uint32_t roots; /* roots x k / (10 n) of the chunks have a late root */
} cs_several_shape;

/* Time as the choice between shapes sees it. */
typedef struct cs_several_pace {
    double alpha_s, s_per_byte;
} cs_several_pace;

/* The NICs' start-up and rate, or NVLink's where all ranks are in one server; the slowest NIC of
 * all, if it is slow for ever. */
cs_several_pace cs_several_pace_of(const cs_scenario *scenario);

/* Ranks in the order of their arrival; of those that arrive together the lowest first. */
void cs_several_order(const cs_scenario *scenario, uint32_t *ranks);

/* A bound from below on the predicted end of a shape, without making its rounds. `ranks` is
 * cs_several_order(). O(faults). */
double cs_several_least_s(const cs_scenario *scenario, const uint32_t *ranks,
                          const cs_several_shape *shape);

typedef struct cs_several {
    const cs_scenario *scenario; /* borrowed */
    cs_several_shape   shape;
    cs_arena           arena;
    uint32_t          *rank_of; /* [n] of a label */
    uint32_t           early, chunks;
    cs_klate           klate;
    double             end_s; /* predicted: the rounds one after the other */
    cs_circulant       pre;
    uint32_t           round; /* of klate.rounds */
    size_t             next;
} cs_several;

/* Make the schedule; free with cs_several_close(), also after a failure. */
cs_status cs_several_open(cs_several *several, const cs_scenario *scenario,
                          const cs_several_shape *shape, cs_error *err);
void      cs_several_close(cs_several *several);

/* Chunks = slots, rounds, CS_USES_*. */
cs_plan cs_several_plan(const cs_several *several);

/* Fill the empty block; nothing at the end. */
void cs_several_next(cs_several *several, cs_block *block);

#endif
