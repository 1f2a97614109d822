/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/deadlock.h -- paused links that wait for each other.
 *
 * A paused link waits for the switch at its far end: for every paused port there at which packets
 * wait that came over it. Where nothing moves any more, some of them wait in a circle.
 */
#ifndef CS_MODELS_PACKET_DEADLOCK_H
#define CS_MODELS_PACKET_DEADLOCK_H

#include "models/packet/net.h"

/* Packets that came over link `from`, which is paused, wait at port `to`, which is paused, too. */
typedef struct cs_packet_wait {
    uint32_t from, to;
} cs_packet_wait;

/* Write "deadlock: links 6 -> 7 -> 8 -> 6 wait for each other", or with names and "; " between
 * them, for a circle among the waits, from
 * its lowest link on; "deadlock: paused links wait for each other" where there is none. The waits
 * are sorted and used up. O(n^2) in the worst case. */
void cs_packet_deadlock_text(const cs_packet_net *net, cs_packet_wait *waits, size_t n, char *text,
                             size_t room);

#endif
