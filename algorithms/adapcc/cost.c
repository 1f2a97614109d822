/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strategies evaluated in two passes over each tree, children first and then parents first.
 *
 * What a transfer meets is a leg: start-up time, seconds a byte, two ports and its pair. Loads of
 * ports are arrays. Loads of pairs are a hash table, of NICs or (in a server) of ranks; a pair
 * whose link is as fast as the slower one of its ports is never more loaded than that port, and is
 * left out where ports count. A flow that is not added up at a rank (a_mg = 0) goes on beside the
 * rank's own, which is ready at 0: of the ready times at a rank only the first and the last one
 * count.
 */
#include "algorithms/adapcc/cost.h"

#include "base/alloc.h"
#include "base/random.h"

#include <assert.h>
#include <string.h>

#define NO_PAIR   UINT32_MAX
#define FREE_PAIR UINT64_MAX

/* Above all numbers of ports. */
#define PAIR_RESOURCE ((uint64_t)1 << 63)

enum { UP = 0, DOWN = 1 };

typedef struct leg {
    double   alpha_s, s_per_byte;
    uint32_t egress, ingress; /* ports or CS_NO_PORT */
    uint32_t pair;            /* place in `pairs` or NO_PAIR */
    bool     is_net;
} leg;

typedef struct pair {
    uint64_t key;
    double   load;
    double   s_per_byte;
} pair;

/* Of every rank of the tree in work. */
typedef struct place {
    double   first_s, last_s; /* ready times of the flows that leave it upwards */
    double   down_s;
    uint32_t flows; /* that leave it upwards */
    uint32_t depth; /* edges to the root */
} place;

/* What an edge of a tree carries in a turn. */
typedef struct carried {
    leg      on;
    double   bytes; /* of all flows */
    uint32_t lag;   /* turns until its first chunk */
    uint64_t chunks;
} carried;

struct cs_cost {
    const cs_logical *logical;
    uint32_t          n_ports;
    uint32_t          pair_mask;                              /* pairs - 1 */
    double           *egress, *ingress;                       /* [ports] load */
    double           *egress_s_per_byte, *ingress_s_per_byte; /* [ports] */
    pair             *pairs;
    leg              *legs;   /* [2][trees][ranks] of the edge between a rank and its parent */
    place            *places; /* [ranks] */
    uint32_t         *used;   /* [n_used] places in `pairs` that are not free */
    size_t            n_used;
    cs_cost_load     *loads;    /* [2 ports + pairs] of cs_cost_of_tree(), */
    carried          *carried;  /* [n_carried] of TURNS, up to [2][trees][ranks] */
    uint32_t         *by_lag;   /* [n_carried] the same in the order of their lags */
    uint32_t         *first_at; /* [2 ranks + 1] first of a lag in by_lag */
    size_t            n_carried;
};

const char *cs_cost_name(cs_cost_model model)
{
    static const char *const names[] = {
#define X(id, name) #name,
        CS_COST_MODELS(X)
#undef X
    };
    return names[model];
}

/* What ports take for a byte: of NICs, of GPUs into NVLink and across sockets. */
static void rate_ports(cs_cost *c)
{
    const cs_logical *l = c->logical;

    for (uint32_t i = 0; i < l->n_nics; i++) {
        c->egress_s_per_byte[i]  = 1 / l->nics[i].egress_Bps;
        c->ingress_s_per_byte[i] = 1 / l->nics[i].ingress_Bps;
    }
    for (uint32_t g = 0; g < l->n_ranks; g++) {
        const cs_logical_server *s  = &l->servers[l->server_of[g]];
        uint32_t                 at = s->nvlink.kind == CS_DIRECT ? s->links_at_once : 1;

        for (uint32_t i = l->n_nics + g; i < c->n_ports; i += l->n_ranks) {
            const cs_fabric *f        = i < l->n_nics + l->n_ranks ? &s->nvlink : &s->cross;
            bool             is_used  = f->bandwidth_Bps > 0 && (f == &s->cross || at > 0);
            double           rate_Bps = f->bandwidth_Bps * (f == &s->nvlink ? at : 1);

            c->egress_s_per_byte[i]  = is_used ? 1 / rate_Bps : 0;
            c->ingress_s_per_byte[i] = c->egress_s_per_byte[i];
        }
    }
}

cs_status cs_cost_open(const cs_logical *logical, uint32_t n_trees, cs_cost **cost_p, cs_error *err)
{
    cs_cost *c     = CS_NEW(cs_cost, 1);
    size_t   legs  = (size_t)2 * n_trees * logical->n_ranks;
    size_t   pairs = 16;

    if (c == NULL) {
        return CS_NO_MEMORY(err, "the cost of a strategy");
    }
    while (pairs < 2 * legs) {
        pairs *= 2;
    }
    c->logical            = logical;
    c->n_ports            = cs_logical_n_ports(logical);
    c->pair_mask          = (uint32_t)(pairs - 1);
    c->egress             = CS_NEW(double, c->n_ports);
    c->ingress            = CS_NEW(double, c->n_ports);
    c->egress_s_per_byte  = CS_NEW(double, c->n_ports);
    c->ingress_s_per_byte = CS_NEW(double, c->n_ports);
    c->pairs              = CS_NEW(pair, pairs);
    c->legs               = CS_NEW(leg, legs);
    c->places             = CS_NEW(place, logical->n_ranks);
    c->used               = CS_NEW(uint32_t, pairs);
    c->loads              = CS_NEW(cs_cost_load, 2 * (size_t)c->n_ports + pairs);
    c->carried            = CS_NEW(carried, legs);
    c->by_lag             = CS_NEW(uint32_t, legs);
    c->first_at           = CS_NEW(uint32_t, 2 * (size_t)logical->n_ranks + 1);
    if (c->carried == NULL || c->by_lag == NULL || c->first_at == NULL || c->used == NULL ||
        c->loads == NULL || c->egress == NULL || c->ingress == NULL ||
        c->egress_s_per_byte == NULL || c->ingress_s_per_byte == NULL || c->pairs == NULL ||
        c->legs == NULL || c->places == NULL) {
        cs_cost_close(c);
        return CS_NO_MEMORY(err, "the cost of a strategy");
    }
    for (size_t i = 0; i < pairs; i++) {
        c->pairs[i].key = FREE_PAIR;
    }
    rate_ports(c);
    *cost_p = c;
    return CS_OK;
}

void cs_cost_close(cs_cost *cost)
{
    if (cost != NULL) {
        cs_free(cost->egress);
        cs_free(cost->ingress);
        cs_free(cost->egress_s_per_byte);
        cs_free(cost->ingress_s_per_byte);
        cs_free(cost->pairs);
        cs_free(cost->legs);
        cs_free(cost->places);
        cs_free(cost->used);
        cs_free(cost->loads);
        cs_free(cost->carried);
        cs_free(cost->by_lag);
        cs_free(cost->first_at);
        cs_free(cost);
    }
}

/* Loads. */

static void clear_loads(cs_cost *c)
{
    memset(c->egress, 0, c->n_ports * sizeof *c->egress);
    memset(c->ingress, 0, c->n_ports * sizeof *c->ingress);
    for (size_t i = 0; i < c->n_used; i++) {
        c->pairs[c->used[i]].key = FREE_PAIR;
    }
    c->n_used = 0;
}

/* The place of a pair, new or not. */
static uint32_t find_pair(cs_cost *c, uint64_t key, double s_per_byte)
{
    uint32_t i = (uint32_t)cs_mix64(key) & c->pair_mask;

    while (c->pairs[i].key != key && c->pairs[i].key != FREE_PAIR) {
        i = (i + 1) & c->pair_mask;
    }
    if (c->pairs[i].key == FREE_PAIR) {
        c->pairs[i]          = (pair){.key = key, .s_per_byte = s_per_byte};
        c->used[c->n_used++] = i;
    }
    return i;
}

/* What a transfer meets. Without ports, every pair counts by itself. */
static leg find_leg(cs_cost *c, uint32_t src, uint32_t dst, bool has_ports)
{
    const cs_logical     *l = c->logical;
    const cs_logical_edge e = cs_logical_edge_of(l, src, dst);
    leg                   x = {.alpha_s    = e.alpha_s,
                               .s_per_byte = 1 / e.bandwidth_Bps,
                               .egress     = e.egress,
                               .ingress    = e.ingress,
                               .pair       = NO_PAIR,
                               .is_net     = e.is_net};

    if (!has_ports || e.egress == CS_NO_PORT ||
        (e.bandwidth_Bps < e.egress_Bps && e.bandwidth_Bps < e.ingress_Bps)) {
        uint64_t from = e.is_net ? l->nic_of[src] : l->n_nics + src;
        uint64_t to   = e.is_net ? l->nic_of[dst] : l->n_nics + dst;

        x.pair = find_pair(c, from << 32 | to, x.s_per_byte);
    }
    return x;
}

/* What a transfer meets, and `load` of it there. */
static leg load_leg(cs_cost *c, uint32_t src, uint32_t dst, double load, bool has_ports)
{
    const leg x = find_leg(c, src, dst, has_ports);

    if (has_ports && x.egress != CS_NO_PORT) {
        bool   waits = c->logical->holds_both && x.is_net;
        double out   = waits ? x.s_per_byte / c->egress_s_per_byte[x.egress] : 1;
        double in    = waits ? x.s_per_byte / c->ingress_s_per_byte[x.ingress] : 1;

        c->egress[x.egress] += load * out;
        c->ingress[x.ingress] += load * in;
    }
    if (x.pair != NO_PAIR) {
        c->pairs[x.pair].load += load;
    }
    return x;
}

static bool goes(cs_collective collective, int direction)
{
    return collective == CS_ALLREDUCE || (collective == CS_REDUCE) == (direction == UP);
}

/* The paper's models, with ports or without. */

/* The legs of a tree with the numbers of their flows. */
static void load_tree(cs_cost *c, const cs_strategy *s, uint32_t m, cs_collective collective,
                      bool has_ports)
{
    const cs_strategy_tree *t    = &s->trees[m];
    leg                    *up   = c->legs + (size_t)m * s->n_ranks;
    leg                    *down = up + (size_t)s->n_trees * s->n_ranks;

    for (uint32_t i = s->n_members; i-- > 0;) {
        c->places[t->order[i]].flows = 1;
    }
    for (uint32_t i = s->n_members; i-- > 1;) {
        uint32_t g = t->order[i], p = t->parent[g], flows = c->places[g].flows;

        if (!t->aggregates[p]) {
            c->places[p].flows += flows;
        }
        if (goes(collective, UP)) {
            up[g] = load_leg(c, g, p, flows, has_ports);
        }
        if (goes(collective, DOWN)) {
            down[g] = load_leg(c, p, g, 1, has_ports);
        }
    }
}

/* t(m,e) of a chunk on a leg. */
static double chunk_s(const cs_cost *c, const leg *x, uint64_t chunk_bytes)
{
    double s_per_byte = x->s_per_byte;

    if (x->pair != NO_PAIR) {
        s_per_byte = c->pairs[x->pair].load * x->s_per_byte;
    }
    if (x->egress != CS_NO_PORT) {
        double out = c->egress[x->egress] * c->egress_s_per_byte[x->egress];
        double in  = c->ingress[x->ingress] * c->ingress_s_per_byte[x->ingress];

        s_per_byte = s_per_byte > out ? s_per_byte : out;
        s_per_byte = s_per_byte > in ? s_per_byte : in;
    }
    return x->alpha_s + (double)chunk_bytes * s_per_byte;
}

/* Equations (2) and (6): from the leaves to the root. Returns when the first chunk is there. */
static double climb(cs_cost *c, const cs_strategy *s, uint32_t m, bool is_literal,
                    double *between_p)
{
    const cs_strategy_tree *t  = &s->trees[m];
    const leg              *up = c->legs + (size_t)m * s->n_ranks;

    for (uint32_t i = 0; i < s->n_members; i++) {
        c->places[t->order[i]].last_s = 0;
    }
    for (uint32_t i = s->n_members; i-- > 0;) {
        uint32_t g    = t->order[i];
        place   *here = &c->places[g];

        here->first_s = t->aggregates[g] ? here->last_s : 0;
        for (uint32_t k = 0; is_literal && k < t->n_children[g]; k++) {
            const uint32_t child      = t->order[t->first_child[g] + k];
            double         difference = t->aggregates[g] ? here->last_s - c->places[child].first_s
                                                         : chunk_s(c, &up[child], t->chunk_bytes);
            *between_p                = *between_p > difference ? *between_p : difference;
        }
        if (i > 0) {
            double took_s  = chunk_s(c, &up[g], t->chunk_bytes);
            double there_s = here->last_s + took_s;
            place *above   = &c->places[t->parent[g]];

            above->last_s = above->last_s > there_s ? above->last_s : there_s;
            *between_p    = !is_literal && took_s > *between_p ? took_s : *between_p;
        }
    }
    return c->places[cs_tree_root(t)].last_s;
}

/* From the root, where the first chunk is at `ready_s`, to all others. */
static double descend(cs_cost *c, const cs_strategy *s, uint32_t m, double ready_s,
                      double *between_p)
{
    const cs_strategy_tree *t    = &s->trees[m];
    const leg              *down = c->legs + (size_t)(s->n_trees + m) * s->n_ranks;
    double                  last = ready_s;

    c->places[cs_tree_root(t)].down_s = ready_s;
    for (uint32_t i = 1; i < s->n_members; i++) {
        uint32_t g       = t->order[i];
        double   took_s  = chunk_s(c, &down[g], t->chunk_bytes);
        double   there_s = c->places[t->parent[g]].down_s + took_s;

        c->places[g].down_s = there_s;
        last                = last > there_s ? last : there_s;
        *between_p          = *between_p > took_s ? *between_p : took_s;
    }
    return last;
}

static double by_chunks_s(cs_cost *c, const cs_strategy *s, cs_collective collective,
                          cs_cost_model model)
{
    bool   is_literal = model != CS_COST_PORT_SERVICE;
    double longest_s  = 0;

    for (uint32_t m = 0; m < s->n_trees; m++) {
        load_tree(c, s, m, collective, !is_literal);
    }
    for (uint32_t m = 0; m < s->n_trees; m++) {
        double between_s = 0, first_s = 0;
        double chunks = (double)cs_tree_n_chunks(&s->trees[m]);

        if (goes(collective, UP)) {
            first_s = climb(c, s, m, is_literal, &between_s);
        }
        if (goes(collective, DOWN)) {
            first_s = descend(c, s, m, first_s, &between_s);
        }
        double tree_s = first_s + (model == CS_COST_LITERAL ? chunks : chunks - 1) * between_s;
        longest_s     = longest_s > tree_s ? longest_s : tree_s;
    }
    return longest_s;
}

/* The model of volumes. */

typedef struct volume {
    double serial_s; /* ser */
    double fill_s;
    double chunk_s; /* the longest one, alone */
    double chunks;  /* of the tree with most of them */
    double alpha_s; /* the largest, of the network where there is one */
    bool   has_net;
} volume;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Count the bytes of one direction of an edge of a tree. Returns the time of a chunk, alone. */
static double add_volume(cs_cost *c, volume *v, const cs_strategy_tree *t, uint32_t src,
                         uint32_t dst, uint32_t flows)
{
    double    size_bytes = (double)t->size_bytes, chunks = (double)cs_tree_n_chunks(t);
    const leg x      = load_leg(c, src, dst, flows * size_bytes, true);
    double    took_s = x.alpha_s + (double)t->chunk_bytes * x.s_per_byte;

    if (c->logical->holds_both && x.egress != CS_NO_PORT) {
        c->egress[x.egress] += flows * chunks * x.alpha_s / c->egress_s_per_byte[x.egress];
        c->ingress[x.ingress] += flows * chunks * x.alpha_s / c->ingress_s_per_byte[x.ingress];
    }
    if (c->logical->holds_both && x.pair != NO_PAIR) {
        c->pairs[x.pair].load += flows * chunks * x.alpha_s / x.s_per_byte;
    }
    v->serial_s = larger(v->serial_s, chunks * x.alpha_s + size_bytes * x.s_per_byte);
    v->chunk_s  = larger(v->chunk_s, took_s);
    if (x.is_net == v->has_net) {
        v->alpha_s = larger(v->alpha_s, x.alpha_s);
    } else if (x.is_net) {
        v->alpha_s = x.alpha_s;
        v->has_net = true;
    }
    return took_s;
}

static void add_tree(cs_cost *c, volume *v, const cs_strategy *s, uint32_t m,
                     cs_collective collective)
{
    const cs_strategy_tree *t    = &s->trees[m];
    place                  *at   = c->places;
    double                  down = 0;

    for (uint32_t i = 0; i < s->n_members; i++) {
        at[t->order[i]] = (place){.flows = 1};
    }
    for (uint32_t i = s->n_members; i-- > 1 && goes(collective, UP);) {
        uint32_t g = t->order[i], p = t->parent[g];
        double   took_s = add_volume(c, v, t, g, p, at[g].flows);

        at[p].last_s = larger(at[p].last_s, at[g].last_s + took_s);
        at[p].flows += t->aggregates[p] ? 0 : at[g].flows;
    }
    for (uint32_t i = 1; i < s->n_members && goes(collective, DOWN); i++) {
        uint32_t g = t->order[i], p = t->parent[g];

        at[g].down_s = at[p].down_s + add_volume(c, v, t, p, g, 1);
        down         = larger(down, at[g].down_s);
    }
    v->fill_s = larger(v->fill_s, at[cs_tree_root(t)].last_s + down);
    v->chunks = larger(v->chunks, (double)cs_tree_n_chunks(t));
}

static double by_volume_s(cs_cost *c, const cs_strategy *s, cs_collective collective)
{
    volume v      = {0};
    double busy_s = 0;

    for (uint32_t m = 0; m < s->n_trees; m++) {
        add_tree(c, &v, s, m, collective);
    }
    for (uint32_t i = 0; i < c->n_ports; i++) {
        busy_s = larger(busy_s, c->egress[i] * c->egress_s_per_byte[i]);
        busy_s = larger(busy_s, c->ingress[i] * c->ingress_s_per_byte[i]);
    }
    for (size_t i = 0; i < c->n_used; i++) {
        const pair *p = &c->pairs[c->used[i]];
        busy_s        = larger(busy_s, p->load * p->s_per_byte);
    }
    busy_s += c->logical->holds_both ? 0 : v.chunks * v.alpha_s;
    return larger(busy_s, v.serial_s) + larger(0, v.fill_s - v.chunk_s);
}

/* The model of turns. */

/* Note an edge of a tree in one direction. */
static void carry(cs_cost *c, const cs_strategy_tree *t, uint32_t src, uint32_t dst, uint32_t flows,
                  uint32_t lag)
{
    uint64_t chunks = cs_tree_n_chunks(t);

    c->carried[c->n_carried++] =
        (carried){.on     = find_leg(c, src, dst, true),
                  .bytes  = flows * ((double)t->size_bytes / (double)chunks),
                  .lag    = lag,
                  .chunks = chunks};
}

static void carry_tree(cs_cost *c, const cs_strategy *s, uint32_t m, cs_collective collective)
{
    const cs_strategy_tree *t      = &s->trees[m];
    place                  *at     = c->places;
    uint32_t                height = 0;
    bool                    up     = goes(collective, UP);

    at[cs_tree_root(t)].depth = 0;
    for (uint32_t i = 0; i < s->n_members; i++) {
        uint32_t g  = t->order[i];
        at[g].flows = 1;
        at[g].depth = i > 0 ? at[t->parent[g]].depth + 1 : 0;
        height      = at[g].depth; /* parents stand before children */
    }
    for (uint32_t i = s->n_members; i-- > 1 && up;) {
        uint32_t g = t->order[i], p = t->parent[g];

        carry(c, t, g, p, at[g].flows, height - at[g].depth);
        at[p].flows += t->aggregates[p] ? 0 : at[g].flows;
    }
    for (uint32_t i = 1; i < s->n_members && goes(collective, DOWN); i++) {
        uint32_t g = t->order[i];

        carry(c, t, t->parent[g], g, 1, (up ? height : 0) + at[g].depth - 1);
    }
}

/* Sort what is carried by lags. Returns the largest one. */
static uint32_t sort_lags(cs_cost *c)
{
    uint32_t last = 0;

    for (size_t i = 0; i < c->n_carried; i++) {
        last = c->carried[i].lag > last ? c->carried[i].lag : last;
    }
    memset(c->first_at, 0, ((size_t)last + 2) * sizeof *c->first_at);
    for (size_t i = 0; i < c->n_carried; i++) {
        c->first_at[c->carried[i].lag + 1]++;
    }
    for (uint32_t v = 0; v <= last; v++) {
        c->first_at[v + 1] += c->first_at[v];
    }
    for (uint32_t i = 0; i < c->n_carried; i++) {
        c->by_lag[c->first_at[c->carried[i].lag]++] = i;
    }
    for (uint32_t v = last + 1; v-- > 0;) { /* each is where the next one was */
        c->first_at[v + 1] = c->first_at[v];
    }
    c->first_at[0] = 0;
    return last;
}

/* Add an edge to a turn. Returns how long its ports and its link are busy then. */
static double begin(cs_cost *c, const carried *x)
{
    const leg *on     = &x->on;
    double     busy_s = 0;

    if (on->egress != CS_NO_PORT) {
        c->egress[on->egress] += x->bytes;
        c->ingress[on->ingress] += x->bytes;
        busy_s = larger(c->egress[on->egress] * c->egress_s_per_byte[on->egress],
                        c->ingress[on->ingress] * c->ingress_s_per_byte[on->ingress]);
    }
    if (on->pair != NO_PAIR) {
        c->pairs[on->pair].load += x->bytes;
        busy_s = larger(busy_s, c->pairs[on->pair].load * on->s_per_byte);
    }
    return on->alpha_s + busy_s;
}

/* How long the turns first .. first + n - 1 take, of which each has the edges of one more lag, from
 * `lag` on in steps of 1 or -1; *turn_s_p is the last one. */
static double ramp(cs_cost *c, uint32_t lag, int step, uint32_t n, double *turn_s_p)
{
    double sum_s = 0, turn_s = 0;

    for (uint32_t k = 0; k < n; k++, lag += (uint32_t)step) {
        for (uint32_t i = c->first_at[lag]; i < c->first_at[lag + 1]; i++) {
            turn_s = larger(turn_s, begin(c, &c->carried[c->by_lag[i]]));
        }
        sum_s += turn_s;
    }
    *turn_s_p = turn_s;
    return sum_s;
}

static void end_turn(cs_cost *c, const carried *x)
{
    const leg *on = &x->on;

    if (on->egress != CS_NO_PORT) {
        c->egress[on->egress] = c->ingress[on->ingress] = 0;
    }
    if (on->pair != NO_PAIR) {
        c->pairs[on->pair].load = 0;
    }
}

static void end_turns(cs_cost *c)
{
    for (size_t i = 0; i < c->n_carried; i++) {
        end_turn(c, &c->carried[i]);
    }
}

/* Every turn by itself, where all trees have so many chunks: in a turn the edges of as many lags.
 */
static double by_window_s(cs_cost *c, uint32_t last, uint32_t chunks)
{
    double sum_s = 0;

    for (uint32_t turn = 0; turn < last + chunks; turn++) {
        uint32_t from = turn < chunks ? 0 : turn - chunks + 1, to = turn < last ? turn : last;
        double   turn_s = 0;

        for (uint32_t i = c->first_at[from]; i < c->first_at[to + 1]; i++) {
            turn_s = larger(turn_s, begin(c, &c->carried[c->by_lag[i]]));
        }
        for (uint32_t i = c->first_at[from]; i < c->first_at[to + 1]; i++) {
            end_turn(c, &c->carried[c->by_lag[i]]);
        }
        sum_s += turn_s;
    }
    return sum_s;
}

/* The same of any trees, up to the next turn at which an edge begins or ends. */
static double by_each_turn_s(cs_cost *c)
{
    double sum_s = 0;

    for (uint64_t turn = 0, next = 0; next < UINT64_MAX; turn = next) {
        double turn_s = 0;

        end_turns(c);
        next = UINT64_MAX;
        for (size_t i = 0; i < c->n_carried; i++) {
            const carried *x   = &c->carried[i];
            uint64_t       end = x->lag + x->chunks;

            if (x->lag <= turn && turn < end) {
                turn_s = larger(turn_s, begin(c, x));
                next   = end < next ? end : next;
            } else if (x->lag > turn) {
                next = x->lag < next ? x->lag : next;
            }
        }
        sum_s += next < UINT64_MAX ? (double)(next - turn) * turn_s : 0;
    }
    return sum_s;
}

/* Where all trees have as many chunks, and these are more than the turns until the last edge
 * begins, edges first begin and then end, lag by lag. */
static double by_turns_s(cs_cost *c, const cs_strategy *s, cs_collective collective)
{
    uint64_t chunks = cs_tree_n_chunks(&s->trees[0]);
    bool     alike  = true;
    double   full_s = 0, sum_s = 0;

    c->n_carried = 0;
    for (uint32_t m = 0; m < s->n_trees; m++) {
        carry_tree(c, s, m, collective);
        alike = alike && cs_tree_n_chunks(&s->trees[m]) == chunks;
    }
    if (c->n_carried == 0) {
        return 0;
    }
    if (!alike) {
        return by_each_turn_s(c);
    }
    uint32_t last = sort_lags(c);
    if (chunks <= last) {
        return by_window_s(c, last, (uint32_t)chunks);
    }
    sum_s = ramp(c, last, -1, last, &full_s); /* from the end on */
    end_turns(c);
    sum_s += ramp(c, 0, 1, last + 1, &full_s);
    return sum_s + (double)(chunks - last - 1) * full_s;
}

double cs_cost_s(cs_cost *cost, const cs_strategy *strategy, cs_collective collective,
                 cs_cost_model model)
{
    assert(cs_cost_takes(collective));
    clear_loads(cost);
    return model == CS_COST_VOLUME  ? by_volume_s(cost, strategy, collective)
           : model == CS_COST_TURNS ? by_turns_s(cost, strategy, collective)
                                    : by_chunks_s(cost, strategy, collective, model);
}

static void note_load(cs_cost *c, size_t *n_p, uint64_t resource, double busy_s)
{
    if (busy_s > 0) {
        c->loads[(*n_p)++] = (cs_cost_load){resource, busy_s};
    }
}

cs_cost_tree cs_cost_of_tree(cs_cost *cost, const cs_strategy *strategy, uint32_t m,
                             cs_collective collective)
{
    volume v = {0};
    size_t n = 0;

    assert(cs_cost_takes(collective));
    clear_loads(cost);
    add_tree(cost, &v, strategy, m, collective);
    for (uint32_t i = 0; i < cost->n_ports; i++) {
        note_load(cost, &n, i, cost->egress[i] * cost->egress_s_per_byte[i]);
        note_load(cost, &n, (uint64_t)cost->n_ports + i,
                  cost->ingress[i] * cost->ingress_s_per_byte[i]);
    }
    for (size_t i = 0; i < cost->n_used; i++) {
        const pair *p = &cost->pairs[cost->used[i]];
        note_load(cost, &n, PAIR_RESOURCE | p->key, p->load * p->s_per_byte);
    }
    return (cs_cost_tree){.fill_s  = v.fill_s,
                          .chunk_s = v.chunk_s,
                          .alpha_s = v.alpha_s,
                          .n_loads = n,
                          .loads   = cost->loads};
}

/* Bounds. */

/* What a node sends and receives at most. */
typedef struct node_rate {
    double out_Bps, in_Bps;
} node_rate;

static node_rate rate_of_server(const cs_logical *l, uint32_t server)
{
    const cs_logical_server *s = &l->servers[server];
    node_rate                r = {0, 0};

    for (uint32_t i = 0; i < s->n_nics; i++) {
        r.out_Bps += l->nics[s->first_nic + i].egress_Bps;
        r.in_Bps += l->nics[s->first_nic + i].ingress_Bps;
    }
    return r;
}

/* A GPU with its NIC, as if it had it alone, and all its links. */
static node_rate rate_of_gpu(const cs_logical *l, uint32_t rank)
{
    const cs_logical_server *s = &l->servers[l->server_of[rank]];
    node_rate                r = {0, 0};
    node_rate ports[2] = {{0, 0}, {0, 0}}; /* into NVLink, across sockets: of what shares one */

    for (uint32_t other = s->first_rank; other < s->first_rank + s->n_gpus; other++) {
        if (other != rank) {
            const cs_logical_edge to   = cs_logical_edge_of(l, rank, other);
            const cs_logical_edge from = cs_logical_edge_of(l, other, rank);
            bool crosses = to.egress != CS_NO_PORT && to.egress >= l->n_nics + l->n_ranks;

            if (to.egress == CS_NO_PORT) {
                r.out_Bps += to.bandwidth_Bps;
                r.in_Bps += from.bandwidth_Bps;
            } else {
                ports[crosses] = (node_rate){to.egress_Bps, from.ingress_Bps};
            }
        }
    }
    for (int i = 0; i < 2; i++) {
        r.out_Bps += ports[i].out_Bps;
        r.in_Bps += ports[i].in_Bps;
    }
    if (l->n_servers > 1) {
        r.out_Bps += l->nics[l->nic_of[rank]].egress_Bps;
        r.in_Bps += l->nics[l->nic_of[rank]].ingress_Bps;
    }
    return r;
}

/* The most that the k slowest nodes, of which one is the root of each byte, ask of a second of each
 * byte: (k - 1) / (B_1 + .. + B_k), found by rounds that each take all nodes that the value so far
 * is too short for. */
static double slowest_nodes(const node_rate *nodes, uint32_t n)
{
    double best = 0;

    for (bool grows = true; grows;) {
        double sum_Bps = 0, count = 0;

        for (uint32_t i = 0; i < n; i++) {
            if (best * nodes[i].out_Bps < 1) {
                sum_Bps += nodes[i].out_Bps;
                count++;
            }
        }
        double next = sum_Bps > 0 ? (count - 1) / sum_Bps : 0;
        grows       = next > best;
        best        = grows ? next : best;
    }
    return best;
}

/* Seconds for a byte of every node's buffer. `root` is a node, or n: any, and another for each
 * byte.
 */
static double bound_of_nodes(const node_rate *nodes, uint32_t n, cs_collective collective,
                             uint32_t root)
{
    double out_Bps = 0, in_Bps = 0, bound = 0;

    for (uint32_t i = 0; i < n; i++) {
        out_Bps += nodes[i].out_Bps;
        in_Bps += nodes[i].in_Bps;
        if (collective == CS_ALLREDUCE) {
            bound = larger(bound, larger(1 / nodes[i].out_Bps, 1 / nodes[i].in_Bps));
        } else if (root == n) {
            bound = larger(bound, 1 / (nodes[i].out_Bps + nodes[i].in_Bps));
        } else {
            bound = larger(bound, 1 / (i == root ? nodes[i].in_Bps : nodes[i].out_Bps));
        }
    }
    if (collective != CS_ALLREDUCE && root == n) {
        bound = larger(bound, slowest_nodes(nodes, n));
    }
    double edges = (collective == CS_ALLREDUCE ? 2 : 1) * (n - 1.0);
    return larger(bound, edges / (out_Bps < in_Bps ? out_Bps : in_Bps));
}

cs_status cs_strategy_bound(const cs_logical *logical, cs_collective collective, uint64_t bytes,
                            uint32_t root, double *bound_s_p, cs_error *err)
{
    node_rate *nodes = CS_NEW(node_rate, logical->n_ranks);
    double     bound = 0;

    assert(cs_cost_takes(collective));
    if (nodes == NULL) {
        return CS_NO_MEMORY(err, "the bound of a strategy");
    }
    for (int of_gpus = 0; of_gpus < 2; of_gpus++) {
        uint32_t n = of_gpus != 0 ? logical->n_ranks : logical->n_servers, at = n;

        for (uint32_t i = 0; i < n; i++) {
            node_rate r = of_gpus != 0 ? rate_of_gpu(logical, i) : rate_of_server(logical, i);
            nodes[i]    = collective == CS_BROADCAST ? (node_rate){r.in_Bps, r.out_Bps} : r;
        }
        if (root != CS_ANY_ROOT) {
            at = of_gpus != 0 ? root : logical->server_of[root];
        }
        bound = n > 1 ? larger(bound, bound_of_nodes(nodes, n, collective, at)) : bound;
    }
    cs_free(nodes);
    *bound_s_p = bound * (double)bytes;
    return CS_OK;
}
