/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/interference.h -- GPUs that other work slows for a while.
 *
 * Time is cut into turns of equal length. In every turn each server has 0 .. `gpus` GPUs that
 * compute longer, all numbers being equally likely, and then all sets of so many GPUs. Who it is
 * depends on the seed and the turn alone, so that every policy meets the same.
 */
#ifndef CS_WHATIF_INTERFERENCE_H
#define CS_WHATIF_INTERFERENCE_H

#include "cs/cluster.h"

typedef struct cs_interference {
    double   every_s;     /* a turn; > 0 */
    uint32_t gpus;        /* of a server, at most; 0: there is no interference */
    double   level_ratio; /* >= 0; the GPUs compute 1 + this times as long */
} cs_interference;

/* The turn of a time >= 0, and when it ends. */
uint64_t cs_interference_turn(const cs_interference *interference, double time_s);
double   cs_interference_end(const cs_interference *interference, uint64_t turn);

/* Who is slowed in a turn: fills is_slowed_p[n_ranks]. At most all GPUs of a server are. Fails with
 * CS_ENOMEM alone. O(ranks). */
CS_MUST_CHECK cs_status cs_interference_draw(const cs_interference *interference,
                                             const cs_cluster *cluster, uint64_t seed,
                                             uint64_t turn, bool *is_slowed_p, cs_error *err);

#endif
