/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topology XML of NCCL and RCCL in the forms in which it is found: dumps of servers, of virtual
 * machines and of jobs with a part of the GPUs, files by hand; what is assumed where they are
 * silent, what is said of it, and what the keys of a cluster make of it. The files are made up.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/text.h"
#include "support/config.h"
#include "support/folder.h"
#include "topology/topology_file.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static cs_arena arena;

static const cs_machine *parse(const char *text)
{
    cs_topology_file file;
    cs_error         err = {0};

    cr_assert_eq(cs_topology_file_parse(text, strlen(text), "input", &arena, &file, &err), CS_OK,
                 "%d:%d: %s %s\n%s", err.input_line, err.input_column, err.where, err.message,
                 text);
    cr_assert_eq(file.format, CS_FORMAT_NCCL);
    return file.site.machine;
}

static cs_machine_ports ports_of(const cs_machine *m, bool is_network)
{
    cs_machine_ports ports;
    cr_assert_eq(cs_machine_describe(m, m->n_gpus, is_network, &arena, &ports), CS_OK);
    return ports;
}

static void check_note(const cs_machine *m, const char *words)
{
    cr_assert_not_null(m->notes);
    cr_assert_not_null(strstr(m->notes, words), "'%s' is not in: %s", words, m->notes);
}

#define SYSTEM(inner) "<system version=\"1\"><cpu numaid=\"0\">" inner "</cpu></system>"
#define LINK16        " link_speed=\"16.0 GT/s PCIe\" link_width=\"16\""
#define PCI(id, class, more, inner) \
    "<pci busid=\"" id "\" class=\"" class "\"" LINK16 more ">" inner "</pci>"
#define IDS(vendor, device)  " vendor=\"" vendor "\" device=\"" device "\""
#define NVLINK(to, n, class) "<nvlink target=\"" to "\" count=\"" n "\" tclass=\"" class "\"/>"
#define XGMI(to, n)          "<xgmi target=\"" to "\" count=\"" n "\" tclass=\"0x120000\"/>"
#define GPU(dev, sm, inner) \
    "<gpu dev=\"" dev "\" sm=\"" sm "\" rank=\"" dev "\" gdr=\"1\">" inner "</gpu>"
#define GCN(dev, sm, gcn, in) \
    "<gpu dev=\"" dev "\" sm=\"" sm "\" gcn=\"" gcn "\" arch=\"38911\">" in "</gpu>"

/* ---- NVLinks ---- */

#define TO_SWITCHES                         \
    NVLINK("0000:07:00.0", "5", "0x068000") \
    NVLINK("0000:06:00.0", "4", "0x068000") \
    NVLINK("0000:05:00.0", "5", "0x068000") NVLINK("0000:08:00.0", "4", "0x068000")

Test(nccl_topology, nvswitches_of_a_server)
{
    const cs_machine *m = parse(SYSTEM(
        PCI("0000:18:00.0", "0x030200", IDS("0x10de", "0x2335"), GPU("0", "90", TO_SWITCHES))
            PCI("0000:2a:00.0", "0x030200", IDS("0x10de", "0x2335"), GPU("1", "90", TO_SWITCHES))));

    cr_assert_float_eq(m->nvswitch_Bps, 450e9, 1);
    check_note(m,
               "the file has no rates of links between GPUs: assumed are 25 GB/s an NVLink (H200)");
    cr_assert_str_eq(m->assumed[CS_RATE_NVLINK], "25 GB/s an NVLink (H200)");
    cs_arena_free(&arena);
}

/* A virtual machine does not see the NVSwitches, and the file does not say their class. */
Test(nccl_topology, nvswitches_that_cannot_be_seen)
{
    static const char *const targets[] = {"fffffff:ffff:ff", "0000:c1:00.0"};

    for (int i = 0; i < 2; i++) {
        char text[900];
        snprintf(text, sizeof text,
                 SYSTEM(PCI("0000:18:00.0", "0x030200", IDS("0x10de", "0x2901"),
                            GPU("0", "100", "<nvlink target=\"%s\" count=\"18\"/>"))
                            PCI("0000:19:00.0", "0x030200", IDS("0x10de", "0x2901"),
                                GPU("1", "100", "<nvlink target=\"%s\" count=\"17\"/>"))),
                 targets[i], targets[i]);
        const cs_machine *m = parse(text);
        cr_assert_float_eq(m->nvswitch_Bps, 850e9, 1, "the GPU with fewest links, 50 GB/s each");
        check_note(m, "GPUs have from 17 to 18 links to NVSwitches: the fewest count");
        cs_arena_free(&arena);
    }
}

/* Bus ids are numbers: NCCL takes them as such. */
Test(nccl_topology, bus_ids_are_numbers)
{
    const cs_machine *m =
        parse(SYSTEM(PCI("0000:0A:00.0", "0x030200", "",
                         GPU("0", "70", NVLINK("00000000:0b:00.0", "2", "0x030200")))
                         PCI("0000:0b:00.0", "0x030200", "",
                             GPU("1", "70", NVLINK("0:a:00.0", "2", "0x030200")))));

    cr_assert_not_null(m->nvlink_Bps);
    cr_assert_float_eq(m->nvlink_Bps[1], 50e9, 1);
    cr_assert_float_eq(m->nvlink_Bps[2], 50e9, 1);
    check_note(m, "25 GB/s an NVLink (V100)");
    cs_arena_free(&arena);
}

/* As in Azure's file for its NCv4: a GPU that is linked to itself. NCCL makes nothing of it. */
Test(nccl_topology, links_of_a_gpu_to_itself)
{
    const cs_machine *m =
        parse(SYSTEM(PCI("0001:00:00.0", "0x030200", IDS("0x10de", "0x20b5"),
                         GPU("0", "80", NVLINK("0001:00:00.0", "12", "0x030200")))
                         PCI("0002:00:00.0", "0x030200", IDS("0x10de", "0x20b5"),
                             GPU("1", "80", NVLINK("0002:00:00.0", "12", "0x030200")))));

    cr_assert_null(m->nvlink_Bps);
    cr_assert_eq(m->nvswitch_Bps, 0);
    cr_assert_eq(ports_of(m, false).mesh, CS_MESH_NONE);
    check_note(m, "links of a GPU to itself join nothing: 2 left out");
    cs_arena_free(&arena);
}

/* The dump of a job that had 2 of 4 GPUs still has the links to the others. */
Test(nccl_topology, links_to_gpus_of_others)
{
    const cs_machine *m = parse(SYSTEM(
        PCI("0000:0a:00.0", "0x030200", "",
            GPU("0", "80",
                NVLINK("0000:0b:00.0", "4", "0x030200") NVLINK("0000:0c:00.0", "4", "0x030200")))
            PCI("0000:0b:00.0", "0x030200", "",
                GPU("1", "80",
                    NVLINK("0000:0c:00.0", "4", "0x030200")
                        NVLINK("0000:0a:00.0", "4", "0x030200")))));

    cr_assert_float_eq(m->nvlink_Bps[1], 100e9, 1);
    check_note(m, "links to GPUs that the file does not have (0000:0c:00.0): 2 left out");
    cs_arena_free(&arena);
}

Test(nccl_topology, links_to_a_cpu)
{
    const cs_machine *m = parse(SYSTEM(
        PCI("0004:04:00.0", "0x030200", "",
            GPU("0", "70",
                NVLINK("0004:05:00.0", "3", "0x030200") NVLINK("0006:00:00.1", "3", "0x068001")))
            PCI("0004:05:00.0", "0x030200", "",
                GPU("1", "70", NVLINK("0006:00:00.0", "3", "0x068001")))));

    cr_assert_eq(m->nvswitch_Bps, 0);
    cr_assert_float_eq(m->nvlink_Bps[1], 75e9, 1);
    cs_arena_free(&arena);
}

/* ---- what the kind of a GPU says ---- */

static const struct {
    const char *attributes, *gpu; /* of the PCI device; the element in it, or "" */
    double      nvswitch_GBps;
    const char *note;
} kinds[] = {
    {IDS("0x10de", "0x20b0"), "", 300, "NVSwitches and 300 GB/s a GPU (A100)"},
    {IDS("0x10de", "0x20b2"), GPU("%d", "80", ""), 300, "NVSwitches and 300 GB/s a GPU (A100)"},
    {IDS("0x10de", "0x20bd"), "", 200, "NVSwitches and 200 GB/s a GPU (A800)"},
    {IDS("0x10de", "0x1db1"), "", 150, "NVSwitches and 150 GB/s a GPU (V100)"},
    {IDS("0x10de", "0x1db5"), GPU("%d", "70", ""), 150, "NVSwitches and 150 GB/s a GPU (V100)"},
    {IDS("0x10de", "0x2330"), "", 450, "NVSwitches and 450 GB/s a GPU (H100)"},
    {IDS("0x10de", "0x2335"), "", 450, "NVSwitches and 450 GB/s a GPU (H200)"},
    {IDS("0x10de", "0x2901"), "", 900, "NVSwitches and 900 GB/s a GPU (B200)"},
    {IDS("0x10de", "0x2941"), GPU("%d", "100", ""), 900, "900 GB/s a GPU (B200)"},
    {" device=\"0x20b0\"", "", 300, "300 GB/s a GPU (A100)"},
    {IDS("0x10de", "0x20f1"), GPU("%d", "80", ""), 0, "for A100 PCIe none are assumed"},
    {IDS("0x10de", "0x2331"), "", 0, "for H100 PCIe none are assumed"},
    {IDS("0x10de", "0x26b9"), "", 0, "for a GPU without NVLink none are assumed"},
    {"", GPU("%d", "80", ""), 300, "300 GB/s a GPU (A100)"},
    {"", GPU("%d", "90", ""), 450, "450 GB/s a GPU (H100)"},
    {"", "", 450, "450 GB/s a GPU (as of an H100, as the file does not say which GPUs they are)"},
    /* sm is the number of compute units of an AMD GPU. */
    {IDS("0x1002", "0x74a2"), GCN("%d", "80", "gfx942", ""), 0, "for MI300 none are assumed"},
    {"", GCN("%d", "90", "910", ""), 0, "for MI200 none are assumed"},
    {IDS("0x1d94", "0x55b7"), GCN("%d", "90", "21943", ""), 0, "start-up times"},
};

Test(nccl_topology, gpus_say_their_rate_by_their_kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        cs_text text = {0};
        cs_text_add(&text, "<system version=\"1\"><cpu numaid=\"0\">");
        for (int dev = 0; dev < 2; dev++) {
            char gpu[200];
            snprintf(gpu, sizeof gpu, "%s", kinds[i].gpu);
            char *at = strstr(gpu, "%d");
            while (at != NULL) {
                memmove(at + 1, at + 2, strlen(at + 1));
                *at = (char)('0' + dev);
                at  = strstr(gpu, "%d");
            }
            cs_text_add(&text,
                        "<pci busid=\"0000:0%d:00.0\" class=\"0x030200\"" LINK16 "%s>%s</pci>",
                        dev + 1, kinds[i].attributes, gpu);
        }
        cs_text_add(&text, "</cpu></system>");
        const cs_machine *m = parse(text.data);
        cr_assert_eq(m->n_gpus, 2, "%s", text.data);
        cr_assert_float_eq(m->nvswitch_Bps, kinds[i].nvswitch_GBps * 1e9, 1, "%s: %g", text.data,
                           m->nvswitch_Bps);
        check_note(m, kinds[i].note);
        cr_assert_eq(m->assumed[CS_RATE_NVLINK] != NULL, kinds[i].nvswitch_GBps > 0);
        cs_text_free(&text);
        cs_arena_free(&arena);
    }
}

/* ---- xGMI ---- */

Test(nccl_topology, xgmi_joins_gpus_as_nvlink_does)
{
    const cs_machine *m = parse(SYSTEM(
        PCI("0000:0c:00.0", "0x120000", IDS("0x1002", "0x74a1"),
            GCN("0", "304", "gfx942", XGMI("0000:15:00.0", "1") XGMI("0000:1e:00.0", "1")))
            PCI("0000:15:00.0", "0x120000", IDS("0x1002", "0x74a1"),
                GCN("1", "304", "gfx942", XGMI("0000:0c:00.0", "1") XGMI("0000:1e:00.0", "1")))
                PCI("0000:1e:00.0", "0x120000", IDS("0x1002", "0x74a1"),
                    GCN("2", "304", "gfx942",
                        XGMI("0000:0c:00.0", "1") XGMI("0000:15:00.0", "1")))));

    cr_assert_eq(ports_of(m, false).mesh, CS_MESH_FULL);
    cr_assert_float_eq(ports_of(m, false).fabrics[CS_NVLINK].bandwidth_Bps, 64e9, 1);
    cr_assert_str_eq(m->link_name, "xGMI");
    check_note(m, "assumed are 64 GB/s an xGMI link (MI300)");
    cs_arena_free(&arena);
}

/* Four links in a package, one or two between packages; RCCL's old name of the architecture. */
Test(nccl_topology, xgmi_counts_make_the_rate)
{
    static const char text[] = SYSTEM(
        PCI("0000:c1:00.0", "0x038000", "",
            GCN("0", "104", "910", XGMI("0000:c6:00.0", "4") XGMI("0000:c9:00.0", "1")))
            PCI("0000:c6:00.0", "0x038000", "",
                GCN("1", "104", "910", XGMI("0000:c1:00.0", "4") XGMI("0000:c9:00.0", "2")))
                PCI("0000:c9:00.0", "0x038000", "",
                    GCN("2", "104", "910", XGMI("0000:c1:00.0", "1") XGMI("0000:c6:00.0", "2")))
                    PCI("0000:d1:00.0", "0x020700", "",
                        "<nic><net name=\"hsn0\" speed=\"200000\"/></nic>"));
    const cs_machine *m    = parse(text);
    cs_site           site = {.machine = m, .n_servers = 1};
    cs_cluster        c    = {.n_ranks = 3, .gpus_per_server = 3};
    cs_topology       t;
    uint32_t          way[CS_MAX_ROUTE];

    cr_assert_float_eq(m->nvlink_Bps[1], 200e9, 1);
    cr_assert_float_eq(m->nvlink_Bps[2], 50e9, 1);
    cr_assert_float_eq(m->nvlink_Bps[5], 100e9, 1);
    /* Port models have one rate for all pairs; network models have every pair's link. */
    cr_assert_float_eq(ports_of(m, false).fabrics[CS_NVLINK].bandwidth_Bps, 50e9, 1);
    cr_assert_float_eq(ports_of(m, true).fabrics[CS_NVLINK].bandwidth_Bps, 200e9, 1);
    cr_assert_eq(cs_site_links(&site, &c, &arena, &t, NULL), CS_OK);
    cr_assert_eq(t.kind->route(&t, &c, 0, 2, CS_NVLINK, way), 1);
    cr_assert_float_eq(t.links[way[0]].bandwidth_Bps, 50e9, 1);
    cr_assert_eq(t.kind->route(&t, &c, 2, 1, CS_NVLINK, way), 1);
    cr_assert_float_eq(t.links[way[0]].bandwidth_Bps, 100e9, 1);
    cs_arena_free(&arena);
}

/* ---- NICs and PCIe ---- */

#define BARE_GPU PCI("0000:0a:00.0", "0x030200", IDS("0x10de", "0x20b0"), "")

Test(nccl_topology, nics_say_their_rate_by_their_device)
{
    const cs_machine *m =
        parse(SYSTEM(BARE_GPU PCI("0000:10:00.0", "0x020000", IDS("0x1d0f", "0xefa0"), "")
                         PCI("0000:11:00.0", "0x020700", IDS("0x15b3", "0x1021"), "")
                             PCI("0000:12:00.0", "0x020700", IDS("0x15b3", "0x101b"),
                                 "<nic><net name=\"mlx5_2\"/></nic>")
                                 PCI("0000:13:00.0", "0x020700", IDS("0x15b3", "0xa2dc"),
                                     "<nic><net name=\"mlx5_3\" speed=\"200000\"/></nic>")
                                     PCI("0000:14:00.0", "0x020000", IDS("0x1234", "0x5678"), "")));

    cr_assert_eq(m->n_nics, 5);
    cr_assert_float_eq(m->nics[0].wire_Bps, 12.5e9, 1);
    cr_assert_float_eq(m->nics[1].wire_Bps, 50e9, 1);
    cr_assert_float_eq(m->nics[2].wire_Bps, 25e9, 1);
    cr_assert_float_eq(m->nics[3].wire_Bps, 25e9, 1, "what the file says is right");
    cr_assert_float_eq(m->nics[4].wire_Bps, 25e9, 1);
    check_note(m, "NICs without a speed: assumed are 100 Gb/s a NIC (EFA), 400 Gb/s a NIC "
                  "(ConnectX-7), 200 Gb/s a NIC (ConnectX-6), 200 Gb/s a NIC (others)\n");
    cs_arena_free(&arena);
}

/* What Linux says of a link that it does not know. */
Test(nccl_topology, pcie_links_that_nobody_knows)
{
    static const char *const links[] = {" link_speed=\"Unknown speed\" link_width=\"255\"",
                                        " link_speed=\"Unknown\" link_width=\"0\"",
                                        " link_speed=\"\" link_width=\"0\"",
                                        " link_speed=\"16.0 GT/s PCIe\" link_width=\"255\"", ""};

    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 SYSTEM("<pci busid=\"0000:0a:00.0\" class=\"0x030200\"%s/>"
                        "<pci busid=\"0000:0b:00.0\" class=\"0x020700\"" LINK16 "/>"),
                 links[i]);
        const cs_machine *m = parse(text);
        cr_assert_float_eq(m->gpus[0].pcie_Bps, 31.5e9, 1, "%s", links[i]);
        cr_assert(m->gpus[0].is_pcie_assumed && !m->nics[0].is_pcie_assumed);
        check_note(m, "PCIe links without a speed: assumed are 31.5 GB/s PCIe (4.0 x16)");
        cs_arena_free(&arena);
    }
}

/* A switch with two others below it, and GPUs that have a bridge of their own (as AMD's do): each
 * GPU has the NIC at its side, not the one of the same place in the file. */
Test(nccl_topology, the_nearest_nic_is_below_the_same_bridge)
{
#define SIDE(bridge, gpu, dev, nic)                                                \
    PCI(bridge, "0x060400", "",                                                    \
        PCI(gpu "f", "0x060400", "", PCI(gpu, "0x030200", "", GPU(dev, "80", ""))) \
            PCI(nic "f", "0x020700", "", "<nic><net name=\"" nic "\" speed=\"200000\"/></nic>"))
    const cs_machine *m = parse(SYSTEM(
        PCI("1", "0x060400", "", SIDE("2", "20", "1", "mlx5_0") SIDE("3", "30", "0", "mlx5_1"))));
    cs_nic_choice     choice;

    cr_assert_eq(m->n_switches, 1);
    cr_assert_eq(cs_machine_choose_nics(m, 2, &arena, &choice), CS_OK);
    cr_assert_str_eq(m->nics[choice.order[choice.first[0]]].name, "mlx5_1");
    cr_assert_str_eq(m->nics[choice.order[choice.first[1]]].name, "mlx5_0");
    cr_assert_eq(choice.count[0], 1);
    cs_arena_free(&arena);
}

/* 256 KB: 4 s were spent on who uses which NIC, each time that it was asked. */
Test(nccl_topology, the_largest_server_takes_no_time)
{
    cs_text text  = {0};
    clock_t start = clock();

    cs_text_add(&text, "<system version=\"1\"><cpu numaid=\"0\">");
    for (unsigned i = 0; i < 2048; i++) {
        cs_text_add(
            &text,
            "<pci busid=\"%04x:%02x:00.0\" class=\"0x0%s\" vendor=\"0x1\" device=\"0x2\"" LINK16
            "/>\n",
            i / 256, i % 256, i < 1024 ? "30200" : "20700");
    }
    cs_text_add(&text, "</cpu></system>");
    cr_assert_gt(text.length, 200000);
    const cs_machine *m = parse(text.data);
    cr_assert_eq(m->n_gpus, 1024);
    cr_assert_float_eq(ports_of(m, true).fabrics[CS_NIC].bandwidth_Bps, 25e9, 1);
    cr_assert_lt((double)(clock() - start) / CLOCKS_PER_SEC, 0.5);
    cs_text_free(&text);
    cs_arena_free(&arena);
}

/* ---- in a scenario ---- */

static char folder[CT_FOLDER_BYTES];

/* Two servers of 2 V100 with two and one NVLinks, a NIC that they share, no rates. */
static cs_config *load(const char *model)
{
    static const char text[] = SYSTEM(PCI(
        "b0", "0x060400", "",
        "<pci busid=\"a0\" class=\"0x030200\">" GPU(
            "0", "70",
            NVLINK("a1", "2",
                   "0x030200")) "</pci>"
                                "<pci busid=\"a1\" class=\"0x030200\">" GPU(
                                    "1", "70",
                                    NVLINK(
                                        "a2", "1",
                                        "0x030200")) "</pci>"
                                                     "<pci busid=\"a2\" class=\"0x030200\">" GPU(
                                                         "2", "70",
                                                         NVLINK(
                                                             "a0", "1",
                                                             "0x030200")) "</pci>"
                                                                          "<pci busid=\"c0\" "
                                                                          "class=\"0x020700\"" IDS(
                                                                              "0x15b3",
                                                                              "0x1017") "/>"));
    char              path[CT_FOLDER_BYTES + 16], quoted[CT_FOLDER_BYTES + 20];
    cs_config        *config = NULL;

    ct_folder_make(folder);
    snprintf(path, sizeof path, "%s/topo.xml", folder);
    snprintf(quoted, sizeof quoted, "\"%s\"", path);
    ct_file_write(path, text);
    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    ct_set(config, "cluster.topology", quoted);
    ct_set(config, "cluster.ranks", "6");
    ct_set(config, "model.name", model);
    return config;
}

static double widest(const cs_cluster *c, const char *what)
{
    char   name[200];
    double most_Bps = 0;

    for (uint32_t i = 0; i < c->topology->n_links; i++) {
        c->topology->kind->link_name(c->topology, i, name, sizeof name);
        most_Bps = strstr(name, what) != NULL ? fmax(most_Bps, c->topology->links[i].bandwidth_Bps)
                                              : most_Bps;
    }
    return most_Bps;
}

Test(nccl_topology, what_is_in_use_is_said)
{
    static const struct {
        const char *model, *key, *value, *said;
    } rows[] = {
        {"alpha-beta", NULL, NULL,
         "as topo.xml does not say: 25 GB/s an NVLink (V100), 100 Gb/s a NIC (ConnectX-5)"},
        {"flow", NULL, NULL,
         "as topo.xml does not say: 25 GB/s an NVLink (V100), 100 Gb/s a NIC (ConnectX-5), 31.5 "
         "GB/s PCIe (4.0 x16)"},
        {"alpha-beta", "cluster.nvlink.bandwidth", "70GB/s",
         "as topo.xml does not say: 100 Gb/s a NIC (ConnectX-5)"},
        {"alpha-beta", "cluster.nic", "{\"bandwidth\": \"200Gb/s\"}",
         "as topo.xml does not say: 25 GB/s an NVLink (V100)"},
        {"alpha-beta", "cluster.ranks", "3", "as topo.xml does not say: 25 GB/s an NVLink (V100)"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cs_config *config = load(rows[i].model);
        if (rows[i].key != NULL) {
            ct_set(config, rows[i].key, rows[i].value);
        }
        cs_case c = ct_case(config, 0);
        cr_assert_not_null(c.job.scenario.cluster.assumed);
        cr_assert_str_eq(c.job.scenario.cluster.assumed, rows[i].said);
        cs_case_free(&c);
        cs_config_free(config);
        ct_folder_remove(folder);
    }
}

Test(nccl_topology, keys_replace_what_was_assumed)
{
    cs_config        *config = load("flow");
    cs_case           before = ct_case(config, 0);
    const cs_cluster *b      = &before.job.scenario.cluster;

    cr_assert_float_eq(widest(b, "wire"), 12.5e9, 1);
    cr_assert_float_eq(widest(b, "PCIe of NIC"), 31.5e9, 1);
    cr_assert_float_eq(widest(b, "NVLink"), 50e9, 1);
    ct_set(config, "cluster.nic.bandwidth", "400Gb/s");
    ct_set(config, "cluster.nvlink.bandwidth", "80GB/s");
    cs_case           after = ct_case(config, 0);
    const cs_cluster *a     = &after.job.scenario.cluster;
    cr_assert_float_eq(widest(a, "wire"), 50e9, 1);
    cr_assert_float_eq(widest(a, "PCIe of NIC"), 50e9, 1, "it was assumed, too");
    cr_assert_float_eq(widest(a, "uplink"), 31.5077e9, 1e6, "it is in the file");
    cr_assert_float_eq(widest(a, "NVLink"), 80e9, 1);
    cr_assert_float_eq(a->fabrics[CS_NIC].bandwidth_Bps, 50e9, 1);
    cr_assert_null(a->assumed);
    cs_case_free(&before);
    cs_case_free(&after);
    cs_config_free(config);
    ct_folder_remove(folder);
}

Test(nccl_topology, keys_run_out_of_memory_cleanly)
{
    cs_config *config = load("flow");
    cs_status  status = CS_ENOMEM;

    ct_set(config, "cluster.nic.bandwidth", "400Gb/s");
    ct_set(config, "cluster.nvlink.bandwidth", "80GB/s");
    for (long passes = 0; status != CS_OK; passes++) {
        cs_case c = {0};
        cr_assert_lt(passes, 10000);
        cs_alloc_fail_after(passes);
        status = cs_config_case(config, 0, &c, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%d", (int)status);
        cs_case_free(&c);
    }
    cs_config_free(config);
    ct_folder_remove(folder);
}
