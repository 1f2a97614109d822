/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/engine.h -- a simulator of packets: messages go in, the times at which they end
 * come out.
 *
 * Time is cut in windows of net->window picoseconds. What happens in a window has an effect
 * elsewhere in a later one only, so an engine processes window after window, each as a whole.
 * Whoever drives it hands over messages in time order and lets it process no window that holds
 * something that may still hand one over.
 */
#ifndef CS_MODELS_PACKET_ENGINE_H
#define CS_MODELS_PACKET_ENGINE_H

#include "models/packet/net.h"

/* What an engine counts beside time. */
typedef struct cs_packet_totals {
    uint64_t packets; /* sent by sending ports, those sent again too */
    uint64_t pauses, drops, marks, resent;
} cs_packet_totals;

typedef struct cs_packet_engine {
    const char *name;

    /* Start with an idle network. The net is borrowed; every end of a message is put into `ends`,
     * at (double)picoseconds, with the message's key. */
    cs_status (*open)(const cs_packet_net *net, cs_event_queue *ends, void **state_p,
                      cs_error *err);

    /* Hand over a message; ready is not in a window that has been processed. CS_ENOMEM only. */
    cs_status (*send)(void *state, const cs_packet_message *message);

    /* Process windows while the first one that is left ends at or before `horizon` and at or before
     * the first of `ends`, and something is under way. CS_ENOMEM, or CS_EWRONG with a reason in
     * why(): a buffer overflowed. */
    cs_status (*run)(void *state, cs_ps horizon);

    /* Nothing is under way that another run() could move? Messages that have not ended then never
     * will: why() says what they wait for, or where they were lost. */
    bool (*is_idle)(const void *state);
    const char *(*why)(void *state);

    void (*count)(const void *state, cs_packet_totals *totals);

    /* Free the state; NULL is allowed. */
    void (*close)(void *state);
} cs_packet_engine;

/* Queues without limit: trains or packets, whole messages at a time. */
extern const cs_packet_engine cs_packet_unlimited;
/* Lossless queues: ports pause each other. */
extern const cs_packet_engine cs_packet_lossless;
/* Everything, packet by packet: queues that drop, transports, marks, errors; lossless or not. */
extern const cs_packet_engine cs_packet_transported;
/* ns-3's queues, which may drop packets, in a process of its own: models/ns3/ns3.c. */
extern const cs_packet_engine cs_packet_ns3;

#endif
