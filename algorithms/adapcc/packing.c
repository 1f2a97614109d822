/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tree packing: which part x_t of the buffer goes through tree t of many, of which at most M count?
 *
 *   minimise W + A + F, where
 *     sum x_t = 1, x_t <= z_t, sum z_t <= M, z_t is 0 or 1
 *     W >= sum of what tree t asks of a port with the whole buffer times x_t, for every port, link
 *     A >= S alpha / C x_t   the alphas of the chunks of one tree
 *     F >= z_t fill_t        what a first chunk takes, without its longest edge
 *
 * which is VOLUME (cost.h), but that its last chunk is a whole one and its edges never wait for
 * themselves. Times are in units of the bound of trees.
 *
 * Ports that are never as busy as another one is at least are left out. First the program is solved
 * with all trees and any number of them, for W and the mean of fill_t: its cost and the least A are
 * what no choice is below. Where there are more than MOST_MIXED trees, those that it uses, the
 * heuristic's and the first ones go into the program above.
 */
#include "algorithms/adapcc/synthesize.h"

#include "base/alloc.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Trees in the program with binary variables; memory of GLPK; the gap that will do; parts of the
 * buffer below which a tree is left out. */
enum { MOST_MIXED = 48, MOST_TREES = 4096, MEMORY_MB = 2048 };
#define GAP        .005
#define LEAST_PART 1e-6

typedef struct candidate {
    uint64_t hash;
    size_t   first_load, n_loads;
    double   fill_s, alpha_s;
    double   part; /* of the buffer, by the first program */
    bool     is_mixed;
} candidate;

typedef struct packing {
    const cs_synthesis *q;
    cs_planner          planner;
    cs_cost            *cost;
    cs_strategy         trial;   /* one tree, for all candidates */
    uint32_t           *parents; /* [n][ranks] */
    candidate          *candidates;
    cs_cost_load       *loads;
    uint32_t           *rows; /* [loads] row of a load, or NO_ROW */
    uint32_t           *plan; /* [servers] */
    size_t              n, room, parents_room, n_loads, loads_room;
    uint32_t            n_rows; /* that count */
    uint64_t            chunk_bytes;
    double              unit_s;
} packing;

#define NO_ROW UINT32_MAX

static uint32_t *parents_of(const packing *p, size_t t)
{
    return p->parents + t * p->q->logical->n_ranks;
}

static bool is_known(const packing *p, const uint32_t *parent, uint64_t hash)
{
    for (size_t t = 0; t < p->n; t++) {
        if (p->candidates[t].hash == hash &&
            memcmp(parents_of(p, t), parent, p->q->logical->n_ranks * sizeof *parent) == 0) {
            return true;
        }
    }
    return false;
}

/* The trial's tree, unless it is one already. */
static cs_status add_candidate(packing *p, bool is_mixed, cs_error *err)
{
    uint32_t          n_ranks = p->q->logical->n_ranks;
    cs_strategy_tree *tree    = &p->trial.trees[0];
    uint64_t          hash    = 0;

    for (uint32_t g = 0; g < n_ranks; g++) {
        hash = cs_mix64(hash ^ tree->parent[g]);
    }
    if (is_known(p, tree->parent, hash)) {
        return CS_OK;
    }
    tree->size_bytes        = p->q->bytes;
    tree->chunk_bytes       = p->chunk_bytes;
    const cs_cost_tree cost = cs_cost_of_tree(p->cost, &p->trial, 0, p->q->collective);
    if (!cs_grow(&p->candidates, &p->room, p->n + 1, 64, sizeof *p->candidates) ||
        !cs_grow(&p->parents, &p->parents_room, (p->n + 1) * n_ranks, (size_t)64 * n_ranks,
                 sizeof *p->parents) ||
        !cs_grow(&p->loads, &p->loads_room, p->n_loads + cost.n_loads, 4096, sizeof *p->loads)) {
        return CS_NO_MEMORY(err, "a packing of trees");
    }
    p->candidates[p->n] = (candidate){.hash       = hash,
                                      .first_load = p->n_loads,
                                      .n_loads    = cost.n_loads,
                                      .fill_s     = cost.fill_s - cost.chunk_s,
                                      .alpha_s    = cost.alpha_s,
                                      .is_mixed   = is_mixed};
    memcpy(parents_of(p, p->n), tree->parent, n_ranks * sizeof *tree->parent);
    memcpy(p->loads + p->n_loads, cost.loads, cost.n_loads * sizeof *p->loads);
    p->n_loads += cost.n_loads;
    p->n++;
    return CS_OK;
}

/* Do GPUs hang below others than the one that talks to other servers? */
static bool has_chains(const packing *p, const cs_strategy_tree *tree)
{
    const uint32_t *server_of = p->q->logical->server_of;

    for (uint32_t g = 0; g < p->q->logical->n_ranks; g++) {
        uint32_t above = tree->parent[g];

        if (above != CS_TREE_ROOT && server_of[above] == server_of[g] &&
            tree->parent[above] != CS_TREE_ROOT && server_of[tree->parent[above]] == server_of[g]) {
            return true;
        }
    }
    return false;
}

/* The heuristic's trees, then those of all families, each rotated in all ways. */
static cs_status add_candidates(packing *p, const cs_strategy *known, cs_error *err)
{
    uint32_t       n_servers = p->q->logical->n_servers, n_turns = n_servers;
    size_t         bytes    = p->q->logical->n_ranks * sizeof *p->parents;
    bool           chains   = has_chains(p, &known->trees[0]);
    cs_plan_family families = cs_planner_families(&p->planner);

    for (uint32_t m = 0; m < known->n_trees; m++) {
        memcpy(p->trial.trees[0].parent, known->trees[m].parent, bytes);
        (void)cs_strategy_sort(&p->trial, 0);
        CS_TRY(add_candidate(p, true, err));
    }
    for (uint32_t s = 0; s < n_servers; s++) {
        uint32_t n_nics = p->q->logical->servers[s].n_nics;
        n_turns         = n_turns > n_nics ? n_turns : n_nics;
    }
    for (uint32_t m = 0; m < n_turns && p->n + (size_t)families < MOST_TREES; m++) {
        for (cs_plan_family f = CS_PLAN_CHAINS; f < families; f++) {
            if (f == CS_PLAN_BALANCED && m >= 2 * p->q->n_trees) {
                continue; /* these follow each other, and are dear */
            }
            cs_planner_plan(&p->planner, f, m, n_servers, p->plan);
            (void)cs_planner_plant(&p->planner, p->plan, m, chains, &p->trial, 0);
            CS_TRY(add_candidate(p, false, err));
        }
    }
    return CS_OK;
}

/* Rows. */

typedef struct place {
    uint64_t resource;
    double   busy_s;
    size_t   load;
    uint32_t tree;
} place;

static int by_resource(const void *left, const void *right)
{
    const place *a = left, *b = right;

    if (a->resource != b->resource) {
        return a->resource < b->resource ? -1 : 1;
    }
    return (a->tree > b->tree) - (a->tree < b->tree);
}

/* Number the ports and links that may be the busiest one. */
static void number_rows(packing *p, place *places)
{
    double least = 0; /* of the port that is the busiest with the tree that asks the least of it */

    for (size_t t = 0; t < p->n; t++) {
        const candidate *c = &p->candidates[t];
        for (size_t i = c->first_load; i < c->first_load + c->n_loads; i++) {
            places[i] = (place){p->loads[i].resource, p->loads[i].busy_s, i, (uint32_t)t};
        }
    }
    qsort(places, p->n_loads, sizeof *places, by_resource);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t first = 0, end = 0; first < p->n_loads; first = end) {
            double low = places[first].busy_s, high = low;

            for (end = first; end < p->n_loads && places[end].resource == places[first].resource;
                 end++) {
                low  = places[end].busy_s < low ? places[end].busy_s : low;
                high = places[end].busy_s > high ? places[end].busy_s : high;
            }
            if (pass == 0) {
                least = end - first == p->n && low > least ? low : least;
                continue;
            }
            bool counts = high > least || (p->n_rows == 0 && high >= least);
            for (size_t i = first; i < end; i++) {
                p->rows[places[i].load] = counts ? p->n_rows : NO_ROW;
            }
            p->n_rows += counts;
        }
    }
}

static cs_status make_rows(packing *p, cs_error *err)
{
    place *places = CS_NEW(place, p->n_loads);

    p->rows = CS_NEW(uint32_t, p->n_loads);
    if (places == NULL || p->rows == NULL) {
        cs_free(places);
        return CS_NO_MEMORY(err, "a packing of trees");
    }
    number_rows(p, places);
    cs_free(places);
    return CS_OK;
}

/* Programs. Column 0 is W, then x of the trees of the program. */

static double alphas_of(const packing *p, const candidate *c)
{
    return (double)p->q->bytes / (double)p->chunk_bytes * c->alpha_s / p->unit_s;
}

/* W and x_t of the trees that are mixed, or all. */
static void add_volumes(const packing *p, bool mixed, cs_lp *lp)
{
    uint32_t w = cs_lp_add_column(lp, 1, (double)INFINITY, false), all = p->n_rows;

    for (uint32_t i = 0; i < p->n_rows; i++) {
        cs_lp_add_term(lp, cs_lp_add_row(lp, -(double)INFINITY, 0), w, -1);
    }
    (void)cs_lp_add_row(lp, 1, 1);
    for (size_t t = 0; t < p->n; t++) {
        const candidate *c = &p->candidates[t];

        if (mixed && !c->is_mixed) {
            continue;
        }
        uint32_t x = cs_lp_add_column(lp, mixed ? 0 : c->fill_s / p->unit_s, 1, false);
        cs_lp_add_term(lp, all, x, 1);
        for (size_t i = c->first_load; i < c->first_load + c->n_loads; i++) {
            if (p->rows[i] != NO_ROW) {
                cs_lp_add_term(lp, p->rows[i], x, p->loads[i].busy_s / p->unit_s);
            }
        }
    }
}

/* z_t, A and F behind x_t. */
static void add_choice(const packing *p, cs_lp *lp)
{
    uint32_t n = (uint32_t)lp->n_columns - 1, x = 1, all = cs_lp_add_row(lp, 0, p->q->n_trees);
    uint32_t a = cs_lp_add_column(lp, 1, (double)INFINITY, false);
    uint32_t f = cs_lp_add_column(lp, 1, (double)INFINITY, false);

    for (size_t t = 0; t < p->n && x <= n; t++) {
        const candidate *c = &p->candidates[t];

        if (!c->is_mixed) {
            continue;
        }
        uint32_t z = cs_lp_add_column(lp, 0, 1, true);
        cs_lp_add_term(lp, all, z, 1);
        uint32_t row = cs_lp_add_row(lp, -(double)INFINITY, 0);
        cs_lp_add_term(lp, row, x, 1);
        cs_lp_add_term(lp, row, z, -1);
        row = cs_lp_add_row(lp, 0, (double)INFINITY);
        cs_lp_add_term(lp, row, a, 1);
        cs_lp_add_term(lp, row, x, -alphas_of(p, c));
        row = cs_lp_add_row(lp, 0, (double)INFINITY);
        cs_lp_add_term(lp, row, f, 1);
        cs_lp_add_term(lp, row, z, -c->fill_s / p->unit_s);
        x++;
    }
}

/* A solution: equal parts of the heuristic's trees, which stand first. */
static cs_status start_with(const packing *p, const cs_lp *lp, bool mixed, uint32_t n, double *x,
                            cs_error *err)
{
    uint32_t n_x    = 0;
    double   alphas = 0, fill = 0;
    double  *sums = CS_NEW(double, lp->n_rows);

    if (sums == NULL) {
        return CS_NO_MEMORY(err, "a packing of trees");
    }
    memset(x, 0, lp->n_columns * sizeof *x);
    for (size_t t = 0; t < p->n; t++) {
        n_x += !mixed || p->candidates[t].is_mixed;
    }
    for (uint32_t t = 0; t < n; t++) {
        x[1 + t] = 1.0 / n;
        alphas   = fmax(alphas, alphas_of(p, &p->candidates[t]) / n);
        fill     = fmax(fill, p->candidates[t].fill_s / p->unit_s);
        if (mixed) {
            x[3 + n_x + t] = 1;
        }
    }
    for (size_t i = 0; i < lp->n_terms; i++) {
        const cs_lp_term *term = &lp->terms[i];
        sums[term->row] += term->column > 0 ? term->factor * x[term->column] : 0;
    }
    for (uint32_t row = 0; row < p->n_rows; row++) {
        x[0] = fmax(x[0], sums[row]);
    }
    if (mixed) {
        x[1 + n_x] = alphas;
        x[2 + n_x] = fill;
    }
    cs_free(sums);
    return CS_OK;
}

/* Solve a program of all trees for W, or of those that are mixed. x_p: of the trees, in their
 * order, behind W; the caller frees it. */
static cs_status solve(const packing *p, bool mixed, uint32_t n_known, double seconds, double **x_p,
                       cs_lp_answer *answer, cs_synthesis_result *result, cs_error *err)
{
    const cs_lp_limits limits = {seconds, p->q->solver_nodes, GAP, MEMORY_MB};
    cs_lp              lp     = {0};
    cs_status          status = CS_ENOMEM;

    add_volumes(p, mixed, &lp);
    if (mixed) {
        add_choice(p, &lp);
    }
    *x_p = CS_NEW(double, lp.n_columns);
    if (*x_p == NULL || lp.lacks_memory) {
        status = CS_NO_MEMORY(err, "a packing of trees");
    } else {
        status = start_with(p, &lp, mixed, n_known, *x_p, err);
    }
    if (status == CS_OK) {
        status = cs_lp_solve(&lp, &limits, *x_p, answer, err);
    }
    result->n_rows    = (uint32_t)lp.n_rows;
    result->n_columns = (uint32_t)lp.n_columns;
    result->end       = answer->end;
    cs_lp_free(&lp);
    return status;
}

/* Which trees go into the second program, beside the heuristic's. */
static void mix(packing *p)
{
    size_t n = 0;

    for (size_t t = 0; t < p->n; t++) {
        p->candidates[t].is_mixed |= p->candidates[t].part > LEAST_PART;
        n += p->candidates[t].is_mixed;
    }
    for (size_t t = 0; t < p->n && n < MOST_MIXED; t++) {
        n += !p->candidates[t].is_mixed;
        p->candidates[t].is_mixed = true;
    }
}

/* The least A of any choice: one of at most M trees has 1 / M of the buffer. */
static double least_alphas(const packing *p)
{
    double alphas = (double)INFINITY;

    for (size_t t = 0; t < p->n; t++) {
        alphas = fmin(alphas, alphas_of(p, &p->candidates[t]) / p->q->n_trees);
    }
    return alphas;
}

/* Both programs: the parts of all candidates. */
static cs_status choose(packing *p, uint32_t n_known, cs_synthesis_result *result, cs_error *err)
{
    double      *x      = NULL;
    cs_lp_answer answer = {.end = CS_LP_SOLVED};
    cs_status    status = solve(p, false, n_known, p->q->solver_s, &x, &answer, result, err);

    for (size_t t = 0; t < p->n && status == CS_OK; t++) {
        p->candidates[t].part = x[1 + t];
    }
    cs_free(x);
    CS_TRY(status);
    double least        = answer.bound > 0 ? answer.bound + least_alphas(p) : 0;
    result->has_solver  = true;
    result->objective_s = (answer.objective + least_alphas(p)) * p->unit_s;
    if (p->q->n_trees < p->n && answer.seconds < p->q->solver_s) {
        bool   is_all = p->n <= MOST_MIXED;
        double left_s = p->q->solver_s - answer.seconds;

        mix(p);
        status = solve(p, true, n_known, left_s, &x, &answer, result, err);
        for (size_t t = 0, k = 1; t < p->n && status == CS_OK; t++) {
            p->candidates[t].part = p->candidates[t].is_mixed ? x[k++] : 0;
        }
        cs_free(x);
        CS_TRY(status);
        least               = is_all && answer.bound > least ? answer.bound : least;
        result->objective_s = answer.objective * p->unit_s;
    }
    result->bound_s = least * p->unit_s;
    return CS_OK;
}

/* The trees with their parts. Bytes that rounding leaves go to the first tree. */
static cs_status build(const packing *p, cs_strategy *strategy, cs_error *err)
{
    uint32_t n = 0, m = 0;
    double   sum  = 0;
    uint64_t left = p->q->bytes;

    for (size_t t = 0; t < p->n; t++) {
        n += p->candidates[t].part > LEAST_PART && n < p->q->n_trees;
    }
    CS_TRY(cs_strategy_make(strategy, p->q->logical->n_ranks, n, err));
    for (size_t t = 0; t < p->n; t++) {
        sum += p->candidates[t].part > LEAST_PART ? p->candidates[t].part : 0;
    }
    for (size_t t = 0; t < p->n && m < n; t++) {
        const candidate *c = &p->candidates[t];

        if (c->part > LEAST_PART) {
            cs_strategy_tree *tree = &strategy->trees[m++];
            uint64_t          size = (uint64_t)(c->part / sum * (double)p->q->bytes);

            tree->size_bytes  = size < left ? size : left;
            tree->chunk_bytes = 1;
            left -= tree->size_bytes;
            memcpy(tree->parent, parents_of(p, t), p->q->logical->n_ranks * sizeof *tree->parent);
        }
    }
    strategy->trees[0].size_bytes += left;
    return cs_strategy_check(strategy, err);
}

static cs_status pack(packing *p, const cs_strategy *known, cs_strategy *strategy,
                      cs_synthesis_result *result, cs_error *err)
{
    const cs_synthesis *q = p->q;

    CS_TRY(cs_planner_open(&p->planner, q->logical, q->collective, q->root, CS_PLAN_BY_RATE, err));
    CS_TRY(cs_strategy_make(&p->trial, q->logical->n_ranks, 1, err));
    CS_TRY(cs_cost_open(q->logical, q->n_trees, &p->cost, err));
    CS_TRY(cs_strategy_bound(q->logical, q->collective, q->bytes, q->root, &p->unit_s, err));
    p->trial.n_members = q->logical->n_ranks;
    p->chunk_bytes     = known->trees[0].chunk_bytes;
    p->plan            = CS_NEW(uint32_t, q->logical->n_servers);
    if (p->plan == NULL) {
        return CS_NO_MEMORY(err, "a packing of trees");
    }
    CS_TRY(add_candidates(p, known, err));
    uint32_t n_known = 0;
    while (n_known < p->n && p->candidates[n_known].is_mixed) {
        n_known++;
    }
    CS_TRY(make_rows(p, err));
    CS_TRY(choose(p, n_known, result, err));
    CS_TRY(build(p, strategy, err));
    result->cost_s = cs_synthesize_chunk(q, p->cost, strategy);
    return CS_OK;
}

cs_status cs_synthesize_packing(const cs_synthesis *request, const cs_strategy *known,
                                cs_strategy *strategy, cs_synthesis_result *result, cs_error *err)
{
    packing   p = {.q = request};
    cs_status status =
        request->logical->n_ranks > 1 ? pack(&p, known, strategy, result, err) : CS_OK;

    cs_planner_close(&p.planner);
    cs_cost_close(p.cost);
    cs_strategy_free(&p.trial);
    cs_free(p.parents);
    cs_free(p.candidates);
    cs_free(p.loads);
    cs_free(p.rows);
    cs_free(p.plan);
    return status;
}
