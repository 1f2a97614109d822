/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees over servers (plans), made into trees over ranks: one GPU of each server, its leader, talks
 * to others. Tree m has another leader than tree m - 1, near another NIC where there are several.
 */
#include "algorithms/adapcc/synthesize.h"

#include "base/alloc.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CODE_CHUNK_BYTES  ((uint64_t)4 << 20)
#define LEAST_CHUNK_BYTES ((uint64_t)256 << 10)
#define MOST_CHUNK_BYTES  ((uint64_t)16 << 20)

/* The first move may make it so much slower. */
#define MOST_SLOWER .05

typedef enum family {
    CHAINS,
    TWO_CHAINS,
    HEAPS_2,
    HEAPS_2_NEXT, /* each tree begins with the next server */
    HEAPS_3,
    STARS,
    ALIKE_FAMILIES, /* those below need servers that differ */
    SLOW_FIRST_CHAINS = ALIKE_FAMILIES,
    SLOW_ROOTS,
    SLOW_ROOT_OR_LEAF,
    FAST_CHAINS,
    FAST_HEAPS_2,
    FAST_TWO_CHAINS,
    FAMILIES
} family;

typedef struct ranked {
    double   weight;
    uint32_t server;
} ranked;

typedef struct search {
    const cs_synthesis *q;
    const cs_logical   *l;
    cs_cost            *cost;
    uint32_t            n_fast;
    uint32_t           *by_rate; /* [servers] the fast ones first */
    uint32_t           *list;    /* [servers] at work */
    uint32_t           *slow;    /* [servers] at work */
    uint32_t           *turns;   /* [ranks] the GPUs of each server, in the order of their turns as
                                    leaders */
    uint32_t   *plans;           /* [trees][servers] parent server or CS_TREE_ROOT */
    bool        chains;          /* inside servers; else stars */
    cs_strategy trial;
    double      best_s; /* of the strategy */
} search;

static uint32_t leader_of(const search *s, uint32_t server, uint32_t m)
{
    const cs_logical_server *v = &s->l->servers[server];

    bool is_above = s->q->root != CS_ANY_ROOT && s->l->server_of[s->q->root] == server;

    if (is_above && (s->q->by == CS_SYNTHESIZE_CODE || v->n_nics == 1)) {
        return s->q->root;
    }
    if (s->q->by == CS_SYNTHESIZE_CODE) {
        return v->first_rank;
    }
    return s->turns[v->first_rank + m % v->n_gpus];
}

/* Let the GPUs of a server take turns: one near each NIC, then the next one near each. */
static void take_turns(search *s, uint32_t server)
{
    const cs_logical_server *v    = &s->l->servers[server];
    uint32_t                *turn = s->turns + v->first_rank;
    uint32_t                 n    = 0;

    for (uint32_t round = 0; n < v->n_gpus; round++) {
        for (uint32_t nic = v->first_nic; nic < v->first_nic + v->n_nics; nic++) {
            uint32_t before = 0;
            for (uint32_t g = v->first_rank; g < v->first_rank + v->n_gpus; g++) {
                if (s->l->nic_of[g] == nic && before++ == round) {
                    turn[n++] = g;
                }
            }
        }
    }
}

static int by_weight(const void *left, const void *right)
{
    const ranked *a = left, *b = right;

    if (a->weight < b->weight || a->weight > b->weight) {
        return a->weight > b->weight ? -1 : 1;
    }
    return (a->server > b->server) - (a->server < b->server);
}

/* What a server sends and receives. */
static double rate_of(const cs_logical *l, uint32_t server)
{
    const cs_logical_server *v   = &l->servers[server];
    double                   out = 0, in = 0;

    for (uint32_t i = v->first_nic; i < v->first_nic + v->n_nics; i++) {
        out += l->nics[i].egress_Bps;
        in += l->nics[i].ingress_Bps;
    }
    return out < in ? out : in;
}

/* The released program's key: rate times latency to the server behind it. */
static double key_of(const cs_logical *l, uint32_t server)
{
    uint32_t next = (server + 1) % l->n_servers;

    if (next == server) {
        return 0;
    }
    const cs_logical_edge e =
        cs_logical_edge_of(l, l->servers[server].first_rank, l->servers[next].first_rank);
    return e.bandwidth_Bps * e.alpha_s;
}

static cs_status rank_servers(search *s, cs_error *err)
{
    const cs_logical *l    = s->l;
    ranked           *list = CS_NEW(ranked, l->n_servers);

    if (list == NULL) {
        return CS_NO_MEMORY(err, "trees");
    }
    for (uint32_t i = 0; i < l->n_servers; i++) {
        list[i] = (ranked){s->q->by == CS_SYNTHESIZE_CODE ? key_of(l, i) : rate_of(l, i), i};
    }
    qsort(list, l->n_servers, sizeof *list, by_weight);
    for (uint32_t i = 0; i < l->n_servers; i++) {
        s->by_rate[i] = list[i].server;
        s->n_fast += list[i].weight >= .99 * list[0].weight;
    }
    cs_free(list);
    return CS_OK;
}

/* Plans. */

static void rotate(uint32_t *to, const uint32_t *from, uint32_t n, uint32_t by)
{
    for (uint32_t i = 0; i < n; i++) {
        to[i] = from[(i + (uint64_t)by) % n];
    }
}

static void plan_heap(uint32_t *plan, const uint32_t *list, uint32_t n, uint32_t k)
{
    for (uint32_t i = 0; i < n; i++) {
        plan[list[i]] = i == 0 ? CS_TREE_ROOT : list[(i - 1) / k];
    }
}

static void plan_two_chains(uint32_t *plan, const uint32_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        plan[list[i]] = i == 0 ? CS_TREE_ROOT : i <= 2 ? list[0] : list[i - 2];
    }
}

/* The servers in `slow` as leaves of those in `list`, one behind the other from `first` on. */
static void hang_slow(uint32_t *plan, const search *s, uint32_t first)
{
    for (uint32_t i = 0; i < s->l->n_servers - s->n_fast; i++) {
        plan[s->slow[i]] = s->list[(first + i) % s->n_fast];
    }
}

/* A slow server with the chain of the fast ones, at whose end the other slow ones are leaves. */
static void plan_slow_root(uint32_t *plan, const search *s)
{
    uint32_t above = s->slow[0], last = s->n_fast - 1;

    plan[above] = CS_TREE_ROOT;
    for (uint32_t i = 0; i < s->n_fast; i++) {
        plan[s->list[i]] = above;
        above            = s->list[i];
    }
    for (uint32_t i = 1; i < s->l->n_servers - s->n_fast; i++) {
        plan[s->slow[i]] = s->list[last];
        last             = last > 0 ? last - 1 : s->n_fast - 1;
    }
}

static void plan_alike(search *s, family f, uint32_t m, uint32_t *plan)
{
    uint32_t n = s->l->n_servers, step = n / s->trial.n_trees > 0 ? n / s->trial.n_trees : 1;

    rotate(s->list, s->by_rate, n, f == HEAPS_2_NEXT ? m : m * step);
    if (f == TWO_CHAINS) {
        plan_two_chains(plan, s->list, n);
    } else {
        plan_heap(plan, s->list, n, f == CHAINS ? 1 : f == HEAPS_3 ? 3 : f == STARS ? n : 2);
    }
}

static void plan_mixed(search *s, family f, uint32_t m, uint32_t *plan)
{
    uint32_t n = s->l->n_servers, n_slow = n - s->n_fast;
    uint32_t step      = s->n_fast / s->trial.n_trees > 0 ? s->n_fast / s->trial.n_trees : 1;
    bool     is_spread = f >= FAST_CHAINS;

    rotate(s->list, s->by_rate, s->n_fast, is_spread ? m * step : m);
    rotate(s->slow, s->by_rate + s->n_fast, n_slow,
           f == SLOW_ROOT_OR_LEAF && m % 2 == 0 ? m / 2 : m);
    if (f == SLOW_FIRST_CHAINS) { /* the other slow servers at the end of the chain */
        memmove(s->list + 1, s->list, s->n_fast * sizeof *s->list);
        memcpy(s->list + 1 + s->n_fast, s->slow + 1, (n_slow - 1) * sizeof *s->list);
        s->list[0] = s->slow[0];
        plan_heap(plan, s->list, n, 1);
    } else if (f == SLOW_ROOTS || (f == SLOW_ROOT_OR_LEAF && m % 2 == 0)) {
        plan_slow_root(plan, s);
    } else if (f == FAST_TWO_CHAINS) {
        plan_two_chains(plan, s->list, s->n_fast);
        hang_slow(plan, s, 1);
    } else {
        plan_heap(plan, s->list, s->n_fast, f == FAST_CHAINS ? 1 : 2);
        hang_slow(plan, s, 0);
    }
}

/* Two servers change places. */
static void swap_servers(uint32_t *plan, uint32_t n, uint32_t a, uint32_t b)
{
    uint32_t above = plan[a];

    plan[a] = plan[b];
    plan[b] = above;
    for (uint32_t i = 0; i < n; i++) {
        plan[i] = plan[i] == a ? b : plan[i] == b ? a : plan[i];
    }
}

static void put_root(const search *s, uint32_t *plan)
{
    uint32_t root = 0;

    while (plan[root] != CS_TREE_ROOT) {
        root++;
    }
    if (s->q->root != CS_ANY_ROOT && s->l->server_of[s->q->root] != root) {
        swap_servers(plan, s->l->n_servers, root, s->l->server_of[s->q->root]);
    }
}

/* Make tree m of the trial out of its plan. False: the plan has a circle. */
static bool plant(search *s, uint32_t m)
{
    const uint32_t *plan   = s->plans + (size_t)m * s->l->n_servers;
    uint32_t       *parent = s->trial.trees[m].parent;

    for (uint32_t v = 0; v < s->l->n_servers; v++) {
        const cs_logical_server *at     = &s->l->servers[v];
        uint32_t                 leader = leader_of(s, v, m), head = leader;

        parent[leader] = plan[v] == CS_TREE_ROOT ? CS_TREE_ROOT : leader_of(s, plan[v], m);
        if (plan[v] == CS_TREE_ROOT && s->q->root != CS_ANY_ROOT && leader != s->q->root) {
            head           = s->q->root; /* the leader is there for its NIC alone */
            parent[leader] = head;
            parent[head]   = CS_TREE_ROOT;
        }
        uint32_t above = head;
        for (uint32_t g = at->first_rank; g < at->first_rank + at->n_gpus; g++) {
            if (g != leader && g != head) {
                parent[g] = above;
                above     = s->chains ? g : head;
            }
        }
    }
    return cs_strategy_sort(&s->trial, m);
}

/* Costs. */

static double trial_s(search *s)
{
    return cs_cost_s(s->cost, &s->trial, s->q->collective, s->q->model);
}

/* The best chunk for the trial: powers of two, then between them. Leaves it set. */
static double best_chunk(search *s)
{
    uint64_t largest = (s->q->bytes + s->trial.n_trees - 1) / s->trial.n_trees;
    uint64_t best = s->q->chunk_bytes, first = LEAST_CHUNK_BYTES;
    double   best_s = (double)INFINITY;

    if (best == 0) {
        static const double FACTORS[] = {.6, .75, 1.25, 1.5};

        first = largest < first ? largest : first;
        for (uint64_t c = first > 0 ? first : 1; c <= MOST_CHUNK_BYTES && c <= largest; c *= 2) {
            cs_strategy_set_sizes(&s->trial, s->q->bytes, c);
            double took_s = trial_s(s);
            best          = took_s < best_s ? c : best;
            best_s        = took_s < best_s ? took_s : best_s;
        }
        for (size_t i = 0; i < sizeof FACTORS / sizeof *FACTORS; i++) {
            uint64_t c = (uint64_t)((double)best * FACTORS[i]);

            cs_strategy_set_sizes(&s->trial, s->q->bytes, c);
            double took_s = trial_s(s);
            best          = took_s < best_s ? s->trial.trees[0].chunk_bytes : best;
            best_s        = took_s < best_s ? took_s : best_s;
        }
    }
    cs_strategy_set_sizes(&s->trial, s->q->bytes, best);
    return trial_s(s);
}

/* The trial becomes the strategy. */
static void keep(search *s, cs_strategy *strategy)
{
    size_t n = s->l->n_ranks * sizeof(uint32_t);

    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        cs_strategy_tree       *to   = &strategy->trees[m];
        const cs_strategy_tree *from = &s->trial.trees[m];

        to->size_bytes  = from->size_bytes;
        to->chunk_bytes = from->chunk_bytes;
        memcpy(to->parent, from->parent, n);
    }
}

/* The heuristic. */

static void plan_all(search *s, family f)
{
    for (uint32_t m = 0; m < s->trial.n_trees; m++) {
        uint32_t *plan = s->plans + (size_t)m * s->l->n_servers;

        if (f < ALIKE_FAMILIES) {
            plan_alike(s, f, m, plan);
        } else {
            plan_mixed(s, f, m, plan);
        }
        put_root(s, plan);
        (void)plant(s, m);
    }
}

static void try_families(search *s, cs_strategy *strategy)
{
    family families = s->n_fast < s->l->n_servers ? FAMILIES : ALIKE_FAMILIES;
    family best     = CHAINS;
    bool   chains   = false;

    s->best_s = (double)INFINITY;
    for (int inside = 0; inside < 2; inside++) {
        s->chains = inside != 0;
        for (family f = CHAINS; f < families; f++) {
            plan_all(s, f);
            double took_s = best_chunk(s);
            if (took_s < s->best_s) {
                s->best_s = took_s;
                best      = f;
                chains    = s->chains;
                keep(s, strategy);
            }
        }
    }
    s->chains = chains;
    plan_all(s, best);
    cs_strategy_set_sizes(&s->trial, s->q->bytes, strategy->trees[0].chunk_bytes);
}

/* Change the plan of a tree: give a server another parent, or let two change places. */
static void move(const search *s, uint32_t *plan, gsl_rng *random)
{
    uint32_t n = s->l->n_servers, a = (uint32_t)gsl_rng_uniform_int(random, n);
    uint32_t b = (a + 1 + (uint32_t)gsl_rng_uniform_int(random, n - 1)) % n;

    if (gsl_rng_uniform_int(random, 2) == 0 && plan[a] != CS_TREE_ROOT) {
        plan[a] = b;
    } else {
        swap_servers(plan, n, a, b);
        put_root(s, plan);
    }
}

/* Moves that make it no more than a little slower are kept, too, ever fewer of them: a single move
 * seldom helps where all ports are busy. `best` has the plans of the strategy. */
static void improve(search *s, cs_strategy *strategy, gsl_rng *random, uint32_t *before,
                    uint32_t *best)
{
    uint32_t n     = s->l->n_servers;
    size_t   bytes = (size_t)s->trial.n_trees * n * sizeof *best;
    double   now_s = s->best_s;

    memcpy(best, s->plans, bytes);
    for (uint32_t i = 0; i < s->q->n_moves && n > 2; i++) {
        uint32_t  m    = (uint32_t)gsl_rng_uniform_int(random, s->trial.n_trees);
        uint32_t *plan = s->plans + (size_t)m * n;
        double    more = MOST_SLOWER * (1 - (double)i / s->q->n_moves);

        memcpy(before, plan, n * sizeof *before);
        move(s, plan, random);
        double took_s = plant(s, m) ? trial_s(s) : (double)INFINITY;
        if (took_s > now_s * (1 + more)) {
            memcpy(plan, before, n * sizeof *before);
            (void)plant(s, m);
            continue;
        }
        now_s = took_s;
        if (took_s < s->best_s * (1 - 1e-12)) {
            s->best_s = took_s;
            memcpy(best, s->plans, bytes);
        }
    }
    memcpy(s->plans, best, bytes);
    for (uint32_t m = 0; m < s->trial.n_trees; m++) {
        (void)plant(s, m);
    }
    s->best_s = best_chunk(s);
    keep(s, strategy);
}

static cs_status search_heuristic(search *s, cs_strategy *strategy, cs_error *err)
{
    size_t    n      = s->l->n_servers;
    gsl_rng  *random = cs_random_stream(s->q->seed, "adapcc.moves");
    uint32_t *before = CS_NEW(uint32_t, n), *best = CS_NEW(uint32_t, n * s->trial.n_trees);
    cs_status status = CS_OK;

    if (random != NULL && before != NULL && best != NULL) {
        try_families(s, strategy);
        improve(s, strategy, random, before, best);
    } else {
        status = CS_NO_MEMORY(err, "trees");
    }
    if (random != NULL) {
        gsl_rng_free(random);
    }
    cs_free(before);
    cs_free(best);
    return status;
}

/* The released program. */

static cs_status build_code(search *s, cs_strategy *strategy)
{
    s->chains = true;
    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        uint32_t *plan = s->plans + (size_t)m * s->l->n_servers;

        rotate(s->list, s->by_rate, s->l->n_servers, m);
        plan_heap(plan, s->list, s->l->n_servers, 2);
        put_root(s, plan);
        (void)plant(s, m);
    }
    cs_strategy_set_sizes(&s->trial, s->q->bytes,
                          s->q->chunk_bytes > 0 ? s->q->chunk_bytes : CODE_CHUNK_BYTES);
    s->best_s = trial_s(s);
    keep(s, strategy);
    return CS_OK;
}

static cs_status open_search(search *s, cs_strategy *strategy, cs_error *err)
{
    const cs_logical *l = s->l;
    uint32_t          m = s->q->n_trees;

    if (s->q->by == CS_SYNTHESIZE_CODE && m > l->n_servers) {
        m = l->n_servers;
    }
    CS_TRY(cs_strategy_make(strategy, l->n_ranks, m, err));
    CS_TRY(cs_strategy_make(&s->trial, l->n_ranks, m, err));
    CS_TRY(cs_cost_open(l, m, &s->cost, err));
    s->trial.n_members = l->n_ranks;
    s->by_rate         = CS_NEW(uint32_t, l->n_servers);
    s->list            = CS_NEW(uint32_t, l->n_servers);
    s->slow            = CS_NEW(uint32_t, l->n_servers);
    s->turns           = CS_NEW(uint32_t, l->n_ranks);
    s->plans           = CS_NEW(uint32_t, (size_t)m * l->n_servers);
    if (s->by_rate == NULL || s->list == NULL || s->slow == NULL || s->turns == NULL ||
        s->plans == NULL) {
        return CS_NO_MEMORY(err, "trees");
    }
    for (uint32_t i = 0; i < l->n_servers; i++) {
        take_turns(s, i);
    }
    return rank_servers(s, err);
}

cs_status cs_synthesize(const cs_synthesis *request, cs_strategy *strategy, double *cost_s_p,
                        cs_error *err)
{
    search s = {.q = request, .l = request->logical};

    *strategy        = (cs_strategy){0};
    cs_status status = open_search(&s, strategy, err);
    if (status == CS_OK) {
        status = request->by == CS_SYNTHESIZE_CODE ? build_code(&s, strategy)
                                                   : search_heuristic(&s, strategy, err);
    }
    if (status == CS_OK) {
        *cost_s_p = s.best_s;
        status    = cs_strategy_check(strategy, err);
    }
    cs_strategy_free(&s.trial);
    cs_cost_close(s.cost);
    cs_free(s.by_rate);
    cs_free(s.list);
    cs_free(s.slow);
    cs_free(s.turns);
    cs_free(s.plans);
    return status;
}
