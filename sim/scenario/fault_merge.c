/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From faults to the capacity that they leave together: see scenario/fault.h. Server by server,
 * from each time at which a fault begins or ends to the next one. */
#include "base/alloc.h"
#include "scenario/fault.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* A fault and its place in the list. */
typedef struct item {
    const cs_fault *fault;
    size_t          index;
    uint32_t        server;
} item;

typedef struct merger {
    const cs_cluster *cluster;
    cs_fault_limit    limit;
    item             *items;  /* [n] owned; sorted by server, begin and all else */
    double           *times;  /* [2 n] owned */
    size_t           *active; /* [n] owned; places in `items` */
    size_t            n_active;
    /* of the server in work, owned, with room for that of the largest */
    cs_nics   nics;
    uint32_t  sharers; /* GPUs of a NIC, where the cluster has no table of them */
    uint32_t  first, gpus;
    bool      is_single;
    double   *slow;  /* [nics] of a NIC; INFINITY: it is dead */
    uint32_t *users; /* [nics] GPUs that have it, before the faults */
    uint32_t *now;   /* [nics] ... and with them */
    double   *port;  /* [gpus] slowdown of a GPU's port */
    size_t   *last;  /* [gpus] the last step of a port + 1; 0: none */
    /* the result */
    cs_capacity *steps;
    size_t       n_steps;
    size_t       wrong;
} merger;

/* ---- the NICs of a server ---- */

static uint32_t sharers_of(const cs_cluster *c)
{
    return c->nics == NULL && c->nic_sharers > 1 ? c->nic_sharers : 1;
}

uint32_t cs_n_nics(const cs_cluster *cluster, uint32_t server)
{
    uint32_t sharers = sharers_of(cluster);

    return cluster->nics != NULL ? cluster->nics[server]->n
                                 : (cs_server_gpus(cluster, server) + sharers - 1) / sharers;
}

bool cs_nic_is_used(const cs_cluster *cluster, uint32_t server, uint32_t nic)
{
    const cs_nics *nics    = cluster->nics != NULL ? cluster->nics[server] : NULL;
    bool           is_used = nics == NULL;

    for (uint32_t gpu = 0; gpu < cs_server_gpus(cluster, server) && !is_used; gpu++) {
        for (uint32_t k = 0; k < nics->count[gpu]; k++) {
            is_used = is_used || nics->order[nics->first[gpu] + k] == nic;
        }
    }
    return is_used;
}

/* How many NICs a GPU has, and the k-th of them. */
static uint32_t n_slots(const merger *m, uint32_t gpu)
{
    return m->nics.count != NULL ? m->nics.count[gpu] : 1;
}

static uint32_t slot(const merger *m, uint32_t gpu, uint32_t k)
{
    return m->nics.order != NULL ? m->nics.order[m->nics.first[gpu] + k] : gpu / m->sharers;
}

static double rate_of(const merger *m, uint32_t nic)
{
    return m->nics.rate_Bps != NULL ? m->nics.rate_Bps[nic] : 1;
}

void cs_nics_slowdown(const cs_cluster *cluster, const cs_fault *faults, size_t n, uint32_t server,
                      double time_s, double *slowdown)
{
    uint32_t n_nics = cs_n_nics(cluster, server);

    for (uint32_t nic = 0; nic < n_nics; nic++) {
        slowdown[nic] = 1;
    }
    for (size_t i = 0; i < n; i++) {
        const cs_fault    *f     = &faults[i];
        const cs_capacity *c     = &f->capacity;
        bool               holds = c->from_s <= time_s && time_s < c->until_s;
        if (f->is_nic && f->server == server && holds) {
            slowdown[f->nic] *= c->slowdown;
        }
    }
}

static void enter_server(merger *m, uint32_t server)
{
    const cs_cluster *c = m->cluster;

    m->sharers = sharers_of(c);
    m->nics    = c->nics != NULL ? *c->nics[server] : (cs_nics){.n = cs_n_nics(c, server)};
    m->first   = cs_server_first(c, server);
    m->gpus    = cs_server_gpus(c, server);
    for (uint32_t nic = 0; nic < m->nics.n; nic++) {
        m->users[nic] = 0;
    }
    for (uint32_t gpu = 0; gpu < m->gpus; gpu++) {
        m->last[gpu] = 0;
        for (uint32_t k = 0; k < n_slots(m, gpu); k++) {
            m->users[slot(m, gpu, k)]++;
        }
    }
}

/* ---- what is left at a moment ---- */

/* The NIC that a GPU uses in place of its own: itself, or the next one that works; that exists. */
static uint32_t in_place_of(const merger *m, uint32_t nic, cs_failover failover)
{
    for (uint32_t k = 0; failover == CS_FAILOVER_NEIGHBOUR && k < m->nics.n; k++) {
        uint32_t next = (nic + k) % m->nics.n;
        if (m->users[next] > 0 && isfinite(m->slow[next])) {
            return next;
        }
    }
    return nic;
}

/* All ports alike: what the NICs carry together, before and now. */
static double pooled(const merger *m)
{
    double whole_Bps = 0, left_Bps = 0;

    for (uint32_t nic = 0; nic < m->nics.n; nic++) {
        if (m->users[nic] > 0) {
            whole_Bps += rate_of(m, nic);
            left_Bps += rate_of(m, nic) / m->slow[nic];
        }
    }
    return fmax(1, whole_Bps / left_Bps);
}

/* Each port by itself. */
static void set_single(merger *m, cs_failover failover)
{
    for (uint32_t nic = 0; nic < m->nics.n; nic++) {
        m->now[nic] = 0;
    }
    for (uint32_t gpu = 0; gpu < m->gpus; gpu++) {
        for (uint32_t k = 0; k < n_slots(m, gpu); k++) {
            m->now[in_place_of(m, slot(m, gpu, k), failover)]++;
        }
    }
    for (uint32_t gpu = 0; gpu < m->gpus; gpu++) {
        double whole_Bps = 0, left_Bps = 0;
        for (uint32_t k = 0; k < n_slots(m, gpu); k++) {
            uint32_t own = slot(m, gpu, k), nic = in_place_of(m, own, failover);
            whole_Bps += rate_of(m, own) / m->users[own];
            left_Bps += rate_of(m, nic) / m->slow[nic] / m->now[nic];
        }
        m->port[gpu] = fmax(1, whole_Bps / left_Bps);
    }
}

static cs_status check_slow(merger *m, double slowdown, const item *newest, cs_error *err)
{
    m->wrong = newest->index;
    if (isfinite(slowdown) && slowdown > CS_MAX_SLOWDOWN) {
        return CS_FAIL(err, CS_EINVAL, cs_fault_key(newest->fault->kind),
                       "together with the other faults of server %u it divides the rate by %.6g: "
                       "accepted are %g at most",
                       newest->server, slowdown, CS_MAX_SLOWDOWN);
    }
    return CS_OK;
}

/* Nothing is left of the server, or a GPU is cut off. */
static cs_status check_left(merger *m, const item *newest, bool is_lost, cs_error *err)
{
    m->wrong = newest->index;
    if (!is_lost || m->limit == CS_MAY_LOSE_SERVERS) {
        return CS_OK;
    }
    if (!newest->fault->is_nic) {
        return CS_FAIL(err, CS_EINVAL, cs_fault_key(newest->fault->kind),
                       "leaves no NIC of server %u, and the others cannot reach it: accepted is a "
                       "number, or one NIC ('server' and 'nic')",
                       newest->server);
    }
    return CS_FAIL(err, CS_EINVAL, "nic",
                   "the last NIC of server %u dies, which has %u for its %u GPU%s: there is no "
                   "other that could take its place, and the other servers cannot reach it",
                   newest->server, m->nics.n, m->gpus, m->gpus > 1 ? "s" : "");
}

/* The slowdowns of the ports while the active faults hold; in `pooled_p` that of all of them. */
static cs_status set_ports(merger *m, double *pooled_p, cs_error *err)
{
    double      server   = 1; /* of the faults of all NICs */
    cs_failover failover = CS_FAILOVER_POOL;
    const item *newest = &m->items[m->active[m->n_active - 1]], *worst = newest;

    for (uint32_t nic = 0; nic < m->nics.n; nic++) {
        m->slow[nic] = 1;
    }
    for (size_t i = 0; i < m->n_active; i++) {
        const item     *it       = &m->items[m->active[i]];
        const cs_fault *f        = it->fault;
        double          slowdown = f->capacity.slowdown;
        if (f->is_nic) {
            m->slow[f->nic] *= slowdown;
            failover = (cs_failover)f->failover;
        } else {
            server *= slowdown;
        }
        worst = isinf(slowdown) ? it : worst;
    }
    double all = pooled(m) * server;
    all        = m->limit == CS_MAY_LOSE_SERVERS && all >= CS_MAX_SLOWDOWN ? (double)INFINITY : all;
    CS_TRY(check_left(m, worst, isinf(all), err));
    *pooled_p = all;
    if (!m->is_single) {
        return check_slow(m, all, newest, err);
    }
    set_single(m, failover);
    for (uint32_t gpu = 0; gpu < m->gpus; gpu++) {
        m->port[gpu] *= server;
        CS_TRY(check_slow(m, m->port[gpu], newest, err));
        if (m->limit == CS_MAY_LOSE_SERVERS) {
            *pooled_p = gpu == 0 ? m->port[0] : fmax(*pooled_p, m->port[gpu]);
        }
    }
    return CS_OK;
}

/* ---- steps ---- */

/* A step of a port behind its last one, which goes on where the two are the same. */
static void add_step(merger *m, uint32_t gpu, const cs_capacity *step)
{
    size_t       last  = m->last[gpu];
    cs_capacity *steps = m->steps;
    cs_capacity *old   = last > 0 ? &steps[last - 1] : NULL;

    assert(steps != NULL);
    if (old != NULL && old->until_s >= step->from_s && old->slowdown == step->slowdown) {
        old->until_s = step->until_s;
        return;
    }
    steps[m->n_steps++] = *step;
    m->last[gpu]        = m->n_steps;
}

static cs_status add_steps(merger *m, double from_s, double until_s, cs_error *err)
{
    double all;

    CS_TRY(set_ports(m, &all, err));
    uint32_t named = m->items[m->active[0]].fault->capacity.rank;
    if (!m->is_single || m->limit == CS_MAY_LOSE_SERVERS) {
        const cs_capacity step = {named, all, from_s, until_s, false};
        add_step(m, 0, &step);
        return CS_OK;
    }
    for (uint32_t gpu = 0; gpu < m->gpus; gpu++) {
        const cs_capacity step = {m->first + gpu, m->port[gpu], from_s, until_s, true};
        if (m->port[gpu] > 1) {
            add_step(m, gpu, &step);
        }
    }
    return CS_OK;
}

static int by_number(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The times of the faults [from, end), each once; returns how many. */
static size_t list_times(const merger *m, size_t from, size_t end)
{
    size_t n = 0, kept = 0;

    for (size_t i = from; i < end; i++) {
        m->times[n++] = m->items[i].fault->capacity.from_s;
        m->times[n++] = m->items[i].fault->capacity.until_s;
    }
    qsort(m->times, n, sizeof *m->times, by_number);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || m->times[i] > m->times[kept - 1]) {
            m->times[kept++] = m->times[i];
        }
    }
    return kept;
}

/* Drop the active faults that have ended, and take those that begin. */
static size_t move_on(merger *m, size_t next, size_t end, double now_s)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->n_active; i++) {
        if (m->items[m->active[i]].fault->capacity.until_s > now_s) {
            m->active[kept++] = m->active[i];
        }
    }
    for (; next < end && m->items[next].fault->capacity.from_s <= now_s; next++) {
        m->active[kept++] = next;
    }
    m->n_active = kept;
    return next;
}

/* One failover for all NICs of a server. */
static cs_status check_failover(merger *m, size_t from, size_t end, cs_error *err)
{
    const item *first = NULL;

    m->is_single = false;
    for (size_t i = from; i < end; i++) {
        const item *it = &m->items[i];
        if (!it->fault->is_nic) {
            continue;
        }
        first        = first == NULL ? it : first;
        m->is_single = it->fault->failover != CS_FAILOVER_POOL && m->gpus > 1;
        if (it->fault->failover != first->fault->failover) {
            const item *later = it->index > first->index ? it : first;
            const item *other = later == it ? first : it;
            m->wrong          = later->index;
            return CS_FAIL(err, CS_EINVAL, "failover",
                           "%s, but %s for NIC %u of server %u: accepted is one for all NICs of a "
                           "server",
                           cs_failover_name((cs_failover)later->fault->failover),
                           cs_failover_name((cs_failover)other->fault->failover), other->fault->nic,
                           it->server);
        }
    }
    return CS_OK;
}

static cs_status merge_server(merger *m, size_t from, size_t end, cs_error *err)
{
    size_t next = from;

    enter_server(m, m->items[from].server);
    CS_TRY(check_failover(m, from, end, err));
    size_t n_times = list_times(m, from, end);
    m->n_active    = 0;
    for (size_t i = 0; i + 1 < n_times; i++) {
        next = move_on(m, next, end, m->times[i]);
        if (m->n_active > 0) {
            CS_TRY(add_steps(m, m->times[i], m->times[i + 1], err));
        }
    }
    return CS_OK;
}

/* ---- all servers ---- */

/* A total order of all that a fault says: the result does not depend on that of the list. */
static int by_server_and_time(const void *a, const void *b)
{
    const item     *x = a, *y = b;
    const cs_fault *f = x->fault, *g = y->fault;
    const double    keys[][2] = {{x->server, y->server},
                                 {f->capacity.from_s, g->capacity.from_s},
                                 {f->capacity.until_s, g->capacity.until_s},
                                 {f->is_nic, g->is_nic},
                                 {f->nic, g->nic},
                                 {f->capacity.rank, g->capacity.rank},
                                 {f->capacity.slowdown, g->capacity.slowdown}};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return (x->index > y->index) - (x->index < y->index);
}

/* Room for everything; how many steps there can be depends on the servers with faults. */
static bool allocate(merger *m, const cs_fault *faults, size_t n, cs_arena *arena)
{
    const cs_cluster *c         = m->cluster;
    uint32_t          most_nics = 1, most_gpus = c->gpus_per_server;
    bool              is_single = false;

    m->items = CS_NEW(item, n);
    for (size_t i = 0; m->items != NULL && i < n; i++) {
        uint32_t server = cs_server_of(c, faults[i].capacity.rank);
        uint32_t nics   = cs_n_nics(c, server);
        m->items[i]     = (item){&faults[i], i, server};
        most_nics       = nics > most_nics ? nics : most_nics;
        is_single       = is_single || (faults[i].is_nic && faults[i].failover != CS_FAILOVER_POOL);
    }
    m->times  = CS_NEW(double, 2 * n);
    m->active = CS_NEW(size_t, n);
    m->slow   = CS_NEW(double, most_nics);
    m->users  = CS_NEW(uint32_t, most_nics);
    m->now    = CS_NEW(uint32_t, most_nics);
    m->port   = CS_NEW(double, most_gpus);
    m->last   = CS_NEW(size_t, most_gpus);
    m->steps  = CS_ARENA_NEW(arena, cs_capacity, is_single ? 2 * n * most_gpus : 2 * n);
    return m->items != NULL && m->times != NULL && m->active != NULL && m->slow != NULL &&
           m->users != NULL && m->now != NULL && m->port != NULL && m->last != NULL &&
           m->steps != NULL;
}

static cs_status merge_all(merger *m, size_t n, cs_error *err)
{
    qsort(m->items, n, sizeof *m->items, by_server_and_time);
    for (size_t from = 0, end; from < n; from = end) {
        for (end = from; end < n && m->items[end].server == m->items[from].server;) {
            end++;
        }
        CS_TRY(merge_server(m, from, end, err));
    }
    return cs_capacity_sort(m->steps, m->n_steps, m->cluster) == CS_OK
               ? CS_OK
               : CS_NO_MEMORY(err, "faults");
}

cs_status cs_faults_merge(const cs_cluster *cluster, const cs_fault *faults, size_t n,
                          cs_fault_limit limit, cs_arena *arena, cs_capacity **steps_p, size_t *n_p,
                          size_t *wrong_p, cs_error *err)
{
    merger    m      = {.cluster = cluster, .limit = limit};
    cs_status status = CS_OK;

    if (n > 0) {
        status = allocate(&m, faults, n, arena) ? merge_all(&m, n, err)
                                                : CS_NO_MEMORY(err, "%zu faults", n);
    }
    cs_free(m.items);
    cs_free(m.times);
    cs_free(m.active);
    cs_free(m.slow);
    cs_free(m.users);
    cs_free(m.now);
    cs_free(m.port);
    cs_free(m.last);
    *wrong_p = m.wrong;
    if (status == CS_OK) {
        *steps_p = m.steps;
        *n_p     = m.n_steps;
    }
    return status;
}
