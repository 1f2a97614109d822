/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/servers.h"

#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/rail.h"
#include "base/alloc.h"
#include "base/arena.h"

#define NONE CS_NO_LABEL

/* The flags of trees, whose slots begin with what their ranks contribute. */
enum { ENDS = CS_DONE_SRC | CS_DONE_DST };

/* What the stream goes through: the first two for every step of the pre-phase; then, for every
 * round, the three from RAILS on, or of a tree RAILS alone. */
typedef enum part {
    SUMS,
    RINGS,
    EARLY_MATES,
    SCATTER,
    RAILS,
    LATE_SERVER,
    OTHER_SERVERS,
    GATHER,
    OVER
} part;

struct cs_servers {
    const cs_scenario *scenario; /* borrowed */
    uint32_t           n, m, l;  /* N, M, L */
    uint32_t           chunks;   /* C */
    bool               is_tree, halves;
    cs_rail            rail;
    cs_arena           arena;
    uint32_t          *first; /* [N] first rank of the server with a label */
    uint32_t          *local; /* [2 L] number in its server of the GPU with a local label mod L */
    uint32_t          *done;  /* [N] chunk that a server completes in this round, or NONE */
    uint64_t           chunk_bytes; /* cs_split() of the buffer: of a chunk, ... */
    uint32_t           n_larger;    /* ... one more of so many */
    part               part;
    uint32_t           base, step;  /* of the pre-phase: chunks base .. base + M - 1 are summed */
    uint32_t           turn;        /* of the early mates: 0 .. C + L - 1; of the rounds: u + 1 */
    uint32_t           round;       /* of the transfers that are made */
    uint32_t           have;        /* GATHER: rails whose final values every GPU has */
    uint32_t           i, shift, p; /* what comes next in a part; begin with 0, 1, 0 */
};

/* ---- the plan ---- */

/* Are the sums exchanged between two servers instead of passed around a ring? */
static bool is_exchanged(uint32_t servers, bool halves)
{
    return servers == 3 && !halves;
}

static uint32_t pre_steps(uint32_t servers, const cs_servers_shape *shape)
{
    uint32_t m = servers - 1, chunks = shape->chunks;
    return is_exchanged(servers, shape->halves) ? chunks : (chunks + m - 1) / m * m;
}

/* Turns of the main phase: one before round 0, and so many after the last one as server s needs for
 * the last final values, and for those of rail 0 to come by all mates. */
static uint32_t main_turns(uint32_t servers, uint32_t locals, uint32_t chunks, bool halves)
{
    const cs_rail rail   = {.chunks = chunks, .halves = halves};
    uint32_t      rounds = cs_rail_rounds(servers, chunks, halves);
    uint32_t      given = cs_rail_last_given(chunks, halves), last = given + (halves ? 2 : 0);
    uint32_t passed = given > 1 ? given - 1 : 0; /* rounds of which the final value is passed on */

    while (passed > 0 && cs_rail_completed(&rail, passed - 1) == NONE) {
        passed--;
    }
    uint32_t chain = passed > 0 ? passed + locals - 1 : 0;
    uint32_t end   = last + 2 > chain ? last + 2 : chain;
    return 1 + (rounds > end ? rounds : end);
}

double cs_servers_messages(const cs_cluster *cluster, uint32_t chunks)
{
    double n = cluster->n_ranks, l = cluster->gpus_per_server;
    return 2 * n * l * chunks;
}

uint32_t cs_servers_most_chunks(const cs_cluster *cluster)
{
    return (uint32_t)(cs_most_slots(cluster->n_ranks) - 1) / 2;
}

cs_plan cs_servers_plan(const cs_scenario *scenario, const cs_servers_shape *shape)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          n = cs_n_servers(c), l = c->gpus_per_server, chunks = shape->chunks;
    uint32_t          pre = pre_steps(n, shape) + chunks + l;

    if (shape->is_tree) {
        return (cs_plan){.n_chunks = l,
                         .n_slots  = l,
                         .n_rounds = pre + 1 + cs_rail_rounds(n, 1, false) + cs_log2_ceil(l),
                         .uses = CS_USES_EXCHANGE | CS_USES_NVLINK | CS_USES_SPAN | CS_USES_JOIN,
                         .starts_own = true};
    }
    return (cs_plan){.n_chunks = l * chunks,
                     .n_slots  = 2 * chunks + 1,
                     .n_rounds = pre + main_turns(n, l, chunks, shape->halves),
                     .uses     = CS_USES_EXCHANGE | CS_USES_NVLINK};
}

/* ---- transfers ---- */

static uint64_t bytes_of(const cs_servers *s, uint32_t id)
{
    return s->chunk_bytes + (id < s->n_larger ? 1 : 0);
}

/* For all p: from GPU p of a server to GPU p + shift of a server, chunk c of the rail of one of
 * them. */
typedef struct row {
    uint32_t src, dst; /* labels of the servers */
    uint32_t shift;    /* < L */
    uint32_t chunk;
    bool     is_of_dst; /* the rail of the destination */
    cs_op    op;
    uint32_t src_slot, dst_slot, flags;
} row;

/* From s->p on, which is 0 again when all are there; false when the block is full before. */
static bool add_row(cs_servers *s, const row *r, cs_block *block)
{
    const cs_cluster *c     = &s->scenario->cluster;
    const uint32_t   *local = s->local;
    uint32_t          from = s->first[r->src], to = s->first[r->dst];
    uint32_t          fabric  = r->src == r->dst ? CS_NVLINK : CS_NIC;
    cs_transfer       model   = {.round     = s->round,
                                 .span      = 1,
                                 .flags     = (uint8_t)(s->is_tree ? r->flags & ENDS : r->flags),
                                 .op_fabric = cs_op_fabric(r->op, fabric)};
    bool              crosses = c->sockets > 1 && r->src == r->dst;
    uint32_t          slots   = cs_slots(r->src_slot, r->dst_slot);
    cs_transfer      *out     = block->transfers + block->count;

    for (; s->p < s->l && block->count < block->capacity; s->p++, block->count++, out++) {
        uint32_t src = from + local[s->p], dst = to + local[s->p + r->shift];
        uint32_t rail = r->is_of_dst ? s->p + r->shift : s->p;
        uint32_t id   = (rail < s->l ? rail : rail - s->l) * s->chunks + r->chunk;
        if (crosses) {
            model.op_fabric = cs_op_fabric(r->op, cs_fabric_of(c, src, dst));
        }
        slots = s->is_tree ? cs_slots(id, id) : slots;
        cs_transfer_put(out, src, dst, id, slots, bytes_of(s, id), cs_tail_of(&model));
    }
    if (s->p < s->l) {
        return false;
    }
    s->p = 0;
    return true;
}

/* One transfer inside the late server: chunk c of rail p. There must be room. */
static void add_inside(const cs_servers *s, cs_block *block, uint32_t src, uint32_t dst, uint32_t p,
                       uint32_t c, cs_transfer model)
{
    uint32_t first = s->first[s->m], id = p * s->chunks + c;

    model.src   = first + s->local[src];
    model.dst   = first + s->local[dst];
    model.chunk = id;
    model.bytes = bytes_of(s, id);
    model.round = s->round;
    model.span  = 1;
    if (s->is_tree) {
        model.src_slot = model.dst_slot = (uint16_t)id;
        model.flags &= ENDS;
    }
    model.op_fabric                  = cs_op_fabric(cs_transfer_op(&model),
                                                    cs_fabric_of(&s->scenario->cluster, model.src, model.dst));
    block->transfers[block->count++] = model;
}

/* A part of a message inside server v of a tree: `span` rails from p on. There must be room. */
static void add_part(const cs_servers *s, cs_block *block, uint32_t v, uint32_t src, uint32_t dst,
                     uint32_t p, uint32_t span, cs_op op, uint32_t flags)
{
    uint32_t from = s->first[v] + s->local[src], to = s->first[v] + s->local[dst];
    uint32_t fabric = cs_fabric_of(&s->scenario->cluster, from, to);

    block->transfers[block->count++] =
        (cs_transfer){.src       = from,
                      .dst       = to,
                      .chunk     = p,
                      .src_slot  = (uint16_t)p,
                      .dst_slot  = (uint16_t)p,
                      .bytes     = cs_split_range(s->scenario->bytes, s->l, p, span),
                      .round     = s->round,
                      .span      = (uint16_t)span,
                      .flags     = (uint8_t)flags,
                      .op_fabric = cs_op_fabric(op, fabric)};
}

static cs_transfer what(cs_op op, uint32_t src_slot, uint32_t dst_slot, uint32_t flags)
{
    return (cs_transfer){.src_slot  = (uint16_t)src_slot,
                         .dst_slot  = (uint16_t)dst_slot,
                         .flags     = (uint8_t)flags,
                         .op_fabric = cs_op_fabric(op, CS_NVLINK)};
}

static bool has_room(const cs_block *block, size_t count)
{
    return block->capacity - block->count >= count;
}

static uint32_t rail0_slot(const cs_servers *s, uint32_t c)
{
    return s->chunks + c;
}

/* ---- the pre-phase ---- */

/* The chunk that server v sums up in this step; NONE where there is none. */
static uint32_t summed(const cs_servers *s, uint32_t v)
{
    uint32_t c = s->base;

    if (!is_exchanged(s->n, s->halves)) {
        uint32_t ahead = v + s->m - 1 - s->step;
        c += ahead >= s->m ? ahead - s->m : ahead;
    }
    return c < s->chunks ? c : NONE;
}

/* Inside every other server; what came around the ring is there before, but in the first step. */
static bool add_sums(cs_servers *s, cs_block *block)
{
    for (; s->i < s->m; s->i++) {
        uint32_t c = summed(s, s->i);
        for (; c != NONE && s->shift < s->l; s->shift++) {
            uint32_t  fresh = s->shift == 1 && s->step == 0 ? CS_OWN_DST : 0;
            const row r = {s->i, s->i, s->shift, c, true, CS_OP_REDUCE, c, c, CS_OWN_SRC | fresh};
            if (!add_row(s, &r, block)) {
                return false;
            }
        }
        s->shift = 1;
    }
    return true;
}

static bool add_rings(cs_servers *s, cs_block *block)
{
    if (is_exchanged(s->n, s->halves)) {
        const row r = {0, 1, 0, s->base, false, CS_OP_EXCHANGE, s->base, s->base, 0};
        return add_row(s, &r, block);
    }
    for (; s->step + 1 < s->m && s->i < s->m; s->i++) {
        uint32_t  c = summed(s, s->i), next = s->i + 1 == s->m ? 0 : s->i + 1;
        const row r = {s->i, next, 0, c, false, CS_OP_REDUCE, c, c, CS_OWN_DST};
        if (c != NONE && !add_row(s, &r, block)) {
            return false;
        }
    }
    return true;
}

/* Mates p = 1 .. L - 1 of r: to the shift-th next of them, its rail's chunk; then rail 0 goes one
 * mate further, a chunk behind the other. */
static bool add_early_mates(cs_servers *s, cs_block *block)
{
    uint32_t mates = s->l - 1, t = s->turn;

    for (; t < s->chunks && s->shift < mates; s->shift++) {
        for (; s->p < mates; s->p++) {
            uint32_t to    = 1 + (s->p + s->shift) % mates;
            uint32_t flags = CS_OWN_SRC | (s->shift == 1 ? CS_OWN_DST : 0);
            if (!has_room(block, 1)) {
                return false;
            }
            add_inside(s, block, 1 + s->p, to, to, t, what(CS_OP_REDUCE, t, t, flags));
        }
        s->p = 0;
    }
    for (; s->i + 1 < mates; s->i++) {
        uint32_t c = t - s->i, slot = rail0_slot(s, c);
        if (t < s->i || c >= s->chunks) {
            continue;
        }
        if (!has_room(block, 1)) {
            return false;
        }
        add_inside(s, block, 1 + s->i, 2 + s->i, 0, c,
                   what(CS_OP_REDUCE, slot, slot, CS_OWN_DST | (s->i == 0 ? CS_OWN_SRC : 0)));
    }
    return true;
}

/* ---- the main phase ---- */

/* In round `turn` - 1, over all rails. */
static bool add_rails(cs_servers *s, cs_block *block)
{
    static const uint32_t ends[] = {[CS_LABEL_COPY]     = CS_DONE_DST,
                                    [CS_LABEL_EXCHANGE] = CS_DONE_SRC | CS_DONE_DST,
                                    [CS_LABEL_RAW]      = 0,
                                    [CS_LABEL_LAST]     = CS_DONE_DST};
    uint32_t              u      = s->turn - 1;
    uint32_t places = s->turn > 0 && u < s->rail.n_rounds ? cs_rail_places(&s->rail, u) : 0;
    cs_label_transfer t;

    for (; s->i < places; s->i++) {
        if (!cs_rail_at(&s->rail, u, s->i, &t)) {
            continue;
        }
        const row r = {t.src,   t.dst,   0,           t.chunk, false, cs_label_op(t.kind),
                       t.chunk, t.chunk, ends[t.kind]};
        if (!add_row(s, &r, block)) {
            return false;
        }
        if (t.kind != CS_LABEL_RAW) {
            s->done[t.dst] = t.chunk;
        }
        if (t.kind == CS_LABEL_EXCHANGE) {
            s->done[t.src] = t.chunk;
        }
    }
    return true;
}

/* A tree: r gets its mates' sum, and its own contributions go down. GPU h has those of rails h ..;
 * the second half of them goes to h + 2^j, which adds its rail's. */
static bool add_scatter(cs_servers *s, cs_block *block)
{
    uint32_t levels = cs_log2_ceil(s->l);

    if (s->i == 0) {
        if (!has_room(block, 1)) {
            return false;
        }
        add_part(s, block, s->m, s->l - 1, 0, 0, 1, CS_OP_REDUCE, 0);
        s->i = 1;
    }
    for (; s->i <= levels; s->i++) {
        uint32_t half = 1u << (levels - s->i);
        for (; s->p + half < s->l; s->p += 2 * half) {
            uint32_t to = s->p + half, end = to + half < s->l ? to + half : s->l;
            if (!has_room(block, 2)) {
                return false;
            }
            add_part(s, block, s->m, s->p, to, to, 1, CS_OP_REDUCE, 0);
            if (end > to + 1) {
                add_part(s, block, s->m, s->p, to, to + 1, end - to - 1, CS_OP_COPY, CS_JOIN);
            }
        }
        s->p = 0;
    }
    return true;
}

/* Every GPU of every server gets as many final values again as it has, from `have` GPUs on. */
static bool add_gather(cs_servers *s, cs_block *block)
{
    uint32_t more = s->have < s->l - s->have ? s->have : s->l - s->have;

    for (; s->i < s->n; s->i++) {
        for (; s->p < s->l; s->p++) {
            uint32_t from = (s->p + s->have) % s->l;
            uint32_t span = more < s->l - from ? more : s->l - from;
            if (!has_room(block, 2)) {
                return false;
            }
            add_part(s, block, s->i, from, s->p, from, span, CS_OP_COPY, CS_DONE_DST);
            if (span < more) {
                add_part(s, block, s->i, from, s->p, 0, more - span, CS_OP_COPY,
                         CS_DONE_DST | CS_JOIN);
            }
        }
        s->p = 0;
    }
    return true;
}

/* The shift by one: rail 0's final values go from GPU to GPU, each a phase behind the one before;
 * the last mate's sum of what comes next goes to r. */
static bool add_shift_by_one(cs_servers *s, cs_block *block)
{
    uint32_t raw = cs_rail_given(&s->rail, s->turn), mates = s->l - 1;
    uint32_t last = cs_rail_last_given(s->chunks, s->halves);

    for (; s->i < mates; s->i++) {
        uint32_t round = s->turn - 2 - s->i, c = cs_rail_completed(&s->rail, round);
        uint32_t slot = rail0_slot(s, c);
        if (s->turn < 2 + s->i || round + 1 >= last || c == NONE) {
            continue;
        }
        if (!has_room(block, 1)) {
            return false;
        }
        add_inside(s, block, s->i, s->i + 1, 0, c,
                   what(CS_OP_COPY, s->i == 0 ? c : slot, slot, CS_DONE_DST));
    }
    if (s->i == mates && raw != NONE) {
        if (!has_room(block, 1)) {
            return false;
        }
        add_inside(s, block, mates, 0, 0, raw,
                   what(CS_OP_REDUCE, rail0_slot(s, raw), raw,
                        CS_OWN_DST | (mates == 1 ? CS_OWN_SRC : 0)));
    }
    s->i = mates + 1;
    return true;
}

/* Beside round `turn` - 1. The shifts by 2 .. L in the late server: what is r's, and the other
 * rails' final values; when r has given all, it hands out rail 0's itself. */
static bool add_late_server(cs_servers *s, cs_block *block)
{
    uint32_t raw       = cs_rail_given(&s->rail, s->turn);
    uint32_t out       = s->turn < 2 ? NONE : cs_rail_completed(&s->rail, s->turn - 2);
    bool     is_at_end = s->turn > cs_rail_last_given(s->chunks, s->halves);

    if (s->i < s->l && !add_shift_by_one(s, block)) {
        return false;
    }
    for (; s->shift < s->l; s->shift++) {
        for (; s->p < s->l; s->p++) {
            uint32_t to = s->p + s->shift < s->l ? s->p + s->shift : s->p + s->shift - s->l;
            if (!has_room(block, 2)) {
                return false;
            }
            if (s->p == 0 && raw != NONE) {
                add_inside(s, block, 0, to, to, raw,
                           what(CS_OP_REDUCE, raw, raw, CS_OWN_SRC | (s->l == 2 ? CS_OWN_DST : 0)));
            }
            if (out != NONE && (s->p > 0 || is_at_end)) {
                add_inside(s, block, s->p, to, s->p, out,
                           what(CS_OP_COPY, out, 2 * s->chunks, CS_DONE_DST));
            }
        }
        s->p = 0;
    }
    return true;
}

static bool add_other_servers(cs_servers *s, cs_block *block)
{
    for (; s->i < s->m; s->i++) {
        uint32_t c = s->done[s->i];
        for (; c != NONE && s->shift < s->l; s->shift++) {
            const row r = {s->i,       s->i, s->shift,      c,          false,
                           CS_OP_COPY, c,    2 * s->chunks, CS_DONE_DST};
            if (!add_row(s, &r, block)) {
                return false;
            }
        }
        s->shift = 1;
    }
    return true;
}

/* ---- the stream ---- */

static void begin_turn(cs_servers *s)
{
    for (uint32_t v = 0; v < s->n; v++) {
        s->done[v] = NONE;
    }
    s->part = RAILS;
}

/* The next step of the pre-phase, or what comes behind the last one. */
static void next_step(cs_servers *s)
{
    bool is_exchange = is_exchanged(s->n, s->halves);

    s->round++;
    s->step = is_exchange || s->step + 1 == s->m ? 0 : s->step + 1;
    s->base += s->step > 0 ? 0 : is_exchange ? 1 : s->m;
    s->part = s->base < s->chunks ? SUMS : EARLY_MATES;
}

static void next_turn_of_mates(cs_servers *s)
{
    s->round++;
    if (++s->turn < s->chunks + s->l) {
        return;
    }
    s->turn = 0;
    begin_turn(s);
    s->part = s->is_tree ? SCATTER : RAILS;
}

/* Of the rounds. */
static void next_turn(cs_servers *s, uint32_t turns, part then)
{
    s->round++;
    s->part = then;
    if (++s->turn < turns) {
        begin_turn(s);
    }
}

/* The next part, or the next step, turn or round. */
static void advance(cs_servers *s)
{
    s->i = s->p = 0;
    s->shift    = 1;
    switch (s->part) {
    case SUMS: s->part = RINGS; return;
    case RINGS: next_step(s); return;
    case EARLY_MATES: next_turn_of_mates(s); return;
    case SCATTER: next_turn(s, UINT32_MAX, OVER); return;
    case RAILS:
        if (s->is_tree) {
            next_turn(s, 1 + s->rail.n_rounds, GATHER);
        } else {
            s->part = LATE_SERVER;
        }
        return;
    case LATE_SERVER: s->part = OTHER_SERVERS; return;
    case OTHER_SERVERS: next_turn(s, main_turns(s->n, s->l, s->chunks, s->halves), OVER); return;
    case GATHER:
        s->round++;
        s->have *= 2;
        s->part = s->have < s->l ? GATHER : OVER;
        return;
    case OVER: return;
    }
}

void cs_servers_next(cs_servers *s, cs_block *block)
{
    static bool (*const add[])(cs_servers *, cs_block *) = {[SUMS]          = add_sums,
                                                            [RINGS]         = add_rings,
                                                            [EARLY_MATES]   = add_early_mates,
                                                            [SCATTER]       = add_scatter,
                                                            [RAILS]         = add_rails,
                                                            [LATE_SERVER]   = add_late_server,
                                                            [OTHER_SERVERS] = add_other_servers,
                                                            [GATHER]        = add_gather};

    while (s->part != OVER && add[s->part](s, block)) {
        advance(s);
    }
}

static cs_status build(cs_servers *s, const cs_servers_shape *shape, cs_error *err)
{
    const cs_cluster *c    = &s->scenario->cluster;
    uint32_t          late = shape->late / s->l, r = shape->late % s->l;

    if (s->first == NULL || s->local == NULL || s->done == NULL) {
        return CS_NO_MEMORY(err, "%u servers", s->n);
    }
    for (uint32_t v = 0; v < s->n; v++) {
        s->first[v] = cs_server_first(c, v == s->m ? late : v + (v >= late));
    }
    for (uint32_t p = 0; p < 2 * s->l; p++) {
        s->local[p] = (p + r) % s->l;
    }
    return cs_rail_build(s->n, s->chunks, s->halves, &s->arena, &s->rail, err);
}

cs_status cs_servers_open(const cs_scenario *scenario, const cs_servers_shape *shape,
                          cs_servers **stream_p, cs_error *err)
{
    const cs_cluster *c = &scenario->cluster;
    cs_servers       *s = *stream_p = CS_NEW(cs_servers, 1);

    if (s == NULL) {
        return CS_NO_MEMORY(err, "stragglar over servers");
    }
    s->scenario    = scenario;
    s->n           = cs_n_servers(c);
    s->m           = s->n - 1;
    s->l           = c->gpus_per_server;
    s->chunks      = shape->chunks;
    s->is_tree     = shape->is_tree;
    s->halves      = shape->halves;
    s->have        = 1;
    s->chunk_bytes = scenario->bytes / (s->l * (uint64_t)s->chunks);
    s->n_larger    = (uint32_t)(scenario->bytes % (s->l * (uint64_t)s->chunks));
    s->shift       = 1;
    s->first       = CS_ARENA_NEW(&s->arena, uint32_t, s->n);
    s->local       = CS_ARENA_NEW(&s->arena, uint32_t, 2 * (size_t)s->l);
    s->done        = CS_ARENA_NEW(&s->arena, uint32_t, s->n);
    return build(s, shape, err);
}

void cs_servers_close(cs_servers *stream)
{
    if (stream != NULL) {
        cs_rail_free(&stream->rail);
        cs_arena_free(&stream->arena);
        cs_free(stream);
    }
}
