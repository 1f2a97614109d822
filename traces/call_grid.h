/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/call_grid.h -- which calls of a group can be used: records of its ranks, in any order,
 * some there twice and some lost, become a grid of calls by ranks.
 *
 * Of a rank that has a call twice, the earlier record counts. A call is used that three quarters of
 * the ranks have, but not in front of the first record of a rank or behind its last one, and a rank
 * that has less than half of these calls must have it. The records that such a call lacks are in
 * the grid, without times. Readings of clocks are used unless that costs more than half of the
 * calls.
 */
#ifndef CS_TRACES_CALL_GRID_H
#define CS_TRACES_CALL_GRID_H

#include "base/text.h"
#include "cs/error.h"
#include "traces/call_record.h"

#include <stddef.h>

/* The most ranks that a note names. */
#define CS_NOTED 8

typedef struct cs_call_grid {
    uint32_t        n_rows;  /* ranks that have a log */
    uint32_t       *rank_of; /* [n_rows] ascending; owned */
    size_t          n_calls, n_left_out;
    cs_call_record *records;    /* [n_calls][n_rows], by number of call; owned */
    bool            has_clocks; /* readings are used: every record that is not lost has one */
} cs_call_grid;

/* The records of a group, and who has a log: a rank may have one of which no record was kept. */
typedef struct cs_call_records {
    cs_call_record *records; /* [n]; taken over: NULL afterwards */
    size_t          n;
    const bool     *has_log; /* [n_ranks] */
    uint32_t        n_ranks;
} cs_call_records;

/* Make a grid; with less than two rows or no call of use, `n_calls` is 0. The notes say what is
 * missing, there twice and lost. The caller frees the grid, after a failure, too. O(n log n). */
CS_MUST_CHECK cs_status cs_call_grid_make(cs_call_records *given, cs_call_grid *grid_p,
                                          cs_text *notes, cs_error *err);

/* The records of call `k`, one of each row. */
static inline const cs_call_record *cs_call_grid_call(const cs_call_grid *grid, size_t k)
{
    return &grid->records[k * grid->n_rows];
}

/* Does the clock of a rank step back from call to call? O(entries). */
bool cs_call_grid_steps_back(const cs_call_grid *grid);

/* `{0}` is allowed. */
void cs_call_grid_free(cs_call_grid *grid);

#endif
