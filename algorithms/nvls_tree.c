/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AllReduce over servers whose NVSwitches add up and pass on: NCCL's NVLSTree, and, where the
 * network does so, too (SHARP), CollNet with NVLS.
 *
 * In every server h heads take sums from the switch, as in nvls.c. Head j of all servers then are
 * the nodes of two complementary trees (double_binary_tree/trees.h) for half of its pieces each: up
 * goes the sum of a subtree's servers, down that of all, and the switches pass that on. A *lane* is
 * a head and one of its trees, a *row* a piece of every lane. In turn v of trees of height H row v
 * leaves the GPUs, row v - 1 - (H - d) goes up from heads of depth d, row v - H - d down to them,
 * and row v - 2H - 1 - SLACK is passed on: what a transfer needs has moved a turn before. In the
 * limit of many rows, for servers with a NIC of l_nic seconds per byte for each head:
 *
 *   T = max((1 + 1/h) x l_nvlink, k(N) x l_nic / h),  k(2) = 1, k(3) = 3/2, k(N) = 2
 *
 * collnet has the network's switch in the place of the trees: heads send it their sums, and it
 * sends them that of all. So a NIC carries x / h each way, whatever the number of servers:
 *
 *   T = max((1 + 1/h) x l_nvlink, x l_nic / h)
 *
 * Sources: what NCCL does, from its public source (sim/doc/nccl.md); for the trees P. Sanders,
 * J. Speck, J. L. Traeff, Parallel Computing 35 (2009).
 */
#include "algorithms/double_binary_tree/trees.h"
#include "algorithms/lib/accept.h"
#include "algorithms/lib/pieces.h"
#include "base/alloc.h"

#include <math.h>

extern const cs_algorithm cs_algorithm_nvls_tree, cs_algorithm_collnet;

enum {
    TREES         = 2,
    MOST_PIECES   = 4096,
    MOST_AUTO     = 256,
    SLACK         = 2,     /* turns between the sum and its multicast */
    MOST_REPLAYED = 200000 /* messages */
};

typedef struct tree_options {
    uint32_t pieces, heads;
} tree_options;

static const cs_field tree_table[] = {
    CS_OPTION_AUTO(tree_options, pieces, 1, MOST_PIECES,
                   "pieces of what a head sends, over either of its trees"),
    CS_OPTION_AUTO(tree_options, heads, 1, CS_MAX_RANKS,
                   "GPUs of a server that take sums from its switch; auto: all (NCCL: 32 at most)"),
    CS_FIELD_END,
};

/* The servers as the nodes of trees: one GPU each. */
static cs_cluster nodes_of(const cs_scenario *scenario)
{
    return (cs_cluster){.n_ranks = cs_n_servers(&scenario->cluster), .gpus_per_server = 1};
}

static const cs_tree_shape shape = {.n_trees = TREES, .root = 0};

/* How the heads of servers add up: over two trees, or by the network's switch. */
typedef struct way {
    const cs_algorithm *algorithm;
    bool                is_star;       /* all send to the switch */
    uint32_t            lanes_of_head; /* trees */
    uint32_t            uses;          /* CS_USES_* */
} way;
static const way over_trees = {&cs_algorithm_nvls_tree, false, TREES,
                               CS_USES_NVLINK | CS_USES_SWITCH};
static const way over_star  = {&cs_algorithm_collnet, true, 1,
                               CS_USES_NVLINK | CS_USES_SWITCH | CS_USES_NETWORK_SWITCH};

static uint32_t height_of(const cs_scenario *scenario, const way *w)
{
    const cs_cluster nodes = nodes_of(scenario);
    return w->is_star ? 1 : cs_tree_height(&nodes, &shape);
}

/* Rows that are under way at once. */
static uint32_t window_of(const cs_scenario *scenario, const way *w)
{
    return 2 * height_of(scenario, w) + 2 + SLACK;
}

/* ---- the plan ---- */

static cs_status refuse_cluster(const cs_scenario *scenario, const way *w, cs_error *err)
{
    const cs_cluster *c = &scenario->cluster;

    if (cs_n_servers(c) < 2 || c->gpus_per_server < 2) {
        return CS_FAIL(
            err, CS_ENOTSUP, "cluster.gpus_per_server",
            "%s joins servers of several GPUs, here are %u of %u: nvls is for one server, "
            "double_binary_tree for single GPUs",
            w->algorithm->name, cs_n_servers(c), c->gpus_per_server);
    }
    if (c->fabrics[CS_NVLINK].kind != CS_SWITCHED || c->sockets > 1) {
        return CS_FAIL(
            err, CS_ENOTSUP, "cluster.nvlink.kind",
            "%s needs an NVSwitch that joins all GPUs of a server: accepted is switched, "
            "with one socket",
            w->algorithm->name);
    }
    return CS_OK;
}

/* Seconds that the busiest port needs for all, without start-ups. */
static double busy_s(const cs_scenario *scenario, const tree_options *o, const way *w)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          n = cs_n_servers(c);
    double            x = (double)scenario->bytes, k = w->is_star || n == 2 ? 1 : n == 3 ? 1.5 : 2;

    return fmax((1 + 1.0 / o->heads) * x / c->fabrics[CS_NVLINK].bandwidth_Bps,
                k * x / o->heads / c->fabrics[CS_NIC].bandwidth_Bps);
}

/* A row more costs a NIC two messages of a lane each way, and fills the pipeline as much sooner. */
static cs_status choose_pieces(const cs_scenario *scenario, tree_options *o, const way *w,
                               cs_error *err)
{
    const cs_cluster *c = &scenario->cluster;
    const double      h = o->heads, lanes = w->lanes_of_head, fill = window_of(scenario, w);
    const double      alpha_s =
        lanes * fmax(2 * c->fabrics[CS_NIC].alpha_s, (h + 1) * c->fabrics[CS_NVLINK].alpha_s);
    const double predicted =
        alpha_s > 0 ? sqrt(fill * busy_s(scenario, o, w) / alpha_s) : (double)MOST_AUTO;
    const double most = fmin(MOST_AUTO, floor((double)scenario->bytes / (lanes * h)));

    return cs_choose_pieces(w->algorithm, scenario, o, &o->pieces, predicted, most,
                            2 * lanes * predicted * h * c->n_ranks < MOST_REPLAYED, err);
}

static cs_status check(const cs_scenario *scenario, tree_options *o, const way *w, cs_plan *plan,
                       cs_error *err)
{
    uint32_t g = scenario->cluster.gpus_per_server;

    CS_TRY(refuse_cluster(scenario, w, err));
    if (o->heads != CS_AUTO && o->heads > g) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.heads",
                       "%u heads of %u GPUs: accepted are 1 .. %u and auto", o->heads, g, g);
    }
    if (o->heads == CS_AUTO) {
        o->heads = (uint32_t)fmin(g, fmax(1, floor((double)scenario->bytes / w->lanes_of_head)));
    }
    if (o->pieces == CS_AUTO) {
        CS_TRY(choose_pieces(scenario, o, w, err));
    }
    uint32_t lanes = w->lanes_of_head * o->heads;
    if (o->pieces > 1 && (uint64_t)lanes * o->pieces > scenario->bytes) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.pieces",
                       "%u pieces over %u lanes and %llu bytes: accepted are pieces of at least a "
                       "byte",
                       o->pieces, lanes, (unsigned long long)scenario->bytes);
    }
    uint64_t n_slots = 2 * (uint64_t)window_of(scenario, w) * lanes; /* on the way up, and down */
    CS_TRY(cs_accept_slots(scenario, w->algorithm->name, n_slots, err));
    *plan = (cs_plan){.n_chunks         = lanes * o->pieces,
                      .n_slots          = (uint32_t)n_slots,
                      .n_rounds         = o->pieces + window_of(scenario, w) - 1,
                      .uses             = w->uses,
                      .ignores_arrivals = true};
    return CS_OK;
}

static cs_status tree_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    return check(scenario, options, &over_trees, plan, err);
}

static cs_status star_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    return check(scenario, options, &over_star, plan, err);
}

/* ---- the stream ---- */

typedef enum stage { STAGE_CAST, STAGE_DOWN, STAGE_UP, STAGE_REDUCE, STAGES } stage;

typedef struct nvls_tree {
    const cs_scenario *scenario;
    cs_arena           arena;
    const way         *way;
    cs_tree_pair       trees; /* of servers; a star has the switch behind them */
    uint32_t           servers, gpus, heads, lanes, rows, height, window;
    uint32_t           turn;    /* next: .. and of it */
    stage              stage;   /* .. this */
    size_t             item;    /* .. of a server or an edge */
    uint32_t           lane;    /* .. the piece of a lane */
    uint32_t           message; /* .. and of it so many are done */
} nvls_tree;

/* A piece in a stage. */
typedef struct piece {
    uint32_t row, lane, head, tree;
    uint32_t up, down; /* slots */
} piece;

static uint32_t head_rank(const nvls_tree *t, uint32_t server, uint32_t head)
{
    if (server == t->servers) { /* of a star */
        return cs_network_switch(&t->scenario->cluster);
    }
    return server * t->gpus + (uint32_t)((uint64_t)head * t->gpus / t->heads);
}

static void put(const nvls_tree *t, const piece *p, uint32_t src, uint32_t dst, cs_op op,
                uint32_t flags, uint32_t src_slot, uint32_t dst_slot, cs_block *block)
{
    const cs_cluster *c      = &t->scenario->cluster;
    const uint32_t    chunk  = p->row * t->lanes + p->lane;
    const uint32_t    most   = src > dst ? src : dst;
    const bool        is_nic = most < c->n_ranks || most == cs_network_switch(c);

    block->transfers[block->count++] =
        (cs_transfer){.src       = src,
                      .dst       = dst,
                      .chunk     = chunk,
                      .src_slot  = (uint16_t)src_slot,
                      .dst_slot  = (uint16_t)dst_slot,
                      .bytes     = cs_split(t->scenario->bytes, t->lanes * t->rows, chunk),
                      .round     = t->turn,
                      .span      = 1,
                      .flags     = (uint8_t)flags,
                      .op_fabric = cs_op_fabric(op, is_nic ? CS_NIC : CS_NVLINK)};
}

/* Message t->message of those that a piece takes in a server, or over an edge. False: all are done.
 */
static bool put_message(const nvls_tree *t, const piece *p, cs_block *block)
{
    const uint32_t m = t->message, server = (uint32_t)t->item;

    if (t->stage == STAGE_REDUCE || t->stage == STAGE_CAST) {
        const uint32_t hub  = cs_switch_of(&t->scenario->cluster, server);
        const uint32_t head = head_rank(t, server, p->head), first = server * t->gpus;
        if (m > t->gpus) {
            return false;
        }
        if (t->stage == STAGE_REDUCE && m < t->gpus) { /* the first contribution begins the sum */
            put(t, p, first + m, hub, m == 0 ? CS_OP_COPY : CS_OP_REDUCE, CS_OWN_SRC, p->up, p->up,
                block);
        } else if (t->stage == STAGE_REDUCE) {
            put(t, p, hub, head, CS_OP_COPY, 0, p->up, p->up, block);
        } else if (m == 0) {
            bool is_root = t->trees.root[p->tree] == server;
            put(t, p, head, hub, CS_OP_COPY, 0, is_root ? p->up : p->down, p->down, block);
        } else {
            put(t, p, hub, first + m - 1, CS_OP_COPY, CS_DONE_DST, p->down, p->down, block);
        }
        return true;
    }
    const cs_tree_edge *e     = &t->trees.edges[t->item];
    const uint32_t      child = head_rank(t, e->child, p->head);
    const uint32_t      above = head_rank(t, e->parent, p->head);
    if (m > 0 || e->tree != p->tree) {
        return false;
    }
    if (t->stage == STAGE_UP) {
        const bool begins = t->way->is_star && t->item == 0; /* the switch's sum */
        put(t, p, child, above, begins ? CS_OP_COPY : CS_OP_REDUCE, 0, p->up, p->up, block);
    } else {
        put(t, p, above, child, CS_OP_COPY, 0, e->depth == 1 ? p->up : p->down, p->down, block);
    }
    return true;
}

/* The row that an item of a stage has in this turn; none where it is not below t->rows. */
static uint32_t row_of(const nvls_tree *t)
{
    const uint32_t h = t->height;

    switch (t->stage) {
    case STAGE_CAST: return t->turn - (2 * h + 1 + SLACK);
    case STAGE_DOWN: return t->turn - (h + t->trees.edges[t->item].depth);
    case STAGE_UP: return t->turn - (1 + h - t->trees.edges[t->item].depth);
    case STAGE_REDUCE:
    case STAGES: break;
    }
    return t->turn;
}

/* The next piece of this item, item of this stage, stage of this turn, or turn. */
static void advance(nvls_tree *t)
{
    const bool   is_inside = t->stage == STAGE_REDUCE || t->stage == STAGE_CAST;
    const size_t items     = is_inside ? t->servers : t->trees.n_edges;

    t->message = 0;
    if (row_of(t) < t->rows && ++t->lane < t->lanes) {
        return;
    }
    t->lane = 0;
    if (++t->item < items) {
        return;
    }
    t->item  = 0;
    t->stage = (stage)((t->stage + 1) % STAGES);
    t->turn += t->stage == 0;
}

static void tree_next_block(void *state, cs_block *block)
{
    nvls_tree     *t   = state;
    const uint32_t end = t->rows + t->window - 1;

    block->count = 0;
    while (t->turn < end && block->count < block->capacity) {
        const uint32_t row  = row_of(t);
        const uint32_t slot = row % t->window * t->lanes + t->lane;
        const piece    p    = {.row  = row,
                               .lane = t->lane,
                               .head = t->lane / t->way->lanes_of_head,
                               .tree = t->lane % t->way->lanes_of_head,
                               .up   = slot,
                               .down = t->window * t->lanes + slot};
        if (row < t->rows && put_message(t, &p, block)) {
            t->message++;
        } else {
            advance(t);
        }
    }
}

static void tree_close(void *state)
{
    nvls_tree *t = state;

    if (t != NULL) {
        cs_arena_free(&t->arena);
        cs_free(t);
    }
}

/* All servers below the network's switch, which has the number behind theirs. */
static cs_status make_star(nvls_tree *t, cs_error *err)
{
    cs_tree_edge *edges = CS_ARENA_NEW(&t->arena, cs_tree_edge, t->servers);

    if (edges == NULL) {
        return CS_NO_MEMORY(err, "%u servers", t->servers);
    }
    for (uint32_t s = 0; s < t->servers; s++) {
        edges[s] = (cs_tree_edge){.child = s, .parent = t->servers, .depth = 1};
    }
    t->trees = (cs_tree_pair){.root = {t->servers}, .n_edges = t->servers, .edges = edges};
    return CS_OK;
}

static cs_status open_way(const cs_scenario *scenario, const tree_options *o, const way *w,
                          void **state_p, cs_error *err)
{
    const cs_cluster nodes = nodes_of(scenario);
    nvls_tree       *t     = CS_NEW(nvls_tree, 1);

    if (t == NULL) {
        return CS_NO_MEMORY(err, "%s", w->algorithm->name);
    }
    *t = (nvls_tree){.scenario = scenario,
                     .way      = w,
                     .servers  = nodes.n_ranks,
                     .gpus     = scenario->cluster.gpus_per_server,
                     .heads    = o->heads,
                     .lanes    = w->lanes_of_head * o->heads,
                     .rows     = o->pieces,
                     .height   = height_of(scenario, w),
                     .window   = window_of(scenario, w)};
    cs_status status =
        w->is_star ? make_star(t, err) : cs_tree_build(&nodes, &shape, &t->arena, &t->trees, err);
    if (status != CS_OK) {
        tree_close(t);
        return status;
    }
    *state_p = t;
    return CS_OK;
}

static cs_status tree_open(const cs_scenario *scenario, const void *options, void **state_p,
                           cs_error *err)
{
    return open_way(scenario, options, &over_trees, state_p, err);
}

static cs_status star_open(const cs_scenario *scenario, const void *options, void **state_p,
                           cs_error *err)
{
    return open_way(scenario, options, &over_star, state_p, err);
}

/* What the busiest port carries, without alpha or the filling of the pipeline. */
static double tree_published_form_s(const cs_scenario *scenario, const void *options)
{
    return cs_last_arrival(scenario) + busy_s(scenario, options, &over_trees);
}

static double star_published_form_s(const cs_scenario *scenario, const void *options)
{
    return cs_last_arrival(scenario) + busy_s(scenario, options, &over_star);
}

const cs_algorithm cs_algorithm_nvls_tree = {
    .name             = "nvls_tree",
    .summary          = "NVSwitches add up and pass on, and trees of their heads join the servers",
    .source           = "NCCL's NVLSTree; the trees of P. Sanders et al. (2009)",
    .collectives      = 1u << CS_ALLREDUCE,
    .options          = tree_table,
    .options_bytes    = sizeof(tree_options),
    .check            = tree_check,
    .open             = tree_open,
    .next_block       = tree_next_block,
    .close            = tree_close,
    .published_form_s = tree_published_form_s,
};

const cs_algorithm cs_algorithm_collnet = {
    .name             = "collnet",
    .summary          = "NVSwitches and the network add up and pass on: NVLS with SHARP",
    .source           = "NCCL's CollNet; R. Graham et al., SHARP, COMHPC 2016",
    .collectives      = 1u << CS_ALLREDUCE,
    .options          = tree_table,
    .options_bytes    = sizeof(tree_options),
    .check            = star_check,
    .open             = star_open,
    .next_block       = tree_next_block,
    .close            = tree_close,
    .published_form_s = star_published_form_s,
};
