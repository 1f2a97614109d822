/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows and links: see models/flow/flow_net.h. */
#include "models/flow/flow_net.h"

#include "base/alloc.h"
#include "models/lib/links.h"

#include <math.h>
#include <stdlib.h>

/* Times closer than this are one: what rounding may have parted. */
#define SAME_TIME 1e-13
/* Demand that is above the capacity by rounding only is not. */
#define SAME_RATE 1e-12

static void set_capacity(const cs_flow_net *net, cs_flow_link *link)
{
    double share   = link->is_ingress ? net->incast_ratio : 1;
    link->capacity = (uint64_t)(1.0 / (link->s_per_byte * share));
}

static void describe_links(cs_flow_net *net)
{
    const cs_ports    *ports = net->ports;
    const cs_topology *t     = ports->cluster->topology;

    for (uint32_t p = 0; p < ports->n_ports; p++) {
        double pace   = cs_port_s_per_byte(ports, p, ports->first_s);
        net->links[p] = (cs_flow_link){.s_per_byte = pace};
        net->links[cs_link_of_receiver(ports, p)] =
            (cs_flow_link){.s_per_byte = pace, .is_ingress = true};
    }
    for (uint32_t i = 0; t != NULL && i < t->n_links; i++) {
        const cs_link *link = &t->links[i];
        net->links[cs_link_of_inner(ports, i)] =
            (cs_flow_link){.s_per_byte = 1.0 / link->bandwidth_Bps, .is_ingress = link->is_ingress};
    }
    for (uint32_t i = 0; i < net->n_links; i++) {
        set_capacity(net, &net->links[i]);
    }
}

static int by_time(const void *a, const void *b)
{
    const cs_flow_change *x = a, *y = b;
    int                   order = (x->time_s > y->time_s) - (x->time_s < y->time_s);
    return order != 0 ? order : (x->server > y->server) - (x->server < y->server);
}

static cs_status list_changes(cs_flow_net *net)
{
    const cs_rate_profile *profiles = net->ports->profiles;
    uint32_t               servers  = profiles != NULL ? cs_n_servers(net->ports->cluster) : 0;
    size_t                 n        = 0;

    for (uint32_t s = 0; s < servers; s++) {
        n += profiles[s].n_steps - 1;
    }
    net->changes = CS_NEW(cs_flow_change, n);
    if (net->changes == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t s = 0; s < servers; s++) {
        for (size_t i = 1; i < profiles[s].n_steps; i++) {
            net->changes[net->n_changes++] = (cs_flow_change){profiles[s].step_from_s[i], s};
        }
    }
    qsort(net->changes, n, sizeof *net->changes, by_time);
    return CS_OK;
}

cs_status cs_flow_net_open(cs_flow_net *net)
{
    net->n_links    = cs_links_count(net->ports);
    net->stride     = cs_links_most_of_way(net->ports);
    net->links      = CS_NEW(cs_flow_link, net->n_links);
    net->dirty      = CS_NEW(uint32_t, net->n_links);
    net->found_link = CS_NEW(uint32_t, net->n_links);
    net->shares     = CS_NEW(cs_flow_share, net->n_links);
    if (net->links == NULL || net->dirty == NULL || net->found_link == NULL ||
        net->shares == NULL || list_changes(net) != CS_OK) {
        return CS_ENOMEM;
    }
    describe_links(net);
    return CS_OK;
}

void cs_flow_net_close(cs_flow_net *net)
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

cs_status cs_flow_net_reserve(cs_flow_net *net, uint32_t count)
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
        net->flows[i] = (cs_flow){.state = CS_FLOW_NONE};
    }
    net->capacity = capacity;
    return CS_OK;
}

static void touch(cs_flow_net *net, uint32_t index)
{
    cs_flow_link *link = &net->links[index];

    if (!link->is_dirty) {
        link->is_dirty             = true;
        net->dirty[net->n_dirty++] = index;
    }
}

/* The fastest that the flow can be. */
static void set_bound(const cs_flow_net *net, cs_flow *f, const cs_flow_hop *hop)
{
    double pace = net->cap_s_per_byte;

    for (uint32_t k = 0; k < f->n_hops; k++) {
        double link = net->links[hop[k].link].s_per_byte;
        pace        = link > pace ? link : pace;
    }
    f->bound_s_per_byte = pace;
    f->units            = (uint64_t)ceil(1.0 / pace * (1 - SAME_RATE));
}

static void join_link(cs_flow_net *net, uint32_t number, uint64_t units)
{
    cs_flow_hop  *hop  = &net->hops[number];
    cs_flow_link *link = &net->links[hop->link];

    hop->before = 0;
    hop->behind = link->first;
    if (link->first != 0) {
        net->hops[link->first - 1].before = number + 1;
    }
    link->first = number + 1;
    link->n_flows++;
    link->demand += units;
    if (cs_flow_is_tight(link)) {
        touch(net, hop->link);
    }
}

static void leave_link(cs_flow_net *net, uint32_t number, uint64_t units)
{
    const cs_flow_hop *hop  = &net->hops[number];
    cs_flow_link      *link = &net->links[hop->link];

    if (cs_flow_is_tight(link)) {
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

static cs_status put_end(cs_flow_net *net, uint32_t flow)
{
    cs_flow *f = &net->flows[flow];

    if (f->event_s == f->end_s) {
        return CS_OK;
    }
    f->event_s = f->end_s;
    return cs_events_put(net->events, f->end_s, cs_flow_key(f->id, flow));
}

static cs_status activate(cs_flow_net *net, uint32_t flow, double now_s)
{
    cs_flow     *f        = &net->flows[flow];
    size_t       first    = (size_t)flow * net->stride;
    bool         is_tight = false;
    cs_flow_hop *hop      = &net->hops[first];

    f->state   = CS_FLOW_ACTIVE;
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

static void finish(cs_flow_net *net, uint32_t flow)
{
    cs_flow *f     = &net->flows[flow];
    size_t   first = (size_t)flow * net->stride;

    for (uint32_t k = 0; k < f->n_hops; k++) {
        leave_link(net, (uint32_t)(first + k), f->units);
    }
    f->state                   = CS_FLOW_NONE;
    net->ended[net->n_ended++] = flow;
    net->n_present--;
}

cs_status cs_flow_add(cs_flow_net *net, uint32_t flow, uint64_t id, const uint32_t *links,
                      uint32_t n, uint64_t bytes, double now_s, double begin_s)
{
    cs_flow *f = &net->flows[flow];

    cs_flow_catch_up(net, now_s);
    *f = (cs_flow){.id         = id,
                   .left_bytes = (double)(int64_t)bytes,
                   .end_s      = (double)INFINITY,
                   .event_s    = begin_s,
                   .n_hops     = n,
                   .state      = CS_FLOW_LATENT};
    for (uint32_t k = 0; k < n; k++) {
        net->hops[(size_t)flow * net->stride + k].link = links[k];
    }
    net->n_present++;
    return begin_s > now_s ? cs_events_put(net->events, begin_s, cs_flow_key(id, flow))
                           : activate(net, flow, now_s);
}

cs_status cs_flow_event(cs_flow_net *net, cs_event event)
{
    uint32_t flow = cs_flow_of_key(event.key);
    cs_flow *f    = &net->flows[flow];

    if (f->event_s != event.time_s || f->id != event.key >> CS_FLOW_BITS) {
        return CS_OK; /* out of date */
    }
    if (f->state == CS_FLOW_LATENT) {
        cs_flow_catch_up(net, event.time_s);
        return activate(net, flow, event.time_s);
    }
    if (f->state == CS_FLOW_ACTIVE) {
        finish(net, flow);
    }
    return CS_OK;
}

/* A link has another rate: so may all its flows, and their demand elsewhere. */
static void change_link(cs_flow_net *net, uint32_t index, double s_per_byte)
{
    cs_flow_link *link = &net->links[index];

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
            cs_flow_link *other = &net->links[net->hops[first + k].link];
            bool          was   = cs_flow_is_tight(other);
            other->demand += f->units - before;
            if (was != cs_flow_is_tight(other)) {
                touch(net, net->hops[first + k].link);
            }
        }
    }
}

void cs_flow_catch_up(cs_flow_net *net, double now_s)
{
    const cs_ports *ports = net->ports;
    uint32_t        g     = ports->cluster->gpus_per_server;

    while (net->next_change < net->n_changes && net->changes[net->next_change].time_s <= now_s) {
        const cs_flow_change *c = &net->changes[net->next_change++];
        for (uint32_t rank = c->server * g; rank < (c->server + 1) * g; rank++) {
            double pace = cs_port_s_per_byte(ports, rank, c->time_s);
            change_link(net, rank, pace);
            change_link(net, cs_link_of_receiver(ports, rank), pace);
        }
    }
}

static void find(cs_flow_net *net, uint32_t flow)
{
    if (net->flows[flow].mark != net->mark) {
        net->flows[flow].mark      = net->mark;
        net->flows[flow].is_fixed  = false;
        net->found[net->n_found++] = flow;
    }
}

/* Everything that is connected over tight links to the flows that are found already. */
static void find_component(cs_flow_net *net)
{
    net->n_found_links = 0;
    for (uint32_t i = 0; i < net->n_found; i++) {
        const cs_flow     *f   = &net->flows[net->found[i]];
        const cs_flow_hop *hop = &net->hops[(size_t)net->found[i] * net->stride];
        for (uint32_t k = 0; k < f->n_hops; k++) {
            cs_flow_link *link = &net->links[hop[k].link];
            if (link->mark == net->mark || !cs_flow_is_tight(link)) {
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
static uint32_t finish_due(cs_flow_net *net, double now_s)
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

/* New rates for the component, and an event for the flow that ends first. */
static cs_status rate_component(cs_flow_net *net, double now_s)
{
    double   least_s = (double)INFINITY;
    uint32_t first   = 0;
    uint64_t id      = UINT64_MAX;

    cs_flow_fill(net);
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
static cs_status settle_flow(cs_flow_net *net, uint32_t flow, double now_s)
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
static cs_status settle_link(cs_flow_net *net, uint32_t index, double now_s)
{
    const cs_flow_link *link   = &net->links[index];
    cs_status           status = CS_OK;

    for (uint32_t h = link->first; h != 0 && status == CS_OK; h = net->hops[h - 1].behind) {
        uint32_t n_ended = net->n_ended;
        status           = settle_flow(net, (h - 1) / net->stride, now_s);
        if (net->n_ended > n_ended) {
            touch(net, index);
            break;
        }
    }
    return status;
}

cs_status cs_flow_settle(cs_flow_net *net, double now_s)
{
    cs_status status = CS_OK;

    if (net->n_dirty > 0) {
        net->mark++;
    }
    while (net->n_dirty > 0 && status == CS_OK) {
        uint32_t index             = net->dirty[--net->n_dirty];
        net->links[index].is_dirty = false;
        status                     = settle_link(net, index, now_s);
    }
    return status;
}
