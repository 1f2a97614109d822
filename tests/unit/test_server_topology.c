/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Servers that are written out ({"kind": "server"}): ports and shared NICs, and Parallel Rings over
 * fewer NICs than GPUs against the closed form, where the rings that share a NIC take so many
 * times longer a step. */
#include "support/config.h"
#include "topology/topology_file.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GPUS = 4, SERVERS = 6 };

static const double nic_Bps = 24e9, pair_Bps = 150e9, nic_alpha_s = 3e-6, pair_alpha_s = 1e-6;

/* AllGather of `bytes` over SERVERS servers of GPUS GPUs and `nics` NICs. */
static double elapsed_s(uint32_t nics, const char *model, const char *bytes)
{
    char       topology[256];
    cs_config *config = NULL;
    cs_error   err    = {0};

    (void)snprintf(topology, sizeof topology,
                   "{\"kind\": \"server\", \"gpus\": %d, \"nics\": %u, \"nvlink\": \"direct\", "
                   "\"nvlink_bandwidth\": \"150GB/s\", \"nic_bandwidth\": \"24GB/s\", "
                   "\"servers\": %d}",
                   GPUS, nics, SERVERS);
    cr_assert_eq(cs_config_new(&config, &err), CS_OK);
    ct_set(config, "collective", "allgather");
    ct_set(config, "algorithm.name", "parallel_rings");
    ct_set(config, "model.name", model);
    ct_set(config, "bytes", bytes);
    ct_set(config, "cluster.topology", topology);
    cs_case   c      = ct_case(config, 0);
    cs_result result = ct_result(&c);
    cs_case_free(&c);
    cs_config_free(config);
    return result.elapsed_s;
}

/* max((N - 1) R + D, N D), where R is a ring step and D a step inside the server. */
static double closed_form_s(uint32_t sharers, double bytes)
{
    double block = bytes / (GPUS * SERVERS);
    double ring  = nic_alpha_s + sharers * block / nic_Bps;
    double mesh  = pair_alpha_s + block / pair_Bps;
    return fmax((SERVERS - 1) * ring + mesh, SERVERS * mesh);
}

Test(server_topology, parallel_rings_share_nics)
{
    static const char *const models[] = {"alpha-beta", "flow"};

    for (size_t m = 0; m < 2; m++) {
        for (uint32_t nics = 1; nics <= 4; nics++) {
            uint32_t sharers = (GPUS + nics - 1) / nics; /* at the NIC that has most */
            for (uint32_t blocks = 1; blocks <= 256; blocks *= 16) {
                char   bytes[32];
                double want_s = closed_form_s(sharers, 24.0 * 8192 * blocks);
                (void)snprintf(bytes, sizeof bytes, "%u", 24 * 8192 * blocks);
                double got_s = elapsed_s(nics, models[m], bytes);
                cr_assert_float_eq(got_s, want_s, 1e-12 * want_s, "%s, %u NICs, %s bytes: %g, %g",
                                   models[m], nics, bytes, got_s, want_s);
            }
        }
    }
}

static cs_topology_file parse(cs_arena *arena, const char *text, cs_status want, cs_error *err)
{
    cs_topology_file file;

    *err = (cs_error){0};
    cr_assert_eq(cs_topology_file_parse(text, strlen(text), "input", arena, &file, err), want, "%s",
                 err->message);
    return file;
}

Test(server_topology, parts_are_spread_evenly)
{
    cs_arena         arena = {0};
    cs_error         err;
    cs_topology_file file =
        parse(&arena,
              "{\"kind\": \"server\", \"gpus\": 8, \"nics\": 4, \"sockets\": 2, "
              "\"pcie_switches\": 4, \"nvlink\": \"sockets\", \"servers\": 3}",
              CS_OK, &err);
    const cs_machine *m = file.site.machine;
    cs_machine_ports  ports;

    cr_assert_null(file.tree);
    cr_assert_eq(file.site.n_servers, 3);
    cr_assert_eq(m->n_gpus, 8);
    cr_assert_eq(m->n_nics, 4);
    cr_assert_eq(m->gpus[3].socket, 0);
    cr_assert_eq(m->gpus[4].socket, 1);
    cr_assert_eq(m->gpus[5].pcie, 2);
    cr_assert_eq(m->nics[2].pcie, 2);
    cr_assert_eq(m->nvlink_Bps[3 * 8 + 4], 0);
    cr_assert_eq(m->nvlink_Bps[2 * 8 + 3], 25e9);
    cr_assert_eq(cs_machine_describe(m, 8, false, &arena, &ports), CS_OK);
    cr_assert_eq(ports.most_sharers, 2);
    cr_assert_eq(ports.sockets, 2);
    cr_assert_eq(ports.fabrics[CS_NIC].bandwidth_Bps, 12.5e9);
    cs_arena_free(&arena);
}

/* Unless it is given, PCIe is no limit for the NICs of a GPU. */
Test(server_topology, pcie_takes_what_the_nics_bring)
{
    cs_arena         arena = {0};
    cs_error         err;
    cs_topology_file wide =
        parse(&arena, "{\"kind\": \"server\", \"gpus\": 2, \"nics\": 4, \"nic_bandwidth\": 50e9}",
              CS_OK, &err);
    cs_topology_file narrow =
        parse(&arena,
              "{\"kind\": \"server\", \"gpus\": 2, \"nics\": 4, \"nic_bandwidth\": 50e9, "
              "\"pcie_bandwidth\": 63e9}",
              CS_OK, &err);

    cr_assert_eq(wide.site.machine->gpus[0].pcie_Bps, 100e9);
    cr_assert_eq(narrow.site.machine->gpus[0].pcie_Bps, 63e9);
    cr_assert_eq(narrow.site.machine->nics[0].pcie_Bps, 63e9);
    cs_arena_free(&arena);
}

Test(server_topology, errors_name_the_place)
{
    cs_arena arena = {0};
    cs_error err;

    parse(&arena, "{\"kind\": \"server\",\n \"gpus\": 0}", CS_EINVAL, &err);
    cr_assert_str_eq(err.where, "gpus");
    cr_assert_eq(err.input_line, 2);
    cr_assert_eq(err.input_column, 10);
    parse(&arena, "{\"kind\": \"server\", \"gpus\": 4, \"nvlinks\": 3}", CS_EINVAL, &err);
    cr_assert_eq(err.input_column, 31, "%d", err.input_column);
    parse(&arena, "{\"kind\": \"server\"}", CS_EINVAL, &err);
    cr_assert(strstr(err.message, "gpus") != NULL || strcmp(err.where, "gpus") == 0);
    cs_arena_free(&arena);
}
