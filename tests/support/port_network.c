/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/port_network.h"

#include "base/alloc.h"
#include "base/event_queue.h"
#include "models/lib/rate.h"

#include <math.h>

static const cs_field network_table[] = {
    CS_OPTION(ct_port_options, message_gap_s, 0, 0, 1e3, "as of alpha-beta"),
    CS_FIELD_END,
};

typedef struct port_network {
    const cs_ports        *ports;
    const ct_port_options *options;
    cs_event_queue         events;
    double                *free_s; /* [n_ports] when a sending port has sent all that it has */
    uint32_t              *ended;
    size_t                 capacity;
} port_network;

static cs_status network_open(const cs_ports *ports, const void *options, void **state_p,
                              cs_error *err)
{
    port_network *n = CS_NEW(port_network, 1);

    if (n == NULL) {
        return CS_NO_MEMORY(err, "a network");
    }
    n->ports   = ports;
    n->options = options;
    n->free_s  = CS_NEW(double, ports->n_ports);
    if (n->free_s == NULL) {
        cs_free(n);
        return CS_NO_MEMORY(err, "a network");
    }
    for (uint32_t p = 0; p < ports->n_ports; p++) {
        n->free_s[p] = ports->first_s;
    }
    *state_p = n;
    return CS_OK;
}

/* When a message that its sending ports queue has left them; only `both` are held of an exchange
 * whose ways wait for each other. */
static double leave_s(port_network *n, const cs_flight *f, const uint32_t *ports, uint32_t count)
{
    cs_transfer t      = {.src = f->src, .dst = f->dst, .bytes = f->bytes};
    double      from_s = f->start_s;

    for (uint32_t i = 0; i < count; i++) {
        from_s = fmax(from_s, n->free_s[ports[i]]);
    }
    double end_s = cs_flow_end_s(n->ports, &t, f->fabric, from_s + f->startup_s);
    for (uint32_t i = 0; i < count; i++) {
        n->free_s[ports[i]] = end_s;
    }
    return end_s;
}

static double end_of_queued_s(port_network *n, const cs_flight *f)
{
    const uint32_t ports[] = {f->tx, f->rx};

    if (f->is_exchange && n->options->parts_exchanges) {
        return fmax(leave_s(n, f, ports, 1), leave_s(n, f, ports + 1, 1)) + n->options->latency_s;
    }
    return leave_s(n, f, ports, f->is_exchange ? 2 : 1) + n->options->latency_s;
}

static cs_status network_inject(void *state, const cs_flight *flight)
{
    port_network *n     = state;
    cs_transfer   t     = {.src = flight->src, .dst = flight->dst, .bytes = flight->bytes};
    double        end_s = n->options->queues_senders ? end_of_queued_s(n, flight)
                                                     : cs_flow_end_s(n->ports, &t, flight->fabric,
                                                                     flight->start_s + flight->startup_s);

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
        cs_free(n->ended);
        n->capacity = 2 * count;
        n->ended    = CS_NEW(uint32_t, n->capacity);
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
        cs_free(n->free_s);
        cs_free(n->ended);
        cs_free(n);
    }
}

static double network_message_gap_s(const void *options)
{
    return ((const ct_port_options *)options)->message_gap_s;
}

static bool network_queues_senders(const void *options)
{
    return ((const ct_port_options *)options)->queues_senders;
}

static bool network_shares_receivers(const void *options)
{
    return ((const ct_port_options *)options)->shares_receivers;
}

static const cs_network hooks = {
    .shares_receivers = network_shares_receivers,
    .shares_groups    = false,
    .message_gap_s    = network_message_gap_s,
    .queues_senders   = network_queues_senders,
    .open             = network_open,
    .inject           = network_inject,
    .next             = network_next,
    .advance          = network_advance,
    .close            = network_close,
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
    .options_bytes = sizeof(ct_port_options),
    .network       = &hooks,
    .latency_s     = network_latency_s,
    .alpha_holds_port = true,
};
