/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/strategy.h -- AdapCC's two data: the logical topology that is profiled, and the
 * strategy that is synthesised for it.
 *
 * A logical topology is servers with GPUs and NICs. Servers may differ in the number of both and in
 * their rates. World ranks are dense, server by server; every GPU is near one NIC of its server,
 * and several GPUs may share one. An edge joins two ranks:
 *   in a server   a link of its own for the ordered pair, with its own alpha and rate where
 *                 `links` says so, else the server's; and (NVSwitch, sockets, a mesh of which a GPU
 *                 drives a few links at once) a port of each GPU that all its links share;
 *   between two   the egress port of the source's NIC and the ingress port of the destination's,
 *                 with the alpha and the rate of the ordered pair of servers where `net` says so,
 *                 else net_alpha_s and the slower of the two ports.
 *
 * A strategy is M trees, each over the same ranks, with a share of the buffer (S_m), a chunk (C_m)
 * and for every rank whether it adds up what it receives (a_mg = 1) or forwards it (0). A reduction
 * goes from the leaves to the root, a broadcast back.
 *
 * Source: X. Zhao et al., "AdapCC", ICDCS 2024, sections IV-A and IV-B.
 */
#ifndef CS_ALGORITHMS_ADAPCC_STRATEGY_H
#define CS_ALGORITHMS_ADAPCC_STRATEGY_H

#include "base/arena.h"
#include "cs/scenario.h"

/* A rate and a start-up time of one ordered pair. */
typedef struct cs_logical_link {
    double alpha_s, bandwidth_Bps; /* >= 0, > 0 */
} cs_logical_link;

typedef struct cs_logical_nic {
    uint32_t server;
    double   egress_Bps, ingress_Bps; /* > 0 */
} cs_logical_nic;

typedef struct cs_logical_server {
    uint32_t  first_rank, n_gpus; /* n_gpus >= 1 */
    uint32_t  first_nic, n_nics;  /* n_nics >= 1 */
    uint32_t  n_sockets;          /* runs of equal length of its GPUs, >= 1 */
    uint32_t  links_at_once;      /* of a CS_DIRECT mesh, a GPU and a direction; 0: all */
    cs_fabric nvlink;             /* inside a socket: of a pair (CS_DIRECT) or a GPU's port */
    cs_fabric cross;              /* between sockets: of a GPU's port. Unused with one socket */
    /* [n_gpus][n_gpus] from, to (local): what a pair has of its own; rate 0: nothing. NULL: no pair
     * has. */
    cs_logical_link *links;
    const char      *ip; /* what names the server in files */
} cs_logical_server;

/* `{0}` is an empty one. All memory is the arena's. */
typedef struct cs_logical {
    uint32_t           n_ranks, n_servers, n_nics;
    cs_logical_server *servers;   /* [n_servers] */
    cs_logical_nic    *nics;      /* [n_nics] server by server */
    uint32_t          *server_of; /* [n_ranks] */
    uint32_t          *nic_of;    /* [n_ranks] */
    double             net_alpha_s;
    cs_logical_link   *net; /* [n_servers][n_servers] from, to; rate 0, NULL: as said above */
    bool holds_both; /* a transfer between servers keeps the ports of both its NICs for as long as
                        the slower one needs, as on port models; else they share them */
    cs_arena arena;
} cs_logical;

/* Servers of one kind, one behind the other. GPU i of n is near NIC i * n_nics / n. */
typedef struct cs_logical_kind {
    uint32_t  count, n_gpus, n_nics; /* >= 1 each, n_nics <= n_gpus */
    double    nic_Bps;               /* of one NIC and direction */
    cs_fabric nvlink;
} cs_logical_kind;

/* Build a topology of `n_kinds` kinds, whose servers are called 10.0.0.1, 10.0.0.2, .. Refuses
 * what has no meaning and more ranks than CS_MAX_RANKS. O(ranks). The caller frees it, also after a
 * failure. */
CS_MUST_CHECK cs_status cs_logical_make(cs_logical *logical, const cs_logical_kind *kinds,
                                        size_t n_kinds, double net_alpha_s, cs_error *err);

/* Are the messages that a model with these options has at a port at the same time under way beside
 * each other, as flows and packets are? Else the port serves one after the other. */
struct cs_model;
bool cs_ports_are_shared(const struct cs_model *model, const void *options);

/* The topology of a scenario's cluster, as a profile at its begin would find it: servers with their
 * own rates, and NICs slowed by what slows their server at time 0. On port models every GPU has a
 * NIC, which may be its part of one that GPUs share. Where the cluster's topology has links, GPUs
 * share their NIC, and it is as fast as the widest of some ways from and to other servers.
 * holds_both is set where the scenario forecasts with a model whose ports are not shared. */
CS_MUST_CHECK cs_status cs_logical_of_scenario(cs_logical *logical, const cs_scenario *scenario,
                                               cs_error *err);

/* Refuse what cannot be a topology: a server without GPU or NIC, ranks or NICs that are not dense,
 * rates that are not positive. For what was not made by the two functions above. */
CS_MUST_CHECK cs_status cs_logical_check(const cs_logical *logical, cs_error *err);

void cs_logical_free(cs_logical *logical);

/* Ports are numbered: of NICs, of GPUs into NVLink, of GPUs across sockets. */
#define CS_NO_PORT UINT32_MAX
static inline uint32_t cs_logical_n_ports(const cs_logical *logical)
{
    return logical->n_nics + 2 * logical->n_ranks;
}

/* What a transfer from one rank to another meets: a link of the pair, and a port at each end. */
typedef struct cs_logical_edge {
    double   alpha_s, bandwidth_Bps; /* of the pair, alone on its ports */
    uint32_t egress, ingress;        /* ports, or CS_NO_PORT both: the link alone */
    double   egress_Bps, ingress_Bps;
    bool     is_net;
} cs_logical_edge;

/* src != dst. O(1). */
cs_logical_edge cs_logical_edge_of(const cs_logical *logical, uint32_t src, uint32_t dst);

/* In place of a parent. */
#define CS_TREE_ROOT   UINT32_MAX
#define CS_TREE_ABSENT (UINT32_MAX - 1) /* the rank is in no tree (it was excluded) */

typedef struct cs_strategy_tree {
    uint64_t  size_bytes;  /* S_m */
    uint64_t  chunk_bytes; /* C_m, 1 .. S_m (any, where S_m is 0) */
    uint32_t *parent;      /* [n_ranks] rank, CS_TREE_ROOT or CS_TREE_ABSENT */
    bool     *aggregates;  /* [n_ranks] a_mg */
    /* Filled by cs_strategy_check() and cs_strategy_sort(): the ranks of the tree level by level,
     * so that parents stand before children and the children of a rank, in ascending order, side by
     * side: order[first_child[g]] .. order[first_child[g] + n_children[g] - 1]. order[0] is the
     * root. */
    uint32_t *order;       /* [n_members] */
    uint32_t *first_child; /* [n_ranks] */
    uint32_t *n_children;  /* [n_ranks] */
} cs_strategy_tree;

/* `{0}` is an empty one. All memory is its own. */
typedef struct cs_strategy {
    uint32_t          n_ranks, n_trees;
    uint32_t          n_members; /* ranks in each tree */
    cs_strategy_tree *trees;     /* [n_trees] */
    uint32_t         *siblings;  /* [n_ranks] at work in cs_strategy_sort() */
    const char      **ip;        /* [n_ranks] what a file calls the rank's server; NULL: no file */
    cs_arena          arena;
} cs_strategy;

enum { CS_STRATEGY_MAX_TREES = 1024 };

/* Room for trees over n_ranks ranks: none has a place yet (CS_TREE_ABSENT), all would aggregate.
 * Refuses 0 and more than CS_STRATEGY_MAX_TREES trees. The caller frees it, also after a failure.
 * Give every member its parent, then call cs_strategy_check(). */
CS_MUST_CHECK cs_status cs_strategy_make(cs_strategy *strategy, uint32_t n_ranks, uint32_t n_trees,
                                         cs_error *err);
void                    cs_strategy_free(cs_strategy *strategy);

/* A copy of another strategy, which was checked, without `ip`. */
CS_MUST_CHECK cs_status cs_strategy_copy(cs_strategy *strategy, const cs_strategy *of,
                                         cs_error *err);

/* Split `bytes` equally over the trees, the first ones one byte more, in chunks of chunk_bytes (of
 * a whole share, where that is less). */
void cs_strategy_set_sizes(cs_strategy *strategy, uint64_t bytes, uint64_t chunk_bytes);

/* Chunks of a tree: ceil(S_m / C_m), at least 1. */
static inline uint64_t cs_tree_n_chunks(const cs_strategy_tree *tree)
{
    return tree->size_bytes <= tree->chunk_bytes
               ? 1
               : (tree->size_bytes + tree->chunk_bytes - 1) / tree->chunk_bytes;
}

/* Of all trees the largest. */
static inline uint64_t cs_strategy_chunk_bytes(const cs_strategy *strategy)
{
    uint64_t largest = 0;

    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        uint64_t chunk = strategy->trees[m].chunk_bytes;
        largest        = chunk > largest ? chunk : largest;
    }
    return largest;
}

static inline uint32_t cs_tree_root(const cs_strategy_tree *tree)
{
    return tree->order[0];
}

/* Work out order, first_child and n_children of tree m from its parents, which are ranks below
 * n_ranks. False: it is no tree over n_members ranks (a circle, no root, or several). O(ranks). */
bool cs_strategy_sort(cs_strategy *strategy, uint32_t m);

/* Is every tree one: a root, no circle, parents that are in it, all over the same ranks? Sets
 * n_members and sorts the trees. The refusal (CS_EINVAL) names tree and rank. O(trees x ranks). */
CS_MUST_CHECK cs_status cs_strategy_check(cs_strategy *strategy, cs_error *err);

/* Take ranks out of all trees: the ranks below one go to the next one above it that stays. Where a
 * root goes, the first rank, level by level, that has nobody above it is the new one, and the
 * others of those hang below it. The strategy was checked, and it is again. Refuses to take all.
 * O(trees x ranks). */
CS_MUST_CHECK cs_status cs_strategy_exclude(cs_strategy *strategy, const bool *excluded,
                                            cs_error *err);

/* Refuse a strategy for another cluster: with another number of ranks than the topology's, or
 * (where it is from a file) with other ranks in one server. O(ranks). */
CS_MUST_CHECK cs_status cs_strategy_fits(const cs_strategy *strategy, const cs_logical *logical,
                                         cs_error *err);

/* A strategy as a file has it (schedules/strategy_xml.h). `{0}` is empty. */
typedef struct cs_strategy_file {
    cs_strategy strategy;   /* checked, with `ip`; its sizes are 0 where the file has none */
    bool        has_sizes;  /* and the size of every tree is the file's */
    bool        has_chunks; /* chunk_bytes is the file's; else 1 */
} cs_strategy_file;

/* Give the trees of a file what it does not say: equal shares of `bytes`, chunks of `chunk_bytes`
 * (0: the file's; a whole share where it has none). Refuses sizes that add up to something else,
 * and chunks larger than their tree. */
CS_MUST_CHECK cs_status cs_strategy_file_finish(cs_strategy_file *file, uint64_t bytes,
                                                uint64_t chunk_bytes, cs_error *err);

#endif
