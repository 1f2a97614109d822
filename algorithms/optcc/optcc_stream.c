/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of OptCC's transfers: see optcc_stream.h; what a message holds is in optcc_parts.h. */
#include "algorithms/optcc/optcc_parts.h"

uint32_t cs_optcc_slots(const cs_optcc_shape *shape, uint32_t copies)
{
    return copies * (2 * (shape->H - 1) + CS_OPTCC_EXTRA_SLOTS);
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
    uint32_t nvlink = s->gpus * (s->gpus - 1), x = cs_optcc_node(s, s->now->position);
    int64_t  P = s->now->position, j1 = cs_optcc_final_on_train(s, P, d) + (int64_t)s->shape.H - 1;

    if (in_phase(&k, nvlink)) {
        bool begins = P == j1 - (int64_t)s->shape.H + 1;
        cs_optcc_add_collect(s, block, x, j1, k, cs_optcc_slot_base(s) + d, begins);
    } else if (in_phase(&k, nvlink)) {
        cs_optcc_add_distribute(
            s, block, x, P > s->shape.first_position ? cs_optcc_final_on_train(s, P - 1, d) : -1, k,
            cs_optcc_slot_base(s) + s->shape.H - 1 + d);
    } else if (k < s->gpus) {
        cs_optcc_add_train(s, block, d, k);
    } else {
        return false;
    }
    return true;
}

/* Step between the trains and the slow servers: NVLink work for the sections that x owns, and for
 * the next section of every slow server. */
static bool add_owner_item(cs_optcc_stream *s, cs_block *block, uint32_t k)
{
    uint32_t nvlink = s->gpus * (s->gpus - 1), x = cs_optcc_node(s, s->now->position);
    int64_t  P = s->now->position, H = s->shape.H;

    if (in_phase(&k, nvlink)) {
        cs_optcc_add_collect(s, block, x, P + H, k, cs_optcc_owned_slot(s, P + H), false);
    } else if (in_phase(&k, nvlink)) {
        cs_optcc_add_distribute(s, block, x, P, k, cs_optcc_owned_slot(s, P));
    } else if (in_phase(&k, nvlink * s->shape.m)) {
        cs_optcc_add_collect(s, block, s->slow[k / nvlink], P + H + 2, k % nvlink,
                             cs_optcc_slow_slot(s, P + H + 2), true);
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
        cs_optcc_add_upload(s, block, i, k);
    } else if (in_phase(&k, nvlink)) {
        cs_optcc_add_distribute(s, block, s->slow[i], s->now->position, k,
                                cs_optcc_extra_slot(s, CS_OPTCC_FINAL));
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
    cs_optcc_add_collect(s, block, s->slow[k / nvlink], first, k % nvlink,
                         cs_optcc_slow_slot(s, first), true);
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

    return (turn){.src        = cs_optcc_node(s, P),
                  .dst        = cs_optcc_node(s, P + 1),
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
 * there is room. The others are left to cs_optcc_add_train(). */
static void add_plain_trains(cs_optcc_stream *s, cs_block *block)
{
    turn         t = turn_of(s);
    int64_t      P = s->now->position, turned = cs_floor_mod(P, t.trains);
    uint32_t     base = cs_optcc_slot_base(s), H = s->shape.H, step = s->now->step;
    cs_transfer *out = block->transfers + block->count;
    cs_transfer *end = block->transfers + block->capacity - CS_OPTCC_MOST_PARTS;

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
            cs_optcc_add_download(s, block, step - trains - 2 - m, c->item);
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
    while (block->count + CS_OPTCC_MOST_PARTS <= block->capacity) {
        bool between = stream->now == NULL || (stream->now->step == 0 && stream->now->item == 0);
        if (between && !choose_copy(stream)) {
            return;
        }
        cs_optcc_cursor *c = stream->now;
        if (stream->is_simple && c->item == 0 && c->step > 1 && c->step < stream->shape.H) {
            add_plain_trains(stream, block);
        }
        if (block->count + CS_OPTCC_MOST_PARTS <= block->capacity) {
            advance(stream, block);
        }
    }
}
