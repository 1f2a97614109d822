/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many ranks should count as late: see late_prefix.h. */
#include "algorithms/stragglar/late_prefix.h"

#include "algorithms/lib/accept.h"
#include "algorithms/lib/fallback.h"
#include "algorithms/stragglar/klate_work.h"
#include "base/alloc.h"

#include <math.h>

extern const cs_algorithm cs_algorithm_circulant, cs_algorithm_latency_optimal,
    cs_algorithm_merged_rhd, cs_algorithm_nccl_rings, cs_algorithm_parallel_rings,
    cs_algorithm_ring;

/* Late roots that are tried, in tenths of k / n. */
static const uint32_t roots_tried[] = {0, 10, 13, 16};
enum { N_ROOTS = sizeof roots_tried / sizeof roots_tried[0] };

typedef struct candidate {
    cs_several_shape shape;
    double           least_s;
    bool             has_gap; /* the first late rank comes later than the last early one */
    bool             is_done;
} candidate;

static const cs_algorithm *const baselines[CS_BASELINE_COUNT] = {
    [CS_BASELINE_CIRCULANT]       = &cs_algorithm_circulant,
    [CS_BASELINE_LATENCY_OPTIMAL] = &cs_algorithm_latency_optimal,
    [CS_BASELINE_MERGED_RHD]      = &cs_algorithm_merged_rhd,
    [CS_BASELINE_RING]            = &cs_algorithm_ring,
    [CS_BASELINE_NCCL_RINGS]      = &cs_algorithm_nccl_rings,
    [CS_BASELINE_PARALLEL_RINGS]  = &cs_algorithm_parallel_rings,
};

const cs_algorithm *cs_baseline_algorithm(cs_late_baseline baseline)
{
    return baselines[baseline];
}

/* Where all ranks have one kind of port, on which the rings of servers are the plain ring. */
static double predicted_end_s(const cs_scenario *scenario, cs_late_baseline baseline)
{
    uint32_t        n = scenario->cluster.n_ranks, q = cs_log2_ceil(n), rounds = 2 * (n - 1);
    cs_several_pace pace    = cs_several_pace_of(scenario);
    double          buffers = 2.0 * (n - 1) / n;

    if (baseline == CS_BASELINE_MERGED_RHD && n % 2 == 1) {
        return (double)INFINITY;
    }
    if (baseline == CS_BASELINE_CIRCULANT || baseline == CS_BASELINE_MERGED_RHD) {
        rounds = 2 * q - (baseline == CS_BASELINE_MERGED_RHD ? 1 : 0);
    } else if (baseline == CS_BASELINE_LATENCY_OPTIMAL) {
        rounds  = q;
        buffers = q;
    }
    return cs_last_arrival(scenario) + rounds * pace.alpha_s +
           buffers * (double)scenario->bytes * pace.s_per_byte;
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

cs_status cs_baseline_choose(const cs_scenario *scenario, cs_late_baseline *baseline_p,
                             double *end_s_p, cs_error *err)
{
    bool      is_free = *baseline_p == CS_BASELINE_AUTO;
    uint32_t  first   = is_free ? CS_BASELINE_CIRCULANT : (uint32_t)*baseline_p, fastest;
    uint32_t  n       = is_free ? CS_BASELINE_COUNT - first : 1;
    cs_status status  = CS_OK;

    if (cs_one_port_kind(&scenario->cluster) || scenario->forecast == NULL) {
        *baseline_p = is_free ? cs_baseline_predicted(scenario) : *baseline_p;
        *end_s_p    = predicted_end_s(scenario, *baseline_p);
        return CS_OK;
    }
    status = cs_fastest(scenario, baselines + first, n, &fastest, end_s_p, err);
    if (status == CS_OK) {
        *baseline_p = (cs_late_baseline)(first + fastest);
    }
    return status;
}

static bool is_affordable(uint32_t n, const cs_several_shape *shape)
{
    uint32_t early  = n - shape->late;
    uint64_t chunks = (uint64_t)early * shape->parts;

    return chunks <= CS_MAX_SLOTS &&
           (shape->parts == 1 || cs_klate_work(n, early, (uint32_t)chunks) <= CS_KLATE_MOST_WORK);
}

/* Every k with every number of parts and share of late roots that is free. */
static uint32_t list_candidates(const cs_scenario *s, const uint32_t *ranks, uint32_t least,
                                uint32_t most, const cs_several_shape *fixed, candidate *list)
{
    uint32_t n = s->cluster.n_ranks, count = 0;

    for (uint32_t late = least; late <= most; late++) {
        bool     gap   = cs_arrival(s, ranks[n - late]) > cs_arrival(s, ranks[n - late - 1]);
        uint32_t few   = fixed->parts == CS_AUTO ? 1 : fixed->parts;
        uint32_t many  = fixed->parts == CS_AUTO ? CS_PREFIX_MOST_PARTS : fixed->parts;
        uint32_t roots = fixed->roots == CS_AUTO && 4 * late > n ? N_ROOTS : 1;
        for (uint32_t i = 0; i < (many - few + 1) * roots; i++) {
            cs_several_shape shape = {late, few + i / roots, fixed->roots};
            if (fixed->roots == CS_AUTO) {
                shape.roots = roots_tried[i % roots];
            }
            if (is_affordable(n, &shape)) {
                list[count++] =
                    (candidate){shape, cs_several_least_s(s, ranks, &shape), gap, false};
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
    cs_several_shape best;
    double           limit_s, work;
} search;

/* Half of the tries. */
static cs_status try_candidates(const cs_scenario *s, candidate *list, uint32_t count, bool has_gap,
                                search *found, cs_error *err)
{
    uint32_t  n      = s->cluster.n_ranks;
    cs_status status = CS_OK;

    for (uint32_t tries = 0; tries < CS_PREFIX_MOST_TRIES / 2 && status == CS_OK; tries++) {
        candidate *c = next_candidate(list, count, has_gap);
        cs_several several;
        if (c == NULL || c->least_s >= found->limit_s) {
            break;
        }
        uint32_t early = n - c->shape.late;
        double   work  = cs_klate_work(n, early, early * c->shape.parts);
        c->is_done     = true;
        if (found->work > 0 && found->work + work > CS_KLATE_MOST_WORK) {
            continue;
        }
        found->work += work;
        status = cs_several_open(&several, s, &c->shape, err);
        if (status == CS_OK && several.end_s < found->limit_s) {
            found->best    = c->shape;
            found->limit_s = several.end_s;
        }
        cs_several_close(&several);
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
    cs_status status = try_candidates(s, list, count, true, found, err);
    return status == CS_OK ? try_candidates(s, list, count, false, found, err) : status;
}

cs_status cs_prefix_choose(const cs_scenario *scenario, uint32_t least_late, uint32_t most_late,
                           double limit_s, cs_several_shape *shape_p, cs_error *err)
{
    size_t     most  = (size_t)(most_late - least_late + 1) * CS_PREFIX_MOST_PARTS * N_ROOTS;
    cs_arena   arena = {0};
    candidate *list  = CS_ARENA_NEW(&arena, candidate, most);
    uint32_t  *ranks = CS_ARENA_NEW(&arena, uint32_t, scenario->cluster.n_ranks);
    search     found = {.limit_s = limit_s};
    cs_status  status;

    if (list == NULL || ranks == NULL) {
        status = CS_FAIL(err, CS_ENOMEM, "", "out of memory for the choice of late ranks");
    } else {
        cs_several_order(scenario, ranks);
        uint32_t count = list_candidates(scenario, ranks, least_late, most_late, shape_p, list);
        status         = search_list(scenario, list, count, &found, err);
    }
    if (status == CS_OK) {
        *shape_p = found.best;
    }
    cs_arena_free(&arena);
    return status;
}
