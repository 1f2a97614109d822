/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of ports: messages, bytes and busy time, each counted once. */
#include "observer_setup.h"
#include "output/port_stats.h"
#include "support/scene.h"

#include <string.h>

Test(port_stats, time_with_two_messages_counts_once)
{
    cs_scenario   scenario = scenario_of(4, 1, CS_SWITCHED);
    cs_port_stats stats;

    cr_assert_eq(cs_port_stats_init(&stats, &scenario.cluster, NULL), CS_OK);
    cs_observer observer = cs_port_stats_observer(&stats);
    feed_overlap(&observer);
    const cs_port_stat *port = cs_port_stats_at(&stats, true, CS_NIC, 0, 1);
    cr_expect_float_eq(port->busy_s, 14e-6, 1e-18);
    cr_expect_eq(port->n_messages, 2);
    cr_expect_eq(port->bytes, 16);
    cs_port_stats_free(&stats);
}

Test(port_stats, a_ring_keeps_every_port_busy)
{
    cs_scenario   scenario = scenario_of(4, 1, CS_SWITCHED);
    cs_port_stats stats;
    cs_result     result;
    cs_text       text = {0};

    cr_assert_eq(cs_port_stats_init(&stats, &scenario.cluster, NULL), CS_OK);
    cs_observer observer = cs_port_stats_observer(&stats);
    cr_assert(run_with(&scenario, ring(), cs_models[0], &observer, 1, &result));
    for (uint32_t rank = 0; rank < 4; rank++) {
        for (int sends = 0; sends < 2; sends++) {
            const cs_port_stat *port = cs_port_stats_at(&stats, sends != 0, CS_NIC, rank, 0);
            cr_expect_eq(port->n_messages, 6);
            cr_expect_eq(port->bytes, 6 * 840 * 4096 / 4);
            cr_expect_float_eq(port->busy_s, result.elapsed_s, 1e-12 * result.elapsed_s);
            cr_expect_eq(port->first_s, 0);
            cr_expect_eq(port->until_s, result.elapsed_s);
        }
    }
    cs_port_stats_text(&text, &stats, result.elapsed_s, 3);
    cr_expect_not_null(strstr(text.data, "... and 5 ports that were less busy\n"));
    cr_expect_not_null(strstr(text.data, "8 ports used (each direction counts), busy 100.00 %"));
    cs_text_free(&text);
    cs_port_stats_free(&stats);
}

/* The second round waits for the late rank: what is not busy is idle, and bytes add up. */
Test(port_stats, bytes_add_up_for_every_algorithm)
{
    static const cs_fabric_kind kinds[] = {CS_SWITCHED, CS_DIRECT};

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        for (size_t k = 0; k < 2; k++) {
            cs_scenario   scenario = scenario_of(8, 4, kinds[k]);
            cs_port_stats stats;
            cs_result     result;
            uint64_t      bytes[2] = {0, 0};

            cr_assert_eq(cs_port_stats_init(&stats, &scenario.cluster, NULL), CS_OK);
            cs_observer observer = cs_port_stats_observer(&stats);
            if (run_with(&scenario, cs_algorithms[a], cs_models[0], &observer, 1, &result)) {
                for (size_t i = 0; i < 2 * stats.base[CS_FABRICS]; i++) {
                    const cs_port_stat *port = &stats.ports[i % 2][i / 2];
                    bytes[i % 2] += port->bytes;
                    cr_expect_leq(port->busy_s, result.elapsed_s * (1 + 1e-12));
                }
                /* Ports of switches are those of their GPUs, and not counted again. */
                bool is_switched = ct_adds_in_switches(cs_algorithms[a]);
                cr_expect(is_switched ? bytes[0] < result.wire_bytes
                                      : bytes[0] == result.wire_bytes);
                cr_expect(is_switched ? bytes[1] < result.wire_bytes
                                      : bytes[1] == result.wire_bytes);
            }
            cs_port_stats_free(&stats);
        }
    }
}
