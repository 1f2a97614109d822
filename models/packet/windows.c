/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queues without limit, window by window.
 *
 * In a window every link that has something to deliver in it hands it to the inbox of the next port
 * of the way. Then nothing more can come to a port in this window: it serves its inbox in the order
 * (time, link), and what it sends is under way on its link, in order, until a later window. Start
 * times may lie far ahead, for nothing that comes later starts sooner. So there is no event and no
 * order between ports.
 *
 * What moves are runs. A run that no other one meets is served by a formula: a port that is slower
 * than the run sends one packet behind the other, one that is faster sends what has waited like
 * that and the rest as it comes. Where the port's rate changes the run is cut. Where runs meet,
 * they are cut, or taken apart into packets. Without trains all are.
 *
 * A message's packets may go several ways: they are *spread* at the next ports, so at the sending
 * port the `in` of a run is the number of its first packet. */
#include "models/packet/counters.h"
#include "models/packet/engine.h"
#include "models/packet/train.h"

#include <assert.h>

/* An output port, and the link behind it. */
typedef struct port {
    cs_runs  sent;    /* in the order in which they are at the next port */
    cs_runs  inbox;   /* what comes in this window */
    cs_ps    free;    /* when the last packet has left */
    cs_ps    until;   /* when the rate changes next */
    int64_t  bps;     /* of packets that start before that */
    cs_ps    service; /* what one of `bytes` bytes takes then */
    cs_ps    begun;   /* what the part takes that a port behind cut-through waits for */
    uint32_t bytes;
    uint32_t n_changed;
    cs_ps    delay;
    bool     is_last;
    bool     spreads; /* a sending port whose messages may go several ways */
} port;

typedef struct message {
    uint64_t key;
    cs_ps    end; /* the latest arrival */
    uint32_t n_missing;
    uint32_t first_path, n_paths;
    bool     is_mixed; /* some of its ways cut through behind the sending port, others do not */
} message;

typedef struct engine {
    const cs_packet_net *net;
    cs_event_queue      *ends;
    port                *ports; /* owned [n_links] */
    cs_calendar          calendar;
    message             *messages; /* owned [n_messages] */
    size_t               n_messages;
    cs_ways              ways;     /* of messages; a run's step is a place in them */
    cs_link_set          bringing; /* links that bring something in this window */
    uint32_t            *touched;  /* owned [n_links]: ports that it comes to */
    uint32_t             n_touched;
    cs_run_order         order;
    uint64_t             n_packets;
} engine;

/* ---- what leaves a port ---- */

static inline message *message_of(const engine *e, const cs_run *r)
{
    return &e->messages[cs_step_message(&e->ways, r->step)];
}

/* The step of the way that a packet takes, for one of the first way. */
static inline uint32_t step_of(const engine *e, const message *m, uint32_t step, uint32_t packet)
{
    uint32_t path = (uint32_t)(((uint64_t)m->first_path + packet) % m->n_paths);
    return step + path * e->ways.width;
}

/* Does the next port begin with a packet before it has it all? */
static bool cuts_through(const engine *e, uint32_t link, uint32_t next)
{
    return e->net->links[next].high_bps <= e->net->links[link].low_bps;
}

/* How long after its start has a packet of a run passed the port, for the one behind it? */
static cs_ps lag_of(const engine *e, uint32_t link, const cs_run *r, uint32_t packet, cs_ps service)
{
    uint32_t step = r->step;

    if (e->net->cut_through_bytes >= r->bytes) {
        return service;
    }
    if (e->ports[link].spreads) {
        step = step_of(e, message_of(e, r), step, packet);
    }
    return cuts_through(e, link, e->ways.links[step + 1]) ? e->ports[link].begun : service;
}

static cs_status deliver(engine *e, const cs_run *r, uint32_t count, cs_ps last)
{
    message *m = message_of(e, r);

    m->end = last > m->end ? last : m->end;
    m->n_missing -= count;
    return m->n_missing > 0 ? CS_OK : cs_events_put(e->ends, (double)m->end, m->key);
}

/* Packets like those of `r` start on a link, at t, t + gap, ..; `packet` is the number of the first
 * one, at a sending port. */
static inline cs_status leave(engine *e, uint32_t link, const cs_run *r, cs_ps t, cs_ps gap,
                              uint32_t count, uint32_t packet, cs_ps service)
{
    port    *p = &e->ports[link];
    cs_runs *q = &p->sent;
    cs_ps    lag;

    if (e->net->counters != NULL) {
        cs_counters_start(e->net->counters, link, t, gap, count, r->bytes, service);
    }
    if (p->is_last) {
        return deliver(e, r, count, t + (cs_ps)(count - 1) * gap + service + p->delay);
    }
    lag = e->net->cut_through_bytes > 0 ? lag_of(e, link, r, packet, service) : service;
    t += p->delay + lag;
    if (q->n == 0) {
        cs_calendar_put(&e->calendar, link, t);
    }
    return cs_flight_add(q, cs_flight_turns(e->net->trains, lag), t, gap, count, r->step, r->bytes,
                         packet);
}

/* The same for a sending port where some packets cut through: each for itself. */
static cs_status leave_mixed(engine *e, uint32_t link, const cs_run *r, cs_ps t, cs_ps gap,
                             uint32_t count, uint32_t packet, cs_ps service)
{
    for (uint32_t i = 0; i < count; i++) {
        CS_TRY(leave(e, link, r, t + (cs_ps)i * gap, 0, 1, packet + i, service));
    }
    return CS_OK;
}

/* ---- a port serves ---- */

static void change_rate(const engine *e, uint32_t link, cs_ps start)
{
    const cs_packet_link *l   = &e->net->links[link];
    port                 *p   = &e->ports[link];
    int64_t               cut = e->net->cut_through_bytes;

    while (p->n_changed < l->n_changes && l->changes[p->n_changed].time <= start) {
        p->bps = l->changes[p->n_changed++].bps;
    }
    p->until = p->n_changed < l->n_changes ? l->changes[p->n_changed].time : CS_PS_NEVER;
    p->begun = cut < CS_MAX_PACKET_BYTES ? cs_packet_ps(p->bps, cut) : CS_PS_NEVER;
    p->bytes = 0;
}

/* What a packet takes that starts then; the starts of a port never go back. */
static inline cs_ps service_at(const engine *e, uint32_t link, uint32_t bytes, cs_ps start)
{
    port *p = &e->ports[link];

    if (start >= p->until) {
        change_rate(e, link, start);
    }
    if (bytes != p->bytes) {
        p->bytes   = bytes;
        p->service = cs_packet_ps(p->bps, bytes);
    }
    return p->service;
}

/* A packet like those of `r` comes to a port. */
static inline cs_status serve_packet(engine *e, uint32_t link, const cs_run *r, cs_ps t)
{
    port *p     = &e->ports[link];
    cs_ps start = t > p->free ? t : p->free, s = service_at(e, link, r->bytes, start);

    p->free = start + s;
    if (e->net->counters != NULL) {
        cs_counters_come(e->net->counters, link, t, 0, 1, r->bytes);
    }
    return leave(e, link, r, start, 0, 1, 0, s);
}

/* A run comes to a port between whose packets nothing else does. */
static cs_status serve_run(engine *e, uint32_t link, const cs_run *r)
{
    port    *p    = &e->ports[link];
    cs_ps    t    = r->t;
    uint32_t left = r->count, packet = r->in;
    bool     is_mixed = p->spreads && message_of(e, r)->is_mixed;

    if (e->net->counters != NULL) {
        cs_counters_come(e->net->counters, link, t, r->gap, left, r->bytes);
    }
    while (left > 0) {
        cs_ps    start = t > p->free ? t : p->free;
        cs_ps    s = service_at(e, link, r->bytes, start), gap = s;
        uint32_t count = left;
        if (r->gap > s && p->free <= t) {
            gap = r->gap;
        } else if (r->gap > s) {
            cs_ps n = (p->free - t + r->gap - s - 1) / (r->gap - s);
            count   = n < left ? (uint32_t)n : left;
        }
        if (gap > 0 && start + (cs_ps)(count - 1) * gap >= p->until) {
            count = (uint32_t)((p->until - start - 1) / gap + 1);
        }
        p->free = start + (cs_ps)(count - 1) * gap + s;
        CS_TRY(is_mixed ? leave_mixed(e, link, r, start, gap, count, packet, s)
                        : leave(e, link, r, start, gap, count, packet, s));
        t += count * r->gap;
        left -= count;
        packet += count;
    }
    return CS_OK;
}

/* Serve what came to a port in the window that ends at `end`. */
static cs_status serve_inbox(engine *e, uint32_t link, cs_ps end)
{
    cs_runs       *inbox = &e->ports[link].inbox;
    const cs_runs *in_order;

    CS_TRY(cs_runs_in_order(&e->order, inbox, end - e->calendar.width, &in_order));
    for (const cs_run *r = in_order->runs; r < in_order->runs + in_order->n; r++) {
        if (e->net->trains && r->count > 1) {
            CS_TRY(serve_run(e, link, r));
            continue;
        }
        for (uint32_t k = 0; k < r->count; k++) {
            CS_TRY(serve_packet(e, link, r, r->t + (cs_ps)k * r->gap));
        }
    }
    inbox->n = 0;
    return CS_OK;
}

/* ---- a window ---- */

/* Packets that link `in` carries are at the next port, that of the link at `step`. */
static inline cs_status hand_over(engine *e, uint32_t in, const cs_run *r, cs_ps t, cs_ps gap,
                                  uint32_t count, uint32_t step)
{
    uint32_t next  = e->ways.links[step];
    cs_runs *inbox = &e->ports[next].inbox;

    if (inbox->n == 0) {
        e->touched[e->n_touched++] = next;
    }
    return cs_runs_append(inbox, t, gap, count, step, r->bytes, in);
}

/* The same behind a sending port: packets of one way are a run. */
static cs_status spread(engine *e, uint32_t in, const cs_run *r, uint32_t count)
{
    const message *m = message_of(e, r);
    uint32_t       n = m->n_paths;

    for (uint32_t i = 0; i < n && i < count; i++) {
        CS_TRY(hand_over(e, in, r, r->t + (cs_ps)i * r->gap, n * r->gap, (count - i - 1) / n + 1,
                         step_of(e, m, r->step + 1, r->in + i)));
    }
    return CS_OK;
}

/* Hand what a link delivers before `end` to the inboxes of the ports behind it. */
static cs_status bring(engine *e, uint32_t in, cs_ps end)
{
    cs_runs *q = &e->ports[in].sent;

    while (q->n > 0 && cs_runs_first(q)->t < end) {
        cs_run  *r     = cs_runs_first(q);
        uint32_t count = cs_packets_before(r->t, r->gap, r->count, end);
        CS_TRY(e->ports[in].spreads ? spread(e, in, r, count)
                                    : hand_over(e, in, r, r->t, r->gap, count, r->step + 1));
        r->in += count;
        cs_flight_drop(q, count);
    }
    if (q->n > 0) {
        cs_calendar_put(&e->calendar, in, cs_runs_first(q)->t);
    }
    return CS_OK;
}

static cs_status process_window(engine *e)
{
    cs_ps    end  = (e->calendar.window + 1) * e->calendar.width;
    uint32_t link = cs_calendar_take(&e->calendar);

    e->n_touched = 0;
    for (; link != CS_NO_LINK; link = e->calendar.next[link]) {
        cs_link_set_add(&e->bringing, link);
    }
    e->calendar.window++;
    for (link = cs_link_set_take(&e->bringing); link != CS_NO_LINK;
         link = cs_link_set_take(&e->bringing)) {
        CS_TRY(bring(e, link, end));
    }
    for (uint32_t i = 0; i < e->n_touched; i++) {
        CS_TRY(serve_inbox(e, e->touched[i], end));
    }
    return CS_OK;
}

/* ---- the hooks ---- */

static void unlimited_close(void *state)
{
    engine *e = state;

    if (e == NULL) {
        return;
    }
    for (uint32_t l = 0; e->ports != NULL && l < e->net->n_links; l++) {
        cs_free(e->ports[l].sent.runs);
        cs_free(e->ports[l].inbox.runs);
    }
    cs_calendar_close(&e->calendar);
    cs_free(e->ports);
    cs_free(e->messages);
    cs_free(e->ways.links);
    cs_free(e->bringing.bits);
    cs_free(e->touched);
    cs_run_order_free(&e->order);
    cs_free(e);
}

static cs_status unlimited_open(const cs_packet_net *net, cs_event_queue *ends, void **state_p,
                                cs_error *err)
{
    engine *e = CS_NEW(engine, 1);

    if (e == NULL) {
        return CS_NO_MEMORY(err, "a network of %u links", net->n_links);
    }
    e->net     = net;
    e->ends    = ends;
    e->ways    = cs_ways_of(net);
    e->ports   = CS_NEW(port, net->n_links);
    e->touched = CS_NEW(uint32_t, net->n_links);
    if (e->ports == NULL || e->touched == NULL ||
        cs_link_set_open(&e->bringing, net->n_links) != CS_OK ||
        cs_calendar_open(&e->calendar, net->window, net->n_links) != CS_OK) {
        unlimited_close(e);
        return CS_NO_MEMORY(err, "a network of %u links", net->n_links);
    }
    for (uint32_t l = 0; l < net->n_links; l++) {
        e->ports[l] = (port){.bps     = net->links[l].bps,
                             .delay   = net->links[l].delay,
                             .is_last = net->links[l].is_last,
                             .spreads = l < net->n_senders && net->max_paths > 1};
        change_rate(e, l, -1);
    }
    *state_p = e;
    return CS_OK;
}

/* Keep what is asked of a message later. */
static cs_status keep(engine *e, const cs_packet_message *given, uint32_t n_packets)
{
    uint32_t sender  = given->ways[0];
    bool     may_cut = e->net->cut_through_bytes > 0 && !e->ports[sender].is_last;
    message *m;

    CS_TRY(cs_ways_keep(&e->ways, given));
    if (!cs_grow(&e->messages, &e->n_messages, (size_t)given->number + 1, 64,
                 sizeof *e->messages)) {
        return CS_ENOMEM;
    }
    m  = &e->messages[given->number];
    *m = (message){.key        = given->key,
                   .end        = -1,
                   .n_missing  = n_packets,
                   .first_path = given->first_path % given->n_paths,
                   .n_paths    = given->n_paths};
    for (uint32_t i = 0; i < given->n_paths && may_cut; i++) {
        const uint32_t *way = given->ways + (size_t)i * (e->ways.width + 1);
        m->is_mixed |= cuts_through(e, sender, way[1]) != cuts_through(e, sender, given->ways[1]);
    }
    return CS_OK;
}

static cs_status unlimited_send(void *state, const cs_packet_message *given)
{
    engine  *e    = state;
    uint32_t n    = (uint32_t)cs_packet_count(given->bytes, given->mtu);
    uint32_t full = (uint32_t)(given->mtu + given->header);
    uint32_t last = (uint32_t)cs_packet_last_bytes(given->bytes, given->mtu, given->header);
    cs_run   run  = {.t     = given->ready,
                     .step  = cs_step_first(&e->ways, given->number),
                     .count = last < full ? n - 1 : n,
                     .bytes = full};

    assert(given->ready >= e->calendar.window * e->calendar.width);
    CS_TRY(keep(e, given, n));
    e->n_packets += n;
    CS_TRY(serve_run(e, given->ways[0], &run));
    run.in    = run.count;
    run.count = n - run.count;
    run.bytes = last;
    return serve_run(e, given->ways[0], &run);
}

static cs_status unlimited_run(void *state, cs_ps horizon)
{
    engine *e = state;

    while (cs_calendar_go_on(&e->calendar, e->ends, horizon)) {
        CS_TRY(process_window(e));
    }
    return CS_OK;
}

static bool unlimited_is_idle(const void *state)
{
    return ((const engine *)state)->calendar.n_inside == 0;
}

static const char *unlimited_why(void *state)
{
    (void)state;
    return "";
}

static void unlimited_count(const void *state, cs_packet_totals *totals)
{
    *totals = (cs_packet_totals){.packets = ((const engine *)state)->n_packets};
}

const cs_packet_engine cs_packet_unlimited = {
    .name    = "unlimited",
    .open    = unlimited_open,
    .send    = unlimited_send,
    .run     = unlimited_run,
    .is_idle = unlimited_is_idle,
    .why     = unlimited_why,
    .count   = unlimited_count,
    .close   = unlimited_close,
};
