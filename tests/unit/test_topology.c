/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leaf-spine networks: who meets where, which links lie on the way, and what is refused. */
#include "cs/scenario.h"
#include "cs/topology.h"
#include "models/lib/links.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static cs_link       links[1024];
static cs_leaf_spine shape;
static cs_topology   topology;
static cs_scenario   scenario;

/* n ranks, g GPUs per server, NICs of 10 B/s. */
static void set(uint32_t n, uint32_t g, uint32_t leaves, uint32_t spines)
{
    shape = (cs_leaf_spine){leaves, spines, 5, 0.25};
    cs_leaf_spine_make(&shape, links, &topology);
    scenario                            = (cs_scenario){.bytes   = 1,
                                                        .cluster = {.n_ranks         = n,
                                                                    .gpus_per_server = g,
                                                                    .fabrics         = {{CS_SWITCHED, 0, 10}},
                                                                    .topology        = &topology,
                                                                    .sockets         = 1}};
    scenario.cluster.fabrics[CS_NVLINK] = scenario.cluster.fabrics[CS_NIC];
}

static uint32_t route(uint32_t src, uint32_t dst, uint32_t *way)
{
    return topology.kind->route(&topology, &scenario.cluster, src, dst, CS_NIC, way);
}

static const char *name_of(uint32_t link)
{
    static char text[80];
    topology.kind->link_name(&topology, link, text, sizeof text);
    return text;
}

Test(topology, leaf_spine_routes_over_the_spine_of_the_pair)
{
    uint32_t way[CS_MAX_ROUTE];

    set(8, 1, 2, 3);
    cr_assert_eq(cs_scenario_check(&scenario, NULL), CS_OK);
    cr_assert_eq(topology.n_links, 12);
    for (uint32_t src = 0; src < 8; src++) {
        for (uint32_t dst = 0; dst < 8; dst++) {
            char     text[80];
            uint32_t n = route(src, dst, way);
            cr_assert_eq(n, src / 4 == dst / 4 ? 0 : 2);
            if (n == 2) {
                snprintf(text, sizeof text, "uplink leaf %u -> spine %u", src / 4, (src + dst) % 3);
                cr_assert_str_eq(name_of(way[0]), text);
                snprintf(text, sizeof text, "downlink spine %u -> leaf %u", (src + dst) % 3,
                         dst / 4);
                cr_assert_str_eq(name_of(way[1]), text);
                cr_assert_eq(links[way[0]].bandwidth_Bps, 5);
                cr_assert_eq(links[way[0]].latency_s, 0.25);
            }
        }
    }
}

Test(topology, servers_fill_the_leaves_in_order)
{
    uint32_t way[CS_MAX_ROUTE];

    set(14, 2, 3, 1); /* 7 servers: 3, 3 and 1 */
    cr_assert_eq(cs_scenario_check(&scenario, NULL), CS_OK);
    cr_assert_eq(route(0, 5, way), 0);
    cr_assert_eq(route(5, 6, way), 2);
    cr_assert_eq(route(6, 11, way), 0);
    cr_assert_eq(route(11, 13, way), 2);
    cr_assert_eq(topology.kind->route(&topology, &scenario.cluster, 0, 12, CS_NVLINK, way), 0,
                 "NVLink does not leave the server");
}

/* The scenario is refused at `where`, with `words`. */
static void expect_refusal(const char *where, const char *words)
{
    cs_error err = {0};

    cr_assert_eq(cs_scenario_check(&scenario, &err), CS_EINVAL);
    cr_assert_str_eq(err.where, where);
    cr_assert_not_null(strstr(err.message, words), "%s", err.message);
}

Test(topology, refuses_what_cannot_be)
{
    set(8, 1, 9, 1);
    expect_refusal("cluster.topology.leaves", "9 leaves for 8 servers");
    set(8, 2, 5, 1);
    expect_refusal("cluster.topology.leaves", "5 leaves for 4 servers");
    set(8, 1, 2, 0);
    expect_refusal("cluster.topology.spines", "disconnected");
    set(8, 1, 2, 2);
    links[5].bandwidth_Bps = 0;
    expect_refusal("cluster.topology", "downlink spine 0 -> leaf 1 has 0 B/s");
    set(8, 1, 2, 2);
    links[0].latency_s = (double)NAN;
    expect_refusal("cluster.topology", "uplink leaf 0 -> spine 0");
    set(8, 1, 2, 2);
    topology.max_route = CS_MAX_ROUTE + 1;
    expect_refusal("cluster.topology", "routes over");
}

static uint32_t path(uint32_t src, uint32_t dst, uint32_t fabric, uint32_t i, uint32_t *way)
{
    return cs_topology_path(&topology, &scenario.cluster, src, dst, fabric, i, way);
}

static uint32_t n_paths(uint32_t src, uint32_t dst, uint32_t fabric)
{
    return cs_topology_n_paths(&topology, &scenario.cluster, src, dst, fabric);
}

/* Path i of a pair goes over the i-th spine behind that of its route; of many spines 64 are listed.
 */
Test(topology, leaf_spine_has_a_path_for_every_spine)
{
    uint32_t way[CS_MAX_ROUTE], first[CS_MAX_ROUTE];

    for (uint32_t spines = 1; spines <= 70; spines += 23) {
        set(14, 2, 3, spines);
        for (uint32_t pair = 0; pair < 14 * 14; pair++) {
            uint32_t src = pair / 14, dst = pair % 14, n = route(src, dst, first);
            uint32_t listed = n == 0 ? 1 : spines < CS_MAX_PATHS ? spines : CS_MAX_PATHS;
            cr_assert_eq(n_paths(src, dst, CS_NIC), listed);
            cr_assert_eq(path(src, dst, CS_NIC, 0, way), n);
            cr_assert(n == 0 || memcmp(way, first, n * sizeof *way) == 0);
            for (uint32_t i = 0; n > 0 && i < listed; i++) {
                uint32_t spine = (src + dst + i) % spines;
                cr_assert_eq(path(src, dst, CS_NIC, i, way), 2);
                cr_assert_eq(way[0], 2 * (src / 6 * spines + spine));
                cr_assert_eq(way[1], 2 * (dst / 6 * spines + spine) + 1);
            }
        }
        cr_assert_eq(n_paths(0, 12, CS_NVLINK), 1);
        cr_assert_eq(path(0, 12, CS_NVLINK, 0, way), 0);
    }
}

/* A kind that lists no paths has its route. */
Test(topology, a_kind_without_paths_has_one)
{
    uint32_t way[CS_MAX_ROUTE];

    set(8, 1, 2, 3);
    cs_topology_kind plain = *topology.kind;
    plain.n_paths          = NULL;
    plain.path             = NULL;
    topology.kind          = &plain;
    cr_assert_eq(n_paths(0, 7, CS_NIC), 1);
    cr_assert_eq(path(0, 7, CS_NIC, 0, way), 2);
    cr_assert_str_eq(name_of(way[0]), "uplink leaf 0 -> spine 1");
}

/* The links of a message: both ports, and the inner links of the path, there and back. */
Test(topology, messages_have_the_links_of_their_paths)
{
    uint32_t  way[CS_MAX_LINKS_OF_WAY], base[CS_FABRICS] = {0};
    double    latency_s;
    cs_flight f = {.src = 1, .dst = 6, .tx = 1, .rx = 6, .fabric = CS_NIC, .is_exchange = true};

    set(8, 1, 2, 3);
    cs_ports ports = {.cluster = &scenario.cluster, .n_ranks = 8, .n_ports = 8};
    memcpy(ports.port_base, base, sizeof base);
    for (int back = 0; back < 2; back++) {
        cr_assert_eq(cs_links_n_paths(&ports, &f, back), 3);
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t from = back ? 1 : 0, to = 1 - from, spine = (1 + 6 + i) % 3;
            cr_assert_eq(cs_links_of_path(&ports, &f, back, i, way, &latency_s), 4);
            cr_assert_eq(way[0], back ? 6 : 1);
            cr_assert_eq(way[1], 8u + (back ? 1 : 6));
            cr_assert_eq(way[2], 16 + 2 * (3 * from + spine));
            cr_assert_eq(way[3], 16 + 2 * (3 * to + spine) + 1);
            cr_assert_eq(latency_s, 0.5);
        }
        uint32_t route[CS_MAX_LINKS_OF_WAY];
        cr_assert_eq(cs_links_of_way(&ports, &f, back, route, &latency_s), 4);
        cr_assert_eq(cs_links_of_path(&ports, &f, back, 0, way, &latency_s), 4);
        cr_assert(memcmp(route, way, 4 * sizeof *way) == 0);
    }
    scenario.cluster.topology = NULL;
    cr_assert_eq(cs_links_n_paths(&ports, &f, false), 1);
    cr_assert_eq(cs_links_of_path(&ports, &f, false, 0, way, &latency_s), 2);
    cr_assert_eq(latency_s, 0);
}
