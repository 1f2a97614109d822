/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run for the page. The recording is in stream order; the page wants transfers by their start,
 * so that what is kept gets a place in that order, and causes become distances in it. */
#include "report/timeline.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "cs/recording.h"
#include "cs/result.h"
#include "engine/explain.h"
#include "output/grid.h"
#include "output/usage.h"
#include "report/pack.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ticks in a run: starts fit 32 bits also where a transfer ends after the last completion, which it
 * may where a port stays closed behind it. */
#define TICKS 2147483648.0

#define NOWHERE UINT32_MAX

enum { MOST_LANES = 250, MOST_ENDS = 65536, MOST_LINK_ROWS = 160, N_WAITS = CS_WAIT_FENCE + 1 };

/* A lane of a port: when it is free, and the next one of the port. */
typedef struct lane {
    uint32_t until, next;
} lane;

typedef struct drawing {
    const cs_scenario *scenario;
    size_t             most; /* transfers */
    cs_result          result;
    cs_recording       recording;
    cs_usage           usage;
    cs_causes          causes;
    cs_arena           arena;
    double             ticks_per_s;
    uint32_t           n_ends;
    uint32_t          *order; /* [n] indices of what is shown, by start, then sender */
    uint32_t          *place; /* [transfers] in `order`, or NOWHERE */
    size_t             n;
    uint32_t           n_whole;    /* ranks of which all is shown, where something is left out */
    uint32_t          *lanes[2];   /* [n] sub-lanes at the sending and the receiving end */
    bool               is_crowded; /* a port has more than MOST_LANES of them */
    uint64_t          *sizes;      /* [n_sizes] ascending */
    uint32_t           n_sizes;
    uint32_t          *column; /* [n] scratch */
    cs_text           *json;
} drawing;

static cs_status no_memory(cs_error *err)
{
    return CS_NO_MEMORY(err, "a timeline");
}

/* ---- ticks ---- */

static uint32_t tick_of(const drawing *d, double time_s)
{
    return (uint32_t)fmin(floor(time_s * d->ticks_per_s + 0.5), UINT32_MAX - 1.0);
}

static uint32_t start_of(const drawing *d, size_t k)
{
    return tick_of(d, d->recording.intervals[d->order[k]].start_s);
}

/* Nothing is shorter than a tick. */
static uint32_t duration_of(const drawing *d, size_t k)
{
    uint32_t start = start_of(d, k), end = tick_of(d, d->recording.intervals[d->order[k]].end_s);
    return end > start ? end - start : 1;
}

/* ---- what is shown ---- */

static bool is_late(const drawing *d, uint32_t rank)
{
    return cs_arrival(d->scenario, rank) > 0;
}

/* Its NIC is slow at some time of the run. */
static bool is_slow(const drawing *d, uint32_t rank)
{
    size_t             n;
    const cs_capacity *steps = cs_capacity_of(d->scenario, rank, &n);

    return n > 0 && steps[0].from_s < d->result.elapsed_s;
}

typedef struct candidate {
    double   busy_s; /* of all its transfers */
    uint32_t rank;
    bool     is_special; /* late or slow */
} candidate;

static int compare_candidates(const void *left, const void *right)
{
    const candidate *a = left, *b = right;

    if (a->is_special != b->is_special) {
        return a->is_special ? -1 : 1;
    }
    if (a->busy_s != b->busy_s) {
        return a->busy_s > b->busy_s ? -1 : 1;
    }
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* The transfers of every rank. */
typedef struct by_rank {
    uint32_t *first;   /* [n_ranks + 1] */
    uint32_t *indices; /* rank by rank, ascending */
} by_rank;

static bool list_by_rank(drawing *d, by_rank *lists)
{
    const cs_recording *r = &d->recording;
    uint32_t            n = d->scenario->cluster.n_ranks;

    lists->first   = CS_ARENA_NEW(&d->arena, uint32_t, (size_t)n + 2);
    lists->indices = CS_ARENA_NEW(&d->arena, uint32_t, 2 * r->n_transfers + 1);
    if (lists->first == NULL || lists->indices == NULL) {
        return false;
    }
    for (size_t i = 0; i < r->n_transfers; i++) { /* counts stand two behind, then ends one */
        const uint32_t ends[2] = {r->transfers[i].src, r->transfers[i].dst};
        for (int e = 0; e < 2; e++) {
            lists->first[ends[e] < n ? ends[e] + 2 : 0]++;
        }
    }
    lists->first[0] = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        lists->first[rank + 2] += lists->first[rank + 1];
    }
    for (size_t i = 0; i < r->n_transfers; i++) {
        const uint32_t ends[2] = {r->transfers[i].src, r->transfers[i].dst};
        for (int e = 0; e < 2; e++) {
            if (ends[e] < n) {
                lists->indices[lists->first[ends[e] + 1]++] = (uint32_t)i;
            }
        }
    }
    return true;
}

/* Late and slow ranks, then the others, the busiest first. */
static candidate *list_candidates(drawing *d)
{
    uint32_t   n    = d->scenario->cluster.n_ranks;
    candidate *list = CS_ARENA_NEW(&d->arena, candidate, n);

    for (uint32_t rank = 0; list != NULL && rank < n; rank++) {
        list[rank] = (candidate){.rank = rank, .is_special = is_late(d, rank) || is_slow(d, rank)};
    }
    for (size_t i = 0; list != NULL && i < d->recording.n_transfers; i++) {
        const cs_transfer *t     = &d->recording.transfers[i];
        const cs_interval *when  = &d->recording.intervals[i];
        const uint32_t     two[] = {t->src, t->dst};
        for (int e = 0; e < 2; e++) {
            if (two[e] < n) {
                list[two[e]].busy_s += when->end_s - when->start_s;
            }
        }
    }
    if (list != NULL) {
        qsort(list, n, sizeof *list, compare_candidates);
    }
    return list;
}

/* Too many: the critical path (of one that is too long itself, its end), then all of a rank after
 * the other, as long as it fits. */
static cs_status thin(drawing *d, cs_error *err)
{
    by_rank    lists;
    candidate *list = list_candidates(d);
    size_t     left = d->most, n_path = d->causes.n_path;

    if (list == NULL || !list_by_rank(d, &lists)) {
        return no_memory(err);
    }
    for (size_t k = n_path > left ? n_path - left : 0; k < n_path; k++) {
        d->place[d->causes.path[k]] = 0;
    }
    left -= n_path < left ? n_path : left;
    for (uint32_t c = 0; c < d->scenario->cluster.n_ranks; c++) {
        uint32_t rank = list[c].rank;
        size_t   more = 0;
        for (uint32_t i = lists.first[rank]; i < lists.first[rank + 1]; i++) {
            more += d->place[lists.indices[i]] == NOWHERE;
        }
        if (more > left || lists.first[rank] == lists.first[rank + 1]) {
            continue;
        }
        for (uint32_t i = lists.first[rank]; i < lists.first[rank + 1]; i++) {
            d->place[lists.indices[i]] = 0;
        }
        left -= more;
        d->n_whole++;
    }
    return CS_OK;
}

typedef struct sorted {
    uint64_t key; /* start in ticks, sender */
    uint32_t index;
} sorted;

static int compare_sorted(const void *left, const void *right)
{
    const sorted *a = left, *b = right;

    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

/* What is shown, in its order. */
static cs_status choose(drawing *d, cs_error *err)
{
    const cs_recording *r       = &d->recording;
    bool                is_thin = r->n_transfers > d->most;

    d->place = CS_ARENA_NEW(&d->arena, uint32_t, r->n_transfers);
    if (d->place == NULL) {
        return no_memory(err);
    }
    memset(d->place, is_thin ? 0xff : 0, r->n_transfers * sizeof *d->place);
    if (is_thin) {
        CS_TRY(thin(d, err));
    }
    for (size_t i = 0; i < r->n_transfers; i++) {
        d->n += d->place[i] != NOWHERE;
    }
    sorted *list = CS_ARENA_NEW(&d->arena, sorted, d->n);
    d->order     = CS_ARENA_NEW(&d->arena, uint32_t, d->n);
    d->column    = CS_ARENA_NEW(&d->arena, uint32_t, d->n);
    if (list == NULL || d->order == NULL || d->column == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0, k = 0; i < r->n_transfers; i++) {
        if (d->place[i] != NOWHERE) {
            uint64_t start = tick_of(d, r->intervals[i].start_s);
            list[k++]      = (sorted){start << 32 | r->transfers[i].src, (uint32_t)i};
        }
    }
    qsort(list, d->n, sizeof *list, compare_sorted);
    for (size_t k = 0; k < d->n; k++) {
        d->order[k]             = list[k].index;
        d->place[list[k].index] = (uint32_t)k;
    }
    return CS_OK;
}

/* ---- sub-lanes ---- */

typedef struct lanes {
    uint32_t *first; /* [ports] of `list`, or NOWHERE */
    lane     *list;
    size_t    n, capacity;
} lanes;

/* The next lane of a port, which is made where it is not there; NULL: no memory. */
static uint32_t *step(lanes *l, uint32_t port, uint32_t at, uint32_t *found_p)
{
    uint32_t found = at == NOWHERE ? l->first[port] : l->list[at].next;

    if (found == NOWHERE) {
        if (!cs_grow(&l->list, &l->capacity, l->n + 1, 1024, sizeof *l->list)) {
            return NULL;
        }
        found                                                  = (uint32_t)l->n++;
        l->list[found]                                         = (lane){0, NOWHERE};
        *(at == NOWHERE ? &l->first[port] : &l->list[at].next) = found;
    }
    *found_p = found;
    return found_p;
}

/* The first lane that is free at the start at two ports (or twice at one): taken until the end. */
static bool take_lane(lanes *l, uint32_t port, uint32_t other, uint32_t start, uint32_t end,
                      uint32_t *lane_p, bool *is_crowded_p)
{
    uint32_t a = NOWHERE, b = NOWHERE;

    for (uint32_t k = 0; k < MOST_LANES; k++) {
        if (step(l, port, a, &a) == NULL || step(l, other, b, &b) == NULL) {
            return false;
        }
        bool is_free = l->list[a].until <= start && l->list[b].until <= start;
        if (is_free || k + 1 == MOST_LANES) {
            *is_crowded_p    = *is_crowded_p || !is_free;
            l->list[a].until = end > l->list[a].until ? end : l->list[a].until;
            l->list[b].until = end > l->list[b].until ? end : l->list[b].until;
            *lane_p          = k;
            return true;
        }
    }
    return false;
}

static bool place_lanes(drawing *d, lanes *l)
{
    bool is_done = true;

    for (size_t k = 0; k < d->n && is_done; k++) {
        const cs_transfer *t     = &d->recording.transfers[d->order[k]];
        uint32_t           start = start_of(d, k), end = start + duration_of(d, k);
        uint32_t           f = cs_transfer_fabric(t);
        uint32_t tx = 2 * (t->src * CS_FABRICS + f), rx = 2 * (t->dst * CS_FABRICS + f) + 1;
        bool     back = cs_transfer_op(t) == CS_OP_EXCHANGE;
        is_done =
            take_lane(l, tx, back ? tx + 1 : tx, start, end, &d->lanes[0][k], &d->is_crowded) &&
            take_lane(l, rx, back ? rx - 1 : rx, start, end, &d->lanes[1][k], &d->is_crowded);
    }
    return is_done;
}

static cs_status find_lanes(drawing *d, cs_error *err)
{
    size_t n_ports = (size_t)d->n_ends * CS_FABRICS * 2;
    lanes  l       = {.first = CS_ARENA_NEW(&d->arena, uint32_t, n_ports)};

    d->lanes[0] = CS_ARENA_NEW(&d->arena, uint32_t, d->n);
    d->lanes[1] = CS_ARENA_NEW(&d->arena, uint32_t, d->n);
    if (l.first == NULL || d->lanes[0] == NULL || d->lanes[1] == NULL) {
        return no_memory(err);
    }
    memset(l.first, 0xff, n_ports * sizeof *l.first);
    bool is_done = place_lanes(d, &l);
    cs_free(l.list);
    return is_done ? CS_OK : no_memory(err);
}

/* ---- sizes ---- */

static int compare_sizes(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static cs_status find_sizes(drawing *d, cs_error *err)
{
    d->sizes = CS_ARENA_NEW(&d->arena, uint64_t, d->n);
    if (d->sizes == NULL) {
        return no_memory(err);
    }
    for (size_t k = 0; k < d->n; k++) {
        d->sizes[k] = d->recording.transfers[d->order[k]].bytes;
    }
    qsort(d->sizes, d->n, sizeof *d->sizes, compare_sizes);
    for (size_t k = 0; k < d->n; k++) {
        if (k == 0 || d->sizes[k] != d->sizes[d->n_sizes - 1]) {
            d->sizes[d->n_sizes++] = d->sizes[k];
        }
    }
    return CS_OK;
}

/* ---- columns ---- */

static const cs_transfer *transfer(const drawing *d, size_t k)
{
    return &d->recording.transfers[d->order[k]];
}

static uint32_t from_of(const drawing *d, size_t k)
{
    return transfer(d, k)->src;
}

static uint32_t to_of(const drawing *d, size_t k)
{
    return transfer(d, k)->dst;
}

static uint32_t chunk_of(const drawing *d, size_t k)
{
    return transfer(d, k)->chunk;
}

static uint32_t round_of(const drawing *d, size_t k)
{
    return transfer(d, k)->round;
}

static uint32_t op_of(const drawing *d, size_t k)
{
    return (uint32_t)cs_transfer_op(transfer(d, k));
}

static uint32_t fabric_of(const drawing *d, size_t k)
{
    return cs_transfer_fabric(transfer(d, k));
}

static uint32_t size_of(const drawing *d, size_t k)
{
    const uint64_t *found =
        bsearch(&transfer(d, k)->bytes, d->sizes, d->n_sizes, sizeof *d->sizes, compare_sizes);
    return found != NULL ? (uint32_t)(found - d->sizes) : 0;
}

static uint32_t wait_of(const drawing *d, size_t k)
{
    return (uint32_t)d->causes.causes[d->order[k]].wait;
}

/* How far back the cause is; 0 where it is not shown, or stands behind its transfer: a cause
 * without length that begins with it, and has a higher sender. */
static uint32_t why_of(const drawing *d, size_t k)
{
    uint32_t before = d->causes.causes[d->order[k]].before;

    if (before == CS_NO_CAUSE || d->place[before] == NOWHERE || d->place[before] >= k) {
        return 0;
    }
    return (uint32_t)k - d->place[before];
}

static uint32_t tx_of(const drawing *d, size_t k)
{
    return d->lanes[0][k];
}

static uint32_t rx_of(const drawing *d, size_t k)
{
    return d->lanes[1][k];
}

static const struct {
    const char  *key;
    cs_pack_type type;
    bool         delta;
    uint32_t (*value)(const drawing *d, size_t k);
} columns[] = {
    {"start", CS_PACK_U32, true, start_of},   {"dur", CS_PACK_U32, false, duration_of},
    {"from", CS_PACK_U16, false, from_of},    {"to", CS_PACK_U16, false, to_of},
    {"chunk", CS_PACK_U32, false, chunk_of},  {"round", CS_PACK_U32, false, round_of},
    {"op", CS_PACK_U8, false, op_of},         {"size", CS_PACK_U32, false, size_of},
    {"fabric", CS_PACK_U8, false, fabric_of}, {"wait", CS_PACK_U8, false, wait_of},
    {"why", CS_PACK_U32, false, why_of},      {"tx", CS_PACK_U8, false, tx_of},
    {"rx", CS_PACK_U8, false, rx_of},
};

static cs_status add_columns(drawing *d, cs_error *err)
{
    cs_text_add(d->json, ",\"c\":{");
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        for (size_t k = 0; k < d->n; k++) {
            d->column[k] = columns[c].value(d, k);
        }
        cs_text_add(d->json, "%s\"%s\":", c > 0 ? "," : "", columns[c].key);
        CS_TRY(cs_pack_whole(d->json, columns[c].type, d->column, d->n, columns[c].delta, err));
    }
    cs_text_add(d->json, "}");
    return CS_OK;
}

/* Of a path that was too long, its end. */
static cs_status add_path(drawing *d, cs_error *err)
{
    size_t n = 0;

    for (size_t k = 0; k < d->causes.n_path; k++) {
        if (d->place[d->causes.path[k]] != NOWHERE) {
            d->column[n++] = d->place[d->causes.path[k]];
        }
    }
    cs_text_add(d->json, ",\"critical\":");
    return cs_pack_whole(d->json, CS_PACK_U32, d->column, n, false, err);
}

/* ---- the rest of the object ---- */

static void add_number(cs_text *json, const char *key, double value)
{
    cs_text_add(json, ",\"%s\":", key);
    cs_text_add_number(json, value);
}

static void add_count(cs_text *json, const char *key, uint64_t count)
{
    cs_text_add(json, ",\"%s\":%" PRIu64, key, count);
}

static void add_head(const drawing *d, const cs_timeline_name *name)
{
    const cs_cluster *c    = &d->scenario->cluster;
    const cs_result  *r    = &d->result;
    cs_text          *json = d->json;

    cs_text_add(json, "{\"title\":");
    cs_text_add_json_string(json, name->title);
    cs_text_add(json, ",\"algorithm\":");
    cs_text_add_json_string(json, r->algorithm);
    cs_text_add(json, ",\"model\":");
    cs_text_add_json_string(json, r->model);
    add_count(json, "ranks", c->n_ranks);
    add_count(json, "servers", cs_n_servers(c));
    add_count(json, "gpus_per_server", c->gpus_per_server);
    add_count(json, "ends", d->n_ends);
    add_count(json, "bytes", r->bytes);
    add_number(json, "elapsed_s", r->elapsed_s);
    add_number(json, "exposed_s", r->exposed_s);
    add_number(json, "last_arrival_s", cs_last_arrival(d->scenario));
    add_number(json, "bound_s", r->bound_s);
    cs_text_add(json, ",\"bound\":");
    cs_text_add_json_string(json, r->bound);
    add_number(json, "gap", r->gap);
    add_count(json, "rounds", r->rounds);
    add_count(json, "transfers", r->transfers);
    add_number(json, "setting", name->setting >= 0 ? (double)name->setting : (double)NAN);
    add_number(json, "tick_s", r->elapsed_s / TICKS);
}

static void add_late(const drawing *d)
{
    const char *comma = "";

    cs_text_add(d->json, ",\"late\":[");
    for (uint32_t rank = 0; rank < d->scenario->cluster.n_ranks; rank++) {
        if (is_late(d, rank)) {
            cs_text_add(d->json, "%s[%" PRIu32 ",", comma, rank);
            cs_text_add_number(d->json, cs_arrival(d->scenario, rank));
            cs_text_add(d->json, "]");
            comma = ",";
        }
    }
    cs_text_add(d->json, "]");
}

/* The steps of every rank's NIC that begin during the run; null: cut off, and to the end. */
static void add_slow(const drawing *d)
{
    const char *comma = "";
    size_t      n;

    cs_text_add(d->json, ",\"slow\":[");
    for (uint32_t rank = 0; rank < d->scenario->cluster.n_ranks; rank++) {
        const cs_capacity *steps = cs_capacity_of(d->scenario, rank, &n);
        for (size_t i = 0; i < n && steps[i].from_s < d->result.elapsed_s; i++) {
            cs_text_add(d->json, "%s[%" PRIu32 ",", comma, rank);
            cs_text_add_number(d->json, steps[i].slowdown);
            cs_text_add(d->json, ",");
            cs_text_add_number(d->json, steps[i].from_s);
            cs_text_add(d->json, ",");
            cs_text_add_number(d->json, steps[i].until_s);
            cs_text_add(d->json, "]");
            comma = ",";
        }
    }
    cs_text_add(d->json, "]");
}

static void add_names(const drawing *d)
{
    cs_text_add(d->json, ",\"ops\":[\"copy\",\"reduce\",\"exchange\"],\"fabrics\":[");
    for (uint32_t f = 0; f < cs_n_fabrics(&d->scenario->cluster); f++) {
        cs_text_add(d->json, "%s\"%s\"", f > 0 ? "," : "", cs_fabric_name(f));
    }
    cs_text_add(d->json, "],\"sizes\":[");
    for (uint32_t s = 0; s < d->n_sizes; s++) {
        cs_text_add(d->json, "%s%" PRIu64, s > 0 ? "," : "", d->sizes[s]);
    }
    cs_text_add(d->json, "],\"waits\":[");
    for (int w = 0; w < N_WAITS; w++) {
        cs_text_add(d->json, "%s\"%s\"", w > 0 ? "," : "", cs_wait_text((cs_wait)w));
    }
    cs_text_add(d->json, "]");
}

static void add_stage_names(const drawing *d, const uint32_t *places, bool colours)
{
    cs_grid_names names = cs_grid_names_of(d->scenario, &d->result);
    const char   *comma = "";

    for (uint32_t stage = 0; stage < CS_GRID_STAGES; stage++) {
        if (places[stage] != NOWHERE) {
            cs_text_add(d->json, "%s", comma);
            cs_text_add_json_string(d->json, colours ? cs_grid_stage_colour(stage)
                                                     : cs_grid_stage_text(names, stage));
            comma = ",";
        }
    }
}

/* What each transfer is for, of runs that a grid can show; names of those stages that there are. */
static cs_status add_stages(drawing *d, cs_error *err)
{
    uint32_t places[CS_GRID_STAGES], n = 0;

    if (d->recording.n_transfers > CS_GRID_MAX_TRANSFERS || d->n < d->recording.n_transfers ||
        d->scenario->cluster.n_ranks > CS_GRID_MAX_RANKS) {
        return CS_OK;
    }
    memset(places, 0xff, sizeof places);
    for (size_t k = 0; k < d->n; k++) {
        uint32_t i = d->order[k];
        d->column[k] =
            cs_grid_stage_of(d->scenario, &d->recording.transfers[i], &d->recording.intervals[i]);
        places[d->column[k]] = 0;
    }
    for (uint32_t stage = 0; stage < CS_GRID_STAGES; stage++) {
        places[stage] = places[stage] == 0 ? n++ : NOWHERE;
    }
    for (size_t k = 0; k < d->n; k++) {
        d->column[k] = places[d->column[k]];
    }
    cs_text_add(d->json, ",\"stages\":{\"names\":[");
    add_stage_names(d, places, false);
    cs_text_add(d->json, "],\"colours\":[");
    add_stage_names(d, places, true);
    cs_text_add(d->json, "],\"of\":");
    CS_TRY(cs_pack_whole(d->json, CS_PACK_U8, d->column, d->n, false, err));
    cs_text_add(d->json, "}");
    return CS_OK;
}

/* ---- use of ports and links ---- */

/* "GPU 0 sends", "GPUs 8 .. 15 receive", "GPU 0 → 3", or a link. */
static void add_row_name(const drawing *d, const cs_usage_panel *panel, size_t row)
{
    char who[128], name[160];

    cs_usage_row_name(&d->usage, panel, row, "GPU", who, sizeof who);
    bool        is_plain  = panel->is_links || panel->each > 1;
    bool        are_many  = strstr(who, " .. ") != NULL;
    const char *direction = panel->sends ? " send" : " receive";
    (void)snprintf(name, sizeof name, "%s%s%s", who, is_plain ? "" : direction,
                   is_plain || are_many ? "" : "s");
    cs_text_add_json_string(d->json, name);
}

static void add_row(const drawing *d, const cs_usage_panel *panel, size_t row, bool is_first)
{
    double capacity_Bps = cs_usage_capacity_Bps(&d->usage, panel, row);
    double most         = capacity_Bps * d->usage.until_s;

    cs_text_add(d->json, "%s{\"name\":", is_first ? "" : ",");
    add_row_name(d, panel, row);
    cs_text_add(d->json, ",\"kind\":\"%s\"",
                panel->is_links ? "link" : cs_fabric_name(panel->fabric));
    add_number(d->json, "capacity_Bps", capacity_Bps);
    add_number(d->json, "busy", most > 0 ? cs_usage_bytes(&d->usage, panel, row) / most : 0);
    cs_text_add(d->json, "}");
}

static uint32_t share_of(const drawing *d, const cs_usage_panel *panel, size_t row, size_t bin)
{
    return (uint32_t)floor(255 * fmin(cs_usage_share(&d->usage, panel, row, bin), 1) + 0.5);
}

static cs_status add_links(drawing *d, cs_error *err)
{
    const cs_usage *usage = &d->usage;
    size_t          bins = cs_usage_n_bins(usage), n = 0, n_rows = 0, n_shares = 0;
    size_t         *rows   = CS_ARENA_NEW(&d->arena, size_t, usage->n_rows);
    uint32_t       *shares = CS_ARENA_NEW(&d->arena, uint32_t, usage->n_rows * CS_USAGE_BINS);

    if (rows == NULL || shares == NULL) {
        return no_memory(err);
    }
    cs_text_add(d->json, ",\"links\":{\"bins\":%zu", bins);
    add_number(d->json, "bin_s", usage->bin_s);
    cs_text_add(d->json, ",\"rows\":[");
    for (size_t p = 0; p < usage->n_panels; p++) {
        const cs_usage_panel *panel = &usage->panels[p];
        if (cs_usage_shown(usage, panel, MOST_LINK_ROWS, rows, &n) != CS_OK) {
            return no_memory(err);
        }
        for (size_t i = 0; i < n; i++) {
            add_row(d, panel, rows[i], n_rows++ == 0);
            for (size_t b = 0; b < bins; b++) {
                shares[n_shares++] = share_of(d, panel, rows[i], b);
            }
        }
    }
    cs_text_add(d->json, "],\"share\":");
    CS_TRY(cs_pack_whole(d->json, CS_PACK_U8, shares, n_shares, false, err));
    cs_text_add(d->json, "}");
    return CS_OK;
}

/* ---- what was left out ---- */

/* "260,100" */
static void add_grouped(cs_text *text, uint64_t count)
{
    if (count >= 1000) {
        add_grouped(text, count / 1000);
        cs_text_add(text, ",%03" PRIu64, count % 1000);
    } else {
        cs_text_add(text, "%" PRIu64, count);
    }
}

static void add_kept(const drawing *d, cs_text *text)
{
    size_t n_path = d->causes.n_path;

    add_grouped(text, d->n);
    cs_text_add(text, " of ");
    add_grouped(text, d->recording.n_transfers);
    cs_text_add(text, " transfers are shown: ");
    if (n_path > d->most) {
        cs_text_add(text, "the last ");
        add_grouped(text, d->n);
        cs_text_add(text, " of the critical path's ");
        add_grouped(text, n_path);
    } else {
        cs_text_add(text, "the critical path, and all of ");
        add_grouped(text, d->n_whole);
        cs_text_add(text, " of ");
        add_grouped(text, d->scenario->cluster.n_ranks);
        cs_text_add(text, " GPUs, late and slow ones before the busiest");
    }
    cs_text_add(text, "; the use of ports over time counts all");
}

static cs_status add_thinned(const drawing *d, const cs_timeline_name *name, cs_error *err)
{
    cs_text text = {0};

    if (d->n < d->recording.n_transfers) {
        add_kept(d, &text);
    }
    if (d->is_crowded) {
        cs_text_add(&text,
                    "%smore than %d transfers share a port, of which those above lie one on "
                    "another",
                    text.length > 0 ? "; " : "", MOST_LANES);
    }
    cs_text_add(d->json, ",\"thinned\":");
    cs_text_add_json_string(d->json, text.data);
    if (name->thinned != NULL && text.length > 0) {
        cs_text_add(name->thinned, "%s", text.data);
    }
    cs_status status = cs_text_status(&text, err);
    cs_text_free(&text);
    return status;
}

/* ---- all of it ---- */

static cs_status limit(const cs_recording *recording, cs_error *err)
{
    return recording->n_transfers <= CS_TIMELINE_MOST_REPLAYED
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "timeline",
                         "the run has more than the %d transfers that a timeline is made of",
                         CS_TIMELINE_MOST_REPLAYED);
}

/* Replay and verify, and count who takes part. */
static cs_status replay(drawing *d, const cs_job *job, cs_error *err)
{
    const cs_cluster *c        = &job->scenario.cluster;
    cs_job            verified = *job;

    verified.verify        = true;
    d->recording.limits[0] = limit;
    CS_TRY(cs_usage_init(&d->usage, d->scenario, err));
    const cs_observer observers[] = {cs_recording_observer(&d->recording),
                                     cs_usage_observer(&d->usage)};
    CS_TRY(cs_job_run(&verified, observers, 2, &d->result, err));
    if (!d->result.verified) {
        return CS_FAIL(err, CS_EWRONG, "schedule", "%.180s", d->result.verdict.text);
    }
    d->n_ends = (d->result.uses & CS_USES_NETWORK_SWITCH) != 0 ? cs_n_ends(c)
                : (d->result.uses & CS_USES_SWITCH) != 0       ? cs_network_switch(c)
                                                               : c->n_ranks;
    if (d->n_ends > MOST_ENDS) {
        return CS_FAIL(err, CS_ENOTSUP, "timeline",
                       "%" PRIu32 " ranks and switches: a timeline shows at most %d", d->n_ends,
                       MOST_ENDS);
    }
    d->ticks_per_s = d->result.elapsed_s > 0 ? TICKS / d->result.elapsed_s : 0;
    cs_usage_extend(&d->usage, d->result.elapsed_s);
    return CS_OK;
}

static cs_status draw(drawing *d, const cs_timeline_name *name, cs_error *err)
{
    CS_TRY(cs_causes_find(&d->recording, d->scenario, &d->arena, &d->causes, err));
    CS_TRY(choose(d, err));
    CS_TRY(find_lanes(d, err));
    CS_TRY(find_sizes(d, err));
    add_head(d, name);
    add_late(d);
    add_slow(d);
    add_names(d);
    CS_TRY(add_path(d, err));
    CS_TRY(add_columns(d, err));
    CS_TRY(add_stages(d, err));
    CS_TRY(add_links(d, err));
    CS_TRY(add_thinned(d, name, err));
    cs_text_add(d->json, "}");
    return cs_text_status(d->json, err);
}

cs_status cs_timeline_json_most(cs_text *json, const cs_job *job, const cs_timeline_name *name,
                                size_t most, cs_error *err)
{
    drawing  *d = CS_NEW(drawing, 1);
    cs_status status;

    if (d == NULL) {
        return no_memory(err);
    }
    d->scenario = &job->scenario;
    d->most     = most;
    d->json     = json;
    status      = replay(d, job, err);
    if (status == CS_OK) {
        status = draw(d, name, err);
    }
    cs_recording_free(&d->recording);
    cs_usage_free(&d->usage);
    cs_arena_free(&d->arena);
    cs_free(d);
    return status;
}

cs_status cs_timeline_json(cs_text *json, const cs_job *job, const cs_timeline_name *name,
                           cs_error *err)
{
    return cs_timeline_json_most(json, job, name, CS_TIMELINE_MOST_TRANSFERS, err);
}
