/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine is driven as the dispatcher asks: windows pass until the next end of a message is
 * certain.
 */
#include "models/packet/drive.h"

#include "base/alloc.h"
#include "models/lib/arrivals.h"
#include "models/packet/counters.h"

#include <math.h>
#include <stdio.h>

/* Up to there seconds as the dispatcher counts them give the picosecond that they were made of. */
#define MOST_PS 4.096e15

typedef struct packet_model {
    const cs_packet_engine *engine;
    void                   *state; /* of the engine */
    cs_packet_ports         ports;
    cs_event_queue          ends;
    cs_late_arrivals        late;
    double                  now_s;
    uint8_t                *parts; /* owned [capacity]: by handle, messages that have not ended */
    uint32_t               *ended; /* owned [capacity] */
    uint32_t                capacity, n_under_way; /* messages, both ways of an exchange */
    cs_status               failure;
    char                    why[240];
} packet_model;

void cs_packet_close(void *state)
{
    packet_model *m = state;

    if (m != NULL) {
        m->engine->close(m->state);
        cs_counters_close(m->ports.net.counters);
        cs_packet_ports_close(&m->ports);
        cs_events_free(&m->ends);
        cs_late_arrivals_free(&m->late);
        cs_free(m->parts);
        cs_free(m->ended);
        cs_free(m);
    }
}

static cs_status open_engine(packet_model *m, const cs_ports *ports, const void *options,
                             cs_packet_choose *choose, cs_error *err)
{
    CS_TRY(cs_packet_ports_open(&m->ports, ports, options, err));
    CS_TRY(cs_late_arrivals_open(&m->late, ports, err));
    CS_TRY(choose(&m->ports, options, &m->engine, err));
    return m->engine->open(&m->ports.net, &m->ends, &m->state, err);
}

cs_status cs_packet_open(const cs_ports *ports, const void *options, cs_packet_choose *choose,
                         void **state_p, cs_error *err)
{
    packet_model *m = CS_NEW(packet_model, 1);

    if (m == NULL) {
        return CS_NO_MEMORY(err, "the links");
    }
    m->now_s         = ports->first_s;
    m->engine        = &cs_packet_unlimited;
    cs_status status = open_engine(m, ports, options, choose, err);
    if (status != CS_OK) {
        cs_packet_close(m);
        return status;
    }
    *state_p = m;
    return CS_OK;
}

static cs_status reserve(packet_model *m, uint32_t handle)
{
    uint32_t capacity = m->capacity == 0 ? 256 : m->capacity;

    if (handle < m->capacity) {
        return CS_OK;
    }
    while (capacity <= handle) {
        capacity *= 2;
    }
    if (!cs_resize(&m->parts, capacity, sizeof *m->parts) ||
        !cs_resize(&m->ended, capacity, sizeof *m->ended)) {
        return CS_ENOMEM;
    }
    m->capacity = capacity;
    return CS_OK;
}

/* A failure shows itself in the next question. */
static cs_status fail(packet_model *m, cs_status status, const char *why)
{
    if (m->failure == CS_OK) {
        m->failure = status;
        (void)snprintf(m->why, sizeof m->why, "%s", why);
    }
    return status;
}

static cs_status send(packet_model *m, const cs_flight *flight, bool is_back)
{
    cs_packet_message message;

    if (cs_packet_message_of(&m->ports, flight, is_back, &message) != CS_OK) {
        (void)fail(m, CS_ENOTSUP,
                   "a message of 2^31 packets or more, or more than 50 days of traffic: accepted "
                   "are fewer bytes, larger packets or faster ports");
        return CS_OK;
    }
    m->n_under_way++;
    return m->engine->send(m->state, &message);
}

cs_status cs_packet_inject(void *state, const cs_flight *flight)
{
    packet_model *m = state;

    m->now_s = flight->start_s;
    if (reserve(m, flight->handle) != CS_OK) {
        return CS_ENOMEM;
    }
    m->parts[flight->handle] = flight->is_exchange ? 2 : 1;
    CS_TRY(send(m, flight, false));
    return flight->is_exchange ? send(m, flight, true) : CS_OK;
}

cs_status cs_packet_next(void *state, double *next_s_p)
{
    packet_model *m         = state;
    double        arrival_s = cs_late_arrivals_next_s(&m->late, m->now_s);

    *next_s_p = (double)INFINITY;
    if (m->failure != CS_OK || m->n_under_way == 0) {
        return m->failure;
    }
    cs_ps     horizon = isfinite(arrival_s) ? cs_packet_time(&m->ports, arrival_s) : CS_PS_NEVER;
    cs_status status  = m->engine->run(m->state, horizon);
    if (status != CS_OK) {
        return status == CS_ENOMEM ? status : fail(m, status, m->engine->why(m->state));
    }
    double end_ps = cs_events_next_s(&m->ends);
    if (isfinite(end_ps) && end_ps > MOST_PS) {
        return fail(m, CS_ENOTSUP,
                    "a message ends after more than 4096 s: packets are counted in whole "
                    "picoseconds, which are exact as seconds up to there");
    }
    double end_s = isfinite(end_ps) ? cs_packet_time_s(&m->ports, (cs_ps)end_ps) : end_ps;
    *next_s_p    = fmin(fmax(end_s, m->now_s), arrival_s);
    return isfinite(*next_s_p) ? CS_OK : fail(m, CS_EWRONG, m->engine->why(m->state));
}

cs_status cs_packet_advance(void *state, double now_s, const uint32_t **ended_p, size_t *n_ended_p)
{
    packet_model *m = state;
    size_t        n = 0;

    m->now_s = now_s;
    while (cs_events_next_s(&m->ends) <= (double)cs_packet_time(&m->ports, now_s)) {
        size_t count = cs_events_take(&m->ends);
        for (size_t i = 0; i < count; i++) {
            uint32_t handle = cs_packet_number(m->ends.batch[i].key) / 2;
            m->n_under_way--;
            if (--m->parts[handle] == 0) {
                m->ended[n++] = handle;
            }
        }
    }
    *ended_p   = m->ended;
    *n_ended_p = n;
    return CS_OK;
}

void cs_packet_counts(const void *state, cs_counts *counts_p)
{
    const packet_model *m = state;
    cs_packet_totals    t = {0};

    m->engine->count(m->state, &t);
    *counts_p = (cs_counts){t.packets, t.pauses, t.drops, t.marks, t.resent};
}

cs_status cs_packet_watch(void *state, double sample_s)
{
    packet_model  *m   = state;
    cs_packet_net *net = &m->ports.net;

    net->counters =
        cs_counters_open(net, sample_s < 0 ? CS_PS_NEVER : (cs_ps)llround(sample_s * 1e12));
    return net->counters != NULL ? CS_OK : CS_ENOMEM;
}

cs_status cs_packet_report(void *state, double end_s, cs_link_report *report_p)
{
    packet_model *m = state;
    return cs_counters_report(m->ports.net.counters, cs_packet_time(&m->ports, end_s), report_p);
}

const char *cs_packet_why(const void *state)
{
    return ((const packet_model *)state)->why;
}

/* Receivers and senders alike: queues are what this model is about. */
bool cs_packet_queues(const void *options)
{
    (void)options;
    return true;
}

double cs_packet_latency_s(const cs_scenario *scenario, const void *options, uint32_t fabric)
{
    (void)options;
    return scenario->cluster.fabrics[fabric].alpha_s;
}

cs_message_cost cs_packet_message_cost(const cs_scenario *scenario, const void *options,
                                       uint32_t fabric)
{
    return (cs_message_cost){.beyond_s = cs_packet_latency_s(scenario, options, fabric)};
}
