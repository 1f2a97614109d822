/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The volume bound for AllReduce with late and slow nodes (B2).
 *
 * For every t at or before the last arrival a_n, the end T satisfies
 *     sum_i (T - max(a_i, t)) / l_i  >=  2(n-1) x - M(t),                               (1)
 *     M(t) = sum_{i != e} min(x, 2(t - a_i)+ / l_i)      for any one node e.
 * Proof. Take one byte, and the graph of nodes between which it was transferred before t; c =
 * its number of components. After t, c - 1 transfers must bring what the other components know to
 * that of the first node r that completes, and each of the other n - 1 nodes has a completing
 * reception; it ends after r's, so it is none of the former. A node that moved no such byte is
 * a component of its own, so n - c is at most the number of nodes but e that moved it; a node moves
 * at most 2(t - a_i)/l_i bytes (both directions) and at most x different ones. Sum over the
 * bytes. Only ports of nodes that have arrived work. (1) is stated for T >= a_n, where it is
 * linear: no solver is needed. At t = 0 every byte leaves through a sending port that paid one
 * alpha before its first byte arrived anywhere, so sending ports count for T - a_i - alpha. (n - c
 * is also at most the number of transfers before t; that says no more than t = 0.)
 *
 * As a function of t the bound is convex between the points a_i and a_i + l_i x/2, so the largest
 * is at one of them: the sums are swept over the sorted points. O(n log n). As e the node that
 * has moved most is taken, of two candidates: the first to arrive, and the first to be able to
 * move x. Without memory for the sweep: NAN.
 */
#include "analytic/nodes.h"
#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

/* A place where the sums change their slope: a node arrives, or has moved x. */
typedef struct point {
    double t_s;
    double rate; /* 1 / l of the node, negative when it has moved x */
} point;

/* Everything (1) needs: nodes as (a_i, 1 / l_i), and the two candidates for e. */
typedef struct volume {
    double   x_s, alpha_s;
    uint32_t n;
    double   last_s;                    /* a_n */
    double   rate_sum;                  /* sum 1 / l_i */
    double   due_sum_s;                 /* sum a_i / l_i */
    double   first_s[2], first_rate[2]; /* candidates for e */
} volume;

static int by_time(const void *a, const void *b)
{
    const point *p = a, *q = b;

    if (p->t_s != q->t_s) {
        return p->t_s < q->t_s ? -1 : 1;
    }
    return (p->rate < q->rate) - (p->rate > q->rate);
}

/* When a node that arrives at `first_s` can have moved x. */
static double moved_all_s(const volume *v, double first_s, double rate)
{
    return first_s + v->x_s / (2 * rate);
}

static void add_node(volume *v, double first_s, double rate)
{
    bool is_first =
        first_s < v->first_s[0] || (first_s == v->first_s[0] && rate > v->first_rate[0]);

    v->last_s = fmax(v->last_s, first_s);
    v->rate_sum += rate;
    v->due_sum_s += first_s * rate;
    if (is_first) {
        v->first_s[0]    = first_s;
        v->first_rate[0] = rate;
    }
    if (moved_all_s(v, first_s, rate) < moved_all_s(v, v->first_s[1], v->first_rate[1])) {
        v->first_s[1]    = first_s;
        v->first_rate[1] = rate;
    }
}

/* What the better candidate for e can have moved before t. */
static double moved_by_e_s(const volume *v, double t_s)
{
    double most_s = 0;

    for (int i = 0; i < 2; i++) {
        double moved_s = 2 * fmax(0, t_s - v->first_s[i]) * v->first_rate[i];
        most_s         = fmax(most_s, fmin(v->x_s, moved_s));
    }
    return most_s;
}

/* The T of (1) at t. Over the points up to t: `steep` * t - `offset_s` is what the nodes can have
 * moved, `rate` * t - `due_s` the time in which their ports were open before t, which (1) does not
 * count. */
typedef struct sums {
    double steep, offset_s, rate, due_s;
} sums;

static double end_s(const volume *v, const sums *before, double t_s)
{
    double moved_s = before->steep * t_s - before->offset_s - moved_by_e_s(v, t_s);
    double shut_s  = before->rate * t_s - before->due_s + v->due_sum_s;

    return (2 * (v->n - 1.0) * v->x_s - moved_s + shut_s) / v->rate_sum;
}

/* The largest T over all points up to the last arrival, and at t = 0 with alpha. */
static double sweep(const volume *v, const point *points, size_t n_points)
{
    double full_s = 2 * (v->n - 1.0) * v->x_s;
    double most_s = v->alpha_s + (full_s + v->due_sum_s) / v->rate_sum;
    sums   before = {0};

    for (size_t i = 0; i < n_points && points[i].t_s <= v->last_s; i++) {
        double t_s = points[i].t_s, rate = points[i].rate;

        before.steep += 2 * rate;
        before.offset_s += 2 * rate * t_s;
        before.rate += fmax(0, rate);
        before.due_s += fmax(0, rate) * t_s;
        most_s = fmax(most_s, end_s(v, &before, t_s));
    }
    return fmax(most_s, v->last_s + v->alpha_s);
}

static double volume_of_nodes(const cs_nodes *nodes)
{
    volume v      = {.x_s        = nodes->x_s,
                     .alpha_s    = nodes->alpha_s,
                     .n          = nodes->n_nodes,
                     .first_s    = {(double)INFINITY, (double)INFINITY},
                     .first_rate = {1, 1}};
    point *points = CS_NEW(point, 2 * (size_t)nodes->n_nodes);

    if (points == NULL) {
        return (double)NAN;
    }
    for (uint32_t node = 0; node < nodes->n_nodes; node++) {
        double first_s = cs_node_first_s(nodes, node), rate = 1 / cs_node_slow(nodes, node);
        add_node(&v, first_s, rate);
        points[(size_t)2 * node] = (point){first_s, rate};
        points[2 * node + 1]     = (point){moved_all_s(&v, first_s, rate), -rate};
    }
    qsort(points, 2 * (size_t)nodes->n_nodes, sizeof *points, by_time);
    double bound_s = sweep(&v, points, 2 * (size_t)nodes->n_nodes);
    cs_free(points);
    return bound_s;
}

static double volume_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ranks, context, 1u << CS_ALLREDUCE, volume_of_nodes);
}

static double server_volume_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_servers, context, 1u << CS_ALLREDUCE, volume_of_nodes);
}

static double port_volume_seconds(const cs_bound_context *context)
{
    return cs_bound_of_nodes(cs_nodes_of_ports, context, 1u << CS_ALLREDUCE, volume_of_nodes);
}

const cs_bound cs_bound_volume = {
    .name       = "volume",
    .summary    = "T with sum (T - max(a_i,t))/l_i >= 2(n-1) x - M(t), for the worst t <= a_n",
    .assumption = "AllReduce; one GPU a server, or one server; a rank neither sends nor receives "
                  "before it arrives",
    .source     = "B2: bytes still to be moved after t over the ports that are there",
    .is_general = true,
    .seconds    = volume_seconds,
};

const cs_bound cs_bound_server_volume = {
    .name       = "server_volume",
    .summary    = "T with sum (T - max(a_i,t))/l_i >= 2(q-1) x/g - M(t), servers for ranks",
    .assumption = "AllReduce; q servers of g > 1 GPUs with a NIC each, which neither send nor "
                  "receive before the server's first rank arrives",
    .source     = "B2 with servers as nodes and g ports a node",
    .is_general = true,
    .in_servers = true,
    .seconds    = server_volume_seconds,
};

const cs_bound cs_bound_port_volume = {
    .name    = "port_volume",
    .summary = "T with sum (T - max(a_i,t))/l_i >= 2(n-1) x - M(t); x, l_i of all ports of a rank",
    .assumption = "AllReduce; q servers of g > 1 GPUs; a rank neither sends nor receives before it "
                  "arrives; l_i: NIC and ports inside the server over what a slow NIC leaves of it",
    .source     = "B2 with the NIC and the ports inside the server of every rank together",
    .is_general = true,
    .seconds    = port_volume_seconds,
};
