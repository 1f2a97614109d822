/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/optcc/shape.h"

#include "cs/schedule.h"

#include <math.h>

static int64_t first_section(uint32_t m)
{
    return m == 1 ? 1 : 2;
}

uint32_t cs_optcc_least_rounds(uint32_t p, uint32_t m)
{
    int64_t per_round = (int64_t)p - m - 1, first = first_section(m);
    return (uint32_t)(first / per_round + 1);
}

uint32_t cs_optcc_rounds_of_segments(uint32_t p, uint32_t m, uint32_t segments)
{
    uint64_t per_round = (uint64_t)p - m - 1;
    uint64_t sections  = (uint64_t)segments * (p - m) + (m == 1 ? 0 : (uint64_t)first_section(m));
    return (uint32_t)((sections + per_round - 1) / per_round);
}

/* Sum of the weights of the rounds before `round`. */
static double rounds_weight(const cs_optcc_shape *s, int64_t round)
{
    double sum = 0, weight = pow(s->ratio, s->ramp);

    for (uint32_t r = 0; r < s->ramp && (int64_t)r < round; r++, weight /= s->ratio) {
        sum += weight;
    }
    int64_t full_end = (int64_t)s->rounds - s->ramp;
    if (round > s->ramp) {
        sum += (double)((round < full_end ? round : full_end) - s->ramp);
    }
    weight = s->ratio;
    for (int64_t r = full_end; r < round && r < s->rounds; r++, weight *= s->ratio) {
        sum += weight;
    }
    return sum;
}

double cs_optcc_weight(const cs_optcc_shape *shape, int64_t section)
{
    int64_t round = cs_floor_div(section, (int64_t)shape->H - 1);
    int64_t edge =
        round < (int64_t)shape->rounds - 1 - round ? round : (int64_t)shape->rounds - 1 - round;
    return edge >= shape->ramp ? 1 : pow(shape->ratio, (double)(shape->ramp - edge));
}

/* Weight of the sections 0 .. section - 1. */
static double weight_before(const cs_optcc_shape *s, int64_t section)
{
    int64_t per_round = (int64_t)s->H - 1, part = section % per_round;
    double  whole = rounds_weight(s, section / per_round) * (double)per_round;

    return whole + (part > 0 ? (double)part * cs_optcc_weight(s, section) : 0);
}

/* Weight of the ordinary sections first .. section - 1. */
static double sections_weight(const cs_optcc_shape *s, int64_t section)
{
    return weight_before(s, section) - weight_before(s, s->first);
}

static void place_special(cs_optcc_shape *s)
{
    s->special       = s->first - 1;
    int64_t down     = s->last - s->H;
    s->special_down  = down > s->first ? down : s->first;
    int64_t last     = s->special_down + 2 * (int64_t)s->H - 1;
    s->last_position = last > s->last_position ? last : s->last_position;
}

static void place_blocks(cs_optcc_shape *s, double slowdown)
{
    int64_t per_round = (int64_t)s->H - 1;
    int64_t full_end  = ((int64_t)s->rounds - s->ramp) * per_round; /* of sections of weight 1 */
    int64_t full      = (full_end < s->last + 1 ? full_end : s->last + 1) - s->ramp * per_round;

    s->block_weight = (2 - slowdown) / slowdown;
    s->block_from   = s->ramp > 0 ? (int64_t)s->ramp * per_round - s->H - 1 : s->first_position;
    s->n_blocks     = full > 0 ? (uint32_t)(full / s->H) : 0;
    s->has_bubbles  = s->n_blocks > 0;
}

/* Which sections there are, and with them the rounds. */
static void place_sections(cs_optcc_shape *s, const cs_optcc_request *q)
{
    uint32_t least     = cs_optcc_least_rounds(q->p, q->m);
    int64_t  per_round = (int64_t)s->H - 1;
    bool     may       = q->m == 1 && q->slowdown >= 2 && q->wants_special;

    s->first       = first_section(s->m);
    s->rounds      = q->rounds > least ? q->rounds : least;
    s->last        = s->rounds * per_round - 1;
    s->has_special = may && s->last >= s->p; /* p + 1 sections with the special one */
    if (q->sections > 0) {
        s->has_special = may && q->sections > s->p;
        s->last        = s->first + q->sections - 1 - s->has_special;
        s->rounds      = (uint32_t)(s->last / per_round + 1);
    }
    s->first_position = s->first - s->H - 1;
    s->last_position  = s->last + s->H - 2;
}

cs_optcc_shape cs_optcc_shape_of(const cs_optcc_request *request)
{
    cs_optcc_shape s       = {.p = request->p, .m = request->m, .H = request->p - request->m};
    bool           is_fast = request->m == 1 && request->slowdown < 2;

    place_sections(&s, request);
    s.ramp  = is_fast && 2 * request->ramp < s.rounds ? request->ramp : 0;
    s.ratio = s.ramp > 0 ? request->slowdown - 1 : 1;
    if (s.has_special) {
        place_special(&s);
    }
    if (is_fast && request->wants_bubbles) {
        place_blocks(&s, request->slowdown);
    }
    s.n_sections = (uint32_t)(s.last - s.first + 1) + s.has_special;
    s.n_chunks   = s.n_sections + s.n_blocks;
    s.total_weight =
        (s.has_special ? 1 : 0) + sections_weight(&s, s.last + 1) + s.n_blocks * s.block_weight;
    return s;
}

uint64_t cs_optcc_offset(const cs_optcc_shape *shape, uint64_t bytes, uint32_t chunk)
{
    bool   is_even = shape->ramp == 0 && shape->n_blocks == 0;
    double weight;

    if (is_even || chunk >= shape->n_chunks) {
        return chunk >= shape->n_chunks ? bytes : cs_split_range(bytes, shape->n_chunks, 0, chunk);
    }
    if (chunk < shape->n_sections) {
        weight = sections_weight(shape, shape->first + chunk);
    } else {
        weight = shape->total_weight - (shape->n_chunks - chunk) * shape->block_weight;
    }
    return (uint64_t)llround(weight / shape->total_weight * (double)bytes);
}
