/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/packet_oracle.h"

#include "support/packet_hosts.h"

#include <math.h>
#include <stdlib.h>

typedef struct port {
    int64_t    bps;
    ct_packet *queue; /* owned, a ring: from `first` on */
    size_t     first, n, capacity;
    ct_packet  sending;
    bool       is_busy, is_paused;
    int64_t    bytes;   /* waiting and on the wire */
    uint64_t   entered; /* packets that have entered the port */
    uint64_t   came;    /* packets that have come over its link */
    int64_t    ingress; /* bytes that came over its link and have not left the switch there */
    bool       is_xoffed;
} port;

typedef struct oracle {
    const cs_packet_net      *net;
    const ct_packet_schedule *schedule;
    ct_packet_answer          answer;
    ct_packet_events          events;
    ct_packet_hosts          *hosts;
    port                     *ports; /* owned [n_links] */
} oracle;

static bool take_from_queue(port *q, ct_packet *p)
{
    if (q->n == 0) {
        return false;
    }
    *p       = q->queue[q->first];
    q->first = (q->first + 1) % q->capacity;
    q->n--;
    return true;
}

static void start(oracle *o, uint32_t l)
{
    const cs_packet_link *link = &o->net->links[l];
    port                 *q    = &o->ports[l];
    ct_packet             p    = {0};

    if (q->is_busy || q->is_paused ||
        !(l < o->net->n_senders ? ct_packet_hosts_send(o->hosts, l, &p) : take_from_queue(q, &p))) {
        return;
    }
    const int64_t cut = o->net->cut_through_bytes;
    const cs_ps   end = o->events.now + cs_packet_ps(q->bps, p.bytes);
    cs_ps         at  = end;
    if (cut > 0 && cut < p.bytes && !link->is_last &&
        o->net->links[ct_packet_link(o->net, o->schedule, &p, p.hop + 1)].high_bps <=
            link->low_bps) {
        at = o->events.now + cs_packet_ps(q->bps, cut);
    }
    q->is_busy = true;
    q->sending = p;
    o->answer.links[l].packets++;
    o->answer.links[l].bytes += (uint64_t)p.bytes;
    o->answer.links[l].busy_s += (double)(end - o->events.now);
    ct_packet_put(&o->events, end, CT_SENT, l, 0, NULL);
    ct_packet_put(&o->events, at + link->delay, CT_ARRIVAL, l, 0, &p);
}

/* The bytes that came over a link and are in the switch at its end have become so many more. */
static void count_ingress(oracle *o, uint32_t in, int64_t bytes)
{
    const cs_packet_link *link = &o->net->links[in];
    port                 *q    = &o->ports[in];

    q->ingress += bytes;
    if (q->ingress > link->xoff + o->net->headroom_bytes) {
        o->answer.overflowed = in;
    }
    if (q->is_xoffed ? bytes < 0 && q->ingress <= link->xon
                     : bytes > 0 && q->ingress > link->xoff) {
        q->is_xoffed = !q->is_xoffed;
        o->answer.totals.pauses += q->is_xoffed;
        ct_packet_put(&o->events,
                      o->events.now + link->delay +
                          cs_packet_ps(link->high_bps, CS_PAUSE_FRAME_BYTES),
                      CT_PAUSE, in, q->is_xoffed, NULL);
    }
}

static void end_sending(oracle *o, uint32_t l)
{
    port *q = &o->ports[l];

    q->is_busy = false;
    if (q->sending.in != CS_NO_LINK) {
        q->bytes -= q->sending.bytes;
        if (o->net->is_lossless) {
            count_ingress(o, q->sending.in, -q->sending.bytes);
        }
    }
    ct_packet_kick(&o->events, o->events.now, l);
}

/* Bytes of packets that start after now. */
static int64_t waiting_bytes(const port *q)
{
    int64_t starts_now = q->n > 0 && !q->is_paused ? q->queue[q->first].bytes : 0;

    return q->bytes - (q->is_busy ? q->sending.bytes : starts_now);
}

static void queue_up(port *q, const ct_packet *p)
{
    if (q->n == q->capacity) {
        ct_packet *wider = calloc(2 * q->n + 8, sizeof *p);
        for (size_t i = 0; i < q->n; i++) {
            wider[i] = q->queue[(q->first + i) % q->capacity];
        }
        free(q->queue);
        q->queue    = wider;
        q->capacity = 2 * q->n + 8;
        q->first    = 0;
    }
    q->queue[(q->first + q->n++) % q->capacity] = *p;
    q->bytes += p->bytes;
}

/* A threshold of marks, of a port's own rate where it grows with it. */
static int64_t threshold(const oracle *o, uint32_t l, int64_t bytes)
{
    const double bps = (double)o->net->links[l].high_bps, of = (double)o->net->transport.ecn_bps;

    return of > 0 ? llround((double)bytes * bps / of) : bytes;
}

/* Does a port mark what finds so many bytes waiting? */
static bool marks(const oracle *o, uint32_t l, int64_t waiting)
{
    const cs_packet_transport *t    = &o->net->transport;
    const int64_t              kmin = threshold(o, l, t->kmin), kmax = threshold(o, l, t->kmax);

    if (kmax == 0 || waiting <= kmin || waiting > kmax) {
        return kmax > 0 && waiting > kmax;
    }
    return cs_packet_draw(o->net->seed, CS_FATE_MARK, l, o->ports[l].entered) <
           t->pmax * (double)(waiting - kmin) / (double)(kmax - kmin);
}

/* A packet comes to a switch's port. */
static void enter(oracle *o, uint32_t l, ct_packet p)
{
    port         *q       = &o->ports[l];
    const int64_t waiting = waiting_bytes(q);

    if (o->net->queue_bytes > 0 && waiting + p.bytes > o->net->queue_bytes) {
        o->answer.totals.drops++;
        o->answer.links[l].drops++;
        return;
    }
    if (marks(o, l, waiting)) {
        p.is_marked = true;
        o->answer.totals.marks++;
        o->answer.links[l].marks++;
    }
    q->entered++;
    queue_up(q, &p);
    if (waiting_bytes(q) > (int64_t)o->answer.links[l].deepest_bytes) {
        o->answer.links[l].deepest_bytes = (uint64_t)waiting_bytes(q);
    }
    if (o->net->is_lossless) {
        count_ingress(o, p.in, p.bytes);
    }
    ct_packet_kick(&o->events, o->events.now, l);
}

static void arrive(oracle *o, uint32_t in, ct_packet p)
{
    const double error_rate = o->net->transport.error_rate;

    if (error_rate > 0 &&
        cs_packet_draw(o->net->seed, CS_FATE_ERROR, in, o->ports[in].came++) < error_rate) {
        o->answer.totals.drops++;
        o->answer.links[in].drops++;
    } else if (o->net->links[in].is_last) {
        ct_packet_hosts_receive(o->hosts, &p);
    } else {
        p.in = in;
        p.hop++;
        enter(o, ct_packet_link(o->net, o->schedule, &p, p.hop), p);
    }
}

/* ---- what nobody can move ---- */

/* A paused port waits for the paused ports at its far end that hold what came over it. */
static void find_waits(oracle *o)
{
    const size_t n = o->net->n_links;

    o->answer.waits = calloc(n * n, sizeof(bool));
    for (size_t l = 0; l < n; l++) {
        const port *q = &o->ports[l];
        for (size_t i = 0; q->is_paused && i < q->n; i++) {
            uint32_t in                 = q->queue[(q->first + i) % q->capacity].in;
            o->answer.waits[in * n + l] = o->ports[in].is_paused;
        }
    }
}

/* Does nothing move but timers, which let no port start anything? */
static bool is_stuck(const oracle *o)
{
    for (uint32_t l = 0; o->events.n_moving == 0 && l < o->net->n_senders; l++) {
        if (!o->ports[l].is_paused && ct_packet_hosts_are_sending(o->hosts, l)) {
            return false;
        }
    }
    return o->events.n_moving == 0;
}

static void happen(oracle *o, const ct_packet_event *e)
{
    switch (e->kind) {
    case CT_SENT: end_sending(o, e->number); break;
    case CT_RATE: o->ports[e->number].bps = e->value; break;
    case CT_PAUSE:
        o->ports[e->number].is_paused = e->value != 0;
        o->answer.links[e->number].pauses += e->value != 0;
        o->answer.links[e->number].paused_s += (double)(e->value != 0 ? -e->t : e->t);
        ct_packet_kick(&o->events, e->t, e->number);
        break;
    case CT_ARRIVAL: arrive(o, e->number, e->packet); break;
    case CT_START: start(o, e->number); break;
    case CT_RANK:
    case CT_CONTROL:
    case CT_TIMER: ct_packet_hosts_happen(o->hosts, e); break;
    }
}

static void begin(oracle *o)
{
    const size_t n = o->schedule->n_sends, n_links = o->net->n_links;

    o->ports  = calloc(n_links, sizeof *o->ports);
    o->answer = (ct_packet_answer){.start      = calloc(n, sizeof(cs_ps)),
                                   .end        = calloc(n, sizeof(cs_ps)),
                                   .n_missing  = n,
                                   .links      = calloc(n_links, sizeof(cs_link_counts)),
                                   .overflowed = CS_NO_LINK};
    for (size_t i = 0; i < n; i++) {
        o->answer.start[i] = o->answer.end[i] = CS_PS_NEVER;
    }
    for (uint32_t l = 0; l < n_links; l++) {
        const cs_packet_link *link = &o->net->links[l];
        o->ports[l].bps            = link->bps;
        for (uint32_t i = 0; i < link->n_changes; i++) {
            ct_packet_put(&o->events, link->changes[i].time, CT_RATE, l, link->changes[i].bps,
                          NULL);
        }
    }
    o->hosts = ct_packet_hosts_new(o->net, o->schedule, &o->events, &o->answer);
}

ct_packet_answer ct_packet_oracle(const cs_packet_net *net, const ct_packet_schedule *schedule)
{
    oracle          o = {.net = net, .schedule = schedule};
    ct_packet_event e;

    begin(&o);
    while (!is_stuck(&o) && o.answer.overflowed == CS_NO_LINK && ct_packet_take(&o.events, &e)) {
        happen(&o, &e);
    }
    if (o.answer.n_missing > 0 && net->is_lossless) {
        find_waits(&o);
    }
    for (uint32_t l = 0; l < net->n_links; l++) {
        free(o.ports[l].queue);
    }
    free(o.ports);
    ct_packet_hosts_free(o.hosts);
    ct_packet_events_free(&o.events);
    return o.answer;
}

void ct_packet_answer_free(ct_packet_answer *answer)
{
    free(answer->start);
    free(answer->end);
    free(answer->links);
    free(answer->waits);
    *answer = (ct_packet_answer){0};
}
