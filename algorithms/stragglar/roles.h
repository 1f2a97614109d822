/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/roles.h -- who does what in StragglAR over servers (servers.h): which
 * servers are late, and inside each which GPUs are late and which use a NIC.
 *
 * Servers have labels: 0 .. E - 1 the early ones, by their number; E .. N - 1 the K late ones,
 * which have a late rank. In a server, GPUs have labels 0 .. L - 1: late gateways, other late
 * ranks, early gateways, the others; so late ones are 0 .. k - 1. G gateways of a server use a NIC
 * each. With G = L that is every GPU; with fewer, GPUs i L/G .. (i + 1) L/G - 1 have a NIC
 * together, and the first of them that is not late is its gateway. What the gateways of one NIC
 * carry is a *rail*: rail i is the i-th gateway of the first late server, by label, and the same
 * NIC of the others. With one late rank r and G = L, label p is GPU r + p mod L on all servers, and
 * rail p.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_ROLES_H
#define CS_ALGORITHMS_STRAGGLAR_ROLES_H

#include "base/arena.h"
#include "cs/scenario.h"

/* The late ranks of a scenario, and where they are. */
typedef struct cs_late_ranks {
    uint32_t  count;
    uint32_t  n_servers;  /* K servers have one */
    uint32_t  most;       /* of a server */
    uint32_t  most_mixed; /* of a server of which some GPU is early; 0: there is none */
    double    early_s;    /* the last of the other ranks comes */
    double    last_s;     /* the last of them comes */
    uint32_t *of_server;  /* [servers] */
    bool     *is_late;    /* [ranks] */
} cs_late_ranks;

/* `late` alone if count is 1, otherwise the `count` ranks that come last, of those that come
 * together the highest. Tables are the arena's. O(n log n). */
cs_status cs_late_ranks_find(const cs_scenario *scenario, uint32_t late, uint32_t count,
                             cs_arena *arena, cs_late_ranks *ranks_p, cs_error *err);

/* A server's GPUs. */
typedef struct cs_server_roles {
    uint32_t  n_late, n_early; /* k and L - k */
    uint32_t  n_late_gates;    /* gateways that are late: labels 0 .. this - 1 */
    uint32_t *local;           /* [2 L] number in the server of label p mod L */
    uint32_t *gate;            /* [G] label of a rail's gateway */
    uint32_t *rail;            /* [L] rail of a label, or CS_NO_RAIL */
} cs_server_roles;

#define CS_NO_RAIL UINT32_MAX

typedef struct cs_roles {
    uint32_t         n, early;      /* N, E */
    uint32_t         locals, rails; /* L, G */
    uint32_t        *first;         /* [N] first rank of the server with a label */
    cs_server_roles  early_server;  /* the same for all */
    cs_server_roles *late_server;   /* [N - E] */
} cs_roles;

/* `gateways` divides L; at least one server is late and one is not. `late_order`: the numbers of
 * the late servers in the order of their labels; NULL where there is one. Tables are the arena's.
 * O(N + (K + 1) L). */
cs_status cs_roles_make(const cs_scenario *scenario, const cs_late_ranks *late, uint32_t gateways,
                        const uint32_t *late_order, cs_arena *arena, cs_roles *roles_p,
                        cs_error *err);

#endif
