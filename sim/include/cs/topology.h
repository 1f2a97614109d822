/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/topology.h -- the links between the ports of a cluster, as data for network models.
 *
 * The ports of the ranks are the cluster's (cs/cluster.h) and every transfer occupies one at each
 * end. A topology adds what lies between them: *inner links*, each of one direction, and for every
 * pair of ranks and fabric the list of those on the way (static routes). Where several ways are
 * equally good, it can list these *paths*, too. No topology at all is the crossbar, on which only
 * ports limit a transfer.
 *
 * A kind of topology is a const table of functions (cs_topology_kind) over plain data.
 */
#ifndef CS_TOPOLOGY_H
#define CS_TOPOLOGY_H

#include "cs/cluster.h"
#include "cs/error.h"

CS_BEGIN_C

/* A route has at most this many inner links, and a pair at most so many paths. */
#define CS_MAX_ROUTE 30u
#define CS_MAX_PATHS 64u

typedef struct cs_link {
    double bandwidth_Bps; /* of this direction, > 0 */
    double latency_s;     /* that the link adds to every message, >= 0 */
    bool   is_ingress;    /* leads into one GPU or server: models apply incast here */
} cs_link;

typedef struct cs_topology_kind {
    const char *name; /* "leaf-spine" */

    /* Does the topology serve this cluster: is there a way between every two ranks? */
    cs_status (*check)(const cs_topology *topology, const cs_cluster *cluster, cs_error *err);

    /* Write the inner links on the way from `src` to `dst` over `fabric`, in their order, and
     * return how many (at most max_route; 0: only the two ports). The same for the same arguments;
     * checked topologies only. O(route). */
    uint32_t (*route)(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                      uint32_t dst, uint32_t fabric, uint32_t *links);

    /* A name of the link for people, as snprintf() writes it. */
    void (*link_name)(const cs_topology *topology, uint32_t link, char *text, size_t text_bytes);

    /* Optional. The inner links that are the NIC of a rank, out of the server and into it, of the
     * first of the ranks that have it; how many (2, or 0: it is another rank's). They slow down
     * with the rank's port. Without it ports are all that there is of NICs. */
    uint32_t (*nic_links)(const cs_topology *topology, const cs_cluster *cluster, uint32_t rank,
                          uint32_t *links);

    /* Optional, both or neither; without them route() is the only path. How many paths there are
     * between two ranks over a fabric, from 1 to CS_MAX_PATHS; and path `i` of them, written as
     * route() writes it. Path 0 is route(), path i what the route would be if src + dst were larger
     * by i. A way that switches choose more often than others is in the list more than once. */
    uint32_t (*n_paths)(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                        uint32_t dst, uint32_t fabric);
    uint32_t (*path)(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                     uint32_t dst, uint32_t fabric, uint32_t i, uint32_t *links);
} cs_topology_kind;

/* Borrowed from whoever made it. */
struct cs_topology {
    const cs_topology_kind *kind;
    uint32_t                n_links;
    const cs_link          *links;
    uint32_t                max_route; /* the most inner links of any route */
    const void             *data;      /* of the kind */
};

/* Leaves and spines: servers fill the leaves in order, as many to each (the last ones may have
 * fewer), and every leaf has one full-duplex uplink to every spine: link 2 (leaf * spines + spine)
 * leads up, the next one down. Ranks of one leaf meet in it; all others go over the spine
 * (src + dst) % spines, whatever else happens; their path i is over the i-th spine behind it. */
typedef struct cs_leaf_spine {
    uint32_t n_leaves, n_spines;
    double   uplink_bandwidth_Bps; /* of one uplink and direction */
    double   hop_latency_s;        /* of every uplink, up or down */
} cs_leaf_spine;

enum { CS_MAX_LINKS = 1 << 24 };

/* Fill `topology` with a leaf-spine network of 2 * leaves * spines links; `links` has room for
 * them and is borrowed, as is `shape`. */
CS_API void cs_leaf_spine_make(const cs_leaf_spine *shape, cs_link *links, cs_topology *topology);

/* The shape of a topology that is leaf-spine, else NULL; and the leaf of a rank. */
CS_API const cs_leaf_spine *cs_leaf_spine_of(const cs_topology *topology);
CS_API uint32_t cs_leaf_of(const cs_leaf_spine *shape, const cs_cluster *cluster, uint32_t rank);

/* How many paths there are between two ranks, and path i: of kinds that list none, the route. */
CS_API uint32_t cs_topology_n_paths(const cs_topology *topology, const cs_cluster *cluster,
                                    uint32_t src, uint32_t dst, uint32_t fabric);
CS_API uint32_t cs_topology_path(const cs_topology *topology, const cs_cluster *cluster,
                                 uint32_t src, uint32_t dst, uint32_t fabric, uint32_t i,
                                 uint32_t *links);

/* Refuse links without capacity or with a latency that is negative or no number, then what the
 * kind refuses. O(links). */
CS_API CS_MUST_CHECK cs_status cs_topology_check(const cs_topology *topology,
                                                 const cs_cluster *cluster, cs_error *err);

CS_END_C

#endif
