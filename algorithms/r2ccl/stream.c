/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/r2ccl/stream.h"

enum { SLACK = 3 }; /* of chain_lag() */

static uint32_t ring_steps(const cs_r2ccl_shape *s)
{
    return 2 * (s->p - 1);
}

/* Servers of the line. */
static uint32_t line_length(const cs_r2ccl_shape *s)
{
    return s->p - s->m;
}

/* Steps between a contribution of z_1 and the chain's first hop: those of the others come one by
 * one, and then wait for what stands before them at the owner's port. */
static uint32_t chain_lag(const cs_r2ccl_shape *s)
{
    return s->m + (s->owners > 1 ? SLACK : 0);
}

/* Steps of B2: the last piece is sent by z_1, goes along the chain, and to one z after the other.
 */
static uint32_t piece_steps(const cs_r2ccl_shape *s)
{
    return s->pieces + chain_lag(s) + line_length(s) - 1 + s->m - 1;
}

cs_plan cs_r2ccl_plan(const cs_r2ccl_shape *shape)
{
    bool has_mates = shape->gpus > 1;

    return (cs_plan){.n_chunks = shape->gpus * (shape->p + shape->pieces),
                     .n_slots  = cs_r2ccl_slots(shape),
                     .n_rounds = has_mates + ring_steps(shape) + piece_steps(shape),
                     .uses     = (cs_r2ccl_largest_group(shape) > 1 ? CS_USES_SPAN : 0) |
                             (has_mates ? CS_USES_NVLINK : 0),
                     .chunks_differ = true};
}

/* ---- who is where ----
 *
 * Places on the line are 1 .. H. */

/* The number of h_place in the ring. */
static uint32_t on_line(const cs_r2ccl_stream *s, uint32_t place)
{
    return s->shape.m + place - 1;
}

/* Where the owner of a piece's turn or group stands. */
static uint32_t place_of_owner(const cs_r2ccl_stream *s, uint32_t owner)
{
    return line_length(&s->shape) - s->shape.owners + 1 + owner;
}

static uint32_t owner_of_group(const cs_r2ccl_stream *s, uint32_t group)
{
    return group / (s->shape.groups / s->shape.owners);
}

/* Hops of the line to owner `place`, and who sends on hop `hop` (hop == hops: the owner). */
static uint32_t line_hops(const cs_r2ccl_stream *s, uint32_t place)
{
    uint32_t H = line_length(&s->shape);
    return place == H ? H - 1 : H - 2;
}

static uint32_t line_at(const cs_r2ccl_stream *s, uint32_t place, uint32_t hop)
{
    uint32_t H = line_length(&s->shape);

    if (place == H) {
        return hop + 1;
    }
    return hop == H - 2 ? place : hop + 1 + (hop + 1 >= place);
}

/* The chain of the finals of owner `place`. */
static uint32_t chain_at(const cs_r2ccl_stream *s, uint32_t place, uint32_t hop)
{
    uint32_t H = line_length(&s->shape);

    if (hop < place) {
        return place - hop;
    }
    return hop == H - 1 ? H : H - 1 - (hop - place);
}

/* Who sends them to the z: the owner, which knows them first, or, if there is but one, the last one
 * of the chain, which sends nothing else. */
static uint32_t sender_down(const cs_r2ccl_stream *s, uint32_t place)
{
    return s->shape.owners == 1 ? 1 : place;
}

/* The piece whose turn is number `number` in B2, one of each owner in turn, and where its owner
 * stands. */
typedef struct turn {
    uint32_t piece, place, number;
    bool     is_there; /* false before the first and behind the last */
} turn;

static turn turn_at(const cs_r2ccl_stream *s, int64_t number)
{
    uint32_t owners = s->shape.owners;
    turn     t      = {.is_there = number >= 0 && number < (int64_t)s->shape.pieces};

    if (t.is_there) {
        uint32_t owner = (uint32_t)number % owners;
        t.number       = (uint32_t)number;
        t.piece        = cs_r2ccl_first_owned(&s->shape, owner) + (uint32_t)number / owners;
        t.place        = place_of_owner(s, owner);
    }
    return t;
}

/* ---- what is done in a step ----
 *
 * A step has entries, in order, some of which are empty. Each of the functions below says in
 * s->action what entry `i` of its kind does, or returns false. */

/* Where an owner adds a piece up, and where what is sent to it is. */
static uint32_t piece_slot(const cs_r2ccl_stream *s, uint32_t piece)
{
    return CS_R2CCL_PASSING + s->passing + s->grouped + piece;
}

/* Where a final passes by. */
static uint32_t passing_slot(const cs_r2ccl_stream *s, uint32_t number)
{
    return CS_R2CCL_PASSING + number % s->passing;
}

/* Where a group is on its way. */
static uint32_t group_slot(const cs_r2ccl_stream *s, uint32_t group)
{
    return CS_R2CCL_PASSING + s->passing + group % CS_R2CCL_WINDOW * (s->grouped / CS_R2CCL_WINDOW);
}

static bool collect(cs_r2ccl_stream *s, uint32_t server, uint32_t first, uint32_t count,
                    bool is_piece, uint32_t slot)
{
    s->action = (cs_r2ccl_action){.kind     = CS_R2CCL_COLLECT,
                                  .src      = server,
                                  .first    = first,
                                  .count    = count,
                                  .is_piece = is_piece,
                                  .src_slot = slot,
                                  .dst_slot = slot};
    return s->shape.gpus > 1;
}

static bool distribute(cs_r2ccl_stream *s, uint32_t server, uint32_t first, bool is_piece,
                       uint32_t slot)
{
    s->action = (cs_r2ccl_action){.kind     = CS_R2CCL_DISTRIBUTE,
                                  .src      = server,
                                  .first    = first,
                                  .count    = 1,
                                  .is_piece = is_piece,
                                  .src_slot = slot,
                                  .dst_slot = CS_R2CCL_UNREAD};
    return s->shape.gpus > 1;
}

/* Pieces: of one, or a group. */
static bool send_pieces(cs_r2ccl_stream *s, uint32_t src, uint32_t dst, uint32_t first,
                        uint32_t count, uint32_t src_slot, uint32_t dst_slot, cs_op op,
                        uint32_t flags)
{
    s->action = (cs_r2ccl_action){.kind     = CS_R2CCL_SEND,
                                  .src      = src,
                                  .dst      = dst,
                                  .first    = first,
                                  .count    = count,
                                  .is_piece = true,
                                  .src_slot = src_slot,
                                  .dst_slot = dst_slot,
                                  .flags    = flags,
                                  .op       = op};
    return true;
}

/* A's chunk that position i sends in step t, and the slot that it is in. */
static uint32_t ring_chunk(const cs_r2ccl_stream *s, uint32_t i, int64_t step)
{
    uint32_t p = s->shape.p, back = (uint32_t)(step + 1) % p;
    return i >= back ? i - back : i + p - back;
}

static uint32_t ring_slot(int64_t step)
{
    return (uint32_t)step % CS_R2CCL_RING_SLOTS;
}

/* What position i sends in the next step. */
static bool ring_collect(cs_r2ccl_stream *s, uint32_t i)
{
    int64_t next = s->step + 1;

    return next < (int64_t)s->shape.p &&
           collect(s, i, ring_chunk(s, i, next), 1, false, ring_slot(next));
}

static bool ring_send(cs_r2ccl_stream *s, uint32_t i)
{
    uint32_t adding = s->shape.p - 1, step = (uint32_t)s->step;
    bool     adds = step < adding;

    if (s->step < 0) {
        return false;
    }
    s->action = (cs_r2ccl_action){.kind     = CS_R2CCL_SEND,
                                  .src      = i,
                                  .dst      = i + 1 == s->shape.p ? 0 : i + 1,
                                  .first    = ring_chunk(s, i, step),
                                  .count    = 1,
                                  .src_slot = ring_slot(step),
                                  .dst_slot = ring_slot(step + 1),
                                  .op       = adds ? CS_OP_REDUCE : CS_OP_COPY,
                                  .flags    = step + 1 >= adding ? CS_DONE_DST : 0};
    if (s->shape.gpus == 1) {
        s->action.flags |= (step == 0 ? CS_OWN_SRC : 0) | (adds ? CS_OWN_DST : 0);
    }
    return true;
}

/* What has come to position i in this step. */
static bool ring_distribute(cs_r2ccl_stream *s, uint32_t i)
{
    int64_t next = s->step + 1;

    return next >= (int64_t)s->shape.p - 1 &&
           distribute(s, i, ring_chunk(s, i, next), false, ring_slot(next));
}

/* The group that is sent on hop `hop` of the line in a step; false where there is none. */
static bool group_at(const cs_r2ccl_stream *s, int64_t step, uint32_t hop, uint32_t *group_p,
                     uint32_t *place_p)
{
    int64_t group = step - hop;

    if (group < 0 || group >= (int64_t)s->shape.groups) {
        return false;
    }
    *group_p = (uint32_t)group;
    *place_p = place_of_owner(s, owner_of_group(s, *group_p));
    return hop < line_hops(s, *place_p);
}

/* Where the group is that is sent on a hop, or, of hop == hops, where it ends. */
static uint32_t line_slot(const cs_r2ccl_stream *s, uint32_t group, uint32_t place, uint32_t hop)
{
    return hop == line_hops(s, place) ? piece_slot(s, cs_r2ccl_first_piece(&s->shape, group))
                                      : group_slot(s, group);
}

/* Who takes part in the next step's hops: entry 0 the first sender, entry i + 1 who receives on hop
 * i. */
static bool line_collect(cs_r2ccl_stream *s, uint32_t i)
{
    uint32_t group, place, hop = i > 0 ? i - 1 : 0;

    if (!group_at(s, s->step + 1, hop, &group, &place)) {
        return false;
    }
    uint32_t first = cs_r2ccl_first_piece(&s->shape, group);
    uint32_t count = cs_r2ccl_first_piece(&s->shape, group + 1) - first;
    return collect(s, on_line(s, line_at(s, place, i)), first, count, true,
                   line_slot(s, group, place, i));
}

static bool line_send(cs_r2ccl_stream *s, uint32_t hop)
{
    uint32_t group, place;

    if (!group_at(s, s->step, hop, &group, &place)) {
        return false;
    }
    uint32_t first = cs_r2ccl_first_piece(&s->shape, group);
    uint32_t count = cs_r2ccl_first_piece(&s->shape, group + 1) - first;
    uint32_t flags = s->shape.gpus > 1 ? 0 : CS_OWN_DST | (hop == 0 ? CS_OWN_SRC : 0);
    return send_pieces(
        s, on_line(s, line_at(s, place, hop)), on_line(s, line_at(s, place, hop + 1)), first, count,
        line_slot(s, group, place, hop), line_slot(s, group, place, hop + 1), CS_OP_REDUCE, flags);
}

/* What is collected for B2 is collected so many steps before it is sent: before the last of the
 * ring is handed out, which takes as long as this many pieces. */
static uint32_t ahead(const cs_r2ccl_shape *s)
{
    double chunks = (double)s->ring_bytes / s->p, pieces = (double)s->rest_bytes / s->pieces;
    double most = chunks / pieces + 2;
    return most < s->pieces ? (uint32_t)most : s->pieces;
}

/* Of turn `number`: what z_{i+1}, or for i = m what h_H sends to the owner. */
static bool piece_collect(cs_r2ccl_stream *s, int64_t number, uint32_t i)
{
    uint32_t H = line_length(&s->shape);
    turn     t = turn_at(s, number);

    if (!t.is_there || (i == s->shape.m && t.place == H)) {
        return false;
    }
    return collect(s, i < s->shape.m ? i : on_line(s, H), t.piece, 1, true, piece_slot(s, t.piece));
}

/* For the first turns, before B2 begins. */
static bool early_collect(cs_r2ccl_stream *s, uint32_t i)
{
    uint32_t m = s->shape.m + 1;
    return piece_collect(s, i / m, i % m);
}

/* ... and in its steps. */
static bool late_collect(cs_r2ccl_stream *s, uint32_t i)
{
    return piece_collect(s, s->step - ring_steps(&s->shape) + ahead(&s->shape), i);
}

/* B2, entry 0: h_H's contribution, i + 1: that of z_{i+1}, i steps later. */
static bool piece_raw(cs_r2ccl_stream *s, uint32_t entry)
{
    int64_t  step = s->step - ring_steps(&s->shape);
    uint32_t H = line_length(&s->shape), i = entry - 1;
    turn     t     = turn_at(s, entry == 0 ? step : step - i);
    uint32_t flags = s->shape.gpus > 1 ? 0 : CS_OWN_SRC;

    if (!t.is_there || (entry == 0 && t.place == H)) {
        return false;
    }
    uint32_t slot = piece_slot(s, t.piece);
    flags |= entry == s->shape.m ? CS_DONE_DST : 0;
    return send_pieces(s, entry == 0 ? on_line(s, H) : i, on_line(s, t.place), t.piece, 1, slot,
                       slot, CS_OP_REDUCE, flags);
}

static bool owner_distribute(cs_r2ccl_stream *s, uint32_t entry)
{
    turn t = turn_at(s, s->step - ring_steps(&s->shape) - (s->shape.m - 1) - entry);

    return t.is_there && distribute(s, on_line(s, t.place), t.piece, true, piece_slot(s, t.piece));
}

/* Entries 2 i and 2 i + 1: hop i, and what it brought goes out. */
static bool chain_send(cs_r2ccl_stream *s, uint32_t entry)
{
    uint32_t hop = entry / 2;
    turn     t   = turn_at(s, s->step - ring_steps(&s->shape) - chain_lag(&s->shape) - hop);

    if (!t.is_there) {
        return false;
    }
    uint32_t from = on_line(s, chain_at(s, t.place, hop));
    uint32_t to = on_line(s, chain_at(s, t.place, hop + 1)), slot = passing_slot(s, t.number);
    return entry % 2 == 0
               ? send_pieces(s, from, to, t.piece, 1, hop == 0 ? piece_slot(s, t.piece) : slot,
                             slot, CS_OP_COPY, CS_DONE_DST)
               : distribute(s, to, t.piece, true, slot);
}

/* Entries 2 i and 2 i + 1: to z_{i+1}, and out. */
static bool down_send(cs_r2ccl_stream *s, uint32_t entry)
{
    uint32_t i = entry / 2, chain = line_length(&s->shape) - 1;
    turn     t = turn_at(s, s->step - ring_steps(&s->shape) - chain_lag(&s->shape) - chain - i);

    if (!t.is_there) {
        return false;
    }
    uint32_t from = on_line(s, sender_down(s, t.place)), slot = passing_slot(s, t.number);
    uint32_t here = s->shape.owners == 1 ? slot : piece_slot(s, t.piece);
    return entry % 2 == 0 ? send_pieces(s, from, i, t.piece, 1, here, slot, CS_OP_COPY, CS_DONE_DST)
                          : distribute(s, i, t.piece, true, slot);
}

/* ---- their order ---- */

static bool in_section(uint32_t *entry, uint32_t entries)
{
    if (*entry < entries) {
        return true;
    }
    *entry -= entries;
    return false;
}

/* Entry of a step of A and B1; *is_over where the step has no more. */
static bool ring_entry(cs_r2ccl_stream *s, uint32_t i, bool *is_over)
{
    uint32_t p = s->shape.p, H = line_length(&s->shape), mates = s->shape.gpus > 1 ? 1 : 0;
    bool     is_last = s->step + 1 == ring_steps(&s->shape);

    *is_over = false;
    if (in_section(&i, mates * p)) {
        return ring_collect(s, i);
    }
    if (in_section(&i, mates * H)) {
        return line_collect(s, i);
    }
    if (in_section(&i, is_last ? mates * ahead(&s->shape) * (s->shape.m + 1) : 0)) {
        return early_collect(s, i);
    }
    if (in_section(&i, p)) {
        return ring_send(s, i);
    }
    if (in_section(&i, H - 1)) {
        return line_send(s, i);
    }
    if (in_section(&i, mates * p)) {
        return ring_distribute(s, i);
    }
    *is_over = true;
    return false;
}

/* Entry of a step of B2. */
static bool piece_entry(cs_r2ccl_stream *s, uint32_t i, bool *is_over)
{
    uint32_t m = s->shape.m, H = line_length(&s->shape), mates = s->shape.gpus > 1 ? 1 : 0;

    *is_over = false;
    if (in_section(&i, mates * (m + 1))) {
        return late_collect(s, i);
    }
    if (in_section(&i, m + 1)) {
        return piece_raw(s, i);
    }
    if (in_section(&i, mates)) {
        return owner_distribute(s, i);
    }
    if (in_section(&i, 2 * (H - 1))) {
        return chain_send(s, i);
    }
    if (in_section(&i, 2 * m)) {
        return down_send(s, i);
    }
    *is_over = true;
    return false;
}

/* The next action; false at the end. */
static bool find_action(cs_r2ccl_stream *s)
{
    int64_t ring_end = ring_steps(&s->shape), end = ring_end + piece_steps(&s->shape);

    while (s->step < end) {
        bool is_over;
        bool acts = s->step < ring_end ? ring_entry(s, s->entry, &is_over)
                                       : piece_entry(s, s->entry, &is_over);
        s->entry++;
        if (acts) {
            return true;
        }
        if (is_over) {
            s->step++;
            s->entry = 0;
        }
    }
    return false;
}

/* ---- transfers ---- */

/* Of part `c` of the buffer: where the action's chunks begin, and their bytes. */
static void put_chunks(const cs_r2ccl_stream *s, uint32_t c, cs_transfer *t)
{
    const cs_r2ccl_shape  *shape = &s->shape;
    const cs_r2ccl_action *a     = &s->action;
    uint32_t               parts = a->is_piece ? shape->pieces : shape->p;
    uint32_t               first = c * parts + a->first;

    t->chunk = first + (a->is_piece ? shape->gpus * shape->p : 0);
    t->bytes = cs_split_range(a->is_piece ? shape->rest_bytes : shape->ring_bytes,
                              shape->gpus * parts, first, a->count);
}

static cs_transfer transfer_of(const cs_r2ccl_stream *s, uint32_t item)
{
    const cs_r2ccl_action *a = &s->action;
    uint32_t               g = s->shape.gpus > 1 ? s->shape.gpus : 1, from = item % g,
             to     = (item / g + 1 + from) % g;
    uint32_t    src = s->servers[a->src] * g, dst = src;
    cs_transfer t  = {.src_slot = (uint16_t)a->src_slot,
                      .dst_slot = (uint16_t)a->dst_slot,
                      .round    = (uint32_t)(s->step + (g > 1)),
                      .span     = (uint16_t)a->count,
                      .flags    = (uint8_t)a->flags};
    cs_op       op = a->op;

    if (a->kind == CS_R2CCL_SEND) {
        to  = from;
        dst = s->servers[a->dst] * g;
    } else if (a->kind == CS_R2CCL_COLLECT) {
        op      = CS_OP_REDUCE;
        t.flags = (uint8_t)(CS_OWN_SRC | (item < g ? CS_OWN_DST : 0));
    } else {
        op      = CS_OP_COPY;
        t.flags = CS_DONE_DST;
    }
    t.src = src + from;
    t.dst = dst + to;
    put_chunks(s, a->kind == CS_R2CCL_COLLECT ? to : from, &t);
    t.op_fabric = cs_op_fabric(op, cs_fabric_of(s->cluster, t.src, t.dst));
    return t;
}

void cs_r2ccl_begin(cs_r2ccl_stream *stream)
{
    stream->passing = cs_r2ccl_passing_slots(&stream->shape);
    stream->grouped = cs_r2ccl_group_slots(&stream->shape);
    stream->step    = stream->shape.gpus > 1 ? -1 : 0;
    stream->entry = stream->item = 0;
    stream->acts                 = false;
}

void cs_r2ccl_next(cs_r2ccl_stream *stream, cs_block *block)
{
    cs_r2ccl_stream *s = stream;
    uint32_t         g = s->shape.gpus;

    while (block->count < block->capacity) {
        if (!s->acts && !find_action(s)) {
            return;
        }
        uint32_t items = s->action.kind == CS_R2CCL_SEND ? g : g * (g - 1);
        s->acts        = true;
        while (s->item < items && block->count < block->capacity) {
            block->transfers[block->count++] = transfer_of(s, s->item++);
        }
        if (s->item == items) {
            s->acts = false;
            s->item = 0;
        }
    }
}
