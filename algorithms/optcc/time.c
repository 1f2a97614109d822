/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/optcc/time.h"

#include "cs/field.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- equal sections: without ramp and bubbles ----
 *
 * For any number of slow servers. The times are those of one cycle, and of NVLink only where it
 * holds up every position. */

enum { MARCH_NODES = 192, MARCH_SLOW = 64, MAX_MARCH = 1 << 16 };

typedef struct lengths {
    double        section_s; /* of a section of a copy on a healthy NIC */
    double        port_s;    /* a message holds each of its ports for that beside its bytes */
    double        gap_s;     /* least time between the starts of two messages of a port */
    double        beyond_s;  /* the data are there so much later than the ports are free */
    double        nvlink_s;  /* what a server's NVLink takes for a position; 0: there is none */
    const double *slowdown;  /* [m] */
    double        largest_slowdown, sum_slowdown;
    uint32_t      copies; /* Q */
} lengths;

/* How long a message of so many sections holds a port. */
static double message_s(const lengths *t, double sections)
{
    return fmax(sections * t->section_s + t->port_s, t->gap_s);
}

/* A position, but for the slow ports, whose messages to the next node have so many sections. */
static double position_s(const lengths *t, double sections, double H, double slots)
{
    double hop  = sections * t->section_s + t->port_s + t->beyond_s;
    double port = ((H - 1) * t->copies * message_s(t, sections) + slots) / H;

    return fmax(fmax(hop, port), t->copies * t->nvlink_s);
}

/* By formula: exact for one slow server (for l >= 2 from R = 3 on), otherwise an upper bound that
 * is missed by O(1 / (H R)) of itself: 0.8 % from H = 40 and R = 5 on, 7 % at H = 8 and R = 3
 * (measured). O(1).
 *
 * A position of the wave takes, in the middle, as long as its slowest cycle: a slow port (Q l_1 s),
 * two sections to the next node (2 s and what lies beyond the ports, once for all copies), or a
 * healthy port, Q (2 (H-1) s + sum l_i s) / H. In the first H - 1 positions and in the last ones
 * messages carry one section, not two. A chain of causes cannot be on a slow port from beginning
 * to end: it changes from contributions to finals, and crosses one loop at the pace of the
 * healthy ones. All with what a message costs its ports beside. */
static double even_s(const lengths *t, const cs_optcc_shape *shape)
{
    double H = shape->H, R = shape->rounds, m = shape->m, round;
    double slots   = t->copies * fmax(t->sum_slowdown * t->section_s + m * t->port_s, m * t->gap_s);
    double slowest = t->copies * message_s(t, t->largest_slowdown);
    double middle = position_s(t, 2, H, slots), edge = position_s(t, 1, H, slots);

    if (shape->rounds == 1) {
        round = fmax(slowest, edge) + edge;
    } else {
        round = fmax(2 * fmax(slowest, edge) + (R - 1) * middle, R * slowest + middle);
    }
    return (H - 1) * round + slots;
}

/* When ports are free and when what travels has arrived, by node, slow server, train or section. */
typedef struct march {
    const cs_optcc_shape *shape;
    double                section_s, alpha_s;
    double                slots[MARCH_SLOW]; /* what a slow server takes for a section */
    double                tx[MARCH_NODES], rx[MARCH_NODES];
    double                slow_tx[MARCH_SLOW], slow_rx[MARCH_SLOW];
    double                train[MARCH_NODES];
    double                special; /* the special section at the slow server, then back */
    double                end;
} march;

static bool exists(const march *w, int64_t section)
{
    return section >= w->shape->first && section <= w->shape->last;
}

static bool is_special(const march *w, int64_t section)
{
    return w->shape->has_special && section == w->shape->special;
}

/* A message of the turn: how many sections it carries, and when they are there. */
static unsigned load_train(const march *w, int64_t P, int64_t d, double *ready)
{
    int64_t  H = w->shape->H, j4 = P - cs_floor_mod(P - d, H - 1), j1 = j4 + H - 1;
    bool     has_sum = exists(w, j1) || is_special(w, j1), has_final = exists(w, j4);
    int64_t  hop      = P - (w->shape->special_down + H + 1);
    unsigned sections = (unsigned)has_sum + (unsigned)has_final;

    *ready = has_final || (has_sum && P != j4) ? w->train[d] : 0; /* S1's first hop needs nothing */
    if (w->shape->has_special && d == H - 2 && hop >= 0 && hop <= H - 2) {
        sections++;
        *ready = fmax(*ready, hop == 0 ? w->special : w->train[d]);
    }
    return sections;
}

/* The H - 1 messages of the turn of node x. */
static void march_trains(march *w, int64_t P, uint32_t x, uint32_t y)
{
    for (int64_t d = (int64_t)w->shape->H - 2; d >= 0; d--) {
        double   ready;
        unsigned sections = load_train(w, P, d, &ready);
        if (sections > 0) {
            w->train[d] = fmax(fmax(w->tx[x], w->rx[y]), ready) + sections * w->section_s;
            w->train[d] += w->alpha_s;
            w->tx[x] = w->rx[y] = w->train[d];
        }
    }
    w->end = fmax(w->end, w->tx[x]);
}

/* The slot of position P: finals to the slow servers, contributions from them. `sum` is when the
 * healthy sum of section P has come; the contributions to it came before, on the same port. */
static void march_slots(march *w, int64_t P, uint32_t x, uint32_t y, double sum)
{
    int64_t next    = P + (int64_t)w->shape->H + 1;
    bool    gets    = exists(w, P) || is_special(w, P);
    bool    returns = w->shape->has_special && P == w->shape->special_down;

    for (uint32_t i = 0; i < w->shape->m; i++) {
        if (gets) {
            w->slow_rx[i] = fmax(fmax(w->tx[x], w->slow_rx[i]), sum) + w->slots[i];
            w->tx[x]      = w->slow_rx[i];
            w->end        = fmax(w->end, w->tx[x]);
        }
        w->special = is_special(w, P) ? w->tx[x] : w->special;
        if (exists(w, next) || returns) {
            w->slow_tx[i] =
                fmax(fmax(w->slow_tx[i], w->rx[y]), returns ? w->special : 0) + w->slots[i];
            w->rx[y] = w->slow_tx[i];
        }
        w->special = returns ? w->rx[y] : w->special;
    }
}

uint64_t cs_optcc_messages(const cs_optcc_shape *shape)
{
    uint64_t positions = (uint64_t)(shape->last_position - shape->first_position) + 1;
    return positions * (shape->H - 1 + 2 * shape->m);
}

/* The exact time of one copy on the alpha-beta model, message by message (apart from the rounding
 * of sections to bytes), or NAN where that is more than MAX_MARCH messages, where H or m are too
 * large, and where something lies beyond the ports. O(messages). */
static double march_s(const lengths *t, const cs_optcc_shape *shape)
{
    march w = {.shape = shape, .section_s = t->section_s, .alpha_s = t->port_s};

    if (t->copies > 1 || t->beyond_s > 0 || t->gap_s > 0 || shape->H > MARCH_NODES ||
        shape->m > MARCH_SLOW || cs_optcc_messages(shape) > MAX_MARCH) {
        return (double)NAN;
    }
    for (uint32_t i = 0; i < shape->m; i++) {
        w.slots[i] = t->slowdown[i] * w.section_s + w.alpha_s;
    }
    assert(shape->H >= 2);
    for (int64_t P = shape->first_position; P <= shape->last_position; P++) {
        uint32_t x   = (uint32_t)cs_floor_mod(P, shape->H);
        uint32_t y   = x + 1 == shape->H ? 0 : x + 1;
        double   sum = w.train[cs_floor_mod(P, (int64_t)shape->H - 1)];
        march_trains(&w, P, x, y);
        march_slots(&w, P, x, y, sum);
    }
    return w.end;
}

/* ---- any shape ---- */

/* The automatic choice tries no more rounds than this, nor than make some 2 * 10^8 transfers (a
 * round is 2 (p - m)^2 of them), but at least 64. */
enum {
    MAX_ROUNDS   = 4096,
    LEAST_TRIED  = 64,
    MAX_RAMP     = 3,
    MOST_COPIES  = 3,
    MOST_REFINED = 8192,
    FEW_REFINED  = 2048
};

static const double GOOD_ENOUGH = 1.002; /* of rounds */
static const double FEW_ENOUGH  = 1.004; /* of copies, ramp and bubbles, with fewer messages */

/* With l < 2, copies that run behind the first one take so much of a loop longer in the end, in
 * sections: what was measured for p = 8 .. 64, without and with ramp or bubbles. */
static const double LAG_PLAIN = 0.3, LAG_SHAPED = 0.9;

static double round_weight(const cs_optcc_shape *s, int64_t round)
{
    bool is_there = round >= 0 && round < (int64_t)s->rounds;
    return is_there ? cs_optcc_weight(s, round * ((int64_t)s->H - 1)) : 0;
}

/* One slow server, l < 2, phase by phase of a ramp. */
static double predict_ramp(const lengths *t, const cs_optcc_shape *s)
{
    double  l = t->slowdown[0], Q = t->copies, time = Q * (3 * l * t->section_s + t->port_s);
    int64_t last = s->rounds, edge = (int64_t)s->ramp + 1; /* phases between the edges are alike */

    for (int64_t r = 0; r <= last; r++) {
        bool   is_middle = r == edge + 1 && last - edge > r;
        double now = round_weight(s, r), before = round_weight(s, r - 1);
        double hop      = (now + before) * t->section_s + t->port_s + t->beyond_s;
        double port     = fmax(message_s(t, now + before), message_s(t, l * fmax(now, before)));
        double position = fmax(hop, Q * fmax(port, t->nvlink_s));
        time += (s->H - 1) * position * (is_middle ? (double)(last - edge - r) : 1);
        r = is_middle ? last - edge - 1 : r;
    }
    return time;
}

/* NVLink's two phases, before the first message and behind the last one. */
static double nvlink_s(const cs_optcc_setting *t, double section_bytes)
{
    double turns = (double)(t->gpus_per_server - 1) / t->nvlink_lanes;

    return t->gpus_per_server == 1
               ? 0
               : 2 * turns * (section_bytes * t->nvlink_s_per_byte + t->nvlink_alpha_s);
}

static lengths lengths_of(const cs_optcc_setting *t, const cs_optcc_shape *s, uint32_t copies)
{
    double section_bytes = (double)t->bytes / s->total_weight / copies;

    return (lengths){.section_s        = section_bytes * t->s_per_byte,
                     .port_s           = t->port_s,
                     .gap_s            = t->gap_s,
                     .beyond_s         = t->beyond_s,
                     .nvlink_s         = nvlink_s(t, section_bytes),
                     .slowdown         = t->slowdown,
                     .largest_slowdown = t->largest_slowdown,
                     .sum_slowdown     = t->sum_slowdown,
                     .copies           = copies};
}

static bool is_even(const cs_optcc_shape *s)
{
    return s->ramp == 0 && s->n_blocks == 0;
}

/* By formulas: quick enough to be asked for many shapes. */
static double estimate_s(const cs_optcc_setting *t, const cs_optcc_shape *shape, uint32_t copies)
{
    lengths len  = lengths_of(t, shape, copies);
    double  time = shape->ramp > 0 ? predict_ramp(&len, shape) : even_s(&len, shape);
    double  lag  = is_even(shape) ? LAG_PLAIN : LAG_SHAPED;
    bool    lags = t->m == 1 && t->slowdown[0] < 2;

    return time + len.nvlink_s + (lags ? (copies - 1) * lag * shape->H * len.section_s : 0);
}

double cs_optcc_predict_s(const cs_optcc_setting *setting, const cs_optcc_shape *shape,
                          uint32_t copies)
{
    lengths len  = lengths_of(setting, shape, copies);
    double  time = is_even(shape) ? march_s(&len, shape) : (double)NAN;

    return isnan(time) ? estimate_s(setting, shape, copies) : time + len.nvlink_s;
}

double cs_optcc_ring_s(const cs_optcc_setting *setting)
{
    const cs_optcc_setting *t = setting;
    double ranks = (double)t->p * t->gpus_per_server, chunk = (double)t->bytes / t->p;

    return 2 * (ranks - 1) *
           (t->port_s + t->beyond_s + t->largest_slowdown * chunk * t->s_per_byte);
}

cs_optcc_shape cs_optcc_shape_for(const cs_optcc_setting *setting, uint32_t rounds,
                                  uint32_t sections, uint32_t ramp, bool bubbles)
{
    bool             is_single = setting->gpus_per_server == 1;
    cs_optcc_request q         = {.p             = setting->p,
                                  .m             = setting->m,
                                  .slowdown      = setting->largest_slowdown,
                                  .rounds        = rounds,
                                  .sections      = sections,
                                  .ramp          = ramp,
                                  .wants_bubbles = bubbles && is_single,
                                  .wants_special = is_single};
    return cs_optcc_shape_of(&q);
}

static cs_optcc_pick evaluate(const cs_optcc_setting *t, const cs_optcc_wish *wish, uint32_t rounds)
{
    cs_optcc_pick pick = {
        .shape  = cs_optcc_shape_for(t, rounds, wish->sections, wish->ramp, wish->bubbles == 1),
        .copies = wish->copies};

    pick.time_s = estimate_s(t, &pick.shape, pick.copies);
    return pick;
}

/* More rounds are not tried: for the time that the replay takes, and for want of bytes. */
static uint32_t most_rounds(const cs_optcc_setting *t, uint32_t least, uint32_t copies)
{
    double   costs = (double)(t->p - t->m) * (t->p - t->m) * copies, limit = 1e8 / costs;
    uint32_t most = limit > MAX_ROUNDS ? MAX_ROUNDS : (uint32_t)fmax(limit, LEAST_TRIED);

    while (most > least && (uint64_t)most * (t->p - t->m - 1) * 2 * copies > t->bytes) {
        most /= 2;
    }
    return most;
}

/* The fewest rounds that are good enough, where all else is fixed: predictions fall, then rise with
 * the rounds. */
static cs_optcc_pick choose_rounds(const cs_optcc_setting *t, const cs_optcc_wish *wish)
{
    uint32_t      least = cs_optcc_least_rounds(t->p, t->m);
    uint32_t      most  = most_rounds(t, least, wish->copies);
    cs_optcc_pick best  = evaluate(t, wish, least);

    for (uint32_t r = least; r <= most; r += r / 20 + 1) {
        cs_optcc_pick other = evaluate(t, wish, r);
        best                = other.time_s < best.time_s ? other : best;
    }
    for (uint32_t r = least; r <= most; r += r / 20 + 1) {
        cs_optcc_pick other = evaluate(t, wish, r);
        if (other.time_s <= GOOD_ENOUGH * best.time_s) {
            return other;
        }
    }
    return best;
}

/* Does it take few steps to find the exact time? */
static bool is_exact(const cs_optcc_setting *t, const cs_optcc_pick *pick)
{
    return is_even(&pick->shape) && !(t->beyond_s > 0) && !(t->gap_s > 0) && pick->copies == 1 &&
           cs_optcc_messages(&pick->shape) <= MAX_MARCH;
}

static bool has_bytes(const cs_optcc_setting *t, const cs_optcc_pick *pick)
{
    uint64_t sections = (uint64_t)pick->shape.rounds * (pick->shape.H - 1);
    return 2 * sections * pick->copies <= t->bytes;
}

/* The estimate is worst for few servers and rounds, where the exact time is quick to find: look
 * around there. */
static void refine(const cs_optcc_setting *t, const cs_optcc_wish *wish, cs_optcc_pick *b)
{
    static const double factors[] = {1, 0.25, 0.5, 0.75, 1.5, 2};
    uint32_t            rounds = b->shape.rounds, before = 0;

    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        cs_optcc_pick other = evaluate(t, wish, (uint32_t)(factors[i] * rounds));
        bool is_new = i == 0 || (other.shape.rounds != rounds && other.shape.rounds != before);
        before      = other.shape.rounds;
        if (is_new && is_exact(t, &other) && (i == 0 || has_bytes(t, &other))) {
            other.time_s = cs_optcc_predict_s(t, &other.shape, other.copies);
            *b           = i == 0 || other.time_s < b->time_s ? other : *b;
        }
    }
}

double cs_optcc_estimate_s(const cs_optcc_setting *setting)
{
    const cs_optcc_wish plain = {.bubbles = 2, .copies = 1};
    cs_optcc_pick       pick  = choose_rounds(setting, &plain);

    refine(setting, &plain, &pick);
    return pick.time_s;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b > 0) {
        uint32_t rest = a % b;
        a             = b;
        b             = rest;
    }
    return a;
}

static int by_time(const void *left, const void *right)
{
    const cs_optcc_pick *a = left, *b = right;

    if (a->time_s != b->time_s) {
        return a->time_s < b->time_s ? -1 : 1;
    }
    if (a->copies != b->copies) {
        return a->copies < b->copies ? -1 : 1;
    }
    if (a->shape.ramp != b->shape.ramp) {
        return a->shape.ramp < b->shape.ramp ? -1 : 1;
    }
    return (int)a->shape.has_bubbles - (int)b->shape.has_bubbles;
}

static uint64_t messages_of(const cs_optcc_pick *pick)
{
    return cs_optcc_messages(&pick->shape) * pick->copies;
}

/* Of the picks that are good enough, the one with the fewest messages goes to the front. */
static void prefer_few_messages(cs_optcc_pick *picks, uint32_t n)
{
    uint32_t fewest = 0;

    for (uint32_t i = 1; i < n && picks[i].time_s <= FEW_ENOUGH * picks[0].time_s; i++) {
        fewest = messages_of(&picks[i]) < messages_of(&picks[fewest]) ? i : fewest;
    }
    cs_optcc_pick pick = picks[fewest];
    memmove(picks + 1, picks, fewest * sizeof *picks);
    picks[0] = pick;
}

/* One slow server of l < 2 may have a ramp and bubbles; where its NIC is not slow at all, neither
 * does anything. */
static bool is_tunable(const cs_optcc_setting *t)
{
    return t->m == 1 && t->slowdown[0] < 2 && t->slowdown[0] > 1;
}

/* All ramps and bubbles for one number of copies. */
static uint32_t add_picks(const cs_optcc_setting *t, const cs_optcc_wish *wish, uint32_t copies,
                          cs_optcc_pick *picks)
{
    bool     tune = is_tunable(t), is_fixed = wish->rounds > 0 || wish->sections > 0;
    bool     any_ramp = tune && wish->ramp == CS_AUTO;
    uint32_t first = any_ramp || !tune ? 0 : wish->ramp, n = 0;

    for (uint32_t ramp = first; ramp <= (any_ramp ? (uint32_t)MAX_RAMP : first); ramp++) {
        for (int bubbles = 1; bubbles <= 2; bubbles++) {
            cs_optcc_wish one = {wish->rounds, wish->sections, ramp, tune ? bubbles : 2, copies};
            if (tune ? wish->bubbles != 0 && wish->bubbles != bubbles : bubbles == 1) {
                continue;
            }
            picks[n] = is_fixed ? evaluate(t, &one, wish->rounds) : choose_rounds(t, &one);
            if (!is_fixed) {
                refine(t, &one, &picks[n]);
            }
            n++;
        }
    }
    return n;
}

uint32_t cs_optcc_choose(const cs_optcc_setting *setting, const cs_optcc_wish *wish,
                         cs_optcc_pick *picks)
{
    const cs_optcc_setting *t     = setting;
    bool                    waits = t->beyond_s > 0, meets = t->m == 1 && t->slowdown[0] < 2;
    uint32_t                n = 0;

    if (wish->copies != CS_AUTO) {
        n = add_picks(t, wish, wish->copies, picks);
    }
    for (uint32_t copies = 1; wish->copies == CS_AUTO && copies <= MOST_COPIES; copies++) {
        if (copies == 1 || (waits && !(meets && common_divisor(copies, t->p - t->m) > 1))) {
            n += add_picks(t, wish, copies, picks + n);
        }
    }
    qsort(picks, n, sizeof *picks, by_time);
    prefer_few_messages(picks, n);
    return n;
}
