/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/turns.h -- when the edges of trees carry their chunks.
 *
 * Time is cut in turns. A way is one direction of an edge and carries a chunk in each turn: chunk
 * v - lag in turn v. What it needs has moved in a turn before, or stands before it in the same one.
 *
 *   shared   All that a turn needs has moved in turns before: a way that is d edges behind the
 *            first one has the lag d. For models in which the messages of a port are under way at
 *            once.
 *   served   Chunks pass several edges in a turn, for ports that serve one message after the other.
 *            Ways take places in the turn one by one, those with the most edges behind them first:
 *            each the first place, from the end of what it needs on, at which both its ports are
 *            free in every turn (modulo scheduling).
 *
 * Source: B. R. Rau, "Iterative modulo scheduling", MICRO 1994, without its iteration.
 */
#ifndef CS_ALGORITHMS_ADAPCC_TURNS_H
#define CS_ALGORITHMS_ADAPCC_TURNS_H

#include "algorithms/adapcc/cost.h"

typedef struct cs_turn_way {
    uint32_t src, dst;
    uint32_t part;     /* whose chunks it carries */
    uint32_t level;    /* edges before it, on its longest way: less than its successors' */
    uint32_t lag;      /* turns until its first chunk; set */
    uint32_t number;   /* its index at first */
    double   place;    /* in the turn: those before it stand before it; set */
    double   bytes;    /* of a chunk */
    uint16_t src_slot; /* at which its ends keep the chunks that they have in work, .. */
    uint16_t dst_slot; /* .. a window of slots from here on */
    uint8_t  flags;    /* CS_SHARED is set where one of its ports has other ways in a turn */
    uint8_t  op_fabric;
} cs_turn_way;

/* Give each way its lag, its place and CS_SHARED. Ways are numbered, parts are below n_parts and
 * have up to n_chunks chunks.
 * O(ways x ways of a port) at worst. CS_ENOMEM alone. */
CS_MUST_CHECK cs_status cs_turns_plan(cs_turn_way *ways, size_t n_ways, size_t n_parts,
                                      uint64_t n_chunks, const cs_logical *logical, bool are_shared,
                                      cs_error *err);

/* As cs_cost_s(), but TURNS of a topology whose transfers hold both ports: when the last chunk is
 * there by the places of `served`, without exchanges. O(edges of trees) a chunk and try then, of
 * some dozens. CS_ENOMEM alone. */
CS_MUST_CHECK cs_status cs_turns_cost_s(cs_cost *cost, const cs_logical *logical,
                                        const cs_strategy *strategy, cs_collective collective,
                                        cs_cost_model model, double *cost_s_p, cs_error *err);

/* The order of the shared kind alone: of two ways at one port, the one that was added first has the
 * smaller colour, and a way has the smallest one that neither of its ports has given away. */
#define CS_PALETTE_COLOURS 64u

/* Colours that a port has given away; `{0}`: none. */
typedef struct cs_palette {
    uint64_t used;
    uint32_t next; /* from CS_PALETTE_COLOURS on */
} cs_palette;

static inline uint32_t cs_palette_take(cs_palette *out, cs_palette *in)
{
    uint64_t is_free = ~(out->used | in->used);
    uint32_t colour  = 0;

    if (is_free != 0) {
        while ((is_free >> colour & 1u) == 0) {
            colour++;
        }
        out->used |= (uint64_t)1 << colour;
        in->used |= (uint64_t)1 << colour;
        return colour;
    }
    colour    = out->next > in->next ? out->next : in->next;
    out->next = in->next = colour + 1;
    return colour + CS_PALETTE_COLOURS;
}

#endif
