/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages are taken from the stream, queue at their ports (the port rule) and wait for their data
 * (the data rule); when they wait for nothing they start, and time goes on to the model's next
 * event or the next arrival. The two rules stand in one file with the loop, which inlines them: as
 * files of their own they make the replay of a ring on the flow model an eighth slower.
 *
 * Messages, versions, edges and groups live in pools and are named by their indices, which begin
 * at 1: 0 is nobody. A *version* is what neighbouring slots hold after one message has written
 * them; it is resolved when that message has ended and, where the message added to the slot, the
 * version before it is resolved. An *edge* is somebody who waits. A *group* is the messages of one
 * SHARED round that are on a port together, or a rank that has not arrived. */
#include "engine/dispatch.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "engine/kept.h"
#include "engine/ports.h"
#include "models/lib/serve.h"

#include <math.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 256, OFFSET_BITS = 9 };

_Static_assert(CS_DISPATCH_BLOCK == 1 << OFFSET_BITS,
               "an id is a block's number and a place in it");

/* Objects of one size in one array that grows; freed ones are used again, last one first. */
typedef struct item_pool {
    char    *items; /* owned */
    uint32_t capacity, n_used, free_list, n_free;
} item_pool;

typedef struct message_item {
    uint64_t id;
    uint64_t bytes;
    uint32_t src, dst;
    uint32_t tx, rx;  /* numbers of the ports at src and at dst */
    uint32_t next[4]; /* who stands behind it on its ports (a link), or its group on that port */
    uint32_t round;
    uint32_t waits; /* for how many ports and versions it waits */
    uint32_t next_ready;
    uint32_t versions; /* the first of those that it writes */
    uint16_t parts;
    uint8_t  fabric, n_ports;
    bool     is_shared; /* together with its group */
    bool     pays_once; /* of a SHARED group, together or not */
} message_item;

/* A message that has started; its index is the handle that the model knows. */
typedef struct flight_item {
    uint32_t next_free; /* while nobody has it */
    uint32_t message;
    double   start_s, startup_s;
} flight_item;

typedef struct version_item {
    uint32_t next;    /* of the same message */
    uint32_t pending; /* what it waits for: 2, 1 or, resolved, 0 */
    uint32_t waiters; /* edges */
    uint32_t span;    /* slots from `slot` on */
    size_t   slot;    /* [rank][slot]: the first */
} version_item;

typedef struct edge_item {
    uint32_t next;
    uint32_t target; /* message << 1, or version << 1 | 1 */
} edge_item;

typedef struct group_item {
    uint32_t next; /* who stands behind it on the port (a link) */
    uint32_t port;
    uint32_t left;    /* members that have not ended */
    uint32_t members; /* edges: who waits for the port to be granted */
    uint32_t round;
    bool     is_granted;
} group_item;

/* One port of one direction: sending port p has index p, receiving port p index n_ports + p. */
typedef struct port_queue {
    uint32_t tail;      /* a link: who came last; 0: the port is free */
    uint32_t blocking;  /* who keeps what comes later from starting now (sending ports only) */
    uint64_t remaining; /* messages that the stream still has for it (sending ports only) */
} port_queue;

/* A GPU that drives some of its NVLinks only, in one direction. Messages that the links beside
 * their own let start are *driven*, whatever else they wait for; the others wait here in stream
 * order, and the first of them keeps the others waiting. */
typedef struct link_driver {
    uint32_t first, last; /* edges: message << 2 | which of its ports */
    uint32_t n_links;     /* with driven messages that have not ended */
} link_driver;

struct cs_dispatch {
    const cs_job     *job;
    const cs_network *network;
    void             *model;            /* the model's state */
    bool              shares_receivers; /* all messages to a port are under way at once */
    bool              queues_senders;   /* a sending port passes on when its message starts */
    double            message_gap_s;    /* in SHARED groups that are served one by one */
    cs_arena          arena;
    cs_ports          ports;          /* described, without state */
    port_queue       *queues;         /* [2 * n_ports] */
    uint32_t         *group_round;    /* [2 * n_ports], or NULL without groups */
    double           *group_until_s;  /* ... when its start-up is paid */
    uint32_t         *late_groups;    /* [2 * n_ports] groups of late ranks, or NULL */
    uint32_t         *coming;         /* [n_ranks] where ranks relay: the version of what a rank
                                         begins with, until it comes; 0: it has. Or NULL */
    link_driver   *drivers;           /* [2 * n_ranks] sending, then receiving; or NULL */
    uint32_t      *n_driven;          /* [2 * n_ports] messages, or NULL */
    uint32_t      *newest;            /* [n_ends][n_slots] version, 0: resolved */
    double        *rank_free_s;       /* [n_ranks] arrival, or a barrier behind it */
    uint32_t      *by_arrival;        /* late ranks, first one first */
    uint32_t       n_late, n_arrived; /* of them */
    item_pool      flights, messages, versions, edges, groups;
    uint32_t       ready_first, ready_last; /* messages that may start */
    uint32_t       n_ports_to_fill;         /* sending ports with nothing that waits */
    uint32_t       n_live;                  /* messages in the window */
    uint64_t       n_blocks;                /* pushed in */
    double         now_s, last_end_s;
    cs_kept_blocks kept; /* for the observers */
};

/* A model that failed has no record to write the reason to. */
static cs_status model_failed(const cs_dispatch *d, cs_status status, cs_error *err)
{
    const char *why = d->network->why != NULL ? d->network->why(d->model)
                                              : "the network simulator behind it failed";

    return status == CS_ENOMEM ? CS_NO_MEMORY(err, "the transfers that are under way")
                               : CS_FAIL(err, status, "model", "%s", why);
}

/* ---- pools ---- */

static inline message_item *message_at(const cs_dispatch *d, uint32_t index)
{
    return (message_item *)(void *)d->messages.items + index;
}

static inline flight_item *flight_at(const cs_dispatch *d, uint32_t handle)
{
    return (flight_item *)(void *)d->flights.items + handle;
}

static inline version_item *version_at(const cs_dispatch *d, uint32_t index)
{
    return (version_item *)(void *)d->versions.items + index;
}

static inline edge_item *edge_at(const cs_dispatch *d, uint32_t index)
{
    return (edge_item *)(void *)d->edges.items + index;
}

static inline group_item *group_at(const cs_dispatch *d, uint32_t index)
{
    return (group_item *)(void *)d->groups.items + index;
}

static cs_status pool_grow(item_pool *pool, size_t item_bytes, size_t count)
{
    size_t need     = (size_t)pool->n_used + count + 1;
    size_t capacity = pool->capacity == 0 ? FIRST_CAPACITY : 2 * (size_t)pool->capacity;

    capacity = capacity < need ? need : capacity;
    if (capacity > UINT32_MAX >> 3) {
        return CS_ENOMEM;
    }
    char *items = cs_realloc(pool->items, capacity, item_bytes);
    if (items == NULL) {
        return CS_ENOMEM;
    }
    pool->n_used   = pool->n_used == 0 ? 1 : pool->n_used;
    pool->items    = items;
    pool->capacity = (uint32_t)capacity;
    return CS_OK;
}

/* Make sure that `count` more objects can be taken. */
static inline CS_MUST_CHECK cs_status pool_reserve(item_pool *pool, size_t item_bytes, size_t count)
{
    bool is_enough = (size_t)pool->n_free + (pool->capacity - pool->n_used) >= count;
    return is_enough ? CS_OK : pool_grow(pool, item_bytes, count);
}

/* Take an object that was reserved: the index; its bytes hold anything. */
static inline uint32_t pool_take(item_pool *pool, size_t item_bytes)
{
    uint32_t index = pool->free_list;

    if (index == 0) {
        return pool->n_used++;
    }
    /* The first word of a free object is the next one. */
    pool->free_list = *(const uint32_t *)(const void *)(pool->items + index * item_bytes);
    pool->n_free--;
    return index;
}

static inline void pool_give(item_pool *pool, size_t item_bytes, uint32_t index)
{
    *(uint32_t *)(void *)(pool->items + index * item_bytes) = pool->free_list;
    pool->free_list                                         = index;
    pool->n_free++;
}

/* A message has one thing less to wait for. */
static inline void notify(cs_dispatch *d, uint32_t index)
{
    message_item *m = message_at(d, index);

    if (--m->waits == 0) {
        m->next_ready = 0;
        if (d->ready_last == 0) {
            d->ready_first = index;
        } else {
            message_at(d, d->ready_last)->next_ready = index;
        }
        d->ready_last = index;
    }
}

/* Add an edge to a list. */
static inline void wait_in(cs_dispatch *d, uint32_t *list, uint32_t target)
{
    uint32_t index = pool_take(&d->edges, sizeof(edge_item));

    *edge_at(d, index) = (edge_item){*list, target};
    *list              = index;
}

/* ---- the port rule: who is on a port, and who stands behind ----
 *
 * A queue is a list that runs through its members: a message has one link per port, a group one.
 * The first of a queue has the port: until it ends, or where the model queues what its senders
 * send, a sending port until it starts. Where GPUs drive some of their NVLinks only, a message
 * waits for the links beside its own, too. */

/* A link names who stands behind: index << 3 | which of its links goes on, GROUP for a group. */
enum { GROUP = 4, NO_ROUND = 0 };

/* The round of all messages to a port whose receivers are shared. */
#define EVERY_ROUND UINT32_MAX

static inline uint32_t link_to(uint32_t index, uint32_t which)
{
    return index << 3 | which;
}

/* The port number `which` of a message: sending and receiving, of an exchange also back. */
static inline uint32_t port_of(const cs_dispatch *d, const message_item *m, uint32_t which)
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
static inline void block(cs_dispatch *d, port_queue *q)
{
    d->n_ports_to_fill -= q->blocking++ == 0 && q->remaining > 0;
}

static inline void unblock(cs_dispatch *d, port_queue *q)
{
    d->n_ports_to_fill += --q->blocking == 0 && q->remaining > 0;
}

static void grant_group(cs_dispatch *d, uint32_t index)
{
    group_item *g = group_at(d, index);

    g->is_granted = true;
    if (sends(d, g->port)) {
        unblock(d, &d->queues[g->port]);
    }
    for (uint32_t e = g->members, next; e != 0; e = next) {
        next = edge_at(d, e)->next;
        notify(d, edge_at(d, e)->target >> 1);
        pool_give(&d->edges, sizeof(edge_item), e);
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
        notify(d, next >> 3);
    }
}

/* Stand at the end of a queue; true when it was empty. */
static inline bool append(cs_dispatch *d, port_queue *q, uint32_t link)
{
    uint32_t tail = q->tail;

    q->tail = link;
    if (tail == 0) {
        return true;
    }
    if ((tail & 7u) == GROUP) {
        group_at(d, tail >> 3)->next = link;
    } else {
        message_at(d, tail >> 3)->next[tail & 7u] = link;
    }
    return false;
}

static uint32_t add_group(cs_dispatch *d, uint32_t port, uint32_t round)
{
    uint32_t    index = pool_take(&d->groups, sizeof(group_item));
    port_queue *q     = &d->queues[port];

    *group_at(d, index) = (group_item){.port = port, .round = round};
    bool is_first       = append(d, q, link_to(index, GROUP));
    if (sends(d, port)) {
        block(d, q);
    }
    if (is_first) {
        grant_group(d, index);
    }
    return index;
}

/* Does the message take its port together with others? */
static inline bool is_in_group(const cs_dispatch *d, const message_item *m, uint32_t port)
{
    return m->is_shared || (d->shares_receivers && !sends(d, port));
}

/* A member of a SHARED group, or a message to a port that takes all: it joins the group of its
 * round if that is the last in the queue. */
static void enter_group(cs_dispatch *d, uint32_t message, uint32_t which)
{
    message_item *m     = message_at(d, message);
    uint32_t      port  = port_of(d, m, which);
    uint32_t      tail  = d->queues[port].tail;
    uint32_t      index = tail >> 3;
    uint32_t      round = d->shares_receivers && !sends(d, port) ? EVERY_ROUND : m->round + 1;

    if (tail == 0 || (tail & 7u) != GROUP || group_at(d, index)->round != round) {
        index = add_group(d, port, round);
    }
    group_item *g  = group_at(d, index);
    m->next[which] = index;
    g->left++;
    if (!g->is_granted) {
        m->waits++;
        wait_in(d, &g->members, message << 1);
    }
}

/* The driver of port number `which` of a message. */
static inline link_driver *driver_of(const cs_dispatch *d, const message_item *m, uint32_t which)
{
    uint32_t rank = which == 0 || which == 3 ? m->src : m->dst;

    return &d->drivers[which % 2 == 0 ? rank : d->ports.n_ranks + rank];
}

/* Drive one more message on a port, if few enough of the links beside it have some. */
static bool drive(cs_dispatch *d, link_driver *driver, uint32_t port)
{
    bool is_busy = d->n_driven[port] > 0;

    if (driver->n_links - is_busy >= d->ports.links_at_once) {
        return false;
    }
    driver->n_links += !is_busy;
    d->n_driven[port]++;
    return true;
}

static bool is_driven(const cs_dispatch *d, const message_item *m)
{
    return d->drivers != NULL && m->fabric == CS_NVLINK;
}

static void enter_drivers(cs_dispatch *d, uint32_t message)
{
    message_item *m = message_at(d, message);

    for (uint32_t which = 0; which < m->n_ports; which++) {
        link_driver *driver = driver_of(d, m, which);
        if (driver->first == 0 && drive(d, driver, port_of(d, m, which))) {
            continue;
        }
        uint32_t edge     = pool_take(&d->edges, sizeof(edge_item));
        *edge_at(d, edge) = (edge_item){0, message << 2 | which};
        if (driver->first == 0) {
            driver->first = edge;
        } else {
            edge_at(d, driver->last)->next = edge;
        }
        driver->last = edge;
        m->waits++;
    }
}

/* A driven message has ended: those that wait, as far as they may. */
static void leave_drivers(cs_dispatch *d, const message_item *m)
{
    for (uint32_t which = 0; which < m->n_ports; which++) {
        link_driver *driver = driver_of(d, m, which);
        driver->n_links -= --d->n_driven[port_of(d, m, which)] == 0;
        for (uint32_t edge; (edge = driver->first) != 0;) {
            edge_item           waits = *edge_at(d, edge);
            const message_item *next  = message_at(d, waits.target >> 2);
            if (!drive(d, driver, port_of(d, next, waits.target & 3u))) {
                break;
            }
            driver->first = waits.next;
            pool_give(&d->edges, sizeof(edge_item), edge);
            notify(d, waits.target >> 2);
        }
    }
}

/* A message queues at its ports: `waits` counts those that it does not have at once. */
static void queues_enter(cs_dispatch *d, uint32_t message)
{
    message_item *m = message_at(d, message);

    if (is_driven(d, m)) {
        enter_drivers(d, message);
    }

    for (uint32_t which = 0; which < m->n_ports; which++) {
        uint32_t    port = port_of(d, m, which);
        port_queue *q    = &d->queues[port];
        if (sends(d, port)) {
            d->n_ports_to_fill -= --q->remaining == 0 && q->blocking == 0;
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
static double group_startup(cs_dispatch *d, const message_item *m)
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

/* A message starts now. Returns the start-up time that it pays. */
static double queues_start(cs_dispatch *d, const message_item *m)
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
    group_item *g = group_at(d, index);

    if (--g->left == 0) {
        uint32_t next = g->next;
        release(d, g->port, next);
        pool_give(&d->groups, sizeof(group_item), index);
    }
}

/* A message gives up one of its ports. */
static void leave_port(cs_dispatch *d, const message_item *m, uint32_t which)
{
    uint32_t port = port_of(d, m, which);

    if (is_in_group(d, m, port)) {
        leave_group(d, m->next[which]);
    } else {
        release(d, port, m->next[which]);
    }
}

/* A message has been handed over: its sending ports, unless it keeps them to its end. */
static void queues_pass_on(cs_dispatch *d, const message_item *m)
{
    for (uint32_t which = 0; d->queues_senders && which < m->n_ports; which += 2) {
        leave_port(d, m, which);
    }
}

/* A message has ended: the ports that it still has. */
static void queues_leave(cs_dispatch *d, const message_item *m)
{
    for (uint32_t which = 0; which < m->n_ports; which++) {
        if (which % 2 == 1 || !d->queues_senders) {
            leave_port(d, m, which);
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

    group_at(d, index)->left = 1;
    d->late_groups[port]     = index;
    if (sends(d, port)) {
        block(d, &d->queues[port]);
    }
}

static void open_port(cs_dispatch *d, uint32_t port)
{
    if (sends(d, port)) {
        unblock(d, &d->queues[port]);
    }
    leave_group(d, d->late_groups[port]);
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

/* Every port free. */
static cs_status queues_open(cs_dispatch *d)
{
    size_t n = 2 * (size_t)d->ports.n_ports;

    d->queues = CS_ARENA_NEW(&d->arena, port_queue, n);
    if ((d->ports.uses & CS_USES_SHARED) != 0) {
        d->group_round   = CS_ARENA_NEW(&d->arena, uint32_t, n);
        d->group_until_s = CS_ARENA_NEW(&d->arena, double, n);
        if (d->group_round == NULL || d->group_until_s == NULL) {
            return CS_ENOMEM;
        }
    }
    if (d->ports.links_at_once > 0) {
        d->drivers  = CS_ARENA_NEW(&d->arena, link_driver, 2 * (size_t)d->ports.n_ranks);
        d->n_driven = CS_ARENA_NEW(&d->arena, uint32_t, n);
        if (d->drivers == NULL || d->n_driven == NULL) {
            return CS_ENOMEM;
        }
    }
    if (d->n_late > 0 && !d->ports.ranks_relay) {
        d->late_groups = CS_ARENA_NEW(&d->arena, uint32_t, n);
        if (d->late_groups == NULL) {
            return CS_ENOMEM;
        }
    }
    if (d->queues == NULL || pool_reserve(&d->groups, sizeof(group_item), 1) != CS_OK) {
        return CS_ENOMEM;
    }
    return CS_OK;
}

/* All ports of late ranks closed. */
static cs_status queues_close_late(cs_dispatch *d)
{
    const cs_cluster *c      = d->ports.cluster;
    uint32_t          direct = c->fabrics[CS_NVLINK].kind == CS_DIRECT ? c->gpus_per_server : 1;
    size_t each = 2 * (size_t)(1 + (c->gpus_per_server > 1 ? direct : 0) + (c->sockets > 1));

    if (pool_reserve(&d->groups, sizeof(group_item), d->n_late * each) != CS_OK) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < d->n_late; i++) {
        for_ports(d, d->by_arrival[i], close_port);
    }
    return CS_OK;
}

/* A rank arrives. */
static void queues_arrive(cs_dispatch *d, uint32_t rank)
{
    for_ports(d, rank, open_port);
}

/* The stream has one more message for a sending port. */
static void queues_count(cs_dispatch *d, uint32_t tx)
{
    port_queue *q = &d->queues[tx];
    d->n_ports_to_fill += q->remaining++ == 0 && q->blocking == 0;
}

/* ---- the data rule: who has to write before a message may read ----
 *
 * A slot names the version that was written last in stream order; readers wait for the version that
 * they find, whatever is written later. Nothing is cleared when a version is resolved: a name
 * counts as long as the version is pending and has the slot among its own, for a version that takes
 * up the name again writes it into all its slots. */

enum { STRIDE = 16 }; /* slots that are compared at once */

static inline size_t slot_of(const cs_dispatch *d, uint32_t rank, uint32_t slot)
{
    return (size_t)rank * d->ports.n_slots + slot;
}

/* How many of `span` neighbours from the first one on have its name? */
static inline uint32_t same_name(const uint32_t *newest, uint32_t span)
{
    uint32_t name = newest[0], i = 1;

    for (uint32_t differences = 0; i + STRIDE <= span; i += STRIDE) {
        for (uint32_t k = 0; k < STRIDE; k++) { /* no branch: spans are long in halving */
            differences |= newest[i + k] ^ name;
        }
        if (differences != 0) {
            break;
        }
    }
    while (i < span && newest[i] == name) {
        i++;
    }
    return i;
}

/* How many of `span` neighbours from `first` on have the same name and wait for the same version
 * (0: for nothing)? The name may be that of a version of other slots, or of some of these. */
static inline uint32_t same_wait(const cs_dispatch *d, size_t first, uint32_t span,
                                 uint32_t *version_p)
{
    uint32_t            name = d->newest[first], run = same_name(d->newest + first, span);
    const version_item *v = version_at(d, name);

    *version_p = 0;
    if (name == 0 || v->pending == 0) {
        return run;
    }
    if (first < v->slot) {
        return v->slot - first < run ? (uint32_t)(v->slot - first) : run;
    }
    if (first - v->slot < v->span) {
        uint32_t left = v->span - (uint32_t)(first - v->slot);
        *version_p    = name;
        return left < run ? left : run;
    }
    return run;
}

/* How many of `span` neighbours from `first` on wait for the same version, and for which? */
static inline uint32_t same_version(const cs_dispatch *d, size_t first, uint32_t span,
                                    uint32_t *version_p)
{
    uint32_t run = same_wait(d, first, span, version_p);

    for (uint32_t version; *version_p == 0 && run < span;) {
        uint32_t more = same_wait(d, first + run, span - run, &version);
        if (version != 0) {
            break;
        }
        run += more;
    }
    return run;
}

static inline void read_slots(cs_dispatch *d, uint32_t message, size_t first, uint32_t span)
{
    for (uint32_t i = 0, version; i < span;) {
        i += same_version(d, first + i, span - i, &version);
        if (version != 0) {
            wait_in(d, &version_at(d, version)->waiters, message << 1);
            message_at(d, message)->waits++;
        }
    }
}

/* What a rank begins with, unless it is there. */
static inline uint32_t coming(const cs_dispatch *d, uint32_t rank)
{
    return d->coming != NULL ? d->coming[rank] : 0;
}

static inline void read_own(cs_dispatch *d, uint32_t message, uint32_t rank)
{
    uint32_t version = coming(d, rank);

    if (version != 0) {
        wait_in(d, &version_at(d, version)->waiters, message << 1);
        message_at(d, message)->waits++;
    }
}

/* What a message reads (all parts of it). */
static void slots_read(cs_dispatch *d, uint32_t message, const cs_transfer *t)
{
    bool is_exchange = cs_transfer_op(t) == CS_OP_EXCHANGE;

    if ((t->flags & CS_OWN_SRC) != 0) {
        read_own(d, message, t->src);
    } else {
        read_slots(d, message, slot_of(d, t->src, t->src_slot), t->span);
    }
    if (is_exchange && (t->flags & CS_OWN_DST) != 0) {
        read_own(d, message, t->dst);
    } else if (is_exchange) {
        read_slots(d, message, slot_of(d, t->dst, t->dst_slot), t->span);
    }
}

/* A new version of `span` neighbours that needs the message and, unless 0, version `before`. */
static inline void add_version(cs_dispatch *d, uint32_t message, size_t first, uint32_t span,
                               uint32_t before)
{
    uint32_t      index = pool_take(&d->versions, sizeof(version_item));
    message_item *m     = message_at(d, message);

    *version_at(d, index) = (version_item){
        .next = m->versions, .pending = before != 0 ? 2 : 1, .slot = first, .span = span};
    m->versions = index;
    for (uint32_t i = 0; i < span; i++) {
        d->newest[first + i] = index;
    }
    if (before != 0) {
        wait_in(d, &version_at(d, before)->waiters, index << 1 | 1);
    }
}

/* New versions: one for all slots or, where the message adds to them, one for all neighbours that
 * wait for the same. Where it adds to nothing it may need a version besides, or 0. */
static inline void write_slots(cs_dispatch *d, uint32_t message, size_t first, uint32_t span,
                               bool adds, uint32_t before)
{
    for (uint32_t i = 0, run; i < span; i += run) {
        run = adds ? same_version(d, first + i, span - i, &before) : span;
        add_version(d, message, first + i, run, before);
    }
}

/* What a message writes. In an exchange both ends read first, so that nothing written before can
 * still be missing. */
static void slots_write(cs_dispatch *d, uint32_t message, const cs_transfer *t)
{
    cs_op op     = cs_transfer_op(t);
    bool  is_own = op == CS_OP_REDUCE && (t->flags & CS_OWN_DST) != 0;
    bool  adds   = op == CS_OP_REDUCE && !is_own;

    write_slots(d, message, slot_of(d, t->dst, t->dst_slot), t->span, adds,
                is_own ? coming(d, t->dst) : 0);
    if (op == CS_OP_EXCHANGE) {
        write_slots(d, message, slot_of(d, t->src, t->src_slot), t->span, false, 0);
    }
}

/* A version waits for one thing less. Where nothing is left, put it on the list. */
static inline void count_down(cs_dispatch *d, uint32_t index, uint32_t *resolved)
{
    version_item *v = version_at(d, index);

    if (--v->pending == 0) {
        v->next   = *resolved;
        *resolved = index;
    }
}

static void resolve(cs_dispatch *d, uint32_t index, uint32_t *resolved)
{
    for (uint32_t e = version_at(d, index)->waiters, next; e != 0; e = next) {
        uint32_t target = edge_at(d, e)->target;
        next            = edge_at(d, e)->next;
        pool_give(&d->edges, sizeof(edge_item), e);
        if ((target & 1u) != 0) {
            count_down(d, target >> 1, resolved);
        } else {
            notify(d, target >> 1);
        }
    }
    pool_give(&d->versions, sizeof(version_item), index);
}

static void resolve_all(cs_dispatch *d, uint32_t resolved)
{
    while (resolved != 0) {
        uint32_t index = resolved;
        resolved       = version_at(d, index)->next;
        resolve(d, index, &resolved);
    }
}

/* A message has ended: what it wrote is there. */
static void slots_end(cs_dispatch *d, const message_item *m)
{
    uint32_t resolved = 0;

    for (uint32_t v = m->versions, next; v != 0; v = next) {
        next = version_at(d, v)->next;
        count_down(d, v, &resolved);
    }
    resolve_all(d, resolved);
}

/* Where ranks relay before they come: what late ones begin with is one version each. */
static cs_status slots_await(cs_dispatch *d)
{
    uint32_t span = d->job->plan.starts_own ? d->job->plan.n_chunks : 0;

    d->coming = CS_ARENA_NEW(&d->arena, uint32_t, d->ports.n_ends);
    if (d->coming == NULL || pool_reserve(&d->versions, sizeof(version_item), d->n_late) != CS_OK) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < d->n_late; i++) {
        uint32_t rank = d->by_arrival[i], index = pool_take(&d->versions, sizeof(version_item));
        size_t   first = slot_of(d, rank, 0);

        *version_at(d, index) = (version_item){.pending = 1, .slot = first, .span = span};
        d->coming[rank]       = index;
        for (uint32_t c = 0; c < span; c++) {
            d->newest[first + c] = index;
        }
    }
    return CS_OK;
}

/* A rank comes that relays. */
static void slots_arrive(cs_dispatch *d, uint32_t rank)
{
    uint32_t resolved = 0;

    count_down(d, d->coming[rank], &resolved);
    d->coming[rank] = 0;
    resolve_all(d, resolved);
}

/* ---- the loop ---- */

typedef struct arrival {
    double   time_s;
    uint32_t rank;
} arrival;

static int by_time(const void *a, const void *b)
{
    const arrival *x = a, *y = b;
    int            order = (x->time_s > y->time_s) - (x->time_s < y->time_s);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* The late ranks in the order in which they come. */
static cs_status sort_arrivals(cs_dispatch *d)
{
    uint32_t n    = d->ports.n_ranks;
    arrival *late = CS_NEW(arrival, n);

    d->rank_free_s = CS_ARENA_NEW(&d->arena, double, n);
    d->by_arrival  = CS_ARENA_NEW(&d->arena, uint32_t, n);
    if (late == NULL || d->rank_free_s == NULL || d->by_arrival == NULL) {
        cs_free(late);
        return CS_ENOMEM;
    }
    for (uint32_t r = 0; r < n; r++) {
        d->rank_free_s[r] = fmin(d->ports.arrival_s[r], 0); /* of ranks that relay: it has come */
        if (d->ports.arrival_s[r] > d->ports.first_s) {
            late[d->n_late++] = (arrival){d->ports.arrival_s[r], r};
        }
    }
    qsort(late, d->n_late, sizeof *late, by_time);
    for (uint32_t i = 0; i < d->n_late; i++) {
        d->by_arrival[i] = late[i].rank;
    }
    cs_free(late);
    return CS_OK;
}

static cs_status open_parts(cs_dispatch *d, cs_error *err)
{
    const cs_job *job = d->job;

    CS_TRY(cs_ports_describe(&d->ports, &d->arena, &job->scenario, &job->plan, err));
    d->now_s        = d->ports.first_s;
    d->kept.first_s = d->ports.first_s;
    d->last_end_s   = d->ports.first_s;
    d->newest = CS_ARENA_NEW(&d->arena, uint32_t, (size_t)d->ports.n_ends * job->plan.n_slots);
    if (d->newest == NULL || sort_arrivals(d) != CS_OK || queues_open(d) != CS_OK ||
        (d->ports.ranks_relay ? slots_await(d) : queues_close_late(d)) != CS_OK) {
        return CS_NO_MEMORY(err, "the transfers that are under way");
    }
    return d->network->open(&d->ports, &job->model_options, &d->model, err);
}

cs_status cs_dispatch_open(const cs_job *job, const cs_observer *observers, size_t n_observers,
                           cs_dispatch **dispatch_p, cs_error *err)
{
    cs_dispatch *d = CS_NEW(cs_dispatch, 1);

    if (d == NULL) {
        return CS_NO_MEMORY(err, "the transfers that are under way");
    }
    d->job     = job;
    d->network = job->model->network;
    d->shares_receivers =
        d->network->shares_receivers != NULL && d->network->shares_receivers(&job->model_options);
    d->queues_senders =
        d->network->queues_senders != NULL && d->network->queues_senders(&job->model_options);
    d->message_gap_s =
        d->network->message_gap_s != NULL ? d->network->message_gap_s(&job->model_options) : 0;
    d->kept          = (cs_kept_blocks){.observers = observers, .n_observers = n_observers};
    cs_status status = open_parts(d, err);
    if (status != CS_OK) {
        cs_dispatch_close(d);
        return status;
    }
    *dispatch_p = d;
    return CS_OK;
}

void cs_dispatch_count(cs_dispatch *dispatch, const cs_block *block)
{
    for (size_t i = 0; i < block->count; i++) {
        const cs_transfer *t = &block->transfers[i];
        if ((t->flags & CS_JOIN) != 0) {
            continue;
        }
        cs_way way = cs_way_of(&dispatch->ports, t);
        queues_count(dispatch, way.tx);
        if (way.is_exchange) {
            queues_count(dispatch, way.back_tx);
        }
    }
}

/* A message that waits for nothing. */
static cs_status start(cs_dispatch *d, uint32_t index)
{
    if (pool_reserve(&d->flights, sizeof(flight_item), 1) != CS_OK) {
        return CS_ENOMEM;
    }
    const message_item *m         = message_at(d, index);
    uint32_t            handle    = pool_take(&d->flights, sizeof(flight_item));
    double              startup_s = queues_start(d, m);
    const cs_flight     flight    = {.id          = m->id,
                                     .handle      = handle,
                                     .src         = m->src,
                                     .dst         = m->dst,
                                     .tx          = m->tx,
                                     .rx          = m->rx,
                                     .fabric      = m->fabric,
                                     .is_exchange = m->n_ports > 2,
                                     .is_alone =
                                         !m->is_shared && !d->shares_receivers && !d->queues_senders,
                                     .bytes     = m->bytes,
                                     .start_s   = d->now_s,
                                     .startup_s = startup_s};

    *flight_at(d, handle) = (flight_item){0, index, d->now_s, startup_s};
    CS_TRY(d->network->inject(d->model, &flight));
    queues_pass_on(d, m);
    return CS_OK;
}

static cs_status start_ready(cs_dispatch *d)
{
    while (d->ready_first != 0) {
        uint32_t index = d->ready_first;
        d->ready_first = message_at(d, index)->next_ready;
        d->ready_last  = d->ready_first == 0 ? 0 : d->ready_last;
        CS_TRY(start(d, index));
    }
    return CS_OK;
}

static void end(cs_dispatch *d, uint32_t handle)
{
    flight_item         flying = *flight_at(d, handle);
    const message_item *m      = message_at(d, flying.message);

    if (d->kept.n_observers > 0) {
        cs_kept_end(&d->kept, m->id >> OFFSET_BITS, m->id & (CS_DISPATCH_BLOCK - 1), m->parts,
                    (cs_interval){flying.start_s, d->now_s}, flying.startup_s);
    }
    queues_leave(d, m);
    slots_end(d, m);
    pool_give(&d->messages, sizeof(message_item), flying.message);
    pool_give(&d->flights, sizeof(flight_item), handle);
    d->last_end_s = d->now_s;
    d->n_live--;
}

static double next_arrival_s(const cs_dispatch *d)
{
    return d->n_arrived < d->n_late ? d->ports.arrival_s[d->by_arrival[d->n_arrived]]
                                    : (double)INFINITY;
}

static void let_arrive(cs_dispatch *d)
{
    while (next_arrival_s(d) <= d->now_s) {
        uint32_t rank = d->by_arrival[d->n_arrived++];
        if (d->ports.ranks_relay) {
            slots_arrive(d, rank);
        } else {
            queues_arrive(d, rank);
        }
    }
}

/* The model lets the time pass; what ended frees its ports and its readers. */
static cs_status advance(cs_dispatch *d)
{
    const uint32_t *ended = NULL;
    size_t          n     = 0;

    CS_TRY(d->network->advance(d->model, d->now_s, &ended, &n));
    for (size_t i = 0; i < n; i++) {
        end(d, ended[i]);
    }
    return CS_OK;
}

/* On to the next event; everything that ends at its time ends, and what waited for it starts. */
static cs_status step(cs_dispatch *d, cs_error *err)
{
    double    event_s = (double)INFINITY, arrival_s = next_arrival_s(d);
    cs_status status = d->network->next(d->model, &event_s);

    d->now_s = fmin(event_s, arrival_s);
    if (status == CS_OK && !isfinite(d->now_s)) {
        return CS_FAIL(err, CS_EINTERNAL, "", "%u transfers wait for something that never comes",
                       d->n_live);
    }
    if (status == CS_OK && event_s <= d->now_s) {
        status = advance(d);
    }
    if (status == CS_OK) {
        let_arrive(d);
        status = start_ready(d);
    }
    if (status != CS_OK) {
        return model_failed(d, status, err);
    }
    return d->kept.n_observers > 0 ? cs_kept_show(&d->kept, err) : CS_OK;
}

cs_status cs_dispatch_drain(cs_dispatch *dispatch, cs_error *err)
{
    while (dispatch->n_live > 0) {
        CS_TRY(step(dispatch, err));
    }
    return CS_OK;
}

/* A barrier: everything before it has ended and everybody but one has come. That one has no part
 * in it, but whatever comes later has another end, which has. */
static cs_status fence(cs_dispatch *d, const cs_block *block, cs_error *err)
{
    CS_TRY(cs_dispatch_drain(d, err)); /* now would be never */
    double latest = d->last_end_s;

    for (uint32_t r = 0; r < d->ports.n_ranks; r++) {
        latest = r == block->fence_except ? latest : fmax(latest, d->rank_free_s[r]);
    }
    latest += block->fence_s;
    for (uint32_t r = 0; r < d->ports.n_ranks; r++) {
        d->rank_free_s[r] = r == block->fence_except ? d->rank_free_s[r] : latest;
    }
    d->now_s = fmax(d->now_s, latest);
    let_arrive(d);
    return CS_OK;
}

/* Room for everything that the message needs, so that nothing behind can fail. */
static cs_status reserve(cs_dispatch *d, const cs_transfer *t, size_t parts)
{
    size_t slots = 0;

    for (size_t k = 0; k < parts; k++) {
        slots += 2 * (size_t)t[k].span;
    }
    bool failed = pool_reserve(&d->messages, sizeof(message_item), 1) != CS_OK ||
                  pool_reserve(&d->versions, sizeof(version_item), slots) != CS_OK ||
                  pool_reserve(&d->edges, sizeof(edge_item), 2 * slots + 8) != CS_OK ||
                  pool_reserve(&d->groups, sizeof(group_item), 4) != CS_OK;
    return failed ? CS_ENOMEM : CS_OK;
}

/* One message, of `parts` transfers, enters the window. */
static cs_status take(cs_dispatch *d, uint64_t id, const cs_transfer *t, size_t parts)
{
    if (reserve(d, t, parts) != CS_OK) {
        return CS_ENOMEM;
    }
    uint32_t      index = pool_take(&d->messages, sizeof(message_item));
    message_item *m     = message_at(d, index);
    cs_way        way   = cs_way_of(&d->ports, t);
    bool          group = (t->flags & CS_SHARED) != 0;

    *m = (message_item){.id        = id,
                        .src       = t->src,
                        .dst       = t->dst,
                        .tx        = way.tx,
                        .rx        = way.rx,
                        .round     = t->round,
                        .waits     = 1, /* itself: it starts below at the earliest */
                        .parts     = (uint16_t)parts,
                        .fabric    = (uint8_t)way.fabric,
                        .n_ports   = way.is_exchange ? 4 : 2,
                        .is_shared = group && d->network->shares_groups,
                        .pays_once = group};
    for (size_t k = 0; k < parts; k++) {
        m->bytes += t[k].bytes;
        slots_read(d, index, &t[k]);
    }
    for (size_t k = 0; k < parts; k++) {
        slots_write(d, index, &t[k]);
    }
    queues_enter(d, index);
    d->n_live++;
    notify(d, index);
    return start_ready(d);
}

cs_status cs_dispatch_block(cs_dispatch *dispatch, const cs_block *block, cs_error *err)
{
    cs_dispatch *d      = dispatch;
    uint64_t     id     = d->n_blocks++ << OFFSET_BITS;
    cs_status    status = CS_OK;

    if ((block->transfers[0].flags & CS_FENCE) != 0) {
        status = fence(d, block, err);
    }
    if (status == CS_OK && d->kept.n_observers > 0 && cs_kept_add(&d->kept, block) != CS_OK) {
        return CS_NO_MEMORY(err, "the transfers that are under way");
    }
    for (size_t i = 0, parts; i < block->count && status == CS_OK; i += parts) {
        while ((d->n_ports_to_fill == 0 || d->n_live >= CS_MAX_FLIGHTS - 1) && status == CS_OK) {
            status = step(d, err);
        }
        parts = cs_message_parts(&block->transfers[i], block->count - i);
        if (status == CS_OK && take(d, id + i, &block->transfers[i], parts) != CS_OK) {
            status = CS_NO_MEMORY(err, "the transfers that are under way");
        }
    }
    return status;
}

cs_status cs_dispatch_finish(cs_dispatch *dispatch, double *end_s_p, cs_error *err)
{
    cs_status status = cs_dispatch_drain(dispatch, err);
    double    end_s  = dispatch->last_end_s;

    for (uint32_t r = 0; r < dispatch->ports.n_ranks; r++) {
        end_s = fmax(end_s, dispatch->rank_free_s[r]);
    }
    *end_s_p = end_s;
    return status;
}

double cs_dispatch_last_end_s(const cs_dispatch *dispatch)
{
    return dispatch->last_end_s;
}

cs_counts cs_dispatch_counts(const cs_dispatch *dispatch)
{
    cs_counts counts = CS_NO_COUNTS;

    if (dispatch->network->count != NULL) {
        dispatch->network->count(dispatch->model, &counts);
    }
    return counts;
}

cs_status cs_dispatch_watch(cs_dispatch *dispatch, double sample_s, cs_error *err)
{
    return dispatch->network->watch(dispatch->model, sample_s) == CS_OK
               ? CS_OK
               : CS_NO_MEMORY(err, "the counters of links");
}

cs_status cs_dispatch_report(cs_dispatch *dispatch, cs_link_report *report_p, cs_error *err)
{
    const cs_dispatch *d = dispatch;

    return d->network->report(d->model, d->last_end_s, report_p) == CS_OK
               ? CS_OK
               : CS_NO_MEMORY(err, "the counters of links");
}

void cs_dispatch_close(cs_dispatch *dispatch)
{
    if (dispatch == NULL) {
        return;
    }
    if (dispatch->model != NULL) {
        dispatch->network->close(dispatch->model);
    }
    cs_kept_free(&dispatch->kept);
    cs_free(dispatch->flights.items);
    cs_free(dispatch->messages.items);
    cs_free(dispatch->versions.items);
    cs_free(dispatch->edges.items);
    cs_free(dispatch->groups.items);
    cs_arena_free(&dispatch->arena);
    cs_free(dispatch);
}
