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
 *
 * A run knows its *step*: the place in `way` of the link that it is on, from which both its message
 * and the next link follow. Runs are this engine's own, without bit fields and copies: what is read
 * as a whole soon after it was written in parts stalls a processor, so runs are written where they
 * are to lie.
 */
#include "models/packet/counters.h"
#include "models/packet/deadlock.h"
#include "models/packet/engine.h"
#include "models/packet/train.h"

#include <stdio.h>
#include <string.h>

/* Windows are at most so long, so that a time in a window and the number of a run are one key. */
enum { RUN_BITS = 32 };
#define LONGEST_WINDOW ((cs_ps)1 << (63 - RUN_BITS))

/* So many runs that take turns on a link are kept as runs. */
enum { MOST_TURNS = 4 };

/* `count` packets of one message and size at t, t + gap, .. */
typedef struct run {
    cs_ps    t, gap;
    uint32_t step, count;
    uint32_t bytes; /* of each, on the wire; at a sending port of each but the last one */
    uint32_t in;    /* the link over which they came; CS_NO_LINK at a sending port */
} run;

/* A ring of runs; `{0}` is empty. One that is only ever filled and emptied begins at runs[0]. */
typedef struct run_ring {
    run     *runs; /* owned [capacity], a power of two */
    uint32_t head, n, capacity;
} run_ring;

static run *first_run(const run_ring *q)
{
    return &q->runs[q->head];
}

static run *nth_run(const run_ring *q, uint32_t n)
{
    return &q->runs[(q->head + n) & (q->capacity - 1)];
}

static void drop_first(run_ring *q)
{
    q->n--;
    q->head = q->n == 0 ? 0 : (q->head + 1) & (q->capacity - 1);
}

static bool grow_ring(run_ring *q)
{
    uint32_t capacity = q->capacity == 0 ? 8 : 2 * q->capacity;
    run     *runs     = capacity > UINT32_MAX / 2 ? NULL : CS_NEW(run, capacity);

    if (runs == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < q->n; i++) {
        runs[i] = q->runs[(q->head + i) & (q->capacity - 1)];
    }
    cs_free(q->runs);
    *q = (run_ring){.runs = runs, .n = q->n, .capacity = capacity};
    return true;
}

static inline cs_status append_run(run_ring *q, cs_ps t, cs_ps gap, uint32_t count, uint32_t step,
                                   uint32_t bytes, uint32_t in)
{
    run *r;

    if (q->n == q->capacity && !grow_ring(q)) {
        return CS_ENOMEM;
    }
    r        = &q->runs[(q->head + q->n++) & (q->capacity - 1)];
    r->t     = t;
    r->gap   = gap;
    r->step  = step;
    r->count = count;
    r->bytes = bytes;
    r->in    = in;
    return CS_OK;
}

static cs_ps last_packet(const run *r)
{
    return r->t + (cs_ps)(r->count - 1) * r->gap;
}

/* Let a run go on with packets that continue it. False: they do not. */
static inline bool join_run(run *last, cs_ps t, cs_ps gap, uint32_t count, uint32_t step,
                            uint32_t bytes)
{
    if (last->step != step || last->bytes != bytes) {
        return false;
    }
    cs_ps distance = last->count > 1 ? last->gap : count > 1 ? gap : t - last->t;
    if (t != last->t + (cs_ps)last->count * distance || (count > 1 && gap != distance)) {
        return false;
    }
    last->gap = distance;
    last->count += count;
    return true;
}

/* From `t` on a port is paused, or not. */
typedef struct toggle {
    cs_ps t;
    bool  is_pause;
} toggle;

/* A port, and what is under way on the link over which it sends. */
typedef struct port {
    run_ring inbox;                     /* what comes in this window; runs[0] is the first */
    run_ring queue;                     /* what waits */
    cs_ps    free;                      /* when the last packet has left */
    uint32_t leaving_bytes, leaving_in; /* the last packet and whence it came, until it has left;
                                           0 bytes: it has */
    run_ring flight;                    /* by the time of the first at the far end */
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
    int64_t  ingress;              /* with all of the window that has been seen yet */
    int64_t  before;               /* of listed links: when the window began */
    int64_t  arrived;              /* bytes, over watched links in this window */
    int64_t  xoff;                 /* the link's */
    run_ring arrivals, departures; /* of watched links in this window; runs[0] is the first */
    bool     has_xoff;             /* the last pause frame said so */
    bool     is_watched, is_listed;
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
    uint32_t            *way;      /* owned [n_messages << way_shift] */
    size_t               n_messages;
    uint32_t             way_shift;
    cs_ps                window_end;
    int64_t              cut_through_bytes;
    bool                 trains;
    uint32_t            *due; /* owned [n_links]: ports to serve in this window */
    uint64_t *bringing;       /* owned: a bit for every link that brings something in this window */
    uint32_t *listed;         /* owned [n_links]: links to count in this window */
    uint32_t  n_due, n_listed;
    run_ring  spare;         /* takes the place of a list that is put in order */
    uint64_t *keys, *sorted; /* owned: of packets, see sort_packets() */
    uint32_t *slots;         /* owned */
    size_t    key_capacity, sorted_capacity, slot_capacity;
    cs_packet_totals totals;
    char             reason[400];
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
    return append_run(&c->departures, t, gap, count, 0, bytes, 0);
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

static cs_status headroom_is_passed(lossless *e, uint32_t link, int64_t ingress)
{
    const cs_packet_link *wire = &e->net->links[link];
    char                  name[64];

    cs_packet_link_text(e->net, link, name, sizeof name);
    (void)snprintf(e->reason, sizeof e->reason,
                   "headroom of %s is too small: %lld bytes that came over it wait, more than "
                   "xoff %lld and headroom %lld; set headroom_bytes to %lld or more",
                   name, (long long)ingress, (long long)wire->xoff,
                   (long long)e->net->headroom_bytes, (long long)(ingress - wire->xoff));
    return CS_EWRONG;
}

/* ---- sorting ---- */

static void insertion_sort(uint64_t *keys, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint64_t k = keys[i];
        uint32_t j = i;
        for (; j > 0 && k < keys[j - 1]; j--) {
            keys[j] = keys[j - 1];
        }
        keys[j] = k;
    }
}

/* The keys in their order, where `low` and `high` are the least and the greatest: two buckets for
 * every key, then insertion, which has little left to do. */
static cs_status sort_keys(lossless *e, uint32_t n, uint64_t low, uint64_t high,
                           const uint64_t **sorted_p)
{
    uint64_t *keys  = e->keys;
    uint32_t  shift = 0, total = 0, n_slots;

    *sorted_p = keys;
    if (n <= 16) {
        insertion_sort(keys, n);
        return CS_OK;
    }
    while ((high - low) >> shift >= 2 * (uint64_t)n) {
        shift++;
    }
    n_slots = (uint32_t)((high - low) >> shift) + 1;
    if (!cs_grow(&e->sorted, &e->sorted_capacity, n, 64, sizeof *keys) ||
        !cs_grow(&e->slots, &e->slot_capacity, n_slots, 64, sizeof *e->slots)) {
        return CS_ENOMEM;
    }
    memset(e->slots, 0, n_slots * sizeof *e->slots);
    for (uint32_t i = 0; i < n; i++) {
        e->slots[(keys[i] - low) >> shift]++;
    }
    for (uint32_t i = 0; i < n_slots; i++) {
        uint32_t count = e->slots[i];
        e->slots[i]    = total;
        total += count;
    }
    for (uint32_t i = 0; i < n; i++) {
        e->sorted[e->slots[(keys[i] - low) >> shift]++] = keys[i];
    }
    insertion_sort(e->sorted, n);
    *sorted_p = e->sorted;
    return CS_OK;
}

/* Where the runs of a list, from number `from` on, no longer follow each other in time, the links
 * of one time in their order. */
static uint32_t order_ends(const run_ring *list, uint32_t from)
{
    for (uint32_t i = from + 1; i < list->n; i++) {
        cs_ps last = last_packet(&list->runs[i - 1]);
        if (last > list->runs[i].t ||
            (last == list->runs[i].t && list->runs[i - 1].in > list->runs[i].in)) {
            return i;
        }
    }
    return list->n;
}

/* A key for every packet of a list, sorted: (its time in the window, the number of its run). Runs
 * of one list are in the order of their links. */
static cs_status sort_packets(lossless *e, const run_ring *list, const uint64_t **sorted_p,
                              uint32_t *n_p)
{
    cs_ps    begin = e->window_end - e->calendar.width;
    uint64_t n = 0, low = UINT64_MAX, high = 0;
    uint32_t k = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        n += list->runs[i].count;
    }
    if (n > UINT32_MAX / 4 || !cs_grow(&e->keys, &e->key_capacity, n, 64, sizeof *e->keys)) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < list->n; i++) {
        const run *r     = &list->runs[i];
        uint64_t   first = (uint64_t)(r->t - begin) << RUN_BITS | i;
        uint64_t   gap = (uint64_t)r->gap << RUN_BITS, key = first;
        for (uint32_t j = 0; j < r->count; j++, key += gap) {
            e->keys[k++] = key;
        }
        low  = first < low ? first : low;
        high = key - gap > high ? key - gap : high;
    }
    *n_p = k;
    return sort_keys(e, k, low, high, sorted_p);
}

/* What is left of a list of runs that is gone through in time. */
typedef struct walk {
    const run *r, *end;
    uint32_t   done; /* packets of *r */
} walk;

static walk walk_of(const run_ring *list)
{
    return (walk){list->runs, list->runs + list->n, 0};
}

static cs_ps walk_time(const walk *w)
{
    return w->r < w->end ? w->r->t + (cs_ps)w->done * w->r->gap : CS_PS_NEVER;
}

static void walk_on(walk *w, uint32_t count)
{
    w->done += count;
    if (w->done == w->r->count) {
        w->done = 0;
        w->r++;
    }
}

/* Two lists that are each in order, merged into `spare`: runs are cut where they overlap. */
static cs_status merge_runs(lossless *e, walk a, walk b)
{
    while (a.r < a.end || b.r < b.end) {
        cs_ps    t_a = walk_time(&a), t_b = walk_time(&b);
        bool     is_a = t_a < t_b || (t_a == t_b && a.r->in < b.r->in);
        walk    *w    = is_a ? &a : &b;
        cs_ps    t = is_a ? t_a : t_b, until = is_a ? t_b : t_a;
        uint32_t count = w->r->count - w->done;
        if (count > 1 && last_packet(w->r) >= until) { /* those that come before the other's next */
            count = t + w->r->gap >= until ? 1 : (uint32_t)((until - 1 - t) / w->r->gap) + 1;
        }
        CS_TRY(append_run(&e->spare, t, w->r->gap, count, w->r->step, w->r->bytes, w->r->in));
        walk_on(w, count);
    }
    return CS_OK;
}

/* Packets in the order of their keys, one run for each, into `spare`. */
static cs_status sort_runs(lossless *e, const run_ring *list)
{
    cs_ps           begin = e->window_end - e->calendar.width;
    const uint64_t *sorted;
    uint32_t        n;

    CS_TRY(sort_packets(e, list, &sorted, &n));
    for (uint32_t i = 0; i < n; i++) {
        const run *r = &list->runs[(uint32_t)sorted[i]];
        CS_TRY(append_run(&e->spare, begin + (cs_ps)(sorted[i] >> RUN_BITS), 0, 1, r->step,
                          r->bytes, r->in));
    }
    return CS_OK;
}

/* Runs of a window in their order. Mostly they are, or two links meet; where more do, every packet
 * becomes a run. */
static cs_status put_in_order(lossless *e, run_ring *list)
{
    uint32_t   half = order_ends(list, 0);
    const run *runs = list->runs;
    run_ring   was;

    if (half == list->n) {
        return CS_OK;
    }
    e->spare.n = 0;
    if (order_ends(list, half) == list->n) {
        CS_TRY(merge_runs(e, (walk){runs, runs + half, 0}, (walk){runs + half, runs + list->n, 0}));
    } else {
        CS_TRY(sort_runs(e, list));
    }
    was      = *list;
    *list    = e->spare;
    e->spare = was;
    return CS_OK;
}

/* ---- when thresholds are passed ---- */

/* Pass all packets before `time`; returns their bytes. */
static int64_t walk_until(walk *w, cs_ps time)
{
    int64_t bytes = 0;

    for (cs_ps t = walk_time(w); t < time; t = walk_time(w)) {
        uint32_t count = w->r->count - w->done;
        if (count > 1 && last_packet(w->r) >= time) {
            count = (uint32_t)((time - 1 - t) / w->r->gap) + 1;
        }
        bytes += (int64_t)w->r->bytes * count;
        walk_on(w, count);
    }
    return bytes;
}

/* How many of the next packets of a run together are no more than `bytes`; at least 1. */
static uint32_t safe_count(const walk *w, int64_t bytes)
{
    uint32_t count = w->r->count - w->done;

    if (count == 1 || bytes < 2 * (int64_t)w->r->bytes) {
        return 1;
    }
    return (int64_t)w->r->bytes * count <= bytes ? count : (uint32_t)(bytes / w->r->bytes);
}

/* Go through the arrivals and departures of a link in time, from ingress `v` on; of one time
 * departures come first. As long as no threshold is near many packets are one step: arrivals that
 * would not pass xoff if nothing departed, departures that would not reach xon if nothing arrived.
 */
static cs_status find_crossings(lossless *e, uint32_t link, int64_t v, walk in, walk out)
{
    const cs_packet_link *wire     = &e->net->links[link];
    counter              *c        = &e->counters[link];
    int64_t               most     = wire->xoff + e->net->headroom_bytes;
    bool                  is_tight = v + c->arrived > most;

    for (;;) {
        cs_ps t;
        if (!c->has_xoff) {
            t = walk_time(&in);
            if (t == CS_PS_NEVER) {
                return CS_OK;
            }
            v -= walk_until(&out, t + 1);
            uint32_t count = safe_count(&in, wire->xoff - v);
            v += (int64_t)in.r->bytes * count;
            walk_on(&in, count);
            if (v > wire->xoff) {
                CS_TRY(toggle_port(e, link, t, true));
            }
        } else {
            t               = walk_time(&out);
            int64_t arrived = walk_until(&in, t);
            v += arrived;
            if (v > most) {
                return headroom_is_passed(e, link, v);
            }
            if (t == CS_PS_NEVER) {
                return CS_OK;
            }
            uint32_t count = is_tight ? 1 : safe_count(&out, v - wire->xon - 1);
            v -= (int64_t)out.r->bytes * count;
            walk_on(&out, count);
            if (v <= wire->xon) {
                CS_TRY(toggle_port(e, link, t, false));
            }
        }
    }
}

/* A watched link, when all of the window is known. */
static cs_status count_link(lossless *e, uint32_t link)
{
    const cs_packet_link *wire = &e->net->links[link];
    counter              *c    = &e->counters[link];
    int64_t               most = c->has_xoff ? wire->xoff + e->net->headroom_bytes : wire->xoff;

    /* all of before + arrived - ingress has departed */
    if (c->before + c->arrived > most || (c->has_xoff && c->ingress - c->arrived <= wire->xon)) {
        CS_TRY(put_in_order(e, &c->arrivals));
        CS_TRY(put_in_order(e, &c->departures));
        CS_TRY(find_crossings(e, link, c->before, walk_of(&c->arrivals), walk_of(&c->departures)));
    }
    c->arrived    = 0;
    c->arrivals.n = c->departures.n = 0;
    c->is_listed                    = false;
    c->is_watched                   = c->has_xoff;
    return CS_OK;
}

/* ---- links ---- */

/* The first run has lost its first packets: it goes to where it is in order of its first one. */
static void put_back(run_ring *q, uint32_t count)
{
    run      r = *first_run(q);
    uint32_t i = 0;

    r.t += (cs_ps)count * r.gap;
    r.count -= count;
    for (; i + 1 < q->n && nth_run(q, i + 1)->t < r.t; i++) {
        *nth_run(q, i) = *nth_run(q, i + 1);
    }
    *nth_run(q, i) = r;
}

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
        run     *r     = first_run(&p->flight);
        port    *out   = &e->ports[e->way[r->step + 1]];
        uint32_t count = r->count;
        if (count > 1 && last_packet(r) >= e->window_end) {
            count = (uint32_t)((e->window_end - 1 - r->t) / r->gap) + 1;
        }
        sum += (int64_t)r->bytes * count;
        CS_TRY(append_run(&out->inbox, r->t, r->gap, count, r->step + 1, r->bytes, link));
        make_due(e, out);
        if (c->is_watched) {
            CS_TRY(append_run(&c->arrivals, r->t, r->gap, count, 0, r->bytes, 0));
        }
        if (count == r->count) {
            drop_first(&p->flight);
        } else {
            put_back(&p->flight, count);
        }
    } while (p->flight.n > 0 && first_run(&p->flight)->t < e->window_end);
    p->flying -= sum;
    c->ingress += sum;
    if (c->is_watched) {
        c->arrived = sum;
    }
    if (p->flight.n > 0) {
        wake(e, link, first_run(&p->flight)->t);
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

/* Do packets go on with a run that is under way? The messages of those that were sent last may take
 * turns; where something takes no time to send, not even that is known of two packets. */
static inline bool join_flight(const run_ring *q, cs_ps lag, cs_ps t, cs_ps gap, uint32_t count,
                               const run *r)
{
    uint32_t most = lag > 0 ? MOST_TURNS : 1;

    for (uint32_t i = q->n; i > 0 && i + most > q->n; i--) {
        run *last = nth_run(q, i - 1);
        if (last->step == r->step) {
            return join_run(last, t, gap, count, r->step, r->bytes);
        }
    }
    return false;
}

/* Packets of a run start at t, t + gap, .. */
static inline cs_status start_packets(lossless *e, uint32_t link, port *p, const run *r, cs_ps t,
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
        e->net->links[e->way[r->step + 1]].high_bps <= e->net->links[link].low_bps) {
        lag = cs_packet_ps(p->bps, e->cut_through_bytes);
    }
    t += lag + p->delay;
    p->flying += (int64_t)r->bytes * count;
    if (p->flight.n == 0) {
        wake(e, link, t);
    } else if (e->trains && join_flight(&p->flight, lag, t, gap, count, r)) {
        return CS_OK;
    }
    return append_run(&p->flight, t, gap, count, r->step, r->bytes, link);
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
static inline uint32_t row_of(const lossless *e, const port *p, const run *r, cs_ps t, cs_ps *gap)
{
    cs_ps most = r->count, room = p->limit - t; /* less than a window */

    *gap = p->ser;
    if (p->is_sender) {
        bool goes_one_way = e->messages[r->step >> e->way_shift].n_paths == 1;
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
static void go_on(const lossless *e, run *r)
{
    uint32_t       base = r->step >> e->way_shift << e->way_shift, width = e->net->max_way + 1;
    const message *m = &e->messages[r->step >> e->way_shift];

    if (r->count == 1) {
        r->bytes = m->last_bytes;
    }
    if (m->n_paths > 1) {
        r->step = base + (r->step - base + width) % (width * m->n_paths);
    }
}

/* Start what can start of a run in this window; its count is what is left. */
static inline cs_status start_run(lossless *e, uint32_t link, port *p, run *r)
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
static cs_status start_all(lossless *e, uint32_t link, port *p)
{
    uint32_t i = 0;

    while (p->queue.n > 0 || i < p->inbox.n) {
        bool has_waited = p->queue.n > 0;
        run *r          = has_waited ? first_run(&p->queue) : &p->inbox.runs[i];
        CS_TRY(start_run(e, link, p, r));
        if (r->count > 0) {
            break;
        }
        if (has_waited) {
            drop_first(&p->queue);
        } else {
            i++;
        }
    }
    for (; i < p->inbox.n; i++) {
        const run *r = &p->inbox.runs[i];
        CS_TRY(append_run(&p->queue, r->t, r->gap, r->count, r->step, r->bytes, r->in));
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
        t = first_run(&p->queue)->t > t ? first_run(&p->queue)->t : t;
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
    port *p         = &e->ports[link];
    bool  is_steady = !p->is_paused && p->n_toggles == 0 && p->changes_left == 0;

    p->is_due = false;
    p->limit  = is_steady ? e->window_end : 0;
    if (p->leaving_bytes > 0 && p->free < e->window_end) {
        CS_TRY(depart(e, p->leaving_in, p->free, 0, 1, p->leaving_bytes));
        p->leaving_bytes = 0;
    }
    CS_TRY(put_in_order(e, &p->inbox));
    for (uint32_t i = 0; i < p->inbox.n && e->net->counters != NULL; i++) {
        const run *r = &p->inbox.runs[i];
        cs_counters_come(e->net->counters, link, r->t, r->gap, r->count, r->bytes);
    }
    CS_TRY(start_all(e, link, p));
    wake_port(e, link);
    return CS_OK;
}

/* Links bring what they do in the order of their numbers, which decides between packets that come
 * to a port at one time. */
static cs_status bring_all(lossless *e, uint32_t first_word, uint32_t last_word)
{
    for (uint32_t w = first_word; w <= last_word; w++) {
        for (uint64_t bits = e->bringing[w]; bits != 0; bits &= bits - 1) {
            CS_TRY(bring(e, 64 * w + (uint32_t)__builtin_ctzll(bits)));
        }
        e->bringing[w] = 0;
    }
    return CS_OK;
}

static cs_status process_window(lossless *e)
{
    uint32_t token = cs_calendar_take(&e->calendar), n_links = e->net->n_links;
    uint32_t first_word = UINT32_MAX, last_word = 0;

    e->window_end = (e->calendar.window + 1) * e->calendar.width;
    for (; token != CS_NO_LINK; token = e->calendar.next[token]) {
        if (token < n_links) {
            uint32_t word = token / 64;
            e->bringing[word] |= UINT64_C(1) << token % 64;
            first_word = word < first_word ? word : first_word;
            last_word  = word > last_word ? word : last_word;
        } else {
            make_due(e, &e->ports[token - n_links]);
        }
    }
    CS_TRY(bring_all(e, first_word, last_word));
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
        const run_ring *q = &e->ports[l].queue;
        for (uint32_t i = 0; i < q->n && is_held(&e->ports[l]); i++) {
            uint32_t from = q->runs[(q->head + i) & (q->capacity - 1)].in;
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
    cs_free(e->way);
    cs_free(e->due);
    cs_free(e->bringing);
    cs_free(e->listed);
    cs_free(e->spare.runs);
    cs_free(e->keys);
    cs_free(e->sorted);
    cs_free(e->slots);
    cs_free(e);
}

static cs_status lossless_open(const cs_packet_net *net, cs_event_queue *ends, void **state_p,
                               cs_error *err)
{
    lossless *e     = CS_NEW(lossless, 1);
    cs_ps     width = net->window < LONGEST_WINDOW ? net->window : LONGEST_WINDOW;

    if (e == NULL) {
        return CS_NO_MEMORY(err, "the packet model");
    }
    e->net               = net;
    e->ends              = ends;
    e->trains            = net->trains;
    e->cut_through_bytes = net->cut_through_bytes;
    while (UINT64_C(1) << e->way_shift < (uint64_t)net->max_paths * (net->max_way + 1)) {
        e->way_shift++;
    }
    e->ports    = CS_NEW(port, net->n_links);
    e->counters = CS_NEW(counter, net->n_links);
    e->due      = CS_NEW(uint32_t, net->n_links);
    e->bringing = CS_NEW(uint64_t, net->n_links / 64 + 1);
    e->listed   = CS_NEW(uint32_t, net->n_links);
    if (e->ports == NULL || e->counters == NULL || e->due == NULL || e->bringing == NULL ||
        e->listed == NULL || cs_calendar_open(&e->calendar, width, 2 * net->n_links) != CS_OK) {
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

static cs_status lossless_send(void *state, const cs_packet_message *m)
{
    lossless *e    = state;
    uint32_t  link = m->ways[0], width = e->net->max_way + 1, base;
    uint32_t  count = (uint32_t)cs_packet_count(m->bytes, m->mtu);
    port     *p     = &e->ports[link];

    CS_TRY(make_room(e, m->number));
    base          = m->number << e->way_shift;
    uint32_t last = (uint32_t)cs_packet_last_bytes(m->bytes, m->mtu, m->header);
    e->messages[m->number] =
        (message){.key = m->key, .missing = count, .n_paths = m->n_paths, .last_bytes = last};
    memcpy(&e->way[base], m->ways, (size_t)m->n_paths * width * sizeof *m->ways);
    CS_TRY(append_run(&p->queue, m->ready, 0, count, base + m->first_path % m->n_paths * width,
                      count > 1 ? (uint32_t)(m->mtu + m->header) : last, CS_NO_LINK));
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
