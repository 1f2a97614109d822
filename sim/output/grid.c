/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small schedule: replay, what each transfer is for, and the row and lane of each of its ends. */
#include "output/grid.h"

#include "output/tracks.h"

#include <string.h>

/* Are the NICs of the rank's server slow when the interval begins? A switch has none. */
static bool is_slow(const cs_scenario *scenario, uint32_t end, const cs_interval *when)
{
    size_t             n;
    const cs_capacity *steps;

    if (cs_is_switch(&scenario->cluster, end)) {
        return false;
    }
    steps = cs_capacity_of(scenario, end, &n);
    return cs_slowdown_at(steps, n, when->start_s) > 1;
}

uint32_t cs_grid_stage_of(const cs_scenario *scenario, const cs_transfer *t,
                          const cs_interval *when)
{
    bool          is_nic = cs_transfer_fabric(t) == CS_NIC;
    bool          from   = is_nic && is_slow(scenario, t->src, when);
    bool          to     = is_nic && is_slow(scenario, t->dst, when);
    cs_grid_place place  = from && to ? CS_BETWEEN_SLOW : from ? CS_FROM_SLOW : CS_BETWEEN_HEALTHY;

    if (to && !from) {
        place = CS_TO_SLOW;
    }
    if (!is_nic) {
        place = CS_IN_SERVER;
    }
    return 3 * (uint32_t)place + (uint32_t)cs_transfer_op(t);
}

/* Lanes are found in picoseconds, which hold 100 days. */
static const double MOST_SECONDS = 9e6;

static cs_status limit(const cs_recording *recording, cs_error *err)
{
    if (recording->n_transfers > CS_GRID_MAX_TRANSFERS) {
        return CS_FAIL(err, CS_ENOTSUP, "format",
                       "the schedule has more than the %d transfers that a picture can show",
                       CS_GRID_MAX_TRANSFERS);
    }
    if (!(recording->last_end_s <= MOST_SECONDS)) {
        return CS_FAIL(err, CS_ENOTSUP, "format", "a transfer ends after %g s; at most %g s fit",
                       recording->last_end_s, MOST_SECONDS);
    }
    return CS_OK;
}

static cs_status replay(cs_grid *grid, const cs_job *job, cs_error *err)
{
    cs_observer observer = cs_recording_observer(&grid->recording);
    cs_job      verified = *job;

    grid->recording.limits[0] = limit;
    verified.verify           = true;
    CS_TRY(cs_job_run(&verified, &observer, 1, &grid->result, err));
    if (!grid->result.verified) {
        return CS_FAIL(err, CS_EWRONG, "schedule", "%.180s", grid->result.verdict.text);
    }
    return CS_OK;
}

static cs_status find_stages(cs_grid *grid, const cs_scenario *scenario, cs_error *err)
{
    const cs_recording *r = &grid->recording;

    grid->stages = CS_ARENA_NEW(&grid->arena, uint32_t, r->n_transfers);
    if (grid->stages == NULL) {
        return CS_NO_MEMORY(err, "the picture of a schedule");
    }
    for (size_t i = 0; i < r->n_transfers; i++) {
        grid->stages[i] = cs_grid_stage_of(scenario, &r->transfers[i], &r->intervals[i]);
        grid->is_used[cs_transfer_fabric(&r->transfers[i])] = true;
    }
    return CS_OK;
}

/* Rows of the fabrics that are used; the NICs' when nothing is sent at all. */
static cs_status make_rows(cs_grid *grid, uint32_t n_ranks, cs_error *err)
{
    bool is_empty = grid->recording.n_transfers == 0;

    grid->rows = CS_ARENA_NEW(&grid->arena, cs_grid_row, (size_t)n_ranks * 2 * CS_FABRICS);
    if (grid->rows == NULL) {
        return CS_NO_MEMORY(err, "the picture of a schedule");
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

/* Put one end of a transfer on the first lane of its port that is free. */
static cs_status add_bar(cs_grid *grid, cs_tracks *tracks, size_t transfer, uint32_t rank,
                         uint32_t peer, uint32_t direction)
{
    const cs_interval *when = &grid->recording.intervals[transfer];
    uint32_t           f    = cs_transfer_fabric(&grid->recording.transfers[transfer]), tid;
    cs_track           port = {.direction = direction, .fabric = f, .peer = CS_NO_PEER};
    double             ps   = 1e12;

    if (rank >= tracks->n_ranks) { /* a switch: it is seen where the GPU's port is */
        return CS_OK;
    }
    if (cs_tracks_place(tracks, rank, port, (int64_t)(when->start_s * ps + 0.5),
                        (int64_t)(when->end_s * ps + 0.5), &tid) != CS_OK) {
        return CS_ENOMEM;
    }
    const cs_track_list *list = &tracks->ranks[rank];
    cs_grid_bar          bar  = {transfer, row_of(grid, rank, f, direction), 0, peer};
    for (size_t i = 0; i < list->count; i++) {
        bar.lane = list->tracks[i].tid == tid ? list->tracks[i].lane : bar.lane;
    }
    cs_grid_row *row           = &grid->rows[bar.row];
    row->n_lanes               = bar.lane + 1 > row->n_lanes ? bar.lane + 1 : row->n_lanes;
    grid->bars[grid->n_bars++] = bar;
    return CS_OK;
}

static cs_status add_ends(cs_grid *grid, cs_tracks *tracks, size_t i)
{
    const cs_transfer *t = &grid->recording.transfers[i];

    CS_TRY(add_bar(grid, tracks, i, t->src, t->dst, CS_TX));
    CS_TRY(add_bar(grid, tracks, i, t->dst, t->src, CS_RX));
    if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
        CS_TRY(add_bar(grid, tracks, i, t->dst, t->src, CS_TX));
        CS_TRY(add_bar(grid, tracks, i, t->src, t->dst, CS_RX));
    }
    return CS_OK;
}

static cs_status make_bars(cs_grid *grid, uint32_t n_ranks, cs_error *err)
{
    cs_tracks tracks = {0};
    cs_status status = cs_tracks_init(&tracks, n_ranks);

    grid->bars = CS_ARENA_NEW(&grid->arena, cs_grid_bar, 4 * grid->recording.n_transfers + 1);
    if (grid->bars == NULL) {
        status = CS_ENOMEM;
    }
    for (size_t i = 0; i < grid->recording.n_transfers && status == CS_OK; i++) {
        status = add_ends(grid, &tracks, i);
    }
    cs_tracks_free(&tracks);
    return status == CS_OK ? CS_OK : CS_NO_MEMORY(err, "the picture of a schedule");
}

cs_status cs_grid_fill(cs_grid *grid, const cs_job *job, cs_error *err)
{
    uint32_t n = job->scenario.cluster.n_ranks;

    if (n > CS_GRID_MAX_RANKS) {
        return CS_FAIL(err, CS_ENOTSUP, "format", "a picture shows at most %d ranks, not %u",
                       CS_GRID_MAX_RANKS, n);
    }
    CS_TRY(replay(grid, job, err));
    CS_TRY(find_stages(grid, &job->scenario, err));
    CS_TRY(make_rows(grid, n, err));
    return make_bars(grid, n, err);
}

void cs_grid_free(cs_grid *grid)
{
    cs_recording_free(&grid->recording);
    cs_arena_free(&grid->arena);
    memset(grid, 0, sizeof *grid);
}

/* The stages: colour, what any schedule does there, and what OptCC calls it. */
static const struct {
    const char *colour, *text, *optcc;
} stages[CS_GRID_STAGES] = {
    {"#5AA9D6", "copy between healthy ranks", "S4: final around the ring"},
    {"#BFE3F5", "reduce between healthy ranks", "S1: partial sum around the ring"},
    {"#9AD9C8", "exchange between healthy ranks", "exchange between healthy ranks"},
    {"#E58A2B", "copy to a slow rank", "S2: final to a slow rank"},
    {"#C9A3E3", "reduce to a slow rank", "to a slow rank, which adds (special section, bubbles)"},
    {"#F2C14E", "exchange with a slow rank", "exchange with a slow rank"},
    {"#E3A0C4", "copy from a slow rank", "final from a slow rank (special section, bubbles)"},
    {"#FBD5A0", "reduce from a slow rank", "S3: contribution of a slow rank"},
    {"#F6D98B", "exchange from a slow rank", "exchange from a slow rank"},
    {"#C66B5D", "copy between slow ranks", "copy between slow ranks"},
    {"#E9A79C", "reduce between slow ranks", "reduce between slow ranks"},
    {"#D98779", "exchange between slow ranks", "exchange between slow ranks"},
    {"#8DB580", "copy within a server", "distribute: final within a server"},
    {"#CFE5C4", "reduce within a server", "collect: contributions within a server"},
    {"#B0CFA3", "exchange within a server", "exchange within a server"},
};

cs_grid_names cs_grid_names_of(const cs_scenario *scenario, const cs_result *result)
{
    const cs_field *row      = cs_field_find(result->option_table, "chosen");
    char            text[32] = "";

    if (row != NULL) {
        (void)cs_field_text(row, &result->options, text, sizeof text);
    }
    return (cs_grid_names){.is_plain = scenario->n_capacity == 0,
                           .is_optcc = strcmp(result->algorithm, "optcc") == 0 &&
                                       strcmp(text, "optcc") == 0};
}

const char *cs_grid_stage_colour(uint32_t stage)
{
    return stages[stage].colour;
}

const char *cs_grid_stage_text(cs_grid_names names, uint32_t stage)
{
    static const char *const plain[] = {"copy", "reduce", "exchange"};

    if (names.is_plain && stage < 3) {
        return plain[stage];
    }
    return names.is_optcc ? stages[stage].optcc : stages[stage].text;
}
