/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everything that needs packets to be looked at one by one: queues that drop, errors, marks and
 * transports, over lossless queues too. One event for everything that happens to a packet.
 *
 * Order within one picosecond: transmissions end; rates change; pauses and resumes act; packets
 * arrive, by the number of the link that they come over; control packets arrive; timers fire;
 * messages are handed over; ports start. Nothing else depends on the order of events.
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
 *
 * TRANSPORTS (recovery is not CS_RECOVER_NONE). Packets have numbers 0 to n - 1. A message has
 * ended when all its packets are at the receiver. Control packets (ACK, NAK, CNP) are never lost
 * and wait nowhere: they take the sum over the links of the way of packet 0 of delay +
 * cs_packet_ps(high_bps, 64). They are sent when the packet arrives that they answer.
 *
 * Sender. `una` is the lowest number that is not acknowledged, `next` the next one to be sent
 * first; packets are *outstanding* while una < next. A port sends the packet of the first message,
 * in the order in which it was handed them, that is ready, has something to send, and whose rate
 * allows it now. A message has something to send if it has packets to send again, or if next < n
 * and (window = 0 or next - una < window). With DCQCN a message may start its next packet
 * cs_packet_ps(rate, bytes) after the start of the one before, with the rate before that packet
 * was counted; a free port waits for the earliest of its messages. An ACK or a NAK with the
 * number c sets una = c if c > una; una = n is the end of the message's sender: its timers stop.
 * The retransmission timer is due `wait` after the last of: a packet started while none was
 * outstanding; una rose while packets were, and still are, outstanding. It is off while none is.
 * `wait` is rto, but the k-th timeout in a row, without a rise of una between them, makes it
 * llround((double)rto * (double)(1 << min(k, 10)) * (1 + cs_packet_draw(seed, CS_FATE_TIMEOUT, the
 * sending port, 256 * m + min(k, 255)))), where m is the number of messages that the port was
 * handed before this one: what fails in step parts. It is rto again when una rises. From the second
 * timeout in a row on, until una rises, the window is 1, so that a message does not lose to itself,
 * and every packet that starts asks for an ACK: where it lets `expect` rise, ACK(expect) is sent.
 *
 * Go-back-N. Receiver: `expect` is the number that it takes next. The packet `expect`: expect + 1;
 *   ACK(expect) if expect is n or a multiple of ack_every. A lower one: ACK(expect). A higher one
 * is thrown away: NAK(expect), unless there was one since expect rose last. Sender: a NAK, and the
 *   timer, set next = una; where una rises above next, next = una.
 *
 * Selective. Receiver: it keeps what comes out of order. `expect` is the lowest number that it does
 *   not have. A packet that it has: ACK(expect). Another one, number i on way w, which knows the
 *   highest number that has come over that way: the packets of the same way (every n_paths-th)
 *   between that one and i are missing, since a way keeps the order: if there are any,
 *   NAK(expect, those). Then i is kept; if it was `expect`, expect rises to the lowest number that
 *   is not there, and ACK(expect) is sent if expect is n or has risen to or past a multiple of
 *   ack_every. Sender: packets to send again are a queue; those that a NAK names are put at its
 * end. It comes before new packets; what is below una is skipped. The timer empties the queue, puts
 *   una to next - 1 into it, from the second time in a row on una alone, and is due `wait` later.
 *
 * CNP. A marked packet that arrives (whether it is taken or not) is answered by a CNP if the
 * message has sent none yet, or the last one cnp_interval or longer ago. What it does is in
 * dcqcn.h; the line's rate is the sending port's high_bps. It does nothing once the sender has
 * ended.
 *
 * Left out: control packets as load, rates that a pair of hosts keeps from one message to the next.
 */
#include "base/alloc.h"
#include "models/packet/counters.h"
#include "models/packet/dcqcn.h"
#include "models/packet/deadlock.h"
#include "models/packet/engine.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a ring of anything ---- */

/* `{0}` is empty. */
typedef struct ring {
    char    *items;             /* owned */
    uint32_t head, n, capacity; /* a power of two */
} ring;

static void *ring_at(const ring *r, uint32_t i, size_t bytes)
{
    return r->items + (size_t)((r->head + i) & (r->capacity - 1)) * bytes;
}

static void ring_drop_first(ring *r)
{
    r->head = (r->head + 1) & (r->capacity - 1);
    r->n--;
}

/* Room for one more at the end, or NULL: out of memory. */
static void *ring_append(ring *r, size_t bytes)
{
    if (r->n == r->capacity) {
        uint32_t capacity = r->capacity == 0 ? 4 : 2 * r->capacity;
        char    *items    = capacity == 0 ? NULL : cs_realloc(r->items, capacity, bytes);
        if (items == NULL) {
            return NULL;
        }
        memcpy(items + (size_t)r->capacity * bytes, items, (size_t)r->head * bytes);
        r->items    = items;
        r->capacity = capacity;
    }
    return ring_at(r, r->n++, bytes);
}

/* ---- what there is ---- */

enum { PACKET_BYTES = (1 << 21) - 1 };

/* Whole picoseconds are exact in the queue of events. */
#define MOST_PS 0x1p53

#define NO_FLOW UINT32_MAX

typedef struct packet {
    uint32_t flow, number;
    uint32_t in; /* the link that it came over to the port where it waits */
    uint32_t bytes : 21, hop : 6, is_marked : 1, asks : 1; /* asks: for an ACK at once */
} packet;

/* On its way over a link: when it is at the far end. */
typedef struct arrival {
    cs_ps  t;
    packet packet;
} arrival;

typedef enum control_kind { ACK, NAK, CNP } control_kind;

/* `count` packets, from `first` on every n_paths-th or every one. */
typedef struct range {
    int64_t  first;
    uint32_t count, step;
} range;

typedef struct control {
    control_kind kind;
    int64_t      expect;
    range        missing; /* of a selective NAK */
} control;

/* Of a flow: the retransmission timer, and those of DCQCN in their order. */
enum { RETRANSMIT, FIRST_DCQCN, TIMERS = FIRST_DCQCN + CS_DCQCN_TIMERS };

/* A message. */
typedef struct flow {
    uint64_t key, serial; /* serial: in the order of the hand-overs */
    int64_t  mtu, header, n, last_bytes;
    cs_ps    ready, control_delay;
    uint32_t port, n_paths, first_path;
    uint32_t before, behind; /* flows of its port that have something left to send */
    bool     is_there, is_listed, has_ended, is_done; /* has_ended: all is at the receiver */
    uint32_t n_refs; /* packets, control packets and events of it */
    uint32_t n_lost;
    /* the sender */
    int64_t  una, next, most;  /* most: numbers below have been sent */
    cs_ps    next_start;       /* its rate allows no earlier one */
    ring     again;            /* of ranges: packets to send again */
    uint64_t ordinal;          /* messages that the port was handed before */
    uint32_t n_timeouts;       /* in a row */
    cs_ps    wait;             /* of the retransmission timer */
    cs_ps    timeout;          /* CS_PS_NEVER: off */
    cs_ps    timer_at[TIMERS]; /* of the event that counts; CS_PS_NEVER: none */
    cs_dcqcn rate;
    /* the receiver */
    int64_t   expect, n_kept; /* without a transport: packets that have come */
    bool      has_nak;
    uint64_t *kept; /* owned: bits of those that came out of order; NULL: none ever did */
    cs_ps     last_cnp;
    ring      controls; /* of controls under way */
} flow;

typedef struct port {
    ring     queue;  /* of packets, at switches */
    ring     flight; /* of arrivals */
    int64_t  bps;
    uint32_t next_change;
    bool     is_busy, is_paused, is_kicked;
    int64_t  bytes; /* that wait, and those on the wire */
    uint32_t wire_bytes, wire_in;
    int64_t  kmin, kmax;
    uint64_t n_entered, n_came, n_lost; /* packets: into the port, over the link, and lost there */
    /* of the link's far end */
    int64_t ingress;
    bool    has_xoff;
    /* of a sending port */
    uint32_t first, last; /* flows that have something left to send */
    uint32_t n_open;      /* flows whose sender has not ended */
    uint64_t n_handed;    /* messages */
    cs_ps    wake_at;     /* of the event that counts */
} port;

typedef struct transported {
    const cs_packet_net *net;    /* borrowed */
    cs_event_queue      *ends;   /* borrowed */
    cs_event_queue       events; /* keys: key_of() */
    cs_ps                now;
    port                *ports;  /* owned [n_links] */
    uint32_t            *kicked; /* owned [n_links]: ports that may start something now */
    uint32_t             n_kicked;
    flow                *flows;   /* owned [capacity] */
    uint32_t            *ways;    /* owned [capacity][max_paths][max_way + 1] */
    int64_t             *highest; /* owned [capacity][max_paths]: that came over a way */
    size_t               capacity, way_bytes;
    uint32_t             n_flows, free_flow;
    uint64_t             n_sent;    /* messages */
    uint64_t             n_unended; /* .. that have not ended */
    uint64_t             n_moving;  /* events other than timers */
    cs_packet_totals     totals;
    cs_status            failure;
    char                 reason[400];
} transported;

/* What happens, in the order within one picosecond. */
typedef enum event_kind { SENT, PAUSE, ARRIVE, CONTROL, TIMER, WAKE } event_kind;

enum { TIMER_BITS = 4, KIND_SHIFT = 60 };

static uint64_t key_of(event_kind kind, uint32_t number, uint32_t timer)
{
    return (uint64_t)kind << KIND_SHIFT | (uint64_t)number << TIMER_BITS | timer;
}

static cs_status put(transported *m, cs_ps t, event_kind kind, uint32_t number)
{
    CS_TRY(cs_events_put(&m->events, (double)t, key_of(kind, number, 0)));
    m->n_moving++;
    return CS_OK;
}

/* The port looks, when all else of this picosecond has happened, whether it can start something. */
static void kick(transported *m, uint32_t link)
{
    port *p = &m->ports[link];

    if (!p->is_kicked && !p->is_busy && !p->is_paused) {
        p->is_kicked             = true;
        m->kicked[m->n_kicked++] = link;
    }
}

static bool is_sender(const transported *m, uint32_t link)
{
    return link < m->net->n_senders;
}

static bool has_transport(const transported *m)
{
    return m->net->transport.recovery != CS_RECOVER_NONE;
}

static const uint32_t *way_of(const transported *m, const flow *f, int64_t number)
{
    size_t   stride = (size_t)m->net->max_way + 1, slot = (size_t)(f - m->flows);
    uint32_t path = f->n_paths == 1 ? 0 : (uint32_t)((f->first_path + number) % f->n_paths);

    return &m->ways[(slot * m->net->max_paths + path) * stride];
}

/* ---- flows ---- */

static void free_flow_if_gone(transported *m, uint32_t index)
{
    flow *f = &m->flows[index];

    if (f->is_there && f->n_refs == 0 && f->has_ended && f->is_done) {
        cs_free(f->kept);
        f->kept      = NULL;
        f->is_there  = false;
        f->behind    = m->free_flow;
        m->free_flow = index;
    }
}

static void forget(transported *m, uint32_t index)
{
    m->flows[index].n_refs--;
    free_flow_if_gone(m, index);
}

static cs_status reserve_flow(transported *m, uint32_t *index_p)
{
    const cs_packet_net *net = m->net;

    if (m->free_flow != NO_FLOW) {
        *index_p     = m->free_flow;
        m->free_flow = m->flows[*index_p].behind;
        return CS_OK;
    }
    if (m->n_flows == m->capacity) {
        size_t capacity = m->capacity == 0 ? 64 : 2 * m->capacity;
        if (!cs_resize(&m->flows, capacity, sizeof *m->flows) ||
            !cs_resize(&m->ways, capacity, m->way_bytes * net->max_paths) ||
            !cs_resize(&m->highest, capacity, net->max_paths * sizeof *m->highest)) {
            return CS_ENOMEM;
        }
        memset(&m->flows[m->capacity], 0, (capacity - m->capacity) * sizeof *m->flows);
        m->capacity = capacity;
    }
    *index_p = m->n_flows++;
    return CS_OK;
}

/* Into the port's list, in the order of the hand-overs; new ones are the last. */
static void list_flow(transported *m, uint32_t index)
{
    flow    *f     = &m->flows[index];
    port    *p     = &m->ports[f->port];
    uint32_t after = p->last;

    if (f->is_listed) {
        return;
    }
    while (after != NO_FLOW && m->flows[after].serial > f->serial) {
        after = m->flows[after].before;
    }
    f->is_listed = true;
    f->before    = after;
    f->behind    = after == NO_FLOW ? p->first : m->flows[after].behind;
    *(after == NO_FLOW ? &p->first : &m->flows[after].behind)        = index;
    *(f->behind == NO_FLOW ? &p->last : &m->flows[f->behind].before) = index;
}

static void unlist_flow(transported *m, uint32_t index)
{
    flow *f = &m->flows[index];
    port *p = &m->ports[f->port];

    if (f->is_listed) {
        f->is_listed                                                      = false;
        *(f->before == NO_FLOW ? &p->first : &m->flows[f->before].behind) = f->behind;
        *(f->behind == NO_FLOW ? &p->last : &m->flows[f->behind].before)  = f->before;
    }
}

/* ---- timers ----
 *
 * A timer has at most one event that counts. One that is set later is put anew when its event
 * comes. */

static cs_ps due_of(const flow *f, uint32_t timer)
{
    if (f->is_done) {
        return CS_PS_NEVER;
    }
    return timer == RETRANSMIT ? f->timeout : f->rate.due[timer - FIRST_DCQCN];
}

static cs_status arm(transported *m, uint32_t index, uint32_t timer)
{
    flow *f   = &m->flows[index];
    cs_ps due = due_of(f, timer);

    if (due >= f->timer_at[timer]) {
        return CS_OK;
    }
    CS_TRY(cs_events_put(&m->events, (double)due, key_of(TIMER, index, timer)));
    f->timer_at[timer] = due;
    f->n_refs++;
    return CS_OK;
}

static cs_status arm_dcqcn(transported *m, uint32_t index)
{
    for (uint32_t t = FIRST_DCQCN; t < TIMERS; t++) {
        CS_TRY(arm(m, index, t));
    }
    return CS_OK;
}

/* The retransmission timer starts anew, or is off. */
static cs_status restart_timeout(transported *m, uint32_t index)
{
    flow *f    = &m->flows[index];
    f->timeout = f->una < f->next ? m->now + f->wait : CS_PS_NEVER;
    return arm(m, index, RETRANSMIT);
}

/* ---- the sender ---- */

static cs_status send_again(flow *f, range missing)
{
    range *r = ring_append(&f->again, sizeof *r);

    if (r == NULL) {
        return CS_ENOMEM;
    }
    *r = missing;
    return CS_OK;
}

/* The first packet to be sent again, or -1: none. */
static int64_t first_again(flow *f)
{
    while (f->again.n > 0) {
        range *r = ring_at(&f->again, 0, sizeof *r);
        if (r->first < f->una) {
            int64_t skipped = (f->una - r->first + r->step - 1) / r->step;
            skipped         = skipped < r->count ? skipped : r->count;
            r->first += skipped * r->step;
            r->count -= (uint32_t)skipped;
        }
        if (r->count > 0) {
            return r->first;
        }
        ring_drop_first(&f->again);
    }
    return -1;
}

static void drop_first_again(flow *f)
{
    range *r = ring_at(&f->again, 0, sizeof *r);
    r->first += r->step;
    r->count--;
}

/* The sender goes back to the oldest packet that is not acknowledged. */
static cs_status go_back(transported *m, uint32_t index)
{
    flow *f = &m->flows[index];

    f->next = f->una;
    list_flow(m, index);
    kick(m, f->port);
    return restart_timeout(m, index);
}

static cs_status finish_sender(transported *m, uint32_t index)
{
    flow *f = &m->flows[index];

    f->is_done = true;
    m->ports[f->port].n_open--;
    unlist_flow(m, index);
    free_flow_if_gone(m, index);
    return CS_OK;
}

/* All packets below `expect` are at the receiver. */
static cs_status acknowledge(transported *m, uint32_t index, int64_t expect)
{
    flow *f = &m->flows[index];

    if (expect <= f->una) {
        return CS_OK;
    }
    f->una        = expect;
    f->next       = f->next < expect ? expect : f->next;
    f->wait       = m->net->transport.rto;
    f->n_timeouts = 0;
    if (f->una == f->n) {
        return finish_sender(m, index);
    }
    kick(m, f->port);
    return restart_timeout(m, index);
}

static cs_status take_control(transported *m, uint32_t index)
{
    flow   *f = &m->flows[index];
    control c = *(control *)ring_at(&f->controls, 0, sizeof c);

    ring_drop_first(&f->controls);
    if (f->is_done) {
        return CS_OK;
    }
    if (c.kind == CNP) {
        cs_dcqcn_cnp(&f->rate, &m->net->transport.dcqcn, m->now);
        return arm_dcqcn(m, index);
    }
    CS_TRY(acknowledge(m, index, c.expect));
    if (c.kind == ACK || f->is_done) {
        return CS_OK;
    }
    if (m->net->transport.recovery == CS_RECOVER_GBN) {
        return go_back(m, index);
    }
    list_flow(m, index);
    kick(m, f->port);
    return send_again(f, c.missing);
}

/* From the second timeout in a row on a message sends one packet at a time. */
static bool is_careful(const flow *f)
{
    return f->n_timeouts > 1;
}

/* One more timeout in a row: the next one comes later. */
static void back_off(const transported *m, flow *f)
{
    enum { MOST_DOUBLINGS = 10, MOST_DRAWS = 255 };

    f->n_timeouts += f->n_timeouts < MOST_DRAWS;
    uint32_t doublings = f->n_timeouts < MOST_DOUBLINGS ? f->n_timeouts : MOST_DOUBLINGS;
    double   draw      = cs_packet_draw(m->net->seed, CS_FATE_TIMEOUT, f->port,
                                        f->ordinal * (MOST_DRAWS + 1) + f->n_timeouts);
    f->wait = llround((double)m->net->transport.rto * (double)(1 << doublings) * (1 + draw));
}

static cs_status time_out(transported *m, uint32_t index)
{
    flow *f = &m->flows[index];

    back_off(m, f);
    if (m->net->transport.recovery == CS_RECOVER_GBN) {
        return go_back(m, index);
    }
    f->again.n = 0;
    list_flow(m, index);
    kick(m, f->port);
    uint32_t count = is_careful(f) ? 1 : (uint32_t)(f->next - f->una);
    CS_TRY(send_again(f, (range){f->una, count, 1}));
    return restart_timeout(m, index);
}

static cs_status fire(transported *m, uint32_t index, uint32_t timer)
{
    flow *f   = &m->flows[index];
    cs_ps due = due_of(f, timer);

    if (f->timer_at[timer] != m->now) {
        return CS_OK;
    }
    f->timer_at[timer] = CS_PS_NEVER;
    if (due > m->now) {
        return arm(m, index, timer);
    }
    if (timer == RETRANSMIT) {
        return time_out(m, index);
    }
    cs_dcqcn_fire(&f->rate, &m->net->transport.dcqcn, timer - FIRST_DCQCN, m->now);
    return arm_dcqcn(m, index);
}

/* The number of the next packet of a flow, or -1: it has nothing to send, or must wait. */
static int64_t next_number(const transported *m, flow *f)
{
    int64_t window = is_careful(f) ? 1 : m->net->transport.window, again = first_again(f);

    if (again >= 0) {
        return again;
    }
    return f->next < f->n && (window == 0 || f->next - f->una < window) ? f->next : -1;
}

/* The flow whose packet a free port sends now, or NO_FLOW: nothing before *again_p. */
static uint32_t choose(transported *m, const port *p, cs_ps *again_p)
{
    *again_p = CS_PS_NEVER;
    for (uint32_t i = p->first; i != NO_FLOW; i = m->flows[i].behind) {
        flow *f    = &m->flows[i];
        cs_ps time = f->ready > f->next_start ? f->ready : f->next_start;
        if (time <= m->now && next_number(m, f) >= 0) {
            return i;
        }
        if (time > m->now && time < *again_p && next_number(m, f) >= 0) {
            *again_p = time;
        }
        if (f->ready > m->now) {
            break; /* and so are all behind it */
        }
    }
    return NO_FLOW;
}

/* What the transport does when a packet starts. */
static cs_status note_start(transported *m, uint32_t index, int64_t number, int64_t bytes)
{
    const cs_packet_transport *t = &m->net->transport;
    flow                      *f = &m->flows[index];

    if (!has_transport(m)) {
        f->next++;
        f->is_done = f->next == f->n;
        m->ports[f->port].n_open -= f->is_done;
        return CS_OK;
    }
    bool was_none = f->una == f->next;
    m->totals.resent += number < f->most;
    f->most = number < f->most ? f->most : number + 1;
    if (f->again.n > 0) { /* next_number() has removed what is no more */
        drop_first_again(f);
    } else {
        f->next++;
    }
    if (t->dcqcn.is_there) {
        f->next_start = m->now + cs_packet_ps(f->rate.rate_bps, bytes);
        cs_dcqcn_count(&f->rate, &t->dcqcn, bytes);
    }
    return was_none ? restart_timeout(m, index) : CS_OK;
}

static cs_status wake_later(transported *m, uint32_t link, cs_ps t)
{
    port *p = &m->ports[link];

    if (t < p->wake_at) {
        CS_TRY(put(m, t, WAKE, link));
        p->wake_at = t;
    }
    return CS_OK;
}

static cs_status transmit(transported *m, uint32_t link, packet x);

static cs_status start_sender(transported *m, uint32_t link)
{
    cs_ps    again;
    uint32_t index = choose(m, &m->ports[link], &again);

    if (index == NO_FLOW) {
        return again != CS_PS_NEVER ? wake_later(m, link, again) : CS_OK;
    }
    flow   *f      = &m->flows[index];
    int64_t number = next_number(m, f);
    int64_t bytes  = number < f->n - 1 ? f->header + f->mtu : f->last_bytes;
    CS_TRY(note_start(m, index, number, bytes));
    if (f->next == f->n && first_again(f) < 0) {
        unlist_flow(m, index);
    }
    m->totals.packets++;
    f->n_refs++;
    return transmit(m, link,
                    (packet){.flow   = index,
                             .number = (uint32_t)number,
                             .bytes  = (uint32_t)bytes & PACKET_BYTES,
                             .asks   = is_careful(f)});
}

/* ---- the receiver ---- */

static cs_status answer(transported *m, uint32_t index, control_kind kind, range missing)
{
    flow    *f = &m->flows[index];
    control *c = ring_append(&f->controls, sizeof *c);

    if (c == NULL) {
        return CS_ENOMEM;
    }
    *c = (control){kind, f->expect, missing};
    f->n_refs++;
    return put(m, m->now + f->control_delay, CONTROL, index);
}

static cs_status end_message(transported *m, uint32_t index)
{
    flow *f = &m->flows[index];

    f->has_ended = true;
    m->n_unended--;
    return cs_events_put(m->ends, (double)m->now, f->key);
}

/* `expect` has risen from the packet's number. */
static cs_status take_in_order(transported *m, packet x)
{
    flow   *f      = &m->flows[x.flow];
    int64_t every  = m->net->transport.ack_every;
    bool    is_due = f->expect == f->n || f->expect / every > x.number / every || x.asks;

    if (f->expect == f->n) {
        CS_TRY(end_message(m, x.flow));
    }
    return is_due ? answer(m, x.flow, ACK, (range){0}) : CS_OK;
}

static cs_status receive_gbn(transported *m, packet x)
{
    flow *f = &m->flows[x.flow];

    if (x.number == f->expect) {
        f->expect++;
        f->has_nak = false;
        return take_in_order(m, x);
    }
    if (x.number < f->expect) {
        return answer(m, x.flow, ACK, (range){0});
    }
    if (f->has_nak) {
        return CS_OK;
    }
    f->has_nak = true;
    return answer(m, x.flow, NAK, (range){0});
}

static bool is_kept(const flow *f, int64_t number)
{
    return f->kept != NULL && (f->kept[number / 64] >> number % 64 & 1) != 0;
}

/* Note that a packet has come over its way; those of the way that it has overtaken are missing. */
static range find_missing(transported *m, uint32_t index, int64_t number)
{
    const flow *f       = &m->flows[index];
    uint32_t    step    = f->n_paths;
    int64_t    *highest = &m->highest[(size_t)index * m->net->max_paths + (size_t)(number % step)];
    int64_t     first   = *highest < 0 ? number % step : *highest + step;

    if (number < first) {
        return (range){0};
    }
    *highest = number;
    return (range){first, (uint32_t)((number - first) / step), step};
}

static cs_status keep(flow *f, int64_t number)
{
    if (f->kept == NULL) {
        f->kept = CS_NEW(uint64_t, (size_t)f->n / 64 + 1);
        if (f->kept == NULL) {
            return CS_ENOMEM;
        }
    }
    f->kept[number / 64] |= UINT64_C(1) << number % 64;
    return CS_OK;
}

static cs_status receive_selective(transported *m, packet x)
{
    flow *f = &m->flows[x.flow];

    if (x.number < f->expect || is_kept(f, x.number)) {
        return answer(m, x.flow, ACK, (range){0});
    }
    range missing = find_missing(m, x.flow, x.number);
    if (missing.count > 0) {
        CS_TRY(answer(m, x.flow, NAK, missing));
    }
    if (x.number > f->expect) {
        return keep(f, x.number);
    }
    for (f->expect++; f->expect < f->n && is_kept(f, f->expect); f->expect++) {
    }
    return take_in_order(m, x);
}

static cs_status receive(transported *m, packet x)
{
    const cs_packet_transport *t = &m->net->transport;
    flow                      *f = &m->flows[x.flow];

    if (!has_transport(m)) {
        return ++f->expect == f->n ? end_message(m, x.flow) : CS_OK;
    }
    if (x.is_marked && t->dcqcn.is_there &&
        (f->last_cnp < 0 || m->now - f->last_cnp >= t->dcqcn.cnp_interval)) {
        f->last_cnp = m->now;
        CS_TRY(answer(m, x.flow, CNP, (range){0}));
    }
    return t->recovery == CS_RECOVER_GBN ? receive_gbn(m, x) : receive_selective(m, x);
}

/* ---- ports and links ---- */

/* Pause or resume the port that sends over the link. */
static cs_status tell(transported *m, uint32_t link, bool is_pause)
{
    const cs_packet_link *l = &m->net->links[link];

    m->ports[link].has_xoff = is_pause;
    m->totals.pauses += is_pause;
    cs_ps t = m->now + l->delay + cs_packet_ps(l->high_bps, CS_PAUSE_FRAME_BYTES);
    if (m->net->counters != NULL) {
        (is_pause ? cs_counters_pause : cs_counters_resume)(m->net->counters, link, t);
    }
    return put(m, t, PAUSE, link);
}

static cs_status come_in(transported *m, uint32_t link, uint32_t bytes)
{
    port                 *p = &m->ports[link];
    const cs_packet_link *l = &m->net->links[link];

    if (!m->net->is_lossless) {
        return CS_OK;
    }
    p->ingress += bytes;
    if (p->ingress > l->xoff + m->net->headroom_bytes) {
        char name[64];
        cs_packet_link_text(m->net, link, name, sizeof name);
        (void)snprintf(m->reason, sizeof m->reason,
                       "headroom_bytes is too small for %s: %lld bytes came over it that had "
                       "not left the switch",
                       name, (long long)p->ingress);
        return CS_EWRONG;
    }
    return !p->has_xoff && p->ingress > l->xoff ? tell(m, link, true) : CS_OK;
}

static cs_status leave(transported *m, uint32_t link, uint32_t bytes)
{
    port *p = &m->ports[link];

    if (!m->net->is_lossless) {
        return CS_OK;
    }
    p->ingress -= bytes;
    return p->has_xoff && p->ingress <= m->net->links[link].xon ? tell(m, link, false) : CS_OK;
}

static void set_rate(const cs_packet_link *l, port *p, cs_ps now)
{
    while (p->next_change < l->n_changes && l->changes[p->next_change].time <= now) {
        p->bps = l->changes[p->next_change++].bps;
    }
}

/* A packet starts on the link. */
static cs_status transmit(transported *m, uint32_t link, packet x)
{
    const cs_packet_net  *net  = m->net;
    const cs_packet_link *l    = &net->links[link];
    port                 *p    = &m->ports[link];
    uint32_t              next = way_of(m, &m->flows[x.flow], x.number)[x.hop + 1];

    set_rate(l, p, m->now);
    cs_ps ser = cs_packet_ps(p->bps, x.bytes), lag = ser;
    if (net->cut_through_bytes > 0 && net->cut_through_bytes < (int64_t)x.bytes &&
        next != CS_NO_LINK && net->links[next].high_bps <= l->low_bps) {
        lag = cs_packet_ps(p->bps, net->cut_through_bytes);
    }
    arrival *a = ring_append(&p->flight, sizeof *a);
    if (a == NULL) {
        return CS_ENOMEM;
    }
    if (net->counters != NULL) {
        cs_counters_start(net->counters, link, m->now, 0, 1, x.bytes, ser);
    }
    *a            = (arrival){m->now + lag + l->delay, x};
    p->is_busy    = true;
    p->wire_bytes = x.bytes;
    p->wire_in    = x.in;
    CS_TRY(put(m, m->now + ser, SENT, link));
    return p->flight.n == 1 ? put(m, a->t, ARRIVE, link) : CS_OK;
}

/* The port has nothing on its wire and is not paused. */
static cs_status start(transported *m, uint32_t link)
{
    port *p = &m->ports[link];

    if (is_sender(m, link)) {
        return start_sender(m, link);
    }
    if (p->queue.n == 0) {
        return CS_OK;
    }
    packet x = *(packet *)ring_at(&p->queue, 0, sizeof x);
    ring_drop_first(&p->queue);
    return transmit(m, link, x);
}

static cs_status end_transmission(transported *m, uint32_t link)
{
    port *p = &m->ports[link];

    p->is_busy = false;
    if (is_sender(m, link)) {
        if (p->first != NO_FLOW) {
            kick(m, link);
        }
        return CS_OK;
    }
    p->bytes -= p->wire_bytes;
    if (p->queue.n > 0) {
        kick(m, link);
    }
    return leave(m, p->wire_in, p->wire_bytes);
}

static void lose(transported *m, uint32_t link, packet x)
{
    m->totals.drops++;
    if (m->net->counters != NULL) {
        cs_counters_drop(m->net->counters, link, m->now);
    }
    m->ports[link].n_lost++;
    m->flows[x.flow].n_lost++;
    forget(m, x.flow);
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
static cs_status enter(transported *m, uint32_t link, packet x)
{
    port   *p     = &m->ports[link];
    int64_t depth = p->bytes;

    if (p->is_busy) {
        depth -= p->wire_bytes;
    } else if (p->queue.n > 0 && !p->is_paused) {
        depth -= ((packet *)ring_at(&p->queue, 0, sizeof x))->bytes; /* it starts now */
    }
    if (m->net->queue_bytes > 0 && depth + x.bytes > m->net->queue_bytes) {
        lose(m, link, x);
        return CS_OK;
    }
    if (marks(m, link, depth)) {
        x.is_marked = true;
        m->totals.marks++;
        if (m->net->counters != NULL) {
            cs_counters_mark(m->net->counters, link, m->now);
        }
    }
    if (m->net->counters != NULL) {
        cs_counters_come(m->net->counters, link, m->now, 0, 1, x.bytes);
    }
    p->n_entered++;
    p->bytes += x.bytes;
    packet *last = ring_append(&p->queue, sizeof *last);
    if (last == NULL) {
        return CS_ENOMEM;
    }
    *last = x;
    kick(m, link);
    return come_in(m, x.in, x.bytes);
}

static cs_status arrive(transported *m, uint32_t link)
{
    port   *p          = &m->ports[link];
    double  error_rate = m->net->transport.error_rate;
    arrival first      = *(arrival *)ring_at(&p->flight, 0, sizeof first);
    packet  x          = first.packet;

    ring_drop_first(&p->flight);
    if (p->flight.n > 0) {
        CS_TRY(put(m, ((arrival *)ring_at(&p->flight, 0, sizeof first))->t, ARRIVE, link));
    }
    uint64_t number = p->n_came++;
    if (error_rate > 0 && cs_packet_draw(m->net->seed, CS_FATE_ERROR, link, number) < error_rate) {
        lose(m, link, x);
        return CS_OK;
    }
    uint32_t next = way_of(m, &m->flows[x.flow], x.number)[x.hop + 1];
    if (next != CS_NO_LINK) {
        x.in = link;
        x.hop++;
        return enter(m, next, x);
    }
    cs_status status = receive(m, x);
    forget(m, x.flow);
    return status;
}

/* ---- events ---- */

static cs_status happen(transported *m, uint64_t key)
{
    uint32_t   number = (uint32_t)(key >> TIMER_BITS);
    uint32_t   timer  = (uint32_t)key & ((1u << TIMER_BITS) - 1);
    event_kind kind   = (event_kind)(key >> KIND_SHIFT);
    cs_status  status = CS_OK;

    m->n_moving -= kind != TIMER;
    switch (kind) {
    case SENT: return end_transmission(m, number);
    case PAUSE: /* they come in the order in which they were decided: one of each in turn */
        m->ports[number].is_paused = !m->ports[number].is_paused;
        kick(m, number);
        return CS_OK;
    case ARRIVE: return arrive(m, number);
    case CONTROL:
        status = take_control(m, number);
        forget(m, number);
        return status;
    case TIMER:
        status = fire(m, number, timer);
        forget(m, number);
        return status;
    case WAKE:
        m->ports[number].wake_at =
            m->ports[number].wake_at == m->now ? CS_PS_NEVER : m->ports[number].wake_at;
        kick(m, number);
        return CS_OK;
    }
    return CS_OK;
}

static cs_status start_kicked(transported *m)
{
    cs_status status = CS_OK;

    for (uint32_t i = 0; i < m->n_kicked && status == CS_OK; i++) {
        uint32_t link = m->kicked[i];
        port    *p    = &m->ports[link];
        p->is_kicked  = false;
        if (!p->is_busy && !p->is_paused) {
            status = start(m, link);
        }
    }
    m->n_kicked = 0;
    return status;
}

/* Nothing moves but timers, and no timer lets anything start? */
static bool is_stuck(const transported *m)
{
    bool can_start = false;

    for (uint32_t s = 0; s < m->net->n_senders && m->n_moving == 0; s++) {
        can_start = can_start || (m->ports[s].n_open > 0 && !m->ports[s].is_paused);
    }
    return m->n_moving == 0 && !can_start;
}

static bool transported_is_idle(const void *state)
{
    const transported *m = state;
    return m->n_kicked == 0 && is_stuck(m);
}

/* One picosecond after the other: what happens before ports start, then what they start. A message
 * that is handed over when one has ended, or at the horizon, finds that picosecond's ports not
 * started yet. */
static cs_status transported_run(void *state, cs_ps horizon)
{
    transported *m = state;

    while (m->failure == CS_OK) {
        double limit = fmin((double)horizon, cs_events_next_s(m->ends));
        double next  = cs_events_next_s(&m->events);
        if (next > (double)m->now && m->n_kicked > 0) {
            if ((double)m->now >= limit) {
                break;
            }
            m->failure = start_kicked(m);
            continue;
        }
        if (next > limit || !isfinite(next) || (m->n_moving == 0 && is_stuck(m))) {
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
        m->now   = (cs_ps)next;
        size_t n = cs_events_take(&m->events);
        for (size_t i = 0; i < n && m->failure == CS_OK; i++) {
            m->failure = happen(m, m->events.batch[i].key);
        }
    }
    return m->failure;
}

/* ---- hooks ---- */

static cs_ps control_delay(const transported *m, const uint32_t *way)
{
    cs_ps delay = 0;

    for (; *way != CS_NO_LINK; way++) {
        const cs_packet_link *l = &m->net->links[*way];
        delay += l->delay + cs_packet_ps(l->high_bps, CS_PAUSE_FRAME_BYTES);
    }
    return delay;
}

static void begin_flow(transported *m, uint32_t index, const cs_packet_message *message)
{
    flow *f     = &m->flows[index];
    ring  again = f->again, controls = f->controls;

    again.n = controls.n = 0;
    *f                   = (flow){
                          .key        = message->key,
                          .serial     = m->n_sent++,
                          .mtu        = message->mtu,
                          .header     = message->header,
                          .n          = cs_packet_count(message->bytes, message->mtu),
                          .last_bytes = cs_packet_last_bytes(message->bytes, message->mtu, message->header),
                          .ready      = message->ready,
                          .port       = message->ways[0],
                          .n_paths    = message->n_paths,
                          .first_path = message->first_path,
                          .is_there   = true,
                          .again      = again,
                          .controls   = controls,
                          .timeout    = CS_PS_NEVER,
                          .ordinal    = m->ports[message->ways[0]].n_handed++,
                          .wait       = m->net->transport.rto,
                          .last_cnp   = -1,
    };
    memcpy(&m->ways[index * m->way_bytes / sizeof *m->ways * m->net->max_paths], message->ways,
           m->way_bytes * message->n_paths);
    for (uint32_t w = 0; w < message->n_paths; w++) {
        m->highest[(size_t)index * m->net->max_paths + w] = -1;
    }
    for (uint32_t t = 0; t < TIMERS; t++) {
        f->timer_at[t] = CS_PS_NEVER;
    }
    f->control_delay = control_delay(m, way_of(m, f, 0));
    cs_dcqcn_begin(&f->rate, m->net->links[f->port].high_bps);
}

static cs_status transported_send(void *state, const cs_packet_message *message)
{
    transported *m = state;
    uint32_t     index;

    assert(message->ready >= m->now);
    if (reserve_flow(m, &index) != CS_OK) {
        return CS_ENOMEM;
    }
    begin_flow(m, index, message);
    m->n_unended++;
    m->ports[message->ways[0]].n_open++;
    list_flow(m, index);
    if (message->ready > m->now) {
        return wake_later(m, message->ways[0], message->ready);
    }
    kick(m, message->ways[0]);
    return CS_OK;
}

static cs_status transported_open(const cs_packet_net *net, cs_event_queue *ends, void **state_p,
                                  cs_error *err)
{
    const cs_packet_transport *t      = &net->transport;
    transported               *m      = CS_NEW(transported, 1);
    port                      *ports  = CS_NEW(port, net->n_links);
    uint32_t                  *kicked = CS_NEW(uint32_t, net->n_links);

    if (m == NULL || ports == NULL || kicked == NULL) {
        cs_free(m);
        cs_free(ports);
        cs_free(kicked);
        return CS_NO_MEMORY(err, "%u links", net->n_links);
    }
    *m = (transported){.net       = net,
                       .ends      = ends,
                       .ports     = ports,
                       .kicked    = kicked,
                       .way_bytes = ((size_t)net->max_way + 1) * sizeof *m->ways,
                       .free_flow = NO_FLOW};
    for (uint32_t l = 0; l < net->n_links; l++) {
        double grow = t->ecn_bps > 0 ? (double)net->links[l].high_bps : 1;
        double by   = t->ecn_bps > 0 ? (double)t->ecn_bps : 1;
        ports[l]    = (port){.bps     = net->links[l].bps,
                             .kmin    = llround((double)t->kmin * grow / by),
                             .kmax    = llround((double)t->kmax * grow / by),
                             .first   = NO_FLOW,
                             .last    = NO_FLOW,
                             .wake_at = CS_PS_NEVER};
    }
    *state_p = m;
    return CS_OK;
}

static void transported_count(const void *state, cs_packet_totals *totals)
{
    *totals = ((const transported *)state)->totals;
}

static void transported_close(void *state)
{
    transported *m = state;

    if (m == NULL) {
        return;
    }
    for (uint32_t l = 0; l < m->net->n_links; l++) {
        cs_free(m->ports[l].queue.items);
        cs_free(m->ports[l].flight.items);
    }
    for (uint32_t i = 0; i < m->n_flows; i++) {
        cs_free(m->flows[i].again.items);
        cs_free(m->flows[i].controls.items);
        cs_free(m->flows[i].kept);
    }
    cs_events_free(&m->events);
    cs_free(m->ports);
    cs_free(m->kicked);
    cs_free(m->flows);
    cs_free(m->ways);
    cs_free(m->highest);
    cs_free(m);
}

/* Where packets were lost that nobody sends again; false: nowhere. */
static bool tell_losses(transported *m)
{
    uint64_t lost = 0, messages = 0;
    uint32_t worst = 0;
    char     name[64];

    for (uint32_t l = 0; l < m->net->n_links; l++) {
        lost += m->ports[l].n_lost;
        worst = m->ports[l].n_lost > m->ports[worst].n_lost ? l : worst;
    }
    for (uint32_t i = 0; i < m->n_flows; i++) {
        messages += m->flows[i].is_there && m->flows[i].n_lost > 0;
    }
    if (has_transport(m) || lost == 0) {
        return false;
    }
    uint64_t there = m->ports[worst].n_lost;
    int      used =
        snprintf(m->reason, sizeof m->reason, "%llu packet%s of %llu message%s lost at ",
                 (unsigned long long)lost, lost == 1 ? "" : "s", (unsigned long long)messages,
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
            uint32_t from = ((const packet *)ring_at(&p->queue, i, sizeof(packet)))->in;
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
