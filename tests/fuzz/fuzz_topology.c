/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topology files: each is refused in one line or describes servers, or hosts with routes, that
 * the checks of a scenario can look at.
 */
#include "base/text.h"
#include "cs/graph.h"
#include "fuzz.h"
#include "topology/topology_file.h"

#include <math.h>
#include <string.h>

static void try_site(const cs_site *site, cs_arena *arena)
{
    const cs_machine *m = site->machine;
    cs_machine_ports  ports;
    cs_topology       topology;
    cs_error          err = {0};

    FUZZ_CLAIM(m->n_gpus >= 1 && m->n_gpus <= CS_MACHINE_MAX_GPUS);
    FUZZ_CLAIM(cs_machine_describe(m, m->n_gpus, true, arena, &ports) == CS_OK);
    FUZZ_CLAIM(m->n_gpus % ports.sockets == 0);
    cs_cluster cluster = {
        .n_ranks = 2 * m->n_gpus, .gpus_per_server = m->n_gpus, .sockets = ports.sockets};
    memcpy(cluster.fabrics, ports.fabrics, sizeof cluster.fabrics);
    if (cs_site_links(site, &cluster, arena, &topology, &err) == CS_OK && topology.kind != NULL &&
        cs_topology_check(&topology, &cluster, &err) == CS_OK) {
        uint32_t way[CS_MAX_ROUTE];
        for (uint32_t dst = 1; dst < cluster.n_ranks && dst < 64; dst++) {
            uint32_t fabric = cs_fabric_of(&cluster, 0, dst);
            uint32_t n      = topology.kind->route(&topology, &cluster, 0, dst, fabric, way);
            for (uint32_t i = 0; i < n; i++) {
                FUZZ_CLAIM(way[i] < topology.n_links);
            }
        }
    }
}

static void try_routes(const cs_route_table *table)
{
    cs_topology topology;
    cs_error    err     = {0};
    cs_cluster  cluster = {.n_ranks = table->n_hosts, .gpus_per_server = 1};

    cs_route_table_make(table, &topology);
    cs_status status = cs_topology_check(&topology, &cluster, &err);
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    cs_text          text  = {0};
    cs_arena         arena = {0};
    cs_topology_file file  = {0};
    cs_error         err   = {0};

    cs_tree_setup();
    cs_text_add_bytes(&text, (const char *)data, length);
    cs_text_add(&text, "%s", "");
    const char *input  = text.data != NULL ? text.data : "";
    cs_status   status = cs_topology_file_parse(input, length, "input", &arena, &file, &err);
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    } else if (file.site.machine != NULL) {
        try_site(&file.site, &arena);
    } else if (file.routes != NULL) {
        try_routes(file.routes);
    }
    cs_topology_file_close(&file);
    cs_arena_free(&arena);
    cs_text_free(&text);
    return 0;
}
