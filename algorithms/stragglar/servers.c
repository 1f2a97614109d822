/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/servers.h"

#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/roles.h"
#include "algorithms/stragglar/servers_course.h"
#include "base/alloc.h"

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
    LATE_SERVERS,
    OTHER_SERVERS,
    GATHER,
    OVER
} part;

struct cs_servers {
    const cs_scenario *scenario; /* borrowed */
    cs_servers_shape   shape;
    cs_roles           roles;
    uint32_t           chunks, n_turns; /* C; of the main phase */
    bool               is_tree;
    cs_rail            rail;
    bool               borrows_rounds; /* of the rail */
    cs_arena           arena;
    cs_late_course    *course;      /* [N - E] of the late servers; none of a tree */
    uint32_t          *done;        /* [N] chunk that a server completes in this round, or NONE */
    uint64_t           chunk_bytes; /* cs_split() of the buffer: of a chunk, ... */
    uint32_t           n_larger;    /* ... one more of so many */
    part               part;
    uint32_t           base, step; /* of the pre-phase: chunks base .. base + E - 1 are summed */
    uint32_t           turn;       /* of the early mates: 0 .. C + L - 1; of the rounds: u + 1 */
    uint32_t           round;      /* of the transfers that are made */
    uint32_t           have;       /* GATHER: rails whose final values every GPU has */
    uint32_t           v, i, shift, p, j; /* what comes next in a part; begin with 0, shift 1 */
};

/* ---- the plan ---- */

cs_status cs_servers_count_late(const cs_scenario *scenario, uint32_t rank, uint32_t count,
                                cs_servers_late *late_p, cs_error *err)
{
    cs_arena      arena  = {0};
    cs_late_ranks found  = {0};
    cs_status     status = cs_late_ranks_find(scenario, rank, count, &arena, &found, err);

    if (status == CS_OK) {
        *late_p = (cs_servers_late){.rank       = rank,
                                    .count      = count,
                                    .servers    = found.n_servers,
                                    .most       = found.most,
                                    .most_mixed = found.most_mixed,
                                    .early_s    = found.early_s,
                                    .last_s     = found.last_s};
    }
    cs_arena_free(&arena);
    return status;
}

/* Are the sums exchanged between two servers instead of passed around a ring? */
static bool is_exchanged(uint32_t servers, uint32_t early, bool halves)
{
    return servers == 3 && early == 2 && !halves;
}

static uint32_t pre_steps(uint32_t servers, const cs_servers_shape *shape)
{
    uint32_t early = servers - shape->late.servers, chunks = shape->chunks;
    return is_exchanged(servers, early, shape->halves) ? chunks
                                                       : (chunks + early - 1) / early * early;
}

/* The rounds that all rails go through: stored ones, or without its tables what one late server
 * makes of them. */
static cs_rail outline_of(uint32_t servers, const cs_servers_shape *shape,
                          const cs_multi_late_schedule *rounds)
{
    return rounds != NULL
               ? cs_rail_of_rounds(servers, shape->chunks, cs_multi_late_rounds_of(rounds))
               : (cs_rail){.servers  = servers,
                           .chunks   = shape->chunks,
                           .halves   = shape->halves,
                           .n_rounds = cs_rail_rounds(servers, shape->chunks, shape->halves)};
}

/* Early mates along which the final values of a late rank's rail go; 0: everybody gets them from
 * their gateway. */
static uint32_t chain_mates(const cs_servers_shape *shape, const cs_server_roles *roles)
{
    return shape->form == CS_SERVERS_CHAIN ? roles->n_early : 0;
}

/* Who is who, and what the late servers do: all that a stream needs but its rail. */
static cs_status make_parts(const cs_scenario *scenario, const cs_servers_shape *shape,
                            const cs_multi_late_schedule *rounds, cs_arena *arena, cs_roles *roles,
                            cs_late_course **course_p, uint32_t *n_turns_p, cs_error *err)
{
    uint32_t        servers = cs_n_servers(&scenario->cluster), k = shape->late.servers;
    const cs_rail   outline = outline_of(servers, shape, rounds);
    const uint32_t *order   = rounds != NULL ? cs_multi_late_order(rounds) : NULL;
    cs_late_course *course  = CS_ARENA_NEW(arena, cs_late_course, k);
    cs_late_ranks   late;

    if (course == NULL) {
        return CS_NO_MEMORY(err, "%u late servers", k);
    }
    CS_TRY(cs_late_ranks_find(scenario, shape->late.rank, shape->late.count, arena, &late, err));
    CS_TRY(cs_roles_make(scenario, &late, shape->gateways, order, arena, roles, err));
    *n_turns_p = 0;
    for (uint32_t i = 0; i < k; i++) {
        CS_TRY(cs_late_course_make(&outline, servers - k, servers - k + i, arena, &course[i], err));
        uint32_t turns = cs_late_course_turns(&course[i], outline.n_rounds,
                                              chain_mates(shape, &roles->late_server[i]));
        *n_turns_p     = turns > *n_turns_p ? turns : *n_turns_p;
    }
    *course_p = course;
    return CS_OK;
}

double cs_servers_messages(const cs_cluster *cluster, const cs_servers_shape *shape)
{
    return 2.0 * cluster->n_ranks * shape->gateways * shape->chunks;
}

static uint32_t slots_per_chunk(const cs_servers_late *late)
{
    return 1 + late->most_mixed;
}

uint32_t cs_servers_most_chunks(const cs_cluster *cluster, const cs_servers_late *late)
{
    return (uint32_t)(cs_most_slots(cluster->n_ranks) - 1) / slots_per_chunk(late);
}

cs_status cs_servers_plan(const cs_scenario *scenario, const cs_servers_shape *shape,
                          const cs_multi_late_schedule *rounds, cs_plan *plan, cs_error *err)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          n = cs_n_servers(c), l = c->gpus_per_server, chunks = shape->chunks;
    uint32_t          pre    = pre_steps(n, shape) + chunks + l, turns;
    cs_arena          arena  = {0};
    cs_status         status = CS_OK;
    cs_roles          roles;
    cs_late_course   *course;

    if (shape->form == CS_SERVERS_TREE) {
        *plan = (cs_plan){.n_chunks = l,
                          .n_slots  = l,
                          .n_rounds = pre + 1 + cs_rail_rounds(n, 1, false) + cs_log2_ceil(l),
                          .uses = CS_USES_EXCHANGE | CS_USES_NVLINK | CS_USES_SPAN | CS_USES_JOIN,
                          .starts_own = true};
        return CS_OK;
    }
    status = make_parts(scenario, shape, rounds, &arena, &roles, &course, &turns, err);
    cs_arena_free(&arena);
    CS_TRY(status);
    *plan = (cs_plan){.n_chunks = shape->gateways * chunks,
                      .n_slots  = slots_per_chunk(&shape->late) * chunks + 1,
                      .n_rounds = pre + turns,
                      .uses     = CS_USES_EXCHANGE | CS_USES_NVLINK};
    return CS_OK;
}

/* ---- transfers ---- */

static uint64_t bytes_of(const cs_servers *s, uint32_t id)
{
    return s->chunk_bytes + (id < s->n_larger ? 1 : 0);
}

static const cs_server_roles *roles_of(const cs_servers *s, uint32_t v)
{
    return v < s->roles.early ? &s->roles.early_server : &s->roles.late_server[v - s->roles.early];
}

/* For all rails: chunk c of the rail, from a GPU of one server to a GPU of one, which are so many
 * labels behind the rail's gateways there. */
typedef struct row {
    uint32_t src, dst;             /* labels of the servers */
    uint32_t src_shift, dst_shift; /* < L */
    uint32_t chunk;
    cs_op    op;
    uint32_t src_slot, dst_slot, flags;
} row;

/* From s->p on, which is 0 again when all are there; false when the block is full before. */
static bool add_row(cs_servers *s, const row *r, cs_block *block)
{
    const cs_cluster      *c   = &s->scenario->cluster;
    const cs_server_roles *src = roles_of(s, r->src), *dst = roles_of(s, r->dst);
    const uint32_t        *from = src->local + r->src_shift, *to = dst->local + r->dst_shift;
    uint32_t               first = s->roles.first[r->src], second = s->roles.first[r->dst];
    uint32_t               fabric  = r->src == r->dst ? CS_NVLINK : CS_NIC;
    cs_transfer            model   = {.round     = s->round,
                                      .span      = 1,
                                      .flags     = (uint8_t)(s->is_tree ? r->flags & ENDS : r->flags),
                                      .op_fabric = cs_op_fabric(r->op, fabric)};
    bool                   crosses = c->sockets > 1 && r->src == r->dst;
    uint32_t               slots   = cs_slots(r->src_slot, r->dst_slot);
    cs_transfer           *out     = block->transfers + block->count;

    for (; s->p < s->roles.rails && block->count < block->capacity; s->p++, block->count++, out++) {
        uint32_t id = s->p * s->chunks + r->chunk;
        uint32_t a = first + from[src->gate[s->p]], b = second + to[dst->gate[s->p]];
        if (crosses) {
            model.op_fabric = cs_op_fabric(r->op, cs_fabric_of(c, a, b));
        }
        slots = s->is_tree ? cs_slots(id, id) : slots;
        cs_transfer_put(out, a, b, id, slots, bytes_of(s, id), cs_tail_of(&model));
    }
    if (s->p < s->roles.rails) {
        return false;
    }
    s->p = 0;
    return true;
}

/* One transfer inside late server i: chunk c of a rail, between GPUs with these labels. There must
 * be room. */
static void add_inside(const cs_servers *s, cs_block *block, uint32_t i, uint32_t src, uint32_t dst,
                       uint32_t rail, uint32_t c, cs_transfer model)
{
    const uint32_t *local = s->roles.late_server[i].local;
    uint32_t        first = s->roles.first[s->roles.early + i], id = rail * s->chunks + c;

    model.src   = first + local[src];
    model.dst   = first + local[dst];
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
    const uint32_t *local = roles_of(s, v)->local;
    uint32_t        from = s->roles.first[v] + local[src], to = s->roles.first[v] + local[dst];
    uint32_t        fabric = cs_fabric_of(&s->scenario->cluster, from, to);

    block->transfers[block->count++] =
        (cs_transfer){.src       = from,
                      .dst       = to,
                      .chunk     = p,
                      .src_slot  = (uint16_t)p,
                      .dst_slot  = (uint16_t)p,
                      .bytes     = cs_split_range(s->scenario->bytes, s->roles.locals, p, span),
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

/* Where early mates keep chunk c of the j-th late gateway's rail. */
static uint32_t mates_slot(const cs_servers *s, uint32_t j, uint32_t c)
{
    return (1 + j) * s->chunks + c;
}

/* Where final values go that nobody passes on. */
static uint32_t last_slot(const cs_servers *s)
{
    return slots_per_chunk(&s->shape.late) * s->chunks;
}

/* ---- the pre-phase ---- */

/* The chunk that early server v sums up in this step; NONE where there is none. */
static uint32_t summed(const cs_servers *s, uint32_t v)
{
    uint32_t c = s->base, early = s->roles.early;

    if (!is_exchanged(s->roles.n, early, s->shape.halves)) {
        uint32_t ahead = v + early - 1 - s->step;
        c += ahead >= early ? ahead - early : ahead;
    }
    return c < s->chunks ? c : NONE;
}

/* Inside every early server; what came around the ring is there before, but in the first step. */
static bool add_sums(cs_servers *s, cs_block *block)
{
    for (; s->v < s->roles.early; s->v++) {
        uint32_t c = summed(s, s->v);
        for (; c != NONE && s->shift < s->roles.locals; s->shift++) {
            uint32_t  fresh = s->shift == 1 && s->step == 0 ? CS_OWN_DST : 0;
            const row r     = {.src       = s->v,
                               .dst       = s->v,
                               .src_shift = s->roles.locals - s->shift,
                               .chunk     = c,
                               .op        = CS_OP_REDUCE,
                               .src_slot  = c,
                               .dst_slot  = c,
                               .flags     = CS_OWN_SRC | fresh};
            if (!add_row(s, &r, block)) {
                return false;
            }
        }
        s->shift = 1;
    }
    return true;
}

static row between_servers(uint32_t src, uint32_t dst, uint32_t c, cs_op op, uint32_t flags)
{
    return (row){
        .src = src, .dst = dst, .chunk = c, .op = op, .src_slot = c, .dst_slot = c, .flags = flags};
}

static bool add_rings(cs_servers *s, cs_block *block)
{
    uint32_t early = s->roles.early;

    if (is_exchanged(s->roles.n, early, s->shape.halves)) {
        const row r = between_servers(0, 1, s->base, CS_OP_EXCHANGE, 0);
        return add_row(s, &r, block);
    }
    for (; s->step + 1 < early && s->v < early; s->v++) {
        uint32_t  c = summed(s, s->v), next = s->v + 1 == early ? 0 : s->v + 1;
        const row r = between_servers(s->v, next, c, CS_OP_REDUCE, CS_OWN_DST);
        if (c != NONE && !add_row(s, &r, block)) {
            return false;
        }
    }
    return true;
}

/* Early mate number h on the chain of late rank i: it begins with another one for each. */
static uint32_t on_chain(const cs_server_roles *r, uint32_t i, uint32_t h)
{
    return r->n_late + (h + i) % r->n_early;
}

/* Which early mate holds chunk c of the rail of late gateway j. */
static uint32_t holder(const cs_server_roles *r, uint32_t j, uint32_t c)
{
    return r->n_late + (j + c) % r->n_early;
}

static bool is_chain(const cs_servers *s, const cs_server_roles *r)
{
    return s->shape.form != CS_SERVERS_DIRECT && r->n_early > 0;
}

/* What an early mate gets of another one: chunk `turn` of the late gateways' rails that it holds
 * (unless chains do that), and of its own. Adds from s->j on. */
static bool add_mate(cs_servers *s, cs_block *block, uint32_t i, uint32_t src, uint32_t dst)
{
    const cs_server_roles *r     = &s->roles.late_server[i];
    uint32_t               c     = s->turn;
    uint32_t               flags = CS_OWN_SRC | (s->shift == 1 ? CS_OWN_DST : 0);

    for (; !is_chain(s, r) && s->j < r->n_late_gates; s->j++) {
        if (holder(r, s->j, c) != dst) {
            continue;
        }
        if (!has_room(block, 1)) {
            return false;
        }
        uint32_t slot = mates_slot(s, s->j, c);
        add_inside(s, block, i, src, dst, r->rail[s->j], c, what(CS_OP_REDUCE, slot, slot, flags));
    }
    if (r->rail[dst] != CS_NO_RAIL) {
        if (!has_room(block, 1)) {
            return false;
        }
        add_inside(s, block, i, src, dst, r->rail[dst], c, what(CS_OP_REDUCE, c, c, flags));
    }
    s->j = 0;
    return true;
}

/* From every early mate to the shift-th next one, all shifts. */
static bool add_mates(cs_servers *s, cs_block *block, uint32_t i)
{
    const cs_server_roles *r = &s->roles.late_server[i];

    for (; s->turn < s->chunks && s->shift < r->n_early; s->shift++) {
        for (; s->p < r->n_early; s->p++) {
            uint32_t to = r->n_late + (s->p + s->shift) % r->n_early;
            if (!add_mate(s, block, i, r->n_late + s->p, to)) {
                return false;
            }
        }
        s->p = 0;
    }
    return true;
}

/* The late ranks' rails go one mate further, a chunk behind each other. */
static bool add_chains(cs_servers *s, cs_block *block, uint32_t i)
{
    const cs_server_roles *r = &s->roles.late_server[i];
    uint32_t               t = s->turn;

    for (; is_chain(s, r) && s->i < r->n_late; s->i++) {
        for (; s->p + 1 < r->n_early; s->p++) {
            uint32_t c = t - s->p, slot = mates_slot(s, s->i, c);
            if (t < s->p || c >= s->chunks) {
                continue;
            }
            if (!has_room(block, 1)) {
                return false;
            }
            add_inside(s, block, i, on_chain(r, s->i, s->p), on_chain(r, s->i, s->p + 1),
                       r->rail[s->i], c,
                       what(CS_OP_REDUCE, slot, slot, CS_OWN_DST | (s->p == 0 ? CS_OWN_SRC : 0)));
        }
        s->p = 0;
    }
    return true;
}

/* In every late server, beside the pre-phase of the others. */
static bool add_early_mates(cs_servers *s, cs_block *block)
{
    for (; s->v < s->roles.n - s->roles.early; s->v++) {
        uint32_t n_early = s->roles.late_server[s->v].n_early;
        if (!add_mates(s, block, s->v)) {
            return false;
        }
        s->shift = n_early > 0 ? n_early : 1;
        if (!add_chains(s, block, s->v)) {
            return false;
        }
        s->shift = 1;
        s->i     = 0;
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
        const row r = between_servers(t.src, t.dst, t.chunk, cs_label_op(t.kind), ends[t.kind]);
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
    uint32_t l = s->roles.locals, levels = cs_log2_ceil(l);

    if (s->i == 0) {
        if (!has_room(block, 1)) {
            return false;
        }
        add_part(s, block, s->roles.early, l - 1, 0, 0, 1, CS_OP_REDUCE, 0);
        s->i = 1;
    }
    for (; s->i <= levels; s->i++) {
        uint32_t half = 1u << (levels - s->i);
        for (; s->p + half < l; s->p += 2 * half) {
            uint32_t to = s->p + half, end = to + half < l ? to + half : l;
            if (!has_room(block, 2)) {
                return false;
            }
            add_part(s, block, s->roles.early, s->p, to, to, 1, CS_OP_REDUCE, 0);
            if (end > to + 1) {
                add_part(s, block, s->roles.early, s->p, to, to + 1, end - to - 1, CS_OP_COPY,
                         CS_JOIN);
            }
        }
        s->p = 0;
    }
    return true;
}

/* Every GPU of every server gets as many final values again as it has, from `have` GPUs on. */
static bool add_gather(cs_servers *s, cs_block *block)
{
    uint32_t l = s->roles.locals, more = s->have < l - s->have ? s->have : l - s->have;

    for (; s->i < s->roles.n; s->i++) {
        for (; s->p < l; s->p++) {
            uint32_t from = (s->p + s->have) % l;
            uint32_t span = more < l - from ? more : l - from;
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

/* What late server i does in this turn, which is beside round `turn` - 1. */
typedef struct duty {
    uint32_t server;    /* i */
    uint32_t raw;       /* chunk of the next round, or NONE */
    uint32_t out;       /* chunk that the round before completed, or NONE */
    bool     is_at_end; /* all has been given: late ranks hand out their rails themselves */
} duty;

static duty duty_of(const cs_servers *s, uint32_t i)
{
    const cs_late_course *course = &s->course[i];
    uint32_t              rounds = s->rail.n_rounds, t = s->turn;

    return (duty){.server    = i,
                  .raw       = t < rounds ? course->given[t] : NONE,
                  .out       = t >= 2 && t - 2 < rounds ? course->completed[t - 2] : NONE,
                  .is_at_end = t > course->last_given};
}

/* Slot 0 of a chain: the late ranks' final values go from mate to mate, each a phase behind the one
 * before; the last mate's sum of what comes next goes to the late rank. */
static bool add_links(cs_servers *s, cs_block *block, const duty *d)
{
    const cs_server_roles *r      = &s->roles.late_server[d->server];
    const cs_late_course  *course = &s->course[d->server];
    uint32_t               n      = r->n_early;

    for (; s->i < r->n_late; s->i++) {
        for (; s->p < n; s->p++) {
            uint32_t round = s->turn - 2 - s->p;
            if (s->turn < 2 + s->p || round + 1 >= course->last_given ||
                course->completed[round] == NONE) {
                continue;
            }
            if (!has_room(block, 1)) {
                return false;
            }
            uint32_t c = course->completed[round], slot = mates_slot(s, s->i, c);
            add_inside(s, block, d->server, s->p == 0 ? s->i : on_chain(r, s->i, s->p - 1),
                       on_chain(r, s->i, s->p), r->rail[s->i], c,
                       what(CS_OP_COPY, s->p == 0 ? c : slot, slot, CS_DONE_DST));
        }
        if (d->raw != NONE) {
            if (!has_room(block, 1)) {
                return false;
            }
            add_inside(s, block, d->server, on_chain(r, s->i, n - 1), s->i, r->rail[s->i], d->raw,
                       what(CS_OP_REDUCE, mates_slot(s, s->i, d->raw), d->raw,
                            CS_OWN_DST | (n == 1 ? CS_OWN_SRC : 0)));
        }
        s->p = 0;
    }
    return true;
}

/* A late rank's own for the rail of gateway `to`, whose slot begins with it if nothing else has
 * been added there: late ones get something from a mate's sum first (on a chain all of them, else
 * the first one), early ones from other mates, if there are any. */
static void add_raw(const cs_servers *s, cs_block *block, const duty *d, uint32_t src, uint32_t to)
{
    const cs_server_roles *r = &s->roles.late_server[d->server];
    bool has_sum  = to < r->n_late ? is_chain(s, r) || (to == 0 && r->n_early > 0) : r->n_early > 1;
    bool is_first = to == 0 ? s->shift == 1 : src + 1 == (to < r->n_late ? to : r->n_late);

    add_inside(
        s, block, d->server, src, to, r->rail[to], d->raw,
        what(CS_OP_REDUCE, d->raw, d->raw, CS_OWN_SRC | (is_first && !has_sum ? CS_OWN_DST : 0)));
}

static void add_final(const cs_servers *s, cs_block *block, const duty *d, uint32_t src,
                      uint32_t to)
{
    uint32_t rail = s->roles.late_server[d->server].rail[src];

    add_inside(s, block, d->server, src, to, rail, d->out,
               what(CS_OP_COPY, d->out, last_slot(s), CS_DONE_DST));
}

static uint32_t shifted(const cs_servers *s, uint32_t p)
{
    return p + s->shift < s->roles.locals ? p + s->shift : p + s->shift - s->roles.locals;
}

/* The other slots of a chain. */
static bool add_shifts(cs_servers *s, cs_block *block, const duty *d)
{
    uint32_t late = s->roles.late_server[d->server].n_late;

    for (; s->shift < s->roles.locals; s->shift++) {
        for (; s->p < s->roles.locals; s->p++) {
            uint32_t to = shifted(s, s->p);
            if (!has_room(block, 2)) {
                return false;
            }
            if (s->p < late && d->raw != NONE) {
                add_raw(s, block, d, s->p, to);
            }
            if (d->out != NONE && (s->p >= late || to < late || d->is_at_end)) {
                add_final(s, block, d, s->p, to);
            }
        }
        s->p = 0;
    }
    return true;
}

/* To the rail of gateway `to`: a late rank's own, or from its holder what the early mates have. */
static void add_direct(const cs_servers *s, cs_block *block, const duty *d, uint32_t src,
                       uint32_t to)
{
    const cs_server_roles *r = &s->roles.late_server[d->server];

    if (src < r->n_late) {
        add_raw(s, block, d, src, to);
    } else if (to < r->n_late && holder(r, to, d->raw) == src) {
        uint32_t own   = r->n_early == 1 ? CS_OWN_SRC : 0;
        uint32_t fresh = to == 0 ? CS_OWN_DST : 0;
        add_inside(s, block, d->server, src, to, r->rail[to], d->raw,
                   what(CS_OP_REDUCE, mates_slot(s, to, d->raw), d->raw, own | fresh));
    }
}

/* All slots of a direct server: in each first what is raw, then final values. */
static bool add_all_shifts(cs_servers *s, cs_block *block, const duty *d)
{
    const cs_server_roles *r = &s->roles.late_server[d->server];
    uint32_t               l = s->roles.locals;

    for (; s->shift < l; s->shift++) {
        for (; s->p < 2 * l; s->p++) {
            uint32_t src = s->p < l ? s->p : s->p - l, to = shifted(s, src);
            if (!has_room(block, 1)) {
                return false;
            }
            if (s->p < l && d->raw != NONE && r->rail[to] != CS_NO_RAIL) {
                add_direct(s, block, d, src, to);
            }
            if (s->p >= l && d->out != NONE && r->rail[src] != CS_NO_RAIL) {
                add_final(s, block, d, src, to);
            }
        }
        s->p = 0;
    }
    return true;
}

static bool add_late_servers(cs_servers *s, cs_block *block)
{
    for (; s->v < s->roles.n - s->roles.early; s->v++) {
        const cs_server_roles *r     = &s->roles.late_server[s->v];
        const duty             d     = duty_of(s, s->v);
        bool                   chain = is_chain(s, r);
        if (chain && s->i < r->n_late && !add_links(s, block, &d)) {
            return false;
        }
        if (chain ? !add_shifts(s, block, &d) : !add_all_shifts(s, block, &d)) {
            return false;
        }
        s->i     = 0;
        s->shift = 1;
    }
    return true;
}

static bool add_other_servers(cs_servers *s, cs_block *block)
{
    for (; s->v < s->roles.early; s->v++) {
        uint32_t c = s->done[s->v];
        for (; c != NONE && s->shift < s->roles.locals; s->shift++) {
            const row r = {.src       = s->v,
                           .dst       = s->v,
                           .dst_shift = s->shift,
                           .chunk     = c,
                           .op        = CS_OP_COPY,
                           .src_slot  = c,
                           .dst_slot  = last_slot(s),
                           .flags     = CS_DONE_DST};
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
    for (uint32_t v = 0; v < s->roles.n; v++) {
        s->done[v] = NONE;
    }
    s->part = RAILS;
}

/* The next step of the pre-phase, or what comes behind the last one. */
static void next_step(cs_servers *s)
{
    uint32_t early       = s->roles.early;
    bool     is_exchange = is_exchanged(s->roles.n, early, s->shape.halves);

    s->round++;
    s->step = is_exchange || s->step + 1 == early ? 0 : s->step + 1;
    s->base += s->step > 0 ? 0 : is_exchange ? 1 : early;
    s->part = s->base < s->chunks ? SUMS : EARLY_MATES;
}

static void next_turn_of_mates(cs_servers *s)
{
    s->round++;
    if (++s->turn < s->chunks + s->roles.locals) {
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
    s->v = s->i = s->p = s->j = 0;
    s->shift                  = 1;
    switch (s->part) {
    case SUMS: s->part = RINGS; return;
    case RINGS: next_step(s); return;
    case EARLY_MATES: next_turn_of_mates(s); return;
    case SCATTER: next_turn(s, UINT32_MAX, OVER); return;
    case RAILS:
        if (s->is_tree) {
            next_turn(s, 1 + s->rail.n_rounds, GATHER);
        } else {
            s->part = LATE_SERVERS;
        }
        return;
    case LATE_SERVERS: s->part = OTHER_SERVERS; return;
    case OTHER_SERVERS: next_turn(s, s->n_turns, OVER); return;
    case GATHER:
        s->round++;
        s->have *= 2;
        s->part = s->have < s->roles.locals ? GATHER : OVER;
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
                                                            [LATE_SERVERS]  = add_late_servers,
                                                            [OTHER_SERVERS] = add_other_servers,
                                                            [GATHER]        = add_gather};

    while (s->part != OVER && add[s->part](s, block)) {
        advance(s);
    }
}

static cs_status build(cs_servers *s, const cs_multi_late_schedule *rounds, cs_error *err)
{
    uint32_t servers = cs_n_servers(&s->scenario->cluster);

    s->done = CS_ARENA_NEW(&s->arena, uint32_t, servers);
    if (s->done == NULL) {
        return CS_NO_MEMORY(err, "%u servers", servers);
    }
    CS_TRY(make_parts(s->scenario, &s->shape, rounds, &s->arena, &s->roles, &s->course, &s->n_turns,
                      err));
    if (rounds != NULL) {
        s->rail           = outline_of(servers, &s->shape, rounds);
        s->borrows_rounds = true;
        return CS_OK;
    }
    return cs_rail_build(servers, s->chunks, s->shape.halves, &s->arena, &s->rail, err);
}

cs_status cs_servers_open(const cs_scenario *scenario, const cs_servers_shape *shape,
                          const cs_multi_late_schedule *rounds, cs_servers **stream_p,
                          cs_error *err)
{
    cs_servers *s = *stream_p = CS_NEW(cs_servers, 1);
    uint64_t    ids           = (uint64_t)shape->gateways * shape->chunks;

    if (s == NULL) {
        return CS_NO_MEMORY(err, "stragglar over servers");
    }
    s->scenario    = scenario;
    s->shape       = *shape;
    s->chunks      = shape->chunks;
    s->is_tree     = shape->form == CS_SERVERS_TREE;
    s->have        = 1;
    s->chunk_bytes = scenario->bytes / ids;
    s->n_larger    = (uint32_t)(scenario->bytes % ids);
    s->shift       = 1;
    return build(s, rounds, err);
}

void cs_servers_close(cs_servers *stream)
{
    if (stream != NULL) {
        if (!stream->borrows_rounds) {
            cs_rail_free(&stream->rail);
        }
        cs_arena_free(&stream->arena);
        cs_free(stream);
    }
}
