/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds for AllGather, ReduceScatter and AlltoAll: everybody collects, or hands out, n blocks.
 *
 * Collecting. With one port, a node that starts with at most one block of B bytes holds V bytes
 * of blocks not before ceil(log2 V/B) alpha + (V - B) beta: the sum of both terms. Proof by
 * induction over messages in time, unit B, beta = 1, h = V: the last message of z from w holds the
 * receiving port. With h - z >= h/2 before it, t >= (L(h/2)+1) alpha + h - 1. Else z > h/2, w
 * held z when it began: t >= L(z) alpha + z - 1 + alpha + z >= (L(z)+1) alpha + h - 1. Handing out
 * n different blocks, or sums of them, is the same in reversed time, from the arrival of who
 * hands out. It is attained for every n by the circulant (Bruck) algorithms.
 * Beside that, for late and slow nodes and for servers: what must pass the ports of a node after
 * it arrived, what of the last rank's data must reach the others after it arrived, and how fast
 * that can spread.
 *
 * Blocks differ by one byte where the buffer does not split evenly, and may be empty. For
 * AlltoAll every pair is taken to exchange the smaller size.
 * Source: the proofs above; J. Bruck et al., IEEE TPDS 8 (1997); J. L. Traeff, 2024.
 */
#include "analytic/nodes.h"

#include <math.h>

typedef struct blocks {
    cs_nodes nodes;
    uint64_t bytes, most, least; /* all blocks; the largest and the smallest block */
    uint64_t last;               /* block of the rank that arrives last */
    double   bound_s;            /* largest so far */
} blocks;

/* The node receives `bytes` that are sent after `sent_s`, after its ports opened. */
static void need_receive(blocks *b, double sent_s, uint32_t node, uint64_t bytes)
{
    if (bytes > 0) {
        double open_s = cs_node_first_s(&b->nodes, node);
        double end_s  = cs_node_receive_s(&b->nodes, node, sent_s, open_s, (double)bytes);
        b->bound_s    = fmax(b->bound_s, end_s);
    }
}

/* The node sends `bytes` after `from_s`. */
static void need_send(blocks *b, double from_s, uint32_t node, uint64_t bytes)
{
    if (bytes > 0) {
        double flow_s = b->nodes.alpha_s + cs_node_flow_s(&b->nodes, node, (double)bytes);
        b->bound_s    = fmax(b->bound_s, from_s + flow_s);
    }
}

/* `bytes` of the node's own reach all nodes after `from_s` (or the reverse). */
static void need_spread(blocks *b, double from_s, uint32_t node, uint64_t bytes)
{
    if (bytes > 0) {
        double spread_s = cs_node_spread_flow_s(&b->nodes, node, (double)bytes);
        b->bound_s      = fmax(b->bound_s, from_s + spread_s);
    }
}

/* A node that has one block collects `total` bytes of them after `from_s` (or the reverse). */
static void need_collect(blocks *b, double from_s, uint64_t total)
{
    uint32_t steps = 0;

    if (b->nodes.width > 1 || !cs_nodes_alpha_adds_up(&b->nodes)) {
        return;
    }
    for (uint64_t held = b->most; held < total; held *= 2) {
        steps++;
    }
    double part   = (double)(total - b->most) / (double)b->bytes;
    double time_s = steps * b->nodes.alpha_s + part * b->nodes.x_s;
    b->bound_s    = fmax(b->bound_s, from_s + time_s);
}

static uint64_t block_of_node(const blocks *b, uint32_t node)
{
    const cs_nodes *nodes = &b->nodes;
    return cs_split_range(b->bytes, nodes->scenario->cluster.n_ranks, cs_node_first(nodes, node),
                          cs_node_ranks(nodes, node));
}

static void allgather(blocks *b, uint32_t node)
{
    uint64_t own     = block_of_node(b, node);
    double   first_s = cs_node_first_s(&b->nodes, node);

    need_receive(b, 0, node, b->bytes - own);
    need_spread(b, first_s, node, own);
    need_collect(b, 0, b->bytes);
    if (node == b->nodes.last) {
        need_spread(b, b->nodes.last_s, node, b->last);
    } else {
        need_receive(b, b->nodes.last_s, node, b->last);
    }
}

static void reduce_scatter(blocks *b, uint32_t node)
{
    uint64_t own    = block_of_node(b, node);
    double   last_s = cs_node_last_s(&b->nodes, node);

    need_send(b, last_s, node, b->bytes - own);
    need_spread(b, 0, node, own);
    need_collect(b, last_s, b->bytes);
    if (node != b->nodes.last) {
        need_receive(b, b->nodes.last_s, node, own);
    }
}

static void alltoall(blocks *b, uint32_t node)
{
    uint64_t inside  = cs_node_ranks(&b->nodes, node);
    uint64_t outside = b->nodes.scenario->cluster.n_ranks - inside;
    double   last_s  = cs_node_last_s(&b->nodes, node);

    need_send(b, cs_node_first_s(&b->nodes, node), node, inside * outside * b->least);
    need_send(b, last_s, node, outside * b->least);
    if (b->least > 0) {
        need_collect(b, last_s, (inside + outside) * b->least);
    }
    if (node != b->nodes.last) {
        need_receive(b, b->nodes.last_s, node, inside * b->least);
    }
}

/* All that must be moved, node by node; NAN if nothing must. */
static double bound_of_blocks(const cs_nodes *nodes)
{
    const cs_scenario *s   = nodes->scenario;
    uint32_t           n   = s->cluster.n_ranks;
    blocks             all = {.nodes   = *nodes,
                              .bytes   = s->bytes,
                              .most    = cs_split(s->bytes, n, 0),
                              .least   = s->bytes / n,
                              .last    = cs_split(s->bytes, n, cs_last_rank(s)),
                              .bound_s = (double)NAN};
    blocks            *b   = &all;

    for (uint32_t node = 0; node < nodes->n_nodes; node++) {
        if (s->collective == CS_ALLGATHER) {
            allgather(b, node);
        } else if (s->collective == CS_REDUCESCATTER) {
            reduce_scatter(b, node);
        } else {
            alltoall(b, node);
        }
    }
    if (s->collective != CS_ALLGATHER && b->least > 0) {
        b->bound_s = fmax(b->bound_s, b->nodes.last_s + cs_nodes_spread_s(&b->nodes));
    }
    return b->bound_s;
}

enum {
    BLOCKS = 1u << CS_ALLGATHER | 1u << CS_REDUCESCATTER | 1u << CS_ALLTOALL,
};

static double gather_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ranks, context, BLOCKS, bound_of_blocks);
}

static double server_gather_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_servers, context, BLOCKS, bound_of_blocks);
}

static double port_gather_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ports, context, BLOCKS, bound_of_blocks);
}

const cs_bound cs_bound_gather = {
    .name       = "gather",
    .summary    = "ceil(log2 n) alpha + (n-1)/n x; a_i + alpha + l_i (n-1)/n x; "
                  "a_n + ceil(log2 n) alpha + x/n",
    .assumption = "AllGather, ReduceScatter, AlltoAll; one GPU a server, or one server; a rank "
                  "neither sends nor receives before it arrives; where alpha holds no port: one",
    .source     = "collecting n blocks, by induction over messages; attained by circulant",
    .is_general = true,
    .seconds    = gather_seconds,
};

const cs_bound cs_bound_server_gather = {
    .name       = "server_gather",
    .summary    = "a + alpha + l (bytes between servers) / (g NICs); a + alpha ceil(log_{g+1} q)",
    .assumption = "AllGather, ReduceScatter, AlltoAll; q servers of g > 1 GPUs with a NIC each",
    .source     = "what must pass the NICs of a server",
    .is_general = true,
    .in_servers = true,
    .seconds    = server_gather_seconds,
};

const cs_bound cs_bound_port_gather = {
    .name    = "port_gather",
    .summary = "a_i + alpha + l_i (n-1)/n x; x, l_i of all ports of a rank",
    .assumption =
        "AllGather, ReduceScatter, AlltoAll; q servers of g > 1 GPUs; alpha of the quicker "
        "fabric",
    .source     = "what must pass the NIC and the ports inside the server of a rank",
    .is_general = true,
    .seconds    = port_gather_seconds,
};
