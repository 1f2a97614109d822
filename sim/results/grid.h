/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/grid.h -- a small schedule as it was replayed: its transfers with their times, and the
 * rows and lanes on which they lie.
 *
 * Every rank has a row for what it sends and one for what it receives, for each fabric that is
 * used. Transfers that share a port lie on several lanes of its row.
 */
#ifndef CS_RESULTS_GRID_H
#define CS_RESULTS_GRID_H

#include "base/arena.h"
#include "cs/result.h"

/* More than this is refused: nobody can read it. */
enum { CS_GRID_MAX_TRANSFERS = 4000, CS_GRID_MAX_RANKS = 64 };

/* What a transfer is for, from its operation and from where its ends stand: one of
 * CS_GRID_STAGES, place * 3 + cs_op. */
typedef enum cs_grid_place {
    CS_BETWEEN_HEALTHY,
    CS_TO_SLOW,
    CS_FROM_SLOW,
    CS_BETWEEN_SLOW,
    CS_IN_SERVER,
} cs_grid_place;
enum { CS_GRID_STAGES = 15 };

typedef struct cs_grid_cell {
    cs_transfer transfer;
    cs_interval when; /* of a message of several parts: this part's share */
    uint32_t    stage;
} cs_grid_cell;

/* One end of a cell. */
typedef struct cs_grid_bar {
    size_t   cell;
    uint32_t row, lane;
    uint32_t peer; /* the rank at the other end */
} cs_grid_bar;

typedef struct cs_grid_row {
    uint32_t rank, fabric, direction; /* CS_TX or CS_RX of results/tracks.h */
    uint32_t n_lanes;                 /* >= 1 */
} cs_grid_row;

typedef struct cs_grid {
    cs_arena      arena; /* owns the lists */
    cs_result     result;
    cs_grid_cell *cells;
    size_t        n_cells;
    cs_grid_bar  *bars; /* in the order of the cells */
    size_t        n_bars;
    cs_grid_row  *rows; /* by rank, then fabric, then direction */
    size_t        n_rows;
    bool          is_used[CS_FABRICS];
} cs_grid;

/* Replay and verify a job into an empty grid, which the caller frees, also on failure. CS_ENOTSUP
 * when it is too large, CS_EWRONG when the schedule is wrong. */
CS_MUST_CHECK cs_status cs_grid_fill(cs_grid *grid, const cs_job *job, cs_error *err);

void cs_grid_free(cs_grid *grid);

#endif
