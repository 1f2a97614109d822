/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everything that needs packets to be looked at one by one: queues that drop, errors, marks and
 * transports, over lossless queues too. One event for everything that happens to a packet. Here is
 * the network: ports, their queues and links; what hosts do is in transport.c.
 *
 * PORTS. The *depth* of a port is the bytes of the packets there that start after now: neither the
 * one on the wire counts, nor the one that starts now because the port is free and not paused. A
 * packet of w bytes that comes to a switch's port
 *  - is lost if queue_bytes > 0 and depth + w > queue_bytes;
 *  - else is marked if kmax > 0 and depth > kmax, or if depth > kmin and
 *    cs_packet_draw(seed, CS_FATE_MARK, the port's link, packets that have entered the port before)
 *    < pmax * (depth - kmin) / (kmax - kmin), in doubles. Where ecn_bps > 0 a port has
 *    llround((double)kmin * (double)high_bps / (double)ecn_bps) for kmin, and so for kmax.
 * Sending ports neither drop nor mark. A mark stays on the packet.
 *
 * ERRORS. A packet that arrives over a link, at a switch or at a host, is lost if
 * cs_packet_draw(seed, CS_FATE_ERROR, link, packets that have come over the link before, lost ones
 * too) < error_rate. It never enters the port: no counter of a lossless queue has it.
 */
#include "base/alloc.h"
#include "models/packet/counters.h"
#include "models/packet/deadlock.h"
#include "models/packet/engine.h"
#include "models/packet/ring.h"
#include "models/packet/transport.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* Whole picoseconds are exact in the queue of events. */
#define MOST_PS 0x1p53

/* On its way over a link. */
typedef struct arrival {
    cs_ps     t; /* at the far end */
    cs_packet packet;
} arrival;

typedef struct port {
    cs_ring  queue;  /* of packets, at switches */
    cs_ring  flight; /* of arrivals */
    int64_t  bps;
    uint32_t next_change;
    bool     is_busy, is_paused;
    int64_t  waiting_bytes;       /* in the queue */
    uint32_t wire_bytes, wire_in; /* of the packet on the wire */
    int64_t  kmin, kmax;
    uint64_t n_entered, n_came, n_lost; /* packets: into the port, over the link, and lost there */
    cs_ps    wake_at;                   /* of the event that counts */
    /* of the link's far end */
    int64_t ingress; /* bytes that came over it and have not left the switch */
    bool    has_xoff;
} port;

typedef struct transported {
    const cs_packet_net *net; /* borrowed */
    cs_ways              ways;
    cs_packet_events     events;
    cs_event_queue      *ends;  /* borrowed */
    cs_packet_hosts     *hosts; /* owned */
    port                *ports; /* owned [n_links] */
    cs_packet_totals     totals;
    cs_status            failure;
    char                 reason[400];
} transported;

static bool is_sender(const transported *m, uint32_t link)
{
    return link < m->net->n_senders;
}

static bool can_start(const port *p)
{
    return !p->is_busy && !p->is_paused;
}

/* The port looks whether it can start something, at `t` or, if that is no later, now. */
static cs_status wake(transported *m, uint32_t link, cs_ps t)
{
    port *p = &m->ports[link];

    if (t <= m->events.now) {
        cs_packet_kick(&m->events, link);
    } else if (t < p->wake_at) {
        CS_TRY(cs_packet_put(&m->events, t, CS_PACKET_WOKEN, link));
        p->wake_at = t;
    }
    return CS_OK;
}

/* ---- pauses ---- */

/* Pause or resume the port that sends over the link. */
static cs_status send_pause(transported *m, uint32_t link, bool is_pause)
{
    const cs_packet_link *l = &m->net->links[link];
    cs_ps t = m->events.now + l->delay + cs_packet_ps(l->high_bps, CS_PAUSE_FRAME_BYTES);

    m->ports[link].has_xoff = is_pause;
    m->totals.pauses += is_pause;
    if (m->net->counters != NULL) {
        (is_pause ? cs_counters_pause : cs_counters_resume)(m->net->counters, link, t);
    }
    return cs_packet_put(&m->events, t, CS_PACKET_PAUSED, link);
}

/* A packet that came over the link is in the switch. */
static cs_status add_ingress(transported *m, uint32_t link, uint32_t bytes)
{
    port                 *p = &m->ports[link];
    const cs_packet_link *l = &m->net->links[link];

    if (!m->net->is_lossless) {
        return CS_OK;
    }
    p->ingress += bytes;
    if (p->ingress > l->xoff + m->net->headroom_bytes) {
        cs_packet_headroom_text(m->net, link, p->ingress, m->reason, sizeof m->reason);
        return CS_EWRONG;
    }
    return !p->has_xoff && p->ingress > l->xoff ? send_pause(m, link, true) : CS_OK;
}

/* .. and has left it. */
static cs_status remove_ingress(transported *m, uint32_t link, uint32_t bytes)
{
    port *p = &m->ports[link];

    if (!m->net->is_lossless) {
        return CS_OK;
    }
    p->ingress -= bytes;
    return p->has_xoff && p->ingress <= m->net->links[link].xon ? send_pause(m, link, false)
                                                                : CS_OK;
}

/* ---- links ---- */

static void set_rate(const cs_packet_link *l, port *p, cs_ps now)
{
    while (p->next_change < l->n_changes && l->changes[p->next_change].time <= now) {
        p->bps = l->changes[p->next_change++].bps;
    }
}

/* A packet starts on the link. */
static cs_status transmit(transported *m, uint32_t link, const cs_packet *x)
{
    const cs_packet_net  *net = m->net;
    const cs_packet_link *l   = &net->links[link];
    port                 *p   = &m->ports[link];
    cs_ps                 now = m->events.now;

    set_rate(l, p, now);
    cs_ps ser = cs_packet_ps(p->bps, x->bytes), lag = ser;
    if (net->cut_through_bytes > 0 && net->cut_through_bytes < (int64_t)x->bytes && !l->is_last &&
        net->links[m->ways.links[x->step + 1]].high_bps <= l->low_bps) {
        lag = cs_packet_ps(p->bps, net->cut_through_bytes);
    }
    arrival *a = cs_ring_append(&p->flight, sizeof *a);
    if (a == NULL) {
        return CS_ENOMEM;
    }
    if (net->counters != NULL) {
        cs_counters_start(net->counters, link, now, 0, 1, x->bytes, ser);
    }
    *a            = (arrival){now + lag + l->delay, *x};
    p->is_busy    = true;
    p->wire_bytes = x->bytes;
    p->wire_in    = x->in;
    CS_TRY(cs_packet_put(&m->events, now + ser, CS_PACKET_SENT, link));
    return p->flight.n == 1 ? cs_packet_put(&m->events, a->t, CS_PACKET_ARRIVED, link) : CS_OK;
}

/* The port has nothing on its wire and is not paused. */
static cs_status start(transported *m, uint32_t link)
{
    port     *p = &m->ports[link];
    cs_packet x;
    cs_ps     when;

    if (is_sender(m, link)) {
        CS_TRY(cs_hosts_start(m->hosts, link, &x, &when));
        if (when > m->events.now) {
            return when == CS_PS_NEVER ? CS_OK : wake(m, link, when);
        }
        m->totals.packets++;
        m->totals.resent += x.is_resent;
        return transmit(m, link, &x);
    }
    if (p->queue.n == 0) {
        return CS_OK;
    }
    x = *(cs_packet *)cs_ring_at(&p->queue, 0, sizeof x);
    cs_ring_drop_first(&p->queue);
    p->waiting_bytes -= x.bytes;
    return transmit(m, link, &x);
}

static cs_status end_transmission(transported *m, uint32_t link)
{
    port *p = &m->ports[link];

    p->is_busy = false;
    cs_packet_kick(&m->events, link);
    return is_sender(m, link) ? CS_OK : remove_ingress(m, p->wire_in, p->wire_bytes);
}

/* ---- queues ---- */

static void lose(transported *m, uint32_t link, const cs_packet *x)
{
    m->totals.drops++;
    if (m->net->counters != NULL) {
        cs_counters_drop(m->net->counters, link, m->events.now);
    }
    m->ports[link].n_lost++;
    cs_hosts_lose(m->hosts, x);
}

/* Does the port mark the packet that finds so many bytes? */
static bool marks(const transported *m, uint32_t link, int64_t depth)
{
    const port *p = &m->ports[link];

    if (p->kmax <= 0 || depth <= p->kmin) {
        return p->kmax > 0 && depth > p->kmax;
    }
    return depth > p->kmax ||
           cs_packet_draw(m->net->seed, CS_FATE_MARK, link, p->n_entered) <
               m->net->transport.pmax * (double)(depth - p->kmin) / (double)(p->kmax - p->kmin);
}

/* A packet is at a switch's port. */
static cs_status enter(transported *m, uint32_t link, cs_packet *x)
{
    const cs_packet_net *net   = m->net;
    port                *p     = &m->ports[link];
    int64_t              depth = p->waiting_bytes;

    if (p->queue.n > 0 && can_start(p)) {
        depth -= ((cs_packet *)cs_ring_at(&p->queue, 0, sizeof *x))->bytes; /* it starts now */
    }
    if (net->queue_bytes > 0 && depth + x->bytes > net->queue_bytes) {
        lose(m, link, x);
        return CS_OK;
    }
    if (marks(m, link, depth)) {
        x->is_marked = true;
        m->totals.marks++;
        if (net->counters != NULL) {
            cs_counters_mark(net->counters, link, m->events.now);
        }
    }
    if (net->counters != NULL) {
        cs_counters_come(net->counters, link, m->events.now, 0, 1, x->bytes);
    }
    p->n_entered++;
    p->waiting_bytes += x->bytes;
    cs_packet *last = cs_ring_append(&p->queue, sizeof *last);
    if (last == NULL) {
        return CS_ENOMEM;
    }
    *last = *x;
    if (can_start(p)) {
        cs_packet_kick(&m->events, link);
    }
    return add_ingress(m, x->in, x->bytes);
}

static cs_status arrive(transported *m, uint32_t link)
{
    port   *p          = &m->ports[link];
    double  error_rate = m->net->transport.error_rate;
    arrival a          = *(arrival *)cs_ring_at(&p->flight, 0, sizeof a);

    cs_ring_drop_first(&p->flight);
    if (p->flight.n > 0) {
        const arrival *first = cs_ring_at(&p->flight, 0, sizeof *first);
        CS_TRY(cs_packet_put(&m->events, first->t, CS_PACKET_ARRIVED, link));
    }
    uint64_t number = p->n_came++;
    if (error_rate > 0 && cs_packet_draw(m->net->seed, CS_FATE_ERROR, link, number) < error_rate) {
        lose(m, link, &a.packet);
        return CS_OK;
    }
    if (m->net->links[link].is_last) {
        return cs_hosts_receive(m->hosts, &a.packet);
    }
    a.packet.in = link;
    a.packet.step++;
    return enter(m, m->ways.links[a.packet.step], &a.packet);
}

/* ---- time ---- */

static cs_status happen(transported *m, const cs_packet_event *event)
{
    uint32_t number = event->number;

    switch (event->kind) {
    case CS_PACKET_SENT: return end_transmission(m, number);
    case CS_PACKET_PAUSED: /* in the order in which they were decided: one of each in turn */
        m->ports[number].is_paused = !m->ports[number].is_paused;
        cs_packet_kick(&m->events, number);
        return CS_OK;
    case CS_PACKET_ARRIVED: return arrive(m, number);
    case CS_PACKET_CONTROL:
    case CS_PACKET_TIMER: return cs_hosts_happen(m->hosts, event);
    case CS_PACKET_WOKEN:
        if (m->ports[number].wake_at == m->events.now) {
            m->ports[number].wake_at = CS_PS_NEVER;
        }
        cs_packet_kick(&m->events, number);
        return CS_OK;
    }
    return CS_OK;
}

static cs_status start_kicked(transported *m)
{
    cs_packet_events *e      = &m->events;
    cs_status         status = CS_OK;

    for (uint32_t i = 0; i < e->n_kicked && status == CS_OK; i++) {
        uint32_t link      = e->kicked[i];
        e->is_kicked[link] = false;
        if (can_start(&m->ports[link])) {
            status = start(m, link);
        }
    }
    e->n_kicked = 0;
    return status;
}

/* Nothing moves but timers, and no timer lets anything start? */
static bool is_stuck(const transported *m)
{
    bool is_moving = m->events.queue.count > m->events.n_timers;

    for (uint32_t s = 0; s < m->net->n_senders && !is_moving; s++) {
        is_moving = cs_hosts_are_sending(m->hosts, s) && !m->ports[s].is_paused;
    }
    return !is_moving;
}

static bool transported_is_idle(const void *state)
{
    const transported *m = state;
    return m->events.n_kicked == 0 && is_stuck(m);
}

/* All events of one picosecond. */
static cs_status pass(transported *m)
{
    cs_packet_events *e      = &m->events;
    size_t            n      = cs_events_take(&e->queue);
    cs_status         status = CS_OK;

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        cs_packet_event event = cs_packet_event_of(e->queue.batch[i].key);
        e->n_timers -= event.kind == CS_PACKET_TIMER;
        status = happen(m, &event);
    }
    return status;
}

/* One picosecond after the other: what happens before ports start, then what they start. A message
 * that is handed over when one has ended, or at the horizon, finds that picosecond's ports not
 * started yet. */
static cs_status transported_run(void *state, cs_ps horizon)
{
    transported      *m = state;
    cs_packet_events *e = &m->events;

    while (m->failure == CS_OK) {
        double limit = fmin((double)horizon, cs_events_next_s(m->ends));
        double next  = cs_events_next_s(&e->queue);
        if (next > (double)e->now && e->n_kicked > 0) {
            if ((double)e->now >= limit) {
                break;
            }
            m->failure = start_kicked(m);
            continue;
        }
        if (next > limit || !isfinite(next) || is_stuck(m)) {
            break;
        }
        if (next > MOST_PS) {
            (void)snprintf(m->reason, sizeof m->reason,
                           "packets are under way for longer than %.0f s, up to which picoseconds "
                           "are exact",
                           MOST_PS * 1e-12);
            m->failure = CS_EWRONG;
            break;
        }
        e->now     = (cs_ps)next;
        m->failure = pass(m);
    }
    return m->failure;
}

/* ---- hooks ---- */

static cs_status transported_send(void *state, const cs_packet_message *message)
{
    transported *m = state;

    CS_TRY(cs_hosts_send(m->hosts, message));
    return wake(m, message->ways[0], message->ready);
}

static void transported_close(void *state)
{
    transported *m = state;

    if (m == NULL) {
        return;
    }
    for (uint32_t l = 0; m->ports != NULL && l < m->net->n_links; l++) {
        cs_free(m->ports[l].queue.items);
        cs_free(m->ports[l].flight.items);
    }
    cs_hosts_close(m->hosts);
    cs_events_free(&m->events.queue);
    cs_free(m->ways.links);
    cs_free(m->events.is_kicked);
    cs_free(m->events.kicked);
    cs_free(m->ports);
    cs_free(m);
}

static cs_status transported_open(const cs_packet_net *net, cs_event_queue *ends, void **state_p,
                                  cs_error *err)
{
    const cs_packet_transport *t = &net->transport;
    transported               *m = CS_NEW(transported, 1);

    if (m == NULL) {
        return CS_NO_MEMORY(err, "%u links", net->n_links);
    }
    m->net              = net;
    m->ends             = ends;
    m->ports            = CS_NEW(port, net->n_links);
    m->ways             = cs_ways_of(net);
    m->hosts            = cs_hosts_open(net, &m->ways, &m->events, ends);
    m->events.is_kicked = CS_NEW(bool, net->n_links);
    m->events.kicked    = CS_NEW(uint32_t, net->n_links);
    if (m->ports == NULL || m->hosts == NULL || m->events.is_kicked == NULL ||
        m->events.kicked == NULL) {
        transported_close(m);
        return CS_NO_MEMORY(err, "%u links", net->n_links);
    }
    for (uint32_t l = 0; l < net->n_links; l++) {
        double grow = t->ecn_bps > 0 ? (double)net->links[l].high_bps : 1;
        double by   = t->ecn_bps > 0 ? (double)t->ecn_bps : 1;
        m->ports[l] = (port){.bps     = net->links[l].bps,
                             .kmin    = llround((double)t->kmin * grow / by),
                             .kmax    = llround((double)t->kmax * grow / by),
                             .wake_at = CS_PS_NEVER};
    }
    *state_p = m;
    return CS_OK;
}

static void transported_count(const void *state, cs_packet_totals *totals)
{
    *totals = ((const transported *)state)->totals;
}

/* Where packets were lost that nobody sends again; false: nowhere. */
static bool tell_losses(transported *m)
{
    uint64_t lost  = m->totals.drops;
    uint32_t worst = 0;
    char     name[64];

    if (m->net->transport.recovery != CS_RECOVER_NONE || lost == 0) {
        return false;
    }
    for (uint32_t l = 0; l < m->net->n_links; l++) {
        worst = m->ports[l].n_lost > m->ports[worst].n_lost ? l : worst;
    }
    uint64_t there    = m->ports[worst].n_lost;
    uint32_t messages = cs_hosts_count_losers(m->hosts);
    int      used = snprintf(m->reason, sizeof m->reason, "%llu packet%s of %u message%s lost at ",
                             (unsigned long long)lost, lost == 1 ? "" : "s", messages,
                        lost == 1       ? " was"
                             : messages == 1 ? " were"
                                             : "s were");
    if (there < lost) {
        used += snprintf(m->reason + used, sizeof m->reason - (size_t)used,
                         "several links, most (%llu) at ", (unsigned long long)there);
    }
    cs_packet_link_text(m->net, worst, name, sizeof name);
    (void)snprintf(m->reason + used, sizeof m->reason - (size_t)used,
                   "%s: give a transport or a larger queue", name);
    return true;
}

static void tell_deadlock(transported *m)
{
    size_t          n = 0;
    cs_packet_wait *waits;

    for (uint32_t l = 0; l < m->net->n_links; l++) {
        n += m->ports[l].queue.n;
    }
    waits = CS_NEW(cs_packet_wait, n);
    n     = 0;
    for (uint32_t l = 0; l < m->net->n_links && waits != NULL; l++) {
        const port *p = &m->ports[l];
        for (uint32_t i = 0; i < p->queue.n && p->is_paused; i++) {
            uint32_t from = ((const cs_packet *)cs_ring_at(&p->queue, i, sizeof(cs_packet)))->in;
            if (m->ports[from].is_paused) {
                waits[n++] = (cs_packet_wait){from, l};
            }
        }
    }
    cs_packet_deadlock_text(m->net, waits, n, m->reason, sizeof m->reason);
    cs_free(waits);
}

static const char *transported_why(void *state)
{
    transported *m = state;

    if (m->reason[0] == '\0' && !tell_losses(m)) {
        tell_deadlock(m);
    }
    return m->reason;
}

const cs_packet_engine cs_packet_transported = {.name    = "transported",
                                                .open    = transported_open,
                                                .send    = transported_send,
                                                .run     = transported_run,
                                                .is_idle = transported_is_idle,
                                                .why     = transported_why,
                                                .count   = transported_count,
                                                .close   = transported_close};
