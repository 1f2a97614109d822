/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The port rule: who is on a port, and who stands behind. A queue is a list that runs through its
 * members: a message has one link per port, a group one. The first of a queue has the port. Where
 * GPUs drive some of their NVLinks only, a message waits for the links beside its own, too. */
#include "models/lib/serve.h"
#include "replay/dispatch_state.h"

/* A link names who stands behind: index << 3 | which of its links goes on, GROUP for a group. */
enum { GROUP = 4, NO_ROUND = 0 };

/* The round of all messages to a port whose receivers are shared. */
#define EVERY_ROUND UINT32_MAX

static inline uint32_t link_to(uint32_t index, uint32_t which)
{
    return index << 3 | which;
}

/* The port number `which` of a message: sending and receiving, of an exchange also back. */
static inline uint32_t port_of(const cs_dispatch *d, const cs_message *m, uint32_t which)
{
    uint32_t n = d->ports.n_ports;

    switch (which) {
    case 0: return m->tx;
    case 1: return n + m->rx;
    case 2: return m->rx;
    default: return n + m->tx;
    }
}

static inline bool sends(const cs_dispatch *d, uint32_t port)
{
    return port < d->ports.n_ports;
}

/* One more, or one less, that keeps later messages of a sending port from starting. */
static inline void block(cs_dispatch *d, cs_port_queue *q)
{
    d->n_hungry -= q->blocking++ == 0 && q->remaining > 0;
}

static inline void unblock(cs_dispatch *d, cs_port_queue *q)
{
    d->n_hungry += --q->blocking == 0 && q->remaining > 0;
}

static void grant_group(cs_dispatch *d, uint32_t index)
{
    cs_group *g = cs_group_at(d, index);

    g->is_granted = true;
    if (sends(d, g->port)) {
        unblock(d, &d->queues[g->port]);
    }
    for (uint32_t e = g->members, next; e != 0; e = next) {
        next = cs_edge_at(d, e)->next;
        cs_message_notify(d, cs_edge_at(d, e)->target >> 1);
        cs_pool_give(&d->edges, sizeof(cs_edge), e);
    }
    g->members = 0;
}

/* Whoever had the port has gone; `next` stands behind. */
static inline void release(cs_dispatch *d, uint32_t port, uint32_t next)
{
    if (next == 0) {
        d->queues[port].tail = 0;
    } else if ((next & 7u) == GROUP) {
        grant_group(d, next >> 3);
    } else {
        cs_message_notify(d, next >> 3);
    }
}

/* Stand at the end of a queue; true when it was empty. */
static inline bool append(cs_dispatch *d, cs_port_queue *q, uint32_t link)
{
    uint32_t tail = q->tail;

    q->tail = link;
    if (tail == 0) {
        return true;
    }
    if ((tail & 7u) == GROUP) {
        cs_group_at(d, tail >> 3)->next = link;
    } else {
        cs_message_at(d, tail >> 3)->next[tail & 7u] = link;
    }
    return false;
}

static uint32_t add_group(cs_dispatch *d, uint32_t port, uint32_t round)
{
    uint32_t       index = cs_pool_take(&d->groups, sizeof(cs_group));
    cs_port_queue *q     = &d->queues[port];

    *cs_group_at(d, index) = (cs_group){.port = port, .round = round};
    bool is_first          = append(d, q, link_to(index, GROUP));
    if (sends(d, port)) {
        block(d, q);
    }
    if (is_first) {
        grant_group(d, index);
    }
    return index;
}

/* Does the message take its port together with others? */
static inline bool is_in_group(const cs_dispatch *d, const cs_message *m, uint32_t port)
{
    return m->is_shared || (d->shares_receivers && !sends(d, port));
}

/* A member of a SHARED group, or a message to a port that takes all: it joins the group of its
 * round if that is the last in the queue. */
static void enter_group(cs_dispatch *d, uint32_t message, uint32_t which)
{
    cs_message *m     = cs_message_at(d, message);
    uint32_t    port  = port_of(d, m, which);
    uint32_t    tail  = d->queues[port].tail;
    uint32_t    index = tail >> 3;
    uint32_t    round = d->shares_receivers && !sends(d, port) ? EVERY_ROUND : m->round + 1;

    if (tail == 0 || (tail & 7u) != GROUP || cs_group_at(d, index)->round != round) {
        index = add_group(d, port, round);
    }
    cs_group *g    = cs_group_at(d, index);
    m->next[which] = index;
    g->left++;
    if (!g->is_granted) {
        m->waits++;
        cs_wait_in(d, &g->members, message << 1);
    }
}

/* The driver of port number `which` of a message. */
static inline cs_driver *driver_of(const cs_dispatch *d, const cs_message *m, uint32_t which)
{
    uint32_t rank = which == 0 || which == 3 ? m->src : m->dst;

    return &d->drivers[which % 2 == 0 ? rank : d->ports.n_ranks + rank];
}

/* Drive one more message on a port, if few enough of the links beside it have some. */
static bool drive(cs_dispatch *d, cs_driver *driver, uint32_t port)
{
    bool is_busy = d->n_driven[port] > 0;

    if (driver->n_links - is_busy >= d->ports.links_at_once) {
        return false;
    }
    driver->n_links += !is_busy;
    d->n_driven[port]++;
    return true;
}

static bool is_driven(const cs_dispatch *d, const cs_message *m)
{
    return d->drivers != NULL && m->fabric == CS_NVLINK;
}

static void enter_drivers(cs_dispatch *d, uint32_t message)
{
    cs_message *m = cs_message_at(d, message);

    for (uint32_t which = 0; which < m->n_ports; which++) {
        cs_driver *driver = driver_of(d, m, which);
        if (driver->first == 0 && drive(d, driver, port_of(d, m, which))) {
            continue;
        }
        uint32_t edge        = cs_pool_take(&d->edges, sizeof(cs_edge));
        *cs_edge_at(d, edge) = (cs_edge){0, message << 2 | which};
        if (driver->first == 0) {
            driver->first = edge;
        } else {
            cs_edge_at(d, driver->last)->next = edge;
        }
        driver->last = edge;
        m->waits++;
    }
}

/* A driven message has ended: those that wait, as far as they may. */
static void leave_drivers(cs_dispatch *d, const cs_message *m)
{
    for (uint32_t which = 0; which < m->n_ports; which++) {
        cs_driver *driver = driver_of(d, m, which);
        driver->n_links -= --d->n_driven[port_of(d, m, which)] == 0;
        for (uint32_t edge; (edge = driver->first) != 0;) {
            cs_edge           waits = *cs_edge_at(d, edge);
            const cs_message *next  = cs_message_at(d, waits.target >> 2);
            if (!drive(d, driver, port_of(d, next, waits.target & 3u))) {
                break;
            }
            driver->first = waits.next;
            cs_pool_give(&d->edges, sizeof(cs_edge), edge);
            cs_message_notify(d, waits.target >> 2);
        }
    }
}

void cs_queues_enter(cs_dispatch *d, uint32_t message)
{
    cs_message *m = cs_message_at(d, message);

    if (is_driven(d, m)) {
        enter_drivers(d, message);
    }

    for (uint32_t which = 0; which < m->n_ports; which++) {
        uint32_t       port = port_of(d, m, which);
        cs_port_queue *q    = &d->queues[port];
        if (sends(d, port)) {
            d->n_hungry -= --q->remaining == 0 && q->blocking == 0;
        }
        if (is_in_group(d, m, port)) {
            enter_group(d, message, which);
            continue;
        }
        m->next[which] = 0;
        m->waits += !append(d, q, link_to(message, which));
        if (sends(d, port)) {
            block(d, q);
        }
    }
}

/* The first message of a SHARED round pays for its ports. Together: its port's start-up is over
 * alpha after the first one begins, and nothing flows before that. One by one: as on a port model.
 */
static double group_startup(cs_dispatch *d, const cs_message *m)
{
    uint32_t group = m->round + 1, tx = m->tx, rx = d->ports.n_ports + m->rx;
    double   alpha_s = d->ports.alpha_s[m->fabric], until_s = d->now_s;
    uint32_t known = cs_known_ports(group, d->group_round[tx], d->group_round[rx]);

    for (uint32_t which = 0; which < m->n_ports; which++) {
        uint32_t port = port_of(d, m, which);
        if (d->group_round[port] != group && (m->is_shared || which < 2)) {
            d->group_round[port]   = group;
            d->group_until_s[port] = d->now_s + alpha_s;
        }
        until_s = d->group_until_s[port] > until_s ? d->group_until_s[port] : until_s;
    }
    if (!m->is_shared) {
        return cs_startup_s(known, alpha_s, d->message_gap_s);
    }
    return until_s >= d->now_s + alpha_s ? alpha_s : until_s - d->now_s;
}

double cs_queues_start(cs_dispatch *d, const cs_message *m)
{
    if (!m->is_shared) {
        unblock(d, &d->queues[m->tx]);
        if (m->n_ports > 2) {
            unblock(d, &d->queues[m->rx]);
        }
    }
    return m->pays_once ? group_startup(d, m) : d->ports.alpha_s[m->fabric];
}

/* One member less; the port goes to whoever stands behind after the last one. */
static void leave_group(cs_dispatch *d, uint32_t index)
{
    cs_group *g = cs_group_at(d, index);

    if (--g->left == 0) {
        uint32_t next = g->next;
        release(d, g->port, next);
        cs_pool_give(&d->groups, sizeof(cs_group), index);
    }
}

void cs_queues_leave(cs_dispatch *d, const cs_message *m)
{
    for (uint32_t which = 0; which < m->n_ports; which++) {
        uint32_t port = port_of(d, m, which);
        if (is_in_group(d, m, port)) {
            leave_group(d, m->next[which]);
        } else {
            release(d, port, m->next[which]);
        }
    }
    if (is_driven(d, m)) {
        leave_drivers(d, m);
    }
}

/* A group of one that belongs to no round stands on every port of a rank that is not there; it
 * also keeps what comes later from starting. */
static void close_port(cs_dispatch *d, uint32_t port)
{
    uint32_t index = add_group(d, port, NO_ROUND);

    cs_group_at(d, index)->left = 1;
    d->gates[port]              = index;
    if (sends(d, port)) {
        block(d, &d->queues[port]);
    }
}

static void open_port(cs_dispatch *d, uint32_t port)
{
    if (sends(d, port)) {
        unblock(d, &d->queues[port]);
    }
    leave_group(d, d->gates[port]);
}

static void for_ports(cs_dispatch *d, uint32_t rank, void (*visit)(cs_dispatch *, uint32_t port))
{
    const cs_cluster *c       = d->ports.cluster;
    uint32_t          fabrics = cs_n_fabrics(c);

    for (uint32_t f = 0; f < fabrics; f++) {
        uint32_t each  = c->fabrics[f].kind == CS_DIRECT ? c->gpus_per_server : 1;
        uint32_t first = d->ports.port_base[f] + rank * each;
        for (uint32_t p = first; p < first + each; p++) {
            visit(d, p);
            visit(d, d->ports.n_ports + p);
        }
    }
}

cs_status cs_queues_open(cs_dispatch *d)
{
    size_t n = 2 * (size_t)d->ports.n_ports;

    d->queues = CS_ARENA_NEW(&d->arena, cs_port_queue, n);
    if ((d->ports.uses & CS_USES_SHARED) != 0) {
        d->group_round   = CS_ARENA_NEW(&d->arena, uint32_t, n);
        d->group_until_s = CS_ARENA_NEW(&d->arena, double, n);
        if (d->group_round == NULL || d->group_until_s == NULL) {
            return CS_ENOMEM;
        }
    }
    if (d->ports.links_at_once > 0) {
        d->drivers  = CS_ARENA_NEW(&d->arena, cs_driver, 2 * (size_t)d->ports.n_ranks);
        d->n_driven = CS_ARENA_NEW(&d->arena, uint32_t, n);
        if (d->drivers == NULL || d->n_driven == NULL) {
            return CS_ENOMEM;
        }
    }
    if (d->n_late > 0) {
        d->gates = CS_ARENA_NEW(&d->arena, uint32_t, n);
        if (d->gates == NULL) {
            return CS_ENOMEM;
        }
    }
    if (d->queues == NULL || cs_pool_reserve(&d->groups, sizeof(cs_group), 1) != CS_OK) {
        return CS_ENOMEM;
    }
    return CS_OK;
}

cs_status cs_queues_close_late(cs_dispatch *d)
{
    const cs_cluster *c      = d->ports.cluster;
    uint32_t          direct = c->fabrics[CS_NVLINK].kind == CS_DIRECT ? c->gpus_per_server : 1;
    size_t each = 2 * (size_t)(1 + (c->gpus_per_server > 1 ? direct : 0) + (c->sockets > 1));

    if (cs_pool_reserve(&d->groups, sizeof(cs_group), d->n_late * each) != CS_OK) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < d->n_late; i++) {
        for_ports(d, d->by_arrival[i], close_port);
    }
    return CS_OK;
}

void cs_queues_arrive(cs_dispatch *d, uint32_t rank)
{
    for_ports(d, rank, open_port);
}

void cs_queues_count(cs_dispatch *d, uint32_t tx)
{
    cs_port_queue *q = &d->queues[tx];
    d->n_hungry += q->remaining++ == 0 && q->blocking == 0;
}
