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

/* A packet, or the first one of a run, in the order in which its port serves it. */
typedef struct arrival {
    cs_ps    t;
    uint32_t in;  /* the link that it came over */
    uint32_t run; /* of the inbox */
} arrival;

typedef struct arrivals {
    arrival *all; /* owned [capacity] */
    size_t   n, capacity;
} arrivals;

typedef struct port {
    cs_run_queue sent;  /* in the order in which they are at the next port */
    cs_inbox     inbox; /* what comes in this window */
    cs_ps        free;  /* when the last packet has left */
    int64_t      bps;   /* of packets that start now, .. */
    cs_ps        until; /* .. before the next change, .. */
    uint32_t     n_changed;
    uint32_t     bytes;   /* .. of which those of so many bytes .. */
    cs_ps        service; /* .. take so long */
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
    message             *messages; /* owned */
    uint32_t            *ways;     /* owned [n_messages][max_paths][max_way + 1] */
    size_t               n_messages, way_stride, ways_stride;
    uint32_t *touched; /* owned [n_links]: ports that something comes to in this window */
    uint32_t  n_touched;
    arrivals  runs, packets; /* of one inbox */
    arrivals  scratch;
    uint32_t *slots; /* owned [n_slots] */
    size_t    n_slots;
    uint64_t  n_packets;
} engine;

/* ---- what leaves a port ---- */

static inline const uint32_t *way_of(const engine *e, uint32_t number, uint32_t path)
{
    return e->ways + number * e->ways_stride + path * e->way_stride;
}

/* The way of a packet of a sending port, which is known by its number. */
static inline uint32_t path_of(const message *m, uint32_t packet)
{
    return m->n_paths == 1 ? 0 : (uint32_t)(((uint64_t)m->first_path + packet) % m->n_paths);
}

/* Does the next port begin with a packet before it has it all? */
static bool cuts_through(const engine *e, uint32_t link, uint32_t next)
{
    return e->net->links[next].high_bps <= e->net->links[link].low_bps;
}

/* How long after its start has a packet of the run passed the port, for the one behind it? */
static cs_ps lag(const engine *e, uint32_t link, const cs_run *r, cs_ps service)
{
    int64_t bytes = e->net->cut_through_bytes;

    if (bytes == 0 || bytes >= r->bytes) {
        return service;
    }
    uint32_t path = r->hop == 0 ? path_of(&e->messages[r->message], r->path) : r->path;
    uint32_t next = way_of(e, r->message, path)[r->hop + 1];
    return cuts_through(e, link, next) ? cs_packet_ps(e->ports[link].bps, bytes) : service;
}

static cs_status deliver(engine *e, uint32_t number, uint32_t count, cs_ps last)
{
    message *m = &e->messages[number];

    m->end = last > m->end ? last : m->end;
    m->n_missing -= count;
    return m->n_missing > 0 ? CS_OK : cs_events_put(e->ends, (double)m->end, m->key);
}

/* A run of `count` packets like those of `r` starts on a link. */
static inline cs_status leave(engine *e, uint32_t link, const cs_run *r, cs_ps start, cs_ps gap,
                              uint32_t count, cs_ps service)
{
    const cs_packet_link *l = &e->net->links[link];
    cs_run_queue         *q = &e->ports[link].sent;

    if (e->net->counters != NULL) {
        cs_counters_start(e->net->counters, link, start, gap, count, r->bytes, service);
    }
    if (l->is_last) {
        cs_ps last = start + (cs_ps)(count - 1) * gap;
        return deliver(e, r->message, count, last + service + l->delay);
    }
    if (e->net->cut_through_bytes > 0) {
        start += lag(e, link, r, service) + l->delay;
    } else {
        start += service + l->delay;
    }
    if (q->n == 0) {
        cs_calendar_put(&e->calendar, link, start);
    } else if (e->net->trains) {
        cs_run next = *r;
        next.t      = start;
        next.gap    = gap;
        next.count  = count;
        if (cs_run_join(cs_runs_last(q), &next)) {
            return CS_OK;
        }
    }
    if (q->n == q->capacity && cs_runs_grow(q) != CS_OK) {
        return CS_ENOMEM;
    }
    cs_run *next = &q->runs[(q->head + q->n++) & (q->capacity - 1)];
    *next        = *r;
    next->t      = start;
    next->gap    = gap;
    next->count  = count;
    return CS_OK;
}

/* The same for packets of a sending port some of which cut through: each for itself. */
static cs_status leave_mixed(engine *e, uint32_t link, const cs_run *r, cs_ps start, cs_ps gap,
                             uint32_t count, cs_ps service)
{
    cs_run one = *r;

    for (uint32_t i = 0; i < count; i++, one.path++) {
        CS_TRY(leave(e, link, &one, start + (cs_ps)i * gap, 0, 1, service));
    }
    return CS_OK;
}

/* ---- a port serves ---- */

static void change_rate(const engine *e, uint32_t link, cs_ps start)
{
    const cs_packet_link *l = &e->net->links[link];
    port                 *p = &e->ports[link];

    while (p->n_changed < l->n_changes && l->changes[p->n_changed].time <= start) {
        p->bps = l->changes[p->n_changed++].bps;
    }
    p->until = p->n_changed < l->n_changes ? l->changes[p->n_changed].time : CS_PS_NEVER;
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

/* A run comes to a port between whose packets nothing else does. */
static cs_status serve(engine *e, uint32_t link, const cs_run *arriving)
{
    port  *p    = &e->ports[link];
    cs_run left = *arriving;

    if (e->net->counters != NULL) {
        cs_counters_come(e->net->counters, link, left.t, left.gap, left.count, left.bytes);
    }
    while (left.count > 0) {
        cs_ps    start = left.t > p->free ? left.t : p->free;
        cs_ps    s = service_at(e, link, left.bytes, start), gap = s;
        uint32_t count = left.count;
        if (left.gap > s && p->free <= left.t) {
            gap = left.gap;
        } else if (left.gap > s) {
            cs_ps gain = left.gap - s, n = (p->free - left.t + gain - 1) / gain;
            count = n < left.count ? (uint32_t)n : left.count;
        }
        if (start + (cs_ps)(count - 1) * gap >= p->until) {
            count = (uint32_t)((p->until - start - 1) / gap + 1);
        }
        p->free = start + (cs_ps)(count - 1) * gap + s;
        CS_TRY(left.hop == 0 && e->messages[left.message].is_mixed
                   ? leave_mixed(e, link, &left, start, gap, count, s)
                   : leave(e, link, &left, start, gap, count, s));
        left.t += count * left.gap;
        left.count -= count;
        left.path += left.hop == 0 ? count : 0;
    }
    return CS_OK;
}

/* ---- the order at a port ---- */

static inline bool is_later(const arrival *a, const arrival *b)
{
    return a->t > b->t || (a->t == b->t && a->in > b->in);
}

static bool are_sorted(const arrivals *list)
{
    for (size_t i = 1; i < list->n; i++) {
        if (is_later(&list->all[i - 1], &list->all[i])) {
            return false;
        }
    }
    return true;
}

static bool reserve(arrivals *list, size_t more)
{
    return cs_grow(&list->all, &list->capacity, list->n + more, 64, sizeof *list->all);
}

static void insert(arrivals *list)
{
    for (size_t i = 1; i < list->n; i++) {
        arrival moved = list->all[i];
        size_t  at    = i;
        for (; at > 0 && is_later(&list->all[at - 1], &moved); at--) {
            list->all[at] = list->all[at - 1];
        }
        list->all[at] = moved;
    }
}

/* Sort, those of one time and link in the order in which they are: a bucket for about each one,
 * then insertion, which has little left to do. */
static cs_status sort(engine *e, arrivals *list)
{
    cs_ps least = CS_PS_NEVER, most = 0;

    e->scratch.n = 0;
    if (are_sorted(list)) {
        return CS_OK;
    }
    if (!reserve(&e->scratch, list->n) ||
        !cs_grow(&e->slots, &e->n_slots, 2 * list->n + 2, 64, sizeof *e->slots)) {
        return CS_ENOMEM;
    }
    for (size_t i = 0; i < list->n; i++) {
        least = list->all[i].t < least ? list->all[i].t : least;
        most  = list->all[i].t > most ? list->all[i].t : most;
    }
    unsigned shift = 0;
    while ((size_t)((most - least) >> shift) > 2 * list->n) {
        shift++;
    }
    size_t n_slots = (size_t)((most - least) >> shift) + 1;
    memset(e->slots, 0, n_slots * sizeof *e->slots);
    for (size_t i = 0; i < list->n; i++) {
        e->slots[(list->all[i].t - least) >> shift]++;
    }
    uint32_t before = 0;
    for (size_t s = 0; s < n_slots; s++) {
        uint32_t here = e->slots[s];
        e->slots[s]   = before;
        before += here;
    }
    for (size_t i = 0; i < list->n; i++) {
        e->scratch.all[e->slots[(list->all[i].t - least) >> shift]++] = list->all[i];
    }
    arrivals sorted = {e->scratch.all, list->n, e->scratch.capacity};
    e->scratch      = (arrivals){list->all, 0, list->capacity};
    *list           = sorted;
    insert(list);
    return CS_OK;
}

/* Take a run apart. */
static bool expand(arrivals *packets, const cs_arriving *from, uint32_t number)
{
    const cs_run *r = &from->run;

    if (!reserve(packets, r->count)) {
        return false;
    }
    arrival *to = packets->all + packets->n;
    for (uint32_t k = 0; k < r->count; k++) {
        to[k] = (arrival){r->t + (cs_ps)k * r->gap, from->in, number};
    }
    packets->n += r->count;
    return true;
}

/* Serve the packets that runs of an inbox were taken apart into. */
static cs_status serve_packets(engine *e, uint32_t link)
{
    port              *p   = &e->ports[link];
    const cs_arriving *all = p->inbox.runs;

    CS_TRY(sort(e, &e->packets));
    for (size_t i = 0; i < e->packets.n; i++) {
        const arrival *a     = &e->packets.all[i];
        const cs_run  *r     = &all[a->run].run;
        cs_ps          start = a->t > p->free ? a->t : p->free;
        cs_ps          s     = service_at(e, link, r->bytes, start);
        p->free              = start + s;
        if (e->net->counters != NULL) {
            cs_counters_come(e->net->counters, link, a->t, 0, 1, r->bytes);
        }
        CS_TRY(leave(e, link, r, start, 0, 1, s));
    }
    e->packets.n = 0;
    return CS_OK;
}

/* Serve runs of an inbox, some of which meet. */
static cs_status serve_trains(engine *e, uint32_t link)
{
    const cs_inbox *inbox = &e->ports[link].inbox;
    arrivals       *runs  = &e->runs;

    runs->n = 0;
    if (!reserve(runs, inbox->n)) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < inbox->n; i++) {
        runs->all[runs->n++] = (arrival){inbox->runs[i].run.t, inbox->runs[i].in, i};
    }
    CS_TRY(sort(e, runs));
    for (size_t i = 0, next; i < runs->n; i = next) {
        arrival last = runs->all[i];
        last.t       = cs_run_last(&inbox->runs[last.run].run);
        for (next = i + 1; next < runs->n && is_later(&last, &runs->all[next]); next++) {
            arrival other = runs->all[next];
            other.t       = cs_run_last(&inbox->runs[other.run].run);
            last          = is_later(&other, &last) ? other : last;
        }
        if (next == i + 1) {
            CS_TRY(serve(e, link, &inbox->runs[runs->all[i].run].run));
            continue;
        }
        for (; i < next; i++) {
            uint32_t number = runs->all[i].run;
            if (!expand(&e->packets, &inbox->runs[number], number)) {
                return CS_ENOMEM;
            }
        }
        CS_TRY(serve_packets(e, link));
    }
    return CS_OK;
}

/* Does every run of an inbox end before the next one begins? */
static bool are_apart(const cs_inbox *inbox)
{
    for (uint32_t i = 1; i < inbox->n; i++) {
        const cs_arriving *a = &inbox->runs[i - 1], *b = &inbox->runs[i];
        cs_ps              last = cs_run_last(&a->run);
        if (last > b->run.t || (last == b->run.t && a->in > b->in)) {
            return false;
        }
    }
    return true;
}

/* Serve what came to a port in this window. */
static cs_status serve_inbox(engine *e, uint32_t link)
{
    cs_inbox *inbox = &e->ports[link].inbox;

    if (!e->net->trains) {
        for (uint32_t i = 0; i < inbox->n; i++) {
            if (!expand(&e->packets, &inbox->runs[i], i)) {
                return CS_ENOMEM;
            }
        }
        CS_TRY(serve_packets(e, link));
    } else if (are_apart(inbox)) {
        for (uint32_t i = 0; i < inbox->n; i++) {
            CS_TRY(serve(e, link, &inbox->runs[i].run));
        }
    } else {
        CS_TRY(serve_trains(e, link));
    }
    inbox->n = 0;
    return CS_OK;
}

/* ---- a window ---- */

/* `count` packets of a run that link `in` carries are at the port behind it: from `t` on, on one
 * of the ways of their message. */
static inline cs_status hand_over(engine *e, uint32_t in, const cs_run *r, cs_ps t, cs_ps gap,
                                  uint32_t count, uint32_t path)
{
    uint32_t  next  = way_of(e, r->message, path)[r->hop + 1];
    cs_inbox *inbox = &e->ports[next].inbox;

    if (inbox->n == 0) {
        e->touched[e->n_touched++] = next;
    }
    if (inbox->n == inbox->capacity && cs_inbox_grow(inbox) != CS_OK) {
        return CS_ENOMEM;
    }
    cs_arriving *here = &inbox->runs[inbox->n++];
    here->run         = *r;
    here->run.t       = t;
    here->run.gap     = gap;
    here->run.count   = count;
    here->run.path    = path;
    here->run.hop++;
    here->in = in;
    return CS_OK;
}

/* The same for a sending port: those of one way are a run. */
static cs_status spread(engine *e, uint32_t in, const cs_run *r, uint32_t count)
{
    const message *m = &e->messages[r->message];
    uint32_t       n = m->n_paths;

    for (uint32_t i = 0; i < n && i < count; i++) {
        CS_TRY(hand_over(e, in, r, r->t + (cs_ps)i * r->gap, n * r->gap, (count - i - 1) / n + 1,
                         path_of(m, r->path + i)));
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
                           : hand_over(e, in, r, r->t, r->gap, count, r->path));
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
    cs_free(e->runs.all);
    cs_free(e->packets.all);
    cs_free(e->scratch.all);
    cs_free(e->slots);
    cs_free(e);
}

static cs_status unlimited_open(const cs_packet_net *net, cs_event_queue *ends, void **state_p,
                                cs_error *err)
{
    engine *e = CS_NEW(engine, 1);

    if (e == NULL) {
        return CS_NO_MEMORY(err, "a network of %u links", net->n_links);
    }
    e->net         = net;
    e->ends        = ends;
    e->way_stride  = (size_t)net->max_way + 1;
    e->ways_stride = e->way_stride * net->max_paths;
    e->ports       = CS_NEW(port, net->n_links);
    e->touched     = CS_NEW(uint32_t, net->n_links);
    if (cs_calendar_open(&e->calendar, net->window, net->n_links) != CS_OK || e->ports == NULL ||
        e->touched == NULL) {
        unlimited_close(e);
        return CS_NO_MEMORY(err, "a network of %u links", net->n_links);
    }
    for (uint32_t l = 0; l < net->n_links; l++) {
        e->ports[l].bps = net->links[l].bps;
        change_rate(e, l, -1);
    }
    *state_p = e;
    return CS_OK;
}

/* Keep what is asked of a message later. */
static cs_status keep(engine *e, const cs_packet_message *given, uint32_t n_packets)
{
    size_t n_messages = e->n_messages;

    if (!cs_grow(&e->messages, &n_messages, (size_t)given->number + 1, 64, sizeof *e->messages) ||
        (n_messages > e->n_messages &&
         !cs_resize(&e->ways, n_messages, e->ways_stride * sizeof *e->ways))) {
        return CS_ENOMEM;
    }
    e->n_messages  = n_messages;
    uint32_t *ways = e->ways + given->number * e->ways_stride;
    message  *m    = &e->messages[given->number];
    memcpy(ways, given->ways, given->n_paths * e->way_stride * sizeof *ways);
    *m = (message){.key        = given->key,
                   .end        = -1,
                   .n_missing  = n_packets,
                   .first_path = given->first_path % given->n_paths,
                   .n_paths    = given->n_paths};
    for (uint32_t i = 1; e->net->cut_through_bytes > 0 && i < given->n_paths; i++) {
        m->is_mixed |= cuts_through(e, ways[0], ways[1]) !=
                       cuts_through(e, ways[0], ways[i * e->way_stride + 1]);
    }
    return CS_OK;
}

static cs_status unlimited_send(void *state, const cs_packet_message *given)
{
    engine  *e          = state;
    int64_t  n          = cs_packet_count(given->bytes, given->mtu);
    uint32_t last_bytes = (uint32_t)cs_packet_last_bytes(given->bytes, given->mtu, given->header);
    uint32_t full_bytes = (uint32_t)(given->mtu + given->header);
    bool     is_full    = last_bytes == full_bytes;
    cs_run   run        = {.t       = given->ready,
                           .message = given->number,
                           .count   = (uint32_t)n - (is_full ? 0 : 1),
                           .bytes   = full_bytes & 0xffffff};

    assert(given->ready >= e->calendar.window * e->calendar.width);
    CS_TRY(keep(e, given, (uint32_t)n));
    e->n_packets += (uint64_t)n;
    CS_TRY(serve(e, given->ways[0], &run));
    if (is_full) {
        return CS_OK;
    }
    run.path  = run.count;
    run.count = 1;
    run.bytes = last_bytes & 0xffffff;
    return serve(e, given->ways[0], &run);
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
