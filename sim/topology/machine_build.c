/* SPDX-License-Identifier: GPL-3.0-or-later */
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
    (void)snprintf(m->name, sizeof m->name, "%s", name);
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
