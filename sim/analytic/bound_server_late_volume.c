/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The volume bound for AllReduce over servers of which some wait for their last GPUs.
 *
 * At a_n the last ranks arrive, on K servers: the *late* ones. Server v sends r_v bytes a second at
 * most, from the moment f_v on at which its first rank arrives. Then the end T satisfies
 *     (T - a_n) sum_v r_v  >=  2(N-1) S - sum_{v not late} (a_n - f_v) r_v                     (1)
 *     (T - a_n) sum_v r_v  >=  (N+K-2) S                                                      (2)
 * So what a late server sends before a_n is of no use, only what it receives.
 *
 * Proof, byte by byte, on the graph of servers. A server is complete when what all ranks contribute
 * to the byte, added up in whatever way, has come into it; f is the first one to be. That is after
 * a_n. Let m transfers of the byte begin before a_n at servers that are not late; they leave c >= N
 * - m components. (i) Every late server w other than f sends after a_n, on the way that its late
 * contribution takes to f. (ii) Every component without f and without a late server sends after
 * a_n, on the way to f: what leaves it cannot be older, or the component would be larger. These are
 * at least c - 1 senders, all different, and at least K - 1; what they send has arrived when f is
 * complete. (iii) Each of the other N - 1 servers has a reception that completes it, not before f
 * is complete. If it were one of the former, it would end on the way to f, so before another
 * transfer, which ends when f is complete or earlier. So 2(N-1) - m transfers, and N + K - 2, are
 * needed that are not among the m. Those m take the NICs of servers that are not late from f_v on,
 * all others the NICs from a_n on; a message that is under way at a_n takes from both what it adds
 * to both. Sum over the bytes.
 *
 * For ranks instead of servers (1) is what bound_volume.c says at t = 0, since a late rank sends
 * nothing before it comes; a late server may.
 *
 * Source: this project; the proof above.
 */
#include "analytic/nodes.h"

#include <math.h>

static double late_volume(const cs_nodes *nodes)
{
    double   bytes = (double)nodes->scenario->bytes, n = nodes->n_nodes;
    double   rate_Bps = 0, early_bytes = 0;
    uint32_t late = 0;

    for (uint32_t node = 0; node < nodes->n_nodes; node++) {
        double node_Bps = nodes->all_Bps / cs_node_slow(nodes, node);
        bool   is_late  = cs_node_last_s(nodes, node) >= nodes->last_s;

        rate_Bps += node_Bps;
        late += is_late;
        early_bytes += is_late ? 0 : node_Bps * (nodes->last_s - cs_node_first_s(nodes, node));
    }
    double left_bytes = fmax(2 * (n - 1) * bytes - early_bytes, (n + late - 2) * bytes);
    return nodes->last_s + left_bytes / rate_Bps;
}

static double server_late_volume_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_servers, context, 1u << CS_ALLREDUCE, late_volume);
}

const cs_bound cs_bound_server_late_volume = {
    .name       = "server_late_volume",
    .summary    = "a_n + max(2(q-1) x/g - sum over early servers (a_n - f_i)/l_i, (q+K-2) x/g) / "
                  "sum 1/l_i",
    .assumption = "AllReduce; q servers of g > 1 GPUs with a NIC each, K of them with a rank that "
                  "comes last; a server neither sends nor receives before its first rank arrives",
    .source     = "what a server sends before its last rank has come is of no use",
    .is_general = true,
    .in_servers = true,
    .seconds    = server_late_volume_seconds,
};
