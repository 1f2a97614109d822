/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A replayed schedule on rows and lanes: see grid.h. An observer keeps the transfers; tracks.h puts
 * what overlaps on lanes of its own. */
#include "results/grid.h"

#include "results/tracks.h"

#include <string.h>

static cs_status no_memory(cs_error *err)
{
    return CS_FAIL(err, CS_ENOMEM, "", "out of memory for the picture of a schedule");
}

typedef struct recorder {
    cs_grid           *grid;
    const cs_scenario *scenario;
} recorder;

/* Are the NICs of the rank's server slow at any time of the interval? */
static bool is_slow(const cs_scenario *scenario, uint32_t rank, const cs_interval *when)
{
    uint32_t g = scenario->cluster.gpus_per_server;

    for (size_t i = 0; i < scenario->n_faults; i++) {
        const cs_fault *f = &scenario->faults[i];
        if (f->rank / g == rank / g && f->slow_ratio > 1 && f->from_s <= when->start_s &&
            f->until_s > when->start_s) {
            return true;
        }
    }
    return false;
}

static uint32_t stage_of(const cs_scenario *scenario, const cs_transfer *t, const cs_interval *when)
{
    bool          from  = is_slow(scenario, t->src, when);
    bool          to    = is_slow(scenario, t->dst, when);
    cs_grid_place place = from && to ? CS_BETWEEN_SLOW : from ? CS_FROM_SLOW : CS_BETWEEN_HEALTHY;

    if (to && !from) {
        place = CS_TO_SLOW;
    }
    if (cs_transfer_fabric(t) != CS_NIC) {
        place = CS_IN_SERVER;
    }
    return 3 * (uint32_t)place + (uint32_t)cs_transfer_op(t);
}

/* Lanes are found in picoseconds, which hold 100 days. */
static const double MOST_SECONDS = 9e6;

static cs_status record(void *user, const cs_block *block, const cs_interval *intervals,
                        cs_error *err)
{
    recorder *r    = user;
    cs_grid  *grid = r->grid;

    if (block->count > CS_GRID_MAX_TRANSFERS - grid->n_cells) {
        return CS_FAIL(err, CS_ENOTSUP, "format",
                       "the schedule has more than the %d transfers that a picture can show",
                       CS_GRID_MAX_TRANSFERS);
    }
    for (size_t i = 0; i < block->count; i++) {
        const cs_transfer *t = &block->transfers[i];
        if (!(intervals[i].end_s <= MOST_SECONDS)) {
            return CS_FAIL(err, CS_ENOTSUP, "format",
                           "a transfer ends after %g s; at most %g s fit", intervals[i].end_s,
                           MOST_SECONDS);
        }
        grid->cells[grid->n_cells++] = (cs_grid_cell){
            .transfer = *t, .when = intervals[i], .stage = stage_of(r->scenario, t, &intervals[i])};
        grid->is_used[cs_transfer_fabric(t)] = true;
    }
    return CS_OK;
}

static cs_status replay(cs_grid *grid, const cs_job *job, cs_error *err)
{
    recorder    who      = {grid, &job->scenario};
    cs_observer observer = {.block = record, .user = &who};
    cs_job      verified = *job;

    verified.verify  = true;
    cs_status status = cs_job_run(&verified, &observer, 1, &grid->result, err);
    if (status == CS_OK && !grid->result.verified) {
        return CS_FAIL(err, CS_EWRONG, "schedule", "%.180s", grid->result.verdict.text);
    }
    return status;
}

/* Rows of the fabrics that are used; the NICs' when nothing is sent at all. */
static cs_status make_rows(cs_grid *grid, uint32_t n_ranks, cs_error *err)
{
    bool is_empty = grid->n_cells == 0;

    grid->rows = CS_ARENA_NEW(&grid->arena, cs_grid_row, (size_t)n_ranks * 2 * CS_FABRICS);
    if (grid->rows == NULL) {
        return no_memory(err);
    }
    for (uint32_t r = 0; r < n_ranks; r++) {
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            for (uint32_t d = 0; d < 2 && (grid->is_used[f] || (is_empty && f == CS_NIC)); d++) {
                grid->rows[grid->n_rows++] =
                    (cs_grid_row){.rank = r, .fabric = f, .direction = d, .n_lanes = 1};
            }
        }
    }
    return CS_OK;
}

static uint32_t row_of(const cs_grid *grid, uint32_t rank, uint32_t fabric, uint32_t direction)
{
    for (uint32_t i = 0; i < grid->n_rows; i++) {
        const cs_grid_row *row = &grid->rows[i];
        if (row->rank == rank && row->fabric == fabric && row->direction == direction) {
            return i;
        }
    }
    return 0;
}

/* Put one end of a cell on the first lane of its port that is free. */
static cs_status add_bar(cs_grid *grid, cs_tracks *tracks, size_t cell, uint32_t rank,
                         uint32_t peer, uint32_t direction)
{
    const cs_grid_cell  *c    = &grid->cells[cell];
    uint32_t             f    = cs_transfer_fabric(&c->transfer), tid;
    cs_track             port = {.direction = direction, .fabric = f, .peer = CS_NO_PEER};
    const cs_track_list *list = &tracks->ranks[rank];
    double               ps   = 1e12;

    if (cs_tracks_place(tracks, rank, port, (int64_t)(c->when.start_s * ps + 0.5),
                        (int64_t)(c->when.end_s * ps + 0.5), &tid) != CS_OK) {
        return CS_ENOMEM;
    }
    cs_grid_bar bar = {cell, row_of(grid, rank, f, direction), 0, peer};
    for (size_t i = 0; i < list->count; i++) {
        bar.lane = list->tracks[i].tid == tid ? list->tracks[i].lane : bar.lane;
    }
    cs_grid_row *row           = &grid->rows[bar.row];
    row->n_lanes               = bar.lane + 1 > row->n_lanes ? bar.lane + 1 : row->n_lanes;
    grid->bars[grid->n_bars++] = bar;
    return CS_OK;
}

static cs_status add_ends(cs_grid *grid, cs_tracks *tracks, size_t cell)
{
    const cs_transfer *t       = &grid->cells[cell].transfer;
    cs_status          status  = add_bar(grid, tracks, cell, t->src, t->dst, CS_TX);
    bool               is_both = cs_transfer_op(t) == CS_OP_EXCHANGE;

    if (status == CS_OK) {
        status = add_bar(grid, tracks, cell, t->dst, t->src, CS_RX);
    }
    if (status == CS_OK && is_both) {
        status = add_bar(grid, tracks, cell, t->dst, t->src, CS_TX);
    }
    if (status == CS_OK && is_both) {
        status = add_bar(grid, tracks, cell, t->src, t->dst, CS_RX);
    }
    return status;
}

static cs_status make_bars(cs_grid *grid, uint32_t n_ranks, cs_error *err)
{
    cs_tracks tracks = {0};
    cs_status status = cs_tracks_init(&tracks, n_ranks);

    grid->bars = CS_ARENA_NEW(&grid->arena, cs_grid_bar, 4 * grid->n_cells + 1);
    if (grid->bars == NULL) {
        status = CS_ENOMEM;
    }
    for (size_t i = 0; i < grid->n_cells && status == CS_OK; i++) {
        status = add_ends(grid, &tracks, i);
    }
    cs_tracks_free(&tracks);
    return status == CS_OK ? CS_OK : no_memory(err);
}

cs_status cs_grid_fill(cs_grid *grid, const cs_job *job, cs_error *err)
{
    uint32_t n = job->scenario.cluster.n_ranks;

    if (n > CS_GRID_MAX_RANKS) {
        return CS_FAIL(err, CS_ENOTSUP, "format", "a picture shows at most %d ranks, not %u",
                       CS_GRID_MAX_RANKS, n);
    }
    grid->cells = CS_ARENA_NEW(&grid->arena, cs_grid_cell, CS_GRID_MAX_TRANSFERS);
    if (grid->cells == NULL) {
        return no_memory(err);
    }
    cs_status status = replay(grid, job, err);
    if (status == CS_OK) {
        status = make_rows(grid, n, err);
    }
    return status == CS_OK ? make_bars(grid, n, err) : status;
}

void cs_grid_free(cs_grid *grid)
{
    cs_arena_free(&grid->arena);
    memset(grid, 0, sizeof *grid);
}
