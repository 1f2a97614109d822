/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/cluster.h -- the machine: ranks, servers and the ports they have.
 *
 * Plain data without ownership. Ranks are dense, server by server: rank r lives in server
 * r / gpus_per_server where all servers have as many GPUs. Two GPUs of one
 * server talk over NVLink, all others over the NICs (every GPU has one of its own). A server may
 * have several sockets, each with a run of its GPUs: NVLink then joins the GPUs of a socket only,
 * and a pair on different sockets uses the path between them, of which every GPU has one port.
 */
#ifndef CS_CLUSTER_H
#define CS_CLUSTER_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

CS_BEGIN_C

/* More ranks than this are refused everywhere. */
#define CS_MAX_RANKS 65536u

/* What a port of a fabric is. Every port is full duplex and carries one transfer a
 * direction at a time. */
typedef enum cs_fabric_kind {
    CS_SWITCHED, /* one tx and one rx port per rank: NIC, NVSwitch */
    CS_DIRECT,   /* one port per ordered pair of ranks in a server: NVLink mesh */
} cs_fabric_kind;

typedef struct cs_fabric {
    cs_fabric_kind kind;
    double         alpha_s;       /* start-up time of a transfer, >= 0 */
    double         bandwidth_Bps; /* of one port and direction, > 0 */
} cs_fabric;

enum { CS_NIC = 0, CS_NVLINK = 1, CS_CROSS = 2, CS_FABRICS = 3 };

typedef struct cs_topology cs_topology; /* cs/topology.h */

/* What a server has where servers differ: the rate of a port of each fabric and direction. */
typedef struct cs_server {
    double bandwidth_Bps[CS_FABRICS]; /* > 0, at most the cluster's for that fabric */
} cs_server;

/* Which ranks are whose where servers have different numbers of GPUs. */
typedef struct cs_uneven {
    uint32_t  n_servers; /* >= 2 */
    uint32_t *first;     /* [n_servers + 1] the first rank of each; n_ranks */
    uint32_t *server_of; /* [n_ranks] */
} cs_uneven;

/* The NICs of a server that its GPUs do not have one by one: those of a GPU are order[first[gpu]]
 * and the count[gpu] - 1 behind it, which others may have, too. A NIC that no GPU has is unused. */
typedef struct cs_nics {
    uint32_t        n;
    const double   *rate_Bps; /* [n] > 0; against each other: ports say what a GPU has */
    const uint32_t *first, *count, *order; /* first, count: [GPUs of the server] */
    bool            is_assumed;            /* nobody has said the rates */
} cs_nics;

typedef struct cs_cluster {
    uint32_t           n_ranks;
    uint32_t           gpus_per_server;     /* divides n_ranks; of the largest, where uneven */
    const cs_uneven   *uneven;              /* borrowed. NULL: all have gpus_per_server GPUs */
    cs_fabric          fabrics[CS_FABRICS]; /* where servers differ, with the largest rates */
    const cs_server   *servers;             /* [cs_n_servers()]; borrowed. NULL: all are alike */
    const cs_topology *topology; /* what lies between the ports; borrowed. NULL: a crossbar */
    uint32_t           sockets;  /* of a server; divides gpus_per_server. 0 means 1 */
    uint32_t nvlink_concurrent;  /* of an NVLink mesh: how many of its links a GPU drives at once in
                                    each direction. 0: all. See cs_links_at_once() */
    uint32_t nic_sharers; /* so many GPUs of a server, a run of them, share one NIC, of which the
                             port of each has an equal part (or, where `topology` has its link, all
                             of it). 0: every GPU has its own */
    const cs_nics *const *nics; /* [cs_n_servers()]; borrowed. NULL: NIC i is that of GPU i, or of
                                   the i-th run of `nic_sharers` GPUs */
    const char *assumed;        /* "as FILE does not say: RATES"; borrowed. NULL: nothing */
} cs_cluster;

/* Have all servers as many GPUs? Nearly always. */
static inline bool cs_is_even(const cs_cluster *cluster)
{
    return __builtin_expect(cluster->uneven == NULL, 1);
}

/* The server of a rank, and which of its GPUs the rank is. */
static inline uint32_t cs_server_of(const cs_cluster *cluster, uint32_t rank)
{
    return cs_is_even(cluster) ? rank / cluster->gpus_per_server : cluster->uneven->server_of[rank];
}

/* The first rank of a server; of the one behind the last, the number of ranks. */
static inline uint32_t cs_server_first(const cs_cluster *cluster, uint32_t server)
{
    return cs_is_even(cluster) ? server * cluster->gpus_per_server : cluster->uneven->first[server];
}

static inline uint32_t cs_local_rank(const cs_cluster *cluster, uint32_t rank)
{
    return cs_is_even(cluster) ? rank % cluster->gpus_per_server
                               : rank - cluster->uneven->first[cluster->uneven->server_of[rank]];
}

/* How many GPUs a server has. */
static inline uint32_t cs_server_gpus(const cs_cluster *cluster, uint32_t server)
{
    return cs_is_even(cluster)
               ? cluster->gpus_per_server
               : cluster->uneven->first[server + 1] - cluster->uneven->first[server];
}

/* The socket of a rank, counted over all servers, which have as many GPUs. */
static inline uint32_t cs_socket_of(const cs_cluster *cluster, uint32_t rank)
{
    uint32_t sockets = cluster->sockets > 1 ? cluster->sockets : 1;
    return rank / (cluster->gpus_per_server / sockets);
}

/* The fabric that a transfer from `src` to `dst` uses. */
static inline uint8_t cs_fabric_of(const cs_cluster *cluster, uint32_t src, uint32_t dst)
{
    uint32_t g = cluster->gpus_per_server;

    if (g <= 1 ||
        (cs_is_even(cluster) ? src / g != dst / g
                             : cs_server_of(cluster, src) != cs_server_of(cluster, dst))) {
        return CS_NIC;
    }
    bool crosses = cluster->sockets > 1 && cs_socket_of(cluster, src) != cs_socket_of(cluster, dst);
    return crosses ? CS_CROSS : CS_NVLINK;
}

/* How many of the fabrics there are: CS_NIC .. this - 1. */
static inline uint32_t cs_n_fabrics(const cs_cluster *cluster)
{
    if (cluster->gpus_per_server == 1) {
        return 1;
    }
    return cluster->sockets > 1 ? CS_CROSS + 1 : CS_NVLINK + 1;
}

/* Are there pairs that talk over NICs? Not inside a single server. */
static inline bool cs_uses_nics(const cs_cluster *cluster)
{
    return cluster->gpus_per_server < cluster->n_ranks;
}

/* How many links of a fabric a GPU of a server with so many GPUs has in each direction: one into a
 * switch; in a mesh, one to every other GPU (of the socket). */
static inline uint32_t cs_links_among(const cs_cluster *cluster, uint32_t fabric, uint32_t gpus)
{
    uint32_t sockets = cluster->sockets > 1 ? cluster->sockets : 1;
    uint32_t mates   = gpus / sockets - 1;

    if (fabric != CS_NVLINK) {
        return 1;
    }
    return cluster->fabrics[fabric].kind == CS_DIRECT || mates == 0 ? mates : 1;
}

/* How many a GPU of the largest server has. */
static inline uint32_t cs_links_of(const cs_cluster *cluster, uint32_t fabric)
{
    return cs_links_among(cluster, fabric, cluster->gpus_per_server);
}

/* How many of them it drives at once. A message over the mesh waits for its own link, as
 * everywhere, and for the links beside it: it starts when fewer than `nvlink_concurrent` K of the
 * other links out of its source, and of the other links into its destination, still have a message
 * that stands before it in the stream and has not left its port. So the order of the stream
 * decides, a message never waits for one behind it, K = 1 makes one port of all links of a GPU and
 * direction, each with the bandwidth of its pair, and K >= cs_links_of() changes nothing. In SHARED
 * groups every link pays its own alpha. */
static inline uint32_t cs_links_at_once_among(const cs_cluster *cluster, uint32_t fabric,
                                              uint32_t gpus)
{
    uint32_t links = cs_links_among(cluster, fabric, gpus), most = cluster->nvlink_concurrent;

    return fabric == CS_NVLINK && most > 0 && most < links ? most : links;
}

/* A GPU of the largest server. */
static inline uint32_t cs_links_at_once(const cs_cluster *cluster, uint32_t fabric)
{
    return cs_links_at_once_among(cluster, fabric, cluster->gpus_per_server);
}

/* Must messages of the fabric wait for links beside their own? */
static inline bool cs_waits_for_links(const cs_cluster *cluster, uint32_t fabric)
{
    return cs_links_at_once(cluster, fabric) < cs_links_of(cluster, fabric);
}

/* The key of a fabric in configurations and results. Static storage. */
static inline const char *cs_fabric_name(uint32_t fabric)
{
    return fabric == CS_NIC ? "nic" : fabric == CS_NVLINK ? "nvlink" : "cross";
}

/* Number of servers. */
static inline uint32_t cs_n_servers(const cs_cluster *cluster)
{
    return cs_is_even(cluster) ? cluster->n_ranks / cluster->gpus_per_server
                               : cluster->uneven->n_servers;
}

/* Beside the ranks, what schedules may send to and from: the switch that joins the GPUs of a server
 * by NVLink, and the one to which the NICs of all servers lead. They add up and pass on
 * (CS_USES_SWITCH, CS_USES_NETWORK_SWITCH in cs/schedule.h), have no contribution of their own and
 * are owed nothing. A port to a GPU is as fast as the GPU's, which is its only neighbour, so that
 * GPUs' ports are all that limits. Switches have the numbers behind the ranks', server by server,
 * and that of the network the last one. */
static inline uint32_t cs_switch_of(const cs_cluster *cluster, uint32_t server)
{
    return cluster->n_ranks + server;
}

static inline bool cs_is_switch(const cs_cluster *cluster, uint32_t end)
{
    return end >= cluster->n_ranks;
}

static inline uint32_t cs_network_switch(const cs_cluster *cluster)
{
    return cluster->n_ranks + cs_n_servers(cluster);
}

/* Ranks and switches. */
static inline uint32_t cs_n_ends(const cs_cluster *cluster)
{
    return cs_network_switch(cluster) + 1;
}

/* The rate of a port of `fabric` in a server, each direction. */
static inline double cs_server_Bps(const cs_cluster *cluster, uint32_t server, uint32_t fabric)
{
    return cluster->servers != NULL ? cluster->servers[server].bandwidth_Bps[fabric]
                                    : cluster->fabrics[fabric].bandwidth_Bps;
}

/* How many times as fast as the server's ports of `fabric` those of the fastest server are: >= 1,
 * and 1 where servers are alike. */
static inline double cs_server_ratio(const cs_cluster *cluster, uint32_t server, uint32_t fabric)
{
    return cluster->servers != NULL
               ? cluster->fabrics[fabric].bandwidth_Bps / cs_server_Bps(cluster, server, fabric)
               : 1;
}

static inline bool cs_same_server(const cs_server *a, const cs_server *b)
{
    bool is_same = true;

    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        is_same = is_same && a->bandwidth_Bps[f] == b->bandwidth_Bps[f];
    }
    return is_same;
}

/* Give the cluster servers with these rates, which it borrows: its fabrics get the largest ones,
 * and `servers` is NULL afterwards where all that are in use are alike. O(servers). */
CS_API void cs_cluster_set_servers(cs_cluster *cluster, const cs_server *servers);

/* Give the cluster servers with so many GPUs each (>= 1; CS_MAX_RANKS together at most): its ranks,
 * gpus_per_server, and, where they differ, `uneven`, whose tables of the lengths said above are the
 * caller's to provide and are filled and borrowed. To be called before cs_cluster_set_servers().
 * O(ranks). */
CS_API void cs_cluster_set_gpus(cs_cluster *cluster, const uint32_t *gpus, uint32_t n_servers,
                                cs_uneven *uneven);

/* GPUs of the smallest server. O(servers). */
CS_API uint32_t cs_least_gpus(const cs_cluster *cluster);

/* The least rate of a fabric's ports in any server. O(servers). */
CS_API double cs_least_Bps(const cs_cluster *cluster, uint32_t fabric);

CS_END_C

#endif
