/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rest's stream is a row of *phases*. Phase i adds up a block of every rail of every server, or
 * hands out what step i - 2 of the rings has completed; behind it stands step i - 1. A phase is
 * made in pieces of one slot each (a shift in all servers). */
#include "algorithms/stragglar/sharing.h"

#include "algorithms/lib/accept.h"
#include "base/alloc.h"
#include "base/arena.h"

#include <math.h>

#define NONE UINT32_MAX

struct cs_sharing {
    cs_sharing_shape  shape;
    cs_sharing_main   main;
    const cs_cluster *cluster;
    uint64_t          bytes; /* of the rest */
    cs_arena          arena;
    uint32_t          n, m, l;                              /* N, M = N - 1, L */
    uint32_t          n_blocks, n_steps;                    /* of a rail: K N, 2 K M */
    uint32_t          first_chunk, first_slot, first_round; /* of the rest */
    uint32_t         *first; /* [N] first rank of the server with a label */
    bool              is_main_over;
    uint32_t          raws;        /* that r has yet to give to its mates in the main phase */
    uint32_t          phase, slot; /* what comes next */
    cs_block          piece;       /* of which `taken` are given */
    size_t            taken;
};

/* ---- shape ---- */

static uint32_t servers_of(const cs_cluster *cluster, const cs_sharing_shape *shape)
{
    return shape->is_flat ? cluster->n_ranks : cs_n_servers(cluster);
}

static uint32_t locals_of(const cs_cluster *cluster, const cs_sharing_shape *shape)
{
    return shape->is_flat ? 1 : cluster->gpus_per_server;
}

/* Phases behind phase 0; the last one hands out the last block. */
static uint32_t phases_of(uint32_t steps, uint32_t locals)
{
    return steps + (locals > 1 ? 1 : 0);
}

cs_status cs_sharing_plan(const cs_scenario *scenario, const cs_sharing_shape *shape,
                          const cs_plan *main, cs_plan *plan, cs_error *err)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          n = servers_of(c, shape), l = locals_of(c, shape);
    uint64_t          blocks = (uint64_t)n * shape->segments;
    uint64_t          slots  = main->n_slots + blocks + (l > 1 ? 1 : 0);

    CS_TRY(cs_accept_slots(scenario, "stragglar", slots, err));
    *plan = (cs_plan){.n_chunks      = main->n_chunks + l * (uint32_t)blocks,
                      .n_slots       = (uint32_t)slots,
                      .n_rounds      = main->n_rounds + phases_of(2 * (n - 1) * shape->segments, l),
                      .uses          = main->uses | cs_uses_nvlink(c),
                      .chunks_differ = true};
    return CS_OK;
}

double cs_sharing_rest_s(const cs_servers_pace *p, const cs_sharing_shape *shape)
{
    double blocks = (double)p->servers * shape->segments;
    double bytes  = (p->bytes - (double)shape->main_bytes) / p->locals / blocks;
    double step   = p->nic_alpha_s + bytes * p->nic_s_per_byte;
    double slots  = p->is_mesh ? 1 : p->locals - 1;
    double pass   = slots * (p->nvlink_alpha_s + bytes * p->nvlink_s_per_byte);

    return fmax(2 * (blocks - shape->segments) * step, 2 * blocks * pass) + 2 * pass;
}

/* ---- transfers ---- */

static uint32_t turned(uint32_t label, uint32_t back, uint32_t modulus)
{
    return label >= back ? label - back : label + modulus - back;
}

/* Block b < K N of a rail, and how it travels. */
typedef struct parcel {
    uint32_t rail, b;
    cs_op    op;
    uint32_t dst_slot, flags;
} parcel;

static uint32_t slot_of(const cs_sharing *s, uint32_t b)
{
    return s->first_slot + b;
}

/* From GPU p of server v to GPU q of server w. */
static void add(cs_sharing *s, uint32_t v, uint32_t p, uint32_t w, uint32_t q, const parcel *what)
{
    uint32_t src = s->first[v] + p, dst = s->first[w] + q;

    s->piece.transfers[s->piece.count++] =
        (cs_transfer){.src      = src,
                      .dst      = dst,
                      .chunk    = s->first_chunk + what->rail * s->n_blocks + what->b,
                      .src_slot = (uint16_t)slot_of(s, what->b),
                      .dst_slot = (uint16_t)what->dst_slot,
                      .bytes = cs_split(cs_split(s->bytes, s->l, what->rail), s->n_blocks, what->b),
                      .round = s->first_round + (s->phase > 0 ? s->phase - 1 : 0),
                      .span  = 1,
                      .flags = (uint8_t)what->flags,
                      .op_fabric = cs_op_fabric(what->op, cs_fabric_of(s->cluster, src, dst))};
}

/* In every server, from all its GPUs to those `shift` further: contributions to the blocks that the
 * servers pass on in step `step` of segment k. */
static void add_sums(cs_sharing *s, uint32_t k, uint32_t step, uint32_t shift)
{
    for (uint32_t v = 0; v < s->n; v++) {
        uint32_t b = k * s->n + turned(v, step + 1, s->n);
        for (uint32_t p = 0; p < s->l; p++) {
            uint32_t     q    = p + shift < s->l ? p + shift : p + shift - s->l;
            const parcel what = {q, b, CS_OP_REDUCE, slot_of(s, b),
                                 CS_OWN_SRC | (shift == 1 ? CS_OWN_DST : 0)};
            add(s, v, p, v, q, &what);
        }
    }
}

/* The same way: blocks that step `step` of segment k has completed. */
static void add_finals(cs_sharing *s, uint32_t k, uint32_t step, uint32_t shift)
{
    for (uint32_t v = 0; v < s->n; v++) {
        uint32_t b = k * s->n + turned(v, step + 1 - s->m, s->n);
        for (uint32_t p = 0; p < s->l; p++) {
            const parcel what = {p, b, CS_OP_COPY, slot_of(s, s->n_blocks), CS_DONE_DST};
            add(s, v, p, v, p + shift < s->l ? p + shift : p + shift - s->l, &what);
        }
    }
}

/* On all rails, from every server to the next: step `step` of segment k, adding or copying. */
static void add_step(cs_sharing *s, uint32_t k, uint32_t step)
{
    bool     adds  = step < s->m;
    uint32_t flags = step + 1 >= s->m ? CS_DONE_DST : 0;

    if (s->l == 1) { /* nothing has been added up */
        flags |= (adds ? CS_OWN_DST : 0) | (step == 0 ? CS_OWN_SRC : 0);
    }
    for (uint32_t v = 0; v < s->n; v++) {
        uint32_t b = k * s->n + turned(v, adds ? step + 1 : step - s->m, s->n);
        for (uint32_t p = 0; p < s->l; p++) {
            const parcel what = {p, b, adds ? CS_OP_REDUCE : CS_OP_COPY, slot_of(s, b), flags};
            add(s, v, p, v + 1 < s->n ? v + 1 : 0, p, &what);
        }
    }
}

/* ---- phases ---- */

/* Segment and step in it that step i of the rings is: the ReduceScatter of the first segment, then
 * the AllGather of a segment and the ReduceScatter of the next by turns. */
static void step_at(const cs_sharing *s, uint32_t i, uint32_t *k, uint32_t *step)
{
    uint32_t behind = i < s->m ? 0 : i - s->m, both = 2 * (s->m > 0 ? s->m : 1);
    uint32_t at = behind % both;

    *k = behind / both;
    if (i < s->m) {
        *step = i;
    } else if (*k + 1 == s->shape.segments) {
        *step = s->m + at;
    } else {
        *k += at % 2;
        *step = at / 2 + (at % 2 == 0 ? s->m : 0);
    }
}

/* What is added up in a phase: before a step of the ReduceScatter the blocks that it adds to, which
 * the next one passes on; before an AllGather those with which the next ReduceScatter begins.
 * False where there is nothing. */
static bool sums_in(const cs_sharing *s, uint32_t phase, uint32_t *k, uint32_t *step)
{
    if (phase > s->n_steps) {
        return false;
    }
    *k = *step = 0;
    if (phase > 0) {
        step_at(s, phase - 1, k, step);
        bool begins = *step == s->m && *k + 1 < s->shape.segments;
        if (*step >= s->m && !begins) {
            return false;
        }
        *k += begins ? 1 : 0;
        *step = begins ? 0 : *step + 1;
    }
    return true;
}

/* Piece `slot` of a phase: L - 1 of sums, L - 1 of final values, and the step of the rings. */
static void make_piece(cs_sharing *s, uint32_t phase, uint32_t slot)
{
    uint32_t shifts = s->l - 1, k, step;

    s->taken = s->piece.count = 0;
    if (slot < shifts) {
        if (sums_in(s, phase, &k, &step)) {
            add_sums(s, k, step, slot + 1);
        }
    } else if (slot < 2 * shifts) {
        if (phase >= 2) {
            step_at(s, phase - 2, &k, &step);
            if (step + 1 >= s->m) {
                add_finals(s, k, step, slot - shifts + 1);
            }
        }
    } else if (phase > 0 && phase <= s->n_steps) {
        step_at(s, phase - 1, &k, &step);
        add_step(s, k, step);
    }
}

/* The next piece with something in it, up to a phase; false behind the last one. */
static bool next_piece(cs_sharing *s, uint32_t last)
{
    while (s->taken == s->piece.count && s->phase <= last) {
        make_piece(s, s->phase, s->slot);
        if (++s->slot > 2 * (s->l - 1)) {
            s->slot = 0;
            s->phase++;
        }
    }
    return s->taken < s->piece.count;
}

/* ---- the stream ---- */

/* As much of the piece as there is room for. */
static void give_piece(cs_sharing *s, cs_block *block)
{
    size_t room = block->capacity - block->count, left = s->piece.count - s->taken;
    size_t count = left < room ? left : room;

    memcpy(block->transfers + block->count, s->piece.transfers + s->taken,
           count * sizeof(cs_transfer));
    block->count += count;
    s->taken += count;
}

/* Some of the main stream. As long as r has something to give, so little at a time that where it
 * ends does not depend on the block. */
static void give_main(cs_sharing *s, cs_block *block)
{
    cs_block some = *block;

    some.transfers += block->count;
    some.count    = 0;
    some.capacity = s->raws > 0 ? CS_MAX_PARTS : block->capacity - block->count;
    s->main.algorithm->next_block(s->main.state, &some);
    for (size_t i = 0; i < some.count && s->raws > 0; i++) {
        const cs_transfer *t = &some.transfers[i];
        s->raws -= t->src == s->shape.late && (t->flags & CS_OWN_SRC) != 0 ? 1 : 0;
    }
    block->count += some.count;
    block->fence_except = some.fence_except;
    block->fence_s      = some.fence_s;
    s->is_main_over     = some.count == 0;
    s->raws             = s->is_main_over ? 0 : s->raws;
}

/* Barriers stand at the beginning of blocks, and only in a main phase without mates. */
void cs_sharing_next(cs_sharing *s, cs_block *block)
{
    uint32_t last = phases_of(s->n_steps, s->l);

    while (block->count < block->capacity) {
        if (s->raws == 0 && next_piece(s, s->is_main_over ? last : 0)) {
            give_piece(s, block);
            continue;
        }
        size_t room = block->capacity - block->count;
        if (s->is_main_over || room < CS_MAX_PARTS || (s->raws == 0 && block->count > 0)) {
            return;
        }
        give_main(s, block);
    }
}

cs_status cs_sharing_open(const cs_scenario *scenario, const cs_sharing_shape *shape,
                          const cs_sharing_main *main, cs_sharing **stream_p, cs_error *err)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          n = servers_of(c, shape), l = locals_of(c, shape), late = shape->late / l;
    cs_sharing       *s = *stream_p = CS_NEW(cs_sharing, 1);

    if (s == NULL) {
        if (main->state != NULL) {
            main->algorithm->close(main->state);
        }
        return CS_NO_MEMORY(err, "stragglar and rings");
    }
    *s                 = (cs_sharing){.shape        = *shape,
                                      .main         = *main,
                                      .cluster      = c,
                                      .bytes        = scenario->bytes - shape->main_bytes,
                                      .n            = n,
                                      .m            = n - 1,
                                      .l            = l,
                                      .n_blocks     = n * shape->segments,
                                      .n_steps      = 2 * (n - 1) * shape->segments,
                                      .first_chunk  = main->plan->n_chunks,
                                      .first_slot   = main->plan->n_slots,
                                      .first_round  = main->plan->n_rounds,
                                      .is_main_over = main->state == NULL,
                                      .raws         = main->plan->n_chunks / l * (l - 1)};
    s->first           = CS_ARENA_NEW(&s->arena, uint32_t, n);
    s->piece.transfers = CS_ARENA_NEW(&s->arena, cs_transfer, (size_t)n * l);
    if (s->first == NULL || s->piece.transfers == NULL) {
        return CS_NO_MEMORY(err, "the rings of %u servers", n);
    }
    for (uint32_t v = 0; v < n; v++) {
        uint32_t server = v == s->m ? late : v + (v >= late);
        s->first[v]     = shape->is_flat ? server : cs_server_first(c, server);
    }
    return CS_OK;
}

void cs_sharing_close(cs_sharing *stream)
{
    if (stream != NULL) {
        if (stream->main.state != NULL) {
            stream->main.algorithm->close(stream->main.state);
        }
        cs_arena_free(&stream->arena);
        cs_free(stream);
    }
}
