/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of OptCC with equal sections: see optcc_even.h. */
#include "algorithms/optcc/optcc_even.h"

#include <assert.h>
#include <math.h>

enum { MARCH_NODES = 192, MARCH_SLOW = 64 };

double cs_optcc_port_s(const cs_optcc_lengths *lengths, double sections)
{
    return fmax(sections * lengths->section_s + lengths->port_s, lengths->gap_s);
}

/* A position, but for the slow ports, whose messages to the next node have so many sections. */
static double position_s(const cs_optcc_lengths *t, double sections, double H, double slots)
{
    double hop  = sections * t->section_s + t->port_s + t->beyond_s;
    double port = ((H - 1) * t->copies * cs_optcc_port_s(t, sections) + slots) / H;

    return fmax(fmax(hop, port), t->copies * t->nvlink_s);
}

double cs_optcc_even_s(const cs_optcc_lengths *lengths, const cs_optcc_shape *shape)
{
    const cs_optcc_lengths *t = lengths;
    double                  H = shape->H, R = shape->rounds, m = shape->m, round;
    double slots   = t->copies * fmax(t->sum_ratio * t->section_s + m * t->port_s, m * t->gap_s);
    double slowest = t->copies * cs_optcc_port_s(t, t->largest_ratio);
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

double cs_optcc_march_s(const cs_optcc_lengths *lengths, const cs_optcc_shape *shape)
{
    march w = {.shape = shape, .section_s = lengths->section_s, .alpha_s = lengths->port_s};

    if (lengths->copies > 1 || lengths->beyond_s > 0 || lengths->gap_s > 0 ||
        shape->H > MARCH_NODES || shape->m > MARCH_SLOW ||
        cs_optcc_messages(shape) > CS_OPTCC_MAX_MARCH) {
        return (double)NAN;
    }
    for (uint32_t i = 0; i < shape->m; i++) {
        w.slots[i] = lengths->slow_ratio[i] * w.section_s + w.alpha_s;
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
