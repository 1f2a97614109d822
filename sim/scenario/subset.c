/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scenario/subset.h"

#include "cs/topology.h"

#include <string.h>

/* ---- a topology of which only some ranks are used ---- */

typedef struct part_topology {
    const cs_topology *inner;
    const cs_cluster  *all;
    const uint32_t    *ranks; /* in `all`, by the numbers here */
    cs_topology_kind   kind;  /* the inner one's name, and the functions that it has */
    cs_topology        outer;
} part_topology;

static cs_status part_check(const cs_topology *topology, const cs_cluster *cluster, cs_error *err)
{
    const part_topology *p = topology->data;

    (void)cluster;
    return p->inner->kind->check(p->inner, p->all, err);
}

static uint32_t part_route(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                           uint32_t dst, uint32_t fabric, uint32_t *links)
{
    const part_topology *p = topology->data;

    (void)cluster;
    return p->inner->kind->route(p->inner, p->all, p->ranks[src], p->ranks[dst], fabric, links);
}

static void part_link_name(const cs_topology *topology, uint32_t link, char *text,
                           size_t text_bytes)
{
    const part_topology *p = topology->data;

    p->inner->kind->link_name(p->inner, link, text, text_bytes);
}

static uint32_t part_nic_links(const cs_topology *topology, const cs_cluster *cluster,
                               uint32_t rank, uint32_t *links)
{
    const part_topology *p = topology->data;

    (void)cluster;
    return p->inner->kind->nic_links(p->inner, p->all, p->ranks[rank], links);
}

static uint32_t part_n_paths(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                             uint32_t dst, uint32_t fabric)
{
    const part_topology *p = topology->data;

    (void)cluster;
    return p->inner->kind->n_paths(p->inner, p->all, p->ranks[src], p->ranks[dst], fabric);
}

static uint32_t part_path(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                          uint32_t dst, uint32_t fabric, uint32_t i, uint32_t *links)
{
    const part_topology *p = topology->data;

    (void)cluster;
    return p->inner->kind->path(p->inner, p->all, p->ranks[src], p->ranks[dst], fabric, i, links);
}

static const cs_topology *wrap(const cs_cluster *all, const uint32_t *ranks, cs_arena *arena)
{
    const cs_topology *inner = all->topology;
    part_topology     *p     = CS_ARENA_NEW(arena, part_topology, 1);

    if (p == NULL) {
        return NULL;
    }
    *p                = (part_topology){.inner = inner,
                                        .all   = all,
                                        .ranks = ranks,
                                        .kind  = {.name      = inner->kind->name,
                                                  .check     = part_check,
                                                  .route     = part_route,
                                                  .link_name = part_link_name}};
    p->kind.nic_links = inner->kind->nic_links != NULL ? part_nic_links : NULL;
    p->kind.n_paths   = inner->kind->n_paths != NULL ? part_n_paths : NULL;
    p->kind.path      = inner->kind->path != NULL ? part_path : NULL;
    p->outer          = *inner;
    p->outer.kind     = &p->kind;
    p->outer.data     = p;
    return &p->outer;
}

/* ---- its servers ---- */

/* The servers that have ranks of the part, and how many. */
typedef struct part_servers {
    uint32_t *number; /* [n] in `all` */
    uint32_t *gpus;   /* [n] */
    uint32_t  n, most;
} part_servers;

static cs_status no_memory(cs_error *err)
{
    return CS_NO_MEMORY(err, "the cluster of a process group");
}

static cs_status list_servers(const cs_cluster *all, const uint32_t *ranks, uint32_t n,
                              cs_arena *arena, part_servers *servers, cs_error *err)
{
    servers->number = CS_ARENA_NEW(arena, uint32_t, n);
    servers->gpus   = CS_ARENA_NEW(arena, uint32_t, n);
    if (servers->number == NULL || servers->gpus == NULL) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t server = cs_server_of(all, ranks[i]);
        if (servers->n == 0 || servers->number[servers->n - 1] != server) {
            servers->number[servers->n++] = server;
        }
        uint32_t *gpus = &servers->gpus[servers->n - 1];
        servers->most  = ++*gpus > servers->most ? *gpus : servers->most;
    }
    return CS_OK;
}

/* How many sockets the ranks of each server lie on, with as many GPUs on each; 0: one. CS_ENOTSUP
 * where servers or sockets have different numbers of them. */
static cs_status count_sockets(const cs_cluster *all, const uint32_t *ranks, uint32_t n,
                               const part_servers *servers, uint32_t *sockets_p, cs_error *err)
{
    uint32_t of_socket = all->sockets > 1 ? all->gpus_per_server / all->sockets : 0;
    uint32_t n_runs = 0, run = 0, first_run = 0;
    bool     is_even = true;

    *sockets_p = 0;
    if (of_socket == 0 || servers->most == 1) {
        return CS_OK;
    }
    for (uint32_t i = 0; i < n; i++) {
        run++;
        if (i + 1 == n || ranks[i + 1] / of_socket != ranks[i] / of_socket) {
            first_run = n_runs++ == 0 ? run : first_run;
            is_even   = is_even && run == first_run;
            run       = 0;
        }
    }
    for (uint32_t s = 0; s < servers->n; s++) {
        is_even = is_even && servers->gpus[s] == servers->most;
    }
    if (!is_even) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.sockets",
                       "a process group has different numbers of GPUs on the sockets of its "
                       "servers");
    }
    *sockets_p = n_runs / servers->n;
    return CS_OK;
}

static cs_status set_nics(const cs_cluster *all, const uint32_t *ranks, const part_servers *servers,
                          cs_arena *arena, cs_cluster *part, cs_error *err)
{
    const cs_nics **list  = CS_ARENA_NEW(arena, const cs_nics *, servers->n);
    cs_nics        *nics  = CS_ARENA_NEW(arena, cs_nics, servers->n);
    uint32_t       *first = CS_ARENA_NEW(arena, uint32_t, part->n_ranks);
    uint32_t       *count = CS_ARENA_NEW(arena, uint32_t, part->n_ranks);
    uint32_t        rank  = 0;

    if (list == NULL || nics == NULL || first == NULL || count == NULL) {
        return no_memory(err);
    }
    for (uint32_t s = 0; s < servers->n; s++) {
        const cs_nics *theirs = all->nics[servers->number[s]];
        list[s]               = theirs != NULL ? &nics[s] : NULL;
        for (uint32_t i = 0; i < servers->gpus[s]; i++, rank++) {
            uint32_t gpu = cs_local_rank(all, ranks[rank]);
            first[rank]  = theirs != NULL ? theirs->first[gpu] : 0;
            count[rank]  = theirs != NULL ? theirs->count[gpu] : 0;
        }
        if (theirs != NULL) {
            nics[s]       = *theirs;
            nics[s].first = first + rank - servers->gpus[s];
            nics[s].count = count + rank - servers->gpus[s];
        }
    }
    part->nics = list;
    return CS_OK;
}

static cs_status set_servers(const cs_cluster *all, const uint32_t *ranks, uint32_t n,
                             const part_servers *servers, cs_arena *arena, cs_cluster *part,
                             cs_error *err)
{
    cs_uneven *uneven = CS_ARENA_NEW(arena, cs_uneven, 1);
    cs_server *rates  = CS_ARENA_NEW(arena, cs_server, servers->n);

    if (uneven == NULL || rates == NULL) {
        return no_memory(err);
    }
    uneven->first     = CS_ARENA_NEW(arena, uint32_t, (size_t)servers->n + 1);
    uneven->server_of = CS_ARENA_NEW(arena, uint32_t, n);
    if (uneven->first == NULL || uneven->server_of == NULL) {
        return no_memory(err);
    }
    bool has_all = servers->most == all->gpus_per_server;
    CS_TRY(count_sockets(all, ranks, n, servers, &part->sockets, err));
    part->nic_sharers = has_all ? all->nic_sharers : 0;
    cs_cluster_set_gpus(part, servers->gpus, servers->n, uneven);
    if (all->servers != NULL) {
        for (uint32_t s = 0; s < servers->n; s++) {
            rates[s] = all->servers[servers->number[s]];
        }
        cs_cluster_set_servers(part, rates);
    }
    return all->nics != NULL ? set_nics(all, ranks, servers, arena, part, err) : CS_OK;
}

/* ---- its faults ---- */

/* The number of a rank in the part, or of the first one on its server; UINT32_MAX: none. */
static uint32_t number_in(const cs_cluster *all, const uint32_t *ranks, uint32_t n, uint32_t rank,
                          bool is_single)
{
    for (uint32_t i = 0; i < n; i++) {
        if (ranks[i] == rank ||
            (!is_single && cs_server_of(all, ranks[i]) == cs_server_of(all, rank))) {
            return i;
        }
    }
    return UINT32_MAX;
}

static cs_status set_capacity(const cs_scenario *all, const uint32_t *ranks, uint32_t n,
                              cs_arena *arena, cs_scenario *part, cs_error *err)
{
    cs_capacity *steps = CS_ARENA_NEW(arena, cs_capacity, all->n_capacity);
    size_t       kept  = 0;

    if (steps == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < all->n_capacity; i++) {
        cs_capacity step = all->capacity[i];
        step.rank        = number_in(&all->cluster, ranks, n, step.rank, step.is_single);
        if (step.rank != UINT32_MAX) {
            steps[kept++] = step;
        }
    }
    part->capacity   = steps;
    part->n_capacity = kept;
    return kept > 0 && cs_capacity_sort(steps, kept, &part->cluster) != CS_OK ? no_memory(err)
                                                                              : CS_OK;
}

cs_status cs_scenario_subset(const cs_scenario *all, const uint32_t *ranks, uint32_t n,
                             cs_arena *arena, cs_scenario *part_p, cs_error *err)
{
    part_servers servers = {0};
    cs_scenario  part    = *all;
    uint32_t    *copy    = CS_ARENA_NEW(arena, uint32_t, n);

    part.arrival_s = NULL;
    part.root      = 0;
    if (copy == NULL) {
        return no_memory(err);
    }
    if (n == all->cluster.n_ranks) {
        *part_p = part;
        return CS_OK;
    }
    memcpy(copy, ranks, n * sizeof *copy);
    CS_TRY(list_servers(&all->cluster, ranks, n, arena, &servers, err));
    part.cluster.uneven  = NULL;
    part.cluster.servers = NULL;
    part.cluster.nics    = NULL;
    CS_TRY(set_servers(&all->cluster, ranks, n, &servers, arena, &part.cluster, err));
    if (all->cluster.topology != NULL) {
        part.cluster.topology = wrap(&all->cluster, copy, arena);
        if (part.cluster.topology == NULL) {
            return no_memory(err);
        }
    }
    CS_TRY(set_capacity(all, copy, n, arena, &part, err));
    *part_p = part;
    return CS_OK;
}
