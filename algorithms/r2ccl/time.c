/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ring stage. The slow NIC takes P = alpha + l A / p a step, every other hop a = alpha + A / p for
 * the ring and b = alpha + group for the chain (A in seconds on a healthy NIC; a second slow NIC's
 * hops take as many times longer). A wave is what the hops of the chain do with one chunk of the
 * slow rank; each wave carries one group along. The slow rank waits where a wave reaches it late:
 * wave w comes out after w (a + group) + a at its slowest hop and max(a, largest b) at every other
 * one, the longest path through a line of p - 2 stations, and is due at (p - 2 + w) P; what comes
 * behind wave p - 2 is not sent again by the slow rank. Linear in w: the first and the last of
 * these decide, or the end of the chain, which the second stage finds on its way.
 *
 * Second stage. k pieces up, one piece through the chain, one piece down; or, with a second slow
 * NIC, all that its port receives in both stages, and one piece down.
 */
#include "algorithms/r2ccl/time.h"

#include <math.h>

enum { AUTO_LEAST = 1024, AUTO_PER_RANK = 16, AUTO_MOST = 16384 };

cs_r2ccl_shape cs_r2ccl_shape_of(const cs_r2ccl_setting *setting, uint32_t pieces)
{
    cs_r2ccl_shape shape = {.p = setting->p, .pieces = pieces};

    shape.groups     = pieces < setting->p + 1 ? pieces : setting->p + 1;
    shape.ring_bytes = (uint64_t)((double)setting->bytes / setting->slowdown);
    shape.rest_bytes = setting->bytes - shape.ring_bytes;
    return shape;
}

uint32_t cs_r2ccl_first_piece(const cs_r2ccl_shape *shape, uint32_t group)
{
    return (uint32_t)((uint64_t)group * shape->pieces / shape->groups);
}

uint32_t cs_r2ccl_largest_group(const cs_r2ccl_shape *shape)
{
    uint32_t groups = shape->groups > 0 ? shape->groups : 1;
    return (shape->pieces - 1) / groups + 1;
}

/* The ring of all ranks with the chain beside it. */
static double ring_stage_s(const cs_r2ccl_setting *t, const cs_r2ccl_shape *shape)
{
    double p = t->p, waves = shape->groups, other = t->other_slowdown;
    double chunk   = (double)shape->ring_bytes / p * t->s_per_byte;
    double rest    = (double)shape->rest_bytes * t->s_per_byte;
    double largest = rest * cs_r2ccl_largest_group(shape) / shape->pieces;
    double step    = t->alpha_s + t->slowdown * chunk;
    double a       = t->alpha_s + other * chunk;
    double b       = t->alpha_s + other * largest;
    double along   = (p - 3) * t->alpha_s + (t->chain_slowdowns - other) * fmax(chunk, largest);
    double late    = fmin(waves, p - 2);
    double first   = 2 * a + b + along - (p - 1) * step;
    double last =
        late * (a + t->alpha_s + other * rest / waves) + a + along - (p - 2 + late) * step;
    double chain = (p + 1) * a + waves * t->alpha_s + other * rest + along - 2 * (p - 1) * step;

    return 2 * (p - 1) * step + fmax(fmax(0, chain), fmax(first, last));
}

/* A slow member of the chain receives A, B1 and the broadcast on one port. */
static double member_s(const cs_r2ccl_setting *t, const cs_r2ccl_shape *shape)
{
    double steps = 2.0 * (t->p - 1), p = t->p;
    double bytes = steps / p * (double)shape->ring_bytes + 2 * (double)shape->rest_bytes;

    return (steps + shape->groups + shape->pieces) * t->alpha_s +
           t->other_slowdown * bytes * t->s_per_byte;
}

double cs_r2ccl_predict_s(const cs_r2ccl_setting *setting, uint32_t pieces)
{
    cs_r2ccl_shape shape = cs_r2ccl_shape_of(setting, pieces);
    double         piece = (double)shape.rest_bytes / pieces * setting->s_per_byte;
    double         slow  = setting->alpha_s + setting->slowdown * piece;
    double         chain = (setting->p - 2) * setting->alpha_s + setting->chain_slowdowns * piece;
    double         end_s = ring_stage_s(setting, &shape) + pieces * slow + chain;

    return fmax(end_s, member_s(setting, &shape)) + slow;
}

double cs_r2ccl_ring_s(const cs_r2ccl_setting *setting)
{
    double chunk = (double)setting->bytes / setting->p * setting->s_per_byte;
    return 2.0 * (setting->p - 1) * (setting->alpha_s + setting->slowdown * chunk);
}

/* What is tried: no empty pieces, and no more than the slots are worth. */
static uint32_t most_pieces(const cs_r2ccl_setting *setting)
{
    uint64_t rest  = cs_r2ccl_shape_of(setting, 1).rest_bytes;
    uint64_t limit = (uint64_t)AUTO_PER_RANK * setting->p;

    limit = limit < AUTO_LEAST ? AUTO_LEAST : limit;
    limit = limit > AUTO_MOST ? AUTO_MOST : limit;
    return (uint32_t)(rest < limit ? rest : limit);
}

uint32_t cs_r2ccl_choose(const cs_r2ccl_setting *setting)
{
    uint32_t most = most_pieces(setting), best = 1;
    double   best_s = cs_r2ccl_predict_s(setting, 1);

    for (uint32_t k = 2; k <= most; k += 1 + k / 16) {
        double time_s = cs_r2ccl_predict_s(setting, k);
        if (time_s < best_s) {
            best   = k;
            best_s = time_s;
        }
    }
    return most > best && cs_r2ccl_predict_s(setting, most) < best_s ? most : best;
}
