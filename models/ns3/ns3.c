/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ns3 model: the packets of the model packet, carried by ns-3.
 *
 * ns-3 runs in a child process (models/lib/talk.h, models/ns3/child.cc), one per replay. To the
 * driver of the packet model it is one more engine: what the ports of a scenario and a message are
 * in links and packets is decided there, the same for both. The engine sends a message there when
 * it is handed over, and lets ns-3 go on until one ends.
 *
 * Left out: what packet leaves out, cut-through, pauses, DCQCN.
 */
#include "base/alloc.h"
#include "models/lib/talk.h"
#include "models/ns3/protocol.h"
#include "models/packet/drive.h"
#include "models/packet/packet.h"

#include <stdio.h>

#define PROGRAM "collsim-ns3"
#define MISSING CS_TALK_MISSING(PROGRAM, "libns3-dev")

typedef struct cs_ns3_options {
    cs_packet_options packet;
    uint32_t          ecn_kmax_bytes;
    int               mode; /* cs_ns3_mode */
} cs_ns3_options;

_Static_assert(offsetof(cs_ns3_options, packet) == 0, "the rows of the net count from there");

static const cs_field ns3_table[] = {
    CS_PACKET_ROWS(cs_packet_options),
    CS_OPTION_CHOICE(cs_ns3_options, mode, "raw|udp|tcp",
                     "what carries packets: links and queues alone, as in the packet model, or "
                     "IPv4 with UDP or TCP (DCTCP)"),
    CS_OPTION_AUTO(cs_ns3_options, ecn_kmax_bytes, 0, 4e9,
                   "mode=tcp: bytes waiting at a switch's port above which it marks packets; auto: "
                   "a seventh of the bandwidth-delay product, at least 20 packets; 0: no marks"),
    CS_FIELD_END,
};

/* ---- the engine ---- */

typedef struct ns3_engine {
    const cs_packet_net *net;
    cs_event_queue      *ends;
    cs_ns3_mode          mode;
    cs_talk              talk;
    uint64_t            *keys; /* owned [capacity]: of messages, by number; NONE: not there */
    size_t               capacity;
    uint32_t            *ended; /* owned [ended_capacity] */
    size_t               ended_capacity;
    uint32_t            *links; /* owned [links_capacity]: the ways of one message */
    size_t               links_capacity;
    uint32_t             n_there;
    cs_ns3_event         event; /* the last that was heard */
    char                 why[300];
} ns3_engine;

#define NONE UINT64_MAX

static void ns3_close(void *state)
{
    ns3_engine *e = state;

    if (e != NULL) {
        cs_talk_close(&e->talk);
        cs_free(e->keys);
        cs_free(e->ended);
        cs_free(e->links);
        cs_free(e);
    }
}

/* Switches and hosts: without stacks it only matters where packets begin. */
static cs_ns3_link link_of(const ns3_engine *e, uint32_t number)
{
    const cs_packet_link *l    = &e->net->links[number];
    cs_ns3_link           link = {l->bps, l->delay, l->from, l->to};

    if (e->mode == CS_NS3_RAW) {
        link.from = number < e->net->n_senders ? number : CS_NS3_SWITCH;
        link.to   = CS_NS3_SWITCH;
    }
    return link;
}

static uint32_t n_hosts(const ns3_engine *e)
{
    uint32_t n = e->mode == CS_NS3_RAW ? e->net->n_senders : 0;

    for (uint32_t l = 0; l < e->net->n_links && e->mode != CS_NS3_RAW; l++) {
        uint32_t from = e->net->links[l].from, to = e->net->links[l].to;
        n = from != CS_NO_RANK && from >= n ? from + 1 : n;
        n = to != CS_NO_RANK && to >= n ? to + 1 : n;
    }
    return n;
}

/* The network and how it changes. */
static cs_status put_net(ns3_engine *e)
{
    const cs_packet_net *net  = e->net;
    cs_ns3_open          open = {.version     = CS_NS3_VERSION,
                                 .mode        = (uint32_t)e->mode,
                                 .n_links     = net->n_links,
                                 .n_hosts     = n_hosts(e),
                                 .queue_bytes = net->queue_bytes,
                                 .mark_bytes  = net->transport.kmax};

    for (uint32_t l = 0; l < net->n_links; l++) {
        open.n_changes += net->links[l].n_changes;
    }
    CS_TRY(cs_talk_put(&e->talk, &open, sizeof open));
    for (uint32_t l = 0; l < net->n_links; l++) {
        cs_ns3_link link = link_of(e, l);
        CS_TRY(cs_talk_put(&e->talk, &link, sizeof link));
    }
    for (uint32_t l = 0; l < net->n_links; l++) {
        for (uint32_t i = 0; i < net->links[l].n_changes; i++) {
            cs_packet_change change = net->links[l].changes[i];
            cs_ns3_change    told   = {.time_ps = change.time, .bps = change.bps, .link = l};
            CS_TRY(cs_talk_put(&e->talk, &told, sizeof told));
        }
    }
    return CS_OK;
}

static cs_status open_engine(cs_ns3_mode mode, const cs_packet_net *net, cs_event_queue *ends,
                             void **state_p, cs_error *err)
{
    ns3_engine *e      = CS_NEW(ns3_engine, 1);
    cs_status   status = CS_OK;

    if (e == NULL) {
        return CS_NO_MEMORY(err, "the links");
    }
    *e     = (ns3_engine){.net = net, .ends = ends, .mode = mode};
    status = cs_talk_start(&e->talk, PROGRAM, MISSING, err);
    if (status == CS_OK) {
        status = put_net(e) == CS_OK ? cs_talk_open(&e->talk, err) : CS_NO_MEMORY(err, "the links");
    }
    if (status != CS_OK) {
        ns3_close(e);
        return status;
    }
    *state_p = e;
    return CS_OK;
}

static cs_status open_raw(const cs_packet_net *net, cs_event_queue *ends, void **state_p,
                          cs_error *err)
{
    return open_engine(CS_NS3_RAW, net, ends, state_p, err);
}

static cs_status open_udp(const cs_packet_net *net, cs_event_queue *ends, void **state_p,
                          cs_error *err)
{
    return open_engine(CS_NS3_UDP, net, ends, state_p, err);
}

static cs_status open_tcp(const cs_packet_net *net, cs_event_queue *ends, void **state_p,
                          cs_error *err)
{
    return open_engine(CS_NS3_TCP, net, ends, state_p, err);
}

static cs_status reserve(ns3_engine *e, uint32_t number)
{
    size_t had = e->capacity;

    if (number < had) {
        return CS_OK;
    }
    if (!cs_grow(&e->keys, &e->capacity, (size_t)number + 1, 256, sizeof *e->keys)) {
        return CS_ENOMEM;
    }
    for (size_t i = had; i < e->capacity; i++) {
        e->keys[i] = NONE;
    }
    return CS_OK;
}

/* Add a way and its end to `links`. */
static cs_status list_way(ns3_engine *e, const uint32_t *way, size_t *n_p)
{
    uint32_t n = 0;

    while (way[n] != CS_NO_LINK) {
        n++;
    }
    if (!cs_grow(&e->links, &e->links_capacity, *n_p + n + 1, 64, sizeof *e->links)) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i <= n; i++) {
        e->links[*n_p + i] = i < n ? way[i] : CS_NS3_END;
    }
    *n_p += n + 1;
    return CS_OK;
}

static cs_status ns3_send(void *state, const cs_packet_message *m)
{
    ns3_engine *e       = state;
    size_t      n_links = 0;

    CS_TRY(reserve(e, m->number));
    for (uint32_t i = 0; i < m->n_paths; i++) {
        CS_TRY(list_way(e, m->ways + (size_t)i * (e->net->max_way + 1), &n_links));
    }
    if (e->mode == CS_NS3_TCP) {
        CS_TRY(list_way(e, m->back, &n_links));
    }
    const cs_ns3_message told = {.begin_ps   = m->ready,
                                 .bytes      = m->bytes,
                                 .mtu        = (uint32_t)m->mtu,
                                 .header     = (uint32_t)m->header,
                                 .number     = m->number,
                                 .n_paths    = m->n_paths,
                                 .first_path = m->n_paths > 1 ? m->first_path % m->n_paths : 0,
                                 .n_links    = (uint32_t)n_links};
    CS_TRY(cs_talk_add(&e->talk, &told, sizeof told, e->links, n_links * sizeof *e->links));
    e->keys[m->number] = m->key;
    e->n_there++;
    return CS_OK;
}

static cs_status take_ended(ns3_engine *e)
{
    for (uint32_t i = 0; i < e->event.n_ended; i++) {
        uint32_t number = e->ended[i];
        if (number >= e->capacity || e->keys[number] == NONE) {
            return cs_talk_fail(&e->talk, "a message ended that was not there");
        }
        CS_TRY(cs_events_put(e->ends, (double)e->event.now_ps, e->keys[number]));
        e->keys[number] = NONE;
        e->n_there--;
    }
    return CS_OK;
}

/* Is it as the protocol says, after the event before? */
static bool is_clear(const ns3_engine *e, const cs_ns3_event *event, cs_ps horizon, size_t n_more)
{
    const cs_ns3_event *last = &e->event;

    return event->now_ps >= last->now_ps && event->now_ps <= horizon &&
           event->n_ended <= e->n_there && n_more == event->n_ended * sizeof *e->ended &&
           event->n_lost <= e->n_there && event->packets >= last->packets &&
           event->drops >= last->drops && event->worst_drops <= event->drops &&
           event->worst_link < e->net->n_links &&
           (event->n_ended > 0 || event->is_idle || event->now_ps == horizon);
}

static cs_status ns3_run(void *state, cs_ps horizon)
{
    ns3_engine      *e      = state;
    const cs_ns3_run run    = {horizon > e->event.now_ps ? horizon : e->event.now_ps};
    cs_ns3_event     event  = {0};
    size_t           n_more = 0;

    /* What it has done is certain up to the first end. */
    if (cs_events_next_s(e->ends) <= (double)run.horizon_ps) {
        return CS_OK;
    }
    CS_TRY(cs_talk_run(&e->talk, &run, sizeof run, &event, sizeof event, &n_more));
    if (!is_clear(e, &event, run.horizon_ps, n_more)) {
        return cs_talk_fail_senseless(&e->talk);
    }
    if (!cs_grow(&e->ended, &e->ended_capacity, event.n_ended, 64, sizeof *e->ended)) {
        return CS_ENOMEM;
    }
    CS_TRY(cs_talk_hear(&e->talk, e->ended, n_more));
    e->event = event;
    return take_ended(e);
}

static bool ns3_is_idle(const void *state)
{
    return ((const ns3_engine *)state)->event.is_idle != 0;
}

/* Where packets were lost that nobody sends again. */
static void tell_losses(ns3_engine *e)
{
    const cs_ns3_event *event    = &e->event;
    char                most[80] = "", name[64];

    cs_packet_link_text(e->net, event->worst_link, name, sizeof name);
    if (event->worst_drops < event->drops) {
        (void)snprintf(most, sizeof most, "several links, most (%llu) at ",
                       (unsigned long long)event->worst_drops);
    }
    (void)snprintf(e->why, sizeof e->why,
                   "%llu packet%s of %u message%s lost at %s%s: give mode=tcp or a larger "
                   "queue_bytes",
                   (unsigned long long)event->drops, event->drops == 1 ? "" : "s", event->n_lost,
                   event->drops == 1    ? " was"
                   : event->n_lost == 1 ? " were"
                                        : "s were",
                   most, name);
}

static const char *ns3_why(void *state)
{
    ns3_engine *e = state;

    if (e->talk.has_failed) {
        return e->talk.why;
    }
    if (e->event.n_lost > 0) {
        tell_losses(e);
    } else {
        (void)snprintf(e->why, sizeof e->why, PROGRAM ": %u messages never end", e->n_there);
    }
    return e->why;
}

static void ns3_count(const void *state, cs_packet_totals *totals)
{
    const ns3_engine *e = state;
    *totals             = (cs_packet_totals){.packets = e->event.packets, .drops = e->event.drops};
}

#define ENGINE(name_, open_)                                                           \
    {                                                                                  \
        .name = (name_), .open = (open_), .send = ns3_send, .run = ns3_run,            \
        .is_idle = ns3_is_idle, .why = ns3_why, .count = ns3_count, .close = ns3_close \
    }
const cs_packet_engine        cs_packet_ns3 = ENGINE("ns3", open_raw);
static const cs_packet_engine udp           = ENGINE("ns3 with UDP", open_udp);
static const cs_packet_engine tcp           = ENGINE("ns3 with TCP", open_tcp);

/* ---- the model ---- */

/* DCTCP: K > bandwidth * round trip / 7 (Alizadeh et al., SIGCOMM 2010, section 3.4); the delays of
 * the longest way there and back. */
static int64_t mark_bytes(const cs_packet_net *net, const cs_ns3_options *o)
{
    int64_t packet  = (int64_t)o->packet.mtu_bytes + o->packet.header_bytes;
    cs_ps   longest = 0;
    int64_t bps     = 0;

    if (o->ecn_kmax_bytes != CS_AUTO) {
        return o->ecn_kmax_bytes;
    }
    for (uint32_t l = 0; l < net->n_links; l++) {
        longest = net->links[l].delay > longest ? net->links[l].delay : longest;
        bps     = net->links[l].high_bps > bps ? net->links[l].high_bps : bps;
    }
    double  round_trip_s = 2e-12 * (double)longest * net->max_way;
    int64_t seventh      = (int64_t)((double)bps / 8 * round_trip_s / 7);
    return seventh > 20 * packet ? seventh : 20 * packet;
}

static cs_status choose(cs_packet_ports *ports, const void *options,
                        const cs_packet_engine **engine_p, cs_error *err)
{
    static const cs_packet_engine *const engines[] = {&cs_packet_ns3, &udp, &tcp};
    const cs_ns3_options                *o         = options;

    (void)err;
    if (o->mode == CS_NS3_TCP) {
        ports->net.transport.kmax = mark_bytes(&ports->net, o);
        ports->wants_back         = true;
    }
    *engine_p = engines[o->mode];
    return CS_OK;
}

static cs_status ns3_open(const cs_ports *ports, const void *options, void **state_p, cs_error *err)
{
    return cs_packet_open(ports, options, choose, state_p, err);
}

static const char *ns3_missing(void)
{
    return cs_talk_finds(PROGRAM) ? NULL : MISSING;
}

/* Headers that ns-3 writes itself are part of those that were asked for. */
static cs_status check_packet(const char *key, uint32_t mtu, uint32_t header, int mode,
                              cs_error *err)
{
    uint32_t least = mode == CS_NS3_RAW ? CS_NS3_PPP_BYTES : CS_NS3_UDP_BYTES;

    if (header < least) {
        return CS_FAIL(err, CS_EINVAL, key,
                       "%u bytes: ns-3 has headers of %u bytes itself, accepted is that and above",
                       header, least);
    }
    if (mode != CS_NS3_RAW && mtu + header > CS_NS3_MAX_STACK_BYTES) {
        return CS_FAIL(err, CS_EINVAL, key,
                       "packets of %u + %u bytes: accepted are at most %d together with IPv4", mtu,
                       header, CS_NS3_MAX_STACK_BYTES);
    }
    return CS_OK;
}

static cs_status ns3_check(const cs_scenario *scenario, const void *options, cs_error *err)
{
    const cs_ns3_options    *o       = options;
    const cs_packet_options *p       = &o->packet;
    const char              *missing = ns3_missing();

    if (missing != NULL) {
        return CS_FAIL(err, CS_EMISSING, "model", "%s", missing);
    }
    CS_TRY(cs_packet_check(scenario, p, err));
    CS_TRY(check_packet("header_bytes", p->mtu_bytes, p->header_bytes, o->mode, err));
    CS_TRY(check_packet("nvlink_header_bytes", p->nvlink_mtu_bytes, p->nvlink_header_bytes, o->mode,
                        err));
    if (p->queue_bytes > UINT32_MAX) {
        return CS_FAIL(err, CS_EINVAL, "queue_bytes", "%llu: ns-3's queues hold at most 2^32 - 1",
                       (unsigned long long)p->queue_bytes);
    }
    if (o->mode == CS_NS3_TCP && p->paths == CS_PATHS_SPRAY) {
        return CS_FAIL(err, CS_EINVAL, "paths",
                       "spray with mode=tcp, which takes packets out of order for lost ones: "
                       "accepted are static and hash");
    }
    return CS_OK;
}

/* The same packets without ns-3: of mode=raw to the picosecond. Of UDP and TCP that is all which
 * forecasts count: not what they send beside, nor what queues lose, which have no limit then. */
static const cs_model *ns3_forecasts_by(const void *options, cs_options *theirs)
{
    const cs_ns3_options    *o = options;
    cs_packet_model_options *p = (cs_packet_model_options *)theirs;

    if (o->mode == CS_NS3_RAW && o->packet.queue_bytes > 0) {
        return NULL;
    }
    cs_fields_default(cs_model_packet.options, theirs);
    p->net             = o->packet;
    p->net.queue_bytes = 0;
    p->net.trains      = true;
    return &cs_model_packet;
}

/* ns-3 has no pauses, and says neither what it marks nor what it sends again. */
static void ns3_counts(const void *state, cs_counts *counts_p)
{
    cs_packet_counts(state, counts_p);
    counts_p->pauses = counts_p->marks = counts_p->resent = CS_NO_COUNT;
}

static const cs_network ns3_network = {
    .is_foreign       = true,
    .shares_receivers = cs_packet_queues,
    .queues_senders   = cs_packet_queues,
    .open             = ns3_open,
    .inject           = cs_packet_inject,
    .next             = cs_packet_next,
    .advance          = cs_packet_advance,
    .count            = ns3_counts,
    .why              = cs_packet_why,
    .close            = cs_packet_close,
};

const cs_model cs_model_ns3 = {
    .name    = "ns3",
    .summary = "the packets of the model packet carried by ns-3, in a process of its own; leaves "
               "out cut-through, pauses, DCQCN, adaptive routing, what hosts spend on a packet",
    .source  = "G. Riley, T. Henderson, The ns-3 Network Simulator, in: Modeling and Tools for "
               "Network Simulation (2010); ns-3.37",
    .options = ns3_table,
    .options_bytes = sizeof(cs_ns3_options),
    .check         = ns3_check,
    .missing       = ns3_missing,
    .network       = &ns3_network,
    .latency_s     = cs_packet_latency_s,
    .message_cost  = cs_packet_message_cost,
    .forecasts_by  = ns3_forecasts_by,
};
