/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/capacity.h -- what the NICs of a server can carry over time.
 *
 * The NIC ports of a server have their full bandwidth except during its steps, in which it is
 * divided by a slowdown: that of all ports of the server alike, or, where `is_single`, of one
 * rank's port. A server has steps of one of the two sorts. Faults of every kind become steps when
 * they are read; ports, models, bounds, algorithms and pictures see the steps and never a fault. A
 * list of steps is sorted by server, in it by rank where they are single, then by from_s, and the
 * steps of a port do not overlap.
 *
 * Where servers differ, full is what the server itself has, and a step divides that. Who compares
 * servers counts both: against the fastest NICs of the cluster, see cs_slowdown_always().
 */
#ifndef CS_CAPACITY_H
#define CS_CAPACITY_H

#include "cs/cluster.h"

CS_BEGIN_C

/* The largest slowdown of a scenario. */
#define CS_MAX_SLOWDOWN 1e9

/* The NIC ports of the server of `rank` run at bandwidth / slowdown during [from_s, until_s),
 * counted from the first arrival. */
typedef struct cs_capacity {
    uint32_t rank;     /* the one that was named; any of the server's */
    double   slowdown; /* >= 1; INFINITY, of a single port: it is cut off, and no schedule may use
                          it: a replay refuses those that do */
    double from_s;     /* >= 0 */
    double until_s;    /* > from_s; INFINITY = for ever */
    bool   is_single;  /* the port of `rank` alone */
} cs_capacity;

struct cs_scenario;

/* Sort by server, rank where steps are single, from_s, until_s, rank and slowdown: a total order,
 * so that the result does not depend on the order of the input. CS_OK, or CS_ENOMEM with the list
 * as it was. O(n log n). */
CS_API CS_MUST_CHECK cs_status cs_capacity_sort(cs_capacity *steps, size_t n,
                                                const cs_cluster *cluster);

/* Does every step start at 0 and never end? True without steps. */
CS_API bool cs_capacity_is_constant(const struct cs_scenario *scenario);

/* The steps of the NIC port of a rank, in order; their number in *n_p. O(log(steps) + own steps).
 */
CS_API const cs_capacity *cs_capacity_of(const struct cs_scenario *scenario, uint32_t rank,
                                         size_t *n_p);

/* Does any step slow single ports, so that those of a server differ? And is any of them cut off?
 * O(steps). */
CS_API bool cs_capacity_is_single(const struct cs_scenario *scenario);
CS_API bool cs_capacity_cuts_off(const struct cs_scenario *scenario);

/* Of the steps of one port: the index of the first that ends after a time (n: none), and the
 * slowdown at a time, 1 between them. O(log n). */
CS_API size_t cs_capacity_after(const cs_capacity *steps, size_t n, double time_s);
CS_API double cs_slowdown_at(const cs_capacity *steps, size_t n, double time_s);

/* By how much the NIC port of `rank` is always slower than the cluster's bandwidth, that of its
 * fastest server: the ratio of the two servers' own rates (cs_server_ratio), times the largest
 * slowdown that the steps never fall below during [0, infinity), which is 1 unless they follow one
 * another without a gap from 0 on for ever. Never above the truth. INFINITY: it is cut off.
 * O(log(steps) + own steps). */
CS_API double cs_port_slowdown_always(const struct cs_scenario *scenario, uint32_t rank);

/* The same of all NIC ports of a server together: what they carry side by side is what as many
 * ports of the cluster's bandwidth carry, over this. Never above the truth.
 * O(log(steps) + steps of the server). */
CS_API double cs_slowdown_always(const struct cs_scenario *scenario, uint32_t server);

/* The same of any port at any time: the largest of those that are not cut off; 1 where servers are
 * alike and there are no steps. O(steps + servers). */
CS_API double cs_slowdown_most(const struct cs_scenario *scenario);

/* Have all NIC ports the same rate, at all times? O(servers). */
CS_API bool cs_nics_are_even(const struct cs_scenario *scenario);

CS_END_C

#endif
