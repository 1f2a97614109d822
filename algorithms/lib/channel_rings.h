/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/channel_rings.h -- several rings through all ranks, each with its share of
 * every block, as NCCL's channels.
 *
 * Every ring goes through the servers in order and through all L local ranks of a server; ring
 * j has an order of its own inside the servers, so that every ring enters and leaves a server by
 * another NIC. In step t the rank at position i of a ring of n sends the part of the block of
 * position (i - 1 - t) mod n to position i + 1. The first n - 1 steps add (ReduceScatter), the
 * next n - 1 copy (AllGather). An iterator: O(1) state, O(1) per transfer, no allocation.
 */
#ifndef CS_ALGORITHMS_LIB_CHANNEL_RINGS_H
#define CS_ALGORITHMS_LIB_CHANNEL_RINGS_H

#include "cs/schedule.h"

/* The order of ring j inside a server. */
typedef enum cs_channel_order {
    CS_CHANNEL_ROTATED, /* j, j + 1, .. : entries and exits differ */
    CS_CHANNEL_SOCKETS, /* one socket, then the other (L even), so that a ring crosses between
                           them once: 0123, 2301, 1032, 3210 */
} cs_channel_order;

/* Set the first group, the rest to zero. */
typedef struct cs_channel_rings {
    const cs_scenario *scenario; /* AllReduce, ReduceScatter or AllGather */
    uint32_t           channels; /* 1 .. gpus_per_server, or 1 */
    cs_channel_order   order;

    uint32_t step, channel, position; /* next; steps count from 0 for every collective */
} cs_channel_rings;

/* Steps of the scenario's collective. */
uint32_t cs_channel_steps(const cs_scenario *scenario);

/* Everything that check() fills in: one block per rank, in `channels` chunks each. */
cs_plan cs_channel_plan(const cs_channel_rings *rings);

/* Fill the block; count = 0 at the end. */
void cs_channel_next(cs_channel_rings *rings, cs_block *block);

/* The steps one after the other over the NICs, in seconds: exact for equal parts when a server's
 * inside is not slower than its NICs, all arrive together and no NIC is slow; otherwise NAN. */
double cs_channel_closed_form_s(const cs_channel_rings *rings);

#endif
