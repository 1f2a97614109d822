/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/multi_late.h"

#include "algorithms/lib/accept.h"
#include "algorithms/lib/circulant.h"
#include "algorithms/lib/fallback.h"
#include "algorithms/stragglar/multi_late_rounds.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "cs/arrivals.h"

#include <math.h>

/* ---- nobody is late: the baseline ---- */

/* Replace what is auto by the fastest one, and say when it ends: predicted where all ranks have one
 * kind of port, otherwise as the scenario's forecast says, of which there must be one. */
static cs_status choose_baseline(const cs_scenario *scenario, cs_multi_late_choice *choice,
                                 double *end_s_p, cs_error *err)
{
    cs_baseline_choice found   = {choice->baseline, choice->segments};
    bool               is_free = choice->baseline == CS_BASELINE_AUTO;

    if (cs_one_port_kind(&scenario->cluster) || scenario->forecast == NULL) {
        choice->baseline = is_free ? cs_baseline_predicted(scenario) : choice->baseline;
        *end_s_p         = cs_baseline_predicted_s(scenario, choice->baseline);
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
    cs_pace  p       = cs_usual_pace(s);
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
 * cs_ranks_by_arrival(). O(steps). */
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
    cs_ranks_by_arrival(scenario->arrival_s, n, ranks);
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
        cs_ranks_by_arrival(scenario->arrival_s, scenario->cluster.n_ranks, ranks);
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

static cs_fallback_option segments_of(const cs_multi_late_choice *choice)
{
    bool is_set = choice->segments != CS_AUTO && choice->segments > 0;
    return (cs_fallback_option){is_set ? "segments" : NULL, choice->segments};
}

cs_status cs_multi_late_plan(const cs_scenario *scenario, cs_multi_late_choice *choice,
                             cs_plan *plan, cs_multi_late_schedule **schedule_p, cs_error *err)
{
    if (choice->late == 0) {
        CS_TRY(cs_fallback_check(cs_baseline_algorithm(choice->baseline), segments_of(choice),
                                 scenario, plan, err));
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
        stream->baseline.option = segments_of(choice);
        return cs_fallback_open(&stream->baseline, cs_baseline_algorithm(choice->baseline),
                                scenario, err);
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
                            : cs_fallback_closed_form_s(cs_baseline_algorithm(choice->baseline),
                                                        segments_of(choice), scenario);
}
