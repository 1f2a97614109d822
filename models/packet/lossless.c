/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lossless queues: ports that pause each other (priority flow control).
 *
 * Of every link that leads into a switch the bytes are counted that came in over it and have not
 * left the switch: its *ingress*. When they pass the link's xoff, the port that sends over the link
 * is paused, and when they are down to xon it goes on; both act after the link's delay and the time
 * of a pause frame. A packet under way is finished. More ingress than xoff + headroom is an error.
 *
 * Neither a packet nor a pause frame takes less than a window to act elsewhere, so a window is
 * processed as a whole: (1) links hand what they bring in it to the inboxes of the next ports; (2)
 * every port that has something to do sorts its inbox into its queue, by (time, link), and starts
 * what can start in the window, sending ports too; (3) where the ingress of a link may have passed
 * a threshold, its arrivals and departures are gone through in time to find when.
 *
 * What waits or is under way is runs: equal packets of one message at equal distances. A run that
 * overlaps no other at a port moves as one; one that does is taken apart into packets. Runs are cut
 * where a window ends, where a pause acts and where the rate of a link changes. A sending port's
 * queue has the messages that it was handed, a run each.
 */
#include "models/packet/counters.h"
#include "models/packet/deadlock.h"
#include "models/packet/engine.h"
#include "models/packet/train.h"

/* From `t` on a port is paused, or not. */
typedef struct toggle {
    cs_ps t;
    bool  is_pause;
} toggle;

/* A port, and what is under way on the link over which it sends. */
typedef struct port {
    cs_runs  inbox;                     /* what comes in this window; runs[0] is the first */
    cs_runs  queue;                     /* what waits */
    cs_ps    free;                      /* when the last packet has left */
    uint32_t leaving_bytes, leaving_in; /* the last packet and whence it came, until it has left;
                                           0 bytes: it has */
    cs_runs  flight;                    /* by the time of the first at the far end */
    int64_t  flying;                    /* bytes */
    cs_ps    ser; /* of ser_bytes at this rate; of UINT32_MAX bytes: not known */
    cs_ps    delay;
    uint32_t ser_bytes;
    uint32_t changes_left; /* of the rate */
    uint32_t first_toggle, n_toggles;
    cs_ps    limit;  /* until then neither the pause nor the rate changes */
    bool     is_due; /* in this window */
    bool     is_sender, is_last, is_paused;
    int64_t  bps;
    toggle  *toggles; /* owned [toggle_capacity]: those to come, from first_toggle on */
    size_t   toggle_capacity;
} port;

/* The bytes that came in over a link and have not left the switch. Where thresholds may be passed
 * in this window, the link is *watched*: its arrivals and departures are kept. */
typedef struct counter {
    int64_t ingress;              /* with all of the window that has been seen yet */
    int64_t before;               /* of listed links: when the window began */
    int64_t arrived;              /* bytes, over watched links in this window */
    int64_t xoff;                 /* the link's */
    cs_runs arrivals, departures; /* of watched links in this window; runs[0] is the first */
    bool    has_xoff;             /* the last pause frame said so */
    bool    is_watched, is_listed;
} counter;

typedef struct message {
    uint64_t key;
    cs_ps    end;     /* of its packets that have arrived */
    uint32_t missing; /* packets */
    uint32_t n_paths;
    uint32_t last_bytes; /* of its last packet, on the wire */
} message;

typedef struct lossless {
    const cs_packet_net *net;      /* borrowed */
    cs_event_queue      *ends;     /* borrowed */
    port                *ports;    /* owned [n_links] */
    counter             *counters; /* owned [n_links] */
    message             *messages; /* owned [n_messages] */
    size_t               n_messages;
    cs_ways              ways; /* of messages; a run's step is a place in them */
    cs_ps                window_end;
    int64_t              cut_through_bytes;
    bool                 trains;
    cs_link_set          bringing; /* links that bring something in this window */
    uint32_t            *due;      /* owned [n_links]: ports to serve in this window */
    uint32_t            *listed;   /* owned [n_links]: links to count in this window */
    uint32_t             n_due, n_listed;
    cs_run_order         order, departing;
    cs_packet_totals     totals;
    char                 reason[400];
    cs_calendar calendar; /* tokens: link l brings something; n_links + l: its port can start */
} lossless;

/* ---- what is to be done ---- */

static void wake(lossless *e, uint32_t token, cs_ps t)
{
    if (e->calendar.when[token] < 0) {
        cs_calendar_put(&e->calendar, token, t);
    }
}

static void make_due(lossless *e, port *p)
{
    if (!p->is_due) {
        p->is_due          = true;
        e->due[e->n_due++] = (uint32_t)(p - e->ports);
    }
}

static void list_link(lossless *e, counter *c)
{
    if (!c->is_listed) {
        c->is_listed             = true;
        c->before                = c->ingress;
        e->listed[e->n_listed++] = (uint32_t)(c - e->counters);
    }
}

/* ---- ingress ---- */

/* Packets that came over link `in` leave the switch: at t, t + gap, .. */
static cs_status depart(lossless *e, uint32_t in, cs_ps t, cs_ps gap, uint32_t count,
                        uint32_t bytes)
{
    counter *c = &e->counters[in];

    if (!c->is_watched) {
        c->ingress -= (int64_t)bytes * count;
        return CS_OK;
    }
    list_link(e, c);
    c->ingress -= (int64_t)bytes * count;
    return cs_runs_append(&c->departures, t, gap, count, 0, bytes, 0);
}

/* A pause frame, or one that ends the pause, is decided at t. */
static cs_status toggle_port(lossless *e, uint32_t link, cs_ps t, bool is_pause)
{
    const cs_packet_link *wire = &e->net->links[link];
    port                 *p    = &e->ports[link];

    t += wire->delay + cs_packet_ps(wire->high_bps, CS_PAUSE_FRAME_BYTES);
    if (!cs_grow(&p->toggles, &p->toggle_capacity, p->n_toggles + 1, 8, sizeof *p->toggles)) {
        return CS_ENOMEM;
    }
    p->toggles[p->n_toggles++] = (toggle){t, is_pause};
    e->counters[link].has_xoff = is_pause;
    e->totals.pauses += is_pause;
    if (e->net->counters != NULL) {
        (is_pause ? cs_counters_pause : cs_counters_resume)(e->net->counters, link, t);
    }
    if (!is_pause && p->queue.n > 0) {
        wake(e, e->net->n_links + link, t > p->free ? t : p->free);
    }
    return CS_OK;
}

/* ---- when thresholds are passed ---- */

/* Pass all packets before `time`; returns their bytes. */
static int64_t walk_until(cs_walk *w, cs_ps time)
{
    int64_t bytes = 0;

    while (cs_walk_time(w) < time) {
        uint32_t count = cs_walk_before(w, time);
        bytes += (int64_t)w->r->bytes * count;
        cs_walk_on(w, count);
    }
    return bytes;
}

/* How many of the next packets of a run together are no more than `bytes`; at least 1. */
static uint32_t safe_count(const cs_walk *w, int64_t bytes)
{
    uint32_t count = cs_walk_left(w);

    if (count == 1 || bytes < 2 * (int64_t)w->r->bytes) {
        return 1;
    }
    return (int64_t)w->r->bytes * count <= bytes ? count : (uint32_t)(bytes / w->r->bytes);
}

/* Go through the arrivals and departures of a link in time, from ingress `v` on; of one time
 * departures come first. As long as no threshold is near many packets are one step: arrivals that
 * would not pass xoff if nothing departed, departures that would not reach xon if nothing arrived.
 */
static cs_status find_crossings(lossless *e, uint32_t link, int64_t v, cs_walk in, cs_walk out)
{
    const cs_packet_link *wire     = &e->net->links[link];
    counter              *c        = &e->counters[link];
    int64_t               most     = wire->xoff + e->net->headroom_bytes;
    bool                  is_tight = v + c->arrived > most;

    for (;;) {
        cs_ps t;
        if (!c->has_xoff) {
            t = cs_walk_time(&in);
            if (t == CS_PS_NEVER) {
                return CS_OK;
            }
            v -= walk_until(&out, t + 1);
            uint32_t count = safe_count(&in, wire->xoff - v);
            v += (int64_t)in.r->bytes * count;
            cs_walk_on(&in, count);
            if (v > wire->xoff) {
                CS_TRY(toggle_port(e, link, t, true));
            }
        } else {
            t               = cs_walk_time(&out);
            int64_t arrived = walk_until(&in, t);
            v += arrived;
            if (v > most) {
                cs_packet_headroom_text(e->net, link, v, e->reason, sizeof e->reason);
                return CS_EWRONG;
            }
            if (t == CS_PS_NEVER) {
                return CS_OK;
            }
            uint32_t count = is_tight ? 1 : safe_count(&out, v - wire->xon - 1);
            v -= (int64_t)out.r->bytes * count;
            cs_walk_on(&out, count);
            if (v <= wire->xon) {
                CS_TRY(toggle_port(e, link, t, false));
            }
        }
    }
}

/* A watched link, when all of the window is known. */
static cs_status count_link(lossless *e, uint32_t link)
{
    const cs_packet_link *wire  = &e->net->links[link];
    counter              *c     = &e->counters[link];
    int64_t               most  = c->has_xoff ? wire->xoff + e->net->headroom_bytes : wire->xoff;
    cs_ps                 begin = e->window_end - e->calendar.width;
    const cs_runs        *in, *out;

    /* all of before + arrived - ingress has departed */
    if (c->before + c->arrived > most || (c->has_xoff && c->ingress - c->arrived <= wire->xon)) {
        CS_TRY(cs_runs_in_order(&e->order, &c->arrivals, begin, &in));
        CS_TRY(cs_runs_in_order(&e->departing, &c->departures, begin, &out));
        CS_TRY(find_crossings(e, link, c->before, cs_walk_of(in, 0, in->n),
                              cs_walk_of(out, 0, out->n)));
    }
    c->arrived    = 0;
    c->arrivals.n = c->departures.n = 0;
    c->is_listed                    = false;
    c->is_watched                   = c->has_xoff;
    return CS_OK;
}

/* ---- links ---- */

/* Hand what a link brings before the window's end to the next ports. */
static cs_status bring(lossless *e, uint32_t link)
{
    port    *p   = &e->ports[link];
    counter *c   = &e->counters[link];
    int64_t  sum = 0;

    if (c->is_watched || c->ingress + p->flying > c->xoff) {
        c->is_watched = true;
        list_link(e, c);
    }
    do {
        cs_run  *r     = cs_runs_first(&p->flight);
        port    *out   = &e->ports[e->ways.links[r->step + 1]];
        uint32_t count = cs_packets_before(r->t, r->gap, r->count, e->window_end);
        sum += (int64_t)r->bytes * count;
        CS_TRY(cs_runs_append(&out->inbox, r->t, r->gap, count, r->step + 1, r->bytes, link));
        make_due(e, out);
        if (c->is_watched) {
            CS_TRY(cs_runs_append(&c->arrivals, r->t, r->gap, count, 0, r->bytes, 0));
        }
        cs_flight_drop(&p->flight, count);
    } while (p->flight.n > 0 && cs_runs_first(&p->flight)->t < e->window_end);
    p->flying -= sum;
    c->ingress += sum;
    if (c->is_watched) {
        c->arrived = sum;
    }
    if (p->flight.n > 0) {
        wake(e, link, cs_runs_first(&p->flight)->t);
    }
    return CS_OK;
}

/* ---- ports ---- */

static cs_status deliver(lossless *e, uint32_t step, uint32_t count, cs_ps end)
{
    message *m = &e->messages[cs_step_message(&e->ways, step)];

    m->end = end > m->end ? end : m->end;
    m->missing -= count;
    return m->missing > 0 ? CS_OK : cs_events_put(e->ends, (double)m->end, m->key);
}

/* Packets of a run start at t, t + gap, .. */
static inline cs_status start_packets(lossless *e, uint32_t link, port *p, const cs_run *r, cs_ps t,
                                      cs_ps gap, uint32_t count)
{
    cs_ps lag = p->ser;

    p->free = t + (cs_ps)(count - 1) * gap + p->ser;
    if (e->net->counters != NULL) {
        cs_counters_start(e->net->counters, link, t, gap, count, r->bytes, p->ser);
    }
    if (p->is_sender) {
        e->totals.packets += count;
    } else {
        uint32_t gone = count;
        if (p->free >= e->window_end) {
            gone             = count - 1;
            p->leaving_bytes = r->bytes;
            p->leaving_in    = r->in;
        }
        if (gone > 0) {
            CS_TRY(depart(e, r->in, t + p->ser, gap, gone, r->bytes));
        }
    }
    if (p->is_last) {
        return deliver(e, r->step, count, p->free + p->delay);
    }
    if (e->cut_through_bytes > 0 && e->cut_through_bytes < r->bytes &&
        e->net->links[e->ways.links[r->step + 1]].high_bps <= e->net->links[link].low_bps) {
        lag = cs_packet_ps(p->bps, e->cut_through_bytes);
    }
    t += lag + p->delay;
    p->flying += (int64_t)r->bytes * count;
    if (p->flight.n == 0) {
        wake(e, link, t);
    }
    return cs_flight_add(&p->flight, cs_flight_turns(e->trains, lag), t, gap, count, r->step,
                         r->bytes, link);
}

/* When can the port start something at or after `t`, before the window's end? Pauses and rates up
 * to then have acted, and `limit` is how long that holds. CS_PS_NEVER: not in this window. */
static cs_ps may_start(lossless *e, port *p, uint32_t link, cs_ps t)
{
    const cs_packet_link *wire  = &e->net->links[link];
    cs_ps                 limit = e->window_end;

    while (p->first_toggle < p->n_toggles && p->toggles[p->first_toggle].t <= t) {
        p->is_paused = p->toggles[p->first_toggle++].is_pause;
    }
    while (p->is_paused) {
        while (p->first_toggle < p->n_toggles && p->toggles[p->first_toggle].is_pause) {
            p->first_toggle++;
        }
        if (p->first_toggle == p->n_toggles || p->toggles[p->first_toggle].t >= limit) {
            return CS_PS_NEVER;
        }
        t = p->toggles[p->first_toggle].t;
        while (p->first_toggle < p->n_toggles && p->toggles[p->first_toggle].t <= t) {
            p->is_paused = p->toggles[p->first_toggle++].is_pause;
        }
    }
    if (p->first_toggle == p->n_toggles) {
        p->first_toggle = p->n_toggles = 0;
    } else if (p->toggles[p->first_toggle].t < limit) {
        limit = p->toggles[p->first_toggle].t;
    }
    for (; p->changes_left > 0; p->changes_left--) {
        const cs_packet_change *next = &wire->changes[wire->n_changes - p->changes_left];
        if (next->time > t) {
            limit = next->time < limit ? next->time : limit;
            break;
        }
        p->bps       = next->bps;
        p->ser_bytes = UINT32_MAX;
    }
    p->limit = limit;
    return t;
}

static cs_ps quotient_up(cs_ps a, cs_ps b)
{
    return (a + b - 1) / b;
}

/* When a packet that is there at `t` starts; CS_PS_NEVER: not in this window. */
static inline cs_ps start_of(lossless *e, uint32_t link, port *p, cs_ps t)
{
    t = t > p->free ? t : p->free;
    return t < p->limit ? t : t < e->window_end ? may_start(e, p, link, t) : CS_PS_NEVER;
}

/* How many packets of a run, of which the first starts at `t`, start in a row before the port's
 * limit, and at which distance. */
static inline uint32_t row_of(const lossless *e, const port *p, const cs_run *r, cs_ps t,
                              cs_ps *gap)
{
    cs_ps most = r->count, room = p->limit - t; /* less than a window */

    *gap = p->ser;
    if (p->is_sender) {
        bool goes_one_way = e->messages[cs_step_message(&e->ways, r->step)].n_paths == 1;
        most              = e->trains && goes_one_way ? most - 1 : 1;
    } else if (r->gap > p->ser && t == r->t) {
        *gap = r->gap;
    } else if (r->gap > p->ser) {
        most = quotient_up(t - r->t, r->gap - p->ser);
        most = most < r->count ? most : r->count;
    }
    if (*gap >= room) {
        return 1;
    }
    return (uint32_t)((most - 1) * *gap >= room ? quotient_up(room, *gap) : most);
}

/* A sending port goes on with the rest of a message. */
static void go_on(const lossless *e, cs_run *r)
{
    uint32_t       number = cs_step_message(&e->ways, r->step), base;
    const message *m      = &e->messages[number];

    if (r->count == 1) {
        r->bytes = m->last_bytes;
    }
    if (m->n_paths > 1) {
        base    = cs_step_first(&e->ways, number);
        r->step = base + (r->step - base + e->ways.width) % (e->ways.width * m->n_paths);
    }
}

/* Start what can start of a run in this window; its count is what is left. */
static inline cs_status start_run(lossless *e, uint32_t link, port *p, cs_run *r)
{
    while (r->count > 0) {
        cs_ps    t     = start_of(e, link, p, r->t), gap;
        uint32_t count = 1;
        if (t == CS_PS_NEVER) {
            break;
        }
        if (p->ser_bytes != r->bytes) {
            p->ser_bytes = r->bytes;
            p->ser       = cs_packet_ps(p->bps, r->bytes);
        }
        gap = p->ser;
        if (r->count > 1) {
            count = row_of(e, p, r, t, &gap);
        }
        CS_TRY(start_packets(e, link, p, r, t, gap, count));
        r->t += (cs_ps)count * r->gap;
        r->count -= count;
        if (p->is_sender && r->count > 0) {
            go_on(e, r);
        }
    }
    return CS_OK;
}

/* Start what can start in this window, what waited before what has come; the rest waits. */
static cs_status start_all(lossless *e, uint32_t link, port *p, const cs_runs *inbox)
{
    uint32_t i = 0;

    while (p->queue.n > 0 || i < inbox->n) {
        bool    has_waited = p->queue.n > 0;
        cs_run *r          = has_waited ? cs_runs_first(&p->queue) : &inbox->runs[i];
        CS_TRY(start_run(e, link, p, r));
        if (r->count > 0) {
            break;
        }
        if (has_waited) {
            cs_runs_drop_first(&p->queue);
        } else {
            i++;
        }
    }
    for (; i < inbox->n; i++) {
        const cs_run *r = &inbox->runs[i];
        CS_TRY(cs_runs_append(&p->queue, r->t, r->gap, r->count, r->step, r->bytes, r->in));
    }
    return CS_OK;
}

/* When the port has something to do in a later window, it is in the calendar for it. */
static void wake_port(lossless *e, uint32_t link)
{
    port *p = &e->ports[link];
    cs_ps t = p->free;

    if (p->leaving_bytes == 0) {
        if (p->queue.n == 0) {
            return;
        }
        t = cs_runs_first(&p->queue)->t > t ? cs_runs_first(&p->queue)->t : t;
        if (p->is_paused) {
            uint32_t i = p->first_toggle;
            while (i < p->n_toggles && p->toggles[i].is_pause) {
                i++;
            }
            if (i == p->n_toggles) {
                return;
            }
            t = p->toggles[i].t > t ? p->toggles[i].t : t;
        }
    }
    wake(e, e->net->n_links + link, t > e->window_end ? t : e->window_end);
}

static cs_status serve(lossless *e, uint32_t link)
{
    port          *p         = &e->ports[link];
    bool           is_steady = !p->is_paused && p->n_toggles == 0 && p->changes_left == 0;
    const cs_runs *inbox;

    p->is_due = false;
    p->limit  = is_steady ? e->window_end : 0;
    if (p->leaving_bytes > 0 && p->free < e->window_end) {
        CS_TRY(depart(e, p->leaving_in, p->free, 0, 1, p->leaving_bytes));
        p->leaving_bytes = 0;
    }
    CS_TRY(cs_runs_in_order(&e->order, &p->inbox, e->window_end - e->calendar.width, &inbox));
    for (uint32_t i = 0; i < inbox->n && e->net->counters != NULL; i++) {
        const cs_run *r = &inbox->runs[i];
        cs_counters_come(e->net->counters, link, r->t, r->gap, r->count, r->bytes);
    }
    CS_TRY(start_all(e, link, p, inbox));
    p->inbox.n = 0;
    wake_port(e, link);
    return CS_OK;
}

static cs_status process_window(lossless *e)
{
    uint32_t token = cs_calendar_take(&e->calendar), n_links = e->net->n_links;

    e->window_end = (e->calendar.window + 1) * e->calendar.width;
    for (; token != CS_NO_LINK; token = e->calendar.next[token]) {
        if (token < n_links) {
            cs_link_set_add(&e->bringing, token);
        } else {
            make_due(e, &e->ports[token - n_links]);
        }
    }
    for (token = cs_link_set_take(&e->bringing); token != CS_NO_LINK;
         token = cs_link_set_take(&e->bringing)) {
        CS_TRY(bring(e, token));
    }
    for (uint32_t i = 0; i < e->n_due; i++) {
        CS_TRY(serve(e, e->due[i]));
    }
    for (uint32_t i = 0; i < e->n_listed; i++) {
        CS_TRY(count_link(e, e->listed[i]));
    }
    e->n_due = e->n_listed = 0;
    e->calendar.window++;
    return CS_OK;
}

/* ---- deadlock ---- */

static bool is_held(const port *p)
{
    return p->first_toggle < p->n_toggles ? p->toggles[p->n_toggles - 1].is_pause : p->is_paused;
}

/* Which paused links wait for which: several times the same is possible. NULL: out of memory. */
static cs_packet_wait *find_waits(const lossless *e, size_t *n_p)
{
    cs_packet_wait *waits;
    size_t          n = 0;

    for (uint32_t l = e->net->n_senders; l < e->net->n_links; l++) {
        n += e->ports[l].queue.n;
    }
    waits = CS_NEW(cs_packet_wait, n);
    n     = 0;
    for (uint32_t l = e->net->n_senders; l < e->net->n_links && waits != NULL; l++) {
        const cs_runs *q = &e->ports[l].queue;
        for (uint32_t i = 0; i < q->n && is_held(&e->ports[l]); i++) {
            uint32_t from = cs_runs_nth(q, i)->in;
            if (is_held(&e->ports[from])) {
                waits[n++] = (cs_packet_wait){from, l};
            }
        }
    }
    *n_p = n;
    return waits;
}

static const char *lossless_why(void *state)
{
    lossless       *e = state;
    size_t          n = 0;
    cs_packet_wait *waits;

    if (e->reason[0] == '\0') {
        waits = find_waits(e, &n);
        cs_packet_deadlock_text(e->net, waits, waits != NULL ? n : 0, e->reason, sizeof e->reason);
        cs_free(waits);
    }
    return e->reason;
}

/* ---- the engine ---- */

static void lossless_close(void *state)
{
    lossless *e = state;

    if (e == NULL) {
        return;
    }
    for (uint32_t l = 0; l < e->net->n_links && e->ports != NULL; l++) {
        port *p = &e->ports[l];
        cs_free(p->queue.runs);
        cs_free(p->inbox.runs);
        cs_free(p->flight.runs);
        cs_free(p->toggles);
    }
    for (uint32_t l = 0; l < e->net->n_links && e->counters != NULL; l++) {
        cs_free(e->counters[l].arrivals.runs);
        cs_free(e->counters[l].departures.runs);
    }
    cs_calendar_close(&e->calendar);
    cs_free(e->ports);
    cs_free(e->counters);
    cs_free(e->messages);
    cs_free(e->ways.links);
    cs_free(e->due);
    cs_free(e->bringing.bits);
    cs_free(e->listed);
    cs_run_order_free(&e->order);
    cs_run_order_free(&e->departing);
    cs_free(e);
}

static cs_status lossless_open(const cs_packet_net *net, cs_event_queue *ends, void **state_p,
                               cs_error *err)
{
    lossless *e = CS_NEW(lossless, 1);

    if (e == NULL) {
        return CS_NO_MEMORY(err, "the packet model");
    }
    e->net               = net;
    e->ends              = ends;
    e->trains            = net->trains;
    e->cut_through_bytes = net->cut_through_bytes;
    e->ways              = cs_ways_of(net);
    e->ports             = CS_NEW(port, net->n_links);
    e->counters          = CS_NEW(counter, net->n_links);
    e->due               = CS_NEW(uint32_t, net->n_links);
    e->listed            = CS_NEW(uint32_t, net->n_links);
    if (e->ports == NULL || e->counters == NULL || e->due == NULL || e->listed == NULL ||
        cs_link_set_open(&e->bringing, net->n_links) != CS_OK ||
        cs_calendar_open(&e->calendar, net->window, 2 * net->n_links) != CS_OK) {
        lossless_close(e);
        return CS_NO_MEMORY(err, "the ports of the packet model");
    }
    for (uint32_t l = 0; l < net->n_links; l++) {
        e->ports[l]         = (port){.bps          = net->links[l].bps,
                                     .delay        = net->links[l].delay,
                                     .is_last      = net->links[l].is_last,
                                     .is_sender    = l < net->n_senders,
                                     .ser_bytes    = UINT32_MAX,
                                     .changes_left = net->links[l].n_changes};
        e->counters[l].xoff = net->links[l].xoff;
    }
    *state_p = e;
    return CS_OK;
}

static cs_status lossless_send(void *state, const cs_packet_message *m)
{
    lossless *e     = state;
    uint32_t  link  = m->ways[0], step;
    uint32_t  count = (uint32_t)cs_packet_count(m->bytes, m->mtu);
    uint32_t  last  = (uint32_t)cs_packet_last_bytes(m->bytes, m->mtu, m->header);

    CS_TRY(cs_ways_keep(&e->ways, m));
    if (!cs_grow(&e->messages, &e->n_messages, (size_t)m->number + 1, 64, sizeof *e->messages)) {
        return CS_ENOMEM;
    }
    e->messages[m->number] =
        (message){.key = m->key, .missing = count, .n_paths = m->n_paths, .last_bytes = last};
    step = cs_step_first(&e->ways, m->number) + m->first_path % m->n_paths * e->ways.width;
    CS_TRY(cs_runs_append(&e->ports[link].queue, m->ready, 0, count, step,
                          count > 1 ? (uint32_t)(m->mtu + m->header) : last, CS_NO_LINK));
    e->window_end = e->calendar.window * e->calendar.width;
    wake_port(e, link);
    return CS_OK;
}

static cs_status lossless_run(void *state, cs_ps horizon)
{
    lossless *e = state;

    while (cs_calendar_go_on(&e->calendar, e->ends, horizon)) {
        CS_TRY(process_window(e));
    }
    return CS_OK;
}

static bool lossless_is_idle(const void *state)
{
    const lossless *e = state;

    return e->calendar.n_inside == 0;
}

static void lossless_count(const void *state, cs_packet_totals *totals)
{
    const lossless *e = state;

    *totals = e->totals;
}

const cs_packet_engine cs_packet_lossless = {.name    = "lossless",
                                             .open    = lossless_open,
                                             .send    = lossless_send,
                                             .run     = lossless_run,
                                             .is_idle = lossless_is_idle,
                                             .why     = lossless_why,
                                             .count   = lossless_count,
                                             .close   = lossless_close};
