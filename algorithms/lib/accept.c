/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/lib/accept.h"

#include "cs/capacity.h"

uint64_t cs_most_slots(uint32_t n_ranks)
{
    uint64_t most = ((uint64_t)1 << 30) / n_ranks;
    return most < CS_MAX_SLOTS ? most : CS_MAX_SLOTS;
}

cs_status cs_accept_slots(const cs_scenario *scenario, const char *algorithm, uint64_t n_slots,
                          cs_error *err)
{
    uint32_t n    = scenario->cluster.n_ranks;
    uint64_t most = cs_most_slots(n);

    if (n_slots > most) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.ranks",
                       "%s keeps %llu chunks in work at each of %u ranks; at most %llu are "
                       "accepted",
                       algorithm, (unsigned long long)n_slots, n, (unsigned long long)most);
    }
    return CS_OK;
}

cs_status cs_accept_pairs(const cs_scenario *scenario, const char *algorithm, cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks;

    if (n > CS_MOST_PAIRED) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.ranks",
                       "%s has a block for each pair of %u ranks; at most %u ranks are accepted",
                       algorithm, n, (unsigned)CS_MOST_PAIRED);
    }
    return CS_OK;
}

cs_status cs_accept_even_servers(const cs_scenario *scenario, const char *algorithm, cs_error *err)
{
    return !cs_capacity_is_single(scenario)
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "faults",
                         "%s divides what passes a server evenly among its NICs, and some of them "
                         "are slower than others: accepted is the failover pool",
                         algorithm);
}

cs_status cs_accept_all_nics(const cs_scenario *scenario, const char *algorithm, cs_error *err)
{
    return !cs_capacity_cuts_off(scenario)
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "faults",
                         "%s needs every NIC, and one dies that nothing takes the place of: "
                         "accepted are the failovers pool and neighbour",
                         algorithm);
}

uint32_t cs_uses_nvlink(const cs_cluster *cluster)
{
    return cluster->gpus_per_server > 1 ? CS_USES_NVLINK : 0;
}

bool cs_one_port_kind(const cs_cluster *cluster)
{
    return cluster->gpus_per_server == 1 ||
           (cluster->gpus_per_server == cluster->n_ranks && cluster->sockets <= 1);
}

bool cs_is_uniform(const cs_scenario *scenario, uint32_t *fabric_p)
{
    const cs_cluster *c = &scenario->cluster;

    *fabric_p = c->gpus_per_server == 1 ? CS_NIC : CS_NVLINK;
    if (c->gpus_per_server == 1) {
        return cs_nics_are_even(scenario);
    }
    return cs_one_port_kind(c) && c->fabrics[CS_NVLINK].kind == CS_SWITCHED;
}

double cs_message_s(const cs_scenario *scenario, uint32_t fabric, uint64_t bytes)
{
    const cs_fabric *f = &scenario->cluster.fabrics[fabric];
    return f->alpha_s + (double)bytes / f->bandwidth_Bps;
}

double cs_largest_slowdown(const cs_scenario *scenario)
{
    cs_scenario lasting = *scenario;

    lasting.n_capacity = cs_capacity_is_constant(scenario) ? scenario->n_capacity : 0;
    return cs_slowdown_most(&lasting);
}

cs_pace cs_usual_pace(const cs_scenario *scenario)
{
    const cs_cluster *c      = &scenario->cluster;
    bool              is_one = c->gpus_per_server == c->n_ranks;
    const cs_fabric  *f      = &c->fabrics[is_one ? CS_NVLINK : CS_NIC];
    double            slow   = is_one ? 1 : cs_largest_slowdown(scenario);

    return (cs_pace){cs_last_arrival(scenario), f->alpha_s, slow / f->bandwidth_Bps};
}

bool cs_pace_of_rounds(const cs_scenario *scenario, uint32_t n_chunks, cs_pace *pace)
{
    double   last = cs_last_arrival(scenario), slow = 1;
    uint32_t fabric;
    bool     holds = cs_is_uniform(scenario, &fabric);

    if (!holds && scenario->cluster.gpus_per_server == 1 && cs_capacity_is_constant(scenario)) {
        slow  = cs_largest_slowdown(scenario);
        holds = !(last > 0);
    }
    const cs_fabric *f = &scenario->cluster.fabrics[fabric];
    *pace              = (cs_pace){last, f->alpha_s, slow / f->bandwidth_Bps};
    return holds && scenario->bytes % n_chunks == 0;
}
