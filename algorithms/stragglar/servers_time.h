/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/servers_time.h -- what StragglAR on servers (servers.h) takes.
 *
 * With step = alpha_n + c/b for a chunk of c bytes over a NIC and slot = alpha_v + c/B over NVLink,
 * x = S/(L b), N servers of L GPUs, q = ceil(log2 N) and C chunks a rail:
 *
 *   main phase  (C - 1 + q) max(step, L slot) + 2 (L - 1) slot    (two servers: + max(0, L - 4)
 * slot) when the pre-phase is hidden. Proof: tau = max(step, L slot); let a_u and b_u be the latest
 * ends of round u and of server s's phase beside it. No port has more than L messages in a phase,
 * and slot k follows slots < k only, so b_u <= max(a_{u-1}, b_{u-1}) + L slot and a_u <=
 * max(a_{u-1}, b_{u-1}) + step, with b_{-1} <= (L-1) slot: both are <= (L-1) slot + (u+1) tau. The
 * others end L - 1 slots after their last round. Equal when step >= L slot and q >= 2. pre-phase
 * the longest path through it, which changes once from NVLink, w = (L-1) slot for a chunk, to the
 * NICs; no proof, but no replay was ever above it.
 *
 * Exposed: max(0, pre-phase - delay) + main phase, at most. Where a GPU has a link to each of its
 * mates instead of one into a switch, what it sends them counts once and not L - 1 times.
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_SERVERS_TIME_H
#define CS_ALGORITHMS_STRAGGLAR_SERVERS_TIME_H

#include "algorithms/stragglar/servers.h"

/* The machine and the buffer, as the formulas see them. */
typedef struct cs_servers_pace {
    uint32_t servers, locals; /* N, L */
    uint32_t phase_slots;     /* of a GPU of server s beside a round */
    uint32_t pass_slots;      /* to send a chunk to each of its mates, or to get one of each */
    double   bytes;
    double   nic_alpha_s, nic_s_per_byte; /* of the slowest NIC, if it is slow for ever */
    double   nvlink_alpha_s, nvlink_s_per_byte;
} cs_servers_pace;

cs_servers_pace cs_servers_pace_of(const cs_scenario *scenario);

/* Both phases. O(1). */
double cs_servers_pre_s(const cs_servers_pace *pace, const cs_servers_shape *shape);
double cs_servers_main_s(const cs_servers_pace *pace, const cs_servers_shape *shape);

/* Is the latter exact, for equal chunks and a pre-phase that is hidden? */
bool cs_servers_is_exact(const cs_servers_pace *pace, const cs_servers_shape *shape);

/* After the first arrival, when the last of the early ranks comes at early_s, the late one at
 * late_s. */
double cs_servers_end_s(const cs_servers_pace *pace, const cs_servers_shape *shape, double early_s,
                        double late_s);

/* Give the shape the C with the least end, from 1 to `most`; the least of several. O(most), which
 * is cut to CS_SERVERS_MOST_AUTO. */
enum { CS_SERVERS_MOST_AUTO = 1023 };
void cs_servers_set_best_chunks(const cs_servers_pace *pace, uint32_t most, double early_s,
                                double late_s, cs_servers_shape *shape);

#endif
