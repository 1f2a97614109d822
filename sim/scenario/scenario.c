/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenarios: arrivals, and the check of everything that no model can mean. What one algorithm or
 * model cannot do is refused by its own check(). */
#include "cs/scenario.h"

#include "cs/arrivals.h"
#include "cs/capacity.h"
#include "cs/topology.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Limits that keep every product of the replay exact or at least finite. */
#define MAX_ALPHA_S       1e6
#define MIN_BANDWIDTH_BPS 1.0
#define MAX_BANDWIDTH_BPS 1e15
#define MAX_TIME_S        CS_MAX_ARRIVAL_S
#define MAX_LINKS         ((uint64_t)1 << 28)

static bool is_collective(cs_collective collective)
{
    return (unsigned)collective < CS_COLLECTIVE_COUNT;
}

double cs_arrival(const cs_scenario *scenario, uint32_t rank)
{
    return scenario->arrival_s != NULL ? scenario->arrival_s[rank] : 0.0;
}

double cs_last_arrival(const cs_scenario *scenario)
{
    return cs_arrival(scenario, cs_last_rank(scenario));
}

uint32_t cs_last_rank(const cs_scenario *scenario)
{
    uint32_t n = scenario->cluster.n_ranks;

    return scenario->arrival_s != NULL ? cs_last_of_arrivals(scenario->arrival_s, n) : n - 1;
}

/* `value` must be in [min, max]; a NAN is not. */
static cs_status check_range(double value, double min, double max, const char *where, cs_error *err)
{
    if (value >= min && value <= max) {
        return CS_OK;
    }
    return CS_FAIL(err, CS_EINVAL, where, "%.15g is outside [%.15g, %.15g]", value, min, max);
}

static cs_status check_fabric(const cs_fabric *fabric, const char *name, cs_error *err)
{
    char where[64];

    (void)snprintf(where, sizeof where, "cluster.%s.alpha", name);
    CS_TRY(check_range(fabric->alpha_s, 0, MAX_ALPHA_S, where, err));
    (void)snprintf(where, sizeof where, "cluster.%s.bandwidth", name);
    CS_TRY(check_range(fabric->bandwidth_Bps, MIN_BANDWIDTH_BPS, MAX_BANDWIDTH_BPS, where, err));
    if (fabric->kind != CS_SWITCHED && fabric->kind != CS_DIRECT) {
        (void)snprintf(where, sizeof where, "cluster.%s.kind", name);
        return CS_FAIL(err, CS_EINVAL, where, "is neither switched nor direct");
    }
    return CS_OK;
}

/* Servers of different rates, the largest of which the fabric has. */
static cs_status check_servers(const cs_cluster *cluster, uint32_t fabric, cs_error *err)
{
    const char *name     = cs_fabric_name(fabric);
    double      most_Bps = cluster->fabrics[fabric].bandwidth_Bps, found_Bps = 0;

    for (uint32_t s = 0; s < cs_n_servers(cluster); s++) {
        double rate_Bps = cluster->servers[s].bandwidth_Bps[fabric];
        if (!(rate_Bps >= MIN_BANDWIDTH_BPS && most_Bps / rate_Bps <= CS_MAX_SLOWDOWN)) {
            return CS_FAIL(err, CS_EINVAL, "cluster.servers",
                           "the %s of server %u has %.15g B/s, the fastest one %.15g B/s: accepted "
                           "are rates of 1 B/s and more that differ by at most a factor of %.15g",
                           name, s, rate_Bps, most_Bps, CS_MAX_SLOWDOWN);
        }
        found_Bps = fmax(found_Bps, rate_Bps);
    }
    if (found_Bps != most_Bps) {
        return CS_FAIL(err, CS_EINVAL, "cluster.servers",
                       "the fastest %s of a server has %.15g B/s, the cluster's %.15g: accepted is "
                       "the same",
                       name, found_Bps, most_Bps);
    }
    return CS_OK;
}

/* Servers with different numbers of GPUs. */
static cs_status check_uneven(const cs_cluster *cluster, cs_error *err)
{
    const cs_uneven *u    = cluster->uneven;
    uint32_t         next = 0, most = 0;
    bool             is_dense = u->n_servers >= 2;

    for (uint32_t s = 0; is_dense && s < u->n_servers; s++) {
        is_dense =
            u->first[s] == next && u->first[s + 1] > next && u->first[s + 1] <= cluster->n_ranks;
        for (; is_dense && next < u->first[s + 1]; next++) {
            is_dense = u->server_of[next] == s;
        }
        most = is_dense && next - u->first[s] > most ? next - u->first[s] : most;
    }
    if (!is_dense || next != cluster->n_ranks || most != cluster->gpus_per_server) {
        return CS_FAIL(err, CS_EINVAL, "cluster.servers",
                       "ranks are not dense, server by server, in servers of at most %u GPUs",
                       cluster->gpus_per_server);
    }
    if (cluster->sockets > 1) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.sockets",
                       "%u: servers with different numbers of GPUs are accepted with one socket",
                       cluster->sockets);
    }
    return CS_OK;
}

static cs_status check_cluster(const cs_cluster *cluster, cs_error *err)
{
    uint32_t         n = cluster->n_ranks, g = cluster->gpus_per_server;
    const cs_fabric *fabrics = cluster->fabrics;

    CS_TRY(check_range(n, 2, CS_MAX_RANKS, "cluster.ranks", err));
    if (g == 0 || (n % g != 0 && cluster->uneven == NULL)) {
        return CS_FAIL(err, CS_EINVAL, "cluster.gpus_per_server",
                       "%u does not divide the %u ranks evenly among the servers", g, n);
    }
    if (cluster->uneven != NULL) {
        CS_TRY(check_uneven(cluster, err));
    }
    if (fabrics[CS_NIC].kind != CS_SWITCHED) {
        return CS_FAIL(err, CS_EINVAL, "cluster.nic.kind", "NICs are switched");
    }
    if (cluster->sockets > 1 && g % cluster->sockets != 0) {
        return CS_FAIL(err, CS_EINVAL, "cluster.sockets",
                       "%u sockets do not share the %u GPUs of a server evenly", cluster->sockets,
                       g);
    }
    CS_TRY(check_fabric(&fabrics[CS_NIC], "nic", err));
    if (g > 1) {
        CS_TRY(check_fabric(&fabrics[CS_NVLINK], "nvlink", err));
    }
    if (cluster->sockets > 1) {
        CS_TRY(check_fabric(&fabrics[CS_CROSS], "cross", err));
    }
    if (cluster->sockets > 1 && fabrics[CS_CROSS].kind != CS_SWITCHED) {
        return CS_FAIL(err, CS_EINVAL, "cluster.cross.kind", "paths between sockets are switched");
    }
    if (g > 1 && fabrics[CS_NVLINK].kind == CS_DIRECT && (uint64_t)n * g > MAX_LINKS) {
        return CS_FAIL(err, CS_EINVAL, "cluster.nvlink.kind",
                       "direct: %u GPUs with %u links each; at most 2^28 links are accepted", n, g);
    }
    if (cluster->nvlink_concurrent > 0 && fabrics[CS_NVLINK].kind != CS_DIRECT) {
        return CS_FAIL(err, CS_EINVAL, "cluster.nvlink.concurrent",
                       "is how many links of a mesh a GPU drives at once: accepted together with "
                       "the kind direct");
    }
    for (uint32_t f = 0; cluster->servers != NULL && f < cs_n_fabrics(cluster); f++) {
        CS_TRY(check_servers(cluster, f, err));
    }
    return cluster->topology != NULL ? cs_topology_check(cluster->topology, cluster, err) : CS_OK;
}

static cs_status check_collective(const cs_scenario *s, cs_error *err)
{
    char names[128];

    if (!is_collective(s->collective)) {
        cs_list_names(&cs_collective_names, names, sizeof names);
        return CS_FAIL(err, CS_EINVAL, "collective", "unknown collective: accepted are %s", names);
    }
    if (s->bytes == 0 || s->bytes > CS_MAX_BYTES) {
        return CS_FAIL(err, CS_EINVAL, "bytes", "%llu is outside [1, %llu]",
                       (unsigned long long)s->bytes, (unsigned long long)CS_MAX_BYTES);
    }
    if (s->root >= s->cluster.n_ranks) {
        return CS_FAIL(err, CS_EINVAL, "root", "%u is outside [0, %u]", s->root,
                       s->cluster.n_ranks - 1);
    }
    return CS_OK;
}

static cs_status check_arrivals(const cs_scenario *s, cs_error *err)
{
    double first_s = HUGE_VAL;

    for (uint32_t rank = 0; s->arrival_s != NULL && rank < s->cluster.n_ranks; rank++) {
        double arrival_s = s->arrival_s[rank];
        if (!(arrival_s >= 0 && arrival_s <= MAX_TIME_S)) {
            return CS_FAIL(err, CS_EINVAL, "arrivals",
                           "rank %u arrives at %.15g s: accepted are finite times from 0 to 1e6 s",
                           rank, arrival_s);
        }
        first_s = fmin(first_s, arrival_s);
    }
    if (s->arrival_s != NULL && first_s > 0) {
        return CS_FAIL(err, CS_EINVAL, "arrivals",
                       "the first rank arrives at %.15g s: times count from the first arrival, so "
                       "one rank must arrive at 0",
                       first_s);
    }
    return CS_OK;
}

static cs_status check_step(const cs_capacity *step, const cs_cluster *cluster, cs_error *err)
{
    const char *where = "faults";

    if (step->rank >= cluster->n_ranks) {
        return CS_FAIL(err, CS_EINVAL, where, "rank %u is outside [0, %u]", step->rank,
                       cluster->n_ranks - 1);
    }
    bool is_cut = step->is_single && isinf(step->slowdown);
    if (!(step->slowdown >= 1 && (step->slowdown <= CS_MAX_SLOWDOWN || is_cut))) {
        return CS_FAIL(err, CS_EINVAL, where, "slowdown %.15g of rank %u is outside [1, %.15g]",
                       step->slowdown, step->rank, CS_MAX_SLOWDOWN);
    }
    if (!(step->from_s >= 0 && step->from_s <= MAX_TIME_S)) {
        return CS_FAIL(
            err, CS_EINVAL, where,
            "the fault of rank %u begins at %.15g s: accepted are finite times from 0 to 1e6 s",
            step->rank, step->from_s);
    }
    if (!(step->until_s > step->from_s)) {
        return CS_FAIL(err, CS_EINVAL, where,
                       "the fault of rank %u ends at %.15g s, not after it begins at %.15g s",
                       step->rank, step->until_s, step->from_s);
    }
    return CS_OK;
}

/* Two steps that follow each other in the list. */
static cs_status check_neighbours(const cs_capacity *a, const cs_capacity *b,
                                  const cs_cluster *cluster, cs_error *err)
{
    uint32_t server = cs_server_of(cluster, a->rank);
    uint32_t next   = cs_server_of(cluster, b->rank);
    bool     is_one = server == next && (!a->is_single || a->rank == b->rank); /* port */

    if (server == next && a->is_single != b->is_single) {
        return CS_FAIL(err, CS_EINVAL, "faults",
                       "server %u has steps of single ports and of all of them", server);
    }
    if (server > next || (is_one ? a->from_s > b->from_s : server == next && a->rank > b->rank)) {
        return CS_FAIL(err, CS_EINVAL, "faults",
                       "the fault of rank %u from %.15g s stands before that of rank %u from "
                       "%.15g s: they must be sorted by server, then by time",
                       a->rank, a->from_s, b->rank, b->from_s);
    }
    if (is_one && a->until_s > b->from_s) {
        return CS_FAIL(err, CS_EINVAL, "faults",
                       "two faults of server %u overlap: rank %u in [%.15g s, %.15g s) and rank %u "
                       "in [%.15g s, %.15g s)",
                       server, a->rank, a->from_s, a->until_s, b->rank, b->from_s, b->until_s);
    }
    return CS_OK;
}

/* What faults have made of the NICs. */
static cs_status check_capacity(const cs_scenario *s, cs_error *err)
{
    if (s->n_capacity > 0 && s->capacity == NULL) {
        return CS_FAIL(err, CS_EINVAL, "faults", "%zu faults are announced, but none given",
                       s->n_capacity);
    }
    for (size_t i = 0; i < s->n_capacity; i++) {
        CS_TRY(check_step(&s->capacity[i], &s->cluster, err));
        if (i > 0) {
            CS_TRY(check_neighbours(&s->capacity[i - 1], &s->capacity[i], &s->cluster, err));
        }
    }
    return CS_OK;
}

cs_status cs_scenario_check(const cs_scenario *scenario, cs_error *err)
{
    CS_TRY(check_cluster(&scenario->cluster, err));
    CS_TRY(check_collective(scenario, err));
    CS_TRY(check_arrivals(scenario, err));
    return check_capacity(scenario, err);
}
