/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trees over servers as an integer program: M trees, equal parts, chunks that are given.
 *
 *   y[m,i,j], 0 or 1   server j is the parent of server i in tree m
 *   r[m,i], 0 or 1     server i is the root
 *   h[m,i] >= 0        how long a first chunk takes from the leaves below i to i, and (allreduce)
 *                      back; or to them (broadcast)
 *
 *   minimise T, where
 *     sum_i r[m,i] = 1, r[m,i] + sum_j y[m,i,j] = 1
 *     W >= S / M / B of the edges of all trees that pass a NIC out, and the same in
 *     h[m,j] >= h[m,i] + hop[m,i,j] - H (1 - y[m,i,j])      so that there is no circle, too
 *     T >= W + h[m,i]
 *
 * H is what a chain of all servers takes at most. Where all servers have one NIC, trees may change
 * places, and stand in the order of their roots. The alphas of chunks behind the first one are the
 * same for all trees, and left out. GPUs hang below leaders as stars.
 *
 * Source: the project's (sim/doc/adapcc.md), after X. Zhao et al., "AdapCC", section IV-C.
 */
#include "algorithms/adapcc/synthesize.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

enum { MOST_BINARIES = 1 << 14, MEMORY_MB = 2048 };
#define GAP .005

typedef struct milp {
    const cs_synthesis *q;
    cs_planner          planner;
    cs_cost            *cost;
    cs_lp               lp;
    uint32_t            n, n_trees;
    uint32_t            y, r, h, t, w; /* first columns */
    uint64_t            chunk_bytes;
    double              unit_s, longest; /* H, in units */
    uint32_t           *plans;           /* [trees][servers] */
    uint32_t           *sorted;          /* [trees] by root, at work */
    double             *x;               /* [columns] */
} milp;

static uint32_t y_of(const milp *p, uint32_t m, uint32_t i, uint32_t j)
{
    return p->y + (m * p->n + i) * p->n + j; /* y[m,i,i] is 0 */
}

static uint32_t at(uint32_t first, const milp *p, uint32_t m, uint32_t i)
{
    return first + m * p->n + i;
}

static uint32_t *plan_of(const milp *p, uint32_t m)
{
    return p->plans + (size_t)m * p->n;
}

static bool goes_up(const milp *p)
{
    return p->q->collective != CS_BROADCAST;
}

static bool goes_down(const milp *p)
{
    return p->q->collective != CS_REDUCE;
}

/* A chunk between the leaders of a child and its parent: up, down, or one behind the other. */
static double hop(const milp *p, uint32_t m, uint32_t child, uint32_t parent)
{
    uint32_t              from = cs_planner_leader(&p->planner, child, m);
    uint32_t              to   = cs_planner_leader(&p->planner, parent, m);
    const cs_logical_edge up   = cs_logical_edge_of(p->q->logical, from, to);
    const cs_logical_edge down = cs_logical_edge_of(p->q->logical, to, from);
    double                s    = 0;

    if (goes_up(p)) {
        s += up.alpha_s + (double)p->chunk_bytes / up.bandwidth_Bps;
    }
    if (goes_down(p)) {
        s += down.alpha_s + (double)p->chunk_bytes / down.bandwidth_Bps;
    }
    return s / p->unit_s;
}

static void add_columns(milp *p)
{
    uint32_t nodes = p->n_trees * p->n;

    p->y = (uint32_t)p->lp.n_columns;
    for (uint32_t k = 0; k < nodes; k++) {
        for (uint32_t j = 0; j < p->n; j++) {
            bool is_itself = k % p->n == j;
            (void)cs_lp_add_column(&p->lp, 0, is_itself ? 0 : 1, !is_itself);
        }
    }
    p->r = (uint32_t)p->lp.n_columns;
    for (uint32_t k = 0; k < nodes; k++) {
        (void)cs_lp_add_column(&p->lp, 0, 1, true);
    }
    p->h = (uint32_t)p->lp.n_columns;
    for (uint32_t k = 0; k < nodes; k++) {
        (void)cs_lp_add_column(&p->lp, 0, (double)INFINITY, false);
    }
    p->w = cs_lp_add_column(&p->lp, 0, (double)INFINITY, false);
    p->t = cs_lp_add_column(&p->lp, 1, (double)INFINITY, false);
}

/* One root, a parent for all others, and a root that is given. */
static void add_trees(milp *p)
{
    uint32_t root = p->q->root;

    for (uint32_t m = 0; m < p->n_trees; m++) {
        uint32_t one = cs_lp_add_row(&p->lp, 1, 1);

        for (uint32_t i = 0; i < p->n; i++) {
            uint32_t row = cs_lp_add_row(&p->lp, 1, 1);

            cs_lp_add_term(&p->lp, one, at(p->r, p, m, i), 1);
            cs_lp_add_term(&p->lp, row, at(p->r, p, m, i), 1);
            for (uint32_t j = 0; j < p->n; j++) {
                if (i != j) {
                    cs_lp_add_term(&p->lp, row, y_of(p, m, i, j), 1);
                }
            }
        }
        if (root != CS_ANY_ROOT) {
            uint32_t row = cs_lp_add_row(&p->lp, 1, 1);
            cs_lp_add_term(&p->lp, row, at(p->r, p, m, p->q->logical->server_of[root]), 1);
        }
    }
}

/* What passes a NIC, out or in: edges of the trees whose leader is near it. */
static void add_nic(milp *p, uint32_t nic, bool is_out)
{
    const cs_logical_nic *x        = &p->q->logical->nics[nic];
    double                rate_Bps = is_out ? x->egress_Bps : x->ingress_Bps;
    double                each     = (double)p->q->bytes / p->n_trees / rate_Bps / p->unit_s;
    uint32_t              row = cs_lp_add_row(&p->lp, -(double)INFINITY, 0), i = x->server;
    bool                  as_child  = is_out ? goes_up(p) : goes_down(p);
    bool                  as_parent = is_out ? goes_down(p) : goes_up(p);

    cs_lp_add_term(&p->lp, row, p->w, -1);
    for (uint32_t m = 0; m < p->n_trees; m++) {
        if (p->q->logical->nic_of[cs_planner_leader(&p->planner, i, m)] != nic) {
            continue;
        }
        for (uint32_t j = 0; j < p->n; j++) {
            if (i != j && as_child) {
                cs_lp_add_term(&p->lp, row, y_of(p, m, i, j), each);
            }
            if (i != j && as_parent) {
                cs_lp_add_term(&p->lp, row, y_of(p, m, j, i), each);
            }
        }
    }
}

static void add_times(milp *p)
{
    double most = 0;

    for (uint32_t m = 0; m < p->n_trees; m++) {
        for (uint32_t i = 0; i < p->n; i++) {
            for (uint32_t j = 0; j < p->n; j++) {
                most = i != j ? fmax(most, hop(p, m, i, j)) : most;
            }
        }
    }
    p->longest = p->n * most;
    for (uint32_t m = 0; m < p->n_trees; m++) {
        for (uint32_t i = 0; i < p->n; i++) {
            for (uint32_t j = 0; j < p->n; j++) {
                if (i != j) {
                    uint32_t row = cs_lp_add_row(&p->lp, -p->longest, (double)INFINITY);
                    cs_lp_add_term(&p->lp, row, at(p->h, p, m, j), 1);
                    cs_lp_add_term(&p->lp, row, at(p->h, p, m, i), -1);
                    cs_lp_add_term(&p->lp, row, y_of(p, m, i, j), -p->longest - hop(p, m, i, j));
                }
            }
        }
        for (uint32_t i = 0; i < p->n; i++) {
            uint32_t row = cs_lp_add_row(&p->lp, 0, (double)INFINITY);
            cs_lp_add_term(&p->lp, row, p->t, 1);
            cs_lp_add_term(&p->lp, row, p->w, -1);
            cs_lp_add_term(&p->lp, row, at(p->h, p, m, i), -1);
        }
    }
}

/* May trees change places? */
static bool are_alike(const milp *p)
{
    return p->q->logical->n_nics == p->n && p->q->root == CS_ANY_ROOT;
}

static void add_order(milp *p)
{
    for (uint32_t m = 0; m + 1 < p->n_trees && are_alike(p); m++) {
        uint32_t row = cs_lp_add_row(&p->lp, -(double)INFINITY, 0);

        for (uint32_t i = 1; i < p->n; i++) {
            cs_lp_add_term(&p->lp, row, at(p->r, p, m, i), i);
            cs_lp_add_term(&p->lp, row, at(p->r, p, m + 1, i), -(double)i);
        }
    }
}

/* The plans of a strategy's trees, which may be fewer, in the order of their roots where they may
 * change places. */
static void read_plans(milp *p, const cs_strategy *known)
{
    const uint32_t *server_of = p->q->logical->server_of;
    uint32_t        k         = 0;

    for (uint32_t root = 0; root < p->n; root++) {
        for (uint32_t m = 0; m < p->n_trees && are_alike(p); m++) {
            if (server_of[cs_tree_root(&known->trees[m % known->n_trees])] == root) {
                p->sorted[k++] = m;
            }
        }
    }
    for (uint32_t m = 0; m < p->n_trees; m++) {
        uint32_t        of     = are_alike(p) ? p->sorted[m] : m;
        const uint32_t *parent = known->trees[of % known->n_trees].parent;
        uint32_t       *plan   = plan_of(p, m);

        for (uint32_t i = 0; i < p->n; i++) {
            plan[i] = CS_TREE_ROOT;
        }
        for (uint32_t g = 0; g < p->q->logical->n_ranks; g++) {
            if (parent[g] != CS_TREE_ROOT && server_of[parent[g]] != server_of[g]) {
                plan[server_of[g]] = server_of[parent[g]];
            }
        }
    }
}

/* h of a tree whose y are set: as many rounds as it is deep. */
static double set_heights(milp *p, uint32_t m)
{
    const uint32_t *plan = plan_of(p, m);
    double          most = 0;

    for (bool grows = true; grows;) {
        grows = false;
        for (uint32_t i = 0; i < p->n; i++) {
            if (plan[i] != CS_TREE_ROOT) {
                double *above = &p->x[at(p->h, p, m, plan[i])];
                double  there = p->x[at(p->h, p, m, i)] + hop(p, m, i, plan[i]);

                grows  = grows || there > *above;
                *above = fmax(*above, there);
                most   = fmax(most, *above);
            }
        }
    }
    return most;
}

/* The solution that is known; `sums` [rows] is at work. */
static void set_start(milp *p, double *sums)
{
    double deepest = 0;

    for (uint32_t m = 0; m < p->n_trees; m++) {
        const uint32_t *plan = plan_of(p, m);

        for (uint32_t i = 0; i < p->n; i++) {
            if (plan[i] == CS_TREE_ROOT) {
                p->x[at(p->r, p, m, i)] = 1;
            } else {
                p->x[y_of(p, m, i, plan[i])] = 1;
            }
        }
        deepest = fmax(deepest, set_heights(p, m));
    }
    for (size_t i = 0; i < p->lp.n_terms; i++) {
        const cs_lp_term *term = &p->lp.terms[i];
        sums[term->row] += term->column < p->h ? term->factor * p->x[term->column] : 0;
    }
    for (size_t i = 0; i < p->lp.n_terms; i++) {
        const cs_lp_term *term = &p->lp.terms[i];
        if (term->column == p->w && term->factor <= -1 && p->lp.rows[term->row].high <= 0) {
            p->x[p->w] = fmax(p->x[p->w], sums[term->row]);
        }
    }
    p->x[p->t] = p->x[p->w] + deepest;
}

static void take_plans(milp *p)
{
    for (uint32_t m = 0; m < p->n_trees; m++) {
        for (uint32_t i = 0; i < p->n; i++) {
            uint32_t *above = &plan_of(p, m)[i];

            *above = CS_TREE_ROOT;
            for (uint32_t j = 0; j < p->n; j++) {
                *above = i != j && p->x[y_of(p, m, i, j)] > .5 ? j : *above;
            }
        }
    }
}

static cs_status solve(milp *p, cs_synthesis_result *result, cs_error *err)
{
    const cs_lp_limits limits = {p->q->solver_s, p->q->solver_nodes, GAP, MEMORY_MB};
    cs_lp_answer       answer = {.end = CS_LP_SOLVED};
    double            *sums   = CS_NEW(double, p->lp.n_rows);

    p->x = CS_NEW(double, p->lp.n_columns);
    if (p->x == NULL || sums == NULL || p->lp.lacks_memory) {
        cs_free(sums);
        return CS_NO_MEMORY(err, "an integer program of trees");
    }
    set_start(p, sums);
    cs_free(sums);
    CS_TRY(cs_lp_solve(&p->lp, &limits, p->x, &answer, err));
    result->has_solver  = true;
    result->end         = answer.end;
    result->objective_s = answer.objective * p->unit_s;
    result->bound_s     = answer.bound * p->unit_s;
    result->n_rows      = (uint32_t)p->lp.n_rows;
    result->n_columns   = (uint32_t)p->lp.n_columns;
    take_plans(p);
    return CS_OK;
}

static cs_status make(milp *p, const cs_strategy *known, cs_strategy *strategy,
                      cs_synthesis_result *result, cs_error *err)
{
    const cs_synthesis *q = p->q;

    CS_TRY(cs_planner_open(&p->planner, q->logical, q->collective, q->root, CS_PLAN_BY_RATE, err));
    CS_TRY(cs_cost_open(q->logical, p->n_trees, &p->cost, err));
    CS_TRY(cs_strategy_bound(q->logical, q->collective, q->bytes, q->root, &p->unit_s, err));
    p->chunk_bytes = known->trees[0].chunk_bytes;
    p->plans       = CS_NEW(uint32_t, (size_t)p->n_trees * p->n);
    p->sorted      = CS_NEW(uint32_t, p->n_trees);
    if (p->plans == NULL || p->sorted == NULL) {
        return CS_NO_MEMORY(err, "an integer program of trees");
    }
    add_columns(p);
    add_trees(p);
    for (uint32_t nic = 0; nic < q->logical->n_nics; nic++) {
        add_nic(p, nic, true);
        add_nic(p, nic, false);
    }
    add_times(p);
    add_order(p);
    read_plans(p, known);
    CS_TRY(solve(p, result, err));
    CS_TRY(cs_strategy_make(strategy, q->logical->n_ranks, p->n_trees, err));
    strategy->n_members = q->logical->n_ranks;
    for (uint32_t m = 0; m < p->n_trees; m++) {
        if (!cs_planner_plant(&p->planner, plan_of(p, m), m, false, strategy, m)) {
            return CS_FAIL(err, CS_EINTERNAL, "solver", "GLPK's solution is no tree");
        }
    }
    cs_strategy_set_sizes(strategy, q->bytes, p->chunk_bytes);
    result->cost_s = cs_synthesize_chunk(q, p->cost, strategy);
    return CS_OK;
}

cs_status cs_synthesize_refuse_milp(const cs_synthesis *q, cs_error *err)
{
    uint64_t binaries = (uint64_t)q->n_trees * q->logical->n_servers * q->logical->n_servers;

    return binaries <= MOST_BINARIES
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "synthesizer",
                         "milp for %u trees over %u servers has %llu variables that are 0 or 1, "
                         "accepted are %d: packing and heuristic take more",
                         q->n_trees, q->logical->n_servers, (unsigned long long)binaries,
                         MOST_BINARIES);
}

cs_status cs_synthesize_milp(const cs_synthesis *request, const cs_strategy *known,
                             cs_strategy *strategy, cs_synthesis_result *result, cs_error *err)
{
    milp p = {.q = request, .n = request->logical->n_servers, .n_trees = request->n_trees};

    cs_status status = p.n > 1 ? make(&p, known, strategy, result, err) : CS_OK;

    cs_planner_close(&p.planner);
    cs_cost_close(p.cost);
    cs_lp_free(&p.lp);
    cs_free(p.plans);
    cs_free(p.sorted);
    cs_free(p.x);
    return status;
}
