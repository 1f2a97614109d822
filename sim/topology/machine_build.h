/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology/machine_build.h -- a machine that grows while a file is read, and what its readers
 * assume where a file is silent.
 */
#ifndef CS_TOPOLOGY_MACHINE_BUILD_H
#define CS_TOPOLOGY_MACHINE_BUILD_H

#include "base/arena.h"
#include "base/text.h"
#include "cs/machine.h"

/* Assumed where nothing is known; bytes per second. */
#define CS_ASSUMED_PCIE_BPS     31.5e9 /* PCIe 4.0 x16 */
#define CS_ASSUMED_NIC_BPS      25e9   /* 200 Gb/s */
#define CS_ASSUMED_SOCKET_BPS   60e9   /* three UPI links of 11.2 GT/s, 67 GB/s, in use */
#define CS_ASSUMED_NVLINK_BPS   25e9   /* one NVLink 2, 3 or 4 */
#define CS_ASSUMED_NVSWITCH_BPS 450e9  /* a GPU's port at the NVSwitches: 18 links of an H100 */
/* ... and seconds. */
#define CS_ASSUMED_NIC_ALPHA_S    3e-6
#define CS_ASSUMED_NVLINK_ALPHA_S 1e-6
#define CS_ASSUMED_CROSS_ALPHA_S  8e-6

/* Parse the output of `nvidia-smi topo -m`, with what may stand around it. */
cs_status cs_smi_parse(const char *text, const char *input, cs_arena *arena, cs_machine **machine_p,
                       cs_error *err);

/* An empty machine with room for the most GPUs, NICs and switches there may be, and the program's
 * start-up times; NULL: no memory. */
cs_machine *cs_machine_new(cs_arena *arena, const char *name, uint32_t gpus, uint32_t nics,
                           uint32_t switches);

/* What there is to say about a file: sentences, and the rates that were assumed in a few words. */
typedef struct cs_machine_notes {
    cs_text     text;
    cs_text     assumed[CS_RATES]; /* without data: known */
    const char *why;               /* of the last assumption, which ends the sentences */
} cs_machine_notes;

/* "WHY: assumed are WORDS". What was assumed for the same reason comes into the same sentence. */
void cs_machine_assume(cs_machine_notes *notes, cs_rate rate, const char *why, const char *words,
                       ...) CS_PRINTF(4, 5);

/* Give the notes to the machine; frees them. */
cs_status cs_machine_note(cs_machine *machine, cs_machine_notes *notes, cs_arena *arena,
                          cs_error *err);
void      cs_machine_notes_free(cs_machine_notes *notes);

/* The links of every pair, each of one rate. Where there may be NVSwitches, they are what all pairs
 * have in common if that is more than any GPU has links for. */
cs_status cs_machine_set_nvlinks(cs_machine *machine, const uint32_t *links, double link_Bps,
                                 bool may_be_switches, cs_arena *arena);

#endif
