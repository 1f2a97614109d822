/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known servers and clusters as a table. Rates are a direction's, in GB/s = 1e9 B/s.
 *
 * NVLink 3 and 4: 25 GB/s a link (A100: 12 links, H100 and H200: 18), NVLink 5: 50 GB/s (B200: 18).
 * PCIe 4.0 x16: 16 GT/s * 16 / 8 * 128/130 = 31.5, 5.0: 63. UPI and xGMI: links * GT/s * 2 bytes.
 * Start-up times are the program's defaults (NIC 3 us, NVLink 1 us, sockets 8 us) where no
 * measurement is named.
 */
#include "base/arena.h"
#include "base/nearest.h"
#include "cs/machine.h"

#include <stdio.h>
#include <string.h>

enum { MESH_SWITCH, MESH_ALL, MESH_SOCKET }; /* NVLinks: NVSwitches, all pairs, within sockets */

typedef struct row {
    uint32_t gpus, sockets, switches, nics; /* of a server */
    int      mesh;
    double   nvlink_GBps; /* a GPU's port at the NVSwitches, or one pair */
    double   nic_GBps, nic_pcie_GBps, pcie_GBps, uplink_GBps, socket_GBps, cross_GBps;
    double   nic_us, nvlink_us, cross_us;
    int      tail;       /* row of the other servers; -1: none */
    uint32_t first_tail; /* server */
} row;

/* NVIDIA DGX A100, H100 and H200 System User Guides: 8 GPUs, NVSwitches, 8 NICs for the network
 * between GPUs; 2 sockets. Xeon 8480C: 4 UPI links of 16 GT/s; EPYC 7742: 3 xGMI links of 16 GT/s,
 * 16 lanes each. */
const cs_preset cs_presets[] = {
    {"dgx-a100", "8 A100, NVSwitches of 300 GB/s, 8 NICs of 200 Gb/s",
     "NVIDIA DGX A100 System User Guide", 1},
    {"dgx-h100", "8 H100, NVSwitches of 450 GB/s, 8 NICs of 400 Gb/s",
     "NVIDIA DGX H100/H200 System User Guide", 1},
    {"dgx-h200", "8 H200, NVSwitches of 450 GB/s, 8 NICs of 400 Gb/s",
     "NVIDIA DGX H100/H200 System User Guide", 1},
    {"hgx-b200", "8 B200, NVSwitches of 900 GB/s, 8 NICs of 400 Gb/s", "NVIDIA HGX B200 data sheet",
     1},
    {"nvl72", "GB200 NVL72: 72 GPUs on NVSwitches of 900 GB/s, 72 NICs of 400 Gb/s",
     "NVIDIA GB200 NVL72 data sheet", 1},
    {"p5.48xlarge", "8 H100, NVSwitches of 450 GB/s, 32 EFA NICs of 100 Gb/s, four a GPU",
     "Amazon EC2 P5 instances", 1},
    {"parallel-rings-a", "4 A30 on two sockets, NVLink pairs, 4 NICs of 100 Gb/s; 4 servers",
     "Parallel Rings, cluster A; rates in use and start-up times are fitted", 4},
    {"parallel-rings-b", "4 H100, NVLink for every pair, 4 NICs of 200 Gb/s; 8 servers",
     "Parallel Rings, cluster B; rates in use and start-up times are fitted", 8},
    {"adapcc", "4 servers of 4 A100 and 100 Gb/s, 2 of 4 V100 and 50 Gb/s, a NIC each",
     "AdapCC testbed; NVLink and PCIe rates are nominal", 6},
    {"adapcc-a100", "the A100 servers of adapcc",
     "AdapCC testbed; NVLink and PCIe rates are nominal", 4},
    {"adapcc-v100", "the V100 servers of adapcc",
     "AdapCC testbed; NVLink and PCIe rates are nominal", 2},
    {NULL, NULL, NULL, 0},
};

/* In the order of cs_presets. */
static const row rows[] = {
    /* gpus sockets switches nics mesh nvlink nic nic_pcie pcie uplink socket cross  alphas   tail
     */
    {8, 2, 4, 8, MESH_SWITCH, 300, 25, 31.5, 31.5, 31.5, 96, 0, 3, 1, 8, -1, 0},
    {8, 2, 8, 8, MESH_SWITCH, 450, 50, 63, 63, 63, 128, 0, 3, 1, 8, -1, 0},
    {8, 2, 8, 8, MESH_SWITCH, 450, 50, 63, 63, 63, 128, 0, 3, 1, 8, -1, 0},
    {8, 2, 8, 8, MESH_SWITCH, 900, 50, 63, 63, 63, 128, 0, 3, 1, 8, -1, 0},
    /* A Grace CPU for two GPUs: NVLink-C2C of 900 GB/s both ways together and for both. */
    {72, 36, 0, 72, MESH_SWITCH, 900, 50, 63, 225, 0, 0, 0, 3, 1, 8, -1, 0},
    {8, 2, 8, 32, MESH_SWITCH, 450, 12.5, 15.75, 63, 31.5, 128, 0, 3, 1, 8, -1, 0},
    /* NV4 pairs; UPI 3 * 11.2 GT/s * 2 B = 67, 60 in use; 13.6 across for one GPU is fitted. */
    {4, 2, 0, 4, MESH_SOCKET, 100, 12, 25, 25, 25, 60, 13.6, 11.3, 4, 8, -1, 0},
    {4, 1, 0, 4, MESH_ALL, 150, 24, 50, 50, 50, 0, 0, 11.3, 4, 8, -1, 0},
    {4, 2, 0, 1, MESH_ALL, 100, 12.5, 25, 25, 25, 60, 0, 20, 5, 8, 10, 4},
    {4, 2, 0, 1, MESH_ALL, 100, 12.5, 25, 25, 25, 60, 0, 20, 5, 8, -1, 0},
    {4, 2, 0, 1, MESH_ALL, 50, 6.25, 12.5, 12.5, 12.5, 60, 0, 20, 5, 8, -1, 0},
};

_Static_assert(sizeof rows / sizeof rows[0] + 1 == sizeof cs_presets / sizeof cs_presets[0],
               "a row for every preset");

static void place(cs_device *d, const char *what, uint32_t i, uint32_t count, const row *r)
{
    (void)snprintf(d->name, sizeof d->name, "%s%u", what, i);
    d->socket = i * r->sockets / count;
    d->pcie   = r->switches > 0 ? i * r->switches / count : CS_NO_SWITCH;
}

static cs_status allocate(cs_machine *m, const row *r, cs_arena *arena)
{
    m->n_gpus     = r->gpus;
    m->n_nics     = r->nics;
    m->n_switches = r->switches;
    m->n_sockets  = r->sockets;
    m->gpus       = CS_ARENA_NEW(arena, cs_device, r->gpus);
    m->nics       = CS_ARENA_NEW(arena, cs_device, r->nics);
    m->switches   = CS_ARENA_NEW(arena, cs_pcie_switch, r->switches + 1);
    if (r->mesh != MESH_SWITCH) {
        m->nvlink_Bps = CS_ARENA_NEW(arena, double, (size_t)r->gpus * r->gpus);
    }
    bool failed = m->gpus == NULL || m->nics == NULL || m->switches == NULL ||
                  (r->mesh != MESH_SWITCH && m->nvlink_Bps == NULL);
    return failed ? CS_ENOMEM : CS_OK;
}

static void set_nvlinks(cs_machine *m, const row *r)
{
    m->nvswitch_Bps = r->mesh == MESH_SWITCH ? r->nvlink_GBps * 1e9 : 0;
    for (uint32_t i = 0; m->nvlink_Bps != NULL && i < r->gpus * r->gpus; i++) {
        uint32_t a = i / r->gpus, b = i % r->gpus;
        bool     near    = r->mesh == MESH_ALL || m->gpus[a].socket == m->gpus[b].socket;
        m->nvlink_Bps[i] = a != b && near ? r->nvlink_GBps * 1e9 : 0;
    }
}

static cs_machine *build(const char *name, const row *r, cs_arena *arena)
{
    cs_machine *m = CS_ARENA_NEW(arena, cs_machine, 1);

    if (m == NULL || allocate(m, r, arena) != CS_OK) {
        return NULL;
    }
    (void)snprintf(m->name, sizeof m->name, "%s", name);
    for (uint32_t i = 0; i < r->gpus; i++) {
        place(&m->gpus[i], "gpu", i, r->gpus, r);
        m->gpus[i].pcie_Bps = r->pcie_GBps * 1e9;
    }
    for (uint32_t i = 0; i < r->nics; i++) {
        place(&m->nics[i], "nic", i, r->nics, r);
        m->nics[i].pcie_Bps = r->nic_pcie_GBps * 1e9;
        m->nics[i].wire_Bps = r->nic_GBps * 1e9;
    }
    for (uint32_t i = 0; i < r->switches; i++) {
        m->switches[i] = (cs_pcie_switch){i * r->sockets / r->switches, r->uplink_GBps * 1e9};
    }
    set_nvlinks(m, r);
    m->socket_Bps     = r->socket_GBps * 1e9;
    m->cross_Bps      = r->cross_GBps * 1e9;
    m->nic_alpha_s    = r->nic_us / 1e6;
    m->nvlink_alpha_s = r->nvlink_us / 1e6;
    m->cross_alpha_s  = r->cross_us / 1e6;
    return m;
}

static cs_status refuse(const char *name, cs_error *err)
{
    const char *names[sizeof rows / sizeof rows[0]];
    size_t      count = 0;

    for (; cs_presets[count].name != NULL; count++) {
        names[count] = cs_presets[count].name;
    }
    const char *close = cs_nearest(name, names, count);
    return CS_FAIL(
        err, CS_ENOENT, "",
        "unknown topology '%.60s'%s%s%s: 'collsim list topologies' has all, a file needs "
        "a / or a dot in its name",
        name, close != NULL ? ", did you mean '" : "", close != NULL ? close : "",
        close != NULL ? "'?" : "");
}

cs_status cs_preset_find(const char *name, cs_arena *arena, cs_site *site, cs_error *err)
{
    for (size_t i = 0; cs_presets[i].name != NULL; i++) {
        const row *r = &rows[i];
        if (strcmp(cs_presets[i].name, name) != 0) {
            continue;
        }
        *site = (cs_site){.n_servers = cs_presets[i].n_servers, .first_tail = r->first_tail};
        site->machine = build(name, r, arena);
        site->tail = r->tail >= 0 ? build(cs_presets[r->tail].name, &rows[r->tail], arena) : NULL;
        if (site->machine == NULL || (r->tail >= 0 && site->tail == NULL)) {
            return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a topology");
        }
        return CS_OK;
    }
    return refuse(name, err);
}
