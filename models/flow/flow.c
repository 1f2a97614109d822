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
#include "models/flow/flow_net.h"
#include "models/lib/links.h"
#include "models/lib/rate.h"

#include <math.h>

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
    cs_flow_net     net;
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
        cs_flow_net_close(&m->net);
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
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for the links");
    }
    m->ports          = ports;
    m->cap_s_per_byte = o->flow_cap_Bps > 0 ? 1.0 / o->flow_cap_Bps : 0;
    m->has_net        = ports->cluster->topology != NULL || (ports->uses & CS_USES_SHARED) != 0 ||
                 o->receivers == RECEIVERS_SHARE ||
                 (ports->profiles != NULL && o->flow_cap_Bps > 0);
    m->net = (cs_flow_net){.ports          = ports,
                           .incast_ratio   = o->incast_ratio,
                           .cap_s_per_byte = m->cap_s_per_byte,
                           .events         = &m->events};
    if (m->has_net && cs_flow_net_open(&m->net) != CS_OK) {
        flow_close(m);
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for the links");
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
    return m->has_net ? cs_flow_net_reserve(&m->net, 2 * capacity) : CS_OK;
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
        m->net.flows[2 * (size_t)f->handle] = (cs_flow){.id = f->id, .state = CS_FLOW_ALONE};
    }
    m->parts[f->handle] = 1;
    return cs_events_put(&m->events, end, cs_flow_key(f->id, 2 * f->handle));
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
    double    begin_s = f->start_s + f->startup_s + latency_s;
    cs_status status =
        cs_flow_add(&m->net, 2 * f->handle, f->id, links, n, f->bytes, f->start_s, begin_s);
    m->parts[f->handle] = f->is_exchange ? 2 : 1;
    if (f->is_exchange && status == CS_OK) {
        n       = cs_links_of_way(m->ports, f, true, links, &latency_s);
        begin_s = f->start_s + f->startup_s + latency_s;
        status =
            cs_flow_add(&m->net, 2 * f->handle + 1, f->id, links, n, f->bytes, f->start_s, begin_s);
    }
    return status;
}

static cs_status flow_next(void *state, double *next_s_p)
{
    flow_model  *m   = state;
    cs_flow_net *net = &m->net;

    if (net->n_dirty > 0 && cs_flow_settle(net, m->now_s) != CS_OK) {
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
    const cs_flow *f = m->has_net ? &m->net.flows[cs_flow_of_key(key)] : NULL;

    return f == NULL || (f->state == CS_FLOW_ALONE && f->id == key >> CS_FLOW_BITS);
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
                m->ended[n++] = cs_flow_of_key(event.key) / 2;
            } else {
                status = cs_flow_event(&m->net, event);
            }
        }
    }
    if (m->has_net) {
        cs_flow_catch_up(&m->net, now_s);
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
};
