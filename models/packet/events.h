/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/events.h -- what is to happen where packets are looked at one by one, in the order
 * of time, and the ports that may then start something.
 *
 * Order within one picosecond: transmissions end; rates change; pauses and resumes act; packets
 * arrive, by the number of the link that they come over; control packets arrive; timers fire;
 * messages are handed over; ports start. Nothing else depends on the order of events.
 */
#ifndef CS_MODELS_PACKET_EVENTS_H
#define CS_MODELS_PACKET_EVENTS_H

#include "models/packet/net.h"

/* In the order within one picosecond. */
typedef enum cs_packet_happening {
    CS_PACKET_SENT,    /* number: the link, whose transmission ends */
    CS_PACKET_PAUSED,  /* .. that is paused, or goes on */
    CS_PACKET_ARRIVED, /* .. that a packet comes over */
    CS_PACKET_CONTROL, /* number: the message, whose sender a control packet comes to */
    CS_PACKET_TIMER,   /* .. and its timer */
    CS_PACKET_WOKEN    /* number: the port, which may start something from then on */
} cs_packet_happening;

typedef struct cs_packet_event {
    cs_packet_happening kind;
    uint32_t            number, timer;
} cs_packet_event;

typedef struct cs_packet_events {
    cs_event_queue queue; /* at (double)picoseconds, which are exact up to 2^53 */
    cs_ps          now;
    size_t         n_timers;  /* in the queue; all else there moves something */
    bool          *is_kicked; /* owned [n_links] */
    uint32_t      *kicked;    /* owned [n_links]: these, n_kicked of them */
    uint32_t       n_kicked;
} cs_packet_events;

enum { CS_PACKET_TIMER_BITS = 4, CS_PACKET_KIND_SHIFT = 60 };

static inline uint64_t cs_packet_key(cs_packet_happening kind, uint32_t number, uint32_t timer)
{
    return (uint64_t)kind << CS_PACKET_KIND_SHIFT | (uint64_t)number << CS_PACKET_TIMER_BITS |
           timer;
}

static inline cs_packet_event cs_packet_event_of(uint64_t key)
{
    return (cs_packet_event){(cs_packet_happening)(key >> CS_PACKET_KIND_SHIFT),
                             (uint32_t)(key >> CS_PACKET_TIMER_BITS),
                             (uint32_t)key & ((1u << CS_PACKET_TIMER_BITS) - 1)};
}

static inline CS_MUST_CHECK cs_status cs_packet_put(cs_packet_events *e, cs_ps t,
                                                    cs_packet_happening kind, uint32_t number)
{
    return cs_events_put(&e->queue, (double)t, cs_packet_key(kind, number, 0));
}

static inline CS_MUST_CHECK cs_status cs_packet_put_timer(cs_packet_events *e, cs_ps t,
                                                          uint32_t message, uint32_t timer)
{
    CS_TRY(cs_events_put(&e->queue, (double)t, cs_packet_key(CS_PACKET_TIMER, message, timer)));
    e->n_timers++;
    return CS_OK;
}

/* The port looks, when all else of this picosecond has happened, whether it can start something. */
static inline void cs_packet_kick(cs_packet_events *e, uint32_t port)
{
    if (!e->is_kicked[port]) {
        e->is_kicked[port]       = true;
        e->kicked[e->n_kicked++] = port;
    }
}

#endif
