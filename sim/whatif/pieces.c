/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces of time: see whatif/pieces.h. */
#include "whatif/pieces.h"

#include <math.h>
#include <string.h>

#define SAME_RATE 1e-9 /* relative: one rate, reached by other sums */

/* Do the iterations of both pieces take equally long? */
static bool goes_on(const cs_piece *a, const cs_piece *b)
{
    double left  = (a->until_s - a->from_s) * b->iterations;
    double right = (b->until_s - b->from_s) * a->iterations;

    return a->kind == b->kind && a->excluded == b->excluded && a->held_s == 0 && b->held_s == 0 &&
           a->iterations > 0 && b->iterations > 0 &&
           fabs(left - right) <= SAME_RATE * fmax(left, right);
}

static bool grow(cs_pieces *pieces)
{
    size_t    room = pieces->room > 0 ? 2 * pieces->room : 16;
    cs_piece *list = CS_ARENA_NEW(pieces->arena, cs_piece, room);

    if (list == NULL) {
        pieces->failed = true;
        return false;
    }
    if (pieces->n > 0 && pieces->list != NULL) {
        memcpy(list, pieces->list, pieces->n * sizeof *list);
    }
    pieces->list = list;
    pieces->room = room;
    return true;
}

/* Cut off what lies behind the horizon. */
static cs_piece cut(const cs_piece *piece, double horizon_s)
{
    cs_piece c = *piece;

    if (c.until_s > horizon_s) {
        double part = isinf(c.until_s) ? 0 : (horizon_s - c.from_s) / (c.until_s - c.from_s);
        c.iterations *= part;
        c.held_s  = fmin(c.held_s, horizon_s - c.from_s);
        c.until_s = horizon_s;
    }
    return c;
}

void cs_pieces_add(cs_pieces *pieces, const cs_piece *piece)
{
    cs_piece c = cut(piece, pieces->horizon_s);

    if (pieces->failed || (!(c.until_s > c.from_s) && !(c.iterations > 0))) {
        return;
    }
    cs_piece *last = pieces->n > 0 ? &pieces->list[pieces->n - 1] : NULL;
    if (last != NULL && goes_on(last, &c)) {
        last->until_s = c.until_s;
        last->iterations += c.iterations;
    } else if ((pieces->list != NULL && pieces->n < pieces->room) || grow(pieces)) {
        pieces->list[pieces->n++] = c;
    }
}
