/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/phase2.h"

#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/rotation.h"
#include "algorithms/stragglar/tail.h"
#include "algorithms/stragglar/telephone.h"

#include <assert.h>

/* ---- the steady state of the rotation ---- */

enum { MOST_DEPTH = 20 }; /* D + 1 <= 18 for 65536 ranks */

/* One role, packed for the inner loop. */
typedef struct rotation_role {
    uint32_t from; /* role that it receives from */
    uint32_t back; /* twice the age of what it receives, less one where the sender is the owner */
} rotation_role;

/* A chunk in work, as it stands in a transfer between two ranks that do not own it, or from its
 * owner. */
typedef struct rotation_chunk {
    uint32_t id, slots;
    uint64_t bytes;
} rotation_chunk;

typedef struct steady_stream {
    const cs_late_layout *layout; /* borrowed, with its tables; depth is D + 1 */
    double                barrier_s;
    uint32_t              first_round;        /* of the stream, for round 0 of the steady state */
    uint32_t              round, owner, turn; /* r, r mod N, r mod depth */
    uint32_t              next_role;
    rotation_role        *roles; /* [N] */
    /* Chunk c, twice (from others, from its owner), at c mod depth and depth further on, so that
     * the chunk of age a is found without a division at 2 (r mod depth + depth - a). */
    rotation_chunk chunks[4 * MOST_DEPTH];
} steady_stream;

/* Slots that recycle: a chunk is spread within D = q + 1 rounds. */
static uint32_t rotation_depth(uint32_t n)
{
    return cs_log2_ceil(n) + 2;
}

static cs_status start_steady(steady_stream *stream, const cs_late_layout *layout,
                              const cs_rotation *rotation, uint32_t first_round, double barrier_s,
                              cs_arena *arena, cs_error *err)
{
    uint32_t early = layout->early;

    *stream = (steady_stream){.layout = layout, .barrier_s = barrier_s, .first_round = first_round};
    stream->roles = CS_ARENA_NEW(arena, rotation_role, early);
    if (stream->roles == NULL) {
        return CS_NO_MEMORY(err, "%u roles", early);
    }
    for (uint32_t p = 1; p < early; p++) {
        uint32_t from = rotation->from[p], age = rotation->age[p];
        /* The owner of the chunk of age a is role -a. */
        bool is_owner    = (from + age) % early == 0;
        stream->roles[p] = (rotation_role){from, 2 * age - is_owner};
    }
    return CS_OK;
}

/* Give transfers whose fabric is not known the fabric of their ends. */
static void add_fabrics(const cs_cluster *cluster, cs_transfer *transfers, size_t count)
{
    for (size_t i = 0; cluster->gpus_per_server > 1 && i < count; i++) {
        cs_transfer *t = &transfers[i];
        t->op_fabric   = cs_op_fabric(cs_transfer_op(t), cs_fabric_of(cluster, t->src, t->dst));
    }
}

/* Chunk `round` enters. */
static void add_chunk(steady_stream *s)
{
    const cs_late_layout *l  = s->layout;
    uint32_t              id = cs_late_id(l, s->round), slot = s->turn;
    uint64_t              bytes = cs_split(l->scenario->bytes, l->chunks, id);
    rotation_chunk       *at = &s->chunks[2 * (size_t)slot], *again = at + 2 * (size_t)l->depth;

    at[0] = again[0] = (rotation_chunk){id, cs_slots(slot, slot), bytes};
    at[1] = again[1] = (rotation_chunk){id, cs_slots(cs_late_home(l, s->round), slot), bytes};
}

/* The owner of chunk `round` and the late rank exchange it. */
static void add_exchange(steady_stream *s, cs_block *block)
{
    const cs_late_layout *l       = s->layout;
    const cs_cluster     *cluster = &l->scenario->cluster;
    uint32_t              owner   = cs_late_rank(l, s->owner);
    uint32_t              own     = l->early == 1 ? CS_OWN_SRC | CS_OWN_DST : CS_OWN_DST;

    add_chunk(s);
    const rotation_chunk *chunk      = &s->chunks[2 * (size_t)s->turn];
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
static size_t emit_roles(const steady_stream *s, cs_transfer *out, uint32_t first, uint32_t end)
{
    const cs_transfer     model  = {.round     = s->first_round + s->round,
                                    .span      = 1,
                                    .flags     = CS_DONE_DST,
                                    .op_fabric = CS_OP_COPY};
    const rotation_role  *roles  = s->roles;
    const rotation_chunk *newest = &s->chunks[2 * (size_t)(s->turn + s->layout->depth)];
    uint64_t              tail   = cs_tail_of(&model);
    uint32_t              early = s->layout->early, late = s->layout->late, owner = s->owner;
    uint32_t              youth = 2 * s->round;
    size_t                count = 0;

    for (uint32_t p = first; p < end; p++) {
        rotation_role         what  = roles[p];
        const rotation_chunk *chunk = newest - what.back;
        uint32_t              src = owner + what.from, dst = owner + p;
        src -= src >= early ? early : 0;
        dst -= dst >= early ? early : 0;
        cs_transfer_put(&out[count], src + (src >= late), dst + (dst >= late), chunk->id,
                        chunk->slots, chunk->bytes, tail);
        count += youth >= what.back;
    }
    return count;
}

static void end_round(steady_stream *s)
{
    s->next_role = 0;
    s->round++;
    s->owner = s->owner + 1 == s->layout->early ? 0 : s->owner + 1;
    s->turn  = s->turn + 1 == s->layout->depth ? 0 : s->turn + 1;
}

static bool next_steady(steady_stream *stream, cs_block *block)
{
    steady_stream *s     = stream;
    uint32_t       early = s->layout->early;

    while (s->round < s->layout->chunks && block->count < block->capacity) {
        if (s->next_role == 0) {
            add_exchange(s, block);
        }
        size_t       room = block->capacity - block->count, left = early - s->next_role;
        uint32_t     end = s->next_role + (uint32_t)(left < room ? left : room);
        cs_transfer *out = block->transfers + block->count;
        size_t       got = emit_roles(s, out, s->next_role, end);
        add_fabrics(&s->layout->scenario->cluster, out, got);
        block->count += got;
        s->next_role = end;
        if (end >= early) {
            end_round(s);
        }
    }
    return block->count > 0;
}

/* ---- stored rounds ---- */

typedef struct stored_stream {
    const cs_late_layout  *layout; /* borrowed, with its tables, as the rounds */
    const cs_label_rounds *rounds;
    uint32_t               first_round; /* of the stream, for round 0 of `rounds` */
    uint32_t               turn;        /* early label g stands for g + turn mod N ... */
    uint32_t               shift;       /* ... and chunk c for c + shift mod 2^32 */
    bool                   has_barrier; /* a barrier of all ranks before the first transfer */
    double                 barrier_s;
    uint32_t               round; /* of `rounds`; begin with 0 */
    size_t                 next;
} stored_stream;

static uint32_t turned(const stored_stream *s, uint32_t label)
{
    uint32_t early = s->layout->early, sum = label + s->turn;

    if (label == early) {
        return label;
    }
    return sum >= early ? sum - early : sum;
}

/* The late rank's own data are where nothing has been received yet; so are everybody's where there
 * is no pre-phase. */
static uint32_t flags_of(const cs_late_layout *l, const cs_label_transfer *t)
{
    switch (t->kind) {
    case CS_LABEL_COPY: return CS_DONE_DST;
    case CS_LABEL_EXCHANGE:
        return CS_OWN_DST | CS_DONE_DST | CS_DONE_SRC | (l->early == 1 ? CS_OWN_SRC : 0);
    case CS_LABEL_RAW: return t->src == l->early ? CS_OWN_SRC : CS_OWN_DST;
    case CS_LABEL_LAST: return (t->src == l->early ? CS_OWN_SRC : CS_OWN_DST) | CS_DONE_DST;
    }
    return 0;
}

static cs_transfer transfer_of(const stored_stream *s, const cs_label_transfer *t)
{
    const cs_late_layout *l = s->layout;
    uint32_t src = turned(s, t->src), dst = turned(s, t->dst), chunk = t->chunk + s->shift;
    uint32_t id = cs_late_id(l, chunk);

    return (cs_transfer){.src       = cs_late_rank(l, src),
                         .dst       = cs_late_rank(l, dst),
                         .chunk     = id,
                         .src_slot  = (uint16_t)cs_late_slot(l, src, chunk),
                         .dst_slot  = (uint16_t)cs_late_slot(l, dst, chunk),
                         .bytes     = cs_split(l->scenario->bytes, l->chunks, id),
                         .round     = s->first_round + s->round,
                         .span      = 1,
                         .flags     = (uint8_t)flags_of(l, t),
                         .op_fabric = cs_op_fabric(cs_label_op(t->kind), CS_NIC)};
}

static bool next_stored(stored_stream *stream, cs_block *block)
{
    stored_stream         *s      = stream;
    const cs_label_rounds *rounds = s->rounds;
    bool                   first  = s->next == 0;

    while (s->round < rounds->n_rounds && block->count < block->capacity) {
        block->transfers[block->count++] = transfer_of(s, &rounds->transfers[s->next]);
        if (++s->next == rounds->round_end[s->round]) {
            s->round++;
        }
    }
    add_fabrics(&s->layout->scenario->cluster, block->transfers, block->count);
    if (first && s->has_barrier && block->count > 0) {
        cs_late_fence(block, CS_FENCE_ALL, s->barrier_s);
    }
    return block->count > 0;
}

/* ---- three ranks ---- */

static cs_status add(cs_label_rounds *rounds, cs_label_kind kind, uint32_t src, uint32_t dst,
                     uint32_t chunk, cs_error *err)
{
    return cs_label_rounds_add(rounds, (cs_label_transfer){src, dst, chunk, kind}, err);
}

enum { LATE = 2 };

static cs_status two_chunks_round(cs_label_rounds *rounds, uint32_t round, cs_error *err)
{
    if (round < 2) {
        return add(rounds, CS_LABEL_EXCHANGE, round, LATE, round, err);
    }
    CS_TRY(add(rounds, CS_LABEL_COPY, 0, 1, 0, err));
    return add(rounds, CS_LABEL_COPY, 1, 0, 1, err);
}

/* What the late rank sends to label 0 in round 1 .. C - 1: label 0's chunks 2, 4, .. and label 1's
 * 1, 3, .. take turns, those of label 1 that are left over come last. */
static uint32_t turn_of(uint32_t chunks, uint32_t round)
{
    if (round + 1 == chunks && chunks % 2 == 0) {
        return chunks - 1;
    }
    return round % 2 == 1 ? round + 1 : round - 1;
}

/* What label 1 sends to the late rank in round 1 .. C, or 0 for nothing: its own chunks before the
 * late rank's turn to send them on, in rounds 1, 2, 4, 6, ..; label 0's two rounds after the late
 * rank's turn, when they are complete and have come by, in rounds 3, 5, 7, .. */
static uint32_t third_of(uint32_t chunks, uint32_t round)
{
    if (round == 1) {
        return 1;
    }
    uint32_t chunk = round % 2 == 0 ? round + 1 : round - 1;
    return chunk < chunks ? chunk : 0;
}

/* Round 0: chunk 0 is exchanged. What label 0 has in round r goes to label 1 in round r + 1. */
static cs_status many_chunks_round(cs_label_rounds *rounds, uint32_t chunks, uint32_t round,
                                   cs_error *err)
{
    uint32_t third = third_of(chunks, round);

    if (round == 0) {
        return add(rounds, CS_LABEL_EXCHANGE, 0, LATE, 0, err);
    }
    uint32_t before = round == 1 ? 0 : turn_of(chunks, round - 1);
    CS_TRY(add(rounds, CS_LABEL_COPY, 0, 1, before, err));
    if (round < chunks) {
        uint32_t chunk = turn_of(chunks, round);
        CS_TRY(add(rounds, chunk % 2 == 0 ? CS_LABEL_LAST : CS_LABEL_COPY, LATE, 0, chunk, err));
    }
    if (third != 0) {
        CS_TRY(add(rounds, third % 2 == 1 ? CS_LABEL_LAST : CS_LABEL_COPY, 1, LATE, third, err));
    }
    return CS_OK;
}

/* Three ranks, C >= 2 chunks, C + 1 rounds. C = 2 keeps to the telephone model; beyond, values go
 * round a directed ring late -> 0 -> 1 -> late, which no schedule of the telephone model can match
 * (of three ranks one is always idle there). */
static cs_status build_three_ranks(uint32_t chunks, cs_label_rounds *rounds, cs_error *err)
{
    for (uint32_t r = 0; r <= chunks; r++) {
        CS_TRY(chunks == 2 ? two_chunks_round(rounds, r, err)
                           : many_chunks_round(rounds, chunks, r, err));
        CS_TRY(cs_label_rounds_end(rounds, err));
    }
    return CS_OK;
}

/* ---- the phase ---- */

struct cs_phase2 {
    steady_stream   steady; /* unless has_steady is false */
    cs_label_rounds stored; /* the tail of the rotation, or all rounds; owned. Not the greedy's */
    stored_stream   stream;
    bool            has_steady;
};

/* Where the rounds come from. */
typedef enum source {
    ROTATION,      /* n != 3, C > ceil(log2 n) */
    ONE_CHUNK,     /* C = 1 */
    THREE_RANKS,   /* n = 3, C >= 2 */
    TELEPHONE_ODD, /* odd n, C = n - 1 */
} source;

static source source_of(uint32_t n, uint32_t chunks, bool is_telephone)
{
    if (chunks == 1) {
        return ONE_CHUNK;
    }
    if (n == 3) {
        return THREE_RANKS;
    }
    return n % 2 == 1 && is_telephone ? TELEPHONE_ODD : ROTATION;
}

uint32_t cs_phase2_depth(uint32_t n, uint32_t chunks, bool is_telephone)
{
    return source_of(n, chunks, is_telephone) == ROTATION ? rotation_depth(n) : chunks;
}

/* All rounds of a source that is stored and not searched for. Output only on CS_OK. */
static cs_status build_stored(source from, uint32_t n, uint32_t chunks, cs_label_rounds *rounds_p,
                              cs_error *err)
{
    cs_label_rounds rounds = {0};
    cs_status       status = CS_OK;

    switch (from) {
    case ONE_CHUNK: status = cs_label_rounds_one_chunk(n, &rounds, err); break;
    case THREE_RANKS: status = build_three_ranks(chunks, &rounds, err); break;
    case TELEPHONE_ODD:
    case ROTATION: return CS_FAIL(err, CS_EINTERNAL, "", "this schedule is not stored");
    }
    return cs_label_rounds_give(status, &rounds, rounds_p);
}

cs_status cs_phase2_count(uint32_t n, uint32_t chunks, bool is_telephone, uint32_t *rounds_p,
                          uint32_t *steps_p, cs_label_rounds *greedy, cs_error *err)
{
    const cs_label_shape shape = {.n = n, .early = n - 1, .chunks = chunks};

    if (source_of(n, chunks, is_telephone) != TELEPHONE_ODD) {
        *rounds_p = *steps_p = chunks - 1 + cs_log2_ceil(n);
        return CS_OK;
    }
    if (greedy->n_rounds == 0) {
        CS_TRY(cs_telephone_build(n, greedy, err));
    }
    *rounds_p = greedy->n_rounds;
    return cs_label_rounds_steps(greedy, &shape, steps_p, err);
}

/* The steady state, and the tail behind it, turned to where C rounds have led. */
static cs_status start_rotation(cs_phase2 *p, const cs_late_layout *l, uint32_t first_round,
                                double barrier_s, cs_arena *arena, cs_error *err)
{
    cs_rotation rotation;

    assert(l->early > 0);
    CS_TRY(cs_rotation_build(l->early + 1, arena, &rotation, err));
    CS_TRY(cs_tail_build(&rotation, &p->stored, err));
    CS_TRY(start_steady(&p->steady, l, &rotation, first_round, barrier_s, arena, err));
    p->has_steady = true;
    p->stream     = (stored_stream){.layout      = l,
                                    .rounds      = &p->stored,
                                    .first_round = first_round + l->chunks,
                                    .turn        = l->chunks % l->early,
                                    .shift       = l->chunks - l->early};
    return CS_OK;
}

cs_status cs_phase2_open(const cs_late_layout *layout, bool is_telephone, uint32_t first_round,
                         double barrier_s, const cs_label_rounds *greedy, cs_arena *arena,
                         cs_phase2 **phase_p, cs_error *err)
{
    uint32_t   n    = layout->early + 1;
    source     from = source_of(n, layout->chunks, is_telephone);
    cs_phase2 *p = *phase_p = CS_ARENA_NEW(arena, cs_phase2, 1);

    if (p == NULL) {
        return CS_NO_MEMORY(err, "the main phase of %u ranks", n);
    }
    if (from == ROTATION) {
        return start_rotation(p, layout, first_round, barrier_s, arena, err);
    }
    p->stream = (stored_stream){.layout      = layout,
                                .rounds      = from == TELEPHONE_ODD ? greedy : &p->stored,
                                .first_round = first_round,
                                .has_barrier = true,
                                .barrier_s   = barrier_s};
    return from == TELEPHONE_ODD ? CS_OK : build_stored(from, n, layout->chunks, &p->stored, err);
}

void cs_phase2_close(cs_phase2 *phase)
{
    if (phase != NULL) {
        cs_label_rounds_free(&phase->stored);
    }
}

bool cs_phase2_next(cs_phase2 *phase, cs_block *block)
{
    return (phase->has_steady && next_steady(&phase->steady, block)) ||
           next_stored(&phase->stream, block);
}
