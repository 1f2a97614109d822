/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/grid.h -- a small schedule as it was replayed: its transfers with their times, and the
 * rows and lanes on which they lie.
 *
 * Every rank has a row for what it sends and one for what it receives, for each fabric that is
 * used. Transfers that share a port lie on several lanes of its row.
 */
#ifndef CS_OUTPUT_GRID_H
#define CS_OUTPUT_GRID_H

#include "base/arena.h"
#include "cs/recording.h"
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

/* One end of a transfer. */
typedef struct cs_grid_bar {
    size_t   transfer;
    uint32_t row, lane;
    uint32_t peer; /* the rank at the other end */
} cs_grid_bar;

typedef struct cs_grid_row {
    uint32_t rank, fabric, direction; /* CS_TX or CS_RX of output/tracks.h */
    uint32_t n_lanes;                 /* >= 1 */
} cs_grid_row;

typedef struct cs_grid {
    cs_arena     arena; /* owns the lists */
    cs_result    result;
    cs_recording recording; /* of a message of several parts an interval is the part's share */
    uint32_t    *stages;    /* [transfers] below CS_GRID_STAGES */
    cs_grid_bar *bars;      /* in the order of the transfers */
    size_t       n_bars;
    cs_grid_row *rows; /* by rank, then fabric, then direction */
    size_t       n_rows;
    bool         is_used[CS_FABRICS];
} cs_grid;

/* Replay and verify a job into an empty grid, which the caller frees, also on failure. CS_ENOTSUP
 * when it is too large, CS_EWRONG when the schedule is wrong. */
CS_MUST_CHECK cs_status cs_grid_fill(cs_grid *grid, const cs_job *job, cs_error *err);

void cs_grid_free(cs_grid *grid);

/* What a transfer is for: below CS_GRID_STAGES. */
uint32_t cs_grid_stage_of(const cs_scenario *scenario, const cs_transfer *t,
                          const cs_interval *when);

/* Which names fit a run. */
typedef struct cs_grid_names {
    bool is_plain; /* nobody is slow: the operations alone */
    bool is_optcc; /* OptCC's own; they fit only where it did not choose the ring */
} cs_grid_names;
cs_grid_names cs_grid_names_of(const cs_scenario *scenario, const cs_result *result);

/* Of a stage below CS_GRID_STAGES; static storage. */
const char *cs_grid_stage_colour(uint32_t stage);
const char *cs_grid_stage_text(cs_grid_names names, uint32_t stage);

#endif
