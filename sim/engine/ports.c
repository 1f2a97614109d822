/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of ports. NICs that differ, or are slow for ever, become a constant pace per rank, NICs
 * whose speed changes a profile per rank. */
#include "engine/ports.h"

#include "cs/capacity.h"

#include <math.h>

static uint32_t ports_of_rank(const cs_cluster *cluster, uint32_t fabric)
{
    bool is_direct = cluster->fabrics[fabric].kind == CS_DIRECT;
    return is_direct ? cluster->gpus_per_server : 1;
}

void cs_ports_place(cs_ports *ports, const cs_cluster *cluster, uint32_t uses)
{
    uint32_t fabrics  = cs_n_fabrics(cluster);
    bool     switches = (uses & CS_USES_SWITCH) != 0;

    ports->cluster = cluster;
    ports->n_ranks = cluster->n_ranks;
    ports->n_ends  = switches ? cs_n_ends(cluster) : cluster->n_ranks;
    if (cs_waits_for_links(cluster, CS_NVLINK)) {
        ports->links_at_once = cs_links_at_once(cluster, CS_NVLINK);
    }
    for (uint32_t f = 0; f < fabrics; f++) {
        ports->port_base[f]  = ports->n_ports;
        ports->alpha_s[f]    = cluster->fabrics[f].alpha_s;
        ports->s_per_byte[f] = 1.0 / cluster->fabrics[f].bandwidth_Bps;
        ports->n_ports += cluster->n_ranks * ports_of_rank(cluster, f);
        if (switches && cluster->fabrics[f].kind == CS_SWITCHED) {
            ports->n_ports += cluster->n_ranks;
        }
    }
}

/* No port of the rank is free before that. */
static void close_ports_of_rank(cs_ports *ports, uint32_t rank, double until_s)
{
    uint32_t fabrics = cs_n_fabrics(ports->cluster);

    for (uint32_t f = 0; f < fabrics; f++) {
        uint32_t each  = ports_of_rank(ports->cluster, f);
        uint32_t first = ports->port_base[f] + rank * each;
        for (uint32_t p = first; p < first + each; p++) {
            ports->tx_free_s[p] = fmax(ports->tx_free_s[p], until_s);
            ports->rx_free_s[p] = fmax(ports->rx_free_s[p], until_s);
        }
    }
}

/* Has the model said when its messages end? Elsewhere they end when their ports are free. */
static bool says_ends(const cs_ports *ports)
{
    return isfinite(ports->last_end_s);
}

static double latest_of_rank(const cs_ports *ports, uint32_t rank)
{
    uint32_t fabrics = says_ends(ports) ? 0 : cs_n_fabrics(ports->cluster);
    double   latest  = ports->arrival_s[rank];

    for (uint32_t f = 0; f < fabrics; f++) {
        uint32_t each  = ports_of_rank(ports->cluster, f);
        uint32_t first = ports->port_base[f] + rank * each;
        for (uint32_t p = first; p < first + each; p++) {
            latest = fmax(latest, fmax(ports->tx_free_s[p], ports->rx_free_s[p]));
        }
    }
    return latest;
}

static cs_status slow_constant(cs_ports *ports, cs_arena *arena, const cs_scenario *s)
{
    double *pace = CS_ARENA_NEW(arena, double, ports->n_ranks);

    if (pace == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t r = 0; r < ports->n_ranks; r++) {
        double slow = cs_port_slowdown_always(s, r);
        pace[r]     = isinf(slow) ? cs_own_s_per_byte(ports, CS_NIC, r) /* no schedule uses it */
                                  : ports->s_per_byte[CS_NIC] * slow;
    }
    ports->nic_s_per_byte = pace;
    return CS_OK;
}

/* The rates of a port: healthy, slow during each of its steps, healthy in the gaps, and where it is
 * cut off, so that no schedule uses it. */
static cs_status build_profile(cs_rate_profile *profile, cs_arena *arena, const cs_capacity *steps,
                               size_t count, double healthy, double origin_s)
{
    double *from = CS_ARENA_NEW(arena, double, 2 * count + 1);
    double *pace = CS_ARENA_NEW(arena, double, 2 * count + 1);
    size_t  n    = 1;

    if (from == NULL || pace == NULL) {
        return CS_ENOMEM;
    }
    from[0] = origin_s;
    pace[0] = healthy;
    for (size_t i = 0; i < count; i++) {
        if (isinf(steps[i].slowdown)) {
            continue;
        }
        n -= from[n - 1] >= steps[i].from_s + origin_s;
        from[n]   = steps[i].from_s + origin_s;
        pace[n++] = healthy * steps[i].slowdown;
        if (isfinite(steps[i].until_s)) {
            from[n]   = steps[i].until_s + origin_s;
            pace[n++] = healthy;
        }
    }
    *profile = (cs_rate_profile){n, from, pace};
    return CS_OK;
}

/* Ports of a server that change together have one profile. */
static cs_status slow_over_time(cs_ports *ports, cs_arena *arena, const cs_scenario *s)
{
    const cs_cluster *c        = &s->cluster;
    cs_rate_profile  *profiles = CS_ARENA_NEW(arena, cs_rate_profile, ports->n_ranks);

    if (profiles == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t r = 0; r < ports->n_ranks; r++) {
        size_t             count;
        const cs_capacity *steps  = cs_capacity_of(s, r, &count);
        bool               is_own = cs_local_rank(c, r) == 0 || (count > 0 && steps->is_single);
        uint32_t           first  = cs_server_first(c, cs_server_of(c, r));
        if (!is_own && count > 0) {
            profiles[r] = profiles[first];
            continue;
        }
        double healthy = cs_own_s_per_byte(ports, CS_NIC, r);
        CS_TRY(build_profile(&profiles[r], arena, steps, count, healthy, ports->first_s));
    }
    ports->profiles = profiles;
    return CS_OK;
}

static cs_status allocate(cs_ports *ports, cs_arena *arena, const cs_plan *plan)
{
    ports->latest_s  = CS_ARENA_NEW(arena, double, ports->links_at_once);
    ports->tx_free_s = CS_ARENA_NEW(arena, double, ports->n_ports);
    ports->rx_free_s = CS_ARENA_NEW(arena, double, ports->n_ports);
    ports->ready_s   = CS_ARENA_NEW(arena, double, (size_t)plan->n_slots * ports->n_ends);
    if ((plan->uses & CS_USES_SHARED) != 0) {
        ports->tx_group = CS_ARENA_NEW(arena, uint32_t, ports->n_ports);
        ports->rx_group = CS_ARENA_NEW(arena, uint32_t, ports->n_ports);
        if (ports->tx_group == NULL || ports->rx_group == NULL) {
            return CS_ENOMEM;
        }
    }
    if (ports->tx_free_s == NULL || ports->rx_free_s == NULL || ports->ready_s == NULL ||
        ports->latest_s == NULL) {
        return CS_ENOMEM;
    }
    size_t n_slots = ports->first_s == 0 ? 0 : (size_t)plan->n_slots * ports->n_ends;
    for (size_t i = 0; i < n_slots; i++) {
        ports->ready_s[i] = ports->first_s;
    }
    for (uint32_t r = 0; ports->ranks_relay && plan->starts_own && r < ports->n_ranks; r++) {
        for (uint32_t c = 0; c < plan->n_chunks; c++) {
            ports->ready_s[(size_t)r * plan->n_slots + c] = ports->arrival_s[r];
        }
    }
    for (uint32_t p = 0; p < ports->n_ports; p++) {
        ports->tx_free_s[p] = ports->rx_free_s[p] = ports->first_s;
    }
    return CS_OK;
}

static cs_status list_arrivals(cs_ports *ports, cs_arena *arena, const cs_scenario *s,
                               const double *own_ready_s)
{
    double *arrival = CS_ARENA_NEW(arena, double, ports->n_ends);

    for (uint32_t r = 0; arrival != NULL && r < ports->n_ends; r++) {
        bool   is_rank = r < ports->n_ranks;
        double own_s   = own_ready_s != NULL && is_rank ? own_ready_s[r] : 0;
        arrival[r]     = fmax(is_rank ? cs_arrival(s, r) : 0, own_s) + ports->first_s;
    }
    ports->arrival_s = arrival;
    return arrival == NULL ? CS_ENOMEM : CS_OK;
}

static cs_status describe(cs_ports *ports, cs_arena *arena, const cs_scenario *scenario,
                          const cs_plan *plan)
{
    double first_s = 0 - cs_last_arrival(scenario);

    *ports = (cs_ports){.n_slots     = plan->n_slots,
                        .seed        = scenario->seed,
                        .uses        = plan->uses,
                        .first_s     = first_s,
                        .last_end_s  = -(double)INFINITY,
                        .ranks_relay = plan->own_ready_s != NULL};
    cs_ports_place(ports, &scenario->cluster, plan->uses);
    CS_TRY(list_arrivals(ports, arena, scenario, plan->own_ready_s));
    if (!cs_nics_are_even(scenario)) {
        CS_TRY(cs_capacity_is_constant(scenario) ? slow_constant(ports, arena, scenario)
                                                 : slow_over_time(ports, arena, scenario));
    }
    return CS_OK;
}

cs_status cs_ports_describe(cs_ports *ports, cs_arena *arena, const cs_scenario *scenario,
                            const cs_plan *plan, cs_error *err)
{
    return describe(ports, arena, scenario, plan) == CS_OK
               ? CS_OK
               : CS_NO_MEMORY(err, "%u ranks with %u slots each", ports->n_ranks, ports->n_slots);
}

cs_status cs_ports_open(cs_ports *ports, cs_arena *arena, const cs_scenario *scenario,
                        const cs_plan *plan, cs_error *err)
{
    cs_status status = describe(ports, arena, scenario, plan);

    if (status == CS_OK) {
        status = allocate(ports, arena, plan);
    }
    for (uint32_t r = 0; status == CS_OK && !ports->ranks_relay && r < ports->n_ranks; r++) {
        close_ports_of_rank(ports, r, ports->arrival_s[r]);
    }
    return status == CS_OK
               ? CS_OK
               : CS_NO_MEMORY(err, "%u ranks with %u slots each", ports->n_ranks, ports->n_slots);
}

double cs_ports_fence(cs_ports *ports, uint32_t except, double cost_s)
{
    double latest = ports->last_end_s;

    for (uint32_t r = 0; r < ports->n_ranks; r++) {
        latest = r == except ? latest : fmax(latest, latest_of_rank(ports, r));
    }
    latest += cost_s;
    for (uint32_t r = 0; r < ports->n_ranks; r++) {
        if (r != except) {
            close_ports_of_rank(ports, r, latest);
        }
    }
    return latest;
}

double cs_ports_last_end_s(const cs_ports *ports)
{
    double latest = fmax(ports->last_end_s, ports->first_s);

    for (uint32_t p = 0; !says_ends(ports) && p < ports->n_ports; p++) {
        latest = fmax(latest, fmax(ports->tx_free_s[p], ports->rx_free_s[p]));
    }
    return latest;
}

void cs_ports_end_stage(cs_ports *ports)
{
    double until_s = cs_ports_last_end_s(ports);

    for (uint32_t r = 0; r < ports->n_ranks; r++) {
        close_ports_of_rank(ports, r, until_s);
    }
}

double cs_ports_end_s(const cs_ports *ports)
{
    return fmax(cs_ports_last_end_s(ports), 0); /* the last rank has come */
}
