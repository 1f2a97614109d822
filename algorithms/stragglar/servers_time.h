/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/servers_time.h -- what StragglAR on servers (servers.h) takes.
 *
 * With step = alpha_n + c/b for a chunk of c bytes over a NIC and slot = alpha_v + c/B over NVLink,
 * x = S/(G b), N servers of L GPUs, k late ranks in one of them, q = ceil(log2 N), C chunks a rail,
 * and p slots of a late server's NVLink beside a round (servers.h):
 *
 *   chain   (C - 1 + q) max(step, p slot) + (2 L + k - 3) slot   (two servers: + max(0, L - k - 3)
 *           slot) when the pre-phase is hidden. Proof for k = 1: tau = max(step, L slot); let a_u
 *           and b_u be the latest ends of round u and of server s's phase beside it. No port has
 *           more than L messages in a phase, and slot k follows slots < k only, so b_u <=
 *           max(a_{u-1}, b_{u-1}) + L slot and a_u <= max(a_{u-1}, b_{u-1}) + step, with b_{-1} <=
 *           (L-1) slot: both are <= (L-1) slot + (u+1) tau. The others end L - 1 slots after their
 *           last round. Equal when step >= L slot and q >= 2. For k > 1 ports wait for each other
 *           where NVLink limits: up to a fifth more.
 *   direct  (C - 1 + q) max(step, p slot) + 3 (L - 1) slot; of a late rank that uses no NIC 2 L - 1
 *           slots. No proof; no replay was ever above it.
 *   pre-phase  the longest path through it, which changes once from NVLink, w = (L-1) slot for a
 *           chunk, to the NICs. No proof; no replay of one late rank on a chain was ever above it.
 *           What the early mates of a direct server take is an estimate, up to a tenth too little.
 *
 * Exposed: max(0, pre-phase - delay) + main phase, at most. Where K > 1 servers are late, the
 * rounds are at least (N + K - 1)/N C; as many are counted, so that the time is an estimate. Where
 * a GPU has a link to each of its mates instead of one into a switch, what it sends them counts
 * once and not L - 1 times.
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_SERVERS_TIME_H
#define CS_ALGORITHMS_STRAGGLAR_SERVERS_TIME_H

#include "algorithms/stragglar/servers.h"

/* The machine and the buffer, as the formulas see them. */
typedef struct cs_servers_pace {
    uint32_t servers, locals; /* N, L */
    bool     is_mesh;         /* a GPU has a link to each of its mates */
    uint32_t nic_sharers;     /* GPUs that share a NIC whose rate each of them has alone; else 1 */
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

/* The end after the first arrival: predicted; and a time before which it is not. O(1). */
double cs_servers_end_s(const cs_servers_pace *pace, const cs_servers_shape *shape);
double cs_servers_least_s(const cs_servers_pace *pace, const cs_servers_shape *shape);

/* Is the former a bound on the scenario's model: a chain or a tree for one late rank, ports of one
 * rate that does not change? */
bool cs_servers_is_bound(const cs_scenario *scenario, const cs_servers_shape *shape);

/* The end where it is known exactly on alpha-beta: where the NICs limit, for equal chunks, when the
 * pre-phase is over; else NAN. */
double cs_servers_closed_form_s(const cs_scenario *scenario, const cs_servers_shape *shape);

/* Give the shape the C with the least end, from 1 to `most`; the least of several. One server is
 * late. O(most), which is cut to CS_SERVERS_MOST_AUTO. */
enum { CS_SERVERS_MOST_AUTO = 1023 };
void cs_servers_set_best_chunks(const cs_servers_pace *pace, uint32_t most,
                                cs_servers_shape *shape);

/* A port which a chunk of a rail passes while both its NIC does and what NVLink has to do beside,
 * or a little later. */
cs_fabric cs_servers_port(const cs_servers_pace *pace, const cs_servers_shape *shape);

#endif
