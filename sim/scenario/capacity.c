/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of capacity: a merge sort by server, port and time, and what the sorted list says about one
 * port or server. */
#include "cs/capacity.h"

#include "base/alloc.h"
#include "cs/scenario.h"

#include <math.h>
#include <string.h>

/* Servers of a cluster that has not been checked yet, too. */
static uint32_t server_of(const cs_capacity *step, const cs_cluster *cluster)
{
    return cluster->gpus_per_server > 0 ? cs_server_of(cluster, step->rank) : step->rank;
}

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static bool is_before(const cs_capacity *a, const cs_capacity *b, const cs_cluster *cluster)
{
    uint32_t server = server_of(a, cluster), other = server_of(b, cluster);

    if (server != other) {
        return server < other;
    }
    if (a->is_single != b->is_single || (a->is_single && a->rank != b->rank)) {
        return a->is_single == b->is_single ? a->rank < b->rank : b->is_single;
    }
    int order = compare_numbers(a->from_s, b->from_s);
    order     = order != 0 ? order : compare_numbers(a->until_s, b->until_s);
    if (order == 0 && a->rank != b->rank) {
        return a->rank < b->rank;
    }
    order = order != 0 ? order : compare_numbers(a->slowdown, b->slowdown);
    return order < 0;
}

/* Merge the sorted [0, middle) and [middle, n) of `from` into `to`. */
static void merge(const cs_capacity *from, size_t middle, size_t n, cs_capacity *to,
                  const cs_cluster *cluster)
{
    size_t left = 0, right = middle;

    for (size_t i = 0; i < n; i++) {
        bool takes_right =
            left == middle || (right < n && is_before(&from[right], &from[left], cluster));
        to[i] = takes_right ? from[right++] : from[left++];
    }
}

cs_status cs_capacity_sort(cs_capacity *steps, size_t n, const cs_cluster *cluster)
{
    cs_capacity *merged = CS_NEW(cs_capacity, n);

    if (merged == NULL) {
        return CS_ENOMEM;
    }
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t first = 0; first < n; first += 2 * width) {
            size_t count  = n - first < 2 * width ? n - first : 2 * width;
            size_t middle = count < width ? count : width;
            merge(steps + first, middle, count, merged + first, cluster);
        }
        memcpy(steps, merged, n * sizeof *steps);
    }
    cs_free(merged);
    return CS_OK;
}

bool cs_capacity_is_constant(const cs_scenario *scenario)
{
    for (size_t i = 0; i < scenario->n_capacity; i++) {
        const cs_capacity *step = &scenario->capacity[i];
        if (step->from_s > 0 || isfinite(step->until_s)) {
            return false;
        }
    }
    return true;
}

/* Does a step stand before those of the port of `rank`, or is it one of these? */
static bool is_behind(const cs_capacity *step, const cs_cluster *cluster, uint32_t server,
                      uint32_t rank)
{
    uint32_t own = server_of(step, cluster);

    return own != server ? own > server : !step->is_single || step->rank >= rank;
}

static bool is_of_port(const cs_capacity *step, const cs_cluster *cluster, uint32_t server,
                       uint32_t rank)
{
    return server_of(step, cluster) == server && (!step->is_single || step->rank == rank);
}

const cs_capacity *cs_capacity_of(const cs_scenario *scenario, uint32_t rank, size_t *n_p)
{
    const cs_cluster *cluster = &scenario->cluster;
    const cs_capacity port    = {.rank = rank};
    uint32_t          server  = server_of(&port, cluster);
    size_t            low = 0, high = scenario->n_capacity, end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_behind(&scenario->capacity[middle], cluster, server, rank)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    for (end = low; end < scenario->n_capacity; end++) {
        if (!is_of_port(&scenario->capacity[end], cluster, server, rank)) {
            break;
        }
    }
    *n_p = end - low;
    return end > low ? &scenario->capacity[low] : NULL;
}

bool cs_capacity_is_single(const cs_scenario *scenario)
{
    bool is_single = false;

    for (size_t i = 0; i < scenario->n_capacity && !is_single; i++) {
        is_single = scenario->capacity[i].is_single;
    }
    return is_single;
}

bool cs_capacity_cuts_off(const cs_scenario *scenario)
{
    bool cuts_off = false;

    for (size_t i = 0; i < scenario->n_capacity && !cuts_off; i++) {
        cuts_off = isinf(scenario->capacity[i].slowdown);
    }
    return cuts_off;
}

size_t cs_capacity_after(const cs_capacity *steps, size_t n, double time_s)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (steps[middle].until_s > time_s) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

double cs_slowdown_at(const cs_capacity *steps, size_t n, double time_s)
{
    size_t i = cs_capacity_after(steps, n, time_s);
    return i < n && steps[i].from_s <= time_s ? steps[i].slowdown : 1;
}

double cs_port_slowdown_always(const cs_scenario *scenario, uint32_t rank)
{
    size_t             n;
    const cs_capacity *steps     = cs_capacity_of(scenario, rank, &n);
    double             covered_s = 0, least = HUGE_VAL;
    const cs_cluster  *c     = &scenario->cluster;
    double             ratio = cs_server_ratio(c, cs_server_of(c, rank), CS_NIC);

    for (size_t i = 0; i < n && steps[i].from_s <= covered_s; i++) {
        covered_s = steps[i].until_s;
        least     = fmin(least, steps[i].slowdown);
    }
    return ratio * (isinf(covered_s) ? least : 1.0);
}

double cs_slowdown_always(const cs_scenario *scenario, uint32_t server)
{
    const cs_cluster  *c     = &scenario->cluster;
    uint32_t           first = cs_server_first(c, server), gpus = cs_server_gpus(c, server);
    double             ports = 0; /* healthy ones of the cluster that carry as much */
    size_t             n;
    const cs_capacity *steps   = cs_capacity_of(scenario, first, &n);
    bool               is_even = n > 0 ? !steps->is_single : scenario->n_capacity == 0;

    if (is_even || gpus == 1) {
        return cs_port_slowdown_always(scenario, first);
    }
    for (uint32_t i = 0; i < gpus; i++) {
        ports += 1 / cs_port_slowdown_always(scenario, first + i);
    }
    return gpus / ports;
}

double cs_slowdown_most(const cs_scenario *scenario)
{
    const cs_cluster *c    = &scenario->cluster;
    double            most = c->fabrics[CS_NIC].bandwidth_Bps / cs_least_Bps(c, CS_NIC);

    for (size_t i = 0; i < scenario->n_capacity; i++) {
        const cs_capacity *step = &scenario->capacity[i];
        if (isfinite(step->slowdown)) {
            most = fmax(most, step->slowdown * cs_server_ratio(c, server_of(step, c), CS_NIC));
        }
    }
    return most;
}

bool cs_nics_are_even(const cs_scenario *scenario)
{
    const cs_cluster *c = &scenario->cluster;

    return scenario->n_capacity == 0 &&
           !(cs_least_Bps(c, CS_NIC) < c->fabrics[CS_NIC].bandwidth_Bps);
}
