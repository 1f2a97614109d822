/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every link knows the ranks that routes over it lead to (or come from); links with the same ranks
 * are a class, or several where they follow each other on a route: one for every place, counted
 * from these ranks. A class that all routes into its ranks take is a cut. For a server, the classes
 * that lead to some of its ranks only are put together, smallest first: two NICs, each for half
 * of the GPUs, or what lies behind them if that carries less. */
#include "analytic/cuts.h"

#include "cs/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_CLASS UINT32_MAX

typedef struct link_class {
    const uint64_t *group;
    uint32_t        size, index;
    double          capacity_Bps;
    uint64_t        n_routes, n_far_routes; /* that it cuts: from ranks not in the group; from other
                                               servers */
    double latency_s, far_latency_s;
} link_class;

typedef struct finder {
    const cs_cluster *cluster;
    const double     *latency_s; /* of a fabric */
    cs_arena         *arena;
    bool              is_inward;
    uint32_t          n_words, n_classes;
    uint64_t         *groups;   /* [n_links][n_words] */
    uint32_t         *class_of; /* [n_links] */
    uint8_t          *depth;    /* [n_links] links with the same ranks behind it on a route */
    link_class       *classes;
    cs_cut           *cuts;
    size_t            n_cuts;
} finder;

/* A route, and its end whose group is looked at. */
typedef struct route {
    uint32_t links[CS_MAX_ROUTE], n_links, mine, other;
    double   latency_s;
} route;

static route route_of(const finder *f, uint32_t mine, uint32_t other)
{
    const cs_topology *t   = f->cluster->topology;
    uint32_t           src = f->is_inward ? other : mine, dst = f->is_inward ? mine : other;
    uint32_t           fabric = cs_fabric_of(f->cluster, src, dst);
    route              r      = {.mine = mine, .other = other, .latency_s = f->latency_s[fabric]};

    r.n_links = t->kind->route(t, f->cluster, src, dst, fabric, r.links);
    for (uint32_t k = 0; k < r.n_links; k++) {
        r.latency_s += t->links[r.links[k]].latency_s;
    }
    return r;
}

static void for_routes(finder *f, void (*visit)(finder *f, const route *r))
{
    uint32_t n = f->cluster->n_ranks;

    for (uint32_t mine = 0; mine < n; mine++) {
        for (uint32_t other = 0; other < n; other++) {
            if (other != mine) {
                route r = route_of(f, mine, other);
                visit(f, &r);
            }
        }
    }
}

static void join_groups(finder *f, const route *r)
{
    for (uint32_t k = 0; k < r->n_links; k++) {
        uint64_t *group = f->groups + (size_t)r->links[k] * f->n_words;
        group[r->mine / 64] |= (uint64_t)1 << r->mine % 64;
    }
}

static uint32_t size_of(const finder *f, const uint64_t *group)
{
    uint32_t size = 0;

    for (uint32_t rank = 0; rank < f->cluster->n_ranks; rank++) {
        size += cs_in_group(group, rank);
    }
    return size;
}

static uint64_t hash_of(const finder *f, const uint64_t *group)
{
    uint64_t hash = 14695981039346656037u;

    for (uint32_t w = 0; w < f->n_words; w++) {
        hash = (hash ^ group[w]) * 1099511628211u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* Give links with the same group the same number; returns how many numbers. */
static uint32_t number_groups(finder *f, uint32_t *table, size_t slots)
{
    const cs_topology *t     = f->cluster->topology;
    uint32_t           count = 0;

    for (uint32_t link = 0; link < t->n_links; link++) {
        const uint64_t *group = f->groups + (size_t)link * f->n_words;
        size_t          at    = (size_t)hash_of(f, group) & (slots - 1);
        while (table[at] != 0 &&
               memcmp(f->classes[table[at] - 1].group, group, f->n_words * sizeof *group) != 0) {
            at = (at + 1) & (slots - 1);
        }
        if (table[at] == 0) {
            f->classes[count].group = group;
            table[at]               = ++count;
        }
        f->class_of[link] = table[at] - 1;
    }
    return count;
}

/* The route's own end is the last link of an inward route and the first of an outward one. */
static void set_depth(finder *f, const route *r)
{
    for (uint32_t k = 0; k < r->n_links; k++) {
        uint32_t link = r->links[k], behind = 0;
        for (uint32_t j = 0; j < r->n_links; j++) {
            bool is_behind = f->is_inward ? j > k : j < k;
            behind += is_behind && f->class_of[r->links[j]] == f->class_of[link];
        }
        f->depth[link] = behind > f->depth[link] ? (uint8_t)behind : f->depth[link];
    }
}

/* A class for every number and depth that occurs. Links that no route takes have no ranks. */
static bool split_by_depth(finder *f, uint32_t n_numbers)
{
    const cs_topology *t      = f->cluster->topology;
    uint32_t          *number = CS_ARENA_NEW(f->arena, uint32_t, (size_t)n_numbers * CS_MAX_ROUTE);

    if (number == NULL) {
        return false;
    }
    for (uint32_t link = 0; link < t->n_links; link++) {
        uint32_t *class_p = &number[(size_t)f->class_of[link] * CS_MAX_ROUTE + f->depth[link]];
        if (*class_p == 0) {
            const uint64_t *group    = f->groups + (size_t)link * f->n_words;
            f->classes[f->n_classes] = (link_class){.group         = group,
                                                    .size          = size_of(f, group),
                                                    .index         = f->n_classes,
                                                    .latency_s     = (double)INFINITY,
                                                    .far_latency_s = (double)INFINITY};
            *class_p                 = ++f->n_classes;
        }
        f->class_of[link] = *class_p - 1;
        f->classes[*class_p - 1].capacity_Bps += t->links[link].bandwidth_Bps;
    }
    return true;
}

static bool classify(finder *f)
{
    uint32_t n_links = f->cluster->topology->n_links;
    size_t   slots   = 1;

    while (slots < 2 * (size_t)n_links + 2) {
        slots *= 2;
    }
    uint32_t *table = CS_ARENA_NEW(f->arena, uint32_t, slots); /* number + 1; 0: nothing */
    f->depth        = CS_ARENA_NEW(f->arena, uint8_t, n_links + 1);
    f->class_of     = CS_ARENA_NEW(f->arena, uint32_t, n_links + 1);
    f->classes      = CS_ARENA_NEW(f->arena, link_class, n_links + 1);
    if (table == NULL || f->depth == NULL || f->class_of == NULL || f->classes == NULL) {
        return false;
    }
    uint32_t n_numbers = number_groups(f, table, slots);
    for_routes(f, set_depth);
    return split_by_depth(f, n_numbers);
}

/* A route counts once for every class that it takes from outside. */
static void count_route(finder *f, const route *r)
{
    const cs_cluster *cluster = f->cluster;

    for (uint32_t k = 0; k < r->n_links; k++) {
        uint32_t number  = f->class_of[r->links[k]];
        bool     is_seen = false;
        for (uint32_t before = 0; before < k; before++) {
            is_seen = is_seen || f->class_of[r->links[before]] == number;
        }
        link_class *c = &f->classes[number];
        if (is_seen) {
            continue;
        }
        if (!cs_in_group(c->group, r->other)) {
            c->n_routes++;
            c->latency_s = fmin(c->latency_s, r->latency_s);
        }
        if (cs_server_of(cluster, r->mine) != cs_server_of(cluster, r->other)) {
            c->n_far_routes++;
            c->far_latency_s = fmin(c->far_latency_s, r->latency_s);
        }
    }
}

static void add_cut(finder *f, const uint64_t *group, uint32_t size, double capacity_Bps,
                    double latency_s)
{
    f->cuts[f->n_cuts++] = (cs_cut){group, size, f->is_inward, capacity_Bps, latency_s};
}

static void add_classes(finder *f)
{
    uint64_t n = f->cluster->n_ranks;

    for (uint32_t i = 0; i < f->n_classes; i++) {
        const link_class *c = &f->classes[i];
        if (c->size > 0 && c->size < n && c->n_routes == c->size * (n - c->size)) {
            add_cut(f, c->group, c->size, c->capacity_Bps, c->latency_s);
        }
    }
}

/* Servers: a rank's class so far, of those that cut its routes from other servers. */
typedef struct cover {
    uint32_t *class_of_rank;
    double   *cost_Bps; /* of the class as it was put together */
} cover;

static int by_size(const void *a, const void *b)
{
    const link_class *x = a, *y = b;
    int               order = (x->size > y->size) - (x->size < y->size);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

/* What the classes that the server's ranks of the group have now carry together; infinite if some
 * rank has none, or shares its class with a rank outside the group. */
static double cost_of_group(const finder *f, const cover *v, const uint64_t *group, uint32_t server)
{
    uint32_t first   = cs_server_first(f->cluster, server);
    uint32_t end     = cs_server_first(f->cluster, server + 1);
    double   sum_Bps = 0;

    for (uint32_t a = first; a < end; a++) {
        bool     is_inside = cs_in_group(group, a), is_first = true;
        uint32_t mine = v->class_of_rank[a];
        if (is_inside && mine == NO_CLASS) {
            return (double)INFINITY;
        }
        for (uint32_t b = first; b < a && mine != NO_CLASS; b++) {
            bool same = v->class_of_rank[b] == mine;
            if (same && cs_in_group(group, b) != is_inside) {
                return (double)INFINITY;
            }
            is_first = is_first && !same;
        }
        sum_Bps += is_inside && is_first ? v->cost_Bps[mine] : 0;
    }
    return sum_Bps;
}

static uint32_t first_of(const uint64_t *group)
{
    uint32_t rank = 0;

    while (!cs_in_group(group, rank)) {
        rank++;
    }
    return rank;
}

/* A class takes the place of those that its ranks have if it carries less. */
static void offer_class(const finder *f, cover *v, uint32_t number)
{
    const link_class *c      = &f->classes[number];
    uint64_t          n      = f->cluster->n_ranks;
    uint32_t          inside = 0;

    if (c->size == 0) {
        return;
    }
    uint32_t server = cs_server_of(f->cluster, first_of(c->group));
    uint32_t first  = cs_server_first(f->cluster, server);
    uint32_t end    = cs_server_first(f->cluster, server + 1);
    for (uint32_t r = first; r < end; r++) {
        inside += cs_in_group(c->group, r);
    }
    if (inside != c->size || c->n_far_routes != c->size * (n - (end - first)) ||
        c->capacity_Bps >= cost_of_group(f, v, c->group, server)) {
        return;
    }
    v->cost_Bps[number] = c->capacity_Bps;
    for (uint32_t r = first; r < end; r++) {
        v->class_of_rank[r] = cs_in_group(c->group, r) ? number : v->class_of_rank[r];
    }
}

static bool add_servers(finder *f)
{
    uint32_t n = f->cluster->n_ranks;
    cover    v = {.class_of_rank = CS_ARENA_NEW(f->arena, uint32_t, n),
                  .cost_Bps      = CS_ARENA_NEW(f->arena, double, f->n_classes + 1)};

    if (v.class_of_rank == NULL || v.cost_Bps == NULL) {
        return false;
    }
    memset(v.class_of_rank, 0xff, n * sizeof *v.class_of_rank);
    qsort(f->classes, f->n_classes, sizeof *f->classes, by_size);
    for (uint32_t i = 0; i < f->n_classes; i++) {
        offer_class(f, &v, i);
    }
    for (uint32_t server = 0; server < cs_n_servers(f->cluster); server++) {
        uint32_t  first     = cs_server_first(f->cluster, server);
        uint32_t  end       = cs_server_first(f->cluster, server + 1);
        uint64_t *group     = CS_ARENA_NEW(f->arena, uint64_t, f->n_words);
        double    latency_s = (double)INFINITY;
        if (group == NULL) {
            return false;
        }
        for (uint32_t r = first; r < end; r++) {
            uint32_t number = v.class_of_rank[r];
            group[r / 64] |= (uint64_t)1 << r % 64;
            latency_s = fmin(latency_s, number != NO_CLASS ? f->classes[number].far_latency_s : 0);
        }
        double capacity_Bps = cost_of_group(f, &v, group, server);
        if (isfinite(capacity_Bps)) {
            add_cut(f, group, end - first, capacity_Bps, latency_s);
        }
    }
    return true;
}

bool cs_find_cuts(const cs_cluster *cluster, const double *latency_s, bool is_inward,
                  cs_arena *arena, cs_cut **cuts_p, size_t *n_cuts_p)
{
    uint32_t n = cluster->n_ranks, n_links = cluster->topology->n_links;
    finder   f = {.cluster   = cluster,
                  .latency_s = latency_s,
                  .arena     = arena,
                  .is_inward = is_inward,
                  .n_words   = (n + 63) / 64};

    *n_cuts_p = 0;
    if (n > CS_CUTS_MAX_RANKS) {
        return true;
    }
    f.groups = CS_ARENA_NEW(arena, uint64_t, (size_t)n_links * f.n_words + 1);
    f.cuts   = CS_ARENA_NEW(arena, cs_cut, (size_t)n_links + n);
    if (f.groups == NULL || f.cuts == NULL) {
        return false;
    }
    for_routes(&f, join_groups);
    if (!classify(&f)) {
        return false;
    }
    for_routes(&f, count_route);
    add_classes(&f);
    if (n > cluster->gpus_per_server && !add_servers(&f)) {
        return false;
    }
    *cuts_p   = f.cuts;
    *n_cuts_p = f.n_cuts;
    return true;
}
