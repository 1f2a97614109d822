/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/nccl_found.h -- what the walk over NCCL's topology XML has found so far. */
#ifndef CS_CONFIG_NCCL_FOUND_H
#define CS_CONFIG_NCCL_FOUND_H

#include "config/machine_build.h"
#include "config/pci_devices.h"
#include "config/xml.h"

enum { CS_NCCL_MAX_NIC_KINDS = 16 };

/* A PCIe bridge, the devices below it counted. */
typedef struct cs_nccl_bridge {
    struct cs_nccl_bridge *up; /* NULL: it is at a CPU, and a switch of the machine */
    uint32_t               number, n_gpus, n_nics;
} cs_nccl_bridge;

typedef struct cs_nccl_gpu {
    const cs_xml         *pci, *gpu; /* gpu: NULL where there is no such element */
    const cs_known_gpu   *kind;      /* NULL: unknown */
    bool                  is_nvidia; /* as far as the file tells */
    cs_device             device;
    const cs_nccl_bridge *at;
    long                  dev, sm; /* -1: unknown; sm is no capability where is_nvidia is false */
    uint32_t              place;   /* in the file */
} cs_nccl_gpu;

typedef struct cs_nccl_found {
    const char            *input;
    cs_arena              *arena;
    cs_error              *err;
    cs_machine            *machine;
    cs_nccl_gpu           *gpus;
    const cs_nccl_bridge **nics_at;        /* the bridges of the NICs */
    uint32_t               socket, bridge; /* where the walk is */
    cs_nccl_bridge        *at;
    uint32_t               n_bridges;
    long                  *numa; /* ids of the sockets */
    cs_machine_notes       notes;
    bool                   assumed_pcie, assumed_nic;
    const cs_known_nic    *assumed_nics[CS_NCCL_MAX_NIC_KINDS]; /* by their devices */
    uint32_t               n_assumed_nics;
} cs_nccl_found;

/* When all GPUs are there: the NVLinks or xGMI links between them and to NVSwitches, by the bus ids
 * of their targets; where the file has none, those of the GPUs' kind, with a note.
 * O((links + GPUs) log GPUs + GPUs^2). CS_ENOMEM comes without a message. */
cs_status cs_nccl_read_nvlinks(cs_nccl_found *found);

#endif
