/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A strategy as a stream. A reduction goes up, a broadcast down, an allreduce does both, the one
 * behind the other chunk by chunk.
 *
 * In turn v an edge whose child has depth d, in a tree of height h, carries chunk v - (h - d) up,
 * and chunk v - (h + d - 1) down (v - (d - 1) where there is no way up): what it needs has moved in
 * a turn before, so that the edges of a turn may stand in any order. They stand by their colours:
 * of two edges at one port, the one that was added first has the smaller colour, and an edge has
 * the smallest one that neither of its ports has given away. A chunk is in work for 2 h turns, so
 * many slots a tree has.
 *
 * Source: X. Zhao et al., "AdapCC", ICDCS 2024, section V; the order of the transfers is the
 * project's.
 */
#include "algorithms/adapcc/replay.h"

#include "algorithms/adapcc/palette.h"
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CHUNKS = 1 << 24 };

/* One direction of an edge. */
typedef struct way {
    uint32_t src, dst;
    uint32_t lag; /* turns until its first chunk */
    uint32_t colour;
    uint32_t number; /* in which it was added */
    uint32_t tree;
    bool     is_up;
    uint8_t  flags;
} way;

typedef struct tree {
    uint64_t size_bytes, chunk_bytes;
    uint32_t n_chunks, first_chunk, first_slot, window;
} tree;

/* What all streams of a schedule share. */
typedef struct prepared {
    tree    *trees;
    way     *ways;
    size_t   n_ways;
    uint32_t n_turns;
} prepared;

typedef struct stream {
    const prepared    *p;
    const cs_scenario *scenario;
    uint32_t           turn;
    size_t             next;
} stream;

static void release(void *given)
{
    prepared *p = given;

    if (p != NULL) {
        cs_free(p->trees);
        cs_free(p->ways);
        cs_free(p);
    }
}

static bool goes_up(cs_collective collective)
{
    return collective != CS_BROADCAST;
}

static bool goes_down(cs_collective collective)
{
    return collective != CS_REDUCE;
}

static int by_colour(const void *left, const void *right)
{
    const way *a = left, *b = right;

    if (a->colour != b->colour) {
        return a->colour < b->colour ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

/* Both ways of the edges of tree m, from the root on; `depth` is at work. Returns its height. */
static uint32_t add_ways(prepared *p, const cs_strategy *s, uint32_t m, cs_collective collective,
                         uint32_t *depth)
{
    const cs_strategy_tree *t      = &s->trees[m];
    uint32_t                height = 0;

    depth[cs_tree_root(t)] = 0;
    for (uint32_t i = 1; i < s->n_members; i++) {
        depth[t->order[i]] = depth[t->parent[t->order[i]]] + 1;
        height             = depth[t->order[i]];
    }
    for (uint32_t i = 1; i < s->n_members; i++) {
        uint32_t g = t->order[i], above = t->parent[g], d = depth[g];

        if (goes_up(collective)) {
            p->ways[p->n_ways] = (way){.src    = g,
                                       .dst    = above,
                                       .lag    = height - d,
                                       .tree   = m,
                                       .is_up  = true,
                                       .number = (uint32_t)p->n_ways,
                                       .flags  = t->n_children[g] == 0 ? CS_OWN_SRC : 0};
            p->n_ways++;
        }
        if (goes_down(collective)) {
            bool is_own        = !goes_up(collective) && above == cs_tree_root(t);
            p->ways[p->n_ways] = (way){.src    = above,
                                       .dst    = g,
                                       .tree   = m,
                                       .lag    = (goes_up(collective) ? height : 0) + d - 1,
                                       .number = (uint32_t)p->n_ways,
                                       .flags  = CS_DONE_DST | (is_own ? CS_OWN_SRC : 0)};
            p->n_ways++;
        }
    }
    return height;
}

/* The first sum into a rank begins with its own contribution, the last one into a root ends it. */
static void mark_sums(prepared *p, const cs_strategy *s, uint32_t *left)
{
    for (uint32_t m = 0; m < s->n_trees; m++) {
        const cs_strategy_tree *t = &s->trees[m];

        memcpy(left, t->n_children, s->n_ranks * sizeof *left);
        for (size_t i = 0; i < p->n_ways; i++) {
            way *w = &p->ways[i];
            if (w->tree != m || !w->is_up) {
                continue;
            }
            w->flags |= left[w->dst] == t->n_children[w->dst] ? CS_OWN_DST : 0;
            left[w->dst]--;
            w->flags |= left[w->dst] == 0 && w->dst == cs_tree_root(t) ? CS_DONE_DST : 0;
        }
    }
}

static void colour_ways(prepared *p, const cs_logical *l, cs_palette *out, cs_palette *in)
{
    for (size_t i = 0; i < p->n_ways; i++) {
        way                  *w = &p->ways[i];
        const cs_logical_edge e = cs_logical_edge_of(l, w->src, w->dst);

        if (e.egress != CS_NO_PORT) {
            w->colour = cs_palette_take(&out[e.egress], &in[e.ingress]);
        }
    }
    qsort(p->ways, p->n_ways, sizeof *p->ways, by_colour);
}

/* Chunks, slots and turns of the trees. */
static cs_status lay_out(prepared *p, const cs_strategy *s, cs_collective collective,
                         const uint32_t *heights, cs_plan *plan, cs_error *err)
{
    uint64_t chunks = 0, slots = 0, turns = 0;
    bool     both = goes_up(collective) && goes_down(collective);

    for (uint32_t m = 0; m < s->n_trees; m++) {
        uint64_t n = cs_tree_n_chunks(&s->trees[m]), h = heights[m], window = both ? 2 * h : 2;

        if (chunks + n > MOST_CHUNKS) {
            return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunk",
                           "chunks of %llu bytes are too small: accepted are 2^24 chunks in all",
                           (unsigned long long)s->trees[m].chunk_bytes);
        }
        p->trees[m]   = (tree){.size_bytes  = s->trees[m].size_bytes,
                               .chunk_bytes = s->trees[m].chunk_bytes,
                               .n_chunks    = (uint32_t)n,
                               .first_chunk = (uint32_t)chunks,
                               .first_slot  = (uint32_t)slots,
                               .window      = (uint32_t)window};
        uint64_t last = n + (both ? 2 * h : h) - 1;
        turns         = last > turns ? last : turns;
        chunks += n;
        slots += window;
        if (slots > CS_MAX_SLOTS) {
            break;
        }
    }
    *plan      = (cs_plan){.n_chunks      = (uint32_t)chunks,
                           .n_slots       = (uint32_t)slots,
                           .n_rounds      = (uint32_t)turns,
                           .chunks_differ = true};
    p->n_turns = plan->n_rounds;
    return CS_OK;
}

/* The schedule of a strategy for a scenario whose topology is `logical`. */
static cs_status build(const cs_scenario *scenario, const cs_strategy *s, const cs_logical *logical,
                       prepared *p, cs_plan *plan, cs_error *err)
{
    size_t      ports = cs_logical_n_ports(logical), ways = (size_t)2 * s->n_trees * s->n_members;
    uint32_t   *work = CS_NEW(uint32_t, s->n_ranks), *heights = CS_NEW(uint32_t, s->n_trees);
    cs_palette *palettes = CS_NEW(cs_palette, 2 * ports);
    cs_status   status   = CS_OK;

    p->trees = CS_NEW(tree, s->n_trees);
    p->ways  = CS_NEW(way, ways);
    if (work == NULL || heights == NULL || palettes == NULL || p->trees == NULL ||
        p->ways == NULL) {
        status = CS_NO_MEMORY(err, "adapcc");
    } else {
        for (uint32_t m = 0; m < s->n_trees; m++) {
            heights[m] = add_ways(p, s, m, scenario->collective, work);
        }
        colour_ways(p, logical, palettes, palettes + ports);
        mark_sums(p, s, work);
        status = lay_out(p, s, scenario->collective, heights, plan, err);
    }
    cs_free(work);
    cs_free(heights);
    cs_free(palettes);
    if (status == CS_OK) {
        plan->uses = cs_uses_nvlink(&scenario->cluster);
        status     = cs_accept_slots(scenario, "adapcc", plan->n_slots, err);
    }
    return status;
}

static cs_status prepare(const cs_scenario *scenario, const cs_strategy *s,
                         const cs_logical *logical, cs_plan *plan, cs_error *err)
{
    prepared *p    = CS_NEW(prepared, 1);
    cs_plan   made = {0};

    if (p == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    cs_status status = build(scenario, s, logical, p, &made, err);
    if (status != CS_OK) {
        release(p);
        return status;
    }
    *plan          = made;
    plan->prepared = p;
    return CS_OK;
}

/* Can the engine replay these trees for the scenario? */
static cs_status check_strategy(const cs_scenario *scenario, const cs_strategy *s, cs_error *err)
{
    uint64_t bytes = 0;

    for (uint32_t m = 0; m < s->n_trees; m++) {
        const cs_strategy_tree *t = &s->trees[m];

        if (cs_collective_has_root(scenario->collective) && cs_tree_root(t) != scenario->root) {
            return CS_FAIL(err, CS_ENOTSUP, "strategy", "the root of tree %u is rank %u, not %u", m,
                           cs_tree_root(t), scenario->root);
        }
        for (uint32_t g = 0; g < s->n_ranks; g++) {
            if (!t->aggregates[g] && goes_up(scenario->collective) && t->n_children[g] > 0) {
                return CS_FAIL(err, CS_ENOTSUP, "strategy",
                               "rank %u forwards in tree %u: only trees that add up are replayed",
                               g, m);
            }
        }
        bytes += t->size_bytes;
    }
    return bytes == scenario->bytes
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "strategy", "the trees are for %llu bytes, not %llu",
                         (unsigned long long)bytes, (unsigned long long)scenario->bytes);
}

static cs_status strategy_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                cs_error *err)
{
    const cs_strategy *s       = ((const cs_strategy_options *)options)->strategy;
    cs_logical         logical = {0};

    cs_status status = cs_logical_of_scenario(&logical, scenario, err);
    if (status == CS_OK) {
        status = cs_strategy_fits(s, &logical, err);
    }
    if (status == CS_OK) {
        status = check_strategy(scenario, s, err);
    }
    if (status == CS_OK) {
        status = prepare(scenario, s, &logical, plan, err);
    }
    cs_logical_free(&logical);
    return status;
}

static cs_status strategy_open(const cs_scenario *scenario, const void *options, const void *given,
                               void **state_p, cs_error *err)
{
    stream *st = CS_NEW(stream, 1);

    (void)options;
    if (st == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    *st      = (stream){.p = given, .scenario = scenario};
    *state_p = st;
    return CS_OK;
}

static cs_transfer transfer(const stream *st, const way *w, const tree *t, uint32_t number)
{
    uint64_t from = (uint64_t)number * t->chunk_bytes;
    bool     ends = number + 1 == t->n_chunks;
    uint16_t slot = (uint16_t)(t->first_slot + number % t->window);

    return (cs_transfer){.src      = w->src,
                         .dst      = w->dst,
                         .chunk    = t->first_chunk + number,
                         .src_slot = slot,
                         .dst_slot = slot,
                         .bytes    = ends ? t->size_bytes - from : t->chunk_bytes,
                         .round    = st->turn,
                         .span     = 1,
                         .flags    = w->flags,
                         .op_fabric =
                             cs_op_fabric(w->is_up ? CS_OP_REDUCE : CS_OP_COPY,
                                          cs_fabric_of(&st->scenario->cluster, w->src, w->dst))};
}

static void strategy_next_block(void *state, cs_block *block)
{
    stream         *st = state;
    const prepared *p  = st->p;

    block->count = 0;
    while (st->turn < p->n_turns && block->count < block->capacity) {
        const way  *w      = &p->ways[st->next];
        const tree *t      = &p->trees[w->tree];
        uint32_t    number = st->turn - w->lag;

        if (number < t->n_chunks) { /* not before its first chunk: the difference is large then */
            block->transfers[block->count++] = transfer(st, w, t, number);
        }
        if (++st->next == p->n_ways) {
            st->next = 0;
            st->turn++;
        }
    }
}

const cs_algorithm cs_algorithm_strategy = {
    .name          = "adapcc",
    .summary       = "trees from a file",
    .source        = "the file",
    .collectives   = 1u << CS_ALLREDUCE | 1u << CS_BROADCAST | 1u << CS_REDUCE,
    .options_bytes = sizeof(cs_strategy_options),
    .check         = strategy_check,
    .open_prepared = strategy_open,
    .release       = release,
    .next_block    = strategy_next_block,
    .close         = cs_free,
    .takes_uneven  = true,
};
