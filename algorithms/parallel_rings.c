/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parallel Rings: one ring per local rank, so that all NICs of a server work all the time.
 *
 * N servers of L ranks; rank k L + p is local rank p of server k. Ring p joins the local ranks p of
 * all servers. Collecting (AllGather): in step i the rank (k, p) sends the block of (k - i, p) to
 * (k + 1, p); what has come over the network is handed to the other local ranks while the
 * rings turn on. Handing out (ReduceScatter) is the same in reversed time: before ring p
 * passes on the partial sum of block (b, p), the local ranks add theirs.
 *
 * Inside a server, from the rank (k, p) that has a block to all others:
 *   mesh     one transfer to every other local rank.
 *   sockets  L even, the first half of the local ranks on one socket: to the others of the socket
 *            (mates), and once across to next(p), which hands it to its own mates, so that every
 *            block crosses between the sockets once. next() is a bijection that alternates
 *            between the sockets: 0 -> q -> 1 -> q + 1 -> .. -> 0 with q = L / 2.
 *
 * A *stage* is one kind of transfer for all ranks and all segments. The stages stand in an order in
 * which every port serves them without waiting for a later ring step. A block is cut in `segments`
 * chunks. An iterator: O(1) state, O(1) per transfer, no allocation.
 *
 * Local rank p of every server must be on the same rail.
 *
 * Source: Parallel Rings (multi-HCA AllGather for dense GPU servers); the last exchange between two
 * sockets, which the paper's listing leaves out, ReduceScatter and AllReduce are this project's.
 */
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <math.h>

typedef enum rail_exchange { RAIL_MESH, RAIL_SOCKETS } rail_exchange;

/* Set the first group, the rest to zero. */
typedef struct rail_rings {
    const cs_cluster *cluster;
    rail_exchange     exchange;
    uint32_t          segments; /* chunks per block, >= 1 */
    uint64_t          bytes;    /* of all blocks together, split in blocks, then in chunks */
    bool              hands_out, collects; /* ReduceScatter, AllGather; both: AllReduce */
    bool              is_one_server;       /* of the first one alone */

    bool     in_second_half; /* collecting after handing out */
    bool     is_over;
    uint32_t round;                  /* passes so far in which somebody sent */
    uint32_t pass, stage;            /* body and place in it */
    uint32_t segment, server, local; /* the next sender (collecting) or receiver (handing out) */
    uint32_t turn;                   /* its next partner */
} rail_rings;

/* ---- stages ----
 *
 * Pass number `pass` runs the stages of a body, each for its own iteration (pass + shift); an
 * iteration out of range is skipped. Collecting, iteration -1 are the blocks that a rank has from
 * the beginning, iteration i >= 0 those that ring step i brought. Handing out, iteration j is the
 * partial sum that ring step j passes on; iteration N - 1 is the rank's own block. */

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
    [RAIL_MESH]    = {{2, -1, {{RING, 0}, {MATES, 0}}}, {2, -1, {{MATES, 1}, {RING, 0}}}},
    [RAIL_SOCKETS] = {{4, 0, {{RING, 0}, {PASSED, -2}, {MATES, -1}, {ACROSS, -1}}},
                      {4, -1, {{PASSED, 1}, {MATES, 1}, {ACROSS, 1}, {RING, 0}}}},
};

/* Slots of a segment: two that take turns for what a ring brings, two for what comes across, the
 * rank's own finished sum, and one for what is final and not read again. */
enum { TURNS = 0, CROSSED = 2, HOME = 4, FINAL = 5, SLOTS = 6 };

static uint32_t locals(const rail_rings *r)
{
    return r->cluster->gpus_per_server;
}

static bool is_handing_out(const rail_rings *r)
{
    return r->hands_out && !r->in_second_half;
}

static const body *body_of(const rail_rings *r)
{
    return &bodies[r->exchange][is_handing_out(r)];
}

/* Passes of one half. */
static uint32_t passes(const rail_rings *r)
{
    bool two_more = r->exchange == RAIL_SOCKETS && !is_handing_out(r);
    return cs_n_servers(r->cluster) + (two_more ? 1 : 0);
}

/* Slots that the stream needs. */
static uint32_t slots_of(const rail_rings *r)
{
    return SLOTS * r->segments;
}

/* The rank across the sockets that gets what local rank p has, and the one it gets from; there are
 * as many local ranks on one socket as on the other. */
static uint32_t across_to(uint32_t p, uint32_t n_locals)
{
    uint32_t q = n_locals / 2;
    return p < q ? p + q : (p + 1 < n_locals ? p + 1 - q : 0);
}

static uint32_t across_from(uint32_t p, uint32_t n_locals)
{
    uint32_t q = n_locals / 2;
    return p < q ? (p > 0 ? p : q) + q - 1 : p - q;
}

/* How many transfers a rank has in a stage. */
static uint32_t turns_of(const rail_rings *r, stage_kind kind)
{
    uint32_t l = locals(r);

    if (kind == RING || kind == ACROSS) {
        return 1;
    }
    return r->exchange == RAIL_MESH ? l - 1 : l / 2 - 1;
}

/* Partner number `turn` of p: the local ranks (of the socket) after it, cyclically. */
static uint32_t mate(const rail_rings *r, uint32_t p, uint32_t turn)
{
    uint32_t size  = r->exchange == RAIL_MESH ? locals(r) : locals(r) / 2;
    uint32_t first = p < size ? 0 : size;
    uint32_t place = p - first + turn + 1;
    return first + (place < size ? place : place - size);
}

/* k - steps modulo N, for steps >= -N. */
static uint32_t back(const rail_rings *r, uint32_t k, int64_t steps)
{
    int64_t n = cs_n_servers(r->cluster);
    return (uint32_t)(((int64_t)k - steps % n + n) % n);
}

static void put(const rail_rings *r, cs_transfer *t, uint32_t block, uint32_t src, uint32_t dst)
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
static void collect(const rail_rings *r, cs_transfer *t, stage_kind kind, int64_t it)
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
        put(r, t, from * l + p, base + p, base + across_to(p, l));
    } else if (kind == MATES) {
        put(r, t, from * l + p, base + p, base + mate(r, p, r->turn));
    } else {
        t->src_slot = turn_slot(CROSSED, it);
        put(r, t, from * l + across_from(p, l), base + p, base + mate(r, p, r->turn));
    }
}

/* Where the partial sum of iteration j is added up at the rank whose ring passes it on. */
static uint16_t sum_slot(const rail_rings *r, int64_t j)
{
    return j == (int64_t)cs_n_servers(r->cluster) - 1 ? HOME : turn_slot(TURNS, j);
}

/* The first that is added at its destination, and the last. */
static uint8_t first_and_last(const rail_rings *r, stage_kind kind, int64_t j)
{
    bool     is_mesh = r->exchange == RAIL_MESH;
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
static void hand_out(const rail_rings *r, cs_transfer *t, stage_kind kind, int64_t j)
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
        put(r, t, to * l + p, base + across_to(p, l), base + p);
    } else {
        t->flags |= CS_OWN_SRC;
        t->dst_slot = turn_slot(CROSSED, j);
        put(r, t, to * l + across_from(p, l), base + mate(r, p, r->turn), base + p);
    }
}

/* Does the stage exist for this iteration? Otherwise it is skipped. */
static bool is_there(const rail_rings *r, const stage *s, int64_t it)
{
    int64_t last_step = (int64_t)cs_n_servers(r->cluster) - 2;
    int64_t low       = s->kind == RING || is_handing_out(r) ? 0 : -1;
    int64_t high      = s->kind != RING && is_handing_out(r) ? last_step + 1 : last_step;

    return it >= low && it <= high && turns_of(r, s->kind) > 0;
}

static int64_t iteration(const rail_rings *r, const stage *s)
{
    return (int64_t)r->pass + body_of(r)->first + s->shift;
}

/* Does anybody send in this pass? */
static bool is_busy(const rail_rings *r)
{
    const body *b = body_of(r);

    for (uint32_t i = 0; i < b->n_stages; i++) {
        if (is_there(r, &b->stages[i], iteration(r, &b->stages[i]))) {
            return true;
        }
    }
    return false;
}

/* Rounds of the stream. O(N). */
static uint32_t rounds_of(const rail_rings *rings)
{
    rail_rings r     = *rings;
    uint32_t   count = 0;

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
static void next_stage(rail_rings *r)
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
static bool next_place(rail_rings *r, uint32_t n_turns)
{
    if (++r->local < locals(r)) {
        return true;
    }
    r->local = 0;
    if (++r->server < (r->is_one_server ? 1 : cs_n_servers(r->cluster))) {
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

static void rings_next_block(void *state, cs_block *block)
{
    rail_rings *r = state;

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

/* ---- the algorithm ---- */

typedef struct rings_options {
    int      exchange; /* rail_exchange */
    uint32_t segments;
} rings_options;

static const cs_field rings_table[] = {
    CS_OPTION_CHOICE(rings_options, exchange, "mesh|sockets",
                     "inside a server: from each to each, or once between its two sockets"),
    CS_OPTION(rings_options, segments, 1, 1, 1024, "chunks that a block is cut in"),
    CS_FIELD_END,
};

static rail_rings rings_of(const cs_scenario *scenario, const rings_options *options)
{
    return (rail_rings){.cluster   = &scenario->cluster,
                        .exchange  = (rail_exchange)options->exchange,
                        .segments  = options->segments,
                        .bytes     = scenario->bytes,
                        .hands_out = scenario->collective != CS_ALLGATHER,
                        .collects  = scenario->collective != CS_REDUCESCATTER};
}

static cs_status rings_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                             cs_error *err)
{
    const rings_options *o     = options;
    const cs_cluster    *c     = &scenario->cluster;
    rail_rings           rings = rings_of(scenario, o);

    if (o->exchange == RAIL_SOCKETS && c->gpus_per_server % 2 != 0) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.gpus_per_server",
                       "exchange=sockets needs as many GPUs on either socket, got %u per server",
                       c->gpus_per_server);
    }
    CS_TRY(cs_accept_slots(scenario, "parallel_rings", slots_of(&rings), err));
    *plan = (cs_plan){.n_chunks      = c->n_ranks * o->segments,
                      .n_slots       = slots_of(&rings),
                      .n_rounds      = rounds_of(&rings),
                      .uses          = cs_uses_nvlink(c),
                      .chunks_differ = scenario->bytes % ((uint64_t)c->n_ranks * o->segments) != 0};
    return CS_OK;
}

static cs_status rings_open(const cs_scenario *scenario, const void *options, void **state_p,
                            cs_error *err)
{
    rail_rings *rings = CS_NEW(rail_rings, 1);

    if (rings == NULL) {
        return CS_NO_MEMORY(err, "parallel rings");
    }
    *rings   = rings_of(scenario, options);
    *state_p = rings;
    return CS_OK;
}

static void rings_keep_one_server(void *state)
{
    rail_rings *r    = state;
    r->is_one_server = true;
}

/* With a link for every pair of local ranks: a ring step takes R, an exchange D, and either the
 * rings are never held up, or the exchanges are: max((N-1) R + D, N D) for either half. Exact for
 * whole blocks of one size, when all arrive together and no NIC is slow. With one local rank
 * nothing is exchanged. */
static double rings_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const rings_options *o       = options;
    const cs_cluster    *c       = &scenario->cluster;
    uint32_t             servers = cs_n_servers(c), g = c->gpus_per_server;
    bool                 is_direct = g <= 2 || c->fabrics[CS_NVLINK].kind == CS_DIRECT;
    double               halves    = scenario->collective == CS_ALLREDUCE ? 2 : 1;

    if (!is_direct || c->sockets > 1 || o->exchange != RAIL_MESH || o->segments != 1 ||
        c->servers != NULL || scenario->n_capacity > 0 || cs_last_arrival(scenario) > 0 ||
        scenario->bytes % c->n_ranks != 0) {
        return (double)NAN;
    }
    double step     = cs_message_s(scenario, CS_NIC, scenario->bytes / c->n_ranks);
    double exchange = g > 1 ? cs_message_s(scenario, CS_NVLINK, scenario->bytes / c->n_ranks) : 0;
    return halves * fmax((servers - 1) * step + exchange, servers * exchange);
}

const cs_algorithm cs_algorithm_parallel_rings = {
    .name            = "parallel_rings",
    .summary         = "a ring per local rank over all NICs, exchanges inside servers meanwhile",
    .source          = "Parallel Rings (multi-HCA AllGather); ReduceScatter by time reversal",
    .collectives     = 1u << CS_ALLREDUCE | 1u << CS_REDUCESCATTER | 1u << CS_ALLGATHER,
    .options         = rings_table,
    .options_bytes   = sizeof(rings_options),
    .check           = rings_check,
    .open            = rings_open,
    .equal_messages  = 1u << CS_ALLREDUCE | 1u << CS_REDUCESCATTER | 1u << CS_ALLGATHER,
    .keep_one_server = rings_keep_one_server,
    .next_block      = rings_next_block,
    .close           = cs_free,
    .closed_form_s   = rings_closed_form_s,
};
