/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/transport.h -- what hosts do with messages, packet by packet: which packet a
 * sending port starts, what a receiver answers, what is sent again and when, and how fast.
 *
 * The rules are at the head of transport.c. Hosts know nothing of queues and links but how long a
 * control packet takes: the network (queues.c) asks them for packets, hands over those that come,
 * and tells which are lost. Control packets and timers are events; where a port may have got
 * something to send it is kicked.
 */
#ifndef CS_MODELS_PACKET_TRANSPORT_H
#define CS_MODELS_PACKET_TRANSPORT_H

#include "models/packet/events.h"
#include "models/packet/train.h"

typedef struct cs_packet_hosts cs_packet_hosts;

typedef struct cs_packet {
    uint32_t step;       /* the link that it is on, or waits for, and its message (train.h) */
    uint32_t number;     /* of the message's packets, from 0 on */
    uint32_t in;         /* the network's: the link that it came over */
    uint32_t bytes : 21; /* on the wire */
    uint32_t is_marked : 1, is_resent : 1, asks : 1; /* asks: for an ACK at once */
} cs_packet;

/* All is borrowed; the ways of messages are kept in `ways`, ends are put into `ends`. NULL: out of
 * memory. */
cs_packet_hosts *cs_hosts_open(const cs_packet_net *net, cs_ways *ways, cs_packet_events *events,
                               cs_event_queue *ends);
void             cs_hosts_close(cs_packet_hosts *hosts);

/* Take over a message. Its port is not kicked: it may be ready later only. */
CS_MUST_CHECK cs_status cs_hosts_send(cs_packet_hosts *hosts, const cs_packet_message *given);

/* Let a sending port that is free start a packet, if *start_p is now. If it is later, a packet may
 * start then; if it is CS_PS_NEVER, none may before something happens. */
CS_MUST_CHECK cs_status cs_hosts_start(cs_packet_hosts *hosts, uint32_t port, cs_packet *packet,
                                       cs_ps *start_p);

/* A packet has come to the end of its way, or is lost; either once for every one that started. */
CS_MUST_CHECK cs_status cs_hosts_receive(cs_packet_hosts *hosts, const cs_packet *packet);
void                    cs_hosts_lose(cs_packet_hosts *hosts, const cs_packet *packet);

/* A control packet comes, or a timer fires. */
CS_MUST_CHECK cs_status cs_hosts_happen(cs_packet_hosts *hosts, const cs_packet_event *event);

/* Has the port messages that are not sent, or not acknowledged? */
bool cs_hosts_are_sending(const cs_packet_hosts *hosts, uint32_t port);

/* Where nothing is sent again and nothing moves any more: messages that have lost packets. */
uint32_t cs_hosts_count_losers(const cs_packet_hosts *hosts);

#endif
