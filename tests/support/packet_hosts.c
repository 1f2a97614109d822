/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/packet_hosts.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { ACK, NAK, CNP };

/* The timers of a message: first those of its rate, in the order in which they fire in one
 * picosecond. */
enum { ALPHA_TIMER, DECREASE_TIMER, INCREASE_TIMER, RESEND_TIMER, RATE_TIMERS = RESEND_TIMER };

/* The rate of a message under DCQCN. */
typedef struct rate {
    const cs_packet_dcqcn *set; /* NULL: the rate is not controlled */
    int64_t                bps, target, line;
    double                 alpha;
    int64_t                bytes, time_stage, byte_stage;
    bool                   has_cnp, alpha_flag, decrease_flag;
    cs_ps                  due[RATE_TIMERS]; /* CS_PS_NEVER: it does not run */
} rate;

typedef struct message {
    int64_t n; /* packets */
    cs_ps   ready;
    /* The sender. */
    int64_t  next, una, most; /* most: packets that were sent ever */
    cs_ps    may_start, resend_due;
    uint64_t n_timeouts; /* since una rose */
    int64_t *again;      /* owned [again_to]: numbers to send again, from `again_from` on */
    size_t   again_from, again_to;
    rate     rate;
    /* The receiver. */
    bool   *has; /* owned [n] */
    int64_t n_has, has_bytes, expect;
    int64_t highest[CT_MOST_PACKET_PATHS]; /* of every way, of those that have come */
    bool    was_told;                      /* a NAK, since expect rose */
    bool    had_cnp;
    cs_ps   last_cnp;
} message;

typedef struct sender {
    bool     is_here;
    uint32_t first;  /* message that is not sent, or acknowledged */
    uint32_t handed; /* the first that is not handed over */
} sender;

struct ct_packet_hosts {
    const cs_packet_net       *net;
    const cs_packet_transport *transport;
    const ct_packet_schedule  *schedule;
    ct_packet_events          *events;
    ct_packet_answer          *answer;
    sender                    *senders;  /* owned [n_senders] */
    message                   *messages; /* owned [n_sends] */
};

uint32_t ct_packet_link(const cs_packet_net *net, const ct_packet_schedule *schedule,
                        const ct_packet *packet, uint32_t hop)
{
    const ct_packet_send *s    = &schedule->sends[packet->message];
    const uint64_t        path = (s->first_path + (uint64_t)packet->index) % s->n_paths;

    return schedule->ways[s->ways + path * (net->max_way + 1) + hop];
}

/* ---- the rate of a message under DCQCN ---- */

/* No set, or one that is not there: the rate is not controlled. */
static rate rate_of(const cs_packet_dcqcn *set, int64_t line_bps)
{
    return (rate){.set    = set != NULL && set->is_there ? set : NULL,
                  .bps    = line_bps,
                  .target = line_bps,
                  .line   = line_bps,
                  .due    = {CS_PS_NEVER, CS_PS_NEVER, CS_PS_NEVER}};
}

static void scale(rate *r, double factor)
{
    const double min  = fmin((double)r->set->min_bps, (double)r->line);
    const double part = (double)llround((double)r->bps * factor);

    r->bps = (int64_t)fmax(part, min);
}

static void decrease(rate *r, cs_ps now)
{
    if (r->set->clamp_target || r->time_stage != 0) {
        r->target = r->bps;
    }
    scale(r, fmax(1 - r->alpha / 2, r->set->least));
    r->time_stage          = 0;
    r->byte_stage          = 0;
    r->bytes               = 0;
    r->due[INCREASE_TIMER] = now + r->set->increase_period;
}

static void increase(rate *r)
{
    const bool    has_bytes = r->set->byte_counter > 0;
    const int64_t other     = has_bytes ? r->byte_stage : r->time_stage - 1;
    const int64_t excess = (r->time_stage < other ? r->time_stage : other) - r->set->fast_recovery;

    if (excess > 0) {
        r->target += r->set->hai_grows ? excess * r->set->hai_bps : r->set->hai_bps;
    } else if (r->time_stage > r->set->fast_recovery || other > r->set->fast_recovery) {
        r->target += r->set->ai_bps;
    }
    if (r->target > r->line) {
        r->target = r->line;
    }
    r->bps = (r->bps + r->target) / 2;
}

static void take_cnp(rate *r, cs_ps now)
{
    const bool is_nic = r->set->decrease_period > 0, is_first = !r->has_cnp;

    r->has_cnp = true;
    if (is_first) {
        r->alpha = r->set->first_alpha;
        scale(r, r->set->first_cnp);
        r->target = r->bps;
    }
    if (!is_nic) {
        decrease(r, now);
        r->alpha            = (1 - r->set->g) * r->alpha + r->set->g;
        r->due[ALPHA_TIMER] = now + r->set->alpha_period;
        return;
    }
    r->decrease_flag = true;
    if (is_first) {
        r->due[ALPHA_TIMER]    = now + r->set->alpha_period;
        r->due[DECREASE_TIMER] = now + r->set->decrease_period;
    } else {
        r->alpha_flag = true;
    }
}

static void fire(rate *r, uint32_t timer, cs_ps now)
{
    if (timer == ALPHA_TIMER) {
        r->alpha      = (1 - r->set->g) * r->alpha + (r->alpha_flag ? r->set->g : 0);
        r->alpha_flag = false;
        r->due[timer] = now + r->set->alpha_period;
    } else if (timer == DECREASE_TIMER) {
        r->due[timer] = now + r->set->decrease_period;
        if (r->decrease_flag) {
            decrease(r, now);
        }
        r->decrease_flag = false;
    } else {
        r->due[timer] = now + r->set->increase_period;
        r->time_stage++;
        increase(r);
    }
}

static void count_bytes(rate *r, int64_t bytes)
{
    if (r->has_cnp && r->set->byte_counter > 0 && (r->bytes += bytes) >= r->set->byte_counter) {
        r->bytes = 0;
        r->byte_stage++;
        increase(r);
    }
}

/* ---- hand-overs ---- */

static void hand_over(ct_packet_hosts *h)
{
    for (uint32_t p = 0; p < h->net->n_senders; p++) {
        sender *s = &h->senders[p];
        while (s->is_here && s->handed < h->schedule->n_sends &&
               ct_packet_waits_no_more(h->schedule, s->handed, h->answer->end)) {
            message *m = &h->messages[s->handed];
            m->ready   = h->events->now + h->schedule->sends[s->handed].startup;
            ct_packet_kick(h->events, m->ready, p);
            s->handed = ct_packet_next(h->schedule, p, s->handed + 1);
        }
    }
}

/* ---- senders ---- */

static bool is_done(const ct_packet_hosts *h, const message *m)
{
    return (h->transport->recovery == CS_RECOVER_NONE ? m->next : m->una) == m->n;
}

/* What the message would send next; false: nothing. */
static bool find_packet(const ct_packet_hosts *h, message *m, int64_t *number_p)
{
    while (m->again_from < m->again_to && m->again[m->again_from] < m->una) {
        m->again_from++;
    }
    if (m->again_from < m->again_to) {
        *number_p = m->again[m->again_from];
        return true;
    }
    *number_p            = m->next;
    const int64_t window = m->n_timeouts > 1 ? 1 : h->transport->window;
    return m->next < m->n &&
           (h->transport->recovery == CS_RECOVER_NONE || window == 0 || m->next - m->una < window);
}

/* The rto, or after timeouts in a row more of it. */
static cs_ps resend_wait(const ct_packet_hosts *h, uint32_t number)
{
    const uint64_t k    = h->messages[number].n_timeouts;
    const uint32_t port = ct_packet_port(h->schedule, number);
    uint64_t       m    = 0;

    if (k == 0) {
        return h->transport->rto;
    }
    for (uint32_t i = ct_packet_next(h->schedule, port, 0); i < number;
         i          = ct_packet_next(h->schedule, port, i + 1)) {
        m++;
    }
    return llround(
        (double)h->transport->rto * (double)(1 << (k < 10 ? k : 10)) *
        (1 + cs_packet_draw(h->net->seed, CS_FATE_TIMEOUT, port, 256 * m + (k < 255 ? k : 255))));
}

static void set_resend_timer(ct_packet_hosts *h, uint32_t number)
{
    message *m    = &h->messages[number];
    m->resend_due = h->events->now + resend_wait(h, number);
    ct_packet_put(h->events, m->resend_due, CT_TIMER, RESEND_TIMER, 0,
                  &(ct_packet){.message = number});
}

static void start_message(ct_packet_hosts *h, uint32_t number, int64_t index, ct_packet *p)
{
    const ct_packet_send *s = &h->schedule->sends[number];
    message              *m = &h->messages[number];

    *p = (ct_packet){.message = number,
                     .index   = (uint32_t)index,
                     .in      = CS_NO_LINK,
                     .asks    = m->n_timeouts > 1,
                     .bytes   = index < m->n - 1 ? s->mtu + s->header
                                                 : cs_packet_last_bytes(s->bytes, s->mtu, s->header)};
    if (m->most == 0) {
        h->answer->start[number] = h->events->now;
    }
    h->answer->totals.packets++;
    h->answer->totals.resent += index < m->most;
    m->most = index < m->most ? m->most : index + 1;
    if (h->transport->recovery != CS_RECOVER_NONE && m->una == m->next) {
        set_resend_timer(h, number);
    }
    if (m->again_from < m->again_to) {
        m->again_from++;
    } else {
        m->next++;
    }
    if (m->rate.set != NULL) {
        m->may_start = h->events->now + cs_packet_ps(m->rate.bps, p->bytes);
        count_bytes(&m->rate, p->bytes);
    }
}

bool ct_packet_hosts_are_sending(ct_packet_hosts *h, uint32_t port)
{
    sender *s = &h->senders[port];

    while (s->first < s->handed && is_done(h, &h->messages[s->first])) {
        s->first = ct_packet_next(h->schedule, port, s->first + 1);
    }
    return s->first < s->handed;
}

bool ct_packet_hosts_send(ct_packet_hosts *h, uint32_t port, ct_packet *packet)
{
    const sender *s    = &h->senders[port];
    cs_ps         next = CS_PS_NEVER;

    if (!ct_packet_hosts_are_sending(h, port)) {
        return false;
    }
    for (uint32_t i = s->first; i < s->handed; i = ct_packet_next(h->schedule, port, i + 1)) {
        message *m     = &h->messages[i];
        int64_t  index = 0;
        if (m->ready > h->events->now) {
            break;
        }
        if (is_done(h, m) || !find_packet(h, m, &index)) {
            continue;
        }
        if (m->may_start <= h->events->now) {
            start_message(h, i, index, packet);
            return true;
        }
        next = m->may_start < next ? m->may_start : next;
    }
    if (next != CS_PS_NEVER) {
        ct_packet_kick(h->events, next, port);
    }
    return false;
}

static void send_again(message *m, int64_t number)
{
    m->again                = realloc(m->again, (m->again_to + 1) * sizeof *m->again);
    m->again[m->again_to++] = number;
}

/* An ACK or a NAK: all below e->value is there; a selective NAK's packet has the missing numbers,
 * from index on, below bytes. */
static void take_answer(ct_packet_hosts *h, uint32_t number, const ct_packet_event *e)
{
    message   *m               = &h->messages[number];
    const bool was_outstanding = m->una < m->next;

    if (e->value > m->una) {
        m->n_timeouts = 0;
        m->una        = e->value;
        m->next       = m->next < m->una ? m->una : m->next;
        if (was_outstanding && m->una < m->next) {
            set_resend_timer(h, number);
        }
    }
    if (e->number == NAK && h->transport->recovery == CS_RECOVER_GBN) {
        m->next = m->una;
    }
    for (int64_t i = e->packet.index; e->number == NAK && i < e->packet.bytes;
         i += h->schedule->sends[number].n_paths) {
        send_again(m, i);
    }
    ct_packet_kick(h->events, h->events->now, ct_packet_port(h->schedule, number));
}

static void time_out(ct_packet_hosts *h, uint32_t number)
{
    message *m = &h->messages[number];

    if (m->una == m->next) {
        return;
    }
    m->n_timeouts++;
    if (h->transport->recovery == CS_RECOVER_GBN) {
        m->next = m->una;
    } else {
        m->again_from = m->again_to;
        for (int64_t i = m->una; i < (m->n_timeouts > 1 ? m->una + 1 : m->next); i++) {
            send_again(m, i);
        }
        set_resend_timer(h, number);
    }
    ct_packet_kick(h->events, h->events->now, ct_packet_port(h->schedule, number));
}

/* Events for the timers that run; those that were for another time find no timer due. */
static void put_rate_timers(ct_packet_hosts *h, uint32_t number)
{
    for (uint32_t t = 0; t < RATE_TIMERS; t++) {
        if (h->messages[number].rate.due[t] != CS_PS_NEVER) {
            ct_packet_put(h->events, h->messages[number].rate.due[t], CT_TIMER, t, 0,
                          &(ct_packet){.message = number});
        }
    }
}

void ct_packet_hosts_happen(ct_packet_hosts *h, const ct_packet_event *e)
{
    const uint32_t number = e->packet.message;
    message       *m      = &h->messages[number];

    if (e->kind == CT_RANK) {
        h->senders[e->number].is_here = true;
        hand_over(h);
    } else if (is_done(h, m)) {
        return;
    } else if (e->kind == CT_CONTROL && e->number != CNP) {
        take_answer(h, number, e);
    } else if (e->kind == CT_CONTROL) {
        take_cnp(&m->rate, e->t);
        put_rate_timers(h, number);
    } else if (e->number == RESEND_TIMER && m->resend_due == e->t) {
        time_out(h, number);
    } else if (e->number < RATE_TIMERS && m->rate.due[e->number] == e->t) {
        fire(&m->rate, e->number, e->t);
        put_rate_timers(h, number);
    }
}

/* ---- receivers ---- */

/* A control packet goes back: the links of packet 0, without waiting. */
static void answer(ct_packet_hosts *h, uint32_t number, uint32_t kind, int64_t from, int64_t to)
{
    ct_packet p  = {.message = number};
    cs_ps     at = h->events->now;

    for (uint32_t l, hop = 0; (l = ct_packet_link(h->net, h->schedule, &p, hop)) != CS_NO_LINK;
         hop++) {
        at += h->net->links[l].delay + cs_packet_ps(h->net->links[l].high_bps, 64);
    }
    p.index = (uint32_t)from;
    p.bytes = to;
    ct_packet_put(h->events, at, CT_CONTROL, kind, h->messages[number].expect, &p);
}

static void take(ct_packet_hosts *h, const ct_packet *p)
{
    const ct_packet_send *s = &h->schedule->sends[p->message];
    message              *m = &h->messages[p->message];

    cr_assert(!m->has[p->index], "a packet is taken twice");
    m->has[p->index] = true;
    m->has_bytes += p->bytes - s->header;
    while (m->expect < m->n && m->has[m->expect]) {
        m->expect++;
    }
    if (++m->n_has == m->n) {
        cr_assert_eq(m->has_bytes, s->header + s->bytes > 0 ? s->bytes : 1);
        h->answer->end[p->message] = h->events->now;
        h->answer->n_missing--;
        hand_over(h);
    }
}

static void receive_gbn(ct_packet_hosts *h, const ct_packet *p)
{
    message *m = &h->messages[p->message];

    if (p->index == m->expect) {
        take(h, p);
        m->was_told = false;
        if (m->expect == m->n || m->expect % h->transport->ack_every == 0 || p->asks) {
            answer(h, p->message, ACK, 0, 0);
        }
    } else if (p->index < m->expect) {
        answer(h, p->message, ACK, 0, 0);
    } else if (!m->was_told) {
        m->was_told = true;
        answer(h, p->message, NAK, 0, 0);
    }
}

static void receive_selective(ct_packet_hosts *h, const ct_packet *p)
{
    message *m    = &h->messages[p->message];
    int64_t  step = h->schedule->sends[p->message].n_paths, old = m->expect;
    int64_t *highest = &m->highest[p->index % step];

    if (m->has[p->index]) {
        answer(h, p->message, ACK, 0, 0);
        return;
    }
    if (*highest + step < p->index) {
        answer(h, p->message, NAK, *highest + step, p->index);
    }
    *highest = *highest > p->index ? *highest : p->index;
    take(h, p);
    if (m->expect > old && (m->expect == m->n || p->asks ||
                            m->expect / h->transport->ack_every > old / h->transport->ack_every)) {
        answer(h, p->message, ACK, 0, 0);
    }
}

void ct_packet_hosts_receive(ct_packet_hosts *h, const ct_packet *p)
{
    message *m       = &h->messages[p->message];
    int64_t *highest = &m->highest[p->index % h->schedule->sends[p->message].n_paths];

    if (p->is_marked && m->rate.set != NULL &&
        (!m->had_cnp || h->events->now - m->last_cnp >= m->rate.set->cnp_interval)) {
        m->had_cnp  = true;
        m->last_cnp = h->events->now;
        answer(h, p->message, CNP, 0, 0);
    }
    switch (h->transport->recovery) {
    case CS_RECOVER_NONE:
        cr_assert_lt(*highest, p->index, "packets of one way pass each other");
        *highest = p->index;
        take(h, p);
        break;
    case CS_RECOVER_GBN: receive_gbn(h, p); break;
    case CS_RECOVER_SELECTIVE: receive_selective(h, p); break;
    }
}

/* ---- the hosts ---- */

static void prepare(ct_packet_hosts *h, uint32_t number)
{
    const ct_packet_send *s = &h->schedule->sends[number];
    message              *m = &h->messages[number];

    cr_assert_leq(s->n_paths, CT_MOST_PACKET_PATHS);
    m->n          = cs_packet_count(s->bytes, s->mtu);
    m->has        = calloc((size_t)m->n, sizeof *m->has);
    m->resend_due = CS_PS_NEVER;
    m->rate       = rate_of(h->transport->recovery == CS_RECOVER_NONE ? NULL : &h->transport->dcqcn,
                      h->net->links[ct_packet_port(h->schedule, number)].high_bps);
    for (uint32_t i = 0; i < s->n_paths; i++) {
        m->highest[i] = (int64_t)i - s->n_paths;
    }
}

ct_packet_hosts *ct_packet_hosts_new(const cs_packet_net *net, const ct_packet_schedule *schedule,
                                     ct_packet_events *events, ct_packet_answer *answer)
{
    ct_packet_hosts *h = calloc(1, sizeof *h);

    *h = (ct_packet_hosts){.net       = net,
                           .transport = &net->transport,
                           .schedule  = schedule,
                           .events    = events,
                           .answer    = answer,
                           .senders   = calloc(net->n_senders, sizeof *h->senders),
                           .messages  = calloc(schedule->n_sends, sizeof *h->messages)};
    for (uint32_t p = 0; p < net->n_senders; p++) {
        h->senders[p].first = h->senders[p].handed = ct_packet_next(h->schedule, p, 0);
        ct_packet_put(events, schedule->late[p], CT_RANK, p, 0, NULL);
    }
    for (uint32_t i = 0; i < schedule->n_sends; i++) {
        prepare(h, i);
    }
    return h;
}

void ct_packet_hosts_free(ct_packet_hosts *h)
{
    for (size_t i = 0; i < h->schedule->n_sends; i++) {
        free(h->messages[i].again);
        free(h->messages[i].has);
    }
    free(h->senders);
    free(h->messages);
    free(h);
}
