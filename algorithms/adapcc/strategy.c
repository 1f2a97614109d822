/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logical topologies made from kinds of servers or from a scenario's cluster; trees checked and
 * brought into the order of their levels. */
#include "algorithms/adapcc/strategy.h"

#include "cs/algorithm.h"
#include "cs/model.h"
#include "cs/topology.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NO_RANK UINT32_MAX

/* Logical topologies. */

/* Room for all that is counted by n_ranks, n_servers and n_nics. */
static cs_status make_room(cs_logical *l, cs_error *err)
{
    l->servers   = CS_ARENA_NEW(&l->arena, cs_logical_server, l->n_servers);
    l->nics      = CS_ARENA_NEW(&l->arena, cs_logical_nic, l->n_nics);
    l->server_of = CS_ARENA_NEW(&l->arena, uint32_t, l->n_ranks);
    l->nic_of    = CS_ARENA_NEW(&l->arena, uint32_t, l->n_ranks);
    if (l->servers == NULL || l->nics == NULL || l->server_of == NULL || l->nic_of == NULL) {
        return CS_NO_MEMORY(err, "a logical topology");
    }
    return CS_OK;
}

/* "10.0.0.1" for server 0, and so on. */
static cs_status name_server(cs_logical *l, uint32_t server, cs_error *err)
{
    char     ip[24];
    uint32_t host = server + 1;

    snprintf(ip, sizeof ip, "10.%u.%u.%u", host >> 16 & 255u, host >> 8 & 255u, host & 255u);
    l->servers[server].ip = cs_arena_strdup(&l->arena, ip);
    return l->servers[server].ip != NULL ? CS_OK : CS_NO_MEMORY(err, "a logical topology");
}

static void place_gpus(cs_logical *l, uint32_t server)
{
    const cs_logical_server *s = &l->servers[server];

    for (uint32_t i = 0; i < s->n_gpus; i++) {
        l->server_of[s->first_rank + i] = server;
        l->nic_of[s->first_rank + i] =
            s->first_nic + (uint32_t)((uint64_t)i * s->n_nics / s->n_gpus);
    }
}

static cs_status check_kind(const cs_logical_kind *kind, cs_error *err)
{
    if (kind->count < 1 || kind->n_gpus < 1 || kind->n_nics < 1 || kind->n_nics > kind->n_gpus) {
        return CS_FAIL(err, CS_EINVAL, "cluster.servers",
                       "%u servers of %u GPUs and %u NICs: accepted are 1 or more of each, and as "
                       "many NICs as GPUs at most",
                       kind->count, kind->n_gpus, kind->n_nics);
    }
    return CS_OK;
}

/* How many servers, NICs and ranks there are. */
static cs_status count_kinds(cs_logical *l, const cs_logical_kind *kinds, size_t n_kinds,
                             cs_error *err)
{
    uint64_t servers = 0, nics = 0, ranks = 0;

    for (size_t i = 0; i < n_kinds; i++) {
        CS_TRY(check_kind(&kinds[i], err));
        servers += kinds[i].count;
        nics += (uint64_t)kinds[i].count * kinds[i].n_nics;
        ranks += (uint64_t)kinds[i].count * kinds[i].n_gpus;
        if (ranks > CS_MAX_RANKS) {
            break;
        }
    }
    if (ranks < 1 || ranks > CS_MAX_RANKS) {
        return CS_FAIL(err, CS_EINVAL, "cluster.servers",
                       "the servers have %llu ranks, accepted are 1 to %u",
                       (unsigned long long)ranks, CS_MAX_RANKS);
    }
    l->n_servers = (uint32_t)servers;
    l->n_nics    = (uint32_t)nics;
    l->n_ranks   = (uint32_t)ranks;
    return CS_OK;
}

cs_status cs_logical_make(cs_logical *logical, const cs_logical_kind *kinds, size_t n_kinds,
                          double net_alpha_s, cs_error *err)
{
    uint32_t rank = 0, nic = 0, server = 0;

    *logical = (cs_logical){.net_alpha_s = net_alpha_s};
    CS_TRY(count_kinds(logical, kinds, n_kinds, err));
    CS_TRY(make_room(logical, err));
    for (size_t i = 0; i < n_kinds; i++) {
        const cs_logical_kind *kind = &kinds[i];
        for (uint32_t k = 0; k < kind->count; k++, server++) {
            logical->servers[server] = (cs_logical_server){.first_rank = rank,
                                                           .n_gpus     = kind->n_gpus,
                                                           .first_nic  = nic,
                                                           .n_nics     = kind->n_nics,
                                                           .n_sockets  = 1,
                                                           .nvlink     = kind->nvlink};
            for (uint32_t j = 0; j < kind->n_nics; j++) {
                logical->nics[nic++] = (cs_logical_nic){server, kind->nic_Bps, kind->nic_Bps};
            }
            place_gpus(logical, server);
            rank += kind->n_gpus;
            CS_TRY(name_server(logical, server, err));
        }
    }
    return cs_logical_check(logical, err);
}

/* The narrowest link on the way from one rank to another, at most `most_Bps`. */
static double narrowest_Bps(const cs_cluster *c, uint32_t src, uint32_t dst, double most_Bps,
                            uint32_t *route)
{
    uint32_t n = c->topology->kind->route(c->topology, c, src, dst, CS_NIC, route);

    for (uint32_t i = 0; i < n; i++) {
        double rate_Bps = c->topology->links[route[i]].bandwidth_Bps;
        most_Bps        = rate_Bps < most_Bps ? rate_Bps : most_Bps;
    }
    return most_Bps;
}

/* A NIC of a server that is not slowed: the port of a GPU, or what is found on ways to the servers
 * 1, 2, 4, .. behind and in front of it (and from them, `is_ingress`). */
static double nic_Bps(const cs_cluster *c, uint32_t server, bool is_ingress)
{
    double   port_Bps = cs_server_Bps(c, server, CS_NIC), rate_Bps = 0;
    uint32_t route[CS_MAX_ROUTE], n = cs_n_servers(c), here = cs_server_first(c, server);

    for (uint32_t i = 0; c->topology != NULL && (uint64_t)1 << i / 2 < n; i++) {
        uint32_t step    = i % 2 == 0 ? 1u << i / 2 : n - (1u << i / 2);
        uint32_t there   = cs_server_first(c, (server + step) % n);
        double   way_Bps = is_ingress ? narrowest_Bps(c, there, here, port_Bps, route)
                                      : narrowest_Bps(c, here, there, port_Bps, route);
        rate_Bps         = way_Bps > rate_Bps ? way_Bps : rate_Bps;
    }
    return rate_Bps > 0 ? rate_Bps : port_Bps;
}

/* How many GPUs of a server share a NIC: on port models each has a port of its own. */
static uint32_t nic_sharers(const cs_cluster *c)
{
    bool is_shared = cs_is_even(c) && c->topology != NULL && c->nic_sharers > 0 &&
                     c->gpus_per_server % c->nic_sharers == 0;

    return is_shared ? c->nic_sharers : 1;
}

bool cs_ports_are_shared(const cs_model *model, const void *options)
{
    const cs_network *n = model->network;

    return n != NULL &&
           (n->shares_groups || (n->queues_senders != NULL && n->queues_senders(options)));
}

cs_status cs_logical_of_scenario(cs_logical *logical, const cs_scenario *scenario, cs_error *err)
{
    const cs_cluster  *c       = &scenario->cluster;
    const cs_forecast *f       = scenario->forecast;
    uint32_t           sharers = nic_sharers(c), next_nic = 0;

    *logical =
        (cs_logical){.n_ranks     = c->n_ranks,
                     .n_servers   = cs_n_servers(c),
                     .n_nics      = c->n_ranks / sharers,
                     .net_alpha_s = c->fabrics[CS_NIC].alpha_s,
                     .holds_both  = f != NULL && !cs_ports_are_shared(f->model, f->model_options)};
    CS_TRY(make_room(logical, err));
    for (uint32_t s = 0; s < logical->n_servers; s++) {
        uint32_t gpus = cs_server_gpus(c, s), nics = gpus / sharers;
        double   out_Bps = nic_Bps(c, s, false), in_Bps = nic_Bps(c, s, true);

        logical->servers[s] = (cs_logical_server){
            .first_rank    = cs_server_first(c, s),
            .n_gpus        = gpus,
            .first_nic     = next_nic,
            .n_nics        = nics,
            .n_sockets     = c->sockets > 1 ? c->sockets : 1,
            .links_at_once = cs_waits_for_links(c, CS_NVLINK) ? c->nvlink_concurrent : 0,
            .nvlink        = c->fabrics[CS_NVLINK],
            .cross         = c->fabrics[CS_CROSS]};
        logical->servers[s].nvlink.bandwidth_Bps = cs_server_Bps(c, s, CS_NVLINK);
        logical->servers[s].cross.bandwidth_Bps  = cs_server_Bps(c, s, CS_CROSS);
        for (uint32_t i = 0; i < nics; i++) {
            size_t             n = 0;
            const cs_capacity *steps =
                cs_capacity_of(scenario, cs_server_first(c, s) + i * sharers, &n);
            double slowed             = n > 0 ? cs_slowdown_at(steps, n, 0) : 1;
            logical->nics[next_nic++] = (cs_logical_nic){s, out_Bps / slowed, in_Bps / slowed};
        }
        place_gpus(logical, s);
        CS_TRY(name_server(logical, s, err));
    }
    return cs_logical_check(logical, err);
}

static bool is_rate(double rate_Bps)
{
    return isfinite(rate_Bps) && rate_Bps > 0;
}

static bool is_alpha(double alpha_s)
{
    return isfinite(alpha_s) && alpha_s >= 0;
}

/* Are links that pairs have of their own (rate 0: none) such that a transfer can use them? */
static bool are_links(const cs_logical_link *links, size_t n)
{
    for (size_t i = 0; links != NULL && i < n; i++) {
        bool has_none = links[i].bandwidth_Bps <= 0 && links[i].bandwidth_Bps >= 0;
        if (!has_none && (!is_rate(links[i].bandwidth_Bps) || !is_alpha(links[i].alpha_s))) {
            return false;
        }
    }
    return true;
}

static cs_status check_server(const cs_logical *l, uint32_t server, uint32_t rank, uint32_t nic,
                              cs_error *err)
{
    const cs_logical_server *s = &l->servers[server];

    if (s->n_gpus < 1 || s->n_nics < 1 || s->n_gpus > l->n_ranks - rank ||
        s->n_nics > l->n_nics - nic || s->first_rank != rank || s->first_nic != nic ||
        s->n_sockets < 1 || s->n_gpus % s->n_sockets != 0) {
        return CS_FAIL(
            err, CS_EINVAL, "server",
            "server %u has %u GPUs from rank %u and %u NICs from NIC %u on: accepted are "
            "1 or more of each, without gaps",
            server, s->n_gpus, s->first_rank, s->n_nics, s->first_nic);
    }
    if (s->n_gpus > 1 && (!is_rate(s->nvlink.bandwidth_Bps) || !is_alpha(s->nvlink.alpha_s))) {
        return CS_FAIL(err, CS_EINVAL, "server", "server %u has NVLinks without a rate", server);
    }
    if (s->n_sockets > 1 && (!is_rate(s->cross.bandwidth_Bps) || !is_alpha(s->cross.alpha_s))) {
        return CS_FAIL(err, CS_EINVAL, "server", "server %u has sockets without a rate", server);
    }
    if (!are_links(s->links, (size_t)s->n_gpus * s->n_gpus)) {
        return CS_FAIL(err, CS_EINVAL, "link", "server %u has a link without a rate", server);
    }
    return CS_OK;
}

cs_status cs_logical_check(const cs_logical *logical, cs_error *err)
{
    uint32_t rank = 0, nic = 0;

    for (uint32_t s = 0; s < logical->n_servers; s++) {
        CS_TRY(check_server(logical, s, rank, nic, err));
        for (uint32_t i = 0; i < logical->servers[s].n_gpus; i++, rank++) {
            uint32_t of = logical->nic_of[rank];
            if (logical->server_of[rank] != s || of < nic ||
                of >= nic + logical->servers[s].n_nics) {
                return CS_FAIL(err, CS_EINVAL, "gpu", "rank %u is near no NIC of its server", rank);
            }
        }
        for (uint32_t i = 0; i < logical->servers[s].n_nics; i++, nic++) {
            const cs_logical_nic *x = &logical->nics[nic];
            if (x->server != s || !is_rate(x->egress_Bps) || !is_rate(x->ingress_Bps)) {
                return CS_FAIL(err, CS_EINVAL, "nic", "NIC %u has no rate", nic);
            }
        }
    }
    if (rank != logical->n_ranks || nic != logical->n_nics || rank == 0) {
        return CS_FAIL(err, CS_EINVAL, "graph", "the servers have %u of %u GPUs and %u of %u NICs",
                       rank, logical->n_ranks, nic, logical->n_nics);
    }
    if (!is_alpha(logical->net_alpha_s) ||
        !are_links(logical->net, (size_t)logical->n_servers * logical->n_servers)) {
        return CS_FAIL(err, CS_EINVAL, "link", "a link between servers has no rate");
    }
    return CS_OK;
}

void cs_logical_free(cs_logical *logical)
{
    cs_arena_free(&logical->arena);
    *logical = (cs_logical){0};
}

/* Give an edge what its pair has of its own; no link is faster than its ports. */
static void take_own(cs_logical_edge *e, const cs_logical_link *own)
{
    double ports_Bps = e->egress_Bps < e->ingress_Bps ? e->egress_Bps : e->ingress_Bps;

    if (own->bandwidth_Bps > 0) {
        bool has_ports = e->egress != CS_NO_PORT;
        e->alpha_s     = own->alpha_s;
        e->bandwidth_Bps =
            has_ports && ports_Bps < own->bandwidth_Bps ? ports_Bps : own->bandwidth_Bps;
    }
}

/* Between two servers. */
static cs_logical_edge net_edge(const cs_logical *l, uint32_t src, uint32_t dst)
{
    const cs_logical_nic *from = &l->nics[l->nic_of[src]], *to = &l->nics[l->nic_of[dst]];
    cs_logical_edge       e = {.alpha_s       = l->net_alpha_s,
                               .bandwidth_Bps = from->egress_Bps < to->ingress_Bps ? from->egress_Bps
                                                                                   : to->ingress_Bps,
                               .egress        = l->nic_of[src],
                               .ingress       = l->nic_of[dst],
                               .egress_Bps    = from->egress_Bps,
                               .ingress_Bps   = to->ingress_Bps,
                               .is_net        = true};

    if (l->net != NULL) {
        take_own(&e, &l->net[(size_t)from->server * l->n_servers + to->server]);
    }
    return e;
}

cs_logical_edge cs_logical_edge_of(const cs_logical *logical, uint32_t src, uint32_t dst)
{
    const cs_logical_server *s = &logical->servers[logical->server_of[src]];
    cs_logical_edge          e = {.egress = CS_NO_PORT, .ingress = CS_NO_PORT};

    if (logical->server_of[src] != logical->server_of[dst]) {
        return net_edge(logical, src, dst);
    }
    uint32_t from = src - s->first_rank, to = dst - s->first_rank, run = s->n_gpus / s->n_sockets;
    bool     crosses   = from / run != to / run;
    const cs_fabric *f = crosses ? &s->cross : &s->nvlink;

    e.alpha_s       = f->alpha_s;
    e.bandwidth_Bps = f->bandwidth_Bps;
    if (crosses || f->kind == CS_SWITCHED || s->links_at_once > 0) {
        uint32_t first = logical->n_nics + (crosses ? logical->n_ranks : 0);
        bool     many  = !crosses && f->kind == CS_DIRECT;

        e.egress      = first + src;
        e.ingress     = first + dst;
        e.egress_Bps  = f->bandwidth_Bps * (many ? s->links_at_once : 1);
        e.ingress_Bps = e.egress_Bps;
    }
    if (s->links != NULL) {
        take_own(&e, &s->links[(size_t)from * s->n_gpus + to]);
    }
    return e;
}

/* Strategies. */

cs_status cs_strategy_make(cs_strategy *strategy, uint32_t n_ranks, uint32_t n_trees, cs_error *err)
{
    cs_arena *arena = &strategy->arena;

    *strategy = (cs_strategy){.n_ranks = n_ranks, .n_trees = n_trees};
    if (n_trees < 1 || n_trees > CS_STRATEGY_MAX_TREES || n_ranks < 1 || n_ranks > CS_MAX_RANKS) {
        return CS_FAIL(err, CS_EINVAL, "trees",
                       "%u trees over %u ranks: accepted are 1 to %d trees over 1 to %u ranks",
                       n_trees, n_ranks, CS_STRATEGY_MAX_TREES, CS_MAX_RANKS);
    }
    strategy->trees    = CS_ARENA_NEW(arena, cs_strategy_tree, n_trees);
    strategy->siblings = CS_ARENA_NEW(arena, uint32_t, n_ranks);
    if (strategy->trees == NULL || strategy->siblings == NULL) {
        return CS_NO_MEMORY(err, "trees");
    }
    for (uint32_t m = 0; m < n_trees; m++) {
        cs_strategy_tree *t = &strategy->trees[m];
        t->chunk_bytes      = 1;
        t->parent           = CS_ARENA_NEW(arena, uint32_t, n_ranks);
        t->aggregates       = CS_ARENA_NEW(arena, bool, n_ranks);
        t->order            = CS_ARENA_NEW(arena, uint32_t, n_ranks);
        t->first_child      = CS_ARENA_NEW(arena, uint32_t, n_ranks);
        t->n_children       = CS_ARENA_NEW(arena, uint32_t, n_ranks);
        if (t->parent == NULL || t->aggregates == NULL || t->order == NULL ||
            t->first_child == NULL || t->n_children == NULL) {
            return CS_NO_MEMORY(err, "trees");
        }
        for (uint32_t g = 0; g < n_ranks; g++) {
            t->parent[g]     = CS_TREE_ABSENT;
            t->aggregates[g] = true;
        }
    }
    return CS_OK;
}

void cs_strategy_free(cs_strategy *strategy)
{
    cs_arena_free(&strategy->arena);
    *strategy = (cs_strategy){0};
}

cs_status cs_strategy_copy(cs_strategy *strategy, const cs_strategy *of, cs_error *err)
{
    size_t n = of->n_ranks;

    CS_TRY(cs_strategy_make(strategy, of->n_ranks, of->n_trees, err));
    strategy->n_members = of->n_members;
    for (uint32_t m = 0; m < of->n_trees; m++) {
        cs_strategy_tree       *to   = &strategy->trees[m];
        const cs_strategy_tree *from = &of->trees[m];
        to->size_bytes               = from->size_bytes;
        to->chunk_bytes              = from->chunk_bytes;
        memcpy(to->parent, from->parent, n * sizeof *to->parent);
        memcpy(to->aggregates, from->aggregates, n * sizeof *to->aggregates);
        memcpy(to->order, from->order, n * sizeof *to->order);
        memcpy(to->first_child, from->first_child, n * sizeof *to->first_child);
        memcpy(to->n_children, from->n_children, n * sizeof *to->n_children);
    }
    return CS_OK;
}

void cs_strategy_set_sizes(cs_strategy *strategy, uint64_t bytes, uint64_t chunk_bytes)
{
    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        cs_strategy_tree *t    = &strategy->trees[m];
        uint64_t          size = bytes / strategy->n_trees + (m < bytes % strategy->n_trees);
        uint64_t          most = size > 0 ? size : 1;

        t->size_bytes  = size;
        t->chunk_bytes = chunk_bytes < 1 ? 1 : chunk_bytes < most ? chunk_bytes : most;
    }
}

bool cs_strategy_sort(cs_strategy *strategy, uint32_t m)
{
    cs_strategy_tree *t     = &strategy->trees[m];
    uint32_t          known = 0;

    memset(t->n_children, 0, strategy->n_ranks * sizeof *t->n_children);
    for (uint32_t g = strategy->n_ranks; g-- > 0;) {
        uint32_t p = t->parent[g];
        if (p == CS_TREE_ROOT) {
            if (known == 1) {
                return false;
            }
            t->order[known++] = g;
        } else if (p != CS_TREE_ABSENT) { /* first_child heads a list of ranks for now */
            strategy->siblings[g] = t->n_children[p] > 0 ? t->first_child[p] : NO_RANK;
            t->first_child[p]     = g;
            t->n_children[p]++;
        }
    }
    for (uint32_t i = 0; i < known; i++) {
        uint32_t g = t->order[i], child = t->n_children[g] > 0 ? t->first_child[g] : NO_RANK;

        t->first_child[g] = known;
        for (; child != NO_RANK; child = strategy->siblings[child]) {
            t->order[known++] = child;
        }
    }
    return known == strategy->n_members && known > 0;
}

/* The parents of tree m are ranks of the tree, and it has one root and the ranks of tree 0. */
static cs_status check_parents(const cs_strategy *s, uint32_t m, cs_error *err)
{
    const uint32_t *parent = s->trees[m].parent;
    uint32_t        roots  = 0;

    for (uint32_t g = 0; g < s->n_ranks; g++) {
        uint32_t p         = parent[g];
        bool     is_absent = p == CS_TREE_ABSENT;

        if (is_absent != (s->trees[0].parent[g] == CS_TREE_ABSENT)) {
            return CS_FAIL(err, CS_EINVAL, "trees",
                           "rank %u is in tree %u, but not in tree %u: all trees have the same "
                           "ranks",
                           g, is_absent ? 0 : m, is_absent ? m : 0);
        }
        roots += p == CS_TREE_ROOT;
        if (is_absent || p == CS_TREE_ROOT) {
            continue;
        }
        if (p >= s->n_ranks || parent[p] == CS_TREE_ABSENT || p == g) {
            return CS_FAIL(err, CS_EINVAL, "trees",
                           "tree %u: the parent of rank %u, %u, is no "
                           "other rank of the tree",
                           m, g, p);
        }
    }
    if (roots != 1) {
        return CS_FAIL(err, CS_EINVAL, "trees", "tree %u has %u roots, accepted is one", m, roots);
    }
    return CS_OK;
}

cs_status cs_strategy_check(cs_strategy *strategy, cs_error *err)
{
    strategy->n_members = 0;
    for (uint32_t g = 0; g < strategy->n_ranks; g++) {
        strategy->n_members += strategy->trees[0].parent[g] != CS_TREE_ABSENT;
    }
    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        const cs_strategy_tree *t = &strategy->trees[m];

        CS_TRY(check_parents(strategy, m, err));
        if (t->chunk_bytes < 1 || (t->size_bytes > 0 && t->chunk_bytes > t->size_bytes)) {
            return CS_FAIL(err, CS_EINVAL, "trees",
                           "tree %u of %llu bytes has chunks of %llu: accepted are 1 to its size",
                           m, (unsigned long long)t->size_bytes,
                           (unsigned long long)t->chunk_bytes);
        }
        if (!cs_strategy_sort(strategy, m)) {
            return CS_FAIL(err, CS_EINVAL, "trees",
                           "tree %u has a circle: not every rank leads to its root", m);
        }
    }
    return CS_OK;
}

/* Parents stand before their children in the order: that of an excluded one is right already. */
static void exclude_from_tree(cs_strategy_tree *t, uint32_t n_members, const bool *excluded)
{
    uint32_t root = CS_TREE_ROOT;

    for (uint32_t i = 0; i < n_members; i++) {
        uint32_t g = t->order[i], p = t->parent[g];
        if (p != CS_TREE_ROOT && excluded[p]) {
            p = t->parent[p];
        }
        p            = p == CS_TREE_ROOT ? root : p;
        t->parent[g] = p;
        if (p == CS_TREE_ROOT && !excluded[g]) {
            root = g;
        }
    }
    for (uint32_t i = 0; i < n_members; i++) {
        if (excluded[t->order[i]]) {
            t->parent[t->order[i]] = CS_TREE_ABSENT;
        }
    }
}

cs_status cs_strategy_exclude(cs_strategy *strategy, const bool *excluded, cs_error *err)
{
    uint32_t n_left = 0;

    for (uint32_t i = 0; i < strategy->n_members; i++) {
        n_left += !excluded[strategy->trees[0].order[i]];
    }
    if (n_left == 0) {
        return CS_FAIL(err, CS_EINVAL, "trees",
                       "no rank is left in them: accepted is one at least");
    }
    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        exclude_from_tree(&strategy->trees[m], strategy->n_members, excluded);
    }
    return cs_strategy_check(strategy, err);
}

cs_status cs_strategy_fits(const cs_strategy *strategy, const cs_logical *logical, cs_error *err)
{
    if (strategy->n_ranks != logical->n_ranks || strategy->n_members != logical->n_ranks) {
        return CS_FAIL(err, CS_EINVAL, "strategy",
                       "the trees are over %u ranks, the cluster has %u", strategy->n_members,
                       logical->n_ranks);
    }
    for (uint32_t g = 1; strategy->ip != NULL && g < logical->n_ranks; g++) {
        bool is_same = strcmp(strategy->ip[g], strategy->ip[g - 1]) == 0;
        if (is_same != (logical->server_of[g] == logical->server_of[g - 1])) {
            return CS_FAIL(err, CS_EINVAL, "strategy",
                           "ranks %u and %u are %s server, in the cluster they are %s", g - 1, g,
                           is_same ? "in one" : "not in one", is_same ? "not" : "in one");
        }
    }
    return CS_OK;
}

cs_status cs_strategy_file_finish(cs_strategy_file *file, uint64_t bytes, uint64_t chunk_bytes,
                                  cs_error *err)
{
    cs_strategy *s   = &file->strategy;
    uint64_t     all = 0;

    for (uint32_t m = 0; m < s->n_trees; m++) {
        cs_strategy_tree *t = &s->trees[m];

        if (!file->has_sizes) {
            t->size_bytes = bytes / s->n_trees + (m < bytes % s->n_trees);
        }
        uint64_t size  = t->size_bytes > 0 ? t->size_bytes : 1;
        uint64_t chunk = chunk_bytes > 0 ? chunk_bytes : file->has_chunks ? t->chunk_bytes : size;

        t->chunk_bytes = chunk < size ? chunk : size;
        all += t->size_bytes;
    }
    if (all != bytes) {
        return CS_FAIL(err, CS_EINVAL, "strategy",
                       "the trees are for %llu bytes, the buffer has %llu", (unsigned long long)all,
                       (unsigned long long)bytes);
    }
    return CS_OK;
}
