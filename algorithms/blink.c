/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blink as the AdapCC paper runs it: three stages with a barrier between any two.
 *
 * (1) In every server k - 1 spanning trees lead to the leader, the rank with the root's local rank
 * (AllReduce: the first one), each with a (k - 1)-th of the buffer. Tree t is rooted at the t-th
 * of the other ranks: the rest send to it, it adds up and sends to the leader. In a mesh no two
 * trees have a link in common; through a switch every port carries the buffer once, which is the
 * least for a leader. Chunks follow one another through the two hops. (2) The leaders do the
 * collective among themselves as NCCL does it: over a ring, or over trees. (3) Stage 1 backwards.
 * A Reduce has no stage 3, a Broadcast no stage 1.
 *
 * All chunks stay in place: slot c of a rank is its chunk c. A message of a tree and one among the
 * leaders have different sizes: the buffer has as many parts as make both of them whole numbers.
 *
 * Sources: G. Wang et al., "Blink: Fast and Generic Collectives for Distributed ML", MLSys 2020;
 * X. Zhao et al., "AdapCC", ICDCS 2024, section VI.
 */
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct blink_options {
    int      inter; /* OVER_RING .. */
    uint32_t chunk, chunks;
    double   barrier_s;
} blink_options;

enum { OVER_RING, OVER_TREES };

static const cs_field blink_table[] = {
    CS_OPTION_CHOICE(blink_options, inter, "ring|tree",
                     "how the leaders do it: NCCL's ring or tree"),
    CS_OPTION(blink_options, chunk, 8 << 20, 1, 1u << 30,
              "bytes of a chunk inside servers, at most"),
    CS_OPTION_AUTO(
        blink_options, chunks, 1, 1 << 20,
        "chunks that a ring's or tree's share is cut in among the leaders; auto: by alpha and "
        "bandwidth. An AllReduce's ring has one for each leader"),
    CS_OPTION(blink_options, barrier_s, 0, 0, 1e3, "cost of a barrier between stages"),
    CS_FIELD_END,
};

enum { INTO, AMONG, OUT, STAGES };

extern const cs_algorithm cs_algorithm_ring, cs_algorithm_double_binary_tree,
    cs_algorithm_reduce_ring, cs_algorithm_reduce_tree;

/* What follows from scenario and options. */
typedef struct layout {
    uint32_t servers, locals, leader; /* leader: local rank */
    uint32_t trees, chunks;           /* of a tree; 1 and 1 in servers of one GPU */
    uint32_t hops;                    /* of a tree */
    uint32_t among_chunks;            /* of the leaders' plan */
    uint32_t parts;                   /* of the buffer in all */
    uint32_t rounds[STAGES];          /* 0: there is no such stage */
} layout;

typedef struct blink {
    const cs_scenario  *scenario;
    cs_scenario         among;     /* the leaders as a cluster of one GPU per server */
    const cs_algorithm *algorithm; /* of the leaders */
    void               *state;     /* ... and its stream; NULL: there is one server */
    blink_options       options;
    layout              layout;
    uint32_t            stage, first_round;        /* of the stage */
    bool                awaits;                    /* a barrier before the next message */
    uint32_t            turn, step, local, server; /* of INTO and OUT, next */
} blink;

static const cs_algorithm *among_leaders(cs_collective collective, int inter)
{
    if (collective == CS_ALLREDUCE) {
        return inter == OVER_RING ? &cs_algorithm_ring : &cs_algorithm_double_binary_tree;
    }
    return inter == OVER_RING ? &cs_algorithm_reduce_ring : &cs_algorithm_reduce_tree;
}

/* The leaders' scenario; without faults, arrivals and network, which schedules do not ask for. */
static cs_scenario leaders_of(const cs_scenario *scenario)
{
    cs_scenario s = *scenario;

    s.cluster.n_ranks         = cs_n_servers(&scenario->cluster);
    s.cluster.gpus_per_server = 1;
    s.cluster.sockets         = 1;
    s.cluster.topology        = NULL;
    s.root                    = cs_server_of(&scenario->cluster, scenario->root);
    s.arrival_s               = NULL;
    s.capacity                = NULL;
    s.n_capacity              = 0;
    s.forecast                = NULL;
    return s;
}

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;

    while (y != 0) {
        uint64_t rest = x % y;
        x             = y;
        y             = rest;
    }
    return a / x * b;
}

/* Fill the layout but for what the leaders do. */
static layout layout_of(const cs_scenario *s, const blink_options *o)
{
    uint32_t k    = s->cluster.gpus_per_server;
    layout   l    = {.servers = cs_n_servers(&s->cluster),
                     .locals  = k,
                     .leader  = cs_collective_has_root(s->collective) ? s->root % k : 0,
                     .trees   = k > 1 ? k - 1 : 1,
                     .hops    = k > 2 ? 2 : 1,
                     .chunks  = 1};
    uint64_t tree = cs_split(s->bytes, l.trees, 0);

    if (k > 1) {
        uint64_t chunks = (tree + o->chunk - 1) / o->chunk;
        l.chunks        = chunks < CS_MAX_SLOTS ? (uint32_t)chunks : CS_MAX_SLOTS;
        l.rounds[INTO]  = s->collective != CS_BROADCAST ? l.chunks + l.hops - 1 : 0;
        l.rounds[OUT]   = s->collective != CS_REDUCE ? l.chunks + l.hops - 1 : 0;
    }
    return l;
}

/* Options and plan of the leaders' algorithm with so many chunks, or as many as it takes. */
static cs_status check_leaders(const cs_scenario *among, const cs_algorithm *algorithm,
                               uint32_t *chunks, cs_options *options, cs_plan *plan, cs_error *err)
{
    const cs_field *row = cs_field_find(algorithm->options, "chunks");

    cs_fields_default(algorithm->options, options);
    if (row != NULL) {
        memcpy(options->bytes + row->offset, chunks, sizeof *chunks);
    }
    CS_TRY(cs_algorithm_check(algorithm, among, options, plan, err));
    *chunks = plan->n_chunks;
    if (row != NULL) {
        memcpy(chunks, options->bytes + row->offset, sizeof *chunks);
    }
    return CS_OK;
}

/* The layout; replaces the option `chunks` by what is used. */
static cs_status lay_out(const cs_scenario *scenario, blink_options *o, layout *l_p, cs_error *err)
{
    cs_scenario among = leaders_of(scenario);
    cs_plan     plan  = {.n_chunks = 1};
    layout      l     = layout_of(scenario, o);
    cs_options  options;

    if (l.servers > 1) {
        const cs_algorithm *algorithm = among_leaders(scenario->collective, o->inter);
        CS_TRY(check_leaders(&among, algorithm, &o->chunks, &options, &plan, err));
        l.rounds[AMONG] = plan.n_rounds;
    } else {
        o->chunks = 1;
    }
    uint64_t parts = common_multiple((uint64_t)l.trees * l.chunks, plan.n_chunks);
    CS_TRY(cs_accept_slots(scenario, "blink", parts, err));
    l.parts        = (uint32_t)parts;
    l.among_chunks = plan.n_chunks;
    *l_p           = l;
    return CS_OK;
}

static cs_status blink_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                             cs_error *err)
{
    layout l = {0};

    CS_TRY(lay_out(scenario, options, &l, err));
    *plan = (cs_plan){.n_chunks   = l.parts,
                      .n_slots    = l.parts,
                      .n_rounds   = l.rounds[INTO] + l.rounds[AMONG] + l.rounds[OUT],
                      .starts_own = true,
                      .uses       = CS_USES_SPAN | cs_uses_nvlink(&scenario->cluster)};
    return CS_OK;
}

static void blink_close(void *state)
{
    blink *b = state;

    if (b != NULL) {
        if (b->state != NULL) {
            b->algorithm->close(b->state);
        }
        cs_free(b);
    }
}

/* The next stage that has something to do, from this one on. */
static void find_stage(blink *b)
{
    while (b->stage < STAGES && b->layout.rounds[b->stage] == 0) {
        b->stage++;
    }
}

static cs_status open_leaders(blink *b, cs_error *err)
{
    cs_plan    plan = {0};
    cs_options options;

    CS_TRY(check_leaders(&b->among, b->algorithm, &b->options.chunks, &options, &plan, err));
    return cs_algorithm_open(b->algorithm, &b->among, &options, &plan, &b->state, err);
}

static cs_status blink_open(const cs_scenario *scenario, const void *options, void **state_p,
                            cs_error *err)
{
    blink    *b      = CS_NEW(blink, 1);
    cs_status status = CS_OK;

    if (b == NULL) {
        return CS_NO_MEMORY(err, "blink");
    }
    b->scenario  = scenario;
    b->options   = *(const blink_options *)options;
    b->among     = leaders_of(scenario);
    b->algorithm = among_leaders(scenario->collective, b->options.inter);
    status       = lay_out(scenario, &b->options, &b->layout, err);
    if (status == CS_OK && b->layout.servers > 1) {
        status = open_leaders(b, err);
    }
    if (status != CS_OK) {
        blink_close(b);
        return status;
    }
    find_stage(b);
    *state_p = b;
    return CS_OK;
}

/* Parts [first, first + span) in place. */
static cs_transfer parts_of(const blink *b, uint32_t first, uint32_t span)
{
    return (cs_transfer){.chunk    = first,
                         .src_slot = (uint16_t)first,
                         .dst_slot = (uint16_t)first,
                         .bytes = cs_split_range(b->scenario->bytes, b->layout.parts, first, span),
                         .span  = (uint16_t)span};
}

/* The message of this place inside a server; false where its chunk is not there yet, or no longer.
 * In step s the ranks i and (s - i) mod (k - 1) send to each other, and a rank that would send to
 * itself talks to the leader, so that no two ranks send to the same one. */
static bool inside(const blink *b, cs_transfer *t)
{
    const layout     *l       = &b->layout;
    const cs_cluster *c       = &b->scenario->cluster;
    bool              into    = b->stage == INTO;
    uint32_t          tree    = (b->step + l->trees - b->local) % l->trees;
    bool              at_root = tree == b->local; /* of the tree: the hop next to the leader */
    uint32_t          number  = b->turn - (into == at_root ? l->hops - 1 : 0);
    uint32_t          unit    = l->parts / (l->trees * l->chunks);
    uint32_t          base    = cs_server_first(c, b->server);
    uint32_t          rank    = base + (l->leader + 1 + b->local) % l->locals;
    uint32_t          above   = base + (at_root ? l->leader : (l->leader + 1 + tree) % l->locals);

    if (number >= l->chunks) {
        return false;
    }
    *t           = parts_of(b, (tree * l->chunks + number) * unit, unit);
    t->src       = into ? rank : above;
    t->dst       = into ? above : rank;
    t->round     = b->first_round + b->turn;
    t->flags     = !into || (at_root && l->servers == 1) ? CS_DONE_DST : 0;
    t->op_fabric = cs_op_fabric(into ? CS_OP_REDUCE : CS_OP_COPY, cs_fabric_of(c, t->src, t->dst));
    return true;
}

/* Place by place: servers, ranks, steps, turns. */
static void next_place(blink *b)
{
    const layout *l = &b->layout;

    if (++b->server < l->servers) {
        return;
    }
    b->server = 0;
    if (++b->local < l->trees) {
        return;
    }
    b->local = 0;
    if (++b->step < l->trees) {
        return;
    }
    b->step = 0;
    b->turn++;
}

static void fill_inside(blink *b, cs_block *block)
{
    while (b->turn < b->layout.rounds[b->stage] && block->count < block->capacity) {
        block->count += inside(b, &block->transfers[block->count]);
        next_place(b);
    }
}

/* What the leaders' algorithm sends, between their ranks and in place. */
static void fill_among(blink *b, cs_block *block)
{
    const layout *l    = &b->layout;
    uint32_t      unit = l->parts / l->among_chunks;

    b->algorithm->next_block(b->state, block);
    for (size_t i = 0; i < block->count; i++) {
        cs_transfer *t     = &block->transfers[i];
        cs_transfer  moved = parts_of(b, t->chunk * unit, t->span * unit);
        moved.src          = t->src * l->locals + l->leader;
        moved.dst          = t->dst * l->locals + l->leader;
        moved.round        = b->first_round + t->round;
        moved.flags        = t->flags & CS_DONE_DST;
        moved.op_fabric    = t->op_fabric;
        *t                 = moved;
    }
}

static void blink_next_block(void *state, cs_block *block)
{
    blink *b = state;

    block->count = 0;
    while (b->stage < STAGES) {
        if (b->stage == AMONG) {
            fill_among(b, block);
        } else {
            fill_inside(b, block);
        }
        if (block->count > 0) {
            break;
        }
        b->first_round += b->layout.rounds[b->stage++];
        b->turn   = 0;
        b->awaits = true;
        find_stage(b);
    }
    if (block->count > 0 && b->awaits) {
        block->transfers[0].flags |= CS_FENCE;
        block->fence_except = CS_FENCE_ALL;
        block->fence_s      = b->options.barrier_s;
        b->awaits           = false;
    }
}

/* What the leaders' algorithm takes by its own form. */
static double leaders_form_s(const cs_scenario *scenario, const blink_options *o)
{
    const cs_scenario   among     = leaders_of(scenario);
    const cs_algorithm *algorithm = among_leaders(scenario->collective, o->inter);
    uint32_t            chunks    = o->chunks;
    cs_plan             plan      = {0};
    cs_options          options;

    if (algorithm->closed_form_s == NULL ||
        check_leaders(&among, algorithm, &chunks, &options, &plan, NULL) != CS_OK) {
        return (double)NAN;
    }
    return algorithm->closed_form_s(&among, &options);
}

/* The stages one after the other: K equal chunks over the hops of a mesh's trees, which do not
 * meet, or over the one link of two GPUs; what the leaders' algorithm takes among as many servers.
 */
static double blink_closed_form_s(const cs_scenario *scenario, const void *options)
{
    blink_options     o        = *(const blink_options *)options;
    const cs_cluster *c        = &scenario->cluster;
    layout            l        = {0};
    double            stages_s = 0;
    uint32_t          n_stages = 0;

    if (lay_out(scenario, &o, &l, NULL) != CS_OK) {
        return (double)NAN;
    }
    assert(l.parts > 0 && l.trees > 0 && l.chunks > 0);
    if (scenario->bytes % l.parts != 0 || scenario->n_capacity > 0 ||
        cs_last_arrival(scenario) > 0 || c->sockets > 1 ||
        (l.hops > 1 &&
         (c->fabrics[CS_NVLINK].kind != CS_DIRECT || cs_waits_for_links(c, CS_NVLINK)))) {
        return (double)NAN;
    }
    uint64_t chunk_bytes = scenario->bytes / l.trees / l.chunks;
    double   chunk_s =
        c->fabrics[CS_NVLINK].alpha_s + (double)chunk_bytes / cs_least_Bps(c, CS_NVLINK);
    for (uint32_t stage = 0; stage < STAGES; stage++) {
        n_stages += l.rounds[stage] > 0;
        stages_s += stage != AMONG ? l.rounds[stage] * chunk_s : 0;
    }
    if (l.servers > 1) {
        stages_s += leaders_form_s(scenario, &o);
    }
    return stages_s + (n_stages - 1) * o.barrier_s;
}

const cs_algorithm cs_algorithm_blink = {
    .name          = "blink",
    .summary       = "trees to a leader in every server, ring or trees of the leaders, and back",
    .source        = "G. Wang et al., \"Blink\", MLSys 2020, as AdapCC compares with it",
    .collectives   = 1u << CS_ALLREDUCE | 1u << CS_REDUCE | 1u << CS_BROADCAST,
    .options       = blink_table,
    .options_bytes = sizeof(blink_options),
    .check         = blink_check,
    .open          = blink_open,
    .next_block    = blink_next_block,
    .close         = blink_close,
    .closed_form_s = blink_closed_form_s,
};
