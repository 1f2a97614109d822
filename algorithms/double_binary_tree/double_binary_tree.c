/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binary trees over the servers, pipelined. double_binary_tree is NCCL's AllReduce: half of the
 * buffer goes up and down one tree, the other half another one, in which leaves and inner nodes
 * have changed places, so that every rank sends and receives about 2 s in all (trees.h); with
 * `trees` = 1 everything goes over the first one. In a Broadcast or Reduce both hang from the root,
 * and a port carries s. reduce_tree is one tree from the root, over whose ports 2 s go.
 *
 * In turn v an edge whose child has depth d, in a tree of height h, carries chunk v - (h - d) of
 * the tree's share up, and chunk v - (h + d - 1) down (v - (d - 1) where nothing goes up): what it
 * needs has moved in turn v - 1. In a turn a port carries at most two messages up and two down,
 * which the colours of the edges put in the same order everywhere: with one GPU per server, two
 * trees and c chunks in each half take at most (c + 2h - 1) 4 (alpha + x / 2c). `chunks` = auto
 * makes that smallest.
 *
 * Sources: P. Sanders, J. Speck, J. L. Traeff, Parallel Computing 35 (2009); S. Jeaugey, "Massively
 * scale your deep learning training with NCCL 2.4" (2019); for reduce_tree X. Zhao et al.,
 * "AdapCC", ICDCS 2024, which says that NCCL reduces over such a tree.
 */
#include "algorithms/double_binary_tree/trees.h"
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <math.h>

enum { UP = 0, DOWN = 1, WAYS = 2, MOST_CHUNKS = 1 << 20, MOST_AUTO = 1024 };

enum { SHAPE_IN_ORDER, SHAPE_NCCL }; /* tree_options.shape */

typedef struct tree_options {
    uint32_t chunks, trees;
    int      shape; /* SHAPE_IN_ORDER .. */
} tree_options;

#define CHUNKS_ROW                                       \
    CS_OPTION_AUTO(tree_options, chunks, 1, MOST_CHUNKS, \
                   "chunks that a tree's share is cut in; auto: by alpha and bandwidth")

static const cs_field tree_table[] = {
    CHUNKS_ROW,
    CS_OPTION(tree_options, trees, 2, 1, 2, "two complementary trees, or the first one alone"),
    CS_OPTION_CHOICE(
        tree_options, shape, "sanders|nccl",
        "root in the middle of the servers, or server 0 with one child, as NCCL has it; where the "
        "collective has a root, both trees hang from that"),
    CS_FIELD_END,
};

typedef struct trees {
    const cs_scenario *scenario;
    cs_arena           arena;
    cs_tree_pair       pair;
    uint32_t           n_trees, chunks, window; /* per tree; chunks in flight */
    uint32_t           turn, end_turn;
    int                way;  /* UP or DOWN */
    size_t             edge; /* next */
} trees;

static bool goes(cs_collective collective, int way)
{
    return collective != (way == UP ? CS_BROADCAST : CS_REDUCE);
}

static cs_tree_shape shape_of(const cs_scenario *scenario, const tree_options *o)
{
    bool has_root = cs_collective_has_root(scenario->collective);
    return (cs_tree_shape){.n_trees   = o->trees,
                           .root      = has_root                 ? scenario->root
                                        : o->shape == SHAPE_NCCL ? 0
                                                                 : CS_TREE_IN_ORDER,
                           .is_rooted = has_root};
}

/* Turns in which a chunk is on its way. */
static uint32_t window_of(const cs_scenario *scenario, const tree_options *o)
{
    cs_tree_shape shape = shape_of(scenario, o);
    uint32_t      ways  = goes(scenario->collective, UP) + goes(scenario->collective, DOWN);
    return ways * cs_tree_height(&scenario->cluster, &shape);
}

static uint32_t best_chunks(const cs_scenario *scenario, const tree_options *o)
{
    const cs_cluster *c      = &scenario->cluster;
    uint32_t          fabric = cs_n_servers(c) > 1 ? CS_NIC : CS_NVLINK;
    const cs_fabric  *f      = &c->fabrics[fabric];
    double            x_s    = (double)scenario->bytes / cs_least_Bps(c, fabric);
    double            best   = sqrt((window_of(scenario, o) - 1.0) * x_s / (o->trees * f->alpha_s));
    double            most   = fmin((double)scenario->bytes / o->trees, MOST_AUTO);

    return (uint32_t)fmax(1, fmin(rint(best), most));
}

static cs_status check_trees(const cs_scenario *scenario, tree_options *o, const char *algorithm,
                             cs_plan *plan, cs_error *err)
{
    uint32_t window = window_of(scenario, o);

    CS_TRY(cs_accept_slots(scenario, algorithm, o->trees * (uint64_t)window, err));
    o->chunks = o->chunks == CS_AUTO ? best_chunks(scenario, o) : o->chunks;
    *plan     = (cs_plan){.n_chunks   = o->trees * o->chunks,
                          .n_slots    = o->trees * window,
                          .n_rounds   = o->chunks + window - 1,
                          .uses       = cs_uses_nvlink(&scenario->cluster),
                          .uses_trees = true};
    return CS_OK;
}

static cs_status tree_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    return check_trees(scenario, options, "double_binary_tree", plan, err);
}

static void tree_close(void *state)
{
    trees *t = state;

    if (t != NULL) {
        cs_arena_free(&t->arena);
        cs_free(t);
    }
}

static cs_status tree_open(const cs_scenario *scenario, const void *options, void **state_p,
                           cs_error *err)
{
    const tree_options *o     = options;
    const cs_tree_shape shape = shape_of(scenario, o);
    trees              *t     = CS_NEW(trees, 1);

    if (t == NULL) {
        return CS_NO_MEMORY(err, "trees");
    }
    t->scenario      = scenario;
    t->n_trees       = o->trees;
    t->chunks        = o->chunks;
    t->window        = window_of(scenario, o);
    t->way           = goes(scenario->collective, UP) ? UP : DOWN;
    t->end_turn      = t->chunks + t->window - 1;
    cs_status status = cs_tree_build(&scenario->cluster, &shape, &t->arena, &t->pair, err);
    if (status != CS_OK) {
        tree_close(t);
        return status;
    }
    *state_p = t;
    return CS_OK;
}

/* The chunk that an edge carries in this turn; not there when it is out of range. */
static uint32_t chunk_of(const trees *t, const cs_tree_edge *e)
{
    uint32_t height = t->pair.height[e->tree];
    uint32_t climb  = goes(t->scenario->collective, UP) ? height : 0;
    return t->turn - (t->way == UP ? height - e->depth : climb + e->depth - 1);
}

static cs_transfer transfer(const trees *t, const cs_tree_edge *e, uint32_t number)
{
    const cs_scenario *s     = t->scenario;
    bool               is_up = t->way == UP, at_root = e->parent == t->pair.root[e->tree];
    uint32_t           src = is_up ? e->child : e->parent, dst = is_up ? e->parent : e->child;
    uint32_t           chunk = e->tree * t->chunks + number;
    uint16_t           slot  = (uint16_t)(e->tree * t->window + number % t->window);
    uint32_t           flags = is_up ? 0 : CS_DONE_DST;

    if (is_up) {
        flags |= e->is_leaf ? CS_OWN_SRC : 0;
        flags |= e->is_first ? CS_OWN_DST : 0;
        flags |= at_root && e->is_last ? CS_DONE_DST : 0;
    } else if (at_root && !goes(s->collective, UP)) {
        flags |= CS_OWN_SRC;
    }
    return (cs_transfer){.src       = src,
                         .dst       = dst,
                         .chunk     = chunk,
                         .src_slot  = slot,
                         .dst_slot  = slot,
                         .bytes     = cs_split(s->bytes, t->n_trees * t->chunks, chunk),
                         .round     = t->turn,
                         .span      = 1,
                         .flags     = (uint8_t)flags,
                         .op_fabric = cs_op_fabric(is_up ? CS_OP_REDUCE : CS_OP_COPY,
                                                   cs_fabric_of(&s->cluster, src, dst))};
}

/* All edges up, then all edges down, colour by colour. */
static void next_place(trees *t)
{
    cs_collective c = t->scenario->collective;

    if (++t->edge < t->pair.n_edges) {
        return;
    }
    t->edge = 0;
    t->turn += t->way == DOWN || !goes(c, DOWN);
    t->way = goes(c, UP) && goes(c, DOWN) ? 1 - t->way : t->way;
}

static void tree_next_block(void *state, cs_block *block)
{
    trees *t = state;

    block->count = 0;
    while (t->turn < t->end_turn && block->count < block->capacity) {
        const cs_tree_edge *e      = &t->pair.edges[t->edge];
        uint32_t            number = chunk_of(t, e);
        if (number < t->chunks) {
            block->transfers[block->count++] = transfer(t, e, number);
        }
        next_place(t);
    }
}

const cs_algorithm cs_algorithm_double_binary_tree = {
    .name          = "double_binary_tree",
    .aliases       = "tree",
    .summary       = "half of the buffer over either of two trees, in chunks, as NCCL's trees",
    .source        = "P. Sanders, J. Speck, J. L. Traeff, Parallel Computing 35 (2009); NCCL 2.4",
    .collectives   = 1u << CS_ALLREDUCE | 1u << CS_BROADCAST | 1u << CS_REDUCE,
    .options       = tree_table,
    .options_bytes = sizeof(tree_options),
    .check         = tree_check,
    .open          = tree_open,
    .next_block    = tree_next_block,
    .close         = tree_close,
    .takes_uneven  = true,
};

/* ---- reduce_tree: one tree from the root ---- */

static const cs_field reduce_table[] = {CHUNKS_ROW, CS_FIELD_END};

static cs_status reduce_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                              cs_error *err)
{
    ((tree_options *)options)->trees = 1;
    return check_trees(scenario, options, "reduce_tree", plan, err);
}

/* A rank has chunk k of the tree when `first` + k `pace` messages have gone one behind the other.
 */
typedef struct progress {
    uint32_t first, pace;
    uint32_t children, served; /* edges to children: all, and those that were looked at */
    uint32_t busy;             /* when the last of these has carried chunk 0 */
} progress;

/* The child has sent chunk 0 to its parent: behind what the parent got from its other child. */
static void pass_up(const progress *child, progress *parent)
{
    parent->first = (child->first > parent->first ? child->first : parent->first) + 1;
    parent->pace  = child->pace > parent->pace ? child->pace : parent->pace;
    parent->pace  = parent->children > parent->pace ? parent->children : parent->pace;
}

static void pass_down(progress *child, progress *parent)
{
    parent->busy = (parent->served++ == 0 ? parent->first : parent->busy) + 1;
    child->first = parent->busy;
    child->pace  = parent->children > parent->pace ? parent->children : parent->pace;
}

/* Messages one behind the other until all are done, where all take the same time; with one GPU per
 * server. A port with two edges takes two messages a chunk, and no other slows it down. */
static double count_messages(const cs_tree_pair *pair, progress *ranks, uint32_t n, uint32_t chunks,
                             bool reduces)
{
    double last = 0;

    for (size_t i = 0; i < pair->n_edges; i++) {
        ranks[pair->edges[i].parent].children++;
    }
    for (uint32_t level = 1; level <= pair->height[0]; level++) {
        uint32_t depth = reduces ? pair->height[0] + 1 - level : level;
        for (size_t i = 0; i < pair->n_edges; i++) {
            const cs_tree_edge *e = &pair->edges[i];
            if (e->depth != depth) {
                continue;
            }
            if (reduces) {
                pass_up(&ranks[e->child], &ranks[e->parent]);
            } else {
                pass_down(&ranks[e->child], &ranks[e->parent]);
            }
        }
    }
    for (uint32_t r = 0; r < n; r++) {
        last = fmax(last, ranks[r].first + (chunks - 1.0) * ranks[r].pace);
    }
    return last;
}

/* Equal chunks, all together, and every pair alike: the messages one behind the other. */
static double reduce_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const tree_options *o        = options;
    const cs_tree_shape shape    = shape_of(scenario, o);
    const cs_cluster   *c        = &scenario->cluster;
    cs_arena            arena    = {0};
    cs_tree_pair        pair     = {0};
    uint32_t            n        = c->n_ranks, fabric;
    double              messages = (double)NAN;

    if (!cs_is_uniform(scenario, &fabric) || scenario->bytes % o->chunks != 0 ||
        cs_last_arrival(scenario) > 0) {
        return (double)NAN;
    }
    if (c->gpus_per_server > 1) { /* the chain of a single server */
        messages = o->chunks + n - 2.0;
    } else {
        progress *ranks = CS_ARENA_NEW(&arena, progress, n);
        if (ranks != NULL && cs_tree_build(c, &shape, &arena, &pair, NULL) == CS_OK) {
            messages =
                count_messages(&pair, ranks, n, o->chunks, scenario->collective == CS_REDUCE);
        }
    }
    cs_arena_free(&arena);
    return messages * cs_message_s(scenario, fabric, scenario->bytes / o->chunks);
}

const cs_algorithm cs_algorithm_reduce_tree = {
    .name          = "reduce_tree",
    .summary       = "Reduce and Broadcast over a binary tree of the servers, in chunks",
    .source        = "X. Zhao et al., \"AdapCC\", ICDCS 2024, on NCCL's Reduce",
    .collectives   = 1u << CS_REDUCE | 1u << CS_BROADCAST,
    .options       = reduce_table,
    .options_bytes = sizeof(tree_options),
    .check         = reduce_check,
    .open          = tree_open,
    .next_block    = tree_next_block,
    .close         = tree_close,
    .closed_form_s = reduce_closed_form_s,
    .takes_uneven  = true,
};
