/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct port {
    double  free_s;  /* for the next one: to be handed over to, where senders queue */
    double  busy_s;  /* there, a sending port until it has sent what it has */
    double  ended_s; /* ... and any port until all of its messages have ended */
    int64_t group;   /* round of the last SHARED transfer, or -1 */
} port;

typedef struct stopwatch {
    const cs_scenario *s;
    const cs_plan     *plan;
    uint32_t           n, ends, g; /* ends: ranks and switches */
    ct_rules           rules;
    port              *tx, *rx; /* [CS_FABRICS][ends][n] */
    double            *ready_s; /* [ends][n_slots] */
    double             last_s;  /* end of a message so far */
} stopwatch;

static port *port_at(const stopwatch *c, port *ports, uint32_t fabric, uint32_t here,
                     uint32_t there)
{
    bool   is_direct = fabric == CS_NVLINK && c->s->cluster.fabrics[fabric].kind == CS_DIRECT;
    bool   is_switch = here >= c->n; /* it has a port to every GPU */
    size_t peer      = is_switch ? there : is_direct ? there % c->g : 0;

    return &ports[((size_t)fabric * c->ends + here) * c->n + peer];
}

/* Switches are there from the begin. */
static double arrival_of(const stopwatch *c, uint32_t end)
{
    return end < c->n ? cs_arrival(c->s, end) : 0;
}

/* The server of a rank, and its first one. */
static uint32_t server_of(const cs_cluster *c, uint32_t rank)
{
    uint32_t server = 0;

    while (c->uneven != NULL && c->uneven->first[server + 1] <= rank) {
        server++;
    }
    return c->uneven != NULL ? server : rank / c->gpus_per_server;
}

static uint32_t first_of(const cs_cluster *c, uint32_t server)
{
    return c->uneven != NULL ? c->uneven->first[server] : server * c->gpus_per_server;
}

/* What the server of a rank has itself. */
static double own_Bps(const cs_scenario *s, uint32_t fabric, uint32_t rank)
{
    const cs_cluster *c = &s->cluster;

    return c->servers != NULL ? c->servers[server_of(c, rank)].bandwidth_Bps[fabric]
                              : c->fabrics[fabric].bandwidth_Bps;
}

static double rate_Bps(const cs_scenario *s, uint32_t rank, double time_s)
{
    uint32_t server = server_of(&s->cluster, rank);
    double   rate   = own_Bps(s, CS_NIC, rank);

    for (size_t i = 0; i < s->n_capacity; i++) {
        const cs_capacity *f = &s->capacity[i];
        if (server_of(&s->cluster, f->rank) == server && f->from_s <= time_s &&
            time_s < f->until_s) {
            return rate / f->slowdown;
        }
    }
    return rate;
}

/* The first time after `time_s` at which any fault begins or ends. */
static double next_change_s(const cs_scenario *s, double time_s)
{
    double next = (double)INFINITY;

    for (size_t i = 0; i < s->n_capacity; i++) {
        next = s->capacity[i].from_s > time_s ? fmin(next, s->capacity[i].from_s) : next;
        next = s->capacity[i].until_s > time_s ? fmin(next, s->capacity[i].until_s) : next;
    }
    return next;
}

double ct_flow_end_s(const cs_scenario *scenario, uint32_t src, uint32_t dst, double from_s,
                     double bytes)
{
    for (;;) {
        double rate = fmin(rate_Bps(scenario, src, from_s), rate_Bps(scenario, dst, from_s));
        double next = next_change_s(scenario, from_s);

        if (from_s + bytes / rate <= next) {
            return from_s + bytes / rate;
        }
        bytes  = fmax(0, bytes - (next - from_s) * rate);
        from_s = next;
    }
}

static double *ready_at(const stopwatch *c, uint32_t rank, uint32_t slot)
{
    return &c->ready_s[(size_t)rank * c->plan->n_slots + slot];
}

static double data_s(const stopwatch *c, const cs_transfer *t)
{
    bool   exchanges = cs_transfer_op(t) == CS_OP_EXCHANGE;
    double time_s    = arrival_of(c, t->src);

    for (uint32_t k = 0; k < t->span; k++) {
        if ((t->flags & CS_OWN_SRC) == 0) {
            time_s = fmax(time_s, *ready_at(c, t->src, t->src_slot + k));
        }
        if (exchanges && (t->flags & CS_OWN_DST) == 0) {
            time_s = fmax(time_s, *ready_at(c, t->dst, t->dst_slot + k));
        }
    }
    return exchanges ? fmax(time_s, arrival_of(c, t->dst)) : time_s;
}

static void set_ready(const stopwatch *c, const cs_transfer *t, double end_s)
{
    for (uint32_t k = 0; k < t->span; k++) {
        double *there = ready_at(c, t->dst, t->dst_slot + k);
        bool    grows = cs_transfer_op(t) != CS_OP_COPY && (t->flags & CS_OWN_DST) == 0;
        *there        = grows ? fmax(*there, end_s) : end_s;
        if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
            *ready_at(c, t->src, t->src_slot + k) = end_s;
        }
    }
}

/* The parts of one message: how many, their bytes, and when the data of all are there. */
static size_t gather_parts(const stopwatch *c, const cs_transfer *t, size_t left, double *bytes,
                           double *ready_s)
{
    size_t parts = 0;

    *bytes = *ready_s = 0;
    do {
        *bytes += (double)t[parts].bytes;
        *ready_s = fmax(*ready_s, data_s(c, &t[parts]));
        parts++;
    } while (parts < left && (t[parts].flags & CS_JOIN) != 0);
    return parts;
}

/* What is seen of each part: the first has the start-up, then each its share of the bytes. */
static void cut(const cs_transfer *t, size_t parts, cs_interval whole, double flow_s, double bytes,
                cs_interval *intervals)
{
    double sent = 0;

    for (size_t k = 0; k < parts; k++) {
        intervals[k].start_s = k == 0 ? whole.start_s : intervals[k - 1].end_s;
        sent += (double)t[k].bytes;
        double share       = bytes > 0 ? sent / bytes : 1;
        intervals[k].end_s = flow_s + (whole.end_s - flow_s) * share;
    }
    intervals[parts - 1].end_s = whole.end_s;
}

/* The ports of a message: sending and receiving, of an exchange also back. */
typedef struct held {
    port    *ports[4];
    int      count;
    uint32_t fabric;
} held;

static held ports_of(const stopwatch *c, const cs_transfer *t)
{
    bool     is_switch  = t->src >= c->n || t->dst >= c->n;
    bool     is_network = t->src == c->ends - 1 || t->dst == c->ends - 1;
    uint32_t fabric     = is_switch && is_network ? CS_NIC
                          : is_switch             ? CS_NVLINK
                                                  : cs_fabric_of(&c->s->cluster, t->src, t->dst);

    return (held){
        {port_at(c, c->tx, fabric, t->src, t->dst), port_at(c, c->rx, fabric, t->dst, t->src),
         port_at(c, c->tx, fabric, t->dst, t->src), port_at(c, c->rx, fabric, t->src, t->dst)},
        cs_transfer_op(t) == CS_OP_EXCHANGE ? 4 : 2,
        fabric};
}

static int latest_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* When fewer than K of the links of `here` beside that to `there` are held; K is what the cluster
 * says, and without it there is nothing to wait for. */
static double beside_s(const stopwatch *c, port *ports, uint32_t fabric, uint32_t here,
                       uint32_t there)
{
    const cs_cluster *cluster = &c->s->cluster;
    uint32_t          k = cluster->nvlink_concurrent, server = server_of(cluster, here), n = 0;
    double            held_s[CT_MOST_RANKS];

    if (fabric != CS_NVLINK || k == 0) {
        return 0;
    }
    for (uint32_t peer = first_of(cluster, server); peer < first_of(cluster, server + 1); peer++) {
        if (peer != here && peer != there) {
            const port *p = port_at(c, ports, fabric, here, peer);
            held_s[n++]   = fmax(p->free_s, p->ended_s);
        }
    }
    qsort(held_s, n, sizeof *held_s, latest_first);
    return k <= n ? held_s[k - 1] : 0;
}

/* The same for the sending side of a message on its way (or back), and for the receiving side. */
static double beside_tx_s(const stopwatch *c, const cs_transfer *t, uint32_t fabric, bool back)
{
    return beside_s(c, c->tx, fabric, back ? t->dst : t->src, back ? t->src : t->dst);
}

static double beside_rx_s(const stopwatch *c, const cs_transfer *t, uint32_t fabric, bool back)
{
    return beside_s(c, c->rx, fabric, back ? t->src : t->dst, back ? t->dst : t->src);
}

/* What a message pays: the start-up, once for the group, and the gap at every port that has served
 * one of the group. Its first two ports know the group from now on. */
typedef struct dues {
    bool   startup;
    double gap_s[2];
} dues;

static dues pay(const stopwatch *c, const cs_transfer *t, const held *h)
{
    dues d = {true, {0, 0}};

    if ((t->flags & CS_SHARED) != 0) {
        d.startup = false;
        for (int i = 0; i < 2; i++) {
            bool known = h->ports[i]->group == t->round;
            d.startup  = d.startup || !known;
            d.gap_s[i] = known ? c->rules.message_gap_s : 0;

            h->ports[i]->group = t->round;
        }
    }
    return d;
}

static double through_s(const stopwatch *c, const cs_transfer *t, const held *h, double from_s,
                        double bytes)
{
    uint32_t least = t->src < t->dst ? t->src : t->dst, most = t->src < t->dst ? t->dst : t->src;
    uint32_t other = most < c->n ? most : least; /* a switch is as fast as who talks to it */

    return h->fabric == CS_NIC ? ct_flow_end_s(c->s, least, other, from_s, bytes)
                               : from_s + bytes / own_Bps(c->s, h->fabric, least);
}

/* Alpha-beta: all ports together, for alpha and the bytes. Returns when the bytes begin. */
static double hold_ports(const stopwatch *c, const cs_transfer *t, const held *h, double bytes,
                         cs_interval *whole)
{
    for (int i = 0; i < h->count; i++) {
        whole->start_s = fmax(whole->start_s, h->ports[i]->free_s);
    }
    for (int i = 0; i < h->count; i += 2) {
        whole->start_s = fmax(whole->start_s, beside_tx_s(c, t, h->fabric, i > 0));
        whole->start_s = fmax(whole->start_s, beside_rx_s(c, t, h->fabric, i > 0));
    }
    dues   d      = pay(c, t, h);
    double flow_s = whole->start_s + (d.startup ? c->s->cluster.fabrics[h->fabric].alpha_s : 0) +
                    fmax(d.gap_s[0], d.gap_s[1]);
    whole->end_s = through_s(c, t, h, flow_s, bytes);
    for (int i = 0; i < h->count; i++) {
        h->ports[i]->free_s = whole->end_s;
    }
    return flow_s;
}

/* Senders queue: the message is handed over when its sending ports have been handed what stands
 * before it, and begins when they have sent that. */
static double hand_over(const stopwatch *c, const cs_transfer *t, const held *h, double bytes,
                        cs_interval *whole)
{
    double begin_s = 0;

    for (int i = 0; i < h->count; i++) {
        whole->start_s = fmax(whole->start_s, h->ports[i]->free_s);
        begin_s        = fmax(begin_s, h->ports[i]->busy_s);
    }
    for (int i = 0; i < h->count; i += 2) {
        whole->start_s = fmax(whole->start_s, beside_tx_s(c, t, h->fabric, i > 0));
        whole->start_s = fmax(whole->start_s, beside_rx_s(c, t, h->fabric, i > 0));
    }
    dues   d = pay(c, t, h);
    double due_s =
        (d.startup ? c->s->cluster.fabrics[h->fabric].alpha_s : 0) + fmax(d.gap_s[0], d.gap_s[1]);
    double sent_s = through_s(c, t, h, fmax(begin_s, whole->start_s) + due_s, bytes);
    whole->end_s  = sent_s + c->rules.latency_s;
    for (int i = 0; i < h->count; i += 2) {
        h->ports[i]->free_s = whole->start_s;
        h->ports[i]->busy_s = sent_s;
        if (!c->rules.shares_receivers) {
            h->ports[i + 1]->free_s = whole->end_s;
        }
        h->ports[i]->ended_s     = fmax(h->ports[i]->ended_s, whole->end_s);
        h->ports[i + 1]->ended_s = fmax(h->ports[i + 1]->ended_s, whole->end_s);
    }
    return whole->start_s + due_s;
}

/* LogGP: sending and receiving ports each in its own time, every direction by itself. */
static void hold_loggp(const stopwatch *c, const cs_transfer *t, const held *h, double bytes,
                       cs_interval *whole)
{
    double latency_s = c->s->cluster.fabrics[h->fabric].alpha_s - 2 * c->rules.overhead_s;

    for (int i = 0; i < h->count; i += 2) {
        whole->start_s = fmax(whole->start_s, h->ports[i]->free_s);
        whole->start_s = fmax(whole->start_s, beside_tx_s(c, t, h->fabric, i > 0));
    }
    dues   d      = pay(c, t, h);
    double busy_s = d.startup ? c->rules.overhead_s : 0;
    for (int i = 0; i < h->count; i += 2) {
        double leave_s = whole->start_s + d.gap_s[0] + busy_s;
        double open_s  = fmax(h->ports[i + 1]->free_s, beside_rx_s(c, t, h->fabric, i > 0));
        double first_s = fmax(leave_s + latency_s, open_s + d.gap_s[1]);
        double end_s   = through_s(c, t, h, first_s, bytes) + busy_s;
        h->ports[i]->free_s =
            fmax(through_s(c, t, h, leave_s, bytes), whole->start_s + c->rules.gap_s);
        h->ports[i + 1]->free_s = fmax(end_s, first_s + c->rules.gap_s);
        whole->end_s            = fmax(whole->end_s, end_s);
    }
}

/* One message; returns its number of parts. */
static size_t serve(stopwatch *c, const cs_transfer *t, size_t left, cs_interval *intervals)
{
    held        h     = ports_of(c, t);
    cs_interval whole = {0, 0};
    double      bytes;
    size_t      parts  = gather_parts(c, t, left, &bytes, &whole.start_s);
    double      flow_s = 0;

    if (c->rules.is_loggp) {
        hold_loggp(c, t, &h, bytes, &whole);
        flow_s = whole.start_s;
    } else if (c->rules.queues_senders) {
        flow_s = hand_over(c, t, &h, bytes, &whole);
    } else {
        flow_s = hold_ports(c, t, &h, bytes, &whole);
    }
    for (size_t k = 0; k < parts; k++) {
        set_ready(c, &t[k], whole.end_s);
    }
    c->last_s = fmax(c->last_s, whole.end_s);
    cut(t, parts, whole, flow_s, bytes, intervals);
    return parts;
}

/* Nobody but `except` goes on before all of them have come and all messages have ended. */
static void wait_at(const stopwatch *c, ct_fence fence)
{
    double latest = c->last_s;

    for (uint32_t r = 0; r < c->n; r++) {
        latest = r == fence.except ? latest : fmax(latest, cs_arrival(c->s, r));
    }
    for (size_t i = 0; i < (size_t)CS_FABRICS * c->ends * c->n; i++) {
        if (i / c->n % c->ends != fence.except) {
            c->tx[i].free_s = fmax(c->tx[i].free_s, latest + fence.cost_s);
            c->rx[i].free_s = fmax(c->rx[i].free_s, latest + fence.cost_s);
        }
    }
}

static void open_clock(stopwatch *c)
{
    size_t ports = (size_t)CS_FABRICS * c->ends * c->n;

    c->tx      = calloc(ports, sizeof *c->tx);
    c->rx      = calloc(ports, sizeof *c->rx);
    c->ready_s = calloc((size_t)c->ends * c->plan->n_slots, sizeof *c->ready_s);
    cr_assert(c->tx != NULL && c->rx != NULL && c->ready_s != NULL);
    for (size_t i = 0; i < ports; i++) {
        c->tx[i] = c->rx[i] = (port){arrival_of(c, (uint32_t)(i / c->n % c->ends)), 0, 0, -1};
    }
}

ct_times ct_reference(const cs_scenario *scenario, const cs_plan *plan, const ct_stream *stream,
                      ct_rules rules)
{
    stopwatch c     = {.s     = scenario,
                       .plan  = plan,
                       .n     = scenario->cluster.n_ranks,
                       .ends  = cs_plan_ends(plan, &scenario->cluster),
                       .g     = scenario->cluster.gpus_per_server,
                       .rules = rules};
    ct_times  times = {.intervals = calloc(stream->count + 1, sizeof *times.intervals)};

    cr_assert_not_null(times.intervals);
    open_clock(&c);
    for (size_t i = 0; i < stream->count;) {
        if ((stream->transfers[i].flags & CS_FENCE) != 0) {
            wait_at(&c, stream->fences[i]);
        }
        i += serve(&c, &stream->transfers[i], stream->count - i, &times.intervals[i]);
    }
    times.end_s = fmax(c.last_s, cs_last_arrival(scenario));
    free(c.tx);
    free(c.rx);
    free(c.ready_s);
    return times;
}

ct_rules ct_rules_random(const cs_cluster *cluster, ct_rng *rng, bool is_loggp)
{
    double least_s = (double)INFINITY, most_s = 0;

    for (uint32_t f = 0; f < cs_n_fabrics(cluster); f++) {
        least_s = fmin(least_s, cluster->fabrics[f].alpha_s);
        most_s  = fmax(most_s, cluster->fabrics[f].alpha_s);
    }
    return (ct_rules){.is_loggp      = is_loggp,
                      .overhead_s    = ct_below(rng, 3) * ct_uniform(rng, 0, 0.25) * least_s,
                      .gap_s         = ct_below(rng, 3) * ct_uniform(rng, 0, 20 * least_s + 1e-5),
                      .message_gap_s = ct_below(rng, 3) * ct_uniform(rng, 0, 2 * most_s + 1e-6)};
}

static void set_option(ct_model *m, const char *key, double value)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%.17g", value);
    cr_assert_eq(cs_field_set(m->model->options, &m->options, key, text, key, NULL), CS_OK);
}

ct_model ct_model_of(const ct_rules *rules)
{
    ct_model m = {0};

    cr_assert_eq(cs_model_find(rules->is_loggp ? "loggp" : "alpha-beta", &m.model, NULL), CS_OK);
    cs_fields_default(m.model->options, &m.options);
    set_option(&m, "message_gap_s", rules->message_gap_s);
    if (rules->is_loggp) {
        set_option(&m, "overhead_s", rules->overhead_s);
        set_option(&m, "gap_s", rules->gap_s);
    }
    return m;
}

bool ct_same_interval(cs_interval a, cs_interval b, double elapsed_s)
{
    double rounding_s = 1e-12 * elapsed_s;

    return (ct_is_close(a.start_s, b.start_s, 1e-11) || fabs(a.start_s - b.start_s) < rounding_s) &&
           (ct_is_close(a.end_s, b.end_s, 1e-11) || fabs(a.end_s - b.end_s) < rounding_s);
}

void ct_times_free(ct_times *times)
{
    free(times->intervals);
    *times = (ct_times){0};
}
