/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/adapcc/hops.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* From this colour on hops were announced. */
#define ANNOUNCED 0x1p31

/* ---- what all stages share ---- */

static bool goes_down(const cs_staging *s)
{
    return s->collective == CS_ALLREDUCE;
}

static const cs_behaviour *behaviour_of(const cs_staging *s, uint32_t m, uint32_t rank)
{
    return &s->behaviours[(size_t)m * s->strategy->n_ranks + rank];
}

/* Of the edges between a rank and its parent. */
static void find_ports(cs_staging *s, const cs_logical *logical, uint32_t m, uint32_t rank,
                       uint32_t parent)
{
    const cs_logical_edge up   = cs_logical_edge_of(logical, rank, parent);
    const cs_logical_edge down = cs_logical_edge_of(logical, parent, rank);
    size_t                at   = (size_t)m * s->strategy->n_ranks + rank;

    s->up_ports[at]   = (cs_hop_ports){up.egress, up.ingress};
    s->down_ports[at] = (cs_hop_ports){down.egress, down.ingress};
}

static void lay_out_slots(cs_staging *s)
{
    s->n_slots = s->n_chunks;
    for (uint32_t m = 0; m < s->strategy->n_trees; m++) {
        s->lanes[m].first_slot = (uint32_t)s->n_slots;
        s->n_slots += 2 * ((uint64_t)s->lanes[m].window + s->most_together);
    }
}

static void lay_out(cs_staging *s, const cs_logical *logical, uint32_t *depth)
{
    const cs_strategy *strategy = s->strategy;

    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        const cs_strategy_tree *t = &strategy->trees[m];

        depth[cs_tree_root(t)] = 0;
        for (uint32_t i = 1; i < strategy->n_members; i++) {
            uint32_t g    = t->order[i];
            depth[g]      = depth[t->parent[g]] + 1;
            s->heights[m] = depth[g];
            find_ports(s, logical, m, g, t->parent[g]);
        }
        s->lanes[m] = (cs_lane){.size_bytes  = t->size_bytes,
                                .chunk_bytes = t->chunk_bytes,
                                .n_chunks    = (uint32_t)cs_tree_n_chunks(t),
                                .first_chunk = (uint32_t)s->n_chunks,
                                .window      = 2};
        s->n_chunks += cs_tree_n_chunks(t);
        cs_behaviours_of(strategy, m, s->is_active, true,
                         s->behaviours + (size_t)m * strategy->n_ranks);
    }
    lay_out_slots(s);
    for (size_t i = 0; i < (size_t)strategy->n_trees * strategy->n_ranks; i++) {
        s->sends_from[i] = s->behaviours[i].has_send ? 0 : CS_NEVER;
        s->own_from[i]   = CS_NEVER;
    }
}

cs_status cs_staging_open(cs_staging *s, const cs_strategy *strategy, const cs_logical *logical,
                          cs_collective collective, const bool *is_active, uint32_t most_together,
                          cs_error *err)
{
    size_t    edges = (size_t)strategy->n_trees * strategy->n_ranks;
    uint32_t *depth = CS_NEW(uint32_t, strategy->n_ranks);

    *s            = (cs_staging){.strategy      = strategy,
                                 .collective    = collective,
                                 .most_together = most_together,
                                 .n_ports       = cs_logical_n_ports(logical)};
    s->lanes      = CS_NEW(cs_lane, strategy->n_trees);
    s->heights    = CS_NEW(uint32_t, strategy->n_trees);
    s->is_active  = CS_NEW(bool, strategy->n_ranks);
    s->behaviours = CS_NEW(cs_behaviour, edges);
    s->up_ports   = CS_NEW(cs_hop_ports, edges);
    s->down_ports = CS_NEW(cs_hop_ports, edges);
    s->sends_from = CS_NEW(uint32_t, edges);
    s->own_from   = CS_NEW(uint32_t, edges);
    bool is_there = depth != NULL && s->lanes != NULL && s->heights != NULL &&
                    s->is_active != NULL && s->behaviours != NULL && s->up_ports != NULL &&
                    s->down_ports != NULL && s->sends_from != NULL && s->own_from != NULL;
    if (is_there) {
        memcpy(s->is_active, is_active, strategy->n_ranks * sizeof *is_active);
        lay_out(s, logical, depth);
    }
    cs_free(depth);
    return is_there ? CS_OK : CS_NO_MEMORY(err, "the trees of %u ranks", strategy->n_ranks);
}

void cs_staging_free(cs_staging *s)
{
    cs_free(s->lanes);
    cs_free(s->heights);
    cs_free(s->is_active);
    cs_free(s->behaviours);
    cs_free(s->up_ports);
    cs_free(s->down_ports);
    cs_free(s->sends_from);
    cs_free(s->own_from);
    cs_free(s->turns);
    *s = (cs_staging){.n_ports = 0};
}

static uint32_t depth_of(const cs_strategy_tree *t, uint32_t rank)
{
    uint32_t depth = 0;

    for (uint32_t g = rank; t->parent[g] != CS_TREE_ROOT; g = t->parent[g]) {
        depth++;
    }
    return depth;
}

bool cs_staging_announce(cs_staging *s, uint32_t m, uint32_t rank, const cs_begun *begun)
{
    const cs_strategy_tree *t     = &s->strategy->trees[m];
    uint32_t               *sends = s->sends_from + (size_t)m * s->strategy->n_ranks;
    uint32_t root = cs_tree_root(t), lag = s->heights[m] - depth_of(t, rank), first = 0, g = rank;

    if (sends[rank] != CS_NEVER || rank == root) {
        return false;
    }
    for (bool is_joined = false; !is_joined; lag++) {
        uint32_t above = t->parent[g];
        uint32_t turn  = begun[g].out > begun[above].in ? begun[g].out : begun[above].in;
        first          = turn > lag + first ? turn - lag : first;
        g              = above;
        is_joined      = g == root || sends[g] != CS_NEVER;
    }
    first = begun[g].out > lag + first ? begun[g].out - lag : first;
    first = g != root && sends[g] > first ? sends[g] : first;
    if (first >= s->lanes[m].n_chunks) {
        return false;
    }
    s->own_from[(size_t)m * s->strategy->n_ranks + rank] = first;
    for (uint32_t r = rank; r != g; r = t->parent[r]) {
        sends[r] = first;
    }
    return true;
}

/* ---- a stage ---- */

cs_status cs_hops_open(cs_hops *h, const cs_staging *s, cs_error *err)
{
    const cs_strategy *strategy = s->strategy;
    size_t             stages   = s->most_together > 3 ? s->most_together : 3;

    *h = (cs_hops){
        .hops     = CS_NEW(cs_hop, stages * strategy->n_trees * strategy->n_ranks),
        .palettes = CS_NEW(cs_palette, (size_t)2 * s->n_ports),
        .n_at     = CS_NEW(uint32_t, (size_t)2 * s->n_ports),
        .queue    = CS_NEW(uint32_t, strategy->n_ranks),
        .depth    = CS_NEW(uint32_t, strategy->n_ranks),
        .before   = CS_NEW(uint32_t, strategy->n_ranks),
    };
    return h->hops != NULL && h->palettes != NULL && h->n_at != NULL && h->queue != NULL &&
                   h->depth != NULL && h->before != NULL
               ? CS_OK
               : CS_NO_MEMORY(err, "the edges of %u trees", strategy->n_trees);
}

void cs_hops_free(cs_hops *h)
{
    cs_free(h->hops);
    cs_free(h->palettes);
    cs_free(h->n_at);
    cs_free(h->queue);
    cs_free(h->depth);
    cs_free(h->before);
    *h = (cs_hops){.n = 0};
}

static void begin(cs_hops *h, const cs_staging *s)
{
    h->n       = 0;
    h->n_turns = 0;
    memset(h->palettes, 0, (size_t)2 * s->n_ports * sizeof *h->palettes);
    memset(h->n_at, 0, (size_t)2 * s->n_ports * sizeof *h->n_at);
}

static void add_part(cs_hop *hop, cs_hop_place to, cs_op op)
{
    hop->parts[hop->n_parts].to   = to;
    hop->parts[hop->n_parts++].op = op;
}

/* Add a hop without parts and colour; `is_up`: from a rank to its parent. */
static cs_hop *add_colourless(cs_hops *h, const cs_staging *s, uint32_t m, uint32_t src,
                              uint32_t dst, bool is_up, uint32_t lag, uint32_t limit)
{
    size_t       at    = (size_t)m * s->strategy->n_ranks + (is_up ? src : dst);
    cs_hop_ports ports = is_up ? s->up_ports[at] : s->down_ports[at];
    cs_hop      *hop   = &h->hops[h->n];

    *hop = (cs_hop){.src    = src,
                    .dst    = dst,
                    .tree   = m,
                    .lag    = lag,
                    .limit  = limit,
                    .number = (uint32_t)h->n,
                    .ports  = ports};
    h->n++;
    h->n_turns = limit + lag > h->n_turns ? limit + lag : h->n_turns;
    return hop;
}

static cs_hop *add(cs_hops *h, const cs_staging *s, uint32_t m, uint32_t src, uint32_t dst,
                   bool is_up, uint32_t lag, uint32_t limit)
{
    cs_hop            *hop = add_colourless(h, s, m, src, dst, is_up, lag, limit);
    const cs_hop_ports at  = hop->ports;

    if (at.egress != CS_NO_PORT) {
        hop->place =
            cs_palette_take(&h->palettes[at.egress], &h->palettes[s->n_ports + at.ingress]);
        h->n_at[at.egress]++;
        h->n_at[s->n_ports + at.ingress]++;
    }
    return hop;
}

static int by_place(const void *left, const void *right)
{
    const cs_hop *a = left, *b = right;

    if (a->place < b->place || a->place > b->place) {
        return a->place < b->place ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

/* Hops as they stand in a turn. Those that have a port to themselves share nothing. */
static void end(cs_hops *h, const cs_staging *s)
{
    for (size_t i = 0; i < h->n && s->are_shared; i++) {
        const cs_hop_ports at = h->hops[i].ports;
        h->hops[i].is_shared  = h->hops[i].place >= ANNOUNCED ? true
                                : at.egress == CS_NO_PORT
                                    ? s->strategy->n_trees > 1 || s->most_together > 1
                                    : h->n_at[at.egress] > 1 || h->n_at[s->n_ports + at.ingress] > 1;
    }
    qsort(h->hops, h->n, sizeof *h->hops, by_place);
}

/* ---- phase 1 ---- */

/* Where the sum is that a rank sends on. */
static cs_hop_place sum_of(const cs_staging *s, uint32_t rank)
{
    return s->is_active[rank] ? CS_AT_RESULT : CS_GOING_UP;
}

/* A late root adds up twice: what all get, and its result, which has its own contribution. */
static void add_to_parent(const cs_staging *s, cs_hop *hop)
{
    add_part(hop, sum_of(s, hop->dst), CS_OP_REDUCE);
    if (hop->dst == cs_tree_root(&s->strategy->trees[hop->tree]) && !s->is_active[hop->dst]) {
        add_part(hop, CS_AT_RESULT, CS_OP_REDUCE);
    }
}

static void add_up(cs_hops *h, const cs_staging *s, uint32_t m, uint32_t rank, uint32_t lag)
{
    uint32_t parent = s->strategy->trees[m].parent[rank];
    cs_hop  *hop    = add(h, s, m, rank, parent, true, lag, s->lanes[m].n_chunks);

    hop->from = sum_of(s, rank);
    add_to_parent(s, hop);
}

/* Chunks first .. limit - 1 of a rank that was announced, its own or what comes from below. It
 * stands behind what goes without announcements, and behind those that begin earlier. */
static void add_announced(cs_hops *h, const cs_staging *s, uint32_t m, uint32_t rank,
                          uint32_t first, uint32_t limit, bool is_own)
{
    uint32_t lag = s->heights[m] - h->depth[rank], parent = s->strategy->trees[m].parent[rank];

    if (first < limit) {
        cs_hop *hop = add_colourless(h, s, m, rank, parent, true, lag, limit);
        hop->first  = first;
        hop->place  = ANNOUNCED + s->sends_from[(size_t)m * s->strategy->n_ranks + rank];
        hop->is_own = is_own;
        hop->from   = is_own ? CS_AT_RESULT : CS_GOING_UP;
        add_to_parent(s, hop);
    }
}

/* A rank that was announced, or passes on for one: its own data, until some come from below. */
static void add_joined(cs_hops *h, const cs_staging *s, uint32_t m, uint32_t rank)
{
    const cs_strategy_tree *t     = &s->strategy->trees[m];
    const uint32_t         *sends = s->sends_from + (size_t)m * s->strategy->n_ranks;
    uint32_t own = s->own_from[(size_t)m * s->strategy->n_ranks + rank], below = CS_NEVER;
    uint32_t n_chunks = s->lanes[m].n_chunks;

    for (uint32_t k = 0; k < t->n_children[rank]; k++) {
        uint32_t from = sends[t->order[t->first_child[rank] + k]];
        below         = from < below ? from : below;
    }
    add_announced(h, s, m, rank, own, below < n_chunks ? below : n_chunks, true);
    add_announced(h, s, m, rank, below, n_chunks, false);
}

/* A late rank hands on what it receives, and adds it to its own contribution. */
static void add_down(cs_hops *h, const cs_staging *s, uint32_t m, uint32_t rank, uint32_t lag)
{
    const cs_strategy_tree *t      = &s->strategy->trees[m];
    uint32_t                parent = t->parent[rank];
    cs_hop                 *hop    = add(h, s, m, parent, rank, false, lag, s->lanes[m].n_chunks);

    hop->from =
        parent == cs_tree_root(t) || s->is_active[parent] ? sum_of(s, parent) : CS_GOING_DOWN;
    if (s->is_active[rank]) {
        add_part(hop, CS_AT_RESULT, CS_OP_COPY);
        return;
    }
    if (t->n_children[rank] > 0) {
        add_part(hop, CS_GOING_DOWN, CS_OP_COPY);
    }
    add_part(hop, CS_AT_RESULT, CS_OP_REDUCE);
}

/* What goes up through a relay begins with the first message of a chunk to it: that is from the
 * same rank whenever there is one. */
static void mark_first(cs_hops *h, const cs_staging *s)
{
    uint32_t *first = h->queue; /* 1 + the hop to each relay in the tree; 0: none */

    for (uint32_t m = 0; m < s->strategy->n_trees; m++) {
        memset(first, 0, s->strategy->n_ranks * sizeof *first);
        for (uint32_t i = 0; i < h->n; i++) {
            const cs_hop *hop = &h->hops[i];
            uint32_t     *to  = &first[hop->dst];
            if (hop->tree == m && hop->parts[0].to == CS_GOING_UP &&
                (*to == 0 || hop->lag < h->hops[*to - 1].lag)) {
                *to = i + 1;
            }
        }
        for (size_t i = 0; i < h->n; i++) {
            cs_hop *hop = &h->hops[i];
            if (hop->tree == m && hop->parts[0].to == CS_GOING_UP &&
                h->hops[first[hop->dst] - 1].src == hop->src) {
                hop->parts[0].op = CS_OP_COPY;
            }
        }
    }
}

/* Of the edge that a hop of phase 1 goes along, where turns are planned. */
static cs_hop_turn *turn_of(const cs_staging *s, const cs_hop *hop)
{
    const cs_strategy *strategy = s->strategy;
    bool               is_up    = strategy->trees[hop->tree].parent[hop->src] == hop->dst;
    size_t             row      = (is_up ? 0 : strategy->n_trees) + (size_t)hop->tree;

    return &s->turns[row * strategy->n_ranks + (is_up ? hop->src : hop->dst)];
}

static void take_turns(cs_hops *h, const cs_staging *s)
{
    h->n_turns = 0;
    for (size_t i = 0; i < h->n; i++) {
        cs_hop            *hop = &h->hops[i];
        const cs_hop_turn *at  = turn_of(s, hop);

        hop->lag       = at->lag;
        hop->place     = at->place;
        hop->is_shared = at->is_shared;
        h->n_turns     = hop->limit + hop->lag > h->n_turns ? hop->limit + hop->lag : h->n_turns;
    }
    qsort(h->hops, h->n, sizeof *h->hops, by_place);
}

void cs_hops_phase1(cs_hops *h, const cs_staging *s)
{
    const cs_strategy *strategy = s->strategy;

    begin(h, s);
    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        const cs_strategy_tree *t = &strategy->trees[m];

        h->depth[cs_tree_root(t)] = 0;
        for (uint32_t i = 1; i < strategy->n_members; i++) {
            h->depth[t->order[i]] = h->depth[t->parent[t->order[i]]] + 1;
        }
        for (uint32_t i = strategy->n_members; i-- > 1;) {
            uint32_t g = t->order[i];
            if (behaviour_of(s, m, g)->has_send) {
                add_up(h, s, m, g, s->heights[m] - h->depth[g]);
            } else {
                add_joined(h, s, m, g);
            }
        }
        for (uint32_t i = 1; i < strategy->n_members && goes_down(s); i++) {
            uint32_t g = t->order[i];
            add_down(h, s, m, g, s->heights[m] + h->depth[g] - 1);
        }
    }
    if (s->turns != NULL) {
        take_turns(h, s);
    } else {
        end(h, s);
    }
    mark_first(h, s);
}

/* ---- the turns of phase 1 ---- */

/* For how many turns a chunk of the tree is on its way up or down at a rank that relays it, at
 * most: from the first hop that brings it to the last one that takes it on. */
static uint32_t window_of(cs_hops *h, const cs_staging *s, uint32_t m)
{
    uint32_t *since = h->depth, window = 2;

    for (cs_hop_place place = CS_GOING_UP; place <= CS_GOING_DOWN; place++) {
        memset(since, 0xff, s->strategy->n_ranks * sizeof *since);
        for (size_t i = 0; i < h->n; i++) {
            const cs_hop *hop = &h->hops[i];
            if (hop->tree == m && hop->parts[0].to == place && hop->lag < since[hop->dst]) {
                since[hop->dst] = hop->lag;
            }
        }
        for (size_t i = 0; i < h->n; i++) {
            const cs_hop *hop = &h->hops[i];
            if (hop->tree == m && hop->from == place && hop->lag - since[hop->src] >= window) {
                window = hop->lag - since[hop->src] + 1;
            }
        }
    }
    return window;
}

/* `ways` is room for one of each hop. */
static cs_status plan_ways(cs_staging *s, cs_hops *h, const cs_logical *logical, cs_turn_way *ways,
                           cs_error *err)
{
    uint32_t n_chunks = 0, n_trees = s->strategy->n_trees;

    for (size_t i = 0; i < h->n; i++) {
        const cs_hop  *hop  = &h->hops[i];
        const cs_lane *lane = &s->lanes[hop->tree];
        bool           is_1 = lane->n_chunks == 1;

        n_chunks = lane->n_chunks > n_chunks ? lane->n_chunks : n_chunks;
        ways[hop->number] =
            (cs_turn_way){.src    = hop->src,
                          .dst    = hop->dst,
                          .part   = hop->tree,
                          .level  = hop->lag,
                          .number = hop->number,
                          .bytes  = (double)(is_1 ? lane->size_bytes : lane->chunk_bytes)};
    }
    CS_TRY(cs_turns_plan(ways, h->n, n_trees, n_chunks, logical, s->are_shared, err));
    s->turns = CS_NEW(cs_hop_turn, (size_t)2 * n_trees * s->strategy->n_ranks);
    if (s->turns == NULL) {
        return CS_NO_MEMORY(err, "the edges of %u trees", n_trees);
    }
    for (size_t i = 0; i < h->n; i++) {
        const cs_turn_way *way = &ways[h->hops[i].number];

        *turn_of(s, &h->hops[i]) =
            (cs_hop_turn){way->place, way->lag, (way->flags & CS_SHARED) != 0};
    }
    take_turns(h, s);
    for (uint32_t m = 0; m < n_trees; m++) {
        s->lanes[m].window = window_of(h, s, m);
    }
    lay_out_slots(s);
    return CS_OK;
}

cs_status cs_staging_plan(cs_staging *s, const cs_logical *logical, cs_error *err)
{
    cs_hops      hops;
    cs_turn_way *ways   = NULL;
    cs_status    status = cs_hops_open(&hops, s, err);

    if (status == CS_OK) {
        cs_hops_phase1(&hops, s);
        ways   = CS_NEW(cs_turn_way, hops.n);
        status = ways != NULL ? plan_ways(s, &hops, logical, ways, err)
                              : CS_NO_MEMORY(err, "the edges of %u trees", s->strategy->n_trees);
    }
    cs_free(ways);
    cs_hops_free(&hops);
    return status;
}

/* ---- phase 2 ---- */

/* One of the broadcasts of a stage, in a tree. */
typedef struct broadcast {
    uint32_t tree, rank, sender, limit;
} broadcast;

/* One more rank that gets the chunks, from the one before it. */
static void add_on(cs_hops *h, const cs_staging *s, const broadcast *b, uint32_t src, uint32_t dst,
                   bool is_handed_on, bool is_kept)
{
    bool    is_up = s->strategy->trees[b->tree].parent[src] == dst;
    cs_hop *hop   = add(h, s, b->tree, src, dst, is_up, h->depth[src], b->limit);

    h->depth[dst] = h->depth[src] + 1;
    hop->sender   = b->sender;
    hop->is_own   = src == b->rank;
    hop->from     = src == b->rank ? CS_AT_RESULT : CS_GOING_ON;
    if (is_handed_on) {
        add_part(hop, CS_GOING_ON, CS_OP_COPY);
    }
    if (is_kept) {
        add_part(hop, CS_AT_RESULT, CS_OP_REDUCE);
    }
}

static bool is_end(const cs_strategy_tree *t, uint32_t rank)
{
    return t->n_children[rank] + (t->parent[rank] != CS_TREE_ROOT) == 1;
}

/* From the rank over the whole tree, the nearest ranks first. */
static void spread(cs_hops *h, const cs_staging *s, const broadcast *b)
{
    const cs_strategy_tree *t = &s->strategy->trees[b->tree];
    uint32_t                n = 0;

    h->queue[n++]      = b->rank;
    h->depth[b->rank]  = 0;
    h->before[b->rank] = b->rank;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t g = h->queue[i], n_children = t->n_children[g];

        for (uint32_t k = 0; k <= n_children; k++) {
            uint32_t next = k < n_children ? t->order[t->first_child[g] + k] : t->parent[g];
            if (next != CS_TREE_ROOT && next != h->before[g]) {
                add_on(h, s, b, g, next, !is_end(t, next), true);
                h->before[next] = g;
                h->queue[n++]   = next;
            }
        }
    }
}

/* From the rank to the root. */
static void climb(cs_hops *h, const cs_staging *s, const broadcast *b)
{
    const cs_strategy_tree *t = &s->strategy->trees[b->tree];

    h->depth[b->rank] = 0;
    for (uint32_t g = b->rank; t->parent[g] != CS_TREE_ROOT; g = t->parent[g]) {
        bool is_root = t->parent[g] == cs_tree_root(t);
        add_on(h, s, b, g, t->parent[g], !is_root, is_root);
    }
}

void cs_hops_broadcast(cs_hops *h, const cs_staging *s, uint32_t n, const uint32_t *ranks,
                       const uint32_t *const *missing)
{
    begin(h, s);
    for (uint32_t m = 0; m < s->strategy->n_trees; m++) {
        for (uint32_t i = 0; i < n; i++) {
            const broadcast b = {m, ranks[i], i, missing[i][m]};
            if (b.limit > 0) {
                (goes_down(s) ? spread : climb)(h, s, &b);
            }
        }
    }
    end(h, s);
}
