/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/servers_choice.h"

#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/multi_late_rounds.h"
#include "algorithms/stragglar/rail.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "cs/arrivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Gaps between arrivals that are looked at, and candidates: of each the forms, with all gateways or
 * one for a NIC, whole or in halves. */
enum { MOST_GAPS = 8, MOST_CANDIDATES = MOST_GAPS * CS_SERVERS_FORMS * 2 * 2 };

/* Messages of a schedule: a minute at 40 million a second (alpha-beta, verified). */
#define MOST_MESSAGES ((double)((uint64_t)1 << 31))

typedef struct candidate {
    cs_servers_choice choice; /* end_s: predicted, until it is replayed */
    double            least_s;
    uint32_t          place; /* in the order in which they were found */
} candidate;

typedef struct search {
    const cs_scenario     *scenario;
    const cs_servers_wish *wish;
    cs_servers_pace        pace;
    cs_arena               arena;
    uint32_t              *ranks; /* [n_ranks] in the order of their arrivals */
    candidate              list[MOST_CANDIDATES];
    uint32_t               count;
} search;

/* ---- a schedule as an algorithm of its own, which a forecast can replay ---- */

static cs_status servers_open(const cs_scenario *scenario, const void *options,
                              const void *prepared, void **state_p, cs_error *err)
{
    cs_servers *stream = NULL;
    cs_status   status = cs_servers_open(scenario, options, prepared, &stream, err);

    if (status != CS_OK) {
        cs_servers_close(stream);
        return status;
    }
    *state_p = stream;
    return CS_OK;
}

static void servers_next(void *state, cs_block *block)
{
    block->count = 0;
    cs_servers_next(state, block);
}

static void servers_close(void *state)
{
    cs_servers_close(state);
}

static double servers_closed_form_s(const cs_scenario *scenario, const void *options)
{
    cs_servers_shape shape = *(const cs_servers_shape *)options;

    return cs_servers_count_late(scenario, shape.late.rank, shape.late.count, &shape.late, NULL) ==
                   CS_OK
               ? cs_servers_closed_form_s(scenario, &shape)
               : (double)NAN;
}

/* Its options are a cs_servers_shape but for when ranks arrive, which the rounds do not depend on,
 * what is prepared the rounds. */
static const cs_algorithm servers = {
    .name          = "stragglar",
    .collectives   = 1u << CS_ALLREDUCE,
    .options_bytes = sizeof(cs_servers_shape),
    .open_prepared = servers_open,
    .next_block    = servers_next,
    .close         = servers_close,
    .closed_form_s = servers_closed_form_s,
};

cs_status cs_servers_forecast(const cs_scenario *scenario, cs_servers_choice *choice, cs_error *err)
{
    const cs_forecast      *f    = scenario->forecast;
    const cs_servers_shape *from = &choice->shape;
    cs_plan                 plan = {0};
    cs_servers_shape        shape;

    if (f == NULL) {
        return CS_OK;
    }
    CS_TRY(cs_servers_plan(scenario, &choice->shape, choice->rounds, &plan, err));
    plan.prepared = choice->rounds;
    memset(&shape, 0, sizeof shape); /* so that equal ones have equal bytes */
    shape.form            = from->form;
    shape.late.rank       = from->late.rank;
    shape.late.count      = from->late.count;
    shape.late.servers    = from->late.servers;
    shape.late.most       = from->late.most;
    shape.late.most_mixed = from->late.most_mixed;
    shape.gateways        = from->gateways;
    shape.chunks          = from->chunks;
    shape.halves          = from->halves;
    CS_TRY(f->elapsed_s(f, scenario, &servers, &shape, &plan, &choice->end_s, err));
    choice->is_bound = false;
    return CS_OK;
}

/* ---- what can be ---- */

cs_status cs_servers_accept_late(const cs_scenario *scenario, const cs_servers_late *late,
                                 cs_error *err)
{
    uint32_t servers_there = cs_n_servers(&scenario->cluster);

    if (late->servers == servers_there) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.late_ranks",
                       "%u: every server has one of them; over servers one must have none",
                       late->count);
    }
    if (late->servers > 1 && servers_there > CS_MULTI_LATE_MOST_RANKS) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.late_ranks",
                       "%u late servers of at most %u servers, got %u", late->servers,
                       CS_MULTI_LATE_MOST_RANKS, servers_there);
    }
    return CS_OK;
}

static bool is_free(const cs_servers_wish *wish)
{
    return wish->chunks == 0 || wish->chunks == CS_AUTO;
}

/* The most chunks: as many as there are slots for, in a replay of a minute. */
static uint32_t most_chunks(const search *s, cs_servers_shape shape)
{
    const cs_cluster *c    = &s->scenario->cluster;
    uint32_t          most = cs_servers_most_chunks(c, &shape.late);

    shape.chunks = 1;
    double room  = MOST_MESSAGES / cs_servers_messages(c, &shape);
    return room < most ? (uint32_t)room : most;
}

/* Which numbers of chunks there are for a shape, as the option accepts them. */
static cs_status check_chunks(const search *s, const cs_servers_shape *shape, cs_error *err)
{
    uint32_t chunks = s->wish->chunks, most = most_chunks(s, *shape);
    uint32_t n = s->pace.servers, least = cs_rail_least_chunks(n), early = n - shape->late.servers;
    bool     is_one = shape->late.servers == 1;

    if (most == 0) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.ranks", "too many for stragglar over servers: %u",
                       s->scenario->cluster.n_ranks);
    }
    if (is_free(s->wish)) {
        return CS_OK;
    }
    if (shape->form == CS_SERVERS_TREE && chunks != 1) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "a tree has one chunk a rail: accepted are 1 and auto, not %u", chunks);
    }
    if (!is_one && (chunks % early != 0 || chunks > most)) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "%u late servers of %u: accepted are multiples of %u up to %u, and auto, "
                       "not %u",
                       shape->late.servers, n, early, most, chunks);
    }
    if (is_one && ((chunks != 1 && chunks < least) || chunks > most)) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "%u servers: accepted are 1, %u .. %u, and auto, not %u", n, least, most,
                       chunks);
    }
    return CS_OK;
}

static cs_status check_form(const search *s, const cs_servers_shape *shape, cs_error *err)
{
    uint32_t l = s->pace.locals;

    if (shape->form != CS_SERVERS_DIRECT && shape->gateways < l) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.inside",
                       "only direct goes with %u gateways of %u GPUs", shape->gateways, l);
    }
    if (shape->form == CS_SERVERS_CHAIN && shape->late.most_mixed == 0) {
        return CS_FAIL(
            err, CS_ENOTSUP, "algorithm.options.inside",
            "a chain needs a GPU that is not late in a late server; accepted are direct, "
            "flat and auto");
    }
    if (shape->form == CS_SERVERS_TREE && shape->late.count > 1) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.inside",
                       "a tree has one late rank, not %u", shape->late.count);
    }
    if (shape->form == CS_SERVERS_TREE && cs_most_slots(s->scenario->cluster.n_ranks) < l) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.inside",
                       "%u GPUs a server are too many for a tree", l);
    }
    if (shape->halves &&
        (s->pace.servers != 3 || shape->late.servers > 1 || shape->form == CS_SERVERS_TREE)) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.halves",
                       "only for three servers of which one is late, and no tree; accepted are off "
                       "and auto");
    }
    return check_chunks(s, shape, err);
}

/* ---- candidates ---- */

static void add(search *s, const cs_servers_shape *shape, cs_multi_late_schedule *rounds)
{
    const cs_servers_pace *p = &s->pace;

    const cs_servers_choice choice  = {*shape, rounds, cs_servers_end_s(p, shape),
                                       cs_servers_is_bound(s->scenario, shape)};
    cs_servers_pace         fastest = *p; /* some NICs only may be slow, or not all the time */
    fastest.nic_s_per_byte          = 1 / s->scenario->cluster.fabrics[CS_NIC].bandwidth_Bps;
    s->list[s->count] = (candidate){choice, cs_servers_least_s(&fastest, shape), s->count};
    s->count++;
}

/* A scenario in which a rank is a server, with one of its rails. Rounds are made for its pace: that
 * of the NICs, or of what NVLink has to do beside. */
static cs_status lift(search *s, const cs_servers_shape *shape, cs_scenario *lifted, cs_error *err)
{
    const cs_cluster *c       = &s->scenario->cluster;
    double           *arrival = CS_ARENA_NEW(&s->arena, double, s->pace.servers);
    cs_fabric         port    = cs_servers_port(&s->pace, shape);

    if (arrival == NULL) {
        return CS_NO_MEMORY(err, "%u servers", s->pace.servers);
    }
    for (uint32_t r = 0; r < c->n_ranks; r++) {
        uint32_t v = cs_server_of(c, r);
        arrival[v] = fmax(arrival[v], cs_arrival(s->scenario, r));
    }
    *lifted = (cs_scenario){
        .collective = CS_ALLREDUCE,
        .bytes      = s->scenario->bytes / shape->gateways + 1,
        .cluster = {.n_ranks = s->pace.servers, .gpus_per_server = 1, .fabrics = {[CS_NIC] = port}},
        .arrival_s = arrival};
    return CS_OK;
}

/* Several late servers: with the rounds that end first there. */
static cs_status add_lifted(search *s, cs_servers_shape *shape, cs_error *err)
{
    uint32_t                k = shape->late.servers, early = s->pace.servers - k;
    bool                    is_open = is_free(s->wish);
    cs_multi_late_shape     rounds  = {.parts = is_open ? CS_AUTO : s->wish->chunks / early};
    cs_multi_late_schedule *made    = NULL;
    cs_scenario             lifted;

    CS_TRY(lift(s, shape, &lifted, err));
    CS_TRY(cs_multi_late_choose_shape(&lifted, k, k, (double)INFINITY, &rounds, &made, err));
    if (made == NULL) {
        CS_TRY(cs_multi_late_make(&lifted, &rounds, &made, err));
    }
    shape->chunks = early * rounds.parts;
    add(s, shape, made);
    return CS_OK;
}

static cs_status add_candidate(search *s, cs_servers_shape shape, cs_error *err)
{
    if (shape.late.servers > 1) {
        return add_lifted(s, &shape, err);
    }
    shape.chunks = s->wish->chunks;
    if (is_free(s->wish)) {
        cs_servers_set_best_chunks(&s->pace, most_chunks(s, shape), &shape);
    }
    add(s, &shape, NULL);
    return CS_OK;
}

/* With so many gateways. */
static cs_status add_forms(search *s, const cs_servers_late *late, uint32_t gateways,
                           cs_error *refusal, cs_error *err)
{
    const cs_servers_wish *w = s->wish;

    for (uint32_t i = 0; i < 2 * CS_SERVERS_FORMS; i++) {
        cs_servers_shape shape = {.form     = (cs_servers_form)(i / 2),
                                  .late     = *late,
                                  .gateways = gateways,
                                  .chunks   = 1,
                                  .halves   = i % 2 == 1};
        if (!w->forms[shape.form] || !(shape.halves ? w->halves : w->whole)) {
            continue;
        }
        cs_status status = check_form(s, &shape, refusal->status == CS_OK ? refusal : NULL);
        if (status == CS_OK) {
            CS_TRY(add_candidate(s, shape, err));
        } else if (!cs_status_is_refusal(status)) {
            return status;
        }
    }
    return CS_OK;
}

/* Gateways that may pay: all GPUs; one for a NIC that several have together. */
static cs_status add_gateways(search *s, const cs_servers_late *late, cs_error *refusal,
                              cs_error *err)
{
    uint32_t l = s->pace.locals, asked = s->wish->gateways, sharers = s->pace.nic_sharers;

    if (asked != CS_AUTO) {
        return add_forms(s, late, asked, refusal, err);
    }
    CS_TRY(add_forms(s, late, l, refusal, err));
    if (sharers > 1 && l % sharers == 0) {
        CS_TRY(add_forms(s, late, l / sharers, refusal, err));
    }
    return CS_OK;
}

static cs_status add_late(search *s, uint32_t count, cs_error *refusal, cs_error *err)
{
    cs_servers_late late;

    CS_TRY(cs_servers_count_late(s->scenario, s->wish->straggler, count, &late, err));
    cs_status status =
        cs_servers_accept_late(s->scenario, &late, refusal->status == CS_OK ? refusal : NULL);
    return status == CS_OK ? add_gateways(s, &late, refusal, err) : CS_OK;
}

/* ---- how many are late ---- */

/* The gap before the k-th last arrival. */
static double gap_s(const search *s, uint32_t k)
{
    uint32_t n = s->scenario->cluster.n_ranks;
    return cs_arrival(s->scenario, s->ranks[n - k]) - cs_arrival(s->scenario, s->ranks[n - k - 1]);
}

/* One, and every k after which there is a large gap. */
static cs_status add_all_late(search *s, cs_error *refusal, cs_error *err)
{
    uint32_t n       = s->scenario->cluster.n_ranks;
    double   above_s = (double)INFINITY; /* gaps that are done with are as large as this at least */
    uint32_t before  = 0;

    CS_TRY(add_late(s, 1, refusal, err));
    for (uint32_t i = 1; i < MOST_GAPS; i++) {
        uint32_t best = 0;
        for (uint32_t k = 1; k < n; k++) {
            bool is_next = gap_s(s, k) < above_s || (gap_s(s, k) == above_s && k > before);
            best         = is_next && gap_s(s, k) > (best > 0 ? gap_s(s, best) : 0) ? k : best;
        }
        if (best == 0) {
            break;
        }
        above_s = gap_s(s, best);
        before  = best;
        if (best > 1) {
            CS_TRY(add_late(s, best, refusal, err));
        }
    }
    return CS_OK;
}

static cs_status sort_ranks(search *s, cs_error *err)
{
    uint32_t n = s->scenario->cluster.n_ranks;

    s->ranks = CS_ARENA_NEW(&s->arena, uint32_t, n);
    if (s->ranks == NULL) {
        return CS_NO_MEMORY(err, "%u ranks", n);
    }
    cs_ranks_by_arrival(s->scenario->arrival_s, n, s->ranks);
    return CS_OK;
}

static cs_status list_candidates(search *s, cs_error *err)
{
    cs_error refusal = {0};

    if (s->wish->late_ranks == CS_AUTO) {
        CS_TRY(sort_ranks(s, err));
        CS_TRY(add_all_late(s, &refusal, err));
    } else {
        CS_TRY(add_late(s, s->wish->late_ranks, &refusal, err));
    }
    return s->count > 0 ? CS_OK
                        : CS_FAIL(err, refusal.status, refusal.where, "%s", refusal.message);
}

/* ---- the best of them ---- */

static int compare_ends(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    int later = (a->choice.end_s > b->choice.end_s) - (a->choice.end_s < b->choice.end_s);

    return later != 0 ? later : (a->place > b->place) - (a->place < b->place);
}

/* May another one end before the i-th? */
static bool has_rival(const search *s, uint32_t i)
{
    bool found = false;

    for (uint32_t k = 0; k < s->count; k++) {
        found = found || (k != i && s->list[k].least_s < s->list[i].choice.end_s);
    }
    return found;
}

/* In the order of the predicted ends. What cannot end before the best is not replayed, nor is what
 * no other one can end before. */
static cs_status find_best(search *s, uint32_t *best_p, cs_error *err)
{
    candidate *list = s->list;
    uint32_t   best = 0;

    qsort(list, s->count, sizeof list[0], compare_ends);
    for (uint32_t i = 0; i < s->count; i++) {
        bool is_needed = i == 0 ? !list[0].choice.is_bound || has_rival(s, 0)
                                : list[i].least_s < list[best].choice.end_s;
        if (is_needed) {
            CS_TRY(cs_servers_forecast(s->scenario, &list[i].choice, err));
        }
        best = list[i].choice.end_s < list[best].choice.end_s ? i : best;
    }
    *best_p = best;
    return CS_OK;
}

cs_status cs_servers_choose(const cs_scenario *scenario, const cs_servers_wish *wish,
                            cs_servers_choice *choice_p, cs_error *err)
{
    search  *s    = CS_NEW(search, 1);
    uint32_t best = 0;

    if (s == NULL) {
        return CS_NO_MEMORY(err, "the choice of late ranks");
    }
    s->scenario      = scenario;
    s->wish          = wish;
    s->pace          = cs_servers_pace_of(scenario);
    cs_status status = list_candidates(s, err);
    if (status == CS_OK) {
        status = find_best(s, &best, err);
    }
    if (status == CS_OK) {
        *choice_p                   = s->list[best].choice;
        s->list[best].choice.rounds = NULL;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        cs_multi_late_free(s->list[i].choice.rounds);
    }
    cs_arena_free(&s->arena);
    cs_free(s);
    return status;
}
