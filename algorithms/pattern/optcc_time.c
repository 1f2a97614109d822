/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions and choice of OptCC's shape: see optcc_time.h. */
#include "algorithms/pattern/optcc_time.h"

#include "algorithms/pattern/optcc_even.h"
#include "cs/option.h"

#include <math.h>

/* The automatic choice tries no more rounds than this, nor than make some 2 * 10^8 transfers (a
 * round is 2 (p - m)^2 of them), but at least 64. */
enum { MAX_ROUNDS = 4096, LEAST_TRIED = 64, MAX_RAMP = 3, MOST_REFINED = 8192 };

static const double GOOD_ENOUGH = 1.002;

static double round_weight(const cs_optcc_shape *s, int64_t round)
{
    bool is_there = round >= 0 && round < (int64_t)s->rounds;
    return is_there ? cs_optcc_weight(s, round * ((int64_t)s->H - 1)) : 0;
}

/* One slow server, l < 2, phase by phase of a ramp. */
static double predict_ramp(const cs_optcc_setting *t, const cs_optcc_shape *s, double section_s)
{
    double l = t->slow_ratio[0], H = s->H, M = s->rounds * (H - 1), phases = 0;

    int64_t last = s->rounds, edge = (int64_t)s->ramp + 1; /* phases between the edges are alike */
    for (int64_t r = 0; r <= last; r++) {
        if (r == edge + 1 && last - edge > r) {
            phases += (double)(last - edge - r) * (H - 1) * 2;
            r = last - edge;
        }
        double now = round_weight(s, r), before = round_weight(s, r - 1);
        phases += (H - 1) * fmax(now + before, l * fmax(now, before));
    }
    return section_s * (phases + 3 * l) + t->alpha_s * (M + H);
}

/* NVLink's two phases, before the first message and behind the last one. */
static double nvlink_s(const cs_optcc_setting *t, const cs_optcc_shape *s)
{
    double bytes = (double)t->bytes / s->total_weight;

    return t->gpus_per_server == 1
               ? 0
               : 2 * (bytes * t->nvlink_s_per_byte + (t->gpus_per_server - 1) * t->nvlink_alpha_s);
}

static cs_optcc_lengths lengths_of(const cs_optcc_setting *t, const cs_optcc_shape *s)
{
    return (cs_optcc_lengths){.section_s     = (double)t->bytes * t->s_per_byte / s->total_weight,
                              .alpha_s       = t->alpha_s,
                              .slow_ratio    = t->slow_ratio,
                              .largest_ratio = t->largest_ratio,
                              .sum_ratio     = t->sum_ratio};
}

/* By formulas: quick enough to be asked for many shapes. */
static double estimate_s(const cs_optcc_setting *t, const cs_optcc_shape *shape)
{
    cs_optcc_lengths lengths = lengths_of(t, shape);
    double           time    = shape->ramp > 0 ? predict_ramp(t, shape, lengths.section_s)
                                               : cs_optcc_even_s(&lengths, shape);

    return time + nvlink_s(t, shape);
}

static bool is_even(const cs_optcc_shape *s)
{
    return s->ramp == 0 && s->n_blocks == 0;
}

double cs_optcc_predict_s(const cs_optcc_setting *setting, const cs_optcc_shape *shape)
{
    cs_optcc_lengths lengths = lengths_of(setting, shape);
    double           time    = is_even(shape) ? cs_optcc_march_s(&lengths, shape) : (double)NAN;

    return isnan(time) ? estimate_s(setting, shape) : time + nvlink_s(setting, shape);
}

double cs_optcc_ring_s(const cs_optcc_setting *setting)
{
    const cs_optcc_setting *t = setting;
    double ranks = (double)t->p * t->gpus_per_server, chunk = (double)t->bytes / t->p;

    return 2 * (ranks - 1) * (t->alpha_s + t->largest_ratio * chunk * t->s_per_byte);
}

cs_optcc_shape cs_optcc_shape_for(const cs_optcc_setting *setting, uint32_t rounds,
                                  uint32_t sections, uint32_t ramp, bool bubbles)
{
    bool             is_single = setting->gpus_per_server == 1;
    cs_optcc_request q         = {.p             = setting->p,
                                  .m             = setting->m,
                                  .slow_ratio    = setting->largest_ratio,
                                  .rounds        = rounds,
                                  .sections      = sections,
                                  .ramp          = ramp,
                                  .wants_bubbles = bubbles && is_single,
                                  .wants_special = is_single};
    return cs_optcc_shape_of(&q);
}

typedef struct best {
    cs_optcc_shape shape;
    double         time_s;
} best;

static best evaluate(const cs_optcc_setting *t, uint32_t rounds, uint32_t sections, uint32_t ramp,
                     bool bubbles)
{
    best b   = {.shape = cs_optcc_shape_for(t, rounds, sections, ramp, bubbles)};
    b.time_s = estimate_s(t, &b.shape);
    return b;
}

/* The fewest rounds that are good enough, for one ramp with or without bubbles: predictions fall,
 * then rise with the rounds. */
static best choose_rounds(const cs_optcc_setting *t, uint32_t ramp, bool bubbles)
{
    uint32_t least = cs_optcc_least_rounds(t->p, t->m);
    best     b     = evaluate(t, least, 0, ramp, bubbles);
    double   costs = (double)(t->p - t->m) * (t->p - t->m), limit = 1e8 / costs;
    uint32_t most = limit > MAX_ROUNDS ? MAX_ROUNDS : (uint32_t)fmax(limit, LEAST_TRIED);

    while (most > least && (uint64_t)most * (t->p - t->m - 1) * 2 > t->bytes) {
        most /= 2;
    }
    for (uint32_t r = least; r <= most; r += r / 20 + 1) {
        best other = evaluate(t, r, 0, ramp, bubbles);
        if (other.time_s < b.time_s) {
            b = other;
        }
    }
    for (uint32_t r = least; r <= most; r += r / 20 + 1) {
        best other = evaluate(t, r, 0, ramp, bubbles);
        if (other.time_s <= GOOD_ENOUGH * b.time_s) {
            return other;
        }
    }
    return b;
}

static uint64_t least_bytes(const cs_optcc_shape *s)
{
    return 2 * (uint64_t)s->rounds * (s->H - 1);
}

/* The estimate is worst for few servers and rounds, where the exact time is quick to find: look
 * around there. */
static void refine(const cs_optcc_setting *t, best *b)
{
    static const double factors[] = {0.25, 0.5, 0.75, 1.5, 2};
    uint32_t            rounds    = b->shape.rounds;

    if (!is_even(&b->shape) || cs_optcc_messages(&b->shape) > MOST_REFINED) {
        return;
    }
    b->time_s = cs_optcc_predict_s(t, &b->shape);
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        best other = evaluate(t, (uint32_t)(factors[i] * rounds), 0, 0, false);
        if (is_even(&other.shape) && least_bytes(&other.shape) <= t->bytes) {
            other.time_s = cs_optcc_predict_s(t, &other.shape);
            *b           = other.time_s < b->time_s ? other : *b;
        }
    }
}

cs_optcc_shape cs_optcc_choose(const cs_optcc_setting *setting, const cs_optcc_wish *wish)
{
    const cs_optcc_setting *t        = setting;
    bool                    tune     = t->m == 1 && t->slow_ratio[0] < 2 && t->slow_ratio[0] > 1;
    best                    b        = {.time_s = HUGE_VAL};
    bool                    is_fixed = wish->rounds > 0 || wish->sections > 0;

    for (uint32_t ramp = 0; ramp <= (tune ? CS_OPTCC_MAX_RAMP : 0u); ramp++) {
        bool ramp_fits = wish->ramp == CS_AUTO ? ramp <= MAX_RAMP : ramp == wish->ramp;
        for (int bubbles = 0; bubbles <= (tune ? 1 : 0); bubbles++) {
            if ((tune && !ramp_fits) || (tune && wish->bubbles == 1 + bubbles)) {
                continue;
            }
            best other = is_fixed ? evaluate(t, wish->rounds, wish->sections, ramp, bubbles == 1)
                                  : choose_rounds(t, ramp, bubbles == 1);
            if (other.time_s < b.time_s) {
                b = other;
            }
        }
    }
    if (!is_fixed) {
        refine(t, &b);
    }
    return b.shape;
}
