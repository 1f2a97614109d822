/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topology files: each is refused in one line or describes servers, or hosts with routes, that
 * the checks of a scenario can look at. Servers are written as InfraGraph, or refused, and read
 * back.
 */
#include "base/text.h"
#include "cs/graph.h"
#include "fuzz.h"
#include "topology/infragraph.h"
#include "topology/topology_file.h"

#include <math.h>
#include <string.h>

static void claim_alike(const cs_machine *a, const cs_machine *b)
{
    FUZZ_CLAIM(a->n_gpus == b->n_gpus && a->n_nics == b->n_nics && a->n_switches == b->n_switches);
    FUZZ_CLAIM(a->n_sockets == b->n_sockets && (a->nvswitch_Bps > 0) == (b->nvswitch_Bps > 0));
    for (uint32_t i = 0; i < a->n_gpus; i++) {
        FUZZ_CLAIM(a->gpus[i].socket == b->gpus[i].socket && a->gpus[i].pcie == b->gpus[i].pcie);
    }
    for (uint32_t i = 0; i < a->n_nics; i++) {
        FUZZ_CLAIM(a->nics[i].socket == b->nics[i].socket && a->nics[i].pcie == b->nics[i].pcie);
    }
}

static void try_writing(const cs_site *site, cs_arena *arena)
{
    cs_text          text   = {0};
    cs_topology_file file   = {0};
    cs_error         err    = {0};
    cs_status        status = cs_infragraph_write(site, site->n_servers, false, &text, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    } else {
        status = cs_topology_file_parse(text.data, text.length, "written", arena, &file, &err);
        FUZZ_CLAIM(status == CS_OK && file.format == CS_FORMAT_INFRAGRAPH);
        FUZZ_CLAIM(file.site.n_servers == site->n_servers);
        FUZZ_CLAIM((file.site.network == NULL) == (site->network == NULL));
        claim_alike(site->machine, file.site.machine);
    }
    cs_text_free(&text);
}

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
        try_writing(&file.site, &arena);
    } else if (file.routes != NULL) {
        try_routes(file.routes);
    }
    cs_topology_file_close(&file);
    cs_arena_free(&arena);
    cs_text_free(&text);
    return 0;
}
