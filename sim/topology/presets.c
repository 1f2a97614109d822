/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known servers and clusters as a table. Rates are a direction's, in GB/s = 1e9 B/s.
 *
 * NVLink 3 and 4: 25 GB/s a link (A100: 12 links, H100 and H200: 18), NVLink 5: 50 GB/s (B200: 18).
 * PCIe 4.0 x16: 16 GT/s * 16 / 8 * 128/130 = 31.5, 5.0: 63. UPI and xGMI: links * GT/s * 2 bytes.
 * Start-up times are the program's defaults (NIC 3 us, NVLink 1 us, sockets 8 us) where no
 * measurement is named.
 */
#include "base/arena.h"
#include "cs/machine.h"

/* A shape in the units of the sources: GB/s, and the start-up times in us. */
#define SERVER(gpus, sockets, switches, nics, mesh_, nvlink, nic, nic_pcie, pcie, uplink, socket, \
               cross, nic_us, nvlink_us, cross_us)                                                \
    .server = {.n_gpus         = (gpus),                                                          \
               .n_sockets      = (sockets),                                                       \
               .n_switches     = (switches),                                                      \
               .n_nics         = (nics),                                                          \
               .mesh           = (mesh_),                                                         \
               .nvlink_Bps     = (nvlink)*1e9,                                                    \
               .nic_Bps        = (nic)*1e9,                                                       \
               .nic_pcie_Bps   = (nic_pcie)*1e9,                                                  \
               .pcie_Bps       = (pcie)*1e9,                                                      \
               .uplink_Bps     = (uplink)*1e9,                                                    \
               .socket_Bps     = (socket)*1e9,                                                    \
               .cross_Bps      = (cross)*1e9,                                                     \
               .nic_alpha_s    = (nic_us) / 1e6,                                                  \
               .nvlink_alpha_s = (nvlink_us) / 1e6,                                               \
               .cross_alpha_s  = (cross_us) / 1e6}

/* NVIDIA DGX A100, H100 and H200 System User Guides: 8 GPUs, NVSwitches, 8 NICs for the network
 * between GPUs; 2 sockets. Xeon 8480C: 4 UPI links of 16 GT/s; EPYC 7742: 3 xGMI links of 16 GT/s,
 * 16 lanes each. */
/* clang-format off */
const cs_preset cs_presets[] = {
    /* gpus sockets switches nics mesh nvlink nic nic_pcie pcie uplink socket cross, three alphas */
    {"dgx-a100", "8 A100, NVSwitches of 300 GB/s, 8 NICs of 200 Gb/s",
     "NVIDIA DGX A100 System User Guide", 1, NULL,
     SERVER(8, 2, 4, 8, CS_MESH_SWITCHED, 300, 25, 31.5, 31.5, 31.5, 96, 0, 3, 1, 8)},
    {"dgx-h100", "8 H100, NVSwitches of 450 GB/s, 8 NICs of 400 Gb/s",
     "NVIDIA DGX H100/H200 System User Guide", 1, NULL,
     SERVER(8, 2, 8, 8, CS_MESH_SWITCHED, 450, 50, 63, 63, 63, 128, 0, 3, 1, 8)},
    {"dgx-h200", "8 H200, NVSwitches of 450 GB/s, 8 NICs of 400 Gb/s",
     "NVIDIA DGX H100/H200 System User Guide", 1, NULL,
     SERVER(8, 2, 8, 8, CS_MESH_SWITCHED, 450, 50, 63, 63, 63, 128, 0, 3, 1, 8)},
    {"hgx-b200", "8 B200, NVSwitches of 900 GB/s, 8 NICs of 400 Gb/s",
     "NVIDIA HGX B200 data sheet", 1, NULL,
     SERVER(8, 2, 8, 8, CS_MESH_SWITCHED, 900, 50, 63, 63, 63, 128, 0, 3, 1, 8)},
    /* 7 links of 64 GB/s, of which some 48 are left after their protocol. */
    {"mi300x", "8 MI300X, xGMI of 64 GB/s for every pair, 8 NICs of 400 Gb/s",
     "AMD Instinct MI300X platform data sheet", 1, NULL,
     SERVER(8, 2, 8, 8, CS_MESH_FULL, 64, 50, 63, 63, 63, 128, 0, 3, 1, 8),
     .server.link_name = "xGMI"},
    /* A Grace CPU for two GPUs: NVLink-C2C of 900 GB/s both ways together and for both. */
    {"nvl72", "GB200 NVL72: 72 GPUs on NVSwitches of 900 GB/s, 72 NICs of 400 Gb/s",
     "NVIDIA GB200 NVL72 data sheet", 1, "gb200",
     SERVER(72, 36, 0, 72, CS_MESH_SWITCHED, 900, 50, 63, 225, 0, 0, 0, 3, 1, 8)},
    {"p5.48xlarge", "8 H100, NVSwitches of 450 GB/s, 32 EFA NICs of 100 Gb/s, four a GPU",
     "Amazon EC2 P5 instances", 1, NULL,
     SERVER(8, 2, 8, 32, CS_MESH_SWITCHED, 450, 12.5, 15.75, 63, 31.5, 128, 0, 3, 1, 8)},
    /* 3 UPI links of 10.4 GT/s. */
    {"p4d.24xlarge", "8 A100, NVSwitches of 300 GB/s, 4 EFA NICs of 100 Gb/s, two GPUs a NIC",
     "Amazon EC2 P4 instances", 1, NULL,
     SERVER(8, 2, 4, 4, CS_MESH_SWITCHED, 300, 12.5, 15.75, 31.5, 31.5, 62.4, 0, 3, 1, 8)},
    {"p4de.24xlarge", "the same with GPUs of 80 GB", "Amazon EC2 P4 instances", 1, NULL,
     SERVER(8, 2, 4, 4, CS_MESH_SWITCHED, 300, 12.5, 15.75, 31.5, 31.5, 62.4, 0, 3, 1, 8)},
    /* NV4 pairs; UPI 3 * 11.2 GT/s * 2 B = 67, 60 in use; 13.6 across for one GPU is fitted. */
    {"parallel-rings-a", "4 A30 on two sockets, NVLink pairs, 4 NICs of 100 Gb/s; 4 servers",
     "Parallel Rings, cluster A; rates in use and start-up times are fitted", 4, NULL,
     SERVER(4, 2, 0, 4, CS_MESH_SOCKETS, 100, 12, 25, 25, 25, 60, 13.6, 11.3, 4, 8)},
    {"parallel-rings-b", "4 H100, NVLink for every pair, 4 NICs of 200 Gb/s; 8 servers",
     "Parallel Rings, cluster B; rates in use and start-up times are fitted", 8, NULL,
     SERVER(4, 1, 0, 4, CS_MESH_FULL, 150, 24, 50, 50, 50, 0, 0, 11.3, 4, 8)},
    {"adapcc", "4 servers of 4 A100 and 100 Gb/s, 2 of 4 V100 and 50 Gb/s, a NIC each",
     "AdapCC testbed; NVLink and PCIe rates are nominal", 6, NULL,
     SERVER(4, 2, 0, 1, CS_MESH_FULL, 100, 12.5, 25, 25, 25, 60, 0, 20, 5, 8),
     .tail = "adapcc-v100", .first_tail = 4},
    {"adapcc-a100", "the A100 servers of adapcc",
     "AdapCC testbed; NVLink and PCIe rates are nominal", 4, NULL,
     SERVER(4, 2, 0, 1, CS_MESH_FULL, 100, 12.5, 25, 25, 25, 60, 0, 20, 5, 8)},
    {"adapcc-v100", "the V100 servers of adapcc",
     "AdapCC testbed; NVLink and PCIe rates are nominal", 2, NULL,
     SERVER(4, 2, 0, 1, CS_MESH_FULL, 50, 6.25, 12.5, 12.5, 12.5, 60, 0, 20, 5, 8)},
    {.name = NULL},
};
/* clang-format on */

const cs_named cs_preset_names = {
    .things      = cs_presets,
    .n           = sizeof cs_presets / sizeof cs_presets[0] - 1,
    .stride      = sizeof cs_presets[0],
    .takes_parts = true,
    .name        = offsetof(cs_preset, name),
    .aliases     = offsetof(cs_preset, aliases),
    .status      = CS_ENOENT,
    .what        = "unknown topology",
    .hint        = ": 'collsim list topologies' has all, a file needs a / or a dot in its name",
};

cs_status cs_preset_find(const char *name, cs_arena *arena, cs_site *site, cs_error *err)
{
    size_t i = 0, tail = 0;

    CS_TRY(cs_find_named(&cs_preset_names, name, &i, "", err));
    const cs_preset *p = &cs_presets[i];
    *site              = (cs_site){.n_servers = p->n_servers, .first_tail = p->first_tail};
    site->machine      = cs_server_make(&p->server, p->name, arena);
    if (p->tail != NULL) {
        CS_TRY(cs_find_named(&cs_preset_names, p->tail, &tail, "", err));
        site->tail = cs_server_make(&cs_presets[tail].server, p->tail, arena);
    }
    if (site->machine == NULL || (p->tail != NULL && site->tail == NULL)) {
        return CS_NO_MEMORY(err, "a topology");
    }
    return CS_OK;
}
