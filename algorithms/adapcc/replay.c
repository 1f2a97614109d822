/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A strategy as a stream of ways (turns.h): a value on one direction of an edge, a message a turn.
 *
 * A reduction goes up, a broadcast down, an allreduce does both, the one behind the other chunk by
 * chunk. An allgather is a broadcast from every rank along all trees, an alltoall goes from each
 * rank to each. What has chunks of its own is a part: a tree, a tree and the rank whose block it
 * carries, or a pair of ranks.
 *
 * A rank keeps a chunk of a part in a slot while it is in work, which is so many turns; the slots
 * of a part are taken in turn. A rank that does not add up (a_mg = 0) sends its own contribution,
 * and passes on what comes from others, each by itself: for each of those it has a lane of slots.
 *
 * Source: X. Zhao et al., "AdapCC", ICDCS 2024, section V; the order of the transfers is the
 * project's.
 */
#include "algorithms/adapcc/replay.h"

#include "algorithms/adapcc/turns.h"
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHUNKS = 1 << 24, MOST_WAYS = 1 << 23, FIRST_WAYS = 64 };

/* Its first chunks are of one size, the others of another. */
typedef struct part {
    uint64_t first_bytes, other_bytes;
    uint32_t n_first, n_chunks, first_chunk;
    uint32_t first_slot, window; /* of a lane */
    uint32_t n_lanes;
} part;

/* A way as streams need it. */
typedef struct sent {
    uint32_t src, dst, part;
    uint32_t lag, lag_in_window;
    uint16_t src_slot, dst_slot; /* of the window's first chunk */
    uint32_t tail;               /* of its transfers, behind their rounds */
} sent;

/* What all streams of a schedule share. */
typedef struct prepared {
    part    *parts;
    sent    *sents; /* as they stand in a turn */
    size_t   n_parts, n_ways;
    uint32_t n_turns;
} prepared;

typedef struct stream {
    const prepared *p;
    uint32_t       *in_window; /* [parts] the turn, modulo the window */
    uint32_t        turn;
    size_t          next;
} stream;

/* A schedule in the making. Arrays have a place for each rank and serve one part after the other.
 */
typedef struct builder {
    const cs_scenario *scenario;
    const cs_strategy *strategy; /* NULL: none is needed */
    const cs_logical  *logical;
    prepared          *p;
    cs_turn_way       *ways; /* part by part, then as they stand in a turn */
    size_t             room;
    uint32_t          *depth, *lanes;
    uint32_t          *from, *until; /* ways, turns */
} builder;

void cs_trees_release(void *given)
{
    prepared *p = given;

    if (p != NULL) {
        cs_free(p->parts);
        cs_free(p->sents);
        cs_free(p);
    }
}

static bool goes_up(cs_collective collective)
{
    return collective == CS_ALLREDUCE || collective == CS_REDUCE;
}

static bool goes_down(cs_collective collective)
{
    return collective == CS_ALLREDUCE || collective == CS_BROADCAST;
}

/* ---- ways ---- */

/* Slots are lanes for now. */
static cs_status add_way(builder *b, cs_turn_way way, cs_op op, cs_error *err)
{
    prepared *p = b->p;

    if (p->n_ways == MOST_WAYS) {
        return CS_FAIL(err, CS_ENOTSUP, "adapcc",
                       "more than 2^23 messages in a turn: take fewer ranks or trees");
    }
    if (!cs_grow(&b->ways, &b->room, p->n_ways + 1, FIRST_WAYS, sizeof *b->ways)) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    part *of             = &p->parts[way.part];
    way.number           = (uint32_t)p->n_ways;
    way.bytes            = (double)of->first_bytes;
    way.op_fabric        = cs_op_fabric(op, cs_fabric_of(&b->scenario->cluster, way.src, way.dst));
    of->n_lanes          = way.dst_slot + 1u > of->n_lanes ? way.dst_slot + 1u : of->n_lanes;
    b->ways[p->n_ways++] = way;
    return CS_OK;
}

/* A part of `bytes` in chunks of `chunk_bytes`, the last one of what is left. */
static part part_of(uint64_t bytes, uint64_t chunk_bytes)
{
    uint64_t n = bytes <= chunk_bytes ? 1 : (bytes + chunk_bytes - 1) / chunk_bytes;

    n = n <= MOST_CHUNKS ? n : MOST_CHUNKS + 1; /* is refused */
    return (part){.first_bytes = n > 1 ? chunk_bytes : bytes,
                  .other_bytes = bytes - (n - 1) * (n > 1 ? chunk_bytes : 0),
                  .n_first     = (uint32_t)(n - 1),
                  .n_chunks    = (uint32_t)n};
}

/* A part of `bytes` in n chunks, the first ones a byte larger. */
static part part_in(uint64_t bytes, uint32_t n)
{
    return (part){.first_bytes = bytes / n + (bytes % n > 0),
                  .other_bytes = bytes / n,
                  .n_first     = (uint32_t)(bytes % n),
                  .n_chunks    = n};
}

/* The reduction of tree m: what leaves g first are what it adds up or its own, then what it passes
 * on. `lanes` counts the values that leave a rank. */
static cs_status climb(builder *b, uint32_t m, uint32_t height, cs_error *err)
{
    const cs_strategy      *s    = b->strategy;
    const cs_strategy_tree *t    = &s->trees[m];
    uint32_t                root = cs_tree_root(t);

    for (uint32_t i = 0; i < s->n_members; i++) {
        b->lanes[t->order[i]] = 1;
    }
    for (uint32_t i = s->n_members; i-- > 1;) {
        uint32_t g = t->order[i], above = t->parent[g];
        bool     adds = t->aggregates[above] || above == root;
        bool     sums = t->aggregates[g] && t->n_children[g] > 0;

        if (b->lanes[g] + b->lanes[above] > CS_MAX_SLOTS) {
            return CS_FAIL(err, CS_ENOTSUP, "strategy", "rank %u forwards more than %u values", g,
                           CS_MAX_SLOTS);
        }
        for (uint32_t lane = 0; lane < b->lanes[g]; lane++) {
            cs_turn_way way = {.src      = g,
                               .dst      = above,
                               .part     = m,
                               .level    = height - b->depth[g],
                               .src_slot = (uint16_t)lane,
                               .dst_slot = (uint16_t)(adds ? 0 : b->lanes[above]++),
                               .flags    = lane == 0 && !sums ? CS_OWN_SRC : 0};
            CS_TRY(add_way(b, way, adds ? CS_OP_REDUCE : CS_OP_COPY, err));
        }
    }
    return CS_OK;
}

/* Depths in tree m. Returns its height. */
static uint32_t measure(builder *b, uint32_t m)
{
    const cs_strategy_tree *t      = &b->strategy->trees[m];
    uint32_t                height = 0;

    b->depth[cs_tree_root(t)] = 0;
    for (uint32_t i = 1; i < b->strategy->n_members; i++) {
        uint32_t g  = t->order[i];
        b->depth[g] = b->depth[t->parent[g]] + 1;
        height      = b->depth[g];
    }
    return height;
}

static cs_status add_tree(builder *b, uint32_t m, cs_error *err)
{
    const cs_strategy      *s      = b->strategy;
    const cs_strategy_tree *t      = &s->trees[m];
    bool                    up     = goes_up(b->scenario->collective);
    uint32_t                height = measure(b, m);

    b->p->parts[m] = part_of(t->size_bytes, t->chunk_bytes);
    if (up) {
        CS_TRY(climb(b, m, height, err));
    }
    for (uint32_t i = 1; i < s->n_members && goes_down(b->scenario->collective); i++) {
        uint32_t    g = t->order[i], above = t->parent[g];
        bool        is_own = !up && above == cs_tree_root(t);
        cs_turn_way way    = {.src   = above,
                              .dst   = g,
                              .part  = m,
                              .level = (up ? height : 0) + b->depth[g] - 1,
                              .flags = (uint8_t)(CS_DONE_DST | (is_own ? CS_OWN_SRC : 0))};
        CS_TRY(add_way(b, way, CS_OP_COPY, err));
    }
    return CS_OK;
}

/* The block of `rank` along tree m: up from it to the root, and down from all on that way. */
static cs_status add_block(builder *b, uint32_t m, uint32_t rank, cs_error *err)
{
    const cs_strategy      *s     = b->strategy;
    const cs_strategy_tree *t     = &s->trees[m];
    uint32_t                index = rank * s->n_trees + m;
    uint32_t                level = 0;
    cs_turn_way             way   = {.part = index, .flags = CS_DONE_DST};

    memset(b->depth, 0xff, s->n_ranks * sizeof *b->depth);
    b->depth[rank] = 0;
    for (uint32_t g = rank; t->parent[g] != CS_TREE_ROOT; g = t->parent[g]) {
        way.src   = g;
        way.dst   = t->parent[g];
        way.level = level++;
        way.flags = (uint8_t)(CS_DONE_DST | (g == rank ? CS_OWN_SRC : 0));
        CS_TRY(add_way(b, way, CS_OP_COPY, err));
        b->depth[way.dst] = level;
    }
    for (uint32_t i = 1; i < s->n_members; i++) {
        uint32_t g = t->order[i], above = t->parent[g];
        if (b->depth[g] == UINT32_MAX) {
            way.src     = above;
            way.dst     = g;
            way.level   = b->depth[above];
            way.flags   = (uint8_t)(CS_DONE_DST | (above == rank ? CS_OWN_SRC : 0));
            b->depth[g] = way.level + 1;
            CS_TRY(add_way(b, way, CS_OP_COPY, err));
        }
    }
    return CS_OK;
}

/* Blocks are shared out over the trees as the buffer is. All blocks have as many chunks of a tree.
 */
static cs_status add_blocks(builder *b, cs_error *err)
{
    const cs_strategy *s     = b->strategy;
    uint32_t           n     = s->n_ranks;
    uint64_t           bytes = b->scenario->bytes, most = cs_split(bytes, n, 0);

    for (uint32_t rank = 0; rank < n; rank++) {
        uint64_t block = cs_split(bytes, n, rank), given = 0, before = 0;

        for (uint32_t m = 0; m < s->n_trees; m++) {
            const cs_strategy_tree *t = &s->trees[m];
            before += t->size_bytes;
            double   upto   = bytes > 0 ? (double)before / (double)bytes : 1;
            uint64_t until  = m + 1 == s->n_trees ? block : (uint64_t)((double)block * upto);
            double   share  = bytes > 0 ? (double)t->size_bytes / (double)bytes : 1;
            double   chunks = (double)most * share / (double)t->chunk_bytes;
            if (chunks > MOST_CHUNKS) {
                chunks = MOST_CHUNKS;
            }
            b->p->parts[rank * s->n_trees + m] = part_in(until - given, 1 + (uint32_t)chunks);
            given                              = until;
            CS_TRY(add_block(b, m, rank, err));
        }
    }
    return CS_OK;
}

/* From each rank to each, the next one first. A rank's buffer is cut in equal chunks, as many for
 * each of the others. */
static cs_status add_pairs(builder *b, uint64_t chunk_bytes, cs_error *err)
{
    uint64_t n = b->scenario->cluster.n_ranks, bytes = b->scenario->bytes;
    uint64_t chunks = part_of(cs_split(bytes, (uint32_t)n, 0), chunk_bytes).n_chunks;
    uint64_t each = bytes / (n * chunks), larger = bytes % (n * chunks);

    for (uint64_t i = 0; i < n * n; i++) {
        uint64_t before = i % n * chunks, left = larger > before ? larger - before : 0;

        b->p->parts[i] = (part){.first_bytes = each + 1,
                                .other_bytes = each,
                                .n_first     = (uint32_t)(left < chunks ? left : chunks),
                                .n_chunks    = (uint32_t)chunks};
    }
    for (uint32_t ahead = 1; ahead < n; ahead++) {
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t    dst = (uint32_t)((rank + ahead) % n);
            cs_turn_way way = {.src   = rank,
                               .dst   = dst,
                               .part  = (uint32_t)(rank * n + dst),
                               .flags = CS_OWN_SRC | CS_DONE_DST};
            CS_TRY(add_way(b, way, CS_OP_COPY, err));
        }
    }
    return CS_OK;
}

/* ---- what follows from the turns ---- */

static bool stands_before(const cs_turn_way *a, const cs_turn_way *b)
{
    if (a->lag != b->lag) {
        return a->lag < b->lag;
    }
    if (a->place < b->place || a->place > b->place) {
        return a->place < b->place;
    }
    return a->number < b->number;
}

/* The ways of a part, which lie side by side: the first sum into a rank begins with its own
 * contribution, and the last one into the root ends it. */
static void mark_sums(builder *b, cs_turn_way *ways, size_t n)
{
    const cs_strategy *s = b->strategy;

    for (size_t i = 0; i < n; i++) {
        b->from[ways[i].dst] = b->until[ways[i].dst] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *first = &b->from[ways[i].dst], *last = &b->until[ways[i].dst];

        if ((ways[i].op_fabric & 15u) == CS_OP_REDUCE) {
            *first = *first == UINT32_MAX || stands_before(&ways[i], &ways[*first]) ? i : *first;
            *last  = *last == UINT32_MAX || stands_before(&ways[*last], &ways[i]) ? i : *last;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t dst = ways[i].dst;

        if ((ways[i].op_fabric & 15u) == CS_OP_REDUCE) {
            bool is_root = dst == cs_tree_root(&s->trees[ways[i].part]);
            ways[i].flags |= i == b->from[dst] ? CS_OWN_DST : 0;
            ways[i].flags |= i == b->until[dst] && is_root ? CS_DONE_DST : 0;
        }
    }
}

/* For how many turns a rank has a chunk in work, at most. */
static uint32_t window_of(builder *b, const cs_turn_way *ways, size_t n)
{
    uint32_t window = 1;

    for (size_t i = 0; i < n; i++) {
        b->from[ways[i].src] = b->from[ways[i].dst] = UINT32_MAX;
        b->until[ways[i].src] = b->until[ways[i].dst] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t lag     = ways[i].lag;
        uint32_t ends[2] = {ways[i].src, ways[i].dst};

        for (int end = 0; end < 2; end++) {
            uint32_t *from = &b->from[ends[end]], *until = &b->until[ends[end]];
            *from         = lag < *from ? lag : *from;
            *until        = lag > *until ? lag : *until;
            uint32_t took = *until - *from + 1;
            window        = took > window ? took : window;
        }
    }
    return window;
}

/* Flags, windows and turns of a part, whose ways are so many. */
static void finish_part(builder *b, part *of, cs_turn_way *ways, size_t n)
{
    prepared *p = b->p;

    if (goes_up(b->scenario->collective)) {
        mark_sums(b, ways, n);
    }
    of->window = window_of(b, ways, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t turns = (uint64_t)ways[i].lag + of->n_chunks;
        p->n_turns     = turns > p->n_turns ? (uint32_t)turns : p->n_turns;
    }
}

/* Chunks, slots and turns. Blocks that go straight to where they belong need one slot. */
static cs_status lay_out(builder *b, cs_plan *plan, cs_error *err)
{
    prepared *p      = b->p;
    uint64_t  chunks = 0, slots = 0;
    size_t    way    = 0;
    bool      is_one = b->scenario->collective == CS_ALLTOALL;

    for (uint32_t i = 0; i < p->n_parts; i++) {
        part  *of = &p->parts[i];
        size_t n  = 0;

        while (!is_one && way + n < p->n_ways && b->ways[way + n].part == i) {
            n++;
        }
        finish_part(b, of, b->ways + way, is_one ? 0 : n);
        way += n;
        of->first_chunk = (uint32_t)chunks;
        of->first_slot  = (uint32_t)slots;
        chunks += of->n_chunks;
        slots += is_one ? 0 : (uint64_t)of->window * of->n_lanes;
        if (chunks > MOST_CHUNKS) {
            return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunk",
                           "chunks of %llu bytes are too small: accepted are 2^24 chunks in all",
                           (unsigned long long)of->first_bytes);
        }
        if (slots > CS_MAX_SLOTS) {
            break;
        }
    }
    slots      = slots > 0 ? slots : 1;
    p->n_turns = is_one ? p->parts[0].n_chunks : p->n_turns;
    CS_TRY(cs_accept_slots(b->scenario, "adapcc", slots, err));
    *plan = (cs_plan){.n_chunks      = (uint32_t)chunks,
                      .n_slots       = (uint32_t)slots,
                      .n_rounds      = p->n_turns,
                      .chunks_differ = !is_one,
                      .uses          = cs_uses_nvlink(&b->scenario->cluster),
                      .uses_trees    = !is_one};
    return CS_OK;
}

static int by_place(const void *left, const void *right)
{
    const cs_turn_way *a = left, *b = right;

    if (a->place < b->place || a->place > b->place) {
        return a->place < b->place ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

/* Ways as they stand in a turn, with slots for their lanes. */
static cs_status sort_ways(builder *b, cs_plan *plan, cs_error *err)
{
    prepared *p = b->p;

    p->sents = CS_NEW(sent, p->n_ways);
    if (p->sents == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    if (b->ways == NULL) {
        return CS_OK; /* one rank is alone in its tree */
    }
    qsort(b->ways, p->n_ways, sizeof *b->ways, by_place);
    for (size_t i = 0; i < p->n_ways; i++) {
        const cs_turn_way *w    = &b->ways[i];
        const part        *of   = &p->parts[w->part];
        const cs_transfer  last = {.span = 1, .flags = w->flags, .op_fabric = w->op_fabric};

        p->sents[i] = (sent){.src           = w->src,
                             .dst           = w->dst,
                             .part          = w->part,
                             .lag           = w->lag,
                             .lag_in_window = w->lag % of->window,
                             .src_slot      = (uint16_t)(of->first_slot + w->src_slot * of->window),
                             .dst_slot      = (uint16_t)(of->first_slot + w->dst_slot * of->window),
                             .tail          = cs_transfer_tail(&last)};
        plan->uses |= (w->flags & CS_SHARED) != 0 ? CS_USES_SHARED : 0u;
    }
    return CS_OK;
}

/* ---- schedules ---- */

static cs_status add_ways(builder *b, uint64_t chunk_bytes, cs_error *err)
{
    const cs_strategy *s = b->strategy;

    if (b->scenario->collective == CS_ALLTOALL) {
        return add_pairs(b, chunk_bytes, err);
    }
    assert(s != NULL);
    if (b->scenario->collective == CS_ALLGATHER) {
        return add_blocks(b, err);
    }
    for (uint32_t m = 0; m < s->n_trees; m++) {
        CS_TRY(add_tree(b, m, err));
    }
    return CS_OK;
}

/* Does the model let the messages of a port be under way at once? Those of an alltoall are sent
 * together wherever they run. */
static bool are_shared(const cs_scenario *scenario)
{
    const cs_forecast *f = scenario->forecast;

    return scenario->collective == CS_ALLTOALL ||
           (f != NULL && cs_ports_are_shared(f->model, f->model_options));
}

static uint64_t count_parts(const cs_scenario *scenario, const cs_strategy *s)
{
    uint64_t n = scenario->cluster.n_ranks, n_trees = s != NULL ? s->n_trees : 0;

    switch (scenario->collective) {
    case CS_ALLGATHER: return n * n_trees;
    case CS_ALLTOALL: return n * n;
    case CS_ALLREDUCE:
    case CS_REDUCE:
    case CS_BROADCAST:
    case CS_REDUCESCATTER:
    case CS_COLLECTIVE_COUNT: break;
    }
    return n_trees;
}

static cs_status build(builder *b, uint64_t chunk_bytes, cs_plan *plan, cs_error *err)
{
    prepared *p      = b->p;
    size_t    n      = b->scenario->cluster.n_ranks;
    uint32_t  chunks = 0;

    p->n_parts = count_parts(b->scenario, b->strategy);
    if (p->n_parts > MOST_WAYS) {
        return CS_FAIL(err, CS_ENOTSUP, "ranks",
                       "%zu are too many: a turn would have more than 2^23 messages", n);
    }
    p->parts = CS_NEW(part, p->n_parts);
    b->depth = CS_NEW(uint32_t, n);
    b->lanes = CS_NEW(uint32_t, n);
    b->from  = CS_NEW(uint32_t, n);
    b->until = CS_NEW(uint32_t, n);
    if (p->parts == NULL || b->depth == NULL || b->lanes == NULL || b->from == NULL ||
        b->until == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    CS_TRY(add_ways(b, chunk_bytes, err));
    for (size_t i = 0; i < p->n_parts; i++) {
        chunks = p->parts[i].n_chunks > chunks ? p->parts[i].n_chunks : chunks;
    }
    CS_TRY(cs_turns_plan(b->ways, p->n_ways, p->n_parts, chunks, b->logical,
                         are_shared(b->scenario), err));
    CS_TRY(lay_out(b, plan, err));
    return sort_ways(b, plan, err);
}

static cs_status prepare(const cs_scenario *scenario, const cs_strategy *s,
                         const cs_logical *logical, uint64_t chunk_bytes, cs_plan *plan,
                         cs_error *err)
{
    prepared *p    = CS_NEW(prepared, 1);
    cs_plan   made = {0};

    if (p == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    builder   b      = {.scenario = scenario, .strategy = s, .logical = logical, .p = p};
    cs_status status = build(&b, chunk_bytes, &made, err);

    cs_free(b.ways);
    cs_free(b.depth);
    cs_free(b.lanes);
    cs_free(b.from);
    cs_free(b.until);
    if (status != CS_OK) {
        cs_trees_release(p);
        return status;
    }
    *plan          = made;
    plan->prepared = p;
    return CS_OK;
}

cs_status cs_trees_fit(const cs_scenario *scenario, const cs_strategy *s, const cs_logical *logical,
                       cs_error *err)
{
    uint64_t bytes = 0;

    CS_TRY(cs_strategy_fits(s, logical, err));
    for (uint32_t m = 0; m < s->n_trees; m++) {
        const cs_strategy_tree *t = &s->trees[m];

        if (cs_collective_has_root(scenario->collective) && cs_tree_root(t) != scenario->root) {
            return CS_FAIL(err, CS_ENOTSUP, "strategy", "the root of tree %u is rank %u, not %u", m,
                           cs_tree_root(t), scenario->root);
        }
        bytes += t->size_bytes;
    }
    return bytes == scenario->bytes
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "strategy", "the trees are for %llu bytes, not %llu",
                         (unsigned long long)bytes, (unsigned long long)scenario->bytes);
}

cs_status cs_trees_check(const cs_scenario *scenario, const cs_strategy *strategy,
                         uint64_t chunk_bytes, bool for_full_rates, cs_plan *plan, cs_error *err)
{
    cs_logical  logical = {0};
    cs_scenario rates   = *scenario;

    if (for_full_rates) {
        rates.capacity   = NULL;
        rates.n_capacity = 0;
    }
    cs_status status = cs_logical_of_scenario(&logical, &rates, err);
    if (status == CS_OK && strategy != NULL) {
        status = cs_trees_fit(scenario, strategy, &logical, err);
    }
    if (status == CS_OK) {
        status = prepare(scenario, strategy, &logical, chunk_bytes, plan, err);
    }
    cs_logical_free(&logical);
    return status;
}

void cs_trees_close(void *state)
{
    stream *st = state;

    if (st != NULL) {
        cs_free(st->in_window);
        cs_free(st);
    }
}

cs_status cs_trees_open(const void *given, void **state_p, cs_error *err)
{
    const prepared *p  = given;
    stream         *st = CS_NEW(stream, 1);

    if (st != NULL) {
        *st = (stream){.p = p, .in_window = CS_NEW(uint32_t, p->n_parts)};
    }
    if (st == NULL || st->in_window == NULL) {
        cs_trees_close(st);
        return CS_NO_MEMORY(err, "adapcc");
    }
    *state_p = st;
    return CS_OK;
}

static void end_turn(stream *st)
{
    st->next = 0;
    st->turn++;
    for (size_t i = 0; i < st->p->n_parts; i++) {
        st->in_window[i] = st->in_window[i] + 1 < st->p->parts[i].window ? st->in_window[i] + 1 : 0;
    }
}

void cs_trees_next_block(void *state, cs_block *block)
{
    stream         *st = state;
    const prepared *p  = st->p;

    block->count = 0;
    while (st->turn < p->n_turns && block->count < block->capacity) {
        const sent *w      = &p->sents[st->next];
        const part *of     = &p->parts[w->part];
        uint32_t    number = st->turn - w->lag;

        if (number < of->n_chunks) { /* not before its first chunk: the difference is large then */
            uint32_t slot = st->in_window[w->part] - w->lag_in_window;
            slot += st->in_window[w->part] < w->lag_in_window ? of->window : 0;
            cs_transfer_put(&block->transfers[block->count++], w->src, w->dst,
                            of->first_chunk + number,
                            cs_slots(w->src_slot + slot, w->dst_slot + slot),
                            number < of->n_first ? of->first_bytes : of->other_bytes,
                            cs_pair(st->turn, w->tail));
        }
        if (++st->next == p->n_ways) {
            end_turn(st);
        }
    }
}
