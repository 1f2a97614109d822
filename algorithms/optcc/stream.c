/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/optcc/stream.h"

#include <assert.h>

/* ---- where things are ----
 *
 * Slots of a rank, for one copy: train d keeps its S1 in d and its S4 in H - 1 + d; behind them the
 * two sections that a node owns in turn, the special section, a final to be distributed, two
 * blocks, the two sections that a slow server collects in turn, and what nobody reads again. */

enum {
    OWNED       = 0,
    SPECIAL     = 2,
    FINAL       = 3,
    BLOCK       = 4,
    SLOW        = 6,
    UNREAD      = 8,
    EXTRA_SLOTS = 9,
    MOST_PARTS  = 3
};

static uint32_t slot_base(const cs_optcc_stream *s)
{
    return s->copy * (2 * (s->shape.H - 1) + EXTRA_SLOTS);
}

static uint32_t extra_slot(const cs_optcc_stream *s, uint32_t which)
{
    return slot_base(s) + 2 * (s->shape.H - 1) + which;
}

static uint32_t owned_slot(const cs_optcc_stream *s, int64_t section)
{
    return extra_slot(s, OWNED + (uint32_t)(cs_floor_div(section, s->shape.H) & 1));
}

static uint32_t slow_slot(const cs_optcc_stream *s, int64_t section)
{
    return extra_slot(s, SLOW + (uint32_t)(section & 1));
}

/* The server whose turn it is at a position. */
static uint32_t node_at(const cs_optcc_stream *s, int64_t position)
{
    return s->healthy[cs_floor_mod(position, s->shape.H)];
}

/* The section whose S4 train d carries at a position. */
static int64_t final_on_train(const cs_optcc_stream *s, int64_t position, uint32_t d)
{
    return position - cs_floor_mod(position - d, (int64_t)s->shape.H - 1);
}

uint32_t cs_optcc_slots(const cs_optcc_shape *shape, uint32_t copies)
{
    return copies * (2 * (shape->H - 1) + EXTRA_SLOTS);
}

uint32_t cs_optcc_chunks(const cs_optcc_shape *shape, uint32_t gpus, uint32_t copies)
{
    return copies * gpus * shape->n_chunks;
}

uint32_t cs_optcc_positions(const cs_optcc_shape *shape, uint32_t copies)
{
    return (uint32_t)(shape->last_position - shape->first_position) + 1 +
           (copies > 1 ? shape->H : 0);
}

/* ---- the transfers that a message or an NVLink phase is made of ----
 *
 * Each function appends to the block what one cycle of the copy that is being served (`now`) does
 * at its position, or nothing where the section does not exist; at most MOST_PARTS transfers, for
 * which the caller has made room. */

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

/* Item `k` of a collect phase at a server: GPU k mod g sends its contribution to a leader.
 * `begins`: the leader's slot has no value of the section yet. */
static void add_collect(cs_optcc_stream *s, cs_block *block, uint32_t server, int64_t section,
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

/* Item `k` of a distribute phase: leader k mod g sends a final to another GPU of its server. */
static void add_distribute(cs_optcc_stream *s, cs_block *block, uint32_t server, int64_t section,
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
               .dst_slot = extra_slot(s, UNREAD)});
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
    what.src_slot = what.dst_slot = slot_base(s) + d;
    if (!is_last || is_special) {
        what.flags |= CS_OWN_DST;
    }
    if (is_last) {
        what.flags |= is_special ? 0 : CS_DONE_DST;
        what.dst_slot = is_special ? extra_slot(s, SPECIAL) : owned_slot(s, j);
    }
    add(s, block, what);
}

/* Train d of one cycle: S1 and S4 in one message, on the last train S4 of the special one. Not
 * inlined: advance() is quicker without it. */
__attribute__((noinline)) static void add_train(cs_optcc_stream *s, cs_block *block, uint32_t d,
                                                uint32_t cycle)
{
    const cs_optcc_shape *shape = &s->shape;
    int64_t               P     = s->now->position;
    int64_t               j4 = final_on_train(s, P, d), j1 = j4 + (int64_t)shape->H - 1;
    part                  what  = {.src   = node_at(s, P) * s->gpus + cycle,
                                   .dst   = node_at(s, P + 1) * s->gpus + cycle,
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
        what.dst_slot = slot_base(s) + shape->H - 1 + d;
        what.src_slot = P == j4 ? owned_slot(s, j4) : what.dst_slot;
        add(s, block, what);
        joins = CS_JOIN;
    }
    int64_t hop = P - (shape->special_down + (int64_t)shape->H + 1);
    if (shape->has_special && d == shape->H - 2 && hop >= 0 && hop <= (int64_t)shape->H - 2) {
        what.chunk    = 0;
        what.flags    = joins | CS_DONE_DST;
        what.src_slot = what.dst_slot = extra_slot(s, SPECIAL);
        add(s, block, what);
    }
}

/* Bubbles: which block goes up (`lag` 0) or comes down (`lag` H) in this slot, or -1. */
static int64_t block_at(const cs_optcc_stream *s, uint32_t lag)
{
    int64_t b = cs_floor_div(s->now->position - s->shape.block_from - lag, s->shape.H);
    return s->shape.has_bubbles && b >= 0 && b < (int64_t)s->shape.n_blocks ? b : -1;
}

/* S2: the final of section P to slow server i, and its share of a block. */
static void add_upload(cs_optcc_stream *s, cs_block *block, uint32_t i, uint32_t cycle)
{
    const cs_optcc_shape *shape = &s->shape;
    int64_t               P = s->now->position, b = block_at(s, 0);
    part                  what  = {.src   = node_at(s, P) * s->gpus + cycle,
                                   .dst   = s->slow[i] * s->gpus + cycle,
                                   .cycle = cycle};
    uint32_t              joins = 0;

    if (exists(s, P)) {
        what.chunk = chunk_of(s, P), what.op = CS_OP_COPY, what.flags = CS_DONE_DST;
        what.src_slot = owned_slot(s, P), what.dst_slot = extra_slot(s, FINAL);
        add(s, block, what);
        joins = CS_JOIN;
    }
    if (shape->has_special && P == shape->special) {
        what.chunk = 0, what.op = CS_OP_REDUCE;
        what.flags    = joins | CS_OWN_DST | CS_DONE_DST;
        what.src_slot = what.dst_slot = extra_slot(s, SPECIAL);
        add(s, block, what);
        joins = CS_JOIN;
    }
    if (b >= 0) {
        int64_t turn = cs_floor_mod(P - shape->block_from, shape->H);
        what.chunk = shape->n_sections + (uint32_t)b, what.op = CS_OP_REDUCE;
        what.flags = joins | CS_OWN_SRC | (turn == 0 ? CS_OWN_DST : 0);
        what.flags |= turn == (int64_t)shape->H - 1 ? CS_DONE_DST : 0;
        what.src_slot = what.dst_slot = extra_slot(s, BLOCK + (uint32_t)(b & 1));
        add(s, block, what);
    }
}

/* S3: the contribution of slow server i to section P + H + 1, the special section's final, a
 * block's final. */
static void add_download(cs_optcc_stream *s, cs_block *block, uint32_t i, uint32_t cycle)
{
    const cs_optcc_shape *shape = &s->shape;
    int64_t  P = s->now->position, j = P + (int64_t)shape->H + 1, b = block_at(s, shape->H);
    part     what  = {.src   = s->slow[i] * s->gpus + cycle,
                      .dst   = node_at(s, P + 1) * s->gpus + cycle,
                      .cycle = cycle};
    uint32_t joins = 0;

    if (exists(s, j)) {
        what.chunk = chunk_of(s, j), what.op = CS_OP_REDUCE;
        what.flags    = (s->gpus == 1 ? CS_OWN_SRC : 0) | (i == 0 ? CS_OWN_DST : 0);
        what.src_slot = slow_slot(s, j), what.dst_slot = owned_slot(s, j);
        add(s, block, what);
        joins = CS_JOIN;
    }
    if (shape->has_special && P == shape->special_down) {
        what.chunk = 0, what.op = CS_OP_COPY, what.flags = joins | CS_DONE_DST;
        what.src_slot = what.dst_slot = extra_slot(s, SPECIAL);
        add(s, block, what);
        joins = CS_JOIN;
    }
    if (b >= 0) {
        what.chunk = shape->n_sections + (uint32_t)b, what.op = CS_OP_COPY;
        what.flags    = joins | CS_DONE_DST;
        what.src_slot = extra_slot(s, BLOCK + (uint32_t)(b & 1));
        what.dst_slot = extra_slot(s, FINAL);
        add(s, block, what);
    }
}

/* ---- their order ---- */

/* Items of a step in their order: `k` counts down through the phases. */
static bool in_phase(uint32_t *k, uint32_t items)
{
    if (*k < items) {
        return true;
    }
    *k -= items;
    return false;
}

/* Step of a train: collect what its S1 needs, distribute the final that came with it one position
 * before, send. Returns false when the step has no item `k`. */
static bool add_train_item(cs_optcc_stream *s, cs_block *block, uint32_t d, uint32_t k)
{
    uint32_t nvlink = s->gpus * (s->gpus - 1), x = node_at(s, s->now->position);
    int64_t  P = s->now->position, j1 = final_on_train(s, P, d) + (int64_t)s->shape.H - 1;

    if (in_phase(&k, nvlink)) {
        bool begins = P == j1 - (int64_t)s->shape.H + 1;
        add_collect(s, block, x, j1, k, slot_base(s) + d, begins);
    } else if (in_phase(&k, nvlink)) {
        add_distribute(s, block, x, P > s->shape.first_position ? final_on_train(s, P - 1, d) : -1,
                       k, slot_base(s) + s->shape.H - 1 + d);
    } else if (k < s->gpus) {
        add_train(s, block, d, k);
    } else {
        return false;
    }
    return true;
}

/* Step between the trains and the slow servers: NVLink work for the sections that x owns, and for
 * the next section of every slow server. */
static bool add_owner_item(cs_optcc_stream *s, cs_block *block, uint32_t k)
{
    uint32_t nvlink = s->gpus * (s->gpus - 1), x = node_at(s, s->now->position);
    int64_t  P = s->now->position, H = s->shape.H;

    if (in_phase(&k, nvlink)) {
        add_collect(s, block, x, P + H, k, owned_slot(s, P + H), false);
    } else if (in_phase(&k, nvlink)) {
        add_distribute(s, block, x, P, k, owned_slot(s, P));
    } else if (in_phase(&k, nvlink * s->shape.m)) {
        add_collect(s, block, s->slow[k / nvlink], P + H + 2, k % nvlink, slow_slot(s, P + H + 2),
                    true);
    } else {
        return false;
    }
    return true;
}

/* Step of slow server i: S2, distribute, S3. */
static bool add_slow_item(cs_optcc_stream *s, cs_block *block, uint32_t i, uint32_t k)
{
    uint32_t nvlink = s->gpus * (s->gpus - 1);

    if (in_phase(&k, s->gpus)) {
        add_upload(s, block, i, k);
    } else if (in_phase(&k, nvlink)) {
        add_distribute(s, block, s->slow[i], s->now->position, k, extra_slot(s, FINAL));
    } else {
        return false;
    }
    return true;
}

/* What stands before the first position: the slow servers collect their first section. */
static bool add_first_item(cs_optcc_stream *s, cs_block *block, uint32_t k)
{
    uint32_t nvlink = s->gpus * (s->gpus - 1);
    int64_t  first  = s->shape.first_position + (int64_t)s->shape.H + 1;

    if (s->now->position != s->shape.first_position || k >= nvlink * s->shape.m) {
        return false;
    }
    add_collect(s, block, s->slow[k / nvlink], first, k % nvlink, slow_slot(s, first), true);
    return true;
}

static uint64_t tail_of(const cs_optcc_stream *s, cs_op op, uint32_t flags)
{
    const cs_transfer model = {.round     = s->round,
                               .span      = 1,
                               .flags     = (uint8_t)flags,
                               .op_fabric = cs_op_fabric(op, CS_NIC)};
    return cs_tail_of(&model);
}

/* What the inner loop over the trains of a position keeps at hand. */
typedef struct turn {
    uint32_t src, dst, chunk_base;
    int64_t  trains, first, last; /* H - 1, and the sections that exist */
    uint64_t small, larger;       /* bytes of a chunk, and how many have one more */
    uint64_t pass_s1, pass_s4;    /* tails on the way: neither first nor last hop */
} turn;

static turn turn_of(const cs_optcc_stream *s)
{
    int64_t P = s->now->position;

    return (turn){.src        = node_at(s, P),
                  .dst        = node_at(s, P + 1),
                  .chunk_base = s->copy * s->shape.n_chunks + s->shape.has_special,
                  .trains     = (int64_t)s->shape.H - 1,
                  .first      = s->shape.first,
                  .last       = s->shape.last,
                  .small      = s->chunk_bytes,
                  .larger     = s->larger_chunks,
                  .pass_s1    = tail_of(s, CS_OP_REDUCE, CS_OWN_DST),
                  .pass_s4    = tail_of(s, CS_OP_COPY, CS_JOIN | CS_DONE_DST)};
}

/* The trains of the position that are neither on their first nor on their last hop, as nearly all
 * are, one GPU per server and chunks of equal weight: from the current step on, while they are and
 * there is room. The others are left to add_train(). */
static void add_plain_trains(cs_optcc_stream *s, cs_block *block)
{
    turn         t = turn_of(s);
    int64_t      P = s->now->position, turned = cs_floor_mod(P, t.trains);
    uint32_t     base = slot_base(s), H = s->shape.H, step = s->now->step;
    cs_transfer *out = block->transfers + block->count;
    cs_transfer *end = block->transfers + block->capacity - MOST_PARTS;

    for (; step <= t.trains && out <= end; step++) {
        int64_t d = t.trains - step, behind = turned - d + (turned < d ? t.trains : 0);
        int64_t j4 = P - behind, j1 = j4 + t.trains;
        if (behind == 0 || behind == t.trains - 1 || j4 < t.first || j1 > t.last || step == 1) {
            break;
        }
        uint32_t c1 = (uint32_t)(j1 - t.first) + t.chunk_base;
        uint32_t c4 = (uint32_t)(j4 - t.first) + t.chunk_base;
        uint32_t s1 = base + (uint32_t)d, s4 = s1 + H - 1;
        cs_transfer_put(out++, t.src, t.dst, c1, cs_slots(s1, s1), t.small + (c1 < t.larger),
                        t.pass_s1);
        cs_transfer_put(out++, t.src, t.dst, c4, cs_slots(s4, s4), t.small + (c4 < t.larger),
                        t.pass_s4);
    }
    block->count = (size_t)(out - block->transfers);
    s->now->step = step;
    s->now->item = 0;
}

/* The step from which on trains carry something: in the first loop those above P mod (H - 1) are
 * not there yet. In the last one the others have ended (with several GPUs finals are still to be
 * distributed, with a special section the train that it takes is kept). */
static uint32_t skip_empty_trains(const cs_optcc_stream *s, int64_t P, uint32_t step)
{
    uint32_t trains = s->shape.H > 2 ? s->shape.H - 1 : 1; /* H >= 2 */
    uint32_t turned = (uint32_t)cs_floor_mod(P, trains);
    bool     keeps  = s->gpus > 1 || (s->shape.has_special && turned == trains - 1);

    if (P < 0 && step == 1) {
        return trains - turned;
    }
    return P - turned > s->shape.last && step == trains - turned && !keeps ? trains + 1 : step;
}

/* Steps of a position: 0 what stands before the first one, H - 1 trains, the owner, m times S2, m
 * times S3. Adds one item or goes to the next step. */
static void advance(cs_optcc_stream *s, cs_block *block)
{
    cs_optcc_cursor *c      = s->now;
    uint32_t         trains = s->shape.H - 1, m = s->shape.m, step = c->step;
    bool             has_item;

    if (step == 0) {
        has_item = add_first_item(s, block, c->item);
    } else if (step <= trains) {
        has_item = add_train_item(s, block, trains - step, c->item);
    } else if (step == trains + 1) {
        has_item = add_owner_item(s, block, c->item);
    } else if (step <= trains + 1 + m) {
        has_item = add_slow_item(s, block, step - trains - 2, c->item);
    } else {
        has_item = c->item < s->gpus;
        if (has_item) {
            add_download(s, block, step - trains - 2 - m, c->item);
        }
    }
    c->item = has_item ? c->item + 1 : 0;
    c->step = has_item ? step : skip_empty_trains(s, c->position, step + 1);
    if (c->step == trains + 2 + 2 * m) {
        c->step = 0;
        c->position++;
    }
}

/* The copy whose position comes next: by P Q + q H, then q. Returns false at the end. */
static bool choose_copy(cs_optcc_stream *s)
{
    int64_t best = INT64_MAX;

    for (uint32_t q = 0; q < s->copies; q++) {
        int64_t key = s->at[q].position * s->copies + (int64_t)q * s->shape.H;
        if (s->at[q].position <= s->shape.last_position && key < best) {
            best    = key;
            s->copy = q;
        }
    }
    if (best == INT64_MAX) {
        return false;
    }
    s->now   = &s->at[s->copy];
    s->round = (uint32_t)(cs_floor_div(best, s->copies) - s->shape.first_position);
    return true;
}

static void divide_bytes(cs_optcc_stream *s)
{
    uint32_t parts = s->copies * s->gpus, chunks = s->shape.n_chunks;

    s->share                   = s->bytes / parts;
    s->larger_shares           = (uint32_t)(s->bytes % parts);
    s->is_even                 = s->shape.ramp == 0 && s->shape.n_blocks == 0;
    s->is_simple               = s->is_even && parts == 1;
    s->chunk_bytes             = s->share / chunks;
    s->larger_chunks           = s->share % chunks;
    s->chunk_bytes_of_larger   = (s->share + 1) / chunks;
    s->larger_chunks_of_larger = (s->share + 1) % chunks;
}

void cs_optcc_begin(cs_optcc_stream *stream)
{
    divide_bytes(stream);
    for (uint32_t q = 0; q < stream->copies; q++) {
        stream->at[q] = (cs_optcc_cursor){.position = stream->shape.first_position};
    }
    stream->now = NULL;
}

void cs_optcc_next(cs_optcc_stream *stream, cs_block *block)
{
    assert(stream->gpus > 0);
    while (block->count + MOST_PARTS <= block->capacity) {
        bool between = stream->now == NULL || (stream->now->step == 0 && stream->now->item == 0);
        if (between && !choose_copy(stream)) {
            return;
        }
        cs_optcc_cursor *c = stream->now;
        if (stream->is_simple && c->item == 0 && c->step > 1 && c->step < stream->shape.H) {
            add_plain_trains(stream, block);
        }
        if (block->count + MOST_PARTS <= block->capacity) {
            advance(stream, block);
        }
    }
}
