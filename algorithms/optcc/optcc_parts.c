/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The transfers of OptCC's messages: see optcc_parts.h. */
#include "algorithms/optcc/optcc_parts.h"

static bool exists(const cs_optcc_stream *s, int64_t section)
{
    return section >= s->shape.first && section <= s->shape.last;
}

static uint32_t chunk_of(const cs_optcc_stream *s, int64_t section)
{
    return (uint32_t)(section - s->shape.first + s->shape.has_special);
}

/* What one part of a message says. `chunk` counts within a cycle. */
typedef struct part {
    uint32_t src, dst, cycle, chunk;
    cs_op    op;
    uint32_t flags, src_slot, dst_slot;
} part;

/* Bytes of a chunk of part `which` of the buffer. */
static uint64_t chunk_bytes(const cs_optcc_stream *s, uint32_t which, uint32_t chunk)
{
    uint64_t share = s->share + (which < s->larger_shares);

    if (s->is_even) {
        uint64_t extra = share == s->share ? s->larger_chunks : s->larger_chunks_of_larger;
        return (share == s->share ? s->chunk_bytes : s->chunk_bytes_of_larger) + (chunk < extra);
    }
    return cs_optcc_offset(&s->shape, share, chunk + 1) - cs_optcc_offset(&s->shape, share, chunk);
}

static void add(cs_optcc_stream *s, cs_block *block, part what)
{
    uint32_t which = s->copy * s->gpus + what.cycle;

    block->transfers[block->count++] = (cs_transfer){
        .src       = what.src,
        .dst       = what.dst,
        .chunk     = which * s->shape.n_chunks + what.chunk,
        .src_slot  = (uint16_t)what.src_slot,
        .dst_slot  = (uint16_t)what.dst_slot,
        .bytes     = chunk_bytes(s, which, what.chunk),
        .round     = s->round,
        .span      = 1,
        .flags     = (uint8_t)what.flags,
        .op_fabric = cs_op_fabric(what.op, cs_fabric_of(s->cluster, what.src, what.dst))};
}

void cs_optcc_add_collect(cs_optcc_stream *s, cs_block *block, uint32_t server, int64_t section,
                          uint32_t k, uint32_t slot, bool begins)
{
    uint32_t g = s->gpus, turn = k / g + 1, a = k % g, c = (a + turn) % g;

    if (!exists(s, section)) {
        return;
    }
    add(s, block,
        (part){.src      = server * g + a,
               .dst      = server * g + c,
               .cycle    = c,
               .chunk    = chunk_of(s, section),
               .op       = CS_OP_REDUCE,
               .flags    = CS_OWN_SRC | (begins && turn == 1 ? CS_OWN_DST : 0),
               .src_slot = slot,
               .dst_slot = slot});
}

void cs_optcc_add_distribute(cs_optcc_stream *s, cs_block *block, uint32_t server, int64_t section,
                             uint32_t k, uint32_t slot)
{
    uint32_t g = s->gpus, turn = k / g + 1, c = k % g;

    if (!exists(s, section)) {
        return;
    }
    add(s, block,
        (part){.src      = server * g + c,
               .dst      = server * g + (c + turn) % g,
               .cycle    = c,
               .chunk    = chunk_of(s, section),
               .op       = CS_OP_COPY,
               .flags    = CS_DONE_DST,
               .src_slot = slot,
               .dst_slot = cs_optcc_extra_slot(s, CS_OPTCC_UNREAD)});
}

/* S1: the partial sum of section j on its way to its owner (or of the special one to node 0). */
static void add_s1(cs_optcc_stream *s, cs_block *block, uint32_t d, int64_t j, part what)
{
    int64_t P          = s->now->position;
    bool    is_special = s->shape.has_special && j == s->shape.special;
    bool    is_first   = P == j - (int64_t)s->shape.H + 1;
    bool    is_last    = P == j - 1;

    what.op       = CS_OP_REDUCE;
    what.chunk    = is_special ? 0 : chunk_of(s, j);
    what.flags    = is_first && s->gpus == 1 ? CS_OWN_SRC : 0;
    what.src_slot = what.dst_slot = cs_optcc_slot_base(s) + d;
    if (!is_last || is_special) {
        what.flags |= CS_OWN_DST;
    }
    if (is_last) {
        what.flags |= is_special ? 0 : CS_DONE_DST;
        what.dst_slot =
            is_special ? cs_optcc_extra_slot(s, CS_OPTCC_SPECIAL) : cs_optcc_owned_slot(s, j);
    }
    add(s, block, what);
}

void cs_optcc_add_train(cs_optcc_stream *s, cs_block *block, uint32_t d, uint32_t cycle)
{
    const cs_optcc_shape *shape = &s->shape;
    int64_t               P     = s->now->position;
    int64_t               j4 = cs_optcc_final_on_train(s, P, d), j1 = j4 + (int64_t)shape->H - 1;
    part                  what  = {.src   = cs_optcc_node(s, P) * s->gpus + cycle,
                                   .dst   = cs_optcc_node(s, P + 1) * s->gpus + cycle,
                                   .cycle = cycle,
                                   .op    = CS_OP_COPY};
    uint32_t              joins = 0;

    if (exists(s, j1) || (shape->has_special && j1 == shape->special)) {
        add_s1(s, block, d, j1, what);
        joins = CS_JOIN;
    }
    if (exists(s, j4)) {
        what.chunk    = chunk_of(s, j4);
        what.flags    = joins | CS_DONE_DST;
        what.dst_slot = cs_optcc_slot_base(s) + shape->H - 1 + d;
        what.src_slot = P == j4 ? cs_optcc_owned_slot(s, j4) : what.dst_slot;
        add(s, block, what);
        joins = CS_JOIN;
    }
    int64_t hop = P - (shape->special_down + (int64_t)shape->H + 1);
    if (shape->has_special && d == shape->H - 2 && hop >= 0 && hop <= (int64_t)shape->H - 2) {
        what.chunk    = 0;
        what.flags    = joins | CS_DONE_DST;
        what.src_slot = what.dst_slot = cs_optcc_extra_slot(s, CS_OPTCC_SPECIAL);
        add(s, block, what);
    }
}

/* Bubbles: which block goes up (`lag` 0) or comes down (`lag` H) in this slot, or -1. */
static int64_t block_at(const cs_optcc_stream *s, uint32_t lag)
{
    int64_t b = cs_floor_div(s->now->position - s->shape.block_from - lag, s->shape.H);
    return s->shape.has_bubbles && b >= 0 && b < (int64_t)s->shape.n_blocks ? b : -1;
}

void cs_optcc_add_upload(cs_optcc_stream *s, cs_block *block, uint32_t i, uint32_t cycle)
{
    const cs_optcc_shape *shape = &s->shape;
    int64_t               P = s->now->position, b = block_at(s, 0);
    part                  what  = {.src   = cs_optcc_node(s, P) * s->gpus + cycle,
                                   .dst   = s->slow[i] * s->gpus + cycle,
                                   .cycle = cycle};
    uint32_t              joins = 0;

    if (exists(s, P)) {
        what.chunk = chunk_of(s, P), what.op = CS_OP_COPY, what.flags = CS_DONE_DST;
        what.src_slot = cs_optcc_owned_slot(s, P),
        what.dst_slot = cs_optcc_extra_slot(s, CS_OPTCC_FINAL);
        add(s, block, what);
        joins = CS_JOIN;
    }
    if (shape->has_special && P == shape->special) {
        what.chunk = 0, what.op = CS_OP_REDUCE;
        what.flags    = joins | CS_OWN_DST | CS_DONE_DST;
        what.src_slot = what.dst_slot = cs_optcc_extra_slot(s, CS_OPTCC_SPECIAL);
        add(s, block, what);
        joins = CS_JOIN;
    }
    if (b >= 0) {
        int64_t turn = cs_floor_mod(P - shape->block_from, shape->H);
        what.chunk = shape->n_sections + (uint32_t)b, what.op = CS_OP_REDUCE;
        what.flags = joins | CS_OWN_SRC | (turn == 0 ? CS_OWN_DST : 0);
        what.flags |= turn == (int64_t)shape->H - 1 ? CS_DONE_DST : 0;
        what.src_slot = what.dst_slot = cs_optcc_extra_slot(s, CS_OPTCC_BLOCK + (uint32_t)(b & 1));
        add(s, block, what);
    }
}

void cs_optcc_add_download(cs_optcc_stream *s, cs_block *block, uint32_t i, uint32_t cycle)
{
    const cs_optcc_shape *shape = &s->shape;
    int64_t  P = s->now->position, j = P + (int64_t)shape->H + 1, b = block_at(s, shape->H);
    part     what  = {.src   = s->slow[i] * s->gpus + cycle,
                      .dst   = cs_optcc_node(s, P + 1) * s->gpus + cycle,
                      .cycle = cycle};
    uint32_t joins = 0;

    if (exists(s, j)) {
        what.chunk = chunk_of(s, j), what.op = CS_OP_REDUCE;
        what.flags    = (s->gpus == 1 ? CS_OWN_SRC : 0) | (i == 0 ? CS_OWN_DST : 0);
        what.src_slot = cs_optcc_slow_slot(s, j), what.dst_slot = cs_optcc_owned_slot(s, j);
        add(s, block, what);
        joins = CS_JOIN;
    }
    if (shape->has_special && P == shape->special_down) {
        what.chunk = 0, what.op = CS_OP_COPY, what.flags = joins | CS_DONE_DST;
        what.src_slot = what.dst_slot = cs_optcc_extra_slot(s, CS_OPTCC_SPECIAL);
        add(s, block, what);
        joins = CS_JOIN;
    }
    if (b >= 0) {
        what.chunk = shape->n_sections + (uint32_t)b, what.op = CS_OP_COPY;
        what.flags    = joins | CS_DONE_DST;
        what.src_slot = cs_optcc_extra_slot(s, CS_OPTCC_BLOCK + (uint32_t)(b & 1));
        what.dst_slot = cs_optcc_extra_slot(s, CS_OPTCC_FINAL);
        add(s, block, what);
    }
}
