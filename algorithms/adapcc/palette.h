/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/palette.h -- the order in which edges that share ports take turns: of two edges
 * at one port, the one that was added first has the smaller colour, and an edge has the smallest
 * one that neither of its ports has given away. */
#ifndef CS_ALGORITHMS_ADAPCC_PALETTE_H
#define CS_ALGORITHMS_ADAPCC_PALETTE_H

#include <stdint.h>

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
