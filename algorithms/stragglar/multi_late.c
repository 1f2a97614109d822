/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/multi_late.h"

#include "algorithms/lib/accept.h"
#include "algorithms/lib/circulant.h"
#include "algorithms/lib/fallback.h"
#include "algorithms/stragglar/multi_late_rounds.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "cs/model.h"

#include <math.h>

/* Time as the choice between schedules sees it. */
typedef struct pace {
    double alpha_s, s_per_byte;
} pace;

/* The NICs' start-up and rate, or NVLink's where all ranks are in one server; the slowest NIC of
 * all, if it is slow for ever. */
static pace pace_of(const cs_scenario *s)
{
    const cs_cluster *c      = &s->cluster;
    bool              is_one = c->gpus_per_server == c->n_ranks;
    const cs_fabric  *f      = &c->fabrics[is_one ? CS_NVLINK : CS_NIC];
    double            slow   = is_one ? 1 : cs_largest_slowdown(s);

    return (pace){f->alpha_s, slow / f->bandwidth_Bps};
}

/* ---- nobody is late: the baseline ---- */

_Static_assert(CS_BASELINES == CS_BASELINE_COUNT - CS_BASELINE_CIRCULANT, "one for each choice");

static const cs_algorithm *const *baseline_of(cs_late_baseline baseline)
{
    return &cs_baselines[baseline - CS_BASELINE_CIRCULANT];
}

/* Where all ranks have one kind of port, on which the rings of servers are the plain ring. */
static double predicted_end_s(const cs_scenario *scenario, cs_late_baseline baseline)
{
    uint32_t n = scenario->cluster.n_ranks, q = cs_log2_ceil(n), rounds = 2 * (n - 1);
    pace     p       = pace_of(scenario);
    double   buffers = 2.0 * (n - 1) / n;

    if ((baseline == CS_BASELINE_MERGED_RHD && n % 2 == 1) || baseline == CS_BASELINE_RHD) {
        return (double)INFINITY; /* the latter is never faster than circulant */
    }
    if (baseline == CS_BASELINE_CIRCULANT || baseline == CS_BASELINE_MERGED_RHD) {
        rounds = 2 * q - (baseline == CS_BASELINE_MERGED_RHD ? 1 : 0);
    } else if (baseline == CS_BASELINE_LATENCY_OPTIMAL) {
        rounds  = q;
        buffers = q;
    }
    return cs_last_arrival(scenario) + rounds * p.alpha_s +
           buffers * (double)scenario->bytes * p.s_per_byte;
}

cs_late_baseline cs_baseline_predicted(const cs_scenario *scenario)
{
    cs_late_baseline best = CS_BASELINE_CIRCULANT;

    for (int b = CS_BASELINE_CIRCULANT; b <= CS_BASELINE_RING; b++) {
        if (predicted_end_s(scenario, (cs_late_baseline)b) < predicted_end_s(scenario, best)) {
            best = (cs_late_baseline)b;
        }
    }
    return best;
}

/* Before this no ring ends, in so many segments: the late server's neighbour gets 2 (N - 1)/N of
 * the buffer from it, nearly all of it after the last arrival, in as many messages for every
 * segment; on alpha-beta each of them holds the port for alpha. */
static double rings_end_s(const cs_scenario *s, uint32_t segments)
{
    const cs_cluster  *c   = &s->cluster;
    const cs_forecast *f   = s->forecast;
    const cs_fabric   *nic = &c->fabrics[CS_NIC];
    double             n = cs_n_servers(c), nics = c->gpus_per_server;
    bool               adds = f == NULL || cs_closed_forms_hold(f->model, s, f->model_options, 0);

    return cs_last_arrival(s) + (adds ? 2 * (n - 1) * segments * nic->alpha_s : 0) +
           2 * (n - 1) / n * (double)s->bytes / (nics * nic->bandwidth_Bps);
}

/* Before this none of the others ends: the last rank sends the buffer, where there are 2^k of them
 * 2 (n - 1)/n of it, over all its ports. */
static double flat_end_s(const cs_scenario *s)
{
    const cs_cluster *c     = &s->cluster;
    double            n     = c->n_ranks;
    double            times = (c->n_ranks & (c->n_ranks - 1)) == 0 ? 2 * (n - 1) / n : 1;
    double            Bps   = 0;

    for (uint32_t f = 0; f < cs_n_fabrics(c); f++) {
        Bps += c->fabrics[f].bandwidth_Bps * cs_links_of(c, f);
    }
    return cs_last_arrival(s) + times * (double)s->bytes / Bps;
}

/* A baseline that is the fastest so far. */
typedef struct leader {
    cs_baseline_choice choice;
    double             end_s;
} leader;

/* Other numbers of segments than 1 of one baseline, while they help. */
static cs_status try_segments(const cs_scenario *scenario, cs_late_baseline baseline,
                              leader *leader_p, cs_error *err)
{
    static const uint32_t tried[] = {2, 3, 4, 6, 8, 12, 16};
    double                best_s = (double)INFINITY, this_s = 0;
    uint32_t              worse = 0;

    for (size_t i = 0; i < sizeof tried / sizeof tried[0] && worse < 2; i++) {
        if (rings_end_s(scenario, tried[i]) >= leader_p->end_s) {
            break;
        }
        cs_error  wrong = {0};
        cs_status status =
            cs_fallback_elapsed_s(*baseline_of(baseline), tried[i], scenario, &this_s, &wrong);
        if (cs_status_is_refusal(status)) {
            break;
        }
        if (status != CS_OK) {
            return CS_FAIL(err, status, wrong.where, "%s", wrong.message);
        }
        if (this_s < leader_p->end_s) {
            *leader_p = (leader){{baseline, tried[i]}, this_s};
        }
        worse  = this_s < best_s ? 0 : worse + 1;
        best_s = fmin(best_s, this_s);
    }
    return CS_OK;
}

/* With 1 segment, or as many as are asked for: of those that can end before the limit. */
static cs_status lead(const cs_scenario *scenario, const cs_baseline_choice *asked, double limit_s,
                      leader *leader_p, cs_error *err)
{
    bool     is_free  = asked->baseline == CS_BASELINE_AUTO;
    bool     no_flat  = limit_s <= flat_end_s(scenario);
    bool     no_rings = limit_s <= rings_end_s(scenario, 1);
    uint32_t first = no_flat ? CS_BASELINE_RING : CS_BASELINE_CIRCULANT, fastest = 0;
    uint32_t end = no_rings ? CS_BASELINE_RING : CS_BASELINE_COUNT;

    if (!is_free) {
        bool is_out = (uint32_t)asked->baseline < first || (uint32_t)asked->baseline >= end;
        first       = is_out ? end : (uint32_t)asked->baseline;
        end         = is_out ? end : first + 1;
    }
    if (first >= end) {
        return CS_OK;
    }
    if (!is_free && asked->segments != CS_AUTO &&
        cs_has_segments(*baseline_of((cs_late_baseline)first))) {
        leader_p->choice = *asked;
        return cs_fallback_elapsed_s(*baseline_of((cs_late_baseline)first), asked->segments,
                                     scenario, &leader_p->end_s, err);
    }
    CS_TRY(cs_fastest(scenario, baseline_of((cs_late_baseline)first), end - first, &fastest,
                      &leader_p->end_s, err));
    leader_p->choice.baseline = (cs_late_baseline)(first + fastest);
    leader_p->choice.segments = 1;
    return CS_OK;
}

cs_status cs_baseline_before(const cs_scenario *scenario, double limit_s,
                             cs_baseline_choice *choice_p, double *end_s_p, cs_error *err)
{
    leader best = {.end_s = (double)INFINITY};

    CS_TRY(lead(scenario, choice_p, limit_s, &best, err));
    best.end_s = fmin(best.end_s, limit_s);
    for (int b = CS_BASELINE_RING; b < CS_BASELINE_COUNT; b++) {
        bool is_asked = choice_p->baseline == CS_BASELINE_AUTO || (int)choice_p->baseline == b;
        if (is_asked && choice_p->segments == CS_AUTO &&
            cs_has_segments(*baseline_of((cs_late_baseline)b))) {
            CS_TRY(try_segments(scenario, (cs_late_baseline)b, &best, err));
        }
    }
    *end_s_p = best.end_s < limit_s ? best.end_s : (double)INFINITY;
    if (best.end_s < limit_s) {
        *choice_p = best.choice;
    }
    return CS_OK;
}

/* Replace what is auto by the fastest one, and say when it ends: predicted where all ranks have one
 * kind of port, otherwise as the scenario's forecast says, of which there must be one. */
static cs_status choose_baseline(const cs_scenario *scenario, cs_multi_late_choice *choice,
                                 double *end_s_p, cs_error *err)
{
    cs_baseline_choice found   = {choice->baseline, choice->segments};
    bool               is_free = choice->baseline == CS_BASELINE_AUTO;

    if (cs_one_port_kind(&scenario->cluster) || scenario->forecast == NULL) {
        choice->baseline = is_free ? cs_baseline_predicted(scenario) : choice->baseline;
        *end_s_p         = predicted_end_s(scenario, choice->baseline);
        return CS_OK;
    }
    CS_TRY(cs_baseline_before(scenario, (double)INFINITY, &found, end_s_p, err));
    choice->baseline =
        found.baseline == CS_BASELINE_AUTO ? cs_baseline_predicted(scenario) : found.baseline;
    choice->segments = found.segments;
    return CS_OK;
}

/* ---- several are late: when a schedule ends, and the schedule ---- */

struct cs_multi_late_schedule {
    cs_multi_late_shape  shape;
    cs_arena             arena;
    uint32_t            *rank_of; /* [n] of a label */
    uint32_t             early, chunks;
    cs_multi_late_rounds made;
    double               end_s; /* predicted: the rounds one after the other */
};

/* Later arrivals than this many rounds after the first late rank are all the same. */
#define MOST_TICKS 1e9

/* The course of a schedule in time. */
typedef struct course {
    double start_s; /* round 0 */
    double step_s;  /* a round */
    double last;    /* rounds until the last rank is there */
} course;

/* Ranks in the order of their arrival; of those that arrive together the lowest first. An insertion
 * sort: few ranks, which mostly come in order. */
static void sort_by_arrival(const cs_scenario *scenario, uint32_t *ranks)
{
    for (uint32_t r = 0; r < scenario->cluster.n_ranks; r++) {
        uint32_t at = r;
        while (at > 0 && cs_arrival(scenario, ranks[at - 1]) > cs_arrival(scenario, r)) {
            ranks[at] = ranks[at - 1];
            at--;
        }
        ranks[at] = r;
    }
}

/* Rounds until a rank is there; a rounding error is no round. */
static double ticks_until(const cs_scenario *s, const course *c, uint32_t rank)
{
    double late_s = cs_arrival(s, rank) - c->start_s;

    if (late_s <= 0) {
        return 0;
    }
    return c->step_s > 0 ? fmin(ceil(late_s / c->step_s - 1e-9), MOST_TICKS) : 0;
}

static course course_of(const cs_scenario *s, const uint32_t *ranks,
                        const cs_multi_late_shape *shape)
{
    uint32_t n = s->cluster.n_ranks, early = n - shape->late;
    pace     p       = pace_of(s);
    double   x_s     = (double)s->bytes * p.s_per_byte;
    double   chunks  = (double)early * shape->parts;
    double   pre_s   = cs_log2_ceil(early) * p.alpha_s + x_s * (early - 1) / early;
    double   ready_s = cs_arrival(s, ranks[early - 1]) + pre_s;
    course   c       = {.start_s = fmax(ready_s, cs_arrival(s, ranks[early])),
                        .step_s  = p.alpha_s + x_s / chunks};

    c.last = ticks_until(s, &c, ranks[n - 1]);
    return c;
}

/* `ticks` rounds after round 0. Behind the last arrival the count is exact, also where that arrival
 * is too far off to be counted in rounds. */
static double end_of(const cs_scenario *s, const course *c, double ticks, uint32_t last_rank)
{
    double last_s = c->start_s + c->last * c->step_s;

    if (c->last >= MOST_TICKS) {
        last_s = cs_arrival(s, last_rank);
    }
    return last_s + (ticks - c->last) * c->step_s;
}

/* A bound from below on the predicted end of a shape, without making its rounds. `ranks` is
 * sort_by_arrival(). O(steps). */
static double least_s(const cs_scenario *s, const uint32_t *ranks, const cs_multi_late_shape *shape)
{
    uint32_t n = s->cluster.n_ranks, chunks = (n - shape->late) * shape->parts;
    course   c     = course_of(s, ranks, shape);
    double   alone = c.last + chunks - 1 + cs_log2_ceil(n);
    double   ports = cs_multi_late_fewest(n, n - shape->late, chunks);

    return end_of(s, &c, fmax(alone, ports), ranks[n - 1]);
}

/* Early ranks get labels in increasing order. */
static cs_status give_labels(cs_multi_late_schedule *sched, const cs_scenario *scenario,
                             uint32_t *ranks, bool *is_late, cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, label = 0;

    if (sched->rank_of == NULL || ranks == NULL || is_late == NULL) {
        return CS_NO_MEMORY(err, "%u ranks", n);
    }
    sort_by_arrival(scenario, ranks);
    for (uint32_t i = sched->early; i < n; i++) {
        sched->rank_of[i] = ranks[i];
        is_late[ranks[i]] = true;
    }
    for (uint32_t r = 0; r < n; r++) {
        if (!is_late[r]) {
            sched->rank_of[label++] = r;
        }
    }
    return CS_OK;
}

static cs_status make_rounds(cs_multi_late_schedule *sched, const cs_scenario *s,
                             const uint32_t *ranks, cs_error *err)
{
    uint32_t  n       = s->cluster.n_ranks;
    course    c       = course_of(s, ranks, &sched->shape);
    uint32_t *arrival = CS_ARENA_NEW(&sched->arena, uint32_t, sched->shape.late);

    if (arrival == NULL) {
        return CS_NO_MEMORY(err, "%u late ranks", sched->shape.late);
    }
    for (uint32_t i = 0; i < sched->shape.late; i++) {
        arrival[i] = (uint32_t)ticks_until(s, &c, ranks[sched->early + i]);
    }
    const cs_multi_late_task task = {.n        = n,
                                     .early    = sched->early,
                                     .parts    = sched->shape.parts,
                                     .root_num = sched->shape.roots * sched->shape.late,
                                     .root_den = 10 * n,
                                     .arrival  = arrival};
    CS_TRY(cs_multi_late_build(&task, &sched->made, err));
    sched->end_s = end_of(s, &c, sched->made.ticks, ranks[n - 1]);
    return CS_OK;
}

cs_status cs_multi_late_make(const cs_scenario *scenario, const cs_multi_late_shape *shape,
                             cs_multi_late_schedule **schedule_p, cs_error *err)
{
    uint32_t                n = scenario->cluster.n_ranks, early = n - shape->late;
    cs_multi_late_schedule *sched = CS_NEW(cs_multi_late_schedule, 1);

    if (sched == NULL) {
        return CS_NO_MEMORY(err, "%u late ranks", shape->late);
    }
    sched->shape     = *shape;
    sched->early     = early;
    sched->chunks    = early * shape->parts;
    sched->rank_of   = CS_ARENA_NEW(&sched->arena, uint32_t, n);
    uint32_t *ranks  = CS_ARENA_NEW(&sched->arena, uint32_t, n);
    bool     *late   = CS_ARENA_NEW(&sched->arena, bool, n);
    cs_status status = give_labels(sched, scenario, ranks, late, err);
    if (status == CS_OK) {
        status = make_rounds(sched, scenario, ranks, err);
    }
    if (status != CS_OK) {
        cs_multi_late_free(sched);
        return status;
    }
    *schedule_p = sched;
    return CS_OK;
}

void cs_multi_late_free(cs_multi_late_schedule *schedule)
{
    if (schedule != NULL) {
        cs_label_rounds_free(&schedule->made.rounds);
        cs_arena_free(&schedule->arena);
        cs_free(schedule);
    }
}

const cs_label_rounds *cs_multi_late_rounds_of(const cs_multi_late_schedule *schedule)
{
    return &schedule->made.rounds;
}

const uint32_t *cs_multi_late_order(const cs_multi_late_schedule *schedule)
{
    return schedule->rank_of + schedule->early;
}

static cs_plan plan_of(const cs_multi_late_schedule *sched, const cs_cluster *cluster)
{
    return (cs_plan){.n_chunks = sched->chunks,
                     .n_slots  = sched->chunks,
                     .n_rounds = cs_circulant_steps(sched->early) + sched->made.rounds.n_rounds,
                     .uses =
                         CS_USES_EXCHANGE | CS_USES_SPAN | CS_USES_JOIN | cs_uses_nvlink(cluster),
                     .starts_own = true};
}

struct cs_multi_late_stream {
    const cs_scenario            *scenario; /* borrowed */
    const cs_multi_late_schedule *schedule; /* borrowed; NULL: the baseline runs */
    cs_circulant                  pre;
    uint32_t                      round; /* of the schedule's rounds */
    size_t                        next;
    cs_fallback                   baseline; /* open if it runs */
};

static cs_transfer transfer_of(const cs_multi_late_stream *stream, const cs_label_transfer *t)
{
    static const uint8_t          ends[] = {[CS_LABEL_COPY]     = CS_DONE_DST,
                                            [CS_LABEL_EXCHANGE] = CS_DONE_SRC | CS_DONE_DST,
                                            [CS_LABEL_RAW]      = 0,
                                            [CS_LABEL_LAST]     = CS_DONE_DST};
    const cs_multi_late_schedule *sched  = stream->schedule;
    const cs_scenario            *s      = stream->scenario;
    uint32_t                      src = sched->rank_of[t->src], dst = sched->rank_of[t->dst];
    uint32_t id     = t->chunk % sched->early * sched->shape.parts + t->chunk / sched->early;
    uint32_t fabric = cs_fabric_of(&s->cluster, src, dst);

    return (cs_transfer){.src       = src,
                         .dst       = dst,
                         .chunk     = id,
                         .src_slot  = (uint16_t)id,
                         .dst_slot  = (uint16_t)id,
                         .bytes     = cs_split(s->bytes, sched->chunks, id),
                         .round     = cs_circulant_steps(sched->early) + stream->round,
                         .span      = 1,
                         .flags     = ends[t->kind],
                         .op_fabric = cs_op_fabric(cs_label_op(t->kind), fabric)};
}

static void next_transfers(cs_multi_late_stream *stream, cs_block *block)
{
    const cs_label_rounds *rounds = &stream->schedule->made.rounds;

    if (stream->next == 0 && cs_circulant_next(&stream->pre, block)) {
        return;
    }
    while (stream->round < rounds->n_rounds && block->count < block->capacity) {
        block->transfers[block->count++] = transfer_of(stream, &rounds->transfers[stream->next]);
        if (++stream->next == rounds->round_end[stream->round]) {
            stream->round++;
        }
    }
}

/* ---- how many are late, with which chunks and roots ---- */

enum { MOST_TRIES = 48, MOST_PARTS = 8 };

/* Late roots that are tried, in tenths of k / n. */
static const uint32_t roots_tried[] = {0, 10, 13, 16};
enum { N_ROOTS = sizeof roots_tried / sizeof roots_tried[0] };

typedef struct candidate {
    cs_multi_late_shape shape;
    double              least_s;
    bool                has_gap; /* the first late rank comes later than the last early one */
    bool                is_done;
} candidate;

static bool is_affordable(uint32_t n, const cs_multi_late_shape *shape)
{
    uint32_t early  = n - shape->late;
    uint64_t chunks = (uint64_t)early * shape->parts;

    return chunks <= CS_MAX_SLOTS &&
           (shape->parts == 1 ||
            cs_multi_late_work(n, early, (uint32_t)chunks) <= CS_MULTI_LATE_MOST_WORK);
}

/* Every k with every number of parts and share of late roots that is free. */
static uint32_t list_candidates(const cs_scenario *s, const uint32_t *ranks, uint32_t least,
                                uint32_t most, const cs_multi_late_shape *fixed, candidate *list)
{
    uint32_t n = s->cluster.n_ranks, count = 0;

    for (uint32_t late = least; late <= most; late++) {
        bool     gap   = cs_arrival(s, ranks[n - late]) > cs_arrival(s, ranks[n - late - 1]);
        uint32_t few   = fixed->parts == CS_AUTO ? 1 : fixed->parts;
        uint32_t many  = fixed->parts == CS_AUTO ? MOST_PARTS : fixed->parts;
        uint32_t roots = fixed->roots == CS_AUTO && 4 * late > n ? N_ROOTS : 1;
        for (uint32_t i = 0; i < (many - few + 1) * roots; i++) {
            cs_multi_late_shape shape = {late, few + i / roots, fixed->roots};
            if (fixed->roots == CS_AUTO) {
                shape.roots = roots_tried[i % roots];
            }
            if (is_affordable(n, &shape)) {
                list[count++] = (candidate){shape, least_s(s, ranks, &shape), gap, false};
            }
        }
    }
    return count;
}

/* The open candidate with the least bound among those with or without a gap; NULL: none. */
static candidate *next_candidate(candidate *list, uint32_t count, bool has_gap)
{
    candidate *best = NULL;

    for (candidate *c = list; c < list + count; c++) {
        if (!c->is_done && c->has_gap == has_gap && (best == NULL || c->least_s < best->least_s)) {
            best = c;
        }
    }
    return best;
}

/* What has been found so far, and the work that it took. */
typedef struct search {
    cs_multi_late_shape     best;
    cs_multi_late_schedule *schedule; /* of the best; owned */
    double                  limit_s, work;
} search;

/* Half of the tries. */
static cs_status try_candidates(const cs_scenario *s, candidate *list, uint32_t count, bool has_gap,
                                search *found, cs_error *err)
{
    uint32_t  n      = s->cluster.n_ranks;
    cs_status status = CS_OK;

    for (uint32_t tries = 0; tries < MOST_TRIES / 2 && status == CS_OK; tries++) {
        candidate              *c    = next_candidate(list, count, has_gap);
        cs_multi_late_schedule *made = NULL;
        if (c == NULL || c->least_s >= found->limit_s) {
            break;
        }
        uint32_t early = n - c->shape.late;
        double   work  = cs_multi_late_work(n, early, early * c->shape.parts);
        c->is_done     = true;
        if (found->work > 0 && found->work + work > CS_MULTI_LATE_MOST_WORK) {
            continue;
        }
        found->work += work;
        status = cs_multi_late_make(s, &c->shape, &made, err);
        if (status == CS_OK && made->end_s < found->limit_s) {
            cs_multi_late_schedule *before = found->schedule;
            found->best                    = c->shape;
            found->limit_s                 = made->end_s;
            found->schedule                = made;
            made                           = before;
        }
        cs_multi_late_free(made);
    }
    return status;
}

/* The only one needs no trial. */
static cs_status search_list(const cs_scenario *s, candidate *list, uint32_t count, search *found,
                             cs_error *err)
{
    if (count == 1 && isinf(found->limit_s)) {
        found->best = list[0].shape;
        return CS_OK;
    }
    CS_TRY(try_candidates(s, list, count, true, found, err));
    return try_candidates(s, list, count, false, found, err);
}

cs_status cs_multi_late_choose_shape(const cs_scenario *scenario, uint32_t least_late,
                                     uint32_t most_late, double limit_s,
                                     cs_multi_late_shape     *shape_p,
                                     cs_multi_late_schedule **schedule_p, cs_error *err)
{
    size_t     most  = (size_t)(most_late - least_late + 1) * MOST_PARTS * N_ROOTS;
    cs_arena   arena = {0};
    candidate *list  = CS_ARENA_NEW(&arena, candidate, most);
    uint32_t  *ranks = CS_ARENA_NEW(&arena, uint32_t, scenario->cluster.n_ranks);
    search     found = {.limit_s = limit_s};
    cs_status  status;

    if (list == NULL || ranks == NULL) {
        status = CS_NO_MEMORY(err, "the choice of late ranks");
    } else {
        sort_by_arrival(scenario, ranks);
        uint32_t count = list_candidates(scenario, ranks, least_late, most_late, shape_p, list);
        status         = search_list(scenario, list, count, &found, err);
    }
    if (status == CS_OK) {
        *shape_p    = found.best;
        *schedule_p = found.schedule;
    } else {
        cs_multi_late_free(found.schedule);
    }
    cs_arena_free(&arena);
    return status;
}

/* ---- what the algorithm asks for ---- */

static bool is_free(uint32_t chunks)
{
    return chunks == 0 || chunks == CS_AUTO;
}

/* Chunks that were asked for: is there room for them, and are their rounds made in time? */
static cs_status check_work(const cs_scenario *scenario, const cs_multi_late_choice *choice,
                            cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, early = n - choice->late;
    uint32_t most = cs_multi_late_most_parts(n, early) * early;

    CS_TRY(cs_accept_slots(scenario, "stragglar", choice->chunks, err));
    if (choice->chunks > most) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "%u: to make the rounds of %u late ranks of %u would take minutes; "
                       "accepted are at most %u, and auto",
                       choice->chunks, choice->late, n, most);
    }
    return CS_OK;
}

static cs_status check_number(const cs_scenario *scenario, const cs_multi_late_choice *choice,
                              cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, k = choice->late;

    if (k == CS_AUTO) {
        return CS_OK;
    }
    if (k >= n) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.late_ranks",
                       "%u late ranks of %u; accepted are 0 .. %u and auto", k, n, n - 1);
    }
    if (k > 1 && n > CS_MULTI_LATE_MOST_RANKS) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.late_ranks",
                       "several late ranks of at most %u ranks, got %u", CS_MULTI_LATE_MOST_RANKS,
                       n);
    }
    if (k > 1 && !is_free(choice->chunks) && choice->chunks % (n - k) != 0) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "%u late ranks of %u: accepted are multiples of %u and auto, not %u", k, n,
                       n - k, choice->chunks);
    }
    return k > 1 && !is_free(choice->chunks) ? check_work(scenario, choice, err) : CS_OK;
}

/* Nobody, one or several, whatever ends first; half of the ranks at most. Several only where all
 * ranks have one kind of port, which the predictions of their ends are for. */
static cs_status choose_any(const cs_scenario *scenario, double one_s, cs_multi_late_choice *choice,
                            cs_multi_late_shape *shape, cs_multi_late_schedule **schedule_p,
                            cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks;
    double   none_s;

    CS_TRY(choose_baseline(scenario, choice, &none_s, err));
    choice->late = one_s < none_s ? 1 : 0;
    if (n >= 4 && n <= CS_MULTI_LATE_MOST_RANKS && cs_one_port_kind(&scenario->cluster)) {
        CS_TRY(cs_multi_late_choose_shape(scenario, 2, n / 2, fmin(none_s, one_s), shape,
                                          schedule_p, err));
    }
    if (shape->late > 0) {
        choice->late = shape->late;
    }
    return CS_OK;
}

cs_status cs_multi_late_choose(const cs_scenario *scenario, double one_s,
                               cs_multi_late_choice *choice, cs_multi_late_schedule **schedule_p,
                               cs_error *err)
{
    cs_multi_late_shape shape = {.parts = CS_AUTO, .roots = choice->roots};
    uint32_t            n = scenario->cluster.n_ranks, k = choice->late;
    double              end_s;

    *schedule_p = NULL;
    CS_TRY(check_number(scenario, choice, err));
    if (k == CS_AUTO) {
        CS_TRY(choose_any(scenario, one_s, choice, &shape, schedule_p, err));
    } else if (k == 0) {
        CS_TRY(choose_baseline(scenario, choice, &end_s, err));
    } else if (k > 1) {
        shape.parts = is_free(choice->chunks) ? CS_AUTO : choice->chunks / (n - k);
        CS_TRY(
            cs_multi_late_choose_shape(scenario, k, k, (double)INFINITY, &shape, schedule_p, err));
    }
    if (choice->late > 1) {
        choice->chunks = (n - shape.late) * shape.parts;
        choice->roots  = shape.roots;
    }
    return CS_OK;
}

static cs_multi_late_shape shape_of(const cs_scenario *scenario, const cs_multi_late_choice *choice)
{
    uint32_t early = scenario->cluster.n_ranks - choice->late;
    return (cs_multi_late_shape){choice->late, choice->chunks / early, choice->roots};
}

static uint32_t segments_of(const cs_multi_late_choice *choice)
{
    return choice->segments == CS_AUTO ? 0 : choice->segments;
}

cs_status cs_multi_late_plan(const cs_scenario *scenario, cs_multi_late_choice *choice,
                             cs_plan *plan, cs_multi_late_schedule **schedule_p, cs_error *err)
{
    if (choice->late == 0) {
        CS_TRY(cs_fallback_check(*baseline_of(choice->baseline), segments_of(choice), scenario,
                                 plan, err));
        choice->chunks = plan->n_chunks;
        choice->roots  = 0;
        return CS_OK;
    }
    if (*schedule_p == NULL) {
        const cs_multi_late_shape shape = shape_of(scenario, choice);
        CS_TRY(cs_multi_late_make(scenario, &shape, schedule_p, err));
    }
    *plan = plan_of(*schedule_p, &scenario->cluster);
    return CS_OK;
}

cs_status cs_multi_late_open(const cs_scenario *scenario, const cs_multi_late_choice *choice,
                             const cs_multi_late_schedule *schedule,
                             cs_multi_late_stream **stream_p, cs_error *err)
{
    cs_multi_late_stream *stream = *stream_p = CS_NEW(cs_multi_late_stream, 1);

    if (stream == NULL) {
        return CS_NO_MEMORY(err, "the late ranks of a schedule");
    }
    if (schedule == NULL) {
        stream->baseline.segments = segments_of(choice);
        return cs_fallback_open(&stream->baseline, *baseline_of(choice->baseline), scenario, err);
    }
    stream->scenario = scenario;
    stream->schedule = schedule;
    stream->pre      = (cs_circulant){.cluster  = &scenario->cluster,
                                      .m        = schedule->early,
                                      .n_groups = 1,
                                      .ranks    = schedule->rank_of,
                                      .bytes    = scenario->bytes,
                                      .n_chunks = schedule->chunks,
                                      .has_own  = true};
    return CS_OK;
}

void cs_multi_late_next(cs_multi_late_stream *stream, cs_block *block)
{
    if (stream->schedule == NULL) {
        cs_fallback_next(&stream->baseline, block);
    } else {
        next_transfers(stream, block);
    }
}

void cs_multi_late_close(cs_multi_late_stream *stream)
{
    if (stream != NULL) {
        cs_fallback_close(&stream->baseline);
        cs_free(stream);
    }
}

double cs_multi_late_closed_form_s(const cs_scenario *scenario, const cs_multi_late_choice *choice)
{
    return choice->late > 1 ? (double)NAN
                            : cs_fallback_closed_form_s(*baseline_of(choice->baseline),
                                                        segments_of(choice), scenario);
}
