/* SPDX-License-Identifier: GPL-3.0-or-later */
/* InfraGraph's files: servers and networks in both dialects of the schema, what is assumed, left
 * out and refused, and that what is written reads back as the same times. The files are made up.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "support/config.h"
#include "support/folder.h"
#include "topology/infragraph.h"
#include "topology/topology_file.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static cs_arena arena;

static cs_site site_of(const char *text)
{
    cs_topology_file file;
    cs_error         err = {0};

    cr_assert_eq(cs_topology_file_parse(text, strlen(text), "input", &arena, &file, &err), CS_OK,
                 "%d:%d: %s %s\n%s", err.input_line, err.input_column, err.where, err.message,
                 text);
    cr_assert_eq(file.format, CS_FORMAT_INFRAGRAPH);
    cr_assert_null(file.tree);
    cr_assert_not_null(file.site.machine);
    return file.site;
}

static const cs_machine *parse(const char *text)
{
    return site_of(text).machine;
}

static void has_note(const cs_machine *m, const char *words)
{
    cr_assert_not_null(m->notes);
    cr_assert_not_null(strstr(m->notes, words), "'%s' is not in: %s", words, m->notes);
}

static void has_no_note(const cs_machine *m, const char *words)
{
    cr_assert(m->notes == NULL || strstr(m->notes, words) == NULL, "%s", m->notes);
}

static cs_machine_ports ports_of(const cs_machine *m, bool is_network)
{
    cs_machine_ports ports;
    cr_assert_eq(cs_machine_describe(m, m->n_gpus, is_network, &arena, &ports), CS_OK);
    return ports;
}

/* Parts of devices, a line each. */
#define PART(name, count, choice) "  - {name: " name ", count: " #count ", choice: " choice "}\n"
#define LINK(name, unit, rate) \
    "  - {name: " name ", physical: {bandwidth: {choice: " unit ", " unit ": " rate "}}}\n"
#define LATE(name, unit, rate, late) \
    "  - {name: " name ", physical: {bandwidth: {" unit ": " rate "}, latency: {" late "}}}\n"
#define BARE(name) "  - {name: " name "}\n"
#define EDGE(a, b, scheme, link)                                                          \
    "  - {ep1: {component: \"" a "\"}, ep2: {component: \"" b "\"}, scheme: " scheme ", " \
    "link: " link "}\n"
#define ALL(a, b, link) EDGE(a, b, "many2many", link)
#define OUT(a, x, b, y, link)                                                   \
    "- {ep1: {instance: \"" a "\", component: \"" x "\"}, ep2: {instance: \"" b \
    "\", component: \"" y "\"}, scheme: one2one, link: " link "}\n"
#define GB "gigabytes_per_second"
#define DEVICE(name, components, links, edges) \
    "- name: " name "\n  components:\n" components "  links:\n" links "  edges:\n" edges

/* Two sockets with a PCIe switch each, two GPUs and a NIC below each, NVSwitches that hang at PCIe,
 * too, and a disk. */
#define SERVER                                                                            \
    DEVICE("box",                                                                         \
           PART("cpu", 2, "cpu") PART("gpu", 4, "xpu") PART("plx", 2, "switch")           \
               PART("nvsw", 3, "switch") PART("nic", 2, "nic") PART("disk", 5, "custom"), \
           LINK("pcie", GB, "32") LINK("upi", GB, "64") LATE("nv", GB, "50", "us: 0.5"),  \
           ALL("cpu", "cpu", "upi") EDGE("cpu", "plx", "one2one", "pcie")                 \
               ALL("plx[0]", "gpu[0:2]", "pcie") ALL("plx[1]", "gpu[2:4]", "pcie")        \
                   EDGE("plx", "nic", "one2one", "pcie") ALL("gpu", "nvsw", "nv")         \
                       ALL("nvsw", "plx[0]", "pcie") ALL("cpu[0]", "disk[0:5:2]", "pcie"))
#define SWITCH                                                                    \
    DEVICE("switch", PART("port", 16, "port") PART("asic", 1, "cpu"), BARE("ic"), \
           ALL("asic", "port", "ic"))

TestSuite(infragraph, .init = ct_folder_enter, .fini = ct_folder_leave);

static void free_arena(void)
{
    cs_arena_free(&arena);
}

/* ---- servers ---- */

Test(infragraph, a_device_is_a_server, .fini = free_arena)
{
    const cs_machine *m = parse("devices:\n" SERVER);

    cr_assert_eq(m->n_gpus, 4);
    cr_assert_eq(m->n_nics, 2);
    cr_assert_eq(m->n_switches, 2);
    cr_assert_eq(m->n_sockets, 2);
    cr_assert_eq(m->gpus[1].pcie, 0);
    cr_assert_eq(m->gpus[2].pcie, 1);
    cr_assert_eq(m->gpus[2].socket, 1);
    cr_assert_eq(m->nics[1].pcie, 1);
    cr_assert_eq(m->switches[1].socket, 1);
    cr_assert_eq(m->gpus[0].pcie_Bps, 32e9);
    cr_assert_eq(m->switches[0].uplink_Bps, 32e9);
    cr_assert_eq(m->socket_Bps, 64e9);
    cr_assert_eq(m->nvswitch_Bps, 150e9, "a GPU has a link to each of three switches");
    cr_assert_eq(m->nvlink_alpha_s, 1e-6, "there and back");
    cr_assert_null(m->nvlink_Bps);
    cr_assert_str_eq(m->link_name, "nv");
    cr_assert_str_eq(m->gpus[3].name, "gpu3");
    has_note(m, "links without a rate: assumed are 200 Gb/s a NIC\n");
    has_note(m, "left out: 5 disk\n");
    has_no_note(m, "PCIe (4.0");
    cr_assert_not_null(m->assumed[CS_RATE_NIC]);
    cr_assert_null(m->assumed[CS_RATE_PCIE]);
}

/* A device may be the root, and infrastructures may have something around them. */
Test(infragraph, what_may_be_the_root, .fini = free_arena)
{
    static const char device[] =
        "name: one\ncomponents:\n- {name: gpu, count: 2, choice: xpu}\nlinks: "
        "[]\nedges: []\n";
    static const char json[] =
        "{\"infragraph\": {\"infrastructure\": {\"devices\": [{\"name\": \"one\", \"components\": "
        "[{\"name\": \"gpu\", \"count\": 3, \"choice\": \"xpu\"}], \"links\": [], \"edges\": "
        "[]}]}, "
        "\"annotations\": {\"nodes\": [{}, {}], \"links\": [{}]}}}";
    const cs_machine *m = parse(device);

    cr_assert_eq(m->n_gpus, 2);
    cr_assert_eq(m->n_nics, 0);
    cr_assert_eq(ports_of(m, true).mesh, CS_MESH_NONE);
    m = parse(json);
    cr_assert_eq(m->n_gpus, 3);
    has_note(m, "left out: annotations (3)\n");
}

/* The form before: types, connections of one line, counts that follow from them. */
Test(infragraph, connections_of_one_line, .fini = free_arena)
{
    cs_site s = site_of(
        "infrastructure:\n  devices:\n  - name: box\n    components:\n    - {name: xpu, type: "
        "xpu}\n"
        "    - {name: nic, type: nic, external: true}\n    - {name: nvlsw, type: custom}\n"
        "    links:\n    - name: pcie\n      bandwidth: {choice: gigabytes_per_second, "
        "gigabytes_per_second: 32}\n    - name: nvlink\n      bandwidth: {choice: "
        "giga_bytes_per_second, "
        "giga_bytes_per_second: 128}\n    connections:\n    - xpu.0.pcie.nic.0\n    - "
        "xpu.1.pcie.nic.1\n"
        "    - xpu.0.nvlink.nvlsw.0\n    - xpu.1.nvlink.nvlsw.0\n"
        "  - name: sw\n    components:\n    - {name: port, type: nic}\n    links: []\n    "
        "connections: []\n"
        "  links:\n  - name: eth\n    bandwidth: {choice: gigabits_per_second, "
        "gigabits_per_second: "
        "100}\n  instances:\n  - {name: server, device: box}\n  - {name: leaf, device: sw}\n"
        "  connections:\n  - server.0.nic.0.eth.leaf.0.port.0\n  - "
        "server.0.nic.1.eth.leaf.0.port.1\n"
        "  - server.2.nic.0.eth.leaf.1.port.0\n  - server.2.nic.1.eth.leaf.1.port.1\n"
        "  - server.1.nic.0.eth.leaf.1.port.2\n  - server.1.nic.1.eth.leaf.1.port.3\n"
        "  - leaf.0.port.4.eth.leaf.1.port.4\n");
    const cs_machine *m = s.machine;

    cr_assert_eq(s.n_servers, 3);
    cr_assert_eq(m->n_gpus, 2);
    cr_assert_eq(m->n_nics, 2);
    cr_assert_eq(m->nvswitch_Bps, 128e9);
    cr_assert_eq(m->nics[0].wire_Bps, 12.5e9);
    cr_assert_eq(m->nics[0].pcie_Bps, 32e9);
    cr_assert_eq(m->gpus[0].pcie_Bps, 32e9, "what joins it to its NIC is its PCIe");
    cr_assert_eq(m->gpus[1].bridge, m->nics[1].bridge);
    cr_assert_neq(m->gpus[0].bridge, m->nics[1].bridge);
    cr_assert_eq(s.network->n_switches, 2);
    cr_assert_eq(s.network->n_links, 1);
    cr_assert_eq(s.network->at[1][0], 1);
    cr_assert_eq(s.network->at[0][1], 0);
    has_no_note(m, "assumed");
}

/* GPUs that have links of pairs; two ways of a link's rate; xpu and cpu alone. */
Test(infragraph, links_of_pairs, .fini = free_arena)
{
    const cs_machine *m = parse("devices:\n" DEVICE(
        "torus", PART("cpu", 1, "cpu") PART("tpu", 4, "xpu"),
        LATE("ici", "gigabits_per_second", "800", "ns: 700") BARE("host"),
        EDGE("tpu[0]", "tpu[1]", "one2one", "ici") EDGE("tpu[1]", "tpu[2]", "one2one", "ici")
            EDGE("tpu[2]", "tpu[3]", "one2one", "ici") EDGE("tpu[3]", "tpu[0]", "one2one", "ici")
                EDGE("tpu[0]", "tpu[1]", "one2one", "ici") ALL("cpu", "tpu", "host")));

    cr_assert_eq(m->nvswitch_Bps, 0);
    cr_assert_eq(m->nvlink_Bps[0 * 4 + 1], 100e9, "what is said twice is one link");
    cr_assert_eq(m->nvlink_Bps[3 * 4 + 0], 100e9);
    cr_assert_eq(m->nvlink_Bps[0 * 4 + 2], 0);
    cr_assert_float_eq(m->nvlink_alpha_s, 0.7e-6, 1e-18);
    cr_assert_eq(ports_of(m, true).mesh, CS_MESH_PARTIAL);
    cr_assert(m->gpus[0].is_pcie_assumed);
    has_note(m, "pairs of GPUs without a link of their own meet over PCIe (2)\n");
    has_note(m, "assumed are 31.5 GB/s PCIe (4.0 x16)\n");
}

/* What is called by two names is PCIe if it leads to the CPU, the GPUs' own if it leads nowhere. */
Test(infragraph, which_links_are_the_gpus_own, .fini = free_arena)
{
    const cs_machine *m = parse("devices:\n" DEVICE(
        "named",
        PART("cpu", 1, "cpu") PART("gpu", 2, "xpu") PART("plx", 1, "switch") PART("x", 1, "switch"),
        LINK("below", GB, "16") LINK("above", GB, "8") LINK("own", GB, "100"),
        ALL("gpu", "plx", "below") ALL("plx", "cpu", "above") ALL("gpu", "x", "own")));

    cr_assert_eq(m->n_switches, 1);
    cr_assert_eq(m->gpus[0].pcie, 0);
    cr_assert_eq(m->gpus[0].pcie_Bps, 16e9);
    cr_assert_eq(m->switches[0].uplink_Bps, 8e9);
    cr_assert_eq(m->nvswitch_Bps, 100e9);
    /* GPUs at a switch and one that is at the CPU by the link that leads up from there. */
    m = parse("devices:\n" DEVICE(
        "mixed", PART("cpu", 1, "cpu") PART("gpu", 3, "xpu") PART("plx", 1, "switch"),
        LINK("below", GB, "16") LINK("above", GB, "8"),
        ALL("gpu[0:2]", "plx", "below") ALL("plx", "cpu", "above") ALL("gpu[2]", "cpu", "above")));
    cr_assert_eq(m->n_switches, 1);
    cr_assert_eq(m->nvswitch_Bps, 0);
    cr_assert_eq(m->gpus[2].pcie, CS_NO_SWITCH);
    /* Without such switches they talk over PCIe, whose latency is that of their messages. */
    m = parse("devices:\n" DEVICE(
        "plain", PART("cpu", 1, "cpu") PART("gpu", 2, "xpu") PART("slot", 2, "custom"),
        LATE("pcie", GB, "16", "us: 1") LATE("slow", GB, "4", "us: 0.5"),
        EDGE("gpu", "slot", "one2one", "pcie") ALL("slot", "cpu", "slow")));
    cr_assert_eq(m->n_switches, 0, "a slot of one GPU is no switch");
    cr_assert_eq(m->gpus[1].pcie_Bps, 4e9, "the slowest on the way");
    cr_assert_eq(m->nvswitch_Bps, 0);
    cr_assert_null(m->nvlink_Bps);
    cr_assert_float_eq(m->nvlink_alpha_s, 3e-6, 1e-18);
}

/* Switches below switches say which NIC is near. */
Test(infragraph, nics_below_the_same_switch_are_near, .fini = free_arena)
{
    const cs_machine *m = parse("devices:\n" DEVICE(
        "tree",
        PART("cpu", 1, "cpu") PART("gpu", 2, "xpu") PART("nic", 2, "nic") PART("low", 2, "switch")
            PART("top", 1, "switch"),
        LINK("pcie", GB, "32"),
        ALL("cpu", "top", "pcie") ALL("top", "low", "pcie") EDGE("low", "gpu", "one2one", "pcie")
            EDGE("low[0]", "nic[1]", "one2one", "pcie")
                EDGE("low[1]", "nic[0]", "one2one", "pcie")));
    cs_nic_choice     choice;

    cr_assert_eq(m->n_switches, 1, "the one at the CPU");
    cr_assert_eq(cs_machine_choose_nics(m, 2, &arena, &choice), CS_OK);
    cr_assert_eq(choice.order[choice.first[0]], 1);
    cr_assert_eq(choice.order[choice.first[1]], 0);
}

/* Devices inside devices: NICs of several parts are one, boards of GPUs are written out. */
Test(infragraph, devices_inside_devices, .fini = free_arena)
{
    cs_site s = site_of(
        "devices:\n" DEVICE("board", PART("gpu", 2, "xpu") PART("sw", 1, "switch"),
                            LINK("nv", GB, "90"), ALL("gpu", "sw", "nv"))
            DEVICE("card", PART("chip", 1, "cpu") PART("port", 2, "port") PART("cage", 2, "device"),
                   BARE("lane"),
                   ALL("chip", "port",
                       "lane") "  - {ep1: {component: port}, ep2: {device: "
                               "cage, component: \"plug[0]\"}, scheme: one2one, link: lane}\n")
                DEVICE("cage", PART("plug", 1, "port"), BARE("lane"), "") DEVICE(
                    "box",
                    PART("cpu", 1, "cpu") PART("board", 2, "device") PART("card", 2, "device"),
                    LINK("pcie", GB, "16"),
                    ALL("cpu", "board[0:2].gpu", "pcie") ALL(
                        "cpu", "card.chip[0]", "pcie") "  - {ep1: "
                                                       "{device: \"board[0]\", component: \"sw\"}, "
                                                       "ep2: {device: \"board[1]\", component: "
                                                       "sw}, scheme: one2one, link: pcie}\n") SWITCH
        "links:\n" LINK("eth", "gigabits_per_second",
                        "100") "instances:\n- {name: host, device: box, count: 2}\n- {name: leaf, "
                               "device: switch, count: 1}\n"
                               "edges:\n" OUT("host", "card.cage.plug", "leaf", "port", "eth"));
    const cs_machine *m = s.machine;

    cr_assert_eq(m->n_gpus, 4);
    cr_assert_eq(m->n_nics, 2);
    cr_assert_eq(m->nics[0].wire_Bps, 25e9, "two ports of 100 Gb/s");
    cr_assert_eq(m->gpus[3].pcie_Bps, 16e9);
    cr_assert_null(s.network, "one switch is a crossbar");
    has_note(
        m, "NICs with several links to the network have the sum of their rates, at the first one's "
           "switch (4)\n");
}

/* ---- rates ---- */

static double rate_of(const char *bandwidth)
{
    char text[600];

    snprintf(text, sizeof text,
             "name: d\ncomponents:\n%s%slinks:\n- {name: l, physical: {bandwidth: %s}}\n"
             "edges:\n%s",
             PART("cpu", 1, "cpu"), PART("gpu", 1, "xpu"), bandwidth, ALL("cpu", "gpu", "l"));
    const cs_machine *m        = parse(text);
    double            rate_Bps = m->gpus[0].is_pcie_assumed ? 0 : m->gpus[0].pcie_Bps;
    free_arena();
    return rate_Bps;
}

Test(infragraph, units_of_rates)
{
    cr_assert_eq(rate_of("{choice: gigabytes_per_second, gigabytes_per_second: 31.5}"), 31.5e9);
    cr_assert_eq(rate_of("{gigabits_per_second: 400}"), 50e9);
    cr_assert_float_eq(rate_of("{gigatransfers_per_second: 16}"), 16e9 * 16 / 8 * 128 / 130, 1);
    cr_assert_float_eq(rate_of("{giga_transfers_per_second: 5}"), 8e9, 1);
    cr_assert_eq(
        rate_of("{choice: gigabits_per_second, gigabits_per_second: 8, gigabytes_per_second: 9}"),
        1e9, "the one that is chosen");
    cr_assert_eq(rate_of("{}"), 0);
    cr_assert_eq(rate_of("null"), 0);
}

/* A rate in GB/s that no port has was meant in Gb/s. It is read as it stands, and said. */
Test(infragraph, implausible_rates_are_said, .fini = free_arena)
{
#define NET(unit, rate)                                                                      \
    "devices:\n" SERVER SWITCH "links:\n" LINK(                                              \
        "eth", unit, rate) "instances:\n- {name: h, device: box, "                           \
                           "count: 2}\n- {name: s, device: switch, count: 1}\nedges:\n" OUT( \
                               "h", "nic", "s", "port", "eth")
    const cs_machine *m = parse(NET(GB, "400"));

    cr_assert_eq(m->nics[0].wire_Bps, 400e9);
    has_note(m, "link eth: 400 GB/s are 3200 Gb/s, more than a port has");
    has_no_note(parse(NET(GB, "100")), "more than a port has");
    has_no_note(parse(NET("gigabits_per_second", "1600")), "more than a port has");
}

/* ---- networks ---- */

#define TWO_TIERS(wire, up)                                                             \
    "devices:\n" SERVER SWITCH "links:\n" wire up                                       \
    "instances:\n- {name: host, device: box, count: 4}\n"                               \
    "- {name: leaf, device: switch, count: 2}\n- {name: spine, device: switch, count: " \
    "2}\nedges:\n" OUT("host[0:2]", "nic", "leaf[0]", "port", "wire")                   \
        OUT("host[2:4]", "nic", "leaf[1]", "port", "wire")                              \
            OUT("leaf[0:2]", "port[8]", "spine[0]", "port", "up")                       \
                OUT("leaf[0:2]", "port[9]", "spine[1]", "port", "up")
static const char two_tiers[] =
    TWO_TIERS(LATE("wire", GB, "25", "us: 2"), LATE("up", "gigabits_per_second", "100", "ns: 300"));

static cs_status build(const cs_site *s, uint32_t servers, cs_cluster *c, cs_topology *t,
                       cs_error *err)
{
    cs_machine_ports p = ports_of(s->machine, true);

    *c = (cs_cluster){.n_ranks         = servers * s->machine->n_gpus,
                      .gpus_per_server = s->machine->n_gpus,
                      .sockets         = p.sockets};
    memcpy(c->fabrics, p.fabrics, sizeof c->fabrics);
    return cs_site_links(s, c, &arena, t, err);
}

Test(infragraph, ways_through_the_network, .fini = free_arena)
{
    static const char *const names[] = {
        "PCIe of gpu0 up, server 0",      "PCIe of NIC nic0 down, server 0",
        "wire out of NIC nic0, server 0", "link leaf 0 -> spine 1",
        "link spine 1 -> leaf 1",         "wire in of NIC nic1, server 3",
        "PCIe of NIC nic1 up, server 3",  "PCIe of gpu3 down, server 3"};
    cs_site     s = site_of(two_tiers);
    cs_cluster  c;
    cs_topology t;
    uint32_t    way[CS_MAX_ROUTE];
    char        name[120];

    cr_assert_eq(s.n_servers, 4);
    cr_assert_eq(s.machine->nic_alpha_s, 4e-6, "a wire at each end");
    cr_assert_eq(build(&s, 4, &c, &t, NULL), CS_OK);
    cr_assert_eq(cs_topology_check(&t, &c, NULL), CS_OK);
    cr_assert_str_eq(t.kind->name, "servers and switches");
    cr_assert_eq(t.kind->route(&t, &c, 0, 15, CS_NIC, way), 8);
    for (int i = 0; i < 8; i++) {
        t.kind->link_name(&t, way[i], name, sizeof name);
        cr_assert_str_eq(name, names[i]);
    }
    cr_assert_eq(t.links[way[3]].bandwidth_Bps, 12.5e9);
    cr_assert_float_eq(t.links[way[3]].latency_s, 300e-9, 1e-18);
    cr_assert_eq(t.kind->route(&t, &c, 0, 7, CS_NIC, way), 6, "they meet in the leaf");
    cr_assert_eq(t.kind->route(&t, &c, 0, 3, CS_NVLINK, way), 0);
    cr_assert_eq(cs_topology_n_paths(&t, &c, 0, 15, CS_NIC), 2);
    cr_assert_eq(cs_topology_path(&t, &c, 0, 15, CS_NIC, 1, way), 8);
    t.kind->link_name(&t, way[3], name, sizeof name);
    cr_assert_str_eq(name, "link leaf 0 -> spine 0");
    cr_assert_eq(t.kind->nic_links(&t, &c, 0, way), 2);
    has_note(s.machine, "network: switches (4), links between them (4)\n");
    has_note(s.machine, "links inside switches (4)");
}

/* Links between switches without a rate are no assumption about the NICs. */
Test(infragraph, uplinks_without_a_rate, .fini = free_arena)
{
    cs_site s = site_of(TWO_TIERS(LINK("wire", GB, "50"), BARE("up")));

    cr_assert_eq(s.network->links[0].link.bandwidth_Bps, 25e9);
    cr_assert_null(s.machine->assumed[CS_RATE_NIC]);
    cr_assert_str_eq(s.machine->assumed[CS_RATE_SWITCHES], "200 Gb/s between switches");
    has_note(s.machine, "links without a rate: assumed are 200 Gb/s between switches\n");
}

Test(infragraph, a_network_has_so_many_servers, .fini = free_arena)
{
    cs_site     s   = site_of(two_tiers);
    cs_error    err = {0};
    cs_cluster  c;
    cs_topology t;

    cr_assert_eq(build(&s, 2, &c, &t, NULL), CS_OK);
    cr_assert_eq(cs_topology_check(&t, &c, NULL), CS_OK);
    cr_assert_eq(build(&s, 5, &c, &t, &err), CS_EINVAL);
    cr_assert_str_eq(err.message, "joins 4 servers: for 5 it has no network");
}

/* A NIC without a link is left out where others have one; servers that differ are of two kinds. */
Test(infragraph, servers_of_two_kinds, .fini = free_arena)
{
    cs_site s = site_of("devices:\n" SERVER SWITCH "links:\n" LINK("fast", GB, "50") LINK(
        "slow", GB,
        "25") "instances:\n- {name: a, device: box, count: 2}\n- {name: b, device: box, count: 1}\n"
              "- {name: s, device: switch, count: 1}\nedges:\n" OUT("a", "nic", "s", "port", "fast")
                            OUT("b", "nic[1]", "s", "port[9]", "slow"));

    cr_assert_eq(s.n_servers, 3);
    cr_assert_eq(s.first_tail, 2);
    cr_assert_not_null(s.tail);
    cr_assert_eq(s.machine->n_nics, 2);
    cr_assert_eq(s.tail->n_nics, 1);
    cr_assert_eq(s.machine->nics[0].wire_Bps, 50e9);
    cr_assert_eq(s.tail->nics[0].wire_Bps, 25e9);
    cr_assert_str_eq(s.tail->nics[0].name, "nic1");
    has_note(s.machine, "NICs without a link to the network (1)");
}

/* ---- refusals ---- */

#define HOSTS(more) "instances:\n- {name: h, device: box, count: 2}\n" more
#define ETH         "links:\n" LINK("eth", GB, "25")

static const struct {
    const char *text;
    int         line, column;
    const char *where, *words;
} refusals[] = {
    {"devices:\n" SWITCH, 1, 1, "", "has no GPU"},
    {"name: x\n", 1, 1, "", "the key 'devices' is missing"},
    {"devices:\n- name: a\n  components:\n  - {name: g, count: 1, choise: xpu}\n", 4, 25,
     "devices[0].components[0].choise", "unknown key 'choise', did you mean 'choice'"},
    {"devices:\n- name: a\n  components:\n  - {name: g, count: 0, choice: xpu}\n", 4, 22,
     "devices[0].components[0].count", "0 is outside [1, 65536]"},
    {"devices:\n- name: a\n  components: 3\n", 3, 15, "devices[0].components", "is a number"},
    {"devices:\n- name: a\n  components: []\n- name: a\n  components: []\n", 4, 3, "devices[1]",
     "is a second device a"},
    {"devices:\n" DEVICE("d", PART("g", 2, "xpu"), LINK("l", "gbps", "3"), ""), 6, 58,
     "devices[0].links[0].physical.bandwidth.gbps", "unknown unit: known are gigabits_per_second"},
    {"devices:\n" DEVICE("d", PART("g", 2, "xpu"), LINK("l", GB, "-3"), ""), 6, 0,
     "devices[0].links[0].physical.bandwidth.gigabytes_per_second", "-3 is outside"},
    {"devices:\n" DEVICE(
         "d", PART("g", 2, "xpu"),
         "  - {name: l, physical: {bandwidth: {choice: " GB ", gigabits_per_second: 3}}}\n", ""),
     6, 0, "devices[0].links[0].physical.bandwidth.choice", "chooses a unit that is not there"},
    {"devices:\n" DEVICE("d", PART("g", 2, "xpu"),
                         "  - {name: l, physical: {latency: {us: 2e9}}}\n", ""),
     6, 0, "devices[0].links[0].physical.latency.us", "outside"},
    {"devices:\n" DEVICE("d", PART("g", 2, "xpu"), BARE("l"), EDGE("g[0]", "g[1]", "ring", "l")), 8,
     0, "devices[0].edges[0].scheme", "ring is not accepted: one2one and many2many are"},
    {"devices:\n" DEVICE("d", PART("g", 2, "xpu"), BARE("l"), ALL("g[0]", "g[2]", "l")), 8, 0,
     "devices[0].edges[0].ep2.component", "g has no [2]: accepted are slices as [0], [0:2]"},
    {"devices:\n" DEVICE("d", PART("g", 2, "xpu"), BARE("l"), ALL("g[1:1]", "g", "l")), 8, 0,
     "devices[0].edges[0].ep1.component", "g has no [1:1]"},
    {"devices:\n" DEVICE("d", PART("g", 2, "xpu"), BARE("l"), ALL("g[", "g", "l")), 8, 0,
     "devices[0].edges[0].ep1.component", "g[ is no component: accepted is like xpu[0:8]"},
    {"devices:\n" DEVICE("d", PART("g", 2, "xpu"), BARE("l"), ALL("g", "h", "l")), 8, 0,
     "devices[0].edges[0].ep2.component", "h is no component of device d"},
    {"devices:\n" DEVICE("d", PART("g", 2, "xpu"), BARE("l"), ALL("g", "g.x", "l")), 8, 0,
     "devices[0].edges[0].ep2.component", "g has no parts"},
    {"devices:\n" DEVICE("d", PART("g", 2, "xpu"), BARE("l"), ALL("g", "g", "m")), 8, 0,
     "devices[0].edges[0].link", "m is no link of the list"},
    {"devices:\n" DEVICE("d", PART("d", 2, "device"), BARE("l"), ""), 4, 0,
     "devices[0].components[0]", "device d is inside itself"},
    {"devices:\n" DEVICE("d", PART("e", 2, "device"), BARE("l"), ""), 4, 0,
     "devices[0].components[0]", "e is no device of the file"},
    {"devices:\n- name: d\n  components:\n" PART("g", 2, "xpu") "  links:\n" BARE(
         "l") "  connections:\n  - g.0.l.g\n",
     8, 5, "devices[0].connections[0]", "is no connection: accepted is like xpu.0.nvlink.nvlsw.0"},
    {"devices:\n" SERVER DEVICE("e", PART("g", 2, "xpu"), BARE("l"), ""), 1, 1, "",
     "has no instances, and devices box and e have GPUs"},
    {"devices:\n" SERVER SWITCH ETH HOSTS("") "edges:\n" OUT("k", "nic", "h", "nic", "eth"), 36, 0,
     "edges[0].ep1", "k is none of the instances"},
    {"devices:\n" SERVER SWITCH ETH HOSTS("- {name: s, device: other, count: 1}\n") "edges:\n" OUT(
         "h", "nic", "s", "port", "eth"),
     37, 0, "edges[0].ep2", "s is of device other, which is not in the file"},
    {"devices:\n" SERVER SWITCH ETH HOSTS("") "edges:\n" OUT("h[0]", "nic", "h[1]", "nic", "eth"),
     36, 0, "edges[0]", "joins two servers, h[0] nic[0] and h[1] nic[0]"},
    {"devices:\n" SERVER SWITCH ETH HOSTS("- {name: s, device: switch, count: 1}\n") "edges:\n" OUT(
         "h", "gpu", "s", "port", "eth"),
     37, 0, "edges[0]", "leaves a server at h[0] gpu[0]: accepted are NICs"},
    {"devices:\n" DEVICE("d", PART("g", 4, "xpu") PART("x", 2, "switch"), LINK("nv", GB, "9"),
                         ALL("g[0:2]", "x[0]", "nv") ALL("g[2:4]", "x[1]", "nv")),
     2, 3, "devices[0]", "link nv joins only some of the 4 GPUs by switches"},
    {"devices:\n" SERVER DEVICE("e", PART("g", 2, "xpu"), BARE("l"), "")
         HOSTS("- {name: i, device: e, count: 1}\n"),
     1, 1, "", "has servers of 4 and of 2 GPUs"},
    {"devices:\n" SERVER DEVICE("e", PART("g", 4, "xpu"), BARE("l"), "")
         HOSTS("- {name: i, device: e, count: 1}\n- {name: k, device: box, count: 1}\n"),
     1, 1, "", "k[0] is of the first kind behind another"},
    {"devices:\n" DEVICE("d", PART("g", 2000, "xpu"), BARE("l"), ""), 2, 3, "devices[0]",
     "has 2000 GPUs and 0 NICs: accepted are at most 1024 of each"},
    {"devices:\n" DEVICE("d", PART("g", 1, "xpu") PART("m", 65536, "memory"), BARE("l"), ""), 2, 3,
     "devices[0]", "has more than 65536 components"},
    {"devices:\n" DEVICE("d", PART("g", 1, "xpu") PART("m", 60000, "memory"), BARE("l"),
                         ALL("m", "m", "l")),
     9, 0, "devices[0].edges[0]", "makes more than 2^20 edges"},
};

Test(infragraph, refusals, .fini = free_arena)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        cs_topology_file file;
        cs_error         err  = {0};
        const char      *text = refusals[i].text;
        cs_status        status =
            cs_topology_file_parse(text, strlen(text), "in.yaml", &arena, &file, &err);
        cr_assert_eq(status, CS_EINVAL, "%zu is %d: %s\n%s", i, status, err.message, text);
        cr_expect(strstr(err.message, refusals[i].words) != NULL, "%zu: '%s' is not in: %s", i,
                  refusals[i].words, err.message);
        cr_expect(strncmp(err.where, refusals[i].where, strlen(refusals[i].where)) == 0, "%zu: %s",
                  i, err.where);
        cr_expect_eq(err.input_line, refusals[i].line, "%zu: line %d: %s: %s", i, err.input_line,
                     err.where, err.message);
        cr_expect(refusals[i].column == 0 || err.input_column == refusals[i].column,
                  "%zu: column %d: %s", i, err.input_column, err.message);
        cs_arena_free(&arena);
    }
}

/* In JSON the place is found as well. */
Test(infragraph, refusals_of_json, .fini = free_arena)
{
    static const char text[] =
        "{\"devices\": [\n {\"name\": \"d\",\n  \"components\": [{\"name\": \"g\",\n   "
        "\"count\": \"two\"}]}]}";
    cs_topology_file file;
    cs_error         err = {0};

    cr_assert_eq(cs_topology_file_parse(text, strlen(text), "in.json", &arena, &file, &err),
                 CS_EINVAL);
    cr_assert_str_eq(err.where, "devices[0].components[0].count");
    cr_assert_eq(err.input_line, 4);
    cr_assert_eq(err.input_column, 13);
    cr_assert_null(file.tree);
}

/* ---- writing ---- */

static const char *written(const cs_site *s, uint32_t servers, bool as_json)
{
    cs_text  out = {0};
    cs_error err = {0};

    cr_assert_eq(cs_infragraph_write(s, servers, as_json, &out, &err), CS_OK, "%s", err.message);
    const char *text = cs_arena_strdup(&arena, out.data);
    cs_text_free(&out);
    return text;
}

static const char *const models[]     = {"alpha-beta", "loggp", "flow"};
static const char *const algorithms[] = {"ring", "nccl_rings", "rhd", "allpairs",
                                         "double_binary_tree"};

/* Every model and algorithm ends at the same instant, to the last bit, on both topologies. */
static void same_times(const char *a, const char *b, const char *what)
{
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        for (size_t k = 0; k < sizeof algorithms / sizeof algorithms[0]; k++) {
            double elapsed_s[2];
            for (int side = 0; side < 2; side++) {
                char json[600];
                snprintf(
                    json, sizeof json,
                    "{\"algorithm\": \"%s\", \"bytes\": \"3MB\", \"model\": \"%s\", \"cluster\": "
                    "{\"topology\": %s}}",
                    algorithms[k], models[m], side == 0 ? a : b);
                cs_config *config = ct_config_of(json);
                cs_case    c      = ct_case(config, 0);
                elapsed_s[side]   = ct_result(&c).elapsed_s;
                cs_case_free(&c);
                cs_config_free(config);
            }
            cr_assert_gt(elapsed_s[0], 0);
            cr_assert(elapsed_s[0] == elapsed_s[1], "%s, %s on %s: %.17g and %.17g", what,
                      algorithms[k], models[m], elapsed_s[0], elapsed_s[1]);
        }
    }
}

Test(infragraph, presets_read_back_as_the_same_times, .fini = free_arena)
{
    int refused = 0;

    for (const cs_preset *p = cs_presets; p->name != NULL; p++) {
        cs_site  s;
        cs_text  out = {0};
        cs_error err = {0};
        char     preset[200], file[600], folder[400];
        uint32_t servers = p->n_servers > 1 ? p->n_servers : p->server.n_gpus > 8 ? 1 : 2;
        cr_assert_eq(cs_preset_find(p->name, &arena, &s, NULL), CS_OK);
        if (cs_infragraph_write(&s, servers, refused % 2 == 0, &out, &err) != CS_OK) {
            cr_assert_eq(err.status, CS_ENOTSUP);
            cr_assert_str_eq(p->name, "parallel-rings-a", "%s: %s", p->name, err.message);
            cr_assert_not_null(strstr(err.message, "no place for the rate of one GPU"), "%s",
                               err.message);
            refused++;
            continue;
        }
        ct_file_write("written", out.data);
        cs_text_free(&out);
        cr_assert_not_null(getcwd(folder, sizeof folder));
        snprintf(preset, sizeof preset, "{\"preset\": \"%s\", \"servers\": %u}", p->name, servers);
        snprintf(file, sizeof file, "\"%s/written\"", folder);
        same_times(preset, file, p->name);
    }
    cr_assert_eq(refused, 1, "all others can be expressed");
}

/* A network, too; and what is written of what was read is written once more as it is. */
Test(infragraph, networks_read_back_as_the_same_times, .fini = free_arena)
{
    cs_site     s    = site_of(two_tiers), again;
    const char *text = written(&s, 4, false);
    char        folder[400], a[500], b[500];

    again = site_of(text);
    cr_assert_not_null(again.network);
    cr_assert_eq(again.n_servers, 4);
    cr_assert_str_eq(written(&again, 4, false), text);
    ct_file_write("read.yaml", two_tiers);
    ct_file_write("written.json", written(&again, 4, true));
    cr_assert_not_null(getcwd(folder, sizeof folder));
    snprintf(a, sizeof a, "\"%s/read.yaml\"", folder);
    snprintf(b, sizeof b, "\"%s/written.json\"", folder);
    same_times(a, b, "two tiers");
}

/* A server of another format: switches below switches, rates that are assumed, links of pairs. */
Test(infragraph, other_files_read_back_as_the_same_times, .fini = free_arena)
{
    cs_topology_file file;
    char             folder[400], path[500], a[560], b[500];

    cr_assert_not_null(getcwd(folder, sizeof folder));
    snprintf(path, sizeof path, "%s/configs/server.xml", COLLSIM_SOURCE_DIR);
    cr_assert_eq(cs_topology_file_load(path, &arena, &file, NULL), CS_OK);
    ct_file_write("written", written(&file.site, 2, false));
    snprintf(a, sizeof a, "{\"kind\": \"file\", \"path\": \"%s\", \"servers\": 2}", path);
    snprintf(b, sizeof b, "\"%s/written\"", folder);
    same_times(a, b, "server.xml");
}

Test(infragraph, rates_that_have_no_place, .fini = free_arena)
{
    cs_server_shape shape = {.n_gpus       = 2,
                             .n_nics       = 1,
                             .n_sockets    = 1,
                             .mesh         = CS_MESH_FULL,
                             .nvlink_Bps   = 1e9,
                             .nic_Bps      = 1e9,
                             .nic_pcie_Bps = 1e9,
                             .pcie_Bps     = 1e9};
    cs_machine     *m     = cs_server_make(&shape, "one way", &arena);
    cs_site         s     = {.machine = m, .n_servers = 1};
    cs_text         out   = {0};
    cs_error        err   = {0};

    m->nvlink_Bps[1] = 2e9;
    cr_assert_eq(cs_infragraph_write(&s, 1, false, &out, &err), CS_ENOTSUP);
    cr_assert_not_null(
        strstr(err.message, "not as fast both ways, as between gpu0 and gpu1 of one way"), "%s",
        err.message);
    m->nvlink_Bps[1] = 1e9;
    err              = (cs_error){0};
    cr_assert_eq(cs_infragraph_write(&s, 70000, false, &out, &err), CS_ENOTSUP);
    cr_assert_not_null(strstr(err.message, "70000 NICs are too many"), "%s", err.message);
    cr_assert_null(out.data);
}

/* ---- memory ---- */

Test(infragraph, memory_runs_out, .fini = free_arena)
{
    cs_topology_file file   = {0};
    cs_status        status = CS_ENOMEM;
    long             passes = 0;

    for (; status != CS_OK; passes++) {
        cs_error err = {0};
        cs_arena_free(&arena);
        cr_assert_lt(passes, 5000);
        cs_alloc_fail_after(passes);
        status =
            cs_topology_file_parse(two_tiers, strlen(two_tiers), "in.yaml", &arena, &file, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%ld: %d %s", passes, status,
                  err.message);
    }
    cr_assert_gt(passes, 100);
    for (int as_json = 0; as_json < 2; as_json++) {
        status = CS_ENOMEM;
        for (passes = 0; status != CS_OK; passes++) {
            cs_text  out = {0};
            cs_error err = {0};
            cr_assert_lt(passes, 5000);
            cs_alloc_fail_after(passes);
            status = cs_infragraph_write(&file.site, 4, as_json != 0, &out, &err);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM, "%ld: %d %s", passes, status,
                      err.message);
            cs_text_free(&out);
        }
        cr_assert_gt(passes, 100);
    }
}
