/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bounds of OptCC's paper: T0 and Theorems 1, 2, 3, 6 and 13.
 *
 * All count bytes only, no alpha. They rest on 2(p-1) transfers per byte (Lemma 10, by an
 * indistinguishability argument for any asynchronous schedule) and on what a slow port must
 * send and receive at least. Theorems 6 and 13 also count that a healthy port is held at the
 * slow port's pace: they need transfers one at a time. The paper proves them for exactly one
 * slow rank or server; for several, Theorem 2. T0 of the paper for g > 1 is the time of its
 * ring, not a bound (reducing inside the servers first is faster), so it is left out there. A
 * server with fewer NICs than the others is slow for Theorem 3, which counts what flows through a
 * server, but holds nobody's ports at its pace: Theorem 13 says nothing there.
 *
 * Source: "Don't Let a Few Network Failures Slow the Entire AllReduce", appendix B.
 */
#include "analytic/formula.h"
#include "analytic/nodes.h"
#include "base/alloc.h"
#include "cs/capacity.h"

#include <math.h>

static double t0_s(const cs_nodes *nodes)
{
    return cs_formula_t0(nodes->n_nodes, 1) * nodes->x_s;
}

/* The slowdown of the only slow node, or NAN. */
static double only_slow(const cs_nodes *nodes)
{
    uint32_t node = 0;

    return cs_nodes_slow_count(nodes, &node) == 1 ? cs_node_slow(nodes, node) : (double)NAN;
}

static double theorem_1_s(const cs_nodes *nodes)
{
    double slow = only_slow(nodes);
    return isnan(slow) ? slow : cs_formula_theorem_1(nodes->n_nodes, slow) * nodes->x_s;
}

static double theorem_6_s(const cs_nodes *nodes)
{
    double slow = nodes->context->shares_ports ? (double)NAN : only_slow(nodes);
    return isnan(slow) ? slow : cs_formula_theorem_6(nodes->n_nodes, slow) * nodes->x_s;
}

/* x_s of servers has the division by g in it, so the formulas are asked with g = 1. */
static double theorem_3_s(const cs_nodes *nodes)
{
    double slow = only_slow(nodes);
    return isnan(slow) ? slow : cs_formula_theorem_3(nodes->n_nodes, 1, slow) * nodes->x_s;
}

/* What is slow is every port of the server, by which it holds those of the others for longer. */
static double theorem_13_s(const cs_nodes *nodes)
{
    bool holds = !nodes->context->shares_ports && nodes->scenario->cluster.uneven == NULL &&
                 !cs_capacity_is_single(nodes->scenario);
    double slow = holds ? only_slow(nodes) : (double)NAN;
    return isnan(slow) ? slow : cs_formula_theorem_13(nodes->n_nodes, 1, slow) * nodes->x_s;
}

static double theorem_2_s(const cs_nodes *nodes)
{
    double  *slow   = CS_NEW(double, nodes->n_nodes);
    uint32_t n_slow = 0;

    if (slow == NULL) {
        return (double)NAN;
    }
    for (uint32_t node = 0; node < nodes->n_nodes; node++) {
        slow[n_slow] = cs_node_slow(nodes, node);
        n_slow += slow[n_slow] > 1;
    }
    double bound = cs_formula_theorem_2(nodes->n_nodes, n_slow, slow);
    cs_free(slow);
    return n_slow > 0 ? bound * nodes->x_s : (double)NAN;
}

static double t0_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ranks, context, 1u << CS_ALLREDUCE, t0_s);
}

static double theorem_1_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ranks, context, 1u << CS_ALLREDUCE, theorem_1_s);
}

static double theorem_2_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ranks, context, 1u << CS_ALLREDUCE, theorem_2_s);
}

static double theorem_3_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_servers, context, 1u << CS_ALLREDUCE, theorem_3_s);
}

static double theorem_6_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ranks, context, 1u << CS_ALLREDUCE, theorem_6_s);
}

static double theorem_13_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_servers, context, 1u << CS_ALLREDUCE, theorem_13_s);
}

const cs_bound cs_bound_t0 = {
    .name       = "t0",
    .summary    = "2(n-1)/n x: every byte is transferred 2(n-1) times, over n ports",
    .assumption = "AllReduce; one GPU a server, or one server",
    .source     = "OptCC, section 3 and Lemma 4",
    .is_general = true,
    .seconds    = t0_seconds,
};

const cs_bound cs_bound_theorem_1 = {
    .name       = "theorem_1",
    .summary    = "max(2l(n-1)/(l(n-1)+1), l) x",
    .assumption = "AllReduce; exactly one rank slow all the time, one GPU a server",
    .source     = "OptCC, Theorem 1",
    .is_general = true,
    .seconds    = theorem_1_seconds,
};

const cs_bound cs_bound_theorem_2 = {
    .name       = "theorem_2",
    .summary    = "max(2(n-1)/(n-m+sum 1/l), max l) x",
    .assumption = "AllReduce; m >= 1 ranks slow all the time, one GPU a server",
    .source     = "OptCC, Theorem 2",
    .is_general = true,
    .seconds    = theorem_2_seconds,
};

const cs_bound cs_bound_theorem_3 = {
    .name       = "theorem_3",
    .summary    = "max(2l(q-1)/(l(q-1)+1), l) x/g",
    .assumption = "AllReduce; q servers of g > 1 GPUs with a NIC each, exactly one server slow "
                  "all the time",
    .source     = "OptCC, Theorem 3",
    .is_general = true,
    .seconds    = theorem_3_seconds,
};

const cs_bound cs_bound_theorem_6 = {
    .name       = "theorem_6",
    .summary    = "max(2l(n-1)/(l(n-2)+2), l) x",
    .assumption = "AllReduce; exactly one rank slow all the time, one GPU a server; a transfer "
                  "holds both ports at the slower one's pace, and no port serves two at once",
    .source     = "OptCC, Theorem 6",
    .is_general = true,
    .seconds    = theorem_6_seconds,
};

const cs_bound cs_bound_theorem_13 = {
    .name       = "theorem_13",
    .summary    = "max(2l(q-1)/(l(q-2)+2), l) x/g",
    .assumption = "AllReduce; q servers of g > 1 GPUs with a NIC each, exactly one server slow "
                  "all the time; a transfer holds both NICs at the slower one's pace, and no NIC "
                  "serves two at once",
    .source     = "OptCC, Theorem 13",
    .is_general = true,
    .seconds    = theorem_13_seconds,
};
