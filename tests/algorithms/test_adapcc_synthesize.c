/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AdapCC's synthesisers: times against another implementation's and against the bounds, what a
 * slow NIC changes, roots that are given, the released program's trees, memory that ends. */
#include "support/synthesis.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MIB = 1 << 20 };

static cs_synthesis request(const cs_logical *l, cs_collective collective)
{
    cs_synthesis q = ct_synthesis(l, collective, CS_SYNTHESIZE_HEURISTIC);

    q.n_moves = 2000;
    return q;
}

static double must_synthesize(const cs_synthesis *q, cs_strategy *s)
{
    cs_synthesis_result r   = {0};
    cs_error            err = {0};

    cr_assert_eq(cs_synthesize(q, s, &r, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_strategy_fits(s, q->logical, NULL), CS_OK);
    return r.cost_s;
}

typedef struct row {
    uint32_t      n_fast, n_slow, n_trees;
    cs_collective collective;
    double        want_ms; /* of another implementation with the same families */
    double        above;   /* the bound, at most */
} row;

Test(adapcc_synthesize, as_good_as_another_implementation)
{
    static const row rows[] = {
        {2, 0, 4, CS_REDUCE, 10.99, 1.05},     {2, 0, 4, CS_ALLREDUCE, 22.24, 1.05},
        {4, 0, 4, CS_REDUCE, 16.36, 1.05},     {4, 0, 4, CS_ALLREDUCE, 32.98, 1.05},
        {2, 2, 4, CS_REDUCE, 22.71, 1.06},     {2, 2, 4, CS_ALLREDUCE, 44.41, 1.05},
        {4, 2, 4, CS_REDUCE, 23.08, 1.08},     {4, 2, 4, CS_ALLREDUCE, 44.02, 1.05},
        {12, 4, 4, CS_ALLREDUCE, 50.11, 1.10},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row  *r = &rows[i];
        cs_logical  l;
        cs_strategy s;
        double      bound_s = 0;

        ct_logical_servers(&l, r->n_fast, r->n_slow);
        cs_synthesis q = request(&l, r->collective);
        q.n_trees      = r->n_trees;
        double took_s  = must_synthesize(&q, &s);
        cr_assert_eq(cs_strategy_bound(&l, r->collective, q.bytes, CS_ANY_ROOT, &bound_s, NULL),
                     CS_OK);
        cr_expect_leq(took_s * 1e3, r->want_ms + .006, "row %zu: %.3f ms", i, took_s * 1e3);
        cr_expect_leq(took_s, bound_s * r->above, "row %zu: %.3f ms, bound %.3f ms", i,
                      took_s * 1e3, bound_s * 1e3);
        cr_expect_geq(took_s, bound_s);
        cs_strategy_free(&s);
        cs_logical_free(&l);
    }
}

Test(adapcc_synthesize, moves_only_help_and_come_from_the_seed)
{
    cs_logical  l;
    cs_strategy first, second;

    ct_logical_servers(&l, 12, 4);
    for (uint32_t i = 0; i < 16; i++) {
        l.nics[i].egress_Bps *= 1 - .04 * i; /* no two are alike */
    }
    cs_synthesis q         = request(&l, CS_REDUCE);
    double       moved_s   = must_synthesize(&q, &first);
    double       again_s   = must_synthesize(&q, &second);
    cs_cost     *evaluator = NULL;
    cr_assert_float_eq(moved_s, again_s, 0);
    for (uint32_t m = 0; m < 4; m++) {
        cr_assert_arr_eq(first.trees[m].parent, second.trees[m].parent, 64 * sizeof(uint32_t));
    }
    cr_assert_eq(cs_cost_open(&l, 4, &evaluator, NULL), CS_OK);
    cr_assert_float_eq(cs_cost_s(evaluator, &first, CS_REDUCE, CS_COST_VOLUME), moved_s, 0);
    cs_cost_close(evaluator);
    cs_strategy_free(&first);
    cs_strategy_free(&second);
    q.n_moves = 0;
    cr_assert_lt(moved_s, .99 * must_synthesize(&q, &first));
    cs_strategy_free(&first);
    cs_logical_free(&l);
}

/* How many edges to other servers the GPUs of a server have in a tree. */
static uint32_t degree(const cs_logical *l, const cs_strategy_tree *t, uint32_t server)
{
    uint32_t count = 0;

    for (uint32_t g = 0; g < l->n_ranks; g++) {
        if (t->parent[g] != CS_TREE_ROOT && l->server_of[g] != l->server_of[t->parent[g]]) {
            count += l->server_of[g] == server || l->server_of[t->parent[g]] == server;
        }
    }
    return count;
}

Test(adapcc_synthesize, a_slow_nic_becomes_a_leaf)
{
    cs_logical  l;
    cs_strategy before, after;

    ct_logical_servers(&l, 4, 0);
    cs_synthesis q = request(&l, CS_ALLREDUCE);
    must_synthesize(&q, &before);
    l.nics[2].egress_Bps = l.nics[2].ingress_Bps = 6.25e9;

    cs_cost *cost = NULL;
    cr_assert_eq(cs_cost_open(&l, 4, &cost, NULL), CS_OK);
    double old_s = cs_cost_s(cost, &before, CS_ALLREDUCE, CS_COST_VOLUME);
    double new_s = must_synthesize(&q, &after);
    cr_assert_lt(new_s, .8 * old_s, "%.2f ms, %.2f ms with the old trees", new_s * 1e3,
                 old_s * 1e3);
    for (uint32_t m = 0; m < 4; m++) {
        cr_assert_eq(degree(&l, &after.trees[m], 2), 1u, "tree %u", m);
    }
    cs_cost_close(cost);
    cs_strategy_free(&before);
    cs_strategy_free(&after);
    cs_logical_free(&l);
}

Test(adapcc_synthesize, the_root_may_be_given)
{
    static const cs_collective  collectives[] = {CS_REDUCE, CS_BROADCAST};
    static const cs_synthesizer by[]          = {CS_SYNTHESIZE_HEURISTIC, CS_SYNTHESIZE_CODE};

    for (int i = 0; i < 4; i++) {
        cs_logical  l;
        cs_strategy s;
        double      bound_s = 0;

        ct_logical_servers(&l, 2, 2);
        cs_synthesis q = request(&l, collectives[i % 2]);
        q.root         = 13;
        q.by           = by[i / 2];
        double took_s  = must_synthesize(&q, &s);
        for (uint32_t m = 0; m < s.n_trees; m++) {
            cr_assert_eq(cs_tree_root(&s.trees[m]), 13u);
        }
        cr_assert_eq(cs_strategy_bound(&l, q.collective, q.bytes, 13, &bound_s, NULL), CS_OK);
        cr_assert_geq(took_s, bound_s);
        cs_strategy_free(&s);
        cs_logical_free(&l);
    }
}

Test(adapcc_synthesize, the_released_program)
{
    /* Rates to the next server: 12.5, 12.5, 6.25, 6.25 (to server 0): the order is 0 1 2 3. */
    const uint32_t root     = CS_TREE_ROOT;
    const uint32_t first[]  = {root, 0, 1, 2, 0, 4, 5, 6, 0, 8, 9, 10, 4, 12, 13, 14};
    const uint32_t second[] = {8, 0, 1, 2, root, 4, 5, 6, 4, 8, 9, 10, 4, 12, 13, 14};
    cs_logical     l;
    cs_strategy    s;

    ct_logical_servers(&l, 3, 1);
    cs_synthesis q = request(&l, CS_ALLREDUCE);
    q.by           = CS_SYNTHESIZE_CODE;
    q.n_trees      = 6;
    must_synthesize(&q, &s);
    cr_assert_eq(s.n_trees, 4u, "as many as servers");
    cr_assert_arr_eq(s.trees[0].parent, first, sizeof first);
    cr_assert_arr_eq(s.trees[1].parent, second, sizeof second);
    cr_assert_eq(s.trees[3].chunk_bytes, 4u * MIB);
    cr_assert_eq(s.trees[3].size_bytes, 64u * MIB);
    cs_strategy_free(&s);
    cs_logical_free(&l);
}

Test(adapcc_synthesize, small_things_work)
{
    for (uint32_t gpus = 1; gpus <= 3; gpus++) {
        for (uint32_t servers = 1; servers <= 3; servers++) {
            for (uint64_t bytes = 1; bytes < 1u << 20; bytes = bytes * 7 + 1) {
                const cs_logical_kind kind = {servers, gpus, gpus, 1e9, {CS_SWITCHED, 1e-6, 1e10}};
                cs_logical            l;
                cs_strategy           s;

                cr_assert_eq(cs_logical_make(&l, &kind, 1, 1e-6, NULL), CS_OK);
                cs_synthesis q = request(&l, CS_ALLREDUCE);
                q.bytes        = bytes;
                q.n_moves      = 50;
                must_synthesize(&q, &s);
                cr_assert_eq(cs_strategy_check(&s, NULL), CS_OK);
                cs_strategy_free(&s);
                cs_logical_free(&l);
            }
        }
    }
}

Test(adapcc_synthesize, memory_may_end_anywhere)
{
    cs_logical l;

    ct_logical_servers(&l, 2, 1);
    cs_synthesis q = request(&l, CS_ALLREDUCE);
    q.n_moves      = 3;
    ct_synthesis_without_memory(&q, 200);
    cs_logical_free(&l);
}
