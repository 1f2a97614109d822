/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AdapCC's cost models against worked examples and against another evaluator's numbers; the bounds
 * of trees against closed forms and against random trees. */
#include "algorithms/adapcc/turns.h"
#include "base/alloc.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define ROOT CS_TREE_ROOT

enum { MOST_SERVERS = 4, MOST_RANKS = 16, MOST_TREES = 3 };

/* Servers of which every one has a NIC and a mesh of NVLinks. */
typedef struct kind {
    uint32_t n_gpus; /* 0: no server */
    bool     is_fast;
} kind;

typedef struct tree {
    uint64_t size_bytes, chunk_bytes;
    uint32_t parent[MOST_RANKS];
    uint32_t aggregates; /* bits of ranks */
} tree;

typedef struct example {
    uint32_t      n_servers;
    kind          servers[MOST_SERVERS];
    uint32_t      n_trees;
    cs_collective collective;
    tree          trees[MOST_TREES];
    double        cost_s[CS_COST_MODEL_COUNT];
} example;

static void make_servers(cs_logical *l, const kind *servers, uint32_t n)
{
    cs_logical_kind kinds[MOST_SERVERS];
    cs_error        err = {0};

    for (uint32_t i = 0; i < n; i++) {
        double rate = servers[i].is_fast ? 2 : 1;
        kinds[i]    = (cs_logical_kind){
               1, servers[i].n_gpus, 1, rate * 6.25e9, {CS_DIRECT, 5e-6, rate * 50e9}};
    }
    cr_assert_eq(cs_logical_make(l, kinds, n, 20e-6, &err), CS_OK, "%s", err.message);
}

static void check_example(const example *x, const char *what)
{
    cs_logical  l;
    cs_strategy s;
    cs_cost    *cost;
    cs_error    err = {0};

    make_servers(&l, x->servers, x->n_servers);
    cr_assert_eq(cs_strategy_make(&s, l.n_ranks, x->n_trees, NULL), CS_OK);
    for (uint32_t m = 0; m < x->n_trees; m++) {
        cs_strategy_tree *t = &s.trees[m];
        t->size_bytes       = x->trees[m].size_bytes;
        t->chunk_bytes      = x->trees[m].chunk_bytes;
        for (uint32_t g = 0; g < l.n_ranks; g++) {
            t->parent[g]     = x->trees[m].parent[g];
            t->aggregates[g] = (x->trees[m].aggregates >> g & 1u) != 0;
        }
    }
    cr_assert_eq(cs_strategy_check(&s, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_cost_open(&l, x->n_trees, &cost, NULL), CS_OK);
    for (int i = 0; i < CS_COST_MODEL_COUNT; i++) {
        double got_s = cs_cost_s(cost, &s, x->collective, (cs_cost_model)i);
        cr_expect(fabs(got_s / x->cost_s[i] - 1) < 1e-9, "%s %d: %s is %.12g, not %.12g", what,
                  (int)x->n_servers, cs_cost_name((cs_cost_model)i), got_s, x->cost_s[i]);
    }
    cs_cost_close(cost);
    cs_strategy_free(&s);
    cs_logical_free(&l);
}

/* 2 servers of 2 GPUs, trees 1->0, 2->0, 3->2 and 3->2, 0->2, 1->0. */
static const tree FIRST = {8000000, 1000000, {ROOT, 0, 0, 2}, 15};
static const tree OTHER = {8000000, 1000000, {2, 0, ROOT, 2}, 15};
static const tree LOOSE = {8000000, 1000000, {ROOT, 0, 0, 2}, 11}; /* rank 2 forwards */

#define TWO_BY_TWO  \
    2,              \
    {               \
        {2, true},  \
        {           \
            2, true \
        }           \
    }

Test(adapcc_cost, worked_examples)
{
    const example examples[] = {
        {TWO_BY_TWO, 1, CS_REDUCE, {FIRST}, {1035e-6, 920e-6, 815e-6, 815e-6, 815e-6}},
        {TWO_BY_TWO, 1, CS_ALLREDUCE, {FIRST}, {1150e-6, 1035e-6, 930e-6, 930e-6, 930e-6}},
        {TWO_BY_TWO, 1, CS_BROADCAST, {FIRST}, {915e-6, 815e-6, 815e-6, 815e-6, 815e-6}},
        {TWO_BY_TWO, 1, CS_REDUCE, {LOOSE}, {1755e-6, 1560e-6, 1455e-6, 1455e-6, 1455e-6}},
    };

    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        check_example(&examples[i], "example");
    }
}

Test(adapcc_cost, opposite_trees_share_links)
{
    const example reduce    = {TWO_BY_TWO, 2, CS_REDUCE, {FIRST, OTHER}, {0}};
    const example allreduce = {TWO_BY_TWO, 2, CS_ALLREDUCE, {FIRST, OTHER}, {0}};
    example       with      = reduce;

    /* 1->0 and 3->2 carry both trees: 25 us a chunk; every NIC sends one tree and receives one. */
    memcpy(with.cost_s,
           (double[]){125e-6 + 8 * 125e-6, 125e-6 + 7 * 125e-6, 825e-6, 815e-6, 815e-6},
           sizeof with.cost_s);
    check_example(&with, "reduce");
    with = allreduce; /* 180 us over the network, in seven turns of eleven */
    memcpy(with.cost_s,
           (double[]){410e-6 + 8 * 205e-6, 410e-6 + 7 * 205e-6, 1670e-6, 1570e-6, 1490e-6},
           sizeof with.cost_s);
    check_example(&with, "allreduce");
}

/* Random trees, flags, sizes and servers, with the numbers of another evaluator, which keeps a list
 * of the ready times of all flows. */
/* clang-format off */
static const example EVALUATED[] = {
    {3, {{1, true}, {1, true}, {2, true}}, 3, CS_ALLREDUCE,
     {{1000000, 100000, {2, 3, 3, ROOT}, 0xd}, {8000000, 100000, {3, 3, 3, ROOT}, 0xf}, {8000000, 100000, {3, 0, 3, ROOT}, 0xf}},
     {0.005904, 0.005832, 0.004964, 0.003764, 0.003804}},
    {3, {{4, false}, {2, true}, {1, true}}, 1, CS_REDUCE,
     {{1000000, 262144, {ROOT, 0, 5, 0, 1, 0, 3}, 0x1b}},
     {0.0010388608, 0.00083108864, 0.00081303168, 0.00078194304, 0.00074}},
    {3, {{2, false}, {1, false}, {2, true}}, 1, CS_BROADCAST,
     {{1000000, 1000000, {ROOT, 0, 1, 4, 0}, 0x1d}},
     {0.000385, 0.000205, 0.000365, 0.000365, 0.00036}},
    {4, {{2, true}, {2, false}, {2, false}, {2, false}}, 3, CS_ALLREDUCE,
     {{1000000, 262144, {2, 4, 3, ROOT, 3, 2, 3, 4}, 0x3e}, {1000000, 262144, {ROOT, 0, 0, 2, 3, 0, 2, 0}, 0xff}, {3333333, 100000, {ROOT, 2, 0, 2, 2, 0, 0, 2}, 0x97}},
     {0.006048, 0.00588, 0.007252, 0.004139648, 0.00467882330353}},
    {3, {{1, true}, {4, true}, {2, false}}, 1, CS_REDUCE,
     {{3333333, 262144, {5, 0, 4, 5, 0, ROOT, 0}, 0x56}},
     {0.00269837472, 0.00251060256, 0.0030768336, 0.00298860944, 0.00301576895769}},
    {3, {{2, true}, {1, false}, {1, true}}, 2, CS_BROADCAST,
     {{8000000, 100000, {2, 3, 3, ROOT}, 0xd}, {1000000, 100000, {ROOT, 0, 0, 0}, 0x9}},
     {0.002952, 0.002916, 0.004196, 0.003076, 0.003076}},
    {4, {{4, true}, {4, true}, {1, true}, {4, true}}, 2, CS_ALLREDUCE,
     {{8000000, 1000000, {5, 2, 5, 5, 11, 10, 5, 1, 10, 6, ROOT, 7, 11}, 0x1db7}, {8000000, 100000, {11, 7, 5, 9, 7, 12, 2, 5, 9, 4, 11, 5, ROOT}, 0xcf7}},
     {0.03091, 0.027835, 0.02133, 0.01277, 0.012892}},
    {2, {{1, false}, {1, true}}, 2, CS_REDUCE,
     {{8000000, 100000, {ROOT, 0}, 0x3}, {3333333, 100000, {ROOT, 0}, 0x3}},
     {0.004212, 0.00416, 0.00416, 0.00341333328, 0.00341333328}},
    {3, {{2, false}, {2, true}, {2, false}}, 3, CS_BROADCAST,
     {{1000000, 262144, {4, 3, 3, ROOT, 2, 2}, 0x27}, {8000000, 100000, {4, 5, 1, 4, ROOT, 4}, 0x29}, {1000000, 100000, {5, 5, 1, 5, 0, ROOT}, 0x37}},
     {0.008159, 0.008059, 0.010635, 0.00614956448, 0.006168}},
    {2, {{2, true}, {2, true}}, 1, CS_ALLREDUCE,
     {{8000000, 1000000, {ROOT, 0, 3, 0}, 0xb}},
     {0.00115, 0.001035, 0.00093, 0.00093, 0.00093}},
};
/* clang-format on */

Test(adapcc_cost, another_evaluator_says_the_same)
{
    for (size_t i = 0; i < sizeof EVALUATED / sizeof *EVALUATED; i++) {
        check_example(&EVALUATED[i], "evaluated");
    }
}

/* What a broadcast down a chain or a star of n servers with one GPU takes, in so many chunks of
 * 1 MB, by turns; holds_both as in a topology. */
static double turns_s(uint32_t n, uint32_t chunks, bool is_chain, bool holds_both)
{
    const cs_logical_kind alike = {n, 1, 1, 12.5e9, {CS_DIRECT, 5e-6, 100e9}};
    cs_logical            l;
    cs_strategy           s;
    cs_cost              *cost;
    double                took_s = 0;

    cr_assert_eq(cs_logical_make(&l, &alike, 1, 20e-6, NULL), CS_OK);
    l.holds_both = holds_both;
    cr_assert_eq(cs_strategy_make(&s, n, 1, NULL), CS_OK);
    for (uint32_t g = 0; g < n; g++) {
        s.trees[0].parent[g] = g == 0 ? ROOT : is_chain ? g - 1 : 0;
    }
    s.trees[0].size_bytes  = (uint64_t)1000000 * chunks;
    s.trees[0].chunk_bytes = 1000000;
    cr_assert_eq(cs_strategy_check(&s, NULL), CS_OK);
    cr_assert_eq(cs_cost_open(&l, 1, &cost, NULL), CS_OK);
    cr_assert_eq(cs_turns_cost_s(cost, &l, &s, CS_BROADCAST, CS_COST_TURNS, &took_s, NULL), CS_OK);
    cs_cost_close(cost);
    cs_strategy_free(&s);
    cs_logical_free(&l);
    return took_s;
}

/* A chunk takes 20 + 80 us alone. Down a chain the last one passes n - 1 edges behind all others.
 * In a star the root's port has n - 1 chunks in every turn: with one alpha where they share it, and
 * with one each where it takes one after the other. */
Test(adapcc_cost, turns_in_closed_form)
{
    for (uint32_t n = 2; n <= 12; n++) {
        for (uint32_t chunks = 1; chunks <= 12; chunks++) {
            double chain_s  = (chunks + n - 2) * 100e-6;
            double shared_s = chunks * (20e-6 + (n - 1) * 80e-6);
            double served_s = chunks * (n - 1) * 100e-6;

            cr_expect_float_eq(turns_s(n, chunks, true, false), chain_s, 1e-9 * chain_s);
            cr_expect_float_eq(turns_s(n, chunks, true, true), chain_s, 1e-6 * chain_s);
            cr_expect_float_eq(turns_s(n, chunks, false, false), shared_s, 1e-9 * shared_s);
            cr_expect_float_eq(turns_s(n, chunks, false, true), served_s, 1e-6 * served_s);
        }
    }
}

static double bound_ms(const kind *servers, uint32_t n, cs_collective collective, uint32_t root)
{
    cs_logical l;
    double     bound_s = 0;

    make_servers(&l, servers, n);
    cr_assert_eq(cs_strategy_bound(&l, collective, 256u << 20, root, &bound_s, NULL), CS_OK);
    cs_logical_free(&l);
    return bound_s * 1e3;
}

#define FAST    \
    {           \
        4, true \
    }
#define SLOW     \
    {            \
        4, false \
    }

/* 256 MiB; 12.5 and 6.25 GB/s: the bounds are multiples of 21.4748 ms. */
Test(adapcc_cost, bounds_in_closed_form)
{
    const kind   fast[] = {FAST, FAST, FAST, FAST}, mixed[] = {FAST, FAST, SLOW, SLOW};
    const kind   slow[] = {SLOW, SLOW, SLOW, FAST};
    const double unit   = 21.4748365;

    cr_expect_float_eq(bound_ms(fast, 2, CS_ALLREDUCE, CS_ANY_ROOT), unit, 1e-5);
    cr_expect_float_eq(bound_ms(fast, 4, CS_ALLREDUCE, CS_ANY_ROOT), 1.5 * unit, 1e-5);
    cr_expect_float_eq(bound_ms(mixed, 4, CS_ALLREDUCE, CS_ANY_ROOT), 2 * unit, 1e-5);
    cr_expect_float_eq(bound_ms(fast, 2, CS_REDUCE, CS_ANY_ROOT), .5 * unit, 1e-5);
    cr_expect_float_eq(bound_ms(fast, 4, CS_REDUCE, CS_ANY_ROOT), .75 * unit, 1e-5);
    cr_expect_float_eq(bound_ms(mixed, 4, CS_REDUCE, CS_ANY_ROOT), unit, 1e-5);
    cr_expect_float_eq(bound_ms(slow, 4, CS_REDUCE, CS_ANY_ROOT), 4.0 / 3 * unit, 1e-5,
                       "each of three slow servers can be the root for a third");
    cr_expect_float_eq(bound_ms(slow, 4, CS_BROADCAST, CS_ANY_ROOT), 4.0 / 3 * unit, 1e-5);
    cr_expect_float_eq(bound_ms(slow, 4, CS_REDUCE, 12), 2 * unit, 1e-5,
                       "the fast one is the root");
}

Test(adapcc_cost, bound_inside_a_server)
{
    const kind one[] = {FAST};

    /* 2 (n - 1) / n S over 3 links of 100 GB/s. */
    cr_expect_float_eq(bound_ms(one, 1, CS_ALLREDUCE, CS_ANY_ROOT), 268.435456 * 1.5 / 300, 1e-9);
}

static void draw_tree(cs_strategy *s, uint32_t m, ct_rng *rng)
{
    uint32_t order[MOST_RANKS];

    for (uint32_t g = 0; g < s->n_ranks; g++) {
        uint32_t at = ct_below(rng, g + 1);
        order[g]    = order[at];
        order[at]   = g;
    }
    for (uint32_t i = 0; i < s->n_ranks; i++) {
        s->trees[m].parent[order[i]]     = i == 0 ? ROOT : order[ct_below(rng, i)];
        s->trees[m].aggregates[order[i]] = ct_below(rng, 4) > 0;
    }
}

Test(adapcc_cost, no_tree_beats_the_bound)
{
    ct_rng              rng           = ct_rng_for(12);
    const cs_collective collectives[] = {CS_ALLREDUCE, CS_REDUCE, CS_BROADCAST};

    for (int trial = 0; trial < 600; trial++) {
        kind          servers[MOST_SERVERS];
        uint32_t      n          = 1 + ct_below(&rng, MOST_SERVERS);
        uint32_t      n_trees    = 1 + ct_below(&rng, MOST_TREES);
        cs_collective collective = collectives[trial % 3];
        cs_logical    l;
        cs_strategy   s;
        cs_cost      *cost;
        double        bound_s = 0;

        for (uint32_t i = 0; i < n; i++) {
            servers[i] = (kind){2 + ct_below(&rng, 3), ct_below(&rng, 2) > 0};
        }
        make_servers(&l, servers, n);
        cr_assert_eq(cs_strategy_make(&s, l.n_ranks, n_trees, NULL), CS_OK);
        for (uint32_t m = 0; m < n_trees; m++) {
            draw_tree(&s, m, &rng);
        }
        cr_assert_eq(cs_strategy_check(&s, NULL), CS_OK);
        cs_strategy_set_sizes(&s, 64u << 20, 1 + ct_below(&rng, 8u << 20));
        cr_assert_eq(cs_cost_open(&l, n_trees, &cost, NULL), CS_OK);
        cr_assert_eq(cs_strategy_bound(&l, collective, 64u << 20,
                                       n_trees == 1 ? cs_tree_root(&s.trees[0]) : CS_ANY_ROOT,
                                       &bound_s, NULL),
                     CS_OK);
        cr_expect_geq(cs_cost_s(cost, &s, collective, CS_COST_VOLUME), bound_s);
        cr_expect_geq(cs_cost_s(cost, &s, collective, CS_COST_TURNS), bound_s * (1 - 1e-12));
        l.holds_both  = true;
        double took_s = 0;
        cr_assert_eq(cs_turns_cost_s(cost, &l, &s, collective, CS_COST_TURNS, &took_s, NULL),
                     CS_OK);
        cr_expect_geq(took_s, bound_s * (1 - 1e-6));
        cs_cost_close(cost);
        cs_strategy_free(&s);
        cs_logical_free(&l);
    }
}

static cs_status open_and_bound(const cs_logical *l, cs_cost **cost_p, cs_error *err)
{
    double bound_s = 0;

    CS_TRY(cs_cost_open(l, 3, cost_p, err));
    return cs_strategy_bound(l, CS_REDUCE, 1, CS_ANY_ROOT, &bound_s, err);
}

Test(adapcc_cost, memory_may_end_anywhere)
{
    const kind servers[] = {FAST, SLOW};
    cs_status  status    = CS_ENOMEM;
    cs_logical l;

    make_servers(&l, servers, 2);
    for (long passes = 0; status != CS_OK; passes++) {
        cs_cost *cost = NULL;
        cs_error err  = {0};

        cr_assert_lt(passes, 100);
        cs_alloc_fail_after(passes);
        status = open_and_bound(&l, &cost, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
        cs_cost_close(cost);
    }
    cs_logical_free(&l);
}
