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
 * that and the rest as it comes. Where the port's rate changes the run is cut. Runs that meet are
 * taken apart and their packets sorted. Without trains all are. */
#include "models/packet/counters.h"
#include "models/packet/engine.h"
#include "models/packet/train.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* An output port, and the link behind it. */
typedef struct port {
    cs_run_queue sent;    /* in the order in which they are at the next port */
    cs_run_queue inbox;   /* what comes in this window; `path` is the link that it came over */
    cs_ps        free;    /* when the last packet has left */
    cs_ps        until;   /* when the rate changes next */
    int64_t      bps;     /* of packets that start before that */
    cs_ps        service; /* what one of `bytes` bytes takes then */
    cs_ps        begun;   /* what the part takes that a port behind cut-through waits for */
    uint32_t     bytes;
    uint32_t     n_changed;
    cs_ps        delay;
    bool         is_last;
} port;

typedef struct message {
    uint64_t key;
    cs_ps    end; /* the latest arrival */
    uint32_t n_missing;
    uint32_t first_path, n_paths;
    bool     is_mixed; /* some of its ways cut through behind the sending port, others do not */
} message;

/* `message` of a run is the place in `ways` of the link that it is on. */
typedef struct engine {
    const cs_packet_net *net;
    cs_event_queue      *ends;
    port                *ports; /* owned [n_links] */
    cs_calendar          calendar;
    message             *messages; /* owned [n_messages] */
    uint32_t            *ways;     /* owned [n_messages][1 << ways_shift]: ways of max_way */
    size_t               n_messages;
    uint32_t             ways_shift, way_stride;
    uint32_t *touched; /* owned [n_links]: ports that something comes to in this window */
    uint32_t  n_touched;
    cs_turns  runs, packets; /* of one inbox */
    uint64_t  n_packets;
} engine;

/* ---- what leaves a port ---- */

static inline message *message_of(const engine *e, const cs_run *r)
{
    return &e->messages[r->message >> e->ways_shift];
}

/* Where the link at `place` of the first way is on the way that a packet takes. */
static inline uint32_t place_of(const engine *e, const message *m, uint32_t place, uint32_t packet)
{
    uint32_t path = (uint32_t)(((uint64_t)m->first_path + packet) % m->n_paths);
    return place + path * e->way_stride;
}

/* Does the next port begin with a packet before it has it all? */
static bool cuts_through(const engine *e, uint32_t link, uint32_t next)
{
    return e->net->links[next].high_bps <= e->net->links[link].low_bps;
}

/* How long after its start has the first packet of a run passed the port, for the one behind it? */
static cs_ps lag(const engine *e, uint32_t link, const cs_run *r, uint32_t packet, cs_ps service)
{
    uint32_t place = r->message;

    if (e->net->cut_through_bytes >= r->bytes) {
        return service;
    }
    if (r->hop == 0) {
        place = place_of(e, message_of(e, r), place, packet);
    }
    return cuts_through(e, link, e->ways[place + 1]) ? e->ports[link].begun : service;
}

static cs_status deliver(engine *e, const cs_run *r, uint32_t count, cs_ps last)
{
    message *m = message_of(e, r);

    m->end = last > m->end ? last : m->end;
    m->n_missing -= count;
    return m->n_missing > 0 ? CS_OK : cs_events_put(e->ends, (double)m->end, m->key);
}

/* Packets like those of `r` start on a link, at t, t + gap, ..; `packet` is the number of the first
 * one where they go different ways. */
static inline cs_status leave(engine *e, uint32_t link, const cs_run *r, cs_ps t, cs_ps gap,
                              uint32_t count, uint32_t packet, cs_ps service)
{
    port         *p = &e->ports[link];
    cs_run_queue *q = &p->sent;

    if (e->net->counters != NULL) {
        cs_counters_start(e->net->counters, link, t, gap, count, r->bytes, service);
    }
    if (p->is_last) {
        return deliver(e, r, count, t + (cs_ps)(count - 1) * gap + service + p->delay);
    }
    t += p->delay + (e->net->cut_through_bytes > 0 ? lag(e, link, r, packet, service) : service);
    cs_run run = {t, gap, r->message, count, r->bytes, r->hop, packet};
    if (q->n == 0) {
        cs_calendar_put(&e->calendar, link, t);
    } else if (e->net->trains && cs_run_join(cs_runs_last(q), &run)) {
        return CS_OK;
    }
    return cs_runs_append(q, &run);
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
    uint32_t left = r->count, packet = r->hop == 0 ? r->path : 0;
    bool     is_mixed = r->hop == 0 && message_of(e, r)->is_mixed;

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
        packet += r->hop == 0 ? count : 0;
    }
    return CS_OK;
}

/* ---- the order at a port ---- */

/* A run comes to a port while no other does. */
static cs_status serve_alone(engine *e, uint32_t link, const cs_run *r)
{
    if (e->net->trains) {
        return serve_run(e, link, r);
    }
    for (uint32_t k = 0; k < r->count; k++) {
        CS_TRY(serve_packet(e, link, r, r->t + (cs_ps)k * r->gap));
    }
    return CS_OK;
}

/* Take some runs of an inbox apart and serve their packets. */
static cs_status serve_apart(engine *e, uint32_t link, const cs_turn *runs, size_t n_runs)
{
    const cs_run *inbox   = e->ports[link].inbox.runs;
    cs_turns     *packets = &e->packets;

    packets->n = 0;
    for (size_t i = 0; i < n_runs; i++) {
        CS_TRY(cs_turns_add(packets, &inbox[runs[i].run], runs[i].in, runs[i].run));
    }
    cs_turns_sort(packets);
    for (size_t i = 0; i < packets->n; i++) {
        CS_TRY(serve_packet(e, link, &inbox[packets->all[i].run], packets->all[i].t));
    }
    return CS_OK;
}

/* Serve runs some of which meet: those that do, apart. */
static cs_status serve_meeting(engine *e, uint32_t link)
{
    const cs_run_queue *inbox = &e->ports[link].inbox;
    cs_turns           *runs  = &e->runs;

    runs->n = 0;
    CS_TRY(cs_turns_reserve(runs, inbox->n));
    for (uint32_t i = 0; i < inbox->n; i++) {
        runs->all[runs->n++] = (cs_turn){inbox->runs[i].t, inbox->runs[i].path, i};
    }
    if (!e->net->trains) {
        return serve_apart(e, link, runs->all, runs->n);
    }
    cs_turns_sort(runs);
    for (size_t i = 0, next; i < runs->n; i = next) {
        cs_turn last = runs->all[i];
        last.t       = cs_run_last(&inbox->runs[last.run]);
        for (next = i + 1; next < runs->n && cs_is_later(&last, &runs->all[next]); next++) {
            cs_turn other = runs->all[next];
            other.t       = cs_run_last(&inbox->runs[other.run]);
            last          = cs_is_later(&other, &last) ? other : last;
        }
        CS_TRY(next == i + 1 ? serve_run(e, link, &inbox->runs[runs->all[i].run])
                             : serve_apart(e, link, runs->all + i, next - i));
    }
    return CS_OK;
}

/* Serve what came to a port in this window. */
static cs_status serve_inbox(engine *e, uint32_t link)
{
    cs_run_queue *inbox = &e->ports[link].inbox;

    if (!cs_runs_are_in_order(inbox)) {
        CS_TRY(serve_meeting(e, link));
    } else {
        for (uint32_t i = 0; i < inbox->n; i++) {
            CS_TRY(serve_alone(e, link, &inbox->runs[i]));
        }
    }
    inbox->n = 0;
    return CS_OK;
}

/* ---- a window ---- */

/* Packets that link `in` carries are at the next port, that of the link at `place`. */
static inline cs_status hand_over(engine *e, uint32_t in, const cs_run *r, cs_ps t, cs_ps gap,
                                  uint32_t count, uint32_t place)
{
    uint32_t      next  = e->ways[place];
    cs_run_queue *inbox = &e->ports[next].inbox;
    cs_run        here  = {t, gap, place, count, r->bytes, 1, in};

    if (inbox->n == 0) {
        e->touched[e->n_touched++] = next;
    }
    return cs_runs_append(inbox, &here);
}

/* The same where packets go different ways: those of one way are a run. */
static cs_status spread(engine *e, uint32_t in, const cs_run *r, uint32_t count)
{
    const message *m = message_of(e, r);
    uint32_t       n = m->n_paths;

    for (uint32_t i = 0; i < n && i < count; i++) {
        CS_TRY(hand_over(e, in, r, r->t + (cs_ps)i * r->gap, n * r->gap, (count - i - 1) / n + 1,
                         place_of(e, m, r->message + 1, r->path + i)));
    }
    return CS_OK;
}

/* Hand what a link delivers before `end` to the inboxes of the ports behind it. */
static cs_status bring(engine *e, uint32_t in, cs_ps end)
{
    cs_run_queue *q = &e->ports[in].sent;

    while (q->n > 0 && cs_runs_first(q)->t < end) {
        cs_run  *r     = cs_runs_first(q);
        uint32_t count = r->count;
        if (cs_run_last(r) >= end) {
            count = (uint32_t)((end - 1 - r->t) / r->gap + 1);
        }
        CS_TRY(r->hop == 0 ? spread(e, in, r, count)
                           : hand_over(e, in, r, r->t, r->gap, count, r->message + 1));
        if (count == r->count) {
            cs_runs_drop_first(q);
        } else {
            r->t += count * r->gap;
            r->count -= count;
            r->path += r->hop == 0 ? count : 0;
        }
    }
    if (q->n > 0) {
        cs_calendar_put(&e->calendar, in, cs_runs_first(q)->t);
    }
    return CS_OK;
}

static cs_status process_window(engine *e)
{
    cs_ps end = (e->calendar.window + 1) * e->calendar.width;

    e->n_touched = 0;
    for (uint32_t link = cs_calendar_take(&e->calendar), next; link != CS_NO_LINK; link = next) {
        next = e->calendar.next[link];
        CS_TRY(bring(e, link, end));
    }
    e->calendar.window++;
    for (uint32_t i = 0; i < e->n_touched; i++) {
        CS_TRY(serve_inbox(e, e->touched[i]));
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
    cs_free(e->ways);
    cs_free(e->touched);
    cs_turns_free(&e->runs);
    cs_turns_free(&e->packets);
    cs_free(e);
}

static cs_status unlimited_open(const cs_packet_net *net, cs_event_queue *ends, void **state_p,
                                cs_error *err)
{
    engine *e = CS_NEW(engine, 1);

    if (e == NULL) {
        return CS_NO_MEMORY(err, "a network of %u links", net->n_links);
    }
    e->net        = net;
    e->ends       = ends;
    e->way_stride = net->max_way;
    while (UINT64_C(1) << e->ways_shift < (uint64_t)e->way_stride * net->max_paths) {
        e->ways_shift++;
    }
    e->ports   = CS_NEW(port, net->n_links);
    e->touched = CS_NEW(uint32_t, net->n_links);
    if (cs_calendar_open(&e->calendar, net->window, net->n_links) != CS_OK || e->ports == NULL ||
        e->touched == NULL) {
        unlimited_close(e);
        return CS_NO_MEMORY(err, "a network of %u links", net->n_links);
    }
    for (uint32_t l = 0; l < net->n_links; l++) {
        e->ports[l] = (port){.bps     = net->links[l].bps,
                             .delay   = net->links[l].delay,
                             .is_last = net->links[l].is_last};
        change_rate(e, l, -1);
    }
    *state_p = e;
    return CS_OK;
}

/* Keep what is asked of a message later. */
static cs_status keep(engine *e, const cs_packet_message *given, uint32_t n_packets)
{
    size_t n_messages = e->n_messages, most = (size_t)1 << (32 - e->ways_shift);

    if (given->number >= most ||
        !cs_grow(&e->messages, &n_messages, (size_t)given->number + 1, 64, sizeof *e->messages)) {
        return CS_ENOMEM;
    }
    if (n_messages > e->n_messages &&
        !cs_resize(&e->ways, n_messages << e->ways_shift, sizeof *e->ways)) {
        return CS_ENOMEM;
    }
    e->n_messages     = n_messages;
    uint32_t *ways    = e->ways + ((size_t)given->number << e->ways_shift);
    message  *m       = &e->messages[given->number];
    uint32_t  sender  = given->ways[0];
    bool      may_cut = e->net->cut_through_bytes > 0 && !e->ports[sender].is_last;
    *m                = (message){.key        = given->key,
                                  .end        = -1,
                                  .n_missing  = n_packets,
                                  .first_path = given->first_path % given->n_paths,
                                  .n_paths    = given->n_paths};
    for (uint32_t i = 0; i < given->n_paths; i++) {
        const uint32_t *way = given->ways + i * ((size_t)e->net->max_way + 1);
        memcpy(ways + (size_t)i * e->way_stride, way, e->way_stride * sizeof *ways);
        m->is_mixed |=
            may_cut && cuts_through(e, sender, way[1]) != cuts_through(e, sender, given->ways[1]);
    }
    return CS_OK;
}

static cs_status unlimited_send(void *state, const cs_packet_message *given)
{
    engine  *e          = state;
    uint32_t n          = (uint32_t)cs_packet_count(given->bytes, given->mtu);
    int64_t  full_bytes = given->mtu + given->header;
    int64_t  last_bytes = cs_packet_last_bytes(given->bytes, given->mtu, given->header);
    cs_run   run        = {.t       = given->ready,
                           .message = given->number << e->ways_shift,
                           .count   = n - (last_bytes < full_bytes ? 1 : 0),
                           .bytes   = (uint32_t)full_bytes & 0xffffff,
                           .hop     = given->n_paths == 1};

    assert(given->ready >= e->calendar.window * e->calendar.width);
    CS_TRY(keep(e, given, n));
    e->n_packets += n;
    CS_TRY(serve_run(e, given->ways[0], &run));
    run.path  = run.count;
    run.count = n - run.count;
    run.bytes = (uint32_t)last_bytes & 0xffffff;
    return serve_run(e, given->ways[0], &run);
}

/* The first window that may not be processed. */
static int64_t window_limit(const engine *e, cs_ps horizon)
{
    double end = cs_events_next_s(e->ends);

    if (end < (double)horizon) {
        horizon = (cs_ps)end;
    }
    return horizon == CS_PS_NEVER ? INT64_MAX : horizon / e->calendar.width;
}

static cs_status unlimited_run(void *state, cs_ps horizon)
{
    engine *e = state;

    while (e->calendar.n_inside > 0 && cs_calendar_find(&e->calendar, window_limit(e, horizon))) {
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
