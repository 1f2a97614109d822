/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regular servers: see cs_server_shape. */
#include "base/arena.h"
#include "cs/machine.h"

#include <stdio.h>

static void place(cs_device *d, const char *what, uint32_t i, uint32_t count,
                  const cs_server_shape *shape)
{
    (void)snprintf(d->name, sizeof d->name, "%s%u", what, i);
    d->socket = i * shape->n_sockets / count;
    d->pcie   = shape->n_switches > 0 ? i * shape->n_switches / count : CS_NO_SWITCH;
}

static cs_status allocate(cs_machine *m, const cs_server_shape *shape, cs_arena *arena)
{
    bool has_pairs = shape->mesh == CS_MESH_FULL || shape->mesh == CS_MESH_SOCKETS;

    m->n_gpus     = shape->n_gpus;
    m->n_nics     = shape->n_nics;
    m->n_switches = shape->n_switches;
    m->n_sockets  = shape->n_sockets;
    m->gpus       = CS_ARENA_NEW(arena, cs_device, shape->n_gpus);
    m->nics       = CS_ARENA_NEW(arena, cs_device, shape->n_nics + 1);
    m->switches   = CS_ARENA_NEW(arena, cs_pcie_switch, shape->n_switches + 1);
    if (has_pairs) {
        m->nvlink_Bps = CS_ARENA_NEW(arena, double, (size_t)shape->n_gpus * shape->n_gpus);
    }
    bool failed = m->gpus == NULL || m->nics == NULL || m->switches == NULL ||
                  (has_pairs && m->nvlink_Bps == NULL);
    return failed ? CS_ENOMEM : CS_OK;
}

static void set_nvlinks(cs_machine *m, const cs_server_shape *shape)
{
    uint32_t n = shape->n_gpus;

    m->nvswitch_Bps = shape->mesh == CS_MESH_SWITCHED ? shape->nvlink_Bps : 0;
    for (size_t i = 0; m->nvlink_Bps != NULL && i < (size_t)n * n; i++) {
        size_t a = i / n, b = i % n;
        bool   near      = shape->mesh == CS_MESH_FULL || m->gpus[a].socket == m->gpus[b].socket;
        m->nvlink_Bps[i] = a != b && near ? shape->nvlink_Bps : 0;
    }
}

cs_machine *cs_server_make(const cs_server_shape *shape, const char *name, cs_arena *arena)
{
    cs_machine *m = CS_ARENA_NEW(arena, cs_machine, 1);

    if (m == NULL || allocate(m, shape, arena) != CS_OK) {
        return NULL;
    }
    (void)snprintf(m->name, sizeof m->name, "%s", name);
    for (uint32_t i = 0; i < shape->n_gpus; i++) {
        place(&m->gpus[i], "gpu", i, shape->n_gpus, shape);
        m->gpus[i].pcie_Bps = shape->pcie_Bps;
    }
    for (uint32_t i = 0; i < shape->n_nics; i++) {
        place(&m->nics[i], "nic", i, shape->n_nics, shape);
        m->nics[i].pcie_Bps = shape->nic_pcie_Bps;
        m->nics[i].wire_Bps = shape->nic_Bps;
    }
    for (uint32_t i = 0; i < shape->n_switches; i++) {
        m->switches[i] =
            (cs_pcie_switch){i * shape->n_sockets / shape->n_switches, shape->uplink_Bps, false};
    }
    set_nvlinks(m, shape);
    m->link_name      = "NVLink";
    m->socket_Bps     = shape->socket_Bps;
    m->cross_Bps      = shape->cross_Bps;
    m->nic_alpha_s    = shape->nic_alpha_s;
    m->nvlink_alpha_s = shape->nvlink_alpha_s;
    m->cross_alpha_s  = shape->cross_alpha_s;
    return m;
}
