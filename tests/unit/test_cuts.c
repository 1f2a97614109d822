/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bound of the links, by hand: shared NICs, leaves, late ranks; where it does not apply. */
#include "analytic/cuts.h"
#include "cs/bound.h"
#include "cs/machine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MOST = 600 };

static double      arrival_s[MOST];
static cs_arena    arena;
static cs_topology topology;

static const cs_bound *bound(void)
{
    size_t i = 0;

    while (strcmp(cs_bounds[i]->name, "link_cut") != 0) {
        i++;
    }
    return cs_bounds[i];
}

static cs_scenario scenario_of(uint32_t n, uint32_t g, cs_collective collective, uint64_t bytes)
{
    cs_fabric fast = {CS_SWITCHED, 2e-6, 1e12}, slow = {CS_SWITCHED, 5e-6, 1e12};

    return (cs_scenario){
        .collective = collective,
        .bytes      = bytes,
        .arrival_s  = arrival_s,
        .cluster    = {.n_ranks = n, .gpus_per_server = g, .fabrics = {slow, fast, fast}}};
}

static double seconds(cs_scenario *s, bool alpha_per_message)
{
    cs_bound_context context = {
        .scenario = s, .latency_s = {5e-6, 2e-6, 2e-6}, .alpha_per_message = alpha_per_message};

    s->cluster.topology = topology.kind != NULL ? &topology : NULL;
    return bound()->seconds(&context);
}

static void expect(double got_s, double want_s)
{
    cr_expect_float_eq(got_s, want_s, 1e-12 * want_s, "%.17g, not %.17g", got_s, want_s);
}

/* Servers of four GPUs with so many NICs of 10 GB/s. */
static void use_servers(cs_scenario *s, uint32_t nics, double pcie_Bps)
{
    const cs_server_shape shape = {.n_gpus       = 4,
                                   .n_nics       = nics,
                                   .n_sockets    = 1,
                                   .mesh         = CS_MESH_SWITCHED,
                                   .nvlink_Bps   = 1e12,
                                   .nic_Bps      = 10e9,
                                   .nic_pcie_Bps = pcie_Bps,
                                   .pcie_Bps     = pcie_Bps,
                                   .uplink_Bps   = pcie_Bps,
                                   .socket_Bps   = 1e12};
    const cs_site         site  = {.machine = cs_server_make(&shape, "s", &arena), .n_servers = 3};

    cr_assert_eq(cs_site_links(&site, &s->cluster, &arena, &topology, NULL), CS_OK);
}

static void use_leaves(uint32_t leaves, double uplink_Bps)
{
    static cs_leaf_spine shape;
    static cs_link       links[64];

    shape = (cs_leaf_spine){.n_leaves             = leaves,
                            .n_spines             = 2,
                            .uplink_bandwidth_Bps = uplink_Bps,
                            .hop_latency_s        = 1e-6};
    cs_leaf_spine_make(&shape, links, &topology);
}

static void clear(void)
{
    memset(arrival_s, 0, sizeof arrival_s);
    memset(&topology, 0, sizeof topology);
    cs_arena_free(&arena);
}

Test(cuts, nics_of_a_server, .fini = clear)
{
    for (uint32_t nics = 1; nics <= 2; nics++) {
        cs_scenario s = scenario_of(12, 4, CS_ALLGATHER, 12000000);
        use_servers(&s, nics, 30e9);
        expect(seconds(&s, true), 5e-6 + 8e6 / (nics * 10e9));
        s.collective = CS_REDUCESCATTER;
        expect(seconds(&s, true), 5e-6 + 8e6 / (nics * 10e9)); /* what leaves a server */
        s.collective = CS_ALLTOALL;
        expect(seconds(&s, true), 5e-6 + 32 * 1e6 / (nics * 10e9));
        s.collective = CS_ALLREDUCE; /* 2 (k - 1) bytes over the links of k servers */
        expect(seconds(&s, true), 5e-6 + 4 * 12e6 / (3 * nics * 10e9));
        expect(seconds(&s, false), 4 * 12e6 / (3 * nics * 10e9));
    }
}

/* The NICs are behind PCIe links that carry less. */
Test(cuts, narrowest_place, .fini = clear)
{
    cs_scenario s = scenario_of(12, 4, CS_ALLGATHER, 12000000);

    use_servers(&s, 2, 4e9);
    expect(seconds(&s, true), 5e-6 + 8e6 / 8e9);
}

Test(cuts, leaves, .fini = clear)
{
    cs_scenario s = scenario_of(12, 1, CS_ALLREDUCE, 12000000);

    use_leaves(4, 1e9);
    expect(seconds(&s, true), 7e-6 + 2 * 3 * 12e6 / (4 * 2e9)); /* 5 us, and two hops */
    use_leaves(2, 1e9);
    expect(seconds(&s, true), 7e-6 + 12e6 / 2e9);
    use_leaves(5, 1e9); /* 3, 3, 3 and 3 ranks: the last leaf is empty, and refused elsewhere */
    expect(seconds(&s, true), 7e-6 + 2 * 3 * 12e6 / (4 * 2e9));
}

Test(cuts, uneven_leaves, .fini = clear)
{
    cs_scenario s = scenario_of(11, 1, CS_ALLREDUCE, 12000000);

    use_leaves(4, 1e9);
    expect(seconds(&s, true), 7e-6 + 2 * 3 * 12e6 / (4 * 2e9));
    s.collective = CS_ALLGATHER; /* into the leaf of two */
    expect(seconds(&s, true), 7e-6 + (12e6 - 2 * 1090909) / 2e9);
}

Test(cuts, late_ranks, .fini = clear)
{
    cs_scenario s = scenario_of(12, 1, CS_ALLREDUCE, 12000000);

    use_leaves(4, 1e9);
    arrival_s[5] = 1;
    expect(seconds(&s, true), 1 + 7e-6 + 12e6 / 2e9);
    s.collective = CS_ALLGATHER; /* its block, and before that those of the others */
    expect(seconds(&s, true), 1 + 7e-6 + 1e6 / 2e9);
    arrival_s[4] = 0.9999;
    expect(seconds(&s, true), 0.9999 + 7e-6 + 2e6 / 2e9);
    s.collective = CS_BROADCAST;
    s.root       = 5;
    expect(seconds(&s, true), 1 + 7e-6 + 12e6 / 2e9);
    s.collective = CS_REDUCE;
    s.root       = 0;
    expect(seconds(&s, true), 1 + 7e-6 + 12e6 / 2e9);
}

Test(cuts, where_it_does_not_apply, .fini = clear)
{
    cs_scenario s = scenario_of(12, 1, CS_ALLREDUCE, 12000000);

    cr_expect(isnan(seconds(&s, true)));
    use_leaves(4, 1e9);
    s.bytes = 0;
    cr_expect(isnan(seconds(&s, true)));
    s = scenario_of(CS_CUTS_MAX_RANKS + 1, 1, CS_ALLREDUCE, 1000);
    cr_expect(isnan(seconds(&s, true)));
    s = scenario_of(CS_CUTS_MAX_RANKS, 1, CS_ALLREDUCE, 1000);
    cr_expect(seconds(&s, true) > 0);
}
