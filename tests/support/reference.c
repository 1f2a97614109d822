/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A second opinion on times: see reference.h. */
#include "support/reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

typedef struct port {
    double  free_s;
    int64_t group; /* round of the last SHARED transfer, or -1 */
} port;

typedef struct stopwatch {
    const cs_scenario *s;
    const cs_plan     *plan;
    uint32_t           n, g;
    port              *tx, *rx; /* [CS_FABRICS][n][g] */
    double            *ready_s; /* [n][n_slots] */
} stopwatch;

static port *port_at(const stopwatch *c, port *ports, uint32_t fabric, uint32_t here,
                     uint32_t there)
{
    bool   is_direct = fabric == CS_NVLINK && c->s->cluster.fabrics[fabric].kind == CS_DIRECT;
    size_t peer      = is_direct ? there % c->g : 0;

    return &ports[((size_t)fabric * c->n + here) * c->g + peer];
}

static double rate_Bps(const cs_scenario *s, uint32_t rank, double time_s)
{
    uint32_t g    = s->cluster.gpus_per_server;
    double   rate = s->cluster.fabrics[CS_NIC].bandwidth_Bps;

    for (size_t i = 0; i < s->n_faults; i++) {
        const cs_fault *f = &s->faults[i];
        if (f->rank / g == rank / g && f->from_s <= time_s && time_s < f->until_s) {
            return rate / f->slow_ratio;
        }
    }
    return rate;
}

/* The first time after `time_s` at which any fault begins or ends. */
static double next_change_s(const cs_scenario *s, double time_s)
{
    double next = (double)INFINITY;

    for (size_t i = 0; i < s->n_faults; i++) {
        next = s->faults[i].from_s > time_s ? fmin(next, s->faults[i].from_s) : next;
        next = s->faults[i].until_s > time_s ? fmin(next, s->faults[i].until_s) : next;
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
    double time_s    = cs_arrival(c->s, t->src);

    for (uint32_t k = 0; k < t->span; k++) {
        if ((t->flags & CS_OWN_SRC) == 0) {
            time_s = fmax(time_s, *ready_at(c, t->src, t->src_slot + k));
        }
        if (exchanges && (t->flags & CS_OWN_DST) == 0) {
            time_s = fmax(time_s, *ready_at(c, t->dst, t->dst_slot + k));
        }
    }
    return exchanges ? fmax(time_s, cs_arrival(c->s, t->dst)) : time_s;
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
        double share       = bytes > 0 ? sent / bytes : 0;
        intervals[k].end_s = flow_s + (whole.end_s - flow_s) * share;
    }
    intervals[parts - 1].end_s = whole.end_s;
}

/* One message; returns its number of parts. */
static size_t serve(const stopwatch *c, const cs_transfer *t, size_t left, cs_interval *intervals)
{
    uint32_t fabric    = cs_fabric_of(&c->s->cluster, t->src, t->dst);
    bool     exchanges = cs_transfer_op(t) == CS_OP_EXCHANGE, pays = true;
    port    *held[4] = {
           port_at(c, c->tx, fabric, t->src, t->dst), port_at(c, c->rx, fabric, t->dst, t->src),
           port_at(c, c->tx, fabric, t->dst, t->src), port_at(c, c->rx, fabric, t->src, t->dst)};
    int    n_held = exchanges ? 4 : 2;
    double bytes, start;
    size_t parts = gather_parts(c, t, left, &bytes, &start);

    for (int i = 0; i < n_held; i++) {
        start = fmax(start, held[i]->free_s);
    }
    if ((t->flags & CS_SHARED) != 0) {
        pays           = held[0]->group != t->round || held[1]->group != t->round;
        held[0]->group = held[1]->group = t->round;
    }
    const cs_fabric *f    = &c->s->cluster.fabrics[fabric];
    double           flow = start + (pays ? f->alpha_s : 0);
    double           end  = fabric == CS_NIC ? ct_flow_end_s(c->s, t->src, t->dst, flow, bytes)
                                             : flow + bytes / f->bandwidth_Bps;
    for (int i = 0; i < n_held; i++) {
        held[i]->free_s = end;
    }
    for (size_t k = 0; k < parts; k++) {
        set_ready(c, &t[k], end);
    }
    cut(t, parts, (cs_interval){start, end}, flow, bytes, intervals);
    return parts;
}

/* Nobody but `except` goes on before all of them are free. */
static void wait_at(const stopwatch *c, ct_fence fence)
{
    double latest = 0;

    for (int sets = 0; sets < 2; sets++) {
        for (size_t i = 0; i < (size_t)CS_FABRICS * c->n * c->g; i++) {
            bool waits = i / c->g % c->n != fence.except;
            if (waits && sets == 0) {
                latest = fmax(latest, fmax(c->tx[i].free_s, c->rx[i].free_s));
            } else if (waits) {
                c->tx[i].free_s = c->rx[i].free_s = latest + fence.cost_s;
            }
        }
    }
}

static void open_clock(stopwatch *c)
{
    size_t ports = (size_t)CS_FABRICS * c->n * c->g;

    c->tx      = calloc(ports, sizeof *c->tx);
    c->rx      = calloc(ports, sizeof *c->rx);
    c->ready_s = calloc((size_t)c->n * c->plan->n_slots, sizeof *c->ready_s);
    cr_assert(c->tx != NULL && c->rx != NULL && c->ready_s != NULL);
    for (size_t i = 0; i < ports; i++) {
        c->tx[i] = c->rx[i] = (port){cs_arrival(c->s, (uint32_t)(i / c->g % c->n)), -1};
    }
}

ct_times ct_reference(const cs_scenario *scenario, const cs_plan *plan, const ct_stream *stream)
{
    stopwatch c     = {.s    = scenario,
                       .plan = plan,
                       .n    = scenario->cluster.n_ranks,
                       .g    = scenario->cluster.gpus_per_server};
    ct_times  times = {.intervals = calloc(stream->count + 1, sizeof *times.intervals)};

    cr_assert_not_null(times.intervals);
    open_clock(&c);
    for (size_t i = 0; i < stream->count;) {
        if ((stream->transfers[i].flags & CS_FENCE) != 0) {
            wait_at(&c, stream->fences[i]);
        }
        i += serve(&c, &stream->transfers[i], stream->count - i, &times.intervals[i]);
    }
    for (size_t i = 0; i < (size_t)CS_FABRICS * c.n * c.g; i++) {
        times.end_s = fmax(times.end_s, fmax(c.tx[i].free_s, c.rx[i].free_s));
    }
    free(c.tx);
    free(c.rx);
    free(c.ready_s);
    return times;
}

void ct_times_free(ct_times *times)
{
    free(times->intervals);
    *times = (ct_times){0};
}
