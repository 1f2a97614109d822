/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/pieces.h -- a growing list of pieces of a job's time. */
#ifndef CS_WHATIF_PIECES_H
#define CS_WHATIF_PIECES_H

#include "whatif/whatif.h"

typedef struct cs_pieces {
    cs_arena *arena;
    cs_piece *list; /* in the arena */
    size_t    n, room;
    double    horizon_s;
    bool      failed; /* out of memory */
} cs_pieces;

/* Add a piece behind the last one. What lies behind the horizon is cut off, iterations in
 * proportion. A piece that goes on at the same rate makes the last one longer. */
void cs_pieces_add(cs_pieces *pieces, const cs_piece *piece);

#endif
