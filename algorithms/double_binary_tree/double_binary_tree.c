/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Double binary tree AllReduce, pipelined, as in NCCL: half of the buffer goes up and down one
 * tree, the other half another one, in which leaves and inner nodes have changed places, so that
 * every rank sends and receives about 2 s in all (trees.h).
 *
 * In turn v an edge whose child has depth d, in a tree of height h, carries chunk v - (h - d) of
 * its half up, and chunk v - (h + d - 1) down: what it needs has moved in turn v - 1. In a turn a
 * port carries at most two messages up and two down, which the colours of the edges put in the same
 * order everywhere: with one GPU per server, c chunks per half take at most (c + 2h - 1) 4 (alpha +
 * x / 2c). `chunks` = auto makes that smallest.
 *
 * Sources: P. Sanders, J. Speck, J. L. Traeff, Parallel Computing 35 (2009); S. Jeaugey, "Massively
 * scale your deep learning training with NCCL 2.4" (2019).
 */
#include "algorithms/double_binary_tree/trees.h"
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <math.h>

enum { TREES = 2, UP = 0, DOWN = 1, MOST_CHUNKS = 1 << 20, MOST_AUTO = 1024 };

typedef struct tree_options {
    uint32_t chunks;
} tree_options;

static const cs_field tree_table[] = {
    CS_OPTION_AUTO(tree_options, chunks, 1, MOST_CHUNKS,
                   "chunks that half of the buffer is cut in; auto: by alpha and bandwidth"),
    CS_FIELD_END,
};

typedef struct trees {
    const cs_scenario *scenario;
    cs_arena           arena;
    cs_tree_pair       pair;
    uint32_t           chunks, window; /* per half; chunks in flight */
    uint32_t           turn, end_turn;
    int                way;  /* UP or DOWN */
    size_t             edge; /* next */
} trees;

/* Of the tree over servers, and the chain inside one: at most that, where servers differ in GPUs.
 */
static uint32_t height_of(const cs_cluster *c)
{
    return cs_log2_floor(cs_n_servers(c)) + c->gpus_per_server - 1;
}

/* Turns in which a chunk is on its way. */
static uint32_t window_of(const cs_cluster *c)
{
    return 2 * height_of(c);
}

static uint32_t best_chunks(const cs_scenario *scenario)
{
    const cs_cluster *c      = &scenario->cluster;
    uint32_t          fabric = cs_n_servers(c) > 1 ? CS_NIC : CS_NVLINK;
    const cs_fabric  *f      = &c->fabrics[fabric];
    double            x_s    = (double)scenario->bytes / cs_least_Bps(c, fabric);
    double            best   = sqrt((2.0 * height_of(c) - 1) * x_s / (2 * f->alpha_s));
    double            most   = fmin((double)scenario->bytes / TREES, MOST_AUTO);

    return (uint32_t)fmax(1, fmin(rint(best), most));
}

static cs_status tree_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    tree_options     *o = options;
    const cs_cluster *c = &scenario->cluster;

    CS_TRY(cs_accept_slots(scenario, "double_binary_tree", TREES * (uint64_t)window_of(c), err));
    o->chunks = o->chunks == CS_AUTO ? best_chunks(scenario) : o->chunks;
    *plan     = (cs_plan){.n_chunks = TREES * o->chunks,
                          .n_slots  = TREES * window_of(c),
                          .n_rounds = o->chunks + 2 * height_of(c) - 1,
                          .uses     = cs_uses_nvlink(c)};
    return CS_OK;
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
    trees *t = CS_NEW(trees, 1);

    if (t == NULL) {
        return CS_NO_MEMORY(err, "double_binary_tree");
    }
    t->scenario      = scenario;
    t->chunks        = ((const tree_options *)options)->chunks;
    t->window        = window_of(&scenario->cluster);
    cs_status status = cs_tree_build(&scenario->cluster, &t->arena, &t->pair, err);
    if (status != CS_OK) {
        tree_close(t);
        return status;
    }
    t->end_turn = t->chunks + 2 * height_of(&scenario->cluster) - 1;
    *state_p    = t;
    return CS_OK;
}

/* The chunk that an edge carries in this turn; not there when it is out of range. */
static uint32_t chunk_of(const trees *t, const cs_tree_edge *e)
{
    uint32_t height = t->pair.height[e->tree];
    return t->turn - (t->way == UP ? height - e->depth : height + e->depth - 1);
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
    }
    return (cs_transfer){.src       = src,
                         .dst       = dst,
                         .chunk     = chunk,
                         .src_slot  = slot,
                         .dst_slot  = slot,
                         .bytes     = cs_split(s->bytes, TREES * t->chunks, chunk),
                         .round     = t->turn,
                         .span      = 1,
                         .flags     = (uint8_t)flags,
                         .op_fabric = cs_op_fabric(is_up ? CS_OP_REDUCE : CS_OP_COPY,
                                                   cs_fabric_of(&s->cluster, src, dst))};
}

/* All edges up, then all edges down, colour by colour. */
static void next_place(trees *t)
{
    if (++t->edge < t->pair.n_edges) {
        return;
    }
    t->edge = 0;
    t->turn += t->way == DOWN;
    t->way = 1 - t->way;
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
    .summary       = "half of the buffer over either of two trees, in chunks, as NCCL's trees",
    .source        = "P. Sanders, J. Speck, J. L. Traeff, Parallel Computing 35 (2009); NCCL 2.4",
    .collectives   = 1u << CS_ALLREDUCE,
    .options       = tree_table,
    .options_bytes = sizeof(tree_options),
    .check         = tree_check,
    .open          = tree_open,
    .next_block    = tree_next_block,
    .close         = tree_close,
    .takes_uneven  = true,
};
