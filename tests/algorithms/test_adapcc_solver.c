/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AdapCC's synthesisers on GLPK: small programs whose answer is known, the times of other solvers
 * on the same clusters, random clusters, limits, memory that ends, and builds without GLPK. */
#include "algorithms/adapcc/turns.h"
#include "base/random.h"
#include "support/synthesis.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MIB = 1 << 20, MOST_SERVERS = 16 };

#define NEEDS_GLPK()                                      \
    do {                                                  \
        if (cs_lp_missing() != NULL) {                    \
            cr_skip_test("it needs %s", cs_lp_missing()); \
        }                                                 \
    } while (0)

static const cs_lp_limits LIMITS = {60, 100000, 0, 256};

/* What every strategy has to be: it fits, it is whole, and its cost is what is said. */
static void check_strategy(const cs_synthesis *q, cs_strategy *s, const cs_synthesis_result *r)
{
    cs_cost *cost    = NULL;
    double   bound_s = 0, cost_s = 0;
    uint64_t sum = 0, chunks = 1;

    cr_assert_eq(cs_strategy_check(s, NULL), CS_OK);
    cr_assert_eq(cs_strategy_fits(s, q->logical, NULL), CS_OK);
    cr_assert_leq(s->n_trees, q->n_trees);
    for (uint32_t m = 0; m < s->n_trees; m++) {
        sum += s->trees[m].size_bytes;
        chunks = cs_tree_n_chunks(&s->trees[m]) > chunks ? cs_tree_n_chunks(&s->trees[m]) : chunks;
        cr_assert(q->root == CS_ANY_ROOT || cs_tree_root(&s->trees[m]) == q->root);
    }
    cr_assert_eq(sum, q->bytes);
    for (uint32_t m = 0; m < s->n_trees && q->by != CS_SYNTHESIZE_CODE; m++) {
        uint64_t size = s->trees[m].size_bytes;
        cr_assert(cs_tree_n_chunks(&s->trees[m]) == chunks || size < chunks * chunks,
                  "as many chunks in all trees, but where a chunk would be some bytes");
        cr_assert(q->chunk_bytes == 0 || s->trees[m].chunk_bytes <= q->chunk_bytes);
    }
    cr_assert_eq(cs_cost_open(q->logical, s->n_trees, &cost, NULL), CS_OK);
    cr_assert_eq(cs_turns_cost_s(cost, q->logical, s, q->collective, q->model, &cost_s, NULL),
                 CS_OK);
    cr_assert_float_eq(cost_s, r->cost_s, 1e-12 * r->cost_s);
    cs_cost_close(cost);
    cr_assert_eq(cs_strategy_bound(q->logical, q->collective, q->bytes, q->root, &bound_s, NULL),
                 CS_OK);
    cr_assert_geq(r->cost_s, bound_s);
    if (r->has_solver) {
        cr_assert_geq(r->objective_s, r->bound_s * (1 - 1e-6));
    }
}

/* The strategy is checked and gone. */
static cs_synthesis_result made(const cs_synthesis *q)
{
    cs_synthesis_result r   = {0};
    cs_error            err = {0};
    cs_strategy         s;

    cr_assert_eq(cs_synthesize(q, &s, &r, &err), CS_OK, "%s", err.message);
    check_strategy(q, &s, &r);
    cs_strategy_free(&s);
    return r;
}

/* Programs. */

Test(adapcc_solver, a_program_without_choices)
{
    /* The least of -3a - 5b where a <= 4, 2b <= 12, 3a + 2b <= 18: a = 2, b = 6. */
    cs_lp        lp = {0};
    cs_lp_answer answer;
    double       x[2] = {0};

    NEEDS_GLPK();
    uint32_t a = cs_lp_add_column(&lp, -3, 4, false);
    uint32_t b = cs_lp_add_column(&lp, -5, (double)INFINITY, false);
    uint32_t r = cs_lp_add_row(&lp, -(double)INFINITY, 12);
    cs_lp_add_term(&lp, r, b, 2);
    r = cs_lp_add_row(&lp, -(double)INFINITY, 18);
    cs_lp_add_term(&lp, r, a, 3);
    cs_lp_add_term(&lp, r, b, 2);
    cr_assert_eq(cs_lp_solve(&lp, &LIMITS, x, &answer, NULL), CS_OK);
    cr_assert_eq(answer.end, CS_LP_SOLVED);
    cr_assert_float_eq(answer.objective, -36, 1e-9);
    cr_assert_float_eq(answer.bound, -36, 1e-9);
    cr_assert_float_eq(x[a], 2, 1e-9);
    cr_assert_float_eq(x[b], 6, 1e-9);
    cs_lp_free(&lp);
}

/* Weights 1, 2, 4 .. and what they are worth, in a sack: against all 2^n choices. */
Test(adapcc_solver, choices_against_all_of_them)
{
    enum { N = 10 };
    gsl_rng *random = cs_random_stream(3, "sacks");

    NEEDS_GLPK();
    for (int round = 0; round < 20; round++) {
        double       weight[N], worth[N], x[N] = {0}, best = 0, sack = 0;
        cs_lp        lp = {0};
        cs_lp_answer answer;
        uint32_t     row = cs_lp_add_row(&lp, -(double)INFINITY, 0);

        for (uint32_t i = 0; i < N; i++) {
            weight[i] = 1 + (double)gsl_rng_uniform_int(random, 100);
            worth[i]  = 1 + (double)gsl_rng_uniform_int(random, 100);
            sack += weight[i] / 2;
            cs_lp_add_term(&lp, row, cs_lp_add_column(&lp, -worth[i], 1, true), weight[i]);
        }
        lp.rows[row].high = sack;
        for (uint32_t set = 0; set < 1u << N; set++) {
            double heavy = 0, rich = 0;

            for (uint32_t i = 0; i < N; i++) {
                heavy += (set >> i & 1u) != 0 ? weight[i] : 0;
                rich += (set >> i & 1u) != 0 ? worth[i] : 0;
            }
            best = heavy <= sack && rich > best ? rich : best;
        }
        cr_assert_eq(cs_lp_solve(&lp, &LIMITS, x, &answer, NULL), CS_OK);
        cr_assert_float_eq(answer.objective, -best, 1e-6, "round %d", round);
        cs_lp_free(&lp);
    }
    gsl_rng_free(random);
}

/* GLPK takes less than a megabyte for nothing, and ends the process when it needs more; here the
 * next program is solved as if nothing had been. */
Test(adapcc_solver, glpk_runs_out_of_memory)
{
    enum { N = 400 };
    const cs_lp_limits little = {60, 100, 0, 1};
    cs_lp              lp     = {0};
    cs_lp_answer       answer;
    cs_error           err = {0};
    double             x[N];

    NEEDS_GLPK();
    for (uint32_t i = 0; i < N; i++) {
        (void)cs_lp_add_row(&lp, 1, (double)INFINITY);
        (void)cs_lp_add_column(&lp, 1, 10, false);
        x[i] = 1;
    }
    for (uint32_t i = 0; i < N * N; i++) {
        cs_lp_add_term(&lp, i / N, i % N, 1 + i % 7);
    }
    cr_assert_eq(cs_lp_solve(&lp, &little, x, &answer, &err), CS_ENOMEM);
    cr_assert(strstr(err.message, "GLPK gave up") != NULL, "%s", err.message);
    cr_assert_eq(cs_lp_solve(&lp, &LIMITS, x, &answer, &err), CS_OK);
    cr_assert_eq(answer.end, CS_LP_SOLVED);
    cs_lp_free(&lp);
}

/* What cannot be solved, though a solution is claimed, is an error. */
Test(adapcc_solver, a_program_without_solution)
{
    cs_lp        lp = {0};
    cs_lp_answer answer;
    cs_error     err  = {0};
    double       x[1] = {0};

    NEEDS_GLPK();
    cs_lp_add_term(&lp, cs_lp_add_row(&lp, 2, 3), cs_lp_add_column(&lp, 1, 1, false), 1);
    cr_assert_eq(cs_lp_solve(&lp, &LIMITS, x, &answer, &err), CS_EINTERNAL);
    cs_lp_free(&lp);
}

/* Times of other solvers. */

typedef struct row {
    uint32_t      n_fast, n_slow;
    cs_collective collective;
    double        want_ms;
} row;

/* GLPK's and CBC's best within 0.5 % for the same program in chunks of 1 MiB. */
Test(adapcc_solver, milp_as_other_solvers)
{
    static const row rows[] = {
        {2, 0, CS_ALLREDUCE, 21.68}, {4, 0, CS_ALLREDUCE, 32.42}, {4, 0, CS_REDUCE, 16.21},
        {2, 2, CS_ALLREDUCE, 43.53}, {2, 2, CS_REDUCE, 21.85},    {3, 1, CS_REDUCE, 21.77},
        {4, 2, CS_ALLREDUCE, 43.33},
    };

    NEEDS_GLPK();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cs_logical l;

        ct_logical_servers(&l, rows[i].n_fast, rows[i].n_slow);
        cs_synthesis q              = ct_synthesis(&l, rows[i].collective, CS_SYNTHESIZE_MILP);
        q.chunk_bytes               = MIB;
        const cs_synthesis_result r = made(&q);
        cr_assert(r.has_solver);
        cr_expect_float_eq(r.objective_s * 1e3, rows[i].want_ms, .005 * rows[i].want_ms,
                           "row %zu: %.3f ms", i, r.objective_s * 1e3);
        cr_expect_geq(r.bound_s, r.objective_s * (1 - .0051), "row %zu", i);
        uint32_t n = l.n_servers;
        cr_expect_eq(r.n_rows, 4 * (1 + n) + 2 * n + 4 * n * n + 3, "row %zu: %u", i, r.n_rows);
        cs_logical_free(&l);
    }
}

/* The same program by GLPK with the same families: without the alphas of 64 chunks. */
Test(adapcc_solver, packing_as_another_implementation)
{
    static const row rows[] = {
        {2, 0, CS_ALLREDUCE, 21.68}, {4, 0, CS_ALLREDUCE, 32.42}, {2, 2, CS_ALLREDUCE, 43.16},
        {4, 2, CS_ALLREDUCE, 43.57}, {2, 2, CS_REDUCE, 21.68},    {4, 2, CS_REDUCE, 21.89},
    };

    NEEDS_GLPK();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cs_logical l;
        double     bound_s = 0;

        ct_logical_servers(&l, rows[i].n_fast, rows[i].n_slow);
        cs_synthesis q              = ct_synthesis(&l, rows[i].collective, CS_SYNTHESIZE_PACKING);
        q.chunk_bytes               = MIB;
        const cs_synthesis_result r = made(&q);
        double                    without_ms = (r.objective_s - 64 * 20e-6) * 1e3;
        cr_assert(r.has_solver);
        cr_expect_float_eq(without_ms, rows[i].want_ms, .01 * rows[i].want_ms, "row %zu: %.3f ms",
                           i, without_ms);
        cr_assert_eq(cs_strategy_bound(&l, q.collective, q.bytes, q.root, &bound_s, NULL), CS_OK);
        cr_expect_leq(without_ms, 1.02e3 * bound_s, "row %zu", i);
        cs_logical_free(&l);
    }
}

/* With any number of trees there is nothing to choose. The programs of others: 46.15 and 45.14 ms
 * for what the ports carry; ours has the way of the first chunks, too. */
Test(adapcc_solver, packing_of_many_servers_without_choices)
{
    static const row rows[] = {{12, 4, CS_ALLREDUCE, 46.15}, {56, 8, CS_ALLREDUCE, 45.14}};

    NEEDS_GLPK();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cs_logical l;

        ct_logical_servers(&l, rows[i].n_fast, rows[i].n_slow);
        cs_synthesis q              = ct_synthesis(&l, rows[i].collective, CS_SYNTHESIZE_PACKING);
        q.n_trees                   = CS_STRATEGY_MAX_TREES;
        q.chunk_bytes               = MIB;
        const cs_synthesis_result r = made(&q);
        cr_assert_eq(r.end, CS_LP_SOLVED);
        cr_expect_float_eq(r.bound_s * 1e3, rows[i].want_ms, .015 * rows[i].want_ms,
                           "row %zu: %.3f ms", i, r.bound_s * 1e3);
        cs_logical_free(&l);
    }
}

/* Shares need not be equal: with one slow server of six, 4 equal trees are not as good. */
Test(adapcc_solver, shares_differ_where_it_helps)
{
    cs_logical          l;
    cs_strategy         s;
    cs_synthesis_result r;
    uint64_t            least = UINT64_MAX, most = 0;

    NEEDS_GLPK();
    ct_logical_servers(&l, 3, 1);
    cs_synthesis q           = ct_synthesis(&l, CS_REDUCE, CS_SYNTHESIZE_HEURISTIC);
    double       heuristic_s = made(&q).cost_s, bound_s = 0;
    q.by = CS_SYNTHESIZE_PACKING;
    cr_assert_eq(cs_synthesize(&q, &s, &r, NULL), CS_OK);
    for (uint32_t m = 0; m < s.n_trees; m++) {
        least = s.trees[m].size_bytes < least ? s.trees[m].size_bytes : least;
        most  = s.trees[m].size_bytes > most ? s.trees[m].size_bytes : most;
    }
    cr_assert_lt(r.cost_s, heuristic_s);
    cr_assert_eq(cs_strategy_bound(&l, CS_REDUCE, q.bytes, q.root, &bound_s, NULL), CS_OK);
    cr_assert_leq(r.cost_s, 1.05 * bound_s);
    cr_assert_lt(least, most);
    cs_strategy_free(&s);
    cs_logical_free(&l);
}

/* Random clusters: servers with rates between 40 and 100 %, 1 to 4 GPUs and NICs. */

static void draw(cs_logical *l, gsl_rng *random)
{
    cs_logical_kind kinds[MOST_SERVERS];
    uint32_t        n = 1 + (uint32_t)gsl_rng_uniform_int(random, 6);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t gpus = 1 + (uint32_t)gsl_rng_uniform_int(random, 4);
        uint32_t nics = 1 + (uint32_t)gsl_rng_uniform_int(random, gpus);
        bool     is   = gsl_rng_uniform_int(random, 2) == 0;

        kinds[i] = (cs_logical_kind){1,
                                     gpus,
                                     nics,
                                     12.5e9 * (.4 + .6 * gsl_rng_uniform(random)),
                                     {is ? CS_DIRECT : CS_SWITCHED, 5e-6, 100e9}};
    }
    cr_assert_eq(cs_logical_make(l, kinds, n, 20e-6, NULL), CS_OK);
}

Test(adapcc_solver, random_clusters)
{
    static const cs_collective collectives[] = {CS_ALLREDUCE, CS_REDUCE, CS_BROADCAST};
    gsl_rng                   *random        = cs_random_stream(11, "clusters");

    for (int i = 0; i < 24; i++) {
        cs_logical l;

        draw(&l, random);
        cs_synthesis q = ct_synthesis(&l, collectives[i % 3], CS_SYNTHESIZE_HEURISTIC);
        q.n_moves      = 200;
        q.solver_nodes = 30;
        q.n_trees      = 1 + (uint32_t)gsl_rng_uniform_int(random, 6);
        q.bytes        = 1 + gsl_rng_uniform_int(random, 64 * MIB) / (i % 2 == 0 ? 1 : 100000);
        q.model        = i % 5 < 3 ? CS_COST_TURNS : CS_COST_VOLUME;
        q.chunk_bytes  = i % 3 == 0 ? 1 + gsl_rng_uniform_int(random, MIB) : 0;
        l.holds_both   = i % 2 == 0;
        q.root = i % 4 == 3 ? (uint32_t)gsl_rng_uniform_int(random, l.n_ranks) : CS_ANY_ROOT;
        double heuristic_s = made(&q).cost_s;
        q.by               = CS_SYNTHESIZE_CODE;
        (void)made(&q);
        for (cs_synthesizer by = CS_SYNTHESIZE_PACKING;
             by <= CS_SYNTHESIZE_MILP && cs_lp_missing() == NULL; by++) {
            q.by = by;
            cr_assert_leq(made(&q).cost_s, heuristic_s, "cluster %d, %s", i,
                          cs_synthesizer_name(by));
        }
        cs_logical_free(&l);
    }
    gsl_rng_free(random);
}

/* Of 2 to 6 servers with two rates, eight trees are within 5 % of what no trees are faster than. */
Test(adapcc_solver, near_the_bound_with_two_rates)
{
    static const cs_collective collectives[] = {CS_ALLREDUCE, CS_REDUCE, CS_BROADCAST};

    NEEDS_GLPK();
    for (uint32_t n_fast = 2; n_fast <= 4; n_fast++) {
        for (uint32_t n_slow = 0; n_slow <= 2; n_slow++) {
            cs_logical l;

            ct_logical_servers(&l, n_fast, n_slow);
            for (int i = 0; i < 3; i++) {
                cs_synthesis q       = ct_synthesis(&l, collectives[i], CS_SYNTHESIZE_PACKING);
                double       bound_s = 0;

                q.n_trees      = 8;
                q.solver_nodes = 200;
                double took_s  = made(&q).cost_s;
                cr_assert_eq(
                    cs_strategy_bound(&l, q.collective, q.bytes, CS_ANY_ROOT, &bound_s, NULL),
                    CS_OK);
                cr_expect_leq(took_s, 1.05 * bound_s, "%u + %u servers, %s: %.4f", n_fast, n_slow,
                              cs_collective_name(q.collective), took_s / bound_s);
            }
            cs_logical_free(&l);
        }
    }
}

/* Limits. */

Test(adapcc_solver, the_best_is_kept_at_a_limit)
{
    static const cs_synthesizer by[] = {CS_SYNTHESIZE_PACKING, CS_SYNTHESIZE_MILP};

    NEEDS_GLPK();
    for (int i = 0; i < 2; i++) {
        cs_logical l;

        ct_logical_servers(&l, 5, 1);
        cs_synthesis q              = ct_synthesis(&l, CS_REDUCE, CS_SYNTHESIZE_HEURISTIC);
        double       heuristic_s    = made(&q).cost_s;
        q.by                        = by[i];
        q.solver_nodes              = 1;
        const cs_synthesis_result a = made(&q), b = made(&q);
        cr_assert_eq(a.end, CS_LP_NODES);
        cr_assert_leq(a.cost_s, heuristic_s);
        cr_assert_lt(a.bound_s, a.objective_s);
        cr_assert_gt(a.bound_s, 0);
        cr_assert_float_eq(a.objective_s, b.objective_s, 0, "the same once more");
        q.solver_nodes = 1 << 30;
        q.solver_s     = .001;
        cr_assert_leq(made(&q).cost_s, heuristic_s);
        cs_logical_free(&l);
    }
}

Test(adapcc_solver, milp_is_for_few_servers)
{
    cs_logical          l;
    cs_strategy         s;
    cs_synthesis_result r;
    cs_error            err = {0};

    NEEDS_GLPK();
    ct_logical_servers(&l, 65, 0);
    cs_synthesis q = ct_synthesis(&l, CS_ALLREDUCE, CS_SYNTHESIZE_MILP);
    cr_assert_eq(cs_synthesize(&q, &s, &r, &err), CS_ENOTSUP);
    cr_assert(strstr(err.message, "16900") != NULL, "%s", err.message);
    cs_strategy_free(&s);
    cs_logical_free(&l);
}

Test(adapcc_solver, memory_may_end_anywhere)
{
    static const cs_synthesizer by[] = {CS_SYNTHESIZE_PACKING, CS_SYNTHESIZE_MILP};

    NEEDS_GLPK();
    for (int i = 0; i < 2; i++) {
        cs_logical l;

        ct_logical_servers(&l, 2, 1);
        cs_synthesis q = ct_synthesis(&l, CS_REDUCE, by[i]);
        q.n_moves      = 3;
        q.solver_nodes = 3;
        ct_synthesis_without_memory(&q, 300);
        cs_logical_free(&l);
    }
}

Test(adapcc_solver, without_glpk_they_say_what_to_install)
{
    static const cs_synthesizer by[] = {CS_SYNTHESIZE_PACKING, CS_SYNTHESIZE_MILP};

    if (cs_lp_missing() == NULL) {
        cr_skip_test("this build has GLPK");
    }
    for (int i = 0; i < 2; i++) {
        cs_logical          l;
        cs_strategy         s;
        cs_synthesis_result r;
        cs_error            err = {0};

        ct_logical_servers(&l, 2, 0);
        cs_synthesis q = ct_synthesis(&l, CS_ALLREDUCE, by[i]);
        cr_assert_eq(cs_synthesize(&q, &s, &r, &err), CS_ENOTSUP);
        cr_assert(strstr(err.message, "libglpk-dev") != NULL, "%s", err.message);
        cs_strategy_free(&s);
        cs_logical_free(&l);
    }
}
