/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets of a message have numbers 0 to n - 1. A message has ended when all its packets are at the
 * receiver. Without a transport (recovery is CS_RECOVER_NONE) that is all: every packet is sent
 * once, and counts as acknowledged when it starts. What follows is about transports.
 *
 * Control packets (ACK, NAK, CNP) are never lost and wait nowhere: they take the sum over the links
 * of the way of packet 0 of delay + cs_packet_ps(high_bps, 64). They are sent when the packet
 * arrives that they answer.
 *
 * Sender. `una` is the lowest number that is not acknowledged, `next` the next one to be sent
 * first; packets are *outstanding* while una < next. A port sends the packet of the first message,
 * in the order in which it was handed them, that is ready, has something to send, and whose rate
 * allows it now. A message has something to send if it has packets to send again, or if next < n
 * and (window = 0 or next - una < window). With DCQCN a message may start its next packet
 * cs_packet_ps(rate, bytes) after the start of the one before, with the rate before that packet
 * was counted; a free port waits for the earliest of its messages. An ACK or a NAK with the
 * number c sets una = c if c > una; una = n is the end of the message's sender: its timers stop.
 *
 * Retransmission timer. It is due one timeout after the last of: a packet started while none was
 * outstanding; una rose while packets were, and still are, outstanding. It is off while none is.
 * The timeout is rto, but after k timeouts in a row, without a rise of una between them, it is
 * llround((double)rto * (double)(1 << min(k, 10)) * (1 + cs_packet_draw(seed, CS_FATE_TIMEOUT, the
 * sending port, 256 * m + min(k, 255)))), where m is the number of messages that the port was
 * handed before this one: what fails in step parts. From the second timeout in a row on, until una
 * rises, the window is 1, so that a message does not lose to itself, and every packet that starts
 * asks for an ACK: where it lets `expect` rise, ACK(expect) is sent.
 *
 * Go-back-N. Receiver: `expect` is the number that it takes next. The packet `expect`: expect + 1;
 * ACK(expect) if expect is n or a multiple of ack_every. A lower one: ACK(expect). A higher one is
 * thrown away: NAK(expect), unless there was one since expect rose last. Sender: a NAK, and the
 * timer, set next = una; where una rises above next, next = una.
 *
 * Selective. Receiver: it keeps what comes out of order. `expect` is the lowest number that it does
 * not have. A packet that it has: ACK(expect). Another one, number i on way w, which knows the
 * highest number that has come over that way: the packets of the same way (every n_paths-th)
 * between that one and i are missing, since a way keeps the order: if there are any, NAK(expect,
 * those). Then i is kept; if it was `expect`, expect rises to the lowest number that is not there,
 * and ACK(expect) is sent if expect is n or has risen to or past a multiple of ack_every. Sender:
 * packets to send again are a queue; those that a NAK names are put at its end. It comes before new
 * packets; what is below una is skipped. The timer empties the queue, puts una to next - 1 into it,
 * from the second time in a row on una alone, and is due a timeout later.
 *
 * CNP. A marked packet that arrives (whether it is taken or not) is answered by a CNP if the
 * message has sent none yet, or the last one cnp_interval or longer ago. What it does is in
 * dcqcn.h; the line's rate is the sending port's high_bps. It does nothing once the sender has
 * ended.
 *
 * Left out: control packets as load, rates that a pair of hosts keeps from one message to the next.
 */
#include "models/packet/transport.h"

#include "base/alloc.h"
#include "models/packet/dcqcn.h"
#include "models/packet/ring.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define NO_MESSAGE UINT32_MAX

enum { BYTES_MASK = (1 << 21) - 1 };

typedef enum control_kind { ACK, NAK, CNP } control_kind;

/* `count` packets, from `first` on every stride-th. */
typedef struct range {
    int64_t  first;
    uint32_t count, stride;
} range;

typedef struct control {
    control_kind kind;
    int64_t      expect;
    range        missing; /* of a selective NAK */
} control;

/* Of a message: the retransmission timer, and those of DCQCN in their order. */
enum { RETRANSMIT, FIRST_DCQCN, TIMERS = FIRST_DCQCN + CS_DCQCN_TIMERS };

typedef struct message {
    uint64_t key;
    int64_t  mtu, header, n, last_bytes;
    cs_ps    ready, control_delay;
    uint32_t port, n_paths, first_path;
    uint32_t before, behind; /* in the list of its port, or behind it among those that are free */
    bool     is_listed;
    uint32_t n_refs; /* packets, control packets and events of it */
    /* the sender */
    int64_t  una, next, max;   /* max: numbers below have been sent */
    cs_ps    next_start;       /* its rate allows no earlier one */
    cs_ring  again;            /* of ranges of packets to send again */
    uint64_t ordinal;          /* messages that the port was handed before */
    uint32_t n_timeouts;       /* in a row */
    cs_ps    timeout_at;       /* CS_PS_NEVER: the retransmission timer is off */
    cs_ps    timer_at[TIMERS]; /* of the event that counts; CS_PS_NEVER: none */
    cs_dcqcn rate;
    /* the receiver */
    int64_t   expect; /* without a transport: packets that have come */
    bool      has_nak;
    uint64_t *kept;     /* owned: bits of those that came out of order; NULL: none ever did */
    cs_ps     last_cnp; /* -1: none */
    cs_ring   controls; /* of controls under way */
} message;

/* A sending port. */
typedef struct sender {
    uint32_t first, last; /* messages that have something left to send */
    uint32_t n_open;      /* messages whose sender has not ended */
    uint64_t n_handed;    /* messages */
} sender;

struct cs_packet_hosts {
    const cs_packet_net *net;      /* borrowed */
    cs_ways             *ways;     /* borrowed */
    cs_packet_events    *events;   /* borrowed */
    cs_event_queue      *ends;     /* borrowed */
    sender              *senders;  /* owned [n_senders] */
    message             *messages; /* owned [capacity] */
    int64_t             *highest;  /* owned [capacity][max_paths]: that came over a way */
    size_t               capacity;
    uint32_t             n_messages, free_message;
};

static bool has_transport(const cs_packet_hosts *h)
{
    return h->net->transport.recovery != CS_RECOVER_NONE;
}

static cs_ps now(const cs_packet_hosts *h)
{
    return h->events->now;
}

static uint32_t index_of(const cs_packet_hosts *h, const message *m)
{
    return (uint32_t)(m - h->messages);
}

static bool is_acknowledged(const message *m)
{
    return m->una == m->n;
}

static bool has_ended(const message *m)
{
    return m->expect == m->n;
}

/* ---- messages ---- */

/* The sending port on the way that a packet takes. */
static uint32_t first_step(const cs_packet_hosts *h, const message *m, int64_t number)
{
    uint32_t path = 0;

    if (m->n_paths > 1) {
        path = (uint32_t)((m->first_path + number) % m->n_paths);
    }
    return cs_step_first(h->ways, index_of(h, m)) + path * h->ways->width;
}

static message *message_of(const cs_packet_hosts *h, const cs_packet *x)
{
    return &h->messages[cs_step_message(h->ways, x->step)];
}

/* A packet, a control packet or an event is no more. */
static void forget(cs_packet_hosts *h, message *m)
{
    m->n_refs--;
    if (m->n_refs == 0 && is_acknowledged(m) && has_ended(m)) {
        cs_free(m->kept);
        m->kept         = NULL;
        m->behind       = h->free_message;
        h->free_message = index_of(h, m);
    }
}

static cs_status reserve(cs_packet_hosts *h, uint32_t *index_p)
{
    const cs_packet_net *net = h->net;

    if (h->free_message != NO_MESSAGE) {
        *index_p        = h->free_message;
        h->free_message = h->messages[*index_p].behind;
        return CS_OK;
    }
    if (h->n_messages == h->capacity) {
        size_t capacity = h->capacity == 0 ? 64 : 2 * h->capacity;
        if (!cs_resize(&h->messages, capacity, sizeof *h->messages) ||
            !cs_resize(&h->highest, capacity, net->max_paths * sizeof *h->highest)) {
            return CS_ENOMEM;
        }
        memset(&h->messages[h->capacity], 0, (capacity - h->capacity) * sizeof *h->messages);
        h->capacity = capacity;
    }
    *index_p = h->n_messages++;
    return CS_OK;
}

/* Into the port's list, in the order of the hand-overs; new ones are the last. */
static void list(cs_packet_hosts *h, message *m)
{
    sender  *s     = &h->senders[m->port];
    uint32_t after = s->last, index = index_of(h, m);

    if (m->is_listed) {
        return;
    }
    while (after != NO_MESSAGE && h->messages[after].ordinal > m->ordinal) {
        after = h->messages[after].before;
    }
    m->is_listed = true;
    m->before    = after;
    m->behind    = after == NO_MESSAGE ? s->first : h->messages[after].behind;
    *(after == NO_MESSAGE ? &s->first : &h->messages[after].behind)        = index;
    *(m->behind == NO_MESSAGE ? &s->last : &h->messages[m->behind].before) = index;
}

static void unlist(cs_packet_hosts *h, message *m)
{
    sender *s = &h->senders[m->port];

    if (m->is_listed) {
        m->is_listed                                                            = false;
        *(m->before == NO_MESSAGE ? &s->first : &h->messages[m->before].behind) = m->behind;
        *(m->behind == NO_MESSAGE ? &s->last : &h->messages[m->behind].before)  = m->before;
    }
}

/* What a control packet of a message takes to come back. */
static cs_ps control_delay(const cs_packet_net *net, const cs_packet_message *given)
{
    uint32_t        first = given->first_path % given->n_paths;
    const uint32_t *way   = given->ways + (size_t)first * (net->max_way + 1);
    cs_ps           delay = 0;

    for (; *way != CS_NO_LINK; way++) {
        const cs_packet_link *l = &net->links[*way];
        delay += l->delay + cs_packet_ps(l->high_bps, CS_PAUSE_FRAME_BYTES);
    }
    return delay;
}

static void begin(cs_packet_hosts *h, const cs_packet_message *given)
{
    const cs_packet_net *net   = h->net;
    message             *m     = &h->messages[given->number];
    cs_ring              again = m->again, controls = m->controls;

    again.n = controls.n = 0;
    *m                   = (message){
                          .key        = given->key,
                          .mtu        = given->mtu,
                          .header     = given->header,
                          .n          = cs_packet_count(given->bytes, given->mtu),
                          .last_bytes = cs_packet_last_bytes(given->bytes, given->mtu, given->header),
                          .ready      = given->ready,
                          .port       = given->ways[0],
                          .n_paths    = given->n_paths,
                          .first_path = given->first_path,
                          .again      = again,
                          .controls   = controls,
                          .timeout_at = CS_PS_NEVER,
                          .ordinal    = h->senders[given->ways[0]].n_handed++,
                          .last_cnp   = -1,
    };
    for (uint32_t w = 0; w < given->n_paths; w++) {
        h->highest[(size_t)given->number * net->max_paths + w] = -1;
    }
    for (uint32_t t = 0; t < TIMERS; t++) {
        m->timer_at[t] = CS_PS_NEVER;
    }
    m->control_delay = control_delay(net, given);
    cs_dcqcn_begin(&m->rate, net->links[m->port].high_bps);
}

cs_status cs_hosts_send(cs_packet_hosts *hosts, const cs_packet_message *given)
{
    cs_packet_message own = *given; /* a number may be given again while there are packets of it */

    assert(given->ready >= now(hosts));
    CS_TRY(reserve(hosts, &own.number));
    CS_TRY(cs_ways_keep(hosts->ways, &own));
    begin(hosts, &own);
    hosts->senders[given->ways[0]].n_open++;
    list(hosts, &hosts->messages[own.number]);
    return CS_OK;
}

/* ---- timers ----
 *
 * A timer has at most one event that counts. One that is set later is put anew when its event
 * comes. */

static cs_ps due_of(const message *m, uint32_t timer)
{
    if (is_acknowledged(m)) {
        return CS_PS_NEVER;
    }
    return timer == RETRANSMIT ? m->timeout_at : m->rate.due[timer - FIRST_DCQCN];
}

static cs_status arm(cs_packet_hosts *h, message *m, uint32_t timer)
{
    cs_ps due = due_of(m, timer);

    if (due >= m->timer_at[timer]) {
        return CS_OK;
    }
    CS_TRY(cs_packet_put_timer(h->events, due, index_of(h, m), timer));
    m->timer_at[timer] = due;
    m->n_refs++;
    return CS_OK;
}

static cs_status arm_dcqcn(cs_packet_hosts *h, message *m)
{
    for (uint32_t t = FIRST_DCQCN; t < TIMERS; t++) {
        CS_TRY(arm(h, m, t));
    }
    return CS_OK;
}

/* The timeout: after several in a row a longer one. */
static cs_ps timeout_of(const cs_packet_hosts *h, const message *m)
{
    enum { MOST_DOUBLINGS = 10, MOST_DRAWS = 255 };

    const cs_packet_net *net = h->net;
    uint32_t             k   = m->n_timeouts < MOST_DRAWS ? m->n_timeouts : MOST_DRAWS;

    if (k == 0) {
        return net->transport.rto;
    }
    double draw =
        cs_packet_draw(net->seed, CS_FATE_TIMEOUT, m->port, m->ordinal * (MOST_DRAWS + 1) + k);
    return llround((double)net->transport.rto *
                   (double)(1 << (k < MOST_DOUBLINGS ? k : MOST_DOUBLINGS)) * (1 + draw));
}

/* The retransmission timer starts anew, or is off. */
static cs_status restart_timeout(cs_packet_hosts *h, message *m)
{
    m->timeout_at = m->una < m->next ? now(h) + timeout_of(h, m) : CS_PS_NEVER;
    return arm(h, m, RETRANSMIT);
}

/* ---- the sender ---- */

/* From the second timeout in a row on a message sends one packet at a time. */
static bool is_careful(const message *m)
{
    return m->n_timeouts > 1;
}

/* The first packet to be sent again, or -1: none. */
static int64_t first_again(message *m)
{
    while (m->again.n > 0) {
        range *r = cs_ring_at(&m->again, 0, sizeof *r);
        if (r->first < m->una) {
            int64_t skipped = (m->una - r->first + r->stride - 1) / r->stride;
            skipped         = skipped < r->count ? skipped : r->count;
            r->first += skipped * r->stride;
            r->count -= (uint32_t)skipped;
        }
        if (r->count > 0) {
            return r->first;
        }
        cs_ring_drop_first(&m->again);
    }
    return -1;
}

/* The number of the next packet, or -1: there is nothing to send, or it must wait for an ACK. */
static int64_t next_number(const cs_packet_hosts *h, message *m)
{
    int64_t window = is_careful(m) ? 1 : h->net->transport.window, again = first_again(m);

    if (again >= 0) {
        return again;
    }
    return m->next < m->n && (window == 0 || m->next - m->una < window) ? m->next : -1;
}

/* There is something to send, perhaps since the sender has gone back. */
static void offer(cs_packet_hosts *h, message *m)
{
    list(h, m);
    cs_packet_kick(h->events, m->port);
}

static cs_status send_again(cs_packet_hosts *h, message *m, range missing)
{
    range *r = cs_ring_append(&m->again, sizeof *r);

    if (r == NULL) {
        return CS_ENOMEM;
    }
    *r = missing;
    offer(h, m);
    return CS_OK;
}

/* Go-back-N: on from the oldest packet that is not acknowledged. */
static cs_status go_back(cs_packet_hosts *h, message *m)
{
    m->next = m->una;
    offer(h, m);
    return restart_timeout(h, m);
}

static void finish_sender(cs_packet_hosts *h, message *m)
{
    h->senders[m->port].n_open--;
    unlist(h, m);
}

/* All packets below `expect` are at the receiver. */
static cs_status acknowledge(cs_packet_hosts *h, message *m, int64_t expect)
{
    if (expect <= m->una) {
        return CS_OK;
    }
    m->una        = expect;
    m->next       = m->next < expect ? expect : m->next;
    m->n_timeouts = 0;
    if (is_acknowledged(m)) {
        finish_sender(h, m);
        return CS_OK;
    }
    cs_packet_kick(h->events, m->port);
    return restart_timeout(h, m);
}

static cs_status take_control(cs_packet_hosts *h, message *m)
{
    control c = *(control *)cs_ring_at(&m->controls, 0, sizeof c);

    cs_ring_drop_first(&m->controls);
    if (is_acknowledged(m)) {
        return CS_OK;
    }
    if (c.kind == CNP) {
        cs_dcqcn_cnp(&m->rate, &h->net->transport.dcqcn, now(h));
        return arm_dcqcn(h, m);
    }
    CS_TRY(acknowledge(h, m, c.expect));
    if (c.kind == ACK || is_acknowledged(m)) {
        return CS_OK;
    }
    return h->net->transport.recovery == CS_RECOVER_GBN ? go_back(h, m)
                                                        : send_again(h, m, c.missing);
}

static cs_status time_out(cs_packet_hosts *h, message *m)
{
    m->n_timeouts++;
    if (h->net->transport.recovery == CS_RECOVER_GBN) {
        return go_back(h, m);
    }
    m->again.n = 0;
    CS_TRY(send_again(
        h, m, (range){m->una, is_careful(m) ? 1 : (uint32_t)(m->next - m->una), .stride = 1}));
    return restart_timeout(h, m);
}

static cs_status fire(cs_packet_hosts *h, message *m, uint32_t timer)
{
    cs_ps due = due_of(m, timer);

    if (m->timer_at[timer] != now(h)) {
        return CS_OK;
    }
    m->timer_at[timer] = CS_PS_NEVER;
    if (due > now(h)) {
        return arm(h, m, timer);
    }
    if (timer == RETRANSMIT) {
        return time_out(h, m);
    }
    cs_dcqcn_fire(&m->rate, &h->net->transport.dcqcn, timer - FIRST_DCQCN, now(h));
    return arm_dcqcn(h, m);
}

cs_status cs_hosts_happen(cs_packet_hosts *hosts, const cs_packet_event *event)
{
    message  *m = &hosts->messages[event->number];
    cs_status status =
        event->kind == CS_PACKET_TIMER ? fire(hosts, m, event->timer) : take_control(hosts, m);

    forget(hosts, m);
    return status;
}

/* The message whose packet a free port sends now; NULL: none, and none before *start_p. */
static message *choose(const cs_packet_hosts *h, uint32_t port, cs_ps *start_p)
{
    *start_p = CS_PS_NEVER;
    for (uint32_t i = h->senders[port].first; i != NO_MESSAGE; i = h->messages[i].behind) {
        message *m     = &h->messages[i];
        cs_ps    start = m->ready > m->next_start ? m->ready : m->next_start;
        if (next_number(h, m) < 0) {
            continue;
        }
        if (start <= now(h)) {
            *start_p = now(h);
            return m;
        }
        *start_p = start < *start_p ? start : *start_p;
        if (m->ready > now(h)) {
            break; /* and so are all behind it */
        }
    }
    return NULL;
}

/* What the transport does when a packet starts. */
static cs_status note_start(cs_packet_hosts *h, message *m, const cs_packet *x)
{
    const cs_packet_dcqcn *dcqcn    = &h->net->transport.dcqcn;
    bool                   was_none = m->una == m->next;

    if (m->again.n > 0) { /* next_number() has removed what is no more */
        range *r = cs_ring_at(&m->again, 0, sizeof *r);
        r->first += r->stride;
        r->count--;
    } else {
        m->next++;
    }
    m->max = x->is_resent ? m->max : m->next;
    if (dcqcn->is_there) {
        m->next_start = now(h) + cs_packet_ps(m->rate.rate_bps, x->bytes);
        cs_dcqcn_count(&m->rate, dcqcn, x->bytes);
    }
    return was_none ? restart_timeout(h, m) : CS_OK;
}

cs_status cs_hosts_start(cs_packet_hosts *hosts, uint32_t port, cs_packet *packet, cs_ps *start_p)
{
    message *m = choose(hosts, port, start_p);

    if (m == NULL) {
        return CS_OK;
    }
    int64_t number = next_number(hosts, m);
    int64_t bytes  = number < m->n - 1 ? m->header + m->mtu : m->last_bytes;
    *packet        = (cs_packet){.step      = first_step(hosts, m, number),
                                 .number    = (uint32_t)number,
                                 .bytes     = (uint32_t)bytes & BYTES_MASK,
                                 .is_resent = number < m->max,
                                 .asks      = is_careful(m)};
    m->n_refs++;
    if (!has_transport(hosts)) {
        m->una = ++m->next;
        if (is_acknowledged(m)) {
            finish_sender(hosts, m);
        }
        return CS_OK;
    }
    CS_TRY(note_start(hosts, m, packet));
    if (m->next == m->n && first_again(m) < 0) {
        unlist(hosts, m);
    }
    return CS_OK;
}

/* ---- the receiver ---- */

static cs_status answer(cs_packet_hosts *h, message *m, control_kind kind, range missing)
{
    control *c = cs_ring_append(&m->controls, sizeof *c);

    if (c == NULL) {
        return CS_ENOMEM;
    }
    *c = (control){kind, m->expect, missing};
    m->n_refs++;
    return cs_packet_put(h->events, now(h) + m->control_delay, CS_PACKET_CONTROL, index_of(h, m));
}

static cs_status end_message(cs_packet_hosts *h, const message *m)
{
    return cs_events_put(h->ends, (double)now(h), m->key);
}

/* `expect` has risen from the packet's number. */
static cs_status take_in_order(cs_packet_hosts *h, message *m, const cs_packet *x)
{
    int64_t every  = h->net->transport.ack_every;
    bool    is_due = has_ended(m) || m->expect / every > x->number / every || x->asks;

    if (has_ended(m)) {
        CS_TRY(end_message(h, m));
    }
    return is_due ? answer(h, m, ACK, (range){0}) : CS_OK;
}

static cs_status receive_gbn(cs_packet_hosts *h, message *m, const cs_packet *x)
{
    if (x->number == m->expect) {
        m->expect++;
        m->has_nak = false;
        return take_in_order(h, m, x);
    }
    if (x->number < m->expect) {
        return answer(h, m, ACK, (range){0});
    }
    if (m->has_nak) {
        return CS_OK;
    }
    m->has_nak = true;
    return answer(h, m, NAK, (range){0});
}

static bool is_kept(const message *m, int64_t number)
{
    return m->kept != NULL && (m->kept[number / 64] >> number % 64 & 1) != 0;
}

/* Note that a packet has come over its way; those of the way that it has overtaken are missing. */
static range find_missing(cs_packet_hosts *h, const message *m, int64_t number)
{
    uint32_t stride = m->n_paths;
    int64_t *highest =
        &h->highest[(size_t)index_of(h, m) * h->net->max_paths + (size_t)(number % stride)];
    int64_t first = *highest < 0 ? number % stride : *highest + stride;

    if (number < first) {
        return (range){0};
    }
    *highest = number;
    return (range){first, (uint32_t)((number - first) / stride), stride};
}

static cs_status keep(message *m, int64_t number)
{
    if (m->kept == NULL) {
        m->kept = CS_NEW(uint64_t, (size_t)m->n / 64 + 1);
        if (m->kept == NULL) {
            return CS_ENOMEM;
        }
    }
    m->kept[number / 64] |= UINT64_C(1) << number % 64;
    return CS_OK;
}

static cs_status receive_selective(cs_packet_hosts *h, message *m, const cs_packet *x)
{
    if (x->number < m->expect || is_kept(m, x->number)) {
        return answer(h, m, ACK, (range){0});
    }
    range missing = find_missing(h, m, x->number);
    if (missing.count > 0) {
        CS_TRY(answer(h, m, NAK, missing));
    }
    if (x->number > m->expect) {
        return keep(m, x->number);
    }
    for (m->expect++; m->expect < m->n && is_kept(m, m->expect); m->expect++) {
    }
    return take_in_order(h, m, x);
}

static cs_status receive(cs_packet_hosts *h, message *m, const cs_packet *x)
{
    const cs_packet_transport *t = &h->net->transport;

    if (!has_transport(h)) {
        m->expect++;
        return has_ended(m) ? end_message(h, m) : CS_OK;
    }
    if (x->is_marked && t->dcqcn.is_there &&
        (m->last_cnp < 0 || now(h) - m->last_cnp >= t->dcqcn.cnp_interval)) {
        m->last_cnp = now(h);
        CS_TRY(answer(h, m, CNP, (range){0}));
    }
    return t->recovery == CS_RECOVER_GBN ? receive_gbn(h, m, x) : receive_selective(h, m, x);
}

cs_status cs_hosts_receive(cs_packet_hosts *hosts, const cs_packet *packet)
{
    message  *m      = message_of(hosts, packet);
    cs_status status = receive(hosts, m, packet);

    forget(hosts, m);
    return status;
}

void cs_hosts_lose(cs_packet_hosts *hosts, const cs_packet *packet)
{
    forget(hosts, message_of(hosts, packet));
}

/* ---- all of them ---- */

cs_packet_hosts *cs_hosts_open(const cs_packet_net *net, cs_ways *ways, cs_packet_events *events,
                               cs_event_queue *ends)
{
    cs_packet_hosts *h       = CS_NEW(cs_packet_hosts, 1);
    sender          *senders = CS_NEW(sender, net->n_senders);

    if (h == NULL || senders == NULL) {
        cs_free(h);
        cs_free(senders);
        return NULL;
    }
    for (uint32_t s = 0; s < net->n_senders; s++) {
        senders[s] = (sender){.first = NO_MESSAGE, .last = NO_MESSAGE};
    }
    *h = (cs_packet_hosts){.net          = net,
                           .ways         = ways,
                           .events       = events,
                           .ends         = ends,
                           .senders      = senders,
                           .free_message = NO_MESSAGE};
    return h;
}

void cs_hosts_close(cs_packet_hosts *hosts)
{
    if (hosts == NULL) {
        return;
    }
    for (uint32_t i = 0; i < hosts->n_messages; i++) {
        cs_free(hosts->messages[i].again.items);
        cs_free(hosts->messages[i].controls.items);
        cs_free(hosts->messages[i].kept);
    }
    cs_free(hosts->senders);
    cs_free(hosts->messages);
    cs_free(hosts->highest);
    cs_free(hosts);
}

bool cs_hosts_are_sending(const cs_packet_hosts *hosts, uint32_t port)
{
    return hosts->senders[port].n_open > 0;
}

uint32_t cs_hosts_count_losers(const cs_packet_hosts *hosts)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < hosts->n_messages; i++) {
        n += hosts->messages[i].expect < hosts->messages[i].una;
    }
    return n;
}
