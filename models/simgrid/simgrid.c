/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simgrid model: messages are communications of SimGrid's flow-level network.
 *
 * SimGrid runs in a child process (models/simgrid/protocol.h says why and how), one per replay. A
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
#include "base/child.h"
#include "base/module.h"
#include "cs/build.h"
#include "models/lib/links.h"
#include "models/simgrid/protocol.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the conversation with collsim-simgrid ----
 *
 * What is said is in protocol.h. After the first failure a line says and hears nothing any more. */

typedef struct line {
    cs_child *child;  /* owned */
    char     *buffer; /* owned: a frame of flows that is not sent yet */
    uint32_t  n_buffered;
    double    now_s; /* the last that it heard; time never goes back */
    bool      has_failed;
    char      why[300]; /* ... in a line */
} line;

#define PROGRAM "collsim-simgrid"

enum { BUFFER_BYTES = 1 << 16 };

/* The line is broken: how did the child end? */
static cs_status fail_silent(line *to)
{
    char exit_reason[240];

    cs_child_exit_reason(to->child, exit_reason, sizeof exit_reason);
    snprintf(to->why, sizeof to->why, "%s %s", PROGRAM, exit_reason);
    to->has_failed = true;
    return CS_EIO;
}

/* Note a failure that the model has seen: CS_EIO. */
static cs_status line_fail(line *to, const char *what)
{
    snprintf(to->why, sizeof to->why, "%s: %s", PROGRAM, what);
    to->has_failed = true;
    return CS_EIO;
}

static cs_status fail_senseless(line *to)
{
    return line_fail(to, "a reply makes no sense");
}

static cs_status say(line *to, const void *data, size_t bytes)
{
    return cs_child_send(to->child, data, bytes) == CS_OK ? CS_OK : fail_silent(to);
}

static cs_status hear(line *to, void *data, size_t bytes)
{
    return cs_child_receive(to->child, data, bytes) == CS_OK ? CS_OK : fail_silent(to);
}

/* The head of the reply that is due. */
static cs_status hear_frame(line *to, uint32_t kind, cs_sg_frame *frame)
{
    char text[200] = "";

    if (hear(to, frame, sizeof *frame) != CS_OK) {
        return CS_EIO;
    }
    if (frame->kind == CS_SG_FAILED) {
        size_t bytes = frame->bytes < sizeof text ? frame->bytes : sizeof text - 1;
        if (hear(to, text, bytes) != CS_OK) {
            return CS_EIO;
        }
        text[strcspn(text, "\r\n")] = '\0';
        return line_fail(to, text);
    }
    return frame->kind == kind ? CS_OK : fail_senseless(to);
}

/* The platform and how it changes. */
static cs_status say_links(line *to, const cs_ports *ports, double *bandwidth,
                           cs_link_change *changes)
{
    uint32_t   n_links   = cs_links_count(ports);
    size_t     n_changes = cs_links_changes(ports, changes);
    cs_sg_open opening   = {.n_links = n_links, .n_changes = (uint32_t)n_changes};
    size_t     bytes = sizeof opening + n_links * sizeof(double) + n_changes * sizeof(cs_sg_change);
    cs_sg_frame frame = {CS_SG_OPEN, (uint32_t)bytes};

    (void)snprintf(opening.build, sizeof opening.build, "%s", cs_build());
    cs_links_bandwidth(ports, bandwidth);
    CS_TRY(say(to, &frame, sizeof frame));
    CS_TRY(say(to, &opening, sizeof opening));
    CS_TRY(say(to, bandwidth, n_links * sizeof *bandwidth));
    for (size_t i = 0; i < n_changes; i++) {
        cs_sg_change change = {.time_s        = changes[i].time_s - ports->first_s,
                               .bandwidth_Bps = changes[i].bandwidth_Bps,
                               .link          = changes[i].link};
        CS_TRY(say(to, &change, sizeof change));
    }
    CS_TRY(hear_frame(to, CS_SG_READY, &frame));
    return frame.bytes == 0 ? CS_OK : fail_senseless(to);
}

static cs_status send_links(line *to, const cs_ports *ports)
{
    double         *bandwidth = CS_NEW(double, cs_links_count(ports));
    cs_link_change *changes   = CS_NEW(cs_link_change, cs_links_changes(ports, NULL));
    cs_status       status    = CS_ENOMEM;

    if (bandwidth != NULL && changes != NULL) {
        status = say_links(to, ports, bandwidth, changes);
    }
    cs_free(bandwidth);
    cs_free(changes);
    return status;
}

/* Start the program at `path` and describe the links to it. `line` is zeroed; close it, whatever
 * comes of it. */
static cs_status line_open(line *to, const char *path, const cs_ports *ports, cs_error *err)
{
    const cs_child_program program = {.path = path};
    cs_status              status  = CS_ENOMEM;

    to->buffer = CS_NEW(char, BUFFER_BYTES);
    if (to->buffer != NULL) {
        status = cs_child_start(&program, &to->child, err);
        if (status == CS_OK) {
            status = send_links(to, ports);
        }
    }
    if (status == CS_ENOMEM) {
        (void)CS_NO_MEMORY(err, "the links");
    } else if (to->has_failed) {
        (void)CS_FAIL(err, status, "model", "%s", to->why);
    }
    return status;
}

static void line_close(line *to)
{
    cs_child_close(to->child);
    cs_free(to->buffer);
}

static cs_status send_flows(line *to)
{
    cs_sg_frame frame = {CS_SG_FLOWS, to->n_buffered};

    if (to->n_buffered > 0) {
        CS_TRY(say(to, &frame, sizeof frame));
        CS_TRY(say(to, to->buffer, to->n_buffered));
        to->n_buffered = 0;
    }
    return CS_OK;
}

static void put(line *to, const void *data, size_t bytes)
{
    memcpy(to->buffer + to->n_buffered, data, bytes);
    to->n_buffered += (uint32_t)bytes;
}

/* A flow over `n` links, from `begin_s` (after the first arrival) on. A failure shows itself in the
 * next question. */
static void line_add(line *to, double begin_s, uint64_t bytes, uint32_t number,
                     const uint32_t *links, uint32_t n)
{
    const cs_sg_flow flow   = {begin_s, bytes, number, n};
    size_t           length = sizeof flow + n * sizeof *links;

    if (!to->has_failed && (to->n_buffered + length <= BUFFER_BYTES || send_flows(to) == CS_OK)) {
        put(to, &flow, sizeof flow);
        put(to, links, n * sizeof *links);
    }
}

/* Let SimGrid go on until a flow ends, at most to `horizon_s`. Gives its time and which flows, of
 * `n_flows` that are there, end now: `ended` has room for them. CS_EIO: see `why`. */
static cs_status line_run(line *to, double horizon_s, uint32_t n_flows, double *now_s_p,
                          uint32_t *ended, uint32_t *n_ended_p)
{
    const cs_sg_frame frame = {CS_SG_RUN, sizeof(cs_sg_run)};
    const cs_sg_run   run   = {horizon_s};
    cs_sg_frame       reply = {0};
    cs_sg_event       event = {0};

    if (to->has_failed || send_flows(to) != CS_OK || say(to, &frame, sizeof frame) != CS_OK ||
        say(to, &run, sizeof run) != CS_OK || hear_frame(to, CS_SG_EVENT, &reply) != CS_OK ||
        hear(to, &event, sizeof event) != CS_OK) {
        return CS_EIO;
    }
    bool is_clear = event.n_ended <= n_flows && isfinite(event.now_s) && event.now_s >= to->now_s &&
                    reply.bytes == sizeof event + event.n_ended * sizeof(uint32_t) &&
                    (event.n_ended > 0 || isfinite(horizon_s));
    if (!is_clear) {
        return fail_senseless(to);
    }
    *now_s_p = to->now_s = event.now_s;
    *n_ended_p           = event.n_ended;
    return hear(to, ended, event.n_ended * sizeof *ended);
}

/* ---- the model ---- */

typedef struct ended_message {
    uint64_t id;
    uint32_t handle;
} ended_message;

typedef struct simgrid_model {
    const cs_ports *ports;
    line            line;
    double         *arrivals; /* owned: those that are still to come, first one first */
    size_t          n_arrivals, next_arrival;
    double          now_s, event_s; /* SimGrid has gone on to event_s, if has_event */
    bool            has_event;
    uint64_t       *ids;               /* owned [capacity]: of messages, by handle */
    uint8_t        *parts;             /* owned [capacity]: flows that have not ended */
    uint32_t       *flows;             /* owned [2 * capacity]: those that the child named */
    uint32_t       *ended;             /* owned [capacity] */
    ended_message  *sorting;           /* owned [capacity] */
    uint32_t        capacity, n_flows; /* messages that fit; flows that are there */
    size_t          n_ended;
} simgrid_model;

static void simgrid_close(void *state)
{
    simgrid_model *m = state;

    if (m != NULL) {
        line_close(&m->line);
        cs_free(m->arrivals);
        cs_free(m->ids);
        cs_free(m->parts);
        cs_free(m->flows);
        cs_free(m->ended);
        cs_free(m->sorting);
        cs_free(m);
    }
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static cs_status list_arrivals(simgrid_model *m, cs_error *err)
{
    const cs_ports *ports = m->ports;

    m->arrivals = CS_NEW(double, ports->n_ranks);
    if (m->arrivals == NULL) {
        return CS_NO_MEMORY(err, "the arrivals");
    }
    for (uint32_t r = 0; r < ports->n_ranks; r++) {
        if (ports->arrival_s[r] > ports->first_s) {
            m->arrivals[m->n_arrivals++] = ports->arrival_s[r];
        }
    }
    qsort(m->arrivals, m->n_arrivals, sizeof *m->arrivals, by_time);
    return CS_OK;
}

static const char *simgrid_missing(void)
{
    char path[PATH_MAX + 64];

    return cs_module_find(PROGRAM, X_OK, path, sizeof path)
               ? NULL
               : "collsim-simgrid is neither beside the program nor among its libraries: build it "
                 "with libsimgrid-dev and g++ installed, or name its folder in COLLSIM_MODULES";
}

static cs_status simgrid_check(const cs_scenario *scenario, const void *options, cs_error *err)
{
    const char *missing = simgrid_missing();

    (void)scenario;
    (void)options;
    return missing == NULL ? CS_OK : CS_FAIL(err, CS_EMISSING, "model", "%s", missing);
}

static cs_status start(simgrid_model *m, cs_error *err)
{
    char path[PATH_MAX + 64];

    if (!cs_module_find(PROGRAM, X_OK, path, sizeof path)) {
        return simgrid_check(NULL, NULL, err);
    }
    return line_open(&m->line, path, m->ports, err);
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
    cs_status status = list_arrivals(m, err);
    if (status == CS_OK) {
        status = start(m, err);
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

static void add_flow(simgrid_model *m, const cs_flight *f, bool is_back)
{
    uint32_t links[CS_MAX_LINKS_OF_WAY];
    double   latency_s = 0;
    uint32_t n         = cs_links_of_way(m->ports, f, is_back, links, &latency_s);
    double   begin_s   = f->start_s + f->startup_s + latency_s;

    line_add(&m->line, begin_s - m->ports->first_s, f->bytes, 2 * f->handle + is_back, links, n);
    m->n_flows++;
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
    add_flow(m, f, false);
    if (f->is_exchange) {
        add_flow(m, f, true);
    }
    return CS_OK;
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
            return line_fail(&m->line, "a flow ended that was not there");
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
    double   first_s = m->ports->first_s, now_s = 0;
    uint32_t n_ended = 0;

    if (line_run(&m->line, horizon_s - first_s, m->n_flows, &now_s, m->flows, &n_ended) != CS_OK) {
        return CS_EIO;
    }
    m->event_s   = n_ended > 0 ? fmin(first_s + now_s, horizon_s) : horizon_s;
    m->event_s   = fmax(m->event_s, m->now_s);
    m->has_event = true;
    return take_ended(m, n_ended);
}

static cs_status simgrid_next(void *state, double *next_s_p)
{
    simgrid_model *m = state;

    while (m->next_arrival < m->n_arrivals && m->arrivals[m->next_arrival] <= m->now_s) {
        m->next_arrival++;
    }
    *next_s_p = (double)INFINITY;
    if (m->line.has_failed) {
        return CS_EIO;
    }
    if (!m->has_event && m->n_flows == 0) {
        return CS_OK;
    }
    if (!m->has_event && go_on(m, m->next_arrival < m->n_arrivals ? m->arrivals[m->next_arrival]
                                                                  : (double)INFINITY) != CS_OK) {
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
    return m->line.why;
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
