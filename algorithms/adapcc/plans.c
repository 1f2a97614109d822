/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans of a dozen families, and trees of plans.
 *
 * BALANCED deals edges to servers as work to machines: the next one goes to the server whose ports
 * are then busy for the shortest time with all that they have, over all plans so far. Servers with
 * many children stand near the root, and of those without children slow ones do.
 */
#include "algorithms/adapcc/plans.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BALANCED = 4096 }; /* servers */

typedef struct ranked {
    double   weight;
    uint32_t server;
} ranked;

uint32_t cs_planner_leader(const cs_planner *planner, uint32_t server, uint32_t m)
{
    const cs_logical_server *v = &planner->logical->servers[server];

    bool is_above =
        planner->root != CS_ANY_ROOT && planner->logical->server_of[planner->root] == server;

    if (is_above && (planner->order == CS_PLAN_BY_CODE || v->n_nics == 1)) {
        return planner->root;
    }
    if (planner->order == CS_PLAN_BY_CODE) {
        return v->first_rank;
    }
    return planner->turns[v->first_rank + m % v->n_gpus];
}

/* Let the GPUs of a server take turns: one near each NIC, then the next one near each. */
static void take_turns(cs_planner *p, uint32_t server)
{
    const cs_logical_server *v    = &p->logical->servers[server];
    uint32_t                *turn = p->turns + v->first_rank;
    uint32_t                 n    = 0;

    for (uint32_t round = 0; n < v->n_gpus; round++) {
        for (uint32_t nic = v->first_nic; nic < v->first_nic + v->n_nics; nic++) {
            uint32_t before = 0;
            for (uint32_t g = v->first_rank; g < v->first_rank + v->n_gpus; g++) {
                if (p->logical->nic_of[g] == nic && before++ == round) {
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

/* What the NICs of a server send and receive. */
static void add_rates(cs_planner *p, uint32_t server)
{
    const cs_logical        *l = p->logical;
    const cs_logical_server *v = &l->servers[server];

    for (uint32_t i = v->first_nic; i < v->first_nic + v->n_nics; i++) {
        p->out_Bps[server] += l->nics[i].egress_Bps;
        p->in_Bps[server] += l->nics[i].ingress_Bps;
    }
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

static cs_status rank_servers(cs_planner *p, cs_error *err)
{
    const cs_logical *l    = p->logical;
    ranked           *list = CS_NEW(ranked, l->n_servers);

    if (list == NULL) {
        return CS_NO_MEMORY(err, "trees");
    }
    for (uint32_t i = 0; i < l->n_servers; i++) {
        double rate = p->out_Bps[i] < p->in_Bps[i] ? p->out_Bps[i] : p->in_Bps[i];
        list[i]     = (ranked){p->order == CS_PLAN_BY_CODE ? key_of(l, i) : rate, i};
    }
    qsort(list, l->n_servers, sizeof *list, by_weight);
    for (uint32_t i = 0; i < l->n_servers; i++) {
        p->ranked[i] = list[i].server;
        p->n_fast += list[i].weight >= .99 * list[0].weight;
    }
    cs_free(list);
    return CS_OK;
}

cs_status cs_planner_open(cs_planner *planner, const cs_logical *logical, cs_collective collective,
                          uint32_t root, cs_plan_order order, cs_error *err)
{
    cs_planner *p = planner;
    uint32_t    n = logical->n_servers;

    *p = (cs_planner){.logical    = logical,
                      .collective = collective,
                      .root       = root,
                      .order      = order,
                      .ranked     = CS_NEW(uint32_t, n),
                      .list       = CS_NEW(uint32_t, n),
                      .slow       = CS_NEW(uint32_t, n),
                      .turns      = CS_NEW(uint32_t, logical->n_ranks),
                      .out_Bps    = CS_NEW(double, n),
                      .in_Bps     = CS_NEW(double, n),
                      .out        = CS_NEW(double, n),
                      .in         = CS_NEW(double, n)};
    if (p->ranked == NULL || p->list == NULL || p->slow == NULL || p->turns == NULL ||
        p->out_Bps == NULL || p->in_Bps == NULL || p->out == NULL || p->in == NULL) {
        return CS_NO_MEMORY(err, "trees");
    }
    for (uint32_t i = 0; i < n; i++) {
        take_turns(p, i);
        add_rates(p, i);
    }
    return rank_servers(p, err);
}

void cs_planner_close(cs_planner *planner)
{
    cs_free(planner->ranked);
    cs_free(planner->list);
    cs_free(planner->slow);
    cs_free(planner->turns);
    cs_free(planner->out_Bps);
    cs_free(planner->in_Bps);
    cs_free(planner->out);
    cs_free(planner->in);
    *planner = (cs_planner){0};
}

/* Families. */

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
static void hang_slow(uint32_t *plan, const cs_planner *p, uint32_t first)
{
    for (uint32_t i = 0; i < p->logical->n_servers - p->n_fast; i++) {
        plan[p->slow[i]] = p->list[(first + i) % p->n_fast];
    }
}

/* A slow server with the chain of the fast ones, at whose end the other slow ones are leaves. */
static void plan_slow_root(uint32_t *plan, const cs_planner *p)
{
    uint32_t above = p->slow[0], last = p->n_fast - 1;

    plan[above] = CS_TREE_ROOT;
    for (uint32_t i = 0; i < p->n_fast; i++) {
        plan[p->list[i]] = above;
        above            = p->list[i];
    }
    for (uint32_t i = 1; i < p->logical->n_servers - p->n_fast; i++) {
        plan[p->slow[i]] = p->list[last];
        last             = last > 0 ? last - 1 : p->n_fast - 1;
    }
}

/* A slow server with one child, below which fast ones have two each: slow ones first, as leaves. */
static void plan_slow_root_heap(uint32_t *plan, const cs_planner *p)
{
    uint32_t n_slow = p->logical->n_servers - p->n_fast, next_slow = 1, next_fast = 1;

    plan[p->slow[0]] = CS_TREE_ROOT;
    plan[p->list[0]] = p->slow[0];
    for (uint32_t i = 0; next_fast < p->n_fast || next_slow < n_slow;
         i          = i + 1 < p->n_fast ? i + 1 : 0) {
        for (uint32_t child = 0; child < 2; child++) {
            bool takes_slow = next_slow < n_slow && (child == 0 || next_fast == p->n_fast);

            if (takes_slow) {
                plan[p->slow[next_slow++]] = p->list[i];
            } else if (next_fast < p->n_fast) {
                plan[p->list[next_fast++]] = p->list[i];
            }
        }
    }
}

static void plan_alike(cs_planner *p, cs_plan_family f, uint32_t m, uint32_t n_plans,
                       uint32_t *plan)
{
    uint32_t n = p->logical->n_servers, step = n / n_plans > 0 ? n / n_plans : 1;

    rotate(p->list, p->ranked, n, f == CS_PLAN_HEAPS_2_NEXT ? m : m * step);
    if (f == CS_PLAN_TWO_CHAINS) {
        plan_two_chains(plan, p->list, n);
    } else {
        plan_heap(plan, p->list, n,
                  f == CS_PLAN_CHAINS    ? 1
                  : f == CS_PLAN_HEAPS_3 ? 3
                  : f == CS_PLAN_STARS   ? n
                                         : 2);
    }
}

static void plan_mixed(cs_planner *p, cs_plan_family f, uint32_t m, uint32_t n_plans,
                       uint32_t *plan)
{
    uint32_t n = p->logical->n_servers, n_slow = n - p->n_fast;
    uint32_t step      = p->n_fast / n_plans > 0 ? p->n_fast / n_plans : 1;
    bool     is_spread = f >= CS_PLAN_FAST_CHAINS;
    bool     in_turn   = f == CS_PLAN_SLOW_ROOT_OR_LEAF || f == CS_PLAN_SLOW_HEAPS;

    rotate(p->list, p->ranked, p->n_fast, is_spread ? m * step : m);
    rotate(p->slow, p->ranked + p->n_fast, n_slow, in_turn && m % 2 == 0 ? m / 2 : m);
    if (f == CS_PLAN_SLOW_FIRST_CHAINS) { /* the other slow servers at the end of the chain */
        memmove(p->list + 1, p->list, p->n_fast * sizeof *p->list);
        memcpy(p->list + 1 + p->n_fast, p->slow + 1, (n_slow - 1) * sizeof *p->list);
        p->list[0] = p->slow[0];
        plan_heap(plan, p->list, n, 1);
    } else if (f == CS_PLAN_SLOW_ROOT_HEAPS || (f == CS_PLAN_SLOW_HEAPS && m % 2 == 0)) {
        plan_slow_root_heap(plan, p);
    } else if (f == CS_PLAN_SLOW_ROOTS || (in_turn && m % 2 == 0)) {
        plan_slow_root(plan, p);
    } else if (f == CS_PLAN_FAST_TWO_CHAINS) {
        plan_two_chains(plan, p->list, p->n_fast);
        hang_slow(plan, p, 1);
    } else {
        plan_heap(plan, p->list, p->n_fast, f == CS_PLAN_FAST_CHAINS ? 1 : 2);
        hang_slow(plan, p, 0);
    }
}

/* BALANCED. */

/* How long a server's ports are busy with more buffers than they have. */
static double busy_s(const cs_planner *p, uint32_t server, double more_out, double more_in)
{
    double out_s = (p->out[server] + more_out) / p->out_Bps[server];
    double in_s  = (p->in[server] + more_in) / p->in_Bps[server];

    return out_s > in_s ? out_s : in_s;
}

/* The root of the next plan: whoever would be busy the longest as a child. */
static uint32_t balanced_root(const cs_planner *p, double child_out, double child_in)
{
    uint32_t best   = 0;
    double   best_s = -1;

    if (p->root != CS_ANY_ROOT) {
        return p->logical->server_of[p->root];
    }
    for (uint32_t i = 0; i < p->logical->n_servers; i++) {
        double as_child_s = busy_s(p, i, child_out, child_in);
        double as_root_s  = busy_s(p, i, child_in, child_out);

        if (as_child_s - as_root_s > best_s) {
            best_s = as_child_s - as_root_s;
            best   = i;
        }
    }
    return best;
}

/* Deal children to servers; children[] is how many each has. */
static void deal_children(cs_planner *p, uint32_t root, double child_out, double child_in,
                          uint32_t *children)
{
    uint32_t n = p->logical->n_servers;

    for (uint32_t i = 0; i < n; i++) {
        children[i] = i == root && n > 1;
        p->out[i] += i == root ? child_in : child_out;
        p->in[i] += i == root ? child_out : child_in;
    }
    for (uint32_t k = 2; k < n; k++) {
        uint32_t best   = 0;
        double   best_s = 0;

        for (uint32_t i = 0; i < n; i++) {
            uint32_t at     = p->ranked[i];
            double   then_s = busy_s(p, at, child_in, child_out);

            if (i == 0 || then_s < best_s) {
                best_s = then_s;
                best   = at;
            }
        }
        children[best]++;
        p->out[best] += child_in;
        p->in[best] += child_out;
    }
}

/* Servers in the order of their children, the slowest ones first among those that have none;
 * each takes the next ones behind it. */
static void plan_children(cs_planner *p, uint32_t root, const uint32_t *children, uint32_t *plan)
{
    uint32_t n = p->logical->n_servers, known = 0, most = 0;

    p->list[known++] = root;
    for (uint32_t i = 0; i < n; i++) {
        most = children[i] > most ? children[i] : most;
    }
    for (uint32_t k = most; k > 0; k--) {
        for (uint32_t i = 0; i < n; i++) {
            if (children[p->ranked[i]] == k && p->ranked[i] != root) {
                p->list[known++] = p->ranked[i];
            }
        }
    }
    for (uint32_t i = n; i-- > 0;) {
        if (children[p->ranked[i]] == 0 && p->ranked[i] != root) {
            p->list[known++] = p->ranked[i];
        }
    }
    plan[root] = CS_TREE_ROOT;
    for (uint32_t i = 0, next = 1; i < n; i++) {
        for (uint32_t k = 0; k < children[p->list[i]]; k++) {
            plan[p->list[next++]] = p->list[i];
        }
    }
}

static void plan_balanced(cs_planner *p, uint32_t m, uint32_t *plan)
{
    uint32_t n        = p->logical->n_servers;
    double   child_in = p->collective != CS_REDUCE, child_out = p->collective != CS_BROADCAST;

    if (m == 0) {
        memset(p->out, 0, n * sizeof *p->out);
        memset(p->in, 0, n * sizeof *p->in);
    }
    uint32_t root = balanced_root(p, child_out, child_in);
    deal_children(p, root, child_out, child_in, p->slow);
    if (p->collective == CS_ALLREDUCE && p->root == CS_ANY_ROOT && n > 1) {
        uint32_t heart = root; /* any server with an edge may be above it */

        for (uint32_t i = 0; i < n; i++) {
            heart = p->slow[i] + (i != root) > p->slow[heart] + (heart != root) ? i : heart;
        }
        if (heart != root) {
            p->slow[root]--;
            p->slow[heart]++;
            root = heart;
        }
    }
    plan_children(p, root, p->slow, plan);
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

static void put_root(const cs_planner *p, uint32_t *plan)
{
    uint32_t root = 0;

    while (plan[root] != CS_TREE_ROOT) {
        root++;
    }
    if (p->root != CS_ANY_ROOT && p->logical->server_of[p->root] != root) {
        swap_servers(plan, p->logical->n_servers, root, p->logical->server_of[p->root]);
    }
}

void cs_planner_plan(cs_planner *planner, cs_plan_family family, uint32_t m, uint32_t n_plans,
                     uint32_t *plan)
{
    if (family == CS_PLAN_BALANCED && planner->logical->n_servers <= MOST_BALANCED) {
        plan_balanced(planner, m, plan);
    } else if (family < CS_PLAN_ALIKE_FAMILIES) {
        plan_alike(planner, family, m, n_plans, plan);
    } else {
        plan_mixed(planner, family, m, n_plans, plan);
    }
    put_root(planner, plan);
}

void cs_planner_plan_code(cs_planner *planner, uint32_t m, uint32_t *plan)
{
    rotate(planner->list, planner->ranked, planner->logical->n_servers, m);
    plan_heap(plan, planner->list, planner->logical->n_servers, 2);
    put_root(planner, plan);
}

void cs_planner_move(const cs_planner *planner, uint32_t *plan, gsl_rng *random)
{
    uint32_t n = planner->logical->n_servers, a = (uint32_t)gsl_rng_uniform_int(random, n);
    uint32_t b = (a + 1 + (uint32_t)gsl_rng_uniform_int(random, n - 1)) % n;

    if (gsl_rng_uniform_int(random, 2) == 0 && plan[a] != CS_TREE_ROOT) {
        plan[a] = b;
    } else {
        swap_servers(plan, n, a, b);
        put_root(planner, plan);
    }
}

bool cs_planner_plant(const cs_planner *planner, const uint32_t *plan, uint32_t m, bool chains,
                      cs_strategy *strategy, uint32_t tree)
{
    uint32_t *parent = strategy->trees[tree].parent, root = planner->root;

    for (uint32_t v = 0; v < planner->logical->n_servers; v++) {
        const cs_logical_server *at     = &planner->logical->servers[v];
        uint32_t                 leader = cs_planner_leader(planner, v, m), head = leader;

        parent[leader] =
            plan[v] == CS_TREE_ROOT ? CS_TREE_ROOT : cs_planner_leader(planner, plan[v], m);
        if (plan[v] == CS_TREE_ROOT && root != CS_ANY_ROOT && leader != root) {
            head           = root; /* the leader is there for its NIC alone */
            parent[leader] = head;
            parent[head]   = CS_TREE_ROOT;
        }
        uint32_t above = head;
        for (uint32_t g = at->first_rank; g < at->first_rank + at->n_gpus; g++) {
            if (g != leader && g != head) {
                parent[g] = above;
                above     = chains ? g : head;
            }
        }
    }
    return cs_strategy_sort(strategy, tree);
}
