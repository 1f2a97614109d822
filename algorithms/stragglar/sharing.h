/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/sharing.h -- a share of the buffer by StragglAR, the rest by rings.
 *
 * When the delay of the late rank is too short to hide the pre-phase of the whole buffer, StragglAR
 * gets a share whose pre-phase it does hide. The rest goes around rings, which need all ranks, and
 * therefore stands behind. There are N servers of L GPUs with a rail for each GPU, labels as in
 * servers.h (L = 1: N ranks, and nothing happens inside servers).
 *
 * The rest. Every rail has a part, of K segments of N blocks. The servers pass the blocks of a
 * segment around a ring, first adding (ReduceScatter, M = N - 1 steps), then copying (AllGather, M
 * steps). The AllGather of a segment takes turns with the ReduceScatter of the next. Beside every
 * second step one block of every rail is added up inside servers, beside the others one that is
 * complete is handed out, by a shift of the GPUs in every slot: L - 1 slots a step, where segments
 * one behind the other (hierarchical) need them all for sums first, and then all for final values.
 *
 * Order of the stream: StragglAR's, then that of the rest; but the local sums of the first blocks
 * stand where r has given its last contribution to its mates, before the last rounds of the main
 * phase. Every port serves its transfers in this order and waits for nothing that stands behind; so
 * the rings take over the ports one by one as the main phase leaves them. The two are schedules of
 * their own, for two parts of the buffer, in chunks and slots of their own: each is right by
 * itself.
 *
 * How long it takes: at most one behind the other (cs_servers_end_s for the share, then
 * cs_sharing_rest_s; no proof, but no replay of equal chunks was ever above it). With x = S/(L b),
 * many chunks, no alpha, and while NVLink keeps up, a share theta has its pre-phase hidden by a
 * delay d = theta (N-2)/(N-1) x, and then takes theta x after it, the rest (1 - theta) 2 (N-1)/N x.
 * Together this is (N-1)/N (2 x - d), the lower bound (bound_server_late_volume.c), for every delay
 * up to the one that hides the pre-phase of all; from there on theta = 1, and x is the bound.
 *
 * Memory O(N L + M), of which a block of transfers is the most, and N K + 1 slots (L = 1: N K)
 * beside StragglAR's. O(1) per transfer.
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_SHARING_H
#define CS_ALGORITHMS_STRAGGLAR_SHARING_H

#include "algorithms/stragglar/servers_time.h"

typedef struct cs_sharing_shape {
    bool     is_flat;    /* L = 1: ranks that know no servers */
    uint32_t late;       /* rank, whose server has the last label */
    uint64_t main_bytes; /* by StragglAR: less than the buffer; 0: there is only the rest */
    uint32_t segments;   /* K >= 1 */
} cs_sharing_shape;

/* StragglAR for its share: an open stream, its algorithm and plan; NULL state: the share is 0. */
typedef struct cs_sharing_main {
    const cs_plan      *plan;
    const cs_algorithm *algorithm;
    void               *state;
} cs_sharing_main;

/* Plan of both, given that of the share (all zero where there is none). Refused: more slots than a
 * rank can have. */
cs_status cs_sharing_plan(const cs_scenario *scenario, const cs_sharing_shape *shape,
                          const cs_plan *main, cs_plan *plan, cs_error *err);

/* A stream; borrows the scenario and the plan, takes over the share's state, also when it fails.
 * cs_sharing_close() it (NULL is allowed), also after a failure. */
typedef struct cs_sharing cs_sharing;

cs_status cs_sharing_open(const cs_scenario *scenario, const cs_sharing_shape *shape,
                          const cs_sharing_main *main, cs_sharing **stream_p, cs_error *err);
void      cs_sharing_next(cs_sharing *stream, cs_block *block);
void      cs_sharing_close(cs_sharing *stream);

/* What the rest takes behind the share: K segments of 2 (N - 1) steps of alpha_n + a block, or
 * where that is more the slots of NVLink for K N blocks that are added up and handed out, and then
 * the slots of the last one. The pace is that of the whole buffer. O(1). */
double cs_sharing_rest_s(const cs_servers_pace *pace, const cs_sharing_shape *shape);

#endif
