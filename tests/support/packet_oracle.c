/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/packet_oracle.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* In their order within one picosecond. */
typedef enum kind { SENT, RATE, PAUSE, RANK, ARRIVAL, START } kind;

typedef struct packet {
    uint32_t message, index, hop;
    uint32_t in; /* the link that it came over */
    int64_t  bytes;
} packet;

typedef struct event {
    cs_ps    t;
    kind     kind;
    uint32_t number; /* of the link */
    uint64_t serial; /* that it was made as */
    int64_t  value;  /* of a rate, of a pause */
    packet   packet;
} event;

typedef struct port {
    int64_t  bps;
    packet  *queue; /* from `first` on */
    size_t   first, n, capacity;
    packet   sending;
    bool     is_busy, is_paused, is_here;
    int64_t  bytes;         /* waiting and on the wire */
    uint32_t handed, sends; /* of a sending port: its first message that is not handed over, sent */
    int64_t  ingress;       /* bytes that came over its link and have not left the switch there */
    bool     is_xoffed;
} port;

typedef struct message {
    cs_ps   ready;
    int64_t next, missing;              /* packets: the next to send, how many have not arrived */
    int64_t got_bytes;                  /* of its own */
    int64_t last[CT_MOST_PACKET_PATHS]; /* packet of every way that has arrived */
} message;

typedef struct oracle {
    const cs_packet_net      *net;
    const ct_packet_schedule *schedule;
    ct_packet_answer          answer;
    event                    *heap;
    size_t                    n, capacity;
    uint64_t                  serial;
    cs_ps                     now;
    port                     *ports;
    message                  *messages;
} oracle;

static bool is_before(const event *a, const event *b)
{
    if (a->t != b->t) {
        return a->t < b->t;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind;
    }
    return a->number != b->number ? a->number < b->number : a->serial < b->serial;
}

static void push(oracle *o, cs_ps t, kind what, uint32_t number, int64_t value, packet p)
{
    event  e = {t, what, number, o->serial++, value, p};
    size_t i = o->n++;

    cr_assert_geq(t, o->now);
    if (o->n > o->capacity) {
        o->capacity = 2 * o->n;
        o->heap     = realloc(o->heap, o->capacity * sizeof e);
    }
    for (; i > 0 && is_before(&e, &o->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        o->heap[i] = o->heap[(i - 1) / 2];
    }
    o->heap[i] = e;
}

static event pop(oracle *o)
{
    event  first = o->heap[0], e = o->heap[--o->n];
    size_t i = 0;

    for (size_t c; (c = 2 * i + 1) < o->n; i = c) {
        c += c + 1 < o->n && is_before(&o->heap[c + 1], &o->heap[c]);
        if (!is_before(&o->heap[c], &e)) {
            break;
        }
        o->heap[i] = o->heap[c];
    }
    o->heap[i] = e;
    return first;
}

static void kick(oracle *o, uint32_t link, cs_ps t)
{
    push(o, t, START, link, 0, (packet){0});
}

static uint32_t link_of(const oracle *o, const packet *p, uint32_t hop)
{
    const ct_packet_send *s    = &o->schedule->sends[p->message];
    uint64_t              path = (s->first_path + (uint64_t)p->index) % s->n_paths;

    return o->schedule->ways[s->ways + path * (o->net->max_way + 1) + hop];
}

/* ---- hosts ---- */

/* The first message of a sending port from a number on; n_sends: there is none. */
static uint32_t next_of(const oracle *o, uint32_t l, uint32_t m)
{
    while (m < o->schedule->n_sends && ct_packet_port(o->schedule, m) != l) {
        m++;
    }
    return m;
}

static bool may_be_handed_over(const oracle *o, uint32_t m)
{
    const ct_packet_send *s = &o->schedule->sends[m];
    uint32_t              k = 0;

    while (k < s->n_after && o->answer.end[o->schedule->after[s->after + k]] != CS_PS_NEVER) {
        k++;
    }
    return k == s->n_after;
}

static void hand_over(oracle *o)
{
    for (uint32_t l = 0; l < o->net->n_senders; l++) {
        port *q = &o->ports[l];
        while (q->is_here && q->handed < o->schedule->n_sends && may_be_handed_over(o, q->handed)) {
            o->messages[q->handed].ready = o->now + o->schedule->sends[q->handed].startup;
            kick(o, l, o->messages[q->handed].ready);
            q->handed = next_of(o, l, q->handed + 1);
        }
    }
}

static bool take_from_host(oracle *o, uint32_t l, packet *p)
{
    port                 *q = &o->ports[l];
    message              *m = &o->messages[q->sends];
    const ct_packet_send *s = &o->schedule->sends[q->sends];

    if (q->sends == q->handed || m->ready > o->now) {
        return false;
    }
    if (m->next == 0) {
        o->answer.start[q->sends] = o->now;
    }
    *p = (packet){q->sends, (uint32_t)m->next, 0, CS_NO_LINK, s->header + s->mtu};
    if (++m->next == cs_packet_count(s->bytes, s->mtu)) {
        p->bytes = cs_packet_last_bytes(s->bytes, s->mtu, s->header);
        q->sends = next_of(o, l, q->sends + 1);
    }
    o->answer.totals.packets++;
    return true;
}

static void deliver(oracle *o, const packet *p)
{
    const ct_packet_send *s = &o->schedule->sends[p->message];
    message              *m = &o->messages[p->message];

    cr_assert_gt(p->index, m->last[p->index % s->n_paths], "packets of one way pass each other");
    m->last[p->index % s->n_paths] = p->index;
    m->got_bytes += p->bytes - s->header;
    if (--m->missing == 0) {
        cr_assert_eq(m->got_bytes, s->bytes);
        o->answer.end[p->message] = o->now;
        o->answer.n_missing--;
        hand_over(o);
    }
}

/* ---- ports ---- */

static bool take_from_queue(port *q, packet *p)
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
    packet                p    = {0};

    if (q->is_busy || q->is_paused ||
        !(l < o->net->n_senders ? take_from_host(o, l, &p) : take_from_queue(q, &p))) {
        return;
    }
    const int64_t cut = o->net->cut_through_bytes;
    const cs_ps   end = o->now + cs_packet_ps(q->bps, p.bytes);
    cs_ps         at  = end;
    if (cut > 0 && cut < p.bytes && !link->is_last &&
        o->net->links[link_of(o, &p, p.hop + 1)].high_bps <= link->low_bps) {
        at = o->now + cs_packet_ps(q->bps, cut);
    }
    q->is_busy = true;
    q->sending = p;
    push(o, end, SENT, l, 0, p);
    push(o, at + link->delay, ARRIVAL, l, 0, p);
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
        push(o, o->now + link->delay + cs_packet_ps(link->high_bps, CS_PAUSE_FRAME_BYTES), PAUSE,
             in, q->is_xoffed, (packet){0});
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
    kick(o, l, o->now);
}

/* Bytes of packets that start after now. */
static int64_t waiting_bytes(const port *q)
{
    int64_t starts_now = q->n > 0 && !q->is_paused ? q->queue[q->first].bytes : 0;

    return q->bytes - (q->is_busy ? q->sending.bytes : starts_now);
}

static void queue_up(port *q, const packet *p)
{
    if (q->n == q->capacity) {
        packet *wider = calloc(2 * q->n + 8, sizeof *p);
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

static void arrive(oracle *o, uint32_t in, packet p)
{
    if (o->net->links[in].is_last) {
        deliver(o, &p);
        return;
    }
    p.in = in;
    p.hop++;
    uint32_t out = link_of(o, &p, p.hop);
    port    *q   = &o->ports[out];
    if (o->net->queue_bytes > 0 && waiting_bytes(q) + p.bytes > o->net->queue_bytes) {
        o->answer.totals.drops++;
        o->answer.drops[out]++;
        return;
    }
    queue_up(q, &p);
    if (q->bytes > o->answer.deepest[out]) {
        o->answer.deepest[out] = q->bytes;
    }
    if (o->net->is_lossless) {
        count_ingress(o, in, p.bytes);
    }
    kick(o, out, o->now);
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

static void happen(oracle *o, const event *e)
{
    port *q = &o->ports[e->number];

    o->now = e->t;
    switch (e->kind) {
    case SENT: end_sending(o, e->number); break;
    case RATE: q->bps = e->value; break;
    case PAUSE:
        q->is_paused = e->value != 0;
        kick(o, e->number, o->now);
        break;
    case RANK:
        q->is_here = true;
        hand_over(o);
        break;
    case ARRIVAL: arrive(o, e->number, e->packet); break;
    case START: start(o, e->number); break;
    }
}

static void prepare(oracle *o)
{
    const cs_packet_net      *net = o->net;
    const ct_packet_schedule *s   = o->schedule;

    for (uint32_t l = 0; l < net->n_links; l++) {
        o->ports[l].bps = net->links[l].bps;
        for (uint32_t i = 0; i < net->links[l].n_changes; i++) {
            push(o, net->links[l].changes[i].time, RATE, l, net->links[l].changes[i].bps,
                 (packet){0});
        }
        if (l < net->n_senders) {
            o->ports[l].handed = o->ports[l].sends = next_of(o, l, 0);
            push(o, s->late[l], RANK, l, 0, (packet){0});
        }
    }
    for (size_t i = 0; i < s->n_sends; i++) {
        const ct_packet_send *send = &s->sends[i];
        cr_assert_leq(send->n_paths, CT_MOST_PACKET_PATHS);
        o->messages[i].missing = cs_packet_count(send->bytes, send->mtu);
        memset(o->messages[i].last, -1, sizeof o->messages[i].last);
        o->answer.start[i] = o->answer.end[i] = CS_PS_NEVER;
    }
}

ct_packet_answer ct_packet_oracle(const cs_packet_net *net, const ct_packet_schedule *schedule)
{
    const size_t n = schedule->n_sends;
    oracle       o = {.net      = net,
                      .schedule = schedule,
                      .ports    = calloc(net->n_links, sizeof(port)),
                      .messages = calloc(n, sizeof(message)),
                      .answer   = {.start      = calloc(n, sizeof(cs_ps)),
                                   .end        = calloc(n, sizeof(cs_ps)),
                                   .n_missing  = n,
                                   .deepest    = calloc(net->n_links, sizeof(int64_t)),
                                   .drops      = calloc(net->n_links, sizeof(uint64_t)),
                                   .overflowed = CS_NO_LINK}};

    prepare(&o);
    while (o.n > 0 && o.answer.overflowed == CS_NO_LINK) {
        event e = pop(&o);
        happen(&o, &e);
    }
    if (o.answer.n_missing > 0 && net->is_lossless) {
        find_waits(&o);
    }
    for (uint32_t l = 0; l < net->n_links; l++) {
        free(o.ports[l].queue);
    }
    free(o.ports);
    free(o.messages);
    free(o.heap);
    return o.answer;
}

void ct_packet_answer_free(ct_packet_answer *answer)
{
    free(answer->start);
    free(answer->end);
    free(answer->deepest);
    free(answer->drops);
    free(answer->waits);
    *answer = (ct_packet_answer){0};
}
