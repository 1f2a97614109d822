/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/nccl_found.h -- what the walk over NCCL's topology XML has found so far. */
#ifndef CS_CONFIG_NCCL_FOUND_H
#define CS_CONFIG_NCCL_FOUND_H

#include "config/machine_build.h"
#include "config/xml.h"

typedef struct cs_nccl_gpu {
    const cs_xml *pci, *gpu; /* gpu: NULL where there is no such element */
    cs_device     device;
    long          dev, sm; /* -1: unknown */
} cs_nccl_gpu;

typedef struct cs_nccl_found {
    const char      *input;
    cs_arena        *arena;
    cs_error        *err;
    cs_machine      *machine;
    cs_nccl_gpu     *gpus;
    uint32_t         socket, bridge; /* where the walk is */
    long            *numa;           /* ids of the sockets */
    cs_machine_notes notes;
    bool             assumed_pcie, assumed_nic;
} cs_nccl_found;

/* When all GPUs are there: the NVLinks between them and to NVSwitches, by the bus ids of their
 * targets; where the file has none, those of the GPUs' generation, with a note. CS_ENOMEM comes
 * without a message. */
cs_status cs_nccl_read_nvlinks(cs_nccl_found *found);

#endif
