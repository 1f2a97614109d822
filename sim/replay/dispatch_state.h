/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay/dispatch_state.h -- the parts of the dispatcher, for its own files only.
 *
 * Messages, versions, edges and groups live in pools and are named by their indices, which begin
 * at 1: 0 is nobody. A *version* is what neighbouring slots hold after one message has written
 * them; it is resolved when that message has ended and, where the message added to the slot, the
 * version before it is resolved. An *edge* is somebody who waits. A *group* is the messages of one
 * SHARED round that are on a port together, or a rank that has not arrived.
 */
#ifndef CS_REPLAY_DISPATCH_STATE_H
#define CS_REPLAY_DISPATCH_STATE_H

#include "base/arena.h"
#include "cs/model.h"
#include "replay/dispatch.h"
#include "replay/dispatch_record.h"

/* Objects of one size in one array that grows; freed ones are used again, last one first. */
typedef struct cs_pool {
    char    *items; /* owned */
    uint32_t capacity, n_used, free_list, n_free;
} cs_pool;

typedef struct cs_message {
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
} cs_message;

/* A message that has started; its index is the handle that the model knows. */
typedef struct cs_flying {
    uint32_t next_free; /* while nobody has it */
    uint32_t message;
    double   start_s, startup_s;
} cs_flying;

typedef struct cs_version {
    uint32_t next;    /* of the same message */
    uint32_t pending; /* what it waits for: 2, 1 or, resolved, 0 */
    uint32_t waiters; /* edges */
    uint32_t span;    /* slots from `slot` on */
    size_t   slot;    /* [rank][slot]: the first */
} cs_version;

typedef struct cs_edge {
    uint32_t next;
    uint32_t target; /* message << 1, or version << 1 | 1 */
} cs_edge;

typedef struct cs_group {
    uint32_t next; /* who stands behind it on the port (a link) */
    uint32_t port;
    uint32_t left;    /* members that have not ended */
    uint32_t members; /* edges: who waits for the port to be granted */
    uint32_t round;
    bool     is_granted;
} cs_group;

/* One port of one direction: sending port p has index p, receiving port p index n_ports + p. */
typedef struct cs_port_queue {
    uint32_t tail;      /* a link: who came last; 0: the port is free */
    uint32_t blocking;  /* who keeps what comes later from starting now (sending ports only) */
    uint64_t remaining; /* messages that the stream still has for it (sending ports only) */
} cs_port_queue;

/* A GPU that drives some of its NVLinks only, in one direction. Messages that the links beside
 * their own let start are *driven*, whatever else they wait for; the others wait here in stream
 * order, and the first of them keeps the others waiting. */
typedef struct cs_driver {
    uint32_t first, last; /* edges: message << 2 | which of its ports */
    uint32_t n_links;     /* with driven messages that have not ended */
} cs_driver;

struct cs_dispatch {
    const cs_replay_request *request;
    const cs_network        *network;
    void                    *model;            /* the model's state */
    bool                     shares_receivers; /* all messages to a port are under way at once */
    double                   message_gap_s;    /* in SHARED groups that are served one by one */
    cs_arena                 arena;
    cs_ports                 ports;             /* described, without state */
    cs_port_queue           *queues;            /* [2 * n_ports] */
    uint32_t                *group_round;       /* [2 * n_ports], or NULL without groups */
    double                  *group_until_s;     /* ... when its start-up is paid */
    uint32_t                *gates;             /* [2 * n_ports] groups of late ranks, or NULL */
    cs_driver               *drivers;           /* [2 * n_ranks] sending, then receiving; or NULL */
    uint32_t                *n_driven;          /* [2 * n_ports] messages, or NULL */
    uint32_t                *newest;            /* [n_ranks][n_slots] version, 0: resolved */
    double                  *rank_free_s;       /* [n_ranks] arrival, or a barrier behind it */
    uint32_t                *by_arrival;        /* late ranks, first one first */
    uint32_t                 n_late, n_arrived; /* of them */
    cs_pool                  flying, messages, versions, edges, groups;
    uint32_t                 ready_first, ready_last; /* messages that may start */
    uint32_t                 n_hungry;                /* ports for which the stream must go on */
    uint32_t                 n_live;                  /* messages in the window */
    uint64_t                 n_blocks;                /* pushed in */
    double                   now_s, last_end_s;
    cs_record                record; /* for the observers */
};

static inline cs_message *cs_message_at(const cs_dispatch *d, uint32_t index)
{
    return (cs_message *)(void *)d->messages.items + index;
}

static inline cs_flying *cs_flying_at(const cs_dispatch *d, uint32_t handle)
{
    return (cs_flying *)(void *)d->flying.items + handle;
}

static inline cs_version *cs_version_at(const cs_dispatch *d, uint32_t index)
{
    return (cs_version *)(void *)d->versions.items + index;
}

static inline cs_edge *cs_edge_at(const cs_dispatch *d, uint32_t index)
{
    return (cs_edge *)(void *)d->edges.items + index;
}

static inline cs_group *cs_group_at(const cs_dispatch *d, uint32_t index)
{
    return (cs_group *)(void *)d->groups.items + index;
}

/* Make sure that `count` more objects can be taken. */
CS_MUST_CHECK cs_status cs_pool_grow(cs_pool *pool, size_t item_bytes, size_t count);

static inline CS_MUST_CHECK cs_status cs_pool_reserve(cs_pool *pool, size_t item_bytes,
                                                      size_t count)
{
    bool is_enough = (size_t)pool->n_free + (pool->capacity - pool->n_used) >= count;
    return is_enough ? CS_OK : cs_pool_grow(pool, item_bytes, count);
}

/* Take an object that was reserved: the index; its bytes hold anything. */
static inline uint32_t cs_pool_take(cs_pool *pool, size_t item_bytes)
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

static inline void cs_pool_give(cs_pool *pool, size_t item_bytes, uint32_t index)
{
    *(uint32_t *)(void *)(pool->items + index * item_bytes) = pool->free_list;
    pool->free_list                                         = index;
    pool->n_free++;
}

/* A message has one thing less to wait for. */
static inline void cs_message_notify(cs_dispatch *d, uint32_t index)
{
    cs_message *m = cs_message_at(d, index);

    if (--m->waits == 0) {
        m->next_ready = 0;
        if (d->ready_last == 0) {
            d->ready_first = index;
        } else {
            cs_message_at(d, d->ready_last)->next_ready = index;
        }
        d->ready_last = index;
    }
}

/* Add an edge to a list. */
static inline void cs_wait_in(cs_dispatch *d, uint32_t *list, uint32_t target)
{
    uint32_t index = cs_pool_take(&d->edges, sizeof(cs_edge));

    *cs_edge_at(d, index) = (cs_edge){*list, target};
    *list                 = index;
}

/* dispatch_queue.c: the port rule. */

/* Every port free; then, all ports of late ranks closed. */
cs_status cs_queues_open(cs_dispatch *d);
cs_status cs_queues_close_late(cs_dispatch *d);
/* The stream has one more message for a sending port. */
void cs_queues_count(cs_dispatch *d, uint32_t tx);
/* A rank arrives. */
void cs_queues_arrive(cs_dispatch *d, uint32_t rank);
/* A message queues at its ports: `waits` counts those that it does not have at once. */
void cs_queues_enter(cs_dispatch *d, uint32_t message);
/* A message starts now. Returns the start-up time that it pays. */
double cs_queues_start(cs_dispatch *d, const cs_message *m);
/* A message has ended. */
void cs_queues_leave(cs_dispatch *d, const cs_message *m);

/* dispatch_slots.c: the data rule. */

/* What a message reads (all parts of it), and then what it writes. */
void cs_slots_read(cs_dispatch *d, uint32_t message, const cs_transfer *t);
void cs_slots_write(cs_dispatch *d, uint32_t message, const cs_transfer *t);
/* A message has ended: what it wrote is there. */
void cs_slots_end(cs_dispatch *d, const cs_message *m);

#endif
