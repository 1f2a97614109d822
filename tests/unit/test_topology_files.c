/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topologies from files and presets: what is read, what follows for ports and links, the known
 * answers of measured machines where their files are at hand, memory that runs out.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "cs/graph.h"
#include "study/config.h"
#include "topology/topology_file.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static cs_arena arena;

static cs_topology_file parse(const char *text)
{
    cs_topology_file file;
    cs_error         err = {0};

    cr_assert_eq(cs_topology_file_parse(text, strlen(text), "input", &arena, &file, &err), CS_OK,
                 "%s %s", err.where, err.message);
    return file;
}

static cs_machine_ports ports_of(const cs_machine *m, bool is_network)
{
    cs_machine_ports ports;
    cr_assert_eq(cs_machine_describe(m, m->n_gpus, is_network, &arena, &ports), CS_OK);
    return ports;
}

#define PCI(id, class, inner) \
    "<pci busid=\"" id        \
    "\" class=\"" class "\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">" inner "</pci>"
#define LINK(to) "<nvlink target=\"" to "\" count=\"4\" tclass=\"0x030200\"/>"

static const char nccl[] = "<system version=\"1\"><cpu numaid=\"1\">" PCI(
    "b0", "0x060400",
    PCI("b1", "0x030200", "<gpu dev=\"1\" sm=\"80\">" LINK("a1") "</gpu>")
        PCI("b2", "0x020700",
            "<nic><net name=\"mlx5_1\" speed=\"200000\"/></nic>")) "</cpu><cpu "
                                                                   "numaid=\"0\">" PCI("a1",
                                                                                       "0x03020"
                                                                                       "0",
                                                                                       "<gpu "
                                                                                       "dev="
                                                                                       "\"0\" "
                                                                                       "sm="
                                                                                       "\"80\">"
                                                                                       "<c2c/"
                                                                                       "></"
                                                                                       "gpu>")
                                                                       PCI("a2", "0x010802",
                                                                           "") "</cpu></"
                                                                               "system>";

Test(topology_files, nccl_xml)
{
    cs_topology_file  file = parse(nccl);
    const cs_machine *m    = file.site.machine;

    cr_assert_eq(file.format, CS_FORMAT_NCCL);
    cr_assert_eq(m->n_gpus, 2);
    cr_assert_eq(m->n_nics, 1);
    cr_assert_eq(m->n_sockets, 2);
    cr_assert_eq(m->n_switches, 1);
    cr_assert_eq(m->gpus[0].socket, 1, "GPU 0 is the one with dev 0");
    cr_assert_eq(m->gpus[0].pcie, CS_NO_SWITCH);
    cr_assert_eq(m->gpus[1].pcie, 0);
    cr_assert_eq(m->nics[0].pcie, 0);
    cr_assert_str_eq(m->nics[0].name, "mlx5_1");
    cr_assert_float_eq(m->nics[0].wire_Bps, 25e9, 1);
    cr_assert_float_eq(m->gpus[0].pcie_Bps, 16e9 * 16 / 8 * 128 / 130, 1);
    cr_assert_float_eq(m->nvlink_Bps[1], 100e9, 1, "one end names the link");
    cr_assert_float_eq(m->nvlink_Bps[2], 100e9, 1);
    cr_assert_eq(ports_of(m, true).mesh, CS_MESH_FULL);
    /* One NIC for both: half each without links between the ports. */
    cr_assert_float_eq(ports_of(m, false).fabrics[CS_NIC].bandwidth_Bps, 12.5e9, 1);
    cr_assert_float_eq(ports_of(m, true).fabrics[CS_NIC].bandwidth_Bps, 25e9, 1);
    cs_arena_free(&arena);
}

static const char smi[] =
    "\t\033[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\n"
    "GPU0\t X \tNV2\tSYS\tSYS\tPXB\t0-15\t0\t\tN/A\n"
    "GPU1\tNV2\t X \tSYS\tSYS\tPHB\t0-15\t0\t\tN/A\n"
    "GPU2\tSYS\tSYS\t X \tNV2\tSYS\t16-31\t1\t\tN/A\n"
    "GPU3\tSYS\tSYS\tNV2\t X \tSYS\t16-31\t1\t\tN/A\n"
    "NIC0\tPXB\tPHB\tSYS\tSYS\t X \n\nLegend:\n\n  X    = Self\n";

Test(topology_files, nvidia_smi_matrix)
{
    cs_topology_file  file = parse(smi);
    const cs_machine *m    = file.site.machine;
    cs_machine_ports  p    = ports_of(m, false);

    cr_assert_eq(file.format, CS_FORMAT_SMI);
    cr_assert_eq(m->n_gpus, 4);
    cr_assert_eq(m->n_nics, 1);
    cr_assert_eq(m->n_sockets, 2);
    cr_assert_eq(m->gpus[0].pcie, m->nics[0].pcie);
    cr_assert_eq(m->gpus[1].pcie, CS_NO_SWITCH);
    cr_assert_eq(m->nics[0].socket, 0);
    cr_assert_eq(p.mesh, CS_MESH_SOCKETS);
    cr_assert_eq(p.sockets, 2);
    cr_assert_eq(p.most_sharers, 4, "it is the only one");
    cr_assert_float_eq(p.fabrics[CS_NVLINK].bandwidth_Bps, 50e9, 1);
    cr_assert_not_null(strstr(m->notes, "assumed"));
    cs_arena_free(&arena);
}

Test(topology_files, nvidia_smi_nvswitches)
{
    static const char head[] = "     GPU0  GPU1  GPU2\n";
    char              text[400];

    snprintf(text, sizeof text,
             "%sGPU0   X   NV12  NV12\nGPU1  NV12   X   NV12\nGPU2  NV12  NV12   X\n", head);
    cs_topology_file file = parse(text);
    cr_assert_float_eq(file.site.machine->nvswitch_Bps, 300e9, 1, "12 links cannot go to each");
    cs_arena_free(&arena);
}

static const char simgrid[] =
    "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"
    "<platform version=\"4.1\"><config id=\"c\"/><AS id=\"z\" routing=\"Full\">"
    "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/><router id=\"r\"/>"
    "<link id=\"up\" bandwidth=\"1Gbps\" latency=\"50us\" sharing_policy=\"SPLITDUPLEX\"/>"
    "<link id=\"bus\" bandwidth=\"2MiBps\" latency=\"1ms\"/>"
    "<route src=\"a\" dst=\"b\"><link_ctn id=\"up\" direction=\"UP\"/><link_ctn "
    "id=\"bus\"/></route>"
    "</AS></platform>";

Test(topology_files, simgrid_platform)
{
    cs_topology_file file = parse(simgrid);
    cs_topology      t;
    cs_cluster       c = {.n_ranks = 2, .gpus_per_server = 1};
    uint32_t         way[CS_MAX_ROUTE], back[CS_MAX_ROUTE];

    cr_assert_eq(file.format, CS_FORMAT_SIMGRID);
    cs_route_table_make(file.routes, &t);
    cr_assert_eq(t.kind->check(&t, &c, NULL), CS_OK);
    cr_assert_eq(t.n_links, 3);
    cr_assert_eq(t.kind->route(&t, &c, 0, 1, CS_NIC, way), 2);
    cr_assert_eq(t.kind->route(&t, &c, 1, 0, CS_NIC, back), 2);
    cr_assert_eq(way[1], back[0], "a SHARED link has one capacity for both ways");
    cr_assert_neq(way[0], back[1], "a SPLITDUPLEX link has two");
    cr_assert_float_eq(t.links[way[0]].bandwidth_Bps, 125e6, 1e-6);
    cr_assert_float_eq(t.links[way[1]].bandwidth_Bps, 2097152, 1e-6);
    cr_assert_float_eq(t.links[way[1]].latency_s, 1e-3, 1e-15);
    cs_arena_free(&arena);
}

Test(topology_files, run_out_of_memory_cleanly)
{
    static const char *const texts[] = {nccl, smi, simgrid};

    for (int i = 0; i < 3; i++) {
        cs_status status = CS_ENOMEM;
        for (long passes = 0; status != CS_OK; passes++) {
            cs_topology_file file;
            cr_assert_lt(passes, 10000);
            cs_alloc_fail_after(passes);
            status =
                cs_topology_file_parse(texts[i], strlen(texts[i]), "input", &arena, &file, NULL);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM);
            cs_arena_free(&arena);
        }
    }
}

/* Every preset, on a port model and on a network model, with its own size and as 3 servers. */
Test(topology_files, presets_make_scenarios)
{
    for (const cs_preset *p = cs_presets; p->name != NULL; p++) {
        for (int i = 0; i < 4; i++) {
            cs_config *config = NULL;
            cs_error   err    = {0};
            cs_case    c      = {0};
            char       value[120];
            snprintf(value, sizeof value, "{\"preset\": \"%s\"%s}", p->name,
                     i < 2 ? "" : ", \"servers\": 3");
            cr_assert_eq(cs_config_new(&config, &err), CS_OK);
            cr_assert_eq(cs_config_set(config, "cluster.topology", value, "test", &err), CS_OK);
            cr_assert_eq(cs_config_set(config, "model.name", i % 2 == 0 ? "alpha-beta" : "flow",
                                       "test", &err),
                         CS_OK);
            cr_assert_eq(cs_config_case(config, 0, &c, &err), CS_OK, "%s: %s %s", p->name,
                         err.where, err.message);
            const cs_cluster *k = &c.job.scenario.cluster;
            cr_assert_eq(k->n_ranks / k->gpus_per_server, i < 2 ? p->n_servers : 3);
            cr_assert(i % 2 == 1 || k->topology == NULL);
            cs_case_free(&c);
            cs_config_free(config);
        }
    }
}

/* The way of a message between two servers, and across sockets, link by link. */
Test(topology_files, servers_have_their_ways)
{
    cs_site                  site;
    cs_machine_ports         p;
    cs_topology              t;
    char                     name[120];
    uint32_t                 way[CS_MAX_ROUTE];
    static const char *const ways[] = {
        "PCIe of gpu1 up, server 0",      "PCIe of NIC nic1 down, server 0",
        "wire out of NIC nic1, server 0", "wire in of NIC nic3, server 1",
        "PCIe of NIC nic3 up, server 1",  "PCIe of gpu3 down, server 1"};

    cr_assert_eq(cs_preset_find("parallel-rings-a", &arena, &site, NULL), CS_OK);
    p            = ports_of(site.machine, true);
    cs_cluster c = {.n_ranks = 16, .gpus_per_server = 4, .sockets = p.sockets};
    memcpy(c.fabrics, p.fabrics, sizeof c.fabrics);
    cr_assert_eq(p.sockets, 2);
    cr_assert_eq(cs_site_links(&site, &c, &arena, &t, NULL), CS_OK);
    cr_assert_eq(t.kind->check(&t, &c, NULL), CS_OK);
    cr_assert_eq(t.kind->route(&t, &c, 1, 7, CS_NIC, way), 6);
    for (int i = 0; i < 6; i++) {
        t.kind->link_name(&t, way[i], name, sizeof name);
        cr_assert_str_eq(name, ways[i]);
    }
    cr_assert_eq(t.kind->route(&t, &c, 0, 1, CS_NVLINK, way), 0);
    cr_assert_eq(t.kind->route(&t, &c, 1, 2, CS_CROSS, way), 3);
    t.kind->link_name(&t, way[1], name, sizeof name);
    cr_assert_str_eq(name, "sockets 0 -> 1, server 0");
    cr_assert_float_eq(t.links[way[1]].bandwidth_Bps, 60e9, 1);
    cs_arena_free(&arena);
}

/* A text, or an object with the name; keys that options set before stay beside it. */
Test(topology_files, names_have_keys_beside_them)
{
    static const struct {
        const char *key, *value; /* set first; NULL: nothing */
        const char *name, *json;
    } rows[] = {
        {NULL, NULL, "dgx-h100", "\"topology\":\"dgx-h100\"}"},
        {"cluster.topology", "{\"name\": \"dgx-h100\"}", NULL, "\"topology\":\"dgx-h100\"}"},
        {"cluster.topology.servers", "2", "dgx-h100",
         "\"topology\":{\"preset\":\"dgx-h100\",\"servers\":2}}"},
        {"cluster.topology", "{\"name\": \"dgx-a100\", \"servers\": 2}", "dgx-h100",
         "\"topology\":{\"preset\":\"dgx-h100\",\"servers\":2}}"},
        {"cluster.topology", "{\"preset\": \"dgx-a100\", \"servers\": 2}", "dgx-h100",
         "\"topology\":\"dgx-h100\"}"},
        {"cluster.topology", "dgx-a100", "dgx-h100", "\"topology\":\"dgx-h100\"}"},
        {"cluster.topology", "{\"kind\": \"crossbar\"}", "crossbar", "\"topology\":\"crossbar\"}"},
    };

    const cs_setting how = {.path = "cluster.topology", .form = CS_SET_NAME};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cs_config *config = NULL;
        cs_status  status = CS_ENOMEM;
        cs_case    c      = {0};
        cs_error   err    = {0};
        cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
        if (rows[i].key != NULL) {
            cr_assert_eq(cs_config_set(config, rows[i].key, rows[i].value, "--set", &err), CS_OK);
        }
        for (long passes = 0; rows[i].name != NULL && status != CS_OK; passes++) {
            cr_assert_lt(passes, 100);
            cs_alloc_fail_after(passes);
            status = cs_config_apply(config, &how, rows[i].name, "--topology", NULL);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM);
        }
        cr_assert_eq(cs_config_case(config, 0, &c, &err), CS_OK, "%zu: %s %s", i, err.where,
                     err.message);
        cr_assert_not_null(strstr(c.json, rows[i].json), "%zu: %s", i, c.json);
        cs_case_free(&c);
        cs_config_free(config);
    }
}

static bool load_measured(const char *name, cs_topology_file *file)
{
    char path[700];

    snprintf(path, sizeof path, "%s/../shared/data/%s", COLLSIM_SOURCE_DIR, name);
    if (access(path, R_OK) != 0) {
        printf("skipped: %s is not here\n", path);
        return false;
    }
    cr_assert_eq(cs_topology_file_load(path, &arena, file, NULL), CS_OK, "%s", path);
    return true;
}

Test(topology_files, measured_machines)
{
    cs_topology_file f;

    if (load_measured("nccl_topo_aws_p5.48xl.xml", &f)) {
        cr_assert_eq(f.site.machine->n_gpus, 8);
        cr_assert_eq(f.site.machine->n_nics, 32);
        cr_assert_float_eq(ports_of(f.site.machine, false).fabrics[CS_NIC].bandwidth_Bps, 50e9, 1);
        cr_assert_float_eq(f.site.machine->nvswitch_Bps, 450e9, 1);
    }
    if (load_measured("nccl_topo_azure_ndv4-topo.xml", &f)) {
        cr_assert_eq(f.site.machine->n_gpus, 8);
        cr_assert_eq(f.site.machine->n_nics, 8);
        cr_assert_eq(ports_of(f.site.machine, false).most_sharers, 1);
    }
    if (load_measured("nccl_topo_adapcc_a100x4_pcie_nvlink_system.xml", &f)) {
        cr_assert_eq(ports_of(f.site.machine, false).mesh, CS_MESH_PARTIAL);
        cr_assert_eq(ports_of(f.site.machine, false).most_sharers, 4);
        cr_assert_float_eq(f.site.machine->nics[0].wire_Bps, 12.5e9, 1);
    }
    if (load_measured("issue_nccl595_nvidia_smi_topo_a100x4_2hca.txt", &f)) {
        cr_assert_eq(f.site.machine->n_sockets, 4);
        cr_assert_eq(ports_of(f.site.machine, false).mesh, CS_MESH_FULL);
        cr_assert_eq(ports_of(f.site.machine, false).most_sharers, 2);
    }
    cs_arena_free(&arena);
}
