/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simgrid model: messages are communications of SimGrid's flow-level network.
 *
 * SimGrid runs in a child process (models/lib/talk.h, models/simgrid/child.cc), one per replay. A
 * flow is sent there when its message starts, with the time at which its bytes begin; the question
 * what happens next is answered by letting SimGrid go on until a flow ends, but not beyond the
 * next arrival, at which the dispatcher may start something before that. Ports and inner links are
 * SimGrid's links; nothing is ever asked of its TCP corrections.
 *
 * Left out: what flow leaves out, and flow's two options.
 *
 * Source: H. Casanova et al., SimGrid, JPDC 2014 (model CM02).
 */
#include "base/alloc.h"
#include "models/lib/arrivals.h"
#include "models/lib/links.h"
#include "models/lib/talk.h"
#include "models/simgrid/protocol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "collsim-simgrid"
#define MISSING CS_TALK_MISSING(PROGRAM, "libsimgrid-dev")

/* ---- the conversation with collsim-simgrid ---- */

/* The platform and how it changes. */
static cs_status put_links(cs_talk *talk, const cs_ports *ports, double *bandwidth,
                           cs_link_change *changes)
{
    uint32_t   n_links   = cs_links_count(ports);
    size_t     n_changes = cs_links_changes(ports, changes);
    cs_sg_open opening   = {.n_links = n_links, .n_changes = (uint32_t)n_changes};

    cs_links_bandwidth(ports, bandwidth);
    CS_TRY(cs_talk_put(talk, &opening, sizeof opening));
    CS_TRY(cs_talk_put(talk, bandwidth, n_links * sizeof *bandwidth));
    for (size_t i = 0; i < n_changes; i++) {
        cs_sg_change change = {.time_s        = changes[i].time_s - ports->first_s,
                               .bandwidth_Bps = changes[i].bandwidth_Bps,
                               .link          = changes[i].link};
        CS_TRY(cs_talk_put(talk, &change, sizeof change));
    }
    return CS_OK;
}

/* Start the program and describe the links to it. */
static cs_status open_talk(cs_talk *talk, const cs_ports *ports, cs_error *err)
{
    CS_TRY(cs_talk_start(talk, PROGRAM, MISSING, err));
    double         *bandwidth = CS_NEW(double, cs_links_count(ports));
    cs_link_change *changes   = CS_NEW(cs_link_change, cs_links_changes(ports, NULL));
    cs_status       status    = CS_ENOMEM;

    if (bandwidth != NULL && changes != NULL) {
        status = put_links(talk, ports, bandwidth, changes);
    }
    cs_free(bandwidth);
    cs_free(changes);
    return status == CS_OK ? cs_talk_open(talk, err) : CS_NO_MEMORY(err, "the links");
}

/* Let SimGrid go on until a flow ends, at most to `horizon_s`: not before `now_s`. Gives its time
 * and which flows, of `n_flows` that are there, end now: `ended` has room for them. CS_EIO: the
 * talk says why. */
static cs_status run_talk(cs_talk *talk, double now_s, double horizon_s, uint32_t n_flows,
                          cs_sg_event *event, uint32_t *ended)
{
    const cs_sg_run run    = {horizon_s};
    size_t          n_more = 0;

    CS_TRY(cs_talk_run(talk, &run, sizeof run, event, sizeof *event, &n_more));
    bool is_clear = event->n_ended <= n_flows && isfinite(event->now_s) && event->now_s >= now_s &&
                    n_more == event->n_ended * sizeof *ended &&
                    (event->n_ended > 0 || isfinite(horizon_s));
    return is_clear ? cs_talk_hear(talk, ended, n_more) : cs_talk_fail_senseless(talk);
}

/* ---- the model ---- */

typedef struct ended_message {
    uint64_t id;
    uint32_t handle;
} ended_message;

typedef struct simgrid_model {
    const cs_ports  *ports;
    cs_talk          talk;
    cs_late_arrivals late;
    double           now_s, event_s; /* SimGrid has gone on to event_s, if has_event */
    double           heard_s;        /* its last time, from the first arrival; it never goes back */
    bool             has_event;
    uint64_t        *ids;               /* owned [capacity]: of messages, by handle */
    uint8_t         *parts;             /* owned [capacity]: flows that have not ended */
    uint32_t        *flows;             /* owned [2 * capacity]: those that the child named */
    uint32_t        *ended;             /* owned [capacity] */
    ended_message   *sorting;           /* owned [capacity] */
    uint32_t         capacity, n_flows; /* messages that fit; flows that are there */
    size_t           n_ended;
} simgrid_model;

static void simgrid_close(void *state)
{
    simgrid_model *m = state;

    if (m != NULL) {
        cs_talk_close(&m->talk);
        cs_late_arrivals_free(&m->late);
        cs_free(m->ids);
        cs_free(m->parts);
        cs_free(m->flows);
        cs_free(m->ended);
        cs_free(m->sorting);
        cs_free(m);
    }
}

static const char *simgrid_missing(void)
{
    return cs_talk_finds(PROGRAM) ? NULL : MISSING;
}

static cs_status simgrid_check(const cs_scenario *scenario, const void *options, cs_error *err)
{
    const char *missing = simgrid_missing();

    (void)scenario;
    (void)options;
    return missing == NULL ? CS_OK : CS_FAIL(err, CS_EMISSING, "model", "%s", missing);
}

static cs_status simgrid_open(const cs_ports *ports, const void *options, void **state_p,
                              cs_error *err)
{
    simgrid_model *m = CS_NEW(simgrid_model, 1);

    (void)options;
    if (m == NULL) {
        return CS_NO_MEMORY(err, "the links");
    }
    m->ports         = ports;
    m->now_s         = ports->first_s;
    cs_status status = cs_late_arrivals_open(&m->late, ports, err);
    if (status == CS_OK) {
        status = open_talk(&m->talk, ports, err);
    }
    if (status != CS_OK) {
        simgrid_close(m);
        return status;
    }
    *state_p = m;
    return CS_OK;
}

static cs_status reserve(simgrid_model *m, uint32_t handle)
{
    uint32_t capacity = m->capacity == 0 ? 256 : m->capacity;

    if (handle < m->capacity) {
        return CS_OK;
    }
    while (capacity <= handle) {
        capacity *= 2;
    }
    if (!cs_resize(&m->ids, capacity, sizeof *m->ids) ||
        !cs_resize(&m->parts, capacity, sizeof *m->parts) ||
        !cs_resize(&m->flows, capacity, 2 * sizeof *m->flows) ||
        !cs_resize(&m->ended, capacity, sizeof *m->ended) ||
        !cs_resize(&m->sorting, capacity, sizeof *m->sorting)) {
        return CS_ENOMEM;
    }
    memset(m->parts + m->capacity, 0, capacity - m->capacity);
    m->capacity = capacity;
    return CS_OK;
}

static cs_status add_flow(simgrid_model *m, const cs_flight *f, bool is_back)
{
    uint32_t links[CS_MAX_LINKS_OF_WAY];
    double   latency_s = 0;
    uint32_t n         = cs_links_of_way(m->ports, f, is_back, links, &latency_s);
    double   begin_s   = f->start_s + f->startup_s + latency_s;

    const cs_sg_flow flow = {begin_s - m->ports->first_s, f->bytes, 2 * f->handle + is_back, n};
    m->n_flows++;
    return cs_talk_add(&m->talk, &flow, sizeof flow, links, n * sizeof *links);
}

static cs_status simgrid_inject(void *state, const cs_flight *f)
{
    simgrid_model *m = state;

    m->now_s = f->start_s;
    if (reserve(m, f->handle) != CS_OK) {
        return CS_ENOMEM;
    }
    m->ids[f->handle]   = f->id;
    m->parts[f->handle] = f->is_exchange ? 2 : 1;
    CS_TRY(add_flow(m, f, false));
    return f->is_exchange ? add_flow(m, f, true) : CS_OK;
}

static int by_id(const void *a, const void *b)
{
    const ended_message *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Messages both of whose flows have ended. */
static cs_status take_ended(simgrid_model *m, uint32_t n_flows)
{
    for (uint32_t i = 0; i < n_flows; i++) {
        uint32_t handle = m->flows[i] / 2;
        if (handle >= m->capacity || m->parts[handle] == 0) {
            return cs_talk_fail(&m->talk, "a flow ended that was not there");
        }
        if (--m->parts[handle] == 0) {
            m->sorting[m->n_ended++] = (ended_message){m->ids[handle], handle};
        }
    }
    qsort(m->sorting, m->n_ended, sizeof *m->sorting, by_id);
    for (size_t i = 0; i < m->n_ended; i++) {
        m->ended[i] = m->sorting[i].handle;
    }
    m->n_flows -= n_flows;
    return CS_OK;
}

/* Let SimGrid go on, at most to the next arrival. */
static cs_status go_on(simgrid_model *m, double horizon_s)
{
    double      first_s = m->ports->first_s;
    cs_sg_event event   = {0};

    CS_TRY(run_talk(&m->talk, m->heard_s, horizon_s - first_s, m->n_flows, &event, m->flows));
    m->heard_s   = event.now_s;
    m->event_s   = event.n_ended > 0 ? fmin(first_s + event.now_s, horizon_s) : horizon_s;
    m->event_s   = fmax(m->event_s, m->now_s);
    m->has_event = true;
    return take_ended(m, event.n_ended);
}

static cs_status simgrid_next(void *state, double *next_s_p)
{
    simgrid_model *m = state;

    *next_s_p = (double)INFINITY;
    if (m->talk.has_failed) {
        return CS_EIO;
    }
    if (!m->has_event && m->n_flows == 0) {
        return CS_OK;
    }
    if (!m->has_event && go_on(m, cs_late_arrivals_next_s(&m->late, m->now_s)) != CS_OK) {
        return CS_EIO;
    }
    *next_s_p = m->event_s;
    return CS_OK;
}

static cs_status simgrid_advance(void *state, double now_s, const uint32_t **ended_p,
                                 size_t *n_ended_p)
{
    simgrid_model *m = state;

    *ended_p   = m->ended;
    *n_ended_p = 0;
    m->now_s   = now_s;
    if (m->has_event && m->event_s <= now_s) {
        *n_ended_p   = m->n_ended;
        m->n_ended   = 0;
        m->has_event = false;
    }
    return CS_OK;
}

static const char *simgrid_why(const void *state)
{
    const simgrid_model *m = state;
    return m->talk.why;
}

static const cs_network simgrid_network = {
    .shares_groups = true,
    .is_foreign    = true,
    .open          = simgrid_open,
    .inject        = simgrid_inject,
    .next          = simgrid_next,
    .advance       = simgrid_advance,
    .why           = simgrid_why,
    .close         = simgrid_close,
};

static double simgrid_latency_s(const cs_scenario *scenario, const void *options, uint32_t fabric)
{
    (void)options;
    return scenario->cluster.fabrics[fabric].alpha_s;
}

static bool simgrid_closed_forms_hold(const void *options, uint32_t uses)
{
    (void)options;
    (void)uses;
    return true;
}

const cs_model cs_model_simgrid = {
    .name    = "simgrid",
    .summary = "SimGrid's flow-level network (CM02), in a process of its own; leaves out packets, "
               "queues, loss, adaptive routing, TCP corrections, what each message of a group "
               "costs",
    .source  = "H. Casanova et al., Versatile, scalable, and accurate simulation of distributed "
               "applications and platforms, JPDC 74 (2014)",
    .check   = simgrid_check,
    .missing = simgrid_missing,
    .network = &simgrid_network,
    .latency_s         = simgrid_latency_s,
    .closed_forms_hold = simgrid_closed_forms_hold,
    .alpha_holds_port  = true,
};
