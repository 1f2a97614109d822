/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flow model: messages are flows that share links max-min fairly.
 *
 * A message starts with its latency (the fabric's alpha and that of every inner link on its way),
 * during which it takes no bandwidth; then its bytes flow over the sending port, the inner links
 * of the topology and the receiving port, at the rate that max-min fairness gives it, until the
 * next flow comes or goes or a NIC changes. Ports are held from start to end, by one message at a
 * time or by the messages of one SHARED group together. A message that shares no link with any
 * other ends when alpha-beta says, to the last bit: it never enters the network of flows.
 *
 * Options for what plain max-min misses. `receivers=share`: a receiving port takes all messages
 * that come to it at once, as non-blocking receives do, which then share it; sending ports still
 * serve one message at a time. `incast_ratio`: a link that leads into a GPU and has two flows or
 * more carries so many times less; ports get several only in SHARED groups or with shared
 * receivers. `flow_cap_Bps`: no flow is faster than that whatever the links have (one connection,
 * one channel).
 *
 * Left out: packets, queues and their delay, loss, congestion control's way to the fair share,
 * adaptive routing, what each message of a SHARED group costs its ports beside its bytes.
 *
 * Source: D. Bertsekas, R. Gallager, Data Networks; the arithmetic is that of H. Casanova et al.,
 * SimGrid, JPDC 2014 (model CM02 without its TCP corrections).
 */
#include "base/alloc.h"
#include "base/event_queue.h"
#include "models/lib/links.h"
#include "models/lib/rate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* ---- flows over links ----
 *
 * Max-min fair rates that are kept up to date as flows come and go and links change.
 *
 * A link is *tight* when it has two or more flows that could together use more than it has; only
 * tight links couple flows. A flow without one runs at its *bound*, the slowest of its links (or a
 * cap), and nobody else is touched. A change of a tight link marks it dirty; settling finds the
 * flows that are connected to it over tight links and computes their rates anew, and
 * of no others. Of the flows of such a component only the one that ends first has an event. */

/* Times closer than this are one: what rounding may have parted. */
#define SAME_TIME 1e-13
/* Demand that is above the capacity by rounding only is not. */
#define SAME_RATE 1e-12

typedef enum flow_state {
    NO_FLOW, /* no flow, or one that has ended */
    ALONE,   /* a message that shares nothing: only its end is known here */
    LATENT,  /* its first byte has not left yet */
    ACTIVE,
} flow_state;

typedef struct cs_flow {
    uint64_t   id;
    double     left_bytes; /* at since_s */
    double     since_s;
    double     s_per_byte;      /* now; 0: no rate yet */
    double     next_s_per_byte; /* while rates are computed: the new one */
    double     bound_s_per_byte;
    double     end_s;   /* at this rate; INFINITY without one */
    double     event_s; /* its event in the queue that counts, or NAN */
    uint64_t   units;   /* of demand at its bound */
    uint32_t   mark;    /* the last search that saw it */
    uint32_t   n_hops;
    flow_state state;
    bool       is_fixed; /* while rates are computed */
} cs_flow;

/* A flow on a link: hop k of flow f is number f * stride + k. */
typedef struct flow_hop {
    uint32_t link, before, behind; /* hop numbers + 1 in the link's list; 0: none */
} flow_hop;

typedef struct flow_link {
    double   s_per_byte;       /* now */
    uint64_t demand, capacity; /* in units; capacity as it is for two or more flows */
    double   left_Bps;         /* while rates are computed */
    uint32_t n_left;           /* ... flows without a rate */
    uint32_t n_flows, first;   /* hop number + 1 */
    uint32_t mark;
    bool     is_ingress, is_dirty;
} flow_link;

typedef struct flow_change {
    double   time_s;
    uint32_t rank; /* whose NIC changes */
} flow_change;

typedef struct flow_share { /* what a link can still give to each of its flows */
    double   share_Bps;
    uint32_t link;
} flow_share;

typedef struct flow_net {
    const cs_ports *ports;
    double          incast_ratio;
    double          cap_s_per_byte;      /* of every flow; 0: none */
    uint32_t        n_links, stride;     /* hops per flow, at most */
    flow_link      *links;               /* owned: as models/lib/links.h numbers them */
    cs_flow        *flows;               /* owned [capacity] */
    flow_hop       *hops;                /* owned [capacity * stride] */
    uint32_t        capacity, n_present; /* flows that are latent or active */
    uint32_t       *dirty;               /* owned [n_links]: a stack */
    uint32_t        n_dirty, mark;
    uint32_t       *found;      /* owned [capacity]: flows of a component */
    uint32_t       *found_link; /* owned [n_links]: its tight links */
    uint32_t        n_found, n_found_links;
    flow_share     *shares;  /* owned [n_links] */
    flow_change    *changes; /* owned: of NICs, first one first */
    size_t          n_changes, next_change;
    uint32_t       *ended; /* owned [capacity]: flows, until somebody takes them */
    uint32_t        n_ended;
    cs_event_queue *events; /* borrowed; keys: key_of() */
} flow_net;

enum { FLOW_BITS = 23 }; /* two flows for every message */

static uint64_t key_of(uint64_t id, uint32_t flow)
{
    return id << FLOW_BITS | flow;
}
static uint32_t flow_of_key(uint64_t key)
{
    return (uint32_t)(key & ((1u << FLOW_BITS) - 1));
}

static bool is_tight(const flow_link *link)
{
    /* Above that many flows the sum might not fit; they are coupled without being asked. */
    return link->n_flows >= 2 && (link->n_flows >= 8192 || link->demand > link->capacity);
}

/* What the link has for its flows now. */
static double capacity_of(const flow_net *net, const flow_link *link)
{
    bool is_incast = link->is_ingress && link->n_flows >= 2;
    return 1.0 / (is_incast ? link->s_per_byte * net->incast_ratio : link->s_per_byte);
}

static void set_capacity(const flow_net *net, flow_link *link)
{
    double share   = link->is_ingress ? net->incast_ratio : 1;
    link->capacity = (uint64_t)(1.0 / (link->s_per_byte * share));
}

static void describe_links(flow_net *net)
{
    const cs_ports    *ports = net->ports;
    const cs_topology *t     = ports->cluster->topology;

    for (uint32_t p = 0; p < ports->n_ports; p++) {
        double pace   = cs_port_s_per_byte(ports, p, ports->first_s);
        net->links[p] = (flow_link){.s_per_byte = pace};
        net->links[cs_link_of_receiver(ports, p)] =
            (flow_link){.s_per_byte = pace, .is_ingress = true};
    }
    for (uint32_t i = 0; t != NULL && i < t->n_links; i++) {
        const cs_link *link = &t->links[i];
        net->links[cs_link_of_inner(ports, i)] =
            (flow_link){.s_per_byte = 1.0 / link->bandwidth_Bps, .is_ingress = link->is_ingress};
    }
    bool     are_slow = t != NULL && (ports->profiles != NULL || ports->nic_s_per_byte != NULL);
    uint32_t n_slow   = are_slow ? ports->n_ranks : 0, links[CS_MOST_NIC_LINKS];
    for (uint32_t rank = 0; rank < n_slow; rank++) {
        uint32_t n = cs_links_of_nic(ports, rank, links);
        for (uint32_t k = 2; k < n; k++) {
            net->links[links[k]].s_per_byte =
                cs_nic_link_s_per_byte(ports, rank, links[k], ports->first_s);
        }
    }
    for (uint32_t i = 0; i < net->n_links; i++) {
        set_capacity(net, &net->links[i]);
    }
}

static int by_time(const void *a, const void *b)
{
    const flow_change *x = a, *y = b;
    int                order = (x->time_s > y->time_s) - (x->time_s < y->time_s);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static cs_status list_changes(flow_net *net)
{
    const cs_rate_profile *profiles = net->ports->profiles;
    uint32_t               n_ranks  = profiles != NULL ? net->ports->n_ranks : 0;
    size_t                 n        = 0;

    for (uint32_t r = 0; r < n_ranks; r++) {
        n += profiles[r].n_steps - 1;
    }
    net->changes = CS_NEW(flow_change, n);
    if (net->changes == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t r = 0; r < n_ranks; r++) {
        for (size_t i = 1; i < profiles[r].n_steps; i++) {
            net->changes[net->n_changes++] = (flow_change){profiles[r].step_from_s[i], r};
        }
    }
    qsort(net->changes, n, sizeof *net->changes, by_time);
    return CS_OK;
}

/* An idle network of the ports' cluster; all fields that are borrowed and the options are set. */
static cs_status open_net(flow_net *net)
{
    net->n_links    = cs_links_count(net->ports);
    net->stride     = cs_links_most_of_way(net->ports);
    net->links      = CS_NEW(flow_link, net->n_links);
    net->dirty      = CS_NEW(uint32_t, net->n_links);
    net->found_link = CS_NEW(uint32_t, net->n_links);
    net->shares     = CS_NEW(flow_share, net->n_links);
    if (net->links == NULL || net->dirty == NULL || net->found_link == NULL ||
        net->shares == NULL || list_changes(net) != CS_OK) {
        return CS_ENOMEM;
    }
    describe_links(net);
    return CS_OK;
}

static void close_net(flow_net *net)
{
    cs_free(net->links);
    cs_free(net->dirty);
    cs_free(net->found_link);
    cs_free(net->shares);
    cs_free(net->changes);
    cs_free(net->flows);
    cs_free(net->hops);
    cs_free(net->found);
    cs_free(net->ended);
}

/* Make room for flows below `count`. */
static cs_status reserve_flows(flow_net *net, uint32_t count)
{
    uint32_t capacity = net->capacity == 0 ? 256 : net->capacity;

    if (count <= net->capacity) {
        return CS_OK;
    }
    while (capacity < count) {
        capacity *= 2;
    }
    if (!cs_resize(&net->flows, capacity, sizeof *net->flows) ||
        !cs_resize(&net->hops, capacity, net->stride * sizeof *net->hops) ||
        !cs_resize(&net->found, capacity, sizeof *net->found) ||
        !cs_resize(&net->ended, capacity, sizeof *net->ended)) {
        return CS_ENOMEM;
    }
    for (uint32_t i = net->capacity; i < capacity; i++) {
        net->flows[i] = (cs_flow){.state = NO_FLOW};
    }
    net->capacity = capacity;
    return CS_OK;
}

static void touch(flow_net *net, uint32_t index)
{
    flow_link *link = &net->links[index];

    if (!link->is_dirty) {
        link->is_dirty             = true;
        net->dirty[net->n_dirty++] = index;
    }
}

/* The fastest that the flow can be. */
static void set_bound(const flow_net *net, cs_flow *f, const flow_hop *hop)
{
    double pace = net->cap_s_per_byte;

    for (uint32_t k = 0; k < f->n_hops; k++) {
        double link = net->links[hop[k].link].s_per_byte;
        pace        = link > pace ? link : pace;
    }
    f->bound_s_per_byte = pace;
    f->units            = (uint64_t)ceil(1.0 / pace * (1 - SAME_RATE));
}

static void join_link(flow_net *net, uint32_t number, uint64_t units)
{
    flow_hop  *hop  = &net->hops[number];
    flow_link *link = &net->links[hop->link];

    hop->before = 0;
    hop->behind = link->first;
    if (link->first != 0) {
        net->hops[link->first - 1].before = number + 1;
    }
    link->first = number + 1;
    link->n_flows++;
    link->demand += units;
    if (is_tight(link)) {
        touch(net, hop->link);
    }
}

static void leave_link(flow_net *net, uint32_t number, uint64_t units)
{
    const flow_hop *hop  = &net->hops[number];
    flow_link      *link = &net->links[hop->link];

    if (is_tight(link)) {
        touch(net, hop->link);
    }
    if (hop->before != 0) {
        net->hops[hop->before - 1].behind = hop->behind;
    } else {
        link->first = hop->behind;
    }
    if (hop->behind != 0) {
        net->hops[hop->behind - 1].before = hop->before;
    }
    link->n_flows--;
    link->demand -= units;
}

/* From now on at this rate. */
static void set_rate(cs_flow *f, double s_per_byte, double now_s)
{
    if (f->s_per_byte > 0 && f->s_per_byte != s_per_byte) {
        f->left_bytes = fmax(f->left_bytes - (now_s - f->since_s) / f->s_per_byte, 0);
        f->since_s    = now_s;
    }
    if (f->s_per_byte != s_per_byte) {
        f->s_per_byte = s_per_byte;
        f->end_s      = f->since_s + f->left_bytes * s_per_byte;
    }
}

static cs_status put_end(flow_net *net, uint32_t flow)
{
    cs_flow *f = &net->flows[flow];

    if (f->event_s == f->end_s) {
        return CS_OK;
    }
    f->event_s = f->end_s;
    return cs_events_put(net->events, f->end_s, key_of(f->id, flow));
}

static cs_status activate(flow_net *net, uint32_t flow, double now_s)
{
    cs_flow  *f        = &net->flows[flow];
    size_t    first    = (size_t)flow * net->stride;
    bool      is_tight = false;
    flow_hop *hop      = &net->hops[first];

    f->state   = ACTIVE;
    f->since_s = now_s;
    f->event_s = (double)NAN;
    set_bound(net, f, hop);
    for (uint32_t k = 0; k < f->n_hops; k++) {
        join_link(net, (uint32_t)(first + k), f->units);
        is_tight = is_tight || net->links[hop[k].link].is_dirty;
    }
    if (is_tight) {
        return CS_OK; /* a rate comes when all that happens now is known */
    }
    set_rate(f, f->bound_s_per_byte, now_s);
    return put_end(net, flow);
}

static void finish(flow_net *net, uint32_t flow)
{
    cs_flow *f     = &net->flows[flow];
    size_t   first = (size_t)flow * net->stride;

    for (uint32_t k = 0; k < f->n_hops; k++) {
        leave_link(net, (uint32_t)(first + k), f->units);
    }
    f->state                   = NO_FLOW;
    net->ended[net->n_ended++] = flow;
    net->n_present--;
}

/* A link has another rate: so may all its flows, and their demand elsewhere. */
static void change_link(flow_net *net, uint32_t index, double s_per_byte)
{
    flow_link *link = &net->links[index];

    link->s_per_byte = s_per_byte;
    set_capacity(net, link);
    if (link->n_flows > 0) {
        touch(net, index);
    }
    for (uint32_t h = link->first; h != 0; h = net->hops[h - 1].behind) {
        uint32_t flow   = (h - 1) / net->stride;
        cs_flow *f      = &net->flows[flow];
        size_t   first  = (size_t)flow * net->stride;
        uint64_t before = f->units;
        set_bound(net, f, &net->hops[first]);
        for (uint32_t k = 0; k < f->n_hops; k++) {
            flow_link *other = &net->links[net->hops[first + k].link];
            bool       was   = is_tight(other);
            other->demand += f->units - before;
            if (was != is_tight(other)) {
                touch(net, net->hops[first + k].link);
            }
        }
    }
}

/* Apply the changes of NICs up to now. */
static void catch_up(flow_net *net, double now_s)
{
    const cs_ports *ports = net->ports;
    uint32_t        links[CS_MOST_NIC_LINKS];

    while (net->next_change < net->n_changes && net->changes[net->next_change].time_s <= now_s) {
        const flow_change *c = &net->changes[net->next_change++];
        uint32_t           n = cs_links_of_nic(ports, c->rank, links);
        for (uint32_t k = 0; k < n; k++) {
            change_link(net, links[k], cs_nic_link_s_per_byte(ports, c->rank, links[k], c->time_s));
        }
    }
}

/* A flow of `bytes` over `n` links from `begin_s` on. */
static cs_status add_flow(flow_net *net, uint32_t flow, uint64_t id, const uint32_t *links,
                          uint32_t n, uint64_t bytes, double now_s, double begin_s)
{
    cs_flow *f = &net->flows[flow];

    catch_up(net, now_s);
    *f = (cs_flow){.id         = id,
                   .left_bytes = (double)(int64_t)bytes,
                   .end_s      = (double)INFINITY,
                   .event_s    = begin_s,
                   .n_hops     = n,
                   .state      = LATENT};
    for (uint32_t k = 0; k < n; k++) {
        net->hops[(size_t)flow * net->stride + k].link = links[k];
    }
    net->n_present++;
    return begin_s > now_s ? cs_events_put(net->events, begin_s, key_of(id, flow))
                           : activate(net, flow, now_s);
}

/* An event of a flow that is latent or active: begin or end, or nothing if it does not count. */
static cs_status serve_event(flow_net *net, cs_event event)
{
    uint32_t flow = flow_of_key(event.key);
    cs_flow *f    = &net->flows[flow];

    if (f->event_s != event.time_s || f->id != event.key >> FLOW_BITS) {
        return CS_OK; /* out of date */
    }
    if (f->state == LATENT) {
        catch_up(net, event.time_s);
        return activate(net, flow, event.time_s);
    }
    if (f->state == ACTIVE) {
        finish(net, flow);
    }
    return CS_OK;
}

static void find(flow_net *net, uint32_t flow)
{
    if (net->flows[flow].mark != net->mark) {
        net->flows[flow].mark      = net->mark;
        net->flows[flow].is_fixed  = false;
        net->found[net->n_found++] = flow;
    }
}

/* Everything that is connected over tight links to the flows that are found already. */
static void find_component(flow_net *net)
{
    net->n_found_links = 0;
    for (uint32_t i = 0; i < net->n_found; i++) {
        const cs_flow  *f   = &net->flows[net->found[i]];
        const flow_hop *hop = &net->hops[(size_t)net->found[i] * net->stride];
        for (uint32_t k = 0; k < f->n_hops; k++) {
            flow_link *link = &net->links[hop[k].link];
            if (link->mark == net->mark || !is_tight(link)) {
                continue;
            }
            link->mark                            = net->mark;
            net->found_link[net->n_found_links++] = hop[k].link;
            for (uint32_t h = link->first; h != 0; h = net->hops[h - 1].behind) {
                find(net, (h - 1) / net->stride);
            }
        }
    }
}

/* Finish the flows of the component that end now but for rounding. How many? */
static uint32_t finish_due(flow_net *net, double now_s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < net->n_found; i++) {
        const cs_flow *f = &net->flows[net->found[i]];
        if (f->end_s <= now_s + fabs(now_s) * SAME_TIME) {
            finish(net, net->found[i]);
            n++;
        }
    }
    return n;
}

/* ---- the rates of a component ----
 *
 * Max-min fairness by progressive filling: all rates of a component rise together until a link is
 * full or a flow is at its bound; those flows are done, the others go on with what is left.
 *
 * A heap holds what every link can give to each flow that is still open. These shares only rise as
 * flows are fixed, so that a share in the heap that is out of date is too low and is corrected when
 * it gets to the top. Shares that differ by rounding only are one level and give one rate.
 *
 * O((flows * hops + links) log links). Source: D. Bertsekas, R. Gallager, Data Networks, 2nd ed.,
 * section 6.5.2. */

#define SAME_LEVEL 1e-12

static double share_of(const flow_link *link)
{
    return link->n_left > 0 ? fmax(link->left_Bps, 0) / link->n_left : (double)INFINITY;
}

static void sift_down(flow_share *heap, uint32_t n, uint32_t at)
{
    flow_share moved = heap[at];

    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1].share_Bps < heap[child].share_Bps;
        if (!(heap[child].share_Bps < moved.share_Bps)) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void open_links(flow_net *net)
{
    uint32_t n = net->n_found_links;

    for (uint32_t i = 0; i < n; i++) {
        flow_link *link = &net->links[net->found_link[i]];
        link->left_Bps  = capacity_of(net, link);
        link->n_left    = link->n_flows;
        net->shares[i]  = (flow_share){share_of(link), net->found_link[i]};
    }
    for (uint32_t i = n / 2; i-- > 0;) {
        sift_down(net->shares, n, i);
    }
}

/* Bring the smallest share that is up to date to the top; `n_p` shrinks by links that are done. */
static double least_share(flow_net *net, uint32_t *n_p)
{
    flow_share *heap = net->shares;

    while (*n_p > 0) {
        double share = share_of(&net->links[heap[0].link]);
        if (share <= heap[0].share_Bps) {
            return share;
        }
        if (isinf(share)) {
            heap[0] = heap[--*n_p];
        } else {
            heap[0].share_Bps = share;
        }
        sift_down(heap, *n_p, 0);
    }
    return (double)INFINITY;
}

static void fix(flow_net *net, uint32_t flow, double rate_Bps, double s_per_byte)
{
    cs_flow        *f   = &net->flows[flow];
    const flow_hop *hop = &net->hops[(size_t)flow * net->stride];

    f->is_fixed        = true;
    f->next_s_per_byte = s_per_byte;
    for (uint32_t k = 0; k < f->n_hops; k++) {
        flow_link *link = &net->links[hop[k].link];
        link->left_Bps -= rate_Bps;
        link->n_left--;
    }
}

static void fill_link(flow_net *net, uint32_t index, double rate_Bps)
{
    for (uint32_t h = net->links[index].first; h != 0; h = net->hops[h - 1].behind) {
        uint32_t flow = (h - 1) / net->stride;
        if (!net->flows[flow].is_fixed) {
            fix(net, flow, rate_Bps, 1.0 / rate_Bps);
        }
    }
}

/* Flows with the fastest bound last: they are the last ones to reach it. Equal ones, the common
 * case, need no sorting. */
static void sort_by_bound(flow_net *net)
{
    uint32_t *order = net->found, n = net->n_found;
    bool      is_sorted = true;

    for (uint32_t i = 1; i < n && is_sorted; i++) {
        is_sorted =
            net->flows[order[i - 1]].bound_s_per_byte >= net->flows[order[i]].bound_s_per_byte;
    }
    for (uint32_t gap = is_sorted ? 0 : n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
        for (uint32_t i = gap; i < n; i++) {
            uint32_t moved = order[i], at = i;
            double   bound = net->flows[moved].bound_s_per_byte;
            for (; at >= gap && net->flows[order[at - gap]].bound_s_per_byte < bound; at -= gap) {
                order[at] = order[at - gap];
            }
            order[at] = moved;
        }
    }
}

/* next_s_per_byte of every flow of the component that was found. */
static void fill(flow_net *net)
{
    uint32_t n_links = net->n_found_links, next = 0;
    double   level_Bps = 0;

    sort_by_bound(net);
    open_links(net);
    for (;;) {
        while (next < net->n_found && net->flows[net->found[next]].is_fixed) {
            next++;
        }
        if (next == net->n_found) {
            return;
        }
        double share_Bps = least_share(net, &n_links);
        double bound     = net->flows[net->found[next]].bound_s_per_byte;
        if (1.0 <= share_Bps * bound * (1 + SAME_LEVEL)) {
            fix(net, net->found[next], 1.0 / bound, bound);
        } else {
            level_Bps = share_Bps <= level_Bps * (1 + SAME_LEVEL) ? level_Bps : share_Bps;
            fill_link(net, net->shares[0].link, level_Bps);
        }
    }
}

/* ---- bringing rates up to date ---- */

/* New rates for the component, and an event for the flow that ends first. */
static cs_status rate_component(flow_net *net, double now_s)
{
    double   least_s = (double)INFINITY;
    uint32_t first   = 0;
    uint64_t id      = UINT64_MAX;

    fill(net);
    for (uint32_t i = 0; i < net->n_found; i++) {
        cs_flow *f = &net->flows[net->found[i]];
        set_rate(f, f->next_s_per_byte, now_s);
        if (f->end_s < least_s || (f->end_s == least_s && f->id < id)) {
            least_s = f->end_s;
            first   = net->found[i];
            id      = f->id;
        }
    }
    for (uint32_t i = 0; i < net->n_found; i++) {
        cs_flow *f = &net->flows[net->found[i]];
        f->event_s = net->found[i] == first ? f->event_s : (double)NAN;
    }
    return put_end(net, first);
}

/* The component of one flow, unless it is up to date. If some of it ended now, the rest may have
 * fallen apart: its links are dirty again, and bring every piece back. */
static cs_status settle_flow(flow_net *net, uint32_t flow, double now_s)
{
    net->n_found = 0;
    find(net, flow);
    if (net->n_found == 0) {
        return CS_OK;
    }
    find_component(net);
    if (finish_due(net, now_s) == 0) {
        return rate_component(net, now_s);
    }
    for (uint32_t i = 0; i < net->n_found; i++) {
        net->flows[net->found[i]].mark = 0;
    }
    for (uint32_t i = 0; i < net->n_found_links; i++) {
        net->links[net->found_link[i]].mark = 0;
        touch(net, net->found_link[i]);
    }
    return CS_OK;
}

/* Every flow of a link that is dirty. Where flows end the list changes: once more from the start,
 * those that are up to date cost nothing. */
static cs_status settle_link(flow_net *net, uint32_t index, double now_s)
{
    const flow_link *link = &net->links[index];

    for (uint32_t h = link->first; h != 0; h = net->hops[h - 1].behind) {
        uint32_t n_ended = net->n_ended;
        CS_TRY(settle_flow(net, (h - 1) / net->stride, now_s));
        if (net->n_ended > n_ended) {
            touch(net, index);
            break;
        }
    }
    return CS_OK;
}

/* Bring the rates up to date. Flows that end now are put into `ended`. */
static cs_status settle(flow_net *net, double now_s)
{
    if (net->n_dirty > 0) {
        net->mark++;
    }
    while (net->n_dirty > 0) {
        uint32_t index             = net->dirty[--net->n_dirty];
        net->links[index].is_dirty = false;
        CS_TRY(settle_link(net, index, now_s));
    }
    return CS_OK;
}

/* ---- the model: messages as flows ---- */

typedef struct flow_options {
    double incast_ratio;
    double flow_cap_Bps;
    int    receivers; /* RECEIVERS_QUEUE or RECEIVERS_SHARE */
} flow_options;

enum { RECEIVERS_QUEUE, RECEIVERS_SHARE };

static const cs_field flow_table[] = {
    CS_OPTION(flow_options, incast_ratio, 1, 1, 1e6,
              "how many times less a link into a GPU carries with two flows or more"),
    CS_OPTION(flow_options, flow_cap_Bps, 0, 0, 1e15, "fastest rate of one flow; 0: no limit"),
    CS_OPTION_CHOICE(flow_options, receivers, "queue|share",
                     "a receiving port takes messages one by one, or all that come together"),
    CS_FIELD_END,
};

typedef struct flow_model {
    const cs_ports *ports;
    cs_event_queue  events;
    flow_net        net;
    bool            has_net;        /* some message may share a link */
    double          cap_s_per_byte; /* of one flow; 0: none */
    double          now_s;
    uint32_t       *ended; /* owned [capacity]: messages */
    uint8_t        *parts; /* owned [capacity]: flows of a message that have not ended */
    uint32_t        capacity;
} flow_model;

static void flow_close(void *state)
{
    flow_model *m = state;

    if (m != NULL) {
        close_net(&m->net);
        cs_events_free(&m->events);
        cs_free(m->ended);
        cs_free(m->parts);
        cs_free(m);
    }
}

static cs_status flow_open(const cs_ports *ports, const void *options, void **state_p,
                           cs_error *err)
{
    const flow_options *o = options;
    flow_model         *m = CS_NEW(flow_model, 1);

    if (m == NULL) {
        return CS_NO_MEMORY(err, "the links");
    }
    m->ports          = ports;
    m->cap_s_per_byte = o->flow_cap_Bps > 0 ? 1.0 / o->flow_cap_Bps : 0;
    m->has_net        = ports->cluster->topology != NULL || (ports->uses & CS_USES_SHARED) != 0 ||
                 o->receivers == RECEIVERS_SHARE ||
                 (ports->profiles != NULL && o->flow_cap_Bps > 0);
    m->net = (flow_net){.ports          = ports,
                        .incast_ratio   = o->incast_ratio,
                        .cap_s_per_byte = m->cap_s_per_byte,
                        .events         = &m->events};
    if (m->has_net && open_net(&m->net) != CS_OK) {
        flow_close(m);
        return CS_NO_MEMORY(err, "the links");
    }
    *state_p = m;
    return CS_OK;
}

static cs_status reserve(flow_model *m, uint32_t handle)
{
    uint32_t capacity = m->capacity == 0 ? 256 : m->capacity;

    if (handle < m->capacity) {
        return CS_OK;
    }
    while (capacity <= handle) {
        capacity *= 2;
    }
    if (!cs_resize(&m->ended, capacity, sizeof *m->ended) ||
        !cs_resize(&m->parts, capacity, sizeof *m->parts)) {
        return CS_ENOMEM;
    }
    m->capacity = capacity;
    return m->has_net ? reserve_flows(&m->net, 2 * capacity) : CS_OK;
}

/* A message that shares nothing: the arithmetic of alpha-beta. */
static cs_status inject_alone(flow_model *m, const cs_flight *f)
{
    cs_transfer t     = {.src = f->src, .dst = f->dst, .bytes = f->bytes};
    double      begin = f->start_s + f->startup_s;
    double      end   = cs_flow_end_s(m->ports, &t, f->fabric, begin);

    if (m->cap_s_per_byte > 0) {
        double capped = begin + (double)(int64_t)f->bytes * m->cap_s_per_byte;
        end           = end > capped ? end : capped;
    }
    if (m->has_net) {
        m->net.flows[2 * (size_t)f->handle] = (cs_flow){.id = f->id, .state = ALONE};
    }
    m->parts[f->handle] = 1;
    return cs_events_put(&m->events, end, key_of(f->id, 2 * f->handle));
}

static cs_status flow_inject(void *state, const cs_flight *f)
{
    flow_model *m = state;
    uint32_t    links[CS_MAX_LINKS_OF_WAY];
    double      latency_s = 0;

    m->now_s = f->start_s;
    if (reserve(m, f->handle) != CS_OK) {
        return CS_ENOMEM;
    }
    uint32_t n      = m->has_net ? cs_links_of_way(m->ports, f, false, links, &latency_s) : 2;
    bool     capped = m->cap_s_per_byte > 0 && m->ports->profiles != NULL;
    if (f->is_alone && n == 2 && !capped) {
        return inject_alone(m, f);
    }
    assert(m->has_net);
    double begin_s = f->start_s + f->startup_s + latency_s;
    CS_TRY(add_flow(&m->net, 2 * f->handle, f->id, links, n, f->bytes, f->start_s, begin_s));
    m->parts[f->handle] = f->is_exchange ? 2 : 1;
    if (f->is_exchange) {
        n       = cs_links_of_way(m->ports, f, true, links, &latency_s);
        begin_s = f->start_s + f->startup_s + latency_s;
        CS_TRY(
            add_flow(&m->net, 2 * f->handle + 1, f->id, links, n, f->bytes, f->start_s, begin_s));
    }
    return CS_OK;
}

static cs_status flow_next(void *state, double *next_s_p)
{
    flow_model *m   = state;
    flow_net   *net = &m->net;

    if (net->n_dirty > 0 && settle(net, m->now_s) != CS_OK) {
        return CS_ENOMEM;
    }
    *next_s_p = net->n_ended > 0 ? m->now_s : cs_events_next_s(&m->events);
    if (net->n_present > 0 && net->next_change < net->n_changes) {
        *next_s_p = fmin(*next_s_p, net->changes[net->next_change].time_s);
    }
    return CS_OK;
}

/* Messages whose last flow has ended. */
static uint32_t take_ended(flow_model *m, uint32_t n)
{
    for (uint32_t i = 0; i < m->net.n_ended; i++) {
        uint32_t handle = m->net.ended[i] / 2;
        if (--m->parts[handle] == 0) {
            m->ended[n++] = handle;
        }
    }
    m->net.n_ended = 0;
    return n;
}

/* Is it the end of a message that shares nothing? Old events may name a place in use again. */
static bool is_alone(const flow_model *m, uint64_t key)
{
    const cs_flow *f = m->has_net ? &m->net.flows[flow_of_key(key)] : NULL;

    return f == NULL || (f->state == ALONE && f->id == key >> FLOW_BITS);
}

static cs_status flow_advance(void *state, double now_s, const uint32_t **ended_p,
                              size_t *n_ended_p)
{
    flow_model *m      = state;
    uint32_t    n      = take_ended(m, 0);
    cs_status   status = CS_OK;

    m->now_s = now_s;
    while (cs_events_next_s(&m->events) <= now_s && status == CS_OK) {
        size_t count = cs_events_take(&m->events);
        for (size_t i = 0; i < count && status == CS_OK; i++) {
            cs_event event = m->events.batch[i];
            if (is_alone(m, event.key)) {
                m->ended[n++] = flow_of_key(event.key) / 2;
            } else {
                status = serve_event(&m->net, event);
            }
        }
    }
    if (m->has_net) {
        catch_up(&m->net, now_s);
        n = take_ended(m, n);
    }
    *ended_p   = m->ended;
    *n_ended_p = n;
    return status;
}

static bool flow_shares_receivers(const void *options)
{
    return ((const flow_options *)options)->receivers == RECEIVERS_SHARE;
}

static const cs_network flow_network = {
    .shares_groups    = true,
    .shares_receivers = flow_shares_receivers,
    .open             = flow_open,
    .inject           = flow_inject,
    .next             = flow_next,
    .advance          = flow_advance,
    .close            = flow_close,
};

static double flow_latency_s(const cs_scenario *scenario, const void *options, uint32_t fabric)
{
    (void)options;
    return scenario->cluster.fabrics[fabric].alpha_s;
}

static bool flow_closed_forms_hold(const void *options, uint32_t uses)
{
    const flow_options *o = options;

    (void)uses;
    return o->flow_cap_Bps <= 0 && o->incast_ratio <= 1 && o->receivers == RECEIVERS_QUEUE;
}

const cs_model cs_model_flow = {
    .name          = "flow",
    .summary       = "max-min fair sharing of ports and links, re-rated as flows come, go and NICs "
                     "change; leaves out packets, queues, loss, adaptive routing, what each "
                     "message of a group costs",
    .source        = "D. Bertsekas, R. Gallager, Data Networks (1992), 6.5.2; H. Casanova et al., "
                     "SimGrid, JPDC 74 (2014)",
    .options       = flow_table,
    .options_bytes = sizeof(flow_options),
    .network       = &flow_network,
    .latency_s     = flow_latency_s,
    .closed_forms_hold = flow_closed_forms_hold,
    .alpha_holds_port  = true,
    .takes_switches    = true,
};
