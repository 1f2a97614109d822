/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/port_network.h"

#include "base/event_queue.h"
#include "models/lib/rate.h"

#include <stdlib.h>

typedef struct network_options {
    double message_gap_s;
} network_options;

static const cs_field network_table[] = {
    CS_OPTION(network_options, message_gap_s, 0, 0, 1e3, "as of alpha-beta"),
    CS_FIELD_END,
};

typedef struct port_network {
    const cs_ports *ports;
    cs_event_queue  events;
    uint32_t       *ended;
    size_t          capacity;
} port_network;

static cs_status network_open(const cs_ports *ports, const void *options, void **state_p,
                              cs_error *err)
{
    port_network *n = calloc(1, sizeof *n);

    (void)options;
    if (n == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory");
    }
    n->ports = ports;
    *state_p = n;
    return CS_OK;
}

static cs_status network_inject(void *state, const cs_flight *flight)
{
    port_network *n = state;
    cs_transfer   t = {.src = flight->src, .dst = flight->dst, .bytes = flight->bytes};
    double end_s = cs_flow_end_s(n->ports, &t, flight->fabric, flight->start_s + flight->startup_s);

    return cs_events_put(&n->events, end_s, flight->id << 22 | flight->handle);
}

static cs_status network_next(void *state, double *next_s_p)
{
    *next_s_p = cs_events_next_s(&((port_network *)state)->events);
    return CS_OK;
}

static cs_status network_advance(void *state, double now_s, const uint32_t **ended_p,
                                 size_t *n_ended_p)
{
    port_network *n     = state;
    size_t        count = cs_events_next_s(&n->events) <= now_s ? cs_events_take(&n->events) : 0;

    if (count > n->capacity) {
        free(n->ended);
        n->capacity = 2 * count;
        n->ended    = malloc(n->capacity * sizeof *n->ended);
        if (n->ended == NULL) {
            return CS_ENOMEM;
        }
    }
    for (size_t i = 0; i < count; i++) {
        n->ended[i] = (uint32_t)(n->events.batch[i].key & (CS_MAX_FLIGHTS - 1));
    }
    *ended_p   = n->ended;
    *n_ended_p = count;
    return CS_OK;
}

static void network_close(void *state)
{
    port_network *n = state;

    if (n != NULL) {
        cs_events_free(&n->events);
        free(n->ended);
        free(n);
    }
}

static double network_message_gap_s(const void *options)
{
    return ((const network_options *)options)->message_gap_s;
}

static const cs_network hooks = {
    .shares_groups = false,
    .message_gap_s = network_message_gap_s,
    .open          = network_open,
    .inject        = network_inject,
    .next          = network_next,
    .advance       = network_advance,
    .close         = network_close,
};

static double network_latency_s(const cs_scenario *scenario, const void *options, uint32_t fabric)
{
    (void)options;
    return scenario->cluster.fabrics[fabric].alpha_s;
}

const cs_model ct_port_network = {
    .name          = "port-network",
    .summary       = "alpha-beta behind the dispatcher, for tests; leaves out what it leaves out",
    .source        = "tests",
    .options       = network_table,
    .options_bytes = sizeof(network_options),
    .network       = &hooks,
    .latency_s     = network_latency_s,
    .alpha_holds_port = true,
};
