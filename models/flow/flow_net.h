/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/flow/flow_net.h -- flows over links, with max-min fair rates that are kept up to date
 * as flows come and go and links change.
 *
 * A link is *tight* when it has two or more flows that could together use more than it has; only
 * tight links couple flows. A flow without one runs at its *bound*, the slowest of its links (or a
 * cap), and nobody else is touched. A change of a tight link marks it dirty; settling finds the
 * flows that are connected to it over tight links and computes their rates anew (flow_fill.c), and
 * of no others. Of the flows of such a component only the one that ends first has an event.
 */
#ifndef CS_MODELS_FLOW_FLOW_NET_H
#define CS_MODELS_FLOW_FLOW_NET_H

#include "base/event_queue.h"
#include "cs/model.h"

typedef enum cs_flow_state {
    CS_FLOW_NONE,   /* no flow, or one that has ended */
    CS_FLOW_ALONE,  /* a message that shares nothing: only its end is known here */
    CS_FLOW_LATENT, /* its first byte has not left yet */
    CS_FLOW_ACTIVE,
} cs_flow_state;

typedef struct cs_flow {
    uint64_t      id;
    double        left_bytes; /* at since_s */
    double        since_s;
    double        s_per_byte;      /* now; 0: no rate yet */
    double        next_s_per_byte; /* while rates are computed: the new one */
    double        bound_s_per_byte;
    double        end_s;   /* at this rate; INFINITY without one */
    double        event_s; /* its event in the queue that counts, or NAN */
    uint64_t      units;   /* of demand at its bound */
    uint32_t      mark;    /* the last search that saw it */
    uint32_t      n_hops;
    cs_flow_state state;
    bool          is_fixed; /* while rates are computed */
} cs_flow;

/* A flow on a link: hop k of flow f is number f * stride + k. */
typedef struct cs_flow_hop {
    uint32_t link, before, behind; /* hop numbers + 1 in the link's list; 0: none */
} cs_flow_hop;

typedef struct cs_flow_link {
    double   s_per_byte;       /* now */
    uint64_t demand, capacity; /* in units; capacity as it is for two or more flows */
    double   left_Bps;         /* while rates are computed */
    uint32_t n_left;           /* ... flows without a rate */
    uint32_t n_flows, first;   /* hop number + 1 */
    uint32_t mark;
    bool     is_ingress, is_dirty;
} cs_flow_link;

typedef struct cs_flow_change {
    double   time_s;
    uint32_t server;
} cs_flow_change;

typedef struct cs_flow_share { /* what a link can still give to each of its flows */
    double   share_Bps;
    uint32_t link;
} cs_flow_share;

typedef struct cs_flow_net {
    const cs_ports *ports;
    double          incast_ratio;
    double          cap_s_per_byte;      /* of every flow; 0: none */
    uint32_t        n_links, stride;     /* hops per flow, at most */
    cs_flow_link   *links;               /* owned: as models/lib/links.h numbers them */
    cs_flow        *flows;               /* owned [capacity] */
    cs_flow_hop    *hops;                /* owned [capacity * stride] */
    uint32_t        capacity, n_present; /* flows that are latent or active */
    uint32_t       *dirty;               /* owned [n_links]: a stack */
    uint32_t        n_dirty, mark;
    uint32_t       *found;      /* owned [capacity]: flows of a component */
    uint32_t       *found_link; /* owned [n_links]: its tight links */
    uint32_t        n_found, n_found_links;
    cs_flow_share  *shares;  /* owned [n_links] */
    cs_flow_change *changes; /* owned: of NICs, first one first */
    size_t          n_changes, next_change;
    uint32_t       *ended; /* owned [capacity]: flows, until somebody takes them */
    uint32_t        n_ended;
    cs_event_queue *events; /* borrowed; keys: cs_flow_key() */
} cs_flow_net;

enum { CS_FLOW_BITS = 23 }; /* two flows for every message */

static inline uint64_t cs_flow_key(uint64_t id, uint32_t flow)
{
    return id << CS_FLOW_BITS | flow;
}
static inline uint32_t cs_flow_of_key(uint64_t key)
{
    return (uint32_t)(key & ((1u << CS_FLOW_BITS) - 1));
}

/* An idle network of the ports' cluster; all fields that are borrowed and the options are set. */
CS_MUST_CHECK cs_status cs_flow_net_open(cs_flow_net *net);
void                    cs_flow_net_close(cs_flow_net *net);

/* Make room for flows below `count`. */
CS_MUST_CHECK cs_status cs_flow_net_reserve(cs_flow_net *net, uint32_t count);

/* A flow of `bytes` over `n` links from `begin_s` on. */
CS_MUST_CHECK cs_status cs_flow_add(cs_flow_net *net, uint32_t flow, uint64_t id,
                                    const uint32_t *links, uint32_t n, uint64_t bytes, double now_s,
                                    double begin_s);

/* An event of a flow that is latent or active: begin or end, or nothing if it does not count. */
CS_MUST_CHECK cs_status cs_flow_event(cs_flow_net *net, cs_event event);

/* Apply the changes of NICs up to now. */
void cs_flow_catch_up(cs_flow_net *net, double now_s);

/* Bring the rates up to date. Flows that end now are put into `ended`. */
CS_MUST_CHECK cs_status cs_flow_settle(cs_flow_net *net, double now_s);

/* flow_fill.c: next_s_per_byte of every flow of the component that was found. */
void cs_flow_fill(cs_flow_net *net);

static inline bool cs_flow_is_tight(const cs_flow_link *link)
{
    /* Above that many flows the sum might not fit; they are coupled without being asked. */
    return link->n_flows >= 2 && (link->n_flows >= 8192 || link->demand > link->capacity);
}

/* What the link has for its flows now. */
static inline double cs_flow_capacity(const cs_flow_net *net, const cs_flow_link *link)
{
    bool is_incast = link->is_ingress && link->n_flows >= 2;
    return 1.0 / (is_incast ? link->s_per_byte * net->incast_ratio : link->s_per_byte);
}

#endif
