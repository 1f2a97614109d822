/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/packet_hosts.h -- the hosts of the oracle of packets: which packet a sending port
 * sends next, what a receiver does with one that comes, and which messages end by that. Transports
 * are written from the rules at the heads of models/packet/transport.c and dcqcn.h alone.
 */
#ifndef CT_SUPPORT_PACKET_HOSTS_H
#define CT_SUPPORT_PACKET_HOSTS_H

#include "support/packet_events.h"
#include "support/packet_oracle.h"

typedef struct ct_packet_hosts ct_packet_hosts;

/* All is borrowed; ranks that come are events then. Free it with ct_packet_hosts_free(). */
ct_packet_hosts *ct_packet_hosts_new(const cs_packet_net *net, const ct_packet_schedule *schedule,
                                     ct_packet_events *events, ct_packet_answer *answer);
void             ct_packet_hosts_free(ct_packet_hosts *hosts);

/* What a sending port that is free starts now; false: nothing. */
bool ct_packet_hosts_send(ct_packet_hosts *hosts, uint32_t port, ct_packet *packet);

/* Has a port messages that are not sent, or not acknowledged? */
bool ct_packet_hosts_are_sending(ct_packet_hosts *hosts, uint32_t port);

/* A packet has come to the end of its way. */
void ct_packet_hosts_receive(ct_packet_hosts *hosts, const ct_packet *packet);

/* A rank comes, a control packet, or a timer fires. */
void ct_packet_hosts_happen(ct_packet_hosts *hosts, const ct_packet_event *event);

/* The link at a place of a packet's way. */
uint32_t ct_packet_link(const cs_packet_net *net, const ct_packet_schedule *schedule,
                        const ct_packet *packet, uint32_t hop);

#endif
