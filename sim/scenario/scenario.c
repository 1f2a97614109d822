/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenarios: arrivals, and the check of everything that no model can
 * mean. What one algorithm or model cannot do is refused by its own check().
 */
#include "cs/scenario.h"

#include "cs/arrivals.h"

#include "cs/topology.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Limits that keep every product of the replay exact or at least finite. */
#define MAX_ALPHA_S       1e6
#define MIN_BANDWIDTH_BPS 1.0
#define MAX_BANDWIDTH_BPS 1e15
#define MAX_SLOW_RATIO    1e9
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
    cs_status status = check_range(fabric->alpha_s, 0, MAX_ALPHA_S, where, err);
    if (status == CS_OK) {
        (void)snprintf(where, sizeof where, "cluster.%s.bandwidth", name);
        status =
            check_range(fabric->bandwidth_Bps, MIN_BANDWIDTH_BPS, MAX_BANDWIDTH_BPS, where, err);
    }
    if (status == CS_OK && fabric->kind != CS_SWITCHED && fabric->kind != CS_DIRECT) {
        (void)snprintf(where, sizeof where, "cluster.%s.kind", name);
        status = CS_FAIL(err, CS_EINVAL, where, "is neither switched nor direct");
    }
    return status;
}

static cs_status check_cluster(const cs_cluster *cluster, cs_error *err)
{
    uint32_t  n = cluster->n_ranks, g = cluster->gpus_per_server;
    cs_status status = check_range(n, 2, CS_MAX_RANKS, "cluster.ranks", err);

    if (status != CS_OK) {
        return status;
    }
    if (g == 0 || n % g != 0) {
        return CS_FAIL(err, CS_EINVAL, "cluster.gpus_per_server",
                       "%u does not divide the %u ranks evenly among the servers", g, n);
    }
    if (cluster->fabrics[CS_NIC].kind != CS_SWITCHED) {
        return CS_FAIL(err, CS_EINVAL, "cluster.nic.kind", "NICs are switched");
    }
    if (cluster->sockets > 1 && g % cluster->sockets != 0) {
        return CS_FAIL(err, CS_EINVAL, "cluster.sockets",
                       "%u sockets do not share the %u GPUs of a server evenly", cluster->sockets,
                       g);
    }
    status = check_fabric(&cluster->fabrics[CS_NIC], "nic", err);
    if (status == CS_OK && g > 1) {
        status = check_fabric(&cluster->fabrics[CS_NVLINK], "nvlink", err);
    }
    if (status == CS_OK && cluster->sockets > 1) {
        status = check_fabric(&cluster->fabrics[CS_CROSS], "cross", err);
    }
    if (status == CS_OK && cluster->sockets > 1 && cluster->fabrics[CS_CROSS].kind != CS_SWITCHED) {
        return CS_FAIL(err, CS_EINVAL, "cluster.cross.kind", "paths between sockets are switched");
    }
    if (status == CS_OK && g > 1 && cluster->fabrics[CS_NVLINK].kind == CS_DIRECT &&
        (uint64_t)n * g > MAX_LINKS) {
        return CS_FAIL(err, CS_EINVAL, "cluster.nvlink.kind",
                       "direct: %u GPUs with %u links each; at most 2^28 links are accepted", n, g);
    }
    if (status == CS_OK && cluster->nvlink_concurrent > 0 &&
        cluster->fabrics[CS_NVLINK].kind != CS_DIRECT) {
        return CS_FAIL(err, CS_EINVAL, "cluster.nvlink.concurrent",
                       "is how many links of a mesh a GPU drives at once: accepted together with "
                       "the kind direct");
    }
    if (status == CS_OK && cluster->topology != NULL) {
        status = cs_topology_check(cluster->topology, cluster, err);
    }
    return status;
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

static cs_status check_fault(const cs_fault *fault, const cs_cluster *cluster, cs_error *err)
{
    const char *where = "faults";

    if (fault->rank >= cluster->n_ranks) {
        return CS_FAIL(err, CS_EINVAL, where, "rank %u is outside [0, %u]", fault->rank,
                       cluster->n_ranks - 1);
    }
    if (!(fault->slow_ratio >= 1 && fault->slow_ratio <= MAX_SLOW_RATIO)) {
        return CS_FAIL(err, CS_EINVAL, where, "slowdown %.15g of rank %u is outside [1, %.15g]",
                       fault->slow_ratio, fault->rank, MAX_SLOW_RATIO);
    }
    if (!(fault->from_s >= 0 && fault->from_s <= MAX_TIME_S)) {
        return CS_FAIL(
            err, CS_EINVAL, where,
            "the fault of rank %u begins at %.15g s: accepted are finite times from 0 to 1e6 s",
            fault->rank, fault->from_s);
    }
    if (!(fault->until_s > fault->from_s)) {
        return CS_FAIL(err, CS_EINVAL, where,
                       "the fault of rank %u ends at %.15g s, not after it begins at %.15g s",
                       fault->rank, fault->until_s, fault->from_s);
    }
    return CS_OK;
}

/* Two faults that follow each other in the list. */
static cs_status check_neighbours(const cs_fault *a, const cs_fault *b, const cs_cluster *cluster,
                                  cs_error *err)
{
    uint32_t server = a->rank / cluster->gpus_per_server;
    uint32_t next   = b->rank / cluster->gpus_per_server;

    if (server > next || (server == next && a->from_s > b->from_s)) {
        return CS_FAIL(err, CS_EINVAL, "faults",
                       "the fault of rank %u from %.15g s stands before that of rank %u from "
                       "%.15g s: they must be sorted by server, then by time",
                       a->rank, a->from_s, b->rank, b->from_s);
    }
    if (server == next && a->until_s > b->from_s) {
        return CS_FAIL(err, CS_EINVAL, "faults",
                       "two faults of server %u overlap: rank %u in [%.15g s, %.15g s) and rank %u "
                       "in [%.15g s, %.15g s)",
                       server, a->rank, a->from_s, a->until_s, b->rank, b->from_s, b->until_s);
    }
    return CS_OK;
}

static cs_status check_faults(const cs_scenario *s, cs_error *err)
{
    cs_status status = CS_OK;

    if (s->n_faults > 0 && s->faults == NULL) {
        return CS_FAIL(err, CS_EINVAL, "faults", "%zu faults are announced, but none given",
                       s->n_faults);
    }
    for (size_t i = 0; status == CS_OK && i < s->n_faults; i++) {
        status = check_fault(&s->faults[i], &s->cluster, err);
        if (status == CS_OK && i > 0) {
            status = check_neighbours(&s->faults[i - 1], &s->faults[i], &s->cluster, err);
        }
    }
    return status;
}

cs_status cs_scenario_check(const cs_scenario *scenario, cs_error *err)
{
    cs_status status = check_cluster(&scenario->cluster, err);

    if (status == CS_OK) {
        status = check_collective(scenario, err);
    }
    if (status == CS_OK) {
        status = check_arrivals(scenario, err);
    }
    if (status == CS_OK) {
        status = check_faults(scenario, err);
    }
    return status;
}
