/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AdapCC's logical topologies and strategies: what edges are made of, which trees are refused, what
 * is left when memory ends. */
#include "algorithms/adapcc/strategy.h"
#include "base/alloc.h"
#include "cs/topology.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const cs_logical_kind A100 = {2, 4, 1, 12.5e9, {CS_DIRECT, 5e-6, 100e9}};
static const cs_logical_kind V100 = {1, 2, 2, 6.25e9, {CS_SWITCHED, 4e-6, 50e9}};

static void make_mixed(cs_logical *l)
{
    const cs_logical_kind kinds[] = {A100, V100};
    cs_error              err     = {0};

    cr_assert_eq(cs_logical_make(l, kinds, 2, 20e-6, &err), CS_OK, "%s", err.message);
}

Test(adapcc, servers_may_differ)
{
    cs_logical l;

    make_mixed(&l);
    cr_assert_eq(l.n_ranks, 10u);
    cr_assert_eq(l.n_servers, 3u);
    cr_assert_eq(l.n_nics, 4u);
    cr_assert_eq(l.server_of[7], 1u);
    cr_assert_eq(l.server_of[8], 2u);
    cr_assert_eq(l.nic_of[7], 1u, "four GPUs share a NIC");
    cr_assert_eq(l.nic_of[9], 3u, "each of two GPUs has its own");
    cr_assert_str_eq(l.servers[2].ip, "10.0.0.3");
    cs_logical_free(&l);
}

Test(adapcc, edges_have_links_and_ports)
{
    cs_logical l;

    make_mixed(&l);
    cs_logical_edge mesh = cs_logical_edge_of(&l, 1, 3), net = cs_logical_edge_of(&l, 5, 9);
    cs_logical_edge nvswitch = cs_logical_edge_of(&l, 9, 8);

    cr_assert(!mesh.is_net && mesh.egress == CS_NO_PORT && mesh.ingress == CS_NO_PORT);
    cr_assert_float_eq(mesh.bandwidth_Bps, 100e9, 0);
    cr_assert_float_eq(mesh.alpha_s, 5e-6, 0);
    cr_assert(!nvswitch.is_net && nvswitch.egress == 4 + 9 && nvswitch.ingress == 4 + 8);
    cr_assert_float_eq(nvswitch.egress_Bps, 50e9, 0);
    cr_assert(net.is_net && net.egress == 1 && net.ingress == 3);
    cr_assert_float_eq(net.bandwidth_Bps, 6.25e9, 0, "the slower of two NICs");
    cr_assert_float_eq(net.egress_Bps, 12.5e9, 0);
    cr_assert_float_eq(net.alpha_s, 20e-6, 0);
    cs_logical_free(&l);
}

Test(adapcc, pairs_may_have_links_of_their_own)
{
    cs_logical      l;
    cs_logical_link links[16] = {{0}}, net[9] = {{0}};
    cs_error        err = {0};

    make_mixed(&l);
    links[1 * 4 + 2]   = (cs_logical_link){7e-6, 25e9};
    net[0 * 3 + 2]     = (cs_logical_link){90e-6, 1e9};
    l.servers[1].links = links;
    l.net              = net;
    cr_assert_eq(cs_logical_check(&l, &err), CS_OK, "%s", err.message);
    cr_assert_float_eq(cs_logical_edge_of(&l, 5, 6).bandwidth_Bps, 25e9, 0);
    cr_assert_float_eq(cs_logical_edge_of(&l, 6, 5).bandwidth_Bps, 100e9, 0, "one direction");
    cr_assert_float_eq(cs_logical_edge_of(&l, 3, 8).alpha_s, 90e-6, 0);
    cr_assert_float_eq(cs_logical_edge_of(&l, 8, 3).bandwidth_Bps, 6.25e9, 0);
    net[2].bandwidth_Bps = -1;
    cr_assert_eq(cs_logical_check(&l, &err), CS_EINVAL);
    cs_logical_free(&l);
}

Test(adapcc, a_cluster_shows_its_slow_nics)
{
    const cs_capacity slow[] = {{2, 2, 0, (double)INFINITY, false}, {4, 5, 1e-3, 2e-3, false}};
    cs_scenario       s      = {.bytes = 1, .capacity = slow, .n_capacity = 2};
    cs_logical        l;
    cs_error          err = {0};

    s.cluster                    = (cs_cluster){.n_ranks = 6, .gpus_per_server = 2};
    s.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 3e-6, 10e9};
    s.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_DIRECT, 1e-6, 100e9};
    cr_assert_eq(cs_logical_of_scenario(&l, &s, &err), CS_OK, "%s", err.message);
    cr_assert_eq(l.n_servers, 3u);
    cr_assert_eq(l.n_nics, 6u);
    cr_assert_float_eq(l.nics[1].egress_Bps, 10e9, 0);
    cr_assert_float_eq(l.nics[2].egress_Bps, 5e9, 0);
    cr_assert_float_eq(l.nics[3].ingress_Bps, 5e9, 0, "all NICs of the server");
    cr_assert_float_eq(l.nics[4].ingress_Bps, 10e9, 0, "slow later than time 0");
    cs_logical_free(&l);
}

Test(adapcc, servers_have_rates_of_their_own)
{
    const cs_server servers[] = {{{10e9, 100e9, 1}}, {{5e9, 50e9, 1}}};
    cs_scenario     s         = {.bytes = 1};
    cs_logical      l;

    s.cluster                    = (cs_cluster){.n_ranks = 4, .gpus_per_server = 2};
    s.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 3e-6, 10e9};
    s.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_DIRECT, 1e-6, 100e9};
    s.cluster.nic_sharers        = 2;
    cs_cluster_set_servers(&s.cluster, servers);
    cr_assert_eq(cs_logical_of_scenario(&l, &s, NULL), CS_OK);
    cr_assert_eq(l.n_nics, 4u, "a port model gives every GPU a port");
    cr_assert_float_eq(l.nics[1].egress_Bps, 10e9, 0);
    cr_assert_float_eq(l.nics[2].egress_Bps, 5e9, 0);
    cr_assert_float_eq(cs_logical_edge_of(&l, 3, 2).bandwidth_Bps, 50e9, 0);
    cs_logical_free(&l);
}

/* Link s leads out of server s, link 3 + s into it. */
static uint32_t route(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                      uint32_t dst, uint32_t fabric, uint32_t *links)
{
    (void)topology;
    (void)fabric;
    links[0] = cs_server_of(cluster, src);
    links[1] = 3 + cs_server_of(cluster, dst);
    return 2;
}

Test(adapcc, links_show_which_nics_are_shared_and_slow)
{
    const cs_link          links[]  = {{10e9, 0, false}, {10e9, 0, false}, {4e9, 0, false},
                                       {10e9, 0, true},  {10e9, 0, true},  {3e9, 0, true}};
    const cs_topology_kind kind     = {.name = "wires", .route = route};
    const cs_topology      topology = {&kind, 6, links, 2, NULL};
    cs_scenario            s        = {.bytes = 1};
    cs_logical             l;

    s.cluster                    = (cs_cluster){.n_ranks = 12, .gpus_per_server = 4};
    s.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 3e-6, 10e9};
    s.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_DIRECT, 1e-6, 100e9};
    s.cluster.nic_sharers        = 2;
    s.cluster.topology           = &topology;
    cr_assert_eq(cs_logical_of_scenario(&l, &s, NULL), CS_OK);
    cr_assert_eq(l.n_nics, 6u);
    cr_assert_eq(l.nic_of[5], 2u);
    cr_assert_eq(l.nic_of[6], 3u);
    cr_assert_float_eq(l.nics[0].egress_Bps, 10e9, 0);
    cr_assert_float_eq(l.nics[1].ingress_Bps, 10e9, 0);
    cr_assert_float_eq(l.nics[4].egress_Bps, 4e9, 0);
    cr_assert_float_eq(l.nics[5].ingress_Bps, 3e9, 0);
    cs_logical_free(&l);
}

Test(adapcc, a_mesh_that_drives_few_links_has_ports)
{
    cs_scenario s = {.bytes = 1};
    cs_logical  l;

    s.cluster                    = (cs_cluster){.n_ranks = 8, .gpus_per_server = 4, .sockets = 2};
    s.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 3e-6, 10e9};
    s.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_DIRECT, 1e-6, 100e9};
    s.cluster.fabrics[CS_CROSS]  = (cs_fabric){CS_SWITCHED, 8e-6, 20e9};
    cr_assert_eq(cs_logical_of_scenario(&l, &s, NULL), CS_OK);
    cr_assert_eq(cs_logical_edge_of(&l, 0, 1).egress, CS_NO_PORT, "one link alone needs no port");
    cr_assert_float_eq(cs_logical_edge_of(&l, 0, 2).bandwidth_Bps, 20e9, 0);
    cr_assert_eq(cs_logical_edge_of(&l, 0, 2).egress, 8u + 8u + 0u);
    cs_logical_free(&l);

    s.cluster.sockets           = 1;
    s.cluster.nvlink_concurrent = 2;
    cr_assert_eq(cs_logical_of_scenario(&l, &s, NULL), CS_OK);
    cr_assert_float_eq(cs_logical_edge_of(&l, 0, 2).bandwidth_Bps, 100e9, 0);
    cr_assert_float_eq(cs_logical_edge_of(&l, 0, 2).egress_Bps, 200e9, 0);
    cs_logical_free(&l);
}

static void refuse_kind(cs_logical_kind kind)
{
    cs_logical l;
    cs_error   err = {0};

    cr_assert_eq(cs_logical_make(&l, &kind, 1, 0, &err), CS_EINVAL);
    cr_assert(err.message[0] != '\0');
    cs_logical_free(&l);
}

Test(adapcc, impossible_servers_are_refused)
{
    cs_logical_kind kind = A100;

    kind.n_nics = 5;
    refuse_kind(kind);
    kind        = A100;
    kind.n_gpus = 0;
    refuse_kind(kind);
    kind       = A100;
    kind.count = CS_MAX_RANKS;
    refuse_kind(kind);
    kind         = A100;
    kind.nic_Bps = 0;
    refuse_kind(kind);
    kind                      = A100;
    kind.nvlink.bandwidth_Bps = (double)NAN;
    refuse_kind(kind);
}

static void make_trees(cs_strategy *s, uint32_t n_ranks, uint32_t n_trees, const uint32_t *parents)
{
    cr_assert_eq(cs_strategy_make(s, n_ranks, n_trees, NULL), CS_OK);
    for (uint32_t m = 0; m < n_trees; m++) {
        memcpy(s->trees[m].parent, parents + (size_t)m * n_ranks, n_ranks * sizeof *parents);
    }
}

#define ROOT   CS_TREE_ROOT
#define ABSENT CS_TREE_ABSENT

Test(adapcc, trees_are_brought_into_order)
{
    const uint32_t parents[] = {4, 0, 0, 1, ROOT, 4};
    const uint32_t order[]   = {4, 0, 5, 1, 2, 3};
    cs_strategy    s;
    cs_error       err = {0};

    make_trees(&s, 6, 1, parents);
    cr_assert_eq(cs_strategy_check(&s, &err), CS_OK, "%s", err.message);
    cr_assert_arr_eq(s.trees[0].order, order, sizeof order);
    cr_assert_eq(s.trees[0].n_children[0], 2u);
    cr_assert_eq(s.trees[0].first_child[0], 3u);
    cr_assert_eq(s.trees[0].n_children[3], 0u);
    cs_strategy_set_sizes(&s, 10, 4);
    cr_assert_eq(cs_tree_n_chunks(&s.trees[0]), 3u);
    cs_strategy_free(&s);
}

static void refuse_trees(uint32_t n_trees, const uint32_t *parents, const char *why)
{
    cs_strategy s;
    cs_error    err = {0};

    make_trees(&s, 3, n_trees, parents);
    cr_assert_eq(cs_strategy_check(&s, &err), CS_EINVAL);
    cr_assert(strstr(err.message, why) != NULL, "%s", err.message);
    cs_strategy_free(&s);
}

Test(adapcc, what_is_no_tree_is_refused)
{
    const uint32_t no_root[] = {1, 2, 0}, two_roots[] = {ROOT, ROOT, 0}, circle[] = {ROOT, 2, 1};
    const uint32_t beyond[] = {ROOT, 3, 0}, own[] = {ROOT, 1, 0}, absent[] = {ROOT, ABSENT, 1};
    const uint32_t none[] = {ABSENT, ABSENT, ABSENT}, other_ranks[] = {ROOT, 0, 0, ROOT, 0, ABSENT};

    refuse_trees(1, no_root, "0 roots");
    refuse_trees(1, two_roots, "2 roots");
    refuse_trees(1, circle, "circle");
    refuse_trees(1, beyond, "parent of rank 1");
    refuse_trees(1, own, "parent of rank 1");
    refuse_trees(1, absent, "parent of rank 2");
    refuse_trees(1, none, "0 roots");
    refuse_trees(2, other_ranks, "same ranks");
}

Test(adapcc, strategies_fit_their_cluster_alone)
{
    const uint32_t        parents[] = {ROOT, 0, 0, 2, 0};
    const char           *ips[]     = {"a", "a", "b", "b", "b"};
    const cs_logical_kind two       = {2, 2, 1, 1e9, {CS_DIRECT, 0, 1e9}},
                          four      = {1, 4, 1, 1e9, {CS_DIRECT, 0, 1e9}};
    cs_logical  l;
    cs_strategy s;

    make_trees(&s, 4, 1, parents);
    cr_assert_eq(cs_strategy_check(&s, NULL), CS_OK);
    cr_assert_eq(cs_logical_make(&l, &four, 1, 0, NULL), CS_OK);
    cr_assert_eq(cs_strategy_fits(&s, &l, NULL), CS_OK);
    s.ip = ips;
    cr_assert_eq(cs_strategy_fits(&s, &l, NULL), CS_EINVAL, "its servers are others");
    cs_logical_free(&l);
    cr_assert_eq(cs_logical_make(&l, &two, 1, 0, NULL), CS_OK);
    cr_assert_eq(cs_strategy_fits(&s, &l, NULL), CS_OK);
    cs_strategy_free(&s);

    make_trees(&s, 5, 1, parents);
    cr_assert_eq(cs_strategy_check(&s, NULL), CS_OK);
    cr_assert_eq(cs_strategy_fits(&s, &l, NULL), CS_EINVAL, "one rank too many");
    cs_strategy_free(&s);
    cs_logical_free(&l);
}

static cs_status make_and_copy(cs_logical *l, cs_strategy *s, cs_strategy *copy, cs_error *err)
{
    CS_TRY(cs_logical_make(l, &A100, 1, 0, err));
    CS_TRY(cs_strategy_make(s, 8, 2, err));
    for (uint32_t m = 0; m < 2; m++) {
        for (uint32_t g = 0; g < 8; g++) {
            s->trees[m].parent[g] = g == m ? ROOT : m;
        }
    }
    CS_TRY(cs_strategy_check(s, err));
    return cs_strategy_copy(copy, s, err);
}

Test(adapcc, memory_may_end_anywhere)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_logical  l = {0};
        cs_strategy s = {0}, copy = {0};
        cs_error    err = {0};

        cr_assert_lt(passes, 100);
        cs_alloc_fail_after(passes);
        status = make_and_copy(&l, &s, &copy, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
        if (status == CS_OK) {
            cr_assert_arr_eq(copy.trees[1].order, s.trees[1].order, 8 * sizeof(uint32_t));
        }
        cs_logical_free(&l);
        cs_strategy_free(&s);
        cs_strategy_free(&copy);
    }
}
