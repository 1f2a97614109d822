/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machines: of a regular shape (cs_server_shape), or as a reader of a file finds their parts. */
#include "topology/machine_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
                      .link_name      = "NVLink",
                      .socket_Bps     = CS_ASSUMED_SOCKET_BPS,
                      .nic_alpha_s    = CS_ASSUMED_NIC_ALPHA_S,
                      .nvlink_alpha_s = CS_ASSUMED_NVLINK_ALPHA_S,
                      .cross_alpha_s  = CS_ASSUMED_CROSS_ALPHA_S};
    (void)snprintf(m->name, sizeof m->name, "%.63s", name);
    return m->gpus == NULL || m->nics == NULL || m->switches == NULL ? NULL : m;
}

void cs_machine_assume(cs_machine_notes *notes, cs_rate rate, const char *why, const char *words,
                       ...)
{
    cs_text *assumed = &notes->assumed[rate];
    char     said[160];
    va_list  list;

    va_start(list, words);
    (void)vsnprintf(said, sizeof said, words, list);
    va_end(list);
    if (notes->why != NULL && strcmp(notes->why, why) == 0 && notes->text.length > 0) {
        notes->text.length--; /* on in the same line */
        cs_text_add(&notes->text, ", %s\n", said);
    } else {
        cs_text_add(&notes->text, "%s: assumed are %s\n", why, said);
    }
    notes->why = why;
    cs_text_add(assumed, "%s%s", assumed->data != NULL ? ", " : "", said);
}

cs_status cs_machine_note(cs_machine *machine, cs_machine_notes *notes, cs_arena *arena,
                          cs_error *err)
{
    bool failed = notes->text.failed;

    if (notes->text.data != NULL) {
        machine->notes = cs_arena_strdup(arena, notes->text.data);
        failed         = failed || machine->notes == NULL;
    }
    for (int rate = 0; rate < CS_RATES; rate++) {
        const cs_text *assumed = &notes->assumed[rate];
        failed                 = failed || assumed->failed;
        if (assumed->data != NULL) {
            machine->assumed[rate] = cs_arena_strdup(arena, assumed->data);
            failed                 = failed || machine->assumed[rate] == NULL;
        }
    }
    cs_machine_notes_free(notes);
    return failed ? CS_NO_MEMORY(err, "a topology") : CS_OK;
}

void cs_machine_notes_free(cs_machine_notes *notes)
{
    cs_text_free(&notes->text);
    for (int rate = 0; rate < CS_RATES; rate++) {
        cs_text_free(&notes->assumed[rate]);
    }
}

cs_status cs_machine_set_nvlinks(cs_machine *machine, const uint32_t *links, double link_Bps,
                                 bool may_be_switches, cs_arena *arena)
{
    uint32_t n = machine->n_gpus, least = UINT32_MAX, most = 0;

    for (uint32_t i = 0; i < n * n; i++) {
        least = i / n != i % n && links[i] < least ? links[i] : least;
        most  = i / n != i % n && links[i] > most ? links[i] : most;
    }
    if (n < 2 || most == 0) {
        return CS_OK;
    }
    if (may_be_switches && least == most && most * (n - 1) > MOST_NVLINKS) {
        machine->nvswitch_Bps = most * link_Bps;
        return CS_OK;
    }
    machine->nvlink_Bps = CS_ARENA_NEW(arena, double, (size_t)n *n);
    for (uint32_t i = 0; machine->nvlink_Bps != NULL && i < n * n; i++) {
        machine->nvlink_Bps[i] = links[i] * link_Bps;
    }
    return machine->nvlink_Bps == NULL ? CS_ENOMEM : CS_OK;
}

/* ---- a regular server ---- */

static void place(cs_device *d, const char *what, uint32_t i, uint32_t count,
                  const cs_server_shape *shape)
{
    (void)snprintf(d->name, sizeof d->name, "%s%u", what, i);
    d->socket = i * shape->n_sockets / count;
    d->pcie   = shape->n_switches > 0 ? i * shape->n_switches / count : CS_NO_SWITCH;
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
    uint32_t    g         = shape->n_gpus;
    bool        has_pairs = shape->mesh == CS_MESH_FULL || shape->mesh == CS_MESH_SOCKETS;
    cs_machine *m         = cs_machine_new(arena, name, g, shape->n_nics, shape->n_switches);
    double *nvlink_Bps = m != NULL && has_pairs ? CS_ARENA_NEW(arena, double, (size_t)g *g) : NULL;

    if (m == NULL || (has_pairs && nvlink_Bps == NULL)) {
        return NULL;
    }
    m->link_name      = shape->link_name != NULL ? shape->link_name : m->link_name;
    m->n_gpus         = g;
    m->n_nics         = shape->n_nics;
    m->n_switches     = shape->n_switches;
    m->n_sockets      = shape->n_sockets;
    m->nvlink_Bps     = nvlink_Bps;
    m->socket_Bps     = shape->socket_Bps;
    m->cross_Bps      = shape->cross_Bps;
    m->nic_alpha_s    = shape->nic_alpha_s;
    m->nvlink_alpha_s = shape->nvlink_alpha_s;
    m->cross_alpha_s  = shape->cross_alpha_s;
    for (uint32_t i = 0; i < g; i++) {
        place(&m->gpus[i], "gpu", i, g, shape);
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
    return m;
}
