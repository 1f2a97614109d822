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
 * Second stage. k pieces up, one piece through the chain, one piece down. A piece takes what the
 * slowest NIC takes for it, or a healthy one, which receives or sends each piece once and one of K
 * of them from or to all m (and from h_H). With a second slow NIC in the line: all that its port
 * receives in both stages, and one piece down.
 *
 * NVLink takes g - 1 turns before the first chunk and after the last piece. Where it is the slower
 * one, the ring stage takes all that is collected and handed out there, and a piece the turns in
 * which it is.
 */
#include "algorithms/r2ccl/time.h"

#include "cs/field.h"

#include <math.h>

/* With several owners, whose ports take from the slow and from the chain in turn, pieces take so
 * much longer (measured for 4 to 33 servers, 2 to 4 of them slow). */
static const double CROWD = 1.3;

static const double ROUNDING = 1e-12;

enum { AUTO_LEAST = 1024, AUTO_PER_RANK = 16, AUTO_MOST = 16384 };

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

cs_r2ccl_shape cs_r2ccl_shape_of(const cs_r2ccl_setting *setting, uint32_t pieces, uint32_t owners)
{
    cs_r2ccl_shape shape = {.p      = setting->p,
                            .m      = setting->m,
                            .gpus   = setting->gpus,
                            .pieces = pieces,
                            .owners = owners > 0 ? owners : 1};
    uint32_t       each  = least((setting->p + 1) / shape.owners, pieces / shape.owners);

    shape.groups     = shape.owners * (each > 0 ? each : 1);
    shape.ring_bytes = (uint64_t)((double)setting->bytes / setting->slowdown);
    shape.rest_bytes = setting->bytes - shape.ring_bytes;
    return shape;
}

uint32_t cs_r2ccl_first_owned(const cs_r2ccl_shape *shape, uint32_t owner)
{
    uint32_t more = shape->pieces % shape->owners;
    return owner * (shape->pieces / shape->owners) + least(owner, more);
}

uint32_t cs_r2ccl_first_piece(const cs_r2ccl_shape *shape, uint32_t group)
{
    uint32_t each = shape->groups / shape->owners, owner = group / each;
    uint64_t first = cs_r2ccl_first_owned(shape, owner);

    return group % each == 0 ? (uint32_t)first
                             : (uint32_t)(first + (cs_r2ccl_first_owned(shape, owner + 1) - first) *
                                                      (group % each) / each);
}

uint32_t cs_r2ccl_largest_group(const cs_r2ccl_shape *shape)
{
    uint32_t owned = (shape->pieces - 1) / shape->owners + 1, each = shape->groups / shape->owners;
    return (owned - 1) / each + 1;
}

uint32_t cs_r2ccl_passing_slots(const cs_r2ccl_shape *shape)
{
    return CS_R2CCL_WINDOW + (shape->owners > 1 ? shape->p : shape->m - 1);
}

uint32_t cs_r2ccl_group_slots(const cs_r2ccl_shape *shape)
{
    return CS_R2CCL_WINDOW * cs_r2ccl_largest_group(shape);
}

uint32_t cs_r2ccl_slots(const cs_r2ccl_shape *shape)
{
    return CS_R2CCL_PASSING + cs_r2ccl_passing_slots(shape) + cs_r2ccl_group_slots(shape) +
           shape->pieces;
}

/* What a GPU's NVLink takes to send something to each mate, or to get it. */
static double turns_s(const cs_r2ccl_setting *t, double bytes)
{
    double turns = (double)(t->gpus - 1) / t->nvlink_lanes;
    return t->gpus > 1 ? turns * (t->nvlink_alpha_s + bytes * t->nvlink_s_per_byte) : 0;
}

/* The ring of all servers with the chain beside it. `*waits_p`: does the ring wait for the chain,
 * or for NVLink? */
static double ring_stage_s(const cs_r2ccl_setting *t, const cs_r2ccl_shape *shape, bool *waits_p)
{
    double p = t->p, waves = shape->groups, other = t->other_slowdown;
    double chunk_bytes = (double)shape->ring_bytes / t->gpus / p;
    double rest_bytes  = (double)shape->rest_bytes / t->gpus;
    double group_bytes = rest_bytes * cs_r2ccl_largest_group(shape) / shape->pieces;
    double chunk = chunk_bytes * t->s_per_byte, rest = rest_bytes * t->s_per_byte;
    double largest = group_bytes * t->s_per_byte;
    double step    = t->alpha_s + t->slowdown * chunk;
    double a       = t->alpha_s + other * chunk;
    double b       = t->alpha_s + other * largest;
    double along   = (p - 3) * t->alpha_s + (t->chain_slowdowns - other) * fmax(chunk, largest);
    double late    = fmin(waves, p - 2);
    double first   = 2 * a + b + along - (p - 1) * step;
    double last =
        late * (a + t->alpha_s + other * rest / waves) + a + along - (p - 2 + late) * step;
    double chain  = (p + 1) * a + waves * t->alpha_s + other * rest + along - 2 * (p - 1) * step;
    double inside = turns_s(t, chunk_bytes), groups_s = turns_s(t, group_bytes);
    double wait_s = fmax(fmax(0, chain), fmax(first, last));

    *waits_p = wait_s > 0 || inside + groups_s > step || a + b > step * (1 + ROUNDING);
    return fmax(inside + 2 * (p - 1) * step + wait_s, 2 * p * inside + waves * groups_s);
}

/* A slow member of the chain receives A, B1 and the broadcast on one port. */
static double member_s(const cs_r2ccl_setting *t, const cs_r2ccl_shape *shape)
{
    double steps = 2.0 * (t->p - 1), p = t->p;
    double bytes = steps / p * (double)shape->ring_bytes + 2 * (double)shape->rest_bytes;

    return (steps + shape->groups + shape->pieces) * t->alpha_s +
           t->other_slowdown * bytes / t->gpus * t->s_per_byte;
}

/* How long a piece keeps the port that serves it the longest. */
static double pace_s(const cs_r2ccl_setting *t, const cs_r2ccl_shape *shape, double piece_s)
{
    double slow   = t->alpha_s + t->slowdown * piece_s;
    double served = t->m * t->alpha_s + t->sum_slowdown * piece_s;

    if (shape->owners == 1) {
        return fmax(slow, served);
    }
    return CROWD * fmax(slow, t->alpha_s + piece_s + served / shape->owners);
}

double cs_r2ccl_predict_s(const cs_r2ccl_setting *setting, const cs_r2ccl_shape *shape,
                          bool *is_exact_p)
{
    const cs_r2ccl_setting *t = setting;
    bool                    waits;
    double                  piece_bytes = (double)shape->rest_bytes / t->gpus / shape->pieces;
    double piece = piece_bytes * t->s_per_byte, m = t->m, inside = turns_s(t, piece_bytes);
    double slow = t->alpha_s + t->slowdown * piece, pace = pace_s(t, shape, piece);
    double chain   = (t->p - m - 1) * t->alpha_s + t->chain_slowdowns * piece;
    double along_s = shape->pieces * fmax(pace, 2 * inside) + (m - 1) * slow + chain;
    double end_s   = ring_stage_s(t, shape, &waits) + along_s;

    if (is_exact_p != NULL) {
        bool     is_whole = (double)shape->ring_bytes * t->slowdown == (double)t->bytes;
        uint64_t parts    = (uint64_t)t->gpus * shape->pieces;
        *is_exact_p =
            is_whole && t->m == 1 && shape->pieces % shape->groups == 0 &&
            !(t->other_slowdown > 1) && !waits && 2 * inside <= fmin(pace, t->alpha_s + piece) &&
            shape->ring_bytes % ((uint64_t)t->gpus * t->p) == 0 && shape->rest_bytes % parts == 0;
    }
    return fmax(end_s, member_s(t, shape)) + slow + inside;
}

double cs_r2ccl_ring_s(const cs_r2ccl_setting *setting)
{
    double ranks = (double)setting->p * setting->gpus;
    double chunk = (double)setting->bytes / ranks * setting->s_per_byte;
    return 2.0 * (ranks - 1) * (setting->alpha_s + setting->slowdown * chunk);
}

/* What is tried: no empty pieces, and no more than the slots are worth. */
static uint32_t most_pieces(const cs_r2ccl_setting *setting)
{
    uint64_t rest  = cs_r2ccl_shape_of(setting, 1, 1).rest_bytes / setting->gpus;
    uint64_t limit = (uint64_t)AUTO_PER_RANK * setting->p;

    limit = limit < AUTO_LEAST ? AUTO_LEAST : limit;
    limit = limit > AUTO_MOST ? AUTO_MOST : limit;
    rest  = rest > 0 ? rest : 1;
    return (uint32_t)(rest < limit ? rest : limit);
}

/* A choice, and what it is predicted to take. */
typedef struct pick {
    cs_r2ccl_shape shape;
    double         time_s;
} pick;

static void try_pieces(const cs_r2ccl_setting *t, uint32_t pieces, uint32_t owners, pick *best)
{
    pick other = {.shape = cs_r2ccl_shape_of(t, pieces, owners)};

    other.time_s = cs_r2ccl_predict_s(t, &other.shape, NULL);
    *best        = other.time_s < best->time_s ? other : *best;
}

static void try_owners(const cs_r2ccl_setting *t, uint32_t pieces, uint32_t owners, pick *best)
{
    uint32_t most = most_pieces(t);

    if (pieces != CS_AUTO) {
        try_pieces(t, pieces, owners, best);
        return;
    }
    most = most > owners ? most : owners;
    for (uint32_t k = owners; k <= most; k += 1 + k / 16) {
        try_pieces(t, k, owners, best);
    }
    try_pieces(t, most, owners, best);
}

uint32_t cs_r2ccl_most_owners(uint32_t p, uint32_t m)
{
    return m > 1 && p > m + 2 ? p - m - 1 : 1;
}

cs_r2ccl_shape cs_r2ccl_choose(const cs_r2ccl_setting *setting, uint32_t pieces, uint32_t owners)
{
    uint32_t most   = least(cs_r2ccl_most_owners(setting->p, setting->m), pieces);
    uint32_t fewest = owners != CS_AUTO ? owners : 1;
    pick     best   = {cs_r2ccl_shape_of(setting, pieces != CS_AUTO ? pieces : fewest, fewest),
                       (double)INFINITY}; /* if no time is a finite number */

    if (owners != CS_AUTO) {
        try_owners(setting, pieces, owners, &best);
        return best.shape;
    }
    for (uint32_t K = 1; K < most; K += 1 + K / 4) {
        try_owners(setting, pieces, K, &best);
    }
    try_owners(setting, pieces, most, &best);
    return best.shape;
}
