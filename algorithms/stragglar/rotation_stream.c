/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steady state: see rotation_stream.h. */
#include "algorithms/stragglar/rotation_stream.h"

#include "algorithms/lib/accept.h"

uint32_t cs_rotation_depth(uint32_t n)
{
    return cs_log2_ceil(n) + 2;
}

cs_status cs_rotation_stream_start(cs_rotation_stream *stream, const cs_late_layout *layout,
                                   const cs_rotation *rotation, uint32_t first_round,
                                   double barrier_s, cs_arena *arena, cs_error *err)
{
    uint32_t early = layout->early;

    *stream =
        (cs_rotation_stream){.layout = layout, .barrier_s = barrier_s, .first_round = first_round};
    stream->roles = CS_ARENA_NEW(arena, cs_rotation_role, early);
    if (stream->roles == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for %u roles", early);
    }
    for (uint32_t p = 1; p < early; p++) {
        uint32_t from = rotation->from[p], age = rotation->age[p];
        /* The owner of the chunk of age a is role -a. */
        bool is_owner    = (from + age) % early == 0;
        stream->roles[p] = (cs_rotation_role){from, 2 * age - is_owner};
    }
    return CS_OK;
}

void cs_late_add_fabrics(const cs_cluster *cluster, cs_transfer *transfers, size_t count)
{
    for (size_t i = 0; cluster->gpus_per_server > 1 && i < count; i++) {
        cs_transfer *t = &transfers[i];
        t->op_fabric   = cs_op_fabric(cs_transfer_op(t), cs_fabric_of(cluster, t->src, t->dst));
    }
}

/* Chunk `round` enters. */
static void add_chunk(cs_rotation_stream *s)
{
    const cs_late_layout *l  = s->layout;
    uint32_t              id = cs_late_id(l, s->round), slot = s->turn;
    uint64_t              bytes = cs_split(l->scenario->bytes, l->chunks, id);
    cs_rotation_chunk    *at = &s->chunks[2 * (size_t)slot], *again = at + 2 * (size_t)l->depth;

    at[0] = again[0] = (cs_rotation_chunk){id, cs_slots(slot, slot), bytes};
    at[1] = again[1] = (cs_rotation_chunk){id, cs_slots(cs_late_home(l, s->round), slot), bytes};
}

/* The owner of chunk `round` and the late rank exchange it. */
static void add_exchange(cs_rotation_stream *s, cs_block *block)
{
    const cs_late_layout *l       = s->layout;
    const cs_cluster     *cluster = &l->scenario->cluster;
    uint32_t              owner   = cs_late_rank(l, s->owner);
    uint32_t              own     = l->early == 1 ? CS_OWN_SRC | CS_OWN_DST : CS_OWN_DST;

    add_chunk(s);
    const cs_rotation_chunk *chunk   = &s->chunks[2 * (size_t)s->turn];
    block->transfers[block->count++] = (cs_transfer){
        .src       = owner,
        .dst       = l->late,
        .chunk     = chunk->id,
        .src_slot  = (uint16_t)cs_late_home(l, s->round),
        .dst_slot  = (uint16_t)s->turn,
        .bytes     = chunk->bytes,
        .round     = s->first_round + s->round,
        .span      = 1,
        .flags     = (uint8_t)(own | CS_DONE_SRC | CS_DONE_DST),
        .op_fabric = cs_op_fabric(CS_OP_EXCHANGE, cs_fabric_of(cluster, owner, l->late))};
    if (s->round == 0) {
        cs_late_fence(block, CS_FENCE_ALL, s->barrier_s);
    }
    s->next_role = 1;
}

/* What the roles [first, end) receive in the current round; returns the number of transfers. The
 * chunks of the first rounds that do not exist yet are left out. */
static size_t emit_roles(const cs_rotation_stream *s, cs_transfer *out, uint32_t first,
                         uint32_t end)
{
    const cs_transfer        model  = {.round     = s->first_round + s->round,
                                       .span      = 1,
                                       .flags     = CS_DONE_DST,
                                       .op_fabric = CS_OP_COPY};
    const cs_rotation_role  *roles  = s->roles;
    const cs_rotation_chunk *newest = &s->chunks[2 * (size_t)(s->turn + s->layout->depth)];
    uint64_t                 tail   = cs_tail_of(&model);
    uint32_t                 early = s->layout->early, late = s->layout->late, owner = s->owner;
    uint32_t                 youth = 2 * s->round;
    size_t                   count = 0;

    for (uint32_t p = first; p < end; p++) {
        cs_rotation_role         what  = roles[p];
        const cs_rotation_chunk *chunk = newest - what.back;
        uint32_t                 src = owner + what.from, dst = owner + p;
        src -= src >= early ? early : 0;
        dst -= dst >= early ? early : 0;
        cs_transfer_put(&out[count], src + (src >= late), dst + (dst >= late), chunk->id,
                        chunk->slots, chunk->bytes, tail);
        count += youth >= what.back;
    }
    return count;
}

static void end_round(cs_rotation_stream *s)
{
    s->next_role = 0;
    s->round++;
    s->owner = s->owner + 1 == s->layout->early ? 0 : s->owner + 1;
    s->turn  = s->turn + 1 == s->layout->depth ? 0 : s->turn + 1;
}

bool cs_rotation_stream_next(cs_rotation_stream *stream, cs_block *block)
{
    cs_rotation_stream *s     = stream;
    uint32_t            early = s->layout->early;

    while (s->round < s->layout->chunks && block->count < block->capacity) {
        if (s->next_role == 0) {
            add_exchange(s, block);
        }
        size_t       room = block->capacity - block->count, left = early - s->next_role;
        uint32_t     end = s->next_role + (uint32_t)(left < room ? left : room);
        cs_transfer *out = block->transfers + block->count;
        size_t       got = emit_roles(s, out, s->next_role, end);
        cs_late_add_fabrics(&s->layout->scenario->cluster, out, got);
        block->count += got;
        s->next_role = end;
        if (end >= early) {
            end_round(s);
        }
    }
    return block->count > 0;
}
