/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions and choice of OptCC's shape: see optcc_time.h. */
#include "algorithms/pattern/optcc_time.h"

#include "cs/option.h"

#include <math.h>

/* The automatic choice tries no more rounds than this, nor than make some 2 * 10^8 transfers (a
 * round is 2 (p - m)^2 of them), but at least 64. */
enum { MAX_ROUNDS = 4096, LEAST_TRIED = 64, MAX_RAMP = 3 };

static const double GOOD_ENOUGH = 1.002;

static double largest(const cs_optcc_setting *t)
{
    double most = 1;

    for (uint32_t i = 0; i < t->m; i++) {
        most = fmax(most, t->slow_ratio[i]);
    }
    return most;
}

static double sum(const cs_optcc_setting *t)
{
    double total = 0;

    for (uint32_t i = 0; i < t->m; i++) {
        total += t->slow_ratio[i];
    }
    return total;
}

/* One slow server, l >= 2. */
static double predict_slow(const cs_optcc_setting *t, const cs_optcc_shape *s, double section_s)
{
    double l = t->slow_ratio[0], a = t->alpha_s, hops = (double)s->p - 2;
    double slots = s->n_sections + (s->has_special ? 1.0 : 2.0);

    return (l * section_s + a) * slots + (2 * section_s + a) * hops;
}

static double round_weight(const cs_optcc_shape *s, int64_t round)
{
    bool is_there = round >= 0 && round < (int64_t)s->rounds;
    return is_there ? cs_optcc_weight(s, round * ((int64_t)s->H - 1)) : 0;
}

/* One slow server, l < 2: with all rounds alike, or phase by phase with a ramp. */
static double predict_fast(const cs_optcc_setting *t, const cs_optcc_shape *s, double section_s)
{
    double l = t->slow_ratio[0], H = s->H, M = s->rounds * (H - 1), phases = 0;

    if (s->ramp == 0) {
        return section_s * (2 * M + 2 * H * (l - 1) + 2 - l) + t->alpha_s * (M + H);
    }
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

static double predict_several(const cs_optcc_setting *t, const cs_optcc_shape *s, double section_s)
{
    double a = t->alpha_s, H = s->H;
    double ring = 2 * section_s + a, slots = section_s * sum(t) + t->m * a;
    double loop = fmax(H * fmax(ring, largest(t) * section_s + a), (H - 1) * ring + slots);

    return loop * (s->n_sections + H + 1) / H + slots;
}

double cs_optcc_predict_s(const cs_optcc_setting *setting, const cs_optcc_shape *shape)
{
    const cs_optcc_setting *t         = setting;
    double                  section_s = (double)t->bytes * t->s_per_byte / shape->total_weight;
    double                  time;

    if (t->m > 1) {
        time = predict_several(t, shape, section_s);
    } else if (t->slow_ratio[0] >= 2) {
        time = predict_slow(t, shape, section_s);
    } else {
        time = predict_fast(t, shape, section_s);
    }
    if (t->gpus_per_server > 1) {
        double bytes = (double)t->bytes / shape->total_weight;
        time += 2 * (bytes * t->nvlink_s_per_byte + (t->gpus_per_server - 1) * t->nvlink_alpha_s);
    }
    return time;
}

double cs_optcc_ring_s(const cs_optcc_setting *setting)
{
    const cs_optcc_setting *t = setting;
    double ranks = (double)t->p * t->gpus_per_server, chunk = (double)t->bytes / t->p;

    return 2 * (ranks - 1) * (t->alpha_s + largest(t) * chunk * t->s_per_byte);
}

static cs_optcc_shape shape_for(const cs_optcc_setting *t, uint32_t rounds, uint32_t ramp,
                                bool bubbles)
{
    cs_optcc_request q = {.p             = t->p,
                          .m             = t->m,
                          .slow_ratio    = largest(t),
                          .rounds        = rounds,
                          .ramp          = ramp,
                          .wants_bubbles = bubbles && t->gpus_per_server == 1,
                          .wants_special = t->gpus_per_server == 1};
    return cs_optcc_shape_of(&q);
}

typedef struct best {
    cs_optcc_shape shape;
    double         time_s;
} best;

static best evaluate(const cs_optcc_setting *t, uint32_t rounds, uint32_t ramp, bool bubbles)
{
    best b   = {.shape = shape_for(t, rounds, ramp, bubbles)};
    b.time_s = cs_optcc_predict_s(t, &b.shape);
    return b;
}

/* The fewest rounds that are good enough, for one ramp with or without bubbles: predictions fall,
 * then rise with the rounds. */
static best choose_rounds(const cs_optcc_setting *t, uint32_t ramp, bool bubbles)
{
    uint32_t least = cs_optcc_least_rounds(t->p, t->m);
    best     b     = evaluate(t, least, ramp, bubbles);
    double   costs = (double)(t->p - t->m) * (t->p - t->m), limit = 1e8 / costs;
    uint32_t most = limit > MAX_ROUNDS ? MAX_ROUNDS : (uint32_t)fmax(limit, LEAST_TRIED);

    while (most > least && (uint64_t)most * (t->p - t->m - 1) * 2 > t->bytes) {
        most /= 2;
    }
    for (uint32_t r = least; r <= most; r += r / 20 + 1) {
        best other = evaluate(t, r, ramp, bubbles);
        if (other.time_s < b.time_s) {
            b = other;
        }
    }
    for (uint32_t r = least; r <= most; r += r / 20 + 1) {
        best other = evaluate(t, r, ramp, bubbles);
        if (other.time_s <= GOOD_ENOUGH * b.time_s) {
            return other;
        }
    }
    return b;
}

cs_optcc_shape cs_optcc_choose(const cs_optcc_setting *setting, const cs_optcc_wish *wish)
{
    const cs_optcc_setting *t    = setting;
    bool                    tune = t->m == 1 && t->slow_ratio[0] < 2 && t->slow_ratio[0] > 1;
    best                    b    = {.time_s = HUGE_VAL};

    for (uint32_t ramp = 0; ramp <= (tune ? CS_OPTCC_MAX_RAMP : 0u); ramp++) {
        bool ramp_fits = wish->ramp == CS_AUTO ? ramp <= MAX_RAMP : ramp == wish->ramp;
        for (int bubbles = 0; bubbles <= (tune ? 1 : 0); bubbles++) {
            if ((tune && !ramp_fits) || (tune && wish->bubbles == 1 + bubbles)) {
                continue;
            }
            uint32_t rounds = cs_optcc_rounds_of_segments(t->p, t->m, wish->segments);
            best     other  = wish->segments == CS_AUTO ? choose_rounds(t, ramp, bubbles == 1)
                                                        : evaluate(t, rounds, ramp, bubbles == 1);
            if (other.time_s < b.time_s) {
                b = other;
            }
        }
    }
    return b.shape;
}
