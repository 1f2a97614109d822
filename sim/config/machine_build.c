/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the readers of servers share: see machine_build.h. */
#include "config/machine_build.h"

#include <stdio.h>

#define MOST_NVLINKS 18 /* of one GPU */

cs_machine *cs_machine_new(cs_arena *arena, const char *name, uint32_t gpus, uint32_t nics,
                           uint32_t switches)
{
    cs_machine *m = CS_ARENA_NEW(arena, cs_machine, 1);

    if (m == NULL) {
        return NULL;
    }
    *m = (cs_machine){.gpus           = CS_ARENA_NEW(arena, cs_device, gpus + 1),
                      .nics           = CS_ARENA_NEW(arena, cs_device, nics + 1),
                      .switches       = CS_ARENA_NEW(arena, cs_pcie_switch, switches + 1),
                      .socket_Bps     = CS_ASSUMED_SOCKET_BPS,
                      .nic_alpha_s    = CS_ASSUMED_NIC_ALPHA_S,
                      .nvlink_alpha_s = CS_ASSUMED_NVLINK_ALPHA_S,
                      .cross_alpha_s  = CS_ASSUMED_CROSS_ALPHA_S};
    (void)snprintf(m->name, sizeof m->name, "%s", name);
    return m->gpus == NULL || m->nics == NULL || m->switches == NULL ? NULL : m;
}

cs_status cs_machine_note(cs_machine *machine, cs_text *notes, cs_arena *arena, cs_error *err)
{
    if (notes->failed ||
        (notes->data != NULL && (machine->notes = cs_arena_strdup(arena, notes->data)) == NULL)) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a topology");
    }
    return CS_OK;
}

cs_status cs_machine_set_nvlinks(cs_machine *machine, const uint32_t *links, double link_Bps,
                                 cs_arena *arena)
{
    uint32_t n = machine->n_gpus, least = UINT32_MAX, most = 0;

    for (uint32_t i = 0; i < n * n; i++) {
        least = i / n != i % n && links[i] < least ? links[i] : least;
        most  = i / n != i % n && links[i] > most ? links[i] : most;
    }
    if (n < 2 || most == 0) {
        return CS_OK;
    }
    if (least == most && most * (n - 1) > MOST_NVLINKS) {
        machine->nvswitch_Bps = most * link_Bps;
        return CS_OK;
    }
    machine->nvlink_Bps = CS_ARENA_NEW(arena, double, (size_t)n *n);
    for (uint32_t i = 0; machine->nvlink_Bps != NULL && i < n * n; i++) {
        machine->nvlink_Bps[i] = links[i] * link_Bps;
    }
    return machine->nvlink_Bps == NULL ? CS_ENOMEM : CS_OK;
}
