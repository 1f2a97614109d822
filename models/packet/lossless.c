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
 * queue has the messages that it was handed: two runs each, of full packets and of the last one.
 *
 * `message` of a run is a *step* here: the place in `way` of the link that the run is on, from
 * which both its message and the next link follow. `path` is the link over which the run came.
 */
#include "models/packet/counters.h"
#include "models/packet/engine.h"
#include "models/packet/train.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_OF_RUN = 2 * CS_MAX_PACKET_BYTES - 1 }; /* what fits in one's bytes */

/* From `t` on a port is paused, or not. */
typedef struct toggle {
    cs_ps t;
    bool  is_pause;
} toggle;

/* A link, and the port that sends over it. */
typedef struct port {
    cs_run_queue queue;  /* what waits */
    cs_run_queue inbox;  /* what comes in this window; runs[0] is the first */
    cs_run_queue flight; /* what is under way, by the time at the far end */
    cs_ps        free;   /* when the last packet has left */
    cs_ps        limit;  /* until then neither the pause nor the rate changes */
    cs_ps        ser;    /* of ser_bytes at this rate; UINT32_MAX bytes: of nothing */
    int64_t      bps;
    uint32_t     ser_bytes;
    uint32_t     next_change;
    uint32_t leaving_bytes, leaving_in; /* of the last packet, until it has left; 0 bytes: none */
    bool     is_paused, is_due;
    toggle  *toggles; /* owned: those to come, from first_toggle on */
    size_t   toggle_capacity;
    uint32_t first_toggle, n_toggles;
    /* of the link's far end */
    bool         has_xoff;   /* the last pause frame said so */
    bool         is_watched; /* in this window thresholds may be passed: departures are kept */
    bool         is_listed;
    int64_t      ingress;                       /* of watched links: when the window began */
    int64_t      flying;                        /* bytes under way */
    int64_t      arrived_bytes, departed_bytes; /* of watched links, in this window */
    uint32_t     first_arrival, n_arrivals;     /* ... in `arrivals` */
    cs_run_queue departures;                    /* ... runs[0] is the first */
} port;

typedef struct message {
    uint64_t key;
    cs_ps    end;     /* of its packets that have arrived */
    uint32_t missing; /* packets */
    uint32_t n_paths;
} message;

/* For sorting: packet `ordinal` of a run. */
typedef struct sort_key {
    cs_ps    t;
    uint32_t in;
    uint32_t run;
} sort_key;

typedef struct lossless {
    const cs_packet_net *net;   /* borrowed */
    cs_event_queue      *ends;  /* borrowed */
    port                *ports; /* owned [n_links] */
    message             *messages;
    uint32_t            *way; /* owned [n_messages << way_shift] */
    size_t               n_messages;
    uint32_t             way_shift;
    cs_ps                window_end;
    uint32_t            *due;      /* owned [n_links]: ports to serve in this window */
    uint32_t            *bringing; /* owned [n_links] */
    uint32_t            *listed;   /* owned [n_links]: links to count in this window */
    uint32_t             n_due, n_listed;
    cs_run_queue         arrivals;      /* over watched links, in this window */
    sort_key            *keys, *sorted; /* owned [key_capacity] */
    uint32_t            *slots;         /* owned [2 * key_capacity] */
    size_t               key_capacity, sorted_capacity, slot_capacity;
    cs_packet_totals     totals;
    char                 reason[400];
    cs_calendar calendar; /* tokens: link l brings something; n_links + l: its port can start */
} lossless;

/* ---- time and the calendar ---- */

static void wake(lossless *e, uint32_t token, cs_ps t)
{
    if (e->calendar.when[token] < 0) {
        cs_calendar_put(&e->calendar, token, t);
    }
}

static void make_due(lossless *e, uint32_t link)
{
    port *p = &e->ports[link];

    if (!p->is_due) {
        p->is_due          = true;
        e->due[e->n_due++] = link;
    }
}

/* ---- ingress ---- */

static void list_link(lossless *e, uint32_t link)
{
    port *p = &e->ports[link];

    if (!p->is_listed) {
        p->is_listed             = true;
        e->listed[e->n_listed++] = link;
    }
}

/* Packets that came over link `in` have left the switch: at t, t + gap, .. */
static cs_status leave_switch(lossless *e, uint32_t in, cs_ps t, cs_ps gap, uint32_t count,
                              uint32_t bytes)
{
    port *p = &e->ports[in];

    if (!p->is_watched) {
        p->ingress -= (int64_t)bytes * count;
        return CS_OK;
    }
    list_link(e, in);
    p->departed_bytes += (int64_t)bytes * count;
    return cs_runs_append(
        &p->departures,
        &(cs_run){.t = t, .gap = gap, .count = count, .bytes = bytes & BYTES_OF_RUN});
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
    p->has_xoff                = is_pause;
    e->totals.pauses += is_pause;
    if (e->net->counters != NULL) {
        (is_pause ? cs_counters_pause : cs_counters_resume)(e->net->counters, link, t);
    }
    if (!is_pause && p->queue.n > 0) {
        wake(e, e->net->n_links + link, t > p->free ? t : p->free);
    }
    return CS_OK;
}

static cs_status headroom_is_passed(lossless *e, uint32_t link, int64_t ingress)
{
    const cs_packet_link *wire = &e->net->links[link];

    (void)snprintf(
        e->reason, sizeof e->reason,
        "headroom of link %u is too small: %lld bytes came over it and wait, xoff %lld + "
        "headroom %lld is less; set headroom_bytes to %lld or more",
        link, (long long)ingress, (long long)wire->xoff, (long long)e->net->headroom_bytes,
        (long long)(ingress - wire->xoff));
    return CS_EWRONG;
}

/* ---- sorting ---- */

static bool is_before(const sort_key *a, const sort_key *b)
{
    return a->t != b->t ? a->t < b->t : a->in < b->in;
}

static void insertion_sort(sort_key *keys, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        sort_key k = keys[i];
        uint32_t j = i;
        for (; j > 0 && is_before(&k, &keys[j - 1]); j--) {
            keys[j] = keys[j - 1];
        }
        keys[j] = k;
    }
}

/* The keys in their order: a bucket for every key, then insertion, which has little left to do. */
static cs_status sort_keys(lossless *e, uint32_t n, const sort_key **sorted_p)
{
    sort_key *keys = e->keys;
    cs_ps     low = CS_PS_NEVER, high = 0;
    uint32_t  shift = 0, total = 0, n_slots;

    *sorted_p = keys;
    if (n <= 16) {
        insertion_sort(keys, n);
        return CS_OK;
    }
    for (uint32_t i = 0; i < n; i++) {
        low  = keys[i].t < low ? keys[i].t : low;
        high = keys[i].t > high ? keys[i].t : high;
    }
    while ((high - low) >> shift >= (cs_ps)n) {
        shift++;
    }
    n_slots = (uint32_t)((high - low) >> shift) + 1;
    if (!cs_grow(&e->sorted, &e->sorted_capacity, n, 64, sizeof *keys) ||
        !cs_grow(&e->slots, &e->slot_capacity, n_slots, 64, sizeof *e->slots)) {
        return CS_ENOMEM;
    }
    memset(e->slots, 0, n_slots * sizeof *e->slots);
    for (uint32_t i = 0; i < n; i++) {
        e->slots[(keys[i].t - low) >> shift]++;
    }
    for (uint32_t i = 0; i < n_slots; i++) {
        uint32_t count = e->slots[i];
        e->slots[i]    = total;
        total += count;
    }
    for (uint32_t i = 0; i < n; i++) {
        e->sorted[e->slots[(keys[i].t - low) >> shift]++] = keys[i];
    }
    insertion_sort(e->sorted, n);
    *sorted_p = e->sorted;
    return CS_OK;
}

/* Do the runs of a list follow each other in time, the links of one time in their order? */
static bool is_in_order(const cs_run_queue *list)
{
    for (uint32_t i = 1; i < list->n; i++) {
        cs_ps last = cs_run_last(&list->runs[i - 1]);
        if (last > list->runs[i].t ||
            (last == list->runs[i].t && list->runs[i - 1].path > list->runs[i].path)) {
            return false;
        }
    }
    return true;
}

/* A key for every packet of a list, sorted. */
static cs_status sort_packets(lossless *e, const cs_run_queue *list, const sort_key **sorted_p,
                              uint32_t *n_p)
{
    uint64_t n = 0;
    uint32_t k = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        n += list->runs[i].count;
    }
    if (n > UINT32_MAX / 4 || !cs_grow(&e->keys, &e->key_capacity, n, 64, sizeof *e->keys)) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < list->n; i++) {
        const cs_run *r = &list->runs[i];
        for (uint32_t j = 0; j < r->count; j++) {
            e->keys[k++] = (sort_key){r->t + (cs_ps)j * r->gap, r->path, i};
        }
    }
    *n_p = k;
    return sort_keys(e, k, sorted_p);
}

/* ---- when thresholds are passed ---- */

/* Go through the arrivals and departures of a link in time; of one time departures come first. */
static cs_status find_crossings(lossless *e, uint32_t link, const cs_run *in, uint32_t n_in,
                                const sort_key *out, uint32_t n_out, const cs_run *out_runs)
{
    const cs_packet_link *wire = &e->net->links[link];
    port                 *p    = &e->ports[link];
    int64_t               most = wire->xoff + e->net->headroom_bytes;
    int64_t               v    = p->ingress;
    uint32_t              i = 0, done = 0, o = 0;

    while (i < n_in || o < n_out) {
        cs_ps t_in = i < n_in ? in[i].t + (cs_ps)done * in[i].gap : CS_PS_NEVER;
        if (o < n_out && out[o].t <= t_in) {
            v -= out_runs[out[o].run].bytes;
            if (p->has_xoff && v <= wire->xon) {
                CS_TRY(toggle_port(e, link, out[o].t, false));
            }
            o++;
            continue;
        }
        v += in[i].bytes;
        if (v > most) {
            return headroom_is_passed(e, link, v);
        }
        if (!p->has_xoff && v > wire->xoff) {
            CS_TRY(toggle_port(e, link, t_in, true));
        }
        if (++done == in[i].count) {
            done = 0;
            i++;
        }
    }
    return CS_OK;
}

/* Ingress of a watched link at the end of the window. */
static cs_status count_link(lossless *e, uint32_t link)
{
    const cs_packet_link *wire = &e->net->links[link];
    port                 *p    = &e->ports[link];
    int64_t               most = p->has_xoff ? wire->xoff + e->net->headroom_bytes : wire->xoff;

    if (p->ingress + p->arrived_bytes > most ||
        (p->has_xoff && p->ingress - p->departed_bytes <= wire->xon)) {
        const sort_key *out = NULL;
        uint32_t        n_out;
        CS_TRY(sort_packets(e, &p->departures, &out, &n_out));
        CS_TRY(find_crossings(e, link, &e->arrivals.runs[p->first_arrival], p->n_arrivals, out,
                              n_out, p->departures.runs));
    }
    p->ingress += p->arrived_bytes - p->departed_bytes;
    p->arrived_bytes = p->departed_bytes = 0;
    p->n_arrivals                        = 0;
    p->departures.n                      = 0;
    p->is_listed                         = false;
    p->is_watched                        = p->has_xoff;
    return CS_OK;
}

/* ---- links ---- */

/* Hand what a link brings before the window's end to the next ports. */
static cs_status bring(lossless *e, uint32_t link)
{
    port   *p   = &e->ports[link];
    int64_t sum = 0;

    if (p->has_xoff || p->ingress + p->flying > e->net->links[link].xoff) {
        p->is_watched    = true;
        p->first_arrival = e->arrivals.n;
        list_link(e, link);
    }
    while (p->flight.n > 0 && cs_runs_first(&p->flight)->t < e->window_end) {
        cs_run  *first = cs_runs_first(&p->flight), run = *first;
        uint32_t out = e->way[run.message + 1];
        if (cs_run_last(first) >= e->window_end) {
            run.count = (uint32_t)((e->window_end - 1 - run.t) / run.gap) + 1;
            first->t += (cs_ps)run.count * run.gap;
            first->count -= run.count;
        } else {
            cs_runs_drop_first(&p->flight);
        }
        run.message++;
        sum += (int64_t)run.bytes * run.count;
        CS_TRY(cs_runs_append(&e->ports[out].inbox, &run));
        make_due(e, out);
        if (p->is_watched) {
            CS_TRY(cs_runs_append(&e->arrivals, &run));
        }
    }
    p->flying -= sum;
    if (p->is_watched) {
        p->arrived_bytes = sum;
        p->n_arrivals    = e->arrivals.n - p->first_arrival;
    } else {
        p->ingress += sum;
    }
    if (p->flight.n > 0) {
        wake(e, link, cs_runs_first(&p->flight)->t);
    }
    return CS_OK;
}

/* ---- ports ---- */

static cs_status deliver(lossless *e, uint32_t step, uint32_t count, cs_ps end)
{
    message *m = &e->messages[step >> e->way_shift];

    m->end = end > m->end ? end : m->end;
    m->missing -= count;
    return m->missing > 0 ? CS_OK : cs_events_put(e->ends, (double)m->end, m->key);
}

/* Packets of a run that is first in the queue start at t, t + gap, .. */
static cs_status start_packets(lossless *e, uint32_t link, const cs_run *run, cs_ps t, cs_ps gap,
                               uint32_t count)
{
    const cs_packet_link *wire = &e->net->links[link];
    port                 *p    = &e->ports[link];
    cs_ps                 ser = p->ser, lag = ser;

    p->free = t + (cs_ps)(count - 1) * gap + ser;
    if (e->net->counters != NULL) {
        cs_counters_start(e->net->counters, link, t, gap, count, run->bytes, ser);
    }
    if (link >= e->net->n_senders) {
        uint32_t gone = count;
        if (p->free >= e->window_end) {
            gone             = count - 1;
            p->leaving_bytes = run->bytes;
            p->leaving_in    = run->path;
        }
        if (gone > 0) {
            CS_TRY(leave_switch(e, run->path, t + ser, gap, gone, run->bytes));
        }
    } else {
        e->totals.packets += count;
    }
    if (wire->is_last) {
        return deliver(e, run->message, count, p->free + wire->delay);
    }
    if (e->net->cut_through_bytes > 0 && e->net->cut_through_bytes < run->bytes &&
        e->net->links[e->way[run->message + 1]].high_bps <= wire->low_bps) {
        lag = cs_packet_ps(p->bps, e->net->cut_through_bytes);
    }
    cs_run next = {.t       = t + lag + wire->delay,
                   .gap     = gap,
                   .message = run->message,
                   .count   = count,
                   .bytes   = run->bytes,
                   .hop     = 1,
                   .path    = link};
    p->flying += (int64_t)run->bytes * count;
    if (p->flight.n == 0) {
        wake(e, link, next.t);
    } else if (e->net->trains && cs_run_join(cs_runs_last(&p->flight), &next)) {
        return CS_OK;
    }
    return cs_runs_append(&p->flight, &next);
}

/* When can the port start something at or after `t`, before the window's end? Pauses and rates up
 * to then have acted, and `limit` is how long that holds. False: not in this window. */
static bool may_start(lossless *e, port *p, const cs_packet_link *wire, cs_ps *t)
{
    cs_ps limit = e->window_end;

    while (p->first_toggle < p->n_toggles && p->toggles[p->first_toggle].t <= *t) {
        p->is_paused = p->toggles[p->first_toggle++].is_pause;
    }
    while (p->is_paused) {
        while (p->first_toggle < p->n_toggles && p->toggles[p->first_toggle].is_pause) {
            p->first_toggle++;
        }
        if (p->first_toggle == p->n_toggles || p->toggles[p->first_toggle].t >= limit) {
            return false;
        }
        *t = p->toggles[p->first_toggle].t;
        while (p->first_toggle < p->n_toggles && p->toggles[p->first_toggle].t <= *t) {
            p->is_paused = p->toggles[p->first_toggle++].is_pause;
        }
    }
    if (p->first_toggle == p->n_toggles) {
        p->first_toggle = p->n_toggles = 0;
    } else if (p->toggles[p->first_toggle].t < limit) {
        limit = p->toggles[p->first_toggle].t;
    }
    while (p->next_change < wire->n_changes && wire->changes[p->next_change].time <= *t) {
        p->bps       = wire->changes[p->next_change++].bps;
        p->ser_bytes = UINT32_MAX;
    }
    if (p->next_change < wire->n_changes && wire->changes[p->next_change].time < limit) {
        limit = wire->changes[p->next_change].time;
    }
    p->limit = limit;
    return true;
}

static cs_ps quotient_up(cs_ps a, cs_ps b)
{
    return (a + b - 1) / b;
}

/* Start what can start of the first run before the port's limit; the run is ready at `t` >= the
 * time that the port is free. */
static cs_status start_run(lossless *e, uint32_t link, port *p, cs_ps t)
{
    cs_run  *first = cs_runs_first(&p->queue), run = *first;
    cs_ps    gap;
    uint32_t count = run.count;

    if (p->ser_bytes != run.bytes) {
        p->ser_bytes = run.bytes;
        p->ser       = cs_packet_ps(p->bps, run.bytes);
    }
    gap = p->ser;
    if (count > 1) {
        cs_ps most = count;
        if (run.gap > p->ser && t == run.t) {
            gap = run.gap;
        } else if (run.gap > p->ser) {
            most = quotient_up(t - run.t, run.gap - p->ser);
        }
        if (gap > 0 && quotient_up(p->limit - t, gap) < most) {
            most = quotient_up(p->limit - t, gap);
        }
        most = most < count ? most : count;
        if (link < e->net->n_senders &&
            (!e->net->trains || e->messages[run.message >> e->way_shift].n_paths > 1)) {
            most = 1;
        }
        count = (uint32_t)most;
    }
    if (count == run.count) {
        cs_runs_drop_first(&p->queue);
    } else {
        first->t += (cs_ps)count * run.gap;
        first->count -= count;
        if (link < e->net->n_senders) {
            uint32_t paths = e->messages[run.message >> e->way_shift].n_paths;
            uint32_t width = e->net->max_way + 1;
            uint32_t base  = run.message >> e->way_shift << e->way_shift;
            first->message = base + (run.message - base + width * count) % (width * paths);
        }
    }
    return start_packets(e, link, &run, t, gap, count);
}

/* Sort what has come in this window into the queue. */
static cs_status sort_inbox(lossless *e, port *p)
{
    const sort_key *sorted;
    uint32_t        n, first = p->queue.n;

    if (is_in_order(&p->inbox)) {
        for (uint32_t i = 0; i < p->inbox.n; i++) {
            CS_TRY(cs_runs_append(&p->queue, &p->inbox.runs[i]));
        }
    } else {
        CS_TRY(sort_packets(e, &p->inbox, &sorted, &n));
        for (uint32_t i = 0; i < n; i++) {
            cs_run run = p->inbox.runs[sorted[i].run];
            run.t      = sorted[i].t;
            run.count  = 1;
            CS_TRY(cs_runs_append(&p->queue, &run));
        }
    }
    for (uint32_t i = first; e->net->counters != NULL && i < p->queue.n; i++) {
        const cs_run *r = &p->queue.runs[(p->queue.head + i) & (p->queue.capacity - 1)];
        cs_counters_come(e->net->counters, (uint32_t)(p - e->ports), r->t, r->gap, r->count,
                         r->bytes);
    }
    p->inbox.n = 0;
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
    port *p = &e->ports[link];

    p->is_due = false;
    if (p->leaving_bytes > 0 && p->free < e->window_end) {
        uint32_t bytes   = p->leaving_bytes;
        p->leaving_bytes = 0;
        CS_TRY(leave_switch(e, p->leaving_in, p->free, 0, 1, bytes));
    }
    if (p->inbox.n > 0) {
        CS_TRY(sort_inbox(e, p));
    }
    p->limit = 0;
    while (p->queue.n > 0) {
        cs_ps t = cs_runs_first(&p->queue)->t;
        t       = t > p->free ? t : p->free;
        if (t >= e->window_end || (t >= p->limit && !may_start(e, p, &e->net->links[link], &t))) {
            break;
        }
        CS_TRY(start_run(e, link, p, t));
    }
    wake_port(e, link);
    return CS_OK;
}

static cs_status process_window(lossless *e)
{
    uint32_t token = cs_calendar_take(&e->calendar), n_bringing = 0, n_links = e->net->n_links;

    e->window_end = (e->calendar.window + 1) * e->calendar.width;
    for (; token != CS_NO_LINK; token = e->calendar.next[token]) {
        if (token < n_links) {
            e->bringing[n_bringing++] = token;
        } else {
            make_due(e, token - n_links);
        }
    }
    for (uint32_t i = 0; i < n_bringing; i++) {
        CS_TRY(bring(e, e->bringing[i]));
    }
    for (uint32_t i = 0; i < e->n_due; i++) {
        CS_TRY(serve(e, e->due[i]));
    }
    for (uint32_t i = 0; i < e->n_listed; i++) {
        CS_TRY(count_link(e, e->listed[i]));
    }
    e->n_due = e->n_listed = 0;
    e->arrivals.n          = 0;
    e->calendar.window++;
    return CS_OK;
}

/* ---- deadlock ---- */

/* Packets that came over link `from` wait at port `to`; both are paused. */
typedef struct wait_edge {
    uint32_t from, to;
} wait_edge;

static int compare_edges(const void *a, const void *b)
{
    const wait_edge *x = a, *y = b;

    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

static bool is_held(const port *p)
{
    return p->first_toggle < p->n_toggles ? p->toggles[p->n_toggles - 1].is_pause : p->is_paused;
}

/* Who waits for whom, sorted; several of the same are possible. NULL: out of memory. */
static wait_edge *find_edges(const lossless *e, size_t *n_p)
{
    wait_edge *edges;
    size_t     n = 0;

    for (uint32_t l = e->net->n_senders; l < e->net->n_links; l++) {
        n += e->ports[l].queue.n;
    }
    edges = CS_NEW(wait_edge, n);
    n     = 0;
    for (uint32_t l = e->net->n_senders; l < e->net->n_links && edges != NULL; l++) {
        const cs_run_queue *q = &e->ports[l].queue;
        for (uint32_t i = 0; i < q->n && is_held(&e->ports[l]); i++) {
            uint32_t from = q->runs[(q->head + i) & (q->capacity - 1)].path;
            if (is_held(&e->ports[from])) {
                edges[n++] = (wait_edge){from, l};
            }
        }
    }
    if (edges != NULL) {
        qsort(edges, n, sizeof *edges, compare_edges);
    }
    *n_p = n;
    return edges;
}

static size_t first_edge(const wait_edge *edges, size_t n, uint32_t from)
{
    size_t low = 0;

    while (n > 0) {
        size_t half = n / 2;
        if (edges[low + half].from < from) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

/* Depth first from the lowest link: the first way back to a link that is on the path.
 * `next[l]` is the edge that comes next at l; `on_path`: 1, 2 when it is left. Returns where in
 * `path` the cycle begins, its length in n_p; 0 links: there is none. */
static uint32_t find_cycle(const wait_edge *edges, size_t n_edges, uint32_t n_links, uint32_t *path,
                           size_t *next, uint8_t *state, uint32_t *n_p)
{
    for (size_t root = 0; root < n_edges; root++) {
        uint32_t depth = 0;
        if (state[edges[root].from] != 0) {
            continue;
        }
        path[depth++]           = edges[root].from;
        state[edges[root].from] = 1;
        next[edges[root].from]  = root;
        while (depth > 0) {
            uint32_t l = path[depth - 1], to;
            if (next[l] == n_edges || edges[next[l]].from != l) {
                state[l] = 2;
                depth--;
                continue;
            }
            to = edges[next[l]++].to;
            if (state[to] == 1) {
                uint32_t k = depth - 1;
                while (path[k] != to) {
                    k--;
                }
                *n_p = depth - k;
                return k;
            }
            if (state[to] == 0 && depth < n_links) {
                state[to]     = 1;
                next[to]      = first_edge(edges, n_edges, to);
                path[depth++] = to;
            }
        }
    }
    *n_p = 0;
    return 0;
}

/* "a -> b -> a", cut where the room ends. */
static void print_cycle(char *text, size_t room, const uint32_t *links, uint32_t n)
{
    size_t used = (size_t)snprintf(text, room, "deadlock: links ");

    for (uint32_t i = 0; i < n; i++) {
        if (used + 60 > room) {
            used += (size_t)snprintf(text + used, room - used, ".. (%u more) -> ", n - i);
            break;
        }
        used += (size_t)snprintf(text + used, room - used, "%u -> ", links[i]);
    }
    (void)snprintf(text + used, room - used, "%u wait for each other", links[0]);
}

static const char *lossless_why(void *state)
{
    lossless  *e       = state;
    uint32_t   n_links = e->net->n_links, n = 0, begin;
    size_t     n_edges = 0;
    wait_edge *edges;
    uint32_t  *path;
    size_t    *next;
    uint8_t   *seen;

    if (e->reason[0] != '\0') {
        return e->reason;
    }
    edges = find_edges(e, &n_edges);
    path  = CS_NEW(uint32_t, n_links);
    next  = CS_NEW(size_t, n_links);
    seen  = CS_NEW(uint8_t, n_links);
    if (edges != NULL && path != NULL && next != NULL && seen != NULL) {
        begin = find_cycle(edges, n_edges, n_links, path, next, seen, &n);
        if (n > 0) {
            print_cycle(e->reason, sizeof e->reason, path + begin, n);
        }
    }
    cs_free(edges);
    cs_free(path);
    cs_free(next);
    cs_free(seen);
    return n > 0 ? e->reason : "deadlock: paused links wait for each other";
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
        cs_free(p->departures.runs);
        cs_free(p->toggles);
    }
    cs_calendar_close(&e->calendar);
    cs_free(e->ports);
    cs_free(e->messages);
    cs_free(e->way);
    cs_free(e->due);
    cs_free(e->bringing);
    cs_free(e->listed);
    cs_free(e->arrivals.runs);
    cs_free(e->keys);
    cs_free(e->sorted);
    cs_free(e->slots);
    cs_free(e);
}

static cs_status lossless_open(const cs_packet_net *net, cs_event_queue *ends, void **state_p,
                               cs_error *err)
{
    lossless *e = CS_NEW(lossless, 1);

    if (e == NULL) {
        return CS_NO_MEMORY(err, "the packet model");
    }
    e->net  = net;
    e->ends = ends;
    while (UINT64_C(1) << e->way_shift < (uint64_t)net->max_paths * (net->max_way + 1)) {
        e->way_shift++;
    }
    e->ports    = CS_NEW(port, net->n_links);
    e->due      = CS_NEW(uint32_t, net->n_links);
    e->bringing = CS_NEW(uint32_t, net->n_links);
    e->listed   = CS_NEW(uint32_t, net->n_links);
    if (e->ports == NULL || e->due == NULL || e->bringing == NULL || e->listed == NULL ||
        cs_calendar_open(&e->calendar, net->window, 2 * net->n_links) != CS_OK) {
        lossless_close(e);
        return CS_NO_MEMORY(err, "the ports of the packet model");
    }
    for (uint32_t l = 0; l < net->n_links; l++) {
        e->ports[l].bps       = net->links[l].bps;
        e->ports[l].ser_bytes = UINT32_MAX;
    }
    *state_p = e;
    return CS_OK;
}

static cs_status make_room(lossless *e, uint32_t number)
{
    size_t needed = (size_t)number + 1, room = e->n_messages;

    if (needed <= room) {
        return CS_OK;
    }
    room = room * 2 > needed ? room * 2 : needed > 64 ? needed : 64;
    if (room > UINT32_MAX >> e->way_shift) {
        room = needed;
    }
    if (room > UINT32_MAX >> e->way_shift || !cs_resize(&e->messages, room, sizeof *e->messages) ||
        !cs_resize(&e->way, room << e->way_shift, sizeof *e->way)) {
        return CS_ENOMEM;
    }
    e->n_messages = room;
    return CS_OK;
}

static cs_status lossless_send(void *state, const cs_packet_message *message_)
{
    const cs_packet_message *m    = message_;
    lossless                *e    = state;
    uint32_t                 link = m->ways[0], width = e->net->max_way + 1, base;
    uint32_t                 count = (uint32_t)cs_packet_count(m->bytes, m->mtu);
    port                    *p     = &e->ports[link];
    cs_run                   run;

    CS_TRY(make_room(e, m->number));
    base                   = m->number << e->way_shift;
    e->messages[m->number] = (message){.key = m->key, .missing = count, .n_paths = m->n_paths};
    memcpy(&e->way[base], m->ways, (size_t)m->n_paths * width * sizeof *m->ways);
    run = (cs_run){.t       = m->ready,
                   .message = base + m->first_path % m->n_paths * width,
                   .count   = count - 1,
                   .bytes   = (uint32_t)(m->mtu + m->header) & BYTES_OF_RUN,
                   .path    = CS_NO_LINK};
    if (run.count > 0) {
        CS_TRY(cs_runs_append(&p->queue, &run));
    }
    run.message = base + (uint32_t)(((uint64_t)m->first_path + count - 1) % m->n_paths) * width;
    run.count   = 1;
    run.bytes   = (uint32_t)cs_packet_last_bytes(m->bytes, m->mtu, m->header) & BYTES_OF_RUN;
    CS_TRY(cs_runs_append(&p->queue, &run));
    e->window_end = e->calendar.window * e->calendar.width;
    wake_port(e, link);
    return CS_OK;
}

static cs_status lossless_run(void *state, cs_ps horizon)
{
    lossless *e = state;

    for (;;) {
        double next_end = cs_events_next_s(e->ends);
        cs_ps  until    = next_end < (double)horizon ? (cs_ps)next_end : horizon;
        if (!cs_calendar_find(&e->calendar,
                              until == CS_PS_NEVER ? INT64_MAX : until / e->calendar.width)) {
            return CS_OK;
        }
        CS_TRY(process_window(e));
    }
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
