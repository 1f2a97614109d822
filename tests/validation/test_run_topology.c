/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `collsim topology` and `run --topology` as a user runs them: what is assumed of a file is said,
 * and keys of a topology stand beside its name in any order. */
#include "support/folder.h"
#include "support/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static char folder[CT_FOLDER_BYTES];

/* Two GPUs and a NIC at a switch, as a file by hand has them. */
static const char server[] =
    "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"ffff:ff:01.0\" class=\"0x060400\" "
    "link_speed=\"16 GT/s\" link_width=\"16\">"
    "<pci busid=\"0000:10:1c.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x20b2\" "
    "link_speed=\"16 GT/s\" link_width=\"16\"/>"
    "<pci busid=\"0000:10:1d.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x20b2\" "
    "link_speed=\"16 GT/s\" link_width=\"16\"/>"
    "<pci busid=\"0000:10:1b.0\" class=\"0x020000\" vendor=\"0x1d0f\" device=\"0xefa0\" "
    "link_speed=\"16 GT/s\" link_width=\"16\"/></pci></cpu></system>\n";

static void set_up(void)
{
    char path[CT_FOLDER_BYTES + 16];

    ct_folder_make(folder);
    snprintf(path, sizeof path, "%s/server.xml", folder);
    ct_file_write(path, server);
    snprintf(path, sizeof path, "%s/named.json", folder);
    ct_file_write(path, "{\"cluster\": {\"topology\": \"server.xml\"}, \"bytes\": \"1MiB\"}\n");
}

static void tear_down(void)
{
    ct_folder_remove(folder);
}

TestSuite(run_topology, .init = set_up, .fini = tear_down);

/* An @ in the words is the folder. */
static void expect(const char *line, int code, const char *words)
{
    char        arguments[600];
    const char *at = strchr(line, '@');

    snprintf(arguments, sizeof arguments, "%.*s%s%s", (int)(at != NULL ? at - line : 0), line,
             at != NULL ? folder : "", at != NULL ? at + 1 : line);
    ct_program_says(arguments, code, words);
}

Test(run_topology, what_is_assumed_is_said)
{
    expect(
        "topology @/server.xml", 0,
        "no NVLinks in the file, which leaves them to NCCL: assumed are NVSwitches and 300 GB/s a "
        "GPU (A100)\nNICs without a speed: assumed are 100 Gb/s a NIC (EFA)\n");
    expect(
        "run -a ring -s 1M -n 4 --topology @/server.xml", 0,
        "#  assumed, as server.xml does not say: NVSwitches and 300 GB/s a GPU (A100), 100 Gb/s a "
        "NIC (EFA)\n");
    expect("run -a ring -s 1M -n 4 --topology @/server.xml --bandwidth 200Gb/s --nvlink-bandwidth "
           "1GB/s",
           0, "bandwidth 1 GB/s\n#  Rank  0");
}

Test(run_topology, keys_stand_beside_the_name)
{
    static const char sixteen[] = "#  16 ranks, 8 per server\n",
                      six[]     = "#  6 ranks, 2 per server\n";

    expect("run -a ring -s 1M --topology dgx-h100 --set cluster.topology.servers=2", 0, sixteen);
    expect("run -a ring -s 1M --set cluster.topology.servers=2 --topology dgx-h100", 0, sixteen);
    expect("run -a ring -s 1M --topology @/server.xml --set cluster.topology.servers=3", 0, six);
    expect("run -a ring -s 1M --set cluster.topology.servers=3 --topology @/server.xml", 0, six);
    expect("run @/named.json --set cluster.topology.servers=3", 0, six);
    expect("run @/named.json --topology dgx-h100 --set cluster.topology.servers=2", 0, sixteen);
    expect("run @/named.json --set sweep.cluster.topology.servers=[2,3]", 0, six);
    expect("bound -a ring -s 1M --topology dgx-h100 --set cluster.topology.servers=2", 0,
           "16 ranks");
    /* The last name counts, and so does a whole topology behind it. */
    expect("run -a ring -s 1M --topology dgx-a100 --set cluster.topology.servers=2 --topology "
           "dgx-h100",
           0, sixteen);
    expect("run -n 4 -s 1M --set cluster.topology.servers=2 --topology '{\"kind\": \"crossbar\"}'",
           0, "#  4 ranks, 1 per server\n");
}

Test(run_topology, what_is_wrong_beside_the_name_is_located)
{
    expect("run -s 1M --topology dgx-h100 --set cluster.topology.leaves=2", 2,
           "collsim: --set cluster.topology.leaves: unknown key 'leaves': accepted are preset, "
           "servers, first\n");
    expect("run -s 1M --topology dgx-h100 --set cluster.topology.servers=0", 2,
           "collsim: --set cluster.topology.servers: 0 is outside [1, 65536]\n");
    expect("run -s 1M --topology dgx-h101 --set cluster.topology.servers=2", 2,
           "collsim: --topology: unknown topology 'dgx-h101'");
    expect("run -s 1M --topology dgx-h100 --set cluster.topology.preset=dgx-a100", 2,
           "names a topology, and the key 'preset' beside it does, too\n");
    expect("run -s 1M --topology dgx-h100 --set cluster.topology.name=3", 2,
           "collsim: --set cluster.topology.name: is a number: accepted is a text\n");
}

/* What is written by one command is read by the next. */
Test(run_topology, infragraph_goes_out_and_in)
{
    expect("topology dgx-h100 -n 16 --format infragraph -o @/two.yaml", 0, "");
    expect("topology @/two.yaml", 0,
           "two.yaml (InfraGraph): 16 ranks, 8 per server; ports:\n  nic    switched          50 "
           "GB/s  "
           "alpha 3 us\n  nvlink switched         450 GB/s  alpha 1 us\nserver two.yaml: 8 GPUs, 8 "
           "NICs, 8 "
           "PCIe switches, 2 sockets\n");
    expect("topology @/two.yaml", 0, "between the ports: nothing that limits (a crossbar)\n");
    expect("run -a ring -s 1M --topology @/two.yaml", 0, "#  16 ranks, 8 per server\n");
    expect("topology dgx-h100 --format infragraph", 0,
           "name: dgx-h100\ndevices:\n- name: dgx-h100\n");
    expect("topology dgx-a100 --format infragraph -o @/one.json", 0, "");
    expect("topology @/one.json -n 16", 0, "one.json (InfraGraph): 16 ranks, 8 per server");
    expect("topology dgx-h100 -n 4 --format infragraph", 2,
           "collsim: --format: infragraph is written of whole servers: accepted are multiples of 8 "
           "ranks\n");
    expect("topology parallel-rings-a --format infragraph", 2,
           "collsim: topology: the format infragraph has no place for the rate of one GPU of "
           "parallel-rings-a to another socket (13.6 GB/s, below its links')\n");
}
