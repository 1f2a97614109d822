/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One ring per local rank: see rail_rings.h.
 *
 * Pass number `pass` runs the stages of a body, each for its own iteration (pass + shift); an
 * iteration out of range is skipped. Collecting, iteration -1 are the blocks that a rank has from
 * the beginning, iteration i >= 0 those that ring step i brought. Handing out, iteration j is the
 * partial sum that ring step j passes on; iteration N - 1 is the rank's own block.
 */
#include "algorithms/lib/rail_rings.h"

typedef enum stage_kind {
    RING,   /* (k, p) -> (k + 1, p) */
    MATES,  /* to the other local ranks, or to those of the socket: of a rank's own arrivals */
    ACROSS, /* to next(p) */
    PASSED, /* next(p)'s to its mates */
} stage_kind;

typedef struct stage {
    stage_kind kind;
    int        shift;
} stage;

enum { MOST_STAGES = 4 };

typedef struct body {
    uint32_t n_stages;
    int      first; /* pass 0 runs iteration `first` of a stage without shift */
    stage    stages[MOST_STAGES];
} body;

/* While ring step i runs: what came with step i - 1 goes to the mates and across, and what came
 * across before is passed on. Handing out: what step i + 1 needs is added up meanwhile. */
static const body bodies[2][2] = {
    [CS_RAIL_MESH]    = {{2, -1, {{RING, 0}, {MATES, 0}}}, {2, -1, {{MATES, 1}, {RING, 0}}}},
    [CS_RAIL_SOCKETS] = {{4, 0, {{RING, 0}, {PASSED, -2}, {MATES, -1}, {ACROSS, -1}}},
                         {4, -1, {{PASSED, 1}, {MATES, 1}, {ACROSS, 1}, {RING, 0}}}},
};

/* Slots of a segment: two that take turns for what a ring brings, two for what comes across, the
 * rank's own finished sum, and one for what is final and not read again. */
enum { TURNS = 0, CROSSED = 2, HOME = 4, FINAL = 5, SLOTS = 6 };

static uint32_t locals(const cs_rail_rings *r)
{
    return r->cluster->gpus_per_server;
}

static bool is_handing_out(const cs_rail_rings *r)
{
    return r->hands_out && !r->in_second_half;
}

static const body *body_of(const cs_rail_rings *r)
{
    return &bodies[r->exchange][is_handing_out(r)];
}

/* Passes of one half. */
static uint32_t passes(const cs_rail_rings *r)
{
    bool two_more = r->exchange == CS_RAIL_SOCKETS && !is_handing_out(r);
    return cs_n_servers(r->cluster) + (two_more ? 1 : 0);
}

uint32_t cs_rail_slots(const cs_rail_rings *r)
{
    return SLOTS * r->segments;
}

uint32_t cs_rail_across(uint32_t p, uint32_t n_locals)
{
    uint32_t q = n_locals / 2;
    return p < q ? p + q : (p - q + 1) % q;
}

uint32_t cs_rail_across_from(uint32_t p, uint32_t n_locals)
{
    uint32_t q = n_locals / 2;
    return p < q ? q + (p + q - 1) % q : p - q;
}

/* How many transfers a rank has in a stage. */
static uint32_t turns_of(const cs_rail_rings *r, stage_kind kind)
{
    uint32_t l = locals(r);

    if (kind == RING || kind == ACROSS) {
        return 1;
    }
    return r->exchange == CS_RAIL_MESH ? l - 1 : l / 2 - 1;
}

/* Partner number `turn` of p: the local ranks (of the socket) after it, cyclically. */
static uint32_t mate(const cs_rail_rings *r, uint32_t p, uint32_t turn)
{
    uint32_t size  = r->exchange == CS_RAIL_MESH ? locals(r) : locals(r) / 2;
    uint32_t first = p < size ? 0 : size;
    uint32_t place = p - first + turn + 1;
    return first + (place < size ? place : place - size);
}

/* k - steps modulo N, for steps >= -N. */
static uint32_t back(const cs_rail_rings *r, uint32_t k, int64_t steps)
{
    int64_t n = cs_n_servers(r->cluster);
    return (uint32_t)(((int64_t)k - steps % n + n) % n);
}

static void put(const cs_rail_rings *r, cs_transfer *t, uint32_t block, uint32_t src, uint32_t dst)
{
    t->src   = src;
    t->dst   = dst;
    t->chunk = block * r->segments + r->segment;
    t->bytes = cs_split(cs_split(r->bytes, r->cluster->n_ranks, block), r->segments, r->segment);
    t->span  = 1;
    t->src_slot += (uint16_t)(SLOTS * r->segment);
    t->dst_slot += (uint16_t)(SLOTS * r->segment);
    t->op_fabric = cs_op_fabric(is_handing_out(r) ? CS_OP_REDUCE : CS_OP_COPY,
                                cs_fabric_of(r->cluster, src, dst));
}

static uint16_t turn_slot(uint32_t first, int64_t iteration)
{
    return (uint16_t)(first + (uint32_t)(iteration & 1));
}

/* Where a rank keeps the blocks of an iteration that it collected; its own (-1): HOME. */
static uint16_t held_slot(int64_t iteration)
{
    return iteration < 0 ? HOME : turn_slot(TURNS, iteration);
}

/* AllGather, iteration `it` of a stage for the rank (k, p). */
static void collect(const cs_rail_rings *r, cs_transfer *t, stage_kind kind, int64_t it)
{
    uint32_t l = locals(r), k = r->server, p = r->local, base = k * l;
    uint32_t from  = kind == RING ? back(r, k, it) : back(r, k, it + 1);
    bool     first = kind == RING ? it == 0 : it < 0;

    t->flags    = CS_DONE_DST;
    t->src_slot = held_slot(kind == RING ? it - 1 : it);
    t->dst_slot = FINAL;
    if (first && kind != PASSED && !r->hands_out) {
        t->flags |= CS_OWN_SRC;
    }
    if (kind == RING) {
        t->dst_slot   = held_slot(it);
        uint32_t next = k + 1 < cs_n_servers(r->cluster) ? base + l + p : p;
        put(r, t, from * l + p, base + p, next);
    } else if (kind == ACROSS) {
        t->dst_slot = turn_slot(CROSSED, it);
        put(r, t, from * l + p, base + p, base + cs_rail_across(p, l));
    } else if (kind == MATES) {
        put(r, t, from * l + p, base + p, base + mate(r, p, r->turn));
    } else {
        t->src_slot = turn_slot(CROSSED, it);
        put(r, t, from * l + cs_rail_across_from(p, l), base + p, base + mate(r, p, r->turn));
    }
}

/* Where the partial sum of iteration j is added up at the rank whose ring passes it on. */
static uint16_t sum_slot(const cs_rail_rings *r, int64_t j)
{
    return j == (int64_t)cs_n_servers(r->cluster) - 1 ? HOME : turn_slot(TURNS, j);
}

/* The first that is added at its destination, and the last. */
static uint8_t first_and_last(const cs_rail_rings *r, stage_kind kind, int64_t j)
{
    bool     is_mesh = r->exchange == CS_RAIL_MESH;
    uint32_t last    = cs_n_servers(r->cluster) - 1;
    bool     begins  = r->turn == 0 && (kind == MATES || kind == PASSED);
    bool     ends    = false;

    begins = begins || (kind == ACROSS && locals(r) == 2) || (kind == RING && locals(r) == 1);
    if (kind == RING) {
        ends = j + 1 == last;
    } else if (last == 0) {
        ends = is_mesh ? kind == MATES && r->turn + 2 == locals(r) : kind == ACROSS;
    }
    return (uint8_t)((begins ? CS_OWN_DST : 0) | (ends ? CS_DONE_DST : 0));
}

/* ReduceScatter, iteration j of a stage for the rank (k, p): what it receives, except that in RING
 * it is the sender. */
static void hand_out(const cs_rail_rings *r, cs_transfer *t, stage_kind kind, int64_t j)
{
    uint32_t l = locals(r), k = r->server, p = r->local, base = k * l;
    uint32_t to = back(r, k, j + 1);

    t->flags    = first_and_last(r, kind, j);
    t->dst_slot = sum_slot(r, j);
    if (kind == RING) {
        uint32_t next = k + 1 < cs_n_servers(r->cluster) ? base + l + p : p;
        t->flags |= l == 1 && j == 0 ? CS_OWN_SRC : 0;
        t->src_slot = sum_slot(r, j);
        t->dst_slot = sum_slot(r, j + 1);
        put(r, t, to * l + p, base + p, next);
    } else if (kind == MATES) {
        t->flags |= CS_OWN_SRC;
        put(r, t, to * l + p, base + mate(r, p, r->turn), base + p);
    } else if (kind == ACROSS) {
        t->flags |= l == 2 ? CS_OWN_SRC : 0;
        t->src_slot = turn_slot(CROSSED, j);
        put(r, t, to * l + p, base + cs_rail_across(p, l), base + p);
    } else {
        t->flags |= CS_OWN_SRC;
        t->dst_slot = turn_slot(CROSSED, j);
        put(r, t, to * l + cs_rail_across_from(p, l), base + mate(r, p, r->turn), base + p);
    }
}

/* Does the stage exist for this iteration? Otherwise it is skipped. */
static bool is_there(const cs_rail_rings *r, const stage *s, int64_t it)
{
    int64_t last_step = (int64_t)cs_n_servers(r->cluster) - 2;
    int64_t low       = s->kind == RING || is_handing_out(r) ? 0 : -1;
    int64_t high      = s->kind != RING && is_handing_out(r) ? last_step + 1 : last_step;

    return it >= low && it <= high && turns_of(r, s->kind) > 0;
}

static int64_t iteration(const cs_rail_rings *r, const stage *s)
{
    return (int64_t)r->pass + body_of(r)->first + s->shift;
}

/* Does anybody send in this pass? */
static bool is_busy(const cs_rail_rings *r)
{
    const body *b = body_of(r);

    for (uint32_t i = 0; i < b->n_stages; i++) {
        if (is_there(r, &b->stages[i], iteration(r, &b->stages[i]))) {
            return true;
        }
    }
    return false;
}

uint32_t cs_rail_rounds(const cs_rail_rings *rings)
{
    cs_rail_rings r     = *rings;
    uint32_t      count = 0;

    for (int half = 0; half < 2; half++) {
        r.in_second_half = half == 1;
        bool is_wanted   = half == 0 ? r.hands_out : r.collects;
        for (r.pass = 0; is_wanted && r.pass < passes(&r); r.pass++) {
            count += is_busy(&r);
        }
    }
    return count;
}

/* Go on to the next stage, pass or half. */
static void next_stage(cs_rail_rings *r)
{
    if (++r->stage < body_of(r)->n_stages) {
        return;
    }
    r->stage = 0;
    r->round += is_busy(r);
    if (++r->pass < passes(r)) {
        return;
    }
    r->pass           = 0;
    r->is_over        = r->in_second_half || !r->hands_out || !r->collects;
    r->in_second_half = true;
}

/* Go on to the next transfer of the stage; false when there is none. All ranks take turn t before
 * any takes turn t + 1, so that one port per rank serves each turn at once. */
static bool next_place(cs_rail_rings *r, uint32_t n_turns)
{
    if (++r->local < locals(r)) {
        return true;
    }
    r->local = 0;
    if (++r->server < cs_n_servers(r->cluster)) {
        return true;
    }
    r->server = 0;
    if (++r->turn < n_turns) {
        return true;
    }
    r->turn = 0;
    if (++r->segment < r->segments) {
        return true;
    }
    r->segment = 0;
    return false;
}

void cs_rail_next(cs_rail_rings *r, cs_block *block)
{
    block->count = 0;
    while (!r->is_over && block->count < block->capacity) {
        const body  *b       = body_of(r);
        const stage *s       = &b->stages[r->stage];
        int64_t      it      = (int64_t)r->pass + b->first + s->shift;
        bool         is_more = is_there(r, s, it);
        uint32_t     n_turns = turns_of(r, s->kind);

        while (is_more && block->count < block->capacity) {
            cs_transfer *t = &block->transfers[block->count++];
            *t             = (cs_transfer){.round = r->round};
            if (is_handing_out(r)) {
                hand_out(r, t, s->kind, it);
            } else {
                collect(r, t, s->kind, it);
            }
            is_more = next_place(r, n_turns);
        }
        if (!is_more) {
            next_stage(r);
        }
    }
}
