/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/lib/circulant.h"

enum { MOST_PARTS = 3 };

/* What all messages of a step have in common. */
typedef struct stage {
    uint32_t distance; /* from the sender to the receiver, in positions */
    uint32_t width;    /* blocks of a message */
    uint32_t own_src;  /* CS_OWN_SRC where everything that leaves is the sender's own */
    bool     ends_own; /* the last block of a message is the sender's own */
    uint32_t flags;    /* of all parts */
    uint32_t round;
    cs_op    op;
    uint64_t chunk_bytes; /* of all but the first n_larger chunks, which have a byte more */
    uint32_t n_larger;
} stage;

/* Where a message goes. */
typedef struct way {
    uint32_t src, dst;
    uint32_t fabric;
    uint32_t joins; /* CS_JOIN behind the first part */
} way;

uint32_t cs_circulant_steps(uint32_t m)
{
    return cs_log2_ceil(m);
}

uint32_t cs_circulant_skip(uint32_t m, uint32_t k)
{
    return (uint32_t)(((uint64_t)m + ((uint64_t)1 << k) - 1) >> k);
}

/* Blocks that a message of step k carries. */
static uint32_t width_of(uint32_t m, uint32_t k)
{
    return cs_circulant_skip(m, k - 1) - cs_circulant_skip(m, k);
}

double cs_circulant_s(uint32_t m, uint64_t bytes, const cs_pace *pace)
{
    double time_s = 0;

    for (uint32_t k = 1; k <= cs_circulant_steps(m); k++) {
        uint64_t sent = bytes / m * width_of(m, k);
        time_s += pace->alpha_s + (double)sent * pace->s_per_byte;
    }
    return time_s;
}

static stage stage_of(const cs_circulant *c)
{
    uint32_t q = cs_circulant_steps(c->m), k = c->gathers ? q - c->step : c->step + 1;
    bool     is_own = !c->gathers && !c->has_own;
    stage    s      = {.distance    = cs_circulant_skip(c->m, k),
                       .width       = width_of(c->m, k),
                       .round       = c->first_round + c->step,
                       .op          = c->gathers ? CS_OP_COPY : CS_OP_REDUCE,
                       .chunk_bytes = c->bytes / c->n_chunks,
                       .n_larger    = (uint32_t)(c->bytes % c->n_chunks)};

    if (is_own && k == 1) {
        s.own_src = CS_OWN_SRC;
        s.flags   = CS_OWN_DST;
    }
    /* Step 1 leaves one of the remaining blocks as it was where m is odd: the last one that goes in
     * step 2. */
    s.ends_own = is_own && k == 2 && c->m % 2 == 1;
    if (c->is_final && (c->gathers || k == q)) {
        s.flags |= CS_DONE_DST;
    }
    return s;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t rank_at(const cs_circulant *c, uint32_t position)
{
    uint32_t index = c->group * c->m + position;
    return c->ranks != NULL ? c->ranks[index] : index + (index >= c->skip);
}

/* The first chunk of a block; block m is the end. */
static uint32_t chunk_of(const cs_circulant *c, uint32_t block)
{
    if (c->n_chunks == c->m) {
        return block;
    }
    if (c->is_spread) {
        return (uint32_t)(((uint64_t)block * c->n_chunks + c->m - 1) / c->m);
    }
    uint32_t larger = c->n_chunks % c->m;
    return block * (c->n_chunks / c->m) + smaller(block, larger);
}

/* Chunks [first, end) as one part of the message, if there are any. */
static void add_part(const cs_circulant *c, const stage *s, way *w, uint32_t own_src,
                     uint32_t first, uint32_t end, cs_block *block)
{
    uint32_t span = end - first, slot = c->first_slot + first;
    uint32_t larger = smaller(end, s->n_larger) - smaller(first, s->n_larger);

    if (span == 0) {
        return;
    }
    const cs_transfer model = {.round     = s->round,
                               .span      = (uint16_t)span,
                               .flags     = (uint8_t)(s->flags | own_src | w->joins),
                               .op_fabric = cs_op_fabric(s->op, w->fabric)};
    cs_transfer_put(&block->transfers[block->count++], w->src, w->dst, first, cs_slots(slot, slot),
                    s->chunk_bytes * span + larger, cs_tail_of(&model));
    w->joins = CS_JOIN;
}

/* Blocks [first, first + width) modulo m. */
static void add_blocks(const cs_circulant *c, const stage *s, way *w, uint32_t own_src,
                       uint32_t first, uint32_t width, cs_block *block)
{
    uint32_t end = first + width, m = c->m;

    add_part(c, s, w, own_src, chunk_of(c, first), chunk_of(c, smaller(end, m)), block);
    if (end > m) {
        add_part(c, s, w, own_src, 0, chunk_of(c, end - m), block);
    }
}

/* What the current position sends: from its own block on when it gathers, else from the
 * receiver's. */
static void add_message(const cs_circulant *c, const stage *s, cs_block *block)
{
    uint32_t m = c->m, here = c->position;
    uint32_t ahead = c->gathers ? here + m - s->distance : here + s->distance;
    uint32_t there = ahead < m ? ahead : ahead - m, first = c->gathers ? here : there;
    way      w = {.src = rank_at(c, here), .dst = rank_at(c, there)};

    w.fabric = cs_fabric_of(c->cluster, w.src, w.dst);
    add_blocks(c, s, &w, s->own_src, first, s->width - s->ends_own, block);
    if (s->ends_own) {
        uint32_t last = first + s->width - 1;
        add_blocks(c, s, &w, CS_OWN_SRC, last < m ? last : last - m, 1, block);
    }
}

/* To the next position, group, step; true where a step ends. */
static bool move_on(cs_circulant *c)
{
    if (++c->position < c->m) {
        return false;
    }
    c->position = 0;
    if (++c->group < c->n_groups) {
        return false;
    }
    c->group = 0;
    c->step++;
    return true;
}

bool cs_circulant_next(cs_circulant *circulant, cs_block *block)
{
    uint32_t end = cs_circulant_steps(circulant->m);

    if (circulant->step == end) {
        return false;
    }
    while (circulant->step < end && block->count + MOST_PARTS <= block->capacity) {
        stage s = stage_of(circulant);
        do {
            add_message(circulant, &s, block);
        } while (!move_on(circulant) && block->count + MOST_PARTS <= block->capacity);
    }
    return true;
}

void cs_circulant_turn(cs_circulant *circulant)
{
    circulant->first_round += circulant->step;
    circulant->step    = 0;
    circulant->gathers = true;
}
