/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/optcc/optcc_parts.h -- the transfers that an OptCC message or NVLink phase is made
 * of.
 *
 * Each function appends to the block what one cycle of the copy that is being served (`now`) does
 * at its position, or nothing where the section does not exist; at most CS_OPTCC_MOST_PARTS
 * transfers, for which the caller has made room. When and in which order is optcc_stream.c's.
 *
 * Slots of a rank, for one copy: train d keeps its S1 in d and its S4 in H - 1 + d; behind them the
 * two sections that a node owns in turn, the special section, a final to be distributed, two
 * blocks, the two sections that a slow server collects in turn, and what nobody reads again.
 */
#ifndef CS_ALGORITHMS_OPTCC_OPTCC_PARTS_H
#define CS_ALGORITHMS_OPTCC_OPTCC_PARTS_H

#include "algorithms/optcc/optcc_stream.h"

enum {
    CS_OPTCC_OWNED       = 0,
    CS_OPTCC_SPECIAL     = 2,
    CS_OPTCC_FINAL       = 3,
    CS_OPTCC_BLOCK       = 4,
    CS_OPTCC_SLOW        = 6,
    CS_OPTCC_UNREAD      = 8,
    CS_OPTCC_EXTRA_SLOTS = 9,
    CS_OPTCC_MOST_PARTS  = 3
};

static inline uint32_t cs_optcc_slot_base(const cs_optcc_stream *s)
{
    return s->copy * (2 * (s->shape.H - 1) + CS_OPTCC_EXTRA_SLOTS);
}

static inline uint32_t cs_optcc_extra_slot(const cs_optcc_stream *s, uint32_t which)
{
    return cs_optcc_slot_base(s) + 2 * (s->shape.H - 1) + which;
}

static inline uint32_t cs_optcc_owned_slot(const cs_optcc_stream *s, int64_t section)
{
    return cs_optcc_extra_slot(s,
                               CS_OPTCC_OWNED + (uint32_t)(cs_floor_div(section, s->shape.H) & 1));
}

static inline uint32_t cs_optcc_slow_slot(const cs_optcc_stream *s, int64_t section)
{
    return cs_optcc_extra_slot(s, CS_OPTCC_SLOW + (uint32_t)(section & 1));
}

/* The server whose turn it is at a position. */
static inline uint32_t cs_optcc_node(const cs_optcc_stream *s, int64_t position)
{
    return s->healthy[cs_floor_mod(position, s->shape.H)];
}

/* The section whose S4 train d carries at a position. */
static inline int64_t cs_optcc_final_on_train(const cs_optcc_stream *s, int64_t position,
                                              uint32_t d)
{
    return position - cs_floor_mod(position - d, (int64_t)s->shape.H - 1);
}

/* Item `k` of a collect phase at a server: GPU k mod g sends its contribution to a leader.
 * `begins`: the leader's slot has no value of the section yet. */
void cs_optcc_add_collect(cs_optcc_stream *s, cs_block *block, uint32_t server, int64_t section,
                          uint32_t k, uint32_t slot, bool begins);

/* Item `k` of a distribute phase: leader k mod g sends a final to another GPU of its server. */
void cs_optcc_add_distribute(cs_optcc_stream *s, cs_block *block, uint32_t server, int64_t section,
                             uint32_t k, uint32_t slot);

/* Train d of one cycle: S1 and S4 in one message, on the last train S4 of the special one. */
void cs_optcc_add_train(cs_optcc_stream *s, cs_block *block, uint32_t d, uint32_t cycle);

/* S2: the final of section P to slow server i, and its share of a block. */
void cs_optcc_add_upload(cs_optcc_stream *s, cs_block *block, uint32_t i, uint32_t cycle);

/* S3: the contribution of slow server i to section P + H + 1, the special section's final, a
 * block's final. */
void cs_optcc_add_download(cs_optcc_stream *s, cs_block *block, uint32_t i, uint32_t cycle);

#endif
